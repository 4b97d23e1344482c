//! LAS: least attained service. The flow that has received the least goes first; the flow that has received the most is
//! dropped first.
//!
//! Source: paper `las`, section 3, after I. Rai, G. Urvoy-Keller, M. Vernon and E. Biersack, "Performance Analysis of
//! LAS-based Scheduling Disciplines in a Packet Switched Network", SIGMETRICS 2004. Each arriving packet gets a tag,
//! and packets are sent in the order of their tags, smallest first:
//!
//! ```text
//! data, UDP   bytes of its flow that this queue has accepted before and not dropped
//! pure ACK    bytes of the data flow that it acknowledges, that is its highest byte number       [bytes]
//! ```
//!
//! When the queue is full the arrival is still inserted; then packets with the largest tags are dropped, perhaps the
//! arrival among them, until the rest fits. Flows with equal tags take turns in service, and of equal tags the latest
//! arrival is dropped first. LAS is work conserving. A packet that the MAC has taken is not called back.
//!
//! The paper leaves some points open; our readings:
//!
//! - A flow is one direction of a connection at this queue; every node counts for itself.
//! - Attained service counts when a packet is accepted, not when it is sent, so a flow's packets stay in order. A
//!   dropped packet is subtracted again; a retransmission counts again.
//! - Bytes are payload, so that data and the ACKs of other flows count in one unit; a packet without payload counts
//!   with its whole size. `count = "packet"` counts IP bytes instead.
//! - A flow that is idle for `forget_after`, with nothing in the queue, starts from zero; the count of its ACKs then
//!   begins at the first of them. A SYN starts from zero too.
//!
//! Left out: comparing served bytes at every departure (dynamic LAS).

use wifair_config::{choice, table};
use wifair_packet::{Kind, Packet, PacketId, Packets, entry, flag};
use wifair_units::{Duration, Time};

use super::ranked::Ranked;
use super::room::Room;
use super::{Cause, Discipline, Dropped, Site, flow_key};

choice! {
    /// What a pure ACK is charged with.
    pub enum AckCharge {
        /// The highest byte that it acknowledges.
        Acknowledged = "acknowledged" from "las, section 3",
        /// The bytes of earlier ACKs. The paper warns of this variant: an upload's ACKs then go first.
        Size = "size" from "las, section 6.1.3",
    }
}

choice! {
    /// Which bytes are counted.
    pub enum CountedBytes {
        /// Payload, or the whole packet if it has none.
        Payload = "payload",
        /// The IP packet.
        Packet = "packet",
    }
}

