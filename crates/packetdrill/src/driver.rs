//! Plays a script on a [`ScriptHost`] in simulated time.
//!
//! Times are compared as in packetdrill: a relative time counts from the previous event, or from its scheduled time if
//! two injected segments follow each other; and an expected segment may be early or late by the tolerance, which is 4
//! ms or an eighth of the time since the previous event, whichever is more. Segments are compared by byte ranges: what
//! is one segment in the script may be sent as several in a row, of which the last has the flags.

use wifair_units::{Duration, Time};

use crate::compare::difference;
use crate::error::{ScriptPlace, ScriptStop};
use crate::expression::{Variables, run as run_code};
use crate::host::ScriptHost;
use crate::parser::parse;
use crate::script::{Event, Script, ScriptAction, ScriptSegment, SystemCall, When};
use crate::system::{ReadFile, System};

/// The verdict on a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScriptVerdict {
    /// Everything happens as the script says.
    Pass,
    /// Something differs from the script.
    Differs,
    /// The script uses something that is not supported.
    Unsupported,
    /// The script is malformed.
    Error,
}

impl ScriptVerdict {
    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Differs => "differs",
            Self::Unsupported => "unsupported",
            Self::Error => "error",
        }
    }
}

/// The verdict on a script, with place and reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The verdict.
    pub verdict: ScriptVerdict,
    /// The place of the deciding event or error; `None` for a script that passes.
    pub place: Option<ScriptPlace>,
    /// The reason in one line; empty for a script that passes.
    pub reason: String,
}

/// How to run a script.
#[derive(Clone, Copy, Debug, Default)]
pub struct PlayOptions {
    /// Tolerance of times, in microseconds; overrides that of the script.
    pub tolerance_us: Option<u64>,
}

/// The most steps of the host between two events of a script.
const MAX_STEPS: u32 = 200_000;

/// The default tolerance: this many microseconds, or the given fraction of the time since the previous event.
const TOLERANCE_US: i64 = 4000;
const TOLERANCE_PARTS: i64 = 8;

/// Parses and runs a script; `read` returns the text of the files that it names.
pub fn run(text: &str, options: PlayOptions, read: ReadFile<'_>) -> Report {
    let script = match parse(text) {
        Ok(script) => script,
        Err(error) => {
            return Report { verdict: ScriptVerdict::Error, place: Some(error.place), reason: error.message };
        }
    };
    let mut driver = match Driver::new(&script, options, read) {
        Ok(driver) => driver,
        Err(report) => return report,
    };
    let last = script.events.last().map(|event| event.place).unwrap_or_default();
    let end = Event { place: last, when: When::Any, action: ScriptAction::Code(Vec::new()) };
    for event in script.events.iter().chain([&end]) {
        let stopped = match driver.event(event) {
            Ok(()) => continue,
            Err(stopped) => stopped,
        };
        let (verdict, reason) = match stopped {
            ScriptStop::Differs(reason) => (ScriptVerdict::Differs, reason),
            ScriptStop::Unsupported(reason) => (ScriptVerdict::Unsupported, reason),
        };
        return Report { verdict, place: Some(event.place), reason };
    }
    Report { verdict: ScriptVerdict::Pass, place: None, reason: String::new() }
}

struct Driver<'a> {
    host: ScriptHost,
    read: ReadFile<'a>,
    tolerance_us: i64,
    tolerance_parts: i64,
    /// Microseconds per tick of the script's timestamps; `None` if timestamps are not compared.
    tick_us: Option<i64>,
    variables: Variables,
    /// Scheduled time of the previous event, and whether it injected a segment.
    before: (i64, bool),
    /// A blocking call in progress, and when it returns.
    blocked: Option<(i64, SystemCall)>,
}

const fn seconds(micros: i64) -> f64 {
    micros as f64 / 1e6
}

fn micros(time: Time) -> i64 {
    (time.as_nanos() / 1000) as i64
}

/// How long `*` waits, in microseconds. Small enough that sums with it still fit into a [`Time`].
const FOREVER_US: i64 = i64::MAX / 8000;

fn time(micros: i64) -> Time {
    Time::ZERO + Duration::from_micros(u64::try_from(micros).unwrap_or(0))
}

