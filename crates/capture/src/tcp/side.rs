//! One direction of a connection: what one end sent, and what the other end acknowledged.

use super::SequenceSpace;
use super::acc_ecn::AccEcnReports;
use super::history::{History, seconds};
use super::messages::Messages;
use super::observed_scoreboard::ObservedScoreboard;

/// How many segments' IP identifications are remembered, to detect duplicates made by the capturing hardware; the
/// number is tcptrace's.
const REMEMBERED: usize = 8;

/// The most sessions kept individually.
const MOST_SESSIONS: usize = 4_096;

/// Running statistics of durations, in ns.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Spread {
    /// The number of durations.
    pub count: u64,
    /// Their sum.
    pub sum: f64,
    /// Sum of their squares.
    pub squares: f64,
    /// The shortest.
    pub min: u64,
    /// The longest.
    pub max: u64,
}

impl Spread {
    #[inline]
    pub(crate) fn add(&mut self, nanos: u64) {
        self.min = if self.count == 0 { nanos } else { self.min.min(nanos) };
        self.max = self.max.max(nanos);
        self.count += 1;
        let value = nanos.cast_signed() as f64;
        self.sum += value;
        self.squares += value * value;
    }

    /// The shortest, in s.
    pub(crate) fn shortest(&self) -> Option<f64> {
        (self.count > 0).then_some(seconds(self.min))
    }

    /// The mean, in s.
    pub(crate) fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64 / 1e9)
    }

    /// The longest, in s.
    pub(crate) fn longest(&self) -> Option<f64> {
        (self.count > 0).then_some(seconds(self.max))
    }

    /// The standard deviation (with n - 1), in s.
    pub(crate) fn deviation(&self) -> Option<f64> {
        let n = self.count as f64;
        (self.count > 1).then(|| ((self.squares - self.sum * self.sum / n) / (n - 1.0)).max(0.0).sqrt() / 1e9)
    }
}

/// The direction of data, seen from the stations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StationDirection {
    /// From a station.
    Up,
    /// To a station.
    Down,
}

impl StationDirection {
    /// `up` or `down`.
    pub(crate) fn name(self) -> &'static str {
        if self == Self::Up { "up" } else { "down" }
    }
}

/// A transmission session: data sent without a pause (Jung and Park 2016, section 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransmissionSession {
    /// When its first byte was sent, in ns.
    pub start: u64,
    /// New bytes in it.
    pub bytes: u64,
    /// When its last new byte was sent, in ns.
    pub sent: u64,
    /// When all of it was acknowledged, in ns.
    pub acked: Option<u64>,
}

/// The sessions of one direction.
#[derive(Clone, Debug, Default)]
pub(crate) struct SideSessions {
    /// The first [`MOST_SESSIONS`] sessions without the current one.
    pub(crate) ended: Vec<TransmissionSession>,
    pub(crate) current: Option<TransmissionSession>,
    /// Sessions that were not kept.
    pub(crate) dropped: u64,
}

impl SideSessions {
    fn end(&mut self) {
        if let Some(session) = self.current.take() {
            if self.ended.len() < MOST_SESSIONS {
                self.ended.push(session);
            } else {
                self.dropped += 1;
            }
        }
    }
}

/// What limited a sender: time in ns by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SenderLimits {
    pub(crate) application: u64,
    pub(crate) receiver: u64,
    pub(crate) congestion: u64,
    /// The cause cannot be determined at the capture point.
    pub(crate) unknown: u64,
}

impl SenderLimits {
    /// Whether the sender was limited by the application for longer than by everything else.
    pub(crate) fn application_dominates(&self) -> bool {
        self.application > self.receiver.saturating_add(self.congestion).saturating_add(self.unknown)
    }

    /// The share of `part` in all of the time.
    pub(crate) fn share(&self, part: u64) -> Option<f64> {
        let all = self.application as f64 + self.receiver as f64 + self.congestion as f64 + self.unknown as f64;
        (all > 0.0).then(|| part as f64 / all)
    }
}

/// Outstanding data over time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Area {
    since: u64,
    outstanding: u64,
    in_flight: u64,
    /// Time integrals, in byte ns.
    pub(crate) outstanding_sum: f64,
    pub(crate) in_flight_sum: f64,
    pub(crate) nanos: u64,
    pub(crate) outstanding_max: u64,
    pub(crate) in_flight_max: u64,
}

