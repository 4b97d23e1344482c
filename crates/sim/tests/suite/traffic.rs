//! Workloads end to end, through a scenario.

use wifair_sim::record::Outcome;
use wifair_sim::{RunOptions, run, scenario::Scenario};

fn outcome(flows: &str) -> Outcome {
    let text = format!(
        "duration = '200 s'\nwlan.standard = '802.11g'\n[[servers]]\nname = 'server'\ndelay = '2 ms'\n\
         [[stations]]\nname = 'sta'\n[[flows]]\nname = 'f'\nstation = 'sta'\ndirection = 'down'\n{flows}"
    );
    run(&Scenario::parse(&text, "test.toml", &[]).unwrap(), 1, &RunOptions::default())
}

/// One user: a page of three objects of 30 kB takes the time of its requests (two pauses of 100 ms), plus 100 ms of
/// thinking, plus the transfer of the last object. So a page takes a little over 300 ms, and 200 s have some 550 pages
/// with three objects each.
#[test]
fn a_web_user_looks_at_page_after_page() {
    let result = outcome("workload = 'web'\nweb.size = '30 kB'\nweb.law = 'fixed'");
    let objects = result.sessions.len();
    assert!((1_400..2_000).contains(&objects), "{objects} objects");
    assert!(result.cell.sessions_unfinished <= 3);
    for session in &result.sessions {
        assert_eq!(session.length_bytes, 30_000);
        // Handshake and slow start over 4 ms take some round trips, far less than a retransmission timeout.
        assert!(session.received_after_s.is_nan() || (0.01..1.0).contains(&session.received_after_s));
    }
    assert_eq!(result.flows[0].received_bytes / 30_000, result.cell.sessions_finished);
}

/// Sessions come every 10 s on average with 5 pages of 3 objects: 20 sessions, 300 objects in 200 s. The number of
/// objects has the variance 20 * (25 + 20) * 9, a standard deviation of 90.
#[test]
fn web_sessions_arrive_and_leave() {
    let web = "workload = 'web'\nweb.size = '5 kB'\nweb.session_interval = '10 s'\nweb.pages = 5";
    let objects = outcome(web).sessions.len();
    assert!((30..=570).contains(&objects), "{objects} objects");
}

/// On for half of the time at 1 Mb/s: 0.5 Mb/s. With 200 cycles of exponential bursts the standard deviation of the
/// mean is about 5 %.
#[test]
fn bursts_send_at_their_rate_while_they_last() {
    let bursts =
        "transport = 'udp'\nudp.rate = '1 Mb/s'\nworkload = 'on-off'\non-off.on = '500 ms'\non-off.off = '500 ms'";
    let goodput = outcome(bursts).cell.goodput_bps;
    assert!((goodput / 0.5e6 - 1.0).abs() < 0.2, "{goodput} bit/s");
    let fixed = outcome(&format!("{bursts}\non-off.law = 'fixed'")).cell.goodput_bps;
    assert!((fixed / 0.5e6 - 1.0).abs() < 0.02, "{fixed} bit/s");
}

/// 100 transfers of 10 kB, each on a connection of its own.
#[test]
fn transfers_of_a_poisson_process_have_connections_of_their_own() {
    let poisson = "workload = 'poisson'\npoisson.interval = '500 ms'\npoisson.most = 100\npoisson.size = '10 kB'\n\
                   poisson.law = 'fixed'";
    let result = outcome(poisson);
    assert_eq!(result.cell.sessions_finished, 100);
    assert_eq!(result.flows[0].received_bytes, 1_000_000);
}

/// A session that is due waits for the previous one on the same connection; its time counts from its own scheduled
/// start.
#[test]
fn sessions_queue_behind_each_other_on_one_connection() {
    let two = "workload = 'sessions'\nsessions.list = [{ start = '1 s', length = '2 MB' }, { start = '1 s', length = '1 kB' }]";
    let result = outcome(two);
    let after: Vec<f64> = result.sessions.iter().map(|session| session.acked_after_s).collect();
    assert!(after[1] >= after[0] && after[0] > 0.5, "{after:?}");
}

