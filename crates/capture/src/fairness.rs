//! The fairness of a capture.
//!
//! A flow is a direction of a connection that carried data. Goodput is new bytes at the capture point, per time bin.
//! Only flows whose role is data compete ([`crate::FlowRole`]), and only if no application limited them most of the
//! time. Requests, replies, control connections and short messages are counted, but never starve and enter no index.
//!
//! A flow is active from its first data, or from its SYN if that had to be repeated, until its FIN or a RST; without
//! one until the end of the capture, unless it is known to have had no more to send
//! ([`CapturedConnection::active_until`]).
//! Jain's index is computed over the goodput of competing flows: in the whole capture over those that asked for more
//! than they got; in each bin over those active in it, and over the time in which all of them are active, over those
//! that ended before, too.
//!
//! Starvation is defined as for simulated runs (`wifair_metrics::starved`): a flow starves if it gets less than a tenth
//! of its max-min fair share of what all flows got, or of the fair share that is given. A flow counts as having asked
//! only for what it got if its role is not data, if its application (or that of its receiver, which had window zero)
//! limited it for longer than everything else, or if it ended with everything acknowledged while others continued, or
//! without having waited for an ACK. One that ended earlier than the others, but whose data were not all acknowledged,
//! asked for the data before its FIN. Every other flow asked for more, and so did those that never began (attempts).
//! Where the capture leaves open if a flow asked for more, the others are judged both ways.
//!
//! In a simulated run, a flow got the bytes that its receiver could hand to the application. A capture gives a lower
//! bound, the acknowledged bytes, and an upper bound, the bytes without a hole before them. Data in an 802.11 frame has
//! passed the queue of its transmitter, and the ACK may still be lost in the queue of the access point, so in 802.11
//! captures the upper bound counts. In other captures, data may still be lost in a later queue, so the lower bound
//! counts. A flow is marked as near the threshold if the choice of the bound or what was left open matters, or if it is
//! within a tenth of the threshold.
//!
//! A connection that never carried data is no flow. If it was not refused and its SYN was repeated, or answered
//! without an ACK of the client within 3 s, it is an attempt.
//!
//! [`CapturedConnection::active_until`]: crate::tcp::connection::CapturedConnection::active_until
//!
//! Transmission sessions and their instantaneous fairness index follow Y.-J. Jung and C. Y. Park, "Instantaneous
//! Fairness of TCP in Heterogeneous Traffic Wireless LAN Environments", 2016. With the fair share S (eq. 1, measured
//! here as the total goodput while any flow was active, divided by the number of flows), a session of l bytes that
//! takes the time m has r = l / (m S) (eq. 2), and the index is the mean of r over all sessions that ended (eq. 3). m
//! runs from the first byte to the last one sent; with `_acked`, to its acknowledgement.

use wifair_metrics::{FinishRatios, Jain, STARVED_BELOW, Supply, jain_index, max_min_shares};

use crate::analysis::Analysis;
use crate::json::JsonWriter;
use crate::roles::{FlowRole, bytes_before_fin, ends_midway};
use crate::segment::{Address, Endpoint};
use crate::tcp::side::{Side, StationDirection, TransmissionSession};

/// A direction that carried data.
#[derive(Clone, Debug, PartialEq)]
pub struct CapturedFlow {
    /// Index of its connection.
    pub connection: usize,
    /// 0 from a to b, 1 from b to a.
    pub side: usize,
    /// Its sender and receiver.
    pub ends: [Endpoint; 2],
    /// What it is for.
    pub role: FlowRole,
    /// Whether an application limited it for longer than everything else: its own, or that of its receiver.
    pub application_limited: bool,
    /// New bytes.
    pub bytes: u64,
    /// Its direction seen from the stations, if networks were given or 802.11 headers show it.
    pub way: Option<StationDirection>,
    /// Its first and last bin.
    pub bins: (usize, usize),
    /// New bytes per bin, from the first to the last.
    pub bytes_in_bins: Vec<u64>,
    /// What it got, divided by an equal share of what all active flows got in its bins; of competing flows.
    pub share: Option<f64>,
    /// How long it was active, in s.
    pub active_s: f64,
    /// Whether it got less than a tenth of its max-min fair share.
    pub starved: bool,
    /// Whether another capture point could judge this otherwise.
    pub near_threshold: bool,
    /// Whether it asked for no more than it got: its role is not data, an application limited it, or it ended while
    /// others continued, or without having waited for an ACK.
    pub modest: bool,
    /// Whether the capture leaves open if it had more to send. It is then treated as if it had, except if its only sign
    /// is a full segment just before the end.
    pub unsure: bool,
    /// The bytes before its FIN, if it ended earlier than the others.
    pub ended_after: Option<u64>,
    /// Longest time without a new byte between its first and last one, in s.
    pub longest_stall_s: f64,
}

