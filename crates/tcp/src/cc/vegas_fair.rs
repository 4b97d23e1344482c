//! TCP Vegas-Fair: Vegas that is more aggressive at the start of a session after a pause.
//!
//! Source: Y.-J. Jung and C. Y. Park, "Instantaneous Fairness of TCP in Heterogeneous Traffic Wireless LAN
//! Environments", 2016, section 5.1 and Fig. 5. After each data segment sent:
//!
//! ```text
//! now - last >= pause:  session = payload;  unless raised: alpha += 1, beta += 2
//! else:                 session += payload; session >= introduction: alpha, beta as configured
//! last = now
//! ```
//!
//! Interpretation: the first segment of a connection counts as the first after a pause; retransmissions count, because
//! they pass through the same function; the length of a session is measured in payload. To avoid raising twice, the
//! figure compares alpha with its configured value; this file uses a flag. Three consequences of the figure are kept:
//! the segment that opens a session is sent with the old parameters; an introduction that the first segment alone
//! completes ends only with the second segment; a stall longer than a pause within a session, as after a timeout, opens
//! a new session.

use wifair_config::table;
use wifair_units::{Bytes, Duration, Time};

use crate::cc::vegas::{self, Vegas, VegasVariant};
use crate::cc::window::by_inner;
use crate::cc::{Ack, CongestionControl, Start};

table! {
    /// TCP Vegas-Fair (Y.-J. Jung and C. Y. Park, 2016, Fig. 5).
    pub struct Params {
        /// Which implementation of Vegas it extends; ns-2's in the paper.
        pub variant: VegasVariant = VegasVariant::Ns2;
        /// As in Vegas, outside the introduction.
        pub alpha: f64 = 1.0, "0 or more" => |v| *v >= 0.0;
        /// As in Vegas, outside the introduction.
        pub beta: f64 = 3.0, "0 or more" => |v| *v >= 0.0;
        /// As in Vegas.
        pub gamma: f64 = 1.0, "0 or more" => |v| *v >= 0.0;
        /// Time without a segment after which a new session begins.
        pub pause_interval: Duration = Duration::from_secs(1);
        /// Payload after which the introduction of a session is over.
        pub intro_length: Bytes = Bytes(5000);
        /// How much higher alpha is in the introduction.
        pub alpha_increment: f64 = 1.0, "0 or more" => |v| *v >= 0.0;
        /// How much higher beta is in the introduction.
        pub beta_increment: f64 = 2.0, "0 or more" => |v| *v >= 0.0;
    }
}

/// State of Vegas-Fair.
#[derive(Clone, Debug)]
pub struct VegasFair {
    vegas: Vegas,
    params: Params,
    last_sent: Option<Time>,
    session: u64,
    raised: bool,
}

/// Vegas-Fair at the start of a connection.
pub fn new(params: &Params, start: Start) -> VegasFair {
    let Params { variant, alpha, beta, gamma, .. } = *params;
    VegasFair {
        vegas: vegas::new(&vegas::Params { variant, alpha, beta, gamma }, start),
        params: params.clone(),
        last_sent: None,
        session: 0,
        raised: false,
    }
}

impl CongestionControl for VegasFair {
    by_inner!(vegas: on_ack, on_loss, on_rto);

    fn wants_sends(&self) -> bool {
        true
    }

    fn on_send(&mut self, now: Time, payload: u64, _: u64) {
        let pause = self.last_sent.is_none_or(|last| now.saturating_since(last) >= self.params.pause_interval);
        if pause {
            self.session = payload;
            if !self.raised {
                self.raised = true;
                self.vegas.alpha = self.params.alpha + self.params.alpha_increment;
                self.vegas.beta = self.params.beta + self.params.beta_increment;
            }
        } else {
            self.session += payload;
            if self.session >= self.params.intro_length.0 {
                self.raised = false;
                self.vegas.alpha = self.params.alpha;
                self.vegas.beta = self.params.beta;
            }
        }
        self.last_sent = Some(now);
    }

    fn wants_fine_timer(&self) -> bool {
        self.vegas.wants_fine_timer()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::testing::time;

    /// Sends at the given times (ms) and returns (alpha, beta) after each segment, by Fig. 5 and by hand.
    fn trace(cc: &mut VegasFair, sends: &[(u64, u64)]) -> Vec<(f64, f64)> {
        sends
            .iter()
            .map(|&(ms, payload)| {
                cc.on_send(time(ms as f64 * 1e-3), payload, 0);
                (cc.vegas.alpha, cc.vegas.beta)
            })
            .collect()
    }

    const RAISED: (f64, f64) = (2.0, 5.0);
    const USUAL: (f64, f64) = (1.0, 3.0);

    /// Twenty segments of 1000 bytes. The introduction is 5000 bytes, so the fifth segment of a session ends it.
    #[test]
    fn the_first_twenty_segments_match_the_figure_worked_by_hand() {
        let mut cc = new(&Params::default(), Start::with_window(2.0));
        let sends: Vec<_> = [
            0, 1, 20, 21, 40, 41, 60, // a session: raised for 4, usual from the 5th on
            1060, 1080, // exactly 1 s later: a pause
            2079, 2081, 2100, // 999 ms: no pause; 5000 bytes are reached by the 12th segment
            2200, 2201, // goes on
            3300, // a pause again, raised anew
            4400, // and another: still raised, not twice
            5500, 5501, 5502, 5503, // fifth session: 4000 bytes
        ]
        .map(|ms| (ms, 1000))
        .to_vec();
        let mut expected = vec![RAISED; 4];
        expected.extend([USUAL; 3]);
        expected.extend([RAISED; 4]);
        expected.extend([USUAL; 3]);
        expected.extend([RAISED; 6]);
        assert_eq!(sends.len(), 20);
        assert_eq!(trace(&mut cc, &sends), expected);
    }

    #[test]
    fn a_first_segment_as_long_as_the_introduction_does_not_end_it() {
        let mut cc = new(&Params::default(), Start::with_window(2.0));
        assert_eq!(trace(&mut cc, &[(0, 6000), (1, 10)]), [RAISED, USUAL]);
    }

    #[test]
    fn a_second_pause_within_the_introduction_raises_only_once() {
        let mut cc = new(&Params::default(), Start::with_window(2.0));
        assert_eq!(trace(&mut cc, &[(0, 1000), (2000, 1000), (4000, 1000)]), [RAISED; 3]);
    }
}
