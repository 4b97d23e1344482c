//! `wifair.QueueDiscipline`.

use pyo3::exceptions::{PyNotImplementedError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple, PyType};
use wifair_config::Limit;
use wifair_packet::{Kind, Packet, PacketId, Packets, flag};
use wifair_queue::{AirUse, Cause, Discipline, Dropped, QueueSettings, Room, Site};
use wifair_units::{BitRate, Duration, Time};

use super::{Caller, Draws, Extension, construct, own_method};

/// Where a packet is, from the queue's point of view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PacketState {
    /// Passed to `enqueue`, which has not returned yet.
    Arriving,
    Inside,
    Gone,
}

/// A packet in a queue.
#[pyclass(module = "wifair", name = "Packet")]
#[derive(Clone, Debug)]
pub struct PyPacket {
    id: Option<PacketId>,
    state: PacketState,
    /// Whether it is marked with "congestion experienced", here or before.
    #[pyo3(get)]
    marked: bool,
    /// The whole IP packet [bytes].
    #[pyo3(get)]
    size: u16,
    /// Payload of TCP or UDP [bytes].
    #[pyo3(get)]
    payload: u16,
    /// Number of its connection; both directions have the same number.
    #[pyo3(get)]
    flow: u32,
    /// Number of the next station; 0 is the access point.
    #[pyo3(get)]
    station: u32,
    /// "data", "ack" (a pure ACK), "udp", "routing" or "icmp".
    #[pyo3(get)]
    kind: &'static str,
    /// Offset of its first byte of payload.
    #[pyo3(get)]
    seq: u64,
    /// In an ACK: the next offset that the receiver expects.
    #[pyo3(get)]
    ack: u64,
    /// Whether it opens a connection.
    #[pyo3(get)]
    syn: bool,
    /// Whether it may be marked (RFC 3168).
    #[pyo3(get)]
    ecn_capable: bool,
    /// When it arrived in the queue [s].
    #[pyo3(get)]
    arrived_s: f64,
}

#[pymethods]
impl PyPacket {
    #[new]
    #[pyo3(signature = (*, flow=0, station=0, kind="data", size=1500, payload=1460, seq=0, ack=0))]
    fn new(flow: u32, station: u32, kind: &str, size: u16, payload: u16, seq: u64, ack: u64) -> PyResult<Self> {
        let kinds = Kind::ALL.map(Kind::name);
        let Some(kind) = kinds.into_iter().find(|name| *name == kind) else {
            return Err(PyValueError::new_err(format!("kind `{kind}`: expected {}", kinds.join(", "))));
        };
        Ok(Self {
            id: None,
            state: PacketState::Gone,
            marked: false,
            size,
            payload,
            flow,
            station,
            kind,
            seq,
            ack,
            syn: false,
            ecn_capable: false,
            arrived_s: 0.0,
        })
    }

    /// Marks it with "congestion experienced" if it is ECN-capable; returns whether it is.
    fn mark(&mut self) -> bool {
        self.marked |= self.ecn_capable;
        self.ecn_capable
    }

    fn __repr__(&self) -> String {
        format!("<Packet {} of flow {}, {} B>", self.kind, self.flow, self.size)
    }
}

/// Base class of queue disciplines: subclass it and write `enqueue` and `dequeue`.
///
/// A packet that `enqueue` does not drop is in the queue until `dequeue` returns it or `drop` drops it; `len(self)`,
/// `packets` and `bytes` count these packets. The class must enforce the limit itself: `fits` tells whether there is
/// room. Class attributes are parameters: the values of `parameters` in a scenario are set on the object, unless
/// `__init__` is overridden, which then gets them as keyword arguments.
#[pyclass(extends = Extension, subclass, module = "wifair")]
#[derive(Debug)]
pub struct QueueDiscipline {
    limit: Limit,
    room: Room,
    rate: Option<BitRate>,
    name: String,
    ready_s: f64,
    /// Packets passed to `drop` that the queue has not reported yet.
    dropped: Dropped,
}

