//! Shared by the tests of the algorithms: synthetic ACKs, and a path with one queue.

use std::collections::VecDeque;

use wifair_units::{Duration, Time};

use crate::cc::{Ack, CongestionControl, RateSample, Start};

/// Payload of a segment, in bytes.
pub const MSS: u64 = 1000;

/// An ACK at `now` seconds for one segment, `rtt` seconds after it was sent; `una` and `nxt` count segments.
pub fn ack(now: f64, rtt: f64, una: u64, nxt: u64) -> Ack {
    Ack {
        now: time(now),
        segments: 1.0,
        bytes: MSS,
        rtt: Some(Duration::from_secs_f64(rtt)),
        one_way_delay: None,
        srtt: Duration::from_secs_f64(rtt),
        min_rtt: Duration::from_secs_f64(rtt),
        una: una * MSS,
        nxt: nxt * MSS,
        in_flight: nxt.saturating_sub(una) as f64,
        delivered: una * MSS,
        lost: 0.0,
        rate: None,
        window_limited: true,
        ecn_echo: false,
        marked_bytes: 0,
        in_recovery: false,
        duplicate: false,
        mss: MSS as f64,
        paced: false,
    }
}

/// The time `seconds` after the start.
pub fn time(seconds: f64) -> Time {
    Time::ZERO + Duration::from_secs_f64(seconds)
}

/// A whole round: every segment of the window is acknowledged `rtt` seconds after it was sent, and new ones are sent.
/// Returns the offset, in segments, where the next round starts.
pub fn round(cc: &mut impl CongestionControl, now: f64, rtt: f64, una: u64) -> u64 {
    let flight = cc.cwnd().floor().max(1.0) as u64;
    let mut nxt = una + flight;
    for i in 1..=flight {
        cc.on_ack(&ack(now, rtt, una + i, nxt));
        nxt = nxt.max(una + i + cc.cwnd().floor() as u64);
    }
    una + flight
}

/// A row of `published.csv`, which `tests/oracle/published.py` writes and explains.
#[derive(Debug)]
pub struct Published {
    /// Whether the row gives the window after ACKs or the threshold after a loss.
    pub is_ack: bool,
    /// Start of the connection, in segments.
    pub start: Start,
    /// RTTs in seconds, zero where unused.
    pub base: f64,
    pub rtt: f64,
    pub acked: f64,
    /// Further state of the algorithm.
    pub state: f64,
    formula: f64,
}

impl Published {
    /// An ACK `now` seconds after the start that ends a round.
    pub fn ack(&self, now: f64) -> Ack {
        let bytes = (self.acked * MSS as f64) as u64;
        Ack { segments: self.acked, bytes, in_flight: self.start.window, ..ack(now, self.rtt, 1, 100) }
    }

    /// An RTT sample of `rtt` seconds that acknowledges nothing.
    pub fn sample(&self, rtt: f64) -> Ack {
        Ack { segments: 0.0, bytes: 0, duplicate: true, ..ack(0.0, rtt, 0, 100) }
    }

    /// Compares the window, or the threshold, with the formula.
    pub fn hold(&self, cc: &impl CongestionControl) {
        let ours = if self.is_ack { cc.cwnd() } else { cc.ssthresh() };
        assert!((ours - self.formula).abs() <= 1e-9 * self.formula, "{ours}, {self:?}");
    }
}

/// The rows of a congestion control.
pub fn published(control: &str) -> Vec<Published> {
    let rows: Vec<_> = include_str!("published.csv")
        .lines()
        .map(|line| line.split(',').collect::<Vec<_>>())
        .filter(|row| row[0] == control)
        .map(|row| {
            let number = |column: usize| row[column].parse::<f64>().expect("a number");
            Published {
                is_ack: row[1] == "ack",
                start: Start { ssthresh: number(3), ..Start::with_window(number(2)) },
                base: number(4) / 1e3,
                rtt: number(5) / 1e3,
                acked: number(6),
                state: number(7),
                formula: number(8),
            }
        })
        .collect();
    assert!(!rows.is_empty(), "{control} is in the table");
    rows
}

