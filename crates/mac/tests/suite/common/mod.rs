//! Shared by the tests of channels.

use wifair_engine::{Stream, stream};
use wifair_mac::{Access, Call, MacEvent, RadioLinks, SignalSettings, SpatialChannel, StationSettings};
use wifair_packet::{BROADCAST, NextHops, Packet, PacketId, Packets};
use wifair_phy::propagation::Fading;
use wifair_phy::{Reception, Timing};
use wifair_queue::{Limit, Queue};
use wifair_units::{BitRate, Bytes, Duration, Time};

/// Index of the broadcast hop.
const HOP_TO_ALL: u32 = 63;

/// Hops to each of up to 63 stations, by number, and the broadcast hop.
pub const NEXT_HOPS: NextHops<'static> = NextHops(&{
    let mut next_hops = [BROADCAST; HOP_TO_ALL as usize + 1];
    let mut station = 0;
    while station < HOP_TO_ALL {
        next_hops[station as usize] = station;
        station += 1;
    }
    next_hops
});

/// The hop in [`RECEIVERS`] to this station, or the broadcast hop.
pub fn hop_to(station: u32) -> u32 {
    station.min(HOP_TO_ALL)
}

/// A station with this contention window and data rate.
pub fn station(seed: u64, number: u32, cw: (u32, u32), rate: BitRate) -> StationSettings {
    StationSettings {
        cw_min: cw.0,
        cw_max: cw.1,
        exclude_cw: false,
        rate,
        routing_overhead: Bytes(0),
        data_error_to: 0.0,
        data_error_from: 0.0,
        control_error_to: 0.0,
        queue: Queue::fifo(Limit::Packets(1000)),
        backoff: stream(seed, "backoff", &number.to_string()),
        errors: stream(seed, "error", &number.to_string()),
    }
}

/// Signals without fading.
pub fn signals(reception: Reception, stations: u32, seed: u64) -> SignalSettings {
    SignalSettings { reception, fading: Fading::None, chances: chances(stations, seed), newest: vec![] }
}

/// Random streams of all stations.
pub fn chances(stations: u32, seed: u64) -> Vec<Stream> {
    (0..stations).map(|number| stream(seed, "signal", &number.to_string())).collect()
}

/// 802.11b with the long preamble, control frames at 2 Mb/s, broadcast frames at 11 Mb/s.
pub fn long_preamble() -> Access {
    let access = Access::standard(Timing::hr_dsss(BitRate::from_mbps(2), false));
    Access { broadcast_rate: BitRate::from_mbps(11), ..access }
}

/// A channel with DCF on which all stations hear station 0, the access point, and each other.
#[cfg(feature = "fast")]
pub fn cell(access: Access, stations: Vec<StationSettings>) -> wifair_mac::SharedChannel {
    wifair_mac::SharedChannel::new(access, 0, stations)
}

/// A channel with DCF on which all stations hear station 0, the access point, and each other.
#[cfg(not(feature = "fast"))]
pub fn cell(access: Access, stations: Vec<StationSettings>) -> wifair_mac::GeneralChannel {
    wifair_mac::GeneralChannel::new(wifair_mac::edcaf::EdcaSettings::dcf(access, &[0], stations))
}

/// A packet that was received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    pub at: Time,
    pub from: u32,
    pub to: u32,
}

/// A channel and the packets in it. The flow of a packet is its sender; its hop leads to the receiver.
pub struct Run {
    pub space: SpatialChannel,
    pub packets: Packets,
    pub arrivals: Vec<Arrival>,
    pub retry_limit_drops: Vec<(u32, PacketId)>,
    /// Whether a sender gets another packet for each one that was received or given up.
    pub saturated: bool,
}

impl Run {
    /// Stations with this contention window, at 11 Mb/s.
    pub fn new(access: Access, links: RadioLinks, cw: (u32, u32), seed: u64) -> Self {
        let stations = u32::try_from(links.stations()).unwrap();
        let rate = BitRate::from_mbps(11);
        let settings = (0..stations).map(|number| station(seed, number, cw, rate)).collect();
        Self::of(SpatialChannel::new(access, &[], links, settings))
    }

    pub fn of(space: SpatialChannel) -> Self {
        Self { space, packets: Packets::default(), arrivals: vec![], retry_limit_drops: vec![], saturated: false }
    }

    pub fn with(mut self, settings: SignalSettings) -> Self {
        self.space = self.space.with_signals(settings);
        self
    }

    pub fn offer(&mut self, at: Time, from: u32, to: u32, size: u16) {
        let id = self.packets.insert(Packet { flow: from, hop: hop_to(to), size, ..Packet::default() });
        self.resend(at, from, id);
    }

    fn resend(&mut self, at: Time, from: u32, id: PacketId) {
        let mut dropped = vec![];
        self.space.offer(from, id, &mut Call::new(at, &mut self.packets, &mut dropped, &mut vec![], NEXT_HOPS));
        assert!(dropped.is_empty());
    }

    /// Runs until `end`, or until nothing is left to do.
    pub fn until(&mut self, end: Time) {
        let mut retry_limit_drops = vec![];
        while self.space.next() <= end && self.space.next() < Time::NEVER {
            let now = self.space.next();
            let mut dropped = vec![];
            match self.space.advance(&mut Call::new(
                now,
                &mut self.packets,
                &mut dropped,
                &mut retry_limit_drops,
                NEXT_HOPS,
            )) {
                MacEvent::Nothing => {}
                #[cfg(feature = "fast")]
                MacEvent::Datagrams { .. } => {}
                MacEvent::Packet { to, id } => {
                    let from = self.packets[id].flow;
                    self.arrivals.push(Arrival { at: now, from, to });
                    if self.saturated {
                        self.resend(now, from, id);
                    }
                }
                MacEvent::Broadcast { from, .. } => {
                    let receivers = self.space.receivers();
                    self.arrivals.extend(receivers.iter().map(|to| Arrival { at: now, from, to: *to }));
                }
            }
            for (from, id) in retry_limit_drops.drain(..) {
                self.retry_limit_drops.push((from, id));
                if self.saturated {
                    self.resend(now, from, id);
                }
            }
        }
    }

    /// Number of packets received from a station.
    pub fn arrived_from(&self, from: u32) -> usize {
        self.arrivals.iter().filter(|arrival| arrival.from == from).count()
    }
}

/// The time `micros` us after the start.
pub fn at_us(micros: u64) -> Time {
    Time::ZERO + Duration::from_micros(micros)
}
