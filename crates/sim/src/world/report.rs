//! From the counters of a world to its outcome.

use wifair_mac::{AirTime, Counters};
use wifair_metrics::jain_index;
use wifair_queue::Gauge;
use wifair_units::{Duration, Time};

use super::flow::Ends;
use super::routing::Sent;
use super::{Direction, FlowCounters, Loss, Session, World};
use crate::record::{CellOutcome, FlowOutcome, Outcome, SessionOutcome, StationOutcome};

/// Names and directions that only the report needs.
#[derive(Clone, Debug, Default)]
pub struct Labels {
    /// Name and direction of each flow.
    pub flows: Vec<(String, Direction)>,
    /// Names of the stations of each medium.
    pub stations: Vec<Vec<String>>,
    /// Seed of the run.
    pub seed: u64,
    /// Capacity `rho * B` that the fair share is taken of, in bytes per second (jung2016, equation 1); the measured
    /// aggregate goodput where it is not given.
    pub fair_share_base: Option<f64>,
}

impl World {
    /// What was measured until now.
    #[must_use]
    #[allow(clippy::cast_precision_loss)]
    pub fn outcome(&mut self, labels: &Labels) -> Outcome {
        let span = (self.now.saturating_since(self.warm_up)).as_secs();
        let mut flows = vec![];
        let mut counted = vec![];
        for (index, (name, direction)) in labels.flows.iter().enumerate() {
            let counters = self.counters(index).since(&self.flows[index].at_warm_up);
            flows.push(self.flow_outcome(index, name, *direction, &counters, span));
            counted.push(counters);
        }
        let goodputs: Vec<f64> = flows.iter().map(|flow| flow.goodput_bps).collect();
        let total: f64 = goodputs.iter().sum();
        let sum_of = |wanted: Direction| -> f64 {
            let wanted = labels.flows.iter().zip(&goodputs).filter(|((_, direction), _)| *direction == wanted);
            wanted.map(|(_, goodput)| goodput).sum()
        };
        let (up, down) = (sum_of(Direction::Up), sum_of(Direction::Down));
        let mean = total / goodputs.len() as f64;
        let starved = goodputs.iter().filter(|goodput| **goodput < 0.1 * mean).count();

        let share = labels.fair_share_base.unwrap_or(total / 8.0) / goodputs.len() as f64;
        let (sessions, fairness) = self.sessions(labels, share);
        let air = self.air();
        let stations = self.stations(labels);
        let attempts: u64 = stations.iter().map(|station| station.attempts).sum();
        let collisions: u64 = stations.iter().map(|station| station.collisions).sum();
        let (queue_mean, queue_max, queue_full) = self.ap_queues();
        let lost_at_ap = |losses: fn(&FlowCounters) -> &[u64; Loss::COUNT]| -> u64 {
            counted.iter().map(|counters| losses(counters)[Loss::ApQueue as usize]).sum()
        };
        let routing = self.routing_since_warm_up();
        let fraction = |part: Duration| part.as_secs() / air.total().as_secs();
        let cell = CellOutcome {
            goodput_bps: total,
            throughput_bps: flows.iter().map(|flow| flow.throughput_bps).sum(),
            jain_index: jain_index(&goodputs),
            up_down_ratio: if down > 0.0 { up / down } else { f64::NAN },
            uplink_share: up / (up + down),
            starved_fraction: starved as f64 / goodputs.len() as f64,
            instantaneous_fairness: fairness.sent,
            instantaneous_fairness_acked: fairness.acknowledged,
            sessions_finished: fairness.finished,
            sessions_unfinished: sessions.len() as u64 - fairness.finished,
            air_data: fraction(air.data),
            air_ack: fraction(air.ack),
            air_rts_cts: fraction(air.rts_cts),
            air_collision: fraction(air.collision),
            air_error: fraction(air.error),
            air_reuse: fraction(air.reuse),
            air_idle: fraction(air.idle),
            collision_probability: collisions as f64 / attempts as f64,
            frames_given_up: stations.iter().map(|station| station.given_up).sum(),
            ap_queue_mean_packets: queue_mean,
            ap_queue_max_packets: queue_max,
            ap_queue_full_fraction: queue_full,
            ap_drops_data: lost_at_ap(|counters| &counters.data_lost),
            ap_drops_ack: lost_at_ap(|counters| &counters.acks_lost),
            routing_packets: routing.packets,
            routing_bytes: routing.bytes,
            timeouts: flows.iter().map(|flow| flow.timeouts).sum(),
            retransmissions: flows.iter().map(|flow| flow.retransmissions).sum(),
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

    fn routing_since_warm_up(&self) -> Sent {
        let sent = self.routing.as_ref().map(|routing| routing.sent).unwrap_or_default();
        let before = self.routing_at_warm_up;
        Sent { packets: sent.packets - before.packets, bytes: sent.bytes - before.bytes }
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
        let rtt = &flow.rtt;
        let own = flow.connections.first().map(|own| &self.connections[*own as usize]);
        let cwnd_mean = match own {
            Some(connection) if !connection.single && matches!(connection.ends, Ends::Tcp { .. }) => {
                connection.cwnd.mean(self.now)
            }
            _ => f64::NAN,
        };
        let seconds = |p: f64| rtt.percentile(p).map_or(f64::NAN, Duration::as_secs);
        let some = |duration: Duration| if rtt.samples() > 0 { duration.as_secs() } else { f64::NAN };
        let [data_ap, data_station, data_link, data_retry, data_scheme, data_no_route] = counters.data_lost;
        let [ack_ap, ack_station, ack_link, ack_retry, ack_scheme, ack_no_route] = counters.acks_lost;
        FlowOutcome {
            name: name.to_owned(),
            direction: match direction {
                Direction::Up => "up",
                Direction::Down => "down",
                Direction::Peer => "peer",
                Direction::Wired => "wired",
            }
            .to_owned(),
            goodput_bps: counters.received as f64 * 8.0 / span,
            throughput_bps: counters.payload_arrived as f64 * 8.0 / span,
            received_bytes: counters.received,
            data_packets_sent: counters.data_sent,
            retransmissions: counters.retransmissions,
            timeouts: counters.timeouts,
            rtt_mean_s: rtt.mean(),
            rtt_min_s: some(rtt.minimum()),
            rtt_p50_s: seconds(0.5),
            rtt_p95_s: seconds(0.95),
            rtt_p99_s: seconds(0.99),
            rtt_max_s: some(rtt.maximum()),
            rtt_samples: rtt.samples(),
            cwnd_mean,
            data_drops_ap_queue: data_ap,
            data_drops_station_queue: data_station,
            data_drops_link_queue: data_link,
            data_drops_retry_limit: data_retry,
            data_drops_ap_scheme: data_scheme,
            data_drops_no_route: data_no_route,
            ack_drops_ap_queue: ack_ap,
            ack_drops_station_queue: ack_station,
            ack_drops_link_queue: ack_link,
            ack_drops_retry_limit: ack_retry,
            ack_drops_ap_scheme: ack_scheme,
            ack_drops_no_route: ack_no_route,
        }
    }

    /// Sessions that began after the warm-up, and their index of instantaneous fairness (jung2016, equations 2 and 3):
    /// the mean of `length / (finish * share)`. A session whose last segment left at once has no finish time in the
    /// first reading, and is left out of it.
    #[allow(clippy::cast_precision_loss)]
    fn sessions(&self, labels: &Labels, share: f64) -> (Vec<SessionOutcome>, Fairness) {
        let mut rows = vec![];
        let (mut sent, mut acknowledged) = (Mean::default(), Mean::default());
        for (flow, (name, _)) in self.flows.iter().zip(&labels.flows) {
            let live =
                flow.connections.iter().filter_map(|number| self.connections[*number as usize].sessions.as_ref());
            let mut due: Vec<Session> =
                flow.log.iter().chain(live.flat_map(|sessions| &sessions.due)).copied().collect();
            due.sort_by_key(|session| (session.start, session.end));
            for session in due.iter().filter(|session| session.start >= self.warm_up) {
                let Session { start, length, .. } = *session;
                let after = |end: Time| if end < Time::NEVER { (end - start).as_secs() } else { f64::NAN };
                let row = SessionOutcome {
                    flow: name.clone(),
                    start_s: start.as_secs(),
                    length_bytes: length,
                    sent_after_s: after(session.sent),
                    received_after_s: after(session.received),
                    acked_after_s: after(session.acknowledged),
                };
                let ideal = length as f64 / share;
                sent.add(ideal / row.sent_after_s);
                acknowledged.add(ideal / row.acked_after_s);
                rows.push(row);
            }
        }
        let fairness =
            Fairness { sent: sent.value(), acknowledged: acknowledged.value(), finished: acknowledged.count };
        (rows, fairness)
    }

    /// Mean and greatest length of the access points' queues, and how long they were full, averaged over them.
    #[allow(clippy::cast_precision_loss)]
    fn ap_queues(&self) -> (f64, u64, f64) {
        let read = |gauge: &Gauge| gauge.read(self.now);
        let queues: Vec<(f64, u64, f64)> =
            self.channels.iter().flat_map(|channel| channel.ap_queues().iter().map(read)).collect();
        let mean = |part: fn(&(f64, u64, f64)) -> f64| queues.iter().map(part).sum::<f64>() / queues.len() as f64;
        (mean(|queue| queue.0), queues.iter().map(|queue| queue.1).max().unwrap_or(0), mean(|queue| queue.2))
    }

    fn air(&self) -> AirTime {
        let mut sum = AirTime::default();
        for (channel, before) in self.channels.iter().zip(&self.air_at_warm_up) {
            let air = channel.air_time(self.now).since(before);
            sum.data += air.data;
            sum.ack += air.ack;
            sum.rts_cts += air.rts_cts;
            sum.collision += air.collision;
            sum.error += air.error;
            sum.reuse += air.reuse;
            sum.idle += air.idle;
        }
        sum
    }

    fn stations(&self, labels: &Labels) -> Vec<StationOutcome> {
        let mut rows = vec![];
        let queues = self.all_queue_counts();
        let queues = queues.stations.into_iter().zip(&self.queue_counts_at_warm_up.stations);
        for (((channel, before), names), (queues, queues_before)) in
            self.channels.iter().zip(&self.counters_at_warm_up).zip(&labels.stations).zip(queues)
        {
            for (index, (now, name)) in channel.all_counters().into_iter().zip(names).enumerate() {
                let queue = queues[index].since(queues_before[index]);
                let then = before.get(index).copied().unwrap_or_default();
                let Counters { attempts, delivered, collisions, errors, retry_limit_drops, data, control, collided } =
                    now;
                rows.push(StationOutcome {
                    name: name.clone(),
                    attempts: attempts - then.attempts,
                    delivered: delivered - then.delivered,
                    collisions: collisions - then.collisions,
                    errors: errors - then.errors,
                    given_up: retry_limit_drops - then.retry_limit_drops,
                    air_data_s: (data - then.data).as_secs(),
                    air_control_s: (control - then.control).as_secs(),
                    air_collided_s: (collided - then.collided).as_secs(),
                    queue_drops_overflow: queue.overflow,
                    queue_drops_early: queue.early,
                    queue_marks: queue.marks,
                });
            }
        }
        rows
    }
}

struct Fairness {
    sent: f64,
    acknowledged: f64,
    finished: u64,
}

/// Mean of the finite values.
#[derive(Default)]
struct Mean {
    sum: f64,
    count: u64,
}

impl Mean {
    fn add(&mut self, value: f64) {
        if value.is_finite() {
            self.sum += value;
            self.count += 1;
        }
    }

    #[allow(clippy::cast_precision_loss)]
    fn value(&self) -> f64 {
        self.sum / self.count as f64
    }
}
