//! Fairness indices over the shares of flows and the finish times of sessions.

/// The sums behind Jain's fairness index, so that shares can be added one at a time.
///
/// Source: R. Jain, D.-M. Chiu and W. Hawe, "A Quantitative Measure of Fairness and Discrimination for Resource
/// Allocation in Shared Computer Systems", DEC Research Report TR-301, 1984.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Jain {
    count: f64,
    sum: f64,
    squares: f64,
}

impl Jain {
    /// Adds the share of one more flow.
    #[inline]
    pub fn add(&mut self, share: f64) {
        self.count += 1.0;
        self.sum += share;
        self.squares += share * share;
    }

    /// `(sum x)^2 / (n * sum x^2)`: 1 when all get the same, `1/n` when one gets everything. NaN without shares, or if
    /// all are zero.
    pub fn index(&self) -> f64 {
        self.sum * self.sum / (self.count * self.squares)
    }
}

/// Jain's fairness index of shares; see [`Jain::index`]. Shares are scaled first, so that squares of tiny or huge ones
/// stay within the range of a double.
///
/// ```
/// assert_eq!(wifair_metrics::jain_index(&[3.0, 3.0, 0.0, 0.0]), 0.5);
/// ```
pub fn jain_index(shares: &[f64]) -> f64 {
    let peak = shares.iter().copied().fold(0.0, f64::max);
    // Scaling by a power of two is exact.
    let scale = if peak > 0.0 { libm::ldexp(1.0, -libm::ilogb(peak)) } else { 1.0 };
    let mut jain = Jain::default();
    for share in shares {
        jain.add(share * scale);
    }
    jain.index()
}

/// Index of instantaneous fairness: the mean of ideal over real finish times of transmission sessions.
///
/// Source: Y.-J. Jung and C. Y. Park, "Instantaneous Fairness of TCP in Heterogeneous Traffic Wireless LAN
/// Environments", 2016: with the fair share S (equation 1), a session of l bytes that takes the time m has the ratio
/// l / (m S) (equation 2), and the index is the mean of the ratios of all sessions that finished (equation 3).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FinishRatios {
    sum: f64,
    /// Sessions in the mean.
    pub finished: u64,
}

impl FinishRatios {
    /// Adds a session of `bytes` bytes that took `seconds`, where a fair share would have been `share` bytes per
    /// second. Returns its ratio; a session that did not finish (NaN or infinite time) or took no time is left out and
    /// returns `None`.
    pub fn add(&mut self, bytes: f64, seconds: f64, share: f64) -> Option<f64> {
        let ratio = bytes / share / seconds;
        if !(ratio.is_finite() && seconds.is_finite() && seconds > 0.0) {
            return None;
        }
        self.sum += ratio;
        self.finished += 1;
        Some(ratio)
    }

    /// Adds all sessions of another index.
    pub fn merge(&mut self, other: Self) {
        self.sum += other.sum;
        self.finished += other.finished;
    }

    /// Rescales the fair share of all sessions: every ratio becomes `factor` times as large.
    pub fn scale(&mut self, factor: f64) {
        if self.finished > 0 {
            self.sum *= factor;
        }
    }

    /// Equation 3: 1 where sessions take as long as with a fair share. NaN if none finished.
    pub fn index(&self) -> f64 {
        self.sum / self.finished as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jain_of_equal_shares_is_one_and_of_one_share_a_fraction() {
        assert!((jain_index(&[2.0; 7]) - 1.0).abs() < 1e-12);
        assert!((jain_index(&[0.0, 0.0, 5.0, 0.0]) - 0.25).abs() < 1e-12);
        assert!(jain_index(&[0.0, 0.0]).is_nan());
        assert!(jain_index(&[]).is_nan());
    }

    #[test]
    fn jain_does_not_depend_on_the_unit() {
        for unit in [1e-200, 1e-3, 7.0, 1e200] {
            assert!((jain_index(&[3.0 * unit, unit]) - 0.8).abs() < 1e-12, "{unit}");
        }
    }

    /// Worked by hand: 10 kB in 0.1 s and in 0.2 s with a share of 100 kB/s are ratios of 1 and 0.5.
    #[test]
    fn finish_ratios_leave_out_unfinished_sessions() {
        let mut ratios = FinishRatios::default();
        assert_eq!(ratios.add(10e3, 0.1, 100e3), Some(1.0));
        assert_eq!(ratios.add(10e3, 0.2, 100e3), Some(0.5));
        for unmeasured in [f64::NAN, f64::INFINITY, 0.0] {
            assert_eq!(ratios.add(10e3, unmeasured, 100e3), None);
        }
        assert_eq!((ratios.finished, ratios.index()), (2, 0.75));
        assert!(FinishRatios::default().index().is_nan());
    }

    /// Worked by hand: ratios of 1 and 0.5, merged with one of 0.25, have the mean 7/12; half the fair share doubles
    /// it.
    #[test]
    fn finish_ratios_merge_and_scale() {
        let mut ratios = FinishRatios::default();
        ratios.add(10e3, 0.1, 100e3);
        ratios.add(10e3, 0.2, 100e3);
        let mut late = FinishRatios::default();
        late.add(10e3, 0.4, 100e3);
        ratios.merge(late);
        assert_eq!(ratios.finished, 3);
        assert!((ratios.index() - 7.0 / 12.0).abs() < 1e-12);
        ratios.scale(2.0);
        assert!((ratios.index() - 7.0 / 6.0).abs() < 1e-12);
        // Without sessions there is nothing to scale, not even by an infinite factor (a fair share of zero).
        let mut none = FinishRatios::default();
        none.scale(f64::INFINITY);
        assert_eq!(none, FinishRatios::default());
    }
}
