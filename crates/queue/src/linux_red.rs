//! RED as in Linux.
//!
//! Source: Linux 6.12, `net/sched/sch_red.c` and `include/net/red.h`; `tc` of iproute2 6.12, `tc/q_red.c` and
//! `tc/tc_red.c`, which derive the kernel's numbers from the parameters. Each arrival updates the mean of the bytes in
//! the queue, in fixed point with `n` bits behind the point:
//!
//! ```text
//! mean <- mean + (bytes - mean) / 2^n
//! ```
//!
//! where n is the least for which a burst of `burst` packets of the size `mean_packet` does not lift the mean above
//! `min`. While the queue was found empty the mean falls by a table of shifts. Below `min` nothing is chosen; from
//! `max` on every arrival is; between them the arrival number k since the last chosen one is chosen if (mean - min) k
//! >= R, with R uniform between 0 and (max - min) / `max_p`, drawn after each choice.
//!
//! A chosen packet is dropped, or marked if it is ECN-capable and `ecn` is on, also beyond `max`, unless `hard_drop`.

use std::collections::VecDeque;

use wifair_config::table;
use wifair_packet::{PacketId, Packets};
use wifair_units::{BitRate, Bytes, Duration, Time};

use super::linux::{HEADER, SplitMix64};
use super::room::{Room, mark};
use super::{Cause, Discipline, Dropped, Site};

table! {
    /// Random early detection as in Linux.
    pub struct Params {
        /// Nothing is chosen while the mean is below this.
        pub min: Bytes = Bytes(12_000), "at least 1 B and at most 1 GB" => |min| (1..=1_000_000_000).contains(&min.0);
        /// Everything is chosen while the mean is at least this.
        pub max: Bytes = Bytes(36_000), "at least 1 B and at most 1 GB" => |max| (1..=1_000_000_000).contains(&max.0);
        /// Size of a typical packet.
        pub mean_packet: Bytes = Bytes(1000), "at least 1 B and at most 64 kB" => |b| (1..=64_000).contains(&b.0);
        /// Packets of a burst that the mean should not follow; more than `min` in packets less one.
        pub burst: u32 = 20, "at least 1" => |burst| *burst >= 1;
        /// Probability where the mean reaches `max`.
        pub max_p: f64 = 0.02, "above 0 and at most 1" => |p| *p > 0.0 && *p <= 1.0;
        /// Rate by which the mean falls while the queue is empty; if absent, that of the link.
        pub bandwidth: Option<BitRate> = None;
        /// Whether ECN-capable packets are marked instead of dropped.
        pub ecn: bool = false;
        /// Whether packets beyond `max` are dropped nevertheless.
        pub hard_drop: bool = false;
    }
    check(params, at) {
        if params.min >= params.max {
            at.clash("`min` is not below `max`", &[("min", "the lower one"), ("max", "the upper one")]);
        } else if weight_bits(params).is_none() {
            at.clash(
                "`burst` is too short for `min`: it must be above min / mean_packet - 1, in packets",
                &[("burst", "too short"), ("min", "the mean at which packets begin to be chosen")],
            );
        }
    }
}

/// Entries of the table of shifts.
const ENTRIES: usize = 256;

/// The number n of the module's equation.
fn weight_bits(params: &Params) -> Option<u32> {
    let a = f64::from(params.burst) + 1.0 - params.min.0 as f64 / params.mean_packet.0 as f64;
    if a < 1.0 {
        return None;
    }
    (1..32).find(|bits| {
        let weight = 0.5_f64.powi(*bits as i32);
        let left = (0..params.burst).fold(1.0, |left, _| left * (1.0 - weight));
        a <= (1.0 - left) / weight
    })
}

/// The fall of the mean while the queue is empty: shifts by the time in microseconds, whose lower `cell` bits are cut.
/// `tc` computes the table in its ticks of 64 ns, and the kernel reads it in microseconds.
#[derive(Clone, Debug)]
struct Idle {
    cell: u32,
    shifts: Vec<u32>,
}

