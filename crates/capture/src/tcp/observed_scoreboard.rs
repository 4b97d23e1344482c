//! The scoreboard of one direction: what is outstanding, what is in flight, and why a segment was retransmitted.
//!
//! `outstanding` is data sent and not cumulatively acknowledged; `in_flight` excludes what SACK reported (RFC 2018).
//! `pipe` is the estimate of RFC 6675, section 4: it also excludes data counted as lost (with more than two segments
//! SACKed above it, or everything after a timeout) and adds retransmissions. Without SACK, each duplicate ACK means
//! that a segment arrived (RFC 6582), and the third one that a segment was lost.
//!
//! A retransmission is classified as
//!
//! * **spurious**, if its bytes had been acknowledged at the capture point before, or if later ACKs show that the first
//!   copy had arrived: by D-SACK (RFC 2883), or by echoing a timestamp older than that of the copy (RFC 3522);
//! * **fast**, if three duplicate ACKs or SACKed data above it had passed, or during the recovery that these started;
//! * **timeout** otherwise: only a timer can have triggered it, be it a tail loss probe (RFC 8985) or the
//!   retransmission timeout (RFC 6298).
//!
//! Each timeout is counted at its first retransmission, even a spurious one: if ACKs are lost between the capture point
//! and the sender, all retransmissions repeat bytes that were acknowledged at the capture point.

/// The most SACKed ranges kept.
const MOST_SACKED: usize = 256;
/// The most retransmissions kept while later ACKs may still show them to be spurious.
const MOST_PENDING: usize = 256;

/// Why a segment was retransmitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetransmissionCause {
    /// Triggered by duplicate ACKs or SACK.
    Fast,
    /// Triggered by a timer.
    Timeout,
    /// Unnecessary: the first copy had arrived.
    Spurious,
}

#[derive(Clone, Copy, Debug)]
struct Resent {
    first: i64,
    end: i64,
    stamp: Option<u32>,
    cause: RetransmissionCause,
}

/// The state of one direction's data between its sender and the ACKs.
#[derive(Clone, Debug, Default)]
pub(crate) struct ObservedScoreboard {
    /// Offset of the first byte of data, once known.
    start: Option<i64>,
    /// The offset after the highest byte sent.
    pub(crate) sent: i64,
    /// Highest cumulative ACK.
    acked: Option<i64>,
    /// SACKed ranges above the cumulative ACK, sorted and disjoint.
    sacked: Vec<(i64, i64)>,
    /// Total bytes in `sacked`.
    sacked_bytes: i64,
    /// Ranges retransmitted and not yet acknowledged.
    copies: Vec<(i64, i64)>,
    /// Below this offset, all data that is not SACKed counts as lost.
    lost_below: i64,
    /// Consecutive duplicate ACKs.
    duplicates: u32,
    /// The offset at which the current recovery ends, and what started it.
    recovery: Option<(i64, RetransmissionCause)>,
    pending: Vec<Resent>,
    /// Largest payload sent.
    pub(crate) largest: u32,
    pub(crate) fast: u64,
    pub(crate) timeout: u64,
    pub(crate) spurious: u64,
    /// Recoveries started by duplicate ACKs or SACK.
    pub(crate) fast_recoveries: u64,
    /// Timeouts.
    pub(crate) timeouts: u64,
}

/// Data on its way, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flight {
    /// Sent and not cumulatively acknowledged.
    pub outstanding: u64,
    /// `outstanding` without what SACK reported.
    pub in_flight: u64,
    /// The estimate of data in the network by RFC 6675.
    pub pipe: u64,
}

impl ObservedScoreboard {
    /// The data on its way now.
    #[inline]
    pub(crate) fn flight(&self) -> Flight {
        let outstanding = self.outstanding();
        if self.sacked.is_empty() && self.duplicates == 0 && self.copies.is_empty() {
            return Flight { outstanding, in_flight: outstanding, pipe: outstanding };
        }
        self.flight_in_recovery(outstanding)
    }

    /// Offset of the first byte of data.
    pub(crate) fn start(&self) -> Option<i64> {
        self.start
    }

    /// Bytes acknowledged; `None` if no ACK of data was seen.
    pub(crate) fn acknowledged(&self) -> Option<u64> {
        let acked = self.acked? - self.start?;
        (acked > 0).then(|| acked.cast_unsigned())
    }

