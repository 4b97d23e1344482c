//! Propagation: path gain by distance, shadowing per path, fading per frame.
//!
//! Sources: H. T. Friis, "A Note on a Simple Transmission Formula", 1946; T. S. Rappaport, "Wireless Communications",
//! sections 4.2 (free space), 4.6 (two-ray ground), 4.9 (log-distance, log-normal shadowing); M. Nakagami, "The
//! m-Distribution", 1960. The two-ray model becomes free space below the crossover distance `4 pi h_t h_r /
//! wavelength`, as in ns-2.
//!
//! Gains are ratios of received to sent power without antennas, in dB (negative). No path amplifies: where the formulas
//! give a gain above 0 dB, within a fraction of a wavelength, it is 0 dB.

use std::f64::consts::PI;

use wifair_config::{choice, table};
use wifair_engine::Stream;
use wifair_units::{Db, Metres};

/// Speed of light, in m/s.
const LIGHT: f64 = 299_792_458.0;

/// The position of a station, in metres.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Position {
    /// East.
    pub x: f64,
    /// North.
    pub y: f64,
}

impl Position {
    /// The position with these coordinates, in metres.
    pub const fn new(x: f64, y: f64) -> Self {
        Self { x, y }
    }

    /// The distance to `other`.
    pub fn distance(self, other: Self) -> Metres {
        Metres(libm::hypot(self.x - other.x, self.y - other.y))
    }
}

table! {
    /// Free space: the received power falls with the square of the distance.
    pub struct Friis {
        /// Carrier frequency, in MHz; 2412 is channel 1 of 2.4 GHz.
        pub frequency_mhz: f64 = 2412.0, "above 0" => |f| *f > 0.0;
    }
}

table! {
    /// Direct and ground-reflected ray: beyond the crossover distance the received power falls with the fourth
    /// power.
    pub struct TwoRay {
        /// Carrier frequency, in MHz; 914 is ns-2's.
        pub frequency_mhz: f64 = 914.0, "above 0" => |f| *f > 0.0;
        /// Height of every antenna; ns-2's is 1.5 m.
        pub height: Metres = Metres(1.5), "above 0 m" => |h| h.0 > 0.0;
    }
}

table! {
    /// The received power falls with a given power of the distance; each path has its own shadowing.
    pub struct LogDistance {
        /// Path-loss exponent: 2 in free space, 3 to 5 indoors.
        pub exponent: f64 = 3.0, "above 0 and at most 10" => |n| *n > 0.0 && *n <= 10.0;
        /// Distance at which the loss is `reference_loss`.
        pub reference_distance: Metres = Metres(1.0), "above 0 m and at most 1000 km" => |d| d.0 > 0.0 && d.0 <= 1e6;
        /// Loss at `reference_distance`; 40.1 dB is that of free space at 1 m on channel 1.
        pub reference_loss: Db = Db(40.1), "from 0 dB to 300 dB" => |loss| (0.0..=300.0).contains(&loss.0);
        /// Standard deviation of the shadowing, which is normal in dB, drawn once per pair of nodes, and the same
        /// in both directions.
        pub shadowing: Db = Db(0.0), "from 0 dB to 100 dB" => |sigma| (0.0..=100.0).contains(&sigma.0);
    }
}

choice! {
    /// Path loss by distance.
    pub enum Propagation {
        /// Free space.
        Friis(Friis) = "friis" from "H. T. Friis, 1946",
        /// Direct ray and reflection by the ground, as in ns-2.
        TwoRay(TwoRay) = "two-ray" from "T. S. Rappaport, Wireless Communications, 4.6; ns-2 2.35",
        /// A given path-loss exponent, and shadowing.
        LogDistance(LogDistance) = "log-distance" from "T. S. Rappaport, Wireless Communications, 4.9",
    }
}

impl Propagation {
    /// Gain of a path of this length, without shadowing.
    pub fn gain(&self, distance: Metres) -> Db {
        let d = distance.0;
        let gain = match self {
            Self::Friis(params) => free_space(params.frequency_mhz, d),
            Self::TwoRay(params) => {
                let h = params.height.0;
                let wavelength = LIGHT / (params.frequency_mhz * 1e6);
                if d < 4.0 * PI * h * h / wavelength {
                    free_space(params.frequency_mhz, d)
                } else {
                    decibels(h * h * h * h / (d * d * d * d))
                }
            }
            Self::LogDistance(params) => {
                let ratio = (d / params.reference_distance.0).max(f64::MIN_POSITIVE);
                -params.reference_loss.0 - 10.0 * params.exponent * libm::log10(ratio)
            }
        };
        Db(gain.min(0.0))
    }

