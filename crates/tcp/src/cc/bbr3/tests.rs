//! Model, states and bounds of BBR version 3, by hand and over a pipe.

use approx::assert_relative_eq;

use super::*;
use crate::cc::testing::{BottleneckPath, MSS, ack, time};
use crate::cc::{RateSample, bbr};

fn start() -> Start {
    Start::with_window(10.0)
}

/// An ACK at `now` seconds with a rate sample of `rate` segments a second; `delivered` segments in total, `prior` of
/// them when the sampled segment was sent.
fn sampled(now: f64, rate: f64, delivered: u64, prior: u64, app_limited: bool) -> Ack {
    let sample = RateSample { rate: rate * MSS as f64, prior_delivered: prior * MSS, app_limited };
    Ack { rate: Some(sample), ..ack(now, 0.1, delivered, delivered + 10) }
}

/// A pipe of 1000 segments a second and 100 ms whose Startup is over: a bandwidth-delay product of 100 segments.
fn cruising() -> Bbr3 {
    let mut cc = new(&Params::default(), start());
    (cc.state, cc.full) = (Bbr3State::Cruise, true);
    cc.rates = [1e6, 1e6];
    (cc.min_rtt, cc.probe_rtt_min) = (0.1, 0.1);
    cc.cwnd = 200.0;
    cc
}

/// Section 5.5.5: an application-limited sample counts only if it is not below the model's rate. Section 5.5.1: a round
/// ends with the ACK of a segment sent after it began.
#[test]
fn samples_of_a_limited_application_only_raise_the_rate() {
    let mut cc = new(&Params::default(), start());
    assert!(cc.update_model(&sampled(1.0, 100.0, 10, 0, false), 1.0));
    assert_eq!(cc.rate(), 1e5);
    cc.rates[1] = 0.0;
    cc.rates[0] = 1e5;
    cc.update_model(&sampled(1.0, 90.0, 11, 1, true), 1.0);
    assert_eq!(cc.rates[1], 0.0);
    cc.update_model(&sampled(1.0, 110.0, 12, 2, true), 1.0);
    assert_eq!(cc.rates[1], 1.1e5);
    cc.rounds.deliver(&sampled(1.0, 1.0, 12, 2, true));
    cc.rounds.begin();
    assert!(!cc.update_model(&sampled(1.1, 1.0, 13, 11, true), 1.0));
    assert!(cc.update_model(&sampled(1.1, 1.0, 22, 12, true), 1.0));
    assert_eq!(cc.latest, (1.1e5, 10.0));
}

/// Section 5.6.2: ten segments of 1000 bytes in the first RTT of 100 ms, times 2.77, even if the first ACK has a rate
/// sample (100 segments a second, whose 2.77 * 0.99-fold is less).
#[test]
fn the_first_pacing_rate_follows_from_the_first_round_trip_time() {
    let mut cc = new(&Params::default(), start());
    cc.on_ack(&sampled(0.1, 100.0, 1, 0, false));
    assert_relative_eq!(cc.pacing, 2.77 * 10.0 * 1000.0 / 0.1);
    cc.on_ack(&Ack { srtt: Duration::from_millis(200), ..sampled(0.1, 200.0, 11, 1, false) });
    assert_relative_eq!(cc.pacing, 2.77 * 0.99 * 200.0 * 1000.0);
}

/// Section 5.5.6: the bandwidth is the maximum of this probing cycle and the last; the filter advances a round after a
/// probe has ended, and not while samples are application-limited.
#[test]
fn the_rate_is_the_largest_of_two_cycles() {
    let end_of_cycle = |cc: &mut Bbr3, rate: f64, app_limited: bool| {
        let sample = sampled(1.0, rate, 10, 0, app_limited);
        cc.update_model(&sample, 1.0);
        cc.start_down(&sample);
        cc.adapt_long_term_bound(&sample, false, 1.0);
        let before = cc.rate();
        cc.adapt_long_term_bound(&sample, true, 1.0);
        cc.adapt_long_term_bound(&sample, true, 1.0);
        (before, cc.rate())
    };
    let mut cc = cruising();
    cc.rates = [1e6, 0.8e6];
    assert_eq!(end_of_cycle(&mut cc, 500.0, false), (1e6, 0.8e6));
    for _ in 0..3 {
        assert_eq!(end_of_cycle(&mut cc, 100.0, true), (0.8e6, 0.8e6));
    }
    assert_eq!(end_of_cycle(&mut cc, 600.0, false), (0.8e6, 0.6e6));
    assert_eq!(cc.rates, [0.6e6, 0.0]);
}

