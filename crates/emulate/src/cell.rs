//! A running simulation that carries the packets of real programs.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::BufWriter;
use std::net::{IpAddr, Ipv6Addr};

use wifair_capture::{Address, Analysis, Analyzer, LinkType, Record, addresses, adjust};
use wifair_mac::{AccessCategory, DscpMapping};
use wifair_packet::{Packet, flag};
use wifair_sim::capture::{CaptureWriter, EPOCH, FrameLog, WriteError};
use wifair_sim::scenario::Scenario;
use wifair_sim::world::{Loss, RealPacket, WatchPlan};
use wifair_sim::{Host, Run, RunOptions};
use wifair_units::{Duration, Time};

use crate::flows::{RealConnections, dscp, is_ect1};

/// Longest IP packet: an MSDU (IEEE Std 802.11-2020, table 9-25) without its LLC and SNAP.
pub const LONGEST_PACKET: usize = 2296;
/// Packet numbers are reused only after this many were assigned, in the order in which they became free.
const NUMBERS: usize = 8192;

/// Options of an emulation.
#[derive(Debug)]
pub struct EmulationOptions {
    /// Seed of the simulation.
    pub seed: u64,
    /// Whether the scenario's own flows are simulated as well.
    pub flows: bool,
    /// Interval between samples of the series.
    pub sample_every: Option<Duration>,
}

/// Why a packet was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Its headers are truncated or contradict each other.
    Malformed,
    /// It does not fit into a frame.
    TooLong,
    /// Its destination is a multicast or broadcast address.
    Multicast,
    /// No host has its destination address, or no path leads there.
    UnknownDestination,
    /// Its source address belongs to another host.
    ForeignSource,
}

/// Counts of the packets of real programs, by outcome.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PacketCounts {
    /// Packets that programs sent.
    pub sent: u64,
    /// Packets that arrived.
    pub delivered: u64,
    /// Packets lost, by location, in the order of [`Loss::NAMES`].
    pub lost: [u64; Loss::COUNT],
    /// Packets marked with "congestion experienced" by the simulation.
    pub marked: u64,
    /// Segments whose window a scheme changed.
    pub windows_changed: u64,
    /// Packets refused, by [`Refusal`].
    pub refused: [u64; 5],
}

impl PacketCounts {
    /// Names of the entries of [`PacketCounts::refused`].
    pub const REFUSALS: [&'static str; 5] =
        ["malformed", "too_long", "multicast", "unknown_destination", "foreign_source"];
}

/// A packet in transit, or one whose number is not reused yet.
#[derive(Clone, Debug, Default)]
struct PacketSlot {
    bytes: Vec<u8>,
    to: usize,
    window: u16,
    flags: u8,
}

impl PacketSlot {
    /// Writes the bytes of the packet with the window and the ECN mark that the simulation gave `packet`.
    fn write(&self, packet: &Packet, to: &mut Vec<u8>) {
        to.clear();
        to.extend_from_slice(&self.bytes);
        if packet.window != self.window {
            adjust::set_window(to, packet.window);
        }
        if packet.flags & !self.flags & flag::CE != 0 {
            adjust::mark_congestion(to);
        }
    }
}

/// A packet that arrived or was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery<'a> {
    /// When it arrived or was lost, in simulated time.
    pub time: Time,
    /// The destination host.
    pub to: usize,
    /// The packet as it arrived, or as it was sent if it was lost.
    pub bytes: &'a [u8],
    /// Where it was lost; `None` if it arrived.
    pub lost: Option<Loss>,
}

/// A simulation that carries packets of real programs and returns them when they arrive.
pub struct EmulatedCell {
    run: Run,
    end: Time,
    flows: RealConnections,
    mapping: Option<DscpMapping>,
    hosts: Vec<Host>,
    owners: BTreeMap<Address, usize>,
    slots: Vec<PacketSlot>,
    free: VecDeque<u32>,
    buffer: Vec<u8>,
    counts: PacketCounts,
    analyzer: Option<Analyzer>,
    /// The hops at access points, where connections are analysed: those of arrivals, and those of departures.
    at_ap: (Vec<bool>, Vec<bool>),
    capture: Option<CaptureWriter<BufWriter<File>>>,
    frames: Option<FrameLog>,
    failure: Option<WriteError>,
}

