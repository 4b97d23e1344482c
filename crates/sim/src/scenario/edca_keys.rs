//! Keys of access categories and aggregates (802.11n and later).

use wifair_config::{choice, table};
use wifair_mac::{AccessCategory, Category};
use wifair_units::{Bytes, Duration};

/// The standard's default parameters for OFDM.
const fn defaults(category: AccessCategory) -> Category {
    category.defaults(15, false)
}

table! {
    /// Parameters of the four access categories (IEEE Std 802.11-2016, table 9-137).
    pub struct EdcaParameterSet {
        /// Voice.
        pub vo: Category = defaults(AccessCategory::Vo);
        /// Video.
        pub vi: Category = defaults(AccessCategory::Vi);
        /// Best effort.
        pub be: Category = defaults(AccessCategory::Be);
        /// Background.
        pub bk: Category = defaults(AccessCategory::Bk);
    }
}

impl EdcaParameterSet {
    /// The categories, highest priority first.
    pub fn categories(&self) -> [&Category; 4] {
        [&self.vo, &self.vi, &self.be, &self.bk]
    }
}

table! {
    /// Waits for more packets to aggregate.
    pub struct WaitUntil {
        /// A category contends for the channel once it has this many packets.
        pub packets: u32 = 16, "1 or more" => |packets| *packets >= 1;
        /// With fewer packets it contends after this time.
        pub time: Duration = Duration::from_millis(2), "above 0" => |time| *time > Duration::ZERO;
    }
}

choice! {
    /// When a sender contends for the channel.
    pub enum AggregationPolicy {
        /// As soon as it has a packet to send; it then aggregates the packets that are waiting.
        WhatWaits = "what-waits",
        /// When it has enough packets, or has waited long enough.
        WaitUntil(WaitUntil) = "wait-until",
    }
}

choice! {
    /// When block ACK agreements come about.
    pub enum Agreements {
        /// They are there from the start.
        FromTheStart = "from-the-start",
        /// By an ADDBA request and response before the first data to a receiver in a category; data wait for them.
        OnTheAir = "on-the-air",
    }
}

table! {
    /// Aggregation and block ACK.
    pub struct Aggregation {
        /// When a sender contends for the channel.
        pub policy: AggregationPolicy = AggregationPolicy::WhatWaits;
        /// Whether block ACK agreements are there from the start, or made by ADDBA frames.
        pub agreements: Agreements = Agreements::FromTheStart;
        /// After how long without data a receiver ends an agreement by a DELBA frame, with agreements = "on-the-air";
        /// if absent, agreements last.
        pub inactivity_timeout: Option<Duration> = None, "above 0 and at most 67 s" => |time| {
            time.is_none_or(|time| time > Duration::ZERO && time <= Duration::from_secs(67))
        };
        /// Longest A-MPDU; "0 B" sends single MPDUs with ACK. If absent, the limit of the standard: 65535 B in 802.11n,
        /// 1048575 B in ac, 6500631 B in ax, 15523200 B in be.
        pub max_ampdu: Option<Bytes> = None;
        /// Longest A-MSDU: 3839 B, 7935 B, or 11454 B from 802.11ac on. If absent, A-MSDUs are not used.
        pub max_amsdu: Option<Bytes> = None, "3839 B, 7935 B or 11454 B" => |size| {
            size.is_none_or(|size| [3839, 7935, 11_454].contains(&size.0))
        };
        /// Block ACK window, the most MPDUs outstanding to one receiver: up to 64, in 802.11ax up to 256, in be up
        /// to 1024. If absent, the largest of the standard.
        pub window: Option<u32> = None, "from 1 to 64, in 802.11ax to 256, in 802.11be to 1024" => |window| {
            window.is_none_or(|window| (1..=1024).contains(&window))
        };
        /// Longest PPDU (aPPDUMaxTime). A single packet is sent even if it takes longer. No PPDU is shorter than the
        /// 20 us of the legacy preamble.
        pub max_ppdu_time: Duration = Duration::from_micros(5484),
            "from 20 us to 5.484 ms" => |time| {
                (Duration::from_micros(20)..=Duration::from_micros(5484)).contains(time)
            };
        /// Minimum time between the starts of two MPDUs in an A-MPDU, as required by the receiver.
        pub min_start_spacing: Duration = Duration::ZERO,
            "0 us, 250 ns, 500 ns, 1 us, 2 us, 4 us, 8 us or 16 us" => |spacing| {
                [0, 250, 500, 1000, 2000, 4000, 8000, 16_000].contains(&spacing.as_nanos())
            };
        /// Whether a sender that gets no block ACK requests it by a BlockAckReq, as in ns-3, instead of sending the
        /// data again. The request is repeated until it is answered, for `lifetime` or 512 ms.
        pub request_after_miss: bool = false;
        /// Most attempts of an MPDU under block ACK, and of RTS for it without an answer; by default
        /// `short_retry_limit` if that is set, else 30 as in Linux's ath9k. Drivers differ: 15 in iwlwifi and mt76, 5
        /// in brcmsmac; ns-3 counts no attempt that a block ACK reports missing. The standard has only `lifetime`
        /// (10.24.3).
        pub retry_limit: Option<u8> = None, "1 or more" => |limit| limit.is_none_or(|limit| limit >= 1);
        /// How long a receiver holds the first MPDU behind a missing one before it passes it up. In Linux 100 ms.
        pub reorder_timeout: Duration = Duration::from_millis(100), "above 0" => |time| *time > Duration::ZERO;
        /// Whether packets in MPDUs that are neither acknowledged nor given up count against the limit of their queue,
        /// as in ns-3.
        pub count_in_flight: bool = false;
        /// Whether a receiver passes each MPDU up when it ends, as in the standard and ns-3; otherwise all at the end
        /// of the PPDU, like a network card with one interrupt for each. Delays end earlier then, and a
        /// wired link behind the receiver gets packets earlier.
        pub pass_up_singly: bool = true;
        /// How long a packet may wait and be retried, counted from its arrival in the queue; if absent, only the retry
        /// limit applies.
        pub lifetime: Option<Duration> = None, "above 0" => |time| time.is_none_or(|time| time > Duration::ZERO);
    }
}
