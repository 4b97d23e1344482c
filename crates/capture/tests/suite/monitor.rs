//! What headers of monitor captures tell about the radio: PPI, Prism, AVS, and radiotap as FreeBSD's drivers write it.

use crate::common::talk::{self, MS, Wrap, ends, upload};
use wifair_capture::link::radiotap::{RadioInfo, RadioRate, ht, parse};
use wifair_capture::link::wifi::WifiFrame;
use wifair_capture::{AnalysisOptions, CaptureReader, Datagram, Sink, analyze, decode};
use wifair_phy::{ChannelWidth, GuardInterval, HtFormat};

/// Keeps what the radio reported about the last frame.
#[derive(Default)]
struct Last(RadioInfo);

impl<'a> Sink<'a> for Last {
    fn frame(&mut self, _: &WifiFrame<'a>, radio: &RadioInfo) -> bool {
        self.0 = *radio;
        true
    }

    fn datagram(&mut self, _: &Datagram<'a>) {}
}

fn last_of(file: &[u8]) -> RadioInfo {
    let (mut reader, mut last) = (CaptureReader::new(file).expect("it is a capture"), Last::default());
    while let Some(record) = reader.next().expect("bytes can be read") {
        let _ = decode(record.link, record.data, record.original, &mut last);
    }
    last.0
}

/// By construction: 11 Mb/s on channel 6, which is 2437 MHz, at -50 dBm above -95 dBm, 9 us by the radio's clock.
#[test]
fn the_radio_is_known_from_every_header() {
    for wrap in [Wrap::Ppi, Wrap::Prism, Wrap::PrismBig, Wrap::PrismAvs, Wrap::Avs] {
        let radio = last_of(&talk::capture(&upload(ends(false), 1), wrap, 0, 65_535));
        assert_eq!(radio.rate, Some(RadioRate::Legacy(22)), "{wrap:?}");
        assert_eq!((radio.frequency, radio.tsf), (Some(2_437), Some(9)), "{wrap:?}");
        assert_eq!((radio.signal, radio.noise), (Some(-50), Some(-95)), "{wrap:?}");
        assert_eq!((radio.has_fcs, radio.bad_fcs), (wrap == Wrap::Ppi, false), "{wrap:?}");
    }
}

/// The same frames take the same time on the air, whichever header is before them: with and without check sequence.
#[test]
fn air_times_do_not_depend_on_the_header() {
    let time = |wrap| {
        let file = talk::capture(&upload(ends(false), 1), wrap, 1_000 * MS, 65_535);
        let analysis = analyze(&file[..], AnalysisOptions::default(), |_, _| true).expect("it is a capture");
        analysis.stations.iter().map(|station| station.air_time_us).collect::<Vec<_>>()
    };
    let (plain, qos) = (time(Wrap::Radiotap), time(Wrap::Qos));
    assert!(plain.len() == 2 && plain.iter().all(|us| *us > 0.0));
    for wrap in [Wrap::Ppi, Wrap::Avs] {
        assert_eq!(time(wrap), plain, "{wrap:?}");
    }
    for wrap in [Wrap::Prism, Wrap::PrismBig, Wrap::PrismAvs] {
        assert_eq!(time(wrap), qos, "{wrap:?}");
    }
}

/// PPI: flags of 802.11-Common say that the check sequence is there (1), wrong (4), or that the PHY failed (8); those
/// of 802.11n greenfield (1), 40 MHz (2), short guard interval (4), part of an A-MPDU (0x10), and more of it (0x20).
#[test]
fn ppi_tells_damage_and_modes() {
    let read = |common: u8, fields: &[u8]| {
        let mut bytes = vec![0, 0, (8 + 24 + fields.len()) as u8, 0, 105, 0, 0, 0];
        bytes.extend([2, 0, 20, 0, 0, 0, 0, 0, 0, 0, 0, 0, common, 0, 12, 0, 0x3c, 0x14, 0x40, 1, 0, 0, 0xce, 0x80]);
        bytes.extend(fields);
        let frame = [0x48, 1, 0, 0, 2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0];
        bytes.extend(frame);
        let mut last = Last::default();
        let outcome = decode(wifair_capture::LinkType::Ppi, &bytes, bytes.len() as u32, &mut last);
        (outcome, last.0)
    };
    let (outcome, radio) = read(1, &[]);
    assert_eq!(outcome, wifair_capture::DecodeOutcome::Other);
    assert_eq!((radio.rate, radio.frequency), (Some(RadioRate::Legacy(12)), Some(5_180)));
    assert_eq!((radio.noise, radio.tsf), (None, None), "-128 dBm and time 0 stand for unknown");
    for damaged in [5, 9] {
        assert_eq!(read(damaged, &[]).0, wifair_capture::DecodeOutcome::BadFcs);
    }
    // MAC and PHY of 802.11n, 48 bytes: flags, number of the A-MPDU, delimiters, MCS 15.
    let n = |flags: u8| [vec![4, 0, 48, 0, flags, 0, 0, 0, 7, 0, 0, 0, 0, 15, 2], vec![0; 37]].concat();
    let mode = |width, format, guard| Some(RadioRate::Mcs(ht(15, width, format, guard)));
    let (_, radio) = read(1, &n(0x36));
    assert_eq!(radio.rate, mode(ChannelWidth::Mhz40, HtFormat::Mixed, GuardInterval::Ns400));
    assert_eq!((radio.ampdu, radio.ends_ampdu), (Some(7), false));
    let (_, radio) = read(1, &n(0x11));
    assert_eq!(radio.rate, mode(ChannelWidth::Mhz20, HtFormat::Greenfield, GuardInterval::Ns800));
    assert_eq!((radio.ampdu, radio.ends_ampdu), (Some(7), true));
    assert_eq!(read(1, &n(0)).1.ampdu, None);
}

fn radiotap(present: &[u32], fields: &[u8]) -> RadioInfo {
    let mut bytes = vec![0, 0, (4 + 4 * present.len() + fields.len()) as u8, 0];
    bytes.extend(present.iter().flat_map(|word| word.to_le_bytes()));
    bytes.extend(fields);
    parse(&bytes).expect("a header").0
}

/// FreeBSD (net80211, `ieee80211_radiotap.h`): MCS 7 is rate 0x87; flag 0x80 is a short guard interval; the extended
/// channel has 0x10000 for 20 MHz, 0x20000 and 0x40000 for 40 MHz. Linux had rates of 802.11n in the same field for a
/// while: without that channel the rate is unknown. 65 Mb/s would be 0x82, which FreeBSD has for MCS 2.
#[test]
fn rates_of_freebsd_are_indices() {
    let fields = |flags: u8, rate: u8, channel: u32| {
        let mut fields = vec![flags, rate, 0, 0];
        fields.extend(channel.to_le_bytes());
        fields.extend([0x3c, 0x14, 36, 0]);
        fields
    };
    let present = [1 << 1 | 1 << 2 | 1 << 18];
    let mode = |mcs, width, guard| Some(RadioRate::Mcs(ht(mcs, width, HtFormat::Mixed, guard)));
    let radio = radiotap(&present, &fields(0x80, 0x87, 0x1_0140));
    assert_eq!(radio.rate, mode(7, ChannelWidth::Mhz20, GuardInterval::Ns400));
    assert_eq!(radio.frequency, Some(5_180));
    for forty in [0x2_0000, 0x4_0000] {
        assert_eq!(
            radiotap(&present, &fields(0, 0x8f, forty)).rate,
            mode(15, ChannelWidth::Mhz40, GuardInterval::Ns800)
        );
    }
    assert_eq!(radiotap(&present, &fields(0, 108, 0x1_0000)).rate, Some(RadioRate::Legacy(108)));
    assert_eq!(radiotap(&present, &fields(0, 0x82, 0x140)).rate, None);
    assert_eq!(radiotap(&[1 << 2], &[0x82, 0]).rate, None);
    assert_eq!(radiotap(&[1 << 2], &[0, 0]).rate, None, "no rate is given");
}

/// Some drivers give signals of the antennas only: the strongest is what the receiver works with.
#[test]
fn the_strongest_antenna_counts_where_there_is_no_other_signal() {
    let (more, reset, antenna) = (1 << 31, 1 << 29, 1 << 5 | 1 << 11);
    let words = [more | reset | 1 << 1, more | reset | antenna, antenna];
    assert_eq!(radiotap(&words, &[0, 0xc4, 0, 0xce, 1]).signal, Some(-50));
    let words = [more | reset | 1 << 1 | 1 << 5, more | reset | antenna, antenna];
    assert_eq!(radiotap(&words, &[0, 0xc0, 0xc4, 0, 0xce, 1]).signal, Some(-64), "the driver's own comes first");
}

/// The timestamp (field 22) has a unit: 0 is ms, 1 us, 2 ns. A-MPDU status: bits 0 and 1 say that the subframe has no
/// frame, bits 2 and 3 that it is the last.
#[test]
fn timestamps_and_ampdu_flags_are_read() {
    for (unit, expected) in [(0, 7_000), (1, 7), (0x12, 0)] {
        let fields = [0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, unit, 0];
        // The presence words end at 8, so the field needs no padding.
        assert_eq!(radiotap(&[1 << 22], &fields[4..]).tsf, Some(expected), "unit {unit}");
    }
    for (flags, is_empty, is_last) in [(0, false, false), (1, false, false), (3, true, false), (0x0c, false, true)] {
        let radio = radiotap(&[1 << 20], &[5, 0, 0, 0, flags, 0, 0, 0]);
        assert_eq!((radio.ampdu, radio.is_empty, radio.ends_ampdu), (Some(5), is_empty, is_last), "flags {flags}");
    }
}
