//! Duration of a frame exchange in closed form: a data PPDU, SIFS and its response, and the throughput of a lone
//! station that repeats it.

use wifair_phy::{
    Amendment, Band, BasicRates, Coding, ModeError, ModeRequest, PpduOptions, PpduParts, PpduTiming, TxMode,
};
use wifair_units::{BitRate, Bytes, Duration};

use crate::extended_response::ExtendedResponse;
use crate::frame_length;
use crate::receiver_limits::{largest_window, longest_mpdu};

/// Content of the PPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExchangeContent {
    /// A PSDU of this length.
    Psdu(Bytes),
    /// One MPDU of this length, MAC header and FCS included; from 802.11ac on in an A-MPDU of its own (9.7.1).
    Mpdu(Bytes),
    /// An A-MPDU of this number of MPDUs of this length.
    AMpdu(Bytes, u32),
}

/// Response to the PPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Response {
    /// Nothing, as after a broadcast.
    None,
    /// An ACK.
    Ack,
    /// A compressed block ACK.
    BlockAck,
}

/// Parameters of an exchange.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExchangeQuery {
    /// PHY.
    pub amendment: Amendment,
    /// Transmit mode.
    pub mode: ModeRequest,
    /// Content of the PPDU.
    pub content: ExchangeContent,
    /// Response. If absent: an ACK to a single MPDU; a block ACK to several MPDUs, or to a PSDU longer than any MPDU.
    pub response: Option<Response>,
    /// Buffer size of the block ACK agreement, in MPDUs, which determines the length of a block ACK (IEEE Std
    /// 802.11ax-2021, 9.3.1.8); if absent, the largest of the standard.
    pub buffer_size: Option<u32>,
    /// Basic rates, from which the rate of control responses is chosen.
    pub basic_rates: BasicRates,
    /// Packet extension and LDPC options.
    pub options: PpduOptions,
}

/// Air times of an exchange.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExchangeTime {
    /// Band.
    pub band: Band,
    /// Transmit mode of the data PPDU.
    pub mode: TxMode,
    /// Length of the PSDU.
    pub psdu: Bytes,
    /// Bytes of MPDUs in the PSDU, without delimiters and padding; all of it if the PSDU was given.
    pub mpdu_bytes: Bytes,
    /// Number of MPDUs, if known.
    pub mpdus: Option<u32>,
    /// Air time of the data PPDU by parts.
    pub parts: PpduParts,
    /// Whether LDPC needs an extra symbol or segment for this length, whether or not it is counted.
    pub ldpc_extra_symbol: bool,
    /// Response with its transmit mode, length and air time.
    pub response: Option<(Response, TxMode, Bytes, Duration)>,
    /// SIFS.
    pub sifs: Duration,
    /// AIFS of best effort with its default AIFSN of 3; DIFS before 802.11n.
    pub aifs: Duration,
    /// Mean backoff of a lone station: half of CWmin, 15 slots of 9 us, or 31 of 20 us in 802.11b.
    pub backoff: Duration,
}

impl ExchangeTime {
    /// Computes the air times. An error names a mode that does not exist, or content that does not fit.
    pub fn new(query: &ExchangeQuery) -> Result<Self, ModeError> {
        let answer = Self::of_mode(query)?;
        check_extra_symbol(query, &[answer])?;
        Ok(answer)
    }

