//! The NAV: until when other stations have reserved the channel (IEEE Std 802.11-2016, 10.3.2.4).

use wifair_units::Time;

use super::{SpatialFrameKind, Transmission};
use crate::BROADCAST;

/// A NAV of a station.
#[derive(Clone, Copy, Debug)]
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

    /// When it ends, unless a frame confirms or extends it.
    #[inline]
    pub fn end(&self) -> Time {
        self.until.min(self.check)
    }

    /// Extends the NAV for a frame that reserves the channel `until` then, for `holder`.
    #[inline]
    pub fn set(&mut self, until: Time, check: Time, holder: u32) {
        if until > self.end() {
            *self = Self { until, check, holder };
        }
    }

    /// Confirms the NAV set by an RTS if the start of another frame, `reported` at that time, comes soon enough.
    pub fn confirm(&mut self, reported: Time) {
        let until = if reported > self.check { self.end() } else { self.until };
        *self = Self { until, check: Time::NEVER, ..*self };
    }

    /// A frame of `sender` that ends at `now` is read: it extends the NAV, or resets it if it is a CF-End.
    #[inline]
    pub fn read(&mut self, now: Time, sender: u32, frame: &Transmission, check: Time) {
        match frame.kind {
            SpatialFrameKind::CfEnd => *self = Self { until: self.until.min(now), check: Time::NEVER, ..*self },
            kind => self.set(frame.nav, check, if kind.is_answer() { frame.to } else { sender }),
        }
    }
}
