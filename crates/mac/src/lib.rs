//! IEEE 802.11 channel access: who sends when (IEEE Std 802.11-2016, 10.3 and 10.22).
//!
//! A channel is a state machine without a clock: it says when to call it next, and returns what happened. On
//! [`GeneralChannel`] all stations hear each other; on [`SpatialChannel`] radio links determine who hears whom.
//! [`Channel`] is the enum of both, and of the shortcut for DCF. Clause numbers are those of IEEE Std 802.11-2016.

#![cfg_attr(not(feature = "fast"), allow(dead_code))] // what only shortcuts use

mod access;
mod access_category;
mod air_to;
mod call;
mod category;
mod channel;
mod dscp;
pub mod edcaf;
pub mod exchange;
mod exchange_time;
mod extended_response;
#[cfg(feature = "fast")]
mod fast;
mod frame;
pub mod frame_length;
mod interpreter;
mod multi_user_time;
mod psdu_builder;
mod queue_hooks;
pub mod receiver_limits;
mod station;
mod tap;

pub use access::{Access, Eifs, IdleAccess};
pub use access_category::{AccessCategory, DscpMapping};
pub use call::Call;
pub use category::{AccessPlan, Categories, Category, Prioritized};
#[cfg(feature = "fast")]
pub use channel::SharedChannel;
pub use channel::{
    Bandwidth, Channel, ChannelCounters, ChannelSettings, ChannelVariant, GeneralChannel, Hearing, RadioLinks,
    RateSettings, SignalSettings, SpatialChannel,
};
pub use dscp::Dscp;
pub use exchange_time::{ExchangeContent, ExchangeQuery, ExchangeTime, Response};
#[cfg(feature = "fast")]
pub use fast::{DatagramRun, DatagramRuns, MpduLeads, SaturatedSource};
pub use multi_user_time::{MuExchangeTime, MuFrame, MuQuery, MuSequence};
pub use station::{AirTime, Counters, MacEvent, Outages, StationSettings};
pub use tap::{BackoffRecord, Fate, FrameKind, FrameRecord, Hearer, InAggregate, Tap};
pub use wifair_packet::BROADCAST;
