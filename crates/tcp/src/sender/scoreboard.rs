//! The scoreboard: which segments were sent, have arrived, are lost, or were retransmitted.
//!
//! Sources: RFC 6675 (what is lost, what is in flight), RFC 8985 (loss by time), RFC 2883 (reports of duplicates).
//!
//! The cost of an ACK does not grow with the number of holes. Segments are kept in a ring in stream order, so an offset
//! is found by division, or by binary search where segments are short. Runs of segments known to have arrived are
//! skipped by links with path compression (union-find). Losses are found by a pointer that only moves forward: every
//! segment below it has arrived, is lost or was retransmitted. Retransmissions are queued by transmission time.
//!
//! Full segments at the end about which nothing is known yet are stored as runs ([`tail`]), and expanded when a
//! selective ACK or a loss distinguishes them.
//!
//! Departure: RFC 6675 considers a segment lost when three discontiguous ranges above it have arrived, or more than two
//! full segments' worth of bytes; here arrived segments are counted, whatever their size and place, as in Linux.

mod rack;
mod tail;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use wifair_packet::MAX_SACK_BLOCKS;
use wifair_units::{Duration, Time};

use self::rack::Rack;
use self::tail::Tail;
use super::delivery::{AckDelivery, AckedRun};
use super::rate::RateSampler;
use super::segment::{SentSegment, mark};
use crate::cc::RateSample;
use crate::clock;

/// The scoreboard of a sender.
#[derive(Clone, Debug)]
pub struct Scoreboard {
    segments: VecDeque<SentSegment>,
    /// Full segments after those in `segments`; unused with delivery rate samples, which need a record of each segment.
    tail: Tail,
    /// Number of `segments[0]`; segments of the connection are numbered from 0.
    first: u64,
    mss: u64,
    in_flight: u64,
    sacked: u64,
    sacked_segments: u32,
    lost: u64,
    /// Number of segments that are lost and not retransmitted.
    waiting: u32,
    /// Number of the first segment not yet examined for loss.
    examined: u64,
    /// Losses are detected by time (RACK); `arrived_above` is then not maintained.
    by_time: bool,
    /// Whether transmission times are needed.
    timed: bool,
    /// The SACK blocks of the last ACKs, each up to the last segment that it covers: all segments inside are known to
    /// have arrived.
    blocks: [(u64, u64); MAX_SACK_BLOCKS],
    /// Number of segments from `examined` on that have arrived.
    arrived_above: u32,
    /// Highest number that has arrived, plus one.
    highest_arrived: u64,
    /// Lost segments to retransmit, lowest first; entries that became obsolete are removed lazily.
    queue: BinaryHeap<Reverse<u64>>,
    /// Retransmissions in flight by transmission time, if losses are detected by time; obsolete entries are removed
    /// lazily.
    retransmitted: VecDeque<(u64, Time)>,
    rack: Rack,
    rate: Option<RateSampler>,
}

impl Scoreboard {
    /// Creates an empty scoreboard for segments of `mss` bytes. Losses are detected `by_time` or by counting; `rate`
    /// enables delivery rate samples; `timed` says whether transmission times are needed even without both.
    pub fn new(mss: u64, by_time: bool, rate: bool, timed: bool) -> Self {
        Self {
            segments: VecDeque::new(),
            tail: Tail::new(mss),
            first: 0,
            mss,
            in_flight: 0,
            sacked: 0,
            sacked_segments: 0,
            lost: 0,
            waiting: 0,
            examined: 0,
            by_time,
            timed: by_time || rate || timed,
            blocks: [(0, 0); MAX_SACK_BLOCKS],
            arrived_above: 0,
            highest_arrived: 0,
            queue: BinaryHeap::new(),
            retransmitted: VecDeque::new(),
            rack: Rack::new(),
            rate: rate.then(RateSampler::default),
        }
    }

    /// Whether losses are detected by time (RACK).
    #[inline]
    pub const fn is_by_time(&self) -> bool {
        self.by_time
    }

    /// Bytes in flight.
    #[inline]
    pub const fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// Bytes selectively acknowledged.
    #[inline]
    pub const fn sacked(&self) -> u64 {
        self.sacked
    }

