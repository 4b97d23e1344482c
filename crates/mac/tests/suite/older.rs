//! Stations of older standards than that of the access point (IEEE Std 802.11-2016, 10.26), as bystanders.

use wifair_mac::edcaf::{AggregationRules, Classifier};
use wifair_mac::{Call, Category, Eifs, FrameKind, FrameRecord, GeneralChannel};
use wifair_packet::{Packet, Packets};
use wifair_phy::{Dsss, ModulationClass, Timing};
use wifair_units::{BitRate, Bytes, Duration};

use crate::aggregation::{BE, aggregation, ht_mcs7, micros, settings};
use crate::common::{NEXT_HOPS, at_us, hop_to};

/// How long after an HT PPDU that nothing protects, and that its receiver may lose, a bystander of this class sends;
/// its backoff is zero. 2.4 GHz, slots of 9 us.
fn resumes_after_ht(newest: ModulationClass, eifs: Eifs, is_lost: bool) -> (Duration, Timing) {
    // The access point waits long before it tries again.
    let category = |aifsn| (ht_mcs7(), Category { cw_min: 0, cw_max: 0, aifsn, ..BE });
    let rules = AggregationRules { window: 1, max_ampdu: Bytes(0), ..aggregation() };
    let mut settings = settings(rules, vec![category(30), category(2), category(2)], 1, 0.0, 0.0);
    let dsss = Dsss { preamble: micros(192), basic_rate: BitRate::from_mbps(2) };
    settings.access.timing = Timing { dsss: Some(dsss), ..Timing::erp_ofdm(BitRate::from_mbps(24)) };
    settings.access.answer_timeout = None;
    settings.classifier = Classifier::One;
    settings.access.eifs = eifs;
    settings.stations[1].common.data_error_to = f64::from(u8::from(is_lost));
    settings.stations[2].newest = newest;
    if newest < ModulationClass::Ht {
        (settings.stations[2].mode, settings.stations[2].aggregation) = (None, None);
        settings.stations[2].common.rate = BitRate::from_mbps(11);
    }
    let timing = settings.access.timing;
    let mut channel = GeneralChannel::new(settings);
    channel.set_tap(true);
    let (mut packets, mut dropped, mut lost) = (Packets::default(), vec![], vec![]);
    // The second comes while the PPDU is on the air, so that a backoff precedes it.
    for (from, to, at) in [(0, 1, 0), (2, 0, 400)] {
        let id = packets.insert(Packet { flow: from, hop: hop_to(to), size: 1500, ..Packet::default() });
        while channel.next() < at_us(at) {
            let now = channel.next();
            channel.advance(&mut Call::new(now, &mut packets, &mut dropped, &mut lost, NEXT_HOPS));
        }
        channel.offer_in(from, 0, id, &mut Call::new(at_us(at), &mut packets, &mut dropped, &mut lost, NEXT_HOPS));
    }
    while channel.next() < at_us(10_000) {
        let now = channel.next();
        channel.advance(&mut Call::new(now, &mut packets, &mut dropped, &mut lost, NEXT_HOPS));
    }
    let frames = channel.tap().expect("it was set").frames();
    let data_of = |from: u32| {
        let is_data = |frame: &&FrameRecord| frame.kind == FrameKind::Data && frame.from == from;
        frames.iter().find(is_data).expect("it sends")
    };
    (data_of(2).start - data_of(0).end, timing)
}

/// A station of 802.11n reads what the PPDU reserves, for SIFS and the ACK; one of 802.11g waits EIFS after what it
/// cannot read (10.3.2.3.7); one of 802.11b has read no preamble, so that DIFS follows.
#[test]
fn what_a_bystander_waits_for_after_a_lost_ht_ppdu_depends_on_its_standard() {
    let (waits, timing) = resumes_after_ht(ModulationClass::Ht, Eifs::AfterError, true);
    assert_eq!(waits, timing.sifs + timing.ack() + timing.difs);
    let (waits, timing) = resumes_after_ht(ModulationClass::ErpOfdm, Eifs::AfterError, true);
    assert_eq!(waits, timing.eifs());
    let (waits, timing) = resumes_after_ht(ModulationClass::HrDsss, Eifs::AfterError, true);
    assert_eq!(waits, timing.difs);
}

/// EIFS as a NAV precedes DIFS, and the ACK does not end it; a station of 802.11b cannot tell OFDM from a collision.
#[test]
fn where_eifs_is_a_nav_it_follows_each_ppdu_that_a_bystander_does_not_read() {
    for newest in [ModulationClass::ErpOfdm, ModulationClass::HrDsss] {
        for is_lost in [false, true] {
            let (waits, timing) = resumes_after_ht(newest, Eifs::Nav, is_lost);
            let after_ack = timing.sifs + timing.ack() + timing.eifs() + timing.difs;
            let is_noise = newest == ModulationClass::HrDsss && !is_lost;
            assert_eq!(waits, if is_noise { after_ack } else { timing.eifs() + timing.difs }, "{newest:?}, {is_lost}");
        }
    }
    let (waits, timing) = resumes_after_ht(ModulationClass::HrDsss, Eifs::AfterCollision, true);
    assert_eq!(waits, timing.eifs());
}
