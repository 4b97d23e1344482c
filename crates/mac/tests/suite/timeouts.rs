//! How long senders wait for a response: SIFS, a slot and aRxPHYStartDelay of the response (IEEE Std 802.11-2016,
//! 10.3.2.9 and 10.3.2.11), which is 192 or 96 us in HR/DSSS (table 16-4) and 20 us in ERP-OFDM (table 18-5).

use wifair_mac::edcaf::EdcaSettings;
use wifair_mac::{Access, Call, Channel, FrameKind, FrameRecord, GeneralChannel, RadioLinks, SpatialChannel};
use wifair_packet::{Packet, Packets};
use wifair_phy::{Dsss, Timing};
use wifair_units::{BitRate, Bytes, Duration, Time};

use crate::common::{NEXT_HOPS, station};

/// The first two frames that a station sends at this rate, with no backoff, if its receiver loses all frames; in a cell
/// and in space.
fn attempts(access: Access, kbps: u64) -> [Vec<FrameRecord>; 2] {
    let stations = || {
        let mut stations: Vec<_> = (0..2).map(|n| station(1, n, (0, 0), BitRate::from_kbps(kbps))).collect();
        (stations[1].data_error_to, stations[1].control_error_to) = (1.0, 1.0);
        stations
    };
    [
        Channel::General(Box::new(GeneralChannel::new(EdcaSettings::dcf(access, &[], stations())))),
        Channel::Spatial(SpatialChannel::new(access, &[], RadioLinks::full(2), stations())),
    ]
    .map(|mut channel| {
        channel.set_tap(true);
        let (mut packets, mut dropped, mut given_up) = (Packets::default(), vec![], vec![]);
        let id = packets.insert(Packet { flow: 0, hop: 1, size: 1500, ..Packet::default() });
        let mut now = Time::ZERO;
        channel.offer_in(0, 0, id, &mut Call::new(now, &mut packets, &mut dropped, &mut given_up, NEXT_HOPS));
        while channel.records().expect("they are on").frames().len() < 2 {
            now = channel.next();
            channel.advance_until(now, &mut Call::new(now, &mut packets, &mut dropped, &mut given_up, NEXT_HOPS));
        }
        channel.records().expect("they are on").frames().to_vec()
    })
}

/// 802.11g with long slots beside 802.11b, with DSSS preambles of this duration.
fn beside_dsss(preamble: u64) -> Timing {
    let mut timing = Timing::erp_ofdm(BitRate::from_mbps(24));
    timing.slot = Duration::from_micros(20);
    timing.difs = timing.sifs + timing.slot * 2;
    timing.dsss = Some(Dsss { preamble: Duration::from_micros(preamble), basic_rate: BitRate::from_mbps(2) });
    timing
}

/// A retry begins when the timeout ends, since that is not before DIFS. ACKs to DSSS and CCK have a DSSS preamble; the
/// one to a frame at 1 Mb/s, which is sent at 1 Mb/s, always has the long one.
#[test]
fn the_timeout_is_that_of_the_response() {
    for (timing, kbps, preamble) in [
        (beside_dsss(192), 54_000, 20),
        (beside_dsss(192), 11_000, 192),
        (beside_dsss(192), 1_000, 192),
        (beside_dsss(96), 6_000, 20),
        (beside_dsss(96), 11_000, 96),
        (beside_dsss(96), 1_000, 192),
        (Timing::hr_dsss(BitRate::from_mbps(2), false), 11_000, 192),
        (Timing::hr_dsss(BitRate::from_mbps(2), true), 11_000, 96),
        (Timing::hr_dsss(BitRate::from_mbps(2), true), 1_000, 192),
    ] {
        for frames in attempts(Access::standard(timing), kbps) {
            assert_eq!((frames[0].kind, frames[1].kind), (FrameKind::Data, FrameKind::Data));
            let waited = frames[1].start - frames[0].end;
            assert_eq!(waited, Duration::from_micros(10 + 20 + preamble), "{kbps} kb/s");
        }
    }
}

/// The CTS to an RTS that 802.11b stations can read is sent by DSSS, too, at the rate of the RTS.
#[test]
fn the_timeout_of_a_cts_is_that_of_its_preamble() {
    for (short, protection, preamble) in [(96, Some(2), 96), (96, Some(1), 192), (192, Some(2), 192), (192, None, 20)] {
        let access = Access {
            rts_threshold: Bytes(0),
            protection: protection.map(BitRate::from_mbps),
            ..Access::standard(beside_dsss(short))
        };
        for frames in attempts(access, 54_000) {
            assert_eq!((frames[0].kind, frames[1].kind), (FrameKind::Rts, FrameKind::Rts));
            assert_eq!(frames[1].start - frames[0].end, Duration::from_micros(10 + 20 + preamble));
        }
    }
}
