//! What was wrong once, and the words for it.

use wifair_explain::{Evidence, FigureColumn, FigureTable, explain};

use crate::support::{lesson, told};

fn table(texts: &[(&str, &[&str])], numbers: &[(&str, &[f64])]) -> FigureTable {
    let texts = texts.iter().map(|(name, values)| {
        ((*name).to_owned(), FigureColumn::Texts(values.iter().map(|text| (*text).to_owned()).collect()))
    });
    FigureTable::new(
        texts.chain(numbers.iter().map(|(name, values)| ((*name).to_owned(), FigureColumn::Numbers(values.to_vec())))),
    )
}

fn said(evidence: &Evidence, rule: &str) -> String {
    explain(evidence).into_iter().filter(|fact| fact.rule == rule).map(|fact| fact.text).collect()
}

fn acks(windows: [f64; 3], timeouts: [f64; 3]) -> Evidence {
    let flows = table(
        &[("name", &["up1", "up2", "up3"]), ("direction", &["up"; 3])],
        &[
            ("seed", &[0.0; 3]),
            ("goodput_bps", &[1e6; 3]),
            ("cwnd_mean", &windows),
            ("timeouts", &timeouts),
            ("ack_drops_ap_queue", &[3.0; 3]),
        ],
    );
    let cells = table(
        &[],
        &[("seed", &[0.0]), ("goodput_bps", &[3e6]), ("ap_drops_ack", &[9.0]), ("ap_queue_full_fraction", &[0.5])],
    );
    Evidence { flows, cells, ..Evidence::default() }
}

/// "One with a small window may lose all of them and waits" stood beside a mean window of 18.4 where timers expired and
/// 9.2 where none did.
#[test]
fn small_windows_explain_timers_only_where_they_are_smaller() {
    let small = said(&acks([2.0, 8.0, 12.0], [1.0, 0.0, 0.0]), "dropped_acks");
    assert!(small.contains("the mean window is 2 segments where timers expired, 10 where none did"), "{small}");
    assert!(small.contains("its queue is full 50.0 % of the time"));
    let large = said(&acks([18.4, 9.2, 9.2], [1.0, 0.0, 0.0]), "dropped_acks");
    assert_eq!(large, "The access point drops 9 TCP ACKs: its queue is full 50.0 % of the time.");
    let none = said(&acks([18.4, 9.2, 9.2], [0.0; 3]), "dropped_acks");
    assert!(none.ends_with("ACKs are cumulative: no timer expires because of it."), "{none}");
}

/// Calls were rated (R-factor -31) where datagrams of 5 Mb/s got a fraction of what they asked for.
#[test]
fn datagrams_in_bulk_are_no_calls() {
    let bulk = told(&lesson("hidden-node"), &["duration=20 s"], &[1]);
    assert!(bulk.flows().iter().all(|flow| flow.r_factor < 70.0));
    assert!(bulk.fact("calls").is_none());
    let fact = bulk.say("overloads");
    assert!(fact.text.contains("sends 5 Mb/s, gets"), "{}", fact.text);
    let call = r#"
        duration = "10 s"
        wlan.standard = "802.11b"
        ap.queue.limit = "1000 packets"
        servers = [{ name = "server", delay = "10 ms" }]
        stations = [{ name = "sta", count = 2 }]
        flows = [
            { name = "film", station = "sta1", direction = "down", tcp.receive_window = "4 MB" },
            { name = "call", station = "sta2", direction = "down", transport = "udp", udp.rate = "64 kb/s", udp.payload = "160 B" },
        ]
    "#;
    let late = told(call, &[], &[1]);
    assert!(late.say("calls").text.starts_with("As a call, call would sound bad"));
    assert_eq!(late.say("calls").about, ["call"]);
}

/// The call of the bufferbloat lesson, 160 bytes every 20 ms, was judged by instantaneous fairness.
#[test]
fn packets_of_a_call_are_no_sessions() {
    let judged = |name: &str| {
        let mut told = told(&lesson(name), &["duration=20 s"], &[1]);
        let cell = &mut told.outcomes[0].cell;
        (cell.instantaneous_fairness, cell.sessions_finished) = (0.5, 10);
        explain(&Evidence::of_outcomes(&told.scenario, &told.outcomes)).iter().any(|fact| fact.rule == "sessions")
    };
    assert!(!judged("bufferbloat"));
    assert!(judged("sessions"));
}

