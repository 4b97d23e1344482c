//! Transmission sessions of the flows: the progress of each, and what is kept of finished ones.
//!
//! A run may have millions of sessions. Rows are kept for a bounded random sample (algorithm R of J. S. Vitter, "Random
//! Sampling with a Reservoir", ACM TOMS 11 (1), 1985); aggregate figures count every session.

use std::collections::VecDeque;

use wifair_engine::Stream;
use wifair_metrics::FinishRatios;
use wifair_units::Time;

use super::measure::Session;

/// The most sessions of all flows together that have a row in the results, unless sessions are listed individually.
pub const MOST_SESSION_ROWS: usize = 200_000;
/// The least number of rows for one flow.
const FEWEST_OF_FLOW: usize = 100;

/// The number of sessions with a row for each of `flows` flows.
pub(super) fn rows_of_flow(flows: usize) -> usize {
    (MOST_SESSION_ROWS / flows.max(1)).max(FEWEST_OF_FLOW)
}

/// Sessions that one connection carries in order, and their progress.
#[derive(Debug, Default)]
pub(super) struct SessionProgress {
    pub(super) due: VecDeque<Session>,
    sent: usize,
    received: usize,
    acknowledged: usize,
    /// Bytes supplied by the application up to now.
    supplied: u64,
}

impl SessionProgress {
    /// Adds a session of `length` bytes that was scheduled for `start`.
    pub(super) fn begin(&mut self, start: Time, length: u64) {
        self.supplied += length;
        self.due.push_back(Session {
            start,
            length,
            end: self.supplied,
            sent: Time::NEVER,
            received: Time::NEVER,
            acknowledged: Time::NEVER,
        });
    }

    /// Records how many bytes of the stream have been sent and acknowledged.
    #[inline(never)]
    pub(super) fn follow_sender(&mut self, now: Time, sent: u64, acknowledged: u64) {
        while let Some(session) = self.due.get_mut(self.sent)
            && session.end <= sent
        {
            session.sent = now;
            self.sent += 1;
        }
        while let Some(session) = self.due.get_mut(self.acknowledged)
            && session.end <= acknowledged
        {
            session.acknowledged = now;
            self.acknowledged += 1;
        }
    }

    /// Records how many bytes of the stream the receiver has handed to the application. Returns whether this completes
    /// a session.
    pub(super) fn follow_receiver(&mut self, now: Time, received: u64) -> bool {
        let before = self.received;
        while let Some(session) = self.due.get_mut(self.received)
            && session.end <= received
        {
            session.received = now;
            self.received += 1;
        }
        self.received > before
    }

    /// Removes the finished sessions.
    pub(super) fn take_finished(&mut self) -> impl Iterator<Item = Session> {
        let over = self.sent.min(self.received).min(self.acknowledged);
        self.sent -= over;
        self.received -= over;
        self.acknowledged -= over;
        self.due.drain(..over)
    }
}

/// Aggregate figures of sessions, which must be added in the order of their starts.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    /// Bytes of all sessions.
    pub(super) bytes: u64,
    /// Time in which at least one session was active [s].
    pub(super) active_s: f64,
    /// The end of that time up to now.
    until: Time,
    /// The number of sessions that began after the warm-up.
    pub(super) measured: u64,
    /// Finish ratios of these sessions, by time to send and by time to acknowledgement.
    pub(super) ratios: [FinishRatios; 2],
}

impl Tally {
    /// Adds a session of a run that measures from `warm_up` to `now`; a fair share is `share` bytes per second.
    #[allow(clippy::cast_precision_loss)]
    pub(super) fn add(&mut self, session: &Session, warm_up: Time, now: Time, share: f64) {
        self.bytes += session.length;
        let (from, to) = (session.start.max(self.until).max(warm_up), session.acknowledged.min(now));
        self.active_s += to.saturating_since(from).nearest_secs();
        self.until = self.until.max(session.acknowledged);
        if session.start >= warm_up {
            self.measured += 1;
            for (ratios, end) in self.ratios.iter_mut().zip([session.sent, session.acknowledged]) {
                ratios.add(session.length as f64, session.after(end), share);
            }
        }
    }
}

/// A uniform random sample of rows.
#[derive(Clone, Debug)]
struct Reservoir {
    rows: Vec<Session>,
    most: usize,
    seen: u64,
    draws: Stream,
}

impl Reservoir {
    #[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)]
    fn add(&mut self, session: Session) {
        self.seen += 1;
        if self.rows.len() < self.most {
            self.rows.push(session);
        } else {
            let place = (self.draws.uniform() * self.seen as f64) as usize;
            if let Some(row) = self.rows.get_mut(place) {
                *row = session;
            }
        }
    }
}

/// Sessions of a flow that are no longer held by a connection.
#[derive(Debug)]
pub(super) struct SessionLog {
    /// Sessions that may have started after one that is still active, in no particular order.
    recent: Vec<Session>,
    /// The number of recent sessions at which the older ones are moved to the tally.
    full: usize,
    /// Sums over all earlier sessions, for a fair share of one byte per second.
    older: Tally,
    /// Rows sampled from these earlier sessions.
    sample: Reservoir,
}

