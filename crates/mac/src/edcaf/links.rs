//! Data links between stations and access point: the available transmit modes, the choice among them, and losses to
//! noise.
//!
//! A frame from the access point uses a mode of its receiver, any other frame one of its sender. A sender with rate
//! adaptation keeps [`MinstrelHt`] statistics for each receiver, over all access categories. The signal-to-noise ratio
//! of a station holds for both directions and does not change, so the best mode ([`best_mode`]) is computed once. On
//! the spatial channel, each pair of sender and receiver has its own ratio ([`Edcafs::set_snr`]).

use wifair_engine::Stream;
use wifair_phy::rate::{Adaptation, Ideal, MinstrelHt, best_mode};
use wifair_phy::{Band, ChannelWidth, FrameMode, PpduOptions, PpduTiming, Timing, TxMode};
use wifair_units::{BitRate, Bytes, Duration, Time};

use super::settings::{AggregationRules, LinkSettings};
use super::{ANY_WIDTH, BROADCAST, Edcaf, Edcafs, ExchangeFrame, Station, Task, number};
use crate::exchange::Purpose;
use crate::extended_response::ExtendedResponse;
use crate::frame::PpduMpdu;
use crate::frame_length;

/// MPDU length for which the best mode at a signal-to-noise ratio is computed: that of an IP packet of 1500 bytes.
const USUAL_MPDU: Bytes = Bytes(1538);

/// A transmit mode in its band.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinkMode {
    pub tx: TxMode,
    pub timing: PpduTiming,
    /// The longest PSDU that fits into the longest PPDU.
    pub longest_psdu: Bytes,
    /// Minimum length of a subframe of an A-MPDU, from the minimum MPDU start spacing (IEEE Std 802.11-2016, 10.13.3).
    pub min_subframe: u64,
    /// The response to data, if it is not in non-HT format.
    response: Option<ExtendedResponse>,
}

impl LinkMode {
    fn new(tx: TxMode, band: Band, rules: Option<&AggregationRules>, options: PpduOptions) -> Self {
        let timing = PpduTiming::with_options(tx, band, options);
        let spacing = rules.map_or(0, |rules| rules.min_start_spacing.as_nanos());
        Self {
            tx,
            timing,
            longest_psdu: rules.and_then(|rules| timing.longest(rules.max_duration)).unwrap_or(Bytes(0)),
            min_subframe: (spacing * tx.data_rate().as_bps()).div_ceil(8_000_000_000),
            response: ExtendedResponse::to(tx, band),
        }
    }

    /// The response to data, or to another frame, if it is not in non-HT format.
    pub fn extended_response(&self, purpose: Purpose) -> Option<&ExtendedResponse> {
        self.response.as_ref().filter(|_| matches!(purpose, Purpose::Single | Purpose::Aggregate))
    }

    /// The rate that determines the rate of control responses.
    pub fn reference_rate(&self) -> BitRate {
        BitRate::from_kbps(u64::from(self.tx.reference_rate_kbps()))
    }

    /// Whether the mode is more robust than non-HT frames at `rate`: it is in extended range, or slower.
    pub fn is_more_robust_than(&self, rate: BitRate) -> bool {
        self.response.is_some() || self.reference_rate() < rate
    }
}

/// When the bytes of a PSDU are on the air: evenly spread over the symbols that carry them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PsduTimes {
    preamble: Duration,
    data: Duration,
    /// Length of the PSDU, in bytes.
    pub psdu: u64,
}

impl PsduTimes {
    /// Time from the end of the preamble until the first `bytes` are sent.
    #[inline]
    fn sent(&self, bytes: u64) -> Duration {
        self.data * bytes.min(self.psdu) / self.psdu
    }

    /// Time that a byte takes, in 2^-32 ns.
    pub const fn byte(&self) -> u64 {
        (self.data.as_nanos() << 32) / self.psdu
    }

    /// For each of the given numbers of bytes, the time from the end of these bytes to the end of the PSDU. A packet
    /// extension after the last byte, which gives the receiver time to decode, does not count.
    pub fn left_after(&self, bytes: impl Iterator<Item = u64>) -> impl Iterator<Item = Duration> {
        // One multiplication per MPDU instead of a division. PPDUs are shorter than 2^31 ns, so nothing overflows.
        let (psdu, byte) = (self.psdu, self.byte());
        bytes.map(move |sent| Duration::from_nanos((psdu.saturating_sub(sent) * byte) >> 32))
    }
}