impl Area {
    #[inline]
    pub(crate) fn set(&mut self, nanos: u64, outstanding: u64, in_flight: u64) {
        if self.outstanding > 0 {
            // Convert as signed numbers, which takes a single instruction.
            let span = nanos.saturating_sub(self.since).cast_signed() as f64;
            self.outstanding_sum += self.outstanding.cast_signed() as f64 * span;
            self.in_flight_sum += self.in_flight.cast_signed() as f64 * span;
        }
        self.nanos = nanos;
        self.since = self.since.max(nanos);
        self.outstanding = outstanding;
        self.in_flight = in_flight;
        self.outstanding_max = self.outstanding_max.max(outstanding);
        self.in_flight_max = self.in_flight_max.max(in_flight);
    }
}

/// All statistics of one direction. Where the definition is tcptrace's, so is the name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Side {
    pub(crate) space: SequenceSpace,
    pub(crate) history: History,
    pub(crate) scoreboard: ObservedScoreboard,

    pub(crate) packets: u64,
    pub(crate) wire_bytes: u64,
    pub(crate) first: u64,
    pub(crate) last: u64,
    pub(crate) idle_max_us: f64,
    /// A lower bound in ns: shorter idle times cannot be the longest.
    pub(crate) idle_floor: u64,

    pub(crate) syns: u64,
    pub(crate) fins: u64,
    pub(crate) resets: u64,
    pub(crate) acks: u64,
    pub(crate) pure_acks: u64,
    pub(crate) syn: Option<i64>,
    pub(crate) fin: i64,
    /// The offset after the latest segment.
    pub(crate) latest: i64,

    pub(crate) sack_option_packets: u64,
    pub(crate) sack_acks: u64,
    pub(crate) dsacks: u64,
    pub(crate) most_blocks: u8,
    pub(crate) scaling: bool,
    pub(crate) scale: u8,
    pub(crate) timestamps: bool,
    pub(crate) sack_permitted: bool,
    pub(crate) mss: u16,

    pub(crate) unique_bytes: u64,
    pub(crate) data_packets: u64,
    pub(crate) data_bytes: u64,
    pub(crate) pushed: u64,
    pub(crate) urgent_packets: u64,
    pub(crate) urgent_bytes: u64,
    pub(crate) largest: u32,
    /// Largest payload of a segment with neither PSH nor FIN, behind which more data was waiting.
    pub(crate) largest_unpushed: u32,
    pub(crate) messages: Messages,
    pub(crate) smallest: u32,
    pub(crate) first_data: u64,
    pub(crate) last_data: u64,
    pub(crate) truncated_bytes: u64,
    pub(crate) truncated_packets: u64,
    pub(crate) again_packets: u64,
    pub(crate) again_bytes: u64,
    pub(crate) out_of_order: u64,
    pub(crate) probe_packets: u64,
    pub(crate) probe_bytes: u64,

    pub(crate) window_last: u64,
    pub(crate) window_max: u64,
    pub(crate) window_min: u64,
    pub(crate) window_sum: u64,
    pub(crate) window_zero: u64,
    /// Packets that count for the mean window; `None` until windows are known to be scaled.
    pub(crate) scaled_packets: Option<u64>,

    /// Highest offset of the other end's data that this one acknowledged, in that end's space; its SYN sets it too.
    pub(crate) ack_sent: Option<i64>,
    /// Whether the other end has acknowledged data.
    pub(crate) data_acked: bool,
    pub(crate) initial_bytes: u64,
    pub(crate) initial_packets: u64,

    pub(crate) owin_max: u64,
    pub(crate) owin_min: u64,
    pub(crate) owin_sum: u64,
    pub(crate) owin_count: u64,
    pub(crate) owin_weighted: i64,
    pub(crate) owin_last: Option<(u64, u64)>,

    pub(crate) handshake_us: f64,
    pub(crate) hardware: Hardware,

    /// Round-trip times by the capture's clock.
    pub(crate) rtt: Spread,
    /// Round-trip times from the capture point to this end, measured from its echoes of the other end's timestamps (RFC
    /// 7323); they include the wait until this end sends something.
    pub(crate) echo_rtt: Spread,
    /// The most packets that this end sent between a timestamp and its echo: they waited before the echo.
    pub(crate) echo_queue: u64,
    /// A timestamp of this end that the other one has not yet echoed, when it passed, and how many packets the other
    /// end had sent by then.
    stamped: Option<(u32, u64, u64)>,
    /// Smoothed round-trip time and its variation (RFC 6298), in ns.
    pub(crate) srtt: f64,
    pub(crate) rttvar: f64,
    pub(crate) window_probes: u64,
    pub(crate) keep_alives: u64,
    /// Those with a byte that was seen before.
    pub(crate) keep_alives_again: u64,
    pub(crate) acc_ecn: AccEcnReports,
    /// Total time with a zero advertised window, and the start of the current such period.
    pub(crate) zero_nanos: u64,
    pub(crate) zero_since: Option<u64>,

    pub(crate) area: Area,
    pub(crate) limits: SenderLimits,
    pub(crate) sessions: SideSessions,
    /// The right edge of the other end's window, if its scale is known.
    pub(crate) allowed: Option<i64>,
    /// Whether the window had no room for another segment after the last data.
    pub(crate) blocked: bool,
    /// Whether the last data was less than a full segment.
    pub(crate) short: bool,
    /// Whether the data sent ends with less than a full segment, which is probably the end of an application write.
    pub(crate) ends_short: bool,
    /// Whether it ends with PSH, which says that nothing was left in the sender's buffer.
    pub(crate) ends_pushed: bool,
    /// When the other end's last ACK came.
    pub(crate) acked_at: Option<u64>,
    /// When a FIN or RST ended this direction.
    pub(crate) ended: Option<u64>,
    /// Whether the last segment with data was a pure retransmission.
    pub(crate) repeats: bool,
    /// Since when all data sent has been acknowledged.
    pub(crate) clear_since: Option<u64>,
    pub(crate) idle_periods: u64,
    pub(crate) idle_nanos: u64,
    /// New bytes per time bin.
    pub(crate) bins: Bins,
    /// Its direction seen from the stations, if 802.11 headers show it.
    pub(crate) way: Option<StationDirection>,
}

