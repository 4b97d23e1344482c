//! From the headers of a real packet to what queues and schemes of the simulation look at.
//!
//! The packets of two ports at two hosts are one connection, which is one flow to FQ-CoDel, LAS and the schemes that
//! share windows. Simulated connections carry data one way; a real one counts as one whose data goes the way in which
//! more payload went so far, the way being changed where the other one has carried twice as much. Segments that way are
//! data to the simulation, segments the other way are its ACKs.

use std::collections::BTreeMap;

use wifair_capture::{Datagram, Endpoint, Options, Payload, Segment, flag as wire, parse};
use wifair_packet::{Kind, Packet, flag};
use wifair_sim::world::World;
use wifair_units::{Duration, Time};

/// Connections that are told apart; the others between two hosts are taken together.
pub const MOST_CONNECTIONS: usize = 4096;
/// A connection that is silent for so long is forgotten.
const FORGET_AFTER: Duration = Duration::from_secs(60);
/// Payload by which the other way has to be ahead of twice this one's before it counts as that of the data, in bytes:
/// two full segments.
const AHEAD: u64 = 3000;
/// Option of TCP's timestamps with its padding, in bytes (RFC 7323, appendix A).
const TIMESTAMPS: u16 = 12;
/// Segment size where no SYN said another (RFC 9293, section 3.7.1).
const DEFAULT_MSS: u16 = 536;

/// Both ends of a connection, the lower one first, and the number of the protocol.
type Key = ([Endpoint; 2], u8);

/// What one end has sent.
#[derive(Clone, Copy, Debug, Default)]
struct Side {
    /// Sequence number before the first byte.
    initial: Option<u32>,
    /// The highest offset seen.
    offset: u64,
    payload: u64,
    mss: Option<u16>,
    scale: Option<u8>,
    timestamps: bool,
}

impl Side {
    /// The offset in the stream of a sequence number near the highest one.
    #[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)]
    fn offset_of(&mut self, seq: u32) -> u64 {
        let initial = *self.initial.get_or_insert(seq.wrapping_sub(1));
        let ahead = seq.wrapping_sub(initial).wrapping_sub(1).wrapping_sub(self.offset as u32) as i32;
        let offset = self.offset.saturating_add_signed(i64::from(ahead));
        self.offset = self.offset.max(offset);
        offset
    }
}

#[derive(Clone, Debug)]
struct Connection {
    /// Its numbers in the simulation, one for each access category that it has used.
    numbers: [Option<u32>; 4],
    sides: [Side; 2],
    /// The side that sends the data.
    source: usize,
    last: Time,
}

/// A packet as the simulation sees it.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// Number of its connection in the simulation.
    pub connection: u32,
    /// The packet.
    pub packet: Packet,
    /// Payload of a full segment in bytes and the scale of its window; none without TCP.
    pub tcp: Option<(u16, u8)>,
}

/// Why a packet has no place in the simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

/// The connections of real programs.
#[derive(Debug, Default)]
pub struct Flows {
    connections: BTreeMap<Key, Connection>,
    swept: Time,
}

impl Flows {
    /// Reads a packet that goes the way `way` of the world in the access category at the place `category`.
    ///
    /// # Errors
    /// If its headers are cut off or contradict each other.
    #[allow(clippy::cast_possible_truncation)]
    pub fn see(&mut self, world: &mut World, way: usize, category: usize, bytes: &[u8]) -> Result<Seen, Malformed> {
        let now = world.now();
        self.sweep(world, now);
        let datagram = Datagram { bytes, original: bytes.len() as u32, place: 0 };
        let mut packet = Packet { size: bytes.len() as u16, flags: ecn(bytes), kind: Kind::Udp, ..Packet::default() };
        let (source, destination) = addresses(bytes).ok_or(Malformed)?;
        let (ends, protocol, segment) = match parse(&datagram) {
            Payload::Tcp(segment) => ([segment.source, segment.destination], 6, Some(segment)),
            Payload::Udp(source, destination, payload, _) => {
                packet.payload = payload.min(u32::from(u16::MAX)) as u16;
                ([source, destination], 17, None)
            }
            Payload::Echo(_) | Payload::Other(_) | Payload::Fragment => ([source, destination], 0, None),
            Payload::Short | Payload::Malformed => return Err(Malformed),
        };
        let side = usize::from(ends[0] > ends[1]);
        let mut key = ([ends[side], ends[1 - side]], protocol);
        if self.connections.len() >= MOST_CONNECTIONS && !self.connections.contains_key(&key) {
            key = ([source, destination], u8::MAX);
            key.0.sort();
        }
        let connection = self.connections.entry(key).or_insert_with(|| Connection {
            numbers: [None; 4],
            sides: [Side::default(); 2],
            source: side,
            last: now,
        });
        connection.last = now;
        let tcp = segment.filter(|_| key.1 == 6).map(|segment| {
            connection.read(&segment, side, &mut packet);
            if connection.sides[1 - connection.source].payload > 2 * connection.sides[connection.source].payload + AHEAD
            {
                // To the schemes this is another flow, whose offsets are those of the other side.
                connection.source = 1 - connection.source;
                connection.numbers.iter_mut().filter_map(Option::take).for_each(|number| world.close(number));
                connection.read(&segment, side, &mut packet);
            }
            let scale = if segment.has(wire::SYN) { 0 } else { connection.scale(side) };
            (connection.full_payload(), scale)
        });
        let number = *connection.numbers[category].get_or_insert_with(|| world.open(way, category));
        Ok(Seen { connection: number, packet, tcp })
    }

    /// Forgets connections that have been silent for long.
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

impl Connection {
    /// Fills in what a segment from `side` says.
    #[allow(clippy::cast_possible_truncation)]
    fn read(&mut self, segment: &Segment<'_>, side: usize, packet: &mut Packet) {
        if segment.has(wire::SYN) {
            let options = Options::parse(segment.options);
            if self.sides[side].initial != Some(segment.seq) {
                self.sides[side] = Side { initial: Some(segment.seq), ..Side::default() };
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
        let flags = [
            (wire::SYN, flag::SYN),
            (wire::FIN, flag::FIN),
            (wire::ACK, flag::ACK),
            (wire::ECE, flag::ECE),
            (wire::CWR, flag::CWR),
        ];
        flags.into_iter().filter(|(theirs, _)| segment.has(*theirs)).for_each(|(_, ours)| packet.flags |= ours);
    }

    /// The scale of windows from `side`: none unless both ends have offered one (RFC 7323, section 2.2).
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

/// Both addresses of an IP packet, with port 0.
pub fn addresses(bytes: &[u8]) -> Option<(Endpoint, Endpoint)> {
    use wifair_capture::Address;
    let endpoint = |address| Endpoint { address, port: 0 };
    match bytes.first()? >> 4 {
        4 if bytes.len() >= 20 => {
            let v4 =
                |at: usize| Address::v4(u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]));
            Some((endpoint(v4(12)), endpoint(v4(16))))
        }
        6 if bytes.len() >= 40 => {
            let v6 = |at: usize| {
                let mut all = [0; 16];
                all.copy_from_slice(&bytes[at..at + 16]);
                Address::v6(u128::from_be_bytes(all))
            };
            Some((endpoint(v6(8)), endpoint(v6(24))))
        }
        _ => None,
    }
}

/// Differentiated services code point of an IP packet (RFC 2474).
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

/// What the ECN field says (RFC 3168, section 5), in flags of the simulation.
fn ecn(bytes: &[u8]) -> u8 {
    match traffic_class(bytes) & 3 {
        0 => 0,
        3 => flag::ECT | flag::CE,
        _ => flag::ECT,
    }
}
