//! Backoff counters of contenders that hear each other, as slots on common grids: one grid per AIFS, and others for
//! those that count slots by DCF.
//!
//! All contenders with the same AIFS count the same idle slots. Each stores the number of the slot in which it sends,
//! so freezing and resuming cost nothing, for any number of contenders (see [`Slots`]). Contenders with another AIFS
//! start counting at another instant, so each AIFS has its own grid. Contenders that send without a backoff, or whose
//! slots are not aligned with the grid of their AIFS, are kept in a short list until a station sends.

use std::ops::Range;

use wifair_units::{Duration, Time};

use super::super::slots::Slots;
use crate::edcaf::{SlotRules, number};

/// The slot count shared by contenders with the same AIFS and slot rules.
#[derive(Clone, Debug)]
struct Grid {
    aifs: Duration,
    rules: SlotRules,
    slots: Slots,
    /// Number of contenders in `slots`.
    entered: usize,
    /// When the first of them sends, as far as known by [`Backoffs::next`], and in which slot.
    next: Time,
    next_slot: u64,
}

impl Grid {
    /// Lists a contender that sends after this number of slots.
    #[inline(always)]
    fn enter(&mut self, contender: u32, slots: u64, place: &mut BackoffPlace) {
        place.end = self.slots.insert(contender, slots);
        self.entered += 1;
    }

    /// Starts a backoff of `slots` of a contender, which is listed if it has something to send.
    #[inline(always)]
    fn start(&mut self, contender: u32, slots: u64, place: &mut BackoffPlace) {
        if place.waits {
            self.enter(contender, slots, place);
        } else {
            place.end = self.slots.count() + slots;
        }
    }

    /// Determines when the first contender sends on a channel that is idle from `idle`.
    fn find_next(&mut self, idle: Time, slot: Duration) -> Time {
        self.next = Time::NEVER;
        if self.entered > 0
            && let Some(ahead) = self.slots.until_next()
        {
            self.next = idle + self.aifs + slot * ahead;
            self.next_slot = self.slots.count() + ahead;
        }
        self.next
    }
}

/// Backoff of a contender.
#[derive(Clone, Copy, Debug)]
struct BackoffPlace {
    grid: usize,
    /// Slot of the grid in which the backoff ends; in the past if it has ended.
    end: u64,
    /// Whether it has something to send, and is not sending it now.
    waits: bool,
    /// Whether its slots are not aligned with its grid, so that it is listed off the grid. Otherwise it is listed in
    /// the slots of its grid if it has something to send.
    is_apart: bool,
}

impl BackoffPlace {
    /// Whether it has something to send or slots left.
    #[inline(always)]
    fn counts(&self, grids: &[Grid]) -> bool {
        self.waits || self.is_apart || self.end > grids[self.grid].slots.count()
    }

    /// It sends, and is listed nowhere.
    fn send(&mut self) {
        (self.waits, self.is_apart) = (false, false);
    }
}

/// A contender whose slots are not aligned with the grid of its AIFS.
#[derive(Clone, Copy, Debug)]
struct OffGrid {
    contender: u32,
    /// Start of its slot count.
    from: Time,
    slots: u64,
    /// Whether its backoff was drawn. If not, one is drawn when another station sends first.
    drew: bool,
}

impl OffGrid {
    fn due(&self, slot: Duration) -> Time {
        self.from + slot * self.slots
    }
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub(super) struct Backoffs {
    slot: Duration,
    /// From when the channel is idle, unless a station sends first.
    idle: Time,
    grids: Vec<Grid>,
    places: Vec<BackoffPlace>,
    off_grid: Vec<OffGrid>,
    /// No earlier than this does one of them count slots.
    off_grid_from: Time,
    /// Contenders whose AIFS changes when the channel next becomes idle.
    changes: Vec<(u32, Duration)>,
}

impl Backoffs {
    /// Backoffs of contenders with these AIFS and rules, on a channel that is idle from the start.
    pub fn new(slot: Duration, contenders: &[(Duration, SlotRules)]) -> Self {
        let (places, off_grid, changes) = (vec![], vec![], vec![]);
        let mut backoffs =
            Self { slot, idle: Time::ZERO, grids: vec![], places, off_grid, off_grid_from: Time::NEVER, changes };
        for own in contenders {
            let grid = backoffs.grid_of(*own, contenders.len());
            backoffs.places.push(BackoffPlace { grid, end: 0, waits: false, is_apart: false });
        }
        backoffs
    }

    /// The grid of an AIFS and rules.
    fn grid_of(&mut self, (aifs, rules): (Duration, SlotRules), contenders: usize) -> usize {
        self.grids.iter().position(|grid| (grid.aifs, grid.rules) == (aifs, rules)).unwrap_or_else(|| {
            let slots = Slots::new(contenders);
            self.grids.push(Grid { aifs, rules, slots, entered: 0, next: Time::NEVER, next_slot: 0 });
            self.grids.len() - 1
        })
    }

