//! Header fields that real packets have and simulated ones lack: addresses, ports, sequence numbers, options.
//!
//! IPv4 addresses (RFC 1918): stations from 10.16.0.1 on, servers from 10.32.0.1, routers from 10.48.0.1, access points
//! from 10.0.0.1. A MAC address is 02:00 followed by the IPv4 address; the BSSID of an ad-hoc network is
//! 02:00:0a:ff:00:00. The receiver of data uses port 5001 plus the number of the flow; the sender, who opens the
//! connection, uses port 10,000 plus the number of the connection.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use wifair_capture::frame::{
    self, Addba, BlockAck, BlockAckAction, Course, Echo, Heard, IpHeader, Tcp, UdpDatagram, WifiDataFrame,
};
use wifair_capture::link::radiotap::RadioRate;
use wifair_capture::link::wifi::Mac;
use wifair_capture::{AccEcnCounters, Address, Endpoint, TcpOptions, adjust, flag as wire};
use wifair_mac::{BROADCAST, FrameKind, FrameRecord};
use wifair_packet::{Kind, Packet, entry, flag};
use wifair_phy::{Band, PpduFormat, PpduTiming, TxMode};
use wifair_tcp::{ReceiverConfig, SenderConfig};
use wifair_units::Duration;

use super::aggregates::{Acknowledged, AgreedParameters};
use super::air::Known;
use crate::build::{channel_numbers, nodes_by_channel};
use crate::hosts::{address_of, ip_bits};
use crate::scenario::{Node, Scenario, Transport, Wlan, Workload};
use crate::world::{Hop, Sighting, Stamp, World};

const RECEIVER_PORTS: (u16, u32) = (5_001, 4_999);
const SENDER_PORTS: (u16, u32) = (10_000, 50_000);
/// The port of routing announcements, from the range for private use (RFC 6335, section 6).
const ROUTING_PORT: u16 = 49_152;
const TTL: u8 = 64;

/// The place before a hop on the path of a flow.
#[derive(Clone, Copy, Debug)]
struct Leg {
    node: Node,
    /// The nodes with addresses before and after it; an access point only forwards and has none here.
    before: Option<Node>,
    after: Option<Node>,
    /// Time to live on arrival and on leaving.
    ttl: (u8, u8),
    by_wire: bool,
    /// The first access point on the path.
    ap: Option<Node>,
}

#[derive(Clone, Debug)]
struct AnnouncedOptions {
    mss: u16,
    scale: Option<u8>,
    timestamps: (bool, bool),
    sack: bool,
    ecn: bool,
    /// Whether the sender asks for accurate ECN, and the receiver agrees.
    accurate: (bool, bool),
    ect1: bool,
}

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Headers {
    legs: Vec<Leg>,
    /// Both ends of each flow.
    ends: Vec<(Node, Node)>,
    /// TCP options announced in the SYNs, by flow; `None` for UDP.
    announced: Vec<Option<AnnouncedOptions>>,
    /// Whether the flow consists of ICMP echoes.
    pings: Vec<bool>,
    /// Differentiated services code point of the packets of each flow.
    dscp: Vec<u8>,
    names: Vec<(Node, String)>,
    /// Nodes by channel and number.
    on_air: Vec<Vec<Node>>,
    is_ad_hoc: bool,
    band: Band,
    /// Centres of the primary channels of the nodes in MHz, by channel and number.
    frequencies: Vec<Vec<u16>>,
    /// Whether air times leave out the extra symbol of LDPC.
    has_no_extra_symbol: bool,
    /// Padding that receivers need after a PPDU, which determines its packet extension.
    packet_padding: Duration,
    /// Derived from the seed; the source of initial sequence numbers.
    key: u64,
    /// Packets of real programs by their number.
    real: Vec<Vec<u8>>,
}

