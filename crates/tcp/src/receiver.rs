//! The receiver of a connection: tracks which data has arrived, and decides when to send ACKs and what they contain.
//!
//! Sources: RFC 9293 (section 3.8.6 window, 3.10.7 arrival of segments), RFC 5681, section 4.2 (delayed ACKs), RFC 2018
//! (selective ACKs), RFC 2883 (reports of duplicates), RFC 7323 (timestamps, window scale), RFC 3168, section 6.1.3,
//! and RFC 8257, section 3.2 (echo of congestion marks), Linux's receive offload ([`gro`](crate::gro)).
//!
//! Departures: the application reads data at once, so only out-of-order data closes the window; the receiver has no
//! timer for its own SYN-ACK and FIN, but repeats them when the sender repeats its SYN or FIN.

use wifair_packet::{Kind, MAX_SACK_BLOCKS, Packet, flag};
use wifair_units::{Duration, Time};

use crate::config::ReceiverConfig;
use crate::gro::Batch;
use crate::ranges::Ranges;
use crate::{TIMESTAMP_OPTION, clock};

/// Number of ACKs for a gap that are sent at once, and maximum number held back after them (Linux).
const AT_ONCE: u32 = 3;
const MOST_HELD: u32 = 44;

/// Length of the SACK option with `blocks` blocks, padded to whole words, in bytes (RFC 2018, section 3).
const fn sack_option(blocks: u16) -> u16 {
    if blocks == 0 { 0 } else { 4 + 8 * blocks }
}

/// The receiver of a connection.
#[derive(Clone, Debug)]
pub struct Receiver {
    config: ReceiverConfig,
    /// Template of an ACK.
    blank: Packet,
    /// Next offset expected.
    next: u64,
    /// Ranges that arrived above `next`.
    ahead: Ranges,
    /// Ranges to be reported, the latest first, as they were when they last grew; `(0, 0)` marks unused entries. Ranges
    /// below `next` are no longer reported, but keep their places.
    recent: [(u64, u64); MAX_SACK_BLOCKS],
    /// A duplicate to report once (RFC 2883).
    duplicate: Option<(u64, u64)>,
    /// Segments that arrived in order since the last ACK.
    unacked: u32,
    quick_acks: u32,
    /// Number of ACKs that reported the gap at `told_at` at once, and number of those held back.
    told: u32,
    told_at: u64,
    held: u32,
    /// When a delayed or held-back ACK is due.
    ack_at: Time,
    /// Flags of the ACK sent at the next call of [`Receiver::poll`]; 0 for none.
    reply: u8,
    /// Offset and ECN echo of an ACK to be sent before `reply` (RFC 8257, section 3.2).
    earlier: Option<(u64, bool)>,
    /// Timestamp to echo, and the offset last acknowledged, which decides when the timestamp is updated (RFC 7323,
    /// section 4.3).
    ts_recent: u32,
    last_ack: u64,
    /// Whether ECE is set.
    echo: bool,
    /// Offset of the FIN; [`u64::MAX`] before it arrives.
    fin: u64,
    duplicates: u64,
    /// Segments not yet processed, if there is generic receive offload.
    batch: Option<Box<Batch>>,
    /// See [`Receiver::has_timer`].
    has_timer: bool,
}

impl Receiver {
    /// Creates the receiver of flow number `flow`.
    #[must_use]
    pub fn new(config: &ReceiverConfig, flow: u32) -> Self {
        let options = if config.timestamps && config.count_options { TIMESTAMP_OPTION } else { 0 };
        let blank = Packet {
            flow,
            window: u16::try_from(config.buffer >> config.window_scale).unwrap_or(u16::MAX),
            size: config.header + options,
            kind: Kind::Ack,
            ..Packet::default()
        };
        Self {
            config: *config,
            blank,
            next: 0,
            ahead: Ranges::default(),
            recent: [(0, 0); MAX_SACK_BLOCKS],
            duplicate: None,
            unacked: 0,
            quick_acks: config.quick_acks,
            told: 0,
            told_at: 0,
            held: 0,
            ack_at: Time::NEVER,
            reply: 0,
            earlier: None,
            ts_recent: 0,
            last_ack: 0,
            echo: false,
            fin: u64::MAX,
            duplicates: 0,
            batch: config.gro.map(|_| Box::default()),
            has_timer: config.has_timer(),
        }
    }

