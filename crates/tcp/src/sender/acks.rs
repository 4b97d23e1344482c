//! Processing of ACKs: windows, RTT, fast recovery, congestion marks.

use wifair_packet::{Packet, flag};
use wifair_units::{Duration, Time};

use super::delivery::AckDelivery;
use super::{AckSummary, RecoveryPhase, Sender, SenderState, due};
use crate::cc::{Ack, CongestionControl};
use crate::clock;
use crate::config::{Growth, Handshake, IdleRestart, Recovery};
use crate::rtt::Rtt;

/// What an [`Ack`] is made of; most congestion controls need little of it.
struct AckFacts<'a> {
    now: Time,
    packet: &'a Packet,
    summary: &'a AckSummary,
    segments: f64,
    rtt: Option<Duration>,
    estimate: &'a Rtt,
    /// Whether packets carry timestamps.
    is_stamped: bool,
    una: u64,
    nxt: u64,
    window_limited: bool,
    mss: f64,
    paced: bool,
    /// Segments newly reported as marked, if marks are counted.
    marked: Option<u64>,
}

impl From<AckFacts<'_>> for Ack {
    #[inline(always)]
    fn from(facts: AckFacts<'_>) -> Self {
        let AckFacts { packet, summary, .. } = facts;
        let delay = || Duration::from_micros(u64::from(packet.ts_val.wrapping_sub(packet.ts_ecr)));
        Self {
            now: facts.now,
            segments: facts.segments,
            bytes: summary.acked,
            rtt: facts.rtt,
            one_way_delay: facts.is_stamped.then(delay),
            srtt: facts.estimate.srtt(),
            min_rtt: facts.estimate.min(),
            una: facts.una,
            nxt: facts.nxt,
            in_flight: summary.in_flight.cast_signed() as f64 / facts.mss,
            delivered: facts.una + summary.sacked,
            lost: f64::from(summary.lost),
            rate: summary.rate,
            window_limited: facts.window_limited,
            ecn_echo: facts.marked.map_or(packet.has(flag::ECE), |marked| marked > 0),
            marked_bytes: match facts.marked {
                Some(marked) => marked * facts.mss as u64,
                None if packet.has(flag::ECE) => summary.acked,
                None => 0,
            },
            in_recovery: summary.in_recovery,
            duplicate: summary.acked == 0,
            mss: facts.mss,
            paced: facts.paced,
        }
    }
}

impl Sender {
    /// Processes a segment from the data receiver.
    #[inline(always)]
    pub fn on_packet(&mut self, now: Time, packet: &Packet) {
        self.sample = None;
        if !self.process(now, packet) {
            self.refresh();
        }
    }

    /// Like [`Sender::on_packet`]. If the segment also `brings` data of the other direction, it is not a duplicate ACK
    /// (RFC 5681, section 2).
    pub fn on_segment(&mut self, now: Time, packet: &Packet, brings: bool) {
        if !brings || packet.ack > self.una || packet.sack[0] != (0, 0) {
            self.on_packet(now, packet);
        } else {
            self.take_window(packet.window);
            self.refresh();
        }
    }

    /// Handles segments outside of the established state: handshake, FIN, and their repetitions.
    #[cold]
    pub(super) fn process_other(&mut self, now: Time, packet: &Packet) {
        if self.state == SenderState::SynSent && packet.has(flag::SYN) {
            self.on_syn_ack(now, packet);
        } else if self.state == SenderState::Finished && packet.has(flag::FIN) {
            self.due |= due::ACK;
        } else if self.state == SenderState::Established && self.options.handshake == Handshake::ThreeWay {
            // The sender's third segment of the handshake was lost, or the SYN was sent twice.
            self.due |= due::ACK;
        }
    }