/// The initial retransmission timeout of RFC 2988, rule 2.1, in ns; RFC 6298 lowered that timeout to 1 s.
///
/// A client that gets the answer to its SYN acknowledges it at once. By this time after the answer passed, either the
/// client's ACK has passed too, or the timer of the client, the server or both has expired and the handshake has failed
/// so far. Before that, the ACK may still be on its way.
const INITIAL_RTO: u64 = 3_000_000_000;

/// A connection that was asked for in vain: its SYN was repeated, or answered without an ACK of the
/// answer within 3 s.
#[derive(Clone, Debug, PartialEq)]
pub struct ConnectionAttempt {
    /// Index of the connection.
    pub connection: usize,
    /// The sender of the SYN and its destination.
    pub ends: [Endpoint; 2],
    /// SYNs, repeated ones included.
    pub syns: u64,
    /// Answers (SYN and ACK) that passed the capture point.
    pub answers: u64,
    /// From the first to the last packet, in s.
    pub duration_s: f64,
}

/// What a host received and sent.
#[derive(Clone, Debug, PartialEq)]
pub struct HostTraffic {
    /// The host.
    pub address: Address,
    /// New bytes that it sent.
    pub sent: u64,
    /// New bytes that it received.
    pub received: u64,
    /// Sent and received bytes together, per bin of the capture.
    pub bytes_in_bins: Vec<u64>,
}

/// Sessions of all flows with pauses.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowSessions {
    /// Index into [`Fairness::flows`], and the session.
    pub sessions: Vec<(usize, TransmissionSession)>,
    /// Sessions still in progress when the capture ended.
    pub unfinished: u64,
    /// Sessions without a duration: sent in a single burst, or never acknowledged.
    pub unmeasured: u64,
    /// Sessions beyond the limit on the number kept.
    pub dropped: u64,
    /// Instantaneous fairness index with times up to the last byte sent.
    pub index_sent: Option<f64>,
    /// Instantaneous fairness index with times up to the last byte acknowledged.
    pub index_acked: Option<f64>,
}

/// The fairness of a capture.
#[derive(Clone, Debug, PartialEq)]
pub struct Fairness {
    /// Width of the bins, in s.
    pub bin_s: f64,
    /// The flows, in the order of their connections.
    pub flows: Vec<CapturedFlow>,
    /// Connections that were asked for in vain.
    pub attempts: Vec<ConnectionAttempt>,
    /// The hosts that sent or received data, by address.
    pub hosts: Vec<HostTraffic>,
    /// Jain's index over the flows' goodput.
    pub jain: Option<f64>,
    /// Jain's index over the time in which all flows are active.
    pub jain_overlap: Option<f64>,
    /// The time in which all flows are active, in s.
    pub overlap_s: f64,
    /// Jain's index in each bin; `None` if no flow is active.
    pub jain_in_bins: Vec<Option<f64>>,
    /// New bytes sent by stations, and sent to stations, if the capture shows the direction.
    pub uplink_downlink: Option<(u64, u64)>,
    /// Fair share of a flow, in bit/s: given, or measured.
    pub fair_share_bps: Option<f64>,
    /// Transmission sessions.
    pub sessions: FlowSessions,
}

/// Jain's index; `None` without values or if all are zero.
pub fn jain(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.into_iter().collect();
    some(jain_index(&values))
}

fn some(index: f64) -> Option<f64> {
    (!index.is_nan()).then_some(index)
}

impl CapturedFlow {
    /// Whether it had more to send than it could, for most of the time in which it was active.
    pub fn competes(&self) -> bool {
        self.role == FlowRole::Data && !self.application_limited
    }

    fn at(&self, bin: usize) -> u64 {
        bin.checked_sub(self.bins.0).and_then(|at| self.bytes_in_bins.get(at)).copied().unwrap_or(0)
    }
}

