//! Properties of every congestion control.

use proptest::prelude::*;
use wifair_units::BitRate;

use super::*;
use crate::cc::testing::{BottleneckPath, ack, time};
use crate::pipe::{Pipe, ends};

/// A call to an algorithm.
#[derive(Clone, Copy, Debug)]
enum AlgorithmCall {
    Ack { step_us: u64, rtt_us: u64, segments: u64, sent: u64, flags: u8 },
    Loss(f64),
    Rto(f64),
    Ecn(f64),
    Send(u64),
    Exit(f64),
    Idle(f64),
    Spurious,
}

fn call() -> impl Strategy<Value = AlgorithmCall> {
    let segments = || prop_oneof![Just(0.0), 0.5..40.0, Just(1e6), Just(f64::INFINITY)];
    prop_oneof![
        12 => (0u64..3_000_000, 0u64..10_000_000, 0u64..60, 0u64..60, any::<u8>()).prop_map(
            |(step_us, rtt_us, segments, sent, flags)| AlgorithmCall::Ack { step_us, rtt_us, segments, sent, flags }
        ),
        1 => (0.0..1e6).prop_map(AlgorithmCall::Loss),
        1 => (0.0..1e6).prop_map(AlgorithmCall::Rto),
        1 => (0.0..1e6).prop_map(AlgorithmCall::Ecn),
        4 => (0u64..3000).prop_map(AlgorithmCall::Send),
        1 => segments().prop_map(AlgorithmCall::Exit),
        1 => segments().prop_map(AlgorithmCall::Idle),
        1 => Just(AlgorithmCall::Spurious),
    ]
}

/// Makes the calls, with counters that only grow, and checks the window after each call.
fn hold(cc: &mut Algorithm, calls: &[AlgorithmCall]) -> Result<(), TestCaseError> {
    let (mut now, mut una, mut nxt, mut min_rtt) = (0.0, 0u64, 1u64, f64::INFINITY);
    for call in calls {
        match *call {
            AlgorithmCall::Ack { step_us, rtt_us, segments, sent, flags } => {
                now += step_us as f64 * 1e-6;
                una = (una + segments).min(nxt);
                nxt += sent;
                let rtt = rtt_us as f64 * 1e-6;
                let sampled = flags & 1 != 0;
                if sampled {
                    min_rtt = rtt.min(min_rtt);
                }
                let base = ack(now, rtt, una, nxt);
                cc.on_ack(&Ack {
                    segments: segments as f64,
                    bytes: segments * 1000,
                    rtt: sampled.then(|| base.rtt.expect("a sample")),
                    one_way_delay: (flags & 2 != 0).then_some(base.srtt),
                    min_rtt: if min_rtt.is_finite() { Duration::from_secs_f64(min_rtt) } else { Duration::MAX },
                    rate: (flags & 4 != 0).then_some(RateSample {
                        rate: rtt_us as f64,
                        prior_delivered: una.saturating_sub(rtt_us % 50) * 1000,
                        app_limited: flags & 8 != 0,
                    }),
                    window_limited: flags & 16 == 0,
                    ecn_echo: flags & 32 != 0,
                    marked_bytes: if flags & 32 != 0 { segments * 1000 } else { 0 },
                    in_recovery: flags & 64 != 0,
                    duplicate: flags & 128 != 0,
                    ..base
                });
            }
            AlgorithmCall::Loss(in_flight) => cc.on_loss(in_flight),
            AlgorithmCall::Rto(in_flight) => cc.on_rto(in_flight),
            AlgorithmCall::Ecn(in_flight) => cc.on_ecn(in_flight),
            AlgorithmCall::Send(payload) => cc.on_send(time(now), payload, nxt * 1000),
            AlgorithmCall::Exit(at_most) => cc.on_recovery_exit(at_most),
            AlgorithmCall::Idle(at_most) => cc.on_idle_restart(at_most),
            AlgorithmCall::Spurious => cc.on_spurious(),
        }
        let cwnd = cc.cwnd();
        prop_assert!(cwnd.is_finite() && cwnd >= 1.0, "cwnd {cwnd} after {call:?}");
        prop_assert!(cc.ssthresh() >= 1.0, "ssthresh {} after {call:?}", cc.ssthresh());
        if let Some(rate) = cc.pacing_rate() {
            prop_assert!(rate.is_finite() && rate > 0.0, "pacing at {rate} after {call:?}");
        }
    }
    Ok(())
}

