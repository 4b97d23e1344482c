//! Round trips, followed by sequence numbers.

use crate::cc::Ack;

/// A round lasts until the ACK of the first segment sent after the last round's end.
#[derive(Clone, Copy, Debug, Default)]
pub struct Round {
    end: u64,
}

impl Round {
    /// Whether `ack` ends the round; then the next one begins.
    #[inline]
    pub fn ends(&mut self, ack: &Ack) -> bool {
        let over = ack.una > self.end;
        if over {
            self.end = ack.nxt;
        }
        over
    }
}
