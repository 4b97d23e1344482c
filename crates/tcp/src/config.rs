//! Options of a connection in which implementations differ.

use wifair_config::choice;
use wifair_units::Duration;

use crate::cc;
use crate::rtt::RttConfig;

choice! {
    /// How a connection is opened.
    pub enum Handshake {
        /// No handshake: the connection is established from the start.
        None = "none",
        /// SYN and SYN-ACK, without the third segment.
        OneWay = "one-way" from "ns-2.35, Agent/TCP",
        /// SYN, SYN-ACK, ACK.
        ThreeWay = "three-way" from "RFC 9293, section 3.5",
    }
}

choice! {
    /// What happens to the congestion window after an idle period.
    pub enum IdleRestart {
        /// The window stays as it is.
        Never = "never",
        /// After an RTO without sending the window falls to the initial window.
        Rfc5681 = "rfc5681" from "RFC 5681, section 4.1",
        /// The window is halved for each RTO without sending, down to the initial window.
        Rfc2861 = "rfc2861" from "RFC 2861, section 3.1; Linux",
        /// The retransmission timer keeps running; when it expires the window falls to one segment and ssthresh stays.
        TimerRunsOn = "timer-runs-on" from "ns-2.35, Agent/TCP",
    }
}

choice! {
    /// Whether the first two duplicate ACKs send a segment each (limited transmit).
    pub enum LimitedTransmit {
        /// They send nothing.
        Off = "off",
        /// Each sends one new segment.
        Rfc3042 = "rfc3042" from "RFC 3042",
        /// Each sends the next segment, even if that is a retransmission after a timeout.
        Ns2 = "ns2" from "ns-2.35, singledup_",
    }
}

choice! {
    /// How far one ACK lets the window grow.
    pub enum Growth {
        /// As if it acknowledged one segment, however much it covers.
        PerAck = "per-ack" from "ns-2.35",
        /// By the bytes acknowledged, at most one segment (appropriate byte counting, L = 1).
        OneSegment = "one-segment" from "RFC 5681, equation 2",
        /// By the bytes acknowledged, at most two segments (appropriate byte counting, L = 2).
        TwoSegments = "two-segments" from "RFC 3465, section 2.2",
        /// By all bytes newly delivered, cumulatively or selectively acknowledged.
        Bytes = "bytes" from "Linux",
    }
}

choice! {
    /// How lost segments are detected and retransmitted.
    pub enum Recovery {
        /// Fast retransmit, then slow start from the lost segment.
        Tahoe = "tahoe" from "V. Jacobson, Congestion Avoidance and Control, 1988",
        /// Fast recovery until the first new ACK.
        Reno = "reno" from "RFC 2581, section 3.2",
        /// Fast recovery until everything in flight at the loss is acknowledged.
        NewReno = "newreno" from "RFC 6582",
        /// A scoreboard of selective ACKs.
        Sack = "sack" from "RFC 6675",
        /// Selective ACKs as in ns-2: three duplicate ACKs that report something new start recovery, a count of packets
        /// in the path decides what is sent, and a timeout clears the scoreboard. The receiver does not report
        /// duplicates, and its ACKs are 8 bytes longer for each block.
        Sack1 = "sack1" from "ns-2.35, Agent/TCP/Sack1",
        /// Selective ACKs as in Linux 2.6 and its port to ns-2: a scoreboard with forward acknowledgment, rate halving,
        /// and lost retransmissions sent again. ACKs are those of `sack1`. It has rules of its own in place of
        /// `dup_threshold`, `limited_transmit`, `prr`, `f_rto`, `validate_window` and `nagle`.
        TcpLinux = "tcp-linux" from "ns-2.35, Agent/TCP/Linux",
        /// Transmission times (RACK), with tail loss probes.
        Rack = "rack" from "RFC 8985",
    }
}

impl From<cc::DefaultRecovery> for Recovery {
    fn from(recovery: cc::DefaultRecovery) -> Self {
        match recovery {
            cc::DefaultRecovery::Tahoe => Self::Tahoe,
            cc::DefaultRecovery::Reno => Self::Reno,
            cc::DefaultRecovery::NewReno => Self::NewReno,
        }
    }
}

