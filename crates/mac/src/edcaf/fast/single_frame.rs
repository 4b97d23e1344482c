//! Frames that an EDCAF sends one at a time, each acknowledged by an ACK: no window keeps their order, and their air
//! times are looked up. Frame records, rate adaptation and noise need the windows.

use wifair_packet::{Kind, Packet, PacketId, Packets};
use wifair_phy::ChannelWidth;
use wifair_units::{Bytes, Duration, Time};

use super::super::ppdu::single_psdu;
use super::super::window::Mpdu;
use super::super::{Access, BROADCAST, Call, Edcaf, Edcafs, MacEvent, Station, Task, number, rate_of};
use super::EdcafShortcuts;
use crate::Eifs;
use crate::exchange::{ExchangeFrame, Protection, Purpose};

/// The frame that an EDCAF is trying to send.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SingleFrame {
    pub id: PacketId,
    pub to: u32,
    /// Kind and size of the packet; those for the same receiver that are alike in both have the same air times.
    likeness: (Kind, u16),
    pub airs: SingleAirs,
    /// Number of attempts so far, without those whose RTS got no CTS.
    pub attempts: u8,
    /// Whether the receiver has it.
    pub is_received: bool,
}

/// Air times of a frame of this length and its ACK, and what precedes it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SingleAirs {
    pub psdu: Bytes,
    pub data: Duration,
    pub width: ChannelWidth,
    pub ack: Duration,
    pub protection: Protection,
    /// Duration of the whole exchange, with SIFS before it.
    pub exchange: Duration,
}

impl SingleAirs {
    /// A place in a cache without air times.
    pub const NONE: Self = Self {
        psdu: Bytes(0),
        data: Duration::ZERO,
        width: ChannelWidth::Mhz20,
        ack: Duration::ZERO,
        protection: Protection::None,
        exchange: Duration::ZERO,
    };
}

impl SingleFrame {
    /// Its packet, if the receiver does not have it.
    #[inline]
    pub fn undelivered(&self) -> Option<PacketId> {
        (!self.is_received).then_some(self.id)
    }

    /// Duration of its exchange, with SIFS before it.
    #[inline]
    pub const fn exchange_time(&self) -> Duration {
        self.airs.exchange
    }
}

impl Edcaf {
    /// Completes an exchange, if it is one with a single frame; see [`Edcafs::settle`].
    #[inline]
    pub(in crate::edcaf) fn settle_single(&mut self, answered: bool, by_rts: bool) -> Option<u64> {
        let Some(Task::Single(frame)) = &mut self.task else { return None };
        if by_rts {
            frame.attempts -= 1;
        } else {
            self.ppdu.count_as(1, &mut self.counters);
        }
        let delivered = u64::from(answered);
        self.counters.delivered += delivered;
        Some(delivered)
    }
}

impl Edcafs {
    /// Sends single frames without windows, if `is_on` and if all frames are such frames.
    pub(crate) fn set_single_frames(&mut self, is_on: bool) {
        let is_plain = self.aggregation.as_ref().is_none_or(|rules| {
            let is_single = rules.max_ampdu.0 == 0 && rules.max_amsdu.0 == 0;
            is_single && rules.lifetime.is_none() && rules.wait_until.is_none() && !rules.count_in_flight
        });
        let has_fixed_modes = self.stations.iter().all(|station| station.choice.is_none() && !station.link.is_noisy());
        let Access { nav_unit, cf_end, .. } = self.access;
        self.shortcuts.sends_singly = is_on && is_plain && has_fixed_modes && !cf_end;
        let can_fail = self.stations.iter().any(|station| station.errors.are_possible());
        let is_nav_exact = nav_unit == Duration::ZERO;
        // Older stations may not read the response, and wait EIFS.
        let reads_like_first = |station: &Station| station.newest == self.stations[0].newest;
        let is_read_by_all = match self.access.eifs {
            Eifs::AfterError | Eifs::Off => !self.stations.iter().any(|station| station.link.has_extended_responses()),
            Eifs::AfterCollision | Eifs::Nav => self.stations.iter().all(reads_like_first),
        };
        let is_reliable = self.shortcuts.sends_singly && !can_fail && is_nav_exact && is_read_by_all;
        self.shortcuts.is_reliable = is_reliable && !self.air_use.is_wanted();
    }

