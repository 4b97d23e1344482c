//! Agents, held to a closed form, to determinism, and to what always holds.

use std::time::Duration;

use wifair_agents::{AgentCell, AgentCells, CellPlan};

fn plan(stations: usize, window_limited: bool) -> CellPlan {
    let scenario = format!(
        "duration = \"10 s\"\nwlan.standard = \"802.11g\"\nap.queue.limit = \"{} packets\"\n\
         [[stations]]\nname = \"sta\"\ncount = {stations}\nqueue.limit = \"1000 packets\"\n\
         [[servers]]\nname = \"server\"\nrate = \"1 Gb/s\"\ndelay = \"50 ms\"\n",
        if window_limited { 1000 } else { 20 },
    );
    let name = |number: usize| if stations == 1 { "sta".to_owned() } else { format!("sta{number}") };
    let agents = (1..=stations).map(|number| ("server".to_owned(), name(number))).collect();
    CellPlan { scenario, agents, step: Duration::from_millis(500), begin: Duration::from_secs(1) }
}

/// A window of 10 datagrams of 1472 bytes: ten each round trip, which has 100 ms of wire and below 5 ms of air.
#[test]
fn a_window_limits_the_goodput() {
    let mut cell = AgentCell::new(&plan(1, true), 1).expect("a network");
    cell.step(&[10.0]).expect("there is time");
    let seen = cell.step(&[10.0]).expect("there is time")[0];
    assert!(seen.rtt_min_s > 0.1 && seen.rtt_mean_s < 0.105, "{seen:?}");
    let expected = 10.0 * 8.0 * 1472.0 / seen.rtt_mean_s;
    // A step of 500 ms has 4 or 5 rounds of ten.
    assert!((seen.goodput_bps / expected - 1.0).abs() < 0.21, "{seen:?} {expected}");
    assert_eq!((seen.loss, seen.in_flight, seen.window), (0.0, 10.0, 10.0));
}

/// A window of 1000 fills the channel: more goodput no longer, but longer round trips. A queue of 20 packets loses.
#[test]
fn a_large_window_fills_the_queue_or_loses() {
    let step = |limited, window| {
        let mut cell = AgentCell::new(&plan(1, limited), 1).expect("a network");
        cell.step(&[window]).expect("there is time");
        cell.step(&[window]).expect("there is time")[0]
    };
    let (fits, full, lossy) = (step(true, 300.0), step(true, 900.0), step(false, 900.0));
    assert!(full.goodput_bps < 1.1 * fits.goodput_bps, "{fits:?} {full:?}");
    assert!(full.rtt_mean_s > 2.0 * fits.rtt_mean_s, "{fits:?} {full:?}");
    assert!(full.loss == 0.0 && lossy.loss > 0.05, "{full:?} {lossy:?}");
}

#[test]
fn threads_change_nothing_and_seeds_do() {
    let run = |threads| {
        let mut cells = AgentCells::new(plan(3, true), &[1, 2, 3, 1]).expect("networks");
        let mut seen = Vec::new();
        for step in 0..6 {
            let windows: Vec<f64> = (0..12).map(|agent| f64::from(10 + 5 * ((step + agent % 3) % 4))).collect();
            seen.push(cells.step(&windows, threads).expect("there is time"));
        }
        seen
    };
    let (one, four) = (run(1), run(4));
    assert_eq!(one, four);
    let last = &one[5];
    assert_eq!(last[0], last[3]);
    assert_ne!(last[0], last[1]);
}

#[test]
fn networks_end_and_begin_anew() {
    let mut cells = AgentCells::new(plan(1, true), &[1, 2]).expect("networks");
    let mut steps = 0;
    while cells.have_time().all(|has| has) {
        cells.step(&[10.0, 10.0], 2).expect("there is time");
        steps += 1;
    }
    assert_eq!(steps, 18); // of 500 ms, from 1 s to 10 s
    assert_eq!(cells.step(&[10.0, 10.0], 2).expect("nothing happens"), [vec![], vec![]]);
    cells.reset(1, 2).expect("a network");
    assert_eq!(cells.have_time().collect::<Vec<_>>(), [false, true]);
    let mut wrong = plan(1, true);
    wrong.agents[0].1 = "nobody".to_owned();
    let error = AgentCells::new(wrong, &[1]).unwrap_err().to_string();
    assert_eq!(error, "error: no station or server `nobody`");
}
