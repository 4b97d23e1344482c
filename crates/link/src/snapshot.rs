//! What has happened so far, for assertions.

use std::time::Duration;

use wifair_sim::record::Outcome;

/// The network up to now. Figures of the air count from the end of the scenario's `warm_up`.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// When it was taken.
    pub time: Duration,
    /// Datagrams offered.
    pub offered: u64,
    /// Datagrams that arrived.
    pub delivered: u64,
    /// Datagrams that were lost.
    pub lost: u64,
    /// Datagrams that a queue marked with "congestion experienced".
    pub marked: u64,
    /// Part of the time in which the channel was idle.
    pub air_idle: f64,
    /// Part of the time that collisions took.
    pub air_collision: f64,
    /// Packets in the queue of the access point, averaged over time.
    pub ap_queue_mean_packets: f64,
    /// Access points and stations.
    pub stations: Vec<StationSnapshot>,
}

/// An access point or a station.
#[derive(Clone, Debug, PartialEq)]
pub struct StationSnapshot {
    /// Its name in the scenario; `ap` is the access point.
    pub name: String,
    /// Frame exchanges begun.
    pub attempts: u64,
    /// MPDUs sent again.
    pub retries: u64,
    /// Frames given up.
    pub given_up: u64,
    /// Packets that its queue dropped, because it was full or early.
    pub queue_drops: u64,
    /// Time on the air as a sender of data, control frames and frames that collided.
    pub air_time: Duration,
}

impl Snapshot {
    /// The station with this name.
    #[must_use]
    pub fn station(&self, name: &str) -> Option<&StationSnapshot> {
        self.stations.iter().find(|station| station.name == name)
    }
}

pub(crate) fn stations(outcome: &Outcome) -> Vec<StationSnapshot> {
    let seconds = |time: f64| Duration::from_secs_f64(time.max(0.0));
    let stations = outcome.stations.iter().map(|station| StationSnapshot {
        name: station.name.clone(),
        attempts: station.attempts,
        retries: station.mpdu_retries,
        given_up: station.given_up,
        queue_drops: station.queue_drops_overflow + station.queue_drops_early,
        air_time: seconds(station.air_data_s + station.air_control_s + station.air_collided_s),
    });
    stations.collect()
}