    /// Bytes sent and not acknowledged.
    #[inline]
    pub(crate) fn outstanding(&self) -> u64 {
        let Some(start) = self.start else { return 0 };
        (self.sent - self.acked.unwrap_or(start).max(start)).max(0).cast_unsigned()
    }

    fn flight_in_recovery(&self, outstanding: u64) -> Flight {
        let mss = i64::from(self.largest);
        let all = outstanding.cast_signed();
        let low = self.acked.or(self.start).unwrap_or(0);
        let (known, mut lost) = if self.sacked.is_empty() {
            let arrived = (i64::from(self.duplicates) * mss).min((all - mss).max(0));
            (arrived, if self.duplicates >= 3 { mss.min(all) } else { 0 })
        } else {
            (self.sacked_bytes.min(all), self.lost(low, mss))
        };
        if self.lost_below > low && self.sacked.is_empty() {
            lost = (self.lost_below.min(self.sent) - low - known).max(0);
        }
        let again: i64 = self.copies.iter().map(|(first, end)| end - first).sum();
        let in_flight = (all - known).max(0);
        let pipe = (in_flight - lost + again).clamp(0, all);
        Flight { outstanding, in_flight: in_flight.cast_unsigned(), pipe: pipe.cast_unsigned() }
    }

    /// Bytes that are not SACKed and have more than two segments of SACKed data above them, or lie below `lost_below`.
    fn lost(&self, low: i64, mss: i64) -> i64 {
        let mut above = 0;
        let mut edge = low;
        for (first, end) in self.sacked.iter().rev() {
            above += end - first;
            if above > 2 * mss {
                edge = *first;
                break;
            }
        }
        edge = edge.max(self.lost_below.min(self.sent));
        let sacked_below: i64 = self.sacked.iter().map(|(first, end)| (*end).min(edge) - (*first).min(edge)).sum();
        (edge - low - sacked_below).max(0)
    }

    /// Handles a segment with `length` bytes, at least some of them new.
    #[inline]
    pub(crate) fn send(&mut self, first: i64, length: u32) {
        let end = first + i64::from(length);
        if self.start.is_none() {
            self.start = Some(first);
            self.sent = end;
        }
        self.sent = self.sent.max(end);
        self.largest = self.largest.max(length);
    }

    /// Handles a retransmission. `quiet`: neither side had sent anything for about a timeout.
    pub(crate) fn resend(&mut self, first: i64, length: u32, stamp: Option<u32>, quiet: bool) -> RetransmissionCause {
        let end = first + i64::from(length);
        self.send(first, length);
        let low = self.acked.or(self.start).unwrap_or(first);
        let known = end <= low || self.sacked.iter().any(|(from, to)| *from <= first && end <= *to);
        if let Some((point, _)) = self.recovery
            && low >= point
        {
            self.recovery = None;
        }
        let cause = if known {
            self.spurious += 1;
            self.timeouts += u64::from(quiet);
            RetransmissionCause::Spurious
        } else {
            let above = self.sacked.last().is_some_and(|(_, to)| *to > first);
            let cause = match self.recovery {
                Some((_, cause)) if !quiet => cause,
                _ if !quiet && (above || self.duplicates >= 3) => {
                    self.fast_recoveries += 1;
                    self.recovery = Some((self.sent, RetransmissionCause::Fast));
                    RetransmissionCause::Fast
                }
                _ => {
                    self.timeouts += 1;
                    self.recovery = Some((self.sent, RetransmissionCause::Timeout));
                    self.lost_below = self.sent;
                    self.copies.clear();
                    RetransmissionCause::Timeout
                }
            };
            match cause {
                RetransmissionCause::Fast => self.fast += 1,
                _ => self.timeout += 1,
            }
            if self.copies.len() < MOST_PENDING {
                self.copies.push((first.max(low), end));
            }
            cause
        };
        if self.pending.len() >= MOST_PENDING {
            self.pending.remove(0);
        }
        self.pending.push(Resent { first, end, stamp, cause });
        cause
    }