/// Modes and those of the responses to them.
fn with_responses(modes: &[LinkMode], timing: &Timing) -> Vec<(TxMode, FrameMode)> {
    let response = |mode: &LinkMode| match mode.response {
        Some(extended) => FrameMode::Mcs(extended.mode),
        None => FrameMode::NonHt(timing.answer_rate(mode.reference_rate())),
    };
    modes.iter().map(|mode| (mode.tx, response(mode))).collect()
}

/// Lengths of the usual MPDU and of the block ACK.
fn usual_lengths(rules: Option<&AggregationRules>) -> (Bytes, Bytes) {
    (USUAL_MPDU, rules.map_or(frame_length::ACK, AggregationRules::block_ack))
}

/// Modes of one station, and the noise on its link.
#[derive(Clone, Debug)]
pub(crate) struct StationLink {
    /// The modes; empty if the station has a plain rate instead.
    modes: Vec<LinkMode>,
    /// For each mode, the modes that replace it in 20, 40 and 80 MHz, as far as these widths are below its own.
    narrower: Vec<Vec<LinkMode>>,
    /// The longest PSDU that fits into the longest PPDU in every mode.
    pub longest_in_any: Bytes,
    /// The present signal-to-noise ratio, if there is noise.
    noise_level: Option<NoiseLevel>,
    /// The later ones, the next one last.
    changes: Vec<NoiseLevel>,
    noise: Stream,
    /// Cache of loss probabilities by mode and length.
    losses: Vec<(FrameMode, u32, f64)>,
}

/// A signal-to-noise ratio on a link.
#[derive(Clone, Copy, Debug)]
struct NoiseLevel {
    since: Time,
    snr: f64,
    /// Index of the best mode at this ratio; 0, the station's own mode, if no best mode is needed.
    best: usize,
}

/// Size of [`StationLink::losses`].
const REMEMBERED: usize = 16;

impl StationLink {
    /// The link of a station with this mode. The best mode is computed if the timing of responses is given.
    pub fn new(
        mode: Option<(TxMode, Band)>,
        settings: &LinkSettings,
        rules: Option<&AggregationRules>,
        responses: Option<&Timing>,
    ) -> Self {
        let LinkSettings { ladder, narrower, options, snr, noise, .. } = settings;
        let (mut all, mut band) = (vec![], Band::Ghz5);
        if let Some((own, own_band)) = mode {
            all.push(own);
            all.extend(ladder.iter().copied().filter(|other| *other != own));
            band = own_band;
        }
        let narrower = |tx: &TxMode| {
            let known = narrower.iter().find(|(wide, _)| wide == tx).map_or(&[][..], |(_, narrower)| narrower);
            known.iter().map(|tx| LinkMode::new(*tx, band, rules, *options)).collect()
        };
        let narrower: Vec<Vec<LinkMode>> = all.iter().map(narrower).collect();
        let modes: Vec<LinkMode> = all.into_iter().map(|tx| LinkMode::new(tx, band, rules, *options)).collect();
        let with_responses = responses.filter(|_| modes.len() > 1).map(|timing| with_responses(&modes, timing));
        let best = |snr: f64| {
            let modes = with_responses.as_ref();
            modes.map_or(0, |modes| best_mode(modes, usual_lengths(rules), snr, &[1.0]))
        };
        let levels = snr.iter().rev().map(|&(since, snr)| NoiseLevel { since, snr, best: best(snr) });
        let mut changes: Vec<NoiseLevel> = levels.collect();
        let longest = modes.iter().chain(narrower.iter().flatten()).map(|mode| mode.longest_psdu);
        Self {
            longest_in_any: longest.min().unwrap_or(Bytes(0)),
            narrower,
            modes,
            noise_level: changes.pop(),
            changes,
            noise: noise.clone(),
            losses: vec![],
        }
    }

    /// The mode with this index; `None` if the station has a plain rate.
    #[inline]
    pub fn mode(&self, place: usize) -> Option<&LinkMode> {
        self.modes.get(place)
    }

    /// The mode with this index, or the one that replaces it within a maximum width, in doublings of 20 MHz.
    #[inline]
    pub fn mode_within(&self, place: usize, max_width: u8) -> Option<&LinkMode> {
        let mode = self.modes.get(place)?;
        let is_narrow = max_width < ANY_WIDTH && max_width < mode.tx.width() as u8;
        if !is_narrow { Some(mode) } else { self.narrower[place].get(usize::from(max_width)) }
    }