/// Time between losses of one flow in ns-2.35's Agent/TCP/Linux: 10 Mb/s, 50 ms in each direction, a queue of 100
/// packets of 1040 bytes, the window sampled every 50 ms, mean of the sawteeth after 20 s. Recovery differs by at most
/// two RTTs of 184 ms: Linux lowers the window gradually, while here repair takes no time.
#[test]
fn sawteeth_last_as_long_as_in_ns2() {
    let with = |name: &str| AlgorithmChoice::named(name).expect("it is in the list");
    let filter = westwood_plus::EstimateFilter::Linux;
    let westwood = AlgorithmChoice::WestwoodPlus(westwood_plus::Params { filter, ..Default::default() });
    for (choice, seconds) in [
        (with("linux"), 15.525),
        (westwood, 14.625),
        (with("veno"), 29.625),
        (with("illinois"), 26.86),
        (with("yeah"), 19.30),
    ] {
        let mut cc = Algorithm::new(&choice, Start { ssthresh: 150.0, ..Start::with_window(2.0) });
        let mut pipe = BottleneckPath::new(10e6 / 8.0 / 1040.0, 0.100_032, 100.0);
        pipe.run(&mut cc, 20.0, |_, _| ());
        let (mut first, mut last, before) = (None, 0.0, pipe.losses);
        let mut count = before;
        pipe.run(&mut cc, 150.0, |pipe, _| {
            if pipe.losses > count {
                (count, last) = (pipe.losses, pipe.now);
                first.get_or_insert(pipe.now);
            }
        });
        let mean = (last - first.expect("losses")) / (count - before - 1) as f64;
        assert!((mean - seconds).abs() <= 2.0 * 0.184 + 0.05, "{choice}: {mean} s, {seconds} s in ns-2");
    }
}

/// RFC 3168, section 6.1.2: the response to a mark is the response to a loss. Exceptions: CUBIC keeps 0.85 (RFC 9438,
/// section 4.6), DCTCP and Prague use the fraction of marks (RFC 8257), Tahoe halves, and algorithms with a rate model
/// ignore marks.
#[test]
fn a_mark_is_answered_as_a_loss() {
    const OWN: [&str; 8] = ["cubic", "dctcp", "prague", "tahoe", "bbr", "bbr3", "tsunami", "python"];
    let mut wrong = Vec::new();
    for name in AlgorithmChoice::NAMES.into_iter().filter(|name| !OWN.contains(name)) {
        let start = Start { ssthresh: 2.0, ..Start::with_window(40.0) };
        let [marked, lost] = [true, false].map(|is_mark| {
            let mut cc = Algorithm::new(&AlgorithmChoice::named(name).expect("it is in the list"), start);
            for i in 1..=20 {
                cc.on_ack(&ack(0.1 + 0.001 * i as f64, 0.1, i, 40));
            }
            if is_mark {
                cc.on_ecn(40.0)
            } else {
                cc.on_loss(40.0)
            }
            (cc.cwnd(), cc.ssthresh())
        });
        if marked != lost {
            wrong.push((name, marked, lost));
        }
    }
    assert_eq!(wrong, []);
}

/// A transfer of 400 segments with losses at its start and in its middle, and a run of losses, under each stack.
#[test]
fn every_algorithm_completes_a_transfer() {
    for name in AlgorithmChoice::NAMES.into_iter().filter(|name| *name != "python") {
        for stack in ["ns2", "rfc", "modern"] {
            let both = ends(&format!("stack = '{stack}'\ncc = '{name}'\nmss = '1000 B'"));
            let losses = [5, 40, 42, 120, 121, 122, 123, 124, 300];
            let mut path = Pipe::new(both, BitRate::from_mbps(10), Duration::from_millis(20)).with_losses(&losses);
            path.sender.open(Time::ZERO);
            path.sender.supply(400_000);
            path.run(time(120.0));
            assert_eq!(path.receiver.delivered(), 400_000, "{name} with {stack}");
        }
    }
}

