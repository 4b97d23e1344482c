//! Cost of a packet in each discipline, and of LAS with up to 10,000 flows: one packet in and one out, with as many
//! packets inside as there are flows.
//!
//! `cargo bench -p wifair-queue --bench queues` prints nanoseconds. On a busy machine count instructions instead: run
//! what it built under `valgrind --tool=callgrind --toggle-collect='*rounds*' TARGET las 1000`, with the name of a
//! discipline and the number of flows, and divide by 200,000 packets.
#![allow(clippy::print_stdout, clippy::disallowed_methods)]

use std::hint::black_box;
use std::time::Instant;

use wifair_packet::{Packet, Packets};
use wifair_queue::{Chosen, Discipline, Limit, Queue, QueueSettings};
use wifair_units::{BitRate, Duration, Time};

fn measure(name: &str, flows: u32, count: u32) {
    let limit = Limit::Packets(u64::from(flows) + 1);
    let settings = QueueSettings {
        discipline: Chosen::named(name).expect("a name of the list"),
        limit,
        ..QueueSettings::default()
    };
    let mut queue = Queue::new(&settings, Some(BitRate::from_mbps(11)), 1, "bench");
    let (mut packets, mut dropped) = (Packets::default(), vec![]);
    for flow in 0..flows {
        let id = packets.insert(packet(flow));
        queue.enqueue(Time::ZERO, id, flow % 64, &mut packets, &mut dropped);
    }
    let start = Instant::now();
    rounds(&mut queue, &mut packets, flows, count);
    let cost = start.elapsed().as_secs_f64() * 1e9 / f64::from(count);
    println!("{name}, {flows} flows: {cost:.1} ns a packet");
}

#[inline(never)]
fn rounds(queue: &mut Queue, packets: &mut Packets, flows: u32, count: u32) {
    let (mut dropped, mut now) = (vec![], Time::ZERO);
    for n in 0..count {
        // Flows in an order that no list of them follows.
        let flow = n.wrapping_mul(2_654_435_761) % flows;
        let id = packets.insert(packet(flow));
        queue.enqueue(now, id, flow % 64, packets, &mut dropped);
        if let Some(id) = black_box(queue.dequeue(now, packets, &mut dropped)) {
            packets.remove(id);
        }
        for (id, _) in dropped.drain(..) {
            packets.remove(id);
        }
        now += Duration::from_micros(10);
    }
}

fn packet(flow: u32) -> Packet {
    Packet { flow, payload: 1000, size: 1040, ..Packet::default() }
}

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|argument| !argument.starts_with('-'));
    let only = arguments.next();
    if let Some(flows) = arguments.next() {
        let flows = flows.parse().expect("a number of flows");
        return measure(&only.expect("a discipline"), flows, 200_000);
    }
    for name in
        Chosen::NAMES.into_iter().filter(|name| *name != "python" && only.as_deref().is_none_or(|only| only == *name))
    {
        measure(name, 50, 2_000_000);
    }
    if only.as_deref().is_none_or(|only| only == "las") {
        for flows in [10, 100, 1_000, 10_000] {
            measure("las", flows, 2_000_000);
        }
    }
}
