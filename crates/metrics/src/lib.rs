//! From records and captures to goodput, airtime, delay and fairness.
