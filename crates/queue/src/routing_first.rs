//! Routing messages before all others, for any discipline.
//!
//! Source: ns-2's interface queue `Queue/DropTail/PriQueue` (ns-2.35), used in the ad hoc experiments of paper `las`.
//! Departures: ns-2 puts a routing message at the head of its single queue, so that the latest goes first and an
//! overflow drops the packet at the tail; here routing messages wait in a line of their own, in order of arrival, with
//! the same limit as the main queue.

use wifair_packet::{Kind, Packet, PacketId, Packets};
use wifair_units::Time;

use super::bounded::BoundedLine;
use super::room::Room;
use super::{AirUse, Discipline, Dropped, Limit, Queue};

/// See the [module](self).
#[derive(Debug)]
pub struct RoutingFirst {
    line: BoundedLine<()>,
    others: Queue,
}

impl RoutingFirst {
    /// Puts a line for routing messages in front of `others`.
    pub fn new(others: Queue, limit: Limit) -> Self {
        Self { line: BoundedLine::new(Room::new(limit, None)), others }
    }
}

impl From<RoutingFirst> for Queue {
    fn from(queue: RoutingFirst) -> Self {
        Self::RoutingFirst(Box::new(queue))
    }
}

impl Discipline for RoutingFirst {
    fn enqueue(&mut self, now: Time, id: PacketId, to: u32, packets: &mut Packets, dropped: &mut Dropped) {
        if packets[id].kind == Kind::Routing {
            self.line.put(id, (), false, packets, dropped);
        } else {
            self.others.enqueue(now, id, to, packets, dropped);
        }
    }

    fn dequeue(&mut self, now: Time, packets: &mut Packets, dropped: &mut Dropped) -> Option<PacketId> {
        match self.line.take(packets) {
            Some((id, ())) => Some(id),
            None => self.others.dequeue(now, packets, dropped),
        }
    }

    fn dequeue_for(
        &mut self,
        now: Time,
        to: u32,
        room: u64,
        is_to: &dyn Fn(&Packet) -> bool,
        packets: &mut Packets,
        dropped: &mut Dropped,
    ) -> Option<PacketId> {
        if self.line.is_empty() {
            self.others.dequeue_for(now, to, room, is_to, packets, dropped)
        } else {
            self.dequeue(now, packets, dropped)
        }
    }

    fn len(&self) -> usize {
        self.line.len() + self.others.len()
    }

    fn is_full(&self) -> bool {
        self.others.is_full()
    }

    fn marks(&self) -> u64 {
        self.others.marks()
    }

    fn ready(&self) -> Time {
        if self.line.is_empty() { self.others.ready() } else { Time::ZERO }
    }

    fn wants_air_use(&self) -> bool {
        self.others.wants_air_use()
    }

    fn on_air(&mut self, now: Time, used: &AirUse) {
        self.others.on_air(now, used);
    }

    fn show(&self, see: &mut dyn FnMut(&'static str, f64)) {
        self.others.show(see);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::QueueBench;
    use super::*;

    #[test]
    fn routing_messages_overtake_and_have_a_limit_of_their_own() {
        let mut bench = QueueBench::new(RoutingFirst::new(Queue::fifo(Limit::Packets(2)), Limit::Packets(2)));
        let kinds = [Kind::Data, Kind::Routing, Kind::Ack, Kind::Udp, Kind::Routing, Kind::Routing];
        for (seq, kind) in (0..).zip(kinds) {
            bench.put(Packet { seq, kind, size: 40, ..Packet::default() });
        }
        assert_eq!(bench.lost.iter().map(|p| p.seq).collect::<Vec<_>>(), [3, 5]);
        assert_eq!(bench.drain().iter().map(|p| p.seq).collect::<Vec<_>>(), [1, 4, 0, 2]);
    }

    /// State, requests and marks of the discipline for other packets are passed on. Routing messages do not wait when
    /// that discipline holds packets back.
    #[test]
    fn the_discipline_for_other_packets_is_asked() {
        use super::super::{Chosen, QueueSettings};
        let named = |name| QueueSettings {
            discipline: Chosen::named(name).expect("a name of the list"),
            routing_first: true,
            limit: Limit::Packets(50),
            mark_above: Some(Limit::Packets(1)),
        };
        let mut bench = QueueBench::new(Queue::new(&named("paced"), None, 1, "test"));
        let data = Packet { size: 1000, flags: wifair_packet::flag::ECT, ..Packet::default() };
        bench.put_all([data; 3]);
        assert_eq!(bench.queue.marks(), 1); // the third finds more than one
        let mut bench = QueueBench::new(Queue::new(&named("contention-red"), None, 1, "test"));
        assert!(bench.queue.wants_air_use());
        assert!(!Queue::new(&named("fifo"), None, 1, "test").wants_air_use());
        let used = AirUse {
            peer: 1,
            sent: true,
            air: wifair_units::Duration::from_millis(7),
            attempts: 7,
            delivered: true,
            rate: None,
        };
        for _ in 0..100 {
            bench.queue.on_air(bench.now, &used);
        }
        let mut shown = vec![];
        bench.queue.show(&mut |what, _| shown.push(what));
        assert_eq!(shown, ["mean_retries", "probability"]);
        let held = bench.now + wifair_units::Duration::from_millis(1);
        bench.put(data);
        assert_eq!((bench.queue.ready(), bench.queue.retry_at(bench.now)), (held, held));
        assert!(bench.get_for(0).is_none());
        let routing = Packet { kind: Kind::Routing, size: 40, ..Packet::default() };
        bench.put(routing);
        assert_eq!(bench.queue.ready(), Time::ZERO);
        assert_eq!(bench.get_for(0).expect("it does not wait").kind, Kind::Routing);
    }
}
