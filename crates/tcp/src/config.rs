//! What a connection does in each case where implementations differ.

use wifair_config::choice;
use wifair_units::Duration;

use crate::cc;
use crate::rtt::RttConfig;

choice! {
    /// How a connection begins.
    pub enum Handshake {
        /// It is established from the start.
        None = "none",
        /// A SYN and its ACK, without the third segment.
        OneWay = "one-way" from "ns-2.35, Agent/TCP",
        /// SYN, SYN-ACK, ACK.
        ThreeWay = "three-way" from "RFC 9293, section 3.5",
    }
}

choice! {
    /// What happens to the window when nothing was sent for a while.
    pub enum IdleRestart {
        /// Nothing.
        Never = "never",
        /// It falls to the initial window when nothing was sent for a timeout.
        Rfc5681 = "rfc5681" from "RFC 5681, section 4.1",
        /// It is halved for each timeout without sending, down to the initial window.
        Rfc2861 = "rfc2861" from "RFC 2861, section 3.1; Linux",
        /// The retransmission timer runs on; at its end the window falls to one segment, ssthresh stays.
        TimerRunsOn = "timer-runs-on" from "ns-2.35, Agent/TCP",
    }
}

choice! {
    /// Whether the first two duplicate ACKs send a segment each.
    pub enum LimitedTransmit {
        /// No.
        Off = "off",
        /// One that was not sent before.
        Rfc3042 = "rfc3042" from "RFC 3042",
        /// The next one in any case, also when a timeout made the sender go back.
        Ns2 = "ns2" from "ns-2.35, singledup_",
    }
}

choice! {
    /// By how much an ACK lets the window grow.
    pub enum Growth {
        /// As for one segment, whatever it acknowledges.
        PerAck = "per-ack" from "ns-2.35",
        /// As for the bytes that it acknowledges, at most one segment.
        OneSegment = "one-segment" from "RFC 5681, equation 2",
        /// As for the bytes that it acknowledges, at most two segments.
        TwoSegments = "two-segments" from "RFC 3465, section 2.2",
        /// As for the bytes that it newly tells to have arrived.
        Bytes = "bytes" from "Linux",
    }
}

choice! {
    /// How lost segments are found and repaired.
    pub enum Recovery {
        /// Fast retransmit, then slow start from the lost segment on.
        Tahoe = "tahoe" from "V. Jacobson, Congestion Avoidance and Control, 1988",
        /// Fast recovery until the first new ACK.
        Reno = "reno" from "RFC 2581, section 3.2",
        /// Fast recovery until all is acknowledged that was in flight.
        NewReno = "newreno" from "RFC 6582",
        /// By a scoreboard of selective ACKs.
        Sack = "sack" from "RFC 6675",
        /// By the times of transmission, with tail loss probes.
        Rack = "rack" from "RFC 8985",
    }
}

impl From<cc::Recovery> for Recovery {
    fn from(recovery: cc::Recovery) -> Self {
        match recovery {
            cc::Recovery::Tahoe => Self::Tahoe,
            cc::Recovery::Reno => Self::Reno,
            cc::Recovery::NewReno => Self::NewReno,
        }
    }
}

choice! {
    /// From what the window is reduced on loss.
    pub enum ReduceFrom {
        /// What is in flight.
        Flight = "flight" from "RFC 5681, equation 4",
        /// The window, at most the receive window.
        Window = "window" from "ns-2.35; Linux",
    }
}

/// A sender, resolved: no setting depends on another one any more.
#[derive(Clone, Debug, PartialEq)]
pub struct SenderConfig {
    /// Which congestion control, with its parameters.
    pub cc: cc::Choice,
    /// What takes the place of that choice, if it is defined outside this crate.
    pub foreign: Option<cc::Foreign>,
    /// All else.
    pub options: StackOptions,
}

