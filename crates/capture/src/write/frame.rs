//! Frames as they appear on the wire and on the air, with valid checksums.
//!
//! A frame is built by appending its headers in the order in which they are sent, outermost first. Payloads are zeros
//! and need not be written out, because their checksum is known.
//!
//! ```
//! use wifair_capture::frame::{self, Tcp};
//! use wifair_capture::{Endpoint, flag};
//! let host = |last: u8, port| Endpoint { address: std::net::IpAddr::from([10, 0, 0, last]).into(), port };
//! let syn = Tcp { seq: 7, flags: flag::SYN, window: 65_535, ..Tcp::between(host(1, 40_000), host(2, 80)) };
//! let mut packet = Vec::new();
//! frame::ethernet(&mut packet, [2, 0, 0, 0, 0, 2], [2, 0, 0, 0, 0, 1], false);
//! frame::tcp(&mut packet, &syn, u32::MAX);
//! assert_eq!(packet.len(), 14 + 20 + 20);
//! ```

use wifair_phy::{Coding, GuardInterval, HtFormat, PpduFormat, TxVector};

use crate::link::radiotap::{RadioRate, mcs_index};
use crate::link::wifi::Mac;
use crate::segment::{AccEcnCounters, Endpoint, TcpOptions};

/// The header of an IP packet to be written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IpHeader {
    /// Sender.
    pub source: Endpoint,
    /// Receiver, of the same family.
    pub destination: Endpoint,
    /// Identification of IPv4.
    pub id: u16,
    /// Time to live, or hop limit.
    pub ttl: u8,
    /// Differentiated services code point (RFC 2474), below 64.
    pub dscp: u8,
    /// ECN field.
    pub ecn: u8,
}

impl IpHeader {
    /// The header of a packet that has not been forwarded, with nothing else set.
    pub fn between(source: Endpoint, destination: Endpoint) -> Self {
        Self { source, destination, ttl: 64, ..Self::default() }
    }
}

/// A TCP segment to be written.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tcp {
    /// The header before it.
    pub ip: IpHeader,
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgement number.
    pub ack: u32,
    /// Bits of [`crate::flag`].
    pub flags: u8,
    /// AE, the flag before them (RFC 9768, section 3.1).
    pub ae: bool,
    /// Window, unscaled.
    pub window: u16,
    /// Options.
    pub options: TcpOptions,
    /// Payload, in bytes.
    pub payload: u16,
}

impl Tcp {
    /// An empty segment without flags.
    pub fn between(source: Endpoint, destination: Endpoint) -> Self {
        Self { ip: IpHeader::between(source, destination), ..Self::default() }
    }
}

/// Appends an Ethernet header.
pub fn ethernet(frame: &mut Vec<u8>, destination: [u8; 6], source: [u8; 6], v6: bool) {
    frame.extend(destination);
    frame.extend(source);
    frame.extend(ether_type(v6));
}

fn ether_type(v6: bool) -> [u8; 2] {
    if v6 { [0x86, 0xdd] } else { [0x08, 0x00] }
}

/// Ones' complement sum of 16-bit words (RFC 1071).
fn sum(bytes: &[u8]) -> u64 {
    let words = bytes.chunks_exact(2);
    let odd = match words.remainder() {
        [last] => u64::from(*last) << 8,
        _ => 0,
    };
    odd + words.map(|word| u64::from(u16::from_be_bytes([word[0], word[1]]))).sum::<u64>()
}

fn folded(mut sum: u64) -> [u8; 2] {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    (!(sum as u16)).to_be_bytes()
}

