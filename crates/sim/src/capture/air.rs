//! Frames as captured by a sniffer: which ones it receives, and the sequence numbers of data frames.

use wifair_mac::{Fate, FrameKind, FrameRecord, Hearer};
use wifair_packet::Packet;

use crate::world::Stamp;

/// The position of a sniffer.
#[derive(Clone, Copy, Debug)]
pub(super) enum Listener {
    /// Anywhere: it captures every frame that any station could have read. Frames that collided are lost.
    Anywhere,
    /// At an access point, given by its number; it also captures what the access point sends.
    Ap(u32),
}

impl Listener {
    /// Whether it captures this frame.
    pub(super) fn captures(self, frame: &FrameRecord, hearers: Option<&[Hearer]>) -> bool {
        match (self, hearers) {
            (Self::Anywhere, None) => frame.fate != Fate::Collision,
            (Self::Anywhere, Some(hearers)) => hearers.iter().any(|hearer| hearer.fate == Fate::Read),
            (Self::Ap(ap), _) if frame.from == ap => true,
            (Self::Ap(ap), None) => frame.fate == Fate::Read || (frame.fate != Fate::Collision && frame.to != ap),
            (Self::Ap(ap), Some(hearers)) => hearers.iter().any(|one| one.station == ap && one.fate == Fate::Read),
        }
    }
}

/// The contents of a data frame that its sender may retransmit.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub packet: Packet,
    pub stamp: Stamp,
    /// Its sequence number, 12 bits.
    pub sequence: u16,
    /// Whether it was sent before.
    pub retry: bool,
    pub(super) to: u32,
    /// The packets of an A-MSDU after the first.
    pub(super) further: Vec<(Packet, Stamp)>,
}

/// Data frames of a station that are not yet acknowledged.
#[derive(Clone, Debug, Default)]
pub(super) struct OpenFrames {
    open: Vec<Known>,
    next: u16,
}

/// A station has at most one frame per access category in progress; older frames were given up.
const MOST_OPEN: usize = 4;

impl OpenFrames {
    /// The contents and the sequence number of a data frame; a retransmission keeps its number.
    pub(super) fn register(&mut self, record: &FrameRecord, stamp: Option<Stamp>) -> Option<Known> {
        if record.kind != FrameKind::Data {
            return None;
        }
        let same = |open: &Known| match (&record.packet, stamp) {
            (Some(packet), Some(stamp)) => open.stamp == stamp && open.packet.kind == packet.kind,
            // The receiver already has it, and only its ACK was lost.
            _ => open.to == record.to,
        };
        if record.retry
            && let Some(open) = self.open.iter_mut().rev().find(|open| same(open))
        {
            open.retry = true;
            return Some(open.clone());
        }
        let (packet, stamp) = (record.packet?, stamp?);
        let known = Known { packet, stamp, sequence: self.next, retry: false, to: record.to, further: vec![] };
        self.next = (self.next + 1) & 0x0fff;
        if self.open.len() == MOST_OPEN {
            self.open.remove(0);
        }
        self.open.push(known.clone());
        Some(known)
    }
}

/// A received ACK ends the retries of the last frame of the station that it is addressed to.
pub(super) fn end_retries(retries: &mut [OpenFrames], record: &FrameRecord) {
    if record.kind == FrameKind::Ack && record.fate == Fate::Read {
        let sender = &mut retries[record.to as usize].open;
        if let Some(last) = sender.iter().rposition(|open| open.to == record.from) {
            sender.remove(last);
        }
    }
}
