//! Settings of a channel with access categories.

use wifair_engine::{Stream, stream};
use wifair_packet::{Packet, PacketId};
use wifair_phy::rate::Adaptation;
use wifair_phy::{Band, ChannelWidth, ModulationClass, PpduOptions, TxMode};
use wifair_units::{Bytes, Duration, Time, counters};

use super::arrival_times::ArrivalTimes;
use crate::category::{Category, Prioritized};
use crate::{Access, StationSettings, frame_length};
use wifair_queue::{Limit, Queue};

/// Link settings of a station.
#[derive(Clone, Debug)]
pub struct LinkSettings {
    /// Further modes for data to and from the station, besides its own, if senders adapt.
    pub ladder: Vec<TxMode>,
    /// For each mode that may be sent in less than its width, the modes that replace it, narrowest first.
    pub narrower: Vec<(TxMode, Vec<TxMode>)>,
    /// Options that affect the air time of these modes.
    pub options: PpduOptions,
    /// How the station chooses the modes of its data frames.
    pub adaptation: Adaptation,
    /// Random stream of that choice.
    pub draws: Stream,
    /// Signal-to-noise ratios between the station and the access point (not in dB), in 20 MHz with all power in one
    /// stream, each with the time from which it applies, ascending. If there are none, frames are lost with given
    /// probabilities only.
    pub snr: Vec<(Time, f64)>,
    /// Random stream of losses to noise.
    pub noise: Stream,
}

impl LinkSettings {
    /// A single mode for all data, without noise.
    #[must_use]
    pub fn fixed() -> Self {
        let draws = stream(0, "rate", "");
        Self {
            ladder: vec![],
            narrower: vec![],
            options: PpduOptions::default(),
            adaptation: Adaptation::Fixed,
            noise: draws.clone(),
            draws,
            snr: vec![],
        }
    }
}

/// When contenders count slots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SlotRules {
    /// DCF (IEEE Std 802.11-2016, 10.3.4.3): whole idle slots count. DIFS may elapse during the timeout of a missing
    /// response.
    #[default]
    Dcf,
    /// EDCA (IEEE Std 802.11-2016, 10.22.2.4): the counter is decremented at each slot boundary, even if another
    /// station starts sending there, and transmissions start on slot boundaries only. AIFS follows the timeout of a
    /// missing response.
    Edca,
}

impl SlotRules {
    /// Slots counted from `from` until a station sends at `now`.
    pub(crate) fn passed(self, from: Time, now: Time, slot: Duration) -> u64 {
        if now < from { 0 } else { (now - from).div_floor(slot) + u64::from(self == Self::Edca) }
    }

    /// When a contender without a backoff sends a packet that arrives at `now`, on an idle channel. Its slots count
    /// from `from`.
    pub(crate) fn without_backoff(self, from: Time, now: Time, slot: Duration) -> Time {
        if self == Self::Dcf || now <= from {
            return now.max(from);
        }
        let boundary = from + slot * (now - from).div_floor(slot);
        if boundary < now { boundary + slot } else { boundary }
    }
}

/// What determines the category of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Classifier {
    /// Its kind: high-priority packets are in the first category, all others in the second.
    Kind(Prioritized),
    /// The caller that offers the packet.
    Caller,
    /// There is only one, that of DCF.
    One,
}

impl Classifier {
    /// Index of a packet's category; index 0 has the highest priority.
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
pub struct AggregationRules {
    /// Maximum number of outstanding MPDUs: 64, 256 or 1024 with block ACK, 1 without.
    pub window: u16,
    /// Longest A-MPDU; zero for single MPDUs only.
    pub max_ampdu: Bytes,
    /// Longest A-MSDU; zero for none.
    pub max_amsdu: Bytes,
    /// Longest MPDU in an A-MPDU: 4095 bytes in an HT PPDU, 11454 in a VHT PPDU.
    pub max_mpdu: Bytes,
    /// Longest PPDU: aPPDUMaxTime, 5.484 ms.
    pub max_duration: Duration,
    /// Minimum MPDU start spacing in an A-MPDU.
    pub min_start_spacing: Duration,
    /// Whether a single MPDU is sent in an A-MPDU too, as in VHT and HE PPDUs.
    pub single_in_ampdu: bool,
    /// Whether a sender that gets no block ACK sends a BlockAckReq (the default of ns-3) instead of retransmitting the
    /// data.
    pub request_after_miss: bool,
    /// Maximum number of attempts of an MPDU under block ACK, and of RTS for it without an answer.
    pub retry_limit: u8,
    /// How long a recipient holds the first MPDU behind a gap before it gives up waiting for the missing MPDUs.
    pub reorder_timeout: Duration,
    /// How long a packet may wait and be retried, from its arrival in the queue; unlimited if absent. Checked when a
    /// packet is dequeued, and at the end of each exchange.
    pub lifetime: Option<Duration>,
    /// Whether packets in MPDUs that are neither acknowledged nor given up count against the limit of their queue, as
    /// in ns-3.
    pub count_in_flight: bool,
    /// Whether a recipient passes each MPDU up when it ends (IEEE Std 802.11-2016, 10.24.7.6.2), as in ns-3, instead of
    /// all at the end of the PPDU. It still reports them at the end, with [`Channel::lead`](crate::Channel::lead).
    pub pass_up_singly: bool,
    /// Whether agreements are set up by ADDBA frames; otherwise they exist from the start.
    pub agreements_on_air: bool,
    /// Time without data after which a recipient ends an agreement set up by ADDBA frames; if absent, agreements do not
    /// end.
    pub inactivity_timeout: Option<Duration>,
    /// A sender with fewer packets than this holds them back, at most for this time; if absent, it sends what it has.
    pub wait_until: Option<(u32, Duration)>,
}

impl AggregationRules {
    /// When a packet expires; `arrived` holds the arrival times in the queues.
    #[inline]
    pub(crate) fn expiry(&self, id: PacketId, arrived: &ArrivalTimes) -> Time {
        self.lifetime.map_or(Time::NEVER, |lifetime| arrived.of(id) + lifetime)
    }

