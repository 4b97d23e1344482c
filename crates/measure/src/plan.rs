//! A plan with all names resolved and all defaults filled in.

use std::collections::BTreeMap;

use wifair_config::{Document, Json, Override, PlacedValue, Problems, Reader, Source, Table, hint};
use wifair_units::{BitRate, Bytes, Duration};

use crate::file::{MeasuredFlow, MeasuredTransfer, PlanFile, PlannedSessions, TransferDirection, TransportProtocol};

/// The most flows of one case.
const MOST_FLOWS: usize = 256;
/// The most cases of a plan, variations included.
const MOST_CASES: usize = 1000;

/// A measurement plan.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasurementPlan {
    /// The file, with defaults filled in.
    pub file: PlanFile,
    /// Names of the stations that take part, in the order of the file.
    pub stations: Vec<String>,
    /// The cases to run, variations expanded.
    pub cases: Vec<PlanCase>,
}

/// Flows that run at the same time.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanCase {
    /// The case's name, followed by those of its variations.
    pub name: String,
    /// The name in the file.
    pub base: String,
    /// How the stations are placed.
    pub place: String,
    /// The RTS threshold to set.
    pub rts_threshold: Option<Bytes>,
    /// The total that all stations can get at best.
    pub capacity: Option<BitRate>,
    /// The flows.
    pub flows: Vec<PlanFlow>,
}

/// One flow.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanFlow {
    /// Its name, unique within the case.
    pub name: String,
    /// The station at one end.
    pub station: String,
    /// The direction of data.
    pub direction: TransferDirection,
    /// Start of the flow, counted from the common start.
    pub start: Duration,
    /// What is transferred, and how: one of size, duration and sessions, the transport, and only what it knows.
    pub transfer: MeasuredTransfer,
    /// Index of the case in which the station runs alone.
    pub alone: Option<usize>,
    /// Index of the flow in the file's case.
    pub origin: usize,
}

impl MeasurementPlan {
    /// Reads a plan and applies `overrides`.
    ///
    /// # Errors
    /// All problems together, each with its place.
    pub fn read(source: Source, overrides: &[Override]) -> Result<Self, Problems> {
        let mut document = Document::parse(source);
        document.set(overrides, &PlanFile::describe());
        document.read_with(resolve)
    }

    /// The plan as JSON: times in seconds, sizes in bytes, rates in bit/s.
    #[must_use]
    pub fn to_json(&self) -> Json {
        let file = &self.file;
        Json::object([
            ("name", Json::text(&file.name)),
            ("description", Json::text(&file.description)),
            ("repetitions", Json::number(file.repetitions)),
            ("order", Json::text(file.order.name())),
            ("seed", Json::number(file.seed)),
            ("pause_s", seconds(file.pause)),
            ("sample_s", seconds(file.sample)),
            ("timeout_s", seconds(file.timeout)),
            ("warm_up_s", seconds(file.warm_up)),
            ("stations", Json::List(self.stations.iter().map(|name| Json::text(name)).collect())),
            ("cases", Json::List(self.cases.iter().map(PlanCase::to_json).collect())),
        ])
    }
}

impl PlanCase {
    fn to_json(&self) -> Json {
        let mut fields = vec![("name", Json::text(&self.name)), ("place", Json::text(&self.place))];
        fields.extend(self.rts_threshold.map(|threshold| ("rts_threshold", Json::number(threshold.0))));
        fields.extend(self.capacity.map(|capacity| ("capacity_bps", Json::number(capacity.as_bps()))));
        fields.push(("flows", Json::List(self.flows.iter().map(PlanFlow::to_json).collect())));
        Json::object(fields)
    }
}

