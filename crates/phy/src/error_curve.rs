//! A table of error rates by signal to interference and noise ratio (SINR).

use std::ops::RangeInclusive;

/// Natural logarithm of the probability that one bit is correct, by SINR.
#[derive(Clone, Debug)]
pub(crate) struct ErrorCurve {
    /// Lowest tabulated SINR, in dB.
    lowest: f64,
    /// Table entries per dB.
    density: f64,
    values: Vec<f64>,
}

impl ErrorCurve {
    /// Tabulates `log_success`, a function of the SINR as a ratio, over this range in dB.
    pub fn new(range_db: RangeInclusive<f64>, density: f64, log_success: impl Fn(f64) -> f64) -> Self {
        let (lowest, highest) = range_db.into_inner();
        let mut values: Vec<f64> = vec![];
        let mut db = lowest;
        while db <= highest {
            // Once bit errors fall below 1e-15, further entries are not worth the integral.
            let done = values.last().is_some_and(|last| *last > -1e-15);
            values.push(if done { 0.0 } else { log_success(libm::pow(10.0, db / 10.0)) });
            db += 1.0 / density;
        }
        Self { lowest, density, values }
    }

    /// Natural logarithm of the probability that all of `bits` bits are right. The logarithm of the error is
    /// interpolated between table entries.
    pub fn log_survival(&self, sinr: f64, bits: f64) -> f64 {
        let place = (10.0 * libm::log10(sinr) - self.lowest) * self.density;
        if place >= (self.values.len() - 1) as f64 || bits <= 0.0 {
            return 0.0;
        }
        if place.is_nan() || place < 0.0 {
            return f64::NEG_INFINITY;
        }
        let index = place as usize;
        let (low, high) = (self.values[index], self.values[index + 1]);
        if low == 0.0 {
            return 0.0;
        }
        if high == 0.0 || low.is_infinite() {
            return bits * low;
        }
        let part = place - index as f64;
        -bits * libm::exp(libm::log(-low) * (1.0 - part) + libm::log(-high) * part)
    }
}
