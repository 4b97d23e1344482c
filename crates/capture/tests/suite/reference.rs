//! Analyses of real captures compared with tcptrace, tshark and the kernels' own figures.

use std::io::Read;

use crate::common::{analyzed, folder, names};
use serde_json::Value;
use wifair_capture::{Analysis, AnalysisOptions, Rows, flag, mark};

fn reference(name: &str) -> Value {
    let stem = name.strip_suffix(".pcap").map_or_else(|| name.replace(".pcapng", "_pcapng"), str::to_owned);
    let path = folder().join(format!("reference/{stem}.json"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).expect("the reference is JSON")
}

fn json(analysis: &Analysis) -> Value {
    serde_json::from_str(&analysis.to_json()).expect("the output is JSON")
}

/// Every field of every direction, digit by digit. The `rtt_full_sz_*` are left out: tcptrace 6.6.7 takes a segment of
/// one sequence number for one of 4 GiB, so only SYN and FIN qualify.
#[test]
fn fields_agree_with_tcptrace() {
    let (mut compared, mut wrong) = (0, Vec::new());
    for name in names().iter().filter(|name| *name != "q_zero.pcap") {
        // tcptrace counts copies on several interfaces as retransmissions.
        let settings = AnalysisOptions { keep_copies: name.starts_with("m_any"), ..AnalysisOptions::default() };
        let (ours, theirs) = (json(&analyzed(name, settings)), reference(name));
        let (ours, theirs) = (&ours["connections"], &theirs["connections"]);
        assert_eq!(ours.as_array().map(Vec::len), theirs.as_array().map(Vec::len), "{name}: connections");
        for (ours, theirs) in ours.as_array().into_iter().flatten().zip(theirs.as_array().into_iter().flatten()) {
            for key in ["host_a", "host_b", "complete_conn", "elapsed_s"] {
                assert_eq!(ours[key], theirs[key], "{name}: {key}");
            }
            for side in ["a2b", "b2a"] {
                for (key, value) in theirs[side].as_object().expect("a direction has fields") {
                    if key.starts_with("rtt_full_sz") {
                        continue;
                    }
                    compared += 1;
                    let same = match (ours[side][key].as_f64(), value.as_f64()) {
                        (Some(ours), Some(theirs)) => ours == theirs,
                        _ => ours[side][key] == *value,
                    };
                    if !same {
                        wrong.push(format!("{name} {side} {key}: {} is {value} in tcptrace", ours[side][key]));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {compared} fields differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(compared > 5_000, "only {compared} fields were compared");
}

/// A table made by tshark, read by its header.
struct Packets {
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Packets {
    fn read(name: &str) -> Self {
        let stem = name.strip_suffix(".pcap").map_or_else(|| name.replace(".pcapng", "_pcapng"), str::to_owned);
        let path = folder().join(format!("reference/{stem}.pkts.csv.gz"));
        let mut text = String::new();
        let file = std::fs::File::open(path).expect("tshark's table is there");
        flate2::read::GzDecoder::new(file).read_to_string(&mut text).expect("it is text");
        let mut lines =
            text.lines().map(|line| line.split(',').map(|cell| cell.trim_matches('"').to_owned()).collect());
        let columns = lines.next().expect("there is a header");
        Self { columns, rows: lines.collect() }
    }

    fn get<'a>(&self, row: &'a [String], column: &str) -> &'a str {
        &row[self.columns.iter().position(|there| there == column).expect("the column is there")]
    }
}

/// For each row: bytes in the SACK blocks of the last ACK received for its direction.
fn last_blocks(rows: &Rows) -> Vec<i64> {
    let connections = rows.segments.iter().map(|row| row.connection as usize + 1).max().unwrap_or(0);
    let mut latest = vec![[0i64; 2]; connections];
    let mut next = 0;
    (0..)
        .zip(&rows.segments)
        .map(|(at, row)| {
            let (connection, side) = (row.connection as usize, usize::from(row.side));
            if row.ack >= 0 {
                let mut sum = 0;
                while rows.sacks.get(next).is_some_and(|(place, ..)| *place == at) {
                    let (_, left, right) = rows.sacks[next];
                    sum += right - left;
                    next += 1;
                }
                latest[connection][1 - side] = sum;
            }
            latest[connection][side]
        })
        .collect()
}

/// Compares packet by packet: lengths, flags, windows, numbers, retransmissions, round-trip times, bytes in flight.
///
/// tshark differs by design in these points. It calls an early retransmission "out of order", so the sum of the two is
/// compared. It times ACKs of segments that were sent twice, which this analysis does not (Karn). Its bytes in flight
/// use the SACK blocks of the last ACK only, and ignore bytes lost before the capture point, so they are compared with
/// the outstanding bytes minus those blocks, in captures at the sender. It counts a FIN as a byte from the next segment
/// on.
#[test]
fn packets_agree_with_tshark() {
    for name in names().iter().filter(|name| !name.starts_with("q_zero") && !name.starts_with("s_")) {
        let keep_copies = name.starts_with("m_any");
        let analysis = analyzed(name, AnalysisOptions { keep_copies, rows: true, ..AnalysisOptions::default() });
        let rows = analysis.rows.as_ref().expect("rows were asked for");
        let table = Packets::read(name);
        let blocks = last_blocks(rows);
        let mut ours = 0;
        let (mut sampled, mut flights) = (0, 0);
        let mut left_out = 0;
        let mut ended = std::collections::BTreeSet::new();
        let at_sender = name.contains("_snd") || name.contains("b_cubic") || name.starts_with("f_");
        for row in &table.rows {
            let frame: u64 = table.get(row, "frame.number").parse().expect("frames have numbers");
            let Some(at) = rows.segments[ours..].iter().position(|there| there.frame == frame).map(|at| at + ours)
            else {
                left_out += 1;
                continue;
            };
            ours = at;
            let own = &rows.segments[at];
            let number = |column: &str| table.get(row, column).parse::<i64>();
            assert_eq!(Ok(i64::from(own.payload)), number("tcp.len"), "{name}: {frame} length");
            assert_eq!(Ok(own.window.cast_signed()), number("tcp.window_size"), "{name}: {frame} window");
            let flags = u16::from_str_radix(&table.get(row, "tcp.flags")[2..], 16).expect("flags are hexadecimal");
            assert_eq!(u16::from(own.flags), flags & 0xff, "{name}: {frame} flags");
            // tshark numbers data before the first number seen downwards from the top of the 32-bit range.
            assert_eq!(Ok(i64::from(own.seq as u32)), number("tcp.seq"), "{name}: {frame} number");
            let told = |flag: &str| !table.get(row, &format!("tcp.analysis.{flag}")).is_empty();
            let theirs = told("retransmission")
                || told("fast_retransmission")
                || told("spurious_retransmission")
                || told("out_of_order");
            // Where copies were dropped, tshark takes them for retransmissions and times them again.
            if !name.starts_with("o_radiotap") {
                let here = own.again > 0 || own.marks & mark::OUT_OF_ORDER != 0;
                assert_eq!(here, theirs, "{name}: {frame} retransmission");
                if own.rtt > 0 {
                    let rtt: f64 = table.get(row, "tcp.analysis.ack_rtt").parse().expect("tshark has it too");
                    assert!((rtt - own.rtt as f64 * 1e-9).abs() < 2e-9, "{name}: {frame} {rtt}");
                    sampled += 1;
                }
            }
            if let (true, Ok(flight)) = (at_sender && own.payload > 0, number("tcp.analysis.bytes_in_flight")) {
                let direction = (own.connection, own.side);
                let outstanding = own.outstanding.cast_signed() + i64::from(ended.contains(&direction));
                assert_eq!(outstanding - blocks[at], flight, "{name}: {frame} in flight");
                if own.flags & flag::FIN != 0 {
                    ended.insert(direction);
                }
                flights += 1;
            }
        }
        // Copies made by 802.11 retries, and frames received with errors, which may have been anything.
        let counts = &analysis.counts;
        let broken = counts.bad_fcs;
        assert!(
            (counts.retry_copies..=counts.retry_copies + broken).contains(&left_out),
            "{name}: {left_out} left out"
        );
        let expected = if name.starts_with("q_empty") || name.starts_with("o_") || keep_copies { 0 } else { 100 };
        assert!(sampled >= expected, "{name}: only {sampled} round-trip times");
        assert!(flights >= if at_sender { 400 } else { 0 }, "{name}: only {flights} bytes in flight");
    }
}

/// The sending socket's TCP_INFO, sampled every 50 ms.
fn kernel(name: &str) -> Vec<std::collections::BTreeMap<String, f64>> {
    let mut text = String::new();
    let file = std::fs::File::open(folder().join(format!("kernel/{name}.csv.gz"))).expect("the figures are there");
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).expect("they are text");
    let mut lines = text.lines();
    let columns: Vec<&str> = lines.next().expect("there is a header").split(',').collect();
    lines
        .map(|line| {
            let cells = line.split(',').map(|cell| cell.parse().unwrap_or(f64::NAN));
            columns.iter().map(|column| (*column).to_owned()).zip(cells).collect()
        })
        .collect()
}

/// Outstanding data by the kernel's own count of segments: the mean over samples every 50 ms compared with the mean
/// over time, in captures at the sender (upload b: before the bottleneck). The mean of samples of a sawtooth with
/// standard deviation s has the error s / sqrt(n), treating samples as independent.
#[test]
fn outstanding_data_is_what_the_kernel_counted() {
    for (name, connection, side, socket) in [
        ("a_reno_down_snd.pcap", 0, 1, "a_reno_down"),
        ("b_cubic_2up_ap.pcap", 0, 0, "b_cubic_2up_c1"),
        ("b_cubic_2up_ap.pcap", 1, 0, "b_cubic_2up_c2"),
    ] {
        let samples: Vec<f64> = kernel(socket)
            .iter()
            .filter(|row| row["state"] == 1.0)
            .map(|row| row["unacked"] * row["snd_mss"])
            .collect();
        let n = samples.len() as f64;
        let mean = samples.iter().sum::<f64>() / n;
        let deviation = (samples.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt();
        let ours = json(&analyzed(name, AnalysisOptions::default()));
        let ours = &ours["connections"][connection][["a2b", "b2a"][side]];
        let outstanding = ours["outstanding_mean_bytes"].as_f64().expect("data was sent");
        let tolerance = 3.0 * deviation / n.sqrt();
        assert!((outstanding - mean).abs() < tolerance, "{name}: {outstanding} against {mean} +- {tolerance}");
    }
}

/// Retransmissions by the kernel's own count, at the sender; in capture a one more occurred after the last sample.
#[test]
fn retransmissions_agree_with_the_kernel() {
    for (name, connection, side, socket, after) in [
        ("a_reno_down_snd.pcap", 0, "b2a", "a_reno_down", 1),
        ("b_cubic_2up_ap.pcap", 0, "a2b", "b_cubic_2up_c1", 0),
        ("b_cubic_2up_ap.pcap", 1, "a2b", "b_cubic_2up_c2", 0),
        ("e_loss_sack_snd.pcap", 0, "b2a", "e_loss_sack", 0),
        ("e3_zero_window_snd.pcap", 0, "b2a", "e3_zero_window", 0),
        ("r_uml_westwood_vs_reno_snd.pcap", 0, "b2a", "uml_westwood_vs_reno.westwood", 0),
        ("r_uml_westwood_vs_reno_snd.pcap", 1, "b2a", "uml_westwood_vs_reno.reno", 0),
    ] {
        let ours = json(&analyzed(name, AnalysisOptions::default()));
        let ours = &ours["connections"][connection][side];
        let last = kernel(socket).pop().expect("there are samples");
        assert_eq!(ours["rexmt_data_pkts"].as_f64(), Some(last["total_retrans"] + f64::from(after)), "{name}");
        let split: f64 = ["fast", "timeout", "spurious"]
            .iter()
            .map(|cause| ours[format!("rexmt_{cause}_pkts")].as_f64().expect("a count"))
            .sum();
        assert_eq!(ours["rexmt_data_pkts"].as_f64(), Some(split), "{name}: the causes add up");
    }
}
