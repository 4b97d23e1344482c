//! Tins: the classes of CAKE, their code points, rates and weights.

use wifair_config::choice;

use super::super::linux::MTU;
use super::cobalt::{self, CobaltParams, Roots};

choice! {
    /// How code points (DSCP) choose a tin.
    pub enum Diffserv {
        /// Three tins: bulk, best effort, voice.
        Diffserv3 = "diffserv3",
        /// Four tins: bulk, best effort, video, voice.
        Diffserv4 = "diffserv4",
        /// Eight tins.
        Diffserv8 = "diffserv8",
        /// Eight tins by the upper three bits.
        Precedence = "precedence",
        /// One tin for all.
        BestEffort = "besteffort",
    }
}

impl Diffserv {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Diffserv3, Self::Diffserv4, Self::Diffserv8, Self::Precedence, Self::BestEffort];

    /// Number of tins.
    pub const fn tins(self) -> usize {
        match self {
            Self::BestEffort => 1,
            Self::Diffserv3 => 3,
            Self::Diffserv4 => 4,
            Self::Diffserv8 | Self::Precedence => 8,
        }
    }

    /// The tin of a code point. With three or four tins, 0 is best effort, 1 bulk, and higher numbers have priority.
    pub const fn tin(self, dscp: u8) -> usize {
        // Code points by their names: LE 1, CS1 to CS7 multiples of 8, AF11 10 to AF43 38, VA 44, EF 46. 2 and 4 are
        // the old bits for throughput and low delay.
        match (self, dscp) {
            (Self::BestEffort, _) => 0,
            (Self::Precedence, _) => (dscp >> 3) as usize,
            (Self::Diffserv3 | Self::Diffserv4, 1 | 8) => 1,
            (Self::Diffserv3, 4 | 44 | 46 | 48 | 56) => 2,
            (Self::Diffserv3, _) => 0,
            (Self::Diffserv4, 4 | 16 | 18 | 20 | 22 | 24 | 26 | 28 | 30 | 34 | 36 | 38) => 2,
            (Self::Diffserv4, 32 | 40 | 44 | 46 | 48 | 56) => 3,
            (Self::Diffserv4, _) => 0,
            (Self::Diffserv8, 1) => 0,
            (Self::Diffserv8, 2 | 8 | 10 | 12 | 14) => 1,
            (Self::Diffserv8, 24 | 26 | 28 | 30 | 34 | 36 | 38) => 3,
            (Self::Diffserv8, 4 | 18 | 20 | 22) => 4,
            (Self::Diffserv8, 16) => 5,
            (Self::Diffserv8, 32 | 40 | 44 | 46) => 6,
            (Self::Diffserv8, 48 | 56) => 7,
            (Self::Diffserv8, _) => 2,
        }
    }

    /// Rates in byte/s (0 for unlimited) and weights of the tins.
    fn shares(self, rate: u64) -> Vec<(u64, u64)> {
        match self {
            Self::BestEffort => vec![(rate, 65_535)],
            Self::Diffserv3 => [0, 4, 2].map(|shift| (rate >> shift, 1024 >> shift)).to_vec(),
            Self::Diffserv4 => [0, 4, 1, 2].map(|shift| (rate >> shift, 1024 >> shift)).to_vec(),
            Self::Diffserv8 | Self::Precedence => {
                let next = |(rate, weight): &(u64, u64)| Some(((rate * 7) >> 3, (weight * 7) >> 3));
                std::iter::successors(Some((rate, 256)), next).take(8).collect()
            }
        }
    }

    /// The shapers of the tins, the first of which is also that of the whole.
    pub fn shapers(self, rate: u64, target: u64, interval: u64, roots: Roots) -> Vec<Shaper> {
        let shares = self.shares(rate);
        shares.into_iter().map(|(rate, weight)| Shaper::new(rate, weight.max(1), target, interval, roots)).collect()
    }
}

/// The rate of a tin, and what follows from it.
#[derive(Clone, Copy, Debug)]
pub struct Shaper {
    /// Time for a byte, in nanoseconds times 2^`shift`; 0 if unlimited.
    per_byte: u64,
    shift: u32,
    /// Bytes granted to a flow at each visit.
    pub flow_quantum: u64,
    /// Bytes granted to the tin at each visit, without a rate.
    pub weight: i64,
    /// Parameters of its flows.
    pub cobalt: CobaltParams,
}

impl Shaper {
    fn new(rate: u64, weight: u64, target: u64, interval: u64, roots: Roots) -> Self {
        let (mut per_byte, mut shift, mut flow_quantum) = (0, 0, MTU);
        if rate > 0 {
            flow_quantum = (rate >> 12).clamp(300, MTU);
            shift = 34;
            per_byte = (1_000_000_000_u64 << 34) / rate.max(64);
            while per_byte >> 34 > 0 {
                (per_byte, shift) = (per_byte >> 1, shift - 1);
            }
        }
        let full_packet = (MTU * per_byte) >> shift;
        let own_target = target.max(full_packet * 3 / 2);
        let interval = (interval + own_target - target).max(own_target * 2);
        let cobalt = CobaltParams { target: own_target, interval, full_packet, table: cobalt::table(roots) };
        Self { per_byte, shift, flow_quantum, weight: weight as i64, cobalt }
    }

    /// Time for so many bytes, in nanoseconds.
    pub const fn time_for(&self, bytes: u64) -> i64 {
        ((bytes * self.per_byte) >> self.shift) as i64
    }
}