    /// Handles an ACK. `duplicate` is as defined by TCP (RFC 5681, section 2). Blocks are in the data's sequence space.
    #[inline]
    pub(crate) fn acknowledge(&mut self, ack: i64, blocks: &[(i64, i64)], duplicate: bool, echo: Option<u32>) {
        let advanced = match self.acked {
            Some(before) => ack > before,
            None => true,
        };
        if self.pending.is_empty() && blocks.is_empty() && self.sacked.is_empty() {
            // Fast path: no SACK and no pending retransmission.
            if advanced {
                self.acked = Some(ack);
                self.duplicates = 0;
            } else if duplicate && self.outstanding() > 0 {
                self.duplicates += 1;
            }
            return;
        }
        self.acknowledge_in_recovery(ack, blocks, duplicate, echo, advanced);
    }

    fn acknowledge_in_recovery(
        &mut self,
        ack: i64,
        blocks: &[(i64, i64)],
        duplicate: bool,
        echo: Option<u32>,
        advanced: bool,
    ) {
        if let Some((first, end)) = repeated(ack, blocks) {
            self.judge(|copy| copy.first < end && first < copy.end);
        }
        if advanced {
            // RFC 3522: the ACK of a retransmission echoes the copy's timestamp, unless the first copy had arrived.
            let before = self.acked.unwrap_or(i64::MIN);
            if let Some(echo) = echo {
                self.judge(|copy| {
                    before <= copy.first
                        && copy.first < ack
                        && copy.stamp.is_some_and(|stamp| echo.wrapping_sub(stamp).cast_signed() < 0)
                });
            }
            self.acked = Some(ack);
            self.duplicates = 0;
            for ranges in [&mut self.copies, &mut self.sacked] {
                ranges.retain_mut(|(first, end)| {
                    *first = (*first).max(ack);
                    first < end
                });
            }
            // Keep retransmissions for a while, because a D-SACK may come with a later ACK.
            let far = ack - 64 * i64::from(self.largest.max(1));
            self.pending.retain(|copy| copy.end > far);
        } else if duplicate && self.outstanding() > 0 {
            self.duplicates += 1;
        }
        let low = self.acked.unwrap_or(ack);
        for (first, end) in blocks {
            // A range outside the data sent is a D-SACK or corrupt.
            if *first >= low && first < end && *end <= self.sent {
                self.sack(*first, *end);
            }
        }
        self.sacked_bytes = self.sacked.iter().map(|(first, end)| end - first).sum();
    }

    /// Adds a SACKed range.
    fn sack(&mut self, first: i64, end: i64) {
        let from = self.sacked.partition_point(|(_, to)| *to < first);
        let to = from + self.sacked[from..].partition_point(|(start, _)| *start <= end);
        if from == to {
            if self.sacked.len() < MOST_SACKED {
                self.sacked.insert(from, (first, end));
            }
        } else {
            let whole = (self.sacked[from].0.min(first), self.sacked[to - 1].1.max(end));
            self.sacked[from] = whole;
            self.sacked.drain(from + 1..to);
        }
        if !self.copies.is_empty() {
            self.copies.retain(|(from, to)| !(first <= *from && *to <= end));
        }
    }

    /// Marks the latest matching retransmission as spurious.
    fn judge(&mut self, fits: impl Fn(&Resent) -> bool) {
        let Some(copy) =
            self.pending.iter_mut().rev().find(|copy| copy.cause != RetransmissionCause::Spurious && fits(copy))
        else {
            return;
        };
        match copy.cause {
            RetransmissionCause::Fast => self.fast -= 1,
            _ => self.timeout -= 1,
        }
        copy.cause = RetransmissionCause::Spurious;
        self.spurious += 1;
    }

    /// Whether the sender is in loss recovery.
    pub(crate) fn recovering(&self) -> bool {
        self.recovery.is_some_and(|(point, _)| self.acked.is_none_or(|acked| acked < point))
    }
}