/// The generator of pseudorandom numbers of the scripts: Knuth's 64-bit linear congruential one (MMIX), upper bits.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

/// Runs a congestion control through the scripts of `tests/oracle/traces.py` and compares windows and thresholds with
/// `traces.csv`, which that program computes from the published rules.
pub fn follow<C: CongestionControl>(control: &str, new: impl Fn(Start) -> C) {
    for (connection, window, ssthresh, rarity) in
        [(0, 10.0, f64::INFINITY, 200), (1, 100.0, 50.0, 200), (2, 30.0, 300.0, 1000)]
    {
        let key = format!("{control},{connection},");
        let rows = include_str!("traces.csv").lines().filter_map(|line| line.strip_prefix(&*key));
        let mut expected = rows.map(|row| row.split(',').map(|number| number.parse::<f64>().expect("a number")));
        let mut cc = new(Start { ssthresh, ..Start::with_window(window) });
        let mut script = ScriptedConnection::new(connection + 1, rarity);
        for event in 0..480 {
            script.step(&mut cc, event);
            if event % 4 == 3 {
                let row: Vec<_> = expected.next().expect("a row for every fourth event").collect();
                for (is, should, what) in [(cc.cwnd(), row[0], "window"), (cc.ssthresh(), row[1], "threshold")] {
                    let same = is == should || (is - should).abs() <= 1e-6 * should;
                    assert!(same, "{control}, connection {connection}, event {event}: {what} {is}, not {should}");
                }
            }
        }
        assert!(expected.next().is_none());
    }
}

/// A connection as a script: events are pseudorandom, and the sender always fills the window.
struct ScriptedConnection {
    numbers: Numbers,
    rarity: u64,
    millis: u64,
    una: u64,
    nxt: u64,
    recover: u64,
    phase: u64,
    srtt: f64,
    least: f64,
}

impl ScriptedConnection {
    const fn new(seed: u64, rarity: u64) -> Self {
        Self {
            numbers: Numbers(seed),
            rarity,
            millis: 1,
            una: 0,
            nxt: 10,
            recover: 0,
            phase: 0,
            srtt: 0.0,
            least: f64::INFINITY,
        }
    }

    fn step(&mut self, cc: &mut impl CongestionControl, event: u32) {
        if event.is_multiple_of(40) {
            self.phase = self.numbers.below(5);
        }
        self.millis +=
            if self.numbers.below(30) == 0 { 200 + self.numbers.below(1200) } else { self.numbers.below(12) };
        let flight = (self.nxt - self.una) as f64;
        match self.numbers.below(self.rarity) {
            0..3 => {
                cc.on_loss(flight);
                self.recover = self.nxt;
            }
            3 => {
                cc.on_rto(flight);
                self.recover = 0;
            }
            4 => cc.on_idle_restart((1 + self.numbers.below(40)) as f64),
            5 => cc.on_spurious(),
            6 | 7 => cc.on_ecn(flight),
            _ => self.ack(cc),
        }
    }

    fn ack(&mut self, cc: &mut impl CongestionControl) {
        let mut below = |n| self.numbers.below(n);
        let duplicate = below(12) == 0;
        let segments = if duplicate { 0 } else { (1 + below(8)).min(self.nxt - self.una) };
        // As in the program, all numbers are drawn, whatever the phase.
        let steps = [0, 5, 10, 20];
        let extra = [0, below(4), steps[below(4) as usize], 30 + below(60), below(90)][self.phase as usize];
        let rtt = if below(10) == 0 { None } else { Some((40 + extra) as f64 / 1e3) };
        let (window_limited, ecn_echo, lost) = (below(9) != 0, below(25) == 0, f64::from(u8::from(below(15) == 0)));
        if let Some(rtt) = rtt {
            self.least = self.least.min(rtt);
            self.srtt = if self.srtt == 0.0 { rtt } else { self.srtt + (rtt - self.srtt) / 8.0 };
        }
        self.una += segments;
        self.nxt = self.nxt.max(self.una + 1).max(self.una + cc.cwnd() as u64);
        cc.on_ack(&Ack {
            segments: segments as f64,
            bytes: segments * MSS,
            rtt: rtt.map(Duration::from_secs_f64),
            srtt: Duration::from_secs_f64(self.srtt),
            min_rtt: if self.least.is_finite() { Duration::from_secs_f64(self.least) } else { Duration::MAX },
            lost,
            window_limited,
            ecn_echo,
            marked_bytes: if ecn_echo { segments * MSS } else { 0 },
            in_recovery: self.recover > 0,
            duplicate,
            ..ack(self.millis as f64 / 1e3, self.srtt, self.una, self.nxt)
        });
        if self.recover > 0 && self.recover <= self.una {
            let at_most = if self.numbers.below(2) == 1 { (self.nxt - self.una) as f64 } else { f64::INFINITY };
            cc.on_recovery_exit(at_most);
            self.recover = 0;
        }
    }
}

