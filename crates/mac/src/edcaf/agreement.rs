//! Block ACK agreements set up by ADDBA frames.
//!
//! Source: IEEE Std 802.11-2016, 10.24.2 (set-up), 10.24.5 (tear-down), 11.5.4 (timeout), 9.6.5.2 and 9.6.5.3 (ADDBA
//! request and response), 9.6.5.4 (DELBA). Before its first data to a receiver in a category, the originator sends a
//! request. It holds the data back meanwhile, so that the starting sequence number in the request stays valid (as in
//! Linux). The recipient contends for its response in its highest-priority category. Request and response are single
//! frames with ACK, sent at the rate of control frames and retried like other frames. Without a response, data are sent
//! one by one, with ACK, until the originator asks again. The standard does not say how long to wait
//! ([`RESPONSE_TIMEOUT`]) and when to ask again ([`REQUEST_INTERVAL`]).
//!
//! Agreements last, unless `inactivity_timeout` is set: a recipient that has received no data under an agreement for
//! this long ends the agreement with a DELBA frame, and the originator requests another before its next data. The
//! originator's own timer, which starts at the last block ACK, is not modelled: it would expire while the DELBA frame
//! arrives. Even if the DELBA frame is given up, the originator considers the agreement ended.

use wifair_units::{Bytes, Duration, Time};

use super::ppdu::rules_between;
use super::window::SendWindow;
use super::{Edcaf, Edcafs, Task, number};
use crate::exchange::Purpose;
use crate::frame_length;
use crate::tap::FrameKind;

/// How long an originator waits for a response after its request was acknowledged.
const RESPONSE_TIMEOUT: Duration = Duration::from_millis(100);
/// How long an originator without a response sends data one by one before it asks again.
const REQUEST_INTERVAL: Duration = Duration::from_secs(1);

/// State of an agreement between an originator and a recipient.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Agreement {
    /// It is established, or not needed.
    Established,
    /// From this time on, the originator requests it before it sends data.
    Needed(Time),
    /// The originator has requested it, or is about to, and waits for the response until this time.
    Requested(Time),
}

/// Content of an ADDBA or DELBA frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ActionKind {
    /// A request.
    AddbaRequest,
    /// A response to the EDCAF with the first index, for its window with the second.
    AddbaResponse(usize, usize),
    /// The end of an agreement of the EDCAF with the first index, for its window with the second.
    Delba(usize, usize),
}

/// An ADDBA or DELBA frame that an EDCAF has to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct QueuedAction {
    /// Window towards the receiver of the frame.
    pub window: usize,
    pub kind: ActionKind,
}

impl QueuedAction {
    /// Type of the frame.
    pub const fn kind(self) -> FrameKind {
        match self.kind {
            ActionKind::AddbaRequest => FrameKind::AddbaRequest,
            ActionKind::AddbaResponse(..) => FrameKind::AddbaResponse,
            ActionKind::Delba(..) => FrameKind::Delba,
        }
    }
}

impl Edcafs {
    /// Requests an agreement, if needed, before the data that an EDCAF is about to send. If an earlier request got no
    /// response, sends without one for a while.
    pub(super) fn request_agreement(&mut self, now: Time, index: usize) {
        let contender = &mut self.contenders[index];
        let Some(Task::Data(place)) = contender.task else { return };
        let window = &mut contender.windows[place];
        match window.agreement {
            Agreement::Requested(until) => {
                debug_assert!(until <= now, "data wait for the agreement that was requested");
                window.agreement = Agreement::Needed(now + REQUEST_INTERVAL);
            }
            Agreement::Needed(from) if from <= now => {
                window.agreement = Agreement::Requested(Time::NEVER);
                contender.actions.push(QueuedAction { window: place, kind: ActionKind::AddbaRequest });
                contender.task = Some(Task::Action(place));
            }
            Agreement::Established | Agreement::Needed(_) => return,
        }
        if !contender.backlog.contains(&place) {
            contender.backlog.push(place);
        }
    }

    /// Purpose and length of a frame without data.
    pub(super) fn dataless(&self, sender: usize, to: u32, task: Task) -> (Purpose, Bytes) {
        let rules = rules_between(&self.stations, self.station_of(sender), to);
        let ends = |action: &QueuedAction| matches!(action.kind, ActionKind::Delba(..));
        match task {
            Task::Action(_) if self.contenders[sender].actions.first().is_some_and(ends) => {
                (Purpose::Agreement, frame_length::DELBA)
            }
            Task::Action(_) => (Purpose::Agreement, frame_length::addba(rules.map_or(0, |rules| rules.window))),
            _ => (Purpose::BlockAckRequest, frame_length::BLOCK_ACK_REQUEST),
        }
    }

    /// Whether there is an agreement with the receiver of what `sender` sends.
    pub(super) fn has_agreement(&self, sender: usize) -> bool {
        let contender = &self.contenders[sender];
        contender.task.is_none_or(|task| contender.windows[task.window()].agreement == Agreement::Established)
    }

