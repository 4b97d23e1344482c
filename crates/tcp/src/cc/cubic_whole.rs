//! CUBIC's congestion avoidance in whole segments, as in Linux.
//!
//! Where Linux departs from RFC 9438, by its behaviour (version 6, `net/ipv4/tcp_cubic`): the curve looks ahead by the
//! minimum RTT instead of SRTT, and its height is a whole number of segments; the step is recomputed at most every 1/32
//! s while the window does not change; before the first loss the window grows by at least one segment for 20
//! acknowledged; it never grows by more than one for two; Reno's window grows by one for 15/8 of the window; a loss
//! keeps 717/1024; the minimum RTT ignores the second after a loss.

use wifair_units::{Duration, Time};

use crate::cc::Ack;

/// Fraction kept on loss, in units of 1/1024.
const BETA: u64 = 717;
/// Before the first loss, at most this many acknowledged segments are needed to grow by one.
const SLOWEST: u64 = 20;
/// Eighths of the window for which Reno's window grows by a segment: 8/3 (1 + beta) / (1 - beta), in whole numbers.
const RENO_EIGHTHS: u64 = 15;
/// How long a step is used while the window does not change.
const STEP: Duration = Duration::from_millis(31);

/// An epoch of congestion avoidance.
#[derive(Clone, Copy, Debug)]
struct WholeEpoch {
    begin: Time,
    /// Seconds to the plateau, and the window there.
    k: f64,
    plateau: u64,
    /// Reno's window, and segments acknowledged towards its growth.
    reno: u64,
    acked: u64,
}

/// State of the cubic function.
#[derive(Clone, Debug, Default)]
pub struct Curve {
    /// Window at the last loss; 0 before the first.
    last_max: u64,
    epoch: Option<WholeEpoch>,
    /// Segments to be acknowledged per growth by one, with the time and the window of the computation.
    step: u64,
    computed: Option<(Time, u64)>,
    /// Segments acknowledged towards the next growth, and the fraction of a segment carried over.
    count: u64,
    part: f64,
    min_rtt: Option<Duration>,
}

impl Curve {
    /// Processes the RTT sample of an ACK.
    pub fn sample(&mut self, ack: &Ack) {
        let early = self.epoch.is_some_and(|epoch| ack.now.saturating_since(epoch.begin) < Duration::from_secs(1));
        if let Some(rtt) = ack.rtt.filter(|_| !early) {
            self.min_rtt = Some(self.min_rtt.map_or(rtt, |min| min.min(rtt)));
        }
    }

    /// Growth of a window of `cwnd` when `segments` are acknowledged.
    pub fn grow(&mut self, ack: &Ack, cwnd: u64, segments: f64) -> u64 {
        self.part += segments;
        let acked = self.part as u64;
        self.part -= acked as f64;
        if acked == 0 {
            return 0;
        }
        self.update(ack.now, cwnd, acked);
        let mut added = 0;
        if self.count >= self.step {
            self.count = 0;
            added = 1;
        }
        self.count += acked;
        if self.count >= self.step {
            added += self.count / self.step;
            self.count %= self.step;
        }
        added
    }

    fn update(&mut self, now: Time, cwnd: u64, acked: u64) {
        if let Some(epoch) = &mut self.epoch {
            epoch.acked += acked;
        }
        if self.computed.is_some_and(|(at, window)| window == cwnd && now.saturating_since(at) <= STEP) {
            return;
        }
        let epoch = self.epoch.get_or_insert_with(|| {
            let (k, plateau) = match self.last_max {
                last if last > cwnd => (libm::cbrt((last - cwnd) as f64 / 0.4), last),
                _ => (0.0, cwnd),
            };
            WholeEpoch { begin: now, k, plateau, reno: cwnd, acked }
        });
        self.computed = Some((now, cwnd));
        let t = (now.saturating_since(epoch.begin) + self.min_rtt.unwrap_or(Duration::ZERO)).as_secs() - epoch.k;
        let height = (0.4 * t.abs() * t.abs() * t.abs()).min(1e9) as u64;
        let target = if t < 0.0 { epoch.plateau.saturating_sub(height) } else { epoch.plateau + height };
        self.step = if target > cwnd { cwnd / (target - cwnd) } else { 100 * cwnd };
        if self.last_max == 0 {
            self.step = self.step.min(SLOWEST);
        }
        let per_segment = (cwnd * RENO_EIGHTHS / 8).max(1);
        while epoch.acked > per_segment {
            epoch.acked -= per_segment;
            epoch.reno += 1;
        }
        if epoch.reno > cwnd {
            self.step = self.step.min(cwnd / (epoch.reno - cwnd));
        }
        self.step = self.step.max(2);
    }

