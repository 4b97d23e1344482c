//! The rounds in which stations take turns: mac80211's airtime scheduler.
//!
//! Source: Linux 6.12, `net/mac80211/tx.c` (`ieee80211_next_txq`, `__ieee80211_schedule_txq`, `ieee80211_sta_deficit`)
//! and `net/mac80211/sta_info.c` (`ieee80211_register_airtime`). Each category has a list of stations. The first of
//! them is looked at: if its deficit, less what waits in the driver, is negative, it gets its quantum and goes to the
//! end; if the driver must not hold more for it (AQL), it goes to the end too; otherwise it is served. A station joins
//! the list at its *head* when it gets packets, so a station that seldom has any need not wait for the others' round;
//! after its turn it joins at the head again and stays first until its deficit is negative. A station without packets
//! leaves the list, but for 100 ms after it had some only if it owes nothing. Air time is charged, sent and received,
//! for as long.
//!
//! Deficits are in microseconds.

use std::collections::VecDeque;

use wifair_units::{Duration, Time};

/// AIRTIME_ACTIVE_DURATION.
const ACTIVE: Duration = Duration::from_millis(100);

/// A station's part in the rounds of a category.
#[derive(Clone, Debug)]
pub struct RoundState {
    deficit: i64,
    /// What it gets when its deficit is negative.
    quantum: i64,
    /// Air time in the driver and below.
    pub pending: i64,
    is_listed: bool,
    /// Number of the round in which it was last served.
    round: u64,
    /// When it last joined with packets.
    active: Option<Time>,
}

impl RoundState {
    pub const fn new(quantum: i64) -> Self {
        Self { deficit: quantum, quantum, pending: 0, is_listed: false, round: 0, active: None }
    }

    /// Its deficit less what waits below.
    const fn owed(&self) -> i64 {
        self.deficit - self.pending
    }

    fn is_active(&self, now: Time) -> bool {
        self.active.is_some_and(|since| now.saturating_since(since) <= ACTIVE)
    }

    /// Sets its quantum before anything has been sent: it begins with one.
    pub const fn start(&mut self, quantum: i64) {
        self.quantum = quantum;
        self.deficit = quantum;
    }

    /// Sets what it gets when its deficit is negative.
    pub const fn set_quantum(&mut self, quantum: i64) {
        self.quantum = quantum;
    }

    /// Charges air time to it.
    pub fn charge(&mut self, now: Time, air: i64) {
        if self.is_active(now) {
            self.deficit -= air;
        }
    }

    /// Whether it counts as active: it has packets, or had some less than 100 ms ago.
    pub fn counts(&self, now: Time) -> bool {
        self.is_listed || self.is_active(now)
    }
}

/// Where a station with new packets joins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joins {
    /// At the head: the optimisation for sparse stations.
    Head,
    /// At the tail.
    Tail,
}

/// The stations of a category, by number, and whose turn it is. Number 0 stands for broadcasts, which are in no round.
#[derive(Clone, Debug)]
pub struct AirtimeRounds {
    pub stations: Vec<RoundState>,
    list: VecDeque<usize>,
    round: u64,
    joins: Joins,
    is_fair: bool,
    quantum: i64,
}

impl AirtimeRounds {
    /// No stations yet. Without `is_fair` they take turns, whatever air time they use.
    pub const fn new(quantum: i64, joins: Joins, is_fair: bool) -> Self {
        Self { stations: vec![], list: VecDeque::new(), round: 0, joins, is_fair, quantum }
    }

    pub fn station(&mut self, number: usize) -> &mut RoundState {
        if self.stations.len() <= number {
            self.stations.resize_with(number + 1, || RoundState::new(self.quantum));
        }
        &mut self.stations[number]
    }

    /// Stations in the list.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// A station has new packets, or has had its turn.
    pub fn join(&mut self, now: Time, number: usize, has_packets: bool) {
        let (is_fair, joins) = (self.is_fair, self.joins);
        let station = self.station(number);
        if station.is_listed {
            return;
        }
        let owes = is_fair && number > 0 && station.owed() < 0 && station.is_active(now);
        if !has_packets && !owes {
            return;
        }
        station.is_listed = true;
        if has_packets {
            station.active = Some(now);
        }
        if has_packets && is_fair && joins == Joins::Head && number > 0 {
            self.list.push_front(number);
        } else {
            self.list.push_back(number);
        }
    }

    /// Begins a round: each station is served at most once in it.
    pub const fn begin(&mut self) {
        self.round += 1;
    }

    /// The station to serve next, which leaves the list; `allows` tells whether the driver may hold more for it.
    pub fn next(&mut self, allows: impl Fn(usize, &RoundState) -> bool) -> Option<usize> {
        let (mut head, mut found) = (None, false);
        loop {
            let first = *self.list.front()?;
            if head == Some(first) {
                if !found {
                    return None;
                }
                found = false;
                self.catch_up(&allows);
            }
            head.get_or_insert(first);
            let station = &mut self.stations[first];
            let may_send = first == 0 || allows(first, station);
            found |= may_send;
            let owes = self.is_fair && first > 0 && station.owed() < 0;
            if owes {
                station.deficit += station.quantum;
            }
            if owes || !may_send {
                self.list.rotate_left(1);
                continue;
            }
            if station.round == self.round {
                return None;
            }
            station.round = self.round;
            station.is_listed = false;
            self.list.pop_front();
            return Some(first);
        }
    }

