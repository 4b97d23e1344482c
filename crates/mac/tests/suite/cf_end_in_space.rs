//! TXOPs that are reserved as a whole and released by a CF-End, where not all stations hear each other (IEEE Std
//! 802.11-2016, 9.2.5.2, 10.3.2.4, 10.22.2.9).

use wifair_mac::edcaf::Classifier;
use wifair_mac::{
    BROADCAST, Call, Category, Channel, Fate, FrameKind, FrameRecord, GeneralChannel, Hearing, RadioLinks,
    SpatialChannel, Tap,
};
use wifair_packet::{Kind, NextHops, Packet, Packets};
use wifair_phy::ModulationClass;
use wifair_units::{Duration, Time};

use crate::hidden_aggregates::settings;

/// Station 0 is the access point, 1 the holder of a TXOP of 4 ms, 2 another station, and 3 disturbs.
const HOLDER: u32 = 1;
const OTHER: u32 = 2;
const DISTURBER: u32 = 3;

/// A data frame of 1538 bytes: 36 us and 48 symbols of 260 bits.
const DATA_US: u64 = 36 + 48 * 4;
/// The ACK at 24 Mb/s.
const ACK_US: u64 = 28;
const SIFS_US: u64 = 16;
/// 20 us and eight symbols of 24 bits.
const CF_END_US: u64 = 20 + 8 * 4;
/// AIFS of AIFSN 2.
const AIFS_US: u64 = 34;
const TXOP_US: u64 = 4000;

fn micros(micros: u64) -> Duration {
    Duration::from_micros(micros)
}

struct Cell {
    cf_end: bool,
    /// Whether the access point repeats the CF-End of other stations.
    repeats: bool,
    /// Whether the disturber has sent data to station 2 just before.
    disturbs: bool,
    rts_threshold: u64,
    /// Probability that the access point loses what the holder sends.
    error: f64,
    hearing: fn(u32, u32) -> Hearing,
    /// The newest modulation class of the stations, and the access point of each.
    class: ModulationClass,
    aps: [u32; 4],
}

impl Cell {
    fn released(hearing: fn(u32, u32) -> Hearing) -> Self {
        let class = ModulationClass::Ht;
        let (repeats, disturbs) = (false, false);
        Self { cf_end: true, repeats, disturbs, rts_threshold: u64::MAX, error: 0.0, hearing, class, aps: [0; 4] }
    }

    /// The frames after the holder has begun to send one packet to the access point. Other stations get packets that
    /// many microseconds later: station, size, and whether it is a broadcast.
    fn run(&self, later: &[(u64, u32, u16, bool)]) -> Vec<FrameRecord> {
        let (tap, begins) = self.record(later);
        let mut frames = tap.frames().to_vec();
        for frame in &mut frames {
            frame.start = Time::ZERO + (frame.start - begins);
            frame.end = Time::ZERO + (frame.end - begins);
        }
        frames
    }

