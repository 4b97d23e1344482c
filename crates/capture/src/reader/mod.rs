//! Capture files: pcap and pcapng, plain or compressed, of any length, from any input.
//!
//! Formats: "PCAP Capture File Format" (draft-ietf-opsawg-pcap) and "PCAP Now Generic (pcapng) Capture File Format"
//! (draft-ietf-opsawg-pcapng). All blocks with packets are read; name resolution, statistics, secrets and unknown
//! blocks are skipped. Memory use does not depend on the length of the file.

mod input;
mod pcap;
mod pcapng;

use std::io::{self, Read};

use crate::error::{Damage, Error};
use crate::link::LinkType;
use input::Input;

/// The longest record in bytes; a longer one is treated as damage. It exceeds twice the longest IP packet, which leaves
/// room for link headers. libpcap has the same limit for all links supported here.
const LONGEST: u32 = 262_144;
/// The most interfaces in one pcapng section; more are treated as damage.
const MOST_INTERFACES: usize = 65_536;

/// An interface on which packets were captured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its link type.
    pub link: LinkType,
    /// Bytes captured of each packet at most; 0 for no limit.
    pub snap_length: u32,
    /// Its name, if the file gives one.
    pub name: Option<String>,
    /// Packets that the capturing system dropped, if the file says so.
    pub dropped: Option<u64>,
    clock: InterfaceClock,
}

/// How the time stamps of an interface are converted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct InterfaceClock {
    unit: ClockUnit,
    /// Seconds to add to each stamp.
    offset: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ClockUnit {
    /// A whole number of nanoseconds per tick.
    Nanos(u64),
    /// Ticks per second, if a tick is not a whole number of nanoseconds.
    PerSecond(u64),
}

impl InterfaceClock {
    const MICROSECONDS: Self = Self { unit: ClockUnit::Nanos(1_000), offset: 0 };

    /// Nanoseconds since 1970; a stamp outside 1970 to 2554 is clamped.
    #[inline]
    fn nanos(self, ticks: u64) -> u64 {
        let nanos = match self.unit {
            ClockUnit::Nanos(each) => ticks.saturating_mul(each),
            ClockUnit::PerSecond(each) => {
                u64::try_from(u128::from(ticks) * 1_000_000_000 / u128::from(each)).unwrap_or(u64::MAX)
            }
        };
        if self.offset == 0 {
            return nanos;
        }
        let offset = self.offset.unsigned_abs().saturating_mul(1_000_000_000);
        if self.offset < 0 { nanos.saturating_sub(offset) } else { nanos.saturating_add(offset) }
    }
}

/// One captured packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// When it was captured, in ns since 1970.
    pub nanos: u64,
    /// Index into [`CaptureReader::interfaces`].
    pub interface: u32,
    /// The link type of that interface.
    pub link: LinkType,
    /// Its length on the wire, in bytes; never less than the captured length.
    pub original: u32,
    /// The captured bytes.
    pub data: &'a [u8],
}

/// The position of a record in the buffer.
struct RecordPosition {
    nanos: u64,
    interface: u32,
    original: u32,
    /// Offsets from the current position: start of the packet, end of the packet, end of the record.
    begin: usize,
    end: usize,
    next: usize,
}

/// Why reading stops before the end of the file.
enum Stop {
    Failed(io::Error),
    Damaged(String),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

/// The byte order of a file.
#[derive(Clone, Copy, Default)]
struct ByteOrder {
    is_big: bool,
}

impl ByteOrder {
    #[inline]
    fn u16(self, bytes: &[u8], at: usize) -> u16 {
        let word = [bytes[at], bytes[at + 1]];
        if self.is_big { u16::from_be_bytes(word) } else { u16::from_le_bytes(word) }
    }

    #[inline]
    fn u32(self, bytes: &[u8], at: usize) -> u32 {
        let word = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
        if self.is_big { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) }
    }
}

enum FileFormat {
    Pcap(pcap::PcapState),
    Pcapng(pcapng::PcapngState),
}

/// Reads a capture record by record.
///
/// ```
/// # use wifair_capture::{CaptureReader, LinkType, PcapWriter};
/// let mut file = Vec::new();
/// PcapWriter::new(&mut file, LinkType::RawIp, 65_535)?.write(1_500, 40, &[0x45; 20])?;
/// let mut reader = CaptureReader::new(&file[..])?;
/// let record = reader.next()?.expect("there is one packet");
/// assert_eq!((record.nanos, record.original, record.data.len()), (1_500, 40, 20));
/// assert!(reader.next()?.is_none() && reader.damage().is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct CaptureReader<'a> {
    input: Input<'a>,
    format: FileFormat,
    interfaces: Vec<Interface>,
    /// Bytes of the last returned record, which are still in the buffer.
    held: usize,
    damage: Option<Damage>,
    done: bool,
}

