//! When each byte of a direction was seen: the source of retransmissions, round-trip times and duplicate ACKs.
//!
//! The definitions are those of tcptrace 6.6.7, checked against its output:
//!
//! * A segment with at least one byte seen before is a **retransmission** of those bytes.
//! * A segment that starts before a recorded one and ends before that one's end is **out of order**.
//! * An ACK gives a **round-trip time** if it ends exactly at the end of a recorded segment (the last one, if it covers
//!   several new segments), that segment was sent once (Karn), and no earlier covered segment was sent after it. SYN
//!   and FIN count as segments. An ACK of a segment sent more than once is **ambiguous**, and is timed from the last
//!   copy.
//! * A **duplicate ACK** has the same number as the previous ACK, at the end of a segment, the same window and no data,
//!   and comes after some data was sent.
//!
//! Adjacent acknowledged segments are merged, so memory holds only outstanding data and holes. A direction whose ACKs
//! are never seen is limited to [`MOST_OPEN`] entries, and one with very many holes to [`MOST_CLOSED`]: then the oldest
//! entries are merged, and their round-trip times are lost.

use std::collections::VecDeque;

/// The most unacknowledged segments kept.
const MOST_OPEN: usize = 1 << 16;
/// The most acknowledged ranges kept; they are separated by holes.
const MOST_CLOSED: usize = 1 << 10;

/// A range of sequence numbers.
#[derive(Clone, Copy, Debug)]
struct SentRange {
    first: i64,
    /// The last number, inclusive.
    last: i64,
    /// When it was last sent.
    nanos: u64,
    /// The number of retransmissions.
    again: u32,
    /// The number of ACKs that ended here.
    acked: u32,
}

/// Sums of samples, in us, as in tcptrace.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Samples {
    pub(crate) count: u64,
    pub(crate) sum: f64,
    pub(crate) squares: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
}

impl Samples {
    fn add(&mut self, us: f64) {
        self.count += 1;
        self.sum += us;
        self.squares += us * us;
        if self.min == 0.0 || us < self.min {
            self.min = us;
        }
        self.max = self.max.max(us);
    }

    /// tcptrace's mean: its divisor is larger than the count by 0.0001.
    pub(crate) fn mean(&self) -> f64 {
        self.sum / (self.count as f64 + 0.0001)
    }

    /// tcptrace's standard deviation: zero for fewer than three samples.
    pub(crate) fn deviation(&self) -> f64 {
        if self.count <= 2 {
            return 0.0;
        }
        let n = self.count as f64;
        ((self.squares - self.sum * self.sum / n) / (n - 1.0)).max(0.0).sqrt()
    }
}

/// The result of adding a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Added {
    /// Sequence numbers that had been seen before.
    pub(crate) again: u32,
    /// Whether it starts and ends below a recorded segment.
    pub(crate) out_of_order: bool,
}

/// The classification of an ACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum AckKind {
    /// Acknowledges nothing new.
    #[default]
    Plain,
    /// Gives a round-trip time, in ns.
    Sample(u64),
    /// Covers new segments, but does not end at the end of one.
    Cumulative,
    /// Ends at a segment that was sent more than once.
    Ambiguous,
    /// Ends at a segment with an earlier one sent after it.
    NoSample,
    /// A duplicate ACK.
    Duplicate,
    /// The third duplicate ACK.
    Triple,
}

/// The bytes of one direction.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    /// Acknowledged ranges, below all others.
    closed: Vec<SentRange>,
    /// When the most recently sent of them was sent.
    closed_nanos: u64,
    open: VecDeque<SentRange>,
    pub(crate) rtt: Samples,
    /// Samples timed from the last copy of a segment sent more than once.
    pub(crate) rtt_last_copy: Samples,
    /// Times between copies of a segment.
    pub(crate) resend: Samples,
    pub(crate) most_copies: u32,
    pub(crate) no_sample: u64,
    pub(crate) cumulative: u64,
    pub(crate) duplicates: u64,
    pub(crate) triples: u64,
    /// The last round-trip time, in us; zero if the last ACK of new data gave none.
    pub(crate) last_rtt: f64,
    /// Size of the largest segment that gave a round-trip time, and the samples for that size.
    pub(crate) full_size: i64,
    pub(crate) full: Samples,
}

