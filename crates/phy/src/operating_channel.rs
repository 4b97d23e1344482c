//! Channel numbers, bonded channels, and the fraction of a frame's power that falls into another channel.
//!
//! A channel is given by its primary 20 MHz channel and its width. Bonding follows IEEE Std 802.11-2020, annex E (table
//! E-4) and, in 6 GHz, 802.11ax-2021, 27.3.23: two adjacent 20 MHz channels form a 40 MHz channel, two of these an 80
//! MHz channel, and so on. At each width the half without the primary 20 MHz channel is a secondary channel: secondary
//! 20, 40 and 80 MHz.
//!
//! A frame's power is spread evenly over its 20 MHz channels. In 5 and 6 GHz two 20 MHz channels are identical or
//! disjoint, and none receives power from another. In 2.4 GHz channel numbers are 5 MHz apart: another channel receives
//! the fraction of power that the transmit spectrum mask (clause 16 for DSSS, 17.3.9.3 for OFDM) has in the receiver's
//! 22 or 20 MHz, relative to the same bandwidth in the frame's own channel. From 25 MHz on, channels do not interfere
//! (clause 16). Real senders leak no more than their mask allows.

use std::fmt;

use crate::{Band, ChannelWidth};

/// The primary 20 MHz channel and the secondary ones of 20, 40 and 80 MHz.
pub const SEGMENTS: usize = 4;

/// Channels of 2.4 GHz whose centres are closer than this overlap, in MHz (clause 16).
const OVERLAP_LIMIT_MHZ: u32 = 25;

/// The error for a channel that does not exist: it lists the channels that exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelError {
    /// Whether the width, and not the number, is wrong.
    pub is_width: bool,
    /// What is wrong.
    pub message: String,
    /// What exists.
    pub note: String,
}

impl fmt::Display for ChannelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ChannelError {}

/// The channel of a BSS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperatingChannel {
    band: Band,
    width: ChannelWidth,
    /// Whether frames have the spectrum of DSSS.
    is_dsss: bool,
    /// Centres of its 20 MHz channels in MHz: the primary channel, then the secondary 20, 40 and 80 MHz.
    centres: Vec<u32>,
}

/// How a frame arrives at a receiver on another channel, or on the same one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrival {
    /// Fraction of the frame's power in each segment of the receiver's channel.
    pub shares: [f64; SEGMENTS],
    /// Whether the frame covers the receiver's primary channel, and so has a preamble there.
    pub has_preamble: bool,
    /// Whether, in addition, the receiver's channel contains the whole frame.
    pub is_whole: bool,
    /// The secondary segment that contains the whole frame, if any.
    pub secondary: Option<usize>,
}

/// First and last 20 MHz channel number of each part of a band within which channels may be bonded.
const fn blocks(band: Band) -> &'static [(u32, u32)] {
    match band {
        Band::Ghz2_4 => &[(1, 13)],
        Band::Ghz5 => &[(36, 64), (100, 144), (149, 177)],
        Band::Ghz6 => &[(1, 233)],
    }
}

const fn spacing(band: Band) -> u32 {
    if matches!(band, Band::Ghz2_4) { 1 } else { 4 }
}

/// The centre of a 20 MHz channel in MHz.
const fn centre(band: Band, number: u32) -> u32 {
    5 * number
        + match band {
            Band::Ghz2_4 => 2407,
            Band::Ghz5 => 5000,
            Band::Ghz6 => 5950,
        }
}

/// The channel numbers of a band, for a message.
const fn numbers(band: Band) -> &'static str {
    match band {
        Band::Ghz2_4 => "1 to 13",
        Band::Ghz5 => "36, 40, ... 64; 100, 104, ... 144; 149, 153, ... 177",
        Band::Ghz6 => "1, 5, 9, ... 233",
    }
}

impl Band {
    /// Centres in MHz of the 20 MHz channels of the band by their numbers (IEEE Std 802.11-2020, annex E).
    pub fn channels(self) -> impl Iterator<Item = (u32, u32)> {
        let numbers =
            blocks(self).iter().flat_map(move |(first, last)| (*first..=*last).step_by(spacing(self) as usize));
        numbers.map(move |number| (number, centre(self, number)))
    }
}

