//! Measurements of a running world: counters that only grow, read at the start and the end of the measured time, and
//! distributions that are reset after the warm-up.

use wifair_metrics::Histogram;
use wifair_packet::Packet;
use wifair_units::{Duration, Time, counters};

/// Where and why a packet was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// In the queue of an access point.
    ApQueue,
    /// In the queue of a station.
    StationQueue,
    /// In the queue of a wired link.
    LinkQueue,
    /// Given up by the MAC after its last attempt.
    RetryLimit,
    /// Dropped by a scheme of an access point.
    Scheme,
    /// Pushed out of a station's buffer while it waited for a route to its destination.
    NoRoute,
    /// Dropped by the MAC because its lifetime had ended.
    Lifetime,
    /// Dropped by the receiving MAC, which had stopped waiting for it.
    Late,
}

impl Loss {
    /// Number of kinds of loss.
    pub const COUNT: usize = 8;
    /// Their names, in order.
    pub const NAMES: [&'static str; Self::COUNT] =
        ["ap_queue", "station_queue", "link_queue", "retry_limit", "ap_scheme", "no_route", "lifetime", "late"];
}

counters! {
    /// Counters of one flow since the start of the run.
    pub struct FlowCounters {
        /// Data packets handed down, retransmissions included.
        pub data_sent: u64,
        /// Air hops of data packets that were lost later; with dynamic routing, of all data packets. On fixed paths,
        /// the air hops of packets that arrived follow from the path.
        pub air_hops: u64,
        /// ACK packets handed down.
        pub acks_sent: u64,
        /// Data packets that reached the other end.
        pub data_arrived: u64,
        /// ACK packets that reached the other end.
        pub acks_arrived: u64,
        /// Payload of data packets that reached the other end, duplicates included, in bytes.
        pub payload_arrived: u64,
        /// New payload handed to the application, in order, in bytes.
        pub received: u64,
        /// The part of `received` that arrived before the end of the warm-up, in bytes.
        pub early: u64,
        /// TCP retransmissions.
        pub retransmissions: u64,
        /// Expiries of the retransmission timer.
        pub timeouts: u64,
        /// Losses of data packets by place.
        pub data_lost: [u64; Loss::COUNT],
        /// Losses of ACK packets by place.
        pub acks_lost: [u64; Loss::COUNT],
    }
}

impl FlowCounters {
    /// Counts a data packet that has reached the other end.
    #[inline]
    pub(super) fn arrive(&mut self, payload: u16) {
        self.data_arrived += 1;
        self.payload_arrived += u64::from(payload);
    }

    /// Counts `packets` data packets with equal payloads that have reached the other end.
    #[inline]
    pub(super) fn arrive_together(&mut self, packets: u64, payload: u16) {
        self.data_arrived += packets;
        self.payload_arrived += packets * u64::from(payload);
    }

    /// Counts a lost packet; echo replies count as ACKs do.
    pub(super) fn lose(&mut self, packet: &Packet, loss: Loss) {
        let losses = if packet.is_data() { &mut self.data_lost } else { &mut self.acks_lost };
        losses[loss as usize] += 1;
    }
}

/// The delays of one flow: a histogram since the warm-up, and the minimum of the whole run.
#[derive(Clone, Debug)]
pub struct Delays {
    /// Since the warm-up.
    pub measured: Histogram,
    /// The minimum during the warm-up.
    shortest: Duration,
}

impl Default for Delays {
    fn default() -> Self {
        Self { measured: Histogram::default(), shortest: Duration::MAX }
    }
}

impl Delays {
    #[inline]
    pub(super) fn add(&mut self, delay: Duration) {
        self.measured.add(delay);
    }

    /// Adds `delay` this many times, at least once.
    #[inline]
    pub(super) fn add_repeated(&mut self, delay: Duration, times: u32) {
        self.measured.add_repeated(delay, times);
    }

    /// Ends the warm-up.
    pub(super) fn restart(&mut self) {
        self.shortest = self.shortest_of_all();
        self.measured.clear();
    }

    /// The minimum of the whole run, in seconds: the delay of the path without load. NaN without samples.
    #[must_use]
    pub fn idle_s(&self) -> f64 {
        let shortest = self.shortest_of_all();
        if shortest == Duration::MAX { f64::NAN } else { shortest.nearest_secs() }
    }

    fn shortest_of_all(&self) -> Duration {
        if self.measured.is_empty() { self.shortest } else { self.shortest.min(self.measured.minimum()) }
    }
}

/// The time integral of a quantity that changes in steps.
#[derive(Clone, Copy, Debug, Default)]
pub struct TimeMean {
    since: Time,
    began: Time,
    level: f64,
    integral: f64,
}

impl TimeMean {
    pub(super) fn starting(now: Time) -> Self {
        Self { since: now, began: now, ..Self::default() }
    }

    #[inline]
    #[allow(clippy::cast_precision_loss)]
    pub(super) fn set(&mut self, now: Time, level: f64) {
        let nanos = (now - self.since).as_nanos().cast_signed(); // signed conversion is one instruction, not six
        self.integral += self.level * (nanos as f64 * 1e-9);
        self.since = now;
        self.level = level;
    }

    pub(super) fn restart(&mut self, now: Time) {
        *self = Self { since: now, began: now, level: self.level, integral: 0.0 };
    }

    /// The mean until `now`; the current level if no time has passed.
    #[must_use]
    pub fn mean(mut self, now: Time) -> f64 {
        self.set(now, self.level);
        let span = (now - self.began).as_secs();
        if span > 0.0 { self.integral / span } else { self.level }
    }
}

/// A session of a flow: a start and a number of bytes (jung2016, section 3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Session {
    /// When the session was scheduled.
    pub start: Time,
    /// Its length in bytes.
    pub length: u64,
    /// The offset after its last byte in the stream of the connection.
    pub end: u64,
    /// When its last byte was handed down for the first time, [`Time::NEVER`] if it was not.
    pub sent: Time,
    /// When its last byte was handed to the application, [`Time::NEVER`] if it was not.
    pub received: Time,
    /// When its last byte was acknowledged, [`Time::NEVER`] if it was not.
    pub acknowledged: Time,
}

impl Session {
    /// Time in seconds from its start to `end`; NaN if `end` is [`Time::NEVER`].
    #[must_use]
    pub fn after(&self, end: Time) -> f64 {
        if end < Time::NEVER { (end - self.start).nearest_secs() } else { f64::NAN }
    }
}
