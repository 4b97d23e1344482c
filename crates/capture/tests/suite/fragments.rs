//! Fragments of IP packets, and IP packets inside others.

use crate::common::talk::{MS, ends, upload};
use wifair_capture::frame::{self, Tcp};
use wifair_capture::{Analysis, AnalysisOptions, Field, LinkType, PcapWriter, analyze};

/// Analyses raw IP packets, each at its time in ns.
fn analyzed(packets: &[(u64, Vec<u8>)]) -> Analysis {
    let mut file = Vec::new();
    let mut writer = PcapWriter::new(&mut file, LinkType::RawIp, 65_535).expect("memory can be written");
    for (at, packet) in packets {
        writer.write(1_000 * MS + at, packet.len() as u32, packet).expect("memory can be written");
    }
    analyze(&file[..], AnalysisOptions::default(), |_, _| true).expect("it is a capture")
}

fn packet(tcp: &Tcp) -> Vec<u8> {
    let mut bytes = Vec::new();
    frame::tcp(&mut bytes, tcp, u32::MAX);
    bytes
}

/// The fragments of a packet, of `size` bytes each, which is a multiple of eight (RFC 791, section 3.2; RFC 8200,
/// section 4.5).
fn fragments(packet: &[u8], size: usize, id: u16) -> Vec<Vec<u8>> {
    let is_v6 = packet[0] >> 4 == 6;
    let (head, body) = packet.split_at(if is_v6 { 40 } else { 20 });
    let count = body.len().div_ceil(size);
    body.chunks(size)
        .enumerate()
        .map(|(at, piece)| {
            let mut out = head.to_vec();
            let more = u16::from(at + 1 < count);
            if is_v6 {
                out[6] = 44;
                out[4..6].copy_from_slice(&(piece.len() as u16 + 8).to_be_bytes());
                out.extend([head[6], 0]);
                out.extend(((at * size) as u16 | more).to_be_bytes());
                out.extend([0, 7]);
                out.extend(id.to_be_bytes());
            } else {
                out[2..4].copy_from_slice(&(piece.len() as u16 + 20).to_be_bytes());
                out[4..6].copy_from_slice(&id.to_be_bytes());
                out[6..8].copy_from_slice(&((at * size / 8) as u16 | more << 13).to_be_bytes());
            }
            out.extend(piece);
            out
        })
        .collect()
}

/// The figures of both directions that the identification of IPv4 and the fragment header of IPv6 have no part in.
fn said(analysis: &Analysis) -> Vec<(&'static str, Field)> {
    let mut connections = analysis.connections();
    let connection = connections.next().expect("there is a connection");
    assert!(connections.next().is_none());
    let sides = [0, 1].map(|side| connection.side_fields(side)).concat();
    sides.into_iter().filter(|(name, _)| !matches!(*name, "hardware_dups" | "ip_bytes")).collect()
}

/// Whatever the order of its fragments, a packet has its bytes once all are there. 408 and 8 bytes: the header of TCP
/// is in one fragment, or in several.
#[test]
fn fragments_are_put_together() {
    for v6 in [false, true] {
        let steps = upload(ends(v6), 7_000);
        let whole: Vec<_> = steps.iter().map(|(at, tcp)| (*at, packet(tcp))).collect();
        let expected = said(&analyzed(&whole));
        for (size, is_reversed) in [(408, false), (408, true), (8, false), (16, true)] {
            let mut cut = Vec::new();
            for (number, (at, bytes)) in whole.iter().enumerate() {
                let mut pieces = fragments(bytes, size, number as u16 + 1);
                if is_reversed {
                    pieces.reverse();
                }
                cut.extend(pieces.into_iter().map(|piece| (*at, piece)));
            }
            let analysis = analyzed(&cut);
            assert_eq!(said(&analysis), expected, "size {size}, reversed {is_reversed}");
            assert_eq!((analysis.counts.fragments, analysis.counts.malformed), (0, 0));
            let divided = whole.iter().filter(|(_, bytes)| bytes.len() - if v6 { 40 } else { 20 } > size).count();
            assert_eq!(analysis.counts.reassembled, divided as u64);
        }
    }
}

/// Known by construction: the upload has 41 segments with 1,000 bytes. Without the second fragment of one, that one
/// never arrived; the fragments that are left are counted.
#[test]
fn an_incomplete_packet_is_left_out() {
    let mut packets = Vec::new();
    for (number, (at, tcp)) in upload(ends(false), 1).iter().enumerate() {
        let mut pieces = fragments(&packet(tcp), 400, number as u16);
        if number == 5 {
            pieces.remove(1);
        }
        packets.extend(pieces.into_iter().map(|piece| (*at, piece)));
    }
    let analysis = analyzed(&packets);
    let payloads = said(&analysis).into_iter().find(|(name, _)| *name == "actual_data_pkts").expect("it is there");
    assert_eq!((payloads.1, analysis.counts.fragments), (Field::Whole(40), 2));
}

