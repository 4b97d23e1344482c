//! Early ends of slow start: HyStart, and HyStart++ with a few slower rounds.
//!
//! [`PlusPlus`]: P. Balasubramanian, Y. Huang and M. Olson, RFC 9406, 2023, section 4.2, with the constants of section
//! 4.3. The limit L on the segments that an ACK adds is left to the sender's byte counting.
//!
//! [`Classic`]: S. Ha and I. Rhee, "Taming the Elephants: New TCP Slow Start", Computer Networks 55(9), 2011, with the
//! constants of Linux's CUBIC. From 16 segments up, slow start ends
//!
//! - after an ACK train: ACKs at most 2 ms apart have arrived for longer than half the minimum RTT since the round
//!   began (Linux adds up to half a millisecond for segmentation offload, and uses the whole RTT where segments are
//!   paced), or
//! - after a delay increase: the minimum of more than eight RTT samples of a round exceeds the overall minimum by an
//!   eighth of it, at least 4 and at most 16 ms.
//!
//! [`Rules::Ns3`]: ns-3's TcpCubic tracks the smoothed RTT, whose first eight values of a round must exceed the overall
//! minimum by all of it (at least 4 ms, at most 1 s), and a train must last for the whole minimum. So slow start
//! continues until the queue has doubled the RTT.

use wifair_config::choice;
use wifair_units::{Duration, Time};

use crate::cc::{Ack, Round, RttSamples, Window};

choice! {
    /// What ends slow start before a loss.
    pub enum HyStartVariant {
        /// Nothing: slow start ends with a loss or at the threshold.
        None = "none" from "RFC 5681, section 3.1",
        /// ACK trains, and an increase of the RTT.
        Classic = "classic" from "S. Ha and I. Rhee, Taming the Elephants, 2011; Linux",
        /// As `classic`, but the smoothed RTT must double.
        Ns3 = "ns3" from "ns-3.44, TcpCubic",
        /// An increase of the RTT, followed by a few slower rounds.
        PlusPlus = "plus-plus" from "RFC 9406",
    }
}

/// State of the chosen variant.
#[derive(Clone, Debug)]
pub enum HyStart {
    /// As [`HyStartVariant::None`].
    None,
    /// As [`HyStartVariant::Classic`] or [`HyStartVariant::Ns3`].
    Classic(Classic),
    /// As [`HyStartVariant::PlusPlus`].
    PlusPlus(PlusPlus),
}

impl HyStart {
    /// At the start of a connection.
    pub fn new(variant: &HyStartVariant) -> Self {
        match variant {
            HyStartVariant::None => Self::None,
            HyStartVariant::Classic => Self::Classic(Classic::new(Rules::Linux)),
            HyStartVariant::Ns3 => Self::Classic(Classic::new(Rules::Ns3)),
            HyStartVariant::PlusPlus => Self::PlusPlus(PlusPlus::default()),
        }
    }

    /// Slow start on an ACK; sets the threshold of `window` when slow start ends.
    pub fn grow(&mut self, window: &mut Window, ack: &Ack) {
        match self {
            Self::None => window.add(ack.segments),
            Self::Classic(classic) => classic.grow(window, ack),
            Self::PlusPlus(plus_plus) => plus_plus.grow(window, ack),
        }
    }

    /// Processes an ACK on which the window must not grow; Linux's HyStart still uses its arrival time and RTT.
    pub fn watch(&mut self, window: &mut Window, ack: &Ack) {
        if let Self::Classic(classic) = self
            && window.in_slow_start()
            && classic.ends(window.cwnd, ack)
        {
            window.ssthresh = window.cwnd;
        }
    }
}

/// Bounds of the RTT increase that ends slow start, in seconds.
const THRESHOLD: (f64, f64) = (0.004, 0.016);
/// Divisor that gives this increase from the minimum RTT of the last round.
const DIVISOR: f64 = 8.0;
/// RTT samples required per round.
const SAMPLES: u32 = 8;
/// In conservative slow start this many acknowledged segments add one.
const GROWTH_DIVISOR: f64 = 4.0;
/// Rounds of conservative slow start.
const ROUNDS: u32 = 5;
/// Window in segments from which a train or a delay increase ends classic slow start.
const LOW_WINDOW: f64 = 16.0;
/// Maximum distance of ACKs in a train, in seconds.
const ACK_DELTA: f64 = 0.002;

/// Increase of the RTT over `base` that ends slow start; both in seconds.
fn rise(base: f64) -> f64 {
    (base / DIVISOR).clamp(THRESHOLD.0, THRESHOLD.1)
}

