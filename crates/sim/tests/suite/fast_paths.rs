//! Runs with and without fast paths give the same results, on random scenarios: shared and spatial channels, DCF, EDCA
//! and aggregates, schemes, several channels, with and without records of frames.

use std::fmt::Write as _;

use proptest::prelude::*;
use proptest::sample::select;
use wifair_sim::record::Outcome;
use wifair_sim::scenario::Scenario;
use wifair_sim::world::{FlowCounters, WatchPlan};
use wifair_sim::{Run, RunOptions};
use wifair_units::{Duration, Time};

/// One flow, or one flow for each station of its access point.
#[derive(Clone, Debug)]
struct Flow {
    down: bool,
    kind: &'static str,
}

#[derive(Clone, Debug)]
struct Cell {
    stations: u32,
    delay_ms: u32,
    /// Further keys of the server.
    wire: &'static str,
    flows: Vec<Flow>,
}

#[derive(Clone, Debug)]
struct Layout {
    standard: &'static str,
    profile: &'static str,
    wlan: Vec<&'static str>,
    /// The keys of `[space]`, if the channel is spatial.
    space: Option<&'static str>,
    one_channel: bool,
    queue: &'static str,
    limit: u32,
    scheme: &'static str,
    cells: Vec<Cell>,
    /// Signal-to-noise ratio of the stations and how it changes, or how they move in space.
    signal: &'static str,
    /// Whether records of frames are kept.
    frames: bool,
}

impl Layout {
    fn toml(&self) -> String {
        let mut text = format!("duration = '3 s'\nwarm_up = '500 ms'\n[wlan]\nstandard = '{}'\n", self.standard);
        let line = |text: &mut String, words: &str| writeln!(text, "{words}").expect("a string takes everything");
        line(&mut text, self.profile);
        self.wlan.iter().for_each(|key| line(&mut text, key));
        if let Some(keys) = self.space {
            line(&mut text, &format!("[space]\n{keys}"));
        }
        let count = self.cells.len();
        line(&mut text, &format!("[ap]\nqueue.discipline = '{}'\nqueue.limit = '{} packets'", self.queue, self.limit));
        line(&mut text, self.scheme);
        if count > 1 {
            let channels = if self.one_channel && self.space.is_some() { "[1]" } else { "[1, 6, 11]" };
            line(&mut text, &format!("count = {count}\nchannels = {channels}"));
            line(&mut text, if self.space.is_some() { "layout = 'chain'\nchain.spacing = '30 m'" } else { "" });
        }
        for (number, cell) in (1..).zip(&self.cells) {
            let ap = if count > 1 { format!("ap{number}") } else { "ap".to_owned() };
            let Cell { stations, delay_ms, wire, .. } = cell;
            let server = format!("[[servers]]\nname = 's{number}x'\nat = '{ap}'\ndelay = '{delay_ms} ms'\n{wire}");
            line(&mut text, &server);
            let signal = self.signal;
            line(&mut text, &format!("[[stations]]\nname = 'sta{number}x'\ncount = {stations}\nap = '{ap}'\n{signal}"));
            for (index, flow) in cell.flows.iter().enumerate() {
                let direction = if flow.down { "down" } else { "up" };
                let ends = format!("station = 'sta{number}x'\nserver = 's{number}x'\ndirection = '{direction}'");
                line(&mut text, &format!("[[flows]]\nname = 'f{number}_{index}x'\n{ends}\n{}", flow.kind));
            }
        }
        text
    }
}

