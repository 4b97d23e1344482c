//! Several access points in one scenario.

use wifair_sim::record::Outcome;
use wifair_sim::scenario::{Node, Scenario};
use wifair_sim::{RunOptions, run};

fn scenario(text: &str) -> Scenario {
    Scenario::parse(text, "cells.toml", &[]).unwrap_or_else(|problems| panic!("{problems}"))
}

fn outcome(text: &str) -> Outcome {
    run(&scenario(text), 1, &RunOptions::default())
}

fn problems(text: &str) -> String {
    Scenario::parse(text, "cells.toml", &[]).expect_err("the scenario is wrong").to_string()
}

/// Stations, a server and flows of one cell.
fn cell(number: u32) -> String {
    format!(
        "
        [[servers]]
        name = 'server{number}x'
        at = 'ap{number}'
        delay = '5 ms'
        [[stations]]
        name = 'sta{number}x'
        count = 3
        ap = 'ap{number}'
        [[flows]]
        name = 'up{number}x'
        station = 'sta{number}x'
        server = 'server{number}x'
        [[flows]]
        name = 'down{number}x'
        station = 'sta{number}x'
        server = 'server{number}x'
        direction = 'down'
        "
    )
}

/// Cells on different channels are independent: each behaves as it does alone, to the last byte, on the shared channel
/// and on the spatial one.
#[test]
fn cells_on_different_channels_are_independent() {
    for space in ["", "[space]\n[[space.paths]]\nfrom = 'ap1'\nto = 'sta1x'\nmiss = 0.0\n"] {
        let top = format!("duration = '5 s'\nwlan.standard = '802.11b'\n{space}");
        let both = outcome(&format!("{top}[ap]\ncount = 2\nchannels = [1, 6]\n{}{}", cell(1), cell(2)));
        for number in [1, 2] {
            let top = top.replace("ap1", &format!("ap{number}")).replace("sta1x", &format!("sta{number}x"));
            let alone = outcome(&format!("{top}[ap]\nname = 'ap{number}'\n{}", cell(number)));
            for flow in &alone.flows {
                let same = both.flows.iter().find(|other| other.name == flow.name).expect("the flow is there");
                assert_eq!(format!("{flow:?}"), format!("{same:?}"));
            }
            for station in &alone.stations {
                let same = both.stations.iter().find(|other| other.name == station.name);
                assert_eq!(format!("{:?}", Some(station)), format!("{same:?}")); // NaN is NaN
            }
        }
    }
}

/// On one channel and in range of each other, two saturated stations share the air draw by draw as they do in one cell,
/// because their access points send only ACKs; out of range, each gets all of it.
#[test]
fn cells_on_one_channel_share_the_air_where_they_hear_each_other() {
    let text = |metres: u32| {
        format!(
            "duration = '10 s'
            wlan.standard = '802.11b'
            [space]
            reception.capture = 'none'
            [ap]
            count = 2
            layout = 'chain'
            chain.spacing = '{metres} m'
            [[routers]]
            name = 'switch'
            [[links]]
            from = 'ap'
            to = 'switch'
            rate = '1 Gb/s'
            [[servers]]
            name = 'server'
            at = 'switch'
            [[stations]]
            name = 'sta'
            count = 2
            layout = 'chain'
            chain.spacing = '{metres} m'
            [[flows]]
            name = 'up'
            station = 'sta'
            transport = 'udp'
            udp.rate = '20 Mb/s'
            "
        )
    };
    let alone = outcome(&text(20).replace("count = 2", "count = 1")).cell.goodput_bps;
    // The first `count` in the text is that of the access points.
    let one_cell = outcome(&text(20).replacen("count = 2", "count = 1", 1)).cell.goodput_bps;
    let near = outcome(&text(20)).cell;
    let far = outcome(&text(5000)).cell;
    assert_eq!(near.goodput_bps, one_cell);
    assert!((far.goodput_bps / alone - 2.0).abs() < 0.01, "{} of {alone}", far.goodput_bps);
    assert!(far.air_reuse > 0.5 && near.air_reuse == 0.0);
}

