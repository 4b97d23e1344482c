//! pcapng: blocks with type and length before and length after the body; sections, interfaces, packets.

use super::{
    ByteOrder, ClockUnit, Input, Interface, InterfaceClock, LONGEST, MOST_INTERFACES, RecordPosition, Stop, cut,
};
use crate::link::LinkType;

const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const OLD_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const STATISTICS: u32 = 5;
const ENHANCED_PACKET: u32 = 6;

/// A block of a known kind that is longer than this is treated as damage.
const LONGEST_BLOCK: u32 = LONGEST * 64;

#[derive(Default)]
pub(super) struct PcapngState {
    order: ByteOrder,
    /// Index of the first interface of the current section.
    first_interface: usize,
}

impl PcapngState {
    /// A whole number of 64 bits in the byte order of the file.
    fn u64(&self, bytes: &[u8]) -> Option<u64> {
        let word = *bytes.first_chunk()?;
        Some(if self.order.is_big { u64::from_be_bytes(word) } else { u64::from_le_bytes(word) })
    }

    pub(super) fn next(
        &mut self,
        input: &mut Input<'_>,
        interfaces: &mut Vec<Interface>,
    ) -> Result<Option<RecordPosition>, Stop> {
        let damaged = |what: String| Err(Stop::Damaged(what));
        while input.has(1)? {
            let head = input.need(12, "a block")?;
            let kind = self.order.u32(head, 0);
            if kind == SECTION {
                // The block type reads the same in both byte orders; the word after the length tells the byte order.
                self.order.is_big = match head[8..12] {
                    [0x1a, 0x2b, 0x3c, 0x4d] => true,
                    [0x4d, 0x3c, 0x2b, 0x1a] => false,
                    _ => return damaged("a section without the byte-order word".into()),
                };
            }
            let length = self.order.u32(head, 4);
            if length < 12 || !length.is_multiple_of(4) {
                return damaged(format!("a block claims {length} bytes"));
            }
            let known = matches!(kind, SECTION | INTERFACE | OLD_PACKET | SIMPLE_PACKET | STATISTICS | ENHANCED_PACKET);
            if !known {
                let skipped = input.skip(u64::from(length))?;
                if skipped < u64::from(length) {
                    return Err(cut("a block", skipped as usize, u64::from(length)));
                }
                continue;
            }
            if length > LONGEST_BLOCK {
                return damaged(format!("a block claims {length} bytes, more than {LONGEST_BLOCK} can be"));
            }
            let size = length as usize;
            let block = &input.need(size, "a block")?[..size];
            let behind = self.order.u32(block, size - 4);
            if behind != length {
                return damaged(format!("a block of {length} bytes ends with length {behind}"));
            }
            let body = &block[8..size - 4];
            match kind {
                SECTION => self.first_interface = interfaces.len(),
                INTERFACE => {
                    if interfaces.len() - self.first_interface >= MOST_INTERFACES {
                        return damaged(format!("more than {MOST_INTERFACES} interfaces"));
                    }
                    let interface = self.interface(body)?;
                    // A file of many sections may repeat the same interface over and over: one entry is enough.
                    if interfaces.len() >= 4 * MOST_INTERFACES {
                        return damaged("too many interfaces".into());
                    }
                    interfaces.push(interface);
                }
                STATISTICS => self.statistics(body, interfaces),
                _ => {
                    let mut found = match kind {
                        SIMPLE_PACKET => self.simple(body, interfaces),
                        _ => self.stamped(body, kind == OLD_PACKET, interfaces),
                    }?;
                    found.begin += 8;
                    found.end += 8;
                    found.next = size;
                    return Ok(Some(found));
                }
            }
            input.consume(size);
        }
        Ok(None)
    }

    /// Iterates over options: code, length, value, padded to four bytes; code 0 ends them.
    fn options<'b>(&self, mut bytes: &'b [u8], mut each: impl FnMut(u16, &'b [u8])) {
        while bytes.len() >= 4 {
            let (code, length) = (self.order.u16(bytes, 0), usize::from(self.order.u16(bytes, 2)));
            let Some(value) = bytes.get(4..4 + length) else { return };
            if code == 0 {
                return;
            }
            each(code, value);
            bytes = bytes.get(4 + length.next_multiple_of(4)..).unwrap_or_default();
        }
    }

