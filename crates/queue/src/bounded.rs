//! A drop-tail line of packets, each with a note of its discipline.

use std::collections::VecDeque;

use wifair_packet::{PacketId, Packets};

use super::room::Room;
use super::{Cause, Dropped};

/// Waiting packets in order of arrival, and their limit.
#[derive(Clone, Debug)]
pub struct BoundedLine<N> {
    room: Room,
    line: VecDeque<(PacketId, N)>,
}

impl<N> BoundedLine<N> {
    /// An empty line.
    pub const fn new(room: Room) -> Self {
        Self { room, line: VecDeque::new() }
    }

    /// Adds an arrival, which is dropped if it does not fit; `marked` if its discipline has marked it. Returns whether
    /// it stays.
    pub fn put(&mut self, id: PacketId, note: N, marked: bool, packets: &mut Packets, dropped: &mut Dropped) -> bool {
        let packet = &mut packets[id];
        let fits = self.room.fits(packet.bytes().0);
        if fits {
            self.room.enter(packet);
            if marked {
                self.room.count_mark();
            }
            self.line.push_back((id, note));
        } else {
            dropped.push((id, Cause::Overflow));
        }
        fits
    }

    /// Removes the first packet.
    pub fn take(&mut self, packets: &Packets) -> Option<(PacketId, N)> {
        let (id, note) = self.line.pop_front()?;
        self.room.leave(packets[id].bytes().0);
        Some((id, note))
    }

    /// Waiting packets.
    pub fn len(&self) -> usize {
        self.line.len()
    }

    /// Whether no packet waits.
    pub fn is_empty(&self) -> bool {
        self.line.is_empty()
    }

    /// Their bytes.
    pub const fn bytes(&self) -> u64 {
        self.room.bytes()
    }

    /// Whether a full-size packet would not fit.
    pub const fn is_full(&self) -> bool {
        self.room.is_full()
    }

    /// Packets marked so far.
    pub fn marks(&self) -> u64 {
        self.room.marks()
    }
}