/// Bounds of this increase in ns-3, in seconds.
const NS3_THRESHOLD: (f64, f64) = (0.004, 1.0);

/// Allowance of Linux for segmentation offload in a train: the bytes whose transmission time is added, and its maximum
/// in seconds.
const OFFLOAD: (f64, f64) = (4.0 * 65_536.0, 0.001);

/// Whose details the classic HyStart has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rules {
    /// Linux's CUBIC.
    Linux,
    /// ns-3's TcpCubic.
    Ns3,
}

/// State of the HyStart of 2011.
#[derive(Clone, Debug)]
pub struct Classic {
    rules: Rules,
    round: Round,
    /// Smoothed RTT in ns-3, in seconds.
    smoothed: Option<f64>,
    /// Minimum RTT, in seconds.
    base: f64,
    /// Minimum RTT and number of samples of the round.
    min: f64,
    samples: u32,
    /// When the round began.
    begin: Time,
    /// The last ACK of the train.
    last: Time,
}

impl Classic {
    fn new(rules: Rules) -> Self {
        Self {
            rules,
            round: Round::default(),
            smoothed: None,
            base: f64::INFINITY,
            min: f64::INFINITY,
            samples: 0,
            begin: Time::ZERO,
            last: Time::ZERO,
        }
    }

    fn grow(&mut self, window: &mut Window, ack: &Ack) {
        if self.ends(window.cwnd, ack) {
            window.ssthresh = window.cwnd;
        } else {
            window.add(ack.segments);
        }
    }

    /// Whether slow start ends with this ACK.
    fn ends(&mut self, cwnd: f64, ack: &Ack) -> bool {
        let sample = ack.rtt.map(Duration::as_secs);
        let rtt = match self.rules {
            Rules::Linux => sample.unwrap_or(f64::INFINITY),
            Rules::Ns3 => self.smooth(sample),
        };
        self.base = self.base.min(rtt);
        // Linux tracks rounds only from here on, so the first one begins when the window has reached this size.
        if cwnd < LOW_WINDOW && self.rules == Rules::Linux {
            return false;
        }
        if self.round.ends(ack) {
            (self.begin, self.last) = (ack.now, ack.now);
            (self.min, self.samples) = (f64::INFINITY, 0);
        }
        cwnd >= LOW_WINDOW && (self.train(cwnd, ack) || self.delayed(rtt))
    }

    /// The RTT of all ACKs so far, smoothed as in RFC 6298.
    fn smooth(&mut self, sample: Option<f64>) -> f64 {
        if let Some(rtt) = sample {
            self.smoothed = self.smoothed.map_or(rtt, |before| before + (rtt - before) / 8.0).into();
        }
        self.smoothed.unwrap_or(f64::INFINITY)
    }

    /// Whether an ACK train has lasted for half the minimum RTT. In ns-3, and where segments are paced, for the whole
    /// minimum RTT, because pacing alone may stretch a train over half of it.
    fn train(&mut self, cwnd: f64, ack: &Ack) -> bool {
        let close = ack.now.saturating_since(self.last).as_secs() <= ACK_DELTA;
        if close {
            self.last = ack.now;
        }
        let longest = match self.rules {
            Rules::Linux => {
                // Linux's pacing rate in slow start, even without pacing: twice the window per RTT.
                let burst = OFFLOAD.0 * ack.srtt.as_secs() / (2.0 * cwnd * ack.mss);
                let part = if ack.paced { 1.0 } else { 0.5 };
                part * (self.base + burst.min(OFFLOAD.1))
            }
            Rules::Ns3 => self.base,
        };
        close && ack.now.saturating_since(self.begin).as_secs() > longest
    }

    fn delayed(&mut self, rtt: f64) -> bool {
        let is_sampled = self.samples >= SAMPLES;
        if !is_sampled || self.rules == Rules::Linux {
            self.min = self.min.min(rtt);
        }
        if !is_sampled && rtt.is_finite() {
            self.samples += 1;
            return false;
        }
        let rise = match self.rules {
            Rules::Linux => rise(self.base),
            Rules::Ns3 => self.base.clamp(NS3_THRESHOLD.0, NS3_THRESHOLD.1),
        };
        is_sampled && self.min.is_finite() && self.min > self.base + rise
    }
}

/// State of HyStart++.
#[derive(Clone, Debug, Default)]
pub struct PlusPlus {
    round: Round,
    delays: RttSamples,
    /// Minimum RTT of the last round, in seconds.
    last_min: Option<f64>,
    /// Conservative slow start: minimum RTT at its start, and rounds left.
    conservative: Option<(f64, u32)>,
}

