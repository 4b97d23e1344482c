//! A network as a link between endpoints in Python.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use wifair_link::{Delivered, EcnField, LinkDatagram, LinkHost, Lost, WifiLink};

/// A network between the endpoints of a test; `wifair.Link` wraps it. Times are nanoseconds, hosts numbers in the order
/// of [`PyLink::hosts`].
#[pyclass(frozen, module = "wifair._core", name = "Link")]
#[derive(Debug)]
pub struct PyLink {
    network: Mutex<WifiLink>,
    hosts: Vec<(LinkHost, String)>,
}

/// Time, number, source, destination, payload, length, ECN field, flow.
type DeliveredTuple<'py> = (u64, u64, usize, usize, Bound<'py, PyBytes>, usize, &'static str, u16);

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn value_error(error: impl ToString) -> PyErr {
    PyValueError::new_err(error.to_string())
}

impl PyLink {
    fn network(&self) -> MutexGuard<'_, WifiLink> {
        self.network.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn index(&self, host: LinkHost) -> usize {
        self.hosts.iter().position(|(known, _)| *known == host).expect("a host of this network")
    }
}

#[pymethods]
impl PyLink {
    /// The network that a scenario describes, at time zero; raises `ValueError` with all problems.
    #[new]
    fn new(text: &str, seed: u64) -> PyResult<Self> {
        let network = WifiLink::from_toml(text, seed, &[]).map_err(value_error)?;
        let hosts = network.hosts().map(|(host, name)| (host, name.to_owned())).collect();
        Ok(Self { network: Mutex::new(network), hosts })
    }

    /// Names of all stations, then of all servers.
    #[getter]
    fn hosts(&self) -> Vec<&str> {
        self.hosts.iter().map(|(_, name)| name.as_str()).collect()
    }

    #[getter]
    fn now(&self) -> u64 {
        nanos(self.network().now())
    }

    #[getter]
    fn end(&self) -> u64 {
        nanos(self.network().end())
    }

    #[getter]
    fn in_flight(&self) -> usize {
        self.network().in_flight()
    }

    /// When something happens next; `None` if nothing will before the end.
    fn next_event(&self) -> Option<u64> {
        self.network().next_event().map(nanos)
    }

    /// Lets time pass, without the GIL.
    fn advance(&self, py: Python<'_>, until: u64) -> PyResult<()> {
        py.detach(|| self.network().advance(Duration::from_nanos(until))).map_err(value_error)
    }

    /// Sends a datagram; returns its number.
    #[allow(clippy::too_many_arguments)]
    fn offer(
        &self,
        py: Python<'_>,
        at: u64,
        from_: usize,
        to: usize,
        payload: Vec<u8>,
        padding: usize,
        ecn: &str,
        dscp: u8,
        flow: u16,
    ) -> PyResult<u64> {
        let ecn = match ecn {
            "not-ect" => EcnField::NotEct,
            "ect0" => EcnField::Ect0,
            "ect1" => EcnField::Ect1,
            "ce" => EcnField::Ce,
            other => {
                return Err(value_error(format!("no ECN field `{other}`: there are not-ect, ect0, ect1 and ce")));
            }
        };
        let host = |index: usize| self.hosts.get(index).map(|(host, _)| *host);
        let (Some(from), Some(to)) = (host(from_), host(to)) else { return Err(value_error("no such host")) };
        let datagram = LinkDatagram { payload, padding, ecn, dscp, flow };
        py.detach(|| self.network().offer(Duration::from_nanos(at), from, to, datagram)).map_err(value_error)
    }

    /// The next datagram that has arrived.
    fn poll_delivery<'py>(&self, py: Python<'py>) -> Option<DeliveredTuple<'py>> {
        let Delivered { time, number, from, to, payload, length, ecn, flow } = self.network().poll_delivery()?;
        let ecn = match ecn {
            EcnField::NotEct => "not-ect",
            EcnField::Ect0 => "ect0",
            EcnField::Ect1 => "ect1",
            EcnField::Ce => "ce",
        };
        let payload = PyBytes::new(py, &payload);
        Some((nanos(time), number, self.index(from), self.index(to), payload, length, ecn, flow))
    }

    /// The next datagram that was lost: time, number, place.
    fn poll_loss(&self) -> Option<(u64, u64, &'static str)> {
        let Lost { time, number, place } = self.network().poll_loss()?;
        Some((nanos(time), number, place.name()))
    }

    /// What has happened so far.
    fn snapshot<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let now = self.network().snapshot();
        let stations = PyDict::new(py);
        for one in now.stations {
            let station = dict!(py,
                "attempts": one.attempts,
                "retries": one.retries,
                "given_up": one.given_up,
                "queue_drops": one.queue_drops,
                "air_time_s": one.air_time.as_secs_f64(),
            );
            stations.set_item(one.name, station)?;
        }
        Ok(dict!(py,
            "time": nanos(now.time),
            "offered": now.offered,
            "delivered": now.delivered,
            "lost": now.lost,
            "marked": now.marked,
            "air_idle": now.air_idle,
            "air_collision": now.air_collision,
            "ap_queue_mean_packets": now.ap_queue_mean_packets,
            "stations": stations,
        ))
    }
}
