//! Channel numbers and widths of access points, where channels overlap.

use wifair_mac::{Bandwidth, ChannelSettings, Eifs};
use wifair_phy::{
    Amendment, Band, CaptureEffect, ChannelError, ChannelWidth, GuardInterval, Interference, ModeRequest,
    OperatingChannel, TxMode,
};

use super::high_throughput::OwnMode;
use super::network::{Builder, member_name};
use super::wlan::Wlan;
use super::{Scenario, ScenarioFile};

impl Wlan {
    /// The band of its channel numbers.
    pub fn channel_band(&self) -> Band {
        match self.standard {
            Amendment::B | Amendment::G => Band::Ghz2_4,
            Amendment::A => Band::Ghz5,
            _ => self.phy_band(),
        }
    }

    /// The mode that replaces a wider one: with the same streams and guard interval, and the highest MCS up to its own
    /// that exists in this width.
    fn narrow(&self, wide: TxMode, width: ChannelWidth, own: OwnMode) -> Option<TxMode> {
        let amendment = own.standard.unwrap_or(self.standard);
        let request = ModeRequest {
            width_mhz: Some(width.mhz()),
            streams: (amendment != Amendment::N).then(|| u32::from(wide.streams())),
            guard_interval: wide.guard_interval().map(GuardInterval::duration),
            ..self.mode_request(own)
        };
        let of = |mcs: u32| {
            let mode = amendment.mode(&ModeRequest { mcs: Some(mcs), ..request }).ok()?.1;
            (mode.streams() == wide.streams()).then_some(mode)
        };
        (0..=u32::from(wide.mcs()?)).rev().find_map(of)
    }

    /// For each of these modes, the modes that replace it in 20, 40 and 80 MHz, as far as these are below its width.
    pub fn narrower(&self, modes: &[TxMode], own: OwnMode) -> Vec<(TxMode, Vec<TxMode>)> {
        let narrow = |wide: &TxMode| {
            let widths = ChannelWidth::ALL.into_iter().take_while(|width| *width < wide.width());
            (*wide, widths.filter_map(|width| self.narrow(*wide, width, own)).collect())
        };
        modes.iter().map(narrow).collect()
    }
}

/// Whether channels overlap according to their numbers and widths.
pub(super) fn overlap(file: &ScenarioFile) -> bool {
    file.wlan.is_some() && file.space.as_ref().is_some_and(|space| space.overlapping_channels)
}

/// The width of the channel of an access point in MHz.
fn width(file: &ScenarioFile, wlan: &Wlan, ap: usize) -> u32 {
    let widths = file.ap.as_ref().map_or(&[][..], |group| &group.widths);
    if let Some(place) = ap.checked_rem(widths.len()) {
        return widths[place];
    }
    if !wlan.standard.has_mcs() {
        return 20;
    }
    wlan.mode(OwnMode::default()).map_or(20, |(_, mode)| mode.width().mhz())
}

fn channel(file: &ScenarioFile, wlan: &Wlan, ap: usize) -> Result<OperatingChannel, ChannelError> {
    let number = file.ap.as_ref().map_or(1, |group| group.channels[ap % group.channels.len()]);
    let width = ChannelWidth::from_mhz(width(file, wlan, ap)).unwrap_or(ChannelWidth::Mhz20);
    OperatingChannel::new(wlan.channel_band(), number, width, wlan.standard == Amendment::B)
}

