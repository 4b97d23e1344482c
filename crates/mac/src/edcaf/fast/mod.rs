//! Shortcuts: datagrams that are enqueued only when their EDCA function looks into its queue, packets that are enqueued
//! together, and packets that join a queue and have no other effect.

use wifair_packet::{Packet, PacketId, Packets};
use wifair_queue::Discipline;
use wifair_units::Time;

mod expected_packets;
mod run_ppdu;
mod single_frame;

use self::expected_packets::ExpectedPackets;
use self::run_ppdu::RunPpdu;
pub(crate) use self::single_frame::{SingleAirs, SingleFrame};
use super::{Classifier, Edcaf, Edcafs, Station, number};
use crate::access_category::AccessCategory;
use crate::fast::SaturatedSource;

/// Backlog required to attach a source; with less, it would soon be detached again.
const BACKLOG: usize = 1;

/// What shortcuts keep of all stations.
#[derive(Debug, Default)]
pub(crate) struct Shortcuts {
    /// Whether all frames are single frames without windows.
    sends_singly: bool,
    /// Whether an exchange of a single frame and its ACK cannot fail, and its NAV ends with it.
    is_reliable: bool,
    /// The sender of datagrams just received for which no packets are written.
    received_run: Option<u32>,
    expected: ExpectedPackets,
    /// Stations whose queue became empty while arrivals were deferred.
    exhausted: Vec<u32>,
}

impl Shortcuts {
    #[inline]
    pub const fn send_singly(&self) -> bool {
        self.sends_singly
    }

    #[inline]
    pub const fn are_reliable(&self) -> bool {
        self.is_reliable
    }

    /// When the first packet arrives at an EDCAF that expects it and has nothing to send.
    #[inline]
    pub const fn next(&self) -> Time {
        self.expected.due()
    }

    /// Number of packets expected.
    pub fn packets(&self) -> usize {
        self.expected.len()
    }
}

/// What shortcuts keep of an EDCAF.
#[derive(Debug, Default)]
pub(crate) struct EdcafShortcuts {
    /// The only source that feeds its queue, if attached.
    source: Option<Box<SaturatedSource>>,
    /// The datagrams of that source that it sends without packets, if any.
    run: Option<Box<RunPpdu>>,
    /// Number of packets [expected](ExpectedPackets).
    expected: u32,
}

impl Edcaf {
    /// Whether a source feeds its queue.
    #[inline]
    pub(super) const fn has_source(&self) -> bool {
        self.shortcuts.source.is_some()
    }
}

impl Edcafs {
    /// Does the same as [`Edcafs::enqueue`], with fewer steps, if the category has something to send and its queue is a
    /// single FIFO with room. Otherwise does nothing and returns false.
    #[inline]
    pub(crate) fn append(
        &mut self,
        now: Time,
        station: u32,
        category: usize,
        id: PacketId,
        packets: &mut Packets,
    ) -> bool {
        let packet = &mut packets[id];
        let index = self.index_for(station, category, packet);
        let is_simple = self.aggregation.as_ref().is_none_or(|rules| !rules.count_in_flight);
        let is_first = self.shortcuts.expected.first >= now || self.contenders[index].ap.is_none();
        is_simple && is_first && self.join(now, index, id, packet)
    }

    /// A packet joins the queue of an EDCAF, if that has something to send and its queue is a single FIFO with room.
    /// Otherwise does nothing and returns false.
    #[inline(always)]
    fn join(&mut self, now: Time, index: usize, id: PacketId, packet: &mut Packet) -> bool {
        let contender = &mut self.contenders[index];
        let is_taken = contender.task.is_some() && contender.waiting.append(id, packet);
        if is_taken {
            self.deliveries.arrived.note(id, now);
            let station = contender.station;
            match contender.ap {
                None => {}
                Some(ap) if self.late_gauges[ap] => self.read_gauge_of(now, station, ap),
                Some(ap) => {
                    self.ap_queues[ap].grow(now, contender.waiting.is_full());
                    debug_assert_eq!(self.ap_queues[ap].level(), self.level(station));
                }
            }
        }
        is_taken
    }

