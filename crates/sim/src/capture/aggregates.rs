//! What a sniffer must store about the frames of 802.11n and later: the packets in retransmitted MPDUs, the sequence
//! numbers of frames other than QoS data, and the contents of block ACKs.

use std::collections::BTreeMap;

use wifair_mac::{Fate, FrameKind, FrameRecord};
use wifair_packet::Packet;
use wifair_units::Duration;

use super::air::Known;
use crate::world::Stamp;

/// Sequence numbers wrap at this value.
const NUMBERS: u16 = 4096;
/// The most MPDUs that may be outstanding.
const LARGEST_WINDOW: u16 = 1024;

/// A recipient's scoreboard by the rules of IEEE Std 802.11-2016, 10.24.7.3 (full state): a window that ends with the
/// last sequence number received, and begins after what a BlockAckReq has given up.
#[derive(Clone, Debug)]
struct BlockAckScoreboard {
    /// `WinStartR`.
    start: u16,
    received: Vec<bool>,
}

impl BlockAckScoreboard {
    fn new() -> Self {
        Self { start: 0, received: vec![false; usize::from(NUMBERS)] }
    }

    /// Advances a window of `size` to `start`.
    fn advance(&mut self, start: u16, size: u16) {
        while self.start != start {
            self.received[usize::from((self.start + size) % NUMBERS)] = false;
            self.start = (self.start + 1) % NUMBERS;
        }
    }

    fn ahead(&self, number: u16) -> u16 {
        (number + NUMBERS - self.start) % NUMBERS
    }

    fn receive(&mut self, number: u16, size: u16) {
        let ahead = self.ahead(number);
        if ahead >= NUMBERS / 2 {
            return;
        }
        if ahead >= size {
            self.advance((number + NUMBERS + 1 - size) % NUMBERS, size);
        }
        self.received[usize::from(number)] = true;
    }

    fn request(&mut self, start: u16, size: u16) {
        if self.ahead(start) < NUMBERS / 2 {
            self.advance(start, size);
        }
    }

    /// The bitmap of the window, the first sequence number in the lowest bit.
    fn bitmap(&self, size: u16) -> Vec<u8> {
        let has = |place: u16| self.received[usize::from((self.start + place) % NUMBERS)];
        (0..size / 8).map(|byte| (0..8).fold(0, |bits, bit| bits | u8::from(has(8 * byte + bit)) << bit)).collect()
    }
}

/// Sender, receiver, the sender's category and the number in the run, which each category counts by itself.
type SubframeKey = (u32, u32, u8, u16);

/// The packets of an A-MSDU after the first.
type Subframes = Vec<(Packet, Stamp)>;

/// An MPDU that may be sent again.
#[derive(Clone, Debug)]
struct SentMpdu {
    packet: Packet,
    stamp: Stamp,
    further: Subframes,
    /// Its sequence number on the air.
    sequence: u16,
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub(super) struct Aggregates {
    /// Size of the block ACK bitmap to or from each station, in bits, by station number.
    sizes: Vec<u16>,
    sent: BTreeMap<SubframeKey, SentMpdu>,
    /// Scoreboards by originator, recipient and traffic identifier.
    scoreboards: BTreeMap<(u32, u32, u8), BlockAckScoreboard>,
    /// The last sequence number of each station's management frames and data other than QoS data, which share a counter
    /// (IEEE Std 802.11-2020, 10.3.2.14.2).
    shared: BTreeMap<u32, u16>,
    /// The sequence number of the last management frame of each kind, by sender, receiver and traffic identifier.
    management: BTreeMap<(u32, u32, Option<u8>, FrameKind), u16>,
    timeout: u16,
}

/// The contents of a block ACK: starting sequence number and bitmap.
pub(super) type Acknowledged = (u16, Vec<u8>);

/// What an ADDBA or DELBA frame says besides its record: its sequence number, how many MPDUs may be outstanding, and
/// the Block Ack Timeout Value in TU of 1024 us, 0 for none.
#[derive(Clone, Copy, Debug)]
pub(super) struct AgreedParameters {
    pub sequence: u16,
    pub window: u16,
    pub timeout: u16,
}

impl Aggregates {
    /// `sizes` are the bitmap sizes in bits of each station; between two stations the smaller one is used.
    pub(super) fn new(sizes: Vec<u16>, inactivity_timeout: Option<Duration>) -> Self {
        let units = |time: Duration| u16::try_from(time.as_nanos().div_ceil(1_024_000)).unwrap_or(u16::MAX);
        let timeout = inactivity_timeout.map_or(0, units);
        Self {
            sizes,
            sent: BTreeMap::new(),
            scoreboards: BTreeMap::new(),
            shared: BTreeMap::new(),
            management: BTreeMap::new(),
            timeout,
        }
    }

