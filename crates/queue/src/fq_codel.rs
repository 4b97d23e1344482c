//! FQ-CoDel: flow queueing with controlled delay.
//!
//! Source: RFC 8290; Linux 6.12, `net/sched/sch_fq_codel.c`. Flows are hashed to a fixed number of lines (sub-queues),
//! with a random key per queue. Lines are served by deficit round robin, those of new flows first, and each runs CoDel
//! (RFC 8289). Defaults are those of section 5.2, which goes with a queue limit of 10240 packets.
//!
//! Departure: the hash covers the number of the flow and its direction instead of addresses and ports.

use wifair_config::table;
use wifair_packet::{PacketId, Packets};
use wifair_units::{Bytes, Time};

use super::fq::{Fq, FqPlace, NewAndOldLists};
use super::linux::SplitMix64;
use super::{Discipline, Dropped, Site, codel, flow_key};

table! {
    /// Flow queueing with controlled delay.
    pub struct Params {
        /// Number of lines (sub-queues) to which flows are hashed.
        pub lines: u32 = 1024, "at least 1 and at most 65536" => |lines| (1..=65_536).contains(lines);
        /// Bytes granted to a line at each visit.
        pub quantum: Bytes = Bytes(1514), "at least 256 B and at most 1 MB" => |q| (256..=1_000_000).contains(&q.0);
        /// CoDel parameters of each line.
        pub control => codel::Params;
    }
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub struct FqCodel {
    fq: Fq,
    group: NewAndOldLists,
    lines: u64,
    key: u64,
}

impl FqCodel {
    /// An empty queue.
    pub fn new(params: &Params, site: &Site<'_>) -> Self {
        Self {
            fq: Fq::new(site.limit, params.quantum.0 as i64, &params.control, FqPlace::Qdisc),
            group: NewAndOldLists::default(),
            lines: u64::from(params.lines),
            key: site.stream().bits(),
        }
    }

    fn hash(&self, flow: usize) -> usize {
        hashed(flow, self.key, self.lines)
    }
}

/// The line of a flow, of so many.
pub fn hashed(flow: usize, key: u64, lines: u64) -> usize {
    (SplitMix64::mix((flow as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ key) % lines) as usize
}

impl Discipline for FqCodel {
    fn enqueue(&mut self, now: Time, id: PacketId, _to: u32, packets: &mut Packets, dropped: &mut Dropped) {
        let line = self.hash(flow_key(&packets[id]));
        self.fq.enqueue(now, id, line, &mut self.group, packets, dropped);
    }

    fn dequeue(&mut self, now: Time, packets: &mut Packets, dropped: &mut Dropped) -> Option<PacketId> {
        self.fq.dequeue(now, &mut self.group, packets, dropped)
    }

    counted_by!(fq);

    fn show(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("lines", self.fq.busy_lines() as f64);
    }
}

#[cfg(test)]
mod tests {
    use wifair_packet::{Packet, flag};
    use wifair_units::Duration;

    use super::super::testing::{QueueBench, unfairness};
    use super::super::{CodelArithmetic, Limit};
    use super::*;

    fn fq_codel(limit: u64) -> QueueBench<FqCodel> {
        QueueBench::new(FqCodel::new(
            &Params::default(),
            &Site { limit: Limit::Packets(limit), ..QueueBench::<FqCodel>::SITE },
        ))
    }

    fn packet(flow: u32, seq: u64, size: u16) -> Packet {
        Packet { flow, seq, size, ..Packet::default() }
    }

    fn names(packets: &[Packet]) -> Vec<(u32, u64)> {
        packets.iter().map(|p| (p.flow, p.seq)).collect()
    }

    /// Quantum 1514, and 14 bytes more count with each packet. Flow 0 has packets of 1000 B, flow 1 one of 100 B. Flow
    /// 0 sends two (500 credits left after the first, -514 after the second), gets a quantum and moves to the old
    /// lines; flow 1, still new, sends its packet, is then found empty and goes behind flow 0; flow 0 sends its third.
    #[test]
    fn new_lines_go_first() {
        let mut bench = fq_codel(100);
        bench.put_all([packet(0, 0, 1000), packet(0, 1, 1000), packet(0, 2, 1000), packet(1, 0, 100)]);
        bench.put_all((3..6).map(|seq| packet(0, seq, 1000)));
        let first: Vec<_> = (0..4).filter_map(|_| bench.get()).collect();
        assert_eq!(names(&first), [(0, 0), (0, 1), (1, 0), (0, 2)]);
        // Flow 1 stands behind flow 0 among the old ones. Flow 0 had 1000 credits and has -14 after its third packet,
        // so it gets a quantum and goes behind flow 1, which still has credits.
        bench.put(packet(1, 1, 100));
        assert_eq!(names(&bench.drain()), [(1, 1), (0, 3), (0, 4), (0, 5)]);
    }

    /// The first three outputs of Vigna's splitmix64.c from state 0 end in 0xdaf, 0x5f4 and 0x54f; there are 1024
    /// lines.
    #[test]
    fn flows_are_spread_by_splitmix64() {
        let params = Params { lines: 1024, ..Params::default() };
        let queue = FqCodel { key: 0, ..FqCodel::new(&params, &QueueBench::<FqCodel>::SITE) };
        assert_eq!([1, 2, 3].map(|flow| queue.hash(flow)), [0x1af, 0x1f4, 0x14f]);
    }

    /// The bound is that of DRR, quantum + 2 largest packets, where sizes are those of IP packets.
    #[test]
    fn long_lines_share_fairly() {
        let mut params = Params::default();
        params.control.arithmetic = CodelArithmetic::Rfc;
        let site = Site { limit: Limit::Packets(100_000), ..QueueBench::<FqCodel>::SITE };
        assert!(unfairness(QueueBench::new(FqCodel::new(&params, &site)), &[1500, 40, 1000, 576]) < 1514 + 2 * 1500);
    }

    /// Four flows with random keys fall on different lines of 1024 (these do), and a flow always falls on the same
    /// line.
    #[test]
    fn flows_are_spread_over_the_lines() {
        let queue = FqCodel::new(&Params::default(), &QueueBench::<FqCodel>::SITE);
        let mut used = [0_u32; 1024];
        for flow in 0..102_400 {
            used[queue.hash(flow)] += 1;
            assert_eq!(queue.hash(flow), queue.hash(flow));
        }
        // A hundred flows per line on average, with a standard deviation of 10.
        assert!(used.iter().all(|n| (50..=150).contains(n)), "{:?}", used.iter().max());
    }

    /// Room for ten. Flow 0 holds eight packets of 1000 B and flow 1 two when another arrives: half of the nine or
    /// eight packets of the fattest line are dropped from its head.
    #[test]
    fn an_overflow_drops_from_the_head_of_the_fattest_line() {
        let mut bench = fq_codel(10);
        bench.put_all((0..8).map(|seq| packet(0, seq, 1000)));
        bench.put_all((0..3).map(|seq| packet(1, seq, 1500)));
        assert_eq!(names(&bench.lost), [(0, 0), (0, 1), (0, 2), (0, 3)]);
        assert_eq!(bench.queue.len(), 7);
    }

    /// One flow floods, another sends a packet every 20 ms: only the flood is marked.
    #[test]
    fn a_sparse_flow_is_not_marked() {
        let mut bench = fq_codel(5000);
        let flood = |seq| Packet { flags: flag::ECT, ..packet(0, seq, 1500) };
        bench.put_all((0..1000).map(flood));
        let (mut marked, mut longest) = ([0; 2], Duration::ZERO);
        for ms in 0..900_u64 {
            if ms % 20 == 10 {
                bench.put(Packet { flags: flag::ECT, ..packet(1, ms, 200) });
            }
            let sent = bench.get().expect("the flood waits");
            marked[sent.flow as usize] += u32::from(sent.has(flag::CE));
            if sent.flow == 1 {
                longest = longest.max(bench.now - (Time::ZERO + Duration::from_millis(sent.seq)));
            }
            bench.wait(Duration::from_millis(1));
        }
        assert!(marked[0] > 5 && marked[1] == 0, "{marked:?}");
        assert!(longest <= Duration::from_millis(1), "{longest}");
    }
}