    /// Determines what an EDCAF sends next: the next packet of its queue.
    #[inline(always)]
    pub(in crate::edcaf) fn load_single(&mut self, index: usize, call: &mut Call<'_>) -> bool {
        let Call { now, ref mut packets, ref mut dropped, next_hops, .. } = *call;
        let Edcaf { shortcuts: EdcafShortcuts { source, .. }, ap, .. } = &self.contenders[index];
        if ap.is_some() {
            self.arrive_before(now, packets, dropped);
        } else if source.is_some() {
            self.feed_single(index, now, packets);
        }
        let contender = &mut self.contenders[index];
        let before = contender.waiting.len();
        let Some(id) = contender.waiting.dequeue(now, packets, dropped) else {
            self.load_nothing(now, index);
            return false;
        };
        let packet = &packets[id];
        let (to, likeness) = (next_hops.of(packet), (packet.kind, packet.size));
        match &mut contender.task {
            Some(Task::Single(last)) if (last.to, last.likeness) == (to, likeness) => {
                (last.id, last.attempts, last.is_received) = (id, 0, false);
            }
            _ => self.load_other(index, to, id, packet),
        }
        self.note_departures(now, index, before);
        true
    }

    /// The source of an EDCAF enqueues what has arrived, with packets.
    #[inline(never)]
    fn feed_single(&mut self, index: usize, now: Time, packets: &mut Packets) {
        self.enqueue_arrivals_before_next(index, now + Duration::from_nanos(1), packets);
        if self.contenders[index].waiting.one_fifo().is_some_and(|fifo| fifo.written() == 0) {
            self.write_out(index, u64::MAX, packets);
        }
    }

    /// An EDCAF has nothing more to send.
    #[inline(never)]
    fn load_nothing(&mut self, now: Time, index: usize) {
        self.contenders[index].task = None;
        self.fall_silent(now, index);
        self.read_late_gauge(now, self.station_of(index));
    }

    /// Determines that an EDCAF sends a packet next that is not like the last one.
    #[inline(never)]
    fn load_other(&mut self, index: usize, to: u32, id: PacketId, packet: &Packet) {
        let contender = &mut self.contenders[index];
        let station = contender.station;
        let place = rate_of(&self.stations, station, to);
        let peer = &self.stations[place];
        let length = peer.mpdu_length(&self.access, packet, &self.stations[station]);
        if to == BROADCAST {
            contender.load_mpdu(to, Mpdu::new(id, length, Time::NEVER), None);
            return;
        }
        let psdu = single_psdu(Bytes(length), peer.rules.as_ref());
        #[allow(clippy::cast_possible_truncation)]
        let entry = (psdu.0 ^ (psdu.0 >> 3)) as usize % peer.airs.len();
        let (airs, likeness) = (peer.airs[entry], (packet.kind, packet.size));
        contender.task = Some(Task::Single(SingleFrame { id, to, likeness, airs, attempts: 0, is_received: false }));
        if airs.psdu != psdu {
            self.find_airs(index, place, entry, psdu);
        }
    }

    /// Determines the air times of the frame of an EDCAF, and puts them into an entry of the cache at the station whose
    /// rate applies.
    #[inline(never)]
    fn find_airs(&mut self, index: usize, place: usize, entry: usize, psdu: Bytes) {
        let Edcaf { task: Some(Task::Single(SingleFrame { to, .. })), station, .. } = self.contenders[index] else {
            return;
        };
        let (data, ack) = (self.data_air(station, to, psdu), self.response_air(station, to, Purpose::Single));
        let found = SingleAirs {
            psdu,
            data,
            width: self.data_width(station, to),
            ack,
            protection: self.protection(psdu, to, index, None),
            exchange: self.protection_time(psdu, to, index) + data + self.access.timing.sifs * 2 + ack,
        };
        self.stations[place].airs[entry] = found;
        if let Some(Task::Single(frame)) = &mut self.contenders[index].task {
            frame.airs = found;
        }
    }

