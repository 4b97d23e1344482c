//! Recovery as in ns-2's Agent/TCP/Linux.
//!
//! Source: D. X. Wei and P. Cao, "NS-2 TCP-Linux: An NS-2 TCP Implementation with Congestion Control Algorithms from
//! Linux", WNS2 2006; the behaviour of ns-2.35 and its traces (`golden_ns2/linux_*.txt`). The scoreboard is that of
//! Linux 2.6 with forward acknowledgment (M. Mathis and J. Mahdavi, "Forward Acknowledgment", SIGCOMM 1996).
//!
//! What differs from RFC 6675:
//!
//! - A segment is lost when the fourth segment after it has arrived, and a retransmission when data arrives that was
//!   sent after it. So a lost retransmission needs no timeout.
//! - The window counts segments thought to be in the path; nothing else limits new data. The receive window is only an
//!   upper bound of the congestion window, so that segments kept by the receiver do not count.
//! - At the start of recovery the flight shrinks by a segment for every other ACK until it fits into the window (rate
//!   halving).
//! - A loss found while a timeout is repaired starts recovery, and reduces the window again.
//! - The end of recovery, and of the repair of a timeout, lifts a lower window to the threshold, by no more than three
//!   segments above the flight.
//! - Each ACK restarts the retransmission timer, duplicates too. It keeps running through a pause; when it expires the
//!   window becomes the initial window.
//! - A segment being timed stays so when it or another one is sent again; the RTT then includes the repair.

use std::collections::VecDeque;

use wifair_packet::Packet;
use wifair_units::Time;

use super::{AckSummary, RecoveryPhase, Sender};
use crate::cc::CongestionControl;

/// A segment is lost when the segment with this distance has arrived.
const DISTANCE: u64 = 4;

/// Segments that the end of recovery lets leave at once.
const BURST: u64 = 3;

/// What is known of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SackState {
    InFlight,
    Sacked,
    Lost,
    /// Sent again, before the segment `next` was sent.
    Again {
        next: u64,
    },
}

/// The scoreboard and the flight that rate halving allows.
#[derive(Clone, Debug, Default)]
pub struct TcpLinux {
    /// Segments that are not acknowledged, with the offset after their last byte.
    segments: VecDeque<(u64, SackState)>,
    /// Number of the first of them.
    first: u64,
    lost: u64,
    sacked: u64,
    /// Number after that of the last segment reported to have arrived.
    highest: u64,
    /// Where the next lost segment is looked for; not at all if not set.
    next: Option<u64>,
    /// Segments that rate halving allows in the path, and the window in recovery.
    halving: u64,
    least: f64,
}

impl TcpLinux {
    /// Segments thought to be in the path.
    pub fn in_flight(&self) -> u64 {
        self.segments.len() as u64 - self.lost - self.sacked
    }

    /// Number of the segment that contains this offset.
    fn number(&self, offset: u64) -> u64 {
        self.first + self.segments.partition_point(|&(end, _)| end <= offset) as u64
    }

    /// Removes what is acknowledged.
    fn acknowledge(&mut self, una: u64) {
        while let Some(&(end, fate)) = self.segments.front()
            && end <= una
        {
            match fate {
                SackState::InFlight | SackState::Again { .. } => {}
                SackState::Sacked => self.sacked -= 1,
                SackState::Lost => self.lost -= 1,
            }
            self.segments.pop_front();
            self.first += 1;
        }
    }

    /// Reads the blocks of an ACK; returns whether segments are newly lost.
    fn read(&mut self, packet: &Packet) -> bool {
        let mut blocks: Vec<_> = packet
            .sack
            .iter()
            .filter(|(start, end)| start < end)
            .map(|&(start, end)| (self.number(packet.ack + u64::from(start)), self.number(packet.ack + u64::from(end))))
            .collect();
        blocks.sort_unstable();
        let Some(&(_, highest)) = blocks.last() else { return false };
        self.highest = self.highest.max(highest);
        self.next = None;
        let (mut any_lost, mut block) = (false, 0);
        for index in 0..self.segments.len() {
            let (number, fate) = (self.first + index as u64, self.segments[index].1);
            if fate == SackState::Sacked {
                continue;
            }
            while blocks.get(block).is_some_and(|&(_, end)| end <= number) {
                block += 1;
            }
            if blocks.get(block).is_some_and(|&(start, _)| start <= number) {
                self.lost -= u64::from(fate == SackState::Lost);
                self.sacked += 1;
                self.segments[index].1 = SackState::Sacked;
                continue;
            }
            let newly = match fate {
                SackState::InFlight => number + DISTANCE < self.highest,
                SackState::Again { next } => next < self.highest,
                SackState::Lost | SackState::Sacked => false,
            };
            if newly {
                self.segments[index].1 = SackState::Lost;
                self.lost += 1;
                any_lost = true;
            }
            if newly || fate == SackState::Lost {
                self.next.get_or_insert(number);
            }
        }
        any_lost
    }