    /// The same with those who heard them, and when the holder began.
    fn record(&self, later: &[(u64, u32, u16, bool)]) -> (Tap, Time) {
        let mut settings = settings(1, 4, self.rts_threshold, 7);
        settings.classifier = Classifier::One;
        (settings.access.cf_end, settings.access.repeats_cf_end) = (self.cf_end, self.repeats);
        for (number, station) in settings.stations.iter_mut().enumerate() {
            (station.newest, station.ap) = (self.class, Some(self.aps[number]));
            // The holder and the disturber do not soon repeat what is lost.
            let cw = if [HOLDER, DISTURBER].contains(&(number as u32)) { 1023 } else { 0 };
            let category = &mut station.categories[0];
            category.parameters = Category { cw_min: cw, cw_max: cw, aifsn: 2, txop: micros(TXOP_US), burst: 1 };
            if number as u32 == HOLDER {
                station.common.data_error_from = self.error;
            }
        }
        let links = RadioLinks::from_hearing(4, self.hearing);
        let mut channel = SpatialChannel::with_categories(settings, links);
        channel.set_tap(true);
        let (mut packets, mut dropped, mut lost) = (Packets::default(), vec![], vec![]);
        let next_hops = NextHops(&[0, BROADCAST, OTHER]);
        let mut begins = Time::ZERO;
        if self.disturbs {
            let mut call = Call::new(begins, &mut packets, &mut dropped, &mut lost, next_hops);
            let id = call.packets.insert(Packet { hop: 2, size: 1500, kind: Kind::Udp, ..Packet::default() });
            channel.offer_in(DISTURBER, 0, id, &mut call);
            begins = channel.next() + micros(DATA_US + 1);
        }
        let offers = [(0, HOLDER, 1500, false)].into_iter().chain(later.iter().copied());
        for (at, station, size, is_broadcast) in offers {
            let now = begins + micros(at);
            let mut call = Call::new(now, &mut packets, &mut dropped, &mut lost, next_hops);
            while channel.next() <= now {
                call.now = channel.next();
                channel.advance(&mut call);
            }
            call.now = now;
            let packet = Packet { hop: is_broadcast.into(), size, kind: Kind::Udp, ..Packet::default() };
            let id = call.packets.insert(packet);
            channel.offer_in(station, 0, id, &mut call);
            if station == HOLDER {
                begins = channel.next();
            }
        }
        while channel.next() < begins + micros(2 * TXOP_US) {
            let now = channel.next();
            channel.advance(&mut Call::new(now, &mut packets, &mut dropped, &mut lost, next_hops));
        }
        (channel.tap().expect("it was set").clone(), begins)
    }

    /// Whether each frame of that kind and sender counts for the basic NAV of station 2.
    fn are_inter_bss(&self, tap: &Tap, kind: FrameKind, sender: u32) -> Vec<bool> {
        let frames = tap.frames().iter().filter(|frame| (frame.kind, frame.from) == (kind, sender));
        let hearers = frames.filter_map(|frame| tap.hearers(frame));
        hearers.flatten().filter(|hearer| hearer.station == OTHER).map(|hearer| hearer.is_inter_bss).collect()
    }

    /// When station 2, whose packet comes while the ACK is on the air, begins to send, in us after the holder.
    fn other_begins(&self, later: &[(u64, u32, u16, bool)]) -> u64 {
        let during_ack = DATA_US + SIFS_US + 5;
        let mut later: Vec<_> = later.iter().copied().chain([(during_ack, OTHER, 1500, false)]).collect();
        later.sort_unstable();
        start_of(&self.run(&later), OTHER)
    }

    /// Whether station 2 sends AIFS after a CF-End of the disturber, 1 ms after the holder has begun; otherwise it does
    /// AIFS after the end of the holder's TXOP.
    fn begins_after_foreign_cf_end(&self) -> bool {
        let frames = self.run(&[(600, OTHER, 1500, false), (1000, DISTURBER, 60, true)]);
        let cf_end = frames.iter().find(|frame| frame.kind == FrameKind::CfEnd).expect("it is sent");
        let released = (cf_end.end - Time::ZERO).as_nanos() / 1000;
        assert_eq!((cf_end.from, released < TXOP_US / 2), (DISTURBER, true));
        let begins = start_of(&frames, OTHER);
        assert!([released + AIFS_US, TXOP_US + AIFS_US].contains(&begins), "{begins}");
        begins == released + AIFS_US
    }
}

/// When a station begins its first frame, in us.
fn start_of(frames: &[FrameRecord], station: u32) -> u64 {
    let first = frames.iter().find(|frame| frame.from == station).expect("it sends");
    (first.start - Time::ZERO).as_nanos() / 1000
}

fn all(_: u32, _: u32) -> Hearing {
    Hearing::Reads
}

/// Only the access point hears, and is heard by, everybody.
fn by_ap_only(from: u32, to: u32) -> Hearing {
    if from.min(to) == 0 { Hearing::Reads } else { Hearing::Nothing }
}

