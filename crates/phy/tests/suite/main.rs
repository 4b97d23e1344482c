//! Tests of rates and air times, as a single program.

mod airtime;
mod rates;
