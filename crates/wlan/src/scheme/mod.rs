//! Schemes of the access point: what it does to packets that pass, before they are queued for the air or the wire.
//!
//! A scheme may change a packet (the receive window in an ACK), drop it, send packets of its own (a ping), and ask for
//! other access parameters. Schemes of different kinds compose with each other and with any queue; of one kind there
//! is one at most: who sets the window, who polices uplink data, who caps the clients, who sets the access parameters.
//!
//! What the world owes a scheme:
//!
//! - [`Schemes::introduce`] for each TCP connection before its first packet passes: segment size and window scale,
//!   which an access point would read from the options of the SYN;
//! - [`Schemes::pass`] for each packet that the access point has received, before it is queued; what is to be dropped
//!   or was taken in belongs to the caller again;
//! - [`Schemes::on_timer`] at [`Schemes::next`];
//! - after each of these calls, what [`Schemes::take_request`] asks for, until there is nothing more.

mod b_over_n;
mod by_rtt;
mod counter;
mod rtt;
pub mod service_rate;
#[cfg(test)]
mod testing;
mod window;
mod wmax_over_n;

use wifair_config::{Limit, choice, table};
use wifair_packet::Packet;
use wifair_units::Time;

pub use b_over_n::BOverN;
pub use by_rtt::ByRtt;
pub use wmax_over_n::WmaxOverN;

/// Where a packet that passes the access point goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Toward {
    /// To a station.
    Air,
    /// Into the wired network.
    Wire,
}

/// How a packet passes the access point.
#[derive(Clone, Copy, Debug)]
pub struct Passage {
    /// The present.
    pub now: Time,
    /// Where the packet goes.
    pub toward: Toward,
    /// The station that it goes to or comes from.
    pub station: u32,
    /// Packets that wait for the air in the access point.
    pub queued: usize,
}

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It goes on.
    Forward,
    /// It is dropped.
    Drop,
    /// It was for the access point itself, which has it now.
    Absorb,
}

/// What a scheme asks of the world.
#[derive(Clone, Copy, Debug)]
pub enum Request {
    /// To send an ICMP echo from the access point to one end of a flow. `packet.flow` names the flow; the world sets
    /// `hop`. The end turns it round with [`wifair_packet::flag::ACK`] set and all else as it is; on its way back it
    /// passes the access point, which keeps it ([`Verdict::Absorb`]).
    Echo {
        /// The echo.
        packet: Packet,
        /// To which end: the station's, or the one behind the wire.
        toward: Toward,
    },
}

/// What a scheme may know of its access point when it is built.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// How much the queue for the air holds.
    pub limit: Limit,
    /// Seed of the run.
    pub seed: u64,
    /// Name of the access point, which names random streams too.
    pub name: &'a str,
}

/// What every scheme does.
pub trait Scheme {
    /// A packet passes.
    fn pass(&mut self, at: &Passage, packet: &mut Packet, requests: &mut Vec<Request>) -> Verdict;

    /// A TCP connection will pass: `mss` bytes a segment, its receive windows to be shifted by `window_scale`.
    fn introduce(&mut self, flow: u32, mss: u16, window_scale: u8) {
        let _ = (flow, mss, window_scale);
    }

    /// When [`Scheme::on_timer`] wants to be called.
    fn next(&self) -> Time {
        Time::NEVER
    }

    /// The time of [`Scheme::next`] has come.
    fn on_timer(&mut self, now: Time, requests: &mut Vec<Request>) {
        let _ = (now, requests);
    }