    /// Bytes considered lost, retransmitted or not.
    #[inline]
    pub const fn lost(&self) -> u64 {
        self.lost
    }

    /// Whether any segment has to be retransmitted.
    #[inline]
    pub const fn awaits_retransmission(&self) -> bool {
        self.waiting > 0
    }

    /// Whether nothing is selectively acknowledged and no retransmission is in flight; then no loss can be detected.
    #[inline]
    pub fn is_in_order(&self) -> bool {
        self.sacked == 0 && self.retransmitted.is_empty()
    }

    /// Number of segments that are not cumulatively acknowledged, selectively acknowledged, considered lost, and
    /// retransmissions in flight. Visits each segment.
    pub fn counts(&self) -> (u64, u64, u64, u64) {
        let count = |marks: u8| self.segments.iter().filter(|segment| segment.is(marks)).count() as u64;
        (self.len() as u64, count(mark::SACKED), count(mark::LOST), count(mark::RETRANSMITTED))
    }

    /// Degree of reordering seen, in segments, and number of reordering events.
    pub const fn reordering(&self) -> (u64, u64) {
        (self.rack.degree, self.rack.reorderings)
    }

    /// Number after that of the last segment.
    fn behind(&self) -> u64 {
        self.first + self.segments.len() as u64
    }

    fn index(&self, number: u64) -> Option<usize> {
        let index = usize::try_from(number.checked_sub(self.first)?).ok()?;
        (index < self.segments.len()).then_some(index)
    }

    /// Adds `count` segments of new data with `len` bytes each, the last of which ends at `end`. While something is
    /// selectively acknowledged, the next ACK would expand the tail.
    #[inline(always)]
    pub fn push(&mut self, now: Time, end: u64, len: u64, count: u64) {
        if len == self.mss && self.rate.is_none() && self.sacked == 0 {
            self.tail.push(if self.timed { now } else { Time::ZERO }, end, count);
            self.in_flight += len * count;
        } else {
            (0..count).rev().for_each(|behind| self.push_apart(now, end - behind * len, len));
        }
    }

    #[inline(never)]
    fn push_apart(&mut self, now: Time, end: u64, len: u64) {
        self.unroll();
        if let Some(rate) = &mut self.rate {
            rate.push(now, self.in_flight);
        }
        self.in_flight += len;
        let len = u16::try_from(len).expect("a segment has fewer than 2^16 bytes");
        self.segments.push_back(SentSegment { end, sent: now, arrived: 0, len, marks: 0 });
    }

    /// Expands the tail into segments.
    #[inline]
    fn unroll(&mut self) {
        if !self.tail.is_empty() {
            self.unroll_tail();
        }
    }

    #[inline(never)]
    fn unroll_tail(&mut self) {
        let len = u16::try_from(self.mss).expect("a segment has fewer than 2^16 bytes");
        while !self.tail.is_empty() {
            let (sent, _) = self.tail.acknowledge(1);
            self.segments.push_back(SentSegment { end: self.tail.start(), sent, arrived: 0, len, marks: 0 });
        }
    }

    /// Sets and clears marks of the segment at `index`, and updates the sums.
    #[inline]
    fn change(&mut self, index: usize, set: u8, clear: u8) {
        let segment = &mut self.segments[index];
        let (before, len) = (*segment, u64::from(segment.len));
        segment.marks = (segment.marks & !clear) | set;
        self.in_flight = self.in_flight + segment.in_flight() - before.in_flight();
        self.waiting =
            self.waiting + u32::from(segment.awaits_retransmission()) - u32::from(before.awaits_retransmission());
        match (before.is(mark::LOST), segment.is(mark::LOST)) {
            (false, true) => self.lost += len,
            (true, false) => self.lost -= len,
            _ => {}
        }
    }