impl PlanFlow {
    fn to_json(&self) -> Json {
        let mut fields = vec![
            ("name", Json::text(&self.name)),
            ("station", Json::text(&self.station)),
            ("direction", Json::text(self.direction.name())),
            ("start_s", seconds(self.start)),
        ];
        let transfer = &self.transfer;
        let sessions = |sessions: &PlannedSessions| {
            Json::object([
                ("size", Json::number(sessions.size.0)),
                ("every_s", seconds(sessions.every)),
                ("count", Json::number(sessions.count)),
            ])
        };
        fields.extend(transfer.size.map(|size| ("size", Json::number(size.0))));
        fields.extend(transfer.duration.map(|time| ("duration_s", seconds(time))));
        fields.extend(transfer.sessions.as_ref().map(|planned| ("sessions", sessions(planned))));
        fields.extend(transfer.transport.map(|transport| ("transport", Json::text(transport.name()))));
        fields.extend(transfer.cc.as_deref().map(|cc| ("cc", Json::text(cc))));
        fields.extend(transfer.mss.map(|mss| ("mss", Json::number(mss.0))));
        fields.extend(transfer.rate.map(|rate| ("rate_bps", Json::number(rate.as_bps()))));
        fields.extend(transfer.payload.map(|payload| ("payload", Json::number(payload.0))));
        fields.extend(transfer.send_buffer.map(|size| ("send_buffer", Json::number(size.0))));
        fields.extend(transfer.receive_buffer.map(|size| ("receive_buffer", Json::number(size.0))));
        fields.extend(self.alone.map(|index| ("alone", Json::number(index))));
        Json::object(fields)
    }
}

fn seconds(time: Duration) -> Json {
    let nanos = time.as_nanos();
    Json::Number(format!("{}.{:09}", nanos / 1_000_000_000, nanos % 1_000_000_000))
}

/// Resolves the names of a plan whose tables have each been checked.
fn resolve(file: PlanFile, root: &PlacedValue, reader: &mut Reader) -> Option<MeasurementPlan> {
    let mut resolver = Resolver { root, reader, good: true, is_quiet: false };
    if file.cases.is_empty() {
        resolver.problem("", "there is nothing to measure", "write [[cases]]");
    }
    let groups = resolver.stations(&file);
    let mut cases = Vec::new();
    for index in 0..file.cases.len() {
        if file.cases[..index].iter().any(|earlier| earlier.name == file.cases[index].name) {
            let message = format!("two cases are called `{}`", file.cases[index].name);
            resolver.problem(&format!("cases[{index}].name"), &message, "this is the second");
        }
        resolver.case(&file, index, &groups, &mut cases);
    }
    if cases.len() > MOST_CASES {
        resolver.problem("cases", &format!("there are {} cases", cases.len()), &format!("at most {MOST_CASES}"));
    }
    if resolver.good {
        resolver.alone(&file, &mut cases);
    }
    if !resolver.good {
        return None;
    }
    let used = |name: &String| cases.iter().any(|case| case.flows.iter().any(|flow| flow.station == *name));
    let stations = file.stations.iter().flat_map(|group| groups[&group.name].clone()).filter(used).collect();
    Some(MeasurementPlan { file, stations, cases })
}

struct Resolver<'a> {
    root: &'a PlacedValue,
    reader: &'a mut Reader,
    good: bool,
    /// Whether problems have been reported already.
    is_quiet: bool,
}