impl Headers {
    pub(super) fn new(scenario: &Scenario, seed: u64, world: &World) -> Self {
        let on_air = nodes_by_channel(scenario, seed);
        let band = scenario.file.wlan.as_ref().map_or(Band::Ghz2_4, Wlan::channel_band);
        let (grid, row) = world.grid().unwrap_or((0, 1));
        let mut legs: Vec<Leg> = (0..grid).map(|hop| Leg::of_station(on_air[0][hop % row])).collect();
        legs.extend(paths(scenario, &on_air, &world.hops()[grid..]));
        let announced = |flow| match &scenario.flows_of(flow).transport {
            Transport::Tcp(tcp) => Some(AnnouncedOptions::new(&tcp.resolve())),
            Transport::Udp(_) => None,
        };
        let is_ping = |flow| matches!(scenario.flows_of(flow).workload, Workload::Ping(_));
        let dscp = |flow| scenario.flows_of(flow).dscp.unwrap_or_default().number();
        let nodes: BTreeSet<Node> = legs.iter().map(|leg| leg.node).collect();
        Self {
            announced: scenario.network.flows.iter().map(announced).collect(),
            pings: scenario.network.flows.iter().map(is_ping).collect(),
            dscp: scenario.network.flows.iter().map(dscp).collect(),
            ends: scenario.network.flows.iter().map(|flow| (flow.from, flow.to)).collect(),
            names: nodes.into_iter().map(|node| (node, scenario.name_of(node))).collect(),
            legs,
            on_air,
            is_ad_hoc: scenario.is_ad_hoc(),
            band,
            frequencies: frequencies(band, &channel_numbers(scenario, seed)),
            has_no_extra_symbol: scenario.file.wlan.as_ref().is_some_and(|wlan| !wlan.ldpc_extra_symbol),
            packet_padding: scenario.file.wlan.as_ref().map_or(Duration::ZERO, |wlan| wlan.packet_padding),
            key: mix(seed),
            real: vec![],
        }
    }

    pub(super) fn hosts(&self) -> String {
        let mut text = String::new();
        for (node, name) in &self.names {
            writeln!(text, "{} {name}", address_of(*node)).expect("a text can be written");
        }
        text
    }

    /// Stores the bytes of a packet of a real program.
    pub(super) fn store_packet(&mut self, number: u32, bytes: &[u8]) {
        let stored = entry(&mut self.real, number as usize);
        stored.clear();
        stored.extend_from_slice(bytes);
    }

    fn real(&self, stamp: &Stamp) -> Option<&[u8]> {
        self.real.get(stamp.real? as usize).map(Vec::as_slice)
    }

    /// Whether a packet is IPv6, which only those of real programs can be.
    pub(super) fn is_v6(&self, stamp: &Stamp) -> bool {
        self.real(stamp).and_then(<[u8]>::first).is_some_and(|first| first >> 4 == 6)
    }

    pub(super) fn node(&self, hop: usize) -> Node {
        self.legs[hop].node
    }

    /// The nodes of each channel.
    pub(super) fn channels(&self) -> &[Vec<Node>] {
        &self.on_air
    }

    pub(super) fn arrived_by_wire(&self, hop: usize) -> bool {
        self.legs[hop].by_wire
    }

    pub(super) fn ttl(&self, hop: usize, stamp: &Stamp, departs: bool) -> u8 {
        let (arrives, leaves) = self.legs[hop].ttl;
        (if departs { leaves } else { arrives }).saturating_sub(stamp.passed)
    }

    /// Destination and source of the Ethernet frame. The access point only bridges between its wired links and the air.
    pub(super) fn ethernet(&self, sighting: &Sighting, at_wires: bool) -> ([u8; 6], [u8; 6]) {
        let Sighting { packet, departs, .. } = sighting;
        let leg = &self.legs[packet.hop as usize];
        let station = |number: u32| self.on_air[0].get(number as usize).copied();
        let routed = match sighting.hop {
            Hop::Air { to, .. } if leg.after.is_none() => station(to),
            _ => None,
        };
        let ap = leg.ap.unwrap_or(Node::Ap(0));
        let before = leg.before.or_else(|| sighting.stamp.previous.and_then(station)).unwrap_or(ap);
        let after = leg.after.or(routed).unwrap_or(ap);
        let (mut source, mut destination) = match (at_wires, departs) {
            (true, _) => (before, after),
            (false, true) => (leg.node, after),
            (false, false) => (before, leg.node),
        };
        if packet.kind == Kind::Icmp {
            // An echo starts or ends at the access point itself, unless a router is in between.
            let end = if packet.has(flag::ACK) { &mut destination } else { &mut source };
            if !matches!(end, Node::Router(_)) {
                *end = ap;
            }
        }
        (mac(destination).0, mac(source).0)
    }

