//! What the modes of 802.11n and later have in common.

use crate::mode_parts::list;
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
    /// This mode with BCC, if there is one.
    pub fn mode(
        &self,
        mcs: u8,
        streams: u8,
        width: ChannelWidth,
        guard_interval: GuardInterval,
    ) -> Result<McsMode, ModeError> {
        let Self { name, highest_mcs, note, .. } = self;
        if mcs > *highest_mcs {
            return Err(ModeError::new("mcs", format!("no MCS {mcs} in {name}: there are 0 to {highest_mcs}{note}")));
        }
        if !(1..=8).contains(&streams) {
            return Err(ModeError::new("streams", format!("no {streams} streams in {name}: there are 1 to 8")));
        }
        if !self.widths.contains(&width) {
            let there: Vec<u32> = self.widths.iter().map(|width| width.mhz()).collect();
            return Err(ModeError::new("width", format!("no {width} in {name}: there are {} MHz", list(&there))));
        }
        if !self.guard_intervals.contains(&guard_interval) {
            let there: Vec<u64> = self.guard_intervals.iter().map(|there| there.duration().as_nanos()).collect();
            let message = format!("no guard interval of {guard_interval} in {name}: there are {} ns", list(&there));
            return Err(ModeError::new("guard_interval", message));
        }
        Ok(McsMode { mcs, streams, width, guard_interval, coding: Coding::Bcc })
    }
}
