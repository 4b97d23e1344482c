//! TCP sender, receiver, loss recovery and congestion control, sans I/O.

pub mod cc;
