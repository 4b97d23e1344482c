//! Contention RED: the drop probability depends on the number of MAC retries, not on the length of the queue.
//!
//! Source: Z. Fu, P. Zerfos, H. Luo, S. Lu, L. Zhang and M. Gerla, "The Impact of Multihop Wireless Channel on TCP
//! Throughput and Loss", INFOCOM 2003 (link RED and adaptive pacing). Paper las, section 2, cites it as a mechanism
//! like RED that drops by the level of contention; known here from its abstract and from descriptions by others. For
//! each frame that the MAC has finished, delivered or given up,
//!
//! ```text
//! avg = (1 - w) avg + w retries
//! p = 0                                        avg < min: no pacing
//! p = min((avg - min) / (max - min), max_p)    otherwise, and pacing
//! ```
//!
//! An arrival is marked or dropped with probability p. With pacing the queue waits for the air time of one packet after
//! each departure, so that the next node has forwarded the packet before the next one starts. Packets leave first in,
//! first out.
//!
//! Our readings: the values of the parameters; dropping on arrival; the wait is the air time of the last frame. On a
//! chain of seven nodes these values drop far too much (docs/schemes.md): retries are common there, each hop drops up
//! to `max_p`, and over six hops 47 % are lost. Set the thresholds above the usual number of retries.

use wifair_config::table;
use wifair_engine::Stream;
use wifair_packet::{PacketId, Packets};
use wifair_units::{Duration, Time};

use super::bounded::BoundedLine;
use super::red::put_or_mark;
use super::room::Room;
use super::{AirUse, Discipline, Dropped, Site};

