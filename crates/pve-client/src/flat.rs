//! Reads long lists of flat rows, three times as fast as a general reader of JSON does.
//!
//! The list of all guests is the longest answer there is, and nearly every tool reads it. It holds nothing but
//! short words and numbers: `{"data":[{"vmid":100,"name":"web",…},…]}`, without blanks, escapes, or anything nested.
//! This reader knows exactly that, and hands it to the same types as the general one.
//!
//! **Invariant:** it reads what it takes as the general reader does, and takes nothing that the general one would
//! refuse. Whatever else comes it declines, and the general reader begins at the beginning.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{self, DeserializeSeed, MapAccess, Visitor},
    forward_to_deserialize_any,
};

/// The rows of an answer, unless it has something in it that is not for this reader.
pub(crate) fn rows<'de, T: Deserialize<'de>>(text: &'de str) -> Option<Vec<T>> {
    let mut cursor = Cursor { text, at: 0 };
    cursor.literal(r#"{"data":["#).ok()?;
    let mut rows = Vec::new();
    if cursor.literal("]").is_err() {
        loop {
            rows.push(T::deserialize(Row(&mut cursor)).ok()?);
            match cursor.next() {
                Some(b',') => {}
                Some(b']') => break,
                _ => return None,
            }
        }
    }
    cursor.literal("}").ok()?;
    (cursor.at == text.len()).then_some(rows)
}

/// Something that is not for this reader.
#[derive(Debug)]
struct Declined;

/// A place in the text.
struct Cursor<'de> {
    text: &'de str,
    at: usize,
}

impl<'de> Cursor<'de> {
    fn rest(&self) -> &'de [u8] {
        self.text.as_bytes().get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    fn literal(&mut self, text: &str) -> Result<(), Declined> {
        let is_there = self.rest().starts_with(text.as_bytes());
        self.at += if is_there { text.len() } else { 0 };
        if is_there { Ok(()) } else { Err(Declined) }
    }

    /// The text up to the first byte that is none of these, which is passed.
    fn take(&mut self, belongs: impl Fn(u8) -> bool) -> Result<&'de str, Declined> {
        let length = self.rest().iter().position(|byte| !belongs(*byte)).ok_or(Declined)?;
        let taken = self.text.get(self.at..self.at + length).ok_or(Declined)?;
        self.at += length;
        Ok(taken)
    }

    /// A text in quotes, as it stands there.
    fn string(&mut self) -> Result<&'de str, Declined> {
        self.literal("\"")?;
        let text = self.take(|byte| byte != b'"' && byte != b'\\' && byte >= b' ')?;
        // An escape, or what must not be in a text, is left to the general reader.
        self.literal("\"")?;
        Ok(text)
    }

    /// A number that is not negative.
    fn number(&mut self) -> Result<Number, Declined> {
        let digits = self.rest();
        let (mut whole, mut length) = (0_u64, 0);
        for digit in digits.iter().take_while(|byte| byte.is_ascii_digit()) {
            whole = whole.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
            length += 1;
        }
        // More digits than any counter has might not fit; a zero in front is not JSON.
        if length == 0 || length > 18 || (length > 1 && digits.starts_with(b"0")) {
            return Err(Declined);
        }
        if !matches!(digits.get(length), Some(b'.' | b'e' | b'E')) {
            self.at += length;
            return Ok(Number::Whole(whole));
        }
        self.share()
    }

    /// A number with a fraction or an exponent, which begins here.
    fn share(&mut self) -> Result<Number, Declined> {
        let begin = self.at;
        self.take(|byte| byte.is_ascii_digit())?;
        if self.literal(".").is_ok() && self.take(|byte| byte.is_ascii_digit())?.is_empty() {
            return Err(Declined);
        }
        if self.literal("e").or_else(|_| self.literal("E")).is_ok() {
            let _ = self.literal("-").or_else(|_| self.literal("+"));
            if self.take(|byte| byte.is_ascii_digit())?.is_empty() {
                return Err(Declined);
            }
        }
        let text = self.text.get(begin..self.at).ok_or(Declined)?;
        let number: f64 = text.parse().map_err(|_| Declined)?;
        if number.is_finite() { Ok(Number::Share(number)) } else { Err(Declined) }
    }

    fn value<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, Declined> {
        match self.peek() {
            Some(b'"') => visitor.visit_borrowed_str(self.string()?),
            Some(b'0'..=b'9') => match self.number()? {
                Number::Whole(number) => visitor.visit_u64(number),
                Number::Share(number) => visitor.visit_f64(number),
            },
            _ => {
                self.literal("null")?;
                visitor.visit_unit()
            }
        }
    }
}

enum Number {
    Whole(u64),
    Share(f64),
}

/// One row.
struct Row<'a, 'de>(&'a mut Cursor<'de>);