/// Appends an IP header before `above` bytes of a protocol; returns the sum of the pseudo header.
fn ip(frame: &mut Vec<u8>, head: &IpHeader, protocol: u8, above: usize) -> u64 {
    let (source, destination) = (head.source.address, head.destination.address);
    assert_eq!(source.is_v6(), destination.is_v6(), "both ends of a packet are of one family");
    let start = frame.len();
    let traffic_class = head.dscp << 2 | head.ecn;
    if source.is_v6() {
        let length = u16::try_from(above).expect("an IPv6 packet carries 65,535 bytes at most");
        frame.extend([0x60 | traffic_class >> 4, traffic_class << 4, 0, 0]);
        frame.extend(length.to_be_bytes());
        frame.extend([protocol, head.ttl]);
        frame.extend(source.bits().to_be_bytes());
        frame.extend(destination.bits().to_be_bytes());
    } else {
        let length = u16::try_from(20 + above).expect("an IPv4 packet has 65,535 bytes at most");
        frame.extend([0x45, traffic_class]);
        frame.extend(length.to_be_bytes());
        frame.extend(head.id.to_be_bytes());
        frame.extend([0x40, 0, head.ttl, protocol, 0, 0]); // do not fragment
        frame.extend(&source.bits().to_be_bytes()[12..]);
        frame.extend(&destination.bits().to_be_bytes()[12..]);
        let checksum = folded(sum(&frame[start..]));
        frame[start + 10..start + 12].copy_from_slice(&checksum);
    }
    let addresses = if source.is_v6() { &frame[start + 8..start + 40] } else { &frame[start + 12..start + 20] };
    sum(addresses) + u64::from(protocol) + above as u64
}

/// Appends a TCP segment in its IP packet. At most `keep` bytes of the payload are written out.
///
/// # Panics
/// If the ends are of different address families, the options exceed 40 bytes, or the packet exceeds the limit of IP.
pub fn tcp(frame: &mut Vec<u8>, segment: &Tcp, keep: u32) {
    let mut options = Vec::with_capacity(40);
    put_options(&mut options, &segment.options);
    assert!(options.len() <= 40, "TCP options take 40 bytes at most");
    let header = 20 + options.len();
    let pseudo = ip(frame, &segment.ip, 6, header + usize::from(segment.payload));
    let start = frame.len();
    frame.extend(segment.ip.source.port.to_be_bytes());
    frame.extend(segment.ip.destination.port.to_be_bytes());
    frame.extend(segment.seq.to_be_bytes());
    frame.extend(segment.ack.to_be_bytes());
    frame.extend([(header as u8 / 4) << 4 | u8::from(segment.ae), segment.flags]);
    frame.extend(segment.window.to_be_bytes());
    frame.extend([0; 4]);
    frame.extend(options);
    let checksum = folded(pseudo + sum(&frame[start..]));
    frame[start + 16..start + 18].copy_from_slice(&checksum);
    frame.resize(frame.len() + segment.payload.min(u16::try_from(keep).unwrap_or(u16::MAX)) as usize, 0);
}

fn put_options(bytes: &mut Vec<u8>, options: &TcpOptions) {
    if let Some(mss) = options.mss {
        bytes.extend([2, 4]);
        bytes.extend(mss.to_be_bytes());
    }
    if options.sack_permitted {
        bytes.extend([4, 2]);
        if options.timestamps.is_none() {
            bytes.extend([1, 1]);
        }
    } else if options.timestamps.is_some() {
        bytes.extend([1, 1]);
    }
    if let Some((value, echo)) = options.timestamps {
        bytes.extend([8, 10]);
        bytes.extend(value.to_be_bytes());
        bytes.extend(echo.to_be_bytes());
    }
    if let Some(counters) = options.acc_ecn {
        let fields = usize::from(counters.fields);
        bytes.extend([AccEcnCounters::KINDS[usize::from(counters.ect1_first)], 2 + 3 * counters.fields]);
        counters.counters[..fields].iter().for_each(|counter| bytes.extend(&counter.to_be_bytes()[1..]));
        bytes.resize(bytes.len().next_multiple_of(4), 1);
    }
    if let Some(scale) = options.scale {
        bytes.extend([1, 3, 3, scale]);
    }
    if options.sacks > 0 {
        bytes.extend([1, 1, 5, 2 + 8 * options.sacks]);
        for (left, right) in &options.blocks[..usize::from(options.sacks)] {
            bytes.extend(left.to_be_bytes());
            bytes.extend(right.to_be_bytes());
        }
    }
}

