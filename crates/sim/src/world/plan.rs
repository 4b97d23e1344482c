//! The plan of a world: names resolved, defaults filled in.

use wifair_ap::Schemes;
use wifair_engine::Stream;
use wifair_mac::edcaf::EdcaSettings;
use wifair_mac::{Access, ChannelSettings, Outages, RadioLinks, RateSettings, SignalSettings, StationSettings};
use wifair_packet::{BROADCAST, FlowLabel};
use wifair_queue::Queue;
use wifair_routing::dsdv;
use wifair_tcp::{ReceiverConfig, SenderConfig};
use wifair_units::{BitRate, Bytes, Duration, Time};

pub use crate::traffic::Direction;
use crate::traffic::{OnOff, Schedule, Web};

/// The next hop of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hop {
    /// Over the air.
    Air {
        /// Index of the channel.
        channel: u16,
        /// The sending station, by its number in the channel.
        from: u32,
        /// The receiving station.
        to: u32,
    },
    /// Over the air, but the station currently has no route. Packets already in its queue are still sent.
    NoPath {
        /// Index of the channel.
        channel: u16,
        /// The station that would send.
        from: u32,
        /// The previous next hop.
        to: u32,
    },
    /// Over a wired link, by its index.
    Wired(u32),
    /// The packet has arrived.
    End,
}

impl Hop {
    /// The station that receives the packet of this hop; [`BROADCAST`] if the hop is not over the air.
    #[must_use]
    pub const fn receiver(self) -> u32 {
        match self {
            Self::Air { to, .. } | Self::NoPath { to, .. } => to,
            Self::Wired(_) | Self::End => BROADCAST,
        }
    }

    /// The same hop in the opposite direction; the two directions of a wired link have consecutive numbers.
    #[must_use]
    pub const fn reversed(self) -> Self {
        match self {
            Self::Air { channel, from, to } => Self::Air { channel, from: to, to: from },
            Self::NoPath { channel, from, to } => Self::NoPath { channel, from: to, to: from },
            Self::Wired(link) => Self::Wired(link ^ 1),
            Self::End => Self::End,
        }
    }
}

/// A channel and its stations.
#[derive(Debug)]
pub struct ChannelPlan {
    /// The access points, by their numbers in the channel.
    pub aps: Vec<u32>,
    /// Radio links and signal settings of the spatial channel; if absent, every station hears every other one.
    pub space: Option<(RadioLinks, SignalSettings)>,
    /// The channel of each station, if channels overlap; only with `space`.
    pub overlapping: Option<ChannelSettings>,
    /// Whether bystanders also lose frames with the given error probability; only with `space`.
    pub errors_for_all: bool,
    /// Rate adaptation of each station; empty if all rates are fixed. Only with `space`.
    pub rates: Vec<RateSettings>,
    /// Outages of the links from and to each station; empty if there are none. Only with `space`.
    pub outages: Vec<Outages>,
    /// All stations, including access points.
    pub stations: StationsPlan,
    /// The schemes of each access point.
    pub schemes: Vec<Schemes>,
}

/// How the stations of a channel access it.
#[derive(Debug)]
pub enum StationsPlan {
    /// By plain DCF with these rules.
    Dcf(Access, Vec<StationSettings>),
    /// With access categories.
    Edca(EdcaSettings),
}

/// Dynamic routing between the stations of a channel. The plan of a flow between two stations has a single hop between
/// the ends of the flow.
#[derive(Clone, Debug)]
pub struct RoutingPlan {
    /// Index of the channel.
    pub channel: u16,
    /// Parameters of DSDV.
    pub params: dsdv::Params,
    /// The random stream of each station of the channel.
    pub draws: Vec<Stream>,
}

