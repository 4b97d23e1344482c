//! Error rates of MPDUs sent with an MCS (HT, VHT, HE, EHT), by the signal to interference and noise ratio (SINR).
//!
//! White Gaussian noise, ideal receivers, SINR per subcarrier and spatial stream. Sources:
//!
//! - BCC: as for OFDM in [`crate::BitErrors`]: bit errors of square QAM with Gray code,
//!   `2 / log2 M * (1 - 1 / sqrt M) * erfc(sqrt(1.5 SINR / (M - 1)))`, and the union bound for hard decisions
//!   (G. Pei and T. Henderson, Boeing, 2010, after L. Miller, NIST). The weights of rate 5/6 are those of D. Haccoun
//!   and G. Bégin, IEEE Transactions on Communications 37(11), 1989.
//! - LDPC: the normal approximation for codewords of 1944 bits, `Q((n C - k + log2(n) / 2) / sqrt(n V))` with capacity
//!   C and dispersion V of the constellation (Y. Polyanskiy, H. V. Poor and S. Verdú, IEEE Transactions on Information
//!   Theory 56(5), 2010): the limit for a good code of that length. Real decoders need some tenths of a dB to 1 dB
//!   more, which is left out.
//! - Dual carrier modulation: combining both copies of a bit doubles the SINR.
//!
//! Do not compare BCC with LDPC here: hard decisions cost BCC some 2 dB and the union bound more, while LDPC is ideal,
//! so the two lie 6 to 8 dB apart at the same MCS. Compare modes that use the same code.
//!
//! Left out: correlation between streams, phase noise and other impairments of radios, which limit 1024-QAM and
//! 4096-QAM in practice.

use std::f64::consts::{FRAC_1_SQRT_2, LOG2_E, PI};
use std::sync::OnceLock;

use crate::bit_errors::union_bound;
use crate::error_curve::ErrorCurve;
use crate::mcs::{self, McsParameters};
use crate::{Coding, TxMode};

/// Bits of an LDPC codeword.
const CODEWORD: f64 = 1944.0;

/// Lowest tabulated SINR, in dB; below it no MPDU survives.
const LOWEST: f64 = -10.0;
/// Highest tabulated SINR, in dB; above it none is lost.
const HIGHEST: f64 = 60.0;
/// Table entries per dB.
const DENSITY: f64 = 10.0;

/// The curves of MCS 0 to 13, computed on first use.
static BCC: [OnceLock<ErrorCurve>; 14] = [const { OnceLock::new() }; 14];
static LDPC: [OnceLock<ErrorCurve>; 14] = [const { OnceLock::new() }; 14];

/// Natural logarithm of the probability that all of `bits` bits sent in `mode` at `sinr` (a ratio) are right; `None`
/// for modes before HT, see [`crate::BitErrors`]. The tables are computed once.
pub fn log_survival(mode: TxMode, sinr: f64, bits: f64) -> Option<f64> {
    let (index, coding) = mode.modulation()?;
    let (curves, log_success): (_, fn(McsParameters, f64) -> f64) = match coding {
        Coding::Bcc => (&BCC, bcc),
        Coding::Ldpc => (&LDPC, ldpc),
    };
    let curve = curves[usize::from(index)]
        .get_or_init(|| ErrorCurve::new(LOWEST..=HIGHEST, DENSITY, |sinr| log_success(mcs::of(index), sinr)));
    Some(curve.log_survival(if mode.dcm() { 2.0 * sinr } else { sinr }, bits))
}

fn bcc(parameters: McsParameters, sinr: f64) -> f64 {
    let points = f64::from(1_u32 << parameters.bits_per_subcarrier);
    let error = match parameters.bits_per_subcarrier {
        1 => 0.5 * libm::erfc(libm::sqrt(sinr)),
        bits => {
            let share = 2.0 / f64::from(bits) * (1.0 - 1.0 / libm::sqrt(points));
            share * libm::erfc(libm::sqrt(1.5 * sinr / (points - 1.0)))
        }
    };
    libm::log1p(-union_bound(parameters.code_rate, error).min(1.0))
}

