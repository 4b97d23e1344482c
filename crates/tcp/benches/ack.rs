//! Cost of an ACK (`on_packet` and `poll`) without loss, and with 80,000 holes in a window of 183,333 segments (10
//! Gb/s, 220 ms).
//!
//! `cargo bench -p wifair-tcp` prints nanoseconds. On a busy machine count instructions instead: `perf stat`, with the
//! name of one case as argument.
#![allow(clippy::print_stdout, clippy::disallowed_methods)]

use std::hint::black_box;
use std::time::Instant;

use wifair_config::{Document, Source};
use wifair_packet::{Kind, Packet, flag};
use wifair_tcp::{Receiver, Sender, TcpSettings};
use wifair_units::{Duration, Time};

fn ends(text: &str) -> (Sender, Receiver) {
    let document = Document::parse(Source::file("bench.toml", text));
    let (sender, receiver) = document.read::<TcpSettings>().unwrap_or_else(|problems| panic!("{problems}")).resolve();
    (Sender::new(&sender, 0), Receiver::new(&receiver, 0))
}

/// ACKs for one segment each, without loss.
fn clean(name: &str, text: &str) {
    let (mut sender, _) = ends(&format!("{text}\nmss = '1000 B'\nhandshake = 'none'"));
    sender.open(Time::ZERO);
    sender.supply(u64::MAX);
    let mut now = Time::ZERO;
    let acks = 2_000_000_u64;
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
    println!("{name}: {cost:.1} ns an ACK, {packets} segments, sender of {} bytes", size_of::<Sender>());
}

/// A window of 183,333 segments in which every even one of the first 160,000 is lost, and its repair.
fn holes(name: &str, text: &str) {
    const WINDOW: usize = 183_333;
    let (mut sender, mut receiver) = ends(&format!(
        "{text}\nsack = true\nreceive_window = '{WINDOW} packets'\ninitial_window = '{WINDOW} packets'\n\
         delayed_ack = false\nmin_rto = '1 s'"
    ));
    let (round, gap) = (Duration::from_millis(220), Duration::from_nanos(1200));
    let mut now = Time::ZERO;
    let mut travelling = Vec::new();
    sender.open(now);
    sender.supply(u64::MAX);
    let (mut acks, mut at_sender, mut at_receiver, mut worst) = (0_u64, 0.0, 0.0, 0.0_f64);
    for trip in 0..12 {
        while let Some(packet) = sender.poll(now) {
            travelling.push(packet);
        }
        now += round;
        for (i, packet) in std::mem::take(&mut travelling).iter().enumerate() {
            now += gap;
            if trip == 1 && i % 2 == 0 && i < 160_000 {
                continue;
            }
            let start = Instant::now();
            receiver.on_packet(now, packet);
            let ack = receiver.poll(now);
            at_receiver += start.elapsed().as_secs_f64();
            let Some(ack) = ack else { continue };
            let start = Instant::now();
            sender.on_packet(now, &ack);
            while let Some(packet) = sender.poll(now) {
                travelling.push(packet);
            }
            let took = start.elapsed().as_secs_f64();
            at_sender += took;
            worst = worst.max(took);
            acks += 1;
        }
        if sender.deadline() <= now {
            sender.on_timer(now);
        }
    }
    println!(
        "{name}: sender {:.0} ns, receiver {:.0} ns an ACK, worst {:.0} us; {acks} ACKs, {} segments sent again, \
         {} timeouts, {} MB delivered",
        at_sender * 1e9 / acks as f64,
        at_receiver * 1e9 / acks as f64,
        worst * 1e6,
        sender.counts().retransmissions,
        sender.counts().timeouts,
        receiver.delivered() / 1_000_000,
    );
}

type Case = (&'static str, fn(&str, &str), &'static str);

fn main() {
    let wanted = std::env::args().nth(1).filter(|argument| argument != "--bench");
    let cases: [Case; 7] = [
        ("ns2", clean, "stack = 'ns2'"),
        ("rfc", clean, "stack = 'rfc'"),
        ("sack", clean, "stack = 'rfc'\nsack = true"),
        ("modern", clean, "stack = 'modern'"),
        ("sack-holes", holes, "stack = 'rfc'"),
        ("prr-holes", holes, "stack = 'rfc'\nprr = true"),
        ("rack-holes", holes, "stack = 'modern'"),
    ];
    for (name, run, text) in cases {
        if wanted.as_ref().is_none_or(|wanted| wanted == name) {
            run(name, text);
        }
    }
}
