//! Access-point schemes: they treat packets that pass the access point before these are queued for the wireless or the
//! wired side.
//!
//! A scheme may change a packet (the receive window in an ACK), drop it, send packets of its own (a ping), and request
//! other channel access parameters. There are four kinds: a scheme sets windows, polices uplink data, caps clients, or
//! sets access parameters. An access point has at most one scheme of each kind. Schemes of different kinds combine with
//! each other and with any queue.
//!
//! The caller must call:
//!
//! - [`Schemes::introduce`] for each TCP connection before its first packet passes, with the segment size and window
//!   scale that an access point would read from the options of the SYN;
//! - [`Schemes::pass`] for each packet that the access point has received, before it is queued; a packet that the
//!   verdict drops or absorbs belongs to the caller again;
//! - [`Schemes::on_timer`] at [`Schemes::next`];
//! - after each of these calls, [`Schemes::take_request`] until it returns nothing, and carry out the requests.

mod b_over_n;
mod bucket;
mod buffer_drop;
mod by_rtt;
mod counter;
mod dynamic_cw;
mod dynamic_edca;
mod edca;
mod rate_cap;
mod rate_limit;
mod rtt;
pub mod service_rate;
#[cfg(test)]
mod testing;
mod window;
mod wmax_over_n;

use std::fmt;

use wifair_config::{Limit, choice, table};
use wifair_mac::{AccessPlan, Category};
use wifair_packet::Packet;
use wifair_units::Time;

pub use b_over_n::BOverN;
pub use buffer_drop::BufferDrop;
pub use by_rtt::ByRtt;
pub use dynamic_cw::DynamicCw;
pub use dynamic_edca::DynamicEdca;
pub use edca::Edca;
pub use rate_cap::RateCap;
pub use rate_limit::RateLimit;
pub use wmax_over_n::WmaxOverN;

/// Where a packet that passes the access point goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Toward {
    /// To a station.
    Air,
    /// Into the wired network.
    Wired,
}

/// The circumstances in which a packet passes the access point.
#[derive(Clone, Copy, Debug)]
pub struct Passage {
    /// The current time.
    pub now: Time,
    /// Where the packet goes.
    pub toward: Toward,
    /// The station that it goes to or comes from.
    pub station: u32,
    /// Packets queued for the air at the access point.
    pub queued: usize,
}

/// What happens to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketVerdict {
    /// It is forwarded.
    Forward,
    /// It is dropped.
    Drop,
    /// It was addressed to the access point itself, which consumes it.
    Absorb,
}

/// A request of a scheme to the world.
#[derive(Clone, Debug)]
pub enum Request {
    /// Send an ICMP echo from the access point to one end of a flow. `packet.flow` names the flow; the world sets
    /// `hop`. The end returns the packet with [`wifair_packet::flag::ACK`] set and otherwise unchanged; the access
    /// point consumes the reply when it passes ([`PacketVerdict::Absorb`]).
    Echo {
        /// The echo.
        packet: Packet,
        /// The end: the station's, or the one in the wired network.
        toward: Toward,
    },
    /// Use other parameters for the access point's contention from its next frame on, except for packets with priority.
    Contend {
        /// The parameters.
        ap: Category,
    },
}

/// What a scheme knows about its access point when it is built.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// Capacity of the queue for the air.
    pub limit: Limit,
    /// CWmin of the channel.
    pub cw_min: u32,
    /// CWmax of the channel.
    pub cw_max: u32,
    /// Seed of the run.
    pub seed: u64,
    /// Name of the access point, from which random streams are named.
    pub name: &'a str,
}

/// The interface of every scheme.
pub trait Scheme: fmt::Debug + Send + Sync {
    /// Handles a packet that passes.
    fn pass(&mut self, at: &Passage, packet: &mut Packet, requests: &mut Vec<Request>) -> PacketVerdict;

    /// Announces a TCP connection: `mss` bytes per segment, receive windows scaled by `window_scale`.
    fn introduce(&mut self, flow: u32, mss: u16, window_scale: u8) {
        let _ = (flow, mss, window_scale);
    }

    /// When [`Scheme::on_timer`] must be called.
    fn next(&self) -> Time {
        Time::NEVER
    }