impl PlusPlus {
    fn grow(&mut self, window: &mut Window, ack: &Ack) {
        if self.round.ends(ack) {
            self.last_min = self.delays.min.is_finite().then_some(self.delays.min);
            self.delays.clear();
            if let Some((_, left)) = &mut self.conservative {
                *left -= 1;
                if *left == 0 {
                    self.conservative = None;
                    window.ssthresh = window.cwnd;
                    return;
                }
            }
        }
        self.delays.sample(ack);
        let enough = self.delays.count() >= SAMPLES;
        match (self.conservative, self.last_min) {
            (None, Some(last)) if enough && self.delays.min >= last + rise(last) => {
                self.conservative = Some((self.delays.min, ROUNDS));
            }
            (Some((baseline, _)), _) if enough && self.delays.min < baseline => self.conservative = None,
            _ => {}
        }
        let divisor = if self.conservative.is_some() { GROWTH_DIVISOR } else { 1.0 };
        window.add(ack.segments / divisor);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::Start;
    use crate::cc::testing::ack;

    /// RFC 9406, section 4.2, by hand with rounds of 16 ACKs: 40 ms give a threshold of 5 ms, so 45 ms start
    /// conservative slow start at the eighth sample of the round, and five rounds later slow start ends.
    #[test]
    fn a_rise_of_an_eighth_leads_through_five_slower_rounds_out_of_slow_start() {
        let mut hystart = PlusPlus::default();
        let mut window = Window::new(Start::with_window(16.0));
        let mut una = 0;
        let mut round = |hystart: &mut PlusPlus, window: &mut Window, rtt: f64| {
            let before = window.cwnd;
            for i in 1..=16 {
                // All segments of the next round are sent when this one begins.
                hystart.grow(window, &ack(0.0, rtt, una + i, una + 16));
            }
            una += 16;
            window.cwnd - before
        };
        assert_eq!(round(&mut hystart, &mut window, 0.040), 16.0);
        assert_eq!(round(&mut hystart, &mut window, 0.0449), 16.0); // below 45 ms
        assert_eq!(round(&mut hystart, &mut window, 0.0501), 16.0); // 5.6 ms more are needed now
        let first = round(&mut hystart, &mut window, 0.0565);
        assert_eq!(first, 7.0 + 9.0 / 4.0);
        for _ in 0..4 {
            assert_eq!(round(&mut hystart, &mut window, 0.0565), 4.0);
        }
        assert!(window.in_slow_start());
        round(&mut hystart, &mut window, 0.0565);
        assert!(window.ssthresh.is_finite());
    }

    /// By hand: segments 1 ms apart, an RTT of 40 ms. The ACKs of a round of 16 take 15 ms, less than half the RTT; in
    /// a round of 32 the 22nd comes 21 ms after the first.
    #[test]
    fn a_train_of_half_the_round_trip_ends_slow_start() {
        let mut classic = Classic::new(Rules::Linux);
        let mut window = Window::new(Start::with_window(16.0));
        let mut una = 0;
        for (round, acks) in [(0, 16), (1, 21)] {
            for i in 0..acks {
                una += 1;
                let now = 0.04 * f64::from(round + 1) + 0.001 * f64::from(i);
                classic.grow(&mut window, &ack(now, 0.040, una, if round == 0 { 16 } else { 48 }));
            }
        }
        assert_eq!((window.cwnd, window.ssthresh), (53.0, f64::INFINITY));
        classic.grow(&mut window, &ack(0.101, 0.040, una + 1, 48));
        assert_eq!((window.cwnd, window.ssthresh), (53.0, 53.0));
    }

    /// By hand: ACKs 1 ms apart in one round. Half of 40 ms plus half a millisecond for offload have passed at the
    /// 22nd; the whole 41 ms at the 43rd.
    #[test]
    fn a_train_of_paced_segments_may_last_a_whole_round_trip() {
        let ends = |paced: bool, acks: u32| {
            let mut classic = Classic::new(Rules::Linux);
            let mut window = Window::new(Start::with_window(16.0));
            for i in 0..acks {
                let now = 0.1 + 0.001 * f64::from(i);
                classic.grow(&mut window, &Ack { paced, ..ack(now, 0.040, u64::from(i) + 1, 100) });
            }
            window.ssthresh
        };
        assert_eq!((ends(false, 21), ends(false, 22)), (f64::INFINITY, 37.0));
        assert_eq!((ends(true, 42), ends(true, 43)), (f64::INFINITY, 58.0));
    }

    /// Bottleneck of 20 segments a second, ACKs for two of them, 100 ms without queue, as in Linux's own test of
    /// HyStart at 166 kbit/s, by hand: the ACK at which the window reaches 16 segments (the fourth) begins the first
    /// round, which lasts until what was sent then (22 segments) is acknowledged. The next one begins with ACK 12; the
    /// ninth sample above 112.5 ms is that of ACK 20, at 48 segments.
    #[test]
    fn rounds_are_followed_from_sixteen_segments_up() {
        let mut classic = Classic::new(Rules::Linux);
        let mut window = Window::new(Start::with_window(10.0));
        for i in 1..=25_u32 {
            let (una, sent) = (2 * u64::from(i), window.cwnd as u64 + 2 * u64::from(i - 1));
            let ack = Ack { segments: 2.0, ..ack(0.1 * f64::from(i), 0.1 * f64::from(i), una, sent) };
            if window.in_slow_start() {
                classic.grow(&mut window, &ack);
            }
        }
        assert_eq!((window.cwnd, window.ssthresh), (48.0, 48.0));
    }

    /// By hand: the ACKs of a round come 3 ms apart, so they are no train; 40 ms give a threshold of 45 ms, and the
    /// ninth sample of 45.5 ms in a round ends slow start. A sample of 44 ms among them prevents it.
    #[test]
    fn a_rise_of_an_eighth_ends_slow_start() {
        let ends = |fastest: f64| {
            let mut classic = Classic::new(Rules::Linux);
            let mut window = Window::new(Start::with_window(16.0));
            for i in 1..=16_u32 {
                classic.grow(&mut window, &ack(0.003 * f64::from(i), 0.040, i.into(), 16));
            }
            let mut round = |i: u32, rtt: f64| {
                classic.grow(&mut window, &ack(0.1 + 0.003 * f64::from(i), rtt, (16 + i).into(), 48));
                window.ssthresh
            };
            for i in 1..=8 {
                assert!(round(i, if i == 4 { fastest } else { 0.0455 }).is_infinite());
            }
            round(9, 0.0455)
        };
        assert_eq!((ends(0.0455), ends(0.044)), (40.0, f64::INFINITY));
    }

    /// ns-3, by hand: ACKs 3 ms apart are no train. After many at 40 ms, a round of ACKs at 420 ms has smoothed RTTs of
    /// 87.5 ms and more, so that slow start ends at its ninth; with 350 ms the first is 78.75 ms, less than twice 40.
    #[test]
    fn in_ns3_slow_start_ends_when_the_smoothed_round_trip_time_has_doubled() {
        let ends = |rtt: f64| {
            let mut classic = Classic::new(Rules::Ns3);
            let mut window = Window::new(Start::with_window(16.0));
            for i in 1..=16_u32 {
                classic.grow(&mut window, &ack(0.003 * f64::from(i), 0.040, i.into(), 16));
            }
            for i in 1..=9_u32 {
                assert!(window.ssthresh.is_infinite());
                classic.grow(&mut window, &ack(0.1 + 0.003 * f64::from(i), rtt, (16 + i).into(), 48));
            }
            window.ssthresh
        };
        assert_eq!((ends(0.420), ends(0.350)), (40.0, f64::INFINITY));
    }

    /// ns-3, by hand: ACKs 1 ms apart have come for more than 40 ms at the 42nd of a round.
    #[test]
    fn in_ns3_a_train_lasts_for_a_whole_round_trip() {
        let ends = |acks: u32| {
            let mut classic = Classic::new(Rules::Ns3);
            let mut window = Window::new(Start::with_window(16.0));
            for i in 0..acks {
                let now = 0.1 + 0.001 * f64::from(i);
                classic.grow(&mut window, &ack(now, 0.040, u64::from(i) + 1, 100));
            }
            window.ssthresh
        };
        assert_eq!((ends(41), ends(42)), (f64::INFINITY, 57.0));
    }

    #[test]
    fn slow_start_resumes_when_the_round_trip_time_falls_again() {
        let mut hystart = PlusPlus { conservative: Some((0.05, 5)), last_min: Some(0.05), ..PlusPlus::default() };
        let mut window = Window::new(Start::with_window(16.0));
        for i in 1..=8 {
            hystart.grow(&mut window, &ack(0.0, 0.049, i, 100));
        }
        assert!(hystart.conservative.is_none());
    }
}
