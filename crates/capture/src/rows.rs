//! A row for each segment, for plots and packet-by-packet comparisons.

use std::sync::OnceLock;

use crate::report::{Definition, Field, definitions};
use crate::segment::{Segment, TcpOptions};
use crate::tcp::connection::SegmentVerdict;
use crate::tcp::observed_scoreboard::RetransmissionCause;

/// A segment.
#[derive(Clone, Copy, Debug)]
pub struct SegmentRow {
    /// Number of its frame in the capture, from 1.
    pub frame: u64,
    /// When it was captured, in ns since 1970.
    pub nanos: u64,
    /// Index of its connection in the analysis.
    pub connection: u32,
    /// Its direction: 0 from a to b, 1 from b to a.
    pub side: u8,
    /// Its first byte, relative to the SYN of its direction.
    pub seq: i64,
    /// Its acknowledgement number, relative to the SYN of the other direction; -1 without ACK flag.
    pub ack: i64,
    /// Payload, in bytes.
    pub payload: u32,
    /// Bits of [`crate::flag`].
    pub flags: u8,
    /// Advertised window, scaled, in bytes.
    pub window: u64,
    /// Bytes seen before.
    pub again: u32,
    /// Bits of [`mark`].
    pub marks: u8,
    /// Round-trip time that its ACK gives for the data of the other direction, in ns; 0 for none.
    pub rtt: u64,
    /// Bytes outstanding after it in its own direction (for an ACK without data: in the other direction).
    pub outstanding: u64,
    /// `outstanding` without the data that SACK reported.
    pub in_flight: u64,
    /// Data in the network, as estimated by RFC 6675.
    pub pipe: u64,
}

/// A row for each segment.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    /// The rows, in the order of the capture.
    pub segments: Vec<SegmentRow>,
    /// SACK blocks: row, left edge, right edge, numbered like `ack`.
    pub sacks: Vec<(u32, i64, i64)>,
    /// Time of the first packet of the capture, in ns since 1970.
    pub origin: u64,
    index: OnceLock<Index>,
}

/// The rows of each connection.
#[derive(Clone, Debug)]
struct Index {
    /// Start index in `rows` of each connection's rows, plus one entry for the end of the last.
    starts: Vec<usize>,
    rows: Vec<u32>,
}

definitions! {
/// The columns of the table of rows.
pub COLUMNS: fn(&SegmentRow, u64) -> Field = |r, origin| {
    "frame": "Number of the frame in the capture, from 1." => r.frame;
    "time_ns": "Time of capture, since 1970 [ns]." => r.nanos;
    "time_s": "Time since the first packet of the capture [s]."
        => r.nanos.wrapping_sub(origin).cast_signed() as f64 / 1e9;
    "connection": "Number of the connection, from 1." => u64::from(r.connection) + 1;
    "direction": "`a2b` or `b2a`." => if r.side == 0 { "a2b" } else { "b2a" };
    "seq": "First byte, counted from the SYN." => r.seq as f64;
    "ack": "Acknowledgement number, counted from the other end's SYN."
        => if r.ack < 0 { f64::NAN } else { r.ack as f64 };
    "payload_bytes": "Payload [bytes]." => r.payload;
    "flags": "Flags of the TCP header: FIN 1, SYN 2, RST 4, PSH 8, ACK 16, URG 32." => r.flags;
    "window_bytes": "Window advertised, scaled [bytes]." => r.window;
    "retransmitted_bytes": "Bytes (and SYN, FIN) in this segment that were seen before."
        => r.again;
    "cause": "Why it was sent again, as known at that time: `fast`, `timeout` or `spurious`." => r.cause();
    "out_of_order": "1 if it starts and ends below a segment seen before, and is new."
        => r.bit(mark::OUT_OF_ORDER);
    "duplicate_ack": "1 for a duplicate ACK." => r.bit(mark::DUPLICATE_ACK);
    "window_probe": "1 for a probe of a zero window." => r.bit(mark::PROBE);
    "rtt_s": "Round-trip time that the ACK gives the other direction's data [s]."
        => if r.rtt == 0 { f64::NAN } else { r.rtt as f64 / 1e9 };
    "outstanding_bytes": "Bytes outstanding after this segment in its direction (without payload: in the \
        other direction) [bytes]."
        => r.outstanding;
    "in_flight_bytes": "`outstanding_bytes` without data that SACK reported [bytes]." => r.in_flight;
    "pipe_bytes": "Data in the network, as estimated by RFC 6675 [bytes]." => r.pipe;
}
}

