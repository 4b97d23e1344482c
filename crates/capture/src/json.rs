//! JSON text (RFC 8259), written incrementally.

use std::fmt::Write;

use serde_json::Value;

/// Writes one JSON value.
#[derive(Debug, Default)]
pub(crate) struct JsonWriter {
    text: String,
}

impl JsonWriter {
    fn begin(&mut self, key: &str) {
        if !self.text.is_empty() && !self.text.ends_with(['{', '[']) {
            self.text.push_str(",\n");
        }
        if !key.is_empty() {
            let _ = write!(self.text, "{}: ", Value::from(key));
        }
    }

    /// An object under `key` (empty inside arrays).
    pub(crate) fn object(&mut self, key: &str, fill: impl FnOnce(&mut Self)) {
        self.nest(key, '{', '}', fill);
    }

    /// An array of objects under `key`, one for each item.
    pub(crate) fn objects<T>(
        &mut self,
        key: &str,
        items: impl IntoIterator<Item = T>,
        mut fill: impl FnMut(&mut Self, T),
    ) {
        self.nest(key, '[', ']', |json| {
            for item in items {
                json.object("", |json| fill(json, item));
            }
        });
    }

    fn nest(&mut self, key: &str, open: char, close: char, fill: impl FnOnce(&mut Self)) {
        self.begin(key);
        self.text.push(open);
        fill(self);
        self.text.push(close);
    }

    /// A value under `key` (empty inside arrays).
    pub(crate) fn put(&mut self, key: &str, value: impl Into<Value>) {
        self.begin(key);
        let _ = write!(self.text, "{}", value.into());
    }

    /// An array of values on one line.
    pub(crate) fn list<V: Into<Value>>(&mut self, key: &str, values: impl IntoIterator<Item = V>) {
        self.put(key, Value::from_iter(values));
    }

    pub(crate) fn finish(mut self) -> String {
        self.text.push('\n');
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::JsonWriter;

    #[test]
    fn values_nest() {
        let mut json = JsonWriter::default();
        json.object("", |json| {
            json.put("a", "x\"\\\n\u{1}");
            json.objects("b", [None::<u64>], |json, value| json.put("c", value));
            json.list("d", [1.0, f64::NAN, 1e300]);
            json.objects("e", [0; 0], |_, _| {});
        });
        let text = "{\"a\": \"x\\\"\\\\\\n\\u0001\",\n\"b\": [{\"c\": null}],\n\"d\": [1.0,null,1e+300],\n\"e\": []}\n";
        assert_eq!(json.finish(), text);
    }
}
