//! The mode of control responses: CTS, ACK and block ACK (IEEE Std 802.11-2020, 10.6.6.5.2).

use wifair_units::BitRate;

use crate::mode_parts::list;
use crate::{Amendment, Band, DsssMode, ModeError, OfdmMode, TxMode};

/// The basic rates of a BSS: those that every station in it can receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BasicRates {
    /// One bit for each of 1, 2, 5.5, 11, then 6, 9, 12, 18, 24, 36, 48, 54 Mb/s.
    set: u16,
}

const RATES_KBPS: [u32; 12] =
    [1_000, 2_000, 5_500, 11_000, 6_000, 9_000, 12_000, 18_000, 24_000, 36_000, 48_000, 54_000];

/// Index of the first OFDM rate in [`RATES_KBPS`].
const OFDM: usize = 4;

/// Mandatory rates: all of DSSS and CCK; 6, 12 and 24 Mb/s (16.1, 17.1).
const MANDATORY: u16 = 0b0001_0101_1111;

impl BasicRates {
    /// All rates that may be basic, in words.
    pub const THERE_ARE: &str = "there are 1, 2, 5.5, 6, 9, 11, 12, 18, 24, 36, 48 and 54 Mb/s";

    /// The given rates. An error if one of them is not a rate of DSSS, CCK or OFDM.
    pub fn new(rates: &[BitRate]) -> Result<Self, ModeError> {
        let mut set = 0;
        for rate in rates {
            let index = RATES_KBPS.iter().position(|kbps| u64::from(*kbps) * 1_000 == rate.as_bps());
            let index = index.ok_or_else(|| {
                ModeError::new("basic_rates", format!("no basic rate of {rate}: {}", Self::THERE_ARE))
            })?;
            set |= 1 << index;
        }
        Ok(Self { set })
    }

    /// These rates, if stations of `amendment` have them all in `band`: 802.11b has no OFDM, and DSSS and CCK are in
    /// 2.4 GHz.
    pub fn checked(self, amendment: Amendment, band: Band) -> Result<Self, ModeError> {
        let (there, whose) = match (amendment, band) {
            (Amendment::B, _) => (0..OFDM, Amendment::B.name().to_owned()),
            (_, Band::Ghz2_4) => return Ok(self),
            _ => (OFDM..RATES_KBPS.len(), band.to_string()),
        };
        let is_foreign = |index: &usize| self.set & 1 << index != 0 && !there.contains(index);
        let Some(index) = (0..RATES_KBPS.len()).find(is_foreign) else { return Ok(self) };
        let rate = |index: usize| BitRate::from_kbps(u64::from(RATES_KBPS[index]));
        let names: Vec<String> = there.map(|index| rate(index).to_string().replace(" Mb/s", "")).collect();
        let message = format!("no basic rate of {} in {whose}: there are {} Mb/s", rate(index), list(&names));
        Err(ModeError::new("basic_rates", message))
    }

    /// 1, 2, 5.5, 11, 6, 12 and 24 Mb/s.
    pub const fn mandatory() -> Self {
        Self { set: MANDATORY }
    }

    /// The mode of a CTS, ACK or block ACK that answers a PPDU sent in `mode`.
    ///
    /// DSSS and CCK are answered in the same class, with the same preamble. All other classes are answered in OFDM, at
    /// the highest basic rate that is not above the rate of the PPDU or, from HT on, its non-HT reference rate; if
    /// there is no such basic rate, at the highest mandatory one. HE extended range is answered in HE extended range
    /// ([`TxMode::extended_response`]).
    pub fn response(self, mode: TxMode) -> TxMode {
        let non_ht = || match mode {
            TxMode::Dsss(dsss) => {
                let kbps = self.highest(dsss.rate_kbps(), 0..OFDM);
                TxMode::Dsss(DsssMode::of_kbps(kbps, dsss.has_short_preamble()))
            }
            _ => TxMode::Ofdm(OfdmMode::of_kbps(self.highest(mode.reference_rate_kbps(), OFDM..RATES_KBPS.len()))),
        };
        mode.extended_response().unwrap_or_else(non_ht)
    }

