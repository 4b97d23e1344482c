//! TCP Prague: DCTCP made fit for the Internet, the scalable congestion control of L4S (RFC 9331, section 4).
//!
//! Sources: K. De Schepper et al., draft-briscoe-iccrg-prague-congestion-control-04, 2024, section 2, with the
//! constants of Linux's `tcp_prague` (L4STeam, branch of 2025):
//!
//! ```text
//! each round, and no more than once in 25 ms:  alpha += (M - alpha) / 16,   M = marked / delivered segments
//! marked, as often:    W *= 1 - alpha / 2      (the first mark: W /= 2, and slow start ends)
//! segment acknowledged and not marked:  W += min(1, rtt / 25 ms)^2 / W
//! pacing rate:         max(W, flight) / srtt, twice that in the first half of slow start
//! ```
//!
//! W is fractional and may fall below the least window of two segments, which pacing then spreads. The limits of 25 ms
//! (independence of the round-trip time) hold four rounds after slow start. A loss halves the window, as with Reno.
//! Bursts last 250 us at most: `tcp.tso_autosize` forms longer ones.
//!
//! Left out: the change to a smaller segment size and to a rate instead of a window at four segments and below, and the
//! fallback on classic queues, which Linux has removed and the draft leaves open (section 2.4.4); without it Prague
//! takes more than its share where a single queue marks like a drop (RFC 9331, section 4.3.1).

use wifair_config::table;
use wifair_units::{Duration, Time};

use crate::cc::window::by_window;
use crate::cc::{Ack, CongestionControl, Start, Window};

table! {
    /// TCP Prague (draft-briscoe-iccrg-prague-congestion-control-04).
    pub struct Params {
        /// Weight of the latest round in the estimate of marked segments.
        pub g: f64 = 0.0625, "more than 0, at most 1" => |v| *v > 0.0 && *v <= 1.0;
        /// The round-trip time down to which the rate does not depend on it; 0 s for no such limit.
        pub rtt_target: Duration = Duration::from_millis(25), "at most 100 ms" => |time| *time <= Duration::from_millis(100);
        /// Rounds after slow start in which the increase still depends on the round-trip time.
        pub rtt_transition: u32 = 4;
    }
}

/// The least window, in segments.
const LEAST: f64 = 2.0;
/// The least pacing rate, in bytes per second.
const LEAST_RATE: f64 = 12_500.0;

/// State of Prague.
#[derive(Clone, Debug, Default)]
pub struct Prague {
    params: Params,
    /// The window; above it `window.cwnd` may not fall.
    window: Window,
    alpha: f64,
    saw_mark: bool,
    /// The round ends when this offset is acknowledged.
    round_end: u64,
    rounds: u32,
    /// Delivered and marked since `alpha` was last updated, in bytes.
    delivered: u64,
    marked: u64,
    alpha_at: Time,
    reduced_at: Time,
    now: Time,
    pacing: Option<f64>,
}

/// Prague at the start of a connection.
pub fn new(params: &Params, start: Start) -> Prague {
    Prague { params: params.clone(), window: Window::new(start), ..Prague::default() }
}

impl Prague {
    /// Whether the rate no longer depends on the round-trip time.
    fn is_independent(&self) -> bool {
        self.window.cwnd >= self.window.ssthresh && self.rounds >= self.params.rtt_transition
    }

    /// Segments that a window of acknowledged segments adds.
    fn increase(&self, srtt: Duration) -> f64 {
        let ratio = srtt.as_secs() / self.params.rtt_target.as_secs().max(1e-9);
        if self.rounds < self.params.rtt_transition || srtt == Duration::ZERO || ratio >= 1.0 {
            1.0
        } else {
            ratio * ratio
        }
    }

