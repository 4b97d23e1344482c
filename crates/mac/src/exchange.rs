//! Frame exchange sequences: frames that follow each other at intervals of SIFS.
//!
//! Source: IEEE Std 802.11-2016, annex G, and 10.3.2.4 to 10.3.2.11 (RTS/CTS, CTS-to-self, ACK), 10.24.7 (block ACK).

/// A frame of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExchangeStep {
    /// Request to send, from the initiator.
    Rts,
    /// Clear to send, from the responder.
    Cts,
    /// CTS that the initiator addresses to itself, for stations that cannot read the following frames.
    CtsToSelf,
    /// Data from the initiator: a single MPDU or an A-MPDU.
    Data,
    /// Acknowledgment of a single MPDU, from the responder.
    Ack,
    /// Block ACK request, from the initiator.
    BlockAckReq,
    /// Block ACK of an A-MPDU or a request, from the responder.
    BlockAck,
    /// Management frame, from the initiator.
    Action,
    /// CF-End, from the initiator, which releases the rest of its TXOP. It is an exchange of its own.
    CfEnd,
}

/// An end of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExchangeEnd {
    /// The holder of the channel.
    Initiator,
    /// The station to which its data are addressed.
    Responder,
}

impl ExchangeStep {
    /// Which end of the exchange sends it. If the other end sent the frame before, that frame has solicited it.
    #[must_use]
    pub const fn sender(self) -> ExchangeEnd {
        match self {
            Self::Cts | Self::Ack | Self::BlockAck => ExchangeEnd::Responder,
            Self::Rts | Self::CtsToSelf | Self::Data | Self::BlockAckReq | Self::Action | Self::CfEnd => {
                ExchangeEnd::Initiator
            }
        }
    }

    /// Whether the responder sends it.
    #[must_use]
    pub const fn is_answer(self) -> bool {
        matches!(self.sender(), ExchangeEnd::Responder)
    }

    /// Whether the exchange is for its sake, so that RTS and CTS or a CTS-to-self may protect it.
    #[must_use]
    pub const fn is_protected(self) -> bool {
        matches!(self, Self::Data | Self::BlockAckReq | Self::Action)
    }
}

/// Purpose of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Broadcast data.
    Broadcast,
    /// A single MPDU with normal ACK policy.
    Single,
    /// An A-MPDU with implicit block ACK request.
    Aggregate,
    /// BlockAckReq: asks a receiver which MPDUs it has, or tells it which MPDUs will not come.
    BlockAckRequest,
    /// ADDBA or DELBA: sets up or ends a block ACK agreement.
    Agreement,
}

/// How a user's part of a PPDU is acknowledged: the Ack Policy of its QoS data (IEEE Std 802.11ax-2021, table 9-10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckPolicy {
    /// Not at all, as a broadcast.
    None,
    /// By the ACK or block ACK that it solicits (normal ACK, implicit block ACK request).
    Immediate,
    /// By a block ACK that a BlockAckReq solicits later (block ACK).
    OnRequest,
    /// By a block ACK in a TB PPDU, beside those of other users (HTP ACK).
    TriggerBased,
}

impl Purpose {
    /// How the first user of a PPDU for this purpose is acknowledged.
    #[must_use]
    pub const fn ack_policy(self) -> AckPolicy {
        match self {
            Self::Broadcast => AckPolicy::None,
            Self::Single | Self::Aggregate | Self::BlockAckRequest | Self::Agreement => AckPolicy::Immediate,
        }
    }
}

/// How the channel is reserved before the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protection {
    /// Not reserved.
    None,
    /// RTS and CTS.
    RtsCts,
    /// CTS-to-self.
    CtsToSelf,
}

impl Protection {
    /// The frames with which an exchange begins that is protected in this way.
    #[must_use]
    pub const fn steps(self) -> &'static [ExchangeStep] {
        match self {
            Self::None => &[],
            Self::RtsCts => &[ExchangeStep::Rts, ExchangeStep::Cts],
            Self::CtsToSelf => &[ExchangeStep::CtsToSelf],
        }
    }
}

/// The frames of an exchange, in order.
#[must_use]
pub const fn sequence(purpose: Purpose, protection: Protection) -> &'static [ExchangeStep] {
    use ExchangeStep::{Ack, Action, BlockAck, BlockAckReq, Cts, CtsToSelf, Data, Rts};
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
        (Purpose::Agreement, Protection::None) => &[Action, Ack],
        (Purpose::Agreement, Protection::RtsCts) => &[Rts, Cts, Action, Ack],
        (Purpose::Agreement, Protection::CtsToSelf) => &[CtsToSelf, Action, Ack],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// IEEE Std 802.11-2016, annex G: an exchange is what protects a frame, that frame, and its response. The ends take
    /// turns, but for a CTS-to-self, which nobody answers; a response ends every exchange but a broadcast.
    #[test]
    fn the_ends_of_an_exchange_take_turns() {
        use ExchangeEnd::{Initiator, Responder};
        for purpose in [Purpose::Single, Purpose::Aggregate, Purpose::BlockAckRequest, Purpose::Agreement] {
            for protection in [Protection::None, Protection::RtsCts, Protection::CtsToSelf] {
                let steps = sequence(purpose, protection);
                let own: Vec<_> = steps.iter().copied().filter(|step| *step != ExchangeStep::CtsToSelf).collect();
                let ends: Vec<_> = own.iter().map(|step| step.sender()).collect();
                assert_eq!(ends, [Initiator, Responder].repeat(own.len() / 2), "{purpose:?} {protection:?}");
                assert_eq!(steps.iter().filter(|step| step.is_protected()).count(), 1);
                assert!(steps[steps.len() - 2].is_protected(), "its response ends the exchange");
            }
        }
        let broadcast = sequence(Purpose::Broadcast, Protection::CtsToSelf);
        assert!(broadcast.iter().all(|step| step.sender() == Initiator));
    }
}
