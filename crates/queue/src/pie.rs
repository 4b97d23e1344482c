//! PIE: proportional integral controller enhanced.
//!
//! Source: RFC 8033 as in Linux 6.12, `net/sched/sch_pie.c`, in its integers. Every `update` the probability changes by
//!
//! ```text
//! p <- p + alpha (delay - target) + beta (delay - delay before)
//! ```
//!
//! with smaller gains while p is small (half below 0.1, and a quarter of that below each of 0.01, 0.001, ... 0.000001).
//! The delay is that of the last packet that left, 0 once the queue is empty. A step is at most 0.02 where p is at
//! least 0.1, a delay above 250 ms adds 0.02, and p falls by 1/64 when the delay was 0 twice.
//!
//! An arrival is chosen with probability p, but none while the burst allowance of 150 ms lasts, while the delay is
//! below half the target and p below 0.2, or while fewer than two full packets wait. The sum of p over the arrivals
//! since the last chosen one must be at least 0.85, and forces a choice at 8.5. A chosen packet is marked if it is
//! ECN-capable and p at most 0.1, else dropped.
//!
//! Linux rounds `update` up to whole ticks of its timer (`tick`), and the timer goes off a tick later, so that it is
//! never early: 15 ms are 20 ms at 250 Hz, and 30 ms at 100 Hz.
//!
//! Departure: the first update is `update` after the start, where Linux waits for half a second after it has made the
//! queue; a device has its queue long before.

use std::collections::VecDeque;

use wifair_config::table;
use wifair_packet::{Packet, PacketId, Packets};
use wifair_units::{Duration, Time};

use super::linux::{HEADER, MTU, SplitMix64, Updates, length};
use super::room::{Room, mark};
use super::{Cause, Discipline, Dropped, Site};

table! {
    /// Proportional integral controller enhanced.
    pub struct Params {
        /// Delay that the controller aims at.
        pub target: Duration = Duration::from_millis(15), "above 0 s" => |time| *time > Duration::ZERO;
        /// Time between changes of the probability.
        pub update: Duration = Duration::from_millis(15), "above 0 s" => |time| *time > Duration::ZERO;
        /// Tick of the timer, 1 s over the kernel's HZ: `update` is rounded up to a multiple, and a tick is added.
        pub tick: Duration = Duration::from_millis(4), "above 0 s" => |time| *time > Duration::ZERO;
        /// Gain of the difference from the target, in sixteenths of 1/s.
        pub alpha: u32 = 2, "at most 32" => |gain| *gain <= 32;
        /// Gain of the change of the delay, in sixteenths of 1/s.
        pub beta: u32 = 20, "at most 32" => |gain| *gain <= 32;
        /// Whether ECN-capable packets are marked instead of dropped while the probability is at most 0.1.
        pub ecn: bool = false;
        /// Whether the probability is proportional to the length of a packet.
        pub bytemode: bool = false;
    }
}

/// A probability of 1.
pub const ONE: u64 = u64::MAX >> 8;

/// Time is counted in units of 64 ns.
const TICK_SHIFT: u32 = 6;

/// Units in a second.
const PER_SECOND: u64 = 1_000_000_000 >> TICK_SHIFT;

const fn ticks(time: Duration) -> u64 {
    time.as_nanos() >> TICK_SHIFT
}

/// The burst allowance.
const BURST: u64 = ticks(Duration::from_millis(150));

impl Params {
    /// Updates from now on, by the timer of Linux.
    pub fn updates(&self) -> Updates {
        let interval = self.update.round_up_to(self.tick) + self.tick;
        Updates::Periodic(Time::ZERO + interval, interval)
    }
}

/// The controller of one queue.
#[derive(Clone, Copy, Debug)]
pub struct Controller {
    burst: u64,
    probability: u64,
    accumulated: u64,
    delay: u64,
    delay_before: u64,
    last_departure: Option<Time>,
}

impl Default for Controller {
    fn default() -> Self {
        Self { burst: BURST, probability: 0, accumulated: 0, delay: 0, delay_before: 0, last_departure: None }
    }
}

impl Controller {
    /// The probability, between 0 and 1.
    pub fn probability(&self) -> f64 {
        self.probability as f64 / ONE as f64
    }

    /// Whether an update would change nothing, with this many bytes in the queue.
    pub const fn is_at_rest(&self, backlog: u64) -> bool {
        self.probability == 0 && self.delay == 0 && self.delay_before == 0 && backlog == 0
    }

    /// Whether an arrival is chosen; `backlog` is what it finds, in bytes.
    fn chooses(&mut self, params: &Params, backlog: u64, length: u64, draws: &mut SplitMix64) -> bool {
        let is_short = self.delay < ticks(params.target) / 2 && self.probability < ONE / 5;
        if self.burst > 0 || is_short || backlog < 2 * MTU {
            return false;
        }
        let own = if params.bytemode && length <= MTU { length * (self.probability / MTU) } else { self.probability };
        self.accumulated = if own == 0 { 0 } else { self.accumulated.wrapping_add(own) };
        if self.accumulated < ONE / 100 * 85 {
            return false;
        }
        if self.accumulated >= ONE / 2 * 17 {
            return true;
        }
        let chosen = draws.bits() >> 8 < own;
        if chosen {
            self.accumulated = 0;
        }
        chosen
    }

