//! Bit error rates by the signal to interference and noise ratio (SINR).
//!
//! White Gaussian noise, ideal receivers. Sources:
//!
//! - DSSS at 1 and 2 Mb/s: differential PSK, `E_b/N_0 = SINR * 22 MHz / rate` (J. Proakis, "Digital Communications",
//!   5.2.8: DBPSK exactly, DQPSK by its approximation for Gray coding).
//! - CCK at 5.5 and 11 Mb/s: 16-ary biorthogonal signals (Proakis, 5.2.2), at 11 Mb/s two of them at half the power
//!   each: R. Golmie et al., NIST, for IEEE Std 802.15.2; G. Pei and T. Henderson, "Validation of ns-3 802.11b PHY
//!   model", Boeing, 2009, who compare these formulas with measurements of chips in CMU's channel emulator.
//! - OFDM: coherent PSK and QAM on each subcarrier, and the union bound for hard-decision decoding of the convolutional
//!   code of rate 1/2 and constraint length 7 and of its punctured versions, with the weights of P. Frenger et al.,
//!   "Multi-rate Convolutional Codes", Chalmers, 1998, tables 3.1: G. Pei and T. Henderson, "Validation of OFDM error
//!   rate model in ns-3", Boeing, 2010 (L. Miller, NIST).
//!
//! SINR is the ratio in the receiver's bandwidth: 22 MHz for DSSS and CCK, 20 MHz for OFDM.

use std::f64::consts::{FRAC_1_SQRT_2, PI, SQRT_2};
use std::sync::LazyLock;

use wifair_units::BitRate;

use crate::CodeRate;
use crate::error_curve::ErrorCurve;

/// Modulation and coding of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LegacyMode {
    /// DBPSK with an 11-chip code, 1 Mb/s.
    Dsss1,
    /// DQPSK with an 11-chip code, 2 Mb/s.
    Dsss2,
    /// CCK, 5.5 Mb/s.
    Cck5,
    /// CCK, 11 Mb/s.
    Cck11,
    /// OFDM, 6 Mb/s: BPSK at code rate 1/2.
    Ofdm6,
    /// OFDM, 9 Mb/s: BPSK at code rate 3/4.
    Ofdm9,
    /// OFDM, 12 Mb/s: QPSK at code rate 1/2.
    Ofdm12,
    /// OFDM, 18 Mb/s: QPSK at code rate 3/4.
    Ofdm18,
    /// OFDM, 24 Mb/s: 16-QAM at code rate 1/2.
    Ofdm24,
    /// OFDM, 36 Mb/s: 16-QAM at code rate 3/4.
    Ofdm36,
    /// OFDM, 48 Mb/s: 64-QAM at code rate 2/3.
    Ofdm48,
    /// OFDM, 54 Mb/s: 64-QAM at code rate 3/4.
    Ofdm54,
}

impl LegacyMode {
    const ALL: [Self; 12] = [
        Self::Dsss1,
        Self::Dsss2,
        Self::Cck5,
        Self::Cck11,
        Self::Ofdm6,
        Self::Ofdm9,
        Self::Ofdm12,
        Self::Ofdm18,
        Self::Ofdm24,
        Self::Ofdm36,
        Self::Ofdm48,
        Self::Ofdm54,
    ];

    /// The fastest mode that is no faster than `rate`, or else the slowest: among OFDM modes if `ofdm`, otherwise among
    /// DSSS and CCK modes.
    pub fn of(rate: BitRate, ofdm: bool) -> Self {
        match (ofdm, rate.as_bps() / 1000) {
            (false, 11_000..) => Self::Cck11,
            (false, 5_500..) => Self::Cck5,
            (false, 2_000..) => Self::Dsss2,
            (false, _) => Self::Dsss1,
            (true, 54_000..) => Self::Ofdm54,
            (true, 48_000..) => Self::Ofdm48,
            (true, 36_000..) => Self::Ofdm36,
            (true, 24_000..) => Self::Ofdm24,
            (true, 18_000..) => Self::Ofdm18,
            (true, 12_000..) => Self::Ofdm12,
            (true, 9_000..) => Self::Ofdm9,
            (true, _) => Self::Ofdm6,
        }
    }