/// Section 5.3.3.6: more than 2 % lost while probing sets the bound to what was not lost, here 300 - 10, and ends the
/// probe.
#[test]
fn losses_of_a_probe_set_the_long_term_bound() {
    let mut cc = cruising();
    (cc.state, cc.probing, cc.flight, cc.lost) = (Bbr3State::Up, true, 300.0, 10.0);
    cc.adapt_long_term_bound(&ack(1.0, 0.1, 1, 200), false, 1.0);
    assert_eq!((cc.long_flight, cc.state, cc.probing), (290.0, Bbr3State::Down, false));
    // Not below 0.7 of the window or of the bandwidth-delay product: 0.7 * 100.
    let mut cc = cruising();
    (cc.state, cc.probing, cc.flight, cc.lost) = (Bbr3State::Refill, true, 300.0, 250.0);
    cc.adapt_long_term_bound(&ack(1.0, 0.1, 1, 200), false, 1.0);
    assert_eq!((cc.long_flight, cc.state), (70.0, Bbr3State::Refill));
}

/// Section 5.3.3.6, raising the bound: one segment in the first round, two in the second, four in the third.
#[test]
fn the_long_term_bound_is_raised_faster_each_round() {
    let mut cc = cruising();
    (cc.state, cc.long_flight) = (Bbr3State::Up, 200.0);
    let mut bounds = Vec::new();
    for _ in 0..3 {
        // Slightly more ACKs than a window, since the window grows meanwhile.
        for i in 1..=210 {
            cc.adapt_long_term_bound(&ack(1.0, 0.1, 1, 200), i == 210, 1.0);
            cc.cwnd = cc.long_flight;
        }
        bounds.push(cc.long_flight);
    }
    assert_eq!(bounds, [201.0, 203.0, 207.0]);
    // The bound is not raised if anything but the window limits what is sent.
    let idle = Ack { window_limited: false, ..ack(1.0, 0.1, 1, 200) };
    cc.adapt_long_term_bound(&idle, true, 200.0);
    assert_eq!(cc.long_flight, 207.0);
}

