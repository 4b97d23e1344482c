//! Tests of rates and air times, one program for all.

mod airtime;
mod rates;
