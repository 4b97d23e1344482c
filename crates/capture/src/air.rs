//! 802.11 statistics per station: frames, retries, air time, signal, rates and modes.

use crate::link::mode::ModeParameters;
use crate::link::radiotap::RadioInfo;
use crate::link::wifi::{Mac, WifiFrame, WifiFrameKind, air_time_us};
use crate::table::{HashKey, Registry, mix};

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
    /// Frames of unknown rate, and so of unknown air time.
    pub unrated: u64,
    /// A-MPDUs sent, as numbered by the capturing radio.
    pub aggregates: u64,
    /// Their MPDUs.
    pub aggregated: u64,
    /// The number of MPDUs in the largest A-MPDU.
    pub largest_aggregate: u32,
    /// A-MPDUs not followed by a block ACK to the sender before another data PPDU.
    pub aggregates_unanswered: u64,
    /// Block ACKs sent.
    pub block_acks: u64,
    /// Signal level at the capturing radio.
    pub signal: Levels,
    /// Frames by rate, in kb/s, ascending.
    pub rates: Vec<(u32, u64)>,
    /// Frames by transmit mode, from 802.11n on, in the order of the modes.
    pub modes: Vec<(ModeParameters, u64)>,
    /// The station that it addressed last.
    peer: Option<Mac>,
}

/// Statistics by station.
#[derive(Debug, Default)]
pub(crate) struct AirStatistics {
    pub(crate) stations: Registry<Mac, AirStation>,
    pub(crate) noise: Levels,
    pub(crate) frames: u64,
    /// Frames of stations beyond the limit.
    pub(crate) nameless: u64,
    ampdu: Option<u32>,
    /// Bytes of the PSDU of that A-MPDU seen so far.
    psdu: u32,
    /// The sender of the last A-MPDU and the number of its MPDUs seen, until a block ACK answers it.
    open: Option<(usize, u32)>,
}

impl AirStatistics {
    pub(crate) fn note(&mut self, frame: &WifiFrame<'_>, radio: &RadioInfo) {
        self.frames += 1;
        // ACK and CTS do not name their sender: it is the station that their receiver addressed last.
        let sender = match frame.transmitter {
            Some(transmitter) => Some(transmitter),
            None => self.stations.find(frame.receiver).and_then(|at| self.stations.entries[at].peer),
        };
        if let Some(noise) = radio.noise {
            self.noise.add(noise);
        }
        let first = radio.ampdu.is_none() || radio.ampdu != self.ampdu;
        self.ampdu = radio.ampdu;
        let start = if first { 0 } else { self.psdu };
        let delimiter = if radio.ampdu.is_some() { 4 } else { 0 };
        self.psdu = start.next_multiple_of(4).saturating_add(frame.length).saturating_add(delimiter);
        let psdu = start..self.psdu;
        self.note_aggregate(frame, radio, first, sender);
        let Some(station) = sender.and_then(|sender| self.station(sender)) else {
            self.nameless += 1;
            return;
        };
        if frame.transmitter.is_some() && !frame.receiver.is_group() {
            station.peer = Some(frame.receiver);
        }
        station.frames += 1;
        station.bytes += u64::from(frame.length);
        if frame.sequence.is_some() {
            station.numbered += 1;
            station.retries += u64::from(frame.retry);
        }
        station.data_frames += u64::from(frame.kind == WifiFrameKind::Data);
        station.access_point |= frame.kind == WifiFrameKind::Data && frame.from_ds && !frame.to_ds;
        if let Some(signal) = radio.signal
            && frame.transmitter.is_some()
        {
            station.signal.add(signal);
        }
        let Some(rate) = radio.rate else {
            station.unrated += 1;
            return;
        };
        station.air_time_us += air_time_us(psdu, rate, radio);
        let kbps = (rate.bits_per_second() / 1e3).round() as u32;
        count(&mut station.rates, kbps);
        if let Some(mode) = ModeParameters::of(rate) {
            count(&mut station.modes, mode);
        }
    }

    /// Counts A-MPDUs, and unanswered A-MPDUs.
    fn note_aggregate(&mut self, frame: &WifiFrame<'_>, radio: &RadioInfo, first: bool, sender: Option<Mac>) {
        match frame.kind {
            WifiFrameKind::BlockAck => {
                if let Some((place, _)) = self.open
                    && self.stations.entries[place].address == frame.receiver
                {
                    self.open = None;
                }
                if let Some(station) = sender.and_then(|sender| self.station(sender)) {
                    station.block_acks += 1;
                }
            }
            WifiFrameKind::Data => {
                if first && let Some((place, _)) = self.open.take() {
                    self.stations.entries[place].aggregates_unanswered += 1;
                }
                let Some(sender) = sender.filter(|_| radio.ampdu.is_some()) else { return };
                let Some(station) = self.station(sender) else { return };
                station.aggregates += u64::from(first);
                station.aggregated += 1;
                let place = self.stations.find(sender).expect("it was just counted");
                let seen = match self.open {
                    Some((open, seen)) if open == place && !first => seen + 1,
                    _ => 1,
                };
                self.stations.entries[place].largest_aggregate =
                    self.stations.entries[place].largest_aggregate.max(seen);
                self.open = Some((place, seen));
            }
            _ => {}
        }
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

impl HashKey for Mac {
    fn hash(self) -> u64 {
        mix(self.bits(), 1)
    }
}
