//! The NAV: until when other stations have reserved the channel (IEEE Std 802.11-2016, 10.3.2.4).

use wifair_units::Time;

use crate::BROADCAST;

/// A NAV of a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nav {
    /// Until when the channel is reserved.
    pub until: Time,
    /// When the NAV may be reset, if an RTS set it and no frame follows; [`Time::NEVER`] if it may not.
    pub check: Time,
    /// The TXOP holder for which it is (10.22.2.4), or [`BROADCAST`].
    pub holder: u32,
}

impl Nav {
    /// A NAV that indicates an idle channel.
    pub const IDLE: Self = Self { until: Time::ZERO, check: Time::NEVER, holder: BROADCAST };

    /// A NAV that may not be reset.
    #[inline]
    pub fn new(until: Time, holder: u32) -> Self {
        Self { until, check: Time::NEVER, holder }
    }

    /// When it ends, unless a frame confirms or extends it.
    #[inline]
    pub fn end(&self) -> Time {
        self.until.min(self.check)
    }

    /// A frame that is read sets it to `other`, if that is longer.
    #[inline]
    pub fn extend(&mut self, other: Self) {
        if other.until > self.end() {
            *self = other;
        }
    }

    /// Confirms the NAV set by an RTS if the start of another frame, `reported` at that time, comes soon enough.
    pub fn confirm(&mut self, reported: Time) {
        let until = if reported > self.check { self.end() } else { self.until };
        *self = Self::new(until, self.holder);
    }

    /// A CF-End that ends at `now` resets it.
    pub fn reset(&mut self, now: Time) {
        *self = Self::new(self.until.min(now), self.holder);
    }
}