#[test]
fn stations_choose_the_access_point_that_they_receive_best() {
    let text = "duration = '1 s'
        wlan.standard = '802.11b'
        [space]
        [[space.paths]]
        from = 'ap3'
        to = 'sta4'
        gain = '-60 dB'
        [ap]
        count = 3
        layout = 'chain'
        chain.spacing = '50 m'
        channels = [1, 6]
        [[servers]]
        name = 'server'
        at = 'switch'
        [[routers]]
        name = 'switch'
        [[links]]
        from = 'ap'
        to = 'switch'
        rate = '1 Gb/s'
        [[stations]]
        name = 'sta'
        count = 4
        layout = 'chain'
        chain.spacing = '30 m'
        [[stations]]
        name = 'loyal'
        ap = 'ap3'
        [[flows]]
        name = 'up'
        station = 'sta'
        [[flows]]
        name = 'between'
        from = 'sta1'
        to = 'loyal'
        ";
    let cells = scenario(text);
    // Stations at 0, 30, 60 and 90 m, access points at 0, 50 and 100 m.
    assert_eq!(cells.access_points(1), [0, 1, 1, 2, 2]);
    assert_eq!((cells.channel(0), cells.channel(1), cells.channel(2)), (1, 6, 1));
    let path =
        cells.network.path(Node::Station(0), Node::Station(4), &|station| cells.access_points(1)[station]).unwrap();
    assert_eq!(path.len(), 4, "air, two wires, air");
    let result = outcome(text);
    assert!(result.flows.iter().all(|flow| flow.received_bytes > 50_000));
    // Without positions they take the access points in turn.
    let in_turn: String =
        text.lines().filter(|line| !line.contains("chain")).map(|line| line.to_owned() + "\n").collect();
    let in_turn = in_turn.replace("[space]", "").replace("channels = [1, 6]", "channels = [1, 6, 11]");
    let in_turn =
        in_turn.split("[[space.paths]]").next().unwrap().to_owned() + &in_turn[in_turn.find("[ap]").unwrap()..];
    assert_eq!(scenario(&in_turn).access_points(1), [0, 1, 2, 0, 2]);
}

#[test]
fn what_does_not_fit_together_is_told() {
    let text = |ap: &str, station: &str, server: &str| {
        format!(
            "duration = '1 s'\nwlan.standard = '802.11b'\n[ap]\n{ap}\n[[servers]]\nname = 'server'\n{server}\n\
             [[stations]]\nname = 'sta'\n{station}\n[[flows]]\nname = 'up'\nstation = 'sta'\n"
        )
    };
    let told = problems(&text("count = 2", "", ""));
    assert!(told.contains("2 access points on 1 channels"), "{told}");
    let several = "count = 2\nchannels = [1, 6]";
    let told = problems(&text(several, "", ""));
    assert!(told.contains("server `server` is joined to none of several access points"), "{told}");
    let told = problems(&text(several, "ap = 'ap3'", "at = 'ap1'"));
    assert!(told.contains("unknown access point `ap3`") && told.contains("did you mean"), "{told}");
    let told = problems(&text(several, "ap = 'server'", "at = 'ap1'"));
    assert!(told.contains("`server` is not an access point"), "{told}");
    let told = problems(&text(several, "", "at = 'ap1'"));
    assert!(told.contains("no path from `sta` to `server`"), "{told}");
    let told = problems(&text("channels = []", "", ""));
    assert!(told.contains("at least one"), "{told}");
    let told = problems(&format!("routing.protocol = 'dsdv'\n{}", text("", "", "")));
    assert!(told.contains("routing by \"dsdv\" without an ad-hoc network"), "{told}");
}

/// Where all stations hear each other, a position would be ignored.
#[test]
fn positions_and_radios_need_space() {
    for (key, values) in [("position", "['5 m', '0 m']"), ("layout", "'circle'"), ("radio.noise", "'-80 dBm'")] {
        for table in ["ap", "sta"] {
            let of = |name| if table == name { format!("{key} = {values}\n") } else { String::new() };
            let text = |space| {
                format!(
                    "duration = '1 s'\nwlan.standard = '802.11g'\n{space}[ap]\n{}[[servers]]\nname = 'server'\n\
                     [[stations]]\nname = 'sta'\n{}[[flows]]\nname = 'up'\nstation = 'sta'",
                    of("ap"),
                    of("sta")
                )
            };
            let needs = format!("`{}` needs [space]", key.split('.').next().unwrap());
            assert!(problems(&text("")).contains(&needs), "{table}.{key}");
            assert!(outcome(&text("[space]\n")).cell.goodput_bps > 0.0);
        }
    }
}

