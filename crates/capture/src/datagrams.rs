//! Traffic other than TCP: flows of UDP datagrams, among them QUIC, and ICMP echoes.
//!
//! A flow is one direction between two endpoints. For every flow packets, bytes and gaps are known; losses, jitter and
//! delays if its datagrams carry numbers and times ([`crate::numbering`]). QUIC is recognised by its long headers (RFC
//! 9000, section 17.2; RFC 9369), which also contain the connection IDs; the spin bit of its short headers, if enabled,
//! changes once per round-trip time (RFC 9000, section 17.4; RFC 9312, section 3.8.2). ICMP echoes (RFC 792; RFC 4443,
//! section 4) are matched with their replies by identifier and sequence number.

use std::collections::BTreeMap;

use crate::numbering::Numbering;
use crate::registry::Registry;
use crate::segment::{Address, EchoMessage, Endpoint};
use crate::tcp::side::{Spread, StationDirection};

/// The most unanswered requests per pair of hosts.
const MOST_WAITING: usize = 1_024;

/// Everything that is not TCP.
#[derive(Debug, Default)]
pub(crate) struct Datagrams {
    pub(crate) flows: Registry<FlowKey, DatagramFlow>,
    pub(crate) echoes: Registry<FlowKey, Echoes>,
    /// Packets of flows and pairs of hosts that are too many to be kept.
    pub(crate) left_out: u64,
    /// Packets of other protocols, by the number in the IP header.
    pub(crate) protocols: BTreeMap<u8, u64>,
}

/// Two endpoints (for echoes, the identifier is the port of both) as seen by one interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FlowKey {
    ends: [Endpoint; 2],
    interface: u32,
}

/// One direction between two endpoints.
#[derive(Clone, Debug, Default)]
pub(crate) struct DatagramFlow {
    pub(crate) ends: [Endpoint; 2],
    pub(crate) interface: u32,
    pub(crate) way: Option<StationDirection>,
    pub(crate) first: u64,
    pub(crate) last: u64,
    pub(crate) packets: u64,
    pub(crate) bytes: u64,
    pub(crate) longest_gap: u64,
    pub(crate) numbering: Numbering,
    pub(crate) quic: Quic,
}

/// What QUIC headers show.
#[derive(Clone, Debug, Default)]
pub(crate) struct Quic {
    pub(crate) version: Option<u32>,
    pub(crate) destination_id: Vec<u8>,
    pub(crate) source_id: Vec<u8>,
    pub(crate) long_headers: u64,
    spin: Option<bool>,
    turned: Option<u64>,
    pub(crate) spin_rtt: Spread,
}

/// Echoes between two hosts that use one identifier.
#[derive(Clone, Debug, Default)]
pub(crate) struct Echoes {
    pub(crate) hosts: [Address; 2],
    pub(crate) identifier: u16,
    pub(crate) interface: u32,
    pub(crate) requests: u64,
    pub(crate) replies: u64,
    pub(crate) first: u64,
    pub(crate) last: u64,
    pub(crate) rtt: Spread,
    waiting: Vec<(u16, u64)>,
}

impl Datagrams {
    /// Handles a datagram with `payload` bytes; `bytes` are the captured part.
    pub(crate) fn take(
        &mut self,
        ends: [Endpoint; 2],
        payload: u32,
        bytes: &[u8],
        (nanos, interface): (u64, u32),
        way: Option<StationDirection>,
    ) {
        let new = || DatagramFlow { ends, interface, way, first: nanos, last: nanos, ..DatagramFlow::default() };
        let Some(flow) = self.flows.entry(FlowKey { ends, interface }, new) else {
            self.left_out += 1;
            return;
        };
        flow.longest_gap = flow.longest_gap.max(nanos.saturating_sub(flow.last));
        flow.last = flow.last.max(nanos);
        flow.packets += 1;
        flow.bytes += u64::from(payload);
        flow.numbering.take(bytes, nanos);
        flow.quic.take(bytes, nanos);
    }

    /// Handles an echo request or reply.
    pub(crate) fn take_echo(&mut self, echo: &EchoMessage, nanos: u64, interface: u32) {
        let hosts = if echo.reply { [echo.destination, echo.source] } else { [echo.source, echo.destination] };
        let identifier = echo.identifier;
        let key = FlowKey { ends: hosts.map(|address| Endpoint { address, port: identifier }), interface };
        let new = || Echoes { hosts, identifier, interface, first: nanos, last: nanos, ..Echoes::default() };
        let Some(pair) = self.echoes.entry(key, new) else {
            self.left_out += 1;
            return;
        };
        pair.last = pair.last.max(nanos);
        if !echo.reply {
            pair.requests += 1;
            if pair.waiting.len() >= MOST_WAITING {
                pair.waiting.remove(0);
            }
            pair.waiting.push((echo.sequence, nanos));
            return;
        }
        pair.replies += 1;
        if let Some(place) = pair.waiting.iter().position(|(sequence, _)| *sequence == echo.sequence) {
            let (_, asked) = pair.waiting.remove(place);
            pair.rtt.add(nanos.saturating_sub(asked));
        }
    }

    /// The kind of a flow's datagrams: QUIC if either direction shows it.
    pub(crate) fn kind(&self, flow: &DatagramFlow) -> &'static str {
        let [from, to] = flow.ends;
        let back = || self.flows.get(&FlowKey { ends: [to, from], interface: flow.interface });
        if flow.quic.version.is_some() || back().is_some_and(|back| back.quic.version.is_some()) {
            return "quic";
        }
        flow.numbering.found().map_or("udp", |(format, _)| format.name())
    }
}

