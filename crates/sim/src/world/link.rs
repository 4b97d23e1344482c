//! One direction of a wired link: a queue, a rate, a delay.

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
    /// The packet before has been sent by then.
    free_at: Time,
    /// Packets that are being sent or propagate.
    line: DelayLine<PacketId>,
}

impl Link {
    pub(super) fn new(plan: LinkPlan) -> Self {
        Self { rate: plan.rate, delay: plan.delay, queue: plan.queue, free_at: Time::ZERO, line: DelayLine::default() }
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
        let sent = now + self.rate.map_or(Duration::ZERO, |rate| rate.time_for(packets[id].bytes()));
        self.free_at = sent;
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