    /// Processes a segment from the data sender.
    #[inline(always)]
    pub fn on_packet(&mut self, now: Time, packet: &Packet) {
        let plain = packet.payload > 0 && packet.flags & (flag::SYN | flag::FIN) == 0;
        if self.config.gro.is_some() && self.collect(now, packet, plain) {
            return;
        }
        if !plain && !self.take_syn_or_fin(packet) {
            return;
        }
        self.take(now, packet, packet.end(), 1, plain);
    }

    /// Processes `segments` contiguous segments that begin with `packet` and end at `end`.
    #[inline(always)]
    fn take(&mut self, now: Time, packet: &Packet, end: u64, segments: u32, plain: bool) {
        if self.config.ecn {
            self.on_ecn(packet);
        }
        // RFC 7323, section 4.3, rule 2: the timestamp of the oldest segment covered by the next ACK is echoed.
        if packet.seq <= self.last_ack {
            self.ts_recent = packet.ts_val;
        }
        let start = packet.seq;
        if start > self.next {
            self.on_out_of_order(now, start, end);
        } else if end > self.next {
            if start < self.next {
                self.duplicate = Some((start, self.next));
            }
            self.on_in_order(now, end, segments);
        } else if !plain && packet.payload == 0 {
            self.on_in_order(now, self.next, 1); // a FIN alone
        } else {
            self.duplicates += 1;
            self.duplicate = Some((start, end));
            self.ack_now();
        }
        if self.is_finished() {
            self.reply = flag::ACK | flag::FIN;
        }
    }

    /// Adds a segment to the batch, or to a new one. Returns false if the segment must be processed at once.
    #[inline(never)]
    fn collect(&mut self, now: Time, packet: &Packet, plain: bool) -> bool {
        let Some(wait) = self.config.gro.filter(|_| plain) else {
            self.process_batch(now);
            return false;
        };
        if !self.batch.as_mut().is_some_and(|batch| batch.merge(packet, self.config.timestamps)) {
            self.process_batch(now);
            if let Some(batch) = &mut self.batch {
                batch.start(now, wait, packet);
            }
        }
        true
    }

    /// Processes the batch.
    fn process_batch(&mut self, now: Time) {
        let Some(mut batch) = self.batch.take_if(|batch| batch.segments > 0) else { return };
        self.take(now, &batch.first, batch.end, batch.segments, true);
        batch.clear();
        self.batch = Some(batch);
    }

    /// Handles a segment without data, or with a SYN or FIN. Returns whether the segment occupies a place in the
    /// stream.
    #[cold]
    fn take_syn_or_fin(&mut self, packet: &Packet) -> bool {
        if packet.has(flag::SYN) {
            self.ts_recent = packet.ts_val;
            self.reply = flag::SYN | self.ack_flags();
            return false;
        }
        if packet.has(flag::FIN) {
            self.fin = packet.end();
        }
        packet.has(flag::FIN)
    }

    #[inline(never)]
    fn on_out_of_order(&mut self, now: Time, start: u64, end: u64) {
        if end - self.next <= self.config.buffer {
            // RFC 2883, section 4.2: of a segment that is a duplicate in part, the first such part is reported.
            if let Some(known) = self.ahead.overlap(start, end) {
                self.duplicates += u64::from(known == (start, end));
                self.duplicate = Some(known);
            }
            let range = self.ahead.insert(start, end);
            if self.config.sack && start < end {
                self.remember(range);
            }
        }
        // RFC 5681, section 4.2: out-of-order segments are acknowledged at once.
        if self.config.sack_compression == Duration::ZERO || self.may_report_gap() {
            self.ack_now();
        } else if self.ack_at == Time::NEVER {
            self.ack_at = now + self.config.sack_compression;
        }
    }

    /// Whether an ACK for a gap is sent at once. This holds for the first three, which trigger fast retransmit, and for
    /// the ACK after the maximum number of held-back ACKs.
    fn may_report_gap(&mut self) -> bool {
        if self.told_at != self.next {
            (self.told_at, self.told) = (self.next, 0);
        }
        if self.held >= MOST_HELD || self.quick_acks > 0 {
            return true;
        }
        if self.told < AT_ONCE {
            self.told += 1;
            return true;
        }
        self.held += 1;
        false
    }

