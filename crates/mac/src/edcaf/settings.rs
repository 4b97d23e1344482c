//! What a channel with access categories is built from.

use wifair_engine::Stream;
use wifair_packet::{Packet, PacketId};
use wifair_phy::{Band, TxMode};
use wifair_units::{Bytes, Duration, Time};

use super::links::LinkSettings;
use crate::category::{Category, First};
use crate::{Access, StationSettings};
use wifair_queue::{Limit, Queue};

/// When contenders count slots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SlotRules {
    /// DCF (IEEE Std 802.11-2016, 10.3.4.3): whole idle slots count. DIFS may pass while a sender waits for an answer
    /// that does not come.
    #[default]
    Dcf,
    /// EDCA (IEEE Std 802.11-2016, 10.22.2.4): the counter falls at each slot boundary, whether somebody else begins to
    /// send there or not. AIFS follows the timeout of an answer that does not come.
    Edca,
}

impl SlotRules {
    /// Slots counted from `from` until somebody sends at `now`.
    pub(crate) fn passed(self, from: Time, now: Time, slot: Duration) -> u64 {
        if now < from { 0 } else { (now - from).div_floor(slot) + u64::from(self == Self::Edca) }
    }
}

/// What decides the category of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Classifier {
    /// Its kind: packets that go first are of the first category, all others of the second.
    Kind(First),
    /// Whoever offers the packet.
    Caller,
    /// Nothing: there is one, that of DCF.
    One,
}

impl Classifier {
    /// The place of a packet's category, from 0 for the one that goes first.
    pub(crate) fn place(self, packet: &Packet, category: usize) -> usize {
        match self {
            Self::Kind(first) => usize::from(!first.takes(packet)),
            Self::Caller => category,
            Self::One => 0,
        }
    }
}

/// Rules of aggregation and block ACK.
#[derive(Clone, Debug, PartialEq)]
pub struct Aggregation {
    /// MPDUs that may be outstanding: 64, 256 or 1024 with block ACK, 1 without.
    pub window: u16,
    /// Longest A-MPDU; zero for single MPDUs.
    pub max_ampdu: Bytes,
    /// Longest A-MSDU; zero for none.
    pub max_amsdu: Bytes,
    /// Longest MPDU in an A-MPDU: 4095 bytes in an HT PPDU, 11454 in a VHT PPDU.
    pub max_mpdu: Bytes,
    /// Longest PPDU: aPPDUMaxTime, 5.484 ms.
    pub max_duration: Duration,
    /// Minimum MPDU start spacing in an A-MPDU.
    pub min_start_spacing: Duration,
    /// Whether a single MPDU stands in an A-MPDU too, as in VHT and HE PPDUs.
    pub single_in_ampdu: bool,
    /// After a block ACK that did not come, whether the sender asks for it (as ns-3 does by default) instead of sending
    /// the data again.
    pub request_after_miss: bool,
    /// Attempts of an MPDU.
    pub retry_limit: u8,
    /// How long a receiver holds the first MPDU behind a gap before it passes over what is missing.
    pub reorder_timeout: Duration,
    /// How long a packet may wait and an MPDU be tried, from the time when the packet came into its queue; for ever if
    /// absent. Looked at when a packet leaves its queue, and at the end of each exchange.
    pub lifetime: Option<Duration>,
    /// Whether packets in MPDUs that are neither acknowledged nor given up count against the limit of their queue, as
    /// in ns-3.
    pub count_in_flight: bool,
    /// Whether agreements are made on the air, by ADDBA frames; otherwise they are there from the start.
    pub agreements_on_air: bool,
    /// After how long without data a recipient ends an agreement made on the air; never, if absent.
    pub inactivity_timeout: Option<Duration>,
    /// A sender that has fewer packets waits until it has so many, or for so long; it sends what it has, if absent.
    pub wait_until: Option<(u32, Duration)>,
}

impl Aggregation {
    /// When a packet is given up; `arrived` tells when each came into its queue.
    #[inline]
    pub(crate) fn expiry(&self, id: PacketId, arrived: &[Time]) -> Time {
        self.lifetime.map_or(Time::NEVER, |lifetime| arrived[id.index()] + lifetime)
    }

    /// Whether block ACK needs agreements that are made on the air.
    #[inline]
    pub(crate) const fn makes_agreements(&self) -> bool {
        self.agreements_on_air && self.max_ampdu.0 > 0
    }

    /// Length of a block ACK: 32 bytes with a bitmap of 64 bits, 56 with 256, 152 with 1024 (9.3.1.9).
    #[must_use]
    pub const fn block_ack(&self) -> Bytes {
        Bytes(match self.window {
            0..=64 => 32,
            65..=256 => 56,
            _ => 152,
        })
    }
}

