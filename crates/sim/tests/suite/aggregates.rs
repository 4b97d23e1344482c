//! Aggregates of 802.11n: what is in them, with every queue discipline.

use std::collections::BTreeMap;

use wifair_mac::FrameKind;
use wifair_sim::record::Outcome;
use wifair_sim::scenario::Scenario;
use wifair_sim::world::WatchPlan;
use wifair_sim::{Run, RunOptions, run};
use wifair_units::{Duration, Time};

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
    run(&scenario, 1, &RunOptions::default())
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

/// A wired link takes each MPDU when the MPDU ends, however short the link's delay. At 10 Gb/s a packet of 1500 B takes
/// 1.2 us, and the MPDUs of a PPDU end 10 us apart or more, so none ever waits for another: the default queue of 50
/// packets has room for all, although a PPDU has up to 256.
#[test]
fn a_wired_link_without_delay_gets_no_bursts() {
    let text = "duration = '1 s'
        warm_up = '0.2 s'
        [wlan]
        standard = '802.11ax'
        width = 80
        [[stations]]
        name = 'sta'
        queue.limit = '1000 packets'
        [[servers]]
        name = 'server'
        rate = '10 Gb/s'
        [[flows]]
        name = 'up'
        station = 'sta'
        transport = 'udp'
        udp.rate = '500 Mb/s'
        udp.payload = '1472 B'
        ";
    let scenario = Scenario::parse(text, "bursts.toml", &[]).unwrap_or_else(|problems| panic!("{problems}"));
    for fast_paths in [true, false] {
        let outcome = run(&scenario, 1, &RunOptions { fast_paths, ..RunOptions::default() });
        let goodput = outcome.cell.goodput_bps;
        assert!((goodput / 500e6 - 1.0).abs() < 0.01, "{goodput} b/s with fast_paths = {fast_paths}");
    }
}

/// With uploads alone the goodput of downloads is zero, not the -0.0 that a sum of nothing is in Rust.
#[test]
fn no_downloads_have_a_goodput_of_zero() {
    assert_eq!(upload("fifo").cell.down_goodput_bps.to_bits(), 0.0_f64.to_bits());
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
/// It is passed up at once, not in the past.
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
        let outcome = run(&scenario, seed, &RunOptions::default());
        assert!(outcome.flows.iter().all(|flow| flow.received_bytes > 0));
    }
}

/// What a station sends to a server in 802.11n, with these lines of `[wlan]` and of the station.
fn sends(wlan: &str, station: &str) -> Outcome {
    let text = format!(
        "duration = '2 s'
        [wlan]
        standard = '802.11n'
        {wlan}
        [[servers]]
        name = 'server'
        [[stations]]
        name = 'sta'
        queue.limit = '1000 packets'
        {station}
        [[flows]]
        name = 'up'
        station = 'sta'
        transport = 'udp'
        udp.rate = '80 Mb/s'
        "
    );
    let scenario = Scenario::parse(&text, "sends.toml", &[]).unwrap_or_else(|problems| panic!("{problems}"));
    run(&scenario, 1, &RunOptions::default())
}

/// Data of an 802.11a station after RTS and CTS, of which none arrives: each is sent `long_retry_limit` times, in an
/// 802.11n network as elsewhere (IEEE Std 802.11-2016, 10.3.4.4). An MPDU under block ACK is sent
/// `aggregation.retry_limit` times; the limit of frames after RTS then tells when the contention window starts anew,
/// and stations that never widen it make more attempts.
#[test]
fn data_after_rts_have_a_limit_of_their_own_without_block_ack() {
    let wlan = |limit: u32| {
        format!("rts_threshold = '100 B'\nlong_retry_limit = {limit}\ndata_error = 1.0\naggregation.retry_limit = 7")
    };
    for limit in [2, 6] {
        let outcome = sends(&wlan(limit), "standard = '802.11a'");
        let sta = outcome.stations.iter().find(|station| station.name == "sta").expect("the station");
        let attempts = sta.errors as f64 / sta.given_up as f64;
        assert!((attempts - f64::from(limit)).abs() < 0.02, "{attempts} attempts");
    }
    let attempts = |limit: u32| {
        let outcome = sends(&wlan(limit), "");
        let sta = outcome.stations.iter().find(|station| station.name == "sta").expect("the station").clone();
        assert!((sta.mpdus as f64 / sta.given_up as f64 - 7.0).abs() < 0.2, "{} of {}", sta.mpdus, sta.given_up);
        sta.attempts
    };
    assert!(attempts(1) > attempts(7), "the window starts anew");
}

