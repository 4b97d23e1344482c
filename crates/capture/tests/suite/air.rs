//! 802.11 frames, written by hand and read back: the statistics of each station.

use wifair_capture::frame::{self, BlockAck, Course, Echo, Heard, IpHeader, WifiDataFrame};
use wifair_capture::link::radiotap::{self, RadioInfo, RadioRate};
use wifair_capture::link::wifi::{Mac, WifiFrame, WifiFrameKind};
use wifair_capture::{
    Address, AirStation, Analysis, AnalysisOptions, Datagram, DecodeOutcome, Endpoint, LinkType, PcapWriter, Sink,
    analyze, decode,
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
        (0b1110, WifiFrameKind::Control), // CF-End
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
