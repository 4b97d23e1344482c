//! The keys of `[routing]`.

use wifair_config::{choice, table};
use wifair_routing::dsdv;

choice! {
    /// How stations of an ad-hoc network learn their next hops.
    pub enum Protocol {
        /// Paths with the fewest hops, known from the start; nothing is announced.
        Static = "static",
        /// Stations announce their distances and learn routes from their neighbours.
        Dsdv(dsdv::Params) = "dsdv" from "C. Perkins and P. Bhagwat, SIGCOMM 1994",
    }
}

table! {
    /// Multihop routing, with `space.mode = "ad-hoc"`.
    pub struct Routing {
        /// Routing protocol.
        pub protocol: Protocol = Protocol::Static;
    }
}
