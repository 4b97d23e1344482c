//! Sending: new data, retransmissions, probes and FIN; pacing and Nagle's algorithm.

use wifair_packet::{Packet, flag};
use wifair_units::{Duration, Time};

use super::{RecoveryPhase, Sender, SenderState, UNPACED, WindowUse, due};
use crate::cc::CongestionControl;
use crate::clock;
use crate::config::{IdleRestart, LimitedTransmit};

impl Sender {
    /// Returns the next segment to send, if one may leave now.
    #[inline]
    pub fn poll(&mut self, now: Time) -> Option<Packet> {
        if self.is_running() {
            let mut packet = Packet::default();
            self.write(now, &mut packet);
            return Some(packet);
        }
        if self.is_held() { None } else { self.poll_more(now) }
    }

    #[inline(never)]
    pub(super) fn poll_more(&mut self, now: Time) -> Option<Packet> {
        let next = self.poll_next(now);
        if next.is_none() && self.options.track_use {
            self.note_use();
        }
        next
    }

    /// Records the use of the window once everything that may leave has left (Linux, tcp_cwnd_validate).
    pub(super) fn note_use(&mut self) {
        let outstanding = self.max - self.una;
        let full = self.in_flight() + self.mss > self.window;
        if self.max == self.used.seen && !full {
            return;
        }
        self.used.seen = self.max;
        if self.una >= self.used.until || full || (!self.used.full && outstanding > self.used.most) {
            self.used = WindowUse { full, most: outstanding, until: self.max, seen: self.max };
        }
    }

    /// Whether the window was used enough to grow (Linux, tcp_is_cwnd_limited).
    pub(super) fn uses_window(&self) -> bool {
        if self.cwnd < self.cc.ssthresh() { self.cwnd < 2.0 * self.segments(self.used.most) } else { self.used.full }
    }

    /// Whether Nagle's algorithm holds back a segment of `len` bytes: it is short, and another short one is in flight.
    pub(super) const fn is_held_by_nagle(&self, len: u64) -> bool {
        self.options.nagle && len < self.mss && self.short_end > self.una && !self.closing
    }

    pub(super) fn poll_next(&mut self, now: Time) -> Option<Packet> {
        if self.due != 0
            && let Some(packet) = self.poll_due(now)
        {
            return Some(packet);
        }
        if self.state != SenderState::Established || self.waits_for_pace(now) || self.waits_for_queue(now) {
            return None;
        }
        if self.selective.is_some() {
            return self.poll_selective(now);
        }
        if self.tcp_linux.is_some() {
            return self.poll_tcp_linux(now);
        }
        if self.sack1.is_some() && self.phase == RecoveryPhase::Recovery {
            return self.poll_sack1(now);
        }
        let in_flight = self.nxt - self.una;
        let len = self.mss.min(self.supplied - self.nxt);
        if len == 0 {
            self.window_limited = false;
            if let Some(times) = &mut self.times
                && in_flight < self.window
            {
                times.on_app_limited(in_flight);
            }
            return self.poll_fin(now);
        }
        if self.is_held_by_nagle(len) {
            self.window_limited = false;
            return None;
        }
        if in_flight == 0 && self.max == self.una {
            self.restart_after_idle(now);
        }
        let extra = if self.dup_acks > 0 { self.limited_transmit() } else { 0 };
        let window = self.window + extra;
        let allowed = window.min(self.rwnd);
        let mut len = len;
        if in_flight + len > allowed {
            // Silly window avoidance: a short segment leaves only when nothing is in flight.
            if in_flight > 0 || allowed == 0 {
                self.window_limited = in_flight + len > window;
                self.probe_closed_window(now, false);
                return None;
            }
            if self.options.track_use && allowed < len.min(self.most_rwnd / 2) {
                self.window_limited = false;
                self.probe_closed_window(now, true);
                return None;
            }
            len = allowed;
        }
        if in_flight + len > self.window {
            self.limited_sent += len as u32;
        }
        let seq = self.nxt;
        self.nxt += len;
        Some(self.segment_of(now, seq, len))
    }

