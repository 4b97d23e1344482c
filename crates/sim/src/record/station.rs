//! What a station counts, and its row of the results: a statistic is declared here, with its meaning and its value.

use wifair_mac::edcaf::{CategoryCounters, WidthCounters};
use wifair_mac::{AccessCategory, Counters};
use wifair_phy::ChannelWidth;
use wifair_queue::Cause;
use wifair_units::{Duration, counters};

use super::families::{categories, widths};
use super::{Each, row};

counters! {
    /// Counts of the queues of one station since the start of the run.
    pub(crate) struct QueueCounts {
        /// Packets dropped because the queue was full.
        pub(crate) overflow: u64,
        /// Packets dropped before the queue was full, by active queue management.
        pub(crate) early: u64,
        /// Packets dropped because their lifetime had ended, in the queue or between two attempts.
        pub(crate) expired: u64,
        /// Packets that arrived after their recipient had stopped waiting for them.
        pub(crate) late: u64,
        /// Packets marked instead of dropped (RFC 3168).
        pub(crate) marks: u64,
    }
}

counters! {
    /// Counts of one station since the start of the run.
    pub(crate) struct StationCounts {
        pub(crate) mac: Counters,
        /// Air time of the exchanges in which others sent to it.
        pub(crate) air_to: Duration,
        /// The same by category; zero without four access categories.
        pub(crate) air_to_by_category: [Duration; 4],
        /// Zero without four access categories.
        pub(crate) categories: [CategoryCounters; 4],
        /// What it sent by width: from 802.11n on, and on overlapping channels.
        pub(crate) widths: [WidthCounters; ChannelWidth::ALL.len()],
        /// Number of backoffs drawn again because a secondary channel was busy.
        pub(crate) held_back: u64,
        pub(crate) queue: QueueCounts,
    }
}

impl QueueCounts {
    pub(crate) fn count(&mut self, cause: Cause) {
        match cause {
            Cause::Overflow => self.overflow += 1,
            Cause::Early => self.early += 1,
            Cause::Expired => self.expired += 1,
            Cause::Late => self.late += 1,
        }
    }
}

impl StationCounts {
    fn sum(&self, part: fn(&CategoryCounters) -> u64) -> u64 {
        self.categories.iter().map(part).sum()
    }
}

row! {
    /// One station of a channel, access points included.
    pub struct StationOutcome of (name: String, counts: &StationCounts) {
        /// Name of the station.
        pub name: String = name,
        /// Attempts to send a frame.
        pub attempts: u64 = counts.mac.attempts,
        /// Frames acknowledged.
        pub delivered: u64 = counts.mac.delivered,
        /// Attempts that collided with another frame.
        pub collisions: u64 = counts.mac.collisions,
        /// Attempts without an answer because of an error.
        pub errors: u64 = counts.mac.errors,
        /// Data frames given up at a retry limit, each MPDU of an aggregate by itself.
        pub given_up: u64 = counts.mac.retry_limit_drops,
        /// Air time of its data frames that did not collide [s].
        pub air_data_s: f64 = counts.mac.data.nearest_secs(),
        /// Air time of the other frames in its exchanges that did not collide: RTS, CTS, ACKs and the like [s].
        pub air_control_s: f64 = counts.mac.control.nearest_secs(),
        /// Air time of the frames in its exchanges that collided: because of another frame nobody could read them [s].
        pub air_collided_s: f64 = counts.mac.collided.nearest_secs(),
        /// Air time of the exchanges in which others sent to it, failed attempts included [s]: its part of their
        /// `air_data_s`, `air_control_s` and `air_collided_s`.
        pub air_to_station_s: f64 = counts.air_to.nearest_secs(),
        /// Packets that its queues dropped because they were full.
        pub queue_drops_overflow: u64 = counts.queue.overflow,
        /// Packets that its queues dropped before they were full, by a discipline such as RED or CoDel.
        pub queue_drops_early: u64 = counts.queue.early,
        /// Packets whose lifetime ended (`aggregation.lifetime`), in its queues or between two attempts (802.11n and
        /// later).
        pub lifetime_drops: u64 = counts.queue.expired,
        /// Packets that reached their recipient after it had stopped waiting for them (`aggregation.reorder_timeout`).
        pub late_drops: u64 = counts.queue.late,
        /// Packets that its queues marked as having met congestion, instead of dropping them (RFC 3168).
        pub queue_marks: u64 = counts.queue.marks,
        /// Data PPDUs that it sent (802.11n and later).
        pub ppdus: u64 = counts.sum(|own| own.ppdus),
        /// MPDUs in them (802.11n and later).
        pub mpdus: u64 = counts.sum(|own| own.mpdus),
        /// MPDUs among these that had been sent before (802.11n and later).
        pub mpdu_retries: u64 = counts.sum(|own| own.retries),
        /// BlockAckReq frames that it sent (802.11n and later).
        pub block_ack_requests: u64 = counts.sum(|own| own.requests),
        /// Block ACKs addressed to it that it lost (802.11n and later).
        pub block_acks_lost: u64 = counts.sum(|own| own.block_acks_lost),
        /// Mean time for which packets from it waited at their receivers for earlier ones [s] (802.11n and later).
        pub reorder_delay_mean_s: f64 =
            counts.sum(|own| own.reorder_delay.as_nanos()) as f64 / 1e9 / counts.sum(|own| own.passed_up) as f64,
        /// Air time of its data of access category {} that did not collide [s] (802.11n and later).
        pub air_by_category: Each<f64, 4> as "air_{}_s" for categories =
            Each(AccessCategory::ALL.map(|category| counts.categories[category.index()].data_air.nearest_secs())),
        /// Data PPDUs that it sent in {} MHz (802.11n and later, and with `overlapping_channels`).
        pub ppdus_by_width: Each<u64, 5> as "ppdus_{}_mhz" for widths = Each(counts.widths.map(|own| own.ppdus)),
        /// Air time of its data PPDUs in {} MHz, whether they collided or not [s] (802.11n and later, and with
        /// `overlapping_channels`).
        pub air_by_width: Each<f64, 5> as "air_{}_mhz_s" for widths =
            Each(counts.widths.map(|own| own.air.nearest_secs())),
        /// How often it drew a new backoff because a secondary channel was busy, with `bandwidth = "static"`.
        pub held_back_by_secondary: u64 = counts.held_back,
        /// The part of `air_to_station_s` in exchanges of access category {} [s] (802.11n and later).
        pub air_to_by_category: Each<f64, 4> as "air_to_{}_s" for categories =
            Each(AccessCategory::ALL.map(|category| counts.air_to_by_category[category.index()].nearest_secs())),
    }
}