fn layouts() -> impl Strategy<Value = Layout> {
    let kinds = [
        "",
        "",
        "tcp.cc = 'cubic'",
        "tcp.cc = 'vegas'",
        "tcp.cc = 'bbr'",
        "tcp.stack = 'modern'",
        "tcp.delayed_ack = true",
        "tcp.gro = true\ntcp.delayed_ack = true",
        "tcp.gro = true\ntcp.delayed_ack = false",
        "tcp.stack = 'modern'\ntcp.gro = true\ntcp.gro_flush_timeout = '1 ms'",
        "tcp.stack = 'linux'\ntcp.gro = true\ntcp.tso_autosize = true",
        "tcp.stack = 'modern'\ntcp.pacing = true\nstart = '700 ms'\nstop = '1900 ms'",
        "tcp.cc = 'westwood'\nstart_spread = '1 s'\nstop = '2 s'",
        "tcp.sack = true\ntcp.recovery = 'sack'\ntcp.delayed_ack = false\ntcp.sack_compression = '1 ms'",
        "transport = 'udp'\nudp.rate = '20 Mb/s'",
        "transport = 'udp'\nudp.rate = '20 Mb/s'\nudp.jitter = 0.3",
        "transport = 'udp'\nudp.rate = '300 kb/s'",
        "transport = 'udp'\nudp.rate = '2 Mb/s'\nworkload = 'on-off'\non-off.on = '100 ms'\non-off.off = '200 ms'",
        "workload = 'web'\nweb.size = '20 kB'",
        "workload = 'ping'\nping.interval = '7 ms'",
        "workload = 'periodic'\nperiodic.length = '20 kB'\nperiodic.period = '300 ms'",
    ];
    let flow = (any::<bool>(), select(kinds.to_vec())).prop_map(|(down, kind)| Flow { down, kind });
    let wires = vec!["", "", "rate = '20 Mb/s'", "rate = '1 Gb/s'", "rate = '10 Mb/s'\nqueue.limit = '5 packets'"];
    let cell = (1_u32..5, select(vec![0_u32, 1, 5, 20, 150]), select(wires), prop::collection::vec(flow, 1..3))
        .prop_map(|(stations, delay_ms, wire, flows)| Cell { stations, delay_ms, wire, flows });
    let wlan = prop::sample::subsequence(
        vec!["rts_threshold = '500 B'", "data_error = 0.05", "control_error = 0.01", "eifs = 'after-collision'"],
        0..3,
    );
    let spaces = vec![
        None,
        None,
        Some(""),
        Some("reception.capture = 'none'"),
        Some("reception.capture = 'late'\nfading = 'rayleigh'"),
    ];
    let queues = vec!["fifo", "fifo", "fifo", "las", "fq-codel", "drr", "red", "paced", "airtime"];
    let schemes = vec![
        "",
        "",
        "scheme.access = 'edca'",
        "scheme.access = 'dynamic-cw'",
        "scheme.access = 'dynamic-edca'",
        "scheme.window = 'b-over-n'",
        "scheme.uplink = 'rate-limit'",
    ];
    let air = (select(vec!["802.11b", "802.11g", "802.11a"]), select(vec!["", "", "profile = 'ns2'"]), wlan);
    let aggregates = prop::sample::subsequence(
        vec![
            "rts_threshold = '500 B'",
            "data_error = 0.1",
            "control_error = 0.05",
            "short_retry_limit = 2",
            "aggregation.max_amsdu = '7935 B'",
            "aggregation.window = 7",
            "aggregation.lifetime = '20 ms'",
            "aggregation.count_in_flight = true",
            "aggregation.pass_up_singly = false",
            "aggregation.request_after_miss = true",
            "aggregation.policy = 'wait-until'\naggregation.wait-until.packets = 3",
            "aggregation.agreements = 'on-the-air'",
            "edca.be.txop = '3008 us'",
        ],
        0..4,
    );
    let newer = (select(vec!["802.11n", "802.11ax"]), Just(""), aggregates);
    let rest = (select(queues), select(vec![3_u32, 20, 100]), select(schemes), prop::collection::vec(cell, 1..4));
    let noises = vec![
        "",
        "",
        "snr = '22 dB'",
        "snr = '40 dB'\nsnr_changes = [{ at = '1 s', to = '22 dB' }]\nrate_adaptation = 'minstrel-ht'",
        "snr = '30 dB'\nsnr_changes = [{ at = '600 ms', to = '9 dB', over = '1 s' }]\nrate_adaptation = 'ideal'",
    ];
    let walks = vec![
        "",
        "",
        "moves = [{ at = '300 ms', to = ['60 m', '0 m'], over = '1 s' }, { at = '2 s', to = ['5 m', '0 m'] }]",
        "moves = [{ at = '700 ms', to = ['0 m', '900 m'] }]",
    ];
    let signals = (select(noises), select(walks));
    (prop_oneof![3 => air, 2 => newer], select(spaces), any::<(bool, bool)>(), rest, signals).prop_map(
        |((standard, profile, wlan), space, (one_channel, frames), (queue, limit, scheme, cells), (noise, walk))| {
            let has_aggregates = matches!(standard, "802.11n" | "802.11ax");
            let scheme = if has_aggregates { "" } else { scheme };
            let signal = match space {
                Some(_) => walk,
                None if has_aggregates => noise,
                None => "",
            };
            Layout { standard, profile, wlan, space, one_channel, queue, limit, scheme, cells, signal, frames }
        },
    )
}