    /// Whether responses may be in extended range.
    pub fn has_extended_responses(&self) -> bool {
        self.modes.iter().any(|mode| mode.response.is_some())
    }

    /// Index of the best mode at the present signal-to-noise ratio.
    fn best(&self) -> usize {
        self.noise_level.map_or(0, |level| level.best)
    }

    /// Whether frames can be lost to noise.
    #[inline]
    pub const fn is_noisy(&self) -> bool {
        self.noise_level.is_some()
    }

    /// When the signal-to-noise ratio changes next.
    fn next_snr_change(&self) -> Time {
        self.changes.last().map_or(Time::NEVER, |next| next.since)
    }

    /// Sets the signal-to-noise ratio of this time, not before any earlier one.
    fn follow_snr(&mut self, now: Time) {
        while self.next_snr_change() <= now {
            self.noise_level = self.changes.pop();
            self.losses.clear();
        }
    }

    /// Draws whether noise corrupts an MPDU of `length` bytes in the mode with this index, or at `rate` if the station
    /// has no modes.
    pub fn loses_data(&mut self, place: usize, rate: BitRate, length: u32) -> bool {
        let sent = self.modes.get(place).map_or(FrameMode::NonHt(rate), |mode| FrameMode::Mcs(mode.tx));
        self.is_lost(sent, length)
    }

    /// Draws whether noise corrupts a control frame.
    pub fn loses_control(&mut self, sent: FrameMode, length: Bytes) -> bool {
        self.is_lost(sent, u32::try_from(length.0).expect("control frames are short"))
    }

    fn is_lost(&mut self, sent: FrameMode, length: u32) -> bool {
        let Some(NoiseLevel { snr, .. }) = self.noise_level else { return false };
        let known = self.losses.iter().find(|known| (known.0, known.1) == (sent, length));
        let loss = known.map(|known| known.2).unwrap_or_else(|| {
            let loss = -libm::expm1(sent.log_survival(snr, 8.0 * f64::from(length)));
            if self.losses.len() == REMEMBERED {
                self.losses.remove(0);
            }
            self.losses.push((sent, length, loss));
            loss
        });
        self.noise.chance(loss)
    }
}

/// When the signal-to-noise ratio of any station changes next.
pub(super) fn next_snr_change(stations: &[Station]) -> Time {
    stations.iter().map(|station| station.link.next_snr_change()).min().unwrap_or(Time::NEVER)
}

/// State of a sender's rate adaptation towards one receiver.
#[derive(Clone, Debug)]
struct ReceiverState {
    control: MinstrelHt,
    chosen: usize,
}

/// Rate adaptation of one sender.
#[derive(Clone, Debug)]
pub(crate) struct ModeChoice {
    adaptation: Adaptation,
    draws: Stream,
    receivers: Vec<Option<Box<ReceiverState>>>,
    /// On the spatial channel, the index of the best mode towards each receiver, for [`Adaptation::Ideal`].
    best: Vec<usize>,
}

impl ModeChoice {
    /// Rate adaptation of a sender; `None` if it has a fixed mode.
    pub fn new(settings: &LinkSettings) -> Option<Self> {
        let LinkSettings { adaptation, draws, .. } = settings;
        let adapts = matches!(adaptation, Adaptation::MinstrelHt(_) | Adaptation::Ideal);
        adapts.then(|| Self { adaptation: adaptation.clone(), draws: draws.clone(), receivers: vec![], best: vec![] })
    }

    /// The index of the mode of `link` last chosen towards a receiver.
    pub fn place(&self, to: u32, link: &StationLink) -> usize {
        if self.adaptation == Adaptation::Ideal {
            return self.best.get(to as usize).copied().unwrap_or(link.best());
        }
        self.receivers.get(to as usize).and_then(Option::as_ref).map_or(0, |state| state.chosen)
    }

    /// Chooses a mode of `link` for the next PPDU to a receiver.
    pub fn choose(&mut self, now: Time, to: u32, link: &StationLink) {
        let Self { adaptation: Adaptation::MinstrelHt(params), draws, receivers, .. } = self else { return };
        if link.modes.len() < 2 {
            return;
        }
        let place = to as usize;
        if place >= receivers.len() {
            receivers.resize_with(place + 1, || None);
        }
        let state = receivers[place].get_or_insert_with(|| {
            let modes: Vec<TxMode> = link.modes.iter().map(|mode| mode.tx).collect();
            Box::new(ReceiverState { control: MinstrelHt::new(params, &modes, now, draws), chosen: 0 })
        });
        state.chosen = state.control.mode(now, draws);
    }

