//! The typed scenario: reads the text of a file into checked stations, wired links and flows.
//!
//! [`Scenario::parse`] reads TOML, applies overrides from the command line, copies `[tcp]` into every flow, checks
//! keys, values and combinations, and expands groups. In the result every name is resolved. The keys are declared in
//! [`ScenarioFile`] and the tables in it; those of a congestion control, a queue discipline or the MAC are declared in
//! the module that uses them.

mod ap_queues;
mod beside_dsss;
mod catalogue;
mod channels;
mod device;
mod device_rules;
mod edca_keys;
mod file;
mod high_throughput;
mod ineffective;
mod movement;
mod network;
mod nodes_in_space;
mod routing;
mod seeds;
mod shadowed;
mod signal_changes;
mod space;
pub mod sweep;
mod wlan;

use std::sync::LazyLock;

use sha2::{Digest, Sha256};
use wifair_config::{
    Content, Description, Document, Override, PlacedValue, Plain, Problems, Rank, Reader, Shape, Source, Table,
};
use wifair_engine::stream;
use wifair_tcp::cc;
use wifair_units::{Duration, Time};

use crate::traffic::read_trace;

pub use crate::traffic::{
    BurstLaw, ConnectionUse, Empirical, ListedSession, ListedSessions, Lognormal, Offset, OnOff, Pareto, Periodic,
    Ping, Poisson, Schedule, SizeLaw, Sizes, Trace, Transfer, Web, Workload, exponential,
};
pub use catalogue::{CatalogueItem, catalogue};
pub use device::{ApDevice, StationDevice};
pub use edca_keys::{Aggregation, EdcaParameterSet};
pub use file::{Ap, Flows, Link, Router, ScenarioFile, ServerDirection, Servers, Stations, Transport, UdpSettings};
pub use high_throughput::OwnMode;
pub use network::{DuplexLink, Member, Network, NetworkFlow, Node, PathStep};
pub(crate) use nodes_in_space::shortest_paths;
pub use routing::{Protocol, Routing};
pub use seeds::Seeds;
pub use space::{Mode, Path, Space};
pub use wlan::{ErrorsAt, Preamble, Profile, Wlan};

/// A scenario that can be run.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// Its keys, all defaults filled in.
    pub file: ScenarioFile,
    /// Its stations, wired links and flows.
    pub network: Network,
}

impl Scenario {
    /// Reads the text of `file_name` and applies `overrides`.
    ///
    /// # Errors
    /// All problems together, each with its place. This function cannot read the files of traces: see
    /// [`Scenario::parse_with`].
    pub fn parse(text: &str, file_name: &str, overrides: &[Override]) -> Result<Self, Problems> {
        Self::parse_with(Source::file(file_name, text), overrides, &mut |_| Err("no files can be read here".to_owned()))
    }

    /// The same from a [`Source`], which may come from bytes. `load` returns the text of a file that the scenario
    /// names, or says why it cannot.
    ///
    /// # Errors
    /// All problems together, each with its place.
    pub fn parse_with(
        source: Source,
        overrides: &[Override],
        load: &mut dyn FnMut(&str) -> Result<String, String>,
    ) -> Result<Self, Problems> {
        Self::read(source, overrides, load, true)
    }

    /// The same; an emulation needs no flows, because real programs send the data.
    ///
    /// # Errors
    /// All problems together, each with its place.
    pub fn read(
        source: Source,
        overrides: &[Override],
        load: &mut dyn FnMut(&str) -> Result<String, String>,
        needs_flows: bool,
    ) -> Result<Self, Problems> {
        let mut document = Document::parse(source);
        document.set(overrides, description());
        let shadowed = shadowed::find(&document.root);
        inherit_tcp(&mut document.root);
        beside_dsss::inherit(&mut document.root);
        device_rules::inherit(&mut document.root);
        document.read_with(|mut file: ScenarioFile, root, reader| {
            if file.wlan.is_some() && !file.is_ad_hoc() {
                file.ap.get_or_insert_default();
            }
            let loaded = load_traces(&mut file, root, reader, load);
            let used = shadowed::report(&shadowed, reader) & check_common_tcp(&file, root, reader);
            let used = used & ineffective::check(&mut file, root, reader) & device_rules::check(&file, root, reader);
            device_rules::complete(&mut file);
            let network = Network::build(&file, root, reader, needs_flows)?;
            (loaded && used).then_some(Self { file, network })
        })
    }

