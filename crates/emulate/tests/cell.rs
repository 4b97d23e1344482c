//! Packets through an emulated cell, without devices and without a clock.

use std::net::{IpAddr, Ipv4Addr};

use wifair_emulate::record::{Recorder, Recording};
use wifair_emulate::{EmulatedCell, EmulationOptions, LONGEST_PACKET, Refusal, v6_of};
use wifair_sim::scenario::Scenario;
use wifair_units::{Duration, Time};

const CELL: &str = r#"
    duration = "10 s"
    warm_up = "0 s"
    wlan.standard = "802.11b"
    wlan.data_rate = "11 Mb/s"
    ap.queue.limit = "20 packets"
    [[servers]]
    name = "server"
    delay = "10 ms"
    [[stations]]
    name = "sta"
    count = 2
    [[flows]]
    name = "up"
    station = "sta"
"#;

/// The cell with the line `ap` in place of the limit of the access point's queue.
fn cell(ap: &str, flows: bool, seed: u64) -> EmulatedCell {
    let text = CELL.replace("ap.queue.limit = \"20 packets\"", ap);
    let scenario = Scenario::parse(&text, "cell.toml", &[]).unwrap_or_else(|problems| panic!("{problems}"));
    let mut cell = EmulatedCell::new(&scenario, &EmulationOptions { seed, flows, sample_every: None });
    cell.begin(None, None);
    cell
}

const LIMIT: &str = "ap.queue.limit = \"20 packets\"";
const STA1: usize = 0;
const SERVER: usize = 2;

fn sum(bytes: &[u8]) -> u16 {
    let mut sum: u32 =
        bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0))).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    u16::try_from(sum).expect("it was folded")
}

/// An IP packet with the right checksums between two hosts.
fn packet(cell: &EmulatedCell, from: usize, to: usize, v6: bool, ecn: u8, protocol: u8, inside: &[u8]) -> Vec<u8> {
    let address = |host: usize| match v6 {
        true => IpAddr::V6(v6_of(&cell.hosts()[host])),
        false => IpAddr::V4(cell.hosts()[host].address),
    };
    let octets = |address: IpAddr| match address {
        IpAddr::V4(v4) => v4.octets().to_vec(),
        IpAddr::V6(v6) => v6.octets().to_vec(),
    };
    let (source, destination) = (octets(address(from)), octets(address(to)));
    let length = u16::try_from(inside.len()).expect("it is short");
    let mut bytes = if v6 {
        [&[0x60, ecn << 4, 0, 0][..], &length.to_be_bytes(), &[protocol, 64], &source, &destination].concat()
    } else {
        let whole = (length + 20).to_be_bytes();
        let rest = [0, 0, 0x40, 0, 64, protocol, 0, 0];
        let mut head = [&[0x45, ecn][..], &whole, &rest, &source, &destination].concat();
        let check = !sum(&head);
        head[10..12].copy_from_slice(&check.to_be_bytes());
        head
    };
    let start = bytes.len();
    bytes.extend_from_slice(inside);
    if protocol == 6 {
        let check = !sum(&pseudo(&bytes, start));
        bytes[start + 16..start + 18].copy_from_slice(&check.to_be_bytes());
    }
    bytes
}

/// The bytes that the TCP checksum covers (RFC 9293, section 3.1), in a packet whose TCP header begins at `start`.
fn pseudo(packet: &[u8], start: usize) -> Vec<u8> {
    let addresses = if start == 40 { &packet[8..40] } else { &packet[12..20] };
    let length = u16::try_from(packet.len() - start).expect("it is short").to_be_bytes();
    [addresses, &[0, 6], &length, &packet[start..]].concat()
}

fn udp(cell: &EmulatedCell, from: usize, to: usize, payload: usize) -> Vec<u8> {
    let mut inside = vec![0x13, 0x88, 0x13, 0x89, 0, 0, 0, 0];
    inside[4..6].copy_from_slice(&u16::try_from(payload + 8).unwrap().to_be_bytes());
    inside.resize(payload + 8, 7);
    packet(cell, from, to, false, 0, 17, &inside)
}

/// A segment: ports, flags, sequence and acknowledgement number, window, options, length of the payload.
fn tcp(ports: (u16, u16), flags: u8, numbers: (u32, u32), window: u16, options: &[u8], payload: usize) -> Vec<u8> {
    let words = u8::try_from(5 + options.len() / 4).unwrap();
    let mut bytes = [ports.0.to_be_bytes(), ports.1.to_be_bytes()].concat();
    bytes.extend([numbers.0.to_be_bytes(), numbers.1.to_be_bytes()].concat());
    bytes.extend([words << 4, flags]);
    bytes.extend(window.to_be_bytes());
    bytes.extend([0; 4]);
    bytes.extend_from_slice(options);
    bytes.resize(bytes.len() + payload, 9);
    bytes
}

fn at(micros: u64) -> Time {
    Time::ZERO + Duration::from_micros(micros)
}

