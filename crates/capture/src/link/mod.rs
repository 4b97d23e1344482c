//! Extracts the IP packets from captured frames.
//!
//! Link types are those of the registry at tcpdump.org. VLAN tags (IEEE 802.1Q, 802.1ad), LLC/SNAP (IEEE 802.2), PPPoE
//! (RFC 2516) and MPLS labels (RFC 3032) are skipped. A frame contains one IP packet, except for an 802.11 A-MSDU.

pub mod beacon;
pub mod mode;
mod monitor;
pub mod radiotap;
pub mod wifi;

use radiotap::RadioInfo;

/// The link type of an interface: what its packets start with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkType {
    /// BSD loopback: four bytes of protocol family.
    Loopback,
    /// Ethernet.
    Ethernet,
    /// IP packets without a link header.
    RawIp,
    /// 802.11 frames.
    Wifi,
    /// 802.11 frames after radiotap headers.
    Radiotap,
    /// 802.11 frames after Prism headers, or AVS headers.
    Prism,
    /// 802.11 frames after AVS headers.
    Avs,
    /// Frames after PPI headers, which tell the link type of each; 802.11 in most cases.
    Ppi,
    /// Linux cooked mode, version 1.
    Cooked,
    /// Linux cooked mode, version 2.
    Cooked2,
    /// Another link type, by number; not supported.
    Other(u16),
}

impl LinkType {
    /// The link type with this number in the registry.
    pub const fn from_number(number: u16) -> Self {
        match number {
            0 | 108 => Self::Loopback,
            1 => Self::Ethernet,
            12 | 14 | 101 | 228 | 229 => Self::RawIp,
            105 => Self::Wifi,
            113 => Self::Cooked,
            119 => Self::Prism,
            127 => Self::Radiotap,
            163 => Self::Avs,
            192 => Self::Ppi,
            276 => Self::Cooked2,
            other => Self::Other(other),
        }
    }

    /// Its number in the registry.
    pub const fn number(self) -> u16 {
        match self {
            Self::Loopback => 0,
            Self::Ethernet => 1,
            Self::RawIp => 101,
            Self::Wifi => 105,
            Self::Cooked => 113,
            Self::Prism => 119,
            Self::Radiotap => 127,
            Self::Avs => 163,
            Self::Ppi => 192,
            Self::Cooked2 => 276,
            Self::Other(number) => number,
        }
    }

    /// Whether its frames are 802.11 frames.
    pub const fn is_wifi(self) -> bool {
        matches!(self, Self::Wifi | Self::Radiotap | Self::Prism | Self::Avs | Self::Ppi)
    }

    /// Whether one packet may by design be captured more than once: on each interface of a cooked capture, on each hop
    /// of an 802.11 capture.
    pub const fn repeats(self) -> bool {
        self.is_wifi() || matches!(self, Self::Cooked | Self::Cooked2)
    }
}

/// An IP packet in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram<'a> {
    /// The captured bytes from the IP header on.
    pub bytes: &'a [u8],
    /// Its length on the wire, in bytes, link padding included.
    pub original: u32,
    /// The place of capture: it differs between copies of a packet seen on several cooked interfaces or 802.11 hops.
    pub place: u32,
}

/// The kind of a frame, for counting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodeOutcome {
    /// A frame that can contain IP packets; those were passed on.
    Ip,
    /// Another kind: ARP, management, another protocol.
    Other,
    /// Truncated or contradictory before the IP header.
    Malformed,
    /// 802.11: the frame check sequence is wrong.
    BadFcs,
    /// 802.11: encrypted.
    Protected,
    /// 802.11: an A-MSDU whose first packets were passed on, but whose last ones were not captured.
    CutAmsdu,
}

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;

#[inline]
fn be16(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..at + 2).map(|b| u16::from_be_bytes([b[0], b[1]]))
}

/// Receives the contents of a frame.
pub trait Sink<'a> {
    /// Called for an 802.11 frame before its contents. Returns whether the contents are wanted.
    fn frame(&mut self, frame: &wifi::WifiFrame<'a>, radio: &RadioInfo) -> bool {
        let _ = (frame, radio);
        true
    }

    /// Called for an IP packet.
    fn datagram(&mut self, datagram: &Datagram<'a>);
}

impl<'a, F: FnMut(&Datagram<'a>)> Sink<'a> for F {
    fn datagram(&mut self, datagram: &Datagram<'a>) {
        self(datagram);
    }
}