/// Nanoseconds as seconds.
pub(crate) fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

/// Elapsed time in us, both stamps truncated to whole us as in tcptrace; zero if time went back.
#[inline]
pub(crate) fn elapsed_us(from: u64, to: u64) -> f64 {
    (to / 1_000).saturating_sub(from / 1_000).cast_signed() as f64
}

impl History {
    /// A statistic of the round-trip times of the largest segments, given in us, in s.
    pub(crate) fn of_full_size(&self, statistic: impl FnOnce(&Samples) -> f64) -> Option<f64> {
        (self.full.count > 0).then(|| statistic(&self.full) / 1e6)
    }

    /// Records a segment of `length` sequence numbers.
    #[inline]
    pub(crate) fn add(&mut self, first: i64, length: u32, nanos: u64) -> Added {
        let last = first + i64::from(length) - 1;
        let end = match (self.open.back(), self.closed.last()) {
            (Some(sent), _) | (None, Some(sent)) => sent.last,
            (None, None) => i64::MIN,
        };
        if first > end {
            self.push(SentRange { first, last, nanos, again: 0, acked: 0 });
            return Added::default();
        }
        self.add_below(first, last, nanos)
    }

    #[inline]
    fn push(&mut self, sent: SentRange) {
        self.open.push_back(sent);
        if self.open.len() > MOST_OPEN {
            self.shorten_open();
        }
    }

    #[cold]
    fn shorten_open(&mut self) {
        for sent in self.open.drain(..MOST_OPEN / 2) {
            self.closed_nanos = self.closed_nanos.max(sent.nanos);
            close(&mut self.closed, SentRange { acked: 1, ..sent });
        }
    }

    /// The general case: the segment does not come after all others.
    fn add_below(&mut self, mut first: i64, last: i64, nanos: u64) -> Added {
        let mut added = Added::default();
        let mut split = false;
        // The first range that does not end before the segment.
        let mut at = if self.closed.last().is_some_and(|sent| first <= sent.last) {
            self.closed.partition_point(|sent| sent.last < first)
        } else {
            self.closed.len() + self.open.partition_point(|sent| sent.last < first)
        };
        while at < self.closed.len() + self.open.len() {
            let there = *self.get_mut(at);
            if first < there.first {
                added.out_of_order |= last < there.last;
                let new = SentRange { first, last: last.min(there.first - 1), nanos, again: 0, acked: 0 };
                self.insert(at, new);
                at += 1;
                if last < there.first {
                    return added;
                }
                first = there.first;
            }
            if !split {
                self.resent(at, nanos);
            } else {
                self.get_mut(at).again += 1;
            }
            added.again += (last.min(there.last) - first + 1) as u32;
            if last <= there.last {
                return added;
            }
            split = true;
            first = there.last + 1;
            at += 1;
        }
        self.push(SentRange { first, last, nanos, again: 0, acked: 0 });
        added
    }

    /// Records that a range, or part of it, was sent again.
    fn resent(&mut self, at: usize, nanos: u64) {
        let sent = self.get_mut(at);
        sent.again += 1;
        let (again, acked, before) = (sent.again, sent.acked, sent.nanos);
        sent.nanos = nanos;
        if acked == 0 {
            self.most_copies = self.most_copies.max(again);
            self.resend.add(elapsed_us(before, nanos));
        } else if at < self.closed.len() {
            self.closed_nanos = self.closed_nanos.max(nanos);
        }
    }

    fn get_mut(&mut self, at: usize) -> &mut SentRange {
        let closed = self.closed.len();
        if at < closed { &mut self.closed[at] } else { &mut self.open[at - closed] }
    }

    /// Inserts an unacknowledged range at index `at`.
    fn insert(&mut self, at: usize, new: SentRange) {
        let closed = self.closed.len();
        if at < closed {
            // Stretches after an unacknowledged one are no longer closed.
            for sent in self.closed.drain(at..).rev() {
                self.open.push_front(sent);
            }
            self.open.push_front(new);
        } else {
            self.open.insert(at - closed, new);
        }
    }

    /// The end of what was seen from `from` on without a hole.
    pub(crate) fn whole_from(&self, from: i64) -> i64 {
        let at = self.closed.partition_point(|sent| sent.last < from);
        let mut end = from;
        for sent in self.closed[at..].iter().chain(&self.open) {
            if sent.first > end {
                break;
            }
            end = end.max(sent.last + 1);
        }
        end
    }

