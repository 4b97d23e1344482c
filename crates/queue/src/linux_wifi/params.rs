//! The keys of a Linux device with Wi-Fi, and what its radio is told about stations.

use wifair_config::{choice, table};
use wifair_units::{BitRate, Bytes, Duration};

use crate::cake::AckFilter;
use crate::codel::CeThresholdOn;

choice! {
    /// What waits above the driver.
    pub enum UpperQueue {
        /// mac80211's lines with CoDel, for all stations and categories together.
        Mac80211 = "mac80211" from "Linux 4.8 and later, net/mac80211/tx.c",
        /// A FIFO for each category (`pfifo`), above the queues of the driver.
        Pfifo = "pfifo" from "Linux before 4.8, net/sched/sch_generic.c",
        /// FQ-CoDel for each category, above the queues of the driver.
        FqCodel = "fq-codel" from "Linux before 4.8, net/sched/sch_fq_codel.c",
    }
}

choice! {
    /// What bounds the packets in the driver and the card.
    pub enum WifiDriver {
        /// Their air time (AQL).
        Aql = "aql" from "ath10k, mt76; Linux 5.5 and later",
        /// The number of aggregates.
        Aggregates = "aggregates" from "ath9k, xmit.c",
    }
}

choice! {
    /// Where a station with new packets joins the rounds.
    pub enum SparseStations {
        /// First, so that it is served at once.
        First = "first" from "Høiland-Jørgensen et al., 2017, section 3.2; mac80211",
        /// Last.
        Last = "last",
    }
}

/// Whether it is a time above zero.
fn is_positive(time: &Duration) -> bool {
    *time > Duration::ZERO
}

table! {
    /// A Linux device.
    pub struct Params {
        /// What waits above the driver.
        pub upper: UpperQueue = UpperQueue::Mac80211;
        /// Lines to which flows are hashed, for the whole radio.
        pub lines: u32 = 4096, "at least 1 and at most 65536" => |lines| (1..=65_536).contains(lines);
        /// Bytes granted to a line at each visit.
        pub flow_quantum: Bytes = Bytes(300), "at least 256 B and at most 1 MB" => |q| (256..=1_000_000).contains(&q.0);
        /// Memory for waiting packets, as Linux counts it (2304 B for a full one). If absent, at an access point or
        /// station with a `device`: 16 MiB from 802.11ac on, else 4 MiB; otherwise there is no limit besides `limit`.
        pub memory: Option<Bytes> = None, "at least 10 kB" => |memory| memory.is_none_or(|m| m.0 >= 10_000);
        /// Acceptable time in a line.
        pub target: Duration = Duration::from_millis(20), "above 0 s" => is_positive;
        /// How long the target must be exceeded before packets are dropped.
        pub interval: Duration = Duration::from_millis(100), "above 0 s" => is_positive;
        /// Whether ECN-capable packets are marked instead of dropped.
        pub ecn: bool = true;
        /// ECN-capable packets that have waited longer are marked, too; 0 s for none.
        pub ce_threshold: Duration = Duration::ZERO;
        /// Which packets that threshold is for.
        pub ce_threshold_on: CeThresholdOn = CeThresholdOn::Ect1;
        /// Whether lines of slow stations, below 6 Mb/s times the number of stations, have a target of 50 ms and an
        /// interval of 300 ms and do not mark, as in Linux 4.14 to 6.14.
        pub slow_stations: bool = false;
        /// Whether stations share the air time; otherwise they take turns.
        pub airtime_fairness: bool = true;
        /// Air time granted to a station of weight 256 in each round.
        pub airtime_quantum: Duration = Duration::from_micros(256), "at least 8 us" => |q| *q >= Duration::from_micros(8);
        /// Whether frames from a station count too.
        pub count_received: bool = true;
        /// Where a station with new packets joins the rounds.
        pub sparse_stations: SparseStations = SparseStations::First;
        /// What bounds the packets in the driver and the card.
        pub driver: WifiDriver = WifiDriver::Aql;
        /// AQL: expected air time that a station may always have in the driver, in each category.
        pub aql_low: Duration = Duration::from_millis(5), "above 0 s" => is_positive;
        /// AQL: what it may have while the radio has less than `aql_threshold` there.
        pub aql_high: Duration = Duration::from_millis(12), "at least `aql_low`" => |high| *high >= aql_low;
        /// AQL: the expected air time of the whole radio from which on `aql_low` applies.
        pub aql_threshold: Duration = Duration::from_millis(24), "above 0 s" => is_positive;
        /// Aggregates that the driver keeps, counting that on the air.
        pub driver_aggregates: u32 = 2, "from 1 to 64" => |count| (1..=64).contains(count);
        /// The most packets in such an aggregate.
        pub aggregate_packets: u32 = 32, "from 1 to 1024" => |count| (1..=1024).contains(count);
        /// The longest expected air time of such an aggregate.
        pub aggregate_time: Duration = Duration::from_millis(4), "above 0 s" => is_positive;
        /// The most packets of a category in the driver, with a discipline above it.
        pub driver_frames: u32 = 123, "from 1 to 100000" => |frames| (1..=100_000).contains(frames);
        /// Whether a pure ACK in a line is dropped that a later one makes superfluous, as the drivers of phones do.
        pub ack_filter: AckFilter = AckFilter::Off;
    }
}

impl Params {
    /// The usual values, with a driver that drops superfluous ACKs.
    #[must_use]
    pub fn thinning_acks() -> Self {
        Self { ack_filter: AckFilter::Aggressive, ..Self::default() }
    }
}

/// A station's share of the air time, and what is known of it at the start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WifiPeer {
    /// Rate of its data.
    pub rate: Option<BitRate>,
    /// Its weight; 256 is usual.
    pub weight: u32,
    /// With a group the weight is that of all active stations of the group together.
    pub group: Option<u32>,
}
