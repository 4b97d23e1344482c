//! What the parts cost, one at a time: event sources, an exchange of the DCF, an ACK in each congestion control, a
//! packet in LAS, a record of a capture.
//!
//! `cargo bench -p wifair-benches [NAME]`. Times on a shared machine vary by a third: compare runs made in turn, or
//! count instructions (`make instructions`).
#![allow(missing_docs, clippy::disallowed_methods)]

use std::fs::File;
use std::hint::black_box;
use std::io::Read;
use std::path::Path;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use flate2::read::GzDecoder;
use wifair_capture::{AnalysisOptions, analyze};
use wifair_config::{Document, Source};
use wifair_engine::{DelayLine, EventQueue, NextEventTree, Timers, stream};
use wifair_mac::{Access, Call, MacEvent, SharedChannel, StationSettings};
use wifair_packet::{Kind, NextHops, Packet, Packets, flag};
use wifair_phy::Timing;
use wifair_queue::{Chosen, Discipline, Limit, Queue, QueueSettings};
use wifair_tcp::cc::AlgorithmChoice;
use wifair_tcp::{Sender, TcpSettings};
use wifair_units::{BitRate, Bytes, Duration, Time};

/// Every packet goes to the access point.
const TO_AP: NextHops<'static> = NextHops(&[0]);

const EVENTS: u64 = 1000;

/// The first of many sources moves on by a random time: the tournament that the world has, and a heap of all events.
fn event_sources(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("event sources");
    group.throughput(Throughput::Elements(EVENTS));
    for sources in [3, 20, 200, 2000] {
        let mut draws = stream(1, "bench", "sources");
        let mut heads = NextEventTree::new(0, sources);
        for source in 0..sources {
            heads.set(source, Time::from_nanos(u64::from(draws.below(1_000_000))));
        }
        group.bench_function(format!("heads of {sources}"), |bench| {
            bench.iter(|| {
                for _ in 0..EVENTS {
                    let (now, source) = heads.first();
                    heads.set(source, now + Duration::from_nanos(u64::from(draws.below(1_000_000))));
                }
            });
        });
        let mut event_queue = EventQueue::default();
        let mut now = Time::ZERO;
        for source in 0..sources {
            event_queue.enter(Time::from_nanos(u64::from(draws.below(1_000_000))), source);
        }
        group.bench_function(format!("heap of {sources}"), |bench| {
            bench.iter(|| {
                for _ in 0..EVENTS {
                    now = event_queue.next();
                    let source = event_queue.pop().expect("as many as before");
                    event_queue.enter(now + Duration::from_nanos(u64::from(draws.below(1_000_000))), source);
                }
            });
        });
    }
    let mut timers = Timers::new(1000);
    let mut now = Time::ZERO;
    group.bench_function("retransmission timers that never go off", |bench| {
        bench.iter(|| {
            for event in 0..EVENTS {
                now += Duration::from_micros(100);
                while timers.next() <= now {
                    black_box(timers.pop(now));
                }
                timers.set(usize::try_from(event).expect("it is small"), now + Duration::from_millis(200));
            }
        });
    });
    let mut line = DelayLine::default();
    for packet in 0..100_u32 {
        line.push(now + Duration::from_micros(packet.into()), packet);
    }
    group.bench_function("delay line", |bench| {
        bench.iter(|| {
            for _ in 0..EVENTS {
                let now = line.next();
                let packet = line.pop().expect("as many as before");
                line.push(now + Duration::from_micros(100), packet);
            }
        });
    });
    group.finish();
}

/// Frames of saturated stations, collisions included.
fn exchanges(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("DCF exchange");
    group.throughput(Throughput::Elements(EVENTS));
    for stations in [1_u32, 8, 50, 1000] {
        let settings = |station: u32| StationSettings {
            cw_min: 31,
            cw_max: 1023,
            exclude_cw: false,
            rate: BitRate::from_mbps(11),
            routing_overhead: Bytes(0),
            data_error_to: 0.0,
            data_error_from: 0.0,
            control_error_to: 0.0,
            queue: Queue::fifo(Limit::Packets(10)),
            backoff: stream(1, "backoff", &station.to_string()),
            errors: stream(1, "errors", &station.to_string()),
        };
        let access = Access::standard(Timing::hr_dsss(BitRate::from_mbps(2), false));
        let mut cell = SharedChannel::new(access, 0, (0..=stations).map(settings).collect());
        let (mut packets, mut dropped, mut retry_limit_drops) = (Packets::default(), vec![], vec![]);
        let packet = |flow| Packet { flow, payload: 1000, size: 1040, ..Packet::default() };
        for station in (1..=stations).chain(1..=stations) {
            let id = packets.insert(packet(station));
            cell.offer(station, id, &mut Call::new(Time::ZERO, &mut packets, &mut dropped, &mut vec![], TO_AP));
        }
        group.bench_function(format!("{stations} stations"), |bench| {
            bench.iter(|| {
                let mut received = 0;
                while received < EVENTS {
                    let now = cell.next();
                    let heard =
                        cell.advance(&mut Call::new(now, &mut packets, &mut dropped, &mut retry_limit_drops, TO_AP));
                    if let MacEvent::Packet { id, .. } = heard {
                        let station = packets.remove(id).flow;
                        let id = packets.insert(packet(station));
                        cell.offer(station, id, &mut Call::new(now, &mut packets, &mut dropped, &mut vec![], TO_AP));
                        received += 1;
                    }
                    for (station, id) in retry_limit_drops.drain(..) {
                        packets.release(id);
                        let id = packets.insert(packet(station));
                        cell.offer(station, id, &mut Call::new(now, &mut packets, &mut dropped, &mut vec![], TO_AP));
                    }
                }
            });
        });
    }
    group.finish();
}

