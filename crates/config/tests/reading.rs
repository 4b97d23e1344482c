//! How `table!` and `choice!` read tables, and their error messages.

use wifair_config::{Document, Limit, Override, Problems, Source, Table, choice, table};
use wifair_units::{BitRate, Bytes, Dbm, Duration};

choice! {
    /// A standard.
    pub enum Standard {
        /// Slow.
        B = "802.11b" from "IEEE 802.11-2020, clause 16",
        /// Fast.
        G = "802.11g",
    }
}

table! {
    /// Random early detection.
    pub struct Red {
        /// Below it nothing is dropped.
        pub min_threshold: Limit;
        /// Weight of a new sample.
        pub weight: f64 = 0.002, "above 0 and at most 1" => |w| *w > 0.0 && *w <= 1.0;
    }
}

table! {
    /// Controlled delay.
    pub struct Codel {
        /// Acceptable standing delay.
        pub target: Duration = Duration::from_millis(5);
    }
}

choice! {
    /// Who is dropped, and when.
    pub enum Discipline {
        /// First in, first out.
        Fifo = "fifo",
        /// Early drops.
        Red(Red) = "red" from "S. Floyd and V. Jacobson, 1993",
        /// Drops by sojourn.
        Codel(Codel) = "codel" from "RFC 8289" (outline),
    }
}

table! {
    /// A queue.
    pub struct Queue {
        /// Which packet is dropped.
        pub discipline: Discipline = Discipline::Fifo;
        /// What fits.
        pub limit: Limit = Limit::Packets(50);
    }
}

table! {
    /// Channel access.
    pub struct Access {
        /// Least contention window.
        pub cw_min: u32 = 31;
        /// Greatest contention window.
        pub cw_max: u32 = 1023;
    }
    check(access, at) {
        if access.cw_min > access.cw_max {
            at.clash(
                "`cw_min` is larger than `cw_max`",
                &[("cw_min", &format!("{} is more than", access.cw_min)), ("cw_max", &access.cw_max.to_string())],
            );
        }
    }
}

table! {
    /// A group of stations.
    pub struct Station {
        /// Its name.
        pub name: String;
        /// How many.
        pub count: u32 = 1, "1 or more" => |count| *count >= 1;
        /// Way to the AP.
        pub delay: Option<Duration> = None;
        /// Power.
        pub power: Dbm = Dbm(20.0);
        /// Channel access.
        pub access => Access;
    }
}

choice! {
    /// Where a time comes from.
    pub enum Origin {
        /// It is given.
        Given = "given",
        /// It is measured.
        Measured = "measured",
    }
}

table! {
    /// A meter.
    pub struct Meter {
        /// Where the time comes from.
        pub source: Origin = Origin::Measured;
        /// The time, where it is given.
        pub time: Option<Duration> = None;
    }
    check(meter, at) {
        at.only_for("time", &mut meter.time, "source", (meter.source, Origin::Given));
    }
}

table! {
    /// The access point.
    pub struct Ap {
        /// Its queue.
        pub queue: Queue = Queue { limit: Limit::Packets(100), ..Queue::default() };
        /// Its meter.
        pub meter: Meter;
    }
}

table! {
    /// A cell.
    pub struct Cell {
        /// Its name.
        pub name: String = "cell".to_owned();
        /// Standard.
        pub standard: Standard = Standard::B;
        /// Rate, by the standard.
        pub rate: BitRate = match standard {
            Standard::B => BitRate::from_mbps(11),
            Standard::G => BitRate::from_mbps(54),
        }, by standard;
        /// Largest packet.
        pub mtu: Bytes = Bytes(1500);
        /// The AP.
        pub ap: Ap;
        /// Stations.
        pub stations: Vec<Station> = Vec::new();
        /// Position.
        pub position: [f64; 2] = [0.0, 0.0];
    }
}

fn read(text: &str, overrides: &[&str]) -> Result<Cell, Problems> {
    let mut document = Document::parse(Source::file("a.toml", text));
    let overrides: Vec<_> = overrides.iter().map(|text| Override::set(text)).collect();
    document.set(&overrides, &Cell::describe());
    document.read()
}

