//! Aggregates of 802.11n: what is in them, with every queue discipline.

use wifair_sim::record::Outcome;
use wifair_sim::scenario::Scenario;
use wifair_sim::{Options, run};

/// A station with the queue discipline sends datagrams of 1500 B to a server, more than the air carries.
fn upload(discipline: &str) -> Outcome {
    let text = format!(
        "duration = '1 s'
        warm_up = '0.2 s'
        [wlan]
        standard = '802.11n'
        mcs = 7
        [[stations]]
        name = 'sta'
        queue.limit = '500 packets'
        queue.discipline = '{discipline}'
        [[servers]]
        name = 'server'
        rate = '10 Gb/s'
        delay = '10 ms'
        [[flows]]
        name = 'up'
        station = 'sta'
        transport = 'udp'
        udp.rate = '66.3 Mb/s'
        udp.payload = '1472 B'
        "
    );
    let scenario = Scenario::parse(&text, "aggregates.toml", &[]).unwrap_or_else(|problems| panic!("{problems}"));
    run(&scenario, 1, &Options::default())
}

/// At 65 Mb/s a PPDU of 5.484 ms, the longest, has room for 28 MPDUs of 1538 B with their delimiters and padding (1544
/// B; 2 B less in the last one): its 1362 symbols carry 44,262 B. With one flow and one receiver these disciplines have
/// nothing to choose, and fill the PPDUs as a FIFO does.
#[test]
fn a_station_fills_its_aggregates_with_every_discipline_that_only_orders() {
    for discipline in ["fifo", "drr", "scfq", "sjf", "las", "per-flow", "spm", "airtime"] {
        let outcome = upload(discipline);
        let mean = outcome.cell.mpdus_per_ppdu;
        assert!((mean - 28.0).abs() < 0.1, "{discipline}: {mean} MPDUs in a PPDU");
    }
}

/// Active queue management drops datagrams that an aggregate takes out of the queue, and keeps aggregating: it has to,
/// for single frames would get half of the goodput (31 Mb/s instead of 60).
#[test]
fn active_queue_management_drops_and_aggregates() {
    let fifo = upload("fifo").cell.goodput_bps;
    for discipline in ["codel", "fq-codel", "red"] {
        let outcome = upload(discipline);
        let sta = outcome.stations.iter().find(|station| station.name == "sta").expect("the station");
        assert!(sta.queue_drops_early > 0, "{discipline} drops nothing early");
        let goodput = outcome.cell.goodput_bps;
        assert!(goodput > 0.8 * fifo, "{discipline}: {goodput} b/s, {fifo} b/s with a FIFO");
    }
}

/// An MPDU that a receiver holds behind a gap may have exceeded the reorder timeout when the gap before it is filled.
/// It is handed up at once, not in the past.
#[test]
fn a_gap_that_is_overdue_when_it_comes_first_is_passed_over_at_once() {
    let flow = |category: &str, direction: &str| {
        format!(
            "[[flows]]
            name = '{category}-{direction}'
            station = 'sta'
            direction = '{direction}'
            transport = 'udp'
            udp = {{ rate = '1 Mb/s', payload = '1472 B' }}
            category = '{category}'
            "
        )
    };
    let categories = ["voice", "video", "best-effort", "background"];
    let flows = ["up", "down"].map(|direction| categories.map(|category| flow(category, direction)).concat()).concat();
    let text = format!(
        "duration = '3 s'
        wlan = {{ standard = '802.11n', data_error = 0.3, control_error = 0.05 }}
        ap.edca.vo.cw_min = 1
        servers = [{{ name = 'server', delay = '10 ms' }}]
        stations = [{{ name = 'sta', count = 3 }}]
        {flows}"
    );
    let scenario = Scenario::parse(&text, "overdue.toml", &[]).unwrap_or_else(|problems| panic!("{problems}"));
    for seed in 1..=6 {
        let outcome = run(&scenario, seed, &Options::default());
        assert!(outcome.flows.iter().all(|flow| flow.received_bytes > 0));
    }
}