/// A filter on ports sees first fragments only: each counts with its bytes, here 400 less 32 of TCP's header.
#[test]
fn first_fragments_alone_are_analysed() {
    let first = |(number, (at, tcp)): (usize, &(u64, Tcp))| {
        (*at, fragments(&packet(tcp), 400, number as u16 + 1).swap_remove(0))
    };
    let packets: Vec<_> = upload(ends(false), 1).iter().enumerate().map(first).collect();
    let analysis = analyzed(&packets);
    let said = said(&analysis);
    let field = |name| said.iter().find(|(there, _)| *there == name).expect("it is there").1.clone();
    assert_eq!((field("actual_data_pkts"), field("max_segm_size")), (Field::Whole(41), Field::Whole(368)));
    assert_eq!(analysis.counts.fragments, 0);
}

/// Identifications come again: fragments of two packets more than a minute apart are not put together.
#[test]
fn old_fragments_do_not_mix_with_new_ones() {
    let steps = upload(ends(false), 1);
    let data = packet(&steps[5].1);
    let mut packets: Vec<_> = steps[..5].iter().map(|(at, tcp)| (*at, packet(tcp))).collect();
    let pieces = fragments(&data, 400, 9);
    packets.push((100 * MS, pieces[0].clone()));
    packets.push((100 * MS, pieces[1].clone()));
    packets.push((70_000 * MS, pieces[2].clone()));
    assert_eq!(analyzed(&packets).counts.fragments, 3);
    packets.truncate(7);
    packets.push((50_000 * MS, pieces[2].clone()));
    assert_eq!(analyzed(&packets).counts.reassembled, 1);
}

/// RFC 2003 and RFC 4213: a packet in a packet is read, also in two; but not an endless chain.
#[test]
fn packets_inside_packets_are_read() {
    let outer = |inner: &[u8], v6: bool| {
        let protocol = if inner[0] >> 4 == 6 { 41 } else { 4 };
        let mut bytes = if v6 {
            let mut head = vec![0x60, 0, 0, 0, 0, 0, protocol, 64];
            head[4..6].copy_from_slice(&(inner.len() as u16).to_be_bytes());
            [head, vec![9; 32]].concat()
        } else {
            let mut head = vec![0x45, 0, 0, 0, 0, 1, 0, 0, 64, protocol, 0, 0];
            head[2..4].copy_from_slice(&(inner.len() as u16 + 20).to_be_bytes());
            [head, vec![9; 8]].concat()
        };
        bytes.extend(inner);
        bytes
    };
    for v6 in [false, true] {
        let plain: Vec<_> = upload(ends(v6), 7_000).iter().map(|(at, tcp)| (*at, packet(tcp))).collect();
        let expected = said(&analyzed(&plain));
        for tunnels in [&[false][..], &[true], &[false, true], &[false; 4]] {
            let wrap = |(at, bytes): &(u64, Vec<u8>)| {
                (*at, tunnels.iter().fold(bytes.clone(), |inner, v6| outer(&inner, *v6)))
            };
            assert_eq!(said(&analyzed(&plain.iter().map(wrap).collect::<Vec<_>>())), expected, "{tunnels:?}");
        }
        let wrap = |(at, bytes): &(u64, Vec<u8>)| (*at, (0..5).fold(bytes.clone(), |inner, _| outer(&inner, false)));
        let deep = analyzed(&plain.iter().map(wrap).collect::<Vec<_>>());
        assert_eq!((deep.connections().len(), deep.counts.other_ip), (0, plain.len() as u64));
    }
}

/// Hostile fragments: each is a range of its own, or of a packet of its own. Memory and time stay bounded.
#[test]
fn hostile_fragments_take_bounded_time_and_memory() {
    let (_, tcp) = upload(ends(false), 1)[5];
    let piece = fragments(&packet(&tcp), 8, 1).swap_remove(3);
    let mut packets = Vec::new();
    for number in 0..60_000_u32 {
        let mut one = piece.clone();
        let (id, place) = if number % 2 == 0 { (1, number % 8_000) } else { (number as u16, 1) };
        one[4..6].copy_from_slice(&id.to_be_bytes());
        one[6..8].copy_from_slice(&(place as u16 | 0x2000).to_be_bytes());
        packets.push((u64::from(number), one));
    }
    let analysis = analyzed(&packets);
    assert_eq!((analysis.counts.fragments, analysis.counts.reassembled), (60_000, 0));
}