    /// The effective scenario as a file: every default filled in, every override applied, without `[sweep]`. Reading it
    /// gives the same scenario, and equal scenarios give equal texts.
    pub fn to_toml(&self) -> String {
        effective(&self.file)
    }

    /// The Python classes that it names, each once, in the order of the file, with the required base class:
    /// `CongestionControl` or `QueueDiscipline`.
    pub fn classes(&self) -> Vec<(String, &'static str)> {
        let mut classes = Vec::new();
        collect_classes(&self.file.to_plain(), &mut classes);
        classes
    }

    /// SHA-256 of the effective scenario without its seeds, in hexadecimal. Together with the seed and the version it
    /// determines a run.
    pub fn hash(&self) -> String {
        let file = ScenarioFile { seeds: Seeds::default(), ..self.file.clone() };
        let digest = Sha256::digest(effective(&file).as_bytes());
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The access points; those of `[ap]`, or the usual ones.
    pub fn ap(&self) -> &Ap {
        static USUAL: LazyLock<Ap> = LazyLock::new(Ap::default);
        self.file.ap.as_ref().unwrap_or(&USUAL)
    }

    /// The group that a flow belongs to.
    pub fn flows_of(&self, flow: &NetworkFlow) -> &Flows {
        &self.file.flows[flow.group]
    }

    /// When a flow begins in the run with this seed.
    pub fn start(&self, flow: &NetworkFlow, seed: u64) -> Time {
        let flows = self.flows_of(flow);
        let spread = flows.start_spread.as_nanos() as f64 * stream(seed, "start", &flow.name).uniform();
        Time::ZERO + flows.start + Duration::from_nanos(spread as u64)
    }

    /// When the application of a flow stops.
    pub fn stop(&self, flow: &NetworkFlow) -> Time {
        let end = Time::ZERO + self.file.duration;
        self.flows_of(flow).stop.map_or(end, |stop| end.min(Time::ZERO + stop))
    }

    /// The sessions of a flow in the run with this seed, if they can be known in advance.
    pub fn sessions(&self, flow: &NetworkFlow, seed: u64) -> Option<Schedule> {
        let draws = stream(seed, "sessions", &flow.name);
        let workload = &self.flows_of(flow).workload;
        workload.sessions(self.start(flow, seed), self.stop(flow), flow.place, draws)
    }
}

fn collect_classes(plain: &Plain, classes: &mut Vec<(String, &'static str)>) {
    match plain {
        Plain::List(items) => items.iter().for_each(|item| collect_classes(item, classes)),
        Plain::Table(entries) => {
            for (name, value) in entries {
                if let ("python", Plain::Table(python)) = (name.as_str(), value)
                    && let Some((_, Plain::Text(class))) = python.iter().find(|(name, _)| name == "class")
                {
                    let is_queue = entries.iter().any(|(name, _)| name == "discipline");
                    let named = (class.clone(), if is_queue { "QueueDiscipline" } else { "CongestionControl" });
                    if !classes.contains(&named) {
                        classes.push(named);
                    }
                } else {
                    collect_classes(value, classes);
                }
            }
        }
        _ => {}
    }
}

/// The text of a file in which every flow has its own TCP settings, without keys that do not apply.
fn effective(file: &ScenarioFile) -> String {
    let Plain::Table(mut entries) = file.to_plain() else { unreachable!("a file is a table") };
    let misplaced = file.wlan.as_ref().map_or(&[][..], Wlan::misplaced_keys);
    for (_, wlan) in entries.iter_mut().filter(|(key, _)| key == "wlan") {
        let Plain::Table(keys) = wlan else { unreachable!("[wlan] is a table") };
        keys.retain(|(key, _)| !misplaced.contains(&key.as_str()));
    }
    entries.retain(|(key, value)| {
        key != "tcp" && key != "sweep" && !matches!(value, Plain::List(list) if list.is_empty())
    });
    Plain::Table(entries).document()
}

/// Describes a scenario file; computed once, because it is long.
fn description() -> &'static Description {
    static DESCRIPTION: LazyLock<Description> = LazyLock::new(ScenarioFile::describe);
    &DESCRIPTION
}

/// Whether the tables of the list that contains `path`, such as `stations[0].name`, have a key `name`.
fn has_key(path: &str, name: &str) -> bool {
    let list = path.split('[').next().unwrap_or_default();
    let key = description().keys.iter().find(|key| key.name == list);
    match key.map(|key| &key.shape) {
        Some(Shape::List(inner)) => matches!(&**inner, Shape::Table(table) if table.all_names().contains(&name)),
        _ => false,
    }
}

/// The JSON Schema (draft 2020-12) of scenario files.
pub fn schema() -> String {
    description().json_schema("wifair scenario")
}

/// The reference of all keys, in Markdown.
pub fn reference() -> String {
    description().markdown("Scenario files", "")
}

/// Copies `[tcp]` into the `tcp` of every flow, where the flow has no setting of its own.
fn inherit_tcp(root: &mut PlacedValue) {
    let Some(mut common) = root.get("tcp").cloned() else { return };
    if common.entries().is_empty() {
        return;
    }
    common.lower();
    let Content::Table(entries) = &mut root.content else { return };
    for entry in entries {
        match entry.name.as_str() {
            "flows" => {
                for flow in entry.node.list_mut() {
                    if let Some(own) = flow.make("tcp") {
                        own.inherit(&common);
                    }
                }
            }
            "tcp" => entry.node = common.clone(),
            _ => {}
        }
    }
}

/// Reports parameters in `[tcp]` for a congestion control that no flow uses.
fn check_common_tcp(file: &ScenarioFile, root: &PlacedValue, reader: &mut Reader) -> bool {
    let overruled = root.get("flows").into_iter().flat_map(PlacedValue::list).any(|flow| {
        let choice = flow.at("tcp.cc");
        choice.is_some_and(|choice| choice.rank == Rank::Override)
    });
    let chosen: Vec<&str> = file
        .flows
        .iter()
        .filter_map(|flows| match &flows.transport {
            Transport::Tcp(tcp) => Some(tcp.cc.name()),
            Transport::Udp(_) => None,
        })
        .collect();
    let mut good = true;
    for entry in root.get("tcp").into_iter().flat_map(PlacedValue::entries) {
        let name = entry.name.as_str();
        if cc::AlgorithmChoice::NAMES.contains(&name) && !chosen.contains(&name) && !overruled {
            good = false;
            let message = format!("`{name}` is set in [tcp] but no flow chooses it");
            reader.problem(&entry.place, Some(name), &message, &format!("for cc = \"{name}\" only"));
        }
    }
    good
}

/// Replaces the file names of traces by the rows of the files.
fn load_traces(
    file: &mut ScenarioFile,
    root: &PlacedValue,
    reader: &mut Reader,
    load: &mut dyn FnMut(&str) -> Result<String, String>,
) -> bool {
    let mut good = true;
    for (index, flows) in file.flows.iter_mut().enumerate() {
        let Workload::Trace(trace) = &mut flows.workload else { continue };
        let Some(name) = trace.file.take() else { continue };
        match load(&name).and_then(|csv| read_trace(&csv)) {
            Ok(rows) => trace.list = rows,
            Err(why) => {
                good = false;
                let place = root.at(&format!("flows[{index}].trace.file")).map(|node| node.place.clone());
                let message = format!("cannot use the trace `{}`", name.escape_debug());
                reader.problem(&place.unwrap_or_default(), Some("file"), &message, &why);
            }
        }
    }
    good
}
