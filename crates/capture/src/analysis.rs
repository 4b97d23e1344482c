//! Analysis of a capture in one pass: all its connections and all 802.11 activity.

use std::collections::BTreeMap;

use wifair_units::{BitRate, Duration};

use crate::air::{AirStation, AirStatistics, Levels};
use crate::datagrams::Datagrams;
use crate::duplicates::{CapturedTwice, Copies, RetryFilter};
use crate::error::{Damage, Error};
use crate::fragments::{Fragments, WholePacket};
use crate::link::radiotap::RadioInfo;
use crate::link::wifi::{Mac, WifiFrame};
use crate::link::{Datagram, DecodeOutcome, LinkType, Sink, decode};
use crate::reader::{CaptureReader, Interface, Record};
use crate::rows::{Rows, SegmentPlace};
use crate::segment::{Address, Endpoint, Payload, Segment, parse};
use crate::tcp::connection::{CapturedConnection, ConnectionKey, Context};
use crate::tcp::side::StationDirection;

/// Which packets to analyse. An empty list accepts everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// One end must be one of these hosts.
    pub hosts: Vec<Address>,
    /// One end must use one of these ports.
    pub ports: Vec<u16>,
    /// The earliest time, counted from the first packet of the capture.
    pub from: Option<Duration>,
    /// The latest time, counted from the first packet of the capture.
    pub to: Option<Duration>,
}

impl Filter {
    /// The part that is analysed of a capture from `first` to `last`.
    fn window(&self, (first, last): (u64, u64)) -> (u64, u64) {
        let at = |time: Option<Duration>| time.map(|time| first.saturating_add(time.as_nanos()));
        (at(self.from).unwrap_or(first), at(self.to).unwrap_or(last).min(last))
    }

    #[inline]
    fn admits_time(&self, nanos: u64) -> bool {
        self.from.is_none_or(|from| nanos >= from.as_nanos()) && self.to.is_none_or(|to| nanos <= to.as_nanos())
    }

    #[inline]
    fn admits(&self, payload: &Payload<'_>) -> bool {
        let ends = match payload {
            Payload::Tcp(segment) => [segment.source, segment.destination],
            Payload::Udp(source, destination, ..) => [*source, *destination],
            Payload::Echo(echo) => [echo.source, echo.destination].map(|address| Endpoint { address, port: 0 }),
            _ => return true,
        };
        (self.hosts.is_empty() || ends.iter().any(|end| self.hosts.contains(&end.address)))
            && (self.ports.is_empty() || ends.iter().any(|end| self.ports.contains(&end.port)))
    }
}

/// Options of an analysis.
#[derive(Clone, Debug, PartialEq)]
pub struct AnalysisOptions {
    /// The pause after which a direction with nothing outstanding begins a new session.
    pub pause: Duration,
    /// Width of the time bins; it is doubled as often as necessary to have at most [`MOST_BINS`]. `None`: 100 ms, and
    /// at most 2048 bins.
    pub bin: Option<Duration>,
    /// Also count copies of packets that a capture contains more than once, as tcptrace does.
    pub keep_copies: bool,
    /// Which packets to analyse.
    pub filter: Filter,
    /// The fair share of each flow; `None` uses the mean of the total that the flows got.
    pub fair_share: Option<BitRate>,
    /// Networks of the stations (address, prefix length): traffic from them is uplink.
    pub local: Vec<(Address, u8)>,
    /// The number of connections kept individually (the largest); the others are counted together.
    pub most_connections: usize,
    /// Keep a row for each segment. Memory use then grows with the capture.
    pub rows: bool,
}

/// The most time bins that a capture is divided into.
pub const MOST_BINS: usize = 1 << 16;
const USUAL_BINS: usize = 2_048;

/// Connections kept individually by default.
pub const USUAL_CONNECTIONS: usize = 10_000;