impl OperatingChannel {
    /// The channel of this width with this primary 20 MHz channel. In 2.4 GHz the secondary channel of 40 MHz is four
    /// numbers above a primary channel of 1 to 7, and below one of 8 to 13.
    ///
    /// # Errors
    /// If there is no such channel.
    pub fn new(band: Band, number: u32, width: ChannelWidth, is_dsss: bool) -> Result<Self, ChannelError> {
        let step = spacing(band);
        let block = blocks(band).iter().find(|(first, last)| (*first..=*last).contains(&number));
        let Some(&(first, last)) = block.filter(|(first, _)| (number - first).is_multiple_of(step)) else {
            return Err(ChannelError {
                is_width: false,
                message: format!("no channel {number} in {band}"),
                note: format!("20 MHz channels are {}", numbers(band)),
            });
        };
        let error = |note: String| ChannelError {
            is_width: true,
            message: format!("no channel of {width} around channel {number} in {band}"),
            note,
        };
        if band == Band::Ghz2_4 {
            let secondary = if number <= 7 { number + 4 } else { number - 4 };
            let centres = match width {
                ChannelWidth::Mhz20 => vec![centre(band, number)],
                ChannelWidth::Mhz40 => vec![centre(band, number), centre(band, secondary)],
                _ => return Err(error("the widest is 40 MHz".to_owned())),
            };
            return Ok(Self { band, width, is_dsss, centres });
        }
        if width == ChannelWidth::Mhz320 {
            return Err(error("the widest that is modelled is 160 MHz".to_owned()));
        }
        let place = (number - first) / step;
        let mut centres = vec![centre(band, number)];
        for doubled in 0..width as u32 {
            let half = 1 << doubled;
            let other = (place / half) ^ 1;
            let numbers = (other * half..(other + 1) * half).map(|place| first + place * step);
            if numbers.clone().any(|number| number > last) {
                return Err(error(format!("the widest around it is {} MHz", 20 << doubled)));
            }
            centres.extend(numbers.map(|number| centre(band, number)));
        }
        Ok(Self { band, width, is_dsss, centres })
    }

    /// Its width.
    pub const fn width(&self) -> ChannelWidth {
        self.width
    }

    /// Whether a frame on either channel may be noticed on the other.
    pub fn overlaps(&self, other: &Self) -> bool {
        let near = |own: &u32| other.centres.iter().any(|centre| leaks(self.band, own.abs_diff(*centre)));
        self.band == other.band && self.centres.iter().any(near)
    }

    /// The 20 MHz channels of a segment.
    fn segment(&self, segment: usize) -> &[u32] {
        let range = if segment == 0 { 0..1 } else { 1 << (segment - 1)..1 << segment };
        self.centres.get(range).unwrap_or(&[])
    }

    /// How a frame of this channel's sender, `width` wide, arrives at `receiver`.
    ///
    /// # Panics
    /// If the frame is wider than the channel.
    pub fn arrival(&self, width: ChannelWidth, receiver: &Self) -> Arrival {
        let frame = &self.centres[..1 << width as usize];
        let share = |centre: &u32| {
            if frame.contains(centre) {
                return 1.0;
            }
            let leaked = frame.iter().map(|own| leakage(self.band, self.is_dsss, own.abs_diff(*centre)));
            leaked.sum::<f64>().min(1.0)
        };
        let parts = frame.len() as f64;
        let shares = std::array::from_fn(|segment| receiver.segment(segment).iter().map(share).sum::<f64>() / parts);
        let has_preamble = frame.contains(&receiver.centres[0]);
        let secondary =
            (1..SEGMENTS).find(|segment| frame.iter().all(|centre| receiver.segment(*segment).contains(centre)));
        Arrival {
            shares,
            has_preamble,
            is_whole: has_preamble && frame.iter().all(|centre| receiver.centres.contains(centre)),
            secondary,
        }
    }
}

/// Whether two 20 MHz channels overlap whose centres are `apart` MHz from each other.
const fn leaks(band: Band, apart: u32) -> bool {
    apart < if matches!(band, Band::Ghz2_4) { OVERLAP_LIMIT_MHZ } else { 20 }
}

/// The fraction of the power in a frame's own 20 MHz channel that arrives in a channel `apart` MHz away.
fn leakage(band: Band, is_dsss: bool, apart: u32) -> f64 {
    if !leaks(band, apart) {
        return 0.0;
    }
    let half = if is_dsss { 11.0 } else { 10.0 };
    let apart = f64::from(apart);
    received(is_dsss, apart - half, apart + half) / received(is_dsss, -half, half)
}

