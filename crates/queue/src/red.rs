//! RED: random early detection.
//!
//! Source: S. Floyd and V. Jacobson, "Random Early Detection Gateways for Congestion Avoidance", 1993, figure 2 and
//! section 4. At each arrival, with the queue `q` before it,
//!
//! ```text
//! avg = (1 - w) avg + w q           or, after m packet times of an empty queue, (1 - w)^m avg
//! p_b = max_p (avg - min) / (max - min)                          min <= avg < max
//! p_a = p_b / (1 - count p_b)       count: arrivals since the last marked one
//! ```
//!
//! An arrival is marked with probability `p_a`, always when `avg >= max`, never below `min`. So the gaps between marked
//! packets are uniform on 1, 2, ... 1/p_b. If the thresholds are in bytes, `p_b` is multiplied by the size of the
//! packet divided by the full size.
//!
//! `gentle` (S. Floyd, "Recommendation on using the gentle_ variant of RED", 2000): p_b rises from max_p to 1 between
//! `max` and twice `max`. Here "marked" means dropped, unless the transport is ECN-capable, `ecn` is on and `p_b` is
//! below 1; then the packet gets an ECN mark (RFC 3168, section 7: above that it is dropped).
//!
//! Defaults are those of the paper (section 6: w = 0.002, min 5, max 15, max_p 1/50). ns-2.35 has max_p 0.1 and
//! `gentle`. Departures: `m` counts whole packets; figure 2 starts `count` one higher after a mark than the analysis in
//! section 7 assumes, so that its longest gap is 1/p_b - 1; the code here follows the analysis.

use wifair_config::{Limit, table};
use wifair_engine::Stream;
use wifair_packet::{PacketId, Packets};
use wifair_units::{BitRate, Bytes, Duration, Time};

use super::bounded::BoundedLine;
use super::room::{Room, mark};
use super::{Cause, Discipline, Dropped, Site};

table! {
    /// Random early detection.
    pub struct Params {
        /// Nothing is marked while the mean queue is shorter.
        pub min_threshold: Limit = Limit::Packets(5);
        /// Everything is marked while the mean queue is longer.
        pub max_threshold: Limit = Limit::Packets(15);
        /// Weight of the current queue length in the mean.
        pub weight: f64 = 0.002, "above 0 and at most 1" => |weight| *weight > 0.0 && *weight <= 1.0;
        /// Marking probability where the mean reaches `max_threshold`.
        pub max_p: f64 = 0.02, "above 0 and at most 1" => |p| *p > 0.0 && *p <= 1.0;
        /// Whether the probability continues to rise, up to twice `max_threshold`.
        pub gentle: bool = false;
        /// Whether ECN-capable packets are marked instead of dropped.
        pub ecn: bool = true;
        /// Size of a typical packet; its transmission time determines how fast the mean falls while the queue is empty.
        pub mean_packet: Bytes = Bytes(500), "at least 1 B" => |size| size.0 > 0;
        /// Size of a full packet, if thresholds are in bytes.
        pub full_packet: Bytes = Bytes(1500), "at least 1 B" => |size| size.0 > 0;
    }
    check(params, at) {
        match (params.min_threshold, params.max_threshold) {
            (Limit::Packets(min), Limit::Packets(max)) | (Limit::Bytes(Bytes(min)), Limit::Bytes(Bytes(max))) => {
                if min >= max {
                    at.clash(
                        "`min_threshold` is not below `max_threshold`",
                        &[("min_threshold", "the lower one"), ("max_threshold", "the upper one")],
                    );
                }
            }
            _ => at.clash(
                "one threshold is in packets, the other in bytes",
                &[("min_threshold", "write both in packets or both in bytes"), ("max_threshold", "the other unit")],
            ),
        }
    }
}

/// The average queue and the marking decision, for one queue or virtual queue.
#[derive(Clone, Debug)]
pub struct Detector {
    min: f64,
    max: f64,
    in_bytes: bool,
    weight: f64,
    max_p: f64,
    gentle: bool,
    full_packet: f64,
    /// Transmission time of a typical packet.
    packet_time: Duration,
    avg: f64,
    /// Arrivals since the last marked packet; -1 right after it, and below `min`.
    count: i64,
    empty_since: Option<Time>,
}

