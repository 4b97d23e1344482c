//! Sweeps: the scenarios derived from one, declared as `[sweep]` in its file or as `--vary` on the command line.
//!
//! ```text
//! stations.count = 2..20:2                         a range; `:*2` multiplies
//! flows.tcp.cc = reno, vegas                       a list; further axes span a grid
//! stations.count = 2, 4; ap.queue.limit = 20 packets, 40 packets      zipped: the first with the first
//! servers.delay = loguniform(1 ms, 100 ms)         drawn, `samples` times
//! ap.queue.limit = {2 * stations.count} packets    depends on another parameter
//! ```
//!
//! A point is one combination of values. They are set as by `--set`, so units and names are checked in one place.

mod axis;
mod decimal;
mod draw;
mod formula;
mod plan;
mod split;
mod stop;

use wifair_config::{Content, PlacedValue, Plain, Reader, Shape, Value, choice, table};

pub use axis::{Axis, AxisItem, Law, Setting, SpannedError};
pub use formula::number_of;
pub use plan::{Change, Setup, SweepPlan};
pub use stop::StopRule;

choice! {
    /// How the samples of drawn parameters are chosen.
    pub enum Design {
        /// Each parameter's range is divided into as many strata as there are samples, and each stratum is sampled
        /// once.
        LatinHypercube = "latin-hypercube" from "M. D. McKay, R. J. Beckman and W. J. Conover, 1979",
        /// Independent draws.
        Random = "random",
    }
}

choice! {
    /// A table kept for each run, in addition to the figures of its cell.
    pub enum KeptTable {
        /// One row per flow.
        Flows = "flows",
        /// One row per station.
        Stations = "stations",
        /// One row per session.
        ListedSessions = "sessions",
    }
}

table! {
    /// What `wifair sweep` varies; a single run ignores it. The seeds are those of the scenario.
    pub struct Sweep {
        /// Parameters and their values, as in `"stations.count = 2..20:2"`; several axes span a grid.
        pub vary: Vec<Axis> = Vec::new();
        /// Listed points, as in `"stations.count = 2; flows.tcp.cc = reno"`; each is combined with every point of the
        /// grid.
        pub points: Vec<Setting> = Vec::new();
        /// Number of samples of the parameters that have a distribution.
        pub samples: Option<u32> = None, "from 1 to 1000000" => |n| n.is_none_or(|n| (1..=1_000_000).contains(&n));
        /// How the samples are chosen.
        pub design: Design = Design::LatinHypercube;
        /// Seed of the samples, independent of the seeds of the runs.
        pub sample_seed: u64 = 1;
        /// When a point has enough seeds, as in `"ci(jain_index) < 0.01"` or `"ci(goodput_bps) < 5 %"`; all must hold.
        pub stop_when: Vec<StopRule> = Vec::new();
        /// The most seeds of a point, if `stop_when` asks for more than the scenario has.
        pub most_seeds: u32 = 100, "from 1 to 1000000" => |n| (1..=1_000_000).contains(n);
        /// Tables to keep for each run.
        pub tables: Vec<KeptTable> = vec![KeptTable::Flows];
    }
    check(sweep, at) {
        // The number of samples may still come from the command line, so this check assumes one where values are drawn.
        let drawn = sweep.vary.iter().any(Axis::is_drawn);
        let setup = Setup { samples: drawn.then_some(1), ..sweep.setup() };
        if let Err((fault, _)) = SweepPlan::new(&setup) {
            let key = if sweep.vary.is_empty() { "points" } else { "vary" };
            at.problem(key, &fault.message, &fault.note);
        }
    }
}

impl Sweep {
    /// The part that determines the points.
    pub fn setup(&self) -> Setup {
        Setup {
            axes: self.vary.clone(),
            points: self.points.clone(),
            samples: self.samples,
            design: self.design,
            sample_seed: self.sample_seed,
        }
    }
}

/// Values that are written as texts with a grammar of their own.
macro_rules! written {
    ($($name:ty: $parse:expr),*) => {$(
        impl Value for $name {
            fn shape() -> Shape {
                Shape::Text
            }
            fn read(node: &PlacedValue, key: &str, reader: &mut Reader) -> Option<Self> {
                read_written(node, key, reader, <$name>::EXAMPLE, $parse)
            }
            fn to_plain(&self) -> Plain {
                Plain::Text(self.text().to_owned())
            }
            fn some() -> Self {
                let parse: fn(&str, &str) -> Result<Self, SpannedError> = $parse;
                parse(<$name>::EXAMPLE, "").expect("the example is right")
            }
        }
    )*};
}

written!(Axis: Axis::parse, Setting: Setting::parse, StopRule: |text, _| StopRule::parse(text));

fn read_written<T>(
    node: &PlacedValue,
    key: &str,
    reader: &mut Reader,
    example: &str,
    parse: impl FnOnce(&str, &str) -> Result<T, SpannedError>,
) -> Option<T> {
    let Content::Text(text) = &node.content else {
        let message = format!("`{key}` takes strings");
        reader.problem(&node.place, Some(key), &message, &format!("write \"{example}\""));
        return None;
    };
    let origin = reader.spot(&node.place, "").map_or(String::new(), |spot| spot.origin.to_string());
    parse(text, &origin).map_err(|fault| reader.problem(&node.place, Some(key), &fault.message, &fault.note)).ok()
}
