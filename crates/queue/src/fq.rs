//! What FQ-CoDel and the airtime scheduler share: lines with CoDel, served by deficit round robin, new lines first.
//!
//! Source: RFC 8290, section 4. A group is a pair of lists of lines: one for lines that have just received their first
//! packet (new), one for the others (old). A line has credits in bytes. The scheduler looks at the first new line or,
//! if there is none, at the first old one. A line without credits gets a quantum and goes to the end of the old lines;
//! otherwise CoDel takes a packet from it, which costs its size in credits. An empty old line is removed. An empty new
//! line moves to the old lines first, so that no flow gains by becoming empty again and again.
//!
//! A full buffer drops from the head of the line that holds the most bytes: the qdisc `fq_codel` up to half of its
//! bytes and at most 64 packets at once, Linux's Wi-Fi stack (`include/net/fq_impl.h`) one packet at a time. CoDel
//! drops nothing while no more than a full packet is left: in the qdisc of all lines, in the Wi-Fi stack of the line.
//!
//! With `arithmetic = "rfc"`, sizes are those of IP packets and the qdisc, too, asks what the line holds.
//!
//! Our reading: a line without credits has zero or fewer, as in Linux. The RFC asks for negative credits ("has dequeued
//! at least a quantum").

use std::collections::VecDeque;

use wifair_packet::{PacketId, Packets, entry};
use wifair_units::{Bytes, Time};

use super::codel::{self, CodelState, Leaving};
use super::lines::Lines;
use super::linux::memory;
use super::room::Room;
use super::{Cause, Dropped, Limit};

/// The most packets dropped at once.
const BATCH: u32 = 64;

#[derive(Clone, Copy, Debug, Default)]
struct CodelLine {
    /// CoDel's state, once a packet has arrived.
    control: Option<CodelState>,
    credits: i64,
    listed: bool,
}

/// In which of its two places this code stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FqPlace {
    /// The queue discipline `fq_codel`.
    Qdisc,
    /// The queues of Linux's Wi-Fi stack.
    WifiStack,
}

/// The two lists, new and old, of the lines or stations that take turns.
#[derive(Clone, Debug, Default)]
pub struct NewAndOldLists {
    new: VecDeque<usize>,
    old: VecDeque<usize>,
}

impl NewAndOldLists {
    /// Number of entries.
    pub fn len(&self) -> usize {
        self.new.len() + self.old.len()
    }

    /// All entries, in the order of their turns: the new ones, then the old ones.
    pub fn all(&self) -> impl Iterator<Item = usize> {
        self.new.iter().chain(&self.old).copied()
    }

    /// Adds a new entry.
    pub fn push(&mut self, number: usize) {
        self.new.push_back(number);
    }

    /// Adds an old entry.
    pub fn push_old(&mut self, number: usize) {
        self.old.push_back(number);
    }

    /// Removes the entry whose turn it is.
    pub fn take_first(&mut self) {
        if self.new.pop_front().is_none() {
            self.old.pop_front();
        }
    }

    /// The entry whose turn it is.
    pub fn first(&self) -> Option<usize> {
        self.all().next()
    }

    /// Moves the first entry, if any, to the end of the old ones.
    pub fn defer(&mut self) {
        let first = self.new.pop_front().or_else(|| self.old.pop_front());
        self.old.extend(first);
    }

    /// Removes the first entry, whose line or station has become empty; but if it is new and there are old ones, it
    /// moves to their end. Returns whether it was removed.
    pub fn remove_empty(&mut self) -> bool {
        match self.new.pop_front() {
            Some(first) if !self.old.is_empty() => {
                self.old.push_back(first);
                return false;
            }
            Some(_) => {}
            None => drop(self.old.pop_front()),
        }
        true
    }
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub struct Fq {
    room: Room,
    lines: Lines,
    states: Vec<CodelLine>,
    quantum: i64,
    codel: codel::Params,
    place: FqPlace,
    /// Counted with each packet, in bytes.
    header: u64,
    /// Memory that waiting packets may take and that they take, as Linux counts it.
    most_memory: u64,
    memory: u64,
}

impl Fq {
    /// An empty queue.
    pub fn new(limit: Limit, quantum: i64, codel: &codel::Params, place: FqPlace) -> Self {
        Self {
            room: Room::new(limit, None),
            lines: Lines::default(),
            states: vec![],
            quantum,
            codel: codel.clone(),
            place,
            header: codel.arithmetic.header(),
            most_memory: u64::MAX,
            memory: 0,
        }
    }

    /// The queue with a limit of its memory.
    pub fn with_memory(mut self, most: Option<Bytes>) -> Self {
        self.most_memory = most.map_or(u64::MAX, |bytes| bytes.0);
        self
    }

    /// Adds a packet.
    pub fn enqueue(
        &mut self,
        now: Time,
        id: PacketId,
        line: usize,
        group: &mut NewAndOldLists,
        packets: &mut Packets,
        dropped: &mut Dropped,
    ) {
        if self.add(now, id, line, group, packets, dropped) {
            while self.overflows() {
                self.relieve(dropped);
            }
        }
    }

