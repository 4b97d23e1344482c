//! A Linux device with Wi-Fi as a whole: what waits above the driver, who is served next, what the driver holds.
//!
//! Source: Linux 6.12, `net/mac80211/tx.c`, `include/net/fq_impl.h`; for the devices before that, T. Høiland-Jørgensen,
//! M. Kazior, D. Täht, P. Hurtig and A. Brunstrom, "Ending the Anomaly: Achieving Low Latency and Airtime Fairness in
//! WiFi", USENIX ATC 2017, sections 2 and 3.
//!
//! *Above the driver* is mac80211's flow queueing, or a queue discipline (`upper`). In mac80211 the flows of all
//! stations and categories are hashed to the lines of the whole radio; a flow whose line is in use by another station
//! or category goes to a line that its own station and category has for such flows. Each line runs CoDel, which drops
//! nothing while the line holds nothing else. When the radio holds more packets or memory than it may, the first packet
//! of the line with most bytes is dropped, whosever it is. Before 2016 a discipline per category stood there, and the
//! driver had queues of its own for its stations, `driver_frames` in all.
//!
//! *Who is served next* is decided in rounds, by what air time each station has used. A station whose deficit is
//! negative gets its quantum and goes to the end; one with new packets joins first. *How much the driver may hold* is
//! limited by its expected air time (AQL: 5 ms a station and category always, 12 ms while the radio has less than 24
//! ms), or by a number of aggregates.
//!
//! Departures: lines are found by the number and direction of a flow instead of addresses; a station has one queue a
//! category (Linux has one a TID); received air time is charged in each category of the receiver; what is handed to the
//! card stays in the order in which it was handed down.

mod aql;
mod driver;
mod params;
mod radio;
mod rounds;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, PoisonError};

use wifair_packet::{Packet, PacketId, Packets};
use wifair_units::{BitRate, Time};

pub use self::params::{Params, SparseStations, UpperQueue, WifiDriver, WifiPeer};
use self::radio::WifiRadio;
use super::{AirUse, Discipline, Dropped, Queue, QueueSettings, Site};

/// One category of a radio. See the [module](self).
#[derive(Debug)]
pub struct LinuxWifi {
    radio: Arc<Mutex<WifiRadio>>,
    category: usize,
}

impl LinuxWifi {
    /// A radio with one category.
    pub fn new(params: &Params, site: &Site<'_>) -> Self {
        Self { radio: Arc::new(Mutex::new(WifiRadio::new(params, site, 1, &[]))), category: 0 }
    }

    /// The queues of a radio with so many categories, highest priority first, if `settings` describe one; `peers` are
    /// all stations by number.
    pub fn categories(
        settings: &QueueSettings,
        rate: Option<BitRate>,
        seed: u64,
        name: &str,
        count: usize,
        peers: &[WifiPeer],
    ) -> Option<Vec<Queue>> {
        let super::Chosen::LinuxWifi(params) = &settings.discipline else { return None };
        let site = Site { limit: settings.limit, mark_above: settings.mark_above, rate, seed, name };
        let radio = Arc::new(Mutex::new(WifiRadio::new(params, &site, count, peers)));
        let handle = |category| Self { radio: Arc::clone(&radio), category };
        Some((0..count).map(|category| Queue::LinuxWifi(Box::new(handle(category)))).collect())
    }

    /// The radio; only one thread at a time runs a world, so nobody else holds it.
    fn radio(&self) -> std::sync::MutexGuard<'_, WifiRadio> {
        self.radio.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Discipline for LinuxWifi {
    fn enqueue(&mut self, now: Time, id: PacketId, to: u32, packets: &mut Packets, dropped: &mut Dropped) {
        self.radio().enqueue(now, self.category, id, to, packets, dropped);
    }

    fn dequeue(&mut self, now: Time, packets: &mut Packets, dropped: &mut Dropped) -> Option<PacketId> {
        self.radio().dequeue(now, self.category, packets, dropped)
    }

    fn dequeue_for(
        &mut self,
        _now: Time,
        to: u32,
        _room: u64,
        _is_to: &dyn Fn(&Packet) -> bool,
        _packets: &mut Packets,
        _dropped: &mut Dropped,
    ) -> Option<PacketId> {
        self.radio().dequeue_for(self.category, to)
    }

    fn len(&self) -> usize {
        self.radio().len(self.category)
    }

    fn is_full(&self) -> bool {
        self.radio().is_full(self.category)
    }

    fn marks(&self) -> u64 {
        self.radio().marks(self.category)
    }

    fn wants_air_use(&self) -> bool {
        true
    }

    fn on_air(&mut self, now: Time, used: &AirUse) {
        self.radio().on_air(now, self.category, used);
    }

    fn show(&self, see: &mut dyn FnMut(&'static str, f64)) {
        let radio = self.radio();
        see("stations", radio.stations_in_turn(self.category) as f64);
        see("pending_s", radio.pending_s());
    }
}
