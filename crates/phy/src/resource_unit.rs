//! Resource units (RUs) of HE and EHT: parts of the channel, for one user or for several by MU-MIMO.
//!
//! Source: IEEE Std 802.11ax-2021, 27.3.2.2 (tables 27-7 to 27-9). RUs of 26 to 2x996 tones; multiple RUs of 802.11be
//! and channels of 320 MHz are left out.

use std::fmt;

use crate::{ChannelWidth, ModeError, there_are};

/// Size of an RU, in tones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RuSize {
    /// 26 tones: 2 MHz.
    Tones26,
    /// 52 tones: 4 MHz.
    Tones52,
    /// 106 tones: 8 MHz.
    Tones106,
    /// 242 tones: 20 MHz.
    Tones242,
    /// 484 tones: 40 MHz.
    Tones484,
    /// 996 tones: 80 MHz.
    Tones996,
    /// 2x996 tones: 160 MHz.
    Tones1992,
}

impl RuSize {
    /// All sizes, smallest first.
    pub const ALL: [Self; 7] =
        [Self::Tones26, Self::Tones52, Self::Tones106, Self::Tones242, Self::Tones484, Self::Tones996, Self::Tones1992];

    /// Number of tones, 2x996 as 1992.
    #[must_use]
    pub const fn tones(self) -> u32 {
        [26, 52, 106, 242, 484, 996, 1992][self as usize]
    }

    /// Data subcarriers, N_SD (tables 27-15 to 27-21).
    #[must_use]
    pub const fn subcarriers(self) -> u32 {
        [24, 48, 102, 234, 468, 980, 1_960][self as usize]
    }

    /// The RU that is the whole channel.
    #[must_use]
    pub const fn whole(width: ChannelWidth) -> Option<Self> {
        match width {
            ChannelWidth::Mhz20 => Some(Self::Tones242),
            ChannelWidth::Mhz40 => Some(Self::Tones484),
            ChannelWidth::Mhz80 => Some(Self::Tones996),
            ChannelWidth::Mhz160 => Some(Self::Tones1992),
            ChannelWidth::Mhz320 => None,
        }
    }

    /// RUs of this size in a channel of 20, 40 or 80 MHz, or in each 80 MHz half of 160 MHz.
    const fn count(self, width: ChannelWidth) -> u32 {
        let by_width: [u32; 7] = match width {
            ChannelWidth::Mhz20 => [9, 4, 2, 1, 0, 0, 0],
            ChannelWidth::Mhz40 => [18, 8, 4, 2, 1, 0, 0],
            ChannelWidth::Mhz80 => [37, 16, 8, 4, 2, 1, 0],
            ChannelWidth::Mhz160 => [37, 16, 8, 4, 2, 1, 1],
            ChannelWidth::Mhz320 => [0; 7],
        };
        by_width[self as usize]
    }

    /// The sizes that a channel of this width has.
    fn there(width: ChannelWidth) -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(move |size| size.count(width) > 0)
    }
}

/// A resource unit, as in Trigger frames: size, number by frequency in an 80 MHz channel, which half of 160 MHz.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceUnit {
    /// In the secondary 80 MHz channel.
    secondary: bool,
    /// Size.
    size: RuSize,
    /// From 1, by frequency.
    index: u32,
}

/// Number of the 26-tone RU in the middle of an 80 MHz channel, which belongs to none of its 20 MHz.
const CENTRAL: u32 = 19;

