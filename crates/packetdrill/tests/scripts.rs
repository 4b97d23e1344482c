//! Scripts written from RFCs, and the verdicts on wrong ones.

use std::path::Path;

use proptest::prelude::*;
use wifair_packetdrill::{PlayOptions, Report, ScriptVerdict, run};

fn nothing(_: &str) -> Option<String> {
    None
}

fn verdict(text: &str) -> Report {
    run(text, PlayOptions::default(), &nothing)
}

/// The scripts beside this file, by name.
fn scripts() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts");
    let mut scripts: Vec<_> = std::fs::read_dir(folder)
        .expect("the folder is part of the crate")
        .map(|entry| entry.expect("it can be listed").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "pkt"))
        .map(|path| {
            let text = std::fs::read_to_string(&path).expect("a script is text");
            (path.file_name().expect("it has a name").to_string_lossy().into_owned(), text)
        })
        .collect();
    scripts.sort();
    scripts
}

/// Each script names a section of an RFC and states what follows from it, worked out by hand.
#[test]
fn scripts_written_from_rfcs_pass() {
    let scripts = scripts();
    assert!(scripts.len() >= 40, "{} scripts", scripts.len());
    let wrong: Vec<_> = scripts
        .iter()
        .filter_map(|(name, text)| {
            let report = verdict(text);
            (report.verdict != ScriptVerdict::Pass).then(|| format!("{name}: {report:?}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

const OPEN: &str = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 bind(3, ..., ...) = 0\n+0 listen(3, 1) = 0\n\
                    +0 < S 0:0(0) win 65535 <mss 1000,sackOK,nop,nop,nop,wscale 7>\n+0 > S. 0:0(0) ack 1 <...>\n\
                    +.1 < . 1:1(0) ack 1 win 1000\n+0 accept(3, ..., ...) = 4\n";

fn after_open(rest: &str) -> (ScriptVerdict, u32, String) {
    let report = verdict(&format!("{OPEN}{rest}"));
    (report.verdict, report.place.map_or(0, |place| place.line), report.reason)
}

/// The control: a script with a wrong expectation fails.
#[test]
fn what_differs_is_told_with_both_sides() {
    for (rest, expected) in [
        ("+0 write(4, ..., 1000) = 1000\n+0 > P. 1:901(900) ack 1\n", "1:901(900)"),
        ("+0 write(4, ..., 1000) = 1000\n+0 > . 1:1001(1000) ack 1\n", "flags: expected ., got P."),
        ("+0 write(4, ..., 1000) = 1000\n+0 > P. 1:1001(1000) ack 2\n", "ack: expected 2, got 1"),
        ("+0 write(4, ..., 1000) = 1000\n+0 > P. 1:1001(1000) ack 1 <nop>\n", "options: expected <nop>, got <>"),
        ("+0 write(4, ..., 1000) = 1000\n+.01 > P. 1:1001(1000) ack 1\n", "expected at 0.110000 s"),
        ("+0 write(4, ..., 1000) = 999\n+0 > P. 1:1001(1000) ack 1\n", "returned 1000, expected 999"),
        ("+0 write(4, ..., 1000) = 1000\n+0 %{ assert tcpi_snd_cwnd == 11 }%\n", "tcpi_snd_cwnd = 10"),
        ("+0 write(4, ..., 1000) = 1000\n+0 > [ect0] P. 1:1001(1000) ack 1\n", "ECN: expected ect0, got noecn"),
        ("+0 read(4, ..., 1000) = 0\n+0 > P. 1:1001(1000) ack 1\n", "returned -1 EAGAIN, expected 0"),
    ] {
        let (verdict, line, reason) = after_open(rest);
        assert_eq!(verdict, ScriptVerdict::Differs, "{rest}: {reason}");
        assert!(line >= 8 && reason.contains(expected), "{rest}: line {line}, {reason}");
    }
    assert_eq!(after_open("+1 > P. 1:1001(1000) ack 1\n").0, ScriptVerdict::Differs);
}

/// The tolerance is 4 ms or an eighth of the wait, whichever is more; an option replaces both.
#[test]
fn times_are_held_to_the_tolerance() {
    let late = |micros: u32| format!("+0 write(4, ..., 1000) = 1000\n+.{micros:06} > P. 1:1001(1000) ack 1\n");
    assert_eq!(after_open(&late(4000)).0, ScriptVerdict::Pass);
    assert_eq!(after_open(&late(5000)).0, ScriptVerdict::Differs);
    let text = format!("{OPEN}{}", late(5000));
    let wide = run(&text, PlayOptions { tolerance_us: Some(6000) }, &nothing);
    assert_eq!(wide.verdict, ScriptVerdict::Pass, "{}", wide.reason);
    assert_eq!(run(&text, PlayOptions { tolerance_us: Some(100) }, &nothing).verdict, ScriptVerdict::Differs);
    assert_eq!(verdict(&format!("--tolerance_usecs=6000\n{text}")).verdict, ScriptVerdict::Pass);
}

#[test]
fn unknown_statements_are_unsupported_with_their_line() {
    for rest in [
        "+0 epoll_create(1) = 5\n",
        "+0 socket(..., SOCK_STREAM, IPPROTO_SCTP) = 7\n",
        "+0 socket(..., SOCK_STREAM, IPPROTO_MPTCP) = 7\n",
        "+0 ioctl(4, SIOCATMARK, [0]) = 0\n",
        "+0 < icmp unreachable frag_needed mtu 1200 [1:1001(1000)]\n",
        "+0 < udp (1000)\n",
        "+0 < . 1:1(0) ack 1 win 1000 <FO abcdef>\n",
        "+0 setsockopt(4, SOL_TCP, TCP_MD5SIG, [1], 4) = 0\n",
        "+0 `rm -rf /nonexistent`\n",
        "+0 `./some_script.sh`\n",
        "+0 %{ import os }%\n",
        "+0 %{ assert no_such_name == 1 }%\n",
        "+0 %{ assert open('x') }%\n",
        "+0 < U. 1:1(0) ack 1 win 1000 urg 3\n",
    ] {
        let (verdict, line, reason) = after_open(rest);
        assert_eq!((verdict, line), (ScriptVerdict::Unsupported, 8), "{rest}: {reason}");
    }
}

/// What only other versions of packetdrill know is unsupported. Nothing behind it is read.
#[test]
fn other_dialects_are_unsupported_with_their_line() {
    for rest in [
        "+0 < . 1:1(0) ack 1 win 1000 <mp_capable v1>\n",
        "+0 > . 1:1(0) ack 1 <nocheck>\n",
        "+0 > . 1:1(0) ack 1 <dss dack4=trunc_r64_hmac(skey) nocs>\n",
        "+0 > . 1:1(0) ack 1 <mss MSS,nop,wscale 8>\n",
        "+0 > . 1:1(0) ack ... win 5\n",
        "+0 > . 1:1(0) ack 1 win 5 <mss 1460,nop> /udp(8000>9000)\n",
        "+0 > . 1:1(0) ack 1 /udp(8000>9000)\n",
        "#ifdef Linux\n",
        "#define MSS 1460\n",
        "+0 < sctp: INIT[flgs=0, tag=1, a_rwnd=1500,\n   os=1, is=1, tsn=0]\n",
        "+0 < udplite (1000)\n",
        "+0 > addr[caddr0] > addr[saddr0] . 1:1(0) ack 1\n",
    ] {
        let (verdict, line, reason) = after_open(rest);
        assert_eq!((verdict, line), (ScriptVerdict::Unsupported, 8), "{rest}: {reason}");
    }
}

/// `errno.h` of Linux gives the number of EAGAIN to EWOULDBLOCK.
#[test]
fn an_error_with_two_names_is_one_error() {
    for name in ["EAGAIN", "EWOULDBLOCK"] {
        let (verdict, _, reason) = after_open(&format!("+0 recv(4, ..., 1000, MSG_DONTWAIT) = -1 {name}\n"));
        assert_eq!(verdict, ScriptVerdict::Pass, "{reason}");
    }
    assert_eq!(after_open("+0 recv(4, ..., 1000, MSG_DONTWAIT) = -1 EINTR\n").0, ScriptVerdict::Differs);
}

#[test]
fn malformed_scripts_are_errors_with_line_and_column() {
    for (rest, column) in [
        ("+0 < . 1:2(0) ack 1\n", 10),
        ("+0 < . 1-1(0) ack 1\n", 9),
        ("+0 < X. 1:1(0) ack 1\n", 6),
        ("+0 < . 1:1(0) ack 1 <mss 1000\n", 1),
        ("+0 < . 1:1(0) ack 1 win 70000\n", 25),
        ("write(4, ..., 1000) = 1000\n", 1),
        ("+0 write(4, ..., 1000 = 1000\n", 23),
        ("+0 %{ assert (1 }%\n", 17),
        ("+0 `unfinished\n", 5),
        ("+0 /* unfinished\n", 4),
        ("+.2~+.1 > . 1:1(0) ack 1\n", 6),
        ("+99999999 > . 1:1(0) ack 1\n", 2),
    ] {
        let report = verdict(&format!("{OPEN}{rest}"));
        assert_eq!(report.verdict, ScriptVerdict::Error, "{rest}: {}", report.reason);
        let place = report.place.expect("an error has a place");
        assert!(place.line >= 8 && (place.line > 8 || place.column == column), "{rest}: {place:?}, {}", report.reason);
    }
}

/// A script that checks nothing does not pass.
#[test]
fn a_script_without_events_is_an_error() {
    for text in ["", "\n\n", "// a comment\n/* and another */\n", "--tolerance_usecs=1000\n"] {
        let report = verdict(text);
        assert_eq!(report.verdict, ScriptVerdict::Error, "{text:?}");
        assert!(report.place.is_some() && report.reason.contains("no event"), "{text:?}: {}", report.reason);
    }
}

/// Arguments and code that are nested too deeply, and numbers that are too large, are errors, not crashes.
#[test]
fn extremes_are_refused() {
    let deep = format!("+0 f({}1{}) = 0\n", "[".repeat(10_000), "]".repeat(10_000));
    assert_eq!(after_open(&deep).0, ScriptVerdict::Error);
    assert_eq!(after_open("+0 write(4, ..., 99999999999999999999) = 1\n").0, ScriptVerdict::Error);
    assert_eq!(after_open("+0 write(4, ..., 999999999999999999) = 1\n").0, ScriptVerdict::Unsupported);
    assert_eq!(after_open("+0 < . 4294967295:4294967295(0) ack 4294967295 win 0\n").0, ScriptVerdict::Pass);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]
    /// Every changed script gets a verdict.
    #[test]
    fn no_change_of_a_script_upsets_anything(
        pick in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), 0_u8..6, any::<prop::sample::Index>()), 1..6),
    ) {
        const PIECES: [&str; 24] = [
            "+", "-", "0", "9", "4294967295", "~", "<", ">", "...", "`", "%{", "}%", "(", "]", "<sack 1:2>", "ack ", " win 0",
            "\"", "é", "\n", "TS val 1 ecr 2", "+1000 ", "S", "assert ",
        ];
        let scripts = scripts();
        let mut text = pick.get(&scripts).1.clone();
        for (place, kind, other) in changes {
            let at = (0..=place.index(text.len() + 1)).rev().find(|&i| text.is_char_boundary(i)).unwrap_or(0);
            match kind {
                0..3 => text.insert_str(at, PIECES[other.index(PIECES.len())]),
                3 if at < text.len() => {
                    text.remove(at);
                }
                4 => text.truncate(at),
                _ => {
                    let lines: Vec<_> = text.lines().map(str::to_owned).collect();
                    if !lines.is_empty() {
                        text.push_str(&lines[other.index(lines.len())]);
                        text.push('\n');
                    }
                }
            }
        }
        let report = verdict(&text);
        prop_assert!(report.place.is_some() == (report.verdict != ScriptVerdict::Pass));
        prop_assert!(report.reason.is_empty() == (report.verdict == ScriptVerdict::Pass));
    }

    /// Any text gets a verdict.
    #[test]
    fn no_text_upsets_the_reader(text in ".{0,200}") {
        verdict(&text);
    }
}
