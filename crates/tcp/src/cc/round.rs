//! Round trips, followed by sequence numbers, and the delays measured in them.

use crate::cc::Ack;

/// A round lasts until the ACK of the first segment sent after the last round's end.
#[derive(Clone, Copy, Debug, Default)]
pub struct Round {
    end: u64,
}

impl Round {
    /// Whether `ack` ends the round; then the next one begins.
    #[inline]
    pub fn ends(&mut self, ack: &Ack) -> bool {
        let over = ack.una > self.end;
        if over {
            self.end = ack.nxt;
        }
        over
    }

    /// The next round begins now, whatever is under way.
    pub fn restart(&mut self, ack: &Ack) {
        self.end = ack.nxt;
    }

    /// The first offset sent in this round.
    #[must_use]
    pub const fn begin(&self) -> u64 {
        self.end
    }
}

/// Round-trip times of a round, and the smallest of all: in seconds, as f64.
#[derive(Clone, Copy, Debug)]
pub struct Delays {
    /// Smallest round-trip time so far, infinite before the first.
    pub base: f64,
    /// Smallest of the round, infinite while there is none.
    pub min: f64,
    /// The last sample, zero before the first.
    pub last: f64,
    sum: f64,
    count: u32,
}

impl Default for Delays {
    fn default() -> Self {
        Self { base: f64::INFINITY, min: f64::INFINITY, last: 0.0, sum: 0.0, count: 0 }
    }
}

impl Delays {
    /// Takes in the sample of `ack`, where it has one. Zero is not a round-trip time.
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

    /// Samples in this round.
    #[must_use]
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// Mean of the round, where there are samples.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / f64::from(self.count))
    }

    /// A new round begins.
    pub fn clear(&mut self) {
        self.min = f64::INFINITY;
        self.sum = 0.0;
        self.count = 0;
    }
}

/// Segments of a window `cwnd` that wait in queues: the window less what the path itself holds.
#[inline]
#[must_use]
pub fn backlog(cwnd: f64, base: f64, rtt: f64) -> f64 {
    if rtt > base { cwnd * (1.0 - base / rtt) } else { 0.0 }
}
