//! The captures of the verdicts that are made here, by name.

use super::talking::{Client, Host, S, Server, Talk};
use crate::common::talk::{MS, Step};

const MBPS: u64 = 1_000_000;

/// A connection from this port of host 1 to port 80 of host 9 over 20 ms and 10 Mb/s.
fn talk(at: u64, now: u64, port: u8) -> Talk {
    Talk::new(at, now, [1, port], [9, 80], 20 * MS, 10 * MBPS)
}

/// The same from another host, with a rate.
fn from(at: u64, host: u8, now: u64, port: u8, rate: u64) -> Talk {
    Talk::new(at, now, [host, port], [9, 80], 20 * MS, rate)
}

/// iperf3's control connection: cookie, parameters, states; silence; results and end.
fn control(at: u64, host: u8, port: u8, seconds: u64) -> Talk {
    from(at, host, 0, port, 10 * MBPS)
        .open(Client)
        .say(Client, 37)
        .say(Server, 1)
        .say(Client, 140)
        .say(Server, 1)
        .wait(60 * MS)
        .say(Server, 2)
        .wait(seconds * S)
        .say(Client, 1)
        .say(Server, 1)
        .say(Client, 320)
        .say(Server, 330)
        .say(Client, 1)
        .close(Client)
}

/// A stream of iperf3: its cookie, and data for some seconds at a rate.
fn stream(at: u64, host: u8, port: u8, rate: u64, seconds: u64, sender: Host) -> Talk {
    let bytes = (rate * seconds / 8) as u32;
    let talk = from(at, host, 70 * MS, port, rate).open(Client).say(Client, 37).wait(30 * MS);
    talk.send(sender, bytes).close(Client)
}

fn backup(at: u64, seconds: u64) -> Talk {
    from(at, 2, 0, 7, 5 * MBPS).open(Client).send(Client, (5 * MBPS * seconds / 8) as u32)
}

fn typing(talk: Talk, keys: u32) -> Talk {
    (0..keys).fold(talk, |talk, key| talk.say(Client, 36).say(Server, 36).wait((90 + u64::from(key * 37 % 200)) * MS))
}

fn alive(at: u64, bytes: u32) -> Talk {
    talk(at, 0, 1).open(Client).ask(200, 300).ask(210, 280).keep_alives(Client, bytes, 6, 10 * S)
}

fn ftp_control(at: u64) -> Talk {
    let command = |talk: Talk, asks: u32, answers: u32| talk.say(Client, asks).say(Server, answers);
    let talk = Talk::new(at, 0, [1, 1], [9, 21], 20 * MS, 10 * MBPS).open(Client).say(Server, 40);
    let talk = command(command(command(talk, 16, 34), 20, 30), 6, 50);
    talk.say(Client, 18).say(Server, 70).wait(4 * S).say(Server, 24).say(Client, 6).say(Server, 14).close(Client)
}

