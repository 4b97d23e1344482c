//! Gives the number of the core's sources, as the bindings have it.

#[path = "../py/build.rs"]
mod number;

fn main() -> std::io::Result<()> {
    number::main()
}
