//! PPDUs and air time of stations by channel width.

use wifair_sim::record::{Outcome, StationOutcome};
use wifair_sim::scenario::Scenario;
use wifair_sim::{RunOptions, run};

fn outcome(text: &str) -> Outcome {
    let scenario = Scenario::parse(text, "widths.toml", &[]).unwrap_or_else(|problems| panic!("{problems}"));
    run(&scenario, 1, &RunOptions::default())
}

fn station<'a>(outcome: &'a Outcome, name: &str) -> &'a StationOutcome {
    outcome.stations.iter().find(|station| station.name == name).expect("the station is there")
}

/// PPDUs in 20, 40, 80, 160 and 320 MHz.
fn ppdus(station: &StationOutcome) -> [u64; 5] {
    station.ppdus_by_width.0
}

/// Their air time [s].
fn airs(station: &StationOutcome) -> [f64; 5] {
    station.air_by_width.0
}

/// Two saturated stations and a download to each; `wlan`, `more`, and keys of each station.
fn cell(wlan: &str, more: &str, keys: [&str; 2]) -> String {
    let mut text = format!(
        "duration = '2 s'\nwarm_up = '0.5 s'\n[wlan]\n{wlan}\n{more}\n[[servers]]\nname = 'server'\nrate = '10 Gb/s'\n"
    );
    for (name, keys) in ["a", "b"].iter().zip(keys) {
        text += &format!("[[stations]]\nname = '{name}'\n{keys}\n");
        for direction in ["up", "down"] {
            text += &format!(
                "[[flows]]\nname = '{direction}-{name}'\nstation = '{name}'\ndirection = '{direction}'\n\
                 transport = 'udp'\nudp.payload = '1000 B'\nudp.rate = '50 Mb/s'\n"
            );
        }
    }
    text
}

/// Each width of each standard: all PPDUs, those that collide included, have that width. Without aggregates, all PPDUs
/// of a run last equally long. A PPDU has 16 bits of SERVICE, 26 + 4 bytes around LLC, IP, UDP and 1000 bytes, from VHT
/// on behind a delimiter of 4, and 6 bits of tail, in symbols of 4 us; in 20, 40 and 80 MHz MCS 3 has 104, 216 and 468
/// bits a symbol. The preamble of HT takes 36 us, that of VHT 40 us.
#[test]
fn all_ppdus_of_a_run_have_its_width() {
    let bits = |mpdu: u64| 16 + 8 * mpdu + 6;
    let mpdu = 26 + 4 + 8 + 20 + 8 + 1000;
    let space = "[ap]\nposition = ['0 m', '0 m']\n[space]\n";
    let near = ["position = ['1 m', '0 m']", "position = ['0 m', '1 m']"];
    for (place, standard, band, mhz, us) in [
        (0, "802.11n", 5, 20, Some(36 + 4 * bits(mpdu).div_ceil(104))),
        (1, "802.11n", 5, 40, Some(36 + 4 * bits(mpdu).div_ceil(216))),
        (2, "802.11ac", 5, 80, Some(40 + 4 * bits(mpdu + 4).div_ceil(468))),
        (3, "802.11ax", 5, 160, None),
        (4, "802.11be", 6, 320, None),
    ] {
        let wlan = format!("standard = '{standard}'\nband = '{band} GHz'\nwidth = {mhz}\nmcs = 3\n{SINGLE}");
        for text in [cell(&wlan, "", ["", ""]), cell(&wlan, space, near)] {
            let outcome = outcome(&text);
            assert!(station(&outcome, "a").collisions > 0);
            for name in ["a", "b", "ap"] {
                let own = station(&outcome, name);
                let mut expected = [0; 5];
                expected[place] = own.ppdus;
                assert_eq!(ppdus(own), expected, "{standard}, {mhz} MHz, {name}");
                let mut air = [0.0; 5];
                air[place] = us.map_or(airs(own)[place], |us| own.ppdus as f64 * us as f64 * 1e-6);
                let differs = airs(own).iter().zip(air).any(|(seen, due)| (seen - due).abs() > 1e-9);
                assert!(!differs && air[place] > own.air_data_s, "{standard}, {mhz} MHz, {name}: {air:?}, {own:?}");
            }
        }
    }
}

/// Aggregates as well, in the model and with its shortcuts. The access point sends to each station in its width, and
/// both in some share.
#[test]
fn an_access_point_sends_in_the_width_of_each_receiver() {
    let keys = ["", "standard = '802.11n'\nwidth = 20"];
    let text = cell("standard = '802.11ac'\nwidth = 80\nmcs = 3\nrts_threshold = '1500 B'", "", keys);
    let outcome = outcome(&text);
    let of = |name| ppdus(station(&outcome, name));
    assert_eq!(of("a").map(|count| count > 0), [false, false, true, false, false]);
    assert_eq!(of("b").map(|count| count > 0), [true, false, false, false, false]);
    assert_eq!(of("ap").map(|count| count > 0), [true, false, true, false, false]);
    for name in ["a", "b", "ap"] {
        assert_eq!(of(name).iter().sum::<u64>(), station(&outcome, name).ppdus);
    }
}

#[test]
fn standards_before_802_11n_have_no_widths() {
    let outcome = outcome(&cell("standard = '802.11g'", "", ["", ""]));
    assert_eq!(ppdus(station(&outcome, "ap")), [0; 5]);
    assert_eq!(airs(station(&outcome, "ap")), [0.0; 5]);
}

const SINGLE: &str = "aggregation.max_ampdu = '0 B'";
