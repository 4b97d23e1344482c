//! Accurate ECN feedback (AccECN): how many packets and bytes arrived with each codepoint.
//!
//! Source: RFC 9768, 2025: negotiation (section 3.1, table 2), the counters of a data receiver and the ACE field
//! (3.2.1, 3.2.2), the option (3.2.3), and what a data sender makes of them (appendix A). Where the RFC leaves a
//! choice, Linux's is taken: an ACK that reports no progress is not evaluated, and a large ACK whose counter may have
//! wrapped is believed if the average ACK covers more than four segments or the option shows no more marked bytes.
//!
//! The counters here are 64 bits wide and never wrap; those on the wire have 3 and 24 bits.

/// The ECN field of an IP header (RFC 3168, section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EcnCodepoint {
    /// Not ECN-capable.
    #[default]
    NotEct,
    /// ECT(1): the flow responds as RFC 9331 asks (L4S).
    Ect1,
    /// ECT(0).
    Ect0,
    /// Congestion experienced.
    Ce,
}

/// Byte counters in the order of an option of kind 174: ECT(1), CE, ECT(0).
const COUNTERS: [EcnCodepoint; 3] = [EcnCodepoint::Ect1, EcnCodepoint::Ce, EcnCodepoint::Ect0];

/// Initial values of these counters on the wire (RFC 9768, section 3.2.1): a zero there shows a middlebox.
const INITIAL_BYTES: [u64; 3] = [1, 0, 1];

/// Initial value of the packet counter on the wire.
const INITIAL_PACKETS: u64 = 5;

const ACE_MASK: u64 = 7;
const BYTES_MASK: u64 = (1 << 24) - 1;

/// Segments acknowledged by an average ACK beyond which a large ACK is no reason to suspect lost ones (Linux).
const THINNED: f64 = 4.0;

impl EcnCodepoint {
    fn counter(self) -> Option<usize> {
        COUNTERS.iter().position(|field| *field == self)
    }

    /// The ACE field that tells the peer of a SYN or SYN-ACK which arrived with this field (tables 2 and 3).
    #[must_use]
    pub const fn reflection(self) -> u8 {
        match self {
            Self::NotEct => 0b010,
            Self::Ect1 => 0b011,
            Self::Ect0 => 0b100,
            Self::Ce => 0b110,
        }
    }

    /// What an ACE field reflects; `None` for values that reflect nothing.
    #[must_use]
    pub const fn reflected(ace: u8) -> Option<Self> {
        match ace {
            0b010 => Some(Self::NotEct),
            0b011 => Some(Self::Ect1),
            0b100 => Some(Self::Ect0),
            0b110 => Some(Self::Ce),
            _ => None,
        }
    }

    /// Whether a network that keeps to RFC 3168 can turn this field into `other` (RFC 9768, section 3.2.2.3).
    #[must_use]
    pub fn may_become(self, other: Self) -> bool {
        self == other || (self != Self::NotEct && self != Self::Ce && other != Self::NotEct)
    }
}

/// What the receiver of data tells about congestion marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EcnFeedback {
    /// Nothing: packets are not ECN-capable.
    #[default]
    Off,
    /// That there was one (RFC 3168).
    Classic,
    /// How many there were (RFC 9768).
    Accurate,
}

impl EcnFeedback {
    /// What a server that offers at most `offered` agrees to after a SYN with this ACE field (section 3.1.2).
    #[must_use]
    pub const fn after_syn(self, ace: u8) -> Self {
        match (self, ace) {
            (Self::Off, _) | (_, 0b000) => Self::Off,
            (_, 0b011) => Self::Classic,
            (Self::Accurate, _) => Self::Accurate,
            // RFC 3168, section 6.1.1, looks at CWR and ECE alone.
            (Self::Classic, _) => {
                if ace & 0b011 == 0b011 {
                    Self::Classic
                } else {
                    Self::Off
                }
            }
        }
    }

    /// What a client that asked for this gets with a SYN-ACK with this ACE field (section 3.1.2 and table 2).
    #[must_use]
    pub const fn after_syn_ack(self, ace: u8) -> Self {
        match (self, ace) {
            (Self::Accurate, 0b001) => Self::Classic,
            (Self::Accurate, 0b000 | 0b111) => Self::Off,
            (Self::Accurate, _) => Self::Accurate,
            (Self::Classic, _) if ace & 0b011 == 0b001 => Self::Classic,
            _ => Self::Off,
        }
    }
}

