//! Segmentation offload: which segments Linux would pass to the device as one.
//!
//! Linux builds bursts of as many segments as it sends in about a millisecond at the pacing rate, at least two, at most
//! half the congestion window, and sets PSH on each burst of more than one segment. The simulated sender sends segments
//! one by one; this module finds the bursts among the segments of one instant, and so the segments that have PSH.

use std::collections::BTreeMap;

use wifair_tcp::burst_size;
use wifair_units::Duration;

/// The most bytes of a burst.
const MAX_BYTES: u64 = 65_536;

/// What determines the size of bursts.
#[derive(Clone, Copy, Debug)]
pub struct BurstLimits {
    /// Congestion window, in segments.
    pub cwnd: f64,
    /// Payload of a full segment.
    pub mss: u64,
    /// The least number of segments of a burst.
    pub least: u32,
    /// Pacing rate, in bytes per second.
    pub rate: f64,
    /// Smallest round-trip time.
    pub min_rtt: Duration,
}

impl BurstLimits {
    /// The most segments of a burst.
    pub fn segments(&self) -> u64 {
        let half = ((self.cwnd as u64) / 2).max(1);
        let sized = burst_size(self.rate, self.min_rtt, self.mss, self.least);
        u64::from(sized).min(MAX_BYTES / self.mss).max(1).min(half)
    }
}

/// The end of each burst sent, by the offset of its first byte.
#[derive(Clone, Debug, Default)]
pub struct Bursts {
    ends: BTreeMap<u64, u64>,
}

impl Bursts {
    /// Returns, for each segment `(start, end, new)` sent at one instant, whether it ends a burst of more than one
    /// segment. Segments are in order; a new one lies above all that was sent before. Retransmitted segments are joined
    /// only within their original burst. No burst crosses an offset for which `records` returns true.
    pub fn mark(
        &mut self,
        segments: &[(u64, u64, bool)],
        limits: &BurstLimits,
        records: &dyn Fn(u64) -> bool,
    ) -> Vec<bool> {
        let most = limits.segments();
        let mut marks = vec![false; segments.len()];
        let mut at = 0;
        while at < segments.len() {
            let (start, mut end, new) = segments[at];
            let whole = self.burst_of(start);
            let mut last = at;
            while let Some(&(next_start, next_end, next_new)) = segments.get(last + 1) {
                let joins = next_start == end
                    && next_new == new
                    && (last + 1 - at) < usize::try_from(most).unwrap_or(usize::MAX)
                    && !records(end)
                    && (new
                        || (self.burst_of(next_start) == whole && whole == Some((start, whole.map_or(0, |b| b.1)))));
                if !joins {
                    break;
                }
                end = next_end;
                last += 1;
            }
            marks[last] = last > at;
            if new {
                self.ends.insert(start, end);
            }
            at = last + 1;
        }
        marks
    }

    /// The burst that holds `offset`.
    fn burst_of(&self, offset: u64) -> Option<(u64, u64)> {
        self.ends.range(..=offset).next_back().map(|(&start, &end)| (start, end)).filter(|(_, end)| offset < *end)
    }

    /// Splits the burst that holds `offset` in two, because an ACK or a SACK block ends there.
    pub fn split(&mut self, offset: u64) {
        if let Some((start, end)) = self.burst_of(offset)
            && start < offset
        {
            self.ends.insert(start, offset);
            self.ends.insert(offset, end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(cwnd: f64) -> BurstLimits {
        BurstLimits { cwnd, mss: 1000, least: 2, rate: 200_000.0, min_rtt: Duration::from_millis(100) }
    }

    #[test]
    fn a_burst_is_at_most_half_the_window() {
        assert_eq!([1.0, 2.0, 3.0, 4.0, 10.0].map(|cwnd| limits(cwnd).segments()), [1, 1, 1, 2, 2]);
        assert_eq!(BurstLimits { least: 10, ..limits(10.0) }.segments(), 5);
    }

    #[test]
    fn bursts_of_two_end_with_every_second_segment() {
        let segments: Vec<_> = (0..5).map(|i| (i * 1000, (i + 1) * 1000, true)).collect();
        let mut bursts = Bursts::default();
        assert_eq!(bursts.mark(&segments, &limits(10.0), &|_| false), [false, true, false, true, false]);
        // Retransmitted: the second half of the first burst alone, and the whole second burst as one.
        let again = [(1000, 2000, false), (2000, 3000, false), (3000, 4000, false)];
        assert_eq!(bursts.mark(&again, &limits(10.0), &|_| false), [false, false, true]);
    }
}
