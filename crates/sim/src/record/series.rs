//! Time series: the state of flows and queues at regular intervals.

/// State sampled at regular intervals, with one row per sample and flow.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// Time of the sample, in seconds.
    pub time_s: Vec<f64>,
    /// Index of the flow.
    pub flow: Vec<u32>,
    /// Congestion window, in segments.
    pub cwnd: Vec<f64>,
    /// The delay-driven part of the congestion window, in segments: Compound's delay window, zero for other algorithms.
    pub dwnd: Vec<f64>,
    /// Slow-start threshold, in segments; infinite before the first loss.
    pub ssthresh: Vec<f64>,
    /// Smoothed round-trip time, in seconds.
    pub srtt_s: Vec<f64>,
    /// New bytes handed to the application since the previous sample.
    pub received_bytes: Vec<u64>,
    /// Payload bytes that arrived since the previous sample, duplicates included.
    pub arrived_bytes: Vec<u64>,
    /// Packets of the flow, data and ACKs, dropped by the access point's queue since the previous sample.
    pub ap_drops: Vec<u64>,
    /// Time of each queue sample, in seconds.
    pub queue_time_s: Vec<f64>,
    /// Index of the channel whose access point has the queue.
    pub queue_medium: Vec<u32>,
    /// Packets in the access point's queue.
    pub queue_packets: Vec<u64>,
    /// Time of each state variable reported by a scheme or queue of an access point, in seconds.
    pub state_time_s: Vec<f64>,
    /// Name of the state variable.
    pub state: Vec<&'static str>,
    /// Its value.
    pub state_value: Vec<f64>,
    /// For each flow, the bytes received, bytes arrived and packets dropped at the previous sample.
    pub(crate) last: Vec<[u64; 3]>,
}

impl Series {
    /// Memory of its rows [B].
    pub fn bytes(&self) -> usize {
        8 * (8 * self.time_s.capacity() + 3 * self.queue_time_s.capacity() + 4 * self.state_time_s.capacity())
            + size_of::<u32>() * self.flow.capacity()
    }
}
