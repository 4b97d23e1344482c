//! Settings that would have no effect are refused, unless a choice of higher rank leaves them behind.

use super::{UPLOADS, older, read, uploads};

/// The scenario with these keys in `[wlan]`, after `standard`.
fn wlan(standard: &str, keys: &str) -> String {
    uploads("\"802.11b\"", &format!("\"{standard}\"\n{keys}"))
}

/// Reading `text` fails with one error, which contains each of `parts`.
#[track_caller]
fn is_one_error(text: &str, overrides: &[&str], parts: &[&str]) {
    let told = read(text, overrides).expect_err("must be refused").to_string();
    assert_eq!(told.matches("error:").count(), 1, "{told}");
    for part in parts {
        assert!(told.contains(part), "`{part}` is not in\n{told}");
    }
}

/// A rate or window of DCF would say something untrue of 802.11n, and a window of EDCA of 802.11b, even where the value
/// is the default.
#[test]
fn keys_of_other_standards_at_their_default_values() {
    for key in ["data_rate = '54 Mb/s'", "cw_min = 15", "cw_max = 1023"] {
        is_one_error(&wlan("802.11n", key), &[], &["does not apply to 802.11n"]);
    }
    for key in ["aggregation.policy = 'what-waits'", "edca.be.cw_min = 15", "dscp_mapping = 'rfc8325'"] {
        is_one_error(&wlan("802.11g", key), &[], &["does not apply to 802.11g"]);
    }
    // What is switched off is off.
    for key in ["preamble = 'long'", "whole_symbols = true", "timeout_without_difs = false"] {
        read(&wlan("802.11n", key), &[]).unwrap_or_else(|why| panic!("{why}"));
    }
    for key in ["greenfield = false", "cf_end = false", "packet_padding = '0 us'"] {
        read(&wlan("802.11g", key), &[]).unwrap_or_else(|why| panic!("{why}"));
    }
}

#[test]
fn keys_of_frames_that_the_standard_does_not_have() {
    for (standard, key) in [
        ("802.11a", "preamble = 'short'"),
        ("802.11g", "plcp_rate = '1 Mb/s'"),
        ("802.11b", "signal_extension = '6 us'"),
        ("802.11b", "dsss_basic_rate = '11 Mb/s'"),
        ("802.11a", "dsss_basic_rate = '11 Mb/s'"),
        ("802.11b", "protection = '2 Mb/s'"),
    ] {
        let name = key.split(' ').next().unwrap();
        is_one_error(&wlan(standard, key), &[], &[&format!("`{name}` does not apply"), standard]);
    }
}

/// A sweep over standards needs no edits of the file; the resolved scenario says only what is true of it.
#[test]
fn another_standard_leaves_defaults_behind() {
    let scenario = read(&wlan("802.11g", "data_rate = '54 Mb/s'"), &["wlan.standard=802.11n"]).unwrap();
    let resolved = scenario.to_toml();
    for key in ["data_rate", "cw_min", "cw_max"] {
        assert!(!resolved.lines().any(|line| line.starts_with(key)), "{resolved}");
    }
    assert_eq!(read(&resolved, &[]).unwrap_or_else(|why| panic!("{resolved}\n{why}")), scenario);
    let resolved = read(UPLOADS, &[]).unwrap().to_toml();
    assert!(!resolved.contains("aggregation") && !resolved.contains("edca"), "{resolved}");
}

/// One mistake is one error: other defaults that follow from it are no mistakes of their own.
#[test]
fn a_profile_of_another_standard_is_one_error() {
    is_one_error(&wlan("802.11n", "profile = 'ns2'"), &[], &["`profile` does not apply to 802.11n"]);
}

const BLOCK_ACK: [(&str, &str); 7] = [
    ("agreements", "'on-the-air'"),
    ("window", "32"),
    ("request_after_miss", "true"),
    ("reorder_timeout", "'10 ms'"),
    ("min_start_spacing", "'4 us'"),
    ("pass_up_singly", "false"),
    ("policy", "'wait-until'"),
];