    /// Called at the time that [`Scheme::next`] returned.
    fn on_timer(&mut self, now: Time, requests: &mut Vec<Request>) {
        let _ = (now, requests);
    }

    /// The channel access parameters of access point and stations from the start; `None` for plain DCF.
    fn access(&self) -> Option<AccessPlan> {
        None
    }

    /// Reports state variables by name, for time series.
    fn show(&self, see: &mut dyn FnMut(&'static str, f64)) {
        let _ = see;
    }
}

table! {
    /// What the access point does to passing packets.
    pub struct ApSettings {
        /// What it does to the receive windows in ACKs.
        pub window: Window = Window::None;
        /// What it does to uplink data.
        pub uplink: Uplink = Uplink::None;
        /// What it does to each client.
        pub client: Client = Client::None;
        /// How it and its stations contend for the channel.
        pub access: Access = Access::None;
    }
}

/// All schemes of one access point.
#[derive(Debug, Default)]
pub struct Schemes {
    /// In the order in which packets pass them: those that drop come first.
    schemes: Vec<Box<dyn Scheme>>,
    requests: Vec<Request>,
}

macro_rules! schemes {
    ($(#[doc = $kind_doc:literal])* $kind:ident {
        $( $(#[doc = $doc:literal])* $variant:ident, $module:ident = $name:literal
            from $source:literal $(($outline:ident))? ; )+
    }) => {
        choice! {
            $(#[doc = $kind_doc])*
            pub enum $kind {
                /// No scheme.
                None = "none",
                $( $(#[doc = $doc])* $variant($module::Params) = $name from $source $(($outline))?, )+
            }
        }

        impl $kind {
            fn scheme(&self, facts: &Facts<'_>) -> Option<Box<dyn Scheme>> {
                match self {
                    Self::None => None,
                    $( Self::$variant(params) => Some(Box::new($variant::new(params, facts))), )+
                }
            }
        }
    };
}

schemes! {
    /// What the access point does to the receive windows in ACKs.
    Window {
        /// Each flow gets an equal share of the access point's buffer as its window.
        BOverN, b_over_n = "b-over-n" from "S. Pilosof, R. Ramjee, D. Raz, Y. Shavitt and P. Sinha, 2003";
        /// Each flow gets an equal share of what buffer and path hold together.
        WmaxOverN, wmax_over_n = "wmax-over-n" from "E. Lee, H. Lim, S. Seok and C. Kang, 2007, equations 2 to 8";
        /// Each flow gets a share of the access point's buffer in proportion to its round-trip time.
        ByRtt, by_rtt = "by-rtt" from "S. Pilosof et al., 2003, as las describes it in section 2" (outline);
    }
}

schemes! {
    /// What the access point does to uplink data.
    Uplink {
        /// A token bucket for all uplink data together.
        RateLimit, rate_limit = "rate-limit" from "N. Blefari-Melazzi, A. Detti, A. Ordine and S. Salsano, 2005" (outline);
        /// Uplink data is dropped according to the occupancy of the downlink buffer.
        BufferDrop, buffer_drop = "buffer-drop" from "Y. Hirano and T. Murase, 2009" (outline);
    }
}

schemes! {
    /// What the access point does to each client.
    Client {
        /// A token bucket for each client.
        RateCap, rate_cap = "rate-cap" from "V. Kemerlis, E. Stefanis, G. Xylomenos and G. Polyzos, 2006" (outline);
    }
}

schemes! {
    /// How the access point and its stations contend for the channel.
    Access {
        /// ACKs have priority, and the access point over its stations, with a burst for its downloads.
        Edca, edca = "edca" from "D. Leith, P. Clifford, D. Malone and A. Ng, 2005" (outline);
        /// The access point's contention window shrinks with the number of downloads.
        DynamicCw, dynamic_cw = "dynamic-cw" from "B. A. H. S. Abeysekera, T. Matsuda and T. Takine, 2007" (outline);
        /// Real-time traffic has priority; the access point's window for other traffic follows the number of flows.
        DynamicEdca, dynamic_edca = "dynamic-edca" from "B. A. H. S. Abeysekera, T. Matsuda and T. Takine, 2010" (outline);
    }
}

impl Schemes {
    /// Builds the schemes that `settings` choose.
    pub fn new(settings: &ApSettings, facts: &Facts<'_>) -> Self {
        let ApSettings { window, uplink, client, access } = settings;
        let schemes = [client.scheme(facts), uplink.scheme(facts), window.scheme(facts), access.scheme(facts)];
        Self { schemes: schemes.into_iter().flatten().collect(), requests: vec![] }
    }

    /// Whether there is no scheme, so that packets need not be passed to [`Schemes::pass`].
    pub fn is_empty(&self) -> bool {
        self.schemes.is_empty()
    }

    /// Handles a packet that passes from the wireless or the wired side to a queue.
    pub fn pass(&mut self, at: &Passage, packet: &mut Packet) -> PacketVerdict {
        for scheme in &mut self.schemes {
            let verdict = scheme.pass(at, packet, &mut self.requests);
            if verdict != PacketVerdict::Forward {
                return verdict;
            }
        }
        PacketVerdict::Forward
    }

    /// Announces a TCP connection: `mss` bytes per segment, receive windows scaled by `window_scale`.
    pub fn introduce(&mut self, flow: u32, mss: u16, window_scale: u8) {
        for scheme in &mut self.schemes {
            scheme.introduce(flow, mss, window_scale);
        }
    }

    /// The channel access parameters of access point and stations from the start; `None` for plain DCF.
    pub fn access(&self) -> Option<AccessPlan> {
        self.schemes.iter().find_map(|scheme| scheme.access())
    }

    /// When [`Schemes::on_timer`] must be called.
    pub fn next(&self) -> Time {
        self.schemes.iter().map(|scheme| scheme.next()).min().unwrap_or(Time::NEVER)
    }

    /// Must be called at the time that [`Schemes::next`] returned.
    pub fn on_timer(&mut self, now: Time) {
        for scheme in &mut self.schemes {
            if scheme.next() <= now {
                scheme.on_timer(now, &mut self.requests);
            }
        }
    }

    /// The next request to the world, oldest first.
    pub fn take_request(&mut self) -> Option<Request> {
        if self.requests.is_empty() { None } else { Some(self.requests.remove(0)) }
    }

    /// Reports the state variables of all schemes by name, for time series.
    pub fn show(&self, see: &mut dyn FnMut(&'static str, f64)) {
        for scheme in &self.schemes {
            scheme.show(see);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use wifair_config::{Document, Source, Table as _};
    use wifair_packet::{Kind, flag};
    use wifair_units::Duration;

    use super::*;

    const FACTS: Facts<'_> = Facts { limit: Limit::Packets(100), cw_min: 31, cw_max: 1023, seed: 1, name: "ap" };

    fn read(text: &str) -> ApSettings {
        let document = Document::parse(Source::file("a.toml", text));
        document.read::<ApSettings>().unwrap_or_else(|problems| panic!("{problems}"))
    }

    /// B = 100 among four flows gives 25 packets each; the window scheme does not see packets that the uplink limit
    /// drops.
    #[test]
    fn schemes_of_different_kinds_compose() {
        let text = "window = 'b-over-n'\nuplink = 'rate-limit'\nrate-limit.mode = 'static'\n\
                    rate-limit.rate = '1 Mb/s'\nrate-limit.depth = '3 kB'";
        let mut schemes = Schemes::new(&read(text), &FACTS);
        let at = |toward| Passage { now: Time::ZERO, toward, station: 1, queued: 0 };
        let mut pass = |toward, kind, flow| {
            let mut packet = Packet { kind, flow, payload: 1000, size: 1040, window: 60_000, ..Packet::default() };
            let verdict = schemes.pass(&at(toward), &mut packet);
            (verdict, packet.window)
        };
        pass(Toward::Wired, Kind::Data, 0);
        pass(Toward::Wired, Kind::Data, 1);
        assert_eq!(pass(Toward::Wired, Kind::Data, 2).0, PacketVerdict::Drop, "2080 B of 3000 are gone");
        pass(Toward::Air, Kind::Data, 3);
        pass(Toward::Air, Kind::Data, 4);
        assert_eq!(pass(Toward::Air, Kind::Ack, 0), (PacketVerdict::Forward, 25_000));
        let mut shown = vec![];
        schemes.show(&mut |name, _| shown.push(name));
        assert_eq!(shown, ["limit_bps", "dropped_packets", "n", "window_packets"]);
    }

    #[test]
    fn no_scheme_is_the_default() {
        let schemes = Schemes::new(&ApSettings::default(), &FACTS);
        assert!(schemes.is_empty() && schemes.access().is_none() && schemes.next() == Time::NEVER);
        assert!(ApSettings::default().to_toml().contains("window = \"none\""));
    }

    fn settings() -> impl Strategy<Value = ApSettings> {
        let pick = |names: &'static [&'static str]| prop::sample::select(names.to_vec());
        (pick(&Window::NAMES), pick(&Uplink::NAMES), pick(&Client::NAMES), pick(&Access::NAMES), any::<bool>())
            .prop_map(|(window, uplink, client, access, ping)| {
                let mut settings = ApSettings {
                    window: Window::named(window).expect("a name"),
                    uplink: Uplink::named(uplink).expect("a name"),
                    client: Client::named(client).expect("a name"),
                    access: Access::named(access).expect("a name"),
                };
                if let Window::WmaxOverN(params) = &mut settings.window
                    && ping
                {
                    params.rtt = rtt::RttSource::Ping;
                    params.mu = wmax_over_n::Mu::Measured;
                }
                settings
            })
    }

    proptest! {
        /// For any packets: a window is never above the offered one, nor below one segment if a segment was offered;
        /// only windows change; only echo replies are absorbed; and timers lie in the future.
        #[test]
        fn every_scheme_keeps_the_rules(
            settings in settings(),
            steps in prop::collection::vec(
                (0_u64..600, any::<bool>(), 0_u8..6, 0_u32..5, 0_u64..50, any::<u16>(), 0_usize..120), 1..300),
        ) {
            let mut schemes = Schemes::new(&settings, &FACTS);
            let scales = [0, 3, 7, 14, 0];
            for flow in 0..4 {
                schemes.introduce(flow, 1000, scales[flow as usize]);
            }
            let mut now = Time::ZERO;
            for (wait, to_air, kind, flow, seq, window, queued) in steps {
                now += Duration::from_millis(wait);
                while schemes.next() <= now {
                    let due = schemes.next();
                    schemes.on_timer(due);
                    prop_assert!(schemes.next() > due);
                }
                let (kind, payload, flags) = match kind {
                    0 => (Kind::Data, 0, flag::SYN),
                    1 | 2 => (Kind::Data, 1000, 0),
                    3 | 4 => (Kind::Ack, 0, 0),
                    _ => (Kind::Icmp, 0, flag::ACK),
                };
                let seq = if kind == Kind::Icmp { now.as_nanos() / 2 } else { seq * 1000 };
                let ack = if kind == Kind::Ack { seq } else { 0 };
                let size = payload + 40;
                let before = Packet { kind, flow, seq, ack, payload, flags, window, size, ..Packet::default() };
                let mut packet = before;
                let toward = if to_air { Toward::Air } else { Toward::Wired };
                let at = Passage { now, toward, station: flow + 1, queued };
                let verdict = schemes.pass(&at, &mut packet);
                prop_assert!(packet.window <= before.window);
                if kind == Kind::Ack && flow < 4 {
                    let bytes = |packet: &Packet| u64::from(packet.window) << scales[flow as usize];
                    prop_assert!(bytes(&packet) >= bytes(&before).min(1000));
                } else if kind != Kind::Ack {
                    prop_assert_eq!(packet.window, window);
                }
                prop_assert_eq!((packet.seq, packet.ack, packet.size), (before.seq, before.ack, before.size));
                prop_assert!(verdict != PacketVerdict::Absorb || kind == Kind::Icmp);
                while let Some(request) = schemes.take_request() {
                    match request {
                        Request::Echo { packet, .. } => prop_assert_eq!(packet.kind, Kind::Icmp),
                        Request::Contend { ap } => prop_assert!(ap.cw_min <= 31 && ap.cw_max == 1023),
                    }
                }
                schemes.show(&mut |name, value| assert!(!value.is_nan(), "{name}"));
            }
        }
    }
}
