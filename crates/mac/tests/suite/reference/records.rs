//! Use of the air time, and records of frames.

use wifair_mac::{AirTime, BROADCAST, BackoffRecord, Counters, Fate, FrameKind, frame_length};
use wifair_packet::Packets;
use wifair_units::{Bytes, Duration, Time};

use super::ppdu::Content;
use super::{ReferenceChannel, ReferencePhase};
use crate::equality::ComparedFrame;

impl ReferenceChannel {
    /// Turns records of frames and backoffs on or off.
    pub fn set_tap(&mut self, on: bool) {
        self.frames = on.then(Vec::new);
    }

    /// Use of the air time until `now`.
    pub fn air_time(&self, now: Time) -> AirTime {
        let mut air = self.air;
        let mut left = now.saturating_since(self.accounted);
        let mut spend = |part: Duration| {
            let spent = part.min(left);
            left = left.saturating_sub(spent);
            spent
        };
        match self.phase {
            ReferencePhase::Idle | ReferencePhase::Gap => air.idle += spend(Duration::MAX),
            ReferencePhase::Collision => {
                air.idle += spend(self.began.saturating_since(self.accounted));
                air.collision += spend(Duration::MAX);
            }
            ReferencePhase::Unanswered { .. } | ReferencePhase::LostCts => {
                air.rts_cts += spend(self.rts());
                air.idle += spend(self.access.timing.sifs);
                air.rts_cts += spend(Duration::MAX);
            }
            ReferencePhase::Data | ReferencePhase::Broadcast => {
                let ppdu = self.functions[self.senders[0]].ppdu();
                air.idle += spend(self.began.saturating_since(self.accounted));
                if ppdu.rts {
                    air.rts_cts += spend(self.rts());
                    air.idle += spend(self.access.timing.sifs);
                }
                if ppdu.rts || ppdu.cts_to_self && !self.is_after_cts {
                    air.rts_cts += spend(self.cts());
                    air.idle += spend(self.access.timing.sifs);
                }
                if ppdu.is_request() {
                    air.ack += spend(ppdu.air);
                } else {
                    air.data += spend(ppdu.air - ppdu.lost_air());
                    air.error += spend(ppdu.lost_air());
                }
            }
            ReferencePhase::Response { .. } | ReferencePhase::CfEnd | ReferencePhase::SecondCfEnd => {
                air.idle += spend(self.access.timing.sifs);
                air.ack += spend(Duration::MAX);
            }
        }
        air
    }

    /// Counts air time of the exchange of a contender, as a part of what its station has spent, and for the receiver by
    /// category.
    pub(super) fn spend(&mut self, sender: usize, part: fn(&mut Counters) -> &mut Duration, air: Duration) {
        let function = &self.functions[sender];
        let (to, station) = (function.ppdu().to, function.station);
        *part(&mut self.nodes[station].counters) += air;
        if to != BROADCAST {
            let category = sender - self.own(station).start;
            self.nodes[to as usize].air_to[category] += air;
        }
    }

    /// Accounts for the air time of data or a request that ends at `now`, and of what preceded it.
    pub(super) fn account_exchange(&mut self, now: Time) {
        let sender = self.senders[0];
        let ppdu = self.functions[sender].ppdu().clone();
        let (rts, cts) = (self.rts(), self.cts());
        self.air.idle += self.began.saturating_since(self.accounted);
        if ppdu.rts {
            self.air.idle += self.access.timing.sifs;
            self.air.rts_cts += rts;
            self.spend(sender, |counters| &mut counters.control, rts);
        }
        if ppdu.rts || ppdu.cts_to_self {
            if self.is_after_cts {
                // The data follow a CTS-to-self that collided.
                self.spend(sender, |counters| &mut counters.collided, cts);
            } else {
                self.spend(sender, |counters| &mut counters.control, cts);
                self.air.idle += self.access.timing.sifs;
                self.air.rts_cts += cts;
            }
        }
        if ppdu.is_request() {
            self.air.ack += ppdu.air;
            self.spend(sender, |counters| &mut counters.control, ppdu.air);
        } else {
            self.air.data += ppdu.air - ppdu.lost_air();
            self.air.error += ppdu.lost_air();
            self.spend(sender, |counters| &mut counters.data, ppdu.air);
        }
        self.accounted = now;
    }