    /// Processes a loss or mark at a window of `cwnd`; returns the threshold.
    pub fn reduce(&mut self, cwnd: u64, fast_convergence: bool) -> u64 {
        self.epoch = None;
        self.computed = None;
        self.last_max = if fast_convergence && cwnd < self.last_max { cwnd * (1024 + BETA) / 2048 } else { cwnd };
        (cwnd * BETA / 1024).max(2)
    }

    /// A timeout resets everything.
    pub fn reset(&mut self) {
        *self = Self::default();
    }

    /// Excludes an idle period of `idle`.
    pub fn pause(&mut self, idle: Duration) {
        if let Some(epoch) = &mut self.epoch {
            epoch.begin += idle;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::testing::ack;

    /// By hand: before a loss a window of 48 grows by one for every 20 segments while the curve is flat.
    #[test]
    fn before_a_loss_twenty_segments_add_one() {
        let mut curve = Curve::default();
        let mut cwnd = 48;
        for i in 1..=40 {
            let ack = ack(1.0 + 0.001 * i as f64, 0.1, i, i + 48);
            cwnd += curve.grow(&ack, cwnd, 1.0);
        }
        assert_eq!(cwnd, 50);
    }

    /// By hand: a loss at 100 leaves 70; K = cbrt(30 / 0.4) = 4.217 s. Reno's window grows by one for 131 segments.
    #[test]
    fn a_loss_keeps_seven_tenths_in_whole_segments() {
        let mut curve = Curve::default();
        assert_eq!(curve.reduce(100, true), 70);
        assert_eq!(curve.reduce(80, true), 56);
        assert_eq!(curve.last_max, 80 * 1741 / 2048);
    }

    /// By hand: after a loss at 100 segments the window is 70 and K = 4.217 s. With 100 ms ahead the curve is at
    /// 100 - floor(0.4 * 4.117^3) = 73: a segment for 70 / 3. 8 s later it is at 100 + floor(0.4 * 3.883^3) = 123, and
    /// the fastest growth is a segment for two.
    #[test]
    fn the_steps_of_the_curve_by_hand() {
        let mut curve = Curve::default();
        let cwnd = curve.reduce(100, true);
        let mut step = |now: f64, acked: u64| {
            let ack = ack(now, 0.1, 1, 71);
            curve.sample(&ack);
            curve.update(ack.now, cwnd, acked);
            curve.step
        };
        assert_eq!(step(1.0, 1), 23);
        assert_eq!(step(1.03, 1), 23);
        // 1.5 s: 100 - floor(0.4 * 3.617^3) = 82, so 70 / 12.
        assert_eq!(step(1.5, 1), 5);
        assert_eq!(step(1.53, 1), 5);
        assert_eq!(step(9.0, 1), 2);
    }

    /// By hand: after a loss at 100 segments a window of 99 has K = 1.357 s, with the curve at 100 around it: a segment
    /// for 99. Reno's window grows by a segment for 185, so it is 102 after 556 and determines the growth: 99 / 3. The
    /// step is used for 31 ms unless the window changes; idle time does not count.
    #[test]
    fn reno_sets_the_pace_where_the_curve_is_flat() {
        let mut curve = Curve { last_max: 100, ..Curve::default() };
        let at = |seconds: f64| ack(seconds, 0.1, 1, 100);
        curve.sample(&at(1.0));
        curve.update(at(1.0).now, 99, 1);
        assert_eq!(curve.step, 99);
        curve.pause(Duration::from_secs(3));
        curve.update(at(5.4).now, 99, 1);
        assert_eq!(curve.step, 99);
        curve.update(at(5.43).now, 99, 554);
        assert_eq!(curve.step, 99);
        curve.update(at(5.44).now, 99, 0);
        assert_eq!(curve.step, 33);
        curve.update(at(5.44).now, 104, 0);
        assert_eq!(curve.step, 10_400, "beyond both");
    }
}