    /// Whether paths have shadowing.
    pub fn has_shadows(&self) -> bool {
        matches!(self, Self::LogDistance(params) if params.shadowing.0 > 0.0)
    }

    /// The shadowing of a path, in dB, drawn from the stream of this pair of nodes.
    pub fn shadow(&self, draws: &mut Stream) -> Db {
        match self {
            Self::LogDistance(params) if params.shadowing.0 > 0.0 => Db(params.shadowing.0 * normal(draws)),
            _ => Db(0.0),
        }
    }
}

/// `(wavelength / (4 pi d))^2`, in dB.
fn free_space(frequency_mhz: f64, distance: f64) -> f64 {
    let ratio = LIGHT / (frequency_mhz * 1e6) / (4.0 * PI * distance);
    decibels(ratio * ratio)
}

/// A ratio of powers, in dB.
fn decibels(ratio: f64) -> f64 {
    10.0 * libm::log10(ratio)
}

table! {
    /// Parameters of Nakagami fading.
    pub struct Nakagami {
        /// Shape: 1 is Rayleigh fading, larger is steadier, 1/2 the most violent.
        pub m: f64 = 1.5, "0.5 or more" => |m| *m >= 0.5;
    }
}

choice! {
    /// How the power of a frame varies around its mean. It is drawn for each frame and receiver, and is constant during
    /// the frame.
    pub enum Fading {
        /// No fading.
        None = "none",
        /// Rayleigh fading: no path dominates, and the power is exponentially distributed.
        Rayleigh = "rayleigh" from "T. S. Rappaport, Wireless Communications, 5.6",
        /// Nakagami fading: the power has a gamma distribution.
        Nakagami(Nakagami) = "nakagami" from "M. Nakagami, The m-Distribution, 1960",
    }
}

impl Fading {
    /// The factor by which one frame's power varies; its mean is 1.
    pub fn draw(&self, draws: &mut Stream) -> f64 {
        match self {
            Self::None => 1.0,
            Self::Rayleigh => exponential(draws),
            Self::Nakagami(params) => gamma(params.m, draws) / params.m,
        }
    }
}

impl Fading {
    /// Equally likely factors that stand for the distribution; a single one without fading.
    pub fn sample(&self, draws: &mut Stream) -> Vec<f64> {
        let size = if matches!(self, Self::None) { 1 } else { 256 };
        (0..size).map(|_| self.draw(draws)).collect()
    }
}

fn exponential(draws: &mut Stream) -> f64 {
    -libm::log(1.0 - draws.uniform())
}

/// A standard normal variate: G. Box and M. Muller, "A Note on the Generation of Random Normal Deviates", 1958.
fn normal(draws: &mut Stream) -> f64 {
    libm::sqrt(2.0 * exponential(draws)) * libm::cos(2.0 * PI * draws.uniform())
}

