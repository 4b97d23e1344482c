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

    /// Whether all datagrams due before `end` fit into the queue, as far as that is known without counting them.
    #[inline]
    pub(crate) fn fits(&self, end: Time, queue: &Fifo) -> bool {
        let room = queue.room_for(self.packet.size).unwrap_or(0).min(1 << 16);
        self.jitter <= 0.0 && end <= self.next + self.interval * room
    }

    /// Enqueues the datagrams due before `end`.
    pub(crate) fn enqueue_arrivals(&mut self, end: Time, queue: &mut Fifo, packets: &mut Packets) {
        self.enqueue_in_turn(end, queue, packets, |_, _, _, _| {});
    }

    /// The same for the usual case of many arrivals; `note` is called for packets that fit and follow each other in
    /// memory, with the first of them, their number, the time of the first and the interval between them.
    #[inline(always)]
    pub(crate) fn enqueue_arrivals_with(
        &mut self,
        end: Time,
        queue: &mut Fifo,
        packets: &mut Packets,
        note: impl FnMut(PacketId, usize, Time, Duration),
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
        mut note: impl FnMut(PacketId, usize, Time, Duration),
    ) {
        while self.next < end && queue.has_room(self.packet.size) {
            let (id, packet) = packets.add();
            *packet = self.packet;
            packet.set_sent_at(self.next);
            queue.append(id, packet);
            note(id, 1, self.next, Duration::ZERO);
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
        mut note: impl FnMut(PacketId, usize, Time, Duration),
    ) {
        let Self { packet: template, next, interval, .. } = *self;
        let came = (end - next - Duration::from_nanos(1)).div_floor(interval) + 1;
        let taken = came.min(room);
        let payload = u64::from(template.payload);
        let (mut time, mut seq) = (next, template.seq);
        #[allow(clippy::cast_possible_truncation)]
        let mut left = taken as usize;
        while left > 0 {
            let (first, slots) = packets.add_side_by_side(left);
            note(first, slots.len(), time, interval);
            for packet in &mut *slots {
                *packet = template;
                packet.seq = seq;
                packet.set_sent_at(time);
                seq += payload;
                time += interval;
            }
            left -= slots.len();
            queue.append_together(first.and_following(slots.len()), template.size);
        }
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
