//! Application workloads: their keys, and the sessions that follow from them.
//!
//! A session is a start time and a number of bytes (jung2016, section 3.1). If sessions do not wait for each other,
//! [`Workload::sessions`] generates them one at a time; draws go through `libm`, so that they are the same on every
//! platform.

use std::collections::VecDeque;

use wifair_config::{At, choice, table};
use wifair_engine::Stream;
use wifair_units::{Bytes, Duration, Time};

/// The direction of a flow's data, seen from the stations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From a station.
    Up,
    /// To a station.
    Down,
    /// Between stations.
    Peer,
    /// Not over the air.
    Wired,
}

choice! {
    /// Workload of an application.
    pub enum Workload {
        /// Sends endlessly.
        Persistent = "persistent",
        /// Sends a number of bytes once, then closes the connection.
        Transfer(Transfer) = "transfer" from "ttcp, as in kemerlis2006",
        /// Sessions given as a list.
        Sessions(ListedSessions) = "sessions" from "jung2016, section 3.1",
        /// Sessions of equal length at regular intervals.
        Periodic(Periodic) = "periodic" from "jung2016, section 3.3",
        /// Transfers or sporadic sessions that start as a Poisson process.
        Poisson(Poisson) = "poisson" from "las, section 6.2",
        /// Users who view web pages.
        Web(Web) = "web" from "las, section 6.2",
        /// Bursts of datagrams with pauses in between.
        OnOff(OnOff) = "on-off",
        /// Sessions from a table of starts and lengths.
        Trace(Trace) = "trace",
        /// Echoes that measure round-trip times, as sent by `ping`; they do not count in fairness.
        Ping(Ping) = "ping" from "RFC 792",
    }
}

choice! {
    /// The connections that carry the sessions of a flow.
    pub enum ConnectionUse {
        /// One connection that pauses between sessions; a session that is due waits for the previous one.
        Keep = "keep",
        /// A new connection for each session.
        New = "new",
    }
}

table! {
    /// One transfer.
    pub struct Transfer {
        /// Bytes to send.
        pub size: Bytes, "at least 1 B" => |size| size.0 >= 1;
    }
}

table! {
    /// Echo requests at regular intervals, each answered at once.
    pub struct Ping {
        /// Interval between requests.
        pub interval: Duration = Duration::from_millis(200), "at least 1 ms" => |interval| *interval >= Duration::from_millis(1);
        /// Payload of a request, to which 28 B of headers are added.
        pub size: Bytes = Bytes(56), "at most 65507 B" => |size| size.0 <= 65_507;
    }
}

table! {
    /// A session.
    pub struct ListedSession {
        /// Start time, counted from the start of the flow.
        pub start: Duration;
        /// Bytes to send.
        pub length: Bytes, "at least 1 B" => |length| length.0 >= 1;
    }
}

table! {
    /// Sessions listed one by one.
    pub struct ListedSessions {
        /// The sessions, ordered by start.
        pub list: Vec<ListedSession>;
        /// The connections that carry the sessions.
        pub connection: ConnectionUse = ConnectionUse::Keep;
    }
    check(sessions, at) {
        if sessions.list.is_empty() {
            at.problem("list", "no session", "write list = [{ start = \"1 s\", length = \"10 kB\" }]");
        }
        if let Some(index) = sessions.list.windows(2).position(|pair| pair[1].start < pair[0].start) {
            let (later, earlier) = (format!("list[{}].start", index + 1), format!("list[{index}].start"));
            at.clash("sessions are not in order", &[(&later, "before"), (&earlier, "this")]);
        }
    }
}

choice! {
    /// When the first session of each flow starts.
    pub enum Offset {
        /// At a time drawn uniformly from the period.
        Random = "random",
        /// Evenly spaced over the period, flow by flow.
        Even = "even",
        /// At the start of the flow.
        None = "none",
    }
}

table! {
    /// Sessions at regular intervals.
    pub struct Periodic {
        /// Bytes of each session.
        pub length: Bytes, "at least 1 B" => |length| length.0 >= 1;
        /// Interval between starts.
        pub period: Duration, "at least 1 ms" => |period| *period >= Duration::from_millis(1);
        /// When the first session starts.
        pub offset: Offset = Offset::Random;
        /// The connections that carry the sessions.
        pub connection: ConnectionUse = ConnectionUse::Keep;
    }
}

