//! The keys of a scenario file.

use wifair_ap as scheme;
use wifair_config::{Limit, choice, table};
use wifair_phy::placement::Placement;
use wifair_phy::rate::Adaptation;
use wifair_phy::{Outage, Radio};
use wifair_queue as queue;
use wifair_tcp as tcp;
use wifair_units::{BitRate, Bytes, Db, Duration, Metres};

use super::seeds::Seeds;
use super::sweep::Sweep;

use super::high_throughput::{Edca, FlowCategory};
use super::routing::Routing;
use super::space::Space;
use super::wlan::{Standard, Wlan, windows};
use crate::traffic::Workload;

table! {
    /// A scenario. Values with a unit are strings: `"20 ms"`, `"11 Mb/s"`, `"64 kB"`, `"50 packets"`.
    pub struct File {
        /// What it is called in results.
        pub name: String = "scenario".to_owned(), "without control characters" => |name| !name.chars().any(char::is_control);
        /// What it is about.
        pub description: String = String::new();
        /// Simulated time.
        pub duration: Duration, "above 0" => |duration| *duration > Duration::ZERO;
        /// Time at the start that no figure counts.
        pub warm_up: Duration = Duration::ZERO;
        /// Seeds, one run each: a number, a list, or a range as in `"1..10"`.
        pub seeds: Seeds = Seeds::default();
        /// Capacity `rho B` whose equal shares the index of instantaneous fairness compares with (jung2016, equation
        /// 1); if absent the goodput that the run measures.
        pub fair_share_base: Option<BitRate> = None, "above 0" => |base| base.is_none_or(|base| base.as_bps() > 0);
        /// The air. Without it there are wires only.
        pub wlan: Option<Wlan> = None;
        /// Positions, radios, and who hears whom. Without it everybody hears everybody.
        pub space: Option<Space> = None;
        /// Ways over several hops.
        pub routing: Routing = Routing::default();
        /// The access point; if absent, and there is air, one with all defaults.
        pub ap: Option<Ap> = None;
        /// Groups of equal stations.
        pub stations: Vec<Stations> = Vec::new();
        /// Hosts on the wired side.
        pub servers: Vec<Servers> = Vec::new();
        /// Nodes that join wired links.
        pub routers: Vec<Router> = Vec::new();
        /// Wired links between servers, routers and the access point.
        pub links: Vec<Link> = Vec::new();
        /// TCP of all flows; a flow's own `tcp` goes before.
        pub tcp: tcp::Settings = tcp::Settings::default();
        /// Flows of data.
        pub flows: Vec<Flows> = Vec::new();
        /// What `wifair sweep` varies.
        pub sweep: Sweep = Sweep::default();
    }
    check(file, at) {
        if file.warm_up >= file.duration {
            at.clash(
                "`warm_up` leaves nothing to measure",
                &[("warm_up", "not below `duration`"), ("duration", "the whole run")],
            );
        }
    }
}

table! {
    /// The access point, or a group of equal ones.
    pub struct Ap {
        /// What flows and links call it. If there are several this is the group, and they are numbered: `ap1`, `ap2`,
        /// ...
        pub name: String = "ap".to_owned();
        /// How many.
        pub count: u32 = 1, "from 1 to 10000" => |count| (1..=10_000).contains(count);
        /// Channels, which the access points take in turn. What is on one channel is not heard on another.
        pub channels: Vec<u32> = vec![1], "at least one" => |channels| !channels.is_empty();
        /// Packets that wait for the air.
        pub queue: queue::Settings = queue::Settings::default();
        /// What it does to packets that pass.
        pub scheme: scheme::Settings = scheme::Settings::default();
        /// Where it is: metres east and north, with `[space]`; if there are several, of the first, middle or corner, as
        /// `layout` says.
        pub position: [Metres; 2] = [Metres(0.0); 2];
        /// How several lie; all at one place, if absent.
        pub layout: Option<Placement> = None;
        /// Its radio, if not that of `[space]`.
        pub radio: Option<Radio> = None;
        /// Its least contention window, if not that of `[wlan]`.
        pub cw_min: Option<u32> = None, "at most 65535" => |cw| cw.is_none_or(|cw| cw <= 65_535);
        /// Its greatest contention window, if not that of `[wlan]`.
        pub cw_max: Option<u32> = None, "at most 65535" => |cw| cw.is_none_or(|cw| cw <= 65_535);
        /// Parameters of its access categories from 802.11n on, if not those of `[wlan]`.
        pub edca: Option<Edca> = None;
        /// Whether each category has a queue for each station, from 802.11n on, and stations take turns; if absent with
        /// every discipline but "fifo" and "airtime".
        pub queue_per_station: Option<bool> = None;
    }
    check(ap, at) {
        if let (Some(cw_min), Some(cw_max)) = (ap.cw_min, ap.cw_max) {
            windows(at, cw_min, cw_max);
        }
    }
}

