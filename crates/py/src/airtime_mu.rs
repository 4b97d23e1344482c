//! Air times of PPDUs for several users, and of their exchanges.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use wifair_mac::{MuExchangeTime, MuQuery, MuSequence, frame_length, receiver_limits};
use wifair_phy::{
    Amendment, ChannelWidth, GuardInterval, Ltf, ModeError, MuFormat, MuRequest, MuUser, PpduOptions, ResourceUnit,
    there_are,
};
use wifair_units::{Bytes, Duration};

use crate::airtime::{band, basic_rates, coding, error, packet_padding, quantity, to_value_error, width};

/// A question as asked from Python.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct MuQuestion {
    standard: String,
    band: Option<String>,
    width: Option<String>,
    guard_interval: Option<String>,
    ltf: Option<u32>,
    format: String,
    sig_b_mcs: Option<u32>,
    sig_b_dcm: bool,
    users: Vec<UserQuestion>,
    sequence: Option<String>,
    buffer_size: Option<u32>,
    basic_rates: Vec<String>,
    ldpc_extra_symbol: bool,
    packet_padding: Option<String>,
}

#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct UserQuestion {
    ru: Option<String>,
    mcs: Option<u32>,
    streams: Option<u32>,
    dcm: bool,
    coding: Option<String>,
    psdu_length: Option<u64>,
    mpdu_length: Option<u64>,
    mpdus: Option<u32>,
}

/// The answer as nested dictionaries; raises `ValueError` if the PPDU does not exist.
#[pyfunction]
pub fn airtime_mu<'py>(py: Python<'py>, question: MuQuestion) -> PyResult<Bound<'py, PyDict>> {
    let query = question.query().map_err(to_value_error)?;
    let answer = MuExchangeTime::new(&query).map_err(to_value_error)?;
    question.to_dict(py, &query, &answer)
}

fn small(value: Option<u32>, key: &'static str, usual: u8) -> Result<u8, ModeError> {
    let Some(value) = value else { return Ok(usual) };
    u8::try_from(value).map_err(|_| error(key, format!("{key}: {value} is too large")))
}

impl UserQuestion {
    /// Length of the PSDU, and bytes of MPDUs in it.
    fn lengths(&self, number: usize, amendment: Amendment) -> Result<(Bytes, Bytes), ModeError> {
        let of = format!("user {number}");
        match (self.psdu_length, self.mpdu_length) {
            (Some(_), Some(_)) => {
                Err(error("psdu_length", format!("a PSDU and an MPDU for {of}: give the length of one of them")))
            }
            (Some(psdu), None) if self.mpdus.is_none() => Ok((Bytes(psdu), Bytes(psdu))),
            (Some(_), None) => Err(error("mpdus", format!("MPDUs for {of} need mpdu_length instead of psdu_length"))),
            (None, None) => {
                Err(error("psdu_length", format!("no length for {of}: give psdu_length, or mpdu_length and mpdus")))
            }
            (None, Some(mpdu)) => {
                let longest = receiver_limits::longest_mpdu(amendment, true).0;
                let (count, most) = (self.mpdus.unwrap_or(1), receiver_limits::largest_window(amendment));
                if !(1..=longest).contains(&mpdu) {
                    let message = format!("no MPDU of {mpdu} bytes for {of}: there are 1 to {longest} bytes");
                    return Err(error("mpdu_length", message));
                }
                if !(1..=most).contains(&count) {
                    return Err(error("mpdus", format!("no A-MPDU of {count} MPDUs for {of}: there are 1 to {most}")));
                }
                let one = frame_length::DELIMITER.0 + mpdu;
                let psdu = one.next_multiple_of(4) * u64::from(count - 1) + one;
                Ok((Bytes(psdu), Bytes(mpdu * u64::from(count))))
            }
        }
    }
}

