//! The results of a run, measured from the end of the warm-up to the end of the run.

use super::families::{DELAYS, delays};
use super::{Each, Series, StationOutcome, row};

row! {
    /// One flow.
    pub struct FlowOutcome {
        /// Name of the flow.
        pub name: String,
        /// Direction of the data seen from the stations: `up` or `down`; `peer` between two stations, `wired`
        /// elsewhere.
        pub direction: String,
        /// New payload that arrived in the measured time and was handed to the application, over that time [bit/s].
        pub goodput_bps: f64,
        /// All payload that arrived, duplicates included, over the measured time [bit/s].
        pub throughput_bps: f64,
        /// New payload that arrived in the measured time and was handed to the application [bytes].
        pub received_bytes: u64,
        /// Data packets handed down by the sender, retransmissions included.
        pub data_packets_sent: u64,
        /// Hops of data packets over the air: a packet counts once per hop.
        pub data_air_hops: u64,
        /// Segments that TCP sent again.
        pub retransmissions: u64,
        /// Expiries of the retransmission timer.
        pub timeouts: u64,
        /// Mean of the round-trip times that TCP measured [s].
        pub rtt_mean_s: f64,
        /// Shortest of them [s].
        pub rtt_min_s: f64,
        /// Median [s], at most 1/64 too high.
        pub rtt_p50_s: f64,
        /// 95th percentile [s], at most 1/64 too high.
        pub rtt_p95_s: f64,
        /// 99th percentile [s], at most 1/64 too high.
        pub rtt_p99_s: f64,
        /// Longest [s].
        pub rtt_max_s: f64,
        /// Number of round-trip times measured.
        pub rtt_samples: u64,
        /// Mean congestion window over time [segments].
        pub cwnd_mean: f64,
        /// Data packets dropped by the access point's queue.
        pub data_drops_ap_queue: u64,
        /// Data packets dropped by a station's queue.
        pub data_drops_station_queue: u64,
        /// Data packets dropped by a wired link's queue.
        pub data_drops_link_queue: u64,
        /// Data packets given up by the MAC at its retry limit.
        pub data_drops_retry_limit: u64,
        /// Data packets dropped by a scheme of the access point.
        pub data_drops_ap_scheme: u64,
        /// Data packets pushed out while they waited for a route to their destination.
        pub data_drops_no_route: u64,
        /// Data packets that the MAC dropped because their lifetime had ended (`aggregation.lifetime`).
        pub data_drops_lifetime: u64,
        /// Data packets that reached their recipient after it had stopped waiting for them
        /// (`aggregation.reorder_timeout`).
        pub data_drops_late: u64,
        /// TCP ACKs or echo replies dropped by the access point's queue.
        pub ack_drops_ap_queue: u64,
        /// TCP ACKs or echo replies dropped by a station's queue.
        pub ack_drops_station_queue: u64,
        /// TCP ACKs or echo replies dropped by a wired link's queue.
        pub ack_drops_link_queue: u64,
        /// TCP ACKs or echo replies given up by the MAC at its retry limit.
        pub ack_drops_retry_limit: u64,
        /// TCP ACKs or echo replies dropped by a scheme of the access point.
        pub ack_drops_ap_scheme: u64,
        /// TCP ACKs or echo replies pushed out while they waited for a route to their destination.
        pub ack_drops_no_route: u64,
        /// TCP ACKs or echo replies that the MAC dropped because their lifetime had ended.
        pub ack_drops_lifetime: u64,
        /// TCP ACKs or echo replies that reached their recipient after it had stopped waiting for them.
        pub ack_drops_late: u64,
        /// Payload that the application offered in the measured time, per second [bit/s]; infinite if it always had
        /// more.
        pub asked_bps: f64,
        /// 1 if it starved, that is, got less than a tenth of its max-min fair share, which never exceeds what it asked
        /// for; else 0. A persistent flow always asks for more; a flow with sessions does so while they are unfinished;
        /// a source of datagrams asks for what it generates.
        pub starved: u64,
        /// Data packets lost, divided by those lost or arrived.
        pub loss_fraction: f64,
        /// Shortest round-trip time of the whole run, warm-up included: the one without load [s].
        pub rtt_idle_s: f64,
        /// Shortest one-way delay of a data packet in the whole run, warm-up included: the one without load [s].
        pub owd_idle_s: f64,
        /// Mean one-way delay of data packets, from the sender's network layer to the receiver's [s].
        pub owd_mean_s: f64,
        /// Median [s], at most 1/64 too high.
        pub owd_p50_s: f64,
        /// 95th percentile [s], at most 1/64 too high.
        pub owd_p95_s: f64,
        /// 99th percentile [s], at most 1/64 too high.
        pub owd_p99_s: f64,
        /// Longest [s].
        pub owd_max_s: f64,
        /// Mean latency minus that without load [s]: of round trips, or, for datagrams that are not answered, of one
        /// way.
        pub latency_increase_s: f64,
        /// The grade that common tests of bufferbloat give to this increase: A+ below 5 ms, A 30, B 60, C 200, D 400,
        /// else F.
        pub bufferbloat_grade: String,
        /// Interarrival jitter of datagrams at the end of the run (RFC 3550, section 6.4.1) [s].
        pub jitter_s: f64,
        /// Rating of the datagrams as a G.711 call with loss concealment, at most 93.2 (ITU-T G.107, simplified).
        pub r_factor: f64,
        /// Mean opinion score of the same, from 1 to 4.5 (ITU-T G.107, annex B).
        pub mos: f64,
    }
}

