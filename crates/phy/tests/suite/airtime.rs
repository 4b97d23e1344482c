//! Air times compared with independent values in `tests/data/reference/airtime.csv`: computed by the formulas of the
//! standard, and by ns-3 where it follows the standard.

use std::path::Path;

use wifair_phy::{Amendment, Band, ModeRequest, PacketPadding, PpduOptions, PpduTiming, TxMode};
use wifair_units::{BitRate, Bytes, Duration};

struct Row {
    band: Band,
    mode: TxMode,
    length: Bytes,
    expected: Duration,
    text: String,
}

/// MCS 9 with 160 MHz and three streams is not in the tables of VHT (21.5), although ns-3 sends it.
const NOT_IN_THE_STANDARD: &str = "ac,5,160,9,3,";

fn nanos(microseconds: &str) -> Duration {
    let (whole, fraction) = microseconds.split_once('.').unwrap();
    Duration::from_nanos(whole.parse::<u64>().unwrap() * 1_000 + fraction.parse::<u64>().unwrap())
}

fn rows() -> Vec<Row> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/reference/airtime.csv");
    let text = std::fs::read_to_string(path).unwrap();
    let rows: Vec<&str> = text.lines().skip(1).collect();
    assert_eq!(rows.len(), 398);
    rows.into_iter().filter(|line| !line.starts_with(NOT_IN_THE_STANDARD)).map(row).collect()
}

fn row(text: &str) -> Row {
    let cells: Vec<&str> = text.split(',').collect();
    let [standard, band, width, mcs, streams, interval, length, ns3, by_standard, same] = cells[..] else {
        panic!("{text}");
    };
    assert_eq!(same == "1", ns3 == by_standard, "{text}");
    let short_preamble = standard == "b-short";
    let amendment = Amendment::parse(&format!("802.11{}", standard.trim_end_matches("-short"))).unwrap();
    let mut request = ModeRequest { band: Band::parse(band), short_preamble, ..ModeRequest::default() };
    if amendment.highest_mcs().is_none() {
        // The column holds Mb/s here, with 5.5 truncated to 5.
        request.rate =
            Some(if mcs == "5" { BitRate::from_kbps(5_500) } else { BitRate::from_mbps(mcs.parse().unwrap()) });
    } else {
        request.mcs = Some(mcs.parse().unwrap());
        request.width_mhz = Some(width.parse().unwrap());
        request.streams = Some(streams.parse().unwrap());
        request.guard_interval = Some(Duration::from_nanos(interval.parse().unwrap()));
    }
    let (band, mode) = amendment.mode(&request).unwrap_or_else(|error| panic!("{text}: {error}"));
    Row { band, mode, length: Bytes(length.parse().unwrap()), expected: nanos(by_standard), text: text.to_owned() }
}

