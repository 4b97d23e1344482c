//! What a world is built from: every name resolved, every default filled in.

use wifair_ap::Schemes;
use wifair_engine::Stream;
use wifair_mac::edcaf::{Aggregation, CategorySettings, Classifier, LinkSettings, SlotRules};
use wifair_mac::{Access, Outages, RadioLinks, RateSettings, SignalSettings, StationSettings};
use wifair_packet::BROADCAST;
use wifair_phy::{Band, TxMode};
use wifair_queue::Queue;
use wifair_routing::dsdv;
use wifair_tcp::{ReceiverConfig, SenderConfig};
use wifair_units::{BitRate, Bytes, Duration, Time};

pub use crate::traffic::Direction;
use crate::traffic::{OnOff, Schedule, Web};

/// The next step of a packet's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hop {
    /// Over the air.
    Air {
        /// Index of the medium.
        channel: u16,
        /// The station that sends, by its number in the medium.
        from: u32,
        /// The station that receives.
        to: u32,
    },
    /// Over the air, but the station knows no way at present. What is in its queue already goes on.
    NoPath {
        /// Index of the medium.
        channel: u16,
        /// The station that would send.
        from: u32,
        /// The station that received last.
        to: u32,
    },
    /// Over a wired link, by its index.
    Wired(u32),
    /// It has arrived.
    End,
}

impl Hop {
    /// The station that receives what makes the hop, [`BROADCAST`] where it is not over the air.
    #[must_use]
    pub const fn receiver(self) -> u32 {
        match self {
            Self::Air { to, .. } | Self::NoPath { to, .. } => to,
            Self::Wired(_) | Self::End => BROADCAST,
        }
    }

    /// The same hop in the other direction; the directions of a wire are numbered one after the other.
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

/// A medium and its stations.
#[derive(Debug)]
pub struct ChannelPlan {
    /// Rules of access.
    pub access: Access,
    /// The access points, by their numbers in the medium.
    pub aps: Vec<u32>,
    /// Who hears whom and how well; everybody everybody, if absent.
    pub space: Option<(RadioLinks, SignalSettings)>,
    /// Whether bystanders lose frames to a given error probability as well; only with `space`.
    pub errors_for_all: bool,
    /// How each station chooses its rates; empty if none does. Only with `space`.
    pub rates: Vec<RateSettings>,
    /// Outages of the links from and to each station; empty if there are none. Only with `space`.
    pub outages: Vec<Outages>,
    /// All stations, the access point among them.
    pub stations: Vec<StationSettings>,
    /// Access categories, where stations do not contend by DCF.
    pub categories: Option<CategoriesPlan>,
    /// What each access point does to packets that pass.
    pub schemes: Vec<Schemes>,
}

/// Access categories of the stations of a channel.
#[derive(Debug)]
pub struct CategoriesPlan {
    /// What decides the category of a packet.
    pub classifier: Classifier,
    /// When contenders count slots.
    pub slot_rules: SlotRules,
    /// Rules of aggregation, if frames are aggregated.
    pub aggregation: Option<Aggregation>,
    /// One entry a station.
    pub stations: Vec<StationCategories>,
}

/// Access categories of one station.
#[derive(Debug)]
pub struct StationCategories {
    /// Transmit mode of data to and from the station and its band, from HT on.
    pub mode: Option<(TxMode, Band)>,
    /// What else decides how the station sends and is reached.
    pub link: LinkSettings,
    /// Rules for aggregates to and from the station, if there are any.
    pub aggregation: Option<Aggregation>,
    /// It is from before HT among stations that are not.
    pub is_legacy: bool,
    /// What goes first comes first.
    pub categories: Vec<CategorySettings>,
}

/// Routing by announcements between the stations of a medium. Flows between two of them have a single hop, whose ends
/// are those of the flow.
#[derive(Clone, Debug)]
pub struct RoutingPlan {
    /// Index of the medium.
    pub channel: u16,
    /// Rules.
    pub params: dsdv::Params,
    /// Draws of each station of the medium.
    pub draws: Vec<Stream>,
}

/// One direction of a wired link.
#[derive(Debug)]
pub struct WiredLinkPlan {
    /// Rate; `None` sends in no time.
    pub rate: Option<BitRate>,
    /// Bytes that leave at once when the link was idle, if it is a token bucket.
    pub burst: Option<Bytes>,
    /// Propagation delay.
    pub delay: Duration,
    /// Packets that wait for the link.
    pub queue: Queue,
}

/// What carries the data.
#[derive(Clone, Debug)]
pub enum Transport {
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
        /// Time from one datagram to the next.
        interval: Duration,
        /// Each interval is drawn uniformly within this fraction of itself around its mean, from 0 to 1.
        jitter: f64,
    },
    /// Echo requests, each answered at once.
    Ping {
        /// Data in a request and in its reply, in bytes.
        payload: u16,
        /// Time from one request to the next.
        interval: Duration,
    },
}

/// What the application does.
#[derive(Clone, Debug, PartialEq)]
pub enum Workload {
    /// None: packets of real programs are put in by [`super::World::put_in`] and taken out by
    /// [`super::World::take_out`].
    Outside,
    /// Data without end.
    Endless,
    /// One transfer, then the connection is closed.
    Transfer(Bytes),
    /// Sessions.
    Sessions {
        /// Scheduled start and length of each, in order.
        list: Schedule,
        /// Whether each has a connection of its own, or all are carried by one that pauses.
        fresh: bool,
    },
    /// Users who look at web pages.
    Web(Web),
    /// Bursts of datagrams, with pauses between.
    Bursts(OnOff),
}

/// One flow of data.
#[derive(Clone, Debug)]
pub struct FlowPlan {
    /// Its name, which also names its random streams.
    pub name: String,
    /// Which way its data goes.
    pub direction: Direction,
    /// The data's way.
    pub forward: Vec<Hop>,
    /// The ACKs' way.
    pub reverse: Vec<Hop>,
    /// What carries the data.
    pub transport: Transport,
    /// What the application does.
    pub workload: Workload,
    /// The place of its packets' access category, from 0 for the one that goes first.
    pub category: usize,
    /// When it begins.
    pub start: Time,
    /// When the application falls silent, if ever.
    pub stop: Time,
}

/// A whole world.
#[derive(Debug)]
pub struct Plan {
    /// Seed of all random streams.
    pub seed: u64,
    /// Measurement begins here.
    pub warm_up: Time,
    /// Air.
    pub channels: Vec<ChannelPlan>,
    /// Wires.
    pub links: Vec<WiredLinkPlan>,
    /// Routing by announcements, where ways are not laid out once.
    pub routing: Option<RoutingPlan>,
    /// Data.
    pub flows: Vec<FlowPlan>,
    /// How often state is sampled for time series, if at all.
    pub sample_every: Option<Duration>,
    /// Whether shortcuts are taken that change no result.
    pub fast_paths: bool,
}