    /// Forgets all reports and losses.
    fn clear(&mut self) {
        let (segments, first) = (std::mem::take(&mut self.segments), self.first);
        let segments = segments.into_iter().map(|(end, _)| (end, SackState::InFlight)).collect();
        *self = Self { segments, first, ..Self::default() };
    }

    /// After a timeout all that has not arrived is lost.
    pub fn on_timeout(&mut self) {
        for (_, fate) in &mut self.segments {
            if *fate != SackState::Sacked {
                self.lost += u64::from(*fate != SackState::Lost);
                *fate = SackState::Lost;
            }
        }
        self.next = Some(self.first);
        self.halving = 0;
    }

    /// Index of the next segment to send again.
    fn next_lost(&self) -> Option<usize> {
        let from = self.next?.saturating_sub(self.first) as usize;
        (from..self.segments.len()).find(|&index| self.segments[index].1 == SackState::Lost)
    }
}

impl Sender {
    /// Processes an ACK that is neither old nor for data never sent.
    #[inline(never)]
    pub(super) fn on_ack_tcp_linux(&mut self, now: Time, packet: &Packet) {
        let Some(mut s) = self.tcp_linux.take() else { return };
        let acked = packet.ack - self.una;
        let in_flight = s.in_flight();
        self.una = packet.ack;
        s.acknowledge(packet.ack);
        let any_lost = s.read(packet);
        let mut rate = None;
        if acked > 0 {
            self.measure(now, packet);
            rate = self.times.as_mut().and_then(|times| times.rate_sample(now, acked, self.rtt.min()));
        }
        self.rto_at = now.saturating_add(self.rtt.rto());
        // The window grows while it is full, up to the receive window.
        let window = self.cwnd();
        let bound = self.segments(self.rwnd).min(self.options.max_cwnd);
        self.window_limited = in_flight >= window as u64 && window < bound;
        let in_recovery = self.phase == RecoveryPhase::Recovery;
        let in_flight = in_flight * self.mss;
        let ack_summary = AckSummary { acked, delivered: acked, in_flight, in_recovery, rate, ..AckSummary::default() };
        self.ecn.take(packet, acked.max(self.mss), self.mss);
        self.pass_ack(now, packet, &ack_summary);
        if self.phase != RecoveryPhase::Open && self.una >= self.recover {
            let window = if in_recovery { s.least } else { window };
            s.clear();
            if window < self.ssthresh() {
                let at_most = (s.in_flight() + BURST) as f64;
                self.update_cc(|cc| cc.on_repaired(at_most));
            }
            self.phase = RecoveryPhase::Open;
        } else if self.phase != RecoveryPhase::Recovery && any_lost {
            self.counts.fast_retransmits += 1;
            self.recover = self.max;
            s.halving = self.bounded(window);
            self.reduce_for_loss(self.una, window);
            s.least = self.cc.least_in_recovery();
            self.phase = RecoveryPhase::Recovery;
        }
        self.tcp_linux = Some(s);
        if self.ecn.is_echo(packet) {
            self.on_echo(self.in_flight());
        }
        self.finish_without_fin();
    }

    /// A window in whole segments, at most the receive window.
    fn bounded(&self, window: f64) -> u64 {
        (window as u64).min(self.rwnd / self.mss).max(1)
    }

    /// Returns the next segment that may be sent: a lost one, else a new one.
    pub(super) fn poll_tcp_linux(&mut self, now: Time) -> Option<Packet> {
        let least = self.tcp_linux.as_ref().filter(|_| self.phase == RecoveryPhase::Recovery).map(|s| s.least);
        let window = self.bounded(least.unwrap_or_else(|| self.cwnd()));
        let s = self.tcp_linux.as_mut()?;
        if s.in_flight() >= window.max(s.halving) {
            return None;
        }
        let next = s.first + s.segments.len() as u64;
        let (seq, len) = if let Some(index) = s.next_lost() {
            let start = if index == 0 { self.una } else { s.segments[index - 1].0 };
            s.segments[index].1 = SackState::Again { next };
            s.lost -= 1;
            s.next = Some(s.first + index as u64);
            (start, s.segments[index].0 - start)
        } else {
            let len = self.mss.min(self.supplied - self.nxt);
            if len == 0 {
                return self.poll_fin(now);
            }
            if !self.options.window_known && self.nxt + len > self.una + self.rwnd {
                self.probe_closed_window(now, false);
                return None;
            }
            s.segments.push_back((self.nxt + len, SackState::InFlight));
            self.nxt += len;
            (self.nxt - len, len)
        };
        s.halving = s.halving.min((s.in_flight() - 1).max(1));
        Some(self.segment_of(now, seq, len))
    }
}