fn reader(zero_windows: f64) -> Evidence {
    let flows = table(
        &[("name", &["a>b"]), ("direction", &["down"]), ("rtt_point", &["sender"])],
        &[
            ("seed", &[0.0]),
            ("goodput_bps", &[1e6]),
            ("data_packets_sent", &[1000.0]),
            ("timeouts", &[0.0]),
            ("rtt_path_mean_s", &[0.5]),
            ("rtt_idle_s", &[0.02]),
            ("limited_by_receiver", &[0.96]),
            ("limited_by_congestion", &[0.04]),
            ("limited_by_application", &[0.0]),
            ("limited_by_unknown", &[0.0]),
            ("window_hidden", &[0.0]),
            ("zero_windows", &[zero_windows]),
        ],
    );
    Evidence { flows, cells: table(&[], &[("seed", &[0.0]), ("goodput_bps", &[1e6])]), ..Evidence::default() }
}

/// A receiver that read slowly, its window full for 96 % of the time, was called bufferbloat.
#[test]
fn a_slow_reader_is_no_bufferbloat() {
    let slow = explain(&reader(40.0));
    assert!(slow.iter().all(|fact| fact.rule != "waiting"));
    let fact = slow.iter().find(|fact| fact.rule == "slow_readers").expect("it is told");
    assert!(
        fact.text.contains("its window is full 96.0 % of the sending time, and it closes the window 40 times"),
        "{}",
        fact.text
    );
    // Control: a window that is full but never closes is only small, and its packets do wait on the way.
    assert!(said(&reader(0.0), "waiting").contains("grade of F"));
    assert!(said(&reader(0.0), "slow_readers").is_empty());
}

/// Once "expire 1 times", "1 sessions finish", and 0 where one run in four drops one.
#[test]
fn singular_forms_and_means_below_one() {
    let mut evidence = acks([2.0, 8.0, 12.0], [1.0, 0.0, 0.0]);
    let one = said(&evidence, "timeouts");
    assert!(one.starts_with("Retransmission timers expire once: up1 1."), "{one}");
    evidence.cells = table(
        &[],
        &[
            ("seed", &[0.0]),
            ("ap_drops_ack", &[0.25]),
            ("ap_queue_full_fraction", &[0.0]),
            ("instantaneous_fairness", &[0.5]),
            ("sessions_finished", &[1.0]),
            ("sessions_unfinished", &[1.0]),
        ],
    );
    assert!(said(&evidence, "dropped_acks").starts_with("The access point drops 0.25 TCP ACKs."));
    assert!(said(&evidence, "sessions").starts_with("1 transmission session finishes, 1 does not. "));
}

/// Tables named neither the queue's discipline nor how many there are: 1000 packets for each of 8 stations, or for all
/// of them.
#[test]
fn the_queue_is_named_with_number_and_limit() {
    let cell = r#"
        duration = "1 s"
        wlan.standard = "802.11ax"
        ap.queue = { discipline = "fq-codel", limit = "1000 packets" }
        servers = [{ name = "server" }]
        stations = [{ name = "sta", count = 8 }]
        flows = [{ name = "down", station = "sta", direction = "down" }]
    "#;
    let each = told(cell, &[], &[1]);
    let start = "The access point has a queue for each station of each access category (fq-codel), limit 1000 packets for each of 8, 8,000 packets in all";
    assert!(each.say("queue").text.starts_with(start), "{}", each.say("queue").text);
    let all = told(cell, &["ap.queue.discipline=airtime"], &[1]);
    let start =
        "The access point has one queue of each access category (airtime) for all 8 stations, limit 1000 packets";
    assert!(all.say("queue").text.starts_with(start), "{}", all.say("queue").text);
    let device = told(
        &cell.replace("ap.queue = { discipline = \"fq-codel\", limit = \"1000 packets\" }", "ap.device = \"linux\""),
        &[],
        &[1],
    );
    let start = "The access point has the queues of a Linux device (linux-wifi): mac80211's lines with CoDel for all stations and categories together; stations share the air time; the driver may hold 5 ms to 12 ms of air time for a station (AQL), limit 8192 packets";
    assert!(device.say("queue").text.starts_with(start), "{}", device.say("queue").text);
}
