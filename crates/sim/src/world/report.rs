//! Computes the outcome of a run from the counters of its world.

use wifair_mac::edcaf::CategoryCounters;
use wifair_mac::{AirTime, Channel};
use wifair_metrics::{
    FinishRatios, Histogram, Supply, bufferbloat_grade, call_rating, jain_index, mean_opinion_score, starved,
};
use wifair_queue::Gauge;
use wifair_units::{Count, Duration, Time};

use super::flow::{Ends, Flow};
use super::measure::Delays;
use super::plan::{TransportPlan, WorkloadPlan, path_from};
use super::{Direction, FlowCounters, Loss, Session, World, air_hops};
use crate::record::{
    CellOutcome, FlowOutcome, Outcome, SessionOutcome, StationCounts, StationOutcome, category_delays,
};

/// A transfer counts as satisfied if at least this fraction of its data has arrived; the rest may still be in transit.
const SATISFIED: f64 = 0.9;

/// Names and directions needed only for the report.
#[derive(Clone, Debug, Default)]
pub struct Labels {
    /// Name and direction of each flow.
    pub flows: Vec<(String, Direction)>,
    /// Names of the stations of each channel.
    pub stations: Vec<Vec<String>>,
    /// Seed of the run.
    pub seed: u64,
    /// Capacity `rho * B` from which the fair share is computed, in bytes per second (jung2016, equation 1); if absent,
    /// the measured aggregate goodput.
    pub fair_share_base: Option<f64>,
}

impl World {
    /// The results up to now.
    #[must_use]
    #[allow(clippy::cast_precision_loss)]
    pub fn outcome(&mut self, labels: &Labels) -> Outcome {
        let span = (self.now.saturating_since(self.warm_up)).nearest_secs();
        let mut flows = vec![];
        let mut counted = vec![];
        let mut supplies = vec![];
        for (index, (name, direction)) in labels.flows.iter().enumerate() {
            let counters = self.counters(index).minus(&self.flows[index].at_warm_up);
            flows.push(self.flow_outcome(index, name, *direction, &counters, span));
            let supply = self.supply(&self.flows[index], &counters);
            flows[index].asked_bps = supply.asked * 8.0 / span;
            // A backlogged TCP flow asks for more as long as it has a backlog.
            let is_backlogged = matches!(self.flows[index].transport, TransportPlan::Tcp { .. })
                && supply.got < SATISFIED * supply.asked;
            supplies.push(Supply { asked: if is_backlogged { f64::INFINITY } else { supply.asked }, ..supply });
            counted.push(counters);
        }
        let starved = starved(&supplies);
        for (flow, starved) in flows.iter_mut().zip(&starved) {
            flow.starved = u64::from(*starved);
        }
        // Echoes only measure; they have no share.
        let shares: Vec<usize> = (0..flows.len())
            .filter(|index| !matches!(self.flows[*index].transport, TransportPlan::Ping { .. }))
            .collect();
        let goodputs: Vec<f64> = shares.iter().map(|index| flows[*index].goodput_bps).collect();
        let total: f64 = goodputs.iter().sum();
        let sum_of = |wanted: Direction| -> f64 {
            let wanted = shares.iter().zip(&goodputs).filter(|(index, _)| labels.flows[**index].1 == wanted);
            wanted.map(|(_, goodput)| goodput).fold(0.0, std::ops::Add::add) // `sum` of nothing is -0.0
        };
        let (up, down) = (sum_of(Direction::Up), sum_of(Direction::Down));
        let share = labels.fair_share_base.unwrap_or(total / 8.0) / goodputs.len() as f64;
        let (sessions, measured, [sent, acknowledged]) = self.sessions(labels, share);
        let (overlap_jain_index, overlap_s) = self.overlap_jain_index(&shares);
        let air = self.air();
        let counts = self.measured_counts();
        let stations = stations(labels, &counts);
        let categories = counts.iter().flatten().flat_map(|station| &station.categories);
        let aggregates = |part: fn(&CategoryCounters) -> u64| categories.clone().map(part).sum::<u64>() as f64;
        let attempts: u64 = stations.iter().map(|station| station.attempts).sum();
        let collisions: u64 = stations.iter().map(|station| station.collisions).sum();
        let (queue_mean, queue_max, queue_full) = self.ap_queues();
        let at_ap = |losses: &[u64; Loss::COUNT]| losses[Loss::ApQueue as usize];
        let routing = self.routing.as_ref().map(|routing| routing.sent).unwrap_or_default();
        let routing = routing.minus(&self.routing_at_warm_up);
        let fraction = |part: Duration| part.nearest_secs() / air.total().nearest_secs();
        let cell = CellOutcome {
            goodput_bps: total,
            up_goodput_bps: up,
            down_goodput_bps: down,
            throughput_bps: flows.iter().map(|flow| flow.throughput_bps).sum(),
            jain_index: jain_index(&goodputs),
            up_down_ratio: if down > 0.0 { up / down } else { f64::NAN },
            uplink_share: up / (up + down),
            starved_fraction: starved.iter().filter(|starved| **starved).count() as f64 / shares.len() as f64,
            instantaneous_fairness: sent.index(),
            instantaneous_fairness_acked: acknowledged.index(),
            sessions_finished: acknowledged.finished,
            sessions_unfinished: measured - acknowledged.finished,
            air_data: fraction(air.data),
            air_ack: fraction(air.ack),
            air_rts_cts: fraction(air.rts_cts),
            air_collision: fraction(air.collision),
            air_error: fraction(air.error),
            air_reuse: fraction(air.reuse),
            air_idle: fraction(air.idle),
            collision_probability: collisions as f64 / attempts as f64,
            mpdus_per_ppdu: aggregates(|own| own.mpdus) / aggregates(|own| own.ppdus),
            block_ack_loss: aggregates(|own| own.block_acks_lost) / aggregates(|own| own.block_acks),
            reorder_delay_mean_s: aggregates(|own| own.reorder_delay.as_nanos())
                / 1e9
                / aggregates(|own| own.passed_up),
            delays: category_delays(&self.category_delays()),
            frames_given_up: stations.iter().map(|station| station.given_up).sum(),
            ap_queue_mean_packets: queue_mean,
            ap_queue_max_packets: queue_max,
            ap_queue_full_fraction: queue_full,
            ap_drops_data: counted.iter().map(|counters| at_ap(&counters.data_lost)).sum(),
            // Without echo replies.
            ap_drops_ack: shares.iter().map(|index| at_ap(&counted[*index].acks_lost)).sum(),
            routing_packets: routing.packets,
            routing_bytes: routing.bytes,
            timeouts: flows.iter().map(|flow| flow.timeouts).sum(),
            retransmissions: flows.iter().map(|flow| flow.retransmissions).sum(),
            overlap_jain_index,
            overlap_s,
        };
        Outcome {
            seed: labels.seed,
            measured_s: span,
            events: self.events,
            flows,
            cell,
            stations,
            sessions,
            series: self.sample_every.map(|_| self.series.clone()),
        }
    }

