//! The folders of this crate form a DAG, like the crates: each uses only those below it.

use std::fs;
use std::path::Path;

/// Layers from the bottom up; each is a folder, or a file of that name.
const LAYERS: [&str; 6] = ["traffic", "record", "world", "scenario", "build", "capture"];

fn uses(path: &Path, found: &mut Vec<String>) {
    if path.is_dir() {
        for entry in fs::read_dir(path).expect("the sources are there") {
            uses(&entry.expect("the sources can be read").path(), found);
        }
        return;
    }
    let text = fs::read_to_string(path).expect("the sources can be read");
    let names = text.match_indices("crate::").map(|(place, _)| {
        text[place + 7..].chars().take_while(|c| c.is_ascii_lowercase() || *c == '_').collect::<String>()
    });
    found.extend(names);
}

#[test]
fn folders_use_only_those_below_them() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for (height, layer) in LAYERS.iter().enumerate() {
        let mut found = vec![];
        for path in [root.join(layer), root.join(format!("{layer}.rs"))] {
            if path.exists() {
                uses(&path, &mut found);
            }
        }
        for name in found {
            let above = LAYERS[height + 1..].contains(&name.as_str());
            assert!(!above, "`{layer}` uses `{name}`, which stands above it");
        }
    }
}