    /// Processes the first report that the segment at `index` has arrived.
    #[inline]
    fn deliver(&mut self, now: Time, index: usize, min_rtt: Duration, delivery: &mut AckDelivery) {
        let segment = self.segments[index];
        delivery.bytes += u64::from(segment.len);
        if !self.timed {
            return;
        }
        if let Some(rate) = &mut self.rate {
            rate.deliver(index, segment.sent);
        }
        if !segment.is(mark::EVER_RETRANSMITTED) {
            delivery.note_sent_once(segment.sent, segment.end);
        }
        // RFC 8985, section 6.2, step 2: a retransmission was spurious if it seems to arrive within less than the
        // minimum RTT, or if its ACK echoes an earlier timestamp.
        let rtt = now.saturating_since(segment.sent);
        let earlier = |echo: u32| echo.wrapping_sub(clock(segment.sent)).cast_signed() < 0;
        let needless = segment.is(mark::EVER_RETRANSMITTED) && (rtt < min_rtt || delivery.echo.is_some_and(earlier));
        let rack = &mut self.rack;
        if !needless {
            if (segment.sent, segment.end) > (rack.sent, rack.end) {
                (rack.sent, rack.end) = (segment.sent, segment.end);
            }
            rack.rtt = rtt;
        }
        if segment.end > rack.highest {
            rack.highest = segment.end;
        } else if !segment.is(mark::EVER_RETRANSMITTED) {
            rack.reordered = true;
            rack.reorderings += u64::from(!delivery.reordered);
            delivery.reordered = true;
            let distance = (rack.highest - segment.start()).div_ceil(self.mss);
            rack.degree = rack.degree.max(distance);
        }
    }

    /// Whether nothing but the transmission of all segments is known.
    #[inline(always)]
    pub fn is_unmarked(&self) -> bool {
        self.is_in_order() && self.lost == 0 && self.rate.is_none()
    }

    /// Acknowledges all before `una` if it is the end of a segment; the scoreboard must be
    /// [unmarked](Scoreboard::is_unmarked).
    #[inline(always)]
    pub fn acknowledge_in_order(&mut self, now: Time, una: u64) -> Option<AckedRun> {
        let acked = if self.segments.is_empty() {
            let count = self.tail.whole_before(una)?;
            self.acknowledge_tail(now, count)
        } else {
            let mut ends = self.segments.iter().take_while(|segment| segment.marks == 0).map(|segment| segment.end);
            ends.find(|end| *end >= una).filter(|end| *end == una)?;
            self.acknowledge_unmarked(now, una)?
        };
        self.examined = self.examined.max(self.first);
        Some(acked)
    }

    /// Acknowledges all before `una`.
    #[inline(never)]
    pub fn acknowledge(&mut self, now: Time, una: u64, min_rtt: Duration, delivery: &mut AckDelivery) {
        if self.rate.is_none()
            && let Some(acked) = self.acknowledge_unmarked(now, una)
        {
            delivery.note_in_order(&acked, self.timed);
        }
        while let Some(&segment) = self.segments.front() {
            if segment.end > una {
                if segment.start() < una {
                    self.cut(una, delivery);
                }
                break;
            }
            if segment.marks == 0 && !self.timed {
                delivery.bytes += u64::from(segment.len);
                self.in_flight -= u64::from(segment.len);
            } else {
                self.acknowledge_first(now, &segment, min_rtt, delivery);
            }
            self.segments.pop_front();
            self.first += 1;
        }
        if self.segments.is_empty() && una > self.tail.start() && !self.tail.is_empty() {
            if let Some(count) = self.tail.whole_before(una) {
                delivery.note_in_order(&self.acknowledge_tail(now, count), self.timed);
            } else {
                self.unroll();
                self.acknowledge(now, una, min_rtt, delivery);
            }
        }
        self.examined = self.examined.max(self.first);
    }

    /// Acknowledges the leading segments that were sent once and have no marks all at once, without delivery rate
    /// samples. They were sent in order, so only the first and the last matter.
    #[inline]
    fn acknowledge_unmarked(&mut self, now: Time, una: u64) -> Option<AckedRun> {
        let first = *self.segments.front()?;
        if self.timed && first.end <= self.rack.highest {
            return None; // a later segment arrived before it
        }
        let (mut last, mut segments, mut bytes) = (None, 0, 0);
        while let Some(&segment) = self.segments.front()
            && segment.end <= una
            && segment.marks == 0
        {
            bytes += u64::from(segment.len);
            segments += 1;
            last = Some((segment.sent, segment.end));
            self.segments.pop_front();
        }
        let acked = AckedRun { segments, bytes, first: (first.sent, first.end), last: last? };
        self.note_in_order(now, &acked);
        Some(acked)
    }

