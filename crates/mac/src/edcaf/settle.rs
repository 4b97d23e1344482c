//! The originator's side at the end of an exchange: which MPDUs have arrived, which are retransmitted, and which are
//! given up.

use wifair_units::Duration;

use super::agreement::Agreement;
use super::ppdu::rules_between;
use super::released::Released;
use super::{Call, Edcaf, Edcafs, ExchangeFrame, Task};
use crate::access::{LONG_RETRY_LIMIT, SHORT_RETRY_LIMIT};
use crate::frame::PpduMpdu;

/// How long after a missing block ACK a BlockAckReq is repeated if MPDUs have no lifetime: the default of
/// dot11EDCATableMSDULifetime, 500 TU.
const LIFETIME: Duration = Duration::from_micros(500 * 1024);

impl Edcafs {
    /// Completes an exchange for the originator; `answered` if it got a response, `by_rts` if its RTS got no CTS and no
    /// data were sent. Returns the number of MPDUs delivered.
    pub(crate) fn settle(&mut self, sender: usize, answered: bool, by_rts: bool, call: &mut Call<'_>) -> u64 {
        let now = call.now;
        if let Some(delivered) = self.contenders[sender].settle_single(answered, by_rts) {
            return delivered;
        }
        let station = self.station_of(sender);
        if self.contenders[sender].ppdu.is_action() {
            if answered {
                self.settle_action(now, sender);
            }
            return 0;
        }
        if answered && self.contenders[sender].sends_run() {
            return self.settle_run(sender);
        }
        // To and from stations without block ACK, the limits are those of single frames.
        let own = &self.contenders[sender].ppdu;
        let is_single = rules_between(&self.stations, station, own.sole().station).is_none();
        let short = self.access.short_retry_limit.unwrap_or(SHORT_RETRY_LIMIT);
        let long = self.access.long_retry_limit.unwrap_or(LONG_RETRY_LIMIT);
        let single = is_single.then_some((if own.begins_with(ExchangeFrame::Rts) { long } else { short }, short));
        let Edcaf { ppdu, windows, task, backlog, requests, counters, .. } = &mut self.contenders[sender];
        let place = task.expect("a sender has something to send").window();
        let window = &mut windows[place];
        let rules = self.aggregation.as_ref().filter(|rules| rules.max_ampdu.0 > 0);
        // Most attempts of an MPDU, and most RTS for it without an answer.
        let limits = rules.map(|rules| single.unwrap_or((rules.retry_limit, rules.retry_limit)));
        let (mut delivered, mut given_up) = (0, 0);
        if answered || ppdu.is_request() {
            ppdu.build_state = None;
        }
        if ppdu.is_request() {
            requests.retain(|waiting| *waiting != place);
            if answered {
                delivered = window.acknowledge_received();
            } else {
                window.request_due = window.agreement == Agreement::Established;
            }
        } else {
            if by_rts {
                ppdu.sole_mut().take_back(window);
            } else {
                ppdu.count(counters);
            }
            let may_be_exhausted = limits.is_some_and(|(attempts, _)| by_rts || ppdu.sole().most_attempts >= attempts);
            if answered && ppdu.sole().lost == 0 && window.pending() == ppdu.sole().mpdus.len() {
                delivered = window.acknowledge_all();
            } else if answered || may_be_exhausted || ppdu.sole().expires <= now {
                let (mut has_gaps, is_broadcast) = (false, ppdu.is_broadcast());
                for &PpduMpdu { number, .. } in &ppdu.sole().mpdus {
                    let mpdu = window.mpdu(number);
                    if answered && (mpdu.is_received() || is_broadcast) {
                        window.acknowledge(number);
                        delivered += 1;
                        continue;
                    }
                    let is_exhausted =
                        limits.is_some_and(|(attempts, rts)| mpdu.attempts >= attempts || mpdu.rts_failures >= rts);
                    if is_exhausted || mpdu.expires <= now {
                        let Released { lost, expired, .. } = &mut self.deliveries.released;
                        let is_given_up =
                            window.discard(number, &self.chain, if is_exhausted { lost } else { expired });
                        given_up += u64::from(is_exhausted && is_given_up);
                        has_gaps = true;
                    }
                }
                if has_gaps {
                    ppdu.build_state = None;
                }
            }
            let is_missed = !answered && !by_rts && ppdu.is_aggregate();
            if is_missed && rules.is_some_and(|rules| rules.request_after_miss) {
                window.request_due = true;
                if window.missed_since.is_none()
                    || ppdu.sole().mpdus.iter().any(|mpdu| window.mpdu(mpdu.number).attempts == 1)
                {
                    window.missed_since = Some(now);
                }
            }
        }
        if answered {
            window.missed_since = None;
        }
        counters.delivered += delivered;
        window.advance();
        if window.request_due && !requests.contains(&place) {
            requests.push(place);
        }
        if window.pending() == 0 {
            backlog.retain(|waiting| *waiting != place);
        } else if !backlog.contains(&place) {
            backlog.push(place);
        }
        self.counters[station].retry_limit_drops += given_up;
        self.note_released(station, call);
        delivered
    }

    /// Gives up what `sender` has just sent, at the retry limit. A BlockAckReq after a missing block ACK is repeated:
    /// what is sent under block ACK is subject to its lifetime alone (10.24.3).
    pub(crate) fn discard(&mut self, sender: usize, call: &mut Call<'_>) {
        let now = call.now;
        if matches!(self.contenders[sender].task, Some(Task::Single(_))) {
            return self.discard_single(sender, call.retry_limit_drops);
        }
        let station = self.station_of(sender);
        if self.contenders[sender].ppdu.is_action() {
            return self.discard_action(now, sender);
        }
        let Edcaf { ppdu, windows, task, backlog, requests, .. } = &mut self.contenders[sender];
        let place = task.expect("a sender has something to send").window();
        let window = &mut windows[place];
        let counters = &mut self.counters[station];
        for mpdu in &ppdu.sole().mpdus {
            let is_given_up = window.discard(mpdu.number, &self.chain, &mut self.deliveries.released.lost);
            counters.retry_limit_drops += u64::from(is_given_up);
        }
        ppdu.build_state = None;
        let lifetime = self.aggregation.as_ref().and_then(|rules| rules.lifetime).unwrap_or(LIFETIME);
        let is_repeated = window.missed_since.is_some_and(|since| now < since + lifetime);
        if ppdu.is_request() && !is_repeated {
            window.request_due = false;
            requests.retain(|waiting| *waiting != place);
        }
        window.advance();
        if window.pending() == 0 {
            backlog.retain(|waiting| *waiting != place);
        }
        self.note_released(station, call);
    }
}
