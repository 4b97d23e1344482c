//! TCP as seen by a bystander: from the segments of a connection to what its ends did.

pub(crate) mod board;
pub(crate) mod connection;
pub(crate) mod history;
pub(crate) mod side;

/// A sequence space without wrap: 32-bit numbers become 64-bit ones, their lowest 32 bits unchanged.
///
/// A number is taken for the nearest to the highest one met, so streams of any length are in order; tcptrace compares
/// the 32-bit numbers and errs when they wrap.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Space {
    /// Highest number met; zero until one is.
    high: i64,
    /// What counts as zero: the SYN, or the number before the first one met, so that data starts at one either way.
    pub(crate) zero: i64,
}

impl Space {
    /// The 64-bit number of `raw`.
    #[inline]
    pub(crate) fn place(&mut self, raw: u32) -> i64 {
        if self.high == 0 {
            // Leaves room below for what comes out of order.
            self.high = (1 << 33) + i64::from(raw);
            self.zero = self.high - 1;
        }
        self.high + i64::from(raw.wrapping_sub(self.high as u32).cast_signed())
    }

    /// Notes that numbers up to `number` are in use.
    #[inline]
    pub(crate) fn raise(&mut self, number: i64) {
        self.high = self.high.max(number);
    }
}

#[cfg(test)]
mod tests {
    use super::Space;

    #[test]
    fn numbers_go_on_where_the_sequence_wraps() {
        let mut space = Space::default();
        let first = space.place(u32::MAX - 9);
        space.raise(first);
        assert_eq!(space.place(10) - first, 20);
        assert_eq!(space.place(u32::MAX - 19) - first, -10);
        assert_eq!(first as u32, u32::MAX - 9);
    }
}
