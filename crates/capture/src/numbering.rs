//! Sequence numbers and times written into datagrams by their senders, recognised by their behaviour.
//!
//! * RTP (RFC 3550, section 5.1): 16-bit numbers, and a clock whose rate follows from the payload type (RFC 3551,
//!   tables 4, 5).
//! * The tests of iperf 2 (number, seconds, microseconds) and iperf 3 (seconds, microseconds, number), big endian.
//!
//! A format is accepted if, read that way, nearly all datagrams of a flow continue from earlier ones.

use wifair_metrics::{Histogram, Jitter};
use wifair_units::Duration;

/// The fewest datagrams before a format is accepted.
const FEWEST: u64 = 4;
/// The largest step above the highest number; the numbers in between count as lost.
const AHEAD: u64 = 3_000;
/// The largest step below the highest number; such a datagram is out of order or a duplicate.
const BEHIND: u64 = 100;
/// If the clocks of sender and capture differ by less than this, in ns, they count as the same clock.
const ONE_CLOCK: i64 = 10_000_000_000;

/// The numberings found in a flow's datagrams.
#[derive(Clone, Debug, Default)]
pub(crate) struct Numbering {
    rtp: Sequence,
    iperf2: Sequence,
    iperf3: Sequence,
    ssrc: Option<u32>,
    payload_type: u8,
}

/// A format of numbers and times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberFormat {
    /// RTP.
    Rtp,
    /// iperf 2.
    Iperf2,
    /// iperf 3.
    Iperf3,
}

impl NumberFormat {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rtp => "rtp",
            Self::Iperf2 => "iperf2",
            Self::Iperf3 => "iperf3",
        }
    }
}

/// The numbers read in one format.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sequence {
    first: Option<u64>,
    highest: u64,
    /// A bit for each of the 64 numbers up to the highest: set if it was received.
    window: u64,
    /// Datagrams that continue from earlier ones, and those that do not.
    fits: u64,
    misfits: u64,
    /// Numbers received twice.
    pub(crate) duplicates: u64,
    /// Numbers received after a higher one.
    pub(crate) out_of_order: u64,
    pub(crate) jitter: Jitter,
    /// Transit times; empty once the clocks turn out to differ.
    pub(crate) delays: Histogram,
    other_clock: bool,
}

impl Numbering {
    /// Reads the captured part of a datagram's payload.
    #[inline]
    pub(crate) fn take(&mut self, bytes: &[u8], nanos: u64) {
        let Some(head) = bytes.first_chunk::<12>() else { return };
        let word = |at: usize| u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let stamp = |seconds: u32, micros: u32| u64::from(seconds) * 1_000_000_000 + u64::from(micros) * 1_000;
        // RTCP has the types 200 to 204 (RFC 5761, section 4).
        if head[0] >> 6 == 2 && !(64..=95).contains(&(head[1] & 0x7f)) {
            let ssrc = word(8);
            if *self.ssrc.get_or_insert(ssrc) == ssrc {
                self.payload_type = head[1] & 0x7f;
                let number = u64::from(u16::from_be_bytes([head[2], head[3]]));
                let fits = self.rtp.take_wrapped(number);
                if let (true, Some(rate)) = (fits, clock_rate(self.payload_type)) {
                    let sent = f64::from(word(4)) * 1e9 / f64::from(rate);
                    self.rtp.jitter.add(nanos.cast_signed().wrapping_sub(sent as i64));
                }
            } else {
                self.rtp.misfits += 1;
            }
        } else {
            self.rtp.misfits += 1;
        }
        for (sequence, number, seconds, micros) in
            [(&mut self.iperf2, word(0), word(4), word(8)), (&mut self.iperf3, word(8), word(0), word(4))]
        {
            if micros < 1_000_000 && sequence.take(u64::from(number)) {
                let transit = nanos.wrapping_sub(stamp(seconds, micros)).cast_signed();
                sequence.jitter.add(transit);
                if (0..ONE_CLOCK).contains(&transit) && !sequence.other_clock {
                    sequence.delays.add(Duration::from_nanos(transit.cast_unsigned()));
                } else {
                    sequence.other_clock = true;
                }
            } else {
                sequence.misfits += 1;
            }
        }
    }

    /// The format that fits, if there is one.
    pub(crate) fn found(&self) -> Option<(NumberFormat, &Sequence)> {
        [(NumberFormat::Iperf3, &self.iperf3), (NumberFormat::Iperf2, &self.iperf2), (NumberFormat::Rtp, &self.rtp)]
            .into_iter()
            .find(|(_, sequence)| sequence.is_real())
    }
}

impl Sequence {
    fn is_real(&self) -> bool {
        // A field that never changes is not a sequence number.
        self.fits >= FEWEST && self.misfits * 20 <= self.fits && self.highest > self.first.unwrap_or(0)
    }

