//! The end of the scoreboard: full segments about which nothing is known yet, as runs of segments sent at one instant.
//!
//! Most segments leave in bursts, released by the ACKs of one PPDU, and are acknowledged in order. They are never
//! stored one by one.

use std::collections::VecDeque;

use wifair_units::Time;

/// Segments sent at one instant.
#[derive(Clone, Copy, Debug, Default)]
struct SentRun {
    /// Offset after the last byte.
    end: u64,
    sent: Time,
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub(super) struct Tail {
    mss: u64,
    /// Offset of the first byte.
    start: u64,
    segments: u64,
    /// The first run, to which most ACKs belong, and the others; meaningless without segments.
    first: SentRun,
    others: VecDeque<SentRun>,
}

impl Tail {
    pub(super) fn new(mss: u64) -> Self {
        Self { mss, start: 0, segments: 0, first: SentRun::default(), others: VecDeque::new() }
    }

    #[inline]
    pub(super) const fn is_empty(&self) -> bool {
        self.segments == 0
    }

    /// Number of segments.
    #[inline]
    pub(super) const fn len(&self) -> u64 {
        self.segments
    }

    /// Offset of the first byte.
    pub(super) const fn start(&self) -> u64 {
        self.start
    }

    /// Offset after the last byte.
    pub(super) const fn end(&self) -> u64 {
        self.start + self.segments * self.mss
    }

    /// When the first segment was sent.
    pub(super) fn first_sent(&self) -> Option<Time> {
        (self.segments > 0).then_some(self.first.sent)
    }

    /// Adds `count` segments that end at `end`.
    #[inline]
    pub(super) fn push(&mut self, sent: Time, end: u64, count: u64) {
        let last = self.others.back_mut().unwrap_or(&mut self.first);
        if self.segments == 0 {
            self.start = end - count * self.mss;
            self.first = SentRun { end, sent };
        } else if last.sent == sent {
            last.end = end;
        } else {
            self.others.push_back(SentRun { end, sent });
        }
        self.segments += count;
    }

    /// Number of segments before `una`, at least one, unless `una` lies inside a segment or outside of the tail.
    #[inline(always)]
    pub(super) fn whole_before(&self, una: u64) -> Option<u64> {
        let acked = una.checked_sub(self.start)?;
        let count = acked / self.mss;
        (count * self.mss == acked && 0 < count && count <= self.segments).then_some(count)
    }

    /// Removes the first `count` segments, at least one; returns when the first and the last of them were sent.
    #[inline(always)]
    pub(super) fn acknowledge(&mut self, count: u64) -> (Time, Time) {
        self.start += count * self.mss;
        self.segments -= count;
        let first = self.first.sent;
        while self.first.end < self.start
            && let Some(next) = self.others.pop_front()
        {
            self.first = next;
        }
        let last = self.first.sent;
        if self.first.end == self.start
            && let Some(next) = self.others.pop_front()
        {
            self.first = next;
        }
        (first, last)
    }
}
