//! Stations that move: the powers of radio links change.

use wifair_mac::RadioLinks;
use wifair_phy::{Radio, Reception};
use wifair_units::{Db, Dbm, Duration, Time};

use crate::common::{Run, long_preamble, signals};

fn at(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}

/// Two stations whose path has these gains from the start and from later times on, at radios that send 20 dBm and read
/// from -90 dBm on.
fn pair(gains: &[(u64, f64)]) -> Run {
    let radio = Radio {
        tx_power: Dbm(20.0),
        antenna_gain: Db(0.0),
        sensitivity: Dbm(-90.0),
        carrier_sense: Dbm(-90.0),
        ..Radio::default()
    };
    let changes = |_, _| gains[1..].iter().map(|(ms, gain)| (at(*ms), Db(*gain))).collect();
    let links = RadioLinks::from_moving_radios(&[radio.clone(), radio], |_, _| Db(gains[0].1), changes, Dbm(-200.0));
    Run::new(long_preamble(), links, (31, 1023), 1).with(signals(Reception::default(), 2, 1))
}

/// A frame each 10 ms for a second; when those that were received arrived, in ms.
fn arrivals(gains: &[(u64, f64)]) -> Vec<u64> {
    let mut run = pair(gains);
    for number in 0..100 {
        run.until(at(10 * number));
        run.offer(at(10 * number), 0, 1, 1000);
    }
    run.until(at(2000));
    run.arrivals.iter().map(|arrival| (arrival.at - Time::ZERO).as_nanos() / 1_000_000).collect()
}

/// The power at the receiver, -80 dBm, falls to -100 dBm at 300 ms and is back at 600 ms.
#[test]
fn a_station_is_out_of_reach_while_its_signal_is_too_weak() {
    let found = arrivals(&[(0, -100.0), (300, -120.0), (600, -100.0)]);
    assert!(found.iter().all(|ms| *ms < 301 || *ms >= 600), "{found:?}");
    let before = found.iter().filter(|ms| **ms < 300).count();
    assert_eq!(before, 30);
    assert!(found.iter().filter(|ms| **ms >= 600).count() >= 40, "{found:?}");
}

/// A link exists although it is out of reach at first.
#[test]
fn a_station_comes_into_reach() {
    let found = arrivals(&[(0, -300.0), (500, -100.0)]);
    assert!(found.iter().all(|ms| *ms >= 500) && found.len() >= 50, "{found:?}");
}

/// Changes that leave the powers as they are change nothing.
#[test]
fn a_station_that_moves_without_effect_is_as_one_that_stays() {
    assert_eq!(arrivals(&[(0, -100.0), (250, -101.0), (251, -100.0)]), arrivals(&[(0, -100.0)]));
}
