//! Which modes are sampled.
//!
//! Three lists of up to five modes are filled at each evaluation, from one group after the other. The modes in use are
//! the best, the second best and the most reliable one.
//!
//! - Upgrades: of each group, the slowest mode that is faster than the best one.
//! - Jumps: modes that are faster than all in use, in random order within a group.
//! - Slower modes: those that the search for jumps meets between the fastest and the slowest in use, unless their
//!   success rate is above 95 %.

use wifair_engine::Stream;
use wifair_units::Duration;

use super::modes::{Modes, frac};

/// Length of a list.
const LENGTH: usize = 5;

#[derive(Clone, Copy, Debug)]
enum SampleKind {
    Upgrade,
    Jump,
    Slower,
}

/// The kinds of samples, in turn.
const TURNS: [SampleKind; 6] = [
    SampleKind::Upgrade,
    SampleKind::Jump,
    SampleKind::Upgrade,
    SampleKind::Jump,
    SampleKind::Upgrade,
    SampleKind::Slower,
];

/// Modes to sample.
#[derive(Clone, Debug, Default)]
struct SampleList {
    modes: Vec<usize>,
    /// Whether one was taken since the list was filled.
    is_used: bool,
    /// The group from which the last mode came.
    group: usize,
}

impl SampleList {
    fn has_room(&self) -> bool {
        self.modes.len() < LENGTH
    }

    /// Keeps the modes with a suitable air time. If none was sampled since the last evaluation, the first one is
    /// dropped, so that others get their turn.
    fn keep(&mut self, is_suitable: impl Fn(usize) -> bool) {
        let stale = usize::from(!self.is_used).min(self.modes.len());
        self.modes.drain(..stale);
        self.modes.retain(|mode| is_suitable(*mode));
        self.is_used = false;
    }

    fn take(&mut self) -> Option<usize> {
        let mode = (!self.modes.is_empty()).then(|| self.modes.remove(0));
        self.is_used |= mode.is_some();
        mode
    }
}

/// The modes of a group in random order, and how many of them had their turn.
#[derive(Clone, Debug, Default)]
struct Order {
    modes: Vec<usize>,
    next: usize,
}

impl Order {
    /// The next mode that is not slower than `slowest`; `None` if all had their turn without one.
    fn next(&mut self, group: std::ops::Range<usize>, slowest: usize, draws: &mut Stream) -> Option<usize> {
        for _ in group.clone() {
            if self.next == self.modes.len() {
                self.modes = group.clone().collect();
                for last in (1..self.modes.len()).rev() {
                    self.modes.swap(last, draws.below(last as u32 + 1) as usize);
                }
                self.next = 0;
            }
            let mode = self.modes[self.next];
            self.next += 1;
            if mode >= slowest {
                return Some(mode);
            }
        }
        None
    }
}

/// See the [module](self).
#[derive(Clone, Debug, Default)]
pub(super) struct SampleLists {
    upgrades: SampleList,
    jumps: SampleList,
    slower: SampleList,
    orders: Vec<Order>,
    turn: usize,
}

impl SampleLists {
    /// The next mode to sample, if the list whose turn it is has one.
    pub fn take(&mut self) -> Option<usize> {
        let kind = TURNS[self.turn];
        self.turn = (self.turn + 1) % TURNS.len();
        match kind {
            SampleKind::Upgrade => self.upgrades.take(),
            SampleKind::Jump => self.jumps.take(),
            SampleKind::Slower => self.slower.take(),
        }
    }

    /// Fills the lists after an evaluation.
    pub fn refill(&mut self, modes: &Modes, draws: &mut Stream) {
        self.orders.resize_with(modes.group_count(), Order::default);
        let in_use = [modes.best[0], modes.best[1], modes.surest].map(|mode| modes.time(mode));
        let fast = in_use.into_iter().min().expect("there are three");
        let slow = in_use.into_iter().max().expect("there are three");
        let is_faster = |mode: usize| modes.time(mode) < fast;
        self.upgrades.keep(is_faster);
        while self.upgrades.has_room() && self.upgrade(modes) {}
        self.jumps.keep(is_faster);
        self.slower.keep(|mode| fast < modes.time(mode) && modes.time(mode) < slow);
        while self.jumps.has_room() && self.jump(modes, fast, slow, draws) {}
    }

    /// Adds an upgrade; returns whether there was one.
    fn upgrade(&mut self, modes: &Modes) -> bool {
        let best = modes.time(modes.best[0]);
        for _ in 0..modes.group_count() {
            self.upgrades.group = (self.upgrades.group + 1) % modes.group_count();
            let next = slowest_below(modes, self.upgrades.group, best);
            if let Some(mode) = next.filter(|mode| !self.upgrades.modes.contains(mode)) {
                self.upgrades.modes.push(mode);
                return true;
            }
        }
        false
    }

    /// Adds a jump, and slower modes found on the way; returns whether there was one.
    fn jump(&mut self, modes: &Modes, fast: Duration, slow: Duration, draws: &mut Stream) -> bool {
        for _ in 0..modes.group_count() {
            let limit = if self.slower.has_room() { slow } else { fast };
            self.jumps.group = (self.jumps.group + 1) % modes.group_count();
            let group = self.jumps.group;
            let Some(slowest) = slowest_below(modes, group, limit) else { continue };
            let Some(mode) = self.orders[group].next(modes.group(group), slowest, draws) else { continue };
            let time = modes.time(mode);
            if time < fast {
                if !self.jumps.modes.contains(&mode) {
                    self.jumps.modes.push(mode);
                    return true;
                }
            } else if self.slower.has_room()
                && time < slow
                && modes.probability(mode) <= frac(95, 100)
                && !self.slower.modes.contains(&mode)
            {
                self.slower.modes.push(mode);
            }
        }
        false
    }
}

/// The slowest mode of a group whose air time is below `limit`.
fn slowest_below(modes: &Modes, group: usize, limit: Duration) -> Option<usize> {
    modes.group(group).find(|mode| modes.time(*mode) < limit)
}
