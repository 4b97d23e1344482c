//! What the queues of stations, access points and wired links dropped and marked, and why.

use wifair_mac::Channel;
use wifair_queue::Cause;

use super::World;
use super::measure::Loss;
use super::plan::Hop;
use super::wired_link::WiredLink;

/// What one queue did, since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct QueueCounts {
    /// Packets dropped because the queue was full.
    pub(super) overflow: u64,
    /// Packets dropped ahead of congestion, by an active discipline.
    pub(super) early: u64,
    /// Packets marked instead (RFC 3168).
    pub(super) marks: u64,
}

impl QueueCounts {
    /// What has been counted since `earlier`.
    pub(super) fn since(self, earlier: Self) -> Self {
        Self {
            overflow: self.overflow - earlier.overflow,
            early: self.early - earlier.early,
            marks: self.marks - earlier.marks,
        }
    }
}

/// The queues of all stations of each channel, and those of all directions of links.
#[derive(Clone, Debug, Default)]
pub(super) struct AllQueueCounts {
    pub(super) stations: Vec<Vec<QueueCounts>>,
    pub(super) links: Vec<QueueCounts>,
}

impl AllQueueCounts {
    /// Zero for channels of so many stations each, and so many links.
    pub(super) fn new(stations: impl Iterator<Item = usize>, links: usize) -> Self {
        let stations = stations.map(|count| vec![QueueCounts::default(); count]).collect();
        Self { stations, links: vec![QueueCounts::default(); links] }
    }

    /// The queue in which packets wait that are to make `hop`; none for announcements, which have no row of their own.
    fn of(&mut self, hop: Hop) -> Option<&mut QueueCounts> {
        match hop {
            Hop::Air { channel, from, .. } | Hop::NoPath { channel, from, .. } => {
                self.stations[usize::from(channel)].get_mut(from as usize)
            }
            Hop::Wired(link) => self.links.get_mut(link as usize),
            Hop::End => None,
        }
    }

    /// A packet that was to make `hop` was dropped.
    pub(super) fn count(&mut self, hop: Hop, cause: Cause) {
        let Some(counts) = self.of(hop) else { return };
        match cause {
            Cause::Overflow => counts.overflow += 1,
            Cause::Early => counts.early += 1,
        }
    }
}

impl World {
    /// In whose queue packets wait that are to make `hop`.
    pub(super) fn queue_of(&self, hop: Hop) -> Loss {
        match hop {
            Hop::Air { channel, from, .. } | Hop::NoPath { channel, from, .. }
                if !self.aps[usize::from(channel)].contains(&from) =>
            {
                Loss::StationQueue
            }
            Hop::Air { .. } | Hop::NoPath { .. } => Loss::ApQueue,
            Hop::Wired(_) | Hop::End => Loss::LinkQueue,
        }
    }

    /// What all queues have dropped and marked so far.
    pub(super) fn all_queue_counts(&self) -> AllQueueCounts {
        let mut counts = self.queue_counts.clone();
        for (channel, stations) in self.channels.iter().zip(&mut counts.stations) {
            for (station, counts) in (0..).zip(stations) {
                counts.marks = Channel::marks(channel, station);
            }
        }
        for (link, counts) in self.links.iter().zip(&mut counts.links) {
            counts.marks = WiredLink::marks(link);
        }
        counts
    }
}
