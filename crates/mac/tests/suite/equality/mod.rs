//! Equivalence of channels: where all stations hear each other, of the general and the fast one; with powers that make
//! no difference, of the spatial one with and without powers. Also properties that hold on any channel.

#[macro_use]
mod scenario;

mod all_hear_all;
mod observed;
mod overlap;
mod space;

pub use observed::Told;
