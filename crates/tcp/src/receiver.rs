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

use crate::accecn::{AccEcnOption, EcnCodepoint, EcnFeedback, ReceivedMarks};
use crate::config::ReceiverConfig;
use crate::gro::Batch;
use crate::ranges::Ranges;
use crate::{TIMESTAMP_OPTION, clock};

/// Number of ACKs for a gap that are sent at once, and maximum number held back after them (Linux).
const AT_ONCE: u32 = 3;
const MOST_HELD: u32 = 44;

/// SACK blocks that fit beside timestamps and an AccECN option with two counters.
const BLOCKS_BESIDE_COUNTERS: usize = 2;

/// The ECN field of a packet; its ECN-capable packets are ECT(1) if `ect1`.
const fn ecn_field(packet: &Packet, ect1: bool) -> EcnCodepoint {
    match (packet.has(flag::CE), packet.has(flag::ECT)) {
        (true, _) => EcnCodepoint::Ce,
        (false, true) if ect1 => EcnCodepoint::Ect1,
        (false, true) => EcnCodepoint::Ect0,
        (false, false) => EcnCodepoint::NotEct,
    }
}

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
    /// The ranges that had arrived and waited when [`Receiver::restart_count`] was called.
    early: Option<Box<[(u64, u64)]>>,
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
    /// Accurate ECN, once it is agreed on.
    marks: Option<Box<ReceivedMarks>>,
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
            early: None,
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
            marks: config.accurate_from_start.then(Box::default),
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
            self.on_ecn(packet, end, segments);
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
        if packet.has(flag::PSH) {
            self.process_batch(now);
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
            self.reply = flag::SYN | self.ack_flags() | self.agree_on_ecn(packet);
            return false;
        }
        if packet.has(flag::FIN) {
            self.fin = packet.end();
        }
        packet.has(flag::FIN)
    }

    /// Answers the ECN flags of a SYN (RFC 9768, section 3.1.2); returns those of the SYN-ACK.
    fn agree_on_ecn(&mut self, syn: &Packet) -> u8 {
        let offered = match (self.config.ecn, self.config.accurate_ecn) {
            (true, true) => EcnFeedback::Accurate,
            (true, false) => EcnFeedback::Classic,
            (false, _) => EcnFeedback::Off,
        };
        if syn.ace() == 0 {
            return 0;
        }
        let field = ecn_field(syn, self.config.ect1);
        Packet::ace_flags(match offered.after_syn(syn.ace()) {
            EcnFeedback::Off => 0,
            EcnFeedback::Classic => 0b001,
            EcnFeedback::Accurate => {
                self.marks.get_or_insert_with(|| Box::new(ReceivedMarks::starting(field)));
                field.reflection()
            }
        })
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
    fn on_ecn(&mut self, packet: &Packet, end: u64, segments: u32) {
        let marked = packet.has(flag::CE);
        if let Some(marks) = &mut self.marks {
            let field = ecn_field(packet, self.config.ect1);
            if marks.note_many(field, segments.into(), end - packet.seq) {
                // RFC 9768, section 3.2.2.5.1: a change is reported at once.
                self.unacked = self.unacked.max(self.config.ack_every);
            }
        } else if self.config.echo_each_mark {
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
        if let Some(marks) = &mut self.marks
            && !packet.has(flag::SYN)
        {
            let option = marks.option(self.config.ect1, 2);
            packet.flags |= Packet::ace_flags(marks.ace());
            packet.set_counters(self.config.ect1, option.counters[0], option.counters[1]);
            packet.size += if self.config.count_options { AccEcnOption::padded(2) } else { 0 };
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
        let most = if self.marks.is_some() { BLOCKS_BESIDE_COUNTERS } else { MAX_SACK_BLOCKS };
        if let Some(duplicate) = self.duplicate.take().filter(|_| self.config.report_duplicates) {
            sack[0] = relative(duplicate);
            blocks = 1;
        }
        if !self.ahead.is_empty() {
            for &range in self.recent.iter().take_while(|range| range.1 != 0) {
                if range.0 > self.next && blocks < most {
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

    /// Begins to count as early what waits now, behind a gap or in a batch of receive offload.
    pub fn restart_count(&mut self) {
        let mut waiting = self.ahead.clone();
        if let Some(batch) = self.batch.as_ref().filter(|batch| batch.segments > 0) {
            waiting.insert(batch.first.seq.max(self.next), batch.end);
        }
        self.early = (!waiting.is_empty()).then(|| waiting.iter().collect());
    }

    /// How many of the bytes handed to the application had arrived before [`Receiver::restart_count`] was called.
    #[must_use]
    pub fn early(&self) -> u64 {
        let ranges = self.early.iter().flatten();
        ranges.map(|&(start, end)| self.next.clamp(start, end) - start).sum()
    }

    /// Packets that arrived marked, and payload that arrived with this ECN field; zeros without accurate ECN.
    #[must_use]
    pub fn received_marks(&self, field: EcnCodepoint) -> (u64, u64) {
        self.marks.as_ref().map_or((0, 0), |marks| marks.counts(field))
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
mod tests;
