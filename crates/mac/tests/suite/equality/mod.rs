//! Equivalence of channels. If all stations hear each other, the general channel equals the fast one; with powers that
//! make no difference, the spatial channel equals itself without powers. Also properties that hold on any channel.

#[macro_use]
mod scenario;

mod all_hear_all;
mod observed;
mod older;
mod overlap;
mod space;

pub use observed::ComparedFrame;
