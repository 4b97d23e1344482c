//! Records of frames and backoffs that the tests compare, and the operations on a channel that they need.

use std::collections::BTreeMap;

use wifair_mac::{BackoffRecord, Call, Fate, FrameKind, FrameRecord, GeneralChannel, SpatialChannel, Tap};
use wifair_packet::{Kind, Packet, PacketId, Packets};
use wifair_units::{BitRate, Bytes, Duration, Time};

use crate::reference::ReferenceChannel;

/// The fields of a frame record that the tests compare.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparedFrame {
    /// Start and end.
    pub span: (Time, Time),
    /// Sender and receiver.
    pub ends: (u32, u32),
    pub kind: FrameKind,
    pub fate: Fate,
    pub rate: BitRate,
    pub length: Bytes,
    pub reserves: Duration,
    pub retry: bool,
    /// Flow of its first packet.
    pub flow: Option<u32>,
    pub sequence: Option<u16>,
    /// Number of packets.
    pub msdus: usize,
    /// Number of MPDUs of its PPDU.
    pub mpdus: usize,
}

impl ComparedFrame {
    /// A frame that was read, without data and reservation, as a base for further fields.
    pub fn plain() -> Self {
        Self {
            span: (Time::ZERO, Time::ZERO),
            ends: (0, 0),
            kind: FrameKind::Ack,
            fate: Fate::Read,
            rate: BitRate::from_bps(0),
            length: Bytes(0),
            reserves: Duration::ZERO,
            retry: false,
            flow: None,
            sequence: None,
            msdus: 1,
            mpdus: 1,
        }
    }
}

fn compared(frame: &FrameRecord) -> ComparedFrame {
    ComparedFrame {
        span: (frame.start, frame.end),
        ends: (frame.from, frame.to),
        kind: frame.kind,
        fate: frame.fate,
        rate: frame.rate,
        length: frame.length,
        reserves: frame.reserves,
        retry: frame.retry,
        flow: frame.packet.map(|packet| packet.flow),
        sequence: frame.sequence,
        msdus: frame.msdus.into(),
        mpdus: frame.aggregate.map_or(1, |aggregate| aggregate.of.into()),
    }
}

/// Frames and backoffs that a channel has recorded.
pub type Records = (Vec<ComparedFrame>, Vec<BackoffRecord>);

/// Sender and category of a packet; the category as given, and by the kind of the packet.
type Origin = (u32, (usize, bool));

/// Checks that packets of one sender, receiver and category arrive in the order in which they were offered.
#[derive(Debug, Default)]
pub struct Order {
    /// Place of each packet among those offered, which its number need not show, and its origin.
    offered: BTreeMap<PacketId, (usize, Origin)>,
    /// Place of the last packet that arrived, by receiver and origin.
    last: BTreeMap<(u32, Origin), usize>,
}

impl Order {
    /// `sender` is offered a packet.
    pub fn offer(&mut self, sender: u32, category: usize, id: PacketId, packet: &Packet) {
        let place = self.offered.len();
        self.offered.insert(id, (place, (sender, (category, packet.kind == Kind::Udp))));
    }

    /// `to` receives a packet.
    pub fn receive(&mut self, to: u32, id: PacketId) {
        let (place, origin) = self.offered[&id];
        let before = self.last.insert((to, origin), place);
        assert!(before < Some(place), "{id:?}, offered as number {place}, arrives behind number {before:?}");
    }
}

/// The numbers of more than a thousand packets have gaps.
#[test]
fn packets_may_have_any_numbers() {
    let (mut order, mut packets) = (Order::default(), Packets::default());
    let ids: Vec<PacketId> = (0..5000).map(|_| packets.insert(Packet::default())).collect();
    assert!(ids.iter().any(|id| id.index() >= ids.len()));
    for id in &ids {
        order.offer(0, 0, *id, &packets[*id]);
    }
    for id in ids {
        order.receive(1, id);
    }
}

/// Operations that the tests need and whose names or arguments differ between channels.
pub trait Tested {
    /// Turns records on or off.
    fn keep_records(&mut self, on: bool);
    fn records(&mut self) -> Option<Records>;
    /// Offers a packet in a category, unless there is only one or the kind of the packet decides.
    fn put(&mut self, station: u32, category: usize, id: PacketId, call: &mut Call<'_>);
}

/// The records of a channel, if they are on.
fn records_of(tap: Option<&mut Tap>) -> Option<Records> {
    tap.map(|tap| (tap.frames().iter().map(compared).collect(), tap.backoffs().to_vec()))
}

impl Tested for GeneralChannel {
    fn keep_records(&mut self, on: bool) {
        self.set_tap(on);
    }

    fn records(&mut self) -> Option<Records> {
        records_of(self.tap())
    }

    fn put(&mut self, station: u32, category: usize, id: PacketId, call: &mut Call<'_>) {
        self.offer_in(station, category, id, call);
    }
}

impl Tested for SpatialChannel {
    fn keep_records(&mut self, on: bool) {
        self.set_tap(on);
    }

    fn records(&mut self) -> Option<Records> {
        records_of(self.tap())
    }

    fn put(&mut self, station: u32, category: usize, id: PacketId, call: &mut Call<'_>) {
        match category {
            0 => self.offer(station, id, call), // also without categories
            _ => self.offer_in(station, category, id, call),
        };
    }
}

impl Tested for ReferenceChannel {
    fn keep_records(&mut self, on: bool) {
        self.set_tap(on);
    }

    fn records(&mut self) -> Option<Records> {
        self.observed()
    }

    fn put(&mut self, station: u32, category: usize, id: PacketId, call: &mut Call<'_>) {
        self.offer_in(station, category, id, call);
    }
}

/// The shortcut keeps no records and has one category.
#[cfg(feature = "fast")]
impl Tested for wifair_mac::SharedChannel {
    fn keep_records(&mut self, on: bool) {
        assert!(!on, "it keeps none");
    }

    fn records(&mut self) -> Option<Records> {
        None
    }

    fn put(&mut self, station: u32, _category: usize, id: PacketId, call: &mut Call<'_>) {
        self.offer(station, id, call);
    }
}