    /// Start of a contender's slot count, and the number of slots left; the channel must be idle.
    pub fn position(&self, contender: u32) -> (Time, u64) {
        if self.is_apart(contender)
            && let Some(off) = self.off_grid.iter().find(|off| off.contender == contender)
        {
            return (off.from, off.slots);
        }
        (self.idle + self.grids[self.places[contender as usize].grid].aifs, self.left(contender))
    }

    fn rules_of(&self, contender: u32) -> SlotRules {
        self.grids[self.places[contender as usize].grid].rules
    }

    /// Slots left of a contender on its grid.
    pub fn left(&self, contender: u32) -> u64 {
        let place = &self.places[contender as usize];
        place.end.saturating_sub(self.grids[place.grid].slots.count())
    }

    /// Whether the slots of a contender are not aligned with its grid.
    pub fn is_apart(&self, contender: u32) -> bool {
        self.places[contender as usize].is_apart
    }

    /// Whether a contender has something to send.
    pub fn waits(&self, contender: u32) -> bool {
        self.places[contender as usize].waits
    }

    /// A contender that has just sent has nothing more to send.
    pub fn rest(&mut self, contender: u32) {
        self.places[contender as usize].waits = false;
    }

    /// A contender that had nothing to send now does; it continues with its backoff.
    pub fn wait(&mut self, contender: u32) {
        self.places[contender as usize].waits = true;
        if !self.is_apart(contender) {
            let left = self.left(contender);
            self.enter(contender, left);
        }
    }

    /// Starts a backoff of `slots`, counted once the channel has been idle for the contender's AIFS. The contender must
    /// be neither on its grid nor off it.
    #[inline(always)]
    pub fn start(&mut self, contender: u32, slots: u64, waits: bool) {
        let place = &mut self.places[contender as usize];
        place.waits = waits;
        self.grids[place.grid].start(contender, slots, place);
    }

    /// Starts a backoff of `slots`, counted from `from`; the channel must be idle by then.
    #[inline(always)]
    pub fn start_at(&mut self, contender: u32, from: Time, slots: u64, waits: bool) {
        let place = &mut self.places[contender as usize];
        let grid = &mut self.grids[place.grid];
        place.waits = waits;
        if from == self.idle + grid.aifs {
            grid.start(contender, slots, place);
        } else {
            self.list(OffGrid { contender, from, slots, drew: true });
        }
    }

    /// Lists a contender off its grid.
    fn list(&mut self, off: OffGrid) {
        let place = &mut self.places[off.contender as usize];
        place.end = 0;
        place.is_apart = true;
        self.off_grid_from = self.off_grid_from.min(off.from);
        self.off_grid.push(off);
    }

    /// Lets a contender send at `from` without a backoff, unless another station sends first.
    pub fn send_without_backoff(&mut self, contender: u32, from: Time) {
        self.leave(contender);
        self.places[contender as usize].waits = true;
        self.list(OffGrid { contender, from, slots: 0, drew: false });
    }

    /// Replaces the backoff of a contender by `slots` counted from `from`.
    pub fn restart_at(&mut self, contender: u32, from: Time, slots: u64) {
        self.leave(contender);
        self.start_at(contender, from, slots, true);
    }

    /// Lets a contender count from `from`, before or after the others with its AIFS.
    pub fn resume_apart(&mut self, contender: u32, from: Time) {
        if !self.is_apart(contender) {
            self.resume_at(contender, from);
        }
    }

    /// Lets a contender count from `from`, also if it was to count from another time off its grid.
    pub fn resume_at(&mut self, contender: u32, from: Time) {
        if !self.is_apart(contender) {
            let slots = self.left(contender);
            self.leave(contender);
            self.list(OffGrid { contender, from, slots, drew: true });
        } else if let Some(off) = self.off_grid.iter_mut().find(|off| off.contender == contender) {
            off.from = from;
            self.off_grid_from = self.off_grid_from.min(from);
        }
    }

    /// Lets those of the contenders count from another time, given by `from`, that have something to send or slots
    /// left.
    #[inline(always)]
    pub fn resume_counting(&mut self, contenders: Range<usize>, from: impl Fn(usize) -> Time) {
        if self.places[contenders.clone()].iter().any(|place| place.counts(&self.grids)) {
            for index in contenders {
                if self.places[index].counts(&self.grids) {
                    self.resume_at(number(index), from(index));
                }
            }
        }
    }

    /// Removes a contender from the slots of its grid, or from those off their grids; it must be listed again if it has
    /// something to send.
    fn leave(&mut self, contender: u32) {
        let place = &mut self.places[contender as usize];
        if std::mem::take(&mut place.is_apart) {
            self.off_grid.retain(|off| off.contender != contender);
        } else if place.waits {
            self.grids[place.grid].slots.remove(contender, place.end);
            self.grids[place.grid].entered -= 1;
        }
    }