    fn control(&self, to: u32) -> Option<&MinstrelHt> {
        self.receivers.get(to as usize)?.as_ref().map(|state| &state.control)
    }

    /// Whether the next PPDU to a receiver has a single MPDU, because it samples a mode.
    pub fn is_single(&self, to: u32) -> bool {
        self.control(to).is_some_and(MinstrelHt::is_single)
    }

    /// Whether RTS and CTS should precede the next PPDU to a receiver, however short it is.
    pub fn uses_rts(&self, to: u32) -> bool {
        self.control(to).is_some_and(MinstrelHt::uses_rts)
    }

    /// Limit for the length of an A-MSDU to a receiver, if any.
    pub fn longest_amsdu(&self, to: u32) -> Option<Bytes> {
        self.control(to)?.longest_amsdu()
    }

    /// Reports that `acknowledged` of `sent` MPDUs to a receiver in the mode last chosen were acknowledged.
    pub fn report(&mut self, to: u32, sent: u32, acknowledged: u32) {
        let Some(state) = self.receivers.get_mut(to as usize).and_then(Option::as_mut) else { return };
        state.control.on_result(sent, acknowledged);
    }

    /// Reports that an RTS to a receiver got no CTS.
    pub fn report_lost_rts(&mut self, to: u32) {
        if let Some(state) = self.receivers.get_mut(to as usize).and_then(Option::as_mut) {
            state.control.on_lost_rts();
        }
    }
}

/// A set of modes with their responses, and a table for averages over several factors, if there are any.
#[derive(Clone, Debug)]
struct ModeSet {
    modes: Vec<(TxMode, FrameMode)>,
    table: Option<Ideal>,
}

/// What senders with ideal rate adaptation know of the modes of each station, on the spatial channel.
#[derive(Clone, Debug)]
pub(crate) struct IdealModes {
    /// For each frame the signal-to-noise ratio is multiplied by one of these factors, all equally likely.
    factors: Vec<f64>,
    /// The different sets of modes; stations have few.
    sets: Vec<ModeSet>,
    /// The set of each station; `None` if it has a single mode.
    set_of: Vec<Option<usize>>,
}

impl IdealModes {
    fn new(stations: &[Station], timing: &Timing, factors: &[f64]) -> Self {
        let mut sets: Vec<ModeSet> = vec![];
        let set_of = stations.iter().map(|station| {
            let modes = with_responses(&station.link.modes, timing);
            if modes.len() < 2 {
                return None;
            }
            Some(sets.iter().position(|set| set.modes == modes).unwrap_or_else(|| {
                let lengths = usual_lengths(station.rules.as_ref());
                let table = (factors.len() > 1).then(|| Ideal::new(&modes, lengths, factors));
                sets.push(ModeSet { modes, table });
                sets.len() - 1
            }))
        });
        let set_of = set_of.collect();
        Self { factors: factors.to_vec(), sets, set_of }
    }

    /// Index of the best of the modes of a station at this ratio, for MPDUs and responses of these lengths.
    fn best(&self, station: usize, lengths: (Bytes, Bytes), ratio: f64) -> usize {
        let Some(set) = self.set_of[station] else { return 0 };
        let ModeSet { modes, table } = &self.sets[set];
        table.as_ref().map_or_else(|| best_mode(modes, lengths, ratio, &self.factors), |table| table.mode(ratio))
    }
}

impl Edcafs {
    /// Sets the signal-to-noise ratios between stations, in 20 MHz with all power in one stream, for senders with ideal
    /// rate adaptation. For each frame, the ratio is multiplied by one of `factors`, all equally likely.
    pub(crate) fn set_snr(&mut self, ratio: impl Fn(u32, u32) -> f64, factors: &[f64]) {
        if !(0..self.stations.len()).any(|station| self.is_ideal(station)) {
            return;
        }
        self.ideal_modes = Some(Box::new(IdealModes::new(&self.stations, &self.access.timing, factors)));
        for from in 0..number(self.stations.len()) {
            self.set_snr_of(from, |to| ratio(from, to));
        }
    }