    #[inline]
    fn on_in_order(&mut self, now: Time, end: u64, segments: u32) {
        self.next = end;
        self.unacked += segments;
        if !self.ahead.is_empty() {
            if let Some(known) = self.ahead.overlap(0, end) {
                self.duplicate.get_or_insert(known);
            }
            self.next = self.ahead.take_up_to(self.next);
            // RFC 5681, section 4.2: a segment that fills a gap, even in part, is acknowledged at once.
            self.ack_now();
        } else if self.unacked >= self.config.ack_every || self.quick_acks > 0 {
            self.ack_now();
        } else if self.ack_at == Time::NEVER {
            self.ack_at = now + self.config.ack_delay;
        }
    }

    /// Updates the ECN echo (RFC 3168, section 6.1.3; RFC 8257, section 3.2).
    #[inline(never)]
    fn on_ecn(&mut self, packet: &Packet) {
        let marked = packet.has(flag::CE);
        if self.config.echo_each_mark {
            if marked != self.echo && self.unacked > 0 {
                self.earlier = Some((self.next, self.echo));
                self.unacked = 0;
            }
            self.echo = marked;
        } else {
            if packet.has(flag::CWR) {
                self.echo = false;
            }
            if marked {
                self.echo = true;
            }
        }
    }

    #[inline]
    fn ack_now(&mut self) {
        self.reply = flag::ACK;
    }

    /// Moves a range that grew to the front (RFC 2018, section 4), and removes other ranges that have merged with it.
    #[inline]
    fn remember(&mut self, range: (u64, u64)) {
        let is_part = |part: &(u64, u64)| (range.0..range.1).contains(&part.0);
        if !is_part(&self.recent[0]) {
            let place = self.recent.iter().position(|part| part.1 == 0 || is_part(part));
            self.recent[..=place.unwrap_or(MAX_SACK_BLOCKS - 1)].rotate_right(1);
        }
        self.recent[0] = range;
        for i in 1..MAX_SACK_BLOCKS {
            if is_part(&self.recent[i]) {
                self.recent[i..].rotate_left(1);
                self.recent[MAX_SACK_BLOCKS - 1] = (0, 0);
            }
        }
    }

    /// Returns the next ACK that is due.
    #[inline]
    pub fn poll(&mut self, now: Time) -> Option<Packet> {
        self.is_due().then(|| {
            let mut packet = Packet::default();
            self.write(now, &mut packet);
            packet
        })
    }

    /// Whether an ACK is due.
    #[inline]
    #[must_use]
    pub const fn is_due(&self) -> bool {
        self.reply != 0 || self.earlier.is_some()
    }

    /// Writes the next ACK into `packet` and returns whether another one is due. The caller has checked
    /// [`Receiver::is_due`].
    #[inline]
    pub fn write(&mut self, now: Time, packet: &mut Packet) -> bool {
        *packet = self.blank;
        if self.earlier.is_some() {
            return self.write_earlier(now, packet);
        }
        packet.flags = self.reply;
        self.reply = 0;
        self.ack_at = Time::NEVER;
        self.unacked = 0;
        self.held = 0;
        if self.quick_acks > 0 {
            self.quick_acks -= 1;
        }
        self.acknowledge(now, self.next, self.echo, packet);
        if self.config.sack && (self.duplicate.is_some() || !self.ahead.is_empty()) {
            self.put_blocks(packet);
        }
        false
    }

    /// Writes the ACK to be sent before the one due; returns whether one is due after it.
    #[cold]
    fn write_earlier(&mut self, now: Time, packet: &mut Packet) -> bool {
        if let Some((ack, echo)) = self.earlier.take() {
            packet.flags = flag::ACK;
            self.acknowledge(now, ack, echo, packet);
        }
        self.reply != 0
    }

    #[inline]
    fn acknowledge(&mut self, now: Time, ack: u64, echo: bool, packet: &mut Packet) {
        packet.ack = ack;
        self.last_ack = ack;
        if echo {
            packet.flags |= flag::ECE;
        }
        if self.config.timestamps {
            packet.ts_val = clock(now);
            packet.ts_ecr = self.ts_recent;
        }
    }