/// IP identifications of the last segments.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Hardware {
    /// Sequence number and identification packed into one word.
    seen: [u64; REMEMBERED],
    next: usize,
    pub(crate) duplicates: u64,
}

impl Hardware {
    /// Records a segment: if sequence number and IP identification repeat, it is one segment captured twice.
    #[inline]
    pub(crate) fn note(&mut self, seq: u32, id: u16) {
        let both = u64::from(seq) << 16 | u64::from(id);
        if seq != 0 && id != 0 && self.seen.iter().fold(false, |any, there| any | (*there == both)) {
            self.duplicates += 1;
            return;
        }
        self.seen[self.next] = both;
        self.next = (self.next + 1) % REMEMBERED;
    }
}

/// Bytes per time bin, from the first bin with any.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bins {
    pub(crate) first: usize,
    pub(crate) bytes: Vec<u64>,
}

impl Bins {
    #[inline]
    pub(crate) fn add(&mut self, bin: usize, bytes: u64) {
        if self.bytes.is_empty() {
            self.first = bin;
        }
        if let Some(at) = bin.checked_sub(self.first) {
            if let Some(there) = self.bytes.get_mut(at) {
                *there += bytes;
            } else {
                self.bytes.resize(at, 0);
                self.bytes.push(bytes);
            }
        } else {
            // Time went back.
            self.bytes.splice(0..0, std::iter::repeat_n(0, self.first - bin));
            self.first = bin;
            self.bytes[0] = bytes;
        }
    }

    /// The bytes in a bin.
    pub(crate) fn at(&self, bin: usize) -> u64 {
        bin.checked_sub(self.first).and_then(|at| self.bytes.get(at)).copied().unwrap_or(0)
    }

    /// Halves the resolution: merges pairs of bins.
    pub(crate) fn halve(&mut self) {
        if self.bytes.is_empty() {
            return;
        }
        let odd = self.first % 2;
        let last = (self.first + self.bytes.len() - 1) / 2;
        let first = self.first / 2;
        for at in 0..=last - first {
            let left = (2 * at).checked_sub(odd).map_or(0, |i| self.bytes[i]);
            let right = self.bytes.get(2 * at + 1 - odd).copied().unwrap_or(0);
            self.bytes[at] = left + right;
        }
        self.bytes.truncate(last - first + 1);
        self.first = first;
    }
}

impl Side {
    /// The mean window advertised over packets, cut.
    pub(crate) fn mean_window(&self) -> u64 {
        let counted = self.scaled_packets.unwrap_or(self.packets);
        if self.acks == 0 { 0 } else { self.window_sum.checked_div(counted).unwrap_or(0) }
    }

    /// FIN less SYN by sequence numbers.
    pub(crate) fn stream_length(&self) -> Option<i64> {
        let end = if self.resets > 0 { self.latest } else { self.fin };
        self.syn.filter(|_| self.fins > 0).map(|syn| end - syn - 1)
    }

    /// The mean over time, from the first data on, of something summed over ns.
    pub(crate) fn over_time(&self, sum: f64) -> Option<f64> {
        let lasting = self.area.nanos.saturating_sub(self.first_data) as f64;
        (self.data_packets > 0 && lasting > 0.0).then(|| sum / lasting)
    }