/// Passes the contents of a frame to `sink`.
#[inline]
pub fn decode<'a>(link: LinkType, data: &'a [u8], original: u32, sink: &mut impl Sink<'a>) -> DecodeOutcome {
    match link {
        LinkType::Ethernet => ethernet(data, original, sink),
        LinkType::RawIp => ip(data, original, 0, sink),
        LinkType::Loopback => after(data, original, 4, |rest, original| ip(rest, original, 0, sink)),
        LinkType::Cooked => {
            let (Some(kind), Some(protocol)) = (be16(data, 0), be16(data, 14)) else { return DecodeOutcome::Malformed };
            after(data, original, 16, |rest, original| by_type(protocol, rest, original, u32::from(kind), sink))
        }
        LinkType::Cooked2 => {
            let Some(head) = data.first_chunk::<20>() else { return DecodeOutcome::Malformed };
            let protocol = u16::from_be_bytes([head[0], head[1]]);
            let interface = u32::from_be_bytes([head[4], head[5], head[6], head[7]]);
            let place = interface << 8 | u32::from(head[10]);
            after(data, original, 20, |rest, original| by_type(protocol, rest, original, place, sink))
        }
        LinkType::Radiotap => heard(radiotap::parse(data), data, original, sink),
        LinkType::Prism => heard(monitor::prism(data), data, original, sink),
        LinkType::Avs => heard(monitor::avs(data), data, original, sink),
        LinkType::Ppi => match monitor::ppi(data) {
            Some((radio, LinkType::Wifi, rest)) => heard(Some((radio, rest)), data, original, sink),
            Some((_, LinkType::Ethernet, rest)) => {
                ethernet(rest, original.saturating_sub((data.len() - rest.len()) as u32), sink)
            }
            Some(_) => DecodeOutcome::Other,
            None => DecodeOutcome::Malformed,
        },
        LinkType::Wifi => wifi::decode(data, original, &RadioInfo::default(), sink),
        LinkType::Other(_) => DecodeOutcome::Other,
    }
}

/// Continues with the 802.11 frame that follows the header of a radio.
fn heard<'a>(
    parsed: Option<(RadioInfo, &'a [u8])>,
    data: &'a [u8],
    original: u32,
    sink: &mut impl Sink<'a>,
) -> DecodeOutcome {
    match parsed {
        Some((radio, _)) if radio.is_empty => DecodeOutcome::Other,
        Some((radio, rest)) => {
            let original = original.saturating_sub((data.len() - rest.len()) as u32);
            wifi::decode(rest, original, &radio, sink)
        }
        None => DecodeOutcome::Malformed,
    }
}

/// Continues after a header of `length` bytes.
#[inline]
fn after<'a>(
    data: &'a [u8],
    original: u32,
    length: u32,
    next: impl FnOnce(&'a [u8], u32) -> DecodeOutcome,
) -> DecodeOutcome {
    match data.get(length as usize..) {
        Some(rest) => next(rest, original.saturating_sub(length)),
        None => DecodeOutcome::Malformed,
    }
}

#[inline]
fn ip<'a>(data: &'a [u8], original: u32, place: u32, sink: &mut impl Sink<'a>) -> DecodeOutcome {
    match data.first() {
        Some(first) if matches!(first >> 4, 4 | 6) => {
            sink.datagram(&Datagram { bytes: data, original, place });
            DecodeOutcome::Ip
        }
        Some(_) => DecodeOutcome::Other,
        None => DecodeOutcome::Malformed,
    }
}

#[inline]
fn ethernet<'a>(data: &'a [u8], original: u32, sink: &mut impl Sink<'a>) -> DecodeOutcome {
    let Some(protocol) = be16(data, 12) else { return DecodeOutcome::Malformed };
    after(data, original, 14, |rest, original| by_type(protocol, rest, original, 0, sink))
}

/// Continues after an Ethernet type, or after a length in its place.
#[inline]
fn by_type<'a>(protocol: u16, data: &'a [u8], original: u32, place: u32, sink: &mut impl Sink<'a>) -> DecodeOutcome {
    if protocol == IPV4 || protocol == IPV6 {
        ip(data, original, place, sink)
    } else {
        nested(protocol, data, original, place, sink)
    }
}

/// Skips VLAN tags, PPPoE headers, MPLS labels and LLC before the IP packet.
#[cold]
fn nested<'a>(
    mut protocol: u16,
    mut data: &'a [u8],
    mut original: u32,
    place: u32,
    sink: &mut impl Sink<'a>,
) -> DecodeOutcome {
    loop {
        let (header, next) = match protocol {
            IPV4 | IPV6 => return ip(data, original, place, sink),
            // 802.1Q, 802.1ad and their predecessors: two bytes of tag, then the type.
            0x8100 | 0x88a8 | 0x9100 | 0x9200 => (4, be16(data, 2)),
            // PPPoE session: six bytes, then the PPP protocol.
            0x8864 => (
                8,
                be16(data, 6).map(|ppp| match ppp {
                    0x0021 => IPV4,
                    0x0057 => IPV6,
                    _ => 0xffff,
                }),
            ),
            // MPLS: labels of four bytes up to the one at the bottom of the stack, whose bit 8 is set. Nothing tells
            // what follows; IP begins with its version.
            0x8847 | 0x8848 => (
                4,
                match data {
                    [_, _, bottom, _, next, ..] => Some(match (bottom & 1, next >> 4) {
                        (0, _) => protocol,
                        (_, 4) => IPV4,
                        (_, 6) => IPV6,
                        _ => 0xffff,
                    }),
                    _ => None,
                },
            ),
            // A length (or "802.2" in cooked mode): LLC with SNAP.
            0x0004 | 0x002e..=0x05dc if snap(data).is_some() => (8, snap(data)),
            _ => return DecodeOutcome::Other,
        };
        let (Some(next), Some(rest)) = (next, data.get(header as usize..)) else { return DecodeOutcome::Malformed };
        (protocol, data, original) = (next, rest, original.saturating_sub(header));
    }
}

/// The Ethernet type in an LLC header with SNAP and OUI zero (RFC 1042).
#[inline]
fn snap(data: &[u8]) -> Option<u16> {
    match data.first_chunk::<8>()? {
        [0xaa, 0xaa, 0x03, 0, 0, 0 | 0xf8, high, low] => Some(u16::from_be_bytes([*high, *low])),
        _ => None,
    }
}
