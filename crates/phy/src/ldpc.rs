//! Whether LDPC coding needs an extra symbol: 19.3.11.7.5 for HT, 21.3.10.5.4 for VHT, 27.3.12.5.2 for HE.

use crate::CodeRate;

/// Whether encoding `payload` bits into `available` coded bits would puncture too many of them, so that more are
/// needed.
///
/// All products are of integers: a code rate of `d / c` turns `912 (1 - R)` into `912 (c - d) / c`.
pub(crate) fn needs_more(payload: u64, available: u64, rate: CodeRate) -> bool {
    let (data, coded) = (u64::from(rate.data), u64::from(rate.coded));
    let parity = coded - data;
    // Table 19-16: number and length of codewords.
    let beyond = |bits: u64| available * coded >= payload * coded + bits * parity;
    let (codewords, length) = match available {
        0..=648 => (1, if beyond(912) { 1_296 } else { 648 }),
        649..=1_296 => (1, if beyond(1_464) { 1_944 } else { 1_296 }),
        1_297..=1_944 => (1, 1_944),
        1_945..=2_592 => (2, if beyond(2_916) { 1_944 } else { 1_296 }),
        _ => ((payload * coded).div_ceil(1_944 * data), 1_944),
    };
    let total = codewords * length;
    let shortened = (total * data / coded).saturating_sub(payload);
    let punctured = total.saturating_sub(available + shortened);
    // `punctured > 0.1 total (1 - R)` and `shortened < 1.2 punctured R / (1 - R)`, or `punctured > 0.3 total (1 - R)`.
    let above_tenths = |tenths: u64| punctured * 10 * coded > tenths * total * parity;
    (above_tenths(1) && shortened * 10 * parity < 12 * punctured * data) || above_tenths(3)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HALF: CodeRate = CodeRate { data: 1, coded: 2 };

    /// By hand: 600 bits in 1248 coded bits. One codeword of 1944 would need 1248 >= 600 + 732, which fails; so the
    /// codeword has 1296 bits, 648 of them data, of which 48 are shortened; 0 are punctured. With 640 bits in 1144:
    /// 1296 - 1144 - 8 = 144 punctured, above 0.1 * 648 = 64.8, and 8 shortened is below 1.2 * 144.
    #[test]
    fn worked_by_hand() {
        assert!(!needs_more(600, 1_248, HALF));
        assert!(needs_more(640, 1_144, HALF));
        // Above 0.3 * 648 = 194.4: 1296 - 1000 - 98 = 198 punctured; 98 shortened.
        assert!(needs_more(550, 1_000, HALF));
        // 1296 - 1200 - 48 = 48 punctured, below 64.8.
        assert!(!needs_more(600, 1_200, HALF));
    }
}
