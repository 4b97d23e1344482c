//! Access rules shared by all stations of a channel (IEEE Std 802.11-2016, 10.3).

use wifair_config::choice;
use wifair_phy::Timing;
use wifair_units::{BitRate, Bytes, Duration, Time};

use crate::exchange::ExchangeFrame;
use crate::extended_response::ExtendedResponse;
use crate::frame_length;

choice! {
    /// When a station waits EIFS instead of DIFS.
    pub enum Eifs {
        /// After a frame whose PHY header was read but whose FCS is wrong.
        // If two frames start in the same slot, the PHY header is lost too, so the PHY reports no frame and DIFS
        // applies, as in ns-3.
        AfterError = "after-error" from "IEEE Std 802.11-2016, 10.3.2.3.7",
        /// After every collision as well.
        AfterCollision = "after-collision" from "many textbooks",
        /// As a NAV: DIFS follows the EIFS, and reading a frame does not end it. EIFS starts after every frame that is
        /// sensed but not read, and at a sender whose own frame overlapped with one that ended no earlier.
        // DIFS also follows the timeout of a sender.
        Nav = "nav" from "ns-2 2.35, by experiment",
        /// Never.
        Off = "off",
    }
}

choice! {
    /// What a station does when a packet arrives and the channel has been idle for DIFS.
    pub enum IdleAccess {
        /// Sends at once; under EDCA (802.11n and later), at the next slot boundary (10.22.2.4).
        Immediate = "immediate" from "IEEE Std 802.11-2016, 10.3.4.2",
        /// Draws a backoff first.
        Backoff = "backoff" from "ns-2 2.35",
    }
}

/// Default of dot11ShortRetryLimit (IEEE Std 802.11-2016, annex C).
pub const SHORT_RETRY_LIMIT: u8 = 7;
/// Default of dot11LongRetryLimit (IEEE Std 802.11-2016, annex C).
pub const LONG_RETRY_LIMIT: u8 = 4;

/// Access rules shared by all stations of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Intervals and air times.
    pub timing: Timing,
    /// dot11RTSThreshold: RTS and CTS precede data frames longer than this (MAC header to FCS).
    pub rts_threshold: Bytes,
    /// dot11ShortRetryLimit: most attempts of an RTS, and of a data frame not longer than the RTS threshold. If absent,
    /// as many as rate adaptation plans for a frame, or [`SHORT_RETRY_LIMIT`].
    pub short_retry_limit: Option<u8>,
    /// dot11LongRetryLimit: most attempts of a data frame longer than the RTS threshold. If absent, as many as rate
    /// adaptation plans for a frame, or [`LONG_RETRY_LIMIT`].
    pub long_retry_limit: Option<u8>,
    /// Whether the contention window returns to CWmin when a frame is given up (10.3.3).
    pub reset_cw_on_drop: bool,
    /// Rate of the CTS-to-self before an OFDM frame, which 802.11b stations cannot read (Use_Protection in the ERP
    /// element, set by the access point when such stations are present). With `None` there is no CTS-to-self. A frame
    /// preceded by an RTS needs none.
    pub protection: Option<BitRate>,
    /// Whether OFDM frames are protected by RTS and CTS at that rate instead of CTS-to-self; with access categories
    /// only.
    pub protects_by_rts: bool,
    /// Whether the frames of a TXOP reserve the channel until the TXOP ends (IEEE Std 802.11-2016, 9.2.5.2, multiple
    /// protection). A holder that finishes early then releases the channel with a CF-End (10.22.2.9). If false, each
    /// frame reserves the channel for its own exchange.
    pub cf_end: bool,
    /// Whether an access point that has read a CF-End of its BSS sends another after SIFS (10.22.2.9, where it is
    /// optional).
    pub repeats_cf_end: bool,
    /// Rate of broadcast frames: one of the BSSBasicRateSet.
    pub broadcast_rate: BitRate,
    /// When EIFS applies.
    pub eifs: Eifs,
    /// Whether a NAV set by an RTS is reset if no frame follows (10.3.2.4, where it is optional).
    pub nav_reset: bool,
    /// Access on an idle channel.
    pub idle_access: IdleAccess,
    /// Idle time after the end of a data frame or RTS after which the sender concludes that no response will come; its
    /// backoff then starts (10.3.2.9, 10.3.2.11). With `None` it is [`Timing::response_timeout`] of each response.
    pub answer_timeout: Option<Duration>,
    /// Whether a sender resumes at the end of its timeout even if DIFS would be longer, as in ns-2.
    pub timeout_without_difs: bool,
    /// Unit to which the NAV is rounded; zero for no rounding. ns-2 uses whole microseconds. If an exchange does not
    /// last a whole number of units, bystanders start counting slots slightly later than its sender and receiver, and
    /// never collide with them in one slot.
    pub nav_unit: Duration,
}

impl Access {
    /// The standard's rules with `timing`, without RTS, with seven attempts.
    #[must_use]
    pub fn standard(timing: Timing) -> Self {
        Self {
            timing,
            rts_threshold: Bytes(u64::MAX),
            short_retry_limit: None,
            long_retry_limit: None,
            reset_cw_on_drop: true,
            protection: None,
            protects_by_rts: false,
            cf_end: false,
            repeats_cf_end: false,
            broadcast_rate: timing.basic_rate,
            eifs: Eifs::AfterError,
            nav_reset: true,
            idle_access: IdleAccess::Immediate,
            answer_timeout: None,
            timeout_without_difs: false,
            nav_unit: Duration::ZERO,
        }
    }

