//! The keys of `[space]`.
//!
//! Without `[space]` every node hears every other one. With it the channel is [`wifair_mac::SpatialChannel`]: positions
//! and radios determine received powers, which determine who hears whom, and so which nodes are hidden or exposed.

use wifair_config::{choice, table};
use wifair_phy::propagation::{Fading, Propagation, TwoRay};
use wifair_phy::{Radio, Reception};
use wifair_units::{Db, Dbm};

use super::wlan::Profile;

choice! {
    /// Which nodes forward packets.
    pub enum Mode {
        /// The access point forwards packets to and from every station.
        Infrastructure = "infrastructure",
        /// Stations forward packets for each other, along the path with the fewest hops.
        AdHoc = "ad-hoc",
    }
}

table! {
    /// Properties of the radio path between two nodes or groups that do not follow from their positions.
    pub struct Path {
        /// The sender.
        pub from: String;
        /// The receiver.
        pub to: String;
        /// Gain of the path without antennas, replacing the one computed from the distance.
        pub gain: Option<Db> = None, "0 dB or less" => |gain| gain.is_none_or(|gain| gain.0 <= 0.0);
        /// Whether no signal arrives at all.
        pub deaf: bool = false;
        /// Probability that a frame arrives but is not noticed: carrier sense fails.
        pub miss: f64 = 0.0, "from 0 to 1" => |p| (0.0..=1.0).contains(p);
        /// Whether these properties hold in one direction only.
        pub one_way: bool = false;
    }
}

table! {
    /// Positions, radios, and who hears whom.
    pub struct Space {
        /// Which nodes forward packets.
        pub mode: Mode = Mode::Infrastructure;
        /// Defaults of radios and propagation; `ns2` reads up to 250 m and senses up to 550 m. Each key can be set
        /// individually.
        pub profile: Profile = Profile::Standard;
        /// Path loss by distance.
        pub propagation: Propagation = match profile {
            Profile::Standard => Propagation::LogDistance(Default::default()),
            Profile::Ns2 => Propagation::TwoRay(TwoRay::default()),
        }, by profile;
        /// Variation of power from frame to frame.
        pub fading: Fading = Fading::None;
        /// Radio of every node that has none of its own.
        pub radio: Radio =
            match profile { Profile::Standard => Radio::default(), Profile::Ns2 => Radio::ns2() }, by profile;
        /// Reception of frames that overlap.
        pub reception: Reception =
            match profile { Profile::Standard => Reception::default(), Profile::Ns2 => Reception::ns2() }, by profile;
        /// Whether channels overlap as their numbers and widths say. Otherwise different channels are independent, and
        /// all stations on one use the same frequencies.
        pub overlapping_channels: bool = false;
        /// Power below which a signal is ignored.
        pub ignored: Dbm = Dbm(-110.0), "at most 100 dBm" => |level| level.0 <= 100.0;
        /// Gain of the path from each node (a row) to each node (a column), without antennas, replacing those computed
        /// from distances. Access points come first, then stations in the order of the file. The gain of a node to
        /// itself is not used.
        pub gains: Vec<Vec<Db>> = Vec::new(), "0 dB or less" => |rows| rows.iter().flatten().all(|gain| gain.0 <= 0.0);
        /// Radio paths with special properties.
        pub paths: Vec<Path> = Vec::new();
    }
}