    /// Credits all stations that owe with several quanta at once: as many as whole rounds pass before one of them that
    /// may send owes nothing.
    fn catch_up(&mut self, allows: &impl Fn(usize, &RoundState) -> bool) {
        if !self.is_fair {
            return;
        }
        let allowed = self.list.iter().map(|number| (*number, &self.stations[*number]));
        let allowed = allowed.filter(|(number, station)| allows(*number, station));
        let rounds = allowed.map(|(_, station)| (-station.owed()).max(0) / station.quantum).min().unwrap_or(0);
        for number in self.list.iter().filter(|_| rounds > 0) {
            let station = &mut self.stations[*number];
            let needed = (-station.owed()).max(0) + station.quantum - 1;
            station.deficit += (needed / station.quantum).min(rounds) * station.quantum;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds(joins: Joins) -> AirtimeRounds {
        AirtimeRounds::new(256, joins, true)
    }

    /// Serves the next station, for `air` microseconds; it has more packets.
    fn serve(rounds: &mut AirtimeRounds, air: i64) -> usize {
        rounds.begin();
        let number = rounds.next(|_, _| true).expect("stations wait");
        rounds.station(number).charge(Time::ZERO, air);
        rounds.join(Time::ZERO, number, true);
        number
    }

    /// By hand, quantum 256. Station 1 joins, then 2, which is ahead of it. 2 sends 100 (156 left) and stays first,
    /// sends 200 (-44) and stays first once more: it gets 256 (212) and goes behind 1. 1 sends 1000 (-744). It gets 256
    /// (-488) and goes behind 2, which sends 300 (-88). It gets 256 (168) and goes behind 1, which gets 256 (-232) and
    /// goes behind 2, which sends.
    #[test]
    fn a_trace_by_hand() {
        let mut rounds = rounds(Joins::Head);
        rounds.join(Time::ZERO, 1, true);
        rounds.join(Time::ZERO, 2, true);
        let served: Vec<usize> = [100, 200, 1000, 300, 0].map(|air| serve(&mut rounds, air)).to_vec();
        assert_eq!(served, [2, 2, 1, 2, 2]);
        assert_eq!([1, 2].map(|number| rounds.stations[number].deficit), [-232, 168]);
    }

    /// What waits in the driver counts like air time used: 300 of 256 are waiting for station 1, so 2 is served.
    #[test]
    fn what_waits_in_the_driver_is_owed() {
        let mut rounds = rounds(Joins::Head);
        rounds.join(Time::ZERO, 2, true);
        rounds.join(Time::ZERO, 1, true);
        rounds.station(1).pending = 300;
        assert_eq!(serve(&mut rounds, 0), 2);
        assert_eq!(rounds.stations[1].deficit, 512);
    }

    /// Station 1 has used 1 s and 2 has 1 quantum left. A station that has nothing for a while joins at the head, and
    /// is served at once; without the optimisation it waits behind the others.
    #[test]
    fn a_sparse_station_goes_first() {
        for (joins, expected) in [(Joins::Head, 3), (Joins::Tail, 2)] {
            let mut rounds = rounds(joins);
            for number in [1, 2] {
                rounds.join(Time::ZERO, number, true);
            }
            rounds.station(1).charge(Time::ZERO, 1_000_000);
            rounds.join(Time::ZERO, 3, true);
            assert_eq!(serve(&mut rounds, 0), expected, "{joins:?}");
        }
    }

    /// A station that the driver must not hold more for gives way, even if it owes nothing; if that holds for all,
    /// nobody is served, and each that owes has one more quantum. In the list: 1, 2.
    #[test]
    fn stations_at_their_limit_give_way() {
        let mut rounds = rounds(Joins::Tail);
        rounds.join(Time::ZERO, 1, true);
        rounds.join(Time::ZERO, 2, true);
        rounds.begin();
        assert_eq!(rounds.next(|number, _| number != 1), Some(2));
        rounds.join(Time::ZERO, 2, true);
        rounds.station(1).charge(Time::ZERO, 10_000);
        rounds.begin();
        assert_eq!(rounds.next(|_, _| false), None);
        assert_eq!([1, 2].map(|number| rounds.stations[number].deficit), [256 - 10_000 + 256, 256]);
    }

    /// Stations that owe 100 ms and 50 ms: 195 rounds of 256 us are made in one step, with the result of one by one.
    #[test]
    fn many_rounds_take_one_step() {
        let mut rounds = rounds(Joins::Tail);
        for (number, owed) in [(1, 100_256), (2, 50_256)] {
            rounds.join(Time::ZERO, number, true);
            rounds.station(number).charge(Time::ZERO, owed);
        }
        // 50,000 = 195 * 256 + 80: after the 196th quantum station 2 has 176 and sends in the next round.
        assert_eq!(serve(&mut rounds, 0), 2);
        assert_eq!(rounds.stations[2].deficit, 176);
        // Station 1 is asked first in that round, too: 197 quanta.
        assert_eq!(rounds.stations[1].deficit, -100_000 + 197 * 256);
    }

    /// Nobody is charged who had nothing for more than 100 ms, and who owes stays in the list for as long.
    #[test]
    fn inactive_stations_are_not_charged() {
        let mut rounds = rounds(Joins::Head);
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        rounds.join(at(0), 1, true);
        rounds.begin();
        assert_eq!(rounds.next(|_, _| true), Some(1));
        rounds.station(1).charge(at(100), 300);
        assert_eq!(rounds.stations[1].deficit, -44);
        rounds.station(1).charge(at(101), 300);
        assert_eq!(rounds.stations[1].deficit, -44);
        rounds.join(at(100), 1, false);
        assert_eq!(rounds.len(), 1);
    }
}