    /// Appends an IP packet, with at least `keep` bytes written out; returns its full length.
    pub(super) fn packet(&self, to: &mut Vec<u8>, packet: &Packet, stamp: &Stamp, ttl: u8, keep: u32) -> Option<usize> {
        let start = to.len();
        if let Some(bytes) = self.real(stamp) {
            to.extend_from_slice(bytes);
            let copy = &mut to[start..];
            if matches!(packet.kind, Kind::Data | Kind::Ack) {
                adjust::set_window(copy, packet.window);
            }
            if packet.has(flag::CE) {
                adjust::mark_congestion(copy);
            }
            to.truncate(start + bytes.len().min(keep as usize));
            return Some(bytes.len());
        }
        let (from, end) = match self.ends.get(stamp.flow as usize) {
            Some((from, to)) if stamp.is_reverse => (*to, *from),
            Some(ends) => *ends,
            None => return None,
        };
        let ports = (
            SENDER_PORTS.0 + (stamp.connection % SENDER_PORTS.1) as u16,
            RECEIVER_PORTS.0 + (stamp.flow % RECEIVER_PORTS.1) as u16,
        );
        let (from_port, to_port) = if stamp.is_reverse { (ports.1, ports.0) } else { ports };
        let source = Endpoint { address: address(from), port: from_port };
        let destination = Endpoint { address: address(end), port: to_port };
        let dscp = self.dscp.get(stamp.flow as usize).copied().unwrap_or(0);
        let ip = IpHeader { id: stamp.ip_id, dscp, ..IpHeader::between(source, destination) };
        let echo = Echo { ip, identifier: stamp.flow as u16, payload: packet.payload, ..Echo::default() };
        let payload = match packet.kind {
            Kind::Data | Kind::Ack => {
                let announced = self.announced[stamp.flow as usize].as_ref()?;
                let ecn = if packet.has(flag::CE) { 3 } else { ect_bits(packet, announced) };
                let ip = IpHeader { ttl, ecn, ..ip };
                let segment = self.segment(packet, stamp, announced);
                frame::tcp(to, &Tcp { ip, payload: packet.payload, ..segment }, keep);
                packet.payload
            }
            Kind::Udp if self.pings[stamp.flow as usize] => {
                let sequence = (packet.seq / u64::from(packet.payload.max(1))) as u16;
                frame::echo(to, &Echo { reply: stamp.is_reverse, sequence, ..echo }, keep);
                packet.payload
            }
            Kind::Udp => {
                let content = numbered(packet);
                let (payload, content) = (packet.payload, &content);
                frame::udp(to, &UdpDatagram { ip: IpHeader { ttl, ..ip }, payload, content }, keep);
                packet.payload
            }
            Kind::Icmp => {
                let reply = packet.has(flag::ACK);
                let ap = self.legs[packet.hop as usize].ap.unwrap_or(Node::Ap(0));
                let (source, destination) = if reply { (from, ap) } else { (ap, end) };
                let [source, destination] =
                    [source, destination].map(|node| Endpoint { address: address(node), port: 0 });
                let ip = IpHeader { source, destination, dscp: 0, ..ip };
                let payload = packet.size.saturating_sub(28);
                // Equal in request and reply: packets carry their time.
                let sequence = (packet.seq / 1_000_000) as u16;
                frame::echo(to, &Echo { ip, reply, sequence, payload, ..echo }, keep);
                payload
            }
            Kind::Routing => return None,
        };
        let written = usize::from(payload).min(keep as usize);
        Some(to.len() - start - written + usize::from(payload))
    }