/// Bits of [`SegmentRow::marks`].
pub mod mark {
    /// Retransmitted because of duplicate ACKs or SACK.
    pub const FAST: u8 = 0x01;
    /// Retransmitted by a timer.
    pub const TIMEOUT: u8 = 0x02;
    /// Retransmitted unnecessarily: the first copy had arrived.
    pub const SPURIOUS: u8 = 0x04;
    /// Out of order.
    pub const OUT_OF_ORDER: u8 = 0x08;
    /// A duplicate ACK.
    pub const DUPLICATE_ACK: u8 = 0x10;
    /// The third duplicate ACK.
    pub const THIRD_DUPLICATE: u8 = 0x20;
    /// A probe of a zero window.
    pub const PROBE: u8 = 0x40;
}

/// The position of a segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SegmentPlace {
    pub(crate) frame: u64,
    pub(crate) connection: u32,
    pub(crate) side: usize,
}

impl Rows {
    pub(crate) fn add(&mut self, place: SegmentPlace, segment: &Segment<'_>, nanos: u64, verdict: &SegmentVerdict) {
        let flight = if segment.payload > 0 { verdict.flight } else { verdict.flight_back };
        let cause = match verdict.cause {
            Some(RetransmissionCause::Fast) => mark::FAST,
            Some(RetransmissionCause::Timeout) => mark::TIMEOUT,
            Some(RetransmissionCause::Spurious) => mark::SPURIOUS,
            None => 0,
        };
        let bit = |set: bool, bit: u8| if set { bit } else { 0 };
        self.segments.push(SegmentRow {
            frame: place.frame,
            nanos,
            connection: place.connection,
            side: place.side as u8,
            seq: verdict.seq,
            ack: verdict.ack.unwrap_or(-1),
            payload: segment.payload,
            flags: segment.flags,
            window: verdict.window,
            again: verdict.again,
            marks: cause
                | bit(verdict.out_of_order, mark::OUT_OF_ORDER)
                | bit(verdict.duplicate_ack, mark::DUPLICATE_ACK)
                | bit(verdict.third_duplicate, mark::THIRD_DUPLICATE)
                | bit(verdict.probe, mark::PROBE),
            rtt: verdict.rtt.unwrap_or(0),
            outstanding: flight.outstanding,
            in_flight: flight.in_flight,
            pipe: flight.pipe,
        });
        if let Some(ack) = verdict.ack {
            let options = TcpOptions::parse(segment.options);
            let row = (self.segments.len() - 1) as u32;
            for (left, right) in &options.blocks[..usize::from(options.sacks)] {
                let place = |edge: u32| ack + i64::from(edge.wrapping_sub(segment.ack).cast_signed());
                self.sacks.push((row, place(*left), place(*right)));
            }
        }
    }

    /// Renumbers connections, and drops the rows of those without a new number.
    pub(crate) fn renumber(&mut self, numbers: &[Option<u32>]) {
        let mut places = Vec::with_capacity(self.segments.len());
        let mut count = 0u32;
        self.segments.retain_mut(|row| {
            let new = numbers[row.connection as usize];
            places.push(new.map(|_| count));
            row.connection = new.unwrap_or_default();
            count += u32::from(new.is_some());
            new.is_some()
        });
        self.sacks.retain_mut(|(row, ..)| {
            let new = places[*row as usize];
            *row = new.unwrap_or_default();
            new.is_some()
        });
        self.index = OnceLock::new();
    }

    /// The rows of a connection, in order.
    pub(crate) fn of(&self, connection: usize) -> &[u32] {
        let index = self.index.get_or_init(|| {
            let count = self.segments.iter().map(|row| row.connection as usize + 1).max().unwrap_or(0);
            let mut starts = vec![0; count + 1];
            for row in &self.segments {
                starts[row.connection as usize + 1] += 1;
            }
            for at in 0..count {
                starts[at + 1] += starts[at];
            }
            let mut next = starts.clone();
            let mut rows = vec![0; self.segments.len()];
            for (at, row) in (0..).zip(&self.segments) {
                rows[next[row.connection as usize]] = at;
                next[row.connection as usize] += 1;
            }
            Index { starts, rows }
        });
        match index.starts.get(connection..connection + 2) {
            Some(&[from, to]) => &index.rows[from..to],
            _ => &[],
        }
    }
}

impl SegmentRow {
    fn bit(&self, bit: u8) -> u64 {
        u64::from(self.marks & bit != 0)
    }

    fn cause(&self) -> &'static str {
        match self.marks & (mark::FAST | mark::TIMEOUT | mark::SPURIOUS) {
            mark::FAST => "fast",
            mark::TIMEOUT => "timeout",
            mark::SPURIOUS => "spurious",
            _ => "",
        }
    }
}
