//! Event sources merged in one total order, lazy timers, named random streams.
