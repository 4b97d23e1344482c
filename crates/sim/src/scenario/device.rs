//! Devices: access points and stations as real systems build them. A device sets the defaults of keys, each of which
//! may be set otherwise.
//!
//! Sources: Linux 6.12 (`net/mac80211`, `include/net/fq_impl.h`, `include/net/cfg80211.h`); OpenWrt of October 2026
//! (`package/kernel/mac80211/patches/subsys`: 140 TSQ, 305 airtime quantum, 306 memory); for `fifo` T.
//! Høiland-Jørgensen et al., "Ending the Anomaly", 2017, section 2.1, and ath9k (`ATH_MAX_QDEPTH`).

use wifair_config::{Limit, choice};
use wifair_queue::{Chosen, LinuxWifiParams, QueueSettings, SparseStations, UpperQueue, WifiDriver};
use wifair_units::Duration;

choice! {
    /// What an access point is.
    pub enum ApDevice {
        /// Linux 6.12 with a driver that knows AQL: 8192 packets for the radio in lines with CoDel, airtime fairness.
        Linux = "linux" from "Linux 6.12, net/mac80211",
        /// OpenWrt of October 2026: as Linux, with airtime quanta eight times as long and AQL limits of 2, 4 and 8 ms.
        OpenWrt = "openwrt" from "OpenWrt, package/kernel/mac80211/patches",
        /// Before 2016: a FIFO of 1000 packets for each category above ath9k, which holds 123 packets more.
        Fifo = "fifo" from "Høiland-Jørgensen et al., 2017, section 2.1; Linux 4.6, ath9k",
    }
}

choice! {
    /// What a station is.
    pub enum StationDevice {
        /// A Linux host with mac80211's queues: TCP small queues of 1/128 s, receive offload, Linux's TCP.
        Linux = "linux" from "Linux 6.12, net/mac80211 (TSQ shift 7)",
        /// A Linux host of before 2016: FIFOs of 1000 packets above ath9k; small queues of 1/1024 s.
        Fifo = "fifo" from "Linux 4.6, ath9k",
        /// A phone: as Linux, and its driver drops ACKs that a later one makes superfluous.
        Phone = "phone" from "Android's bcmdhd, dhd_ip.c (TCPACK_SUP_REPLACE)",
    }
}

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// mac80211's queues of a radio.
fn mac80211(params: LinuxWifiParams) -> QueueSettings {
    let discipline = Chosen::LinuxWifi(params);
    QueueSettings { discipline, limit: Limit::Packets(8192), ..QueueSettings::default() }
}

/// FIFOs above ath9k.
fn fifos() -> QueueSettings {
    let params = LinuxWifiParams {
        upper: UpperQueue::Pfifo,
        airtime_fairness: false,
        sparse_stations: SparseStations::Last,
        driver: WifiDriver::Aggregates,
        ..LinuxWifiParams::default()
    };
    QueueSettings { limit: Limit::Packets(1000), ..mac80211(params) }
}

impl ApDevice {
    /// Its queues; the usual ones without device.
    pub fn queue(this: Option<Self>) -> QueueSettings {
        match this {
            None => QueueSettings::default(),
            Some(Self::Linux) => mac80211(LinuxWifiParams::default()),
            Some(Self::OpenWrt) => mac80211(LinuxWifiParams {
                airtime_quantum: Duration::from_micros(8 * 256),
                aql_low: ms(2),
                aql_high: ms(4),
                aql_threshold: ms(8),
                ..LinuxWifiParams::default()
            }),
            Some(Self::Fifo) => fifos(),
        }
    }
}

impl StationDevice {
    /// Its queues; the usual ones without device.
    pub fn queue(this: Option<Self>) -> QueueSettings {
        match this {
            None => QueueSettings::default(),
            Some(Self::Linux) => mac80211(LinuxWifiParams::default()),
            Some(Self::Fifo) => fifos(),
            Some(Self::Phone) => mac80211(LinuxWifiParams::thinning_acks()),
        }
    }
}