impl MuQuestion {
    fn query(&self) -> Result<MuQuery, ModeError> {
        let amendment = Amendment::parse(&self.standard)?;
        let format = match self.format.as_str() {
            "mu" => {
                let sig_b_mcs = self.sig_b_mcs.map(|mcs| small(Some(mcs), "sig_b_mcs", 0)).transpose()?;
                MuFormat::Mu { sig_b_mcs, sig_b_dcm: self.sig_b_dcm }
            }
            "tb" if self.sig_b_mcs.is_some() || self.sig_b_dcm => {
                let key = if self.sig_b_mcs.is_some() { "sig_b_mcs" } else { "sig_b_dcm" };
                return Err(error(key, "a TB PPDU has no HE-SIG-B or EHT-SIG: leave it out".to_owned()));
            }
            "tb" => MuFormat::TriggerBased,
            other => return Err(error("format", format!("no format `{other}`: there are su, mu and tb"))),
        };
        let band = band(self.band.as_deref())?.unwrap_or(amendment.bands()[0]);
        if !amendment.bands().contains(&band) {
            let message = format!("no {} in {band}: {}", amendment.name(), there_are(amendment.bands()));
            return Err(error("band", message));
        }
        let mhz = width(self.width.as_deref(), amendment)?.unwrap_or(20);
        let width = ChannelWidth::from_mhz(mhz)
            .filter(|width| *width < ChannelWidth::Mhz320)
            .ok_or_else(|| error("width", format!("no width of {mhz} MHz here: there are 20, 40, 80 and 160 MHz")))?;
        let intervals = amendment.guard_intervals_there();
        let usual = if format == MuFormat::TriggerBased { 1600 } else { 800 };
        let interval = quantity::<Duration>("guard_interval", self.guard_interval.as_deref(), &intervals)?
            .unwrap_or(Duration::from_nanos(usual));
        let guard_interval = GuardInterval::from_duration(interval)
            .ok_or_else(|| error("guard_interval", format!("no guard interval of {interval}: {intervals}")))?;
        let ltf = match self.ltf {
            None => None,
            Some(1) => Some(Ltf::X1),
            Some(2) => Some(Ltf::X2),
            Some(4) => Some(Ltf::X4),
            Some(other) => return Err(error("ltf", format!("no {other}x LTF: there are 1, 2 and 4"))),
        };
        let user = |(place, user): (usize, &UserQuestion)| {
            let unit = match &user.ru {
                Some(text) => ResourceUnit::parse(text, width)?,
                None => ResourceUnit::whole(width)?,
            };
            let mcs = user.mcs.ok_or_else(|| error("mcs", format!("no MCS for user {}: give mcs", place + 1)))?;
            Ok(MuUser {
                unit,
                mcs: small(Some(mcs), "mcs", 0)?,
                streams: small(user.streams, "streams", 1)?,
                dcm: user.dcm,
                coding: coding(user.coding.as_deref())?,
                psdu: user.lengths(place + 1, amendment)?.0,
            })
        };
        let most = receiver_limits::largest_window(amendment);
        let buffer_size = self.buffer_size.unwrap_or(if amendment == Amendment::Ax { 256 } else { most });
        if !(1..=most).contains(&buffer_size) {
            return Err(error(
                "buffer_size",
                format!("no block ACK buffer of {buffer_size} MPDUs: there are 1 to {most}"),
            ));
        }
        let sequence = match self.sequence.as_deref() {
            None if format == MuFormat::TriggerBased => MuSequence::BasicTrigger,
            None => MuSequence::BlockAckRequests,
            Some(text) => {
                let found = MuSequence::NAMES.iter().find(|(name, _)| *name == text);
                let names = MuSequence::NAMES.map(|(name, _)| name);
                let message = || format!("no sequence `{text}`: {}", there_are(&names));
                found.ok_or_else(|| error("sequence", message()))?.1
            }
        };
        Ok(MuQuery {
            ppdu: MuRequest {
                amendment,
                band,
                width,
                guard_interval,
                ltf,
                format,
                users: self.users.iter().enumerate().map(user).collect::<Result<_, ModeError>>()?,
                options: PpduOptions {
                    ldpc_extra_symbol: self.ldpc_extra_symbol,
                    packet_padding: packet_padding(self.packet_padding.as_deref(), amendment)?,
                },
            },
            sequence,
            buffer_size,
            basic_rates: basic_rates(&self.basic_rates, amendment, Some(band))?,
        })
    }

