//! IEEE 802.11 channel access: who sends when (IEEE Std 802.11-2016, 10.3 and 10.22).
//!
//! A channel is a state machine without a clock: it says when it wants to be called next, and answers with what has
//! happened. On [`Cell`] everybody hears everybody. In [`Space`] stations hear whom their links let them hear. On
//! [`Edca`] all hear all, and contend with parameters of their own. [`Medium`] is any of them. Clause numbers are those
//! of IEEE Std 802.11-2016.

mod access;
mod category;
mod channel;
mod feed;
mod queues;
mod station;
mod tap;

pub use access::{Access, Eifs, IdleAccess};
pub use category::{AccessPlan, Categories, Category, First};
pub use channel::{Cell, Edca, EdcaSettings, Hearing, Links, Medium, RateSettings, SignalSettings, Space};
pub use feed::Feed;
pub use station::{AirTime, Counters, Heard, StationSettings};
pub use tap::{BackoffRecord, Fate, FrameKind, FrameRecord, Hearer, Tap};
pub use wifair_packet::BROADCAST;
