//! Modulation and coding of each MCS: the same in HT (per stream), VHT, HE and EHT (19.5, 21.5, 27.5, 36.5).

/// Rate of an error-correcting code, as a fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CodeRate {
    /// Data bits.
    pub data: u32,
    /// Coded bits that represent them.
    pub coded: u32,
}

/// The parameters of an MCS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct McsParameters {
    /// Coded bits of one subcarrier and stream, N_BPSCS.
    pub bits_per_subcarrier: u32,
    pub code_rate: CodeRate,
}

const fn mcs(bits_per_subcarrier: u32, data: u32, coded: u32) -> McsParameters {
    McsParameters { bits_per_subcarrier, code_rate: CodeRate { data, coded } }
}

const MCS: [McsParameters; 14] = [
    mcs(1, 1, 2),
    mcs(2, 1, 2),
    mcs(2, 3, 4),
    mcs(4, 1, 2),
    mcs(4, 3, 4),
    mcs(6, 2, 3),
    mcs(6, 3, 4),
    mcs(6, 5, 6),
    mcs(8, 3, 4),
    mcs(8, 5, 6),
    mcs(10, 3, 4),
    mcs(10, 5, 6),
    mcs(12, 3, 4),
    mcs(12, 5, 6),
];

/// Modulation and coding of `index`, 0 to 13.
pub(crate) fn of(index: u8) -> McsParameters {
    MCS[usize::from(index)]
}

/// The number of long training fields for `streams` space-time streams: 1, 2, 4, 4, 6, 6, 8, 8.
pub(crate) fn training_fields(streams: u8) -> u64 {
    if streams < 2 { u64::from(streams) } else { u64::from(streams.next_multiple_of(2)) }
}

/// The non-HT reference rate, in kb/s: the OFDM rate with the same modulation and code rate, or the next lower one.
/// With dual carrier modulation each bit is sent twice (10.6.11, table 10-10).
pub(crate) fn reference_rate_kbps(index: u8, dcm: bool) -> u32 {
    match (index, dcm) {
        (0, _) | (1, true) => 6_000,
        (1, false) | (3, true) => 12_000,
        (2, _) | (4, true) => 18_000,
        (3, false) => 24_000,
        (4, false) => 36_000,
        (5, _) => 48_000,
        _ => 54_000,
    }
}
