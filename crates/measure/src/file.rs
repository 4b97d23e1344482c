//! The keys of a plan file.

use wifair_config::{choice, table};
use wifair_units::{BitRate, Bytes, Duration};

/// The longest repetition, transfer or wait.
const LONGEST: Duration = Duration::from_secs(24 * 3600);
/// The largest transfer.
const LARGEST: Bytes = Bytes(1_000_000_000_000);

const fn within(time: &Duration) -> bool {
    time.as_nanos() > 0 && time.as_nanos() <= LONGEST.as_nanos()
}

table! {
    /// A plan of a measurement. Values with a unit are strings: `"15 MiB"`, `"2 s"`, `"1460 B"`.
    pub struct File {
        /// What it is called in results.
        pub name: String = "measurement".to_owned();
        /// What it is about.
        pub description: String = String::new();
        /// How often each case is run.
        pub repetitions: u32 = 5, "from 1 to 1000" => |n| (1..=1000).contains(n);
        /// In which order cases and repetitions come.
        pub order: Order = Order::Interleaved;
        /// Seed of the random order.
        pub seed: u64 = 1;
        /// Silence between two repetitions.
        pub pause: Duration = Duration::from_secs(2), "at most 24 h" => |pause| *pause <= LONGEST;
        /// How often the kernel is asked for the state of each connection.
        pub sample: Duration = Duration::from_millis(50), "from 1 ms to 60 s" =>
            |step| (Duration::from_millis(1)..=Duration::from_secs(60)).contains(step);
        /// Longest time that one repetition may take.
        pub timeout: Duration = Duration::from_secs(600), "more than 0 s and at most 24 h" => within;
        /// Time at the start of each repetition that no figure counts.
        pub warm_up: Duration = Duration::ZERO, "at most 24 h" => |warm_up| *warm_up <= LONGEST;
        /// What all stations together get at best, for the fair share of sessions (jung2016, equation 1).
        pub capacity: Option<BitRate> = None;
        /// Transfers of all flows; what a flow itself says goes before.
        pub transfer: Transfer = Transfer::default();
        /// The stations, by the names with which they join.
        pub stations: Vec<Stations> = Vec::new();
        /// What is measured.
        pub cases: Vec<Case> = Vec::new();
    }
}

choice! {
    /// In which order cases and repetitions come.
    pub enum Order {
        /// All cases once, then all again: slow changes of the air touch every case alike.
        Interleaved = "interleaved",
        /// All cases once in random order, then again in another: neither slow nor regular changes look like effects.
        Random = "random",
        /// All repetitions of the first case, then those of the next.
        Sequential = "sequential",
    }
}

table! {
    /// A station, or several of one kind.
    pub struct Stations {
        /// What flows call it. A group of one has this name, others are numbered: `sta1`, `sta2`, ...
        pub name: String;
        /// How many.
        pub count: u32 = 1, "from 1 to 1000" => |count| (1..=1000).contains(count);
    }
}

table! {
    /// Flows that run at the same time, in each direction and with each RTS threshold that is listed.
    pub struct Case {
        /// What results call it; the variations are added.
        pub name: String;
        /// How the stations are placed. Cases of one place are run together, and a change of place waits for a key.
        pub place: String = String::new();
        /// Directions for flows without one of their own, a case each.
        pub directions: Vec<Way> = Vec::new();
        /// RTS thresholds to set at the stations, a case each; without it they stay as they are.
        pub rts_thresholds: Vec<Bytes> = Vec::new();
        /// What all stations together get at best, if not that of the whole plan.
        pub capacity: Option<BitRate> = None;
        /// What runs.
        pub flows: Vec<Flow> = Vec::new();
    }
}

choice! {
    /// Which way data goes between a station and the server.
    pub enum Way {
        /// From the station to the server.
        Up = "up",
        /// From the server to the station.
        Down = "down",
    }
}

choice! {
    /// What carries the data.
    pub enum Transport {
        /// A TCP connection.
        Tcp = "tcp" from "RFC 9293",
        /// Datagrams at a constant rate.
        Udp = "udp" from "RFC 768",
    }
}

table! {
    /// Flows that have all in common but their station.
    pub struct Flow {
        /// What results call it; the station's name if absent. Several flows of one name are numbered.
        pub name: Option<String> = None;
        /// The station, or the group of stations with a flow for each.
        pub station: String;
        /// Which way data goes; if absent as the case says.
        pub direction: Option<Way> = None;
        /// Flows at the same time between each station and the server.
        pub count: u32 = 1, "from 1 to 256" => |count| (1..=256).contains(count);
        /// When it begins, after the common start.
        pub start: Duration = Duration::ZERO, "at most 24 h" => |start| *start <= LONGEST;
        /// The case in which this station runs alone, to tell what competition costs; without it the one case that has
        /// only such a flow of this station, if there is exactly one.
        pub alone: Option<String> = None;
        /// What is transferred, and how.
        pub transfer => Transfer;
    }
}

table! {
    /// What is transferred, and how. One of `size`, `duration` and `sessions` says how much.
    pub struct Transfer {
        /// What carries the data; TCP if absent.
        pub transport: Option<Transport> = None;
        /// So much data, then the connection is closed.
        pub size: Option<Bytes> = None, "from 1 B to 1000 GB" =>
            |size| size.is_none_or(|size| size.0 >= 1 && size <= LARGEST);
        /// As much data as goes in so long a time.
        pub duration: Option<Duration> = None, "more than 0 s and at most 24 h" =>
            |time| time.as_ref().is_none_or(within);
        /// Sessions at fixed times on one connection.
        pub sessions: Option<Sessions> = None;
        /// Congestion control of the sender, by its name in the kernel; the kernel's default if absent.
        pub cc: Option<String> = None, "a name of letters, digits, - and _, at most 15 long" =>
            |cc| cc.as_deref().is_none_or(is_cc);
        /// Largest segment that the connection may agree on, TCP options counted; the kernel's choice if absent.
        pub mss: Option<Bytes> = None, "from 88 B to 32767 B, as Linux has it" =>
            |mss| mss.is_none_or(|mss| (88..=32_767).contains(&mss.0));
        /// Send buffer (SO_SNDBUF); the kernel tunes it if absent.
        pub send_buffer: Option<Bytes> = None, "from 1 B to 1 GB" => is_buffer;
        /// Receive buffer (SO_RCVBUF); the kernel tunes it if absent.
        pub receive_buffer: Option<Bytes> = None, "from 1 B to 1 GB" => is_buffer;
        /// Rate of UDP, headers not counted.
        pub rate: Option<BitRate> = None, "at most 10 Gb/s" =>
            |rate| rate.is_none_or(|rate| rate.as_bps() <= 10_000_000_000);
        /// Data in a UDP datagram; 1472 B if absent.
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
    /// Sessions on one connection: each begins at its time, or when the one before has been handed down.
    pub struct Sessions {
        /// Data of each.
        pub size: Bytes, "from 1 B to 1 GB" => |size| (1..=1_000_000_000).contains(&size.0);
        /// Time from the start of one to the start of the next.
        pub every: Duration, "more than 0 s and at most 24 h" => within;
        /// How many.
        pub count: u32, "from 1 to 10000" => |count| (1..=10_000).contains(count);
    }
}

fn is_cc(name: &str) -> bool {
    let known = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    (1..=15).contains(&name.len()) && name.chars().all(known)
}

fn is_buffer(size: &Option<Bytes>) -> bool {
    size.is_none_or(|size| (1..=1_000_000_000).contains(&size.0))
}