/// A difference, with the time at which it is found, in microseconds.
fn at(micros: i64, stop: ScriptStop) -> ScriptStop {
    match stop {
        ScriptStop::Differs(reason) => ScriptStop::Differs(format!("at {:.6} s, {reason}", seconds(micros))),
        other => other,
    }
}

impl<'a> Driver<'a> {
    fn new(script: &Script, options: PlayOptions, read: ReadFile<'a>) -> Result<Self, Report> {
        let mut driver = Self {
            host: ScriptHost::new(System::default()),
            read,
            tolerance_us: TOLERANCE_US,
            tolerance_parts: TOLERANCE_PARTS,
            tick_us: None,
            variables: Variables::new(),
            before: (0, false),
            blocked: None,
        };
        for (place, name, value) in &script.options {
            let number: Option<i64> = value.parse().ok().filter(|number| (0..=1_000_000_000).contains(number));
            match (name.as_str(), number) {
                ("tolerance_usecs", Some(number)) => driver.tolerance_us = number,
                ("tcp_ts_tick_usecs", Some(number)) => driver.tick_us = Some(number).filter(|tick| *tick > 0),
                ("mtu", Some(number)) => driver.host.system.mtu = u16::try_from(number).unwrap_or(u16::MAX),
                ("ip_version", _) if value == "ipv4" => {}
                (
                    "local_ip" | "remote_ip" | "gateway_ip" | "netmask_ip" | "bind_port" | "connect_port" | "verbose"
                    | "dry_run" | "timeout" | "mss" | "init_scripts" | "speed" | "non_fatal" | "define",
                    _,
                ) => {}
                _ => {
                    return Err(Report {
                        verdict: ScriptVerdict::Unsupported,
                        place: Some(*place),
                        reason: format!("the option `--{name}={value}`"),
                    });
                }
            }
        }
        if let Some(tolerance) = options.tolerance_us {
            driver.tolerance_us = i64::try_from(tolerance).unwrap_or(FOREVER_US).min(FOREVER_US);
            driver.tolerance_parts = i64::MAX;
        }
        Ok(driver)
    }

    fn event(&mut self, event: &Event) -> Result<(), ScriptStop> {
        let injects = matches!(event.action, ScriptAction::Inject(_));
        let now = micros(self.host.now);
        let base = if injects && self.before.1 { self.before.0 } else { now };
        let (start, end) = match event.when {
            When::Any => (now, FOREVER_US),
            When::Absolute(start, end) => (start, end),
            When::Relative(start, end) => (base + start, base + end),
        };
        match &event.action {
            ScriptAction::Expect(segment) => {
                let slack = self.tolerance_us.max((start - now) / self.tolerance_parts);
                self.expect(segment, start, end, slack)?;
            }
            other => {
                if start < now - self.tolerance_us {
                    return ScriptStop::differs(format!(
                        "this was to happen at {:.6} s, and it is {:.6} s already",
                        seconds(start),
                        seconds(now)
                    ));
                }
                self.unblock(if matches!(event.when, When::Any) { FOREVER_US } else { start })?;
                self.advance(start)?;
                match other {
                    ScriptAction::Inject(segment) => self.host.inject(segment),
                    ScriptAction::SystemCall(call) => match call.end {
                        // These calls wait for the peer; all others take effect at once.
                        Some(end)
                            if ["accept", "accept4", "read", "recv", "recvfrom"].contains(&call.name.as_str()) =>
                        {
                            let relative = matches!(event.when, When::Relative(..));
                            self.blocked = Some((end + if relative { base } else { 0 }, call.clone()));
                        }
                        _ => self.call(call, start)?,
                    },
                    ScriptAction::Command(text) => {
                        self.host.system.apply(text, self.read).map_err(ScriptStop::Unsupported)?;
                    }
                    ScriptAction::Code(code) => {
                        let host = &self.host;
                        let lookup = |name: &str| host.variable(name);
                        run_code(code, &mut self.variables, &lookup).map_err(|stop| at(start, stop))?;
                    }
                    ScriptAction::Unsupported(what) => return ScriptStop::unsupported(what),
                    ScriptAction::Expect(_) => {}
                }
            }
        }
        self.before = (start, injects);
        Ok(())
    }

