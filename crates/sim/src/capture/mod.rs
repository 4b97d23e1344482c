//! Captures of a run in standard formats, readable by any capture tool.
//!
//! A capture point is a host at the end of flows, a router, the wired interface of the access point, its radio, or a
//! sniffer in the air that receives what any station could have read. At a host the capture point lies between TCP and
//! the queue of the interface: a packet is stamped with the time at which the sender passes it down, and appears even
//! if the queue drops it. A router or station that forwards a packet shows it once, when it leaves. The wired interface
//! of the access point shows packets towards the air as they arrive, before a scheme has changed them, and packets from
//! the air as they leave.
//!
//! Addresses, ports and initial sequence numbers are synthetic, see [`Headers`](headers); lengths are those of real
//! headers, so a captured frame is longer than the simulated one if the scenario counts fewer bytes (`tcp.header`,
//! `wlan.llc_overhead`, SYN options). Shorter frames are padded. There are no management frames in the air, because the
//! simulator has none.

mod aggregates;
mod air;
mod capture_points;
mod frame_log;
mod headers;

use std::io::{self, Write};

use wifair_capture::{LinkType, PcapWriter, PcapngWriter, frame};
use wifair_mac::{FrameKind, Tap};
use wifair_units::Time;

use crate::scenario::{Node, Scenario};
use crate::world::{WatchPlan, World};

use aggregates::Aggregates;
use air::{Listener, OpenFrames};
use capture_points::PointPlace;
pub use capture_points::{CapturePoints, MOST_POINTS};
pub use frame_log::{BackoffRow, FrameLog, FrameRow};
pub use headers::FLAGS;
use headers::{FrameContext, Headers};

/// Time zero of a run in captures: 1 January 2000, in ns since 1970. Some readers take a time of zero for "never".
pub const EPOCH: u64 = 946_684_800_000_000_000;

/// The file format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// pcap with stamps in nanoseconds.
    #[default]
    Pcap,
    /// pcapng.
    Pcapng,
}

impl Format {
    /// The file name extension.
    pub const fn ending(self) -> &'static str {
        match self {
            Self::Pcap => "pcap",
            Self::Pcapng => "pcapng",
        }
    }
}

/// An error writing a file.
#[derive(Debug)]
pub struct WriteError {
    /// Name of the file.
    pub file: String,
    /// The cause.
    pub error: io::Error,
}

#[derive(Debug)]
enum Writer<W: Write> {
    Pcap(PcapWriter<W>),
    Pcapng(PcapngWriter<W>),
}

#[derive(Debug)]
struct File<W: Write> {
    name: String,
    writer: Writer<W>,
}

impl<W: Write> File<W> {
    fn write(&mut self, time: Time, original: usize, data: &[u8]) -> Result<(), WriteError> {
        let nanos = EPOCH + time.as_nanos();
        let original = u32::try_from(original).expect("a frame is short");
        let done = match &mut self.writer {
            Writer::Pcap(file) => file.write(nanos, original, data),
            Writer::Pcapng(file) => file.write(0, nanos, original, data),
        };
        done.map_err(|error| WriteError { file: self.name.clone(), error })
    }
}

/// Writes captures of a run while it proceeds. Memory does not grow with its length if [`CaptureWriter::drain`] is
/// called often.
#[derive(Debug)]
pub struct CaptureWriter<W: Write> {
    points: CapturePoints,
    headers: Headers,
    files: Vec<File<W>>,
    /// The file for packets before each hop as they arrive, and (below) as they leave.
    arrivals: Vec<Option<u16>>,
    departures: Vec<Option<u16>>,
    /// The files of the air: file, channel, and which frames each captures.
    air: Vec<(usize, usize, Listener)>,
    retries: Vec<Vec<OpenFrames>>,
    aggregates: Vec<Aggregates>,
    snap: u32,
    buffer: Vec<u8>,
}