#[pymethods]
impl QueueDiscipline {
    #[new]
    #[pyo3(signature = (*_arguments, **_named))]
    fn new(_arguments: &Bound<'_, PyTuple>, _named: Option<&Bound<'_, PyDict>>) -> PyClassInitializer<Self> {
        let limit = QueueSettings::default().limit;
        let room = Room::new(limit, None);
        let queue = Self { limit, room, rate: None, name: String::new(), ready_s: 0.0, dropped: vec![] };
        PyClassInitializer::from(Extension::default()).add_subclass(queue)
    }

    /// Limit in packets; None if the limit is in bytes.
    #[getter]
    const fn limit_packets(&self) -> Option<u64> {
        match self.limit {
            Limit::Packets(packets) => Some(packets),
            Limit::Bytes(_) => None,
        }
    }

    /// Limit in bytes; None if the limit is in packets.
    #[getter]
    const fn limit_bytes(&self) -> Option<u64> {
        match self.limit {
            Limit::Packets(_) => None,
            Limit::Bytes(bytes) => Some(bytes.0),
        }
    }

    /// Rate of the link or of data frames [bit/s].
    #[getter]
    fn rate_bps(&self) -> Option<u64> {
        self.rate.map(|rate| rate.as_bps())
    }

    /// The owner of the queue: the access point, a station, or a direction of a link.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// Packets in the queue.
    #[getter]
    const fn packets(&self) -> usize {
        self.room.len()
    }

    /// Bytes in the queue.
    #[getter]
    const fn bytes(&self) -> u64 {
        self.room.bytes()
    }

    /// When to call `dequeue` again after it returned None although packets are inside [s]; 0 means every millisecond.
    #[getter]
    const fn ready_s(&self) -> f64 {
        self.ready_s
    }

    #[setter]
    fn set_ready_s(mut slf: PyRefMut<'_, Self>, at: f64) -> PyResult<()> {
        if !at.is_finite() || at > slf.as_super().now.as_secs() + LONGEST_WAIT_S {
            return Err(PyValueError::new_err(format!(
                "ready_s is {}: it must be a time, at most {LONGEST_WAIT_S} s after now_s",
                if at.is_nan() { "nan".to_owned() } else { at.to_string() }
            )));
        }
        slf.ready_s = at;
        Ok(())
    }

    fn __len__(&self) -> usize {
        self.room.len()
    }

    /// Whether there is room for `packet`.
    fn fits(&self, packet: &PyPacket) -> bool {
        self.room.fits(packet.size.into())
    }

    /// Drops a packet: the one passed to `enqueue`, or one in the queue.
    #[pyo3(signature = (packet, *, early=false))]
    fn drop(&mut self, packet: &mut PyPacket, early: bool) -> PyResult<()> {
        match std::mem::replace(&mut packet.state, PacketState::Gone) {
            PacketState::Arriving => {}
            PacketState::Inside => self.room.leave(packet.size.into()),
            PacketState::Gone => {
                return Err(PyValueError::new_err(format!("{} is not in this queue", packet.__repr__())));
            }
        }
        let cause = if early { Cause::Early } else { Cause::Overflow };
        self.dropped.extend(packet.id.map(|id| (id, cause)));
        Ok(())
    }

    /// Called for an arriving packet: keep it, or `drop` it or others.
    fn enqueue(&self, packet: &PyPacket) -> PyResult<()> {
        let _ = packet;
        Err(PyNotImplementedError::new_err("a discipline needs a method enqueue(self, packet)"))
    }

    /// Returns the packet to send next, or None.
    fn dequeue(&self) -> PyResult<()> {
        Err(PyNotImplementedError::new_err("a discipline needs a method dequeue(self)"))
    }

    /// Called if overridden: a packet to or from `station` has used `air_s` of air time in this number of attempts,
    /// which is 0 if it is to be sent again. Under block ACK each exchange is reported by itself, and the last one
    /// counts the attempts without response before it.
    fn on_air(&self, station: u32, sent: bool, air_s: f64, attempts: u32, delivered: bool) {
        let _ = (station, sent, air_s, attempts, delivered);
    }
}

/// An empty queue at `site`.
pub fn make(
    py: Python<'_>,
    class: Option<(Py<PyType>, Py<PyDict>)>,
    caller: Caller,
    site: &Site<'_>,
    draws: String,
) -> Box<dyn Discipline> {
    let made = class.and_then(|(class, arguments)| {
        let made = PythonQueue::new(py, class.bind(py), arguments.bind(py), &caller, site, draws);
        made.map_err(|error| caller.fail("__init__", Time::ZERO, error)).ok()
    });
    made.map_or_else(|| Box::new(Closed) as Box<dyn Discipline>, |queue| Box::new(queue))
}

