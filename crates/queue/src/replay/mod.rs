//! Replays recorded arrivals through a queue before an ideal link, for comparison with what another implementation did
//! with them.
//!
//! The link asks for a packet when it falls idle and when one arrives at the idle link, and is busy with it for its
//! length over the rate; a link without a rate is never busy. An arrival at the instant at which the link falls idle
//! comes first.

pub mod tc;

use wifair_packet::{FlowLabel, Kind, Packet, Packets, flag};
use wifair_units::{BitRate, Bytes, Time};

use super::linux::HEADER;
use super::{Discipline, Queue};

/// A packet that arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordedArrival {
    /// When.
    pub at: Time,
    /// Its flow.
    pub flow: u32,
    /// Its length with the Ethernet header of 14 bytes.
    pub bytes: u16,
    /// The TOS byte of its IP header: the code point in the upper six bits, ECN in the lower two.
    pub tos: u8,
    /// The number that a pure ACK acknowledges; none for other packets.
    pub ack: Option<u64>,
}

/// What became of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketFate {
    /// When the link began to send it; none if it was dropped.
    pub depart: Option<Time>,
    /// Whether the queue marked it (ECN), and it was sent.
    pub marked: bool,
}

/// The link behind the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplayLink {
    /// Its rate; none if it is never busy.
    pub rate: Option<BitRate>,
    /// Whether the link asks the queue for a packet also when the queue is empty, as a device does, but not a class of
    /// HTB.
    pub asks_empty: bool,
}

/// Replays `arrivals`, in order of time; `hosts` and pacing rates of flows are in `labels`.
///
/// # Panics
/// If arrivals are not in order of time.
#[must_use]
pub fn replay(
    queue: &mut Queue,
    labels: &[FlowLabel],
    arrivals: &[RecordedArrival],
    link: ReplayLink,
) -> Vec<PacketFate> {
    let (mut packets, mut dropped) = (Packets::default(), vec![]);
    for (flow, label) in (0..).zip(labels) {
        packets.set_label(flow, *label);
    }
    // Linux's disciplines count the header themselves; a FIFO counts what it is given.
    let counted = if matches!(queue, Queue::Fifo(_)) { 0 } else { HEADER };
    let mut fates = vec![PacketFate::default(); arrivals.len()];
    let mut number_of = vec![];
    let mut next = arrivals.iter().enumerate().peekable();
    // When the link can take a packet, and when the queue is to be asked again.
    let (mut free_at, mut ask_at) = (Time::ZERO, Time::NEVER);
    loop {
        let arrival = next.peek().map_or(Time::NEVER, |(_, arrival)| arrival.at);
        let now = arrival.min(ask_at);
        if now == Time::NEVER {
            return fates;
        }
        if arrival == now {
            let (number, arrival) = next.next().expect("there is an arrival");
            let id = packets.insert(packet(arrival, counted));
            if number_of.len() <= id.index() {
                number_of.resize(id.index() + 1, 0);
            }
            number_of[id.index()] = number;
            let flow = arrival.flow;
            let label = FlowLabel { dscp: arrival.tos >> 2, l4s: arrival.tos & 3 == 1, ..packets.label(flow) };
            packets.set_label(flow, label);
            queue.enqueue(now, id, 0, &mut packets, &mut dropped);
            if !queue.is_empty() {
                ask_at = ask_at.min(now.max(free_at));
            }
        }
        while ask_at == now {
            ask_at = Time::NEVER;
            if let Some(id) = queue.dequeue(now, &mut packets, &mut dropped) {
                let (packet, number) = (packets.remove(id), number_of[id.index()]);
                let marked = packet.has(flag::CE) && arrivals[number].tos & 3 != 3;
                fates[number] = PacketFate { depart: Some(now), marked };
                let bytes = Bytes(arrivals[number].bytes.into());
                free_at = link.rate.map_or(now, |rate| now + rate.time_for(bytes));
                if !queue.is_empty() || link.asks_empty {
                    ask_at = free_at;
                }
            } else if !queue.is_empty() {
                ask_at = queue.retry_at(now);
            }
        }
        for (id, _) in dropped.drain(..) {
            packets.remove(id);
        }
    }
}

fn packet(arrival: &RecordedArrival, counted: u64) -> Packet {
    let ecn = match arrival.tos & 3 {
        0 => 0,
        3 => flag::ECT | flag::CE,
        _ => flag::ECT,
    };
    let size = u64::from(arrival.bytes).saturating_sub(counted) as u16;
    let (kind, flags) = if arrival.ack.is_some() { (Kind::Ack, flag::ACK) } else { (Kind::Udp, 0) };
    let (flow, ack) = (arrival.flow, arrival.ack.unwrap_or(0));
    let payload = if arrival.ack.is_some() { 0 } else { size.saturating_sub(28) };
    Packet { flow, size, payload, flags: ecn | flags, kind, ack, ..Packet::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limit;

    /// 1250 bytes at 10 Mb/s take 1 ms: of four that arrive at once at a FIFO of two, the first leaves at once, two
    /// wait, the last is dropped.
    #[test]
    fn a_fifo_before_a_link_by_hand() {
        let at = |micros: u64| Time::from_nanos(micros * 1000);
        let arrivals =
            [7, 7, 7, 8].map(|time| RecordedArrival { at: at(time), flow: 0, bytes: 1250, tos: 1, ack: None });
        for asks_empty in [false, true] {
            let link = ReplayLink { rate: Some(BitRate::from_mbps(10)), asks_empty };
            let fates = replay(&mut Queue::fifo(Limit::Packets(2)), &[], &arrivals, link);
            let departures: Vec<_> = fates.iter().map(|fate| fate.depart).collect();
            assert_eq!(departures, [Some(at(7)), Some(at(1007)), Some(at(2007)), None]);
        }
    }
}