/// The AccECN option (section 3.2.3), with one to three counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccEcnOption {
    /// Whether it begins with the counter of ECT(1) (kind 174) and not with that of ECT(0) (kind 172).
    pub ect1_first: bool,
    /// The counters in the order of the option, each modulo 2^24.
    pub counters: [u32; 3],
    /// How many of them it has.
    pub fields: u8,
}

impl AccEcnOption {
    /// Length of an option with so many counters, in bytes.
    #[must_use]
    pub const fn length(fields: u8) -> u16 {
        2 + 3 * fields as u16
    }

    /// The same, padded to whole words.
    #[must_use]
    pub const fn padded(fields: u8) -> u16 {
        Self::length(fields).next_multiple_of(4)
    }

    /// The counters that it has, as places in [`COUNTERS`] with values.
    fn present(&self) -> impl Iterator<Item = (usize, u64)> {
        let places = if self.ect1_first { [0, 1, 2] } else { [2, 1, 0] };
        places.into_iter().zip(self.counters).take(self.fields.into()).map(|(place, value)| (place, value.into()))
    }

    /// Whether a middlebox seems to have cleared the first counter, which starts at one.
    #[must_use]
    pub const fn is_cleared(&self) -> bool {
        self.fields > 0 && self.counters[0] == 0
    }
}

/// The counters of a data receiver (section 3.2.1): what has arrived.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReceivedMarks {
    packets: u64,
    bytes: [u64; 3],
    last: EcnCodepoint,
    /// Counters that the next option must have, so that it tells what has changed since the last one.
    due: u8,
}

impl ReceivedMarks {
    /// After a SYN or SYN-ACK that arrived with `field`.
    #[must_use]
    pub fn starting(field: EcnCodepoint) -> Self {
        Self { last: field, ..Self::default() }
    }

    /// Counts a packet with `payload` bytes; returns whether its field differs from that of the packet before, which
    /// asks for an ACK at once (section 3.2.2.5.1).
    pub fn note(&mut self, field: EcnCodepoint, payload: u64) -> bool {
        self.note_many(field, 1, payload)
    }

    /// Counts `packets` with the same field.
    pub fn note_many(&mut self, field: EcnCodepoint, packets: u64, payload: u64) -> bool {
        self.packets += if field == EcnCodepoint::Ce { packets } else { 0 };
        if let Some(place) = field.counter().filter(|_| payload > 0) {
            self.bytes[place] += payload;
            self.due = self.due.max(place as u8 + 1);
        }
        std::mem::replace(&mut self.last, field) != field
    }

    /// The ACE field of a packet to the peer.
    #[must_use]
    pub const fn ace(&self) -> u8 {
        ((self.packets + INITIAL_PACKETS) & ACE_MASK) as u8
    }

    /// The fewest counters that an option beginning with ECT(1) has to have to tell what has changed.
    #[must_use]
    pub fn least_fields(&self) -> u8 {
        self.due.max(1)
    }

    /// The option for a packet to the peer.
    pub fn option(&mut self, ect1_first: bool, fields: u8) -> AccEcnOption {
        self.due = 0;
        let wire = |place: usize| ((self.bytes[place] + INITIAL_BYTES[place]) & BYTES_MASK) as u32;
        let mut counters = if ect1_first { [0, 1, 2] } else { [2, 1, 0] }.map(wire);
        counters[usize::from(fields)..].fill(0);
        AccEcnOption { ect1_first, counters, fields }
    }

    /// CE packets, and bytes that arrived with `field`.
    #[must_use]
    pub fn counts(&self, field: EcnCodepoint) -> (u64, u64) {
        (self.packets, field.counter().map_or(0, |place| self.bytes[place]))
    }
}

/// What an ACK reports.
#[derive(Clone, Copy, Debug, Default)]
pub struct MarkReport {
    /// Its ACE field.
    pub ace: u8,
    /// Its option.
    pub option: Option<AccEcnOption>,
    /// Segments and bytes that it newly acknowledges, cumulatively or selectively.
    pub delivered: (u64, u64),
    /// Whether it is newer than the ACKs before, by what it acknowledges or by its timestamp.
    pub is_progress: bool,
    /// Payload of a full segment.
    pub mss: u64,
}

