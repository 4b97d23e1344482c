//! Lengths of MAC frames, in bytes with FCS (IEEE Std 802.11-2020, clause 9).

use wifair_units::Bytes;

/// RTS (9.3.1.2).
pub const RTS: Bytes = Bytes(20);
/// CTS (9.3.1.3).
pub const CTS: Bytes = Bytes(14);
/// ACK (9.3.1.4).
pub const ACK: Bytes = Bytes(14);
/// CF-End (9.3.1.6).
pub const CF_END: Bytes = Bytes(20);
/// BlockAckReq, compressed: header 16, BAR Control 2, Starting Sequence Control 2, FCS 4 (9.3.1.7).
pub const BLOCK_ACK_REQUEST: Bytes = Bytes(24);
/// ADDBA request or response: management header 24, category 1, action 1, token 1, parameters 2, timeout 2, and
/// Starting Sequence Control (request) or status (response) 2, FCS 4 (9.6.4).
pub const ADDBA: Bytes = Bytes(37);
/// Header and FCS of a data frame without QoS field (9.3.2.1).
pub const DATA_HEADER: Bytes = Bytes(28);
/// Header and FCS of a QoS data frame without HT Control field (9.3.2.1).
pub const QOS_DATA_HEADER: Bytes = Bytes(30);
/// LLC and SNAP header before an IP packet (IEEE Std 802, 9.2.3).
pub const LLC_SNAP: Bytes = Bytes(8);
/// Destination, source and length before each MSDU of an A-MSDU (9.3.2.2.2).
pub const A_MSDU_SUBFRAME_HEADER: Bytes = Bytes(14);
/// Delimiter before each MPDU of an A-MPDU (9.7.1).
pub const DELIMITER: Bytes = Bytes(4);

/// Compressed BlockAck with a bitmap for `window` MPDUs: header 16, BA Control 2, Starting Sequence Control 2, bitmap,
/// FCS 4 (9.3.1.8.2): 32 bytes for 64 MPDUs, 56 for 256, 152 for 1024.
#[must_use]
pub const fn block_ack(window: BlockAckWindow) -> Bytes {
    Bytes(24 + window.mpdus() as u64 / 8)
}

/// Number of MPDUs that a block ACK can acknowledge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BlockAckWindow {
    /// From 802.11n on.
    Mpdus64,
    /// From 802.11ax on.
    Mpdus256,
    /// From 802.11be on.
    Mpdus1024,
}

impl BlockAckWindow {
    /// The number of MPDUs.
    #[must_use]
    pub const fn mpdus(self) -> u16 {
        match self {
            Self::Mpdus64 => 64,
            Self::Mpdus256 => 256,
            Self::Mpdus1024 => 1024,
        }
    }

    /// The smallest bitmap that covers `mpdus`.
    #[must_use]
    pub fn holding(mpdus: u64) -> Option<Self> {
        [Self::Mpdus64, Self::Mpdus256, Self::Mpdus1024].into_iter().find(|window| u64::from(window.mpdus()) >= mpdus)
    }
}

/// Length of an A-MPDU with MPDUs of these lengths: each has a delimiter, and all but the last are padded to a multiple
/// of 4 (9.7.1).
#[must_use]
pub fn a_mpdu(mpdus: impl IntoIterator<Item = Bytes>) -> Bytes {
    mpdus.into_iter().fold(Bytes(0), |before, mpdu| Bytes(before.0.next_multiple_of(4) + DELIMITER.0 + mpdu.0))
}

/// Length of an A-MSDU with MSDUs of these lengths, LLC and SNAP included: each has a header, and all but the last are
/// padded to a multiple of 4 (9.3.2.2.2).
#[must_use]
pub fn a_msdu(msdus: impl IntoIterator<Item = Bytes>) -> Bytes {
    msdus
        .into_iter()
        .fold(Bytes(0), |before, msdu| Bytes(before.0.next_multiple_of(4) + A_MSDU_SUBFRAME_HEADER.0 + msdu.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From the reference runs of ns-3: an IP packet of 1500 bytes makes an MPDU of 1538, or 1544 in an A-MPDU, 1542 at
    /// its end; an A-MSDU of k packets makes an MPDU of 1524 k - 2 + 30 bytes.
    #[test]
    fn aggregates_of_packets_of_1500_bytes() {
        let msdu = Bytes(1500) + LLC_SNAP;
        let mpdu = msdu + QOS_DATA_HEADER;
        assert_eq!(mpdu, Bytes(1538));
        assert_eq!(a_mpdu([mpdu; 1]), Bytes(1542));
        assert_eq!(a_mpdu([mpdu; 28]), Bytes(27 * 1544 + 1542));
        assert_eq!(a_msdu([msdu; 5]) + QOS_DATA_HEADER, Bytes(5 * 1524 - 2 + 30));
    }

    #[test]
    fn block_acks() {
        assert_eq!(
            [64, 65, 256, 257, 1024].map(|n| block_ack(BlockAckWindow::holding(n).unwrap()).0),
            [32, 56, 56, 152, 152]
        );
        assert_eq!(BlockAckWindow::holding(1025), None);
    }
}
