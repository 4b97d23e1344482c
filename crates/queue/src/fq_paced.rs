//! fq: fair queueing with pacing.
//!
//! Source: Linux 6.12, `net/sched/sch_fq.c`. Each socket has a flow of its own, with credits in bytes. Flows that have
//! just become active (new) go before the others (old). A flow without credits gets a quantum and goes to the end of
//! the old ones; an empty new flow joins the old ones if there are any, and an empty old flow becomes inactive. A flow
//! begins with ten times the largest packet as credit, and one that was inactive for 40 ms has at least a quantum.
//!
//! A flow whose socket asks for pacing, or all flows if `max_rate` is set, may send when its last packet, or a quantum
//! of bytes if that is more, would have been sent at that rate; a flow slower than 550 kb/s counts single packets. A
//! flow that must wait stands apart until its time has come.
//!
//! Departures: the three priority bands (since 6.7) and packets with transmit times are left out. In scenarios TCP
//! paces itself (`pacing` of its flows), as a socket of Linux does without this discipline.

use std::collections::VecDeque;

use wifair_config::table;
use wifair_packet::{PacketId, Packets, entry};
use wifair_units::{BitRate, Bytes, Duration, Time};

use super::fq::NewAndOldLists;
use super::heap::IndexHeap;
use super::linux::{MTU, length};
use super::room::{Room, mark};
use super::{Cause, Discipline, Dropped, Site, flow_key};

table! {
    /// Fair queueing with pacing.
    pub struct Params {
        /// Most packets of a flow.
        pub flow_limit: u32 = 100, "at least 1" => |limit| *limit >= 1;
        /// Bytes granted to a flow at each visit.
        pub quantum: Bytes = Bytes(2 * MTU), "at least 256 B and at most 1 MB" => |q| (256..=1_000_000).contains(&q.0);
        /// Bytes granted to a flow at its start.
        pub initial_quantum: Bytes = Bytes(10 * MTU), "at most 1 GB" => |quantum| quantum.0 <= 1_000_000_000;
        /// Highest rate of each flow, if any.
        pub max_rate: Option<BitRate> = None, "at least 8 bit/s" => |rate| rate.is_none_or(|rate| rate.as_bps() >= 8);
        /// Tick of the timer, 1 s over the kernel's HZ, by which the 40 ms are counted.
        pub tick: Duration = Duration::from_millis(4), "above 0 s and at most 40 ms" => |tick| {
            *tick > Duration::ZERO && *tick <= REFILL
        };
        /// ECN-capable packets that leave this much later than they might have are marked; if absent, none is.
        pub ce_threshold: Option<Duration> = None;
    }
}

/// How late the timer for delayed flows goes off, so that it may serve several.
const TIMER_SLACK: Duration = Duration::from_micros(10);

/// Flows of at most this rate in byte/s are paced packet by packet.
const LOW_RATE: u64 = 550_000 / 8;

/// A flow that was inactive for longer has at least a quantum.
const REFILL: Duration = Duration::from_millis(40);

#[derive(Clone, Debug, Default)]
struct PacedFlow {
    /// Waiting packets with their times of arrival.
    line: VecDeque<(PacketId, Time)>,
    /// None before its first packet.
    credits: Option<i64>,
    /// When its next packet may leave.
    next: Time,
    inactive_since: Time,
    is_active: bool,
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub struct FqPaced {
    params: Params,
    room: Room,
    flows: Vec<PacedFlow>,
    group: NewAndOldLists,
    /// Flows that must wait, by the time until which they do.
    delayed: IndexHeap<Time>,
    marks: u64,
}

impl FqPaced {
    /// An empty queue.
    pub fn new(params: &Params, site: &Site<'_>) -> Self {
        Self {
            params: params.clone(),
            room: Room::new(site.limit, None),
            flows: vec![],
            group: NewAndOldLists::default(),
            delayed: IndexHeap::default(),
            marks: 0,
        }
    }