    /// The header of a TCP segment.
    fn segment(&self, packet: &Packet, stamp: &Stamp, announced: &AnnouncedOptions) -> Tcp {
        let first = |side: u64| mix(self.key ^ (u64::from(stamp.connection) << 1 | side)) as u32;
        // The sequence number of each SYN is one before that of the first data byte.
        let (sender, receiver) = (first(0), first(1));
        let is_syn = packet.has(flag::SYN);
        let is_fin = packet.has(flag::FIN);
        let mut options = TcpOptions::default();
        // SYNs and ACKs have AE in place of PSH.
        let has_ae = is_syn || packet.kind == Kind::Ack;
        let set = FLAGS.iter().filter(|(ours, _)| packet.has(*ours) && !(has_ae && *ours == flag::PSH));
        let mut flags = set.fold(0, |flags, (_, theirs)| flags | theirs);
        let mut ae = has_ae && packet.has(flag::AE);
        if is_syn {
            options.mss = Some(announced.mss);
            options.scale = announced.scale;
            options.sack_permitted = announced.sack;
        }
        let mut segment = Tcp::default();
        let offset = |offset: u64| 1u32.wrapping_add(offset as u32); // wraps, as sequence numbers do
        if packet.kind == Kind::Data {
            // RFC 3168, section 6.1.1: setting both flags requests ECN.
            if is_syn && announced.ecn && !announced.accurate.0 {
                flags |= wire::ECE | wire::CWR;
            }
            if !is_syn && announced.accurate == (true, true) {
                // The first ACK reflects how the SYN-ACK arrived; ACKs are not marked, so the counter stays.
                let is_third = packet.payload == 0 && packet.seq == 0 && !is_fin && !stamp.fin_heard;
                flags |= if is_third { wire::CWR } else { wire::ECE };
                ae = !is_third;
            }
            // After both FINs the sender only acknowledges, and its own FIN occupies a sequence number.
            let after_fin = u32::from(stamp.fin_heard && packet.payload == 0 && !is_fin);
            segment.seq = if is_syn { sender } else { sender.wrapping_add(offset(packet.seq)).wrapping_add(after_fin) };
            if packet.has(flag::ACK) {
                segment.ack = receiver.wrapping_add(1 + u32::from(stamp.fin_heard));
            }
            segment.window = u16::MAX;
            options.timestamps = announced.timestamps.0.then_some((packet.ts_val, stamp.ts_ecr));
        } else {
            if is_syn && announced.ecn && !announced.accurate.0 {
                flags |= wire::ECE;
            }
            options.acc_ecn = packet.counters().map(|(ect1_first, ect, ce)| AccEcnCounters {
                ect1_first,
                counters: [ect, ce, 0],
                fields: 2,
            });
            let base = sender.wrapping_add(offset(packet.ack));
            segment.seq = if is_syn { receiver } else { receiver.wrapping_add(1) };
            segment.ack = base.wrapping_add(u32::from(is_fin));
            segment.window = packet.window;
            options.timestamps = announced.timestamps.1.then_some((packet.ts_val, packet.ts_ecr));
            for (left, right) in packet.sack.iter().filter(|(left, right)| left != right) {
                options.blocks[usize::from(options.sacks)] = (base.wrapping_add(*left), base.wrapping_add(*right));
                options.sacks += 1;
            }
        }
        Tcp { flags, ae, options, ..segment }
    }

    /// The LENGTH field of L-SIG and the PE Disambiguity field of data in HE (IEEE Std 802.11ax-2021, 27.3.11.5 and
    /// 27.3.13); `None` for other frames, and if there are no packet extensions.
    fn l_length(&self, record: &FrameRecord) -> Option<(u16, bool)> {
        let vector = record.mode.filter(|_| record.kind == FrameKind::Data)?.vector()?;
        let less = match vector.format {
            PpduFormat::He => 5,
            PpduFormat::HeExtended => 4,
            _ => return None,
        };
        let band = self.band;
        let behind = record.end - record.start - band.signal_extension() - PpduTiming::TO_L_SIG;
        let data = behind - (PpduTiming::of(&vector, band).preamble() - PpduTiming::TO_L_SIG);
        let symbol = vector.symbol();
        // Of the extensions that this padding allows (table 27-46), the one that leaves whole symbols of data.
        let possible = match self.packet_padding.as_nanos() {
            0 => return None,
            8_000 => 0..=2,
            _ => 1..=4,
        };
        let mut possible = possible.map(|units| L_SIG_UNIT * units);
        let extension = possible
            .find(|extension| symbol * data.saturating_sub(*extension).div_floor(symbol) + *extension == data)?;
        let units = behind.as_nanos().div_ceil(L_SIG_UNIT.as_nanos());
        let disambiguity = extension + (L_SIG_UNIT * units - behind) >= symbol;
        Some((u16::try_from(3 * units - less).ok()?, disambiguity))
    }

