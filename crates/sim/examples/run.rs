//! Runs a scenario file and prints the result: a small program without Python, for profilers.
//!
//! `cargo run --profile bench -p wifair-sim --example run -- benches/scenarios/uploads.toml stations.count=50`

#![allow(clippy::print_stdout)]

use std::process::ExitCode;

use wifair_config::{Override, Source};
use wifair_sim::{Run, RunOptions, scenario::Scenario};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(path) = arguments.next() else {
        println!("usage: run FILE [PATH=VALUE ...]");
        return ExitCode::from(2);
    };
    let overrides: Vec<Override> = arguments.map(|text| Override::set(&text)).collect();
    let Ok(text) = std::fs::read_to_string(&path) else {
        println!("error: cannot read {path}");
        return ExitCode::from(2);
    };
    let scenario = match Scenario::parse_with(Source::file(&path, &text), &overrides, &mut |_| Err("no traces".into()))
    {
        Ok(scenario) => scenario,
        Err(problems) => {
            println!("{problems}");
            return ExitCode::from(2);
        }
    };
    let mut run = Run::new(&scenario, 1, &RunOptions::default());
    run.advance(run.end());
    let outcome = run.outcome();
    let frames: u64 = outcome.stations.iter().map(|station| station.attempts).sum();
    let received: u64 = outcome.flows.iter().map(|flow| flow.received_bytes).sum();
    println!(
        "goodput_bps {:.0} jain {:.4} measured_s {} events {} frames {frames} received {received}",
        outcome.cell.goodput_bps, outcome.cell.jain_index, outcome.measured_s, outcome.events
    );
    ExitCode::SUCCESS
}
