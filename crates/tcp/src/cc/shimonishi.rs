//! Shimonishi's control for data centres: probes the bandwidth in two stages, then responds to a predicted RTT.
//!
//! Source: H. Shimonishi, J. Higuchi, T. Yoshikawa and A. Iwata, "A Congestion Control Algorithm for Data Center Area
//! Communications", 2008. Only the abstract was available: a delay-based control in the Ethernet MAC, with inline
//! probing of the initial bandwidth in two stages, because a few packets overestimate it, and with a prediction of the
//! RTT that shows congestion several round trips earlier than a measurement does. This file is an interpretation, end
//! to end instead of MAC to MAC:
//!
//! ```text
//! stage 1: the ACKs of the initial window give a bandwidth B: acknowledged / time between the first and the last
//! stage 2: the window grows to B * base, at most stage_two segments, and B is measured again
//! then, each round: rtt' = max(rtt, flight / B),   B from the last round
//!                   w = min(2 w, (1 - gain) w + gain (base / rtt' * w + backlog))
//! ```
//!
//! `flight / B` is the RTT that the segments now in flight will see. The control law is FAST's.

use wifair_config::table;
use wifair_units::Time;

use crate::cc::fast::next_window;
use crate::cc::window::by_window;
use crate::cc::{Ack, CongestionControl, Round, RttSamples, Start, Window};

table! {
    /// Control for data centres (after H. Shimonishi et al., 2008).
    pub struct Params {
        /// Maximum window of the second stage of probing, in segments.
        pub stage_two: f64 = 32.0, "2 or more" => |v| *v >= 2.0;
        /// Target number of segments in the queue.
        pub backlog: f64 = 2.0, "more than 0" => |v| *v > 0.0;
        /// Fraction of the distance to the target window covered per round trip.
        pub gain: f64 = 0.5, "more than 0, at most 1" => |v| *v > 0.0 && *v <= 1.0;
    }
}

/// Stage of probing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ProbeStage {
    #[default]
    One,
    Two,
    Done,
}

/// State of the control.
#[derive(Clone, Debug, Default)]
pub struct Shimonishi {
    params: Params,
    window: Window,
    delays: RttSamples,
    round: Round,
    stage: ProbeStage,
    /// First and last ACK of the round, and the bytes between them.
    train: Option<(Time, Time, f64)>,
    /// Bandwidth in bytes per second; zero before the first measurement.
    bandwidth: f64,
}

/// The control at the start of a connection.
pub fn new(params: &Params, start: Start) -> Shimonishi {
    Shimonishi { params: params.clone(), window: Window::new(start), ..Shimonishi::default() }
}

impl Shimonishi {
    fn measure(&mut self) {
        if let Some((first, last, bytes)) = self.train.take() {
            let span = last.saturating_since(first).as_secs();
            if span > 0.0 && bytes > 0.0 {
                self.bandwidth = bytes / span;
            }
        }
    }

    fn decide(&mut self, ack: &Ack) {
        let Params { stage_two, backlog, gain } = self.params;
        let base = self.delays.base;
        if !base.is_finite() || self.bandwidth <= 0.0 {
            return;
        }
        let pipe = self.bandwidth * base / ack.mss;
        match self.stage {
            ProbeStage::One => {
                self.window.set(pipe.clamp(self.window.cwnd, stage_two.max(self.window.cwnd)));
                self.stage = ProbeStage::Two;
            }
            ProbeStage::Two => {
                self.window.set(pipe.max(2.0));
                self.window.ssthresh = self.window.cwnd;
                self.stage = ProbeStage::Done;
            }
            ProbeStage::Done => {
                let predicted = ack.in_flight * ack.mss / self.bandwidth;
                let rtt = self.delays.last.max(predicted).max(base);
                self.window.set(next_window(self.window.cwnd, base, rtt, backlog, gain).max(2.0));
            }
        }
    }
}