    fn of_mode(query: &ExchangeQuery) -> Result<Self, ModeError> {
        let (band, mode) = query.amendment.mode(&query.mode)?;
        if let Some(size) = query.buffer_size {
            let (most, name) = (largest_window(query.amendment), query.amendment.name());
            if most == 0 || !(1..=most).contains(&size) {
                let there =
                    if most == 0 { "802.11n, ac, ax and be have one".to_owned() } else { format!("1 to {most}") };
                let message = format!("no block ACK buffer of {size} MPDUs in {name}: {there}");
                return Err(ModeError { key: "buffer_size", message });
            }
        }
        let in_ampdu = matches!(query.content, ExchangeContent::AMpdu(..));
        let longest_mpdu = longest_mpdu(query.amendment, in_ampdu);
        let (psdu, mpdu_bytes, mpdus) = psdu(query, longest_mpdu)?;
        let timing = PpduTiming::with_options(mode, band, query.options);
        let (parts, max_time) = (timing.parts(psdu), mode.max_time());
        if query.amendment >= Amendment::N && parts.total() > max_time {
            let why = format!(
                "takes {} us in {mode}, longer than the {} us of the longest PPDU",
                micros(parts.total()),
                micros(max_time)
            );
            return Err(too_long(query, &why, longest_psdu(mode, &timing, max_time).min(mode.max_psdu())));
        }
        if psdu > mode.max_psdu() {
            let why = format!("is longer than any of {}", query.amendment.name());
            return Err(too_long(query, &why, mode.max_psdu()));
        }
        if let (Some(Response::Ack), Some(count @ 2..)) = (query.response, mpdus) {
            let message = format!("no ACK for {count} MPDUs: an ACK answers one, a block ACK answers several");
            return Err(ModeError { key: "response", message });
        }
        if query.response == Some(Response::Ack) && query.amendment == Amendment::N && in_ampdu {
            let message = "no ACK to an A-MPDU in 802.11n, not even of one MPDU: a block ACK answers it";
            return Err(ModeError { key: "response", message: message.to_owned() });
        }
        if query.response == Some(Response::BlockAck) && query.amendment < Amendment::N {
            let name = query.amendment.name();
            let message =
                format!("no block ACK in {name}: there are ack and none; 802.11n, ac, ax and be have block ACK");
            return Err(ModeError { key: "response", message });
        }
        let kind = query.response.unwrap_or_else(|| usual_response(query, psdu, longest_mpdu));
        // The buffer also limits the number of MPDUs in an A-MPDU.
        if query.buffer_size.is_some() && kind != Response::BlockAck && mpdus.is_none_or(|count| count < 2) {
            let message = "no block ACK here, which a buffer is for: leave it out, or give block-ack as the response";
            return Err(ModeError { key: "buffer_size", message: message.to_owned() });
        }
        let response = match kind {
            Response::None => None,
            kind => {
                let length = if kind == Response::Ack {
                    frame_length::ACK
                } else {
                    let size = query.buffer_size.unwrap_or_else(|| largest_window(query.amendment).max(1));
                    frame_length::block_ack(size)
                };
                let response = query.basic_rates.response(mode);
                let air = ExtendedResponse::to(mode, band)
                    .map_or_else(|| PpduTiming::new(response, band).duration(length), |extended| extended.air(length));
                Some((kind, response, length, air))
            }
        };
        let dsss = query.amendment == Amendment::B;
        let aifsn = if query.amendment >= Amendment::N { 3 } else { 2 };
        Ok(Self {
            band,
            mode,
            psdu,
            mpdu_bytes,
            mpdus,
            parts,
            ldpc_extra_symbol: timing.needs_ldpc_extra_symbol(psdu),
            response,
            sifs: band.sifs(),
            aifs: band.aifs(aifsn, dsss),
            backoff: Duration::from_nanos(band.slot(dsss).as_nanos() * if dsss { 31 } else { 15 } / 2),
        })
    }

