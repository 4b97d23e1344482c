//! Which flows starve, by what they asked for and what an equal division would have given them.
//!
//! What all flows received together is the total to be divided. A flow's max-min fair share is what it asked for or, if
//! it asked for more than can be granted, an amount per second of activity that is the same for all such flows (D.
//! Bertsekas and R. Gallager, "Data Networks", 2nd edition, section 6.5.2, for a single bottleneck). A flow that gets
//! less than a tenth of its max-min fair share starves. If all flows are active all the time and ask for more than they
//! get, the share is the mean.

/// A flow starves below this fraction of its max-min fair share.
pub const STARVED_BELOW: f64 = 0.1;

/// What one flow asked for and got, in the same unit (bytes or bit/s).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Supply {
    /// What it got.
    pub got: f64,
    /// What it asked for; infinite if it always had more to send.
    pub asked: f64,
    /// How long it was active, in any unit that is the same for all flows.
    pub active: f64,
}

impl Supply {
    /// A flow that was active all the time and always had more to send.
    pub const fn endless(got: f64) -> Self {
        Self { got, asked: f64::INFINITY, active: 1.0 }
    }
}

/// The max-min fair division of what the flows got together, in the order of the flows. Whatever remains once all have
/// what they asked for is given to nobody.
///
/// ```
/// use wifair_metrics::{Supply, max_min_shares};
/// let modest = Supply { asked: 1.0, ..Supply::endless(1.0) };
/// assert_eq!(max_min_shares(&[modest, Supply::endless(8.0), Supply::endless(1.0)]), [1.0, 4.5, 4.5]);
/// ```
pub fn max_min_shares(flows: &[Supply]) -> Vec<f64> {
    // A flow that was never active takes nothing, wherever it stands.
    let rate_asked = |flow: &Supply| flow.asked / flow.active;
    let mut order: Vec<usize> = (0..flows.len()).collect();
    order.sort_by(|a, b| rate_asked(&flows[*a]).total_cmp(&rate_asked(&flows[*b])));
    let mut left: f64 = flows.iter().map(|flow| flow.got).sum();
    let mut time: f64 = flows.iter().map(|flow| flow.active).sum();
    let mut shares = vec![0.0; flows.len()];
    for index in order {
        let flow = &flows[index];
        if flow.active > 0.0 {
            shares[index] = flow.asked.min(left * flow.active / time).max(0.0);
        }
        left = (left - shares[index]).max(0.0);
        time -= flow.active;
    }
    shares
}

/// Which flows starve, in the order of the flows.
///
/// A flow that asked for something and got nothing always starves; one that asked for nothing never does.
///
/// ```
/// use wifair_metrics::{Supply, starved};
/// assert_eq!(starved(&[4.0, 4.0, 0.1, 0.0].map(Supply::endless)), [false, false, true, true]);
/// // A call of 64 kb/s that gets 63 kb/s beside a download of 20 Mb/s does not starve.
/// let call = Supply { got: 63e3, asked: 64e3, active: 1.0 };
/// assert_eq!(starved(&[Supply::endless(20e6), call]), [false, false]);
/// ```
pub fn starved(flows: &[Supply]) -> Vec<bool> {
    starved_below(flows, STARVED_BELOW)
}

/// The same with another fraction than [`STARVED_BELOW`].
pub fn starved_below(flows: &[Supply], below: f64) -> Vec<bool> {
    let judge = |(flow, share): (&Supply, f64)| {
        flow.asked > 0.0 && flow.active > 0.0 && (flow.got <= 0.0 || flow.got < below * share)
    };
    flows.iter().zip(max_min_shares(flows)).map(judge).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ENDLESS: f64 = f64::INFINITY;

    fn asking(got: f64, asked: f64) -> Supply {
        Supply { got, asked, active: 1.0 }
    }

    #[test]
    fn if_all_get_nothing_all_starve() {
        assert_eq!(starved(&[Supply::endless(0.0), asking(0.0, 64e3)]), [true, true]);
        assert_eq!(starved(&[Supply::endless(0.0), asking(0.0, 0.0)]), [true, false]);
    }

    #[test]
    fn a_flow_that_gets_what_it_asks_for_does_not_starve() {
        let flows = [Supply::endless(5e6), Supply::endless(5e6), asking(63e3, 64e3), asking(3e3, 64e3)];
        assert_eq!(starved(&flows), [false, false, false, true]);
    }

    /// Many calls beside one download: the download's share is what the calls leave, not the mean.
    #[test]
    fn unused_shares_go_to_flows_that_ask_for_more() {
        let mut flows = vec![asking(64e3, 64e3); 20];
        flows.push(Supply::endless(100e3));
        assert_eq!(max_min_shares(&flows)[20], 100e3);
    }

    /// Worked by hand: 110 for 11 seconds of activity are 10 a second.
    #[test]
    fn a_late_flow_has_a_smaller_share() {
        let flows =
            [Supply { got: 108.0, asked: ENDLESS, active: 10.0 }, Supply { got: 2.0, asked: ENDLESS, active: 1.0 }];
        assert_eq!(max_min_shares(&flows), [100.0, 10.0]);
        assert_eq!(starved(&flows), [false, false]);
    }

    #[test]
    fn a_flow_that_was_never_active_has_no_share() {
        let absent = Supply { got: 0.0, asked: 5.0, active: 0.0 };
        assert_eq!(max_min_shares(&[absent]), [0.0]);
        assert_eq!(max_min_shares(&[absent, Supply::endless(3.0)]), [0.0, 3.0]);
        assert_eq!(starved(&[absent, Supply::endless(3.0)]), [false, false]);
    }

    proptest! {
        /// The defining property of a max-min fair division: no flow gets more than it asked for; the whole total is
        /// given out unless all have what they asked for; and a flow that gets less than it asked for gets as much per
        /// second as any other flow.
        #[test]
        fn shares_are_max_min_fair(
            flows in prop::collection::vec(
                (0.0_f64..50.0, prop_oneof![0.0_f64..100.0, Just(ENDLESS)], 0.1_f64..10.0),
                1..12,
            ),
        ) {
            let flows: Vec<Supply> =
                flows.into_iter().map(|(got, asked, active)| Supply { got, asked, active }).collect();
            let shares = max_min_shares(&flows);
            let (total, asked): (f64, f64) = (flows.iter().map(|f| f.got).sum(), flows.iter().map(|f| f.asked).sum());
            let slack = 1e-9 * (1.0 + total);
            prop_assert!((shares.iter().sum::<f64>() - total.min(asked)).abs() < slack);
            let most = shares.iter().zip(&flows).map(|(share, flow)| share / flow.active).fold(0.0, f64::max);
            for (share, flow) in shares.iter().zip(&flows) {
                prop_assert!(*share <= flow.asked);
                prop_assert!(*share >= flow.asked - slack || share / flow.active >= most - 10.0 * slack);
            }
        }
    }
}