/// A run, and whether it keeps records of frames.
#[derive(Clone, Copy)]
struct Side<'a> {
    scenario: &'a Scenario,
    fast_paths: bool,
    frames: bool,
}

impl Side<'_> {
    fn start(&self) -> Run {
        let sample_every = Some(Duration::from_millis(250));
        let options = RunOptions { fast_paths: self.fast_paths, sample_every, ..RunOptions::default() };
        let mut run = Run::new(self.scenario, 7, &options);
        if self.frames {
            run.world().watch(WatchPlan { air: true, ..WatchPlan::default() });
        }
        run
    }

    /// The counters of each flow at `until`.
    fn counters(&self, until: Time) -> Vec<FlowCounters> {
        let mut run = self.start();
        run.advance(until);
        (0..self.scenario.network.flows.len()).map(|flow| run.world().counters(flow)).collect()
    }

    /// The results as text, and the records of frames. Two things are left out: events, which count steps of the
    /// program, and the numbers of packets, which are places in memory.
    fn results(&self) -> (String, Vec<String>) {
        let mut run = self.start();
        run.advance(run.end());
        let mut records = vec![];
        for (tap, _) in run.world().aired() {
            records.extend(tap.frames().iter().map(|frame| {
                let mut nameless = *frame;
                nameless.id = None;
                format!("{nameless:?}, heard by {:?}", tap.hearers(frame))
            }));
            records.extend(tap.backoffs().iter().map(|backoff| format!("{backoff:?}")));
        }
        (format!("{:#?}", Outcome { events: 0, ..run.outcome() }), records)
    }
}

/// The first packet that is sent, received or lost in one run and not in the other, found by bisection of time.
fn first_difference(sides: [Side; 2]) -> Option<String> {
    let both = |nanos: u64| sides.map(|side| side.counters(Time::from_nanos(nanos)));
    let (mut same, mut differs) = (0, sides[0].scenario.file.duration.as_nanos());
    let [mut fast, mut plain] = both(differs);
    if fast == plain {
        return None;
    }
    while differs - same > 1 {
        let middle = same + (differs - same) / 2;
        let [one, other] = both(middle);
        if one == other {
            same = middle;
        } else {
            (differs, fast, plain) = (middle, one, other);
        }
    }
    let (flow, (fast, plain)) = fast.iter().zip(&plain).enumerate().find(|(_, (fast, plain))| fast != plain)?;
    let (name, time) = (&sides[0].scenario.network.flows[flow].name, Time::from_nanos(differs).as_secs());
    let columns = |c: &FlowCounters| {
        let lost: (u64, u64) = (c.data_lost.iter().sum(), c.acks_lost.iter().sum());
        [c.data_sent, c.data_arrived, lost.0, c.acks_sent, c.acks_arrived, lost.1]
    };
    let names = ["data sent", "data received", "data lost", "ACK sent", "ACK received", "ACK lost"];
    let (fast, plain) = (columns(fast), columns(plain));
    let place = (0..names.len()).find(|place| fast[*place] != plain[*place])?;
    let number = fast[place].min(plain[place]) + 1;
    let who = if fast[place] > plain[place] { "with fast paths only" } else { "without fast paths only" };
    Some(format!("flow `{name}` at {time:.9} s: {} number {number} {who}", names[place]))
}

