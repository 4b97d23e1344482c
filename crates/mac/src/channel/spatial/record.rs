//! Records of frames, where they are kept.

use wifair_packet::Packets;
use wifair_units::Bytes;

use super::{Kind, SpatialChannel, Transmission};
use crate::BROADCAST;
use crate::tap::{Fate, FrameKind, FrameRecord};

impl SpatialChannel {
    /// A frame ends at `station`, which `senses` it, and `reads` it if nothing is in its way; `receives`: it follows it;
    /// `by_bits`: it did not read it, and only because of wrong bits.
    #[cold]
    pub(super) fn record_hearer(&mut self, station: u32, receives: bool, (senses, reads): (bool, bool), by_bits: bool) {
        let fate = match receives {
            true if !self.signals.spoilt.has(station) => Fate::Read,
            false if !senses && !reads => return,
            false if !senses => Fate::Deaf,
            _ if by_bits || !reads => Fate::Error,
            _ => Fate::Collision,
        };
        if let Some(tap) = &mut self.tap {
            tap.hearer(station, fate);
        }
    }

    /// The frame of `sender` ends; `sensed`: its receiver hears it; `read`: it, or one of them, receives it.
    #[cold]
    pub(super) fn record_frame(
        &mut self,
        sender: u32,
        transmission: &Transmission,
        sensed: bool,
        read: bool,
        packets: &Packets,
    ) {
        let station = &self.stations[sender as usize];
        let sizes = &self.access.timing.sizes;
        let is_cts_to_self = transmission.kind == Kind::CtsToSelf;
        let (kind, length) = match transmission.kind {
            Kind::CtsToSelf | Kind::Cts => (FrameKind::Cts, sizes.cts),
            Kind::Rts => (FrameKind::Rts, sizes.rts),
            Kind::Ack => (FrameKind::Ack, sizes.ack),
            Kind::Data => (FrameKind::Data, station.frame.map_or(Bytes(0), |frame| frame.length)),
        };
        let fate = if read || (is_cts_to_self && !transmission.met) {
            Fate::Read
        } else if transmission.met {
            Fate::Collision
        } else if sensed || transmission.to == BROADCAST {
            Fate::Error
        } else {
            Fate::Deaf
        };
        let carried = station.frame.filter(|frame| kind == FrameKind::Data && !frame.received);
        let frame = FrameRecord {
            rate: transmission.rate,
            length,
            reserves: transmission.nav.saturating_since(transmission.end),
            retry: kind == FrameKind::Data && station.contention.is_retry(),
            packet: carried.map(|frame| packets[frame.id]),
            id: carried.map(|frame| frame.id),
            ..FrameRecord::new(kind, (sender, transmission.to), (transmission.start, transmission.end), fate)
        };
        let receivers = &self.receivers;
        if let Some(tap) = &mut self.tap {
            tap.heard_frame(frame, |hearer| match hearer.fate {
                Fate::Read if hearer.station == transmission.to => fate,
                Fate::Read if transmission.to == BROADCAST && receivers.binary_search(&hearer.station).is_err() => {
                    Fate::Error
                }
                fate => fate,
            });
        }
    }
}
