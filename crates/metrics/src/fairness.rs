//! Indices of fairness over the shares of flows.

/// Jain's fairness index, `(sum x)^2 / (n * sum x^2)`: 1 when all get the same, `1/n` when one gets everything.
/// NaN without any share, or where all are zero.
///
/// Source: R. Jain, D.-M. Chiu and W. Hawe, "A Quantitative Measure of Fairness and Discrimination for Resource
/// Allocation in Shared Computer Systems", DEC Research Report TR-301, 1984.
///
/// ```
/// assert_eq!(wifair_metrics::jain_index(&[3.0, 3.0, 0.0, 0.0]), 0.5);
/// ```
#[must_use]
#[allow(clippy::cast_precision_loss)]
pub fn jain_index(shares: &[f64]) -> f64 {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|x| x * x).sum();
    sum * sum / (shares.len() as f64 * squares)
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
}