impl SessionLog {
    /// Keeps rows of at most `most` sessions, drawn from `draws`.
    pub(super) fn new(most: usize, draws: Stream) -> Self {
        let sample = Reservoir { rows: vec![], most, seen: 0, draws };
        Self { recent: vec![], full: most.saturating_mul(2), older: Tally::default(), sample }
    }

    pub(super) fn extend(&mut self, sessions: impl IntoIterator<Item = Session>) {
        self.recent.extend(sessions);
    }

    /// Whether older sessions must be moved to the tally.
    pub(super) fn is_full(&self) -> bool {
        self.recent.len() >= self.full
    }

    /// Moves the sessions that began before `oldest` from `recent` to the tally and the sample; all of these must be
    /// finished. `live` is the number of sessions held elsewhere.
    pub(super) fn tally_older(&mut self, oldest: Time, warm_up: Time, live: usize) {
        self.recent.sort_by_key(|session| (session.start, session.end));
        let over = self.recent.partition_point(|session| session.start < oldest);
        for session in self.recent.drain(..over) {
            self.older.add(&session, warm_up, Time::NEVER, 1.0);
            if session.start >= warm_up {
                self.sample.add(session);
            }
        }
        // Chosen so that every session is examined twice on average.
        self.full = 2 * self.sample.most.max(self.recent.len()).max(live);
    }

    /// The tally of all sessions, including `live`, and rows of a bounded number, in the order of their starts.
    pub(super) fn report(
        &self,
        live: impl IntoIterator<Item = Session>,
        (warm_up, now): (Time, Time),
        share: f64,
    ) -> (Tally, Vec<Session>) {
        let mut all: Vec<Session> = self.recent.iter().copied().chain(live).collect();
        all.sort_by_key(|session| (session.start, session.end));
        let mut tally = self.older;
        tally.ratios.iter_mut().for_each(|ratios| ratios.scale(1.0 / share));
        let mut sample = self.sample.clone();
        for session in all {
            tally.add(&session, warm_up, now, share);
            if session.start >= warm_up {
                sample.add(session);
            }
        }
        sample.rows.sort_by_key(|session| (session.start, session.end));
        (tally, sample.rows)
    }

    /// Memory of the log [B].
    pub(super) fn bytes(&self) -> usize {
        size_of::<Session>() * (self.recent.capacity() + self.sample.rows.capacity())
    }
}

#[cfg(test)]
mod tests {
    use wifair_engine::stream;
    use wifair_units::Duration;

    use super::*;

    fn session(start_ms: u64, took_ms: u64) -> Session {
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        let end = at(start_ms + took_ms);
        Session { start: at(start_ms), length: 1000, end: 0, sent: end, received: end, acknowledged: end }
    }

    /// The tally does not depend on the portions in which sessions are moved to it.
    #[test]
    fn the_tally_does_not_depend_on_portions() {
        let all: Vec<Session> = (0..5000).map(|n| session(n * 7, 1 + n * n % 40)).collect();
        let (warm_up, now) = (Time::ZERO + Duration::from_secs(3), Time::ZERO + Duration::from_secs(100));
        let (whole, _) = SessionLog::new(usize::MAX, stream(1, "a", "b")).report(all.clone(), (warm_up, now), 500.0);
        let mut log = SessionLog::new(100, stream(1, "a", "b"));
        for portion in all.chunks(333) {
            log.extend(portion.iter().rev().copied());
            if log.is_full() {
                log.tally_older(portion[300].start, warm_up, 0);
            }
        }
        let (tally, rows) = log.report([], (warm_up, now), 500.0);
        assert_eq!((tally.bytes, tally.measured), (5_000_000, whole.measured));
        assert!((tally.active_s - whole.active_s).abs() < 1e-9);
        assert_eq!(tally.ratios[1].finished, whole.ratios[1].finished);
        assert!((tally.ratios[1].index() / whole.ratios[1].index() - 1.0).abs() < 1e-12);
        assert_eq!(rows.len(), 100);
        assert!(rows.windows(2).all(|pair| pair[0].start <= pair[1].start));
        assert!(log.bytes() < 2000 * size_of::<Session>());
    }

    /// Of 1,000 sessions 100 are drawn, 400 times: each is drawn 40 times on average, with a standard deviation of 6.
    #[test]
    fn each_session_is_as_likely_to_have_a_row() {
        let mut drawn = [0_u32; 10];
        for seed in 0..400 {
            let log = SessionLog::new(100, stream(seed, "a", "b"));
            let (_, rows) = log.report((0..1000).map(|n| session(n, 1)), (Time::ZERO, Time::NEVER), 1.0);
            for row in rows {
                drawn[(row.start.as_nanos() / 100_000_000) as usize] += 1;
            }
        }
        // 4,000 draws in each tenth; the standard deviation of a binomial of 40,000 is 60.
        assert!(drawn.iter().all(|count| count.abs_diff(4000) < 240), "{drawn:?}");
    }
}
