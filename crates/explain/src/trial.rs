//! What may help, tried: the scenario with one change each, over pairs of equal seeds.
//!
//! A change helps if the 95 % interval of its paired differences leaves out zero, on the side that is better. What it
//! costs is told in the same way, in goodput and latency.

use serde_json::{Value, json};
use wifair_config::{Override, Source};
use wifair_sim::scenario::{Scenario, Transport};

use crate::fact::Fact;
use crate::table::Evidence;
use crate::view::mean;
use crate::words::{rate, time};

/// Pairs of equal seeds of a trial.
pub const SEEDS: u64 = 10;
/// Quantiles of Student's t that 95 % intervals need, by degrees of freedom from 1 on (exact to the digits shown).
const STUDENT: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
    2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
];

/// The scenario with these changes, each `PATH=VALUE`.
///
/// # Errors
/// Why it cannot be tried: what the scenario says of the change, or that it changes nothing.
pub fn changed(scenario: &Scenario, changes: &[&str]) -> Result<Scenario, String> {
    let overrides: Vec<Override> = changes.iter().map(|change| Override::set(change)).collect();
    let source = Source::file("scenario", &scenario.to_toml());
    let new = Scenario::parse_with(source, &overrides, &mut |_| Err("no files can be read here".to_owned()))
        .map_err(|problems| problems.0.first().map_or_else(String::new, |problem| problem.message.clone()))?;
    if new.hash() == scenario.hash() { Err("the scenario is so already".to_owned()) } else { Ok(new) }
}

/// A change that is tried.
#[derive(Clone, Debug)]
pub struct TrialArm {
    /// The changes, each `PATH=VALUE`; none for the scenario itself, which is the first arm.
    pub changes: Vec<String>,
    /// The scenario with them.
    pub scenario: Scenario,
}

impl TrialArm {
    fn label(&self) -> String {
        /// Schemes whose papers leave out details.
        const OUTLINES: [&str; 4] =
            ["ap.scheme.uplink=", "ap.scheme.client=", "ap.scheme.access=", "ap.queue.discipline=dual"];
        let is_outline = self.changes.iter().any(|change| OUTLINES.iter().any(|start| change.starts_with(start)));
        match self.changes.join("; ") {
            none if none.is_empty() => "as it is".to_owned(),
            changes if is_outline => changes + " (outline)",
            changes => changes,
        }
    }
}

/// What is tried, and what is left out.
#[derive(Clone, Debug)]
pub struct TrialPlan {
    /// The scenario itself, then a change each.
    pub arms: Vec<TrialArm>,
    /// Changes that are left out, each with its reason.
    pub left_out: Vec<(String, String)>,
}

/// The changes worth a trial: what facts advise, and what access points of today can do.
fn candidates(scenario: &Scenario, facts: &[Fact]) -> Vec<Vec<String>> {
    let mut list: Vec<Vec<String>> = vec![];
    let mut add = |changes: &[&str]| {
        let changes: Vec<String> = changes.iter().map(|one| (*one).to_owned()).collect();
        if !list.contains(&changes) {
            list.push(changes);
        }
    };
    for fact in facts {
        for change in &fact.advice {
            add(&[change]);
        }
    }
    let has_mcs = scenario.file.wlan.as_ref().is_some_and(|wlan| wlan.standard.has_mcs());
    if scenario.file.wlan.is_some() {
        if has_mcs {
            add(&["ap.queue.discipline=fq-codel", "ap.queue_per_station=true"]);
        } else {
            add(&["ap.queue.discipline=fq-codel"]);
        }
        add(&["ap.queue.discipline=airtime"]);
        add(&["ap.queue.discipline=las"]);
        add(&["ap.queue.discipline=dual"]);
        // The cures of papers on unfairness between uploads and downloads.
        add(&["ap.scheme.window=b-over-n"]);
        add(&["ap.scheme.window=wmax-over-n"]);
        for (kind, name) in [
            ("uplink", "rate-limit"),
            ("uplink", "buffer-drop"),
            ("client", "rate-cap"),
            ("access", "edca"),
            ("access", "dynamic-cw"),
        ] {
            add(&[&format!("ap.scheme.{kind}={name}")]);
        }
        add(&["wlan.rts_threshold=0 B"]);
        if let wifair_config::Limit::Packets(packets) = scenario.ap().queue.limit {
            add(&[&format!("ap.queue.limit={} packets", packets * 4)]);
        }
    }
    for group in &scenario.file.flows {
        let name = &group.name;
        if let Transport::Tcp(tcp) = &group.transport {
            for other in ["cubic", "bbr3", "vegas", "vegas-fair", "compound-plus"] {
                if tcp.cc.name() != other {
                    add(&[&format!("flows.{name}.tcp.cc={other}")]);
                }
            }
        }
        if group.count > 1 {
            add(&[&format!("flows.{name}.count={}", group.count / 2)]);
        }
    }
    list
}

