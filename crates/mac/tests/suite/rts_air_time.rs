//! Air time of RTS that get no answer.

use wifair_mac::edcaf::AggregationRules;
use wifair_mac::{Call, Channel, GeneralChannel, Hearing, RadioLinks, SpatialChannel};
use wifair_packet::{Kind, NextHops, Packet, Packets};
use wifair_units::{Bytes, Time};

use crate::aggregation::{BE, aggregation, ht_mcs7, micros, settings};

/// Every control frame is lost to errors. A lone station gives up its packet after seven RTS of 28 us at 24 Mb/s, which
/// are control frames: no other frame is on the air, so none collides.
#[test]
fn an_rts_lost_to_an_error_is_no_collision() {
    let rules = AggregationRules { max_ampdu: Bytes(0), window: 1, ..aggregation() };
    let settings = || {
        let mut settings = settings(rules.clone(), vec![(ht_mcs7(), BE); 2], 1, 0.0, 1.0);
        settings.access.rts_threshold = Bytes(0);
        settings
    };
    let links = RadioLinks::from_hearing(2, |_, _| Hearing::Reads);
    for mut channel in [
        Channel::General(Box::new(GeneralChannel::new(settings()))),
        Channel::Spatial(SpatialChannel::with_categories(settings(), links)),
    ] {
        let (mut packets, mut dropped, mut lost, mut now) = (Packets::default(), vec![], vec![], Time::ZERO);
        let next_hops = NextHops(&[0]);
        let id = packets.insert(Packet { size: 1500, kind: Kind::Udp, ..Packet::default() });
        channel.offer_in(1, 0, id, &mut Call::new(now, &mut packets, &mut dropped, &mut lost, next_hops));
        while channel.next() < Time::NEVER {
            now = channel.next();
            channel.advance_until(now, &mut Call::new(now, &mut packets, &mut dropped, &mut lost, next_hops));
        }
        assert_eq!(lost.len(), 1);
        let (counters, air) = (channel.all_counters()[1], channel.air_time(now));
        assert_eq!((counters.attempts, counters.errors, counters.collisions), (7, 7, 0));
        assert_eq!((counters.control, counters.collided), (micros(7 * 28), micros(0)));
        assert_eq!((air.rts_cts, air.collision, air.error), (micros(7 * 28), micros(0), micros(0)));
    }
}