    /// Whether a [`SaturatedSource`] may be attached as the only source of this category: the category has something to
    /// send, its queue is a FIFO that drops arrivals only, nothing in it expires, and its length is not measured.
    pub(crate) fn can_attach_source(&self, station: u32, category: usize) -> bool {
        let is_simple = self.aggregation.as_ref().is_some_and(|rules| {
            let keeps_all = !rules.count_in_flight && rules.lifetime.is_none();
            keeps_all && rules.wait_until.is_none() && !rules.agreements_on_air
        });
        if !is_simple {
            return false;
        }
        let contender = &self.contenders[self.index(station, category)];
        let waiting = &contender.waiting;
        contender.task.is_some()
            && waiting.len() >= BACKLOG
            && self.stations[station as usize].ap.is_none()
            && waiting.one_fifo().is_some_and(|fifo| fifo.refuses())
    }

    /// Attaches the only source that feeds the queue of this category.
    ///
    /// # Panics
    /// If [`Edcafs::can_attach_source`] does not hold.
    pub(crate) fn attach_source(&mut self, station: u32, category: usize, source: SaturatedSource) {
        assert!(self.can_attach_source(station, category), "a source needs a queue that refuses what does not fit");
        let index = self.index(station, category);
        let contender = &mut self.contenders[index];
        contender.shortcuts.run.get_or_insert_default().begin_source(&source);
        contender.shortcuts.source = Some(Box::new(source));
    }

    /// Detaches the source of a station, if any, after enqueueing its datagrams sent before `end`. Datagrams without
    /// packets stay with a source that has ended, as nothing else feeds that queue.
    pub(crate) fn detach_source(&mut self, station: u32, end: Time, packets: &mut Packets) -> Option<SaturatedSource> {
        let own = self.own(station);
        for index in own.clone() {
            self.enqueue_arrivals_of(index, end, packets);
        }
        let contender = self.contenders[own].iter_mut().find(|contender| contender.shortcuts.source.is_some())?;
        let mut source = contender.shortcuts.source.take()?;
        let rest = source.leave_waiting();
        contender.shortcuts.source = (!rest.unwritten.is_empty()).then(|| Box::new(rest));
        Some(*source)
    }

    /// An EDCAF has nothing more to send: a source that feeds it is detached.
    #[inline]
    pub(super) fn note_exhausted(&mut self, index: usize) {
        let contender = &mut self.contenders[index];
        if let Some(source) = &contender.shortcuts.source {
            if source.has_ended() {
                contender.shortcuts.source = None;
            } else {
                self.shortcuts.exhausted.push(number(contender.station));
            }
        }
    }

    /// A station whose queue became empty while arrivals were deferred. The caller detaches its source.
    pub(crate) fn take_exhausted(&mut self) -> Option<u32> {
        self.shortcuts.exhausted.pop()
    }

    /// Whether the queue of any station became empty while arrivals were deferred.
    pub(crate) fn has_exhausted(&self) -> bool {
        !self.shortcuts.exhausted.is_empty()
    }

    /// The attached sources.
    pub(crate) fn attached_sources(&mut self) -> impl Iterator<Item = &mut SaturatedSource> {
        self.contenders.iter_mut().filter_map(|contender| contender.shortcuts.source.as_deref_mut())
    }

    /// Enqueues the datagrams that the sources send before `end`.
    pub(crate) fn enqueue_arrivals(&mut self, end: Time, packets: &mut Packets) {
        for index in 0..self.contenders.len() {
            self.enqueue_arrivals_of(index, end, packets);
        }
    }

    /// Enqueues the datagrams that the source of one category, if any, sends before `end`.
    #[inline]
    pub(super) fn enqueue_arrivals_of(&mut self, index: usize, end: Time, packets: &mut Packets) {
        if let Some(source) = &mut self.contenders[index].shortcuts.source
            && source.next < end
        {
            self.enqueue_all(index, end, packets);
        }
    }

    /// Like [`Edcafs::enqueue_arrivals_of`], before a packet is dequeued. Does nothing if a packet waits and the
    /// arrivals certainly fit: they can be enqueued later.
    #[inline]
    pub(super) fn enqueue_arrivals_before_next(&mut self, index: usize, end: Time, packets: &mut Packets) {
        let Edcaf { shortcuts: EdcafShortcuts { source, .. }, waiting, .. } = &self.contenders[index];
        if let Some(source) = source
            && !waiting.one_fifo().is_some_and(|fifo| !fifo.is_empty() && source.fits(end, fifo))
        {
            self.enqueue_arrivals_of(index, end, packets);
        }
    }

