//! Tables as CSV (RFC 4180): connections, segments.

use std::fmt::Write;

use crate::analysis::Analysis;
use crate::json::Value;
use crate::report::Field;
use crate::rows::{Rows, mark};

impl Analysis {
    /// A line for each direction of each connection, with the names of the JSON.
    #[must_use]
    pub fn connections_csv(&self) -> String {
        let mut text = String::new();
        for connection in self.connections() {
            for (side, direction) in [(0, "a2b"), (1, "b2a")] {
                let mut fields = connection.fields();
                fields.push(("direction", Field::Text(direction.to_owned())));
                for (name, value) in connection.side_fields(side) {
                    match fields.iter().position(|(there, _)| *there == name) {
                        // A direction's own packets, not those of both.
                        Some(at) => fields[at].1 = value,
                        None => fields.push((name, value)),
                    }
                }
                if text.is_empty() {
                    line(&mut text, fields.iter().map(|(name, _)| (*name).to_owned()));
                }
                line(&mut text, fields.iter().map(|(_, value)| cell(value)));
            }
        }
        text
    }
}

fn cell(value: &Field) -> String {
    match value {
        Field::Missing => String::new(),
        Field::Text(text) if text.contains([',', '"', '\n']) => format!("\"{}\"", text.replace('"', "\"\"")),
        Field::Text(text) => text.clone(),
        number => {
            let mut text = String::new();
            number.write(&mut text);
            text
        }
    }
}

fn line(text: &mut String, cells: impl Iterator<Item = String>) {
    for (at, cell) in cells.enumerate() {
        if at > 0 {
            text.push(',');
        }
        text.push_str(&cell);
    }
    text.push('\n');
}

impl Rows {
    /// A line for each segment.
    #[must_use]
    pub fn to_csv(&self) -> String {
        let mut text = String::from(
            "frame,time_ns,connection,direction,seq,ack,payload,flags,window,retransmitted_bytes,cause,out_of_order,\
             duplicate_ack,probe,rtt_s,outstanding_bytes,in_flight_bytes,pipe_bytes\n",
        );
        for at in 0..self.len() {
            let marks = self.marks[at];
            let cause = match marks & (mark::FAST | mark::TIMEOUT | mark::SPURIOUS) {
                mark::FAST => "fast",
                mark::TIMEOUT => "timeout",
                mark::SPURIOUS => "spurious",
                _ => "",
            };
            let number = |value: i64| if value < 0 { String::new() } else { value.to_string() };
            let rtt = match self.rtt[at] {
                0 => String::new(),
                nanos => format!("{:?}", nanos as f64 * 1e-9),
            };
            let bit = |bit: u8| u8::from(marks & bit != 0);
            let _ = writeln!(
                text,
                "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}",
                self.frame[at],
                self.nanos[at],
                self.connection[at] + 1,
                if self.side[at] == 0 { "a2b" } else { "b2a" },
                self.seq[at],
                number(self.ack[at]),
                self.payload[at],
                self.flags[at],
                self.window[at],
                self.again[at],
                cause,
                bit(mark::OUT_OF_ORDER),
                bit(mark::DUPLICATE_ACK),
                bit(mark::PROBE),
                rtt,
                self.outstanding[at],
                self.in_flight[at],
                self.pipe[at],
            );
        }
        text
    }
}
