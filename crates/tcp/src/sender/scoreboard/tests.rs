//! The scoreboard compared with a plain list of segments, searched from end to end exactly as RFC 6675, section 4, and
//! RFC 8985, section 6.2, describe.

use proptest::prelude::*;

use super::*;

const MSS: u64 = 1000;
const MIN_RTT: Duration = Duration::from_millis(40);
const SRTT: Duration = Duration::from_millis(60);
const THRESHOLD: u32 = 3;

#[derive(Clone, Copy, Debug, Default)]
struct ModelEntry {
    start: u64,
    end: u64,
    sent: Time,
    sacked: bool,
    lost: bool,
    retransmitted: bool,
    ever_retransmitted: bool,
    /// Lost twice, then forgiven as spurious: only a timeout detects it, as in Linux.
    left: bool,
}

/// The state of RFC 8985, under its names.
#[derive(Clone, Debug, Default)]
struct List {
    entries: Vec<ModelEntry>,
    by_time: bool,
    xmit: (Time, u64),
    rtt: Duration,
    fack: u64,
    reordering_seen: bool,
    reorderings: u64,
    degree: u64,
    extra_quarters: u32,
    persist: u32,
    dsack_round: u64,
}

/// What an ACK delivered: bytes, segments by SACK, first and last transmission time of segments sent once, and the end
/// of the lowest such segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Told {
    bytes: u64,
    sacked: u32,
    first_sent: Option<Time>,
    last_sent: Option<Time>,
    once: Option<u64>,
    repaired: bool,
    reordered: bool,
}

impl List {
    fn sum(&self, which: impl Fn(&ModelEntry) -> bool) -> u64 {
        self.entries.iter().filter(|e| which(e)).map(|e| e.end - e.start).sum()
    }

    /// RFC 6675, section 4, SetPipe.
    fn pipe(&self) -> u64 {
        self.sum(|e| !e.sacked && !e.lost) + self.sum(|e| e.retransmitted)
    }

    fn deliver(&mut self, now: Time, entry: ModelEntry, echo: Option<u32>, told: &mut Told) {
        told.bytes += entry.end - entry.start;
        if !entry.ever_retransmitted {
            told.first_sent = Some(told.first_sent.map_or(entry.sent, |t| t.min(entry.sent)));
            told.last_sent = Some(told.last_sent.map_or(entry.sent, |t| t.max(entry.sent)));
            told.once = Some(told.once.map_or(entry.end, |end| end.min(entry.end)));
        }
        // RFC 8985, section 6.2, step 2.
        let rtt = now.saturating_since(entry.sent);
        let early_echo = echo.is_some_and(|echo| echo.wrapping_sub(clock(entry.sent)).cast_signed() < 0);
        if !(entry.ever_retransmitted && (rtt < MIN_RTT || early_echo)) {
            self.rtt = rtt;
            self.xmit = self.xmit.max((entry.sent, entry.end));
        }
        // Step 3.
        if entry.end > self.fack {
            self.fack = entry.end;
        } else if !entry.ever_retransmitted {
            self.reordering_seen = true;
            self.reorderings += u64::from(!told.reordered);
            told.reordered = true;
            self.degree = self.degree.max((self.fack - entry.start).div_ceil(MSS));
        }
    }

    fn acknowledge(&mut self, now: Time, una: u64, echo: Option<u32>, told: &mut Told) {
        while let Some(&entry) = self.entries.first().filter(|e| e.end <= una) {
            told.repaired |= entry.ever_retransmitted;
            if !entry.sacked {
                self.deliver(now, entry, echo, told);
            }
            self.entries.remove(0);
        }
        if let Some(entry) = self.entries.first_mut().filter(|e| e.start < una) {
            told.bytes += if entry.sacked { 0 } else { una - entry.start };
            entry.start = una;
        }
    }

    fn sack(&mut self, now: Time, start: u64, end: u64, echo: Option<u32>, told: &mut Told) {
        for i in 0..self.entries.len() {
            let entry = self.entries[i];
            if entry.start >= start && entry.end <= end && !entry.sacked {
                self.deliver(now, entry, echo, told);
                told.sacked += 1;
                self.entries[i] = ModelEntry { sacked: true, lost: false, retransmitted: false, ..entry };
            }
        }
    }

