//! What a test offers, and what it gets back.

use std::time::Duration;

use wifair_packet::flag;
use wifair_sim::world::Loss;

use crate::LinkHost;

/// The ECN field of an IP header (RFC 3168, section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum EcnField {
    /// Not ECN-capable: queues drop it.
    #[default]
    NotEct,
    /// ECN-capable.
    Ect0,
    /// ECN-capable; the mark of L4S senders (RFC 9331).
    Ect1,
    /// Congestion experienced.
    Ce,
}

impl EcnField {
    pub(crate) const fn flags(self) -> u8 {
        match self {
            Self::NotEct => 0,
            Self::Ect0 | Self::Ect1 => flag::ECT,
            Self::Ce => flag::ECT | flag::CE,
        }
    }
}

/// A UDP datagram.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkDatagram {
    /// Its bytes; they come back unchanged.
    pub payload: Vec<u8>,
    /// Bytes of payload that only count, beyond `payload`: a test that needs no bytes sets this instead.
    pub padding: usize,
    /// The ECN field.
    pub ecn: EcnField,
    /// Differentiated services code point, which decides the access category from 802.11n on.
    pub dscp: u8,
    /// Which of the flows between its two hosts it belongs to, as ports would say: queues that distinguish flows see
    /// one flow for each number.
    pub flow: u16,
}

impl LinkDatagram {
    /// A datagram of flow 0 with these bytes, best effort, not ECN-capable.
    #[must_use]
    pub fn new(payload: Vec<u8>) -> Self {
        Self { payload, ..Self::default() }
    }

    /// The same with `length` bytes that are not stored.
    #[must_use]
    pub fn of_length(length: usize) -> Self {
        Self { padding: length, ..Self::default() }
    }

    /// The same datagram with this ECN field.
    #[must_use]
    pub fn with_ecn(self, ecn: EcnField) -> Self {
        Self { ecn, ..self }
    }

    /// The same datagram in this flow.
    #[must_use]
    pub fn with_flow(self, flow: u16) -> Self {
        Self { flow, ..self }
    }

    /// Bytes of payload.
    #[must_use]
    pub fn length(&self) -> usize {
        self.payload.len() + self.padding
    }
}

/// A datagram that has arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivered {
    /// When, from the beginning of the network.
    pub time: Duration,
    /// The number that [`WifiLink::offer`](crate::WifiLink::offer) gave it.
    pub number: u64,
    /// Who sent it.
    pub from: LinkHost,
    /// Whose it is.
    pub to: LinkHost,
    /// Its bytes.
    pub payload: Vec<u8>,
    /// Bytes of payload, with padding.
    pub length: usize,
    /// The ECN field, [`EcnField::Ce`] if a queue marked it.
    pub ecn: EcnField,
    /// Its flow.
    pub flow: u16,
}

/// A datagram that did not arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost {
    /// When it was dropped or given up.
    pub time: Duration,
    /// The number that [`WifiLink::offer`](crate::WifiLink::offer) gave it.
    pub number: u64,
    /// Where.
    pub place: LossPlace,
}

/// Where a datagram was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LossPlace {
    /// Dropped by the queue of an access point.
    ApQueue,
    /// Dropped by the queue of a station.
    StationQueue,
    /// Dropped by the queue of a wired link.
    LinkQueue,
    /// Given up by the MAC after its last attempt.
    RetryLimit,
    /// Anything else: a scheme of the access point, no route, an expired lifetime.
    Other,
}

impl LossPlace {
    /// Its name: `ap-queue`, `station-queue`, `link-queue`, `retry-limit` or `other`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ApQueue => "ap-queue",
            Self::StationQueue => "station-queue",
            Self::LinkQueue => "link-queue",
            Self::RetryLimit => "retry-limit",
            Self::Other => "other",
        }
    }
}

impl From<Loss> for LossPlace {
    fn from(loss: Loss) -> Self {
        match loss {
            Loss::ApQueue => Self::ApQueue,
            Loss::StationQueue => Self::StationQueue,
            Loss::LinkQueue => Self::LinkQueue,
            Loss::RetryLimit => Self::RetryLimit,
            Loss::Scheme | Loss::NoRoute | Loss::Lifetime | Loss::Late => Self::Other,
        }
    }
}
