//! scratch
#![allow(clippy::all, clippy::print_stdout)]
use wifair_engine::stream;
use wifair_sim::world::*;
use wifair_tcp::{Stack, cc};
use wifair_units::*;
use wifair_wlan::dcf::*;
use wifair_wlan::phy::Timing;
use wifair_wlan::queue::*;

fn arg(name: &str, default: &str) -> String {
    let args: Vec<String> = std::env::args().collect();
    args.iter().position(|a| a == name).map_or(default.to_string(), |i| args[i + 1].clone())
}
fn main() {
    let n: u32 = arg("n", "8").parse().unwrap();
    let up = arg("dir", "up") == "up";
    let dur: u64 = arg("dur", "1000").parse().unwrap();
    let seed: u64 = arg("seed", "1").parse().unwrap();
    let qlen: u64 = arg("qlen", "49").parse().unwrap();
    let mss: u16 = arg("mss", "1000").parse().unwrap();
    let rwnd: u64 = arg("rwnd", "20").parse().unwrap();
    let udp = arg("transport", "tcp") == "udp";
    let ns2 = arg("mac", "ns2") == "ns2";
    let rts = arg("rts", "1") == "1";
    let plcp11 = arg("plcp", "11") == "11";
    let delay: u64 = arg("ms", "10").parse().unwrap();
    let basic: u64 = arg("basic", "11").parse().unwrap();
    let mut timing = Timing::hr_dsss(BitRate::from_mbps(basic), false);
    if plcp11 {
        timing.preamble = Timing::plcp_at(BitRate::from_mbps(11), false);
    }
    if ns2 {
        timing.sizes.llc_overhead = Bytes(0);
        timing.sizes.mac_overhead = Bytes(34);
        timing.lowest_rate = if plcp11 { BitRate::from_mbps(11) } else { BitRate::from_mbps(1) };
    }
    let mut access = Access::standard(timing);
    if ns2 {
        access.eifs = Eifs::AfterCollision;
        access.idle_access = IdleAccess::Backoff;
    }
    if rts {
        access.rts_threshold = Bytes(0);
    }
    let st = |i: u32| StationSettings {
        cw_min: 31,
        cw_max: 1023,
        exclude_cw: ns2,
        rate: BitRate::from_mbps(11),
        routing_overhead: Bytes(if ns2 && i > 0 && !udp { 20 } else { 0 }),
        data_error_to: 0.0,
        data_error_from: 0.0,
        control_error_to: 0.0,
        queue: Queue::Fifo(Fifo::new(Limit::Packets(qlen), false)),
        backoff: stream(seed, "backoff", &format!("sta{i}")),
        errors: stream(seed, "error", &format!("sta{i}")),
    };
    let link = || LinkPlan {
        rate: Some(BitRate::from_mbps(100)),
        delay: Duration::from_millis(delay),
        queue: Queue::Fifo(Fifo::new(Limit::Packets(100000), false)),
    };
    let (mut s, mut r) = Stack::Ns2.resolve(cc::Name::NewReno, mss);
    if arg("cc", "newreno") == "reno" {
        (s, r) = Stack::Ns2.resolve(cc::Name::Reno, mss);
    }
    s.habits.fixed_window = Some(rwnd * mss as u64);
    let mut draws = stream(seed, "start", "all");
    let flows = (1..=n)
        .map(|i| {
            let upw = vec![Hop::Air { medium: 0, from: i, to: 0 }, Hop::Wire(0), Hop::End];
            let dnw = vec![Hop::Wire(1), Hop::Air { medium: 0, from: 0, to: i }, Hop::End];
            let (forward, reverse) = if up { (upw, dnw) } else { (dnw, upw) };
            FlowPlan {
                name: format!("f{i}"),
                direction: if up { Direction::Up } else { Direction::Down },
                forward,
                reverse,
                transport: if udp {
                    Transport::Udp { payload: 1500, size: 1500, interval: Duration::from_micros(1090), jitter: 1.0 }
                } else {
                    Transport::Tcp { sender: Box::new(s.clone()), receiver: r.clone() }
                },
                workload: Workload::Endless,
                start: Time::from_nanos(1_000_000_000 + (draws.uniform() * 1e9) as u64),
                stop: Time::NEVER,
            }
        })
        .collect();
    let plan = Plan {
        seed,
        warm_up: Time::from_nanos(5_000_000_000),
        media: vec![MediumPlan { access, hub: 0, stations: (0..=n).map(st).collect() }],
        links: vec![link(), link()],
        flows,
        sample_every: None,
    };
    let labels = Labels {
        flows: (1..=n).map(|i| (format!("f{i}"), if up { Direction::Up } else { Direction::Down })).collect(),
        stations: vec![(0..=n).map(|i| format!("s{i}")).collect()],
        seed,
        fair_share_base: None,
    };
    let mut w = World::new(plan);
    w.run_until(Time::from_nanos(dur * 1_000_000_000));
    let o = w.outcome(&labels);
    println!(
        "goodput {:.4} jain {:.4} starved {} events {} coll {:.4} drops {} {} to {} qmean {:.1}",
        o.cell.goodput_bps / 1e6,
        o.cell.jain_index,
        (o.cell.starved_fraction * n as f64).round(),
        o.events,
        o.cell.collision_probability,
        o.cell.ap_drops_ack,
        o.cell.ap_drops_data,
        o.cell.timeouts,
        o.cell.ap_queue_mean_packets
    );
    if arg("v", "0") == "1" {
        for f in &o.flows {
            println!("{:?}", f);
        }
        println!("{:?}", o.cell);
    }
}
