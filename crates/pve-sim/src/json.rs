//! Writes JSON as the daemons of Proxmox VE do: compact, and with the keys of every object in
//! random order.
//!
//! It writes into one buffer without a tree in between, so that a list of ten thousand guests costs
//! milliseconds. **Invariant:** the order of keys is different from answer to answer, because a
//! client that depends on it is wrong.

use std::{
    fmt::{Display, Write as _},
    hash::{BuildHasher as _, Hasher as _, RandomState},
};

use bytes::Bytes;

/// A JSON text that is being written.
#[derive(Debug)]
pub(crate) struct Json {
    text: Vec<u8>,
    spare: Vec<u8>,
    /// Where the parts of the objects and lists that are still open begin, the innermost last.
    parts: Vec<usize>,
    random: u64,
}

/// An object that is being written; its keys are mixed when it is done.
#[derive(Debug)]
pub(crate) struct Object<'a> {
    json: &'a mut Json,
}

/// A list that is being written.
#[derive(Debug)]
pub(crate) struct List<'a> {
    json: &'a mut Json,
}

impl Json {
    /// Writes one object.
    pub(crate) fn object(write: impl FnOnce(&mut Object<'_>)) -> Bytes {
        let mut json = Self::new();
        json.put_object(write);
        json.text.into()
    }

    /// Writes the usual envelope around one object: `{"data":{…}}`.
    pub(crate) fn data_object(write: impl FnOnce(&mut Object<'_>)) -> Bytes {
        Self::object(|envelope| envelope.object("data", write))
    }

    /// Writes the usual envelope around a list: `{"data":[…]}`.
    pub(crate) fn data_list(write: impl FnOnce(&mut List<'_>)) -> Bytes {
        Self::object(|envelope| envelope.list("data", write))
    }

    /// The same for a list that has no order: its items are mixed, as PVE's are.
    pub(crate) fn data_unordered_list(write: impl FnOnce(&mut List<'_>)) -> Bytes {
        Self::object(|envelope| {
            envelope.key("data");
            envelope.json.put_list(true, write);
        })
    }

    fn new() -> Self {
        // The standard library's hasher is the one source of randomness that needs no dependency.
        let random = RandomState::new().build_hasher().finish() | 1;
        Self { text: Vec::with_capacity(1024), spare: Vec::new(), parts: Vec::new(), random }
    }

    fn put_object(&mut self, write: impl FnOnce(&mut Object<'_>)) {
        self.text.push(b'{');
        let (start, outer) = (self.text.len(), self.parts.len());
        write(&mut Object { json: self });
        self.join(start, outer, true);
        self.text.push(b'}');
    }

    fn put_list(&mut self, mixed: bool, write: impl FnOnce(&mut List<'_>)) {
        self.text.push(b'[');
        let (start, outer) = (self.text.len(), self.parts.len());
        write(&mut List { json: self });
        self.join(start, outer, mixed);
        self.text.push(b']');
    }

    fn put_text(&mut self, text: &str) {
        self.text.push(b'"');
        for byte in text.bytes() {
            match byte {
                b'"' => self.text.extend_from_slice(b"\\\""),
                b'\\' => self.text.extend_from_slice(b"\\\\"),
                b'\n' => self.text.extend_from_slice(b"\\n"),
                b'\r' => self.text.extend_from_slice(b"\\r"),
                b'\t' => self.text.extend_from_slice(b"\\t"),
                0..=0x1f => self.put(format_args!("\\u{byte:04x}")),
                _ => self.text.push(byte),
            }
        }
        self.text.push(b'"');
    }

    fn put(&mut self, value: impl Display) {
        // Writing into memory cannot fail.
        let _ = write!(Ascii(&mut self.text), "{value}");
    }

    /// Puts commas between the parts from `start` on, and mixes them if asked to.
    fn join(&mut self, start: usize, outer: usize, mixed: bool) {
        let count = self.parts.len() - outer;
        if count == 0 {
            return;
        }
        // Objects have few parts, and are many: those are ordered without an allocation.
        let mut few: [u32; 64] = [0; 64];
        let mut many: Vec<u32> = Vec::new();
        let order = if let Some(few) = few.get_mut(..count) {
            few
        } else {
            many.resize(count, 0);
            many.as_mut_slice()
        };
        for (place, value) in order.iter_mut().zip(0..) {
            *place = value;
        }
        for last in (1..count).rev().filter(|_| mixed) {
            order.swap(last, self.below(last + 1));
        }
        self.parts.push(self.text.len());
        self.spare.clear();
        for (nth, part) in order.iter().enumerate() {
            if nth > 0 {
                self.spare.push(b',');
            }
            let part = outer + usize::try_from(*part).unwrap_or(0);
            let range = self.parts.get(part).zip(self.parts.get(part + 1));
            let bytes = range.and_then(|(from, to)| self.text.get(*from..*to));
            self.spare.extend_from_slice(bytes.unwrap_or_default());
        }
        self.parts.truncate(outer);
        self.text.truncate(start);
        self.text.extend_from_slice(&self.spare);
    }

    fn below(&mut self, bound: usize) -> usize {
        // Xorshift: the quality of the order does not matter, its cost does.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        let bound = u64::try_from(bound).unwrap_or(1).max(1);
        usize::try_from(self.random % bound).unwrap_or(0)
    }
}

impl Object<'_> {
    /// A string.
    pub(crate) fn text(&mut self, key: &str, value: &str) {
        self.key(key);
        self.json.put_text(value);
    }

    /// A string, where there is one.
    pub(crate) fn text_if(&mut self, key: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.text(key, value);
        }
    }

    /// A whole number.
    pub(crate) fn number(&mut self, key: &str, value: impl Into<i128>) {
        self.key(key);
        self.json.put(value.into());
    }

    /// A number with a fraction, written as Perl does: up to 15 digits, and none of them for a
    /// whole one.
    pub(crate) fn float(&mut self, key: &str, value: f64) {
        self.key(key);
        self.json.put(if value.is_finite() { value } else { 0.0 });
    }

    /// A boolean as most of the API writes it: 1 or 0.
    pub(crate) fn flag(&mut self, key: &str, value: bool) {
        self.number(key, u8::from(value));
    }

    /// A real JSON boolean, as QEMU's own answers carry them.
    pub(crate) fn boolean(&mut self, key: &str, value: bool) {
        self.key(key);
        self.json.put(value);
    }

    /// `null`.
    pub(crate) fn null(&mut self, key: &str) {
        self.key(key);
        self.json.put("null");
    }

    /// An object inside this one.
    pub(crate) fn object(&mut self, key: &str, write: impl FnOnce(&mut Object<'_>)) {
        self.key(key);
        self.json.put_object(write);
    }

    /// A list inside this object.
    pub(crate) fn list(&mut self, key: &str, write: impl FnOnce(&mut List<'_>)) {
        self.key(key);
        self.json.put_list(false, write);
    }

    fn key(&mut self, key: &str) {
        self.json.parts.push(self.json.text.len());
        self.json.put_text(key);
        self.json.text.push(b':');
    }
}

impl List<'_> {
    /// An object as the next item.
    pub(crate) fn object(&mut self, write: impl FnOnce(&mut Object<'_>)) {
        self.next();
        self.json.put_object(write);
    }

    /// A string as the next item.
    pub(crate) fn text(&mut self, value: &str) {
        self.next();
        self.json.put_text(value);
    }

    fn next(&mut self) {
        self.json.parts.push(self.json.text.len());
    }
}

struct Ascii<'a>(&'a mut Vec<u8>);

impl std::fmt::Write for Ascii<'_> {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn nested_objects_and_lists_come_out_whole() {
        let text = Json::data_object(|data| {
            data.text("name", "quo\"te\\ \u{1}ü\n");
            data.number("vmid", 100);
            data.float("cpu", 0.25);
            data.null("clipboard");
            data.boolean("real", true);
            data.flag("template", false);
            data.object("ha", |ha| ha.flag("managed", true));
            data.object("empty", |_| {});
            data.list("loadavg", |list| {
                list.text("0.11");
                list.object(|item| item.number("n", 1));
            });
        });
        let value: Value = serde_json::from_slice(&text).unwrap();
        let expected = json!({"data": {
            "name": "quo\"te\\ \u{1}ü\n", "vmid": 100, "cpu": 0.25, "clipboard": null, "real": true,
            "template": 0, "ha": {"managed": 1}, "empty": {}, "loadavg": ["0.11", {"n": 1}],
        }});
        assert_eq!(value, expected);
    }

    #[test]
    fn the_order_of_keys_is_not_always_the_same() {
        let write = || {
            Json::object(|object| {
                for key in ["a", "b", "c", "d", "e", "f", "g", "h"] {
                    object.number(key, 1);
                }
            })
        };
        let first = write();
        assert!((0..50).any(|_| write() != first));
    }

    #[test]
    fn a_list_without_an_order_is_mixed_and_another_is_not() {
        fn write(list: &mut List<'_>) {
            for item in ["a", "b", "c", "d", "e", "f"] {
                list.text(item);
            }
        }
        let ordered = || Json::data_list(write);
        let unordered = || Json::data_unordered_list(write);
        let (first_ordered, first_unordered) = (ordered(), unordered());
        assert!((0..50).all(|_| ordered() == first_ordered));
        assert!((0..50).any(|_| unordered() != first_unordered));
        let value: Value = serde_json::from_slice(&first_unordered).unwrap();
        assert_eq!(value["data"].as_array().unwrap().len(), 6);
    }

    #[test]
    fn an_object_may_have_any_number_of_keys() {
        let text = Json::object(|object| {
            for key in 0..1000 {
                object.number(&key.to_string(), key);
            }
        });
        let value: Value = serde_json::from_slice(&text).unwrap();
        assert_eq!(value.as_object().unwrap().len(), 1000);
    }
}
