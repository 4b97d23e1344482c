//! Maps the headers of real packets to the packets of the simulation, as its queues and schemes see them.
//!
//! A connection is identified by its protocol, two addresses and two ports. It is one flow to FQ-CoDel, LAS and the
//! window-sharing schemes. A simulated connection carries data in one direction only, so one direction of a real
//! connection has to be chosen: segments in it are data, segments in the other are ACKs. The data direction begins as
//! that of the first packet or SYN, and is reversed when the other direction has carried more than twice as much
//! payload.

use std::collections::BTreeMap;

use wifair_capture::{Datagram, Endpoint, Payload, Segment, TcpOptions, addresses, flag as wire, parse};
use wifair_packet::{Kind, Packet, flag};
use wifair_sim::capture::FLAGS;
use wifair_sim::world::World;
use wifair_units::{Duration, Time};

/// The most connections that are distinguished; beyond that, new ones between the same two hosts count as one.
pub const MOST_CONNECTIONS: usize = 4096;
/// A connection without packets for this long is forgotten.
const FORGET_AFTER: Duration = Duration::from_secs(60);
/// How far the payload of the other direction must exceed twice that of the data direction before the two are swapped,
/// in bytes: about two full segments.
const AHEAD: u64 = 3000;
/// Size of the TCP timestamps option with its padding, in bytes (RFC 7323, appendix A).
const TIMESTAMPS: u16 = 12;
/// MSS if no SYN announced one (RFC 9293, section 3.7.1).
const DEFAULT_MSS: u16 = 536;

/// Both endpoints of a connection, the lower one first, and the protocol number.
type EndpointPair = ([Endpoint; 2], u8);

/// State of one side of a connection, from the segments that it sent.
#[derive(Clone, Copy, Debug, Default)]
struct SideState {
    /// Sequence number before the first byte.
    initial: Option<u32>,
    /// The highest offset seen.
    offset: u64,
    payload: u64,
    mss: Option<u16>,
    scale: Option<u8>,
    timestamps: bool,
}

impl SideState {
    /// The stream offset of a sequence number near the highest one seen.
    fn offset_of(&mut self, seq: u32) -> u64 {
        let initial = *self.initial.get_or_insert(seq.wrapping_sub(1));
        let ahead = seq.wrapping_sub(initial).wrapping_sub(1).wrapping_sub(self.offset as u32) as i32;
        let offset = self.offset.saturating_add_signed(i64::from(ahead));
        self.offset = self.offset.max(offset);
        offset
    }
}

#[derive(Clone, Debug)]
struct RealConnection {
    /// Its connection numbers in the simulation, one for each access category that it has used.
    numbers: [Option<u32>; 4],
    sides: [SideState; 2],
    /// The side that sends the data.
    source: usize,
    last: Time,
}

/// A packet as the simulation sees it.
#[derive(Clone, Copy, Debug)]
pub struct SimulatedPacket {
    /// Number of its connection in the simulation.
    pub connection: u32,
    /// The packet.
    pub packet: Packet,
    /// With TCP: the payload of a full segment, in bytes, and the scale of the packet's window.
    pub tcp: Option<(u16, u8)>,
}

/// The error for a packet whose headers are truncated or contradict each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

/// The connections of real programs.
#[derive(Debug, Default)]
pub struct RealConnections {
    connections: BTreeMap<EndpointPair, RealConnection>,
    swept: Time,
}

impl RealConnections {
    /// Reads a packet that takes the world's path number `way`, in the access category with index `category`.
    ///
    /// # Errors
    /// If its headers are truncated or contradict each other.
    pub fn see(
        &mut self,
        world: &mut World,
        way: usize,
        category: usize,
        bytes: &[u8],
    ) -> Result<SimulatedPacket, Malformed> {
        let now = world.now();
        self.sweep(world, now);
        let datagram = Datagram { bytes, original: bytes.len() as u32, place: 0 };
        let mut packet = Packet { size: bytes.len() as u16, flags: ecn(bytes), kind: Kind::Udp, ..Packet::default() };
        let hosts = addresses(bytes).ok_or(Malformed)?.map(|address| Endpoint { address, port: 0 });
        let (ends, protocol, segment) = match parse(&datagram) {
            Payload::Tcp(segment) => ([segment.source, segment.destination], 6, Some(segment)),
            Payload::Udp(source, destination, payload, _) => {
                packet.payload = payload.min(u32::from(u16::MAX)) as u16;
                ([source, destination], 17, None)
            }
            Payload::Echo(_) | Payload::Other(_) | Payload::Fragment(_) => (hosts, 0, None),
            Payload::Short | Payload::Malformed => return Err(Malformed),
        };
        let side = usize::from(ends[0] > ends[1]);
        let mut key = ([ends[side], ends[1 - side]], protocol);
        if self.connections.len() >= MOST_CONNECTIONS && !self.connections.contains_key(&key) {
            key = (hosts, u8::MAX);
            key.0.sort();
        }
        let connection = self.connections.entry(key).or_insert_with(|| RealConnection {
            numbers: [None; 4],
            sides: [SideState::default(); 2],
            source: side,
            last: now,
        });
        connection.last = now;
        let tcp = segment.filter(|_| key.1 == 6).map(|segment| {
            connection.read(&segment, side, &mut packet);
            if connection.sides[1 - connection.source].payload > 2 * connection.sides[connection.source].payload + AHEAD
            {
                // The schemes see a new flow with the stream offsets of the other side.
                connection.source = 1 - connection.source;
                connection.numbers.iter_mut().filter_map(Option::take).for_each(|number| world.close(number));
                connection.read(&segment, side, &mut packet);
            }
            let scale = if segment.has(wire::SYN) { 0 } else { connection.scale(side) };
            (connection.full_payload(), scale)
        });
        let number = *connection.numbers[category].get_or_insert_with(|| world.open(way, category));
        Ok(SimulatedPacket { connection: number, packet, tcp })
    }