#[test]
fn rules_of_block_ack_without_block_ack() {
    for (key, value) in BLOCK_ACK {
        let keys = format!("aggregation.{key} = {value}");
        let off = wlan("802.11n", &format!("{keys}\naggregation.max_ampdu = '0 B'"));
        is_one_error(&off, &[], &[&format!("`{key}` has no effect"), "`max_ampdu` is \"0 B\""]);
        // A sweep over lengths of aggregates may include none, with the result of a scenario without the key.
        let swept = read(&wlan("802.11n", &keys), &["wlan.aggregation.max_ampdu=0 B"]).unwrap();
        let plain = read(&wlan("802.11n", ""), &["wlan.aggregation.max_ampdu=0 B"]).unwrap();
        assert_eq!(swept.hash(), plain.hash(), "{key}");
        assert_eq!(read(&swept.to_toml(), &[]).unwrap(), swept);
    }
    let short = "aggregation.window = 1\naggregation.reorder_timeout = '10 ms'";
    is_one_error(&wlan("802.11n", short), &[], &["`reorder_timeout` has no effect", "`window` is 1"]);
    let ampdu = "aggregation.agreements = 'on-the-air'\naggregation.inactivity_timeout = '1 s'";
    read(&wlan("802.11n", ampdu), &["wlan.aggregation.max_ampdu=0 B"]).unwrap_or_else(|why| panic!("{why}"));
}

#[test]
fn waits_that_cannot_succeed() {
    let waits = |keys: &str| wlan("802.11n", &format!("aggregation.policy = 'wait-until'\n{keys}"));
    for (keys, part) in [
        ("aggregation.wait-until.packets = 65", "no block ACK covers them"),
        ("aggregation.window = 8", "no block ACK covers them"),
        ("aggregation.lifetime = '1 ms'", "`lifetime` is 1 ms"),
        ("aggregation.wait-until.packets = 51", "`ap.queue.limit` is 50 packets"),
    ] {
        is_one_error(&waits(keys), &[], &[part]);
    }
    read(&waits("aggregation.wait-until.packets = 50"), &[]).unwrap_or_else(|why| panic!("{why}"));
    // An A-MSDU puts several packets into an MPDU.
    let amsdu = "aggregation.window = 8\naggregation.max_amsdu = '7935 B'";
    read(&waits(amsdu), &[]).unwrap_or_else(|why| panic!("{why}"));
    let alone = "aggregation.max_ampdu = '0 B'\naggregation.max_amsdu = '7935 B'";
    read(&waits(alone), &[]).unwrap_or_else(|why| panic!("{why}"));
}

#[test]
fn settings_of_the_channel_that_nothing_uses() {
    let text = wlan("802.11n", "ldpc_extra_symbol = true");
    is_one_error(&text, &[], &["`ldpc_extra_symbol` has no effect", "write coding = \"ldpc\""]);
    read(&wlan("802.11n", "ldpc_extra_symbol = true\ncoding = 'ldpc'"), &[]).unwrap_or_else(|why| panic!("{why}"));
    let text = wlan("802.11n", "band = '2.4 GHz'\nprotect_by_rts = true");
    is_one_error(&text, &[], &["`protect_by_rts` has no effect", "rts_threshold"]);
    is_one_error(&wlan("802.11n", "repeat_cf_end = true"), &[], &["`repeat_cf_end` has no effect", "cf_end = true"]);
    read(&format!("{text}\n[[stations]]\nname = 'old'\nstandard = '802.11b'\n"), &[])
        .unwrap_or_else(|why| panic!("{why}"));
    is_one_error(&wlan("802.11n", "use_protection = false"), &[], &["`use_protection` has no effect", "leave it out"]);
    read(
        &wlan(
            "802.11n",
            "band = '2.4 GHz'\nuse_protection = false\n[[stations]]\nname = 'old'\nstandard = '802.11b'\n",
        ),
        &[],
    )
    .unwrap_or_else(|why| panic!("{why}"));
    is_one_error(&wlan("802.11n", "aggregation.max_ppdu_time = '1 us'"), &[], &["must be from 20 us to 5.484 ms"]);
}

/// Only 802.11b stations cannot read OFDM, and only stations older than 802.11n cannot read the greenfield format.
/// Where there are none, nothing is protected that `use_protection = false` could leave unprotected. A rate in
/// `protection` says the opposite of it.
#[test]
fn use_protection_where_nothing_needs_it() {
    let told = "`use_protection` has no effect";
    for standard in ["802.11b", "802.11a", "802.11g"] {
        is_one_error(&wlan(standard, "use_protection = false"), &[], &[told, "leave it out"]);
    }
    let old = |standard: &str| format!("[[stations]]\nname = 'old'\nstandard = '{standard}'\n");
    let beside = |keys: &str, standard: &str| wlan("802.11n", &format!("{keys}\n{}", old(standard)));
    is_one_error(&beside("use_protection = false", "802.11a"), &[], &[told, "802.11a", "leave it out"]);
    is_one_error(&beside("use_protection = false\nband = '2.4 GHz'", "802.11g"), &[], &[told, "802.11g"]);
    let text = beside("use_protection = false\ngreenfield = true", "802.11a");
    read(&text, &[]).unwrap_or_else(|why| panic!("{why}"));
    let text = beside("use_protection = false\nprotection = '2 Mb/s'\nband = '2.4 GHz'", "802.11b");
    is_one_error(&text, &[], &["`use_protection` is false, but `protection` gives a rate", "leave one of the two out"]);
}