/// A single datagram with 1000 B of payload over a wired link of 10 ms. On the air it takes a DIFS of 50 us, a backoff
/// of up to 31 slots of 20 us, a long preamble of 192 us, and 1028 B plus 36 B of LLC and MAC headers at 11 Mb/s.
#[test]
fn a_packet_arrives_when_the_simulation_says_so() {
    let mut cell = cell(LIMIT, false, 1);
    let sent = udp(&cell, SERVER, STA1, 1000);
    cell.run_until(at(1_000_000));
    cell.inject(SERVER, &sent).unwrap();
    cell.run_until(at(1_009_999));
    assert!(cell.collect().is_none());
    cell.run_until(at(1_100_000));
    let delivery = cell.collect().unwrap();
    assert_eq!((delivery.to, delivery.bytes, delivery.lost), (STA1, &sent[..], None));
    let air_us = 192.0 + (1028.0 + 36.0) * 8.0 / 11.0;
    let taken_us = delivery.time.saturating_since(at(1_010_000)).as_secs() * 1e6;
    let wire_us = 1028.0 * 8.0 / 10.0; // at the default rate of a wired link or faster
    assert!((air_us..air_us + wire_us + 50.0 + 31.0 * 20.0).contains(&taken_us), "{taken_us} us");
    assert_eq!((cell.counts().sent, cell.counts().delivered), (1, 1));
}

/// A burst larger than the queue of 20 packets: the excess is lost at the queue, and every packet is accounted for.
#[test]
fn a_flood_is_bounded_by_the_queues() {
    let mut cell = cell(LIMIT, false, 1);
    let sent = udp(&cell, SERVER, STA1, 1000);
    for _ in 0..1000 {
        cell.inject(SERVER, &sent).unwrap();
    }
    cell.run_until(at(9_000_000));
    while cell.collect().is_some() {}
    let counts = cell.counts();
    assert_eq!(counts.delivered + counts.lost.iter().sum::<u64>(), 1000);
    assert!(counts.lost.iter().sum::<u64>() > 500, "{:?}", counts.lost);
}

