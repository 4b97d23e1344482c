//! The host under test: its sockets, its connection and its clock.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use wifair_tcp::accecn::EcnCodepoint;
use wifair_units::{Duration, Time};

use crate::connection::{Moment, ScriptConnection, SocketOptions, TimedSegment, reset_for};
use crate::script::ScriptSegment;
use crate::system::System;

/// The socket of a file descriptor.
#[derive(Clone, Debug)]
pub enum Socket {
    /// Neither listening nor connected.
    Fresh(SocketOptions),
    /// Listening.
    Listening(SocketOptions),
    /// Connected, with the index of its connection.
    Connected(usize),
}

/// The host under test.
#[derive(Debug, Default)]
pub struct ScriptHost {
    /// Its settings.
    pub system: System,
    /// Simulated time.
    pub now: Time,
    pub(crate) sockets: BTreeMap<i64, Socket>,
    pub(crate) connections: Vec<ScriptConnection>,
    /// Connections that the application has not accepted yet.
    pub(crate) waiting: VecDeque<usize>,
    /// Sockets that reset their connection when they are closed (`SO_LINGER` with 0 s).
    pub(crate) lingers_not: BTreeSet<i64>,
    /// Segments sent and not compared yet.
    pub(crate) sent: VecDeque<TimedSegment>,
}

impl ScriptHost {
    /// A host with these settings, at time zero.
    pub fn new(system: System) -> Self {
        Self { system, ..Self::default() }
    }

    /// When the next timer is due.
    fn deadline(&self) -> Time {
        self.connections.iter().map(ScriptConnection::deadline).min().unwrap_or(Time::NEVER)
    }

    /// Advances the time to `to`, and handles all timers due before.
    pub fn advance(&mut self, to: Time) {
        while self.step(to) {}
        self.now = self.now.max(to);
    }

    /// Handles the next timer due before `to`; returns whether there was one.
    pub fn step(&mut self, to: Time) -> bool {
        let at = self.deadline();
        if at >= to {
            return false;
        }
        self.now = self.now.max(at);
        self.act(|connections, moment| {
            for connection in connections {
                if connection.deadline() <= moment.now {
                    connection.on_timer(moment);
                }
            }
        });
        true
    }

