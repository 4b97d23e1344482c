//! 802.11 statistics per station: frames, retries, air time, signal, rates and modes.

use std::collections::VecDeque;

use wifair_phy::PpduFormat;

use crate::link::beacon::Beacon;
use crate::link::mode::ModeParameters;
use crate::link::radiotap::{RadioInfo, RadioRate};
use crate::link::wifi::{Mac, WifiFrame, WifiFrameKind, air_time_us};
use crate::registry::Registry;

/// The most rates, and modes, per station kept individually.
const MOST_RATES: usize = 64;

/// Statistics of levels, in dBm.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Levels {
    /// The number of levels.
    pub count: u64,
    /// Their sum.
    pub sum: f64,
    /// The lowest.
    pub min: i8,
    /// The highest.
    pub max: i8,
}

impl Levels {
    fn add(&mut self, level: i8) {
        self.min = if self.count == 0 { level } else { self.min.min(level) };
        self.max = if self.count == 0 { level } else { self.max.max(level) };
        self.count += 1;
        self.sum += f64::from(level);
    }

    /// The mean of the decibel values, as drivers average them.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }
}

/// A transmitting station.
#[derive(Clone, Debug, Default)]
pub struct AirStation {
    /// Its address.
    pub address: Mac,
    /// Whether it sent frames from the distribution system, that is, whether it is an access point.
    pub access_point: bool,
    /// Frames sent.
    pub frames: u64,
    /// Their bytes, headers and check sequences included.
    pub bytes: u64,
    /// Data and management frames: the only ones whose retry bit is counted.
    pub numbered: u64,
    /// Such frames with the retry bit set.
    pub retries: u64,
    /// Data frames.
    pub data_frames: u64,
    /// Air time in us of the frames with known rate.
    pub air_time_us: f64,
    /// Air time in us of such frames in exchanges that others begin with it: data and RTS to it, its answers, and the
    /// CF-End after them.
    pub air_time_to_us: f64,
    /// Frames of unknown rate, and so of unknown air time.
    pub unrated: u64,
    /// A-MPDUs sent, as numbered by the capturing radio.
    pub aggregates: u64,
    /// Their MPDUs.
    pub aggregated: u64,
    /// The number of MPDUs in the largest A-MPDU.
    pub largest_aggregate: u32,
    /// A-MPDUs to a single station, not followed by a block ACK or ACK to the sender before either takes part in
    /// another data PPDU.
    pub aggregates_unanswered: u64,
    /// A-MPDUs to stations of which no frame was captured, so that it is unknown whether they answered.
    pub aggregates_to_unheard: u64,
    /// Block ACKs sent.
    pub block_acks: u64,
    /// Signal level at the capturing radio.
    pub signal: Levels,
    /// Frames by rate, in kb/s, ascending.
    pub rates: Vec<(u32, u64)>,
    /// Frames by transmit mode, from 802.11n on, in the order of the modes.
    pub modes: Vec<(ModeParameters, u64)>,
    /// Data frames between it and its access point, both ways, by rate in kb/s, and by mode.
    pub link: LinkModes,
    /// RTS frames sent.
    pub rts: u64,
    /// What it announces, if it is an access point.
    pub beacon: Option<Beacon>,
    /// The station that it addressed last.
    peer: Option<Mac>,
}

/// Data frames between a station and an access point.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinkModes {
    /// Frames by rate, in kb/s, ascending.
    pub rates: Vec<(u32, u64)>,
    /// Frames by transmit mode, from 802.11n on.
    pub modes: Vec<(ModeParameters, u64)>,
}

/// Statistics by station.
#[derive(Debug, Default)]
pub(crate) struct AirStatistics {
    pub(crate) stations: Registry<Mac, AirStation>,
    pub(crate) noise: Levels,
    pub(crate) frames: u64,
    /// Frames that count for no station: ACK and CTS to stations that were not heard, and those beyond the limit.
    pub(crate) unattributed: u64,
    /// A-MPDUs by sender and receiver, and how many of them had no answer.
    aggregates: Registry<(Mac, Mac), AggregateCount>,
    /// Modes of data frames from and to stations, heard or not.
    links: Registry<Mac, LinkModes>,
    /// Frames by frequency in MHz, ascending.
    pub(crate) frequencies: Vec<(u16, u64)>,
    /// Air time in us of exchanges that others begin with a station, heard or not.
    air_times_to: Registry<Mac, f64>,
    /// What is going on where, by interface and frequency: a file may have the frames of several radios.
    channels: Registry<(u32, Option<u16>), ChannelState>,
}