    /// Adds the SACK blocks (RFC 2018, section 4; RFC 2883, section 4). Offsets are relative to the ACK and wrap for
    /// duplicates below it.
    #[inline(never)]
    fn put_blocks(&mut self, packet: &mut Packet) {
        let mut blocks = 0;
        let relative =
            |(start, end): (u64, u64)| (start.wrapping_sub(packet.ack) as u32, end.wrapping_sub(packet.ack) as u32);
        let mut sack = [(0, 0); MAX_SACK_BLOCKS];
        if let Some(duplicate) = self.duplicate.take().filter(|_| self.config.report_duplicates) {
            sack[0] = relative(duplicate);
            blocks = 1;
        }
        if !self.ahead.is_empty() {
            for &range in self.recent.iter().take_while(|range| range.1 != 0) {
                if range.0 > self.next && blocks < MAX_SACK_BLOCKS {
                    sack[blocks] = relative(range);
                    blocks += 1;
                }
            }
        }
        packet.sack = sack;
        if self.config.count_options {
            packet.size += sack_option(blocks as u16);
        } else if self.config.count_blocks {
            packet.size += 8 * blocks as u16;
        }
    }

    /// Notes that a data segment in the opposite direction acknowledges what has arrived, so that no delayed ACK is
    /// needed. An ACK that reports a gap or a duplicate is still sent on its own.
    pub fn piggyback(&mut self) {
        if self.ahead.is_empty() && self.duplicate.is_none() && self.earlier.is_none() {
            self.reply = 0;
            self.ack_at = Time::NEVER;
            self.unacked = 0;
            self.last_ack = self.next;
        }
    }

    /// The timestamp that the next ACK echoes (RFC 7323, section 4.3).
    #[must_use]
    pub const fn ts_recent(&self) -> u32 {
        self.ts_recent
    }

    /// Starts the connection with a SYN that has this timestamp.
    pub const fn start(&mut self, ts_val: u32) {
        self.ts_recent = ts_val;
    }

    /// Processes the timestamp of a segment without data; `begins_below` if it begins no later than the last ACK.
    pub const fn note_timestamp(&mut self, value: u32, begins_below: bool) {
        if begins_below && value.wrapping_sub(self.ts_recent).cast_signed() >= 0 {
            self.ts_recent = value;
        }
    }

    /// When to call [`Receiver::on_timer`]; [`Time::NEVER`] for not at all.
    #[inline]
    #[must_use]
    pub fn deadline(&self) -> Time {
        self.batch.as_ref().map_or(self.ack_at, |batch| self.ack_at.min(batch.until))
    }

    /// Runs the timers that have expired; [`Receiver::deadline`] need not have passed.
    pub fn on_timer(&mut self, now: Time) {
        if self.batch.as_ref().is_some_and(|batch| now >= batch.until) {
            self.process_batch(now);
        }
        if now >= self.ack_at {
            self.ack_at = Time::NEVER;
            self.reply = self.ack_flags();
        }
    }

    /// Whether [`Receiver::deadline`] is ever set.
    #[inline]
    #[must_use]
    pub const fn has_timer(&self) -> bool {
        self.has_timer
    }

    /// Flags of an ACK; the FIN is acknowledged too, once it has arrived.
    const fn ack_flags(&self) -> u8 {
        if self.is_finished() { flag::ACK | flag::FIN } else { flag::ACK }
    }

    /// The receive window, in bytes from the next expected offset.
    #[must_use]
    pub const fn window(&self) -> u64 {
        self.config.buffer
    }

    /// Whether everything has arrived, including the FIN.
    #[inline]
    #[must_use]
    pub const fn is_finished(&self) -> bool {
        self.fin == self.next
    }

    /// Bytes handed to the application, in order.
    #[inline]
    #[must_use]
    pub const fn delivered(&self) -> u64 {
        self.next
    }

    /// Number of segments without new data.
    #[must_use]
    pub const fn duplicates(&self) -> u64 {
        self.duplicates
    }

