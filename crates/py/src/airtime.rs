//! Air times of PPDUs and of exchanges.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use wifair_mac::{ExchangeContent, ExchangeQuery, ExchangeTime, Response};
use wifair_phy::{Amendment, Band, BasicRates, Coding, ModeError, ModeRequest, PacketPadding, PpduOptions, there_are};
use wifair_units::{BitRate, Bytes, Duration, Quantity};

/// A question as asked from Python: texts with units, numbers, or nothing.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Question {
    standard: String,
    band: Option<String>,
    width: Option<String>,
    mcs: Option<u32>,
    rate: Option<String>,
    streams: Option<u32>,
    guard_interval: Option<String>,
    psdu_length: Option<u64>,
    mpdu_length: Option<u64>,
    mpdus: Option<u32>,
    response: Option<String>,
    buffer_size: Option<u32>,
    basic_rates: Vec<String>,
    greenfield: bool,
    short_preamble: bool,
    dcm: bool,
    extended_range: Option<u32>,
    ltf: Option<u32>,
    coding: Option<String>,
    ldpc_extra_symbol: bool,
    packet_padding: Option<String>,
}

/// The answer as nested dictionaries; raises `ValueError` if the mode does not exist.
#[pyfunction]
pub fn airtime<'py>(py: Python<'py>, question: Question) -> PyResult<Bound<'py, PyDict>> {
    let answer = question.query().and_then(|query| ExchangeTime::new(&query));
    to_dict(py, &answer.map_err(to_value_error)?)
}

/// The answers for all modes of the standard that match, where the question leaves MCS or rate, streams, width or guard
/// interval open; modes in which the PSDU does not fit are left out.
#[pyfunction]
pub fn airtime_table<'py>(py: Python<'py>, question: Question) -> PyResult<Bound<'py, PyList>> {
    let query = question.query().map_err(to_value_error)?;
    let answers = ExchangeTime::table(&query).map_err(to_value_error)?;
    let rows: Vec<_> = answers.iter().map(|answer| to_dict(py, answer)).collect::<PyResult<_>>()?;
    PyList::new(py, rows)
}

pub(crate) fn to_value_error(error: ModeError) -> PyErr {
    PyValueError::new_err((error.message, error.key))
}

impl Question {
    fn query(&self) -> Result<ExchangeQuery, ModeError> {
        let amendment = Amendment::parse(&self.standard)?;
        let (rates, intervals) = (amendment.rates_there(), amendment.guard_intervals_there());
        let mode = ModeRequest {
            band: band(self.band.as_deref())?,
            width_mhz: width(self.width.as_deref(), amendment)?,
            mcs: self.mcs,
            rate: quantity("rate", self.rate.as_deref(), &rates)?,
            streams: self.streams,
            guard_interval: quantity("guard_interval", self.guard_interval.as_deref(), &intervals)?,
            ltf: self.ltf,
            greenfield: self.greenfield,
            short_preamble: self.short_preamble,
            dcm: self.dcm,
            extended_range: self.extended_range,
            coding: coding(self.coding.as_deref())?,
        };
        let content = match (self.psdu_length, self.mpdu_length, self.mpdus) {
            (Some(psdu), None, None) => ExchangeContent::Psdu(Bytes(psdu)),
            (None, Some(mpdu), None) => ExchangeContent::Mpdu(Bytes(mpdu)),
            (None, Some(mpdu), Some(count)) => ExchangeContent::AMpdu(Bytes(mpdu), count),
            (None, None, Some(_)) => {
                return Err(error("mpdus", "an A-MPDU needs the length of its MPDUs, too".to_owned()));
            }
            (None, None, None) => {
                return Err(error("psdu_length", "no length: give that of the PSDU, or of an MPDU".to_owned()));
            }
            (Some(_), ..) => {
                return Err(error("psdu_length", "a PSDU and an MPDU: give the length of one of them".to_owned()));
            }
        };
        let response = match self.response.as_deref() {
            None => None,
            Some("none") => Some(Response::None),
            Some("ack") => Some(Response::Ack),
            Some("block-ack") => Some(Response::BlockAck),
            Some(other) => {
                return Err(error("response", format!("no response `{other}`: there are ack, block-ack and none")));
            }
        };
        if response == Some(Response::None) && !self.basic_rates.is_empty() {
            return Err(error("basic_rates", "no response here, which basic rates are for: leave them out".to_owned()));
        }
        let basic_rates = basic_rates(&self.basic_rates, amendment, mode.band)?;
        let packet_padding = packet_padding(self.packet_padding.as_deref(), amendment)?;
        if packet_padding != PacketPadding::Us0 && amendment < Amendment::Ax {
            let message = format!("{} has no packet extension: 802.11ax and be have it", amendment.name());
            return Err(error("packet_padding", message));
        }
        if self.ldpc_extra_symbol && amendment < Amendment::N {
            let message = format!("{} has no LDPC: 802.11n, ac, ax and be have it", amendment.name());
            return Err(error("ldpc_extra_symbol", message));
        }
        let options = PpduOptions { ldpc_extra_symbol: self.ldpc_extra_symbol, packet_padding };
        let buffer_size = self.buffer_size;
        Ok(ExchangeQuery { amendment, mode, content, response, buffer_size, basic_rates, options })
    }
}

pub(crate) fn error(key: &'static str, message: String) -> ModeError {
    ModeError { key, message }
}

pub(crate) fn band(text: Option<&str>) -> Result<Option<Band>, ModeError> {
    let parse = |text| {
        Band::parse(text).ok_or_else(|| error("band", format!("no band `{text}`: there are 2.4, 5 and 6 (GHz)")))
    };
    text.map(parse).transpose()
}