/// How far ahead `ready_s` may lie [s]: packets that are held back longer are as good as lost.
const LONGEST_WAIT_S: f64 = 3600.0;

/// How long a class that gives no `ready_s` may return nothing although packets are inside.
const LONGEST_IDLE: Duration = Duration::from_secs(1);

/// Replaces a queue whose class failed until the run is stopped: it accepts nothing.
#[derive(Debug)]
struct Closed;

impl Discipline for Closed {
    fn enqueue(&mut self, _: Time, id: PacketId, _: u32, _: &mut Packets, dropped: &mut Dropped) {
        dropped.push((id, Cause::Early));
    }

    fn dequeue(&mut self, _: Time, _: &mut Packets, _: &mut Dropped) -> Option<PacketId> {
        None
    }

    fn len(&self) -> usize {
        0
    }

    fn is_full(&self) -> bool {
        true
    }
}

/// A discipline in Python, as seen by the world.
#[derive(Debug)]
struct PythonQueue {
    object: Py<QueueDiscipline>,
    enqueue: Py<PyAny>,
    dequeue: Py<PyAny>,
    on_air: Option<Py<PyAny>>,
    packets: usize,
    is_full: bool,
    marks: u64,
    ready: Time,
    /// When `dequeue` began to return nothing although packets are inside and the class gives no time for the next one.
    idle_since: Option<Time>,
    caller: Caller,
}

impl PythonQueue {
    fn new(
        py: Python<'_>,
        class: &Bound<'_, PyType>,
        arguments: &Bound<'_, PyDict>,
        caller: &Caller,
        site: &Site<'_>,
        draws: String,
    ) -> PyResult<Self> {
        let object = construct(class, arguments, Draws::new(draws), |own: &mut QueueDiscipline| {
            own.limit = site.limit;
            own.room = Room::new(site.limit, None);
            own.rate = site.rate;
            site.name.clone_into(&mut own.name);
        })?;
        let base = py.get_type::<QueueDiscipline>();
        Ok(Self {
            enqueue: object.getattr("enqueue")?.unbind(),
            dequeue: object.getattr("dequeue")?.unbind(),
            on_air: own_method(object.as_any(), &base, "on_air")?,
            packets: 0,
            is_full: object.borrow().room.is_full(),
            marks: 0,
            ready: Time::ZERO,
            idle_since: None,
            caller: caller.clone(),
            object: object.clone().unbind(),
        })
    }

    /// Processes the effects of a call: the packets that it dropped, and the counts.
    fn take_over(&mut self, own: &mut QueueDiscipline, dropped: &mut Dropped) {
        dropped.append(&mut own.dropped);
        self.packets = own.room.len();
        self.is_full = own.room.is_full();
        self.ready = if own.ready_s > 0.0 { Time::ZERO + Duration::from_secs_f64(own.ready_s) } else { Time::ZERO };
    }

    /// Marks a packet, and counts it if it was not marked before.
    fn mark(&mut self, packet: &mut Packet) {
        self.marks += u64::from(!packet.has(flag::CE));
        packet.flags |= flag::CE;
    }

    /// Reports an error if a class never releases its packets.
    fn check_idle(&mut self, now: Time, gave: bool) -> PyResult<()> {
        if gave || self.packets == 0 || self.ready > now {
            self.idle_since = None;
            return Ok(());
        }
        let since = *self.idle_since.get_or_insert(now);
        if now.saturating_since(since) < LONGEST_IDLE {
            return Ok(());
        }
        let packets = self.packets;
        Err(PyValueError::new_err(format!(
            "dequeue has given nothing for {} s though {packets} packets are inside: give one, drop them, or set \
             ready_s to the time of the next",
            LONGEST_IDLE.as_secs()
        )))
    }