    /// Sets the ratios at the receivers of one station, as [`Edcafs::set_snr`] does for all.
    pub(crate) fn set_snr_of(&mut self, from: u32, ratio: impl Fn(u32) -> f64) {
        let sender = from as usize;
        let Some(modes) = self.ideal_modes.as_ref().filter(|_| self.is_ideal(sender)) else { return };
        let lengths = usual_lengths(self.stations[sender].rules.as_ref());
        let towards = |to| if to == from { 0 } else { modes.best(self.rate_of(sender, to), lengths, ratio(to)) };
        let best = (0..number(self.stations.len())).map(towards).collect();
        if let Some(choice) = &mut self.stations[sender].choice {
            choice.best = best;
        }
    }

    fn is_ideal(&self, station: usize) -> bool {
        self.stations[station].choice.as_ref().is_some_and(|choice| choice.adaptation == Adaptation::Ideal)
    }

    /// Width of data. What is in no mode of HT and later has 20 MHz.
    pub(super) fn data_width(&self, station: usize, to: u32) -> ChannelWidth {
        let mode = self.mode_towards(station, to).filter(|_| to != BROADCAST);
        mode.map_or(ChannelWidth::Mhz20, |mode| mode.tx.width())
    }

    /// Width of the PPDU that a sender has formed, and of the frames around it, in doublings of 20 MHz.
    pub(crate) fn width_of(&self, sender: usize) -> usize {
        self.data_width(self.station_of(sender), self.contenders[sender].ppdu.sole().station) as usize
    }

    /// Width in which a sender would send its next frame, in doublings of 20 MHz. Chooses the mode of its data.
    pub(crate) fn wanted_width(&mut self, now: Time, sender: usize) -> u8 {
        let contender = &self.contenders[sender];
        let Some(to) = contender.task.map(|task| contender.windows[task.window()].to) else { return 0 };
        let is_data = matches!(contender.task, Some(Task::Data(_)));
        let station = self.station_of(sender);
        if is_data {
            self.choose_mode(now, station, to);
        }
        let link = &self.stations[self.rate_of(station, to)].link;
        let mode = link.mode(self.mode_place(station, to)).filter(|_| to != BROADCAST);
        mode.map_or(0, |mode| mode.tx.width() as u8)
    }

    /// Limits the width of the PPDUs in a station's next TXOP, in doublings of 20 MHz.
    pub(crate) fn set_max_width(&mut self, station: u32, max_width: u8) {
        self.stations[station as usize].max_width = max_width;
    }

    /// Limits the width of the PPDU that `sender` has formed, in doublings of 20 MHz. MPDUs that no longer fit into the
    /// air time of the PPDU are left for another.
    pub(crate) fn narrow(&mut self, sender: usize, max_width: u8) {
        let station = self.station_of(sender);
        self.stations[station].max_width = max_width;
        let (to, air) = (self.contenders[sender].ppdu.sole().station, self.contenders[sender].ppdu.air);
        let longest = self.mode_towards(station, to).and_then(|mode| mode.timing.longest(air));
        let Edcaf { ppdu, windows, task, .. } = &mut self.contenders[sender];
        let window = &mut windows[task.expect("a sender has something to send").window()];
        for PpduMpdu { number, .. } in ppdu.shorten(longest.unwrap_or(Bytes(0))) {
            let mpdu = window.mpdu_mut(number);
            mpdu.attempts -= 1;
            ppdu.retries -= u64::from(mpdu.attempts > 0); // it is counted after the CTS
        }
        let psdu = ppdu.sole().psdu;
        let (air, width) = (self.data_air(station, to, psdu), self.data_width(station, to));
        let ppdu = &mut self.contenders[sender].ppdu;
        (ppdu.air, ppdu.width) = (air, width);
    }

    /// The mode of the data that `sender` has formed, for HT and later, and the length of each MPDU in bytes.
    pub(crate) fn mpdu_lengths(&self, sender: usize) -> Option<(TxMode, Vec<u32>)> {
        let Edcaf { ppdu, windows, task, .. } = &self.contenders[sender];
        let mode = self.mode_towards(self.station_of(sender), ppdu.sole().station)?.tx;
        let window = &windows[task.as_ref()?.window()];
        Some((mode, ppdu.sole().mpdus.iter().map(|mpdu| window.mpdu(mpdu.number).length).collect()))
    }