    /// RFC 6675, section 4, IsLost, by segments.
    fn mark_lost_below(&mut self) -> u32 {
        let mut newly = 0;
        for i in 0..self.entries.len() {
            let above = self.entries[i..].iter().filter(|e| e.sacked).count();
            let entry = &mut self.entries[i];
            if above >= THRESHOLD as usize && !entry.sacked && !entry.lost && !entry.retransmitted {
                entry.lost = true;
                newly += 1;
            }
        }
        newly
    }

    /// RFC 8985, section 6.2, steps 4 and 5.
    fn mark_lost_by_time(&mut self, now: Time, in_recovery: bool) -> (u32, Time) {
        let sacked = self.entries.iter().filter(|e| e.sacked).count();
        let none = !self.reordering_seen && (in_recovery || sacked >= THRESHOLD as usize);
        let window = (MIN_RTT * u64::from(1 + self.extra_quarters) / 4).min(SRTT);
        let wait = self.rtt + if none { Duration::ZERO } else { window };
        let (mut newly, mut next) = (0, Time::NEVER);
        for entry in &mut self.entries {
            if entry.sacked
                || entry.left
                || (entry.lost && !entry.retransmitted)
                || (entry.sent, entry.end) >= self.xmit
            {
                continue;
            }
            if entry.sent + wait <= now {
                (entry.lost, entry.retransmitted) = (true, false);
                newly += 1;
            } else {
                next = next.min(entry.sent + wait);
            }
        }
        (newly, next)
    }

    fn lowest(&self, which: impl Fn(&ModelEntry) -> bool) -> Option<(u64, u64)> {
        self.entries.iter().find(|e| which(e)).map(|e| (e.start, e.end - e.start))
    }

    /// RFC 6675, section 4, NextSeg, rule 3.
    fn suspect(&self) -> Option<(u64, u64)> {
        let highest = self.entries.iter().filter(|e| e.sacked).map(|e| e.end).max()?;
        self.lowest(|e| !e.sacked && !e.lost && !e.retransmitted && e.end < highest)
    }

    fn retransmit(&mut self, now: Time, start: u64) {
        let entry = self.entries.iter_mut().find(|e| e.start == start).expect("a segment starts here");
        (entry.sent, entry.retransmitted, entry.ever_retransmitted, entry.left) = (now, true, true, false);
    }

    fn on_timeout(&mut self, now: Time) {
        let taken_back = self.entries.first().is_some_and(|e| e.sacked);
        if taken_back {
            self.entries.iter_mut().for_each(|e| e.sacked = false);
        }
        let (late, by_time) = (self.rtt, self.by_time);
        for (i, entry) in self.entries.iter_mut().enumerate() {
            if !entry.sacked && (!by_time || taken_back || i == 0 || entry.sent + late <= now) {
                (entry.lost, entry.retransmitted) = (true, false);
            }
        }
    }
}

/// Both scoreboards, and the state of the stream.
struct Pair {
    board: Scoreboard,
    list: List,
    now: Time,
    una: u64,
    max: u64,
    /// Whether losses were forgiven, which ends recovery. Transmissions beyond the losses (RFC 6675) happen in recovery
    /// only.
    forgiven: bool,
}

impl Pair {
    fn new(by_time: bool, timestamps: bool) -> Self {
        Self {
            board: Scoreboard::new(MSS, by_time, false, timestamps),
            list: List { by_time, ..List::default() },
            now: Time::ZERO + Duration::from_millis(500),
            una: 0,
            max: 0,
            forgiven: false,
        }
    }

    fn push(&mut self, len: u64) {
        let start = self.max;
        self.max += len;
        self.board.push(self.now, self.max, len, 1);
        self.list.entries.push(ModelEntry { start, end: self.max, sent: self.now, ..ModelEntry::default() });
    }