#[track_caller]
fn refused(text: &str, overrides: &[&str], expected: &str) {
    let problems = read(text, overrides).expect_err("must be refused").to_string();
    assert_eq!(problems, expected.strip_prefix('\n').unwrap_or(expected), "\n--- got\n{problems}");
}

#[test]
fn defaults_follow_the_keys_they_depend_on() {
    assert_eq!(read("", &[]).unwrap().rate, BitRate::from_mbps(11));
    assert_eq!(read("standard = '802.11g'", &[]).unwrap().rate, BitRate::from_mbps(54));
    assert_eq!(read("standard = '802.11g'\nrate = '6 Mb/s'", &[]).unwrap().rate, BitRate::from_mbps(6));
}

#[test]
fn dotted_keys_inline_tables_and_headers_say_the_same() {
    let texts = [
        "ap.queue.discipline = 'red'\nap.queue.red.min_threshold = '5 packets'",
        "ap = { queue = { discipline = 'red', red = { min_threshold = '5 packets' } } }",
        "[ap.queue]\ndiscipline = 'red'\n[ap.queue.red]\nmin_threshold = '5 packets'",
    ];
    for text in texts {
        let queue = read(text, &[]).unwrap().ap.queue;
        let red = Red { min_threshold: Limit::Packets(5), weight: 0.002 };
        assert_eq!(queue, Queue { discipline: Discipline::Red(red), limit: Limit::Packets(100) });
    }
}

#[test]
fn the_default_of_a_table_gives_the_defaults_of_its_keys() {
    assert_eq!(read("", &[]).unwrap().ap.queue.limit, Limit::Packets(100));
    assert_eq!(read("ap.queue.discipline = 'codel'", &[]).unwrap().ap.queue.limit, Limit::Packets(100));
    assert!(Cell::describe().markdown("", "").contains("| `\"100 packets\"` | What fits."));
}

#[test]
fn canonical_text_reads_as_the_same_table() {
    let text = "standard = '802.11g'\nap.queue.discipline = 'red'\nap.queue.red.min_threshold = '64 kB'\n\
                [[stations]]\nname = 'near'\ndelay = '1500 us'\n[[stations]]\nname = 'far \"x\"'\ncw_min = 7";
    let cell = read(text, &[]).unwrap();
    let canonical = cell.to_toml();
    assert_eq!(read(&canonical, &[]).unwrap(), cell);
    assert_eq!(read(&canonical, &[]).unwrap().to_toml(), canonical);
    assert!(canonical.contains("queue.red.min_threshold = \"64000 B\"\nqueue.red.weight = 0.002\n"), "{canonical}");
}

#[test]
fn all_problems_come_together_with_their_places() {
    refused(
        "mtu = 1500\nrate = '-1 Mb/s'\nspeed = 3\n[[stations]]\nname = 'near'\ncwmin = 15\ncount = 0\n\
         [[stations]]\ncount = 'eight'\ndelay = 20\n",
        &[],
        r#"
error: `mtu` has no unit
 --> a.toml:1:7
1 | mtu = 1500
  |       ^^^^ write "1500 B"

error: `-1 Mb/s` is negative
 --> a.toml:2:8
2 | rate = '-1 Mb/s'
  |        ^^^^^^^^^ a bit rate is zero or more

error: unknown key `speed`
 --> a.toml:3:1
3 | speed = 3
  | ^^^^^ one of name, standard, rate, mtu, ap, stations, position

error: unknown key `cwmin` in [[stations]] "near"
 --> a.toml:6:1
6 | cwmin = 15
  | ^^^^^ did you mean `cw_min`?

error: `count` is 0
 --> a.toml:7:9
7 | count = 0
  |         ^ must be 1 or more

error: `name` is missing in [[stations]] number 2
 --> a.toml:8:1
8 | [[stations]]
  | ^^^^^^^^^^^^ write name = "..."

error: `count` is a string, not a whole number
 --> a.toml:9:9
9 | count = 'eight'
  |         ^^^^^^^ write a whole number, without quotes

error: `delay` has no unit
  --> a.toml:10:9
10 | delay = 20
   |         ^^ write "20 ms" or "20 us"
"#,
    );
}

