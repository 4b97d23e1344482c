//! Cost of an ACK at the sender: `on_packet` and `poll`, with nothing lost.
//!
//! `cargo bench -p wifair-tcp` prints nanoseconds an ACK.
#![allow(clippy::print_stdout, clippy::disallowed_methods)]

use std::hint::black_box;
use std::time::Instant;

use wifair_config::{Document, Source};
use wifair_packet::{Kind, Packet, flag};
use wifair_tcp::{Sender, Settings};
use wifair_units::{Duration, Time};

fn main() {
    for text in ["stack = 'ns2'", "stack = 'rfc'", "stack = 'modern'"] {
        let document =
            Document::parse(Source::file("bench.toml", &format!("{text}\nmss = '1000 B'\nhandshake = 'none'")));
        let (config, _) = document.read::<Settings>().unwrap_or_else(|problems| panic!("{problems}")).resolve();
        let mut sender = Sender::new(&config, 0);
        sender.open(Time::ZERO);
        sender.supply(u64::MAX);
        let mut now = Time::ZERO;
        let acks = 20_000_000_u64;
        let mut packets = 0_u64;
        let start = Instant::now();
        for i in 0..acks {
            while let Some(packet) = sender.poll(now) {
                packets += 1;
                black_box(&packet);
            }
            now += Duration::from_micros(100);
            let ack =
                Packet { ack: (i + 1) * 1000, window: 60_000, flags: flag::ACK, kind: Kind::Ack, ..Packet::default() };
            sender.on_packet(now, black_box(&ack));
            black_box(sender.deadline());
        }
        let cost = start.elapsed().as_secs_f64() * 1e9 / acks as f64;
        println!("{text}: {cost:.1} ns an ACK, {packets} segments, sender of {} bytes", size_of::<Sender>());
    }
}