table! {
    /// A group of stations that have all in common but their number.
    pub struct Stations {
        /// What flows call the group. A group of one has this name, others are numbered: `sta1`, `sta2`, ...
        pub name: String;
        /// How many; none leaves the group and its flows out.
        pub count: u32 = 1, "from 0 to 100000" => |count| *count <= 100_000;
        /// Where they are, with `[space]`: metres east and north of the group's first, middle or corner, as `layout`
        /// says.
        pub position: [Metres; 2] = [Metres(0.0); 2];
        /// How they lie; all at one place, if absent.
        pub layout: Option<Placement> = None;
        /// The access point of all, where there are several. If absent each has the one that it receives best, or
        /// without `[space]` they take them in turn.
        pub ap: Option<String> = None;
        /// Radio of each, if not that of `[space]`.
        pub radio: Option<Radio> = None;
        /// Their standard, if it is older than that of the access point, from 802.11n on: "802.11b" and "802.11g"
        /// in 2.4 GHz, "802.11a" in 5 GHz, or an older one with MCSs.
        pub standard: Option<Standard> = None;
        /// Whether they are of 802.11b and cannot read OFDM frames, in an 802.11g network with `[space]`.
        pub dsss_only: bool = false;
        /// How they choose their rates, if not as `[wlan]` says; with `[space]`, or from 802.11n on.
        pub rate_adaptation: Option<Adaptation> = None;
        /// Rate of data frames from and to each, if not that of `[wlan]`, or 11 Mb/s if they are `dsss_only` in
        /// 802.11g.
        pub data_rate: Option<BitRate> = None;
        /// MCS of data from and to each, from 802.11n on, if not that of `[wlan]`.
        pub mcs: Option<u32> = None;
        /// Spatial streams, from 802.11ac on, if not those of `[wlan]`.
        pub streams: Option<u32> = None;
        /// Width of PPDUs from and to each in MHz, from 802.11n on, if not that of `[wlan]`.
        pub width: Option<u32> = None;
        /// Signal over noise between each and the access point, in 20 MHz with all power in one stream, from 802.11n
        /// on. If absent frames are lost by collisions, `data_error` and `control_error` alone.
        pub snr: Option<Db> = None, "from -20 dB to 100 dB" => |snr| snr.is_none_or(|snr| (-20.0..=100.0).contains(&snr.0));
        /// Parameters of its access categories from 802.11n on, if not those of `[wlan]`.
        pub edca: Option<Edca> = None;
        /// Least contention window, if not that of `[wlan]`.
        pub cw_min: Option<u32> = None, "at most 65535" => |cw| cw.is_none_or(|cw| cw <= 65_535);
        /// Greatest contention window, if not that of `[wlan]`.
        pub cw_max: Option<u32> = None, "at most 65535" => |cw| cw.is_none_or(|cw| cw <= 65_535);
        /// Probability that a data frame from the station is not received, if not that of `[wlan]`.
        pub data_error_up: Option<f64> = None, "from 0 to 1" => |p| p.is_none_or(|p| (0.0..=1.0).contains(&p));
        /// Probability that a data frame to the station is not received, if not that of `[wlan]`.
        pub data_error_down: Option<f64> = None, "from 0 to 1" => |p| p.is_none_or(|p| (0.0..=1.0).contains(&p));
        /// Slow on/off fading of the link from the station: nothing that it sends is received while the link is down;
        /// with `[space]`.
        pub outage_up: Option<Outage> = None;
        /// The same of the link to the station, with states of its own.
        pub outage_down: Option<Outage> = None;
        /// Packets that wait for the air.
        pub queue: queue::Settings = queue::Settings::default();
    }
    check(stations, at) {
        if let (Some(cw_min), Some(cw_max)) = (stations.cw_min, stations.cw_max) {
            windows(at, cw_min, cw_max);
        }
    }
}