    /// Appends a frame as captured by a sniffer, with at least `keep` bytes written out; returns its full length.
    /// `context` holds what earlier frames determine about this one.
    pub(super) fn air_frame(
        &self,
        to: &mut Vec<u8>,
        channel: usize,
        record: &FrameRecord,
        context: &FrameContext,
        keep: u32,
    ) -> Option<usize> {
        // A-MPDU numbers wrap.
        let ampdu = record.aggregate.map(|one| (one.ppdu as u32, one.place + 1 == one.of));
        let rate = Some(modulation(record));
        let frequency = self.frequencies[channel][record.from as usize];
        let heard = Heard { rate, ampdu, frequency, ..Heard::default() };
        let l_length = self.l_length(record);
        frame::radiotap(to, &Heard { has_no_extra_symbol: self.has_no_extra_symbol, l_length, ..heard });
        let start = to.len();
        let nodes = &self.on_air[channel];
        let (from, receiver) = (station(nodes, record.from), station(nodes, record.to));
        let duration = u16::try_from(record.reserves.as_nanos().div_ceil(1_000).min(32_767)).unwrap_or(32_767);
        match record.kind {
            FrameKind::Rts => frame::wifi_rts(to, receiver, from, duration),
            FrameKind::Cts => frame::wifi_cts(to, receiver, duration),
            FrameKind::Ack => frame::wifi_ack(to, receiver, duration),
            FrameKind::BlockAckReq => {
                let (tid, start) = (record.tid?, record.sequence?);
                frame::wifi_block_ack_request(to, &BlockAck { receiver, transmitter: from, duration, tid, start });
            }
            FrameKind::BlockAck => {
                let (start, bitmap) = context.acknowledged.as_ref()?;
                let ack = BlockAck { receiver, transmitter: from, duration, tid: record.tid?, start: *start };
                frame::wifi_block_ack(to, &ack, bitmap);
            }
            FrameKind::AddbaRequest | FrameKind::AddbaResponse | FrameKind::Delba => {
                let (tid, start, AgreedParameters { sequence, window, timeout }) =
                    (record.tid?, record.sequence?, context.agreement?);
                let ap = |node: &Node| matches!(node, Node::Ap(_));
                let cell = match (self.is_ad_hoc, ap(&nodes[record.from as usize])) {
                    (true, _) => AD_HOC,
                    (false, true) => from,
                    (false, false) => receiver,
                };
                let addba = Addba {
                    receiver,
                    transmitter: from,
                    cell,
                    duration,
                    retry: record.retry,
                    sequence,
                    tid,
                    action: match record.kind {
                        FrameKind::AddbaRequest => BlockAckAction::Request { start, window, timeout },
                        FrameKind::AddbaResponse => BlockAckAction::Response { window, timeout },
                        _ => BlockAckAction::Delete,
                    },
                };
                frame::wifi_addba(to, &addba);
            }
            FrameKind::CfEnd => frame::wifi_cf_end(to, from),
            FrameKind::Data => {
                let Known { packet, stamp, sequence, retry, further, .. } = context.known.as_ref()?;
                let is_from_ap = matches!(nodes[record.from as usize], Node::Ap(_));
                // Source and destination. After an uplink hop the next node is the access point, which only forwards.
                let ends = |packet: &Packet| {
                    let leg = &self.legs[packet.hop as usize];
                    let source = if is_from_ap { leg.before.map_or(from, mac) } else { from };
                    (source, if is_from_ap { receiver } else { leg.after.map_or(receiver, mac) })
                };
                // An A-MSDU has the cell there (IEEE Std 802.11-2016, table 9-26).
                let (course, third) = if self.is_ad_hoc {
                    (Course::Direct, AD_HOC)
                } else if is_from_ap {
                    (Course::FromAccessPoint, if further.is_empty() { ends(packet).0 } else { from })
                } else {
                    (Course::ToAccessPoint, if further.is_empty() { ends(packet).1 } else { receiver })
                };
                let data = WifiDataFrame {
                    course,
                    retry: *retry,
                    receiver,
                    transmitter: from,
                    third,
                    sequence: *sequence,
                    tid: record.tid,
                    duration,
                };
                if !further.is_empty() {
                    frame::wifi_amsdu(to, &data);
                    let first = (*packet, *stamp);
                    let all = std::iter::once(&first).chain(further);
                    for (left, (packet, stamp)) in (0..=further.len()).rev().zip(all) {
                        let (source, destination) = ends(packet);
                        let subframe = frame::begin_subframe(to, destination, source, self.is_v6(stamp));
                        self.packet(to, packet, stamp, self.ttl(packet.hop as usize, stamp, true), u32::MAX)?;
                        frame::end_subframe(to, subframe, left == 0);
                    }
                    return Some(self.finish_frame(to, start, to.len(), record, keep));
                }
                frame::wifi_data(to, &data, self.is_v6(stamp));
                let head = to.len();
                let length = match packet.kind {
                    Kind::Routing => announcement(to, packet, nodes[record.from as usize], keep),
                    _ => self.packet(to, packet, stamp, self.ttl(packet.hop as usize, stamp, true), keep)?,
                };
                return Some(self.finish_frame(to, start, head + length, record, keep));
            }
        }
        Some(self.finish_frame(to, start, to.len(), record, keep))
    }

