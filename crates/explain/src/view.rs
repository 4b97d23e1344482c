//! The evidence as means over the runs, by flow and station, with what the scenario says of them.

use wifair_config::Limit;
use wifair_sim::scenario::{Flows, NetworkFlow, Node, Scenario, Transport, Workload};
use wifair_tcp::TcpSettings;

use crate::table::{Evidence, FigureTable};

/// A flow below this part of the mean goodput is looked at: it is starved, or asked for little.
pub(crate) const STARVED: f64 = 0.1;
/// A flow that gets this part of what it asks for has got it; the rest is under way, or lost.
const SATED: f64 = 0.95;
/// A flow is late if it starts after this part of the measured time.
const LATE: f64 = 0.05;
/// The shortest measured time that explains anything [s].
pub(crate) const SHORTEST_S: f64 = 0.5;
/// The least packets of a flow, or frames of a station, that a comparison needs.
pub(crate) const FEWEST: f64 = 100.0;

/// Rows of a table with equal names.
pub(crate) struct Means<'a> {
    table: &'a FigureTable,
    /// The names, each once, in the order of the table.
    pub names: Vec<String>,
    rows: Vec<Vec<usize>>,
}

impl<'a> Means<'a> {
    fn new(table: &'a FigureTable) -> Self {
        let mut names: Vec<String> = vec![];
        let mut rows: Vec<Vec<usize>> = vec![];
        let mut places = std::collections::BTreeMap::new();
        for (row, name) in table.texts("name").unwrap_or_default().iter().enumerate() {
            let place = *places.entry(name).or_insert(names.len());
            if place == names.len() {
                names.push(name.clone());
                rows.push(vec![]);
            }
            rows[place].push(row);
        }
        Self { table, names, rows }
    }

    pub fn has(&self, column: &str) -> bool {
        self.table.has(column)
    }

    /// The mean of a column over the runs for each name; NaN where nothing is known, or there is no such column.
    pub fn of(&self, column: &str) -> Vec<f64> {
        let Some(values) = self.table.numbers(column) else { return vec![f64::NAN; self.names.len()] };
        self.rows.iter().map(|rows| mean(rows.iter().map(|row| values[*row]))).collect()
    }

    /// A text that is the same in all runs.
    pub fn text(&self, column: &str) -> Vec<&'a str> {
        let texts = self.table.texts(column).unwrap_or_default();
        self.rows.iter().map(|rows| texts.get(rows[0]).map_or("", String::as_str)).collect()
    }

    pub fn place(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|known| known == name)
    }
}

/// The mean of what is known; NaN if nothing is.
pub(crate) fn mean(values: impl IntoIterator<Item = f64>) -> f64 {
    let (mut sum, mut count) = (0.0, 0.0);
    for value in values {
        if !value.is_nan() {
            sum += value;
            count += 1.0;
        }
    }
    sum / count
}

pub(crate) fn greatest(values: &[f64]) -> Option<usize> {
    (0..values.len())
        .filter(|at| !values[*at].is_nan())
        .reduce(|best, at| if values[at] > values[best] { at } else { best })
}

pub(crate) fn least(values: &[f64]) -> Option<usize> {
    (0..values.len())
        .filter(|at| !values[*at].is_nan())
        .reduce(|best, at| if values[at] < values[best] { at } else { best })
}

/// Places of the values above `bound`, the greatest first.
pub(crate) fn ranked_above(values: &[f64], bound: f64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).filter(|at| values[*at] > bound).collect();
    order.sort_by(|a, b| values[*b].total_cmp(&values[*a]));
    order
}

/// What rules look at.
pub(crate) struct View<'a> {
    pub evidence: &'a Evidence,
    pub flows: Means<'a>,
    pub stations: Means<'a>,
    /// Number of runs.
    pub runs: usize,
    /// Measured time [s]; NaN if unknown, as of captures.
    pub measured_s: f64,
    /// Directions of the flows.
    pub directions: Vec<&'a str>,
    /// Whether each flow is one of datagrams: the scenario says so, or it has a call rating.
    pub datagrams: Vec<bool>,
    /// Whether each flow carries data that could be more: no echo, and in a capture no request, reply or control.
    pub counts: Vec<bool>,
    /// Whether each flow is known to have got what it asked for.
    pub sated: Vec<bool>,
    /// Whether each flow always had something to send, as far as is known.
    pub persistent: Vec<bool>,
    /// The flows of the scenario; `None` where unknown.
    known: Vec<Option<&'a NetworkFlow>>,
}

impl<'a> View<'a> {
    pub fn new(evidence: &'a Evidence) -> Self {
        let flows = Means::new(&evidence.flows);
        let scenario = evidence.scenario.as_ref();
        let whole = scenario.map(|one| one.file.duration.nearest_secs() - one.file.warm_up.nearest_secs());
        let by_name: std::collections::BTreeMap<&str, &NetworkFlow> = scenario
            .into_iter()
            .flat_map(|scenario| &scenario.network.flows)
            .map(|flow| (flow.name.as_str(), flow))
            .collect();
        let known: Vec<_> = flows.names.iter().map(|name| by_name.get(name.as_str()).copied()).collect();
        let mut view = Self {
            directions: flows.text("direction"),
            stations: Means::new(&evidence.stations),
            runs: evidence.cells.rows(),
            measured_s: evidence.measured_s.or(whole).unwrap_or(f64::NAN),
            datagrams: vec![],
            counts: vec![],
            sated: vec![],
            persistent: vec![],
            evidence,
            flows,
            known,
        };
        let mos = view.flows.of("mos");
        view.datagrams = (0..mos.len())
            .map(|flow| {
                view.group(flow).map_or(mos[flow].is_finite(), |one| matches!(one.transport, Transport::Udp(_)))
            })
            .collect();
        let roles = view.flows.text("role");
        view.counts = (0..mos.len()).map(|flow| !view.is_ping(flow) && matches!(roles[flow], "" | "data")).collect();
        view.sated = view.find_sated();
        let always = |group: &Flows| group.workload == Workload::Persistent && group.stop.is_none();
        let wants_more: Vec<bool> = (0..view.flows.names.len())
            .map(|flow| view.counts[flow] && !view.sated[flow] && view.group(flow).is_none_or(always))
            .collect();
        // Late flows are compared with each other only: the means of others are over a longer time.
        let all_late = (0..wants_more.len()).all(|flow| !wants_more[flow] || view.is_late(flow));
        view.persistent =
            (0..wants_more.len()).map(|flow| wants_more[flow] && (all_late || !view.is_late(flow))).collect();
        view
    }