    /// The air times for all values of the parameters that `query` leaves open: MCS or rate, width, streams and guard
    /// interval. Modes that do not exist, or in which the content takes too long, are left out.
    pub fn table(query: &ExchangeQuery) -> Result<Vec<Self>, ModeError> {
        let (amendment, asked) = (query.amendment, query.mode);
        let open = |given: Option<u32>, all: Vec<u32>| given.map_or(all, |one| vec![one]);
        let widths = open(asked.width_mhz, amendment.widths().iter().map(|width| width.mhz()).collect());
        let most_streams = match amendment {
            Amendment::Ac | Amendment::Ax | Amendment::Be => 8,
            _ => 1,
        };
        let streams: Vec<Option<u32>> = match asked.streams {
            None if most_streams > 1 => (1..=most_streams).map(Some).collect(),
            given => vec![given],
        };
        let intervals: Vec<Option<Duration>> = match asked.guard_interval {
            None if amendment.guard_intervals().len() > 1 => {
                amendment.guard_intervals().iter().rev().map(|interval| Some(interval.duration())).collect()
            }
            given => vec![given],
        };
        let rates: Vec<(Option<u32>, Option<BitRate>)> = match amendment.highest_mcs() {
            Some(highest) => open(asked.mcs, (0..=u32::from(highest)).collect())
                .into_iter()
                .map(|mcs| (Some(mcs), asked.rate))
                .collect(),
            None if asked.rate.is_some() => vec![(asked.mcs, asked.rate)],
            None => amendment.rates().into_iter().map(|rate| (asked.mcs, Some(rate))).collect(),
        };
        let (mut answers, mut told) = (Vec::new(), None);
        for width in widths {
            for streams in &streams {
                for (mcs, rate) in &rates {
                    for guard_interval in &intervals {
                        let mode = ModeRequest {
                            width_mhz: Some(width),
                            streams: *streams,
                            mcs: *mcs,
                            rate: *rate,
                            guard_interval: *guard_interval,
                            ..asked
                        };
                        match Self::of_mode(&ExchangeQuery { mode, ..*query }) {
                            Ok(answer) => answers.push(answer),
                            // The last mode is the fastest: if the content is too long for that, it says how much fits.
                            Err(error) if told.is_none() || is_length(error.key) => told = Some(error),
                            Err(_) => {}
                        }
                    }
                }
            }
        }
        match told {
            Some(error) if answers.is_empty() => Err(error),
            _ => check_extra_symbol(query, &answers).map(|()| answers),
        }
    }

    /// Duration of the PPDU, SIFS and the response.
    #[must_use]
    pub fn exchange(&self) -> Duration {
        let response = self.response.map_or(Duration::ZERO, |(.., duration)| self.sifs + duration);
        self.parts.total() + response
    }

    /// Duration of AIFS, the mean backoff and the exchange.
    #[must_use]
    pub fn cycle(&self) -> Duration {
        self.aifs + self.backoff + self.exchange()
    }

    /// Bits of the MPDUs divided by `time` [bit/s].
    #[must_use]
    pub fn throughput_bps(&self, time: Duration) -> f64 {
        8.0 * self.mpdu_bytes.0 as f64 / time.as_secs()
    }

    /// Fraction of `time` that the bits of the MPDUs would take at the data rate.
    #[must_use]
    pub fn efficiency(&self, time: Duration) -> f64 {
        self.throughput_bps(time) / self.mode.data_rate().as_bps() as f64
    }
}

/// Whether an error with this key is about the content.
fn is_length(key: &str) -> bool {
    ["psdu_length", "mpdu_length", "mpdus"].contains(&key)
}