/// Users write `width = "80 MHz"`, because `band = "5 GHz"` has its unit, too.
#[test]
fn a_whole_number_with_a_unit_is_shown_without() {
    refused(
        "name = 'house'\n[[stations]]\nname = 'near'\ncount = '80 MHz'\n",
        &[],
        "
error: `count` is a string, not a whole number
 --> a.toml:4:9
4 | count = '80 MHz'
  |         ^^^^^^^^ write 80, without quotes or unit
",
    );
}

#[test]
fn values_that_clash_are_shown_with_both_lines() {
    refused(
        "[[stations]]\nname = 'near'\ncw_max = 31\npower = '3 dBm'\ncw_min = 63\n",
        &[],
        "
error: `cw_min` is larger than `cw_max`
 --> a.toml:5:10
3 | cw_max = 31
  |          ^^ 31
...
5 | cw_min = 63
  |          ^^ 63 is more than
",
    );
    // The default of `cw_max` has no line to show.
    refused(
        "[[stations]]\nname = 'near'\n",
        &["stations.cw_min=2047"],
        "
error: `cw_min` is larger than `cw_max`
 --> --set stations.cw_min=2047
  |                        ^^^^ 2047 is more than
  = 1023
",
    );
}

#[test]
fn duplicate_keys_are_shown_with_both_lines() {
    refused(
        "mtu = '1 kB'\nap.queue.limit = '5 packets'\nmtu = '2 kB'\n",
        &[],
        "
error: `mtu` is set twice
 --> a.toml:3:1
1 | mtu = '1 kB'
  | ^^^ first here
...
3 | mtu = '2 kB'
  | ^^^ again here
",
    );
    refused(
        "[ap]\nqueue.limit = '5 packets'\nqueue.limit = '6 packets'\n[ap]\n",
        &[],
        "
error: `limit` is set twice
 --> a.toml:3:7
2 | queue.limit = '5 packets'
  |       ^^^^^ first here
3 | queue.limit = '6 packets'
  |       ^^^^^ again here

error: `ap` is set twice
 --> a.toml:4:2
1 | [ap]
  |  ^^ first here
...
4 | [ap]
  |  ^^ again here
",
    );
}

#[test]
fn parameters_of_what_is_not_chosen_are_refused() {
    refused(
        "[ap]\nqueue.discipline = 'fifo'\nqueue.red.min_threshold = '5 packets'\n",
        &[],
        "
error: `red` is set but not chosen in `queue` of [ap]
 --> a.toml:3:7
2 | queue.discipline = 'fifo'
  |                    ^^^^^^ discipline is \"fifo\"
3 | queue.red.min_threshold = '5 packets'
  |       ^^^ for discipline = \"red\" only
",
    );
    refused(
        "[ap]\nqueue.codel.target = '1 ms'\n",
        &[],
        "
error: `codel` is set but not chosen in `queue` of [ap]
 --> a.toml:2:7
2 | queue.codel.target = '1 ms'
  |       ^^^^^ for discipline = \"codel\" only
  = discipline is \"fifo\" by default
",
    );
}

#[test]
fn an_override_of_a_choice_leaves_the_parameters_of_others_unused() {
    let text = "[ap]\nqueue.discipline = 'red'\nqueue.red.min_threshold = '5 packets'\n";
    let cell = read(text, &["ap.queue.discipline=codel"]).unwrap();
    assert_eq!(cell.ap.queue.discipline, Discipline::named("codel").unwrap());
    // Parameters set on the command line contradict the choice, too.
    let contradiction = read(text, &["ap.queue.discipline=codel", "ap.queue.red.weight=0.1"]);
    assert!(contradiction.unwrap_err().to_string().starts_with("error: `red` is set but not chosen"));
    // Unused parameters must still be valid.
    let text = "[ap]\nqueue.discipline = 'red'\nqueue.red.min_threshold = 5\n";
    assert!(read(text, &["ap.queue.discipline=codel"]).is_err());
}

