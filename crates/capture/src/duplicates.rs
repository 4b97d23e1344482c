//! Packets captured more than once: on several interfaces of a router, on several hops through an access point, or
//! because an 802.11 frame was retried although it had arrived; and records that a file contains again.

use crate::link::wifi::{Mac, WifiFrame};
use crate::reader::Record;
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
    let options = mix_bytes(0, segment.options);
    let ends = mix(mix_end(segment.source), mix_end(segment.destination).rotate_left(17));
    mix(ends, mix(mix(numbers, rest), options)) | 1
}

fn mix_end(end: Endpoint) -> u64 {
    let (high, low) = end.address.halves();
    mix(high ^ u64::from(end.port) << 48, low)
}

fn mix_bytes(start: u64, bytes: &[u8]) -> u64 {
    bytes.chunks(8).fold(start, |mixed, chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        mix(mixed, u64::from_le_bytes(word))
    })
}

/// Mixes two words into one, so that every output bit depends on all input bits (as in wyhash).
#[inline]
fn mix(a: u64, b: u64) -> u64 {
    let product = u128::from(a ^ 0xa076_1d64_78bd_642f) * u128::from(b ^ 0xe703_7ed1_a0b4_28db);
    (product >> 64) as u64 ^ product as u64
}

/// Recognises 802.11 frames that a file contains again because it was merged with itself, or with another file of the
/// same capture: same interface, time stamp and bytes, the radio's clock among them. A channel carries one PPDU at a
/// time, and the frames of an A-MPDU differ in their numbers. Copies are found among the next 2^13 frames or so.
#[derive(Debug, Default)]
pub(crate) struct CapturedTwice {
    /// Prints of the latest frames, in places by the print.
    seen: Vec<[u64; 4]>,
}

impl CapturedTwice {
    /// Whether the record was seen before.
    pub(crate) fn is_copy(&mut self, record: &Record<'_>) -> bool {
        if self.seen.is_empty() {
            self.seen = vec![[0; 4]; REMEMBERED];
        }
        let place = u64::from(record.interface) << 32 | u64::from(record.original);
        let print = mix_bytes(mix(record.nanos, place), record.data) | 1;
        let latest = &mut self.seen[(print >> 20) as usize % REMEMBERED];
        if latest.contains(&print) {
            return true;
        }
        latest.rotate_right(1);
        latest[0] = print;
        false
    }
}

/// Frames remembered per number space: the largest window of a block ACK agreement (802.11be), since a frame is sent
/// again only while its number is in that window.
const FRAMES: usize = 1024;

/// Recognises 802.11 retries of frames that the capture already contains (IEEE 802.11-2020, 10.3.2.14).
#[derive(Debug, Default)]
pub(crate) struct RetryFilter {
    spaces: Registry<NumberSpace, RecentFrames>,
    pub(crate) dropped: u64,
}

/// What is numbered independently: a transmitter's QoS data for each receiver and traffic identifier, and all its other
/// frames together (IEEE 802.11-2020, 10.3.2.14.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct NumberSpace {
    transmitter: Mac,
    qos: Option<(Mac, u8)>,
}

/// Sequence control of the latest frames, in a ring.
#[derive(Debug, Default)]
struct RecentFrames {
    seen: Vec<u16>,
    oldest: usize,
}

impl RecentFrames {
    fn push(&mut self, sequence: u16) {
        if self.seen.len() < FRAMES {
            self.seen.push(sequence);
        } else {
            self.seen[self.oldest] = sequence;
            self.oldest = (self.oldest + 1) % FRAMES;
        }
    }
}

impl RetryFilter {
    /// Whether a copy of the frame was seen before.
    pub(crate) fn is_copy(&mut self, frame: &WifiFrame<'_>) -> bool {
        let (Some(transmitter), Some(sequence)) = (frame.transmitter, frame.sequence) else { return false };
        if frame.tid.is_some() && frame.body.is_empty() {
            return false; // a QoS Null frame may have any number (10.3.2.14.2)
        }
        let space = NumberSpace { transmitter, qos: frame.tid.map(|tid| (frame.receiver, tid)) };
        let Some(recent) = self.spaces.entry(space, RecentFrames::default) else { return false };
        if frame.retry && recent.seen.contains(&sequence) {
            self.dropped += 1;
            return true;
        }
        recent.push(sequence);
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::wifi::WifiFrameKind;

    /// Whether each of these data frames is a copy: receiver, number and retry bit; all from one transmitter.
    fn copies(tid: Option<u8>, frames: impl IntoIterator<Item = (u8, u16, bool)>) -> Vec<bool> {
        copies_of(tid, frames.into_iter().map(|frame| (frame, &b"data"[..])))
    }

    /// The same for frames with these bodies.
    fn copies_of<'a>(tid: Option<u8>, frames: impl IntoIterator<Item = ((u8, u16, bool), &'a [u8])>) -> Vec<bool> {
        let mut filter = RetryFilter::default();
        let said = frames.into_iter().map(|((receiver, number, retry), body)| {
            let frame = WifiFrame {
                kind: WifiFrameKind::Data,
                retry,
                transmitter: Some(Mac([2, 0, 0, 0, 0, 0])),
                sequence: Some(number << 4),
                tid,
                body,
                ..WifiFrame::cts(Mac([2, 0, 0, 0, 0, receiver]), 1500)
            };
            filter.is_copy(&frame)
        });
        said.collect()
    }

    /// The window of a block ACK agreement has up to 1024 frames. Until it moves, its first frame may be sent again.
    #[test]
    fn a_retry_is_a_copy_after_a_whole_window() {
        let window = (0..1024).map(|n| (1, n, false));
        assert_eq!(copies(Some(0), window.chain([(1, 0, true)])).last(), Some(&true));
    }

    /// Numbers come round after 4096 frames. A retry whose first copy was not captured is no copy of the last round's.
    #[test]
    fn a_retry_after_the_numbers_have_come_round_is_no_copy() {
        let round = (0..4096).map(|n| (1, n, false));
        let last = copies(Some(0), round.chain([(1, 0, true), (1, 0, true)]));
        assert_eq!(last[4096..], [false, true]);
    }

    /// QoS data has a counter for each receiver and TID, so the same number to another receiver is another frame.
    #[test]
    fn qos_data_is_numbered_for_each_receiver() {
        let frames = [(1, 7, false), (2, 7, true), (2, 7, true), (1, 7, true)];
        assert_eq!(copies(Some(0), frames), [false, false, true, true]);
        assert_eq!(copies(None, [(1, 7, false), (1, 7, true)]), [false, true]);
    }

    /// QoS Null frames may have any number, so data with the number of one before is no copy of it.
    #[test]
    fn the_number_of_a_qos_null_frame_means_nothing() {
        let frames = [((1, 7, false), &b""[..]), ((1, 7, true), b""), ((1, 7, true), b"data"), ((1, 7, true), b"data")];
        assert_eq!(copies_of(Some(0), frames), [false, false, false, true]);
    }
}
