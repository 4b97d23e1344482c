//! A row for each segment, for plots and packet-by-packet comparisons.

use std::sync::OnceLock;

use crate::report::{Definition, Field, definitions};
use crate::segment::{Segment, TcpOptions};
use crate::tcp::connection::SegmentVerdict;
use crate::tcp::observed_scoreboard::RetransmissionCause;

/// Columns of equal length, one entry per segment.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    /// Number of its frame in the capture, from 1.
    pub frame: Vec<u64>,
    /// When it was captured, in ns since 1970.
    pub nanos: Vec<u64>,
    /// Index of its connection in the analysis.
    pub connection: Vec<u32>,
    /// Its direction: 0 from a to b, 1 from b to a.
    pub side: Vec<u8>,
    /// Its first byte, relative to the SYN of its direction.
    pub seq: Vec<i64>,
    /// Its acknowledgement number, relative to the SYN of the other direction; -1 without ACK flag.
    pub ack: Vec<i64>,
    /// Payload, in bytes.
    pub payload: Vec<u32>,
    /// Bits of [`crate::flag`].
    pub flags: Vec<u8>,
    /// Advertised window, scaled, in bytes.
    pub window: Vec<u64>,
    /// Bytes seen before.
    pub again: Vec<u32>,
    /// Bits of [`mark`].
    pub marks: Vec<u8>,
    /// Round-trip time that its ACK gives for the data of the other direction, in ns; 0 for none.
    pub rtt: Vec<u64>,
    /// Bytes outstanding after it in its own direction (for an ACK without data: in the other direction).
    pub outstanding: Vec<u64>,
    /// `outstanding` without the data that SACK reported.
    pub in_flight: Vec<u64>,
    /// Data in the network, as estimated by RFC 6675.
    pub pipe: Vec<u64>,
    /// SACK blocks: row, left edge, right edge, numbered like `ack`.
    pub sacks: Vec<(u32, i64, i64)>,
    /// Time of the first packet of the capture, in ns since 1970.
    pub(crate) origin: u64,
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
pub COLUMNS: fn(&Rows, usize) -> Field = |r, i| {
    "frame": "Number of the frame in the capture, from 1." => r.frame[i];
    "time_ns": "Time of capture, since 1970 [ns]." => r.nanos[i];
    "time_s": "Time since the first packet of the capture [s]."
        => r.nanos[i].wrapping_sub(r.origin).cast_signed() as f64 / 1e9;
    "connection": "Number of the connection, from 1." => u64::from(r.connection[i]) + 1;
    "direction": "`a2b` or `b2a`." => if r.side[i] == 0 { "a2b" } else { "b2a" };
    "seq": "First byte, counted from the SYN." => r.seq[i] as f64;
    "ack": "Acknowledgement number, counted from the other end's SYN."
        => if r.ack[i] < 0 { f64::NAN } else { r.ack[i] as f64 };
    "payload_bytes": "Payload [bytes]." => r.payload[i];
    "flags": "Flags of the TCP header: FIN 1, SYN 2, RST 4, PSH 8, ACK 16, URG 32." => r.flags[i];
    "window_bytes": "Window advertised, scaled [bytes]." => r.window[i];
    "retransmitted_bytes": "Bytes (and SYN, FIN) in this segment that were seen before."
        => r.again[i];
    "cause": "Why it was sent again, as known at that time: `fast`, `timeout` or `spurious`." => r.cause(i);
    "out_of_order": "1 if it starts and ends below a segment seen before, and is new."
        => r.bit(i, mark::OUT_OF_ORDER);
    "duplicate_ack": "1 for a duplicate ACK." => r.bit(i, mark::DUPLICATE_ACK);
    "window_probe": "1 for a probe of a zero window." => r.bit(i, mark::PROBE);
    "rtt_s": "Round-trip time that the ACK gives the other direction's data [s]."
        => if r.rtt[i] == 0 { f64::NAN } else { r.rtt[i] as f64 / 1e9 };
    "outstanding_bytes": "Bytes outstanding after this segment in its direction (without payload: in the \
        other direction) [bytes]."
        => r.outstanding[i];
    "in_flight_bytes": "`outstanding_bytes` without data that SACK reported [bytes]." => r.in_flight[i];
    "pipe_bytes": "Data in the network, as estimated by RFC 6675 [bytes]." => r.pipe[i];
}
}

