//! An EDCA function: one category of one station, with what it has to send.

use wifair_packet::entry;
use wifair_units::{Duration, Time};

use super::agreement::{Agreement, QueuedAction};
use super::fast::{EdcafShortcuts, SingleFrame};
use super::settings::{AggregationRules, CategoryCounters, SlotRules};
use super::waiting::CategoryQueues;
use super::window::{Mpdu, SendWindow};
use crate::BROADCAST;
use crate::exchange::ExchangeFrame;
use crate::frame::Ppdu;
use crate::station::Contention;

/// What an EDCAF sends next.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Task {
    /// Pending MPDUs of this window.
    Data(usize),
    /// A BlockAckReq to the receiver of this window.
    Request(usize),
    /// An ADDBA or DELBA frame to the receiver of this window, the first of [`Edcaf::actions`].
    Action(usize),
    /// A frame that needs no window.
    Single(SingleFrame),
}

impl Task {
    pub const fn window(self) -> usize {
        match self {
            Self::Data(window) | Self::Request(window) | Self::Action(window) => window,
            Self::Single(_) => panic!("a single frame has no window"),
        }
    }
}

/// One category of one station: an EDCA function.
#[derive(Debug)]
pub(crate) struct Edcaf {
    /// The station to which it belongs.
    pub station: usize,
    /// Index of that station among the access points, if it is one.
    pub(super) ap: Option<usize>,
    pub waiting: CategoryQueues,
    /// Limit of each queue, in packets.
    pub(super) limit: usize,
    /// Since when it has held back packets in order to aggregate more.
    pub(super) held_since: Option<Time>,
    pub contention: Contention,
    pub aifs: Duration,
    /// When it counts slots: a station from before HT by DCF.
    pub slot_rules: SlotRules,
    pub txop: Duration,
    pub burst: u32,
    /// What is sent next, if anything.
    pub task: Option<Task>,
    pub windows: Vec<SendWindow>,
    /// Windows with MPDUs to retransmit, longest wait first.
    pub backlog: Vec<usize>,
    /// Windows for which a BlockAckReq is due.
    pub requests: Vec<usize>,
    /// ADDBA and DELBA frames to send.
    pub actions: Vec<QueuedAction>,
    /// Index of the window towards each receiver, by its number.
    pub window_of: Vec<Option<usize>>,
    pub ppdu: Ppdu,
    pub(super) shortcuts: EdcafShortcuts,
    /// Start of its TXOP, and number of exchanges in it so far.
    pub won_at: Time,
    pub in_a_row: u32,
    /// Receivers whose CTS has reserved the channel for the rest of this TXOP; [`BROADCAST`] stands for all, after a
    /// CTS-to-self.
    pub(super) reserved_by: Vec<u32>,
    pub counters: CategoryCounters,
}

impl Edcaf {
    /// A TXOP begins.
    #[inline]
    pub fn begin_txop(&mut self, now: Time) {
        self.won_at = now;
        self.in_a_row = 0;
        self.reserved_by.clear();
    }

    /// Notes that the frames before its data have reserved the channel for the rest of its TXOP.
    pub(super) fn note_reservation(&mut self) {
        let by = match self.ppdu.before_data() {
            [] => return,
            [ExchangeFrame::CtsToSelf, ..] => BROADCAST,
            _ => self.ppdu.sole().station,
        };
        self.reserved_by.push(by);
    }

    /// Whether the frames before earlier data have reserved the channel for data to `to` in this TXOP.
    pub(super) fn is_reserved_for(&self, to: u32) -> bool {
        self.reserved_by.contains(&to) || self.reserved_by.contains(&BROADCAST)
    }

    /// Index of the window towards a receiver; created if necessary.
    pub(super) fn window_to(&mut self, to: u32, rules: Option<&AggregationRules>) -> usize {
        let place = if to == BROADCAST { 0 } else { to as usize + 1 };
        *entry(&mut self.window_of, place).get_or_insert_with(|| {
            let mut window = match rules {
                Some(rules) if to != BROADCAST => SendWindow::new(to, rules.window, rules.max_ampdu.0 > 0),
                _ => SendWindow::new(to, 1, false),
            };
            if to != BROADCAST && rules.is_some_and(AggregationRules::makes_agreements) {
                window.agreement = Agreement::Needed(Time::ZERO);
            }
            self.windows.push(window);
            self.windows.len() - 1
        })
    }

    /// Sends an MPDU to `to` next.
    pub(super) fn load_mpdu(&mut self, to: u32, mpdu: Mpdu, rules: Option<&AggregationRules>) {
        let window = self.window_to(to, rules);
        self.windows[window].push(mpdu);
        self.task = Some(Task::Data(window));
    }

    /// Number of packets in the queue that a packet to `to` joins, and of those from it in MPDUs that are neither
    /// acknowledged nor given up.
    pub(super) fn waiting_and_in_flight(&self, to: u32) -> usize {
        let goes_there = |window: &&SendWindow| self.waiting.is_one() || window.to == to;
        self.waiting.len_towards(to)
            + self.windows.iter().filter(goes_there).map(SendWindow::packets_pending).sum::<usize>()
    }

    /// Until when it holds back its packets in order to aggregate more, if it does.
    pub(super) fn holds_back(&mut self, now: Time, rules: &AggregationRules) -> Option<Time> {
        let (packets, time) = rules.wait_until?;
        let waiting = self.waiting.len();
        if waiting == 0 || waiting >= packets as usize {
            self.held_since = None;
            return None;
        }
        let until = *self.held_since.get_or_insert(now) + time;
        if until <= now {
            self.held_since = None;
            return None;
        }
        Some(until)
    }

    /// What must be sent before new data: an ADDBA or DELBA frame, a request, or retransmissions.
    pub(super) fn unfinished(&self, now: Time) -> Option<Task> {
        let action = self.actions.first().map(|action| Task::Action(action.window));
        let request = || self.requests.first().map(|window| Task::Request(*window));
        let is_ready = |window: &&usize| self.windows[**window].agreement_wait(now).is_none();
        action.or_else(request).or_else(|| self.backlog.iter().find(is_ready).map(|window| Task::Data(*window)))
    }

    /// Until when it waits for an agreement, if it does.
    pub(super) fn agreement_wait(&self, now: Time) -> Option<Time> {
        self.backlog.iter().filter_map(|window| self.windows[*window].agreement_wait(now)).min()
    }
}
