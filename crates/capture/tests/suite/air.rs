//! 802.11 frames, written by hand and read back: the statistics of each station.

use wifair_capture::frame::{self, BlockAck, Course, Echo, Heard, IpHeader, WifiDataFrame};
use wifair_capture::link::radiotap::{self, RadioInfo, RadioRate};
use wifair_capture::link::wifi::{Mac, WifiFrame, WifiFrameKind};
use wifair_capture::{
    Address, AirStation, Analysis, AnalysisOptions, Datagram, DecodeOutcome, Endpoint, LinkType, PcapWriter,
    PcapngWriter, Sink, analyze, decode,
};

use crate::common::radio_rates::{ht_rate, vht_rate};
use crate::common::talk::MS;

const STATION: Mac = Mac([2, 0, 0, 0, 0, 1]);
const OTHER: Mac = Mac([2, 0, 0, 0, 0, 2]);
const ACCESS_POINT: Mac = Mac([2, 0, 0, 0, 0, 9]);

fn heard(rate: u8, levels: Option<(i8, i8)>) -> Heard {
    Heard { rate: Some(RadioRate::Legacy(rate)), frequency: 2_437, levels, ..Heard::default() }
}

fn data(transmitter: Mac, receiver: Mac, retry: bool) -> WifiDataFrame {
    let course = if transmitter == ACCESS_POINT { Course::FromAccessPoint } else { Course::ToAccessPoint };
    let third = Mac([2, 0, 0, 0, 0, 7]);
    WifiDataFrame { course, retry, receiver, transmitter, third, sequence: 1, tid: None, duration: 0 }
}

fn numbered(transmitter: Mac, receiver: Mac, sequence: u16) -> WifiDataFrame {
    WifiDataFrame { sequence, ..data(transmitter, receiver, false) }
}

/// Appends a frame without its check sequence.
type Body<'a> = &'a dyn Fn(&mut Vec<u8>);