    /// Shows its state by name, for time series.
    fn show(&self, see: &mut dyn FnMut(&'static str, f64)) {
        let _ = see;
    }
}

table! {
    /// What the access point does to packets that pass.
    pub struct Settings {
        /// What it does to the receive windows in ACKs.
        pub window: Window = Window::None;
    }
}

/// All schemes of one access point.
#[derive(Clone, Debug, Default)]
pub struct Schemes {
    window: Option<Box<AnyWindow>>,
    requests: Vec<Request>,
}

macro_rules! schemes {
    ($(#[doc = $kind_doc:literal])* $kind:ident, $any:ident {
        $( $(#[doc = $doc:literal])* $variant:ident, $module:ident = $name:literal
            from $source:literal $(($outline:ident))? ; )+
    }) => {
        choice! {
            $(#[doc = $kind_doc])*
            pub enum $kind {
                /// Nothing.
                None = "none",
                $( $(#[doc = $doc])* $variant($module::Params) = $name from $source $(($outline))?, )+
            }
        }

        #[derive(Clone, Debug)]
        enum $any { $( $variant($variant), )+ }

        impl $any {
            fn new(chosen: &$kind, facts: &Facts<'_>) -> Option<Box<Self>> {
                match chosen {
                    $kind::None => None,
                    $( $kind::$variant(params) => Some(Box::new(Self::$variant($variant::new(params, facts)))), )+
                }
            }
        }

        impl Scheme for $any {
            fn pass(&mut self, at: &Passage, packet: &mut Packet, requests: &mut Vec<Request>) -> Verdict {
                match self { $( Self::$variant(scheme) => scheme.pass(at, packet, requests), )+ }
            }

            fn introduce(&mut self, flow: u32, mss: u16, window_scale: u8) {
                match self { $( Self::$variant(scheme) => scheme.introduce(flow, mss, window_scale), )+ }
            }

            fn next(&self) -> Time {
                match self { $( Self::$variant(scheme) => scheme.next(), )+ }
            }

            fn on_timer(&mut self, now: Time, requests: &mut Vec<Request>) {
                match self { $( Self::$variant(scheme) => scheme.on_timer(now, requests), )+ }
            }

            fn show(&self, see: &mut dyn FnMut(&'static str, f64)) {
                match self { $( Self::$variant(scheme) => scheme.show(see), )+ }
            }
        }
    };
}

schemes! {
    /// What the access point does to the receive windows in ACKs.
    Window, AnyWindow {
        /// Each flow gets an equal part of the access point's buffer as its window.
        BOverN, b_over_n = "b-over-n" from "S. Pilosof, R. Ramjee, D. Raz, Y. Shavitt and P. Sinha, 2003";
        /// Each flow gets an equal part of what buffer and path hold together.
        WmaxOverN, wmax_over_n = "wmax-over-n" from "E. Lee, H. Lim, S. Seok and C. Kang, 2007, equations 2 to 8";
        /// Each flow gets a part of the access point's buffer in proportion to its round-trip time.
        ByRtt, by_rtt = "by-rtt" from "S. Pilosof et al., 2003, as las describes it in section 2" (outline);
    }
}

impl Schemes {
    /// The schemes that `settings` name.
    #[must_use]
    pub fn new(settings: &Settings, facts: &Facts<'_>) -> Self {
        Self { window: AnyWindow::new(&settings.window, facts), requests: vec![] }
    }

    /// Whether there is none, so that packets need not be shown.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.window.is_none()
    }

    fn each(&mut self, mut what: impl FnMut(&mut dyn Scheme, &mut Vec<Request>)) {
        if let Some(window) = &mut self.window {
            what(window.as_mut(), &mut self.requests);
        }
    }

    /// A packet passes, on its way from the air or the wire to a queue.
    pub fn pass(&mut self, at: &Passage, packet: &mut Packet) -> Verdict {
        let mut verdict = Verdict::Forward;
        self.each(|scheme, requests| {
            if verdict == Verdict::Forward {
                verdict = scheme.pass(at, packet, requests);
            }
        });
        verdict
    }

    /// A TCP connection will pass: `mss` bytes a segment, its receive windows to be shifted by `window_scale`.
    pub fn introduce(&mut self, flow: u32, mss: u16, window_scale: u8) {
        self.each(|scheme, _| scheme.introduce(flow, mss, window_scale));
    }

    /// When [`Schemes::on_timer`] is to be called.
    #[must_use]
    pub fn next(&self) -> Time {
        self.window.as_ref().map_or(Time::NEVER, |scheme| scheme.next())
    }

    /// The time of [`Schemes::next`] has come.
    pub fn on_timer(&mut self, now: Time) {
        self.each(|scheme, requests| {
            if scheme.next() <= now {
                scheme.on_timer(now, requests);
            }
        });
    }

    /// What is asked of the world, oldest first.
    pub fn take_request(&mut self) -> Option<Request> {
        if self.requests.is_empty() { None } else { Some(self.requests.remove(0)) }
    }

    /// Shows the state of all schemes by name, for time series.
    pub fn show(&self, see: &mut dyn FnMut(&'static str, f64)) {
        if let Some(window) = &self.window {
            window.show(see);
        }
    }
}