/// The counters of a data sender: what the receiver has reported.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReportedMarks {
    packets: u64,
    bytes: [u64; 3],
    /// Mean number of segments that an ACK covers.
    per_ack: f64,
}

impl ReportedMarks {
    /// Counts a SYN-ACK of ours that the third ACK reports as marked (table 3).
    pub fn note_syn_ack(&mut self) {
        self.packets = self.packets.max(1);
    }

    /// Processes an ACK; returns how many packets it newly reports as marked (appendix A.2.1 and A.2.2).
    pub fn take(&mut self, report: &MarkReport) -> u64 {
        if !report.is_progress {
            return 0;
        }
        let marked_bytes = report.option.and_then(|option| self.take_option(&option));
        let (segments, bytes) = report.delivered;
        if segments > 0 {
            let weight = if self.per_ack == 0.0 { 1.0 } else { 1.0 / 64.0 };
            self.per_ack += weight * (segments as f64 - self.per_ack);
        }
        let least = u64::from(report.ace).wrapping_sub(INITIAL_PACKETS + self.packets) & ACE_MASK;
        let new = self.estimate(least, segments, bytes, marked_bytes, report.mss);
        self.packets += new;
        new
    }

    /// Whether the 3 bits of ACE mean `least` marks, or that and a multiple of eight, up to the segments acknowledged.
    fn estimate(&self, least: u64, segments: u64, bytes: u64, marked_bytes: Option<u64>, mss: u64) -> u64 {
        if segments <= ACE_MASK {
            return least;
        }
        let most = segments - (segments.wrapping_sub(least) & ACE_MASK);
        match marked_bytes {
            Some(marked) if marked <= least * mss => least,
            // Many segments: by their share of the bytes.
            Some(marked) if segments > 2 * ACE_MASK + 1 && bytes > marked => {
                most.min(least + ((marked * segments).div_ceil(bytes) & !ACE_MASK))
            }
            // Half of what the larger number would come to is too little for it.
            Some(marked) if marked < most * mss / 2 => least,
            None if self.per_ack > THINNED => least,
            _ => most,
        }
    }

    /// Brings the byte counters up to date; returns the bytes newly reported as marked, if the option has that counter.
    fn take_option(&mut self, option: &AccEcnOption) -> Option<u64> {
        let mut marked = None;
        for (place, wire) in option.present() {
            let behind = wire.wrapping_sub(INITIAL_BYTES[place] + self.bytes[place]) & BYTES_MASK;
            // An older ACK is up to half of the range behind.
            let new = if behind > BYTES_MASK / 2 { 0 } else { behind };
            self.bytes[place] += new;
            if COUNTERS[place] == EcnCodepoint::Ce {
                marked = Some(new);
            }
        }
        marked
    }

