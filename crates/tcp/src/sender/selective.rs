//! Recovery with selective ACKs.
//!
//! Sources: RFC 6675 (loss detection by counting), RFC 8985 (by time, with tail loss probes), RFC 9937 (how much is
//! sent in recovery), RFC 3522 and RFC 4015 (spurious recoveries, detected by timestamps).
//!
//! Departures: each segment has its own reordering deadline, where RFC 8985 uses that of the last one; as in Linux, no
//! segment is considered lost while everything has arrived in order, even if a retransmission overtook it; the flight
//! at the start of recovery is at most the window, which excludes segments sent by limited transmit.

use wifair_packet::Packet;
use wifair_units::{Duration, Time};

use super::delivery::AckDelivery;
use super::prr::Prr;
use super::scoreboard::Scoreboard;
use super::{AckSummary, RecoveryPhase, Sender, due};
use crate::cc::CongestionControl;
use crate::config::{Recovery, StackOptions};

/// Longest delay of an ACK for a single segment (RFC 8985, section 7.2). The value is Linux's.
const MAX_ACK_DELAY: Duration = Duration::from_millis(200);

/// State of a sender with a scoreboard, in addition to [`Sender`].
#[derive(Debug)]
pub struct Selective {
    pub(super) scoreboard: Scoreboard,
    pub(super) prr: Prr,
    /// RFC 8985: when the reordering timer expires.
    pub(super) reorder_at: Time,
    /// RFC 8985: when a tail loss probe is due, and when that was computed.
    probe_at: Time,
    armed_at: Time,
    /// End of the probe in flight, 0 for none, and whether it was a retransmission.
    probe_end: u64,
    probe_again: bool,
    /// Whether this recovery has used rule 4 of NextSeg (RFC 6675, section 4), which applies once.
    rescued: bool,
    /// RFC 5682: progress in finding out whether a timeout was spurious.
    forward: Forward,
}

/// A step of F-RTO (RFC 5682, section 3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Forward {
    /// Not running, or finished.
    Off,
    /// The first segment was retransmitted.
    Repeated,
    /// The retransmission was acknowledged; new data is sent before any other retransmission.
    New,
}

impl Selective {
    pub fn new(options: &StackOptions, rate: bool) -> Self {
        Self {
            scoreboard: Scoreboard::new(
                u64::from(options.mss),
                options.recovery == Recovery::Rack,
                rate,
                options.timestamps || options.tso_autosize,
            ),
            prr: Prr::default(),
            reorder_at: Time::NEVER,
            probe_at: Time::NEVER,
            armed_at: Time::NEVER,
            probe_end: 0,
            probe_again: false,
            rescued: false,
            forward: Forward::Off,
        }
    }

    #[inline]
    pub const fn in_flight(&self) -> u64 {
        self.scoreboard.in_flight()
    }

    /// Whether any segment has to be retransmitted.
    #[inline]
    pub const fn awaits_retransmission(&self) -> bool {
        self.scoreboard.awaits_retransmission()
    }

    /// Whether ACKs may tell more than what has arrived: of a tail loss probe, or whether a timeout was spurious.
    #[inline]
    pub(super) fn awaits_verdict(&self) -> bool {
        self.probe_end != 0 || self.forward != Forward::Off
    }

    /// Whether new data, sent now after `before` other segments, restart the probe timer: the first segment of an
    /// instant does, and the second one in flight, which the receiver acknowledges at once. No probe is due
    /// `in_recovery`, and none at all without RACK.
    #[inline]
    pub fn is_probe_due(&self, now: Time, before: usize, in_recovery: bool) -> bool {
        if !self.scoreboard.is_by_time() {
            false
        } else if self.probe_at == Time::NEVER {
            !in_recovery && self.scoreboard.sacked() == 0
        } else {
            self.armed_at != now || (before < 2 && self.scoreboard.len() >= 2)
        }
    }

    /// Adds `count` segments of new data with `len` bytes each, the last of which ends at `end`; they may count for
    /// `prr`.
    #[inline(always)]
    pub fn push(&mut self, now: Time, end: u64, len: u64, count: u64, prr_counts: bool) {
        self.scoreboard.push(now, end, len, count);
        if prr_counts {
            self.prr.on_send(len * count);
        }
    }

    /// Whether the segment that ends at `end` is a tail loss probe in flight.
    #[cfg(test)]
    pub const fn is_probe(&self, end: u64) -> bool {
        self.probe_end == end
    }
}

