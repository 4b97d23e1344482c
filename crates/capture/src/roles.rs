//! What the directions of connections are for: which of them had more to send than they could.
//!
//! Only a sender that had data at hand and could not send it competes for a network, so only such directions can starve
//! or get an unfair share. Whether a direction was *held* in this sense, [`crate::tcp::messages`] decides from its
//! segments; port numbers and contents play no role. A direction is held, too, if it ends with a retransmission that
//! nobody acknowledged.

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

fn is_held(side: &Side) -> bool {
    side.messages.held || (side.repeats && side.scoreboard.outstanding() > 0)
}

impl Analysis {
    /// The role of each direction of each connection.
    pub(crate) fn roles(&self) -> Vec<[FlowRole; 2]> {
        let mut with_data: BTreeMap<[Address; 2], Vec<&CapturedConnection>> = BTreeMap::new();
        for connection in self.connections.iter().filter(|connection| connection.sides.iter().any(is_held)) {
            with_data.entry(hosts(connection)).or_default().push(connection);
        }
        let role = |connection: &CapturedConnection| {
            let held = [0, 1].map(|side| is_held(&connection.sides[side]));
            let first = connection.client();
            match held {
                [true, true] => [FlowRole::Data; 2],
                [false, false] => {
                    let beside = with_data.get(&hosts(connection)).into_iter().flatten();
                    [if beside.take(MOST_COMPARED).any(|data| controls(connection, data, self.window.1)) {
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
}

/// The most connections with data between two hosts among which that of a control connection is searched.
const MOST_COMPARED: usize = 64;

/// The hosts of a connection, the smaller address first.
fn hosts(connection: &CapturedConnection) -> [Address; 2] {
    let [a, b] = connection.ends.map(|end| end.address);
    if a < b { [a, b] } else { [b, a] }
}

/// Whether a connection without data controls one with data: it talked before the data, and after it unless the data
/// goes on until the `end` of the capture, and was silent in between.
fn controls(connection: &CapturedConnection, data: &CapturedConnection, end: u64) -> bool {
    /// How long before its end the data must stop, in ns, to have stopped before the capture ends.
    const NEAR_THE_END: u64 = 1_000_000_000;
    let bulk = data.sides.iter().filter(|side| is_held(side));
    let Some((from, until)) = bulk
        .map(|side| (side.first_data, side.last_data))
        .reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)))
    else {
        return false;
    };
    let talks = || connection.sides.iter().filter(|side| side.unique_bytes > 0);
    let goes_on = until.saturating_add(NEAR_THE_END) >= end;
    let begins = connection.first <= data.first && talks().any(|side| side.first_data <= from);
    let ends = talks().any(|side| side.last_data >= until) || goes_on;
    // Bins that lie within the time of the data, without its first and last tenth, and one bin at least.
    let inner = data.sides.iter().filter(|side| is_held(side)).map(|side| &side.bins);
    let (first, last) = inner
        .fold((usize::MAX, 0), |(first, last), bins| (first.min(bins.first), last.max(bins.first + bins.bytes.len())));
    let edge = 1 + last.saturating_sub(first) / 10;
    let mut silent = first.saturating_add(edge)..last.saturating_sub(edge);
    let is_silent = silent.all(|bin| talks().all(|side| side.bins.at(bin) == 0));
    begins && ends && is_silent
}
