//! Shortcuts for a sender with data to send whose windows alone decide on the next segment, while nothing is missing.
//!
//! [`Sender::refresh`] sets `run`, the end of what the windows allow, or zero if anything else has to be considered.
//! With [`Sender::disable_fast_path`] it is always zero, and every segment and ACK takes the long way.

use wifair_packet::{Packet, flag};
use wifair_units::{Duration, Time};

use super::{AckSummary, RecoveryPhase, Sender, SenderState};
use crate::clock;
use crate::config::Recovery;

impl Sender {
    /// Disables the short code path. Results stay the same; tests compare both paths.
    pub fn disable_fast_path(&mut self) {
        self.plain = false;
        self.refresh();
    }

    /// Whether the windows alone decide on the next segment.
    #[inline(always)]
    pub(super) fn only_windows_limit(&self) -> bool {
        if !self.plain || self.due != 0 || self.state != SenderState::Established {
            return false;
        }
        match &self.selective {
            None => {
                let by_sack1 = self.sack1.is_some() && self.phase == RecoveryPhase::Recovery;
                self.nxt > self.una && self.dup_acks == 0 && !by_sack1
            }
            Some(s) => {
                // Rules 3 and 4 of NextSeg (RFC 6675, section 4) may apply in a recovery without RACK.
                let by_rules = self.phase == RecoveryPhase::Recovery && self.options.recovery != Recovery::Rack;
                !by_rules && !s.awaits_retransmission() && s.in_flight() > 0 && self.nxt == self.max
            }
        }
    }

    /// Whether the next segment is a full one within the windows, so that [`Sender::write`] may be called.
    #[inline]
    #[must_use]
    pub const fn is_running(&self) -> bool {
        self.nxt + self.mss <= self.run
    }

    /// Whether data is waiting for the window to open. False does not imply that [`Sender::poll`] returns a segment.
    #[inline]
    pub fn is_held(&mut self) -> bool {
        let held = self.run > 0 && !self.is_running();
        if held {
            self.window_limited = self.nxt + self.mss > self.reach;
            if self.options.track_use {
                self.note_use();
            }
        }
        held
    }

    /// Writes the next segment into `packet`. The caller has checked [`Sender::is_running`].
    #[inline(always)]
    pub fn write(&mut self, now: Time, packet: &mut Packet) {
        self.write_run(now, 1, packet);
    }

    /// Writes the first of all segments that the windows allow, and returns their number; they differ in their offset
    /// alone. Retransmissions are written one by one, as each is counted. The caller has checked
    /// [`Sender::is_running`].
    #[inline(always)]
    pub fn write_all(&mut self, now: Time, packet: &mut Packet) -> u64 {
        let count = if self.annotates || self.nxt < self.max { 1 } else { (self.run - self.nxt) / self.mss };
        self.write_run(now, count, packet);
        count
    }

    #[inline(always)]
    fn write_run(&mut self, now: Time, count: u64, packet: &mut Packet) {
        *packet = self.full;
        packet.seq = self.nxt;
        self.nxt += count * self.mss;
        let (mut is_probe_due, prr_counts) = (false, self.prr_counts());
        if let Some(s) = &mut self.selective {
            let before = s.scoreboard.len();
            s.push(now, self.nxt, self.mss, count, prr_counts);
            is_probe_due = s.is_probe_due(now, before, self.phase != RecoveryPhase::Open);
        }
        self.note_segment(now, self.nxt, packet);
        if is_probe_due {
            self.restart_probe(now);
        }
    }
}

/// What some ACKs have released.
#[derive(Clone, Copy, Debug, Default)]
pub struct AckTrain {
    /// Number of ACKs processed, from the first on.
    pub acks: usize,
    /// Number of segments released; see [`Sender::first_released`].
    pub segments: u64,
}