    /// Handles an ACK of everything below `ack`. `repeats`: it has the number and window of the previous ACK, carries
    /// no data, and came after some data was sent.
    #[inline]
    pub(crate) fn acknowledge(&mut self, ack: i64, nanos: u64, repeats: bool) -> AckKind {
        let mut kind = AckKind::Plain;
        if let Some(closed) = self.closed.last() {
            if ack > closed.first {
                if ack == closed.last + 1 {
                    kind = self.repeated(self.closed.len() - 1, repeats);
                }
            } else {
                return self.old(ack, repeats);
            }
        }
        let mut latest = if self.closed.is_empty() { 0 } else { self.closed_nanos };
        let mut covered = 0;
        while let Some(sent) = self.open.get_mut(covered) {
            if ack <= sent.first {
                break;
            }
            latest = latest.max(sent.nanos);
            if sent.acked > 0 {
                if ack == sent.last + 1 {
                    kind = self.repeated(self.closed.len() + covered, repeats);
                } else {
                    sent.acked = 1;
                }
            } else {
                sent.acked = 1;
                if ack == sent.last + 1 {
                    let sent = *sent;
                    kind = self.ends_at(&sent, nanos, latest);
                } else {
                    self.cumulative += 1;
                    kind = AckKind::Cumulative;
                }
            }
            covered += 1;
        }
        self.closed_nanos = latest;
        for _ in 0..covered {
            if let Some(sent) = self.open.pop_front() {
                close(&mut self.closed, sent);
            }
        }
        kind
    }

    /// Handles an ACK below the last closed stretch.
    #[cold]
    fn old(&mut self, ack: i64, repeats: bool) -> AckKind {
        let at = self.closed.partition_point(|sent| sent.last + 1 < ack);
        match self.closed.get(at) {
            Some(sent) if sent.last + 1 == ack => self.repeated(at, repeats),
            _ => AckKind::Plain,
        }
    }

    /// Handles an ACK that ends at a stretch acknowledged before.
    fn repeated(&mut self, at: usize, repeats: bool) -> AckKind {
        let sent = self.get_mut(at);
        if !repeats {
            sent.acked = 1;
            return AckKind::Plain;
        }
        sent.acked += 1;
        let third = sent.acked == 4;
        self.duplicates += 1;
        if third {
            self.triples += 1;
            AckKind::Triple
        } else {
            AckKind::Duplicate
        }
    }

    /// Handles an ACK that ends at a newly acknowledged segment; `latest` is when it or an earlier one was last sent.
    #[inline]
    fn ends_at(&mut self, sent: &SentRange, nanos: u64, latest: u64) -> AckKind {
        if latest / 1_000 > sent.nanos / 1_000 {
            self.last_rtt = 0.0;
            self.no_sample += 1;
            return AckKind::NoSample;
        }
        let us = elapsed_us(sent.nanos, nanos);
        if sent.again > 0 {
            self.last_rtt = 0.0;
            self.rtt_last_copy.add(us);
            return AckKind::Ambiguous;
        }
        self.last_rtt = us;
        self.rtt.add(us);
        let size = sent.last - sent.first + 1;
        if size > self.full_size {
            self.full_size = size;
            self.full = Samples::default();
        }
        if size == self.full_size {
            self.full.add(us);
        }
        AckKind::Sample(nanos.saturating_sub(sent.nanos))
    }
}

