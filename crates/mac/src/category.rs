//! Parameters with which an access point and its stations contend, by access category.

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
        /// Slots after SIFS for which the channel must be idle: AIFS = SIFS + AIFSN slots. DIFS corresponds to 2.
        pub aifsn: u32 = 2, "at least 1 and at most 15" => |aifsn| (1..=15).contains(aifsn);
        /// TXOP limit: how long further frames may follow without contention; zero for one frame only.
        pub txop: Duration = Duration::ZERO;
        /// Number of frames that may follow each other without contention, whatever `txop` is.
        pub burst: u32 = 1, "at least 1" => |burst| *burst >= 1;
    }
}

impl Category {
    /// DCF with these contention windows.
    #[must_use]
    pub const fn dcf(cw_min: u32, cw_max: u32) -> Self {
        Self { cw_min, cw_max, aifsn: 2, txop: Duration::ZERO, burst: 1 }
    }

    /// These parameters with the station's own contention windows, if it has any and the category uses the channel's.
    #[must_use]
    pub fn with_windows(&self, cw_min: Option<u32>, cw_max: Option<u32>, channel: (u32, u32)) -> Self {
        if (self.cw_min, self.cw_max) != channel {
            return self.clone();
        }
        Self { cw_min: cw_min.unwrap_or(channel.0), cw_max: cw_max.unwrap_or(channel.1), ..self.clone() }
    }
}

choice! {
    /// Which packets have a category and queue of their own, with high priority.
    pub enum Prioritized {
        /// None.
        None = "none",
        /// TCP ACKs.
        Acks = "acks",
        /// UDP datagrams.
        Udp = "udp",
    }
}

impl Prioritized {
    /// Whether a packet belongs to the high-priority category.
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
    /// Category of all other packets.
    pub best_effort: Category,
    /// Category of high-priority packets.
    pub priority: Category,
}

/// Initial access parameters of the access point and its stations.
#[derive(Clone, Debug, PartialEq)]
pub struct AccessPlan {
    /// Which packets have high priority.
    pub prioritized: Prioritized,
    /// The access point.
    pub ap: Categories,
    /// Its stations.
    pub stations: Categories,
}
