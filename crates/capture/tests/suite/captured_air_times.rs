//! Air times of captured frames, compared with the table of the standard's values in
//! `tests/data/reference/airtime.csv`, and what must hold of any rate that a radio reports.

use std::path::Path;

use crate::common::radio_rates::{he_rate, ht_rate, vht_rate};
use proptest::prelude::*;
use wifair_capture::link::radiotap::{self, RadioInfo, RadioRate};
use wifair_capture::link::wifi::air_time_us;

/// Data subcarriers by width (802.11ax, 27.5).
fn carriers(width: u16) -> u32 {
    match width {
        20 => 234,
        40 => 468,
        80 => 980,
        _ => 1_960,
    }
}

/// A row of the table: rate, what the radio reports besides, length, and the air time in us.
fn row(text: &str) -> (RadioRate, RadioInfo, u32, f64) {
    let cells: Vec<&str> = text.split(',').collect();
    let [standard, band, width, mcs, streams, guard, length, _, by_standard, _] = cells[..] else { panic!("{text}") };
    let number = |cell: &str| cell.parse::<u16>().unwrap();
    let (width, guard_ns, mcs, streams) = (number(width), number(guard), number(mcs) as u8, number(streams) as u8);
    let short_guard = guard_ns == 400;
    let rate = match standard {
        "n" => ht_rate(mcs, width == 40, short_guard),
        "ac" => vht_rate(mcs, streams, width, short_guard),
        "ax" => he_rate(mcs, streams, carriers(width), guard_ns),
        // The column holds Mb/s here, with 5.5 truncated to 5.
        _ => RadioRate::Legacy(if mcs == 5 { 11 } else { 2 * mcs }),
    };
    let frequency = Some(if band == "5" { 5_180 } else { 2_437 });
    // The table leaves out the extra symbol of LDPC.
    let short_preamble = standard == "b-short";
    let radio = RadioInfo { frequency, short_preamble, has_no_extra_symbol: true, ..RadioInfo::default() };
    (rate, radio, length.parse().unwrap(), by_standard.parse().unwrap())
}

#[test]
fn every_row_of_the_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/reference/airtime.csv");
    let text = std::fs::read_to_string(path).unwrap();
    let rows: Vec<&str> = text.lines().skip(1).collect();
    assert_eq!(rows.len(), 398);
    for text in rows {
        let (rate, radio, length, expected) = row(text);
        let found = air_time_us(0..length, rate, &radio);
        assert!((found - expected).abs() < 1e-6, "{text}: {found}");
    }
}

/// A radiotap header with a single field, of these contents. The channel says 10 or 5 MHz by its flags.
fn header(bit: u32, channel_flags: u8, field: &[u8]) -> RadioInfo {
    let mut bytes = vec![0, 0, (12 + field.len()) as u8, 0];
    bytes.extend((1_u32 << 3 | 1 << bit).to_le_bytes());
    bytes.extend([0x3c, 0x14, 0, channel_flags]);
    bytes.extend(field);
    radiotap::parse(&bytes).expect("a header").0
}

proptest! {
    /// The fields MCS, VHT and HE may hold any bits, of the standard or not. Then each rate has an air time, and the
    /// frames of a PPDU add up to the air time of the whole.
    #[test]
    fn any_rate_has_an_air_time(
        field in prop::array::uniform12(any::<u8>()),
        bit in prop::sample::select(vec![(2, 1), (19, 3), (21, 12), (23, 12)]),
        channel_flags in any::<u8>(),
        lengths in (1_u32..70_000, 0_u32..70_000, 0_u32..6_500_000),
    ) {
        let radio = header(bit.0, channel_flags, &field[..bit.1]);
        prop_assume!(radio.rate.is_some());
        let rate = radio.rate.unwrap();
        let ends = [lengths.0, lengths.0 + lengths.1, lengths.0 + lengths.1 + lengths.2];
        let parts = [0..ends[0], ends[0]..ends[1], ends[1]..ends[2]].map(|part| air_time_us(part, rate, &radio));
        let whole = air_time_us(0..ends[2], rate, &radio);
        prop_assert!(parts[0] > 20.0 && parts.iter().all(|part| *part >= 0.0), "{:?} {:?}", rate, parts);
        prop_assert!((parts.iter().sum::<f64>() - whole).abs() < 1e-6 * whole, "{:?} {:?} {}", rate, parts, whole);
    }
}
