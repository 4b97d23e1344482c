//! Records of frames.

use wifair_packet::Packets;

use super::{SpatialChannel, Transmission};
use crate::BROADCAST;
use crate::exchange::ExchangeFrame;
use crate::tap::{Fate, FrameRecord, Hearer};

impl SpatialChannel {
    /// Records the frame of `sender` that ends at `station`: whether the station `senses` it, `reads` it unless
    /// something interferes, and `receives` it (has followed it to its end). `by_bits` if only bit errors prevented
    /// reading.
    #[cold]
    pub(super) fn record_hearer(
        &mut self,
        station: u32,
        (sender, transmission): (u32, &Transmission),
        receives: bool,
        (senses, reads): (bool, bool),
        by_bits: bool,
    ) {
        let fate = match receives {
            true if !self.signals.corrupted.has(station) => Fate::Read,
            false if !senses && !reads => return,
            false if !senses => Fate::Deaf,
            _ if by_bits || !reads => Fate::Error,
            _ => Fate::Collision,
        };
        let is_inter_bss = self.is_inter_bss(transmission.end, station, sender, transmission);
        if let Some(tap) = &mut self.tap {
            tap.hearer(Hearer { station, fate, is_inter_bss });
        }
    }

    /// Records the end of the frame of `sender`; `sensed` by its receiver, and `read` by it or, for a broadcast, by any
    /// station.
    #[cold]
    pub(super) fn record_frame(
        &mut self,
        sender: u32,
        transmission: &Transmission,
        sensed: bool,
        read: bool,
        packets: &Packets,
    ) {
        let (Some(edca), Some(tap)) = (&self.edca, &mut self.tap) else { return };
        let fate = fate(transmission, sensed, read);
        let is_answer = transmission.kind.is_response();
        let index = edca.current_of(if is_answer { transmission.to } else { sender });
        let control = |step| vec![edca.edcafs.control_record(index, step, transmission.start, fate)];
        let mut records = match transmission.kind {
            step @ (ExchangeFrame::CtsToSelf | ExchangeFrame::Rts | ExchangeFrame::Cts) => control(step),
            ExchangeFrame::Ack | ExchangeFrame::BlockAck => {
                vec![edca.edcafs.response_record(index, transmission.end, fate)]
            }
            ExchangeFrame::CfEnd => vec![edca.edcafs.cf_end_record(sender, transmission.end, fate)],
            ExchangeFrame::Data | ExchangeFrame::BlockAckReq | ExchangeFrame::Action => {
                let unread_fate = if transmission.collided { Fate::Collision } else { Fate::Error };
                let whole = (!read).then_some(fate);
                edca.edcafs.data_records(tap, index, transmission.end, packets, whole, unread_fate)
            }
            ExchangeFrame::MuBarTrigger
            | ExchangeFrame::ReportTrigger
            | ExchangeFrame::QosNull
            | ExchangeFrame::BasicTrigger
            | ExchangeFrame::MultiStaBlockAck => unreachable!("exchanges in space have one user"),
        };
        for record in &mut records {
            record.rate = transmission.rate;
            record.end = transmission.end;
            record.reserves = transmission.nav.saturating_since(transmission.end);
        }
        self.push_records(transmission, records);
    }

    /// Adds records of MPDUs sent together; a hearer other than the receiver has read all of them or none.
    fn push_records(&mut self, transmission: &Transmission, records: Vec<FrameRecord>) {
        let receivers = &self.receivers;
        if let Some(tap) = &mut self.tap {
            tap.heard_frames(records, |hearer, frame| match hearer.fate {
                _ if hearer.station == transmission.to && frame.aggregate.is_some() => frame.fate,
                Fate::Read if hearer.station == transmission.to => frame.fate,
                Fate::Read if transmission.to == BROADCAST && receivers.binary_search(&hearer.station).is_err() => {
                    Fate::Error
                }
                fate => fate,
            });
        }
    }
}

/// Outcome of a frame at its receiver.
fn fate(transmission: &Transmission, sensed: bool, read: bool) -> Fate {
    let has_no_receiver = transmission.is_for_all() && transmission.to != BROADCAST;
    if read || (has_no_receiver && !transmission.collided) {
        Fate::Read
    } else if transmission.collided {
        Fate::Collision
    } else if sensed || transmission.to == BROADCAST {
        Fate::Error
    } else {
        Fate::Deaf
    }
}