fn ldpc(parameters: McsParameters, sinr: f64) -> f64 {
    let bits = f64::from(parameters.bits_per_subcarrier);
    let code_rate = f64::from(parameters.code_rate.data) / f64::from(parameters.code_rate.coded);
    let payload = CODEWORD * code_rate;
    // The code rate is far above the Shannon capacity: no codeword survives.
    if libm::log2(1.0 + sinr) < 0.9 * bits * code_rate {
        return f64::NEG_INFINITY;
    }
    // BPSK has all its power in one dimension, which contains half of the noise; QAM has half of its power in each.
    let (levels, dimensions, ratio) = match parameters.bits_per_subcarrier {
        1 => (2, 1.0, 2.0 * sinr),
        bits => (1_u32 << (bits / 2), 2.0, sinr),
    };
    let (capacity, dispersion) = pam(levels, ratio);
    let uses = CODEWORD / bits * dimensions;
    let margin = uses * capacity - payload + 0.5 * libm::log2(uses);
    let error = 0.5 * libm::erfc(margin / libm::sqrt(uses * dispersion) * FRAC_1_SQRT_2);
    libm::log1p(-error.min(1.0)) / payload
}

/// Mean and variance, in bits and bits squared, of the information density of `levels` evenly spaced and equally
/// probable amplitudes, whose mean power is `ratio` times that of the noise.
fn pam(levels: u32, ratio: f64) -> (f64, f64) {
    const STEPS: i32 = 60;
    let squared = f64::from(levels * levels - 1) / 3.0;
    let sigma = libm::sqrt(squared / ratio);
    let amplitude = |level: u32| f64::from(2 * level) - f64::from(levels - 1);
    let (mut mean, mut square, mut weight) = (0.0, 0.0, 0.0);
    // The amplitudes are symmetric, so half of them suffice.
    for sent in 0..levels / 2 {
        for step in -STEPS..=STEPS {
            let noise = f64::from(step) * 0.1;
            let density = libm::exp(-0.5 * noise * noise) / libm::sqrt(2.0 * PI);
            let mut sum = 0.0;
            for other in 0..levels {
                let distance = (amplitude(sent) - amplitude(other)) / sigma;
                sum += libm::exp(-0.5 * distance * (distance + 2.0 * noise));
            }
            let information = libm::log2(f64::from(levels)) - libm::log(sum) * LOG2_E;
            mean += density * information;
            square += density * information * information;
            weight += density;
        }
    }
    let mean = mean / weight;
    (mean, (square / weight - mean * mean).max(1e-12))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Amendment, ModeRequest};

    fn mode(standard: &str, mcs: u32, coding: Coding) -> TxMode {
        let request = ModeRequest { mcs: Some(mcs), coding: Some(coding), ..ModeRequest::default() };
        Amendment::parse(standard).unwrap().mode(&request).unwrap().1
    }

    fn success(mode: TxMode, db: f64, bytes: f64) -> f64 {
        log_survival(mode, libm::pow(10.0, db / 10.0), 8.0 * bytes).unwrap().exp()
    }

    /// Success of 2000 bytes by SINR in dB, for the MCSs that also exist as OFDM rates, compared with the published
    /// values for OFDM (ns-3's program ofdm-validation.cc, see [`crate::BitErrors`]).
    #[test]
    fn bcc_agrees_with_the_published_values_of_ofdm() {
        for (mcs, db, published, digits) in [
            (0, 3.0, 0.020, 2e-3),
            (0, 4.0, 0.885, 2e-3),
            (1, 7.0, 0.881, 2e-3),
            (2, 9.5, 0.623, 5e-3),
            (3, 13.0, 0.495, 5e-3),
            (4, 16.5, 0.818, 5e-3),
            (5, 21.0, 0.649, 5e-3),
            (6, 23.0, 0.958, 5e-3),
        ] {
            let found = success(mode("802.11n", mcs, Coding::Bcc), db, 2000.0);
            assert!((found - published).abs() < digits, "MCS {mcs} at {db} dB: {found} instead of {published}");
        }
    }

    /// Capacity of binary input: the Shannon limits of codes of rate 1/2, 3/4 and 5/6 are 0.187, 1.626 and 2.362 dB of
    /// E_b/N_0 (textbook values).
    #[test]
    fn capacity_of_binary_input() {
        for (rate, eb_n0_db) in [(0.5, 0.187), (0.75, 1.626), (5.0 / 6.0, 2.362)] {
            let sinr = rate * libm::pow(10.0, eb_n0_db / 10.0);
            assert!((pam(2, 2.0 * sinr).0 - rate).abs() < 1e-3, "{rate}: {}", pam(2, 2.0 * sinr).0);
        }
        // At high SINR all bits are conveyed, with hardly any variance.
        let (capacity, dispersion) = pam(8, 1e4);
        assert!((capacity - 3.0).abs() < 1e-6 && dispersion < 1e-5);
    }

    /// The SINR at which half of the MPDUs of 1500 bytes are lost rises with the MCS; LDPC needs less than BCC, and
    /// both need more than Shannon's limit.
    #[test]
    fn thresholds_are_in_order() {
        let threshold = |mode| {
            let mut db = -10.0;
            while success(mode, db, 1500.0) < 0.5 {
                db += 0.1;
            }
            db
        };
        let mut before = -10.0;
        for mcs in 0..10 {
            let (bcc, ldpc) =
                (threshold(mode("802.11ax", mcs, Coding::Bcc)), threshold(mode("802.11ax", mcs, Coding::Ldpc)));
            let parameters = mcs::of(u8::try_from(mcs).unwrap());
            let bits = f64::from(parameters.bits_per_subcarrier * parameters.code_rate.data)
                / f64::from(parameters.code_rate.coded);
            let shannon = 10.0 * libm::log10(libm::exp2(bits) - 1.0);
            assert!(ldpc > before && shannon < ldpc && ldpc < bcc, "MCS {mcs}: {shannon} {ldpc} {bcc}");
            before = ldpc;
        }
        assert!(threshold(mode("802.11ax", 11, Coding::Ldpc)) > threshold(mode("802.11ax", 10, Coding::Ldpc)));
    }

    /// Receiver minimum input level sensitivity in 20 MHz, MCS 0 to 11 (19.3.19, table 19-23; 21.3.18.1, table 21-25;
    /// IEEE Std 802.11ax-2021, 27.3.20.2, table 27-51): at most a tenth of PSDUs of 4096 octets is lost there. The
    /// tables assume a noise figure of 10 dB and 5 dB of implementation loss above -101 dBm of thermal noise in 20 MHz.
    const MINIMUM_SENSITIVITY: [f64; 12] =
        [-82.0, -79.0, -77.0, -74.0, -70.0, -66.0, -65.0, -64.0, -59.0, -57.0, -54.0, -52.0];

    /// BCC, by the union bound for hard decisions, needs the power that such a receiver needs, or up to 2.5 dB more.
    /// LDPC, as good as a code of its length can be, needs the power that a receiver without implementation loss needs,
    /// or up to 2.5 dB less.
    #[test]
    fn a_tenth_is_lost_near_the_minimum_sensitivity() {
        for (mcs, level) in (0..).zip(MINIMUM_SENSITIVITY) {
            let required = level + 101.0 - 10.0 - 5.0;
            let loss = |coding, db| 1.0 - success(mode("802.11ax", mcs, coding), db, 4096.0);
            if mcs < 10 {
                let (below, above) = (loss(Coding::Bcc, required), loss(Coding::Bcc, required + 2.5));
                assert!(below > 0.1 && above < 0.1, "BCC, MCS {mcs}: {below} and {above}");
            }
            let (below, above) = (loss(Coding::Ldpc, required - 7.5), loss(Coding::Ldpc, required - 5.0));
            assert!(below > 0.1 && above < 0.1, "LDPC, MCS {mcs}: {below} and {above}");
        }
    }

    #[test]
    fn beyond_the_table_everything_or_nothing_survives() {
        for coding in [Coding::Bcc, Coding::Ldpc] {
            let mode = mode("802.11n", 7, coding);
            assert_eq!(log_survival(mode, 1e7, 1e5), Some(0.0));
            assert_eq!(log_survival(mode, 1e-3, 1e3), Some(f64::NEG_INFINITY));
            assert_eq!(log_survival(mode, 0.0, 1e3), Some(f64::NEG_INFINITY));
            assert_eq!(log_survival(mode, 1.0, 0.0), Some(0.0));
        }
    }

    #[test]
    fn dual_carrier_modulation_gains_3_db() {
        let request = ModeRequest { mcs: Some(0), dcm: true, coding: Some(Coding::Ldpc), ..ModeRequest::default() };
        let dcm = Amendment::Ax.mode(&request).unwrap().1;
        let plain = mode("802.11ax", 0, Coding::Ldpc);
        assert_eq!(log_survival(dcm, 0.5, 1e4), log_survival(plain, 1.0, 1e4));
    }
}