    fn to_dict<'py>(&self, py: Python<'py>, query: &MuQuery, answer: &MuExchangeTime) -> PyResult<Bound<'py, PyDict>> {
        let (ppdu, request) = (&answer.ppdu, &query.ppdu);
        let fields = PyDict::new(py);
        for (name, duration) in &ppdu.preamble_fields {
            fields.set_item(name, duration.as_nanos())?;
        }
        let users = PyList::empty(py);
        let mut mpdu_bytes = 0;
        for (place, user) in answer.users.iter().enumerate() {
            let parts = &ppdu.users[place];
            let mpdus = self.users[place].lengths(place + 1, request.amendment).map_err(to_value_error)?.1.0;
            mpdu_bytes += mpdus;
            users.append(dict!(py,
                "ru": user.unit.to_string(),
                "mcs": user.mcs,
                "streams": user.streams,
                "coding": parts.coding.name(),
                "data_rate_bps": parts.rate.as_bps(),
                "psdu_bytes": user.psdu.0,
                "mpdu_bytes": mpdus,
                "bits_per_symbol": parts.bits_per_symbol,
                "symbols": parts.needs,
                "padding_bytes": parts.padding.0,
            ))?;
        }
        let frames = PyList::empty(py);
        for frame in &answer.frames {
            frames.append(dict!(py,
                "frame": frame.name,
                "mode": frame.mode.as_str(),
                "bytes": frame.bytes.0,
                "duration_ns": frame.duration.as_nanos(),
            ))?;
        }
        let span = |time: Duration| -> PyResult<_> {
            let throughput_bps = 8.0 * mpdu_bytes as f64 / time.as_secs();
            Ok(dict!(py,
                "duration_ns": time.as_nanos(),
                "throughput_bps": throughput_bps,
                "efficiency": throughput_bps / answer.data_rate().as_bps() as f64,
            ))
        };
        let cycle = span(answer.cycle())?;
        cycle.set_item("aifs_ns", answer.aifs.as_nanos())?;
        cycle.set_item("backoff_ns", answer.backoff.as_nanos())?;
        let family = if request.amendment == Amendment::Be { "EHT" } else { "HE" };
        let kind = if request.format == MuFormat::TriggerBased { "TB" } else { "MU" };
        let count = answer.users.len();
        let mode = format!(
            "{family} {kind}, {count} user{}, {}, GI {}",
            if count == 1 { "" } else { "s" },
            request.width,
            request.guard_interval
        );
        Ok(dict!(py,
            "band": request.band.number(),
            "mode": mode,
            "width_mhz": request.width.mhz(),
            "guard_interval_ns": request.guard_interval.duration().as_nanos(),
            "data_rate_bps": answer.data_rate().as_bps(),
            "psdu_bytes": answer.users.iter().map(|user| user.psdu.0).sum::<u64>(),
            "mpdu_bytes": mpdu_bytes,
            "duration_ns": ppdu.duration().as_nanos(),
            "parts": dict!(py,
                "preamble_ns": ppdu.preamble().as_nanos(),
                "preamble_fields_ns": fields,
                "sig_b_mcs": ppdu.sig_b_mcs,
                "sig_b_bits": ppdu.sig_b.0,
                "sig_b_symbols": ppdu.sig_b.1,
                "symbols": ppdu.symbols,
                "symbol_ns": ppdu.symbol.as_nanos(),
                "data_ns": (ppdu.symbol * ppdu.symbols).as_nanos(),
                "packet_extension_ns": ppdu.packet_extension.as_nanos(),
                "signal_extension_ns": ppdu.signal_extension.as_nanos(),
                "l_sig_length": ppdu.l_sig_length,
            ),
            "users": users,
            "frames": frames,
            "sifs_ns": answer.sifs.as_nanos(),
            "exchange": span(answer.exchange())?,
            "cycle": cycle,
        ))
    }
}
