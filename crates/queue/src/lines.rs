//! Many lines of packets in one arena.

use wifair_packet::PacketId;

const NONE: u32 = u32::MAX;

/// A packet in a line.
#[derive(Clone, Copy, Debug)]
pub struct QueuedPacket {
    /// The packet.
    pub id: PacketId,
    /// Its size, in bytes.
    pub size: u16,
    /// The discipline's note, made at arrival.
    pub note: u64,
    before: u32,
    behind: u32,
}

#[derive(Clone, Copy, Debug)]
struct Line {
    first: u32,
    last: u32,
    packets: u32,
    bytes: u64,
}

const EMPTY: Line = Line { first: NONE, last: NONE, packets: 0, bytes: 0 };

/// Numbered FIFOs that share one arena. Memory is allocated only when their total length exceeds its previous maximum.
#[derive(Clone, Debug, Default)]
pub struct Lines {
    nodes: Vec<QueuedPacket>,
    free: Vec<u32>,
    lines: Vec<Line>,
}

impl Lines {
    /// Makes sure that a line of this number exists; returns whether it is new.
    pub fn open(&mut self, line: usize) -> bool {
        let is_new = self.lines.len() <= line;
        if is_new {
            self.lines.resize(line + 1, EMPTY);
        }
        is_new
    }

    /// Appends a packet to a line.
    pub fn push(&mut self, line: usize, id: PacketId, size: u16, note: u64) {
        self.open(line);
        let last = self.lines[line].last;
        let node = QueuedPacket { id, size, note, before: last, behind: NONE };
        let place = if let Some(place) = self.free.pop() {
            self.nodes[place as usize] = node;
            place
        } else {
            self.nodes.push(node);
            (self.nodes.len() - 1) as u32
        };
        if last == NONE {
            self.lines[line].first = place;
        } else {
            self.nodes[last as usize].behind = place;
        }
        let line = &mut self.lines[line];
        line.last = place;
        line.packets += 1;
        line.bytes += u64::from(size);
    }

    /// The first packet of a line.
    pub fn first(&self, line: usize) -> Option<&QueuedPacket> {
        self.nodes.get(self.lines.get(line)?.first as usize)
    }

    /// Removes the first packet of a line.
    pub fn pop_first(&mut self, line: usize) -> Option<QueuedPacket> {
        self.pop(line, self.lines.get(line)?.first)
    }

    /// Removes the last packet of a line.
    pub fn pop_last(&mut self, line: usize) -> Option<QueuedPacket> {
        self.pop(line, self.lines.get(line)?.last)
    }

    /// Removes the packet at `place`, one of the two ends.
    fn pop(&mut self, line: usize, place: u32) -> Option<QueuedPacket> {
        let node = *self.nodes.get(place as usize)?;
        if node.before == NONE {
            self.lines[line].first = node.behind;
        } else {
            self.nodes[node.before as usize].behind = node.behind;
        }
        if node.behind == NONE {
            self.lines[line].last = node.before;
        } else {
            self.nodes[node.behind as usize].before = node.before;
        }
        self.free.push(place);
        let line = &mut self.lines[line];
        line.packets -= 1;
        line.bytes -= u64::from(node.size);
        Some(node)
    }

    /// Packets in a line.
    pub fn packets(&self, line: usize) -> u32 {
        self.lines.get(line).map_or(0, |line| line.packets)
    }

    /// Bytes in a line.
    pub fn bytes(&self, line: usize) -> u64 {
        self.lines.get(line).map_or(0, |line| line.bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;
    use wifair_packet::{Packet, Packets};

    use super::*;

    proptest! {
        #[test]
        fn agrees_with_plain_queues(steps in prop::collection::vec((0_usize..4, 0_u8..5, 1_u16..1500), 1..300)) {
            let mut packets = Packets::default();
            let (mut lines, mut plain) = (Lines::default(), vec![VecDeque::new(); 4]);
            for (line, what, size) in steps {
                match what {
                    0 => prop_assert_eq!(lines.pop_first(line).map(|w| (w.id, w.note)), plain[line].pop_front()),
                    1 => prop_assert_eq!(lines.pop_last(line).map(|w| (w.id, w.note)), plain[line].pop_back()),
                    _ => {
                        let id = packets.insert(Packet { size, ..Packet::default() });
                        lines.push(line, id, size, u64::from(what));
                        plain[line].push_back((id, u64::from(what)));
                    }
                }
                prop_assert_eq!(lines.packets(line) as usize, plain[line].len());
                prop_assert_eq!(lines.bytes(line), plain[line].iter().map(|(id, _)| packets[*id].bytes().0).sum());
                prop_assert_eq!(lines.first(line).map(|w| w.id), plain[line].front().map(|(id, _)| *id));
            }
        }
    }
}