choice! {
    /// What the window is reduced from on loss.
    pub enum ReduceFrom {
        /// The amount in flight.
        Flight = "flight" from "RFC 5681, equation 4",
        /// What may still be in the network: the amount in flight without what is known to have arrived or is
        /// considered lost. After a timeout as with `flight`; ns-3 then counts retransmissions that have arrived.
        Pipe = "pipe" from "ns-3.44",
        /// The congestion window, at most the receive window.
        Window = "window" from "ns-2.35; Linux",
    }
}

choice! {
    /// Which ends of a connection know accurate ECN.
    pub enum AccurateEcn {
        /// Neither: marks are echoed.
        None = "none" from "RFC 3168, section 6.1",
        /// Only the sender, which asks for it in vain: marks are echoed.
        Sender = "sender" from "RFC 9768, section 3.1.2",
        /// Only the receiver, which is not asked: marks are echoed.
        Receiver = "receiver" from "RFC 9768, section 3.1.2",
        /// Both: marks are counted.
        Both = "both" from "RFC 9768",
    }
}

impl AccurateEcn {
    /// Whether the sender asks, and the receiver agrees; without a handshake nobody does unless both know it.
    pub(crate) const fn ends(&self, handshake: Handshake) -> (bool, bool) {
        match (self, handshake) {
            (Self::Both, _) => (true, true),
            (_, Handshake::None) | (Self::None, _) => (false, false),
            (Self::Sender, _) => (true, false),
            (Self::Receiver, _) => (false, true),
        }
    }
}

/// Configuration of a sender, with every default resolved.
#[derive(Clone, Debug, PartialEq)]
pub struct SenderConfig {
    /// Congestion control and its parameters.
    pub cc: cc::AlgorithmChoice,
    /// A congestion control defined outside this crate; it overrides `cc`.
    pub custom_cc: Option<cc::CustomControl>,
    /// Everything else.
    pub options: StackOptions,
}

/// Options of a sender in which implementations differ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StackOptions {
    /// Payload of a full segment, in bytes.
    pub mss: u16,
    /// IP and TCP header without options, in bytes.
    pub header: u16,
    /// Whether TCP options add to the size of segments.
    pub count_options: bool,
    /// How the connection is opened.
    pub handshake: Handshake,
    /// Whether a FIN follows the last byte after [`crate::Sender::close`].
    pub fin: bool,
    /// Initial congestion window, in bytes.
    pub initial_window: u64,
    /// Initial slow-start threshold, in segments; infinite if not set.
    pub initial_ssthresh: f64,
    /// Upper bound of the congestion window in segments, inflation in fast recovery included; may be infinite.
    pub max_cwnd: f64,
    /// Receive window until the receiver advertises one, in bytes.
    pub receive_window: u64,
    /// The receive window is known from the start (ns-2). The window field of an ACK then counts only if it is below
    /// its largest value: an access point may have rewritten it.
    pub window_known: bool,
    /// Window scale (RFC 7323, section 2).
    pub window_scale: u8,
    /// RTT estimation and RTO.
    pub rtt: RttConfig,
    /// Whether every segment carries timestamps (RFC 7323, section 3).
    pub timestamps: bool,
    /// How lost segments are detected and retransmitted.
    pub recovery: Recovery,
    /// Number of duplicate ACKs that triggers fast retransmit.
    pub dup_threshold: u32,
    /// Whether the duplicate ACKs below `dup_threshold` send a segment each.
    pub limited_transmit: LimitedTransmit,
    /// How far one ACK lets the window grow.
    pub growth: Growth,
    /// Whether the window grows only while it limits what is sent (RFC 7661).
    pub validate_window: bool,
    /// What the window is reduced from on loss.
    pub reduce_from: ReduceFrom,
    /// A timeout leaves `ssthresh` as it is if recovery has reduced it in this window (Linux).
    pub reduce_once: bool,
    /// Details of ns-2's recovery: the ACK that ends recovery lets the window grow; the reduction by partial ACKs is
    /// kept after recovery; each further timeout of a segment reduces `ssthresh` again; after a loss in slow start
    /// `ssthresh` is a whole number.
    pub ns2_recovery: bool,
    /// Only the first partial ACK restarts the retransmission timer (RFC 6582, section 3.2, step 3; the Impatient
    /// variant of RFC 3782, section 4).
    pub impatient: bool,
    /// What happens to the congestion window after an idle period.
    pub idle_restart: IdleRestart,
    /// Proportional rate reduction (RFC 9937) with [`Recovery::Sack`] and [`Recovery::Rack`].
    pub prr: bool,
    /// ECN (RFC 3168).
    pub ecn: bool,
    /// Whether the SYN asks for accurate ECN (RFC 9768).
    pub accurate_ecn: bool,
    /// ECN-capable packets are ECT(1): the congestion control responds as RFC 9331 asks.
    pub ect1: bool,
    /// Whether segments are paced even if the congestion control does not ask for it.
    pub pacing: bool,
    /// Segments that leave together when paced, as with segmentation offload; at least 1.
    pub pacing_burst: u32,
    /// Whether bursts grow with the pacing rate and for nearby receivers, and with selective ACKs are formed without
    /// pacing too (Linux's TSO autosizing).
    pub tso_autosize: bool,
    /// Bytes in the queue of the sender's own station are limited to what leaves in this time at the pacing rate
    /// (Linux's TCP small queues); zero for no limit. The host has to call [`crate::Sender::on_departure`].
    pub small_queue: Duration,
    /// Tail loss probes (RFC 8985, section 7) with [`Recovery::Rack`].
    pub tail_loss_probes: bool,
    /// Linux's rule for when the window may grow: in slow start while it is below twice the most that was in flight, in
    /// congestion avoidance if it was full within the last round trip.
    pub track_use: bool,
    /// A short segment waits while another short one is in flight (Nagle's algorithm with Minshall's change, as in
    /// Linux).
    pub nagle: bool,
    /// Whether spurious timeouts are detected from the ACKs that follow (F-RTO, RFC 5682).
    pub f_rto: bool,
    /// Whether spurious recoveries are detected by timestamps (Eifel, RFC 3522).
    pub eifel: bool,
    /// The connection aborts when sent data stays unacknowledged for this long (RFC 5482); zero for never.
    pub user_timeout: Duration,
}

