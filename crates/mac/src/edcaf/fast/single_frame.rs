//! Frames that an EDCAF sends one at a time, each acknowledged by an ACK: no window keeps their order, and their air
//! times are looked up. Frame records, rate adaptation and noise need the windows.

use wifair_packet::PacketId;
use wifair_units::{Bytes, Duration, Time};

use super::super::ppdu::{rules_between, single_psdu};
use super::super::{Edcaf, Edcafs, Task, number};
use crate::exchange::{ExchangeStep, Purpose, sequence};

/// The frame that an EDCAF is trying to send.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SingleFrame {
    pub id: PacketId,
    pub to: u32,
    pub airs: SingleAirs,
    /// Number of attempts so far, without those whose RTS got no CTS.
    pub attempts: u8,
    /// Whether the receiver has it.
    pub is_received: bool,
}

/// Air times of a frame of this length and its ACK, and the frames of its exchange.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SingleAirs {
    pub psdu: Bytes,
    pub data: Duration,
    pub ack: Duration,
    pub sequence: &'static [ExchangeStep],
}

impl SingleAirs {
    /// A place in a cache without air times.
    pub const NONE: Self = Self { psdu: Bytes(0), data: Duration::ZERO, ack: Duration::ZERO, sequence: &[] };
}

impl Edcafs {
    /// Sends single frames without windows, if `is_on` and if all frames are such frames.
    pub(crate) fn set_single_frames(&mut self, is_on: bool) {
        let is_plain = self.aggregation.as_ref().is_none_or(|rules| {
            let is_single = rules.max_ampdu.0 == 0 && rules.max_amsdu.0 == 0;
            is_single && rules.lifetime.is_none() && rules.wait_until.is_none() && !rules.count_in_flight
        });
        let has_fixed_modes = self.stations.iter().all(|station| station.choice.is_none() && !station.link.is_noisy());
        self.sends_singly = is_on && is_plain && has_fixed_modes;
    }

    /// Makes a packet, of `length` bytes from the MAC header to the FCS, the next frame of an EDCAF.
    #[inline]
    pub(in crate::edcaf) fn load_single(&mut self, index: usize, id: PacketId, to: u32, length: u64) {
        let station = self.station_of(index);
        let psdu = single_psdu(Bytes(length), rules_between(&self.stations, station, to));
        let peer = self.rate_of(station, to);
        #[allow(clippy::cast_possible_truncation)]
        let place = (psdu.0 ^ (psdu.0 >> 3)) as usize % self.stations[peer].airs.len();
        let mut airs = self.stations[peer].airs[place];
        if airs.psdu != psdu {
            airs = self.single_airs(station, to, psdu);
            self.stations[peer].airs[place] = airs;
        }
        let frame = SingleFrame { id, to, airs, attempts: 0, is_received: false };
        self.contenders[index].task = Some(Task::Single(frame));
    }

    #[inline(never)]
    fn single_airs(&self, station: usize, to: u32, psdu: Bytes) -> SingleAirs {
        SingleAirs {
            psdu,
            data: self.data_air(station, to, psdu),
            ack: self.response_air(station, to, Purpose::Single),
            sequence: sequence(Purpose::Single, self.protection(psdu, to, station, None)),
        }
    }

    /// Forms the PPDU of an EDCAF that sends a single frame.
    #[inline]
    pub(in crate::edcaf) fn form_single(&mut self, sender: usize) {
        let Edcaf { task: Some(Task::Single(frame)), ppdu, counters, .. } = &mut self.contenders[sender] else {
            return;
        };
        ppdu.begin(frame.to, Purpose::Single);
        ppdu.first = frame.id;
        ppdu.retries = u64::from(frame.attempts > 0);
        frame.attempts = frame.attempts.saturating_add(1);
        let SingleAirs { psdu, data, ack, sequence } = frame.airs;
        ppdu.set_airs(psdu, data, ack, sequence);
        if !ppdu.has(ExchangeStep::Rts) {
            ppdu.count_as(1, counters);
        }
    }

    /// The receiver gets the frame of `sender`, and passes it up if it is new.
    #[inline]
    pub(in crate::edcaf) fn receive_single(&mut self, now: Time, sender: usize) {
        let Edcaf { task: Some(Task::Single(frame)), .. } = &mut self.contenders[sender] else { return };
        if !std::mem::replace(&mut frame.is_received, true) {
            let before = self.released.up.mark();
            self.released.up.push(frame.to, frame.id);
            self.note_passed_up(now, sender, before);
            self.released_at = now;
        }
    }

    /// Completes an exchange with a single frame; see [`Edcafs::settle`].
    #[inline]
    pub(in crate::edcaf) fn settle_single(&mut self, sender: usize, answered: bool, by_rts: bool) -> u64 {
        let Edcaf { task: Some(Task::Single(frame)), ppdu, counters, .. } = &mut self.contenders[sender] else {
            return 0;
        };
        if by_rts {
            frame.attempts -= 1;
        } else {
            ppdu.count_as(1, counters);
        }
        counters.delivered += u64::from(answered);
        u64::from(answered)
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
