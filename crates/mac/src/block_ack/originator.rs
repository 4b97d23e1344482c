//! The originator: which MPDUs are on their way, how often they were tried, and which come next.

use wifair_units::{Bytes, Time};

use super::{BlockAckBitmap, HALF, SequenceNumber, slot};
use crate::frame_length::BlockAckWindow;

/// What became of an MPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Acknowledged.
    Acknowledged,
    /// Sent as often as the retry limit allows.
    RetryLimit,
    /// Its lifetime has passed.
    Expired,
}

#[derive(Clone, Copy, Debug)]
struct Mpdu<T> {
    payload: T,
    length: Bytes,
    expires: Time,
    attempts: u8,
    /// Sent, and no BlockAck has said anything of it since.
    in_flight: bool,
}

/// Originator of a block ACK agreement; `T` stands for an MSDU or A-MSDU.
#[derive(Clone, Debug)]
pub struct Originator<T> {
    window: BlockAckWindow,
    /// First number that has no outcome, WinStartO (10.25.6.7).
    start: SequenceNumber,
    /// Number of the next new MPDU.
    next: SequenceNumber,
    mpdus: Box<[Option<Mpdu<T>>]>,
    retry_limit: u8,
    /// Whether the recipient may wait for an MPDU that was given up.
    needs_request: bool,
}

impl<T: Copy> Originator<T> {
    /// `start` is the number of the first MPDU; each is sent at most `retry_limit` times.
    ///
    /// # Panics
    /// If `retry_limit` is 0: no MPDU would ever be sent.
    #[must_use]
    pub fn new(window: BlockAckWindow, start: SequenceNumber, retry_limit: u8) -> Self {
        assert!(retry_limit > 0, "an MPDU is sent at least once");
        let mpdus = (0..window.mpdus()).map(|_| None).collect();
        Self { window, start, next: start, mpdus, retry_limit, needs_request: false }
    }

    /// First number without outcome: what a BlockAckReq asks from.
    #[must_use]
    pub const fn start(&self) -> SequenceNumber {
        self.start
    }

    /// Numbers from the first without outcome to the last one given out; at most the window.
    #[must_use]
    pub const fn outstanding(&self) -> u16 {
        self.next.ahead_of(self.start)
    }

    /// Whether a new MPDU fits into the window.
    #[must_use]
    pub const fn has_room(&self) -> bool {
        self.outstanding() < self.window.mpdus()
    }

    /// Takes a new MPDU, to be sent until `expires`, and numbers it.
    ///
    /// # Panics
    /// If the window is full.
    pub fn push(&mut self, payload: T, length: Bytes, expires: Time) -> SequenceNumber {
        assert!(self.has_room(), "an MPDU fits into the window");
        let number = self.next;
        let place = &mut self.mpdus[slot(number, self.window)];
        *place = Some(Mpdu { payload, length, expires, attempts: 0, in_flight: false });
        self.next = number.plus(1);
        number
    }

    /// MPDUs to send, oldest first, with their lengths: the new ones and those that have to be sent again.
    pub fn pending(&self) -> impl Iterator<Item = (SequenceNumber, Bytes)> + '_ {
        self.numbers().filter_map(|number| {
            let mpdu = self.mpdus[slot(number, self.window)].as_ref()?;
            (!mpdu.in_flight).then_some((number, mpdu.length))
        })
    }

    /// The MPDU is on the air.
    ///
    /// # Panics
    /// If it has an outcome.
    pub fn on_sent(&mut self, number: SequenceNumber) {
        let mpdu = self.mpdus[slot(number, self.window)].as_mut().expect("an MPDU that is sent has no outcome");
        mpdu.attempts += 1;
        mpdu.in_flight = true;
    }

    /// A BlockAck has come: MPDUs in flight are done, or are to be sent again, or have failed.
    pub fn on_block_ack(&mut self, bitmap: &BlockAckBitmap, mut done: impl FnMut(SequenceNumber, T, Outcome)) {
        self.settle(
            |number, mpdu| {
                let is_there = number.ahead_of(bitmap.start) < HALF && bitmap.has(number);
                (mpdu.in_flight && is_there).then_some(Outcome::Acknowledged)
            },
            &mut done,
        );
        self.on_no_block_ack(done);
    }

    /// No BlockAck has come: all in flight are to be sent again, or have failed.
    pub fn on_no_block_ack(&mut self, mut done: impl FnMut(SequenceNumber, T, Outcome)) {
        let limit = self.retry_limit;
        self.settle(|_, mpdu| (mpdu.in_flight && mpdu.attempts >= limit).then_some(Outcome::RetryLimit), &mut done);
        for mpdu in self.mpdus.iter_mut().flatten() {
            mpdu.in_flight = false;
        }
    }

    /// Gives up MPDUs that have expired by `now` and are not in flight.
    pub fn expire(&mut self, now: Time, mut done: impl FnMut(SequenceNumber, T, Outcome)) {
        self.settle(|_, mpdu| (!mpdu.in_flight && mpdu.expires <= now).then_some(Outcome::Expired), &mut done);
    }

    /// Whether a BlockAckReq should tell the recipient where the window begins, since it may wait for an MPDU that was given
    /// up (10.25.6.7).
    #[must_use]
    pub const fn needs_request(&self) -> bool {
        self.needs_request
    }

    /// The BlockAckReq has been answered.
    pub const fn on_request_answered(&mut self) {
        self.needs_request = false;
    }

    fn numbers(&self) -> impl Iterator<Item = SequenceNumber> + use<T> {
        let start = self.start;
        (0..self.outstanding()).map(move |step| start.plus(step))
    }

    /// Removes MPDUs that have an outcome, oldest first, and lets the window begin at the first that has none.
    fn settle(
        &mut self,
        outcome: impl Fn(SequenceNumber, &Mpdu<T>) -> Option<Outcome>,
        done: &mut impl FnMut(SequenceNumber, T, Outcome),
    ) {
        for number in self.numbers() {
            let place = &mut self.mpdus[slot(number, self.window)];
            let Some((mpdu, outcome)) = place.and_then(|mpdu| Some((mpdu, outcome(number, &mpdu)?))) else { continue };
            *place = None;
            // One that was never sent leaves a hole, too: its number is gone.
            self.needs_request |= outcome != Outcome::Acknowledged;
            done(number, mpdu.payload, outcome);
        }
        while self.start != self.next && self.mpdus[slot(self.start, self.window)].is_none() {
            self.start = self.start.plus(1);
        }
    }
}