    /// Air hops of data packets: packets that arrived made all air hops of the path; the air hops of lost packets were
    /// counted.
    fn data_air_hops(&self, flow: &Flow, counters: &FlowCounters) -> u64 {
        if self.routing.is_some() {
            return counters.air_hops;
        }
        counters.air_hops + counters.data_arrived * air_hops(path_from(&self.hops, flow.forward))
    }

    #[allow(clippy::cast_precision_loss)]
    fn flow_outcome(
        &self,
        index: usize,
        name: &str,
        direction: Direction,
        counters: &FlowCounters,
        span: f64,
    ) -> FlowOutcome {
        let flow = &self.flows[index];
        let Delays { measured: rtt, .. } = &flow.rtt;
        let one_way = &flow.one_way.measured;
        let own = flow.connections.front().map(|own| &self.connections[*own as usize]);
        let cwnd_mean = match own {
            Some(connection) if !connection.single && matches!(connection.ends, Ends::Tcp { .. }) => {
                connection.cwnd.mean(self.now)
            }
            _ => f64::NAN,
        };
        let seconds = |times: &Histogram, p: f64| times.percentile(p).map_or(f64::NAN, Duration::nearest_secs);
        let some = |times: &Histogram, time: Duration| if times.is_empty() { f64::NAN } else { time.nearest_secs() };
        let (lost, arrived) = (counters.data_lost.iter().sum::<u64>() as f64, counters.data_arrived as f64);
        let loss = lost / (lost + arrived);
        let is_udp = matches!(flow.transport, TransportPlan::Udp { .. });
        let is_ping = matches!(flow.transport, TransportPlan::Ping { .. });
        let udp = |value: f64| if is_udp { value } else { f64::NAN };
        let rating = udp(call_rating(one_way, loss));
        let increase = |all: &Histogram, idle: f64| (all.mean() - idle).max(0.0);
        let latency_increase =
            if is_udp { increase(one_way, flow.one_way.idle_s()) } else { increase(rtt, flow.rtt.idle_s()) };
        let received = counters.received - counters.early;
        let [data_ap, data_station, data_link, data_retry, data_scheme, data_no_route, data_lifetime, data_late] =
            counters.data_lost;
        let [ack_ap, ack_station, ack_link, ack_retry, ack_scheme, ack_no_route, ack_lifetime, ack_late] =
            counters.acks_lost;
        FlowOutcome {
            name: name.to_owned(),
            direction: match direction {
                Direction::Up => "up",
                Direction::Down => "down",
                Direction::Peer => "peer",
                Direction::Wired => "wired",
            }
            .to_owned(),
            goodput_bps: received as f64 * 8.0 / span,
            throughput_bps: counters.payload_arrived as f64 * 8.0 / span,
            received_bytes: received,
            data_packets_sent: counters.data_sent,
            data_air_hops: self.data_air_hops(flow, counters),
            retransmissions: counters.retransmissions,
            timeouts: counters.timeouts,
            rtt_mean_s: rtt.mean(),
            rtt_min_s: some(rtt, rtt.minimum()),
            rtt_p50_s: seconds(rtt, 0.5),
            rtt_p95_s: seconds(rtt, 0.95),
            rtt_p99_s: seconds(rtt, 0.99),
            rtt_max_s: some(rtt, rtt.maximum()),
            rtt_samples: rtt.samples(),
            cwnd_mean,
            data_drops_ap_queue: data_ap,
            data_drops_station_queue: data_station,
            data_drops_link_queue: data_link,
            data_drops_retry_limit: data_retry,
            data_drops_ap_scheme: data_scheme,
            data_drops_no_route: data_no_route,
            data_drops_lifetime: data_lifetime,
            data_drops_late: data_late,
            ack_drops_ap_queue: ack_ap,
            ack_drops_station_queue: ack_station,
            ack_drops_link_queue: ack_link,
            ack_drops_retry_limit: ack_retry,
            ack_drops_ap_scheme: ack_scheme,
            ack_drops_no_route: ack_no_route,
            ack_drops_lifetime: ack_lifetime,
            ack_drops_late: ack_late,
            asked_bps: f64::NAN,
            starved: 0,
            loss_fraction: loss,
            rtt_idle_s: flow.rtt.idle_s(),
            owd_idle_s: flow.one_way.idle_s(),
            owd_mean_s: one_way.mean(),
            owd_p50_s: seconds(one_way, 0.5),
            owd_p95_s: seconds(one_way, 0.95),
            owd_p99_s: seconds(one_way, 0.99),
            owd_max_s: some(one_way, one_way.maximum()),
            latency_increase_s: latency_increase,
            bufferbloat_grade: bufferbloat_grade(latency_increase).unwrap_or_default().to_owned(),
            jitter_s: if is_ping { flow.jitter.seconds() } else { udp(flow.jitter.seconds()) },
            r_factor: rating,
            mos: mean_opinion_score(rating),
        }
    }

