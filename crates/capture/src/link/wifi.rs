//! 802.11 frames (IEEE 802.11-2020, clause 9): addresses, retries, data and A-MSDUs.

use std::ops::Range;

use super::radiotap::{RadioInfo, RadioRate};
use super::{DecodeOutcome, Sink, by_type, snap};

/// A hardware address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mac(pub [u8; 6]);

impl std::fmt::Display for Mac {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl Mac {
    /// Whether it is a group address.
    pub const fn is_group(self) -> bool {
        self.0[0] & 1 != 0
    }

    /// The same address without the group bit.
    const fn individual(self) -> Self {
        let [first, b, c, d, e, f] = self.0;
        Self([first & !1, b, c, d, e, f])
    }

    /// The address as a number.
    pub const fn bits(self) -> u64 {
        let [a, b, c, d, e, f] = self.0;
        u64::from_be_bytes([0, 0, a, b, c, d, e, f])
    }
}

/// Kinds of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WifiFrameKind {
    /// Beacons, association and the like.
    Management,
    /// Request to send.
    Rts,
    /// Clear to send.
    Cts,
    /// Acknowledgement.
    Ack,
    /// Block acknowledgement.
    BlockAck,
    /// Other control frames.
    Control,
    /// Data frames, with or without payload.
    Data,
    /// Extension frames and reserved types.
    Extension,
}

/// The header of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WifiFrame<'a> {
    /// The kind of frame.
    pub kind: WifiFrameKind,
    /// Retry bit: the transmitter has sent the frame before.
    pub retry: bool,
    /// To the distribution system.
    pub to_ds: bool,
    /// From the distribution system.
    pub from_ds: bool,
    /// Address 1.
    pub receiver: Mac,
    /// Address 2; absent in CTS, ACK and wrapped control frames.
    pub transmitter: Option<Mac>,
    /// Sequence control (number << 4 | fragment); in data and management frames.
    pub sequence: Option<u16>,
    /// Traffic identifier of QoS data.
    pub tid: Option<u8>,
    /// The captured part of the body, without the frame check sequence.
    pub body: &'a [u8],
    /// Length of the whole frame on the air, check sequence included, in bytes.
    pub length: u32,
}

/// Subtype of the control frame that carries another one behind an HT Control field.
const CONTROL_WRAPPER: u8 = 7;

fn mac(data: &[u8], at: usize) -> Option<Mac> {
    data.get(at..)?.first_chunk::<6>().map(|bytes| Mac(*bytes))
}