    /// Duration announced by a frame that reserves the channel for `exact`: a multiple of `nav_unit`.
    #[inline]
    #[must_use]
    pub fn round_nav(&self, exact: Duration) -> Duration {
        if self.nav_unit == Duration::ZERO {
            return exact;
        }
        self.nav_unit * (exact + self.nav_unit / 2).div_floor(self.nav_unit)
    }

    /// How long the NAV lasts after the data, rounded to the nearest `nav_unit`. `ack` is the air time of the ACK;
    /// `after_rts` is the time from the end of the RTS, if any, to the end of the exchange.
    #[must_use]
    pub fn nav_after_data(&self, ack: Duration, after_rts: Option<Duration>) -> Duration {
        let exact = self.timing.sifs + ack;
        let by_rts = after_rts.map(|after_rts| (self.round_nav(after_rts) + exact).saturating_sub(after_rts));
        self.round_nav(exact).max(by_rts.unwrap_or(Duration::ZERO))
    }

    /// How much longer the NAV is than its exchange, with the arguments of [`Access::nav_after_data`]. A NAV that ends
    /// early changes nothing, since the ACK keeps the channel busy.
    #[must_use]
    pub fn nav_excess(&self, ack: Duration, after_rts: Option<Duration>) -> Duration {
        self.nav_after_data(ack, after_rts).saturating_sub(self.timing.sifs + ack)
    }

    /// Rate of control frames before data, which all stations can read.
    pub(crate) fn control_rate(&self) -> BitRate {
        self.protection.unwrap_or(self.timing.basic_rate)
    }

    /// Air time of a control frame before data.
    pub(crate) fn control_air(&self, frame: ExchangeFrame) -> Duration {
        let length = if frame == ExchangeFrame::Rts { self.timing.sizes.rts } else { self.timing.sizes.cts };
        debug_assert!(frame == ExchangeFrame::Rts || matches!(frame, ExchangeFrame::Cts | ExchangeFrame::CtsToSelf));
        self.timing.frame(length, self.control_rate())
    }

    /// Rate of a CF-End, which all must read who have read what reserved the channel: that of a CTS-to-self for 802.11b
    /// stations, otherwise the lowest.
    #[must_use]
    pub fn cf_end_rate(&self) -> BitRate {
        self.protection.filter(|rate| self.timing.is_dsss(*rate)).unwrap_or(self.timing.lowest_rate)
    }

    /// Air time of a CF-End.
    #[must_use]
    pub fn cf_end_air(&self) -> Duration {
        self.timing.frame(frame_length::CF_END, self.cf_end_rate())
    }

    /// EIFS, rounded to `nav_unit` if EIFS is a NAV; DIFS if there is no EIFS.
    #[must_use]
    pub fn eifs(&self) -> Duration {
        match self.eifs {
            Eifs::Off => self.timing.difs,
            Eifs::Nav => self.round_nav(self.timing.eifs()),
            Eifs::AfterError | Eifs::AfterCollision => self.timing.eifs(),
        }
    }

    /// Time from the end of an RTS, sent at this rate, after which its NAV may be reset (10.3.2.4).
    pub(super) fn nav_reset_after_rts(&self, rate: BitRate) -> Duration {
        let timing = &self.timing;
        timing.sifs * 2 + timing.frame(timing.sizes.cts, rate) + timing.preamble_of(rate) + timing.slot * 2
    }

    /// From when a station counts AIFS that received a frame in error; the channel is idle from `now`.
    pub(super) fn after_error(&self, now: Time) -> Time {
        match self.eifs {
            Eifs::Off => now,
            Eifs::Nav => now + self.eifs(),
            // EIFS - DIFS + AIFS (10.3.2.3.7).
            Eifs::AfterError | Eifs::AfterCollision => now + (self.timing.eifs() - self.timing.difs),
        }
    }

    /// NAV of a station whose own frame overlapped with others, counted from the last end; `outlasted` if another frame
    /// ended no earlier than its own.
    pub(super) fn nav_after_own(&self, outlasted: bool) -> Duration {
        if outlasted && self.eifs == Eifs::Nav { self.eifs() } else { Duration::ZERO }
    }

    /// How long a sender waits for a response at this rate.
    #[inline]
    #[must_use]
    pub fn timeout_of(&self, response: BitRate) -> Duration {
        self.answer_timeout.unwrap_or_else(|| self.timing.response_timeout(response))
    }

    /// How long a sender waits for a response in HE extended range.
    pub(super) fn timeout_of_extended(&self) -> Duration {
        let delay = ExtendedResponse::RX_START_DELAY;
        self.answer_timeout.unwrap_or(self.timing.sifs + self.timing.slot + delay)
    }

    /// How long a sender waits for any response, if that is the same for all; `may_extend` if some may be in extended
    /// range.
    pub(super) fn timeout_of_any(&self, may_extend: bool) -> Option<Duration> {
        let has_one = self.timing.has_one_preamble() && !may_extend;
        let one = has_one.then(|| self.timing.response_timeout(self.timing.basic_rate));
        self.answer_timeout.or(one)
    }

    /// When a sender resumes whose timeout has expired; the channel is idle from `now`.
    #[inline]
    pub(super) fn after_timeout(&self, expired: Time, now: Time) -> Time {
        if self.timeout_without_difs { expired.max(now) } else { expired.max(now + self.timing.difs) }
    }

    /// Whether a frame of this length is preceded by RTS and CTS.
    #[inline]
    #[must_use]
    pub fn protects(&self, length: Bytes) -> bool {
        length > self.rts_threshold
    }
}
