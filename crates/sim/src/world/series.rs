//! State sampled at regular times.

use wifair_queue::Discipline;

use super::flow::Ends;
use super::measure::Loss;
use super::{Task, World};

/// State sampled at regular times, one row a sample and flow.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// Time of the sample, in seconds.
    pub time_s: Vec<f64>,
    /// Index of the flow.
    pub flow: Vec<u32>,
    /// Congestion window, in segments.
    pub cwnd: Vec<f64>,
    /// The part of it that delay drives, in segments: Compound's delay window, and zero where there is none.
    pub dwnd: Vec<f64>,
    /// Slow-start threshold, in segments; infinite before the first loss.
    pub ssthresh: Vec<f64>,
    /// Smoothed round-trip time, in seconds.
    pub srtt_s: Vec<f64>,
    /// New bytes handed to the application since the sample before.
    pub received_bytes: Vec<u64>,
    /// All payload that arrived since the sample before, duplicates included.
    pub arrived_bytes: Vec<u64>,
    /// Packets of the flow, data and ACKs, dropped by the access point's queue since the sample before.
    pub ap_drops: Vec<u64>,
    /// Time of each sample of the queues, in seconds.
    pub queue_time_s: Vec<f64>,
    /// Index of the medium whose access point has the queue.
    pub queue_medium: Vec<u32>,
    /// Packets in the access point's queue.
    pub queue_packets: Vec<u64>,
    /// Time of each state shown by a scheme or queue of an access point, in seconds.
    pub state_time_s: Vec<f64>,
    /// Name of the state.
    pub state: Vec<&'static str>,
    /// Its value.
    pub state_value: Vec<f64>,
    /// Bytes received, bytes arrived and packets dropped by then, of each flow.
    pub(super) last: Vec<[u64; 3]>,
}

impl World {
    #[allow(clippy::cast_possible_truncation)]
    pub(super) fn sample(&mut self) {
        let Some(every) = self.sample_every else { return };
        let time = self.now.as_secs();
        for index in 0..self.flows.len() {
            let counters = self.counters(index);
            let (received, arrived) = (counters.received, counters.payload_arrived);
            let dropped = counters.data_lost[Loss::ApQueue as usize] + counters.acks_lost[Loss::ApQueue as usize];
            let own = self.flows[index].connections.first().map(|own| &self.connections[*own as usize].ends);
            let [cwnd, dwnd, ssthresh, srtt] = match own {
                Some(Ends::Tcp { sender, .. }) => {
                    [sender.cwnd(), sender.delay_window(), sender.ssthresh(), sender.rtt().srtt().as_secs()]
                }
                Some(Ends::Udp { .. } | Ends::Ping { .. }) | None => [f64::NAN; 4],
            };
            self.series.time_s.push(time);
            self.series.flow.push(index as u32);
            self.series.cwnd.push(cwnd);
            self.series.dwnd.push(dwnd);
            self.series.ssthresh.push(ssthresh);
            self.series.srtt_s.push(srtt);
            let before = self.series.last[index];
            self.series.received_bytes.push(received - before[0]);
            self.series.arrived_bytes.push(arrived - before[1]);
            self.series.ap_drops.push(dropped - before[2]);
            self.series.last[index] = [received, arrived, dropped];
        }
        for (index, channel) in self.channels.iter().enumerate() {
            for ap in &self.aps[index] {
                self.series.queue_time_s.push(time);
                self.series.queue_medium.push(index as u32);
                self.series.queue_packets.push(channel.waiting(*ap) as u64);
            }
        }
        let series = &mut self.series;
        let mut see = |name: &'static str, value: f64| {
            series.state_time_s.push(time);
            series.state.push(name);
            series.state_value.push(value);
        };
        for (channel, aps) in self.channels.iter().zip(&self.aps) {
            for ap in aps {
                channel.queue(*ap).show(&mut see);
            }
        }
        for scheme_ap in &self.scheme_aps {
            scheme_ap.schemes.show(&mut see);
        }
        self.enter(self.now + every, Task::Sample);
    }
}
