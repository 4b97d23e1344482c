//! One direction of a wired link: a queue, a rate, a delay.
//!
//! With a burst it is a token bucket, as the shaper of Linux (man 8 tc-tbf): a packet leaves at once when the bucket
//! holds as many bytes, which it then takes out; the bucket fills at the rate up to the burst. It is kept as the time at
//! which the bucket will be full (ITU-T I.371, 2004, annex A: the generic cell rate algorithm). When the next packet may
//! leave is reckoned with the size of the one before; a larger one waits for the rest outside the queue.

use wifair_engine::DelayLine;
use wifair_packet::{PacketId, Packets};
use wifair_units::{BitRate, Duration, Time};
use wifair_wlan::queue::{Discipline, Dropped, Queue};

use super::plan::LinkPlan;

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Link {
    rate: Option<BitRate>,
    delay: Duration,
    queue: Queue,
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
            queue: plan.queue,
            free_at: Time::ZERO,
            bucket,
            line: DelayLine::default(),
        }
    }

    /// When [`Link::advance`] is to be called next. A packet that waits is sent before one that arrives at the
    /// same instant is handed out.
    #[inline]
    pub(super) fn next(&self) -> Time {
        let arrival = self.line.next();
        if self.queue.is_empty() { arrival } else { arrival.min(self.resumes()) }
    }

    /// When the next packet of the queue may be sent.
    #[inline]
    fn resumes(&self) -> Time {
        self.free_at.max(self.queue.ready())
    }

    /// Takes in a packet.
    #[inline]
    pub(super) fn send(&mut self, now: Time, id: PacketId, packets: &mut Packets, dropped: &mut Dropped) {
        let idle = now >= self.free_at && self.queue.is_empty();
        if idle && matches!(self.queue, Queue::Fifo(_)) {
            self.transmit(now, id, packets); // as if it had passed through the queue
            return;
        }
        self.queue.enqueue(now, id, 0, packets, dropped);
        if idle && let Some(id) = self.queue.dequeue(now, packets, dropped) {
            self.transmit(now, id, packets);
        }
    }

    #[inline]
    fn transmit(&mut self, now: Time, id: PacketId, packets: &Packets) {
        let air = self.rate.map_or(Duration::ZERO, |rate| rate.time_for(packets[id].bytes()));
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
        if !self.queue.is_empty() && self.resumes() <= now {
            match self.queue.dequeue(now, packets, dropped) {
                Some(id) => self.transmit(now, id, packets),
                None => self.free_at = self.queue.asked_again(now),
            }
            return None;
        }
        self.line.pop()
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
