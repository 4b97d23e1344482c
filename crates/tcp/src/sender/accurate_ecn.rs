//! Accurate ECN at the sender: negotiation, and the reports of the receiver.
//!
//! Source: RFC 9768, sections 3.1 and 3.2. Pure ACKs of the simulated ends are not ECN-capable, which the RFC leaves
//! open, so the sender has nothing to report in return.

use wifair_packet::{Packet, flag};

use crate::accecn::{AccEcnOption, EcnCodepoint, EcnFeedback, MarkReport, ReportedMarks};
use crate::config::StackOptions;

/// What an ACK says of marks, where a [`Packet`] has no room for it.
#[derive(Clone, Copy, Debug)]
pub struct AckReport {
    /// The ACE field.
    pub ace: u8,
    /// The option.
    pub option: Option<AccEcnOption>,
    /// Whether its timestamp is newer than all before.
    pub is_newer: bool,
}

/// ECN of a sender: what it asks for and has agreed on, and what the receiver has reported.
#[derive(Clone, Debug, Default)]
pub struct EcnState {
    asks: EcnFeedback,
    /// The next new segment carries CWR.
    pub(super) cwr: bool,
    /// How often the SYN was retransmitted.
    pub(super) syns_again: u8,
    /// Reports of marks, once accurate ECN is agreed on.
    accurate: Option<Box<AccurateFeedback>>,
}

/// What the receiver has reported.
#[derive(Clone, Debug, Default)]
struct AccurateFeedback {
    marks: ReportedMarks,
    /// The report of the ACK that is being processed, if the packet does not have it.
    report: Option<AckReport>,
    /// Packets that this ACK newly reports as marked.
    new: u64,
    /// The newest timestamp of an ACK.
    newest: u32,
    /// The ECN field was cleared on the way: reports are not believed.
    fails: bool,
}

impl EcnState {
    pub(super) fn new(options: &StackOptions) -> Self {
        let asks = match (options.ecn, options.accurate_ecn) {
            (true, true) => EcnFeedback::Accurate,
            (true, false) => EcnFeedback::Classic,
            (false, _) => EcnFeedback::Off,
        };
        Self { asks, ..Self::default() }
    }

    /// The ECN flags of a SYN that asks for accurate ECN; as in Linux, the second repetition of a SYN and those after
    /// it do without (section 3.1.4.1).
    pub(super) const fn syn_flags(&self) -> u8 {
        if matches!(self.asks, EcnFeedback::Accurate) && self.syns_again < 2 { flag::ACE } else { 0 }
    }

    /// Takes the ACE field of the SYN-ACK, or none without a handshake, where both ends know each other; returns
    /// whether packets are ECN-capable. Ends that speak classic ECN need no negotiation.
    pub(super) fn agree(&mut self, ace: Option<u8>) -> bool {
        if self.asks == EcnFeedback::Accurate {
            self.asks = ace.map_or(self.asks, |ace| self.asks.after_syn_ack(ace));
            self.accurate = (self.asks == EcnFeedback::Accurate).then(Box::default);
        }
        self.asks != EcnFeedback::Off
    }

    /// Whether marks are counted.
    #[inline(always)]
    pub(super) const fn is_accurate(&self) -> bool {
        self.accurate.is_some()
    }

    /// Notes the report of the ACK that [`Sender::on_segment`](super::Sender::on_segment) processes next, for callers
    /// whose packets have none.
    pub fn note_report(&mut self, report: AckReport) {
        if let Some(accurate) = &mut self.accurate {
            accurate.report = Some(report);
        }
    }

    /// Stops or resumes to believe reports: the ECN field does not pass the network.
    pub fn distrust_reports(&mut self, fails: bool) {
        if let Some(accurate) = &mut self.accurate {
            accurate.fails = fails;
        }
    }

    /// A SYN-ACK of this end was reported as marked.
    pub fn note_marked_syn_ack(&mut self) {
        if let Some(accurate) = &mut self.accurate {
            accurate.marks.note_syn_ack();
        }
    }

    /// Packets that the receiver has reported as marked, and bytes with this codepoint; zeros without accurate ECN.
    #[must_use]
    pub fn reported_marks(&self, field: EcnCodepoint) -> (u64, u64) {
        self.accurate.as_ref().map_or((0, 0), |accurate| accurate.marks.counts(field))
    }

    /// Processes the report of an ACK that newly delivered `bytes`.
    #[inline]
    pub(super) fn take(&mut self, packet: &Packet, bytes: u64, mss: u64) {
        let Some(accurate) = &mut self.accurate else { return };
        let is_newer = packet.ts_val.wrapping_sub(accurate.newest).cast_signed() > 0;
        accurate.newest = if is_newer { packet.ts_val } else { accurate.newest };
        let report = accurate.report.take().unwrap_or_else(|| {
            let option = packet.counters().map(|(ect1_first, ect, ce)| AccEcnOption {
                ect1_first,
                counters: [ect, ce, 0],
                fields: 2,
            });
            AckReport { ace: packet.ace(), option, is_newer }
        });
        let delivered = (bytes.div_ceil(mss), bytes);
        let is_progress = bytes > 0 || report.is_newer;
        let report = MarkReport { ace: report.ace, option: report.option, delivered, is_progress, mss };
        accurate.new = if accurate.fails { 0 } else { accurate.marks.take(&report) };
    }

    /// Whether an ACK reports congestion: it echoes a mark, or counts more marks than those before.
    #[inline(always)]
    pub(super) fn is_echo(&self, packet: &Packet) -> bool {
        match &self.accurate {
            Some(accurate) => accurate.new > 0,
            None => packet.has(flag::ECE),
        }
    }

    /// Segments that an ACK newly reports as marked; `None` for an echo, which does not count.
    #[inline(always)]
    pub(super) fn marked(&self) -> Option<u64> {
        self.accurate.as_ref().map(|accurate| accurate.new)
    }
}
