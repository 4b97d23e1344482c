//! Stations of older standards beside those of 802.11n and later, where all stations hear each other.

use wifair_mac::{Fate, FrameKind, FrameRecord};
use wifair_sim::scenario::Scenario;
use wifair_sim::world::WatchPlan;
use wifair_sim::{Run, RunOptions};
use wifair_units::{Duration, Time};

/// The frames of the first second of a run with five saturated stations, of this network and of these standards.
fn frames(wlan: &str, standards: [&str; 5], channel: &str) -> Vec<FrameRecord> {
    let station = |(number, standard): (usize, &str)| {
        format!(
            "[[stations]]
            name = 's{number}'
            {standard}
            [[flows]]
            name = 'f{number}'
            station = 's{number}'
            transport = 'udp'
            udp = {{ rate = '40 Mb/s', payload = '{} B' }}",
            300 * (number + 1)
        )
    };
    let stations: Vec<_> = standards.into_iter().enumerate().map(station).collect();
    let text = format!(
        "duration = '1 s'
        wlan = {{ {wlan} }}
        [[servers]]
        name = 'server'
        {}
        {channel}",
        stations.join("\n")
    );
    let scenario = Scenario::parse(&text, "older.toml", &[]).unwrap_or_else(|problems| panic!("{problems}"));
    let mut run = Run::new(&scenario, 1, &RunOptions::default());
    run.world().watch(WatchPlan { air: true, ..WatchPlan::default() });
    run.advance(Time::ZERO + Duration::from_secs(1));
    let (tap, _) = run.world().aired().next().expect("a channel");
    tap.frames().to_vec()
}

const A: &str = "standard = '802.11a'\ndata_rate = '54 Mb/s'";
const G: &str = "standard = '802.11g'\ndata_rate = '54 Mb/s'";
const B: &str = "standard = '802.11b'\ndata_rate = '11 Mb/s'";
const N: &str = "standard = '802.11n'";

/// Frames that begin in the same slot spoil each other's PHY headers, so no PHY reports the start of a frame, and EIFS
/// (10.3.2.3.7), which follows frames in error, does not apply: an older station, too, sends after DIFS, whether or not
/// a newer PPDU was among them. The channel that decides it link by link has the same frames.
#[test]
fn no_station_waits_eifs_after_a_collision() {
    // In the last network RTS collide, not data.
    for (wlan, standards, has_newer) in [
        ("standard = '802.11n', mcs = 7, aggregation.max_ampdu = '0 B'", ["", "", A, A, A], true),
        ("standard = '802.11ax', mcs = 5", ["", N, A, A, A], true),
        ("standard = '802.11ax', mcs = 1, extended_range = 242", ["", "", A, A, N], true),
        ("standard = '802.11ax', band = '2.4 GHz', mcs = 7", ["", N, G, B, B], true),
        ("standard = '802.11n', band = '2.4 GHz', mcs = 7, protect_by_rts = true", ["", "", G, G, B], false),
    ] {
        let [cell, space] = ["", "[space]"].map(|channel| frames(wlan, standards, channel));
        let sorted = |frames: &[FrameRecord]| {
            let mut sorted: Vec<_> = frames.iter().map(|frame| (frame.start, frame.from, frame.end)).collect();
            sorted.sort_unstable();
            sorted
        };
        assert_eq!(sorted(&cell), sorted(&space), "{wlan}");
        let is_older = |frame: &FrameRecord| frame.kind == FrameKind::Data && frame.mode.is_none();
        let collided = |frame: &FrameRecord| frame.fate == Fate::Collision;
        let mut shortest = Duration::from_secs(1);
        let mut collisions = 0;
        for (at, frame) in cell.iter().enumerate().filter(|(_, frame)| is_older(frame)) {
            let Some(last) = cell[..at].iter().filter(|other| other.end <= frame.start).max_by_key(|other| other.end)
            else {
                continue;
            };
            let together: Vec<_> = cell[..at].iter().filter(|other| other.start == last.start).collect();
            let is_bystander = together.iter().all(|other| other.from != frame.from);
            if collided(last) && is_bystander && together.iter().any(|other| other.mode.is_some()) {
                collisions += 1;
                shortest = shortest.min(frame.start - last.end);
            }
        }
        // SIFS + ACK at the lowest rate + DIFS: 94 us in 5 GHz, in 2.4 GHz more.
        assert!(!has_newer || collisions > 5 && shortest < Duration::from_micros(94), "{collisions} {shortest} {wlan}");
    }
}