/// Station 2 hears everybody, the disturber only station 2, and the others hear each other.
fn disturbed(from: u32, to: u32) -> Hearing {
    match (from.min(to), from.max(to)) {
        (near, DISTURBER) if near != OTHER => Hearing::Nothing,
        _ => Hearing::Reads,
    }
}

/// Data, ACK and CF-End follow each other after SIFS. All but the CF-End announce the end of the TXOP.
#[test]
fn frames_announce_the_end_of_the_txop() {
    let frames = Cell::released(all).run(&[]);
    let ends = [DATA_US, DATA_US + SIFS_US + ACK_US, DATA_US + SIFS_US + ACK_US + SIFS_US + CF_END_US];
    let expected = [
        (FrameKind::Data, HOLDER, ends[0], TXOP_US - ends[0]),
        (FrameKind::Ack, 0, ends[1], TXOP_US - ends[1]),
        (FrameKind::CfEnd, HOLDER, ends[2], 0),
    ];
    let seen = frames.iter().map(|frame| {
        let end = (frame.end - Time::ZERO).as_nanos() / 1000;
        (frame.kind, frame.from, end, frame.reserves.as_nanos() / 1000)
    });
    assert_eq!(seen.collect::<Vec<_>>(), expected);
}

/// Station 2 has read the ACK, which announces the end of the TXOP. It sends AIFS after a CF-End that it reads. One
/// that does not hear the holder, and so no CF-End, waits to the end of the TXOP and AIFS (10.22.2.9, note). Without
/// CF-End nothing is reserved after the ACK.
#[test]
fn a_station_hidden_from_the_holder_keeps_its_nav() {
    let after_ack = DATA_US + SIFS_US + ACK_US;
    let released = after_ack + SIFS_US + CF_END_US;
    assert_eq!(Cell::released(all).other_begins(&[]), released + AIFS_US);
    assert_eq!(Cell::released(by_ap_only).other_begins(&[]), TXOP_US + AIFS_US);
    for hearing in [all, by_ap_only] {
        let cell = Cell { cf_end: false, ..Cell::released(hearing) };
        assert_eq!(cell.other_begins(&[]), after_ack + AIFS_US);
    }
}

/// The access point repeats the CF-End after SIFS, and a station that is hidden from the holder sends AIFS later,
/// instead of at the end of the TXOP (10.22.2.9). One that hears the holder, too, senses the second CF-End before its
/// AIFS is over. The access point does not repeat a CF-End of another BSS.
#[test]
fn an_access_point_repeats_the_cf_end_of_its_bss() {
    let second_begins = DATA_US + SIFS_US + ACK_US + SIFS_US + CF_END_US + SIFS_US;
    let seconds = |cell: &Cell| {
        let frames = cell.run(&[]);
        let cf_ends = frames.iter().filter(|frame| (frame.kind, frame.from) == (FrameKind::CfEnd, 0));
        cf_ends.map(|frame| (frame.start - Time::ZERO).as_nanos() / 1000).collect::<Vec<_>>()
    };
    for hearing in [all as fn(u32, u32) -> Hearing, by_ap_only] {
        let cell = Cell { repeats: true, ..Cell::released(hearing) };
        assert_eq!(seconds(&cell), [second_begins]);
        assert_eq!(cell.other_begins(&[]), second_begins + CF_END_US + AIFS_US);
        let other_bss = Cell { aps: [0, HOLDER, 0, 0], ..cell };
        assert_eq!(seconds(&other_bss), [0_u64; 0]);
    }
}