impl CongestionControl for Shimonishi {
    by_window!();

    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        self.delays.sample(ack);
        if self.round.ends(ack) {
            self.measure();
            if ack.may_grow() {
                self.decide(ack);
            }
        }
        let bytes = ack.bytes as f64;
        self.train = Some(match self.train {
            None => (ack.now, ack.now, 0.0),
            Some((first, _, sum)) => (first, ack.now, sum + bytes),
        });
    }

    fn on_loss(&mut self, _: f64) {
        self.window.reduce(self.window.cwnd / 2.0);
    }

    fn on_rto(&mut self, _: f64) {
        self.window.collapse(self.window.cwnd / 2.0);
        self.stage = ProbeStage::One;
        self.train = None;
        self.bandwidth = 0.0;
    }
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;

    use super::*;
    use crate::cc::testing::{BottleneckPath, ack};

    /// 100 segments fill the pipe, one more is in service, and two are to be queued.
    #[test]
    fn the_queue_settles_at_the_backlog() {
        let mut cc = new(&Params::default(), Start::with_window(4.0));
        let mut pipe = BottleneckPath::new(1000.0, 0.1, 1e9);
        pipe.run(&mut cc, 30.0, |_, _| ());
        pipe.run(&mut cc, 60.0, |_, cc| assert!((cc.cwnd() - 103.0).abs() <= 2.0, "{}", cc.cwnd()));
    }

    /// Two stages: four segments measure the bottleneck, 32 measure it again, and the third round fills the pipe.
    #[test]
    fn probing_fills_the_pipe_in_the_third_round_without_a_queue() {
        let mut cc = new(&Params::default(), Start::with_window(4.0));
        let mut pipe = BottleneckPath::new(1000.0, 0.1, 1e9);
        let mut windows = vec![];
        pipe.run(&mut cc, 0.45, |_, cc| windows.push(cc.cwnd()));
        windows.dedup();
        assert_eq!(windows[..2], [4.0, 32.0]);
        assert!((95.0..=105.0).contains(&windows[2]), "{windows:?}");
    }

    /// By hand, with w = 100, gain 1/2 and a backlog of 2: 200 segments in flight at 1000 a second will see 200 ms,
    /// twice the base, so w = 50 + (50 + 2) / 2; 50 in flight see the base, w = 50 + (100 + 2) / 2. ACKs of 1000 bytes
    /// at 0, 10 and 20 ms measure 2000 bytes in 20 ms.
    #[test]
    fn the_window_follows_the_predicted_round_trip_time() {
        for (in_flight, window) in [(200.0, 76.0), (50.0, 101.0)] {
            let mut cc = new(&Params::default(), Start::with_window(100.0));
            (cc.stage, cc.bandwidth) = (ProbeStage::Done, 1e6);
            (cc.delays.base, cc.delays.last) = (0.1, 0.1);
            cc.decide(&Ack { in_flight, ..ack(1.0, 0.1, 1, 101) });
            assert_relative_eq!(cc.cwnd(), window, max_relative = 1e-9);
        }
        let mut cc = new(&Params::default(), Start::with_window(100.0));
        for (now, una) in [(0.0, 1), (0.01, 2), (0.02, 3)] {
            cc.on_ack(&Ack { in_recovery: true, ..ack(now, 0.1, una, 101) });
        }
        cc.measure();
        assert_relative_eq!(cc.bandwidth, 100_000.0, max_relative = 1e-9);
    }

    /// A loss halves the window; a timeout begins probing anew, with one segment and no bandwidth.
    #[test]
    fn a_timeout_probes_again() {
        let mut cc = new(&Params::default(), Start::with_window(40.0));
        (cc.stage, cc.bandwidth, cc.train) = (ProbeStage::Done, 1e6, Some((Time::ZERO, Time::ZERO, 0.0)));
        cc.on_loss(90.0);
        assert_eq!((cc.cwnd(), cc.ssthresh(), cc.stage, cc.bandwidth), (20.0, 20.0, ProbeStage::Done, 1e6));
        cc.on_rto(90.0);
        assert_eq!(
            (cc.cwnd(), cc.ssthresh(), cc.stage, cc.bandwidth, cc.train),
            (1.0, 10.0, ProbeStage::One, 0.0, None)
        );
    }

    /// The first bandwidth sets a window between the present one and `stage_two`, the second ends slow start with the
    /// window that fills the path, at least two segments. Without a bandwidth nothing is decided.
    #[test]
    fn stages_of_probing_by_hand() {
        for (stage, bandwidth, window, after, next) in [
            (ProbeStage::One, 0.0, 4.0, 4.0, ProbeStage::One),
            (ProbeStage::One, 1e5, 4.0, 10.0, ProbeStage::Two),
            (ProbeStage::One, 1e4, 4.0, 4.0, ProbeStage::Two),
            (ProbeStage::One, 1e7, 4.0, 32.0, ProbeStage::Two),
            (ProbeStage::One, 1e7, 50.0, 50.0, ProbeStage::Two),
            (ProbeStage::Two, 1e6, 32.0, 100.0, ProbeStage::Done),
            (ProbeStage::Two, 1e4, 32.0, 2.0, ProbeStage::Done),
        ] {
            let mut cc = new(&Params::default(), Start::with_window(window));
            (cc.stage, cc.bandwidth, cc.delays.base) = (stage, bandwidth, 0.1);
            cc.decide(&ack(1.0, 0.1, 1, 101));
            assert_eq!((cc.cwnd(), cc.stage), (after, next), "{stage:?} {bandwidth}");
            assert_eq!(cc.ssthresh(), if stage == ProbeStage::Two { after } else { f64::INFINITY });
        }
    }
}