/// At this rate 64 B take half a nanosecond, which is below the resolution of simulated time.
const MOST_RATE: BitRate = BitRate::from_mbps(1_000_000);

table! {
    /// Hosts on the wired side, each with a link of its own to the rest.
    pub struct Servers {
        /// What flows call the group. A group of one has this name, others are numbered: `server1`, `server2`, ...
        pub name: String;
        /// How many.
        pub count: u32 = 1, "from 1 to 100000" => |count| (1..=100_000).contains(count);
        /// What the link joins it to. If absent the access point, unless the server is named in `[[links]]`.
        pub at: Option<String> = None;
        /// Rate of the link.
        pub rate: BitRate = BitRate::from_mbps(100), "at most 1 Tb/s" => |rate| *rate <= MOST_RATE;
        /// Delay of the link, one way.
        pub delay: Duration = Duration::ZERO;
        /// Packets that wait for the link, at either end.
        pub queue: queue::Settings = queue::Settings { limit: Limit::Packets(1000), ..queue::Settings::default() };
    }
}

table! {
    /// A node that joins wired links.
    pub struct Router {
        /// What links call it.
        pub name: String;
    }
}

table! {
    /// A wired link, the same in both directions.
    pub struct Link {
        /// One end.
        pub from: String;
        /// The other end.
        pub to: String;
        /// Rate.
        pub rate: BitRate, "at most 1 Tb/s" => |rate| *rate <= MOST_RATE;
        /// Makes the link a token bucket of this size, which fills at `rate`: packets leave in no time while it lasts.
        pub burst: Option<Bytes> = None, "1 B or more" => |burst| burst.is_none_or(|burst| burst.0 > 0);
        /// Delay, one way.
        pub delay: Duration = Duration::ZERO;
        /// Packets that wait for the link, at either end.
        pub queue: queue::Settings = queue::Settings::default();
    }
}

choice! {
    /// Which way data goes between a station and a server.
    pub enum Direction {
        /// From the station to the server.
        Up = "up",
        /// From the server to the station.
        Down = "down",
    }
}

table! {
    /// UDP.
    pub struct Udp {
        /// Rate of the application's data, headers not counted.
        pub rate: BitRate, "at most 1 Tb/s" => |rate| *rate <= MOST_RATE;
        /// Data in a datagram.
        pub payload: Bytes = Bytes(1472), "from 1 B to 65507 B" => |size| (1..=65_507).contains(&size.0);
        /// UDP and IP header of a datagram.
        pub header: Bytes = Bytes(28), "at most 1000 B" => |header| header.0 <= 1000;
        /// Each interval between datagrams is drawn uniformly from within this fraction of itself around the mean.
        pub jitter: f64 = 0.0, "from 0 to 1" => |jitter| (0.0..=1.0).contains(jitter);
    }
    check(udp, at) {
        let size = udp.payload + udp.header;
        if size.0 > u64::from(u16::MAX) {
            let notes = [udp.payload.to_string(), format!("{} of headers", udp.header)];
            at.clash("a datagram above 65535 B", &[("payload", &notes[0]), ("header", &notes[1])]);
        }
    }
}

choice! {
    /// What carries the data.
    pub enum Transport {
        /// A TCP connection.
        Tcp(tcp::Settings) = "tcp" from "RFC 9293",
        /// Datagrams at a constant rate.
        Udp(Udp) = "udp" from "RFC 768",
    }
}

