//! Which flows starve: judged against what they asked for and what an equal division would have given them.
//!
//! The max-min fair share of a flow is what it asked for, or, if that is more, the same as every other flow that asked
//! for more gets (D. Bertsekas and R. Gallager, "Data Networks", 2nd edition, section 6.5.2, for a single bottleneck).
//! What is divided is what the flows got together. A flow that gets less than a tenth of its max-min fair share starves.
//! Where all flows ask for more than they get, the share is the mean.

/// A flow below this part of its max-min fair share starves.
pub const STARVED_BELOW: f64 = 0.1;

/// The max-min fair division of `total` among flows that ask for `demands`; an infinite demand is a flow that always
/// has more to send. Returns the shares in the order of the flows. What is left when all demands are met is not given
/// to anybody.
///
/// ```
/// use wifair_metrics::max_min_shares;
/// assert_eq!(max_min_shares(10.0, &[1.0, f64::INFINITY, f64::INFINITY]), [1.0, 4.5, 4.5]);
/// ```
#[must_use]
#[allow(clippy::cast_precision_loss)]
pub fn max_min_shares(total: f64, demands: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..demands.len()).collect();
    order.sort_by(|a, b| demands[*a].total_cmp(&demands[*b]));
    let mut shares = vec![0.0; demands.len()];
    let mut left = total;
    for (met, flow) in order.iter().enumerate() {
        let level = left / (demands.len() - met) as f64;
        shares[*flow] = demands[*flow].min(level).max(0.0);
        left -= shares[*flow];
    }
    shares
}

/// Whether a flow that got `goodput` starves, `share` being its max-min fair share and `demand` what it asked for.
///
/// A flow that asked for something and got nothing always does; one that asked for nothing never does.
#[must_use]
pub fn is_starved(goodput: f64, demand: f64, share: f64) -> bool {
    demand > 0.0 && (goodput <= 0.0 || goodput < STARVED_BELOW * share)
}

/// Which flows starve, in the order of the flows.
///
/// `demands` are what the flows asked for in the unit of `goodputs`, infinite where a flow always had more to send.
///
/// # Panics
/// If there are not as many demands as goodputs.
///
/// ```
/// use wifair_metrics::starved;
/// let endless = f64::INFINITY;
/// assert_eq!(starved(&[4.0, 4.0, 0.1, 0.0], &[endless; 4]), [false, false, true, true]);
/// // A call of 64 kb/s that gets 63 kb/s beside a download of 20 Mb/s does not starve.
/// assert_eq!(starved(&[20e6, 63e3], &[endless, 64e3]), [false, false]);
/// ```
#[must_use]
pub fn starved(goodputs: &[f64], demands: &[f64]) -> Vec<bool> {
    assert_eq!(goodputs.len(), demands.len(), "each flow has a demand");
    let shares = max_min_shares(goodputs.iter().sum(), demands);
    goodputs
        .iter()
        .zip(demands)
        .zip(&shares)
        .map(|((goodput, demand), share)| is_starved(*goodput, *demand, *share))
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ENDLESS: f64 = f64::INFINITY;

    #[test]
    fn all_at_zero_all_starve() {
        assert_eq!(starved(&[0.0, 0.0], &[ENDLESS, 64e3]), [true, true]);
        assert_eq!(starved(&[0.0, 0.0], &[ENDLESS, 0.0]), [true, false]);
    }

    #[test]
    fn a_flow_that_gets_what_it_asks_for_does_not_starve() {
        let goodputs = [5e6, 5e6, 63e3, 3e3];
        assert_eq!(starved(&goodputs, &[ENDLESS, ENDLESS, 64e3, 64e3]), [false, false, false, true]);
    }

    /// Many calls beside one download: the download's share is what they leave, not the mean.
    #[test]
    fn what_the_modest_leave_belongs_to_those_that_ask_for_more() {
        let mut goodputs = vec![64e3; 20];
        let mut demands = vec![64e3; 20];
        goodputs.push(100e3);
        demands.push(ENDLESS);
        assert_eq!(max_min_shares(goodputs.iter().sum(), &demands)[20], 100e3);
    }

    proptest! {
        /// What makes a division max-min fair: demands are not exceeded, all of the total is given out unless all
        /// demands are met, and whoever gets less than it asked for gets as much as anybody.
        #[test]
        fn shares_are_max_min_fair(
            demands in prop::collection::vec(prop_oneof![0.0_f64..100.0, Just(ENDLESS)], 1..12),
            total in 0.0_f64..500.0,
        ) {
            let shares = max_min_shares(total, &demands);
            let given: f64 = shares.iter().sum();
            let asked: f64 = demands.iter().sum();
            prop_assert!((given - total.min(asked)).abs() < 1e-9 * (1.0 + total));
            let most = shares.iter().copied().fold(0.0, f64::max);
            for (share, demand) in shares.iter().zip(&demands) {
                prop_assert!(*share <= *demand);
                prop_assert!(*share >= *demand || *share >= most - 1e-9 * (1.0 + most));
            }
        }
    }
}
