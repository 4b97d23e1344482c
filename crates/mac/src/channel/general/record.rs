//! Records of what a channel with access categories has put on the air.

use wifair_packet::Packets;
use wifair_units::{BitRate, Bytes, Duration, Time};

use super::exchanges::CF_END;
use super::{GeneralChannel, Phase};
use crate::BROADCAST;
use crate::edcaf::{BLOCK_ACK_REQ, Ppdu, control_air, control_rate, number};
use crate::exchange::Step;
use crate::tap::{Fate, FrameKind, FrameRecord, InAggregate, Tap};

impl GeneralChannel {
    /// Records what ends at `now`.
    #[cold]
    pub(super) fn record(&mut self, now: Time, packets: &Packets) {
        let Some(mut tap) = self.tap.take() else { return };
        match self.phase {
            Phase::Idle => {
                for (contender, from) in self.backoffs.counting() {
                    tap.backoff(number(contender as usize / self.edcafs.categories), from, now);
                }
            }
            Phase::Gap => {}
            Phase::Data | Phase::Broadcast => self.record_exchange(&mut tap, now, packets),
            Phase::Response { lost } => self.record_response(&mut tap, now, lost),
            Phase::CfEnd { .. } => self.record_cf_end(&mut tap, now),
            Phase::Collision => {
                let fate = if self.senders.len() > 1 { Fate::Collision } else { Fate::Error };
                for &sender in &self.senders {
                    let opening = self.opening(sender);
                    match self.edcafs.contenders[sender].ppdu.before_data().first() {
                        Some(step) => self.record_control(&mut tap, sender, *step, self.began, fate),
                        None => self.record_data(&mut tap, sender, self.began + opening, packets, Some(fate)),
                    }
                }
            }
        }
        self.tap = Some(tap);
    }

    /// Data or a request that end at `now`, with what preceded them.
    fn record_exchange(&self, tap: &mut Tap, now: Time, packets: &Packets) {
        let sender = self.senders[0];
        let ppdu = &self.edcafs.contenders[sender].ppdu;
        let mut began = now - ppdu.air;
        for step in ppdu.before_data() {
            began = began - control_air(&self.edcafs.access, *step) - self.edcafs.access.timing.sifs;
        }
        for step in ppdu.before_data() {
            self.record_control(tap, sender, *step, began, Fate::Read);
            began += control_air(&self.edcafs.access, *step) + self.edcafs.access.timing.sifs;
        }
        self.record_data(tap, sender, now, packets, None);
    }

    /// What a frame announces that is followed by others for `rest`.
    fn reserves(&self, rest: Duration) -> Duration {
        self.edcafs.access.round_nav(rest)
    }

    /// A frame that precedes data, from `began` on.
    fn record_control(&self, tap: &mut Tap, sender: usize, step: Step, began: Time, fate: Fate) {
        let timing = &self.edcafs.access.timing;
        let ppdu = &self.edcafs.contenders[sender].ppdu;
        let from = number(self.edcafs.station_of(sender));
        let (kind, ends, length) = match step {
            Step::Rts => (FrameKind::Rts, (from, ppdu.to), timing.sizes.rts),
            Step::Cts => (FrameKind::Cts, (ppdu.to, from), timing.sizes.cts),
            _ => (FrameKind::Cts, (from, from), timing.sizes.cts),
        };
        // A CTS announces what the RTS did, less itself and the gap before it.
        let after_rts = timing.sifs * 3 + timing.cts() + ppdu.air + ppdu.response;
        let reserves = match step {
            Step::Rts => self.reserves(after_rts),
            Step::Cts => self.reserves(after_rts) - timing.sifs - timing.cts(),
            _ => self.reserves(timing.sifs * 2 + ppdu.air + ppdu.response),
        };
        let rate = control_rate(&self.edcafs.access);
        let end = began + control_air(&self.edcafs.access, step);
        tap.push(FrameRecord { rate, length, reserves, ..FrameRecord::new(kind, ends, (began, end), fate) });
    }