fn parse(text: &str) -> Result<Scenario, String> {
    Scenario::parse(text, "random.toml", &[]).map_err(|problems| format!("{problems}\n{text}"))
}

/// Reports the first difference between the runs, if there is one.
fn compare(sides: [Side; 2]) -> Result<(), String> {
    let [(fast, fast_frames), (plain, plain_frames)] = sides.map(|side| side.results());
    if fast == plain && fast_frames == plain_frames {
        return Ok(());
    }
    let line = fast.lines().zip(plain.lines()).find(|(fast, plain)| fast != plain);
    let frame = fast_frames.iter().zip(&plain_frames).find(|(fast, plain)| fast != plain);
    let what = first_difference(sides).unwrap_or_else(|| "no packet, but other results".to_owned());
    Err(format!("{what}; {line:?}; {frame:?}"))
}

/// Random scenarios.
pub(crate) fn scenarios() -> impl Strategy<Value = String> {
    layouts().prop_map(|layout| layout.toml())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn results_do_not_depend_on_fast_paths(layout in layouts()) {
        let text = layout.toml();
        let scenario = parse(&text).map_err(TestCaseError::fail)?;
        let sides = [true, false].map(|fast_paths| Side { scenario: &scenario, fast_paths, frames: layout.frames });
        if let Err(why) = compare(sides) {
            prop_assert!(false, "{why}\n{text}");
        }
    }
}