/// Losses of a [`BottleneckPath`].
#[derive(Clone, Copy, Debug)]
pub enum Lose {
    /// Overflow of the queue only.
    Overflow,
    /// One in this many segments, in addition to overflow.
    Every(u64),
    /// Each segment with this probability, independently, in addition to overflow; and the state of the generator.
    Randomly(f64, u64),
}

/// A uniform number below one (xorshift64*, S. Vigna, "An Experimental Exploration of Marsaglia's Xorshift Generators,
/// Scrambled", 2016).
fn uniform(state: &mut u64) -> f64 {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    (state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) as f64 / (1u64 << 53) as f64
}

/// A path with one bottleneck: rate, delay, drop-tail queue. Losses are repaired at once and reported to the congestion
/// control alone, so that nothing but its arithmetic matters.
#[derive(Debug)]
pub struct BottleneckPath {
    /// Segments per second.
    pub rate: f64,
    /// RTT of an empty pipe, in seconds.
    pub base: f64,
    /// Capacity of the queue, in segments.
    pub buffer: f64,
    /// Queue length in segments above which it marks; infinite for never.
    pub mark_at: f64,
    /// Which segments are lost.
    pub lose: Lose,
    /// Current time, in seconds.
    pub now: f64,
    /// When the bottleneck becomes free.
    free: f64,
    /// Segments sent and acknowledged.
    pub sent: u64,
    pub acked: u64,
    pub losses: u64,
    pub marks: u64,
    next_send: f64,
    recover: Option<u64>,
    reduced: u64,
    delivered_at: f64,
    first_sent: f64,
    srtt: f64,
    min_rtt: f64,
    flying: VecDeque<Flying>,
}

#[derive(Clone, Copy, Debug)]
struct Flying {
    sent: f64,
    back: f64,
    lost: bool,
    marked: bool,
    delivered: u64,
    delivered_at: f64,
    first_sent: f64,
}

impl BottleneckPath {
    pub fn new(rate: f64, base: f64, buffer: f64) -> Self {
        Self {
            rate,
            base,
            buffer,
            mark_at: f64::INFINITY,
            lose: Lose::Overflow,
            now: 0.0,
            free: 0.0,
            sent: 0,
            acked: 0,
            losses: 0,
            marks: 0,
            next_send: 0.0,
            recover: None,
            reduced: 0,
            delivered_at: 0.0,
            first_sent: 0.0,
            srtt: 0.0,
            min_rtt: f64::INFINITY,
            flying: VecDeque::new(),
        }
    }

    pub fn losing_every(mut self, segments: u64) -> Self {
        self.lose = Lose::Every(segments);
        self
    }

    pub fn losing(mut self, probability: f64, seed: u64) -> Self {
        self.lose = Lose::Randomly(probability, seed);
        self
    }

    /// Segments queued at the bottleneck.
    pub fn queue(&self) -> f64 {
        ((self.free - self.now) * self.rate).max(0.0)
    }

