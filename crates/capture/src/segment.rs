//! IP packets and the TCP segments in them.
//!
//! IPv4 (RFC 791), IPv6 with extension headers (RFC 8200, section 4), TCP (RFC 9293, section 3.1) and its options:
//! maximum segment size, window scale and timestamps (RFC 7323), SACK (RFC 2018). IP packets inside IP packets (RFC
//! 2003, RFC 4213) are read, up to four of them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::link::Datagram;

/// An IP address. IPv4 addresses are stored in their IPv6-mapped form (RFC 4291, section 2.5.5.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Address {
    high: u64,
    low: u64,
}

impl Address {
    const MAPPED: u64 = 0xffff << 32;

    /// The IPv4 address of these bits.
    #[inline]
    pub const fn v4(bits: u32) -> Self {
        Self { high: 0, low: Self::MAPPED | bits as u64 }
    }

    /// The IPv6 address of these bits.
    #[inline]
    pub const fn v6(bits: u128) -> Self {
        Self { high: (bits >> 64) as u64, low: bits as u64 }
    }

    /// Whether it is an IPv6 address.
    #[inline]
    pub const fn is_v6(self) -> bool {
        self.high != 0 || self.low >> 32 != Self::MAPPED >> 32
    }

    /// The bits of the (mapped) IPv6 address.
    pub const fn bits(self) -> u128 {
        (self.high as u128) << 64 | self.low as u128
    }

    /// The upper and lower half of the bits.
    #[inline]
    pub(crate) const fn halves(self) -> (u64, u64) {
        (self.high, self.low)
    }

    /// Whether it lies in `network` with this prefix length, counted in the network's own family.
    pub fn is_in(self, network: Self, prefix: u8) -> bool {
        let width = if network.is_v6() { 128 } else { 32 };
        let differ = self.bits() ^ network.bits();
        // The upper bits of a mapped address must match too.
        differ.checked_shr(width - u32::from(prefix).min(width)).unwrap_or(0) == 0
    }
}

impl From<Address> for IpAddr {
    fn from(address: Address) -> Self {
        if address.is_v6() {
            Ipv6Addr::from_bits(address.bits()).into()
        } else {
            Ipv4Addr::from_bits(address.low as u32).into()
        }
    }
}

impl From<IpAddr> for Address {
    fn from(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(v4) => Self::v4(v4.to_bits()),
            IpAddr::V6(v6) => Self::v6(v6.to_bits()),
        }
    }
}

/// An address with a port, printed as by tcptrace and tshark: `10.0.0.1:80` or `2001:db8::1:80`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Endpoint {
    /// The host.
    pub address: Address,
    /// The port.
    pub port: u16,
}

impl std::fmt::Display for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", IpAddr::from(self.address), self.port)
    }
}

/// An echo request or reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EchoMessage {
    /// Sender.
    pub source: Address,
    /// Receiver.
    pub destination: Address,
    /// Identifier chosen by the requesting host.
    pub identifier: u16,
    /// Sequence number.
    pub sequence: u16,
    /// Whether it is the reply.
    pub reply: bool,
}

/// Bits of the TCP header's flags.
pub mod flag {
    /// No more data from the sender.
    pub const FIN: u8 = 0x01;
    /// Synchronise sequence numbers.
    pub const SYN: u8 = 0x02;
    /// Reset the connection.
    pub const RST: u8 = 0x04;
    /// Push.
    pub const PSH: u8 = 0x08;
    /// The acknowledgement field is valid.
    pub const ACK: u8 = 0x10;
    /// The urgent pointer is valid.
    pub const URG: u8 = 0x20;
    /// ECN echo.
    pub const ECE: u8 = 0x40;
    /// Congestion window reduced.
    pub const CWR: u8 = 0x80;
}

