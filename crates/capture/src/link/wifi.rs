//! 802.11 frames (IEEE 802.11-2020, clause 9): addresses, retries, data and A-MSDUs.

use std::ops::Range;

use wifair_phy::{Band, DsssMode, PpduTiming, TxMode};
use wifair_units::{BitRate, Bytes};

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
    /// CF-End, with or without CF-Ack: the end of a TXOP.
    CfEnd,
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
    /// Whether it is a beacon or a probe response.
    pub announces: bool,
    /// Retry bit: the transmitter has sent the frame before.
    pub retry: bool,
    /// To the distribution system.
    pub to_ds: bool,
    /// From the distribution system.
    pub from_ds: bool,
    /// Address 1.
    pub receiver: Mac,
    /// Address 2; absent in CTS, ACK and wrapped control frames, and in control frames where it is zero.
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

impl WifiFrame<'_> {
    /// A CTS of this length.
    pub const fn cts(receiver: Mac, length: u32) -> Self {
        Self {
            kind: WifiFrameKind::Cts,
            announces: false,
            retry: false,
            to_ds: false,
            from_ds: false,
            receiver,
            transmitter: None,
            sequence: None,
            tid: None,
            body: &[],
            length,
        }
    }
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
        (1, 14 | 15) => WifiFrameKind::CfEnd,
        (1, _) => WifiFrameKind::Control,
        (2, _) => WifiFrameKind::Data,
        _ => WifiFrameKind::Extension,
    };
    let mut frame = WifiFrame {
        kind,
        announces: kind == WifiFrameKind::Management && matches!(subtype, 5 | 8),
        retry: flags & 0x08 != 0,
        to_ds: flags & 0x01 != 0,
        from_ds: flags & 0x02 != 0,
        receiver,
        transmitter: match (kind, subtype) {
            (WifiFrameKind::Cts | WifiFrameKind::Ack | WifiFrameKind::Extension, _) => None,
            (WifiFrameKind::Control, CONTROL_WRAPPER) => None,
            (WifiFrameKind::Data | WifiFrameKind::Management, _) => mac(data, 10),
            // In control frames the group bit says that the scrambler tells the bandwidth (9.3.1.2). Some devices send
            // CF-Ends without their address.
            _ => mac(data, 10).map(Mac::individual).filter(|address| *address != Mac::default()),
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
    let (mut aggregate, mut mesh) = (false, false);
    if kind == WifiFrameKind::Data {
        if frame.to_ds && frame.from_ds {
            header += 6;
        }
        if subtype & 8 != 0 {
            let Some(qos) = data.get(header..header + 2) else { return DecodeOutcome::Malformed };
            frame.tid = Some(qos[0] & 0x0f);
            aggregate = qos[0] & 0x80 != 0;
            mesh = qos[1] & 1 != 0 && frame.from_ds;
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
    if aggregate {
        return subframes(body, left, mesh, place, sink);
    }
    let skipped = if mesh { mesh_control(body) } else { 0 };
    llc(&body[skipped..], left.saturating_sub(skipped as u32), place, sink)
}

/// Length of the Mesh Control field at the beginning of a body: flags, TTL, sequence number of four bytes, and none to
/// two addresses (9.2.4.7.3). Bit 8 of the QoS Control field announces it, and has other meanings between a station and
/// its access point (9.2.4.5.1), so a body that begins with LLC has none.
fn mesh_control(body: &[u8]) -> usize {
    let length = match body {
        [0xaa, 0xaa, ..] => 0,
        [flags @ 0..=2, ..] => 6 + 6 * usize::from(*flags),
        _ => 0,
    };
    if length <= body.len() { length } else { 0 }
}

fn llc<'a>(body: &'a [u8], original: u32, place: u32, sink: &mut impl Sink<'a>) -> DecodeOutcome {
    match snap(body) {
        Some(protocol) => by_type(protocol, &body[8..], original.saturating_sub(8), place, sink),
        None if body.len() < 8 => DecodeOutcome::Malformed,
        None => DecodeOutcome::Other,
    }
}

/// A-MSDU (9.3.2.2.2): destination, source, length, packet, padding to four bytes. In a mesh, Mesh Control stands
/// before the packet and is not part of the length (9.3.2.2.3).
fn subframes<'a>(
    mut body: &'a [u8],
    mut original: u32,
    mesh: bool,
    place: u32,
    sink: &mut impl Sink<'a>,
) -> DecodeOutcome {
    let (mut outcome, mut is_cut) = (DecodeOutcome::Malformed, false);
    while let Some(head) = body.first_chunk::<14>() {
        let length = usize::from(u16::from_be_bytes([head[12], head[13]]));
        let start = 14 + if mesh { mesh_control(&body[14..]) } else { 0 };
        let captured = &body[start..body.len().min(start + length)];
        let whole = (length as u32).min(original.saturating_sub(start as u32));
        let new = llc(captured, whole, place, sink);
        is_cut |= new == DecodeOutcome::Malformed && captured.len() < length;
        if outcome != DecodeOutcome::Ip {
            outcome = new;
        }
        let step = (start + length).next_multiple_of(4);
        body = body.get(step..).unwrap_or_default();
        original = original.saturating_sub(step as u32);
    }
    is_cut |= original >= 14 && body.len() < 14;
    if is_cut && outcome == DecodeOutcome::Ip { DecodeOutcome::CutAmsdu } else { outcome }
}

/// The air time in us that a frame adds to its PPDU. `psdu` is the range of bytes that it occupies after the preamble,
/// which counts for the first frame. In an A-MPDU this range includes the delimiter of four bytes before the frame and
/// the padding before that, so the frames of a PPDU add up to its duration.
///
/// [`PpduTiming`] has the formulas, which also give an air time to what is in no table of the standard. The packet
/// extension of an HE PPDU to one user counts with the first frame, if the radio reports the length in L-SIG and the PE
/// Disambiguity field. Otherwise HE and EHT PPDUs count without packet extension. If the radio does not report their
/// training fields, the usual ones for the guard interval are assumed. LDPC has the extra symbol that it needs for some
/// lengths, unless the radio reports that it had none; for 802.11n radiotap has no such report. Other rates than those
/// of the standard before 802.11n count as OFDM.
pub fn air_time_us(psdu: Range<u32>, rate: RadioRate, radio: &RadioInfo) -> f64 {
    let band = if radio.frequency.is_some_and(|mhz| mhz < 3_000) { Band::Ghz2_4 } else { Band::Ghz5 };
    let slower = 1 << radio.halvings;
    let timing = match rate {
        RadioRate::Mcs(vector) if radio.has_no_extra_symbol => PpduTiming::of(&vector, band).slowed(slower),
        RadioRate::Mcs(vector) => PpduTiming::of(&vector, band).with_ldpc_extra_symbol().slowed(slower),
        RadioRate::Legacy(half @ (2 | 4 | 11 | 22)) => {
            let mode = DsssMode::new(rate.data_rate(), radio.short_preamble && half > 2);
            PpduTiming::new(TxMode::Dsss(mode.expect("the rates of DSSS and CCK")), band)
        }
        RadioRate::Legacy(_) => {
            let unslowed = BitRate::from_bps(rate.data_rate().as_bps() * slower);
            PpduTiming::of_ofdm(unslowed, band).slowed(slower)
        }
    };
    let [start, end] = [psdu.start, psdu.end].map(|bytes| timing.duration(Bytes(bytes.into())));
    let time = if psdu.start > 0 { end - start } else { end + radio.packet_extension };
    time.as_nanos() as f64 * 1e-3
}
