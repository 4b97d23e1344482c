//! A run that advances step by step, and the results of it that the page shows.

use serde_json::{Value, json};
use wifair_config::Problems;
use wifair_explain::{Evidence, explain};
use wifair_sim::capture::FrameLog;
use wifair_sim::scenario::Scenario;
use wifair_sim::world::{FlowCounters, Loss, WatchPlan};
use wifair_sim::{Run, RunOptions};
use wifair_units::{Count, Duration, Time};

use crate::check;
use crate::columns::{ColumnData, Reply, RowTable};

/// Simulated time between two drains of recorded frames.
const DRAIN: Duration = Duration::from_millis(50);
/// The longest simulated time between two checks of the limit on events.
const PIECE: Duration = Duration::from_millis(250);
/// Time resolution of losses and timeouts where frames are recorded.
const FINE: Duration = Duration::from_millis(1);
/// The most samples of a run.
const MOST_SAMPLES: u64 = 100_000;

/// The frames to record: those that overlap an interval, up to a number.
#[derive(Clone, Copy, Debug)]
struct WantedFrames {
    from: Time,
    to: Time,
    most: usize,
}

impl WantedFrames {
    fn of(request: &Value) -> Result<Option<Self>, String> {
        let Some(frames) = request.get("frames").filter(|frames| !frames.is_null()) else { return Ok(None) };
        Ok(Some(Self {
            from: time(crate::count(frames, "from_ns")?),
            to: time(crate::count(frames, "to_ns")?),
            most: usize::try_from(crate::count(frames, "most")?).unwrap_or(usize::MAX),
        }))
    }
}

/// Losses and timeouts: one row per flow and time with any.
#[derive(Debug, Default)]
struct Events {
    time_s: Vec<f64>,
    flow: Vec<f64>,
    counts: [Vec<f64>; 2 + 2 * Loss::COUNT],
}

/// A run in progress.
#[derive(Debug)]
pub struct LabRun {
    seed: u64,
    scenario: Scenario,
    run: Run,
    step: Duration,
    next: Time,
    /// When losses and timeouts were last collected.
    collected: Time,
    wanted: Option<WantedFrames>,
    /// An empty record of frames, cloned for each drain.
    blank: Option<FrameLog>,
    drained: Time,
    frames: RowTable,
    backoffs: RowTable,
    complete: bool,
    before: Vec<FlowCounters>,
    events: Events,
}

impl LabRun {
    /// Starts the run of a `begin` request. The outer error is about the request, the inner one about the scenario.
    pub fn begin(request: &Value) -> Result<Result<Self, Problems>, String> {
        let scenario = match check::parse(crate::text(request, "text")?, crate::name(request), &[]) {
            Ok(scenario) => scenario,
            Err(problems) => return Ok(Err(problems)),
        };
        Self::of(&scenario, request).map(Ok)
    }

    /// Starts a run of `scenario` with the options in `request`.
    pub fn of(scenario: &Scenario, request: &Value) -> Result<Self, String> {
        let seed = crate::count(request, "seed")?;
        let samples = crate::count(request, "samples")?;
        if samples == 0 || samples > MOST_SAMPLES {
            return Err(format!("a run has 1 to {MOST_SAMPLES} samples"));
        }
        let step = Duration::from_nanos(scenario.file.duration.as_nanos().div_ceil(samples).max(1));
        let wanted = WantedFrames::of(request)?;
        let mut run = Run::new(scenario, seed, &RunOptions { sample_every: Some(step), ..RunOptions::default() });
        if wanted.is_some() {
            run.world().watch(WatchPlan { air: true, ..WatchPlan::default() });
        }
        Ok(Self {
            next: run.now(),
            collected: run.now(),
            drained: run.now(),
            blank: wanted.map(|_| FrameLog::new(scenario, seed, Time::ZERO, Time::NEVER)),
            seed,
            scenario: scenario.clone(),
            run,
            step,
            wanted,
            frames: RowTable::empty("frames"),
            backoffs: RowTable::empty("backoffs"),
            complete: true,
            before: vec![FlowCounters::default(); scenario.network.flows.len()],
            events: Events::default(),
        })
    }

    /// Advances the run to the time in `request` or to its end, or until `most_events` events have been processed. The
    /// request may move the interval of recorded frames; frames recorded before and still in the interval are kept.
    pub fn advance(&mut self, request: &Value) -> Result<(), String> {
        if let Some(wanted) = WantedFrames::of(request)? {
            if self.wanted.is_none() {
                return Err("a run that began without `frames` cannot record them later".into());
            }
            self.wanted = Some(wanted);
            for table in [&mut self.frames, &mut self.backoffs] {
                table.keep_from("end_s", wanted.from.nearest_secs());
            }
            self.complete = self.frames.rows() < wanted.most;
        }
        let events = match request.get("most_events") {
            Some(_) => crate::count(request, "most_events")?,
            None => u64::MAX,
        };
        self.go_on(time(crate::count(request, "until_ns")?).min(self.run.end()), events);
        Ok(())
    }