/// Length of a BlockAckReq (9.3.1.8).
pub(crate) const BLOCK_ACK_REQ: Bytes = Bytes(24);

/// One category of a station.
#[derive(Clone, Debug)]
pub struct CategorySettings {
    /// Windows, AIFS and TXOP.
    pub parameters: Category,
    /// Packets that wait: one queue, or one for each receiver by its number.
    pub queues: Vec<Queue>,
    /// Packets that each of them holds, where [`Aggregation::count_in_flight`] needs to know.
    pub limit: usize,
    /// Backoff draws.
    pub backoff: Stream,
}

/// One station.
#[derive(Clone, Debug)]
pub struct EdcaStation {
    /// What does not depend on the category. Its windows, queue and backoff draws do not count.
    pub common: StationSettings,
    /// Transmit mode of data to and from this station and its band, from HT on; the bare rate counts if absent.
    pub mode: Option<(TxMode, Band)>,
    /// What else decides how it sends and is reached.
    pub link: LinkSettings,
    /// Rules for aggregates to and from this station, which may be of an older amendment than the access point; none
    /// before HT.
    pub aggregation: Option<Aggregation>,
    /// It is from before HT among stations that are not: its data have no QoS field, and all of them are of best
    /// effort.
    pub is_legacy: bool,
    /// What goes first comes first.
    pub categories: Vec<CategorySettings>,
}

/// A channel and its stations.
#[derive(Clone, Debug)]
pub struct EdcaSettings {
    /// Rules of access.
    pub access: Access,
    /// The access points: a frame from one of them goes in the transmit mode of its receiver.
    pub aps: Vec<u32>,
    /// What decides the category of a packet.
    pub classifier: Classifier,
    /// When contenders count slots.
    pub slot_rules: SlotRules,
    /// Rules of aggregation, if frames are aggregated.
    pub aggregation: Option<Aggregation>,
    /// All stations, the access point among them, each with as many categories.
    pub stations: Vec<EdcaStation>,
}

impl EdcaSettings {
    /// Stations that contend by DCF: one category each, with AIFS = DIFS, one frame at a time.
    #[must_use]
    pub fn dcf(access: Access, aps: &[u32], stations: Vec<StationSettings>) -> Self {
        let stations = stations.into_iter().map(|mut common| {
            let queue = std::mem::replace(&mut common.queue, Queue::fifo(Limit::Packets(1)));
            let category = CategorySettings {
                parameters: Category::dcf(common.cw_min, common.cw_max),
                queues: vec![queue],
                limit: 0,
                backoff: common.backoff.clone(),
            };
            EdcaStation {
                common,
                mode: None,
                link: LinkSettings::fixed(),
                aggregation: None,
                is_legacy: false,
                categories: vec![category],
            }
        });
        Self {
            access,
            aps: aps.to_vec(),
            classifier: Classifier::One,
            slot_rules: SlotRules::Dcf,
            aggregation: None,
            stations: stations.collect(),
        }
    }
}

/// What one category of a station did, since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CategoryCounters {
    /// Data PPDUs sent.
    pub ppdus: u64,
    /// MPDUs sent in them.
    pub mpdus: u64,
    /// Those of them that had been sent before.
    pub retries: u64,
    /// MPDUs that were acknowledged.
    pub delivered: u64,
    /// Block ACK requests sent.
    pub requests: u64,
    /// Exchanges without an answer.
    pub unanswered: u64,
    /// Times that a category which goes first sent in its place.
    pub internal_collisions: u64,
    /// Air time of its data PPDUs that met no other.
    pub data_air: Duration,
    /// Block ACKs that receivers sent to its station.
    pub block_acks: u64,
    /// Those that it did not get.
    pub block_acks_lost: u64,
    /// Packets that receivers handed up.
    pub handed_up: u64,
    /// Time that these waited at their receivers for others before them, in all.
    pub reorder_delay: Duration,
}

impl CategoryCounters {
    /// What was added since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            ppdus: self.ppdus - earlier.ppdus,
            mpdus: self.mpdus - earlier.mpdus,
            retries: self.retries - earlier.retries,
            delivered: self.delivered - earlier.delivered,
            requests: self.requests - earlier.requests,
            unanswered: self.unanswered - earlier.unanswered,
            internal_collisions: self.internal_collisions - earlier.internal_collisions,
            data_air: self.data_air - earlier.data_air,
            block_acks: self.block_acks - earlier.block_acks,
            block_acks_lost: self.block_acks_lost - earlier.block_acks_lost,
            handed_up: self.handed_up - earlier.handed_up,
            reorder_delay: self.reorder_delay - earlier.reorder_delay,
        }
    }
}