    /// Records a timestamp that this end sent, when the other one had sent `packets`.
    #[inline]
    pub(crate) fn stamp(&mut self, value: u32, nanos: u64, packets: u64) {
        if self.stamped.is_none() {
            self.stamped = Some((value, nanos, packets));
        }
    }

    /// Handles an echo of this end's timestamp. If it is the awaited one, returns the time since the timestamp itself
    /// passed, and how many packets the other end had sent by then.
    #[inline]
    pub(crate) fn echoed(&mut self, echo: u32, nanos: u64) -> Option<(u64, u64)> {
        let (value, passed, packets) = self.stamped?;
        if echo.wrapping_sub(value).cast_signed() < 0 {
            return None;
        }
        self.stamped = None;
        (echo == value).then(|| (nanos.saturating_sub(passed), packets))
    }

    /// The retransmission timeout of RFC 6298, at least 200 ms (as in Linux); 1 s before the first sample.
    pub(crate) fn timeout(&self) -> f64 {
        if self.rtt.count == 0 { 1e9 } else { (self.srtt + 4.0 * self.rttvar).max(200e6) }
    }

    #[inline]
    pub(crate) fn sample(&mut self, nanos: u64) {
        let sample = nanos.cast_signed() as f64;
        if self.rtt.count == 0 {
            self.srtt = sample;
            self.rttvar = sample / 2.0;
        } else {
            self.rttvar = 0.75 * self.rttvar + 0.25 * (self.srtt - sample).abs();
            self.srtt = 0.875 * self.srtt + 0.125 * sample;
        }
        self.rtt.add(nanos);
    }

    /// Handles a pure retransmission: until now the sender was waiting for an ACK, perhaps one that passed the capture
    /// point and was lost beyond it.
    #[inline]
    pub(crate) fn wait_for_repair(&mut self, nanos: u64) {
        let wait = nanos.saturating_sub(self.last_data);
        self.limits.congestion = self.limits.congestion.saturating_add(wait);
    }

    /// Whether the capture point sees everything that this end sends; `turn` is the round-trip time between the two. If
    /// holes were filled it does not: the capture point then lies behind a queue, such as that of the sender's own
    /// interface, which drops and delays segments.
    pub(crate) fn sends_near(&self, turn: Option<f64>) -> bool {
        is_near(turn) && self.out_of_order == 0
    }

    /// Reattributes the time that was attributed to the application while the capture point seemed to be near.
    pub(crate) fn doubt_what_was_near(&mut self) {
        self.limits.unknown = self.limits.unknown.saturating_add(std::mem::take(&mut self.limits.application));
    }

    /// Whether it sent data before `other` did.
    pub(crate) fn speaks_before(&self, other: &Self) -> bool {
        self.data_packets > 0 && (other.data_packets == 0 || self.first_data < other.first_data)
    }

    /// Handles new data: attributes the time since the last data to the cause of the sender's wait.
    #[inline]
    pub(crate) fn judge_wait(&mut self, nanos: u64, pause: u64, unique: u64, seen: &PathView) {
        let (previous, turn) = (self.last_data, seen.turn);
        if self.data_packets == 0 {
            self.messages.add(unique, true, false, seen.full);
            self.sessions.current = Some(TransmissionSession { start: nanos, bytes: unique, sent: nanos, acked: None });
            return;
        }
        let wait = nanos.saturating_sub(previous);
        let clear = self.scoreboard.outstanding() == 0;
        // A response to an ACK arrives within the round-trip time to the sender or, if paced, half a round-trip time
        // later. A short segment was all that the application had written: more data follows at once or with a new
        // write.
        let slack = (self.srtt * if self.short { 0.125 } else { 0.5 }).max(2e6);
        let near = self.sends_near(turn);
        let turn = turn.unwrap_or(0.0);
        let before = self.limits.application;
        let answers = self.acked_at.is_some_and(|at| nanos.saturating_sub(at).cast_signed() as f64 <= turn + slack);
        // Everything had arrived and the buffer was empty, for so long that the sender knew: a request after the answer
        // to the one before, for example.
        let half = (seen.path / 2.0).max(2e6);
        let is_long = wait.cast_signed() as f64 >= half;
        let written_later = self.ends_short && clear && is_long;
        let limit = if self.blocked {
            &mut self.limits.receiver
        } else if written_later {
            &mut self.limits.application
        } else if answers || (!clear && self.scoreboard.recovering()) || wait.cast_signed() as f64 <= slack {
            &mut self.limits.congestion
        } else if self.ends_short || near && (clear || self.ends_pushed) {
            &mut self.limits.application
        } else if near {
            // A full segment that is not pushed has more behind it: a sender that spaces its segments (pacing).
            &mut self.limits.congestion
        } else {
            // Far from the sender, segments or ACKs may have been lost where the capture does not see it.
            &mut self.limits.unknown
        };
        // Corrupt time stamps can be centuries apart.
        *limit = limit.saturating_add(wait);
        let begins = self.limits.application > before;
        self.messages.add(unique, begins, is_long, seen.full);
        if wait >= pause && clear && !self.blocked {
            self.idle_periods += 1;
            let idle = nanos.saturating_sub(self.clear_since.unwrap_or(previous).max(previous));
            self.idle_nanos = self.idle_nanos.saturating_add(idle);
            self.sessions.end();
        }
        match &mut self.sessions.current {
            Some(session) => {
                session.bytes += unique;
                session.sent = nanos;
                session.acked = None;
            }
            none => *none = Some(TransmissionSession { start: nanos, bytes: unique, sent: nanos, acked: None }),
        }
    }
}

