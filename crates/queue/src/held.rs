//! A line, first in, first out, of which nothing leaves before a time that its discipline sets.

use std::collections::VecDeque;

use wifair_packet::{PacketId, Packets};
use wifair_units::Time;

use super::room::Room;
use super::{Cause, Dropped};

/// Packets in line, what fits, and when the next one may leave.
#[derive(Clone, Debug)]
pub struct Held {
    room: Room,
    line: VecDeque<PacketId>,
    /// Nothing leaves before.
    pub ready: Time,
}

impl Held {
    /// Packets marked so far.
    pub fn marks(&self) -> u64 {
        self.room.marks()
    }

    /// Nothing in line.
    pub const fn new(room: Room) -> Self {
        Self { room, line: VecDeque::new(), ready: Time::ZERO }
    }

    /// An arrival, which is dropped if it does not fit.
    pub fn put(&mut self, id: PacketId, packets: &mut Packets, dropped: &mut Dropped) {
        let packet = &mut packets[id];
        if self.room.fits(packet.bytes().0) {
            self.room.enter(packet);
            self.line.push_back(id);
        } else {
            dropped.push((id, Cause::Overflow));
        }
    }

    /// The first one, if it may leave.
    pub fn take(&mut self, now: Time, packets: &Packets) -> Option<PacketId> {
        if now < self.ready {
            return None;
        }
        let id = self.line.pop_front()?;
        self.room.leave(packets[id].bytes().0);
        Some(id)
    }

    /// Packets in line.
    pub fn len(&self) -> usize {
        self.line.len()
    }

    /// Whether a full-size packet would not fit.
    pub const fn is_full(&self) -> bool {
        self.room.is_full()
    }
}