impl ResourceUnit {
    /// The RU with this number in a channel of this width; the error lists what exists.
    pub fn new(size: RuSize, index: u32, secondary: bool, width: ChannelWidth) -> Result<Self, ModeError> {
        let unit = Self { secondary, size, index };
        let most = size.count(width);
        let has_half = !secondary || (width == ChannelWidth::Mhz160 && size != RuSize::Tones1992);
        if has_half && (1..=most).contains(&index) {
            return Ok(unit);
        }
        let there = if !has_half && width != ChannelWidth::Mhz160 {
            "only 160 MHz have a secondary 80 MHz channel, which the letter s stands for".to_owned()
        } else if most == 0 || !has_half {
            let sizes: Vec<u32> = RuSize::there(width).map(RuSize::tones).collect();
            if sizes.is_empty() {
                format!("RUs exist up to 160 MHz, not in {width}")
            } else {
                there_are(&sizes) + " tones"
            }
        } else {
            let half =
                if width == ChannelWidth::Mhz160 && size != RuSize::Tones1992 { ", and the same with s" } else { "" };
            format!("there are {0}.1 to {0}.{most}{half}", size.tones())
        };
        Err(ModeError::new("ru", format!("no RU {unit} in {width}: {there}")))
    }

    /// Reads tones and number, as in `106.1`; `996.2s` would be in the secondary 80 MHz channel.
    pub fn parse(text: &str, width: ChannelWidth) -> Result<Self, ModeError> {
        let (numbers, secondary) = text.strip_suffix('s').map_or((text, false), |numbers| (numbers, true));
        let parsed = numbers.split_once('.').and_then(|(tones, index)| {
            let tones: u32 = tones.parse().ok()?;
            Some((RuSize::ALL.into_iter().find(|size| size.tones() == tones)?, index.parse().ok()?))
        });
        let Some((size, index)) = parsed else {
            let sizes: Vec<u32> = RuSize::there(width).map(RuSize::tones).collect();
            let message = format!(
                "no RU `{text}`: write tones and number, as in 106.1 or, in the secondary 80 MHz channel, 106.1s; {} tones",
                there_are(&sizes)
            );
            return Err(ModeError::new("ru", message));
        };
        Self::new(size, index, secondary, width)
    }

    /// The RU that is the whole channel.
    ///
    /// # Errors
    /// If the channel is wider than 160 MHz.
    pub fn whole(width: ChannelWidth) -> Result<Self, ModeError> {
        let size = RuSize::whole(width)
            .ok_or_else(|| ModeError::new("ru", format!("RUs exist up to 160 MHz, not in {width}")))?;
        Self::new(size, 1, false, width)
    }

    /// Size.
    #[must_use]
    pub const fn size(self) -> RuSize {
        self.size
    }

    /// Whether it is the 26-tone RU in the middle of an 80 MHz channel (not that of a 20 MHz channel).
    #[must_use]
    pub const fn is_central(self) -> bool {
        matches!(self.size, RuSize::Tones26) && self.index == CENTRAL
    }

    /// Whether it is in the secondary 80 MHz channel.
    #[must_use]
    pub const fn is_secondary(self) -> bool {
        self.secondary
    }

    /// The 20 MHz segments that it covers or lies in: from 0 by frequency in the primary 80 MHz channel,
    /// from 4 in the secondary one. None for the [central](Self::is_central) one.
    #[must_use]
    pub fn segments(self) -> std::ops::Range<usize> {
        let index = self.index as usize - 1;
        let base = if self.secondary { 4 } else { 0 };
        let (first, count) = match self.size {
            RuSize::Tones26 if self.is_central() => (0, 0),
            RuSize::Tones26 => ((index - usize::from(self.index > CENTRAL)) / 9, 1),
            RuSize::Tones52 => (index / 4, 1),
            RuSize::Tones106 => (index / 2, 1),
            RuSize::Tones242 => (index, 1),
            RuSize::Tones484 => (2 * index, 2),
            RuSize::Tones996 => (0, 4),
            RuSize::Tones1992 => (0, 8),
        };
        base + first..base + first + count
    }

    /// The 26-tone RUs of its 20 MHz segment that it consists of, as bits from the lowest frequency; all 9 if it covers
    /// the segment.
    #[must_use]
    pub(crate) const fn slots(self) -> u16 {
        let index = self.index as usize - 1;
        match self.size {
            RuSize::Tones26 => 1 << ((index - (self.index > CENTRAL) as usize) % 9),
            RuSize::Tones52 => [0b11, 0b1100, 0b110_0000, 0b1_1000_0000][index % 4],
            RuSize::Tones106 => [0b1111, 0b1_1110_0000][index % 2],
            _ => 0b1_1111_1111,
        }
    }