impl Default for AnalysisOptions {
    fn default() -> Self {
        Self {
            pause: Duration::from_secs(1),
            bin: None,
            keep_copies: false,
            filter: Filter::default(),
            fair_share: None,
            local: Vec::new(),
            most_connections: USUAL_CONNECTIONS,
            rows: false,
        }
    }
}

/// Counts of packets by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// All captured packets.
    pub packets: u64,
    /// Their bytes on the wire.
    pub bytes: u64,
    /// TCP segments analysed.
    pub tcp: u64,
    /// UDP datagrams analysed.
    pub udp: u64,
    /// ICMP echo requests and replies.
    pub echoes: u64,
    /// IP packets of other protocols.
    pub other_ip: u64,
    /// Fragments of IP packets that stayed incomplete.
    pub fragments: u64,
    /// IP packets put together from fragments.
    pub reassembled: u64,
    /// Frames without an IP packet.
    pub not_ip: u64,
    /// Packets too short to analyse as captured.
    pub short: u64,
    /// Packets with contradictory lengths.
    pub malformed: u64,
    /// 802.11 frames with a wrong check sequence.
    pub bad_fcs: u64,
    /// Encrypted 802.11 data frames.
    pub protected: u64,
    /// A-MSDUs whose last packets were not captured.
    pub cut_amsdus: u64,
    /// Copies of segments already seen on another interface or hop.
    pub copies: u64,
    /// 802.11 retries of frames that the capture already contains.
    pub retry_copies: u64,
    /// 802.11 frames that the file contains again: the same bytes with the same time stamp.
    pub captured_twice: u64,
    /// Packets of unsupported link types.
    pub unknown_link: u64,
    /// Segments excluded by the filter.
    pub filtered: u64,
    /// Packets with a time stamp before that of the previous packet.
    pub back_in_time: u64,
}

/// Analyses packets one at a time.
#[derive(Default)]
pub struct Analyzer {
    pub(crate) settings: AnalysisOptions,
    counts: Counts,
    /// The latest connection of each key.
    pub(crate) latest: BTreeMap<ConnectionKey, u32>,
    pub(crate) connections: Vec<CapturedConnection>,
    pub(crate) others: Others,
    /// The connection of the last segment, because the next segment is likely to belong to it.
    pub(crate) recent: Option<u32>,
    /// Time stamps: the first, the latest in file order, and the highest.
    first: Option<u64>,
    last: u64,
    bins: BinClock,
    copies: Copies,
    retries: RetryFilter,
    captured_twice: CapturedTwice,
    air: AirStatistics,
    datagrams: Datagrams,
    fragments: Fragments,
    pub(crate) rows: Option<Rows>,
}

/// Maps times to bins.
#[derive(Clone, Copy, Debug, Default)]
struct BinClock {
    width: u64,
    most: usize,
    bin: usize,
    from: u64,
    to: u64,
}

/// Connections counted together, because there are larger ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Others {
    /// Number of connections. A connection that continues after it was counted here counts again.
    pub connections: u64,
    /// Their segments.
    pub packets: u64,
    /// Their payload in bytes, without retransmissions.
    pub bytes: u64,
}

/// The results for a capture.
pub struct Analysis {
    /// Counts of packets by kind.
    pub counts: Counts,
    /// Time stamps of the first and the last packet of the file, in ns since 1970.
    pub span: Option<(u64, u64)>,
    /// The part of this span that the filter admits; without packets, zero.
    pub(crate) window: (u64, u64),
    /// The interfaces, in the order of the file.
    pub interfaces: Vec<Interface>,
    /// What ended the file early, if anything did.
    pub damage: Option<Damage>,
    /// 802.11 transmitters, in the order in which they were first heard.
    pub stations: Vec<AirStation>,
    /// Noise at the capturing radio.
    pub noise: Levels,
    /// A row for each segment, if requested.
    pub rows: Option<Rows>,
    /// The connections that are not kept individually.
    pub others: Others,
    pub(crate) connections: Vec<CapturedConnection>,
    pub(crate) datagrams: Datagrams,
    pub(crate) bin: u64,
    pub(crate) settings: AnalysisOptions,
    pub(crate) air_frames: u64,
    pub(crate) air_unattributed: u64,
    /// 802.11 frames by frequency in MHz, ascending.
    pub frequencies: Vec<(u16, u64)>,
}

