//! State sampled at regular times.

use wifair_queue::Discipline;

use super::flow::Ends;
use super::measure::Loss;
use super::plan::WorkloadPlan;
use super::{AppTask, World};

impl World {
    #[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)]
    pub(super) fn sample(&mut self) {
        let Some(every) = self.sample_every else { return };
        let time = self.now.nearest_secs();
        for index in 0..self.flows.len() {
            if self.flows[index].workload == WorkloadPlan::Outside {
                continue;
            }
            let counters = self.counters(index);
            let (received, arrived) = (counters.received, counters.payload_arrived);
            let dropped = counters.data_lost[Loss::ApQueue as usize] + counters.acks_lost[Loss::ApQueue as usize];
            // A flow that opens a connection for each session may have none or several.
            let connections = self.flows[index].connections.iter().map(|own| &self.connections[*own as usize]);
            let mut open = connections.filter(|connection| !connection.ended);
            let own = open.next().filter(|_| open.next().is_none()).map(|connection| &connection.ends);
            let [cwnd, dwnd, ssthresh, srtt] = match own {
                Some(Ends::Tcp { sender, .. }) => {
                    [sender.cwnd(), sender.delay_window(), sender.ssthresh(), sender.rtt().srtt().nearest_secs()]
                }
                Some(Ends::Udp { .. } | Ends::Ping { .. } | Ends::Real) | None => [f64::NAN; 4],
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
        self.enter(self.now + every, AppTask::Sample);
    }
}
