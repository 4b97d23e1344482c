//! The interpreter of the table of exchanges, for every medium.
//!
//! A medium says when a frame ends and whether it was read; [`Exchange`] says which frame follows SIFS later, or that
//! the exchange is over.

use crate::exchange::{ExchangeEnd, ExchangeFrame, ExchangeStep, ExchangeSteps, Protection, Purpose, sequence};

/// An exchange under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exchange {
    sequence: ExchangeSteps,
    /// Number of users.
    users: usize,
    /// The user whose turn it is.
    turn: usize,
    /// Index of the present step, among those of this user's turn.
    place: usize,
}

/// What follows the end of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Following {
    /// The frame of this step, SIFS later.
    Frame(ExchangeStep),
    /// Nothing: the exchange is complete.
    Complete,
    /// Nothing: a response will not come, or was not read.
    Unanswered,
}

impl Exchange {
    /// An exchange for this purpose, at its first frame.
    #[inline]
    pub const fn new(purpose: Purpose, protection: Protection, users: usize) -> Self {
        Self { sequence: sequence(purpose, protection), users, turn: 0, place: 0 }
    }

    /// The step whose frame is on the air, or follows next.
    #[inline]
    pub const fn step(&self) -> ExchangeStep {
        self.steps()[self.place]
    }

    /// The user whose turn it is.
    #[inline]
    pub const fn turn(&self) -> usize {
        self.turn
    }

    /// Whether it began with this frame.
    #[inline]
    pub fn begins_with(&self, frame: ExchangeFrame) -> bool {
        self.sequence.steps[0].frame == frame
    }

    const fn steps(&self) -> &'static [ExchangeStep] {
        if self.turn == 0 { self.sequence.steps } else { self.sequence.for_others }
    }

    /// The frame of the present step has ended. If it solicits a response, `is_read` tells whether its receiver answers
    /// it; if it is a response, whether the initiator has read it; of several responses, whether it has read any.
    #[inline]
    pub fn end_frame(&mut self, is_read: bool) -> Following {
        let step = self.step();
        if !is_read && (step.solicits.is_some() || step.sender != ExchangeEnd::Initiator) {
            return Following::Unanswered;
        }
        self.place += 1;
        if self.place < self.steps().len() {
            return Following::Frame(self.step());
        }
        if self.turn + 1 == self.users || self.sequence.for_others.is_empty() {
            self.place -= 1;
            return Following::Complete;
        }
        (self.turn, self.place) = (self.turn + 1, 0);
        Following::Frame(self.step())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::multi_user_time::MuSequence;

    /// The frames of an exchange with their users' turns, if the frame with index `lost` is not read, and its end.
    fn walk(mut exchange: Exchange, lost: Option<usize>) -> (Vec<(ExchangeFrame, usize)>, Following) {
        let mut frames = vec![];
        loop {
            frames.push((exchange.step().frame, exchange.turn()));
            match exchange.end_frame(lost != Some(frames.len() - 1)) {
                Following::Frame(step) => assert_eq!(step, exchange.step()),
                end => return (frames, end),
            }
        }
    }

    /// IEEE Std 802.11-2016, annex G.
    #[test]
    fn the_exchange_of_two_stations_ends_where_a_frame_is_missing() {
        use ExchangeFrame::{Ack, Cts, CtsToSelf, Data, Rts};
        let protected = Exchange::new(Purpose::Single, Protection::RtsCts, 1);
        let all = [(Rts, 0), (Cts, 0), (Data, 0), (Ack, 0)];
        assert_eq!(walk(protected, None), (all.to_vec(), Following::Complete));
        for lost in 0..4 {
            assert_eq!(walk(protected, Some(lost)), (all[..=lost].to_vec(), Following::Unanswered));
        }
        // Nobody answers a CTS-to-self or a broadcast.
        let broadcast = Exchange::new(Purpose::Broadcast, Protection::CtsToSelf, 1);
        for lost in [None, Some(0), Some(1)] {
            assert_eq!(walk(broadcast, lost), (vec![(CtsToSelf, 0), (Data, 0)], Following::Complete));
        }
    }

    /// IEEE Std 802.11ax-2021, 26.4.4 and 26.5, for three users.
    #[test]
    fn users_answer_in_turn_or_together() {
        use ExchangeFrame::{
            BasicTrigger, BlockAck, BlockAckReq, Data, MuBarTrigger, MultiStaBlockAck, QosNull, ReportTrigger,
        };
        let of = |sequence| walk(Exchange::new(Purpose::MultiUser(sequence), Protection::None, 3), None);
        let complete = |frames: &[(ExchangeFrame, usize)]| (frames.to_vec(), Following::Complete);
        let one_by_one = [(Data, 0), (BlockAck, 0), (BlockAckReq, 1), (BlockAck, 1), (BlockAckReq, 2), (BlockAck, 2)];
        assert_eq!(of(MuSequence::BlockAckRequests), complete(&one_by_one));
        assert_eq!(of(MuSequence::MuBar), complete(&[(Data, 0), (MuBarTrigger, 0), (BlockAck, 0)]));
        assert_eq!(of(MuSequence::AggregatedMuBar), complete(&[(Data, 0), (BlockAck, 0)]));
        let uplink = [(BasicTrigger, 0), (Data, 0), (MultiStaBlockAck, 0)];
        assert_eq!(of(MuSequence::BasicTrigger), complete(&uplink));
        let asked = [&[(ReportTrigger, 0), (QosNull, 0)][..], &uplink].concat();
        assert_eq!(of(MuSequence::BufferStatusReports), complete(&asked));
    }
}
