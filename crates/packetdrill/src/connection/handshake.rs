//! The handshake: SYNs, the options agreed on, and the sender and receiver created from them.

use wifair_config::{Document, Source};
use wifair_packet::{Packet, flag};
use wifair_tcp::accecn::{EcnCodepoint, EcnFeedback};
use wifair_tcp::cc::AlgorithmChoice;
use wifair_tcp::cc::hystart::HyStartVariant;
use wifair_tcp::{Receiver, Sender, TcpSettings};
use wifair_units::{Duration, Time};

use super::{Agreed, ConnectionStage, Moment, ScriptConnection, TimedSegment, micros};
use crate::script::{Ecn, Flags, ScriptSegment, TcpOption};
use crate::system::System;

impl ScriptConnection {
    /// Agrees on options from our `offer` and the peer's SYN.
    pub(super) fn agree(&mut self, offer: Agreed, syn: &ScriptSegment) {
        let mut agreed = Agreed { peer_mss: 536, ecn: offer.ecn, ..Agreed::default() };
        for option in syn.options.iter().flatten() {
            match option {
                TcpOption::Mss(mss) => agreed.peer_mss = (*mss).max(1),
                TcpOption::WindowScale(scale) if offer.peer_scale.is_some() => {
                    agreed.peer_scale = Some((*scale).min(14))
                }
                TcpOption::SackPermitted => agreed.sack = offer.sack,
                TcpOption::Timestamp(value, _) if offer.timestamps => {
                    agreed.timestamps = true;
                    self.peer_ts = *value;
                }
                _ => {}
            }
        }
        self.agreed = agreed;
        self.peer_isn = syn.seq;
    }

    /// The MSS that this side advertises.
    pub fn advertised_mss(&self, system: &System) -> u16 {
        let device = system.mtu.saturating_sub(40).max(1);
        self.options.max_segment.map_or(device, |own| own.min(device))
    }

    /// Payload of a full segment.
    pub(super) fn segment_size(&self, system: &System) -> u16 {
        let options = if self.agreed.timestamps { 12 } else { 0 } + self.marks.room();
        let limit = self.options.max_segment.unwrap_or(u16::MAX);
        self.agreed.peer_mss.min(limit).min(system.mtu.saturating_sub(40)).saturating_sub(options).max(1)
    }

    /// The window in a SYN: the receive buffer of `SO_RCVBUF`, rounded down to whole segments.
    fn initial_window(&self, system: &System) -> u32 {
        let mss = u64::from(self.advertised_mss(system));
        let window = match self.options.receive_buffer {
            Some(space) if space > mss => space.min(65_535) / mss * mss,
            Some(space) => space,
            None => system.receive_buffer.1,
        };
        u32::try_from(window.min(65_535)).unwrap_or(65_535)
    }

    pub(super) fn send_syn(&mut self, at: &mut Moment<'_>) {
        let (agreed, now) = (self.agreed, at.now);
        let mut options = vec![TcpOption::Mss(self.advertised_mss(at.system))];
        match (agreed.sack, agreed.timestamps) {
            (true, true) => options.push(TcpOption::SackPermitted),
            (false, true) => options.extend([TcpOption::Nop, TcpOption::Nop]),
            (_, false) => {}
        }
        if agreed.timestamps {
            options.push(TcpOption::Timestamp(micros(now), self.peer_ts));
        }
        let before = self.syns.len();
        if self.passive && agreed.ecn == EcnFeedback::Accurate && before == 0 && at.system.ecn_option {
            // A SYN-ACK sent again has no option: a middlebox may have dropped the first one for it.
            options.extend([self.marks.syn_ack_option(), TcpOption::Nop]);
        }
        if agreed.sack && !agreed.timestamps {
            options.extend([TcpOption::Nop, TcpOption::Nop, TcpOption::SackPermitted]);
        }
        if agreed.peer_scale.is_some() {
            options.extend([TcpOption::Nop, TcpOption::WindowScale(self.own_scale)]);
        }
        // RFC 9768, sections 3.1.4.1 and 3.1.4.2, as in Linux: the second repetition and those after it do without ECN.
        let ace = match (agreed.ecn, self.passive) {
            (EcnFeedback::Off, _) => 0,
            (EcnFeedback::Accurate, _) if before >= 2 => 0,
            (EcnFeedback::Accurate, false) => 0b111,
            (EcnFeedback::Accurate, true) => self.marks.peer_syn().reflection(),
            (EcnFeedback::Classic, false) => 0b011,
            (EcnFeedback::Classic, true) => 0b001,
        };
        let flags = Flags { syn: true, ack: self.passive, ..Flags::default() }.with_ace(ace);
        let ack = if self.passive { self.peer_isn.wrapping_add(1) } else { 0 };
        let segment = ScriptSegment {
            ecn: Some(Ecn::NotEct),
            flags,
            ack,
            window: Some(self.initial_window(at.system)),
            options: Some(options),
            ..ScriptSegment::default()
        };
        at.out.push(TimedSegment { at: now, segment });
        let linear = if self.passive { 0 } else { at.system.linear_timeouts };
        if before > linear || (self.passive && before > 0) {
            self.syn_rto = self.syn_rto * 2;
        }
        self.syns.push(now);
        self.syn_at = now.saturating_add(self.syn_rto);
    }

