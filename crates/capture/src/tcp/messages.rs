//! Messages: what an application wrote at once, and whether it had to wait for the network.
//!
//! A sender with data at hand sends full segments; a shorter one shows that its buffer was empty (RFC 9293, section
//! 3.7.4: only the last segment of what is pushed may be short). So a message ends with a short segment, if the next
//! data follows later than half a round-trip time, or after a wait that the application caused.
//!
//! A message was *held*, which means that the sender had more to send than it could, if one of these is so:
//! - It is longer than ten full segments. That is the initial window of RFC 6928: what fits into it leaves at once.
//! - Its new data waited twice or more for at least half a round-trip time each. The first wait alone may be that of a
//!   smaller initial window.
//! - A full segment of it was sent again: its sender waited for the repair.

/// The messages of one direction.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Messages {
    /// New bytes of the current message.
    bytes: u64,
    /// Long waits in the current message.
    waits: u32,
    /// Whether a message was held.
    pub(crate) held: bool,
    /// Messages.
    pub(crate) count: u64,
}

/// The initial window of RFC 6928, in segments.
const INITIAL_WINDOW: u64 = 10;
/// The size of a full segment where none was seen: that of Ethernet.
const USUAL_SEGMENT: u32 = 1_460;
/// Waits within a message from which on it was held.
const FEW_WAITS: u32 = 2;

impl Messages {
    /// Adds new data: whether it begins a message, whether it came after a long wait, and the size of a full segment.
    #[inline]
    pub(crate) fn add(&mut self, bytes: u64, begins: bool, waited: bool, full: Option<u32>) {
        if begins {
            self.count += 1;
            self.bytes = 0;
            self.waits = 0;
        } else {
            self.waits += u32::from(waited);
        }
        self.bytes += bytes;
        let at_once = INITIAL_WINDOW * u64::from(full.unwrap_or(USUAL_SEGMENT));
        self.held |= self.bytes > at_once || self.waits >= FEW_WAITS;
    }

    /// Handles a segment of `payload` bytes that was sent again.
    #[inline]
    pub(crate) fn repair(&mut self, payload: u32, full: Option<u32>) {
        self.held |= full.is_some_and(|full| payload >= full);
    }
}

#[cfg(test)]
mod tests {
    use super::Messages;

    /// Ten segments of 1,000 bytes leave at once; one byte more does not. A new message starts from zero.
    #[test]
    fn a_message_is_held_beyond_the_initial_window() {
        for (last, held) in [(1_000, false), (1_001, true)] {
            let mut messages = Messages::default();
            (0..9).for_each(|at| messages.add(1_000, at == 0, false, Some(1_000)));
            messages.add(last, false, false, Some(1_000));
            assert_eq!(messages.held, held);
        }
        let mut many = Messages::default();
        (0..100).for_each(|_| many.add(1_000, true, true, Some(1_000)));
        assert_eq!((many.held, many.count), (false, 100));
    }

    #[test]
    fn two_long_waits_or_a_repair_hold_a_message() {
        let mut messages = Messages::default();
        messages.add(1_000, true, true, Some(1_000));
        messages.add(1_000, false, true, Some(1_000));
        assert!(!messages.held);
        messages.repair(999, Some(1_000));
        messages.repair(400, None);
        assert!(!messages.held, "a short segment that is lost makes no bulk transfer");
        let mut repaired = messages;
        repaired.repair(1_000, Some(1_000));
        messages.add(1_000, false, true, Some(1_000));
        assert!(messages.held && repaired.held);
    }
}
