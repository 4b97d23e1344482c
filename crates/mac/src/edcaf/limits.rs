//! How long a PSDU may be: limits by the longest PPDU and by the TXOP.
//!
//! Sources: IEEE Std 802.11-2016, 10.22.2.8 (TXOP limits), table 19-25 (aPPDUMaxTime). A single frame in a TXOP may
//! exceed the limit if it is a retransmission, or an MSDU under a block ACK agreement that is not in an A-MSDU. Other
//! MSDUs would have to be fragmented; as there is no fragmentation here, they exceed the limit as well.

use wifair_units::{Bytes, Duration, Time};

use super::links::LinkMode;
use super::ppdu::{rules_between, single_psdu};
use super::settings::AggregationRules;
use super::{BROADCAST, Edcafs, Task};
use crate::exchange::Purpose;

/// What the holder of a TXOP does after an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AfterExchange {
    /// It begins another.
    Continues,
    /// It releases the rest of its TXOP with a CF-End.
    Releases,
    /// Nothing: a backoff follows.
    Ends,
}

impl Edcafs {
    /// Length up to which an A-MPDU may grow; zero without aggregation.
    pub(super) fn psdu_limit(
        &self,
        now: Time,
        sender: usize,
        to: u32,
        mode: Option<&LinkMode>,
        rules: Option<&AggregationRules>,
    ) -> u64 {
        let Some(rules) = rules.filter(|rules| rules.max_ampdu.0 > 0) else { return 0 };
        let Some(mode) = mode else { return 0 };
        let station = self.station_of(sender);
        if rules.agreements_on_air && !self.has_agreement(sender) {
            return 0;
        }
        if self.stations[station].choice.as_ref().is_some_and(|choice| choice.is_single(to)) {
            return 1;
        }
        let longest = if self.contenders[sender].txop > Duration::ZERO {
            self.longest_in_txop(now, sender, to, Purpose::Aggregate, mode, rules)
        } else {
            mode.longest_psdu
        };
        rules.max_ampdu.0.min(longest.0).max(1)
    }

    /// The longest PSDU that fits into the rest of a sender's TXOP, together with the frames before it and its
    /// response.
    fn longest_in_txop(
        &self,
        now: Time,
        sender: usize,
        to: u32,
        purpose: Purpose,
        mode: &LinkMode,
        rules: &AggregationRules,
    ) -> Bytes {
        let (contender, station) = (&self.contenders[sender], self.station_of(sender));
        let answer = self.access.timing.sifs + self.response_air(station, to, purpose);
        let left = contender.txop.saturating_sub(now - contender.won_at + answer);
        let within = |time: Duration| mode.timing.longest(time.min(rules.max_duration)).unwrap_or(Bytes(0));
        let protected = |most: Bytes| most.min(within(left.saturating_sub(self.protection_time(most, to, sender))));
        let longest = within(left);
        protected(longest).max(protected(longest.min(self.access.rts_threshold)))
    }

    /// Maximum length of an A-MSDU. It cannot be split when it is retransmitted, so it must be short enough for a PPDU
    /// in any mode of its link, and for the TXOP in the mode in which it is first sent.
    pub(super) fn longest_amsdu(&self, now: Time, sender: usize, station: usize, to: u32) -> u64 {
        let Some(rules) = rules_between(&self.stations, station, to) else { return 0 };
        let Some(mode) = self.mode_towards(station, to) else { return 0 };
        let mut psdu = self.stations[self.rate_of(station, to)].link.longest_in_any;
        if self.contenders[sender].txop > Duration::ZERO {
            psdu = psdu.min(self.longest_in_txop(now, sender, to, Purpose::Single, mode, rules));
        }
        let mpdu = psdu.0.saturating_sub(single_psdu(Bytes(0), Some(rules)).0).min(rules.max_mpdu.0);
        let longest = rules.max_amsdu.0.min(mpdu.saturating_sub(self.access.timing.sizes.mac_overhead.0));
        let by_mode = self.stations[station].choice.as_ref().and_then(|choice| choice.longest_amsdu(to));
        by_mode.map_or(longest, |limit| longest.min(limit.0))
    }

    /// Time taken by protection before data of a sender.
    pub(super) fn protection_time(&self, psdu: Bytes, to: u32, sender: usize) -> Duration {
        let before = self.protection(psdu, to, sender, None).frames().iter();
        before.fold(Duration::ZERO, |time, step| time + self.access.control_air(*step) + self.access.timing.sifs)
    }

    /// What `sender` does SIFS after an exchange, if it holds the channel and has `more` to send.
    pub(crate) fn after_exchange(&mut self, now: Time, sender: usize, more: bool) -> AfterExchange {
        if more && self.fits_txop(now, sender) {
            AfterExchange::Continues
        } else if self.releases_txop(sender, now) {
            AfterExchange::Releases
        } else {
            AfterExchange::Ends
        }
    }

    /// Whether a sender's next exchange fits into its TXOP. Chooses the mode of its data, which determines how long
    /// they take.
    #[inline(always)]
    pub(crate) fn fits_txop(&mut self, now: Time, sender: usize) -> bool {
        let contender = &self.contenders[sender];
        let is_in_burst = contender.in_a_row < contender.burst;
        if contender.txop == Duration::ZERO && !is_in_burst {
            return false;
        }
        if let Some(Task::Single(frame)) = &contender.task {
            return is_in_burst || now + frame.exchange_time() - contender.won_at <= contender.txop;
        }
        self.fits_after_choice(now, sender)
    }

    /// Like [`Edcafs::fits_txop`], for all but single frames.
    #[inline(never)]
    fn fits_after_choice(&mut self, now: Time, sender: usize) -> bool {
        self.follow_snr(now);
        let contender = &self.contenders[sender];
        let is_in_burst = contender.in_a_row < contender.burst;
        if let Some(Task::Data(place)) = contender.task {
            let to = contender.windows[place].to;
            self.choose_mode(now, self.station_of(sender), to);
        }
        if is_in_burst {
            return true;
        }
        let contender = &self.contenders[sender];
        let station = self.station_of(sender);
        let timing = &self.access.timing;
        let task = contender.task.expect("there is more to send");
        let window = &contender.windows[task.window()];
        let to = window.to;
        let mut exchange = timing.sifs;
        if !matches!(task, Task::Data(_)) {
            let (purpose, length) = self.dataless(sender, to, task);
            exchange += timing.frame(length, self.control_rate(station, to));
            exchange += timing.sifs + self.response_air(station, to, purpose);
            if purpose == Purpose::Agreement {
                exchange += self.protection_time(length, to, sender);
            }
        } else {
            let first = window.first_pending().expect("there is something to send");
            let rules = rules_between(&self.stations, station, to);
            let psdu = single_psdu(Bytes(u64::from(window.mpdu(first).length)), rules);
            let like_last = contender.ppdu.air_times_if_like(to, Purpose::Single, psdu);
            let (data, response) = like_last
                .unwrap_or_else(|| (self.data_air(station, to, psdu), self.response_air(station, to, Purpose::Single)));
            exchange += data;
            if to != BROADCAST {
                exchange += timing.sifs + response;
            }
            exchange += self.protection_time(psdu, to, sender);
        }
        now + exchange - contender.won_at <= contender.txop
    }
}
