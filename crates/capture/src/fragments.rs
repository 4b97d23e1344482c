//! Puts fragments of IP packets together (RFC 791, section 3.2; RFC 8200, section 4.5).
//!
//! The analysis needs the length of a packet and its first bytes, so that is all that is kept of each. A packet is
//! complete, and is analysed, when its last missing fragment passes. One that stays incomplete never reached TCP, and
//! is left out; but some captures have only first fragments, because a filter on ports cannot see the others:
//! there each first fragment is analysed as it is.

use std::collections::BTreeMap;

use crate::segment::{Address, FragmentPart};

/// The most incomplete packets.
const MOST_OPEN: usize = 1_024;
/// The most separate ranges of one packet; a packet in more pieces is given up.
const MOST_RANGES: usize = 64;
/// The first bytes kept of what follows the IP header.
const KEPT: usize = 256;
/// After this time in ns the identification may belong to another packet: 60 s (RFC 8200).
const EXPIRY: u64 = 60_000_000_000;

/// What fragments of one packet have in common, with the interface and the place of capture.
type FragmentKey = (Address, Address, u32, u8, u32, u32);

/// A packet, put together from its fragments.
#[derive(Clone, Debug)]
pub(crate) struct WholePacket {
    /// Its header and first bytes.
    pub(crate) bytes: Vec<u8>,
    /// Its length, and how much of it was captured.
    pub(crate) length: u32,
    pub(crate) captured: u32,
    pub(crate) nanos: u64,
    pub(crate) interface: u32,
    pub(crate) place: u32,
}

#[derive(Clone, Debug, Default)]
struct OpenPacket {
    first: u64,
    /// Header of the first fragment; empty before that.
    header: Vec<u8>,
    is_v6: bool,
    /// The first bytes behind the header; zero where they are missing.
    kept: Vec<u8>,
    /// Ranges of offsets that were seen, in order and apart.
    ranges: Vec<(u32, u32)>,
    /// Its length without header; known from the last fragment.
    total: Option<u32>,
    captured: u32,
    fragments: u64,
}

/// Incomplete packets.
#[derive(Debug, Default)]
pub(crate) struct Fragments {
    open: BTreeMap<FragmentKey, OpenPacket>,
    /// Fragments of packets that were given up.
    pub(crate) left_out: u64,
    /// Packets put together.
    pub(crate) whole: u64,
    /// Whether a fragment other than a first one was seen.
    has_rests: bool,
}

impl Fragments {
    /// Adds a fragment; returns the packets that can be analysed now.
    pub(crate) fn take(&mut self, part: &FragmentPart<'_>, at: (u64, u32, u32)) -> Vec<WholePacket> {
        let (nanos, interface, place) = at;
        let key = (part.source, part.destination, part.id, part.protocol, interface, place);
        let mut ready = Vec::new();
        if part.offset > 0 {
            self.has_rests = true;
        } else if !self.has_rests && self.open.keys().any(|other| *other != key) {
            // Another packet begins, and nothing follows the first fragments: a filter left the others out.
            ready = self.only_firsts();
        }
        if self.open.get(&key).is_some_and(|open| nanos.saturating_sub(open.first) > EXPIRY) {
            self.give_up(&key);
        }
        if self.open.len() >= MOST_OPEN && !self.open.contains_key(&key) {
            let oldest = self.open.iter().min_by_key(|(_, open)| open.first).map(|(key, _)| *key);
            oldest.iter().for_each(|key| self.give_up(key));
        }
        let open = self.open.entry(key).or_insert_with(|| OpenPacket { first: nanos, ..OpenPacket::default() });
        open.add(part);
        if open.ranges.len() > MOST_RANGES {
            self.give_up(&key);
        } else if open.is_complete()
            && let Some(open) = self.open.remove(&key)
        {
            match open.packet(nanos, interface, place) {
                Some(packet) => {
                    self.whole += 1;
                    ready.push(packet);
                }
                None => self.left_out += open.fragments,
            }
        }
        ready
    }

    fn give_up(&mut self, key: &FragmentKey) {
        self.left_out += self.open.remove(key).map_or(0, |open| open.fragments);
    }

    /// Ends the capture: returns first fragments if there were no others, and counts what stays incomplete.
    pub(crate) fn finish(&mut self) -> Vec<WholePacket> {
        let ready = if self.has_rests { Vec::new() } else { self.only_firsts() };
        self.left_out += std::mem::take(&mut self.open).values().map(|open| open.fragments).sum::<u64>();
        ready
    }

    fn only_firsts(&mut self) -> Vec<WholePacket> {
        let mut firsts: Vec<_> = std::mem::take(&mut self.open)
            .into_iter()
            .filter_map(|(key, mut open)| {
                open.total = open.ranges.first().map(|range| range.1);
                open.packet(open.first, key.4, key.5)
            })
            .collect();
        firsts.sort_by_key(|packet| packet.nanos);
        firsts
    }
}

impl OpenPacket {
    fn add(&mut self, part: &FragmentPart<'_>) {
        self.fragments += 1;
        let end = part.offset.saturating_add(part.length);
        if !part.more {
            self.total = Some(end);
        }
        if part.offset == 0 {
            (self.header, self.is_v6) = (part.header.to_vec(), part.is_v6);
        }
        let held = &part.bytes[..part.bytes.len().min(part.length as usize)];
        self.captured = self.captured.saturating_add(held.len() as u32);
        let from = part.offset as usize;
        if from < KEPT {
            let end = (from + held.len()).min(KEPT);
            self.kept.resize(self.kept.len().max(end), 0);
            self.kept[from..end].copy_from_slice(&held[..end - from]);
        }
        let at = self.ranges.partition_point(|range| range.1 < part.offset);
        let to = at + self.ranges[at..].partition_point(|range| range.0 <= end);
        let merged = self.ranges[at..to].iter().fold((part.offset, end), |(a, b), (c, d)| (a.min(*c), b.max(*d)));
        self.ranges.splice(at..to, [merged]);
    }

    fn is_complete(&self) -> bool {
        matches!((self.ranges.as_slice(), self.total), ([(0, end)], Some(total)) if *end >= total)
            && !self.header.is_empty()
    }

    /// The packet without what says that it is in fragments; `None` if it is longer than IP allows.
    fn packet(&self, nanos: u64, interface: u32, place: u32) -> Option<WholePacket> {
        let total = self.total?;
        let length = self.header.len() as u32 + total;
        let mut bytes = self.header.clone();
        let (field, value) = if self.is_v6 { (4, length.checked_sub(40)?) } else { (2, length) };
        bytes.get_mut(field..field + 2)?.copy_from_slice(&u16::try_from(value).ok()?.to_be_bytes());
        if self.is_v6 {
            // Offset and flag of the fragment header, which is the last one before the data.
            let offset = bytes.len().checked_sub(6)?;
            bytes.get_mut(offset..offset + 2)?.fill(0);
        } else {
            bytes.get_mut(6..8)?.fill(0);
        }
        let kept = self.kept.len().min(total as usize).min(self.captured as usize);
        bytes.extend(&self.kept[..kept]);
        let captured = (self.header.len() as u32).saturating_add(self.captured).min(length);
        Some(WholePacket { bytes, length, captured, nanos, interface, place })
    }
}