    fn go_on(&mut self, until: Time, most_events: u64) {
        let enough = self.run.world().events().saturating_add(most_events);
        while self.next < until && self.run.world().events() < enough {
            let slice = match self.wanted {
                // A sampling step of a long run may take seconds to simulate.
                None => (self.collected + self.step).saturating_since(self.next).min(PIECE),
                Some(WantedFrames { from, to, .. }) if self.next >= from && self.next < to => self.step.min(FINE),
                Some(WantedFrames { from, .. }) => {
                    let drain = self.step.min(DRAIN);
                    if self.next < from { drain.min(from.saturating_since(self.next)) } else { drain }
                }
            };
            self.next = self.next.saturating_add(slice).min(until);
            self.run.advance(self.next);
            if self.next.saturating_since(self.drained) >= DRAIN || self.next >= until {
                self.collect_frames();
            }
            if self.wanted.is_some() || self.next >= self.collected + self.step || self.next >= until {
                self.collected = self.next;
                self.collect_events();
            }
        }
    }

    fn collect_frames(&mut self) {
        let (Some(WantedFrames { from, to, most }), Some(blank)) = (self.wanted, &self.blank) else { return };
        let since = self.drained;
        self.drained = self.next;
        let world = self.run.world();
        if since < to && self.next > from && self.frames.rows() < most {
            let mut log = blank.clone();
            log.drain(world);
            // Each channel is drained in turn, so the frames of several channels have to be sorted.
            let (from, to) = (from.nearest_secs(), to.nearest_secs());
            let mut frames: Vec<_> = log.frames().iter().filter(|one| one.end_s > from && one.start_s < to).collect();
            frames.sort_by(|a, b| a.end_s.total_cmp(&b.end_s));
            let mut backoffs: Vec<_> =
                log.backoffs().iter().filter(|one| one.end_s > from && one.start_s < to).collect();
            backoffs.sort_by(|a, b| a.end_s.total_cmp(&b.end_s));
            self.frames.extend(frames);
            self.backoffs.extend(backoffs);
            self.complete = self.frames.rows() < most;
        }
        world.clear_watch();
    }

    fn collect_events(&mut self) {
        let now = self.run.now().nearest_secs();
        for (flow, before) in self.before.iter_mut().enumerate() {
            let counters = self.run.world().counters(flow);
            let since = counters.minus(before);
            let fresh =
                [since.timeouts, since.retransmissions].into_iter().chain(since.data_lost).chain(since.acks_lost);
            if fresh.clone().any(|count| count > 0) {
                self.events.time_s.push(now);
                self.events.flow.push(flow as f64);
                for (column, count) in self.events.counts.iter_mut().zip(fresh) {
                    column.push(count as f64);
                }
                *before = counters;
            }
        }
    }

    /// The progress of the run.
    pub fn progress(&mut self) -> Value {
        let (now, end) = (self.run.now(), self.run.end());
        let events = self.run.world().events();
        json!({ "now_s": now.nearest_secs(), "end_s": end.nearest_secs(), "over": now >= end, "events": events })
    }

    /// All results up to now, with the recorded frames that are in the interval.
    pub fn columns(&mut self) -> Reply {
        let outcome = self.run.outcome();
        let mut head = self.progress();
        head["seed"] = json!(self.seed.to_string());
        head["measured_s"] = json!(outcome.measured_s);
        head["frames_complete"] = json!(self.complete);
        head["facts"] = explain(&Evidence::of_outcomes(&self.scenario, std::slice::from_ref(&outcome)))
            .iter()
            .map(wifair_explain::Fact::to_json)
            .collect();
        let mut reply = Reply::of(head)
            .with(&RowTable::of("flows", &outcome.flows))
            .with(&RowTable::of("cell", std::slice::from_ref(&outcome.cell)))
            .with(&RowTable::of("stations", &outcome.stations))
            .with(&RowTable::of("sessions", &outcome.sessions));
        if let Some(series) = outcome.series {
            let counts = |values: &[u64]| ColumnData::Numbers(values.iter().map(|value| *value as f64).collect());
            let places = |values: &[u32]| ColumnData::Numbers(values.iter().map(|value| f64::from(*value)).collect());
            let flows = vec![
                ("received_bytes", counts(&series.received_bytes)),
                ("ap_drops", counts(&series.ap_drops)),
                ("flow", places(&series.flow)),
                ("time_s", ColumnData::Numbers(series.time_s)),
                ("cwnd", ColumnData::Numbers(series.cwnd)),
                ("ssthresh", ColumnData::Numbers(series.ssthresh)),
                ("srtt_s", ColumnData::Numbers(series.srtt_s)),
            ];
            let queues = vec![
                ("medium", places(&series.queue_medium)),
                ("packets", counts(&series.queue_packets)),
                ("time_s", ColumnData::Numbers(series.queue_time_s)),
            ];
            reply = reply.with(&RowTable::new("series", flows)).with(&RowTable::new("queues", queues));
        }
        let Events { time_s, flow, counts } = &self.events;
        let lost = |what: &'static str| Loss::NAMES.iter().map(move |place| format!("{what}_{place}"));
        let names = ["time_s", "flow", "timeouts", "retransmissions"].map(str::to_owned).into_iter();
        let names = names.chain(lost("data")).chain(lost("ack"));
        let numbers = [time_s, flow].into_iter().chain(counts).map(|values| ColumnData::Numbers(values.clone()));
        reply.with(&RowTable::new("events", names.zip(numbers))).with(&self.frames).with(&self.backoffs)
    }
}

fn time(nanos: u64) -> Time {
    Time::ZERO.saturating_add(Duration::from_nanos(nanos))
}