    /// Lets connections act now, and takes the segments that they send.
    pub(crate) fn act<T>(&mut self, act: impl FnOnce(&mut Vec<ScriptConnection>, &mut Moment<'_>) -> T) -> T {
        let mut moment = Moment { system: &self.system, now: self.now, out: Vec::new() };
        let result = act(&mut self.connections, &mut moment);
        let sent = moment.out;
        if !self.system.device_full {
            self.sent.extend(sent);
        }
        result
    }

    /// Handles a segment that arrives.
    pub fn inject(&mut self, segment: &ScriptSegment) {
        let is_syn = segment.flags.syn && !segment.flags.ack;
        let listening = self.sockets.values().find_map(|socket| match socket {
            Socket::Listening(options) => Some(options.clone()),
            _ => None,
        });
        let accepted = self.act(|connections, moment| {
            if let Some(connection) = connections.last_mut()
                && !(is_syn && connection.deadline() == Time::NEVER && connection.closed)
                && connection.on_segment(moment, segment)
            {
                return None;
            }
            match listening {
                _ if segment.flags.rst => {}
                // RFC 9293, section 3.10.7.2: an ACK is answered with a reset, a SYN opens a connection, and anything
                // else is dropped; so is a SYN with FIN in Linux.
                Some(options) if !segment.flags.ack => {
                    if is_syn && !segment.flags.fin {
                        connections.push(ScriptConnection::accept(moment, options, segment));
                        return Some(connections.len() - 1);
                    }
                }
                _ => moment.out.push(reset_for(moment.now, segment)),
            }
            None
        });
        self.waiting.extend(accepted);
    }

    /// The connection under test: the last one opened.
    pub(crate) fn connection(&self) -> Option<&ScriptConnection> {
        self.connections.last()
    }

    /// Remembers which of our timestamps the timestamp in the segment `script` stands for.
    pub(crate) fn note_stamp(&mut self, script: &ScriptSegment, ours: &ScriptSegment) {
        if let (Some((script, _)), Some((ours, _)), Some(connection)) =
            (script.timestamp(), ours.timestamp(), self.connections.last_mut())
        {
            connection.stamps.insert(script, ours);
            connection.first_stamp.get_or_insert((script, ours));
        }
    }

    /// A constant, or a variable of the connection as in Linux's `TCP_INFO`.
    pub fn variable(&self, name: &str) -> Option<i64> {
        const CONSTANTS: [(&str, i64); 23] = [
            ("TCP_CA_Open", 0),
            ("TCP_CA_Disorder", 1),
            ("TCP_CA_CWR", 2),
            ("TCP_CA_Recovery", 3),
            ("TCP_CA_Loss", 4),
            ("TCP_ESTABLISHED", 1),
            ("TCP_SYN_SENT", 2),
            ("TCP_SYN_RECV", 3),
            ("TCP_FIN_WAIT1", 4),
            ("TCP_FIN_WAIT2", 5),
            ("TCP_TIME_WAIT", 6),
            ("TCP_CLOSE", 7),
            ("TCP_CLOSE_WAIT", 8),
            ("TCP_LAST_ACK", 9),
            ("TCP_LISTEN", 10),
            ("TCP_CLOSING", 11),
            ("TCP_INFINITE_SSTHRESH", 0x7fff_ffff),
            ("TCPI_OPT_TIMESTAMPS", 1),
            ("TCPI_OPT_SACK", 2),
            ("TCPI_OPT_WSCALE", 4),
            ("TCPI_OPT_ECN", 8),
            ("TCPI_OPT_ECN_SEEN", 16),
            ("TCPI_OPT_SYN_DATA", 32),
        ];
        if let Some((_, value)) = CONSTANTS.iter().find(|(constant, _)| *constant == name) {
            return Some(*value);
        }
        let connection = self.connection()?;
        let sender = connection.sender()?;
        let info = sender.info();
        let micros = |duration: Duration| (duration.as_nanos() / 1000) as i64;
        let waits = connection.waits_until(self.now);
        Some(match name.strip_prefix("tcpi_")? {
            "snd_cwnd" => info.cwnd as i64,
            "snd_ssthresh" if info.ssthresh.is_finite() => info.ssthresh as i64,
            "snd_ssthresh" => 0x7fff_ffff,
            "ca_state" => info.state as i64,
            "unacked" => info.unacked as i64,
            "sacked" => info.sacked as i64,
            "lost" => info.lost as i64,
            "retrans" => info.retransmitted as i64,
            "reordering" => info.reordering as i64,
            "reord_seen" => info.reorderings as i64,
            "backoff" => info.backoff.into(),
            "probes" => connection.probes as i64,
            "rto" => micros(info.rto),
            "rtt" => micros(info.rtt.0),
            "rttvar" => micros(info.rtt.1),
            "min_rtt" => micros(info.rtt.2),
            "total_retrans" => sender.counts().retransmissions as i64,
            "snd_mss" => connection.max_segment(&self.system).into(),
            "advmss" => connection.advertised_mss(&self.system).into(),
            "last_data_recv" => micros(self.now.saturating_since(connection.last_data())) / 1000,
            "busy_time" => micros(waits.busy),
            "rwnd_limited" => micros(waits.receive_window),
            "sndbuf_limited" => micros(waits.send_buffer),
            "bytes_acked" => sender.una() as i64,
            "bytes_received" => connection.received() as i64,
            "options" => connection.option_bits(),
            "notsent_bytes" => connection.unsent() as i64,
            "delivered_ce" => sender.ecn.reported_marks(EcnCodepoint::Ce).0 as i64,
            "delivered_ce_bytes" => sender.ecn.reported_marks(EcnCodepoint::Ce).1 as i64,
            "delivered_e0_bytes" => sender.ecn.reported_marks(EcnCodepoint::Ect0).1 as i64,
            "delivered_e1_bytes" => sender.ecn.reported_marks(EcnCodepoint::Ect1).1 as i64,
            "received_ce" => connection.marks.received(EcnCodepoint::Ce).0,
            "received_ce_bytes" => connection.marks.received(EcnCodepoint::Ce).1,
            "received_e0_bytes" => connection.marks.received(EcnCodepoint::Ect0).1,
            "received_e1_bytes" => connection.marks.received(EcnCodepoint::Ect1).1,
            _ => return None,
        })
    }
}
