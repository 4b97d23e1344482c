//! One direction of a wired link: a queue, a rate, a delay.
//!
//! With a burst it is a token bucket, as the shaper of Linux (man 8 tc-tbf): a packet leaves at once when the bucket
//! holds as many bytes, which it then takes out; the bucket fills at the rate up to the burst. It is kept as the time at
//! which the bucket will be full (ITU-T I.371, 2004, annex A: the generic cell rate algorithm). When the next packet may
//! leave is reckoned with the size of the one before; a larger one waits for the rest outside the queue.

use wifair_engine::DelayLine;
use wifair_packet::{PacketId, Packets};
use wifair_units::{BitRate, Bytes, Duration, Time};
use wifair_wlan::queue::{Discipline, Dropped, Queue};

use super::plan::LinkPlan;

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Link {
    rate: Option<BitRate>,
    delay: Duration,
    queue: Queue,
    /// The queue holds packets.
    waits: bool,
    /// A packet that finds the link idle leaves as if it had passed through the queue.
    straight: bool,
    /// What arrives is taken out by [`Link::take_arrived`] at any later time.
    sink: bool,
    /// When [`Link::advance`] is to be called next.
    next: Time,
    /// The sizes that were sent last, and their time at the rate: small packets, and large ones.
    airs: [(u16, Duration); 2],
    /// The next packet may be sent from then on: the one before has been, or the bucket holds enough.
    free_at: Time,
    bucket: Option<Bucket>,
    /// Packets that are being sent or propagate.
    line: DelayLine<PacketId>,
}

#[derive(Debug)]
struct Bucket {
    /// What the burst takes at the rate.
    burst: Duration,
    full_at: Time,
}

impl Bucket {
    /// When the bucket holds what takes `air` at the rate, at the earliest `now`.
    fn holds(&self, now: Time, air: Duration) -> Time {
        now.max(Time::ZERO + (self.full_at + air).saturating_since(Time::ZERO + self.burst))
    }
}

impl Link {
    pub(super) fn new(plan: LinkPlan) -> Self {
        let bucket = plan.rate.zip(plan.burst).map(|(rate, burst)| {
            // The bucket is full from the start.
            Bucket { burst: rate.time_for(burst), full_at: Time::ZERO }
        });
        Self {
            rate: plan.rate,
            delay: plan.delay,
            waits: false,
            straight: bucket.is_none() && matches!(plan.queue, Queue::Fifo(_)),
            queue: plan.queue,
            sink: false,
            next: Time::NEVER,
            airs: [(0, Duration::ZERO); 2],
            free_at: Time::ZERO,
            bucket,
            line: DelayLine::default(),
        }
    }

    /// When [`Link::advance`] is to be called next. A packet that waits is sent before one that arrives at the
    /// same instant is handed out.
    #[inline]
    pub(super) fn next(&self) -> Time {
        self.next
    }

    fn look(&mut self) {
        self.waits = !self.queue.is_empty();
        let arrival = if self.sink { Time::NEVER } else { self.line.next() };
        self.next = if self.waits { arrival.min(self.resumes()) } else { arrival };
    }

    /// When the next packet of the queue may be sent.
    #[inline]
    fn resumes(&self) -> Time {
        self.free_at.max(self.queue.ready())
    }

    /// Takes in a packet. Returns whether something was dropped or [`Link::next`] may have changed.
    #[inline]
    pub(super) fn send(&mut self, now: Time, id: PacketId, packets: &mut Packets, dropped: &mut Dropped) -> bool {
        if self.straight && !self.waits && now >= self.free_at {
            self.free_at = now + self.air(packets[id].size);
            let arrival = self.free_at + self.delay;
            let first = self.next == Time::NEVER;
            self.line.push(arrival, id);
            if first && !self.sink {
                self.next = arrival;
            }
            return first;
        }
        self.send_by_queue(now, id, packets, dropped);
        true
    }

    /// From now on no event tells of what arrives, or again one does; before anything has been sent.
    pub(super) fn set_sink(&mut self, sink: bool) {
        self.sink = sink;
    }

    /// Whether no event tells of what arrives.
    pub(super) fn is_sink(&self) -> bool {
        self.sink
    }

