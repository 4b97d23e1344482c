//! A connection: its two directions, and the effect of each segment on them.

use super::history::{AckKind, elapsed_us};
use super::observed_scoreboard::{Flight, RetransmissionCause, repeated};
use super::side::{PathView, Side};
use crate::link::wifi::Mac;
use crate::segment::{Endpoint, Segment, TcpOptions, flag};

/// The analysis of one segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SegmentVerdict {
    /// Bytes (and SYN, FIN) that had been seen before.
    pub again: u32,
    /// Why they were retransmitted.
    pub cause: Option<RetransmissionCause>,
    /// Whether it is new data below a segment seen before.
    pub out_of_order: bool,
    /// Whether it is a probe of a zero window.
    pub probe: bool,
    /// Whether it is a duplicate ACK.
    pub duplicate_ack: bool,
    /// Whether it is the third duplicate ACK.
    pub third_duplicate: bool,
    /// The advertised window, scaled, in bytes.
    pub window: u64,
    /// The round-trip time that its ACK gives for the other direction, in ns.
    pub rtt: Option<u64>,
    /// Data on its way in its own direction after it.
    pub flight: Flight,
    /// Data on its way in the other direction after it.
    pub flight_back: Flight,
    /// Its first byte relative to the SYN; if no SYN was seen, the first sequence number seen counts as one.
    pub seq: i64,
    /// Its acknowledgement number, relative in the same way.
    pub ack: Option<i64>,
}

/// The identity of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ConnectionKey {
    /// The smaller endpoint, then the larger one.
    low: Endpoint,
    high: Endpoint,
    /// The interface that captured it.
    pub(crate) interface: u32,
}

impl ConnectionKey {
    /// The key of a segment, and whether its source is the larger endpoint.
    #[inline]
    pub(crate) fn of(segment: &Segment<'_>, interface: u32) -> (Self, bool) {
        let (source, destination) = (segment.source, segment.destination);
        let swapped = source > destination;
        let (low, high) = if swapped { (destination, source) } else { (source, destination) };
        (Self { low, high, interface }, swapped)
    }
}

/// When the segments of the three-way handshake passed, in ns.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HandshakeTimes {
    syn: Option<u64>,
    answer: Option<u64>,
    done: Option<u64>,
    /// The side that sent the SYN.
    client: usize,
    /// Whether a SYN was retransmitted, so that the times are ambiguous.
    again: bool,
}

