//! A source of datagrams that is faster than its station can send.
//!
//! While a station has a frame in progress, a datagram that arrives affects nothing but its queue. So if a single
//! source keeps a queue full, arrivals need no events: those due by then are enqueued when the station dequeues its
//! next packet.

use wifair_engine::Stream;
use wifair_packet::{Packet, PacketId, Packets};
use wifair_units::{Duration, Time};

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
    /// Each interval is drawn uniformly within this fraction of itself around its mean, from 0 to 1.
    pub jitter: f64,
    /// Random stream of the intervals.
    pub draws: Stream,
    /// Number of datagrams generated since this was reset.
    pub came: u64,
    /// Number of these for which the queue had no room.
    pub refused: u64,
}

impl SaturatedSource {
    /// Draws the interval to the next datagram: `interval` with `jitter`.
    #[inline]
    pub fn wait(interval: Duration, jitter: f64, draws: &mut Stream) -> Duration {
        if jitter > 0.0 { Self::jittered(interval, jitter, draws) } else { interval }
    }

    #[inline(never)]
    fn jittered(interval: Duration, jitter: f64, draws: &mut Stream) -> Duration {
        Duration::from_secs_f64(interval.as_secs() * (1.0 + jitter * (2.0 * draws.uniform() - 1.0)))
    }

    /// Enqueues the datagrams due before `end`.
    pub(crate) fn enqueue_arrivals(&mut self, end: Time, queue: &mut Fifo, packets: &mut Packets) {
        self.enqueue_in_turn(end, queue, packets, |_, _| {});
    }

    /// The same for the usual case of many arrivals; `note` is called with each packet that fits, and its time.
    #[inline(always)]
    pub(crate) fn enqueue_arrivals_with(
        &mut self,
        end: Time,
        queue: &mut Fifo,
        packets: &mut Packets,
        note: impl FnMut(PacketId, Time),
    ) {
        match queue.room_for(self.packet.size) {
            Some(room) if self.jitter <= 0.0 && self.interval > Duration::ZERO && self.next < end => {
                self.enqueue_together(end, room, queue, packets, note);
            }
            _ => self.enqueue_in_turn(end, queue, packets, note),
        }
    }

    /// The same, one by one.
    #[inline(always)]
    fn enqueue_in_turn(
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
            self.pass_on();
        }
        while self.next < end {
            self.refused += 1;
            self.pass_on();
        }
    }

    /// The same for equal intervals, all at once, for a queue with room for `room` more.
    #[inline(always)]
    fn enqueue_together(
        &mut self,
        end: Time,
        room: u64,
        queue: &mut Fifo,
        packets: &mut Packets,
        mut note: impl FnMut(PacketId, Time),
    ) {
        let Self { mut packet, next, interval, .. } = *self;
        let came = (end - next - Duration::from_nanos(1)).div_floor(interval) + 1;
        let taken = came.min(room);
        let payload = u64::from(packet.payload);
        let mut time = next;
        for _ in 0..taken {
            let (id, slot) = packets.add();
            packet.set_sent_at(time);
            *slot = packet;
            note(id, time);
            queue.push(id);
            packet.seq += payload;
            time += interval;
        }
        queue.count_pushed(packet.size);
        self.came += came;
        self.refused += came - taken;
        self.packet.seq += payload * came;
        self.next += interval * came;
    }

    /// Advances to the next datagram.
    #[inline(always)]
    fn pass_on(&mut self) {
        self.came += 1;
        self.packet.seq += u64::from(self.packet.payload);
        self.next += Self::wait(self.interval, self.jitter, &mut self.draws);
    }
}
