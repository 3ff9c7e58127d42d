//! The envelope around every answer: `{"data":…,"total":…,"changes":…}`.
//!
//! It is read in one pass, without a tree of JSON in between.

use std::time::SystemTime;

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, de::DeserializeOwned};

use crate::{
    UnreadableWhy,
    perl::{self, Entries, Expected, FromPerl},
};

/// An answer with what stands around it.
#[derive(Clone, Debug)]
pub struct Answer<T> {
    /// What was asked for.
    pub data: T,
    /// How many entries there are in all, where the answer is one page of them.
    pub total: Option<u64>,
    /// What was configured and is not in force yet, as the text of a diff. Proxmox VE gives it with
    /// the network of a node.
    pub changes: Option<String>,
    /// How many entries of a list could not be read, and are not among the data.
    pub unreadable: usize,
    /// What time it was on the node when it answered.
    pub date: Option<SystemTime>,
}

/// An envelope that was opened.
pub(crate) struct Parsed<T> {
    pub(crate) data: T,
    pub(crate) total: Option<u64>,
    pub(crate) changes: Option<String>,
    pub(crate) n_unreadable: usize,
}

/// A list or a map as an answer: an entry that cannot be read loses no other, and `null` means that it is empty.
pub(crate) trait Many: Sized {
    fn read(body: &[u8]) -> Result<Parsed<Self>, UnreadableWhy>;
}

impl<T: FromPerl> Many for Vec<T> {
    fn read(body: &[u8]) -> Result<Parsed<Self>, UnreadableWhy> {
        read_entries(body, Self::is_empty)
    }
}

impl<T: FromPerl> Many for BTreeMap<String, T> {
    fn read(body: &[u8]) -> Result<Parsed<Self>, UnreadableWhy> {
        read_entries(body, Self::is_empty)
    }
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "T: Deserialize<'de>"))]
struct Envelope<T> {
    #[serde(default = "absent")]
    data: Data<T>,
    #[serde(default, deserialize_with = "perl::field")]
    total: Option<u64>,
    #[serde(default, deserialize_with = "perl::field")]
    changes: Option<String>,
}

/// Without the key it is not Proxmox VE's answer, and with `null` it may be.
enum Data<T> {
    Absent,
    Null,
    Value(T),
}

/// Reads one thing. `null` is an answer only where the type has a place for it, as an `Option` does.
pub(crate) fn read<T: DeserializeOwned>(body: &[u8]) -> Result<Parsed<T>, UnreadableWhy> {
    open(body)?.try_map(|data| match data {
        Some(data) => Ok(data),
        None => serde_json::from_str("null").map_err(|_| UnreadableWhy::Null),
    })
}

/// Reads what has entries. A list of which none can be read is not an empty one.
pub(crate) fn read_entries<T: Default>(
    body: &[u8],
    is_empty: fn(&T) -> bool,
) -> Result<Parsed<T>, UnreadableWhy>
where
    Entries<T>: FromPerl + Default,
{
    let parsed = read_lenient::<Entries<T>>(body)?;
    let n_unreadable = parsed.data.n_unreadable;
    let parsed = parsed.try_map(|entries| match n_unreadable {
        count @ 1.. if is_empty(&entries.read) => Err(UnreadableWhy::Entries { count }),
        _ => Ok(entries.read),
    })?;
    Ok(Parsed { n_unreadable, ..parsed })
}

/// Reads something that is never refused for a part of it, and of which `null` means that it is empty.
pub(crate) fn read_lenient<T: FromPerl + Default>(body: &[u8]) -> Result<Parsed<T>, UnreadableWhy> {
    open(body)?.try_map(|data| Ok(data.map(|Expected(data)| data).unwrap_or_default()))
}

impl<T> Parsed<T> {
    pub(crate) fn try_map<U>(
        self,
        map: impl FnOnce(T) -> Result<U, UnreadableWhy>,
    ) -> Result<Parsed<U>, UnreadableWhy> {
        let Self { total, changes, n_unreadable, .. } = self;
        Ok(Parsed { data: map(self.data)?, total, changes, n_unreadable })
    }
}

fn open<T: DeserializeOwned>(body: &[u8]) -> Result<Parsed<Option<T>>, UnreadableWhy> {
    if body.trim_ascii().is_empty() {
        return Err(UnreadableWhy::Empty);
    }
    let envelope: Envelope<T> = parse(body).map_err(|error| {
        // The error's own text may quote the answer, so that only the place is kept.
        UnreadableWhy::Misunderstood { line: error.line(), column: error.column() }
    })?;
    let data = match envelope.data {
        Data::Absent => return Err(UnreadableWhy::NoData),
        Data::Null => None,
        Data::Value(data) => Some(data),
    };
    Ok(Parsed { data, total: envelope.total, changes: envelope.changes, n_unreadable: 0 })
}