    fn put(&mut self, now: Time, id: PacketId, to: u32, packets: &mut Packets, dropped: &mut Dropped) -> PyResult<()> {
        Python::attach(|py| {
            let packet = Bound::new(py, seen(now, id, to, &packets[id]))?;
            let object = self.object.clone_ref(py);
            let object = object.bind(py);
            object.as_super().borrow_mut().now = now;
            self.enqueue.bind(py).call1((&packet,))?;
            let mut packet = packet.borrow_mut();
            if packet.marked {
                self.mark(&mut packets[id]);
            }
            let mut own = object.borrow_mut();
            if packet.state == PacketState::Arriving {
                packet.state = PacketState::Inside;
                own.room.enter_together(1, packet.size);
                if own.room.overflows() {
                    let (packets, bytes, limit) = (own.room.len(), own.room.bytes(), own.limit);
                    let text =
                        format!("the queue holds {packets} packets of {bytes} B, its limit is {limit}: drop some");
                    return Err(PyValueError::new_err(text));
                }
            }
            self.take_over(&mut own, dropped);
            Ok(())
        })
    }

    fn get(&mut self, now: Time, packets: &mut Packets, dropped: &mut Dropped) -> PyResult<Option<PacketId>> {
        Python::attach(|py| {
            let object = self.object.clone_ref(py);
            let object = object.bind(py);
            object.as_super().borrow_mut().now = now;
            let given = self.dequeue.bind(py).call0()?;
            let mut id = None;
            if !given.is_none() {
                let Ok(packet) = given.cast::<PyPacket>() else {
                    let kind = given.get_type().name()?;
                    return Err(PyTypeError::new_err(format!("dequeue gave a {kind}: expected a packet, or None")));
                };
                let mut packet = packet.borrow_mut();
                let (PacketState::Inside, Some(own)) = (packet.state, packet.id) else {
                    let text = format!("dequeue gave {}, which is not in this queue", packet.__repr__());
                    return Err(PyValueError::new_err(text));
                };
                packet.state = PacketState::Gone;
                object.borrow_mut().room.leave(packet.size.into());
                if packet.marked {
                    self.mark(&mut packets[own]);
                }
                id = Some(own);
            }
            self.take_over(&mut object.borrow_mut(), dropped);
            self.check_idle(now, id.is_some())?;
            Ok(id)
        })
    }
}

/// The packet as seen by the discipline.
fn seen(now: Time, id: PacketId, station: u32, packet: &Packet) -> PyPacket {
    PyPacket {
        id: Some(id),
        state: PacketState::Arriving,
        marked: packet.has(flag::CE),
        size: packet.size,
        payload: packet.payload,
        flow: packet.flow,
        station,
        kind: packet.kind.name(),
        seq: packet.seq,
        ack: packet.ack,
        syn: packet.has(flag::SYN),
        ecn_capable: packet.has(flag::ECT),
        arrived_s: now.as_secs(),
    }
}

impl Discipline for PythonQueue {
    fn enqueue(&mut self, now: Time, id: PacketId, to: u32, packets: &mut Packets, dropped: &mut Dropped) {
        if self.caller.failure.happened() {
            dropped.push((id, Cause::Early));
        } else if let Err(error) = self.put(now, id, to, packets, dropped) {
            self.caller.fail("enqueue", now, error);
        }
    }

    fn dequeue(&mut self, now: Time, packets: &mut Packets, dropped: &mut Dropped) -> Option<PacketId> {
        if self.caller.failure.happened() || self.packets == 0 {
            return None;
        }
        self.get(now, packets, dropped).unwrap_or_else(|error| {
            self.caller.fail("dequeue", now, error);
            None
        })
    }

    fn len(&self) -> usize {
        self.packets
    }

    fn is_full(&self) -> bool {
        self.is_full
    }

    fn marks(&self) -> u64 {
        self.marks
    }

    fn ready(&self) -> Time {
        self.ready
    }

    fn wants_air_use(&self) -> bool {
        self.on_air.is_some()
    }

    fn on_air(&mut self, now: Time, used: &AirUse) {
        let Some(method) = self.on_air.as_ref().filter(|_| !self.caller.failure.happened()) else { return };
        let done = Python::attach(|py| {
            self.object.bind(py).as_super().borrow_mut().now = now;
            let AirUse { peer, sent, air, attempts, delivered, .. } = *used;
            method.bind(py).call1((peer, sent, air.as_secs(), attempts, delivered)).map(|_| ())
        });
        if let Err(error) = done {
            self.caller.fail("on_air", now, error);
        }
    }
}
