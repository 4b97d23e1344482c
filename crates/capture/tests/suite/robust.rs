//! Any bytes give a result or a clear error: never a panic, a hang, or unbounded memory.

use std::io::Write;

use crate::any_bytes::read_tables;
use crate::common::talk::{self, MS, WRAPS, Wrap, ends, upload};
use crate::common::{capture, names};
use proptest::prelude::*;
use wifair_capture::{AnalysisOptions, Error, Graph, LinkType, PcapngWriter, analyze};

/// Analyses with all options on, and writes everything that can be written.
fn survive(bytes: &[u8]) -> Option<u64> {
    let settings = AnalysisOptions { rows: true, ..AnalysisOptions::default() };
    match analyze(bytes, settings, |_, _| true) {
        Ok(analysis) => {
            let json = analysis.to_json();
            assert!(serde_json::from_str::<serde_json::Value>(&json).is_ok(), "the output is JSON");
            read_tables(&analysis);
            for connection in 0..analysis.connections().len() {
                for graph in Graph::ALL {
                    let _ = (analysis.xplot(connection, 0, graph), analysis.xplot(connection, 1, graph));
                }
            }
            if let Some(damage) = &analysis.damage {
                assert!(!damage.what.is_empty());
            }
            Some(analysis.counts.packets)
        }
        Err(Error::Io(error)) => panic!("memory can be read: {error}"),
        Err(error) => {
            assert!(!error.to_string().is_empty());
            None
        }
    }
}

/// One file of every kind, small enough to be mutated thousands of times.
fn seeds() -> Vec<Vec<u8>> {
    let mut seeds: Vec<Vec<u8>> = WRAPS
        .iter()
        .flat_map(|wrap| {
            [false, true].map(|v6| talk::capture(&upload(ends(v6), u32::MAX - 9_000), *wrap, 1_000 * MS, 120))
        })
        .collect();
    let mut file = Vec::new();
    let mut writer = PcapngWriter::new(&mut file).expect("memory can be written");
    for wrap in [Wrap::Ethernet, Wrap::Qos, Wrap::Cooked2] {
        let interface = writer.interface("x", wrap.link(), 100).expect("memory can be written");
        for (at, tcp) in &upload(ends(false), 5) {
            let frame = wrap.frame(tcp, 1);
            writer.write(interface, *at, frame.len() as u32, &frame).expect("memory can be written");
        }
    }
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&file).expect("memory can be written");
    seeds.push(gzip.finish().expect("memory can be written"));
    seeds.push(ruzstd::encoding::compress_to_vec(&file[..], ruzstd::encoding::CompressionLevel::Fastest));
    seeds.push(file);
    seeds
}

#[derive(Clone, Debug)]
enum Change {
    Flip(prop::sample::Index, u8),
    Set(prop::sample::Index, u8),
    Word(prop::sample::Index, u32),
    Cut(prop::sample::Index),
    Remove(prop::sample::Index, usize),
    Repeat(prop::sample::Index, usize),
}

fn change() -> impl Strategy<Value = Change> {
    let at = any::<prop::sample::Index>;
    prop_oneof![
        8 => (at(), 0..8u8).prop_map(|(at, bit)| Change::Flip(at, bit)),
        4 => (at(), any::<u8>()).prop_map(|(at, byte)| Change::Set(at, byte)),
        2 => (at(), prop_oneof![Just(0), Just(u32::MAX), Just(1 << 31), any::<u32>()])
            .prop_map(|(at, word)| Change::Word(at, word)),
        1 => at().prop_map(Change::Cut),
        1 => (at(), 1..200usize).prop_map(|(at, count)| Change::Remove(at, count)),
        1 => (at(), 1..200usize).prop_map(|(at, count)| Change::Repeat(at, count)),
    ]
}

fn apply(bytes: &mut Vec<u8>, change: &Change) {
    if bytes.is_empty() {
        return;
    }
    let length = bytes.len();
    match change {
        Change::Flip(at, bit) => bytes[at.index(length)] ^= 1 << bit,
        Change::Set(at, byte) => bytes[at.index(length)] = *byte,
        Change::Word(at, word) => {
            let at = at.index(length);
            let end = length.min(at + 4);
            bytes[at..end].copy_from_slice(&word.to_le_bytes()[..end - at]);
        }
        Change::Cut(at) => bytes.truncate(at.index(length)),
        Change::Remove(at, count) => {
            let at = at.index(length);
            bytes.drain(at..length.min(at + count));
        }
        Change::Repeat(at, count) => {
            let at = at.index(length);
            let piece = bytes[at..length.min(at + count)].to_vec();
            bytes.splice(at..at, piece);
        }
    }
}