/// Whether it is a valid coefficient of variation, for the rules of keys.
fn is_positive(x: &f64) -> bool {
    *x > 0.0 && *x <= 1000.0
}

table! {
    /// Heavy-tailed sizes (Pareto).
    pub struct Pareto {
        /// Coefficient of variation (standard deviation divided by mean); the shape is `1 + sqrt(1 + 1/cov^2)`.
        pub cov: f64 = 2.0, "above 0 and at most 1000" => is_positive;
    }
}

table! {
    /// Lognormal sizes.
    pub struct Lognormal {
        /// Coefficient of variation (standard deviation divided by mean).
        pub cov: f64 = 1.0, "above 0 and at most 1000" => is_positive;
    }
}

table! {
    /// Sizes drawn from a sample.
    pub struct Empirical {
        /// The sizes, all equally likely.
        pub list: Vec<Bytes>;
    }
    check(sizes, at) {
        if sizes.list.is_empty() {
            at.problem("list", "no size to draw from", "write list = [\"2 kB\", \"30 kB\"]");
        }
    }
}

choice! {
    /// Distribution of sizes.
    pub enum SizeLaw {
        /// All sizes are equal.
        Fixed = "fixed",
        /// Exponential: the standard deviation equals the mean.
        Exponential = "exponential",
        /// Heavy-tailed (Pareto).
        Pareto(Pareto) = "pareto",
        /// Lognormal.
        Lognormal(Lognormal) = "lognormal",
        /// Drawn from a sample; `size` is then not used.
        Empirical(Empirical) = "empirical",
    }
}

table! {
    /// Sizes of transfers.
    pub struct Sizes {
        /// Distribution of sizes.
        pub law: SizeLaw = SizeLaw::Exponential;
        /// Mean size.
        pub size: Option<Bytes> = None, "at least 1 B" => |size| size.is_none_or(|size| size.0 >= 1);
    }
    check(sizes, at) {
        // A missing `size` is reported by the workload, which knows the name of its table.
        if matches!(sizes.law, SizeLaw::Empirical(_)) && sizes.size.is_some() {
            at.clash("the sample says it all", &[("size", "not used"), ("law", "sizes come from a sample")]);
        }
    }
}

table! {
    /// Transfers at random times.
    pub struct Poisson {
        /// Mean interval between starts.
        pub interval: Duration, "at least 1 us" => |interval| *interval >= Duration::from_micros(1);
        /// Sizes of transfers.
        pub sizes => Sizes;
        /// The connections that carry the transfers; `keep` gives the sporadic sessions of one user.
        pub connection: ConnectionUse = ConnectionUse::New;
        /// The most transfers; if absent, without limit.
        pub most: Option<u32> = None;
    }
    check(poisson, at) {
        poisson.sizes.require("poisson", at);
    }
}

table! {
    /// Users who view web pages. Each object of a page is a transfer of its own.
    pub struct Web {
        /// Mean interval between starts of sessions (open form); if absent, one user stays for ever (closed form).
        pub session_interval: Option<Duration> = None;
        /// Mean number of pages in a session, geometrically distributed; only in the open form.
        pub pages: f64 = 5.0, "1 or more" => |pages| *pages >= 1.0;
        /// Objects per page.
        pub objects: u32 = 3, "1 or more" => |objects| *objects >= 1;
        /// Mean time from the end of a page to the request for the next, exponentially distributed.
        pub think_time: Duration = Duration::from_millis(100);
        /// Mean time between requests for the objects of a page, exponentially distributed.
        pub object_interval: Duration = Duration::from_millis(100);
        /// Sizes of objects.
        pub sizes => Sizes;
    }
    check(web, at) {
        web.sizes.require("web", at);
    }
}

choice! {
    /// Distribution of the lengths of bursts and pauses.
    pub enum BurstLaw {
        /// Exponential.
        Exponential = "exponential",
        /// All lengths are equal.
        Fixed = "fixed",
    }
}

