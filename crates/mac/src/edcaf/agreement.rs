//! Block ACK agreements that are made on the air.
//!
//! Source: IEEE Std 802.11-2016, 10.24.2 (set-up), 9.6.5.2 and 9.6.5.3 (ADDBA request and response). The originator
//! sends a request before its first data to a receiver in a category, and holds these data back, so that the starting
//! sequence number of the request stays true (as Linux does). The recipient answers in its own time, by its category
//! that goes first. Both frames are sent as single frames with ACK, at the rate of control frames, and tried as often
//! as others. Without a response data go one by one, with ACK, until the originator asks again. The standard leaves
//! open how long it waits and when it asks again ([`RESPONSE_TIMEOUT`], [`ASKED_AGAIN`]).
//!
//! Agreements last: nobody sends a DELBA frame, and they do not time out.

use wifair_units::{Bytes, Duration, Time};

use super::ppdu::rules_between;
use super::settings::BLOCK_ACK_REQ;
use super::{Edcafs, Task, number};
use crate::exchange::Purpose;
use crate::tap::FrameKind;

/// How long an originator waits for a response after its request was acknowledged.
const RESPONSE_TIMEOUT: Duration = Duration::from_millis(100);
/// How long it then sends data one by one.
const ASKED_AGAIN: Duration = Duration::from_secs(1);

/// Length of an ADDBA request or response: header, nine bytes and FCS; with windows above 1023 an ADDBA extension
/// (802.11be).
const fn addba_length(window: u16) -> Bytes {
    Bytes(if window > 1023 { 40 } else { 37 })
}

/// How an originator and a recipient stand with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Agreement {
    /// It is there, or none is needed.
    There,
    /// The originator asks for it before the data that it sends from then on.
    Wanted(Time),
    /// It has asked, or is about to, and waits until then.
    Asked(Time),
}

/// A request or a response that an EDCAF has to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Setup {
    /// The window towards whom it is sent.
    pub window: usize,
    /// The EDCAF whose request it answers, and the place of its window; none of a request.
    pub answers: Option<(usize, usize)>,
}

impl Setup {
    /// What it is on the air.
    pub const fn kind(self) -> FrameKind {
        if self.answers.is_some() { FrameKind::AddbaResponse } else { FrameKind::AddbaRequest }
    }
}

impl Edcafs {
    /// The data that an EDCAF is about to send may need an agreement first: then it asks for it, or waits.
    pub(super) fn agree_first(&mut self, now: Time, index: usize) {
        let contender = &mut self.contenders[index];
        let Some(Task::Data(place)) = contender.task else { return };
        let window = &mut contender.windows[place];
        match window.agreement {
            Agreement::Asked(until) if until <= now => window.agreement = Agreement::Wanted(now + ASKED_AGAIN),
            Agreement::Wanted(from) if from <= now => {
                window.agreement = Agreement::Asked(Time::NEVER);
                contender.setups.push(Setup { window: place, answers: None });
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
    pub(super) fn dataless(&self, station: usize, to: u32, task: Task) -> (Purpose, Bytes) {
        let window = rules_between(&self.stations, station, to).map_or(0, |rules| rules.window);
        match task {
            Task::Setup(_) => (Purpose::Agreement, addba_length(window)),
            _ => (Purpose::BlockAckRequest, BLOCK_ACK_REQ),
        }
    }

    /// Whether there is an agreement with the receiver of what `sender` sends.
    pub(super) fn has_agreement(&self, sender: usize) -> bool {
        let contender = &self.contenders[sender];
        contender.task.is_none_or(|task| contender.windows[task.window()].agreement == Agreement::There)
    }

    /// A request or a response that `sender` sent has arrived.
    pub(super) fn receive_setup(&mut self, now: Time, sender: usize) {
        let station = self.station_of(sender);
        let contender = &self.contenders[sender];
        let Some(&Setup { window, answers }) = contender.setups.first() else { return };
        if let Some((originator, window)) = answers {
            self.contenders[originator].windows[window].agreement = Agreement::There;
            self.paused_queues.sleep(number(originator), now);
            return;
        }
        let index = self.index(contender.ppdu.to, 0);
        let rules = self.stations[self.rate_of(contender.ppdu.to as usize, number(station))].rules.clone();
        let recipient = &mut self.contenders[index];
        let response =
            Setup { window: recipient.window_to(number(station), rules.as_ref()), answers: Some((sender, window)) };
        if !recipient.setups.contains(&response) {
            recipient.setups.push(response);
        }
        if recipient.task.is_none() {
            self.paused_queues.sleep(number(index), now);
        }
    }

    /// The originator or recipient takes note of its request or response that was acknowledged.
    pub(super) fn settle_setup(&mut self, now: Time, sender: usize) {
        let contender = &mut self.contenders[sender];
        let Setup { window, answers } = contender.setups.remove(0);
        let agreement = &mut contender.windows[window].agreement;
        if answers.is_none() && *agreement != Agreement::There {
            *agreement = Agreement::Asked(now + RESPONSE_TIMEOUT);
        }
    }

    /// `sender` gives up a request or response.
    pub(super) fn discard_setup(&mut self, now: Time, sender: usize) {
        let contender = &mut self.contenders[sender];
        let Setup { window, answers } = contender.setups.remove(0);
        let agreement = &mut contender.windows[window].agreement;
        if answers.is_none() && *agreement != Agreement::There {
            *agreement = Agreement::Wanted(now + ASKED_AGAIN);
        }
    }
}
