//! One direction of a wired link: a queue, a rate, a delay.
//!
//! A drop-tail FIFO needs no event of its own: the time at which a packet will be sent is known when it is enqueued, so
//! the packet goes directly onto the delay line, and waiting packets are counted by those times. Other disciplines
//! choose a packet each time the link becomes free.
//!
//! With a burst the link is a token bucket, like the shaper of Linux (man 8 tc-tbf): a packet leaves at once, and its
//! size is removed from the bucket, if the bucket holds that many bytes; the bucket fills at the rate, up to the burst.
//! The bucket's state is the time at which it will be full (ITU-T I.371, 2004, annex A: the generic cell rate
//! algorithm). When the next packet may leave is estimated from the size of the previous packet; a larger packet waits
//! for the missing bytes outside the queue.

use std::collections::VecDeque;

use wifair_engine::DelayLine;
use wifair_packet::{Packet, PacketId, Packets};
use wifair_queue::{Cause, Discipline, Dropped, Queue, Room};
use wifair_units::{BitRate, Bytes, Duration, Time};

use super::plan::WiredLinkPlan;

/// See the [module](self).
#[derive(Debug)]
pub(super) struct WiredLink {
    /// Packets that wait, are being sent or propagate; those waiting at a [`Gate`] are not included.
    line: DelayLine<PacketId>,
    /// The time from which the next packet may be sent: the previous one has been sent, or the bucket holds enough.
    free_at: Time,
    delay: Duration,
    /// The most recent large and small packet size, each with its transmission time.
    airs: [(u16, Duration); 2],
    order: ServiceOrder,
    rate: Option<BitRate>,
    /// When [`WiredLink::advance`] must be called next.
    next: Time,
    eager_arrival: EagerArrival,
    /// Whether it leads to an access point that expects its packets.
    leads_to_ap: bool,
}

/// Whether packets put on a link may be processed before their arrival time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EagerArrival {
    /// No.
    Never,
    /// Yes, if they arrive before the next timer.
    BeforeTimers,
    /// Yes.
    Always,
}

/// The result of putting a packet on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Departure {
    /// The packet is on the line.
    OnItsWay,
    /// The packet is on the line, or lost; the caller must call `World::update_link`.
    Noteworthy,
    /// The packet will arrive at this time and may be processed immediately: it is not on the line.
    Arrives(Time),
    /// The packet will arrive at this time at an access point, which expects it from now on: it is not on the line.
    Expected(Time),
}

/// How the next packet is chosen.
#[derive(Debug)]
enum ServiceOrder {
    /// In order of arrival.
    Arrival(WaitingRuns),
    /// By a gate.
    Gate(Box<Gate>),
}

/// Packets on the line that wait to be sent, and some that no longer wait: see [`WaitingRuns::let_go`].
#[derive(Debug)]
struct WaitingRuns {
    room: Room,
    /// The last run, and (below) the earlier ones.
    last: PacketRun,
    earlier: VecDeque<PacketRun>,
    /// When the first of them is sent.
    first: Time,
}

/// Packets of one size that are sent back to back.
#[derive(Debug, Default)]
struct PacketRun {
    /// When transmission of the first packet starts, and when that of the last ends.
    start: Time,
    end: Time,
    /// Transmission time of each packet.
    air: Duration,
    size: u16,
    count: u32,
}

/// A discipline that chooses a packet each time the link becomes free, or a token bucket.
#[derive(Debug)]
struct Gate {
    queue: Queue,
    /// Whether the queue holds packets.
    waits: bool,
    bucket: Option<Bucket>,
}

#[derive(Debug)]
struct Bucket {
    /// The time in which the bucket fills.
    burst: Duration,
    full_at: Time,
}

impl WaitingRuns {
    /// Adds a packet that will be sent from `start` on, for `air`; returns whether there is room.
    #[inline]
    fn join(&mut self, now: Time, start: Time, air: Duration, packet: &mut Packet) -> bool {
        let mut fits = self.room.fits(packet.size.into());
        if !fits || self.room.may_mark() {
            self.let_go(now);
            fits = self.room.fits(packet.size.into());
        }
        if fits {
            self.room.enter(packet);
            self.append(now, PacketRun { start, air, end: start + air, size: packet.size, count: 1 });
        }
        fits
    }

