use wifair_engine::{Stream, stream};

use super::modes::Modes;
use super::samples::SampleLists;
use super::*;
use crate::{Amendment, ModeRequest};

/// HT MCS 0 to 15 at 20 MHz: two groups of eight.
fn list() -> Vec<TxMode> {
    let mode = |mcs| Amendment::N.mode(&ModeRequest { mcs: Some(mcs), ..ModeRequest::default() }).unwrap().1;
    (0..16).map(mode).collect()
}

/// After an evaluation in which 100 MPDUs were sent in each of these modes, with so many acknowledged.
fn evaluated(results: &[(usize, u32)]) -> Modes {
    let mut modes = Modes::new(&list(), 16);
    for (mode, acknowledged) in results {
        modes.note(*mode, 100, *acknowledged);
    }
    modes.evaluate();
    modes
}

/// Linux: 16 packets of 1200 bytes in symbols of 4 us, over 16. By hand: MCS 7 has 260 bits per symbol, 591 symbols.
#[test]
fn air_times_are_those_of_packets_in_an_aggregate() {
    let modes = Modes::new(&list(), 16);
    let times = [0, 1, 3, 7, 14, 15].map(|mode| modes.time(mode).as_nanos());
    assert_eq!(times, [1_477_000, 738_500, 369_250, 147_750, 82_250, 74_000]);
}

/// By hand from Linux's weights for a period of 16 (5273 and -2350 of 4096): a mode that always succeeded fails from
/// now on. The second value is (1173 * 1 + 5273 * 4096 - 2350 * 4096) / 4096.
#[test]
fn the_filter_follows_a_step_without_ringing_below_zero() {
    let mut modes = evaluated(&[(3, 100)]);
    let after = |modes: &mut Modes| {
        modes.note(3, 100, 0);
        modes.evaluate();
        modes.probability(3)
    };
    let values: Vec<u64> =
        std::iter::once(modes.probability(3)).chain((0..4).map(|_| after(&mut modes)).collect::<Vec<_>>()).collect();
    assert_eq!(values, [4096, 2923, 1413, 142, 1]);
}

/// A mode that was never tried counts as good as the best of the faster modes of its group.
#[test]
fn slower_modes_inherit_the_success_rate() {
    let modes = evaluated(&[(5, 75), (6, 25), (14, 50)]);
    let known: Vec<u64> = (0..16).map(|mode| modes.probability(mode) * 100 / 4096).collect();
    assert_eq!(known, [75, 75, 75, 75, 75, 75, 25, 0, 50, 50, 50, 50, 50, 50, 50, 0]);
}

/// Throughputs by hand, with single MPDUs: MCS 14 0.9 / (108 + 82.25) us, MCS 13 and 12 as likely, MCS 7 0.9 / (108 +
/// 147.75), MCS 15 0.5 / (108 + 74). MCS 14 succeeds more often than 0.75, but MCS 7 has fewer streams. In the second
/// case no mode exceeds 0.75, and none with one stream succeeds: the most reliable one is the slowest of those with the
/// highest success rate.
#[test]
fn the_best_throughputs_and_the_most_reliable_mode() {
    let modes = evaluated(&[(15, 50), (14, 90), (7, 96)]);
    assert_eq!((modes.best, modes.surest), ([14, 13, 12, 7], 7));
    let few = evaluated(&[(15, 40), (14, 60), (7, 0)]);
    assert_eq!((few.best[0], few.surest), (14, 8));
}

/// By hand: MCS 14 with one MPDU takes 190.25 us without contention, which is 67.5, 139.5, 283.5, 571.5, 1147.5 and
/// 2299.5 us before the first six attempts: 5.65 ms. With RTS five attempts at MCS 13 take 3.81 ms, and six 6.43 ms.
#[test]
fn attempts_fit_into_a_segment() {
    let modes = evaluated(&[(15, 50), (14, 90), (7, 96)]);
    let params = Params::default();
    assert_eq!(modes.attempts(14, false, &params), 6);
    assert_eq!(modes.attempts(13, true, &params), 5);
    let mut long = modes;
    for _ in 0..40 {
        long.note_ppdu(30);
        long.evaluate();
    }
    assert_eq!(long.attempts(14, false, &params), 2, "two attempts of 2.6 ms");
}

