//! Recordings of an emulation: the packets injected, with their times, and the fate of each.
//!
//! A recording begins with [`MAGIC`] and a line that describes the emulation. Entries follow, with numbers in
//! little-endian order:
//!
//! | bytes | meaning |
//! |---|---|
//! | 1 | type: 1 injected, 2 arrived, 3 lost, 4 end of the recording |
//! | 1 | with type 3: where it was lost, an index of [`wifair_sim::world::Loss::NAMES`]; else 0 |
//! | 2 | host: the source with type 1, else the destination |
//! | 4 | length of the packet |
//! | 8 | simulated time in ns |
//! | length | the packet |
//!
//! The simulation is a function of the scenario, the seed, and the packets injected with their times. Replaying the
//! entries of type 1 therefore reproduces all others.

use std::io::{self, BufRead, Read, Write};

use wifair_units::{Duration, Time};

use crate::cell::{Delivery, EmulatedCell};

/// The beginning of every recording.
pub const MAGIC: &str = "wifair emulation 1\n";

const PUT_IN: u8 = 1;
const ARRIVED: u8 = 2;
const LOST: u8 = 3;
const END: u8 = 4;
/// The greatest length of a packet or line; a greater one means that the file is damaged.
const LONGEST: u32 = 1 << 16;
const LONGEST_LINE: u64 = 1 << 24;

/// Writes a recording.
#[derive(Debug)]
pub struct Recorder<W: Write> {
    file: W,
}

impl<W: Write> Recorder<W> {
    /// Begins a recording, with a line that describes it.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn new(mut file: W, about: &str) -> io::Result<Self> {
        debug_assert!(!about.contains('\n'), "the description is one line");
        file.write_all(MAGIC.as_bytes())?;
        file.write_all(about.as_bytes())?;
        file.write_all(b"\n")?;
        Ok(Self { file })
    }

    fn write(&mut self, kind: u8, cause: u8, host: usize, time: Time, bytes: &[u8]) -> io::Result<()> {
        let mut head = [0; 16];
        (head[0], head[1]) = (kind, cause);
        head[2..4].copy_from_slice(&u16::try_from(host).unwrap_or(u16::MAX).to_le_bytes());
        head[4..8].copy_from_slice(&u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_le_bytes());
        head[8..].copy_from_slice(&time.as_nanos().to_le_bytes());
        self.file.write_all(&head)?;
        self.file.write_all(bytes)
    }

    /// Records an injected packet.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn inject(&mut self, time: Time, from: usize, bytes: &[u8]) -> io::Result<()> {
        self.write(PUT_IN, 0, from, time, bytes)
    }

    /// Records a packet that arrived or was lost.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn collect(&mut self, delivery: &Delivery<'_>) -> io::Result<()> {
        let (kind, cause) = delivery.lost.map_or((ARRIVED, 0), |loss| (LOST, loss as u8));
        self.write(kind, cause, delivery.to, delivery.time, delivery.bytes)
    }

    /// Records the end of the emulation.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn finish(mut self, time: Time) -> io::Result<W> {
        self.write(END, 0, 0, time, &[])?;
        self.file.flush()?;
        Ok(self.file)
    }
}

/// An entry of a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
struct RecordingEntry {
    kind: u8,
    cause: u8,
    host: usize,
    time: Time,
    bytes: Vec<u8>,
}

/// The outcome of replaying a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replayed {
    /// Packets injected.
    pub inject: u64,
    /// Packets that arrived or were lost at the same time and with the same bytes as in the recording.
    pub same: u64,
    /// Simulated time of the first difference, in ns.
    pub differs_at: Option<u64>,
    /// Whether the recording is truncated, as when its writer was killed.
    pub is_cut: bool,
}

/// Reads a recording.
pub struct Recording<R: BufRead> {
    file: R,
    about: String,
}