/// Saturated uploads of datagrams in aggregates, which are kept as runs as long as nothing has to know them one by one.
fn saturated_uploads() -> impl Strategy<Value = String> {
    let keys = vec![
        "aggregation.pass_up_singly = false",
        "short_retry_limit = 2",
        "aggregation.window = 7",
        "aggregation.lifetime = '2 ms'",
        "aggregation.max_amsdu = '3839 B'",
        "rts_threshold = '9 kB'",
        "data_error = 0.1",
        "control_error = 0.05",
    ];
    let wlan = (select(vec!["802.11n", "802.11ac", "802.11ax"]), prop::sample::subsequence(keys, 0..3));
    let stations = (1_u32..12, select(vec![2_u32, 20, 100, 1000]));
    let servers = (select(vec!["0 ms", "1 ms", "7 ms"]), select(vec!["", "rate = '20 Mb/s'", "rate = '1 Gb/s'"]));
    let source =
        (select(vec![300_u32, 3000, 20_000, 70_000]), select(vec![100_u32, 1472]), select(vec!["", "stop = '600 ms'"]));
    (wlan, stations, servers, source).prop_map(
        |((standard, keys), (count, limit), (delay, link), (rate, payload, stop))| {
            format!(
                "duration = '1 s'\nwarm_up = '300 ms'\n[wlan]\nstandard = '{standard}'\n{}\n\
                 [[servers]]\nname = 's'\ndelay = '{delay}'\n{link}\n\
                 [[stations]]\nname = 'sta'\ncount = {count}\nqueue.limit = '{limit} packets'\n\
                 [[flows]]\nname = 'f'\nstation = 'sta'\ndirection = 'up'\ntransport = 'udp'\n\
                 udp.rate = '{rate} kb/s'\nudp.payload = '{payload} B'\nstart_spread = '10 ms'\n{stop}\n",
                keys.join("\n")
            )
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn saturated_uploads_do_not_depend_on_fast_paths(text in saturated_uploads()) {
        let scenario = parse(&text).map_err(TestCaseError::fail)?;
        let sides = [true, false].map(|fast_paths| Side { scenario: &scenario, fast_paths, frames: false });
        if let Err(why) = compare(sides) {
            prop_assert!(false, "{why}\n{text}");
        }
    }
}

/// Datagrams that expire in a full queue make room for others, also while two stations collide.
#[test]
fn saturated_uploads_that_expire_do_not_depend_on_fast_paths() {
    let scenario = parse(
        "duration = '2 s'\n[wlan]\nstandard = '802.11ax'\naggregation.lifetime = '2 ms'\n[[servers]]\nname = 's'\n\
         [[stations]]\nname = 'sta'\ncount = 2\nqueue.limit = '500 packets'\n\
         [[flows]]\nname = 'f'\nstation = 'sta'\ntransport = 'udp'\nudp.rate = '200 Mb/s'\nstop = '1 s'\n",
    )
    .expect("it is valid");
    let sides = [true, false].map(|fast_paths| Side { scenario: &scenario, fast_paths, frames: false });
    assert_eq!(compare(sides), Ok(()));
}

/// A receiver that acknowledges each segment at once still has a timer if it merges segments or compresses SACKs. Over
/// a wired link segments arrive one by one, and only those that are there at the same instant are merged.
#[test]
fn timers_of_receivers_without_delayed_acks_do_not_depend_on_fast_paths() {
    for keys in
        ["tcp.gro = true", "tcp.sack = true\ntcp.recovery = 'sack'\ntcp.sack_compression = '1 ms'\ntcp.cc = 'cubic'"]
    {
        let scenario = parse(&format!(
            "duration = '2 s'\n[wlan]\nstandard = '802.11be'\ndata_error = 0.3\nshort_retry_limit = 2\n\
             [[servers]]\nname = 's'\n[[stations]]\nname = 'sta'\n\
             [[flows]]\nname = 'f'\nstation = 'sta'\ntcp.delayed_ack = false\n{keys}\n"
        ))
        .expect("it is valid");
        let sides = [true, false].map(|fast_paths| Side { scenario: &scenario, fast_paths, frames: false });
        assert_eq!(compare(sides), Ok(()));
    }
}

/// The run ends between a PPDU of which some MPDUs come too late and its block ACK.
#[test]
fn packets_that_come_too_late_at_the_end_do_not_depend_on_fast_paths() {
    for end in ["400 ms", "400.0371 ms", "400.0742 ms"] {
        let scenario = parse(&format!(
            "duration = '{end}'\nwarm_up = '50 ms'\n[wlan]\nstandard = '802.11be'\nwidth = 160\nmcs = 8\n\
             rts_threshold = '0 B'\ncf_end = true\ndata_error = 0.4\naggregation.reorder_timeout = '5 ms'\n\
             [ap]\nqueue.discipline = 'codel'\nqueue.limit = '50 packets'\n\
             [[servers]]\nname = 's'\nrate = '1 Gb/s'\ndelay = '2 ms'\n\
             [[stations]]\nname = 'a'\ncount = 3\n[[stations]]\nname = 'o'\n\
             [[flows]]\nname = 'a0f'\nstation = 'a'\ntransport = 'udp'\nudp.rate = '20 Mb/s'\n\
             [[flows]]\nname = 'a1f'\nstation = 'a'\ntcp.cc = 'cubic'\ncategory = 'voice'\n\
             [[flows]]\nname = 'o0f'\nstation = 'o'\ndirection = 'down'\ntransport = 'udp'\nudp.rate = '100 Mb/s'\n\
             category = 'voice'\n\
             [[flows]]\nname = 'o1f'\nstation = 'o'\ntransport = 'udp'\nudp.rate = '100 Mb/s'\n"
        ))
        .expect("it is valid");
        let sides = [true, false].map(|fast_paths| Side { scenario: &scenario, fast_paths, frames: false });
        assert_eq!(compare(sides), Ok(()), "{end}");
    }
}

/// Single frames of four categories: the access point knows its arrivals in advance, some of its queues run empty, and
/// some are full. ACKs answer several segments or each one, at once or over a long link. With uploads only, segments
/// that wait for a timer on the link to the server arrive together later, and their ACKs are expected, too.
#[test]
fn arrivals_at_an_access_point_with_categories_do_not_depend_on_fast_paths() {
    let cases =
        [("0 s", true, 5, "down"), ("10 ms", false, 1, "down"), ("1 ms", true, 50, "down"), ("10 ms", true, 50, "up")];
    for (delay, delayed_ack, limit, video) in cases {
        let flow = |category: &str, direction: &str| {
            format!(
                "[[flows]]\nname = '{category}'\nstation = 'sta'\ncategory = '{category}'\ndirection = '{direction}'\n"
            )
        };
        let scenario = parse(&format!(
            "duration = '2 s'\nwarm_up = '500 ms'\n\
             [wlan]\nstandard = '802.11n'\naggregation.max_ampdu = '0 B'\n[ap]\nqueue.limit = '{limit} packets'\n\
             [tcp]\ndelayed_ack = {delayed_ack}\n[[servers]]\nname = 's'\ndelay = '{delay}'\n\
             [[stations]]\nname = 'sta'\ncount = 2\n{}{}{}{}",
            flow("voice", "up"),
            flow("video", video),
            flow("best-effort", "up"),
            flow("background", "up"),
        ))
        .expect("it is valid");
        let sides = [true, false].map(|fast_paths| Side { scenario: &scenario, fast_paths, frames: false });
        assert_eq!(compare(sides), Ok(()));
    }
}

/// Echo replies of stations' pings that find the access point's queue full are no lost data, and no TCP ACKs.
#[test]
fn replies_lost_at_an_access_point_do_not_depend_on_fast_paths() {
    let scenario = parse(
        "duration = '3 s'\n[wlan]\nstandard = '802.11b'\n[ap]\nqueue.limit = '5 packets'\n\
         [[servers]]\nname = 's'\n[[stations]]\nname = 'sta'\n\
         [[flows]]\nname = 'echo'\nstation = 'sta'\nworkload = 'ping'\nping.interval = '7 ms'\n\
         [[flows]]\nname = 'f'\nstation = 'sta'\ndirection = 'down'\n",
    )
    .expect("it is valid");
    let sides = [true, false].map(|fast_paths| Side { scenario: &scenario, fast_paths, frames: false });
    let [echo, _] = &sides[0].counters(Time::ZERO + Duration::from_secs(3))[..] else { panic!("two flows") };
    assert!(echo.acks_lost.iter().sum::<u64>() > 0);
    assert_eq!(echo.data_lost.iter().sum::<u64>(), 0);
    let mut run = sides[0].start();
    run.advance(run.end());
    assert_eq!(run.outcome().cell.ap_drops_ack, 0);
    assert_eq!(compare(sides), Ok(()));
}

/// A wrong shortcut is noticed, and the first affected packet is named. The wrong one waits a slot longer for an ACK,
/// which has no effect before the first collision or error.
#[test]
fn a_wrong_shortcut_is_noticed() {
    for space in ["", "[space]\n"] {
        let text = |timeout: u32| {
            format!(
                "duration = '3 s'\nwarm_up = '500 ms'\n\
                 [wlan]\nstandard = '802.11b'\nanswer_timeout = '{timeout} us'\n{space}\
                 [[servers]]\nname = 's'\n[[stations]]\nname = 'sta'\ncount = 3\n\
                 [[flows]]\nname = 'f'\nstation = 'sta'\nserver = 's'\ndirection = 'up'\n"
            )
        };
        let (right, wrong) = (parse(&text(400)).expect("it is valid"), parse(&text(420)).expect("it is valid"));
        let side = |scenario, fast_paths| Side { scenario, fast_paths, frames: false };
        assert_eq!(compare([side(&right, true), side(&right, false)]), Ok(()));
        let sides = [side(&wrong, true), side(&right, false)];
        let why = compare(sides).expect_err("the results differ");
        let (flow, rest) = why.split_once(" at ").expect("it names the flow");
        let (time, rest) = rest.split_once(" s: ").expect("and the time");
        assert!(flow.starts_with("flow `") && rest.contains(" number "), "{why}");
        // Before that time both runs have the same counts, and at that time they differ.
        let time = Time::ZERO + Duration::from_secs_f64(time.parse().expect("a time"));
        let [before, at] = [time - Duration::from_nanos(1), time].map(|time| sides.map(|side| side.counters(time)));
        assert_eq!(before[0], before[1]);
        assert_ne!(at[0], at[1]);
    }
}