/// With 1000 packets of queue a packet waits 200 ms: with a lifetime of 50 ms most of the surplus expires, in the
/// queue, and the rest finds it full. Neither is a drop of active queue management, of which a FIFO has none.
#[test]
fn packets_whose_lifetime_ends_are_counted_by_themselves() {
    let outcome = sends("aggregation.lifetime = '50 ms'", "");
    let (sta, up) = (outcome.stations.iter().find(|station| station.name == "sta").expect("it is"), &outcome.flows[0]);
    assert!(sta.lifetime_drops > 100 && sta.queue_drops_early == 0, "{sta:?}");
    assert_eq!(up.data_drops_lifetime, sta.lifetime_drops);
    assert_eq!(up.data_drops_station_queue, sta.queue_drops_overflow);
    let without = sends("", "");
    assert_eq!((without.flows[0].data_drops_lifetime, without.stations[0].lifetime_drops), (0, 0));
}

/// Without block ACK, too, no attempt follows one that has ended a millisecond after the packet joined the queue. The
/// queue never holds more than one: at 500 kb/s packets come every 23.6 ms. With 80 % of the frames lost there is time
/// for a few attempts.
#[test]
fn a_lifetime_ends_between_attempts_without_block_ack() {
    for wlan in ["aggregation.max_ampdu = '0 B'", "aggregation.window = 1", ""] {
        let text = format!(
            "duration = '2 s'
            [wlan]
            standard = '802.11n'
            data_error = 0.8
            aggregation.lifetime = '1 ms'
            {wlan}
            [[servers]]
            name = 'server'
            [[stations]]
            name = 'sta'
            [[flows]]
            name = 'up'
            station = 'sta'
            transport = 'udp'
            udp.rate = '500 kb/s'
            "
        );
        let scenario = Scenario::parse(&text, "lifetime.toml", &[]).unwrap_or_else(|problems| panic!("{problems}"));
        let mut run = Run::new(&scenario, 1, &RunOptions::default());
        run.world().watch(WatchPlan { air: true, ..WatchPlan::default() });
        run.advance(run.end());
        let mut attempts: BTreeMap<Option<u16>, (Time, Time)> = BTreeMap::new();
        for (tap, _) in run.world().aired() {
            for frame in tap.frames().iter().filter(|frame| frame.kind == FrameKind::Data) {
                let (first, last_end) = attempts.entry(frame.sequence).or_insert((frame.start, frame.start));
                assert!(*last_end < *first + Duration::from_micros(1000), "{wlan}: {frame:?}, first at {first:?}");
                *last_end = frame.end;
            }
        }
        let outcome = run.outcome();
        assert!(outcome.flows[0].data_drops_lifetime > 10, "{wlan}: {:?}", outcome.flows[0]);
        assert_eq!(outcome.flows[0].data_drops_lifetime + outcome.flows[0].data_drops_retry_limit, lost(&outcome));
    }
}

