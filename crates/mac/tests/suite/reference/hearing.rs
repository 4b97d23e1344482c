//! What stations learn from the frames of others: their NAVs, and whether they wait EIFS (IEEE Std 802.11-2016,
//! 10.3.2.3.7 and 10.3.2.4).
//!
//! A station reads the modulation classes up to its newest. Of a newer PPDU it reads the legacy preamble alone, if that
//! is of OFDM (10.26): it knows neither what the PPDU reserves nor whether it is without error, and waits EIFS after it
//! unless it reads a later frame. One of 802.11b takes OFDM for noise, after which it waits as after a collision.
//! Nobody reads a frame that overlaps with another, and the next contention ends EIFS.

use wifair_mac::{BROADCAST, Eifs};
use wifair_phy::{Band, ModulationClass};
use wifair_units::{BitRate, Duration, Time};

use super::{ReferenceChannel, ReferenceNav};

/// Holder of no TXOP.
pub const NOBODY: usize = usize::MAX;

/// A frame that nothing overlaps.
#[derive(Clone, Copy, Debug)]
pub struct HeardFrame {
    pub from: u32,
    pub to: u32,
    pub end: Time,
    /// What its Duration field announces.
    pub reserves: Duration,
    /// When the NAV that it sets is reset if no other frame follows.
    pub reset: Option<Time>,
    pub class: ModulationClass,
}

impl ReferenceChannel {
    /// The class of a frame in non-HT format.
    fn class_at(&self, rate: BitRate) -> ModulationClass {
        if self.access.timing.is_dsss(rate) { ModulationClass::Dsss } else { ModulationClass::ErpOfdm }
    }

    /// The RTS of a sender that ends at `end`, when nothing resets its NAV.
    pub(super) fn rts_heard(&self, sender: usize, end: Time) -> HeardFrame {
        let function = &self.functions[sender];
        HeardFrame {
            from: function.station as u32,
            to: function.ppdu().to,
            end,
            reserves: self.reserved_by_rts(sender, end),
            reset: None,
            class: self.class_at(self.guard_rate()),
        }
    }

    /// The CTS that ends at `end`, in response to the RTS of a sender, or sent to itself.
    pub(super) fn cts_heard(&self, sender: usize, end: Time) -> HeardFrame {
        let (ppdu, station) = (self.functions[sender].ppdu(), self.functions[sender].station as u32);
        HeardFrame {
            from: if ppdu.cts_to_self { station } else { ppdu.to },
            to: station,
            end,
            reserves: self.reserved_by_cts(sender, end),
            reset: None,
            class: self.class_at(self.guard_rate()),
        }
    }

    /// The frames of a sender's exchange whose data end at `end`, in their order; with the response if it is sent.
    pub(super) fn exchange_heard(&self, sender: usize, end: Time, has_response: bool) -> Vec<HeardFrame> {
        let (ppdu, station) = (self.functions[sender].ppdu(), self.functions[sender].station);
        let sifs = self.access.timing.sifs;
        let mut frames = vec![];
        let cts_ended = end - ppdu.air - sifs;
        if ppdu.rts {
            frames.push(self.rts_heard(sender, cts_ended - self.cts() - sifs));
        }
        if ppdu.rts || ppdu.cts_to_self && !self.is_after_cts {
            frames.push(self.cts_heard(sender, cts_ended));
        }
        let non_ht =
            if ppdu.is_request() { self.control_rate(station, ppdu.to) } else { self.data_rate(station, ppdu.to) };
        let mode = self.mode(station, ppdu.to).filter(|_| !ppdu.is_request());
        frames.push(HeardFrame {
            from: station as u32,
            to: ppdu.to,
            end,
            reserves: self.reserved_by_data(sender, end),
            reset: None,
            class: mode.map_or_else(|| self.class_at(non_ht), |(mode, _)| mode.class(Band::Ghz5)),
        });
        if has_response {
            let end = end + sifs + ppdu.response;
            let extended = self.extended_response(station, ppdu.to, ppdu.content);
            frames.push(HeardFrame {
                from: ppdu.to,
                to: station as u32,
                end,
                reserves: self.left_of_txop(sender, end),
                reset: None,
                class: match extended {
                    Some((mode, _)) => mode.class(Band::Ghz5),
                    None => self.class_at(self.control_rate(station, ppdu.to)),
                },
            });
        }
        frames
    }

