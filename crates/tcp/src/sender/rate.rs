//! Samples of the delivery rate, for congestion controls that ask for them.
//!
//! Source: Y. Cheng, N. Cardwell, S. Hassas Yeganeh and V. Jacobson, draft-cheng-iccrg-delivery-rate-estimation-02,
//! 2022, section 3. The rate is what was delivered between the sending of a segment and its ACK, over the longer of the
//! times in which that was sent and acknowledged.

use std::collections::VecDeque;

use wifair_units::{Duration, Time};

use crate::cc::RateSample;

/// What was known when a segment was sent.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mark {
    delivered: u64,
    delivered_at: Time,
    first_sent: Time,
    app_limited: bool,
}

/// The state of a connection.
#[derive(Clone, Debug, Default)]
pub struct Rate {
    /// One for each segment of the scoreboard, in the same order.
    marks: VecDeque<Mark>,
    delivered: u64,
    delivered_at: Time,
    first_sent: Time,
    /// Until so much is delivered, samples are limited by the application; 0 for not.
    app_limited: u64,
    /// Of the segment delivered by this ACK that was sent last: its mark and its time in flight at the sender.
    newest: Option<(Mark, Duration)>,
}

impl Rate {
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

    /// A new segment leaves while `in_flight` bytes are on their way.
    pub fn push(&mut self, now: Time, in_flight: u64) {
        let mark = self.mark(now, in_flight);
        self.marks.push_back(mark);
    }

    /// Segment `index` is sent again.
    pub fn send_again(&mut self, now: Time, index: usize, in_flight: u64) {
        self.marks[index] = self.mark(now, in_flight);
    }

    /// Segment `index`, which was sent at `sent`, was delivered.
    pub fn deliver(&mut self, index: usize, sent: Time) {
        let mark = self.marks[index];
        if self.newest.is_none_or(|(newest, _)| mark.delivered >= newest.delivered) {
            self.newest = Some((mark, sent.saturating_since(mark.first_sent)));
            self.first_sent = sent;
        }
    }

    /// The first segment leaves the scoreboard.
    pub fn pop(&mut self) {
        self.marks.pop_front();
    }

    /// All that an ACK delivered, in total `bytes`, is known: the sample, where there is one.
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
        // Section 3.3: less than a round trip cannot be.
        if interval < min_rtt || interval == Duration::ZERO {
            return None;
        }
        Some(RateSample {
            rate: (self.delivered - mark.delivered) as f64 / interval.as_secs(),
            prior_delivered: mark.delivered,
            app_limited: mark.app_limited,
        })
    }

    /// The application had nothing to send while the window was open.
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
        let mut rate = Rate::default();
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

    /// The first segments leave as a burst, and their ACKs come as one: the time of sending is shorter than that of the
    /// ACKs, which counts.
    #[test]
    fn acks_that_come_together_do_not_count_double() {
        let mut rate = Rate::default();
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