    /// Datagrams do not wait, but a session of TCP may be the slower the less it gets.
    fn find_sated(&self) -> Vec<bool> {
        let (goodput, asked) = (self.flows.of("goodput_bps"), self.flows.of("asked_bps"));
        let average = mean(goodput.iter().copied());
        (0..goodput.len())
            .map(|flow| {
                (self.datagrams[flow] || goodput[flow] < STARVED * average) && goodput[flow] >= SATED * asked[flow]
            })
            .collect()
    }

    /// Whether a flow starts well after the warm-up, but before the end.
    pub fn is_late(&self, flow: usize) -> bool {
        let (Some(scenario), Some(group)) = (self.scenario(), self.group(flow)) else { return false };
        let (begin, end) = (scenario.file.warm_up.nearest_secs(), scenario.file.duration.nearest_secs());
        let start = group.start.nearest_secs();
        start > begin + LATE * (end - begin) && start < end
    }

    pub fn scenario(&self) -> Option<&'a Scenario> {
        self.evidence.scenario.as_ref()
    }

    /// Whether the measured time is long enough to explain anything; that of captures is judged by packets alone.
    pub fn is_long_enough(&self) -> bool {
        self.measured_s.is_nan() || self.measured_s >= SHORTEST_S
    }

    /// A figure of the cell: its mean over the runs, NaN if unknown.
    pub fn cell(&self, name: &str) -> f64 {
        self.evidence.cells.numbers(name).map_or(f64::NAN, |values| mean(values.iter().copied()))
    }

    /// The flow in the scenario.
    pub fn known(&self, flow: usize) -> Option<&'a NetworkFlow> {
        self.known[flow]
    }

    /// The group of a flow.
    pub fn group(&self, flow: usize) -> Option<&'a Flows> {
        Some(self.scenario()?.flows_of(self.known[flow]?))
    }

    /// The TCP settings of a flow; `None` if it is none of TCP, or unknown.
    pub fn tcp(&self, flow: usize) -> Option<&'a TcpSettings> {
        match &self.group(flow)?.transport {
            Transport::Tcp(settings) => Some(settings),
            Transport::Udp(_) => None,
        }
    }

    /// Whether a flow only measures, as ping does.
    pub fn is_ping(&self, flow: usize) -> bool {
        self.group(flow).is_some_and(|group| matches!(group.workload, Workload::Ping(_)))
    }

    /// The ends of a flow.
    pub fn ends(&self, flow: usize) -> Option<(Node, Node)> {
        self.known[flow].map(|flow| (flow.from, flow.to))
    }

    /// What the idle round trip of a flow depends on: its station's group and its server; `None` if unknown.
    pub fn same_path(&self, flow: usize) -> Option<(usize, Node)> {
        let scenario = self.scenario()?;
        match self.ends(flow)? {
            (Node::Station(station), other) | (other, Node::Station(station)) => {
                Some((scenario.network.stations[station].group, other))
            }
            _ => None,
        }
    }

    /// The name of the station that a flow is from or for.
    pub fn station(&self, flow: usize) -> Option<String> {
        let scenario = self.scenario()?;
        let (from, to) = self.ends(flow)?;
        let node = [from, to].into_iter().find(|node| matches!(node, Node::Station(_)))?;
        Some(scenario.name_of(node))
    }

    /// The most segments that a flow may have in flight: the least of receive window and `max_cwnd`.
    pub fn window(&self, flow: usize) -> f64 {
        let Some(tcp) = self.tcp(flow) else { return f64::NAN };
        let segments = |limit: &Limit| match limit {
            Limit::Packets(packets) => *packets as f64,
            Limit::Bytes(bytes) => bytes.0 as f64 / tcp.mss.0 as f64,
        };
        tcp.max_cwnd.as_ref().map_or(f64::INFINITY, segments).min(segments(&tcp.receive_window))
    }

    /// Says that a number is a mean over several runs.
    pub fn each_run(&self) -> &'static str {
        if self.runs > 1 { " per run" } else { "" }
    }

    /// The names of the flows for which something is true.
    pub fn names(&self, which: impl Fn(usize) -> bool) -> Vec<String> {
        (0..self.flows.names.len()).filter(|flow| which(*flow)).map(|flow| self.flows.names[flow].clone()).collect()
    }

    /// The rows of a column of flows, one for each flow and run.
    pub fn rows(&self, column: &str) -> Vec<f64> {
        self.evidence.flows.numbers(column).map(<[f64]>::to_vec).unwrap_or_default()
    }
}