table! {
    /// Bursts and pauses.
    pub struct OnOff {
        /// Mean length of a burst.
        pub on: Duration, "above 0" => |on| *on > Duration::ZERO;
        /// Mean length of a pause.
        pub off: Duration, "above 0" => |off| *off > Duration::ZERO;
        /// Distribution of both.
        pub law: BurstLaw = BurstLaw::Exponential;
    }
}

table! {
    /// Sessions from a table of starts and lengths.
    pub struct Trace {
        /// A CSV file with the columns `start_s` and `bytes`; its path is relative to the scenario. The effective
        /// scenario contains its rows as `list` instead.
        pub file: Option<String> = None;
        /// The rows: start in seconds from the start of the flow, and bytes.
        pub list: Vec<[f64; 2]> = Vec::new();
        /// The connections that carry the sessions.
        pub connection: ConnectionUse = ConnectionUse::New;
    }
    check(trace, at) {
        match (&trace.file, trace.list.is_empty()) {
            (Some(_), false) => at.clash("two traces", &[("file", "either the file"), ("list", "or the list")]),
            (None, true) => at.problem("list", "no trace", "write file = \"name.csv\""),
            _ => {}
        }
        let is_wrong = |row: &[f64; 2]| row[0] < 0.0 || row[1] < 1.0 || row[0] > 1e9 || row[1] > 1e15;
        if let Some(row) = trace.list.iter().position(is_wrong) {
            at.problem(&format!("list[{row}]"), "not a session", "[start in s, bytes], as in [0.5, 10000]");
        }
        if let Some(row) = trace.list.windows(2).position(|pair| pair[1][0] < pair[0][0]) {
            let (later, earlier) = (format!("list[{}]", row + 1), format!("list[{row}]"));
            at.clash("sessions are not in order", &[(&later, "before"), (&earlier, "this")]);
        }
    }
}

/// The rows of a trace: CSV with a header that names `start_s` and `bytes`.
///
/// # Errors
/// The wrong line, and what is wrong with it.
pub(crate) fn read_trace(csv: &str) -> Result<Vec<[f64; 2]>, String> {
    let mut lines = csv.trim_start_matches('\u{feff}').lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let header: Vec<&str> = lines.next().map(|(_, line)| line.split(',').map(str::trim).collect()).unwrap_or_default();
    let column = |name: &str| {
        header.iter().position(|column| *column == name).ok_or_else(|| format!("no column `{name}` in its first line"))
    };
    let columns = [column("start_s")?, column("bytes")?];
    let mut rows = Vec::new();
    for (index, line) in lines {
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        let mut row = [0.0; 2];
        for (value, column) in row.iter_mut().zip(columns) {
            let cell = cells.get(column).copied().unwrap_or_default();
            *value =
                cell.parse().ok().filter(|x: &f64| x.is_finite() && *x >= 0.0).ok_or_else(|| {
                    format!("line {}: `{}` is not a number of 0 or more", index + 1, cell.escape_debug())
                })?;
        }
        if row[1] < 1.0 {
            return Err(format!("line {}: a session of {} bytes, at least 1", index + 1, row[1]));
        }
        if row[0] > 1e9 || row[1] > 1e15 {
            return Err(format!("line {}: at most 1e9 s and 1e15 bytes", index + 1));
        }
        if rows.last().is_some_and(|last: &[f64; 2]| row[0] < last[0]) {
            return Err(format!("line {}: starts before the line above", index + 1));
        }
        rows.push(row);
    }
    if rows.is_empty() { Err("it has no rows".to_owned()) } else { Ok(rows) }
}

/// Starts and lengths of sessions, ordered by start and generated one at a time, because there may be millions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Schedule {
    next: Option<(Time, Bytes)>,
    rest: Rest,
    end: Time,
}

#[derive(Clone, Debug, PartialEq)]
enum Rest {
    Listed(VecDeque<(Time, Bytes)>),
    Periodic { at: Time, period: Duration, length: Bytes },
    Poisson { at: Time, poisson: Box<Poisson>, left: u64, draws: Box<Stream> },
}

impl Default for Rest {
    fn default() -> Self {
        Self::Listed(VecDeque::new())
    }
}

impl From<Vec<(Time, Bytes)>> for Schedule {
    fn from(list: Vec<(Time, Bytes)>) -> Self {
        Self::new(Rest::Listed(list.into()), Time::NEVER)
    }
}

