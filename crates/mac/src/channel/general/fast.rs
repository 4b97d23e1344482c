//! Shortcut: exchanges of a data frame and its ACK that cannot fail, of one sender alone.
//!
//! No other frame protects the data, no frame is lost to errors, and the NAV of bystanders ends with the exchange.

use wifair_units::Time;

use super::{GeneralChannel, GeneralPhase};
use crate::edcaf::number;
use crate::exchange::{ExchangeFrame, Protection, Purpose};
use crate::interpreter::Exchange;
use crate::{Call, MacEvent};

impl GeneralChannel {
    /// `sender` starts sending, if its exchange cannot fail. Otherwise does nothing and returns false.
    #[inline(always)]
    pub(super) fn send_reliably(&mut self, now: Time, sender: usize) -> bool {
        let Some(air) = self.edcafs.send_reliably(sender) else { return false };
        self.air.idle += now - self.accounted;
        self.accounted = now;
        self.began = now;
        self.is_reserved = false;
        self.cannot_fail = true;
        self.phase = GeneralPhase::Frame { is_read: true };
        self.exchange = Exchange::new(Purpose::Single, Protection::None, 1);
        self.next = now + air;
        true
    }

    /// Advances while the channel is idle or exchanges cannot fail: at the end of a backoff, of a data frame, of its
    /// ACK, or of SIFS behind it. Goes on before `bound` until a packet is received, and adds the number of further
    /// steps to `steps`.
    #[inline(always)]
    pub(super) fn advance_reliably(&mut self, bound: Time, call: &mut Call<'_>, steps: &mut u64) -> MacEvent {
        let bound = bound.min(self.edcafs.next());
        let is_on_air = self.phase == GeneralPhase::Frame { is_read: true };
        if is_on_air && self.exchange.step().frame == ExchangeFrame::Ack {
            let more = self.succeed_reliably(call);
            if !more || self.next >= bound || !call.dropped.is_empty() {
                return MacEvent::Nothing;
            }
            call.now = self.next;
            *steps += 1;
        }
        if self.phase != (GeneralPhase::Frame { is_read: true }) {
            if self.phase == GeneralPhase::Gap {
                self.send(call)
            } else {
                self.start(call)
            }
            if !self.cannot_fail || self.next >= bound || call.has_losses() {
                return MacEvent::Nothing;
            }
            call.now = self.next;
            *steps += 1;
        }
        self.receive_reliably(call.now)
    }

    /// The data frame ends and is received.
    #[inline(always)]
    fn receive_reliably(&mut self, now: Time) -> MacEvent {
        let (event, ack) = self.edcafs.receive_reliably(now, self.senders[0]);
        self.air.data += now - self.accounted;
        self.accounted = now;
        self.exchange.end_frame(true);
        self.began = now + self.edcafs.access.timing.sifs;
        self.next = self.began + ack;
        event
    }

    /// The ACK ends; returns whether its sender has more to send.
    #[inline(always)]
    fn succeed_reliably(&mut self, call: &mut Call<'_>) -> bool {
        let (now, sifs) = (call.now, self.edcafs.access.timing.sifs);
        let sender = self.senders[0];
        self.air.idle += sifs;
        self.air.ack += now - self.accounted - sifs;
        self.accounted = now;
        let more = self.edcafs.succeed_reliably(sender, call);
        if more && self.edcafs.fits_txop(now, sender) {
            self.phase = GeneralPhase::Gap;
            self.next = now + sifs;
            return true;
        }
        self.phase = GeneralPhase::Idle;
        self.backoffs.idle_from(now);
        let contender = &mut self.edcafs.contenders[sender];
        let slots = u64::from(contender.contention.draw());
        self.backoffs.start_at(number(sender), now + contender.aifs, slots, more);
        self.next = self.backoffs.next();
        more
    }
}
