//! Width of a TXOP, if a secondary channel is busy when the backoff ends.

use crate::channel::spatial::overlap::Bandwidth;
use crate::channel::spatial::{Call, SpatialChannel, SpatialEdca};

impl SpatialChannel {
    /// Whether `station`, whose backoff has ended, may send if its channel is idle up to the width `idle` (in doublings
    /// of 20 MHz). If it may not, it draws a new backoff with the same window, as if the channel were busy and no
    /// backoff pending (IEEE Std 802.11-2016, 10.22.2.5). Categories of lower priority whose backoff has ended as well
    /// collide internally with it all the same: it was permitted to begin a TXOP (10.22.2.4).
    pub(in crate::channel::spatial) fn opens_txop(
        &mut self,
        station: u32,
        idle: u8,
        policy: Bandwidth,
        call: &mut Call<'_>,
    ) -> bool {
        let now = call.now;
        let base = self.backoffs[station as usize].from();
        let Some(edca) = self.edca.as_deref_mut() else { return true };
        let intervals = &self.intervals;
        let due =
            |edca: &SpatialEdca, index: usize| edca.backoffs[index].contends && edca.due(index, base, intervals) == now;
        let Some(first) = edca.edcafs.own(station).find(|index| due(edca, *index)) else { return true };
        let wanted = edca.edcafs.wanted_width(now, first);
        if policy == Bandwidth::Dynamic || wanted <= idle {
            edca.edcafs.set_max_width(station, idle);
            return true;
        }
        let all_due: Vec<usize> = edca.edcafs.own(station).filter(|index| due(edca, *index)).collect();
        if let Some(tap) = &mut self.tap {
            edca.record_backoffs(tap, station, base, now, &self.intervals);
        }
        for index in all_due {
            let own = &mut edca.backoffs[index];
            if index != first {
                own.contends = edca.edcafs.collide_internally(index, call);
            }
            own.left = edca.edcafs.contenders[index].contention.draw();
            own.immediate = false;
            // This slot boundary has been counted; counting continues at the next one.
            own.from = Some(now + self.intervals.slot);
        }
        self.backoffs[station as usize].contends = edca.contends(station);
        self.signals.hold_back(station);
        self.set_timer(station);
        false
    }
}