impl Analyzer {
    /// An analyser without packets.
    pub fn new(settings: AnalysisOptions) -> Self {
        let (width, most) = match settings.bin {
            Some(bin) => (bin.as_nanos().max(1), MOST_BINS),
            None => (100_000_000, USUAL_BINS),
        };
        let bins = BinClock { width, most, ..BinClock::default() };
        Self { rows: settings.rows.then(Rows::default), bins, settings, ..Self::default() }
    }

    /// Analyses a packet.
    #[inline]
    pub fn take(&mut self, record: &Record<'_>) {
        self.counts.packets += 1;
        self.counts.bytes += u64::from(record.original);
        let first = *self.first.get_or_insert(record.nanos);
        if self.counts.packets == 1
            && let Some(rows) = &mut self.rows
        {
            rows.origin = first;
        }
        self.counts.back_in_time += u64::from(record.nanos < self.last);
        self.last = record.nanos;
        if !self.settings.filter.admits_time(record.nanos.saturating_sub(first)) {
            self.counts.filtered += 1;
            return;
        }
        if record.link.is_wifi() && !self.settings.keep_copies && self.captured_twice.is_copy(record) {
            self.counts.captured_twice += 1;
            return;
        }
        let (nanos, interface, link) = (record.nanos, record.interface, record.link);
        let mut taker = Taker { analyzer: self, nanos, interface, link, station: None };
        let outcome = decode(record.link, record.data, record.original, &mut taker);
        match outcome {
            DecodeOutcome::Ip => {}
            DecodeOutcome::Other if matches!(record.link, LinkType::Other(_)) => self.counts.unknown_link += 1,
            DecodeOutcome::Other => self.counts.not_ip += 1,
            DecodeOutcome::Malformed => self.counts.short += 1,
            DecodeOutcome::BadFcs => self.counts.bad_fcs += 1,
            DecodeOutcome::Protected => self.counts.protected += 1,
            DecodeOutcome::CutAmsdu => self.counts.cut_amsdus += 1,
        }
    }

    #[inline]
    fn segment(
        &mut self,
        segment: &Segment<'_>,
        nanos: u64,
        interface: u32,
        (way, station): (Option<StationDirection>, Option<Mac>),
    ) {
        // Most segments belong to the same connection as the one before.
        let recent =
            self.recent.and_then(|at| self.connections[at as usize].side_of(segment, interface).map(|s| (at, s)));
        let (at, side) = match recent {
            Some(found) => found,
            None => {
                self.make_room();
                self.look_up(segment, nanos, interface)
            }
        };
        let (at, side) = if self.connections[at as usize].is_over(side, segment, nanos) {
            let (key, swapped) = ConnectionKey::of(segment, interface);
            (self.open(key, swapped, segment, nanos), 0)
        } else {
            (at, side)
        };
        self.recent = Some(at);
        self.counts.tcp += 1;
        if !(self.bins.from..self.bins.to).contains(&nanos) {
            self.turn_bin(nanos);
        }
        let connection = &mut self.connections[at as usize];
        if way.is_some() {
            connection.sides[side].way = way;
            connection.station = connection.station.or(station);
        }
        let context = Context { pause: self.settings.pause.as_nanos(), bin: self.bins.bin };
        let verdict = connection.take(side, segment, nanos, context);
        if let Some(rows) = &mut self.rows {
            let place = SegmentPlace { frame: self.counts.packets, connection: at, side };
            rows.add(place, segment, nanos, &verdict);
        }
    }

