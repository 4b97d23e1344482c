//! Round-trip time and retransmission timeout.
//!
//! Source: V. Paxson, M. Allman, J. Chu and M. Sargent, RFC 6298, 2011:
//!
//! ```text
//! RTTVAR = 3/4 RTTVAR + 1/4 |SRTT - R|,   SRTT = 7/8 SRTT + 1/8 R,   RTO = SRTT + max(G, 4 RTTVAR)
//! ```
//!
//! The arithmetic is that of V. Jacobson, "Congestion Avoidance and Control", 1988, appendix A: integers, SRTT scaled
//! by eight and RTTVAR by four. The unit is a nanosecond or, with a coarse clock, the tick of the clock, which is then
//! also G. With a tick of 10 ms the results equal those of ns-2.

use wifair_units::{Duration, Time};

/// Bounds of the RTO and the clock that measures it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RttConfig {
    /// Timeout before the first sample (RFC 6298, rule 2.1).
    pub initial_rto: Duration,
    /// Lower bound of the timeout (rule 2.4).
    pub min_rto: Duration,
    /// Upper bound of the timeout, backoff included (rule 2.5).
    pub max_rto: Duration,
    /// Tick of the clock that measures the RTT; zero for an exact clock.
    pub tick: Duration,
    /// `min_rto` bounds `4 RTTVAR` instead of the whole timeout, as in Linux.
    pub min_rto_on_variance: bool,
    /// A sample below SRTT that raises RTTVAR raises it by an eighth of that (Linux).
    pub falls_gently: bool,
    /// Number of doublings after which the estimate is discarded and the next sample counts as the first (RFC 6298,
    /// section 5).
    pub forget_after: u32,
}

/// Estimator of SRTT, RTTVAR and RTO.
#[derive(Clone, Copy, Debug)]
pub struct Rtt {
    /// SRTT times eight, in units.
    srtt8: u64,
    /// RTTVAR times four, in units.
    rttvar4: u64,
    /// RTO before the first sample.
    initial: Duration,
    /// Length of a unit, in ns.
    unit: u64,
    /// Offset of the coarse clock's ticks, in ns.
    phase: u64,
    min: Duration,
    backoff: u32,
    sampled: bool,
    config: RttConfig,
}

impl Rtt {
    /// An estimator without a sample. `phase` offsets the ticks of a coarse clock, so that connections do not tick in
    /// step.
    #[must_use]
    pub fn new(config: RttConfig, phase: Duration) -> Self {
        let unit = config.tick.as_nanos().max(1);
        Self {
            srtt8: 0,
            rttvar4: 0,
            initial: config.initial_rto,
            unit,
            phase: phase.as_nanos() % unit,
            min: Duration::MAX,
            backoff: 0,
            sampled: false,
            config,
        }
    }

    /// Adds the sample of a segment sent once, at `sent`, and acknowledged at `now`, and ends the backoff. Karn's rule
    /// is up to the caller.
    #[inline]
    pub fn sample(&mut self, sent: Time, now: Time) {
        let exact = now.saturating_since(sent);
        let units = if self.unit == 1 {
            exact.as_nanos()
        } else {
            ((now.as_nanos() + self.phase) / self.unit).saturating_sub((sent.as_nanos() + self.phase) / self.unit)
        };
        self.take(units.max(1), exact);
    }

    /// Like [`Rtt::sample`], for an RTT taken from timestamps; a coarse clock rounds it to the nearest tick.
    #[inline]
    pub fn sample_timestamp(&mut self, exact: Duration) {
        self.take(((exact.as_nanos() + self.unit / 2) / self.unit).max(1), exact);
    }

    #[inline]
    fn take(&mut self, units: u64, exact: Duration) {
        if self.sampled {
            let smoothed = self.srtt8 >> 3;
            self.srtt8 = (self.srtt8 + units - smoothed).max(1);
            let deviation = units.abs_diff(smoothed);
            let rise = deviation.saturating_sub(self.rttvar4 >> 2);
            self.rttvar4 = if self.config.falls_gently && units < smoothed && rise > 0 {
                self.rttvar4 + (rise >> 3)
            } else {
                (self.rttvar4 + deviation - (self.rttvar4 >> 2)).max(1)
            };
        } else {
            // RFC 6298, rule 2.2.
            self.srtt8 = units << 3;
            self.rttvar4 = units << 1;
            self.sampled = true;
        }
        self.min = self.min.min(exact);
        self.backoff = 0;
    }

    /// Adds a sample that counts towards the minimum RTT only.
    #[inline]
    pub fn note(&mut self, exact: Duration) {
        self.min = self.min.min(exact);
    }

    /// Doubles the RTO (RFC 6298, rule 5.5).
    pub fn back_off(&mut self) {
        if self.rto() < self.config.max_rto && self.backoff < 32 {
            self.backoff += 1;
        }
        if self.backoff >= self.config.forget_after {
            self.sampled = false;
        }
    }

    /// Ends the backoff without a sample, as Linux does when new data is acknowledged.
    pub fn end_backoff(&mut self) {
        self.backoff = 0;
    }

    /// Sets the RTO to at least `rto` if there was no sample yet (RFC 6298, rule 5.7).
    pub fn restart_from(&mut self, rto: Duration) {
        self.initial = self.initial.max(rto);
        self.backoff = 0;
    }

