//! The service rate of an access point: data packets per second of one TCP flow whose ACKs share the air.
//!
//! Source: E. Lee et al., 2007, equations 4 to 7 and table 1 (after D. Miorandi, A. Kherani and E. Altman, 2006, and
//! Y. Xiao and J. Rosdahl, 2002):
//!
//! ```text
//! mu = 1 / (T_data + T_ack)                                                              (4)
//! T_data = CW + DIFS + RTS + SIFS + CTS + SIFS + (MAC + TCP/IP + data) + SIFS + ACK      (5)
//! T_ack  = the same without data                                                         (6)
//! CW = CWmin slot / 2                                                                    (7)
//! ```
//!
//! every frame with preamble and PHY header. The paper gives 3868 us for the sum. Its equations with its table give
//! 4189.5 us: control frames are listed with 24 B of PHY overhead on top of preamble and header, and the 1040 B of data
//! already include the TCP/IP header that equation 5 adds. The published 3868 us results if one backoff from a window
//! of 32 slots is counted for the pair, a propagation delay for each of the eight frames, and the TCP/IP header once.

use wifair_units::Duration;

/// T_data + T_ack as printed in section 5.2.
pub const PUBLISHED: Duration = Duration::from_micros(3868);

/// Table 1 of lee2007, in us, bytes and Mb/s, and how equations 5 to 7 are read.
#[derive(Clone, Copy, Debug)]
pub struct ServiceTimes {
    /// Slot.
    pub slot_us: f64,
    /// Propagation delay: listed, but in no equation; counted once per frame if not zero.
    pub propagation_us: f64,
    /// Preamble and PHY header.
    pub plcp_us: f64,
    /// DIFS.
    pub difs_us: f64,
    /// SIFS.
    pub sifs_us: f64,
    /// CWmin, in slots.
    pub cw_min: f64,
    /// Backoffs per pair of data and ACK.
    pub backoffs: f64,
    /// MAC overhead of a data frame.
    pub mac_bytes: f64,
    /// RTS frame.
    pub rts_bytes: f64,
    /// CTS frame, and MAC ACK.
    pub cts_bytes: f64,
    /// TCP/IP header.
    pub header_bytes: f64,
    /// Size of a data packet beyond [`ServiceTimes::header_bytes`].
    pub data_bytes: f64,
    /// Data rate.
    pub data_mbps: f64,
    /// Rate of RTS, CTS and ACK.
    pub control_mbps: f64,
}

impl ServiceTimes {
    /// Table 1, read literally with equations 5 to 7.
    pub const LITERAL: Self = Self {
        slot_us: 20.0,
        propagation_us: 0.0,
        plcp_us: 144.0 + 48.0,
        difs_us: 50.0,
        sifs_us: 10.0,
        cw_min: 31.0,
        backoffs: 2.0,
        mac_bytes: 68.0,
        rts_bytes: 44.0,
        cts_bytes: 38.0,
        header_bytes: 40.0,
        data_bytes: 1040.0,
        data_mbps: 11.0,
        control_mbps: 2.0,
    };

    /// T_data + T_ack.
    pub fn pair(&self) -> Duration {
        Duration::from_secs_f64(self.pair_us() * 1e-6)
    }

    fn pair_us(&self) -> f64 {
        let frame = |bytes: f64, mbps: f64| self.plcp_us + self.propagation_us + bytes * 8.0 / mbps;
        let exchange = |data: f64| {
            self.difs_us
                + frame(self.rts_bytes, self.control_mbps)
                + 2.0 * frame(self.cts_bytes, self.control_mbps)
                + frame(self.mac_bytes + self.header_bytes + data, self.data_mbps)
                + 3.0 * self.sifs_us
        };
        self.backoffs * self.cw_min * self.slot_us / 2.0 + exchange(self.data_bytes) + exchange(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(table: ServiceTimes, expected_us: f64) {
        assert!((table.pair_us() - expected_us).abs() < 0.05, "{} instead of {expected_us} us", table.pair_us());
    }

    /// By hand: 2 * (310 + 50 + 4 * 192 + 176 + 2 * 152 + 30) + (108 + 1148) * 8 / 11 = 4189.5 us.
    #[test]
    fn the_equations_taken_literally() {
        close(ServiceTimes::LITERAL, 4189.45);
        close(ServiceTimes { data_bytes: 1000.0, ..ServiceTimes::LITERAL }, 4160.36);
    }

    /// The reading that gives the published number of lee2007.
    #[test]
    fn one_reading_gives_the_published_value() {
        let table = ServiceTimes {
            cw_min: 32.0,
            backoffs: 1.0,
            propagation_us: 1.0,
            data_bytes: 1000.0,
            ..ServiceTimes::LITERAL
        };
        close(table, 3868.36);
    }

    /// With the lengths of IEEE Std 802.11 for RTS, CTS and ACK: 3584.4 us.
    #[test]
    fn the_standards_frame_lengths_give_3584_us() {
        close(ServiceTimes { rts_bytes: 20.0, cts_bytes: 14.0, data_bytes: 1000.0, ..ServiceTimes::LITERAL }, 3584.36);
    }

    /// 258.5 packets/s of 1040 B are 2.15 Mb/s.
    #[test]
    fn the_published_time_gives_the_published_rate() {
        let mbps = 1040.0 * 8.0 / PUBLISHED.as_secs() * 1e-6;
        assert!((mbps - 2.15).abs() < 0.005);
    }
}