    /// Number of ranges waiting for earlier data.
    #[must_use]
    pub fn gaps(&self) -> usize {
        self.ahead.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipe::ends;

    fn receiver(settings: &str) -> Receiver {
        ends(settings).1
    }

    /// A segment of 500 bytes, as in the examples of RFC 2018 and RFC 2883, with offsets relative to the first.
    fn segment(seq: u64) -> Packet {
        Packet { seq, payload: 500, flags: flag::ACK, ..Packet::default() }
    }

    /// The ACK sent in response to a segment: its offset and its SACK blocks in absolute offsets.
    fn answer(receiver: &mut Receiver, seq: u64) -> Option<(u64, Vec<(u64, u64)>)> {
        receiver.on_packet(Time::ZERO, &segment(seq));
        let ack = receiver.poll(Time::ZERO)?;
        let offset = |relative: u32| ack.ack.wrapping_add_signed(i64::from(relative.cast_signed()));
        let blocks = ack.sack.iter().filter(|(start, end)| start != end).map(|&(s, e)| (offset(s), offset(e)));
        Some((ack.ack, blocks.collect()))
    }

    /// RFC 2018, section 7, second case, offsets minus 5000: the first segment of eight is lost.
    #[test]
    fn one_block_grows_while_one_segment_is_missing() {
        let mut receiver = receiver("sack = true");
        for n in 1..8 {
            assert_eq!(answer(&mut receiver, 500 * n), Some((0, vec![(500, 500 * (n + 1))])));
        }
    }

    /// RFC 2018, section 7, third case, offsets minus 5000: the second, fourth, sixth and eighth segment are lost, then
    /// the fourth and the second arrive.
    #[test]
    fn the_newest_block_stands_first() {
        let mut receiver = receiver("sack = true\ndelayed_ack = false");
        assert_eq!(answer(&mut receiver, 0), Some((500, vec![])));
        assert_eq!(answer(&mut receiver, 1000), Some((500, vec![(1000, 1500)])));
        assert_eq!(answer(&mut receiver, 2000), Some((500, vec![(2000, 2500), (1000, 1500)])));
        assert_eq!(answer(&mut receiver, 3000), Some((500, vec![(3000, 3500), (2000, 2500), (1000, 1500)])));
        assert_eq!(receiver.gaps(), 3);
        assert_eq!(answer(&mut receiver, 1500), Some((500, vec![(1000, 2500), (3000, 3500)])));
        assert_eq!(answer(&mut receiver, 500), Some((2500, vec![(3000, 3500)])));
    }

    /// RFC 2883, section 4.1: a duplicate segment is reported once, below the ACK or within a later block.
    #[test]
    fn duplicates_are_reported_once() {
        let mut receiver = receiver("sack = true\ndelayed_ack = false");
        assert_eq!(answer(&mut receiver, 0), Some((500, vec![])));
        assert_eq!(answer(&mut receiver, 0), Some((500, vec![(0, 500)])));
        assert_eq!(answer(&mut receiver, 1000), Some((500, vec![(1000, 1500)])));
        assert_eq!(answer(&mut receiver, 1500), Some((500, vec![(1000, 2000)])));
        assert_eq!(answer(&mut receiver, 1000), Some((500, vec![(1000, 1500), (1000, 2000)])));
        assert_eq!(receiver.duplicates(), 2);
    }

    /// RFC 2883, section 4.2: of a segment that is a duplicate in part, the first such part is reported: below the ACK,
    /// above a gap, and where the segment fills a gap and contains what was above it.
    #[test]
    fn parts_that_came_before_are_reported() {
        let mut receiver = receiver("sack = true\ndelayed_ack = false");
        let mut whole = |seq, payload| {
            receiver.on_packet(Time::ZERO, &Packet { payload, ..segment(seq) });
            let ack = receiver.poll(Time::ZERO).expect("no ACK is delayed");
            let offset = |relative: u32| ack.ack.wrapping_add_signed(i64::from(relative.cast_signed()));
            let blocks = ack.sack.iter().filter(|(start, end)| start != end).map(|&(s, e)| (offset(s), offset(e)));
            (ack.ack, blocks.collect::<Vec<_>>(), receiver.duplicates())
        };
        assert_eq!(whole(0, 500), (500, vec![], 0));
        assert_eq!(whole(200, 800), (1000, vec![(200, 500)], 0));
        assert_eq!(whole(1500, 500), (1000, vec![(1500, 2000)], 0));
        assert_eq!(whole(1800, 700), (1000, vec![(1800, 2000), (1500, 2500)], 0));
        assert_eq!(whole(3000, 500), (1000, vec![(3000, 3500), (1500, 2500)], 0));
        assert_eq!(whole(1000, 3000), (4000, vec![(1500, 2500)], 0));
        assert_eq!(whole(3000, 500), (4000, vec![(3000, 3500)], 1));
    }

    /// RFC 5681, section 4.2: every second segment is acknowledged at once, a single one after the delay, a gap and its
    /// filling at once.
    #[test]
    fn acks_are_delayed_for_segments_in_order_only() {
        let mut receiver = receiver("ack_delay = '150 ms'");
        assert_eq!(answer(&mut receiver, 0), None);
        assert_eq!(receiver.deadline(), Time::ZERO + Duration::from_millis(150));
        assert_eq!(answer(&mut receiver, 500), Some((1000, vec![])));
        assert_eq!(receiver.deadline(), Time::NEVER);
        assert_eq!(answer(&mut receiver, 1500), Some((1000, vec![])));
        assert_eq!(answer(&mut receiver, 1000), Some((2000, vec![])));
        assert_eq!(answer(&mut receiver, 2000), None);
        receiver.on_timer(receiver.deadline());
        assert_eq!(receiver.poll(Time::ZERO).expect("the delay is over").ack, 2500);
    }

    #[test]
    fn the_first_acks_of_linux_are_quick() {
        let mut receiver = receiver("stack = 'modern'\nquick_acks = 3");
        let quick: Vec<_> = (0..6).map(|n| answer(&mut receiver, 500 * n).is_some()).collect();
        assert_eq!(quick, [true, true, true, false, true, false]);
    }

    /// The fourth ACK for a gap is held back for 1 ms, together with those after it. The segment that fills the gap is
    /// acknowledged at once, and the next gap is reported at once again. Of many held-back ACKs the 45th is sent.
    #[test]
    fn acks_for_a_gap_are_held_back_together() {
        let mut receiver = receiver("sack = true\nsack_compression = '1 ms'");
        assert!(answer(&mut receiver, 0).is_none());
        let told: Vec<_> = (2..8).map(|n| answer(&mut receiver, 500 * n).is_some()).collect();
        assert_eq!(told, [true, true, true, false, false, false]);
        assert_eq!(receiver.deadline(), Time::ZERO + Duration::from_millis(1));
        receiver.on_timer(receiver.deadline());
        let held = receiver.poll(Time::ZERO).expect("the time is over");
        assert_eq!((held.ack, held.sack[0]), (500, (500, 3500)));
        assert_eq!(answer(&mut receiver, 500).map(|(ack, _)| ack), Some(4000));
        let told: Vec<_> = (9..100).map(|n| answer(&mut receiver, 500 * n).is_some()).collect();
        let at_once: Vec<_> = (9..).zip(told).filter_map(|(n, told)| told.then_some(n)).collect();
        assert_eq!(at_once, [9, 10, 11, 56]);
    }

    /// The ACKs sent during a sequence of segments at one instant, and those sent at the end of the instant.
    fn answers(receiver: &mut Receiver, segments: &[Packet]) -> (Vec<u64>, Vec<u64>) {
        fn polled(receiver: &mut Receiver) -> Vec<u64> {
            std::iter::from_fn(|| receiver.poll(Time::ZERO)).map(|ack| ack.ack).collect()
        }
        let mut at_once = vec![];
        for segment in segments {
            receiver.on_packet(Time::ZERO, segment);
            at_once.extend(polled(receiver));
        }
        assert_eq!(receiver.deadline(), Time::ZERO + Duration::from_nanos(1));
        receiver.on_timer(receiver.deadline());
        (at_once, polled(receiver))
    }

    /// Linux: segments that the network card delivers together are one arrival. Ten segments get one ACK instead of
    /// five. A gap ends a batch, and the batch after it is reported once. A batch ends with a short segment, or when an
    /// IP packet is full: 130 times 500 bytes.
    #[test]
    fn a_batch_of_segments_has_one_ack() {
        let of = |numbers: std::ops::Range<u64>| numbers.map(|n| segment(500 * n)).collect::<Vec<_>>();
        let gro = || receiver("sack = true\ngro = true");
        assert_eq!(answers(&mut gro(), &of(0..10)), (vec![], vec![5000]));
        assert_eq!(answers(&mut gro(), &of(0..1)), (vec![], vec![])); // a single segment has a delayed ACK
        assert_eq!(answers(&mut gro(), &[of(0..4), of(5..9)].concat()), (vec![2000], vec![2000]));
        assert_eq!(answers(&mut gro(), &of(0..140)), (vec![130 * 500], vec![140 * 500]));
        let short = Packet { payload: 100, ..segment(1000) };
        let behind = Packet { seq: 1100, ..segment(0) };
        assert_eq!(answers(&mut gro(), &[segment(0), segment(500), short, behind]), (vec![1100], vec![]));
        let marked = |n: u64| Packet { flags: flag::ACK | flag::CE, ..segment(500 * n) };
        assert_eq!(answers(&mut gro(), &[segment(0), segment(500), marked(2), marked(3)]), (vec![1000], vec![2000]));
        let later = |n: u64| Packet { ts_val: 1000, ..segment(500 * n) };
        let mut stamped = receiver("gro = true\ntimestamps = true");
        assert_eq!(answers(&mut stamped, &[segment(0), segment(500), later(2), later(3)]), (vec![1000], vec![2000]));
    }

    #[test]
    fn a_fin_ends_a_batch() {
        let mut receiver = receiver("gro = true");
        receiver.on_packet(Time::ZERO, &segment(0));
        assert!(receiver.poll(Time::ZERO).is_none());
        receiver.on_packet(Time::ZERO, &Packet { flags: flag::ACK | flag::FIN, ..segment(500) });
        let ack = receiver.poll(Time::ZERO).expect("a FIN is acknowledged at once");
        assert!(receiver.is_finished() && ack.has(flag::FIN) && ack.ack == 1000);
        assert_eq!(receiver.deadline(), Time::NEVER);
    }

    /// RFC 8257, section 3.2, figure 1: when marks begin or end, an ACK for earlier data is sent first.
    #[test]
    fn each_mark_is_echoed_as_it_came() {
        let mut receiver = receiver("cc = 'dctcp'\necn = true");
        let mut acks = Vec::new();
        for (n, marked) in [(0, false), (1, false), (2, false), (3, true), (4, true), (5, true), (6, false)] {
            let mark = if marked { flag::CE } else { 0 };
            receiver.on_packet(Time::ZERO, &Packet { flags: flag::ACK | flag::ECT | mark, ..segment(500 * n) });
            while let Some(ack) = receiver.poll(Time::ZERO) {
                acks.push((ack.ack, ack.has(flag::ECE)));
            }
        }
        assert_eq!(acks, [(1000, false), (1500, false), (2500, true), (3000, true)]);
    }

    /// RFC 8257, section 3.2, in detail: when marks begin, the ACK for earlier data is sent, and the marked segment
    /// waits for the next one. If the next one has arrived, its ACK is due at once.
    #[test]
    fn an_earlier_ack_tells_whether_another_one_is_due() {
        let mut packet = Packet::default();
        let mut more = |segments: &[(u64, u8)]| {
            let mut receiver = receiver("cc = 'dctcp'\necn = true");
            for &(n, mark) in segments {
                receiver.on_packet(Time::ZERO, &Packet { flags: flag::ACK | flag::ECT | mark, ..segment(500 * n) });
            }
            let more = receiver.write(Time::ZERO, &mut packet);
            (packet.ack, more, receiver.is_due())
        };
        assert_eq!(more(&[(0, 0), (1, flag::CE)]), (500, false, false));
        assert_eq!(more(&[(0, 0), (1, flag::CE), (2, flag::CE)]), (500, true, true));
    }

    /// RFC 7323, section 2: 6 MB are advertised as 46875 times 2^7 bytes.
    #[test]
    fn the_window_is_advertised_with_its_scale() {
        let mut receiver = receiver("stack = 'modern'");
        receiver.on_packet(Time::ZERO, &segment(0));
        assert_eq!(receiver.poll(Time::ZERO).expect("a quick ACK").window, 46_875);
    }

    /// A FIN without data is no block, wherever it arrives.
    #[test]
    fn a_fin_beyond_a_gap_waits_for_the_data_before_it() {
        let mut receiver = receiver("sack = true");
        receiver.on_packet(Time::ZERO, &Packet { payload: 0, flags: flag::ACK | flag::FIN, ..segment(500) });
        let ack = receiver.poll(Time::ZERO).expect("what arrives beyond a gap is acknowledged at once");
        assert_eq!((ack.ack, ack.sack[0], ack.has(flag::FIN)), (0, (0, 0), false));
        assert_eq!(answer(&mut receiver, 0), Some((500, vec![])));
        assert!(receiver.is_finished());
    }

    /// The segment that fills the first of two gaps came once: no block reports it, and the first block is the range
    /// behind the remaining gap.
    #[test]
    fn the_segment_that_fills_a_gap_is_no_duplicate() {
        let mut receiver = receiver("sack = true");
        answer(&mut receiver, 0);
        answer(&mut receiver, 1000);
        answer(&mut receiver, 2000);
        receiver.on_packet(Time::ZERO, &segment(500));
        let ack = receiver.poll(Time::ZERO).expect("it is acknowledged at once");
        assert_eq!((ack.ack, ack.sack[0], ack.sack[1]), (1500, (500, 1000), (0, 0)));
    }
}
