//! A buffered reader over any input, decompressed on the fly.

use std::io::{self, BufReader, Read};

use flate2::read::MultiGzDecoder;
use ruzstd::decoding::StreamingDecoder;

use super::{Stop, cut};

/// Bytes read from the input at a time.
const CHUNK: usize = 256 * 1024;

/// The bytes of a file in order, with a window of them in memory.
pub(super) struct Input<'a> {
    source: Box<dyn Read + Send + 'a>,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Offset of `buffer[start]` in the decompressed file.
    offset: u64,
    /// Why the source ended early, if it did.
    fault: Option<String>,
    ended: bool,
}

impl<'a> Input<'a> {
    /// Examines the first bytes and inserts a decompressor if they call for one.
    pub(super) fn new(mut raw: impl Read + Send + 'a) -> io::Result<Self> {
        let mut head = Vec::new();
        raw.by_ref().take(4).read_to_end(&mut head)?;
        let whole = io::Cursor::new(head.clone()).chain(raw);
        let source: Box<dyn Read + Send + 'a> = match head[..] {
            [0x1f, 0x8b, ..] => Box::new(MultiGzDecoder::new(BufReader::with_capacity(CHUNK, whole))),
            [0x28, 0xb5, 0x2f, 0xfd] => Box::new(Zstd::new(BufReader::with_capacity(CHUNK, whole))),
            _ => Box::new(whole),
        };
        Ok(Self { source, buffer: vec![0; CHUNK], start: 0, end: 0, offset: 0, fault: None, ended: false })
    }

    /// The bytes in memory, from the current offset on.
    #[inline]
    pub(super) fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Offset of the next byte in the decompressed file.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// Why the source ended early, if it did.
    pub(super) fn fault(&self) -> Option<&str> {
        self.fault.as_deref()
    }

    /// Advances by `count` bytes, which must be in memory.
    #[inline]
    pub(super) fn consume(&mut self, count: usize) {
        debug_assert!(count <= self.end - self.start);
        self.start += count;
        self.offset += count as u64;
    }

    /// Brings `count` bytes into memory; returns whether the file has that many.
    ///
    /// # Errors
    /// If the input itself fails; a corrupt compressed stream counts as the end of the file, see [`Input::fault`].
    #[inline]
    pub(super) fn has(&mut self, count: usize) -> io::Result<bool> {
        if self.end - self.start >= count { Ok(true) } else { self.refill(count) }
    }

    /// The next `count` bytes at least, which are in `what`.
    ///
    /// # Errors
    /// Those of [`Input::has`], and damage if the file ends before.
    #[inline]
    pub(super) fn need(&mut self, count: usize, what: &str) -> Result<&[u8], Stop> {
        if self.has(count)? { Ok(self.bytes()) } else { Err(cut(what, self.bytes().len(), count as u64)) }
    }

    #[cold]
    fn refill(&mut self, count: usize) -> io::Result<bool> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        while self.end < count && !self.ended {
            // Grow with the data really present, not with the length that a damaged file claims.
            if self.buffer.len() < self.end + CHUNK {
                self.buffer.resize(self.end + CHUNK, 0);
            }
            match self.source.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.ended = true,
                Ok(n) => self.end += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if is_damage(&error) => {
                    self.fault = Some(error.to_string());
                    self.ended = true;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(self.end >= count)
    }

    /// Skips up to `count` bytes; returns the number of bytes skipped.
    ///
    /// # Errors
    /// Those of [`Input::has`].
    pub(super) fn skip(&mut self, count: u64) -> io::Result<u64> {
        let mut left = count;
        while left > 0 {
            if !self.has(1)? {
                break;
            }
            let step = usize::try_from(left).unwrap_or(usize::MAX).min(self.end - self.start);
            self.consume(step);
            left -= step as u64;
        }
        Ok(count - left)
    }
}

/// Whether a read failed because the data is corrupt, not because of the input itself.
fn is_damage(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput | io::ErrorKind::UnexpectedEof | io::ErrorKind::Other
    )
}

/// A zstd file: a sequence of frames (RFC 8878, section 3.1).
struct Zstd<R: Read> {
    state: ZstdState<R>,
}

enum ZstdState<R: Read> {
    Between(BufReader<R>),
    Frame(Box<StreamingDecoder<BufReader<R>, ruzstd::decoding::FrameDecoder>>),
    Done,
}

impl<R: Read> Zstd<R> {
    fn new(source: BufReader<R>) -> Self {
        Self { state: ZstdState::Between(source) }
    }
}

impl<R: Read> Read for Zstd<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            match std::mem::replace(&mut self.state, ZstdState::Done) {
                ZstdState::Done => return Ok(0),
                ZstdState::Between(mut source) => {
                    if io::BufRead::fill_buf(&mut source)?.is_empty() {
                        return Ok(0);
                    }
                    if let Some(length) = skippable(&mut source)? {
                        let skipped = io::copy(&mut source.by_ref().take(length), &mut io::sink())?;
                        if skipped < length {
                            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "zstd: a skippable frame is cut"));
                        }
                        self.state = ZstdState::Between(source);
                        continue;
                    }
                    let decoder = StreamingDecoder::new(source)
                        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, format!("zstd: {error}")))?;
                    self.state = ZstdState::Frame(Box::new(decoder));
                }
                ZstdState::Frame(mut decoder) => {
                    let read = decoder.read(out).map_err(|error| match error.kind() {
                        io::ErrorKind::Interrupted => error,
                        _ => io::Error::new(io::ErrorKind::InvalidData, format!("zstd: {error}")),
                    })?;
                    if read > 0 || out.is_empty() {
                        self.state = ZstdState::Frame(decoder);
                        return Ok(read);
                    }
                    self.state = ZstdState::Between(decoder.into_inner());
                }
            }
        }
    }
}

/// If a skippable frame starts here, consumes its header and returns its length; `None` for a data frame.
fn skippable(source: &mut BufReader<impl Read>) -> io::Result<Option<u64>> {
    let head = io::BufRead::fill_buf(source)?;
    // If the magic number straddles two reads of the source, leave it to the decoder, which reports it.
    let Some(&[a, b, c, d, s0, s1, s2, s3]) = head.first_chunk::<8>() else { return Ok(None) };
    if u32::from_le_bytes([a, b, c, d]) & 0xffff_fff0 != 0x184d_2a50 {
        return Ok(None);
    }
    io::BufRead::consume(source, 8);
    Ok(Some(u64::from(u32::from_le_bytes([s0, s1, s2, s3]))))
}
