//! Shortcuts: arrivals are enqueued when a station dequeues its next packet, instead of by an event each.

use super::*;
use wifair_packet::Packet;

impl SharedChannel {
    /// Enqueues a packet at a station other than the access point, if the arrival has no other effect. Otherwise does
    /// nothing and returns false; the caller must then call [`SharedChannel::offer`].
    #[inline(always)]
    pub fn fast_offer(&mut self, station: u32, id: PacketId, packets: &mut Packets) -> bool {
        let state = &mut self.stations[station as usize];
        let Queue::Fifo(fifo) = &mut state.queue else { return false };
        let packet = &mut packets[id];
        let fits = state.frame.is_some() && station != self.ap && fifo.has_room(packet.size);
        if fits {
            fifo.append(id, packet);
        }
        fits
    }

    /// Attaches the only source that feeds the queue of a station with a frame in progress.
    ///
    /// # Panics
    /// If [`SharedChannel::can_attach_source`] does not hold.
    pub fn attach_source(&mut self, station: u32, source: SaturatedSource) {
        assert!(self.can_attach_source(station), "a source needs a queue that refuses what does not fit");
        self.stations[station as usize].source = Some(Box::new(source));
    }

    /// Whether a source may be attached to a station: it has a frame in progress and a FIFO that drops arrivals only.
    /// The access point may not have a source, because the length of its queue is measured.
    #[must_use]
    pub fn can_attach_source(&self, station: u32) -> bool {
        let state = &self.stations[station as usize];
        station != self.ap && state.frame.is_some() && matches!(&state.queue, Queue::Fifo(fifo) if fifo.refuses())
    }

    /// Enqueues the datagrams that all attached sources send before `end`.
    pub fn enqueue_arrivals(&mut self, end: Time, packets: &mut Packets) {
        for station in &mut self.stations {
            station.enqueue_arrivals(end, packets);
        }
    }

    /// The attached sources.
    pub fn attached_sources(&mut self) -> impl Iterator<Item = &mut SaturatedSource> {
        self.stations.iter_mut().filter_map(|station| station.source.as_deref_mut())
    }

    /// Detaches the source of a station, if any, after enqueueing its datagrams sent before `end`.
    pub fn detach_source(&mut self, station: u32, end: Time, packets: &mut Packets) -> Option<SaturatedSource> {
        let state = &mut self.stations[station as usize];
        state.enqueue_arrivals(end, packets);
        state.source.take().map(|source| *source)
    }

    /// A station whose queue became empty while arrivals were deferred. The caller detaches its source, or delivers all
    /// further arrivals as events.
    #[inline]
    pub fn take_exhausted(&mut self) -> Option<u32> {
        self.exhausted.pop()
    }

    /// Whether arrivals at the access point may be deferred while it has a frame in progress (see
    /// [`SharedChannel::arrive_lazily`]): its queue must be a FIFO that drops arrivals only.
    #[must_use]
    pub fn allows_lazy_links(&self) -> bool {
        matches!(&self.stations[self.ap as usize].queue, Queue::Fifo(fifo) if fifo.refuses())
    }

    /// Whether the access point has a frame in progress and a backlog that keeps it busy for a while.
    #[inline]
    #[must_use]
    pub fn ap_is_backlogged(&self) -> bool {
        let state = &self.stations[self.ap as usize];
        let waiting = if let Queue::Fifo(fifo) = &state.queue { fifo.len() } else { state.queue.len() };
        state.frame.is_some() && waiting >= 2
    }

    /// Declares that all arrivals at the access point before `time` are enqueued. Before the access point dequeues a
    /// packet at a later time, the channel returns [`MacEvent::NeedsArrivals`]; with [`Time::NEVER`], it never does.
    #[inline]
    pub fn set_arrivals_until(&mut self, time: Time) {
        self.arrivals_until = time;
    }

    /// Whether the channel will return [`MacEvent::NeedsArrivals`] if it is advanced at `time`.
    #[inline]
    #[must_use]
    pub fn needs_arrivals(&self, time: Time) -> bool {
        self.sender == self.ap && self.arrivals_until < time && matches!(self.phase, SharedPhase::Ack)
    }

    /// Enqueues deferred arrivals at the access point: `next` returns them with their times, in order, and `refuse` is
    /// called for those that do not fit.
    #[inline]
    pub fn arrive_lazily(
        &mut self,
        packets: &mut Packets,
        mut next: impl for<'a> FnMut(&'a mut Packets) -> Option<(Time, PacketId, &'a mut Packet)>,
        mut refuse: impl FnMut(&mut Packets, PacketId),
    ) {
        let Queue::Fifo(fifo) = &mut self.stations[self.ap as usize].queue else { return };
        while let Some((then, id, packet)) = next(packets) {
            if fifo.has_room(packet.size) {
                fifo.append(id, packet);
                self.ap_queue.set(then, fifo.len(), fifo.is_full());
            } else {
                refuse(packets, id);
            }
        }
    }

    /// Whether the access point is among the senders.
    #[inline]
    pub(super) fn is_ap_on_air(&self) -> bool {
        self.sender == self.ap || (self.is_collision() && self.senders.contains(&self.ap))
    }
}
