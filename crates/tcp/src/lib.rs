//! TCP sender, receiver, loss recovery and congestion control, without I/O.
//!
//! A [`Sender`] and a [`Receiver`] are the two ends of a connection that carries data in one direction. Both are driven
//! from outside: the caller passes in `(now, packet)`, calls `poll` until it returns no more packets, and calls
//! `on_timer` at `deadline`. Neither reads a clock or knows about queues, sockets or events.

#![cfg_attr(not(feature = "fast"), allow(dead_code))] // what only shortcuts use

use wifair_units::Time;

pub mod accecn;
pub mod cc;
mod config;
mod gro;
#[cfg(test)]
mod pipe;
mod ranges;
mod receiver;
mod rtt;
mod sender;
mod settings;

pub use config::{
    AccurateEcn, Growth, Handshake, IdleRestart, LimitedTransmit, ReceiverConfig, Recovery, ReduceFrom, SenderConfig,
    StackOptions,
};
pub use receiver::Receiver;
pub use rtt::{Rtt, RttConfig};
#[cfg(feature = "fast")]
pub use sender::AckTrain;
pub use sender::{AckReport, Info, RecoveryState, Sender, SenderCounters, SenderState, burst_size};
pub use settings::{Stack, TcpSettings};

/// Length of the timestamps option with its padding, in bytes (RFC 7323, appendix A).
const TIMESTAMP_OPTION: u16 = 12;

/// Timestamp clock: microseconds, which wrap after 71 minutes. RFC 7323, section 5.4, recommends ticks of 1 ms to 1 s;
/// finer ticks only make the value wrap sooner.
#[inline]
const fn clock(now: Time) -> u32 {
    (now.as_nanos() / 1000) as u32
}