    /// Processes a segment; returns whether nothing is left for [`Sender::refresh`] to do.
    #[inline(always)]
    fn process(&mut self, now: Time, packet: &Packet) -> bool {
        let new = self.una < packet.ack && packet.ack <= self.max;
        let usual = self.run > 0 && new && packet.flags == flag::ACK && !self.ecn.is_accurate();
        if !usual && !self.accepts(now, packet) {
            return false;
        }
        let window_changed = u32::from(packet.window) != self.window_field && self.take_window(packet.window);
        if self.selective.is_some() {
            if usual && self.is_in_order() && self.acknowledge_in_order(now, packet) {
                self.restart_timers(now);
                self.refresh_in_order();
                return true;
            }
            self.on_ack_selective(now, packet, window_changed);
        } else if self.tcp_linux.is_some() {
            self.on_ack_tcp_linux(now, packet);
        } else if packet.ack > self.una {
            self.on_new_ack(now, packet);
        } else if self.max > self.una && !window_changed {
            self.on_dup_ack(now, packet);
        }
        if !usual {
            self.handle_probe_and_fin(now, packet);
        }
        false
    }

    /// Whether an ACK needs further processing. Segments of the handshake and the close are handled here; ACKs that are
    /// old or cover data never sent are dropped.
    #[inline(never)]
    pub(super) fn accepts(&mut self, now: Time, packet: &Packet) -> bool {
        if self.state != SenderState::Established || packet.has(flag::SYN) {
            self.process_other(now, packet);
            return false;
        }
        if self.probing && packet.ack == self.max + 1 {
            // The receiver accepted the byte of a window probe.
            self.max += 1;
            self.nxt = self.max;
        }
        if packet.ack < self.una && self.options.recovery == Recovery::Rack && packet.sack[0] != (0, 0) {
            self.on_old_ack(now, packet);
        }
        (self.una..=self.max).contains(&packet.ack)
    }

    /// An ACK overtaken by a later one still reports SACK blocks.
    #[cold]
    pub(super) fn on_old_ack(&mut self, now: Time, packet: &Packet) {
        let mut news = Packet { ack: self.una, sack: Default::default(), ..*packet };
        let mut blocks = 0;
        for &(start, end) in packet.sack.iter().filter(|(start, end)| start != end) {
            let offset = |relative: u32| packet.ack.wrapping_add_signed(i64::from(relative.cast_signed()));
            if offset(start) >= self.una && offset(start) < offset(end) {
                news.sack[blocks] =
                    (offset(start).wrapping_sub(self.una) as u32, offset(end).wrapping_sub(self.una) as u32);
                blocks += 1;
            }
        }
        if blocks > 0 && self.una < self.max {
            self.on_ack_selective(now, &news, true);
        }
    }

    /// Handles window updates, window probes and the end of the connection.
    #[inline(never)]
    pub(super) fn handle_probe_and_fin(&mut self, now: Time, packet: &Packet) {
        if self.probing && self.rwnd > 0 {
            self.probing = false;
            self.rtt.end_backoff();
            self.rto_at = Time::NEVER;
            self.restart_timer(now, true);
        }
        // The receiver has seen the FIN, so it was sent, even if a timeout has reset `nxt` below it.
        if packet.has(flag::FIN) && self.closing && self.una == self.supplied {
            self.finish();
            self.due = due::ACK;
        }
    }

    /// Sets the receive window from a header field; returns whether it changed.
    #[inline(never)]
    pub(super) fn take_window(&mut self, field: u16) -> bool {
        let rwnd = self.offered(field);
        let changed = rwnd != self.rwnd;
        self.window_field = field.into();
        self.rwnd = rwnd;
        self.most_rwnd = self.most_rwnd.max(rwnd);
        changed
    }

    /// The receive window that a header field stands for, in bytes. A receiver whose window is known from the start
    /// leaves the field at its maximum; a smaller value was written by a middlebox such as an access point, and is
    /// obeyed.
    pub(super) fn offered(&self, field: u16) -> u64 {
        let offered = u64::from(field) << self.options.window_scale;
        match (self.options.window_known, field) {
            (false, _) => offered,
            (true, u16::MAX) => self.options.receive_window,
            (true, _) => self.options.receive_window.min(offered),
        }
    }

