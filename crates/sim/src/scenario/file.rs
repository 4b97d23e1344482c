//! The keys of a scenario file.

use wifair_ap::ApSettings;
use wifair_config::{Limit, choice, is_legible, is_legible_text, table};
use wifair_mac::{AccessCategory, Dscp};
use wifair_phy::placement::Placement;
use wifair_phy::rate::Adaptation;
use wifair_phy::{Amendment, Outage, Radio};
use wifair_queue::QueueSettings;
use wifair_tcp::TcpSettings;
use wifair_units::{BitRate, Bytes, Db, Duration, Metres};

use super::device::{ApDevice, StationDevice};
use super::movement::Move;
use super::seeds::Seeds;
use super::signal_changes::SnrChange;
use super::sweep::Sweep;

use super::edca_keys::EdcaParameterSet;
use super::routing::Routing;
use super::space::{Mode, Space};
use super::wlan::{Wlan, windows};
use crate::traffic::Workload;

table! {
    /// A scenario. Values with a unit are strings: `"20 ms"`, `"11 Mb/s"`, `"64 kB"`, `"50 packets"`.
    pub struct ScenarioFile {
        /// Name used in results.
        pub name: String = "scenario".to_owned(), "without control characters" => |name| is_legible(name);
        /// Description of the scenario.
        pub description: String = String::new(), "without control characters" => |text| is_legible_text(text);
        /// Simulated time.
        pub duration: Duration, "above 0" => |duration| *duration > Duration::ZERO;
        /// Time at the start that is excluded from all results.
        pub warm_up: Duration = Duration::ZERO;
        /// Seeds, one run each: a number, a list, or a range as in `"1..10"`.
        pub seeds: Seeds = Seeds::default();
        /// Capacity `rho B`, whose equal shares are the reference of the instantaneous fairness index (jung2016,
        /// equation 1); if absent, the measured goodput.
        pub fair_share_base: Option<BitRate> = None, "above 0" => |base| base.is_none_or(|base| base.as_bps() > 0);
        /// The wireless network. Without it there are wired links only.
        pub wlan: Option<Wlan> = None;
        /// Positions, radios, and who hears whom. Without it every station hears every other one.
        pub space: Option<Space> = None;
        /// Multihop routing.
        pub routing: Routing = Routing::default();
        /// The access point; if absent in a wireless network, one with all defaults.
        pub ap: Option<Ap> = None;
        /// Groups of identical stations.
        pub stations: Vec<Stations> = Vec::new();
        /// Hosts on the wired side.
        pub servers: Vec<Servers> = Vec::new();
        /// Nodes that join wired links.
        pub routers: Vec<Router> = Vec::new();
        /// Wired links between servers, routers and the access point.
        pub links: Vec<Link> = Vec::new();
        /// TCP settings of all flows; a flow's own `tcp` has precedence.
        pub tcp: TcpSettings = TcpSettings::default();
        /// Groups of flows.
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

impl ScenarioFile {
    /// Whether stations forward packets for each other.
    pub fn is_ad_hoc(&self) -> bool {
        self.space.as_ref().is_some_and(|space| space.mode == Mode::AdHoc)
    }
}

table! {
    /// The access point, or a group of identical ones.
    pub struct Ap {
        /// Its name, used by flows and links. If there are several, this is the name of the group, and they are
        /// numbered: `ap1`, `ap2`, ...
        pub name: String = "ap".to_owned();
        /// Number of access points.
        pub count: u32 = 1, "from 1 to 10000" => |count| (1..=10_000).contains(count);
        /// Channel numbers, which the access points take in turn. Different channels do not interfere, unless
        /// `overlapping_channels` in `[space]` says otherwise: then these are the primary 20 MHz channels.
        pub channels: Vec<u32> = vec![1], "a list of at least one channel" => |channels| !channels.is_empty();
        /// Widths of these channels in MHz (802.11n and later), which the access points take in turn; with
        /// `overlapping_channels` in `[space]`. If absent, `width` of `[wlan]`.
        pub widths: Vec<u32> = Vec::new();
        /// The system whose queues it has: sets the defaults of `queue` (802.11n and later).
        pub device: Option<ApDevice> = None;
        /// Queue of packets for the air.
        pub queue: QueueSettings = ApDevice::queue(device), by device;
        /// Schemes applied to passing packets.
        pub scheme: ApSettings = ApSettings::default();
        /// Position in metres east and north, with `[space]`; of several access points, the position of the first,
        /// middle or corner, depending on `layout`.
        pub position: [Metres; 2] = [Metres(0.0); 2];
        /// Arrangement of several access points; if absent, all are at one place.
        pub layout: Option<Placement> = None;
        /// Its radio, if different from that of `[space]`.
        pub radio: Option<Radio> = None;
        /// Its minimum contention window, if different from that of `[wlan]`.
        pub cw_min: Option<u32> = None, "at most 65535" => |cw| cw.is_none_or(|cw| cw <= 65_535);
        /// Its maximum contention window, if different from that of `[wlan]`.
        pub cw_max: Option<u32> = None, "at most 65535" => |cw| cw.is_none_or(|cw| cw <= 65_535);
        /// Parameters of its access categories (802.11n and later), if different from those of `[wlan]`.
        pub edca: Option<EdcaParameterSet> = None;
        /// Whether each category has a queue per station, served in turn (802.11n and later). Then each of these queues
        /// has the capacity `queue.limit`. If absent: yes, except with the disciplines "fifo", "airtime" and
        /// "linux-wifi".
        pub queue_per_station: Option<bool> = None;
        /// Whether `queue.limit` is the capacity of the queues of all stations together, for each category (802.11n and
        /// later): then each station's queue has an equal part, as large as the queue that "fifo" and "airtime" have
        /// for all. mac80211 bounds its queues so.
        pub queue_limit_is_total: bool = false;
    }
    check(ap, at) {
        if let (Some(cw_min), Some(cw_max)) = (ap.cw_min, ap.cw_max) {
            windows(at, cw_min, cw_max);
        }
        if ap.widths.len() > ap.count as usize && at.is_meant_with("widths", "count") {
            let plural = if ap.count == 1 { "" } else { "s" };
            let message = format!("{} `widths` for {} access point{plural}", ap.widths.len(), ap.count);
            at.problem("widths", &message, "at most one for each");
        }
        ap.widths.truncate(ap.count as usize);
    }
}

table! {
    /// A group of stations that differ only in their number.
    pub struct Stations {
        /// Name of the group, used by flows. A single station has this name, several are numbered: `sta1`, `sta2`, ...
        pub name: String;
        /// Number of stations; 0 leaves the group and its flows out.
        pub count: u32 = 1, "from 0 to 100000" => |count| *count <= 100_000;
        /// Position in metres east and north, with `[space]`: that of the group's first, middle or corner, depending on
        /// `layout`.
        pub position: [Metres; 2] = [Metres(0.0); 2];
        /// Movements of the group with `[space]`, one after the other. A frame has the positions of its start.
        pub moves: Vec<Move> = Vec::new();
        /// Arrangement of the stations; if absent, all are at one place.
        pub layout: Option<Placement> = None;
        /// The access point of the group, if there are several. If absent, each station uses the one that it receives
        /// best, or without `[space]` they take them in turn.
        pub ap: Option<String> = None;
        /// Radio of each station, if different from that of `[space]`.
        pub radio: Option<Radio> = None;
        /// Standard of the stations, if older than that of the access point, which must be 802.11n or later: "802.11b"
        /// and "802.11g" in 2.4 GHz, "802.11a" in 5 GHz, or an older standard with MCSs.
        pub standard: Option<Amendment> = None;
        /// Whether they are 802.11b stations that cannot read OFDM frames, in an 802.11g network with `[space]`.
        pub dsss_only: bool = false;
        /// Rate adaptation of the stations, if different from that of `[wlan]`; with `[space]`, or 802.11n and later,
        /// beside which stations of 802.11a, b and g send at `data_rate`.
        pub rate_adaptation: Option<Adaptation> = None;
        /// Rate of data frames to and from each station, if different from that of `[wlan]`; 11 Mb/s for stations with
        /// `dsss_only` in 802.11g.
        pub data_rate: Option<BitRate> = None;
        /// MCS of data to and from each station (802.11n and later), if different from that of `[wlan]`.
        pub mcs: Option<u32> = None;
        /// Spatial streams of data from and to these stations (802.11ac and later), if different from those of
        /// `[wlan]`. They may be more: the access point has as many antennas as any of its stations needs.
        pub streams: Option<u32> = None;
        /// Width in MHz of PPDUs to and from each station (802.11n and later), if different from that of `[wlan]`.
        pub width: Option<u32> = None;
        /// Signal-to-noise ratio between each station and the access point, in 20 MHz with all power in one stream
        /// (802.11n and later). If absent, frames are lost only by collisions, `data_error` and `control_error`.
        pub snr: Option<Db> = None, "from -20 dB to 100 dB" => |snr| snr.is_none_or(|snr| (-20.0..=100.0).contains(&snr.0));
        /// Changes of that ratio, one after the other, as of stations that move, leave or come back. An exchange has
        /// the ratio of its start.
        pub snr_changes: Vec<SnrChange> = Vec::new();
        /// Parameters of the access categories (802.11n and later), if different from those of `[wlan]`.
        pub edca: Option<EdcaParameterSet> = None;
        /// Minimum contention window, if different from that of `[wlan]`.
        pub cw_min: Option<u32> = None, "at most 65535" => |cw| cw.is_none_or(|cw| cw <= 65_535);
        /// Maximum contention window, if different from that of `[wlan]`.
        pub cw_max: Option<u32> = None, "at most 65535" => |cw| cw.is_none_or(|cw| cw <= 65_535);
        /// Probability that a data frame from the station is lost, if different from that of `[wlan]`.
        pub data_error_up: Option<f64> = None, "from 0 to 1" => |p| p.is_none_or(|p| (0.0..=1.0).contains(&p));
        /// Probability that a data frame to the station is lost, if different from that of `[wlan]`.
        pub data_error_down: Option<f64> = None, "from 0 to 1" => |p| p.is_none_or(|p| (0.0..=1.0).contains(&p));
        /// Slow on/off fading of the link from the station: nothing that it sends is received while the link is down.
        /// A frame or an aggregate is lost unless the link is up for all of it. Needs `[space]`.
        pub outage_up: Option<Outage> = None;
        /// The same for the link to the station, with independent states.
        pub outage_down: Option<Outage> = None;
        /// The system that the stations are: sets the defaults of `queue`, and of `tcp.stack`, `tcp.gro` and
        /// `tcp.small_queue` of their flows (802.11n and later).
        pub device: Option<StationDevice> = None;
        /// Queue of packets for the air.
        pub queue: QueueSettings = StationDevice::queue(device), by device;
        /// Weight of each station where the access point shares out air time; 256 is usual.
        pub airtime_weight: Option<u32> = None, "from 1 to 65535" => |weight| weight.is_none_or(|w| (1..=65_535).contains(&w));
        /// Whether the weight is that of all active stations of the group together, as hostapd divides that of a BSS
        /// (`airtime_mode=2`).
        pub airtime_shared: Option<bool> = None;
    }
    check(stations, at) {
        let changes: Vec<_> = stations.snr_changes.iter().map(|change| (change.at, change.over)).collect();
        let moves: Vec<_> = stations.moves.iter().map(|one| (one.at, one.over)).collect();
        for (key, message, times) in [
            ("snr_changes", "two changes of the ratio overlap", changes),
            ("moves", "two movements overlap", moves),
        ] {
            for (index, pair) in times.windows(2).enumerate() {
                if pair[1].0 < pair[0].0 + pair[0].1 {
                    let note = "write them in order, each after the end of the one before";
                    at.problem(&format!("{key}[{}].at", index + 1), message, note);
                }
            }
        }
        if let (Some(cw_min), Some(cw_max)) = (stations.cw_min, stations.cw_max) {
            windows(at, cw_min, cw_max);
        }
    }
}

/// To Mars it is less than half an hour; a longer delay is probably a wrong unit.
const LONGEST_DELAY: Duration = Duration::from_secs(3600);

/// At this rate 64 B take half a nanosecond, which is below the resolution of simulated time.
const MOST_RATE: BitRate = BitRate::from_mbps(1_000_000);

table! {
    /// Hosts on the wired side, each with a link of its own.
    pub struct Servers {
        /// Name of the group, used by flows. A single server has this name, several are numbered: `server1`, `server2`,
        /// ...
        pub name: String;
        /// Number of servers.
        pub count: u32 = 1, "from 1 to 100000" => |count| (1..=100_000).contains(count);
        /// The node at the other end of the link. If absent, the access point, unless the server is named in
        /// `[[links]]`.
        pub at: Option<String> = None;
        /// Rate of the link.
        pub rate: BitRate = BitRate::from_mbps(100), "at most 1000 Gb/s" => |rate| *rate <= MOST_RATE;
        /// One-way delay of the link.
        pub delay: Duration = Duration::ZERO, "at most 1 h" => |delay| *delay <= LONGEST_DELAY;
        /// Queue of the link, at either end.
        pub queue: QueueSettings = QueueSettings { limit: Limit::Packets(1000), ..QueueSettings::default() };
    }
}

table! {
    /// A node that connects wired links.
    pub struct Router {
        /// Its name, used by links.
        pub name: String;
    }
}

table! {
    /// A wired link with the same properties in both directions.
    pub struct Link {
        /// One end.
        pub from: String;
        /// The other end.
        pub to: String;
        /// Rate.
        pub rate: BitRate, "at most 1000 Gb/s" => |rate| *rate <= MOST_RATE;
        /// Makes the link a token bucket of this size, filled at `rate`: while tokens last, packets leave without
        /// delay.
        pub burst: Option<Bytes> = None, "1 B or more" => |burst| burst.is_none_or(|burst| burst.0 > 0);
        /// One-way delay.
        pub delay: Duration = Duration::ZERO, "at most 1 h" => |delay| *delay <= LONGEST_DELAY;
        /// Queue of the link, at either end.
        pub queue: QueueSettings = QueueSettings::default();
    }
}

choice! {
    /// Direction of data between a station and a server.
    pub enum ServerDirection {
        /// From the station to the server.
        Up = "up",
        /// From the server to the station.
        Down = "down",
    }
}

table! {
    /// UDP settings.
    pub struct UdpSettings {
        /// Rate of the application's data, without headers.
        pub rate: BitRate, "at most 1000 Gb/s" => |rate| *rate <= MOST_RATE;
        /// Payload of a datagram.
        pub payload: Bytes = Bytes(1472), "from 1 B to 65507 B" => |size| (1..=65_507).contains(&size.0);
        /// UDP and IP headers of a datagram.
        pub header: Bytes = Bytes(28), "at most 1000 B" => |header| header.0 <= 1000;
        /// Jitter of the intervals between datagrams: each is drawn uniformly within this fraction around the mean.
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
    /// Transport protocol.
    pub enum Transport {
        /// A TCP connection.
        Tcp(TcpSettings) = "tcp" from "RFC 9293",
        /// Datagrams at a constant rate.
        Udp(UdpSettings) = "udp" from "RFC 768",
    }
}

table! {
    /// Flows of data that differ only in their ends.
    pub struct Flows {
        /// Name used in results. Several flows are numbered like their stations: `up1`, `up2`, ...
        pub name: String;
        /// The station, or a group of stations with one flow each.
        pub station: Option<String> = None;
        /// The server at the other end; if absent, the only one.
        pub server: Option<String> = None;
        /// Direction of data between station and server; if absent, up.
        pub direction: Option<ServerDirection> = None;
        /// Source of the data, a station or server; used with `to` instead of `station`, `server` and `direction`.
        pub from: Option<String> = None;
        /// Destination of the data.
        pub to: Option<String> = None;
        /// Number of flows between each pair of ends; 0 leaves the group out.
        pub count: u32 = 1, "from 0 to 100000" => |count| *count <= 100_000;
        /// Transport protocol.
        pub transport: Transport = Transport::Tcp(TcpSettings::default());
        /// Workload of the application.
        pub workload: Workload = Workload::Persistent;
        /// Access category of the packets (802.11n and later); if absent, that of `dscp`, or best effort.
        pub category: Option<AccessCategory> = None;
        /// Differentiated services code point of the packets: a number from 0 to 63, or a name: CS0 to CS7 (RFC 2474),
        /// AF11 to AF43 (RFC 2597), EF (RFC 3246), VA (VOICE-ADMIT, RFC 5865) or LE (RFC 8622). RFC 4594
        /// recommends code points for applications. `dscp_mapping` in `[wlan]` maps it to an access category (802.11n
        /// and later). What stations of an older `standard` send has none: they use DCF for all.
        pub dscp: Option<Dscp> = None;
        /// Start of the flow.
        pub start: Duration = Duration::ZERO;
        /// Random delay of the start: drawn uniformly between 0 and this time, and added to `start`.
        pub start_spread: Duration = Duration::ZERO;
        /// When the application stops; if absent, at the end of the run.
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