/// Appends an acknowledged stretch, merged with the previous one if they are adjacent.
#[inline]
fn close(closed: &mut Vec<SentRange>, sent: SentRange) {
    match closed.last_mut() {
        Some(before) if before.last + 1 == sent.first => {
            before.last = sent.last;
            before.acked = sent.acked;
            before.nanos = before.nanos.max(sent.nanos);
        }
        _ => {
            if closed.len() >= MOST_CLOSED {
                // Treat the oldest hole as seen from now on.
                closed[1].first = closed[0].first;
                closed.remove(0);
            }
            closed.push(sent);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn an_ack_of_two_segments_gives_the_rtt_of_the_last() {
        let mut history = History::default();
        history.add(100, 10, 0);
        history.add(110, 10, 2 * MS);
        assert_eq!(history.acknowledge(120, 7 * MS, false), AckKind::Sample(5 * MS));
        assert_eq!((history.rtt.count, history.cumulative), (1, 1));
    }

    #[test]
    fn a_segment_sent_twice_gives_no_sample() {
        let mut history = History::default();
        history.add(100, 10, MS);
        let added = history.add(100, 10, 4 * MS);
        assert_eq!(added, Added { again: 10, out_of_order: false });
        assert_eq!(history.acknowledge(110, 9 * MS, false), AckKind::Ambiguous);
        assert_eq!((history.rtt.count, history.rtt_last_copy.sum), (0, 5_000.0));
        assert_eq!((history.most_copies, history.resend.sum), (1, 3_000.0));
    }

    #[test]
    fn a_segment_behind_one_sent_later_gives_no_sample() {
        let mut history = History::default();
        history.add(100, 10, MS);
        history.add(110, 10, 2 * MS);
        history.add(100, 10, 3 * MS);
        assert_eq!(history.acknowledge(120, 9 * MS, false), AckKind::NoSample);
    }

    /// As in tcptrace, an ACK gives no sample if an earlier segment was sent after the one at which it ends, also if
    /// that one had been acknowledged before.
    #[test]
    fn a_segment_behind_an_acknowledged_one_sent_again_gives_no_sample() {
        let mut history = History::default();
        history.add(100, 10, MS);
        history.acknowledge(110, 2 * MS, false);
        history.add(110, 10, 3 * MS);
        history.add(100, 10, 5 * MS);
        assert_eq!(history.acknowledge(120, 9 * MS, false), AckKind::NoSample);
    }

    #[test]
    fn data_are_whole_up_to_the_first_hole_acknowledged_or_not() {
        let mut history = History::default();
        for first in [100, 110, 130] {
            history.add(first, 10, MS);
        }
        assert_eq!(history.whole_from(100), 120);
        history.acknowledge(110, 2 * MS, false);
        assert_eq!((history.whole_from(110), history.whole_from(100)), (120, 120));
        history.add(120, 10, MS);
        assert_eq!(history.whole_from(110), 140);
        // What was acknowledged although this capture never saw it.
        assert_eq!(history.whole_from(150), 150);
    }

    #[test]
    fn a_segment_that_fills_a_hole_is_out_of_order_not_a_retransmission() {
        let mut history = History::default();
        history.add(100, 10, MS);
        history.add(120, 10, MS);
        assert_eq!(history.add(110, 10, MS), Added { again: 0, out_of_order: true });
        // A segment that covers a hole and its surroundings is new only in the hole.
        history.add(150, 10, MS);
        assert_eq!(history.add(120, 40, 2 * MS).again, 20);
    }

    #[test]
    fn the_fourth_same_ack_is_the_third_duplicate() {
        let mut history = History::default();
        history.add(100, 10, MS);
        history.add(110, 10, MS);
        history.acknowledge(110, 2 * MS, false);
        let kinds: Vec<_> = (0..4).map(|_| history.acknowledge(110, 3 * MS, true)).collect();
        assert_eq!(kinds, [AckKind::Duplicate, AckKind::Duplicate, AckKind::Triple, AckKind::Duplicate]);
        // Another window: counting starts again.
        history.acknowledge(110, 3 * MS, false);
        assert_eq!(history.acknowledge(110, 3 * MS, true), AckKind::Duplicate);
        assert_eq!((history.duplicates, history.triples), (5, 1));
    }

    #[test]
    fn a_late_segment_below_the_ack_is_acknowledged_by_the_next() {
        let mut history = History::default();
        history.add(100, 10, MS);
        history.add(120, 10, MS);
        history.acknowledge(130, 2 * MS, false);
        assert!(history.add(110, 10, 3 * MS).out_of_order);
        assert_eq!(history.acknowledge(130, 4 * MS, false), AckKind::Plain);
        assert_eq!((history.closed.len(), history.open.len(), history.closed[0].last), (1, 0, 129));
    }

    #[test]
    fn memory_stays_bounded() {
        let mut history = History::default();
        for i in 0..300_000 {
            history.add(i * 20, 10, MS);
        }
        assert!(history.open.len() <= MOST_OPEN && history.closed.len() <= MOST_CLOSED);
    }
}