/// The A-MPDUs from one station to another.
#[derive(Debug)]
struct AggregateCount {
    ends: (Mac, Mac),
    sent: u64,
    unanswered: u64,
}

/// What the frames of a channel have begun.
#[derive(Debug, Default)]
struct ChannelState {
    /// The A-MPDU to which the last frame belongs.
    ampdu: Option<Ampdu>,
    /// The latest A-MPDUs that no block ACK or ACK has answered: senders and receivers. Cells that do not hear each
    /// other may have some at once, and so with RTS.
    unanswered: VecDeque<(Mac, Mac)>,
    /// The latest RTS frames that no CTS has answered: senders, and times in ns.
    rts: VecDeque<(Mac, u64)>,
    /// The last frame, if it was a CTS that followed no RTS: the receiver, the length, and how it was heard.
    cts: Option<(Mac, u32, RadioInfo)>,
    /// The station with which the TXOP holder was exchanging frames, if the last frame was its CF-End.
    released: Option<Mac>,
}

/// The most A-MPDUs, and RTS frames, that wait for their answer.
const MOST_OPEN: usize = 8;
/// The longest time from the end of an RTS to that of its CTS, in ns: SIFS and 304 us at 1 Mb/s, and clocks that are
/// read late.
const CTS_WITHIN: u64 = 2_000_000;

/// The longest PPDU (aPPDUMaxTime, IEEE 802.11-2020, table 19-25), in us.
const LONGEST_PPDU_US: u64 = 5_484;

/// An A-MPDU, as far as it was seen.
#[derive(Clone, Copy, Debug)]
struct Ampdu {
    /// Its number, as given by the driver.
    number: u32,
    transmitter: Option<Mac>,
    receiver: Mac,
    /// Time of its first MPDU by the radio's clock, in us.
    tsf: Option<u64>,
    /// Bytes of its PSDU.
    psdu: u32,
    /// Its data frames.
    mpdus: u32,
    /// Sequence control and TID of the last of them.
    last: (Option<u16>, Option<u8>),
}

impl Ampdu {
    /// Whether a frame that follows with the same number belongs to it. Some drivers give every A-MPDU the same number,
    /// but even then no MPDU is twice in one, and all are to one receiver (IEEE Std 802.11-2020, 9.7.3).
    fn includes(&self, frame: &WifiFrame<'_>, radio: &RadioInfo) -> bool {
        let apart = self.tsf.zip(radio.tsf).map_or(0, |(first, now)| now.abs_diff(first));
        let is_again = frame.sequence.is_some() && self.last == (frame.sequence, frame.tid);
        let ends = (self.transmitter, self.receiver);
        (frame.transmitter, frame.receiver) == ends && !is_again && apart <= LONGEST_PPDU_US
    }
}

impl AirStatistics {
    /// Counts a frame that an interface captured at `nanos`.
    pub(crate) fn note(&mut self, frame: &WifiFrame<'_>, radio: &RadioInfo, interface: u32, nanos: u64) {
        let (mut channels, mut beyond) = (std::mem::take(&mut self.channels), ChannelState::default());
        let channel = channels.entry((interface, radio.frequency), ChannelState::default).unwrap_or(&mut beyond);
        self.note_on(channel, frame, radio, nanos);
        self.channels = channels;
    }

    fn note_on(&mut self, channel: &mut ChannelState, frame: &WifiFrame<'_>, radio: &RadioInfo, nanos: u64) {
        // A CTS that follows no RTS is a CTS-to-self (10.3.2.11) if the station that it names sends the next frame.
        let is_rts = frame.kind == WifiFrameKind::Rts;
        let next = frame.transmitter.filter(|_| !is_rts).map(|transmitter| (transmitter, frame.receiver));
        self.count_waiting_cts(channel, next);
        let is_cts = frame.kind == WifiFrameKind::Cts;
        let released = channel.released.take();
        // A station that sends anything else got no CTS.
        let named = if is_cts { Some(frame.receiver) } else { frame.transmitter };
        let asked = channel.rts.iter().position(|(sender, _)| Some(*sender) == named);
        let asked = asked.and_then(|place| channel.rts.remove(place));
        let is_answer = asked.is_some_and(|(_, at)| nanos.abs_diff(at) <= CTS_WITHIN);
        if is_cts && !is_answer {
            channel.cts = Some((frame.receiver, frame.length, *radio));
            return;
        }
        if let Some(transmitter) = frame.transmitter.filter(|_| is_rts) {
            channel.rts.truncate(MOST_OPEN - 1);
            channel.rts.push_front((transmitter, nanos));
        }
        let partner = match (frame.kind, frame.transmitter) {
            (WifiFrameKind::Cts | WifiFrameKind::Ack | WifiFrameKind::BlockAck, _) => None,
            // A CF-End is addressed to all, but belongs to the last exchange of its TXOP.
            (WifiFrameKind::CfEnd, Some(transmitter)) => {
                let peer = self.stations.get(&transmitter).and_then(|station| station.peer);
                // An access point repeats that of a station that has sent to it (10.22.2.9).
                channel.released = released.filter(|partner| *partner == transmitter).or(peer);
                Some(channel.released.unwrap_or(frame.receiver))
            }
            _ => Some(frame.receiver),
        };
        self.count_frame(channel, frame, radio, partner);
    }