/// Corners of the transmit spectrum masks: MHz from the centre, dB below the density there. Between corners the level
/// in dB is a straight line, or in DSSS a step.
const DSSS_MASK: [(f64, f64); 6] = [(0.0, 0.0), (11.0, 0.0), (11.0, 30.0), (22.0, 30.0), (22.0, 50.0), (36.0, 50.0)];
const OFDM_MASK: [(f64, f64); 6] = [(0.0, 0.0), (9.0, 0.0), (11.0, 20.0), (20.0, 28.0), (30.0, 40.0), (35.0, 40.0)];

/// Power under the mask between two frequencies, in MHz relative to the centre.
fn received(is_dsss: bool, from: f64, until: f64) -> f64 {
    if from < 0.0 && until > 0.0 {
        return received(is_dsss, 0.0, -from) + received(is_dsss, 0.0, until);
    }
    let (from, until) = (from.abs().min(until.abs()), from.abs().max(until.abs()));
    let mask = if is_dsss { &DSSS_MASK } else { &OFDM_MASK };
    let pieces = mask.windows(2).map(|corners| {
        let [(start, above), (end, below)] = [corners[0], corners[1]];
        let (low, high) = (from.max(start), until.min(end));
        if low >= high {
            return 0.0;
        }
        let level = |at: f64| above + (below - above) * (at - start) / (end - start);
        let density = |at: f64| libm::pow(10.0, -level(at) / 10.0);
        if above.to_bits() == below.to_bits() {
            return (high - low) * density(low);
        }
        // The integral of an exponentially falling density.
        (density(low) - density(high)) * 10.0 / (std::f64::consts::LN_10 * (below - above) / (end - start))
    });
    pieces.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn channel(band: Band, number: u32, mhz: u32) -> OperatingChannel {
        OperatingChannel::new(band, number, ChannelWidth::from_mhz(mhz).unwrap(), false).unwrap()
    }

    /// IEEE Std 802.11-2020, table E-4: channel centre frequency indices of the classes 118, 123, 128 and 129.
    #[test]
    fn bonded_channels_of_5_ghz_are_those_of_annex_e() {
        let all: Vec<u32> = (1..200)
            .filter(|number| OperatingChannel::new(Band::Ghz5, *number, ChannelWidth::Mhz20, false).is_ok())
            .collect();
        assert_eq!(all.len(), 8 + 12 + 8);
        let mut found = [vec![], vec![], vec![]];
        for number in all {
            for (list, width) in found.iter_mut().zip(&ChannelWidth::ALL[1..4]) {
                let Ok(bonded) = OperatingChannel::new(Band::Ghz5, number, *width, false) else { continue };
                let mean = bonded.centres.iter().sum::<u32>() / bonded.centres.len() as u32;
                list.push((mean - 5000) / 5);
            }
        }
        found.iter_mut().for_each(|list| list.dedup());
        assert_eq!(found[0], [38, 46, 54, 62, 102, 110, 118, 126, 134, 142, 151, 159, 167, 175]);
        assert_eq!(found[1], [42, 58, 106, 122, 138, 155, 171]);
        assert_eq!(found[2], [50, 114, 163]);
    }

    /// 802.11ax-2021, annex E: 59, 29, 14 and 7 channels, the first ones around 3, 7 and 15.
    #[test]
    fn bonded_channels_of_6_ghz_are_those_of_annex_e() {
        for (mhz, count, first, last) in [(20, 59, 1, 233), (40, 58, 3, 227), (80, 56, 7, 215), (160, 56, 15, 207)] {
            let width = ChannelWidth::from_mhz(mhz).unwrap();
            let there = |number| OperatingChannel::new(Band::Ghz6, number, width, false).ok();
            let all: Vec<OperatingChannel> = (1..=253).filter_map(there).collect();
            let centre = |bonded: &OperatingChannel| {
                (bonded.centres.iter().sum::<u32>() / bonded.centres.len() as u32 - 5950) / 5
            };
            assert_eq!((all.len(), centre(&all[0]), centre(all.last().unwrap())), (count, first, last));
        }
    }

    #[test]
    fn the_error_for_a_missing_channel_lists_the_existing_ones() {
        let error = |band, number, mhz| {
            let error = OperatingChannel::new(band, number, ChannelWidth::from_mhz(mhz).unwrap(), false).unwrap_err();
            (error.is_width, format!("{}: {}", error.message, error.note))
        };
        let (is_width, told) = error(Band::Ghz5, 38, 20);
        assert!(!is_width && told.starts_with("no channel 38 in 5 GHz: 20 MHz channels are 36, 40"), "{told}");
        let (is_width, told) = error(Band::Ghz5, 144, 160);
        assert!(is_width && told.ends_with("the widest around it is 80 MHz"), "{told}");
        assert!(error(Band::Ghz6, 233, 40).1.ends_with("20 MHz"));
        assert!(error(Band::Ghz2_4, 14, 20).1.ends_with("1 to 13"));
        assert!(error(Band::Ghz2_4, 6, 80).0);
        assert!(error(Band::Ghz6, 1, 320).1.contains("160 MHz"));
    }

    #[test]
    fn a_wide_frame_is_read_in_its_own_channel_and_noticed_in_its_parts() {
        let wide = channel(Band::Ghz5, 36, 80);
        let [same, third, narrow, apart] =
            [(36, 80), (44, 80), (44, 20), (52, 80)].map(|(number, mhz)| channel(Band::Ghz5, number, mhz));
        let whole = wide.arrival(ChannelWidth::Mhz80, &same);
        assert_eq!(whole.shares, [0.25, 0.25, 0.5, 0.0]);
        assert!(whole.is_whole && whole.secondary.is_none());
        assert!(wide.arrival(ChannelWidth::Mhz80, &third).is_whole, "both receive the same 80 MHz");
        let half = wide.arrival(ChannelWidth::Mhz40, &third);
        assert_eq!((half.shares, half.has_preamble, half.secondary), ([0.0, 0.0, 1.0, 0.0], false, Some(2)));
        let part = wide.arrival(ChannelWidth::Mhz80, &narrow);
        assert_eq!((part.shares, part.has_preamble, part.is_whole), ([0.25, 0.0, 0.0, 0.0], true, false));
        let other = narrow.arrival(ChannelWidth::Mhz20, &wide);
        assert_eq!((other.shares, other.secondary), ([0.0, 0.0, 1.0, 0.0], Some(2)));
        assert!(wide.overlaps(&narrow) && narrow.overlaps(&wide) && !wide.overlaps(&apart));
        assert_eq!(apart.arrival(ChannelWidth::Mhz80, &wide).shares, [0.0; 4]);
    }

    /// The OFDM mask is flat for 18 MHz. A receiver's 20 MHz at a distance of 5, 10 and 15 MHz contain 14, 9 and 4 MHz
    /// of it. The skirts, whose density is at most -20 dB at 11 MHz, add to that.
    #[test]
    fn overlapping_channels_of_2_4_ghz_receive_the_power_under_the_mask() {
        let first = channel(Band::Ghz2_4, 1, 20);
        let share = |number| first.arrival(ChannelWidth::Mhz20, &channel(Band::Ghz2_4, number, 20)).shares[0];
        for (number, flat) in [(2, 14.0), (3, 9.0), (4, 4.0)] {
            let part = share(number);
            assert!(part > flat / 18.6 && part < (flat + 0.65) / 18.0, "channel {number}: {part}");
        }
        let adjacent = 10.0 * share(5).log10();
        assert!((-24.0..-20.0).contains(&adjacent), "{adjacent} dB 20 MHz away");
        assert_eq!((share(1), share(6)), (1.0, 0.0));
        let arrival = first.arrival(ChannelWidth::Mhz20, &channel(Band::Ghz2_4, 2, 20));
        assert!(!arrival.has_preamble && !arrival.is_whole && arrival.secondary.is_none());
    }

    /// The mask of DSSS has steps: 22 MHz at 0 dB, 11 MHz on each side at -30 dB, then -50 dB.
    #[test]
    fn dsss_leaks_by_its_own_mask() {
        for (apart, flat, low, lowest) in [(5.0, 17.0, 5.0, 0.0), (10.0, 12.0, 10.0, 0.0), (20.0, 2.0, 11.0, 9.0)] {
            let expected = (flat + low * 1e-3 + lowest * 1e-5) / 22.0;
            let share = leakage(Band::Ghz2_4, true, apart as u32);
            assert!((share - expected).abs() < 1e-12, "{apart} MHz away: {share} for {expected}");
        }
    }
}
