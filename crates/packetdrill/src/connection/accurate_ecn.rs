//! Accurate ECN of a connection: what its segments report, and what it makes of the peer's reports.
//!
//! Source: RFC 9768, sections 3.1 and 3.2; the counters are [`wifair_tcp::accecn`]. As in Linux, all packets of such a
//! connection are ECN-capable, pure ACKs and retransmissions too; the option begins with the counter of ECT(1), takes
//! the place of the third SACK block if there is no other, and is sent once the peer has sent one; it is given up when
//! a segment arrives again whose duplicate was reported together with an option (section 3.2.3.2.4).

use wifair_tcp::accecn::{AccEcnOption, EcnCodepoint, EcnFeedback, ReceivedMarks};
use wifair_tcp::{AckReport, Sender};

use super::{Moment, ScriptConnection};
use crate::script::{Ecn, ScriptSegment, TcpOption};
use crate::system::System;

/// Bytes of a TCP header that options may have (RFC 9293, section 3.1).
const MOST_OPTIONS: u16 = 40;

/// SACK blocks that remain beside an option.
const BLOCKS_BESIDE: usize = 2;

/// The state of accurate ECN.
#[derive(Clone, Debug, Default)]
pub struct ScriptMarks {
    received: ReceivedMarks,
    /// The ECN field with which the peer's SYN or SYN-ACK arrived.
    syn: EcnCodepoint,
    /// The next ACK reflects that field in place of the counter.
    pub reflects: bool,
    /// The next segment that arrives is the peer's first after its SYN.
    expects_first: bool,
    passive: bool,
    /// ACE was cleared on the way, or the ECN field mangled: packets are not ECN-capable, reports are not believed.
    fails: bool,
    peer_sends_option: bool,
    option_fails: bool,
    /// The duplicate that was reported last together with an option.
    told: Option<(u32, u32)>,
    /// Whether full segments leave room for the option.
    has_room: bool,
}

fn field(segment: &ScriptSegment) -> EcnCodepoint {
    segment.ecn.map_or(EcnCodepoint::NotEct, Ecn::field)
}

impl ScriptMarks {
    /// A server's, after the SYN.
    pub fn after_syn(syn: &ScriptSegment) -> Self {
        Self { syn: field(syn), received: ReceivedMarks::starting(field(syn)), passive: true, ..Self::default() }
    }

    /// The SYN came again: it counts in place of the first. Without its flags, ECN does not pass (section 3.1.5).
    pub fn take_syn_again(&mut self, syn: &ScriptSegment) {
        self.syn = field(syn);
        self.fails |= syn.flags.ace() == 0;
    }

    /// A client's, after the SYN-ACK, which reflects how the SYN arrived.
    pub fn take_syn_ack(&mut self, segment: &ScriptSegment, checks: bool) {
        self.take_syn_ack_again(segment);
        self.received = ReceivedMarks::starting(self.syn);
        self.received.note(self.syn, 0);
        self.check_reflection(segment.flags.ace(), checks);
    }

    pub fn take_syn_ack_again(&mut self, segment: &ScriptSegment) {
        self.syn = field(segment);
        self.reflects = true;
    }

    /// Neither SYNs nor SYN-ACKs of a host are ECN-capable, so that they cannot arrive as anything else.
    fn check_reflection(&mut self, ace: u8, checks: bool) {
        let mangled = EcnCodepoint::reflected(ace).is_some_and(|arrived| !EcnCodepoint::NotEct.may_become(arrived));
        self.fails |= checks && mangled;
    }

    /// The handshake is complete with this segment of the peer.
    pub fn begin(&mut self, system: &System, agreed: EcnFeedback, segment: &ScriptSegment) {
        self.expects_first = true;
        self.note_option(segment);
        self.has_room = agreed == EcnFeedback::Accurate && self.sends_option(system);
    }

    fn note_option(&mut self, segment: &ScriptSegment) {
        if let Some(option) = segment.acc_ecn().filter(|option| !option.is_cleared()) {
            self.peer_sends_option |= option.fields > 0;
        }
    }

    fn sends_option(&self, system: &System) -> bool {
        system.ecn_option && self.peer_sends_option && !self.option_fails
    }

