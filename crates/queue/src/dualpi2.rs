//! DualPI2: coupled queues for classic and L4S traffic.
//!
//! Source: RFC 9332 as in Linux 6.17, `net/sched/sch_dualpi2.c`, in its integers. L4S packets (ECT(1) or CE; with
//! `ecn_mask = "any"` all ECN-capable ones) have a queue of their own, the L-queue; all others wait in the C-queue.
//! Every `update` a PI controller changes the probability p, with the longer of the times that both heads have waited:
//!
//! ```text
//! p <- p + alpha (delay - target) + beta (delay - delay before)
//! ```
//!
//! As a packet leaves and at least two full packets stay, a classic packet is chosen with probability p^2 (two draws),
//! an L4S packet with probability `coupling` p. Chosen packets are marked, classic ones that are not ECN-capable
//! dropped. If `coupling` p is above 1 (overload), classic and L4S packets are dropped with probability p^2 and the
//! rest of the L4S packets are marked; without `drop_overload` p is kept below 1 / `coupling` instead. An L4S packet
//! that has waited longer than `step` is marked in any case.
//!
//! The L-queue is served first while a credit is at most 0. Its packets raise the credit by their length times
//! `classic_share` percent while classic packets wait, and these lower it by the rest. It starts anew when the link
//! finds both queues empty. A full queue drops the arrival.

use std::collections::VecDeque;

use wifair_config::{choice, table};
use wifair_packet::{Packet, PacketId, Packets, flag};
use wifair_units::{Duration, Time};

use super::linux::{HEADER, MTU, SplitMix64, Updates, length};
use super::room::{Room, mark};
use super::{Cause, Discipline, Dropped, Site};

choice! {
    /// Which packets belong to the L-queue.
    pub enum EcnMask {
        /// ECT(1) and CE.
        L4s = "l4s" from "RFC 9331, section 2",
        /// All that are ECN-capable.
        Any = "any" from "Linux, ecn_mask any",
    }
}

table! {
    /// Coupled queues for classic and L4S traffic.
    pub struct Params {
        /// Delay that the controller aims at.
        pub target: Duration = Duration::from_millis(15), "above 0 s" => |time| *time > Duration::ZERO;
        /// Time between changes of the probability.
        pub update: Duration = Duration::from_millis(16), "above 0 s" => |time| *time > Duration::ZERO;
        /// Gain of the difference from the target, in 1/s.
        pub alpha: f64 = 41.0 / 256.0, "above 0 and at most 1000" => |gain| *gain > 0.0 && *gain <= 1000.0;
        /// Gain of the change of the delay, in 1/s.
        pub beta: f64 = 819.0 / 256.0, "above 0 and at most 1000" => |gain| *gain > 0.0 && *gain <= 1000.0;
        /// L4S packets that have waited longer are marked.
        pub step: Duration = Duration::from_millis(1), "above 0 s" => |time| *time > Duration::ZERO;
        /// How much more often L4S packets are marked.
        pub coupling: u32 = 2, "from 1 to 255" => |factor| (1..=255).contains(factor);
        /// Share of classic packets while both queues have some, in percent.
        pub classic_share: u32 = 10, "at most 100" => |percent| *percent <= 100;
        /// Which packets belong to the L-queue.
        pub ecn_mask: EcnMask = EcnMask::L4s;
        /// Whether L4S packets are dropped, too, under overload.
        pub drop_overload: bool = true;
    }
}

