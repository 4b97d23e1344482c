//! The recipient: what it has received, and in which order it hands that up.

use wifair_units::{Duration, Time};

use super::{BlockAckBitmap, HALF, SequenceNumber, slot};
use crate::frame_length::BlockAckWindow;

/// Recipient of a block ACK agreement; `T` stands for an MSDU or A-MSDU.
#[derive(Clone, Debug)]
pub struct Recipient<T> {
    /// Scoreboard, full-state: WinStartR and its bitmap (10.25.6.3).
    scoreboard: BlockAckBitmap,
    /// First number that has not been handed up, WinStartB (10.25.6.6).
    start: SequenceNumber,
    buffer: Box<[Option<T>]>,
    buffered: usize,
    timeout: Duration,
    /// When what waits behind a hole is handed up all the same.
    deadline: Time,
}

impl<T> Recipient<T> {
    /// Expects `start` first. MPDUs behind a hole wait for at most `timeout`; [`Duration::MAX`] for ever.
    #[must_use]
    pub fn new(window: BlockAckWindow, start: SequenceNumber, timeout: Duration) -> Self {
        Self {
            scoreboard: BlockAckBitmap::empty(start, window),
            start,
            buffer: (0..window.mpdus()).map(|_| None).collect(),
            buffered: 0,
            timeout,
            deadline: Time::NEVER,
        }
    }

    /// What a BlockAck says now.
    #[must_use]
    pub const fn block_ack(&self) -> &BlockAckBitmap {
        &self.scoreboard
    }

    /// MPDUs that wait for one before them.
    #[must_use]
    pub const fn buffered(&self) -> usize {
        self.buffered
    }

    /// First number that has not been handed up.
    #[must_use]
    pub const fn start(&self) -> SequenceNumber {
        self.start
    }

    /// When [`Recipient::on_timeout`] wants to be called; [`Time::NEVER`] if nothing waits.
    #[must_use]
    pub const fn deadline(&self) -> Time {
        self.deadline
    }

    /// An MPDU has been received. `release` gets what can be handed up, in order; `false` says that this one was received before
    /// or comes too late.
    pub fn on_mpdu(&mut self, now: Time, number: SequenceNumber, payload: T, release: impl FnMut(T)) -> bool {
        self.record(number);
        let mut release = release;
        let window = self.window();
        let ahead = number.ahead_of(self.start);
        if ahead >= HALF {
            return false;
        }
        if ahead >= window.mpdus() {
            // 10.25.6.6.2 b: the window moves so that it ends here.
            self.move_to(number.plus(4096 - window.mpdus() + 1), &mut release);
        }
        let place = &mut self.buffer[slot(number, window)];
        if place.is_some() {
            return false;
        }
        *place = Some(payload);
        self.buffered += 1;
        self.release_in_order(&mut release);
        self.set_deadline(now);
        true
    }

    /// A BlockAckReq has come: the originator has nothing more before `start`.
    pub fn on_request(&mut self, now: Time, start: SequenceNumber, mut release: impl FnMut(T)) {
        let ahead = start.ahead_of(self.scoreboard.start);
        if ahead < HALF {
            self.scoreboard.advance(start);
        }
        if start.ahead_of(self.start) < HALF {
            self.move_to(start, &mut release);
            self.release_in_order(&mut release);
            self.set_deadline(now);
        }
    }

    /// The deadline has passed: the hole is given up, and what waits behind it handed up.
    pub fn on_timeout(&mut self, now: Time, mut release: impl FnMut(T)) {
        if now < self.deadline || self.buffered == 0 {
            return;
        }
        let window = self.window();
        while self.buffer[slot(self.start, window)].is_none() {
            self.start = self.start.plus(1);
        }
        self.release_in_order(&mut release);
        self.deadline = Time::NEVER;
        self.set_deadline(now);
    }

    const fn window(&self) -> BlockAckWindow {
        self.scoreboard.window()
    }

    /// 10.25.6.3: numbers behind the window move it; old ones change nothing.
    fn record(&mut self, number: SequenceNumber) {
        let size = self.window().mpdus();
        let ahead = number.ahead_of(self.scoreboard.start);
        if ahead >= HALF {
            return;
        }
        if ahead >= size {
            self.scoreboard.advance(number.plus(4096 - size + 1));
        }
        self.scoreboard.set(number);
    }

    /// Lets the buffer begin at `start`; what waits before it is handed up, holes or not.
    fn move_to(&mut self, start: SequenceNumber, release: &mut impl FnMut(T)) {
        let window = self.window();
        let distance = start.ahead_of(self.start).min(window.mpdus());
        for step in 0..distance {
            if self.buffered == 0 {
                break;
            }
            if let Some(payload) = self.buffer[slot(self.start.plus(step), window)].take() {
                self.buffered -= 1;
                release(payload);
            }
        }
        self.start = start;
        self.deadline = Time::NEVER;
    }

    fn release_in_order(&mut self, release: &mut impl FnMut(T)) {
        let window = self.window();
        while let Some(payload) = self.buffer[slot(self.start, window)].take() {
            self.buffered -= 1;
            self.start = self.start.plus(1);
            self.deadline = Time::NEVER;
            release(payload);
        }
    }

    /// The time begins when something waits behind a hole, and begins anew with each hole.
    fn set_deadline(&mut self, now: Time) {
        if self.buffered == 0 {
            self.deadline = Time::NEVER;
        } else if self.deadline == Time::NEVER {
            self.deadline = now.saturating_add(self.timeout);
        }
    }
}