impl Quic {
    fn take(&mut self, bytes: &[u8], nanos: u64) {
        let Some(&first) = bytes.first() else { return };
        if first & 0x80 != 0 {
            self.take_long(bytes);
        } else if first & 0x40 != 0 {
            let spin = first & 0x20 != 0;
            if self.spin.replace(spin).is_some_and(|before| before != spin)
                && let Some(turned) = self.turned.replace(nanos)
            {
                self.spin_rtt.add(nanos.saturating_sub(turned));
            }
        }
    }

    fn take_long(&mut self, bytes: &[u8]) {
        let Some(head) = bytes.first_chunk::<6>() else { return };
        let version = u32::from_be_bytes([head[1], head[2], head[3], head[4]]);
        // Version 1, version 2, and drafts.
        let known = matches!(version, 1 | 0x6b33_43cf) || version >> 8 == 0xff_0000;
        if !known || head[0] & 0x40 == 0 {
            return;
        }
        let Some((destination, rest)) = identifier(&bytes[5..]) else { return };
        let Some((source, _)) = identifier(rest) else { return };
        self.long_headers += 1;
        if self.version.is_none() {
            self.version = Some(version);
            self.destination_id = destination.to_vec();
            self.source_id = source.to_vec();
        }
    }

    /// Whether the spin bit changed at least twice.
    pub(crate) fn spins(&self) -> bool {
        self.spin_rtt.count > 0
    }
}

/// Splits off a connection ID of at most 20 bytes, which is preceded by its length; returns the ID and the remaining
/// bytes.
fn identifier(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first()?;
    (*length <= 20).then(|| rest.split_at_checked(usize::from(*length)))?
}

/// The name of a protocol that is not analysed, from its number in the IP header.
pub(crate) fn protocol_name(number: u8) -> String {
    let name = match number {
        1 => "ICMP (no echo)",
        2 => "IGMP",
        4 => "IPv4 in IP",
        41 => "IPv6 in IP",
        47 => "GRE",
        50 => "ESP",
        51 => "AH",
        58 => "ICMPv6 (no echo)",
        88 => "EIGRP",
        89 => "OSPF",
        103 => "PIM",
        112 => "VRRP",
        132 => "SCTP",
        other => return format!("IP protocol {other}"),
    };
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::MOST_ENTRIES;

    fn ends() -> [Endpoint; 2] {
        [1, 2].map(|host| Endpoint { address: Address::v4(host), port: 443 })
    }

    /// RFC 9000, section 17.2: first byte, version 1, two connection IDs of 4 and 2 bytes.
    #[test]
    fn quic_shows_its_connection_ids_and_spin() {
        let mut all = Datagrams::default();
        let long = [0xc3, 0, 0, 0, 1, 4, 0xde, 0xad, 0xbe, 0xef, 2, 0xca, 0xfe];
        all.take(ends(), 1_200, &long, (0, 0), None);
        // The bit changes every 30 ms, in every third packet.
        for step in 0..30_u64 {
            let spin = if step / 3 % 2 == 0 { 0x40 } else { 0x60 };
            all.take(ends(), 1_200, &[spin, 0xde], (step * 10_000_000, 0), None);
        }
        let flow = &all.flows.entries[0];
        assert_eq!((all.kind(flow), flow.quic.version), ("quic", Some(1)));
        assert_eq!((&flow.quic.destination_id[..], &flow.quic.source_id[..]), (&long[6..10], &long[11..13]));
        assert_eq!((flow.packets, flow.bytes), (31, 37_200));
        assert!((flow.quic.spin_rtt.mean().expect("it turns") - 0.03).abs() < 1e-9);
    }

    /// With the maximum number of flows: finding the kind of a flow examines only the opposite direction, not all
    /// flows.
    #[test]
    fn a_flow_is_quic_if_the_opposite_direction_is() {
        let mut all = Datagrams::default();
        let long = [0xc3, 0, 0, 0, 1, 4, 0xde, 0xad, 0xbe, 0xef, 2, 0xca, 0xfe];
        for host in 0..MOST_ENTRIES as u32 / 2 {
            let [client, server] = [host, u32::MAX].map(|host| Endpoint { address: Address::v4(host), port: 443 });
            let bytes = if host % 3 == 0 { &long[..] } else { &[0x40] };
            all.take([client, server], 1_200, bytes, (0, 0), None);
            all.take([server, client], 1_200, &[0x40], (0, 0), None);
        }
        assert_eq!(all.flows.entries.len(), MOST_ENTRIES);
        for (at, flow) in all.flows.entries.iter().enumerate() {
            assert_eq!(all.kind(flow), if at / 2 % 3 == 0 { "quic" } else { "udp" });
        }
    }

    #[test]
    fn echoes_meet_their_replies() {
        let mut all = Datagrams::default();
        let ask = EchoMessage {
            source: Address::v4(1),
            destination: Address::v4(2),
            identifier: 7,
            sequence: 0,
            reply: false,
        };
        for sequence in 0..5 {
            let at = u64::from(sequence) * 1_000_000_000;
            all.take_echo(&EchoMessage { sequence, ..ask }, at, 0);
            if sequence != 3 {
                let reply =
                    EchoMessage { source: ask.destination, destination: ask.source, sequence, reply: true, ..ask };
                all.take_echo(&reply, at + 20_000_000, 0);
            }
        }
        let pair = &all.echoes.entries[0];
        assert_eq!((pair.requests, pair.replies, pair.rtt.count, pair.rtt.max), (5, 4, 4, 20_000_000));
    }

    #[test]
    fn damaged_headers_are_ignored() {
        for length in 0..14 {
            let mut all = Datagrams::default();
            let long = [0xc3, 0, 0, 0, 1, 255, 1, 2, 3, 4, 5, 6, 7, 8];
            all.take(ends(), 9, &long[..length], (0, 0), None);
            assert_eq!(all.flows.entries[0].quic.version, None);
        }
    }
}