/// Configuration of a receiver, with every default resolved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReceiverConfig {
    /// IP and TCP header without options, in bytes.
    pub header: u16,
    /// Whether TCP options add to the size of segments.
    pub count_options: bool,
    /// Whether an ACK is 8 bytes longer for each SACK block where `count_options` is off (ns-2).
    pub count_blocks: bool,
    /// Whether duplicates are reported (RFC 2883).
    pub report_duplicates: bool,
    /// Receive buffer, in bytes.
    pub buffer: u64,
    /// Window scale (RFC 7323, section 2).
    pub window_scale: u8,
    /// Segments per delayed ACK; 1 acknowledges each at once.
    pub ack_every: u32,
    /// Longest delay of an ACK.
    pub ack_delay: Duration,
    /// Number of ACKs at the start of a connection that are not delayed (Linux).
    pub quick_acks: u32,
    /// How long ACKs that report a gap are held back and merged, from the fourth on (Linux's SACK compression); zero
    /// for off.
    pub sack_compression: Duration,
    /// Generic receive offload (Linux): segments that arrive within this time of the first are handed to TCP as one.
    /// Zero merges only segments that arrive at the same instant; `None` is off.
    pub gro: Option<Duration>,
    /// Whether selective ACKs are sent (RFC 2018), including reports of duplicates (RFC 2883).
    pub sack: bool,
    /// Whether timestamps are echoed (RFC 7323, section 4).
    pub timestamps: bool,
    /// Whether congestion marks are echoed (RFC 3168).
    pub ecn: bool,
    /// Whether the receiver agrees to accurate ECN (RFC 9768).
    pub accurate_ecn: bool,
    /// Without a handshake, accurate ECN is agreed on from the start.
    pub accurate_from_start: bool,
    /// The sender's ECN-capable packets are ECT(1).
    pub ect1: bool,
    /// Echo the mark of each segment (RFC 8257, section 3.2) instead of setting ECE until CWR arrives.
    pub echo_each_mark: bool,
}

impl ReceiverConfig {
    /// Whether the receiver has timers: it may answer later than at the arrival of a segment.
    #[must_use]
    pub fn has_timer(&self) -> bool {
        self.ack_every > 1 || self.sack_compression > Duration::ZERO || self.gro.is_some()
    }
}
