//! Backoff and NAV of a station.

use wifair_units::{Duration, Time};

/// The part of a station that frames in its range touch, beside the sets of [`super::signal::Signals`].
#[derive(Clone, Debug)]
pub struct BackoffState {
    /// Slots of the backoff count from here on, while the channel stays idle.
    from: Time,
    /// Since when the channel is idle, if `from` does not say so yet; [`Time::NEVER`]: it does.
    idle: Time,
    /// The NAV: until when others have announced to use the channel.
    pub nav: Time,
    /// When the NAV may be forgotten because what an RTS announced does not follow; [`Time::NEVER`]: not at all.
    pub nav_check: Time,
    /// Slots of the backoff that are left.
    pub left: u32,
    /// Takes part in an exchange, so that its backoff stands still.
    pub engaged: bool,
    /// Its exchange is over, and it goes on when the channel is idle.
    pub resumes_when_idle: bool,
    /// Has a frame to send when the backoff ends.
    pub contends: bool,
    /// Is about to send without backoff; must draw one if somebody is faster.
    pub immediate: bool,
}

/// The intervals that carrier sense and backoff reckon with.
#[derive(Clone, Copy, Debug)]
pub struct Intervals {
    pub slot: Duration,
    /// 2^64 over the slot, rounded up.
    pub slots_per_time: u64,
    pub difs: Duration,
    /// DIFS, if EIFS is off.
    pub eifs: Duration,
    /// Until the start of a frame is reported.
    pub preamble: Duration,
}

impl BackoffState {
    /// On a channel that is idle from the start of the run.
    pub fn new(intervals: &Intervals) -> Self {
        Self {
            from: Time::ZERO + intervals.difs,
            idle: Time::NEVER,
            nav: Time::ZERO,
            nav_check: Time::NEVER,
            left: 0,
            engaged: false,
            resumes_when_idle: false,
            contends: false,
            immediate: false,
        }
    }

    /// Until when the NAV holds, if nothing more happens.
    #[inline]
    pub fn nav_until(&self) -> Time {
        self.nav.min(self.nav_check)
    }

    /// A frame begins while nothing else was heard. Whether a backoff must be drawn.
    #[inline]
    #[must_use]
    pub fn fall_busy(&mut self, now: Time, intervals: &Intervals) -> bool {
        if self.immediate {
            self.immediate = false;
            return true;
        }
        // Without asking whether slots have passed: that is chance.
        self.left -= intervals.slots(now.saturating_since(self.from)).min(self.left);
        false
    }

    /// 10.3.2.4: the NAV that an RTS set may be reset, unless a frame is reported in time.
    pub fn confirm_nav(&mut self, now: Time, intervals: &Intervals) {
        if now + intervals.preamble > self.nav_check {
            self.nav = self.nav_until();
        }
        self.nav_check = Time::NEVER;
    }

    /// The channel is idle from `now`: slots count after DIFS, or EIFS if the last frame was `eifs_pending`
    /// (10.3.2.3.7: without regard to the NAV).
    #[inline]
    pub fn fall_idle(&mut self, now: Time, eifs_pending: bool, intervals: &Intervals) {
        let from = now + if eifs_pending { intervals.eifs } else { intervals.difs };
        let nav = self.nav_until();
        self.count_from(if nav > now { from.max(nav + intervals.difs) } else { from });
    }

    /// Slots count from here on.
    #[inline]
    pub fn count_from(&mut self, from: Time) {
        self.from = from;
        self.idle = Time::NEVER;
    }

    /// From when on slots count, of a station that has some left or something to send.
    #[inline]
    pub fn from(&self) -> Time {
        self.from
    }

    /// The channel is idle from `now` on for a station that counts no slots. When its slots would begin to count is
    /// computed by [`BackoffState::wake`], once it has something to send.
    #[inline]
    pub fn is_idle_from(&mut self, now: Time) {
        self.idle = now;
    }

    /// A station that counted no slots has something to send. Neither its NAV nor `eifs_pending` has changed since it
    /// fell idle.
    #[inline]
    pub fn wake(&mut self, eifs_pending: bool, intervals: &Intervals) {
        if self.idle < Time::NEVER {
            self.fall_idle(self.idle, eifs_pending, intervals);
        }
    }

    /// When the backoff ends if the channel stays idle.
    #[inline]
    pub fn due(&self, intervals: &Intervals) -> Time {
        self.from + intervals.slot * u64::from(self.left)
    }

    /// A frame of another station announces that it uses the channel `until` then.
    #[inline]
    pub fn set_nav(&mut self, until: Time, check: Time) {
        if until > self.nav_until() {
            self.nav = until;
            self.nav_check = check;
        }
    }
}

impl Intervals {
    pub fn new(slot: Duration, difs: Duration, eifs: Duration, preamble: Duration) -> Self {
        // At least 2 ns, so that the quotient fits.
        let slots_per_time = u64::MAX / slot.as_nanos().max(2) + 1;
        Self { slot, slots_per_time, difs, eifs, preamble }
    }

    /// Whole slots in `time`: `time / slot` by multiplication, exact up to 2^64 / slot (10 days, in ns), and a
    /// contention window in any case after that.
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