/// Packets that arrive after the reordering timeout are lost without reaching a retry limit: those given up by the
/// access point are the flows', and the late ones are counted apart. Nothing is late with a timeout that never expires.
#[test]
fn packets_that_come_too_late_are_not_given_up() {
    for (timeout, has_late) in [("1 ms", true), ("10 s", false)] {
        let text = format!(
            "
            duration = '4 s'
            [wlan]
            standard = '802.11n'
            data_error = 0.4
            aggregation.retry_limit = 7
            aggregation.reorder_timeout = '{timeout}'
            [[servers]]
            name = 'server'
            [[stations]]
            name = 'sta'
            [[flows]]
            name = 'down'
            station = 'sta'
            direction = 'down'
            transport = 'udp'
            udp.rate = '10 Mb/s'
            "
        );
        let scenario = Scenario::parse(&text, "late.toml", &[]).unwrap_or_else(|problems| panic!("{problems}"));
        let mut run = Run::new(&scenario, 1, &RunOptions::default());
        run.advance(run.end());
        let outcome = run.outcome();
        let (flow, ap) = (&outcome.flows[0], &outcome.stations[0]);
        assert_eq!((flow.data_drops_late, flow.data_drops_retry_limit), (ap.late_drops, ap.given_up), "{timeout}");
        assert_eq!(flow.data_drops_late > 0, has_late, "{timeout}: {flow:?}");
        assert!(ap.given_up > 0, "{ap:?}");
    }
}

/// ERP stations protect management frames too (IEEE Std 802.11-2016, 10.26): beside 802.11b, in a cell and in space, a
/// CTS-to-self or a CTS ends SIFS (10 us) before each frame of an agreement.
#[test]
fn agreements_are_protected_beside_80211b() {
    for (by_rts, space) in [(false, ""), (true, ""), (false, "space = {}"), (true, "space = {}")] {
        let text = format!(
            "
            duration = '100 ms'
            {space}
            [wlan]
            standard = '802.11n'
            band = '2.4 GHz'
            protect_by_rts = {by_rts}
            aggregation.agreements = 'on-the-air'
            aggregation.inactivity_timeout = '5 ms'
            [[servers]]
            name = 'server'
            [[stations]]
            name = 'new'
            [[stations]]
            name = 'old'
            standard = '802.11b'
            [[flows]]
            name = 'up'
            station = 'new'
            transport = 'udp'
            udp.rate = '1 Mb/s'
            "
        );
        let scenario = Scenario::parse(&text, "old.toml", &[]).unwrap_or_else(|problems| panic!("{problems}"));
        let mut run = Run::new(&scenario, 1, &RunOptions::default());
        run.world().watch(WatchPlan { air: true, ..WatchPlan::default() });
        run.advance(run.end());
        let mut found = [0; 3];
        for (tap, _) in run.world().aired() {
            let frames = tap.frames();
            for (place, frame) in frames.iter().enumerate() {
                let kinds = [FrameKind::AddbaRequest, FrameKind::AddbaResponse, FrameKind::Delba];
                let Some(kind) = kinds.iter().position(|kind| *kind == frame.kind) else { continue };
                let before = &frames[place - 1];
                assert_eq!(
                    (before.kind, before.end + Duration::from_micros(10)),
                    (FrameKind::Cts, frame.start),
                    "{frame:?}"
                );
                found[kind] += 1;
            }
        }
        assert!(found.iter().all(|count| *count > 0), "{by_rts}, {space}: {found:?}");
    }
}

/// Number of packets of the first flow that were sent and not received.
fn lost(outcome: &Outcome) -> u64 {
    outcome.flows[0].data_packets_sent - outcome.flows[0].received_bytes / 1472
}

/// With a queue per station, packets in flight to one station take no room from the others: 50 packets for each of
/// five stations are 250. A PPDU has 28 of them in flight. Once they are acknowledged they come again, 14 during each
/// PPDU: 28, 14 and 0 are missing at the ends of the next. So 28 are in flight on average, and 28 are missing, which
/// leaves 194 in the queues.
#[test]
fn packets_in_flight_count_against_the_queue_of_their_receiver() {
    let text = "duration = '1 s'
        warm_up = '0.5 s'
        [wlan]
        standard = '802.11n'
        aggregation.count_in_flight = true
        [ap]
        queue.limit = '50 packets'
        queue_per_station = true
        [[servers]]
        name = 'server'
        rate = '1 Gb/s'
        [[stations]]
        name = 'sta'
        count = 5
        [[flows]]
        name = 'down'
        station = 'sta'
        direction = 'down'
        transport = 'udp'
        udp.rate = '30 Mb/s'
        ";
    let scenario = Scenario::parse(text, "in_flight.toml", &[]).unwrap_or_else(|problems| panic!("{problems}"));
    let cell = run(&scenario, 1, &RunOptions::default()).cell;
    assert!((cell.ap_queue_mean_packets - 194.0).abs() < 5.0, "{} packets", cell.ap_queue_mean_packets);
}

