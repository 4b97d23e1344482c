//! Airtime queue limits (AQL): how much air time may wait in the driver and below.
//!
//! Source: Linux 6.12, `net/mac80211/tx.c` (`ieee80211_txq_airtime_check`) and `net/mac80211/airtime.c`
//! (`ieee80211_calc_expected_tx_airtime`). A station may always have `low` waiting in a category, and up to `high`
//! while the radio as a whole has less than `threshold`. No round of a category begins while its stations together have
//! more than `high` and, for each station in the list but one, half of `low` (`ieee80211_txq_schedule_airtime_check`):
//! so there is something left to choose from, which makes shares of air time fair. The air time of a packet is
//! estimated from the rate last used to its station, with the part of the preamble that falls to it in an aggregate of
//! a size that goes with the rate.
//!
//! Departures: the time of the bytes follows from the rate, not from a table of whole symbols; the preamble is that of
//! one stream; aggregates of 64 packets are assumed above 410 Mb/s in VHT, too.

use wifair_units::{BitRate, Duration};

/// The limits, in microseconds as in Linux.
#[derive(Clone, Copy, Debug)]
pub struct AqlLimits {
    low: u64,
    high: u64,
    threshold: u64,
}

impl AqlLimits {
    pub const fn new(low: Duration, high: Duration, threshold: Duration) -> Self {
        Self { low: micros(low), high: micros(high), threshold: micros(threshold) }
    }

    /// Whether a station with `own` microseconds waiting may hand another packet to the driver, where the whole radio
    /// has `all`.
    #[inline]
    pub const fn allow(&self, own: u64, all: u64) -> bool {
        own < self.low || own < self.high && all < self.threshold
    }

    /// Whether a round of a category may begin, in whose list are so many stations and which has `pending`
    /// microseconds.
    #[inline]
    pub const fn allow_round(&self, stations: usize, pending: u64) -> bool {
        pending < self.high + stations.saturating_sub(1) as u64 * self.low / 2
    }
}

/// Whole microseconds.
pub const fn micros(time: Duration) -> u64 {
    time.as_nanos() / 1000
}

/// Expected air time of an IP packet of `bytes`, in microseconds.
pub fn expected_air(rate: BitRate, bytes: u16, is_aggregated: bool) -> u64 {
    /// The packet of the table, and what frames add to an IP packet, in bytes.
    const AVERAGE: u64 = 1024;
    const FRAMING: u64 = 38;
    /// Preamble and interframe space of one stream.
    const OVERHEAD: u64 = 40;
    // In 1024ths of a microsecond.
    let average = AVERAGE * 8 * 1024 * 1_000_000 / rate.as_bps().max(1);
    let shift = match average / 1024 {
        _ if !is_aggregated => 0,
        400.. => 1,
        250.. => 2,
        150.. => 3,
        70.. => 4,
        20.. => 5,
        _ => 6,
    };
    let data = average * (u64::from(bytes) + FRAMING) / AVERAGE / 1024;
    (data + (OVERHEAD >> shift)).max(4)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Linux's defaults, 5, 12 and 24 ms. By hand: below 5 ms always; from there up to 12 ms while the radio has less
    /// than 24 ms.
    #[test]
    fn limits_by_hand() {
        let ms = Duration::from_millis;
        let limits = AqlLimits::new(ms(5), ms(12), ms(24));
        for (own, all, expected) in [
            (0, 0, true),
            (4_999, 90_000, true),
            (5_000, 24_000, false),
            (5_000, 23_999, true),
            (11_999, 23_999, true),
            (12_000, 12_000, false),
        ] {
            assert_eq!(limits.allow(own, all), expected, "{own} of {all} us");
        }
    }

    /// With three stations in the list: 12 ms + 2 * 2.5 ms.
    #[test]
    fn a_round_begins_below_its_limit() {
        let ms = Duration::from_millis;
        let limits = AqlLimits::new(ms(5), ms(12), ms(24));
        assert_eq!([16_999, 17_000].map(|pending| limits.allow_round(3, pending)), [true, false]);
        assert_eq!([11_999, 12_000].map(|pending| limits.allow_round(1, pending)), [true, false]);
    }

    /// 7.2 Mb/s: 1024 B take 1137.8 us, above 400, so 40 us / 2; 1538 B take 1708.9 us. 144.4 Mb/s: 56.7 us, so 40 us /
    /// 32; 85.2 us. 1201 Mb/s: 6.8 us, 40 us / 64; 10.2 us. A packet of 20 B counts 4 us there. Alone, a packet bears
    /// the whole 40 us.
    #[test]
    fn expected_air_by_hand() {
        let kbps = |kbps: u64| BitRate::from_bps(kbps * 1000);
        assert_eq!(expected_air(kbps(7_200), 1500, true), 1708 + 20);
        assert_eq!(expected_air(kbps(144_400), 1500, true), 85 + 1);
        assert_eq!(expected_air(kbps(1_201_000), 1500, true), 10);
        assert_eq!(expected_air(kbps(1_201_000), 20, true), 4);
        assert_eq!(expected_air(kbps(144_400), 1500, false), 85 + 40);
    }
}
