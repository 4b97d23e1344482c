//! Sets `WIFAIR_SOURCE`, the hash of the core's sources, as the build of the Python bindings does.

#[path = "../py/build.rs"]
mod number;

fn main() -> std::io::Result<()> {
    number::main()
}