/// An announcement of a single entry has to fit into the largest one.
#[test]
fn a_routing_header_that_leaves_no_room_for_an_entry_is_refused() {
    let text = |header: &str| {
        format!(
            "duration = '1 s'\nwlan.standard = '802.11b'\nspace.mode = 'ad-hoc'\nrouting.protocol = 'dsdv'\n\
             routing.dsdv.header = '{header}'\n[[stations]]\nname = 'n'\ncount = 2\n[[flows]]\nname = 'f'\n\
             from = 'n1'\nto = 'n2'\ntransport = 'udp'\nudp.rate = '8 kb/s'"
        )
    };
    let told = problems(&text("1489 B"));
    assert!(told.contains("`header` and one `entry` are 1501 B, and `limit` is 1500 B"), "{told}");
    assert!(outcome(&text("1488 B")).cell.routing_packets > 0);
}

/// Ten overlapping cells with two hundred stations at random places.
#[test]
fn a_field_of_two_hundred_stations_in_ten_cells_runs() {
    let result = outcome(
        "duration = '2 s'
        wlan.standard = '802.11g'
        [space]
        [ap]
        count = 10
        layout = 'grid'
        grid.columns = 5
        grid.spacing = '60 m'
        channels = [1, 6, 11]
        [[routers]]
        name = 'switch'
        [[links]]
        from = 'ap'
        to = 'switch'
        rate = '1 Gb/s'
        [[servers]]
        name = 'server'
        at = 'switch'
        rate = '1 Gb/s'
        [[stations]]
        name = 'sta'
        count = 200
        position = ['-30 m', '-30 m']
        layout = 'random'
        random.width = '300 m'
        random.height = '120 m'
        [[flows]]
        name = 'down'
        station = 'sta'
        direction = 'down'
        ",
    );
    assert_eq!((result.flows.len(), result.stations.len()), (200, 210));
    let served = result.flows.iter().filter(|flow| flow.received_bytes > 0).count();
    assert!(served > 150, "{served} of 200");
    assert!(result.cell.goodput_bps > 30e6, "{} bit/s on three channels", result.cell.goodput_bps);
}

/// Station 1 does not reach station 2, but station 2 reaches station 1; the access point, first in the matrix, reaches
/// both.
#[test]
fn a_matrix_gives_the_gain_of_every_path() {
    let text = |gains: &str| {
        format!(
            "duration = '1 s'\nwlan.standard = '802.11b'\nspace.gains = {gains}\n[[servers]]\nname = 'server'\n\
             [[stations]]\nname = 'sta'\ncount = 2\n[[flows]]\nname = 'up'\nstation = 'sta'\n"
        )
    };
    let matrix = "[['0 dB', '-60 dB', '-70 dB'], ['-61 dB', '0 dB', '-200 dB'], ['-71 dB', '-80 dB', '0 dB']]";
    let given = scenario(&text(matrix));
    let links = given.hearing(given.file.space.as_ref().unwrap(), 1, &given.nodes_on_air());
    // 20 dBm minus the loss.
    for (from, to, power) in [(0, 1, -40.0_f64), (0, 2, -50.0), (1, 0, -41.0), (2, 0, -51.0), (2, 1, -60.0)] {
        let expected = 10.0_f64.powf(power / 10.0);
        assert!((links.received_power(from, to) / expected - 1.0).abs() < 1e-9, "{from} to {to}");
    }
    assert_eq!(links.received_power(1, 2), 0.0);
    let told = problems(&text("[['0 dB', '-60 dB'], ['-60 dB', '0 dB']]"));
    assert!(told.contains("a matrix of 2 rows and 2 columns for 3 nodes"), "{told}");
}

/// 802.11b stations in an 802.11g network: the others protect their frames unless told otherwise, which costs 248 us of
/// CTS and 10 us of SIFS per frame, and broadcast frames are sent at a rate that all can read.
#[test]
fn frames_are_protected_where_there_are_80211b_stations() {
    let text = |more: &str, dsss_only: bool| {
        format!(
            "duration = '2 s'\n[wlan]\nstandard = '802.11g'\n{more}\n[space]\n[[servers]]\nname = 'server'\n\
             [[stations]]\nname = 'sta'\n[[stations]]\nname = 'old'\ndata_rate = '{}'\ndsss_only = {dsss_only}\n\
             [[flows]]\nname = 'up'\nstation = 'sta'\ntransport = 'udp'\nudp.rate = '54 Mb/s'\n",
            if dsss_only { "11 Mb/s" } else { "54 Mb/s" }
        )
    };
    let goodput = |more: &str, dsss_only: bool| outcome(&text(more, dsss_only)).cell.goodput_bps;
    let free = goodput("slot = '20 us'", false);
    assert_eq!(goodput("use_protection = false", true), free);
    // 1472 bytes each: protection adds 258 us.
    let bits = 1472.0 * 8.0;
    let longer = bits / goodput("", true) - bits / free;
    assert!((longer - 258e-6).abs() < 5e-6, "{longer} s");
    assert_eq!(goodput("protection = '2 Mb/s'\nslot = '20 us'", false), goodput("", true));
    // HR/DSSS knows the slot of 20 us alone, so that all have it: 2 + 7.5 slots, each 11 us longer than the short ones.
    let short = bits / free - bits / goodput("", false);
    assert!((short - 9.5 * 11e-6).abs() < 3e-6, "{short} s");
    assert_eq!(goodput("use_protection = false\nslot = '9 us'", true), goodput("", false));
}

