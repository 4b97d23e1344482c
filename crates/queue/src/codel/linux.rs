//! CoDel's control law in Linux's integer arithmetic.
//!
//! Source: Linux 6.12, `include/net/codel.h` and `codel_impl.h`. Times are counted in units of 1024 ns, in 32 bits. The
//! reciprocal square root of the count is kept in 16 bits and follows each change of the count by one Newton step
//!
//! ```text
//! r <- r (3 - count r^2) / 2
//! ```
//!
//! so it differs from the true value, most of all after the first drops: 2 drops are followed by a gap of 0.50
//! intervals instead of 0.71.
//!
//! Departure: the kernel cuts the times of arrival and departure to the unit, here their difference is cut: where a
//! packet has waited for the target within 1 us, the kernel's decision depends on when it was booted.

use wifair_packet::{PacketId, Packets};
use wifair_units::Time;

use super::{Cause, Dropped, Leaving, Params, mark};

/// The control law of one queue.
#[derive(Clone, Copy, Debug, Default)]
pub struct LinuxState {
    count: u32,
    last_count: u32,
    dropping: bool,
    /// 1/sqrt(count), in units of 2^-16.
    inverse_root: u16,
    /// When the sojourn time will have exceeded the target for a whole interval; 0 for never.
    above_at: u32,
    next_drop: u32,
    pub(super) marks: u64,
}

/// A time in units of 1024 ns.
const fn ticks(nanos: u64) -> u32 {
    (nanos >> 10) as u32
}

/// Whether `a` is later than `b`.
const fn is_after(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) > 0
}

impl LinuxState {
    /// Drops in this episode.
    pub const fn count(&self) -> u32 {
        if self.dropping { self.count } else { 0 }
    }

    /// Counts packets that were dropped because the queue was full.
    pub const fn count_overflow(&mut self, packets: u32) {
        self.count = self.count.wrapping_add(packets);
    }

    const fn newton_step(&mut self) {
        let root = (self.inverse_root as u64) << 16;
        let square = (root * root) >> 32;
        let value = (3_u64 << 32).wrapping_sub((self.count as u64).wrapping_mul(square)) >> 2;
        self.inverse_root = ((value.wrapping_mul(root) >> 31) >> 16) as u16;
    }

    const fn next_after(&self, time: u32, interval: u32) -> u32 {
        time.wrapping_add(((interval as u64 * ((self.inverse_root as u64) << 16)) >> 32) as u32)
    }

    fn may_drop(&mut self, at: Time, leaving: Option<&Leaving>, params: &Params) -> bool {
        let (now, target) = (ticks(at.as_nanos()), ticks(params.target.as_nanos()));
        let is_above = leaving.is_some_and(|leaving| {
            let waited = ticks((at - leaving.since).as_nanos());
            !is_after(target, waited) && leaving.left > params.full_packet.0
        });
        if !is_above {
            self.above_at = 0;
            return false;
        }
        if self.above_at == 0 {
            self.above_at = now.wrapping_add(ticks(params.interval.as_nanos()));
            return false;
        }
        is_after(now, self.above_at)
    }

    /// The packet to send: `pop` takes packets from the head of the queue, and skipped packets are dropped.
    pub fn dequeue(
        &mut self,
        now: Time,
        params: &Params,
        packets: &mut Packets,
        dropped: &mut Dropped,
        mut pop: impl FnMut(&Packets) -> Option<Leaving>,
    ) -> Option<PacketId> {
        let Some(mut leaving) = pop(packets) else {
            self.dropping = false;
            return None;
        };
        let (at, now, interval) = (now, ticks(now.as_nanos()), ticks(params.interval.as_nanos()));
        let may_drop = self.may_drop(at, Some(&leaving), params);
        if self.dropping {
            self.dropping = may_drop;
            while self.dropping && !is_after(self.next_drop, now) {
                self.count = self.count.wrapping_add(1);
                self.newton_step();
                if params.ecn && mark(&mut packets[leaving.id]) {
                    self.marks += 1;
                    self.next_drop = self.next_after(self.next_drop, interval);
                    break;
                }
                dropped.push((leaving.id, Cause::Early));
                let next = pop(packets);
                self.dropping = self.may_drop(at, next.as_ref(), params);
                leaving = next?;
                if self.dropping {
                    self.next_drop = self.next_after(self.next_drop, interval);
                }
            }
        } else if may_drop {
            let mut sent = Some(leaving);
            if params.ecn && mark(&mut packets[leaving.id]) {
                self.marks += 1;
            } else {
                dropped.push((leaving.id, Cause::Early));
                sent = pop(packets);
                self.may_drop(at, sent.as_ref(), params);
            }
            self.dropping = true;
            let grown = self.count.wrapping_sub(self.last_count);
            let recent = is_after(interval.wrapping_mul(16), now.wrapping_sub(self.next_drop));
            if grown > 1 && recent {
                self.count = grown;
                self.newton_step();
            } else {
                self.count = 1;
                self.inverse_root = u16::MAX;
            }
            self.last_count = self.count;
            self.next_drop = self.next_after(now, interval);
            leaving = sent?;
        }
        Some(leaving.id)
    }
}
