//! What the modes of 802.11n and later have in common.

use crate::mode_parts::streams_text;
use crate::{ChannelWidth, Coding, GuardInterval, ModeError, PpduFormat, TxVector};

/// MCS, streams, width, guard interval and code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct McsMode {
    /// In HT 0 to 31.
    pub mcs: u8,
    pub streams: u8,
    pub width: ChannelWidth,
    pub guard_interval: GuardInterval,
    pub coding: Coding,
}

impl McsMode {
    /// This mode in `format`, with the usual training fields and no dual carrier modulation.
    pub const fn vector(self, format: PpduFormat) -> TxVector {
        let Self { mcs, streams, width, guard_interval, coding } = self;
        let mcs = if matches!(format, PpduFormat::Ht(_)) { mcs % 8 } else { mcs };
        let vector = TxVector::new(format, mcs, streams, format.subcarriers(width), guard_interval);
        TxVector { coding: Some(coding), ..vector }
    }
}

/// Which modes an amendment has.
pub(crate) struct McsLimits {
    pub name: &'static str,
    pub highest_mcs: u8,
    /// Why there is no higher MCS, in parentheses, if that needs explaining.
    pub note: &'static str,
    pub widths: &'static [ChannelWidth],
    pub guard_intervals: &'static [GuardInterval],
}

impl McsLimits {
    /// This mode with BCC, if there is one. [`Amendment::mode`](crate::Amendment::mode) says what there is instead.
    pub fn mode(
        &self,
        mcs: u8,
        streams: u8,
        width: ChannelWidth,
        guard_interval: GuardInterval,
    ) -> Result<McsMode, ModeError> {
        let is_there = mcs <= self.highest_mcs
            && (1..=8).contains(&streams)
            && self.widths.contains(&width)
            && self.guard_intervals.contains(&guard_interval);
        if !is_there {
            let streams = streams_text(streams);
            let message = format!("no MCS {mcs}, {streams}, {width}, guard interval {guard_interval} in {}", self.name);
            return Err(ModeError::new("mcs", message));
        }
        Ok(McsMode { mcs, streams, width, guard_interval, coding: Coding::Bcc })
    }
}