    /// Adds `count` packets of `size` bytes that will be sent back to back from `start` on, if there is room and none
    /// can be marked; packets sent by `now` do not wait. Returns whether it did.
    #[inline]
    fn join_run(&mut self, now: Time, start: Time, air: Duration, size: u16, count: u64) -> bool {
        let sent = if air == Duration::ZERO { count } else { u64::from(start == now).min(count) };
        let (start, waits) = (start + air * sent, count - sent);
        if waits > self.room.fits_together(size) {
            self.let_go(now);
        }
        if self.room.may_mark() || waits > self.room.fits_together(size) {
            return false;
        }
        let Ok(count) = u32::try_from(waits) else { return false };
        let end = start + air * waits;
        self.room.enter_together(count, size);
        self.append(now, PacketRun { start, end, air, size, count });
        true
    }

    /// Adds packets, if any, to the last run, if they continue it, or else as a new one.
    #[inline]
    fn append(&mut self, now: Time, run: PacketRun) {
        if self.last.size == run.size && self.last.end == run.start && self.last.count > 0 {
            self.last.count += run.count;
            self.last.end = run.end;
        } else if run.count > 0 {
            self.begin_run(now, run);
        }
    }

    /// Removes packets whose transmission starts by `now`. Called if packets seem not to fit or may be marked, and
    /// before a run begins, so that there are few runs.
    #[inline(never)]
    fn let_go(&mut self, now: Time) {
        if self.first > now {
            return;
        }
        loop {
            let run = self.earlier.front_mut().unwrap_or(&mut self.last);
            let sent = run.sent_until(now);
            self.room.leave_together(sent, run.size);
            run.start += run.air * u64::from(sent);
            run.count -= sent;
            self.first = if run.count > 0 { run.start } else { Time::NEVER };
            if run.count > 0 || self.earlier.pop_front().is_none() {
                return;
            }
        }
    }

    #[inline(never)]
    fn begin_run(&mut self, now: Time, run: PacketRun) {
        self.let_go(now);
        self.first = self.first.min(run.start);
        let before = std::mem::replace(&mut self.last, run);
        if before.count > 0 {
            self.earlier.push_back(before);
        }
    }
}

impl PacketRun {
    /// The number of packets whose transmission starts by `now`.
    fn sent_until(&self, now: Time) -> u32 {
        if now + self.air >= self.end {
            return self.count;
        }
        if now < self.start {
            return 0;
        }
        u32::try_from((now - self.start).div_floor(self.air)).map_or(self.count, |more| self.count.min(more + 1))
    }
}

impl Bucket {
    /// The earliest time from `now` on at which the bucket holds the bytes of a packet with transmission time `air`.
    fn holds(&self, now: Time, air: Duration) -> Time {
        now.max(Time::ZERO + (self.full_at + air).saturating_since(Time::ZERO + self.burst))
    }
}

impl WiredLink {
    pub(super) fn new(plan: WiredLinkPlan) -> Self {
        let bucket = plan.rate.zip(plan.burst).map(|(rate, burst)| {
            // The bucket is full at the start.
            Bucket { burst: rate.time_for(burst), full_at: Time::ZERO }
        });
        let room = match &plan.queue {
            Queue::Fifo(fifo) if bucket.is_none() => fifo.tail_room(),
            _ => None,
        };
        let order = match room {
            Some(room) => ServiceOrder::Arrival(WaitingRuns {
                room,
                last: PacketRun::default(),
                earlier: VecDeque::new(),
                first: Time::NEVER,
            }),
            None => ServiceOrder::Gate(Box::new(Gate { queue: plan.queue, waits: false, bucket })),
        };
        Self {
            line: DelayLine::default(),
            free_at: Time::ZERO,
            delay: plan.delay,
            airs: [(0, Duration::ZERO); 2],
            order,
            rate: plan.rate,
            next: Time::NEVER,
            eager_arrival: EagerArrival::Never,
            leads_to_ap: false,
        }
    }

    /// When [`WiredLink::advance`] must be called next. If a waiting packet is due to be sent and another one to arrive
    /// at the same instant, sending comes first.
    #[inline]
    pub(super) fn next(&self) -> Time {
        self.next
    }

    /// Transmission time of a packet of `size` bytes.
    #[inline]
    pub(super) fn air(&mut self, size: u16) -> Duration {
        match self.airs {
            [(large, air), _] if large == size => air,
            [_, (small, air)] if small == size => air,
            _ => self.find_air(size),
        }
    }

    #[inline(never)]
    fn find_air(&mut self, size: u16) -> Duration {
        let air = self.rate.map_or(Duration::ZERO, |rate| rate.time_for(Bytes(size.into())));
        self.airs[usize::from(size <= 128)] = (size, air);
        air
    }

