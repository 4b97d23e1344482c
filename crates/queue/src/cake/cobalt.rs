//! COBALT: CoDel and BLUE side by side, for each flow.
//!
//! Source: Linux 6.12, `net/sched/sch_cake.c`. CoDel's count falls again while the delay is below the target, instead
//! of starting anew; times are in nanoseconds and 1/sqrt(count) in 32 bits, from a table below 16 and by one Newton
//! step above. BLUE drops with a probability that rises by 1/256 when the queue overflows and falls by 1/4096 when it
//! is found empty, each at most once in `target`.

use wifair_config::choice;
use wifair_packet::Packet;

use super::super::linux::SplitMix64;
use super::super::room::mark;

choice! {
    /// How the reciprocal square roots of counts below 16 are found.
    pub enum Roots {
        /// By four Newton steps from the one before.
        Newton = "newton" from "Linux up to 6.11, cobalt_cache_init",
        /// Exactly.
        Table = "table" from "Linux 6.12, inv_sqrt_cache",
    }
}

/// Counts whose reciprocal square root is in a table.
const TABLE: usize = 16;

const BLUE_UP: u32 = 1 << 24;
const BLUE_DOWN: u32 = 1 << 20;

/// What the flows of a tin have in common; times in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct CobaltParams {
    /// CoDel's target, and the least time between changes of BLUE.
    pub target: u64,
    /// CoDel's interval.
    pub interval: u64,
    /// Time in which the tin's rate sends a full packet.
    pub full_packet: u64,
    /// Whether ECN-capable packets are marked.
    pub table: [u32; TABLE],
}

/// The reciprocal square roots of small counts.
pub fn table(roots: Roots) -> [u32; TABLE] {
    let mut table = [u32::MAX; TABLE];
    let mut root = u32::MAX;
    for count in 1..TABLE as u32 {
        for _ in 0..4 {
            root = newton(root, count);
        }
        let exact = (4_294_967_296.0 / f64::from(count).sqrt()).floor().min(4_294_967_295.0) as u32;
        table[count as usize] = match roots {
            Roots::Newton => root,
            Roots::Table => exact,
        };
    }
    table
}

const fn newton(root: u32, count: u32) -> u32 {
    let root = root as u64;
    let square = (root * root) >> 32;
    let value = (3_u64 << 32).wrapping_sub((count as u64).wrapping_mul(square)) >> 2;
    (value.wrapping_mul(root) >> 31) as u32
}

/// The state of one flow.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cobalt {
    count: u32,
    root: u32,
    drop_next: i64,
    blue_changed: i64,
    blue: u32,
    dropping: bool,
}

impl Cobalt {
    /// Whether the state must still decay after the queue has become empty.
    pub const fn is_active(&self, now: i64) -> bool {
        self.blue > 0 || self.count > 0 || now < self.drop_next
    }

    fn find_root(&mut self, params: &CobaltParams) {
        self.root = match params.table.get(self.count as usize) {
            Some(root) => *root,
            None => newton(self.root, self.count),
        };
    }

    const fn next_after(&self, time: i64, params: &CobaltParams) -> i64 {
        time + ((params.interval as u32 as u64 * self.root as u64) >> 32) as i64
    }

    /// A packet was dropped because the buffer was full.
    pub const fn on_overflow(&mut self, now: i64, params: &CobaltParams) {
        if now - self.blue_changed > params.target as i64 {
            self.blue = self.blue.saturating_add(BLUE_UP);
            self.blue_changed = now;
        }
        self.dropping = true;
        self.drop_next = now;
        if self.count == 0 {
            self.count = 1;
        }
    }

    /// The queue was found empty.
    pub fn on_empty(&mut self, now: i64, params: &CobaltParams) {
        if self.blue > 0 && now - self.blue_changed > params.target as i64 {
            self.blue = self.blue.saturating_sub(BLUE_DOWN);
            self.blue_changed = now;
        }
        self.dropping = false;
        if self.count > 0 && now >= self.drop_next {
            self.count -= 1;
            self.find_root(params);
            self.drop_next = self.next_after(self.drop_next, params);
        }
    }

    /// Whether a leaving packet that has waited for `waited` is to be dropped; it may be marked. `bulk_flows` is 0
    /// unless the shaper is for incoming traffic.
    pub fn must_drop(
        &mut self,
        now: i64,
        waited: u64,
        bulk_flows: u64,
        params: &CobaltParams,
        packet: &mut Packet,
        draws: &mut SplitMix64,
    ) -> CobaltVerdict {
        let mut schedule = now - self.drop_next;
        let is_over =
            waited > params.target && waited > params.full_packet * bulk_flows * 2 && waited > params.full_packet * 4;
        let mut is_due = self.count > 0 && schedule >= 0;
        let mut verdict = CobaltVerdict { drop: false, marked: false };
        if is_over {
            if !self.dropping {
                self.dropping = true;
                self.drop_next = self.next_after(now, params);
            }
            if self.count == 0 {
                self.count = 1;
            }
        } else {
            self.dropping = false;
        }
        if is_due && self.dropping {
            verdict.marked = mark(packet);
            verdict.drop = !verdict.marked;
            self.count = self.count.saturating_add(1);
            self.find_root(params);
            self.drop_next = self.next_after(self.drop_next, params);
            schedule = now - self.drop_next;
        } else {
            while is_due {
                self.count -= 1;
                self.find_root(params);
                self.drop_next = self.next_after(self.drop_next, params);
                schedule = now - self.drop_next;
                is_due = self.count > 0 && schedule >= 0;
            }
        }
        if self.blue > 0 {
            verdict.drop |= draws.u32() < self.blue;
        }
        if self.count == 0 {
            self.drop_next = now + params.interval as i64;
        } else if schedule > 0 && !verdict.drop {
            self.drop_next = now;
        }
        verdict
    }
}

/// What COBALT decides about a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CobaltVerdict {
    /// Whether it is to be dropped.
    pub drop: bool,
    /// Whether it was marked.
    pub marked: bool,
}
