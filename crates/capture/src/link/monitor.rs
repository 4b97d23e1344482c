//! Headers before radiotap that tell what the radio reported about a frame: PPI, Prism and AVS.
//!
//! Sources: CACE Technologies, "PPI: Per-Packet Information Header Specification", 1.0.7 (little endian); the Prism
//! header of linux-wlan-ng, of which two kinds exist that number their items differently, in the byte order of the
//! capturing host; the AVS capture header, "AVS Capture Frame Format", 2.1.1 (big endian). Files of link type 119 may
//! have AVS headers instead of Prism headers, and their first four bytes tell them apart.
//!
//! Read are the time, channel, rate, signal and noise, FCS flags of PPI and its fields of 802.11n. Not read: PPI's
//! fields of spectra, positions and aggregated frames in one record. Neither Prism nor AVS tells whether the frame ends
//! with its check sequence: it is taken as absent.

use wifair_phy::{ChannelWidth, GuardInterval, HtFormat};

use super::LinkType;
use super::radiotap::{RadioInfo, RadioRate, ht};

fn le16(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..at + 2).map(|two| u16::from_le_bytes([two[0], two[1]]))
}

fn le32(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|four| u32::from_le_bytes(*four))
}

fn be32(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|four| u32::from_be_bytes(*four))
}

/// A level in dBm, if it can be one: values of zero and above are in a unit of the driver's own.
fn dbm(level: i32) -> Option<i8> {
    i8::try_from(level).ok().filter(|level| *level < 0 && *level > i8::MIN)
}

/// A level of a Prism header. Some drivers give the byte of a negative level without its sign.
fn prism_level(value: u32) -> Option<i8> {
    dbm(if let Ok(byte @ 0x80..) = u8::try_from(value) { byte.cast_signed().into() } else { value.cast_signed() })
}

/// Centre frequency in MHz of a channel by its number, or of one that is given in MHz.
fn frequency(channel: u32) -> Option<u16> {
    match channel {
        1..=13 => Some(2_407 + 5 * channel as u16),
        14 => Some(2_484),
        15..=255 => Some(5_000 + 5 * channel as u16),
        2_400..=7_200 => Some(channel as u16),
        _ => None,
    }
}

/// Splits a record of PPI into what the radio reported, the link type of the frame, and the frame.
pub(super) fn ppi(data: &[u8]) -> Option<(RadioInfo, LinkType, &[u8])> {
    let length = usize::from(le16(data, 2)?);
    if data[0] != 0 || length < 8 {
        return None;
    }
    let (header, rest) = data.split_at_checked(length)?;
    let link = LinkType::from_number(u16::try_from(le32(header, 4)?).ok()?);
    let is_aligned = header[1] & 1 != 0;
    let mut radio = RadioInfo::default();
    let mut fields = &header[8..];
    while let (Some(kind), Some(length)) = (le16(fields, 0), le16(fields, 2)) {
        let end = 4 + usize::from(length);
        let Some(field) = fields.get(4..end) else { break };
        take_ppi_field(&mut radio, kind, field).unwrap_or_default();
        let next = if is_aligned { end.next_multiple_of(4) } else { end };
        fields = fields.get(next..).unwrap_or_default();
    }
    Some((radio, link, rest))
}

/// Reads the field 802.11-Common (2) and those of 802.11n: MAC (3), MAC and PHY (4).
fn take_ppi_field(radio: &mut RadioInfo, kind: u16, field: &[u8]) -> Option<()> {
    match kind {
        2 if field.len() >= 20 => {
            let (flags, rate, megahertz, channel) =
                (le16(field, 8)?, le16(field, 10)?, le16(field, 12)?, le16(field, 14)?);
            let tsf = u64::from_le_bytes(*field.first_chunk()?);
            // The timer is in us, or in ms if bit 1 is set; zero stands for an unknown time.
            let unit = if flags & 0x02 != 0 { 1_000 } else { 1 };
            radio.tsf = (tsf > 0).then(|| tsf.saturating_mul(unit));
            radio.has_fcs = flags & 0x01 != 0;
            // A frame with an error of the PHY is noise, as one with a wrong check sequence is.
            radio.bad_fcs = flags & 0x0c != 0;
            radio.frequency = (megahertz > 0).then_some(megahertz);
            radio.halvings = ((channel >> 14) as u8).min(2);
            if let Ok(rate @ 1..) = u8::try_from(rate)
                && radio.rate.is_none()
            {
                radio.rate = Some(RadioRate::Legacy(rate));
            }
            radio.signal = dbm(field[18].cast_signed().into());
            radio.noise = dbm(field[19].cast_signed().into());
        }
        3 | 4 if field.len() >= 8 => {
            let (flags, aggregate) = (le32(field, 0)?, le32(field, 4)?);
            radio.ampdu = (flags & 0x10 != 0).then_some(aggregate);
            // The last of an A-MPDU has no more after it.
            radio.ends_ampdu = flags & 0x30 == 0x10;
            if let (4, Some(mcs @ 0..=32)) = (kind, field.get(9)) {
                let format = if flags & 0x01 != 0 { HtFormat::Greenfield } else { HtFormat::Mixed };
                let width = if flags & 0x02 != 0 { ChannelWidth::Mhz40 } else { ChannelWidth::Mhz20 };
                let guard = if flags & 0x04 != 0 { GuardInterval::Ns400 } else { GuardInterval::Ns800 };
                radio.rate = Some(RadioRate::Mcs(ht(*mcs, width, format, guard)));
            }
        }
        _ => {}
    }
    Some(())
}