    /// Forgets connections without packets for [`FORGET_AFTER`].
    fn sweep(&mut self, world: &mut World, now: Time) {
        if now.saturating_since(self.swept) < Duration::from_secs(1) {
            return;
        }
        self.swept = now;
        self.connections.retain(|_, connection| {
            let stays = now.saturating_since(connection.last) < FORGET_AFTER;
            if !stays {
                connection.numbers.iter().flatten().for_each(|number| world.close(*number));
            }
            stays
        });
    }
}

impl RealConnection {
    /// Updates the state with a segment from `side`, and fills in `packet` from it.
    fn read(&mut self, segment: &Segment<'_>, side: usize, packet: &mut Packet) {
        if segment.has(wire::SYN) {
            let options = TcpOptions::parse(segment.options);
            if self.sides[side].initial != Some(segment.seq) {
                self.sides[side] = SideState { initial: Some(segment.seq), ..SideState::default() };
            }
            self.sides[side].mss = options.mss;
            self.sides[side].scale = options.scale.map(|scale| scale.min(14)); // RFC 7323, section 2.3
            self.sides[side].timestamps = options.timestamps.is_some();
            if !segment.has(wire::ACK) {
                self.source = side;
            }
        }
        let begin = if segment.has(wire::SYN) { 0 } else { self.sides[side].offset_of(segment.seq) };
        let end = begin + u64::from(segment.payload);
        self.sides[side].payload = self.sides[side].payload.max(end);
        packet.seq = begin;
        packet.ack = if segment.has(wire::ACK) { self.sides[1 - side].offset_of(segment.ack) } else { 0 };
        packet.payload = segment.payload.min(u32::from(u16::MAX)) as u16;
        packet.window = segment.window;
        packet.kind = if side == self.source { Kind::Data } else { Kind::Ack };
        FLAGS.iter().filter(|(_, theirs)| segment.has(*theirs)).for_each(|(ours, _)| packet.flags |= ours);
    }

    /// The window scale of `side`: 0 unless both sides offered one (RFC 7323, section 2.2).
    fn scale(&self, side: usize) -> u8 {
        if self.sides[1 - side].scale.is_some() { self.sides[side].scale.unwrap_or(0) } else { 0 }
    }

    /// Payload of a full segment.
    fn full_payload(&self) -> u16 {
        let mss = self.sides.iter().filter_map(|side| side.mss).min().unwrap_or(DEFAULT_MSS);
        let stamped = self.sides.iter().all(|side| side.timestamps);
        mss.saturating_sub(if stamped { TIMESTAMPS } else { 0 }).max(1)
    }
}

/// The differentiated services code point of an IP packet (RFC 2474).
pub fn dscp(bytes: &[u8]) -> u8 {
    traffic_class(bytes) >> 2
}

fn traffic_class(bytes: &[u8]) -> u8 {
    match bytes {
        [first, second, ..] if first >> 4 == 6 => first << 4 | second >> 4,
        [_, second, ..] => *second,
        _ => 0,
    }
}

/// Whether the ECN field is ECT(1) (RFC 9331, section 2).
pub fn is_ect1(bytes: &[u8]) -> bool {
    traffic_class(bytes) & 3 == 1
}

/// The ECN field (RFC 3168, section 5) as flags of the simulation.
fn ecn(bytes: &[u8]) -> u8 {
    match traffic_class(bytes) & 3 {
        0 => 0,
        3 => flag::ECT | flag::CE,
        _ => flag::ECT,
    }
}