/// What the capture point knows of the path of a direction.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PathView {
    /// Shortest round-trip time in ns from the capture point to the sender, if known.
    pub(crate) turn: Option<f64>,
    /// Shortest round-trip time in ns of the whole path; zero if unknown.
    pub(crate) path: f64,
    /// Payload of a full segment, if there was one.
    pub(crate) full: Option<u32>,
}

/// Whether the capture point is so close to an end that it sees everything which this end sends and receives: the
/// round-trip time `turn` between them is below half a millisecond, so there is no radio in between.
pub(crate) fn is_near(turn: Option<f64>) -> bool {
    turn.is_some_and(|turn| turn < 500e3)
}

#[cfg(test)]
mod tests {
    use super::{Bins, Hardware, Side, Spread};

    #[test]
    fn bins_keep_their_sum_when_halved() {
        for first in 0..3 {
            let mut bins = Bins::default();
            for (at, bytes) in [(first + 2, 5), (first + 5, 7), (first, 1), (first + 5, 2)] {
                bins.add(at, bytes);
            }
            let whole: Vec<u64> = (0..10).map(|at| at_bin(&bins, at)).collect();
            bins.halve();
            for at in 0..5 {
                assert_eq!(at_bin(&bins, at), whole[2 * at] + whole[2 * at + 1], "from {first}");
            }
        }
    }

    /// By hand: 2, 4 and 9 ns deviate by 3, 1 and 4 from their mean, so the variance is 26 / 2.
    #[test]
    fn the_deviation_is_that_of_a_sample() {
        let mut spread = Spread::default();
        for (nanos, deviation) in [(2, None), (4, Some(2.0_f64.sqrt())), (9, Some(13.0_f64.sqrt()))] {
            spread.add(nanos);
            assert_eq!(spread.deviation(), deviation.map(|nanos: f64| nanos / 1e9));
        }
    }

    /// RFC 6298, section 2, by hand in ms: the first sample of 100 gives a deviation of 50, so RTO is 300. A sample of
    /// 140 makes them 0.75 * 50 + 0.25 * 40 = 47.5 and 0.875 * 100 + 0.125 * 140 = 105, so RTO is 295.
    #[test]
    fn the_timeout_follows_rfc_6298() {
        let mut side = Side::default();
        assert_eq!(side.timeout(), 1e9);
        for (sample, timeout) in [(100_000_000, 300e6), (140_000_000, 295e6)] {
            side.sample(sample);
            assert_eq!(side.timeout(), timeout);
        }
    }

    /// A segment captured twice has the identification of one of the last eight; the ninth after it is no longer known.
    #[test]
    fn the_last_eight_segments_are_known() {
        let mut hardware = Hardware::default();
        for (id, duplicates) in [(1, 0), (1, 1), (2, 1), (3, 1), (1, 2), (4, 2), (5, 2), (6, 2), (7, 2), (8, 2), (1, 3)]
        {
            hardware.note(1_000, id);
            assert_eq!(hardware.duplicates, duplicates, "{id}");
        }
        for (id, duplicates) in [(9, 3), (2, 4), (1, 4)] {
            hardware.note(1_000, id);
            assert_eq!(hardware.duplicates, duplicates, "{id}");
        }
    }

    fn at_bin(bins: &Bins, at: usize) -> u64 {
        at.checked_sub(bins.first).and_then(|at| bins.bytes.get(at)).copied().unwrap_or(0)
    }
}
