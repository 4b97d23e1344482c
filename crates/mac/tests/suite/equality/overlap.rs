//! Spatial channels that overlap.

use proptest::prelude::*;
use wifair_engine::stream;
use wifair_mac::edcaf::{EdcaSettings, SlotRules};
use wifair_mac::{Bandwidth, Call, ChannelSettings, MacEvent, Prioritized, SignalSettings, SpatialChannel};
use wifair_packet::Packets;
use wifair_phy::propagation::Fading;
use wifair_phy::{
    Band, CaptureEffect, CarrierSense, ChannelWidth, GuardInterval, Interference, OperatingChannel, Reception, Spoils,
    TxMode, VhtMode,
};
use wifair_queue::Discipline;
use wifair_units::{Bytes, Db, Duration, Time};

use super::scenario::*;
use crate::common::{NEXT_HOPS, signals};

fn channel(number: u32, width: ChannelWidth) -> OperatingChannel {
    OperatingChannel::new(Band::Ghz5, number, width, false).expect("the channel exists")
}

fn channels(channels: Vec<OperatingChannel>, bandwidth: Bandwidth, detects_secondary: bool) -> ChannelSettings {
    ChannelSettings {
        channels,
        bandwidth,
        detects_secondary,
        signals_bandwidth: detects_secondary,
        idle_before: Duration::from_micros(30),
    }
}

fn reception() -> impl Strategy<Value = Reception> {
    (
        prop_oneof![Just(Spoils::Threshold), Just(Spoils::Bits)],
        prop_oneof![Just(CaptureEffect::Header), Just(CaptureEffect::Late)],
        0.0..15.0,
        prop_oneof![Just(CarrierSense::Frame), Just(CarrierSense::Total)],
    )
        .prop_map(|(spoils, capture, threshold, carrier_sense)| Reception {
            spoils,
            capture,
            capture_threshold: Db(threshold),
            interference: Interference::Sum,
            carrier_sense,
        })
}

fn fading_signals(reception: &Reception, scenario: &Scenario, fades: bool) -> SignalSettings {
    let fading = if fades { Fading::Rayleigh } else { Fading::None };
    SignalSettings { fading, ..signals(reception.clone(), scenario.stations, scenario.seed) }
}

/// Aggregates in this width, or narrower.
fn in_width(mut settings: EdcaSettings, widths: &[ChannelWidth]) -> EdcaSettings {
    let mode = |width| TxMode::Vht(VhtMode::new(4, 1, width, GuardInterval::Ns800).expect("the mode exists"));
    for (station, width) in settings.stations.iter_mut().zip(widths) {
        let narrower = ChannelWidth::ALL.into_iter().take_while(|other| other < width).map(mode).collect();
        station.mode = Some((mode(*width), Band::Ghz5));
        station.link.narrower = vec![(mode(*width), narrower)];
    }
    settings
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// If all stations are on the same 20 MHz channel, overlapping channels make no difference, draw by draw.
    #[test]
    fn one_channel_for_all_is_one_channel(
        scenario in scenario(),
        reception in reception(),
        (fades, is_plain, cf_end) in (any::<bool>(), any::<bool>(), cf_end()),
        categories in prop::collection::vec(category(), 1..4),
    ) {
        let scenario = scenario.with_cf_end(cf_end);
        let space = || {
            let links = random_links(&scenario);
            let space = if is_plain {
                SpatialChannel::new(scenario.access, &[0], links, settings(&scenario))
            } else {
                let settings = edca_settings(&scenario, settings(&scenario), Prioritized::Udp, &categories);
                SpatialChannel::with_categories(with_aggregates(settings, (true, false), 0), links)
            };
            space.with_signals(fading_signals(&reception, &scenario, fades))
        };
        let all = vec![channel(36, ChannelWidth::Mhz20); scenario.stations as usize];
        let without = run!(space(), &scenario);
        assert_same(&without, &run!(space().with_channels(channels(all, Bandwidth::Static, true)), &scenario));
    }

    /// On any channels: no packet is unaccounted for, and no backoff is stuck.
    #[test]
    fn every_packet_ends_once_whatever_the_channels(
        scenario in scenario(),
        reception in reception(),
        (fades, is_static, detects_secondary, asks, agrees) in any::<(bool, bool, bool, bool, bool)>(),
        categories in prop::collection::vec(category(), 1..4),
        (rts, cf_end) in (any::<bool>(), cf_end()),
    ) {
        let mut scenario = scenario.with_cf_end(cf_end);
        scenario.access.rts_threshold = Bytes(if rts { 500 } else { u64::MAX });
        let mut draws = stream(scenario.seed, "channel", "");
        let mut pick = |count: u32| draws.below(count) as usize;
        let chosen: Vec<OperatingChannel> = (0..scenario.stations)
            .map(|_| channel([36, 40, 44, 48, 52][pick(5)], ChannelWidth::ALL[pick(4)]))
            .collect();
        let widths: Vec<ChannelWidth> = chosen.iter().map(OperatingChannel::width).collect();
        // All frames are to or from the first station, which is no wider than the others.
        let settings = edca_settings(&scenario, settings(&scenario), Prioritized::Udp, &categories);
        let mut settings = in_width(with_aggregates(settings, (asks, agrees), 0), &widths);
        settings.aps = vec![];
        settings.slot_rules = SlotRules::Edca;
        let bandwidth = if is_static { Bandwidth::Static } else { Bandwidth::Dynamic };
        let space = SpatialChannel::with_categories(settings, random_links(&scenario))
            .with_signals(fading_signals(&reception, &scenario, fades))
            .with_channels(channels(chosen, bandwidth, detects_secondary));
        assert_every_packet_ends_once(&run!(space, &scenario));
    }
}
