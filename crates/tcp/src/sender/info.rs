//! State of a sender in the terms of Linux's `TCP_INFO`.

use wifair_units::Duration;

use super::{RecoveryPhase, Sender};

/// State of loss recovery, as in Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryState {
    /// No sign of loss.
    Open = 0,
    /// Duplicate or selective ACKs have arrived; no segment is considered lost yet.
    Disorder = 1,
    /// The window is being reduced for a congestion mark.
    Cwr = 2,
    /// Fast recovery.
    Recovery = 3,
    /// After a timeout.
    Loss = 4,
}

/// Snapshot of a sender. Counts are in segments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Info {
    /// Congestion window; in recovery, what may be in flight now.
    pub cwnd: f64,
    /// Slow-start threshold; infinite before the first loss.
    pub ssthresh: f64,
    /// State of loss recovery.
    pub state: RecoveryState,
    /// Segments sent and not cumulatively acknowledged.
    pub unacked: u64,
    /// Unacknowledged segments that were selectively acknowledged.
    pub sacked: u64,
    /// Unacknowledged segments considered lost.
    pub lost: u64,
    /// Retransmissions in flight.
    pub retransmitted: u64,
    /// Degree of reordering seen on the path, at least the threshold of duplicate ACKs.
    pub reordering: u64,
    /// Segments that arrived after one that was sent later.
    pub reorderings: u64,
    /// Doublings of the RTO in force.
    pub backoff: u32,
    /// Retransmission timeout.
    pub rto: Duration,
    /// SRTT, RTTVAR, and the smallest sample.
    pub rtt: (Duration, Duration, Duration),
}

impl Sender {
    /// Takes a snapshot.
    #[must_use]
    pub fn info(&self) -> Info {
        let segments = |bytes: u64| bytes.div_ceil(self.mss);
        let dup_acks = u64::from(self.dup_acks);
        let (unacked, sacked, lost, retransmitted) = match &self.selective {
            Some(s) => s.scoreboard.counts(),
            None => {
                let outstanding = segments(self.max - self.una);
                let repairing = self.phase == RecoveryPhase::Recovery;
                (outstanding, dup_acks.min(outstanding), u64::from(repairing), u64::from(repairing))
            }
        };
        let state = match self.phase {
            RecoveryPhase::Recovery => RecoveryState::Recovery,
            RecoveryPhase::Loss => RecoveryState::Loss,
            RecoveryPhase::Open if self.is_reducing() => RecoveryState::Cwr,
            RecoveryPhase::Open if sacked > 0 || dup_acks > 0 => RecoveryState::Disorder,
            RecoveryPhase::Open => RecoveryState::Open,
        };
        let threshold = u64::from(self.options.dup_threshold);
        let (reordering, reorderings) = self.selective.as_ref().map_or((0, 0), |s| s.scoreboard.reordering());
        Info {
            cwnd: self.window_in_recovery().unwrap_or_else(|| self.cwnd()),
            ssthresh: self.ssthresh(),
            state,
            unacked: unacked + u64::from(self.fin_outstanding()),
            sacked,
            lost,
            retransmitted,
            reordering: reordering.max(threshold),
            reorderings,
            backoff: self.rtt.backoff(),
            rto: self.rtt.rto(),
            rtt: (self.rtt.srtt(), self.rtt.rttvar(), self.rtt.min()),
        }
    }

    /// What may be in flight now, in segments, if proportional rate reduction decides that.
    fn window_in_recovery(&self) -> Option<f64> {
        let s = self.selective.as_ref()?;
        let reduces = (self.phase == RecoveryPhase::Recovery || self.is_reducing()) && self.options.prr;
        (reduces && !self.cc_rules_recovery()).then(|| self.segments(s.in_flight() + s.prr.allowed()))
    }

    /// Sets the receive window to `bytes`, which need not be expressible in the window field.
    pub fn set_receive_window(&mut self, bytes: u64) {
        self.rwnd = bytes;
        self.most_rwnd = self.most_rwnd.max(bytes);
        self.refresh();
    }
}
