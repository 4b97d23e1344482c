//! CoDel: controlled delay.
//!
//! Source: RFC 8289, section 5. Dropping starts when packets have spent more than `target` in the queue for a whole
//! `interval`; while that lasts, departing packets are dropped at the times
//!
//! ```text
//! next = previous + interval / sqrt(count)          count: drops in this episode
//! ```
//!
//! An episode that begins within 16 intervals of the previous one starts with the number of drops by which the count
//! grew in that episode. Nothing is dropped while the queue holds no more than one full packet. ECN-capable packets are
//! marked instead.
//!
//! Departure: a marked packet ends the search for a packet to send, because it is itself sent (as in Linux); so one
//! departure marks at most one packet.

use wifair_config::table;
use wifair_packet::{Packet, PacketId, Packets};
use wifair_units::{Bytes, Duration, Time};

use super::bounded::BoundedLine;
use super::room::{Room, mark};
use super::{Cause, Discipline, Dropped, Site};

table! {
    /// Controlled delay.
    pub struct Params {
        /// Acceptable time in the queue.
        pub target: Duration = Duration::from_millis(5), "above 0 s" => |time| *time > Duration::ZERO;
        /// How long the target must be exceeded before packets are dropped; of the order of the longest round-trip
        /// time.
        pub interval: Duration = Duration::from_millis(100), "above 0 s" => |time| *time > Duration::ZERO;
        /// Whether ECN-capable packets are marked instead of dropped.
        pub ecn: bool = true;
        /// Nothing is dropped while the queue holds no more than this.
        pub full_packet: Bytes = Bytes(1500);
    }
}

/// A packet that leaves a queue, as the control law sees it.
#[derive(Clone, Copy, Debug)]
pub struct Leaving {
    /// The packet.
    pub id: PacketId,
    /// When it arrived.
    pub since: Time,
    /// Bytes that remain in the queue.
    pub left: u64,
}

/// The control law of one queue.
#[derive(Clone, Copy, Debug, Default)]
pub struct CodelState {
    /// When the sojourn time will have exceeded the target for a whole interval.
    above_at: Option<Time>,
    dropping: bool,
    next_drop: Time,
    count: u32,
    last_count: u32,
    marks: u64,
}

impl CodelState {
    /// Packets marked.
    pub const fn marks(&self) -> u64 {
        self.marks
    }

    /// Drops in this episode.
    pub const fn count(&self) -> u32 {
        if self.dropping { self.count } else { 0 }
    }

    fn may_drop(&mut self, now: Time, leaving: Option<&Leaving>, params: &Params) -> bool {
        let is_above = leaving.is_some_and(|leaving| {
            now.saturating_since(leaving.since) >= params.target && leaving.left > params.full_packet.0
        });
        if !is_above {
            self.above_at = None;
            return false;
        }
        match self.above_at {
            None => {
                self.above_at = Some(now + params.interval);
                false
            }
            Some(time) => now >= time,
        }
    }

