//! Duration fields, timeouts and records of the frames of EDCA functions.

use wifair_packet::Packets;
use wifair_units::{BitRate, Bytes, Duration, Time};

use super::agreement::ActionKind;
use super::{BROADCAST, Edcafs, ExchangeFrame, number};
use crate::frame::{Ppdu, PpduMpdu};
use crate::frame_length;
use crate::tap::{Fate, FrameKind, FrameRecord, InAggregate, Tap};

impl Edcafs {
    /// Duration field of a frame of `sender` that ends at `end` and is followed by others for `rest`.
    fn reserves(&self, sender: usize, end: Time, rest: Duration) -> Duration {
        self.access.round_nav(rest.max(self.left_of_txop(sender, end)))
    }

    /// Duration field of an RTS of `sender` that ends at `end`.
    pub(crate) fn reserved_by_rts(&self, sender: usize, end: Time) -> Duration {
        let (sifs, ppdu) = (self.access.timing.sifs, &self.contenders[sender].ppdu);
        let cts = self.access.control_air(ExchangeFrame::Cts);
        self.reserves(sender, end, sifs * 3 + cts + ppdu.air + ppdu.sole().response)
    }

    /// Duration field of a CTS-to-self of `sender` that ends at `end`.
    pub(crate) fn reserved_by_cts_to_self(&self, sender: usize, end: Time) -> Duration {
        let ppdu = &self.contenders[sender].ppdu;
        self.reserves(sender, end, self.access.timing.sifs + ppdu.air + ppdu.after_data(self.access.timing.sifs))
    }

    /// Duration field of the data or BlockAckReq of `sender` that end at `end`.
    pub(crate) fn reserved_by_data(&self, sender: usize, end: Time) -> Duration {
        self.reserves(sender, end, self.contenders[sender].ppdu.after_data(self.access.timing.sifs))
    }

    /// How long the frames of `sender` still reserve the rest of its TXOP at `now`, with `cf_end`.
    pub(crate) fn left_of_txop(&self, sender: usize, now: Time) -> Duration {
        let contender = &self.contenders[sender];
        if self.access.cf_end { (contender.won_at + contender.txop).saturating_since(now) } else { Duration::ZERO }
    }

    /// Whether `sender`, which sends nothing more in its TXOP at `now`, releases the rest with a CF-End after SIFS.
    pub(super) fn releases_txop(&self, sender: usize, now: Time) -> bool {
        let left = self.left_of_txop(sender, now);
        left > Duration::ZERO && left >= self.access.timing.sifs + self.access.cf_end_air()
    }

    /// Record of the CF-End of a station that ends at `end`.
    pub(crate) fn cf_end_record(&self, from: u32, end: Time, fate: Fate) -> FrameRecord {
        let span = (end - self.access.cf_end_air(), end);
        let frame = FrameRecord::new(FrameKind::CfEnd, (from, BROADCAST), span, fate);
        FrameRecord { rate: self.access.cf_end_rate(), length: frame_length::CF_END, ..frame }
    }

    /// How long `sender` waits for the response to what it has formed or, if `by_rts`, to its RTS.
    #[inline]
    pub(crate) fn timeout(&self, sender: usize, by_rts: bool) -> Duration {
        match self.timeout_of_any {
            Some(timeout) => timeout,
            None => self.timeout_of_response(sender, by_rts),
        }
    }

    /// The same if it depends on the rate of the response.
    #[inline(never)]
    fn timeout_of_response(&self, sender: usize, by_rts: bool) -> Duration {
        let (station, ppdu) = (self.station_of(sender), &self.contenders[sender].ppdu);
        if !by_rts && self.extended_response(station, ppdu.sole().station, ppdu.purpose).is_some() {
            return self.access.timeout_of_extended();
        }
        self.access.timeout_of(match ppdu.sole().rate {
            _ if by_rts => self.access.control_rate(),
            Some(rate) => self.access.timing.answer_rate(rate),
            None => self.control_rate(station, ppdu.sole().station),
        })
    }

