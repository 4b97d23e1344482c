//! Stations that do not hear each other, compared with the slow model in `tests/oracle/hidden.py`.

use wifair_engine::stream;
use wifair_mac::{Access, Call, Eifs, Hearing, MacEvent, RadioLinks, SpatialChannel, StationSettings};
use wifair_packet::{NextHops, Packet, Packets};
use wifair_phy::Timing;
use wifair_queue::{Limit, Queue};
use wifair_units::{BitRate, Bytes, Time};

/// Every packet goes to the access point.
const TO_AP: NextHops<'static> = NextHops(&[0]);

/// Groups of saturated stations that send to station 0; stations hear it and those in their own group.
struct Groups {
    access: Access,
    cw_min: u32,
    rate: BitRate,
    /// Length of the whole MAC frame.
    frame: Bytes,
    sizes: Vec<usize>,
}

impl Groups {
    fn new(standard: &str, rts: bool, frame: u64, sizes: &str) -> Self {
        let (timing, cw_min, rate) = match standard {
            "b" => (Timing::hr_dsss(BitRate::from_mbps(2), false), 31, BitRate::from_mbps(11)),
            "g" => (Timing::erp_ofdm(BitRate::from_mbps(24)), 15, BitRate::from_mbps(54)),
            other => panic!("no standard {other}"),
        };
        let access = Access {
            rts_threshold: if rts { Bytes(0) } else { Bytes(u64::MAX) },
            // The rules of the model.
            eifs: Eifs::AfterCollision,
            nav_reset: false,
            ..Access::standard(timing)
        };
        let sizes = sizes.split('+').map(|size| size.parse().unwrap()).collect();
        Self { access, cw_min, rate, frame: Bytes(frame), sizes }
    }

    /// Goodput in Mb/s until `frames` frames are received, and its standard error.
    #[allow(clippy::cast_precision_loss)]
    fn run(&self, payload: u64, frames: u64, seed: u64) -> (f64, f64) {
        let mut group = vec![0];
        for (number, size) in (1..).zip(&self.sizes) {
            group.extend(std::iter::repeat_n(number, *size));
        }
        let stations = u32::try_from(group.len()).unwrap();
        let links = RadioLinks::from_hearing(stations, |from, to| {
            let (from, to) = (group[from as usize], group[to as usize]);
            if from == 0 || to == 0 || from == to { Hearing::Reads } else { Hearing::Nothing }
        });
        let settings = |station: u32| StationSettings {
            cw_min: self.cw_min,
            cw_max: 1023,
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
        let mut space = SpatialChannel::new(self.access, &[0], links, (0..stations).map(settings).collect());
        let mut packets = Packets::default();
        let (mut dropped, mut retry_limit_drops) = (vec![], vec![]);
        let size = u16::try_from(self.frame.0 - 36).unwrap(); // LLC, MAC header and FCS
        for station in 1..stations {
            for _ in 0..2 {
                let id = packets.insert(Packet { flow: station, size, ..Packet::default() });
                space.offer(station, id, &mut Call::new(Time::ZERO, &mut packets, &mut dropped, &mut vec![], TO_AP));
            }
        }
        let batches = 50;
        let (mut received, mut now, mut since) = (0, Time::ZERO, Time::ZERO);
        let mut rates = vec![];
        while received < frames {
            now = space.next();
            let heard = space.advance(&mut Call::new(now, &mut packets, &mut dropped, &mut retry_limit_drops, TO_AP));
            if let MacEvent::Packet { id, .. } = heard {
                received += 1;
                if received % (frames / batches) == 0 {
                    let bits = (payload * 8 * frames / batches) as f64;
                    rates.push(bits / (now - since).as_secs() / 1e6);
                    since = now;
                }
                let from = packets[id].flow;
                space.offer(from, id, &mut Call::new(now, &mut packets, &mut dropped, &mut vec![], TO_AP));
            }
            for (from, id) in retry_limit_drops.drain(..) {
                space.offer(from, id, &mut Call::new(now, &mut packets, &mut dropped, &mut vec![], TO_AP));
            }
            assert!(dropped.is_empty());
        }
        assert_eq!(space.air_time(now).total(), now - Time::ZERO, "air time adds up");
        let n = rates.len() as f64;
        let mean = rates.iter().sum::<f64>() / n;
        let variance = rates.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>() / (n - 1.0);
        (mean, (variance / n).sqrt())
    }
}

/// Every row of the model's table agrees within four standard errors of the difference.
#[test]
fn hidden_stations_agree_with_the_slow_model() {
    let table = include_str!("../../../../tests/oracle/hidden.csv");
    let mut rows = 0;
    for line in table.lines().skip(1) {
        let row: Vec<&str> = line.split(',').collect();
        let [groups, standard, payload, frame, rts, eifs, _, goodput, error, ..] = row[..] else {
            panic!("{line}: too few columns");
        };
        assert_eq!(eifs, "on");
        let number = |text: &str| text.parse::<f64>().unwrap();
        let scenario = Groups::new(standard, rts == "on", frame.parse().unwrap(), groups);
        let (measured, own_error) = scenario.run(payload.parse().unwrap(), 100_000, 1);
        let difference = measured - number(goodput);
        let tolerance = 4.0 * own_error.hypot(number(error));
        assert!(difference.abs() < tolerance, "{line}: {measured:.4} Mb/s, more than {tolerance:.4} off");
        rows += 1;
    }
    assert_eq!(rows, 32);
}
