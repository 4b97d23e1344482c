//! Settings and counters of a station, on any channel.

use wifair_engine::{Stream, stream};
use wifair_packet::{Kind, Packet, PacketId};
use wifair_units::{BitRate, Bytes, Duration, counters};

use super::Access;
use super::access::{LONG_RETRY_LIMIT, SHORT_RETRY_LIMIT};
use wifair_phy::{OutageProcess, Timing};
use wifair_queue::{Limit, Queue};

/// Settings of one station or access point.
#[derive(Debug)]
pub struct StationSettings {
    /// aCWmin.
    pub cw_min: u32,
    /// aCWmax.
    pub cw_max: u32,
    /// Whether the backoff is drawn from `0..CW`, excluding CW itself, as in ns-2.
    pub exclude_cw: bool,
    /// Rate of data frames to and from this station.
    pub rate: BitRate,
    /// Bytes that the station's routing adds to each packet it sends: 20 with ns-2's DSDV, otherwise none.
    pub routing_overhead: Bytes,
    /// Probability that a data frame to this station is lost.
    pub data_error_to: f64,
    /// Probability that a data frame from this station is lost.
    pub data_error_from: f64,
    /// Probability that an RTS, CTS or ACK to this station is lost.
    pub control_error_to: f64,
    /// Packets waiting for the MAC.
    pub queue: Queue,
    /// Random stream of backoffs.
    pub backoff: Stream,
    /// Random stream of frame errors at this receiver.
    pub errors: Stream,
}

impl StationSettings {
    /// A station without errors, as a base for further settings.
    pub(super) fn plain() -> Self {
        Self {
            cw_min: 0,
            cw_max: 0,
            exclude_cw: false,
            rate: BitRate::from_bps(0),
            routing_overhead: Bytes(0),
            data_error_to: 0.0,
            data_error_from: 0.0,
            control_error_to: 0.0,
            queue: Queue::fifo(Limit::Packets(1)),
            backoff: stream(0, "backoff", "none"),
            errors: stream(0, "errors", "none"),
        }
    }
}

counters! {
    /// Counters of one station since the start of the run.
    pub struct Counters {
        /// Attempts: data frames sent, and RTS frames without CTS.
        pub attempts: u64,
        /// Data frames that were acknowledged or broadcast.
        pub delivered: u64,
        /// Attempts that collided with another frame.
        pub collisions: u64,
        /// Attempts without a response because of an error.
        pub errors: u64,
        /// Data frames given up at a retry limit; MPDUs of an aggregate count individually.
        pub retry_limit_drops: u64,
        /// Air time of its data frames that did not collide.
        pub data: Duration,
        /// Air time of the other frames of its exchanges that did not collide.
        pub control: Duration,
        /// Air time of the frames of its exchanges that collided: another frame kept their receiver from reading them.
        pub collided: Duration,
    }
}

counters! {
    /// Use of the air time since the start of the run. The fields add up to the elapsed time.
    pub struct AirTime {
        /// Data frames that were received.
        pub data: Duration,
        /// ACKs, block ACKs and their requests, ADDBA, DELBA and CF-End frames.
        pub ack: Duration,
        /// RTS and CTS frames that did not collide, answered or not.
        pub rts_cts: Duration,
        /// Frames that overlapped, from the first start to the last end.
        pub collision: Duration,
        /// Data frames lost to errors.
        pub error: Duration,
        /// Several frames at once, far enough apart to be received (in space only).
        pub reuse: Duration,
        /// No frame on the air: SIFS, DIFS, backoff, and nothing to send.
        pub idle: Duration,
    }
}

impl Counters {
    /// Air time of its exchanges: of all frames in them, whether they collided or not.
    #[must_use]
    pub fn air(&self) -> Duration {
        self.data + self.control + self.collided
    }
}

impl AirTime {
    /// Sum of all fields.
    #[must_use]
    pub fn total(&self) -> Duration {
        self.data + self.ack + self.rts_cts + self.collision + self.error + self.reuse + self.idle
    }

