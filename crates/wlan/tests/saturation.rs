//! Saturated stations against values that were computed outside this code.

use wifair_engine::stream;
use wifair_packet::{Packet, Packets};
use wifair_units::{BitRate, Bytes, Time};
use wifair_wlan::dcf::{Access, Cell, Eifs, Heard, StationSettings};
use wifair_wlan::phy::Timing;
use wifair_wlan::queue::{Limit, Queue};

/// A cell whose stations always have something to send to the access point.
struct Saturated {
    access: Access,
    cw: (u32, u32),
    rate: BitRate,
    payload: u64,
    stations: u32,
}

impl Saturated {
    fn new(standard: &str, payload: u64, stations: u32) -> Self {
        let (timing, cw_min, rate) = match standard {
            "b" => (Timing::hr_dsss(BitRate::from_mbps(2), false), 31, BitRate::from_mbps(11)),
            "g" => (Timing::erp_ofdm(BitRate::from_mbps(24)), 15, BitRate::from_mbps(54)),
            other => panic!("no standard {other}"),
        };
        let mut access = Access::standard(timing);
        access.eifs = Eifs::Off;
        // The rules of the reference: after a collision everyone resumes after DIFS.
        access.answer_timeout = timing.difs;
        Self { access, cw: (cw_min, 1023), rate, payload, stations }
    }

    /// Goodput in Mb/s over `frames` received frames.
    fn run(&self, frames: u64, seed: u64) -> f64 {
        let settings = |station: u32| StationSettings {
            cw_min: self.cw.0,
            cw_max: self.cw.1,
            exclude_cw: false,
            rate: self.rate,
            routing_overhead: Bytes(0),
            data_error_to: 0.0,
            data_error_from: 0.0,
            control_error_to: 0.0,
            queue: Queue::fifo(Limit::Packets(10)),
            backoff: stream(seed, "backoff", &station.to_string()),
            errors: stream(seed, "error", &station.to_string()),
        };
        let mut cell = Cell::new(self.access, 0, (0..=self.stations).map(settings).collect());
        let mut packets = Packets::default();
        let (mut dropped, mut given_up) = (vec![], vec![]);
        let size = u16::try_from(self.payload + 28).unwrap();
        for station in 1..=self.stations {
            for _ in 0..2 {
                let id = packets.insert(Packet { flow: station, size, ..Packet::default() });
                cell.offer(Time::ZERO, station, id, &mut packets, &mut dropped, |_| 0);
            }
        }
        let (mut received, mut now) = (0, Time::ZERO);
        while received < frames {
            now = cell.next();
            let heard = cell.advance(now, &mut packets, &mut dropped, &mut given_up, |_| 0);
            if let Heard::Packet { id, .. } = heard {
                received += 1;
                let from = packets[id].flow;
                cell.offer(now, from, id, &mut packets, &mut dropped, |_| 0);
            }
            for (from, id) in given_up.drain(..) {
                cell.offer(now, from, id, &mut packets, &mut dropped, |_| 0);
            }
            assert!(dropped.is_empty());
        }
        assert_eq!(cell.air_time(now).total(), now - Time::ZERO, "air time adds up");
        #[allow(clippy::cast_precision_loss)]
        let bits = (received * self.payload * 8) as f64;
        bits / (now - Time::ZERO).as_secs() / 1e6
    }
}

/// Rows of the reference are good to about 0.5 % themselves; the bound is the project's own, 1 %.
#[test]
fn saturation_agrees_with_the_exact_slotted_monte_carlo() {
    for (standard, payload, n, expected) in [
        ("b", 1000, 1, 5.0536),
        ("b", 1000, 2, 5.3827),
        ("b", 1000, 5, 5.3908),
        ("b", 1000, 10, 5.2090),
        ("b", 1000, 20, 4.9153),
        ("b", 1000, 50, 4.3382),
        ("b", 1500, 1, 6.1631),
        ("b", 1500, 20, 5.7210),
        ("g", 1000, 1, 24.5667),
        ("g", 1000, 20, 21.7603),
        ("g", 1500, 1, 29.8794),
        ("g", 1500, 2, 30.3258),
        ("g", 1500, 5, 28.9404),
        ("g", 1500, 10, 27.3051),
        ("g", 1500, 20, 25.2815),
        ("g", 1500, 50, 21.9083),
    ] {
        let goodput = Saturated::new(standard, payload, n).run(200_000, 1);
        let difference = goodput / expected - 1.0;
        assert!(difference.abs() < 0.01, "{standard} {payload} B n = {n}: {goodput:.4} instead of {expected} Mb/s");
    }
}