row! {
    /// The whole cell (or, without Wi-Fi, the whole network).
    pub struct CellOutcome {
        /// Sum of the flows' goodput [bit/s].
        pub goodput_bps: f64,
        /// Sum of the uplink flows' goodput [bit/s].
        pub up_goodput_bps: f64,
        /// Sum of the downlink flows' goodput [bit/s].
        pub down_goodput_bps: f64,
        /// Sum of the flows' throughput [bit/s].
        pub throughput_bps: f64,
        /// Jain's index of the flows' goodput.
        pub jain_index: f64,
        /// Goodput of all uplink flows divided by that of all downlink flows; undefined without downlink goodput.
        pub up_down_ratio: f64,
        /// Share of the uplink flows in the total goodput of uplink and downlink.
        pub uplink_share: f64,
        /// Share of the flows that get less than a tenth of their max-min fair share.
        pub starved_fraction: f64,
        /// Index of instantaneous fairness (jung2016, equation 3); a session finishes when its last segment is handed
        /// down.
        pub instantaneous_fairness: f64,
        /// The same; a session finishes when its last byte is acknowledged.
        pub instantaneous_fairness_acked: f64,
        /// Sessions that began in the measured time and finished.
        pub sessions_finished: u64,
        /// Sessions that began in the measured time and did not finish.
        pub sessions_unfinished: u64,
        /// Share of the time taken by data frames that were received.
        pub air_data: f64,
        /// Share of the time taken by ACKs, block ACKs and their requests, ADDBA, DELBA and CF-End frames.
        pub air_ack: f64,
        /// Share of the time taken by RTS and CTS frames that did not collide, answered or not.
        pub air_rts_cts: f64,
        /// Share of the time taken by frames that collided.
        pub air_collision: f64,
        /// Share of the time taken by data frames that were lost to errors.
        pub air_error: f64,
        /// Share of the time in which several frames were on the air and none of them collided.
        pub air_reuse: f64,
        /// Share of the time in which no frame was on the air.
        pub air_idle: f64,
        /// Share of the transmission attempts that collided.
        pub collision_probability: f64,
        /// Mean number of MPDUs in a data PPDU (802.11n and later).
        pub mpdus_per_ppdu: f64,
        /// Share of the block ACKs that were lost at their receivers (802.11n and later).
        pub block_ack_loss: f64,
        /// Mean time for which packets waited at their receiver for earlier ones [s] (802.11n and later).
        pub reorder_delay_mean_s: f64,
        /// {}, from the queue of a station or access point to the network layer of the receiver [s] (802.11n and
        /// later).
        pub delays: Each<f64, DELAYS> as "delay_{}_s" for delays,
        /// Frames that the MAC gave up at a retry limit.
        pub frames_given_up: u64,
        /// Mean length of the access point's queue over time [packets].
        pub ap_queue_mean_packets: f64,
        /// Longest length of the access point's queue [packets].
        pub ap_queue_max_packets: u64,
        /// Share of the time in which the access point's queue was full.
        pub ap_queue_full_fraction: f64,
        /// Data packets dropped by the access point's queue.
        pub ap_drops_data: u64,
        /// TCP ACKs dropped by the access point's queue.
        pub ap_drops_ack: u64,
        /// Routing announcements handed down to the stations' queues.
        pub routing_packets: u64,
        /// Bytes of these announcements.
        pub routing_bytes: u64,
        /// Expiries of retransmission timers.
        pub timeouts: u64,
        /// Segments that TCP sent again.
        pub retransmissions: u64,
        /// Jain's index of what the flows received in the measured time in which all were active: from the latest
        /// `start` to the earliest `stop`. None if they never were.
        pub overlap_jain_index: f64,
        /// Length of that time [s].
        pub overlap_s: f64,
    }
}

row! {
    /// One session of a flow.
    pub struct SessionOutcome {
        /// Name of the flow.
        pub flow: String,
        /// Scheduled start [s].
        pub start_s: f64,
        /// Length [bytes].
        pub length_bytes: u64,
        /// Time from the start until the last segment was handed down [s]; none if it was not.
        pub sent_after_s: f64,
        /// Time from the start until the last byte was handed to the receiving application [s]; none if it was not.
        pub received_after_s: f64,
        /// Time from the start until the last byte was acknowledged [s]; none if it was not.
        pub acked_after_s: f64,
    }
}

/// All results of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Seed of the run.
    pub seed: u64,
    /// Measured time [s]: duration less warm-up.
    pub measured_s: f64,
    /// Events processed.
    pub events: u64,
    /// The flows, in the order of the scenario.
    pub flows: Vec<FlowOutcome>,
    /// All flows together.
    pub cell: CellOutcome,
    /// Stations of all channels.
    pub stations: Vec<StationOutcome>,
    /// Sessions that began in the measured time.
    pub sessions: Vec<SessionOutcome>,
    /// Time series, if requested.
    pub series: Option<Series>,
}