    /// Starts the persist timer if nothing is outstanding and the receive window is closed, or too small for silly
    /// window avoidance (`silly`).
    pub(super) fn probe_closed_window(&mut self, now: Time, silly: bool) {
        if (self.rwnd == 0 || silly) && !self.probing && !self.outstanding() {
            self.probing = true;
            self.rto_at = now.saturating_add(self.rtt.rto());
        }
    }

    /// Whether pacing holds back the next segment.
    #[inline]
    pub(super) fn waits_for_pace(&mut self, now: Time) -> bool {
        self.pace_waits = self.paces && now < self.pace_at && !self.is_in_burst(now);
        self.pace_waits
    }

    /// Pacing rate in bytes per second, if segments are paced.
    pub(super) fn pacing_rate(&self) -> Option<f64> {
        self.cc.pacing_rate().or_else(|| if self.options.pacing { self.window_rate() } else { None })
    }

    /// Linux's pacing rate in B/s: twice the window per RTT in the first half of slow start, 1.2 times the window after
    /// it.
    pub(super) fn window_rate(&self) -> Option<f64> {
        let srtt = self.rtt.srtt();
        let factor = if self.cwnd() < self.cc.ssthresh() / 2.0 { 2.0 } else { 1.2 };
        (srtt > Duration::ZERO).then(|| factor * self.cwnd() * self.mss as f64 / srtt.as_secs())
    }

    /// Whether the queue of the sender's own station holds too much (Linux, tcp_small_queue_check).
    #[inline]
    fn waits_for_queue(&mut self, now: Time) -> bool {
        let goes_on = self.forms_bursts() && self.is_in_burst(now);
        self.queue_waits = self.options.small_queue > Duration::ZERO && !goes_on && self.is_queue_full();
        self.queue_waits
    }

    #[inline(never)]
    fn is_queue_full(&mut self) -> bool {
        let rate = self.cc.pacing_rate().or_else(|| self.window_rate());
        let by_rate = rate.map_or(u64::MAX, |rate| (rate * self.options.small_queue.as_secs()) as u64);
        let bursts = 2 * u64::from(self.burst(rate.unwrap_or(0.0))) * self.mss;
        let limit = by_rate.max(bursts).saturating_mul(if self.phase == RecoveryPhase::Open { 1 } else { 2 });
        // One segment may always be in flight.
        let full = self.queued > limit && self.max - self.una > self.mss;
        self.window_limited &= !full;
        full
    }

    /// Reports that this many bytes of payload left the queue of the sender's own station. Returns whether data was
    /// waiting for that.
    pub fn on_departure(&mut self, bytes: u64) -> bool {
        self.queued = self.queued.saturating_sub(bytes);
        self.queue_waits
    }

    /// Whether the sender needs calls of [`Sender::on_departure`].
    #[must_use]
    pub const fn has_small_queue(&self) -> bool {
        self.options.small_queue.as_nanos() > 0
    }

    /// Bytes beyond the window that limited transmit allows.
    #[inline(never)]
    pub(super) fn limited_transmit(&self) -> u64 {
        let on = match self.options.limited_transmit {
            LimitedTransmit::Off => false,
            LimitedTransmit::Rfc3042 => self.phase == RecoveryPhase::Open && self.nxt == self.max,
            LimitedTransmit::Ns2 => self.phase != RecoveryPhase::Recovery,
        };
        if on && self.dup_acks < self.options.dup_threshold { u64::from(self.dup_acks) * self.mss } else { 0 }
    }