/// Passes the header and the IP packets of a frame to `sink`.
pub(super) fn decode<'a>(data: &'a [u8], original: u32, radio: &RadioInfo, sink: &mut impl Sink<'a>) -> DecodeOutcome {
    if radio.bad_fcs {
        return DecodeOutcome::BadFcs;
    }
    let (length, original) =
        if radio.has_fcs { (original, original.saturating_sub(4)) } else { (original.saturating_add(4), original) };
    let data = &data[..data.len().min(original as usize)];
    let Some(&[control, flags, _, _]) = data.first_chunk::<4>() else { return DecodeOutcome::Malformed };
    let Some(receiver) = mac(data, 4) else { return DecodeOutcome::Malformed };
    // Other versions of the protocol have other headers.
    if control & 0x03 != 0 {
        return DecodeOutcome::Other;
    }
    let subtype = control >> 4;
    let kind = match (control >> 2 & 3, subtype) {
        (0, _) => WifiFrameKind::Management,
        (1, 9) => WifiFrameKind::BlockAck,
        (1, 11) => WifiFrameKind::Rts,
        (1, 12) => WifiFrameKind::Cts,
        (1, 13) => WifiFrameKind::Ack,
        (1, _) => WifiFrameKind::Control,
        (2, _) => WifiFrameKind::Data,
        _ => WifiFrameKind::Extension,
    };
    let mut frame = WifiFrame {
        kind,
        retry: flags & 0x08 != 0,
        to_ds: flags & 0x01 != 0,
        from_ds: flags & 0x02 != 0,
        receiver,
        transmitter: match (kind, subtype) {
            (WifiFrameKind::Cts | WifiFrameKind::Ack | WifiFrameKind::Extension, _) => None,
            (WifiFrameKind::Control, CONTROL_WRAPPER) => None,
            (WifiFrameKind::Data | WifiFrameKind::Management, _) => mac(data, 10),
            // In control frames the group bit says that the scrambler tells the bandwidth (9.3.1.2).
            _ => mac(data, 10).map(Mac::individual),
        },
        sequence: None,
        tid: None,
        body: &[],
        length,
    };
    if !matches!(kind, WifiFrameKind::Data | WifiFrameKind::Management) {
        sink.frame(&frame, radio);
        return DecodeOutcome::Other;
    }
    let Some(sequence) = data.get(22..24) else { return DecodeOutcome::Malformed };
    frame.sequence = Some(u16::from_le_bytes([sequence[0], sequence[1]]));
    let mut header = 24;
    let mut aggregate = false;
    if kind == WifiFrameKind::Data {
        if frame.to_ds && frame.from_ds {
            header += 6;
        }
        if subtype & 8 != 0 {
            let Some(qos) = data.get(header..header + 2) else { return DecodeOutcome::Malformed };
            frame.tid = Some(qos[0] & 0x0f);
            aggregate = qos[0] & 0x80 != 0;
            header += 2;
        }
    }
    // +HTC: the HT Control field adds four bytes in QoS data and management frames.
    if flags & 0x80 != 0 && (frame.tid.is_some() || kind == WifiFrameKind::Management) {
        header += 4;
    }
    if radio.padded {
        header = usize::next_multiple_of(header, 4);
    }
    let Some(body) = data.get(header..) else { return DecodeOutcome::Malformed };
    frame.body = body;
    // Null frames (subtypes with bit 2 set) carry no data.
    if !sink.frame(&frame, radio) || kind != WifiFrameKind::Data || subtype & 4 != 0 {
        return DecodeOutcome::Other;
    }
    if flags & 0x40 != 0 {
        return DecodeOutcome::Protected;
    }
    // Fragments other than the first have no IP header.
    if frame.sequence.is_some_and(|sequence| sequence & 0x0f != 0) {
        return DecodeOutcome::Other;
    }
    let place = u32::from(flags & 3);
    let left = original.saturating_sub(header as u32);
    if aggregate { subframes(body, left, place, sink) } else { llc(body, left, place, sink) }
}

fn llc<'a>(body: &'a [u8], original: u32, place: u32, sink: &mut impl Sink<'a>) -> DecodeOutcome {
    match snap(body) {
        Some(protocol) => by_type(protocol, &body[8..], original.saturating_sub(8), place, sink),
        None if body.len() < 8 => DecodeOutcome::Malformed,
        None => DecodeOutcome::Other,
    }
}

/// A-MSDU (9.3.2.2.2): destination, source, length, packet, padding to four bytes.
fn subframes<'a>(mut body: &'a [u8], mut original: u32, place: u32, sink: &mut impl Sink<'a>) -> DecodeOutcome {
    let mut outcome = DecodeOutcome::Malformed;
    while let Some(head) = body.first_chunk::<14>() {
        let length = usize::from(u16::from_be_bytes([head[12], head[13]]));
        let captured = &body[14..body.len().min(14 + length)];
        let whole = (length as u32).min(original.saturating_sub(14));
        match (llc(captured, whole, place, sink), outcome) {
            (DecodeOutcome::Ip, _) | (_, DecodeOutcome::Ip) => outcome = DecodeOutcome::Ip,
            (new, _) => outcome = new,
        }
        let step = (14 + length).next_multiple_of(4);
        body = body.get(step..).unwrap_or_default();
        original = original.saturating_sub(step as u32);
    }
    outcome
}

