//! What the directions of connections are for: which of them had more to send than they could.
//!
//! Only a sender that had data at hand and could not send it competes for a network, so only such directions can starve
//! or get an unfair share. Whether a direction was *held* in this sense, [`crate::tcp::messages`] decides from its
//! segments; port numbers and contents play no role. A direction is held, too, if it ends in one of these ways:
//! - with a retransmission that nobody acknowledged;
//! - with a full segment without PSH and no FIN, and at least [`INITIAL_RTO`] before the capture does. The last segment
//!   of what a sender has queued has PSH (RFC 9293, section 3.9.1.2, MUST-61), so there was more behind this one.

use std::collections::BTreeMap;

use crate::analysis::Analysis;
use crate::segment::Address;
use crate::tcp::connection::CapturedConnection;
use crate::tcp::side::Side;

/// What a direction is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowRole {
    /// It had more to send than it could, at least for some time.
    Data,
    /// It had not, but the other direction; it comes from the client, which opened the connection or, if that is not in
    /// the capture, sent data first.
    Request,
    /// The same from the server.
    Reply,
    /// Neither direction had. The connection was silent while another one between the same hosts carried data, and
    /// talked before it and, if that one ended, after it.
    Control,
    /// Neither direction had: typing, short answers, polls.
    Messages,
}

impl FlowRole {
    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::Request => "request",
            Self::Reply => "reply",
            Self::Control => "control",
            Self::Messages => "messages",
        }
    }
}

/// The initial retransmission timeout of RFC 6298, rule 2.1, in ns: who waits for an ACK is silent for as long.
const INITIAL_RTO: u64 = 1_000_000_000;
/// Payload of a full segment where no MSS was announced (RFC 9293, section 3.7.1); smaller ones may not be full.
const DEFAULT_MSS: u32 = 536;

/// Whether the last data of a side is a full segment without PSH, and no FIN follows.
pub(crate) fn ends_midway(side: &Side) -> bool {
    side.ended.is_none() && !side.ends_short && !side.ends_pushed && side.largest_unpushed >= DEFAULT_MSS
}

/// The bytes of a side before its FIN, once that was seen.
pub(crate) fn bytes_before_fin(side: &Side) -> Option<u64> {
    let start = side.scoreboard.start().filter(|_| side.fins > 0)?;
    u64::try_from(side.fin - start).ok()
}

impl Analysis {
    fn is_held(&self, connection: &CapturedConnection, at: usize) -> bool {
        let side = &connection.sides[at];
        let silent = self.window.1.saturating_sub(side.last_data);
        side.messages.held
            || (side.repeats && side.scoreboard.outstanding() > 0)
            || (ends_midway(side) && silent >= INITIAL_RTO && connection.active_until(at).is_none())
    }

    /// The directions of a connection that were held.
    fn held_sides<'c>(&self, connection: &'c CapturedConnection) -> impl Iterator<Item = &'c Side> {
        let held = [0, 1].map(|at| self.is_held(connection, at).then(|| &connection.sides[at]));
        held.into_iter().flatten()
    }

    /// The role of each direction of each connection.
    pub(crate) fn roles(&self) -> Vec<[FlowRole; 2]> {
        let mut with_data: BTreeMap<[Address; 2], Vec<&CapturedConnection>> = BTreeMap::new();
        for connection in self.connections.iter().filter(|connection| self.held_sides(connection).count() > 0) {
            with_data.entry(hosts(connection)).or_default().push(connection);
        }
        let role = |connection: &CapturedConnection| {
            let held = [0, 1].map(|side| self.is_held(connection, side));
            let first = connection.client();
            match held {
                [true, true] => [FlowRole::Data; 2],
                [false, false] => {
                    let beside = with_data.get(&hosts(connection)).into_iter().flatten();
                    [if beside.take(MOST_COMPARED).any(|data| self.controls(connection, data)) {
                        FlowRole::Control
                    } else {
                        FlowRole::Messages
                    }; 2]
                }
                _ => [0, 1].map(|side| match (held[side], side == first) {
                    (true, _) => FlowRole::Data,
                    (false, true) => FlowRole::Request,
                    (false, false) => FlowRole::Reply,
                }),
            }
        };
        self.connections.iter().map(role).collect()
    }

    /// Whether a connection without data controls one with data: it talked before the data, and after it unless the
    /// data goes on until the end of the capture, and was silent in between.
    fn controls(&self, connection: &CapturedConnection, data: &CapturedConnection) -> bool {
        /// How long before its end the data must stop, in ns, to have stopped before the capture ends.
        const NEAR_THE_END: u64 = 1_000_000_000;
        let Some((from, until)) = self
            .held_sides(data)
            .map(|side| (side.first_data, side.last_data))
            .reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)))
        else {
            return false;
        };
        let talks = || connection.sides.iter().filter(|side| side.unique_bytes > 0);
        let goes_on = until.saturating_add(NEAR_THE_END) >= self.window.1;
        let begins = connection.first <= data.first && talks().any(|side| side.first_data <= from);
        let ends = talks().any(|side| side.last_data >= until) || goes_on;
        // Bins that lie within the time of the data, without its first and last tenth, and one bin at least.
        let (first, last) =
            self.held_sides(data).map(|side| &side.bins).fold((usize::MAX, 0), |(first, last), bins| {
                (first.min(bins.first), last.max(bins.first + bins.bytes.len()))
            });
        let edge = 1 + last.saturating_sub(first) / 10;
        let mut silent = first.saturating_add(edge)..last.saturating_sub(edge);
        let is_silent = silent.all(|bin| talks().all(|side| side.bins.at(bin) == 0));
        begins && ends && is_silent
    }
}

/// The most connections with data between two hosts among which that of a control connection is searched.
const MOST_COMPARED: usize = 64;

/// The hosts of a connection, the smaller address first.
fn hosts(connection: &CapturedConnection) -> [Address; 2] {
    let [a, b] = connection.ends.map(|end| end.address);
    if a < b { [a, b] } else { [b, a] }
}