/// A TCP segment, with the relevant parts of its IP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment<'a> {
    /// Sender.
    pub source: Endpoint,
    /// Receiver.
    pub destination: Endpoint,
    /// Sequence number of the first byte.
    pub seq: u32,
    /// Acknowledgement number.
    pub ack: u32,
    /// Bits of [`flag`].
    pub flags: u8,
    /// AE, the flag before them (RFC 9768, section 3.1).
    pub ae: bool,
    /// Window, unscaled.
    pub window: u16,
    /// Urgent pointer.
    pub urgent: u16,
    /// Payload in bytes, computed from the lengths in the headers, even if little of it was captured.
    pub payload: u32,
    /// Bytes of header and payload that were not captured.
    pub missing: u32,
    /// Identification of IPv4, 0 for IPv6.
    pub ip_id: u16,
    /// Time to live, or hop limit.
    pub ttl: u8,
    /// Congestion experienced (RFC 3168).
    pub marked: bool,
    /// Length of the IP packet.
    pub length: u32,
    /// The captured part of the options.
    pub options: &'a [u8],
}

impl Segment<'_> {
    /// Whether any bit of `mask` is set.
    #[inline]
    pub const fn has(&self, mask: u8) -> bool {
        self.flags & mask != 0
    }

    /// The ACE field: AE, CWR and ECE as a number (RFC 9768, section 3.2.2).
    pub const fn ace(&self) -> u8 {
        (self.ae as u8) << 2 | self.flags >> 6
    }
}

/// The counters of an AccECN option (RFC 9768, section 3.2.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccEcnCounters {
    /// Whether the first is that of ECT(1) (kind 174) and not that of ECT(0) (kind 172); the second is that of CE.
    pub ect1_first: bool,
    /// The counters, modulo 2^24; the first `fields` of them.
    pub counters: [u32; 3],
    /// How many there are.
    pub fields: u8,
}

impl AccEcnCounters {
    /// Kinds of the option whose first counter is that of ECT(0), and that of ECT(1).
    pub const KINDS: [u8; 2] = [172, 174];

    fn parse(kind: u8, value: &[u8]) -> Self {
        let mut counters = Self { ect1_first: kind == Self::KINDS[1], ..Self::default() };
        for (slot, bytes) in counters.counters.iter_mut().zip(value.chunks_exact(3)) {
            *slot = u32::from_be_bytes([0, bytes[0], bytes[1], bytes[2]]);
            counters.fields += 1;
        }
        counters
    }

    /// Bytes that arrived with CE, modulo 2^24, if the option tells.
    pub fn ce(&self) -> Option<u32> {
        (self.fields >= 2).then_some(self.counters[1])
    }
}

/// Options of a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpOptions {
    /// Timestamp value and echo.
    pub timestamps: Option<(u32, u32)>,
    /// Maximum segment size.
    pub mss: Option<u16>,
    /// Window scale.
    pub scale: Option<u8>,
    /// SACK is permitted.
    pub sack_permitted: bool,
    /// SACK blocks, the first `sacks` of them.
    pub blocks: [(u32, u32); 4],
    /// How many SACK blocks there are.
    pub sacks: u8,
    /// Counters of accurate ECN.
    pub acc_ecn: Option<AccEcnCounters>,
}

