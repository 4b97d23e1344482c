//! A congestion control of one's own over contended Wi-Fi: CUBIC in 40 lines, beside simulated uploads.
//!
//! The sender is a state machine as transports have it: it gets acknowledgments and the time, and says how many
//! datagrams may leave. The test drives it in virtual time, so 20 s take a moment, and asserts what the network says.

use std::time::Duration;

use wifair_link::{LinkDatagram, LinkHost, WifiLink};

/// CUBIC by RFC 9438: window growth by the time since the last loss (section 4.2), decrease by 0.7 (4.6).
struct Cubic {
    window: f64,
    threshold: f64,
    plateau: f64,
    since: Duration,
}

impl Cubic {
    const C: f64 = 0.4;
    const BETA: f64 = 0.7;

    fn new() -> Self {
        Self { window: 10.0, threshold: f64::INFINITY, plateau: 0.0, since: Duration::ZERO }
    }

    fn on_ack(&mut self, now: Duration, rtt: Duration) {
        if self.window < self.threshold {
            self.window += 1.0; // slow start
            return;
        }
        let k = (self.plateau * (1.0 - Self::BETA) / Self::C).cbrt();
        let time = (now - self.since + rtt).as_secs_f64();
        let target = (Self::C * (time - k).powi(3) + self.plateau).clamp(self.window, 1.5 * self.window);
        self.window += (target - self.window) / self.window;
    }

    fn on_loss(&mut self, now: Duration) {
        self.plateau = self.window;
        self.window = (self.window * Self::BETA).max(2.0);
        (self.threshold, self.since) = (self.window, now);
    }
}

struct Upload {
    received: u64,
    losses: u32,
    slowest: Duration,
}

/// Sends without end from `phone` to `server`, which acknowledges each by 40 bytes; with CUBIC's window, or a `fixed`
/// one.
fn upload(network: &mut WifiLink, phone: LinkHost, server: LinkHost, until: Duration, fixed: Option<f64>) -> Upload {
    let mut control = Cubic::new();
    let mut sent: Vec<Option<Duration>> = Vec::new(); // by number of the data; None once acknowledged or lost
    let mut in_flight = 0_u32;
    let (mut highest, mut recovery) = (0, 0); // the highest acknowledged; losses up to here count as one
    let mut result = Upload { received: 0, losses: 0, slowest: Duration::ZERO };
    while network.now() < until {
        while f64::from(in_flight) < fixed.unwrap_or(control.window) {
            let number = u32::try_from(sent.len()).expect("a short test");
            let data =
                LinkDatagram { payload: number.to_be_bytes().to_vec(), padding: 1196, ..LinkDatagram::default() };
            network.offer(network.now(), phone, server, data).expect("it fits");
            sent.push(Some(network.now()));
            in_flight += 1;
        }
        let Some(next) = network.next_event() else { break };
        network.advance(next.min(until)).expect("time goes on");
        while let Some(delivery) = network.poll_delivery() {
            let number = u32::from_be_bytes(delivery.payload[..4].try_into().expect("four bytes")) as usize;
            if delivery.to == server {
                result.received += delivery.length as u64;
                let ack = LinkDatagram { padding: 36, ..LinkDatagram::new(delivery.payload) };
                network.offer(network.now(), server, phone, ack).expect("it fits");
                continue;
            }
            let now = network.now();
            if let Some(at) = sent[number].take() {
                in_flight -= 1;
                highest = highest.max(number);
                result.slowest = result.slowest.max(now - at);
                control.on_ack(now, now - at);
            }
            // Three later ones have been acknowledged: lost. Losses of one window count once (RFC 9438, 4.6).
            for lost in recovery.max(highest.saturating_sub(200))..highest.saturating_sub(3) {
                if sent[lost].take().is_some() {
                    in_flight -= 1;
                    if lost >= recovery {
                        control.on_loss(now);
                        recovery = sent.len();
                        result.losses += 1;
                    }
                }
            }
        }
    }
    result
}

fn run(neighbours: usize, queue: &str, fixed: Option<f64>) -> (Upload, WifiLink) {
    let mut network = WifiLink::builder()
        .station("phone")
        .server("server", Duration::from_millis(10))
        .background_uploads("neighbour", neighbours)
        .set("stations.queue.limit", queue)
        .set("warm_up", "2 s") // the snapshot counts from here, as the upload does
        .set("ap.queue.limit", "1000 packets") // a lost acknowledgment would look like lost data here
        .build()
        .expect("a network");
    let (phone, server) = (network.host("phone").expect("there"), network.host("server").expect("there"));
    network.advance(Duration::from_secs(2)).expect("before the end");
    let upload = upload(&mut network, phone, server, Duration::from_secs(22), fixed);
    (upload, network)
}

/// Frame exchanges that the phone has begun for each of a neighbour's, on average.
fn turns(network: &mut WifiLink) -> f64 {
    let snapshot = network.snapshot();
    let attempts = |name| snapshot.station(name).expect("there").attempts as f64;
    3.0 * attempts("phone") / (attempts("neighbour1") + attempts("neighbour2") + attempts("neighbour3"))
}

/// Alone it fills the channel. Beside three uploads it gets less, because stations win the channel equally often: a
/// table of delays would not do that. A station that always has something to send begins as many frame exchanges as a
/// neighbour: some 3000 each, whose standard error is about 2 %, so four of them are 8 %. CUBIC begins fewer, as its
/// window does not always last until the next turn after a loss.
#[test]
fn neighbours_take_their_turns() {
    let (alone, _) = run(0, "300 packets", None);
    let (beside, mut with_cubic) = run(3, "300 packets", None);
    let (_, mut saturated) = run(3, "3000 packets", Some(2000.0));
    assert!(alone.received * 8 / 20 > 80_000_000, "{} bytes", alone.received);
    assert!(beside.received < alone.received * 8 / 10, "{} {}", beside.received, alone.received);
    let (cubic, full) = (turns(&mut with_cubic), turns(&mut saturated));
    assert!((full - 1.0).abs() < 0.08, "{full} {cubic}");
    assert!(cubic < full, "{cubic} {full}");
}

/// A queue of 40 packets at the station holds 4 ms of the channel, one of 2000 holds 200: the window fills either,
/// but the slowest round trip is that much longer.
#[test]
fn the_station_queue_decides_the_delay() {
    let (long, _) = run(0, "2000 packets", None);
    let (short, _) = run(0, "40 packets", None);
    assert!(short.losses > 0 && long.losses > 0, "{} {}", short.losses, long.losses);
    let longer = long.slowest - short.slowest;
    assert!(longer > Duration::from_millis(100), "{:?} {:?}", short.slowest, long.slowest);
}
