//! Backoff of a station.

use wifair_units::{Duration, Time};

use crate::channel::nav::Nav;

/// What frames in range of a station change in its state, besides the sets in [`super::signal::Signals`].
#[derive(Clone, Debug)]
pub struct BackoffState {
    /// Start of the slot count, if the channel stays idle.
    from: Time,
    /// Since when the channel is idle, if `from` is not up to date; otherwise [`Time::NEVER`].
    idle: Time,
    /// NAV, or both NAVs of an HE station as one.
    pub nav: Nav,
    /// Slots of the backoff left.
    pub left: u32,
    /// Whether it takes part in an exchange; its backoff is then frozen.
    pub engaged: bool,
    /// Whether its exchange is over, and it resumes when the channel is idle.
    pub resumes_when_idle: bool,
    /// Whether it has a frame to send when the backoff ends.
    pub contends: bool,
    /// Whether it is about to send without backoff; it must draw one if another station sends first.
    pub immediate: bool,
}

/// Intervals used by carrier sense and backoff.
#[derive(Clone, Copy, Debug)]
pub struct Intervals {
    pub slot: Duration,
    /// 2^64 divided by the slot, rounded up.
    pub slots_per_time: u64,
    pub difs: Duration,
    /// EIFS; DIFS if EIFS is off.
    pub eifs: Duration,
    /// Time until the start of a frame is reported.
    pub preamble: Duration,
}

impl BackoffState {
    /// The initial state, on an idle channel.
    pub fn new(intervals: &Intervals) -> Self {
        Self {
            from: Time::ZERO + intervals.difs,
            idle: Time::NEVER,
            nav: Nav::IDLE,
            left: 0,
            engaged: false,
            resumes_when_idle: false,
            contends: false,
            immediate: false,
        }
    }

    /// A frame begins on an idle channel: freezes the backoff. Returns whether a backoff must be drawn.
    #[inline]
    #[must_use]
    pub fn become_busy(&mut self, now: Time, intervals: &Intervals) -> bool {
        if self.immediate {
            self.immediate = false;
            return true;
        }
        // Without a check for elapsed slots, which would be an unpredictable branch.
        self.left -= intervals.slots(now.saturating_since(self.from)).min(self.left);
        false
    }

    /// The channel is idle from `now`: slots count after DIFS or, if the last frame was not read (`eifs_pending`),
    /// after EIFS (10.3.2.3.7: regardless of the NAV).
    #[inline]
    pub fn become_idle(&mut self, now: Time, eifs_pending: bool, intervals: &Intervals) {
        let from = now + if eifs_pending { intervals.eifs } else { intervals.difs };
        let nav = self.nav.end();
        self.count_from(if nav > now { from.max(nav + intervals.difs) } else { from });
    }

    /// Sets the start of the slot count.
    #[inline]
    pub fn count_from(&mut self, from: Time) {
        self.from = from;
        self.idle = Time::NEVER;
    }

    /// Start of the slot count, for a station with slots left or something to send.
    #[inline]
    pub fn from(&self) -> Time {
        self.from
    }

    /// The channel is idle from `now`, for a station without backoff and frame. The start of its slot count is computed
    /// by [`BackoffState::wake`] once it has something to send.
    #[inline]
    pub fn is_idle_from(&mut self, now: Time) {
        self.idle = now;
    }

    /// Computes the start of the slot count for a station that gets something to send. Its NAV and `eifs_pending` must
    /// not have changed since the channel became idle.
    #[inline]
    pub fn wake(&mut self, eifs_pending: bool, intervals: &Intervals) {
        if self.idle < Time::NEVER {
            self.become_idle(self.idle, eifs_pending, intervals);
        }
    }

    /// End of the backoff, if the channel stays idle.
    #[inline]
    pub fn due(&self, intervals: &Intervals) -> Time {
        self.from + intervals.slot * u64::from(self.left)
    }
}

impl Intervals {
    pub fn new(slot: Duration, difs: Duration, eifs: Duration, preamble: Duration) -> Self {
        // At least 2 ns, so that the quotient fits.
        let slots_per_time = u64::MAX / slot.as_nanos().max(2) + 1;
        Self { slot, slots_per_time, difs, eifs, preamble }
    }

    /// Whole slots in `time`: `time / slot` by multiplication. Exact up to 2^64 / slot (10 days, in ns); for longer
    /// times, the result is at least a contention window.
    #[inline]
    #[allow(clippy::cast_possible_truncation)]
    pub fn slots(&self, time: Duration) -> u32 {
        let slots = ((u128::from(time.as_nanos()) * u128::from(self.slots_per_time)) >> 64) as u64;
        slots.min(u64::from(u32::MAX)) as u32
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn slots_are_what_division_gives(slot in 2_u64..100_000, slots in 0_u64..1_000_000, rest in 0_u64..100_000) {
            let intervals = Intervals::new(Duration::from_nanos(slot), Duration::ZERO, Duration::ZERO, Duration::ZERO);
            for time in [slot * slots, slot * slots + rest, (slot * slots).saturating_sub(1)] {
                prop_assert_eq!(u64::from(intervals.slots(Duration::from_nanos(time))), time / slot);
            }
        }
    }
}
