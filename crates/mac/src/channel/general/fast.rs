//! Shortcut: exchanges of a data frame and its ACK that cannot fail, of one sender alone.
//!
//! No other frame protects the data, no frame is lost to errors, and the NAV of bystanders ends with the exchange.

use wifair_units::Time;

use super::{GeneralChannel, GeneralPhase};
use crate::edcaf::number;
use crate::{Call, MacEvent};

impl GeneralChannel {
    /// `sender` starts sending, if its exchange cannot fail. Otherwise does nothing and returns false.
    #[inline(always)]
    pub(super) fn send_reliably(&mut self, now: Time, sender: usize) -> bool {
        let Some((station, air)) = self.edcafs.form_reliable(sender) else { return false };
        self.edcafs.counters[station].attempts += 1;
        self.air.idle += now - self.accounted;
        self.accounted = now;
        self.began = now;
        self.is_reserved = false;
        self.cannot_fail = true;
        self.phase = GeneralPhase::Data;
        self.next = now + air;
        true
    }

    /// Advances while the channel is idle or exchanges cannot fail: at the end of a backoff, of a data frame, of its
    /// ACK, or of SIFS behind it.
    #[inline(always)]
    pub(super) fn advance_reliably(&mut self, call: &mut Call<'_>) -> MacEvent {
        match self.phase {
            GeneralPhase::Data => return self.receive_reliably(call.now),
            GeneralPhase::Idle => self.start(call),
            GeneralPhase::Gap => self.send(call),
            _ => self.succeed_reliably(call),
        }
        MacEvent::Nothing
    }

    /// The data frame ends and is received.
    #[inline(always)]
    fn receive_reliably(&mut self, now: Time) -> MacEvent {
        let sender = self.senders[0];
        let contender = &mut self.edcafs.contenders[sender];
        let (air, response) = (contender.ppdu.air, contender.ppdu.response);
        contender.counters.data_air += air;
        let station = self.edcafs.station_of(sender);
        self.edcafs.counters[station].data += air;
        self.air.data += air;
        self.accounted = now;
        self.phase = GeneralPhase::Response { lost: false };
        self.next = now + self.edcafs.access.timing.sifs + response;
        self.edcafs.receive_single(now, sender)
    }

    /// The ACK ends.
    #[inline(always)]
    fn succeed_reliably(&mut self, call: &mut Call<'_>) {
        let now = call.now;
        let sender = self.senders[0];
        self.account_response(now);
        let more = self.edcafs.succeed_reliable(sender, call);
        if more && self.edcafs.fits_txop(now, sender) {
            self.phase = GeneralPhase::Gap;
            self.next = now + self.edcafs.access.timing.sifs;
            return;
        }
        self.phase = GeneralPhase::Idle;
        self.backoffs.idle_from(now);
        let contender = &mut self.edcafs.contenders[sender];
        let slots = u64::from(contender.contention.draw());
        self.backoffs.start_at(number(sender), now + contender.aifs, slots, more);
        self.next = self.backoffs.next();
    }
}