    /// Record of a frame before the data that began at `began`.
    pub(crate) fn control_record(&self, sender: usize, step: ExchangeFrame, began: Time, fate: Fate) -> FrameRecord {
        let timing = &self.access.timing;
        let ppdu = &self.contenders[sender].ppdu;
        let from = number(self.station_of(sender));
        let (kind, ends, length) = match step {
            ExchangeFrame::Rts => (FrameKind::Rts, (from, ppdu.sole().station), timing.sizes.rts),
            ExchangeFrame::Cts => (FrameKind::Cts, (ppdu.sole().station, from), timing.sizes.cts),
            _ => (FrameKind::Cts, (from, from), timing.sizes.cts),
        };
        let rate = self.access.control_rate();
        let end = began + self.access.control_air(step);
        // A CTS announces the duration of the RTS, less its own and the gap before it.
        let cts = timing.sifs + self.access.control_air(ExchangeFrame::Cts);
        let reserves = match step {
            ExchangeFrame::Rts => self.reserved_by_rts(sender, end),
            ExchangeFrame::Cts => self.reserved_by_rts(sender, end - cts) - cts,
            _ => self.reserved_by_cts_to_self(sender, end),
        };
        FrameRecord { rate, length, reserves, ..FrameRecord::new(kind, ends, (began, end), fate) }
    }

    /// Records of the MPDUs of a PPDU, or of a request, that end at `end`. `fate` is the outcome of all of them, if
    /// given; otherwise lost MPDUs have the outcome `unread_fate`.
    pub(crate) fn data_records(
        &self,
        tap: &mut Tap,
        sender: usize,
        end: Time,
        packets: &Packets,
        fate: Option<Fate>,
        unread_fate: Fate,
    ) -> Vec<FrameRecord> {
        let contender = &self.contenders[sender];
        let ppdu = &contender.ppdu;
        let station = self.station_of(sender);
        let span = (end - ppdu.air, end);
        let ends = (number(station), ppdu.sole().station);
        let reserves = self.reserves(sender, end, ppdu.after_data(self.access.timing.sifs));
        let fate_of = |is_lost: bool| fate.unwrap_or(if is_lost { unread_fate } else { Fate::Read });
        let window = &contender.windows[contender.task.expect("a sender has something to send").window()];
        if ppdu.is_action()
            && let Some(action) = contender.actions.first()
        {
            let frame = FrameRecord::new(action.kind(), ends, span, fate_of(!ppdu.is_read()));
            let rate = self.control_rate(station, ppdu.sole().station);
            // The sequence number is that of the data: for a request, the first one that the agreement covers.
            let (originator, place) = match action.kind {
                ActionKind::AddbaRequest => (sender, action.window),
                ActionKind::AddbaResponse(originator, place) | ActionKind::Delba(originator, place) => {
                    (originator, place)
                }
            };
            let (sequence, tid) =
                (Some(on_air(self.contenders[originator].windows[place].origin())), self.tid_of(originator));
            let retry = contender.contention.is_retry();
            return vec![FrameRecord { rate, length: ppdu.sole().psdu, reserves, retry, sequence, tid, ..frame }];
        }
        if ppdu.is_request() {
            let frame = FrameRecord::new(FrameKind::BlockAckReq, ends, span, fate_of(!ppdu.is_read()));
            let rate = self.control_rate(station, ppdu.sole().station);
            let (sequence, tid) = (Some(on_air(window.origin())), self.tid(sender));
            return vec![FrameRecord {
                rate,
                length: frame_length::BLOCK_ACK_REQUEST,
                reserves,
                sequence,
                tid,
                ..frame
            }];
        }
        let ppdu_number = ppdu.is_aggregate().then(|| tap.next_aggregate());
        let count = ppdu.sole().mpdus.len();
        let is_broadcast = ppdu.is_broadcast();
        let mode = self.mode_towards(station, ppdu.sole().station).filter(|_| !is_broadcast).map(|mode| mode.tx);
        let record = |(place, &PpduMpdu { number, is_lost, .. }): (usize, &PpduMpdu)| {
            let mpdu = window.mpdu(number);
            let further = if mpdu.is_received() || mpdu.packets == 1 {
                (0, 0)
            } else {
                tap.add_further(self.chain.of(mpdu).skip(1).map(|id| (id, packets[id])))
            };
            #[allow(clippy::cast_possible_truncation)]
            let (place, of, category) = (place as u16, count as u16, (sender % self.categories) as u8);
            FrameRecord {
                rate: self.data_rate(station, ppdu),
                length: Bytes(u64::from(mpdu.length)),
                reserves,
                retry: if self.aggregation.is_some() { mpdu.attempts > 1 } else { contender.contention.is_retry() },
                packet: (!mpdu.is_received()).then(|| packets[mpdu.first]),
                id: (!mpdu.is_received()).then_some(mpdu.first),
                sequence: self.aggregation.as_ref().map(|_| on_air(number)),
                tid: self.tid(sender),
                category,
                mode,
                msdus: mpdu.packets.into(),
                aggregate: ppdu_number.map(|ppdu| InAggregate { ppdu, place, of }),
                further,
                ..FrameRecord::new(FrameKind::Data, ends, span, fate_of(is_lost))
            }
        };
        ppdu.sole().mpdus.iter().enumerate().map(record).collect()
    }