/// A UDP datagram to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UdpDatagram<'a> {
    /// The header before it.
    pub ip: IpHeader,
    /// Payload, in bytes.
    pub payload: u16,
    /// The start of the payload, of even length; the rest is zero.
    pub content: &'a [u8],
}

/// Appends a UDP datagram in its IP packet. At most `keep` bytes of the payload are written out.
///
/// # Panics
/// As for [`tcp`].
pub fn udp(frame: &mut Vec<u8>, udp: &UdpDatagram<'_>, keep: u32) {
    let UdpDatagram { ip: head, payload, content } = *udp;
    let content = &content[..content.len().min(usize::from(payload) & !1)];
    let length = payload.checked_add(8).expect("a UDP datagram has 65,535 bytes at most");
    let pseudo = ip(frame, &head, 17, usize::from(length));
    let start = frame.len();
    frame.extend(head.source.port.to_be_bytes());
    frame.extend(head.destination.port.to_be_bytes());
    frame.extend(length.to_be_bytes());
    frame.extend([0, 0]);
    let checksum = match folded(pseudo + sum(&frame[start..]) + sum(content)) {
        [0, 0] => [0xff, 0xff], // RFC 768: a zero field means "no checksum"
        other => other,
    };
    frame[start + 6..start + 8].copy_from_slice(&checksum);
    let kept = usize::from(payload.min(u16::try_from(keep).unwrap_or(u16::MAX)));
    let end = frame.len() + kept;
    frame.extend(&content[..content.len().min(kept)]);
    frame.resize(end, 0);
}

/// An ICMP echo to be written (RFC 792).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Echo {
    /// The header before it, of IPv4; ports do not matter.
    pub ip: IpHeader,
    /// Whether it is the reply.
    pub reply: bool,
    /// Identifier chosen by the requesting host.
    pub identifier: u16,
    /// Sequence number.
    pub sequence: u16,
    /// Payload, in bytes.
    pub payload: u16,
}

/// Appends an ICMP echo in its IPv4 packet. At most `keep` bytes of the payload are written out.
///
/// # Panics
/// If the ends are not IPv4, or the packet exceeds the limit of IP.
pub fn echo(frame: &mut Vec<u8>, echo: &Echo, keep: u32) {
    assert!(!echo.ip.source.address.is_v6(), "echoes are of IPv4");
    ip(frame, &echo.ip, 1, 8 + usize::from(echo.payload));
    let start = frame.len();
    frame.extend([if echo.reply { 0 } else { 8 }, 0, 0, 0]);
    frame.extend(echo.identifier.to_be_bytes());
    frame.extend(echo.sequence.to_be_bytes());
    let checksum = folded(sum(&frame[start..]));
    frame[start + 2..start + 4].copy_from_slice(&checksum);
    frame.resize(frame.len() + u32::from(echo.payload).min(keep) as usize, 0);
}

/// The contents of a radiotap header.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Heard {
    /// Rate of the frame, if the header tells it. That of 802.11be is left out, because Wireshark 4.0 loses its place
    /// where type, length and value follow the fields (radiotap.org).
    pub rate: Option<RadioRate>,
    /// Channel frequency, in MHz.
    pub frequency: u16,
    /// Signal and noise, in dBm, if known.
    pub levels: Option<(i8, i8)>,
    /// Whether the frame check sequence was wrong.
    pub bad_fcs: bool,
    /// Number of the A-MPDU that contains the frame, and whether the frame is its last MPDU.
    pub ampdu: Option<(u32, bool)>,
    /// Whether to say that LDPC had no extra symbol, whatever the length (802.11ac and later).
    pub has_no_extra_symbol: bool,
    /// Of an HE PPDU, the LENGTH field of L-SIG and the PE Disambiguity field of HE-SIG-A, which give its packet
    /// extension.
    pub l_length: Option<(u16, bool)>,
}