    /// Finds the connection of a segment, or creates one, and returns which side sent the segment.
    fn look_up(&mut self, segment: &Segment<'_>, nanos: u64, interface: u32) -> (u32, usize) {
        let (key, swapped) = ConnectionKey::of(segment, interface);
        match self.latest.get(&key) {
            Some(&at) => (at, usize::from(self.connections[at as usize].swapped != swapped)),
            None => (self.open(key, swapped, segment, nanos), 0),
        }
    }

    /// Creates a connection, replacing an older one between the same endpoints.
    #[cold]
    fn open(&mut self, key: ConnectionKey, swapped: bool, segment: &Segment<'_>, nanos: u64) -> u32 {
        let new = u32::try_from(self.connections.len()).expect("a capture has fewer than 2^32 connections");
        self.latest.insert(key, new);
        self.connections.push(CapturedConnection::new(key, swapped, segment, nanos));
        new
    }

    /// Finds the bin of a time outside the current bin.
    #[cold]
    fn turn_bin(&mut self, nanos: u64) {
        let origin = self.first.unwrap_or(nanos);
        let since = nanos.saturating_sub(origin);
        while since / self.bins.width >= self.bins.most as u64
            || self.bound_bins((since / self.bins.width) as usize + 1)
        {
            self.bins.width *= 2;
            for side in self.connections.iter_mut().flat_map(|connection| &mut connection.sides) {
                side.bins.halve();
            }
        }
        let bin = since / self.bins.width;
        self.bins.bin = bin as usize;
        self.bins.from = if bin == 0 { 0 } else { origin + bin * self.bins.width };
        self.bins.to = origin.saturating_add((bin + 1).saturating_mul(self.bins.width));
    }

    /// Ends the analysis.
    pub fn finish(mut self, interfaces: Vec<Interface>, damage: Option<Damage>) -> Analysis {
        for packet in self.fragments.finish() {
            let mut taker = Taker { analyzer: &mut self, nanos: 0, interface: 0, link: LinkType::RawIp, station: None };
            taker.whole(&packet, None);
        }
        (self.counts.fragments, self.counts.reassembled) = (self.fragments.left_out, self.fragments.whole);
        self.keep(self.settings.most_connections.max(1), &[]);
        let span = self.first.map(|first| (first, self.last));
        let window = span.map_or((0, 0), |span| self.settings.filter.window(span));
        // Flows may be active until the end, so the bins must reach that far.
        self.turn_bin(window.1);
        for connection in &mut self.connections {
            connection.finish(window.1);
        }
        let stations = self.air.finish();
        self.counts.copies = self.copies.dropped;
        self.counts.retry_copies = self.retries.dropped;
        Analysis {
            counts: self.counts,
            span,
            window,
            interfaces,
            damage,
            stations,
            noise: self.air.noise,
            rows: self.rows,
            others: self.others,
            connections: self.connections,
            datagrams: self.datagrams,
            bin: self.bins.width,
            settings: self.settings,
            air_frames: self.air.frames,
            air_unattributed: self.air.unattributed,
            frequencies: std::mem::take(&mut self.air.frequencies),
        }
    }
}

/// Handles the contents of one record.
struct Taker<'b> {
    analyzer: &'b mut Analyzer,
    nanos: u64,
    interface: u32,
    link: LinkType,
    /// The station of the frame: its transmitter, or its receiver if an access point sent it.
    station: Option<Mac>,
}

impl Taker<'_> {
    /// The direction, from the bits To DS and From DS of 802.11 frames.
    #[inline]
    fn way(&self, datagram: &Datagram<'_>) -> Option<StationDirection> {
        match (self.link.is_wifi(), datagram.place) {
            (true, 1) => Some(StationDirection::Up),
            (true, 2) => Some(StationDirection::Down),
            _ => None,
        }
    }
}

