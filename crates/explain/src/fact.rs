//! One thing that happened: a sentence, the figures that it rests on, and the conditions that they must meet.

use serde_json::{Map, Value, json};

/// How a figure must compare with a bound for a sentence to be true.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// Not below the bound.
    AtLeast,
    /// Not above the bound.
    AtMost,
}

/// What must be so for a sentence to be true.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// The name of the figure.
    pub figure: String,
    /// How it compares.
    pub relation: Relation,
    /// With what.
    pub bound: f64,
}

/// A sentence with its figures. It is printed only if the figures meet its conditions.
#[derive(Clone, Debug, PartialEq)]
pub struct Fact {
    /// The rule that found it; see [`crate::RULES`].
    pub rule: &'static str,
    /// A word or two: what it is about.
    pub topic: &'static str,
    /// The sentence, or a few.
    pub text: String,
    /// The numbers that it rests on, units in their names.
    pub figures: Vec<(String, f64)>,
    /// What the numbers must be like.
    pub conditions: Vec<Condition>,
    /// The flows or stations that it names as those concerned.
    pub about: Vec<String>,
    /// Changes of the scenario that may help, as behind `--set`.
    pub advice: Vec<String>,
}

impl Fact {
    pub(crate) fn new(topic: &'static str, text: String) -> Self {
        Self { rule: "", topic, text, figures: vec![], conditions: vec![], about: vec![], advice: vec![] }
    }

    /// Adds a figure.
    #[must_use]
    pub(crate) fn figure(mut self, name: &str, value: f64) -> Self {
        self.figures.push((name.to_owned(), value));
        self
    }

    /// Adds a figure that must not be below `bound`.
    #[must_use]
    pub(crate) fn at_least(mut self, name: &str, value: f64, bound: f64) -> Self {
        self.conditions.push(Condition { figure: name.to_owned(), relation: Relation::AtLeast, bound });
        self.figure(name, value)
    }

    /// Adds a figure that must not be above `bound`.
    #[must_use]
    pub(crate) fn at_most(mut self, name: &str, value: f64, bound: f64) -> Self {
        self.conditions.push(Condition { figure: name.to_owned(), relation: Relation::AtMost, bound });
        self.figure(name, value)
    }

    #[must_use]
    pub(crate) fn about(mut self, names: impl IntoIterator<Item = String>) -> Self {
        self.about.extend(names);
        self
    }

    #[must_use]
    pub(crate) fn advise(mut self, changes: &[&str]) -> Self {
        self.advice.extend(changes.iter().map(|change| (*change).to_owned()));
        self
    }

    /// The figure called `name`.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.figures.iter().find(|(known, _)| known == name).map(|(_, value)| *value)
    }

    /// Whether its figures meet its conditions; a figure that is not known meets none.
    pub fn holds(&self) -> bool {
        self.conditions.iter().all(|condition| {
            let value = self.get(&condition.figure).unwrap_or(f64::NAN);
            match condition.relation {
                Relation::AtLeast => value >= condition.bound,
                Relation::AtMost => value <= condition.bound,
            }
        })
    }

    /// The fact as JSON.
    pub fn to_json(&self) -> Value {
        let number = |value: f64| if value.is_finite() { json!(value) } else { Value::Null };
        let figures: Map<String, Value> =
            self.figures.iter().map(|(name, value)| (name.clone(), number(*value))).collect();
        let conditions: Vec<Value> = self
            .conditions
            .iter()
            .map(|one| {
                let is = match one.relation {
                    Relation::AtLeast => "at least",
                    Relation::AtMost => "at most",
                };
                json!({ "figure": one.figure, "is": is, "bound": number(one.bound) })
            })
            .collect();
        json!({ "topic": self.topic, "text": self.text, "figures": figures, "advice": self.advice,
                "rule": self.rule, "conditions": conditions, "about": self.about })
    }
}