table! {
    /// Flows of data that have all in common but their ends.
    pub struct Flows {
        /// What results call it. If it stands for several flows they are numbered as the stations are: `up1`, `up2`,
        /// ...
        pub name: String;
        /// The station, or the group of stations with a flow for each.
        pub station: Option<String> = None;
        /// The server at the other end; if absent the only one.
        pub server: Option<String> = None;
        /// Which way data goes between station and server; if absent up.
        pub direction: Option<Direction> = None;
        /// Where data comes from, a station or server: with `to` instead of `station`, `server` and `direction`.
        pub from: Option<String> = None;
        /// Where data goes to.
        pub to: Option<String> = None;
        /// Flows between each pair of ends; none leaves the group out.
        pub count: u32 = 1, "from 0 to 100000" => |count| *count <= 100_000;
        /// What carries the data.
        pub transport: Transport = Transport::Tcp(tcp::Settings::default());
        /// What the application does.
        pub workload: Workload = Workload::Persistent;
        /// Access category of its packets, from 802.11n on; if absent that of `dscp`, or best effort.
        pub category: Option<FlowCategory> = None;
        /// Differentiated services code point of its packets, 0 to 63, from which `dscp_mapping` in `[wlan]` derives
        /// the access category, from 802.11n on.
        pub dscp: Option<u8> = None, "from 0 to 63" => |dscp| dscp.is_none_or(|dscp| dscp < 64);
        /// When the flow begins.
        pub start: Duration = Duration::ZERO;
        /// The start is drawn uniformly from so long a time after `start`.
        pub start_spread: Duration = Duration::ZERO;
        /// When the application falls silent; if absent at the end of the run.
        pub stop: Option<Duration> = None;
    }
    check(flow, at) {
        if let Some(stop) = flow.stop {
            let (first, last) = (flow.start, flow.start + flow.start_spread);
            if stop <= first {
                let begin = format!("the flow begins at {first}");
                at.clash("`stop` is not after `start`", &[("stop", "too early"), ("start", &begin)]);
            } else if stop < last {
                let last = format!("it may begin as late as {last}");
                at.clash("`stop` may come before the start", &[("stop", "too early"), ("start_spread", &last)]);
            }
        }
        let ends = ["station", "server", "direction"].into_iter().find(|key| at.has(key));
        match (ends, at.has("from"), at.has("to")) {
            (None, true, true) => {}
            (_, false, false) if at.has("station") => {}
            (Some(key), true, _) => at.clash(
                &format!("`{key}` and `from` exclude each other"),
                &[("from", "either `from` and `to`"), (key, "or `station` and `server`")],
            ),
            (Some(key), _, true) => at.clash(
                &format!("`{key}` and `to` exclude each other"),
                &[("to", "either `from` and `to`"), (key, "or `station` and `server`")],
            ),
            (None, true, false) => at.problem("from", "`from` without `to`", "write to = \"...\" too"),
            (None, false, true) => at.problem("to", "`to` without `from`", "write from = \"...\" too"),
            _ => at.problem("name", "the flow has no ends", "write station = \"...\", or from and to"),
        }
        if let Transport::Udp(_) = flow.transport
            && !matches!(flow.workload, Workload::Persistent | Workload::OnOff(_))
        {
            let what = format!("workload is \"{}\"", flow.workload);
            at.clash(
                "UDP carries persistent and on-off workloads only",
                &[("workload", &what), ("transport", "udp here")],
            );
        }
        if flow.category.is_some() && flow.dscp.is_some() {
            let notes = [("category", "either this"), ("dscp", "or this")];
            at.clash("`category` and `dscp` exclude each other", &notes);
        }
        if let (Transport::Tcp(_), Workload::OnOff(_)) = (&flow.transport, &flow.workload) {
            at.problem("workload", "\"on-off\" needs UDP", "write transport = \"udp\"");
        }
    }
}
