//! The two NAVs of an HE station: one for its own BSS, and one for all other frames (IEEE Std 802.11ax-2021, 26.2.4).
//!
//! Whether a frame belongs to the own BSS follows 26.2.2. Frames with a transmitter address or BSSID are recognised by
//! these. An ACK or a CTS has only a receiver address; it belongs to the own BSS if that is the access point's, or that
//! of the station which holds a TXOP there. A CTS-to-self counts for the BSS of its sender.

use wifair_units::Time;

use crate::BROADCAST;
use crate::channel::nav::Nav;
use crate::channel::spatial::{SpatialChannel, Transmission};
use crate::exchange::ExchangeFrame;

/// See the [module](self).
#[derive(Clone, Debug)]
pub(super) struct TwoNavs {
    intra_bss: Nav,
    basic: Nav,
    /// The saved TXOP holder (10.22.2.4): the last station of the BSS whose data, request or RTS was read.
    holder: Option<u32>,
}

impl TwoNavs {
    pub const IDLE: Self = Self { intra_bss: Nav::IDLE, basic: Nav::IDLE, holder: None };

    /// Both as one: the channel is idle when both have ended.
    fn joint(&self) -> Nav {
        let (intra_bss, basic) = (&self.intra_bss, &self.basic);
        let end = intra_bss.end().max(basic.end());
        let is_settled = intra_bss.check.min(basic.check) == Time::NEVER;
        let check = if is_settled { Time::NEVER } else { end };
        Nav { until: intra_bss.until.max(basic.until), check, holder: BROADCAST }
    }

    /// Whether each of them has ended at `now`, or is for one of these TXOP holders.
    pub fn are_over_or_for(&self, now: Time, holders: [u32; 2]) -> bool {
        [&self.intra_bss, &self.basic].iter().all(|nav| nav.end() <= now || holders.contains(&nav.holder))
    }
}

impl SpatialChannel {
    /// Whether a frame of `sender` that ends at `now` is of another BSS for `station` (26.2.2), which has two NAVs.
    pub(in crate::channel::spatial) fn is_inter_bss(
        &self,
        now: Time,
        station: u32,
        sender: u32,
        frame: &Transmission,
    ) -> bool {
        let Some(edca) = self.edca.as_deref() else { return false };
        let Some(navs) = &edca.navs[station as usize] else { return false };
        let (ap, of_sender) = (edca.aps[station as usize], edca.aps[sender as usize]);
        match frame.kind {
            ExchangeFrame::Cts | ExchangeFrame::Ack => {
                let is_saved = navs.holder == Some(frame.to) && navs.intra_bss.end() >= now;
                !is_saved && ap != Some(frame.to)
            }
            _ => of_sender != ap,
        }
    }

    /// An HE station reads a frame of `sender` that ends at `now`; `check` is when the NAV of an RTS may be reset.
    pub(in crate::channel::spatial) fn read_by_he(
        &mut self,
        now: Time,
        station: u32,
        sender: u32,
        frame: &Transmission,
        check: Time,
    ) {
        let is_inter_bss = self.is_inter_bss(now, station, sender, frame);
        let navs = self.edca.as_deref_mut().and_then(|edca| edca.two_navs(station));
        let navs = navs.expect("an HE station has two NAVs");
        if !is_inter_bss && !frame.kind.is_response() {
            navs.holder = Some(sender);
        }
        let nav = if is_inter_bss { &mut navs.basic } else { &mut navs.intra_bss };
        frame.change_nav(now, sender, check, nav);
        self.backoffs[station as usize].nav = navs.joint();
    }

    /// Sets the NAV of a TXOP holder, which waits until its TXOP ends.
    pub(super) fn set_own_nav(&mut self, station: u32, until: Time) {
        let backoff = &mut self.backoffs[station as usize];
        match self.edca.as_deref_mut().and_then(|edca| edca.two_navs(station)) {
            Some(navs) => {
                navs.intra_bss.extend(Nav::new(until, station));
                backoff.nav = navs.joint();
            }
            None => backoff.nav.extend(Nav::new(until, station)),
        }
    }

    /// Confirms the NAVs of `station`, which senses a frame from `now` on.
    #[cold]
    pub(in crate::channel::spatial) fn confirm_nav(&mut self, now: Time, station: u32) {
        let reported = now + self.intervals.preamble;
        let backoff = &mut self.backoffs[station as usize];
        match self.edca.as_deref_mut().and_then(|edca| edca.two_navs(station)) {
            Some(navs) => {
                navs.intra_bss.confirm(reported);
                navs.basic.confirm(reported);
                backoff.nav = navs.joint();
            }
            None => backoff.nav.confirm(reported),
        }
    }
}
