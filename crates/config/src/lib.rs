//! Scenario tables: declared once, read with all errors and their places, described for schema and docs.
//!
//! Whatever a user can set is declared in the module that uses it, with [`table!`] for keys and [`choice!`] for names.
//! From that one declaration the struct, its defaults, the reader with its messages, the canonical text of a run, the
//! JSON Schema and the reference are generated.
//!
//! # A table
//!
//! ```
//! use wifair_config::{Limit, choice, table};
//! use wifair_units::{BitRate, Bytes, Duration};
//!
//! choice! {
//!     /// The TCP stack that a connection imitates.
//!     pub enum Stack {
//!         /// ns-2.
//!         Ns2 = "ns2" from "ns-2.35, tcp/tcp.cc",
//!         /// A current operating system.
//!         Modern = "modern",
//!     }
//! }
//!
//! table! {
//!     /// How a connection behaves. These comments are the reference that users read.
//!     pub struct Settings {
//!         /// A key without default must be given.
//!         pub rate: BitRate;
//!         /// A key with a default.
//!         pub mss: Bytes = Bytes(1460);
//!         /// A key with a default and a rule. The rule completes the sentence "must be ...".
//!         pub keep: f64 = 0.5, "between 0 and 1" => |keep| (0.0..=1.0).contains(keep);
//!         /// A key that may be absent.
//!         pub limit: Option<Limit> = None;
//!         /// A list; without default it is empty when absent.
//!         pub pauses: Vec<Duration> = Vec::new();
//!         /// A profile: it determines the defaults of other keys, each of which can still be set individually.
//!         pub stack: Stack = Stack::Modern;
//!         /// A default that depends on keys above; `by` tells readers of the reference.
//!         pub min_rto: Duration = match stack {
//!             Stack::Ns2 => Duration::from_millis(200),
//!             Stack::Modern => Duration::from_secs(1),
//!         }, by stack;
//!         /// Rules may look at keys above, too.
//!         pub max_rto: Duration = Duration::from_secs(60), "at least min_rto" => |rto| *rto >= min_rto;
//!         /// Flattens the keys of another table into this one.
//!         pub timers => Timers;
//!     }
//!     // Optional: checks across keys. Called only if all keys are valid.
//!     check(settings, at) {
//!         if settings.mss.0 > 9000 && settings.stack == Stack::Ns2 {
//!             at.clash("`mss` is too large for ns-2", &[("mss", "above 9000 B"), ("stack", "ns-2 here")]);
//!         }
//!     }
//! }
//!
//! table! {
//!     /// Timers.
//!     pub struct Timers {
//!         /// Longest wait before an ACK.
//!         pub delayed_ack: Duration = Duration::from_millis(100);
//!     }
//! }
//!
//! // Read, with `--set` on top. `Override::new("--vary", ...)` makes messages show that option instead.
//! use wifair_config::{Document, Override, Source, Table};
//! let mut document = Document::parse(Source::file("a.toml", "rate = '5 Mb/s'\nstack = 'ns2'\nmss = 1000"));
//! document.set(&[Override::set("max_rto=90s")], &Settings::describe());
//! let problems = document.read::<Settings>().unwrap_err();
//! assert_eq!(
//!     problems.to_string(),
//!     "error: `mss` has no unit\n --> a.toml:3:7\n3 | mss = 1000\n  |       ^^^^ write \"1000 B\"\n"
//! );
//! ```
//!
//! A key may have any type that implements [`Value`]: `bool`, integers, `f64`, `String`, [`Limit`], the quantities of
//! `wifair_units`, `Option`, `Vec`, arrays, other tables, choices. A table implements `Default` if all its keys have
//! defaults (`= None` for an `Option`) or are other tables flattened by `=>`. A key of a table type needs no default:
//! an absent table is read as an empty one. If it has a default, that gives the defaults of the inner keys: with `pub
//! queue: Queue = Queue { limit: Limit::Packets(1000), ..Queue::default() }` the limit is 1000 packets even if only the
//! discipline is set.
//!
//! # A choice with parameters
//!
//! ```
//! use wifair_config::{choice, table};
//! # mod reno { wifair_config::table! { /// No parameters.
//! #     pub struct Params {} } }
//! # mod vegas { wifair_config::table! { /// P.
//! #     pub struct Params { /// A.
//! #         pub alpha: f64 = 1.0; } } }
//! # mod fusion { wifair_config::table! { /// P.
//! #     pub struct Params { /// G.
//! #         pub gain: f64 = 1.0; } } }
//!
//! choice! {
//!     /// How a sender reacts to congestion.
//!     pub enum Algorithm {
//!         /// Adds one segment each round trip, halves on loss. The first line is the summary in `wifair list`.
//!         Reno = "reno" from "RFC 5681",
//!         /// Keeps a few packets queued.
//!         Vegas(vegas::Params) = "vegas" from "L. Brakmo and L. Peterson, 1995",
//!         /// A source that is an outline only is marked.
//!         Fusion(fusion::Params) = "fusion" from "K. Kaneko et al., 2007" (outline),
//!     }
//! }
//!
//! table! {
//!     /// TCP of a flow.
//!     pub struct Tcp {
//!         /// Congestion control.
//!         pub cc: Algorithm = Algorithm::Reno;
//!     }
//! }
//! # use wifair_config::{Document, Override, Source, Table};
//! # let document = Document::parse(Source::file("a.toml", "cc = 'vegas'\nvegas.alpha = 2"));
//! # let tcp = document.read::<Tcp>().unwrap();
//! # assert_eq!(tcp.cc, Algorithm::Vegas(vegas::Params { alpha: 2.0 }));
//! # assert_eq!(tcp.to_toml(), "cc = \"vegas\"\n\n[vegas]\nalpha = 2.0\n");
//! ```
//!
//! The parameters of a variant are in a table next to the choice, named after the variant:
//!
//! ```toml
//! tcp.cc = "vegas"
//! tcp.vegas.alpha = 2
//! ap.queue.discipline = "red"
//! ap.queue.red.min_threshold = "5 packets"
//! ```
//!
//! An override of the choice leaves the parameters of the other variants unused, so `--vary flows.tcp.cc=reno,vegas`
//! works on a file that has `tcp.vegas.alpha`. Within one file, parameters of a variant that is not chosen are an
//! error.
//!
//! A choice has `NAMES`, `name()`, `describe()` and, if variants have parameters, `named("vegas")` for a variant with
//! its defaults; a choice without any parameters is `Copy`.
//!
//! # Messages
//!
//! Rules, `check` and [`At`] report at the line where a key was written, or at the `--set` option that set it. Messages
//! are in lower case without full stop; say in the note what to write instead. All problems of a file are reported
//! together.

mod describe;
mod document;
mod json;
mod limit;
mod macros;
mod plain;
mod problem;
mod reader;
mod source;
mod suggest;
mod table;
mod tree;
mod value;

pub use describe::{Choice, Description, Found, Key, Shape, Variant, doc_text};
pub use document::{Document, Override};
pub use json::Json;
pub use limit::Limit;
pub use plain::Plain;
pub use problem::{Origin, Problem, Problems, Spot, is_hidden, is_legible, is_legible_text};
pub use reader::Reader;
pub use source::Source;
pub use suggest::{hint, nearest};
pub use table::{At, Fields, Table, Taken, Value, is_class};
pub use tree::{Content, Entry, KeyStep, PathError, Place, PlacedValue, Rank, steps};
pub use value::Free;

#[doc(hidden)]
pub use table::{
    choose as __choose, describe_key as __describe_key, pick as __pick, some as __some, take_table as __take_table,
};

#[doc(hidden)]
pub const fn __without_raw(name: &'static str) -> &'static str {
    match name.as_bytes() {
        [b'r', b'#', ..] => name.split_at(2).1,
        _ => name,
    }
}
