//! Frame exchange sequences: frames that follow each other at intervals of SIFS, in a table.
//!
//! Sources: IEEE Std 802.11-2016, annex G, and 10.3.2.4 to 10.3.2.11 (RTS/CTS, CTS-to-self, ACK), 10.24.7 (block ACK);
//! 802.11ax-2021, 26.4.4 and 26.5 (several users).

use crate::multi_user_time::MuSequence;

/// A frame of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExchangeFrame {
    /// Request to send.
    Rts,
    /// Clear to send.
    Cts,
    /// CTS that the initiator addresses to itself, for stations that cannot read the following frames.
    CtsToSelf,
    /// Data: a single MPDU or an A-MPDU, or those of several users.
    Data,
    /// Acknowledgment of a single MPDU.
    Ack,
    /// Block ACK request.
    BlockAckReq,
    /// Block ACK of an A-MPDU or a request.
    BlockAck,
    /// Management frame.
    Action,
    /// CF-End, which releases the rest of a TXOP. It is an exchange of its own.
    CfEnd,
    /// Trigger frame that asks several stations for block ACKs (MU-BAR).
    MuBarTrigger,
    /// Trigger frame that asks several stations for buffer status reports (BSRP).
    ReportTrigger,
    /// QoS Null frames with those reports.
    QosNull,
    /// Trigger frame that asks several stations for data (Basic).
    BasicTrigger,
    /// Block ACK to several stations.
    MultiStaBlockAck,
}

impl ExchangeFrame {
    /// Whether it answers another in the exchanges of two stations.
    #[must_use]
    pub const fn is_response(self) -> bool {
        matches!(self, Self::Cts | Self::Ack | Self::BlockAck)
    }

    /// Whether the exchange is for its sake, so that RTS and CTS or a CTS-to-self may protect it.
    #[must_use]
    pub const fn is_protected(self) -> bool {
        matches!(self, Self::Data | Self::BlockAckReq | Self::Action)
    }
}

/// An end of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExchangeEnd {
    /// The holder of the channel.
    Initiator,
    /// One of the stations to which it sends: the one whose turn it is.
    Responder,
    /// All of them at once, in a TB PPDU.
    Responders,
}

/// A step of an exchange: a frame, who sends it, and who answers it SIFS later if it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExchangeStep {
    /// The frame.
    pub frame: ExchangeFrame,
    /// Who sends it.
    pub sender: ExchangeEnd,
    /// Whose frame it solicits, if any; that is the next step.
    pub solicits: Option<ExchangeEnd>,
}

impl ExchangeStep {
    const fn new(frame: ExchangeFrame, sender: ExchangeEnd, solicits: Option<ExchangeEnd>) -> Self {
        Self { frame, sender, solicits }
    }

    /// A frame of the initiator that solicits nothing.
    const fn bare(frame: ExchangeFrame) -> Self {
        Self::new(frame, ExchangeEnd::Initiator, None)
    }

    /// A frame of the initiator that a responder answers.
    const fn asks(frame: ExchangeFrame) -> Self {
        Self::new(frame, ExchangeEnd::Initiator, Some(ExchangeEnd::Responder))
    }

    /// A frame of the initiator that all responders answer at once.
    const fn triggers(frame: ExchangeFrame) -> Self {
        Self::new(frame, ExchangeEnd::Initiator, Some(ExchangeEnd::Responders))
    }

    /// An answer of a responder.
    const fn answer(frame: ExchangeFrame) -> Self {
        Self::new(frame, ExchangeEnd::Responder, None)
    }

    /// The answers of all responders.
    const fn answers(frame: ExchangeFrame) -> Self {
        Self::new(frame, ExchangeEnd::Responders, None)
    }

    /// The answers of all responders, which the initiator acknowledges.
    const fn answers_that_ask(frame: ExchangeFrame) -> Self {
        Self::new(frame, ExchangeEnd::Responders, Some(ExchangeEnd::Initiator))
    }
}

/// The steps of an exchange, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExchangeSteps {
    /// Its steps; a responder in them is the first user.
    pub steps: &'static [ExchangeStep],
    /// Steps that follow for each other user in turn.
    pub for_others: &'static [ExchangeStep],
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
    /// A PPDU to or from several users.
    MultiUser(MuSequence),
}