    /// Acknowledges the first `segments` segments of the tail, at least one.
    #[inline(always)]
    fn acknowledge_tail(&mut self, now: Time, segments: u64) -> AckedRun {
        let first_end = self.tail.start() + self.mss;
        let (first_sent, last_sent) = self.tail.acknowledge(segments);
        let (first, last) = ((first_sent, first_end), (last_sent, self.tail.start()));
        let acked = AckedRun { segments, bytes: segments * self.mss, first, last };
        self.note_in_order(now, &acked);
        acked
    }

    /// Updates the state for segments acknowledged in order.
    #[inline(always)]
    fn note_in_order(&mut self, now: Time, acked: &AckedRun) {
        self.first += acked.segments;
        self.in_flight -= acked.bytes;
        if self.timed {
            let (rack, last) = (&mut self.rack, acked.last);
            if last > (rack.sent, rack.end) {
                (rack.sent, rack.end) = last;
            }
            rack.rtt = now.saturating_since(last.0);
            rack.highest = last.1;
        }
    }

    /// Acknowledges the first segment, which has marks or a needed transmission time.
    #[inline(never)]
    fn acknowledge_first(&mut self, now: Time, segment: &SentSegment, min_rtt: Duration, delivery: &mut AckDelivery) {
        delivery.repaired |= segment.is(mark::EVER_RETRANSMITTED);
        if segment.is(mark::SACKED) {
            self.sacked -= u64::from(segment.len);
            self.sacked_segments -= 1;
            if !self.by_time && self.first >= self.examined {
                self.arrived_above -= 1;
            }
        } else {
            self.deliver(now, 0, min_rtt, delivery);
            self.in_flight -= segment.in_flight();
            if segment.is(mark::LOST) {
                self.lost -= u64::from(segment.len);
                self.waiting -= u32::from(segment.awaits_retransmission());
            }
        }
        if let Some(rate) = &mut self.rate {
            rate.pop();
        }
    }

    /// Handles an ACK that ends inside the first segment, as after a window probe of one byte.
    #[cold]
    fn cut(&mut self, una: u64, delivery: &mut AckDelivery) {
        let marks = self.segments[0].marks;
        self.change(0, 0, mark::SACKED | mark::LOST | mark::RETRANSMITTED);
        let segment = &mut self.segments[0];
        let gone = una - segment.start();
        segment.len -= u16::try_from(gone).expect("it is a part of the segment");
        self.in_flight -= gone;
        if marks & mark::SACKED != 0 {
            self.sacked -= gone;
        } else {
            delivery.bytes += gone;
        }
        self.change(0, marks, 0);
    }

    /// Index of the segment that contains `offset`, or of the first after it.
    fn find(&self, offset: u64) -> usize {
        let Some(front) = self.segments.front() else { return 0 };
        let guess = usize::try_from(offset.saturating_sub(front.start()) / self.mss).unwrap_or(usize::MAX);
        match self.segments.get(guess) {
            Some(segment) if (segment.start()..segment.end).contains(&offset) => guess,
            _ => self.segments.partition_point(|segment| segment.end <= offset),
        }
    }

    /// Index of the first segment from `from` on that is not known to have arrived.
    #[inline]
    fn missing(&mut self, from: usize) -> usize {
        match self.segments.get(from) {
            Some(segment) if segment.arrived > 0 => self.behind_arrived(from),
            _ => from,
        }
    }

    #[inline(never)]
    fn behind_arrived(&mut self, from: usize) -> usize {
        let mut end = from;
        while let Some(segment) = self.segments.get(end).filter(|segment| segment.arrived > 0) {
            end += segment.arrived as usize;
        }
        let mut at = from;
        while at < end {
            let next = at + self.segments[at].arrived as usize;
            self.segments[at].arrived = u32::try_from(end - at).expect("fewer than 2^32 segments are in flight");
            at = next;
        }
        end
    }