    fn update_alpha(&mut self) {
        if self.saw_mark && self.delivered > 0 {
            let marked = (self.marked as f64 / self.delivered as f64).min(1.0);
            self.alpha += self.params.g * (marked - self.alpha);
        }
        (self.delivered, self.marked, self.alpha_at) = (0, 0, self.now);
        self.rounds = self.rounds.saturating_add(u32::from(self.window.cwnd >= self.window.ssthresh));
    }

    /// Lowers the window; it may be less than [`LEAST`], as pacing counts.
    fn reduce_to(&mut self, window: f64) {
        self.window.reduce(window);
        self.window.cwnd = window.max(0.01);
    }

    fn pace(&mut self, ack: &Ack) {
        let srtt = ack.srtt.as_secs();
        if srtt > 0.0 {
            let held = if self.window.cwnd < LEAST { self.window.cwnd } else { self.window.cwnd.max(ack.in_flight) };
            let factor = if self.window.cwnd < self.window.ssthresh / 2.0 { 2.0 } else { 1.0 };
            self.pacing = Some((factor * held * ack.mss / srtt).max(LEAST_RATE));
        }
    }
}

impl CongestionControl for Prague {
    fn on_ack(&mut self, ack: &Ack) {
        self.now = ack.now;
        self.delivered += ack.bytes;
        self.marked += ack.marked_bytes;
        let marked = ack.marked_bytes as f64 / ack.mss.max(1.0);
        if marked > 0.0 && !self.saw_mark {
            self.saw_mark = true;
            self.reduce_to(self.window.cwnd / 2.0);
        }
        let unmarked = (ack.segments - marked).max(0.0);
        if ack.may_grow() {
            self.window.grow(unmarked, self.increase(ack.srtt));
        }
        let waits = self.is_independent() && ack.now.saturating_since(self.alpha_at) < self.params.rtt_target;
        if !waits && ack.una >= self.round_end {
            self.round_end = ack.nxt;
            self.update_alpha();
        }
        self.pace(ack);
    }

    fn on_ecn(&mut self, _: f64) {
        if self.is_independent() && self.now.saturating_since(self.reduced_at) < self.params.rtt_target {
            return;
        }
        self.reduced_at = self.now;
        self.reduce_to(self.window.cwnd * (1.0 - self.alpha / 2.0));
    }

    fn on_loss(&mut self, _: f64) {
        self.reduce_to(self.window.cwnd / 2.0);
    }

    fn on_rto(&mut self, _: f64) {
        self.window.collapse(self.window.cwnd / 2.0);
    }

    by_window!(@ on_recovery_exit);
    by_window!(@ on_idle_restart);
    by_window!(@ on_spurious);

    fn cwnd(&self) -> f64 {
        self.window.cwnd.max(LEAST)
    }

    fn ssthresh(&self) -> f64 {
        self.window.ssthresh
    }

    fn pacing_rate(&self) -> Option<f64> {
        self.pacing
    }

    fn wants_mark_per_packet(&self) -> bool {
        true
    }

