//! Drops, with their causes, and marks of the queues of stations, access points and wired links.

use wifair_mac::Channel;
use wifair_queue::Cause;
use wifair_units::counters;

use super::World;
use super::measure::Loss;
use super::plan::Hop;
use super::wired_link::WiredLink;

counters! {
    /// Counts of one queue since the start of the run.
    pub(super) struct QueueCounts {
        /// Packets dropped because the queue was full.
        pub(super) overflow: u64,
        /// Packets dropped before the queue was full, by active queue management.
        pub(super) early: u64,
        /// Packets dropped because their lifetime had ended, in the queue or between two attempts.
        pub(super) expired: u64,
        /// Packets that arrived after their recipient had stopped waiting for them.
        pub(super) late: u64,
        /// Packets marked instead of dropped (RFC 3168).
        pub(super) marks: u64,
    }
}

/// The counts of the queues of all stations of each channel, and of all link directions.
#[derive(Clone, Debug, Default)]
pub(super) struct AllQueueCounts {
    pub(super) stations: Vec<Vec<QueueCounts>>,
    pub(super) links: Vec<QueueCounts>,
}

impl AllQueueCounts {
    /// Zero counts for channels with these numbers of stations, and for `links` link directions.
    pub(super) fn new(stations: impl Iterator<Item = usize>, links: usize) -> Self {
        let stations = stations.map(|count| vec![QueueCounts::default(); count]).collect();
        Self { stations, links: vec![QueueCounts::default(); links] }
    }

    /// The counts of the queue in which packets wait for `hop`; `None` for routing announcements, which are not counted
    /// here.
    fn of(&mut self, hop: Hop) -> Option<&mut QueueCounts> {
        match hop {
            Hop::Air { channel, from, .. } | Hop::NoPath { channel, from, .. } => {
                self.stations[usize::from(channel)].get_mut(from as usize)
            }
            Hop::Wired(link) => self.links.get_mut(link as usize),
            Hop::End => None,
        }
    }

    /// Counts the drop of a packet that was waiting for `hop`.
    pub(super) fn count(&mut self, hop: Hop, cause: Cause) {
        let Some(counts) = self.of(hop) else { return };
        match cause {
            Cause::Overflow => counts.overflow += 1,
            Cause::Early => counts.early += 1,
            Cause::Expired => counts.expired += 1,
            Cause::Late => counts.late += 1,
        }
    }
}

impl World {
    /// The kind of queue in which packets wait for `hop`.
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

    /// Drops and marks of all queues since the start of the run.
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