    /// The RTO without backoff and before the upper bound, in ns. The estimate is never zero after a sample.
    #[inline(always)]
    fn base(&self) -> u64 {
        if self.srtt8 == 0 {
            return self.initial.as_nanos();
        }
        let (smoothed, variance) = ((self.srtt8 >> 3) * self.unit, self.rttvar4 * self.unit);
        let least = self.config.min_rto.as_nanos();
        if self.config.min_rto_on_variance { smoothed + variance.max(least) } else { (smoothed + variance).max(least) }
    }

    /// The RTO, backoff included.
    #[inline]
    #[must_use]
    pub fn rto(&self) -> Duration {
        Duration::from_nanos(self.base().saturating_mul(1 << self.backoff)).min(self.config.max_rto)
    }

    /// Number of doublings in force.
    #[must_use]
    pub const fn backoff(&self) -> u32 {
        self.backoff
    }

    /// SRTT; zero before the first sample.
    #[inline]
    #[must_use]
    pub const fn srtt(&self) -> Duration {
        if self.unit == 1 {
            Duration::from_nanos(self.srtt8 >> 3)
        } else {
            Duration::from_nanos((self.srtt8 * self.unit) >> 3)
        }
    }

    /// RTTVAR; zero before the first sample.
    #[must_use]
    pub const fn rttvar(&self) -> Duration {
        Duration::from_nanos((self.rttvar4 * self.unit) >> 2)
    }

    /// Smallest RTT so far; [`Duration::MAX`] before the first sample.
    #[inline]
    #[must_use]
    pub const fn min(&self) -> Duration {
        self.min
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> RttConfig {
        RttConfig {
            initial_rto: Duration::from_secs(1),
            min_rto: Duration::from_secs(1),
            max_rto: Duration::from_secs(60),
            tick: Duration::ZERO,
            min_rto_on_variance: false,
            falls_gently: false,
            forget_after: u32::MAX,
        }
    }

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    /// RFC 6298, section 2, by hand: R = 500 ms gives SRTT 500, RTTVAR 250, RTO 1500; then R' = 900 ms gives
    /// RTTVAR 3/4 250 + 1/4 400 = 287.5, SRTT 7/8 500 + 1/8 900 = 550, RTO 550 + 1150 = 1700.
    #[test]
    fn srtt_rttvar_and_rto_follow_rfc_6298() {
        let mut rtt = Rtt::new(config(), Duration::ZERO);
        assert_eq!((rtt.rto(), rtt.srtt()), (Duration::from_secs(1), Duration::ZERO));
        rtt.sample(at(0), at(500));
        assert_eq!((rtt.srtt(), rtt.rttvar()), (Duration::from_millis(500), Duration::from_millis(250)));
        assert_eq!(rtt.rto(), Duration::from_millis(1500));
        rtt.sample(at(1000), at(1900));
        assert_eq!((rtt.srtt(), rtt.rttvar()), (Duration::from_millis(550), Duration::from_micros(287_500)));
        assert_eq!(rtt.rto(), Duration::from_millis(1700));
        assert_eq!(rtt.min(), Duration::from_millis(500));
    }

    #[test]
    fn backoff_doubles_up_to_the_maximum_and_ends_with_a_sample() {
        let mut rtt = Rtt::new(config(), Duration::ZERO);
        rtt.sample(at(0), at(100));
        let mut seconds = Vec::new();
        for _ in 0..8 {
            seconds.push(rtt.rto().div_floor(Duration::from_secs(1)));
            rtt.back_off();
        }
        assert_eq!(seconds, [1, 2, 4, 8, 16, 32, 60, 60]);
        rtt.sample(at(0), at(100));
        assert_eq!(rtt.rto(), Duration::from_secs(1));
    }

    /// ns-2.35, two nodes, 1 Mb/s, 50 ms, ticks of 10 ms. Its trace, with segments timed from one tick to the next, has
    /// `rttvar_` 0.050, 0.040, 0.033, 0.028, 0.025 s and an RTO of 0.2 s.
    #[test]
    fn a_tick_of_10_ms_gives_the_deviations_of_ns2() {
        let tick = Duration::from_millis(10);
        let coarse = RttConfig { tick, min_rto: Duration::from_millis(200), ..config() };
        let mut rtt = Rtt::new(coarse, Duration::from_millis(5));
        let instants =
            [0, 100_640, 209_280, 317_920, 426_560, 535_200].map(|us| Time::ZERO + Duration::from_micros(us));
        for (pair, rttvar_us) in instants.windows(2).zip([50_000, 40_000, 32_500, 27_500, 25_000]) {
            rtt.sample(pair[0], pair[1]);
            assert_eq!(rtt.rttvar(), Duration::from_micros(rttvar_us));
        }
        assert_eq!(rtt.rto(), Duration::from_millis(200));
    }

    /// Linux: the minimum applies to the variance term, so the RTO is at least SRTT + 200 ms.
    #[test]
    fn the_minimum_may_bound_the_variance_alone() {
        let linux = RttConfig { min_rto_on_variance: true, min_rto: Duration::from_millis(200), ..config() };
        let mut rtt = Rtt::new(linux, Duration::ZERO);
        rtt.sample(at(0), at(40));
        assert_eq!(rtt.rto(), Duration::from_millis(240));
    }
}