/// Sections 5.3.3.1 to 5.3.3.4: Down until no more is in flight than the path holds, with headroom below the long-term
/// bound; Cruise for a certain time or 63 rounds; Refill for a round; Up until the rate stops growing for three rounds,
/// provided that the window leaves room to grow.
#[test]
fn the_cycle_of_probing_by_hand() {
    let flight = |now: f64, n: u64, window_limited: bool| Ack { window_limited, ..ack(now, 0.1, 1, 1 + n) };
    let mut cc = cruising();
    (cc.state, cc.wait, cc.cycle_stamp) = (Bbr3State::Down, Duration::from_secs(2), time(1.0));
    cc.advance_cycle(&flight(1.1, 101, true), true, 1.0);
    assert_eq!(cc.state, Bbr3State::Down);
    cc.advance_cycle(&flight(1.1, 100, true), true, 1.0);
    assert_eq!(cc.state, Bbr3State::Cruise);
    // 85 % of 80.
    (cc.state, cc.long_flight) = (Bbr3State::Down, 80.0);
    cc.advance_cycle(&flight(1.1, 69, true), true, 1.0);
    assert_eq!(cc.state, Bbr3State::Down);
    cc.advance_cycle(&flight(1.1, 68, true), true, 1.0);
    assert_eq!(cc.state, Bbr3State::Cruise);
    (cc.short_rate, cc.short_flight, cc.up_rounds, cc.up_acked) = (9e5, 150.0, 3, 9.0);
    cc.advance_cycle(&flight(3.0, 100, true), true, 1.0);
    assert_eq!(cc.state, Bbr3State::Cruise);
    cc.advance_cycle(&flight(3.001, 100, true), true, 1.0);
    assert_eq!((cc.state, cc.up_rounds, cc.up_acked), (Bbr3State::Refill, 0, 0.0));
    assert!(cc.short_rate.is_infinite() && cc.short_flight.is_infinite());
    cc.advance_cycle(&flight(3.1, 100, true), false, 1.0);
    assert_eq!(cc.state, Bbr3State::Refill);
    cc.advance_cycle(&flight(3.1, 100, true), true, 1.0);
    assert_eq!((cc.state, cc.probing), (Bbr3State::Up, true));
    // The bound limits the window, so the constant rate says nothing.
    cc.long_flight = 200.0;
    for _ in 0..5 {
        cc.cwnd = cc.long_flight;
        cc.advance_cycle(&flight(3.2, 150, true), true, 1.0);
    }
    assert_eq!(cc.state, Bbr3State::Up);
    for (round, state) in [(1, Bbr3State::Up), (2, Bbr3State::Up), (3, Bbr3State::Down)] {
        cc.advance_cycle(&flight(3.3, 150, false), false, 1.0);
        cc.advance_cycle(&flight(3.3, 150, false), true, 1.0);
        assert_eq!(cc.state, state, "round {round}");
    }
    assert_eq!(cc.cycle_stamp, time(3.3));
    assert!((2000..3000).contains(&(cc.wait.as_nanos() / 1_000_000)), "{:?}", cc.wait);
}

/// Section 5.3.4: half a bandwidth-delay product in flight for at least 200 ms and a round, then the previous window.
#[test]
fn the_round_trip_time_is_probed_with_half_the_pipe() {
    let mut cc = cruising();
    (cc.probe_rtt_stamp, cc.state) = (time(1.0), Bbr3State::Cruise);
    cc.update_min_rtt(&ack(5.9, 0.11, 1, 101), true);
    assert_eq!(cc.state, Bbr3State::Cruise);
    cc.update_min_rtt(&ack(6.1, 0.11, 2, 102), true);
    assert_eq!((cc.state, cc.probe_rtt_done), (Bbr3State::ProbeRtt, None));
    cc.set_cwnd(&ack(6.1, 0.11, 3, 103), 1.0);
    assert_eq!(cc.cwnd, 50.0);
    cc.update_min_rtt(&ack(6.2, 0.1, 10, 60), true);
    assert_eq!(cc.probe_rtt_done, Some(time(6.4)));
    cc.update_min_rtt(&ack(6.3, 0.1, 11, 60), true);
    cc.update_min_rtt(&ack(6.5, 0.1, 12, 60), false);
    assert_eq!(cc.state, Bbr3State::ProbeRtt);
    cc.update_min_rtt(&ack(6.5, 0.1, 12, 60), true);
    assert_eq!((cc.state, cc.cwnd), (Bbr3State::Cruise, 200.0));
}

/// Section 5.4.1: after an idle period while probing for bandwidth it paces at the model's rate, less the margin; the
/// next ACK with data in flight ends the idle period.
#[test]
fn after_a_pause_it_paces_at_the_rate_of_the_model() {
    let mut cc = cruising();
    cc.pacing = 1.0;
    cc.on_idle_restart(1.0);
    assert_eq!((cc.pacing, cc.idle_restart), (0.99e6, true));
    cc.update_min_rtt(&ack(60.0, 0.1, 1, 11), true);
    assert_eq!((cc.state, cc.idle_restart), (Bbr3State::Cruise, false));
    (cc.state, cc.pacing) = (Bbr3State::Startup, 1.0);
    cc.on_idle_restart(1.0);
    assert_eq!(cc.pacing, 1.0);
}