impl Sender {
    /// Processes an ACK that is neither old nor for data never sent.
    #[inline(never)]
    pub(super) fn on_ack_selective(&mut self, now: Time, packet: &Packet, window_changed: bool) {
        let Some(mut s) = self.selective.take() else { return };
        let acked = packet.ack - self.una;
        let echo = self.options.timestamps.then_some(packet.ts_ecr);
        let mut delivery = AckDelivery { echo, ..AckDelivery::default() };
        if acked > 0 {
            s.scoreboard.acknowledge(now, packet.ack, self.rtt.min(), &mut delivery);
            self.una = packet.ack;
            self.dup_acks = 0;
        }
        let blocks = self.read_blocks(now, packet, &mut s.scoreboard, &mut delivery);
        if acked == 0 && !blocks && self.max > self.una && !window_changed {
            self.dup_acks += 1;
        }
        self.measure_selective(now, packet, acked, &delivery);
        if delivery.duplicate.is_some() {
            s.scoreboard.on_duplicate(self.una, self.max);
        }
        if s.probe_end != 0 {
            self.on_probe_ack(&mut s, packet, acked > 0, blocks, &delivery);
        }

        let was = self.phase;
        if acked > 0 && was != RecoveryPhase::Open && self.is_spurious(packet.ack - acked, packet) {
            self.undo();
            s.scoreboard.undo_losses();
        }
        if s.forward != Forward::Off {
            self.on_ack_forward(&mut s, acked, &delivery);
        }
        let lost = self.find_losses(now, &mut s);
        if self.phase != RecoveryPhase::Open && self.una >= self.recover {
            if self.phase == RecoveryPhase::Recovery {
                self.update_cc(|cc| cc.on_recovery_exit(f64::INFINITY));
                s.scoreboard.on_recovery_exit();
            }
            self.phase = RecoveryPhase::Open;
        }
        // Linux reduces the window gradually after a congestion mark too, and does not grow it on the ACK that echoes
        // the mark.
        self.ecn.take(packet, delivery.bytes, self.mss);
        let steps = self.options.prr && !self.cc.rules_recovery();
        if steps && self.ecn.is_echo(packet) && self.on_echo(s.scoreboard.in_flight()) {
            self.refresh();
            self.reducing = true;
            s.prr = Prr::new((self.max - self.una + delivery.bytes).saturating_sub(s.scoreboard.sacked()), self.window);
        }
        let ack_summary = AckSummary {
            acked,
            delivered: delivery.bytes,
            in_flight: s.scoreboard.in_flight(),
            sacked: s.scoreboard.sacked(),
            lost,
            rate: s.scoreboard.rate_sample(now, delivery.bytes, self.rtt.min()),
            in_recovery: was == RecoveryPhase::Recovery || self.reducing,
            reordering: s.scoreboard.reordering().0,
        };
        self.pass_ack(now, packet, &ack_summary);
        if self.phase == RecoveryPhase::Open && s.scoreboard.lost() > 0 {
            self.enter_recovery_selective(now, &mut s, delivery.bytes);
        }
        if self.prr_counts() {
            let safe = self.phase == RecoveryPhase::Recovery && acked > 0 && lost == 0;
            s.prr.on_ack(delivery.bytes, s.scoreboard.in_flight(), safe, self.mss);
            self.reducing = self.reducing && self.una < self.reduced;
        }
        if self.ecn.is_echo(packet) && !steps {
            self.on_echo(s.scoreboard.in_flight());
        }
        if acked > 0 {
            self.restart_timer(now, true);
        }
        self.arm_probe(now, &mut s, acked > 0);
        self.selective = Some(s);
        self.finish_without_fin();
    }

    /// Processes the SACK blocks; returns whether there was one.
    fn read_blocks(&self, now: Time, packet: &Packet, scoreboard: &mut Scoreboard, delivery: &mut AckDelivery) -> bool {
        let offset = |relative: u32| packet.ack.wrapping_add_signed(i64::from(relative.cast_signed()));
        let mut any = false;
        for (i, &(start, end)) in packet.sack.iter().enumerate() {
            if start == end {
                break;
            }
            any = true;
            let (start, end) = (offset(start), offset(end));
            // RFC 2883, section 5: the first block reports a duplicate if it lies below the ACK or within the second
            // block.
            let within = |&(s, e): &(u32, u32)| s != e && offset(s) <= start && end <= offset(e);
            if i == 0 && (start < packet.ack || packet.sack.get(1).is_some_and(within)) {
                delivery.duplicate = Some((start, end));
            } else if start < end && end <= self.max {
                scoreboard.sack(now, i, (start, end), self.rtt.min(), delivery);
            }
        }
        any
    }