    pub(super) fn on_syn_ack(&mut self, now: Time, packet: &Packet) {
        self.state = SenderState::Established;
        self.due = if self.options.handshake == Handshake::ThreeWay { due::ACK } else { 0 };
        self.rto_at = Time::NEVER;
        // RFC 7323, section 2.2, scales the window of all segments but SYNs; it is scaled here too, so that 16 bits do
        // not limit the initial window.
        self.take_window(packet.window);
        self.options.ecn = self.ecn.agree(Some(packet.ace()));
        if self.ecn.syns_again > 0 {
            // RFC 5681, section 3.1: one segment after a lost SYN. RFC 6298, rule 5.7: an RTO of three seconds.
            self.update_cc(|cc| cc.on_idle_restart(1.0));
            if !self.options.ns2_recovery {
                self.rtt.restart_from(Duration::from_secs(3));
            }
        } else {
            self.take_sample(now, self.timed_at);
        }
        if self.options.idle_restart == IdleRestart::TimerRunsOn {
            self.rto_at = now + self.rtt.rto();
        }
        self.finish_without_fin();
    }

    #[inline]
    pub(super) fn take_sample(&mut self, now: Time, sent: Time) {
        self.rtt.sample(sent, now);
        self.sample = Some(now.saturating_since(sent));
    }

    /// RTT from timestamps (RFC 7323, section 4.1) or from the one timed segment (Karn's algorithm).
    #[inline(never)]
    pub(super) fn measure(&mut self, now: Time, packet: &Packet) {
        if self.options.timestamps {
            self.take_timestamp(now, packet);
        } else {
            self.take_timed(now, packet);
        }
        if let Some(times) = &mut self.times
            && let Some(sent) = times.acknowledge(now, packet.ack)
        {
            let exact = now.saturating_since(sent);
            self.rtt.note(exact);
            self.sample = Some(exact);
        }
    }

    /// RTT from the one timed segment; with timestamps or RACK, from transmission times if all segments were sent once,
    /// else from timestamps.
    pub(super) fn measure_selective(&mut self, now: Time, packet: &Packet, acked: u64, delivery: &AckDelivery) {
        if !self.measures_by_times() {
            self.take_timed(now, packet);
        } else if delivery.first_sent != Time::NEVER && !delivery.repaired {
            self.rtt.sample(delivery.first_sent, now);
            self.sample = Some(now.saturating_since(delivery.last_sent));
        } else if acked > 0 && self.options.timestamps {
            self.take_timestamp(now, packet);
        }
    }

    /// Whether RTTs are measured by transmission times.
    #[inline]
    pub(super) fn measures_by_times(&self) -> bool {
        self.options.timestamps || self.options.recovery == Recovery::Rack
    }

    fn take_timestamp(&mut self, now: Time, packet: &Packet) {
        let exact = Duration::from_micros(u64::from(clock(now).wrapping_sub(packet.ts_ecr)));
        self.rtt.sample_timestamp(exact);
        self.sample = Some(exact);
    }

    #[inline(always)]
    pub(super) fn take_timed(&mut self, now: Time, packet: &Packet) {
        if self.timed != 0 && packet.ack >= self.timed {
            self.timed = 0;
            self.take_sample(now, self.timed_at);
        }
    }

    #[inline(always)]
    pub(super) fn on_new_ack(&mut self, now: Time, packet: &Packet) {
        if self.measures_each || (self.timed != 0 && packet.ack >= self.timed) {
            self.measure(now, packet);
        }
        let acked = packet.ack - self.una;
        self.una = packet.ack;
        self.nxt = self.nxt.max(packet.ack);
        let mut in_recovery = false;
        if self.phase == RecoveryPhase::Open {
            self.restart_timer(now, true);
        } else {
            if self.is_spurious(packet.ack - acked, packet) {
                self.undo();
            }
            in_recovery = self.phase == RecoveryPhase::Recovery;
            let restart = self.on_new_ack_in_recovery(now, packet, acked);
            self.restart_timer(now, restart);
            // In ns-2 the ACK that ends recovery lets the window grow, except with Sack1.
            in_recovery &= self.phase == RecoveryPhase::Recovery || !self.options.ns2_recovery || self.sack1.is_some();
        }
        // Bytes counted at duplicate ACKs are not counted again (Linux); at least the hole itself is.
        let before = u64::from(self.dup_acks) * self.mss;
        let delivered = acked.saturating_sub(before).max(acked.min(self.mss));
        self.dup_acks = 0;
        self.limited_sent = 0;
        let mut rate = None;
        if let Some(times) = &mut self.times {
            rate = times.rate_sample(now, acked, self.rtt.min());
            if times.is_late_at_ack(now) {
                self.due |= due::HEAD;
            }
        }
        let in_flight = self.in_flight();
        let ack_summary = AckSummary { acked, delivered, in_flight, in_recovery, rate, ..AckSummary::default() };
        self.ecn.take(packet, acked, self.mss);
        self.pass_ack(now, packet, &ack_summary);
        if self.ecn.is_echo(packet) {
            self.on_echo(self.in_flight());
        }
        self.finish_without_fin();
    }

