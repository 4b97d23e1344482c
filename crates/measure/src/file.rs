//! The keys of a plan file.

use wifair_config::{choice, is_legible, is_legible_text, table};
use wifair_units::{BitRate, Bytes, Duration};

/// The longest repetition, transfer or wait.
const LONGEST: Duration = Duration::from_secs(24 * 3600);
/// The largest transfer.
const LARGEST: Bytes = Bytes(1_000_000_000_000);

const fn within(time: &Duration) -> bool {
    time.as_nanos() > 0 && time.as_nanos() <= LONGEST.as_nanos()
}

table! {
    /// A measurement plan. Values with a unit are strings: `"15 MiB"`, `"2 s"`, `"1460 B"`.
    pub struct PlanFile {
        /// Name used in results.
        pub name: String = "measurement".to_owned(), "without control characters" => |name| is_legible(name);
        /// Description of the measurement.
        pub description: String = String::new(), "without control characters" => |text| is_legible_text(text);
        /// How many times each case is run.
        pub repetitions: u32 = 5, "from 1 to 1000" => |n| (1..=1000).contains(n);
        /// Order of cases and repetitions.
        pub order: CaseOrder = CaseOrder::Interleaved;
        /// Seed of the random order.
        pub seed: u64 = 1;
        /// Pause between two repetitions.
        pub pause: Duration = Duration::from_secs(2), "at most 24 h" => |pause| *pause <= LONGEST;
        /// Interval at which the kernel is asked for the state of each connection.
        pub sample: Duration = Duration::from_millis(50), "from 1 ms to 60 s" =>
            |step| (Duration::from_millis(1)..=Duration::from_secs(60)).contains(step);
        /// Longest duration of one repetition.
        pub timeout: Duration = Duration::from_secs(600), "more than 0 s and at most 24 h" => within;
        /// Time at the start of each repetition that is excluded from all figures.
        pub warm_up: Duration = Duration::ZERO, "at most 24 h" => |warm_up| *warm_up <= LONGEST;
        /// The total that all stations can get at best, for the fair share of sessions (jung2016, equation 1).
        pub capacity: Option<BitRate> = None;
        /// Transfer settings of all flows; a flow's own settings have precedence.
        pub transfer: MeasuredTransfer = MeasuredTransfer::default();
        /// The stations, by the names under which they join.
        pub stations: Vec<MeasuredStations> = Vec::new();
        /// The cases to measure.
        pub cases: Vec<Case> = Vec::new();
    }
}

choice! {
    /// Order of cases and repetitions.
    pub enum CaseOrder {
        /// All cases once, then all again, so that slow changes of the channel affect all cases alike.
        Interleaved = "interleaved",
        /// All cases once in random order, then again in another order, so that neither slow nor regular changes look
        /// like effects.
        Random = "random",
        /// All repetitions of the first case, then those of the next.
        Sequential = "sequential",
    }
}

table! {
    /// A station, or several identical ones.
    pub struct MeasuredStations {
        /// Name of the group, used by flows. A single station has this name, several are numbered: `sta1`, `sta2`, ...
        pub name: String;
        /// Number of stations.
        pub count: u32 = 1, "from 1 to 1000" => |count| (1..=1000).contains(count);
    }
}

table! {
    /// Flows that run at the same time, repeated for each listed direction and RTS threshold.
    pub struct Case {
        /// Name used in results, to which those of the variations are appended.
        pub name: String, "without control characters" => |name| is_legible(name);
        /// Placement of the stations. Cases with the same placement are run together, and a change of placement waits
        /// for a key press.
        pub place: String = String::new(), "without control characters" => |place| is_legible(place);
        /// Directions of flows that have none of their own; one case for each.
        pub directions: Vec<TransferDirection> = Vec::new();
        /// RTS thresholds to set at the stations, one case for each; if empty, they stay unchanged.
        pub rts_thresholds: Vec<Bytes> = Vec::new();
        /// The total that all stations can get at best, if different from that of the plan.
        pub capacity: Option<BitRate> = None;
        /// The flows to run.
        pub flows: Vec<MeasuredFlow> = Vec::new();
    }
}

choice! {
    /// Direction of data between a station and the server.
    pub enum TransferDirection {
        /// From the station to the server.
        Up = "up",
        /// From the server to the station.
        Down = "down",
    }
}

choice! {
    /// Transport protocol.
    pub enum TransportProtocol {
        /// A TCP connection.
        Tcp = "tcp" from "RFC 9293",
        /// Datagrams at a constant rate.
        Udp = "udp" from "RFC 768",
    }
}

