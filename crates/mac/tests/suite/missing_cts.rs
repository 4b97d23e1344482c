//! What stations wait for if an RTS gets no answer, or its CTS is lost (IEEE Std 802.11-2016, 10.3.2.3.7 and 10.3.2.4).
//!
//! Intervals in us at 5 GHz, with RTS, CTS and ACK at 24 Mb/s: slot 9, SIFS 16, RTS 28, CTS 28, an ACK at the lowest
//! rate 44, timeout of the CTS 16 + 9 + 20, AIFS of best effort 43, and of a category with AIFSN 15 151.

use wifair_mac::edcaf::{AggregationRules, EdcaSettings};
use wifair_mac::{
    Call, Category, Channel, Fate, FrameKind, FrameRecord, GeneralChannel, Hearing, RadioLinks, SpatialChannel,
};
use wifair_packet::{Kind, NextHops, Packet, Packets};
use wifair_units::{Bytes, Duration, Time};

use crate::aggregation::{BE, aggregation, ht_mcs7, micros, settings};

/// An access point and two stations that draw no backoff. Station 1, of AIFSN 15, loses control frames with probability
/// `cts_error`, and the access point with `rts_error`.
fn plan(rts_error: f64, cts_error: f64) -> EdcaSettings {
    let rules = AggregationRules { max_ampdu: Bytes(0), window: 1, ..aggregation() };
    let category = |aifsn| Category { aifsn, cw_min: 0, cw_max: 0, txop: Duration::ZERO, ..BE };
    let stations = [3, 15, 3].map(|aifsn| (ht_mcs7(), category(aifsn)));
    let mut settings = settings(rules, stations.into(), 1, 0.0, 0.0);
    settings.access.rts_threshold = Bytes(0);
    settings.stations[0].common.control_error_to = rts_error;
    settings.stations[1].common.control_error_to = cts_error;
    settings
}

/// Station 1 sends an RTS to the access point; while that is on the air, station 2 gets a packet if `has_other`.
/// Returns the frames of a cell and of space, each until the second RTS.
fn frames(settings: impl Fn() -> EdcaSettings, has_other: bool) -> [Vec<FrameRecord>; 2] {
    let links = RadioLinks::from_hearing(3, |_, _| Hearing::Reads);
    [
        Channel::General(Box::new(GeneralChannel::new(settings()))),
        Channel::Spatial(SpatialChannel::with_categories(settings(), links)),
    ]
    .map(|mut channel| {
        channel.set_tap(true);
        let (mut packets, mut dropped, mut lost) = (Packets::default(), vec![], vec![]);
        let next_hops = NextHops(&[0]);
        let mut now = Time::ZERO;
        for station in [1, 2].into_iter().take(1 + usize::from(has_other)) {
            let id = packets.insert(Packet { flow: station, size: 1500, kind: Kind::Udp, ..Packet::default() });
            channel.offer_in(station, 0, id, &mut Call::new(now, &mut packets, &mut dropped, &mut lost, next_hops));
            now = channel.next();
            channel.advance_until(now, &mut Call::new(now, &mut packets, &mut dropped, &mut lost, next_hops));
        }
        let is_over = |frames: &[FrameRecord]| frames.iter().filter(|frame| frame.kind == FrameKind::Rts).count() > 1;
        while !is_over(channel.records().expect("they are on").frames()) {
            now = channel.next();
            channel.advance_until(now, &mut Call::new(now, &mut packets, &mut dropped, &mut lost, next_hops));
        }
        channel.records().expect("they are on").frames().to_vec()
    })
}

fn gap(from: &FrameRecord, to: &FrameRecord) -> Duration {
    to.start - from.end
}

/// A bystander resets its NAV 2 SIFS, a CTS, 20 us (the start of a frame is reported) and two slots after the RTS.
#[test]
fn a_bystander_resets_its_nav_after_an_rts_without_cts() {
    for frames in frames(|| plan(1.0, 0.0), true) {
        assert_eq!((frames[0].from, frames[0].fate, frames[1].from), (1, Fate::Error, 2));
        assert_eq!(gap(&frames[0], &frames[1]), micros(2 * 16 + 28 + 20 + 2 * 9 + 43));
    }
}

/// Without that option it waits for the whole exchange: CTS, data of 1538 bytes, which take 48 symbols of 4 us at
/// 65 Mb/s after a preamble of 36 us, and ACK.
#[test]
fn without_a_reset_a_bystander_waits_for_the_whole_exchange() {
    let plan = || {
        let mut plan = plan(1.0, 0.0);
        plan.access.nav_reset = false;
        plan.access.short_retry_limit = Some(1); // the sender gives up, and stays silent
        plan
    };
    for frames in frames(plan, true) {
        assert_eq!((frames[0].from, frames[1].from), (1, 2));
        assert_eq!(gap(&frames[0], &frames[1]), micros(16 + 28 + 16 + 228 + 16 + 28 + 43));
    }
}

/// The sender waits EIFS from the end of the CTS; the bystander, who has read it, for the whole exchange.
#[test]
fn a_lost_cts_is_on_the_air() {
    for frames in frames(|| plan(0.0, 1.0), false) {
        let kinds: Vec<_> = frames.iter().map(|frame| (frame.kind, frame.from, frame.fate)).collect();
        assert_eq!(kinds[..2], [(FrameKind::Rts, 1, Fate::Read), (FrameKind::Cts, 0, Fate::Error)]);
        assert_eq!(gap(&frames[0], &frames[1]), micros(16));
        assert_eq!((frames[2].kind, frames[2].from), (FrameKind::Rts, 1));
        assert_eq!(gap(&frames[1], &frames[2]), micros(16 + 44 + 151));
    }
    let giving_up = || {
        let mut plan = plan(0.0, 1.0);
        plan.access.short_retry_limit = Some(1);
        plan
    };
    for frames in frames(giving_up, true) {
        assert_eq!((frames[1].kind, frames[2].from), (FrameKind::Cts, 2));
        assert_eq!(gap(&frames[1], &frames[2]), micros(16 + 228 + 16 + 28 + 43));
    }
}