    /// The contents of an MPDU with a sequence number, even if its receiver already has it; `further` are the packets
    /// of an A-MSDU after the first.
    pub(super) fn register(
        &mut self,
        record: &FrameRecord,
        stamp: Option<Stamp>,
        further: impl Iterator<Item = (Packet, Stamp)>,
    ) -> Option<Known> {
        let number = record.sequence?;
        let key = |number| (record.from, record.to, record.category, number);
        if let (Some(packet), Some(stamp)) = (record.packet, stamp) {
            let sequence = match self.sent.get(&key(number)) {
                _ if record.tid.is_some() => number,
                Some(before) if record.retry => before.sequence,
                _ => self.next_shared(record.from),
            };
            self.sent.insert(key(number), SentMpdu { packet, stamp, further: further.collect(), sequence });
            self.sent.remove(&key((number + NUMBERS - LARGEST_WINDOW) % NUMBERS));
        }
        let SentMpdu { packet, stamp, further, sequence } = self.sent.get(&key(number))?.clone();
        Some(Known { packet, stamp, sequence, retry: record.retry, to: record.to, further })
    }

    /// The next number of a station's counter for all frames but QoS data.
    fn next_shared(&mut self, station: u32) -> u16 {
        let last = self.shared.entry(station).or_default();
        *last = (*last + 1) % NUMBERS;
        *last
    }

    /// The contents of an ADDBA or DELBA frame.
    pub(super) fn agreement(&mut self, record: &FrameRecord) -> Option<AgreedParameters> {
        if !matches!(record.kind, FrameKind::AddbaRequest | FrameKind::AddbaResponse | FrameKind::Delba) {
            return None;
        }
        let key = (record.from, record.to, record.tid, record.kind);
        let sequence = match self.management.get(&key) {
            Some(before) if record.retry => *before,
            _ => self.next_shared(record.from),
        };
        self.management.insert(key, sequence);
        Some(AgreedParameters { sequence, window: self.window_between(record.from, record.to), timeout: self.timeout })
    }

    /// Number of bits in a block ACK between two stations.
    fn window_between(&self, one: u32, other: u32) -> u16 {
        let size_of = |station: u32| self.sizes.get(station as usize).copied().unwrap_or(64);
        size_of(one).min(size_of(other))
    }

    /// Records a frame; if it is a block ACK, returns its contents.
    pub(super) fn note(&mut self, record: &FrameRecord) -> Option<Acknowledged> {
        let tid = record.tid?;
        let (originator, recipient) = match record.kind {
            FrameKind::BlockAck => (record.to, record.from),
            _ => (record.from, record.to),
        };
        let size = self.window_between(originator, recipient);
        let board = self.scoreboards.entry((originator, recipient, tid)).or_insert_with(BlockAckScoreboard::new);
        match (record.kind, record.sequence) {
            (FrameKind::BlockAck, _) => return Some((board.start, board.bitmap(size))),
            (FrameKind::Data, Some(number)) if record.fate == Fate::Read => board.receive(number, size),
            (FrameKind::BlockAckReq, Some(start)) if record.fate == Fate::Read => board.request(start, size),
            _ => {}
        }
        None
    }
}
