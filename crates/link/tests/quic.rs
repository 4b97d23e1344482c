//! A real QUIC implementation over contended Wi-Fi, in virtual time: quinn's endpoints without their I/O.
//!
//! A transport that takes the time and datagrams, and gives datagrams and timers, needs four calls of the network:
//! `offer` what it transmits, `next_event` beside its own timers, `advance` to the earlier of both, `poll_delivery`.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use quinn_proto::congestion::{BbrConfig, ControllerFactory, CubicConfig};
use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, ConnectionStats, DatagramEvent, Dir, EcnCodepoint, Endpoint, Event,
    ReadError, ServerConfig, StreamEvent, StreamId, TransportConfig, VarInt,
};
use rustls::RootCertStore;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use wifair_link::{Delivered, EcnField, LinkDatagram, LinkHost, WifiLink};

/// A certificate for the name `server`, made for these tests, with an Ed25519 key: its signatures have one length.
const CERTIFICATE: &[u8] = include_bytes!("data/quic-cert.der");
const KEY: &[u8] = include_bytes!("data/quic-key.der");

fn transport(control: Arc<dyn ControllerFactory + Send + Sync>) -> Arc<TransportConfig> {
    let mut transport = TransportConfig::default();
    transport.congestion_controller_factory(control);
    transport.receive_window(VarInt::from_u32(16 << 20)).stream_receive_window(VarInt::from_u32(16 << 20));
    Arc::new(transport)
}

/// One side: an endpoint, its connection once there is one, and where it stands in the network.
struct Side {
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    host: LinkHost,
    address: SocketAddr,
    to_send: u64,
    stream: Option<StreamId>,
    received: u64,
    is_complete: bool,
}

impl Side {
    fn new(host: LinkHost, number: u8, server: Option<ServerConfig>) -> Self {
        let endpoint = Endpoint::new(Arc::default(), server.map(Arc::new), true, Some([number; 32]));
        Self {
            endpoint,
            connection: None,
            host,
            address: SocketAddr::from(([10, 0, 0, number], 4433)),
            to_send: 0,
            stream: None,
            received: 0,
            is_complete: false,
        }
    }

    /// Takes a datagram from the network; returns what the endpoint answers by itself.
    fn take(&mut self, now: Instant, from: SocketAddr, delivery: Delivered) {
        let ecn = match delivery.ecn {
            EcnField::NotEct => None,
            EcnField::Ect0 => Some(EcnCodepoint::Ect0),
            EcnField::Ect1 => Some(EcnCodepoint::Ect1),
            EcnField::Ce => Some(EcnCodepoint::Ce),
        };
        let mut answer = Vec::new();
        let data = BytesMut::from(delivery.payload.as_slice());
        match self.endpoint.handle(now, from, None, ecn, data, &mut answer) {
            Some(DatagramEvent::NewConnection(incoming)) => {
                let accepted = self.endpoint.accept(incoming, now, &mut answer, None);
                self.connection = Some(accepted.map_err(|error| error.cause).expect("a connection"));
            }
            Some(DatagramEvent::ConnectionEvent(_, event)) => self.connection().handle_event(event),
            Some(DatagramEvent::Response(_)) | None => {}
        }
    }

    fn connection(&mut self) -> &mut Connection {
        &mut self.connection.as_mut().expect("a connection").1
    }

    /// What the application does: the server writes all it has to send, the client reads.
    fn work(&mut self, now: Instant) {
        let Some((handle, connection)) = &mut self.connection else { return };
        if connection.poll_timeout().is_some_and(|at| at <= now) {
            connection.handle_timeout(now);
        }
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(event);
            }
        }
        while let Some(event) = connection.poll() {
            match event {
                Event::Connected if self.to_send > 0 => self.stream = connection.streams().open(Dir::Uni),
                Event::Stream(StreamEvent::Opened { dir }) => self.stream = connection.streams().accept(dir),
                Event::ConnectionLost { reason } => panic!("{reason}"),
                _ => {}
            }
        }
        let Some(stream) = self.stream else { return };
        while self.to_send > 0 {
            let length = self.to_send.min(65_536);
            let Ok(written) = connection.send_stream(stream).write(&vec![7; length as usize]) else { break };
            self.to_send -= written as u64;
            if self.to_send == 0 {
                connection.send_stream(stream).finish().expect("it is open");
            }
        }
        if self.is_complete || connection.side().is_server() {
            return;
        }
        let mut receiving = connection.recv_stream(stream);
        let Ok(mut chunks) = receiving.read(true) else { return };
        loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => {
                    assert!(chunk.bytes.iter().all(|byte| *byte == 7));
                    self.received += chunk.bytes.len() as u64;
                }
                Ok(None) => {
                    self.is_complete = true;
                    break;
                }
                Err(ReadError::Blocked) => break,
                Err(error) => panic!("{error}"),
            }
        }
        let _ = chunks.finalize();
    }

    fn transmit(&mut self, now: Instant, network: &mut WifiLink, to: LinkHost) {
        let Some((_, connection)) = &mut self.connection else { return };
        let mut data = Vec::new();
        while let Some(sent) = connection.poll_transmit(now, 1, &mut data) {
            let ecn = match sent.ecn {
                None => EcnField::NotEct,
                Some(EcnCodepoint::Ect0) => EcnField::Ect0,
                Some(EcnCodepoint::Ect1) => EcnField::Ect1,
                Some(EcnCodepoint::Ce) => EcnField::Ce,
            };
            let datagram = LinkDatagram::new(data[..sent.size].to_vec()).with_ecn(ecn);
            network.offer(network.now(), self.host, to, datagram).expect("it fits");
            data.clear();
        }
    }
}

