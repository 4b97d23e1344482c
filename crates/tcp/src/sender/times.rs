//! Transmission times of segments, for a sender without scoreboard whose congestion control needs them.
//!
//! Source of the fine timer: L. Brakmo and L. Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global
//! Internet", 1995, the new retransmission mechanism. At a duplicate ACK, and at the first two new ACKs after a
//! retransmission, the first segment is retransmitted if it is older than an RTO measured by an exact clock. The window
//! is reduced only for a segment sent after the last reduction.

use std::collections::VecDeque;

use wifair_units::{Duration, Time};

use super::rate::RateSampler;
use crate::cc::RateSample;
use crate::rtt::{Rtt, RttConfig};

#[derive(Clone, Copy, Debug)]
struct SentTime {
    end: u64,
    sent: Time,
    retransmitted: bool,
}

/// Transmission times of all segments that are not acknowledged.
#[derive(Clone, Debug)]
pub struct Times {
    entries: VecDeque<SentTime>,
    /// RTT estimate by the exact clock.
    fine: Rtt,
    /// Whether the fine timer is in use.
    fine_timer: bool,
    /// Time of the last window reduction.
    reduced_at: Time,
    /// Number of further new ACKs that check the fine timer.
    looks: u8,
    rate: Option<RateSampler>,
}

impl Times {
    /// Creates an empty list; `rate` enables delivery rate samples.
    pub fn new(config: RttConfig, fine_timer: bool, rate: bool) -> Self {
        let exact = RttConfig { min_rto: Duration::ZERO, tick: Duration::ZERO, min_rto_on_variance: false, ..config };
        let fine = Rtt::new(exact, Duration::ZERO);
        Self {
            entries: VecDeque::new(),
            fine,
            fine_timer,
            reduced_at: Time::ZERO,
            looks: 0,
            rate: rate.then(RateSampler::default),
        }
    }

    /// Records a new segment that ends at `end`, sent with `in_flight` bytes in flight.
    pub fn push(&mut self, now: Time, end: u64, in_flight: u64) {
        if let Some(rate) = &mut self.rate {
            rate.push(now, in_flight);
        }
        self.entries.push_back(SentTime { end, sent: now, retransmitted: false });
    }

    /// Records the retransmission of `seq .. end` with `in_flight` bytes in flight.
    pub fn retransmit(&mut self, now: Time, seq: u64, end: u64, in_flight: u64) {
        let first = self.entries.partition_point(|entry| entry.end <= seq);
        for (index, entry) in self.entries.range_mut(first..).enumerate() {
            (entry.sent, entry.retransmitted) = (now, true);
            if let Some(rate) = &mut self.rate {
                rate.retransmit(now, first + index, in_flight);
            }
            if entry.end >= end {
                break;
            }
        }
        self.looks = 2;
    }

    /// Acknowledges all segments before `una`. Returns when the last of them was sent, if it was sent only once.
    /// Without the fine timer, that time counts only if no other segment among them was retransmitted either, because
    /// the last one may have arrived long before (Linux). With the fine timer (ns-2's Vegas), the others do not matter.
    pub fn acknowledge(&mut self, now: Time, una: u64) -> Option<Time> {
        let mut last = None;
        let mut retransmitted = false;
        while let Some(&entry) = self.entries.front().filter(|entry| entry.end <= una) {
            retransmitted = entry.retransmitted || retransmitted && !self.fine_timer;
            last = (!retransmitted).then_some(entry.sent);
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

    /// The delivery rate sample of an ACK for `bytes`.
    pub fn rate_sample(&mut self, now: Time, bytes: u64, min_rtt: Duration) -> Option<RateSample> {
        self.rate.as_mut()?.sample(now, bytes, min_rtt)
    }

    /// Marks delivery rate samples as application-limited, with `in_flight` bytes in flight.
    pub fn on_app_limited(&mut self, in_flight: u64) {
        if let Some(rate) = &mut self.rate {
            rate.on_app_limited(in_flight);
        }
    }

    fn is_late(&self, now: Time) -> bool {
        self.fine_timer && self.entries.front().is_some_and(|entry| now.saturating_since(entry.sent) > self.fine.rto())
    }

    /// Whether the first segment is to be retransmitted at this duplicate ACK.
    pub fn is_late_at_duplicate(&self, now: Time) -> bool {
        self.is_late(now)
    }

    /// Whether the first segment is to be retransmitted at this new ACK.
    pub fn is_late_at_ack(&mut self, now: Time) -> bool {
        let looks = self.looks > 0;
        self.looks = self.looks.saturating_sub(1);
        looks && self.is_late(now)
    }

    /// Whether the loss of the first segment reduces the window; if it does, `now` is recorded as the last reduction.
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
            falls_gently: false,
            forget_after: 4,
        }
    }

    /// RTTs of exactly 100 ms: after one sample the RTO is 100 + 4 * 50 ms. The segment sent at 10 ms is late after 310
    /// ms; it was sent before the reduction at 20 ms, so its loss reduces nothing.
    #[test]
    fn the_fine_timer_is_that_of_the_paper() {
        let mut times = Times::new(config(), true, false);
        times.push(at(0), 1000, 0);
        times.push(at(10), 2000, 1000);
        assert_eq!(times.acknowledge(at(100), 1000), Some(at(0)));
        assert!(!times.is_late_at_duplicate(at(310)) && times.is_late_at_duplicate(at(311)));
        assert!(times.reduces(at(20)));
        assert!(!times.reduces(at(311)));
        times.retransmit(at(311), 1000, 2000, 1000);
        assert!(!times.is_late_at_ack(at(611)) && times.is_late_at_ack(at(612)) && !times.is_late_at_ack(at(613)));
        assert_eq!(times.acknowledge(at(700), 2000), None);
    }

    /// Both segments arrived at once and both ACKs were lost. The ACK of the first segment's retransmission covers both
    /// after 30 s, which is not the RTT of the second.
    #[test]
    fn an_ack_for_a_retransmission_gives_no_sample_of_what_came_with_it() {
        for (fine_timer, sample) in [(false, None), (true, Some(at(10)))] {
            let mut times = Times::new(config(), fine_timer, false);
            times.push(at(0), 1000, 0);
            times.push(at(10), 2000, 1000);
            times.retransmit(at(30_000), 0, 1000, 1000);
            assert_eq!(times.acknowledge(at(30_100), 2000), sample);
        }
    }
}