impl Resolver<'_> {
    fn problem(&mut self, path: &str, message: &str, note: &str) {
        self.good = false;
        if self.is_quiet {
            return;
        }
        let node = self.root.at(path).unwrap_or(self.root);
        let key = path.rsplit('.').next().filter(|key| !key.is_empty());
        self.reader.problem(&node.place, key, message, note);
    }

    /// The stations of each group.
    fn stations(&mut self, file: &PlanFile) -> BTreeMap<String, Vec<String>> {
        let mut groups = BTreeMap::new();
        let mut taken: Vec<String> = Vec::new();
        for (index, group) in file.stations.iter().enumerate() {
            let path = format!("stations[{index}].name");
            if !is_name(&group.name) {
                self.problem(&path, &format!("`{}` is no name of a station", group.name), NAME);
            }
            let names = numbered(&group.name, group.count as usize);
            if let Some(name) = names.iter().find(|name| taken.contains(name)) {
                self.problem(&path, &format!("two stations are called `{name}`"), "this is the second");
            }
            taken.extend(names.clone());
            groups.insert(group.name.clone(), names);
        }
        groups
    }

    /// Adds the variations of a case.
    fn case(
        &mut self,
        file: &PlanFile,
        index: usize,
        groups: &BTreeMap<String, Vec<String>>,
        cases: &mut Vec<PlanCase>,
    ) {
        let case = &file.cases[index];
        let at = format!("cases[{index}]");
        if case.flows.is_empty() {
            self.problem(&at, &format!("case `{}` has no flows", case.name), "write [[cases.flows]]");
            return;
        }
        let undirected = case.flows.iter().any(|flow| flow.direction.is_none());
        match (case.directions.is_empty(), undirected) {
            (false, false) => {
                self.problem(&format!("{at}.directions"), "every flow has a direction of its own", "leave this out");
            }
            (true, true) => self.problem(&at, "the flows have no direction", "write directions = [\"up\", \"down\"]"),
            _ => {}
        }
        for (list, again) in [
            ("directions", repeated(&case.directions).map(|way| way.name().to_owned())),
            ("rts_thresholds", repeated(&case.rts_thresholds).map(ToString::to_string)),
        ] {
            if let Some(value) = again {
                self.problem(&format!("{at}.{list}"), &format!("`{list}` has {value} twice"), "leave one out");
            }
        }
        for threshold in case.rts_thresholds.iter().filter(|threshold| threshold.0 > 2347) {
            // IEEE 802.11-2020, dot11RTSThreshold; Linux accepts up to 2347, which means off.
            let message = format!("an RTS threshold of {threshold}");
            self.problem(&format!("{at}.rts_thresholds"), &message, "must be at most 2347 B, which switches RTS off");
        }
        let ways: Vec<Option<TransferDirection>> =
            if case.directions.is_empty() { vec![None] } else { case.directions.iter().copied().map(Some).collect() };
        let thresholds: Vec<Option<Bytes>> = if case.rts_thresholds.is_empty() {
            vec![None]
        } else {
            case.rts_thresholds.iter().copied().map(Some).collect()
        };
        for (number, threshold) in thresholds.iter().enumerate() {
            for (way_number, way) in ways.iter().enumerate() {
                let mut name = case.name.clone();
                if let (Some(way), 2..) = (way, ways.len()) {
                    name = format!("{name}, {way}");
                }
                if let (Some(threshold), 2..) = (threshold, thresholds.len()) {
                    name = format!("{name}, RTS {threshold}");
                }
                // Report each problem of a flow once, not once for every variation.
                self.is_quiet = number > 0 || way_number > 0;
                cases.push(PlanCase {
                    name,
                    base: case.name.clone(),
                    place: case.place.clone(),
                    rts_threshold: *threshold,
                    capacity: case.capacity.or(file.capacity),
                    flows: self.flows(file, index, *way, groups),
                });
            }
        }
        self.is_quiet = false;
    }

    /// The flows of a case; flows without a direction get `way`.
    fn flows(
        &mut self,
        file: &PlanFile,
        index: usize,
        way: Option<TransferDirection>,
        groups: &BTreeMap<String, Vec<String>>,
    ) -> Vec<PlanFlow> {
        let mut flows: Vec<PlanFlow> = Vec::new();
        for (number, flow) in file.cases[index].flows.iter().enumerate() {
            let at = format!("cases[{index}].flows[{number}]");
            let Some(stations) = groups.get(&flow.station) else {
                let known: Vec<&str> = groups.keys().map(String::as_str).collect();
                let note = match hint(&flow.station, &known) {
                    note if note.is_empty() => format!("write [[stations]] with name = \"{}\"", flow.station),
                    note => note,
                };
                self.problem(&format!("{at}.station"), &format!("unknown station `{}`", flow.station), &note);
                continue;
            };
            let Some(transfer) = self.transfer(file, flow, &at) else { continue };
            let names = names(flow, stations);
            if let Some(name) = names.iter().find(|name| flows.iter().any(|flow| flow.name == **name)) {
                let message = format!("two flows of case `{}` are called `{name}`", file.cases[index].name);
                self.problem(&at, &message, "write name = \"...\" to tell them apart");
                continue;
            }
            if flows.len() + names.len() > MOST_FLOWS {
                let message = format!("more than {MOST_FLOWS} flows at the same time");
                self.problem(&at, &message, "with this one");
                break;
            }
            for (place, name) in names.into_iter().enumerate() {
                flows.push(PlanFlow {
                    name,
                    station: stations[place / flow.count as usize].clone(),
                    direction: flow.direction.or(way).unwrap_or(TransferDirection::Up),
                    start: flow.start,
                    transfer: transfer.clone(),
                    alone: None,
                    origin: number,
                });
            }
        }
        flows
    }

    /// What a flow transfers, and how; what it does not set itself is taken from `[transfer]`.
    fn transfer(&mut self, file: &PlanFile, flow: &MeasuredFlow, at: &str) -> Option<MeasuredTransfer> {
        let mut refuse = |key: &str, message: &str, note: &str| {
            // Keys that the flow does not set itself are taken from `[transfer]`.
            let own = format!("{at}.{key}");
            let path = if self.root.at(&own).is_some() { own } else { format!("transfer.{key}") };
            let path = if self.root.at(&path).is_some() { path } else { at.to_owned() };
            self.problem(&path, message, note);
            None
        };
        let (own, default) = (&flow.transfer, &file.transfer);
        let Some(amount) = [own, default].into_iter().find(|transfer| transfer.has_amount()) else {
            return refuse(
                "size",
                "the flow has nothing to transfer",
                "write size = \"15 MiB\" or duration = \"10 s\"",
            );
        };
        let sessions = amount.sessions.as_ref().map(|sessions| sessions.every * u64::from(sessions.count));
        let span = amount.duration.or(sessions).unwrap_or(Duration::ZERO);
        let key = if sessions.is_some() { "sessions" } else { "duration" };
        if flow.start + span >= file.timeout {
            let message = format!("the flow ends {} after the start at the earliest", flow.start + span);
            return refuse(key, &message, &format!("`timeout` is {}", file.timeout));
        }
        if span > Duration::ZERO && flow.start + span <= file.warm_up {
            let message = format!("the flow ends {} after the start", flow.start + span);
            return refuse(key, &message, &format!("`warm_up` is {}", file.warm_up));
        }
        let transport = own.transport.or(default.transport).unwrap_or(TransportProtocol::Tcp);
        let is_tcp = transport == TransportProtocol::Tcp;
        let (others, theirs, remedy) = if is_tcp {
            ([("rate", own.rate.is_some()), ("payload", own.payload.is_some())], "UDP", "write transport = \"udp\"")
        } else {
            ([("cc", own.cc.is_some()), ("mss", own.mss.is_some())], "TCP", "write transport = \"tcp\"")
        };
        if let Some((key, _)) = others.into_iter().find(|(_, said)| *said) {
            return refuse(key, &format!("`{key}` is for {theirs}"), remedy);
        }
        let rate = own.rate.or(default.rate);
        if !is_tcp && sessions.is_some() {
            return refuse("sessions", "sessions need TCP", "write size or duration instead");
        }
        if !is_tcp && rate.is_none() {
            return refuse("transport", "UDP needs a rate", "write rate = \"2 Mb/s\" too");
        }
        Some(MeasuredTransfer {
            transport: Some(transport),
            cc: own.cc.clone().or_else(|| default.cc.clone()).filter(|_| is_tcp),
            mss: own.mss.or(default.mss).filter(|_| is_tcp),
            send_buffer: own.send_buffer.or(default.send_buffer),
            receive_buffer: own.receive_buffer.or(default.receive_buffer),
            rate: rate.filter(|_| !is_tcp),
            payload: own.payload.or(default.payload).or(Some(Bytes(1472))).filter(|_| !is_tcp),
            ..amount.clone()
        })
    }

    /// For each flow, finds the case in which its station runs alone.
    fn alone(&mut self, file: &PlanFile, cases: &mut [PlanCase]) {
        for index in 0..cases.len() {
            for number in 0..cases[index].flows.len() {
                let case = &cases[index];
                let origin = case.flows[number].origin;
                let base = file.cases.iter().position(|other| other.name == case.base).expect("it stands in the file");
                let said = file.cases[base].flows[origin].alone.as_deref();
                let path = format!("cases[{base}].flows[{origin}].alone");
                let found = match said {
                    Some(wanted) => cases.iter().position(|o| o.base == wanted && shows_alone(o, case, number)),
                    None => only_alone(cases, case, number),
                };
                match (said, found) {
                    (_, Some(alone)) => cases[index].flows[number].alone = Some(alone),
                    (None, None) => {}
                    (Some(wanted), None) => {
                        let known: Vec<&str> = file.cases.iter().map(|case| case.name.as_str()).collect();
                        if known.contains(&wanted) {
                            let message = format!("case `{wanted}` does not show the flow alone");
                            self.problem(&path, &message, "it needs one flow, of this direction and RTS threshold");
                        } else {
                            self.problem(&path, &format!("unknown case `{wanted}`"), &hint(wanted, &known));
                        }
                        return;
                    }
                }
            }
        }
    }
}

