//! Data rates compared with the tables of the standard, in Mb/s with one decimal: IEEE Std 802.11-2020, 19.5 and 21.5;
//! 802.11ax, 27.5; 802.11be, 36.5.

use wifair_phy::{Amendment, Band, ModeRequest};
use wifair_units::Duration;

fn rate(standard: &str, width: u32, mcs: u32, streams: u32, interval_ns: u64) -> Option<f64> {
    let request = ModeRequest {
        band: (width == 320).then_some(Band::Ghz6),
        width_mhz: Some(width),
        mcs: Some(mcs),
        streams: Some(streams),
        guard_interval: Some(Duration::from_nanos(interval_ns)),
        ..ModeRequest::default()
    };
    let (_, mode) = Amendment::parse(standard).unwrap().mode(&request).ok()?;
    Some(mode.data_rate().as_bps() as f64 / 1e6)
}

fn compare(standard: &str, width: u32, streams: u32, interval_ns: u64, published: &[f64]) {
    for (mcs, published) in published.iter().enumerate() {
        let mcs = u32::try_from(mcs).unwrap();
        let mcs = if standard == "802.11n" { mcs + 8 * (streams - 1) } else { mcs };
        let ours = rate(standard, width, mcs, streams, interval_ns);
        let name = format!("{standard} {width} MHz MCS {mcs}, {streams} streams, {interval_ns} ns");
        match ours {
            None => assert!(published.is_nan(), "{name} does not exist"),
            Some(ours) => assert!((ours - published).abs() < 0.050_001, "{name}: {ours} beside {published}"),
        }
    }
}

const NONE: f64 = f64::NAN;

#[test]
fn ht() {
    compare("802.11n", 20, 1, 800, &[6.5, 13.0, 19.5, 26.0, 39.0, 52.0, 58.5, 65.0]);
    compare("802.11n", 20, 1, 400, &[7.2, 14.4, 21.7, 28.9, 43.3, 57.8, 65.0, 72.2]);
    compare("802.11n", 40, 1, 800, &[13.5, 27.0, 40.5, 54.0, 81.0, 108.0, 121.5, 135.0]);
    compare("802.11n", 40, 1, 400, &[15.0, 30.0, 45.0, 60.0, 90.0, 120.0, 135.0, 150.0]);
    compare("802.11n", 20, 2, 800, &[13.0, 26.0, 39.0, 52.0, 78.0, 104.0, 117.0, 130.0]);
    compare("802.11n", 20, 3, 400, &[21.7, 43.3, 65.0, 86.7, 130.0, 173.3, 195.0, 216.7]);
    compare("802.11n", 40, 4, 800, &[54.0, 108.0, 162.0, 216.0, 324.0, 432.0, 486.0, 540.0]);
    compare("802.11n", 40, 4, 400, &[60.0, 120.0, 180.0, 240.0, 360.0, 480.0, 540.0, 600.0]);
}

#[test]
fn vht() {
    compare("802.11ac", 20, 1, 800, &[6.5, 13.0, 19.5, 26.0, 39.0, 52.0, 58.5, 65.0, 78.0, NONE]);
    compare("802.11ac", 20, 3, 400, &[21.7, 43.3, 65.0, 86.7, 130.0, 173.3, 195.0, 216.7, 260.0, 288.9]);
    compare("802.11ac", 40, 1, 400, &[15.0, 30.0, 45.0, 60.0, 90.0, 120.0, 135.0, 150.0, 180.0, 200.0]);
    compare("802.11ac", 80, 1, 800, &[29.3, 58.5, 87.8, 117.0, 175.5, 234.0, 263.3, 292.5, 351.0, 390.0]);
    compare("802.11ac", 80, 1, 400, &[32.5, 65.0, 97.5, 130.0, 195.0, 260.0, 292.5, 325.0, 390.0, 433.3]);
    compare("802.11ac", 80, 3, 400, &[97.5, 195.0, 292.5, 390.0, 585.0, 780.0, NONE, 975.0, 1170.0, 1300.0]);
    compare("802.11ac", 160, 1, 400, &[65.0, 130.0, 195.0, 260.0, 390.0, 520.0, 585.0, 650.0, 780.0, 866.7]);
    compare("802.11ac", 160, 3, 800, &[175.5, 351.0, 526.5, 702.0, 1053.0, 1404.0, 1579.5, 1755.0, 2106.0, NONE]);
    compare("802.11ac", 160, 8, 400, &[520.0, 1040.0, 1560.0, 2080.0, 3120.0, 4160.0, 4680.0, 5200.0, 6240.0, 6933.3]);
}

