//! What a window puts out: packets handed up at the recipient, and packets that are lost.

use wifair_packet::PacketId;

/// Output of a window: packets handed up, with their receiver, and packets lost.
#[derive(Clone, Debug, Default)]
pub(crate) struct Released {
    /// Packets that the recipient hands up, in order.
    pub up: HandedUp,
    /// Packets lost at the retry limit.
    pub lost: Vec<PacketId>,
    /// Packets lost because their lifetime has ended.
    pub expired: Vec<PacketId>,
}

/// Packets with their receivers, in order, and the number of those already reported.
#[derive(Clone, Debug, Default)]
pub(crate) struct HandedUp {
    all: Vec<(u32, PacketId)>,
    reported: usize,
}

impl HandedUp {
    #[inline]
    pub fn push(&mut self, to: u32, id: PacketId) {
        self.all.push((to, id));
    }

    #[inline]
    pub fn push_all(&mut self, packets: impl Iterator<Item = (u32, PacketId)>) {
        self.all.extend(packets);
    }

    /// Removes the first packet not yet reported.
    #[inline]
    pub fn take(&mut self) -> Option<(u32, PacketId)> {
        let next = *self.all.get(self.reported)?;
        self.skip(1);
        Some(next)
    }

    /// Removes the next `count` packets.
    #[inline]
    pub fn skip(&mut self, count: usize) {
        self.reported += count;
        if self.reported == self.all.len() {
            self.all.clear();
            self.reported = 0;
        }
    }

    /// The packets not yet reported.
    #[inline]
    pub fn rest(&self) -> &[(u32, PacketId)] {
        &self.all[self.reported..]
    }

    /// A mark for [`HandedUp::since`].
    #[inline]
    pub fn mark(&self) -> usize {
        self.all.len()
    }

    /// The packets added since a mark, provided that none was removed since.
    #[inline]
    pub fn since(&self, mark: usize) -> &[(u32, PacketId)] {
        &self.all[mark..]
    }
}