#[test]
fn a_value_that_a_choice_leaves_without_effect_is_refused() {
    refused(
        "[ap]\nmeter.time = '1 ms'\n",
        &[],
        "
error: `time` has no effect in `meter` of [ap]
 --> a.toml:2:7
2 | meter.time = '1 ms'
  |       ^^^^ for source = \"given\" only
  = source is \"measured\" by default
",
    );
    assert!(read("", &["ap.meter.time=1ms", "ap.meter.source=measured"]).is_err());
    // An override of the choice need not remove the value, and the result can be read back unchanged.
    let given = "[ap]\nmeter.source = 'given'\nmeter.time = '1 ms'\n";
    let measured = read(given, &["ap.meter.source=measured"]).unwrap();
    assert_eq!(measured.ap.meter.time, None);
    assert_eq!(read(&measured.to_toml(), &[]).unwrap(), measured);
    assert_eq!(read(given, &[]).unwrap().ap.meter.time, Some(Duration::from_millis(1)));
}

#[test]
fn a_key_in_the_wrong_table_is_told_where_it_belongs() {
    refused(
        "[ap]\nmtu = '1000 B'\nlimit = '5 packets'\n\n[ap.queue]\nap.x = 1\n[ap.stations]\n",
        &["ap.limit=5 packets", "ap.discipline.x=1", "ap.mtu=1 B", "ap.queue.target=1 ms"],
        "
error: unknown key `limit` in `ap`
 --> --set ap.limit=5 packets
  |           ^^^^^ write ap.queue.limit

error: unknown key `discipline` in `ap`
 --> --set ap.discipline.x=1
  |           ^^^^^^^^^^ write ap.queue.discipline.x

error: unknown key `mtu` in `ap`
 --> --set ap.mtu=1 B
  |           ^^^ write mtu

error: unknown key `target` in `ap.queue`
 --> --set ap.queue.target=1 ms
  |                 ^^^^^^ write ap.queue.codel.target

error: unknown key `mtu` in [ap]
 --> a.toml:2:1
2 | mtu = '1000 B'
  | ^^^ `mtu` belongs at the top, before the first [table]

error: unknown key `limit` in [ap]
 --> a.toml:3:1
3 | limit = '5 packets'
  | ^^^^^ write queue.limit

error: unknown key `ap` in `queue` of [ap]
 --> a.toml:6:1
6 | ap.x = 1
  | ^^ `ap` is a table of its own: [ap]

error: unknown key `stations` in [ap]
 --> a.toml:7:5
7 | [ap.stations]
  |     ^^^^^^^^ `stations` are tables of their own: [[stations]]
",
    );
}

#[test]
fn a_choice_that_needs_a_number_says_so() {
    refused(
        "[ap]\nqueue.discipline = 'red'\n",
        &[],
        "
error: `min_threshold` is missing in `queue.red` of [ap]
 --> a.toml:2:20
2 | queue.discipline = 'red'
  |                    ^^^^^ write queue.red.min_threshold = \"20 packets\"
",
    );
}

#[test]
fn unknown_names_are_refused_with_the_choices() {
    refused(
        "standard = '802.11n'\nap.queue.discipline = 'coddel'\n",
        &[],
        "
error: unknown standard `802.11n`
 --> a.toml:1:12
1 | standard = '802.11n'
  |            ^^^^^^^^^ did you mean `802.11b`?

error: unknown discipline `coddel`
 --> a.toml:2:23
2 | ap.queue.discipline = 'coddel'
  |                       ^^^^^^^^ did you mean `codel`?
",
    );
}

const TWO: &str = "[[stations]]\nname = 'near'\n[[stations]]\nname = 'far'\n";

#[test]
fn overrides_reach_all_groups_one_by_name_or_one_by_place() {
    let counts = |overrides: &[&str]| {
        let cell = read(TWO, overrides).unwrap();
        cell.stations.iter().map(|station| station.count).collect::<Vec<_>>()
    };
    assert_eq!(counts(&["stations.count=8"]), [8, 8]);
    assert_eq!(counts(&["stations.far.count=8"]), [1, 8]);
    assert_eq!(counts(&["stations[0].count = 8"]), [8, 1]);
    assert_eq!(counts(&["stations.count=8", "stations.near.count=2"]), [2, 8]);
}