/// Plans a trial of what may help a scenario, of which `facts` tell what happened.
pub fn plan(scenario: &Scenario, facts: &[Fact]) -> TrialPlan {
    let mut arms = vec![TrialArm { changes: vec![], scenario: scenario.clone() }];
    let mut left_out = vec![];
    let mut hashes = vec![scenario.hash()];
    for changes in candidates(scenario, facts) {
        let texts: Vec<&str> = changes.iter().map(String::as_str).collect();
        match changed(scenario, &texts) {
            Ok(new) if hashes.contains(&new.hash()) => {} // the same by another way
            Ok(new) => {
                hashes.push(new.hash());
                arms.push(TrialArm { changes, scenario: new });
            }
            Err(why) => left_out.push((changes.join("; "), why)),
        }
    }
    TrialPlan { arms, left_out }
}

/// The figures by which a trial is judged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrialFigures {
    /// Jain's index.
    pub jain: f64,
    /// Goodput of all flows [bit/s].
    pub goodput_bps: f64,
    /// Mean round-trip time of the flows, or one-way delay of datagrams without one [s].
    pub latency_s: f64,
}

impl TrialFigures {
    /// The figures of each run of the evidence, in the order of its seeds.
    pub fn of(evidence: &Evidence) -> Vec<Self> {
        let cells = |name: &str, run: usize| {
            evidence.cells.numbers(name).and_then(|all| all.get(run).copied()).unwrap_or(f64::NAN)
        };
        let (cell_seeds, flow_seeds) =
            (evidence.cells.numbers("seed").unwrap_or_default(), evidence.flows.numbers("seed").unwrap_or_default());
        let column = |name: &str| evidence.flows.numbers(name).unwrap_or_default();
        let (rtt, owd) = (column("rtt_mean_s"), column("owd_mean_s"));
        (0..evidence.cells.rows())
            .map(|run| {
                let rows = (0..flow_seeds.len()).filter(|row| flow_seeds[*row] == cell_seeds[run]);
                let latency = rows.map(|row| if rtt[row].is_nan() { owd[row] } else { rtt[row] });
                Self {
                    jain: cells("jain_index", run),
                    goodput_bps: cells("goodput_bps", run),
                    latency_s: mean(latency),
                }
            })
            .collect()
    }
}

/// A mean and the half width of its 95 % interval; NaN below three values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeanInterval {
    /// The mean.
    pub mean: f64,
    /// Half the width of the interval.
    pub half_width: f64,
}

impl MeanInterval {
    /// Of independent values; NaN are left out.
    pub fn of(values: &[f64]) -> Self {
        let known: Vec<f64> = values.iter().copied().filter(|value| !value.is_nan()).collect();
        let average = mean(known.iter().copied());
        let n = known.len();
        if n < 3 {
            return Self { mean: average, half_width: f64::NAN };
        }
        let squares: f64 = known.iter().map(|value| (value - average).powi(2)).sum();
        let t = STUDENT.get(n - 2).copied().unwrap_or(1.96);
        Self { mean: average, half_width: t * (squares / (n - 1) as f64 / n as f64).sqrt() }
    }

    /// 1 if it lies above zero, -1 below, 0 if its interval does not leave out zero.
    fn side(self) -> i8 {
        // Runs that differ in nothing have no interval around their difference.
        if self.mean > self.half_width {
            1
        } else if self.mean < -self.half_width {
            -1
        } else {
            0
        }
    }
}

/// What a change did, against the scenario itself.
#[derive(Clone, Debug)]
struct TrialResult {
    label: String,
    own: [f64; 3],
    differences: [MeanInterval; 3],
}

impl TrialResult {
    /// Whether it is better (1), worse (-1) or not shown to differ (0) in fairness, goodput and latency.
    fn sides(&self) -> [i8; 3] {
        let [jain, goodput, latency] = self.differences.map(MeanInterval::side);
        [jain, goodput, -latency]
    }

    fn verdict(&self) -> String {
        let is_alike = |one: &MeanInterval| one.mean == 0.0 && one.half_width == 0.0;
        if self.differences.iter().all(is_alike) { "changes nothing here".to_owned() } else { verdict(self.sides()) }
    }
}

/// The findings of a trial.
#[derive(Clone, Debug)]
pub struct TrialReport {
    pairs: usize,
    base: [f64; 3],
    results: Vec<TrialResult>,
    left_out: Vec<(String, String)>,
}