    /// Processes the SACK block `block`, the `place`-th of its ACK. Segments that it covers only in part do not count.
    /// Most blocks are the same as in the ACK before, or have grown at their end.
    #[inline]
    pub fn sack(&mut self, now: Time, place: usize, block: (u64, u64), min_rtt: Duration, delivery: &mut AckDelivery) {
        let (mut start, end) = block;
        let known = self.blocks[place];
        if known.0 <= start && start < known.1 {
            start = known.1;
        }
        if start < end {
            self.sack_more(now, place, (start, end), min_rtt, delivery);
        }
    }

    fn sack_more(&mut self, now: Time, place: usize, block: (u64, u64), min_rtt: Duration, delivery: &mut AckDelivery) {
        let (start, end) = block;
        self.unroll();
        let mut index = self.find(start);
        if self.segments.get(index).is_some_and(|segment| segment.start() < start) {
            index += 1;
        }
        let begin = index;
        loop {
            index = self.missing(index);
            let Some(&segment) = self.segments.get(index) else { break };
            if segment.end > end {
                break;
            }
            self.deliver(now, index, min_rtt, delivery);
            self.change(index, mark::SACKED, mark::LOST | mark::RETRANSMITTED);
            self.segments[index].arrived = 1;
            self.sacked += u64::from(segment.len);
            self.sacked_segments += 1;
            delivery.sacked += 1;
            let number = self.first + index as u64;
            self.highest_arrived = self.highest_arrived.max(number + 1);
            if !self.by_time && number >= self.examined {
                self.arrived_above += 1;
            }
            index += 1;
        }
        if index > begin {
            let known = &mut self.blocks[place];
            *known = (if known.1 == start { known.0 } else { start }, self.segments[index - 1].end);
        }
    }

    /// Marks the segment at `index` as lost.
    fn mark_lost(&mut self, index: usize) {
        self.change(index, mark::LOST, mark::RETRANSMITTED);
        self.queue.push(Reverse(self.first + index as u64));
    }

    /// Marks segments as lost that have `threshold` arrived segments above them (RFC 6675, section 4, IsLost, counted
    /// in segments). Returns how many are newly lost.
    pub fn mark_lost_below(&mut self, threshold: u32) -> u32 {
        let mut newly = 0;
        while self.arrived_above >= threshold {
            let Some(index) = self.index(self.examined) else { break };
            let segment = self.segments[index];
            if segment.is(mark::SACKED) {
                self.arrived_above -= 1;
            } else if !segment.is(mark::LOST | mark::RETRANSMITTED) {
                self.mark_lost(index);
                newly += 1;
            }
            self.examined += 1;
        }
        newly
    }

    /// Marks the first segment as lost, on the count of duplicate ACKs; returns whether it is newly lost.
    pub fn mark_first_lost(&mut self) -> bool {
        self.unroll();
        let new =
            self.segments.front().is_some_and(|segment| !segment.is(mark::SACKED | mark::LOST | mark::RETRANSMITTED));
        if new {
            self.mark_lost(0);
            self.pass(self.first);
        }
        new
    }

    /// Moves the pointer of examined segments past segment `number`.
    fn pass(&mut self, number: u64) {
        while self.examined <= number {
            let arrived = self.index(self.examined).is_some_and(|index| self.segments[index].is(mark::SACKED));
            if arrived && !self.by_time {
                self.arrived_above -= 1;
            }
            self.examined += 1;
        }
    }

    /// Marks losses after a timeout. With `only_late`, the first segment and overdue segments are lost (RFC 8985,
    /// section 6.3), else all that have not arrived. If the receiver has reneged on its first selective ACK (RFC 2018,
    /// section 8), all selective ACKs are discarded and all segments are lost, as in Linux.
    pub fn on_timeout(&mut self, now: Time, only_late: bool) {
        self.unroll();
        let taken_back = self.segments.front().is_some_and(|segment| segment.is(mark::SACKED));
        let only_late = only_late && !taken_back;
        if taken_back {
            for index in 0..self.segments.len() {
                self.segments[index].arrived = 0;
                self.change(index, 0, mark::SACKED);
            }
            (self.sacked, self.sacked_segments, self.arrived_above) = (0, 0, 0);
            self.highest_arrived = 0;
            self.blocks = [(0, 0); MAX_SACK_BLOCKS];
        }
        let wait = self.rack.rtt;
        for index in 0..self.segments.len() {
            let segment = self.segments[index];
            let late = !only_late || index == 0 || segment.sent.saturating_add(wait) <= now;
            if segment.is(mark::SACKED) || !late || (segment.is(mark::LOST) && !segment.is(mark::RETRANSMITTED)) {
                continue;
            }
            self.mark_lost(index);
        }
        if !only_late {
            self.examined = self.behind();
            self.arrived_above = 0;
        }
    }

