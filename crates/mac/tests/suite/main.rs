//! Tests of channels, in a single program.

mod aggregation;
mod agreements;
mod amsdu;
mod cf_end;
mod cf_end_in_space;
mod common;
mod edca;
mod equality;
mod hidden;
mod hidden_aggregates;
mod missing_cts;
mod moving;
mod mpdu_errors;
mod older;
mod outages;
mod rates;
mod reference;
mod rts_air_time;
mod saturation;
mod signal;
mod timeouts;
#[cfg(feature = "fast")]
mod trains;
