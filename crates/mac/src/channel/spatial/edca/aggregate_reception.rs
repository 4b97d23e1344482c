//! Which MPDUs of an A-MPDU are received while other frames begin and end.
//!
//! A receiver that has read the preamble of a PPDU follows the PPDU to its end. Each MPDU has its own FCS, so only
//! MPDUs hit by strong interference are lost. All are lost if the interference hit the preamble, or if the receiver
//! turned to another frame.

use wifair_units::Time;

use crate::channel::spatial::SpatialChannel;

/// Reception of an A-MPDU on the air.
#[derive(Clone, Debug)]
pub(super) struct AggregateReception {
    sender: u32,
    to: u32,
    start: Time,
    /// When `is_clean` last changed.
    since: Time,
    is_clean: bool,
    /// Intervals in which it was not clean.
    unclean: Vec<(Time, Time)>,
    /// Whether the receiver has stopped following it.
    is_abandoned: bool,
}

impl AggregateReception {
    pub fn new(now: Time, sender: u32, to: u32) -> Self {
        Self { sender, to, start: now, since: now, is_clean: true, unclean: vec![], is_abandoned: false }
    }

    /// Sets whether the A-MPDU can be read from `now` on.
    fn turn(&mut self, now: Time, is_clean: bool) {
        if self.is_clean && !is_clean {
            self.since = now;
        } else if !self.is_clean && is_clean {
            self.unclean.push((self.since, now));
        }
        self.is_clean = is_clean;
    }
}

impl SpatialChannel {
    /// Updates receptions after frames have begun or ended at `now`.
    pub(in crate::channel::spatial) fn watch_receptions(&mut self, now: Time) {
        let Some(edca) = self.edca.as_deref_mut().filter(|edca| !edca.receptions.is_empty()) else { return };
        for reception in &mut edca.receptions {
            let &mut AggregateReception { sender, to, start, .. } = reception;
            let is_followed = self.signals.receiving.has(to) && self.signals.sender_at(to) == sender;
            let is_clean = is_followed && self.signals.is_undisturbed(to, sender);
            // A frame that nothing disturbs and that still cannot be read is too weak, or in a mode unknown to the
            // receiver.
            let is_unreadable = now == start && is_clean && self.signals.corrupted.has(to);
            reception.is_abandoned |= !is_followed || is_unreadable;
            reception.turn(now, is_clean);
        }
    }

    /// Ends the reception of the PPDU of `sender` at `now`: marks the MPDUs that were lost.
    pub(in crate::channel::spatial) fn close_reception(&mut self, now: Time, sender: u32) {
        let Some(edca) = self.edca.as_deref_mut() else { return };
        let Some(place) = edca.receptions.iter().position(|reception| reception.sender == sender) else { return };
        let mut reception = edca.receptions.swap_remove(place);
        reception.turn(now, true);
        let index = edca.current[sender as usize];
        let (preamble, spans) = edca.edcafs.mpdu_spans(index);
        let start = reception.start;
        let meets = |from: Time, until: Time| reception.unclean.iter().any(|span| span.0 < until && from < span.1);
        let is_lost = reception.is_abandoned || meets(start, start + preamble);
        let ppdu = &mut edca.edcafs.contenders[index].ppdu;
        ppdu.sole_mut().mark_lost(|place, _| is_lost || meets(start + spans[place].0, start + spans[place].1));
    }
}
