//! Frames and backoffs of a run as columns: who sent what to whom and when, who received it, and why it was lost.

use wifair_mac::{BROADCAST, Fate, FrameKind, FrameRecord, Hearer, Tap};
use wifair_packet::Kind;
use wifair_units::Time;

use crate::build::{channel_numbers, nodes_by_channel};
use crate::record::row;
use crate::scenario::{Node, Scenario};
use crate::world::{Stamp, World};

row! {
    /// A frame on the air.
    pub struct FrameRow {
        /// Start of the frame [s].
        pub start_s: f64,
        /// End of the frame [s].
        pub end_s: f64,
        /// `data`, `ack`, `rts`, `cts`, `block-ack`, `block-ack-request`, `addba-request`, `addba-response`,
        /// `delba` or `cf-end`; a cts addressed to its own sender is a CTS-to-self.
        pub kind: String,
        /// The sender.
        pub sender: String,
        /// The receiver; `*` for a broadcast.
        pub receiver: String,
        /// Rate [bit/s].
        pub rate_bps: f64,
        /// Length from the MAC header to the FCS [bytes].
        pub length_bytes: u64,
        /// How long its duration field reserves the channel after its end [s].
        pub nav_s: f64,
        /// 1 for a retry of data.
        pub retry: u64,
        /// Primary channel of the sender, as in `ap.channels`; 1 in an ad-hoc network.
        pub channel: u64,
        /// Number of the A-MPDU among the PPDUs of its channel, from 1, with one row for each MPDU; 0 for other frames.
        pub ppdu: u64,
        /// Number of MPDUs in the A-MPDU; 0 for other frames.
        pub mpdus: u64,
        /// Sequence number of the MPDU, 0 to 4095; 0 for frames other than data, and before 802.11n.
        pub sequence: u64,
        /// Number of packets in a data frame, more than one in an A-MSDU; 0 for other frames.
        pub msdus: u64,
        /// Outcome at its receiver: `received`, `collision`, `error` (bits, or too weak), `unheard`.
        pub fate: String,
        /// Flow of the packet that it carries.
        pub flow: String,
        /// Its contents, for an A-MSDU the first packet: `data` or `ack` of TCP, `udp`, `icmp`, `routing`; empty if the
        /// receiver already had it.
        pub packet: String,
        /// Offset of the packet's first byte in its stream; for an ACK, the offset that it acknowledges.
        pub seq: u64,
        /// Payload of the packet [bytes].
        pub payload_bytes: u64,
        /// Stations other than its receiver that could read it; `*` for all others.
        pub read_by: String,
        /// Stations in `read_by` that have two NAVs (802.11ax and be) and for which it is a frame of another BSS: it
        /// sets or, if it is a CF-End, ends their basic NAV, and at all other readers the intra-BSS or only NAV.
        pub inter_bss_at: String,
        /// Stations that sensed it but could not read it, or did not notice it, with the reason; `*` for all others.
        pub spoilt_at: String,
    }
}

row! {
    /// A period of idle slots that a station counted while it had a packet to send.
    pub struct BackoffRow {
        /// The station.
        pub station: String,
        /// Start of the period [s].
        pub start_s: f64,
        /// End of the period, when this station or another one sends [s].
        pub end_s: f64,
    }
}

/// Collects the frames and backoffs that overlap an interval.
#[derive(Clone, Debug)]
pub struct FrameLog {
    from: Time,
    to: Time,
    stations: Vec<Vec<String>>,
    channels: Vec<Vec<u32>>,
    flows: Vec<String>,
    frames: Vec<FrameRow>,
    backoffs: Vec<BackoffRow>,
}

const fn name_of(fate: Fate) -> &'static str {
    match fate {
        Fate::Read => "received",
        Fate::Collision => "collision",
        Fate::Error => "error",
        Fate::Deaf => "unheard",
    }
}

/// Memory of the names in a row, each a separate string [B].
const NAMES: usize = 200;

impl FrameLog {
    /// Memory of its rows [B].
    pub fn bytes(&self) -> usize {
        self.frames.capacity() * (size_of::<FrameRow>() + NAMES)
            + self.backoffs.capacity() * (size_of::<BackoffRow>() + NAMES)
    }

    /// A log of the run of `scenario` with this seed, from `from` to `to`.
    pub fn new(scenario: &Scenario, seed: u64, from: Time, to: Time) -> Self {
        let names = |nodes: Vec<Node>| nodes.into_iter().map(|node| scenario.name_of(node)).collect();
        Self {
            from,
            to,
            stations: nodes_by_channel(scenario, seed).into_iter().map(names).collect(),
            channels: channel_numbers(scenario, seed),
            flows: scenario.network.flows.iter().map(|flow| flow.name.clone()).collect(),
            frames: vec![],
            backoffs: vec![],
        }
    }