table! {
    /// Random early detection by contention.
    pub struct Params {
        /// Nothing is dropped below this mean number of retries.
        pub min_retries: f64 = 0.1, "0 or more" => |min| *min >= 0.0 && min.is_finite();
        /// The mean number of retries at which the probability would reach 1.
        pub max_retries: f64 = 2.0, "above min_retries" => |max| *max > min_retries && max.is_finite();
        /// Greatest drop probability.
        pub max_p: f64 = 0.1, "between 0 and 1" => |p| (0.0..=1.0).contains(p);
        /// Weight of the latest frame in the mean.
        pub weight: f64 = 0.05, "above 0 and at most 1" => |weight| *weight > 0.0 && *weight <= 1.0;
        /// Whether packets are paced while there is contention.
        pub pacing: bool = true;
        /// Whether ECN-capable packets are marked instead of dropped.
        pub ecn: bool = true;
    }
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub struct ContentionRed {
    line: BoundedLine<()>,
    /// No packet leaves before this time.
    ready: Time,
    params: Params,
    draws: Stream,
    retries: f64,
    /// Air time of what is to be sent again.
    air: Duration,
}

impl ContentionRed {
    /// An empty queue.
    pub fn new(params: &Params, site: &Site<'_>) -> Self {
        Self {
            line: BoundedLine::new(Room::new(site.limit, None)),
            ready: Time::ZERO,
            params: params.clone(),
            draws: site.stream(),
            retries: 0.0,
            air: Duration::ZERO,
        }
    }

    fn probability(&self) -> f64 {
        let Params { min_retries, max_retries, max_p, .. } = self.params;
        ((self.retries - min_retries) / (max_retries - min_retries)).clamp(0.0, max_p)
    }
}

impl Discipline for ContentionRed {
    fn enqueue(&mut self, _now: Time, id: PacketId, _to: u32, packets: &mut Packets, dropped: &mut Dropped) {
        let chosen = self.draws.chance(self.probability()).then_some(true);
        put_or_mark(&mut self.line, (id, ()), chosen, self.params.ecn, packets, dropped);
    }

    fn dequeue(&mut self, now: Time, packets: &mut Packets, _dropped: &mut Dropped) -> Option<PacketId> {
        if now < self.ready { None } else { self.line.take(packets).map(|(id, ())| id) }
    }

    counted_by!(line);

    fn ready(&self) -> Time {
        self.ready
    }

    fn wants_air_use(&self) -> bool {
        true
    }

    fn on_air(&mut self, now: Time, used: &AirUse) {
        if !used.sent {
            return;
        }
        self.air += used.air;
        if used.attempts == 0 {
            return;
        }
        let air = std::mem::take(&mut self.air);
        self.retries += self.params.weight * (f64::from(used.attempts - 1) - self.retries);
        if self.params.pacing && self.retries >= self.params.min_retries {
            self.ready = now + air / u64::from(used.attempts);
        }
    }

    fn show(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("mean_retries", self.retries);
        see("probability", self.probability());
    }
}

#[cfg(test)]
mod tests {
    use wifair_packet::{Packet, flag};

    use super::super::testing::QueueBench;
    use super::*;

    fn tried(attempts: u32) -> AirUse {
        let air = Duration::from_millis(2) * u64::from(attempts);
        AirUse { peer: 1, sent: true, air, attempts, delivered: true, rate: None }
    }

    /// w = 1/2, min 0.5, max 2.5: after 3 attempts avg = 1 and p = 0.25; after one more, avg = 0.5 and p = 0; then avg
    /// = 0.25 and there is no pacing.
    #[test]
    fn the_mean_of_retries_by_hand() {
        let params = Params { min_retries: 0.5, max_retries: 2.5, max_p: 1.0, weight: 0.5, ..Params::default() };
        let mut bench = QueueBench::new(ContentionRed::new(&params, &QueueBench::<ContentionRed>::SITE));
        let mut seen = vec![];
        for attempts in [3, 1, 1] {
            bench.wait(Duration::from_millis(10));
            bench.queue.on_air(bench.now, &tried(attempts));
            seen.push((bench.queue.retries, bench.queue.probability(), bench.queue.ready() > bench.now));
        }
        assert_eq!(seen, [(1.0, 0.25, true), (0.5, 0.0, true), (0.25, 0.0, false)]);
    }

    /// Under block ACK: two exchanges of 2 ms without response, reported as they end, then one of 5 ms with a response,
    /// are a frame with two retries and a mean of 3 ms.
    #[test]
    fn exchanges_without_response_count_when_one_is_answered() {
        let params = Params { weight: 0.5, ..Params::default() };
        let mut bench = QueueBench::new(ContentionRed::new(&params, &QueueBench::<ContentionRed>::SITE));
        let missed = AirUse { attempts: 0, delivered: false, ..tried(1) };
        let missed = AirUse { air: Duration::from_millis(2), ..missed };
        bench.queue.on_air(bench.now, &missed);
        bench.queue.on_air(bench.now, &missed);
        assert_eq!(bench.queue.retries, 0.0);
        bench.queue.on_air(bench.now, &AirUse { air: Duration::from_millis(5), ..tried(3) });
        assert_eq!(bench.queue.retries, 1.0);
        assert_eq!(bench.queue.ready(), bench.now + Duration::from_millis(3));
    }

    /// Pacing: after a frame that took 2 ms per attempt, the next packet waits 2 ms.
    #[test]
    fn packets_are_spaced_while_there_is_contention() {
        let mut bench = QueueBench::new(ContentionRed::new(&Params::default(), &QueueBench::<ContentionRed>::SITE));
        bench.put_all([Packet { size: 1000, flags: flag::ECT, ..Packet::default() }; 2]);
        assert!(bench.get().is_some());
        bench.queue.on_air(bench.now, &tried(7));
        assert!(bench.get().is_none());
        bench.wait(Duration::from_millis(2));
        assert!(bench.get().is_some());
    }

    /// Permanent contention, max_p 0.1: one arrival in ten is dropped.
    #[test]
    fn the_probability_is_bounded() {
        let mut bench = QueueBench::new(ContentionRed::new(&Params::default(), &QueueBench::<ContentionRed>::SITE));
        for _ in 0..1000 {
            bench.queue.on_air(bench.now, &tried(7));
        }
        let n = 20_000;
        for _ in 0..n {
            bench.put(Packet { size: 1000, ..Packet::default() });
            bench.wait(Duration::from_millis(10));
            bench.get();
        }
        let (n, share) = (f64::from(n), bench.lost.len() as f64 / f64::from(n));
        assert!((share - 0.1).abs() < 4.0 * (0.09 / n).sqrt(), "{share}");
    }
}