/// The access point has read data of the disturber, which nobody answers and which reserve the channel. The CF-End of
/// the holder resets its only NAV, and it repeats the CF-End. An HE access point of another BSS keeps its basic NAV
/// (802.11ax-2021, 26.2.4), and is silent.
#[test]
fn an_access_point_with_a_basic_nav_repeats_no_cf_end() {
    fn beside(from: u32, to: u32) -> Hearing {
        let is_alone = from.max(to) == DISTURBER && from.min(to) != 0;
        if is_alone { Hearing::Nothing } else { Hearing::Reads }
    }
    for (class, ap_of_disturber, repeats) in [
        (ModulationClass::Ht, DISTURBER, true),
        (ModulationClass::He, 0, true),
        (ModulationClass::He, DISTURBER, false),
    ] {
        let aps = [0, 0, 0, ap_of_disturber];
        let cell = Cell { repeats: true, disturbs: true, class, aps, ..Cell::released(beside) };
        let (tap, _) = cell.record(&[]);
        let senders = |kind| tap.frames().iter().filter(move |frame| frame.kind == kind).map(|frame| frame.from);
        assert_eq!(senders(FrameKind::Data).next(), Some(DISTURBER));
        assert_eq!(senders(FrameKind::CfEnd).next(), Some(HOLDER));
        assert_eq!(senders(FrameKind::CfEnd).any(|from| from == 0), repeats, "{class:?}, {ap_of_disturber}");
    }
}

/// Station 2 hears the holder, but a broadcast of the disturber meets the CF-End: station 2 does not read it and keeps
/// its NAV. A broadcast that is over before the CF-End begins changes nothing.
#[test]
fn a_cf_end_that_collides_does_not_reset_the_nav() {
    let cf_end_begins = DATA_US + SIFS_US + ACK_US + SIFS_US;
    let broadcast = |at| [(at, DISTURBER, 60, true)];
    let frames = Cell::released(disturbed).run(&broadcast(cf_end_begins - 5));
    let met = start_of(&frames, DISTURBER);
    assert!((cf_end_begins - 5..cf_end_begins + CF_END_US).contains(&met), "{met}");
    assert_eq!(Cell::released(disturbed).other_begins(&broadcast(cf_end_begins - 5)), TXOP_US + AIFS_US);
    assert_eq!(Cell::released(disturbed).other_begins(&[]), cf_end_begins + CF_END_US + AIFS_US);
}

/// The data are lost, so that no response comes and the TXOP is not released. Station 2 has read that they reserve the
/// channel to its end.
#[test]
fn a_txop_without_response_is_not_released() {
    for (cf_end, until) in [(true, TXOP_US), (false, DATA_US + SIFS_US + ACK_US)] {
        let cell = Cell { cf_end, error: 1.0, ..Cell::released(all) };
        let frames = cell.run(&[(DATA_US + 5, OTHER, 1500, false)]);
        assert_eq!(start_of(&frames, OTHER), until + AIFS_US);
        assert!(frames.iter().all(|frame| frame.kind != FrameKind::CfEnd || frame.from != HOLDER));
    }
}

/// The access point does not hear the RTS. Station 2 resets the NAV of the RTS, which announces the end of the TXOP, if
/// nothing has begun two SIFS, a CTS of 28 us, a preamble of 20 us and two slots after the RTS (10.3.2.4).
#[test]
fn the_nav_of_an_rts_without_cts_is_reset() {
    let hearing = |from, to| if (from, to) == (HOLDER, 0) { Hearing::Nothing } else { Hearing::Reads };
    let cell = Cell { rts_threshold: 0, ..Cell::released(hearing) };
    let frames = cell.run(&[(5, OTHER, 1500, false)]);
    assert_eq!(frames[0].reserves, micros(TXOP_US - 28));
    assert_eq!(start_of(&frames, OTHER), 28 + (2 * SIFS_US + 28 + 20 + 2 * 9) + AIFS_US);
}