    /// Handles a 16-bit number, which wraps.
    fn take_wrapped(&mut self, number: u64) -> bool {
        let base = self.highest & !0xffff;
        let near = [base.wrapping_add(number), base.wrapping_add(number).wrapping_add(1 << 16)]
            .into_iter()
            .chain(base.checked_sub(1 << 16).map(|lower| lower + number))
            .min_by_key(|candidate| candidate.abs_diff(self.highest));
        self.take(near.unwrap_or(number))
    }

    fn take(&mut self, number: u64) -> bool {
        if self.first.is_none() {
            (self.first, self.highest, self.window, self.fits) = (Some(number), number, 1, 1);
            return true;
        }
        if number > self.highest {
            let step = number - self.highest;
            if step > AHEAD {
                return false;
            }
            self.window = if step < 64 { self.window << step | 1 } else { 1 };
            self.highest = number;
        } else {
            let back = self.highest - number;
            if back > BEHIND {
                return false;
            }
            if back < 64 && self.window >> back & 1 == 1 {
                self.duplicates += 1;
            } else {
                self.out_of_order += 1;
                self.window |= if back < 64 { 1 << back } else { 0 };
            }
        }
        self.fits += 1;
        true
    }

    /// The number of missing numbers up to the highest, and the number expected (RFC 3550, appendix A.3).
    pub(crate) fn lost(&self) -> (u64, u64) {
        let expected = self.highest + 1 - self.first.unwrap_or(self.highest).min(self.highest);
        (expected.saturating_sub(self.fits - self.duplicates), expected)
    }

    /// Whether sender and capture share a clock, so that transit times are delays.
    pub(crate) fn has_delays(&self) -> bool {
        !self.other_clock && self.delays.samples() > 0
    }
}