    /// Accepts a packet that came at `now`, which may be processed immediately if it arrives before `horizon`. If the
    /// link is told of it later, `earliest` is that time: it does not arrive before.
    #[inline(always)]
    pub(super) fn send(
        &mut self,
        now: Time,
        earliest: Time,
        horizon: Time,
        id: PacketId,
        packets: &mut Packets,
        dropped: &mut Dropped,
    ) -> Departure {
        if now < self.free_at || self.has_gate() {
            return self.send_later(now, earliest, horizon, id, packets, dropped);
        }
        self.free_at = now + self.air(packets[id].size);
        self.let_go(earliest, horizon, id)
    }

    /// Accepts a packet that may have to wait.
    #[inline(never)]
    fn send_later(
        &mut self,
        now: Time,
        earliest: Time,
        horizon: Time,
        id: PacketId,
        packets: &mut Packets,
        dropped: &mut Dropped,
    ) -> Departure {
        let packet = &mut packets[id];
        let air = self.air(packet.size);
        let ServiceOrder::Arrival(waiting) = &mut self.order else {
            self.send_by_gate(now, id, packets, dropped);
            return Departure::Noteworthy;
        };
        if !waiting.join(now, self.free_at, air, packet) {
            dropped.push((id, Cause::Overflow));
            return Departure::Noteworthy;
        }
        self.free_at += air;
        self.let_go(earliest, horizon, id)
    }

    /// If packets of `size` bytes put on the link at `now` would wait like the last packet, returns when the first of
    /// them will arrive, the time between arrivals, and how many fit. The caller processes these packets immediately if
    /// [`WiredLink::next`] is [`Time::NEVER`], or calls [`WiredLink::enqueue_arrival`] for each; then it must call
    /// [`WiredLink::send_together`] with their number.
    #[inline]
    pub(super) fn alike(&self, now: Time, size: u16) -> Option<(Time, Duration, u64)> {
        let ServiceOrder::Arrival(WaitingRuns { room, last, .. }) = &self.order else { return None };
        let is_behind = last.count > 0 && last.end == self.free_at && last.size == size;
        let waits = is_behind && now < self.free_at && !room.may_mark();
        waits.then(|| (self.free_at + last.air + self.delay, last.air, room.fits_together(size)))
    }

    /// Puts a packet that arrives at this time on the line: see [`WiredLink::alike`].
    #[inline]
    pub(super) fn enqueue_arrival(&mut self, arrival: Time, id: PacketId) {
        self.line.push(arrival, id);
    }

    /// Packets on the line with their arrival times, the next one first; none if the link has a gate.
    #[inline]
    pub(super) fn under_way(&self) -> &[(Time, PacketId)] {
        if self.has_gate() { &[] } else { self.line.items() }
    }

    /// Removes the next `count` packets on the line.
    #[inline]
    pub(super) fn let_arrive(&mut self, count: usize) {
        self.line.remove(count);
        self.look();
    }

    /// Puts `count` packets of `size` bytes on an empty link if they fit and all arrive before `horizon`: the caller
    /// processes them immediately. Returns when the first arrives.
    #[inline]
    pub(super) fn send_run(&mut self, now: Time, horizon: Time, size: u16, count: u64) -> Option<Time> {
        let air = self.air(size);
        let ServiceOrder::Arrival(waiting) = &mut self.order else { return None };
        let start = now.max(self.free_at);
        let end = start + air * count;
        if self.next < Time::NEVER || end + self.delay >= horizon || !waiting.join_run(now, start, air, size, count) {
            return None;
        }
        self.free_at = end;
        Some(start + air + self.delay)
    }

    /// Like [`WiredLink::send_run`], for packets that are put on the link between `first` and `last`, further apart
    /// than their transmission takes.
    #[inline]
    pub(super) fn send_apart(&mut self, first: Time, last: Time, horizon: Time, air: Duration) -> bool {
        let end = last + air;
        let are_sent = first >= self.free_at && self.next == Time::NEVER && end + self.delay < horizon;
        if are_sent {
            self.free_at = end;
        }
        are_sent
    }

    /// Counts this many packets of `size` bytes that were put on the link: see [`WiredLink::alike`].
    #[inline]
    pub(super) fn send_together(&mut self, count: u32, size: u16) {
        if let ServiceOrder::Arrival(WaitingRuns { room, last, .. }) = &mut self.order {
            room.enter_together(count, size);
            last.count += count;
            last.end += last.air * u64::from(count);
            self.free_at = last.end;
        }
    }

