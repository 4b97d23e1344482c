//! The keys of `[routing]`.

use wifair_config::{choice, table};
use wifair_routing::dsdv;

choice! {
    /// How stations of an ad-hoc network learn whom to pass packets on to.
    pub enum Protocol {
        /// They know the ways with the fewest hops from the start, and nothing is announced.
        Static = "static",
        /// They announce their distances, and learn the ways from their neighbours.
        Dsdv(dsdv::Params) = "dsdv" from "C. Perkins and P. Bhagwat, SIGCOMM 1994",
    }
}

table! {
    /// Ways over several hops, with `space.mode = "ad-hoc"`.
    pub struct Routing {
        /// How stations learn the ways.
        pub protocol: Protocol = Protocol::Static;
    }
}
