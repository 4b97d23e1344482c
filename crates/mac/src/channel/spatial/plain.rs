//! DCF is one category, and each frame has a start and an end. Stands for [`fast`](super::fast) where the feature of
//! that name is off.

use wifair_units::Time;

use super::{Call, SpatialChannel, Transmission};
use crate::interpreter::Exchange;
use crate::{AirTime, MacEvent};

/// An exchange in a single step: there is none.
#[derive(Clone, Copy, Debug)]
pub(super) enum AtomicExchange {}

impl AtomicExchange {
    pub const fn next(&self) -> Time {
        match *self {}
    }

    pub const fn is_answered_by(&self, _station: u32) -> bool {
        match *self {}
    }

    pub const fn account(&self, _now: Time, _air: &mut AirTime) {
        match *self {}
    }
}

/// Who hears which part of an exchange: not stored.
#[derive(Clone, Debug, Default)]
pub(super) struct ExchangeAudiences;

impl ExchangeAudiences {
    pub const fn new(_stations: usize) -> Self {
        Self
    }
}

/// Whether stations without categories are handled as they are.
pub(super) const HANDLES_DCF: bool = false;

const ALL_HAVE_CATEGORIES: &str = "all stations have categories";

impl SpatialChannel {
    pub(super) const fn begins_exchange(&mut self, _start: Time, _sender: u32) -> bool {
        false
    }

    pub(super) const fn continue_exchange(&mut self, _bound: Time, _call: &mut Call<'_>) -> MacEvent {
        MacEvent::Nothing
    }

    pub(super) const fn split_exchange(&mut self) {}

    pub(super) fn is_lost(&mut self, _sender: u32, _transmission: &Transmission) -> bool {
        unreachable!("{ALL_HAVE_CATEGORIES}")
    }

    pub(super) fn load(&mut self, _station: u32, _call: &mut Call<'_>) -> bool {
        unreachable!("{ALL_HAVE_CATEGORIES}")
    }

    pub(super) fn request(&mut self, _now: Time, _station: u32) {
        unreachable!("{ALL_HAVE_CATEGORIES}")
    }

    pub(super) fn open_dcf(&mut self, _now: Time, _sender: u32) -> Exchange {
        unreachable!("{ALL_HAVE_CATEGORIES}")
    }

    pub(super) fn end_of_data(&mut self, _sender: u32, _transmission: &Transmission, _read: bool) -> MacEvent {
        unreachable!("{ALL_HAVE_CATEGORIES}")
    }

    pub(super) fn succeed_dcf(&mut self, _station: u32, _call: &mut Call<'_>) {
        unreachable!("{ALL_HAVE_CATEGORIES}")
    }

    pub(super) fn fail_dcf(&mut self, _station: u32, _by_rts: bool, _call: &mut Call<'_>) {
        unreachable!("{ALL_HAVE_CATEGORIES}")
    }

    pub(super) fn resume_dcf(&mut self, _now: Time, _station: u32, _timeout: Option<Time>) {
        unreachable!("{ALL_HAVE_CATEGORIES}")
    }
}
