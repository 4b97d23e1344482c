//! The channels as they are. Stands for [`fast`](super::fast) where the feature of that name is off.

use super::{Channel, GeneralChannel};
use crate::edcaf::EdcaSettings;
use crate::{Access, StationSettings};

impl Channel {
    /// A channel on which all stations hear each other, with DCF; `ap` is the number of the access point.
    #[must_use]
    pub fn dcf(access: Access, ap: u32, stations: Vec<StationSettings>) -> Self {
        Self::General(Box::new(GeneralChannel::new(EdcaSettings::dcf(access, &[ap], stations))))
    }

    pub(super) const fn replace_by_model(&mut self) {}
}
