//! Groups of modes, the success rate of each mode, and which of them are best.
//!
//! Success rates are averaged by a filter with two poles (J. Ehlers' "super smoother"; Linux's moving average with
//! noise filter), in units of 2^-12. With a success rate `s` and the previous two values `p` and `q` the average is
//!
//! ```text
//! (1 - b + a^2) s + b p - a^2 q,    a = exp(-pi sqrt(2) / period),    b = 2 a cos(2 pi sqrt(2) / period)
//! ```
//!
//! The throughput of a mode with the average `r`, zero for `r < 0.1`, is
//!
//! ```text
//! min(r, 0.9) / (overhead / mean MPDUs of a PPDU + air time of 1200 bytes without preamble)
//! ```
//!
//! where the overhead is that of an empty OFDM frame and an ACK at 6 Mb/s, each with SIFS.

use std::cmp::Reverse;
use std::ops::Range;

use wifair_units::{Bytes, Duration};

use super::Params;
use crate::TxMode;

/// Fractions are multiples of `1 / ONE`.
const ONE: u64 = 1 << 12;

/// The fraction `count` of `of`.
pub(super) const fn frac(count: u64, of: u64) -> u64 {
    count * ONE / of
}

/// 48 us for an empty OFDM frame and 60 us for an ACK at 6 Mb/s, each with SIFS; with RTS and CTS 60 us more for each.
const OVERHEAD: Duration = Duration::from_micros(108);
const OVERHEAD_RTS: Duration = Duration::from_micros(228);
/// Slot and contention windows that are assumed for the number of attempts.
const SLOT: Duration = Duration::from_micros(9);
const CW_MIN: u64 = 15;
const CW_MAX: u64 = 1023;

/// Bits of a packet of usual size, and the number of packets in the aggregate whose air time is computed.
const PACKET_BITS: u64 = 8 * 1200;
const AGGREGATE: u64 = 16;

/// Limits for the length of an A-MSDU if [`PACKET_BITS`] take more than this air time: that of HT MCS 1, 3 and 7 in
/// 20 MHz.
const AMSDU_LIMITS: [(Duration, Bytes); 3] = [
    (Duration::from_nanos(738_500), Bytes(500)),
    (Duration::from_nanos(369_250), Bytes(1600)),
    (Duration::from_nanos(147_750), Bytes(3200)),
];

#[derive(Clone, Debug)]
struct ModeStatistics {
    /// Index in the sender's list.
    place: usize,
    /// Index of its group.
    group: usize,
    /// Air time of [`PACKET_BITS`] in an aggregate of [`AGGREGATE`] packets, without preamble.
    time: Duration,
    /// Since the last evaluation.
    attempts: u64,
    successes: u64,
    /// Whether it was ever tried.
    is_known: bool,
    /// Average success rate, and the one before it; zero as long as nothing is known.
    average: u64,
    before: u64,
}

/// Modes that differ in their MCS alone.
#[derive(Clone, Debug)]
struct Group {
    streams: u8,
    /// Its modes, slowest first.
    modes: Range<usize>,
    /// The modes with the best throughputs, best first.
    best: [usize; 4],
}

/// See the [module](self). Modes are identified by their index, with those of a group in a row.
#[derive(Clone, Debug)]
pub(super) struct Modes {
    modes: Vec<ModeStatistics>,
    groups: Vec<Group>,
    /// Weights of the previous value and of the one before it.
    weights: (i64, i64),
    /// Number of MPDUs in a PPDU: average, and sum and count since the last evaluation.
    mean_mpdus: u64,
    mpdus: u64,
    ppdus: u64,
    /// The modes with the best throughputs, best first, and the most reliable one.
    pub best: [usize; 4],
    pub surest: usize,
}

