//! Rates of 802.11n and later, in short.

use wifair_capture::link::radiotap::{RadioRate, ht};
use wifair_phy::{ChannelWidth, Coding, GuardInterval, HtFormat, PpduFormat, TxVector};

const fn guard(ns: u16) -> GuardInterval {
    match ns {
        400 => GuardInterval::Ns400,
        800 => GuardInterval::Ns800,
        1600 => GuardInterval::Ns1600,
        _ => GuardInterval::Ns3200,
    }
}

/// 802.11n, mixed format, BCC.
pub const fn ht_rate(mcs: u8, wide: bool, short_guard: bool) -> RadioRate {
    let width = if wide { ChannelWidth::Mhz40 } else { ChannelWidth::Mhz20 };
    let vector = ht(mcs, width, HtFormat::Mixed, guard(if short_guard { 400 } else { 800 }));
    RadioRate::Mcs(TxVector { coding: Some(Coding::Bcc), ..vector })
}

/// 802.11ac, BCC; width in MHz.
pub const fn vht_rate(mcs: u8, streams: u8, width: u16, short_guard: bool) -> RadioRate {
    let subcarriers = match width {
        20 => 52,
        40 => 108,
        80 => 234,
        _ => 468,
    };
    let guard_interval = guard(if short_guard { 400 } else { 800 });
    let vector = TxVector::new(PpduFormat::Vht, mcs, streams, subcarriers, guard_interval);
    RadioRate::Mcs(TxVector { coding: Some(Coding::Bcc), ..vector })
}

/// 802.11ax; guard interval in ns.
pub const fn he_rate(mcs: u8, streams: u8, carriers: u32, guard_ns: u16) -> RadioRate {
    RadioRate::Mcs(TxVector::new(PpduFormat::He, mcs, streams, carriers, guard(guard_ns)))
}

/// 802.11be; guard interval in ns.
pub const fn eht_rate(mcs: u8, streams: u8, carriers: u32, guard_ns: u16) -> RadioRate {
    RadioRate::Mcs(TxVector::new(PpduFormat::Eht, mcs, streams, carriers, guard(guard_ns)))
}

/// The parameters of a rate.
pub fn vector(rate: RadioRate) -> TxVector {
    let RadioRate::Mcs(vector) = rate else { panic!("{rate:?} has an MCS") };
    vector
}