    fn next_after(&self, time: Time, params: &Params) -> Time {
        time + Duration::from_secs_f64(params.interval.as_secs() / f64::from(self.count.max(1)).sqrt())
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
        let mut leaving = pop(packets);
        let mut may_drop = self.may_drop(now, leaving.as_ref(), params);
        // Handles a packet that is due to be dropped. Returns true if it is marked and sent instead.
        let mut marks = 0;
        let mut spare = |packet: &mut Packet| {
            let marked = params.ecn && mark(packet);
            marks += u64::from(marked);
            marked
        };
        if self.dropping {
            if !may_drop {
                self.dropping = false;
            }
            while self.dropping && now >= self.next_drop {
                let id = leaving.expect("what may be dropped is there").id;
                self.count += 1;
                if spare(&mut packets[id]) {
                    self.next_drop = self.next_after(self.next_drop, params);
                    break;
                }
                dropped.push((id, Cause::Early));
                leaving = pop(packets);
                may_drop = self.may_drop(now, leaving.as_ref(), params);
                if may_drop {
                    self.next_drop = self.next_after(self.next_drop, params);
                } else {
                    self.dropping = false;
                }
            }
        } else if may_drop {
            let id = leaving.expect("what may be dropped is there").id;
            if !spare(&mut packets[id]) {
                dropped.push((id, Cause::Early));
                leaving = pop(packets);
                self.may_drop(now, leaving.as_ref(), params);
            }
            self.dropping = true;
            let grown = self.count.saturating_sub(self.last_count);
            let recent = now.saturating_since(self.next_drop) < params.interval * 16;
            self.count = if grown > 1 && recent { grown } else { 1 };
            self.next_drop = self.next_after(now, params);
            self.last_count = self.count;
        }
        self.marks += marks;
        leaving.map(|leaving| leaving.id)
    }
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub struct Codel {
    /// Waiting packets with their times of arrival.
    line: BoundedLine<Time>,
    params: Params,
    control: CodelState,
    delay: Duration,
}

impl Codel {
    /// An empty queue.
    pub fn new(params: &Params, site: &Site<'_>) -> Self {
        Self {
            line: BoundedLine::new(Room::new(site.limit, None)),
            params: params.clone(),
            control: CodelState::default(),
            delay: Duration::ZERO,
        }
    }
}

impl Discipline for Codel {
    fn enqueue(&mut self, now: Time, id: PacketId, _to: u32, packets: &mut Packets, dropped: &mut Dropped) {
        self.line.put(id, now, false, packets, dropped);
    }

    fn dequeue(&mut self, now: Time, packets: &mut Packets, dropped: &mut Dropped) -> Option<PacketId> {
        let (line, delay) = (&mut self.line, &mut self.delay);
        self.control.dequeue(now, &self.params, packets, dropped, |packets| {
            let (id, since) = line.take(packets)?;
            *delay = now.saturating_since(since);
            Some(Leaving { id, since, left: line.bytes() })
        })
    }

    fn len(&self) -> usize {
        self.line.len()
    }

    fn is_full(&self) -> bool {
        self.line.is_full()
    }

    fn marks(&self) -> u64 {
        self.control.marks()
    }

    fn show(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("delay_s", self.delay.as_secs());
        see("count", f64::from(self.control.count()));
    }
}

#[cfg(test)]
mod tests {
    use wifair_packet::flag;

    use super::super::Limit;
    use super::super::testing::QueueBench;
    use super::*;

    fn codel(params: &Params) -> QueueBench<Codel> {
        QueueBench::new(Codel::new(params, &Site { limit: Limit::Packets(5000), ..QueueBench::<Codel>::SITE }))
    }

    fn packet(flags: u8) -> Packet {
        Packet { size: 1500, payload: 1460, flags, ..Packet::default() }
    }

    /// A thousand packets at 0 s, one taken every ms, so that each departing packet has waited longer than the one
    /// before. Returns when packets were dropped and when they were marked, in ms.
    fn overload(params: &Params, flags: u8) -> (Vec<u64>, Vec<u64>) {
        let mut bench = codel(params);
        bench.put_all([packet(flags); 1000]);
        let (mut dropped_at, mut marked_at) = (vec![], vec![]);
        for ms in 1..=500 {
            bench.wait(Duration::from_millis(1));
            let lost = bench.lost.len();
            let sent = bench.get().expect("the queue is long");
            dropped_at.extend(vec![ms; bench.lost.len() - lost]);
            if sent.has(flag::CE) {
                marked_at.push(ms);
            }
        }
        (dropped_at, marked_at)
    }

    /// RFC 8289, section 5: the first packet that has waited 5 ms leaves at 5 ms, so at 105 ms the first is dropped,
    /// the next 100/sqrt(1) ms later, then 100/sqrt(2), 100/sqrt(3), ... Packets leave at whole milliseconds:
    /// 105, 205, 275.71, 333.45, 383.45, 428.17, 468.99 are rounded up.
    #[test]
    fn drops_follow_the_control_law() {
        let times = [105, 205, 276, 334, 384, 429, 469];
        assert_eq!(overload(&Params::default(), 0), (times.to_vec(), vec![]));
        assert_eq!(overload(&Params::default(), flag::ECT), (vec![], times.to_vec()));
        assert_eq!(overload(&Params { ecn: false, ..Params::default() }, flag::ECT).0, times);
    }

