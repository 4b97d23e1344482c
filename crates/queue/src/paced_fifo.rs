//! A FIFO that releases nothing before a time set by its discipline.

use std::collections::VecDeque;

use wifair_packet::{PacketId, Packets};
use wifair_units::Time;

use super::room::Room;
use super::{Cause, Dropped};

/// Waiting packets, their limit, and the earliest time at which the next one may leave.
#[derive(Clone, Debug)]
pub struct PacedFifo {
    room: Room,
    line: VecDeque<PacketId>,
    /// No packet leaves before this time.
    pub ready: Time,
}

impl PacedFifo {
    /// Packets marked so far.
    pub fn marks(&self) -> u64 {
        self.room.marks()
    }

    /// An empty line.
    pub const fn new(room: Room) -> Self {
        Self { room, line: VecDeque::new(), ready: Time::ZERO }
    }

    /// Adds an arrival, which is dropped if it does not fit; `marked` if its discipline has marked it.
    pub fn put(&mut self, id: PacketId, marked: bool, packets: &mut Packets, dropped: &mut Dropped) {
        let packet = &mut packets[id];
        if self.room.fits(packet.bytes().0) {
            self.room.enter(packet);
            if marked {
                self.room.count_mark();
            }
            self.line.push_back(id);
        } else {
            dropped.push((id, Cause::Overflow));
        }
    }

    /// Removes the first packet, if it may leave.
    pub fn take(&mut self, now: Time, packets: &Packets) -> Option<PacketId> {
        if now < self.ready {
            return None;
        }
        let id = self.line.pop_front()?;
        self.room.leave(packets[id].bytes().0);
        Some(id)
    }

    /// Waiting packets.
    pub fn len(&self) -> usize {
        self.line.len()
    }

    /// Whether a full-size packet would not fit.
    pub const fn is_full(&self) -> bool {
        self.room.is_full()
    }
}
