//! JSON text (RFC 8259), written incrementally.

use std::fmt::Write;

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
            string(&mut self.text, key);
            self.text.push_str(": ");
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
    pub(crate) fn put(&mut self, key: &str, value: impl JsonValue) {
        self.begin(key);
        value.write(&mut self.text);
    }

    /// An array of values on one line.
    pub(crate) fn list<V: JsonValue>(&mut self, key: &str, values: impl IntoIterator<Item = V>) {
        self.begin(key);
        self.text.push('[');
        for (at, value) in values.into_iter().enumerate() {
            if at > 0 {
                self.text.push_str(", ");
            }
            value.write(&mut self.text);
        }
        self.text.push(']');
    }

    pub(crate) fn finish(mut self) -> String {
        self.text.push('\n');
        self.text
    }
}

/// A value that JSON can represent.
pub(crate) trait JsonValue {
    fn write(&self, text: &mut String);
}

impl JsonValue for &str {
    fn write(&self, text: &mut String) {
        string(text, self);
    }
}

impl JsonValue for String {
    fn write(&self, text: &mut String) {
        string(text, self);
    }
}

impl JsonValue for bool {
    fn write(&self, text: &mut String) {
        text.push_str(if *self { "true" } else { "false" });
    }
}

macro_rules! whole {
    ($($kind:ty),*) => {$(
        impl JsonValue for $kind {
            fn write(&self, text: &mut String) {
                let _ = write!(text, "{self}");
            }
        }
    )*};
}

whole!(u8, u16, u32, u64, usize, i8, i64);

impl JsonValue for f64 {
    /// The shortest digits that read back as the same number; null for values that JSON cannot represent.
    fn write(&self, text: &mut String) {
        let _ = if self.is_finite() { write!(text, "{self:?}") } else { write!(text, "null") };
    }
}

impl<V: JsonValue> JsonValue for Option<V> {
    fn write(&self, text: &mut String) {
        match self {
            Some(value) => value.write(text),
            None => text.push_str("null"),
        }
    }
}

fn string(text: &mut String, value: &str) {
    text.push('"');
    for letter in value.chars() {
        match letter {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            control if control < ' ' => {
                let _ = write!(text, "\\u{:04x}", u32::from(control));
            }
            other => text.push(other),
        }
    }
    text.push('"');
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
        let text =
            "{\"a\": \"x\\\"\\\\\\n\\u0001\",\n\"b\": [{\"c\": null}],\n\"d\": [1.0, null, 1e300],\n\"e\": []}\n";
        assert_eq!(json.finish(), text);
    }
}
