//! A-MSDUs, alone and in A-MPDUs, against closed forms. A-MSDUs of `n` packets of 1500 bytes take 1524 n - 2 bytes: a
//! subframe is a header of 14 bytes, 8 of LLC, the packet, and padding to a multiple of four, except after the last.

use wifair_mac::Category;
use wifair_mac::edcaf::{AggregationRules, LinkSettings};
use wifair_phy::{ChannelWidth, GuardInterval, HtMode, TxMode};
use wifair_units::Bytes;

use crate::aggregation::{BE, aggregation, assert_within, build_linked, channel, ht_mcs7, micros, saturate};

/// Rules of A-MSDUs of 7935 bytes without A-MPDUs.
fn single_amsdus() -> AggregationRules {
    AggregationRules { max_ampdu: Bytes(0), window: 2, max_amsdu: Bytes(7935), max_mpdu: Bytes(7965), ..aggregation() }
}

/// A-MSDUs of five packets, 5 x 1524 - 2 + 30 = 7648 bytes, as single MPDUs with ACK: preamble and 236 symbols, 980 us.
#[test]
fn an_amsdu_has_the_closed_form() {
    let rules = single_amsdus();
    let goodput = saturate(channel(ht_mcs7(), rules, &[BE], 1), 1, 20);
    let cycle = 36.0 + 4.0 * ((22.0 + 8.0 * 7648.0) / 260.0_f64).ceil() + 16.0 + 28.0 + 43.0 + 67.5;
    assert_within(goodput.total(), 5.0 * 1472.0 * 8.0 / cycle, 0.002, "goodput");
}

/// The longest PPDU and the TXOP limit apply to single A-MSDUs, but not to a single packet, which cannot be shortened
/// without fragmentation. N packets make 1524 N - 2 + 30 bytes.
#[test]
fn an_amsdu_keeps_to_the_longest_ppdu_and_the_txop() {
    let slow = TxMode::Ht(HtMode::new(0, ChannelWidth::Mhz20, GuardInterval::Ns800).unwrap());
    let rules = single_amsdus();
    let ppdu = |bits: f64, bytes: f64| 36.0 + 4.0 * ((22.0 + 8.0 * bytes) / bits).ceil();
    let gaps = 43.0 + 67.5;
    let check = |mode: TxMode, ladder: &[TxMode], max: u64, txop: u64, packets: f64, time: f64| {
        let rules = AggregationRules { max_duration: micros(max), ..rules.clone() };
        let link = LinkSettings { ladder: ladder.to_vec(), ..LinkSettings::fixed() };
        let stations = vec![(mode, BE), (mode, Category { txop: micros(txop), ..BE })];
        let goodput = saturate(build_linked(rules, stations, &link), 1, 10);
        let what = format!("{packets} packets, longest PPDU {max} us, TXOP {txop} us");
        assert_within(goodput.total(), packets * 1472.0 * 8.0 / (time + gaps), 0.002, &what);
    };
    // MCS 0, 26 bits per symbol, ACK at 6 Mb/s: 2 packets take 3828 us, and 3, 4600 bytes, 5700 us. One takes 1936 us.
    check(slow, &[], 5484, 0, 2.0, ppdu(26.0, 3076.0) + 16.0 + 44.0);
    check(slow, &[], 3800, 0, 1.0, ppdu(26.0, 1538.0) + 16.0 + 44.0);
    check(slow, &[], 1000, 0, 1.0, ppdu(26.0, 1538.0) + 16.0 + 44.0);
    check(slow, &[], 5484, 1000, 1.0, ppdu(26.0, 1538.0) + 16.0 + 44.0);
    // MCS 7, 260 bits per symbol, ACK at 24 Mb/s: 5 packets take 980 us and 44 us for SIFS and ACK, 4 take 792 us.
    check(ht_mcs7(), &[], 5484, 1023, 4.0, ppdu(260.0, 6124.0) + 16.0 + 28.0);
    // Then SIFS and 2 packets in 416 us, 1500 us in total.
    check(ht_mcs7(), &[], 5484, 1500, 7.0, 980.0 + 44.0 + 16.0 + 416.0 + 44.0);
    // It may have to be retransmitted at MCS 0.
    check(ht_mcs7(), &[slow], 5484, 0, 2.0, ppdu(260.0, 3076.0) + 16.0 + 28.0);
}

/// A sender that has filled its block ACK window extends the last MPDU as the others: in windows of 1, 2, 3, 4 and 8
/// MPDUs each is an A-MSDU of two packets (4095 bytes at most in an A-MPDU), 3076 bytes. A symbol has 540 bits, an ACK
/// takes 28 us, a block ACK 32 us.
#[test]
fn the_last_mpdu_of_a_window_becomes_an_amsdu() {
    let mode = TxMode::Ht(HtMode::new(7, ChannelWidth::Mhz40, GuardInterval::Ns800).unwrap());
    for (window, psdu, response) in
        [(1, 3076.0, 28.0), (2, 6160.0, 32.0), (3, 9240.0, 32.0), (4, 12_320.0, 32.0), (8, 24_640.0, 32.0)]
    {
        let rules = AggregationRules { window, max_amsdu: Bytes(7935), ..aggregation() };
        let goodput = saturate(channel(mode, rules, &[BE], 1), 1, 10);
        let cycle = 36.0 + 4.0 * ((22.0 + 8.0 * psdu) / 540.0_f64).ceil() + 16.0 + response + 43.0 + 67.5;
        let expected = 2.0 * f64::from(window) * 1472.0 * 8.0 / cycle;
        assert_within(goodput.total(), expected, 0.002, &format!("window of {window}"));
    }
}

/// The last packet of a PPDU needs room for a subframe of an A-MSDU, not for an MPDU. Five MPDUs of two packets, 5 x
/// 3080 = 15,400 bytes, take 474 symbols, 1932 us; with SIFS and block ACK 1980 us. These symbols hold 15,402 bytes;
/// nine packets take 13,864 with padding, and an MPDU behind them would end at 15,406. A symbol less holds nine.
#[test]
fn the_last_subframe_of_an_amsdu_fits_without_a_header_of_its_own() {
    let ppdu = |bytes: f64| 36.0 + 4.0 * ((22.0 + 8.0 * bytes) / 260.0_f64).ceil();
    for (txop, packets, psdu) in [(1980, 10.0, 15_400.0), (1979, 9.0, 4.0 * 3080.0 + 1542.0)] {
        let rules = AggregationRules { max_amsdu: Bytes(3839), ..aggregation() };
        let stations = vec![(ht_mcs7(), BE), (ht_mcs7(), Category { txop: micros(txop), ..BE })];
        let goodput = saturate(build_linked(rules, stations, &LinkSettings::fixed()), 1, 10);
        let cycle = ppdu(psdu) + 16.0 + 32.0 + 43.0 + 67.5;
        assert_within(goodput.total(), packets * 1472.0 * 8.0 / cycle, 0.002, &format!("TXOP of {txop} us"));
    }
}
