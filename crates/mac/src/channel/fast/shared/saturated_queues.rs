//! Shortcuts: arrivals are enqueued when a station dequeues its next packet, instead of by an event each.

use super::*;

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

    /// A station whose queue became empty while arrivals were deferred. The caller detaches its source.
    #[inline]
    pub fn take_exhausted(&mut self) -> Option<u32> {
        self.exhausted.pop()
    }
}