/// The data of the holder are lost, so that station 2 waits for the end of the TXOP. Meanwhile it reads a CF-End of the
/// disturber, which does not hear the holder. With one NAV it then sends after AIFS. An HE station has two NAVs, and a
/// CF-End resets one of them: that of its own BSS or that of all others (IEEE Std 802.11ax-2021, 26.2.4, 26.2.5). The
/// other one lasts to the end of the TXOP.
#[test]
fn a_cf_end_resets_one_of_two_navs() {
    let (ht, he) = (ModulationClass::Ht, ModulationClass::He);
    for (class, aps, is_reset) in [
        (ht, [0, 0, 0, DISTURBER], true),
        (he, [0, 0, 0, 0], true),
        (he, [0, 0, 0, DISTURBER], false),
        (he, [0, 0, DISTURBER, DISTURBER], false),
        (he, [0, 0, OTHER, DISTURBER], true), // both are other BSSs
    ] {
        let cell = Cell { error: 1.0, class, aps, ..Cell::released(disturbed) };
        assert_eq!(cell.begins_after_foreign_cf_end(), is_reset, "{class:?}, {aps:?}");
    }
}

/// The same frames in the record: a station with two NAVs has read as inter-BSS frames those of other BSSs
/// (802.11ax-2021, 26.2.2). A station with one NAV tells no such frames apart.
#[test]
fn records_say_which_of_two_navs_a_frame_changes() {
    let (ht, he) = (ModulationClass::Ht, ModulationClass::He);
    for (class, aps, of_holder, of_disturber) in [
        (ht, [0, 0, 0, DISTURBER], false, false),
        (he, [0, 0, 0, 0], false, false),
        (he, [0, 0, 0, DISTURBER], false, true),
        (he, [0, 0, DISTURBER, DISTURBER], true, false),
        (he, [0, 0, OTHER, DISTURBER], true, true),
    ] {
        let cell = Cell { error: 1.0, class, aps, ..Cell::released(disturbed) };
        let (tap, _) = cell.record(&[(1000, DISTURBER, 60, true)]);
        let seen = |kind, sender| cell.are_inter_bss(&tap, kind, sender);
        let (data, cf_end) = (seen(FrameKind::Data, HOLDER), seen(FrameKind::CfEnd, DISTURBER));
        assert!(data.contains(&of_holder) && !data.contains(&!of_holder), "{class:?}, {aps:?}: {data:?}");
        assert_eq!(cf_end, [of_disturber], "{class:?}, {aps:?}");
    }
}

/// As before, but the disturber sends an RTS to the access point, which does not hear it. It announces a later end than
/// the data of the holder. A station with one NAV resets it when no frame follows the RTS (10.3.2.4); one with two
/// resets that of the disturber's BSS, and waits for the end of the holder's TXOP.
#[test]
fn the_nav_of_an_rts_is_reset_without_that_of_another_bss() {
    for (class, waits) in [(ModulationClass::Vht, false), (ModulationClass::He, true)] {
        let aps = [0, 0, 0, DISTURBER];
        let cell = Cell { error: 1.0, rts_threshold: 0, class, aps, ..Cell::released(disturbed) };
        let frames = cell.run(&[(600, OTHER, 1500, false), (1000, DISTURBER, 1500, false)]);
        let is_foreign_rts = |frame: &&FrameRecord| frame.from == DISTURBER && frame.kind == FrameKind::Rts;
        let rts = frames.iter().find(is_foreign_rts).expect("it is sent");
        let reset = (rts.end - Time::ZERO).as_nanos() / 1000 + 2 * SIFS_US + 28 + 20 + 2 * 9;
        assert_eq!(start_of(&frames, OTHER), if waits { TXOP_US } else { reset } + AIFS_US, "{class:?}");
    }
}

