//! A source of datagrams that is faster than its station can send.
//!
//! While a station has a frame in progress, an arriving datagram affects nothing but the queue. So if a single source
//! keeps a queue full, arrivals need no events: when the station dequeues its next packet, all datagrams due by then
//! are enqueued.

use wifair_engine::Stream;
use wifair_packet::{Packet, PacketId, Packets};
use wifair_units::{Duration, Time};

use super::datagram_runs::{DatagramRun, DatagramRuns};
use wifair_queue::Fifo;

/// Datagrams of one size at a constant rate.
#[derive(Clone, Debug)]
pub struct SaturatedSource {
    /// The next datagram; its payload offset grows by the payload each time.
    pub packet: Packet,
    /// Time of the next datagram.
    pub next: Time,
    /// Interval between datagrams.
    pub interval: Duration,
    /// Each interval is uniformly distributed around `interval`, within plus or minus this fraction of it (0 to 1).
    pub jitter: f64,
    /// Random stream of the intervals.
    pub draws: Stream,
    /// Number of datagrams generated since the last reset.
    pub generated: u64,
    /// Number of these datagrams for which the queue had no room.
    pub refused: u64,
    /// The datagrams in the queue for which no packets are written.
    pub(crate) unwritten: DatagramRuns,
}

impl SaturatedSource {
    /// A source whose next datagram is `packet`, at `next`.
    #[must_use]
    pub fn new(packet: Packet, next: Time, interval: Duration, jitter: f64, draws: Stream) -> Self {
        let unwritten = DatagramRuns::of(&packet, interval);
        Self { packet, next, interval, jitter, draws, generated: 0, refused: 0, unwritten }
    }

    /// Whether all datagrams due before `end` certainly fit into the queue; computed without counting them.
    #[inline]
    pub(crate) fn fits(&self, end: Time, queue: &Fifo) -> bool {
        let room = queue.room_for(self.packet.size).unwrap_or(0).min(1 << 16);
        self.jitter <= 0.0 && end <= self.next.saturating_add(self.interval * room)
    }

    /// Enqueues the datagrams due before `end`; `note` is called for each that fits, with its time.
    #[inline(always)]
    pub(crate) fn enqueue_arrivals(
        &mut self,
        end: Time,
        queue: &mut Fifo,
        packets: &mut Packets,
        mut note: impl FnMut(PacketId, Time),
    ) {
        while self.next < end && queue.has_room(self.packet.size) {
            let (id, packet) = packets.add();
            *packet = self.packet;
            packet.set_sent_at(self.next);
            queue.append(id, packet);
            note(id, self.next);
            self.skip_to_next();
        }
        while self.next < end {
            self.refused += 1;
            self.skip_to_next();
        }
    }

    /// Enqueues the datagrams due before `end` without writing packets, if the intervals are equal. Returns whether it
    /// did.
    #[inline]
    pub(crate) fn reserve_arrivals(&mut self, end: Time, queue: &mut Fifo) -> bool {
        if self.jitter > 0.0 || self.interval == Duration::ZERO {
            return false;
        }
        let Some(room) = queue.room_for(self.packet.size) else { return false };
        if self.next < end {
            let generated = (end - self.next - Duration::from_nanos(1)).div_floor(self.interval) + 1;
            let count = generated.min(room);
            if count > 0 {
                self.unwritten.push(DatagramRun { seq: self.packet.seq, sent_at: self.next, count });
                queue.reserve(count, self.packet.size);
            }
            self.generated += generated;
            self.refused += generated - count;
            self.packet.seq += u64::from(self.packet.payload) * generated;
            self.next += self.interval * generated;
        }
        true
    }

    /// A source that has ended, with the waiting datagrams of this one.
    pub(crate) fn leave_waiting(&mut self) -> Self {
        let ended = Self::new(self.packet, Time::NEVER, self.interval, self.jitter, self.draws.clone());
        let unwritten = std::mem::replace(&mut self.unwritten, DatagramRuns::of(&self.packet, self.interval));
        Self { unwritten, ..ended }
    }

    /// Whether it sends no more.
    pub(crate) fn has_ended(&self) -> bool {
        self.next == Time::NEVER
    }

    /// Advances to the next datagram.
    #[inline(always)]
    fn skip_to_next(&mut self) {
        self.generated += 1;
        self.packet.seq += u64::from(self.packet.payload);
        self.next += self.draws.jittered(self.interval, self.jitter);
    }
}