impl EmulatedCell {
    /// An emulation of `scenario` at time zero.
    pub fn new(scenario: &Scenario, settings: &EmulationOptions) -> Self {
        let options = RunOptions {
            sample_every: settings.sample_every,
            real_programs: true,
            flows: settings.flows,
            ..RunOptions::default()
        };
        let mut run = Run::new(scenario, settings.seed, &options);
        let hosts = run.hosts().list().to_vec();
        let mut owners = BTreeMap::new();
        for (index, host) in hosts.iter().enumerate() {
            owners.insert(Address::from(IpAddr::V4(host.address)), index);
            owners.insert(Address::from(IpAddr::V6(v6_of(host))), index);
        }
        let at_ap = run.world().hops_at_access_points();
        let wlan = scenario.file.wlan.as_ref();
        Self {
            end: run.end(),
            run,
            flows: RealConnections::default(),
            mapping: wlan.filter(|wlan| wlan.standard.has_mcs()).map(|wlan| wlan.dscp_mapping),
            hosts,
            owners,
            slots: vec![],
            free: VecDeque::new(),
            buffer: vec![],
            counts: PacketCounts::default(),
            analyzer: Some(Analyzer::new(wifair_capture::AnalysisOptions {
                local: vec![(Address::v4(0x0a10_0000), 12)],
                ..wifair_capture::AnalysisOptions::default()
            })),
            at_ap,
            capture: None,
            frames: None,
            failure: None,
        }
    }

    /// The run; captures need it before [`EmulatedCell::begin`].
    pub fn run(&mut self) -> &mut Run {
        &mut self.run
    }

    /// Starts the emulation, and starts writing to the captures and frame records given.
    pub fn begin(&mut self, capture: Option<CaptureWriter<BufWriter<File>>>, frames: Option<FrameLog>) {
        let mut plan = capture.as_ref().map(CaptureWriter::plan).unwrap_or_default();
        let join = |marks: &mut Vec<bool>, more: &[bool]| {
            marks.resize(more.len(), false);
            marks.iter_mut().zip(more).for_each(|(mark, more)| *mark |= more);
        };
        join(&mut plan.arrivals, &self.at_ap.0);
        join(&mut plan.departures, &self.at_ap.1);
        self.run.world().watch(WatchPlan { air: plan.air || frames.is_some(), ..plan });
        (self.capture, self.frames) = (capture, frames);
    }

    /// The hosts: stations and servers.
    pub fn hosts(&self) -> &[Host] {
        &self.hosts
    }

    /// The current simulated time.
    pub fn now(&self) -> Time {
        self.run.now()
    }

    /// The simulated time at which the run ends.
    pub fn end(&self) -> Time {
        self.end
    }

    /// The time of the next event.
    pub fn next_event(&mut self) -> Time {
        self.run.world().next()
    }

    /// Packet counts so far.
    pub fn counts(&self) -> &PacketCounts {
        &self.counts
    }

    /// The error of a capture that could not be written.
    pub fn failure(&self) -> Option<&WriteError> {
        self.failure.as_ref()
    }