    /// Takes out a packet that arrives before `end`, of which no event tells.
    #[inline]
    pub(super) fn take_arrived(&mut self, end: Time) -> Option<PacketId> {
        if self.line.next() < end { self.line.pop() } else { None }
    }

    fn send_by_queue(&mut self, now: Time, id: PacketId, packets: &mut Packets, dropped: &mut Dropped) {
        let idle = now >= self.free_at && !self.waits;
        if idle && matches!(self.queue, Queue::Fifo(_)) {
            self.transmit(now, id, packets); // as if it had passed through the queue
        } else {
            self.queue.enqueue(now, id, 0, packets, dropped);
            if idle && let Some(id) = self.queue.dequeue(now, packets, dropped) {
                self.transmit(now, id, packets);
            }
        }
        self.look();
    }

    /// Time to send a packet of `size` bytes.
    #[inline]
    fn air(&mut self, size: u16) -> Duration {
        let place = &mut self.airs[usize::from(size > 128)];
        if place.0 != size {
            *place = (size, self.rate.map_or(Duration::ZERO, |rate| rate.time_for(Bytes(size.into()))));
        }
        place.1
    }

    #[inline]
    fn transmit(&mut self, now: Time, id: PacketId, packets: &Packets) {
        let air = self.air(packets[id].size);
        let sent = match &mut self.bucket {
            None => {
                self.free_at = now + air;
                self.free_at
            }
            Some(bucket) => {
                let sent = bucket.holds(now, air);
                bucket.full_at = bucket.full_at.max(sent) + air;
                self.free_at = bucket.holds(sent, air);
                sent
            }
        };
        self.line.push(sent + self.delay, id);
    }

    /// Goes on at the time of [`Link::next`], and returns a packet that has arrived.
    #[inline]
    pub(super) fn advance(&mut self, now: Time, packets: &mut Packets, dropped: &mut Dropped) -> Option<PacketId> {
        if self.waits {
            return self.advance_queue(now, packets, dropped);
        }
        let arrived = self.line.pop();
        self.next = self.line.next();
        arrived
    }

    fn advance_queue(&mut self, now: Time, packets: &mut Packets, dropped: &mut Dropped) -> Option<PacketId> {
        let mut arrived = None;
        if self.resumes() > now {
            arrived = self.line.pop();
        } else if let Some(id) = self.queue.dequeue(now, packets, dropped) {
            self.transmit(now, id, packets);
        } else {
            self.free_at = self.queue.asked_again(now);
        }
        self.look();
        arrived
    }

    /// Packets in the queue and on the line.
    pub(super) fn packets_held(&self) -> usize {
        self.queue.len() + self.line.len()
    }
}

#[cfg(test)]
mod tests {
    use wifair_packet::Packet;
    use wifair_units::Bytes;
    use wifair_wlan::queue::Dropped;

    use super::*;

    /// By hand: ten packets of 1000 B arrive at once at 8 Mb/s, a millisecond each. A bucket of 3000 B lets three pass at
    /// once, then one each millisecond; after 2.5 ms of silence it holds 2500 B, two packets, and half of the next.
    #[test]
    fn a_bucket_passes_its_burst_and_then_the_rate() {
        let mut link = Link::new(LinkPlan {
            rate: Some(BitRate::from_mbps(8)),
            burst: Some(Bytes(3000)),
            delay: Duration::ZERO,
            queue: Queue::fifo(wifair_config::Limit::Packets(100)),
        });
        let mut packets = Packets::default();
        let mut dropped = Dropped::default();
        let mut left = Vec::new();
        let at = |micros: u64| Time::ZERO + Duration::from_micros(micros);
        for (start, count) in [(0, 10), (9500, 4)] {
            for _ in 0..count {
                let id = packets.insert(Packet { size: 1000, ..Packet::default() });
                link.send(at(start), id, &mut packets, &mut dropped);
            }
            while link.next() < Time::NEVER {
                let now = link.next();
                if link.advance(now, &mut packets, &mut dropped).is_some() {
                    left.push(now.as_nanos() / 1000);
                }
            }
        }
        assert_eq!(left, [0, 0, 0, 1000, 2000, 3000, 4000, 5000, 6000, 7000, 9500, 9500, 10_000, 11_000]);
    }
}
