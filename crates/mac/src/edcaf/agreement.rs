//! Block ACK agreements set up by ADDBA frames.
//!
//! Source: IEEE Std 802.11-2016, 10.24.2 (set-up), 10.24.5 (tear-down), 11.5.4 (timeout), 9.6.5.2 and 9.6.5.3 (ADDBA
//! request and response), 9.6.5.4 (DELBA). The originator sends a request before its first data to a receiver in a
//! category, and holds back these data, so that the starting sequence number of the request stays valid (as in Linux).
//! The recipient responds in its own time, in its highest-priority category. Both are single frames with ACK, sent at
//! the rate of control frames and retried like other frames. Without a response, data are sent one by one, with ACK,
//! until the originator asks again. The standard leaves open how long it waits and when it asks again
//! ([`RESPONSE_TIMEOUT`], [`ASKED_AGAIN`]).
//!
//! Agreements last, unless `inactivity_timeout` is set: a recipient that has received no data under an agreement for
//! this long ends it by a DELBA frame, and the originator requests another before its next data. The originator's own
//! timer, from the last block ACK, is not modelled, because it would expire while the DELBA frame arrives; if that
//! frame is given up, the originator considers the agreement ended all the same.

use wifair_units::{Bytes, Duration, Time};

use super::ppdu::rules_between;
use super::settings::BLOCK_ACK_REQ;
use super::window::Window;
use super::{Edcafs, Task, number};
use crate::exchange::Purpose;
use crate::tap::FrameKind;

/// How long an originator waits for a response once its request was acknowledged.
const RESPONSE_TIMEOUT: Duration = Duration::from_millis(100);
/// How long it then sends data one by one before it asks again.
const ASKED_AGAIN: Duration = Duration::from_secs(1);

/// Length of an ADDBA request or response: header, nine bytes and FCS; with an ADDBA extension (802.11be) for windows
/// above 1023.
const fn addba_length(window: u16) -> Bytes {
    Bytes(if window > 1023 { 40 } else { 37 })
}

/// State of an agreement between an originator and a recipient.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Agreement {
    /// It is established, or not needed.
    There,
    /// The originator will request it before data that it sends from this time on.
    Wanted(Time),
    /// The originator has requested it, or is about to, and waits until this time.
    Asked(Time),
}

/// Length of a DELBA frame: header, category, action, parameters, reason and FCS.
const DELBA: Bytes = Bytes(34);

/// Content of an ADDBA or DELBA frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Says {
    /// A request.
    Asks,
    /// A response to this EDCAF, for this of its windows.
    Answers(usize, usize),
    /// The end of an agreement of this EDCAF, for this of its windows.
    Ends(usize, usize),
}

/// An ADDBA or DELBA frame that an EDCAF has to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Setup {
    /// Window towards the receiver of the frame.
    pub window: usize,
    pub says: Says,
}

impl Setup {
    /// Type of the frame.
    pub const fn kind(self) -> FrameKind {
        match self.says {
            Says::Asks => FrameKind::AddbaRequest,
            Says::Answers(..) => FrameKind::AddbaResponse,
            Says::Ends(..) => FrameKind::Delba,
        }
    }
}

impl Edcafs {
    /// Requests an agreement before the data that an EDCAF is about to send, or waits for one, if needed.
    pub(super) fn agree_first(&mut self, now: Time, index: usize) {
        let contender = &mut self.contenders[index];
        let Some(Task::Data(place)) = contender.task else { return };
        let window = &mut contender.windows[place];
        match window.agreement {
            Agreement::Asked(until) if until <= now => window.agreement = Agreement::Wanted(now + ASKED_AGAIN),
            Agreement::Wanted(from) if from <= now => {
                window.agreement = Agreement::Asked(Time::NEVER);
                contender.setups.push(Setup { window: place, says: Says::Asks });
                contender.task = Some(Task::Setup(place));
            }
            Agreement::There | Agreement::Wanted(_) => return,
            Agreement::Asked(until) => {
                contender.task = None;
                self.paused_queues.sleep(number(index), until);
            }
        }
        if !contender.backlog.contains(&place) {
            contender.backlog.push(place);
        }
    }

    /// Purpose and length of a frame without data.
    pub(super) fn dataless(&self, sender: usize, to: u32, task: Task) -> (Purpose, Bytes) {
        let rules = rules_between(&self.stations, self.station_of(sender), to);
        let ends = |setup: &Setup| matches!(setup.says, Says::Ends(..));
        match task {
            Task::Setup(_) if self.contenders[sender].setups.first().is_some_and(ends) => (Purpose::Agreement, DELBA),
            Task::Setup(_) => (Purpose::Agreement, addba_length(rules.map_or(0, |rules| rules.window))),
            _ => (Purpose::BlockAckRequest, BLOCK_ACK_REQ),
        }
    }