    /// Packets in transit.
    pub fn under_way(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Processes all events up to and including `until`, but none after the end of the run.
    pub fn run_until(&mut self, until: Time) {
        self.run.advance(until);
        self.look();
    }

    /// Passes packets seen at access points to the analysis, and drains captures and frame records.
    fn look(&mut self) {
        let world = self.run.world();
        for sighting in world.sightings() {
            let hop = sighting.packet.hop as usize;
            let wanted = if sighting.departs { &self.at_ap.1 } else { &self.at_ap.0 };
            if wanted[hop]
                && let (Some(number), Some(analyzer)) = (sighting.stamp.real, &mut self.analyzer)
            {
                let slot = &self.slots[number as usize];
                slot.write(&sighting.packet, &mut self.buffer);
                analyzer.take(&Record {
                    nanos: EPOCH + sighting.time.as_nanos(),
                    interface: 0,
                    link: LinkType::RawIp,
                    original: u32::try_from(self.buffer.len()).unwrap_or(u32::MAX),
                    data: &self.buffer,
                });
            }
        }
        if let Some(capture) = &mut self.capture
            && let Err(error) = capture.drain(world)
        {
            (self.failure, self.capture) = (Some(error), None);
        }
        if let Some(frames) = &mut self.frames {
            frames.drain(world);
        }
        world.clear_watch();
    }

    /// Injects a packet that a program at host `from` sends now.
    ///
    /// # Errors
    /// If the simulation cannot carry it; [`PacketCounts::refused`] counts it.
    pub fn inject(&mut self, from: usize, bytes: &[u8]) -> Result<(), Refusal> {
        self.counts.sent += 1;
        let done = self.accept(from, bytes);
        if let Err(refusal) = done {
            self.counts.refused[refusal as usize] += 1;
        }
        done
    }

    fn accept(&mut self, from: usize, bytes: &[u8]) -> Result<(), Refusal> {
        let [source, destination] = addresses(bytes).ok_or(Refusal::Malformed)?;
        if length(bytes) != bytes.len() {
            return Err(Refusal::Malformed);
        }
        if bytes.len() > LONGEST_PACKET {
            return Err(Refusal::TooLong);
        }
        if is_for_many(destination.into()) {
            return Err(Refusal::Multicast);
        }
        let to = *self.owners.get(&destination).ok_or(Refusal::UnknownDestination)?;
        let (path, reverse) = self.run.hosts().path(from, to).ok_or(Refusal::UnknownDestination)?;
        if self.owners.get(&source) != Some(&from) {
            return Err(Refusal::ForeignSource);
        }
        let category = self.mapping.map_or(AccessCategory::Be, |mapping| mapping.category(dscp(bytes)));
        let world = self.run.world();
        let seen = self.flows.see(world, path, category.index(), bytes).map_err(|_| Refusal::Malformed)?;
        let number = if self.slots.len() < NUMBERS { None } else { self.free.pop_front() };
        let number = number.unwrap_or_else(|| {
            self.slots.push(PacketSlot::default());
            u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 packets are in transit")
        });
        let slot = &mut self.slots[number as usize];
        slot.bytes.clear();
        slot.bytes.extend_from_slice(bytes);
        (slot.to, slot.window, slot.flags) = (to, seen.packet.window, seen.packet.flags);
        if let Some(capture) = &mut self.capture {
            capture.store_packet(number, bytes);
        }
        let real = RealPacket { number, tcp: seen.tcp, ect1: is_ect1(bytes) };
        world.inject(seen.connection, reverse, seen.packet, real);
        Ok(())
    }

    /// Returns the next packet that arrived or was lost, in order of time.
    pub fn collect(&mut self) -> Option<Delivery<'_>> {
        let carried = self.run.world().collect()?;
        let slot = &self.slots[carried.number as usize];
        self.free.push_back(carried.number);
        if let Some(loss) = carried.lost {
            self.counts.lost[loss as usize] += 1;
        } else {
            self.counts.delivered += 1;
            self.counts.marked += u64::from(carried.packet.flags & !slot.flags & flag::CE != 0);
            self.counts.windows_changed += u64::from(carried.packet.window != slot.window);
        }
        slot.write(&carried.packet, &mut self.buffer);
        Some(Delivery { time: carried.time, to: slot.to, bytes: &self.buffer, lost: carried.lost })
    }

    /// Ends the captures, the frame records and the analysis of connections, and returns them.
    pub fn finish(&mut self) -> Finished {
        self.look();
        let analyzer = self.analyzer.take();
        Finished {
            connections: analyzer.map(|analyzer| analyzer.finish(vec![], None)),
            capture: self.capture.take(),
            frames: self.frames.take(),
        }
    }
}

/// The results of an emulation.
pub struct Finished {
    /// Analysis of the real programs' connections, as seen at the access points.
    pub connections: Option<Analysis>,
    /// Captures whose files the caller has to close.
    pub capture: Option<CaptureWriter<BufWriter<File>>>,
    /// The recorded frames.
    pub frames: Option<FrameLog>,
}

/// The length of an IP packet by its header.
fn length(bytes: &[u8]) -> usize {
    let word = |at: usize| usize::from(u16::from_be_bytes([bytes[at], bytes[at + 1]]));
    if bytes[0] >> 4 == 6 { 40 + word(4) } else { word(2) }
}

fn is_for_many(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.is_multicast() || v4.is_broadcast() || v4.octets()[1..] == [255, 255, 255],
        IpAddr::V6(v6) => v6.is_multicast(),
    }
}

/// The IPv6 address of a host: a unique local address (RFC 4193) that ends with the bits of its IPv4 address.
pub fn v6_of(host: &Host) -> Ipv6Addr {
    let [a, b] = [host.address.to_bits() >> 16, host.address.to_bits() & 0xffff].map(|word| word as u16);
    Ipv6Addr::new(0xfd77, 0x6966, 0x6169, 0x7200, 0, 0, a, b)
}