struct Download {
    took: Duration,
    sender: ConnectionStats,
    datagrams: Vec<(u64, Duration)>,
}

/// Loads `bytes` from `server` to `phone`, which connects at 1 s.
fn download(network: &mut WifiLink, control: Arc<dyn ControllerFactory + Send + Sync>, bytes: u64) -> Download {
    let certificate = CertificateDer::from(CERTIFICATE);
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone()).expect("a certificate");
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(KEY));
    let mut served = ServerConfig::with_single_cert(vec![certificate], key).expect("a key");
    served.transport_config(transport(control.clone()));
    let mut asking = ClientConfig::with_root_certificates(Arc::new(roots)).expect("roots");
    asking.transport_config(transport(control));

    let (phone, server) = (network.host("phone").expect("there"), network.host("server").expect("there"));
    let mut server = Side { to_send: bytes, ..Side::new(server, 1, Some(served)) };
    let mut phone = Side::new(phone, 2, None);
    #[allow(clippy::disallowed_methods)] // no other way to an `Instant`; only differences to it matter
    let origin = Instant::now();
    let begin = Duration::from_secs(1);
    network.advance(begin).expect("before the end");
    let connecting = phone.endpoint.connect(origin + begin, asking, server.address, "server");
    phone.connection = Some(connecting.expect("a connection"));
    let mut datagrams = Vec::new();
    while !phone.is_complete {
        let now = origin + network.now();
        let (at_phone, at_server) = (phone.host, server.host);
        for (side, other) in [(&mut phone, at_server), (&mut server, at_phone)] {
            side.work(now);
            side.transmit(now, network, other);
        }
        let timers = [&mut phone, &mut server].map(|side| {
            let connection = side.connection.as_mut()?;
            Some(connection.1.poll_timeout()?.max(now) - origin)
        });
        let next = timers.into_iter().flatten().chain(network.next_event()).min().expect("something happens");
        network.advance(next).expect("before the end");
        while let Some(delivery) = network.poll_delivery() {
            datagrams.push((delivery.number, delivery.time));
            let (to, from) =
                if delivery.to == phone.host { (&mut phone, server.address) } else { (&mut server, phone.address) };
            to.take(origin + network.now(), from, delivery);
        }
    }
    assert_eq!(phone.received, bytes);
    Download { took: network.now() - begin, sender: server.connection().stats(), datagrams }
}

fn home(neighbours: usize) -> wifair_link::LinkBuilder {
    WifiLink::builder()
        .standard("802.11g")
        .station("phone")
        .server("server", Duration::from_millis(10))
        .background_uploads("neighbour", neighbours)
        .lifetime(Duration::from_secs(120))
}

const SIZE: u64 = 4_000_000;

/// At 54 Mb/s 802.11g carries about 30 Mb/s of datagrams, so 4 MB take a second or more; the round trip has 20 ms of
/// wire. Beside three uploads the access point wins one turn in four. The control: without them it takes half the time
/// at most. The same seed gives the same datagrams at the same times.
#[test]
fn quic_shares_the_channel_with_its_neighbours() {
    let run = |neighbours| {
        let mut network = home(neighbours).build().expect("a network");
        download(&mut network, Arc::new(CubicConfig::default()), SIZE)
    };
    let (alone, beside, again) = (run(0), run(3), run(3));
    assert!(alone.took > Duration::from_secs_f64(8.0 * SIZE as f64 / 30e6), "{:?}", alone.took);
    assert!(alone.sender.path.min_rtt >= Duration::from_millis(20), "{:?}", alone.sender.path);
    assert!(beside.took > 2 * alone.took, "{:?} {:?}", beside.took, alone.took);
    assert!(beside.datagrams == again.datagrams, "{:?} {:?}", beside.took, again.took);
}

/// CoDel marks datagrams of senders that validated ECN, and QUIC reduces its window without a loss. Control: a queue
/// without marks loses datagrams.
#[test]
fn marks_of_a_queue_reach_the_congestion_control() {
    let run = |ecn: &str| {
        let mut network = home(0)
            .set("ap.queue.discipline", "codel")
            .set("ap.queue.codel.ecn", ecn)
            .set("ap.queue.limit", "1000 packets")
            .build()
            .expect("a network");
        let download = download(&mut network, Arc::new(CubicConfig::default()), SIZE);
        (download, network.snapshot())
    };
    let (marked, network) = run("true");
    assert!(network.marked > 0 && network.lost == 0, "{network:?}");
    assert!(marked.sender.path.congestion_events > 0, "{:?}", marked.sender.path);
    assert_eq!(marked.sender.path.lost_packets, 0);
    let (dropped, network) = run("false");
    assert!(network.marked == 0 && network.lost > 0, "{network:?}");
    assert!(dropped.sender.path.lost_packets > 0, "{:?}", dropped.sender.path);
}

/// A queue of 1000 packets holds 400 ms of 802.11g. CUBIC fills it; BBR keeps about a bandwidth-delay product in it.
#[test]
fn the_congestion_control_decides_how_full_the_queue_is() {
    let queue = |control: Arc<dyn ControllerFactory + Send + Sync>| {
        let mut network = home(0).set("ap.queue.limit", "1000 packets").build().expect("a network");
        download(&mut network, control, 4 * SIZE);
        network.snapshot().ap_queue_mean_packets
    };
    let (cubic, bbr) = (queue(Arc::new(CubicConfig::default())), queue(Arc::new(BbrConfig::default())));
    assert!(bbr < cubic / 2.0, "{bbr} {cubic}");
}