impl TcpOptions {
    /// Parses options up to the first that is truncated or malformed.
    #[inline]
    pub fn parse(bytes: &[u8]) -> Self {
        // Fast path for the usual case: two padding bytes and timestamps (RFC 7323, appendix A).
        if let &[1, 1, 8, 10, a, b, c, d, e, f, g, h] = bytes {
            let timestamps = Some((u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h])));
            return Self { timestamps, ..Self::default() };
        }
        if bytes.is_empty() { Self::default() } else { Self::parse_all(bytes) }
    }

    fn parse_all(mut bytes: &[u8]) -> Self {
        let mut options = Self::default();
        loop {
            bytes = match *bytes {
                [] | [0, ..] | [_] => return options,
                [1, ref rest @ ..] => rest,
                [kind, length, ref rest @ ..] => {
                    let Some(value) = usize::from(length).checked_sub(2).and_then(|length| rest.get(..length)) else {
                        return options;
                    };
                    options.take(kind, value);
                    &rest[value.len()..]
                }
            };
        }
    }

    fn take(&mut self, kind: u8, value: &[u8]) {
        match (kind, value) {
            (2, &[high, low]) => self.mss = Some(u16::from_be_bytes([high, low])),
            // RFC 7323, section 2.3: a scale above 14 is read as 14.
            (3, &[scale]) => self.scale = Some(scale.min(14)),
            (4, &[]) => self.sack_permitted = true,
            (5, blocks) => {
                for block in blocks.chunks_exact(8).take(4) {
                    let left = u32::from_be_bytes([block[0], block[1], block[2], block[3]]);
                    let right = u32::from_be_bytes([block[4], block[5], block[6], block[7]]);
                    self.blocks[usize::from(self.sacks)] = (left, right);
                    self.sacks += 1;
                }
            }
            (172 | 174, counters) => self.acc_ecn = Some(AccEcnCounters::parse(kind, counters)),
            (8, &[a, b, c, d, e, f, g, h]) => {
                self.timestamps = Some((u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h])));
            }
            _ => {}
        }
    }
}

/// A fragment of an IP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FragmentPart<'a> {
    /// Sender.
    pub source: Address,
    /// Receiver.
    pub destination: Address,
    /// Identification of the packet.
    pub id: u32,
    /// Protocol of the packet's contents.
    pub protocol: u8,
    /// Whether it is an IPv6 packet.
    pub is_v6: bool,
    /// Place of its contents in those of the packet, in bytes.
    pub offset: u32,
    /// Whether it is not the last.
    pub more: bool,
    /// Length of its contents by its header, in bytes.
    pub length: u32,
    /// What stands before its contents.
    pub header: &'a [u8],
    /// The captured part of its contents.
    pub bytes: &'a [u8],
}

/// The payload of an IP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payload<'a> {
    /// A TCP segment.
    Tcp(Segment<'a>),
    /// A UDP datagram: its endpoints, the length of its payload in bytes, and the captured part of the payload.
    Udp(Endpoint, Endpoint, u32, &'a [u8]),
    /// An ICMP echo request or reply.
    Echo(EchoMessage),
    /// Another protocol, by its number.
    Other(u8),
    /// A fragment of a packet.
    Fragment(FragmentPart<'a>),
    /// Not enough was captured to tell.
    Short,
    /// The lengths in the headers contradict each other.
    Malformed,
}

const ICMP: u8 = 1;
const ICMP_V6: u8 = 58;
const TCP: u8 = 6;
const UDP: u8 = 17;

/// IPv4 and IPv6 in IP, and how many packets may be inside each other.
const IP_IN_IP: u8 = 4;
const IPV6_IN_IP: u8 = 41;
const MOST_INSIDE: u8 = 4;

/// Parses the headers of an IP packet.
#[inline]
pub fn parse<'a>(datagram: &Datagram<'a>) -> Payload<'a> {
    parse_inside(datagram, 0)
}

/// Parses a packet that is inside `depth` others.
#[inline]
fn parse_inside<'a>(datagram: &Datagram<'a>, depth: u8) -> Payload<'a> {
    let bytes = datagram.bytes;
    let Some(head) = bytes.first_chunk::<20>() else { return Payload::Short };
    if head[0] >> 4 == 6 {
        return parse_v6(datagram, depth);
    }
    let header = usize::from(head[0] & 0x0f) * 4;
    if head[0] >> 4 != 4 || header < 20 {
        return Payload::Malformed;
    }
    let mut length = u32::from(u16::from_be_bytes([head[2], head[3]]));
    if length == 0 {
        // A packet awaiting segmentation by the network card (TSO) has no length yet.
        length = datagram.original;
    }
    let fragment = u16::from_be_bytes([head[6], head[7]]) & 0x3fff;
    if fragment != 0 {
        return fragment_v4(head, fragment, length, bytes, header);
    }
    let ip = IpFields {
        source: address_v4(head, 12),
        destination: address_v4(head, 16),
        id: u16::from_be_bytes([head[4], head[5]]),
        ttl: head[8],
        marked: head[1] & 3 == 3,
        length,
    };
    above(head[9], &ip, bytes, header, (datagram, depth))
}