impl HandshakeTimes {
    /// The round-trip times from the capture point to the server and to the client, in ns.
    pub(crate) fn parts(&self) -> Option<(u64, u64)> {
        match (self.syn, self.answer, self.done) {
            (Some(syn), Some(answer), Some(done)) if !self.again => {
                Some((answer.saturating_sub(syn), done.saturating_sub(answer)))
            }
            _ => None,
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct CapturedConnection {
    pub(crate) key: ConnectionKey,
    /// The sender of the first segment, then the other end.
    pub(crate) ends: [Endpoint; 2],
    /// Whether the first sender is the larger endpoint.
    pub(crate) swapped: bool,
    pub(crate) first: u64,
    pub(crate) last: u64,
    pub(crate) handshake: HandshakeTimes,
    /// The station at one of its ends, if 802.11 headers name it.
    pub(crate) station: Option<Mac>,
    pub(crate) sides: [Side; 2],
}

/// What the analysis of a segment needs besides the segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Context {
    /// The pause that ends a session, in ns.
    pub(crate) pause: u64,
    /// The current time bin.
    pub(crate) bin: usize,
}

/// After a silence of this length, in ns, a segment belongs to the same connection only if its numbers fit: four
/// minutes, twice the maximum segment lifetime of RFC 9293, section 3.4.2. (tcptrace then begins a new connection in
/// any case.)
const SILENCE: u64 = 240 * 1_000_000_000;
/// The largest distance at which numbers fit those before.
const NEAR: u64 = 1 << 20;

impl CapturedConnection {
    pub(crate) fn new(key: ConnectionKey, swapped: bool, segment: &Segment<'_>, nanos: u64) -> Self {
        Self {
            key,
            ends: [segment.source, segment.destination],
            swapped,
            first: nanos,
            last: nanos,
            handshake: HandshakeTimes::default(),
            station: None,
            sides: [Side::default(), Side::default()],
        }
    }

    /// Which side sent a segment; `None` if it belongs to another connection.
    #[inline]
    pub(crate) fn side_of(&self, segment: &Segment<'_>, interface: u32) -> Option<usize> {
        let [a, b] = &self.ends;
        if self.key.interface != interface {
            None
        } else if segment.source == *a && segment.destination == *b {
            Some(0)
        } else if segment.source == *b && segment.destination == *a {
            Some(1)
        } else {
            None
        }
    }

    /// Whether a segment between these endpoints belongs to a later connection.
    ///
    /// A segment does if its numbers do not fit after a long silence, or if it is a SYN with another sequence number
    /// than the previous SYN, after a FIN or RST, or in the middle of a stream.
    #[inline]
    pub(crate) fn is_over(&mut self, side: usize, segment: &Segment<'_>, nanos: u64) -> bool {
        if nanos.saturating_sub(self.last) > SILENCE && !self.fits(side, segment) {
            return true;
        }
        segment.has(flag::SYN) && self.is_new_syn(side, segment)
    }

    /// Whether the numbers of a segment are close to those before.
    #[cold]
    fn fits(&mut self, side: usize, segment: &Segment<'_>) -> bool {
        let near =
            |side: &mut Side, number: u32| side.packets == 0 || side.space.place(number).abs_diff(side.latest) < NEAR;
        near(&mut self.sides[side], segment.seq)
            && (!segment.has(flag::ACK) || near(&mut self.sides[1 - side], segment.ack))
    }

    #[cold]
    fn is_new_syn(&mut self, side: usize, segment: &Segment<'_>) -> bool {
        let ended = self.sides.iter().any(|side| side.fins + side.resets > 0);
        let me = &mut self.sides[side];
        match me.syn {
            Some(syn) => syn as u32 != segment.seq && (ended || !segment.has(flag::ACK)),
            None if me.packets == 0 => ended && !segment.has(flag::ACK),
            // Either the SYN of the segments seen before, captured late, or the SYN of another connection.
            None => {
                let seq = me.space.place(segment.seq);
                me.latest < seq || me.latest.abs_diff(seq) > NEAR
            }
        }
    }

    /// Processes a segment that `side` sent.
    #[inline]
    pub(crate) fn take(&mut self, side: usize, segment: &Segment<'_>, nanos: u64, context: Context) -> SegmentVerdict {
        if segment.flags & (flag::SYN | flag::FIN | flag::RST | flag::ACK) == flag::ACK {
            self.take_as::<true>(side, segment, nanos, context)
        } else {
            self.take_as::<false>(side, segment, nanos, context)
        }
    }

    /// `PLAIN` segments have the ACK flag and none of SYN, FIN and RST, as nearly all do. The function is compiled
    /// separately for them, which makes it shorter.
    fn take_as<const PLAIN: bool>(
        &mut self,
        side: usize,
        segment: &Segment<'_>,
        nanos: u64,
        context: Context,
    ) -> SegmentVerdict {
        let options = TcpOptions::parse(segment.options);
        let fresh = self.last;
        self.last = nanos;
        let [a, b] = &mut self.sides;
        let (me, other) = if side == 0 { (a, b) } else { (b, a) };
        let mut verdict = SegmentVerdict::default();

        let has = |flag: u8| !PLAIN && segment.has(flag);
        let (syn, fin, reset) = (has(flag::SYN), has(flag::FIN), has(flag::RST));
        let acks = PLAIN || segment.has(flag::ACK);
        me.syns += u64::from(syn);
        me.resets += u64::from(reset);
        me.fins += u64::from(fin);
        if (fin || reset) && me.ended.is_none() {
            me.ended = Some(nanos);
        }

        // The window of a SYN itself is unscaled; others are scaled if both SYNs have the option (RFC 7323, section
        // 2.3).
        let scaled = me.scaling && other.scaling && !syn;
        let window = match (acks || syn, scaled) {
            (false, _) => 0,
            (true, true) => u64::from(segment.window) << me.scale,
            (true, false) => u64::from(segment.window),
        };
        verdict.window = window;

        if me.packets > 0 {
            if nanos.saturating_sub(me.last) >= me.idle_floor {
                me.idle_max_us = me.idle_max_us.max(elapsed_us(me.last, nanos));
                // Truncation to whole us can make a shorter time count as a longer one, by less than 1 us.
                me.idle_floor = (me.idle_max_us * 1e3) as u64;
            }
        } else {
            me.first = nanos;
        }
        me.last = nanos;

        let payload = segment.payload;
        let length = payload + u32::from(syn) + u32::from(fin);
        let start = me.space.place(segment.seq);
        let end = start + i64::from(payload);
        let ack = if acks { Some(other.space.place(segment.ack)) } else { None };
        if length > 0 {
            me.space.raise(end);
        }
        if let Some(ack) = ack
            && !reset
        {
            other.space.raise(ack);
        }
        if syn {
            me.syn = Some(start);
            other.ack_sent = Some(start);
            me.space.zero = start;
        }
        verdict.seq = start - me.space.zero;
        verdict.ack = ack.map(|ack| ack - other.space.zero);
        if fin {
            me.fin = end;
        }

        if let Some(mss) = options.mss {
            me.mss = mss;
        }
        if let Some(scale) = options.scale
            && syn
        {
            me.scale = scale;
            me.scaling = true;
        }
        me.timestamps |= options.timestamps.is_some();
        if let Some((value, echo)) = options.timestamps {
            if acks && let Some((taken, packets)) = other.echoed(echo, nanos) {
                me.echo_rtt.add(taken);
                me.echo_queue = me.echo_queue.max(me.packets - packets);
            }
            me.stamp(value, nanos, other.packets);
        }
        me.sack_permitted |= options.sack_permitted;
        if !(syn || me.scaling && other.scaling) {
            me.scale = 0;
            other.scale = 0;
        }
        me.sack_option_packets += u64::from(options.sacks > 0);
        me.acc_ecn.take(&mut other.acc_ecn, segment, &options, ack, other.largest);

        let unseen = me.data_packets == 0;
        let unheard = me.packets == 0;
        if payload > 0 {
            me.pushed += u64::from(segment.has(flag::PSH));
            me.data_bytes += u64::from(payload);
            if segment.has(flag::URG) {
                me.urgent_packets += 1;
                me.urgent_bytes += u64::from(segment.urgent);
            }
            me.largest = me.largest.max(payload);
            if !segment.has(flag::PSH) && !fin {
                me.largest_unpushed = me.largest_unpushed.max(payload);
            }
            me.smallest = if me.smallest == 0 { payload } else { me.smallest.min(payload) };
            if segment.missing > 0 {
                me.truncated_bytes += u64::from(segment.missing);
                me.truncated_packets += 1;
            }
        }
        me.packets += 1;
        me.wire_bytes += u64::from(segment.length);
        if let Some(packets) = &mut me.scaled_packets {
            *packets += 1;
        }
        me.latest = end;
        me.hardware.note(segment.seq, segment.ip_id);

        let closed = other.window_last == 0 && other.packets > 0 && !syn;
        // A repeat of the last byte asks whether the other end is alive, or its window still zero. Linux and macOS send
        // that sequence number without a byte, Windows and others with one, whatever it was.
        let plain = !syn && !fin && !reset && acks;
        let repeats_last = plain && me.fins == 0 && payload <= 1 && start + 1 == me.next_to_send(other.ack_sent);
        let has_arrived = other.ack_sent.is_some_and(|acked| acked >= end);
        // The first segment of an old connection may be one, too: other single bytes are pushed.
        let asks_first = plain && payload == 1 && unheard && !closed && !segment.has(flag::PSH);
        let mut keeps_alive = asks_first;
        me.keep_alives += u64::from(asks_first);
        let mut unique = 0;
        if length > 0 && !asks_first {
            let mut again = 0;
            if closed {
                verdict.probe = true;
                me.probe_packets += 1;
                me.probe_bytes += u64::from(payload);
            } else {
                let added = me.history.add(start, length, nanos);
                again = i64::from(added.again);
                verdict.again = added.again;
                verdict.out_of_order = added.out_of_order;
                if added.out_of_order && me.out_of_order == 0 && super::side::is_near(other.turn()) {
                    me.doubt_what_was_near();
                }
                me.out_of_order += u64::from(added.out_of_order);
            }
            again -= i64::from(syn && me.syns > 1) + i64::from(fin && me.fins > 1);
            if !closed && again < i64::from(payload) && !(repeats_last && has_arrived) {
                unique = (i64::from(payload) - again.max(0)).cast_unsigned();
                me.unique_bytes += unique;
            }
        }
        if repeats_last {
            if closed {
                me.window_probes += 1;
            } else if payload == 0 || verdict.again > 0 || has_arrived {
                me.keep_alives += 1;
                keeps_alive = true;
                me.keep_alives_again += u64::from(verdict.again > 0);
            }
        } else if verdict.probe {
            me.window_probes += 1;
        }

        // What the ACK shows about the other direction.
        let mut kind = AckKind::Plain;
        if let Some(ack) = ack {
            let repeats = other.owin_sum > 0 && payload == 0 && me.ack_sent == Some(ack) && window == me.window_last;
            kind = other.history.acknowledge(ack, nanos, repeats);
            if other.syns == 1 && other.syn == Some(ack - 1) {
                other.handshake_us = other.history.last_rtt;
            }
            if let AckKind::Sample(rtt) = kind {
                other.sample(rtt);
                verdict.rtt = Some(rtt);
            }
        }
        verdict.duplicate_ack = matches!(kind, AckKind::Duplicate | AckKind::Triple);
        verdict.third_duplicate = kind == AckKind::Triple;
        let again = verdict.again > 0;
        if again {
            me.again_packets += 1;
            me.again_bytes += u64::from(verdict.again);
        }

        // What the sender was waiting for, and what is on its way.
        if keeps_alive {
            me.data_packets += u64::from(verdict.again > 0 && !unseen);
        } else if payload > 0 {
            let stamp = options.timestamps.map(|(value, _)| value);
            let full = me.full_segment(other.mss);
            if unique > 0 {
                let turn = other.turn();
                let path = match self.handshake.parts() {
                    Some((server, client)) => (server + client) as f64,
                    None => me.turn().zip(turn).map_or(0.0, |(there, back)| there + back),
                };
                me.judge_wait(nanos, context.pause, unique, &PathView { turn, path, full });
                me.bins.add(context.bin, unique);
            } else if again && !verdict.probe {
                me.wait_for_repair(nanos);
            }
            if again && !verdict.probe {
                me.messages.repair(payload, full);
            }
            me.repeats = unique == 0;
            me.last_data = nanos;
            if again && !verdict.probe {
                let quiet = nanos.saturating_sub(fresh) as f64 >= 0.8 * me.timeout();
                verdict.cause = Some(me.scoreboard.resend(start, payload, stamp, quiet));
            } else {
                me.scoreboard.send(start, payload);
            }
            me.data_packets += 1;
            if unseen {
                me.first_data = nanos;
            }
            let full = me.full_segment(other.mss);
            let least = i64::from(full.unwrap_or(payload));
            me.blocked = me.allowed.is_some_and(|allowed| allowed - me.scoreboard.sent < least);
            // With segmentation offload, a capture at the sender shows several full segments as one.
            me.short = full.is_none_or(|full| !payload.is_multiple_of(full));
            if end == me.scoreboard.sent {
                me.ends_short = me.short;
                me.ends_pushed = segment.has(flag::PSH);
            }
            me.clear_since = None;
        }
        verdict.flight = me.scoreboard.flight();
        if payload > 0 {
            me.area.set(nanos, verdict.flight.outstanding, verdict.flight.in_flight);
        }
        if self.handshake.done.is_none() {
            self.handshake.note(side, segment, nanos, again);
        }
        if reset {
            me.acks += u64::from(acks);
            verdict.flight_back = other.scoreboard.flight();
            return verdict;
        }

        // Zero-window periods.
        match (me.zero_since, window == 0 && acks) {
            (None, true) => me.zero_since = Some(nanos),
            (Some(since), false) => {
                me.zero_nanos = me.zero_nanos.saturating_add(nanos.saturating_sub(since));
                me.zero_since = None;
            }
            _ => {}
        }
        me.window_last = window;
        if acks || syn {
            me.window_max = me.window_max.max(window);
            if window > 0 && me.scaling && other.scaling && !syn && me.scaled_packets.is_none() {
                // The first scaled window: the unscaled windows of the SYNs no longer count.
                me.scaled_packets = Some(1);
                me.window_min = window;
                me.window_max = window;
                me.window_sum = 0;
            } else if window > 0 && (me.window_min == 0 || window < me.window_min) {
                me.window_min = window;
            }
            me.window_sum += window;
        }
        if let Some(ack) = ack {
            me.window_zero += u64::from(window == 0);
            me.acks += 1;
            me.pure_acks += u64::from(payload == 0 && !syn && !fin);
            me.ack_sent = Some(ack);
            let mut blocks = [(0, 0); 4];
            let blocks = &mut blocks[..usize::from(options.sacks)];
            if options.sacks > 0 {
                me.sack_acks += 1;
                me.most_blocks = me.most_blocks.max(options.sacks);
                for (block, (left, right)) in blocks.iter_mut().zip(options.blocks) {
                    *block = (other.space.place(left), other.space.place(right));
                }
                me.dsacks += u64::from(is_dsack(ack, blocks));
            }
            let echo = options.timestamps.map(|(_, echo)| echo);
            let before = other.scoreboard.outstanding();
            other.scoreboard.acknowledge(ack, blocks, verdict.duplicate_ack || options.sacks > 0, echo);
            // If the SYNs were not captured the scale is unknown, and so is the window.
            let known = syn || scaled || (me.syn.is_some() && (!me.scaling || other.syn.is_some()));
            other.acknowledged(ack, nanos, before, known.then_some(window));
            if !other.data_acked && other.syn.is_none_or(|syn| syn + 1 != ack) {
                other.data_acked = true;
            }
        }
        verdict.flight_back = other.scoreboard.flight();
        if acks {
            other.area.set(nanos, verdict.flight_back.outstanding, verdict.flight_back.in_flight);
        }

        // The initial window: data sent before any was acknowledged.
        if payload > 0 && !me.data_acked && !again && !keeps_alive {
            me.initial_bytes += u64::from(payload);
            me.initial_packets += 1;
        }

        if !syn && !verdict.out_of_order && !again {
            let owin = match other.ack_sent {
                Some(ack) => (end - (ack - 1)).max(0).cast_unsigned(),
                None => u64::from(payload),
            };
            me.sample_owin(owin, nanos);
        }
        verdict
    }

    /// The side of the client: the one that sent the SYN, or else sent data first.
    pub(crate) fn client(&self) -> usize {
        if self.handshake.syn.is_some() || self.handshake.answer.is_some() {
            return self.handshake.client;
        }
        usize::from(self.sides[1].speaks_before(&self.sides[0]))
    }

    /// The time of the first data of `side`, or of the first packet if a SYN had to be repeated.
    pub(crate) fn wanted_since(&self, side: usize) -> u64 {
        let first = self.sides[side].first_data;
        if self.handshake.again { first.min(self.first) } else { first }
    }

    /// The time until which `side` had, or may have had, something to send or to repair; `None` if that lasts until the
    /// end of the capture.
    ///
    /// This is the time of its FIN or of a RST. Without these it is the time of its last data, provided that all of it
    /// was acknowledged and the application is known to have had no more, or probably had no more because the last
    /// segment was a short one.
    pub(crate) fn active_until(&self, side: usize) -> Option<u64> {
        let (me, other) = (&self.sides[side], &self.sides[1 - side]);
        let reset = other.ended.filter(|_| other.resets > 0);
        if let Some(ended) = me.ended.or(reset) {
            return Some(ended.max(me.last_data));
        }
        let waits = me.scoreboard.outstanding() > 0 || me.repeats || me.blocked;
        (!waits && (me.ends_short || me.sends_near(other.turn()))).then_some(me.last_data)
    }

    /// Ends all open intervals; `nanos` is the time of the last packet of the capture.
    pub(crate) fn finish(&mut self, nanos: u64) {
        let closed = self.sides.iter().all(|side| side.fins > 0) || self.sides.iter().any(|side| side.resets > 0);
        for side in &mut self.sides {
            if side.packets == 0 {
                continue;
            }
            if !closed {
                side.idle_max_us = side.idle_max_us.max(elapsed_us(side.last, nanos));
            }
            let flight = side.scoreboard.flight();
            side.area.set(self.last, flight.outstanding, flight.in_flight);
            if let Some(since) = side.zero_since.take() {
                side.zero_nanos = side.zero_nanos.saturating_add(self.last.saturating_sub(since));
            }
        }
    }
}

/// Whether an ACK reports a duplicate. As in tcptrace, a first block that overlaps the second one also counts.
fn is_dsack(ack: i64, blocks: &[(i64, i64)]) -> bool {
    if repeated(ack, blocks).is_some() {
        return true;
    }
    match *blocks {
        [(first, end), (from, to), ..] => (first <= from && end > from) || (end >= to && first < to),
        _ => false,
    }
}

impl HandshakeTimes {
    fn note(&mut self, side: usize, segment: &Segment<'_>, nanos: u64, again: bool) {
        match (segment.has(flag::SYN), segment.has(flag::ACK)) {
            (true, false) => (self.syn, self.client) = (Some(nanos), side),
            (true, true) => {
                self.answer = Some(nanos);
                if self.syn.is_none() {
                    self.client = 1 - side;
                }
            }
            (false, true) if self.answer.is_some() && side == self.client => self.done = Some(nanos),
            _ => {}
        }
        self.again |= again && segment.has(flag::SYN);
    }
}

impl Side {
    /// The smallest round-trip time from the capture point to this end, in ns.
    #[inline]
    pub(crate) fn turn(&self) -> Option<f64> {
        (self.history.rtt.count > 0).then_some(self.history.rtt.min * 1e3)
    }

    /// Bounds of the bytes that the receiver could hand to its application. The lower bound is the bytes acknowledged,
    /// or all bytes seen if the capture has no packets of the receiver (`is_heard` is false). The upper bound is the
    /// bytes seen without a hole before them.
    pub(crate) fn received(&self, is_heard: bool) -> [u64; 2] {
        let seen = self.unique_bytes;
        let acked = self.scoreboard.acknowledged();
        let start = self.scoreboard.start().unwrap_or(0);
        let from = start + acked.unwrap_or(0).cast_signed();
        let whole = (self.history.whole_from(from).min(self.scoreboard.sent) - start).max(0).cast_unsigned();
        let low = acked.unwrap_or(if is_heard { 0 } else { seen });
        [low, whole.max(low)].map(|bytes| bytes.min(seen))
    }

    /// Payload of a full segment: the MSS announced by the other end (`most`, 0 if unknown) without the timestamps
    /// option, or what the path limits it to: the largest segment without PSH, since more data waited behind it. `None`
    /// if there was no full segment.
    fn full_segment(&self, most: u16) -> Option<u32> {
        /// From this size on, a segment is full even if it was pushed.
        const SURELY_FULL: u32 = 1_000;
        let (largest, unpushed) = (self.largest, self.largest_unpushed);
        let options = if self.timestamps { 12 } else { 0 };
        match u32::from(most).saturating_sub(options) {
            0 if unpushed > 0 => Some(unpushed),
            0 => (largest >= SURELY_FULL).then_some(largest),
            // Segmentation offload makes them larger than the MSS.
            full if largest > u32::from(most) => Some(full),
            full if largest >= full => Some(largest),
            // Paths halve no segments; smaller ones without PSH are those of a stack that sets none.
            full => (2 * unpushed >= full).then_some(unpushed),
        }
    }

    /// The offset after the last byte sent or acknowledged; `acked` is the highest acknowledged.
    fn next_to_send(&self, acked: Option<i64>) -> i64 {
        let sent = self.scoreboard.start().map(|_| self.scoreboard.sent);
        sent.or(self.syn.map(|syn| syn + 1)).max(acked).unwrap_or(i64::MIN)
    }

    /// Handles an acknowledgement up to `ack` by the other end, with the window if its size is known.
    #[inline]
    fn acknowledged(&mut self, ack: i64, nanos: u64, before: u64, window: Option<u64>) {
        if let Some(window) = window {
            self.allowed = Some(ack.saturating_add(window.min(1 << 40).cast_signed()));
        }
        self.acked_at = Some(nanos);
        if before > 0 && self.scoreboard.outstanding() == 0 {
            self.clear_since = Some(nanos);
            if let Some(session) = &mut self.sessions.current
                && session.acked.is_none()
            {
                session.acked = Some(nanos);
            }
        }
    }

    /// Samples tcptrace's outstanding window when something is sent: one byte more than is outstanding.
    #[inline]
    fn sample_owin(&mut self, owin: u64, nanos: u64) {
        self.owin_max = self.owin_max.max(owin);
        if owin > 0 && (self.owin_min == 0 || owin < self.owin_min) {
            self.owin_min = owin;
        }
        self.owin_sum += owin;
        self.owin_count += 1;
        if let Some((at, last)) = self.owin_last {
            // tcptrace truncates each term.
            self.owin_weighted += (last.cast_signed() as f64 * (elapsed_us(at, nanos) / 1e6)) as i64;
        }
        self.owin_last = Some((nanos, owin));
    }
}