    pub(super) fn account_response(&mut self, now: Time) {
        let response = self.functions[self.senders[0]].ppdu().response;
        self.air.idle += self.access.timing.sifs;
        self.air.ack += response;
        self.spend(self.senders[0], |counters| &mut counters.control, response);
        self.accounted = now;
    }

    /// Accounts for a CF-End that ends at `now`, as part of the holder's TXOP.
    pub(super) fn account_cf_end(&mut self, now: Time) {
        let air = self.access.cf_end_air();
        self.air.idle += self.access.timing.sifs;
        self.air.ack += air;
        self.accounted = now;
        self.spend(self.senders[0], |counters| &mut counters.control, air);
    }

    /// Records what ends at `now`.
    pub(super) fn record(&mut self, now: Time, packets: &Packets) {
        let Some(mut frames) = self.frames.take() else { return };
        let sifs = self.access.timing.sifs;
        match self.phase {
            ReferencePhase::Idle => {
                for function in &self.functions {
                    if function.task.is_some() && function.slots > 0 && now > function.from {
                        let station = function.station as u32;
                        self.backoffs.push(BackoffRecord { station, from: function.from, until: now });
                    }
                }
            }
            ReferencePhase::Gap => {}
            ReferencePhase::Data | ReferencePhase::Broadcast => {
                let sender = self.senders[0];
                let ppdu = self.functions[sender].ppdu();
                let began = now - ppdu.air;
                if ppdu.rts {
                    let rts_began = began - sifs - self.cts() - sifs - self.rts();
                    frames.push(self.rts_record(sender, rts_began, Fate::Read));
                }
                if ppdu.rts || ppdu.cts_to_self && !self.is_after_cts {
                    frames.push(self.cts_record(sender, began - sifs - self.cts(), Fate::Read));
                }
                frames.extend(self.data_records(sender, now, packets, None));
            }
            ReferencePhase::Response { lost } => {
                frames.push(self.response_record(now, if lost { Fate::Error } else { Fate::Read }));
            }
            ReferencePhase::CfEnd | ReferencePhase::SecondCfEnd => {
                let (air, holder) = (self.access.cf_end_air(), self.functions[self.senders[0]].station);
                let sender = if self.phase == ReferencePhase::CfEnd { holder as u32 } else { self.aps[0] };
                frames.push(ComparedFrame {
                    span: (now - air, now),
                    ends: (sender, BROADCAST),
                    kind: FrameKind::CfEnd,
                    rate: self.access.cf_end_rate(),
                    length: frame_length::CF_END,
                    ..ComparedFrame::plain()
                });
            }
            ReferencePhase::Unanswered { lost } => {
                let fate = if lost { Fate::Error } else { Fate::Read };
                frames.push(self.rts_record(self.senders[0], self.began, fate));
            }
            ReferencePhase::LostCts => {
                frames.push(self.rts_record(self.senders[0], self.began, Fate::Read));
                frames.push(self.cts_record(self.senders[0], now - self.cts(), Fate::Error));
            }
            ReferencePhase::Collision => {
                let fate = Fate::Collision;
                for &sender in &self.senders {
                    let (sends, ppdu) = (self.sends(sender), self.functions[sender].ppdu());
                    if ppdu.rts {
                        frames.push(self.rts_record(sender, self.began, fate));
                    } else if ppdu.cts_to_self && !self.is_after_cts {
                        frames.push(self.cts_record(sender, self.began, fate));
                    }
                    let data_end = sends.last().expect("it sends something").1;
                    if !ppdu.rts && data_end <= now {
                        frames.extend(self.data_records(sender, data_end, packets, Some(fate)));
                    }
                }
            }
        }
        self.frames = Some(frames);
    }

