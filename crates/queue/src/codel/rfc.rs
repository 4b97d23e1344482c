//! CoDel's control law in real numbers, as RFC 8289 writes it.

use wifair_packet::{Packet, PacketId, Packets};
use wifair_units::{Duration, Time};

use super::{Cause, Dropped, Leaving, Params, mark};

/// The control law of one queue.
#[derive(Clone, Copy, Debug, Default)]
pub struct RfcState {
    /// When the sojourn time will have exceeded the target for a whole interval.
    above_at: Option<Time>,
    dropping: bool,
    next_drop: Time,
    count: u32,
    last_count: u32,
    pub(super) marks: u64,
}

impl RfcState {
    /// Drops in this episode.
    pub const fn count(&self) -> u32 {
        if self.dropping { self.count } else { 0 }
    }

    fn may_drop(&mut self, now: Time, leaving: Option<&Leaving>, params: &Params) -> bool {
        let is_above = leaving.is_some_and(|leaving| {
            now.saturating_since(leaving.since) >= params.target && leaving.left > params.full_packet.0
        });
        if !is_above {
            self.above_at = None;
            return false;
        }
        match self.above_at {
            None => {
                self.above_at = Some(now + params.interval);
                false
            }
            Some(time) => now >= time,
        }
    }

    fn next_after(&self, time: Time, params: &Params) -> Time {
        time + Duration::from_secs_f64(params.interval.as_secs() / f64::from(self.count.max(1)).sqrt())
    }

    /// The packet to send: `pop` takes packets from the head of the queue, and skipped packets are dropped.
    pub fn dequeue(
        &mut self,
        now: Time,
        params: &Params,
        packets: &mut Packets,
        dropped: &mut Dropped,
        mut pop: impl FnMut(&Packets) -> Option<Leaving>,
    ) -> Option<PacketId> {
        let mut leaving = pop(packets);
        let mut may_drop = self.may_drop(now, leaving.as_ref(), params);
        // Handles a packet that is due to be dropped. Returns true if it is marked and sent instead.
        let mut marks = 0;
        let mut spare = |packet: &mut Packet| {
            let marked = params.ecn && mark(packet);
            marks += u64::from(marked);
            marked
        };
        if self.dropping {
            if !may_drop {
                self.dropping = false;
            }
            while self.dropping && now >= self.next_drop {
                let id = leaving.expect("what may be dropped is there").id;
                self.count += 1;
                if spare(&mut packets[id]) {
                    self.next_drop = self.next_after(self.next_drop, params);
                    break;
                }
                dropped.push((id, Cause::Early));
                leaving = pop(packets);
                may_drop = self.may_drop(now, leaving.as_ref(), params);
                if may_drop {
                    self.next_drop = self.next_after(self.next_drop, params);
                } else {
                    self.dropping = false;
                }
            }
        } else if may_drop {
            let id = leaving.expect("what may be dropped is there").id;
            if !spare(&mut packets[id]) {
                dropped.push((id, Cause::Early));
                leaving = pop(packets);
                self.may_drop(now, leaving.as_ref(), params);
            }
            self.dropping = true;
            let grown = self.count.saturating_sub(self.last_count);
            let recent = now.saturating_since(self.next_drop) < params.interval * 16;
            self.count = if grown > 1 && recent { grown } else { 1 };
            self.next_drop = self.next_after(now, params);
            self.last_count = self.count;
        }
        self.marks += marks;
        leaving.map(|leaving| leaving.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 8289, section 5.5: the count goes on where the previous episode's last drop was due less than 16 intervals
    /// ago, and had grown by more than one.
    #[test]
    fn a_count_is_kept_for_sixteen_intervals() {
        let params = Params::default();
        let due = Time::ZERO + Duration::from_secs(1);
        for (grown, since, count) in
            [(4, 1_599_999_999, 4), (4, 1_600_000_000, 1), (2, 1_599_999_999, 2), (1, 1_599_999_999, 1)]
        {
            let mut packets = Packets::default();
            let mut leaving: Vec<_> = (0..2)
                .map(|_| Leaving {
                    id: packets.insert(Packet { size: 1500, ..Packet::default() }),
                    since: Time::ZERO,
                    left: 3000,
                })
                .collect();
            let (last_count, above_at) = (3, Some(Time::ZERO));
            let mut control =
                RfcState { above_at, next_drop: due, count: last_count + grown, last_count, ..RfcState::default() };
            let now = due + Duration::from_nanos(since);
            let mut dropped = vec![];
            assert!(control.dequeue(now, &params, &mut packets, &mut dropped, |_| leaving.pop()).is_some());
            assert_eq!((control.count(), dropped.len()), (count, 1), "grown by {grown}, after {since} ns");
        }
    }
}
