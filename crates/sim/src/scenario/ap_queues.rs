//! How many queues an access point has, and what each of them holds.

use wifair_config::Limit;
use wifair_queue::{Chosen, QueueSettings};
use wifair_units::Bytes;

use super::Scenario;

/// The queues of an access category at the access point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApQueues {
    /// Their number: one for each station, or one for all.
    pub count: usize,
    /// The capacity of each.
    pub limit: Limit,
}

impl ApQueues {
    /// The capacity of all together.
    pub fn total(&self) -> Limit {
        let count = self.count as u64;
        match self.limit {
            Limit::Packets(packets) => Limit::Packets(packets.saturating_mul(count)),
            Limit::Bytes(bytes) => Limit::Bytes(Bytes(bytes.0.saturating_mul(count))),
        }
    }
}

impl Scenario {
    /// Whether each category of an access point has a queue for each station.
    pub fn has_queue_per_station(&self) -> bool {
        let ap = self.ap();
        let one_for_all = matches!(ap.queue.discipline, Chosen::Fifo(_) | Chosen::Airtime(_) | Chosen::LinuxWifi(_));
        let has_categories = self.file.wlan.as_ref().is_some_and(|wlan| wlan.standard.has_mcs());
        has_categories && ap.queue_per_station.unwrap_or(!one_for_all)
    }

    /// The settings of each of the queues that an access point has for so many stations.
    pub fn ap_queue_each_of(&self, stations: usize) -> QueueSettings {
        let ap = self.ap();
        let parts = if ap.queue_limit_is_total { (stations as u64).max(1) } else { 1 };
        let limit = match ap.queue.limit {
            Limit::Packets(packets) => Limit::Packets((packets / parts).max(1)),
            Limit::Bytes(bytes) => Limit::Bytes(Bytes((bytes.0 / parts).max(1))),
        };
        QueueSettings { limit, ..ap.queue.clone() }
    }

    /// The queues of a category at the access point; nothing without access point, or with several.
    pub fn ap_queues(&self) -> Option<ApQueues> {
        let stations = self.network.stations.len();
        let is_single = self.file.wlan.is_some() && self.network.aps.len() == 1;
        is_single.then(|| match self.has_queue_per_station() {
            true => ApQueues { count: stations, limit: self.ap_queue_each_of(stations).limit },
            false => ApQueues { count: 1, limit: self.ap().queue.limit },
        })
    }
}