/// How a user's part of a PPDU is acknowledged: the Ack Policy of its QoS data (IEEE Std 802.11ax-2021, table 9-10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckPolicy {
    /// Not at all, as a broadcast.
    None,
    /// By the ACK or block ACK that it solicits (normal ACK, implicit block ACK request).
    Immediate,
    /// By a block ACK that a BlockAckReq or a Trigger frame solicits later (block ACK).
    OnRequest,
    /// By a block ACK in a TB PPDU that it solicits, beside those of other users (HTP ACK).
    TriggerBased,
}

impl Purpose {
    /// How the user with this index is acknowledged.
    #[must_use]
    pub const fn ack_policy(self, user: usize) -> AckPolicy {
        match self {
            Self::Broadcast | Self::MultiUser(MuSequence::None) => AckPolicy::None,
            Self::MultiUser(MuSequence::BlockAckRequests) if user > 0 => AckPolicy::OnRequest,
            Self::MultiUser(MuSequence::MuBar) => AckPolicy::OnRequest,
            Self::MultiUser(MuSequence::AggregatedMuBar) => AckPolicy::TriggerBased,
            Self::Single | Self::Aggregate | Self::BlockAckRequest | Self::Agreement | Self::MultiUser(_) => {
                AckPolicy::Immediate
            }
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
    pub const fn frames(self) -> &'static [ExchangeFrame] {
        match self {
            Self::None => &[],
            Self::RtsCts => &[ExchangeFrame::Rts, ExchangeFrame::Cts],
            Self::CtsToSelf => &[ExchangeFrame::CtsToSelf],
        }
    }
}

/// The steps of an exchange. Requests and PPDUs of several users are not protected.
#[must_use]
pub const fn sequence(purpose: Purpose, protection: Protection) -> ExchangeSteps {
    use ExchangeFrame::{
        Ack, Action, BasicTrigger, BlockAck, BlockAckReq, Cts, CtsToSelf, Data, MuBarTrigger, MultiStaBlockAck,
        QosNull, ReportTrigger, Rts,
    };
    const fn once(steps: &'static [ExchangeStep]) -> ExchangeSteps {
        ExchangeSteps { steps, for_others: &[] }
    }
    const RTS: ExchangeStep = ExchangeStep::asks(Rts);
    const CTS: ExchangeStep = ExchangeStep::new(Cts, ExchangeEnd::Responder, None);
    const TO_SELF: ExchangeStep = ExchangeStep::bare(CtsToSelf);
    const TO_ALL: ExchangeStep = ExchangeStep::bare(Data);
    const DATA: ExchangeStep = ExchangeStep::asks(Data);
    const ACK: ExchangeStep = ExchangeStep::answer(Ack);
    const BLOCK_ACK: ExchangeStep = ExchangeStep::answer(BlockAck);
    const BLOCK_ACKS: ExchangeStep = ExchangeStep::answers(BlockAck);
    const REQUEST: ExchangeStep = ExchangeStep::asks(BlockAckReq);
    const ACTION: ExchangeStep = ExchangeStep::asks(Action);
    const UPLINK: ExchangeStep = ExchangeStep::answers_that_ask(Data);
    const ACKS: ExchangeStep = ExchangeStep::bare(MultiStaBlockAck);
    const MU_BAR: ExchangeStep = ExchangeStep::triggers(MuBarTrigger);
    const DATA_TO_ALL: ExchangeStep = ExchangeStep::triggers(Data);
    const REPORT: ExchangeStep = ExchangeStep::triggers(ReportTrigger);
    const REPORTS: ExchangeStep = ExchangeStep::answers(QosNull);
    const TRIGGER: ExchangeStep = ExchangeStep::triggers(BasicTrigger);
    match (purpose, protection) {
        (Purpose::Broadcast, Protection::None | Protection::RtsCts) => once(&[TO_ALL]),
        (Purpose::Broadcast, Protection::CtsToSelf) => once(&[TO_SELF, TO_ALL]),
        (Purpose::Single, Protection::None) => once(&[DATA, ACK]),
        (Purpose::Single, Protection::RtsCts) => once(&[RTS, CTS, DATA, ACK]),
        (Purpose::Single, Protection::CtsToSelf) => once(&[TO_SELF, DATA, ACK]),
        (Purpose::Aggregate, Protection::None) => once(&[DATA, BLOCK_ACK]),
        (Purpose::Aggregate, Protection::RtsCts) => once(&[RTS, CTS, DATA, BLOCK_ACK]),
        (Purpose::Aggregate, Protection::CtsToSelf) => once(&[TO_SELF, DATA, BLOCK_ACK]),
        (Purpose::BlockAckRequest, _) => once(&[REQUEST, BLOCK_ACK]),
        (Purpose::Agreement, Protection::None) => once(&[ACTION, ACK]),
        (Purpose::Agreement, Protection::RtsCts) => once(&[RTS, CTS, ACTION, ACK]),
        (Purpose::Agreement, Protection::CtsToSelf) => once(&[TO_SELF, ACTION, ACK]),
        (Purpose::MultiUser(MuSequence::None), _) => once(&[TO_ALL]),
        (Purpose::MultiUser(MuSequence::BlockAckRequests), _) => {
            ExchangeSteps { steps: &[DATA, BLOCK_ACK], for_others: &[REQUEST, BLOCK_ACK] }
        }
        (Purpose::MultiUser(MuSequence::MuBar), _) => once(&[TO_ALL, MU_BAR, BLOCK_ACKS]),
        (Purpose::MultiUser(MuSequence::AggregatedMuBar), _) => once(&[DATA_TO_ALL, BLOCK_ACKS]),
        (Purpose::MultiUser(MuSequence::BasicTrigger), _) => once(&[TRIGGER, UPLINK, ACKS]),
        (Purpose::MultiUser(MuSequence::BufferStatusReports), _) => once(&[REPORT, REPORTS, TRIGGER, UPLINK, ACKS]),
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
                let ExchangeSteps { steps, for_others } = sequence(purpose, protection);
                assert!(for_others.is_empty(), "there is one user");
                let own: Vec<_> = steps.iter().filter(|step| step.frame != ExchangeFrame::CtsToSelf).collect();
                let ends: Vec<_> = own.iter().map(|step| step.sender).collect();
                assert_eq!(ends, [Initiator, Responder].repeat(own.len() / 2), "{purpose:?} {protection:?}");
                assert_eq!(steps.iter().filter(|step| step.frame.is_protected()).count(), 1);
                assert!(steps[steps.len() - 2].frame.is_protected(), "its response ends the exchange");
                assert!(steps.iter().all(|step| (step.sender == Responder) == step.frame.is_response()));
            }
        }
        let broadcast = sequence(Purpose::Broadcast, Protection::CtsToSelf);
        assert!(broadcast.steps.iter().all(|step| step.sender == Initiator));
    }

    const PURPOSES: [Purpose; 11] = [
        Purpose::Broadcast,
        Purpose::Single,
        Purpose::Aggregate,
        Purpose::BlockAckRequest,
        Purpose::Agreement,
        Purpose::MultiUser(MuSequence::None),
        Purpose::MultiUser(MuSequence::BlockAckRequests),
        Purpose::MultiUser(MuSequence::MuBar),
        Purpose::MultiUser(MuSequence::AggregatedMuBar),
        Purpose::MultiUser(MuSequence::BasicTrigger),
        Purpose::MultiUser(MuSequence::BufferStatusReports),
    ];

    /// What a frame solicits is the next, and nobody but the initiator sends without being asked.
    #[test]
    fn a_frame_that_is_solicited_follows_the_one_that_solicits_it() {
        for purpose in PURPOSES {
            for protection in [Protection::None, Protection::RtsCts, Protection::CtsToSelf] {
                let ExchangeSteps { steps, for_others } = sequence(purpose, protection);
                let all: Vec<_> = steps.iter().chain(for_others).copied().collect();
                assert_eq!(all[0].sender, ExchangeEnd::Initiator, "{purpose:?}");
                assert_eq!(all[all.len() - 1].solicits, None, "{purpose:?}: nothing is missing at the end");
                for pair in all.windows(2) {
                    assert_eq!(pair[0].solicits.unwrap_or(ExchangeEnd::Initiator), pair[1].sender, "{purpose:?}");
                }
            }
        }
    }
}