    /// What a flow asked for and got in the measured time, in bytes, and how long it was active, in seconds.
    ///
    /// A flow with sessions is active while a session is unfinished, and asks for their bytes; a source of datagrams
    /// asks for what it generates; other flows always have more to send.
    #[allow(clippy::cast_precision_loss)]
    fn supply(&self, flow: &Flow, counters: &FlowCounters) -> Supply {
        let got = counters.received as f64;
        let measured = |from: Time, to: Time| {
            let (from, to) = (from.max(self.warm_up), to.min(self.now));
            to.saturating_since(from).nearest_secs()
        };
        let whole = measured(flow.start, flow.stop);
        match (&flow.transport, &flow.workload) {
            (TransportPlan::Udp { .. }, WorkloadPlan::Outside)
            | (TransportPlan::Tcp { .. }, WorkloadPlan::Endless | WorkloadPlan::Outside) => {
                Supply { got, asked: f64::INFINITY, active: whole }
            }
            (TransportPlan::Ping { .. }, _) => Supply { got: 0.0, asked: 0.0, active: whole },
            (TransportPlan::Udp { payload, .. }, _) => {
                Supply { got, asked: counters.data_sent as f64 * f64::from(*payload), active: whole }
            }
            (TransportPlan::Tcp { .. }, _) => {
                let (tally, _) = flow.log.report(self.live_sessions(flow), (self.warm_up, self.now), 1.0);
                let asked = tally.bytes.saturating_sub(flow.at_warm_up.received) as f64;
                let active = tally.active_s;
                Supply { got, asked, active }
            }
        }
    }

