//! Graphs in the text format of `xplot.org`, in tcptrace's colours.
//!
//! A file begins with the types of its axes, title and labels, followed by drawing commands: `line x1 y1 x2 y2`, marks
//! (`dot x y`), ticks, arrows, and texts with their string on the next line; a colour on a line of its own applies
//! until the next one.

use std::fmt::Write;

use crate::analysis::Analysis;
use crate::rows::{Rows, SegmentRow, mark};
use crate::segment::flag;

/// The kinds of graphs of a direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Graph {
    /// Segments, ACKs and windows over time.
    Sequence,
    /// Outstanding data in red; the same without what SACK reported in blue; the receiver's window in yellow.
    Outstanding,
    /// Round-trip times, in ms.
    RoundTrip,
    /// New bytes per time bin, in bytes/s.
    Goodput,
}

impl Graph {
    /// All graphs.
    pub const ALL: [Self; 4] = [Self::Sequence, Self::Outstanding, Self::RoundTrip, Self::Goodput];

    /// The short name used in file names: `tsg`, `owin`, `rtt`, `tput`, as in tcptrace.
    pub const fn short(self) -> &'static str {
        match self {
            Self::Sequence => "tsg",
            Self::Outstanding => "owin",
            Self::RoundTrip => "rtt",
            Self::Goodput => "tput",
        }
    }

    const fn labels(self) -> (&'static str, &'static str) {
        match self {
            Self::Sequence => ("time sequence graph", "sequence offset"),
            Self::Outstanding => ("outstanding data", "Outstanding Data (bytes)"),
            Self::RoundTrip => ("rtt samples", "rtt (ms)"),
            Self::Goodput => ("goodput", "goodput (bytes/sec)"),
        }
    }
}

struct Plot {
    text: String,
}

impl Plot {
    fn color(&mut self, color: &str) {
        self.text.push_str(color);
        self.text.push('\n');
    }

    fn mark(&mut self, kind: &str, x: u64, y: impl std::fmt::Display) {
        let _ = writeln!(self.text, "{kind} {} {y}", XplotTime(x));
    }

    fn line(&mut self, from: (u64, i64), to: (u64, i64)) {
        let _ = writeln!(self.text, "line {} {} {} {}", XplotTime(from.0), from.1, XplotTime(to.0), to.1);
    }

    fn letters(&mut self, kind: &str, x: u64, y: i64, letters: &str) {
        let _ = writeln!(self.text, "{kind} {} {y}\n{letters}", XplotTime(x));
    }
}

struct XplotTime(u64);

impl std::fmt::Display for XplotTime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{:06}", self.0 / 1_000_000_000, self.0 % 1_000_000_000 / 1_000)
    }
}

impl Analysis {
    /// A graph of a direction (0 from a to b, 1 from b to a) of a connection, counted from 0; `None` if rows were not
    /// requested, or the direction has nothing to show.
    pub fn xplot(&self, connection: usize, side: usize, graph: Graph) -> Option<String> {
        let rows = self.rows.as_ref()?;
        let ends = self.connections.get(connection)?.ends;
        let (what, y) = graph.labels();
        let mut plot = Plot { text: String::new() };
        let _ = writeln!(
            plot.text,
            "timeval double\ntitle\n{}_==>_{} ({what})\nxlabel\ntime\nylabel\n{y}",
            ends[side],
            ends[1 - side]
        );
        let empty = plot.text.len();
        let rows_here = rows.of(connection).iter().map(|row| *row as usize);
        match graph {
            Graph::Sequence => sequence(rows, rows_here, side, &mut plot),
            Graph::Outstanding => outstanding(rows, rows_here, side, &mut plot),
            Graph::RoundTrip => round_trips(rows, rows_here, side, &mut plot),
            Graph::Goodput => self.goodput(connection, side, &mut plot),
        }
        if plot.text.len() == empty {
            return None;
        }
        plot.text.push_str("go\n");
        Some(plot.text)
    }

    fn goodput(&self, connection: usize, side: usize, plot: &mut Plot) {
        let Some((first, _)) = self.span else { return };
        let bins = &self.connections[connection].sides[side].bins;
        plot.color("red");
        let mut last = None;
        for (at, bytes) in bins.bytes.iter().enumerate() {
            let middle = first.saturating_add((2 * (bins.first + at) as u64 + 1).saturating_mul(self.bin / 2));
            let rate = (*bytes as f64 * 1e9 / self.bin as f64).round() as i64;
            if let Some(last) = last.replace((middle, rate)) {
                plot.line(last, (middle, rate));
            }
            plot.mark("dot", middle, rate);
        }
    }
}