/// The segments of a capture, in the order of time, captured at `at` per cent of the way from the client to the server.
pub fn made(name: &str, at: u64) -> Option<Vec<Step>> {
    let bulk = 2_000_000;
    let talks = match name {
        "http_download" => vec![talk(at, 0, 1).open(Client).ask(350, bulk).close(Server)],
        "http_small" => vec![talk(at, 0, 1).open(Client).ask(350, 6_000).close(Server)],
        "http_page" => {
            let objects = (0..12).fold(talk(at, 0, 1).open(Client), |talk, nth| {
                talk.ask(400 + 7 * nth, 2_000 + 10_000 * (nth * 5 % 12) / 11).wait(u64::from(nth % 3) * 40 * MS)
            });
            vec![objects]
        }
        "http_post" => {
            let up = talk(at, 0, 1).open(Client).send(Client, 1_500_000);
            vec![up.say(Server, 200).close(Client)]
        }
        "http_large_cookies" => {
            vec![(0..10).fold(talk(at, 0, 1).open(Client), |talk, _| {
                talk.send(Client, 4_000).send(Server, 1_000).wait(300 * MS)
            })]
        }
        "http_download_then_idle" => {
            vec![talk(at, 0, 1).open(Client).ask(350, 300_000).wait(60 * S).close(Server)]
        }
        "http2" => {
            let data = talk(at, 0, 1).open(Client).ask(500, bulk);
            let requests = talk(at, 0, 1).wait(150 * MS).stream(Client, 6, 300, 200 * MS).without(Server);
            vec![data.beside(requests)]
        }
        "long_poll" => {
            vec![
                (0..3)
                    .fold(talk(at, 0, 1).open(Client), |talk, _| talk.say(Client, 300).wait(25 * S).send(Server, 200)),
            ]
        }
        "alive_linux" => vec![alive(at, 0)],
        "alive_windows" => vec![alive(at, 1)],
        "alive_windows_fresh" => vec![talk(at, 0, 1).open(Client).keep_alives(Client, 1, 5, 10 * S)],
        "alive_windows_middle" => vec![talk(at, 0, 1).keep_alives(Client, 1, 5, 10 * S)],
        "alive_macos" => vec![talk(at, 0, 1).open(Client).ask(350, 500_000).keep_alives(Client, 0, 4, 15 * S)],
        "iperf3_upload" => vec![control(at, 1, 1, 5), stream(at, 1, 2, 5 * MBPS, 5, Client)],
        "iperf3_two" => vec![
            control(at, 1, 1, 5),
            stream(at, 1, 2, 5 * MBPS, 5, Client),
            control(at, 2, 3, 5).wait(0),
            stream(at, 2, 4, 5 * MBPS, 5, Client),
        ],
        "iperf3_reverse" => vec![control(at, 1, 1, 5), stream(at, 1, 2, 5 * MBPS, 5, Server)],
        "iperf3_bidir" => {
            vec![
                control(at, 1, 1, 5),
                stream(at, 1, 2, 5 * MBPS, 5, Client),
                stream(at, 1, 3, 5 * MBPS, 5, Server).wait(0),
            ]
        }
        "iperf3_parallel" => (2..6).map(|port| stream(at, 1, port, MBPS, 5, Client)).fold(
            vec![control(at, 1, 1, 5)],
            |mut all, stream| {
                all.push(stream);
                all
            },
        ),
        "iperf3_cut" => {
            vec![control(at, 1, 1, 5).until(3 * S), stream(at, 1, 2, 5 * MBPS, 5, Client).until(3 * S)]
        }
        "iperf3_starved" => vec![
            control(at, 1, 1, 5),
            stream(at, 1, 2, 9_800_000, 5, Client),
            control(at, 2, 3, 5),
            stream(at, 2, 4, 200_000, 5, Client),
        ],
        "ssh_typing" => vec![typing(talk(at, 0, 1).open(Client), 60)],
        "ssh_lost_key" => {
            let talk = typing(talk(at, 0, 1).open(Client), 20).lose(Client, 36, 1).repair(Client, 36).say(Server, 36);
            vec![typing(talk, 20)]
        }
        "ssh_beside_scp" => {
            vec![
                typing(talk(at, 0, 1).open(Client), 60),
                talk(at, S, 2).open(Client).send(Client, 4 * bulk).close(Client),
            ]
        }
        "ssh_output" => {
            let talk = typing(talk(at, 0, 1).open(Client), 30).say(Client, 36).send(Server, 100_000);
            vec![typing(talk, 30)]
        }
        "telnet_middle" => {
            let keys = (0..30).fold(talk(at, 0, 1), |talk, _| talk.say(Client, 1).say(Server, 1).wait(150 * MS));
            vec![keys]
        }
        "dns" => vec![talk(at, 0, 1).open(Client).ask(40, 900).close(Client)],
        "dns_zone" => vec![talk(at, 0, 1).open(Client).ask(40, 300_000).close(Client)],
        "smtp" => {
            let talk = talk(at, 0, 1).open(Client).say(Server, 50).say(Client, 20).say(Server, 150).say(Client, 30);
            let talk = talk.say(Server, 14).say(Client, 6).say(Server, 37).send(Client, 800_000);
            vec![talk.say(Server, 36).say(Client, 6).say(Server, 15).close(Client)]
        }
        "ftp_passive" => {
            let file = Talk::new(at, 400 * MS, [1, 2], [9, 77], 20 * MS, 5 * MBPS).open(Client);
            vec![ftp_control(at), file.send(Server, bulk).close(Server)]
        }
        "ftp_active" => {
            let file = Talk::new(at, 400 * MS, [1, 2], [9, 20], 20 * MS, 5 * MBPS).open(Server);
            vec![ftp_control(at), file.send(Server, bulk).close(Server)]
        }
        "tls_download" => {
            let hello =
                talk(at, 0, 1).open(Client).say(Client, 517).send(Server, 4_100).say(Client, 64).say(Client, 300);
            // Records of 16 kB, each with a short segment at its end; the next one leaves behind it.
            let records = (0..180).fold(hello, |talk, _| {
                let talk = talk.send(Server, 16_408);
                let now = talk.now;
                talk.back_to(now - 20 * MS)
            });
            vec![records.wait(20 * MS).close(Server)]
        }
        "tls_handshake" => {
            let talk = talk(at, 0, 1).open(Client).say(Client, 517).send(Server, 4_100).say(Client, 64);
            vec![talk.say(Server, 250).close(Client)]
        }
        "slow_reader" => vec![talk(at, 0, 1).open(Client).read_slowly(Server, 28, 700 * MS)],
        "half_open" => vec![talk(at, 0, 1).syn(4, false)],
        "syn_flood" => {
            let mut all = vec![backup(at, 6)];
            all.extend(
                (1..=40)
                    .map(|port| Talk::new(at, MS * u64::from(port), [3, port], [9, 80], 20 * MS, MBPS).syn(1, true)),
            );
            all
        }
        "refused" => vec![talk(at, 0, 1).refused()],
        "port_scan" => (1..=20).map(|port| Talk::new(at, 0, [1, 1], [9, port], 20 * MS, MBPS).refused()).collect(),
        "reset" => vec![talk(at, 0, 1).open(Client).send(Client, 1_000_000).reset(Server)],
        "bulk_middle" => vec![talk(at, 0, 1).open(Client).ask(350, bulk).since(500 * MS)],
        "one_way" => vec![talk(at, 0, 1).open(Client).send(Client, bulk).without(Server)],
        "one_way_request" => vec![talk(at, 0, 1).open(Client).ask(350, bulk).without(Server)],
        "video" | "video_beside_backup" => {
            let video = (0..6).fold(talk(at, 0, 1).open(Client), |talk, nth| {
                let talk = talk.ask(400, 600_000);
                let next = 4 * S * (nth + 1);
                let now = talk.now;
                talk.wait(next - now)
            });
            if name == "video" { vec![video] } else { vec![video, backup(at, 24).close(Client)] }
        }
        "paced_download" => {
            vec![(0..60).fold(talk(at, 0, 1).open(Client).say(Client, 300), |talk, _| {
                let now = talk.now;
                let talk = talk.send(Server, 18_000);
                let taken = talk.now - now;
                talk.wait((150 * MS).saturating_sub(taken))
            })]
        }
        "exact_segments" => vec![talk(at, 0, 1).open(Client).stream(Client, 80, 1_448, 100 * MS)],
        "market_feed" => vec![talk(at, 0, 1).open(Client).say(Client, 200).stream(Server, 150, 500, 100 * MS)],
        "call_over_tcp" => {
            let call = talk(at, 0, 1).open(Client).stream(Client, 400, 160, 20 * MS);
            vec![call.beside(talk(at, 0, 1).wait(37 * MS).stream(Server, 400, 160, 20 * MS))]
        }
        "mqtt" => vec![talk(at, 0, 1).open(Client).ask(40, 4).stream(Client, 12, 60, 5 * S)],
        "imap_idle" => {
            let talk = talk(at, 0, 1).open(Client).ask(30, 60).ask(12, 20).wait(30 * S).send(Server, 60);
            vec![talk.wait(30 * S).send(Server, 60)]
        }
        "backup_and_typing" => vec![backup(at, 10).close(Client), typing(talk(at, 100 * MS, 1).open(Client), 40)],
        "backup_in_pieces" => {
            vec![
                (0..10).fold(talk(at, 0, 1).open(Client), |talk, _| {
                    talk.send(Client, 65_536).say(Server, 100).wait(2 * S)
                }),
            ]
        }
        "starved_upload" => {
            let starved =
                from(at, 3, 100 * MS, 1, 5 * MBPS).open(Client).send(Client, 3 * 1_448).lose(Client, 1_448, 4);
            vec![backup(at, 12).close(Client), starved]
        }
        "starved_request" => {
            let starved = from(at, 3, 100 * MS, 1, 5 * MBPS).open(Client).lose(Client, 400, 4);
            vec![backup(at, 12).close(Client), starved]
        }
        "two_round_trips" => vec![
            Talk::new(at, 0, [1, 1], [9, 80], 10 * MS, 6 * MBPS).open(Client).ask(350, 6_000_000),
            Talk::new(at, MS, [2, 2], [9, 80], 100 * MS, 2 * MBPS).open(Client).ask(350, 2_000_000),
        ],
        "up_and_down" => vec![
            from(at, 1, 0, 1, 4 * MBPS).open(Client).send(Client, 2 * bulk).close(Client),
            from(at, 2, MS, 2, 6 * MBPS).open(Client).ask(350, 3 * bulk).close(Server),
        ],
        "both_ways" => {
            let up = from(at, 1, 0, 1, 4 * MBPS).open(Client).send(Client, bulk);
            vec![up.beside(from(at, 1, 0, 1, 4 * MBPS).wait(21 * MS).send(Server, bulk))]
        }
        "database" => {
            let talk = Talk::new(at, 0, [1, 1], [9, 80], MS, 100 * MBPS).open(Client);
            vec![(0..20).fold(talk, |talk, _| talk.ask(100, 100_000))]
        }
        "idle_beside_backup" => {
            let mut all = vec![backup(at, 40).close(Client)];
            all.extend((1..=5).map(|port| {
                let idle = Talk::new(at, MS * u64::from(port), [4, port], [9, 80], 20 * MS, MBPS);
                idle.open(Client).keep_alives(Client, 0, 2, 15 * S)
            }));
            all
        }
        _ => return None,
    };
    let mut steps: Vec<Step> = talks.into_iter().flat_map(|talk| talk.steps).collect();
    steps.sort_by_key(|(at, _)| *at);
    Some(steps)
}