/// What a sender does where implementations differ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StackOptions {
    /// Payload of a full segment, in bytes.
    pub mss: u16,
    /// IP and TCP header without options, in bytes.
    pub header: u16,
    /// TCP options add to the size of segments.
    pub count_options: bool,
    /// How the connection begins.
    pub handshake: Handshake,
    /// A FIN follows the last byte after [`crate::Sender::close`].
    pub fin: bool,
    /// Initial window, in bytes.
    pub initial_window: u64,
    /// Initial slow-start threshold, in segments; infinite where nothing is known.
    pub initial_ssthresh: f64,
    /// Bound of the window, inflation included, in segments; infinite where there is none.
    pub max_cwnd: f64,
    /// The receiver's window, in bytes: what may be sent until it has said so itself.
    pub receive_window: u64,
    /// The receive window is known from the start (ns-2). The header field of an ACK then counts only where it is below
    /// its largest value, as an access point may have written it.
    pub window_known: bool,
    /// Shift of the receive window in the header field (RFC 7323, section 2).
    pub window_scale: u8,
    /// Timeout and measurement of the round-trip time.
    pub rtt: RttConfig,
    /// Timestamps in every segment (RFC 7323, section 3).
    pub timestamps: bool,
    /// How lost segments are found and repaired.
    pub recovery: Recovery,
    /// Duplicate ACKs that start fast retransmit.
    pub dup_threshold: u32,
    /// Whether the duplicate ACKs before that send a segment each.
    pub limited_transmit: LimitedTransmit,
    /// By how much an ACK lets the window grow.
    pub growth: Growth,
    /// The window grows only while it limits what is sent.
    pub validate_window: bool,
    /// From what the window is reduced on loss.
    pub reduce_from: ReduceFrom,
    /// ns-2's recovery in small things: the ACK that ends it lets the window grow; what partial ACKs took off the
    /// window stays off; further timeouts of a segment reduce `ssthresh` again, which then is a whole number.
    pub ns2_recovery: bool,
    /// On a partial ACK after the first one the retransmission timer runs on (RFC 6582, section 3.2, step 3).
    pub impatient: bool,
    /// What happens when nothing was sent for a while.
    pub idle_restart: IdleRestart,
    /// Proportional rate reduction (RFC 9937) with [`Recovery::Sack`] and [`Recovery::Rack`].
    pub prr: bool,
    /// ECN (RFC 3168).
    pub ecn: bool,
    /// Spreads segments over the round trip also where the congestion control does not ask for it.
    pub pacing: bool,
    /// Segments that pacing lets leave together, as segmentation offload has them; 1 or more.
    pub pacing_burst: u32,
    /// Bursts grow with the pacing rate and with the nearness of the receiver (Linux's autosizing of TSO packets).
    pub tso_autosize: bool,
    /// What leaves in so long at the pacing rate may wait in the queue of the sender's own station, and no more
    /// (Linux's TCP small queues); zero for no bound. Its host then calls [`crate::Sender::on_departure`].
    pub small_queue: Duration,
    /// Tail loss probes (RFC 8985, section 7) with [`Recovery::Rack`].
    pub tail_loss_probes: bool,
    /// In slow start the window grows while it is less than twice what was in flight at most, whatever limited that;
    /// after it while it was full within the last round trip (Linux).
    pub track_use: bool,
    /// A short segment waits while another one is in flight (Nagle's algorithm as Minshall changed it, Linux).
    pub nagle: bool,
    /// Timeouts are found to be spurious by the ACKs that follow (RFC 5682).
    pub f_rto: bool,
    /// The connection ends when what was sent is not acknowledged for so long (RFC 5482); zero for never.
    pub user_timeout: Duration,
}

/// A receiver, resolved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReceiverConfig {
    /// IP and TCP header without options, in bytes.
    pub header: u16,
    /// TCP options add to the size of segments.
    pub count_options: bool,
    /// Receive buffer, in bytes.
    pub buffer: u64,
    /// Shift of the window in the header field (RFC 7323, section 2).
    pub window_scale: u8,
    /// Segments that one ACK may cover; 1 acknowledges each at once.
    pub ack_every: u32,
    /// The longest time by which an ACK is delayed.
    pub ack_delay: Duration,
    /// ACKs at the start of a connection that are not delayed (Linux).
    pub quick_acks: u32,
    /// How long ACKs that tell of a gap wait for each other, from the fourth on (Linux); zero for not at all.
    pub sack_compression: Duration,
    /// Segments that come within so much of the first one are one arrival (Linux's generic receive offload); zero for
    /// those of an instant, none without it.
    pub gro: Option<Duration>,
    /// Selective ACKs (RFC 2018), with duplicates reported (RFC 2883).
    pub sack: bool,
    /// Timestamps are echoed (RFC 7323, section 4).
    pub timestamps: bool,
    /// Congestion marks are echoed (RFC 3168).
    pub ecn: bool,
    /// Each mark is echoed as it came (RFC 8257, section 3.2), instead of until the sender confirms.
    pub echo_each_mark: bool,
}