    /// Counts the CTS that waits for the frame after it, whose transmitter and receiver are `next`.
    fn count_waiting_cts(&mut self, channel: &mut ChannelState, next: Option<(Mac, Mac)>) {
        let Some((receiver, length, radio)) = channel.cts.take() else { return };
        let (transmitter, partner) = next.filter(|(transmitter, _)| *transmitter == receiver).unzip();
        self.count_frame(channel, &WifiFrame { transmitter, ..WifiFrame::cts(receiver, length) }, &radio, partner);
    }

    /// Counts a frame of an exchange that another station begins with `partner`; without one, it is a response of that
    /// partner.
    fn count_frame(
        &mut self,
        channel: &mut ChannelState,
        frame: &WifiFrame<'_>,
        radio: &RadioInfo,
        partner: Option<Mac>,
    ) {
        self.frames += 1;
        // ACK and CTS do not name their sender: it is the station that their receiver addressed last.
        let sender = match frame.transmitter {
            Some(transmitter) => Some(transmitter),
            None => self.stations.get(&frame.receiver).and_then(|station| station.peer),
        };
        if let Some(noise) = radio.noise {
            self.noise.add(noise);
        }
        // Some drivers number frames of older standards too, which have no A-MPDUs.
        let number = radio.ampdu.filter(|_| !matches!(radio.rate, Some(RadioRate::Legacy(_))));
        let begun = channel.ampdu.take().filter(|ampdu| number == Some(ampdu.number) && ampdu.includes(frame, radio));
        let start = begun.map_or(0, |ampdu| ampdu.psdu);
        // From 802.11ac on even a single MPDU has a delimiter (IEEE 802.11-2020, 10.12.8).
        let is_later =
            matches!(radio.rate, Some(RadioRate::Mcs(vector)) if !matches!(vector.format, PpduFormat::Ht(_)));
        let delimiter = if is_later || number.is_some() { 4 } else { 0 };
        let psdu = start..start.next_multiple_of(4).saturating_add(frame.length).saturating_add(delimiter);
        let is_data = frame.kind == WifiFrameKind::Data;
        let mpdus = begun.map_or(0, |ampdu| ampdu.mpdus) + u32::from(is_data);
        channel.ampdu = number.filter(|_| !radio.ends_ampdu).map(|number| Ampdu {
            number,
            transmitter: frame.transmitter,
            receiver: frame.receiver,
            tsf: begun.map_or(radio.tsf, |ampdu| ampdu.tsf),
            psdu: psdu.end,
            mpdus,
            last: (frame.sequence, frame.tid),
        });
        if let Some(frequency) = radio.frequency {
            count(&mut self.frequencies, frequency);
        }
        if let (true, false, Some(rate), Some(transmitter)) =
            (is_data, frame.receiver.is_group(), radio.rate, frame.transmitter)
            && frame.to_ds != frame.from_ds
        {
            let station = if frame.from_ds { frame.receiver } else { transmitter };
            if let Some(link) = self.links.entry(station, LinkModes::default) {
                match ModeParameters::of(rate) {
                    Some(mode) => count(&mut link.modes, mode),
                    None => count(&mut link.rates, ((rate.data_rate().as_bps() + 500) / 1_000) as u32),
                }
            }
        }
        self.note_answer(channel, frame, number.is_some(), mpdus);
        let Some(station) = sender.and_then(|sender| self.station(sender)) else {
            self.unattributed += 1;
            return;
        };
        if frame.transmitter.is_some_and(|sender| sender != frame.receiver) && !frame.receiver.is_group() {
            station.peer = Some(frame.receiver);
        }
        station.frames += 1;
        station.bytes += u64::from(frame.length);
        if frame.sequence.is_some() {
            station.numbered += 1;
            station.retries += u64::from(frame.retry);
        }
        station.data_frames += u64::from(is_data);
        station.access_point |= is_data && frame.from_ds && !frame.to_ds;
        station.rts += u64::from(frame.kind == WifiFrameKind::Rts);
        if frame.announces && station.beacon.is_none() {
            station.beacon = Beacon::parse(frame.body);
        }
        station.block_acks += u64::from(frame.kind == WifiFrameKind::BlockAck);
        if is_data && number.is_some() {
            station.aggregates += u64::from(mpdus == 1);
            station.aggregated += 1;
            station.largest_aggregate = station.largest_aggregate.max(mpdus);
        }
        if let Some(signal) = radio.signal
            && frame.transmitter.is_some()
        {
            station.signal.add(signal);
        }
        let Some(rate) = radio.rate else {
            station.unrated += 1;
            return;
        };
        let air_time = air_time_us(psdu, rate, radio);
        station.air_time_us += air_time;
        let kbps = ((rate.data_rate().as_bps() + 500) / 1_000) as u32;
        count(&mut station.rates, kbps);
        if let Some(mode) = ModeParameters::of(rate) {
            count(&mut station.modes, mode);
        }
        if let Some(partner) = partner.or(sender).filter(|partner| !partner.is_group())
            && let Some(air_time_to) = self.air_times_to.entry(partner, || 0.0)
        {
            *air_time_to += air_time;
        }
    }