/// An 802.11g station has the rates of DSSS and CCK, too: 192 us and 1536 B at 11 Mb/s, 1118 us, without a signal
/// extension, SIFS, an ACK at 2 Mb/s, 248 us, and DIFS and 7.5 short slots.
#[test]
fn stations_of_80211g_have_the_rates_of_80211b() {
    let text = |wlan: &str, station: &str| {
        format!(
            "duration = '4 s'\n[wlan]\nstandard = {wlan}\n[[servers]]\nname = 'server'\n[[stations]]\nname = 'sta'\n\
             {station}\n[[flows]]\nname = 'up'\nstation = 'sta'\ntransport = 'udp'\nudp.rate = '11 Mb/s'\n"
        )
    };
    let cycle = |wlan: &str, station: &str| 1472.0 * 8.0 / outcome(&text(wlan, station)).cell.goodput_bps;
    let expected = 192e-6 + 1118e-6 + 10e-6 + 248e-6;
    for (wlan, station) in [
        ("'802.11g'", "data_rate = '11 Mb/s'"),
        ("'802.11g'\ndata_rate = '11 Mb/s'", ""),
        ("'802.11n'\nband = '2.4 GHz'", "standard = '802.11g'\ndata_rate = '11 Mb/s'"),
    ] {
        let found = cycle(wlan, station);
        assert!((found - expected - 28e-6 - 67.5e-6).abs() < 4e-6, "{wlan}: {found} s");
    }
    // The slots of an 802.11b station, 20 us, and its aCWmin of 31.
    let found = cycle("'802.11n'\nband = '2.4 GHz'", "standard = '802.11b'");
    assert!((found - expected - 50e-6 - 15.5 * 20e-6).abs() < 16e-6, "{found} s");
    // The short preamble saves 96 us twice; an ACK at 11 Mb/s takes 11 instead of 56 us. The backoffs are the same.
    for (keys, saved) in [("preamble = 'short'", 192e-6), ("dsss_basic_rate = '11 Mb/s'", 45e-6)] {
        let shorter = cycle(&format!("'802.11n'\nband = '2.4 GHz'\n{keys}"), "standard = '802.11b'");
        assert!((found - shorter - saved).abs() < 6e-6, "{keys}: {found} s and {shorter} s");
        let told = problems(&text(&format!("'802.11n'\n{keys}"), ""));
        assert!(told.contains("does not apply to 802.11n") && told.contains("write band = \"2.4 GHz\""), "{told}");
    }
    let told = problems(&text("'802.11g'", "data_rate = '10 Mb/s'"));
    assert!(told.contains("one of 1, 2, 5.5, 6, 9, 11, 12, 18, 24, 36, 48, 54 Mb/s"), "{told}");
    let told = problems(&text("'802.11a'", "data_rate = '11 Mb/s'"));
    assert!(told.contains("one of 6, 9, 12, 18, 24, 36, 48, 54 Mb/s"), "{told}");
}

/// 802.11b stations send at 11 Mb/s unless told otherwise, and never use OFDM, whose responses they could not read.
#[test]
fn stations_of_80211b_send_no_ofdm() {
    let text = |standard: &str, rate: &str| {
        format!(
            "duration = '1 s'\nwlan.standard = '{standard}'\n[space]\n[[servers]]\nname = 'server'\n[[stations]]\nname = 'old'\n\
             dsss_only = true\n{rate}\n[[flows]]\nname = 'up'\nstation = 'old'\ntransport = 'udp'\nudp.rate = '1 Mb/s'\n"
        )
    };
    let usual = outcome(&text("802.11g", ""));
    assert_eq!(usual.cell.frames_given_up, 0);
    assert_eq!(format!("{usual:?}"), format!("{:?}", outcome(&text("802.11g", "data_rate = '11 Mb/s'"))));
    let told = problems(&text("802.11g", "data_rate = '54 Mb/s'"));
    assert!(told.contains("802.11b has no rate of 54 Mb/s") && told.contains("one of 1, 2, 5.5, 11 Mb/s"), "{told}");
    let told = problems(&text("802.11a", "data_rate = '11 Mb/s'"));
    assert!(told.contains("`dsss_only` does not apply"), "{told}");
}

