//! Lengths of MAC frames without packets, in bytes with FCS (IEEE Std 802.11-2020, clause 9). Simulations take the
//! lengths of RTS, CTS and ACK from [`wifair_phy::FrameSizes`].

use wifair_units::Bytes;

/// ACK (9.3.1.4).
pub const ACK: Bytes = Bytes(14);
/// CF-End (9.3.1.6).
pub const CF_END: Bytes = Bytes(20);
/// BlockAckReq, compressed: header 16, BAR Control 2, Starting Sequence Control 2, FCS 4 (9.3.1.7).
pub const BLOCK_ACK_REQUEST: Bytes = Bytes(24);
/// DELBA: management header 24, category 1, action 1, parameters 2, reason 2, FCS 4 (9.6.4.4).
pub const DELBA: Bytes = Bytes(34);
/// Delimiter before each MPDU of an A-MPDU (9.7.1).
pub const DELIMITER: Bytes = Bytes(4);

/// ADDBA request or response: management header 24, category 1, action 1, token 1, parameters 2, timeout 2, and
/// Starting Sequence Control (request) or status (response) 2, FCS 4 (9.6.4). For windows above 1023 MPDUs it has an
/// ADDBA extension of 3 (802.11be).
#[must_use]
pub const fn addba(window: u16) -> Bytes {
    Bytes(if window > 1023 { 40 } else { 37 })
}

/// Compressed BlockAck for a window of this many MPDUs: header 16, BA Control 2, Starting Sequence Control 2, FCS 4,
/// and a bitmap of 64 bits, 256 (from 802.11ax on), 512 or 1024 (802.11be) (9.3.1.8.2).
#[must_use]
pub const fn block_ack(window: u32) -> Bytes {
    let bits = match window {
        0..=64 => 64,
        65..=256 => 256,
        257..=512 => 512,
        _ => 1024,
    };
    Bytes(24 + bits / 8)
}

/// QoS Null: header 26, FCS 4 (9.3.2.1).
pub const QOS_NULL: Bytes = Bytes(30);

/// A Trigger frame without padding: header 16, Common Info 8, `each` for each user, FCS 4 (802.11ax, 9.3.1.22).
const fn trigger(each: u64, users: u64) -> Bytes {
    Bytes(28 + each * users)
}

/// Basic Trigger: User Info 5 and Trigger Dependent User Info 1 for each user (9.3.1.22.2).
#[must_use]
pub const fn basic_trigger(users: u64) -> Bytes {
    trigger(6, users)
}

/// BSRP or MU-RTS Trigger: User Info 5 for each user (9.3.1.22.5, 9.3.1.22.6).
#[must_use]
pub const fn bsrp_trigger(users: u64) -> Bytes {
    trigger(5, users)
}

/// MU-BAR Trigger: User Info 5, BAR Control 2 and Starting Sequence Control 2 for each user (9.3.1.22.4).
#[must_use]
pub const fn mu_bar_trigger(users: u64) -> Bytes {
    trigger(9, users)
}

/// Multi-STA BlockAck that acknowledges everything of each user: header 16, BA Control 2, AID TID Info 2 each, FCS 4
/// (802.11ax, 9.3.1.8.6).
#[must_use]
pub const fn multi_sta_block_ack(users: u64) -> Bytes {
    Bytes(22 + 2 * users)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// IEEE Std 802.11-2020, 9.3.1.8.2, and 802.11be, which adds bitmaps of 64 and 128 bytes: 32, 56, 88 and 152 bytes.
    #[test]
    fn a_block_ack_for_up_to_512_mpdus_has_a_bitmap_of_64_bytes() {
        let windows = [0, 64, 65, 256, 257, 512, 513, 1024];
        assert_eq!(windows.map(|window| block_ack(window).0), [32, 32, 56, 56, 88, 88, 152, 152]);
    }
}
