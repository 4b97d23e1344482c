//! A sender without shortcuts: every segment and ACK takes the long way. Stands for [`fast`](super::fast) where the
//! feature of that name is off.

use wifair_packet::Packet;
use wifair_units::Time;

use super::Sender;

impl Sender {
    /// There is no short code path to disable.
    pub const fn disable_fast_path(&mut self) {}

    pub(super) const fn only_windows_limit(&self) -> bool {
        false
    }

    /// Whether [`Sender::write`] may be called: never.
    #[must_use]
    pub const fn is_running(&self) -> bool {
        false
    }

    /// Whether data is known to wait for the window to open: [`Sender::poll`] decides.
    #[must_use]
    pub const fn is_held(&self) -> bool {
        false
    }

    /// Writes the next segment into `packet`.
    ///
    /// # Panics
    /// Always: [`Sender::is_running`] does not hold.
    pub fn write(&mut self, _now: Time, _packet: &mut Packet) {
        unreachable!("segments are written one by one")
    }

    pub(super) const fn is_in_order(&self) -> bool {
        false
    }

    pub(super) const fn acknowledge_in_order(&mut self, _now: Time, _packet: &Packet) -> bool {
        false
    }

    pub(super) const fn refresh_in_order(&mut self) {}

    pub(super) const fn restart_timers(&mut self, _now: Time) {}
}
