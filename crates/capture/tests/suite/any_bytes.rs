//! What must hold for any bytes, whether the fuzzer or the tests on its corpus supply them.

use wifair_capture::{Analysis, AnalysisOptions, Analyzer, COLUMNS, Error, LinkType, Record, analyze};

/// Reads the bytes as a capture file.
///
/// # Panics
/// If an invariant is violated.
pub fn file(bytes: &[u8]) {
    let settings = AnalysisOptions { rows: true, ..AnalysisOptions::default() };
    match analyze(bytes, settings, |_, _| true) {
        Ok(analysis) => {
            assert!(!analysis.to_json().is_empty());
            read_tables(&analysis);
        }
        Err(Error::Io(error)) => panic!("memory can be read: {error}"),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// Computes every figure of the connections and of the segments.
///
/// # Panics
/// If an invariant is violated.
pub fn read_tables(analysis: &Analysis) {
    for connection in analysis.connections() {
        let _ = [0, 1].map(|side| connection.row(side));
    }
    let rows = analysis.rows.as_ref().expect("rows were asked for");
    assert_eq!(rows.segments.len() as u64, analysis.counts.tcp, "each segment has its row");
    for row in &rows.segments {
        for column in COLUMNS {
            let _ = (column.value)(row, rows.origin);
        }
    }
}

/// Reads the bytes as a frame; the first byte chooses the link type.
pub fn frame(bytes: &[u8]) {
    const LINKS: [LinkType; 11] = [
        LinkType::Ethernet,
        LinkType::RawIp,
        LinkType::Loopback,
        LinkType::Cooked,
        LinkType::Cooked2,
        LinkType::Wifi,
        LinkType::Radiotap,
        LinkType::Other(9),
        LinkType::Ppi,
        LinkType::Prism,
        LinkType::Avs,
    ];
    let Some((first, data)) = bytes.split_first() else { return };
    let link = LINKS[usize::from(*first) % LINKS.len()];
    let mut analyzer = Analyzer::new(AnalysisOptions { rows: true, ..AnalysisOptions::default() });
    for (nanos, original) in [(0, data.len() as u32), (1_000_000, 40), (2_000_000, u32::MAX)] {
        let original = original.max(data.len() as u32);
        analyzer.take(&Record { nanos, interface: 0, link, original, data });
    }
    let analysis = analyzer.finish(Vec::new(), None);
    assert!(!analysis.to_json().is_empty());
}