    /// Marks lost segments; returns how many are newly lost.
    #[inline]
    fn find_losses(&mut self, now: Time, s: &mut Selective) -> u32 {
        if self.dup_acks == 0 && s.scoreboard.is_in_order() {
            s.reorder_at = Time::NEVER;
            return 0;
        }
        self.find_losses_beyond_a_gap(now, s)
    }

    #[inline(never)]
    fn find_losses_beyond_a_gap(&mut self, now: Time, s: &mut Selective) -> u32 {
        let threshold = self.options.dup_threshold;
        let mut lost = if self.options.recovery == Recovery::Rack {
            let in_recovery = self.phase != RecoveryPhase::Open;
            let (lost, next) =
                s.scoreboard.mark_lost_by_time(now, in_recovery, threshold, self.rtt.min(), self.rtt.srtt());
            s.reorder_at = next;
            lost
        } else {
            s.scoreboard.mark_lost_below(threshold)
        };
        // The receiver may not support SACK, or may have nothing to report.
        if self.dup_acks == threshold && self.phase == RecoveryPhase::Open && s.scoreboard.mark_first_lost() {
            lost += 1;
        }
        lost
    }

    /// Enters recovery (RFC 6675, section 5, step 4); the ACK that reports the loss delivered `delivered` bytes.
    fn enter_recovery_selective(&mut self, now: Time, s: &mut Selective, delivered: u64) {
        self.counts.fast_retransmits += 1;
        let base = self.reduction_base(s.scoreboard.in_flight(), false);
        let reduces = self.reduce_for_loss(self.una, base);
        self.phase = RecoveryPhase::Recovery;
        // A loss of what was sent after the mark that has reduced the window begins another recovery (Linux).
        self.recover = self.reduced;
        self.timed = 0;
        self.due |= due::HEAD;
        s.rescued = false;
        if reduces || !self.reducing {
            // RFC 9937, section 6.2: what had arrived before recovery does not count.
            let flight = (self.max - self.una + delivered).saturating_sub(s.scoreboard.sacked());
            self.refresh();
            s.prr = Prr::new(flight, self.window);
        }
        self.reducing = false;
        self.rto_at = now.saturating_add(self.rtt.rto());
    }

    /// Handles an expired RTO; `fresh` if no other loss was being repaired.
    pub(super) fn on_timeout_selective(&mut self, now: Time, fresh: bool) {
        let Some(mut s) = self.selective.take() else { return };
        s.forward = if self.options.f_rto && fresh { Forward::Repeated } else { Forward::Off };
        s.scoreboard.on_timeout(now, self.options.recovery == Recovery::Rack);
        (s.reorder_at, s.probe_at, s.probe_end) = (Time::NEVER, Time::NEVER, 0);
        self.early_at = Time::NEVER;
        self.due |= due::HEAD;
        self.selective = Some(s);
    }

    /// F-RTO (RFC 5682, section 3.1) with selective ACKs, as in Linux: if a segment sent only once has arrived, the
    /// timeout was spurious. Until that is known, two new segments are sent instead of retransmissions.
    fn on_ack_forward(&mut self, s: &mut Selective, acked: u64, delivery: &AckDelivery) {
        if self.phase != RecoveryPhase::Loss {
            s.forward = Forward::Off;
        } else if delivery.once <= self.recover {
            s.forward = Forward::Off;
            self.undo();
            s.scoreboard.undo_losses();
        } else if s.forward == Forward::Repeated && acked > 0 && self.una < self.recover && self.supplied > self.max {
            s.forward = Forward::New;
            self.recover = self.max;
        } else {
            s.forward = Forward::Off;
        }
    }

    /// Evaluates the response to a tail loss probe (RFC 8985, section 7.4.2); `advances` if the ACK covers new data.
    fn on_probe_ack(
        &mut self,
        s: &mut Selective,
        packet: &Packet,
        advances: bool,
        blocks: bool,
        delivery: &AckDelivery,
    ) {
        let reported = delivery.duplicate.is_some_and(|(start, end)| start < s.probe_end && s.probe_end <= end);
        if s.probe_again && reported {
            s.probe_end = 0;
        } else if packet.ack > s.probe_end && s.probe_again {
            // The probe repaired a loss.
            let base = self.reduction_base(s.scoreboard.in_flight(), false);
            if self.reduce_for_loss(s.probe_end - 1, base) {
                self.update_cc(|cc| cc.on_recovery_exit(f64::INFINITY));
            }
            s.probe_end = 0;
        } else if packet.ack >= s.probe_end && (!s.probe_again || !(advances || blocks)) {
            s.probe_end = 0;
        }
    }

