//! The rules: what each claims, on which evidence, and what would refute it.

mod air;
mod datagrams;
mod losses;
mod mixture;
mod shares;
mod waiting;

use crate::fact::Fact;
use crate::view::View;

/// A sentence that may be said.
#[derive(Clone, Copy)]
pub struct ExplanationRule {
    /// Its name.
    pub name: &'static str,
    /// What it claims.
    pub claims: &'static str,
    /// The least traffic and time without which it says nothing.
    pub needs: &'static str,
    /// The observation that would refute it.
    pub refuted_by: &'static str,
    pub(crate) tell: fn(&View<'_>) -> Vec<Fact>,
}

impl std::fmt::Debug for ExplanationRule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ExplanationRule").field("name", &self.name).finish_non_exhaustive()
    }
}

macro_rules! rules {
    ($($module:ident::$tell:ident: $claims:literal, needs $needs:literal, refuted by $refuted:literal;)+) => {
        /// All rules, in the order in which their sentences are said.
        pub const RULES: &[ExplanationRule] = &[$(ExplanationRule {
            name: stringify!($tell),
            claims: $claims,
            needs: $needs,
            refuted_by: $refuted,
            tell: $module::$tell,
        }),+];
    };
}

rules! {
    shares::shares: "what flows get, who gets most and least, and whether all get about the same",
        needs "a flow", refuted by "other goodputs; a largest above 1.1 times the smallest where all are said to get the same";
    shares::starved: "which flows get less than a tenth of a max-min fair share",
        needs "two flows", refuted by "a goodput above a tenth of that share";
    shares::late: "flows that were absent for part of the measured time",
        needs "a start later than a twentieth of it", refuted by "an earlier start in the scenario";
    shares::directions: "how persistent uplink and downlink flows compare, and what the access point has to send",
        needs "half a second and 100 packets of a flow", refuted by "another ratio; an access point that sends more often than it is said to";
    mixture::controls: "that flows with one congestion control get a fraction of what those with another get",
        needs "half a second and 100 packets", refuted by "equal shares once all use one control";
    losses::dropped_acks: "how many ACKs the access point drops, and whether small windows wait for timers because of it",
        needs "a dropped ACK", refuted by "mean windows that are not smaller where timers expired";
    losses::acks_dropped_at_stations: "that stations' queues drop ACKs of downloads",
        needs "100 data packets of which a twentieth have their ACK dropped", refuted by "fewer drops";
    losses::dropped_data: "where data packets were lost",
        needs "a lost packet", refuted by "other counts of drops";
    losses::timeouts: "whose retransmission timers expired, and what those flows get",
        needs "a timeout", refuted by "flows with timeouts that get as much as those without";
    waiting::waiting: "that round trips take much longer than without load",
        needs "round trips of the whole path, loaded and idle", refuted by "a shortest round trip that is not half of the mean";
    waiting::slow_readers: "that a receiver's application holds a flow of a capture back",
        needs "a closed window and the larger part of the sending time", refuted by "a window that is rarely full";
    waiting::queue: "the access point's queue: discipline, number of queues and limit, and how full it was",
        needs "an access point", refuted by "another queue in the scenario";
    datagrams::calls: "that calls would sound bad",
        needs "datagrams at 8 to 128 kb/s, ten a second", refuted by "an R-factor of 70 or more";
    datagrams::overloads: "that datagrams ask for more than they get",
        needs "a rate above that of calls and losses of 2 %", refuted by "fewer losses";
    air::wires: "that a wired link is full",
        needs "throughput of nine tenths of its rate", refuted by "less throughput";
    waiting::limits: "whether receive windows or congestion control decide how much flows send",
        needs "half a second", refuted by "mean congestion windows that are not at, or near, their bound";
    datagrams::sessions: "how fair the times of TCP sessions were",
        needs "a session; none of datagrams or echoes", refuted by "another index";
    air::radio: "which stations lose frames to errors",
        needs "10 failed attempts", refuted by "errors of less than 2 %";
    air::hidden: "which stations send to one access point without hearing each other, and that their frames collide",
        needs "positions, and 100 attempts of both", refuted by "stations that sense each other; fewer collisions than 10 %";
    air::capture_effect: "that the frames of some stations collide more often than those of others",
        needs "positions, and 100 attempts of both", refuted by "alike shares of collisions";
    air::protection: "how much time protection against stations of 802.11b takes, or RTS/CTS",
        needs "a twentieth of the time", refuted by "a network without such stations that takes as much";
    mixture::small_aggregates: "that aggregates are small because congestion controls keep few segments in flight",
        needs "half a second, 100 PPDUs and hardly any errors", refuted by "many segments in flight, or aggregates above 16 packets";
    air::slow_stations: "that an uploading station takes much longer for a frame than another",
        needs "half a second and 100 frames of both", refuted by "a share of the air that is not above its share of the frames";
    air::slow_receivers: "that a bit to one station takes much more air than a bit to another",
        needs "half a second, 100 packets of both, and a twentieth of the time for the slow one",
        refuted by "a share of the air that is not above its share of the goodput";
    air::air: "what the time on the air is used for",
        needs "a wireless network", refuted by "other shares";
    datagrams::attempts: "connections of a capture that never carried data",
        needs "a SYN", refuted by "data";
    datagrams::flows_of_datagrams: "the flows of datagrams in a capture, and whether calls among them would sound bad",
        needs "a datagram", refuted by "other rates";
    datagrams::echoes: "the echoes in a capture",
        needs "an echo", refuted by "other times";
}