    /// Whether the two have tones in common.
    #[must_use]
    pub fn overlaps(self, other: Self) -> bool {
        let covers = |wide: Self, narrow: Self| {
            wide.size == RuSize::Tones1992 || (wide.size == RuSize::Tones996 && wide.secondary == narrow.secondary)
        };
        if self.is_central() || other.is_central() {
            return self == other || covers(self, other) || covers(other, self);
        }
        let (a, b) = (self.segments(), other.segments());
        a.start.max(b.start) < a.end.min(b.end) && self.slots() & other.slots() != 0
    }
}

impl fmt::Display for ResourceUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}{}", self.size.tones(), self.index, if self.secondary { "s" } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(width: ChannelWidth) -> Vec<ResourceUnit> {
        let halves: &[bool] = if width == ChannelWidth::Mhz160 { &[false, true] } else { &[false] };
        let mut units = Vec::new();
        for size in RuSize::ALL {
            for secondary in halves {
                units.extend((1..=40).filter_map(|index| ResourceUnit::new(size, index, *secondary, width).ok()));
            }
        }
        units
    }

    /// IEEE Std 802.11ax-2021, table 27-6: the number of RUs of each size.
    #[test]
    fn each_width_has_as_many_units_as_the_standard_says() {
        let counts = |width| {
            let units = all(width);
            RuSize::ALL.map(|size| units.iter().filter(|unit| unit.size == size).count())
        };
        assert_eq!(counts(ChannelWidth::Mhz20), [9, 4, 2, 1, 0, 0, 0]);
        assert_eq!(counts(ChannelWidth::Mhz40), [18, 8, 4, 2, 1, 0, 0]);
        assert_eq!(counts(ChannelWidth::Mhz80), [37, 16, 8, 4, 2, 1, 0]);
        assert_eq!(counts(ChannelWidth::Mhz160), [74, 32, 16, 8, 4, 2, 1]);
    }

    /// Units of one size never overlap, and a larger one overlaps as many of each size as it holds: one of
    /// 106 tones has 4 of 26 and 2 of 52; one of 242 has 9 and 4; one of 996 has 37, 16, 8, 4 and 2.
    #[test]
    fn larger_units_hold_smaller_ones() {
        let units = all(ChannelWidth::Mhz160);
        for unit in &units {
            let held =
                RuSize::ALL.map(|size| units.iter().filter(|one| one.size == size && unit.overlaps(**one)).count());
            let smaller = match unit.size {
                RuSize::Tones26 => continue,
                RuSize::Tones52 => vec![2, 1],
                RuSize::Tones106 => vec![4, 2, 1],
                RuSize::Tones242 => vec![9, 4, 2, 1],
                RuSize::Tones484 => vec![18, 8, 4, 2, 1],
                RuSize::Tones996 => vec![37, 16, 8, 4, 2, 1],
                RuSize::Tones1992 => vec![74, 32, 16, 8, 4, 2, 1],
            };
            assert_eq!(held[..smaller.len()], smaller, "{unit}");
        }
    }

    #[test]
    fn errors_list_what_exists() {
        let message = |text, width| ResourceUnit::parse(text, width).expect_err("no such RU").message;
        assert_eq!(message("106.3", ChannelWidth::Mhz20), "no RU 106.3 in 20 MHz: there are 106.1 to 106.2");
        assert_eq!(message("484.1", ChannelWidth::Mhz20), "no RU 484.1 in 20 MHz: there are 26, 52, 106 and 242 tones");
        assert!(message("26.1s", ChannelWidth::Mhz80).contains("only 160 MHz"));
        assert!(message("1992.1s", ChannelWidth::Mhz160).contains("there are 26, 52"));
        assert!(message("106", ChannelWidth::Mhz20).starts_with("no RU `106`: write tones and number"));
        assert!(message("26.1", ChannelWidth::Mhz320).contains("up to 160 MHz"));
    }
}