impl Detector {
    /// A detector for an empty queue that feeds a link of this `rate`.
    pub fn new(params: &Params, rate: Option<BitRate>) -> Self {
        let threshold = |limit: Limit| match limit {
            Limit::Packets(packets) => packets as f64,
            Limit::Bytes(bytes) => bytes.0 as f64,
        };
        Self {
            min: threshold(params.min_threshold),
            max: threshold(params.max_threshold),
            in_bytes: matches!(params.min_threshold, Limit::Bytes(_)),
            weight: params.weight,
            max_p: params.max_p,
            gentle: params.gentle,
            full_packet: params.full_packet.0 as f64,
            packet_time: rate.map_or(Duration::ZERO, |rate| rate.time_for(params.mean_packet)),
            avg: 0.0,
            count: -1,
            empty_since: Some(Time::ZERO),
        }
    }

    /// Sets other thresholds, in the same unit.
    pub const fn set_thresholds(&mut self, min: f64, max: f64) {
        self.min = min;
        self.max = max;
    }

    /// The mean length.
    pub const fn average(&self) -> f64 {
        self.avg
    }

    /// Notes that the queue has become empty.
    pub const fn empty(&mut self, now: Time) {
        self.empty_since = Some(now);
    }

    /// `p_b` for a packet of `size` bytes.
    fn probability(&self, size: u64) -> f64 {
        let p = if self.avg < self.min {
            0.0
        } else if self.avg < self.max {
            self.max_p * (self.avg - self.min) / (self.max - self.min)
        } else if self.gentle && self.avg < 2.0 * self.max {
            self.max_p + (1.0 - self.max_p) * (self.avg - self.max) / self.max
        } else {
            return 1.0;
        };
        if self.in_bytes { (p * size as f64 / self.full_packet).min(1.0) } else { p }
    }

    /// Handles an arrival of `size` bytes that finds this many packets and bytes in the queue. Returns `None` if it is
    /// not marked, otherwise whether an ECN mark is enough.
    pub fn on_arrival(&mut self, now: Time, packets: u64, bytes: u64, size: u64, draws: &mut Stream) -> Option<bool> {
        let q = if self.in_bytes { bytes as f64 } else { packets as f64 };
        match self.empty_since.take() {
            Some(since) if self.packet_time > Duration::ZERO => {
                let idle = now.saturating_since(since).div_floor(self.packet_time);
                self.avg *= power(1.0 - self.weight, idle);
            }
            _ => self.avg += self.weight * (q - self.avg),
        }
        let p_b = self.probability(size);
        if p_b <= 0.0 {
            self.count = -1;
            return None;
        }
        self.count += 1;
        let left = 1.0 - self.count as f64 * p_b;
        let p_a = if left > p_b { p_b / left } else { 1.0 };
        if !draws.chance(p_a) {
            return None;
        }
        self.count = -1;
        Some(p_b < 1.0)
    }
}