/// What a sender has to provide: an RTT sample from each ACK to controls that decide by delay or bandwidth, delivery
/// rates to BBR, the end of each segment to Vegas-Fair, every mark to DCTCP (RFC 8257, section 3.2), the finer timer to
/// Vegas (Brakmo and Peterson 1995). Controls that set a rate also rule recovery, and they alone pace.
#[test]
fn controls_say_what_they_need() {
    let which = |needs: fn(&Algorithm) -> bool| {
        let of = |name: &&str| {
            let choice = AlgorithmChoice::named(name).expect("it is in the list");
            let mut cc = Algorithm::new(&choice, Start { ssthresh: 8.0, ..Start::with_window(10.0) });
            cc.on_ack(&ack(0.1, 0.1, 1, 11));
            cc.on_loss(10.0);
            needs(&cc)
        };
        AlgorithmChoice::NAMES.into_iter().filter(of).collect::<Vec<_>>()
    };
    let by_loss = [
        "newreno",
        "reno",
        "tahoe",
        "linux",
        "highspeed",
        "bic",
        "cubic",
        "scalable",
        "dctcp",
        "udt",
        "tsunami",
        "ack-loss",
        "python",
    ];
    assert_eq!(which(|cc| !cc.wants_every_rtt()), by_loss);
    assert_eq!(which(Algorithm::wants_rate_samples), ["bbr", "bbr3"]);
    assert_eq!(which(Algorithm::wants_sends), ["vegas-fair"]);
    assert_eq!(which(Algorithm::wants_mark_per_packet), ["dctcp", "prague"]);
    assert_eq!(which(Algorithm::wants_fine_timer), ["vegas", "vegas-fair", "vegas-adaptive"]);
    assert_eq!(which(Algorithm::rules_recovery), ["prague", "bbr", "bbr3", "udt", "tsunami"]);
    assert_eq!(which(|cc| cc.pacing_rate().is_some()), ["prague", "bbr", "bbr3", "udt", "tsunami"]);
    let hystart =
        AlgorithmChoice::Cubic(cubic::Params { hystart: hystart::HyStartVariant::Classic, ..Default::default() });
    assert!(Algorithm::new(&hystart, Start::with_window(10.0)).wants_every_rtt());
}

/// The window is limited to the sender's value at the end of recovery (RFC 6582) and after a pause (RFC 5681, section
/// 4.1), and is restored with its threshold if a loss was spurious (RFC 4015). BBR and Tsunami have a model instead;
/// UDT keeps its rate; Prague's least window is two segments; Vegas-Fair treats a pause as a timeout, like ns-2's
/// Vegas.
#[test]
fn windows_are_limited_and_restored() {
    for name in AlgorithmChoice::NAMES
        .into_iter()
        .filter(|name| !["bbr", "bbr3", "prague", "tsunami", "udt", "vegas-fair"].contains(name))
    {
        let choice = AlgorithmChoice::named(name).expect("it is in the list");
        let start = || Algorithm::new(&choice, Start { ssthresh: 60.0, ..Start::with_window(40.0) });
        for limit in [CongestionControl::on_recovery_exit, CongestionControl::on_idle_restart] {
            let mut cc = start();
            limit(&mut cc, 50.0);
            assert_eq!(cc.cwnd(), 40.0, "{name}");
            limit(&mut cc, 7.0);
            assert_eq!(cc.cwnd(), 7.0, "{name}");
            limit(&mut cc, 0.0);
            assert_eq!(cc.cwnd(), 1.0, "{name}");
        }
        for reduce in [CongestionControl::on_loss, CongestionControl::on_rto] {
            let mut cc = start();
            reduce(&mut cc, 40.0);
            // Adaptive Reno keeps the window where it has seen no congestion.
            assert!(cc.cwnd() <= 40.0 && cc.ssthresh() < 60.0, "{name}");
            cc.on_spurious();
            assert_eq!((cc.cwnd(), cc.ssthresh()), (40.0, 60.0), "{name}");
        }
    }
}

proptest! {
    #[test]
    fn the_window_is_finite_and_at_least_one_segment_after_any_calls(
        calls in proptest::collection::vec(call(), 0..200),
        window in 1.0..100.0,
    ) {
        for name in AlgorithmChoice::NAMES {
            let choice = AlgorithmChoice::named(name).expect("it is in the list");
            let mut cc = Algorithm::new(&choice, Start::with_window(window));
            hold(&mut cc, &calls).map_err(|error| TestCaseError::fail(format!("{name}: {error}")))?;
        }
    }
}