    /// Processes the ADDBA or DELBA frame of `sender` at its receiver.
    pub(super) fn receive_action(&mut self, now: Time, sender: usize) {
        let station = self.station_of(sender);
        let contender = &self.contenders[sender];
        let Some(&QueuedAction { window, kind }) = contender.actions.first() else { return };
        match kind {
            ActionKind::AddbaRequest => {}
            ActionKind::AddbaResponse(originator, window) => {
                let window = &mut self.contenders[originator].windows[window];
                window.agreement = Agreement::Established;
                window.used_at = now;
                self.paused_queues.sleep(number(originator), now);
                if let Some(timeout) = self.aggregation.as_ref().and_then(|rules| rules.inactivity_timeout) {
                    self.inactive_at = self.inactive_at.min(now + timeout);
                    self.reorder_timeout = self.reorder_timeout.min(self.inactive_at);
                }
                return;
            }
            ActionKind::Delba(originator, window) => return self.end_agreement(now, originator, window),
        }
        let index = self.index(contender.ppdu.sole().station, 0);
        let rules = self.stations[self.rate_of(contender.ppdu.sole().station as usize, number(station))].rules.clone();
        let recipient = &mut self.contenders[index];
        let response = QueuedAction {
            window: recipient.window_to(number(station), rules.as_ref()),
            kind: ActionKind::AddbaResponse(sender, window),
        };
        if !recipient.actions.contains(&response) {
            recipient.actions.push(response);
        }
        if recipient.task.is_none() {
            self.paused_queues.sleep(number(index), now);
        }
    }

    /// Ends agreements under which the recipient has received no data for the inactivity timeout.
    #[cold]
    pub(super) fn end_inactive_agreements(&mut self, now: Time) {
        let Some(timeout) = self.aggregation.as_ref().and_then(|rules| rules.inactivity_timeout) else { return };
        self.inactive_at = Time::NEVER;
        for originator in 0..self.contenders.len() {
            let station = self.station_of(originator);
            for place in 0..self.contenders[originator].windows.len() {
                let &SendWindow { to, agreement, used_at, .. } = &self.contenders[originator].windows[place];
                let rules = rules_between(&self.stations, station, to).filter(|rules| rules.makes_agreements());
                if rules.is_none() || agreement != Agreement::Established {
                    continue;
                }
                if used_at + timeout > now {
                    self.inactive_at = self.inactive_at.min(used_at + timeout);
                    continue;
                }
                let (rules, index) = (rules.cloned(), self.index(to, 0));
                let recipient = &mut self.contenders[index];
                let window = recipient.window_to(number(station), rules.as_ref());
                let end = QueuedAction { window, kind: ActionKind::Delba(originator, place) };
                if !recipient.actions.contains(&end) {
                    recipient.actions.push(end);
                }
                if recipient.task.is_none() {
                    self.paused_queues.sleep(number(index), now);
                }
            }
        }
    }

    /// Updates the agreement when an ADDBA or DELBA frame of `sender` is acknowledged.
    pub(super) fn settle_action(&mut self, now: Time, sender: usize) {
        let contender = &mut self.contenders[sender];
        let QueuedAction { window, kind } = contender.actions.remove(0);
        let agreement = &mut contender.windows[window].agreement;
        if kind == ActionKind::AddbaRequest && *agreement != Agreement::Established {
            *agreement = Agreement::Requested(now + RESPONSE_TIMEOUT);
        }
    }

    /// Gives up an ADDBA or DELBA frame of `sender`.
    pub(super) fn discard_action(&mut self, now: Time, sender: usize) {
        let contender = &mut self.contenders[sender];
        let QueuedAction { window, kind } = contender.actions.remove(0);
        let agreement = &mut contender.windows[window].agreement;
        match kind {
            ActionKind::AddbaRequest if *agreement != Agreement::Established => {
                *agreement = Agreement::Needed(now + REQUEST_INTERVAL)
            }
            ActionKind::AddbaRequest | ActionKind::AddbaResponse(..) => {}
            ActionKind::Delba(originator, place) => self.end_agreement(now, originator, place),
        }
    }

    /// Ends the agreement of an EDCAF for one of its windows.
    fn end_agreement(&mut self, now: Time, originator: usize, place: usize) {
        let before = self.deliveries.released.up.mark();
        let Edcaf { windows, requests, counters, .. } = &mut self.contenders[originator];
        windows[place].end_agreement(now, &self.chain, &mut self.deliveries.released);
        counters.reorder_delay += windows[place].take_reorder_delay();
        requests.retain(|waiting| *waiting != place);
        self.note_passed_up(now, originator, before);
        self.deliveries.report_from(now); // nothing is lost
        self.find_reorder_timeout(now);
    }
}