/// Appends a radiotap header. The frame after it must end with its check sequence, see [`fcs`].
pub fn radiotap(frame: &mut Vec<u8>, heard: &Heard) {
    let start = frame.len();
    // Flags, channel, signal, noise; the rate goes into the field for its kind.
    let (legacy, vector) = match heard.rate {
        Some(RadioRate::Legacy(half)) => (Some(half), None),
        Some(RadioRate::Mcs(vector)) => (None, Some(vector)),
        None => (None, None),
    };
    let rate_bit: u32 = match vector.map(|vector| vector.format) {
        None => u32::from(legacy.is_some()) << 2,
        Some(PpduFormat::Ht(_)) => 1 << 19,
        Some(PpduFormat::Vht) => 1 << 21,
        Some(PpduFormat::He | PpduFormat::HeExtended) => 1 << 23,
        Some(PpduFormat::Eht) => 0,
    };
    let levels: u32 = if heard.levels.is_some() { 1 << 5 | 1 << 6 } else { 0 };
    let ampdu = u32::from(heard.ampdu.is_some()) << 20;
    let l_length = heard.l_length.filter(|_| rate_bit == 1 << 23);
    let present: u32 = 1 << 1 | 1 << 3 | levels | rate_bit | ampdu | u32::from(l_length.is_some()) << 27;
    frame.extend([0, 0, 0, 0]);
    frame.extend(present.to_le_bytes());
    frame.push(0x10 | if heard.bad_fcs { 0x40 } else { 0 });
    frame.push(legacy.unwrap_or(0)); // or padding before the channel
    frame.extend(heard.frequency.to_le_bytes());
    let band: u16 = if heard.frequency < 3_000 { 0x0080 } else { 0x0100 };
    let is_cck = matches!(legacy, Some(2 | 4 | 11 | 22));
    frame.extend((band | if is_cck { 0x0020 } else { 0x0040 }).to_le_bytes());
    if let Some((signal, noise)) = heard.levels {
        frame.extend([signal.cast_unsigned(), noise.cast_unsigned()]);
    }
    let [is_short, is_ldpc] = [
        vector.is_some_and(|vector| vector.guard_interval == GuardInterval::Ns400),
        vector.is_some_and(|vector| vector.coding == Some(Coding::Ldpc)),
    ]
    .map(u8::from);
    if let Some(vector @ TxVector { format: PpduFormat::Ht(format), .. }) = vector {
        // All values are known: width, MCS, guard interval, format, code, STBC (none), extension streams (none).
        let [is_wide, is_greenfield] = [vector.subcarriers != 52, format == HtFormat::Greenfield].map(u8::from);
        frame.extend([0x7f, is_wide | is_short << 2 | is_greenfield << 3 | is_ldpc << 4, mcs_index(&vector)]);
    }
    let align = |frame: &mut Vec<u8>, to: usize| frame.resize(start + (frame.len() - start).next_multiple_of(to), 0);
    if let Some((number, is_last)) = heard.ampdu {
        align(frame, 4);
        frame.extend(number.to_le_bytes());
        // The header states whether this is the last subframe.
        frame.extend([0x04 | u8::from(is_last) << 3, 0, 0, 0]);
    }
    if let Some(TxVector { format: PpduFormat::Vht, mcs, streams, subcarriers, .. }) = vector {
        let bandwidth = match subcarriers {
            52 => 0,
            108 => 1,
            234 => 4,
            _ => 11,
        };
        align(frame, 2);
        // Known values: STBC (none), guard interval, beamforming (none), width; extra symbol (none).
        frame.extend([
            0x65 | u8::from(heard.has_no_extra_symbol) << 4,
            0,
            is_short << 2,
            bandwidth,
            mcs << 4 | streams & 0x0f,
        ]);
        frame.extend([0, 0, 0, is_ldpc, 0, 0, 0]);
    }
    if let Some(vector @ TxVector { format: PpduFormat::He | PpduFormat::HeExtended, .. }) = vector {
        align(frame, 2);
        let mut words = he_field(&vector, is_ldpc.into(), heard.has_no_extra_symbol.into());
        if let Some((_, disambiguity)) = l_length {
            words[1] |= 0x0020;
            words[4] |= u16::from(disambiguity) << 15;
        }
        frame.extend(words.map(u16::to_le_bytes).as_flattened());
    }
    if let Some((length, _)) = l_length {
        // Rate and length of L-SIG are known; the rate of HE is that of 6 Mb/s, 1101 from the first bit on.
        frame.extend([0x0003, 0x000b | length << 4].map(u16::to_le_bytes).as_flattened());
    }
    let length = u16::try_from(frame.len() - start).expect("a radiotap header is short");
    frame[start + 2..start + 4].copy_from_slice(&length.to_le_bytes());
}

