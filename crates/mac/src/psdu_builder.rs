//! Length of an A-MPDU to which MPDUs are added (IEEE Std 802.11-2016, 9.7.1).

/// Delimiter of an MPDU in an A-MPDU, in bytes.
pub(crate) const DELIMITER: u64 = crate::frame_length::DELIMITER.0;

/// The PSDU of an A-MPDU under construction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PsduBuilder {
    pub psdu: u64,
    /// Where the next subframe would begin.
    pub next: u64,
    pub limit: u64,
    pub min_subframe: u64,
    pub mpdus: usize,
}

impl PsduBuilder {
    pub const fn new(limit: u64, min_subframe: u64) -> Self {
        Self { psdu: 0, next: 0, limit, min_subframe, mpdus: 0 }
    }

    /// Where the next subframe would begin if an MPDU of `length` bytes were added.
    #[inline]
    pub fn after(&self, length: u64) -> u64 {
        let end = self.end(length).max(self.next + self.min_subframe);
        (end + 3) & !3 // subframes begin at multiples of four bytes
    }

    /// Where the next MPDU, of `length` bytes, would end.
    #[inline]
    pub fn end(&self, length: u64) -> u64 {
        self.next + DELIMITER + length
    }

    /// Distance from the start of a subframe with an MPDU of `length` bytes to the start of the next.
    #[inline]
    pub fn stride(&self, length: u64) -> u64 {
        self.after(length) - self.next
    }

    /// Whether another MPDU of `length` bytes fits; the first always does.
    #[inline]
    pub fn fits(&self, length: u64) -> bool {
        self.mpdus == 0 || self.end(length) <= self.limit
    }

    #[inline]
    pub fn add(&mut self, length: u64) {
        self.psdu = self.end(length);
        self.next = self.after(length);
        self.mpdus += 1;
    }

    /// How many more MPDUs of `length` bytes fit.
    #[inline]
    pub fn how_many_fit(&self, length: u64) -> u64 {
        let left = self.limit.checked_sub(self.end(length));
        left.map_or(0, |left| left / self.stride(length) + 1)
    }

    /// Adds `count` MPDUs of `length` bytes each.
    #[inline]
    #[allow(clippy::cast_possible_truncation)]
    pub fn add_many(&mut self, length: u64, count: u64) {
        let last = self.next + self.stride(length) * (count - 1);
        self.psdu = last + DELIMITER + length;
        self.next = last + self.stride(length);
        self.mpdus += count as usize;
    }
}

/// State after the construction of a PPDU, valid while its MPDUs do not change.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BuildState {
    pub builder: PsduBuilder,
    /// Window of its MPDUs, and the sequence number after the last one considered.
    pub window: usize,
    pub number: u64,
}

impl BuildState {
    /// State after MPDUs of this window; `number` is the next sequence number.
    pub const fn of(builder: PsduBuilder, window: usize, number: u64) -> Self {
        Self { builder, window, number }
    }
}