    fn rts_record(&self, sender: usize, began: Time, fate: Fate) -> ComparedFrame {
        let timing = &self.access.timing;
        let ends = (self.functions[sender].station as u32, self.functions[sender].ppdu().to);
        ComparedFrame {
            span: (began, began + self.rts()),
            ends,
            kind: FrameKind::Rts,
            fate,
            rate: self.guard_rate(),
            length: timing.sizes.rts,
            reserves: self.reserved_by_rts(sender, began + self.rts()),
            ..ComparedFrame::plain()
        }
    }

    fn cts_record(&self, sender: usize, began: Time, fate: Fate) -> ComparedFrame {
        let timing = &self.access.timing;
        let (ppdu, station) = (self.functions[sender].ppdu(), self.functions[sender].station as u32);
        ComparedFrame {
            span: (began, began + self.cts()),
            ends: (if ppdu.cts_to_self { station } else { ppdu.to }, station),
            kind: FrameKind::Cts,
            fate,
            rate: self.guard_rate(),
            length: timing.sizes.cts,
            reserves: self.reserved_by_cts(sender, began + self.cts()),
            ..ComparedFrame::plain()
        }
    }

    /// Records of the MPDUs of a PPDU, or of a request, that end at `end`; `fate` is the outcome of all, if it is the
    /// same.
    fn data_records(&self, sender: usize, end: Time, packets: &Packets, fate: Option<Fate>) -> Vec<ComparedFrame> {
        let function = &self.functions[sender];
        let (station, ppdu) = (function.station, function.ppdu());
        let originator = &function.peers[self.task_peer(sender)];
        let fate_of = |is_lost: bool| fate.unwrap_or(if is_lost { Fate::Error } else { Fate::Read });
        let sequence_of = |number: u64| self.has_rules.then(|| u16::try_from(number % 4096).expect("12 bits"));
        let common = ComparedFrame {
            span: (end - ppdu.air, end),
            ends: (station as u32, ppdu.to),
            kind: FrameKind::Data,
            rate: self.data_rate(station, ppdu.to),
            reserves: self.reserved_by_data(sender, end),
            ..ComparedFrame::plain()
        };
        if ppdu.is_request() {
            return vec![ComparedFrame {
                kind: FrameKind::BlockAckReq,
                fate: fate_of(ppdu.request_lost),
                rate: self.control_rate(station, ppdu.to),
                length: frame_length::BLOCK_ACK_REQUEST,
                sequence: sequence_of(originator.start()),
                ..common
            }];
        }
        let count = ppdu.mpdus.len();
        let record = |(number, is_lost): &(u64, bool)| {
            let mpdu = &originator.mpdus[usize::try_from(*number).expect("few MPDUs")];
            let is_retry = if self.has_rules {
                mpdu.attempts > 1
            } else {
                function.short_retries > 0 || function.long_retries > 0
            };
            let has_got = originator.recipient.has_got(*number);
            ComparedFrame {
                fate: fate_of(*is_lost),
                length: Bytes(mpdu.length),
                retry: is_retry,
                flow: (!has_got).then(|| packets[mpdu.packets[0]].flow),
                sequence: sequence_of(*number),
                msdus: mpdu.packets.len(),
                mpdus: if ppdu.content == Content::Aggregate { count } else { 1 },
                ..common
            }
        };
        ppdu.mpdus.iter().map(record).collect()
    }

    fn response_record(&self, now: Time, fate: Fate) -> ComparedFrame {
        let function = &self.functions[self.senders[0]];
        let ppdu = function.ppdu();
        let is_ack = ppdu.content == Content::Single;
        ComparedFrame {
            span: (now - ppdu.response, now),
            ends: (ppdu.to, function.station as u32),
            kind: if is_ack { FrameKind::Ack } else { FrameKind::BlockAck },
            fate,
            rate: self.response_rate(function.station, ppdu.to, ppdu.content),
            length: self.response_length(function.station, ppdu.to, ppdu.content),
            reserves: self.left_of_txop(self.senders[0], now),
            ..ComparedFrame::plain()
        }
    }
}