#[test]
fn every_row_to_the_nanosecond() {
    let rows = rows();
    assert_eq!(rows.len(), 396);
    let wrong: Vec<String> = rows
        .iter()
        .filter_map(|row| {
            let timing = PpduTiming::new(row.mode, row.band);
            let (duration, parts) = (timing.duration(row.length), timing.parts(row.length));
            assert_eq!(duration, parts.total(), "{}", row.text);
            (duration != row.expected).then(|| format!("{}: {} ns", row.text, duration.as_nanos()))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The longest PSDU for a time fits, and one more byte does not.
#[test]
fn the_longest_psdu_is_the_inverse() {
    for row in rows() {
        let timing = PpduTiming::new(row.mode, row.band);
        let longest = timing.longest(row.expected).unwrap();
        assert!(longest >= row.length, "{}", row.text);
        assert_eq!(timing.duration(longest), row.expected, "{}", row.text);
        assert!(timing.duration(longest + Bytes(1)) > row.expected, "{}", row.text);
    }
    let timing = PpduTiming::new(row("n,5,20,7,1,800,14,40.000,40.000,1").mode, Band::Ghz5);
    assert_eq!(timing.longest(Duration::from_micros(35)), None);
}

fn mode(standard: &str, request: ModeRequest) -> (Band, TxMode) {
    Amendment::parse(standard).unwrap().mode(&request).unwrap()
}

/// Worked by hand, 20 MHz and MCS 0 (26 bits per symbol), one stream, 14 bytes: 134 bits with service and tail, 6
/// symbols. HT-greenfield has 24 us of preamble. HE ER SU: 44 + 7.2 us and 134 bits in two symbols of 117 bits; on 106
/// tones 51 bits per symbol, 3 symbols; with DCM on all 242 tones 58 bits per symbol, 3 symbols.
#[test]
fn greenfield_and_extended_range() {
    let us = |(band, mode), expected_ns| {
        assert_eq!(PpduTiming::new(mode, band).duration(Bytes(14)), Duration::from_nanos(expected_ns), "{mode}");
    };
    let mcs = Some(0);
    us(mode("802.11n", ModeRequest { mcs, greenfield: true, ..ModeRequest::default() }), 24_000 + 24_000);
    let range = |tones| ModeRequest { mcs, extended_range: Some(tones), ..ModeRequest::default() };
    us(mode("802.11ax", range(242)), 51_200 + 2 * 13_600);
    us(mode("802.11ax", range(106)), 51_200 + 3 * 13_600);
    us(mode("802.11ax", ModeRequest { dcm: true, ..range(242) }), 51_200 + 3 * 13_600);
    us(mode("802.11ax", ModeRequest { mcs, dcm: true, ..ModeRequest::default() }), 43_200 + 3 * 13_600);
    // A short guard interval is rounded up to 4 us in mixed format only. Two streams add 4 + 4 us of HT-LTFs, minus
    // one.
    let short = ModeRequest { mcs: Some(8), guard_interval: Some(Duration::from_nanos(400)), ..ModeRequest::default() };
    us(mode("802.11n", short), 40_000 + 12_000);
    us(mode("802.11n", ModeRequest { greenfield: true, ..short }), 28_000 + 3 * 3_600);
}

fn refused(standard: &str, request: ModeRequest) -> &'static str {
    Amendment::parse(standard).unwrap().mode(&request).unwrap_err().key
}

/// The errors name the key that is wrong: an extended range has no MCS 5.
#[test]
fn errors_of_an_extended_range_name_it() {
    let request = ModeRequest { mcs: Some(5), extended_range: Some(242), ..ModeRequest::default() };
    assert_eq!(refused("802.11ax", request), "extended_range");
}

/// The field GI+LTF Size of HE has 1x and 2x with 0.8 us, 2x with 1.6 us and 4x with 3.2 us, and 4x with 0.8 us by DCM
/// and STBC together, of which neither applies; that of EHT MU has 2x and 4x with 0.8 us, 2x with 1.6 us and 4x with
/// 3.2 us.
#[test]
fn long_training_fields_that_a_preamble_can_announce() {
    for (standard, dcm, exist) in [
        ("802.11ax", false, [(1, 800), (2, 800), (2, 1600), (4, 800), (4, 3200)].as_slice()),
        ("802.11ax", true, &[(1, 800), (2, 800), (2, 1600), (4, 3200)]),
        ("802.11be", false, &[(2, 800), (2, 1600), (4, 800), (4, 3200)]),
    ] {
        for ltf in [1, 2, 4] {
            for interval in [800, 1600, 3200] {
                let guard_interval = Some(Duration::from_nanos(interval));
                let request =
                    ModeRequest { mcs: Some(0), ltf: Some(ltf), guard_interval, dcm, ..ModeRequest::default() };
                let mode = Amendment::parse(standard).unwrap().mode(&request);
                assert_eq!(
                    mode.is_ok(),
                    exist.contains(&(ltf, interval)),
                    "{standard} {dcm} {ltf} {interval}: {mode:?}"
                );
            }
        }
    }
    let request = ModeRequest { mcs: Some(0), ltf: Some(1), ..ModeRequest::default() };
    assert_eq!(refused("802.11be", request), "ltf");
    let request = ModeRequest { mcs: Some(0), ltf: Some(4), dcm: true, ..ModeRequest::default() };
    assert_eq!(refused("802.11ax", request), "dcm");
}

/// 802.11be, 320 MHz, MCS 13, 8 streams: 3920 * 12 * 8 * 5 / 6 = 313,600 bits per symbol, preceded by 32 us and EHT-SIG
/// of 8 us, EHT-STF of 4 us and 8 EHT-LTFs of 7.2 us.
#[test]
fn eht_at_its_widest() {
    let request = ModeRequest {
        band: Some(Band::Ghz6),
        width_mhz: Some(320),
        mcs: Some(13),
        streams: Some(8),
        ..ModeRequest::default()
    };
    let (band, mode) = mode("802.11be", request);
    assert_eq!(mode.bits_per_symbol(), Some(313_600));
    let timing = PpduTiming::new(mode, band);
    assert_eq!(timing.duration(Bytes(39_198)), Duration::from_nanos(44_000 + 57_600 + 13_600));
    assert_eq!(timing.duration(Bytes(39_199)), Duration::from_nanos(44_000 + 57_600 + 2 * 13_600));
}

/// Table 27-46: a nominal packet padding of 16 us gives an extension of 4, 8, 12 or 16 us, one of 8 us gives 0, 0, 4 or
/// 8 us, depending on how many quarters of the last symbol hold data. HE 20 MHz, MCS 0: 117 bits per symbol and 30 per
/// quarter, minus 22 bits of service and tail.
#[test]
fn packet_extension() {
    let (band, mode) = mode("802.11ax", ModeRequest { mcs: Some(0), ..ModeRequest::default() });
    for (padding, expected) in
        [(PacketPadding::Us0, [0, 0, 0, 0]), (PacketPadding::Us8, [0, 0, 4, 8]), (PacketPadding::Us16, [4, 8, 12, 16])]
    {
        let options = PpduOptions { packet_padding: padding, ..PpduOptions::default() };
        let timing = PpduTiming::with_options(mode, band, options);
        for (bytes, expected) in [1, 4, 8, 11].into_iter().zip(expected) {
            let parts = timing.parts(Bytes(bytes));
            assert_eq!(parts.packet_extension, Duration::from_micros(expected), "{bytes} bytes, {padding:?}");
            assert_eq!(timing.duration(Bytes(bytes)), Duration::from_nanos(43_200 + 13_600 + 1_000 * expected));
        }
    }
}

/// 802.11be: a receiver with a nominal packet padding of 20 us needs it with 4096-QAM (MCS 12, 13) and in 320 MHz, and
/// 16 us in other modes. A PSDU that fills the last symbol: the extension is all of the padding.
#[test]
fn padding_of_20_us_is_for_the_most_demanding_modes() {
    let options = PpduOptions { packet_padding: PacketPadding::Us20, ..PpduOptions::default() };
    for (mcs, width, expected) in [(0, 20, 16), (11, 160, 16), (12, 20, 20), (13, 160, 20), (0, 320, 20), (13, 320, 20)]
    {
        let request =
            ModeRequest { mcs: Some(mcs), width_mhz: Some(width), band: Some(Band::Ghz6), ..ModeRequest::default() };
        let (band, mode) = mode("802.11be", request);
        let bits = mode.bits_per_symbol().unwrap();
        let parts = PpduTiming::with_options(mode, band, options).parts(Bytes(u64::from(bits - 22) / 8));
        assert_eq!(parts.packet_extension, Duration::from_micros(expected), "MCS {mcs}, {width} MHz");
    }
}