#[test]
fn he() {
    let he = |width, streams, interval, rates: [f64; 12]| compare("802.11ax", width, streams, interval, &rates);
    he(20, 1, 800, [8.6, 17.2, 25.8, 34.4, 51.6, 68.8, 77.4, 86.0, 103.2, 114.7, 129.0, 143.4]);
    he(20, 1, 1600, [8.1, 16.3, 24.4, 32.5, 48.8, 65.0, 73.1, 81.3, 97.5, 108.3, 121.9, 135.4]);
    he(20, 1, 3200, [7.3, 14.6, 21.9, 29.3, 43.9, 58.5, 65.8, 73.1, 87.8, 97.5, 109.7, 121.9]);
    he(40, 1, 800, [17.2, 34.4, 51.6, 68.8, 103.2, 137.6, 154.9, 172.1, 206.5, 229.4, 258.1, 286.8]);
    he(80, 1, 800, [36.0, 72.1, 108.1, 144.1, 216.2, 288.2, 324.3, 360.3, 432.4, 480.4, 540.4, 600.4]);
    he(80, 1, 3200, [30.6, 61.3, 91.9, 122.5, 183.8, 245.0, 275.6, 306.3, 367.5, 408.3, 459.4, 510.4]);
    he(80, 2, 800, [72.1, 144.1, 216.2, 288.2, 432.4, 576.5, 648.5, 720.6, 864.7, 960.7, 1080.9, 1201.0]);
    he(160, 1, 1600, [68.1, 136.1, 204.2, 272.2, 408.3, 544.4, 612.5, 680.6, 816.7, 907.4, 1020.8, 1134.2]);
    he(160, 8, 800, [576.5, 1152.9, 1729.4, 2305.9, 3458.8, 4611.8, 5188.2, 5764.7, 6917.6, 7686.3, 8647.1, 9607.8]);
}

#[test]
fn eht() {
    for (width, streams, interval, mcs, published) in [
        (20, 1, 800, 12, 154.9),
        (20, 1, 800, 13, 172.1),
        (80, 1, 800, 12, 648.5),
        (80, 1, 800, 13, 720.6),
        (160, 2, 800, 13, 2882.4),
        (320, 1, 800, 11, 2401.9),
        (320, 1, 800, 13, 2882.4),
        (320, 8, 800, 13, 23_058.8),
        (320, 8, 3200, 13, 19_600.0),
    ] {
        let ours = rate("802.11be", width, mcs, streams, interval).unwrap();
        assert!((ours - published).abs() < 0.050_001, "{width} MHz MCS {mcs}: {ours} beside {published}");
    }
}

/// The error for a mode outside the standard lists those that exist.
#[test]
fn errors_list_what_exists() {
    let default = ModeRequest::default();
    let mcs = |mcs| ModeRequest { mcs: Some(mcs), ..default };
    let interval = |nanos| ModeRequest { guard_interval: Some(Duration::from_nanos(nanos)), ..mcs(0) };
    for (standard, request, key, message) in [
        ("802.11n", mcs(32), "mcs", "no MCS 32 in 802.11n: there are 0 to 31"),
        ("802.11ac", mcs(10), "mcs", "no MCS 10 in 802.11ac: there are 0 to 9"),
        ("802.11be", mcs(14), "mcs", "no MCS 14 in 802.11be: there are 0 to 13 (14 and 15 are not modelled)"),
        ("802.11ax", default, "mcs", "802.11ax needs an MCS: there are 0 to 11"),
        ("802.11b", default, "rate", "802.11b needs a rate: there are 1, 2, 5.5 and 11 Mb/s"),
        ("802.11a", mcs(7), "mcs", "802.11a has no MCS: give a rate, as in 54 Mb/s"),
        (
            "802.11n",
            ModeRequest { streams: Some(2), ..mcs(7) },
            "streams",
            "MCS 7 of 802.11n has 1 stream, not 2: 2 streams have MCS 8 to 15",
        ),
        (
            "802.11n",
            ModeRequest { streams: Some(1), ..mcs(8) },
            "streams",
            "MCS 8 of 802.11n has 2 streams, not 1: 1 stream has MCS 0 to 7",
        ),
        (
            "802.11ax",
            ModeRequest { streams: Some(9), ..mcs(7) },
            "streams",
            "no 9 streams in 802.11ax: there are 1 to 8",
        ),
        (
            "802.11ax",
            interval(400),
            "guard_interval",
            "no guard interval of 400 ns in 802.11ax: there are 800 ns, 1600 ns and 3200 ns",
        ),
        (
            "802.11ac",
            ModeRequest { width_mhz: Some(30), ..mcs(0) },
            "width",
            "no width of 30 MHz in 802.11ac: there are 20 MHz, 40 MHz, 80 MHz and 160 MHz",
        ),
        (
            "802.11ax",
            ModeRequest { width_mhz: Some(80), band: Some(Band::Ghz2_4), ..mcs(0) },
            "width",
            "no 80 MHz in 2.4 GHz: the widest there is 40 MHz",
        ),
        (
            "802.11ac",
            ModeRequest { band: Some(Band::Ghz6), ..mcs(0) },
            "band",
            "no 802.11ac in 6 GHz: it exists in 5 GHz",
        ),
    ] {
        let error = Amendment::parse(standard).unwrap().mode(&request).unwrap_err();
        assert_eq!((error.key, error.message.as_str()), (key, message));
    }
}
