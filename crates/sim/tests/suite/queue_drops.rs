//! Drops and marks of queues appear in the results, by queue and cause.

use wifair_sim::record::{Outcome, StationOutcome};
use wifair_sim::scenario::Scenario;
use wifair_sim::{RunOptions, run};

/// Four downloads and four uploads; `ap` and `stations` are keys of their queues.
fn outcome(ap: &str, stations: &str, tcp: &str) -> Outcome {
    let text = format!(
        "duration = '5 s'
        wlan.standard = '802.11b'
        [tcp]
        {tcp}
        [ap]
        {ap}
        [[servers]]
        name = 'server'
        delay = '10 ms'
        [[stations]]
        name = 'sta'
        count = 4
        {stations}
        [[flows]]
        name = 'down'
        station = 'sta'
        direction = 'down'
        [[flows]]
        name = 'up'
        station = 'sta'
        "
    );
    let scenario = Scenario::parse(&text, "drops.toml", &[]).unwrap_or_else(|problems| panic!("{problems}"));
    run(&scenario, 1, &RunOptions::default())
}

fn split(outcome: &Outcome) -> (&StationOutcome, [u64; 3]) {
    let (ap, others) = outcome.stations.iter().partition::<Vec<_>, _>(|station| station.name == "ap");
    let sum = |part: fn(&StationOutcome) -> u64| others.iter().map(|station| part(station)).sum();
    (ap[0], [sum(|s| s.queue_drops_overflow), sum(|s| s.queue_drops_early), sum(|s| s.queue_marks)])
}

/// The flows' losses in each kind of queue equal the drops of these queues.
fn books_agree(outcome: &Outcome) {
    let lost = |part: fn(&wifair_sim::record::FlowOutcome) -> u64| outcome.flows.iter().map(part).sum::<u64>();
    let (ap, [overflow, early, _]) = split(outcome);
    let at_ap = lost(|flow| flow.data_drops_ap_queue + flow.ack_drops_ap_queue);
    let at_stations = lost(|flow| flow.data_drops_station_queue + flow.ack_drops_station_queue);
    assert_eq!(ap.queue_drops_overflow + ap.queue_drops_early, at_ap);
    assert_eq!(overflow + early, at_stations);
}

#[test]
fn a_full_drop_tail_queue_only_overflows() {
    let outcome = outcome("queue.limit = '20 packets'", "", "");
    let (ap, _) = split(&outcome);
    assert!(ap.queue_drops_overflow > 0);
    assert_eq!((ap.queue_drops_early, ap.queue_marks), (0, 0));
    books_agree(&outcome);
}

#[test]
fn red_drops_early() {
    let outcome = outcome("queue.discipline = 'red'\nqueue.limit = '1000 packets'", "", "");
    let (ap, _) = split(&outcome);
    assert!(ap.queue_drops_early > 0);
    assert_eq!((ap.queue_drops_overflow, ap.queue_marks), (0, 0));
    books_agree(&outcome);
}

#[test]
fn ecn_marks_in_the_place_of_drops() {
    let outcome = outcome("queue.discipline = 'codel'\nqueue.codel.ecn = true", "", "ecn = true");
    let (ap, _) = split(&outcome);
    assert!(ap.queue_marks > 0);
    books_agree(&outcome);
}

/// `CoDel` drops packets as they leave a queue; drops in a station's queue must not be counted for the access point.
#[test]
fn drops_of_a_station_at_dequeue_are_its_own() {
    let outcome = outcome("queue.limit = '1000 packets'", "queue.discipline = 'codel'", "");
    let (ap, [_, early, _]) = split(&outcome);
    assert!(early > 0);
    assert_eq!(ap.queue_drops_early, 0);
    books_agree(&outcome);
}
