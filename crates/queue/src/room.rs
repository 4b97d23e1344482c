//! The contents of a queue compared with its limit.

use wifair_config::Limit;
use wifair_packet::{Packet, flag};

/// Size of a full-size packet, in bytes.
const FULL_SIZE: u64 = 1500;

/// Packets and bytes inside, and their limit.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// The limits in packets and bytes; one is the configured limit, the other unbounded.
    most: (u32, u64),
    mark_above: Option<Limit>,
    packets: u32,
    marks: u32,
    bytes: u64,
}

impl Room {
    /// An empty queue's room. An ECN-capable packet that arrives while the queue holds more than `mark_above` is
    /// marked.
    pub const fn new(limit: Limit, mark_above: Option<Limit>) -> Self {
        let most = match limit {
            Limit::Packets(packets) if packets < u32::MAX as u64 => (packets as u32, u64::MAX),
            Limit::Packets(_) => (u32::MAX, u64::MAX),
            Limit::Bytes(bytes) => (u32::MAX, bytes.0),
        };
        Self { most, mark_above, packets: 0, marks: 0, bytes: 0 }
    }

    /// Whether a packet of `size` bytes fits.
    #[inline]
    pub const fn fits(&self, size: u64) -> bool {
        self.packets < self.most.0 && self.bytes + size <= self.most.1
    }

    /// Whether a packet of `size` bytes fits if each packet counts `header` bytes more.
    pub const fn fits_with(&self, size: u64, header: u64) -> bool {
        self.packets < self.most.0 && self.bytes + size + header * (self.packets as u64 + 1) <= self.most.1
    }

    /// Whether a packet of `size` bytes would fit into an empty queue.
    pub const fn could_fit(&self, size: u64) -> bool {
        self.most.0 > 0 && size <= self.most.1
    }

    /// Whether the contents exceed the limit.
    #[inline]
    pub const fn overflows(&self) -> bool {
        self.packets > self.most.0 || self.bytes > self.most.1
    }

    /// Whether a full-size packet would not fit.
    #[inline]
    pub const fn is_full(&self) -> bool {
        !self.fits(FULL_SIZE)
    }

    /// Counts an arriving packet, whether or not it fits.
    #[inline]
    pub fn enter(&mut self, packet: &mut Packet) {
        if let Some(threshold) = self.mark_above
            && exceeds(threshold, self.packets.into(), self.bytes)
        {
            self.marks += u32::from(mark(packet));
        }
        self.packets += 1;
        self.bytes += packet.bytes().0;
    }

    /// How many packets of `size` bytes fit.
    #[inline]
    pub const fn fits_together(&self, size: u16) -> u64 {
        let packets = self.most.0.saturating_sub(self.packets) as u64;
        let bytes = self.most.1.saturating_sub(self.bytes);
        if packets == 0 || size == 0 || bytes / size as u64 >= packets { packets } else { bytes / size as u64 }
    }

    /// How many packets of `size` bytes certainly fit, if none but the last may leave less room than for a full-size
    /// packet.
    #[inline]
    pub fn fits_until_full(&self, size: u16) -> u64 {
        self.fits_together(size.max(FULL_SIZE as u16))
    }

    /// Whether arriving packets may be marked.
    #[inline]
    pub const fn may_mark(&self) -> bool {
        self.mark_above.is_some()
    }

    /// Counts `packets` arriving packets of `size` bytes each, none of which [may be marked](Room::may_mark).
    #[inline]
    pub const fn enter_together(&mut self, packets: u32, size: u16) {
        self.packets += packets;
        self.bytes += packets as u64 * size as u64;
    }

    /// Removes a packet of `size` bytes from the count.
    #[inline]
    pub const fn leave(&mut self, size: u64) {
        self.packets -= 1;
        self.bytes -= size;
    }

    /// Removes `packets` packets of `size` bytes each from the count.
    #[inline]
    pub const fn leave_together(&mut self, packets: u32, size: u16) {
        self.packets -= packets;
        self.bytes -= packets as u64 * size as u64;
    }

    /// Bytes inside.
    #[inline]
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Packets inside.
    #[inline]
    pub const fn len(&self) -> usize {
        self.packets as usize
    }

    /// Counts a packet that the discipline marked by its own rule.
    #[inline]
    pub const fn count_mark(&mut self) {
        self.marks += 1;
    }

    /// Packets marked.
    #[inline]
    pub fn marks(&self) -> u64 {
        self.marks.into()
    }

    /// Whether the queue is empty.
    pub const fn is_empty(&self) -> bool {
        self.packets == 0
    }
}

const fn exceeds(limit: Limit, packets: u64, bytes: u64) -> bool {
    match limit {
        Limit::Packets(limit) => packets > limit,
        Limit::Bytes(limit) => bytes > limit.0,
    }
}

/// Sets "congestion experienced" if the packet's transport is ECN-capable (RFC 3168, section 5); returns whether it is.
#[inline]
pub const fn mark(packet: &mut Packet) -> bool {
    if packet.has(flag::ECT) {
        packet.flags |= flag::CE;
        return true;
    }
    false
}

#[cfg(test)]
mod tests {
    use wifair_units::Bytes;

    use super::*;

    fn packet(size: u16, flags: u8) -> Packet {
        Packet { size, flags, ..Packet::default() }
    }

    #[test]
    fn a_limit_in_bytes_is_one_that_may_be_reached() {
        let mut room = Room::new(Limit::Bytes(Bytes(100)), None);
        room.enter(&mut packet(60, 0));
        assert!(room.fits(40) && !room.fits(41) && room.is_full());
        room.leave(60);
        assert!(room.is_empty() && room.fits(100));
    }

    /// RFC 8257, section 3.1: a packet that finds more than the threshold is marked.
    #[test]
    fn a_packet_is_marked_when_it_finds_more_than_the_threshold() {
        let mut room = Room::new(Limit::Packets(9), Some(Limit::Packets(1)));
        let marked = [flag::ECT, flag::ECT, flag::ECT, 0].map(|flags| {
            let mut packet = packet(9, flags);
            room.enter(&mut packet);
            packet.has(flag::CE)
        });
        assert_eq!(marked, [false, false, true, false]);
    }
}
