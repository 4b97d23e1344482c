//! Prints the analysis of a capture as JSON: `analyze FILE [quiet|keep]`.

use std::io::Write;

use wifair_capture::{AnalysisOptions, analyze};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let path = arguments.first().ok_or("usage: analyze FILE [quiet|keep]")?;
    let asked = |word: &str| arguments.iter().any(|argument| argument == word);
    let settings = AnalysisOptions { keep_copies: asked("keep"), ..AnalysisOptions::default() };
    let analysis = analyze(std::fs::File::open(path)?, settings, |_, _| true)?;
    let mut out = std::io::stdout().lock();
    if asked("quiet") {
        writeln!(out, "{} packets, {} connections", analysis.counts.packets, analysis.connections().len())?;
    } else {
        out.write_all(analysis.to_json().as_bytes())?;
    }
    Ok(())
}
