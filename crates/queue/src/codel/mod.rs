//! CoDel: controlled delay.
//!
//! Source: RFC 8289, section 5; Linux 6.12, `net/sched/sch_codel.c`. Dropping starts when packets have spent more than
//! `target` in the queue for a whole `interval`; while that lasts, departing packets are dropped at the times
//!
//! ```text
//! next = previous + interval / sqrt(count)          count: drops in this episode
//! ```
//!
//! An episode that begins within 16 intervals of the previous one starts with the number of drops by which the count
//! grew in that episode. Nothing is dropped while the queue holds no more than one full packet. ECN-capable packets are
//! marked instead.
//!
//! The law is computed as Linux does it ([`linux`]) or in real numbers ([`rfc`]). By Linux's rules the first drops come
//! sooner after each other, and packets count with their Ethernet header.
//!
//! With `ce_threshold`, every ECN-capable packet that has waited longer is marked as well, by default those with ECT(1)
//! alone (Linux's shallow threshold for L4S).
//!
//! Departure: a marked packet ends the search for a packet to send, because it is itself sent (as in Linux); so one
//! departure marks at most one packet.

mod linux;
mod rfc;

use linux::LinuxState;
use rfc::RfcState;
use wifair_config::{choice, table};
use wifair_packet::{PacketId, Packets, flag};
use wifair_units::{Bytes, Duration, Time};

use super::bounded::BoundedLine;
use super::linux::{HEADER, MTU};
use super::room::{Room, mark};
use super::{Cause, Discipline, Dropped, Site};

choice! {
    /// Which ECN-capable packets a CE threshold marks.
    pub enum CeThresholdOn {
        /// ECT(1): those of L4S flows.
        Ect1 = "ect1" from "RFC 9331, section 2; Linux, ce_threshold_selector 0x01/0x03",
        /// All, as where Linux has no selector.
        Any = "any" from "Linux 6.12, include/net/codel_impl.h",
    }
}

impl CeThresholdOn {
    /// Whether it concerns a packet that is ECN-capable.
    fn selects(self, packet: PacketId, packets: &Packets) -> bool {
        self == Self::Any || packets.label(packets[packet].flow).l4s
    }
}

choice! {
    /// How CoDel computes its times.
    pub enum CodelArithmetic {
        /// In whole numbers, as Linux does; packets count with an Ethernet header of 14 bytes.
        Linux = "linux" from "Linux 6.12, include/net/codel_impl.h",
        /// In real numbers; packets count as IP packets.
        Rfc = "rfc" from "RFC 8289, section 5",
    }
}

impl CodelArithmetic {
    /// What it counts of each packet besides the IP packet, in bytes.
    pub const fn header(self) -> u64 {
        match self {
            Self::Linux => HEADER,
            Self::Rfc => 0,
        }
    }
}

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
        /// Packets that have waited longer are marked, each of them, whatever the law says (L4S); 0 s is off, as in
        /// Linux.
        pub ce_threshold: Duration = Duration::ZERO;
        /// Which ECN-capable packets that concerns.
        pub ce_threshold_on: CeThresholdOn = CeThresholdOn::Ect1;
        /// How the times of drops are computed.
        pub arithmetic: CodelArithmetic = CodelArithmetic::Linux;
        /// Nothing is dropped while the queue holds no more than this.
        pub full_packet: Bytes = Bytes(match arithmetic {
            CodelArithmetic::Linux => MTU,
            CodelArithmetic::Rfc => 1500,
        }), by arithmetic;
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
#[derive(Clone, Copy, Debug)]
pub enum CodelState {
    /// As in Linux.
    Linux(LinuxState),
    /// As in RFC 8289.
    Rfc(RfcState),
}

impl CodelState {
    /// The state at the start.
    pub fn new(arithmetic: CodelArithmetic) -> Self {
        match arithmetic {
            CodelArithmetic::Linux => Self::Linux(LinuxState::default()),
            CodelArithmetic::Rfc => Self::Rfc(RfcState::default()),
        }
    }

    /// Packets marked.
    pub const fn marks(&self) -> u64 {
        match self {
            Self::Linux(state) => state.marks,
            Self::Rfc(state) => state.marks,
        }
    }

    /// Drops in this episode.
    pub const fn count(&self) -> u32 {
        match self {
            Self::Linux(state) => state.count(),
            Self::Rfc(state) => state.count(),
        }
    }

