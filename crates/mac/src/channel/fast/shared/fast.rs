//! Shortcuts: arrivals are handled when a station takes its next packet out of its queue, not as events.

use super::*;
use wifair_packet::Packet;

impl SharedChannel {
    /// A station other than the access point gets a packet to send, if that only makes its queue longer; else returns
    /// `false`, and the packet is to be [offered](SharedChannel::offer).
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

    /// From now on `source` alone fills the queue of a station that has a frame in hand.
    ///
    /// # Panics
    /// If [`SharedChannel::can_attach_source`] does not hold.
    pub fn attach_source(&mut self, station: u32, source: SaturatedSource) {
        assert!(self.can_attach_source(station), "a source needs a queue that refuses what does not fit");
        self.stations[station as usize].source = Some(Box::new(source));
    }

    /// Whether a station may have such a source: while it has a frame in hand, if its queue is FIFO and drops arrivals
    /// only. The access point may not, for somebody measures how long its queue is.
    #[must_use]
    pub fn can_attach_source(&self, station: u32) -> bool {
        let state = &self.stations[station as usize];
        station != self.ap && state.frame.is_some() && matches!(&state.queue, Queue::Fifo(fifo) if fifo.refuses())
    }

    /// Puts what all attached sources send before `end` into their queues.
    pub fn enqueue_arrivals(&mut self, end: Time, packets: &mut Packets) {
        for station in &mut self.stations {
            station.enqueue_arrivals(end, packets);
        }
    }

    /// All attached sources.
    pub fn attached_sources(&mut self) -> impl Iterator<Item = &mut SaturatedSource> {
        self.stations.iter_mut().filter_map(|station| station.source.as_deref_mut())
    }

    /// Detaches the source of a station, if it has one, after what it sends before `end`.
    pub fn detach_source(&mut self, station: u32, end: Time, packets: &mut Packets) -> Option<SaturatedSource> {
        let state = &mut self.stations[station as usize];
        state.enqueue_arrivals(end, packets);
        state.source.take().map(|source| *source)
    }

    /// A station that has nothing more to send, for its source did not keep up, or nothing came late to it. The
    /// caller detaches the source, or tells of everything from now on.
    #[inline]
    pub fn take_exhausted(&mut self) -> Option<u32> {
        self.exhausted.pop()
    }

    /// Whether packets may come to the access point late, in the sense of [`SharedChannel::arrive_lazily`], while it
    /// has a frame in hand: its queue is FIFO and drops arrivals only.
    #[must_use]
    pub fn allows_lazy_links(&self) -> bool {
        matches!(&self.stations[self.ap as usize].queue, Queue::Fifo(fifo) if fifo.refuses())
    }

    /// Whether the access point has a frame in hand, and so many packets wait for it that it will be busy for a while.
    #[inline]
    #[must_use]
    pub fn ap_is_backlogged(&self) -> bool {
        let state = &self.stations[self.ap as usize];
        let waiting = if let Queue::Fifo(fifo) = &state.queue { fifo.len() } else { state.queue.len() };
        state.frame.is_some() && waiting >= 2
    }

    /// The access point has been told of what came to it before `time`. When it goes on to take a packet out later than
    /// that, it asks for the rest by [`MacEvent::NeedsArrivals`]; with [`Time::NEVER`] it does not.
    #[inline]
    pub fn set_arrivals_until(&mut self, time: Time) {
        self.arrivals_until = time;
    }

    /// Whether the access point will want to be told, if it is advanced at `time`, before anything else happens.
    #[inline]
    #[must_use]
    pub fn needs_arrivals(&self, time: Time) -> bool {
        self.sender == self.ap && self.arrivals_until < time && matches!(self.phase, Phase::Ack)
    }

    /// Packets came to the access point while it had a frame in hand: `next` gives them and their times, in order, and
    /// `refuse` takes those for which there was no room.
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

    /// Whether a frame of the access point is among them.
    #[inline]
    pub(super) fn is_ap_on_air(&self) -> bool {
        self.sender == self.ap || (self.met() && self.senders.contains(&self.ap))
    }
}