/// The model's parameters are those of the pipe: 1000 segments of 1000 bytes a second, and 100 ms plus a segment's own
/// 1 ms. A rate sample counts whole segments over a round trip of at least 100, hence 1 %.
#[test]
fn the_model_finds_the_rate_and_the_smallest_round_trip_time() {
    let mut cc = new(&Params::default(), start());
    let mut pipe = BottleneckPath::new(1000.0, 0.1, 1e9);
    pipe.run(&mut cc, 60.0, |pipe, cc| {
        if pipe.now > 2.0 {
            assert_relative_eq!(cc.rate(), 1000.0 * MSS as f64, max_relative = 0.01);
        }
    });
    assert_relative_eq!(cc.min_rtt, 0.101, max_relative = 0.01);
}

/// ProbeRTT comes every 5 s. It takes 0.2 s and a few rounds and restarts the wait of 2 to 3 s for the next bandwidth
/// probe, so one or two bandwidth probes come in between.
#[test]
fn it_probes_as_often_as_the_draft_says() {
    let mut cc = new(&Params::default(), start());
    let mut pipe = BottleneckPath::new(1000.0, 0.1, 1e9);
    let (mut last, mut ups, mut probes) = (Bbr3State::Startup, 0, 0);
    pipe.run(&mut cc, 60.0, |_, cc| {
        ups += u32::from(cc.state == Bbr3State::Up && last != Bbr3State::Up);
        probes += u32::from(cc.state == Bbr3State::ProbeRtt && last != Bbr3State::ProbeRtt);
        last = cc.state;
    });
    assert!((probes..=2 * probes + 2).contains(&ups), "{ups} probes of the bandwidth");
    assert!((10..=12).contains(&probes), "{probes} probes of the round-trip time");
}

/// Losses below 2 % are tolerated: one in 200 leaves the pipe of 1000 segments a second nearly full. One in 20 sets a
/// long-term bound, and less is delivered.
#[test]
fn losses_up_to_the_threshold_are_tolerated() {
    let run = |one_in| {
        let mut cc = new(&Params::default(), start());
        let mut pipe = BottleneckPath::new(1000.0, 0.1, 1e9).losing_every(one_in);
        pipe.run(&mut cc, 40.0, |_, _| ());
        (pipe.acked as f64 / 40_000.0, cc.long_flight)
    };
    let ((few, bound), (many, tight)) = (run(200), run(20));
    assert!(few > 0.85 && bound.is_infinite(), "{few} of the rate, bound {bound}");
    assert!(many < few && tight.is_finite(), "{many} of the rate, bound {tight}");
}

/// The aim of version 3: with a queue of a tenth of the bandwidth-delay product it has fewer losses than version 1,
/// which ignores losses when it probes.
#[test]
fn a_short_queue_overflows_less_than_under_version_1() {
    let mut old = bbr::new(&bbr::Params::default(), start());
    let mut pipe = BottleneckPath::new(1000.0, 0.1, 10.0);
    pipe.run(&mut old, 60.0, |_, _| ());
    let before = pipe.losses;
    let mut new = new(&Params::default(), start());
    let mut pipe = BottleneckPath::new(1000.0, 0.1, 10.0);
    pipe.run(&mut new, 60.0, |_, _| ());
    assert!(pipe.losses < before, "{} losses, {before} under version 1", pipe.losses);
    assert!(pipe.acked as f64 > 0.8 * 60_000.0, "{} segments", pipe.acked);
}

