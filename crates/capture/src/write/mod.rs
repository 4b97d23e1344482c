//! Writers of capture files, and of the frames in them.

pub mod frame;

use std::io::{self, Write};

use crate::link::LinkType;

/// Writes a pcap file with time stamps in nanoseconds.
///
/// ```
/// # use wifair_capture::{CaptureReader, LinkType, PcapWriter};
/// let mut file = Vec::new();
/// let mut writer = PcapWriter::new(&mut file, LinkType::Ethernet, 96)?;
/// writer.write(1_000_000_007, 1514, &[0; 1514])?;
/// assert_eq!(file.len(), 24 + 16 + 96);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct PcapWriter<W> {
    file: W,
    snap_length: u32,
}

impl<W: Write> PcapWriter<W> {
    /// Writes the file header. At most `snap_length` bytes of each packet are kept.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn new(mut file: W, link: LinkType, snap_length: u32) -> io::Result<Self> {
        let mut head = Vec::with_capacity(24);
        head.extend(0xa1b2_3c4d_u32.to_le_bytes());
        head.extend(2u16.to_le_bytes());
        head.extend(4u16.to_le_bytes());
        head.extend([0; 8]);
        head.extend(snap_length.to_le_bytes());
        head.extend(u32::from(link.number()).to_le_bytes());
        file.write_all(&head)?;
        Ok(Self { file, snap_length })
    }

    /// Writes a packet of `original` bytes that was seen at `nanos` ns since 1970.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&mut self, nanos: u64, original: u32, data: &[u8]) -> io::Result<()> {
        let kept = &data[..data.len().min(self.snap_length as usize)];
        let mut head = [0; 16];
        head[..4].copy_from_slice(&((nanos / 1_000_000_000) as u32).to_le_bytes());
        head[4..8].copy_from_slice(&((nanos % 1_000_000_000) as u32).to_le_bytes());
        head[8..12].copy_from_slice(&(kept.len() as u32).to_le_bytes());
        head[12..].copy_from_slice(&original.to_le_bytes());
        self.file.write_all(&head)?;
        self.file.write_all(kept)
    }

    /// Finishes the file and returns it.
    ///
    /// # Errors
    /// If buffered data cannot be written.
    pub fn finish(mut self) -> io::Result<W> {
        self.file.flush()?;
        Ok(self.file)
    }
}

/// Writes a pcapng file of several interfaces, with time stamps in nanoseconds.
///
/// ```
/// # use wifair_capture::{CaptureReader, LinkType, PcapngWriter};
/// let mut file = Vec::new();
/// let mut writer = PcapngWriter::new(&mut file)?;
/// let wire = writer.interface("eth0", LinkType::Ethernet, 0)?;
/// let air = writer.interface("mon0", LinkType::Radiotap, 256)?;
/// writer.write(air, 5, 300, &[0; 300])?;
/// let mut reader = CaptureReader::new(&file[..])?;
/// let record = reader.next()?.expect("there is one packet");
/// assert_eq!((record.interface, record.original, record.data.len()), (air, 300, 256));
/// assert_eq!(reader.interfaces()[wire as usize].name.as_deref(), Some("eth0"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct PcapngWriter<W> {
    file: W,
    snap_lengths: Vec<u32>,
    block: Vec<u8>,
}

impl<W: Write> PcapngWriter<W> {
    /// Writes the section header.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn new(file: W) -> io::Result<Self> {
        let mut writer = Self { file, snap_lengths: Vec::new(), block: Vec::new() };
        writer.block.extend(0x1a2b_3c4d_u32.to_le_bytes());
        writer.block.extend(1u16.to_le_bytes());
        writer.block.extend(0u16.to_le_bytes());
        writer.block.extend([0xff; 8]); // section length not specified
        writer.flush(0x0a0d_0d0a)?;
        Ok(writer)
    }

    /// Describes an interface and returns its number. At most `snap_length` bytes of each packet are kept; 0 keeps all.
    ///
    /// # Errors
    /// If the file cannot be written.
    ///
    /// # Panics
    /// If the name is longer than 65,535 bytes.
    pub fn interface(&mut self, name: &str, link: LinkType, snap_length: u32) -> io::Result<u32> {
        self.block.extend(link.number().to_le_bytes());
        self.block.extend([0; 2]);
        self.block.extend(snap_length.to_le_bytes());
        self.option(2, name.as_bytes());
        self.option(9, &[9]);
        self.option(0, &[]);
        self.snap_lengths.push(snap_length);
        self.flush(1)?;
        Ok(self.snap_lengths.len() as u32 - 1)
    }

    fn option(&mut self, code: u16, value: &[u8]) {
        let length = u16::try_from(value.len()).expect("an option has 65,535 bytes at most");
        self.block.extend(code.to_le_bytes());
        self.block.extend(length.to_le_bytes());
        self.block.extend(value);
        self.pad();
    }

    fn pad(&mut self) {
        self.block.resize(self.block.len().next_multiple_of(4), 0);
    }

    /// Writes a packet of `original` bytes that `interface` saw at `nanos` ns since 1970.
    ///
    /// # Errors
    /// If the file cannot be written.
    ///
    /// # Panics
    /// If the interface was not described.
    pub fn write(&mut self, interface: u32, nanos: u64, original: u32, data: &[u8]) -> io::Result<()> {
        let limit = match self.snap_lengths[interface as usize] {
            0 => data.len(),
            limit => limit as usize,
        };
        let kept = &data[..data.len().min(limit)];
        self.block.extend(interface.to_le_bytes());
        self.block.extend(((nanos >> 32) as u32).to_le_bytes());
        self.block.extend((nanos as u32).to_le_bytes());
        self.block.extend((kept.len() as u32).to_le_bytes());
        self.block.extend(original.to_le_bytes());
        self.block.extend(kept);
        self.pad();
        self.flush(6)
    }

    /// Writes the assembled block.
    fn flush(&mut self, kind: u32) -> io::Result<()> {
        let length = (self.block.len() as u32 + 12).to_le_bytes();
        self.file.write_all(&kind.to_le_bytes())?;
        self.file.write_all(&length)?;
        self.file.write_all(&self.block)?;
        self.file.write_all(&length)?;
        self.block.clear();
        Ok(())
    }

    /// Finishes the file and returns it.
    ///
    /// # Errors
    /// If buffered data cannot be written.
    pub fn finish(mut self) -> io::Result<W> {
        self.file.flush()?;
        Ok(self.file)
    }
}