table! {
    /// Flows that differ only in their station.
    pub struct MeasuredFlow {
        /// Name used in results; if absent, the station's name. Several flows with one name are numbered.
        pub name: Option<String> = None;
        /// The station, or a group of stations with one flow each.
        pub station: String;
        /// Direction of the data; if absent, that of the case.
        pub direction: Option<TransferDirection> = None;
        /// Number of simultaneous flows between each station and the server.
        pub count: u32 = 1, "from 1 to 256" => |count| (1..=256).contains(count);
        /// Start of the flow, counted from the common start.
        pub start: Duration = Duration::ZERO, "at most 24 h" => |start| *start <= LONGEST;
        /// The case in which this station runs alone, to show the cost of competition; if absent, the one case that has
        /// only such a flow of this station, if there is exactly one.
        pub alone: Option<String> = None;
        /// What is transferred, and how.
        pub transfer => MeasuredTransfer;
    }
}

table! {
    /// What is transferred, and how. One of `size`, `duration` and `sessions` says how much.
    pub struct MeasuredTransfer {
        /// Transport protocol; if absent, TCP.
        pub transport: Option<TransportProtocol> = None;
        /// Amount of data, after which the connection is closed.
        pub size: Option<Bytes> = None, "from 1 B to 1000 GB" =>
            |size| size.is_none_or(|size| size.0 >= 1 && size <= LARGEST);
        /// Time during which data is sent.
        pub duration: Option<Duration> = None, "more than 0 s and at most 24 h" =>
            |time| time.as_ref().is_none_or(within);
        /// Sessions at fixed times on one connection.
        pub sessions: Option<PlannedSessions> = None;
        /// Congestion control of the sender, by its name in the kernel; if absent, the kernel's default.
        pub cc: Option<String> = None, "a name of letters, digits, - and _, at most 15 long" =>
            |cc| cc.as_deref().is_none_or(is_cc);
        /// Largest segment that the connection may negotiate, TCP options included; if absent, the kernel's choice.
        pub mss: Option<Bytes> = None, "from 88 B to 32767 B, as Linux has it" =>
            |mss| mss.is_none_or(|mss| (88..=32_767).contains(&mss.0));
        /// Send buffer (SO_SNDBUF); if absent, tuned by the kernel.
        pub send_buffer: Option<Bytes> = None, "from 1 B to 1 GB" => is_buffer;
        /// Receive buffer (SO_RCVBUF); if absent, tuned by the kernel.
        pub receive_buffer: Option<Bytes> = None, "from 1 B to 1 GB" => is_buffer;
        /// Rate of UDP, without headers.
        pub rate: Option<BitRate> = None, "at most 10 Gb/s" =>
            |rate| rate.is_none_or(|rate| rate.as_bps() <= 10_000_000_000);
        /// Payload of a UDP datagram; if absent, 1472 B.
        pub payload: Option<Bytes> = None, "from 16 B to 65507 B" =>
            |size| size.is_none_or(|size| (16..=65_507).contains(&size.0));
    }
    check(transfer, at) {
        let said: Vec<_> = ["size", "duration", "sessions"].into_iter().filter(|key| at.has(key)).collect();
        if let [first, second, ..] = said[..] {
            at.clash(
                &format!("`{first}` and `{second}` exclude each other"),
                &[(second, "either this"), (first, "or this")],
            );
        }
    }
}

table! {
    /// Sessions on one connection: each begins at its time, or once the previous one has been passed down.
    pub struct PlannedSessions {
        /// Bytes of each session.
        pub size: Bytes, "from 1 B to 1 GB" => |size| (1..=1_000_000_000).contains(&size.0);
        /// Interval between starts.
        pub every: Duration, "more than 0 s and at most 24 h" => within;
        /// Number of sessions.
        pub count: u32, "from 1 to 10000" => |count| (1..=10_000).contains(count);
    }
}

impl MeasuredTransfer {
    /// Whether it says how much is transferred.
    pub(crate) fn has_amount(&self) -> bool {
        self.size.is_some() || self.duration.is_some() || self.sessions.is_some()
    }
}

fn is_cc(name: &str) -> bool {
    let known = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    (1..=15).contains(&name.len()) && name.chars().all(known)
}

fn is_buffer(size: &Option<Bytes>) -> bool {
    size.is_none_or(|size| (1..=1_000_000_000).contains(&size.0))
}
