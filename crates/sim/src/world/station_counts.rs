//! What stations count, access points included: frames, air time, and the drops and marks of their queues.

use wifair_mac::edcaf::{CategoryCounters, WidthCounters};
use wifair_mac::{Channel, Counters};
use wifair_phy::ChannelWidth;
use wifair_queue::Cause;
use wifair_units::{Count, Duration, counters};

use super::World;
use super::measure::Loss;
use super::plan::Hop;

counters! {
    /// Counts of the queues of one station since the start of the run.
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

counters! {
    /// Counts of one station since the start of the run.
    pub(super) struct StationCounts {
        pub(super) mac: Counters,
        /// Air time of the exchanges in which others sent to it.
        pub(super) air_to: Duration,
        /// The same by category; zero without four access categories.
        pub(super) air_to_by_category: [Duration; 4],
        /// Zero without four access categories.
        pub(super) categories: [CategoryCounters; 4],
        /// What it sent by width: from 802.11n on, and on overlapping channels.
        pub(super) widths: [WidthCounters; ChannelWidth::ALL.len()],
        /// Number of backoffs drawn again because a secondary channel was busy.
        pub(super) held_back: u64,
        pub(super) queue: QueueCounts,
    }
}

impl QueueCounts {
    fn count(&mut self, cause: Cause) {
        match cause {
            Cause::Overflow => self.overflow += 1,
            Cause::Early => self.early += 1,
            Cause::Expired => self.expired += 1,
            Cause::Late => self.late += 1,
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

    /// Counts the drop of a packet that was waiting at a station for `hop`. Routing announcements are not counted.
    pub(super) fn count_drop(&mut self, hop: Hop, cause: Cause) {
        if let Hop::Air { channel, from, .. } | Hop::NoPath { channel, from, .. } = hop
            && let Some(counts) = self.drops[usize::from(channel)].get_mut(from as usize)
        {
            counts.count(cause);
        }
    }

    /// The counts of each station of each channel since the start of the run.
    pub(super) fn station_counts(&self) -> Vec<Vec<StationCounts>> {
        let of_channel = |(channel, drops): (&Channel, &Vec<QueueCounts>)| {
            let (categories, channels) = (channel.category_counters(), channel.channel_counters());
            let has_categories = !categories.is_empty();
            let of_station = |(((number, mac), air_to), drops): (((u32, Counters), [Duration; 4]), &QueueCounts)| {
                let categories = categories.get(number as usize).copied().unwrap_or_default();
                let mut widths = categories.iter().fold(Default::default(), |sum, own| own.widths.plus(&sum));
                let on_channel = channels.get(number as usize);
                if let Some(counters) = on_channel {
                    widths = Default::default();
                    widths[..counters.widths.len()].copy_from_slice(&counters.widths);
                }
                StationCounts {
                    mac,
                    air_to: air_to.iter().fold(Duration::ZERO, |sum, part| sum + *part),
                    air_to_by_category: if has_categories { air_to } else { Default::default() },
                    categories,
                    widths,
                    held_back: on_channel.map_or(0, |counters| counters.held_back),
                    queue: QueueCounts { marks: channel.marks(number), ..*drops },
                }
            };
            (0..).zip(channel.all_counters()).zip(channel.air_to()).zip(drops).map(of_station).collect()
        };
        self.channels.iter().zip(&self.drops).map(of_channel).collect()
    }
}