    fn send(&mut self, cc: &mut impl CongestionControl) {
        let queue = ((self.free - self.now) * self.rate).max(0.0);
        let scripted = match &mut self.lose {
            Lose::Overflow => false,
            Lose::Every(n) => self.sent % *n == *n - 1,
            Lose::Randomly(p, state) => uniform(state) < *p,
        };
        let lost = scripted || queue > self.buffer;
        if self.flying.is_empty() {
            self.first_sent = self.now;
            self.delivered_at = self.now;
        }
        if !lost {
            self.free = self.free.max(self.now) + 1.0 / self.rate;
        }
        let back = self.free.max(self.now) + self.base;
        let back = self.flying.back().map_or(back, |before| back.max(before.back));
        self.flying.push_back(Flying {
            sent: self.now,
            back,
            lost,
            marked: queue > self.mark_at,
            delivered: self.acked,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
        });
        self.sent += 1;
        cc.on_send(time(self.now), MSS, self.sent * MSS);
        if let Some(rate) = cc.pacing_rate() {
            self.next_send = self.next_send.max(self.now) + MSS as f64 / rate;
        }
    }

    fn take(&mut self, cc: &mut impl CongestionControl) {
        let segment = self.flying.pop_front().expect("something is in flight");
        self.now = self.now.max(segment.back);
        let in_flight = self.flying.len() as f64;
        let rtt = self.now - segment.sent;
        self.acked += 1;
        self.srtt = if self.srtt == 0.0 { rtt } else { 0.875 * self.srtt + 0.125 * rtt };
        self.min_rtt = self.min_rtt.min(rtt);
        let interval = (segment.sent - segment.first_sent).max(self.now - segment.delivered_at);
        let first_sent = segment.sent;
        self.delivered_at = self.now;
        self.first_sent = first_sent;
        let in_recovery = self.recover.is_some();
        cc.on_ack(&Ack {
            segments: if segment.lost { 0.0 } else { 1.0 },
            bytes: if segment.lost { 0 } else { MSS },
            rtt: (!segment.lost).then(|| Duration::from_secs_f64(rtt)),
            srtt: Duration::from_secs_f64(self.srtt),
            min_rtt: Duration::from_secs_f64(self.min_rtt),
            in_flight,
            rate: (cc.wants_rate_samples() && interval > 0.0).then(|| RateSample {
                rate: (self.acked - segment.delivered) as f64 * MSS as f64 / interval,
                prior_delivered: segment.delivered * MSS,
                app_limited: false,
            }),
            ecn_echo: segment.marked,
            marked_bytes: if segment.marked && !segment.lost { MSS } else { 0 },
            in_recovery,
            duplicate: segment.lost,
            lost: f64::from(u8::from(segment.lost)),
            ..ack(self.now, rtt, self.acked, self.sent)
        });
        self.marks += u64::from(segment.marked);
        if segment.marked && self.acked > self.reduced && self.recover.is_none() {
            self.reduced = self.sent;
            cc.on_ecn(in_flight + 1.0);
        }
        if self.recover.is_some_and(|recover| self.acked >= recover) {
            self.recover = None;
            cc.on_recovery_exit(f64::INFINITY);
        }
        if segment.lost && self.recover.is_none() {
            self.losses += 1;
            self.recover = Some(self.sent);
            cc.on_loss(in_flight + 1.0);
        }
    }

    /// Runs until `until` seconds; `look` is called after every ACK.
    pub fn run<C: CongestionControl>(&mut self, cc: &mut C, until: f64, mut look: impl FnMut(&Self, &C)) {
        while self.now < until {
            let open = (self.flying.len() as f64) + 1.0 <= cc.cwnd();
            let back = self.flying.front().map_or(f64::INFINITY, |segment| segment.back);
            let paced = self.next_send.max(self.now);
            if open && (paced <= back || self.flying.is_empty()) {
                self.now = paced;
                self.send(cc);
            } else {
                self.take(cc);
                look(self, cc);
            }
        }
    }

    /// Runs until `until` seconds and returns the time-weighted mean window, in segments.
    pub fn mean_cwnd(&mut self, cc: &mut impl CongestionControl, until: f64) -> f64 {
        let (mut sum, mut from) = (0.0, self.now);
        let begin = self.now;
        self.run(cc, until, |pipe, cc| {
            sum += cc.cwnd() * (pipe.now - from);
            from = pipe.now;
        });
        sum / (from - begin)
    }
}
