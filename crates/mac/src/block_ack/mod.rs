//! Block ACK between one originator and one recipient, for one TID: two state machines without a clock that know nothing
//! but the frames they exchange.
//!
//! Source: IEEE Std 802.11-2020, 10.25 (immediate block ACK, HT variant), 9.3.1.7 and 9.3.1.8 (frames). The originator keeps a window
//! of sequence numbers, attempts and lifetimes; the recipient a bitmap and a reordering buffer. Both rings are made once,
//! as long as the window; nothing is allocated for a packet. Left out: delayed block ACK, fragments, several TIDs in a frame.

mod originator;
mod recipient;

pub use originator::{Originator, Outcome};
pub use recipient::Recipient;

use crate::frame_length::BlockAckWindow;

/// Sequence numbers, modulo 4096.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SequenceNumber(u16);

/// Half of the sequence numbers: what is less than this ahead is new, all else old (10.25.6.3).
const HALF: u16 = 2048;

impl SequenceNumber {
    /// `number` modulo 4096.
    #[must_use]
    pub const fn new(number: u16) -> Self {
        Self(number % 4096)
    }

    /// 0 to 4095.
    #[must_use]
    pub const fn get(self) -> u16 {
        self.0
    }

    /// The number `count` further on.
    #[must_use]
    pub const fn plus(self, count: u16) -> Self {
        Self::new(self.0 + count % 4096)
    }

    /// How far it is ahead of `other`, 0 to 4095.
    #[must_use]
    pub const fn ahead_of(self, other: Self) -> u16 {
        (self.0 + 4096 - other.0) % 4096
    }
}

/// What a compressed BlockAck says (9.3.1.8.2): a first number, and a bit for each MPDU from there on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockAckBitmap {
    /// Starting sequence number.
    pub start: SequenceNumber,
    /// Bits, as many as the window has MPDUs.
    bits: [u64; 16],
    window: BlockAckWindow,
}

impl BlockAckBitmap {
    const fn empty(start: SequenceNumber, window: BlockAckWindow) -> Self {
        Self { start, bits: [0; 16], window }
    }

    /// Whether the MPDU with this number has been received, as far as the bitmap says.
    #[must_use]
    pub const fn has(&self, number: SequenceNumber) -> bool {
        let offset = number.ahead_of(self.start);
        offset < self.window.mpdus() && self.bits[offset as usize / 64] & 1 << (offset % 64) != 0
    }

    /// Its window.
    #[must_use]
    pub const fn window(&self) -> BlockAckWindow {
        self.window
    }

    const fn set(&mut self, number: SequenceNumber) {
        let offset = number.ahead_of(self.start);
        if offset < self.window.mpdus() {
            self.bits[offset as usize / 64] |= 1 << (offset % 64);
        }
    }

    /// Lets the window begin at `start`, which is ahead; bits that leave it are forgotten.
    fn advance(&mut self, start: SequenceNumber) {
        let distance = usize::from(start.ahead_of(self.start));
        let (words, shift) = (distance / 64, distance % 64);
        for index in 0..self.bits.len() {
            let word = |at: usize| self.bits.get(at).copied().unwrap_or(0);
            let low = word(index + words) >> shift;
            let high = if shift == 0 { 0 } else { word(index + words + 1) << (64 - shift) };
            self.bits[index] = low | high;
        }
        self.start = start;
    }
}

/// Index of `number` in a ring as long as the window, whose length divides 4096.
fn slot(number: SequenceNumber, window: BlockAckWindow) -> usize {
    usize::from(number.get() % window.mpdus())
}

#[cfg(test)]
mod tests;