impl Schedule {
    fn new(rest: Rest, end: Time) -> Self {
        let mut schedule = Self { next: None, rest, end };
        schedule.next = schedule.draw();
        schedule
    }

    /// The next session, without removing it.
    pub fn peek(&self) -> Option<(Time, Bytes)> {
        self.next
    }

    /// Whether the sessions were listed individually.
    pub fn is_listed(&self) -> bool {
        matches!(self.rest, Rest::Listed(_))
    }

    fn draw(&mut self) -> Option<(Time, Bytes)> {
        let session = match &mut self.rest {
            Rest::Listed(list) => list.pop_front()?,
            Rest::Periodic { at, period, length } => {
                let session = (*at, *length);
                *at = at.saturating_add(*period);
                session
            }
            Rest::Poisson { at, poisson, left, draws } => {
                if *at >= self.end {
                    return None;
                }
                *left = left.checked_sub(1)?;
                let session = (*at, poisson.sizes.draw(draws));
                *at = at.saturating_add(exponential(poisson.interval, draws));
                session
            }
        };
        (session.0 < self.end).then_some(session)
    }
}

impl Iterator for Schedule {
    type Item = (Time, Bytes);

    fn next(&mut self) -> Option<(Time, Bytes)> {
        let session = self.next.take();
        self.next = self.draw();
        session
    }
}

impl Workload {
    /// The sessions from `start` to `end`, ordered by start, for flow `place` of `of` flows that were declared
    /// together; `None` for a workload without sessions, or whose sessions depend on each other.
    pub fn sessions(&self, start: Time, end: Time, (place, of): (usize, usize), mut draws: Stream) -> Option<Schedule> {
        let rest = match self {
            Self::Persistent | Self::Web(_) | Self::OnOff(_) | Self::Ping(_) => return None,
            Self::Transfer(transfer) => return Some(Schedule::from(vec![(start, transfer.size)])),
            Self::Sessions(sessions) => {
                let all = sessions.list.iter();
                Rest::Listed(all.map(|session| (start.saturating_add(session.start), session.length)).collect())
            }
            Self::Trace(trace) => {
                let at = |row: &[f64; 2]| (start.saturating_add(Duration::from_secs_f64(row[0])), whole(row[1]));
                Rest::Listed(trace.list.iter().map(at).collect())
            }
            Self::Periodic(periodic) => {
                let nanos = periodic.period.as_nanos() as f64;
                let offset = match periodic.offset {
                    Offset::Random => nanos * draws.uniform(),
                    Offset::Even => nanos * place as f64 / of as f64,
                    Offset::None => 0.0,
                };
                let at = start.saturating_add(Duration::from_nanos(offset as u64));
                Rest::Periodic { at, period: periodic.period, length: periodic.length }
            }
            Self::Poisson(poisson) => {
                let at = start.saturating_add(exponential(poisson.interval, &mut draws));
                let left = poisson.most.map_or(u64::MAX, u64::from);
                Rest::Poisson { at, poisson: Box::new(poisson.clone()), left, draws: Box::new(draws) }
            }
        };
        Some(Schedule::new(rest, end))
    }

    /// The connection that carries the sessions, if there are several sessions.
    pub fn connection(&self) -> ConnectionUse {
        match self {
            Self::Sessions(sessions) => sessions.connection,
            Self::Periodic(periodic) => periodic.connection,
            Self::Poisson(poisson) => poisson.connection,
            Self::Trace(trace) => trace.connection,
            Self::Web(_) => ConnectionUse::New,
            Self::Persistent | Self::Transfer(_) | Self::OnOff(_) | Self::Ping(_) => ConnectionUse::Keep,
        }
    }
}

/// Rounds a size to whole bytes, at least one.
fn whole(bytes: f64) -> Bytes {
    Bytes((bytes.round() as u64).max(1))
}

/// An exponentially distributed time.
pub fn exponential(mean: Duration, draws: &mut Stream) -> Duration {
    Duration::from_secs_f64(-mean.as_secs() * libm::log(1.0 - draws.uniform()))
}

impl Web {
    /// Draws the number of pages of a session, geometrically distributed and at least one.
    pub fn draw_pages(&self, draws: &mut Stream) -> u32 {
        if self.pages <= 1.0 {
            return 1;
        }
        let more = libm::floor(libm::log(1.0 - draws.uniform()) / libm::log(1.0 - 1.0 / self.pages));
        1 + more as u32
    }
}

