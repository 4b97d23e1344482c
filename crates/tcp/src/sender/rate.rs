//! Delivery rate samples, for congestion controls that need them.
//!
//! Source: Y. Cheng, N. Cardwell, S. Hassas Yeganeh and V. Jacobson, draft-cheng-iccrg-delivery-rate-estimation-02,
//! 2022, section 3. The rate is the data delivered between the transmission of a segment and its ACK, divided by the
//! longer of the two intervals in which that data was sent and acknowledged.

use std::collections::VecDeque;

use wifair_units::{Duration, Time};

use crate::cc::RateSample;

/// State recorded when a segment is sent (the draft's `P.*`).
#[derive(Clone, Copy, Debug, Default)]
pub struct Mark {
    delivered: u64,
    delivered_at: Time,
    first_sent: Time,
    app_limited: bool,
}

/// State of a connection (the draft's `C.*`).
#[derive(Clone, Debug, Default)]
pub struct RateSampler {
    /// One per segment of the scoreboard, in the same order.
    marks: VecDeque<Mark>,
    delivered: u64,
    delivered_at: Time,
    first_sent: Time,
    /// Samples are application-limited until this many bytes are delivered; 0 if they are not.
    app_limited: u64,
    /// Record of the latest-sent segment that this ACK delivered, and the interval in which the data was sent.
    newest: Option<(Mark, Duration)>,
}

impl RateSampler {
    fn mark(&mut self, now: Time, in_flight: u64) -> Mark {
        if in_flight == 0 {
            (self.first_sent, self.delivered_at) = (now, now);
        }
        Mark {
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
            app_limited: self.app_limited > 0,
        }
    }

    /// Records a new segment, sent with `in_flight` bytes in flight.
    pub fn push(&mut self, now: Time, in_flight: u64) {
        let mark = self.mark(now, in_flight);
        self.marks.push_back(mark);
    }

    /// Records the retransmission of segment `index`.
    pub fn retransmit(&mut self, now: Time, index: usize, in_flight: u64) {
        self.marks[index] = self.mark(now, in_flight);
    }

    /// Records the delivery of segment `index`, which was sent at `sent`.
    pub fn deliver(&mut self, index: usize, sent: Time) {
        let mark = self.marks[index];
        if self.newest.is_none_or(|(newest, _)| mark.delivered >= newest.delivered) {
            self.newest = Some((mark, sent.saturating_since(mark.first_sent)));
            self.first_sent = sent;
        }
    }

    /// Removes the first segment, as the scoreboard does.
    pub fn pop(&mut self) {
        self.marks.pop_front();
    }

    /// Returns the sample of an ACK that delivered `bytes`, if it gives one. Call after `deliver` for each of its
    /// segments.
    pub fn sample(&mut self, now: Time, bytes: u64, min_rtt: Duration) -> Option<RateSample> {
        if bytes > 0 {
            self.delivered += bytes;
            self.delivered_at = now;
        }
        if self.app_limited > 0 && self.delivered > self.app_limited {
            self.app_limited = 0;
        }
        let (mark, send_time) = self.newest.take()?;
        let ack_time = now.saturating_since(mark.delivered_at);
        let interval = send_time.max(ack_time);
        // Section 3.3: an interval below the minimum RTT is implausible.
        if interval < min_rtt || interval == Duration::ZERO {
            return None;
        }
        Some(RateSample {
            rate: (self.delivered - mark.delivered) as f64 / interval.as_secs(),
            prior_delivered: mark.delivered,
            app_limited: mark.app_limited,
        })
    }

    /// Marks samples as application-limited: there was nothing to send while the window was open.
    pub fn on_app_limited(&mut self, in_flight: u64) {
        self.app_limited = (self.delivered + in_flight).max(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    /// Segments of 1000 bytes leave every 10 ms and are acknowledged 100 ms later: 100 kB/s.
    #[test]
    fn a_steady_flow_measures_its_rate() {
        let mut rate = RateSampler::default();
        let mut last = None;
        for tick in 0..30_u64 {
            if tick >= 10 {
                rate.deliver(0, at(10 * (tick - 10)));
                rate.pop();
                last = rate.sample(at(10 * tick), 1000, Duration::from_millis(100));
            }
            rate.push(at(10 * tick), 1000 * tick.min(9));
        }
        let last = last.expect("a sample for each ACK");
        assert_eq!((last.rate, last.app_limited), (100_000.0, false));
    }

    /// The first segments leave as a burst and their ACKs arrive together: the send interval is shorter than the ACK
    /// interval, so the latter counts.
    #[test]
    fn acks_that_come_together_do_not_count_double() {
        let mut rate = RateSampler::default();
        rate.push(at(0), 0);
        rate.push(at(0), 1000);
        rate.deliver(0, at(0));
        rate.pop();
        rate.deliver(0, at(0));
        rate.pop();
        let sample = rate.sample(at(100), 2000, Duration::from_millis(100)).expect("a sample");
        assert_eq!((sample.rate, sample.prior_delivered), (20_000.0, 0));
    }
}