    /// The sessions held by the connections of a flow.
    fn live_sessions<'a>(&'a self, flow: &'a Flow) -> impl Iterator<Item = Session> + 'a {
        let live = flow.connections.iter().filter_map(|number| self.connections[*number as usize].sessions.as_ref());
        live.flat_map(|sessions| &sessions.due).copied()
    }

    /// Rows of sessions that began after the warm-up, their number, and their indices of instantaneous fairness
    /// (jung2016, equations 2 and 3): the mean of `length / (finish * share)`. A session sent in a single burst has no
    /// finish time in the first definition and is left out of that index.
    fn sessions(&self, labels: &Labels, share: f64) -> (Vec<SessionOutcome>, u64, [FinishRatios; 2]) {
        let mut rows = vec![];
        let mut measured = 0;
        let mut ratios = [FinishRatios::default(); 2];
        for (flow, (name, _)) in self.flows.iter().zip(&labels.flows) {
            let (tally, kept) = flow.log.report(self.live_sessions(flow), (self.warm_up, self.now), share);
            measured += tally.measured;
            for (sum, own) in ratios.iter_mut().zip(tally.ratios) {
                sum.merge(own);
            }
            rows.extend(kept.iter().map(|session| SessionOutcome {
                flow: name.clone(),
                start_s: session.start.nearest_secs(),
                length_bytes: session.length,
                sent_after_s: session.after(session.sent),
                received_after_s: session.after(session.received),
                acked_after_s: session.after(session.acknowledged),
            }));
        }
        (rows, measured, ratios)
    }

    /// Mean and maximum length of the access points' queues, and the fraction of time for which they were full,
    /// averaged over the access points.
    #[allow(clippy::cast_precision_loss)]
    fn ap_queues(&self) -> (f64, u64, f64) {
        let read = |gauge: &Gauge| gauge.read(self.now);
        let queues: Vec<(f64, u64, f64)> =
            self.channels.iter().flat_map(|channel| channel.ap_queues().iter().map(read)).collect();
        let mean = |part: fn(&(f64, u64, f64)) -> f64| queues.iter().map(part).sum::<f64>() / queues.len() as f64;
        (mean(|queue| queue.0), queues.iter().map(|queue| queue.1).max().unwrap_or(0), mean(|queue| queue.2))
    }

    fn air(&self) -> AirTime {
        let since = |(channel, before): (&Channel, &AirTime)| channel.air_time(self.now).since(before);
        let all = self.channels.iter().zip(&self.air_at_warm_up).map(since);
        all.fold(AirTime::default(), |sum, air| sum.plus(&air))
    }

    /// The counts of each station of each channel since the end of the warm-up.
    fn measured_counts(&self) -> Vec<Vec<StationCounts>> {
        let mut counts = self.station_counts();
        for (now, then) in counts.iter_mut().flatten().zip(self.stations_at_warm_up.iter().flatten()) {
            *now = now.minus(then);
        }
        counts
    }

    /// Delays over all channels, by access category.
    fn category_delays(&self) -> [Histogram; 4] {
        let mut all: [Histogram; 4] = Default::default();
        for delays in self.channels.iter().filter_map(Channel::delays) {
            for (sum, own) in all.iter_mut().zip(delays) {
                sum.absorb(own);
            }
        }
        all
    }
}

fn stations(labels: &Labels, counts: &[Vec<StationCounts>]) -> Vec<StationOutcome> {
    let named = labels.stations.iter().flatten().zip(counts.iter().flatten());
    named.map(|(name, counts)| StationOutcome::of(name.clone(), counts)).collect()
}