    /// An ACK up to `una` with one block, or none if it is empty.
    fn ack(&mut self, mut una: u64, block: (u64, u64), echo: Option<u32>, in_recovery: bool) {
        // The first missing segment lies behind the ACK only if the receiver reneges.
        while let Some(entry) = self.list.entries.iter().find(|e| self.list.by_time && e.sacked && e.start == una) {
            una = entry.end;
        }
        let mut told = Told::default();
        let mut delivery = AckDelivery { echo, ..AckDelivery::default() };
        let sacks = block.0.max(una) < block.1;
        if una > self.una {
            self.list.acknowledge(self.now, una, echo, &mut told);
            let is_usual = !sacks && self.board.is_unmarked();
            let in_order = if is_usual { self.board.acknowledge_in_order(self.now, una) } else { None };
            match in_order {
                Some(acked) => delivery.note_in_order(&acked, self.board.timed),
                None => self.board.acknowledge(self.now, una, MIN_RTT, &mut delivery),
            }
            self.una = una;
        }
        if sacks {
            self.list.sack(self.now, block.0.max(una), block.1, echo, &mut told);
            self.board.sack(self.now, 0, (block.0.max(una), block.1), MIN_RTT, &mut delivery);
        }
        assert_eq!((delivery.bytes, delivery.sacked), (told.bytes, told.sacked));
        if self.board.timed {
            let got = Told {
                bytes: delivery.bytes,
                sacked: delivery.sacked,
                first_sent: Some(delivery.first_sent).filter(|sent| *sent != Time::NEVER),
                last_sent: Some(delivery.last_sent).filter(|sent| *sent != Time::ZERO),
                once: Some(delivery.once).filter(|end| *end != u64::MAX),
                repaired: delivery.repaired,
                reordered: delivery.reordered,
            };
            assert_eq!(got, told);
            assert_eq!(self.board.reordering(), (self.list.degree, self.list.reorderings));
        }
        self.find_losses(in_recovery);
    }

    fn find_losses(&mut self, in_recovery: bool) {
        if self.list.by_time && self.board.is_in_order() {
            // As in Linux, losses are then not looked for, even if segments sent before a retransmission are still in
            // flight.
            let found = self.board.mark_lost_by_time(self.now, in_recovery, THRESHOLD, MIN_RTT, SRTT);
            assert_eq!(found, (0, Time::NEVER));
        } else if self.list.by_time {
            let found = self.board.mark_lost_by_time(self.now, in_recovery, THRESHOLD, MIN_RTT, SRTT);
            assert_eq!(found, self.list.mark_lost_by_time(self.now, in_recovery));
        } else {
            assert_eq!(self.board.mark_lost_below(THRESHOLD), self.list.mark_lost_below());
        }
    }

    fn check(&mut self) {
        let list = &self.list;
        assert_eq!(self.board.in_flight(), list.pipe());
        assert_eq!(self.board.sacked(), list.sum(|e| e.sacked));
        assert_eq!(self.board.lost(), list.sum(|e| e.lost));
        assert_eq!(self.board.len(), list.entries.len());
        let count = |which: fn(&ModelEntry) -> bool| list.entries.iter().filter(|e| which(e)).count() as u64;
        assert_eq!(
            self.board.counts(),
            (list.entries.len() as u64, count(|e| e.sacked), count(|e| e.lost), count(|e| e.retransmitted))
        );
        let next_lost = list.lowest(|e| e.lost && !e.retransmitted);
        assert_eq!(self.board.awaits_retransmission(), next_lost.is_some());
        assert_eq!(self.board.next_lost(), next_lost);
        let last = list.entries.last().filter(|e| !e.sacked && !e.retransmitted).map(|e| (e.start, e.end - e.start));
        assert_eq!(self.board.last(), last);
        if !list.by_time {
            if !self.forgiven {
                assert_eq!(self.board.next_suspect(), list.suspect());
            }
            assert_eq!(self.board.is_in_order(), self.board.sacked() == 0);
        }
    }

    fn retransmit(&mut self, start: u64) {
        self.board.retransmit(self.now, start);
        self.list.retransmit(self.now, start);
    }
}

/// An event, and two numbers that select the segments.
fn any_events() -> impl Strategy<Value = Vec<(u8, u64, u64)>> {
    prop::collection::vec((0_u8..24, 0_u64..40, 0_u64..12), 1..120)
}