impl<R: BufRead> Recording<R> {
    /// Opens a recording.
    ///
    /// # Errors
    /// If it cannot be read, or is not a recording.
    pub fn open(mut file: R) -> io::Result<Self> {
        let none = || io::Error::new(io::ErrorKind::InvalidData, "not a recording of `wifair emulate --record`");
        let mut magic = vec![0; MAGIC.len()];
        file.read_exact(&mut magic)
            .map_err(|error| if error.kind() == io::ErrorKind::UnexpectedEof { none() } else { error })?;
        if magic != MAGIC.as_bytes() {
            return Err(none());
        }
        let mut about = String::new();
        (&mut file).take(LONGEST_LINE).read_line(&mut about)?;
        if about.pop() != Some('\n') {
            return Err(none());
        }
        Ok(Self { file, about })
    }

    /// The line that describes it.
    pub fn about(&self) -> &str {
        &self.about
    }

    /// The next entry; `None` at the end of the file or where it is truncated.
    fn next(&mut self) -> io::Result<Option<RecordingEntry>> {
        let mut head = [0; 16];
        let read = |file: &mut R, to: &mut [u8]| match file.read_exact(to) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
            Err(error) => Err(error),
        };
        if !read(&mut self.file, &mut head)? {
            return Ok(None);
        }
        let [kind, cause, low, high, a, b, c, d, time @ ..] = head;
        let length = u32::from_le_bytes([a, b, c, d]);
        if !(PUT_IN..=END).contains(&kind) || length > LONGEST {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the recording is damaged"));
        }
        let mut bytes = vec![0; length as usize];
        if !read(&mut self.file, &mut bytes)? {
            return Ok(None);
        }
        let time = Time::from_nanos(u64::from_le_bytes(time));
        Ok(Some(RecordingEntry { kind, cause, host: usize::from(u16::from_le_bytes([low, high])), time, bytes }))
    }

    /// Injects the packets of the recording into `cell` at the same simulated times. `cell` must have the same scenario
    /// and seed. `goes_on` is called between packets, and stops the replay by returning false.
    ///
    /// # Errors
    /// If the recording cannot be read, or is damaged.
    pub fn replay(&mut self, cell: &mut EmulatedCell, mut goes_on: impl FnMut() -> bool) -> io::Result<Replayed> {
        let mut replayed = Replayed { is_cut: true, ..Replayed::default() };
        while let Some(entry) = self.next()? {
            if !goes_on() {
                return Ok(replayed);
            }
            match entry.kind {
                PUT_IN => {
                    if entry.host >= cell.hosts().len() || entry.time < cell.now() {
                        return Err(io::Error::new(io::ErrorKind::InvalidData, "the recording is damaged"));
                    }
                    cell.run_until(entry.time);
                    let _ = cell.inject(entry.host, &entry.bytes); // refusals are counted
                    replayed.inject += 1;
                }
                END => {
                    cell.run_until(entry.time);
                    replayed.is_cut = false;
                    // The cell must not deliver packets that the recording does not have.
                    while let Some(delivery) = cell.collect() {
                        replayed.differs_at.get_or_insert(delivery.time.as_nanos());
                    }
                    return Ok(replayed);
                }
                _ => {
                    cell.run_until(entry.time.max(cell.now()));
                    let is_same = cell.collect().is_some_and(|delivery| {
                        (delivery.time, delivery.to, delivery.bytes) == (entry.time, entry.host, &entry.bytes[..])
                            && delivery.lost.map(|loss| loss as u8) == (entry.kind == LOST).then_some(entry.cause)
                    });
                    if is_same {
                        replayed.same += 1;
                    } else {
                        replayed.differs_at.get_or_insert(entry.time.as_nanos());
                    }
                }
            }
        }
        // Simulate a little longer, for packets that were in transit when the recording stopped.
        cell.run_until(cell.now() + Duration::from_millis(1));
        while cell.collect().is_some() {}
        Ok(replayed)
    }
}