/// Length of the PSDU, bytes of MPDUs in it, and number of MPDUs.
fn psdu(query: &ExchangeQuery, longest_mpdu: Bytes) -> Result<(Bytes, Bytes, Option<u32>), ModeError> {
    let name = query.amendment.name();
    let (mpdu, count) = match query.content {
        ExchangeContent::Psdu(Bytes(0)) => {
            return Err(error(query, "no PSDU of 0 bytes: the shortest has 1".to_owned()));
        }
        ExchangeContent::Psdu(psdu) => return Ok((psdu, psdu, None)),
        ExchangeContent::Mpdu(mpdu) => (mpdu, 1),
        ExchangeContent::AMpdu(mpdu, count) => (mpdu, count),
    };
    if mpdu < Bytes(1) || mpdu > longest_mpdu {
        let message = format!("no MPDU of {} bytes in {name}: there are 1 to {} bytes here", mpdu.0, longest_mpdu.0);
        return Err(error(query, message));
    }
    let total = Bytes(mpdu.0 * u64::from(count));
    if matches!(query.content, ExchangeContent::Mpdu(_)) && query.amendment < Amendment::Ac {
        return Ok((mpdu, mpdu, Some(1)));
    }
    let most = query.buffer_size.unwrap_or_else(|| largest_window(query.amendment));
    if most == 0 {
        return Err(ModeError {
            key: "mpdus",
            message: format!("no A-MPDU in {name}: 802.11n, ac, ax and be have it"),
        });
    }
    if !(1..=most).contains(&count) {
        let whose = if query.buffer_size.is_some() { "with this buffer" } else { "there" };
        let message = format!("no A-MPDU of {count} MPDUs in {name}: a block ACK {whose} acknowledges 1 to {most}");
        return Err(ModeError { key: "mpdus", message });
    }
    let one = frame_length::DELIMITER.0 + mpdu.0;
    let psdu = Bytes(one.next_multiple_of(4) * u64::from(count - 1) + one);
    Ok((psdu, total, Some(count)))
}

/// Refuses the extra symbol of LDPC if all answers use BCC, which has none.
fn check_extra_symbol(query: &ExchangeQuery, answers: &[ExchangeTime]) -> Result<(), ModeError> {
    let has_ldpc =
        |answer: &ExchangeTime| answer.mode.vector().is_some_and(|vector| vector.coding == Some(Coding::Ldpc));
    if !query.options.ldpc_extra_symbol || answers.iter().any(has_ldpc) {
        return Ok(());
    }
    let message = "no extra symbol with BCC, which is the code here: leave it out, or give ldpc as the code".to_owned();
    Err(ModeError { key: "ldpc_extra_symbol", message })
}

/// The error that the content does not fit for the reason `why`: a PSDU has at most `most` bytes.
fn too_long(query: &ExchangeQuery, why: &str, most: Bytes) -> ModeError {
    let delimiter = frame_length::DELIMITER.0;
    match query.content {
        ExchangeContent::Psdu(psdu) => {
            error(query, format!("a PSDU of {} bytes {why}: at most {} bytes fit", psdu.0, most.0))
        }
        ExchangeContent::Mpdu(mpdu) => {
            let most = most.0 - if query.amendment < Amendment::Ac { 0 } else { delimiter };
            error(query, format!("an MPDU of {} bytes {why}: at most {most} bytes fit", mpdu.0))
        }
        ExchangeContent::AMpdu(mpdu, count) => {
            let one = delimiter + mpdu.0;
            let others = most.0.checked_sub(one).map(|left| left / one.next_multiple_of(4));
            let (key, fit) = match others {
                None => ("mpdu_length", format!("1 MPDU of {} bytes fits", most.0 - delimiter)),
                Some(0) => ("mpdus", format!("1 MPDU of {} bytes fits", mpdu.0)),
                Some(others) => ("mpdus", format!("{} MPDUs of {} bytes fit", 1 + others, mpdu.0)),
            };
            ModeError { key, message: format!("an A-MPDU of {count} MPDUs {why}: at most {fit}") }
        }
    }
}

/// The longest PSDU that takes at most `time`.
fn longest_psdu(mode: TxMode, timing: &PpduTiming, time: Duration) -> Bytes {
    let least = timing.longest(time).unwrap_or(Bytes(0)).0;
    // With an extra symbol or a packet extension longer ones may fit, too: by less than two symbols.
    let reach = u64::from(mode.bits_per_symbol().unwrap_or(0)) / 4;
    let fits = |psdu: &Bytes| timing.parts(*psdu).total() <= time;
    (least..=least + reach).rev().map(Bytes).find(fits).unwrap_or(Bytes(least))
}