    #[test]
    fn a_short_wait_is_left_alone() {
        let mut bench = codel(&Params::default());
        for _ in 0..1000 {
            bench.put_all([packet(0); 2]);
            bench.wait(Duration::from_micros(4999));
            assert_eq!(bench.drain().len(), 2);
        }
        assert!(bench.lost.is_empty());
    }

    /// However long it has waited, the last packet of a queue is not dropped.
    #[test]
    fn a_queue_of_one_packet_is_left_alone() {
        let mut bench = codel(&Params::default());
        for _ in 0..100 {
            bench.put(packet(0));
            bench.wait(Duration::from_millis(50));
            assert!(bench.get().is_some());
        }
        assert!(bench.lost.is_empty());
    }

    /// The first episode drops at 105, 205, 276 and 334 ms (count 4, grown by 3); then the queue runs empty. The next
    /// overload begins at 400 ms, and its packets exceed the target at 405, so its first drop is at 505 ms. As that is
    /// within 1.6 s of the previous episode it continues with count 3: the next drop comes 100/sqrt(3) = 57.7 ms later,
    /// at 563.
    #[test]
    fn an_episode_soon_after_another_remembers_its_rate() {
        let mut bench = codel(&Params::default());
        bench.put_all([packet(0); 1000]);
        let mut dropped_at = vec![];
        for ms in 1..=600 {
            bench.wait(Duration::from_millis(1));
            if ms == 350 {
                bench.queue.line = BoundedLine::new(Room::new(Limit::Packets(5000), None));
                assert!(bench.get().is_none());
            }
            if ms == 400 {
                bench.put_all([packet(0); 1000]);
            }
            let lost = bench.lost.len();
            bench.get();
            dropped_at.extend(vec![ms; bench.lost.len() - lost]);
        }
        assert_eq!(dropped_at, [105, 205, 276, 334, 505, 563]);
    }

    /// RFC 8289, section 5.5: the count goes on where the previous episode's last drop was due less than 16 intervals
    /// ago, and had grown by more than one.
    #[test]
    fn a_count_is_kept_for_sixteen_intervals() {
        let params = Params::default();
        let due = Time::ZERO + Duration::from_secs(1);
        for (grown, since, count) in
            [(4, 1_599_999_999, 4), (4, 1_600_000_000, 1), (2, 1_599_999_999, 2), (1, 1_599_999_999, 1)]
        {
            let mut packets = Packets::default();
            let mut leaving: Vec<_> =
                (0..2).map(|_| Leaving { id: packets.insert(packet(0)), since: Time::ZERO, left: 3000 }).collect();
            let (last_count, above_at) = (3, Some(Time::ZERO));
            let mut control =
                CodelState { above_at, next_drop: due, count: last_count + grown, last_count, ..CodelState::default() };
            let now = due + Duration::from_nanos(since);
            let mut dropped = vec![];
            assert!(control.dequeue(now, &params, &mut packets, &mut dropped, |_| leaving.pop()).is_some());
            assert_eq!((control.count(), dropped.len()), (count, 1), "grown by {grown}, after {since} ns");
        }
    }

    /// The discipline decides which packet is next, so an aggregate gets that one, wherever it goes.
    #[test]
    fn an_aggregate_gets_the_next_packet_for_any_station() {
        let mut bench = codel(&Params::default());
        bench.put_all([1, 2].map(|hop| Packet { hop, ..packet(0) }));
        assert_eq!(bench.get_for(2).expect("two packets wait").hop, 1);
        assert_eq!(bench.get_for(2).expect("one packet waits").hop, 2);
        assert!(bench.get_for(2).is_none());
    }
}
