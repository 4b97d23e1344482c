//! Frame exchange sequences: which frames follow each other, each SIFS after the one before.
//!
//! Source: IEEE Std 802.11-2016, annex G, and 10.3.2.4 to 10.3.2.11 (RTS/CTS, CTS-to-self, ACK), 10.24.7 (block ACK).

/// A frame of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Request to send, by the initiator.
    Rts,
    /// Clear to send, by the responder.
    Cts,
    /// CTS by the initiator to itself, for stations that cannot read what follows.
    CtsToSelf,
    /// Data: a single MPDU or an A-MPDU, by the initiator.
    Data,
    /// Acknowledgement of a single MPDU, by the responder.
    Ack,
    /// Request for a block ACK, by the initiator.
    BlockAckReq,
    /// Acknowledgement of an A-MPDU or a request, by the responder.
    BlockAck,
    /// A management frame, by the initiator.
    Action,
}

/// What an exchange is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Data for everyone.
    Broadcast,
    /// A single MPDU, with normal ACK policy.
    Single,
    /// An A-MPDU, with implicit block ACK request.
    Aggregate,
    /// To learn what a receiver has got, or to tell it what will not come.
    BlockAckRequest,
    /// To make an agreement.
    Agreement,
}

/// How the medium is reserved before the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protection {
    /// Not at all.
    None,
    /// By RTS and CTS.
    RtsCts,
    /// By a CTS to itself.
    CtsToSelf,
}

/// The frames of an exchange, in order.
#[must_use]
pub const fn sequence(purpose: Purpose, protection: Protection) -> &'static [Step] {
    use Step::{Ack, Action, BlockAck, BlockAckReq, Cts, CtsToSelf, Data, Rts};
    match (purpose, protection) {
        (Purpose::Broadcast, Protection::None | Protection::RtsCts) => &[Data],
        (Purpose::Broadcast, Protection::CtsToSelf) => &[CtsToSelf, Data],
        (Purpose::Single, Protection::None) => &[Data, Ack],
        (Purpose::Single, Protection::RtsCts) => &[Rts, Cts, Data, Ack],
        (Purpose::Single, Protection::CtsToSelf) => &[CtsToSelf, Data, Ack],
        (Purpose::Aggregate, Protection::None) => &[Data, BlockAck],
        (Purpose::Aggregate, Protection::RtsCts) => &[Rts, Cts, Data, BlockAck],
        (Purpose::Aggregate, Protection::CtsToSelf) => &[CtsToSelf, Data, BlockAck],
        (Purpose::BlockAckRequest, _) => &[BlockAckReq, BlockAck],
        (Purpose::Agreement, _) => &[Action, Ack],
    }
}
