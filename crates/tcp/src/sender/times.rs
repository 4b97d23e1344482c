//! When each segment was sent, for a sender without scoreboard whose congestion control wants to know.
//!
//! Source of the fine timer: L. Brakmo and L. Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global
//! Internet", 1995, the new retransmission mechanism. When a duplicate ACK comes in, or one of the first two new ACKs
//! after a retransmission, the first segment is sent again if it is older than a timeout of an exact clock; and the
//! window is reduced only for a segment that was sent after the last reduction.

use std::collections::VecDeque;

use wifair_units::{Duration, Time};

use super::rate::Rate;
use crate::cc::RateSample;
use crate::rtt::{Rtt, RttConfig};

#[derive(Clone, Copy, Debug)]
struct Entry {
    end: u64,
    sent: Time,
    again: bool,
}

/// Times of sending, of all that is not acknowledged.
#[derive(Clone, Debug)]
pub struct Times {
    entries: VecDeque<Entry>,
    /// Round-trip time by the exact clock.
    fine: Rtt,
    /// The fine timer is looked at.
    fine_timer: bool,
    /// When the window was reduced last.
    reduced_at: Time,
    /// New ACKs that will still look at the timer.
    looks: u8,
    rate: Option<Rate>,
}

impl Times {
    /// Nothing was sent yet; with `rate` the delivery rate is sampled.
    pub fn new(config: RttConfig, fine_timer: bool, rate: bool) -> Self {
        let exact = RttConfig { min_rto: Duration::ZERO, tick: Duration::ZERO, min_rto_on_variance: false, ..config };
        let fine = Rtt::new(exact, Duration::ZERO);
        Self {
            entries: VecDeque::new(),
            fine,
            fine_timer,
            reduced_at: Time::ZERO,
            looks: 0,
            rate: rate.then(Rate::default),
        }
    }

    /// A segment that ends at `end` leaves, for the first time, while `in_flight` bytes are on their way.
    pub fn push(&mut self, now: Time, end: u64, in_flight: u64) {
        if let Some(rate) = &mut self.rate {
            rate.push(now, in_flight);
        }
        self.entries.push_back(Entry { end, sent: now, again: false });
    }

    /// `seq .. end` leaves again while `in_flight` bytes are on their way.
    pub fn send_again(&mut self, now: Time, seq: u64, end: u64, in_flight: u64) {
        let first = self.entries.partition_point(|entry| entry.end <= seq);
        for (index, entry) in self.entries.range_mut(first..).enumerate() {
            (entry.sent, entry.again) = (now, true);
            if let Some(rate) = &mut self.rate {
                rate.send_again(now, first + index, in_flight);
            }
            if entry.end >= end {
                break;
            }
        }
        self.looks = 2;
    }

    /// All before `una` has arrived: when the last segment of that was sent, if it was sent once. With the fine timer
    /// that is all (ns-2's Vegas); else nothing before it may have been sent again either, because the segment may have
    /// arrived long ago, and only its ACK was missing (Linux).
    pub fn acknowledge(&mut self, now: Time, una: u64) -> Option<Time> {
        let mut last = None;
        let mut again = false;
        while let Some(&entry) = self.entries.front().filter(|entry| entry.end <= una) {
            again = entry.again || again && !self.fine_timer;
            last = (!again).then_some(entry.sent);
            if let Some(rate) = &mut self.rate {
                rate.deliver(0, entry.sent);
                rate.pop();
            }
            self.entries.pop_front();
        }
        if let Some(sent) = last {
            self.fine.sample(sent, now);
        }
        last
    }

    /// The sample of the delivery rate of an ACK for `bytes`.
    pub fn rate_sample(&mut self, now: Time, bytes: u64, min_rtt: Duration) -> Option<RateSample> {
        self.rate.as_mut()?.sample(now, bytes, min_rtt)
    }

    /// The application had nothing to send while the window was open and `in_flight` bytes were on their way.
    pub fn on_app_limited(&mut self, in_flight: u64) {
        if let Some(rate) = &mut self.rate {
            rate.on_app_limited(in_flight);
        }
    }

    fn is_late(&self, now: Time) -> bool {
        self.fine_timer && self.entries.front().is_some_and(|entry| now.saturating_since(entry.sent) > self.fine.rto())
    }

    /// Whether the first segment is to be sent again at this duplicate ACK.
    pub fn is_late_at_duplicate(&self, now: Time) -> bool {
        self.is_late(now)
    }

    /// Whether the first segment is to be sent again at this new ACK.
    pub fn is_late_at_ack(&mut self, now: Time) -> bool {
        let looks = self.looks > 0;
        self.looks = self.looks.saturating_sub(1);
        looks && self.is_late(now)
    }

    /// Whether the loss of the first segment reduces the window; if so that is noted.
    pub fn reduces(&mut self, now: Time) -> bool {
        let recent = self.entries.front().is_none_or(|entry| entry.sent > self.reduced_at);
        if recent || !self.fine_timer {
            self.reduced_at = now;
            return true;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    fn config() -> RttConfig {
        RttConfig {
            initial_rto: Duration::from_secs(3),
            min_rto: Duration::from_millis(200),
            max_rto: Duration::from_secs(60),
            tick: Duration::from_millis(10),
            min_rto_on_variance: false,
            forget_after: 4,
        }
    }

    /// Round trips of exactly 100 ms: after one sample the timeout is 100 + 4 * 50 ms. The segment sent at 10 ms is
    /// late after 310 ms; it was sent before the reduction at 20 ms, so its loss reduces nothing.
    #[test]
    fn the_fine_timer_is_that_of_the_paper() {
        let mut times = Times::new(config(), true, false);
        times.push(at(0), 1000, 0);
        times.push(at(10), 2000, 1000);
        assert_eq!(times.acknowledge(at(100), 1000), Some(at(0)));
        assert!(!times.is_late_at_duplicate(at(310)) && times.is_late_at_duplicate(at(311)));
        assert!(times.reduces(at(20)));
        assert!(!times.reduces(at(311)));
        times.send_again(at(311), 1000, 2000, 1000);
        assert!(!times.is_late_at_ack(at(611)) && times.is_late_at_ack(at(612)) && !times.is_late_at_ack(at(613)));
        assert_eq!(times.acknowledge(at(700), 2000), None);
    }

    /// Both segments arrived at once, and both ACKs were lost. The timeout's retransmission of the first brings an ACK
    /// for both after 30 s, which says nothing of the second's round trip.
    #[test]
    fn an_ack_for_a_retransmission_gives_no_sample_of_what_came_with_it() {
        for (fine_timer, sample) in [(false, None), (true, Some(at(10)))] {
            let mut times = Times::new(config(), fine_timer, false);
            times.push(at(0), 1000, 0);
            times.push(at(10), 2000, 1000);
            times.send_again(at(30_000), 0, 1000, 1000);
            assert_eq!(times.acknowledge(at(30_100), 2000), sample);
        }
    }
}
