//! Fairness over the time in which all flows are active.

use wifair_metrics::jain_index;
use wifair_units::Time;

use super::World;
use super::plan::{FlowPlan, TransportPlan};

/// The measured time in which all flows are active: from the latest start of an application to the earliest stop. Flows
/// that only measure, by echoes, do not count.
#[derive(Debug)]
pub(super) struct FlowOverlap {
    from: Time,
    to: Time,
    /// Bytes that each flow had received when this time began, and when it ended.
    received: Vec<Vec<u64>>,
}

impl FlowOverlap {
    /// The time in which all of these flows are active after the warm-up.
    pub(super) fn new(warm_up: Time, flows: &[FlowPlan]) -> Self {
        let shares = || flows.iter().filter(|flow| !matches!(flow.transport, TransportPlan::Ping { .. }));
        let from = shares().map(|flow| flow.start).fold(warm_up, Time::max);
        let to = shares().map(|flow| flow.stop).fold(Time::NEVER, Time::min);
        Self { from, to: to.max(from), received: vec![] }
    }

    /// Whether this time begins or ends now. The warm-up ends, a flow starts or a flow stops then.
    pub(super) fn is_due(&self, now: Time) -> bool {
        match self.received.len() {
            0 => now == self.from,
            1 => now == self.to,
            _ => false,
        }
    }
}

impl World {
    /// Notes what each flow has received when the time in which all are active begins or ends.
    pub(super) fn note_overlap(&mut self) {
        let received = self.received();
        self.overlap.received.push(received);
    }

    fn received(&mut self) -> Vec<u64> {
        (0..self.flows.len()).map(|flow| self.counters(flow).received).collect()
    }

    /// Jain's index of what the flows `shares` received while all were active, and how long that was, in seconds; NaN
    /// if they never were.
    #[allow(clippy::cast_precision_loss)]
    pub(super) fn overlap_jain_index(&mut self, shares: &[usize]) -> (f64, f64) {
        let span = self.overlap.to.min(self.now).saturating_since(self.overlap.from).nearest_secs();
        if span == 0.0 {
            return (f64::NAN, 0.0);
        }
        let now = self.received();
        let Some(begin) = self.overlap.received.first() else { return (f64::NAN, 0.0) };
        let end = self.overlap.received.get(1).unwrap_or(&now);
        let rate = |flow: &usize| (end[*flow] - begin[*flow]) as f64 * 8.0 / span;
        let rates: Vec<f64> = shares.iter().map(rate).collect();
        (jain_index(&rates), span)
    }
}
