//! Problems with a capture: an error means that nothing can be read; damage ends the reading early, and everything
//! before it is valid.

use std::fmt;
use std::io;

/// Why a file cannot be read at all.
#[derive(Debug)]
pub enum Error {
    /// The input is empty.
    Empty,
    /// The first bytes match no capture format.
    NotACapture {
        /// The first bytes, at most eight.
        start: Vec<u8>,
    },
    /// A capture of an unsupported link type.
    LinkType {
        /// The number of the link type in the registry of tcpdump.org.
        number: u32,
    },
    /// The input could not be read.
    Io(io::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(f, "the file is empty: a capture has at least a header of 24 bytes"),
            Self::NotACapture { start } => {
                write!(f, "not a capture: it starts with")?;
                for byte in start {
                    write!(f, " {byte:02x}")?;
                }
                write!(f, "; pcap and pcapng are understood, plain or compressed with gzip or zstd")
            }
            Self::LinkType { number } => write!(
                f,
                "link type {number} is not understood: Ethernet (1), loopback (0, 108), raw IP (12, 14, 101, 228, 229), \
                 802.11 (105, 119, 127, 163, 192) and Linux cooked (113, 276) are"
            ),
            Self::Io(error) => write!(f, "cannot read: {error}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            _ => None,
        }
    }
}

/// Where and why the reading ended before the end of the file. Everything before that place is valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Offset in the (decompressed) file, in bytes.
    pub offset: u64,
    /// What is wrong there, as in `the file ends inside a record: 43 of 112 bytes are there`.
    pub what: String,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "damaged at byte {}: {}", self.offset, self.what)
    }
}