/// The words of the HE field (radiotap.org): MCS, DCM, coding, bandwidth and guard interval are known. The format is 1
/// with extended range, and the bandwidth is then the resource unit.
fn he_field(vector: &TxVector, is_ldpc: u16, has_no_extra_symbol: u16) -> [u16; 6] {
    let is_extended = vector.format == PpduFormat::HeExtended;
    let bandwidth = match vector.subcarriers {
        102 => 6,
        234 if is_extended => 7,
        234 => 0,
        468 => 1,
        980 => 2,
        _ => 3,
    };
    let guard = match vector.guard_interval {
        GuardInterval::Ns3200 => 2,
        GuardInterval::Ns1600 => 1,
        _ => 0,
    };
    let data = u16::from(vector.mcs) << 8 | u16::from(vector.dcm) << 12 | is_ldpc << 13;
    let training = vector.ltf as u16 + 1;
    let known = 0x0020 | 0x0040 | 0x0080 | has_no_extra_symbol << 8 | 0x4000 | u16::from(is_extended);
    [known, 0x0002, data, 0, bandwidth | guard << 4 | training << 6, u16::from(vector.streams)]
}

/// The direction of an 802.11 data frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Course {
    /// From a station to its access point.
    ToAccessPoint,
    /// From the access point to a station.
    FromAccessPoint,
    /// From station to station, without an access point.
    Direct,
}

/// An 802.11 data frame to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WifiDataFrame {
    /// Its direction.
    pub course: Course,
    /// Retry bit.
    pub retry: bool,
    /// Address 1.
    pub receiver: Mac,
    /// Address 2.
    pub transmitter: Mac,
    /// Address 3: the destination or source beyond the access point; the BSSID, if there is no access point.
    pub third: Mac,
    /// Sequence number, 12 bits.
    pub sequence: u16,
    /// Traffic identifier; `None` for frames without QoS.
    pub tid: Option<u8>,
    /// Duration field, in us.
    pub duration: u16,
}

/// Appends the header of an 802.11 data frame with LLC and SNAP, to be followed by an IP packet.
pub fn wifi_data(frame: &mut Vec<u8>, data: &WifiDataFrame, v6: bool) {
    wifi_header(frame, data, 0);
    frame.extend(LLC_SNAP);
    frame.extend(ether_type(v6));
}

/// Appends the header of an 802.11 data frame with an A-MSDU, to be followed by subframes. Address 3 is the BSSID.
pub fn wifi_amsdu(frame: &mut Vec<u8>, data: &WifiDataFrame) {
    wifi_header(frame, data, 0x80);
}