impl<'de> Deserializer<'de> for Row<'_, 'de> {
    type Error = Declined;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Declined> {
        self.0.literal("{")?;
        visitor.visit_map(Fields { cursor: self.0, is_first: true })
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

/// What is left of a row.
struct Fields<'a, 'de> {
    cursor: &'a mut Cursor<'de>,
    is_first: bool,
}

impl<'de> MapAccess<'de> for Fields<'_, 'de> {
    type Error = Declined;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Declined> {
        if self.cursor.literal("}").is_ok() {
            return Ok(None);
        }
        if !self.is_first {
            self.cursor.literal(",")?;
        }
        self.is_first = false;
        let key = self.cursor.string()?;
        self.cursor.literal(":")?;
        seed.deserialize(de::value::BorrowedStrDeserializer::new(key)).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Declined> {
        seed.deserialize(Value(self.cursor))
    }
}

/// The value of a field.
struct Value<'a, 'de>(&'a mut Cursor<'de>);

impl<'de> Deserializer<'de> for Value<'_, 'de> {
    type Error = Declined;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Declined> {
        self.0.value(visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

impl de::Error for Declined {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self
    }
}

impl std::error::Error for Declined {}

impl fmt::Display for Declined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not for the reader of flat rows")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::perl::{Expected, answer};

    answer! {
        struct Sample {
            vmid: Option<u64>,
            name: Option<String>,
            cpu: Option<f64>,
            template: Option<bool>,
        }
    }

    fn general(text: &str) -> Option<Vec<Sample>> {
        #[derive(Deserialize)]
        struct Envelope {
            data: Expected<Vec<Sample>>,
        }
        serde_json::from_str::<Envelope>(text).ok().map(|envelope| envelope.data.0)
    }

    /// The general reader's fractions may be off by their last digit.
    fn rounded(samples: Vec<Sample>) -> String {
        let round = |cpu: f64| format!("{cpu:.12e}");
        let rows = samples.into_iter().map(|row| {
            format!("{:?} {:?} {:?} {:?}", row.vmid, row.name, row.cpu.map(round), row.template)
        });
        rows.collect::<Vec<_>>().join("\n")
    }

    fn taken(text: &str) -> bool {
        rows::<Sample>(text).is_some()
    }

    #[test]
    fn what_pve_writes_is_taken() {
        for text in [
            r#"{"data":[]}"#,
            r#"{"data":[{}]}"#,
            r#"{"data":[{"vmid":100,"name":"web","cpu":0.0097,"template":0,"id":"qemu/100"},{"vmid":"101"}]}"#,
            r#"{"data":[{"name":"größe","cpu":1e-05,"vmid":null}]}"#,
            r#"{"data":[{"cpu":0,"vmid":999999999999999999,"more":1.5E+3}]}"#,
        ] {
            assert!(taken(text), "{text}");
            assert_eq!(rows::<Sample>(text).map(rounded), general(text).map(rounded), "{text}");
        }
    }

    #[test]
    fn what_is_not_flat_is_left_to_the_general_reader() {
        for text in [
            r#"{"data":[{"name":"a\nb"}]}"#,
            r#"{"data":[{"tags":["a"]}]}"#,
            r#"{"data":[{"inner":{"a":1}}]}"#,
            r#"{"data": [{"vmid":1}]}"#,
            r#"{"data":[{"cpu":-0.5}]}"#,
            r#"{"data":[{"template":true}]}"#,
            r#"{"data":[null]}"#,
            r#"{"data":null}"#,
            r#"{"data":[{"vmid":18446744073709551615}]}"#,
            r#"{"data":[{"vmid":1}],"total":1}"#,
        ] {
            assert!(!taken(text), "{text}");
            assert!(serde_json::from_str::<serde_json::Value>(text).is_ok(), "{text}");
        }
    }

    #[test]
    fn what_is_no_json_is_not_taken() {
        for text in [
            "",
            r#"{"data":["#,
            r#"{"data":[{"vmid":1}"#,
            r#"{"data":[{"vmid":1}]"#,
            r#"{"data":[{"vmid":1}]}x"#,
            r#"{"data":[{"vmid":1},]}"#,
            r#"{"data":[{"vmid":1,}]}"#,
            r#"{"data":[{,"vmid":1}]}"#,
            r#"{"data":[{"vmid"1}]}"#,
            r#"{"data":[{"vmid":01}]}"#,
            r#"{"data":[{"cpu":1.}]}"#,
            r#"{"data":[{"cpu":1e}]}"#,
            r#"{"data":[{"cpu":1e999}]}"#,
            r#"{"data":[{"name":"a}]}"#,
            "{\"data\":[{\"name\":\"a\u{1}\"}]}",
            r#"{"data":[{"vmid":1,"vmid":2}]}"#,
        ] {
            assert!(!taken(text), "{text}");
            assert!(general(text).is_none(), "{text}");
        }
    }

    /// A row with values of every kind, most of which are flat.
    fn row() -> impl Strategy<Value = String> {
        let value = prop_oneof![
            4 => any::<u64>().prop_map(|number| number.to_string()),
            2 => any::<f64>().prop_map(|number| serde_json::json!(number).to_string()),
            2 => "[0-9]{1,20}(\\.[0-9]{0,20})?([eE][+-]?[0-9]{0,3})?",
            4 => "[a-z0-9;é -]{0,12}".prop_map(|text| format!("\"{text}\"")),
            1 => any::<String>().prop_map(|text| serde_json::json!(text).to_string()),
            1 => prop_oneof!["null", "true", "\\[\\]", "\\{\\}", "-1"],
        ];
        let key = prop_oneof!["vmid", "name", "cpu", "template", "[a-z]{1,4}"];
        prop::collection::vec((key, value), 0..5).prop_map(|fields| {
            let fields = fields.into_iter().map(|(key, value)| format!("\"{key}\":{value}"));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
        })
    }

    proptest! {
        #[test]
        fn both_readers_read_the_same(
            rows in prop::collection::vec(row(), 0..4),
            // A byte that is changed into another makes most of what can go wrong in JSON.
            place in any::<prop::sample::Index>(),
            other in prop::option::of("[{}\\[\\],:\"\\\\0-9.eE+ a-]"),
        ) {
            let mut text = format!("{{\"data\":[{}]}}", rows.join(","));
            if let Some(other) = other {
                let places: Vec<_> = text.char_indices().map(|(at, _)| at).collect();
                let at = *place.get(&places);
                let end = at + text[at..].chars().next().map_or(0, char::len_utf8);
                text.replace_range(at..end, &other);
            }
            if let Some(read) = super::rows::<Sample>(&text) {
                prop_assert_eq!(Some(rounded(read)), general(&text).map(rounded), "{}", text);
            }
        }
    }
}
