//! Random networks with stations of older standards than that of the access point.

use proptest::prelude::*;
use wifair_mac::edcaf::{Classifier, EdcaSettings};
use wifair_phy::{Band, ChannelWidth, GuardInterval, HeMode, HeOptions, ModulationClass, TxMode, VhtMode};
use wifair_units::{BitRate, Bytes};

use super::scenario::{Scenario, in_extended_range};

/// Which stations are of older standards than that of the access point.
#[derive(Clone, Copy, Debug)]
pub struct Older {
    /// Modulation class of the access point and the newest stations.
    network: ModulationClass,
    /// Every which station is from before HT; 0 for none.
    legacy: u32,
    /// Whether these are of 802.11b, if there is a band for them.
    is_dsss: bool,
}

pub fn older() -> impl Strategy<Value = Option<Older>> {
    let network = prop_oneof![Just(ModulationClass::Ht), Just(ModulationClass::Vht), Just(ModulationClass::He)];
    let older = (network, prop_oneof![Just(0), 2_u32..4], any::<bool>());
    prop::option::of(older.prop_map(|(network, legacy, is_dsss)| Older { network, legacy, is_dsss }))
}

impl Older {
    /// The newest class that a station from before HT reads.
    fn legacy_class(self, scenario: &Scenario) -> ModulationClass {
        let has_dsss = scenario.access.timing.is_dsss(BitRate::from_mbps(11));
        if has_dsss && self.is_dsss { ModulationClass::HrDsss } else { ModulationClass::Ofdm }
    }
}

impl Scenario {
    /// Beside older stations all traffic is with the access point, as other stations do not know what they read.
    /// Frames for stations of 802.11b and OFDM frames beside them need protection that these read (10.26.2).
    pub fn with_older(mut self, older: Option<Older>) -> Self {
        let Some(older) = older else { return self };
        (self.by_ap, self.answers) = (true, false);
        if older.legacy > 0 && older.legacy_class(&self) == ModulationClass::HrDsss {
            let by_rts = self.access.protects_by_rts;
            self = self.protected((Some(BitRate::from_mbps(2)), by_rts));
        }
        self
    }
}

/// These settings, in extended range if `is_extended` and the network has it, and beside older stations. The first is
/// the access point.
pub fn beside_older(
    scenario: &Scenario,
    settings: EdcaSettings,
    is_extended: bool,
    older: Option<Older>,
) -> EdcaSettings {
    let Some(older) = older else { return in_extended_range(settings, is_extended) };
    let Older { network, legacy, .. } = older;
    let ht: Vec<_> = settings.stations.iter().map(|station| station.mode).collect();
    let has_best_effort = settings.classifier != Classifier::Caller || settings.stations[0].categories.len() > 2;
    let mut settings = in_extended_range(settings, is_extended && network == ModulationClass::He);
    for (number, station) in (0..).zip(&mut settings.stations) {
        let Some(rules) = &mut station.aggregation else { continue };
        let is_legacy = legacy > 0 && number % legacy == 1 && has_best_effort;
        station.newest = match number % 4 {
            _ if is_legacy => older.legacy_class(scenario),
            3 => ModulationClass::Ht.min(network),
            2 => ModulationClass::Vht.min(network),
            _ => network,
        };
        let width = ChannelWidth::Mhz20;
        match station.newest {
            ModulationClass::He if is_extended => {}
            ModulationClass::He => {
                let mode = HeMode::new(5, 1, width, GuardInterval::Ns800, HeOptions::default());
                station.mode = Some((TxMode::He(mode.expect("the mode exists")), Band::Ghz5));
            }
            ModulationClass::Vht => {
                let mode = VhtMode::new(6, 1, width, GuardInterval::Ns800).expect("the mode exists");
                station.mode = Some((TxMode::Vht(mode), Band::Ghz5));
            }
            _ => station.mode = ht[number as usize],
        }
        if station.newest == ModulationClass::Ht {
            rules.single_in_ampdu = false;
            rules.max_amsdu = Bytes(rules.max_amsdu.0.min(1000));
            rules.window = rules.window.div_ceil(2);
        }
        if is_legacy {
            (station.mode, station.aggregation, station.is_legacy) = (None, None, true);
        }
        if station.newest == ModulationClass::HrDsss {
            station.common.rate = BitRate::from_mbps(11);
        }
    }
    settings
}

/// The newest modulation class that each station reads.
pub fn newest(settings: &EdcaSettings) -> Vec<ModulationClass> {
    settings.stations.iter().map(|station| station.newest).collect()
}
