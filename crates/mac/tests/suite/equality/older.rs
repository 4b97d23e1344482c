//! Random networks with stations of older standards than that of the access point.

use proptest::prelude::*;
use wifair_mac::edcaf::{Classifier, EdcaSettings};
use wifair_phy::{Band, ChannelWidth, GuardInterval, HeMode, HeOptions, ModulationClass, TxMode, VhtMode};
use wifair_units::Bytes;

use super::scenario::{Scenario, in_extended_range};

/// Which stations are of older standards than that of the access point.
#[derive(Clone, Copy, Debug)]
pub struct Older {
    /// Modulation class of the access point and the newest stations.
    network: ModulationClass,
    /// Every which station is from before HT; 0 for none.
    legacy: u32,
}

pub fn older() -> impl Strategy<Value = Option<Older>> {
    let network = prop_oneof![Just(ModulationClass::Ht), Just(ModulationClass::Vht), Just(ModulationClass::He)];
    let older = (network, prop_oneof![Just(0), 2_u32..4]);
    prop::option::of(older.prop_map(|(network, legacy)| Older { network, legacy }))
}

impl Scenario {
    /// Beside older stations all traffic is with the access point, as other stations do not know what they read.
    pub fn with_older(mut self, older: Option<Older>) -> Self {
        if older.is_some() {
            (self.by_ap, self.answers) = (true, false);
        }
        self
    }
}

/// These settings, in extended range if `is_extended` and the network has it, and beside older stations. The first is
/// the access point.
pub fn beside_older(settings: EdcaSettings, is_extended: bool, older: Option<Older>) -> EdcaSettings {
    let Some(Older { network, legacy }) = older else { return in_extended_range(settings, is_extended) };
    let ht: Vec<_> = settings.stations.iter().map(|station| station.mode).collect();
    let has_best_effort = settings.classifier != Classifier::Caller || settings.stations[0].categories.len() > 2;
    let mut settings = in_extended_range(settings, is_extended && network == ModulationClass::He);
    for (number, station) in (0..).zip(&mut settings.stations) {
        let Some(rules) = &mut station.aggregation else { continue };
        let is_legacy = legacy > 0 && number % legacy == 1 && has_best_effort;
        station.newest = match number % 4 {
            _ if is_legacy => ModulationClass::Ofdm,
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
    }
    settings
}

/// The newest modulation class that each station reads.
pub fn newest(settings: &EdcaSettings) -> Vec<ModulationClass> {
    settings.stations.iter().map(|station| station.newest).collect()
}