    #[inline(always)]
    pub(super) fn restart_timer(&mut self, now: Time, restart: bool) {
        if self.unanswered != Time::NEVER {
            self.unanswered = if self.max > self.una || self.fin_outstanding() { now } else { Time::NEVER };
        }
        if self.max > self.una || self.fin_outstanding() {
            if restart || self.rto_at == Time::NEVER {
                self.rto_at = now.saturating_add(self.rtt.rto());
            }
        } else if self.options.idle_restart == IdleRestart::TimerRunsOn {
            self.rto_at = now.saturating_add(self.rtt.rto());
        } else {
            self.rto_at = Time::NEVER;
        }
    }

    /// RFC 3522, section 3.2: the ACK of the retransmitted segment at `first` echoes a timestamp from before the
    /// retransmission, which therefore was spurious.
    #[inline(never)]
    pub(super) fn is_spurious(&mut self, first: u64, packet: &Packet) -> bool {
        let Some((first_retransmitted, stamp)) = self.retransmitted else { return false };
        first_retransmitted == first && packet.ts_ecr.wrapping_sub(stamp).cast_signed() < 0
    }

    /// Undoes the response to a spurious loss or timeout (RFC 4015).
    pub(super) fn undo(&mut self) {
        self.counts.spurious += 1;
        self.undo_reduction();
        self.phase = RecoveryPhase::Open;
        self.inflation = 0;
        self.due &= !due::HEAD;
        self.nxt = self.max;
        self.rtt.end_backoff();
    }

    /// Leaves recovery, or responds to a partial ACK; returns whether the timer restarts.
    #[inline(never)]
    pub(super) fn on_new_ack_in_recovery(&mut self, now: Time, packet: &Packet, acked: u64) -> bool {
        match self.phase {
            RecoveryPhase::Open => return true,
            RecoveryPhase::Loss => {
                if self.una >= self.recover {
                    self.phase = RecoveryPhase::Open;
                }
                return true;
            }
            RecoveryPhase::Recovery if self.sack1.is_some() => {
                self.on_new_ack_sack1(now, packet);
                return false;
            }
            RecoveryPhase::Recovery => {}
        }
        let ends = self.una >= self.recover || self.options.recovery != Recovery::NewReno;
        if ends {
            // RFC 6582, section 3.2, step 3, option 1: avoids a burst when little is in flight. ns-2: the reduction by
            // partial ACKs is kept.
            let at_most = if self.options.ns2_recovery {
                if self.inflation < 0 {
                    self.cwnd - self.segments(self.inflation.unsigned_abs())
                } else {
                    f64::INFINITY
                }
            } else {
                self.segments((self.nxt - self.una).max(self.mss) + self.mss)
            };
            self.phase = RecoveryPhase::Open;
            self.inflation = 0;
            self.due &= !due::HEAD;
            self.update_cc(|cc| cc.on_recovery_exit(at_most));
            return true;
        }
        if self.marked && self.una >= self.reduced {
            // A mark had reduced the window of the losses so far. This one was sent after it.
            self.reduce_for_first_segment(now);
        }
        // RFC 6582, section 3.2, step 3, partial acknowledgment.
        self.inflation -= acked.cast_signed();
        if acked >= self.mss {
            self.inflation += self.mss.cast_signed();
        }
        self.due |= due::HEAD;
        let first = !self.partial;
        self.partial = true;
        first || !self.options.impatient
    }

