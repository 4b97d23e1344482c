//! Numbered lines (FIFOs) of packets.

use std::collections::VecDeque;

use wifair_packet::{PacketId, entry};

/// A packet in a line.
#[derive(Clone, Copy, Debug)]
pub struct QueuedPacket {
    /// The packet.
    pub id: PacketId,
    /// Its size, in bytes.
    pub size: u16,
    /// The discipline's note, made at arrival.
    pub note: u64,
}

static EMPTY: VecDeque<QueuedPacket> = VecDeque::new();

#[derive(Clone, Debug, Default)]
struct Line {
    packets: VecDeque<QueuedPacket>,
    bytes: u64,
}

/// Numbered FIFOs with a count of their bytes. A line is created by its first packet.
#[derive(Clone, Debug, Default)]
pub struct Lines {
    lines: Vec<Line>,
}

impl Lines {
    /// Appends a packet to a line.
    pub fn push(&mut self, line: usize, id: PacketId, size: u16, note: u64) {
        let line = entry(&mut self.lines, line);
        line.packets.push_back(QueuedPacket { id, size, note });
        line.bytes += u64::from(size);
    }

    /// The first packet of a line.
    pub fn first(&self, line: usize) -> Option<&QueuedPacket> {
        self.lines.get(line)?.packets.front()
    }

    /// Removes the first packet of a line.
    pub fn pop_first(&mut self, line: usize) -> Option<QueuedPacket> {
        let line = self.lines.get_mut(line)?;
        let first = line.packets.pop_front()?;
        line.bytes -= u64::from(first.size);
        Some(first)
    }

    /// Removes the last packet of a line.
    pub fn pop_last(&mut self, line: usize) -> Option<QueuedPacket> {
        let line = self.lines.get_mut(line)?;
        let last = line.packets.pop_back()?;
        line.bytes -= u64::from(last.size);
        Some(last)
    }

    /// Removes a packet from inside a line.
    pub fn remove(&mut self, line: usize, place: usize) -> Option<QueuedPacket> {
        let line = self.lines.get_mut(line)?;
        let gone = line.packets.remove(place)?;
        line.bytes -= u64::from(gone.size);
        Some(gone)
    }

    /// The packets of a line, first to last.
    pub fn ids(&self, line: usize) -> impl ExactSizeIterator<Item = PacketId> + Clone {
        let packets = self.lines.get(line).map_or(&EMPTY, |line| &line.packets);
        packets.iter().map(|packet| packet.id)
    }

    /// Packets in a line.
    pub fn packets(&self, line: usize) -> u32 {
        self.lines.get(line).map_or(0, |line| line.packets.len() as u32)
    }

    /// Bytes in a line.
    pub fn bytes(&self, line: usize) -> u64 {
        self.lines.get(line).map_or(0, |line| line.bytes)
    }
}