fn play(by_time: bool, timestamps: bool, events: &[(u8, u64, u64)]) {
    let mut pair = Pair::new(by_time, timestamps);
    for &(kind, a, b) in events {
        pair.now += Duration::from_micros(1 + a * b * 211);
        let border = |pair: &Pair, n: u64| {
            let entries = &pair.list.entries;
            entries.get(n as usize).or(entries.last()).map_or(pair.max, |e| e.end)
        };
        let echo = timestamps.then(|| clock(pair.now).wrapping_sub((b * 20_000) as u32));
        match kind {
            0..=7 => (0..=b).for_each(|_| pair.push(MSS)),
            8 => pair.push(1 + a * 20),
            9..=11 => pair.ack(border(&pair, a / 8), (0, 0), echo, b > 8),
            12..=16 => {
                let start = border(&pair, a);
                pair.ack(pair.una, (start, start + b * MSS), echo, b > 8);
            }
            17 => pair.ack(border(&pair, a / 16), (border(&pair, a), border(&pair, a + b)), echo, b > 8),
            18 if b == 0 && pair.una < pair.max => pair.ack(pair.una + 1, (0, 0), echo, false),
            18..=20 => {
                for _ in 0..=b / 4 {
                    if let Some((start, _)) = pair.list.lowest(|e| e.lost && !e.retransmitted) {
                        pair.retransmit(start);
                    }
                }
            }
            21 if b < 3 => {
                pair.board.on_timeout(pair.now, by_time);
                pair.list.on_timeout(pair.now);
            }
            21 if b < 6 => {
                pair.forgiven = true;
                pair.board.undo_losses();
                for entry in &mut pair.list.entries {
                    entry.left |= entry.lost && entry.ever_retransmitted && !entry.retransmitted;
                    entry.lost = false;
                }
                // The ACK that reveals a spurious loss is examined for losses, too.
                pair.find_losses(false);
            }
            21 if b < 9 && !by_time => {
                let front = pair.list.entries.first_mut().filter(|e| !e.sacked && !e.lost && !e.retransmitted);
                assert_eq!(pair.board.mark_first_lost(), front.map(|e| e.lost = true).is_some());
            }
            22 if by_time => {
                pair.board.on_duplicate(pair.una, pair.max);
                if pair.una >= pair.list.dsack_round {
                    let extra = pair.list.extra_quarters + 1;
                    (pair.list.dsack_round, pair.list.extra_quarters, pair.list.persist) = (pair.max, extra, 16);
                }
            }
            22 if !pair.forgiven => {
                if let Some((start, _)) = pair.list.suspect() {
                    pair.board.retransmit_suspect(pair.now, start);
                    pair.list.retransmit(pair.now, start);
                }
            }
            23 if by_time && b > 5 => {
                pair.board.on_recovery_exit();
                pair.list.persist = pair.list.persist.saturating_sub(1);
                if pair.list.persist == 0 {
                    pair.list.extra_quarters = 0;
                }
            }
            23 => pair.find_losses(a > 20),
            _ => {}
        }
        pair.check();
    }
}

/// A timeout reveals that a receiver has reneged on its selective ACKs: all that is not acknowledged is lost, even if
/// it was sent too recently to be overdue.
#[test]
fn all_is_lost_if_the_receiver_reneges() {
    let before = [(0, 0, 9), (0, 12, 2), (18, 0, 0), (12, 3, 0), (0, 0, 1), (0, 0, 0), (0, 0, 10), (0, 0, 0)];
    let after = [(0, 0, 3), (0, 0, 5), (12, 7, 4), (0, 0, 0), (17, 0, 1), (21, 0, 0), (18, 0, 1), (9, 0, 0)];
    play(true, false, &[before, after].concat());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]
    #[test]
    fn losses_by_counting_are_those_of_a_plain_list(events in any_events(), timestamps in any::<bool>()) {
        play(false, timestamps, &events);
    }

    #[test]
    fn losses_by_time_are_those_of_a_plain_list(events in any_events(), timestamps in any::<bool>()) {
        play(true, timestamps, &events);
    }
}