impl TrialReport {
    /// Judges the runs of each arm of a plan, whose runs have equal seeds in equal order.
    pub fn new(plan: &TrialPlan, runs: &[Vec<TrialFigures>]) -> Self {
        let parts: [fn(&TrialFigures) -> f64; 3] = [|run| run.jain, |run| run.goodput_bps, |run| run.latency_s];
        let means = |runs: &[TrialFigures]| parts.map(|part| mean(runs.iter().map(part)));
        let first = &runs[0];
        let mut results: Vec<TrialResult> = plan.arms[1..]
            .iter()
            .zip(&runs[1..])
            .map(|(arm, own)| TrialResult {
                label: arm.label(),
                own: means(own),
                differences: parts.map(|part| {
                    MeanInterval::of(&own.iter().zip(first).map(|(new, old)| part(new) - part(old)).collect::<Vec<_>>())
                }),
            })
            .collect();
        // What helps most comes first: fairness, then latency.
        let rank = |one: &TrialResult| {
            let [jain, goodput, latency] = one.sides();
            (i32::from(jain) * 4 + i32::from(latency) * 2 + i32::from(goodput), one.own[0])
        };
        results.sort_by(|a, b| rank(b).0.cmp(&rank(a).0).then(rank(b).1.total_cmp(&rank(a).1)));
        Self { pairs: first.len(), base: means(first), results, left_out: plan.left_out.clone() }
    }

    /// The report as JSON.
    pub fn to_json(&self) -> Value {
        let number = |value: f64| if value.is_finite() { json!(value) } else { Value::Null };
        let names = ["jain_index", "goodput_bps", "latency_s"];
        let tried: Vec<Value> = self
            .results
            .iter()
            .map(|one| {
                let mut figures = serde_json::Map::new();
                for ((name, own), (difference, side)) in
                    names.iter().zip(one.own).zip(one.differences.iter().zip(one.sides()))
                {
                    let said = match side {
                        1 => "better",
                        -1 => "worse",
                        _ => "not shown",
                    };
                    figures.insert(
                        (*name).to_owned(),
                        json!({ "mean": number(own), "difference": number(difference.mean),
                                "difference_ci95": number(difference.half_width), "is": said }),
                    );
                }
                json!({ "change": one.label, "figures": figures })
            })
            .collect();
        let base: serde_json::Map<String, Value> =
            names.iter().zip(self.base).map(|(name, value)| ((*name).to_owned(), number(value))).collect();
        let left_out: Vec<Value> =
            self.left_out.iter().map(|(change, why)| json!({ "change": change, "why": why })).collect();
        json!({ "pairs": self.pairs, "base": base, "tried": tried, "left_out": left_out, "lines": self.rows() })
    }

    /// Rows of a table: a head, the scenario itself, and what was tried. The last cell says what helps.
    pub fn rows(&self) -> Vec<[String; 5]> {
        let jain = |value: f64| if value.is_nan() { "-".to_owned() } else { format!("{value:.3}") };
        let signed = |difference: &MeanInterval, show: &dyn Fn(f64) -> String| {
            let sign = if difference.mean < 0.0 { "−" } else { "+" };
            let half = if difference.half_width.is_nan() { "?".to_owned() } else { show(difference.half_width) };
            if difference.mean.is_nan() {
                "-".to_owned()
            } else {
                format!("{sign}{} ± {half}", show(difference.mean.abs()))
            }
        };
        let mut rows = vec![["", "Jain's index", "goodput", "latency", ""].map(str::to_owned)];
        rows.push(["as it is".to_owned(), jain(self.base[0]), rate(self.base[1]), time(self.base[2]), String::new()]);
        for one in &self.results {
            let [fair, goodput, latency] = &one.differences;
            rows.push([
                one.label.clone(),
                signed(fair, &jain),
                signed(goodput, &rate),
                signed(latency, &time),
                one.verdict(),
            ]);
        }
        rows
    }

    /// The changes that are left out, each with its reason.
    pub fn left_out(&self) -> &[(String, String)] {
        &self.left_out
    }

    /// Number of pairs of equal seeds.
    pub fn pairs(&self) -> usize {
        self.pairs
    }
}

/// What a change helps, and what it costs.
fn verdict(sides: [i8; 3]) -> String {
    let list = |side: i8| -> Vec<&str> {
        ["fairness", "goodput", "latency"]
            .into_iter()
            .zip(sides)
            .filter(|(_, own)| *own == side)
            .map(|(name, _)| name)
            .collect()
    };
    let (better, worse) = (list(1), list(-1));
    match (better.is_empty(), worse.is_empty()) {
        (true, true) => "no difference shown".to_owned(),
        (true, false) => format!("does not help; costs {}", worse.join(" and ")),
        (false, true) => format!("helps {}", better.join(" and ")),
        (false, false) => format!("helps {}, costs {}", better.join(" and "), worse.join(" and ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: 1, 2 and 3 have mean 2 and standard error 1/sqrt(3), and t is 4.303.
    #[test]
    fn intervals_are_those_of_student() {
        let interval = MeanInterval::of(&[1.0, 2.0, f64::NAN, 3.0]);
        assert!((interval.mean - 2.0).abs() < 1e-12);
        assert!((interval.half_width - 4.303 / 3.0_f64.sqrt()).abs() < 1e-9);
        assert!(MeanInterval::of(&[1.0, 2.0]).half_width.is_nan());
        assert_eq!(MeanInterval::of(&[1.0, 2.0]).side(), 0);
        assert_eq!(MeanInterval::of(&[1.0, 1.1, 0.9]).side(), 1);
    }
}
