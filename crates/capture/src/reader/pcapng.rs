//! pcapng: blocks with type and length before and length after the body; sections, interfaces, packets.

use std::io;

use super::{
    ClockUnit, Fill, Input, Interface, InterfaceClock, LONGEST, MOST_INTERFACES, ReadStep, RecordPosition, cut,
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
    big_endian: bool,
    /// Index of the first interface of the current section.
    first_interface: usize,
}

impl PcapngState {
    #[inline]
    fn u32(&self, bytes: &[u8], at: usize) -> u32 {
        let word = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
        if self.big_endian { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) }
    }

    #[inline]
    fn u16(&self, bytes: &[u8], at: usize) -> u16 {
        let word = [bytes[at], bytes[at + 1]];
        if self.big_endian { u16::from_be_bytes(word) } else { u16::from_le_bytes(word) }
    }

    /// A whole number of 64 bits in the byte order of the file.
    fn u64(&self, bytes: &[u8]) -> Option<u64> {
        let word = *bytes.first_chunk()?;
        Some(if self.big_endian { u64::from_be_bytes(word) } else { u64::from_le_bytes(word) })
    }

    pub(super) fn next(&mut self, input: &mut Input<'_>, interfaces: &mut Vec<Interface>) -> io::Result<ReadStep> {
        loop {
            if matches!(input.need(12)?, Fill::Ended) {
                let have = input.bytes().len();
                return Ok(if have == 0 { ReadStep::End } else { ReadStep::Damaged(cut("a block", have, 12)) });
            }
            let kind = self.u32(input.bytes(), 0);
            if kind == SECTION {
                // The block type reads the same in both byte orders; the word after the length tells the byte order.
                self.big_endian = match input.bytes()[8..12] {
                    [0x1a, 0x2b, 0x3c, 0x4d] => true,
                    [0x4d, 0x3c, 0x2b, 0x1a] => false,
                    _ => return Ok(ReadStep::Damaged("a section without the byte-order word".into())),
                };
            }
            let length = self.u32(input.bytes(), 4);
            if length < 12 || !length.is_multiple_of(4) {
                return Ok(ReadStep::Damaged(format!("a block claims {length} bytes")));
            }
            let known = matches!(kind, SECTION | INTERFACE | OLD_PACKET | SIMPLE_PACKET | STATISTICS | ENHANCED_PACKET);
            if !known {
                let skipped = input.skip(u64::from(length))?;
                if skipped < u64::from(length) {
                    return Ok(ReadStep::Damaged(cut("a block", skipped as usize, u64::from(length))));
                }
                continue;
            }
            if length > LONGEST_BLOCK {
                return Ok(ReadStep::Damaged(format!(
                    "a block claims {length} bytes, more than {LONGEST_BLOCK} can be"
                )));
            }
            let size = length as usize;
            if matches!(input.need(size)?, Fill::Ended) {
                return Ok(ReadStep::Damaged(cut("a block", input.bytes().len(), u64::from(length))));
            }
            let block = &input.bytes()[..size];
            let behind = self.u32(block, size - 4);
            if behind != length {
                return Ok(ReadStep::Damaged(format!("a block of {length} bytes ends with length {behind}")));
            }
            let body = &block[8..size - 4];
            match kind {
                SECTION => self.first_interface = interfaces.len(),
                INTERFACE => {
                    if interfaces.len() - self.first_interface >= MOST_INTERFACES {
                        return Ok(ReadStep::Damaged(format!("more than {MOST_INTERFACES} interfaces")));
                    }
                    match self.interface(body) {
                        Ok(interface) => {
                            // A file of many sections may repeat the same interface over and over: one entry is enough.
                            if interfaces.len() >= 4 * MOST_INTERFACES {
                                return Ok(ReadStep::Damaged("too many interfaces".into()));
                            }
                            interfaces.push(interface);
                        }
                        Err(what) => return Ok(ReadStep::Damaged(what)),
                    }
                }
                STATISTICS => self.statistics(body, interfaces),
                _ => {
                    let found = match kind {
                        SIMPLE_PACKET => self.simple(body, interfaces),
                        _ => self.stamped(body, kind == OLD_PACKET, interfaces),
                    };
                    return Ok(match found {
                        Ok(mut found) => {
                            found.begin += 8;
                            found.end += 8;
                            found.next = size;
                            ReadStep::Packet(found)
                        }
                        Err(what) => ReadStep::Damaged(what),
                    });
                }
            }
            input.consume(size);
        }
    }

    /// Iterates over options: code, length, value, padded to four bytes; code 0 ends them.
    fn options<'b>(&self, mut bytes: &'b [u8], mut each: impl FnMut(u16, &'b [u8])) {
        while bytes.len() >= 4 {
            let (code, length) = (self.u16(bytes, 0), usize::from(self.u16(bytes, 2)));
            let Some(value) = bytes.get(4..4 + length) else { return };
            if code == 0 {
                return;
            }
            each(code, value);
            bytes = bytes.get(4 + length.next_multiple_of(4)..).unwrap_or_default();
        }
    }

    fn interface(&self, body: &[u8]) -> Result<Interface, String> {
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
            link: LinkType::from_number(self.u16(body, 0)),
            snap_length: self.u32(body, 4),
            name,
            dropped: None,
            clock,
        })
    }

    fn statistics(&self, body: &[u8], interfaces: &mut [Interface]) {
        if body.len() < 12 {
            return;
        }
        let number = self.first_interface + self.u32(body, 0) as usize;
        let Some(interface) = interfaces.get_mut(number) else { return };
        // isb_ifdrop: packets dropped at the interface since the start of the capture.
        self.options(&body[12..], |code, value| {
            if code == 5 {
                interface.dropped = self.u64(value).or(interface.dropped);
            }
        });
    }

    fn number(&self, interface: u32, interfaces: &[Interface]) -> Result<usize, String> {
        let number = self.first_interface + interface as usize;
        if number < interfaces.len() {
            Ok(number)
        } else {
            Err(format!("a packet of interface {interface}, which is not described"))
        }
    }

    /// A packet block with the number of its interface (in two bytes if `is_old`) and a time stamp.
    #[inline]
    fn stamped(&self, body: &[u8], is_old: bool, interfaces: &[Interface]) -> Result<RecordPosition, String> {
        /// Bytes before the packet.
        const HEAD: usize = 20;
        if body.len() < HEAD {
            return Err(cut("a packet block", body.len(), HEAD as u64));
        }
        let interface = if is_old { u32::from(self.u16(body, 0)) } else { self.u32(body, 0) };
        let number = self.number(interface, interfaces)?;
        let ticks = u64::from(self.u32(body, 4)) << 32 | u64::from(self.u32(body, 8));
        let (captured, original) = (self.u32(body, 12), self.u32(body, 16));
        let end = HEAD.saturating_add(captured as usize);
        if end > body.len() {
            return Err(format!("a packet claims {captured} bytes in a block of {}", body.len()));
        }
        let nanos = interfaces[number].clock.nanos(ticks);
        Ok(RecordPosition { nanos, interface: number as u32, original, begin: HEAD, end, next: 0 })
    }

    /// A simple packet block: no time stamp, no captured length; it belongs to the first interface and is cut at its
    /// snap length.
    fn simple(&self, body: &[u8], interfaces: &[Interface]) -> Result<RecordPosition, String> {
        if body.len() < 4 {
            return Err(cut("a packet block", body.len(), 4));
        }
        let number = self.number(0, interfaces)?;
        let original = self.u32(body, 0);
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
