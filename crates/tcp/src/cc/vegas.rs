//! TCP Vegas: keeps between `alpha` and `beta` segments of its own in the queue.
//!
//! Source: L. Brakmo and L. Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global Internet", 1995:
//! congestion avoidance and modified slow start. Once a round trip, with `base` the smallest round-trip time:
//!
//! ```text
//! expected = window / base,   actual = sent in the round / rtt
//! diff     = (expected - actual) * base                                        [segments]
//! diff < alpha: one segment more in the next round;   diff > beta: one segment less
//! ```
//!
//! In slow start the window doubles every other round and stays constant in between, so that the comparison is valid;
//! slow start ends when `diff` exceeds `gamma`. The paper uses the RTT of a distinguished segment and the amount sent
//! since that segment. Here the distinguished segment is the first one that the round's last ACK acknowledges, whose
//! RTT a delayed ACK gives.
//!
//! | variant | departs from the paper |
//! |---|---|
//! | `paper` | - |
//! | `ns2` | mean of the round's samples, without that of the ACK which ends it; `diff` rounded to whole segments; a round with one segment sets `base` anew; of what an ACK acknowledges one segment counts as in flight; an eighth less at the end of slow start; a window that is not used up to two segments does not grow; an idle timer counts as a timeout |
//! | `linux` | smallest sample of the round; `diff` divides by `base` where the paper divides by `rtt`; slow start doubles every round and ends at the window that fits the rate; Reno below three samples a round, and half the window after a loss |
//!
//! After duplicate ACKs three quarters of the window are kept, and after a timeout slow start begins with two segments
//! (U. Hengartner, J. Bolliger and T. Gross, "TCP Vegas Revisited", 2000; ns-2 does the same); Linux follows Reno in
//! both. The finer retransmission timer, checked at duplicate ACKs, is in the sender: see
//! [`CongestionControl::wants_fine_timer`].

use wifair_config::{choice, table};
use wifair_units::Time;

use crate::cc::window::by_window;
use crate::cc::{Ack, CongestionControl, Round, RttSamples, Start, Window};

choice! {
    /// Which implementation of Vegas.
    pub enum VegasVariant {
        /// The paper of 1995.
        Paper = "paper",
        /// ns-2's Agent/TCP/Vegas.
        Ns2 = "ns2",
        /// Linux's tcp_vegas.
        Linux = "linux",
    }
}

table! {
    /// TCP Vegas (L. Brakmo and L. Peterson, 1995); the defaults are ns-2's.
    pub struct Params {
        /// Which implementation of Vegas.
        pub variant: VegasVariant = VegasVariant::Paper;
        /// The window grows while fewer segments than this wait in the queue. Linux: 2.
        pub alpha: f64 = 1.0, "0 or more" => |v| *v >= 0.0;
        /// The window shrinks while more segments than this wait in the queue. Linux: 4.
        pub beta: f64 = 3.0, "0 or more" => |v| *v >= 0.0;
        /// Slow start ends when more segments than this wait in the queue.
        pub gamma: f64 = 1.0, "0 or more" => |v| *v >= 0.0;
    }
}

/// State of Vegas.
#[derive(Clone, Debug)]
pub struct Vegas {
    variant: VegasVariant,
    /// As in [`Params`]; Vegas-Fair and adaptive Vegas modify them.
    pub(super) alpha: f64,
    pub(super) beta: f64,
    gamma: f64,
    pub(super) window: Window,
    pub(super) delays: RttSamples,
    round: Round,
    /// When the last round ended; ns-2 takes the time since then for a round without a sample.
    ended: Option<Time>,
    /// Growth per acknowledged segment until the next decision, in segments.
    increment: f64,
    /// In slow start, whether this round doubles the window.
    doubling: bool,
    /// `diff` of the last round, in segments.
    pub(super) diff: f64,
}