/// `on_packet` and `poll` for ACKs of a segment each, nothing lost.
fn acks(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("TCP ACK");
    group.throughput(Throughput::Elements(EVENTS));
    for name in AlgorithmChoice::NAMES {
        let text = format!("cc = '{name}'\nmss = '1000 B'\nhandshake = 'none'\nreceive_window = '100 packets'");
        let document = Document::parse(Source::file("bench.toml", &text));
        let settings = document.read::<TcpSettings>().unwrap_or_else(|problems| panic!("{problems}"));
        let (config, _) = settings.resolve();
        group.bench_function(name, |bench| {
            bench.iter_batched_ref(
                || {
                    let mut sender = Sender::new(&config, 0);
                    sender.open(Time::ZERO);
                    sender.supply(u64::MAX);
                    (sender, Time::ZERO, 0)
                },
                |(sender, now, acknowledged)| {
                    for _ in 0..EVENTS {
                        while let Some(packet) = sender.poll(*now) {
                            black_box(&packet);
                        }
                        *now += Duration::from_micros(500);
                        *acknowledged = (*acknowledged + 1000).min(sender.sent());
                        let (flags, kind) = (flag::ACK, Kind::Ack);
                        let ack = Packet { ack: *acknowledged, window: u16::MAX, flags, kind, ..Packet::default() };
                        sender.on_packet(*now, black_box(&ack));
                        black_box(sender.deadline());
                    }
                },
                BatchSize::SmallInput,
            );
        });
    }
    group.finish();
}

/// A packet in and one out, with one inside for each flow.
fn las(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("LAS");
    group.throughput(Throughput::Elements(EVENTS));
    for flows in [10_u32, 100, 1000, 10_000] {
        let limit = Limit::Packets(u64::from(flows) + 1);
        let discipline = Chosen::named("las").expect("a name of the list");
        let settings = QueueSettings { discipline, limit, ..QueueSettings::default() };
        let mut queue = Queue::new(&settings, Some(BitRate::from_mbps(11)), 1, "bench");
        let (mut packets, mut dropped, mut now) = (Packets::default(), vec![], Time::ZERO);
        let packet = |flow| Packet { flow, payload: 1000, size: 1040, ..Packet::default() };
        for flow in 0..flows {
            let id = packets.insert(packet(flow));
            queue.enqueue(now, id, 0, &mut packets, &mut dropped);
        }
        let mut draws = stream(1, "bench", "las");
        group.bench_function(format!("{flows} flows"), |bench| {
            bench.iter(|| {
                for _ in 0..EVENTS {
                    let id = packets.insert(packet(draws.below(flows)));
                    queue.enqueue(now, id, 0, &mut packets, &mut dropped);
                    if let Some(id) = queue.dequeue(now, &mut packets, &mut dropped) {
                        packets.release(id);
                    }
                    for (id, _) in dropped.drain(..) {
                        packets.release(id);
                    }
                    now += Duration::from_micros(100);
                }
            });
        });
    }
    group.finish();
}

/// A capture of the tests, unpacked before.
fn captures(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("capture");
    for name in ["b_cubic_2up_ap.pcap", "g_cubic_2up_ap.pcapng"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../tests/data/captures/{name}.gz"));
        let mut bytes = vec![];
        let file = File::open(path).expect("a capture of the tests");
        GzDecoder::new(file).read_to_end(&mut bytes).expect("it is whole");
        group.throughput(Throughput::Bytes(bytes.len() as u64));
        group.bench_function(name, |bench| {
            bench.iter(|| analyze(black_box(&bytes[..]), AnalysisOptions::default(), |_, _| true).expect("it is read"));
        });
    }
    group.finish();
}

criterion_group!(parts, event_sources, exchanges, acks, las, captures);
criterion_main!(parts);
