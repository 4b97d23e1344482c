//! A contender: one category of one station, with its backoff, its queues, and its peers.

use std::collections::VecDeque;

use wifair_engine::Stream;
use wifair_mac::edcaf::{CategorySettings, SlotRules};
use wifair_mac::{Access, BROADCAST, Call, Category, StationSettings};
use wifair_packet::{Packet, PacketId};
use wifair_queue::{Discipline, Queue};
use wifair_units::{Duration, Time};

use super::block_ack::Originator;
use super::ppdu::ReferencePpdu;

/// What a contender sends next, to its peer with this index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    Data(usize),
    Request(usize),
}

/// A contender: one category of one station.
#[derive(Debug)]
pub struct ReferenceFunction {
    pub station: usize,
    /// One queue, or one for each receiver, which take turns.
    pub queues: Vec<Queue>,
    pub turns: VecDeque<usize>,
    pub cw: u32,
    pub cw_range: (u32, u32),
    pub exclude_cw: bool,
    pub backoff: Stream,
    pub short_retries: u8,
    pub long_retries: u8,
    pub aifs: Duration,
    pub slot_rules: SlotRules,
    pub txop: Duration,
    pub burst: u32,
    /// Start of its slot count, if the channel stays idle.
    pub from: Time,
    /// Slots left.
    pub slots: u64,
    /// Whether the slots were drawn. If not, it is about to send at once, and draws when another station sends first.
    pub drew: bool,
    pub task: Option<Task>,
    pub peers: Vec<Originator>,
    /// Peers with pending MPDUs, and those to which a BlockAckReq is due; the first comes first.
    pub backlog: Vec<usize>,
    pub requests: Vec<usize>,
    pub ppdu: Option<ReferencePpdu>,
    /// Start of its TXOP, and number of exchanges in it.
    pub won_at: Time,
    pub in_a_row: u32,
    /// With CF-End, the receivers for which RTS and CTS have reserved the channel in its TXOP; [`BROADCAST`] stands for
    /// all, after a CTS-to-self.
    pub reserved_for: Vec<u32>,
}

impl ReferenceFunction {
    pub fn new(
        access: &Access,
        node: &StationSettings,
        station: usize,
        slot_rules: SlotRules,
        settings: CategorySettings,
    ) -> Self {
        let CategorySettings { parameters, queues, backoff, .. } = settings;
        let Category { cw_min, cw_max, aifsn, txop, burst } = parameters;
        let timing = &access.timing;
        let aifs = match aifsn {
            1 => timing.difs.saturating_sub(timing.slot),
            aifsn => timing.difs + timing.slot * u64::from(aifsn - 2),
        };
        Self {
            station,
            queues,
            turns: VecDeque::new(),
            cw: cw_min,
            cw_range: (cw_min, cw_max),
            exclude_cw: node.exclude_cw,
            backoff,
            short_retries: 0,
            long_retries: 0,
            aifs,
            slot_rules,
            txop,
            burst,
            from: Time::ZERO + aifs,
            slots: 0,
            drew: true,
            task: None,
            peers: vec![],
            backlog: vec![],
            requests: vec![],
            ppdu: None,
            won_at: Time::ZERO,
            in_a_row: 0,
            reserved_for: vec![],
        }
    }

    pub fn ppdu(&self) -> &ReferencePpdu {
        self.ppdu.as_ref().expect("a sender has formed a PPDU")
    }

    pub fn ppdu_mut(&mut self) -> &mut ReferencePpdu {
        self.ppdu.as_mut().expect("a sender has formed a PPDU")
    }

    /// Whether the channel is already reserved for data to `to` in this TXOP.
    pub fn has_reserved(&self, to: u32) -> bool {
        self.reserved_for.contains(&to) || self.reserved_for.contains(&BROADCAST)
    }

    pub fn due(&self, slot: Duration) -> Time {
        self.from + slot * self.slots
    }

    /// Draws a new backoff.
    pub fn draw(&mut self) {
        let values = if self.exclude_cw { self.cw } else { self.cw + 1 };
        self.slots = u64::from(self.backoff.below(values.max(1)));
        self.drew = true;
    }

    pub fn reset_window(&mut self) {
        self.cw = self.cw_range.0;
        self.short_retries = 0;
        self.long_retries = 0;
    }

    pub fn double_window(&mut self) {
        self.cw = (2 * self.cw + 1).min(self.cw_range.1);
    }

    /// Counts a failed attempt; returns whether the retry limit is reached (10.3.4.4).
    pub fn count_failure(&mut self, access: &Access, is_short: bool) -> bool {
        let (retries, limit) = if is_short {
            (&mut self.short_retries, access.short_retry_limit.unwrap_or(7))
        } else {
            (&mut self.long_retries, access.long_retry_limit.unwrap_or(4))
        };
        *retries += 1;
        let is_exhausted = *retries >= limit;
        self.double_window();
        if is_exhausted {
            let cw = self.cw;
            self.reset_window();
            if !access.reset_cw_on_drop {
                self.cw = cw;
            }
        }
        is_exhausted
    }

    pub fn waiting(&self) -> usize {
        self.queues.iter().map(Discipline::len).sum()
    }

    pub fn enqueue(&mut self, to: u32, id: PacketId, call: &mut Call<'_>) {
        let place = (to as usize).min(self.queues.len() - 1); // broadcasts wait in the last
        self.queues[place].enqueue(call.now, id, to, call.packets, call.dropped);
        if !self.queues[place].is_empty() && !self.turns.contains(&place) {
            self.turns.push_back(place);
        }
    }

    pub fn dequeue(&mut self, call: &mut Call<'_>) -> Option<PacketId> {
        if let [queue] = &mut self.queues[..] {
            return queue.dequeue(call.now, call.packets, call.dropped);
        }
        for _ in 0..self.turns.len() {
            let place = self.turns.pop_front()?;
            let id = self.queues[place].dequeue(call.now, call.packets, call.dropped);
            if !self.queues[place].is_empty() {
                self.turns.push_back(place);
            }
            if id.is_some() {
                return id;
            }
        }
        None
    }

    /// Dequeues the first packet for this receiver, unless it is longer than `room` bytes; from FIFOs only.
    pub fn dequeue_for(&mut self, to: u32, room: u64, call: &mut Call<'_>) -> Option<PacketId> {
        let place = if self.queues.len() == 1 { 0 } else { to as usize };
        let Queue::Fifo(fifo) = self.queues.get_mut(place)? else { panic!("aggregates are taken from FIFOs") };
        let next_hops = call.next_hops;
        let is_to = |packet: &Packet| next_hops.of(packet) == to;
        fifo.dequeue_for(call.now, to, room, &is_to, call.packets, call.dropped)
    }
}
