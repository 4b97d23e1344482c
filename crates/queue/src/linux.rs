//! What Linux's queue disciplines have in common: how they count packets and bytes, and a generator of random numbers.
//!
//! A discipline of Linux counts a packet as it lies in the buffer of an Ethernet device: the IP packet and a header of
//! 14 bytes. Where a rule says MTU it is 1500 + 14 bytes (`psched_mtu`).

use wifair_packet::Packet;
use wifair_units::{Duration, Time};

/// The Ethernet header, which Linux's disciplines count.
pub const HEADER: u64 = 14;

/// The largest packet on Ethernet with its header: `psched_mtu`.
pub const MTU: u64 = 1500 + HEADER;

/// The length of a packet as Linux's disciplines count it.
#[inline]
pub const fn length(packet: &Packet) -> u64 {
    packet.size as u64 + HEADER
}

/// Memory of an IP packet of `size` bytes in a buffer of its own (`skb->truesize`): the packet with 31 bytes for
/// headers, rounded up to a cache line, and 320 bytes of `skb_shared_info`, from the allocator's next larger size, and
/// 256 bytes of `sk_buff`.
#[inline]
pub const fn memory(size: u16) -> u64 {
    let data = (size as u64 + 31).next_multiple_of(64) + 320;
    data.next_power_of_two() + 256
}

/// `SplitMix64`: Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", 2014.
#[derive(Clone, Copy, Debug)]
pub struct SplitMix64(pub u64);

impl SplitMix64 {
    /// The finalizer: spreads the bits of a number.
    #[inline]
    pub const fn mix(mut x: u64) -> u64 {
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    /// The next 64 random bits.
    #[inline]
    pub const fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        Self::mix(self.0)
    }

    /// The next 32 random bits: the upper half.
    #[inline]
    pub const fn u32(&mut self) -> u32 {
        (self.bits() >> 32) as u32
    }
}

/// When a periodic update is due.
#[derive(Clone, Debug)]
pub enum Updates {
    /// At this time and then at intervals.
    Periodic(Time, Duration),
    /// At these times, the last one first: for comparisons with a recording.
    Recorded(Vec<Time>),
}

impl Updates {
    /// Removes the next update that is due by `now`.
    pub fn take(&mut self, now: Time) -> Option<Time> {
        match self {
            Self::Periodic(next, interval) if *next <= now => {
                let due = *next;
                *next += *interval;
                Some(due)
            }
            Self::Recorded(times) if times.last().is_some_and(|time| *time <= now) => times.pop(),
            _ => None,
        }
    }

    /// Skips the updates that are due by `now`, which would change nothing.
    pub fn skip(&mut self, now: Time) {
        match self {
            Self::Periodic(next, interval) if *next <= now => {
                *next += *interval * ((now - *next).div_floor(*interval) + 1);
            }
            Self::Periodic(..) => {}
            Self::Recorded(times) => while times.pop_if(|time| *time <= now).is_some() {},
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Vigna's splitmix64.c from state 0: e220a8397b1dcdaf, 6e789e6aa1b965f4, 06c45d188009454f.
    #[test]
    fn the_generator_is_splitmix64() {
        let mut draws = SplitMix64(0);
        assert_eq!([draws.u32(), draws.u32(), draws.u32()], [0xe220_a839, 0x6e78_9e6a, 0x06c4_5d18]);
    }

    /// Slab sizes are powers of two: a full packet takes 1531 -> 1536 + 320 -> 2048, and 256.
    #[test]
    fn a_full_packet_takes_2304_bytes_of_memory() {
        assert_eq!([1500, 52, 600].map(memory), [2304, 512 + 256, 1024 + 256]);
    }

    #[test]
    fn updates_are_taken_in_turn_and_skipped_as_a_whole() {
        let at = Time::from_nanos;
        let mut updates = Updates::Periodic(at(10), Duration::from_nanos(4));
        assert_eq!(
            [updates.take(at(9)), updates.take(at(14)), updates.take(at(14))],
            [None, Some(at(10)), Some(at(14))]
        );
        updates.skip(at(30));
        assert_eq!([updates.take(at(33)), updates.take(at(34))], [None, Some(at(34))]);
        let mut updates = Updates::Recorded(vec![at(7), at(3)]);
        assert_eq!([updates.take(at(2)), updates.take(at(9)), updates.take(at(9))], [None, Some(at(3)), Some(at(7))]);
    }
}