/// Section 5.3.4.3: ProbeRTT's own minimum RTT expires after 5 s. It replaces the model's minimum RTT if it is smaller,
/// or if the model's is more than 10 s old.
#[test]
fn the_minimum_rtt_has_two_windows() {
    let mut cc = cruising();
    (cc.probe_rtt_stamp, cc.min_rtt_stamp) = (time(1.0), time(1.0));
    let millis = |seconds: f64| (seconds * 1e3).round() as u64;
    let mut at = |now: f64, rtt: Option<u64>| {
        cc.update_min_rtt(&Ack { rtt: rtt.map(Duration::from_millis), ..ack(now, 0.1, 1, 101) }, false);
        let found = (
            millis(cc.probe_rtt_min),
            cc.probe_rtt_stamp,
            millis(cc.min_rtt),
            cc.min_rtt_stamp,
            cc.state == Bbr3State::ProbeRtt,
        );
        cc.state = Bbr3State::Cruise;
        found
    };
    assert_eq!(at(2.0, Some(90)), (90, time(2.0), 90, time(2.0), false));
    assert_eq!(at(3.0, Some(95)), (90, time(2.0), 90, time(2.0), false));
    assert_eq!(at(7.0, Some(120)), (90, time(2.0), 90, time(2.0), false));
    assert_eq!(at(7.5, Some(120)), (120, time(7.5), 90, time(2.0), true));
    assert_eq!(at(12.0, Some(130)), (120, time(7.5), 90, time(2.0), false));
    assert_eq!(at(12.1, Some(130)), (120, time(7.5), 120, time(7.5), false));
    assert_eq!(at(12.6, None), (120, time(7.5), 120, time(7.5), true));
    assert_eq!(at(12.7, Some(0)), (120, time(7.5), 120, time(7.5), true));
    // Before any sample the RTT of the handshake is used; without a handshake nothing is probed.
    let mut young = new(&Params::default(), start());
    young.update_min_rtt(&Ack { rtt: None, min_rtt: Duration::MAX, ..ack(9.0, 0.1, 1, 11) }, false);
    assert_eq!((young.state, young.min_rtt), (Bbr3State::Startup, f64::INFINITY));
    young.update_min_rtt(&Ack { min_rtt: Duration::from_millis(20), ..ack(9.0, 0.05, 1, 11) }, false);
    assert_eq!((young.min_rtt, young.probe_rtt_min), (0.02, 0.02));
    assert_eq!((young.min_rtt_stamp, young.probe_rtt_stamp), (time(9.0), time(9.0)));
}

/// By the rules above: half of a round marked gives alpha = 1 + (1/2 - 1) / 16 = 0.96875; the flight of 40 is then
/// bounded to 40 (1 - 0.96875 / 3) at the end of the next marked round. Two rounds of half marks are too many.
#[test]
fn marks_by_hand() {
    let params = Params { ecn: true, ..Params::default() };
    let mut cc = new(&params, Start::with_window(40.0));
    (cc.state, cc.cwnd) = (Bbr3State::Cruise, 40.0);
    (cc.marks.marked, cc.marks.delivered) = (8.0, 16.0);
    assert!(cc.loses_too_much());
    cc.begin_next_round();
    assert_relative_eq!(cc.marks.alpha, 0.968_75);
    cc.marks.marked = 1.0;
    cc.bound_after_losses();
    assert_relative_eq!(cc.short_flight, 40.0 * (1.0 - 0.968_75 / 3.0), max_relative = 1e-12);
    assert!(!cc.short_rate.is_finite());
    // Without `ecn` marks are not counted.
    let mut deaf = new(&Params::default(), Start::with_window(40.0));
    deaf.on_ack(&Ack { ecn_echo: true, marked_bytes: 1000, ..ack(0.1, 0.1, 1, 40) });
    assert_eq!((deaf.marks.marked, deaf.marks.delivered), (0.0, 0.0));
}

/// A step at 20 segments behind a pipe of 100: with ECN the queue stays near it after Startup, without it fills
/// another bandwidth-delay product while probing.
#[test]
fn a_step_keeps_the_queue_short() {
    let mean = |ecn: bool| {
        let mut cc = new(&Params { ecn, ..Params::default() }, Start::with_window(10.0));
        let mut pipe = BottleneckPath::new(1000.0, 0.1, 1e9);
        pipe.mark_at = 20.0;
        pipe.run(&mut cc, 20.0, |_, _| ());
        let (mut sum, mut count) = (0.0, 0.0);
        pipe.run(&mut cc, 60.0, |pipe, _| {
            sum += pipe.queue();
            count += 1.0;
        });
        sum / count
    };
    let (with, without) = (mean(true), mean(false));
    assert!(with < 20.0 && with < without, "{with} and {without}");
}