    /// Appends packets that arrive at a station at the given times to the queue of one of its categories, up to the
    /// first that does not arrive `before` a time, has another size, may not fit, or that `joins` rejects; returns
    /// their number. Does nothing unless the category has something to send and its queue is a single FIFO.
    pub(crate) fn append_train(
        &mut self,
        station: u32,
        category: usize,
        train: impl Iterator<Item = (Time, PacketId)> + Clone,
        packets: &mut Packets,
        before: Time,
        mut joins: impl FnMut(&mut Packet) -> bool,
    ) -> usize {
        let Some((index, ap)) = self.joined_by_trains(station, category) else { return 0 };
        let Some((mut last, first)) = train.clone().next() else { return 0 };
        let (arrived, gauge, mut count) = (&mut self.deliveries.arrived, ap.map(|ap| &mut self.ap_queues[ap]), 0);
        self.contenders[index].waiting.change_fifo(|fifo| {
            let (size, may_mark) = (packets[first].size, fifo.may_mark());
            let room = usize::try_from(fifo.room_until_full(size)).unwrap_or(usize::MAX);
            let mut lengths = gauge.as_deref().copied(); // in registers
            for (time, id) in train.clone().take(room) {
                let packet = &mut packets[id];
                if time >= before || packet.size != size || !joins(packet) {
                    break;
                }
                if may_mark {
                    fifo.append(id, packet);
                }
                arrived.note(id, time);
                if let Some(lengths) = &mut lengths {
                    lengths.grow(time, false);
                }
                last = time;
                count += 1;
            }
            if !may_mark {
                fifo.reserve(count as u64, size);
                fifo.fill_reserved(train.take(count).map(|(_, id)| id));
            }
            if let (Some(gauge), Some(lengths), true) = (gauge, lengths, count > 0) {
                *gauge = lengths;
                let (level, was_full) = gauge.level();
                gauge.set(last, level, was_full || fifo.is_full());
            }
        });
        count
    }

    /// Appends packets of `size` bytes that arrive at a station at once to the queue of one of its categories, as far
    /// as they certainly fit; returns their number. Does nothing unless the category has something to send and its
    /// queue is a single FIFO that marks nothing.
    pub(crate) fn append_together(
        &mut self,
        now: Time,
        station: u32,
        category: usize,
        ids: &[PacketId],
        size: u16,
    ) -> usize {
        let Some((index, ap)) = self.joined_by_trains(station, category) else { return 0 };
        let mut count = 0;
        self.contenders[index].waiting.change_fifo(|fifo| {
            if !fifo.may_mark() {
                let room = fifo.room_until_full(size);
                count = ids.len().min(usize::try_from(room).unwrap_or(usize::MAX));
                let ids = &ids[..count];
                fifo.reserve(count as u64, size);
                fifo.fill_reserved(ids.iter().copied());
                ids.iter().for_each(|id| self.deliveries.arrived.note(*id, now));
            }
            if let (Some(ap), true) = (ap, count > 0) {
                let gauge = &mut self.ap_queues[ap];
                let (level, was_full) = gauge.level();
                gauge.set(now, level + count, was_full || fifo.is_full());
            }
        });
        count
    }

    /// Index of a station's category, and its access point if it is one, if packets that arrive have no effect but to
    /// join the queue of the category.
    fn joined_by_trains(&self, station: u32, category: usize) -> Option<(usize, Option<usize>)> {
        let Station { is_legacy, ap, .. } = self.stations[station as usize];
        let category = match self.classifier {
            Classifier::Kind(_) => return None,
            Classifier::Caller if is_legacy => AccessCategory::Be.index(),
            Classifier::Caller => category,
            Classifier::One => 0,
        };
        let index = self.index(station, category);
        let is_simple = self.aggregation.as_ref().is_none_or(|rules| !rules.count_in_flight);
        let has_task = self.contenders[index].task.is_some();
        let is_ready = ap.is_none_or(|ap| !self.late_gauges[ap] && self.shortcuts.expected.first == Time::NEVER);
        (is_simple && has_task && is_ready).then_some((index, ap))
    }

    #[inline(never)]
    fn enqueue_all(&mut self, index: usize, end: Time, packets: &mut Packets) {
        let Edcaf { shortcuts: EdcafShortcuts { source, .. }, waiting, .. } = &mut self.contenders[index];
        let Some(source) = source else { return };
        let arrived = &mut self.deliveries.arrived;
        waiting.change_fifo(|fifo| {
            if !source.reserve_arrivals(end, fifo) {
                source.enqueue_arrivals(end, fifo, packets, |id, time| arrived.note(id, time));
            }
        });
    }
}
