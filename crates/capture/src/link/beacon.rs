//! Beacons: what an access point says of its network (IEEE Std 802.11-2020, 9.3.3.2, and the elements of 9.4.2).

/// What an access point announces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Beacon {
    /// Name of the network; empty if it is hidden. Bytes that are no UTF-8 are replaced.
    pub ssid: String,
    /// Time between beacons, in time units of 1024 us.
    pub interval: u16,
    /// Whether stations use the short slot (802.11g).
    pub short_slot: bool,
    /// Whether short preambles are allowed.
    pub short_preamble: bool,
    /// Whether OFDM frames are protected from stations of 802.11b (ERP element).
    pub uses_protection: bool,
    /// Channel number.
    pub channel: Option<u8>,
    /// Mandatory rates in units of 500 kb/s.
    pub basic_rates: Vec<u8>,
    /// The other rates.
    pub other_rates: Vec<u8>,
    /// The latest amendment of which the access point announces capabilities, as in `802.11ac`.
    pub amendment: Option<&'static str>,
    /// Width of the channel by the HT and VHT operation elements, in MHz.
    pub width_mhz: Option<u16>,
    /// AIFSN, CWmin, CWmax, TXOP limit in units of 32 us, of BE, BK, VI and VO (EDCA parameters of the WMM element).
    pub edca: Option<[EdcaRecord; 4]>,
}

/// The parameters of an access category.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EdcaRecord {
    /// AIFSN.
    pub aifsn: u8,
    /// Minimum contention window.
    pub cw_min: u16,
    /// Maximum contention window.
    pub cw_max: u16,
    /// TXOP limit, in us.
    pub txop_us: u32,
}

impl Beacon {
    /// Reads the body of a beacon or of a probe response: time stamp, interval, capabilities, elements.
    pub fn parse(body: &[u8]) -> Option<Self> {
        let (&[.., a, b, c, d], mut elements) = body.split_first_chunk::<12>()?;
        let mut beacon = Self {
            interval: u16::from_le_bytes([a, b]),
            short_preamble: c & 0x20 != 0,
            short_slot: d & 0x04 != 0,
            ..Self::default()
        };
        while let [kind, length, rest @ ..] = elements {
            let Some((value, next)) = rest.split_at_checked(usize::from(*length)) else { break };
            beacon.take(*kind, value);
            elements = next;
        }
        Some(beacon)
    }

    fn take(&mut self, kind: u8, value: &[u8]) {
        match (kind, value) {
            (0, name) if name.iter().any(|byte| *byte != 0) => self.ssid = String::from_utf8_lossy(name).into_owned(),
            // Supported rates and extended ones; the highest bit marks the mandatory. From 122 on they are selectors.
            (1 | 50, rates) => {
                for rate in rates.iter().filter(|rate| **rate & 0x7f < 122) {
                    let list = if rate & 0x80 != 0 { &mut self.basic_rates } else { &mut self.other_rates };
                    list.push(rate & 0x7f);
                }
            }
            (3, &[channel, ..]) => self.channel = Some(channel),
            (42, &[erp, ..]) => self.uses_protection = erp & 0x02 != 0,
            (45, _) => self.announce("802.11n"),
            // HT operation: primary channel; the place of the second one, which says whether there is one.
            (61, &[channel, about, ..]) => {
                self.channel = self.channel.or(Some(channel));
                self.width_mhz = self.width_mhz.max(Some(if about & 0x03 != 0 { 40 } else { 20 }));
            }
            (191, _) => self.announce("802.11ac"),
            // VHT operation: width, two centre channels. 160 MHz has two that are 8 apart.
            (192, &[width, first, second, ..]) if width > 0 => {
                let is_160 = width > 1 || second > 0 && first.abs_diff(second) == 8;
                self.width_mhz = self.width_mhz.max(Some(if is_160 { 160 } else { 80 }));
            }
            // Extended elements: HE and EHT capabilities.
            (255, &[35, ..]) => self.announce("802.11ax"),
            (255, &[108, ..]) => self.announce("802.11be"),
            // WMM parameters: OUI, type, subtype, version, QoS information, reserved; four records of four bytes.
            (221, &[0x00, 0x50, 0xf2, 2, 1, 1, _, _, ref records @ ..]) if records.len() >= 16 => {
                let mut edca = [EdcaRecord::default(); 4];
                for record in records[..16].chunks_exact(4) {
                    let window = |exponent: u8| ((1u32 << exponent) - 1) as u16;
                    edca[usize::from(record[0] >> 5 & 3)] = EdcaRecord {
                        aifsn: record[0] & 0x0f,
                        cw_min: window(record[1] & 0x0f),
                        cw_max: window(record[1] >> 4),
                        txop_us: 32 * u32::from(u16::from_le_bytes([record[2], record[3]])),
                    };
                }
                self.edca = Some(edca);
            }
            _ => {}
        }
    }
}

impl Beacon {
    /// Notes capabilities of an amendment; the latest counts.
    fn announce(&mut self, amendment: &'static str) {
        const ORDER: [&str; 4] = ["802.11n", "802.11ac", "802.11ax", "802.11be"];
        let place = |name: Option<&str>| ORDER.iter().position(|other| Some(*other) == name);
        if place(Some(amendment)) > place(self.amendment) {
            self.amendment = Some(amendment);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Beacon, EdcaRecord};

    /// By hand: a network `lab` of 802.11n in 40 MHz on channel 36, with Wi-Fi Alliance's usual parameters.
    #[test]
    fn a_beacon_is_read() {
        let mut body = vec![0; 8];
        body.extend([100, 0, 0x21, 0x04, 0, 3, b'l', b'a', b'b', 1, 4, 0x8c, 0x12, 0x98, 0xff]);
        body.extend([vec![45, 26], vec![0; 26], vec![61, 22, 36, 5], vec![0; 20]].concat());
        body.extend([221, 24, 0, 0x50, 0xf2, 2, 1, 1, 0, 0]);
        body.extend([0x03, 0xa4, 0, 0, 0x27, 0xa4, 0, 0, 0x42, 0x43, 94, 0, 0x62, 0x32, 47, 0]);
        let beacon = Beacon::parse(&body).expect("a beacon");
        assert_eq!((beacon.ssid.as_str(), beacon.interval), ("lab", 100));
        assert_eq!((beacon.short_slot, beacon.short_preamble, beacon.uses_protection), (true, true, false));
        assert_eq!((beacon.channel, beacon.width_mhz, beacon.amendment), (Some(36), Some(40), Some("802.11n")));
        assert_eq!((beacon.basic_rates, beacon.other_rates), (vec![12, 24], vec![18]));
        let [be, bk, vi, vo] = beacon.edca.expect("parameters");
        assert_eq!(be, EdcaRecord { aifsn: 3, cw_min: 15, cw_max: 1_023, txop_us: 0 });
        assert_eq!(bk, EdcaRecord { aifsn: 7, cw_min: 15, cw_max: 1_023, txop_us: 0 });
        assert_eq!(vi, EdcaRecord { aifsn: 2, cw_min: 7, cw_max: 15, txop_us: 3_008 });
        assert_eq!(vo, EdcaRecord { aifsn: 2, cw_min: 3, cw_max: 7, txop_us: 1_504 });
        for end in 0..body.len() {
            let _ = Beacon::parse(&body[..end]);
        }
    }
}