/// No frame is DSSS where no station is of 802.11b and no rate is one of DSSS.
#[test]
fn keys_of_dsss_frames_without_any() {
    for key in ["dsss_basic_rate = '5.5 Mb/s'", "preamble = 'short'"] {
        let name = key.split(' ').next().unwrap();
        let text = wlan("802.11n", &format!("band = '2.4 GHz'\n{key}"));
        is_one_error(&text, &[], &[&format!("`{name}` has no effect"), "no station is of 802.11b"]);
        let text = format!("{text}\n[[stations]]\nname = 'old'\nstandard = '802.11b'\n");
        read(&text, &[]).unwrap_or_else(|why| panic!("{why}"));
    }
    for rate in ["protection = '2 Mb/s'", "broadcast_rate = '11 Mb/s'"] {
        let text = wlan("802.11n", &format!("band = '2.4 GHz'\npreamble = 'short'\n{rate}"));
        read(&text, &[]).unwrap_or_else(|why| panic!("{why}"));
    }
}

#[test]
fn keys_of_dsss_frames_without_any_in_80211g() {
    for key in ["dsss_basic_rate = '5.5 Mb/s'", "preamble = 'short'"] {
        let name = key.split(' ').next().unwrap();
        is_one_error(&wlan("802.11g", key), &[], &[&format!("`{name}` has no effect"), "dsss_only"]);
        for used in ["data_rate = '11 Mb/s'", "basic_rate = '2 Mb/s'", "broadcast_rate = '11 Mb/s'"] {
            read(&wlan("802.11g", &format!("{used}\n{key}")), &[]).unwrap_or_else(|why| panic!("{used} {why}"));
        }
        // A sweep over rates needs no edits.
        read(&wlan("802.11g", &format!("data_rate = '11 Mb/s'\n{key}")), &["wlan.data_rate=54 Mb/s"])
            .unwrap_or_else(|why| panic!("{why}"));
        let old = format!("{key}\n[[stations]]\nname = 'old'\ndata_rate = '11 Mb/s'\n");
        read(&wlan("802.11g", &old), &[]).unwrap_or_else(|why| panic!("{why}"));
    }
}

/// By default no frame is as long as `rts_threshold`. From 802.11n on Minstrel-HT asks for RTS, too.
#[test]
fn keys_of_rts_and_cts_without_any() {
    for key in ["rts_size = '40 B'", "cts_size = '40 B'", "nav_reset = false"] {
        let told = format!("`{}` has no effect", key.split(' ').next().unwrap());
        for standard in ["802.11b", "802.11g", "802.11n"] {
            is_one_error(&wlan(standard, key), &[], &[&told, "rts_threshold = \"0 B\""]);
            let used = wlan(standard, &format!("{key}\nrts_threshold = '0 B'"));
            read(&used, &[]).unwrap_or_else(|why| panic!("{why}"));
            let off = format!("wlan.rts_threshold={}", if standard == "802.11n" { "16 MB" } else { "2347 B" });
            read(&used, &[&off]).unwrap_or_else(|why| panic!("{why}"));
        }
        let adapts = wlan("802.11n", &format!("{key}\nrate_adaptation = 'minstrel-ht'\ndata_error = 0.1"));
        let snr = adapts.replace("name = \"sta\"", "name = \"sta\"\nsnr = \"30 dB\"");
        read(&snr, &[]).unwrap_or_else(|why| panic!("{why}"));
    }
    // A CTS-to-self follows no RTS.
    let protected = wlan("802.11n", "band = '2.4 GHz'\nprotection = '2 Mb/s'\ncts_size = '40 B'");
    read(&protected, &[]).unwrap_or_else(|why| panic!("{why}"));
}