    /// Linux leaves the window to it in recovery, too.
    fn rules_recovery(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;

    use super::*;
    use crate::cc::testing::{BottleneckPath, MSS, ack};

    fn congested(cwnd: f64, rounds: u32) -> Prague {
        let mut cc = new(&Params::default(), Start { ssthresh: 2.0, ..Start::with_window(cwnd) });
        (cc.saw_mark, cc.rounds, cc.alpha) = (true, rounds, 0.5);
        cc
    }

    /// Draft, section 2.3: half of 16 segments marked, from alpha = 0.5 and g = 1/16: still 0.5; a quarter: 0.484375.
    #[test]
    fn the_estimate_by_hand() {
        for (each, alpha) in [(2, 0.5), (4, 0.484_375)] {
            let mut cc = congested(16.0, 0);
            cc.round_end = 16 * MSS;
            for una in 1..=16 {
                let marked_bytes = if una % each == 0 { MSS } else { 0 };
                cc.on_ack(&Ack { marked_bytes, ..ack(0.1, 0.1, una, 32) });
            }
            assert_relative_eq!(cc.alpha, alpha);
            let cwnd = cc.cwnd();
            cc.on_ecn(16.0);
            assert_relative_eq!(cc.cwnd(), cwnd * (1.0 - alpha / 2.0));
        }
    }

    /// Section 2.4.3: at 5 ms a round adds (5/25)^2 = 0.04 segments once the transition is over, before it and at 25 ms
    /// a whole one; marked segments add nothing.
    #[test]
    fn growth_by_hand() {
        for (rtt, rounds, added) in [(0.005, 4, 0.04), (0.005, 0, 1.0), (0.025, 4, 1.0), (0.1, 4, 1.0)] {
            let mut cc = congested(10.0, rounds);
            cc.on_ack(&ack(0.0, rtt, 1, 10));
            assert_relative_eq!(cc.cwnd(), 10.0 + added / 10.0, max_relative = 1e-6);
            let before = cc.cwnd();
            cc.on_ack(&Ack { ecn_echo: true, marked_bytes: MSS, ..ack(0.0, rtt, 2, 10) });
            assert_eq!(cc.cwnd(), before);
        }
    }

    /// The first mark halves the window and ends slow start.
    #[test]
    fn the_first_mark_halves() {
        let mut cc = new(&Params::default(), Start::with_window(20.0));
        cc.round_end = 20 * MSS;
        cc.on_ack(&Ack { ecn_echo: true, marked_bytes: MSS, ..ack(0.0, 0.1, 1, 20) });
        assert_eq!((cc.cwnd(), cc.ssthresh()), (10.0, 10.0));
        cc.on_ecn(20.0);
        assert_eq!(cc.cwnd(), 10.0); // alpha is zero still
    }

    /// Marks of 25 ms reduce once where the round-trip time is 5 ms.
    #[test]
    fn reductions_keep_their_distance() {
        let mut cc = congested(16.0, 4);
        let mut cuts = 0;
        for ms in 100..200 {
            cc.now = Time::ZERO + Duration::from_millis(ms);
            let before = cc.window.cwnd;
            cc.on_ecn(16.0);
            cuts += u32::from(cc.window.cwnd < before);
        }
        assert_eq!(cuts, 4);
    }

    /// RFC 9331, section 4.3: with a marking probability p and a round-trip time above 25 ms, about two marks a round
    /// hold the window, W = 2 / p, as with DCTCP. A step at 20 segments behind a pipe of 100 keeps the queue near it.
    #[test]
    fn a_step_holds_the_queue() {
        let mut cc = new(&Params::default(), Start::with_window(10.0));
        let mut pipe = BottleneckPath::new(1000.0, 0.1, 1e9);
        pipe.mark_at = 20.0;
        pipe.run(&mut cc, 60.0, |_, _| ());
        let (mut low, mut high) = (f64::INFINITY, 0.0_f64);
        pipe.run(&mut cc, 120.0, |pipe, _| {
            low = low.min(pipe.queue());
            high = high.max(pipe.queue());
        });
        assert!(high < 26.0 && low > 5.0, "from {low} to {high}");
    }

    /// Below two segments the window stays at two, and the pacing rate falls on.
    #[test]
    fn pacing_goes_below_the_least_window() {
        let mut cc = congested(2.0, 0);
        cc.alpha = 1.0;
        cc.on_ack(&ack(0.1, 0.1, 1, 2));
        let before = cc.pacing_rate().expect("it paces");
        cc.on_ecn(2.0);
        cc.on_ack(&Ack { ecn_echo: true, marked_bytes: MSS, ..ack(0.1, 0.1, 2, 3) });
        assert_eq!(cc.cwnd(), 2.0);
        assert!(cc.pacing_rate().expect("it paces") < 0.6 * before.max(20_000.0));
    }

    #[test]
    fn a_loss_halves() {
        let mut cc = congested(40.0, 4);
        cc.on_loss(40.0);
        assert_eq!((cc.cwnd(), cc.ssthresh()), (20.0, 20.0));
    }
}
