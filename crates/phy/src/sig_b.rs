//! HE-SIG-B and EHT-SIG: which resource unit of an MU PPDU is whose, and how long it takes to say so.
//!
//! Sources: IEEE Std 802.11ax-2021, 27.3.11.8 (HE-SIG-B; table 27-26 has the RU allocations); 802.11be-2024, 36.3.12.8
//! (EHT-SIG).
//!
//! The field has a content channel for the odd 20 MHz segments and one for the even ones. A segment that is divided
//! announces all of its RUs, those without a user, too: they are all of one size if its users' are, else what its users
//! leave is divided into the fewest RUs that the table has.

use crate::resource_unit::{ResourceUnit, RuSize};
use crate::{ChannelWidth, ModeError};

/// Modulation of HE-SIG-B or EHT-SIG.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SigMode {
    bits_per_symbol: u32,
    is_eht: bool,
}

impl SigMode {
    /// MCS 0 to 5 of HE-SIG-B, or 0, 1, 3 and 15 of EHT-SIG; with `dcm` HE-SIG-B sends each bit twice.
    pub fn new(mcs: u8, dcm: bool, is_eht: bool) -> Result<Self, ModeError> {
        let bits = match (mcs, is_eht) {
            (0, _) => 26,
            (1, _) => 52,
            (2, false) => 78,
            (3, _) => 104,
            (4, false) => 156,
            (5, false) => 208,
            (15, true) => 13,
            (_, false) => {
                return Err(ModeError::new("sig_b_mcs", format!("no HE-SIG-B with MCS {mcs}: there are 0 to 5")));
            }
            (_, true) => {
                return Err(ModeError::new(
                    "sig_b_mcs",
                    format!("no EHT-SIG with MCS {mcs}: there are 0, 1, 3 and 15"),
                ));
            }
        };
        if dcm && (is_eht || !matches!(mcs, 0 | 1 | 3 | 4)) {
            let there = if is_eht { "EHT-SIG has MCS 15 instead" } else { "it exists with MCS 0, 1, 3 and 4" };
            return Err(ModeError::new("sig_b_dcm", format!("no dual carrier modulation here: {there}")));
        }
        Ok(Self { bits_per_symbol: if dcm { bits / 2 } else { bits }, is_eht })
    }

    /// Symbols of 4 us.
    pub fn symbols(self, bits: u32) -> u32 {
        bits.div_ceil(self.bits_per_symbol)
    }

    /// Bits of the longer content channel for these users' RUs, one entry for each user.
    pub fn bits(self, width: ChannelWidth, units: &[ResourceUnit]) -> u32 {
        let whole = RuSize::whole(width);
        let is_undivided = units.iter().all(|unit| Some(unit.size()) == whole);
        let channels = if width == ChannelWidth::Mhz20 { 1 } else { 2 };
        match (self.is_eht, is_undivided) {
            // HE-SIG-B compression: full-bandwidth MU-MIMO has no common field, and divides users evenly.
            (false, true) if units.len() > 1 => self.user_bits(units.len().div_ceil(channels) as u32),
            // 20 bits for all, with the first user field in one block.
            (true, true) => 20 + 22 + 10 + self.user_bits(units.len().div_ceil(channels) as u32 - 1),
            _ => {
                let fields = user_fields(width, units);
                self.common_bits(width) + self.user_bits(fields[0].max(fields[1]))
            }
        }
    }

    /// Common field of a divided channel, with its CRC and tail bits.
    fn common_bits(self, width: ChannelWidth) -> u32 {
        if self.is_eht {
            let first = if width < ChannelWidth::Mhz80 { 9 } else { 18 };
            let second = if width == ChannelWidth::Mhz160 { 18 + 10 } else { 0 };
            return 17 + first + 10 + second;
        }
        let allocation = match width {
            ChannelWidth::Mhz20 | ChannelWidth::Mhz40 => 8,
            ChannelWidth::Mhz80 => 17,
            _ => 33,
        };
        allocation + 10
    }

    /// User fields in blocks of two, each block with a CRC of 4 bits and 6 tail bits.
    fn user_bits(self, users: u32) -> u32 {
        let each = if self.is_eht { 22 } else { 21 };
        users * each + users.div_ceil(2) * 10
    }
}

/// User fields in the content channels of a divided channel.
fn user_fields(width: ChannelWidth, units: &[ResourceUnit]) -> [u32; 2] {
    let mut fields = [0, 0];
    for segment in 0..(width.mhz() / 20) as usize {
        let inside: Vec<ResourceUnit> = units
            .iter()
            .copied()
            .filter(|unit| unit.size() <= RuSize::Tones242 && unit.segments().contains(&segment))
            .collect();
        fields[segment % 2] += segment_fields(&inside);
    }
    // The central RU of the lower 80 MHz is the last field of channel 1, that of the upper ones of channel 2.
    for unit in units.iter().filter(|unit| unit.is_central()) {
        fields[usize::from(unit.is_secondary())] += 1;
    }
    for _ in units.iter().filter(|unit| unit.size() > RuSize::Tones242) {
        let emptier = usize::from(fields[1] < fields[0]);
        fields[emptier] += 1;
    }
    fields
}