    /// The ECN field of the peer's SYN.
    pub fn peer_syn(&self) -> EcnCodepoint {
        self.syn
    }

    /// The option of a SYN-ACK.
    pub fn syn_ack_option(&mut self) -> TcpOption {
        TcpOption::AccEcn(self.received.option(true, 3))
    }

    /// What full segments leave free for the option, in bytes.
    pub fn room(&self) -> u16 {
        if self.has_room { AccEcnOption::padded(3) } else { 0 }
    }

    pub fn received(&self, field: EcnCodepoint) -> (i64, i64) {
        let (packets, bytes) = self.received.counts(field);
        (packets as i64, bytes as i64)
    }

    /// Takes a segment of the peer, which carries a newer timestamp than those before or not, and hands its report to
    /// the `sender`, which processes the segment next.
    pub fn take(&mut self, system: &System, sender: &mut Sender, segment: &ScriptSegment, is_newer: bool) {
        let ace = segment.flags.ace();
        let is_first = std::mem::take(&mut self.expects_first);
        // Table 3: the third ACK of the handshake reflects how the SYN-ACK arrived.
        let reflects = is_first && self.passive && segment.payload == 0 && EcnCodepoint::reflected(ace).is_some();
        self.fails |= is_first && ace == 0;
        if reflects {
            self.check_reflection(ace, system.ecn_fallback);
            if !self.fails && EcnCodepoint::reflected(ace) == Some(EcnCodepoint::Ce) {
                sender.ecn.note_marked_syn_ack();
            }
        }
        self.received.note(field(segment), segment.payload.into());
        self.note_option(segment);
        let range = (segment.seq, segment.seq.wrapping_add(segment.payload));
        self.option_fails |= segment.payload > 0 && self.told == Some(range);
        sender.ecn.distrust_reports(self.fails);
        sender.ecn.note_report(AckReport { ace, option: segment.acc_ecn(), is_newer: is_newer && !reflects });
    }
}

impl ScriptConnection {
    /// Sets the ECN field, the flags and the option of a segment; `blocks` gives up what the option needs.
    pub(super) fn report_marks(
        &mut self,
        at: &Moment<'_>,
        segment: &mut ScriptSegment,
        options: &mut Vec<TcpOption>,
        blocks: &mut Vec<(u32, u32)>,
    ) {
        if self.agreed.ecn != EcnFeedback::Accurate || segment.flags.rst {
            return;
        }
        // In TIME-WAIT, Linux no longer counts.
        let over = self.fin_acked && self.peer_fin;
        let marks = &mut self.marks;
        segment.ecn = Some(if marks.fails { Ecn::NotEct } else { Ecn::Ect0 });
        let reflected = std::mem::take(&mut marks.reflects).then(|| marks.syn.reflection());
        let ace = if over { 0 } else { reflected.unwrap_or_else(|| marks.received.ace()) };
        segment.flags = segment.flags.with_ace(ace);
        if over || !marks.sends_option(at.system) {
            return;
        }
        let stamps = if self.agreed.timestamps { 12 } else { 0 };
        let free =
            |blocks: usize| (MOST_OPTIONS - stamps).saturating_sub(if blocks > 0 { 4 + 8 * blocks as u16 } else { 0 });
        let least = marks.received.least_fields();
        let fit = |blocks: usize| (least..=3).rev().find(|fields| AccEcnOption::padded(*fields) <= free(blocks));
        let kept = [blocks.len(), blocks.len().min(BLOCKS_BESIDE)];
        let Some((kept, fields)) = kept.into_iter().find_map(|kept| Some((kept, fit(kept)?))) else { return };
        blocks.truncate(kept);
        options.push(TcpOption::AccEcn(marks.received.option(true, fields)));
        let padding = AccEcnOption::padded(fields) - AccEcnOption::length(fields);
        options.extend((0..padding).map(|_| TcpOption::Nop));
        let duplicate = blocks.first().copied().filter(|(start, _)| start.wrapping_sub(segment.ack).cast_signed() < 0);
        marks.told = duplicate.or(marks.told);
    }
}