/// The best mode fails 35 times in 40: the best of the next group below takes its place before the next evaluation.
#[test]
fn a_sudden_failure_of_two_streams() {
    let mut modes = evaluated(&[(14, 90), (7, 96)]);
    assert!(!modes.replace_failing());
    modes.note(14, 40, 5);
    assert!(modes.replace_failing());
    assert_eq!(modes.best[..2], [7, 13]);
}

/// A-MSDUs end where the most reliable mode is slow or lossy.
#[test]
fn slow_and_lossy_modes_limit_amsdus() {
    for (mode, acknowledged, limit) in [
        (0, 90, Some(500)),
        (2, 90, Some(1600)),
        (4, 90, Some(3200)),
        (7, 90, None),
        (7, 70, Some(3200)),
        (7, 40, Some(1)),
    ] {
        let one = [list()[mode]];
        let mut modes = Modes::new(&one, 16);
        modes.note(0, 100, acknowledged);
        modes.evaluate();
        assert_eq!(modes.longest_amsdu(), limit.map(Bytes), "MCS {mode}");
    }
}

/// The best mode is MCS 14, the second best MCS 13, the most reliable MCS 7. Upgrades and jumps can only be MCS 15;
/// slower modes have an air time between those of MCS 14 and MCS 7: here all have two streams. MCS 12 is left out,
/// because it is known to succeed.
#[test]
fn samples_are_faster_or_between_the_modes_in_use() {
    let modes = evaluated(&[(15, 20), (14, 90), (7, 96), (12, 98)]);
    let (mut samples, mut draws) = (SampleLists::default(), stream(1, "rate", "test"));
    let mut taken = vec![];
    for _ in 0..20 {
        samples.refill(&modes, &mut draws);
        taken.push((0..6).map(|_| samples.take()).collect::<Vec<_>>());
    }
    let at = |turn: usize| taken.iter().filter_map(move |row| row[turn]);
    assert!(at(0).chain(at(1)).all(|mode| mode == 15), "{taken:?}");
    assert!(at(0).count() == 20 && at(1).count() > 0, "{taken:?}");
    assert!(at(5).all(|mode| [13, 14].contains(&mode)) && at(5).count() > 0, "{taken:?}");
}

/// Sends a PPDU of 20 MPDUs, or of one because of a sample, every millisecond for `seconds`. Returns how many of each
/// mode's PPDUs in the second half had 20 MPDUs, how many all modes' together, and which modes were sampled.
fn run(success: impl Fn(usize) -> f64, seconds: u64) -> (Vec<u32>, u32, [bool; 16]) {
    let (mut draws, mut chance) = (stream(1, "rate", "test"), stream(1, "loss", "test"));
    let mut control = started(&mut draws);
    let (mut used, mut ppdus, mut sampled) = (vec![0; 16], 0, [false; 16]);
    for ms in 0..1000 * seconds {
        let mode = control.mode(at(ms), &mut draws);
        let sent = if control.is_single() { 1 } else { 20 };
        let acknowledged = (0..sent).filter(|_| chance.chance(success(mode))).count();
        control.on_result(sent, u32::try_from(acknowledged).unwrap());
        if ms >= 500 * seconds {
            used[mode] += u32::from(sent > 1);
            ppdus += u32::from(sent > 1);
            sampled[mode] |= sent == 1;
        }
    }
    (used, ppdus, sampled)
}

fn started(draws: &mut Stream) -> MinstrelHt {
    MinstrelHt::new(&Params::default(), &list(), Time::ZERO, draws)
}

fn at(ms: u64) -> Time {
    Time::from_nanos(ms * 1_000_000)
}