impl<'a> Sink<'a> for Taker<'_> {
    fn frame(&mut self, frame: &WifiFrame<'a>, radio: &RadioInfo) -> bool {
        self.station = if frame.from_ds { Some(frame.receiver) } else { frame.transmitter };
        self.analyzer.air.note(frame, radio, self.interface, self.nanos);
        self.analyzer.settings.keep_copies || !self.analyzer.retries.is_copy(frame)
    }

    #[inline]
    fn datagram(&mut self, datagram: &Datagram<'a>) {
        let way = self.way(datagram);
        match parse(datagram) {
            Payload::Fragment(part) => {
                let at = (self.nanos, self.interface, datagram.place);
                for packet in self.analyzer.fragments.take(&part, at) {
                    self.whole(&packet, way);
                }
            }
            payload => self.payload(&payload, datagram.place, way),
        }
    }
}

impl Taker<'_> {
    /// Analyses a packet that was put together from fragments.
    #[cold]
    fn whole(&mut self, packet: &WholePacket, way: Option<StationDirection>) {
        let datagram = Datagram { bytes: &packet.bytes, original: packet.length, place: packet.place };
        let mut payload = parse(&datagram);
        if let Payload::Tcp(segment) = &mut payload {
            segment.missing = packet.length - packet.captured;
        }
        (self.nanos, self.interface) = (packet.nanos, packet.interface);
        self.payload(&payload, packet.place, way);
    }

    #[inline]
    fn payload(&mut self, payload: &Payload<'_>, place: u32, way: Option<StationDirection>) {
        let analyzer = &mut *self.analyzer;
        if !analyzer.settings.filter.admits(payload) {
            analyzer.counts.filtered += 1;
            return;
        }
        match payload {
            Payload::Tcp(segment) => {
                if self.link.repeats()
                    && !analyzer.settings.keep_copies
                    && analyzer.copies.is_copy(segment, self.nanos, place)
                {
                    return;
                }
                let station = self.station.filter(|_| way.is_some());
                analyzer.segment(segment, self.nanos, self.interface, (way, station));
            }
            Payload::Udp(source, destination, payload, bytes) => {
                analyzer.counts.udp += 1;
                let at = (self.nanos, self.interface);
                analyzer.datagrams.take([*source, *destination], *payload, bytes, at, way);
            }
            Payload::Echo(echo) => {
                analyzer.counts.echoes += 1;
                analyzer.datagrams.take_echo(echo, self.nanos, self.interface);
            }
            Payload::Other(protocol) => {
                analyzer.counts.other_ip += 1;
                *analyzer.datagrams.protocols.entry(*protocol).or_default() += 1;
            }
            // A packet put together is not in fragments, unless there are fragments in it again.
            Payload::Fragment(_) => analyzer.counts.malformed += 1,
            Payload::Short => analyzer.counts.short += 1,
            Payload::Malformed => analyzer.counts.malformed += 1,
        }
    }
}

/// Analyses a whole capture. `progress` is called from time to time with the number of (decompressed) bytes and of
/// packets read; if it returns false the analysis ends there.
///
/// # Errors
/// Those of [`CaptureReader::new`] and [`CaptureReader::next`]; and if there are packets, but none of a supported link
/// type.
pub fn analyze<'a>(
    source: impl std::io::Read + Send + 'a,
    settings: AnalysisOptions,
    mut progress: impl FnMut(u64, u64) -> bool,
) -> Result<Analysis, Error> {
    /// Packets between two progress reports: some milliseconds of work.
    const OFTEN: u64 = 1 << 15;
    let mut reader = CaptureReader::new(source)?;
    let mut analyzer = Analyzer::new(settings);
    let mut count = 0;
    while let Some(record) = reader.next()? {
        analyzer.take(&record);
        count += 1;
        if count % OFTEN == 0 && !progress(reader.offset(), count) {
            break;
        }
    }
    if analyzer.counts.unknown_link == count && count > 0 {
        let number = reader.interfaces().first().map_or(0, |interface| u32::from(interface.link.number()));
        return Err(Error::LinkType { number });
    }
    Ok(analyzer.finish(reader.interfaces().to_vec(), reader.damage().cloned()))
}
