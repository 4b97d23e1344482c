//! One buffer shared by a line per class; an overflow drops from the longest line.
//!
//! Source: P. McKenney, "Stochastic Fairness Queueing", INFOCOM 1990: when the buffer is full the longest line gives up
//! a packet, so that no class can crowd out the others. The victim is the last packet of the line, so that the rest
//! stays in order.

use std::cmp::Reverse;

use wifair_config::{Limit, choice};
use wifair_packet::{PacketId, Packets};

use super::heap::IndexHeap;
use super::lines::{Lines, QueuedPacket};
use super::room::Room;
use super::{Cause, Dropped, Site, flow_key, station_key};

choice! {
    /// What gets equal shares.
    pub enum Class {
        /// Flows; the two directions of a connection count as two flows.
        Flow = "flow",
        /// Stations.
        Station = "station",
    }
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub struct SharedBuffer {
    pub room: Room,
    pub lines: Lines,
    in_bytes: bool,
    by: Class,
    /// Lines by length, in the unit of the limit.
    longest: IndexHeap<Reverse<(u64, u32)>>,
}

impl SharedBuffer {
    /// An empty buffer.
    pub fn new(by: Class, site: &Site<'_>) -> Self {
        Self {
            room: site.room(),
            lines: Lines::default(),
            in_bytes: matches!(site.limit, Limit::Bytes(_)),
            by,
            longest: IndexHeap::default(),
        }
    }

    /// The class of a packet that goes to station `to`; none for a packet that would not fit even into an empty buffer,
    /// which is dropped.
    pub fn admit(&self, id: PacketId, to: u32, packets: &Packets, dropped: &mut Dropped) -> Option<usize> {
        let packet = &packets[id];
        if !self.room.could_fit(packet.bytes().0) {
            dropped.push((id, Cause::Overflow));
            return None;
        }
        Some(match self.by {
            Class::Flow => flow_key(packet),
            Class::Station => station_key(to),
        })
    }

    fn length(&self, class: usize) -> u64 {
        if self.in_bytes { self.lines.bytes(class) } else { u64::from(self.lines.packets(class)) }
    }

    fn measure(&mut self, class: usize) {
        let key = Reverse((self.length(class), class as u32));
        self.longest.set(class as u32, key);
    }

    /// Adds a packet that was admitted, then drops the last packets of the longest lines until the rest fits; reports
    /// each of these with its class.
    pub fn push(
        &mut self,
        class: usize,
        id: PacketId,
        note: u64,
        packets: &mut Packets,
        dropped: &mut Dropped,
        mut on_drop: impl FnMut(&Lines, usize, &QueuedPacket),
    ) {
        let packet = &mut packets[id];
        self.room.enter(packet);
        self.lines.push(class, id, packet.size, note);
        self.measure(class);
        while self.room.overflows() {
            let (_, longest) = self.longest.first().expect("a buffer that overflows has a longest line");
            let longest = longest as usize;
            let last = self.lines.pop_last(longest).expect("the longest line is not empty");
            self.room.leave(u64::from(last.size));
            self.measure(longest);
            dropped.push((last.id, Cause::Overflow));
            on_drop(&self.lines, longest, &last);
        }
    }

    /// Removes the first packet of a line.
    pub fn pop(&mut self, class: usize) -> Option<QueuedPacket> {
        let first = self.lines.pop_first(class)?;
        self.room.leave(u64::from(first.size));
        self.measure(class);
        Some(first)
    }
}