/// By default the TXOP limits of best effort and background are 0: a TXOP is one exchange (IEEE Std 802.11-2016, table
/// 9-137). Those of voice and video are not.
#[test]
fn cf_ends_of_txops_of_one_exchange() {
    let told = ["`cf_end` has no effect", "edca.be.txop"];
    is_one_error(&wlan("802.11n", "cf_end = true"), &[], &told);
    is_one_error(&wlan("802.11n", "cf_end = true\nrepeat_cf_end = true"), &[], &told);
    is_one_error(&wlan("802.11n", "cf_end = true\nedca.vi.txop = '1504 us'"), &[], &told);
    let limited = wlan("802.11n", "cf_end = true\nedca.be.txop = '1504 us'");
    read(&limited, &[]).unwrap_or_else(|why| panic!("{why}"));
    // A sweep over limits may include none.
    read(&limited, &["wlan.edca.be.txop=0 us"]).unwrap_or_else(|why| panic!("{why}"));
    let at_the_ap = wlan("802.11n", "cf_end = true\n[ap]\nedca.be.txop = '1504 us'\n");
    read(&at_the_ap, &[]).unwrap_or_else(|why| panic!("{why}"));
    let voice = format!("{}\ncategory = 'voice'\n", wlan("802.11n", "cf_end = true").trim_end());
    read(&voice, &[]).unwrap_or_else(|why| panic!("{why}"));
}

/// Errors at every station are those of DCF's frames; those of aggregates in space follow from bit errors.
#[test]
fn errors_at_every_station_of_80211n() {
    let text = wlan("802.11n", "data_error = 0.1\nerrors_at = 'every-station'");
    is_one_error(&text, &[], &["`errors_at` does not apply to 802.11n", "spoils = \"bits\""]);
}

/// Stations that send wider PPDUs than their channel; the same error with and without `[space]`.
#[test]
fn ppdus_wider_than_the_channel() {
    let told = older("", "width = 40").expect_err("too wide").to_string();
    assert!(told.contains("PPDUs of 40 MHz in a channel of 20 MHz"), "{told}");
    older("width = 40", "width = 20").unwrap_or_else(|why| panic!("{why}"));
}

#[test]
fn widths_that_no_access_point_has() {
    let text = |wlan: &str, ap: &str| {
        let top = format!("\"802.11ac\"\n{wlan}\n[space]\noverlapping_channels = true\n[ap]\nchannels = [36]\n{ap}\n");
        uploads("\"802.11b\"", &top)
    };
    is_one_error(&text("", "widths = [80, 40]"), &[], &["2 `widths` for 1 access point"]);
    is_one_error(&text("width = 40", "widths = [80]"), &[], &["`width` sets nothing", "`widths`"]);
    read(&text("", "widths = [80]"), &[]).unwrap_or_else(|why| panic!("{why}"));
    // A sweep over the number of access points needs no edits.
    let two = text("", "count = 2\nwidths = [80, 40]");
    let scenario = read(&two, &["ap.count=1"]).unwrap_or_else(|why| panic!("{why}"));
    assert_eq!(read(&scenario.to_toml(), &[]).unwrap(), scenario);
}

/// Rate adaptation that does not choose among the rates of the group's own standard.
#[test]
fn rate_adaptation_of_older_stations() {
    let told = older("", "standard = '802.11a'\nrate_adaptation = 'minstrel-ht'").expect_err("no MCS").to_string();
    assert!(told.contains("\"minstrel-ht\" does not choose among the rates of 802.11a"), "{told}");
    older("rate_adaptation = 'minstrel-ht'", "standard = '802.11a'").unwrap_or_else(|why| panic!("{why}"));
    // AARF does choose among the rates of 802.11a, but not beside newer stations.
    let told = older("", "standard = '802.11a'\nrate_adaptation = 'aarf'").expect_err("fixed here").to_string();
    assert!(told.contains("stations of 802.11a have no rate adaptation here"), "{told}");
}

/// The EDCA Parameter Set element counts TXOP limits in units of 32 us (9.4.2.29).
#[test]
fn txop_limits_that_no_element_can_announce() {
    let told = read(&wlan("802.11n", "edca.be.txop = '3 ms'"), &[]).expect_err("no such limit").to_string();
    assert!(told.contains("write 2976 us or 3008 us"), "{told}");
    read(&wlan("802.11n", "edca.be.txop = '3.008 ms'"), &[]).unwrap_or_else(|why| panic!("{why}"));
    let freely = "edca.be.txop = '3 ms'\nnonstandard_windows = true";
    read(&wlan("802.11n", freely), &[]).unwrap_or_else(|why| panic!("{why}"));
}