    /// Counts packets that were dropped because the buffer was full: in Linux they raise the count.
    pub const fn count_overflow(&mut self, packets: u32) {
        if let Self::Linux(state) = self {
            state.count_overflow(packets);
        }
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
        let mut since = now;
        let pop = |packets: &Packets| {
            let leaving = pop(packets)?;
            since = leaving.since;
            Some(leaving)
        };
        let sent = match self {
            Self::Linux(state) => state.dequeue(now, params, packets, dropped, pop),
            Self::Rfc(state) => state.dequeue(now, params, packets, dropped, pop),
        };
        if let Some(id) = sent
            && params.ce_threshold > Duration::ZERO
            && now.saturating_since(since) > params.ce_threshold
            && params.ce_threshold_on.selects(id, packets)
            && !packets[id].has(flag::CE)
            && mark(&mut packets[id])
        {
            *self.marks_mut() += 1;
        }
        sent
    }

    const fn marks_mut(&mut self) -> &mut u64 {
        match self {
            Self::Linux(state) => &mut state.marks,
            Self::Rfc(state) => &mut state.marks,
        }
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
            control: CodelState::new(params.arithmetic),
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
        let header = self.params.arithmetic.header();
        self.control.dequeue(now, &self.params, packets, dropped, |packets| {
            let (id, since) = line.take(packets)?;
            *delay = now.saturating_since(since);
            Some(Leaving { id, since, left: line.bytes() + header * line.len() as u64 })
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
    use wifair_packet::{Packet, flag};

    use super::super::Limit;
    use super::super::testing::QueueBench;
    use super::*;

    fn rfc() -> Params {
        Params { arithmetic: CodelArithmetic::Rfc, full_packet: Bytes(1500), ..Params::default() }
    }

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
        assert_eq!(overload(&rfc(), 0), (times.to_vec(), vec![]));
        assert_eq!(overload(&rfc(), flag::ECT), (vec![], times.to_vec()));
        assert_eq!(overload(&Params { ecn: false, ..rfc() }, flag::ECT).0, times);
    }

    /// By hand, in units of 1024 ns: a packet has waited 4882 for the first time at 5 ms, so packets may be dropped
    /// after 4882 + 97656 = 102538, which is at 105 ms. With r in units of 2^-16, r = 65535 after one drop, and
    /// Newton's step gives 32769 after two (65535 (3 - 2 (1 - 2^-15))/2), then 36864, 31968, 28935, 26481 and 24588.
    /// The gaps are r times the interval: 100.0, 50.0, 56.2, 48.8, 44.2, 40.4 and 37.5 ms. So drops are due at 105,
    /// 205.0, 255.0, 311.2, 360.0, 404.2, 444.6 and 482.1 ms.
    #[test]
    fn drops_follow_the_law_in_the_integers_of_linux() {
        let (dropped_at, _) = overload(&Params::default(), 0);
        assert_eq!(dropped_at, [105, 205, 255, 312, 361, 405, 445, 483]);
    }

    #[test]
    fn a_short_wait_is_left_alone() {
        let mut bench = codel(&rfc());
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
        let mut bench = codel(&rfc());
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
        let mut bench = codel(&rfc());
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

    /// The discipline decides which packet is next, so an aggregate gets that one, wherever it goes.
    #[test]
    fn an_aggregate_gets_the_next_packet_for_any_station() {
        let mut bench = codel(&rfc());
        bench.put_all([1, 2].map(|hop| Packet { hop, ..packet(0) }));
        assert_eq!(bench.get_for(2).expect("two packets wait").hop, 1);
        assert_eq!(bench.get_for(2).expect("one packet waits").hop, 2);
        assert!(bench.get_for(2).is_none());
    }

    /// Linux: a packet that has waited longer than the threshold is marked if it is of the kind chosen, and never one
    /// that is not ECN-capable. 20 packets arrive at once and leave every millisecond: those from the sixth on have
    /// waited more than 4.5 ms.
    #[test]
    fn a_threshold_marks_what_has_waited() {
        let marks = |l4s: bool, on: CeThresholdOn, flags: u8| {
            let ce_threshold = Duration::from_micros(4500);
            let params = Params { ce_threshold, ce_threshold_on: on, ..Params::default() };
            let mut bench = QueueBench::new(Codel::new(&params, &QueueBench::<Codel>::SITE));
            bench.packets.set_label(0, wifair_packet::FlowLabel { l4s, ..Default::default() });
            bench.put_all((0..20).map(|seq| Packet { seq, size: 1000, flags, ..Packet::default() }));
            let mut marked = vec![];
            for seq in 0..20 {
                let sent = bench.get().expect("it holds 20");
                if sent.has(flag::CE) {
                    marked.push(seq);
                }
                bench.now += Duration::from_millis(1);
            }
            assert_eq!(bench.queue.marks(), marked.len() as u64);
            marked
        };
        let late: Vec<_> = (5..20).collect();
        assert_eq!(marks(true, CeThresholdOn::Ect1, flag::ECT), late);
        assert_eq!(marks(false, CeThresholdOn::Any, flag::ECT), late);
        assert_eq!(marks(false, CeThresholdOn::Ect1, flag::ECT), []);
        assert_eq!(marks(true, CeThresholdOn::Any, 0), []);
    }
}