    /// Reduces the window after idle time (RFC 5681, section 4.1, or RFC 2861, section 3.1).
    #[inline(never)]
    pub(super) fn restart_after_idle(&mut self, now: Time) {
        let (idle, rto) = (now.saturating_since(self.last_send), self.rtt.rto());
        if idle <= rto {
            return;
        }
        let initial = self.segments(self.options.initial_window);
        let at_most = match self.options.idle_restart {
            IdleRestart::Rfc5681 => initial,
            IdleRestart::Rfc2861 => {
                let halvings = i32::try_from(idle.div_floor(rto)).unwrap_or(i32::MAX);
                (self.cwnd() * libm::ldexp(1.0, -halvings)).max(initial)
            }
            IdleRestart::Never | IdleRestart::TimerRunsOn => return,
        };
        self.update_cc(|cc| cc.on_idle_restart(at_most));
        self.last_send = now;
        self.refresh();
    }

    #[cold]
    pub(super) fn poll_due(&mut self, now: Time) -> Option<Packet> {
        if self.due & due::SYN != 0 {
            self.due &= !due::SYN;
            self.timed_at = now;
            self.rto_at = now.saturating_add(self.rtt.rto());
            return Some(self.header(now, flag::SYN | self.ecn.syn_flags()));
        }
        if self.due & due::ACK != 0 {
            self.due &= !due::ACK;
            return Some(self.header(now, flag::ACK));
        }
        if self.due & due::TAIL != 0 {
            self.due &= !due::TAIL;
            return self.poll_probe(now);
        }
        if self.due & due::HEAD != 0 && self.selective.is_none() {
            self.due &= !due::HEAD;
            if self.max > self.una {
                let len = self.mss.min(self.max - self.una);
                return Some(self.segment_of(now, self.una, len));
            }
        }
        if self.due & due::PROBE != 0 {
            self.due &= !due::PROBE;
            if self.probing && self.rwnd > 0 && self.max == self.una {
                // RFC 9293, section 3.8.6.2.1: the override timer of silly window avoidance has expired.
                let len = self.mss.min(self.supplied - self.nxt).min(self.rwnd);
                self.probing = false;
                let seq = self.nxt;
                self.nxt += len;
                return Some(if self.selective.is_some() {
                    self.segment_selective(now, seq, len)
                } else {
                    self.segment_of(now, seq, len)
                });
            }
            if self.probing {
                let mut probe = self.header(now, flag::ACK);
                probe.seq = self.nxt;
                probe.payload = 1;
                probe.size += 1;
                return Some(probe);
            }
        }
        None
    }

    #[inline(never)]
    pub(super) fn poll_fin(&mut self, now: Time) -> Option<Packet> {
        if self.closing && self.options.fin && !self.fin_sent && self.nxt == self.supplied {
            (self.fin_sent, self.fin_alone, self.fin_ever) = (true, true, true);
            self.note_unanswered(now);
            if self.rto_at == Time::NEVER {
                self.rto_at = now.saturating_add(self.rtt.rto());
            }
            if let Some(mut s) = self.selective.take() {
                self.arm_probe(now, &mut s, true);
                self.selective = Some(s);
            }
            return Some(self.fin(now));
        }
        None
    }

    /// A FIN without data.
    pub(super) fn fin(&self, now: Time) -> Packet {
        Packet { seq: self.supplied, ..self.header(now, flag::FIN | flag::ACK) }
    }

    /// Starts the user timeout of outstanding data unless it is running.
    pub(super) fn note_unanswered(&mut self, now: Time) {
        if self.options.user_timeout > Duration::ZERO {
            self.unanswered = self.unanswered.min(now);
        }
    }

    /// A segment without payload.
    #[inline]
    pub(super) fn header(&self, now: Time, flags: u8) -> Packet {
        let ts_val = if self.options.timestamps { clock(now) } else { 0 };
        Packet { seq: self.nxt, ts_val, flags, payload: 0, size: self.full.size - self.full.payload, ..self.full }
    }