impl Analysis {
    /// Computes the fairness of the whole capture.
    pub fn fairness(&self) -> Fairness {
        let bin_s = self.bin as f64 / 1e9;
        let mut flows: Vec<CapturedFlow> = Vec::new();
        let mut sides: Vec<&Side> = Vec::new();
        let latest = self.connections.iter().flat_map(|connection| &connection.sides).map(|side| side.last_data).max();
        let (from, end) = self.window;
        let others_go_on = latest.unwrap_or(0).saturating_sub((end.saturating_sub(from) / 10).max(1_000_000_000));
        let roles = self.roles();
        for (number, connection) in self.connections.iter().enumerate() {
            for (at, side) in connection.sides.iter().enumerate() {
                if side.unique_bytes == 0 {
                    continue;
                }
                let mut bytes_in_bins = side.bins.bytes.clone();
                let until = connection.active_until(at).unwrap_or(end).clamp(side.last_data, end.max(side.last_data));
                let length = (self.bin_of(until) + 1).saturating_sub(side.bins.first);
                bytes_in_bins.resize(length.max(bytes_in_bins.len()), 0);
                let bins = (side.bins.first, side.bins.first + bytes_in_bins.len() - 1);
                let stall = longest_run(&bytes_in_bins) as f64 * bin_s;
                let over = side.clear_since.map_or(side.last_data, |since| since.max(side.last_data));
                // All data left before the first ACK, once, and a FIN came: a flow that wanted more would have gone on.
                let at_once = side.initial_bytes == side.unique_bytes && side.again_packets == 0;
                let complete = side.fins > 0 && side.scoreboard.outstanding() == 0;
                let finished = complete && (at_once || over < others_go_on);
                let role = roles[number][at];
                let ended_first = side.fins > 0 && side.ended.is_some_and(|ended| ended < others_go_on);
                let active = until.saturating_sub(connection.wanted_since(at));
                let reader = &connection.sides[1 - at];
                let application_limited = side.limits.application_dominates() || reader.zero_nanos > active / 2;
                let modest = finished || application_limited || role != FlowRole::Data;
                // Time that the capture does not explain: waits without visible cause, and the silence at the end.
                let silence = if side.scoreboard.outstanding() > 0 { 0 } else { until.saturating_sub(side.last_data) };
                let seen = side.limits.congestion.saturating_add(side.limits.receiver);
                let ends = [connection.ends[at], connection.ends[1 - at]];
                flows.push(CapturedFlow {
                    connection: number,
                    side: at,
                    ends,
                    role,
                    application_limited,
                    bytes: side.unique_bytes,
                    way: self.way(&ends, side.way),
                    bins,
                    bytes_in_bins,
                    share: None,
                    active_s: active as f64 / 1e9,
                    starved: false,
                    near_threshold: false,
                    modest,
                    // At the end of the capture, some senders finish and others are stopped.
                    unsure: (!modest && (complete || side.limits.unknown.saturating_add(silence) > seen))
                        || (role == FlowRole::Messages && ends_midway(side)),
                    ended_after: bytes_before_fin(side).filter(|_| ended_first),
                    longest_stall_s: stall,
                });
                sides.push(side);
            }
        }
        let count = flows.iter().map(|flow| flow.bins.1 + 1).max().unwrap_or(0);
        // For each bin, the bytes and the number of active flows, of those that compete.
        let mut total = vec![(0u64, 0u32); count];
        for flow in flows.iter().filter(|flow| flow.competes()) {
            for (at, bytes) in flow.bytes_in_bins.iter().enumerate() {
                total[flow.bins.0 + at].0 += bytes;
                total[flow.bins.0 + at].1 += 1;
            }
        }
        for flow in flows.iter_mut().filter(|flow| flow.competes()) {
            let fair: f64 =
                total[flow.bins.0..=flow.bins.1].iter().map(|(bytes, active)| *bytes as f64 / f64::from(*active)).sum();
            flow.share = (fair > 0.0).then(|| flow.bytes as f64 / fair);
        }
        let attempts = self.attempts();
        self.judge(&mut flows, &sides, &attempts, bin_s);
        let competing = || flows.iter().filter(|flow| flow.competes());
        let overlap = overlap(competing());
        let in_overlap = |flow: &CapturedFlow| overlap.clone().map(|bin| flow.at(bin)).sum::<u64>() as f64;
        let jain_overlap = if overlap.is_empty() { None } else { jain(competing().map(in_overlap)) };
        let jain_in_bins = self.jain_in_bins(competing(), count);
        // Sessions are those of data, whether or not their application paused in between.
        let carries = |flow: &&CapturedFlow| flow.role == FlowRole::Data;
        let mut is_busy = vec![false; count];
        for flow in flows.iter().filter(carries) {
            is_busy[flow.bins.0..=flow.bins.1].fill(true);
        }
        let busy = is_busy.iter().filter(|busy| **busy).count();
        let all: u64 = flows.iter().filter(carries).map(|flow| flow.bytes).sum();
        let senders = flows.iter().filter(carries).count();
        let fair_share_bps = match self.settings.fair_share {
            Some(rate) => Some(rate.as_bps() as f64),
            None => (busy > 0).then(|| 8.0 * all as f64 / (busy as f64 * bin_s) / senders as f64),
        };
        let sides: Vec<Option<&Side>> =
            flows.iter().zip(sides).map(|(flow, side)| carries(&flow).then_some(side)).collect();
        Fairness {
            bin_s,
            jain: jain(competing().filter(|flow| !flow.modest).map(|flow| flow.bytes as f64)),
            jain_overlap,
            overlap_s: overlap.len() as f64 * bin_s,
            jain_in_bins,
            hosts: hosts(&flows, count),
            uplink_downlink: uplink_downlink(&flows),
            fair_share_bps,
            sessions: sessions(&sides, fair_share_bps),
            attempts,
            flows,
        }
    }

