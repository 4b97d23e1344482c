//! Records of frames on the air.

use wifair_sim::scenario::Scenario;
use wifair_sim::world::WatchPlan;
use wifair_sim::{Run, RunOptions};
use wifair_units::{Duration, Time};

/// Two stations send all data after RTS, in TXOPs that are released by a CF-End; the channel is one where all hear all
/// by definition, or by the links of `[space]`.
const SCENARIO: &str = "
    duration = '50 ms'
    warm_up = '1 ms'
    [wlan]
    standard = '802.11n'
    rts_threshold = '0 B'
    control_error = 0.2
    cf_end = true
    edca.be.txop = '1984 us'
    aggregation.max_ampdu = '8 kB'
    [[servers]]
    name = 'server'
    [[stations]]
    name = 'sta'
    count = 2
    [[flows]]
    name = 'up'
    station = 'sta'
    transport = 'udp'
    udp.rate = '30 Mb/s'
";

/// The frames of a run that ends at `end`: what they are, when they end, and what became of them.
fn frames(scenario: &str, end: Duration) -> Vec<(Time, String)> {
    let text = scenario.replace("50 ms", &end.to_string());
    let scenario = Scenario::parse(&text, "frames.toml", &[]).unwrap_or_else(|problems| panic!("{problems}"));
    let mut run = Run::new(&scenario, 1, &RunOptions::default());
    run.world().watch(WatchPlan { air: true, ..WatchPlan::default() });
    run.advance(run.end());
    run.advance(run.end());
    let (tap, stamps) = run.world().aired().next().expect("a channel");
    assert_eq!(tap.frames().len(), stamps.len());
    let line = |frame: &wifair_mac::FrameRecord| format!("{:?} {} {:?}", frame.kind, frame.from, frame.fate);
    let mut frames: Vec<_> = tap.frames().iter().map(|frame| (frame.end, line(frame))).collect();
    frames.sort();
    frames
}

/// All frames that have ended are recorded, also those of an exchange that the end of the run interrupts: a shorter run
/// has the frames that a longer one has recorded until then.
#[test]
fn what_has_ended_is_recorded_whenever_the_run_ends() {
    for space in ["", "[space]\n[ap]\nposition = ['0 m', '0 m']\n"] {
        let scenario = match space {
            "" => SCENARIO.to_owned(),
            _ => SCENARIO.replace("name = 'sta'", "name = 'sta'\nposition = ['1 m', '0 m']") + space,
        };
        let all = frames(&scenario, Duration::from_millis(50));
        let mut kinds: Vec<&str> = all.iter().filter_map(|(_, line)| line.split(' ').next()).collect();
        kinds.sort_unstable();
        kinds.dedup();
        assert_eq!(kinds.join(" "), "Ack BlockAck CfEnd Cts Data Rts");
        for end in (0..300).map(|step| Duration::from_micros(20_000 + 37 * step)) {
            let ended: Vec<_> = all.iter().filter(|(at, _)| *at <= Time::ZERO + end).cloned().collect();
            let recorded = frames(&scenario, end);
            assert_eq!(recorded.last(), ended.last(), "{end}, {space:?}");
            assert!(recorded == ended, "{end}, {space:?}");
        }
    }
}