/// A gain in 1/s as Linux has it: in units of 1/256 1/s from outside, then in 2^-32 per unit of 64 ns.
fn scaled_gain(gain: f64) -> i64 {
    let given = (gain * 256.0).round() as u64;
    ((given * u64::from(u32::MAX)) >> 2) as i64 / 1_000_000_000
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DualBand {
    Classic,
    L4s,
}

#[derive(Clone, Copy, Debug)]
struct TimedPacket {
    id: PacketId,
    since: Time,
    length: u64,
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub struct DualPi2 {
    params: Params,
    alpha: i64,
    beta: i64,
    room: Room,
    classic: VecDeque<TimedPacket>,
    l4s: VecDeque<TimedPacket>,
    /// In units of 2^-32.
    probability: u32,
    last_delay: u64,
    credit: i64,
    updates: Updates,
    draws: SplitMix64,
    marks: u64,
}

impl DualPi2 {
    /// An empty queue.
    pub fn new(params: &Params, site: &Site<'_>) -> Self {
        let mut queue = Self {
            params: params.clone(),
            alpha: scaled_gain(params.alpha),
            beta: scaled_gain(params.beta),
            room: Room::new(site.limit, None),
            classic: VecDeque::new(),
            l4s: VecDeque::new(),
            probability: 0,
            last_delay: 0,
            credit: 0,
            updates: Updates::Periodic(Time::ZERO + params.update, params.update),
            draws: SplitMix64(site.stream().bits()),
            marks: 0,
        };
        queue.reset_credit();
        queue
    }

    /// The queue with the random numbers of `SplitMix64` from this state and updates at these times, in order, for
    /// comparison with a recording; without times, updates are periodic.
    #[must_use]
    pub fn recorded(mut self, state: u64, mut updates: Vec<Time>) -> Self {
        self.draws = SplitMix64(state);
        if !updates.is_empty() {
            updates.reverse();
            self.updates = Updates::Recorded(updates);
        }
        self
    }

    fn reset_credit(&mut self) {
        let share = i64::from(self.params.classic_share);
        self.credit = MTU as i64 * (2 * share - 100);
    }

    fn catch_up(&mut self, now: Time) {
        let is_empty = self.room.is_empty();
        while !(is_empty && self.probability == 0 && self.last_delay == 0) {
            let Some(at) = self.updates.take(now) else { return };
            self.update(at);
        }
        self.updates.skip(now);
    }

    fn update(&mut self, at: Time) {
        let waited = |line: &VecDeque<TimedPacket>| line.front().map_or(0, |head| (at - head.since).as_nanos());
        let delay = waited(&self.classic).max(waited(&self.l4s));
        let error = delay as i64 - self.params.target.as_nanos() as i64;
        let change = delay as i64 - self.last_delay as i64;
        self.last_delay = delay;
        let step = error.wrapping_mul(self.alpha).wrapping_add(change.wrapping_mul(self.beta));
        let size = u32::try_from(step.unsigned_abs() >> 6).unwrap_or(u32::MAX);
        self.probability =
            if step > 0 { self.probability.saturating_add(size) } else { self.probability.saturating_sub(size) };
        if !self.params.drop_overload {
            self.probability = self.probability.min(u32::MAX / self.params.coupling);
        }
    }

    fn band(&self, packet: &Packet, packets: &Packets) -> DualBand {
        let is_l4s = packet.has(flag::CE)
            || packet.has(flag::ECT) && (self.params.ecn_mask == EcnMask::Any || packets.label(packet.flow).l4s);
        if is_l4s { DualBand::L4s } else { DualBand::Classic }
    }

    fn roll(&mut self, probability: u32) -> bool {
        self.draws.u32() <= probability
    }

    /// Marks a packet if it is ECN-capable; returns whether it is.
    fn mark(&mut self, packet: &mut Packet) -> bool {
        let is_new = !packet.has(flag::CE);
        let is_marked = mark(packet);
        self.marks += u64::from(is_marked && is_new);
        is_marked
    }

    /// Whether a leaving packet is to be dropped; it may be marked.
    fn must_drop(&mut self, band: DualBand, packet: &mut Packet) -> bool {
        let backlog = self.room.bytes() + HEADER * self.room.len() as u64;
        if backlog < 2 * MTU {
            return false;
        }
        let p = self.probability;
        let coupled = u64::from(p) * u64::from(self.params.coupling);
        let is_overload = coupled > u64::from(u32::MAX);
        match band {
            DualBand::Classic => self.roll(p) && self.roll(p) && (is_overload || !self.mark(packet)),
            DualBand::L4s if is_overload => {
                let drops = self.params.drop_overload && self.roll(p) && self.roll(p);
                if !drops {
                    self.mark(packet);
                }
                drops
            }
            DualBand::L4s => self.roll(coupled as u32) && !self.mark(packet),
        }
    }
}

impl Discipline for DualPi2 {
    fn enqueue(&mut self, now: Time, id: PacketId, _to: u32, packets: &mut Packets, dropped: &mut Dropped) {
        self.catch_up(now);
        let band = self.band(&packets[id], packets);
        let packet = &mut packets[id];
        if !self.room.fits(packet.bytes().0) {
            dropped.push((id, Cause::Overflow));
            return;
        }
        self.room.enter(packet);
        let waiting = TimedPacket { id, since: now, length: length(packet) };
        match band {
            DualBand::Classic => self.classic.push_back(waiting),
            DualBand::L4s => self.l4s.push_back(waiting),
        }
    }

    fn dequeue(&mut self, now: Time, packets: &mut Packets, dropped: &mut Dropped) -> Option<PacketId> {
        self.catch_up(now);
        loop {
            let share = i64::from(self.params.classic_share);
            let (waiting, band, change) = if !self.l4s.is_empty() && (self.classic.is_empty() || self.credit <= 0) {
                (self.l4s.pop_front(), DualBand::L4s, if self.classic.is_empty() { 0 } else { share })
            } else {
                (self.classic.pop_front(), DualBand::Classic, if self.l4s.is_empty() { 0 } else { share - 100 })
            };
            let Some(TimedPacket { id, since, length }) = waiting else {
                self.reset_credit();
                return None;
            };
            let packet = &mut packets[id];
            self.room.leave(packet.bytes().0);
            if self.must_drop(band, packet) {
                dropped.push((id, Cause::Early));
                continue;
            }
            if band == DualBand::L4s && now - since > self.params.step {
                self.mark(packet);
            }
            self.credit += change * length as i64;
            return Some(id);
        }
    }

    fn len(&self) -> usize {
        self.room.len()
    }

    fn is_full(&self) -> bool {
        self.room.is_full()
    }

    fn marks(&self) -> u64 {
        self.marks
    }

    fn show(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("probability", f64::from(self.probability) / f64::from(u32::MAX));
        see("l4s_packets", self.l4s.len() as f64);
    }
}