    /// Determines which flows starve; `sides` are the sides of the flows, `bin_s` is the width of a bin.
    fn judge(&self, flows: &mut [CapturedFlow], sides: &[&Side], attempts: &[ConnectionAttempt], bin_s: f64) {
        let is_heard = |flow: &CapturedFlow| self.connections[flow.connection].sides[1 - flow.side].packets > 0;
        let received = |(flow, side): (&CapturedFlow, &&Side)| side.received(is_heard(flow)).map(|bytes| bytes as f64);
        let bounds: Vec<[f64; 2]> = flows.iter().zip(sides).map(received).collect();
        // What each got and asked for, and its fair share, if flows of which it is open had more to send or had not.
        let judged = |unsure_want_more: bool| -> Vec<(Supply, f64)> {
            let supply = |((flow, side), [acked, whole]): ((&CapturedFlow, &&Side), &[f64; 2])| {
                let got = if side.way.is_some() { *whole } else { *acked };
                let asked = match flow.ended_after {
                    _ if flow.modest || (flow.unsure && !unsure_want_more) => got,
                    Some(bytes) => got.max(bytes as f64),
                    None => f64::INFINITY,
                };
                // A burst in a single instant has no duration, so it counts as one bin.
                Supply { got, asked, active: flow.active_s.max(bin_s) }
            };
            let supplies: Vec<Supply> = flows.iter().zip(sides).zip(&bounds).map(supply).collect();
            let shares = match self.settings.fair_share {
                Some(rate) => {
                    supplies.iter().map(|flow| flow.asked.min(rate.as_bps() as f64 / 8.0 * flow.active)).collect()
                }
                None => {
                    let vain = attempts.iter().map(|attempt| {
                        let began = self.connections[attempt.connection].first;
                        let active = self.window.1.saturating_sub(began) as f64 / 1e9;
                        Supply { active: active.max(bin_s), ..Supply::endless(0.0) }
                    });
                    max_min_shares(&supplies.iter().copied().chain(vain).collect::<Vec<_>>())
                }
            };
            supplies.into_iter().zip(shares).collect()
        };
        let starves = |(supply, share): &(Supply, f64), got: f64| {
            supply.asked > 0.0 && (got <= 0.0 || got < STARVED_BELOW * share)
        };
        let [wanting, content] = [true, false].map(judged);
        for (at, (flow, [acked, whole])) in flows.iter_mut().zip(&bounds).enumerate() {
            flow.starved = starves(&wanting[at], wanting[at].0.got);
            // It is told of a flow itself whether it is open if it had more to send.
            let others_wanted_less = if flow.unsure { &wanting[at] } else { &content[at] };
            let low = starves(&wanting[at], 0.9 * acked) || starves(others_wanted_less, 0.9 * acked);
            let high = starves(&wanting[at], 1.1 * whole) && starves(others_wanted_less, 1.1 * whole);
            flow.near_threshold = !flow.modest && low != high;
        }
    }

