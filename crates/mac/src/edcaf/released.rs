//! What a window puts out: packets handed up at the recipient, and packets that are lost.

use wifair_packet::PacketId;
use wifair_units::Duration;

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
    /// How long before the end of the PPDU each was received, if MPDUs are passed up singly; zero for those without.
    leads: Vec<Duration>,
    /// That of the packet last taken.
    lead: Duration,
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
        self.lead = self.leads.get(self.reported).copied().unwrap_or(Duration::ZERO);
        self.skip(1);
        Some(next)
    }

    /// How long before the end of the PPDU the packet last taken was received.
    pub const fn lead(&self) -> Duration {
        self.lead
    }

    /// Sets how long before the end of the PPDU the packets added since a mark were received.
    pub fn set_lead(&mut self, mark: usize, lead: Duration) {
        self.leads.resize(mark, Duration::ZERO);
        self.leads.resize(self.all.len(), lead);
    }

    /// The same for packets with a time each.
    #[inline]
    pub fn set_leads(&mut self, mark: usize, leads: impl Iterator<Item = Duration>) {
        self.leads.resize(mark, Duration::ZERO);
        self.leads.extend(leads);
    }

    /// The packets added since a mark, provided that none was removed since, and their leads, if they have any.
    #[inline]
    pub fn since(&self, mark: usize) -> (&[(u32, PacketId)], &[Duration]) {
        (&self.all[mark..], self.leads.get(mark..).unwrap_or_default())
    }

    /// Removes the next `count` packets.
    #[inline]
    pub fn skip(&mut self, count: usize) {
        self.reported += count;
        if self.reported == self.all.len() {
            self.all.clear();
            self.leads.clear();
            self.reported = 0;
        }
    }

    /// The packets not yet reported.
    #[inline]
    pub fn rest(&self) -> &[(u32, PacketId)] {
        &self.all[self.reported..]
    }

    /// How long before the end of the PPDU they were received, if they have such times.
    #[inline]
    pub fn rest_leads(&self) -> &[Duration] {
        self.leads.get(self.reported..).unwrap_or_default()
    }

    /// A mark for [`HandedUp::since`].
    #[inline]
    pub fn mark(&self) -> usize {
        self.all.len()
    }
}