/// Whether `other` consists of a single flow that equals the flow `number` of `case`.
fn shows_alone(other: &PlanCase, case: &PlanCase, number: usize) -> bool {
    other.flows.len() == 1
        && other.flows[0].direction == case.flows[number].direction
        && other.rts_threshold == case.rts_threshold
}

/// The case in which the station transfers bulk data alone under the same conditions: the only one at the same place,
/// or the only one at all.
fn only_alone(others: &[PlanCase], case: &PlanCase, number: usize) -> Option<usize> {
    if case.flows.len() == 1 {
        return None;
    }
    let flow = &case.flows[number];
    let alike = |other: &PlanFlow| {
        let (one, two) = (&flow.transfer, &other.transfer);
        other.station == flow.station
            && one.sessions.is_none()
            && two.sessions.is_none()
            && one.transport == two.transport
    };
    let alone = |index: &usize| {
        let other = &others[*index];
        shows_alone(other, case, number) && alike(&other.flows[0])
    };
    let anywhere: Vec<usize> = (0..others.len()).filter(alone).collect();
    let here: Vec<usize> = anywhere.iter().copied().filter(|index| others[*index].place == case.place).collect();
    match (&here[..], &anywhere[..]) {
        (&[only], _) | (_, &[only]) => Some(only),
        _ => None,
    }
}

/// Names of the flows between each station and the server, station by station.
fn names(flow: &MeasuredFlow, stations: &[String]) -> Vec<String> {
    let count = flow.count as usize;
    if let Some(name) = &flow.name {
        return numbered(name, stations.len() * count);
    }
    let of = |station: &String| match count {
        1 => vec![station.clone()],
        _ => (1..=count).map(|number| format!("{station}-{number}")).collect(),
    };
    stations.iter().flat_map(of).collect()
}

/// Numbers a name that occurs several times; a unique name stays as it is.
fn numbered(name: &str, count: usize) -> Vec<String> {
    if count == 1 { vec![name.to_owned()] } else { (1..=count).map(|number| format!("{name}{number}")).collect() }
}

fn repeated<T: PartialEq>(list: &[T]) -> Option<&T> {
    list.iter().enumerate().find(|(index, value)| list[..*index].contains(value)).map(|(_, value)| value)
}

const NAME: &str = "write letters, digits, ., - and _, at most 60";

/// Whether a name is valid for a station: it is sent over the network and used in file names.
fn is_name(name: &str) -> bool {
    let known = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    (1..=60).contains(&name.len()) && name.chars().all(known) && !name.starts_with(['.', '-'])
}