    /// Undoes losses that were spurious: segments not yet retransmitted count as in flight.
    pub fn undo_losses(&mut self) {
        self.queue.clear();
        for index in 0..self.segments.len() {
            if self.segments[index].is(mark::LOST) {
                self.change(index, 0, mark::LOST);
            }
        }
        self.examined = self.first;
        self.arrived_above = if self.by_time { 0 } else { self.sacked_segments };
    }

    /// Start and length of the lowest segment that is lost and not retransmitted.
    #[inline]
    pub fn next_lost(&mut self) -> Option<(u64, u64)> {
        while let Some(&Reverse(number)) = self.queue.peek() {
            if let Some(index) = self.index(number) {
                let segment = self.segments[index];
                if segment.is(mark::LOST) && !segment.is(mark::RETRANSMITTED) {
                    return Some((segment.start(), u64::from(segment.len)));
                }
            }
            self.queue.pop();
        }
        None
    }

    /// Start and length of a segment below the highest arrived, not considered lost (RFC 6675, section 4, NextSeg, rule
    /// 3).
    pub fn next_suspect(&mut self) -> Option<(u64, u64)> {
        let index = self.index(self.examined)?;
        let index = self.missing(index);
        let segment = self.segments.get(index)?;
        let below = self.first + (index as u64) < self.highest_arrived;
        (below && !segment.is(mark::LOST | mark::RETRANSMITTED)).then_some((segment.start(), u64::from(segment.len)))
    }

    /// The last segment if it has not arrived (RFC 6675, section 4, NextSeg, rule 4; RFC 8985, section 7.3).
    pub fn last(&self) -> Option<(u64, u64)> {
        if !self.tail.is_empty() {
            return Some((self.tail.end() - self.mss, self.mss));
        }
        let segment = self.segments.back()?;
        (!segment.is(mark::SACKED | mark::RETRANSMITTED)).then_some((segment.start(), u64::from(segment.len)))
    }

    /// When the first segment was last sent, if transmission times are kept.
    pub fn first_sent(&self) -> Option<Time> {
        let first = self.segments.front().map(|segment| segment.sent);
        first.or_else(|| self.tail.first_sent()).filter(|_| self.timed)
    }

    /// Records the retransmission of the segment at `start`.
    pub fn retransmit(&mut self, now: Time, start: u64) {
        self.unroll();
        let index = self.find(start);
        debug_assert!(self.segments[index].start() == start, "segments keep their borders");
        if let Some(rate) = &mut self.rate {
            rate.retransmit(now, index, self.in_flight);
        }
        self.change(index, mark::RETRANSMITTED | mark::EVER_RETRANSMITTED, 0);
        self.segments[index].sent = now;
        if self.by_time {
            self.retransmitted.push_back((self.first + index as u64, now));
        }
    }

    /// Like [`Scoreboard::retransmit`], for a segment not considered lost; it is not examined again.
    pub fn retransmit_suspect(&mut self, now: Time, start: u64) {
        self.retransmit(now, start);
        let number = self.first + self.find(start) as u64;
        self.pass(number);
    }

    /// Number of segments sent and not cumulatively acknowledged.
    #[inline]
    pub fn len(&self) -> usize {
        self.segments.len() + usize::try_from(self.tail.len()).expect("they are in flight")
    }

    /// The delivery rate sample of an ACK that delivered `bytes`.
    pub fn rate_sample(&mut self, now: Time, bytes: u64, min_rtt: Duration) -> Option<RateSample> {
        self.rate.as_mut()?.sample(now, bytes, min_rtt)
    }

    /// Marks delivery rate samples as application-limited.
    pub fn on_app_limited(&mut self) {
        let in_flight = self.in_flight;
        if let Some(rate) = &mut self.rate {
            rate.on_app_limited(in_flight);
        }
    }
}

#[cfg(test)]
mod tests;
