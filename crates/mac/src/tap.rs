//! Records of all frames on the air (who, when, what, received or lost by whom), and of all backoffs.
//!
//! A channel without records spends one comparison per frame. The records of a channel are in the order in which they
//! were made, roughly by the end of the frame. The records of a single station are in order.

use wifair_packet::{Packet, PacketId};
use wifair_phy::TxMode;
use wifair_units::{BitRate, Bytes, Duration, Time};

/// Type of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FrameKind {
    /// Request to send.
    Rts,
    /// Clear to send; addressed to its own sender it is a CTS-to-self.
    Cts,
    /// Data.
    Data,
    /// Acknowledgement.
    Ack,
    /// Request for a block ACK.
    BlockAckReq,
    /// Block ACK.
    BlockAck,
    /// End of a TXOP.
    CfEnd,
    /// Request for a block ACK agreement.
    AddbaRequest,
    /// Response to that request.
    AddbaResponse,
    /// End of an agreement.
    Delba,
}

/// Outcome of a frame at a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The station received it.
    Read,
    /// Another frame was in the way: on the air at the same time, being received, or being sent by this station.
    Collision,
    /// It was too weak, or lost to bit errors or to a given error probability.
    Error,
    /// It was not sensed at all.
    Deaf,
}

/// One frame on the air.
#[derive(Clone, Copy, Debug)]
pub struct FrameRecord {
    /// Start of the frame.
    pub start: Time,
    /// End of the frame.
    pub end: Time,
    /// Type.
    pub kind: FrameKind,
    /// Sender.
    pub from: u32,
    /// Receiver, or [`wifair_packet::BROADCAST`].
    pub to: u32,
    /// Rate.
    pub rate: BitRate,
    /// Length from the MAC header to the FCS.
    pub length: Bytes,
    /// Duration field: how long the channel stays reserved after the end of the frame.
    pub reserves: Duration,
    /// Whether it was sent before (data only).
    pub retry: bool,
    /// Outcome at the receiver; for a broadcast, whether anybody received it.
    pub fate: Fate,
    /// The packet in the frame; `None` if the receiver already had it and only the ACK was lost.
    pub packet: Option<Packet>,
    /// Number of this packet; may be reused once the channel has advanced.
    pub id: Option<PacketId>,
    /// Sequence number modulo 4096 of a data frame on a channel with aggregation; the starting sequence number of
    /// BlockAckReq and ADDBA frames.
    pub sequence: Option<u16>,
    /// Traffic identifier of QoS data, block ACKs and ADDBA frames.
    pub tid: Option<u8>,
    /// The sender's access category, from 0; data of each have their own sequence numbers.
    pub category: u8,
    /// Transmit mode of data for HT and later, and of responses to data in HE extended range.
    pub mode: Option<TxMode>,
    /// Number of packets; more than one in an A-MSDU, see [`Tap::further_packets`].
    pub msdus: u16,
    /// Position of an MPDU in its A-MPDU. `start` and `end` are then those of the whole PPDU.
    pub aggregate: Option<InAggregate>,
    /// Position in the list of hearers.
    pub(super) hearers: Option<(usize, usize)>,
    /// Position of the packets of an A-MSDU after the first, in the list of all such packets.
    pub(super) further: (usize, usize),
}

/// Position of an MPDU in an A-MPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InAggregate {
    /// Number of the A-MPDU on its channel since records began.
    pub ppdu: u64,
    /// Index of the MPDU, from 0.
    pub place: u16,
    /// Number of MPDUs in the A-MPDU.
    pub of: u16,
}

/// A station that sensed a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hearer {
    /// The station.
    pub station: u32,
    /// Outcome of the frame there.
    pub fate: Fate,
    /// Whether the frame, if the station reads it, changes its basic NAV: the station has two NAVs, and it is a frame
    /// of another BSS.
    pub is_inter_bss: bool,
}

/// A period of idle slots that a station counted while it had something to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackoffRecord {
    /// The station.
    pub station: u32,
    /// Start of the period.
    pub from: Time,
    /// End of the period, when this or another station sent.
    pub until: Time,
}

/// See the [module](self).
#[derive(Clone, Debug, Default)]
pub struct Tap {
    frames: Vec<FrameRecord>,
    hearers: Vec<Hearer>,
    backoffs: Vec<BackoffRecord>,
    /// Packets in A-MSDUs, except for the first of each.
    further: Vec<(PacketId, Packet)>,
    /// Number of hearers not yet assigned to a frame.
    loose: usize,
    /// Number of A-MPDUs so far.
    aggregates: u64,
}

impl Tap {
    /// Frames since the last [`Tap::clear`].
    #[must_use]
    pub fn frames(&self) -> &[FrameRecord] {
        &self.frames
    }

    /// Stations that sensed a frame, in the order of their numbers. `None` on a channel where all stations hear each
    /// other: a frame that did not collide was then read by all but its receiver, whose outcome is in the record.
    #[must_use]
    pub fn hearers(&self, frame: &FrameRecord) -> Option<&[Hearer]> {
        frame.hearers.map(|(from, until)| &self.hearers[from..until])
    }

    /// Packets of an A-MSDU after the first, with their numbers; empty if the receiver already had the A-MSDU.
    #[must_use]
    pub fn further_packets(&self, frame: &FrameRecord) -> &[(PacketId, Packet)] {
        &self.further[frame.further.0..frame.further.1]
    }

    /// The further packets of all frames, frame by frame.
    #[must_use]
    pub fn all_further_packets(&self) -> &[(PacketId, Packet)] {
        &self.further
    }

    /// Position of a frame's further packets in [`Tap::all_further_packets`].
    #[must_use]
    pub const fn further_places(frame: &FrameRecord) -> std::ops::Range<usize> {
        frame.further.0..frame.further.1
    }

    /// Backoffs since the last [`Tap::clear`].
    #[must_use]
    pub fn backoffs(&self) -> &[BackoffRecord] {
        &self.backoffs
    }

    /// Clears the records.
    pub fn clear(&mut self) {
        self.frames.clear();
        self.hearers.clear();
        self.backoffs.clear();
        self.further.clear();
        self.loose = 0;
    }

    pub(super) fn hearer(&mut self, hearer: Hearer) {
        self.hearers.push(hearer);
    }

    /// Adds frames sent together that the pending hearers sensed. `fate_of` corrects the outcome of each frame at a
    /// hearer.
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
    /// A frame that all stations hear, without packet and reservation.
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
            category: 0,
            mode: None,
            msdus: 1,
            aggregate: None,
            hearers: None,
            further: (0, 0),
        }
    }
}

impl Tap {
    /// Adds a frame that all stations hear.
    pub(super) fn push(&mut self, frame: FrameRecord) {
        self.frames.push(frame);
    }

    /// Removes the frames from position `from` on that have not ended at `now`.
    pub(super) fn remove_unended(&mut self, from: usize, now: Time) {
        let later = self.frames.split_off(from);
        self.frames.extend(later.into_iter().filter(|frame| frame.end <= now));
    }

    /// Adds the packets of an A-MSDU after the first; returns their position.
    pub(super) fn add_further(&mut self, packets: impl Iterator<Item = (PacketId, Packet)>) -> (usize, usize) {
        let from = self.further.len();
        self.further.extend(packets);
        (from, self.further.len())
    }

    /// The number of the next A-MPDU.
    pub(super) fn next_aggregate(&mut self) -> u64 {
        self.aggregates += 1;
        self.aggregates - 1
    }
}