impl<W: Write> CaptureWriter<W> {
    /// Begins captures of a run in whose `world` nothing has happened yet. Keeps `snap` bytes of each packet; `open`
    /// creates a file. The caller must pass [`CaptureWriter::plan`] to the world.
    ///
    /// # Errors
    /// If a file cannot be created or written.
    pub fn new(
        scenario: &Scenario,
        seed: u64,
        world: &World,
        points: CapturePoints,
        format: Format,
        snap: u32,
        mut open: impl FnMut(&str) -> io::Result<W>,
    ) -> Result<Self, WriteError> {
        let headers = Headers::new(scenario, seed, world);
        let mut files = vec![];
        let mut air = vec![];
        for (name, place) in points.list() {
            let file = format!("{name}.{}", format.ending());
            let link = match place {
                PointPlace::Air(_) | PointPlace::Radio(_) => LinkType::Radiotap,
                _ => LinkType::Ethernet,
            };
            match place {
                PointPlace::Air(channel) => air.push((files.len(), *channel, Listener::Anywhere)),
                PointPlace::Radio(node) => {
                    for (channel, nodes) in headers.channels().iter().enumerate() {
                        let numbers = (0..).zip(nodes).filter(|(_, other)| *other == node);
                        air.extend(numbers.map(|(number, _)| (files.len(), channel, Listener::Ap(number))));
                    }
                }
                _ => {}
            }
            let made = open(&file).and_then(|sink| {
                Ok(match format {
                    Format::Pcap => Writer::Pcap(PcapWriter::new(sink, link, snap)?),
                    Format::Pcapng => {
                        let mut writer = PcapngWriter::new(sink)?;
                        writer.interface(name, link, snap)?;
                        Writer::Pcapng(writer)
                    }
                })
            });
            match made {
                Ok(writer) => files.push(File { name: file, writer }),
                Err(error) => return Err(WriteError { file, error }),
            }
        }
        let arrivals = points.at_hops(&headers, world.hops(), false);
        let departures = points.at_hops(&headers, world.hops(), true);
        let retries = headers.channels().iter().map(|nodes| vec![OpenFrames::default(); nodes.len()]).collect();
        let bits = |node: &Node| {
            let Some(wlan) = scenario.file.wlan.as_ref().filter(|wlan| wlan.standard.has_mcs()) else { return 64 };
            let own = scenario.group_of(*node).and_then(|group| group.standard);
            // A block ACK has 24 bytes in addition to its bitmap (IEEE Std 802.11-2016, 9.3.1.9).
            let length = wlan.aggregation_rules(own.unwrap_or(wlan.standard)).block_ack();
            u16::try_from((length.0 - 24) * 8).expect("bitmaps are short")
        };
        let timeout = scenario.file.wlan.as_ref().and_then(|wlan| wlan.aggregation.inactivity_timeout);
        let aggregates =
            headers.channels().iter().map(|nodes| Aggregates::new(nodes.iter().map(bits).collect(), timeout));
        let aggregates = aggregates.collect();
        Ok(Self { points, headers, files, arrivals, departures, air, retries, aggregates, snap, buffer: vec![] })
    }

    /// What the world must record.
    pub fn plan(&self) -> WatchPlan {
        let marks = |files: &[Option<u16>]| files.iter().map(Option::is_some).collect();
        WatchPlan { arrivals: marks(&self.arrivals), departures: marks(&self.departures), air: !self.air.is_empty() }
    }

    /// Addresses and names of hosts, in the format of `/etc/hosts`.
    pub fn hosts(&self) -> String {
        self.headers.hosts()
    }

    /// Stores the bytes of a real program's packet under its number, until another packet gets that number.
    pub fn store_packet(&mut self, number: u32, bytes: &[u8]) {
        self.headers.store_packet(number, bytes);
    }

    /// Writes what was seen since the last call. The caller then clears it with [`World::clear_watch`].
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn drain(&mut self, world: &World) -> Result<(), WriteError> {
        for sighting in world.sightings() {
            let hop = sighting.packet.hop as usize;
            let files = if sighting.departs { &self.departures } else { &self.arrivals };
            let Some(file) = files[hop] else { continue };
            self.buffer.clear();
            let at_wire = self.points.is_wires(usize::from(file));
            let (destination, source) = self.headers.ethernet(sighting, at_wire);
            frame::ethernet(&mut self.buffer, destination, source, self.headers.is_v6(&sighting.stamp));
            let ttl = self.headers.ttl(hop, &sighting.stamp, sighting.departs);
            let rest = self.snap.saturating_sub(14);
            if let Some(length) = self.headers.packet(&mut self.buffer, &sighting.packet, &sighting.stamp, ttl, rest) {
                self.files[usize::from(file)].write(sighting.time, 14 + length, &self.buffer)?;
            }
        }
        if self.air.is_empty() {
            return Ok(());
        }
        for (channel, ((tap, stamps), further)) in world.aired().zip(world.aired_further()).enumerate() {
            let retries = &mut self.retries[channel];
            for (record, stamp) in tap.frames().iter().zip(stamps) {
                let hearers = tap.hearers(record);
                let aggregates = &mut self.aggregates[channel];
                let known = match record.kind {
                    FrameKind::Data if record.sequence.is_some() => {
                        let packets = tap.further_packets(record).iter().map(|(_, packet)| *packet);
                        let stamps = further[Tap::further_places(record)].iter().copied();
                        aggregates.register(record, *stamp, packets.zip(stamps))
                    }
                    _ => retries[record.from as usize].register(record, *stamp),
                };
                let context = FrameContext {
                    known,
                    acknowledged: aggregates.note(record),
                    agreement: aggregates.agreement(record),
                };
                self.buffer.clear();
                let length = self.headers.air_frame(&mut self.buffer, channel, record, &context, self.snap);
                for (file, of, listener) in &self.air {
                    if let Some(length) = length
                        && *of == channel
                        && listener.captures(record, hearers)
                    {
                        self.files[*file].write(record.end, length, &self.buffer)?;
                    }
                }
                air::end_retries(retries, record);
            }
        }
        Ok(())
    }

    /// Ends the files and returns them with their names.
    ///
    /// # Errors
    /// If buffered data cannot be written.
    pub fn finish(self) -> Result<Vec<(String, W)>, WriteError> {
        let end = |File { name, writer }| {
            let done = match writer {
                Writer::Pcap(file) => file.finish(),
                Writer::Pcapng(file) => file.finish(),
            };
            done.map(|sink| (name.clone(), sink)).map_err(|error| WriteError { file: name, error })
        };
        self.files.into_iter().map(end).collect()
    }
}