/// The range that a D-SACK reports: the first block, if it lies below the ACK or inside the second one (RFC 2883,
/// section 4).
pub(crate) fn repeated(ack: i64, blocks: &[(i64, i64)]) -> Option<(i64, i64)> {
    match *blocks {
        [(first, end), ..] if end <= ack => Some((first, end)),
        [(first, end), (from, to), ..] if from <= first && end <= to => Some((first, end)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(segments: i64) -> ObservedScoreboard {
        let mut scoreboard = ObservedScoreboard::default();
        for i in 0..segments {
            scoreboard.send(i * 1_000, 1_000);
        }
        scoreboard
    }

    /// Worked by hand from RFC 6675: ten segments, the third lost.
    #[test]
    fn pipe_counts_neither_lost_nor_sacked_bytes() {
        let mut scoreboard = sent(10);
        assert_eq!(scoreboard.flight(), Flight { outstanding: 10_000, in_flight: 10_000, pipe: 10_000 });
        scoreboard.acknowledge(2_000, &[], false, None);
        for above in [4_000, 5_000] {
            scoreboard.acknowledge(2_000, &[(3_000, above)], true, None);
        }
        // Two segments above the hole: it does not count as lost yet.
        assert_eq!(scoreboard.flight(), Flight { outstanding: 8_000, in_flight: 6_000, pipe: 6_000 });
        scoreboard.acknowledge(2_000, &[(3_000, 6_000)], true, None);
        assert_eq!(scoreboard.flight(), Flight { outstanding: 8_000, in_flight: 5_000, pipe: 4_000 });
        assert_eq!(scoreboard.resend(2_000, 1_000, None, false), RetransmissionCause::Fast);
        assert_eq!(scoreboard.flight().pipe, 5_000);
        scoreboard.acknowledge(6_000, &[], false, None);
        assert_eq!(scoreboard.flight(), Flight { outstanding: 4_000, in_flight: 4_000, pipe: 4_000 });
        assert_eq!(
            (scoreboard.fast, scoreboard.timeout, scoreboard.spurious, scoreboard.fast_recoveries),
            (1, 0, 0, 1)
        );
    }

    /// Without SACK, each duplicate ACK reports that some segment arrived (RFC 5681, section 3.2), never the missing
    /// one; the third one means that the missing one was lost.
    #[test]
    fn duplicate_acks_report_arrivals() {
        let mut scoreboard = sent(5);
        scoreboard.acknowledge(0, &[], false, None);
        let seen: Vec<_> = (0..6)
            .map(|_| {
                scoreboard.acknowledge(0, &[], true, None);
                (scoreboard.flight().in_flight, scoreboard.flight().pipe)
            })
            .collect();
        assert_eq!(seen, [(4_000, 4_000), (3_000, 3_000), (2_000, 1_000), (1_000, 0), (1_000, 0), (1_000, 0)]);
    }

    /// A retransmission below SACKed data repairs a hole; one above all of it was sent because a timer expired.
    #[test]
    fn only_a_hole_below_sacked_data_is_repaired() {
        for (first, cause) in [(1_000, RetransmissionCause::Fast), (3_000, RetransmissionCause::Timeout)] {
            let mut scoreboard = sent(5);
            scoreboard.acknowledge(1_000, &[(2_000, 3_000)], true, None);
            assert_eq!(scoreboard.resend(first, 1_000, None, false), cause, "{first}");
        }
    }

    #[test]
    fn without_acks_a_timer_caused_the_retransmission() {
        let mut scoreboard = sent(3);
        assert_eq!(scoreboard.resend(0, 1_000, None, true), RetransmissionCause::Timeout);
        assert_eq!(scoreboard.flight(), Flight { outstanding: 3_000, in_flight: 3_000, pipe: 1_000 });
        assert_eq!(scoreboard.resend(1_000, 1_000, None, false), RetransmissionCause::Timeout);
        assert_eq!((scoreboard.timeout, scoreboard.timeouts), (2, 1));
    }

    /// A server that has acknowledged everything; the ACKs are lost on their way, and the sender's timer expires twice.
    #[test]
    fn a_timeout_counts_though_its_bytes_had_been_acknowledged() {
        let mut scoreboard = sent(3);
        scoreboard.acknowledge(3_000, &[], false, None);
        assert_eq!(scoreboard.resend(0, 1_000, None, true), RetransmissionCause::Spurious);
        assert_eq!(scoreboard.resend(1_000, 1_000, None, false), RetransmissionCause::Spurious);
        assert_eq!(scoreboard.resend(0, 1_000, None, true), RetransmissionCause::Spurious);
        assert_eq!((scoreboard.timeouts, scoreboard.timeout, scoreboard.spurious), (2, 0, 3));
    }

    #[test]
    fn an_old_echo_shows_that_the_first_copy_had_arrived() {
        let mut scoreboard = sent(3);
        scoreboard.resend(0, 1_000, Some(500), true);
        scoreboard.acknowledge(1_000, &[], false, Some(100));
        assert_eq!((scoreboard.timeout, scoreboard.spurious), (0, 1));
    }

    #[test]
    fn a_dsack_shows_that_both_copies_arrived() {
        let mut scoreboard = sent(3);
        scoreboard.resend(0, 1_000, Some(500), true);
        scoreboard.acknowledge(3_000, &[], false, Some(500));
        assert_eq!((scoreboard.timeout, scoreboard.spurious), (1, 0));
        scoreboard.acknowledge(3_000, &[(0, 1_000)], true, Some(500));
        assert_eq!((scoreboard.timeout, scoreboard.spurious), (0, 1));
    }

    /// RFC 6675, section 4, by hand: of ten segments 1, 4 and 8 are missing. With the SACKs of 2, 3, 5 to 7 and 9 there
    /// are more than two segments above 1 and 4, but not above 8: 8 is in flight, and so are the copies of 1 and 4.
    #[test]
    fn each_hole_is_lost_by_what_is_above_it() {
        let mut scoreboard = sent(10);
        let blocks = [(9_000, 10_000), (5_000, 8_000), (2_000, 4_000)];
        scoreboard.acknowledge(1_000, &[], false, None);
        scoreboard.acknowledge(1_000, &blocks, true, None);
        assert_eq!(scoreboard.flight(), Flight { outstanding: 9_000, in_flight: 3_000, pipe: 1_000 });
        scoreboard.resend(1_000, 1_000, None, false);
        scoreboard.resend(4_000, 1_000, None, false);
        assert_eq!(scoreboard.flight().pipe, 3_000);
        assert!(scoreboard.recovering());
        // The copy of 4 arrives first, then that of 1.
        scoreboard.acknowledge(1_000, &[(2_000, 8_000), (9_000, 10_000)], true, None);
        assert_eq!(scoreboard.flight(), Flight { outstanding: 9_000, in_flight: 2_000, pipe: 2_000 });
        scoreboard.acknowledge(8_000, &[(9_000, 10_000)], false, None);
        assert_eq!(scoreboard.flight(), Flight { outstanding: 2_000, in_flight: 1_000, pipe: 1_000 });
        assert_eq!((scoreboard.acknowledged(), scoreboard.recovering()), (Some(8_000), true));
        scoreboard.acknowledge(10_000, &[], false, None);
        assert_eq!((scoreboard.flight(), scoreboard.recovering()), (Flight::default(), false));
    }

    /// RFC 2883, section 4, its examples: a block below the ACK, or inside the second block, reports a duplicate.
    #[test]
    fn a_duplicate_is_reported_first() {
        for (ack, blocks, report) in [
            (4_000, &[(3_500, 4_000)][..], Some((3_500, 4_000))),
            (4_000, &[(3_000, 3_500), (4_500, 5_000)], Some((3_000, 3_500))),
            (4_000, &[(5_000, 5_500), (4_500, 6_000)], Some((5_000, 5_500))),
            (4_000, &[(4_500, 5_000), (4_500, 5_000)], Some((4_500, 5_000))),
            (4_000, &[(4_500, 5_500), (4_500, 5_000)], None),
            (4_000, &[(4_000, 5_000), (4_500, 6_000)], None),
            (4_000, &[(3_500, 4_001)], None),
            (4_000, &[], None),
        ] {
            assert_eq!(repeated(ack, blocks), report, "{ack} {blocks:?}");
        }
    }

    /// A segment of 300 bytes is all that is outstanding, and the third duplicate ACK says that it was lost.
    #[test]
    fn no_more_is_lost_than_is_outstanding() {
        let mut scoreboard = sent(2);
        scoreboard.send(2_000, 300);
        scoreboard.acknowledge(2_000, &[], false, None);
        for lost in [false, false, true, true] {
            scoreboard.acknowledge(2_000, &[], true, None);
            assert_eq!(scoreboard.flight().pipe, if lost { 0 } else { 300 });
        }
    }
}