/// Bits of [`Rows::marks`].
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
        self.frame.push(place.frame);
        self.nanos.push(nanos);
        self.connection.push(place.connection);
        self.side.push(place.side as u8);
        self.seq.push(verdict.seq);
        self.ack.push(verdict.ack.unwrap_or(-1));
        self.payload.push(segment.payload);
        self.flags.push(segment.flags);
        self.window.push(verdict.window);
        self.again.push(verdict.again);
        self.marks.push(
            cause
                | bit(verdict.out_of_order, mark::OUT_OF_ORDER)
                | bit(verdict.duplicate_ack, mark::DUPLICATE_ACK)
                | bit(verdict.third_duplicate, mark::THIRD_DUPLICATE)
                | bit(verdict.probe, mark::PROBE),
        );
        self.rtt.push(verdict.rtt.unwrap_or(0));
        self.outstanding.push(flight.outstanding);
        self.in_flight.push(flight.in_flight);
        self.pipe.push(flight.pipe);
        if let Some(ack) = verdict.ack {
            let options = TcpOptions::parse(segment.options);
            let row = (self.nanos.len() - 1) as u32;
            for (left, right) in &options.blocks[..usize::from(options.sacks)] {
                let place = |edge: u32| ack + i64::from(edge.wrapping_sub(segment.ack).cast_signed());
                self.sacks.push((row, place(*left), place(*right)));
            }
        }
    }

    /// Renumbers connections, and drops the rows of those without a new number.
    pub(crate) fn renumber(&mut self, numbers: &[Option<u32>]) {
        let stays: Vec<Option<u32>> = self.connection.iter().map(|old| numbers[*old as usize]).collect();
        let mut places = Vec::with_capacity(stays.len());
        let mut count = 0u32;
        for stay in &stays {
            places.push(count);
            count += u32::from(stay.is_some());
        }
        macro_rules! retain {
            ($($column:ident),*) => {$(
                let mut here = stays.iter();
                self.$column.retain(|_| here.next().is_some_and(Option::is_some));
            )*};
        }
        retain!(frame, nanos, side, seq, ack, payload, flags, window, again, marks, rtt, outstanding, in_flight, pipe);
        self.connection = stays.iter().flatten().copied().collect();
        self.sacks.retain_mut(|(row, ..)| {
            let old = *row as usize;
            *row = places[old];
            stays[old].is_some()
        });
        self.index = OnceLock::new();
    }

    /// The rows of a connection, in order.
    pub(crate) fn of(&self, connection: usize) -> &[u32] {
        let index = self.index.get_or_init(|| {
            let count = self.connection.iter().max().map_or(0, |last| *last as usize + 1);
            let mut starts = vec![0; count + 1];
            for connection in &self.connection {
                starts[*connection as usize + 1] += 1;
            }
            for at in 0..count {
                starts[at + 1] += starts[at];
            }
            let mut next = starts.clone();
            let mut rows = vec![0; self.len()];
            for (row, connection) in self.connection.iter().enumerate() {
                rows[next[*connection as usize]] = row as u32;
                next[*connection as usize] += 1;
            }
            Index { starts, rows }
        });
        match index.starts.get(connection..connection + 2) {
            Some(&[from, to]) => &index.rows[from..to],
            _ => &[],
        }
    }

    fn bit(&self, at: usize, bit: u8) -> u64 {
        u64::from(self.marks[at] & bit != 0)
    }

    fn cause(&self, at: usize) -> &'static str {
        match self.marks[at] & (mark::FAST | mark::TIMEOUT | mark::SPURIOUS) {
            mark::FAST => "fast",
            mark::TIMEOUT => "timeout",
            mark::SPURIOUS => "spurious",
            _ => "",
        }
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.nanos.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.nanos.is_empty()
    }
}
