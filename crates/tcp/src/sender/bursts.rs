//! Bursts of segments for segmentation offload (TSO), as in Linux.
//!
//! Source: behaviour of Linux 6.x. The size of a burst follows from the pacing rate, whether segments are paced or not
//! (`tcp_tso_autosize`); a sender with selective ACKs also waits for more ACKs while a burst is small
//! (`tcp_tso_should_defer`). A burst is at most half the congestion window (`tcp_cwnd_test`), lies within one buffer of
//! up to 64 KiB of the stream, and its last segment has PSH if there is more than one.

use wifair_packet::{Packet, flag};
use wifair_units::{Duration, Time};

use super::{RecoveryPhase, Sender, WindowUse};
use crate::cc::CongestionControl;

/// The largest burst and the largest buffer, in bytes.
const LARGEST_BURST: u64 = 65_536;

/// The minimum RTT that halves the extra burst for nearby receivers.
const NEAR: Duration = Duration::from_micros(512);

/// After a pause of more than this a sender does not wait for a larger burst.
const RECENT: Duration = Duration::from_millis(1);

/// Nor does it if this part of the window is open (sysctl tcp_tso_win_divisor).
const OPEN_PART: u64 = 3;

/// The burst that is leaving.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Burst {
    /// Segments that may still leave in it, whatever the pacing timer says.
    pub left: u32,
    /// Whether it has more than one segment.
    is_long: bool,
}

/// The most segments of `mss` bytes that leave together at a pacing rate in bytes per second (Linux,
/// `tcp_tso_autosize`): what leaves in 1/1024 s and, for nearby receivers, 64 KiB halved for each 512 us of the minimum
/// RTT, but no fewer than `least`.
#[must_use]
pub fn burst_size(rate: f64, min_rtt: Duration, mss: u64, least: u32) -> u32 {
    let halvings = min_rtt.as_nanos() / NEAR.as_nanos();
    let near = if halvings < 32 { LARGEST_BURST >> halvings } else { 0 };
    let bytes = ((rate / 1024.0) as u64).saturating_add(near).min(LARGEST_BURST);
    u32::try_from(bytes / mss).unwrap_or(u32::MAX).max(least)
}

impl Sender {
    /// Number of segments sent at once at a pacing rate in bytes per second.
    pub(super) fn burst(&self, rate: f64) -> u32 {
        let least = self.options.pacing_burst;
        if self.options.tso_autosize { burst_size(rate, self.rtt.min(), self.mss, least) } else { least }
    }

    /// Whether new segments leave in bursts that are formed before the first leaves.
    pub(super) const fn forms_bursts(&self) -> bool {
        self.options.tso_autosize && self.selective.is_some()
    }

    /// Whether the next segment belongs to the burst that is leaving.
    #[inline]
    pub(super) fn is_in_burst(&self, now: Time) -> bool {
        self.burst.left > 0 && self.last_send == now
    }

    /// Whether a new segment may leave, of which the windows allow one: in the burst that is leaving, or as the first
    /// of one that does not wait to become larger. `allowed` bytes fit into the congestion window, `open` into the
    /// receive window.
    pub(super) fn admits_to_burst(&mut self, now: Time, allowed: u64, open: u64) -> bool {
        if !self.forms_bursts() || self.is_in_burst(now) {
            return true;
        }
        let rate = self.cc.pacing_rate().or_else(|| self.window_rate()).unwrap_or(0.0);
        let largest = u64::from(self.burst(rate)) * self.mss;
        let buffer = (LARGEST_BURST / self.mss).max(1) * self.mss;
        let buffered = (buffer - self.nxt % buffer).min(self.supplied - self.nxt);
        let room = allowed.min(open);
        if self.waits_for_larger_burst(now, room, largest, buffered) {
            self.window_limited = allowed < open && allowed <= buffered;
            if self.window_limited {
                let max = self.max;
                self.used = WindowUse { full: true, most: max - self.una, until: max, seen: max };
            }
            return false;
        }
        let half = (self.cwnd() as u64 / 2).max(1) * self.mss;
        let size = room.min(largest).min(buffered).min(half).div_ceil(self.mss);
        self.burst.left = u32::try_from(size).unwrap_or(u32::MAX);
        self.burst.is_long = size > 1;
        true
    }

    /// Whether a burst of the bytes that the windows allow waits for more ACKs. `largest` is the largest burst,
    /// `buffered` what is left in the current buffer.
    fn waits_for_larger_burst(&self, now: Time, room: u64, largest: u64, buffered: u64) -> bool {
        let Some(s) = &self.selective else { return false };
        let has_more_buffers = self.nxt + buffered < self.supplied;
        let ends = self.closing && !has_more_buffers;
        let window = self.rwnd.min((self.cwnd() * self.mss_f64) as u64);
        let half_rtt = self.rtt.srtt() / 2;
        self.phase == RecoveryPhase::Open
            && buffered > self.mss
            && now.saturating_since(self.last_send) <= RECENT
            && room < largest
            && !(has_more_buffers && room >= buffered)
            && room < window / OPEN_PART
            && s.scoreboard.first_sent().is_some_and(|sent| now.saturating_since(sent) >= half_rtt)
            && !ends
    }

    /// Counts a new segment that leaves in a burst, the last of which has PSH.
    pub(super) fn count_in_burst(&mut self, packet: &mut Packet) {
        if !self.forms_bursts() {
            return;
        }
        self.burst.left = self.burst.left.saturating_sub(1);
        if self.burst.left == 0 && self.burst.is_long {
            packet.flags |= flag::PSH;
        }
    }
}