impl Modes {
    pub fn new(list: &[TxMode], period: u32) -> Self {
        let group_of = |mode: &TxMode| (mode.width(), Reverse(mode.guard_interval()), mode.dcm(), mode.streams());
        let mut ordered: Vec<(usize, &TxMode)> = list.iter().enumerate().collect();
        ordered.sort_by_key(|(_, mode)| (group_of(mode), mode.mcs()));
        let (mut modes, mut groups) = (vec![], Vec::<Group>::new());
        for members in ordered.chunk_by(|a, b| group_of(a.1) == group_of(b.1)) {
            let (group, first) = (groups.len(), modes.len());
            modes.extend(members.iter().map(|(place, mode)| ModeStatistics {
                place: *place,
                group,
                time: packet_time(**mode),
                attempts: 0,
                successes: 0,
                is_known: false,
                average: 0,
                before: 0,
            }));
            let streams = members[0].1.streams();
            groups.push(Group { streams, modes: first..modes.len(), best: [first; 4] });
        }
        let angle = std::f64::consts::SQRT_2 * std::f64::consts::PI / f64::from(period);
        let a = libm::exp(-angle);
        let scaled = |weight: f64| (weight * ONE as f64) as i64;
        let weights = (scaled(2.0 * a * libm::cos(2.0 * angle)), scaled(-a * a));
        Self { modes, groups, weights, mean_mpdus: ONE, mpdus: 0, ppdus: 0, best: [0; 4], surest: 0 }
    }

    /// Index of a mode in the sender's list.
    pub fn place(&self, mode: usize) -> usize {
        self.modes[mode].place
    }

    /// Air time of a packet of usual size, without preamble.
    pub fn time(&self, mode: usize) -> Duration {
        self.modes[mode].time
    }

    /// Average success rate.
    pub fn probability(&self, mode: usize) -> u64 {
        self.modes[mode].average
    }

    pub fn group_count(&self) -> usize {
        self.groups.len()
    }

    /// The modes of a group, slowest first.
    pub fn group(&self, group: usize) -> Range<usize> {
        self.groups[group].modes.clone()
    }

    /// Notes that `acknowledged` of `sent` MPDUs were acknowledged.
    pub fn note(&mut self, mode: usize, sent: u32, acknowledged: u32) {
        let mode = &mut self.modes[mode];
        mode.attempts += u64::from(sent);
        mode.successes += u64::from(acknowledged);
    }

    /// Notes the number of MPDUs in a PPDU, after its last attempt.
    pub fn note_ppdu(&mut self, mpdus: u32) {
        self.mpdus += u64::from(mpdus);
        self.ppdus += 1;
    }

    /// Throughput, in packets per 100 ms.
    fn throughput(&self, mode: usize) -> u64 {
        let probability = self.modes[mode].average;
        if probability < frac(10, 100) {
            return 0;
        }
        let time = OVERHEAD / (self.mean_mpdus / ONE) + self.modes[mode].time;
        100 * (probability.min(frac(90, 100)) * 1_000_000 / time.as_nanos()) / ONE
    }

    /// Updates the averages and chooses the best modes.
    pub fn evaluate(&mut self) {
        if self.ppdus > 0 {
            let mean = frac(self.mpdus, self.ppdus).cast_signed();
            let before = self.mean_mpdus.cast_signed();
            self.mean_mpdus = (before + (mean - before) / 4).cast_unsigned();
            (self.mpdus, self.ppdus) = (0, 0);
        }
        let mut best = [0; 4];
        for group in 0..self.groups.len() {
            let range = self.group(group);
            let mut best_of_group = [range.start; 4];
            let mut faster = 0; // the highest success rate of a faster mode
            for mode in range.rev() {
                self.average(mode);
                let ModeStatistics { is_known, average, .. } = &mut self.modes[mode];
                if *is_known {
                    faster = faster.max(*average);
                } else {
                    *average = faster.max(*average); // a slower mode is no worse
                }
                if self.throughput(mode) > 0 {
                    self.rank(mode, &mut best);
                    self.rank(mode, &mut best_of_group);
                }
            }
            self.groups[group].best = best_of_group;
        }
        self.best = best;
        self.find_surest();
    }

    /// Updates the average of a mode that was tried since the last evaluation.
    fn average(&mut self, mode: usize) {
        let mode = &mut self.modes[mode];
        if mode.attempts == 0 {
            return;
        }
        let now = frac(mode.successes, mode.attempts).max(1);
        let (last, (weight, weight_before)) = (mode.average, self.weights);
        (mode.average, mode.before) = if last == 0 {
            (now, now)
        } else {
            let [now, last, before] = [now, last, mode.before].map(u64::cast_signed);
            let one = ONE.cast_signed();
            let value = ((one - weight - weight_before) * now + weight * last + weight_before * before) >> 12;
            (if value < 0 { 1 } else { value.min(one).cast_unsigned() }, last.cast_unsigned())
        };
        (mode.is_known, mode.attempts, mode.successes) = (true, 0, 0);
    }

