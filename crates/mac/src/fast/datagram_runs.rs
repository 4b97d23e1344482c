//! Datagrams for which no packets are written: stored as runs, with what they have in common.

use std::collections::VecDeque;

use wifair_packet::{Packet, PacketId, Packets};
use wifair_units::{Duration, Time};

/// Consecutive datagrams sent at equal intervals.
#[derive(Clone, Copy, Debug)]
pub struct DatagramRun {
    /// Payload offset of the first.
    pub seq: u64,
    /// When the first was sent.
    pub sent_at: Time,
    /// Number of datagrams.
    pub count: u64,
}

/// How long before the end of their PPDU MPDUs of equal length were received.
#[derive(Clone, Copy, Debug, Default)]
pub struct MpduLeads {
    /// Bytes from the end of the first MPDU to the end of the PSDU, and from the end of an MPDU to the end of the next.
    behind: u64,
    stride: u64,
    /// Time that a byte takes, in 2^-32 ns; zero if all MPDUs are passed up at the end of the PPDU.
    byte: u64,
}

impl MpduLeads {
    pub(crate) const fn new(behind: u64, stride: u64, byte: u64) -> Self {
        Self { behind, stride, byte }
    }

    /// The lead of the MPDU with this index.
    #[inline]
    #[must_use]
    pub const fn of(&self, place: u64) -> Duration {
        Duration::from_nanos(self.fraction(place) >> 32)
    }

    /// The lead of the MPDU with this index, in 2^-32 ns.
    const fn fraction(&self, place: u64) -> u64 {
        self.behind.saturating_sub(self.stride * place) * self.byte
    }
}

/// Datagrams that differ in payload offset and time only, in the order in which they were sent.
#[derive(Clone, Debug, Default)]
pub struct DatagramRuns {
    like: Packet,
    interval: Duration,
    runs: VecDeque<DatagramRun>,
    len: u64,
}

impl DatagramRuns {
    /// An empty list for datagrams like this packet, sent at this interval within a run.
    #[must_use]
    pub fn of(like: &Packet, interval: Duration) -> Self {
        Self { like: *like, interval, ..Self::default() }
    }

    /// A packet like all of the datagrams.
    #[must_use]
    pub const fn like(&self) -> &Packet {
        &self.like
    }

    /// The interval between the datagrams of a run.
    #[must_use]
    pub const fn interval(&self) -> Duration {
        self.interval
    }

    /// Number of datagrams.
    #[must_use]
    pub const fn len(&self) -> u64 {
        self.len
    }

    /// Whether there are no datagrams.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The runs.
    pub fn runs(&self) -> impl Iterator<Item = &DatagramRun> {
        self.runs.iter()
    }

    /// Ages of the datagrams of each run when received, each at its lead before `end`, but at most `longest` before it.
    #[inline]
    pub fn ages(
        &self,
        end: Time,
        longest: Duration,
        leads: MpduLeads,
    ) -> impl Iterator<Item = impl Iterator<Item = Duration> + Clone> {
        let (mut place, interval) = (0, self.interval.as_nanos());
        self.runs.iter().map(move |run| {
            let mut lead = leads.fraction(place);
            place += run.count;
            let mut age = (end - run.sent_at).as_nanos();
            (0..run.count).map(move |_| {
                let received = age.wrapping_sub((lead >> 32).min(longest.as_nanos()));
                lead = lead.wrapping_sub(leads.stride * leads.byte);
                age = age.wrapping_sub(interval);
                Duration::from_nanos(received)
            })
        })
    }

    pub(crate) fn clear(&mut self) {
        self.runs.clear();
        self.len = 0;
    }

    /// Adds a run at the end.
    pub(crate) fn push(&mut self, run: DatagramRun) {
        self.len += run.count;
        if let Some(last) = self.runs.back_mut()
            && last.sent_at + self.interval * last.count == run.sent_at
        {
            last.count += run.count;
        } else {
            self.runs.push_back(run);
        }
    }

    /// Removes up to `most` datagrams from the first run.
    fn pop(&mut self, most: u64) -> Option<DatagramRun> {
        let first = self.runs.front_mut()?;
        let run = DatagramRun { count: first.count.min(most), ..*first };
        if run.count == first.count {
            self.runs.pop_front();
        } else {
            first.seq += u64::from(self.like.payload) * run.count;
            first.sent_at += self.interval * run.count;
            first.count -= run.count;
        }
        self.len -= run.count;
        Some(run)
    }

    /// Moves up to `most` datagrams from the front of `others`, of the same source, to the end of this list; returns
    /// their number.
    pub(crate) fn take_from(&mut self, others: &mut Self, most: u64) -> u64 {
        let before = self.len;
        while self.len < before + most
            && let Some(run) = others.pop(before + most - self.len)
        {
            self.push(run);
        }
        self.len - before
    }

    /// Writes packets for up to `most` datagrams at the front, and removes these datagrams. Calls `note` for each group
    /// of packets with consecutive numbers: the first packet, their number, the time of the first, and the interval
    /// between them.
    pub(crate) fn write_out(
        &mut self,
        most: u64,
        packets: &mut Packets,
        mut note: impl FnMut(PacketId, usize, Time, Duration),
    ) {
        let (payload, interval, mut most) = (u64::from(self.like.payload), self.interval, most);
        while most > 0
            && let Some(DatagramRun { mut seq, sent_at: mut time, count }) = self.pop(most)
        {
            most -= count;
            #[allow(clippy::cast_possible_truncation)]
            let mut left = count as usize;
            while left > 0 {
                let (first, slots) = packets.add_side_by_side(left);
                note(first, slots.len(), time, interval);
                for packet in &mut *slots {
                    *packet = self.like;
                    packet.seq = seq;
                    packet.set_sent_at(time);
                    seq += payload;
                    time += interval;
                }
                left -= slots.len();
            }
        }
    }
}
