//! Numbers the sources of the core, so that stored results of other sources are never taken for its own.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

/// The crates whose sources a result depends on.
const CORE: [&str; 12] =
    ["units", "packet", "config", "engine", "tcp", "phy", "queue", "mac", "ap", "routing", "metrics", "sim"];

/// Writes the number for the compiler. Its environment gives it as `WIFAIR_SOURCE`.
pub fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("../..");
    let mut files = vec![root.join("Cargo.lock")];
    for name in CORE {
        collect(&root.join("crates").join(name).join("src"), &mut files)?;
    }
    collect(&root.join("crates/py/src/extend"), &mut files)?;
    files.sort();
    let mut hash = Fnv::default();
    for file in &files {
        println!("cargo::rerun-if-changed={}", file.display());
        let name = file.strip_prefix(&root).unwrap_or(file).to_string_lossy().replace('\\', "/");
        // A checkout may have turned the ends of lines.
        let text = fs::read(file).unwrap_or_default();
        hash.take(name.as_bytes());
        hash.take(&text.into_iter().filter(|byte| *byte != b'\r').collect::<Vec<_>>());
    }
    println!("cargo::rustc-env=WIFAIR_SOURCE={:016x}", hash.0);
    println!("cargo::rustc-env=WIFAIR_COMPILER={}", compiler()?);
    Ok(())
}

/// What the compiler says of itself, and how far it optimises: records of runs name it.
fn compiler() -> io::Result<String> {
    let asked = Command::new(env::var("RUSTC").expect("cargo sets it")).arg("--version").output()?;
    let version = String::from_utf8_lossy(&asked.stdout).trim().to_owned();
    let level = env::var("OPT_LEVEL").expect("cargo sets it");
    let target = env::var("TARGET").expect("cargo sets it");
    Ok(format!("{version}, {target}, opt-level {level}"))
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    println!("cargo::rerun-if-changed={}", folder.display());
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            files.push(path);
        }
    }
    Ok(())
}

/// FNV-1a with 64 bits (G. Fowler, L. C. Noll, K.-P. Vo; RFC 9923): enough to tell sources apart, and a few lines.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    /// Takes a part in; its length keeps it apart from the next.
    fn take(&mut self, bytes: &[u8]) {
        for byte in (bytes.len() as u64).to_le_bytes().iter().chain(bytes) {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}
