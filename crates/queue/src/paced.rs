//! A scheduler that is not work conserving: after each packet the queue waits, and waits longer the faster it has been
//! sending.
//!
//! Source, an outline only: L. Yang, W. K. G. Seah and Q. Yin, "Improving Fairness among TCP Flows Crossing Wireless Ad
//! Hoc and Wired Networks", MobiHoc 2003. Paper `las`, section 2, says about it: not work conserving, eight parameters,
//! less contention on the air. Nodes that send much wait longer between packets, so that others get through.
//!
//! Our reading, with eight parameters: after a packet of L bytes the queue holds back all but routing messages for
//!
//! ```text
//! L / rate + D + random on [0, spread D)
//! ```
//!
//! where D depends on the rate R at which the queue has sent during the last `window`: D is 0 below `slow`,
//! `short_delay` up to `medium`, `middle_delay` up to `fast`, and `long_delay` above. Packets leave first in, first
//! out.

use std::collections::VecDeque;

use wifair_config::table;
use wifair_engine::Stream;
use wifair_packet::{Kind, PacketId, Packets};
use wifair_units::{BitRate, Duration, Time};

use super::bounded::BoundedLine;
use super::{Discipline, Dropped, Site};

table! {
    /// A wait after each packet.
    pub struct Params {
        /// Interval over which the output is measured.
        pub window: Duration = Duration::from_secs(1), "above 0 s" => |window| *window > Duration::ZERO;
        /// Below this output rate there is no delay.
        pub slow: BitRate = BitRate::from_mbps(1);
        /// Up to this output rate the delay is short.
        pub medium: BitRate = BitRate::from_mbps(2), "at least slow" => |rate| *rate >= slow;
        /// Up to this output rate the delay is medium, above it long.
        pub fast: BitRate = BitRate::from_mbps(3), "at least medium" => |rate| *rate >= medium;
        /// The short delay.
        pub short_delay: Duration = Duration::from_micros(500);
        /// The medium delay.
        pub middle_delay: Duration = Duration::from_millis(1);
        /// The long delay.
        pub long_delay: Duration = Duration::from_millis(2);
        /// The random part, as a fraction of the delay.
        pub spread: f64 = 1.0, "between 0 and 1" => |spread| (0.0..=1.0).contains(spread);
    }
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub struct Paced {
    line: BoundedLine<()>,
    /// No packet leaves before this time.
    ready: Time,
    params: Params,
    rate: Option<BitRate>,
    draws: Stream,
    /// Packets sent within the window: time and bytes.
    sent: VecDeque<(Time, u64)>,
    sent_bytes: u64,
}

impl Paced {
    /// An empty queue.
    pub fn new(params: &Params, site: &Site<'_>) -> Self {
        Self {
            line: BoundedLine::new(site.room()),
            ready: Time::ZERO,
            params: params.clone(),
            rate: site.rate,
            draws: site.stream(),
            sent: VecDeque::new(),
            sent_bytes: 0,
        }
    }

    /// Output over the last `window`, in bit/s.
    fn output(&mut self, now: Time) -> f64 {
        while let Some((time, bytes)) = self.sent.front().copied()
            && now.saturating_since(time) >= self.params.window
        {
            self.sent.pop_front();
            self.sent_bytes -= bytes;
        }
        self.sent_bytes as f64 * 8.0 / self.params.window.as_secs()
    }

    fn hold_back(&mut self, now: Time, size: u64) {
        self.sent.push_back((now, size));
        self.sent_bytes += size;
        let output = self.output(now);
        let Params { slow, medium, fast, short_delay, middle_delay, long_delay, spread, .. } = self.params;
        let delay = match output {
            r if r < slow.as_bps() as f64 => Duration::ZERO,
            r if r < medium.as_bps() as f64 => short_delay,
            r if r < fast.as_bps() as f64 => middle_delay,
            _ => long_delay,
        };
        let random = Duration::from_secs_f64(delay.as_secs() * spread * self.draws.uniform());
        let air = self.rate.map_or(Duration::ZERO, |rate| rate.time_for(wifair_units::Bytes(size)));
        self.ready = now + air + delay + random;
    }
}

impl Discipline for Paced {
    fn enqueue(&mut self, _now: Time, id: PacketId, _to: u32, packets: &mut Packets, dropped: &mut Dropped) {
        self.line.put(id, (), false, packets, dropped);
    }

    fn dequeue(&mut self, now: Time, packets: &mut Packets, _dropped: &mut Dropped) -> Option<PacketId> {
        if now < self.ready {
            return None;
        }
        let (id, ()) = self.line.take(packets)?;
        let packet = &packets[id];
        if packet.kind != Kind::Routing {
            self.hold_back(now, packet.bytes().0);
        }
        Some(id)
    }

    counted_by!(line);

    fn ready(&self) -> Time {
        self.ready
    }

    fn show(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("output_bps", self.sent_bytes as f64 * 8.0 / self.params.window.as_secs());
    }
}

#[cfg(test)]
mod tests {
    use wifair_packet::Packet;

    use super::super::testing::QueueBench;
    use super::*;

    /// 1250 B take 1 ms at 10 Mb/s and amount to 10 kb/s over a second. With thresholds at 20, 30 and 40 kb/s the queue
    /// waits 1 ms after the first packet, 6 after the second, 11 after the third, 21 after the fourth and fifth.
    #[test]
    fn the_wait_grows_with_the_output() {
        let kbps = BitRate::from_kbps;
        let delay = Duration::from_millis;
        let params = Params {
            slow: kbps(20),
            medium: kbps(30),
            fast: kbps(40),
            short_delay: delay(5),
            middle_delay: delay(10),
            long_delay: delay(20),
            spread: 0.0,
            ..Params::default()
        };
        let site = Site { rate: Some(BitRate::from_mbps(10)), ..QueueBench::<Paced>::SITE };
        let mut bench = QueueBench::new(Paced::new(&params, &site));
        bench.put_all([Packet { size: 1250, ..Packet::default() }; 7]);
        let waits = [1, 6, 11, 21, 21].map(|expected| {
            assert!(bench.get().is_some());
            assert!(bench.get().is_none(), "the next one is held back");
            let wait = bench.queue.ready() - bench.now;
            bench.now = bench.queue.ready();
            (wait, Duration::from_millis(expected))
        });
        assert!(waits.iter().all(|(wait, expected)| wait == expected), "{waits:?}");
        // A second later the measured output is zero again.
        bench.wait(Duration::from_secs(1));
        assert!(bench.get().is_some());
        assert_eq!(bench.queue.ready() - bench.now, Duration::from_millis(1));
    }

    /// The random part is uniform on [0, spread * D): its mean over 10,000 packets is half of that, to within four
    /// standard errors.
    #[test]
    fn waits_are_spread() {
        let long = Duration::from_millis(20);
        let params = Params {
            slow: BitRate::from_kbps(0),
            medium: BitRate::from_kbps(0),
            fast: BitRate::from_kbps(0),
            long_delay: long,
            ..Params::default()
        };
        for spread in [0.5, 1.0] {
            let params = Params { spread, ..params.clone() };
            let mut bench = QueueBench::new(Paced::new(&params, &Site { rate: None, ..QueueBench::<Paced>::SITE }));
            let (n, mut sum) = (10_000, 0.0);
            for _ in 0..n {
                bench.put(Packet { size: 1250, ..Packet::default() });
                assert!(bench.get().is_some());
                let beyond = (bench.queue.ready() - bench.now).as_secs() - 0.02;
                assert!((0.0..0.02 * spread).contains(&beyond), "{beyond}");
                sum += beyond;
                bench.now = bench.queue.ready();
            }
            let (mean, n) = (sum / f64::from(n), f64::from(n));
            assert!((mean - 0.01 * spread).abs() < 4.0 * 0.02 * spread / (12.0 * n).sqrt(), "{mean}");
        }
    }

    /// 1250 B in a window of 2 s are 5 kb/s; routing messages are not counted.
    #[test]
    fn the_output_is_that_of_the_window() {
        let params = Params { window: Duration::from_secs(2), ..Params::default() };
        let mut bench = QueueBench::new(Paced::new(&params, &QueueBench::<Paced>::SITE));
        let packet = Packet { size: 1250, ..Packet::default() };
        bench.put_all([Packet { kind: Kind::Routing, ..packet }, packet]);
        for expected in [0.0, 5000.0] {
            assert!(bench.get().is_some());
            bench.queue.show(&mut |what, value| assert_eq!((what, value), ("output_bps", expected)));
        }
    }
}
