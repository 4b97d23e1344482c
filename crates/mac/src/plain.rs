//! Stands for [`fast`](crate::fast) where the feature of that name is off.

/// A source whose datagrams need no events: there is none.
#[derive(Clone, Copy, Debug)]
pub enum SaturatedSource {}