    /// Whether there is an agreement with the receiver of what `sender` sends.
    pub(super) fn has_agreement(&self, sender: usize) -> bool {
        let contender = &self.contenders[sender];
        contender.task.is_none_or(|task| contender.windows[task.window()].agreement == Agreement::There)
    }

    /// Processes the ADDBA or DELBA frame of `sender` at its receiver.
    pub(super) fn receive_setup(&mut self, now: Time, sender: usize) {
        let station = self.station_of(sender);
        let contender = &self.contenders[sender];
        let Some(&Setup { window, says }) = contender.setups.first() else { return };
        match says {
            Says::Asks => {}
            Says::Answers(originator, window) => {
                let window = &mut self.contenders[originator].windows[window];
                window.agreement = Agreement::There;
                window.used_at = now;
                self.paused_queues.sleep(number(originator), now);
                if let Some(timeout) = self.aggregation.as_ref().and_then(|rules| rules.inactivity_timeout) {
                    self.inactive_at = self.inactive_at.min(now + timeout);
                    self.reorder_timeout = self.reorder_timeout.min(self.inactive_at);
                }
                return;
            }
            Says::Ends(originator, window) => {
                self.contenders[originator].windows[window].agreement = Agreement::Wanted(now);
                return;
            }
        }
        let index = self.index(contender.ppdu.to, 0);
        let rules = self.stations[self.rate_of(contender.ppdu.to as usize, number(station))].rules.clone();
        let recipient = &mut self.contenders[index];
        let response =
            Setup { window: recipient.window_to(number(station), rules.as_ref()), says: Says::Answers(sender, window) };
        if !recipient.setups.contains(&response) {
            recipient.setups.push(response);
        }
        if recipient.task.is_none() {
            self.paused_queues.sleep(number(index), now);
        }
    }

    /// Ends agreements under which the recipient has received no data for the inactivity timeout.
    #[cold]
    pub(super) fn end_inactive(&mut self, now: Time) {
        let Some(timeout) = self.aggregation.as_ref().and_then(|rules| rules.inactivity_timeout) else { return };
        self.inactive_at = Time::NEVER;
        for originator in 0..self.contenders.len() {
            let station = self.station_of(originator);
            for place in 0..self.contenders[originator].windows.len() {
                let &Window { to, agreement, used_at, .. } = &self.contenders[originator].windows[place];
                let rules = rules_between(&self.stations, station, to).filter(|rules| rules.makes_agreements());
                if rules.is_none() || agreement != Agreement::There {
                    continue;
                }
                if used_at + timeout > now {
                    self.inactive_at = self.inactive_at.min(used_at + timeout);
                    continue;
                }
                let (rules, index) = (rules.cloned(), self.index(to, 0));
                let recipient = &mut self.contenders[index];
                let window = recipient.window_to(number(station), rules.as_ref());
                let end = Setup { window, says: Says::Ends(originator, place) };
                if !recipient.setups.contains(&end) {
                    recipient.setups.push(end);
                }
                if recipient.task.is_none() {
                    self.paused_queues.sleep(number(index), now);
                }
            }
        }
    }

    /// Updates the agreement when an ADDBA or DELBA frame of `sender` is acknowledged.
    pub(super) fn settle_setup(&mut self, now: Time, sender: usize) {
        let contender = &mut self.contenders[sender];
        let Setup { window, says } = contender.setups.remove(0);
        let agreement = &mut contender.windows[window].agreement;
        if says == Says::Asks && *agreement != Agreement::There {
            *agreement = Agreement::Asked(now + RESPONSE_TIMEOUT);
        }
    }

    /// Gives up an ADDBA or DELBA frame of `sender`.
    pub(super) fn discard_setup(&mut self, now: Time, sender: usize) {
        let contender = &mut self.contenders[sender];
        let Setup { window, says } = contender.setups.remove(0);
        let agreement = &mut contender.windows[window].agreement;
        match says {
            Says::Asks if *agreement != Agreement::There => *agreement = Agreement::Wanted(now + ASKED_AGAIN),
            Says::Asks | Says::Answers(..) => {}
            Says::Ends(originator, place) => {
                self.contenders[originator].windows[place].agreement = Agreement::Wanted(now);
            }
        }
    }
}