    fn attempts(&self) -> Vec<ConnectionAttempt> {
        let mut found = Vec::new();
        for (number, connection) in self.connections.iter().enumerate() {
            let refused = connection.sides.iter().any(|side| side.resets > 0);
            if refused || connection.sides.iter().any(|side| side.data_packets > 0) {
                continue;
            }
            // The first segment in the capture may be an answer.
            let client = usize::from(connection.sides[0].syns == 0 || connection.sides[0].acks > 0);
            let [syns, answers] = [client, 1 - client].map(|side| connection.sides[side].syns);
            let answered = connection.sides[1 - client].first;
            let expired = self.window.1.saturating_sub(answered) >= INITIAL_RTO;
            if connection.sides[client].acks == 0 && (syns > 1 || (answers > 0 && expired)) {
                found.push(ConnectionAttempt {
                    connection: number,
                    ends: [connection.ends[client], connection.ends[1 - client]],
                    syns,
                    answers,
                    duration_s: connection.last.saturating_sub(connection.first) as f64 / 1e9,
                });
            }
        }
        found
    }

    fn jain_in_bins<'f>(&self, flows: impl Iterator<Item = &'f CapturedFlow>, count: usize) -> Vec<Option<f64>> {
        // A single pass over the bins of each flow.
        let mut in_bins = vec![Jain::default(); count];
        for flow in flows {
            for (jain, bytes) in in_bins[flow.bins.0..].iter_mut().zip(&flow.bytes_in_bins) {
                jain.add(*bytes as f64);
            }
        }
        in_bins.iter().map(|jain| some(jain.index())).collect()
    }

    /// The bin of a time.
    fn bin_of(&self, nanos: u64) -> usize {
        let first = self.span.map_or(nanos, |(first, _)| first);
        (nanos.saturating_sub(first) / self.bin) as usize
    }

    /// The direction, from the given networks, or from the bits To DS and From DS of 802.11 frames.
    pub(crate) fn way(&self, ends: &[Endpoint; 2], heard: Option<StationDirection>) -> Option<StationDirection> {
        let local = &self.settings.local;
        if local.is_empty() {
            return heard;
        }
        let is_local = |end: &Endpoint| local.iter().any(|(network, prefix)| end.address.is_in(*network, *prefix));
        match [is_local(&ends[0]), is_local(&ends[1])] {
            [true, false] => Some(StationDirection::Up),
            [false, true] => Some(StationDirection::Down),
            _ => None,
        }
    }
}

/// New bytes sent by stations, and sent to stations; `None` if no flow's direction is known.
fn uplink_downlink(flows: &[CapturedFlow]) -> Option<(u64, u64)> {
    let of =
        |way: StationDirection| flows.iter().filter(move |flow| flow.way == Some(way)).map(|flow| flow.bytes).sum();
    flows.iter().any(|flow| flow.way.is_some()).then(|| (of(StationDirection::Up), of(StationDirection::Down)))
}

/// The bins in which all flows are active, without the first and last bin of any flow, in which a flow is active only
/// in part.
fn overlap<'f>(flows: impl Iterator<Item = &'f CapturedFlow>) -> std::ops::Range<usize> {
    let bins = flows.map(|flow| (flow.bins.0 + 1, flow.bins.1));
    let (from, to) = bins.reduce(|one, other| (one.0.max(other.0), one.1.min(other.1))).unwrap_or((0, 0));
    from..to.max(from)
}

fn longest_run(bins: &[u64]) -> usize {
    bins.split(|bytes| *bytes > 0).map(<[u64]>::len).max().unwrap_or(0)
}

fn hosts(flows: &[CapturedFlow], count: usize) -> Vec<HostTraffic> {
    let mut hosts: std::collections::BTreeMap<Address, HostTraffic> = std::collections::BTreeMap::new();
    for flow in flows {
        for (at, end) in flow.ends.iter().enumerate() {
            let host = hosts.entry(end.address).or_insert_with(|| HostTraffic {
                address: end.address,
                sent: 0,
                received: 0,
                bytes_in_bins: vec![0; count],
            });
            *[&mut host.sent, &mut host.received][at] += flow.bytes;
            for (bin, bytes) in flow.bytes_in_bins.iter().enumerate() {
                host.bytes_in_bins[flow.bins.0 + bin] += bytes;
            }
        }
    }
    hosts.into_values().collect()
}