/// `fragment` is the offset in units of eight bytes, below the flag that more follow.
#[cold]
fn fragment_v4<'a>(head: &[u8; 20], fragment: u16, length: u32, bytes: &'a [u8], header: usize) -> Payload<'a> {
    let Some(length) = length.checked_sub(header as u32) else { return Payload::Malformed };
    let Some((own, held)) = bytes.split_at_checked(header) else { return Payload::Short };
    Payload::Fragment(FragmentPart {
        source: address_v4(head, 12),
        destination: address_v4(head, 16),
        id: u16::from_be_bytes([head[4], head[5]]).into(),
        protocol: head[9],
        is_v6: false,
        offset: u32::from(fragment & 0x1fff) * 8,
        more: fragment & 0x2000 != 0,
        length,
        header: own,
        bytes: held,
    })
}

/// Source and destination of an IP packet.
pub fn addresses(bytes: &[u8]) -> Option<[Address; 2]> {
    match bytes.first()? >> 4 {
        4 => bytes.first_chunk::<20>().map(|head| [12, 16].map(|at| address_v4(head, at))),
        6 => bytes.first_chunk::<40>().map(|head| [8, 24].map(|at| address_v6(head, at))),
        _ => None,
    }
}

#[inline]
fn address_v4(head: &[u8; 20], at: usize) -> Address {
    Address::v4(u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]))
}

fn address_v6(head: &[u8; 40], at: usize) -> Address {
    let mut all = [0; 16];
    all.copy_from_slice(&head[at..at + 16]);
    Address::v6(u128::from_be_bytes(all))
}

struct IpFields {
    source: Address,
    destination: Address,
    id: u16,
    ttl: u8,
    marked: bool,
    length: u32,
}

fn parse_v6<'a>(datagram: &Datagram<'a>, depth: u8) -> Payload<'a> {
    let bytes = datagram.bytes;
    let Some(head) = bytes.first_chunk::<40>() else { return Payload::Short };
    let mut length = 40 + u32::from(u16::from_be_bytes([head[4], head[5]]));
    let mut next = head[6];
    let mut at = 40;
    if length == 40 && next != 59 {
        length = datagram.original; // a jumbogram (RFC 2675), or a packet awaiting segmentation by the network card
    }
    loop {
        let rest = bytes.get(at..).unwrap_or_default();
        let step = match next {
            // Hop-by-hop, routing, destination, mobility, HIP, shim6: the length counts units of eight bytes after the
            // first eight.
            0 | 43 | 60 | 135 | 139 | 140 => match rest {
                [_, words, ..] => 8 + usize::from(*words) * 8,
                _ => return Payload::Short,
            },
            44 => match *rest {
                // The offset stands above two reserved bits and the flag that more follow.
                [next, _, high, low, a, b, c, d, ref held @ ..] if (high, low & 0xf9) != (0, 0) => {
                    let place = u32::from(u16::from_be_bytes([high, low]));
                    let Some(length) = length.checked_sub(at as u32 + 8) else { return Payload::Malformed };
                    return Payload::Fragment(FragmentPart {
                        source: address_v6(head, 8),
                        destination: address_v6(head, 24),
                        id: u32::from_be_bytes([a, b, c, d]),
                        protocol: next,
                        is_v6: true,
                        offset: place & 0xfff8,
                        more: place & 1 != 0,
                        length,
                        header: &bytes[..at + 8],
                        bytes: held,
                    });
                }
                [_, _, _, _, ..] => 8,
                _ => return Payload::Short,
            },
            // Authentication header: the length counts units of four bytes after the first eight.
            51 => match rest {
                [_, words, ..] => 8 + usize::from(*words) * 4,
                _ => return Payload::Short,
            },
            _ => break,
        };
        next = rest[0];
        at += step;
    }
    let marked = head[1] >> 4 & 3 == 3;
    let ip = IpFields {
        source: address_v6(head, 8),
        destination: address_v6(head, 24),
        id: 0,
        ttl: head[7],
        marked,
        length,
    };
    above(next, &ip, bytes, at, (datagram, depth))
}

