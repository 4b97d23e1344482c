//! Indices computed from records and captures: fairness, starvation, latency and call quality.

mod fairness;
mod histogram;
mod latency;
mod starvation;
mod voice;

pub use fairness::{FinishRatios, Jain, jain_index};
pub use histogram::Histogram;
pub use latency::{Jitter, bufferbloat_grade};
pub use starvation::{STARVED_BELOW, Supply, max_min_shares, starved, starved_below};
pub use voice::{call_rating, mean_opinion_score, r_factor};