    /// Natural logarithm of the probability that a bit is correct; the error probability of a symbol is spread evenly
    /// over its bits.
    fn log_success(self, sinr: f64) -> f64 {
        match self {
            Self::Dsss1 => libm::log1p(-0.5 * libm::exp(-22.0 * sinr)),
            Self::Dsss2 => libm::log1p(-dqpsk(11.0 * sinr).min(0.5)),
            Self::Cck5 => libm::log1p(-biorthogonal16(8.0 * sinr)) / 4.0,
            Self::Cck11 => 2.0 * libm::log1p(-biorthogonal16(4.0 * sinr)) / 8.0,
            Self::Ofdm6 => ofdm(BPSK, HALF, sinr),
            Self::Ofdm9 => ofdm(BPSK, THREE_QUARTERS, sinr),
            Self::Ofdm12 => ofdm(QPSK, HALF, sinr),
            Self::Ofdm18 => ofdm(QPSK, THREE_QUARTERS, sinr),
            Self::Ofdm24 => ofdm(QAM_16, HALF, sinr),
            Self::Ofdm36 => ofdm(QAM_16, THREE_QUARTERS, sinr),
            Self::Ofdm48 => ofdm(QAM_64, TWO_THIRDS, sinr),
            Self::Ofdm54 => ofdm(QAM_64, THREE_QUARTERS, sinr),
        }
    }
}

/// Proakis, (5.2-70), first asymptotic term; `x` is `E_b/N_0`.
fn dqpsk(x: f64) -> f64 {
    (SQRT_2 + 1.0) / libm::sqrt(8.0 * PI * SQRT_2) / libm::sqrt(x) * libm::exp(-(2.0 - SQRT_2) * x)
}

/// Symbol error probability of 16 biorthogonal signals, `1 - integral from -b of (2 Phi(x + b) - 1)^7 phi(x) dx` with
/// `b = sqrt(2 E_s/N_0)`, rearranged as a sum of small numbers and integrated by Simpson's rule.
fn biorthogonal16(es_n0: f64) -> f64 {
    const STEPS: u32 = 128;
    let b = libm::sqrt(2.0 * es_n0);
    let (from, to) = ((-b).max(-9.0), 9.0);
    let h = (to - from) / f64::from(STEPS);
    let upper_tail = |x: f64| 0.5 * libm::erfc(x * FRAC_1_SQRT_2);
    let density = |x: f64| {
        let some_other = -libm::expm1(7.0 * libm::log1p(-2.0 * upper_tail(x + b)));
        some_other * libm::exp(-0.5 * x * x) / libm::sqrt(2.0 * PI)
    };
    let mut sum = density(from) + density(to);
    for step in 1..STEPS {
        sum += density(from + h * f64::from(step)) * if step % 2 == 1 { 4.0 } else { 2.0 };
    }
    (sum * h / 3.0 + upper_tail(b)).min(1.0)
}

/// A constellation of OFDM subcarriers: before decoding, a bit is wrong with probability
/// `factor * erfc(sqrt(SINR / spread))`.
struct Constellation {
    factor: f64,
    spread: f64,
}

const BPSK: Constellation = Constellation { factor: 1.0 / 2.0, spread: 1.0 };
const QPSK: Constellation = Constellation { factor: 1.0 / 2.0, spread: 2.0 };
const QAM_16: Constellation = Constellation { factor: 3.0 / 8.0, spread: 10.0 };
const QAM_64: Constellation = Constellation { factor: 7.0 / 24.0, spread: 42.0 };

const HALF: CodeRate = CodeRate { data: 1, coded: 2 };
const TWO_THIRDS: CodeRate = CodeRate { data: 2, coded: 3 };
const THREE_QUARTERS: CodeRate = CodeRate { data: 3, coded: 4 };

/// [`LegacyMode::log_success`] of OFDM.
fn ofdm(constellation: Constellation, rate: CodeRate, sinr: f64) -> f64 {
    let error = constellation.factor * libm::erfc(libm::sqrt(sinr / constellation.spread));
    libm::log1p(-union_bound(rate, error).min(1.0))
}

/// Weights of the convolutional code at `rate`: exponent of the first, step of exponents, and the weights.
const fn spectrum(rate: CodeRate) -> (i32, i32, &'static [f64]) {
    match rate.coded {
        2 => (10, 2, &[36.0, 211.0, 1404.0, 11633.0, 77433.0, 502_690.0, 3_322_763.0, 21_292_910.0, 134_365_911.0]),
        3 => (6, 1, &[3.0, 70.0, 285.0, 1276.0, 6160.0, 27128.0, 117_019.0, 498_860.0, 2_103_891.0, 8_784_123.0]),
        4 => (
            5,
            1,
            &[42.0, 201.0, 1492.0, 10469.0, 62935.0, 379_644.0, 2_253_373.0, 13_073_811.0, 75_152_755.0, 428_005_675.0],
        ),
        _ => (
            4,
            1,
            &[
                92.0,
                528.0,
                8694.0,
                79453.0,
                792_114.0,
                7_375_573.0,
                67_884_974.0,
                610_875_423.0,
                5_427_275_376.0,
                47_664_215_639.0,
            ],
        ),
    }
}

