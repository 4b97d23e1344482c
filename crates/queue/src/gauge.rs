//! Queue length over time.

use wifair_units::{Duration, Time};

use super::{Discipline, Queue};

/// Time integral of a queue's length, its maximum, and the time during which it was full.
#[derive(Clone, Copy, Debug, Default)]
pub struct Gauge {
    since: Time,
    level: u64,
    full: bool,
    /// Sum of length times nanoseconds.
    integral: u64,
    maximum: u64,
    full_time: Duration,
    began: Time,
}

impl Gauge {
    /// From `now` on the queue holds `level` packets, and no further packet would fit if `full`.
    #[inline(always)]
    pub fn set(&mut self, now: Time, level: usize, full: bool) {
        let lasted = now - self.since;
        self.integral += self.level * lasted.as_nanos();
        if self.full {
            self.full_time += lasted;
        }
        self.since = now;
        self.level = level as u64;
        self.full = full;
        self.maximum = self.maximum.max(self.level);
    }

    /// From `now` on the queues hold one packet more; `full` tells whether the queue that it joined is full.
    #[inline(always)]
    pub fn grow(&mut self, now: Time, full: bool) {
        self.set(now, self.level().0 + 1, self.full || full);
    }

    /// Number of packets since the last change, and whether no further packet would fit.
    pub fn level(&self) -> (usize, bool) {
        (usize::try_from(self.level).expect("a length"), self.full)
    }

    /// Samples a queue after a change.
    #[inline(always)]
    pub fn sample(&mut self, now: Time, queue: &Queue) {
        let (level, full) = match queue {
            Queue::Fifo(fifo) => (fifo.len(), fifo.is_full()),
            other => (other.len(), other.is_full()),
        };
        if (level as u64, full) != (self.level, self.full) {
            self.set(now, level, full);
        }
    }

    /// Discards everything before `now`.
    pub fn restart(&mut self, now: Time) {
        *self =
            Self { since: now, began: now, level: self.level, full: self.full, maximum: self.level, ..Self::default() };
    }

    /// Mean length in packets, maximum length, and fraction of the time in which the queue was full.
    pub fn read(mut self, now: Time) -> (f64, u64, f64) {
        self.set(now, usize::try_from(self.level).expect("a length"), self.full);
        let span = (now - self.began).as_nanos();
        if span == 0 {
            return (0.0, self.maximum, 0.0);
        }
        (self.integral as f64 / span as f64, self.maximum, self.full_time.as_nanos() as f64 / span as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2 packets for 3 ns and 4 (full) for 1 ns: mean (6 + 4) / 4, a quarter of the time full.
    #[test]
    fn mean_maximum_and_full_fraction_by_hand() {
        let at = Time::from_nanos;
        let mut gauge = Gauge::default();
        gauge.set(at(5), 9, true);
        gauge.set(at(10), 2, false);
        gauge.restart(at(10));
        gauge.set(at(13), 4, true);
        assert_eq!(gauge.read(at(14)), (2.5, 4, 0.25));
        gauge.grow(at(14), false);
        assert_eq!(gauge.level(), (5, true), "still full, with a packet more");
    }

    /// A FIFO of two packets: one for 3 ns, two (full) for 1 ns; any other discipline alike.
    #[test]
    fn a_queue_is_looked_at_after_each_change() {
        use wifair_packet::{Packet, Packets};

        use super::super::{Chosen, Limit, QueueSettings};

        for discipline in ["fifo", "drr"] {
            let discipline = Chosen::named(discipline).expect("a name of the list");
            let settings =
                QueueSettings { discipline, limit: Limit::Packets(2), mark_above: None, routing_first: false };
            let mut queue = Queue::new(&settings, None, 1, "test");
            let (mut packets, mut dropped, mut gauge) = (Packets::default(), vec![], Gauge::default());
            for at in [Time::ZERO, Time::from_nanos(3)] {
                let id = packets.insert(Packet { size: 100, ..Packet::default() });
                queue.enqueue(at, id, 0, &mut packets, &mut dropped);
                gauge.sample(at, &queue);
            }
            gauge.sample(Time::from_nanos(4), &queue);
            assert_eq!(gauge.read(Time::from_nanos(4)), (1.25, 2, 0.25));
        }
    }
}