/// A gamma variate with this shape and scale 1: G. Marsaglia and W. W. Tsang, "A Simple Method for Generating Gamma
/// Variables", 2000; for a shape below 1 by their section 6.
fn gamma(shape: f64, draws: &mut Stream) -> f64 {
    if shape < 1.0 {
        let boost = libm::pow(1.0 - draws.uniform(), 1.0 / shape);
        return gamma(shape + 1.0, draws) * boost;
    }
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / libm::sqrt(9.0 * d);
    loop {
        let x = normal(draws);
        let v = 1.0 + c * x;
        if v <= 0.0 {
            continue;
        }
        let v = v * v * v;
        if libm::log(1.0 - draws.uniform()) < 0.5 * x * x + d - d * v + d * libm::log(v) {
            return d * v;
        }
    }
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;
    use wifair_engine::stream;
    use wifair_units::Dbm;

    use super::*;

    /// ns-2's card: 0.28183815 W; a frame is received from 3.652e-10 W and sensed from 1.559e-11 W, which is 250 m and
    /// 550 m according to its documentation.
    #[test]
    fn ns2_thresholds_are_250_and_550_metres() {
        let two_ray = Propagation::TwoRay(TwoRay::default());
        let power = Dbm::from_milliwatts(281.838_15);
        for (metres, watts) in [(250.0, 3.652e-10), (550.0, 1.559e-11)] {
            let received = (power + two_ray.gain(Metres(metres))).as_milliwatts() * 1e-3;
            assert_relative_eq!(received, watts, max_relative = 3e-4);
        }
    }

    /// The crossover is where both laws agree: 4 pi 1.5^2 / 0.328 m = 86.2 m.
    #[test]
    fn two_ray_is_continuous_at_the_crossover() {
        let two_ray = Propagation::TwoRay(TwoRay::default());
        let crossover = 4.0 * PI * 2.25 / (LIGHT / 914e6);
        assert_relative_eq!(crossover, 86.2, max_relative = 1e-3);
        let (near, far) = (two_ray.gain(Metres(crossover - 1e-6)), two_ray.gain(Metres(crossover + 1e-6)));
        assert_relative_eq!(near.0, far.0, max_relative = 1e-7);
    }

    /// `32.45 dB + 20 log10(f / MHz) + 20 log10(d / km)` (Recommendation ITU-R P.525, (4): 32.4).
    #[test]
    fn free_space_loss_is_that_of_the_link_budget_formula() {
        let friis = Propagation::Friis(Friis::default());
        for metres in [2.0_f64, 30.0, 1000.0] {
            let budget = 32.4478 + 20.0 * 2412.0_f64.log10() + 20.0 * (metres / 1000.0).log10();
            assert_relative_eq!(-friis.gain(Metres(metres)).0, budget, epsilon = 1e-3);
        }
        // Published check values of a testbed: 46.1 dB at 2 m, 69.6 dB at 30 m on channel 1.
        assert_relative_eq!(-friis.gain(Metres(2.0)).0, 46.1, epsilon = 0.05);
        assert_relative_eq!(-friis.gain(Metres(30.0)).0, 69.6, epsilon = 0.05);
        assert_eq!(friis.gain(Metres(0.0)), Db(0.0), "no path amplifies");
    }

    /// Ten times the distance adds ten times the exponent to the loss, in dB.
    #[test]
    fn log_distance_falls_by_the_exponent() {
        let params = LogDistance { exponent: 3.3, ..LogDistance::default() };
        let model = Propagation::LogDistance(params);
        assert_relative_eq!(model.gain(Metres(1.0)).0, -40.1, epsilon = 1e-9);
        assert_relative_eq!(model.gain(Metres(100.0)).0, -40.1 - 66.0, epsilon = 1e-9);
    }

    /// Mean and variance of `draws` values.
    fn moments(draws: u32, mut draw: impl FnMut() -> f64) -> (f64, f64) {
        let (mut sum, mut squares) = (0.0, 0.0);
        for _ in 0..draws {
            let x = draw();
            sum += x;
            squares += x * x;
        }
        let mean = sum / f64::from(draws);
        (mean, squares / f64::from(draws) - mean * mean)
    }

    /// Shadowing of sigma has mean 0 and variance sigma^2; the power of Nakagami fading has mean 1 and variance 1/m,
    /// with m = 1 for Rayleigh. The bounds are four standard errors, from the fourth moments: 2 sigma^4 for a normal,
    /// and (2 + 6/m) / m^2 for a gamma variate.
    #[test]
    fn shadows_and_fading_have_their_moments() {
        let n = 200_000;
        let root = f64::from(n).sqrt();
        let mut draws = stream(5, "fading", "test");
        let shadowed = LogDistance { shadowing: Db(6.0), ..LogDistance::default() };
        let model = Propagation::LogDistance(shadowed);
        let (mean, variance) = moments(n, || model.shadow(&mut draws).0);
        assert!(mean.abs() < 4.0 * 6.0 / root, "{mean}");
        assert!((variance - 36.0).abs() < 4.0 * 36.0 * 2.0_f64.sqrt() / root, "{variance}");
        for (fading, m) in [
            (Fading::Rayleigh, 1.0_f64),
            (Fading::Nakagami(Nakagami { m: 0.5 }), 0.5),
            (Fading::Nakagami(Nakagami { m: 3.0 }), 3.0),
        ] {
            let (mean, variance) = moments(n, || fading.draw(&mut draws));
            assert!((mean - 1.0).abs() < 4.0 / m.sqrt() / root, "m = {m}: {mean}");
            let error = ((2.0 + 6.0 / m) / m.powi(2)).sqrt() / root;
            assert!((variance - 1.0 / m).abs() < 4.0 * error, "m = {m}: {variance}");
        }
    }
}