/// Clock rate of RTP's static payload types, in Hz.
fn clock_rate(payload_type: u8) -> Option<u32> {
    match payload_type {
        0 | 3..=5 | 7..=9 | 12 | 13 | 15 | 18 => Some(8_000),
        6 => Some(16_000),
        16 => Some(11_025),
        17 => Some(22_050),
        10 | 11 => Some(44_100),
        14 | 25 | 26 | 28 | 31..=34 => Some(90_000),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn iperf2(number: u32, sent_us: u32) -> [u8; 12] {
        let mut bytes = [0; 12];
        bytes[..4].copy_from_slice(&number.to_be_bytes());
        bytes[8..].copy_from_slice(&sent_us.to_be_bytes());
        bytes
    }

    /// Ten datagrams at intervals of 20 ms with a delay of 5 ms each; the fourth is lost and the last two are swapped.
    #[test]
    fn losses_order_and_delays_are_counted() {
        let mut numbering = Numbering::default();
        for number in [0, 1, 2, 4, 5, 6, 7, 9, 8] {
            let sent = number * 20_000;
            numbering.take(&iperf2(number, sent), u64::from(sent + 5_000) * 1_000);
        }
        let (format, found) = numbering.found().expect("it is iperf's");
        assert_eq!((format, found.lost(), found.out_of_order, found.duplicates), (NumberFormat::Iperf2, (1, 10), 1, 0));
        assert_eq!(found.delays.minimum(), Duration::from_millis(5));
        assert!((found.jitter.seconds()).abs() < 1e-9);
    }

    /// A G.711 call with 160 samples every 20 ms, whose 16-bit numbers wrap.
    #[test]
    fn rtp_is_told_by_its_numbers() {
        let mut numbering = Numbering::default();
        for step in 0..40_u32 {
            let number = (65_530 + step) as u16;
            let mut bytes = [0x80, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4];
            bytes[2..4].copy_from_slice(&number.to_be_bytes());
            bytes[4..8].copy_from_slice(&(step * 160).to_be_bytes());
            if step != 20 {
                numbering.take(&bytes, u64::from(step) * 20_000_000);
            }
        }
        let (format, found) = numbering.found().expect("it is RTP");
        assert_eq!((format, found.lost()), (NumberFormat::Rtp, (1, 40)));
        assert!(found.jitter.seconds() < 1e-6);
    }

    /// RFC 3551, tables 4 and 5: types 1, 2, 19 and 27 are reserved or unassigned, those from 35 on dynamic.
    #[test]
    fn clock_rates_are_those_of_the_profile() {
        let known = [
            (8_000, &[0, 3, 4, 5, 7, 8, 9, 12, 13, 15, 18][..]),
            (16_000, &[6]),
            (11_025, &[16]),
            (22_050, &[17]),
            (44_100, &[10, 11]),
            (90_000, &[14, 25, 26, 28, 31, 32, 33, 34]),
        ];
        for payload_type in 0..128 {
            let expected = known.iter().find(|(_, types)| types.contains(&payload_type)).map(|(rate, _)| *rate);
            assert_eq!(clock_rate(payload_type), expected, "{payload_type}");
        }
    }

    /// RFC 3550, section 5.1: the highest bit of the second byte marks, say, the start of a talkspurt, and is no part
    /// of the type. Datagrams of 160 samples at 8 kHz that come in turn 20 and 24 ms after one another have a jitter
    /// that tends to 2 ms (mean of the differences 0 and 4 ms; section 6.4.1).
    #[test]
    fn a_marked_datagram_has_the_same_type() {
        for marker in [0, 0x80] {
            let mut numbering = Numbering::default();
            for step in 0..400_u32 {
                let mut bytes = [0x80, marker | 8, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4];
                bytes[2..4].copy_from_slice(&(step as u16).to_be_bytes());
                bytes[4..8].copy_from_slice(&(step * 160).to_be_bytes());
                numbering.take(&bytes, u64::from(step) * 20_000_000 + u64::from(step / 2) * 4_000_000);
            }
            let (format, found) = numbering.found().expect("it is RTP");
            assert_eq!((format, numbering.payload_type), (NumberFormat::Rtp, 8));
            assert!((found.jitter.seconds() - 0.002).abs() < 0.000_2, "{}", found.jitter.seconds());
        }
    }

    #[test]
    fn other_payloads_have_no_numbers() {
        let mut numbering = Numbering::default();
        for step in 0..100_u32 {
            let noise = step.wrapping_mul(2_654_435_761).to_be_bytes();
            numbering.take(&[noise, noise, noise].concat(), u64::from(step) * 1_000_000);
            numbering.take(&[0; 12], u64::from(step) * 1_000_000);
        }
        assert!(numbering.found().is_none());
    }

    /// By hand: a bit for each of the 64 numbers up to the highest tells a duplicate from a number that came late. A
    /// number more than 3000 above or 100 below the highest does not continue the sequence.
    #[test]
    fn a_window_of_64_numbers_tells_duplicates() {
        let mut sequence = Sequence::default();
        let mut seen = vec![];
        for number in [100, 101, 101, 163, 100, 102, 102, 164, 100, 228, 164, 165, 128, 127, 3_228, 6_229] {
            let fits = sequence.take(number);
            seen.push((fits, sequence.duplicates, sequence.out_of_order));
        }
        let expected = [
            (true, 0, 0),
            (true, 0, 0),
            (true, 1, 0),
            (true, 1, 0),
            (true, 2, 0), // 63 below the highest
            (true, 2, 1),
            (true, 3, 1),
            (true, 3, 1),
            (true, 3, 2), // 64 below: not known
            (true, 3, 2),
            (true, 3, 3),
            (true, 3, 4),
            (true, 3, 5), // 100 below
            (false, 3, 5),
            (true, 3, 5),
            (false, 3, 5),
        ];
        assert_eq!(seen, expected);
        // Of the numbers 100 to 3228 eleven were counted: 14 datagrams without the three duplicates.
        assert_eq!(sequence.lost(), (3_118, 3_129));
    }

    /// 65534 comes late, after the wrap to 0.
    #[test]
    fn a_number_from_before_the_wrap_comes_late() {
        let mut sequence = Sequence::default();
        for number in [65_533, 65_535, 0, 65_534, 1] {
            assert!(sequence.take_wrapped(number));
        }
        assert_eq!((sequence.lost(), sequence.out_of_order, sequence.duplicates), ((0, 5), 1, 0));
    }

    /// Four datagrams are enough, and one in twenty may not fit.
    #[test]
    fn nearly_all_datagrams_have_to_fit() {
        for (good, bad, found) in [(3, 0, false), (4, 0, true), (19, 1, false), (20, 1, true), (40, 2, true)] {
            let mut numbering = Numbering::default();
            for number in 0..good {
                numbering.take(&iperf2(number, 0), 1_000_000);
            }
            for _ in 0..bad {
                numbering.take(&iperf2(good, 2_000_000), 1_000_000);
            }
            assert_eq!(numbering.found().is_some(), found, "{good} and {bad}");
        }
    }

    /// Transit times are delays if the clocks agree to within ten seconds and no datagram arrives before it was sent.
    #[test]
    fn clocks_that_differ_give_no_delays() {
        for (arrival, same) in
            [(500_000_000, true), (499_999_999, false), (10_499_999_999, true), (10_500_000_000, false)]
        {
            let mut numbering = Numbering::default();
            for number in 0..4 {
                numbering.take(&iperf2(number, 500_000), arrival);
            }
            let (_, found) = numbering.found().expect("it is iperf's");
            assert_eq!(found.has_delays(), same, "{arrival} ns");
        }
    }
}