/// The air time in us that a frame adds to its PPDU. `psdu` is the range of bytes that it occupies after the preamble,
/// which counts for the first frame. In an A-MPDU this range includes the delimiter of four bytes before the frame and
/// the padding before that, so the frames of a PPDU add up to its duration.
///
/// DSSS and CCK: IEEE 802.11-2020, 15.3 and 16.3 (192 us long, 96 us short preamble). OFDM: 17.4.3, with the signal
/// extension of 6 us below 3 GHz (18.3.2.4). HT and VHT: 19.4.3 and 21.4.3. HE: 802.11ax, 27.4.3, and EHT: 802.11be,
/// single user, without packet extension; if the radio does not report the length of the training fields, it is the
/// usual one for the guard interval.
pub fn air_time_us(psdu: Range<u32>, rate: RadioRate, radio: &RadioInfo) -> f64 {
    /// A PPDU with a short guard interval ends at a multiple of this time, so that older stations can compute its end.
    const GRID_NS: u64 = 4_000;
    if let RadioRate::Legacy(half @ (2 | 4 | 11 | 22)) = rate {
        let preamble = if radio.short_preamble && half > 2 { 96.0 } else { 192.0 };
        return preamble + f64::from(psdu.end) * 8.0 / (f64::from(half) * 0.5);
    }
    let training_fields = |streams| training_fields(streams + radio.stbc);
    let (preamble_us, symbol_ns) = match rate {
        // In channels of 10 and 5 MHz everything takes two and four times as long (17.3.2.3).
        RadioRate::Legacy(_) => (f64::from(20 << radio.halvings), 4_000 << radio.halvings),
        RadioRate::Ht { mcs, short_guard, .. } => {
            let format = if radio.is_greenfield { 20.0 } else { 32.0 };
            (format + 4.0 * training_fields(mcs / 8 % 4 + 1), if short_guard { 3_600 } else { 4_000 })
        }
        RadioRate::Vht { streams, short_guard, .. } => {
            (36.0 + 4.0 * training_fields(streams), if short_guard { 3_600 } else { 4_000 })
        }
        RadioRate::He { streams, guard_ns, .. } | RadioRate::Eht { streams, guard_ns, .. } => {
            let usual = if guard_ns == 3200 { 12.8 } else { 6.4 };
            let training = (radio.ltf_us.unwrap_or(usual) + f64::from(guard_ns) * 1e-3) * training_fields(streams);
            // Extended range has HE-SIG-A twice, and EHT has U-SIG and two symbols of EHT-SIG.
            let signals = if matches!(rate, RadioRate::He { extended: false, .. }) { 36.0 } else { 44.0 };
            (signals + training, 12_800 + u64::from(guard_ns))
        }
    };
    let data_us = |bytes: u32| {
        // Service and tail bits. STBC sends symbols in pairs.
        let bits = 16 + 6 + u64::from(bytes) * 8;
        let together = if radio.stbc > 0 { 2 } else { 1 };
        let symbols = bits.div_ceil(u64::from(rate.bits_per_symbol()) << radio.halvings);
        let time = symbol_ns * symbols.next_multiple_of(together);
        (if symbol_ns == 3_600 && !radio.is_greenfield { time.next_multiple_of(GRID_NS) } else { time }) as f64 * 1e-3
    };
    if psdu.start > 0 {
        return data_us(psdu.end) - data_us(psdu.start);
    }
    let extension = if radio.frequency.is_some_and(|mhz| mhz < 3_000) { 6.0 } else { 0.0 };
    preamble_us + data_us(psdu.end) + extension
}

/// Number of training fields for this number of space-time streams (IEEE 802.11-2020, table 21-13; 19.3.9.4.6 agrees):
/// even from two on.
fn training_fields(streams: u8) -> f64 {
    f64::from(if streams < 2 { 1 } else { streams.next_multiple_of(2) })
}
