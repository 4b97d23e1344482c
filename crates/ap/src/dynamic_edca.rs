//! Dynamic contention windows for EDCA: real-time traffic has priority, and the access point's window for all other
//! traffic follows the number of flows.
//!
//! Source: B. A. H. S. Abeysekera, T. Matsuda and T. Takine, "Dynamic Contention Window Control Scheme in IEEE 802.11e
//! Wireless LANs", 2010, known here from its abstract: the minimum contention window of the access point's best-effort
//! category is determined from the number of TCP flows, so that uplink and downlink TCP flows get the same, while
//! real-time traffic has windows of its own that meet its needs.
//!
//! Our readings: each TCP flow, whatever its direction, takes as much of the access point's queue as of one station's,
//! for its data or its ACKs. So with n flows seen within `period`, the window is that of [`super::dynamic_cw`] for n.
//! Real-time traffic is UDP, with AIFSN 2 and a window of 7 to 15 slots on both sides, which are the values of AC_VO
//! for a CWmin of 31 (table 9-137). The best-effort window does not fall below `floor`, 7, so that real-time traffic
//! keeps its priority.

use wifair_config::table;
use wifair_packet::{Kind, Packet};
use wifair_units::Duration;

use super::dynamic_cw::SharedWindow;
use super::{Facts, PacketVerdict, Passage, Request, Scheme};
use wifair_mac::{AccessPlan, Categories, Category, Prioritized};

table! {
    /// Dynamic contention windows by type of traffic.
    pub struct Params {
        /// Smallest CWmin of best-effort traffic.
        pub floor: u32 = 7;
        /// Access category of real-time traffic, on both sides.
        pub real_time: Category = Category::dcf(7, 15);
        /// A flow counts as inactive after this time without packets.
        pub period: Duration = Duration::from_secs(5), "above 0 s" => |period| *period > Duration::ZERO;
    }
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub struct DynamicEdca {
    real_time: Category,
    window: SharedWindow,
}

impl DynamicEdca {
    /// The scheme of one access point.
    pub fn new(params: &Params, facts: &Facts<'_>) -> Self {
        let station = Category { aifsn: 3, ..Category::dcf(facts.cw_min, facts.cw_max) };
        Self { real_time: params.real_time.clone(), window: SharedWindow::new(station, params.floor, params.period) }
    }
}

impl Scheme for DynamicEdca {
    fn pass(&mut self, at: &Passage, packet: &mut Packet, requests: &mut Vec<Request>) -> PacketVerdict {
        if matches!(packet.kind, Kind::Data | Kind::Ack) {
            self.window.see(at.now, packet.flow, requests);
        }
        PacketVerdict::Forward
    }

    fn access(&self) -> Option<AccessPlan> {
        let categories = Categories { best_effort: self.window.station.clone(), priority: self.real_time.clone() };
        Some(AccessPlan { prioritized: Prioritized::Udp, ap: categories.clone(), stations: categories })
    }

    fn show(&self, see: &mut dyn FnMut(&'static str, f64)) {
        self.window.show("n", see);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::SchemeBench;
    use super::*;

    /// Two uploads and a download are three flows: 31 / 3 = 10.3; six flows would give 5.2, but the floor is 7.
    #[test]
    fn all_tcp_flows_count() {
        let mut bench = SchemeBench::new(|facts| DynamicEdca::new(&Params::default(), facts));
        bench.data(0, 0);
        bench.data(1, 0);
        bench.ack(2, 1000);
        assert_eq!(bench.shown("cw_min_slots"), 10.0);
        (3..6).for_each(|flow| bench.data(flow, 0));
        assert_eq!(bench.shown("cw_min_slots"), 7.0);
        assert_eq!(bench.scheme.access().map(|plan| plan.prioritized), Some(Prioritized::Udp));
    }
}