table! {
    /// Least attained service.
    pub struct Params {
        /// What a pure ACK is charged with.
        pub ack: AckCharge = AckCharge::Acknowledged;
        /// Which bytes are counted.
        pub count: CountedBytes = CountedBytes::Payload;
        /// A flow is forgotten after this time without packets; if absent, never.
        pub forget_after: Option<Duration> = None;
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct FlowService {
    /// Bytes accepted and not dropped; for ACKs the tag of the latest.
    attained: u64,
    /// The byte number from which ACKs count.
    base: u64,
    /// The tag of the latest packet, and how many packets had it.
    tag: u64,
    round: u64,
    queued: u32,
    /// When its latest packet arrived or left.
    last: Time,
}

#[derive(Clone, Copy, Debug)]
struct LasSlot {
    id: PacketId,
    flow: u32,
    size: u16,
    /// What a drop subtracts.
    charge: u32,
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub struct Las {
    params: Params,
    room: Room,
    flows: Vec<FlowService>,
    /// Served by tag, turn and arrival; dropped by tag and arrival.
    waiting: Ranked<LasSlot, (u64, u64, u64), (u64, u64)>,
    arrivals: u64,
}

impl Las {
    /// An empty queue.
    pub fn new(params: &Params, site: &Site<'_>) -> Self {
        Self { params: params.clone(), room: site.room(), flows: vec![], waiting: Ranked::default(), arrivals: 0 }
    }

    /// The tag of an arrival, and what it adds to its flow's attained service.
    fn charge(&mut self, now: Time, packet: &Packet, key: usize) -> (u64, u64) {
        let flow = entry(&mut self.flows, key);
        let by_ack = packet.kind == Kind::Ack && self.params.ack == AckCharge::Acknowledged;
        let idle = self.params.forget_after.is_some_and(|idle| now.saturating_since(flow.last) >= idle);
        if flow.queued == 0 && (idle || packet.has(flag::SYN)) {
            *flow = FlowService { base: if by_ack { packet.ack } else { 0 }, ..FlowService::default() };
        }
        flow.last = now;
        if by_ack {
            return (packet.ack.saturating_sub(flow.base), 0);
        }
        let bytes = match self.params.count {
            CountedBytes::Payload if packet.payload > 0 => packet.payload,
            CountedBytes::Payload | CountedBytes::Packet => packet.size,
        };
        (flow.attained, u64::from(bytes))
    }

    /// Counts a packet out; returns its flow.
    fn leave(&mut self, slot: LasSlot) -> &mut FlowService {
        self.room.leave(u64::from(slot.size));
        let flow = &mut self.flows[slot.flow as usize];
        flow.queued -= 1;
        flow
    }
}

impl Discipline for Las {
    fn enqueue(&mut self, now: Time, id: PacketId, _to: u32, packets: &mut Packets, dropped: &mut Dropped) {
        let packet = &mut packets[id];
        let size = packet.size;
        if !self.room.could_fit(u64::from(size)) {
            dropped.push((id, Cause::Overflow));
            return;
        }
        let key = flow_key(packet);
        let (tag, bytes) = self.charge(now, packet, key);
        self.room.enter(packet);
        let flow = &mut self.flows[key];
        flow.round = if flow.queued > 0 && flow.tag == tag { flow.round + 1 } else { 0 };
        flow.tag = tag;
        flow.queued += 1;
        flow.attained = if bytes == 0 { tag } else { flow.attained + bytes };
        let round = flow.round;
        self.arrivals += 1;
        let slot = LasSlot { id, flow: key as u32, size, charge: bytes as u32 };
        self.waiting.add(slot, (tag, round, self.arrivals), (tag, self.arrivals));
        while self.room.overflows() {
            let slot = self.waiting.pop_worst().expect("a queue that overflows is not empty");
            self.leave(slot).attained -= u64::from(slot.charge);
            dropped.push((slot.id, Cause::Overflow));
        }
    }

    fn dequeue(&mut self, now: Time, _packets: &mut Packets, _dropped: &mut Dropped) -> Option<PacketId> {
        let slot = self.waiting.pop_first()?;
        self.leave(slot).last = now;
        Some(slot.id)
    }

    counted_by!(room);

    fn show(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("flows", self.flows.iter().filter(|flow| flow.queued > 0).count() as f64);
        if let Some(((first, ..), (worst, _))) = self.waiting.ends() {
            see("first_tag_bytes", first as f64);
            see("worst_tag_bytes", worst as f64);
        }
    }
}

#[cfg(test)]
mod tests {
    use wifair_units::Bytes;

    use super::super::Limit;
    use super::super::testing::QueueBench;
    use super::*;

    fn las(limit: Limit, params: &Params) -> QueueBench<Las> {
        QueueBench::new(Las::new(params, &Site { limit, ..QueueBench::<Las>::SITE }))
    }

    fn packets(limit: u64) -> QueueBench<Las> {
        las(Limit::Packets(limit), &Params::default())
    }

    /// A data segment of 1000 B; `seq` only identifies it.
    fn data(flow: u32, seq: u64) -> Packet {
        Packet { flow, seq, payload: 1000, size: 1040, ..Packet::default() }
    }

    fn ack(flow: u32, ack: u64, seq: u64) -> Packet {
        Packet { flow, seq, ack, size: 40, kind: Kind::Ack, ..Packet::default() }
    }

    fn names(packets: &[Packet]) -> Vec<(u32, u64)> {
        packets.iter().map(|p| (p.flow, p.seq)).collect()
    }

    /// Tags: flow 7 has 0, 1000, 2000; flow 9 has 0 and 1000. Ordered by tag; ties alternate between the flows.
    #[test]
    fn the_flow_that_has_got_least_goes_first() {
        let mut bench = packets(50);
        bench.put_all([data(7, 0), data(7, 1), data(7, 2), data(9, 0), data(9, 1)]);
        assert_eq!(names(&bench.drain()), [(7, 0), (9, 0), (7, 1), (9, 1), (7, 2)]);
    }

    /// A segment counts with its payload, a datagram without payload, or a packet where packets are counted, with its
    /// size: of flow 7 these are 1000, 1040 or 2000 B, so the second packet of flow 9 comes before or after its second.
    #[test]
    fn what_counts_is_the_payload_where_there_is_one() {
        let long = |seq| Packet { size: 2000, ..data(7, seq) };
        let empty = |seq| Packet { payload: 0, size: 1500, ..data(7, seq) };
        let size = Params { count: CountedBytes::Packet, ..Params::default() };
        for (params, first, order) in [
            (Params::default(), long(0), [(7, 0), (9, 0), (7, 1), (9, 1)]),
            (size, long(0), [(7, 0), (9, 0), (9, 1), (7, 1)]),
            (Params::default(), empty(0), [(7, 0), (9, 0), (9, 1), (7, 1)]),
        ] {
            let mut bench = las(Limit::Packets(50), &params);
            bench.put_all([first, Packet { seq: 1, ..first }, data(9, 0), data(9, 1)]);
            assert_eq!(names(&bench.drain()), order);
        }
    }

    /// Flow 1 has received 3000 B when flow 2 arrives: tags 0 and 1000 go before its 3000.
    #[test]
    fn attained_service_is_kept_when_the_queue_is_empty() {
        let mut bench = packets(50);
        bench.put_all((0..3).map(|seq| data(1, seq)));
        assert_eq!(bench.drain().len(), 3);
        bench.put_all([data(1, 3), data(2, 0), data(2, 1)]);
        assert_eq!(names(&bench.drain()), [(2, 0), (2, 1), (1, 3)]);
    }

    /// Room for three. Flow 1 has tags 0, 1000, 2000; the arrival of flow 2 (tag 0) pushes out 2000. Flow 1's attained
    /// service is 2000 again, so its next packet gets that tag, is the largest and is itself dropped. So is the one
    /// after.
    #[test]
    fn an_overflow_drops_the_largest_tag_and_takes_it_off_the_account() {
        let mut bench = packets(3);
        bench.put_all((0..3).map(|seq| data(1, seq)));
        bench.put(data(2, 0));
        assert_eq!(names(&bench.lost), [(1, 2)]);
        bench.put(data(1, 3));
        bench.put(data(1, 4));
        assert_eq!(names(&bench.lost), [(1, 2), (1, 3), (1, 4)]);
        assert_eq!(names(&bench.drain()), [(1, 0), (2, 0), (1, 1)]);
    }

    /// Room for three, all tags equal (first packets of four flows): the latest arrival is dropped.
    #[test]
    fn among_equal_tags_the_latest_is_dropped() {
        let mut bench = packets(3);
        bench.put_all((1..5).map(|flow| data(flow, 0)));
        assert_eq!(names(&bench.lost), [(4, 0)]);
    }

    /// 2500 B hold two segments of 1040 B. An ACK of 40 B with tag 0 fits beside them. The first segment of flow 2 (tag
    /// 0) does not: the total would be 3160 B; the packet with the largest tag (1000) is dropped, and 2120 B remain.
    #[test]
    fn a_limit_in_bytes_drops_until_the_arrival_fits() {
        let mut bench = las(Limit::Bytes(Bytes(2500)), &Params::default());
        bench.put_all([data(1, 0), data(1, 1), ack(3, 0, 0), data(2, 0)]);
        assert_eq!(names(&bench.lost), [(1, 1)]);
        bench.put(Packet { size: 2501, ..data(4, 0) });
        assert_eq!(names(&bench.lost), [(1, 1), (4, 0)], "what can never fit pushes nobody out");
        assert_eq!(bench.drain().len(), 3);
    }

    /// Flow 1 downloads: tags 0, 1000, 2000. Flow 2 uploads: an ACK for 1500 B sorts between them, whatever ACKs came
    /// before it. If charged with their own 40 B, its ACKs would have tags 0 and 40.
    #[test]
    fn a_pure_ack_is_charged_with_what_it_acknowledges() {
        let arrivals = [data(1, 0), data(1, 1), data(1, 2), ack(2, 500, 0), ack(2, 1500, 1)];
        let mut bench = packets(50);
        bench.put_all(arrivals);
        assert_eq!(names(&bench.drain()), [(1, 0), (2, 0), (1, 1), (2, 1), (1, 2)]);

        let mut naive = las(Limit::Packets(50), &Params { ack: AckCharge::Size, ..Params::default() });
        naive.put_all(arrivals);
        assert_eq!(names(&naive.drain()), [(1, 0), (2, 0), (2, 1), (1, 1), (1, 2)]);
    }

    /// Three equal ACKs each of flows 1 and 2, those of flow 1 first: the flows take turns, also with later arrivals.
    #[test]
    fn flows_with_equal_tags_take_turns() {
        let mut bench = packets(50);
        for (flow, seq) in [(1, 0), (1, 1), (1, 2), (2, 0), (2, 1), (2, 2)] {
            bench.put(ack(flow, 5000, seq));
        }
        assert_eq!(bench.get().map(|p| (p.flow, p.seq)), Some((1, 0)));
        bench.put(ack(1, 5000, 3));
        assert_eq!(names(&bench.drain()), [(2, 0), (1, 1), (2, 1), (1, 2), (2, 2), (1, 3)]);
    }

    /// Both flows have received 1000 B at 0 s. Flow 2 is seen again at 6 s, flow 1 only at 11 s, after more than 10 s
    /// of silence.
    #[test]
    fn an_idle_flow_is_forgotten() {
        let forget_after = Some(Duration::from_secs(10));
        let mut bench = las(Limit::Packets(50), &Params { forget_after, ..Params::default() });
        bench.put(data(1, 0));
        bench.put(data(2, 0));
        bench.drain();
        bench.wait(Duration::from_secs(6));
        bench.put(data(2, 1));
        bench.drain();
        bench.wait(Duration::from_secs(5));
        bench.put_all([data(2, 2), data(1, 1), data(1, 2), data(1, 3)]);
        assert_eq!(names(&bench.drain()), [(1, 1), (1, 2), (2, 2), (1, 3)], "tags 0, 1000, 2000, 2000");
    }

    /// A forgotten flow's ACKs count from the first new one: its tag is 0, that of the next 1000.
    #[test]
    fn acks_of_a_forgotten_flow_count_from_where_they_stand() {
        let forget_after = Some(Duration::from_secs(10));
        let mut bench = las(Limit::Packets(50), &Params { forget_after, ..Params::default() });
        bench.put(ack(1, 80_000, 0));
        bench.drain();
        bench.wait(Duration::from_secs(10));
        bench.put_all([data(2, 0), data(2, 1), data(2, 2), ack(1, 90_000, 1), ack(1, 91_500, 2)]);
        assert_eq!(names(&bench.drain()), [(2, 0), (1, 1), (2, 1), (1, 2), (2, 2)]);
    }

    /// A flow with waiting packets is not idle: a reset would let its next packet overtake them.
    #[test]
    fn a_flow_with_waiting_packets_is_not_forgotten() {
        let forget_after = Some(Duration::from_secs(1));
        let mut bench = las(Limit::Packets(50), &Params { forget_after, ..Params::default() });
        bench.put(data(1, 0));
        bench.put(data(1, 1));
        assert_eq!(bench.get().map(|p| p.seq), Some(0));
        bench.wait(Duration::from_secs(5));
        bench.put(data(1, 2));
        assert_eq!(names(&bench.drain()), [(1, 1), (1, 2)]);
    }
}