    /// Whether block ACK agreements are set up by ADDBA frames.
    #[inline]
    pub(crate) const fn makes_agreements(&self) -> bool {
        self.agreements_on_air && self.max_ampdu.0 > 0
    }

    /// Length of a block ACK.
    #[must_use]
    pub fn block_ack(&self) -> Bytes {
        frame_length::block_ack(self.window.into())
    }
}

/// One category of a station.
#[derive(Debug)]
pub struct CategorySettings {
    /// Windows, AIFS and TXOP.
    pub parameters: Category,
    /// Waiting packets: one queue, or one for each receiver by its number.
    pub queues: Vec<Queue>,
    /// Limit of each queue in packets, used by [`AggregationRules::count_in_flight`].
    pub limit: usize,
    /// Random stream of backoffs.
    pub backoff: Stream,
}

/// One station.
#[derive(Debug)]
pub struct EdcaStation {
    /// Settings that do not depend on the category. The windows, queue and backoff stream in it are not used.
    pub common: StationSettings,
    /// Transmit mode of data to and from this station, and its band, for HT and later; if absent, a plain rate is used.
    pub mode: Option<(TxMode, Band)>,
    /// Further link settings.
    pub link: LinkSettings,
    /// Aggregation rules for data to and from this station, whose amendment may be older than the access point's; none
    /// for a pre-HT station.
    pub aggregation: Option<AggregationRules>,
    /// Whether it is a pre-HT station among later ones: its data have no QoS field, and are all best effort.
    pub is_legacy: bool,
    /// The newest modulation class that it reads.
    pub newest: ModulationClass,
    /// The access point of its BSS, itself if it is one; none in an ad-hoc network.
    pub ap: Option<u32>,
    /// Its categories, highest priority first.
    pub categories: Vec<CategorySettings>,
}

/// A channel and its stations.
#[derive(Debug)]
pub struct EdcaSettings {
    /// Access rules.
    pub access: Access,
    /// The access points: frames from them use the transmit mode of their receiver.
    pub aps: Vec<u32>,
    /// What determines the category of a packet.
    pub classifier: Classifier,
    /// When contenders count slots, but for stations from before HT, which use DCF.
    pub slot_rules: SlotRules,
    /// Rules of aggregation, if frames are aggregated.
    pub aggregation: Option<AggregationRules>,
    /// All stations, access points included, with equal numbers of categories.
    pub stations: Vec<EdcaStation>,
}

impl CategorySettings {
    /// A category with one queue.
    #[must_use]
    pub fn with_queue(parameters: Category, queue: Queue, backoff: Stream) -> Self {
        Self { parameters, queues: vec![queue], limit: 0, backoff }
    }

    /// A category with the queue and the backoff stream of a station, which does not use them itself.
    #[must_use]
    pub fn of(station: &mut StationSettings, parameters: Category) -> Self {
        let queue = std::mem::replace(&mut station.queue, Queue::fifo(Limit::Packets(1)));
        Self::with_queue(parameters, queue, station.backoff.clone())
    }
}

impl EdcaStation {
    /// A station that sends single frames at the rates before HT.
    #[must_use]
    pub fn without_mcs(common: StationSettings, categories: Vec<CategorySettings>) -> Self {
        let link = LinkSettings::fixed();
        Self {
            common,
            mode: None,
            link,
            aggregation: None,
            is_legacy: false,
            newest: ModulationClass::Eht, // nobody sends what it could not read
            ap: None,
            categories,
        }
    }
}

impl EdcaSettings {
    /// Stations with DCF: one category each, with AIFS = DIFS, one frame at a time.
    #[must_use]
    pub fn dcf(access: Access, aps: &[u32], stations: Vec<StationSettings>) -> Self {
        let stations = stations.into_iter().map(|mut common| {
            let parameters = Category::dcf(common.cw_min, common.cw_max);
            let category = CategorySettings::of(&mut common, parameters);
            EdcaStation::without_mcs(common, vec![category])
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

counters! {
    /// What a station sent at one width.
    pub struct WidthCounters {
        /// Data PPDUs.
        pub ppdus: u64,
        /// Their air time.
        pub air: Duration,
    }
}

counters! {
    /// Counters of one category of a station since the start of the run.
    pub struct CategoryCounters {
        /// Data PPDUs sent.
        pub ppdus: u64,
        /// MPDUs sent in them.
        pub mpdus: u64,
        /// MPDUs among these that had been sent before.
        pub retries: u64,
        /// MPDUs that were acknowledged.
        pub delivered: u64,
        /// Block ACK requests sent.
        pub requests: u64,
        /// Exchanges without response.
        pub unanswered: u64,
        /// Air time of the data PPDUs that did not collide.
        pub data_air: Duration,
        /// The data PPDUs by width, whether they collided or not.
        pub widths: [WidthCounters; ChannelWidth::ALL.len()],
        /// Block ACKs sent to its station.
        pub block_acks: u64,
        /// Block ACKs that its station did not receive.
        pub block_acks_lost: u64,
        /// Packets that receivers passed up.
        pub passed_up: u64,
        /// Total time that packets passed up had waited at their receivers for earlier packets.
        pub reorder_delay: Duration,
    }
}

impl WidthCounters {
    /// Counts a PPDU that lasts `air`.
    #[inline]
    pub(crate) fn add(&mut self, air: Duration) {
        self.ppdus += 1;
        self.air += air;
    }
}
