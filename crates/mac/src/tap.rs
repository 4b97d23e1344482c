//! A record of every frame on the air: who, when, what, heard by whom, why lost; and of every backoff.
//!
//! A channel that is not asked to keep one spends a comparison on each frame. The records of one channel are in the
//! order in which they were made, that is roughly that of the frames' ends; those of one station are in order.

use wifair_packet::{Packet, PacketId, Packets};
use wifair_phy::TxMode;
use wifair_units::{BitRate, Bytes, Duration, Time};

use super::station::Frame;
use super::{Access, BROADCAST};

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    /// Request to send.
    Rts,
    /// Clear to send; addressed to its own sender it protects a frame that others cannot read.
    Cts,
    /// Data.
    Data,
    /// Acknowledgement.
    Ack,
    /// Request for a block ACK.
    BlockAckReq,
    /// Acknowledgement of an A-MPDU.
    BlockAck,
    /// End of a TXOP.
    CfEnd,
    /// Request for a block ACK agreement.
    AddbaRequest,
    /// The answer to that.
    AddbaResponse,
    /// The end of an agreement.
    Delba,
}

/// What became of a frame at a station that heard it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It was received.
    Read,
    /// Another frame was in its way: at the same time on the air, being received, or being sent by this station.
    Collision,
    /// It was too weak, or bits were wrong, or a given error probability struck it.
    Error,
    /// It was not heard at all.
    Deaf,
}

/// One frame on the air.
#[derive(Clone, Copy, Debug)]
pub struct FrameRecord {
    /// When it began.
    pub start: Time,
    /// When it ended.
    pub end: Time,
    /// What it is.
    pub kind: FrameKind,
    /// Who sent it.
    pub from: u32,
    /// For whom it is, or [`BROADCAST`].
    pub to: u32,
    /// At which rate.
    pub rate: BitRate,
    /// From the MAC header to the FCS.
    pub length: Bytes,
    /// What its duration field announces: how long the channel stays reserved after its end.
    pub reserves: Duration,
    /// Whether it was sent before; of data only.
    pub retry: bool,
    /// What became of it at the receiver; of a broadcast, whether anybody received it.
    pub fate: Fate,
    /// The packet that it carries; absent if the receiver had it already, and only the ACK was lost.
    pub packet: Option<Packet>,
    /// The number of this packet, which another may bear once the channel has gone on.
    pub id: Option<PacketId>,
    /// Sequence number of a data frame on a channel with aggregates, modulo 4096; of a BlockAckReq the first one that
    /// its sender still cares for, of ADDBA frames the first one of the agreement.
    pub sequence: Option<u16>,
    /// Traffic identifier of QoS data, block ACKs and ADDBA frames.
    pub tid: Option<u8>,
    /// Transmit mode of data, from HT on.
    pub mode: Option<TxMode>,
    /// Packets inside: more than one in an A-MSDU, see [`Tap::further_packets`].
    pub msdus: u16,
    /// Of an MPDU in an A-MPDU, the place in it. `start` and `end` are those of the whole PPDU.
    pub aggregate: Option<InAggregate>,
    /// Its place in the list of hearers.
    pub(super) hearers: Option<(usize, usize)>,
    /// Where the packets of an A-MSDU behind the first lie among all of these.
    pub(super) further: (usize, usize),
}

/// The place of an MPDU in an A-MPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InAggregate {
    /// Number of the A-MPDU on its channel since records are kept.
    pub ppdu: u64,
    /// From 0.
    pub place: u16,
    /// MPDUs in the A-MPDU.
    pub of: u16,
}

/// A station that heard a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hearer {
    /// The station.
    pub station: u32,
    /// What became of the frame there.
    pub fate: Fate,
}

/// A stretch of idle slots that a station counted while it had something to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackoffRecord {
    /// The station.
    pub station: u32,
    /// Since when it counted.
    pub from: Time,
    /// Until when: it sent then, or somebody else did.
    pub until: Time,
}

/// See the [module](self).
#[derive(Clone, Debug, Default)]
pub struct Tap {
    frames: Vec<FrameRecord>,
    hearers: Vec<Hearer>,
    backoffs: Vec<BackoffRecord>,
    /// Packets in A-MSDUs, but for the first of each.
    further: Vec<(PacketId, Packet)>,
    /// Hearers that belong to no frame yet.
    loose: usize,
    /// A-MPDUs so far.
    aggregates: u64,
}

impl Tap {
    /// The frames since the last [`Tap::clear`].
    #[must_use]
    pub fn frames(&self) -> &[FrameRecord] {
        &self.frames
    }

    /// Who heard a frame, in the order of their numbers. `None`: everybody did, as on the channel where all hear all;
    /// then a frame that met no other was read by all but its receiver, whose fate the record gives.
    #[must_use]
    pub fn hearers(&self, frame: &FrameRecord) -> Option<&[Hearer]> {
        frame.hearers.map(|(from, until)| &self.hearers[from..until])
    }

    /// The packets of an A-MSDU behind the first, with their numbers; none if the receiver had it already.
    #[must_use]
    pub fn further_packets(&self, frame: &FrameRecord) -> &[(PacketId, Packet)] {
        &self.further[frame.further.0..frame.further.1]
    }

    /// Those of all frames, one frame behind the other.
    #[must_use]
    pub fn all_further_packets(&self) -> &[(PacketId, Packet)] {
        &self.further
    }

    /// The place of a frame's further packets among those of all.
    #[must_use]
    pub const fn further_places(frame: &FrameRecord) -> std::ops::Range<usize> {
        frame.further.0..frame.further.1
    }

    /// The backoffs since the last [`Tap::clear`].
    #[must_use]
    pub fn backoffs(&self) -> &[BackoffRecord] {
        &self.backoffs
    }

