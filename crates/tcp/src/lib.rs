//! TCP sender, receiver, loss recovery and congestion control, sans I/O.
//!
//! A [`Sender`] and a [`Receiver`] are the two ends of a connection that carries data one way. They take
//! `(now, packet)`, answer with packets from `poll` until there is none, and name the next `deadline` at which
//! their `on_timer` wants to be called. They know no clock, queue, socket or event.

use wifair_units::Time;

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
    Growth, Handshake, IdleRestart, LimitedTransmit, ReceiverConfig, Recovery, ReduceFrom, SenderConfig, StackOptions,
};
pub use receiver::Receiver;
pub use rtt::{Rtt, RttConfig};
pub use sender::{Counts, Info, RecoveryState, Sender, State};
pub use settings::{Settings, Stack};

/// Bytes of the timestamp option with its padding (RFC 7323, appendix A).
const TIMESTAMP_OPTION: u16 = 12;

/// The clock of timestamps: microseconds, which wrap after 71 minutes (RFC 7323, section 5.4, asks for 1 ms to 1 s, so
/// that they wrap late).
#[inline]
const fn clock(now: Time) -> u32 {
    (now.as_nanos() / 1000) as u32
}
