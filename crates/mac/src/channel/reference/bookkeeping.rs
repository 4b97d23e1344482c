//! Use of the air time, and records of frames.

use wifair_packet::Packets;
use wifair_units::{Duration, Time};

use super::{ReferenceChannel, ReferencePhase};
use crate::edcaf::number;
use crate::tap::{Attempt, Fate};
use crate::{AirTime, BROADCAST};

impl ReferenceChannel {
    /// Use of the air time until `now`.
    #[must_use]
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
            ReferencePhase::Collision => air.collision += spend(Duration::MAX),
            ReferencePhase::Data { .. } | ReferencePhase::Broadcast => {
                let frame = self.frame(self.senders[0]);
                if self.is_protected(&frame) {
                    let timing = &self.access.timing;
                    air.rts_cts += spend(timing.rts());
                    air.idle += spend(timing.sifs);
                    air.rts_cts += spend(timing.cts());
                    air.idle += spend(timing.sifs);
                }
                let lost = self.phase == (ReferencePhase::Data { lost: true });
                let part = if lost { &mut air.error } else { &mut air.data };
                *part += spend(frame.air);
            }
            ReferencePhase::Ack { .. } => {
                air.idle += spend(self.access.timing.sifs);
                air.ack += spend(Duration::MAX);
            }
        }
        air
    }

    /// Records what ends at `now`.
    #[cold]
    pub(super) fn record(&mut self, now: Time, packets: &Packets) {
        let Some(mut tap) = self.tap.take() else { return };
        let attempt = |sender: usize| Attempt {
            access: &self.access,
            from: number(sender / 2),
            frame: self.frame(sender),
            retry: self.contenders[sender].contention.is_retry(),
            packets,
        };
        match self.phase {
            ReferencePhase::Idle => {
                for (index, contender) in self.contenders.iter().enumerate() {
                    if contender.frame.is_some() && contender.slots > 0 {
                        tap.backoff(number(index / 2), contender.from, now);
                    }
                }
            }
            ReferencePhase::Gap => {}
            ReferencePhase::Data { lost } => {
                tap.exchange(now, &attempt(self.senders[0]), if lost { Fate::Error } else { Fate::Read });
            }
            ReferencePhase::Broadcast => tap.exchange(now, &attempt(self.senders[0]), Fate::Read),
            ReferencePhase::Ack { lost } => {
                tap.ack(now, &attempt(self.senders[0]), if lost { Fate::Error } else { Fate::Read });
            }
            ReferencePhase::Collision => {
                let fate = if self.senders.len() > 1 { Fate::Collision } else { Fate::Error };
                for &sender in &self.senders {
                    tap.opening(self.began, &attempt(sender), fate);
                }
            }
        }
        self.tap = Some(tap);
    }

    /// Accounts for the air time of a data frame that ends at `now`, and of what preceded it; `error` is the lost part.
    pub(super) fn account_exchange(&mut self, now: Time, error: Duration) {
        let sender = self.senders[0];
        let frame = self.frame(sender);
        let counters = &mut self.counters[sender / 2];
        if frame.to != BROADCAST && self.access.protects(frame.length) {
            let timing = &self.access.timing;
            self.air.idle += timing.sifs * 2;
            self.air.rts_cts += timing.rts() + timing.cts();
            counters.control += timing.rts() + timing.cts();
        }
        self.air.data += frame.air - error;
        self.air.error += error;
        counters.data += frame.air;
        self.accounted = now;
    }

    pub(super) fn account_ack(&mut self, now: Time) {
        let ack = self.frame(self.senders[0]).ack;
        self.air.idle += self.access.timing.sifs;
        self.air.ack += ack;
        self.counters[self.senders[0] / 2].control += ack;
        self.accounted = now;
    }
}