/// Vegas at the start of a connection.
pub fn new(params: &Params, start: Start) -> Vegas {
    Vegas {
        variant: params.variant,
        alpha: params.alpha,
        beta: params.beta,
        gamma: params.gamma,
        window: Window::new(start),
        delays: RttSamples::default(),
        round: Round::default(),
        ended: None,
        increment: 1.0,
        doubling: true,
        diff: 0.0,
    }
}

/// Segments that were in flight when the ACK arrived, with those that it acknowledges.
fn in_transit(ack: &Ack) -> f64 {
    (ack.nxt - ack.una + ack.bytes) as f64 / ack.mss
}

/// Like [`in_transit`] in ns-2, which counts one acknowledged segment whatever the ACK acknowledges: its `t_seqno_ -
/// last_ack_`.
fn in_transit_in_ns2(ack: &Ack) -> f64 {
    (ack.nxt - ack.una) as f64 / ack.mss + 1.0
}

/// Window after a timeout, and lower bound of decisions, in segments.
const RESTART: f64 = 2.0;

impl Vegas {
    /// Processes an ACK; returns whether it ended a round, which updates [`Vegas::diff`].
    pub(super) fn ack(&mut self, ack: &Ack) -> bool {
        // In ns-2 the RTT sample of the ACK that ends a round belongs to the next round.
        let ns2 = self.variant == VegasVariant::Ns2;
        if !ns2 {
            self.delays.sample(ack);
        }
        let over = !ack.duplicate && ack.segments > 0.0 && self.new_ack(ack);
        if ns2 {
            self.delays.sample(ack);
        }
        over
    }

    fn new_ack(&mut self, ack: &Ack) -> bool {
        let begin = self.round.begin();
        let over = self.round.ends(ack);
        if over {
            if !ack.in_recovery {
                match self.variant {
                    // The sample is of the first segment that the ACK acknowledges, and all in flight were sent since.
                    VegasVariant::Paper => self.decide(ack, in_transit(ack)),
                    VegasVariant::Ns2 => self.decide(ack, (ack.nxt - begin) as f64 / ack.mss),
                    VegasVariant::Linux => self.decide_as_linux(ack),
                }
            }
            self.delays.clear();
            self.ended = Some(ack.now);
        }
        if ack.may_grow() {
            self.grow(ack);
        }
        over
    }

    /// Decision at the end of a round. `sent` counts the segments sent since the segment whose RTT was measured.
    fn decide(&mut self, ack: &Ack, sent: f64) {
        let ns2 = self.variant == VegasVariant::Ns2;
        let since = self.ended.filter(|ended| ns2 && *ended < ack.now).map(|ended| (ack.now - ended).as_secs());
        let Some(mean) = self.delays.mean().or(since) else {
            // The first round of ns-2 has no sample; it counts as one without a queue.
            if ns2 && self.window.in_slow_start() {
                self.doubling = !self.doubling;
                self.increment = f64::from(u8::from(self.doubling));
            }
            return;
        };
        // The paper's window is what is in flight; an idle application has less.
        let (rtt, expected) = if ns2 {
            (mean, in_transit_in_ns2(ack))
        } else {
            (self.delays.last, self.window.cwnd.min(in_transit(ack)))
        };
        if ns2 && sent <= 1.0 {
            self.delays.base = rtt;
        }
        let base = self.delays.base;
        let diff = (expected / base - sent / rtt) * base;
        self.diff = if ns2 { libm::floor(diff + 0.5) } else { diff.max(0.0) };
        if self.window.in_slow_start() {
            self.doubling = !self.doubling;
            self.increment = f64::from(u8::from(self.doubling));
            if self.doubling && self.diff > self.gamma {
                self.increment = 0.0;
                self.window.ssthresh = RESTART;
                if ns2 {
                    self.window.set((self.window.cwnd * 0.875).max(RESTART));
                }
            }
        } else if self.diff > self.beta {
            self.window.set((self.window.cwnd - 1.0).max(RESTART));
            self.increment = 0.0;
        } else if self.diff < self.alpha {
            self.increment = 1.0 / self.window.cwnd;
        } else {
            self.increment = 0.0;
        }
    }