/// One direction of a wired link.
#[derive(Debug)]
pub struct WiredLinkPlan {
    /// Rate; `None` sends instantly.
    pub rate: Option<BitRate>,
    /// Size of the token bucket, in bytes that an idle link sends at once; `None` if the link has no bucket.
    pub burst: Option<Bytes>,
    /// Propagation delay.
    pub delay: Duration,
    /// The queue of the link.
    pub queue: Queue,
}

/// The transport of the data.
#[derive(Clone, Debug)]
pub enum TransportPlan {
    /// TCP.
    Tcp {
        /// The data sender.
        sender: Box<SenderConfig>,
        /// The data receiver.
        receiver: ReceiverConfig,
    },
    /// UDP datagrams of one size at a constant rate.
    Udp {
        /// Payload of a datagram, in bytes.
        payload: u16,
        /// The IP packet, in bytes.
        size: u16,
        /// Interval between datagrams.
        interval: Duration,
        /// Each interval is uniformly distributed around `interval`, within plus or minus this fraction of it (0 to 1).
        jitter: f64,
    },
    /// Echo requests, each answered at once.
    Ping {
        /// Data in a request and in its reply, in bytes.
        payload: u16,
        /// Interval between requests.
        interval: Duration,
    },
}

/// The workload of the application.
#[derive(Clone, Debug, PartialEq)]
pub enum WorkloadPlan {
    /// None: packets of real programs are injected by [`super::World::inject`] and removed by
    /// [`super::World::collect`].
    Outside,
    /// Endless data.
    Endless,
    /// One transfer, then the connection is closed.
    Transfer(Bytes),
    /// Sessions.
    Sessions {
        /// Scheduled start and length of each session, in order.
        list: Schedule,
        /// Whether each session has a connection of its own; otherwise one connection carries all sessions, with pauses
        /// between them.
        fresh: bool,
    },
    /// Users who view web pages.
    Web(Web),
    /// Bursts of datagrams, with pauses between.
    Bursts(OnOff),
}

impl WorkloadPlan {
    /// Whether each session has a connection of its own. Then the order of events matters: packets leave the
    /// simulation, users react to objects, and connection numbers are reused.
    pub(super) fn opens_fresh_connections(&self) -> bool {
        matches!(self, Self::Sessions { fresh: true, .. } | Self::Web(_) | Self::Outside)
    }
}

/// The path that begins at `start`, with its end.
pub(super) fn path_from(hops: &[Hop], start: u32) -> &[Hop] {
    let path = &hops[start as usize..];
    let end = path.iter().position(|hop| *hop == Hop::End).expect("a path ends somewhere");
    &path[..=end]
}

/// One flow of data.
#[derive(Clone, Debug)]
pub struct FlowPlan {
    /// Its name, which also names its random streams.
    pub name: String,
    /// The path of the data.
    pub forward: Vec<Hop>,
    /// The path of the ACKs.
    pub reverse: Vec<Hop>,
    /// The transport of the data.
    pub transport: TransportPlan,
    /// The workload of the application.
    pub workload: WorkloadPlan,
    /// What the headers of its packets say besides: its hosts, its code point.
    pub label: FlowLabel,
    /// Index of its packets' access category, from 0 for the highest priority.
    pub category: usize,
    /// When it begins.
    pub start: Time,
    /// When the application stops; [`Time::NEVER`] if it does not.
    pub stop: Time,
}

/// A whole world.
#[derive(Debug)]
pub struct WorldPlan {
    /// Seed of all random streams.
    pub seed: u64,
    /// End of the warm-up, at which the measurement begins.
    pub warm_up: Time,
    /// The channels.
    pub channels: Vec<ChannelPlan>,
    /// The directions of wired links.
    pub links: Vec<WiredLinkPlan>,
    /// Dynamic routing; `None` if paths are fixed.
    pub routing: Option<RoutingPlan>,
    /// The flows.
    pub flows: Vec<FlowPlan>,
    /// The sampling interval of time series, if any are recorded.
    pub sample_every: Option<Duration>,
    /// Whether to use shortcuts; they do not change results.
    pub fast_paths: bool,
}