impl<'a> CaptureReader<'a> {
    /// Opens a capture and reads its header.
    ///
    /// # Errors
    /// If the input is empty, is not a capture, or cannot be read. A truncated header is [`CaptureReader::damage`]
    /// instead.
    pub fn new(source: impl Read + Send + 'a) -> Result<Self, Error> {
        let mut input = Input::new(source).map_err(Error::Io)?;
        input.has(4).map_err(Error::Io)?;
        if input.bytes().is_empty() && input.fault().is_none() {
            return Err(Error::Empty);
        }
        let format = match *input.bytes() {
            [0xa1, 0xb2, 0xc3, 0xd4, ..] => FileFormat::Pcap(pcap::PcapState::new(true, 1_000)),
            [0xd4, 0xc3, 0xb2, 0xa1, ..] => FileFormat::Pcap(pcap::PcapState::new(false, 1_000)),
            [0xa1, 0xb2, 0x3c, 0x4d, ..] => FileFormat::Pcap(pcap::PcapState::new(true, 1)),
            [0x4d, 0x3c, 0xb2, 0xa1, ..] => FileFormat::Pcap(pcap::PcapState::new(false, 1)),
            [0x0a, 0x0d, 0x0d, 0x0a, ..] => FileFormat::Pcapng(pcapng::PcapngState::default()),
            ref start => return Err(Error::NotACapture { start: start[..start.len().min(8)].to_vec() }),
        };
        let mut reader = Self { input, format, interfaces: Vec::new(), held: 0, damage: None, done: false };
        if let FileFormat::Pcap(state) = &mut reader.format {
            match state.header(&mut reader.input) {
                Ok(interface) => reader.interfaces.push(interface),
                Err(stop) => reader.stop(stop)?,
            }
            if let Some(Interface { link: LinkType::Other(number), .. }) = reader.interfaces.first() {
                return Err(Error::LinkType { number: u32::from(*number) });
            }
        }
        Ok(reader)
    }

    /// The next packet; `None` at the end of the file or where it is damaged.
    ///
    /// # Errors
    /// If the input fails.
    #[inline]
    #[allow(clippy::should_implement_trait)] // an iterator cannot lend what it yields
    pub fn next(&mut self) -> Result<Option<Record<'_>>, Error> {
        self.input.consume(self.held);
        self.held = 0;
        if self.done {
            return Ok(None);
        }
        let step = match &mut self.format {
            FileFormat::Pcap(state) => state.next(&mut self.input),
            FileFormat::Pcapng(state) => state.next(&mut self.input, &mut self.interfaces),
        };
        match step {
            Ok(Some(found)) => {
                self.held = found.next;
                let link = self.interfaces[found.interface as usize].link;
                let data = &self.input.bytes()[found.begin..found.end];
                let original = found.original.max(data.len() as u32);
                Ok(Some(Record { nanos: found.nanos, interface: found.interface, link, original, data }))
            }
            Ok(None) => {
                self.done = true;
                if let Some(fault) = self.input.fault().map(str::to_owned) {
                    self.stop(Stop::Damaged(fault))?;
                }
                Ok(None)
            }
            Err(stop) => self.stop(stop).map(|()| None),
        }
    }

    /// Ends the reading.
    fn stop(&mut self, stop: Stop) -> Result<(), Error> {
        let what = match stop {
            Stop::Damaged(what) => what,
            Stop::Failed(error) => return Err(Error::Io(error)),
        };
        self.done = true;
        let what = match self.input.fault() {
            Some(fault) if *fault != what => format!("{what} ({fault})"),
            _ => what,
        };
        self.damage = Some(Damage { offset: self.input.offset(), what });
        Ok(())
    }

    /// The interfaces found up to now.
    pub fn interfaces(&self) -> &[Interface] {
        &self.interfaces
    }

    /// What ended the reading early, if anything did.
    pub fn damage(&self) -> Option<&Damage> {
        self.damage.as_ref()
    }

    /// Bytes of the (decompressed) file read up to now.
    pub fn offset(&self) -> u64 {
        self.input.offset() + self.held as u64
    }
}

/// A file that ends too soon.
fn cut(what: &str, have: usize, want: u64) -> Stop {
    Stop::Damaged(format!("the file ends inside {what}: {have} of {want} bytes are there"))
}
