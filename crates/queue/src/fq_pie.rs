//! FQ-PIE: flow queueing with PIE.
//!
//! Source: Linux 6.12, `net/sched/sch_fq_pie.c`; M. P. Tahiliani and others, "FQ-PIE Queue Discipline in the Linux
//! Kernel", 2019. Flows are hashed to lines, which are served as by FQ-CoDel: by deficit round robin, new lines first.
//! Each line has PIE's controller (see [`pie`]), which drops or marks arrivals. A full queue drops the arrival.
//!
//! Departures: the hash covers the number of the flow and its direction; a buffer limit in bytes of memory is left out.

use wifair_config::table;
use wifair_packet::{PacketId, Packets, entry};
use wifair_units::{Bytes, Time};

use super::fq::NewAndOldLists;
use super::fq_codel::hashed;
use super::lines::Lines;
use super::linux::{HEADER, MTU, SplitMix64, Updates, length};
use super::pie::{self, Controller};
use super::room::Room;
use super::{Cause, Discipline, Dropped, Site, flow_key};

table! {
    /// Flow queueing with PIE.
    pub struct Params {
        /// Number of lines (sub-queues) to which flows are hashed.
        pub lines: u32 = 1024, "at least 1 and at most 65536" => |lines| (1..=65_536).contains(lines);
        /// Bytes granted to a line at each visit.
        pub quantum: Bytes = Bytes(MTU), "at least 256 B and at most 1 MB" => |q| (256..=1_000_000).contains(&q.0);
        /// ECN-capable packets are marked while the probability is at most this, in percent.
        pub ecn_limit: u32 = 10, "at most 100" => |percent| *percent <= 100;
        /// PIE's parameters of each line.
        pub control => pie::Params;
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct PieLine {
    controller: Controller,
    credits: i64,
    listed: bool,
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub struct FqPie {
    params: Params,
    room: Room,
    lines: Lines,
    states: Vec<PieLine>,
    group: NewAndOldLists,
    updates: Updates,
    key: u64,
    draws: SplitMix64,
    marks: u64,
}

impl FqPie {
    /// An empty queue.
    pub fn new(params: &Params, site: &Site<'_>) -> Self {
        let mut stream = site.stream();
        Self {
            params: params.clone(),
            room: Room::new(site.limit, None),
            lines: Lines::default(),
            states: vec![],
            group: NewAndOldLists::default(),
            updates: params.control.updates(),
            key: stream.bits(),
            draws: SplitMix64(stream.bits()),
            marks: 0,
        }
    }

    fn backlog(&self, line: usize) -> u64 {
        self.lines.bytes(line) + HEADER * u64::from(self.lines.packets(line))
    }

    fn catch_up(&mut self, now: Time) {
        loop {
            let busy = (0..self.states.len()).any(|line| !self.states[line].controller.is_at_rest(self.backlog(line)));
            if !busy {
                self.updates.skip(now);
                return;
            }
            if self.updates.take(now).is_none() {
                return;
            }
            for line in 0..self.states.len() {
                let backlog = self.backlog(line);
                self.states[line].controller.update(&self.params.control, backlog);
            }
        }
    }
}

impl Discipline for FqPie {
    fn enqueue(&mut self, now: Time, id: PacketId, _to: u32, packets: &mut Packets, dropped: &mut Dropped) {
        self.catch_up(now);
        let packet = &mut packets[id];
        let line = hashed(flow_key(packet), self.key, u64::from(self.params.lines));
        let backlog = self.backlog(line);
        let state = entry(&mut self.states, line);
        let fits = self.room.fits(packet.bytes().0);
        let limit = u64::from(self.params.ecn_limit);
        let Self { params, draws, marks, .. } = self;
        if !fits || !state.controller.admits(&params.control, limit, backlog, packet, draws, marks) {
            state.controller.note_drop();
            dropped.push((id, if fits { Cause::Early } else { Cause::Overflow }));
            return;
        }
        self.room.enter(packet);
        self.lines.push(line, id, packet.size, now.as_nanos());
        if !state.listed {
            (state.listed, state.credits) = (true, self.params.quantum.0 as i64);
            self.group.push(line);
        }
    }

    fn dequeue(&mut self, now: Time, packets: &mut Packets, _dropped: &mut Dropped) -> Option<PacketId> {
        self.catch_up(now);
        loop {
            let line = self.group.first()?;
            let state = &mut self.states[line];
            if state.credits <= 0 {
                state.credits += self.params.quantum.0 as i64;
                self.group.defer();
                continue;
            }
            let Some(first) = self.lines.pop_first(line) else {
                state.listed = !self.group.remove_empty();
                continue;
            };
            self.room.leave(u64::from(first.size));
            state.credits -= length(&packets[first.id]) as i64;
            let backlog = self.backlog(line);
            self.states[line].controller.note_departure(now, Time::from_nanos(first.note), backlog);
            return Some(first.id);
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
        see("lines", (0..self.states.len()).filter(|line| self.lines.packets(*line) > 0).count() as f64);
    }
}