    /// Linux decides by the minimum RTT of the round, and only with more than two samples.
    fn decide_as_linux(&mut self, ack: &Ack) {
        let Window { cwnd, .. } = self.window;
        if self.delays.count() <= 2 {
            if !self.window.in_slow_start() {
                self.window.grow_on(ack, 1.0);
            }
            return;
        }
        let (rtt, base) = (self.delays.min, self.delays.base);
        self.diff = cwnd * (rtt - base) / base;
        if self.window.in_slow_start() {
            if self.diff > self.gamma {
                let target = cwnd * base / rtt;
                self.window.set(cwnd.min(libm::floor(target) + 1.0).max(RESTART));
                self.window.ssthresh = self.window.ssthresh.min(self.window.cwnd - 1.0).max(RESTART);
            }
        } else if self.diff > self.beta {
            self.window.set((cwnd - 1.0).max(RESTART));
            self.window.ssthresh = self.window.ssthresh.min(self.window.cwnd - 1.0).max(RESTART);
        } else if self.diff < self.alpha {
            self.window.add(1.0);
        }
    }

    fn grow(&mut self, ack: &Ack) {
        let slow_start = self.window.in_slow_start();
        if self.increment >= 1.0 && !slow_start {
            self.increment = 0.0;
        }
        let increment = match self.variant {
            VegasVariant::Paper => self.increment,
            VegasVariant::Ns2 => {
                if self.window.cwnd - in_transit_in_ns2(ack) <= 2.0 {
                    self.increment
                } else {
                    0.0
                }
            }
            VegasVariant::Linux => f64::from(u8::from(slow_start)),
        };
        if increment > 0.0 {
            self.window.add(increment * ack.segments);
        }
    }
}