    fn call(&mut self, call: &SystemCall, time: i64) -> Result<(), ScriptStop> {
        self.host.call(call).map_err(|stop| at(time, stop))
    }

    /// Completes the blocking call if it returns before `to`.
    fn unblock(&mut self, to: i64) -> Result<(), ScriptStop> {
        match self.blocked.take() {
            Some((end, call)) if end < to => {
                self.advance(end + self.tolerance_us.min(to - end - 1))?;
                self.call(&call, end)
            }
            other => {
                self.blocked = other;
                Ok(())
            }
        }
    }

    fn advance(&mut self, to: i64) -> Result<(), ScriptStop> {
        let to = time(to);
        for _ in 0..MAX_STEPS {
            if !self.host.step(to) {
                self.host.advance(to);
                return Ok(());
            }
        }
        ScriptStop::unsupported("so much activity between two events")
    }

    /// Waits for a segment, joins segments that were sent in a row, and compares.
    fn expect(&mut self, expected: &ScriptSegment, start: i64, end: i64, slack: i64) -> Result<(), ScriptStop> {
        let latest = time(end.saturating_add(slack).saturating_add(1));
        let mut whole: Option<(Time, ScriptSegment)> = None;
        let mut steps = 0;
        loop {
            let Some(next) = self.host.sent.pop_front() else {
                steps += 1;
                if steps < MAX_STEPS && self.host.step(latest) {
                    continue;
                }
                let got = whole.map_or_else(|| "nothing".to_owned(), |(_, segment)| format!("`> {segment}` alone"));
                return ScriptStop::differs(format!(
                    "expected `> {expected}` at {:.6} s, and {got} left until {:.6} s",
                    seconds(start),
                    seconds(end.saturating_add(slack))
                ));
            };
            let (_, segment) = match whole.take() {
                None => whole.insert((next.at, next.segment)),
                Some((_, mut sum)) => {
                    let follows = next.segment.seq == sum.seq.wrapping_add(sum.payload)
                        && next.segment.payload > 0
                        && next.segment.flags.syn == sum.flags.syn
                        && next.segment.flags.rst == sum.flags.rst
                        && next.segment.flags.ece == sum.flags.ece;
                    if !follows {
                        return ScriptStop::differs(format!(
                            "expected `> {expected}`, got `> {sum}` and `> {}`",
                            next.segment
                        ));
                    }
                    let cwr = sum.flags.cwr;
                    sum.payload += next.segment.payload;
                    sum = ScriptSegment { seq: sum.seq, payload: sum.payload, ..next.segment };
                    sum.flags.cwr = cwr;
                    whole.insert((next.at, sum))
                }
            };
            if segment.payload >= expected.payload {
                break;
            }
        }
        let Some((at, got)) = whole else { return Ok(()) };
        let stamps = self.host.connection().and_then(|connection| connection.first_stamp);
        let (tick, tolerance) = (self.tick_us, self.tolerance_us);
        let check_stamp = |script: u32, ours: u32| match (tick, stamps) {
            (Some(tick), Some((first_script, first_ours))) => {
                let script = i64::from(script.wrapping_sub(first_script)) * tick;
                (script - i64::from(ours.wrapping_sub(first_ours))).abs() <= tolerance.max(tick)
            }
            _ => true,
        };
        if let Some(difference) = difference(expected, &got, &check_stamp) {
            return ScriptStop::differs(format!(
                "expected `> {expected}`, got `> {got}` at {:.6} s ({difference})",
                seconds(micros(at))
            ));
        }
        self.host.note_stamp(expected, &got);
        let at_us = micros(at);
        if at_us < start.saturating_sub(slack) || at_us > end.saturating_add(slack) {
            return ScriptStop::differs(format!(
                "`> {got}` left at {:.6} s, expected at {:.6} s (tolerance {:.6} s)",
                seconds(at_us),
                seconds(start),
                seconds(slack)
            ));
        }
        self.host.now = self.host.now.max(at);
        Ok(())
    }
}
