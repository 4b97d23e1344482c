//! Linux features for the host's sake: bursts for segmentation offload, and small queues.

use super::*;

/// A sender with segments of 1000 bytes and an RTT of `rtt` ms, whose first ten segments are acknowledged.
fn measured(rtt: u64, settings: &str) -> (Sender, Time) {
    let mut sender = ten_in_flight(settings);
    let now = Time::ZERO + Duration::from_millis(100 + rtt);
    sender.on_packet(now, &Packet { window: u16::MAX, ..ack(10, &[]) });
    (sender, now)
}

/// Linux, tcp_tso_autosize: what leaves in 1/1024 s and, for nearby receivers, 64 KiB halved for each 512 us of the
/// minimum RTT; at least `pacing_burst`, at most 64 KiB.
#[test]
fn bursts_hold_what_leaves_in_a_millisecond() {
    let on = "pacing_burst = 2\ntso_autosize = true";
    for (rtt, settings, rate, segments) in [
        (100, "", 10e6, 1),
        (100, "pacing_burst = 3", 10e6, 3),
        (100, on, 10e6, 9),  // 9765 B
        (100, on, 2.5e6, 2), // 2441 B
        (100, on, 1e6, 2),   // 976 B
        (100, on, 1e9, 65),  // 65,536 B at most
        (1, on, 1e6, 33),    // 976 + 65,536 / 2
        (3, on, 1e6, 3),     // 976 + 65,536 / 2^5
        (16, on, 1e6, 2),    // 976 + 65,536 / 2^31
    ] {
        let (sender, _) = measured(rtt, settings);
        assert_eq!(sender.burst(rate), segments, "{rtt} ms, {settings}, {rate} B/s");
    }
}

/// A window of 291 segments in 100 ms, twice that in slow start: 5.8 MB/s. 5683 bytes in 1/1024 s are a burst of five
/// segments, after which the next waits for the time of five segments. The first one is late, which counts half a
/// segment.
#[test]
fn a_burst_leaves_at_once_and_the_next_after_its_time() {
    let (mut sender, _) = ends(
        "pacing = true\ntso_autosize = true\nhandshake = 'none'\nmss = '1000 B'\nvalidate_window = false
        receive_window = '1 MB'\ninitial_window = '290 packets'",
    );
    sender.open(Time::ZERO);
    sender.supply(10_000);
    assert_eq!(flush(&mut sender).len(), 10);
    sender.supply(1_000_000);
    let mut now = Time::ZERO + Duration::from_millis(200);
    sender.on_packet(now, &Packet { window: 60_000, ..ack(10, &[]) });
    assert_eq!((sender.cwnd(), sender.rtt().srtt()), (291.0, Duration::from_millis(100)));
    for segments in [4.5, 5.0, 5.0] {
        assert_eq!(std::iter::from_fn(|| sender.poll(now)).count(), 5);
        let wait = sender.deadline().saturating_since(now).as_secs();
        assert!((wait - segments * 1000.0 / 5.82e6).abs() < 1e-8, "{wait} s");
        now = sender.deadline();
        sender.on_timer(now);
    }
}

/// Linux, tcp_small_queue_check, by hand: twice a window of 20 in 100 ms are 400 kB/s, or 4000 bytes in 10 ms. Another
/// segment leaves while the station's queue holds no more than that, so five wait; two departures let two follow.
#[test]
fn a_sender_leaves_little_in_the_queue_of_its_station() {
    for sack in [false, true] {
        let settings = format!("sack = {sack}\nreceive_window = '60 packets'");
        let (mut sender, now) = small_queue(&settings);
        let mut sends = || std::iter::from_fn(|| sender.poll(now)).count();
        assert_eq!(sends(), 5);
        assert_eq!(sends(), 0);
        assert_eq!((sender.cwnd(), sender.in_flight()), (20.0, 5000));
        // The window did not limit it.
        assert!(!sender.window_limited && sender.deadline() > now);
        assert!(sender.on_departure(1000) && sender.on_departure(1000));
        assert_eq!(std::iter::from_fn(|| sender.poll(now)).count(), 2);
        // One segment may always be in flight, whatever waits.
        sender.on_packet(now, &ack(17, &[]));
        sender.queued = 1_000_000;
        assert_eq!(std::iter::from_fn(|| sender.poll(now)).count(), 2);
        assert!(sender.queue_waits);
        // Nothing to send: no departure is waited for.
        sender.queued = 0;
        sender.discard_unsent();
        assert!(sender.poll(now).is_none() && !sender.on_departure(0));
    }
}

/// The limit is doubled in recovery, and never less than two bursts.
#[test]
fn recovery_and_bursts_widen_a_small_queue() {
    let (mut sender, now) = small_queue("receive_window = '60 packets'");
    sender.phase = RecoveryPhase::Recovery;
    assert_eq!(std::iter::from_fn(|| sender.poll(now)).count(), 9);
    let (mut sender, now) = small_queue("receive_window = '60 packets'\npacing_burst = 4");
    assert_eq!(std::iter::from_fn(|| sender.poll(now)).count(), 9);
}

/// A station's sender with `small_queue = "10 ms"` and a window of 20 segments; ten were acknowledged after 100 ms and
/// have left the queue.
fn small_queue(settings: &str) -> (Sender, Time) {
    let text = format!(
        "mss = '1000 B'\nhandshake = 'none'\ninitial_window = '10 packets'\nsmall_queue = '10 ms'
        growth = 'bytes'\n{settings}"
    );
    let (config, _) = wifair_config::Document::parse(wifair_config::Source::file("tcp.toml", &text))
        .read::<crate::TcpSettings>()
        .unwrap_or_else(|problems| panic!("{problems}"))
        .resolve_at_station();
    let mut sender = Sender::new(&config, 0);
    sender.open(Time::ZERO);
    sender.supply(u64::MAX);
    assert_eq!(flush(&mut sender).len(), 10, "no round-trip time yet");
    assert!(!sender.on_departure(10_000));
    let now = Time::ZERO + Duration::from_millis(200);
    sender.on_packet(now, &ack(10, &[]));
    (sender, now)
}

/// A server has no limit, since nothing reports departures to it.
#[test]
fn small_queues_are_those_of_stations() {
    let (sender, _) = ends("small_queue = '10 ms'");
    assert!(!sender.has_small_queue());
}