impl OnOff {
    /// Draws the length of a burst or pause with this mean.
    pub fn draw(&self, mean: Duration, draws: &mut Stream) -> Duration {
        match self.law {
            BurstLaw::Exponential => exponential(mean, draws),
            BurstLaw::Fixed => mean,
        }
    }
}

impl Sizes {
    /// Reports a missing mean in the table of the workload called `name`.
    fn require(&self, name: &str, at: &mut At<'_>) {
        if self.size.is_none() && !matches!(self.law, SizeLaw::Empirical(_)) {
            let note = format!("write {name}.size = \"30 kB\", the mean");
            at.problem("size", &format!("`{name}.size` is missing"), &note);
        }
    }

    /// Draws a size.
    pub fn draw(&self, draws: &mut Stream) -> Bytes {
        let mean = self.size.map_or(1.0, |size| size.0 as f64);
        match &self.law {
            SizeLaw::Fixed => whole(mean),
            SizeLaw::Exponential => whole(-mean * libm::log(1.0 - draws.uniform())),
            SizeLaw::Pareto(pareto) => {
                // CoV^2 = 1 / (a (a - 2)) for the shape a, and the mean is a / (a - 1) times the least size.
                let shape = 1.0 + libm::sqrt(1.0 + 1.0 / (pareto.cov * pareto.cov));
                let least = mean * (shape - 1.0) / shape;
                whole(least * libm::pow(1.0 - draws.uniform(), -1.0 / shape))
            }
            SizeLaw::Lognormal(lognormal) => {
                let variance = libm::log1p(lognormal.cov * lognormal.cov);
                // Box-Muller transform, 1958.
                let radius = libm::sqrt(-2.0 * libm::log(1.0 - draws.uniform()));
                let normal = radius * libm::cos(std::f64::consts::TAU * draws.uniform());
                whole(mean * libm::exp(libm::sqrt(variance) * normal - variance / 2.0))
            }
            SizeLaw::Empirical(sample) => {
                let count = u32::try_from(sample.list.len()).unwrap_or(u32::MAX);
                sample.list[draws.below(count) as usize]
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use wifair_engine::stream;

    use super::*;

    const fn seconds(s: u64) -> Time {
        Time::from_nanos(s * 1_000_000_000)
    }

    #[test]
    fn periodic_sessions_have_one_offset_and_keep_their_period() {
        let periodic = |offset| {
            Workload::Periodic(Periodic {
                length: Bytes(10_000),
                period: Duration::from_secs(10),
                offset,
                connection: ConnectionUse::Keep,
            })
        };
        let draw = |offset, place| {
            let starts = periodic(offset).sessions(seconds(5), seconds(45), (place, 4), stream(1, "sessions", "up1"));
            starts.unwrap().map(|(at, _)| at).collect::<Vec<_>>()
        };
        assert_eq!(draw(Offset::None, 3), [5, 15, 25, 35].map(seconds));
        assert_eq!(draw(Offset::Even, 2), [10, 20, 30, 40].map(seconds));
        let random = draw(Offset::Random, 0);
        assert_eq!(random.len(), 4);
        assert!(random[0] >= seconds(5) && random[0] < seconds(15));
        assert_eq!(random[3] - random[2], Duration::from_secs(10));
    }

    /// 40,000 draws: the standard error of the mean is 0.5 % of it for a CoV of 1. For Pareto with CoV 2 the median has
    /// a closed form, least * 2^(1/shape) = 15.836 * 2^(1/2.118) = 21.967 for a mean of 30.
    #[test]
    fn sizes_have_the_mean_and_the_law_asked_for() {
        let sample = |law| {
            let sizes = Sizes { law, size: Some(Bytes(30_000)) };
            let mut draws = stream(3, "sizes", "test");
            let mut all: Vec<f64> = (0..40_000).map(|_| sizes.draw(&mut draws).0 as f64).collect();
            all.sort_by(f64::total_cmp);
            let mean = all.iter().sum::<f64>() / all.len() as f64;
            (mean, all[all.len() / 2])
        };
        for law in [SizeLaw::Exponential, SizeLaw::Lognormal(Lognormal { cov: 1.0 })] {
            assert!((sample(law).0 / 30_000.0 - 1.0).abs() < 4.0 * 0.005);
        }
        // Medians: mean * ln 2, and mean / sqrt(1 + CoV^2). The standard error is below 1 %.
        assert!((sample(SizeLaw::Exponential).1 / (30_000.0 * 2f64.ln()) - 1.0).abs() < 0.04);
        let lognormal = sample(SizeLaw::Lognormal(Lognormal { cov: 1.0 })).1;
        assert!((lognormal / (30_000.0 / 2f64.sqrt()) - 1.0).abs() < 0.04);
        assert!((sample(SizeLaw::Pareto(Pareto { cov: 2.0 })).1 / 21_967.0 - 1.0).abs() < 0.02);
        assert_eq!(sample(SizeLaw::Fixed), (30_000.0, 30_000.0));
    }

    #[test]
    fn poisson_arrivals_have_the_rate_asked_for() {
        let sizes = Sizes { law: SizeLaw::Fixed, size: Some(Bytes(1)) };
        let poisson =
            Poisson { interval: Duration::from_millis(100), sizes, connection: ConnectionUse::New, most: None };
        let sessions =
            Workload::Poisson(poisson).sessions(Time::ZERO, seconds(1000), (0, 1), stream(1, "s", "a")).unwrap();
        let sessions: Vec<(Time, Bytes)> = sessions.collect();
        // 10,000 expected, standard deviation 100.
        assert!((9_600..=10_400).contains(&sessions.len()), "{}", sessions.len());
        assert!(sessions.windows(2).all(|pair| pair[0].0 <= pair[1].0));
    }

    /// 40,000 draws with mean 5 and standard deviation sqrt(20): four standard errors are 0.09.
    #[test]
    fn pages_have_the_mean_asked_for() {
        let sizes = Sizes { law: SizeLaw::Fixed, size: Some(Bytes(1)) };
        let web = Web {
            session_interval: None,
            pages: 5.0,
            objects: 3,
            think_time: Duration::ZERO,
            object_interval: Duration::ZERO,
            sizes,
        };
        let mut draws = stream(1, "web", "test");
        let sum: u32 = (0..40_000).map(|_| web.draw_pages(&mut draws)).sum();
        assert!((f64::from(sum) / 40_000.0 - 5.0).abs() < 0.09);
    }

    #[test]
    fn sessions_at_the_end_of_counted_time_do_not_overflow() {
        let late = Time::from_nanos(18_000_000_000_000_000_000);
        let long = Duration::from_secs(9_000_000_000);
        let sizes = Sizes { law: SizeLaw::Fixed, size: Some(Bytes(1)) };
        let session = ListedSession { start: long, length: Bytes(1) };
        for workload in [
            Workload::Poisson(Poisson { interval: long, sizes, connection: ConnectionUse::New, most: None }),
            Workload::Sessions(ListedSessions { list: vec![session], connection: ConnectionUse::New }),
        ] {
            let sessions = workload.sessions(late, Time::NEVER, (0, 1), stream(1, "s", "a"));
            assert_eq!(sessions.map(Iterator::count), Some(0));
        }
    }

    #[test]
    fn a_trace_is_read_by_its_header() {
        assert_eq!(read_trace("bytes,start_s\n10,0.5\n20,1\n"), Ok(vec![[0.5, 10.0], [1.0, 20.0]]));
        assert_eq!(read_trace("a,b\n"), Err("no column `start_s` in its first line".into()));
        assert_eq!(read_trace("start_s,bytes\n1,x\n"), Err("line 2: `x` is not a number of 0 or more".into()));
        assert_eq!(read_trace("start_s,bytes\n2,1\n1,1\n"), Err("line 3: starts before the line above".into()));
        assert_eq!(read_trace("start_s,bytes\n1,1\n1,0\n"), Err("line 3: a session of 0 bytes, at least 1".into()));
        assert_eq!(read_trace("start_s,bytes\n1,1e16\n"), Err("line 2: at most 1e9 s and 1e15 bytes".into()));
        assert_eq!(read_trace("start_s,bytes\n"), Err("it has no rows".into()));
    }
}