/// Splits a record of Prism, or of AVS, into what the radio reported and the frame.
pub(super) fn prism(data: &[u8]) -> Option<(RadioInfo, &[u8])> {
    /// Message code and length, name of the device.
    const HEAD: usize = 24;
    if be32(data, 0)? >> 4 == AVS_MAGIC {
        return avs(data);
    }
    let is_little = match [le32(data, 0)?, be32(data, 0)?] {
        [0x44 | 0x41, _] => true,
        [_, 0x44 | 0x41] => false,
        _ => return None,
    };
    let word = |at: usize| if is_little { le32(data, at) } else { be32(data, at) };
    let length = word(4)? as usize;
    if length < HEAD {
        return None;
    }
    let (header, rest) = data.split_at_checked(length)?;
    let mut radio = RadioInfo::default();
    for at in (HEAD..header.len()).step_by(12) {
        let (Some(kind), Some(value)) = (word(at), word(at + 8)) else { break };
        // The number of the item stands in the upper half (before 0x0044), or above 0x041.
        let item = if kind & 0xffff == 0x44 { kind >> 16 } else { kind >> 12 };
        // The status, of two bytes, is zero if there is a value.
        let is_given = header.get(at + 4..at + 6).is_some_and(|status| status == [0, 0]);
        match item {
            _ if !is_given => {}
            2 => radio.tsf = (value > 0).then_some(value.into()),
            3 => radio.frequency = frequency(value),
            6 => radio.signal = prism_level(value),
            7 => radio.noise = prism_level(value),
            8 => radio.rate = prism_rate(value),
            _ => {}
        }
    }
    Some((radio, rest))
}

/// A rate in units of 500 kb/s. Drivers for 802.11b give it in 100 kb/s, as the SIGNAL field of its PLCP header does;
/// none of these four values is a rate in the other unit.
fn prism_rate(rate: u32) -> Option<RadioRate> {
    match rate {
        10 | 20 | 55 | 110 => Some(RadioRate::Legacy((rate / 5) as u8)),
        1..=255 => Some(RadioRate::Legacy(rate as u8)),
        _ => None,
    }
}

/// The first word of an AVS header without its last four bits, which are the version.
const AVS_MAGIC: u32 = 0x0802_1100;

/// Splits a record of AVS into what the radio reported and the frame.
pub(super) fn avs(data: &[u8]) -> Option<(RadioInfo, &[u8])> {
    let (magic, length) = (be32(data, 0)?, be32(data, 4)? as usize);
    if magic >> 4 != AVS_MAGIC || length < 8 {
        return None;
    }
    let (header, rest) = data.split_at_checked(length)?;
    let mut radio = RadioInfo::default();
    if let Some(stamp) = header.get(8..).and_then(|bytes| bytes.first_chunk()) {
        radio.tsf = Some(u64::from_be_bytes(*stamp)).filter(|tsf| *tsf > 0);
    }
    radio.frequency = be32(header, 28).and_then(frequency);
    // In 100 kb/s.
    radio.rate = be32(header, 32)
        .filter(|rate| rate.is_multiple_of(5) && (5..=1_275).contains(rate))
        .map(|rate| RadioRate::Legacy((rate / 5) as u8));
    // The type of the levels: 2 is dBm.
    if be32(header, 44) == Some(2) {
        let level = |at| be32(header, at).and_then(|level| dbm(level.cast_signed()));
        (radio.signal, radio.noise) = (level(48), level(52));
    }
    radio.short_preamble = be32(header, 56) == Some(1);
    Some((radio, rest))
}