    /// Air time since `earlier`. A frame on the air at that time was counted as received, or as a collision if it
    /// overlapped with another. If that proved wrong, its earlier time is subtracted from the field that counts the
    /// frame now.
    ///
    /// ```
    /// # use wifair_units::Duration;
    /// # use wifair_mac::AirTime;
    /// let ms = Duration::from_millis;
    /// let cut = AirTime { data: ms(7), ..AirTime::default() };
    /// let lost = AirTime { data: ms(6), error: ms(3), ..AirTime::default() };
    /// assert_eq!(lost.since(&cut), AirTime { error: ms(2), ..AirTime::default() });
    /// let cut = AirTime { collision: ms(2), ..AirTime::default() };
    /// let read_in_part = AirTime { data: ms(5), ..AirTime::default() };
    /// assert_eq!(read_in_part.since(&cut), AirTime { data: ms(3), ..AirTime::default() });
    /// ```
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let read = [(self.data, earlier.data), (self.ack, earlier.ack), (self.rts_cts, earlier.rts_cts)];
        let lost = [(self.error, earlier.error), (self.collision, earlier.collision)];
        let missing = |parts: &[(Duration, Duration)]| -> Duration {
            parts.iter().fold(Duration::ZERO, |sum, (now, before)| sum + before.saturating_sub(*now))
        };
        let (mut of_read, mut of_lost) = (missing(&read), missing(&lost));
        let without = |(now, before): (Duration, Duration), missing: &mut Duration| {
            let added = now.saturating_sub(before);
            let part = added.min(*missing);
            *missing = *missing - part;
            added - part
        };
        let [data, ack, rts_cts] = read.map(|part| without(part, &mut of_lost));
        let [error, collision] = lost.map(|part| without(part, &mut of_read));
        Self { data, ack, rts_cts, error, collision, reuse: self.reuse - earlier.reuse, idle: self.idle - earlier.idle }
    }
}

/// What happened during a call to a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MacEvent {
    /// Nothing.
    Nothing,
    /// `to` received a packet.
    Packet {
        /// The receiver.
        to: u32,
        /// The packet, which now belongs to the receiver.
        id: PacketId,
    },
    /// A station received datagrams for which no packets are written: see [`Channel::datagrams`](super::Channel).
    #[cfg(feature = "fast")]
    Datagrams {
        /// Index of the sender's EDCA function.
        sender: u32,
    },
    /// The stations listed by the channel as receivers got a packet.
    Broadcast {
        /// The sender.
        from: u32,
        /// The packet, which now belongs to the caller.
        id: PacketId,
    },
}

/// The frame that a station is trying to send.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub id: PacketId,
    pub to: u32,
    pub length: Bytes,
    pub rate: BitRate,
    pub air: Duration,
    /// Air time of its ACK.
    pub ack: Duration,
    /// Whether the receiver has the frame and only the ACK was lost; the packet then no longer belongs to the station.
    pub received: bool,
}

/// Contention window, retry counts and backoff draws of a station.
#[derive(Clone, Debug)]
pub(super) struct Contention {
    cw: u32,
    short_retries: u8,
    long_retries: u8,
    /// The attempts that rate adaptation plans for the current frame, if it plans them.
    planned: Option<u8>,
    cw_min: u32,
    cw_max: u32,
    /// Number of possible values if the window is zero: 1, or 0 if CW itself is excluded.
    least_values: u32,
    backoff: Stream,
}

impl Contention {
    pub fn new(settings: &StationSettings) -> Self {
        Self {
            cw: settings.cw_min,
            short_retries: 0,
            long_retries: 0,
            planned: None,
            cw_min: settings.cw_min,
            cw_max: settings.cw_max,
            least_values: u32::from(!settings.exclude_cw),
            backoff: settings.backoff.clone(),
        }
    }

    /// Writes the settings from which this was made into those of a station.
    pub fn write_to(&self, settings: StationSettings) -> StationSettings {
        let Self { cw_min, cw_max, least_values, backoff, .. } = self;
        let (cw_min, cw_max, exclude_cw) = (*cw_min, *cw_max, *least_values == 0);
        StationSettings { cw_min, cw_max, exclude_cw, backoff: backoff.clone(), ..settings }
    }

    pub fn cw_min(&self) -> u32 {
        self.cw_min
    }

    /// Notes how many attempts rate adaptation plans for the current frame.
    pub fn plan(&mut self, attempts: Option<u8>) {
        self.planned = attempts;
    }

    /// Whether the current frame was sent before.
    pub fn is_retry(&self) -> bool {
        self.short_retries > 0 || self.long_retries > 0
    }

    /// Draws a new backoff, in slots.
    #[inline]
    pub fn draw(&mut self) -> u32 {
        self.backoff.below((self.cw + self.least_values).max(1))
    }