impl Idle {
    fn new(bits: u32, params: &Params, rate: BitRate) -> Self {
        let packet = rate.time_for(params.mean_packet).as_nanos() as f64 / 64.0;
        let fall = -libm::log(1.0 - 0.5_f64.powi(bits as i32)) / packet;
        let longest = 31.0 / fall;
        let cell = (0..32).find(|cell| longest / f64::from(1_u32 << cell) < 512.0).unwrap_or(31);
        let mut shifts: Vec<u32> =
            (0..ENTRIES).map(|entry| (((entry as u64) << cell) as f64 * fall).min(31.0) as u32).collect();
        shifts[ENTRIES - 1] = 31;
        Self { cell, shifts }
    }

    fn mean_after(&self, mean: u64, time: Duration) -> u64 {
        let micros = (time.as_nanos() / 1000).min((ENTRIES as u64 - 1) << self.cell);
        let shift = self.shifts[(micros >> self.cell) as usize % ENTRIES];
        if shift > 0 {
            return mean >> shift;
        }
        let fall = (mean * micros) >> self.cell;
        if fall < mean / 2 { mean - fall } else { mean / 2 }
    }
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub struct LinuxRed {
    params: Params,
    room: Room,
    line: VecDeque<PacketId>,
    bits: u32,
    idle: Option<Idle>,
    /// Draws R: a random 32-bit number is divided by this.
    divisor: u64,
    mean: u64,
    count: i64,
    random: u64,
    empty_since: Option<Time>,
    draws: SplitMix64,
    marks: u64,
}

impl LinuxRed {
    /// An empty queue.
    pub fn new(params: &Params, site: &Site<'_>) -> Self {
        let bits = weight_bits(params).unwrap_or(31);
        let max_p = (params.max_p * 4_294_967_296.0).min(4_294_967_295.0) as u64;
        Self {
            params: params.clone(),
            room: Room::new(site.limit, None),
            line: VecDeque::new(),
            bits,
            idle: params.bandwidth.or(site.rate).map(|rate| Idle::new(bits, params, rate)),
            divisor: (max_p / params.max.0.saturating_sub(params.min.0).max(1)).max(1),
            mean: 0,
            count: -1,
            random: 0,
            empty_since: None,
            draws: SplitMix64(site.stream().bits()),
            marks: 0,
        }
    }

    fn draw(&mut self) {
        self.random = u64::from(self.draws.u32()) / self.divisor;
    }

    /// Whether an arrival is chosen: if so, whether it was by chance.
    fn chosen(&mut self) -> Option<bool> {
        let (min, max) = (self.params.min.0 << self.bits, self.params.max.0 << self.bits);
        if self.mean < min {
            self.count = -1;
            return None;
        }
        if self.mean >= max {
            self.count = -1;
            return Some(false);
        }
        self.count += 1;
        if self.count == 0 {
            self.draw();
            return None;
        }
        if ((self.mean - min) >> self.bits) * (self.count as u64) < self.random {
            return None;
        }
        self.count = 0;
        self.draw();
        Some(true)
    }
}

impl Discipline for LinuxRed {
    fn enqueue(&mut self, now: Time, id: PacketId, _to: u32, packets: &mut Packets, dropped: &mut Dropped) {
        let backlog = self.room.bytes() + HEADER * self.room.len() as u64;
        self.mean = match (self.empty_since.take(), &self.idle) {
            (Some(since), Some(idle)) => idle.mean_after(self.mean, now - since),
            _ => self.mean + backlog - (self.mean >> self.bits),
        };
        let packet = &mut packets[id];
        if let Some(by_chance) = self.chosen() {
            let may_mark = self.params.ecn && (by_chance || !self.params.hard_drop);
            if !(may_mark && mark(packet)) {
                dropped.push((id, Cause::Early));
                return;
            }
            self.marks += 1;
        }
        if !self.room.fits_with(packet.bytes().0, HEADER) {
            dropped.push((id, Cause::Overflow));
            return;
        }
        self.room.enter(packet);
        self.line.push_back(id);
    }

    fn dequeue(&mut self, now: Time, packets: &mut Packets, _dropped: &mut Dropped) -> Option<PacketId> {
        let Some(id) = self.line.pop_front() else {
            self.empty_since.get_or_insert(now);
            return None;
        };
        self.room.leave(packets[id].bytes().0);
        Some(id)
    }

    fn len(&self) -> usize {
        self.line.len()
    }

    fn is_full(&self) -> bool {
        self.room.is_full()
    }

    fn marks(&self) -> u64 {
        self.marks
    }

    fn show(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("average_bytes", (self.mean >> self.bits) as f64);
    }
}
