//! A group of stations with `count = 0` changes nothing: the run is that of the scenario without the group.

use wifair_sim::RunOptions;
use wifair_sim::record::Outcome;
use wifair_sim::scenario::Scenario;

fn outcome(text: &str) -> Outcome {
    let scenario = Scenario::parse(text, "absent.toml", &[]).unwrap_or_else(|problems| panic!("{text}\n{problems}"));
    wifair_sim::run(&scenario, 1, &RunOptions::default())
}

/// Everything that could be asked of a network because of one of its stations: the slot, contention windows and
/// protection of 802.11b, widths, categories, outages, errors, positions, distances, and rates.
#[test]
fn a_group_of_no_stations_changes_nothing() {
    let g = "standard = '802.11g'";
    let n = "standard = '802.11n'\nband = '2.4 GHz'\nwidth = 40";
    let ax = "standard = '802.11ax'\nwidth = 80\naggregation.max_ampdu = '100 kB'";
    let near = "position = ['3 m', '0 m']";
    for (wlan, space, group) in [
        (g, "[space]", "dsss_only = true\ndata_rate = '11 Mb/s'"),
        (g, "[space]", "data_rate = '6 Mb/s'"),
        (g, "[space]\npropagation = 'log-distance'", "rate_adaptation = 'minstrel'\nposition = ['0 m', '30 m']"),
        (g, "[space]", "outage_up = { up = '100 ms', down = '100 ms' }"),
        (n, "", "standard = '802.11b'\ndata_rate = '2 Mb/s'"),
        (n, "", "standard = '802.11g'\ndata_rate = '6 Mb/s'"),
        (n, "[space]", "standard = '802.11b'\ndata_rate = '2 Mb/s'"),
        (ax, "", "width = 20\nmcs = 0"),
        (ax, "", "standard = '802.11n'\nwidth = 40"),
        (ax, "", "standard = '802.11a'\ndata_rate = '6 Mb/s'"),
        (ax, "", "snr = '8 dB'"),
        (ax, "", "edca.be = { aifsn = 7, cw_min = 31, cw_max = 255 }"),
        (ax, "", "data_error_up = 0.4"),
        (ax, "[space]", "width = 20\nmcs = 0"),
    ] {
        let of = |count: Option<u32>| {
            let place = |own: &str| if space.is_empty() || own.contains("position") { "" } else { near };
            let group = count.map_or_else(String::new, |count| {
                format!(
                    "[[stations]]\nname = 'old'\ncount = {count}\n{group}\n{}\n[[flows]]\nname = 'o'\n\
                     station = 'old'\n[[flows]]\nname = 'p'\nstation = 'old'\ntransport = 'udp'\n\
                     udp = {{ rate = '20 kb/s', payload = '56 B' }}\n",
                    place(group)
                )
            });
            format!(
                "duration = '1500 ms'\nwarm_up = '500 ms'\n[wlan]\n{wlan}\n{space}\n[ap]\nqueue.discipline = \
                 'fq-codel'\n{}\n[[servers]]\nname = 'server'\n[[stations]]\nname = 's'\ncount = 2\n{}\n[[flows]]\n\
                 name = 'd'\nstation = 's'\ndirection = 'down'\n[[flows]]\nname = 'u'\nstation = 's'\n{group}",
                if space.is_empty() { "" } else { "position = ['0 m', '0 m']" },
                if space.is_empty() { "" } else { "position = ['2 m', '0 m']" },
            )
        };
        let [none, absent, one] = [None, Some(0), Some(1)].map(|count| outcome(&of(count)));
        assert_eq!(format!("{none:?}"), format!("{absent:?}"), "{wlan} {space} {group}");
        // The control: one such station is noticed.
        assert_ne!(format!("{:?}", none.flows[0]), format!("{:?}", one.flows[0]), "{wlan} {space} {group}");
    }
}
