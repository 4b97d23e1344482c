//! How long senders wait for a response: SIFS, a slot and aRxPHYStartDelay of the response (IEEE Std 802.11-2016,
//! 10.3.2.9 and 10.3.2.11), which is 192 or 96 us in HR/DSSS (table 16-4), 20 us in ERP-OFDM (table 18-5), and 40 us in
//! HE ER SU PPDUs (IEEE Std 802.11ax-2021, 27.4.4).

use wifair_mac::edcaf::EdcaSettings;
use wifair_mac::{
    Access, Call, Channel, FrameKind, FrameRecord, GeneralChannel, RadioLinks, SpatialChannel, StationSettings,
};
use wifair_packet::{Packet, Packets};
use wifair_phy::{Band, ChannelWidth, Dsss, GuardInterval, HeMode, HeOptions, HeRange, Timing, TxMode};
use wifair_units::{BitRate, Bytes, Duration, Time};

use crate::common::{NEXT_HOPS, station};

/// The first two frames that a station sends at this rate, with no backoff, if its receiver loses all frames; in a cell
/// and in space.
fn attempts(access: Access, kbps: u64) -> [Vec<FrameRecord>; 2] {
    first_two([
        Channel::General(Box::new(GeneralChannel::new(EdcaSettings::dcf(access, &[], stations(kbps))))),
        Channel::Spatial(SpatialChannel::new(access, &[], RadioLinks::full(2), stations(kbps))),
    ])
}

/// The same in this mode of 802.11ax, in 5 GHz.
fn attempts_in(range: HeRange, access: Access) -> [Vec<FrameRecord>; 2] {
    let options = HeOptions { range, ..HeOptions::default() };
    let mode = HeMode::new(0, 1, ChannelWidth::Mhz20, GuardInterval::Ns800, options).expect("the mode exists");
    let settings = || {
        let mut settings = EdcaSettings::dcf(access, &[], stations(6_000));
        for station in &mut settings.stations {
            station.mode = Some((TxMode::He(mode), Band::Ghz5));
        }
        settings
    };
    first_two([
        Channel::General(Box::new(GeneralChannel::new(settings()))),
        Channel::Spatial(SpatialChannel::with_categories(settings(), RadioLinks::full(2))),
    ])
}

fn stations(kbps: u64) -> Vec<StationSettings> {
    let mut stations: Vec<_> = (0..2).map(|n| station(1, n, (0, 0), BitRate::from_kbps(kbps))).collect();
    (stations[1].data_error_to, stations[1].control_error_to) = (1.0, 1.0);
    stations
}

fn first_two(channels: [Channel; 2]) -> [Vec<FrameRecord>; 2] {
    channels.map(|mut channel| {
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

/// Data in HE extended range are answered in extended range, RTS are not.
#[test]
fn the_timeout_of_a_response_in_extended_range() {
    let access = Access::standard(Timing::ofdm_5ghz(BitRate::from_mbps(6)));
    let with_rts = Access { rts_threshold: Bytes(0), ..access };
    for (range, access, kind, start_delay) in [
        (HeRange::Extended242, access, FrameKind::Data, 40),
        (HeRange::Extended106, access, FrameKind::Data, 40),
        (HeRange::Normal, access, FrameKind::Data, 20),
        (HeRange::Extended242, with_rts, FrameKind::Rts, 20),
    ] {
        for frames in attempts_in(range, access) {
            assert_eq!([frames[0].kind, frames[1].kind], [kind; 2]);
            assert_eq!(frames[1].start - frames[0].end, Duration::from_micros(16 + 9 + start_delay), "{range:?}");
        }
    }
}