/// In MHz.
pub(crate) fn width(text: Option<&str>, amendment: Amendment) -> Result<Option<u32>, ModeError> {
    let parse = |text: &str| {
        let mhz = text.trim().trim_end_matches("MHz").trim_end().parse();
        mhz.map_err(|_| error("width", format!("no width `{text}`: {}", there_are(amendment.widths()))))
    };
    text.map(parse).transpose()
}

pub(crate) fn coding(text: Option<&str>) -> Result<Option<Coding>, ModeError> {
    match text {
        None => Ok(None),
        Some("bcc") => Ok(Some(Coding::Bcc)),
        Some("ldpc") => Ok(Some(Coding::Ldpc)),
        Some(other) => Err(error("coding", format!("no code `{other}`: there are bcc and ldpc"))),
    }
}

/// The mandatory ones if none is given.
pub(crate) fn basic_rates(texts: &[String], amendment: Amendment, band: Option<Band>) -> Result<BasicRates, ModeError> {
    if texts.is_empty() {
        return Ok(BasicRates::mandatory());
    }
    let rates = texts.iter().map(|text| parse::<BitRate>("basic_rates", text, BasicRates::THERE_ARE));
    let rates = BasicRates::new(&rates.collect::<Result<Vec<_>, _>>()?)?;
    rates.checked(amendment, band.unwrap_or(amendment.bands()[0]))
}

pub(crate) fn packet_padding(text: Option<&str>, amendment: Amendment) -> Result<PacketPadding, ModeError> {
    let paddings = match amendment {
        Amendment::Be => "there are 0, 8, 16 and 20 us",
        Amendment::Ax => "there are 0, 8 and 16 us",
        _ => "802.11ax and be have it",
    };
    let Some(time) = quantity::<Duration>("packet_padding", text, paddings)? else { return Ok(PacketPadding::Us0) };
    match time.as_nanos() {
        0 => Ok(PacketPadding::Us0),
        8_000 => Ok(PacketPadding::Us8),
        16_000 => Ok(PacketPadding::Us16),
        20_000 if amendment == Amendment::Be => Ok(PacketPadding::Us20),
        _ => {
            let message = format!("no packet padding of {time} in {}: {paddings}", amendment.name());
            Err(error("packet_padding", message))
        }
    }
}

pub(crate) fn quantity<T: Quantity>(
    key: &'static str,
    text: Option<&str>,
    there: &str,
) -> Result<Option<T>, ModeError> {
    text.map(|text| parse(key, text, there)).transpose()
}

/// Reads a quantity; the error says what `there` is to choose from.
fn parse<T: Quantity>(key: &'static str, text: &str, there: &str) -> Result<T, ModeError> {
    T::parse(text).map_err(|error| ModeError { key, message: format!("{}: {there}", error.message) })
}

fn to_dict<'py>(py: Python<'py>, answer: &ExchangeTime) -> PyResult<Bound<'py, PyDict>> {
    let (mode, parts) = (answer.mode, &answer.parts);
    let fields = PyDict::new(py);
    for (name, duration) in mode.preamble_fields() {
        fields.set_item(name, duration.as_nanos())?;
    }
    let is_ofdm = mode.symbol().is_some();
    let details = dict!(py,
        "preamble_ns": parts.preamble.as_nanos(),
        "preamble_fields_ns": fields,
        "symbols": is_ofdm.then_some(parts.symbols),
        "symbol_ns": mode.symbol().map(Duration::as_nanos),
        "bits_per_symbol": mode.bits_per_symbol(),
        "data_ns": parts.data.as_nanos(),
        "padding_bits": is_ofdm.then_some(parts.pad_bits),
        "rounding_ns": parts.rounding.as_nanos(),
        "packet_extension_ns": parts.packet_extension.as_nanos(),
        "signal_extension_ns": parts.signal_extension.as_nanos(),
    );
    let response = match answer.response {
        None => None,
        Some((kind, mode, length, duration)) => Some(dict!(py,
            "frame": if kind == Response::Ack { "ACK" } else { "BlockAck" },
            "bytes": length.0,
            "mode": mode.to_string(),
            "rate_bps": mode.data_rate().as_bps(),
            "duration_ns": duration.as_nanos(),
        )),
    };
    let span = |time: Duration| -> PyResult<_> {
        Ok(dict!(py,
            "duration_ns": time.as_nanos(),
            "throughput_bps": answer.throughput_bps(time),
            "efficiency": answer.efficiency(time),
        ))
    };
    let cycle = span(answer.cycle())?;
    cycle.set_item("aifs_ns", answer.aifs.as_nanos())?;
    cycle.set_item("backoff_ns", answer.backoff.as_nanos())?;
    Ok(dict!(py,
        "band": answer.band.number(),
        "mode": mode.to_string(),
        "mcs": mode.mcs(),
        "width_mhz": mode.width().mhz(),
        "streams": mode.streams(),
        "guard_interval_ns": mode.guard_interval().map(|interval| interval.duration().as_nanos()),
        "data_rate_bps": mode.data_rate().as_bps(),
        "psdu_bytes": answer.psdu.0,
        "mpdu_bytes": answer.mpdu_bytes.0,
        "mpdus": answer.mpdus,
        "duration_ns": parts.total().as_nanos(),
        "parts": details,
        "needs_ldpc_extra_symbol": answer.ldpc_extra_symbol,
        "response": response,
        "sifs_ns": answer.sifs.as_nanos(),
        "exchange": span(answer.exchange())?,
        "cycle": cycle,
    ))
}