/// What an older station cannot do, or no station of its standard, is refused: HE in 106 tones with dual carrier
/// modulation sends 25 bits in 13.6 us, so that 1542 bytes take 495 symbols, 6732 us and a preamble; 1070 take 344
/// symbols, 4678 us.
#[test]
fn what_cannot_be_sent_is_refused() {
    let text = |wlan: &str, station: &str, flow: &str| {
        format!(
            "duration = '1 s'\n[wlan]\n{wlan}\n[[servers]]\nname = 'server'\n[[stations]]\nname = 'sta'\n{station}\n[[flows]]\n\
             name = 'flow'\nstation = 'sta'\ntransport = 'udp'\nudp.rate = '1 Mb/s'\n{flow}"
        )
    };
    let parse = |text: String| Scenario::parse(&text, "refused.toml", &[]).map_err(|problems| problems.to_string());
    let slow = "standard = '802.11ax'\nmcs = 0\ndcm = true\nextended_range = 106";
    let told = parse(text(slow, "", "")).expect_err("it is too slow");
    assert!(told.contains("packets of 1500 B take up to 6.7") && told.contains("the longest PPDU"), "{told}");
    assert!(parse(text(slow, "", "udp.payload = '1000 B'")).is_ok());
    let old = "standard = '802.11a'";
    let told = parse(text("standard = '802.11n'", old, "category = 'voice'")).expect_err("there are no categories");
    assert!(told.contains("the 802.11a stations `sta` have no access categories"), "{told}");
    assert!(parse(text("standard = '802.11n'", old, "category = 'voice'\ndirection = 'down'")).is_ok());
    assert!(parse(text("standard = '802.11n'", "", "category = 'voice'")).is_ok());
}

/// With `[space]`, where all stations hear each other, older stations get exactly what they get without it. Those of
/// 802.11g read the NAV in no PPDU of 802.11n, but they do read its block ACK; those of 802.11b need CTS-to-self.
#[test]
fn older_stations_in_space_are_the_same_if_all_hear_all() {
    for standard in ["802.11g", "802.11b"] {
        let [without, with] = ["", "[space]"].map(|space| {
            let text = format!(
                "duration = '3 s'
wlan.standard = '802.11n'
wlan.band = '2.4 GHz'
{space}
[[servers]]
name = 'server'
                 [[stations]]
name = 'old'
standard = '{standard}'
count = 2
[[stations]]
name = 'new'
count = 2
                 [[flows]]
name = 'old'
station = 'old'
[[flows]]
name = 'new'
station = 'new'
direction = 'down'
"
            );
            let scenario = Scenario::parse(&text, "older.toml", &[]).unwrap_or_else(|problems| panic!("{problems}"));
            let outcome = run(&scenario, 1, &RunOptions::default());
            outcome.flows.iter().map(|flow| flow.received_bytes).collect::<Vec<_>>()
        });
        assert_eq!(without, with, "{standard}");
        assert!(with.iter().all(|bytes| *bytes > 100_000), "{with:?}");
    }
}