    /// Ends the counting; returns the stations, in the order in which they were first heard.
    pub(crate) fn finish(&mut self) -> Vec<AirStation> {
        for mut channel in std::mem::take(&mut self.channels).entries {
            self.count_waiting_cts(&mut channel, None);
        }
        for AggregateCount { ends: (sender, receiver), sent, unanswered } in
            std::mem::take(&mut self.aggregates).entries
        {
            let is_heard = self.stations.get(&receiver).is_some();
            let Some(station) = self.station(sender) else { continue };
            if is_heard {
                station.aggregates_unanswered += unanswered;
            } else {
                station.aggregates_to_unheard += sent;
            }
        }
        let mut stations = std::mem::take(&mut self.stations).entries;
        for station in &mut stations {
            station.link = self.links.get(&station.address).cloned().unwrap_or_default();
            station.air_time_to_us = self.air_times_to.get(&station.address).copied().unwrap_or(0.0);
        }
        stations
    }

    /// Counts A-MPDUs that nobody answers before their sender or receiver takes part in another data PPDU. A single
    /// MPDU may be answered by an ACK, and an access point may answer several stations by one block ACK to a group.
    fn note_answer(&mut self, channel: &mut ChannelState, frame: &WifiFrame<'_>, is_aggregate: bool, mpdus: u32) {
        let is_group = frame.receiver.is_group();
        match (frame.kind, frame.transmitter) {
            (WifiFrameKind::BlockAck | WifiFrameKind::Ack, _) => {
                channel.unanswered.retain(|(sender, _)| !is_group && *sender != frame.receiver);
            }
            (WifiFrameKind::Data, Some(transmitter)) if mpdus == 1 => {
                let ends = [transmitter, frame.receiver];
                channel.unanswered.retain(|(sender, receiver)| {
                    let is_over = ends.contains(sender) || ends.contains(receiver);
                    if is_over && let Some(count) = self.aggregates_between((*sender, *receiver)) {
                        count.unanswered += 1;
                    }
                    !is_over
                });
                if is_aggregate && !is_group {
                    channel.unanswered.truncate(MOST_OPEN - 1);
                    channel.unanswered.push_front((transmitter, frame.receiver));
                    if let Some(count) = self.aggregates_between((transmitter, frame.receiver)) {
                        count.sent += 1;
                    }
                }
            }
            _ => {}
        }
    }

    fn aggregates_between(&mut self, ends: (Mac, Mac)) -> Option<&mut AggregateCount> {
        self.aggregates.entry(ends, || AggregateCount { ends, sent: 0, unanswered: 0 })
    }

    fn station(&mut self, address: Mac) -> Option<&mut AirStation> {
        self.stations.entry(address, || AirStation { address, ..AirStation::default() })
    }
}

/// Adds one to the count of `what` in a list in ascending order.
fn count<T: Ord>(counts: &mut Vec<(T, u64)>, what: T) {
    match counts.binary_search_by(|(counted, _)| counted.cmp(&what)) {
        Ok(at) => counts[at].1 += 1,
        Err(at) if counts.len() < MOST_RATES => counts.insert(at, (what, 1)),
        Err(_) => {}
    }
}