    /// Sets the timer of a tail loss probe (RFC 8985, section 7.2); `restart` restarts it.
    pub(super) fn arm_probe(&mut self, now: Time, s: &mut Selective, restart: bool) {
        if self.options.recovery != Recovery::Rack {
            return;
        }
        let eligible = self.options.tail_loss_probes
            && self.phase == RecoveryPhase::Open
            && (self.max > self.una || self.fin_outstanding())
            && s.scoreboard.sacked() == 0
            && s.probe_end == 0;
        if !eligible {
            s.probe_at = Time::NEVER;
        } else if restart || s.probe_at == Time::NEVER {
            let srtt = self.rtt.srtt();
            let timeout = match srtt {
                Duration::ZERO => Duration::from_secs(1),
                _ if s.scoreboard.len() + usize::from(self.fin_sent && self.fin_alone) == 1 => srtt * 2 + MAX_ACK_DELAY,
                _ => srtt * 2,
            };
            s.probe_at = now.saturating_add(timeout).min(self.rto_at);
            s.armed_at = now;
        }
        self.early_at = s.reorder_at.min(s.probe_at);
    }

    /// Handles the reordering timer and the probe timer.
    pub(super) fn on_early_timer(&mut self, now: Time) {
        let Some(mut s) = self.selective.take() else { return };
        if now >= s.reorder_at {
            self.find_losses(now, &mut s);
            if self.phase == RecoveryPhase::Open && s.scoreboard.lost() > 0 {
                self.enter_recovery_selective(now, &mut s, 0);
                s.prr.on_ack(0, s.scoreboard.in_flight(), false, self.mss);
            }
        }
        if now >= s.probe_at {
            s.probe_at = Time::NEVER;
            self.due |= due::TAIL;
            // RFC 8985, section 7.3: the RTO restarts after a probe.
            self.rto_at = now.saturating_add(self.rtt.rto());
        }
        self.early_at = s.reorder_at.min(s.probe_at);
        self.selective = Some(s);
    }

    /// Sends a probe: new data if there is some, else the last segment again (RFC 8985, section 7.3).
    pub(super) fn poll_probe(&mut self, now: Time) -> Option<Packet> {
        if self.phase != RecoveryPhase::Open || !(self.max > self.una || self.fin_outstanding()) {
            return None;
        }
        if self.fin_outstanding() && self.fin_alone {
            self.rto_at = now.saturating_add(self.rtt.rto());
            if let Some(s) = &mut self.selective {
                (s.probe_end, s.probe_again, s.probe_at) = (self.max + 1, true, Time::NEVER);
                self.early_at = s.reorder_at;
            }
            return Some(self.fin(now));
        }
        let last = self.selective.as_ref()?.scoreboard.last();
        let len = self.mss.min(self.supplied - self.nxt);
        let new = len > 0 && self.nxt + len <= self.una + self.rwnd;
        let packet = if new {
            let seq = self.nxt;
            self.nxt += len;
            self.segment_selective(now, seq, len)
        } else {
            let (seq, len) = last?;
            self.segment_selective(now, seq, len)
        };
        self.rto_at = now.saturating_add(self.rtt.rto());
        if let Some(s) = &mut self.selective {
            (s.probe_end, s.probe_again, s.probe_at) = (self.max, !new, Time::NEVER);
            self.early_at = s.reorder_at;
        }
        Some(packet)
    }

    /// Creates the segment `seq .. seq + len` and enters it into the scoreboard.
    pub(super) fn segment_selective(&mut self, now: Time, seq: u64, len: u64) -> Packet {
        let (new, prr_counts, mut is_probe_due) = (seq >= self.max, self.prr_counts(), false);
        if let Some(s) = &mut self.selective {
            if new {
                let before = s.scoreboard.len();
                s.push(now, seq + len, len, 1, prr_counts);
                is_probe_due = s.is_probe_due(now, before, self.phase != RecoveryPhase::Open);
            } else {
                s.scoreboard.retransmit(now, seq);
                if prr_counts {
                    s.prr.on_send(len);
                }
            }
        }
        let packet = self.segment_of(now, seq, len);
        if is_probe_due {
            self.restart_probe(now);
        }
        packet
    }