/// Two hidden stations whose aggregates overlap: what arrives in part despite the collision, and whose block ACK is
/// lost, is either received or collided, but not both. No PPDU takes longer than one of 28 MPDUs at 65 Mb/s, 5366 us,
/// and no BlockAckReq longer than 32 us.
#[test]
fn an_aggregate_that_arrives_in_part_takes_its_air_time_once() {
    let text = "duration = '5 s'
        wlan = { standard = '802.11n', control_error = 0.5, short_retry_limit = 20 }
        servers = [{ name = 'server' }]
        [space]
        gains = [['0 dB', '-60 dB', '-60 dB'], ['-60 dB', '0 dB', '-200 dB'], ['-60 dB', '-200 dB', '0 dB']]
        [[stations]]
        name = 'sta'
        count = 2
        [[flows]]
        name = 'up'
        station = 'sta'
        transport = 'udp'
        udp.rate = '30 Mb/s'
        ";
    let scenario = Scenario::parse(text, "hidden.toml", &[]).unwrap_or_else(|problems| panic!("{problems}"));
    let outcome = run(&scenario, 1, &RunOptions::default());
    for station in outcome.stations.iter().filter(|station| station.name != "ap") {
        let most = station.ppdus as f64 * 5366e-6 + station.block_ack_requests as f64 * 32e-6;
        let (read, collided) = (station.air_data_s, station.air_collided_s);
        assert!(read > 0.1 && read + collided <= most, "{read} s + {collided} s, at most {most} s");
    }
}

/// Contention RED goes by retries, under block ACK too: among stations that collide it drops early, and a station alone
/// has no retries.
#[test]
fn contention_red_counts_exchanges_without_block_ack() {
    let early_drops = |stations: u32| {
        let text = format!(
            "duration = '1 s'
            warm_up = '0.2 s'
            [wlan]
            standard = '802.11n'
            [[stations]]
            name = 'sta'
            count = {stations}
            queue.discipline = 'contention-red'
            [[servers]]
            name = 'server'
            [[flows]]
            name = 'up'
            station = 'sta'
            transport = 'udp'
            udp.rate = '50 Mb/s'
            "
        );
        let scenario = Scenario::parse(&text, "pacing.toml", &[]).unwrap_or_else(|problems| panic!("{problems}"));
        let outcome = run(&scenario, 1, &RunOptions::default());
        outcome.stations.iter().map(|station| station.queue_drops_early).sum::<u64>()
    };
    assert_eq!(early_drops(1), 0);
    assert!(early_drops(10) > 0);
}

/// A station whose frame collides does not know it before its timeout, so none of its categories sends earlier
/// (IEEE Std 802.11-2016, 10.22.2.4): 16 + 9 + 20 us after the frame, and AIFS (34 us) later, if no slots are left.
#[test]
fn no_category_sends_before_the_timeout_of_another() {
    for space in ["", "space = {}"] {
        let text = format!(
            "duration = '2 s'
            {space}
            [wlan]
            standard = '802.11n'
            aggregation.max_ampdu = '0 B'
            edca.vo.txop = '0 s'
            edca.vi.txop = '0 s'
            [[servers]]
            name = 'server'
            [[stations]]
            name = 'both'
            [[stations]]
            name = 'one'
            [[flows]]
            name = 'vo'
            station = 'both'
            category = 'voice'
            transport = 'udp'
            udp.rate = '40 Mb/s'
            [[flows]]
            name = 'vi'
            station = 'both'
            category = 'video'
            transport = 'udp'
            udp.rate = '40 Mb/s'
            [[flows]]
            name = 'other'
            station = 'one'
            category = 'voice'
            transport = 'udp'
            udp.rate = '40 Mb/s'
            "
        );
        let scenario = Scenario::parse(&text, "timeouts.toml", &[]).unwrap_or_else(|problems| panic!("{problems}"));
        let mut run = Run::new(&scenario, 1, &RunOptions::default());
        run.world().watch(WatchPlan { air: true, ..WatchPlan::default() });
        run.advance(run.end());
        let mut waits: Vec<Duration> = vec![];
        for (tap, _) in run.world().aired() {
            let frames = tap.frames();
            for (place, pair) in frames.windows(2).enumerate().skip(1) {
                if frames[place - 1].start == pair[0].start {
                    waits.push(pair[1].start - pair[0].end);
                }
            }
        }
        let first = waits.iter().min().expect("frames collide");
        assert_eq!(*first, Duration::from_micros(45 + 34), "{space}");
    }
}
