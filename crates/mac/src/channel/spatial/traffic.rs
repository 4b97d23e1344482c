//! What the air is used for.

use wifair_units::Time;

use super::sets::bit_in;
use super::{Kind, Sending};
use crate::AirTime;

/// Frames on the air, and what they add up to.
#[derive(Clone, Debug, Default)]
pub struct Traffic {
    pub frames: u32,
    /// Sum of the numbers of their senders: the sender, if there is one frame.
    pub sum: u64,
    /// Frames that met another.
    pub met: u32,
    pub air: AirTime,
    /// [`AirTime`] is accounted up to here, except for the time in which a frame on the air was alone.
    pub accounted: Time,
}

impl Traffic {
    /// Books the time until `now`.
    #[inline]
    pub fn account(&mut self, now: Time, sendings: &mut [Sending]) {
        let passed = now - self.accounted;
        self.accounted = now;
        match self.frames {
            0 => self.air.idle += passed,
            1 => {
                let sender = usize::try_from(self.sum).expect("the number of a station");
                sendings[sender].alone += passed;
            }
            _ if self.met > 0 => self.air.collision += passed,
            _ => self.air.reuse += passed,
        }
    }

    /// Books the time in which a frame was alone; `read`: its receiver could read it.
    pub fn settle(&mut self, sending: &Sending, read: bool) {
        let air = match sending.kind {
            _ if sending.met => &mut self.air.collision,
            Kind::Shield | Kind::Rts | Kind::Cts => &mut self.air.rts_cts,
            Kind::Ack => &mut self.air.ack,
            Kind::Data if read => &mut self.air.data,
            Kind::Data => &mut self.air.error,
        };
        *air += sending.alone;
    }
}

/// These stations of a word cannot read a frame any more, because of another.
#[inline]
pub fn disturb(sending: &mut Sending, word: usize, bits: u64, traffic: &mut Traffic) {
    let for_all = sending.is_for_all();
    if for_all {
        sending.readers -= bits.count_ones();
    }
    let lost = if for_all { sending.readers == 0 && bits != 0 } else { bits & bit_in(word, sending.to) != 0 };
    if lost && !sending.met {
        sending.met = true;
        traffic.met += 1;
    }
}