/// Appends the header of a subframe of an A-MSDU with LLC and SNAP, to be followed by an IP packet (IEEE Std
/// 802.11-2016, 9.3.2.2.2). Returns its start for [`end_subframe`].
pub fn begin_subframe(frame: &mut Vec<u8>, destination: Mac, source: Mac, v6: bool) -> usize {
    let start = frame.len();
    frame.extend(destination.0);
    frame.extend(source.0);
    frame.extend([0, 0]);
    frame.extend(LLC_SNAP);
    frame.extend(ether_type(v6));
    start
}

/// Ends the subframe that begins at `start`, and pads it to a multiple of four bytes unless it is the last.
///
/// # Panics
/// If it is longer than 65,535 bytes.
pub fn end_subframe(frame: &mut Vec<u8>, start: usize, is_last: bool) {
    let length = u16::try_from(frame.len() - start - 14).expect("a packet has 65,535 bytes at most");
    frame[start + 12..start + 14].copy_from_slice(&length.to_be_bytes());
    if !is_last {
        frame.resize(start + (frame.len() - start).next_multiple_of(4), 0);
    }
}

const LLC_SNAP: [u8; 6] = [0xaa, 0xaa, 0x03, 0, 0, 0];

fn wifi_header(frame: &mut Vec<u8>, data: &WifiDataFrame, qos: u8) {
    let kind = if data.tid.is_some() { 0x88 } else { 0x08 };
    let course = match data.course {
        Course::Direct => 0,
        Course::ToAccessPoint => 1,
        Course::FromAccessPoint => 2,
    };
    let addresses = [data.receiver, data.transmitter, data.third];
    wifi_start(frame, [kind, course | u8::from(data.retry) << 3], data.duration, &addresses);
    frame.extend((data.sequence << 4).to_le_bytes());
    if let Some(tid) = data.tid {
        frame.extend([tid & 0x0f | qos, 0]);
    }
}

/// A compressed block ACK, or a request for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockAck {
    /// Address 1.
    pub receiver: Mac,
    /// Address 2.
    pub transmitter: Mac,
    /// Duration field, in us.
    pub duration: u16,
    /// Traffic identifier.
    pub tid: u8,
    /// Starting sequence number, 12 bits.
    pub start: u16,
}

impl BlockAck {
    fn put(&self, frame: &mut Vec<u8>, control: u8, fragment: u16) {
        wifi_start(frame, [control, 0], self.duration, &[self.receiver, self.transmitter]);
        frame.extend((0x0004 | u16::from(self.tid & 0x0f) << 12).to_le_bytes()); // compressed
        frame.extend((self.start << 4 | fragment).to_le_bytes());
    }
}

/// Appends a BlockAckReq frame (IEEE Std 802.11-2016, 9.3.1.8.3).
pub fn wifi_block_ack_request(frame: &mut Vec<u8>, request: &BlockAck) {
    request.put(frame, 0x84, 0);
}

/// Appends a BlockAck frame (IEEE Std 802.11-2016, 9.3.1.9.3). The bitmap has 8 bytes, or 32 from 802.11ax on, or 64 or
/// 128 in 802.11be, where the fragment number field gives its length.
pub fn wifi_block_ack(frame: &mut Vec<u8>, ack: &BlockAck, bitmap: &[u8]) {
    let fragment = match bitmap.len() {
        0..=8 => 0,
        9..=32 => 4,
        33..=64 => 8,
        _ => 10,
    };
    ack.put(frame, 0x94, fragment);
    frame.extend(bitmap);
}

/// The content of a block ACK action frame; timeouts are in TU of 1024 us, 0 for none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockAckAction {
    /// ADDBA request: starting sequence number of the data, and MPDUs that may be outstanding, up to 1024.
    Request {
        /// Starting sequence number.
        start: u16,
        /// Buffer size.
        window: u16,
        /// Block Ack Timeout Value.
        timeout: u16,
    },
    /// ADDBA response that accepts.
    Response {
        /// Buffer size.
        window: u16,
        /// Block Ack Timeout Value.
        timeout: u16,
    },
    /// DELBA of the recipient, because of a timeout.
    Delete,
}

