//! Who hears whom.

/// What one station hears of another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hearing {
    /// Nothing: the other's frames neither defer nor disturb it.
    #[default]
    Nothing,
    /// That somebody sends: it defers, and cannot read another frame meanwhile.
    Senses,
    /// The frame itself.
    Reads,
}

/// One direction between two stations.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    /// The station that hears.
    pub to: u32,
    /// Whether it can read a frame that meets no other.
    pub reads: bool,
}

/// For each station those that hear it, in the order of their numbers.
#[derive(Clone, Debug)]
pub struct Links {
    /// Where the links of each station begin, and behind them the number of all.
    first: Vec<u32>,
    links: Vec<Link>,
}

impl Links {
    /// `hearing(from, to)`: what `to` hears of `from`, for `stations` stations.
    ///
    /// # Panics
    /// If there are more than 2^32 links.
    #[must_use]
    pub fn from_hearing(stations: u32, hearing: impl Fn(u32, u32) -> Hearing) -> Self {
        let mut links = Self { first: vec![0], links: vec![] };
        for from in 0..stations {
            for to in (0..stations).filter(|to| *to != from) {
                match hearing(from, to) {
                    Hearing::Nothing => {}
                    heard => links.links.push(Link { to, reads: heard == Hearing::Reads }),
                }
            }
            links.first.push(u32::try_from(links.links.len()).expect("fewer than 2^32 links"));
        }
        links
    }

    /// Everybody reads everybody.
    #[must_use]
    pub fn full(stations: u32) -> Self {
        Self::from_hearing(stations, |_, _| Hearing::Reads)
    }

    /// Number of stations.
    #[must_use]
    pub fn stations(&self) -> usize {
        self.first.len() - 1
    }

    /// Those who hear `station`.
    #[inline]
    pub(super) fn of(&self, station: u32) -> &[Link] {
        &self.links[self.first[station as usize] as usize..self.first[station as usize + 1] as usize]
    }
}
