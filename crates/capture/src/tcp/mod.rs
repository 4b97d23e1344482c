//! Passive TCP analysis: reconstructs from the captured segments of a connection what its ends did.

pub(crate) mod acc_ecn;
pub(crate) mod connection;
pub(crate) mod history;
pub(crate) mod messages;
pub(crate) mod observed_scoreboard;
pub(crate) mod side;

/// A sequence space without wrap-around: 32-bit numbers become 64-bit ones with the same lowest 32 bits.
///
/// A number is mapped to the value nearest to the highest one seen, so streams of any length are ordered correctly;
/// tcptrace compares the 32-bit numbers and fails when they wrap.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SequenceSpace {
    /// Highest number seen; zero before the first.
    high: i64,
    /// The number that counts as zero: that of the SYN, or one less than the first number seen, so that data starts at
    /// one either way.
    pub(crate) zero: i64,
}

impl SequenceSpace {
    /// The 64-bit number of `raw`.
    #[inline]
    pub(crate) fn place(&mut self, raw: u32) -> i64 {
        if self.high == 0 {
            // Leave room below for segments that are out of order.
            self.high = (1 << 33) + i64::from(raw);
            self.zero = self.high - 1;
        }
        self.high + i64::from(raw.wrapping_sub(self.high as u32).cast_signed())
    }

    /// Records that numbers up to `number` are in use.
    #[inline]
    pub(crate) fn raise(&mut self, number: i64) {
        self.high = self.high.max(number);
    }
}

#[cfg(test)]
mod tests {
    use super::SequenceSpace;

    #[test]
    fn numbers_go_on_where_the_sequence_wraps() {
        let mut space = SequenceSpace::default();
        let first = space.place(u32::MAX - 9);
        space.raise(first);
        assert_eq!(space.place(10) - first, 20);
        assert_eq!(space.place(u32::MAX - 19) - first, -10);
        assert_eq!(first as u32, u32::MAX - 9);
    }
}