impl Builder<'_> {
    /// Reports settings that are incompatible with overlapping channels, and keys that require them.
    pub(super) fn channels(&mut self, wlan: &Wlan) {
        let file = self.file;
        let overlapping = file.space.as_ref().filter(|space| space.overlapping_channels);
        let has_widths = file.ap.as_ref().is_some_and(|ap| !ap.widths.is_empty());
        let needy = [("ap.widths", "widths", has_widths), ("wlan.bandwidth", "bandwidth", wlan.bandwidth.is_some())];
        let mut are_refused = false;
        for (path, key, _) in needy.iter().filter(|(_, _, is_set)| *is_set) {
            if !wlan.standard.has_mcs() {
                let note = "802.11n, ac, ax and be have it: write standard = \"802.11n\" in [wlan]";
                self.problem(path, &format!("`{key}` does not apply to {}", wlan.standard), note);
                are_refused = true;
            } else if overlapping.is_none() {
                let note = "write overlapping_channels = true in [space]";
                self.problem(path, &format!("`{key}` needs channels that overlap"), note);
            }
        }
        if has_widths && wlan.width.is_some() {
            let why = "every access point has its own; leave out one of the two";
            self.clash("`width` sets nothing beside `widths`", [("wlan.width", "leave it out"), ("ap.widths", why)]);
        }
        self.wide_stations(wlan);
        let Some(space) = overlapping.filter(|_| !are_refused) else { return };
        if file.is_ad_hoc() {
            let note = "an ad-hoc network has one channel; leave it out";
            self.problem("space.overlapping_channels", "overlapping channels without access points", note);
            return;
        }
        let reception = &space.reception;
        let note = "where channels overlap frames are told apart by their powers";
        if !matches!(reception.capture, CaptureEffect::Header | CaptureEffect::Late) {
            let message = format!("`capture` is \"{}\" with overlapping channels", reception.capture);
            self.problem("space.reception.capture", &message, &format!("{note}: write \"header\" or \"late\""));
        }
        if reception.interference != Interference::Sum {
            let message = format!("`interference` is \"{}\" with overlapping channels", reception.interference);
            self.problem("space.reception.interference", &message, &format!("{note}: write \"sum\""));
        }
        if wlan.eifs == Eifs::Nav {
            let note = "that is what ns-2 does, which knows one channel; write \"after-error\"";
            self.problem("wlan.eifs", "`eifs` is \"nav\" with overlapping channels", note);
        }
        if let Some(index) = space.paths.iter().position(|path| path.miss > 0.0) {
            let note = "a carrier sense that fails is modelled on one channel; leave out one of the two";
            self.problem(&format!("space.paths[{index}].miss"), "`miss` with overlapping channels", note);
        }
        self.channel_numbers(wlan);
    }

    /// Reports channels that do not exist, and widths that do not fit.
    fn channel_numbers(&mut self, wlan: &Wlan) {
        let file = self.file;
        let aps = file.ap.as_ref().map_or(1, |ap| ap.count as usize);
        let is_own = file.ap.as_ref().is_some_and(|ap| !ap.widths.is_empty());
        let key = if is_own { "ap.widths" } else { "wlan.width" };
        for ap in 0..aps {
            let mhz = width(file, wlan, ap);
            if ChannelWidth::from_mhz(mhz).is_none() {
                self.problem(key, &format!("no channel of {mhz} MHz"), "one of 20, 40, 80 and 160");
            } else if let Err(error) = channel(file, wlan, ap) {
                self.problem(if error.is_width { key } else { "ap.channels" }, &error.message, &error.note);
            } else if wlan.standard.has_mcs()
                && let Err(error) = wlan.mode(OwnMode { width: Some(mhz), ..OwnMode::default() })
            {
                let path = if error.key == "width" { key.to_owned() } else { format!("wlan.{}", error.key) };
                self.problem(&path, &error.message, &format!("an access point has a channel of {mhz} MHz"));
            }
        }
    }

    /// Reports stations whose PPDUs are wider than the channels of their access points.
    fn wide_stations(&mut self, wlan: &Wlan) {
        let file = self.file;
        if wlan.standard.has_mcs() && wlan.mode(OwnMode::default()).is_err() {
            return; // reported
        }
        let aps = file.ap.as_ref().map_or(1, |ap| ap.count as usize);
        for (index, group) in file.stations.iter().enumerate() {
            let is_named = |ap: &usize| match (&group.ap, &file.ap) {
                (Some(name), Some(ap_group)) => {
                    *name == ap_group.name || *name == member_name(&ap_group.name, *ap, aps)
                }
                _ => true,
            };
            let widest = (0..aps).filter(is_named).map(|ap| width(file, wlan, ap)).max();
            let Some((own, widest)) = group.width.zip(widest).filter(|(own, widest)| own > widest) else { continue };
            let message = format!("PPDUs of {own} MHz in a channel of {widest} MHz");
            let note = "write at most the width of the access point, or leave it out";
            self.problem(&format!("stations[{index}].width"), &message, note);
        }
    }
}

impl Scenario {
    /// The channel of an access point, if channels overlap.
    ///
    /// # Panics
    /// If it does not exist, which was checked.
    pub fn operating_channel(&self, ap: usize) -> Option<OperatingChannel> {
        let wlan = self.file.wlan.as_ref().filter(|_| overlap(&self.file))?;
        Some(channel(&self.file, wlan, ap).expect("channels were checked"))
    }

    /// The lowest channel number of all access points that an access point may sense, directly or through others; it
    /// identifies the frequencies they share. Without overlapping channels, the number of its own channel.
    pub fn air(&self, ap: usize) -> u32 {
        if !overlap(&self.file) {
            return self.channel(ap);
        }
        let channels: Vec<OperatingChannel> =
            (0..self.network.aps.len()).filter_map(|ap| self.operating_channel(ap)).collect();
        let mut found = vec![ap];
        let mut next = 0;
        while let Some(&one) = found.get(next) {
            let near =
                |other: &usize| channels[one].overlaps(&channels[*other]) || channels[*other].overlaps(&channels[one]);
            let fresh: Vec<usize> = (0..channels.len()).filter(|other| !found.contains(other)).filter(near).collect();
            found.extend(fresh);
            next += 1;
        }
        found.into_iter().map(|ap| self.channel(ap)).min().unwrap_or(1)
    }

    /// Settings for stations on these channels.
    pub fn channel_settings(&self, wlan: &Wlan, channels: Vec<OperatingChannel>) -> ChannelSettings {
        // 20/40 MHz operation of HT: DIFS in 2.4 GHz.
        let has_vht = wlan.standard >= Amendment::Ac;
        let is_2_4_ghz = wlan.channel_band() == Band::Ghz2_4;
        ChannelSettings {
            channels,
            bandwidth: wlan.bandwidth.unwrap_or(Bandwidth::Dynamic),
            detects_secondary: has_vht,
            signals_bandwidth: has_vht,
            idle_before: if is_2_4_ghz { wlan.difs } else { wlan.sifs + wlan.slot },
        }
    }
}