#[test]
fn packets_that_cannot_be_carried_are_refused_and_counted() {
    let mut cell = cell(LIMIT, false, 1);
    let good = udp(&cell, STA1, SERVER, 100);
    let to = |address: Ipv4Addr| {
        let mut bytes = good.clone();
        bytes[16..20].copy_from_slice(&address.octets());
        bytes
    };
    let mut long = good.clone();
    long.resize(LONGEST_PACKET + 1, 0);
    let length = u16::try_from(long.len()).unwrap();
    long[2..4].copy_from_slice(&length.to_be_bytes());
    let mut cut = good.clone();
    cut.truncate(40);
    let mut lies = good.clone();
    lies[0] = 0x4f; // a header longer than the packet
    lies.truncate(40);
    lies[3] = 40;
    let mut solicitation = vec![0x60, 0, 0, 0, 0, 0, 58, 255];
    solicitation.resize(24, 1);
    solicitation.extend([0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
    for (bytes, refusal) in [
        (vec![], Refusal::Malformed),
        (vec![0xff; 60], Refusal::Malformed),
        (cut, Refusal::Malformed),
        (lies, Refusal::Malformed),
        (long, Refusal::TooLong),
        (solicitation, Refusal::Multicast),
        (to(Ipv4Addr::new(224, 0, 0, 251)), Refusal::Multicast),
        (to(Ipv4Addr::BROADCAST), Refusal::Multicast),
        (to(Ipv4Addr::new(8, 8, 8, 8)), Refusal::UnknownDestination),
        (udp(&cell, SERVER, STA1, 10), Refusal::UnknownDestination), // to itself
        (udp(&cell, 1, SERVER, 10), Refusal::ForeignSource),
    ] {
        assert_eq!(cell.inject(STA1, &bytes), Err(refusal), "{bytes:02x?}");
    }
    assert_eq!((cell.counts().sent, cell.counts().refused), (11, [4, 1, 3, 2, 1]));
    cell.inject(STA1, &good).unwrap();
    cell.run_until(at(1_000_000));
    assert!(cell.collect().is_some_and(|delivery| delivery.lost.is_none()));
}

/// B/n with B = 20 packets and one flow: the access point reduces windows to 20 segments of 1448 B, by hand 28,960 B or
/// 226 units of 128 B (RFC 7323, section 2), and keeps the checksum right. It leaves a smaller window as it is.
#[test]
fn windows_in_real_acks_are_rewritten() {
    // MSS 1460, SACK permitted, timestamps, window scale 7.
    let syn_options = [2, 4, 5, 0xb4, 4, 2, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0, 1, 3, 3, 7];
    let stamps = [1, 1, 8, 10, 0, 0, 0, 2, 0, 0, 0, 1];
    let (up, down) = ((40_000, 5201), (5201, 40_000));
    for v6 in [false, true] {
        let mut cell = cell(&format!("{LIMIT}\nap.scheme.window = \"b-over-n\""), false, 1);
        let mut pass = |from: usize, to: usize, inside: Vec<u8>| {
            let bytes = packet(&cell, from, to, v6, 0, 6, &inside);
            cell.inject(from, &bytes).unwrap();
            cell.run_until(cell.now() + Duration::from_millis(100));
            let delivery = cell.collect().expect("it arrives");
            assert_eq!(delivery.lost, None);
            let start = if v6 { 40 } else { 20 };
            assert_eq!(sum(&pseudo(delivery.bytes, start)), 0xffff, "checksum of TCP, v6 {v6}");
            u16::from_be_bytes([delivery.bytes[start + 14], delivery.bytes[start + 15]])
        };
        assert_eq!(pass(STA1, SERVER, tcp(up, 2, (1000, 0), 64_240, &syn_options, 0)), 64_240, "data goes up");
        // A window in a SYN is not scaled: 20 * 1448 B.
        assert_eq!(pass(SERVER, STA1, tcp(down, 0x12, (9000, 1001), 65_160, &syn_options, 0)), 28_960);
        // Data segments carry a window, too.
        let data = tcp(up, 0x10, (1001, 9001), 502, &stamps, 1448 - usize::from(v6) * 20);
        assert_eq!(pass(STA1, SERVER, data), 226);
        assert_eq!(pass(SERVER, STA1, tcp(down, 0x10, (9001, 2449), 509, &stamps, 0)), 226);
        assert_eq!(pass(SERVER, STA1, tcp(down, 0x10, (9001, 2449), 100, &stamps, 0)), 100);
        assert_eq!(cell.counts().windows_changed, 3);
    }
}

/// CoDel marks packets that wait long instead of dropping them (RFC 8289, RFC 3168) if they are ECN-capable.
#[test]
fn marks_reach_real_packets() {
    let codel = "ap.queue = { discipline = \"codel\", limit = \"1000 packets\" }";
    for v6 in [false, true] {
        let mut cell = cell(codel, false, 1);
        let bytes = packet(&cell, SERVER, STA1, v6, 2, 6, &tcp((5201, 40_000), 0x10, (1, 1), 500, &[], 1400));
        for _ in 0..400 {
            // Packets arrive a little faster than the air carries them, so the queue grows.
            cell.inject(SERVER, &bytes).unwrap();
            cell.run_until(cell.now() + Duration::from_micros(1200));
        }
        cell.run_until(at(5_000_000));
        let mut marked = 0;
        while let Some(delivery) = cell.collect() {
            assert_eq!(delivery.lost, None);
            let ecn = if v6 { delivery.bytes[1] >> 4 & 3 } else { delivery.bytes[1] & 3 };
            assert!(v6 || sum(&delivery.bytes[..20]) == 0xffff, "checksum of IPv4");
            marked += u64::from(ecn == 3);
        }
        assert!(marked > 0 && marked == cell.counts().marked, "{marked} of 400");
    }
}

/// Replaying a recording gives the same results, since the simulation is a function of the packets and their times. A
/// truncated recording is replayed as far as it goes. Another seed gives other results.
#[test]
fn a_recording_is_replayed() {
    let mut live = cell(LIMIT, true, 1);
    let mut recorder = Recorder::new(Vec::new(), "{}").unwrap();
    for step in 1..400_u64 {
        // The live run advances in other steps than the replay.
        live.run_until(at(step * 10_007 - 3_000));
        live.run_until(at(step * 10_007));
        let (from, to) = if step % 3 == 0 { (SERVER, STA1) } else { (STA1, SERVER) };
        let bytes = udp(&live, from, to, usize::try_from(step).unwrap() * 3);
        live.inject(from, &bytes).unwrap();
        recorder.inject(live.now(), from, &bytes).unwrap();
        while let Some(delivery) = live.collect() {
            recorder.collect(&delivery).unwrap();
        }
    }
    live.run_until(at(8_000_000));
    while let Some(delivery) = live.collect() {
        recorder.collect(&delivery).unwrap();
    }
    let file = recorder.finish(live.now()).unwrap();
    let replay = |file: &[u8], seed: u64| {
        let mut recording = Recording::open(file).unwrap();
        assert_eq!(recording.about(), "{}");
        recording.replay(&mut cell(LIMIT, true, seed), || true)
    };
    let whole = replay(&file, 1).unwrap();
    assert_eq!((whole.inject, whole.same, whole.differs_at, whole.is_cut), (399, 399, None, false));
    let cut = replay(&file[..file.len() / 2], 1).unwrap();
    assert!(cut.is_cut && cut.same > 100 && cut.differs_at.is_none());
    assert!(replay(&file, 2).unwrap().differs_at.is_some());
    assert!(Recording::open(&b"wifair"[..]).is_err());
    assert!(Recording::open(&b"something else that is longer"[..]).is_err());
    let mut damaged = file.clone();
    let first = damaged.windows(3).position(|bytes| bytes == b"{}\n").unwrap() + 3;
    damaged[first] = 77;
    assert!(replay(&damaged, 1).is_err());
}
