//! Every exchange may fail. Stands for [`fast`](super::fast) where the feature of that name is off.

use wifair_units::Time;

use super::GeneralChannel;
use crate::{Call, MacEvent};

impl GeneralChannel {
    pub(super) const fn send_reliably(&mut self, _now: Time, _sender: usize) -> bool {
        false
    }

    pub(super) fn advance_reliably(&mut self, _bound: Time, call: &mut Call<'_>, _steps: &mut u64) -> MacEvent {
        self.advance_any(call)
    }
}