    /// The rate of a flow in byte/s, if it is paced; `pacing` is what its socket asks for.
    fn rate(&self, pacing: u64) -> Option<u64> {
        let most = self.params.max_rate.map(|rate| rate.as_bps() / 8);
        let own = Some(pacing).filter(|rate| *rate > 0);
        most.into_iter().chain(own).min()
    }
}

impl Discipline for FqPaced {
    fn enqueue(&mut self, now: Time, id: PacketId, _to: u32, packets: &mut Packets, dropped: &mut Dropped) {
        let packet = &mut packets[id];
        let number = flow_key(packet);
        let quantum = self.params.quantum.0 as i64;
        let flow = entry(&mut self.flows, number);
        if !self.room.fits(packet.bytes().0) || flow.line.len() >= self.params.flow_limit as usize {
            dropped.push((id, Cause::Overflow));
            return;
        }
        let credits = flow.credits.get_or_insert(self.params.initial_quantum.0 as i64);
        if !flow.is_active {
            flow.is_active = true;
            self.group.push(number);
            let tick = self.params.tick;
            let ticks = |time: Time| (time - Time::ZERO).div_floor(tick);
            if ticks(now) - ticks(flow.inactive_since) > REFILL.div_floor(tick) {
                *credits = (*credits).max(quantum);
            }
        }
        self.room.enter(packet);
        flow.line.push_back((id, now));
    }

    fn dequeue(&mut self, now: Time, packets: &mut Packets, _dropped: &mut Dropped) -> Option<PacketId> {
        if self.room.is_empty() {
            return None;
        }
        while let Some((_, number)) = self.delayed.first().filter(|(until, _)| *until <= now) {
            self.delayed.remove(number);
            self.group.push_old(number as usize);
        }
        let quantum = self.params.quantum.0 as i64;
        loop {
            let number = self.group.first()?;
            let flow = &mut self.flows[number];
            let credits = flow.credits.as_mut().expect("an active flow has had a packet");
            if *credits <= 0 {
                *credits += quantum;
                self.group.defer();
                continue;
            }
            let Some((id, came)) = flow.line.front().copied() else {
                flow.is_active = !self.group.remove_empty();
                flow.inactive_since = now;
                continue;
            };
            let due = flow.next.max(came);
            if now < due {
                flow.next = due;
                self.group.take_first();
                self.delayed.set(number as u32, due);
                continue;
            }
            flow.line.pop_front();
            let packet = &mut packets[id];
            self.room.leave(packet.bytes().0);
            if self.params.ce_threshold.is_some_and(|threshold| now - due > threshold) && mark(packet) {
                self.marks += 1;
            }
            let mut bytes = length(packet);
            *credits -= bytes as i64;
            let is_out = *credits <= 0;
            let Some(rate) = self.rate(packets.label(packets[id].flow).pacing) else { return Some(id) };
            let flow = &mut self.flows[number];
            if rate <= LOW_RATE {
                flow.credits = Some(0);
            } else if is_out {
                bytes = bytes.max(quantum as u64);
            } else {
                return Some(id);
            }
            let nanos = u128::from(bytes) * 1_000_000_000 / u128::from(rate.max(1));
            let mut gap = Duration::from_nanos((nanos as u64).min(1_000_000_000));
            if flow.next > Time::ZERO {
                gap = gap.saturating_sub((now - flow.next).min(Duration::from_nanos(gap.as_nanos() / 2)));
            }
            flow.next = now + gap;
            return Some(id);
        }
    }

    fn len(&self) -> usize {
        self.room.len()
    }

    /// A flow may be full earlier.
    fn is_full(&self) -> bool {
        self.room.is_full()
    }

    fn marks(&self) -> u64 {
        self.marks
    }

    /// The first time at which a flow may send.
    fn ready(&self) -> Time {
        let mut ready = self.delayed.first().map_or(Time::NEVER, |(until, _)| until + TIMER_SLACK);
        for flow in self.group.all().map(|number| &self.flows[number]) {
            match flow.line.front() {
                Some((_, came)) if flow.next <= *came => return Time::ZERO,
                Some(_) => ready = ready.min(flow.next),
                None => {}
            }
        }
        if ready == Time::NEVER { Time::ZERO } else { ready }
    }

    fn show(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("lines", self.flows.iter().filter(|flow| !flow.line.is_empty()).count() as f64);
        see("delayed_lines", self.delayed.len() as f64);
    }
}
