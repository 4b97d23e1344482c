//! Access categories: the parameters by which an access point and its stations contend.

use wifair_config::{choice, table};
use wifair_packet::{Kind, Packet};
use wifair_units::Duration;

table! {
    /// Parameters of one access category (IEEE Std 802.11-2016, 10.22.2 and table 9-137).
    pub struct Category {
        /// CWmin, in slots.
        pub cw_min: u32 = 31, "at most 65535" => |cw| *cw <= 65_535;
        /// CWmax, in slots.
        pub cw_max: u32 = 1023, "at least cw_min, at most 65535" => |cw| (cw_min..=65_535).contains(cw);
        /// Slots after SIFS for which the medium must be idle: AIFS = SIFS + AIFSN slots. DIFS has 2.
        pub aifsn: u32 = 2, "at least 1 and at most 15" => |aifsn| (1..=15).contains(aifsn);
        /// For how long further frames may follow without contention. One frame only, if zero.
        pub txop: Duration = Duration::ZERO;
        /// How many frames may follow each other without contention, whatever `txop` says.
        pub burst: u32 = 1, "at least 1" => |burst| *burst >= 1;
    }
}

impl Category {
    /// The rules of DCF, with these windows.
    #[must_use]
    pub const fn dcf(cw_min: u32, cw_max: u32) -> Self {
        Self { cw_min, cw_max, aifsn: 2, txop: Duration::ZERO, burst: 1 }
    }

    /// With a station's own windows, where it has some and the category leaves those of the medium.
    #[must_use]
    pub fn with_windows(&self, cw_min: Option<u32>, cw_max: Option<u32>, channel: (u32, u32)) -> Self {
        if (self.cw_min, self.cw_max) != channel {
            return self.clone();
        }
        Self { cw_min: cw_min.unwrap_or(channel.0), cw_max: cw_max.unwrap_or(channel.1), ..self.clone() }
    }
}

choice! {
    /// Which packets have a category of their own, with a queue of their own, that goes before the other.
    pub enum First {
        /// None.
        None = "none",
        /// TCP ACKs.
        Acks = "acks",
        /// UDP datagrams.
        Udp = "udp",
    }
}

impl First {
    /// Whether a packet belongs to the category of its own.
    #[must_use]
    pub const fn takes(self, packet: &Packet) -> bool {
        match self {
            Self::None => false,
            Self::Acks => matches!(packet.kind, Kind::Ack),
            Self::Udp => matches!(packet.kind, Kind::Udp),
        }
    }
}

/// Categories of the access point, or of its stations.
#[derive(Clone, Debug, PartialEq)]
pub struct Categories {
    /// Packets that do not go first.
    pub ordinary: Category,
    /// Packets that go first.
    pub first: Category,
}

/// How the access point and its stations contend from the start.
#[derive(Clone, Debug, PartialEq)]
pub struct AccessPlan {
    /// Which packets have a category of their own.
    pub goes_first: First,
    /// The access point.
    pub ap: Categories,
    /// Its stations.
    pub stations: Categories,
}
