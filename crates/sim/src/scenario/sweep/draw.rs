//! Samples of parameters that have a distribution.
//!
//! Latin hypercube: M. D. McKay, R. J. Beckman and W. J. Conover, "A Comparison of Three Methods for Selecting Values
//! of Input Variables in the Analysis of Output from a Computer Code", Technometrics 21(2), 1979. Every parameter draws
//! from a stream of its own, so that adding one leaves the others unchanged.

use wifair_engine::{Stream, stream};

use super::axis::with_unit;
use super::decimal::rounded;
use super::{Design, Law};

/// Significant digits of drawn values, which appear in tables.
const DIGITS: usize = 6;

/// Draws `count` values for `path`.
pub fn draw(law: &Law, path: &str, count: u32, design: Design, seed: u64) -> Vec<String> {
    let mut draws = stream(seed, "sample", path);
    let strata: Vec<u32> = match design {
        Design::Random => Vec::new(),
        Design::LatinHypercube => shuffled(count, &mut draws),
    };
    let sample = |index: u32| {
        let u = draws.uniform();
        match strata.get(index as usize) {
            Some(stratum) => law.at((f64::from(*stratum) + u) / f64::from(count)),
            None => law.at(u),
        }
    };
    (0..count).map(sample).collect()
}

/// `0..count` in random order (R. A. Fisher and F. Yates, 1938; R. Durstenfeld, 1964).
fn shuffled(count: u32, draws: &mut Stream) -> Vec<u32> {
    let mut order: Vec<u32> = (0..count).collect();
    for last in (1..count).rev() {
        order.swap(last as usize, draws.below(last + 1) as usize);
    }
    order
}

impl Law {
    /// The value below which the distribution has probability `u`, in [0, 1).
    fn at(&self, u: f64) -> String {
        match self {
            Self::Uniform(low, high, unit) => with_unit(&rounded(low + u * (high - low), DIGITS), unit),
            Self::LogUniform(low, high, unit) => with_unit(&rounded(low * libm::pow(high / low, u), DIGITS), unit),
            Self::Integers(low, high, unit) => {
                let count = (high - low) as f64 + 1.0;
                with_unit(&(low + libm::floor(u * count) as i64).min(*high), unit)
            }
            Self::Choice(items) => items[((u * items.len() as f64) as usize).min(items.len() - 1)].clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_latin_hypercube_meets_every_stratum_once() {
        let law = Law::Uniform(0.0, 50.0, String::new());
        let values = draw(&law, "x", 50, Design::LatinHypercube, 1);
        let mut strata: Vec<u32> = values.iter().map(|v| v.parse::<f64>().unwrap() as u32).collect();
        assert!(strata.windows(2).any(|pair| pair[0] > pair[1]), "they are in order: {strata:?}");
        strata.sort_unstable();
        assert_eq!(strata, (0..50).collect::<Vec<_>>());
    }

    /// Of 1000 independent draws into 50 strata each stratum gets 20 on average, and chi squared has 49 degrees of
    /// freedom: mean 49, standard deviation sqrt(2 * 49) = 9.9, so 99 is five standard deviations above the mean.
    #[test]
    fn random_draws_are_uniform() {
        let law = Law::Integers(0, 49, String::new());
        let mut counts = [0.0; 50];
        for value in draw(&law, "x", 1000, Design::Random, 1) {
            counts[value.parse::<usize>().unwrap()] += 1.0;
        }
        let chi_squared: f64 = counts.iter().map(|count: &f64| (count - 20.0).powi(2) / 20.0).sum();
        assert!(chi_squared > 10.0 && chi_squared < 99.0, "{chi_squared}");
    }

    #[test]
    fn laws_turn_probabilities_into_values() {
        assert_eq!(Law::Uniform(10.0, 20.0, "ms".to_owned()).at(0.25), "12.5 ms");
        assert_eq!(Law::LogUniform(1.0, 100.0, "ms".to_owned()).at(0.5), "10 ms");
        assert_eq!(Law::Integers(1, 6, String::new()).at(0.999), "6");
        assert_eq!(Law::Integers(1, 6, String::new()).at(0.0), "1");
        assert_eq!(Law::Choice(vec!["reno".to_owned(), "vegas".to_owned()]).at(0.5), "vegas");
    }

    #[test]
    fn a_further_parameter_leaves_the_draws_of_others() {
        let law = Law::Uniform(0.0, 1.0, String::new());
        assert_eq!(draw(&law, "x", 5, Design::Random, 1), draw(&law, "x", 5, Design::Random, 1));
        assert_ne!(draw(&law, "x", 5, Design::Random, 1), draw(&law, "y", 5, Design::Random, 1));
        assert_ne!(draw(&law, "x", 5, Design::Random, 1), draw(&law, "x", 5, Design::Random, 2));
    }
}