    /// All stations hear these frames of a sender and its receiver.
    pub(super) fn hear(&mut self, sender: usize, frames: &[HeardFrame]) {
        let holder = self.functions[sender].station;
        let waits_after_noise = matches!(self.access.eifs, Eifs::AfterCollision | Eifs::Nav);
        for frame in frames {
            for node in (0..self.nodes.len()).filter(|node| *node as u32 != frame.from) {
                let newest = self.nodes[node].newest;
                if frame.class <= newest {
                    self.nodes[node].in_error = None;
                    if node as u32 != frame.to {
                        self.extend_nav(node, frame.end + frame.reserves, frame.reset, holder);
                    }
                } else if newest >= ModulationClass::ErpOfdm || waits_after_noise {
                    self.receive_in_error(node, frame.end);
                }
            }
        }
    }

    /// A station does not read a frame that ends at `end`.
    pub(super) fn receive_in_error(&mut self, node: usize, end: Time) {
        self.nodes[node].in_error = Some(end);
        if self.access.eifs == Eifs::Nav {
            self.extend_nav(node, end + self.access.eifs(), None, NOBODY);
        }
    }

    /// A frame of `by` reserves the channel for `node`, which resets its NAV then if no other frame follows.
    pub(super) fn extend_nav(&mut self, node: usize, until: Time, reset: Option<Time>, by: usize) {
        if until > self.nodes[node].nav.end() {
            self.nodes[node].nav = ReferenceNav { until, reset, by };
        }
    }

    /// From when a station counts its AIFS if the channel is idle from `end`: from the end of its NAV if that is later,
    /// and after EIFS - DIFS if the last frame that it heard was in error.
    pub(super) fn idle_for(&self, node: usize, end: Time) -> Time {
        let timing = &self.access.timing;
        let eifs = match self.access.eifs {
            Eifs::Off | Eifs::Nav => Duration::ZERO,
            Eifs::AfterError | Eifs::AfterCollision => timing.eifs() - timing.difs,
        };
        let by_error = self.nodes[node].in_error.map_or(Time::ZERO, |ended| ended + eifs);
        end.max(by_error).max(self.nodes[node].nav.end())
    }

    /// How long a frame that ends at `end` reserves the channel: for what follows in its exchange, `rest`, or with
    /// CF-End to the end of the TXOP.
    fn reserves(&self, sender: usize, end: Time, rest: Duration) -> Duration {
        self.access.round_nav(rest.max(self.left_of_txop(sender, end)))
    }

    /// How long an RTS that ends at `end` reserves the channel: for CTS, data and response.
    pub(super) fn reserved_by_rts(&self, sender: usize, end: Time) -> Duration {
        let ppdu = self.functions[sender].ppdu();
        self.reserves(sender, end, self.access.timing.sifs * 3 + self.cts() + ppdu.air + ppdu.response)
    }

    /// How long a CTS that ends at `end` reserves the channel: what its RTS has left, or for data and response.
    pub(super) fn reserved_by_cts(&self, sender: usize, end: Time) -> Duration {
        let (ppdu, sifs) = (self.functions[sender].ppdu(), self.access.timing.sifs);
        if ppdu.cts_to_self {
            return self.reserves(sender, end, sifs + ppdu.air + self.answer(sender));
        }
        let since_rts = self.cts() + sifs;
        self.reserved_by_rts(sender, end - since_rts) - since_rts
    }

    /// How long data or a request that end at `end` reserve the channel: for the response.
    pub(super) fn reserved_by_data(&self, sender: usize, end: Time) -> Duration {
        self.reserves(sender, end, self.answer(sender))
    }

    /// SIFS and the response to a sender, if there is one.
    fn answer(&self, sender: usize) -> Duration {
        let ppdu = self.functions[sender].ppdu();
        if ppdu.to == BROADCAST { Duration::ZERO } else { self.access.timing.sifs + ppdu.response }
    }
}
