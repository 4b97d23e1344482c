//! Statistics of both kinds of Minstrel: the average success rate, and the best of several.

/// Attempts since the last evaluation, and the average success rate.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SuccessRate {
    attempts: u32,
    successes: u32,
    /// `None` before the first attempt.
    average: Option<f64>,
}

impl SuccessRate {
    pub fn note(&mut self, attempts: u32, successes: u32) {
        self.attempts += attempts;
        self.successes += successes;
    }

    /// Updates the average with the attempts since the last evaluation; the previous value has the weight `keep`.
    pub fn evaluate(&mut self, keep: f64) {
        if self.attempts > 0 {
            let now = f64::from(self.successes) / f64::from(self.attempts);
            let average = self.average.map_or(now, |before| keep * before + (1.0 - keep) * now);
            *self = Self { average: Some(average), ..Self::default() };
        }
    }

    /// The average, zero before the first attempt.
    pub fn average(&self) -> f64 {
        self.average.unwrap_or(0.0)
    }
}

/// Among `count` candidates, except `but`, the first with the highest value above zero.
pub(super) fn highest(count: usize, but: Option<usize>, value: impl Fn(usize) -> f64) -> Option<usize> {
    let mut found = (None, 0.0);
    for index in (0..count).filter(|index| Some(*index) != but) {
        let value = value(index);
        if value > found.1 {
            found = (Some(index), value);
        }
    }
    found.0
}