    /// Adds a packet, unless it would not fit even into an empty queue; returns whether it did. Afterwards the queue
    /// may hold too much.
    pub fn add(
        &mut self,
        now: Time,
        id: PacketId,
        line: usize,
        group: &mut NewAndOldLists,
        packets: &mut Packets,
        dropped: &mut Dropped,
    ) -> bool {
        let packet = &mut packets[id];
        if !self.room.could_fit(packet.bytes().0) {
            dropped.push((id, Cause::Overflow));
            return false;
        }
        self.room.enter(packet);
        self.memory += memory(packet.size);
        self.lines.push(line, id, packet.size, now.as_nanos());
        let state = entry(&mut self.states, line);
        state.control.get_or_insert_with(|| CodelState::new(self.codel.arithmetic));
        if !state.listed {
            state.listed = true;
            state.credits = self.quantum;
            group.push(line);
        }
        true
    }

    /// Whether it holds more than it may.
    pub fn overflows(&self) -> bool {
        self.room.overflows() || self.memory > self.most_memory
    }

    /// Whether a line is in one of the lists of its group.
    pub fn is_listed(&self, line: usize) -> bool {
        self.states.get(line).is_some_and(|state| state.listed)
    }

    /// The packets of a line, first to last.
    pub fn line(&self, line: usize) -> impl ExactSizeIterator<Item = PacketId> + Clone {
        self.lines.ids(line)
    }

    /// Removes a packet from inside a line.
    pub fn remove(&mut self, line: usize, place: usize) -> Option<PacketId> {
        let gone = self.lines.remove(line, place)?;
        self.room.leave(u64::from(gone.size));
        self.memory -= memory(gone.size);
        Some(gone.id)
    }

    /// Bytes of a line, with headers.
    fn bytes(&self, line: usize) -> u64 {
        self.lines.bytes(line) + self.header * u64::from(self.lines.packets(line))
    }

    /// Drops from the head of the line that holds the most bytes, the first such line; returns its number.
    pub fn relieve(&mut self, dropped: &mut Dropped) -> usize {
        let fattest = (0..self.states.len()).rev().max_by_key(|line| self.bytes(*line));
        let fattest = fattest.expect("a buffer that overflows has a line");
        let (most, half) = match self.place {
            FqPlace::Qdisc => (BATCH, self.bytes(fattest) / 2),
            FqPlace::WifiStack => (1, 0),
        };
        let (mut count, mut bytes) = (0, 0);
        while count < most && (count == 0 || bytes < half) {
            let Some(first) = self.lines.pop_first(fattest) else { break };
            self.room.leave(u64::from(first.size));
            self.memory -= memory(first.size);
            dropped.push((first.id, Cause::Overflow));
            count += 1;
            bytes += u64::from(first.size) + self.header;
        }
        if let (FqPlace::Qdisc, Some(control)) = (self.place, &mut self.states[fattest].control) {
            control.count_overflow(count);
        }
        fattest
    }

    /// Removes the next packet of a group.
    pub fn dequeue(
        &mut self,
        now: Time,
        group: &mut NewAndOldLists,
        packets: &mut Packets,
        dropped: &mut Dropped,
    ) -> Option<PacketId> {
        self.dequeue_by(now, None, group, packets, dropped)
    }

    /// The same with other parameters of CoDel than the queue's own.
    pub fn dequeue_by(
        &mut self,
        now: Time,
        codel: Option<&codel::Params>,
        group: &mut NewAndOldLists,
        packets: &mut Packets,
        dropped: &mut Dropped,
    ) -> Option<PacketId> {
        loop {
            let line = group.first()?;
            let state = &mut self.states[line];
            if state.credits <= 0 {
                state.credits += self.quantum;
                group.defer();
                continue;
            }
            let (lines, room, header, place) = (&mut self.lines, &mut self.room, self.header, self.place);
            let held = &mut self.memory;
            let control = state.control.as_mut().expect("a listed line has had a packet");
            let sent = control.dequeue(now, codel.unwrap_or(&self.codel), packets, dropped, |_| {
                let first = lines.pop_first(line)?;
                room.leave(u64::from(first.size));
                *held -= memory(first.size);
                let (bytes, count) = match place {
                    FqPlace::Qdisc if header > 0 => (room.bytes(), room.len() as u64),
                    _ => (lines.bytes(line), u64::from(lines.packets(line))),
                };
                Some(Leaving { id: first.id, since: Time::from_nanos(first.note), left: bytes + header * count })
            });
            if let Some(id) = sent {
                state.credits -= i64::from(packets[id].size) + self.header as i64;
                return Some(id);
            }
            state.listed = !group.remove_empty();
        }
    }

    /// Packets inside.
    pub const fn len(&self) -> usize {
        self.room.len()
    }

    /// Whether a full-size packet would not fit.
    pub fn is_full(&self) -> bool {
        self.room.is_full() || self.memory.saturating_add(memory(1500)) > self.most_memory
    }

    /// Packets marked.
    pub fn marks(&self) -> u64 {
        self.states.iter().filter_map(|state| state.control.as_ref()).map(CodelState::marks).sum()
    }

    /// Lines that hold packets.
    pub fn busy_lines(&self) -> usize {
        (0..self.states.len()).filter(|line| self.lines.packets(*line) > 0).count()
    }
}