/// Union bound of the bit error probability after decoding, from `p`, the one before decoding.
pub(crate) fn union_bound(rate: CodeRate, p: f64) -> f64 {
    let (first, step, weights) = spectrum(rate);
    let d = libm::sqrt(4.0 * p * (1.0 - p));
    let mut power = (0..first).fold(1.0, |power, _| power * d);
    let factor = (0..step).fold(1.0, |power, _| power * d);
    let mut sum = 0.0;
    for weight in weights {
        sum += weight * power;
        power *= factor;
    }
    sum / (2.0 * f64::from(rate.data))
}

/// Tabulated curves of all modes: the logarithm of the probability that a bit is correct, by SINR in dB.
#[derive(Clone, Debug)]
pub struct BitErrors {
    curves: Vec<ErrorCurve>,
}

/// Lowest tabulated SINR, in dB; below it no frame survives.
const LOWEST: f64 = -15.0;
/// Highest tabulated SINR, in dB; above it none is lost.
const HIGHEST: f64 = 30.0;
/// Table entries per dB.
const DENSITY: f64 = 20.0;

static TABLES: LazyLock<BitErrors> = LazyLock::new(BitErrors::new);

impl BitErrors {
    /// The tables, computed on first use, which takes some milliseconds.
    pub fn tables() -> &'static Self {
        &TABLES
    }

    fn new() -> Self {
        let curve = |mode: LegacyMode| ErrorCurve::new(LOWEST..=HIGHEST, DENSITY, |sinr| mode.log_success(sinr));
        Self { curves: LegacyMode::ALL.map(curve).into() }
    }

    /// Natural logarithm of the probability that all of `bits` bits in this mode are right. The logarithm of the error
    /// is interpolated between table entries.
    pub fn log_survival(&self, mode: LegacyMode, sinr: f64, bits: f64) -> f64 {
        self.curves[mode as usize].log_survival(sinr, bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn success(mode: LegacyMode, sinr_db: f64, bits: f64) -> (f64, f64) {
        let sinr = 10f64.powf(sinr_db / 10.0);
        ((bits * mode.log_success(sinr)).exp(), BitErrors::tables().log_survival(mode, sinr, bits).exp())
    }

    /// Success of 1078 bytes at a received power in dBm, with noise of -100.5522786 dBm in 22 MHz and a noise figure of
    /// 7 dB: values from the program that accompanies Pei and Henderson's report, to the digits given in ns-3's tests
    /// (wifi-error-rate-models-test.cc).
    #[test]
    fn dsss_and_cck_agree_with_the_published_values() {
        for (mode, power, published, digits) in [
            (LegacyMode::Dsss1, -99.0, 0.0003, 1e-4),
            (LegacyMode::Dsss1, -98.0, 0.202, 5e-3),
            (LegacyMode::Dsss1, -97.0, 0.813, 5e-3),
            (LegacyMode::Dsss1, -96.0, 0.984, 5e-3),
            (LegacyMode::Dsss1, -95.0, 0.999, 1e-3),
            (LegacyMode::Dsss2, -95.0, 4.5e-6, 1e-6),
            (LegacyMode::Dsss2, -94.0, 0.036, 5e-3),
            (LegacyMode::Dsss2, -93.0, 0.519, 5e-3),
            (LegacyMode::Dsss2, -92.0, 0.915, 5e-3),
            (LegacyMode::Dsss2, -91.0, 0.993, 5e-3),
            (LegacyMode::Dsss2, -90.0, 0.999, 1e-3),
            (LegacyMode::Cck5, -92.0, 1e-4, 5e-5),
            (LegacyMode::Cck5, -91.0, 0.132, 5e-3),
            (LegacyMode::Cck5, -90.0, 0.744, 5e-3),
            (LegacyMode::Cck5, -89.0, 0.974, 5e-3),
            (LegacyMode::Cck5, -88.0, 0.999, 1e-3),
            (LegacyMode::Cck11, -89.0, 8.85e-5, 1e-5),
            (LegacyMode::Cck11, -88.0, 0.128, 5e-3),
            (LegacyMode::Cck11, -87.0, 0.739, 5e-3),
            (LegacyMode::Cck11, -86.0, 0.973, 5e-3),
            (LegacyMode::Cck11, -85.0, 0.999, 1e-3),
        ] {
            let (exact, table) = success(mode, power + 100.552_278_6 - 7.0, 1078.0 * 8.0);
            assert!((exact - published).abs() <= digits, "{mode:?} at {power} dBm: {exact} instead of {published}");
            assert!((table - exact).abs() < 1e-3 * exact.max(0.01), "{mode:?} at {power} dBm: {table} in the table");
        }
    }

    /// Success of 2000 bytes by SINR in dB (from the same tests of ns-3 and its program ofdm-validation.cc).
    #[test]
    fn ofdm_agrees_with_the_published_values() {
        for (mbps, sinr_db, published, digits) in [
            (6, 2.5, 2.04e-10, 1e-10),
            (6, 3.0, 0.020, 1e-3),
            (6, 4.0, 0.885, 1e-3),
            (6, 5.0, 0.997, 1e-3),
            (9, 6.0, 0.097, 1e-3),
            (9, 7.0, 0.918, 1e-3),
            (9, 8.0, 0.998, 1e-3),
            (12, 6.0, 0.0174, 1e-3),
            (12, 7.0, 0.881, 1e-3),
            (12, 8.0, 0.997, 1e-3),
            (18, 8.5, 2.85e-6, 1e-6),
            (18, 9.5, 0.623, 1e-3),
            (18, 10.5, 0.985, 1e-3),
            (24, 12.0, 2.22e-7, 1e-7),
            (24, 13.0, 0.495, 1e-3),
            (24, 14.0, 0.974, 1e-3),
            (36, 15.5, 0.012, 1e-3),
            (36, 16.5, 0.818, 1e-3),
            (36, 17.5, 0.993, 1e-3),
            (48, 20.0, 1.3e-4, 1e-4),
            (48, 21.0, 0.649, 1e-3),
            (48, 22.0, 0.983, 1e-3),
            (54, 21.0, 5.44e-8, 1e-8),
            (54, 22.0, 0.410, 1e-3),
            (54, 23.0, 0.958, 1e-3),
            (54, 24.0, 0.999, 1e-3),
        ] {
            let mode = LegacyMode::of(BitRate::from_mbps(mbps), true);
            let (exact, table) = success(mode, sinr_db, 16_000.0);
            assert!((exact - published).abs() <= digits, "{mbps} Mb/s at {sinr_db} dB: {exact} instead of {published}");
            assert!((table - exact).abs() < 1e-2 * exact, "{mbps} Mb/s at {sinr_db} dB: {table} in the table");
        }
    }

    /// DBPSK: the error is half of exp(-E_b/N_0), so 1e-5 at 10 lg(ln 50000) = 10.34 dB, which is 13.42 dB less as SINR
    /// in 22 MHz. CCK at 11 Mb/s needs exactly 3.01 dB more than at 5.5 Mb/s.
    #[test]
    fn closed_forms() {
        let sinr = (50_000.0_f64).ln() / 22.0;
        assert!((LegacyMode::Dsss1.log_success(sinr).exp() - (1.0 - 1e-5)).abs() < 1e-12);
        for sinr in [0.3, 0.6, 1.0, 2.0] {
            let (slow, fast) = (LegacyMode::Cck5.log_success(sinr), LegacyMode::Cck11.log_success(2.0 * sinr));
            assert!((slow / fast - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn beyond_the_table_everything_or_nothing_survives() {
        let errors = BitErrors::tables();
        for mbps in [1, 2, 11, 6, 54] {
            for ofdm in [false, true] {
                let mode = LegacyMode::of(BitRate::from_mbps(mbps), ofdm);
                assert_eq!(errors.log_survival(mode, 1e4, 1e5), 0.0);
                assert_eq!(errors.log_survival(mode, 1e-3, 1e3), f64::NEG_INFINITY);
                assert_eq!(errors.log_survival(mode, 0.0, 1e3), f64::NEG_INFINITY);
                assert_eq!(errors.log_survival(mode, f64::INFINITY, 1e3), 0.0);
                assert_eq!(errors.log_survival(mode, 1.0, 0.0), 0.0);
            }
        }
    }
}