    /// The MPDUs of a PPDU, or a request, that end at `end`; with the same fate for all, if it is given.
    fn record_data(&self, tap: &mut Tap, sender: usize, end: Time, packets: &Packets, fate: Option<Fate>) {
        let contender = &self.edcafs.contenders[sender];
        let ppdu = &contender.ppdu;
        let station = self.edcafs.station_of(sender);
        let span = (end - ppdu.air, end);
        let ends = (number(station), ppdu.to);
        let answer = if ppdu.to == BROADCAST { Duration::ZERO } else { self.edcafs.access.timing.sifs + ppdu.response };
        let reserves = self.reserves(answer);
        let fate_of = |is_spoilt: bool| fate.unwrap_or(if is_spoilt { Fate::Error } else { Fate::Read });
        let window = &contender.windows[contender.task.expect("a sender has something to send").window()];
        if ppdu.is_request() {
            let frame = FrameRecord::new(FrameKind::BlockAckReq, ends, span, fate_of(!ppdu.is_read()));
            let rate = self.edcafs.control_rate(station, ppdu.to);
            let (sequence, tid) = (Some(on_air(window.origin())), self.tid(sender));
            tap.push(FrameRecord { rate, length: BLOCK_ACK_REQ, reserves, sequence, tid, ..frame });
            return;
        }
        let ppdu_number = ppdu.is_aggregate().then(|| tap.next_aggregate());
        let count = ppdu.mpdus().len();
        let is_broadcast = ppdu.to == BROADCAST;
        let mode = self.edcafs.mode_towards(station, ppdu.to).filter(|_| !is_broadcast).map(|mode| mode.tx);
        for (place, &(number, is_spoilt)) in ppdu.mpdus().iter().enumerate() {
            let mpdu = window.mpdu(number);
            #[allow(clippy::cast_possible_truncation)]
            let (place, of) = (place as u16, count as u16);
            tap.push(FrameRecord {
                rate: self.data_rate(station, ppdu),
                length: Bytes(u64::from(mpdu.length)),
                reserves,
                retry: if self.edcafs.aggregation.is_some() {
                    mpdu.attempts > 1
                } else {
                    contender.contention.is_retry()
                },
                packet: (!mpdu.is_received()).then(|| packets[mpdu.first]),
                id: (!mpdu.is_received()).then_some(mpdu.first),
                sequence: self.edcafs.aggregation.as_ref().map(|_| on_air(number)),
                tid: self.tid(sender),
                mode,
                msdus: mpdu.packets,
                aggregate: ppdu_number.map(|ppdu| InAggregate { ppdu, place, of }),
                ..FrameRecord::new(FrameKind::Data, ends, span, fate_of(is_spoilt))
            });
        }
    }

    fn data_rate(&self, station: usize, ppdu: &Ppdu) -> BitRate {
        if ppdu.to == BROADCAST {
            return self.edcafs.access.broadcast_rate;
        }
        let bare = self.edcafs.stations[self.edcafs.rate_of(station, ppdu.to)].rate;
        self.edcafs.mode_towards(station, ppdu.to).map_or(bare, |mode| mode.tx.data_rate())
    }

    /// The answer that ends at `now`.
    fn record_response(&self, tap: &mut Tap, now: Time, lost: bool) {
        let sender = self.senders[0];
        let station = self.edcafs.station_of(sender);
        let ppdu = &self.edcafs.contenders[sender].ppdu;
        let is_block_ack = ppdu.has(Step::BlockAck);
        let (kind, length) = match &self.edcafs.aggregation {
            Some(_) if is_block_ack => {
                (FrameKind::BlockAck, self.edcafs.response_length(station, ppdu.to, ppdu.purpose))
            }
            _ => (FrameKind::Ack, self.edcafs.access.timing.sizes.ack),
        };
        let fate = if lost { Fate::Error } else { Fate::Read };
        let frame = FrameRecord::new(kind, (ppdu.to, number(station)), (now - ppdu.response, now), fate);
        let tid = if is_block_ack { self.tid(sender) } else { None };
        tap.push(FrameRecord { rate: self.edcafs.control_rate(station, ppdu.to), length, tid, ..frame });
    }

    /// The CF-End that ends at `now`.
    fn record_cf_end(&self, tap: &mut Tap, now: Time) {
        let from = number(self.edcafs.station_of(self.senders[0]));
        let frame = FrameRecord::new(FrameKind::CfEnd, (from, BROADCAST), (now - self.cf_end(), now), Fate::Read);
        tap.push(FrameRecord { rate: self.edcafs.access.timing.lowest_rate, length: CF_END, ..frame });
    }

    /// Traffic identifier of a sender's category: the user priorities 6, 5, 0 and 1 (IEEE Std 802.11-2016, table 10-1).
    fn tid(&self, sender: usize) -> Option<u8> {
        self.edcafs.aggregation.as_ref()?;
        let (station, to) = (self.edcafs.station_of(sender), self.edcafs.contenders[sender].ppdu.to);
        let peer = self.edcafs.rate_of(station, to);
        if self.edcafs.stations[peer].is_legacy {
            return None; // no QoS data
        }
        [6, 5, 0, 1].get(sender % self.edcafs.categories).copied().filter(|_| self.edcafs.categories == 4)
    }
}

/// A sequence number as it is on the air.
fn on_air(number: u64) -> u16 {
    u16::try_from(number % 4096).expect("12 bits")
}
