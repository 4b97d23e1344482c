//! Explanations: what they say of known scenarios, of random ones, and of scenarios whose cause is mended.

mod causes;
mod lessons;
mod random;
mod support;
mod truth;
mod words;