    /// Puts a mode into a list of the best throughputs. Among equal throughputs, the higher success rate is better.
    fn rank(&self, mode: usize, best: &mut [usize; 4]) {
        let value = |mode: usize| (self.throughput(mode), self.modes[mode].average);
        let worse = best.iter().rposition(|other| value(mode) <= value(*other)).map_or(0, |last| last + 1);
        if worse < best.len() {
            best[worse..].rotate_right(1);
            best[worse] = mode;
        }
    }

    /// Finds the most reliable mode: the one with the highest success rate or, among those above three quarters, with
    /// the best throughput. Modes that are both faster and less successful than the best one are left out. Modes with
    /// fewer streams than the best one are preferred.
    fn find_surest(&mut self) {
        let fastest = self.best[0];
        let is_better = |mode: usize, than: usize| {
            let (known, other) = (self.modes[mode].average, self.modes[than].average);
            if known > frac(75, 100) { self.throughput(mode) > self.throughput(than) } else { known > other }
        };
        let is_risky = |mode: usize| {
            let (mode, fastest) = (&self.modes[mode], &self.modes[fastest]);
            mode.time < fastest.time && mode.average < fastest.average
        };
        let surest = |modes: Range<usize>, first: usize| {
            let candidates = modes.filter(|mode| !is_risky(*mode));
            candidates.fold(first, |surest, mode| if is_better(mode, surest) { mode } else { surest })
        };
        let most = self.groups[self.modes[fastest].group].streams;
        let with_fewer_streams = self.groups.iter().filter(|group| group.streams < most);
        let candidates = with_fewer_streams.map(|group| surest(group.modes.clone(), group.modes.start));
        let mut found = (surest(0..self.modes.len(), 0), 0);
        for mode in candidates {
            let throughput = self.throughput(mode);
            if throughput > found.1 {
                found = (mode, throughput);
            }
        }
        self.surest = found.0;
    }

    /// Replaces the best and the second best mode if fewer than a quarter of more than 30 MPDUs got through since the
    /// last evaluation; returns whether it did.
    pub fn replace_failing(&mut self) -> bool {
        let before = self.best;
        for rank in 0..2 {
            let ModeStatistics { attempts, successes, group, .. } = self.modes[self.best[rank]];
            if attempts > 30 && successes < attempts / 4 {
                let slower =
                    self.groups[..group].iter().rev().find(|other| other.streams <= self.groups[group].streams);
                if let Some(slower) = slower {
                    self.best[rank] = slower.best[rank];
                }
            }
        }
        self.best != before
    }

    /// Number of attempts in a mode, at least two: as many as fit into a segment, with the backoffs before them.
    pub fn attempts(&self, mode: usize, with_rts: bool, params: &Params) -> u32 {
        let data = self.modes[mode].time * (self.mean_mpdus / ONE);
        let mut windows = std::iter::successors(Some(CW_MIN), |cw| Some((2 * cw + 1).min(CW_MAX)));
        let mut attempt = |overhead: Duration| {
            let cw = windows.next().expect("it has no end");
            SLOT * cw / 2 + overhead + data
        };
        let overhead = if with_rts { OVERHEAD_RTS } else { OVERHEAD };
        let mut time = attempt(overhead) + attempt(overhead);
        let mut count = 2;
        while count < params.most_attempts {
            time += attempt(overhead);
            if time >= params.segment {
                break;
            }
            count += 1;
        }
        count
    }

    /// Limit for the length of an A-MSDU, if any. Fewer than two packets fit if more than half of the MPDUs in the most
    /// reliable mode are lost; the slower that mode, the shorter is the limit.
    pub fn longest_amsdu(&self) -> Option<Bytes> {
        let ModeStatistics { average, time, .. } = self.modes[self.surest];
        if average < frac(50, 100) {
            return Some(Bytes(1));
        }
        let by_time = AMSDU_LIMITS.iter().find(|(limit, _)| time > *limit).map(|(_, length)| *length);
        let is_lossy = self.modes[self.best[0]].average < frac(75, 100);
        by_time.or(is_lossy.then_some(Bytes(3200)))
    }
}

/// Air time of [`PACKET_BITS`] in an aggregate of [`AGGREGATE`] packets, without preamble.
fn packet_time(mode: TxMode) -> Duration {
    let bits = u64::from(mode.bits_per_symbol().expect("modes from HT on have symbols"));
    mode.symbol().expect("modes from HT on have symbols") * (PACKET_BITS * AGGREGATE).div_ceil(bits) / AGGREGATE
}