    fn interface(&self, body: &[u8]) -> Result<Interface, Stop> {
        if body.len() < 8 {
            return Err(cut("an interface block", body.len(), 8));
        }
        let mut clock = InterfaceClock::MICROSECONDS;
        let mut name = None;
        self.options(&body[8..], |code, value| match (code, value) {
            (2, _) => name = std::str::from_utf8(value).ok().map(|name| name.trim_end_matches('\0').to_owned()),
            (9, [resolution, ..]) => clock.unit = unit(*resolution),
            (14, value) => clock.offset = self.u64(value).map_or(clock.offset, u64::cast_signed),
            _ => {}
        });
        Ok(Interface {
            link: LinkType::from_number(self.order.u16(body, 0)),
            snap_length: self.order.u32(body, 4),
            name,
            dropped: None,
            clock,
        })
    }

    fn statistics(&self, body: &[u8], interfaces: &mut [Interface]) {
        if body.len() < 12 {
            return;
        }
        let number = self.first_interface + self.order.u32(body, 0) as usize;
        let Some(interface) = interfaces.get_mut(number) else { return };
        // isb_ifdrop: packets dropped at the interface since the start of the capture.
        self.options(&body[12..], |code, value| {
            if code == 5 {
                interface.dropped = self.u64(value).or(interface.dropped);
            }
        });
    }

    fn number(&self, interface: u32, interfaces: &[Interface]) -> Result<usize, Stop> {
        let number = self.first_interface + interface as usize;
        if number < interfaces.len() {
            Ok(number)
        } else {
            Err(Stop::Damaged(format!("a packet of interface {interface}, which is not described")))
        }
    }

    /// A packet block with the number of its interface (in two bytes if `is_old`) and a time stamp.
    #[inline]
    fn stamped(&self, body: &[u8], is_old: bool, interfaces: &[Interface]) -> Result<RecordPosition, Stop> {
        /// Bytes before the packet.
        const HEAD: usize = 20;
        if body.len() < HEAD {
            return Err(cut("a packet block", body.len(), HEAD as u64));
        }
        let interface = if is_old { u32::from(self.order.u16(body, 0)) } else { self.order.u32(body, 0) };
        let number = self.number(interface, interfaces)?;
        let ticks = u64::from(self.order.u32(body, 4)) << 32 | u64::from(self.order.u32(body, 8));
        let (captured, original) = (self.order.u32(body, 12), self.order.u32(body, 16));
        let end = HEAD.saturating_add(captured as usize);
        if end > body.len() {
            return Err(Stop::Damaged(format!("a packet claims {captured} bytes in a block of {}", body.len())));
        }
        let nanos = interfaces[number].clock.nanos(ticks);
        Ok(RecordPosition { nanos, interface: number as u32, original, begin: HEAD, end, next: 0 })
    }

    /// A simple packet block: no time stamp, no captured length; it belongs to the first interface and is cut at its
    /// snap length.
    fn simple(&self, body: &[u8], interfaces: &[Interface]) -> Result<RecordPosition, Stop> {
        if body.len() < 4 {
            return Err(cut("a packet block", body.len(), 4));
        }
        let number = self.number(0, interfaces)?;
        let original = self.order.u32(body, 0);
        let limit = match interfaces[number].snap_length {
            0 => u32::MAX,
            limit => limit,
        };
        let captured = (original.min(limit) as usize).min(body.len() - 4);
        Ok(RecordPosition { nanos: 0, interface: number as u32, original, begin: 4, end: 4 + captured, next: 0 })
    }
}

/// The unit of `if_tsresol`: a negative power of ten, or of two if the highest bit is set.
fn unit(resolution: u8) -> ClockUnit {
    let power = u32::from(resolution & 0x7f);
    if resolution & 0x80 != 0 {
        ClockUnit::PerSecond(1u64.checked_shl(power).unwrap_or(1 << 63))
    } else if power <= 9 {
        ClockUnit::Nanos(10u64.pow(9 - power))
    } else {
        ClockUnit::PerSecond(10u64.checked_pow(power).unwrap_or(10u64.pow(19)))
    }
}