/// The usual response. An A-MPDU of one MPDU is answered by an ACK from 802.11ac on, whose delimiters can mark it, and
/// by a block ACK in 802.11n.
fn usual_response(query: &ExchangeQuery, psdu: Bytes, longest_mpdu: Bytes) -> Response {
    let several = match query.content {
        ExchangeContent::Psdu(_) => psdu > longest_mpdu,
        ExchangeContent::Mpdu(_) => false,
        ExchangeContent::AMpdu(_, count) => count > 1 || query.amendment == Amendment::N,
    };
    if several { Response::BlockAck } else { Response::Ack }
}

fn error(query: &ExchangeQuery, message: String) -> ModeError {
    let key = match query.content {
        ExchangeContent::Psdu(_) => "psdu_length",
        _ => "mpdu_length",
    };
    ModeError { key, message }
}

fn micros(duration: Duration) -> f64 {
    duration.as_nanos() as f64 / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    /// IEEE Std 802.11-2020, table 9-13: an MPDU in an A-MPDU is answered by a block ACK, unless it is an S-MPDU, which
    /// HT PPDUs, whose delimiters have no EOF bit, cannot carry.
    #[test]
    fn only_an_s_mpdu_is_answered_by_an_ack() {
        let answer = |amendment, count, response| {
            let mode = ModeRequest { mcs: Some(7), ..ModeRequest::default() };
            ExchangeTime::new(&ExchangeQuery {
                amendment,
                mode,
                content: ExchangeContent::AMpdu(Bytes(1500), count),
                response: Some(response),
                buffer_size: None,
                basic_rates: BasicRates::mandatory(),
                options: PpduOptions::default(),
            })
        };
        for amendment in [Amendment::N, Amendment::Ac, Amendment::Ax, Amendment::Be] {
            assert_eq!(answer(amendment, 4, Response::Ack).unwrap_err().key, "response");
            assert!(answer(amendment, 4, Response::BlockAck).is_ok());
            assert_eq!(answer(amendment, 1, Response::Ack).is_ok(), amendment != Amendment::N);
        }
    }

    /// IEEE Std 802.11-2020, table 9-25: an MPDU has 1 byte to 4095, in HT alone 7935 of A-MSDU and 30 more, from VHT
    /// on 11454.
    #[test]
    fn an_mpdu_has_a_shortest_and_a_longest_length() {
        let with = |amendment, content| {
            let mode = match amendment {
                Amendment::A => ModeRequest { rate: Some(BitRate::from_mbps(54)), ..ModeRequest::default() },
                _ => ModeRequest { mcs: Some(7), ..ModeRequest::default() },
            };
            ExchangeTime::new(&ExchangeQuery {
                amendment,
                mode,
                content,
                response: None,
                buffer_size: None,
                basic_rates: BasicRates::mandatory(),
                options: PpduOptions::default(),
            })
        };
        let alone: fn(u64) -> ExchangeContent = |bytes| ExchangeContent::Mpdu(Bytes(bytes));
        let of_two: fn(u64) -> ExchangeContent = |bytes| ExchangeContent::AMpdu(Bytes(bytes), 2);
        for (amendment, content, longest) in [
            (Amendment::A, alone, 4095),
            (Amendment::N, alone, 7965),
            (Amendment::N, of_two, 4095),
            (Amendment::Ac, alone, 11_454),
            (Amendment::Ac, of_two, 11_454),
        ] {
            for refused in [0, longest + 1] {
                let error = with(amendment, content(refused)).expect_err("a length that no MPDU has");
                assert!(error.message.starts_with(&format!("no MPDU of {refused} bytes")), "{}", error.message);
            }
            for possible in [1, longest] {
                assert!(with(amendment, content(possible)).is_ok(), "{amendment:?}, {possible} bytes");
            }
        }
    }
}