    fn highest(self, limit_kbps: u32, among: std::ops::Range<usize>) -> u32 {
        let lowest = RATES_KBPS[among.start];
        let find = |set: u16| {
            let mut fitting = among.clone().rev().filter(|index| set & 1 << index != 0).map(|index| RATES_KBPS[index]);
            fitting.find(|kbps| *kbps <= limit_kbps)
        };
        find(self.set).or_else(|| find(MANDATORY)).unwrap_or(lowest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ChannelWidth, GuardInterval, HeMode, HeOptions, HeRange, HtMode, VhtMode};

    fn ofdm(mbps: u64) -> TxMode {
        TxMode::Ofdm(OfdmMode::new(BitRate::from_mbps(mbps)).unwrap())
    }

    fn dsss(kbps: u64, short: bool) -> TxMode {
        TxMode::Dsss(DsssMode::new(BitRate::from_kbps(kbps), short).unwrap())
    }

    /// The rule of 10.6.6.5.2, applied to the mandatory rates as basic rates.
    #[test]
    fn the_highest_basic_rate_that_is_not_above() {
        let basic = BasicRates::mandatory();
        for (rate, answer) in [(6, 6), (9, 6), (12, 12), (18, 12), (24, 24), (36, 24), (48, 24), (54, 24)] {
            assert_eq!(basic.response(ofdm(rate)), ofdm(answer));
        }
        assert_eq!(basic.response(dsss(11_000, true)), dsss(11_000, true));
        let two = BasicRates::new(&[BitRate::from_mbps(1), BitRate::from_mbps(2)]).unwrap();
        assert_eq!(two.response(dsss(11_000, true)), dsss(2_000, true));
        assert_eq!(two.response(dsss(1_000, false)), dsss(1_000, false));
        // No OFDM basic rate: the highest mandatory one.
        assert_eq!(two.response(ofdm(54)), ofdm(24));
    }

    /// Reference rates (10.6.11): BPSK 1/2 is 6 Mb/s, QPSK 12 and 18, 16-QAM 24 and 36, 64-QAM 2/3 is 48, above 54
    /// Mb/s.
    #[test]
    fn an_mcs_is_answered_at_its_reference_rate() {
        let all: Vec<BitRate> = OfdmMode::rates().collect();
        let basic = BasicRates::new(&all).unwrap();
        for (mcs, rate) in [6, 12, 18, 24, 36, 48, 54, 54, 6, 12].into_iter().enumerate() {
            let mcs = u8::try_from(mcs).unwrap();
            let mode = HtMode::new(mcs, ChannelWidth::Mhz40, GuardInterval::Ns400).unwrap();
            assert_eq!(basic.response(TxMode::Ht(mode)), ofdm(rate), "MCS {mcs}");
            assert_eq!(
                BasicRates::mandatory().response(TxMode::Ht(mode)),
                ofdm(if rate > 24 { 24 } else { rate / 12 * 12 }.max(6))
            );
        }
        let vht = VhtMode::new(9, 1, ChannelWidth::Mhz80, GuardInterval::Ns800).unwrap();
        assert_eq!(basic.response(TxMode::Vht(vht)), ofdm(54));
        let options = HeOptions { dcm: true, ..HeOptions::default() };
        let he = HeMode::new(3, 1, ChannelWidth::Mhz20, GuardInterval::Ns800, options).unwrap();
        assert_eq!(basic.response(TxMode::He(he)), ofdm(12));
    }

    #[test]
    fn extended_range_is_answered_by_extended_range() {
        let options = HeOptions { range: HeRange::Extended242, ..HeOptions::default() };
        let mode = |mcs| HeMode::new(mcs, 1, ChannelWidth::Mhz20, GuardInterval::Ns1600, options).unwrap();
        assert_eq!(BasicRates::mandatory().response(TxMode::He(mode(2))), TxMode::He(mode(0)));
    }

    #[test]
    fn a_basic_rate_that_does_not_exist_is_refused() {
        let error = BasicRates::new(&[BitRate::from_mbps(7)]).unwrap_err();
        assert_eq!(
            error.message,
            "no basic rate of 7 Mb/s: there are 1, 2, 5.5, 6, 9, 11, 12, 18, 24, 36, 48 and 54 Mb/s"
        );
    }
}
