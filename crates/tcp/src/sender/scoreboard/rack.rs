//! Loss detection by time (RFC 8985, section 6.2).

use wifair_units::{Duration, Time};

use super::{Scoreboard, mark};

/// State of RACK: the most recently sent segment that was delivered (RFC 8985, section 5.3), and reordering seen.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rack {
    pub(super) sent: Time,
    pub(super) end: u64,
    pub(super) rtt: Duration,
    /// Highest offset delivered (RACK.fack).
    pub(super) highest: u64,
    /// Whether a segment arrived after one that was sent later.
    pub(super) reordered: bool,
    /// Number of such reorderings, and their largest distance to the highest delivered segment, in segments.
    pub(super) reorderings: u64,
    pub(super) degree: u64,
    /// Reordering window in quarters of the minimum RTT (RACK.reo_wnd_mult); raised by reports of duplicates.
    quarters: u32,
    /// Recoveries until `quarters` is reset (RACK.reo_wnd_persist).
    persist: u32,
    /// End of the round trip in which duplicates do not count again (RACK.dsack_round).
    duplicate_round: u64,
}

impl Rack {
    pub(super) fn new() -> Self {
        Self { quarters: 1, ..Self::default() }
    }
}

impl Scoreboard {
    /// Reordering window (RFC 8985, section 6.2, step 4).
    fn reordering_window(&self, in_recovery: bool, threshold: u32, min_rtt: Duration, srtt: Duration) -> Duration {
        if !self.rack.reordered && (in_recovery || self.sacked_segments >= threshold) {
            return Duration::ZERO;
        }
        if min_rtt == Duration::MAX {
            return Duration::ZERO;
        }
        (min_rtt * u64::from(self.rack.quarters) / 4).min(srtt)
    }

    /// Marks segments as lost by time (RFC 8985, section 6.2, step 5). Returns how many are newly lost, and when the
    /// next may be lost: each segment has its own deadline, where the RFC uses the deadline of the last one.
    pub fn mark_lost_by_time(
        &mut self,
        now: Time,
        in_recovery: bool,
        threshold: u32,
        min_rtt: Duration,
        srtt: Duration,
    ) -> (u32, Time) {
        if self.sacked == 0 && self.retransmitted.is_empty() {
            return (0, Time::NEVER); // all arrived in the order of transmission
        }
        self.unroll();
        let window = self.reordering_window(in_recovery, threshold, min_rtt, srtt);
        let wait = self.rack.rtt + window;
        let last = (self.rack.sent, self.rack.end);
        let (mut newly, mut next) = (0, Time::NEVER);
        while let Some(index) = self.index(self.examined) {
            let index = self.missing(index);
            self.examined = self.first + index as u64;
            let Some(&segment) = self.segments.get(index) else { break };
            if !segment.is(mark::LOST | mark::EVER_RETRANSMITTED) {
                if (segment.sent, segment.end) >= last {
                    break;
                }
                let due = segment.sent.saturating_add(wait);
                if due > now {
                    next = due;
                    break;
                }
                self.mark_lost(index);
                newly += 1;
            }
            self.examined += 1;
        }
        while let Some(&(number, sent)) = self.retransmitted.front() {
            let current = self.index(number).filter(|&index| {
                let segment = &self.segments[index];
                segment.is(mark::RETRANSMITTED) && segment.sent == sent
            });
            if let Some(index) = current {
                if (sent, self.segments[index].end) >= last {
                    break;
                }
                let due = sent.saturating_add(wait);
                if due > now {
                    next = next.min(due);
                    break;
                }
                self.mark_lost(index);
                newly += 1;
            }
            self.retransmitted.pop_front();
        }
        (newly, next)
    }

    /// Widens the reordering window after a report of a duplicate (RFC 8985, section 6.2, step 4).
    pub fn on_duplicate(&mut self, una: u64, nxt: u64) {
        if una >= self.rack.duplicate_round {
            self.rack.duplicate_round = nxt;
            self.rack.quarters = (self.rack.quarters + 1).min(u32::from(u8::MAX));
            self.rack.persist = 16;
        }
    }

    /// Ends a recovery: after 16 without duplicates the reordering window is reset.
    pub fn on_recovery_exit(&mut self) {
        self.rack.persist = self.rack.persist.saturating_sub(1);
        if self.rack.persist == 0 {
            self.rack.quarters = 1;
        }
    }
}