#[test]
fn override_values_may_do_without_quotes() {
    let cell = read("", &["ap.queue.limit=100packets", "mtu=\"1 kB\"", "name=7", "position=[1, 2.5]"]).unwrap();
    assert_eq!(cell.ap.queue.limit, Limit::Packets(100));
    assert_eq!((cell.mtu, cell.name.as_str(), cell.position), (Bytes(1000), "7", [1.0, 2.5]));
}

#[test]
fn overrides_that_are_wrong_are_shown_as_written() {
    refused(
        TWO,
        &[
            "ap.queue.limit=100",
            "ap.quue.limit=1",
            "stations.fra.count=2",
            "stations[2].count=2",
            "mtu",
            "codel",
            "mtu.x=1",
        ],
        "
error: unknown key `quue` in `ap`
 --> --set ap.quue.limit=1
  |           ^^^^ did you mean `queue`?

error: no name or key `fra` in `stations`
 --> --set stations.fra.count=2
  |                 ^^^ did you mean `far`?

error: `stations` has no `[2]`
 --> --set stations[2].count=2
  |                ^^^ it has 2, from [0]

error: `mtu` sets nothing
 --> --set mtu
  |        ^^^ write PATH=VALUE

error: `codel` sets nothing
 --> --set codel
  |        ^^^^^ did you mean `ap.queue.discipline=codel`?

error: `mtu` has no parts
 --> --set mtu.x=1
  |        ^^^ it takes: size in B, kB, MB, GB

error: `limit` has no unit
 --> --set ap.queue.limit=100
  |                       ^^^ write \"100 packets\" or \"100 kB\"
",
    );
}

#[test]
fn an_option_for_one_key_is_shown_without_the_key() {
    let mut document = Document::parse(Source::file("a.toml", TWO));
    document.set(&[Override::new("--mtu", "mtu=100")], &Cell::describe());
    let problems = document.read::<Cell>().unwrap_err().to_string();
    let expected = "error: `mtu` has no unit\n --> --mtu 100\n  |        ^^^ write \"100 B\" or \"100 kB\"\n";
    assert_eq!(problems, expected);
}

#[test]
fn forgotten_quotes_and_broken_lines_are_recognised() {
    refused(
        "mtu = 20 B # about\nstandard = '802.11x'\n[[stations]\nname = 'a'\n",
        &[],
        "
error: `mtu` has no quotes
 --> a.toml:1:7
1 | mtu = 20 B # about
  |       ^^^^ write \"20 B\"

error: unknown standard `802.11x`
 --> a.toml:2:12
2 | standard = '802.11x'
  |            ^^^^^^^^^ did you mean `802.11b`?

error: not TOML: unclosed array table, expected `]`
 --> a.toml:3:12
3 | [[stations]
  |            ^
",
    );
}

/// Prose has no key: its first line is enough.
#[test]
fn a_file_that_is_no_toml_is_one_error() {
    refused(
        "# Title\n**bold** words\nmore words\n\n- a list\n",
        &[],
        "
error: not TOML: key with no value, expected `=`
 --> a.toml:2:10
2 | **bold** words
  |          ^
  = 2 more lines are not TOML, and no key is known: is it the right file?
",
    );
}

/// A value that begins like a number is as easily written without quotes as any other.
#[test]
fn values_that_begin_with_a_digit_need_quotes_too() {
    refused(
        "mtu = 802.11b\n",
        &[],
        "
error: `mtu` has no quotes
 --> a.toml:1:13
1 | mtu = 802.11b
  |             ^ write \"802.11b\"
",
    );
}

#[test]
fn the_schema_and_the_reference_hold_every_key() {
    let schema = Cell::describe().json_schema("cell");
    for part in ["\"cw_min\"", "\"802.11g\"", "\"min_threshold\"", "additionalProperties", "\"required\": ["] {
        assert!(schema.contains(part), "{part} is not in {schema}");
    }
    let reference = Cell::describe().markdown("Scenario", "");
    for part in ["| `cw_min` | whole number | `31` |", "`\"11 Mb/s\"`, by standard", "### `[[stations]]`"] {
        assert!(reference.contains(part), "{part} is not in {reference}");
    }
}
