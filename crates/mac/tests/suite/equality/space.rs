//! The spatial channel: equivalence with the general channel where all stations hear each other, and properties in any
//! topology.

use proptest::prelude::*;
use wifair_engine::stream;
use wifair_mac::edcaf::SlotRules;
use wifair_mac::{
    Call, Category, Eifs, GeneralChannel, IdleAccess, MacEvent, Prioritized, RadioLinks, SignalSettings, SpatialChannel,
};
use wifair_packet::Packets;
use wifair_phy::propagation::Fading;
use wifair_phy::{CaptureEffect, CarrierSense, Interference, ModulationClass, Radio, Reception, Spoils};
use wifair_queue::Discipline;
use wifair_units::{BitRate, Bytes, Db, Dbm, Duration, Time};

use super::older::{beside_older, newest, older};
use super::scenario::*;
use crate::common::{NEXT_HOPS, signals};

/// Settings of powers, which vary from frame to frame if `fades` is set.
fn fading_signals(reception: Reception, scenario: &Scenario, fades: bool) -> SignalSettings {
    let fading = if fades { Fading::Rayleigh } else { Fading::None };
    SignalSettings { fading, ..signals(reception, scenario.stations, scenario.seed) }
}

/// The newest modulation class of each station if every `legacy`-th is an 802.11b station; empty with 0.
fn newest_beside_dsss(stations: u32, legacy: u32) -> Vec<ModulationClass> {
    let class = |station: u32| match station % legacy {
        0 => ModulationClass::HrDsss,
        _ => ModulationClass::ErpOfdm,
    };
    if legacy == 0 { vec![] } else { (0..stations).map(class).collect() }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn space_equals_general_where_all_hear_all(scenario in scenario(), errors in errors()) {
        let scenario = scenario.with_lossy_unicast(errors);
        let settings = || with_errors(settings(&scenario), errors);
        let general = run!(dcf(&scenario, settings()), &scenario);
        let links = RadioLinks::full(scenario.stations);
        let space = run!(SpatialChannel::new(scenario.access, &[0], links, settings()), &scenario);
        assert_every_packet_ends_once(&space);
        assert_same(&with_errors_as_data(general), &with_errors_as_data(space));
    }

    /// Frames of equal length, so that all stations that do not read a collision wait equally long. (On the general
    /// channel no NAV after a collision can outlast an exchange, suppress a CTS, or make a new packet draw a backoff.)
    #[test]
    fn space_equals_general_where_eifs_is_a_nav(scenario in scenario()) {
        let mut scenario = scenario;
        scenario.access.eifs = Eifs::Nav;
        scenario.access.idle_access = IdleAccess::Backoff;
        scenario.access.rts_threshold = Bytes(u64::MAX);
        scenario.sizes.truncate(1);
        scenario.broadcast_share = 0.0;
        let settings = || {
            let mut settings = settings(&scenario);
            settings.iter_mut().for_each(|station| station.rate = BitRate::from_mbps(11));
            settings
        };
        let general = run!(dcf(&scenario, settings()), &scenario);
        let space = SpatialChannel::new(scenario.access, &[0], RadioLinks::full(scenario.stations), settings());
        assert_same(&general, &run!(space, &scenario));
        assert_every_packet_ends_once(&general);
        let category = Category::dcf(scenario.cw.0, scenario.cw.1);
        let reference = reference(&scenario, settings(), Prioritized::None, &[category]);
        assert_same(&general, &with_one_category(run!(reference, &scenario)));
    }

    #[test]
    fn powers_without_capture_change_nothing(scenario in scenario()) {
        let links = || RadioLinks::from_hearing(scenario.stations, hearing(scenario.seed));
        let space = || SpatialChannel::new(scenario.access, &[0], links(), settings(&scenario));
        let without = run!(space(), &scenario);
        assert_every_packet_ends_once(&without);
        let reception = Reception {
            spoils: Spoils::Threshold,
            capture: CaptureEffect::None,
            capture_threshold: Db(0.0),
            interference: Interference::Sum,
            carrier_sense: CarrierSense::Frame,
        };
        let with = run!(space().with_signals(signals(reception, scenario.stations, 1)), &scenario);
        assert_same(&without, &with);
    }

    #[test]
    fn equal_powers_give_the_same_results_as_no_powers(scenario in scenario()) {
        // Capture requires 3 dB more than the other frames, and all powers are equal.
        let reception = Reception {
            spoils: Spoils::Threshold,
            capture: CaptureEffect::Late,
            capture_threshold: Db(3.0),
            interference: Interference::Sum,
            carrier_sense: CarrierSense::Total,
        };
        let radios = vec![Radio::default(); scenario.stations as usize];
        let links = RadioLinks::from_radios(&radios, |_, _| Db(-80.0), Dbm(-100.0));
        let space = SpatialChannel::new(scenario.access, &[0], links, settings(&scenario));
        let space = run!(space.with_signals(signals(reception, scenario.stations, 1)), &scenario);
        let general = run!(dcf(&scenario, settings(&scenario)), &scenario);
        assert_same(&general, &space);
    }

    #[test]
    fn every_packet_ends_once_whatever_the_channel(
        scenario in scenario(),
        reception in capture(),
        (errors, miss) in ((0.0..0.5, 0.0..0.5), 0.0..0.5),
        fades in any::<bool>(),
    ) {
        let links = random_links(&scenario).with_misses(|_, _| miss);
        let settings = with_errors(settings(&scenario), errors);
        let signals = fading_signals(reception, &scenario, fades);
        let space = SpatialChannel::new(scenario.access, &[0], links, settings).with_signals(signals);
        assert_every_packet_ends_once(&run!(space, &scenario));
    }

    /// Frames that only confirm a NAV are skipped, unless backoffs are recorded.
    #[test]
    fn records_change_nothing(scenario in scenario(), reception in capture(), protected in any::<bool>()) {
        let mut scenario = scenario;
        scenario.access.protection = protected.then_some(BitRate::from_mbps(11));
        let space = || {
            let space = SpatialChannel::new(scenario.access, &[0], random_links(&scenario), settings(&scenario));
            space.with_signals(signals(reception.clone(), scenario.stations, 1))
        };
        let with = run!(space(), &scenario);
        let without = run!(space(), &scenario, false);
        let recorded = with.iter().filter(|seen| matches!(seen, Seen::Frame(_) | Seen::Backoff(_))).count();
        assert_same(&with[..with.len() - recorded], &without);
    }

    /// An exchange that no other frame overlaps takes one step instead of two.
    #[test]
    fn atomic_exchanges_equal_single_frames(
        scenario in scenario(),
        reception in capture(),
        (eifs_is_nav, protected, for_all) in any::<(bool, bool, bool)>(),
        (data_error, control_error) in prop_oneof![Just((0.0, 0.0)), (0.0..0.5, 0.0..0.5)],
        legacy in prop_oneof![Just(0), 2_u32..4],
    ) {
        let mut scenario = scenario;
        if eifs_is_nav {
            scenario.access.eifs = Eifs::Nav;
        }
        scenario.access.protection = protected.then_some(BitRate::from_mbps(11));
        let space = || {
            let mut settings = settings(&scenario);
            for station in &mut settings {
                station.data_error_to = data_error;
                station.data_error_from = data_error;
                station.control_error_to = control_error;
            }
            let mut signals = signals(reception.clone(), scenario.stations, 1);
            signals.newest = newest_beside_dsss(scenario.stations, legacy);
            let space = SpatialChannel::new(scenario.access, &[0], random_links(&scenario), settings);
            let mut space = space.with_signals(signals);
            space.set_errors_for_all(for_all);
            space
        };
        let (by_steps, steps) = run!(space(), &scenario, false, step);
        let (by_leaps, leaps) = run!(space(), &scenario, false, leap);
        let (recorded, _) = run!(space(), &scenario, true, step);
        let is_seen = |seen: &&Seen| !matches!(seen, Seen::Frame(_) | Seen::Backoff(_));
        assert_same(&recorded.iter().filter(is_seen).cloned().collect::<Vec<_>>(), &by_steps);
        assert_same(&by_steps, &by_leaps);
        assert_eq!(steps, leaps);
    }

    /// Categories that count slots by each station's own carrier sense are equivalent to shared slot counts. (On a
    /// shared channel all stations wait for EIFS after a collision, including the other categories of its senders.)
    #[test]
    fn categories_in_space_equal_general_where_all_hear_all(
        scenario in scenario(),
        categories in prop::collection::vec(category(), 1..4),
        first in prop_oneof![Just(Prioritized::None), Just(Prioritized::Udp)],
        slot_rules in prop_oneof![Just(SlotRules::Dcf), Just(SlotRules::Edca)],
        aggregates in prop::option::of((any::<(bool, bool)>(), prop_oneof![Just(0_u64), Just(3839)])),
        protection in protection(),
        older in older(),
        (cf_end, is_extended) in (cf_end(), any::<bool>()),
        errors in errors(),
    ) {
        let mut scenario = scenario.protected(protection).with_cf_end(cf_end).with_lossy_unicast(errors);
        scenario = scenario.with_older(older);
        // With agreements the first category responds to requests.
        let uses_several = first != Prioritized::None || aggregates.is_some_and(|((_, agrees), _)| agrees);
        if scenario.access.eifs == Eifs::AfterCollision && uses_several {
            scenario.access.eifs = Eifs::AfterError;
        }
        let settings = || {
            let stations = with_errors(settings(&scenario), errors);
            let mut settings = edca_settings(&scenario, stations, first, &categories);
            settings.slot_rules = slot_rules;
            match aggregates {
                Some((asks_and_agrees, amsdu)) => {
                    beside_older(&scenario, with_aggregates(settings, asks_and_agrees, amsdu), is_extended, older)
                }
                None => settings,
            }
        };
        let general = run!(GeneralChannel::new(settings()), &scenario);
        let (by_leaps, _) = run!(GeneralChannel::new(settings()), &scenario, false, leap);
        assert_same(&without_records(general.clone()), &by_leaps);
        let links = RadioLinks::full(scenario.stations);
        let space = SpatialChannel::with_categories(settings(), links);
        let without_capture = Reception { capture: CaptureEffect::None, ..Reception::default() };
        let signals = SignalSettings {
            newest: newest(&settings()),
            ..signals(without_capture, scenario.stations, scenario.seed)
        };
        let space = run!(space.with_signals(signals), &scenario);
        assert_same(&with_errors_as_data(general), &with_errors_as_data(space));
    }

    /// In any topology.
    #[test]
    fn every_packet_ends_once_whatever_the_categories_in_space(
        scenario in scenario(),
        reception in capture(),
        (errors, miss) in ((0.0..0.5, 0.0..0.5), 0.0..0.5),
        (fades, for_all, eifs_is_nav, by_bits, asks_and_agrees) in any::<(bool, bool, bool, bool, (bool, bool))>(),
        (cf_end, is_extended, bsss) in (cf_end(), any::<bool>(), 1_u32..4),
        categories in prop::collection::vec(category(), 1..4),
    ) {
        let mut scenario = scenario.with_cf_end(cf_end);
        let spoils = if by_bits { Spoils::Bits } else { Spoils::Threshold };
        let reception = Reception { spoils, ..reception };
        if eifs_is_nav {
            scenario.access.eifs = Eifs::Nav;
        }
        let stations = with_errors(settings(&scenario), errors);
        let signals = fading_signals(reception, &scenario, fades);
        let settings = edca_settings(&scenario, stations, Prioritized::Udp, &categories);
        let settings = if eifs_is_nav { settings } else { with_aggregates(settings, asks_and_agrees, 0) };
        let links = random_links(&scenario).with_misses(|_, _| miss);
        let mut settings = in_extended_range(settings, is_extended);
        (0..).zip(&mut settings.stations).for_each(|(number, station)| station.ap = Some(number % bsss));
        let mut space = SpatialChannel::with_categories(settings, links).with_signals(signals);
        space.set_errors_for_all(for_all);
        assert_every_packet_ends_once(&run!(space, &scenario));
    }

    /// The DCF shortcut, which may take several steps at a time, is equivalent to a single category.
    #[test]
    fn dcf_is_one_category(
        scenario in scenario(),
        reception in capture(),
        (eifs_is_nav, protected, for_all, fades) in any::<(bool, bool, bool, bool)>(),
        errors in prop_oneof![Just((0.0, 0.0)), (0.0..0.5, 0.0..0.5)],
        miss in prop_oneof![Just(0.0), 0.0..0.5],
        legacy in prop_oneof![Just(0), 2_u32..4],
        (records, has_outages, adapts) in any::<(bool, bool, bool)>(),
    ) {
        let mut scenario = scenario;
        if eifs_is_nav {
            scenario.access.eifs = Eifs::Nav;
        }
        scenario.access.protection = protected.then_some(BitRate::from_mbps(11));
        let settings = || with_errors(settings(&scenario), errors);
        let links = || {
            let links = random_links(&scenario);
            if miss > 0.0 { links.with_misses(|_, _| miss) } else { links }
        };
        let signals = || {
            let mut signals = signals(reception.clone(), scenario.stations, 1);
            signals.fading = if fades { Fading::Rayleigh } else { Fading::None };
            signals.newest = newest_beside_dsss(scenario.stations, legacy);
            signals
        };
        let space = || {
            let space = SpatialChannel::new(scenario.access, &[0], links(), settings());
            let mut space = space.with_signals(signals());
            space.set_errors_for_all(for_all);
            if has_outages {
                space.set_outages((0..scenario.stations).map(|station| outages(&scenario, station)).collect());
            }
            if adapts {
                space = space.with_rates((0..scenario.stations).map(|station| rates(&scenario, station)).collect());
            }
            space
        };
        let (by_shortcut, _) = run!(space(), &scenario, false, leap);
        let mut model = space();
        model.set_fast_paths(false);
        let by_model = run!(model, &scenario, records);
        let recorded = by_model.iter().filter(|seen| matches!(seen, Seen::Frame(_) | Seen::Backoff(_))).count();
        assert_same(&by_model[..by_model.len() - recorded], &by_shortcut);
    }
}
