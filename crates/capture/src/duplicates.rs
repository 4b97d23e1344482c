//! Packets captured more than once: on several interfaces of a router, on several hops through an access point, or
//! because an 802.11 frame was retried although it had arrived.

use crate::link::wifi::{Mac, WifiFrame};
use crate::registry::Registry;
use crate::segment::{Endpoint, Segment};

/// Number of packets remembered: between a packet and its copy there are no more packets than a queue holds.
const REMEMBERED: usize = 1 << 14;
/// The longest time between a packet and its copy, in ns.
const WITHIN: u64 = 2_000_000_000;
/// Two packets without IP identification that have the same fields and were captured at the same place are copies if
/// they are at most this far apart, in ns.
const AT_ONCE: u64 = 1_000_000;

/// Recognises copies of segments.
///
/// A segment is a copy if all fields that routers leave unchanged (addresses, ports, numbers, flags, window, payload,
/// options, IP identification) equal those of an earlier segment and it cannot be a retransmission. A TCP
/// retransmission has another IP identification; without an identification, a segment counts as a copy only if it shows
/// up at another place or at once.
#[derive(Debug, Default)]
pub(crate) struct Copies {
    seen: Vec<SeenSegment>,
    pub(crate) dropped: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct SeenSegment {
    print: u64,
    nanos: u64,
    place: u32,
}

impl Copies {
    /// Whether the segment was seen before.
    pub(crate) fn is_copy(&mut self, segment: &Segment<'_>, nanos: u64, place: u32) -> bool {
        if self.seen.is_empty() {
            self.seen = vec![SeenSegment::default(); REMEMBERED];
        }
        let print = print(segment);
        let slot = &mut self.seen[(print >> 20) as usize % REMEMBERED];
        let age = nanos.saturating_sub(slot.nanos);
        if slot.print == print && age < WITHIN && (segment.ip_id != 0 || slot.place != place || age < AT_ONCE) {
            self.dropped += 1;
            return true;
        }
        *slot = SeenSegment { print, nanos, place };
        false
    }
}

fn print(segment: &Segment<'_>) -> u64 {
    let numbers = u64::from(segment.seq) << 32 | u64::from(segment.ack);
    let rest = u64::from(segment.window) << 48
        | u64::from(segment.flags) << 40
        | u64::from(segment.payload) << 16
        | u64::from(segment.ip_id);
    let mut options = 0;
    for word in segment.options.chunks(8) {
        let mut bytes = [0; 8];
        bytes[..word.len()].copy_from_slice(word);
        options = mix(options, u64::from_le_bytes(bytes));
    }
    let ends = mix(mix_end(segment.source), mix_end(segment.destination).rotate_left(17));
    mix(ends, mix(mix(numbers, rest), options)) | 1
}

fn mix_end(end: Endpoint) -> u64 {
    let (high, low) = end.address.halves();
    mix(high ^ u64::from(end.port) << 48, low)
}

/// Mixes two words into one, so that every output bit depends on all input bits (as in wyhash).
#[inline]
fn mix(a: u64, b: u64) -> u64 {
    let product = u128::from(a ^ 0xa076_1d64_78bd_642f) * u128::from(b ^ 0xe703_7ed1_a0b4_28db);
    (product >> 64) as u64 ^ product as u64
}

/// Frames remembered per transmitter.
const FRAMES: usize = 128;

/// Recognises 802.11 retries of frames that the capture already contains (IEEE 802.11-2020, 10.3.2.14).
#[derive(Debug, Default)]
pub(crate) struct RetryFilter {
    senders: Registry<NumberSpace, RecentFrames>,
    pub(crate) dropped: u64,
}

/// Who numbers frames independently: a transmitter, for every traffic identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct NumberSpace {
    transmitter: Mac,
    tid: Option<u8>,
}

#[derive(Debug)]
struct RecentFrames {
    seen: [u16; FRAMES],
    next: usize,
}

impl RetryFilter {
    /// Whether a copy of the frame was seen before.
    pub(crate) fn is_copy(&mut self, frame: &WifiFrame<'_>) -> bool {
        let (Some(transmitter), Some(sequence)) = (frame.transmitter, frame.sequence) else { return false };
        // 0xffff marks an empty entry: fragment 15 of the last number does not occur in practice.
        let none = || RecentFrames { seen: [0xffff; FRAMES], next: 0 };
        let Some(sender) = self.senders.entry(NumberSpace { transmitter, tid: frame.tid }, none) else { return false };
        if frame.retry && sender.seen.contains(&sequence) {
            self.dropped += 1;
            return true;
        }
        sender.seen[sender.next] = sequence;
        sender.next = (sender.next + 1) % FRAMES;
        false
    }
}