impl CongestionControl for Vegas {
    by_window!(only on_recovery_exit, on_spurious);

    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        self.ack(ack);
    }

    fn on_loss(&mut self, in_flight: f64) {
        match self.variant {
            VegasVariant::Linux => self.window.reduce(self.window.cwnd / 2.0),
            variant => {
                let window = self.window.cwnd.min(in_flight.max(RESTART));
                let kept = if variant == VegasVariant::Ns2 {
                    let whole = libm::floor(window); // ns-2 counts whole segments here
                    whole - libm::floor(whole / 4.0)
                } else {
                    0.75 * window
                };
                self.window.reduce(if window <= 3.0 { RESTART } else { kept });
                // The threshold of Vegas is used for slow start only.
                self.window.ssthresh = RESTART;
                if variant == VegasVariant::Paper {
                    self.increment = 0.0;
                }
            }
        }
    }

    fn on_rto(&mut self, in_flight: f64) {
        let half = in_flight / 2.0;
        self.window.collapse(if self.variant == VegasVariant::Ns2 { libm::floor(half) } else { half });
        if self.variant != VegasVariant::Linux {
            self.window.cwnd = RESTART;
        }
        // In ns-2 slow start keeps alternating.
        if self.variant == VegasVariant::Paper {
            self.doubling = true;
            self.increment = 1.0;
        }
    }

    fn on_rto_again(&mut self) {
        self.window.limit(1.0);
    }

    /// ns-2's timer keeps running while nothing is sent, and Vegas treats its expiry as a timeout.
    fn on_idle_restart(&mut self, at_most: f64) {
        if self.variant == VegasVariant::Ns2 {
            self.on_rto(self.window.cwnd);
        } else {
            self.window.limit(at_most);
        }
    }

    fn wants_fine_timer(&self) -> bool {
        self.variant != VegasVariant::Linux
    }
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;

    use super::*;
    use crate::cc::testing::{BottleneckPath, MSS, ack, published, round};

    fn vegas(variant: VegasVariant, ssthresh: f64) -> Vegas {
        new(&Params { variant, ..Params::default() }, Start { ssthresh, ..Start::with_window(2.0) })
    }

    /// Brakmo and Peterson 1995: between alpha and beta extra segments in the network, here 1 and 3. The empty pipe
    /// holds 100 segments and the one in service adds no delay, so the window settles between 101 and 104. ns-2 rounds
    /// the backlog to whole segments: half a segment on either side.
    #[test]
    fn backlog_stays_between_alpha_and_beta() {
        for (variant, low, high) in [
            (VegasVariant::Paper, 101.0, 104.0),
            (VegasVariant::Ns2, 100.5, 104.5),
            (VegasVariant::Linux, 101.0, 104.0),
        ] {
            let mut cc = vegas(variant, f64::INFINITY);
            let mut pipe = BottleneckPath::new(1000.0, 0.1, 1e9);
            pipe.run(&mut cc, 30.0, |_, _| ());
            pipe.run(&mut cc, 60.0, |pipe, cc| {
                assert!((low..=high).contains(&cc.cwnd()), "{variant:?}: cwnd {}", cc.cwnd());
                assert!(pipe.queue() <= high - 100.0, "{variant:?}: {} queued at {}", pipe.queue(), pipe.now);
            });
        }
    }

    /// ACKs of one A-MPDU arrive at one instant: a round that begins and ends at that instant takes no time, and leaves
    /// the shortest round-trip time as it is.
    #[test]
    fn a_round_that_takes_no_time_is_no_round_trip_time() {
        let mut cc = vegas(VegasVariant::Ns2, 2.0);
        cc.on_ack(&ack(0.1, 0.1, 1, 3));
        cc.on_ack(&ack(0.2, 0.1, 4, 5));
        let base = cc.delays.base;
        for acked in 6..9 {
            cc.on_ack(&Ack { rtt: None, ..ack(0.2, 0.1, acked, acked) });
        }
        assert_relative_eq!(cc.delays.base, base);
    }

    /// The modified slow start: the window doubles every other round and stays constant in between.
    #[test]
    fn slow_start_doubles_every_other_round() {
        for variant in [VegasVariant::Paper, VegasVariant::Ns2] {
            let mut cc = vegas(variant, f64::INFINITY);
            let (mut una, mut windows) = (0, vec![]);
            for i in 0..6 {
                una = round(&mut cc, 0.1 * f64::from(i), 0.1, una);
                windows.push(cc.cwnd());
            }
            // The first ACK of a round makes the decision for it.
            assert_eq!(windows, [2.0, 4.0, 4.0, 8.0, 8.0, 16.0], "{variant:?}");
        }
        let mut linux = vegas(VegasVariant::Linux, f64::INFINITY);
        let mut una = 0;
        for expected in [4.0, 8.0, 16.0] {
            una = round(&mut linux, 0.0, 0.1, una);
            assert_eq!(linux.cwnd(), expected);
        }
    }

    /// By hand: window 20, base 100 ms. At 110 ms a backlog of 20 * (1 - 10/11) = 1.82 lies between 1 and 3; at 125 ms
    /// it is 4, above beta; Linux divides by base and gets 2 and 5. The paper uses the RTT of the segment that ends the
    /// round, Linux the minimum of the round, so Linux decides a round later.
    #[test]
    fn the_backlog_divides_by_rtt_in_the_paper_and_by_base_in_linux() {
        for (variant, steady, over, later) in
            [(VegasVariant::Paper, 20.0 / 11.0, 4.0, 0), (VegasVariant::Linux, 2.0, 5.0, 1)]
        {
            let mut cc =
                new(&Params { variant, ..Params::default() }, Start { ssthresh: 2.0, ..Start::with_window(20.0) });
            cc.delays.base = 0.1;
            let mut una = round(&mut cc, 0.0, 0.11, 0);
            cc.window.cwnd = 20.0; // a first round with one sample is Reno's in Linux
            for i in 1..3 {
                una = round(&mut cc, 0.1 * f64::from(i), 0.11, una);
            }
            assert_relative_eq!(cc.diff, steady, max_relative = 1e-9);
            assert_eq!(cc.cwnd(), 20.0);
            for _ in 0..=later {
                una = round(&mut cc, 0.4, 0.125, una);
            }
            assert_relative_eq!(cc.diff, over, max_relative = 1e-9);
            assert_eq!(cc.cwnd(), 19.0);
        }
    }

    /// With delayed ACKs a round ends with an ACK of two segments, and either may be the first of the round. In either
    /// case 20 were in flight and were sent since, so the backlog is that of the previous test.
    #[test]
    fn a_delayed_ack_counts_all_its_segments_as_in_flight() {
        for first in [1, 2] {
            let mut cc = vegas(VegasVariant::Paper, 2.0);
            (cc.delays.base, cc.window.cwnd) = (0.1, 20.0);
            let mut una = 0;
            for acked in std::iter::once(first).chain([2; 30]) {
                let nxt = una + 20;
                una += acked;
                cc.on_ack(&Ack { segments: acked as f64, bytes: acked * MSS, ..ack(0.0, 0.11, una, nxt) });
            }
            assert_relative_eq!(cc.diff, 20.0 / 11.0, max_relative = 1e-9);
            assert_eq!(cc.cwnd(), 20.0, "the first ACK was of {first}");
        }
    }

    /// ns-2.35's Agent/TCP/Vegas on 1 Mb/s and 50 ms in each direction, 1000 bytes on the link, ACKs of 40: its `cwnd_`
    /// sampled every 50 ms, printed to four digits. Its first two segments are sent alone (no SYN, delayed growth), so
    /// the comparison starts with the window of three at 216.64 ms.
    #[test]
    fn the_window_follows_ns2_from_slow_start_to_rest() {
        const WINDOWS: &[(f64, f64)] = &[
            (0.35, 3.0),
            (0.45, 6.0),
            (0.60, 6.0),
            (0.65, 7.0),
            (0.70, 12.0),
            (0.85, 12.0),
            (0.90, 10.5),
            (1.00, 10.6905),
            (1.05, 11.2619),
            (1.10, 11.5397),
            (1.15, 12.0636),
            (1.20, 12.4129),
            (1.25, 12.8962),
            (1.30, 13.3796),
            (1.35, 13.7533),
            (1.40, 14.2018),
            (1.45, 14.63),
            (1.50, 15.048),
            (1.55, 15.4573),
            (1.60, 15.8487),
            (1.65, 16.3054),
            (8.95, 16.3054),
        ];
        let params = Params { variant: VegasVariant::Ns2, ..Params::default() };
        let mut cc = new(&params, Start { ssthresh: 40.0, ..Start::with_window(3.0) });
        let mut pipe = BottleneckPath::new(125.0, 0.10032, 1e9);
        let mut left = WINDOWS.iter().peekable();
        let mut before = 3.0;
        pipe.run(&mut cc, 10.0, |pipe, cc| {
            while let Some((_, window)) = left.next_if(|(at, _)| pipe.now + 0.21664 > *at) {
                assert_relative_eq!(before, *window, epsilon = 5e-5);
            }
            before = cc.cwnd();
        });
        assert!(left.next().is_none());
    }

    #[test]
    fn a_loss_keeps_three_quarters_and_a_timeout_two_segments() {
        let mut cc = vegas(VegasVariant::Ns2, 2.0);
        cc.window.cwnd = 10.5;
        cc.on_loss(10.5);
        assert_eq!(cc.cwnd(), 8.0); // 10 - 10/4 in whole segments
        cc.on_rto(8.0);
        assert_eq!((cc.cwnd(), cc.ssthresh()), (2.0, 4.0));
        cc.on_loss(3.0);
        assert_eq!(cc.cwnd(), 2.0);
    }

    /// ns-2.35, an idle connection with its default restart: at each expiry of the timer the window falls to 2 and the
    /// threshold to half of the window, at least 2.
    #[test]
    fn ns2_treats_the_end_of_an_idle_timer_as_a_timeout() {
        let mut cc = vegas(VegasVariant::Ns2, 40.0);
        cc.window.cwnd = 16.3;
        cc.on_idle_restart(1.0);
        assert_eq!((cc.cwnd(), cc.ssthresh()), (2.0, 8.0));
        cc.on_idle_restart(1.0);
        assert_eq!((cc.cwnd(), cc.ssthresh()), (2.0, 2.0));
        let mut paper = vegas(VegasVariant::Paper, 40.0);
        paper.window.cwnd = 16.3;
        paper.on_idle_restart(1.0);
        assert_eq!((paper.cwnd(), paper.ssthresh()), (1.0, 40.0));
    }

    #[test]
    fn windows_are_those_of_the_published_formula() {
        for row in published("vegas") {
            let params = Params { variant: VegasVariant::Linux, alpha: 2.0, beta: 4.0, gamma: 1.0 };
            let mut cc = new(&params, row.start);
            cc.delays.base = row.base;
            for _ in 0..2 {
                cc.on_ack(&row.sample(row.rtt));
            }
            cc.on_ack(&row.ack(0.0));
            row.hold(&cc);
        }
    }

    /// The paper and ns-2 keep three quarters of what is in flight, at least two segments; ns-2 subtracts a quarter of
    /// whole segments, rounded down. Linux halves the window.
    #[test]
    fn a_loss_keeps_three_quarters_of_the_flight() {
        for (variant, cwnd, flight, kept) in [
            (VegasVariant::Paper, 21.5, 30.0, 0.75 * 21.5),
            (VegasVariant::Paper, 30.0, 21.5, 0.75 * 21.5),
            (VegasVariant::Ns2, 21.5, 30.0, 16.0),
            (VegasVariant::Ns2, 30.0, 1.0, 2.0),
            (VegasVariant::Paper, 3.0, 3.0, 2.0),
            (VegasVariant::Paper, 3.2, 9.0, 0.75 * 3.2),
            (VegasVariant::Linux, 21.0, 5.0, 10.5),
        ] {
            let mut cc = vegas(variant, 2.0);
            (cc.window.cwnd, cc.increment) = (cwnd, 0.5);
            cc.on_loss(flight);
            let ssthresh = if variant == VegasVariant::Linux { kept } else { 2.0 };
            assert_eq!((cc.cwnd(), cc.ssthresh()), (kept, ssthresh), "{variant:?}, {cwnd}, {flight}");
            assert_eq!(cc.increment, if variant == VegasVariant::Paper { 0.0 } else { 0.5 }, "{variant:?}");
        }
    }

    /// A timeout restarts slow start with two segments, up to half the flight, which ns-2 rounds down; Linux with one.
    /// Only the paper's begins with a round that doubles.
    #[test]
    fn a_timeout_begins_slow_start_anew() {
        for (variant, cwnd, ssthresh) in
            [(VegasVariant::Paper, 2.0, 10.5), (VegasVariant::Ns2, 2.0, 10.0), (VegasVariant::Linux, 1.0, 10.5)]
        {
            let mut cc = vegas(variant, 2.0);
            (cc.window.cwnd, cc.increment, cc.doubling) = (40.0, 0.0, false);
            cc.on_rto(21.0);
            assert_eq!((cc.cwnd(), cc.ssthresh()), (cwnd, ssthresh), "{variant:?}");
            let is_paper = variant == VegasVariant::Paper;
            assert_eq!((cc.doubling, cc.increment), (is_paper, f64::from(u8::from(is_paper))), "{variant:?}");
        }
    }

    #[test]
    fn windows_follow_the_published_rules() {
        for (name, variant) in [("vegas", VegasVariant::Paper), ("vegas-linux", VegasVariant::Linux)] {
            crate::cc::testing::follow(name, |start| new(&Params { variant, ..Params::default() }, start));
        }
    }
}