#[test]
fn changed_captures_give_a_result_or_an_error() {
    let seeds = seeds();
    for seed in &seeds {
        assert!(survive(seed).is_some_and(|packets| packets >= 55));
    }
    let mut runner = proptest::test_runner::TestRunner::new_with_rng(
        ProptestConfig { cases: 3_000, failure_persistence: None, ..ProptestConfig::default() },
        proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha),
    );
    let cases = (any::<prop::sample::Index>(), prop::collection::vec(change(), 1..12));
    runner
        .run(&cases, |(seed, changes)| {
            let mut bytes = seed.get(&seeds).clone();
            for change in &changes {
                apply(&mut bytes, change);
            }
            survive(&bytes);
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{error}"));
}

/// Real captures with one byte in a hundred changed, and truncated at many places.
#[test]
fn damaged_real_captures_give_a_result_or_an_error() {
    let mut state = 1u64;
    let mut random = move || {
        // splitmix64 (S. Vigna): any generator would do.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z ^ z >> 27
    };
    for name in names().iter().filter(|name| *name != "q_zero.pcap") {
        let packed = capture(name);
        let mut plain = Vec::new();
        if std::io::copy(&mut flate2::read::GzDecoder::new(&packed[..]), &mut plain).is_err() {
            plain.clone_from(&packed);
        }
        plain.truncate(100_000);
        for cut in 0..5 {
            let mut bytes = plain[..plain.len() - plain.len() * cut / 5].to_vec();
            let changes = bytes.len() / 100 * usize::from(cut != 4);
            for _ in 0..changes {
                // Keep the file header, so that the contents after it are tested.
                let at = 24 + random() as usize % (bytes.len() - 24).max(1);
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << (random() % 8);
                }
            }
            survive(&bytes);
        }
    }
}

/// A file that claims much more than it contains takes no more memory for it. A capture stays fast even if every packet
/// has new endpoints, or is out of order and never acknowledged.
#[test]
fn hostile_captures_take_bounded_time_and_memory() {
    // One direction only, every second segment missing, in reverse order.
    let [client, server] = ends(false);
    let mut steps: Vec<talk::Step> = (0..60_000u32)
        .map(|i| {
            let seq = (60_000 - i) * 20;
            let tcp = wifair_capture::frame::Tcp {
                seq,
                flags: 0x10,
                payload: 10,
                ..wifair_capture::frame::Tcp::between(client, server)
            };
            (u64::from(i), tcp)
        })
        .collect();
    assert_eq!(survive(&talk::capture(&steps, Wrap::Raw, 0, 60)), Some(60_000));
    steps.sort_by_key(|(at, _)| at.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    assert_eq!(survive(&talk::capture(&steps, Wrap::Raw, 0, 60)), Some(60_000));
    // Time stamps that jump over centuries.
    let mut file = Vec::new();
    let mut writer = PcapngWriter::new(&mut file).expect("memory can be written");
    let wire = writer.interface("x", LinkType::RawIp, 0).expect("memory can be written");
    for (i, (_, tcp)) in upload(ends(false), 5).iter().enumerate() {
        let frame = Wrap::Raw.frame(tcp, 1);
        let nanos = [0, u64::MAX, 1 << 40, u64::MAX / 2][i % 4];
        writer.write(wire, nanos, frame.len() as u32, &frame).expect("memory can be written");
    }
    survive(&file);
    // A record that claims 4 GiB.
    let mut claims = talk::capture(&steps[..3], Wrap::Raw, 0, 60);
    claims[24 + 8..24 + 12].copy_from_slice(&u32::MAX.to_le_bytes());
    assert_eq!(survive(&claims), Some(0));
}

/// Stamps at both ends of the 64-bit range, in every order; no sum over them may overflow.
#[test]
fn time_stamps_of_any_distance_are_accepted() {
    let steps = upload(ends(false), 5);
    let ends_of_time = [0, 1, u64::MAX, u64::MAX - 1, 1 << 63, (1 << 63) - 1, 1 << 40];
    for (shift, _) in ends_of_time.iter().enumerate() {
        for stride in 1..ends_of_time.len() {
            let mut file = Vec::new();
            let mut writer = PcapngWriter::new(&mut file).expect("memory can be written");
            let wire = writer.interface("x", LinkType::RawIp, 0).expect("memory can be written");
            for (i, (_, tcp)) in steps.iter().enumerate() {
                let frame = Wrap::Raw.frame(tcp, 1);
                let nanos = ends_of_time[(shift + i * stride) % ends_of_time.len()];
                writer.write(wire, nanos, frame.len() as u32, &frame).expect("memory can be written");
            }
            assert_eq!(survive(&file), Some(55));
        }
    }
}
