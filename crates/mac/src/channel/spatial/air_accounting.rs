//! Accounting of air time.

use wifair_units::{Duration, Time};

use super::Transmission;
use super::bitset::bit_in;
use crate::AirTime;
use crate::exchange::ExchangeFrame;

/// Frames on the air, and the use of air time so far.
#[derive(Clone, Debug, Default)]
pub struct AirAccounting {
    pub frames: u32,
    /// Sum of the senders' numbers; with one frame, the number of its sender.
    pub sum: u64,
    /// Number of frames that their receivers cannot read because of another frame.
    pub collided: u32,
    pub air: AirTime,
    /// [`AirTime`] is accounted up to this time, except for time in which a single frame was on the air.
    pub accounted: Time,
}

impl AirAccounting {
    /// Accounts for the time until `now`.
    #[inline]
    pub fn account(&mut self, now: Time, transmissions: &mut [Transmission]) {
        let passed = now - self.accounted;
        self.accounted = now;
        match self.frames {
            0 => self.air.idle += passed,
            1 => {
                let sender = usize::try_from(self.sum).expect("the number of a station");
                transmissions[sender].alone += passed;
            }
            _ if self.collided > 0 => self.air.collision += passed,
            _ => self.air.reuse += passed,
        }
    }

    /// Accounts for the time in which a frame was alone on the air; `read` if its receiver could read it, except for
    /// the part `lost`.
    pub fn settle(&mut self, transmission: &Transmission, read: bool, lost: Duration) {
        let air = match transmission.kind {
            _ if transmission.collided && !read => &mut self.air.collision,
            ExchangeFrame::CtsToSelf | ExchangeFrame::Rts | ExchangeFrame::Cts => &mut self.air.rts_cts,
            ExchangeFrame::Ack
            | ExchangeFrame::BlockAckReq
            | ExchangeFrame::Action
            | ExchangeFrame::BlockAck
            | ExchangeFrame::CfEnd
            | ExchangeFrame::MuBarTrigger
            | ExchangeFrame::ReportTrigger
            | ExchangeFrame::QosNull
            | ExchangeFrame::BasicTrigger
            | ExchangeFrame::MultiStaBlockAck => &mut self.air.ack,
            ExchangeFrame::Data if read => &mut self.air.data,
            ExchangeFrame::Data => &mut self.air.error,
        };
        *air += transmission.alone - lost;
        *(if transmission.collided { &mut self.air.collision } else { &mut self.air.error }) += lost;
    }
}

/// Records that these stations of a word can no longer read a frame because of another frame.
#[inline]
pub fn lose_readers(transmission: &mut Transmission, word: usize, bits: u64, accounting: &mut AirAccounting) {
    let for_all = transmission.is_for_all();
    if for_all {
        transmission.readers -= bits.count_ones();
    }
    let lost = if for_all { transmission.readers == 0 && bits != 0 } else { bits & bit_in(word, transmission.to) != 0 };
    if lost && !transmission.collided {
        transmission.collided = true;
        accounting.collided += 1;
    }
}