    /// Puts a packet on the line; its transmission ends when the link becomes free.
    #[inline(always)]
    fn let_go(&mut self, earliest: Time, horizon: Time, id: PacketId) -> Departure {
        let arrival = (self.free_at + self.delay).max(earliest);
        let first = self.next == Time::NEVER;
        if first {
            if arrival < horizon {
                return Departure::Arrives(arrival);
            }
            if self.leads_to_ap {
                return Departure::Expected(arrival);
            }
            self.next = arrival;
        }
        self.line.push(arrival, id);
        if first || arrival < horizon { Departure::Noteworthy } else { Departure::OnItsWay }
    }

    /// Whether packets put on the link may be processed before their arrival time.
    #[inline]
    pub(super) fn eager_arrival(&self) -> EagerArrival {
        self.eager_arrival
    }

    /// Sets whether packets put on the link may be processed before their arrival time; requires a link without a gate.
    pub(super) fn set_eager_arrival(&mut self, eager_arrival: EagerArrival) {
        debug_assert!(
            eager_arrival == EagerArrival::Never || !self.has_gate(),
            "with a gate, departures are not known in advance"
        );
        self.eager_arrival = eager_arrival;
    }

    /// Whether the link leads to an access point that expects its packets.
    #[inline]
    pub(super) fn leads_to_ap(&self) -> bool {
        self.leads_to_ap
    }

    /// Sets whether the link leads to an access point that expects its packets.
    pub(super) fn set_leads_to_ap(&mut self, leads_to_ap: bool) {
        self.leads_to_ap = leads_to_ap;
    }

    /// Removes a packet that arrives before `end`, without an event; [`WiredLink::look`] must be called afterwards.
    #[inline]
    pub(super) fn take_arrived(&mut self, end: Time) -> Option<(Time, PacketId)> {
        self.line.pop_before(end)
    }

    /// Propagation delay: the time from the end of transmission to the arrival.
    pub(super) fn delay(&self) -> Duration {
        self.delay
    }

    /// Whether the link has a gate, which releases packets by events.
    #[inline]
    pub(super) fn has_gate(&self) -> bool {
        matches!(self.order, ServiceOrder::Gate(_))
    }

    /// Advances the link at the time of [`WiredLink::next`]; returns a packet that has arrived.
    #[inline]
    pub(super) fn advance(&mut self, now: Time, packets: &mut Packets, dropped: &mut Dropped) -> Option<PacketId> {
        if let ServiceOrder::Gate(gate) = &self.order
            && gate.waits
        {
            return self.advance_gate(now, packets, dropped);
        }
        let arrived = self.line.pop();
        self.next = self.line.next();
        arrived
    }

    #[inline(never)]
    fn send_by_gate(&mut self, now: Time, id: PacketId, packets: &mut Packets, dropped: &mut Dropped) {
        let ServiceOrder::Gate(gate) = &mut self.order else { return };
        let idle = now >= self.free_at && !gate.waits;
        if idle && matches!(gate.queue, Queue::Fifo(_)) {
            self.transmit(now, id, packets); // an idle FIFO would return it at once
        } else {
            gate.queue.enqueue(now, id, 0, packets, dropped);
            if idle && let Some(id) = gate.queue.dequeue(now, packets, dropped) {
                self.transmit(now, id, packets);
            }
        }
        self.look();
    }