    /// Pads a frame of `length` bytes that begins at `start` to its length on the air, and appends its check sequence
    /// if the whole frame is kept. Returns its whole length.
    fn finish_frame(&self, to: &mut Vec<u8>, start: usize, length: usize, record: &FrameRecord, keep: u32) -> usize {
        let aired = start + usize::try_from(record.length.0).expect("a frame is short");
        let length = (length + 4).max(aired);
        if keep as usize >= length {
            to.resize(length - 4, 0);
            frame::fcs(to, start);
        }
        length
    }
}

/// What only earlier frames determine about a frame.
#[derive(Debug)]
pub(super) struct FrameContext {
    /// Contents of a data frame.
    pub known: Option<Known>,
    /// Contents of a block ACK.
    pub acknowledged: Option<Acknowledged>,
    /// Of an ADDBA or DELBA frame, what is agreed.
    pub agreement: Option<AgreedParameters>,
}

/// Unit of the duration in L-SIG.
const L_SIG_UNIT: Duration = Duration::from_micros(4);

/// How a frame was modulated, for radiotap.
fn modulation(record: &FrameRecord) -> RadioRate {
    let half_mbps = u8::try_from(record.rate.as_bps() / 500_000).unwrap_or(u8::MAX);
    record.mode.and_then(TxMode::vector).map_or(RadioRate::Legacy(half_mbps), RadioRate::Mcs)
}

/// The MAC address of a node of a channel.
fn station(nodes: &[Node], number: u32) -> Mac {
    if number == BROADCAST { Mac([0xff; 6]) } else { mac(nodes[number as usize]) }
}

/// The start of a datagram's payload, as in iperf 2: its number, and the seconds and microseconds of its sending.
fn numbered(packet: &Packet) -> [u8; 12] {
    let sent = super::EPOCH + packet.sent_at().as_nanos();
    let number = packet.seq / u64::from(packet.payload.max(1));
    let words = [number, sent / 1_000_000_000, sent % 1_000_000_000 / 1_000].map(|word| (word as u32).to_be_bytes());
    let mut content = [0; 12];
    content.copy_from_slice(words.as_flattened());
    content
}

/// Appends a routing announcement of a station as a UDP broadcast, since it has no packet format of its own.
fn announcement(to: &mut Vec<u8>, packet: &Packet, station: Node, keep: u32) -> usize {
    let source = Endpoint { address: address(station), port: ROUTING_PORT };
    let destination = Endpoint { address: Address::v4(u32::MAX), port: ROUTING_PORT };
    let payload = packet.size.saturating_sub(28);
    let ip = IpHeader { ttl: 1, ..IpHeader::between(source, destination) };
    frame::udp(to, &UdpDatagram { ip, payload, content: &[] }, keep);
    28 + usize::from(payload)
}

impl AnnouncedOptions {
    fn new((sender, receiver): &(SenderConfig, ReceiverConfig)) -> Self {
        Self {
            mss: sender.options.mss,
            scale: Some(receiver.window_scale).filter(|scale| *scale > 0),
            timestamps: (sender.options.timestamps, receiver.timestamps),
            sack: receiver.sack,
            ecn: sender.options.ecn,
            accurate: (sender.options.accurate_ecn, receiver.accurate_ecn),
            ect1: sender.options.ect1,
        }
    }
}

