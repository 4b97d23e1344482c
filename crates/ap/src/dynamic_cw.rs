//! Dynamic contention window: the access point's CWmin shrinks with the number of downloads.
//!
//! Source: B. A. H. S. Abeysekera, T. Matsuda and T. Takine, "Dynamic Contention Window Control to Achieve Fairness
//! Between Uplink and Downlink Flows in IEEE 802.11 WLANs", WCNC 2007, known here from its abstract: the access point's
//! minimum contention window follows from the number of downlink flows alone, so that each of them gets as much of the
//! channel as an upload. Stations are unchanged.
//!
//! Our reading: a station that never collides waits CWmin / 2 idle slots on average between two frames. To send n_d
//! times as often as a station, the access point uses
//!
//! ```text
//! CWmin of the access point = max(CWmin / n_d, floor)                                        [slots]
//! ```
//!
//! rounded to the nearest slot, where n_d is the number of flows seen towards the air within `period`: data and
//! datagrams, and with `count_acks` the ACKs of uploads as well. CWmax is unchanged.

use wifair_config::table;
use wifair_packet::{Kind, Packet};
use wifair_units::{Duration, Time};

use super::counter::FlowCounter;
use super::{Facts, PacketVerdict, Passage, Request, Scheme, Toward};
use wifair_mac::{AccessPlan, Categories, Category, Prioritized};

table! {
    /// Dynamic contention window of the access point.
    pub struct Params {
        /// Smallest CWmin.
        pub floor: u32 = 1;
        /// Whether the ACKs of an upload count as a downlink flow.
        pub count_acks: bool = false;
        /// A flow counts as inactive after this time without packets.
        pub period: Duration = Duration::from_secs(5), "above 0 s" => |period| *period > Duration::ZERO;
    }
}

/// CWmin with which one contender sends as often as `n` with `cw_min`.
fn window_for(n: u32, cw_min: u32, floor: u32) -> u32 {
    let n = n.max(1);
    ((cw_min + n / 2) / n).max(floor).min(cw_min)
}

/// The access point's CWmin, which shrinks with the number of active flows.
#[derive(Clone, Debug)]
pub struct SharedWindow {
    /// The category of the stations.
    pub station: Category,
    floor: u32,
    flows: FlowCounter,
    cw_min: u32,
}

impl SharedWindow {
    /// Starts with the window of a station; the window never falls below `floor`, and a flow counts for `period`.
    pub fn new(station: Category, floor: u32, period: Duration) -> Self {
        Self { cw_min: station.cw_min, station, floor, flows: FlowCounter::new(period) }
    }

    /// Handles a packet of a flow that counts; requests a new window if the number of flows has changed it.
    pub fn see(&mut self, now: Time, flow: u32, requests: &mut Vec<Request>) {
        self.flows.see(now, flow);
        let cw_min = window_for(self.flows.count(), self.station.cw_min, self.floor);
        if cw_min != self.cw_min {
            self.cw_min = cw_min;
            requests.push(Request::Contend { ap: Category { cw_min, ..self.station.clone() } });
        }
    }

    /// Reports the number of flows as `name`, and the window.
    pub fn show(&self, name: &'static str, see: &mut dyn FnMut(&'static str, f64)) {
        see(name, f64::from(self.flows.count()));
        see("cw_min_slots", f64::from(self.cw_min));
    }
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub struct DynamicCw {
    count_acks: bool,
    window: SharedWindow,
}

impl DynamicCw {
    /// The scheme of one access point.
    pub fn new(params: &Params, facts: &Facts<'_>) -> Self {
        Self {
            count_acks: params.count_acks,
            window: SharedWindow::new(Category::dcf(facts.cw_min, facts.cw_max), params.floor, params.period),
        }
    }
}

impl Scheme for DynamicCw {
    fn pass(&mut self, at: &Passage, packet: &mut Packet, requests: &mut Vec<Request>) -> PacketVerdict {
        let counts = match packet.kind {
            Kind::Data | Kind::Udp => true,
            Kind::Ack => self.count_acks,
            Kind::Routing | Kind::Icmp => false,
        };
        if counts && at.toward == Toward::Air {
            self.window.see(at.now, packet.flow, requests);
        }
        PacketVerdict::Forward
    }

    fn access(&self) -> Option<AccessPlan> {
        let station = &self.window.station;
        let categories = Categories { best_effort: station.clone(), priority: station.clone() };
        Some(AccessPlan { prioritized: Prioritized::None, ap: categories.clone(), stations: categories })
    }

    fn show(&self, see: &mut dyn FnMut(&'static str, f64)) {
        self.window.show("n_down", see);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::SchemeBench;
    use super::*;

    /// 31 / n: 31, 15.5, 10.3, 7.75, 6.2, 3.1 (n = 10), 1.8 (n = 17), 0.3 (n = 100).
    #[test]
    fn windows_match_hand_computed_values() {
        let windows = [1, 2, 3, 4, 5, 10, 17, 100].map(|n| window_for(n, 31, 1));
        assert_eq!(windows, [31, 16, 10, 8, 6, 3, 2, 1]);
    }

    #[test]
    fn the_window_follows_the_downloads() {
        let mut bench = SchemeBench::new(|facts| DynamicCw::new(&Params::default(), facts));
        let data = |flow| Packet { flow, payload: 1000, size: 1040, ..Packet::default() };
        for flow in 0..3 {
            bench.pass(Toward::Air, 1, data(flow));
            bench.ack(flow + 10, 1000);
            bench.data(flow + 20, 0);
        }
        assert_eq!(bench.shown("cw_min_slots"), 10.0);
        bench.wait(Duration::from_secs(5));
        bench.pass(Toward::Air, 1, data(0));
        assert_eq!((bench.shown("cw_min_slots"), bench.requests.len()), (31.0, 3));
    }
}