/// A persistent flow stops after 2 s. Until then it delivers what a wired link of 10 Mb/s can carry, 2 s * 10 Mb/s *
/// 1460/1500, except at the start (20 ms for the handshake, then slow start to a window of 25 kB, five round trips of
/// 20 ms), and afterwards at most the window that is in transit.
#[test]
fn a_persistent_flow_stops() {
    let text = "duration = '10 s'\n[[servers]]\nname = 'a'\nat = 'r'\n[[servers]]\nname = 'b'\nat = 'r'\nrate = '10 Mb/s'\n\
                delay = '10 ms'\n[[routers]]\nname = 'r'\n[[flows]]\nname = 'f'\nfrom = 'a'\nto = 'b'\nstop = '2 s'";
    for stack in ["rfc", "ns2", "modern"] {
        let text = format!("{text}\ntcp.stack = '{stack}'\ntcp.receive_window = '65535 B'");
        let result = run(&Scenario::parse(&text, "test.toml", &[]).unwrap(), 1, &RunOptions::default());
        let link = 2.0 * 10e6 / 8.0 * 1460.0 / 1500.0;
        let received = result.flows[0].received_bytes as f64;
        assert!((link * (1.0 - 0.2 / 2.0)..link + 65_535.0).contains(&received), "{stack}: {received} B");
    }
}

/// Jain's index while both flows are active, of which the whole measured time says something else. `b` gets 200 kb/s of
/// datagrams while it is active, `a` 800: (800 + 200)^2 / (2 * (800^2 + 200^2)) = 0.7353, within a packet of 25 for `b`
/// and of 100 for `a` in a second.
#[test]
fn fairness_while_all_flows_are_active() {
    let outcome = |a: &str, b: &str| {
        let text = format!(
            "duration = '12 s'\nwarm_up = '2 s'\n[[servers]]\nname = 'x'\nat = 'r'\n[[servers]]\nname = 'y'\nat = 'r'\n\
             [[routers]]\nname = 'r'\n[[flows]]\nname = 'a'\nfrom = 'x'\nto = 'y'\ntransport = 'udp'\n\
             udp.payload = '1000 B'\nudp.rate = '800 kb/s'\n{a}\n\
             [[flows]]\nname = 'b'\nfrom = 'x'\nto = 'y'\ntransport = 'udp'\n\
             udp.payload = '1000 B'\nudp.rate = '200 kb/s'\n{b}\n\
             [[flows]]\nname = 'echo'\nfrom = 'x'\nto = 'y'\nworkload = 'ping'\nstart = '11 s'"
        );
        run(&Scenario::parse(&text, "test.toml", &[]).unwrap(), 1, &RunOptions::default()).cell
    };
    for (a, b, seconds) in [
        ("stop = '9 s'", "start = '5 s'", 4.0),
        ("", "start = '5 s'", 7.0),
        ("", "stop = '7 s'", 5.0),
        ("start = '1 s'", "stop = '11 s'", 9.0),
    ] {
        let cell = outcome(a, b);
        assert_eq!(cell.overlap_s, seconds, "{a} {b}");
        assert!((cell.overlap_jain_index - 1.0 / 1.36).abs() < 0.02, "{a} {b}: {}", cell.overlap_jain_index);
    }
    let whole = outcome("", "");
    assert_eq!((whole.overlap_jain_index, whole.overlap_s), (whole.jain_index, 10.0));
    for (a, b) in [("stop = '5 s'", "start = '5 s'"), ("stop = '1 s'", ""), ("stop = '4 s'", "start = '6 s'")] {
        let never = outcome(a, b);
        assert!(never.overlap_jain_index.is_nan() && never.overlap_s == 0.0, "{a} {b}: {}", never.overlap_s);
    }
}
