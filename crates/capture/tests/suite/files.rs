//! Capture files in all conditions: truncated, compressed, merged, empty, of another kind.

use std::io::Write;

use crate::common::{analyzed, capture, names};
use wifair_capture::{AnalysisOptions, CaptureReader, Error, LinkType, PcapWriter, PcapngWriter, analyze};

fn count(bytes: &[u8]) -> (u64, Option<String>) {
    let mut reader = CaptureReader::new(bytes).expect("it is a capture");
    let mut packets = 0;
    while reader.next().expect("bytes can be read").is_some() {
        packets += 1;
    }
    (packets, reader.damage().map(ToString::to_string))
}

#[test]
fn a_file_without_bytes_or_of_another_kind_is_an_error() {
    assert!(matches!(CaptureReader::new(&b""[..]), Err(Error::Empty)));
    for other in [&b"\x89PNG\r\n\x1a\n"[..], b"#!/bin/sh\n", b"x", b"{}"] {
        let Err(error) = CaptureReader::new(other) else { panic!("{other:?} is no capture") };
        assert!(error.to_string().starts_with("not a capture: it starts with"), "{error}");
    }
    let mut bluetooth = Vec::new();
    PcapWriter::new(&mut bluetooth, LinkType::Other(201), 100)
        .and_then(PcapWriter::finish)
        .expect("memory can be written");
    assert!(matches!(CaptureReader::new(&bluetooth[..]), Err(Error::LinkType { number: 201 })));
}

#[test]
fn a_capture_without_packets_is_an_empty_result() {
    let analysis = analyzed("q_empty.pcap", AnalysisOptions::default());
    assert_eq!((analysis.connections().len(), analysis.counts.packets), (0, 0));
    assert!(analysis.damage.is_none() && analysis.span.is_none());
}

#[test]
fn a_truncated_file_is_read_up_to_the_damage_which_is_reported() {
    // 3,536 packets are complete according to tcptrace and tshark.
    assert_eq!(
        count(&capture("f_truncated.pcap")),
        (3_536, Some("damaged at byte 342820: the file ends inside a packet: 31 of 96 bytes are there".into()))
    );
    assert_eq!(
        count(&capture("f_truncated_hdr.pcap")),
        (3_536, Some("damaged at byte 342820: the file ends inside a record header: 7 of 16 bytes are there".into()))
    );
}

#[test]
fn compressed_files_are_read_directly() {
    for name in names().iter().filter(|name| *name != "q_zero.pcap") {
        let plain = match flate2::read::GzDecoder::new(&capture(name)[..]) {
            mut packed if packed.header().is_some() => {
                let mut plain = Vec::new();
                std::io::copy(&mut packed, &mut plain).expect("the test data is whole");
                plain
            }
            _ => capture(name),
        };
        let here = count(&plain);
        assert_eq!(count(&capture(name)), here, "{name}");
        // Two members, as produced by `cat a.gz b.gz`.
        let (first, second) = plain.split_at(plain.len() / 2);
        let mut gzip = Vec::new();
        for part in [first, second] {
            let mut packer = flate2::write::GzEncoder::new(&mut gzip, flate2::Compression::fast());
            packer.write_all(part).and_then(|()| packer.finish().map(drop)).expect("memory can be written");
        }
        assert_eq!(count(&gzip), here, "{name} in gzip");
        let mut zstd = ruzstd::encoding::compress_to_vec(first, ruzstd::encoding::CompressionLevel::Fastest);
        // A skippable frame between two frames of data.
        zstd.extend(*b"\x50\x2a\x4d\x18\x03\x00\x00\x00abc");
        zstd.extend(ruzstd::encoding::compress_to_vec(second, ruzstd::encoding::CompressionLevel::Fastest));
        assert_eq!(count(&zstd), here, "{name} in zstd");
    }
}