    /// Resets windows and retry counts after a frame.
    #[inline]
    pub fn reset(&mut self) {
        self.cw = self.cw_min;
        self.short_retries = 0;
        self.long_retries = 0;
    }

    /// Sets the contention windows used from the next frame on.
    pub fn set_windows(&mut self, cw_min: u32, cw_max: u32) {
        self.cw_min = cw_min;
        self.cw_max = cw_max;
        self.cw = self.cw.min(cw_max);
    }

    /// Resets the short retry count when a CTS arrives.
    #[inline]
    pub fn clear(&mut self) {
        self.short_retries = 0;
    }

    /// Counts a failed attempt in the short or the long retry count and doubles the window. Returns whether the limit
    /// is reached (10.3.4.4).
    #[inline]
    pub fn fail(&mut self, access: &Access, is_short: bool) -> bool {
        let (retries, limit, usual) = if is_short {
            (&mut self.short_retries, access.short_retry_limit, SHORT_RETRY_LIMIT)
        } else {
            (&mut self.long_retries, access.long_retry_limit, LONG_RETRY_LIMIT)
        };
        *retries += 1;
        let exhausted = *retries >= limit.or(self.planned).unwrap_or(usual);
        self.cw = (2 * self.cw + 1).min(self.cw_max);
        if exhausted {
            let cw = self.cw;
            self.reset();
            if !access.reset_cw_on_drop {
                self.cw = cw;
            }
        }
        exhausted
    }
}

/// Error probabilities at a receiver.
#[derive(Clone, Debug)]
pub(super) struct Errors {
    pub data_to: f64,
    pub data_from: f64,
    pub control_to: f64,
    pub stream: Stream,
}

impl Errors {
    pub fn new(settings: &StationSettings) -> Self {
        Self {
            data_to: settings.data_error_to,
            data_from: settings.data_error_from,
            control_to: settings.control_error_to,
            stream: settings.errors.clone(),
        }
    }

    /// Writes the settings from which this was made into those of a station.
    pub fn write_to(&self, settings: StationSettings) -> StationSettings {
        StationSettings {
            data_error_to: self.data_to,
            data_error_from: self.data_from,
            control_error_to: self.control_to,
            errors: self.stream.clone(),
            ..settings
        }
    }

    /// Whether any frame can be lost here.
    pub fn are_possible(&self) -> bool {
        self.data_to > 0.0 || self.data_from > 0.0 || self.control_to > 0.0
    }

    /// Draws whether this receiver loses a control frame.
    #[inline]
    pub fn loses_control(&mut self) -> bool {
        self.stream.chance(self.control_to)
    }

    /// Draws whether this receiver loses a data frame; `from` is the sender's probability.
    #[inline]
    pub fn loses_data(&mut self, from: f64) -> bool {
        // Two draws, so that setting one probability does not shift the draws of the other.
        let by_receiver = self.stream.chance(self.data_to);
        self.stream.chance(from) || by_receiver
    }
}

/// Outages of the links from and to a station.
#[derive(Clone, Debug, Default)]
pub struct Outages {
    /// While this link is down, nothing that the station sends is received.
    pub from: Option<OutageProcess>,
    /// While this link is down, the station receives nothing.
    pub to: Option<OutageProcess>,
}

/// Cache of air times by length and rate: most frames are as long as a recent one.
#[derive(Clone, Debug)]
pub(super) struct AirTimes([(Bytes, BitRate, Duration); 8]);

impl Default for AirTimes {
    fn default() -> Self {
        Self([(Bytes(0), BitRate::from_bps(0), Duration::ZERO); 8])
    }
}

/// Length, from the MAC header to the FCS, of the frame that carries `packet`; routing messages have no routing
/// overhead.
#[inline]
pub(super) fn frame_length(timing: &Timing, packet: &Packet, routing_overhead: Bytes) -> Bytes {
    let routing = if packet.kind == Kind::Routing { Bytes(0) } else { routing_overhead };
    timing.frame_length(packet.bytes() + routing)
}

impl AirTimes {
    #[inline]
    pub fn of(&mut self, timing: &Timing, length: Bytes, rate: BitRate) -> Duration {
        let place = &mut self.0[(length.0 ^ (length.0 >> 3)) as usize % 8];
        if (place.0, place.1) != (length, rate) {
            *place = (length, rate, timing.frame(length, rate));
        }
        place.2
    }
}