/// A capture of frames, each with its radiotap header, 1 ms apart.
fn analyzed(frames: &[(Heard, Body<'_>)]) -> Analysis {
    let mut file = Vec::new();
    let mut writer = PcapWriter::new(&mut file, LinkType::Radiotap, 65_535).expect("memory can be written");
    for (number, (heard, body)) in frames.iter().enumerate() {
        let mut bytes = Vec::new();
        frame::radiotap(&mut bytes, heard);
        let start = bytes.len();
        body(&mut bytes);
        frame::fcs(&mut bytes, start);
        writer.write(number as u64 * MS, bytes.len() as u32, &bytes).expect("memory can be written");
    }
    analyze(&file[..], AnalysisOptions::default(), |_, _| true).expect("it is a capture")
}

/// Levels, rates, retries and bytes by station; noise by the capturing radio. The header of a data frame with LLC is
/// 24 + 8 bytes, the check sequence 4.
#[test]
fn frames_count_for_their_station() {
    let from = |transmitter, receiver, retry| {
        move |bytes: &mut Vec<u8>| frame::wifi_data(bytes, &data(transmitter, receiver, retry), false)
    };
    let (up, again) = (from(STATION, ACCESS_POINT, false), from(STATION, ACCESS_POINT, true));
    let down = from(ACCESS_POINT, STATION, false);
    let analysis = analyzed(&[
        (heard(108, Some((-50, -95))), &up),
        (heard(48, Some((-40, -90))), &again),
        (heard(108, Some((-60, -94))), &up),
        (heard(22, Some((-45, -93))), &down),
        (heard(108, None), &up),
    ]);
    let [station, access_point] = &analysis.stations[..] else { panic!("{:?}", analysis.stations) };
    assert_eq!((station.address, access_point.address), (STATION, ACCESS_POINT));
    assert_eq!((station.access_point, access_point.access_point), (false, true));
    assert_eq!((station.frames, station.data_frames, station.numbered, station.retries), (4, 4, 4, 1));
    assert_eq!((station.bytes, access_point.bytes), (4 * 36, 36));
    let levels = station.signal;
    assert_eq!((levels.count, levels.min, levels.max, levels.mean()), (3, -60, -40, Some(-50.0)));
    assert_eq!((analysis.noise.count, analysis.noise.min, analysis.noise.max), (4, -95, -90));
    assert_eq!(station.rates, [(24_000, 1), (54_000, 3)]);
    assert_eq!(access_point.rates, [(11_000, 1)]);
    assert_eq!((station.unrated, access_point.unrated), (0, 0));
}

/// ACK and CTS do not name their sender: it is the station that their receiver last sent a frame to, and a broadcast
/// has no single receiver that would answer.
#[test]
fn an_ack_counts_for_the_station_that_was_addressed() {
    let to = |receiver| move |bytes: &mut Vec<u8>| frame::wifi_data(bytes, &data(STATION, receiver, false), false);
    let ack = |bytes: &mut Vec<u8>| frame::wifi_ack(bytes, STATION, 0);
    let stray = |bytes: &mut Vec<u8>| frame::wifi_ack(bytes, OTHER, 0);
    let (first, second, all) = (to(ACCESS_POINT), to(OTHER), to(Mac([0xff; 6])));
    let rate = heard(48, Some((-50, -95)));
    let analysis =
        analyzed(&[(rate, &first), (rate, &ack), (rate, &second), (rate, &all), (rate, &ack), (rate, &stray)]);
    let frames: Vec<_> = analysis.stations.iter().map(|station| (station.address, station.frames)).collect();
    assert_eq!(frames, [(STATION, 3), (ACCESS_POINT, 1), (OTHER, 1)]);
    // The sender of an ACK is not certain, so its level counts for no station.
    assert_eq!(analysis.stations.iter().map(|station| station.signal.count).collect::<Vec<_>>(), [3, 0, 0]);
    // Nothing of the receiver of the last ACK was captured, so it counts for no station.
    let text = analysis.to_json();
    assert!(text.contains("\"frames\": 6") && text.contains("\"frames_without_sender\": 1"));
}

/// A CTS that follows no RTS and precedes a frame of the station that it names is a CTS-to-self (IEEE Std 802.11-2020,
/// 10.3.2.11), sent by that station. All others answer an RTS, captured or not.
#[test]
fn a_cts_to_self_counts_for_the_station_that_it_names() {
    let up = |bytes: &mut Vec<u8>| frame::wifi_data(bytes, &data(STATION, ACCESS_POINT, false), false);
    let down = |bytes: &mut Vec<u8>| frame::wifi_data(bytes, &data(ACCESS_POINT, STATION, false), false);
    let rts = |bytes: &mut Vec<u8>| frame::wifi_rts(bytes, ACCESS_POINT, STATION, 100);
    let cts = |bytes: &mut Vec<u8>| frame::wifi_cts(bytes, STATION, 100);
    let ack = |bytes: &mut Vec<u8>| frame::wifi_ack(bytes, STATION, 0);
    let rate = heard(48, Some((-50, -95)));
    let counts = |frames: &[Body<'_>]| {
        let frames: Vec<_> = frames.iter().map(|body| (rate, *body)).collect();
        let analysis = analyzed(&frames);
        let of = |address| {
            let station = analysis.stations.iter().find(|station| station.address == address);
            station.map_or((0, 0), |station| (station.frames, station.signal.count))
        };
        [of(STATION), of(ACCESS_POINT)]
    };
    // The sender of a CTS-to-self is known, so its level counts; and its ACK still comes from the other station.
    assert_eq!(counts(&[&up, &cts, &up, &ack]), [(3, 3), (1, 0)]);
    assert_eq!(counts(&[&cts, &up, &ack]), [(2, 2), (1, 0)]);
    assert_eq!(counts(&[&rts, &cts, &up]), [(2, 2), (1, 0)]);
    // The RTS was not captured: another station sends next, or an RTS follows, or nothing.
    assert_eq!(counts(&[&up, &cts, &down]), [(1, 1), (2, 1)]);
    assert_eq!(counts(&[&up, &cts, &rts]), [(2, 2), (1, 0)]);
    assert_eq!(counts(&[&up, &cts]), [(1, 1), (1, 0)]);
}

/// A capture of frames of 802.11ac, each with the time of the radio's clock in us and the number of its A-MPDU, if any.
/// radiotap: the TSFT, flags (a check sequence follows), and if there is a number, A-MPDU status (aligned to four).
fn heard_at(frames: &[(u64, Option<u32>, Body<'_>)]) -> Vec<(Mac, [u64; 4])> {
    let mut file = Vec::new();
    let mut writer = PcapWriter::new(&mut file, LinkType::Radiotap, 65_535).expect("memory can be written");
    for (tsf, ampdu, body) in frames {
        let length = if ampdu.is_some() { 28 } else { 17 };
        let mut bytes = vec![0, 0, length, 0, 3, 0, if ampdu.is_some() { 0x10 } else { 0 }, 0];
        bytes.extend(tsf.to_le_bytes());
        bytes.push(0x10);
        if let Some(number) = ampdu {
            bytes.extend([0; 3]);
            bytes.extend(number.to_le_bytes());
            bytes.extend([0; 4]);
        }
        let start = bytes.len();
        body(&mut bytes);
        frame::fcs(&mut bytes, start);
        writer.write(tsf * 1_000, bytes.len() as u32, &bytes).expect("memory can be written");
    }
    let analysis = analyze(&file[..], AnalysisOptions::default(), |_, _| true).expect("it is a capture");
    let counts = |station: &AirStation| {
        [station.aggregates, station.aggregated, station.largest_aggregate.into(), station.aggregates_unanswered]
    };
    analysis.stations.iter().map(|station| (station.address, counts(station))).collect()
}

/// Some drivers give every A-MPDU the number 0. Another sender, a time beyond the longest PPDU or the same MPDU again
/// begins a new one.
#[test]
fn a_number_that_never_changes_does_not_join_aggregates() {
    let up = |sequence| {
        move |bytes: &mut Vec<u8>| frame::wifi_data(bytes, &numbered(STATION, ACCESS_POINT, sequence), false)
    };
    let down = |sequence| {
        move |bytes: &mut Vec<u8>| frame::wifi_data(bytes, &numbered(ACCESS_POINT, STATION, sequence), false)
    };
    let (one, two) = (Some(0), Some(1));
    let stations = heard_at(&[
        (1_000, one, &up(1)),
        (1_300, one, &up(2)),
        (9_000, one, &up(3)),
        (9_500, one, &down(1)),
        (9_900, one, &down(2)),
        (9_950, one, &down(2)),
        (9_999, two, &down(3)),
    ]);
    assert_eq!(stations, [(STATION, [2, 3, 2, 2]), (ACCESS_POINT, [3, 4, 2, 2])]);
}

/// IEEE Std 802.11-2020, 9.7.3: all MPDUs of an A-MPDU have the same receiver, so frames to two are of two A-MPDUs,
/// even if they follow each other closely and the driver gives every A-MPDU the number 0.
#[test]
fn an_aggregate_has_one_receiver() {
    let down = |receiver, sequence| {
        move |bytes: &mut Vec<u8>| frame::wifi_data(bytes, &numbered(ACCESS_POINT, receiver, sequence), false)
    };
    let zero = Some(0);
    let stations = heard_at(&[
        (1_000, zero, &down(STATION, 1)),
        (1_000, zero, &down(STATION, 2)),
        (2_000, zero, &down(OTHER, 1)),
        (2_000, zero, &down(OTHER, 2)),
        (2_000, zero, &down(OTHER, 3)),
    ]);
    assert_eq!(stations, [(ACCESS_POINT, [2, 5, 3, 0])]);
}

/// A radio near the access point may hear nothing of a station. Whether that answers is then unknown, and the A-MPDUs
/// to it do not count as unanswered; those to a station that was heard do.
#[test]
fn answers_of_a_station_that_is_not_heard_are_unknown() {
    let hear = |ampdu| Heard { rate: Some(ht_rate(0, false, false)), ampdu: Some((ampdu, true)), ..heard(0, None) };
    let down = |receiver, sequence| {
        move |bytes: &mut Vec<u8>| frame::wifi_data(bytes, &numbered(ACCESS_POINT, receiver, sequence), false)
    };
    let (first, second, third) = (down(OTHER, 1), down(STATION, 1), down(OTHER, 2));
    let up = |bytes: &mut Vec<u8>| frame::wifi_data(bytes, &data(STATION, ACCESS_POINT, false), false);
    let analysis = analyzed(&[(hear(1), &first), (hear(2), &second), (hear(3), &third), (heard(48, None), &up)]);
    let access_point = &analysis.stations[0];
    assert_eq!((access_point.aggregates, access_point.aggregates_unanswered), (3, 1));
    assert_eq!(access_point.aggregates_to_unheard, 2);
}

/// Cells that do not hear each other send at the same time, so a frame of one may stand between an RTS of the other and
/// its CTS, or between an A-MPDU and its block ACK. The CTS still is the answer of the station that the RTS addressed,
/// and the A-MPDU has an answer.
#[test]
fn exchanges_of_two_cells_may_overlap() {
    let [neighbour, its_ap] = [Mac([2, 0, 0, 0, 0, 5]), Mac([2, 0, 0, 0, 0, 6])];
    let block_ack = |receiver, transmitter| {
        let ack = BlockAck { receiver, transmitter, duration: 0, tid: 0, start: 0 };
        move |bytes: &mut Vec<u8>| frame::wifi_block_ack(bytes, &ack, &[1; 8])
    };
    let up = |sequence| {
        move |bytes: &mut Vec<u8>| frame::wifi_data(bytes, &numbered(STATION, ACCESS_POINT, sequence), false)
    };
    let beside = |sequence| {
        let data = WifiDataFrame { receiver: its_ap, ..numbered(neighbour, its_ap, sequence) };
        move |bytes: &mut Vec<u8>| frame::wifi_data(bytes, &data, false)
    };
    let rts = |bytes: &mut Vec<u8>| frame::wifi_rts(bytes, ACCESS_POINT, STATION, 100);
    let cts = |bytes: &mut Vec<u8>| frame::wifi_cts(bytes, STATION, 100);
    let rate = heard(48, None);
    let (one, two, answer, its_answer) =
        (up(1), beside(1), block_ack(STATION, ACCESS_POINT), block_ack(neighbour, its_ap));
    let analysis = analyzed(&[(rate, &rts), (rate, &its_answer), (rate, &cts), (rate, &one)]);
    let frames: Vec<_> = analysis.stations.iter().map(|station| (station.address, station.frames)).collect();
    assert_eq!(frames, [(STATION, 2), (its_ap, 1), (ACCESS_POINT, 1)]);
    let (again, beside_again) = (up(2), beside(2));
    let stations = heard_at(&[
        (100, Some(1), &one),
        (150, Some(2), &two),
        (200, None, &answer),
        (250, None, &its_answer),
        (300, Some(3), &again),
        (350, Some(4), &beside_again),
    ]);
    let of = |address| stations.iter().find(|(station, _)| *station == address).map(|(_, counts)| *counts);
    assert_eq!((of(STATION), of(neighbour)), (Some([2, 2, 1, 0]), Some([2, 2, 1, 0])));
}

/// Two radios in one file: the frames of each are a sequence of its own, by interface or by frequency, so frames of the
/// other neither end an A-MPDU nor stand between RTS and CTS. Each A-MPDU has two frames of 36 bytes at HT MCS 0: 36 us
/// and, for 22 + 8 * (40 + 40) bits of 26 in a symbol, 26 symbols of 4 us.
#[test]
fn radios_on_different_channels_do_not_mix() {
    let sending = |transmitter, sequence| {
        move |bytes: &mut Vec<u8>| frame::wifi_data(bytes, &numbered(transmitter, ACCESS_POINT, sequence), false)
    };
    let hear = |frequency, number| Heard {
        rate: Some(ht_rate(0, false, false)),
        frequency,
        ampdu: Some((number, false)),
        ..Heard::default()
    };
    let frames: [(u32, Heard, Body<'_>); 4] = [
        (0, hear(5_180, 1), &sending(STATION, 1)),
        (1, hear(5_240, 1), &sending(OTHER, 1)),
        (0, hear(5_180, 1), &sending(STATION, 2)),
        (1, hear(5_240, 1), &sending(OTHER, 2)),
    ];
    for interfaces in [1, 2] {
        let mut writer = PcapngWriter::new(Vec::new()).expect("memory can be written");
        for _ in 0..interfaces {
            writer.interface("wlan", LinkType::Radiotap, 65_535).expect("memory can be written");
        }
        for (interface, heard, body) in &frames {
            let mut bytes = Vec::new();
            frame::radiotap(&mut bytes, heard);
            let start = bytes.len();
            body(&mut bytes);
            frame::fcs(&mut bytes, start);
            writer.write(interface % interfaces, 0, bytes.len() as u32, &bytes).expect("memory can be written");
        }
        let file = writer.finish().expect("memory can be written");
        let analysis = analyze(&file[..], AnalysisOptions::default(), |_, _| true).expect("it is a capture");
        for station in &analysis.stations {
            assert_eq!((station.aggregates, station.aggregated, station.largest_aggregate), (1, 2, 2));
            assert!((station.air_time_us - 140.0).abs() < 1e-9, "{} us", station.air_time_us);
        }
    }
}

/// A file merged with itself has each frame twice, frames of one time stamp together. An A-MPDU of two frames of 36
/// bytes at HT MCS 0 takes 140 us (see above); with each frame counted twice it has four MPDUs, which takes longer. The
/// second ACK is another frame, later.
#[test]
fn a_file_merged_with_itself_counts_once() {
    let up = |sequence| {
        move |bytes: &mut Vec<u8>| frame::wifi_data(bytes, &numbered(STATION, ACCESS_POINT, sequence), false)
    };
    let (one, two) = (up(1), up(2));
    let ack = |bytes: &mut Vec<u8>| frame::wifi_ack(bytes, STATION, 0);
    let hear =
        Heard { rate: Some(ht_rate(0, false, false)), ampdu: Some((1, false)), frequency: 5_180, ..heard(0, None) };
    let ampdu: [(u64, Heard, Body<'_>); 2] = [(0, hear, &one), (0, hear, &two)];
    let answers: [[(u64, Heard, Body<'_>); 1]; 2] = [1, 2].map(|at| [(at * MS, heard(48, None), &ack as Body<'_>)]);
    let count = |copies: usize, keep_copies: bool| {
        let mut file = Vec::new();
        let mut writer = PcapWriter::new(&mut file, LinkType::Radiotap, 65_535).expect("memory can be written");
        for frames in [&ampdu[..], &answers[0], &answers[1]] {
            for (nanos, heard, body) in std::iter::repeat_n(frames, copies).flatten() {
                let mut bytes = Vec::new();
                frame::radiotap(&mut bytes, heard);
                let start = bytes.len();
                body(&mut bytes);
                frame::fcs(&mut bytes, start);
                writer.write(*nanos, bytes.len() as u32, &bytes).expect("memory can be written");
            }
        }
        let options = AnalysisOptions { keep_copies, ..AnalysisOptions::default() };
        let analysis = analyze(&file[..], options, |_, _| true).expect("it is a capture");
        let station = &analysis.stations[0];
        assert_eq!(station.address, STATION);
        let frames: u64 = analysis.stations.iter().map(|station| station.frames).sum();
        let largest = station.largest_aggregate;
        (station.air_time_us.round(), station.aggregates, largest, frames, analysis.counts.captured_twice)
    };
    assert_eq!(count(1, false), (140.0, 1, 2, 4, 0));
    assert_eq!(count(2, false), (140.0, 1, 2, 4, 4));
    assert_eq!((count(2, true).3, count(2, true).4), (8, 0));
}

/// A capture of 100 bytes of each frame has the first packet of an A-MSDU, but none after it, which the report says.
/// Frames captured whole have all, and of one that ends before the LLC header of the second that is missing, too.
#[test]
fn an_amsdu_that_was_cut_is_told() {
    let ip = IpHeader::between(
        Endpoint { address: Address::v4(0x0a00_0001), port: 0 },
        Endpoint { address: Address::v4(0x0a00_0002), port: 0 },
    );
    let echo = Echo { ip, reply: false, identifier: 1, sequence: 1, payload: 56 };
    let mut bytes = Vec::new();
    frame::wifi_amsdu(&mut bytes, &WifiDataFrame { tid: Some(0), ..data(STATION, ACCESS_POINT, false) });
    for is_last in [false, true] {
        let subframe = frame::begin_subframe(&mut bytes, STATION, OTHER, false);
        frame::echo(&mut bytes, &echo, u32::MAX);
        frame::end_subframe(&mut bytes, subframe, is_last);
    }
    // The header has 26 bytes, the first subframe 14 + 8 + 84, padded to 108.
    for (captured, packets, cut) in [(100, 1, 1), (134, 1, 1), (152, 1, 1), (bytes.len(), 2, 0)] {
        let mut file = Vec::new();
        let mut writer = PcapWriter::new(&mut file, LinkType::Wifi, 65_535).expect("memory can be written");
        writer.write(0, bytes.len() as u32, &bytes[..captured]).expect("memory can be written");
        let analysis = analyze(&file[..], AnalysisOptions::default(), |_, _| true).expect("it is a capture");
        assert_eq!((analysis.counts.echoes, analysis.counts.cut_amsdus), (packets, cut), "{captured} bytes");
        let told = analysis.to_json().contains("A-MSDU frames captured without their last packets");
        assert_eq!(told, cut > 0);
    }
}

/// IEEE Std 802.11-2020, 10.12.8: VHT PPDUs carry A-MPDUs only, so a single MPDU has a delimiter of four bytes. One of
/// 36 bytes at MCS 0 takes 22 + 8 * 40 bits in 14 symbols of 26 bits after 40 us. Without a delimiter, as in HT after
/// 36 us, it takes 12 symbols.
#[test]
fn single_mpdus_of_802_11ac_have_a_delimiter() {
    let up = |bytes: &mut Vec<u8>| frame::wifi_data(bytes, &data(STATION, ACCESS_POINT, false), false);
    for (rate, us) in [(vht_rate(0, 1, 20, false), 40.0 + 56.0), (ht_rate(0, false, false), 36.0 + 48.0)] {
        let analysis = analyzed(&[(Heard { rate: Some(rate), frequency: 5_180, ..Heard::default() }, &up)]);
        assert!((analysis.stations[0].air_time_us - us).abs() < 1e-9, "{:?}", analysis.stations[0]);
    }
}

/// A single MPDU is answered by an ACK, others by a block ACK, which may answer several at once. A group answers
/// nothing.
#[test]
fn answers_to_aggregates() {
    let up = |bytes: &mut Vec<u8>| frame::wifi_data(bytes, &data(STATION, ACCESS_POINT, false), false);
    let to_all = |bytes: &mut Vec<u8>| frame::wifi_data(bytes, &data(ACCESS_POINT, Mac([0xff; 6]), false), false);
    let ack = |receiver| move |bytes: &mut Vec<u8>| frame::wifi_ack(bytes, receiver, 0);
    let block_ack = |receiver| {
        let ack = BlockAck { receiver, transmitter: ACCESS_POINT, duration: 0, tid: 0, start: 0 };
        move |bytes: &mut Vec<u8>| frame::wifi_block_ack(bytes, &ack, &[1; 8])
    };
    for (answer, unanswered) in [
        (&ack(STATION) as Body<'_>, 0),
        (&ack(OTHER), 1),
        (&block_ack(STATION), 0),
        (&block_ack(OTHER), 1),
        (&block_ack(Mac([0xff; 6])), 0),
    ] {
        let stations = heard_at(&[(0, Some(1), &up), (200, None, answer), (300, Some(2), &to_all), (900, None, &up)]);
        assert_eq!(stations[0], (STATION, [1, 1, 1, unanswered]));
        assert_eq!(stations.iter().find(|(address, _)| *address == ACCESS_POINT), Some(&(ACCESS_POINT, [1, 1, 1, 0])));
    }
}

struct Seen {
    frames: Vec<(WifiFrameKind, Option<u8>)>,
}

impl<'a> Sink<'a> for Seen {
    fn frame(&mut self, frame: &WifiFrame<'a>, _: &RadioInfo) -> bool {
        self.frames.push((frame.kind, frame.tid));
        true
    }

    fn datagram(&mut self, _: &Datagram<'a>) {}
}

/// IEEE Std 802.11-2020, 9.2.4.5.2: the TID is the low half of the first byte of QoS Control, whose other bits are the
/// end of the service period and the ACK policy. A QoS Null frame ends after its header.
#[test]
fn the_tid_is_in_the_low_bits() {
    for (control, control_bits, length, outcome) in [
        (0x88_u8, 0x75_u8, 26, DecodeOutcome::Malformed), // data without LLC header
        (0xc8, 0x75, 26, DecodeOutcome::Other),
        (0xc8, 0x75, 25, DecodeOutcome::Malformed),
    ] {
        let mut frame = vec![control, 1, 0, 0];
        for address in [ACCESS_POINT, STATION, OTHER] {
            frame.extend(address.0);
        }
        frame.extend([0x10, 0, control_bits, 0]);
        frame.truncate(length);
        let mut seen = Seen { frames: vec![] };
        assert_eq!(decode(LinkType::Wifi, &frame, length as u32, &mut seen), outcome, "{control:x}, {length}");
        let expected = if length == 26 { vec![(WifiFrameKind::Data, Some(5))] } else { vec![] };
        assert_eq!(seen.frames, expected);
    }
}

/// IEEE Std 802.11-2020, table 9-1: subtypes of control frames. Each is ten bytes or longer and carries no packet.
#[test]
fn control_frames_are_told_apart_by_their_subtypes() {
    for (subtype, kind) in [
        (0b1001, WifiFrameKind::BlockAck),
        (0b1010, WifiFrameKind::Control), // PS-Poll
        (0b1011, WifiFrameKind::Rts),
        (0b1100, WifiFrameKind::Cts),
        (0b1101, WifiFrameKind::Ack),
        (0b1110, WifiFrameKind::CfEnd),
    ] {
        let mut frame = vec![subtype << 4 | 0b0100, 0, 0, 0];
        frame.extend(STATION.0);
        frame.extend(ACCESS_POINT.0);
        let mut seen = Seen { frames: vec![] };
        assert_eq!(decode(LinkType::Wifi, &frame, 16, &mut seen), DecodeOutcome::Other);
        assert_eq!(seen.frames, [(kind, None)], "{subtype:b}");
    }
}

/// IEEE Std 802.11-2020, 9.3.1.2: a station of 802.11ac that announces its bandwidth sets the group bit of
/// its own address in control frames. 9.3.1.9: a control wrapper has address 1 alone. 9.2.4.1.2: other versions of the
/// protocol have other headers. Some devices send CF-Ends with an address of zeros, which is no station's.
#[test]
fn transmitters_of_control_frames_are_individual() {
    let transmitter = |control: u8, second: Mac| {
        let mut frame = vec![control, 0, 0, 0];
        frame.extend(STATION.0);
        frame.extend(second.0);
        let mut seen = Transmitters(vec![]);
        assert_eq!(decode(LinkType::Wifi, &frame, 16, &mut seen), DecodeOutcome::Other, "{control:x}");
        seen.0
    };
    let signalling = Mac([3, 0, 0, 0, 0, 9]);
    for subtype in [0b0101, 0b1000, 0b1001, 0b1011] {
        assert_eq!(transmitter(subtype << 4 | 0b0100, signalling), [Some(ACCESS_POINT)], "{subtype:b}");
    }
    assert_eq!(transmitter(0x74, ACCESS_POINT), [None]);
    assert_eq!(transmitter(0xe4, ACCESS_POINT), [Some(ACCESS_POINT)]);
    assert_eq!(transmitter(0xe4, Mac([0; 6])), [None]);
    assert_eq!(transmitter(0xb5, ACCESS_POINT), []);
}

struct Transmitters(Vec<Option<Mac>>);

impl<'a> Sink<'a> for Transmitters {
    fn frame(&mut self, frame: &WifiFrame<'a>, _: &RadioInfo) -> bool {
        self.0.push(frame.transmitter);
        true
    }

    fn datagram(&mut self, _: &Datagram<'a>) {}
}

/// The LLC header of a data frame has eight bytes with SNAP. Another header, such as 42 42 03 of the spanning tree
/// (IEEE Std 802.1D-2004, 9.3), is not an error; a frame that ends before the header could be complete is.
#[test]
fn data_without_snap_are_another_protocol() {
    for (length, outcome) in [(7, DecodeOutcome::Malformed), (8, DecodeOutcome::Other), (38, DecodeOutcome::Other)] {
        let mut frame = vec![0x08, 1, 0, 0];
        for address in [ACCESS_POINT, STATION, OTHER] {
            frame.extend(address.0);
        }
        frame.extend([0x10, 0, 0x42, 0x42, 0x03]);
        frame.resize(24 + length, 0);
        let mut seen = Seen { frames: vec![] };
        assert_eq!(decode(LinkType::Wifi, &frame, frame.len() as u32, &mut seen), outcome, "{length}");
    }
}

/// IEEE Std 802.11-2020, 9.3.2.2.2: each subframe has two addresses and the length of what follows; all but the last
/// are padded to a multiple of four bytes. Eight bytes of LLC and five others are 14 + 13 bytes, so one is added.
#[test]
fn subframes_are_padded_up_to_the_last() {
    let mut bytes = vec![0xff; 3];
    for is_last in [false, true] {
        let start = frame::begin_subframe(&mut bytes, STATION, OTHER, false);
        bytes.extend([1, 2, 3, 4, 5]);
        frame::end_subframe(&mut bytes, start, is_last);
    }
    let subframe =
        [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0, 13, 0xaa, 0xaa, 0x03, 0, 0, 0, 8, 0, 1, 2, 3, 4, 5].as_slice();
    assert_eq!(bytes, [&[0xff; 3], subframe, &[0], subframe].concat());
}

/// The contents of a radiotap header are read back; the rate is left out if requested.
#[test]
fn radiotap_headers_are_read_back() {
    let read = |heard: &Heard| {
        let mut bytes = vec![];
        frame::radiotap(&mut bytes, heard);
        let (radio, rest) = radiotap::parse(&bytes).expect("a header");
        assert!(rest.is_empty());
        radio
    };
    for rate in [
        RadioRate::Legacy(2),
        RadioRate::Legacy(11),
        RadioRate::Legacy(108),
        ht_rate(15, true, true),
        ht_rate(3, false, false),
        vht_rate(9, 2, 80, true),
        vht_rate(0, 1, 20, false),
        vht_rate(4, 3, 40, false),
        vht_rate(7, 8, 160, true),
    ] {
        for bad_fcs in [false, true] {
            let heard =
                Heard { rate: Some(rate), frequency: 5_500, levels: Some((-71, -92)), bad_fcs, ..Heard::default() };
            let radio = read(&heard);
            assert_eq!((radio.rate, radio.frequency, radio.has_fcs), (Some(rate), Some(5_500), true));
            assert_eq!((radio.signal, radio.noise, radio.bad_fcs, radio.ampdu), (Some(-71), Some(-92), bad_fcs, None));
            let radio = read(&Heard { rate: None, levels: None, ampdu: Some((77, true)), ..heard });
            assert_eq!((radio.rate, radio.signal, radio.noise, radio.ampdu), (None, None, None, Some(77)));
        }
    }
}

/// RFC 1071: the 16-bit words of an ICMP message with its checksum add up to 0xffff. RFC 792: type 8 is an echo, 0 a
/// reply.
#[test]
fn echoes_have_a_correct_checksum() {
    for (reply, kind) in [(false, 8), (true, 0)] {
        let [source, destination] = [1, 2].map(|host| Endpoint { address: Address::v4(0x0a00_0000 | host), port: 0 });
        let ip = IpHeader { id: 7, ..IpHeader::between(source, destination) };
        let echo = Echo { ip, reply, identifier: 0x1234, sequence: 0xfedc, payload: 56 };
        let mut packet = Vec::new();
        frame::echo(&mut packet, &echo, u32::MAX);
        assert_eq!((packet.len(), packet[20]), (84, kind));
        assert_eq!(packet[24..28], [0x12, 0x34, 0xfe, 0xdc]);
        for part in [&packet[..20], &packet[20..]] {
            let words = part.chunks(2).map(|word| u32::from(word[0]) << 8 | u32::from(word[1]));
            let sum = words.fold(0, |sum, word| (sum + word) % 0xffff);
            assert_eq!(sum, 0, "{part:02x?}");
        }
    }
}