fn sequence(rows: &Rows, here: impl Iterator<Item = usize>, side: usize, plot: &mut Plot) {
    // The last ACK and the right edge of the window, with their time.
    let mut last: Option<(u64, i64, i64)> = None;
    for at in here {
        let row = &rows.segments[at];
        let now = row.nanos;
        if usize::from(row.side) == side {
            segment(row, plot);
            continue;
        }
        let ack = row.ack;
        if ack < 0 || row.flags & flag::RST != 0 {
            continue;
        }
        let window = ack + row.window.cast_signed();
        if let Some((then, before, edge)) = last {
            plot.color("green");
            plot.line((then, before), (now, before));
            if ack == before {
                plot.mark("dtick", now, ack);
                if row.marks & mark::THIRD_DUPLICATE != 0 {
                    plot.letters("atext", now, ack, "3");
                }
            } else {
                plot.line((now, before), (now, ack));
            }
            plot.color("yellow");
            plot.line((then, edge), (now, edge));
            if window == edge {
                plot.mark("utick", now, window);
            } else {
                plot.line((now, edge), (now, window));
            }
        }
        last = Some((now, ack, window));
        let mut top = None;
        let first = rows.sacks.partition_point(|(place, ..)| (*place as usize) < at);
        for (_, left, right) in rows.sacks[first..].iter().take_while(|(place, ..)| *place as usize == at) {
            if top.is_none() {
                plot.color("purple");
            }
            plot.line((now, *left), (now, *right));
            plot.mark("htick", now, left);
            plot.mark("htick", now, right);
            top = top.max(Some(*right));
        }
        if let Some(top) = top {
            plot.letters("atext", now, top, "S");
        }
    }
}

fn segment(row: &SegmentRow, plot: &mut Plot) {
    let (now, flags, marks) = (row.nanos, row.flags, row.marks);
    let (start, end) = (row.seq, row.seq + i64::from(row.payload));
    let again = row.again > 0;
    if flags & flag::SYN != 0 {
        plot.color(if again { "red" } else { "orange" });
        plot.mark("diamond", now, start);
        plot.letters("atext", now, start + 1, if again { "R SYN" } else { "SYN" });
        plot.mark("uarrow", now, start + 1);
        plot.line((now, start), (now, start + 1));
        return;
    }
    if row.payload > 0 {
        plot.color(if again { "red" } else { "white" });
        plot.mark("darrow", now, start);
        plot.mark(if flags & flag::PSH == 0 { "uarrow" } else { "diamond" }, now, end);
        plot.line((now, start), (now, end));
        if again {
            plot.letters("atext", now, end, "R");
        }
        if marks & mark::OUT_OF_ORDER != 0 {
            plot.letters("atext", now, end, "O");
        }
        if marks & mark::PROBE != 0 {
            plot.letters("btext", now, end, "P");
        }
    }
    if flags & flag::FIN != 0 {
        plot.color("orange");
        plot.line((now, end), (now, end + 1));
        plot.mark("box", now, end + 1);
        plot.letters("atext", now, end + 1, if again && row.payload == 0 { "R FIN" } else { "FIN" });
    }
}

fn outstanding(rows: &Rows, here: impl Iterator<Item = usize>, side: usize, plot: &mut Plot) {
    let mut last: [Option<(u64, i64)>; 3] = [None; 3];
    let mut window = None;
    for at in here {
        let row = &rows.segments[at];
        let own = usize::from(row.side) == side;
        if !own && row.ack >= 0 {
            window = Some(row.window.cast_signed());
        }
        // A row without data gives the outstanding data of the other direction.
        if own == (row.payload == 0) {
            continue;
        }
        let now = row.nanos;
        let values = [
            ("yellow", window),
            ("blue", Some(row.in_flight.cast_signed())),
            ("red", Some(row.outstanding.cast_signed())),
        ];
        for ((color, value), last) in values.into_iter().zip(&mut last) {
            let Some(value) = value else { continue };
            plot.color(color);
            plot.mark("dot", now, value);
            // Draw steps: the value holds until it changes.
            if let Some((then, before)) = last.replace((now, value)) {
                plot.line((then, before), (now, before));
                plot.line((now, before), (now, value));
            }
        }
    }
}

fn round_trips(rows: &Rows, here: impl Iterator<Item = usize>, side: usize, plot: &mut Plot) {
    let mut last: Option<(u64, f64)> = None;
    for at in here {
        let row = &rows.segments[at];
        // The row of an ACK gives the round-trip time of the other direction's data.
        if usize::from(row.side) == side || row.rtt == 0 {
            continue;
        }
        if last.is_none() {
            plot.color("red");
        }
        let (now, ms) = (row.nanos, row.rtt as f64 * 1e-6);
        plot.mark("dot", now, format_args!("{ms:.3}"));
        if let Some((then, before)) = last.replace((now, ms)) {
            let _ = writeln!(plot.text, "line {} {before:.3} {} {ms:.3}", XplotTime(then), XplotTime(now));
        }
    }
}