/// `base` to a whole power, by squaring: the same bits on every platform.
fn power(mut base: f64, mut exponent: u64) -> f64 {
    let mut result = 1.0;
    while exponent > 0 && result > 0.0 {
        if exponent & 1 == 1 {
            result *= base;
        }
        base *= base;
        exponent >>= 1;
    }
    result
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub struct Red {
    line: BoundedLine<()>,
    detector: Detector,
    ecn: bool,
    draws: Stream,
}

impl Red {
    /// An empty queue.
    pub fn new(params: &Params, site: &Site<'_>) -> Self {
        Self {
            line: BoundedLine::new(Room::new(site.limit, None)),
            detector: Detector::new(params, site.rate),
            ecn: params.ecn,
            draws: site.stream(),
        }
    }
}

/// Puts an arrival into a line. If it is `chosen` for marking, it is dropped, unless an ECN mark is enough and `ecn` is
/// on. Returns whether it stays.
pub fn put_or_mark<N>(
    line: &mut BoundedLine<N>,
    (id, note): (PacketId, N),
    chosen: Option<bool>,
    ecn: bool,
    packets: &mut Packets,
    dropped: &mut Dropped,
) -> bool {
    let marked = chosen.is_some_and(|may_mark| ecn && may_mark && mark(&mut packets[id]));
    if chosen.is_some() && !marked {
        dropped.push((id, Cause::Early));
        return false;
    }
    line.put(id, note, marked, packets, dropped)
}

impl Discipline for Red {
    fn enqueue(&mut self, now: Time, id: PacketId, _to: u32, packets: &mut Packets, dropped: &mut Dropped) {
        let size = packets[id].bytes().0;
        let chosen = self.detector.on_arrival(now, self.line.len() as u64, self.line.bytes(), size, &mut self.draws);
        let stays = put_or_mark(&mut self.line, (id, ()), chosen, self.ecn, packets, dropped);
        if !stays && self.line.is_empty() {
            self.detector.empty(now);
        }
    }

    fn dequeue(&mut self, now: Time, packets: &mut Packets, _dropped: &mut Dropped) -> Option<PacketId> {
        let (id, ()) = self.line.take(packets)?;
        if self.line.is_empty() {
            self.detector.empty(now);
        }
        Some(id)
    }

    counted_by!(line);

    fn show(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("average", self.detector.average());
        see("probability", self.detector.probability(self.detector.full_packet as u64));
    }
}

#[cfg(test)]
mod tests {
    use wifair_packet::{Packet, flag};

    use super::super::testing::QueueBench;
    use super::*;

    fn red(params: &Params) -> QueueBench<Red> {
        QueueBench::new(Red::new(params, &QueueBench::<Red>::SITE))
    }

    fn packet(flags: u8) -> Packet {
        Packet { size: 500, payload: 460, flags, ..Packet::default() }
    }

    /// Keeps ten packets in the queue for `arrivals` more and lists the numbers of those that are marked.
    fn marked_at_ten(bench: &mut QueueBench<Red>, flags: u8, arrivals: u64) -> Vec<u64> {
        let mut marked = vec![];
        for n in 0..arrivals {
            let lost = bench.lost.len();
            let id = bench.put(packet(flags));
            if bench.lost.len() > lost {
                marked.push(n);
                continue;
            }
            if bench.packets[id].has(flag::CE) {
                marked.push(n);
            }
            bench.get();
        }
        marked
    }

    /// Mean = present queue (w = 1), which is 10 at each arrival: p_b = 0.1 * (10 - 5) / (15 - 5) = 0.05. Floyd and
    /// Jacobson, section 7: the gap to the next marked packet is uniform on 1 to 1 / p_b = 20, with mean 10.5 and
    /// variance (20^2 - 1) / 12.
    #[test]
    fn gaps_between_marked_packets_are_uniform() {
        let mut bench = red(&Params { weight: 1.0, max_p: 0.1, ..Params::default() });
        // Fill with ten packets without marking: the thresholds apply only later.
        bench.queue.detector.set_thresholds(50.0, 60.0);
        bench.put_all([packet(0); 10]);
        bench.queue.detector.set_thresholds(5.0, 15.0);
        let marked = marked_at_ten(&mut bench, 0, 200_000);
        let gaps: Vec<u64> = marked.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(gaps.iter().all(|gap| (1..=20).contains(gap)));
        let n = gaps.len() as f64;
        let mean = gaps.iter().sum::<u64>() as f64 / n;
        assert!((mean - 10.5).abs() < 4.0 * (399.0 / 12.0 / n).sqrt(), "mean gap {mean}");
        for gap in 1..=20 {
            let share = gaps.iter().filter(|g| **g == gap).count() as f64 / n;
            assert!((share - 0.05).abs() < 4.0 * (0.05 * 0.95 / n).sqrt(), "gap {gap}: {share}");
        }
    }

    /// ECN-capable packets at the same places are marked and stay.
    #[test]
    fn ecn_marks_where_others_are_dropped() {
        let mut runs = [(0, 0_usize), (flag::ECT, 0)].map(|(flags, _)| {
            let mut bench = red(&Params { weight: 1.0, max_p: 0.1, ..Params::default() });
            bench.queue.detector.set_thresholds(50.0, 60.0);
            bench.put_all([packet(flags); 10]);
            bench.queue.detector.set_thresholds(5.0, 15.0);
            (marked_at_ten(&mut bench, flags, 1000), bench.lost.len())
        });
        assert!(!runs[0].0.is_empty() && runs[0].1 == runs[0].0.len());
        assert_eq!((runs[1].0.clone(), runs[1].1), (std::mem::take(&mut runs[0].0), 0));
    }

    /// By hand, w = 1/4: arrivals find 0 (empty: no change), 1, 2, 3 packets; avg is 0, 0.25, 0.6875, 1.265625.
    #[test]
    fn the_mean_follows_the_queue() {
        let mut bench = red(&Params { weight: 0.25, ..Params::default() });
        let averages = [0.0, 0.25, 0.6875, 1.265_625].map(|expected| {
            bench.put(packet(0));
            (bench.queue.detector.average(), expected)
        });
        assert!(averages.iter().all(|(avg, expected)| avg == expected), "{averages:?}");
    }

    /// 500 B at 11 Mb/s take 363.6 us, so 1 ms of empty queue is two packets: avg falls to 9/16.
    #[test]
    fn the_mean_falls_while_the_queue_is_empty() {
        let mut bench = red(&Params { weight: 0.25, ..Params::default() });
        bench.put_all([packet(0); 2]);
        bench.drain();
        bench.wait(Duration::from_millis(1));
        bench.put(packet(0));
        assert_eq!(bench.queue.detector.average(), 0.25 * 9.0 / 16.0);
    }

    /// Thresholds 5 and 15, max_p 0.1. Gentle: 0.1 + 0.9 * (20 - 15) / 15 = 0.4 at 20, 1 at 30.
    #[test]
    fn probabilities_by_hand() {
        let params = Params { max_p: 0.1, ..Params::default() };
        let at = |params: &Params, avg: f64, size: u64| {
            let mut detector = Detector::new(params, None);
            detector.avg = avg;
            detector.probability(size)
        };
        for (avg, plain, gentle) in [
            (4.9, 0.0, 0.0),
            (5.0, 0.0, 0.0),
            (10.0, 0.05, 0.05),
            (14.0, 0.09, 0.09),
            (15.0, 1.0, 0.1),
            (20.0, 1.0, 0.4),
            (30.0, 1.0, 1.0),
        ] {
            assert!((at(&params, avg, 500) - plain).abs() < 1e-12, "{avg}");
            assert!((at(&Params { gentle: true, ..params.clone() }, avg, 500) - gentle).abs() < 1e-12, "{avg}");
        }
        let bytes = |n: u64| Limit::Bytes(Bytes(n));
        let params = Params { min_threshold: bytes(5000), max_threshold: bytes(15_000), ..params };
        assert!((at(&params, 10_000.0, 1500) - 0.05).abs() < 1e-12);
        assert!((at(&params, 10_000.0, 60) - 0.002).abs() < 1e-12, "a short packet is marked more rarely");
        let gentle = Params { gentle: true, ..params };
        assert!((at(&gentle, 20_000.0, 60) - 0.4 * 60.0 / 1500.0).abs() < 1e-12);
        assert_eq!(
            at(&gentle, 30_000.0, 60),
            1.0,
            "from twice the threshold on each packet is dropped, whatever its size"
        );
    }

    #[test]
    fn thresholds_that_clash_are_named() {
        use wifair_config::{Document, Source, Table as _};
        let problems = |text| {
            let document = Document::parse(Source::file("a.toml", text));
            document.read::<Params>().map(|params| params.to_toml()).unwrap_err().to_string()
        };
        assert!(problems("min_threshold = '15 packets'").contains("is not below"));
        assert!(problems("min_threshold = '5 kB'").contains("the other in bytes"));
    }

    /// Without the gentle slope every arrival is chosen from `max` on; with it the probability grows from `max_p` at
    /// `max` to one at twice that. In bytes a packet of half the full size has half the probability.
    #[test]
    fn probabilities_at_the_thresholds() {
        let params = Params {
            min_threshold: Limit::Bytes(Bytes(10_000)),
            max_threshold: Limit::Bytes(Bytes(30_000)),
            max_p: 0.1,
            full_packet: Bytes(1000),
            ..Params::default()
        };
        for (gentle, avg, size, expected) in [
            (true, 9_999.0, 1000, 0.0),
            (true, 20_000.0, 1000, 0.05),
            (true, 20_000.0, 500, 0.025),
            (true, 30_000.0, 1000, 0.1),
            (true, 45_000.0, 1000, 0.55),
            (true, 60_000.0, 500, 1.0),
            (false, 29_999.0, 1000, 0.1 * 19_999.0 / 20_000.0),
            (false, 30_000.0, 500, 1.0),
        ] {
            let mut detector = Detector::new(&Params { gentle, ..params.clone() }, None);
            detector.avg = avg;
            assert!((detector.probability(size) - expected).abs() < 1e-12, "{gentle} {avg} {size}");
        }
    }
}