impl Sender {
    /// Processes ACKs that arrive at one instant, as far as everything arrives in order and the windows alone decide
    /// what is sent: what they release is sent at once, and timers are set once. `take_rtts` gets the RTT samples, each
    /// with how often it came in a row.
    #[inline]
    pub fn on_acks<'a>(
        &mut self,
        now: Time,
        acks: impl Iterator<Item = &'a Packet>,
        mut take_rtts: impl FnMut(Duration, u32),
    ) -> AckTrain {
        let mut train = AckTrain::default();
        if self.annotates || self.phase != RecoveryPhase::Open || self.nxt < self.max {
            return train;
        }
        let is_in_order = self.is_in_order();
        let mut rtt = None;
        for ack in acks {
            let is_plain = self.run > 0 && ack.flags == flag::ACK && u32::from(ack.window) == self.window_field;
            self.sample = None;
            if !is_plain {
                break;
            }
            if self.selective.is_none() && self.una < ack.ack && ack.ack <= self.max {
                self.on_new_ack(now, ack);
                self.refresh();
            } else if is_in_order && self.acknowledge_in_order(now, ack) {
                self.refresh_in_order();
            } else {
                break;
            }
            rtt = note_rtt(rtt, self.sample, &mut take_rtts);
            train.acks += 1;
            train.segments += self.release(now);
        }
        note_rtt(rtt, None, &mut take_rtts);
        if train.acks > 0 {
            self.restart_timers(now);
        }
        if train.segments > 0 {
            self.last_send = now;
        }
        train
    }

    /// The first of the segments that ACKs have just [released](Sender::on_acks); they differ in their offset alone.
    #[inline]
    #[must_use]
    pub fn first_released(&self, now: Time, segments: u64) -> Packet {
        let ts_val = if self.options.timestamps { clock(now) } else { self.full.ts_val };
        Packet { seq: self.nxt - segments * self.mss, ts_val, ..self.full }
    }

    /// Sends all that the windows allow, and notes what limits that; the caller writes the segments. Returns their
    /// number.
    #[inline(always)]
    fn release(&mut self, now: Time) -> u64 {
        let mut count = 0;
        if self.is_running() {
            count = (self.run - self.nxt) / self.mss;
            if self.timed == 0 {
                (self.timed, self.timed_at) = (self.nxt + self.mss, now);
            }
            self.nxt += count * self.mss;
            self.max = self.nxt;
            if let Some(s) = &mut self.selective {
                s.push(now, self.nxt, self.mss, count, false);
            }
        }
        self.is_held(); // notes what limits it
        count
    }

    /// [`Sender::refresh`] after [`Sender::acknowledge_in_order`], before which the windows alone decided.
    #[inline(always)]
    pub(super) fn refresh_in_order(&mut self) {
        let in_flight = self.selective.as_ref().map_or(0, |s| s.in_flight());
        self.window = self.open_window();
        self.reach = self.nxt.saturating_add(self.window.saturating_sub(in_flight));
        self.run = if in_flight > 0 { self.end_of_run() } else { 0 };
    }

    /// Whether nothing is lost and everything has arrived in order, so that [`Sender::acknowledge_in_order`] may be
    /// called. This remains so while it succeeds.
    #[inline(always)]
    pub(super) fn is_in_order(&self) -> bool {
        let Some(s) = &self.selective else { return false };
        let is_open = self.phase == RecoveryPhase::Open && self.dup_acks == 0 && !self.reducing;
        is_open && !s.awaits_verdict() && s.scoreboard.is_unmarked()
    }

    /// Processes an ACK if it is the end of a segment and reports no gap, but for the timers; returns whether it did.
    #[inline(always)]
    pub(super) fn acknowledge_in_order(&mut self, now: Time, packet: &Packet) -> bool {
        let Some(s) = &mut self.selective else { return false };
        if packet.sack[0] != (0, 0) {
            return false;
        }
        let Some(acked) = s.scoreboard.acknowledge_in_order(now, packet.ack) else { return false };
        s.reorder_at = Time::NEVER;
        let in_flight = s.in_flight();
        if self.measures_by_times() {
            self.rtt.sample(acked.first.0, now);
            self.sample = Some(now.saturating_since(acked.last.0));
        } else {
            self.take_timed(now, packet);
        }
        self.una = packet.ack;
        let (acked, delivered) = (acked.bytes, acked.bytes);
        self.pass_ack(now, packet, &AckSummary { acked, delivered, in_flight, ..AckSummary::default() });
        true
    }

    /// Restarts the timers after ACKs in order.
    #[inline(always)]
    pub(super) fn restart_timers(&mut self, now: Time) {
        self.restart_timer(now, true);
        self.restart_probe(now);
        self.finish_without_fin();
    }
}

/// Adds an RTT sample to those in a row with the same value, which `take_rtts` gets once another one follows.
#[inline(always)]
fn note_rtt(
    row: Option<(Duration, u32)>,
    sample: Option<Duration>,
    take_rtts: &mut impl FnMut(Duration, u32),
) -> Option<(Duration, u32)> {
    match (row, sample) {
        (Some((rtt, count)), Some(sample)) if rtt == sample => Some((rtt, count + 1)),
        _ => {
            if let Some((rtt, count)) = row {
                take_rtts(rtt, count);
            }
            sample.map(|sample| (sample, 1))
        }
    }
}

#[cfg(test)]
mod tests;
