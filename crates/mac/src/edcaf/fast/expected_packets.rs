//! Shortcut: packets that an access point expects.
//!
//! When a packet will arrive over a wired link is known as soon as it is put on the link. If its EDCAF has something to
//! send by then, it only joins the queue, so that is done when the access point next dequeues a packet. Otherwise its
//! arrival is an event of the channel.

use wifair_engine::ContiguousQueue;
use wifair_packet::{PacketId, Packets};
use wifair_queue::{Cause, Dropped};
use wifair_units::Time;

use super::super::{Edcaf, Edcafs, number};
use super::{EdcafShortcuts, Shortcuts};

/// Packets that will arrive at the access point, in order.
#[derive(Clone, Debug)]
pub(super) struct ExpectedPackets {
    /// Each with its time and the index of its EDCAF.
    packets: ContiguousQueue<(Time, PacketId, u32)>,
    /// When the first arrives.
    pub first: Time,
    /// When the first arrives whose EDCAF has nothing to send.
    due: Time,
}

impl Default for ExpectedPackets {
    fn default() -> Self {
        Self { packets: ContiguousQueue::default(), first: Time::NEVER, due: Time::NEVER }
    }
}

impl ExpectedPackets {
    /// When the first arrives whose EDCAF has nothing to send.
    #[inline]
    pub const fn due(&self) -> Time {
        self.due
    }

    pub fn len(&self) -> usize {
        self.packets.items().len()
    }

    fn look(&mut self) {
        self.first = self.packets.first().map_or(Time::NEVER, |(time, ..)| time);
    }
}

impl Edcafs {
    /// Whether packets may be expected at a station: it is the only access point and sends single frames, and its
    /// queues are FIFOs that drop arrivals only.
    pub(crate) fn can_expect(&self, station: u32) -> bool {
        let refuses = |index: usize| self.contenders[index].waiting.one_fifo().is_some_and(|fifo| fifo.refuses());
        let is_only_ap = self.stations[station as usize].ap.is_some() && self.ap_queues.len() == 1;
        self.shortcuts.sends_singly && is_only_ap && self.own(station).all(refuses)
    }

    /// A packet will arrive at the access point, not before those expected already. Returns whether [`Edcafs::next`]
    /// may have changed.
    pub(crate) fn expect_packet(
        &mut self,
        time: Time,
        station: u32,
        category: usize,
        id: PacketId,
        packets: &Packets,
    ) -> bool {
        let index = self.index_for(station, category, &packets[id]);
        let Edcaf { shortcuts: EdcafShortcuts { expected, .. }, task, .. } = &mut self.contenders[index];
        *expected += 1;
        self.shortcuts.expected.packets.push((time, id, number(index)));
        self.shortcuts.expected.first = self.shortcuts.expected.first.min(time);
        let is_event = task.is_none();
        if is_event {
            self.shortcuts.expected.due = self.shortcuts.expected.due.min(time);
        }
        is_event
    }

    /// Packets expected before `end` join their queues, or are dropped.
    #[inline]
    pub(crate) fn arrive_before(&mut self, end: Time, packets: &mut Packets, dropped: &mut Dropped) {
        if self.shortcuts.expected.first < end {
            self.arrive_all(end, packets, dropped);
        }
    }

    #[inline(never)]
    fn arrive_all(&mut self, end: Time, packets: &mut Packets, dropped: &mut Dropped) {
        while self.shortcuts.expected.first < end
            && let Some((time, id, index)) = self.shortcuts.expected.packets.pop()
        {
            let index = index as usize;
            self.contenders[index].shortcuts.expected -= 1;
            if !self.join(time, index, id, &mut packets[id]) {
                dropped.push((id, Cause::Overflow));
            }
            self.shortcuts.expected.look();
        }
    }

    /// Removes an expected packet that arrives now at an EDCAF with nothing to send; returns the station, the category
    /// and the packet. Earlier packets must have arrived.
    pub(crate) fn take_due(
        &mut self,
        now: Time,
        packets: &mut Packets,
        dropped: &mut Dropped,
    ) -> Option<(u32, usize, PacketId)> {
        if self.shortcuts.expected.due > now {
            return None;
        }
        self.arrive_before(now, packets, dropped);
        let is_idle = |index: u32| self.contenders[index as usize].task.is_none();
        let place = self.shortcuts.expected.packets.items().iter().position(|(_, _, index)| is_idle(*index))?;
        let (_, id, index) = self.shortcuts.expected.packets.items()[place];
        self.shortcuts.expected.packets.remove(place..place + 1);
        let index = index as usize;
        self.contenders[index].shortcuts.expected -= 1;
        self.shortcuts.expected.look();
        self.find_first_due(index / self.categories);
        Some((number(index / self.categories), index % self.categories, id))
    }

    /// An EDCAF has got something to send, or has it no longer: determines when the first packet arrives at one with
    /// nothing to send.
    #[inline(always)]
    pub(in crate::edcaf) fn find_due(&mut self, index: usize) {
        if self.contenders[index].shortcuts.expected > 0 {
            self.find_first_due(self.contenders[index].station);
        }
    }

    /// Determines when the first packet arrives at an EDCAF of this station with nothing to send.
    #[inline(never)]
    fn find_first_due(&mut self, station: usize) {
        let Self { contenders, categories, shortcuts: Shortcuts { expected, .. }, .. } = self;
        let own = &contenders[station * *categories..][..*categories];
        let is_idle = |edcaf: &Edcaf| edcaf.task.is_none();
        expected.due = Time::NEVER;
        if own.iter().any(|edcaf| is_idle(edcaf) && edcaf.shortcuts.expected > 0) {
            let mut packets = expected.packets.items().iter();
            let first = packets.find(|(_, _, index)| is_idle(&contenders[*index as usize]));
            expected.due = first.map_or(Time::NEVER, |(time, ..)| *time);
        }
    }
}
