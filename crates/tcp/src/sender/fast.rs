//! Shortcuts for a sender with data to send whose windows alone decide on the next segment, while nothing is missing.
//!
//! [`Sender::refresh`] sets `run`, the end of what the windows allow, or zero if anything else has to be considered.
//! With [`Sender::disable_fast_path`] it is always zero, and every segment and ACK takes the long way.

use wifair_packet::Packet;
use wifair_units::Time;

use super::selective::Selective;
use super::{RecoveryPhase, Sender, SenderState};
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
        let end = self.nxt + self.mss;
        *packet = self.full;
        packet.seq = self.nxt;
        self.nxt = end;
        let (mut is_probe_due, prr_counts) = (false, self.prr_counts());
        if let Some(s) = &mut self.selective {
            s.push(now, end, self.mss, prr_counts);
            is_probe_due = s.is_probe_due(now, self.phase != RecoveryPhase::Open);
        }
        self.note_segment(now, end, packet);
        if is_probe_due {
            self.arm_probe_after_new(now);
        }
    }
}

impl Selective {
    /// Processes an ACK of new data if nothing is lost, everything arrives in order and transmission times are not
    /// needed; returns whether it did.
    #[inline(always)]
    pub fn acknowledge_in_order(&mut self, now: Time, packet: &Packet) -> bool {
        let in_order = self.scoreboard.is_simple() && self.scoreboard.lost() == 0 && packet.sack[0] == (0, 0);
        if in_order {
            self.scoreboard.acknowledge_in_order(now, packet.ack);
        }
        in_order
    }
}