#[test]
fn a_truncated_compressed_file_is_damage_not_an_error() {
    let whole = capture("e_loss_sack_snd.pcap");
    let (packets, damage) = count(&whole[..whole.len() / 2]);
    assert!(packets > 1_000 && packets < 3_736, "{packets}");
    assert!(damage.expect("the file is cut").contains("ends inside"));
}

/// The same packets in every format variant: both byte orders, micro- and nanoseconds, resolutions of pcapng.
#[test]
fn every_file_format_gives_the_same_packets() {
    let stamps = [1_700_000_000_123_456_000u64, 1_700_000_001_000_000_000];
    let packet = [7u8; 60];
    for (magic, nano) in [(0xa1b2_c3d4_u32, false), (0xa1b2_3c4d, true)] {
        for big in [false, true] {
            let word = |value: u32| if big { value.to_be_bytes() } else { value.to_le_bytes() };
            let half = |value: u16| if big { value.to_be_bytes() } else { value.to_le_bytes() };
            let mut file = Vec::new();
            file.extend(word(magic));
            file.extend(half(2));
            file.extend(half(4));
            for value in [0, 0, 65_535, 1] {
                file.extend(word(value));
            }
            for stamp in stamps {
                let fraction = (stamp % 1_000_000_000) as u32 / if nano { 1 } else { 1_000 };
                for value in [(stamp / 1_000_000_000) as u32, fraction, 60, 1_500] {
                    file.extend(word(value));
                }
                file.extend(packet);
            }
            check(&file, &stamps, &packet);
        }
    }
    for (resolution, per_second, offset) in [
        (6u8, 1_000_000u64, 0u64),
        (9, 1_000_000_000, 0),
        (3, 1_000, 0),
        (0x94, 1 << 20, 0),
        (9, 1_000_000_000, 1_600_000_000),
    ] {
        for big in [false, true] {
            check(&pcapng(big, resolution, per_second, offset, &stamps, &packet), &stamps, &packet);
        }
    }
}

fn check(file: &[u8], stamps: &[u64], packet: &[u8]) {
    let mut reader = CaptureReader::new(file).expect("it is a capture");
    for stamp in stamps {
        let record = reader.next().expect("bytes can be read").expect("a packet is there");
        // Ticks of a millisecond, or of 2^-20 s, are coarser than the stamps.
        assert!(record.nanos.abs_diff(*stamp) < 1_000_000, "{} {stamp}", record.nanos);
        assert_eq!((record.original, record.data), (1_500, packet));
    }
    assert!(reader.next().expect("bytes can be read").is_none());
    assert_eq!(reader.damage(), None);
}

fn pcapng(big: bool, resolution: u8, per_second: u64, offset: u64, stamps: &[u64], packet: &[u8]) -> Vec<u8> {
    let word = |value: u32| if big { value.to_be_bytes() } else { value.to_le_bytes() };
    let half = |value: u16| if big { value.to_be_bytes() } else { value.to_le_bytes() };
    let mut file = Vec::new();
    let mut block = |kind: u32, body: &[u8]| {
        let length = word(body.len() as u32 + 12);
        file.extend(word(kind));
        file.extend(length);
        file.extend(body);
        file.extend(length);
    };
    block(0x0a0d_0d0a, &[&word(0x1a2b_3c4d)[..], &half(1), &half(0), &[0xff; 8]].concat());
    let seconds = if big { offset.to_be_bytes() } else { offset.to_le_bytes() };
    let options = [&half(9)[..], &half(1), &[resolution, 0, 0, 0], &half(14), &half(8), &seconds, &half(0), &half(0)];
    block(1, &[&half(1)[..], &half(0), &word(0), &options.concat()].concat());
    block(0x0000_0bad, b"ever"); // an unknown block
    for stamp in stamps {
        let ticks = u128::from(stamp - offset * 1_000_000_000) * u128::from(per_second) / 1_000_000_000;
        let stamp = [word((ticks >> 32) as u32), word(ticks as u32)].concat();
        block(6, &[&word(0)[..], &stamp, &word(60), &word(1_500), packet].concat());
    }
    file
}

