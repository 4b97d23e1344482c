//! An access point with one scheme, for unit tests.

use wifair_config::Limit;
use wifair_packet::{Kind, Packet};
use wifair_units::{Duration, Time};

use super::{Facts, PacketVerdict, Passage, Request, Scheme, Toward};

pub struct SchemeBench<S> {
    pub scheme: S,
    pub now: Time,
    pub queued: usize,
    pub requests: Vec<Request>,
}

impl<S: Scheme> SchemeBench<S> {
    /// An access point whose queue holds 100 packets.
    pub fn new(build: impl FnOnce(&Facts<'_>) -> S) -> Self {
        let scheme = build(&Facts { limit: Limit::Packets(100), cw_min: 31, cw_max: 1023, seed: 1, name: "ap" });
        Self { scheme, now: Time::ZERO, queued: 0, requests: vec![] }
    }

    pub fn wait(&mut self, time: Duration) {
        self.now += time;
    }

    pub fn pass(&mut self, toward: Toward, station: u32, mut packet: Packet) -> (PacketVerdict, Packet) {
        let at = Passage { now: self.now, toward, station, queued: self.queued };
        let verdict = self.scheme.pass(&at, &mut packet, &mut self.requests);
        (verdict, packet)
    }

    /// Sends a segment of 1000 B upwards.
    pub fn data(&mut self, flow: u32, seq: u64) {
        let packet = Packet { flow, seq, payload: 1000, size: 1040, ..Packet::default() };
        self.pass(Toward::Wired, flow, packet);
    }

    /// Sends an ACK that advertises 60 packets downwards; returns it as it leaves the access point.
    pub fn ack(&mut self, flow: u32, ack: u64) -> Packet {
        let packet = Packet { flow, ack, size: 40, window: 60_000, kind: Kind::Ack, ..Packet::default() };
        self.pass(Toward::Air, flow, packet).1
    }

    /// The state variable that the scheme reports under this name.
    pub fn shown(&self, name: &str) -> f64 {
        let mut found = None;
        self.scheme.show(&mut |shown, value| {
            if shown == name {
                found = Some(value);
            }
        });
        found.unwrap_or_else(|| panic!("`{name}` is not shown"))
    }
}