    /// Restarts the probe timer.
    #[inline]
    pub(super) fn restart_probe(&mut self, now: Time) {
        if let Some(mut s) = self.selective.take() {
            self.arm_probe(now, &mut s, true);
            self.selective = Some(s);
        }
    }

    /// Whether proportional rate reduction counts what is sent: in recovery, and while it reduces the window for a
    /// congestion mark.
    #[inline]
    pub(super) fn prr_counts(&self) -> bool {
        self.phase == RecoveryPhase::Recovery || self.reducing
    }

    /// What the windows allow to be sent now, in bytes.
    #[inline]
    pub(super) fn allowance(&self, s: &Selective) -> u64 {
        if self.prr_counts() && self.options.prr && !self.cc.rules_recovery() {
            s.prr.allowed()
        } else {
            self.window.saturating_sub(s.scoreboard.in_flight())
        }
    }

    /// Returns the next segment that may be sent.
    #[inline(never)]
    pub(super) fn poll_selective(&mut self, now: Time) -> Option<Packet> {
        let s = self.selective.as_mut()?;
        let lost = if s.awaits_retransmission() { s.scoreboard.next_lost() } else { None };
        let s = self.selective.as_ref()?;
        let allowed = self.allowance(s);
        let forward = s.forward == Forward::New && self.supplied > self.nxt;
        if let Some((seq, len)) = lost.filter(|_| !forward) {
            // RFC 6675, section 5, step 4.3: the first lost segment is retransmitted whatever is in flight.
            if len <= allowed || self.due & due::HEAD != 0 {
                self.due &= !due::HEAD;
                return Some(self.segment_selective(now, seq, len));
            }
            self.window_limited = true;
            return None;
        }
        self.due &= !due::HEAD;
        let in_flight = s.scoreboard.in_flight();
        let len = self.mss.min(self.supplied - self.nxt);
        if len == 0 {
            self.window_limited = false;
            if allowed >= self.mss
                && let Some(s) = &mut self.selective
            {
                s.scoreboard.on_app_limited();
            }
            return self.poll_suspect(now, allowed).or_else(|| self.poll_fin(now));
        }
        if self.is_held_by_nagle(len) {
            self.window_limited = false;
            return None;
        }
        if self.max == self.una {
            self.restart_after_idle(now);
        }
        let open = (self.una + self.rwnd).saturating_sub(self.nxt);
        if len <= allowed.min(open) {
            if !self.admits_to_burst(now, allowed, open) {
                return None;
            }
            let seq = self.nxt;
            self.nxt += len;
            let mut packet = self.segment_selective(now, seq, len);
            self.count_in_burst(&mut packet);
            return Some(packet);
        }
        if self.max == self.una && open > 0 {
            if self.options.track_use && open < len.min(self.most_rwnd / 2) {
                self.window_limited = false;
                self.probe_closed_window(now, true);
                return None;
            }
            // The receive window is shorter than a segment: what fits is sent once nothing is in flight.
            let len = len.min(open).min(self.window);
            let seq = self.nxt;
            self.nxt += len;
            return Some(self.segment_selective(now, seq, len));
        }
        self.window_limited = len > allowed;
        if len > open {
            self.probe_closed_window(now, false);
            return self.poll_suspect(now, allowed);
        }
        debug_assert!(in_flight > 0 || self.phase == RecoveryPhase::Recovery, "an empty path takes a segment");
        None
    }

    /// Applies rules 3 and 4 of NextSeg (RFC 6675, section 4) when no new data may be sent.
    fn poll_suspect(&mut self, now: Time, allowed: u64) -> Option<Packet> {
        if self.phase != RecoveryPhase::Recovery || self.options.recovery != Recovery::Sack || self.options.ns2_recovery
        {
            return None;
        }
        let s = self.selective.as_mut()?;
        if let Some((seq, len)) = s.scoreboard.next_suspect().filter(|&(_, len)| len <= allowed) {
            s.scoreboard.retransmit_suspect(now, seq);
            s.prr.on_send(len);
            return Some(self.segment_of(now, seq, len));
        }
        if !s.rescued
            && let Some((seq, len)) = s.scoreboard.last().filter(|&(_, len)| len <= allowed)
        {
            s.rescued = true;
            return Some(self.segment_selective(now, seq, len));
        }
        None
    }
}