/// A simple packet block (pcapng, section 4.4) has its length on the wire alone, and is cut at the snap length of the
/// first interface or padded to 4 bytes; its length may be zero.
#[test]
fn a_simple_packet_is_cut_at_the_snap_length() {
    for (snap, original, there, captured) in [(0_u32, 0_u32, 0, 0), (0, 5, 8, 5), (4, 9, 4, 4), (16, 9, 12, 9)] {
        let mut file = Vec::new();
        let mut block = |kind: u32, body: &[u8]| {
            let length = (12 + body.len() as u32).to_le_bytes();
            file.extend([&kind.to_le_bytes()[..], &length, body, &length].concat());
        };
        block(0x0a0d_0d0a, &[&0x1a2b_3c4d_u32.to_le_bytes()[..], &[1, 0, 0, 0], &[0xff; 8]].concat());
        block(1, &[&[1, 0, 0, 0][..], &snap.to_le_bytes()].concat());
        block(3, &[&original.to_le_bytes()[..], &[7; 12][..there]].concat());
        let mut reader = CaptureReader::new(&file[..]).expect("it is a capture");
        let record = reader.next().expect("bytes can be read").expect("there is a packet");
        assert_eq!((record.original, record.data.len()), (original, captured));
        assert!(reader.next().expect("bytes can be read").is_none());
        assert!(reader.damage().is_none());
    }
}

#[test]
fn two_interfaces_are_two_capture_points() {
    let analysis = analyzed("g_two_if_native.pcapng", AnalysisOptions::default());
    let names: Vec<_> = analysis.interfaces.iter().map(|interface| interface.snap_length).collect();
    assert_eq!(names, [262_144, 96]);
    assert_eq!(analysis.connections().len(), 2);
}

/// Damage in the middle of a file: everything before it is kept, and the reading ends there.
#[test]
fn a_damaged_length_ends_the_reading() {
    let mut file = Vec::new();
    let mut writer = PcapngWriter::new(&mut file).expect("memory can be written");
    let wire = writer.interface("eth0", LinkType::Ethernet, 0).expect("memory can be written");
    for nanos in 0..3 {
        writer.write(wire, nanos, 60, &[0; 60]).expect("memory can be written");
    }
    let last = file.len() - 4;
    file[last] ^= 1;
    let (packets, damage) = count(&file);
    assert_eq!(packets, 2);
    assert!(damage.expect("the last block is damaged").contains("ends with length"));
}

#[test]
fn copies_of_an_any_capture_are_recognised() {
    for name in ["m_any_sll1.pcap", "m_any_sll2.pcap"] {
        let with = analyzed(name, AnalysisOptions { keep_copies: true, ..AnalysisOptions::default() });
        let without = analyzed(name, AnalysisOptions::default());
        assert_eq!(with.counts.tcp, without.counts.tcp + without.counts.copies, "{name}");
        let field = |analysis: &wifair_capture::Analysis, wanted: &str| {
            let connection = analysis.connections().next().expect("there is a connection");
            let fields = connection.side_fields(1);
            fields.into_iter().find(|(name, _)| *name == wanted).expect("the field is there").1
        };
        // The stream is the same; only the artefacts of the copies are gone. tcptrace counts 1,127 retransmissions; 19
        // of them have an IP identification of their own.
        assert_eq!(field(&with, "unique_bytes_sent"), field(&without, "unique_bytes_sent"));
        assert_eq!(field(&with, "rexmt_data_pkts"), wifair_capture::Field::Whole(1_127), "{name}");
        assert_eq!(field(&without, "rexmt_data_pkts"), wifair_capture::Field::Whole(19), "{name}");
    }
}

#[test]
fn progress_can_end_the_analysis() {
    let mut calls = 0;
    let bytes = capture("a_reno_down_snd.pcap");
    let analysis = analyze(&bytes[..], AnalysisOptions::default(), |_, _| {
        calls += 1;
        false
    });
    assert!(analysis.is_ok() && calls <= 1);
}