    /// Rate of data.
    pub(crate) fn data_rate(&self, station: usize, ppdu: &Ppdu) -> BitRate {
        if ppdu.is_broadcast() {
            return self.access.broadcast_rate;
        }
        let bare = ppdu.sole().rate.unwrap_or(self.stations[self.rate_of(station, ppdu.sole().station)].rate);
        self.mode_towards(station, ppdu.sole().station).map_or(bare, |mode| mode.tx.data_rate())
    }

    /// Record of the response to `sender` that ends at `now`.
    pub(crate) fn response_record(&self, sender: usize, now: Time, fate: Fate) -> FrameRecord {
        let station = self.station_of(sender);
        let ppdu = &self.contenders[sender].ppdu;
        let is_block_ack = ppdu.has(ExchangeFrame::BlockAck);
        let (kind, length) = match &self.aggregation {
            Some(_) if is_block_ack => {
                (FrameKind::BlockAck, self.response_length(station, ppdu.sole().station, ppdu.purpose))
            }
            _ => (FrameKind::Ack, self.access.timing.sizes.ack),
        };
        let frame =
            FrameRecord::new(kind, (ppdu.sole().station, number(station)), (now - ppdu.sole().response, now), fate);
        let tid = if is_block_ack { self.tid(sender) } else { None };
        // A response announces the duration of the data, less its own and the gap before it.
        let answer = self.access.timing.sifs + ppdu.sole().response;
        let reserves = if self.left_of_txop(sender, now) == Duration::ZERO {
            Duration::ZERO
        } else {
            self.reserves(sender, now - answer, answer).saturating_sub(answer)
        };
        let mode = self.extended_response(station, ppdu.sole().station, ppdu.purpose).map(|extended| extended.mode);
        FrameRecord { rate: self.response_rate(sender), length, tid, reserves, mode, ..frame }
    }

    /// Traffic identifier of a sender's category: user priority 6, 5, 0 or 1 (IEEE Std 802.11-2016, table 10-1).
    fn tid(&self, sender: usize) -> Option<u8> {
        let (station, to) = (self.station_of(sender), self.contenders[sender].ppdu.sole().station);
        if self.stations[self.rate_of(station, to)].is_legacy {
            return None; // no QoS data
        }
        self.tid_of(sender)
    }

    /// Traffic identifier of the sender's QoS data.
    fn tid_of(&self, sender: usize) -> Option<u8> {
        self.aggregation.as_ref()?;
        [6, 5, 0, 1].get(sender % self.categories).copied().filter(|_| self.categories == 4)
    }
}

/// A sequence number modulo 4096, as in a frame.
fn on_air(number: u64) -> u16 {
    u16::try_from(number % 4096).expect("12 bits")
}