/// A CTS has no transmitter address: it counts as one of the own BSS if it goes to the access point, or to the station
/// whose RTS has been read (26.2.2). Station 2 belongs to the BSS of the holder and the disturber. If it has not read
/// the RTS, the CTS sets the NAV for other BSSs, which a CF-End of its own does not reset.
#[test]
fn a_cts_counts_for_the_own_bss_if_its_receiver_is_known() {
    fn hidden(from: u32, to: u32) -> Hearing {
        if from.min(to) == HOLDER && from.max(to) == OTHER { Hearing::Nothing } else { disturbed(from, to) }
    }
    for (class, hearing, is_reset) in [
        (ModulationClass::Vht, hidden as fn(u32, u32) -> Hearing, true),
        (ModulationClass::He, hidden, false),
        (ModulationClass::He, disturbed, true),
    ] {
        let cell = Cell { error: 1.0, rts_threshold: 0, class, ..Cell::released(hearing) };
        assert_eq!(cell.begins_after_foreign_cf_end(), is_reset, "{class:?}");
        let of_cts = cell.are_inter_bss(&cell.record(&[]).0, FrameKind::Cts, 0);
        assert!(of_cts.contains(&!is_reset) && !of_cts.contains(&is_reset), "{class:?}: {of_cts:?}");
    }
}

/// The data of the holder are lost, so that its TXOP is not released, and it sends a longer packet to station 2, with
/// RTS. Its saved TXOP holder is the holder, so that station 2 responds despite its NAV (10.22.2.4). It does not answer
/// an RTS of the access point before the TXOP would have ended; it has received that RTS, which counts as such. All
/// stations hear each other.
#[test]
fn a_station_answers_the_holder_that_set_its_nav() {
    for (rts_from, is_general) in [(HOLDER, false), (0, false), (HOLDER, true), (0, true)] {
        let mut settings = settings(1, 3, 1000, 7);
        settings.classifier = Classifier::One;
        settings.aggregation = None;
        (settings.access.cf_end, settings.access.short_retry_limit) = (true, Some(1));
        for station in &mut settings.stations {
            (station.mode, station.aggregation, station.is_legacy) = (None, None, true);
            station.categories[0].parameters =
                Category { cw_min: 0, cw_max: 0, aifsn: 2, txop: micros(TXOP_US), burst: 1 };
        }
        settings.stations[HOLDER as usize].common.data_error_from = 1.0;
        let mut channel = match is_general {
            true => Channel::General(Box::new(GeneralChannel::new(settings))),
            false => Channel::Spatial(SpatialChannel::with_categories(settings, RadioLinks::full(3))),
        };
        channel.set_tap(true);
        let (mut packets, mut dropped, mut lost) = (Packets::default(), vec![], vec![]);
        let next_hops = NextHops(&[0, OTHER]);
        let mut begins = Time::ZERO;
        for (at, station, hop, size) in [(0, HOLDER, 0, 500), (20, rts_from, 1, 1500)] {
            let now = begins + micros(at);
            let mut call = Call::new(now, &mut packets, &mut dropped, &mut lost, next_hops);
            while channel.next() <= now {
                call.now = channel.next();
                channel.advance_until(call.now, &mut call);
            }
            call.now = now;
            let id = call.packets.insert(Packet { hop, size, kind: Kind::Udp, ..Packet::default() });
            channel.offer_in(station, 0, id, &mut call);
            begins = channel.next();
        }
        while channel.next() < begins + micros(2 * TXOP_US) {
            let now = channel.next();
            channel.advance_until(now, &mut Call::new(now, &mut packets, &mut dropped, &mut lost, next_hops));
        }
        let collided = channel.air_time(channel.next()).collision;
        let frames = channel.tap().expect("it was set").frames();
        let ends = frames[0].start + micros(TXOP_US);
        let rts = frames.iter().find(|frame| frame.kind == FrameKind::Rts).expect("it is sent");
        assert_eq!((rts.from, rts.end < ends), (rts_from, true));
        assert_eq!((rts.fate, collided), (Fate::Read, Duration::ZERO));
        let cts = frames.iter().find(|frame| frame.kind == FrameKind::Cts).map(|frame| frame.start);
        match rts_from {
            HOLDER => assert_eq!(cts, Some(rts.end + micros(SIFS_US))),
            _ => assert!(cts.is_none_or(|cts| cts >= ends), "{cts:?}, {ends:?}"),
        }
    }
}
