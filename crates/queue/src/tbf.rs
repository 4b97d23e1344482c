//! TBF: a token bucket before a FIFO.
//!
//! Source: Linux 6.12, `net/sched/sch_tbf.c` (man 8 tc-tbf). The bucket fills at the rate, up to the burst; the first
//! packet leaves as soon as the bucket holds its bytes, which it takes. The FIFO drops arrivals that do not fit. A
//! packet longer than the burst could never leave and is dropped.

use std::collections::VecDeque;

use wifair_config::table;
use wifair_packet::{PacketId, Packets};
use wifair_units::{BitRate, Bytes, Duration, Time};

use super::linux::{HEADER, length};
use super::room::Room;
use super::{Cause, Discipline, Dropped, Site};

table! {
    /// A token bucket before a FIFO.
    pub struct Params {
        /// Rate at which the bucket fills; if absent, that of the link.
        pub rate: Option<BitRate> = None, "at least 8 bit/s" => |rate| rate.is_none_or(|rate| rate.as_bps() >= 8);
        /// Size of the bucket, which counts an Ethernet header of 14 bytes with each packet.
        pub burst: Bytes = Bytes(3000), "at least 1514 B" => |burst| burst.0 >= 1514;
    }
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub struct Tbf {
    room: Room,
    /// Waiting packets, with their lengths.
    line: VecDeque<(PacketId, u64)>,
    rate: Option<BitRate>,
    burst: u64,
    /// When the bucket will be full.
    full_at: Time,
}

impl Tbf {
    /// An empty queue with a full bucket.
    pub fn new(params: &Params, site: &Site<'_>) -> Self {
        Self {
            room: Room::new(site.limit, None),
            line: VecDeque::new(),
            rate: params.rate.or(site.rate),
            burst: params.burst.0,
            full_at: Time::ZERO,
        }
    }

    fn time_for(&self, bytes: u64) -> Duration {
        self.rate.map_or(Duration::ZERO, |rate| rate.time_for(Bytes(bytes)))
    }
}

impl Discipline for Tbf {
    fn enqueue(&mut self, _now: Time, id: PacketId, _to: u32, packets: &mut Packets, dropped: &mut Dropped) {
        let packet = &mut packets[id];
        let length = length(packet);
        if length > self.burst || !self.room.fits_with(packet.bytes().0, HEADER) {
            dropped.push((id, Cause::Overflow));
            return;
        }
        self.room.enter(packet);
        self.line.push_back((id, length));
    }

    fn dequeue(&mut self, now: Time, packets: &mut Packets, _dropped: &mut Dropped) -> Option<PacketId> {
        if self.ready() > now {
            return None;
        }
        let (id, length) = self.line.pop_front()?;
        self.full_at = self.full_at.max(now) + self.time_for(length);
        self.room.leave(packets[id].bytes().0);
        Some(id)
    }

    fn len(&self) -> usize {
        self.line.len()
    }

    fn is_full(&self) -> bool {
        self.room.is_full()
    }

    /// When the bucket holds the bytes of the first packet.
    fn ready(&self) -> Time {
        let Some((_, length)) = self.line.front() else { return Time::ZERO };
        let spare = self.time_for(self.burst).saturating_sub(self.time_for(*length));
        Time::ZERO + self.full_at.saturating_since(Time::ZERO + spare)
    }
}
