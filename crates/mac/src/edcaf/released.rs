//! Packets that leave a window: passed up at the recipient, or lost.

use wifair_packet::PacketId;
use wifair_units::Duration;

/// Packets that have left a window.
#[derive(Clone, Debug, Default)]
pub(crate) struct Released {
    /// Packets that the recipient passes up, with their receivers, in order.
    pub up: PassedUp,
    /// Packets lost at the retry limit.
    pub lost: Vec<PacketId>,
    /// Packets lost because their lifetime has ended.
    pub expired: Vec<PacketId>,
    /// Packets that arrive after the recipient has passed over them.
    pub late: Vec<PacketId>,
}

/// Packets with their receivers, in order, and the number of those already reported.
#[derive(Clone, Debug, Default)]
pub(crate) struct PassedUp {
    all: Vec<(u32, PacketId)>,
    reported: usize,
    /// How long before the end of the PPDU each packet was received, if MPDUs are passed up singly; otherwise zero or
    /// absent.
    leads: Vec<Duration>,
    /// The lead of the packet last taken.
    lead: Duration,
}

impl PassedUp {
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

    /// Sets the lead of each packet added since a mark.
    #[inline]
    pub fn set_leads(&mut self, mark: usize, leads: impl Iterator<Item = Duration>) {
        self.leads.resize(mark, Duration::ZERO);
        self.leads.extend(leads);
    }

    /// The packets added since a mark, if none was removed meanwhile, and their leads, if any.
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

    /// How long before the end of the PPDU each packet not yet reported was received; empty without leads.
    #[inline]
    pub fn rest_leads(&self) -> &[Duration] {
        self.leads.get(self.reported..).unwrap_or_default()
    }

    /// A mark for [`PassedUp::since`].
    #[inline]
    pub fn mark(&self) -> usize {
        self.all.len()
    }
}
