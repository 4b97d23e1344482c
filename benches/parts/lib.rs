//! Nothing but a place for the benches of the parts: `cargo bench -p wifair-benches`.