/// The ECN field of an ECN-capable packet that is not marked.
const fn ect_bits(packet: &Packet, announced: &AnnouncedOptions) -> u8 {
    match (packet.has(flag::ECT), announced.ect1) {
        (false, _) => 0,
        (true, true) => 1,
        (true, false) => 2,
    }
}

/// The flags of a packet, and those of the TCP header that they stand for.
pub const FLAGS: [(u8, u8); 6] = [
    (flag::SYN, wire::SYN),
    (flag::FIN, wire::FIN),
    (flag::PSH, wire::PSH),
    (flag::ACK, wire::ACK),
    (flag::ECE, wire::ECE),
    (flag::CWR, wire::CWR),
];

const AD_HOC: Mac = Mac([2, 0, 0x0a, 0xff, 0, 0]);

fn address(node: Node) -> Address {
    Address::v4(ip_bits(node))
}

fn mac(node: Node) -> Mac {
    let [a, b, c, d] = ip_bits(node).to_be_bytes();
    Mac([2, 0, a, b, c, d])
}

/// A hash that looks random (G. Steele, D. Lea and C. Flood, "Fast splittable pseudorandom number generators", 2014).
const fn mix(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Leg {
    /// The place of a station with dynamic routing, whose paths change.
    fn of_station(node: Node) -> Self {
        Self { node, before: None, after: None, ttl: (TTL, TTL), by_wire: false, ap: None }
    }
}

/// The place before each hop.
fn paths(scenario: &Scenario, on_air: &[Vec<Node>], hops: &[Hop]) -> Vec<Leg> {
    let links = &scenario.network.links;
    let ends = |hop: Hop| match hop {
        Hop::Air { channel, from, to } => {
            let nodes = &on_air[usize::from(channel)];
            (nodes[from as usize], nodes[to as usize])
        }
        Hop::Wired(link) => {
            let [first, second] = links[link as usize / 2].ends;
            if link.is_multiple_of(2) { (first, second) } else { (second, first) }
        }
        Hop::End | Hop::NoPath { .. } => unreachable!("a way that is laid out leads on up to its end"),
    };
    let mut legs = Vec::with_capacity(hops.len());
    for path in hops.split_inclusive(|hop| *hop == Hop::End) {
        let steps = &path[..path.len() - 1];
        let mut nodes: Vec<Node> = steps.iter().map(|hop| ends(*hop).0).collect();
        nodes.extend(steps.last().map(|hop| ends(*hop).1));
        let has_address = |node: &&Node| !matches!(node, Node::Ap(_));
        for (index, node) in nodes.iter().enumerate() {
            let passed = nodes[..index].iter().skip(1).filter(has_address).count();
            let passes = index > 0 && index + 1 < nodes.len() && !matches!(node, Node::Ap(_));
            let arrives = TTL.saturating_sub(u8::try_from(passed).unwrap_or(TTL));
            legs.push(Leg {
                node: *node,
                before: nodes[..index].iter().rev().find(has_address).copied(),
                after: nodes[index + 1..].iter().find(has_address).copied(),
                ttl: (arrives, arrives - u8::from(passes && arrives > 0)),
                by_wire: index > 0 && matches!(steps[index - 1], Hop::Wired(_)),
                ap: nodes.iter().find(|node| matches!(node, Node::Ap(_))).copied(),
            });
        }
    }
    legs
}

/// The frequency in MHz of each node, whose channel number is given. Numbers that the band does not have, which only
/// tell channels apart, get its lowest channels that are not used, as long as there are any.
fn frequencies(band: Band, numbers: &[Vec<u32>]) -> Vec<Vec<u16>> {
    let used: BTreeSet<u32> = numbers.iter().flatten().copied().collect();
    let known: BTreeMap<u32, u32> = band.channels().collect();
    let mut unused = known.iter().filter(|(number, _)| !used.contains(number)).map(|(_, mhz)| *mhz);
    let lowest = known.values().min().copied().unwrap_or_default();
    let of_number = |number: u32| {
        let mhz = known.get(&number).copied().or_else(|| unused.next()).unwrap_or(lowest);
        (number, u16::try_from(mhz).expect("below 2^16 MHz"))
    };
    let assigned: BTreeMap<u32, u16> = used.iter().copied().map(of_number).collect();
    numbers.iter().map(|nodes| nodes.iter().map(|number| assigned[number]).collect()).collect()
}
