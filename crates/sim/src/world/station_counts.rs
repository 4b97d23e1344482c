//! What stations count, access points included: frames, air time, and the drops and marks of their queues.

use wifair_mac::{Channel, Counters};
use wifair_queue::Cause;
use wifair_units::{Count, Duration};

use super::World;
use super::measure::Loss;
use super::plan::Hop;
use crate::record::{QueueCounts, StationCounts};

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
