//! pcap: a header of 24 bytes, then records with headers of 16 bytes.

use super::{ByteOrder, ClockUnit, Input, Interface, InterfaceClock, LONGEST, RecordPosition, Stop, cut};
use crate::link::LinkType;

pub(super) struct PcapState {
    order: ByteOrder,
    /// The unit of a stamp's fraction of a second, in ns.
    fraction: u64,
    /// A longer record is treated as damage.
    longest: u32,
}

impl PcapState {
    pub(super) fn new(is_big: bool, fraction: u64) -> Self {
        Self { order: ByteOrder { is_big }, fraction, longest: LONGEST }
    }

    /// Reads the file header.
    pub(super) fn header(&mut self, input: &mut Input<'_>) -> Result<Interface, Stop> {
        let bytes = input.need(24, "the file header")?;
        let [snap_length, link] = [16, 20].map(|at| self.order.u32(bytes, at));
        // The upper bits give the length of a frame check sequence (section 4 of the draft); the lengths inside the
        // packets make it redundant.
        let link = LinkType::from_number(link as u16);
        self.longest = LONGEST.max(snap_length.min(LONGEST * 64));
        input.consume(24);
        let clock = InterfaceClock { unit: ClockUnit::Nanos(self.fraction), offset: 0 };
        Ok(Interface { link, snap_length, name: None, dropped: None, clock })
    }

    #[inline]
    pub(super) fn next(&mut self, input: &mut Input<'_>) -> Result<Option<RecordPosition>, Stop> {
        if !input.has(1)? {
            return Ok(None);
        }
        let head = input.need(16, "a record header")?;
        let [seconds, fraction, captured, original] = [0, 4, 8, 12].map(|at| self.order.u32(head, at));
        if captured > self.longest {
            let longest = self.longest;
            return Err(Stop::Damaged(format!("a record claims {captured} bytes, more than {longest} can be")));
        }
        let nanos = u64::from(seconds) * 1_000_000_000 + u64::from(fraction) * self.fraction;
        let next = 16 + captured as usize;
        if !input.has(next)? {
            return Err(cut("a packet", input.bytes().len() - 16, u64::from(captured)));
        }
        Ok(Some(RecordPosition { nanos, interface: 0, original, begin: 16, end: next, next }))
    }
}