/// A typical sign error: no path amplifies.
#[test]
fn gains_above_0_db_are_refused() {
    let text = |space: &str| {
        format!(
            "duration = '1 s'\nwlan.standard = '802.11b'\nspace.mode = 'ad-hoc'\n{space}\n[[stations]]\nname = 'n'\ncount = 2\n\
             [[flows]]\nname = 'f'\nfrom = 'n1'\nto = 'n2'\n"
        )
    };
    for space in [
        "space.gains = [['0 dB', '90 dB'], ['-90 dB', '0 dB']]",
        "[[space.paths]]\nfrom = 'n1'\nto = 'n2'\ngain = '90 dB'",
    ] {
        let told = problems(&text(space));
        assert!(told.contains("0 dB or less"), "{told}");
    }
}

/// A frame that spans the end of the warm-up may be lost to errors, and no frame be received after it.
#[test]
fn a_run_in_which_no_frame_is_read_has_a_report() {
    let text = |warm_up_us: u32| {
        format!(
            "duration = '100 ms'\nwarm_up = '{warm_up_us} us'\nwlan.standard = '802.11b'\nwlan.cw_max = 31\n\
             space.reception.spoils = 'bits'\nspace.reception.capture_threshold = '-20 dB'\n\
             space.gains = [['0 dB', '-90 dB'], ['-90 dB', '0 dB']]\nspace.radio.noise = '-70 dBm'\n\
             [[servers]]\nname = 'server'\n[[stations]]\nname = 'sta'\nqueue.limit = '1 packet'\n\
             [[flows]]\nname = 'up'\nstation = 'sta'\ntransport = 'udp'\nudp.rate = '9 Mb/s'\nstop = '40 ms'\n"
        )
    };
    for step in 0..20 {
        let cell = outcome(&text(20_000 + 200 * step)).cell;
        assert_eq!(cell.air_data, 0.0);
        let used = [cell.air_ack, cell.air_rts_cts, cell.air_collision, cell.air_error, cell.air_reuse, cell.air_idle];
        assert!((used.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{cell:?}");
    }
}

/// Errors at every station act on access categories as on DCF, also without positions: bystanders that miss a frame
/// wait EIFS.
#[test]
fn errors_at_every_station_with_access_categories() {
    let text = |errors_at: &str, access: &str, space: &str| {
        format!(
            "duration = '2 s'\n{space}\n[wlan]\nstandard = '802.11g'\ndata_error = 0.2\n\
             errors_at = '{errors_at}'\n[ap]\nscheme.access = '{access}'\n[[servers]]\nname = 'server'\n[[stations]]\nname = 'sta'\ncount = 5\n\
             [[flows]]\nname = 'up'\nstation = 'sta'\ntransport = 'udp'\nudp.rate = '20 Mb/s'\n"
        )
    };
    for access in ["none", "edca"] {
        let at = |errors_at: &str, space: &str| outcome(&text(errors_at, access, space)).cell.goodput_bps;
        let (receiver, every) = (at("receiver", ""), at("every-station", ""));
        assert_ne!(receiver, every, "{access}");
        assert_eq!(every, at("every-station", "space = {}"), "{access}");
    }
}

/// Stations from before HT use DCF (IEEE Std 802.11-2016, 10.3.4.3) also beside newer ones: next to an idle station of
/// 802.11n, stations of 802.11a get what they get in an 802.11a network.
#[test]
fn older_stations_count_slots_by_dcf() {
    let goodput = |wlan: &str, station: &str, other: &str, space: &str| {
        outcome(&format!(
            "duration = '3 s'\n{space}\n[wlan]\n{wlan}\n[[servers]]\nname = 'server'\n[[stations]]\nname = 'old'\n\
             count = 5\n{station}\n{other}\n[[flows]]\nname = 'up'\nstation = 'old'\ntransport = 'udp'\n\
             udp.rate = '20 Mb/s'\n"
        ))
        .cell
        .goodput_bps
    };
    for space in ["", "space = {}"] {
        let among_themselves = goodput("standard = '802.11a'", "", "", space);
        let own = "standard = '802.11a'\ndata_rate = '54 Mb/s'";
        let beside = goodput("standard = '802.11n'", own, "[[stations]]\nname = 'new'", space);
        assert!((beside / among_themselves - 1.0).abs() < 0.002, "{beside} and {among_themselves} b/s");
    }
}