    #[inline(always)]
    fn enter(&mut self, contender: u32, slots: u64) {
        let place = &mut self.places[contender as usize];
        self.grids[place.grid].enter(contender, slots, place);
    }

    /// Sets another AIFS, effective when the channel next becomes idle.
    pub fn change_aifs(&mut self, contender: u32, aifs: Duration) {
        self.changes.push((contender, aifs));
    }

    /// The channel is idle from `idle`: each contender counts slots once its AIFS has passed.
    #[inline]
    pub fn idle_from(&mut self, idle: Time) {
        self.idle = idle;
        if !self.changes.is_empty() {
            self.change();
        }
    }

    #[cold]
    fn change(&mut self) {
        for (contender, aifs) in std::mem::take(&mut self.changes) {
            let rules = self.rules_of(contender);
            let grid = self.grid_of((aifs, rules), self.places.len());
            let left = self.left(contender);
            self.leave(contender);
            self.places[contender as usize].grid = grid;
            self.grids[grid].start(contender, left, &mut self.places[contender as usize]);
        }
    }

    /// When the first contender sends.
    #[inline]
    pub fn next(&mut self) -> Time {
        let (idle, slot) = (self.idle, self.slot);
        let mut next = Time::NEVER;
        for grid in &mut self.grids {
            next = next.min(grid.find_next(idle, slot));
        }
        if self.off_grid_from < next {
            let waiting = self.off_grid.iter().filter(|off| self.waits(off.contender));
            next = waiting.map(|off| off.due(slot)).fold(next, Time::min);
        }
        next
    }

    /// Whether a contender off its grid sends at `now`.
    fn is_due_off_grid(&self, now: Time) -> bool {
        self.off_grid_from <= now
            && self.off_grid.iter().any(|off| off.due(self.slot) == now && self.waits(off.contender))
    }

    /// Removes the contender that sends at `now`, which must be [`Backoffs::next`], if it is the only one, and on its
    /// grid. Otherwise does nothing.
    #[inline]
    pub fn take_only(&mut self, now: Time) -> Option<u32> {
        if self.is_due_off_grid(now) {
            return None;
        }
        let mut due = self.grids.iter_mut().filter(|grid| grid.next == now);
        let (grid, None) = (due.next()?, due.next()) else { return None };
        if !grid.slots.is_near(grid.next_slot) {
            return None;
        }
        let contender = grid.slots.take_only(grid.next_slot)?;
        grid.entered -= 1;
        self.places[contender as usize].send();
        Some(contender)
    }

    /// Removes the contenders that send at `now`, which must be [`Backoffs::next`]; ordered by number.
    #[inline]
    pub fn take_due(&mut self, now: Time, into: &mut Vec<u32>) {
        let slot = self.slot;
        let mut is_sorted = true;
        for grid in &mut self.grids {
            if grid.next == now {
                let already = into.len();
                is_sorted = already == 0;
                grid.slots.take(grid.next_slot, into);
                grid.entered -= into.len() - already;
            }
        }
        for contender in &*into {
            self.places[*contender as usize].send();
        }
        if self.is_due_off_grid(now) {
            is_sorted = false;
            let places = &mut self.places;
            self.off_grid.retain(|off| {
                let place = &mut places[off.contender as usize];
                if place.waits && off.due(slot) == now {
                    place.send();
                    into.push(off.contender);
                }
                place.is_apart
            });
        }
        if !is_sorted {
            into.sort_unstable();
        }
    }

    /// A station sends at `now`: all others stop counting. A contender about to send without a backoff draws one.
    #[inline]
    pub fn interrupt(&mut self, now: Time, draw: impl FnMut(u32) -> u64) {
        for grid in &mut self.grids {
            let passed = grid.rules.passed(self.idle + grid.aifs, now, self.slot);
            if passed > 0 {
                grid.slots.count_to(grid.slots.count() + passed);
            }
        }
        if !self.off_grid.is_empty() {
            self.return_to_grids(now, draw);
        }
    }

    /// A station sends at `now`: contenders off their grid return to it.
    #[inline(never)]
    fn return_to_grids(&mut self, now: Time, mut draw: impl FnMut(u32) -> u64) {
        self.off_grid_from = Time::NEVER;
        let Self { slot, grids, places, off_grid, .. } = self;
        for OffGrid { contender, from, slots, drew } in off_grid.drain(..) {
            let place = &mut places[contender as usize];
            let grid = &mut grids[place.grid];
            let left = if drew { slots.saturating_sub(grid.rules.passed(from, now, *slot)) } else { draw(contender) };
            place.is_apart = false;
            grid.start(contender, left, place);
        }
    }

    /// Contenders that were counting slots before `now`, with the start of their count.
    pub fn counting(&self) -> impl Iterator<Item = (u32, Time)> + '_ {
        (0..).zip(&self.places).filter_map(|(contender, place)| {
            let (from, slots) = self.position(contender);
            (place.waits && slots > 0).then_some((contender, from))
        })
    }
}