    /// When the bytes of a sender's PSDU are on the air.
    pub(crate) fn psdu_times(&self, sender: usize) -> PsduTimes {
        let station = self.station_of(sender);
        let ppdu = &self.contenders[sender].ppdu;
        let (rate, timing) = (self.stations[self.rate_of(station, ppdu.sole().station)].rate, &self.access.timing);
        let (preamble, behind) = match self.mode_towards(station, ppdu.sole().station) {
            Some(mode) => {
                let parts = mode.timing.parts(ppdu.sole().psdu);
                (parts.preamble, parts.packet_extension + parts.signal_extension)
            }
            None => (timing.preamble_of(rate), timing.extension_of(rate)),
        };
        PsduTimes { preamble, data: ppdu.air - preamble - behind, psdu: ppdu.sole().psdu.0 }
    }

    /// The preamble duration of a sender's PPDU, and the start and end of each MPDU in it, relative to the start of the
    /// PPDU.
    pub(crate) fn mpdu_spans(&self, sender: usize) -> (Duration, Vec<(Duration, Duration)>) {
        let times = self.psdu_times(sender);
        let ends = self.contenders[sender].ppdu.sole().mpdus.iter().map(|mpdu| mpdu.end);
        let starts = std::iter::once(0).chain(ends.clone());
        let span = |(from, until)| (times.preamble + times.sent(from), times.preamble + times.sent(until));
        (times.preamble, starts.zip(ends).map(span).collect())
    }

    /// Sets the signal-to-noise ratios for an exchange that begins at this time.
    #[inline]
    pub(super) fn follow_snr(&mut self, now: Time) {
        if now >= self.next_snr_change {
            self.change_snr(now);
        }
    }

    #[cold]
    fn change_snr(&mut self, now: Time) {
        self.stations.iter_mut().for_each(|station| station.link.follow_snr(now));
        self.next_snr_change = next_snr_change(&self.stations);
    }

    /// Draws whether `receiver`, one of the two stations in an exchange, loses a control frame.
    pub(crate) fn loses_control(
        &mut self,
        station: usize,
        to: u32,
        receiver: u32,
        sent: FrameMode,
        length: Bytes,
    ) -> bool {
        let is_lost = self.stations[receiver as usize].errors.loses_control();
        let peer = self.rate_of(station, to);
        let link = &mut self.stations[peer].link;
        (link.is_noisy() && link.loses_control(sent, length)) || is_lost
    }

    /// Draws whether a sender loses the response to its data or request.
    pub(crate) fn loses_response(&mut self, sender: usize) -> bool {
        let station = self.station_of(sender);
        let ppdu = &self.contenders[sender].ppdu;
        let (to, is_block_ack) = (ppdu.sole().station, ppdu.has(ExchangeFrame::BlockAck));
        let purpose = ppdu.purpose;
        let is_lost = if self.stations[self.rate_of(station, to)].link.is_noisy() {
            let length = self.response_length(station, to, purpose);
            let sent = match self.extended_response(station, to, purpose) {
                Some(extended) => FrameMode::Mcs(extended.mode),
                None => FrameMode::NonHt(self.control_rate(station, to)),
            };
            self.loses_control(station, to, number(station), sent, length)
        } else {
            self.stations[station].errors.loses_control()
        };
        let counters = &mut self.contenders[sender].counters;
        counters.block_acks += u64::from(is_block_ack);
        counters.block_acks_lost += u64::from(is_lost && is_block_ack);
        is_lost
    }

    /// Draws which MPDUs of a sender's data, or whether its BlockAckReq, are lost to errors.
    pub(crate) fn draw_losses(&mut self, sender: usize) {
        let (station, to) = (self.station_of(sender), self.contenders[sender].ppdu.sole().station);
        if self.contenders[sender].ppdu.is_dataless() {
            let (rate, length) = (self.control_rate(station, to), self.contenders[sender].ppdu.sole().psdu);
            let is_lost = self.loses_control(station, to, to, FrameMode::NonHt(rate), length);
            self.contenders[sender].ppdu.sole_mut().set_lost(|| is_lost);
            return;
        }
        let data_from = self.stations[station].errors.data_from;
        let errors = &mut self.stations[to as usize].errors;
        if errors.data_to > 0.0 || data_from > 0.0 {
            self.contenders[sender].ppdu.sole_mut().set_lost(|| errors.loses_data(data_from));
        }
        let peer = self.rate_of(station, to);
        if self.stations[peer].link.is_noisy() {
            let place = self.mode_place(station, to);
            let Edcaf { ppdu, windows, task, .. } = &mut self.contenders[sender];
            let window = &windows[task.expect("a sender has something to send").window()];
            let Station { link, rate, .. } = &mut self.stations[peer];
            ppdu.sole_mut().add_losses(|number| link.loses_data(place, *rate, window.mpdu(number).length));
        }
    }
}
