//! Records of frames on a channel with access categories.

use wifair_packet::Packets;
use wifair_units::Time;

use super::{GeneralChannel, GeneralPhase};
use crate::edcaf::number;
use crate::exchange::ExchangeFrame;
use crate::tap::{Fate, Tap};

impl GeneralChannel {
    /// Records the frames that end at `now`.
    #[cold]
    pub(super) fn record(&mut self, now: Time, packets: &Packets) {
        let Some(mut tap) = self.tap.take() else { return };
        match self.phase {
            GeneralPhase::Idle => {
                for (contender, from) in self.backoffs.counting() {
                    tap.backoff(number(contender as usize / self.edcafs.categories), from, now);
                }
            }
            GeneralPhase::Gap => {}
            GeneralPhase::Frame { is_read } => {
                let (sender, frame) = (self.senders[0], self.exchange.step().frame);
                let fate = if is_read { Fate::Read } else { Fate::Error };
                match frame {
                    ExchangeFrame::Ack | ExchangeFrame::BlockAck => {
                        tap.push(self.edcafs.response_record(sender, now, fate));
                    }
                    frame if frame.is_protected() => self.record_data(&mut tap, sender, now, packets, None),
                    frame => tap.push(self.edcafs.control_record(sender, frame, self.began, fate)),
                }
            }
            GeneralPhase::CfEnd => {
                let station = self.edcafs.station_of(self.senders[0]);
                tap.push(self.edcafs.cf_end_record(number(station), now, Fate::Read));
            }
            GeneralPhase::RepeatedCfEnd => {
                if let Some(ap) = self.repeats_cf_end {
                    tap.push(self.edcafs.cf_end_record(ap, now, Fate::Read));
                }
            }
            GeneralPhase::Collision => {
                for &sender in &self.senders {
                    let first = self.before_data(sender).first();
                    if let Some(step) = first {
                        tap.push(self.edcafs.control_record(sender, *step, self.began, Fate::Collision));
                    }
                    if first.is_none() || self.goes_on(sender) && now > self.data_begin() {
                        self.record_data(&mut tap, sender, self.last_end(sender), packets, Some(Fate::Collision));
                    }
                }
            }
        }
        self.tap = Some(tap);
    }

    /// Records the frames of the exchange in progress that have ended at `now`, which is the end of the run.
    pub fn record_ended(&mut self, now: Time, packets: &Packets) {
        if matches!(self.phase, GeneralPhase::Idle | GeneralPhase::Gap) {
            return;
        }
        let before = self.tap.as_ref().map_or(0, |tap| tap.frames().len());
        self.record(self.next, packets);
        if let Some(tap) = &mut self.tap {
            tap.remove_unended(before, now);
        }
    }

    /// Records the MPDUs of a PPDU, or a BlockAckReq, that end at `end`; `fate` is their common outcome, if they have
    /// one.
    fn record_data(&self, tap: &mut Tap, sender: usize, end: Time, packets: &Packets, fate: Option<Fate>) {
        for record in self.edcafs.data_records(tap, sender, end, packets, fate, Fate::Error) {
            tap.push(record);
        }
    }
}
