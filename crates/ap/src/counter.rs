//! The number of active flows.
//!
//! Source: E. Lee et al., 2007, section 5.3: a flow counts from its first packet until none of its packets has passed
//! for a period. Both directions of a connection are one flow. The paper does not specify the period. It should exceed
//! the longest timeout of a starved flow, or n fluctuates.

use wifair_units::{Duration, Time};

const NOBODY: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct FlowEntry {
    seen: Time,
    earlier: u32,
    later: u32,
    active: bool,
}

/// Flows in the order in which they were last seen: a list threaded through a table, so that no packet needs a search.
#[derive(Clone, Debug)]
pub struct FlowCounter {
    period: Duration,
    entries: Vec<FlowEntry>,
    oldest: u32,
    newest: u32,
    active: u32,
}

impl FlowCounter {
    /// A counter without active flows.
    pub const fn new(period: Duration) -> Self {
        Self { period, entries: vec![], oldest: NOBODY, newest: NOBODY, active: 0 }
    }

    /// Handles a packet of `flow`. Returns true if it made the flow active.
    pub fn see(&mut self, now: Time, flow: u32) -> bool {
        self.expire(now);
        if self.entries.len() <= flow as usize {
            let absent = FlowEntry { seen: now, earlier: NOBODY, later: NOBODY, active: false };
            self.entries.resize(flow as usize + 1, absent);
        }
        let was_active = self.entries[flow as usize].active;
        if was_active {
            self.unlink(flow);
        } else {
            self.active += 1;
        }
        self.entries[flow as usize] = FlowEntry { seen: now, earlier: self.newest, later: NOBODY, active: true };
        if self.newest == NOBODY {
            self.oldest = flow;
        } else {
            self.entries[self.newest as usize].later = flow;
        }
        self.newest = flow;
        !was_active
    }

    fn unlink(&mut self, flow: u32) {
        let FlowEntry { earlier, later, .. } = self.entries[flow as usize];
        if earlier == NOBODY {
            self.oldest = later;
        } else {
            self.entries[earlier as usize].later = later;
        }
        if later == NOBODY {
            self.newest = earlier;
        } else {
            self.entries[later as usize].earlier = earlier;
        }
    }

    /// Removes flows that have been silent for a period.
    fn expire(&mut self, now: Time) {
        while self.oldest != NOBODY && now.saturating_since(self.entries[self.oldest as usize].seen) >= self.period {
            let flow = self.oldest;
            self.unlink(flow);
            self.entries[flow as usize].active = false;
            self.active -= 1;
        }
    }

    /// The number of active flows at the time of the last packet.
    pub const fn count(&self) -> u32 {
        self.active
    }

    /// Whether a flow was active at the time of the last packet.
    pub fn is_active(&self, flow: u32) -> bool {
        self.entries.get(flow as usize).is_some_and(|entry| entry.active)
    }

    /// All active flows.
    pub fn active(&self) -> impl Iterator<Item = u32> {
        let mut next = self.oldest;
        std::iter::from_fn(move || {
            let flow = next;
            (flow != NOBODY).then(|| {
                next = self.entries[flow as usize].later;
                flow
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Period 5 s. Flow 3 is seen at 0 and 4 s, flow 8 at 1 s: at 6 s it has been silent for 5 s, at 9 s flow 3 too.
    #[test]
    fn a_silent_flow_is_removed_and_counted_again_later() {
        let mut counter = FlowCounter::new(Duration::from_secs(5));
        let mut counts = vec![];
        for (second, flow) in [(0, 3), (1, 8), (4, 3), (6, 1), (9, 1), (10, 8)] {
            counter.see(Time::ZERO + Duration::from_secs(second), flow);
            counts.push(counter.count());
        }
        assert_eq!(counts, [1, 2, 2, 2, 1, 2]);
        assert_eq!(counter.active().collect::<Vec<_>>(), [1, 8]);
    }

    proptest! {
        #[test]
        fn agrees_with_a_table_of_times(steps in prop::collection::vec((0_u64..4, 0_u32..6), 1..200)) {
            let mut counter = FlowCounter::new(Duration::from_secs(5));
            let (mut seen, mut second) = ([None; 6], 0);
            for (wait, flow) in steps {
                second += wait;
                counter.see(Time::ZERO + Duration::from_secs(second), flow);
                seen[flow as usize] = Some(second);
                let active = seen.iter().filter(|s| s.is_some_and(|s| second - s < 5)).count();
                prop_assert_eq!(counter.count() as usize, active);
                prop_assert_eq!(counter.active().count(), active);
            }
        }
    }
}