/// An ADDBA request or response or a DELBA frame, to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addba {
    /// Address 1.
    pub receiver: Mac,
    /// Address 2.
    pub transmitter: Mac,
    /// Address 3.
    pub cell: Mac,
    /// Duration field, in us.
    pub duration: u16,
    /// Retry bit.
    pub retry: bool,
    /// Its own sequence number, 12 bits.
    pub sequence: u16,
    /// Traffic identifier of the data.
    pub tid: u8,
    /// What it does.
    pub action: BlockAckAction,
}

/// Appends an ADDBA request or response for immediate block ACK, or a DELBA frame (IEEE Std 802.11-2016, 9.6.5.2 to
/// 9.6.5.4). Windows above 1023 stand in an ADDBA extension element (802.11be).
pub fn wifi_addba(frame: &mut Vec<u8>, addba: &Addba) {
    let addresses = [addba.receiver, addba.transmitter, addba.cell];
    wifi_start(frame, [0xd0, u8::from(addba.retry) << 3], addba.duration, &addresses);
    frame.extend((addba.sequence << 4).to_le_bytes());
    // Category block ACK, action; then the dialog token.
    let (window, timeout) = match addba.action {
        BlockAckAction::Request { window, timeout, .. } => {
            frame.extend([3, 0, 1]);
            (window, timeout)
        }
        BlockAckAction::Response { window, timeout } => {
            frame.extend([3, 1, 1, 0, 0]); // successful
            (window, timeout)
        }
        BlockAckAction::Delete => {
            // The initiator bit is 0, and the TID is in the upper four bits. Reason 39: timeout.
            frame.extend([3, 2, 0, (addba.tid & 0x0f) << 4, 39, 0]);
            return;
        }
    };
    // Block ACK parameters: A-MSDUs are permitted, immediate block ACK.
    let parameters = 0x0003 | u16::from(addba.tid & 0x0f) << 2 | (window & 0x03ff) << 6;
    frame.extend(parameters.to_le_bytes());
    frame.extend(timeout.to_le_bytes());
    if let BlockAckAction::Request { start, .. } = addba.action {
        frame.extend((start << 4).to_le_bytes());
    }
    if window > 1023 {
        // Element ID and length; the upper bits of the window follow three others.
        frame.extend([159, 1, ((window >> 10) as u8) << 5]);
    }
}

/// Appends an ACK frame.
pub fn wifi_ack(frame: &mut Vec<u8>, receiver: Mac, duration: u16) {
    wifi_start(frame, [0xd4, 0], duration, &[receiver]);
}

/// Appends a CF-End frame, which ends the NAV of all stations.
pub fn wifi_cf_end(frame: &mut Vec<u8>, transmitter: Mac) {
    wifi_start(frame, [0xe4, 0], 0, &[Mac([0xff; 6]), transmitter]);
}

/// Appends a CTS frame.
pub fn wifi_cts(frame: &mut Vec<u8>, receiver: Mac, duration: u16) {
    wifi_start(frame, [0xc4, 0], duration, &[receiver]);
}

/// Appends an RTS frame.
pub fn wifi_rts(frame: &mut Vec<u8>, receiver: Mac, transmitter: Mac, duration: u16) {
    wifi_start(frame, [0xb4, 0], duration, &[receiver, transmitter]);
}

/// Appends what all 802.11 frames start with.
fn wifi_start(frame: &mut Vec<u8>, control: [u8; 2], duration: u16, addresses: &[Mac]) {
    frame.extend(control);
    frame.extend(duration.to_le_bytes());
    for address in addresses {
        frame.extend(address.0);
    }
}

/// Appends the frame check sequence of the 802.11 frame that begins at `start` (IEEE 802.11-2020, 9.2.4.8).
pub fn fcs(frame: &mut Vec<u8>, start: usize) {
    let mut crc = flate2::Crc::new();
    crc.update(&frame[start..]);
    frame.extend(crc.sum().to_le_bytes());
}
