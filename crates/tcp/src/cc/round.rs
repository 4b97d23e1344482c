//! Round trips, delimited by sequence numbers, and the delays measured in them.

use crate::cc::Ack;

/// A round ends with the ACK of the first segment sent after the end of the previous round.
#[derive(Clone, Copy, Debug, Default)]
pub struct Round {
    end: u64,
}

impl Round {
    /// Whether `ack` ends the round; if so, the next one begins.
    #[inline]
    pub fn ends(&mut self, ack: &Ack) -> bool {
        let over = ack.una > self.end;
        if over {
            self.end = ack.nxt;
        }
        over
    }

    /// Starts the next round now.
    pub fn restart(&mut self, ack: &Ack) {
        self.end = ack.nxt;
    }

    /// The first offset sent in this round.
    pub const fn begin(&self) -> u64 {
        self.end
    }
}

/// RTTs of a round, and the overall minimum, in seconds.
#[derive(Clone, Copy, Debug)]
pub struct RttSamples {
    /// Minimum RTT so far; infinite before the first sample.
    pub base: f64,
    /// Minimum RTT of the round; infinite before the first sample.
    pub min: f64,
    /// Last sample; zero before the first.
    pub last: f64,
    sum: f64,
    count: u32,
}

impl Default for RttSamples {
    fn default() -> Self {
        Self { base: f64::INFINITY, min: f64::INFINITY, last: 0.0, sum: 0.0, count: 0 }
    }
}

impl RttSamples {
    /// Processes the sample of `ack`, if it has one. Zero is not an RTT.
    #[inline]
    pub fn sample(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            let rtt = rtt.as_secs();
            if rtt > 0.0 {
                self.base = self.base.min(rtt);
                self.min = self.min.min(rtt);
                self.last = rtt;
                self.sum += rtt;
                self.count += 1;
            }
        }
    }

    /// Number of samples in this round.
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// Mean of the round, if there are samples.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / f64::from(self.count))
    }

    /// Starts a new round.
    pub fn clear(&mut self) {
        self.min = f64::INFINITY;
        self.sum = 0.0;
        self.count = 0;
    }
}

/// Segments of a window `cwnd` that are queued: the window less what the path itself holds.
#[inline]
pub fn backlog(cwnd: f64, base: f64, rtt: f64) -> f64 {
    if rtt > base { cwnd * (1.0 - base / rtt) } else { 0.0 }
}