    /// Forms the PPDU of an EDCAF that sends a single frame.
    #[inline]
    pub(in crate::edcaf) fn form_single(&mut self, sender: usize) {
        let Edcaf { task: Some(Task::Single(frame)), ppdu, counters, .. } = &mut self.contenders[sender] else {
            return;
        };
        ppdu.begin(frame.to, Purpose::Single);
        ppdu.sole_mut().first = frame.id;
        ppdu.retries = u64::from(frame.attempts > 0);
        frame.attempts = frame.attempts.saturating_add(1);
        let SingleAirs { psdu, data, width, ack, protection, .. } = frame.airs;
        ppdu.set_airs(psdu, data, ack, protection);
        ppdu.width = width;
        if !ppdu.begins_with(ExchangeFrame::Rts) {
            ppdu.count_as(1, counters);
        }
    }

    /// An EDCAF sends, if its exchange cannot fail; returns the air time of the data. Its PPDU is not formed.
    #[inline(always)]
    pub(crate) fn send_reliably(&mut self, sender: usize) -> Option<Duration> {
        let Edcaf { task: Some(Task::Single(frame)), station, counters, .. } = &mut self.contenders[sender] else {
            return None;
        };
        if !self.shortcuts.is_reliable || frame.airs.protection != Protection::None {
            return None;
        }
        counters.ppdus += 1;
        counters.mpdus += 1;
        counters.retries += u64::from(frame.attempts > 0);
        counters.widths[frame.airs.width as usize].add(frame.airs.data);
        frame.attempts = frame.attempts.saturating_add(1);
        let own = &mut self.counters[*station];
        own.attempts += 1;
        let category = (sender - *station * self.categories) as u32;
        self.air_to.turn(*station, frame.to, category, || own.air());
        Some(frame.airs.data)
    }

    /// The receiver gets the frame of `sender`; returns it if it is new.
    #[inline(always)]
    pub(crate) fn receive_single(&mut self, now: Time, sender: usize) -> MacEvent {
        let Edcaf { task: Some(Task::Single(frame)), counters, .. } = &mut self.contenders[sender] else {
            return MacEvent::Nothing;
        };
        if std::mem::replace(&mut frame.is_received, true) {
            return MacEvent::Nothing;
        }
        let SingleFrame { to, id, .. } = *frame;
        counters.passed_up += 1;
        self.deliveries.note_delay(now, sender, id);
        MacEvent::Packet { to, id }
    }

    /// The receiver gets the frame of `sender`, whose exchange cannot fail. Returns it with the air time of its ACK.
    #[inline(always)]
    pub(crate) fn receive_reliably(&mut self, now: Time, sender: usize) -> (MacEvent, Duration) {
        let Edcaf { task: Some(Task::Single(frame)), counters, station, .. } = &mut self.contenders[sender] else {
            unreachable!("only single frames are sent reliably")
        };
        let SingleFrame { to, id, airs: SingleAirs { data, ack, .. }, .. } = *frame;
        frame.is_received = true;
        counters.passed_up += 1;
        counters.data_air += data;
        let station = &mut self.counters[*station];
        station.data += data;
        self.deliveries.note_delay(now, sender, id);
        (MacEvent::Packet { to, id }, ack)
    }

    /// Completes an exchange that could not fail; returns whether there is more to send.
    #[inline(always)]
    pub(crate) fn succeed_reliably(&mut self, sender: usize, call: &mut Call<'_>) -> bool {
        let contender = &mut self.contenders[sender];
        contender.in_a_row += 1;
        contender.counters.delivered += 1;
        contender.contention.reset();
        let counters = &mut self.counters[contender.station];
        counters.delivered += 1;
        if let Some(Task::Single(frame)) = &contender.task {
            counters.control += frame.airs.ack;
        }
        self.load_single(sender, call)
    }

    /// Gives up the single frame of `sender`.
    pub(in crate::edcaf) fn discard_single(&mut self, sender: usize, retry_limit_drops: &mut Vec<(u32, PacketId)>) {
        let station = self.station_of(sender);
        let Some(Task::Single(frame)) = &self.contenders[sender].task else { return };
        self.counters[station].retry_limit_drops += 1;
        if !frame.is_received {
            retry_limit_drops.push((number(station), frame.id));
        }
    }
}
