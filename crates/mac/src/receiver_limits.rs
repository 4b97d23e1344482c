//! What a receiver of each amendment takes at most.

use wifair_phy::Amendment;
use wifair_units::Bytes;

/// The largest buffer of a block ACK agreement, in MPDUs; zero before 802.11n.
#[must_use]
pub const fn largest_window(amendment: Amendment) -> u32 {
    match amendment {
        Amendment::B | Amendment::A | Amendment::G => 0,
        Amendment::N | Amendment::Ac => 64,
        Amendment::Ax => 256,
        Amendment::Be => 1024,
    }
}

/// Longest MPDU: 11454 bytes from 802.11ac on, which has no separate A-MSDU limit; in HT 4095 in an A-MPDU, otherwise
/// an A-MSDU of 7935 and 30 of header and FCS; 4095 before (IEEE Std 802.11-2020, table 9-25).
#[must_use]
pub const fn longest_mpdu(amendment: Amendment, in_ampdu: bool) -> Bytes {
    Bytes(match amendment {
        Amendment::B | Amendment::A | Amendment::G => 4_095,
        Amendment::N if in_ampdu => 4_095,
        Amendment::N => 7_965,
        Amendment::Ac | Amendment::Ax | Amendment::Be => 11_454,
    })
}