/// MCS 12 (78 Mb/s) succeeds nine times in ten, faster modes (13 to 15) once in five: 78 * 0.9 is above 130 * 0.2.
/// After lucky samples a faster mode is used; once it fails, the best mode with one stream, until the next evaluation.
#[test]
fn it_finds_the_mode_of_the_best_throughput() {
    let (used, ppdus, sampled) = run(|mode| if mode >= 13 { 0.2 } else { 0.9 }, 20);
    assert!(f64::from(used[12]) > 0.8 * f64::from(ppdus), "{used:?}");
    assert!(f64::from(used[12] + used[7]) > 0.94 * f64::from(ppdus), "{used:?}");
    assert_eq!(sampled[13..], [true; 3], "it goes on to try faster modes");
}

/// Two streams never get through: the best mode has one, MCS 7.
#[test]
fn it_leaves_modes_that_never_succeed() {
    let (used, ppdus, _) = run(|mode| if mode >= 8 { 0.0 } else { 1.0 }, 10);
    assert!(f64::from(used[7]) > 0.9 * f64::from(ppdus), "{used:?}");
}

/// Everything succeeds: samples of faster modes lead from the slowest to the fastest within two seconds.
#[test]
fn it_climbs() {
    let (used, ppdus, _) = run(|_| 1.0, 4);
    assert!(f64::from(used[15]) > 0.9 * f64::from(ppdus), "{used:?}");
}

/// A PPDU without an answer goes through four modes; from the second on it begins with RTS. The mode stays the same
/// until its outcome is known.
#[test]
fn unanswered_ppdus_go_down_the_chain() {
    let mut draws = stream(1, "rate", "test");
    let mut control = started(&mut draws);
    control.modes = evaluated(&[(15, 50), (14, 90), (7, 96)]);
    control.fill_table();
    (control.sample_at, control.evaluate_at) = (Time::NEVER, Time::NEVER);
    let mut used = vec![];
    for _ in 0..30 {
        let mode = control.mode(at(1), &mut draws);
        assert_eq!(control.mode(at(2), &mut draws), mode);
        used.push((mode, control.uses_rts()));
        control.on_result(1, 0);
    }
    let stages: Vec<_> = used.chunk_by(|a, b| a == b).map(|stage| (stage[0], stage.len())).collect();
    // The number of attempts is that of `attempts_fit_into_a_segment`.
    assert_eq!(stages[..2], [((14, false), 6), ((13, true), 5)]);
    assert_eq!(stages[2..].iter().map(|stage| stage.0).collect::<Vec<_>>()[..3], [(12, true), (7, true), (14, false)]);
}

/// An RTS without CTS uses up an attempt of a mode that is tried with RTS, and says nothing about the first mode.
#[test]
fn lost_rts_lead_down_the_chain() {
    let mut draws = stream(1, "rate", "test");
    let mut control = started(&mut draws);
    control.modes = evaluated(&[(15, 50), (14, 90), (7, 96)]);
    control.fill_table();
    (control.sample_at, control.evaluate_at) = (Time::NEVER, Time::NEVER);
    let mut after = |count: usize, report: fn(&mut MinstrelHt)| {
        for _ in 0..count {
            control.mode(at(1), &mut draws);
            report(&mut control);
        }
        control.mode(at(1), &mut draws)
    };
    assert_eq!(after(10, MinstrelHt::on_lost_rts), 14);
    assert_eq!(after(6, |control| control.on_result(1, 0)), 13);
    assert_eq!((after(4, MinstrelHt::on_lost_rts), after(1, MinstrelHt::on_lost_rts)), (13, 12));
}

/// A sample is sent once; then the same MPDU follows in the second best mode, after RTS.
#[test]
fn a_sample_has_one_attempt() {
    let mut draws = stream(1, "rate", "test");
    let mut control = started(&mut draws);
    control.modes = evaluated(&[(14, 90), (7, 96)]);
    control.samples.refill(&control.modes, &mut draws);
    control.fill_table();
    (control.sample_at, control.evaluate_at) = (at(1), Time::NEVER);
    assert_eq!((control.mode(at(1), &mut draws), control.is_single(), control.uses_rts()), (15, true, false));
    control.on_result(1, 0);
    assert_eq!((control.mode(at(1), &mut draws), control.is_single(), control.uses_rts()), (13, true, true));
    control.on_result(1, 1);
    assert_eq!((control.mode(at(1), &mut draws), control.is_single()), (14, false));
}
