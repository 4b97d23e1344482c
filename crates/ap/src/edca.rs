//! EDCA parameters: the access point gets priority over its stations, and TCP ACKs over everything.
//!
//! Source: D. Leith, P. Clifford, D. Malone and A. Ng, "TCP Fairness in 802.11e WLANs", IEEE Communications Letters 9
//! (11), 2005, known here from its summary in lee2007 and from later papers of the authors. ACKs of uploads get a
//! category with hardly any wait at the access point, which makes uploads fair among each other. Whenever the access
//! point wins access, it sends one packet for each download (TXOP), which makes uploads and downloads fair to each
//! other; AIFS and CWmin are tuning parameters.
//!
//! Our readings: ACKs have AIFSN 2 and a window of 3 to 7 slots on both sides; the stations' data has AIFSN 4. With
//! `burst_by_downloads` the access point may send as many frames in a row as there are downloads, counted by the flows
//! with data towards the air within `period`. All of this can be set, for instance to the parameters of the access
//! categories in the 802.11 standard.

use wifair_config::table;
use wifair_packet::{Kind, Packet};
use wifair_units::Duration;

use super::counter::FlowCounter;
use super::{Facts, PacketVerdict, Passage, Request, Scheme, Toward};
use wifair_mac::{AccessPlan, Categories, Category, Prioritized};

table! {
    /// EDCA parameters.
    pub struct Params {
        /// Which packets have a category of their own.
        pub first: Prioritized = Prioritized::Acks;
        /// That category at the access point.
        pub ap_first: Category = Category::dcf(3, 7);
        /// That category at the stations.
        pub stations_first: Category = Category::dcf(3, 7);
        /// Category of all other packets at the access point; if absent, with the channel's windows.
        pub ap: Option<Category> = None;
        /// Category of all other packets at the stations; if absent, with the channel's windows and AIFSN 4.
        pub stations: Option<Category> = None;
        /// Whether the access point may send as many frames in a row as there are downloads.
        pub burst_by_downloads: bool = true;
        /// A download counts as inactive after this time without packets.
        pub period: Duration = Duration::from_secs(5), "above 0 s" => |period| *period > Duration::ZERO;
    }
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub struct Edca {
    plan: AccessPlan,
    by_downloads: bool,
    downloads: FlowCounter,
    burst: u32,
}

impl Edca {
    /// The scheme of one access point.
    pub fn new(params: &Params, facts: &Facts<'_>) -> Self {
        let dcf = Category::dcf(facts.cw_min, facts.cw_max);
        let stations = params.stations.clone().unwrap_or(Category { aifsn: 4, ..dcf.clone() });
        let ap = params.ap.clone().unwrap_or(dcf);
        let burst = ap.burst;
        let plan = AccessPlan {
            prioritized: params.first,
            ap: Categories { best_effort: ap, priority: params.ap_first.clone() },
            stations: Categories { best_effort: stations, priority: params.stations_first.clone() },
        };
        Self { plan, by_downloads: params.burst_by_downloads, downloads: FlowCounter::new(params.period), burst }
    }
}

impl Scheme for Edca {
    fn pass(&mut self, at: &Passage, packet: &mut Packet, requests: &mut Vec<Request>) -> PacketVerdict {
        if self.by_downloads && at.toward == Toward::Air && packet.kind == Kind::Data {
            self.downloads.see(at.now, packet.flow);
            let burst = self.downloads.count().max(self.plan.ap.best_effort.burst);
            if burst != self.burst {
                self.burst = burst;
                requests.push(Request::Contend { ap: Category { burst, ..self.plan.ap.best_effort.clone() } });
            }
        }
        PacketVerdict::Forward
    }

    fn access(&self) -> Option<AccessPlan> {
        Some(self.plan.clone())
    }

    fn show(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("burst_frames", f64::from(self.burst));
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::SchemeBench;
    use super::*;

    #[test]
    fn the_burst_follows_the_number_of_downloads() {
        let mut bench = SchemeBench::new(|facts| Edca::new(&Params::default(), facts));
        let data = |flow| Packet { flow, payload: 1000, size: 1040, ..Packet::default() };
        for flow in [0, 1, 1, 2] {
            bench.pass(Toward::Air, 1, data(flow));
            bench.pass(Toward::Wired, 1, data(flow + 10));
        }
        let bursts = bench.requests.iter().filter_map(|request| match request {
            Request::Contend { ap } => Some(ap.burst),
            Request::Echo { .. } => None,
        });
        assert_eq!(bursts.collect::<Vec<_>>(), [2, 3]);
    }

    #[test]
    fn default_windows_are_those_of_the_channel() {
        let bench = SchemeBench::new(|facts| Edca::new(&Params::default(), facts));
        let plan = bench.scheme.access().expect("a plan");
        assert_eq!((plan.ap.best_effort.cw_min, plan.stations.best_effort.aifsn, plan.ap.priority.cw_max), (31, 4, 7));
    }
}
