//! pcap: a header of 24 bytes, then records with headers of 16 bytes.

use std::io;

use super::{ClockUnit, Fill, Input, Interface, InterfaceClock, LONGEST, ReadStep, RecordPosition, cut};
use crate::link::LinkType;

pub(super) struct PcapState {
    big_endian: bool,
    /// The unit of a stamp's fraction of a second, in ns.
    fraction: u64,
    /// A longer record is treated as damage.
    longest: u32,
}

impl PcapState {
    pub(super) fn new(big_endian: bool, fraction: u64) -> Self {
        Self { big_endian, fraction, longest: LONGEST }
    }

    #[inline]
    fn u32(&self, bytes: [u8; 4]) -> u32 {
        if self.big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
    }

    /// Reads the file header; the inner error describes damage.
    pub(super) fn header(&mut self, input: &mut Input<'_>) -> io::Result<Result<Interface, String>> {
        if matches!(input.need(24)?, Fill::Ended) {
            return Ok(Err(cut("the file header", input.bytes().len(), 24)));
        }
        let bytes = input.bytes();
        let word = |at: usize| self.u32([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let (snap_length, link) = (word(16), word(20));
        // The upper bits give the length of a frame check sequence (section 4 of the draft); the lengths inside the
        // packets make it redundant.
        let link = LinkType::from_number(link as u16);
        self.longest = LONGEST.max(snap_length.min(LONGEST * 64));
        input.consume(24);
        let clock = InterfaceClock { unit: ClockUnit::Nanos(self.fraction), offset: 0 };
        Ok(Ok(Interface { link, snap_length, name: None, dropped: None, clock }))
    }

    #[inline]
    pub(super) fn next(&mut self, input: &mut Input<'_>) -> io::Result<ReadStep> {
        if matches!(input.need(16)?, Fill::Ended) {
            let have = input.bytes().len();
            return Ok(if have == 0 { ReadStep::End } else { ReadStep::Damaged(cut("a record header", have, 16)) });
        }
        let Some(head) = input.bytes().first_chunk::<16>() else { return Ok(ReadStep::End) };
        let word = |at: usize| self.u32([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let (seconds, fraction, captured, original) = (word(0), word(4), word(8), word(12));
        if captured > self.longest {
            return Ok(ReadStep::Damaged(format!(
                "a record claims {captured} bytes, more than {} can be",
                self.longest
            )));
        }
        let nanos = u64::from(seconds) * 1_000_000_000 + u64::from(fraction) * self.fraction;
        let next = 16 + captured as usize;
        if matches!(input.need(next)?, Fill::Ended) {
            return Ok(ReadStep::Damaged(cut("a packet", input.bytes().len() - 16, u64::from(captured))));
        }
        Ok(ReadStep::Packet(RecordPosition { nanos, interface: 0, original, begin: 16, end: next, next }))
    }
}
