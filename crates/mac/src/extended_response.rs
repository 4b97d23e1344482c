//! Responses to data in HE extended range (802.11ax, HE ER SU), which are sent in extended range, too.

use wifair_phy::{Band, PpduParts, PpduTiming, TxMode};
use wifair_units::{Bytes, Duration};

use crate::frame_length::DELIMITER;

/// How such a response is sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExtendedResponse {
    pub mode: TxMode,
    timing: PpduTiming,
}

impl ExtendedResponse {
    /// aRxPHYStartDelay of HE ER SU PPDUs: 24 us to the end of RL-SIG and 16 us of HE-SIG-A (IEEE Std
    /// 802.11ax-2021, 27.3.4 and 27.4.4).
    pub const RX_START_DELAY: Duration = Duration::from_micros(40);

    /// The response to data in this mode; `None` if it is in non-HT format.
    pub fn to(data: TxMode, band: Band) -> Option<Self> {
        data.extended_response().map(|mode| Self { mode, timing: PpduTiming::new(mode, band) })
    }

    /// Air time of a response of this length. Every HE PPDU is an A-MPDU, so a delimiter precedes the response (9.7.1).
    pub fn air(&self, length: Bytes) -> Duration {
        self.timing.duration(DELIMITER + length)
    }

    /// The parts of this air time.
    pub fn parts(&self, length: Bytes) -> PpduParts {
        self.timing.parts(DELIMITER + length)
    }
}