    /// Forgets what was recorded.
    pub fn clear(&mut self) {
        self.frames.clear();
        self.hearers.clear();
        self.backoffs.clear();
        self.further.clear();
        self.loose = 0;
    }

    pub(super) fn hearer(&mut self, station: u32, fate: Fate) {
        self.hearers.push(Hearer { station, fate });
    }

    /// Frames on the air together that the last hearers heard. `fate_of` corrects what became of each at a station.
    pub(super) fn heard_frames(&mut self, frames: Vec<FrameRecord>, fate_of: impl Fn(Hearer, &FrameRecord) -> Fate) {
        let hearers = self.hearers.split_off(self.loose);
        for frame in frames {
            let from = self.hearers.len();
            self.hearers.extend(hearers.iter().map(|hearer| Hearer { fate: fate_of(*hearer, &frame), ..*hearer }));
            self.frames.push(FrameRecord { hearers: Some((from, self.hearers.len())), ..frame });
        }
        self.loose = self.hearers.len();
    }

    pub(super) fn backoff(&mut self, station: u32, from: Time, until: Time) {
        if until > from {
            self.backoffs.push(BackoffRecord { station, from, until });
        }
    }
}

impl FrameRecord {
    /// A frame that all hear, and that carries and reserves nothing.
    pub(super) fn new(kind: FrameKind, (from, to): (u32, u32), (start, end): (Time, Time), fate: Fate) -> Self {
        Self {
            start,
            end,
            kind,
            from,
            to,
            rate: BitRate::from_bps(0),
            length: Bytes(0),
            reserves: Duration::ZERO,
            retry: false,
            fate,
            packet: None,
            id: None,
            sequence: None,
            tid: None,
            mode: None,
            msdus: 1,
            aggregate: None,
            hearers: None,
            further: (0, 0),
        }
    }
}

/// A sender and its frame, on a channel where all hear all.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attempt<'a> {
    pub access: &'a Access,
    pub from: u32,
    pub frame: Frame,
    pub retry: bool,
    pub packets: &'a Packets,
}

impl Attempt<'_> {
    fn is_protected(&self) -> bool {
        self.frame.to != BROADCAST && self.access.protects(self.frame.length)
    }

    fn rts(&self, began: Time, fate: Fate) -> FrameRecord {
        let timing = &self.access.timing;
        let follows = timing.sifs * 3 + timing.cts() + self.frame.air + self.frame.ack;
        FrameRecord {
            rate: timing.basic_rate,
            length: timing.sizes.rts,
            reserves: self.access.round_nav(follows),
            ..FrameRecord::new(FrameKind::Rts, (self.from, self.frame.to), (began, began + timing.rts()), fate)
        }
    }

    fn data(&self, began: Time, fate: Fate) -> FrameRecord {
        let frame = &self.frame;
        let follows = if frame.to == BROADCAST { Duration::ZERO } else { self.access.timing.sifs + frame.ack };
        FrameRecord {
            rate: frame.rate,
            length: frame.length,
            reserves: self.access.round_nav(follows),
            retry: self.retry,
            packet: (!frame.received).then(|| self.packets[frame.id]),
            id: (!frame.received).then_some(frame.id),
            ..FrameRecord::new(FrameKind::Data, (self.from, frame.to), (began, began + frame.air), fate)
        }
    }
}

impl Tap {
    /// A frame that all hear.
    pub(super) fn push(&mut self, frame: FrameRecord) {
        self.frames.push(frame);
    }

    /// Takes note of the packets of an A-MSDU behind the first: where they lie.
    pub(super) fn add_further(&mut self, packets: impl Iterator<Item = (PacketId, Packet)>) -> (usize, usize) {
        let from = self.further.len();
        self.further.extend(packets);
        (from, self.further.len())
    }

    /// The number of a further A-MPDU.
    pub(super) fn next_aggregate(&mut self) -> u64 {
        self.aggregates += 1;
        self.aggregates - 1
    }

    /// What an exchange begins with, at `began`, and ends with.
    pub(super) fn opening(&mut self, began: Time, attempt: &Attempt<'_>, fate: Fate) {
        let frame = if attempt.is_protected() { attempt.rts(began, fate) } else { attempt.data(began, fate) };
        self.frames.push(frame);
    }

    /// A data frame that ends at `now`, with the RTS and CTS before it.
    pub(super) fn exchange(&mut self, now: Time, attempt: &Attempt<'_>, fate: Fate) {
        let timing = &attempt.access.timing;
        let began = now - attempt.frame.air;
        if attempt.is_protected() {
            let cts_began = began - timing.sifs - timing.cts();
            let rts = attempt.rts(cts_began - timing.sifs - timing.rts(), Fate::Read);
            self.frames.push(rts);
            let ends = (attempt.frame.to, attempt.from);
            self.frames.push(FrameRecord {
                rate: timing.basic_rate,
                length: timing.sizes.cts,
                reserves: rts.reserves - timing.sifs - timing.cts(),
                ..FrameRecord::new(FrameKind::Cts, ends, (cts_began, cts_began + timing.cts()), Fate::Read)
            });
        }
        self.frames.push(attempt.data(began, fate));
    }

    /// The ACK that ends at `now`.
    pub(super) fn ack(&mut self, now: Time, attempt: &Attempt<'_>, fate: Fate) {
        let timing = &attempt.access.timing;
        let frame = &attempt.frame;
        self.frames.push(FrameRecord {
            rate: timing.answer_rate(frame.rate),
            length: timing.sizes.ack,
            ..FrameRecord::new(FrameKind::Ack, (frame.to, attempt.from), (now - frame.ack, now), fate)
        });
    }
}