    /// Passes an ACK to the congestion control.
    #[inline(always)]
    pub(super) fn pass_ack(&mut self, now: Time, packet: &Packet, ack_summary: &AckSummary) {
        let segments = match self.options.growth {
            // RFC 3168, section 6.1.2: an ACK that echoes a mark does not let the window grow.
            _ if self.ecn.is_echo(packet) && self.options.ecn && self.cc.takes_marks_for_losses() => 0.0,
            _ if ack_summary.acked == 0 => self.growth_under_reordering(ack_summary),
            Growth::PerAck => 1.0,
            Growth::OneSegment => self.segments(ack_summary.acked).min(1.0),
            Growth::TwoSegments => self.segments(ack_summary.acked).min(2.0),
            Growth::Bytes => self.segments(ack_summary.delivered),
        };
        let window_limited = if self.options.track_use { self.uses_window() } else { self.window_limited };
        self.cwnd = self.cc.process_ack(AckFacts {
            now,
            packet,
            summary: ack_summary,
            segments,
            rtt: self.sample,
            estimate: &self.rtt,
            is_stamped: self.options.timestamps,
            una: self.una,
            nxt: self.max,
            window_limited: window_limited | self.grows_unused,
            mss: self.mss_f64,
            paced: self.paces,
            marked: self.ecn.marked(),
        });
    }

    /// Window growth on an ACK without new data: if the path is known to reorder, data that the ACK reports as arrived
    /// counts as acknowledged (Linux).
    #[inline(never)]
    pub(super) fn growth_under_reordering(&self, ack_summary: &AckSummary) -> f64 {
        let known =
            self.options.growth == Growth::Bytes && ack_summary.reordering > u64::from(self.options.dup_threshold);
        if known && self.phase == RecoveryPhase::Open { self.segments(ack_summary.delivered) } else { 0.0 }
    }

    #[inline(never)]
    pub(super) fn on_dup_ack(&mut self, now: Time, packet: &Packet) {
        if self.sack1.is_none() {
            self.dup_acks += 1;
        }
        let in_recovery = self.phase == RecoveryPhase::Recovery;
        self.ecn.take(packet, self.mss, self.mss);
        self.pass_ack(
            now,
            packet,
            &AckSummary { in_flight: self.nxt - self.una, in_recovery, ..AckSummary::default() },
        );
        if self.sack1.is_some() {
            self.on_dup_ack_sack1(now, packet);
        } else if self.phase == RecoveryPhase::Recovery {
            self.inflation += self.mss.cast_signed();
        } else if self.dup_acks == self.options.dup_threshold && (self.una > self.recover || self.recover == 0)
            || self.phase == RecoveryPhase::Open
                && self.times.as_ref().is_some_and(|times| times.is_late_at_duplicate(now))
        {
            self.enter_recovery(now);
        }
        if self.ecn.is_echo(packet) {
            self.on_echo(self.in_flight());
        }
    }

    /// Responds to the loss of the first segment.
    fn reduce_for_first_segment(&mut self, now: Time) {
        if self.times.as_mut().is_none_or(|times| times.reduces(now)) {
            let base = self.reduction_base(self.in_flight(), self.options.recovery == Recovery::Tahoe);
            self.reduce_for_loss(self.una, base);
        }
    }

    /// RFC 5681, section 3.2, steps 2 and 3.
    pub(super) fn enter_recovery(&mut self, now: Time) {
        self.counts.fast_retransmits += 1;
        self.reduce_for_first_segment(now);
        self.recover = self.max;
        self.partial = false;
        self.timed = 0;
        self.limited_sent = 0;
        self.due |= due::HEAD;
        if self.options.recovery == Recovery::Tahoe {
            self.phase = RecoveryPhase::Loss;
            self.nxt = self.una;
            self.due &= !due::HEAD;
        } else {
            self.phase = RecoveryPhase::Recovery;
            if let Some(sack1) = &mut self.sack1 {
                let outstanding = (self.max - self.una).div_ceil(self.mss);
                sack1.start(self.una + self.mss, outstanding, self.options.dup_threshold);
                self.rto_at = now.saturating_add(self.rtt.rto());
                return;
            }
            self.inflation = (self.mss * u64::from(self.dup_acks)).cast_signed();
        }
        self.rto_at = now.saturating_add(self.rtt.rto());
    }
}