    /// The frames, in the order of their ends.
    pub fn frames(&self) -> &[FrameRow] {
        &self.frames
    }

    /// The backoffs.
    pub fn backoffs(&self) -> &[BackoffRow] {
        &self.backoffs
    }

    /// Records what was seen since the last call.
    pub fn drain(&mut self, world: &World) {
        let nodes = self.stations.iter().zip(&self.channels);
        for ((stations, channels), (tap, stamps)) in nodes.zip(world.aired()) {
            for (record, stamp) in tap.frames().iter().zip(stamps) {
                if record.start < self.to && record.end > self.from {
                    let row = frame(stations, &self.flows, tap, record, *stamp);
                    self.frames.push(FrameRow { channel: channels[record.from as usize].into(), ..row });
                }
            }
            for backoff in tap.backoffs().iter().filter(|one| one.from < self.to && one.until > self.from) {
                self.backoffs.push(BackoffRow {
                    station: stations[backoff.station as usize].clone(),
                    start_s: backoff.from.nearest_secs(),
                    end_s: backoff.until.nearest_secs(),
                });
            }
        }
    }
}

fn frame(stations: &[String], flows: &[String], tap: &Tap, record: &FrameRecord, stamp: Option<Stamp>) -> FrameRow {
    let name = |station: u32| match station {
        BROADCAST => "*".to_owned(),
        station => stations[station as usize].clone(),
    };
    let names = |hearers: &mut dyn Iterator<Item = &Hearer>| {
        hearers.map(|hearer| name(hearer.station)).collect::<Vec<_>>().join(" ")
    };
    let (read_by, inter_bss_at, spoilt_at) = match tap.hearers(record) {
        Some(hearers) => {
            let readers = || hearers.iter().filter(|one| one.station != record.to && one.fate == Fate::Read);
            let spoilt: Vec<String> = hearers
                .iter()
                .filter(|one| one.fate != Fate::Read)
                .map(|one| format!("{}:{}", name(one.station), name_of(one.fate)))
                .collect();
            (names(&mut readers()), names(&mut readers().filter(|one| one.is_inter_bss)), spoilt.join(" "))
        }
        None => {
            let (read_by, spoilt_at) = match record.fate {
                Fate::Collision => ("", "*:collision".to_owned()),
                Fate::Read => ("*", String::new()),
                fate => ("*", format!("{}:{}", name(record.to), name_of(fate))),
            };
            (read_by.to_owned(), String::new(), spoilt_at)
        }
    };
    let packet = record.packet.as_ref();
    FrameRow {
        start_s: record.start.nearest_secs(),
        end_s: record.end.nearest_secs(),
        kind: match record.kind {
            FrameKind::Rts => "rts",
            FrameKind::Cts => "cts",
            FrameKind::Data => "data",
            FrameKind::Ack => "ack",
            FrameKind::BlockAckReq => "block-ack-request",
            FrameKind::BlockAck => "block-ack",
            FrameKind::CfEnd => "cf-end",
            FrameKind::AddbaRequest => "addba-request",
            FrameKind::AddbaResponse => "addba-response",
            FrameKind::Delba => "delba",
        }
        .to_owned(),
        sender: name(record.from),
        receiver: name(record.to),
        rate_bps: record.rate.as_bps() as f64,
        length_bytes: record.length.0,
        nav_s: record.reserves.nearest_secs(),
        retry: u64::from(record.retry),
        channel: 0,
        ppdu: record.aggregate.map_or(0, |aggregate| aggregate.ppdu + 1),
        mpdus: record.aggregate.map_or(0, |aggregate| u64::from(aggregate.of)),
        sequence: record.sequence.map_or(0, u64::from),
        msdus: if record.kind == FrameKind::Data { u64::from(record.msdus) } else { 0 },
        fate: name_of(record.fate).to_owned(),
        flow: stamp
            .filter(|stamp| stamp.real.is_none())
            .and_then(|stamp| flows.get(stamp.flow as usize))
            .cloned()
            .unwrap_or_default(),
        packet: packet.map_or("", |packet| packet.kind.name()).to_owned(),
        seq: packet.map_or(0, |packet| if packet.kind == Kind::Ack { packet.ack } else { packet.seq }),
        payload_bytes: packet.map_or(0, |packet| u64::from(packet.payload)),
        read_by,
        inter_bss_at,
        spoilt_at,
    }
}