/// The middle of the nine 26-tone RUs of a 20 MHz segment.
const MIDDLE: u16 = 0b1_0000;

/// User fields of a 20 MHz segment with these users' RUs.
fn segment_fields(units: &[ResourceUnit]) -> u32 {
    if units.is_empty() {
        return 0;
    }
    let used = units.iter().fold(0, |used, unit| used | unit.slots());
    let sharing = units.len() as u32 - distinct(units); // further users of one RU, by MU-MIMO
    let aside: Vec<RuSize> = units.iter().filter(|unit| unit.slots() != MIDDLE).map(|unit| unit.size()).collect();
    let middle = u32::from(used & MIDDLE != 0);
    let size = aside.first().copied().unwrap_or(RuSize::Tones26);
    let fields = if aside.iter().any(|other| *other != size) {
        mixed_fields(units)
    } else {
        match size {
            RuSize::Tones26 => 9,
            RuSize::Tones52 => 4 + middle,
            RuSize::Tones106 => 2 + middle,
            _ => 1,
        }
    };
    fields + sharing
}

fn distinct(units: &[ResourceUnit]) -> u32 {
    let mut sorted = units.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    sorted.len() as u32
}

/// RUs of a segment whose users have RUs of several sizes: each half, of four 26-tone RUs, is one of 106 tones or two
/// pairs, each pair one of 52 tones or two of 26. The middle one is left out only where no user has it and no pair is
/// divided.
fn mixed_fields(units: &[ResourceUnit]) -> u32 {
    let within = |mask: u16| units.iter().filter(move |unit| unit.slots() & mask != 0 && unit.slots() != MIDDLE);
    let mut fields = 0;
    let mut is_divided = false;
    for half in [0b1111_u16, 0b1_1110_0000] {
        if within(half).all(|unit| unit.size() == RuSize::Tones106) {
            fields += 1;
            continue;
        }
        for pair in [half & 0b1_1000_0011, half & 0b0_0110_1100] {
            let split = within(pair).any(|unit| unit.size() == RuSize::Tones26);
            is_divided |= split;
            fields += if split { 2 } else { 1 };
        }
    }
    let middle = is_divided || units.iter().any(|unit| unit.slots() == MIDDLE);
    fields + u32::from(middle)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn units(texts: &str, width: ChannelWidth) -> Vec<ResourceUnit> {
        texts.split(' ').map(|text| ResourceUnit::parse(text, width).expect("an RU")).collect()
    }

    /// IEEE Std 802.11ax-2021, table 27-26: the RUs of allocations, from the lowest frequency.
    #[test]
    fn mixed_segments_have_an_allocation_of_the_table() {
        for (texts, fields) in [
            ("26.1 106.2", 5),       // 00100yyy with 52 tones: 26 26 52 26 106
            ("26.1 26.3 106.2", 6),  // 00100: 26 26 26 26 26 106
            ("52.1 106.2", 3),       // 00010: 52 52 - 106
            ("52.1 26.5 106.2", 4),  // 52 52 26 106
            ("52.1 26.3", 5),        // 52 26 26 26 106
            ("26.1 52.4", 6),        // 26 26 52 26 52 52
            ("106.1 26.5 106.2", 3), // 106 26 106
            ("106.1 106.2", 2),      // 106 - 106
            ("52.1 52.2 52.3 52.4", 4),
            ("26.5", 9),
            ("242.1", 1),
        ] {
            assert_eq!(segment_fields(&units(texts, ChannelWidth::Mhz20)), fields, "{texts}");
        }
    }

    /// 802.11be, 36.3.12.8: 17 bits, 9 or 18 of allocation, CRC and tail, user fields of 22 bits; 802.11ax: 21 bits.
    #[test]
    fn bits_of_a_content_channel() {
        let he = SigMode::new(0, false, false).expect("MCS 0");
        let eht = SigMode::new(0, false, true).expect("MCS 0");
        let w = ChannelWidth::Mhz80;
        assert_eq!(he.bits(w, &units("242.1 242.2 242.3 242.4", w)), 27 + 52);
        assert_eq!(eht.bits(w, &units("242.1 242.2 242.3 242.4", w)), 45 + 54);
        assert_eq!(eht.bits(w, &units("996.1", w)), 52);
        // Three users by MU-MIMO on all of 80 MHz: two user fields in one channel.
        assert_eq!(he.bits(w, &units("996.1 996.1 996.1", w)), 52);
        let wide = ChannelWidth::Mhz160;
        assert_eq!(eht.bits(wide, &units("996.1 996.1s", wide)), 17 + 18 + 10 + 18 + 10 + 32);
    }
}