    fn transmit(&mut self, now: Time, id: PacketId, packets: &mut Packets) {
        let air = self.air(packets[id].size);
        let ServiceOrder::Gate(gate) = &mut self.order else { return };
        let sent = match &mut gate.bucket {
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

    #[inline(never)]
    fn advance_gate(&mut self, now: Time, packets: &mut Packets, dropped: &mut Dropped) -> Option<PacketId> {
        let ServiceOrder::Gate(gate) = &mut self.order else { return None };
        let mut arrived = None;
        if self.free_at.max(gate.queue.ready()) > now {
            arrived = self.line.pop();
        } else if let Some(id) = gate.queue.dequeue(now, packets, dropped) {
            self.transmit(now, id, packets);
        } else {
            self.free_at = gate.queue.retry_at(now);
        }
        self.look();
        arrived
    }

    /// Recomputes the time of the next event.
    #[inline(always)]
    pub(super) fn look(&mut self) {
        self.next = self.line.next();
        if self.has_gate() {
            self.update_gate();
        }
    }

    #[inline(never)]
    fn update_gate(&mut self) {
        let ServiceOrder::Gate(gate) = &mut self.order else { return };
        gate.waits = !gate.queue.is_empty();
        if gate.waits {
            self.next = self.next.min(self.free_at.max(gate.queue.ready()));
        }
    }

    /// Packets in the queue and on the line.
    pub(super) fn packets_held(&self) -> usize {
        let waiting = match &self.order {
            ServiceOrder::Arrival(_) => 0, // these are on the line
            ServiceOrder::Gate(gate) => gate.queue.len(),
        };
        waiting + self.line.items().len()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use wifair_config::Limit;
    use wifair_packet::flag;
    use wifair_queue::QueueSettings;

    use super::*;

    /// By hand: ten packets of 1000 B arrive at once at 8 Mb/s, so each takes a millisecond. A bucket of 3000 B passes
    /// three packets at once, then one every millisecond; after 2.5 ms of silence it holds 2500 B: two packets and half
    /// of the next.
    #[test]
    fn a_bucket_passes_its_burst_and_then_the_rate() {
        let mut link = WiredLink::new(WiredLinkPlan {
            rate: Some(BitRate::from_mbps(8)),
            burst: Some(Bytes(3000)),
            delay: Duration::ZERO,
            queue: Queue::fifo(Limit::Packets(100)),
        });
        let mut packets = Packets::default();
        let mut dropped = Dropped::default();
        let mut left = Vec::new();
        let at = |micros: u64| Time::ZERO + Duration::from_micros(micros);
        for (start, count) in [(0, 10), (9500, 4)] {
            for _ in 0..count {
                let id = packets.insert(Packet { size: 1000, ..Packet::default() });
                link.send(at(start), Time::ZERO, Time::ZERO, id, &mut packets, &mut dropped);
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

    /// The behaviour of a link for packets with these arrival times and sizes: when each came out and whether it was
    /// marked, and which were dropped.
    fn passage(link: &mut WiredLink, arrivals: &[(u64, u16)]) -> (Vec<(u64, u64, bool)>, Vec<u64>) {
        let mut packets = Packets::default();
        let (mut dropped, mut left) = (Dropped::default(), vec![]);
        let mut advance = |link: &mut WiredLink, until: Time, packets: &mut Packets, dropped: &mut Dropped| {
            while link.next() <= until && link.next() < Time::NEVER {
                let now = link.next();
                if let Some(id) = link.advance(now, packets, dropped) {
                    left.push((now.as_nanos(), packets[id].seq, packets[id].has(flag::CE)));
                }
            }
        };
        for (seq, &(at, size)) in (0..).zip(arrivals) {
            let at = Time::from_nanos(at);
            advance(link, at, &mut packets, &mut dropped);
            let id = packets.insert(Packet { seq, size, flags: flag::ECT, ..Packet::default() });
            link.send(at, Time::ZERO, Time::ZERO, id, &mut packets, &mut dropped);
        }
        advance(link, Time::NEVER, &mut packets, &mut dropped);
        assert_eq!(link.packets_held(), 0);
        (left, dropped.iter().map(|(id, _)| packets[*id].seq).collect())
    }

    proptest! {
        /// A link that computes transmission times at arrival behaves like a gate that chooses a packet each time the
        /// link becomes free.
        #[test]
        fn a_waiting_packet_is_sent_when_the_link_is_free(
            waits in prop::collection::vec((0_u64..30, prop_oneof![Just(15_u16), 1_u16..20]), 1..80),
            limit in prop_oneof![
                (1_u64..5).prop_map(Limit::Packets),
                (20_u64..60).prop_map(|b| Limit::Bytes(Bytes(b))),
            ],
            mark in prop::option::of((0_u64..3).prop_map(Limit::Packets)),
        ) {
            let settings = QueueSettings { limit, mark_above: mark, ..QueueSettings::default() };
            let plan = || WiredLinkPlan {
                rate: Some(BitRate::from_mbps(8000)), // one byte per nanosecond
                burst: None,
                delay: Duration::from_nanos(17),
                queue: Queue::new(&settings, None, 0, ""),
            };
            let mut now = 0;
            let arrivals: Vec<_> = waits.iter().map(|(wait, size)| { now += wait; (now, *size) }).collect();
            let mut link = WiredLink::new(plan());
            prop_assert!(matches!(link.order, ServiceOrder::Arrival(_)));
            let gate = Gate { queue: plan().queue, waits: false, bucket: None };
            let mut gated = WiredLink { order: ServiceOrder::Gate(Box::new(gate)), ..WiredLink::new(plan()) };
            prop_assert_eq!(passage(&mut link, &arrivals), passage(&mut gated, &arrivals));
        }
    }
}