    /// Decides about an arrival: true if it stays, marked or not; `ecn_limit` is the highest probability at which it is
    /// marked, in hundredths.
    pub fn admits(
        &mut self,
        params: &Params,
        ecn_limit: u64,
        backlog: u64,
        packet: &mut Packet,
        draws: &mut SplitMix64,
        marks: &mut u64,
    ) -> bool {
        if !self.chooses(params, backlog, length(packet), draws) {
            return true;
        }
        if params.ecn && self.probability <= ONE / 100 * ecn_limit && mark(packet) {
            *marks += 1;
            return true;
        }
        false
    }

    /// Notes that an arrival was dropped.
    pub const fn note_drop(&mut self) {
        self.accumulated = 0;
    }

    /// Notes a departure of a packet that came at `since` and leaves `backlog` bytes behind.
    pub fn note_departure(&mut self, now: Time, since: Time, backlog: u64) {
        self.delay = if backlog == 0 { 0 } else { ticks(now - since) };
        let gap = self.last_departure.map_or(0, |last| ticks(now - last));
        self.last_departure = Some(now);
        self.burst = self.burst.saturating_sub(gap);
    }

    /// Changes the probability, with `backlog` bytes in the queue.
    pub fn update(&mut self, params: &Params, backlog: u64) {
        let (delay, before, target) = (self.delay, self.delay_before, ticks(params.target));
        let mut may_decay = !(delay == 0 && backlog != 0);
        let gain = |sixteenths: u32| (u64::from(sixteenths) * (ONE / PER_SECOND)) >> 4;
        let (mut alpha, mut beta) = (gain(params.alpha), gain(params.beta));
        if self.probability < ONE / 10 {
            (alpha, beta) = (alpha >> 1, beta >> 1);
            let mut power = 100;
            while power <= 1_000_000 && self.probability < ONE / power {
                (alpha, beta) = (alpha >> 2, beta >> 2);
                power *= 10;
            }
        }
        let error = alpha.wrapping_mul(delay.wrapping_sub(target));
        let mut step = error.wrapping_add(beta.wrapping_mul(delay.wrapping_sub(before))) as i64;
        if step > (ONE / 50) as i64 && self.probability >= ONE / 10 {
            step = (ONE / 100 * 2) as i64;
        }
        if delay > ticks(Duration::from_millis(250)) {
            step = step.wrapping_add((ONE / 50) as i64);
        }
        let old = self.probability;
        self.probability = old.wrapping_add(step as u64);
        if step > 0 {
            if self.probability < old {
                self.probability = ONE;
                may_decay = false;
            }
        } else if self.probability > old {
            self.probability = 0;
        }
        if delay == 0 && before == 0 && may_decay {
            self.probability -= self.probability / 64;
        }
        if delay < target / 2 && before < target / 2 && self.probability == 0 {
            (self.burst, self.accumulated, self.last_departure) = (BURST, 0, None);
        }
        self.delay_before = delay;
    }
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub struct Pie {
    room: Room,
    /// Waiting packets with their times of arrival.
    line: VecDeque<(PacketId, Time)>,
    params: Params,
    controller: Controller,
    updates: Updates,
    draws: SplitMix64,
    marks: u64,
}

impl Pie {
    /// An empty queue.
    pub fn new(params: &Params, site: &Site<'_>) -> Self {
        Self {
            room: Room::new(site.limit, None),
            line: VecDeque::new(),
            params: params.clone(),
            controller: Controller::default(),
            updates: params.updates(),
            draws: SplitMix64(site.stream().bits()),
            marks: 0,
        }
    }

    fn backlog(&self) -> u64 {
        self.room.bytes() + HEADER * self.room.len() as u64
    }

    fn catch_up(&mut self, now: Time) {
        let backlog = self.backlog();
        while !self.controller.is_at_rest(backlog) && self.updates.take(now).is_some() {
            self.controller.update(&self.params, backlog);
        }
        if self.controller.is_at_rest(backlog) {
            self.updates.skip(now);
        }
    }
}

impl Discipline for Pie {
    fn enqueue(&mut self, now: Time, id: PacketId, _to: u32, packets: &mut Packets, dropped: &mut Dropped) {
        self.catch_up(now);
        let backlog = self.backlog();
        let packet = &mut packets[id];
        let fits = self.room.fits(packet.bytes().0);
        if fits && self.controller.admits(&self.params, 10, backlog, packet, &mut self.draws, &mut self.marks) {
            self.room.enter(packet);
            self.line.push_back((id, now));
            return;
        }
        self.controller.note_drop();
        dropped.push((id, if fits { Cause::Early } else { Cause::Overflow }));
    }

    fn dequeue(&mut self, now: Time, packets: &mut Packets, _dropped: &mut Dropped) -> Option<PacketId> {
        self.catch_up(now);
        let (id, since) = self.line.pop_front()?;
        self.room.leave(packets[id].bytes().0);
        self.controller.note_departure(now, since, self.backlog());
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
        see("probability", self.controller.probability());
        see("delay_s", Duration::from_nanos(self.controller.delay << TICK_SHIFT).as_secs());
    }
}
