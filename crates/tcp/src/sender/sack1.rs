//! Recovery as in ns-2's Agent/TCP/Sack1.
//!
//! Source: ns-2.35 (tcp-sack1.cc, scoreboard-rq.cc) and its traces (`golden_ns2/sack1_*.txt`). The algorithm is that of
//! K. Fall and S. Floyd, "Simulation-based Comparisons of Tahoe, Reno, and SACK TCP", Computer Communication Review
//! 26(3), 1996: `pipe` counts the packets thought to be in the path. Each ACK subtracts one, a partial ACK two.
//!
//! What differs from RFC 6675:
//!
//! - A duplicate ACK counts only if it reports something new, and none counts after a timeout until new data is
//!   acknowledged.
//! - The ACK that starts recovery sends one segment. Gaps are repaired in order, each once; losses above the highest
//!   block are not detected.
//! - `pipe` begins with all that is outstanding less three: lost segments stay in it, so a burst of losses soon stops
//!   the sender until the retransmission timer expires.
//! - After a timeout the scoreboard is empty: everything is sent again in order, even segments that had arrived.
//!
//! Left out: ACKs that others overtook.

use wifair_packet::Packet;
use wifair_units::Time;

use super::{RecoveryPhase, Sender, due};
use crate::cc::CongestionControl;
use crate::ranges::Ranges;

/// State of the recovery.
#[derive(Clone, Debug, Default)]
pub struct Sack1 {
    /// Ranges that the receiver reported above `below`.
    sacked: Ranges,
    /// The cumulative ACK when a duplicate or partial ACK was last read.
    below: u64,
    /// Everything before this offset was repaired in this recovery.
    repaired: u64,
    /// Segments thought to be in the path.
    pipe: i64,
    /// Whether nothing is sent until the next ACK.
    waits: bool,
}

impl Sack1 {
    /// Starts recovery by retransmitting the segment that ends at `repaired`.
    pub fn start(&mut self, repaired: u64, outstanding: u64, dup_acks: u32) {
        self.repaired = repaired;
        self.pipe = outstanding.cast_signed() - i64::from(dup_acks);
        self.waits = true;
    }

    /// Segments thought to be in the path.
    pub fn in_flight(&self) -> u64 {
        self.pipe.max(0).cast_unsigned()
    }

    /// Reads the blocks of an ACK; returns whether they or the ACK report something new.
    fn read(&mut self, packet: &Packet) -> bool {
        let before = self.sacked.bytes();
        let advances = self.below < packet.ack && !self.sacked.is_empty();
        if self.below < packet.ack {
            self.below = packet.ack;
            self.sacked.take_up_to(packet.ack);
        }
        for &(start, end) in packet.sack.iter().filter(|(start, end)| start < end) {
            self.sacked.insert(packet.ack + u64::from(start), packet.ack + u64::from(end));
        }
        advances || self.sacked.bytes() != before
    }
}

impl Sender {
    /// Processes a duplicate ACK.
    pub(super) fn on_dup_ack_sack1(&mut self, now: Time, packet: &Packet) {
        let Some(s) = &mut self.sack1 else { return };
        if self.phase == RecoveryPhase::Recovery {
            s.pipe -= 1;
            s.waits = false;
            s.read(packet);
            return;
        }
        if self.timed_out == Some(self.una) {
            return;
        }
        if self.dup_acks == 0 {
            s.sacked = Ranges::default();
        }
        if !s.read(packet) {
            return;
        }
        self.dup_acks += 1;
        if self.dup_acks == self.options.dup_threshold && (self.una > self.recover || self.recover == 0) {
            self.enter_recovery(now);
        }
    }

    /// Processes an ACK of new data in recovery.
    pub(super) fn on_new_ack_sack1(&mut self, now: Time, packet: &Packet) {
        let Some(s) = &mut self.sack1 else { return };
        if self.una < self.recover {
            s.pipe -= 2;
            s.waits = false;
            s.read(packet);
            // The backoff ends only after the timer was set.
            self.restart_timer(now, true);
            self.rtt.end_backoff();
            return;
        }
        s.sacked = Ranges::default();
        self.recover = 0;
        self.phase = RecoveryPhase::Open;
        self.due &= !due::HEAD;
        self.update_cc(|cc| cc.on_recovery_exit(f64::INFINITY));
        self.restart_timer(now, true);
    }

    /// Returns the next segment that recovery may send: one that fills a gap, else a new one.
    pub(super) fn poll_sack1(&mut self, now: Time) -> Option<Packet> {
        let window = (self.window / self.mss).cast_signed();
        let s = self.sack1.as_mut()?;
        if s.waits || s.pipe >= window {
            return None;
        }
        let gap = s.sacked.gap(s.repaired.max(s.below));
        let (seq, len) = match gap {
            Some((start, end)) => (start, self.mss.min(end - start)),
            None => (self.nxt, self.mss.min(self.supplied - self.nxt)),
        };
        if len == 0 || seq + len > self.una.saturating_add(self.rwnd) {
            return None;
        }
        if gap.is_some() {
            s.repaired = seq + len;
        }
        s.pipe += 1;
        self.nxt = self.nxt.max(seq + len);
        Some(self.segment_of(now, seq, len))
    }
}