/// The sessions of flows with data that paused at least once; one without pauses is persistent, an endless session.
fn sessions(sides: &[Option<&Side>], fair_share_bps: Option<f64>) -> FlowSessions {
    let mut found = FlowSessions::default();
    let (mut sent, mut acked) = (FinishRatios::default(), FinishRatios::default());
    for (at, side) in sides.iter().enumerate().filter_map(|(at, side)| side.map(|side| (at, side))) {
        if side.sessions.ended.is_empty() {
            continue;
        }
        found.dropped += side.sessions.dropped;
        let over = side.fins > 0 || side.resets > 0;
        let last = side.sessions.current.filter(|session| session.acked.is_some() || over);
        found.unfinished += u64::from(last.is_none());
        for session in side.sessions.ended.iter().chain(&last) {
            found.sessions.push((at, *session));
            let times = [(&mut sent, Some(session.sent)), (&mut acked, session.acked)];
            let mut measured = false;
            for (ratios, end) in times {
                let seconds = end.map_or(0, |end| end.saturating_sub(session.start)) as f64 / 1e9;
                let share = fair_share_bps.unwrap_or(f64::NAN) / 8.0;
                measured |= ratios.add(session.bytes as f64, seconds, share).is_some();
            }
            found.unmeasured += u64::from(!measured);
        }
    }
    found.index_sent = some(sent.index());
    found.index_acked = some(acked.index());
    found
}

impl Fairness {
    pub(crate) fn json(&self, json: &mut JsonWriter) {
        let bps = |bytes: u64| 8.0 * bytes as f64 / self.bin_s;
        json.put("bin_s", self.bin_s);
        json.put("jain", self.jain);
        json.put("jain_overlap", self.jain_overlap);
        json.put("overlap_s", self.overlap_s);
        json.list("jain_in_bins", self.jain_in_bins.iter().copied());
        json.put("uplink_bytes", self.uplink_downlink.map(|(up, _)| up));
        json.put("downlink_bytes", self.uplink_downlink.map(|(_, down)| down));
        let ratio = self.uplink_downlink.filter(|(_, down)| *down > 0).map(|(up, down)| up as f64 / down as f64);
        json.put("uplink_downlink_ratio", ratio);
        json.put("fair_share_bps", self.fair_share_bps);
        json.objects("flows", &self.flows, |json, flow| {
            json.put("connection", flow.connection + 1);
            json.put("direction", if flow.side == 0 { "a2b" } else { "b2a" });
            json.put("from", flow.ends[0].to_string());
            json.put("to", flow.ends[1].to_string());
            json.put("role", flow.role.name());
            json.put("bytes", flow.bytes);
            let way = flow.way.map(StationDirection::name);
            json.put("way", way);
            json.put("fair_share_ratio", flow.share);
            json.put("active_s", flow.active_s);
            json.put("starved", flow.starved);
            json.put("near_threshold", flow.near_threshold);
            json.put("competes", flow.competes());
            json.put("had_no_more", flow.modest);
            json.put("unsure", flow.unsure);
            json.put("longest_stall_s", flow.longest_stall_s);
            json.put("first_bin", flow.bins.0);
            json.list("goodput_bps", flow.bytes_in_bins.iter().map(|bytes| bps(*bytes)));
        });
        json.objects("attempts", &self.attempts, |json, attempt| {
            json.put("connection", attempt.connection + 1);
            json.put("from", attempt.ends[0].to_string());
            json.put("to", attempt.ends[1].to_string());
            json.put("syns", attempt.syns);
            json.put("answers", attempt.answers);
            json.put("duration_s", attempt.duration_s);
        });
        json.objects("hosts", &self.hosts, |json, host| {
            json.put("host", std::net::IpAddr::from(host.address).to_string());
            json.put("sent_bytes", host.sent);
            json.put("received_bytes", host.received);
            json.list("goodput_bps", host.bytes_in_bins.iter().map(|bytes| bps(*bytes)));
        });
        json.object("sessions", |json| {
            let sessions = &self.sessions;
            json.put("count", sessions.sessions.len());
            json.put("unfinished", sessions.unfinished);
            json.put("unmeasured", sessions.unmeasured);
            json.put("dropped", sessions.dropped);
            json.put("instantaneous_fairness_sent", sessions.index_sent);
            json.put("instantaneous_fairness_acked", sessions.index_acked);
            json.objects("list", &sessions.sessions, |json, (flow, session)| {
                json.put("flow", *flow);
                json.put("start_ns", session.start);
                json.put("bytes", session.bytes);
                let span = |end: u64| end.saturating_sub(session.start) as f64 / 1e9;
                json.put("sent_s", span(session.sent));
                json.put("acked_s", session.acked.map(span));
            });
        });
    }
}