    /// Completes the handshake: creates the sender and the receiver, as if the sender had sent the SYNs itself.
    pub(super) fn establish(&mut self, at: &Moment<'_>, segment: &ScriptSegment) {
        let Moment { system, now, .. } = *at;
        self.marks.begin(system, self.agreed.ecn, segment);
        let mss = self.segment_size(system);
        let cc = self.options.congestion_control.as_ref().unwrap_or(&system.congestion_control);
        let cc = match cc.as_str() {
            "reno" => "newreno",
            name => name,
        };
        let text = format!(
            "stack = 'modern'\nmss = '{mss} B'\ncc = '{cc}'\nsack = {}\ntimestamps = {}",
            self.agreed.sack, self.agreed.timestamps
        );
        let settings: TcpSettings = Document::parse(Source::file("packetdrill", &text))
            .read()
            .unwrap_or_else(|problems| panic!("the settings of a connection are right: {problems}"));
        let (mut sender, mut receiver) = settings.resolve();
        if let AlgorithmChoice::Cubic(params) = &mut sender.cc {
            params.whole_segments = true;
            if system.hystart {
                params.hystart = HyStartVariant::Classic;
            }
        }
        let options = &mut sender.options;
        options.initial_window = u64::from(mss) * system.initial_window;
        options.window_scale = self.agreed.peer_scale.unwrap_or(0);
        options.ecn = self.agreed.ecn != EcnFeedback::Off;
        options.accurate_ecn = self.agreed.ecn == EcnFeedback::Accurate;
        options.dup_threshold = system.reordering;
        options.idle_restart = if system.slow_start_after_idle {
            wifair_tcp::IdleRestart::Rfc2861
        } else {
            wifair_tcp::IdleRestart::Never
        };
        options.rtt.min_rto = Duration::from_millis(system.min_rto_ms);
        options.tail_loss_probes = system.tail_loss_probes;
        options.nagle = !self.options.nodelay;
        options.f_rto = system.frto;
        if !system.rack && options.recovery == wifair_tcp::Recovery::Rack {
            options.recovery = wifair_tcp::Recovery::Sack;
        }
        options.pacing = system.fq;
        options.pacing_burst = system.min_tso_segments;
        options.user_timeout = self.options.user_timeout.unwrap_or(Duration::ZERO);
        receiver.buffer = self.options.receive_buffer.unwrap_or(system.receive_buffer.1);
        receiver.window_scale = if self.agreed.peer_scale.is_some() { self.own_scale } else { 0 };
        receiver.ecn = self.agreed.ecn == EcnFeedback::Classic;
        let mut sender = Sender::new(&sender, 0);
        let mut receiver = Receiver::new(&receiver, 0);
        // The timestamp of the SYN is the first one to echo.
        receiver.start(self.peer_ts);
        for (i, at) in self.syns.iter().enumerate() {
            if i == 0 {
                sender.open(*at)
            } else {
                sender.on_timer(sender.deadline())
            }
            sender.poll(*at);
        }
        sender.on_packet(
            now,
            &Packet {
                flags: flag::SYN | flag::ACK | Packet::ace_flags(EcnCodepoint::NotEct.reflection()),
                ..Packet::default()
            },
        );
        while sender.poll(now).is_some() {}
        let window = u64::from(segment.window.unwrap_or(0));
        let scale = if self.passive { self.agreed.peer_scale.unwrap_or(0) } else { 0 };
        sender.set_receive_window(window << scale);
        self.ends = Some((sender, receiver));
        self.stage = ConnectionStage::Established;
        self.syn_at = Time::NEVER;
        self.last_data = now;
    }
}