/// One name or log line in another encoding than UTF-8 must not lose the rest.
///
/// The encoding is looked at once for all of it: that is faster than string by string, and every type needs one
/// reader instead of two.
fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, serde_json::Error> {
    match str::from_utf8(body) {
        Ok(text) => serde_json::from_str(text),
        Err(_) => serde_json::from_str(&String::from_utf8_lossy(body)),
    }
}

fn absent<T>() -> Data<T> {
    Data::Absent
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Data<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Ok(Option::deserialize(from)?.map_or(Self::Null, Self::Value))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_total_and_the_pending_changes_come_along() {
        let parsed = read::<String>(br#"{"total":"7","data":"x","changes":"--- a","success":1}"#);
        let parsed = parsed.ok().unwrap();
        assert_eq!((parsed.data.as_str(), parsed.total), ("x", Some(7)));
        assert_eq!(parsed.changes.as_deref(), Some("--- a"));
    }

    #[test]
    fn the_type_says_what_null_means() {
        let null = br#"{"data":null}"#;
        assert_eq!(read::<String>(null).err(), Some(UnreadableWhy::Null));
        assert_eq!(read::<Option<String>>(null).ok().unwrap().data, None);
        assert!(read_lenient::<Vec<String>>(null).ok().unwrap().data.is_empty());
    }

    #[test]
    fn an_empty_body_and_a_missing_key_are_told_apart() {
        assert_eq!(read::<String>(b" \n").err(), Some(UnreadableWhy::Empty));
        assert_eq!(read::<String>(br#"{"status":"ok"}"#).err(), Some(UnreadableWhy::NoData));
    }

    #[test]
    fn text_in_another_encoding_loses_only_itself() {
        let rows = read_lenient::<Vec<String>>(b"{\"data\":[\"caf\xe9\",\"caf\xc3\xa9\"]}");
        assert_eq!(rows.ok().unwrap().data, ["caf\u{fffd}", "caf\u{e9}"]);
    }

    #[test]
    fn a_list_of_which_nothing_can_be_read_is_not_an_empty_one() {
        let none = <Vec<u64> as Many>::read(br#"{"data":["x",null,[]]}"#);
        assert_eq!(none.err(), Some(UnreadableWhy::Entries { count: 3 }));
        let some = <Vec<u64> as Many>::read(br#"{"data":["x",7]}"#).ok().unwrap();
        assert_eq!((some.data, some.n_unreadable), (vec![7], 1));
        for empty in [br#"{"data":[]}"#.as_slice(), br#"{"data":null}"#] {
            let read = <Vec<u64> as Many>::read(empty).ok().unwrap();
            assert_eq!((read.data.len(), read.n_unreadable), (0, 0));
        }
        let map = <BTreeMap<String, u64> as Many>::read(br#"{"data":{"a":"x","b":null}}"#);
        assert_eq!(map.err(), Some(UnreadableWhy::Entries { count: 1 }));
    }

    #[test]
    fn only_the_place_of_a_misfit_is_told() {
        let why = read::<u64>(b"{\"data\":\n\"confidential\"}").err().unwrap();
        assert_eq!(why, UnreadableWhy::Misunderstood { line: 2, column: 14 });
        assert!(!why.to_string().contains("confidential"));
    }

    proptest! {
        #[test]
        fn whatever_comes_is_read_or_refused_without_quoting_it(
            body in prop::collection::vec(any::<u8>(), 0..200),
            text in "[a-z]{20,40}",
        ) {
            let wrong = format!("{{\"data\":{{\"{text}\":[\"{text}\"]}}}}");
            for body in [body, wrong.into_bytes()] {
                for why in [read::<u64>(&body).err(), read_lenient::<Vec<u64>>(&body).err()] {
                    let told = why.map(|why| why.to_string()).unwrap_or_default();
                    prop_assert!(told.len() < 200 && !told.contains(&text), "{}", told);
                }
            }
        }

        #[test]
        fn what_was_put_in_comes_out(
            data in prop::collection::vec(any::<String>(), 0..9),
            total in 0_u64..1 << 60,
            changes in "[^\\x00-\\x20]{1,20}",
        ) {
            let body = serde_json::json!({ "total": total, "data": data, "changes": changes });
            let parsed = read::<Vec<String>>(body.to_string().as_bytes()).ok().unwrap();
            prop_assert_eq!(parsed.data, data);
            prop_assert_eq!((parsed.total, parsed.changes), (Some(total), Some(changes)));
        }
    }
}