/// Parses the header that follows an IP header of `header` bytes. `outer` is the datagram, and how many it is in.
#[inline]
fn above<'a>(protocol: u8, ip: &IpFields, bytes: &'a [u8], header: usize, outer: (&Datagram<'a>, u8)) -> Payload<'a> {
    let Some(rest) = bytes.get(header..) else { return Payload::Short };
    match protocol {
        TCP => {
            let Some(head) = rest.first_chunk::<20>() else { return Payload::Short };
            let own = usize::from(head[12] >> 4) * 4;
            let Some(payload) = ip.length.checked_sub((header + own) as u32) else { return Payload::Malformed };
            if own < 20 {
                return Payload::Malformed;
            }
            let endpoint = |address, port: [u8; 2]| Endpoint { address, port: u16::from_be_bytes(port) };
            Payload::Tcp(Segment {
                source: endpoint(ip.source, [head[0], head[1]]),
                destination: endpoint(ip.destination, [head[2], head[3]]),
                seq: u32::from_be_bytes([head[4], head[5], head[6], head[7]]),
                ack: u32::from_be_bytes([head[8], head[9], head[10], head[11]]),
                flags: head[13],
                ae: head[12] & 1 == 1,
                window: u16::from_be_bytes([head[14], head[15]]),
                urgent: u16::from_be_bytes([head[18], head[19]]),
                payload,
                missing: ip.length.saturating_sub(bytes.len() as u32),
                ip_id: ip.id,
                ttl: ip.ttl,
                marked: ip.marked,
                length: ip.length,
                options: &rest[20..own.min(rest.len())],
            })
        }
        UDP => {
            let Some(head) = rest.first_chunk::<8>() else { return Payload::Short };
            let endpoint = |address, port: [u8; 2]| Endpoint { address, port: u16::from_be_bytes(port) };
            let source = endpoint(ip.source, [head[0], head[1]]);
            let destination = endpoint(ip.destination, [head[2], head[3]]);
            match ip.length.checked_sub(header as u32 + 8) {
                Some(payload) => {
                    let held = &rest[8..];
                    Payload::Udp(source, destination, payload, &held[..held.len().min(payload as usize)])
                }
                None => Payload::Malformed,
            }
        }
        // RFC 792 and RFC 4443, section 4: type, code, checksum, identifier, sequence number.
        ICMP | ICMP_V6 => match *rest {
            [kind, 0, _, _, a, b, c, d, ..] if matches!((protocol, kind), (ICMP, 0 | 8) | (ICMP_V6, 128 | 129)) => {
                Payload::Echo(EchoMessage {
                    source: ip.source,
                    destination: ip.destination,
                    identifier: u16::from_be_bytes([a, b]),
                    sequence: u16::from_be_bytes([c, d]),
                    reply: matches!(kind, 0 | 129),
                })
            }
            _ => Payload::Other(protocol),
        },
        IP_IN_IP | IPV6_IN_IP if outer.1 < MOST_INSIDE => {
            let Some(length) = ip.length.checked_sub(header as u32) else { return Payload::Malformed };
            let inner = &rest[..rest.len().min(length as usize)];
            let place = outer.0.place;
            match parse_inside(&Datagram { bytes: inner, original: length, place }, outer.1 + 1) {
                // Not for IP, in spite of its number.
                Payload::Short | Payload::Malformed => Payload::Other(protocol),
                payload => payload,
            }
        }
        _ => Payload::Other(protocol),
    }
}