    /// Marked packets, and bytes with `field`, that the receiver has reported.
    #[must_use]
    pub fn counts(&self, field: EcnCodepoint) -> (u64, u64) {
        (self.packets, field.counter().map_or(0, |place| self.bytes[place]))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn report(ace: u8, segments: u64) -> MarkReport {
        MarkReport {
            ace,
            delivered: (segments, segments * 1460),
            is_progress: true,
            mss: 1460,
            ..MarkReport::default()
        }
    }

    /// RFC 9768, table 2.
    #[test]
    fn table_2() {
        use EcnFeedback::{Accurate, Classic, Off};
        assert_eq!(
            [0, 1, 2, 3, 4, 5, 6, 7].map(|ace| Accurate.after_syn(ace)),
            [Off, Accurate, Accurate, Classic, Accurate, Accurate, Accurate, Accurate]
        );
        assert_eq!(
            [0, 1, 2, 3, 4, 5, 6, 7].map(|ace| Accurate.after_syn_ack(ace)),
            [Off, Classic, Accurate, Accurate, Accurate, Accurate, Accurate, Off]
        );
        // A client and a server of RFC 3168; it takes a SYN with AE, CWR and ECE for one of its own.
        assert_eq!([0, 3, 7].map(|ace| Classic.after_syn(ace)), [Off, Classic, Classic]);
        assert_eq!([0, 1, 2, 3].map(|ace| Classic.after_syn_ack(ace)), [Off, Classic, Off, Off]);
        assert_eq!([0, 3, 7].map(|ace| Off.after_syn(ace)), [Off; 3]);
        for field in [EcnCodepoint::NotEct, EcnCodepoint::Ect1, EcnCodepoint::Ect0, EcnCodepoint::Ce] {
            assert_eq!(EcnCodepoint::reflected(field.reflection()), Some(field));
        }
    }

    /// Section 3.2.2.3: not from or to Not-ECT, and not from CE.
    #[test]
    fn transitions() {
        let fields = [EcnCodepoint::NotEct, EcnCodepoint::Ect1, EcnCodepoint::Ect0, EcnCodepoint::Ce];
        let valid = fields.map(|from| fields.map(|to| from.may_become(to)));
        assert_eq!(
            valid,
            [
                [true, false, false, false],
                [false, true, true, true],
                [false, true, true, true],
                [false, false, false, true]
            ]
        );
    }

    /// Linux's facts about ACKs without options: 1 then 9 segments with ACE unchanged are 8 marks, 10 at once none, as
    /// such an ACK is then the usual one.
    #[test]
    fn a_large_ack_may_hide_a_wrap() {
        let mut marks = ReportedMarks::default();
        assert_eq!([(5, 1), (5, 9)].map(|(ace, segments)| marks.take(&report(ace, segments))), [0, 8]);
        for (ace, marked) in [(5, 0), (6, 1), (4, 7)] {
            assert_eq!(ReportedMarks::default().take(&report(ace, 10)), marked);
        }
        // With an option that shows no marked bytes there is no doubt.
        let option = ReceivedMarks::default().option(true, 3);
        let mut marks = ReportedMarks::default();
        marks.take(&report(5, 1));
        assert_eq!(marks.take(&MarkReport { option: Some(option), ..report(5, 9) }), 0);
    }

    #[test]
    fn no_progress_no_marks() {
        let mut marks = ReportedMarks::default();
        assert_eq!(marks.take(&MarkReport { is_progress: false, ..report(6, 0) }), 0);
        assert_eq!(marks.counts(EcnCodepoint::Ce), (0, 0));
    }

    proptest! {
        /// Whatever arrives, and whichever ACKs are lost or have no option: as long as an option comes through every
        /// 2^23 bytes, no byte is lost over wraps, and as long as ACKs come through every seven segments, no packet.
        #[test]
        fn no_count_is_lost(
            arrivals in prop::collection::vec((0..4_u8, 1..65_000_u64, 0..3_u8, any::<bool>()), 1..3000),
        ) {
            let mut received = ReceivedMarks::default();
            let mut reported = ReportedMarks::default();
            let (mut waiting, mut bytes, mut without) = (0, 0, 0);
            let last = arrivals.len() - 1;
            for (i, (field, payload, fate, ect1_first)) in arrivals.into_iter().enumerate() {
                let all = [EcnCodepoint::NotEct, EcnCodepoint::Ect1, EcnCodepoint::Ect0, EcnCodepoint::Ce];
                let field = all[usize::from(field)];
                received.note(field, payload);
                (waiting, bytes, without) = (waiting + 1, bytes + payload, without + payload);
                let is_lost = fate == 0 && waiting < 7 && i < last;
                if is_lost {
                    continue;
                }
                let with_option = fate == 2 || without > 6_000_000 || i == last;
                let option = with_option.then(|| received.option(ect1_first, 3));
                without = if with_option { 0 } else { without };
                reported.take(&MarkReport {
                    ace: received.ace(),
                    option,
                    delivered: (waiting, bytes),
                    is_progress: true,
                    mss: 1460,
                });
                (waiting, bytes) = (0, 0);
                prop_assert_eq!(received.packets, reported.packets);
            }
            prop_assert_eq!(received.bytes, reported.bytes);
        }

        /// An old ACK, overtaken by a newer one, takes nothing back.
        #[test]
        fn counters_do_not_fall(payloads in prop::collection::vec(1..100_000_u64, 2..50)) {
            let mut received = ReceivedMarks::default();
            let options: Vec<_> = payloads
                .iter()
                .map(|payload| {
                    received.note(EcnCodepoint::Ce, *payload);
                    received.option(true, 2)
                })
                .collect();
            let mut reported = ReportedMarks::default();
            reported.take_option(options.last().expect("there are two or more"));
            let known = reported.bytes;
            options.iter().for_each(|option| {
                reported.take_option(option);
            });
            prop_assert_eq!(reported.bytes, known);
        }
    }
}
