//! Packetdrill scripts.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use pyo3::prelude::*;
use wifair_packetdrill::{MAX_BYTES, PlayOptions, run};

/// Reads a file, but at most one byte more than a script may have.
fn read(path: &Path) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Runs the script at `path`. Returns its verdict, the line and column where it was decided, and the reason.
///
/// Files that the script names, such as `defaults.sh`, are read as text from the same folder.
#[pyfunction]
#[pyo3(signature = (path, tolerance_us=None))]
pub fn packetdrill(
    py: Python<'_>,
    path: &str,
    tolerance_us: Option<u64>,
) -> PyResult<(&'static str, Option<u32>, Option<u32>, String)> {
    let text = read(Path::new(path))?;
    let folder = Path::new(path).parent().unwrap_or(Path::new(".")).to_owned();
    let report = py.detach(|| {
        let beside = |name: &str| {
            let file = folder.join(name);
            // Only regular files: reading from a device or a pipe might not end.
            if file.is_file() { read(&file).ok() } else { None }
        };
        run(&text, PlayOptions { tolerance_us }, &beside)
    });
    Ok((report.verdict.name(), report.place.map(|p| p.line), report.place.map(|p| p.column), report.reason))
}