    /// Creates the data segment `seq .. seq + len` and updates all state that depends on sending it.
    #[inline(never)]
    pub(super) fn segment_of(&mut self, now: Time, seq: u64, len: u64) -> Packet {
        let (end, payload) = (seq + len, len as u16);
        let mut packet = Packet { seq, payload, size: self.full.size - self.full.payload + payload, ..self.full };
        if end == self.supplied && self.closing && self.options.fin {
            packet.flags |= flag::FIN;
            (self.fin_sent, self.fin_alone, self.fin_ever) = (true, false, true);
        }
        if end == self.supplied {
            packet.flags |= flag::PSH;
        }
        if len < self.mss {
            self.short_end = self.short_end.max(end);
        }
        if self.has_small_queue() {
            self.queued += len;
        }
        self.note_unanswered(now);
        // ns-2's timer, which keeps running through pauses, restarts with the first segment after one, except in its
        // Vegas.
        if self.rto_at == Time::NEVER || (self.max == self.una && !self.cc.wants_fine_timer()) {
            self.rto_at = now.saturating_add(self.rtt.rto());
        }
        self.note_segment(now, end, &mut packet);
        if self.paces {
            self.pace(now, len);
        }
        packet
    }

    /// Records a data segment, new or retransmitted, or the first of several new ones; the last ends at `end`.
    #[inline(always)]
    pub(super) fn note_segment(&mut self, now: Time, end: u64, packet: &mut Packet) {
        let is_retransmission = packet.seq < self.max;
        if is_retransmission {
            self.note_retransmission(now, packet.seq);
        } else if self.timed == 0 {
            (self.timed, self.timed_at) = (packet.end(), now);
        }
        if self.options.timestamps {
            packet.ts_val = clock(now);
        }
        if self.annotates {
            self.annotate(now, end, is_retransmission, packet);
        }
        self.max = self.max.max(end);
        self.last_send = now;
    }

    /// Updates the state for a retransmitted segment.
    #[inline(never)]
    fn note_retransmission(&mut self, now: Time, seq: u64) {
        self.counts.retransmissions += 1;
        if self.sack1.is_none() && self.tcp_linux.is_none() {
            self.timed = 0; // ns-2's agents with SACK go on timing a new segment
        }
        let detects = self.options.eifel && self.options.timestamps;
        if detects && seq == self.una && self.retransmitted.is_none_or(|(first, _)| first != seq) {
            self.retransmitted = Some((seq, clock(now)));
        }
    }

    /// Sets the ECN bits of a data segment that ends at `end`, records its transmission time, and notifies the
    /// congestion control.
    #[inline(never)]
    pub(super) fn annotate(&mut self, now: Time, end: u64, is_retransmission: bool, packet: &mut Packet) {
        let seq = packet.seq;
        if self.ecn.is_accurate() {
            packet.flags |= flag::ECT; // retransmissions too, as in Linux
        } else if self.options.ecn && !is_retransmission {
            packet.flags |= if self.ecn.cwr { flag::ECT | flag::CWR } else { flag::ECT };
            self.ecn.cwr = false;
        }
        match &mut self.times {
            Some(times) if is_retransmission => times.retransmit(now, seq, end, self.nxt - self.una),
            Some(times) => times.push(now, end, seq - self.una),
            None => {}
        }
        self.cc.on_send(now, packet.payload.into(), end);
    }

    /// Sets the pacing timer after a segment of `len` bytes.
    pub(super) fn pace(&mut self, now: Time, len: u64) {
        self.cwnd = self.cc.cwnd(); // a congestion control defined outside this crate may have changed it
        let Some(rate) = self.pacing_rate() else { return };
        let mut gap = Duration::from_secs_f64(len as f64 / rate.max(1.0));
        if self.options.pacing {
            if self.max <= UNPACED * self.mss {
                return;
            }
            // A segment that leaves late shortens the gap after it, by half at most (Linux).
            gap = gap.saturating_sub((gap / 2).min(now.saturating_since(self.pace_at)));
        }
        if !self.forms_bursts() {
            let begins = now >= self.pace_at;
            self.burst.left = if begins { self.burst(rate) - 1 } else { self.burst.left.saturating_sub(1) };
        }
        self.pace_at = self.pace_at.max(now).saturating_add(gap);
    }
}
