//! Values as Perl writes them, where `1`, `"1"` and `true` are one value.
//!
//! The same figure is a number in one answer of Proxmox VE and a string in the next: PVE 9.2.11
//! gives the pressure of a VM as `0.01` and that of a container as `"0.00"`, and older versions give
//! more strings. The API's own schema does not tell.
//!
//! **Invariant:** a struct made by [`answer!`] never fails for one of its fields. What is absent,
//! `null` or odd becomes `None`, so that one odd figure cannot lose a list of a thousand guests.

pub(crate) mod bounds;
mod scalar;

use std::{collections::BTreeMap, fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{self, IgnoredAny, MapAccess, SeqAccess, Visitor},
};

/// Defines a struct of an answer, all of whose fields are read leniently.
///
/// A field is an `Option` of something that is [`FromPerl`], or a `Vec` or `BTreeMap` of such things,
/// which is empty when it is absent. `cpu: Option<f64> as "crate::perl::bounds::share"` is read by that function, which
/// knows what cannot be.
///
/// `struct Listed known by node { … }` is an entry of a list: one whose `node` cannot be read is an entry that cannot
/// be read.
macro_rules! answer {
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident $(known by $($id:ident),+)? { $($fields:tt)* }
    ) => {
        crate::perl::answer!(@ [$(#[$meta])* $vis struct $name] [$($($id)+)?] [] $($fields)*);
    };
    (
        @ $head:tt $ids:tt [$($done:tt)*]
        $(#[$meta:meta])* $vis:vis $field:ident: $type:ty as $reader:literal, $($rest:tt)*
    ) => {
        crate::perl::answer!(@ $head $ids [
            $($done)* $(#[$meta])* #[serde(deserialize_with = $reader)] $vis $field: $type,
        ] $($rest)*);
    };
    (
        @ $head:tt $ids:tt [$($done:tt)*]
        $(#[$meta:meta])* $vis:vis $field:ident: $type:ty, $($rest:tt)*
    ) => {
        crate::perl::answer!(@ $head $ids [
            $($done)* $(#[$meta])* #[serde(deserialize_with = "crate::perl::field")] $vis $field: $type,
        ] $($rest)*);
    };
    (@ [$(#[$meta:meta])* $vis:vis struct $name:ident] [$($id:ident)*] [$($fields:tt)*]) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq, serde::Deserialize)]
        #[serde(default)]
        $vis struct $name { $($fields)* }

        impl crate::perl::FromPerl for $name {
            fn from_text(_: &str) -> Option<Self> {
                None
            }

            fn from_map<'de, A: serde::de::MapAccess<'de>>(map: A) -> Result<Option<Self>, A::Error> {
                let map = serde::de::value::MapAccessDeserializer::new(map);
                let read: Self = serde::Deserialize::deserialize(map)?;
                let is_known = true $(&& read.$id.is_some())*;
                Ok(is_known.then_some(read))
            }
        }
    };
}
pub(crate) use answer;

/// Something that can be read from whatever Perl wrote. `None` means that it said nothing.
pub(crate) trait FromPerl: Sized {
    fn from_text(text: &str) -> Option<Self>;

    fn from_unsigned(number: u64) -> Option<Self> {
        Self::from_text(&number.to_string())
    }

    fn from_signed(number: i64) -> Option<Self> {
        Self::from_text(&number.to_string())
    }

    fn from_float(number: f64) -> Option<Self> {
        Self::from_text(&number.to_string())
    }

    fn from_bool(truth: bool) -> Option<Self> {
        Self::from_text(if truth { "1" } else { "0" })
    }

    /// The default skips the object, which must be read to its end.
    fn from_map<'de, A: MapAccess<'de>>(mut map: A) -> Result<Option<Self>, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(None)
    }

    /// The default skips the array, which must be read to its end.
    fn from_seq<'de, A: SeqAccess<'de>>(mut seq: A) -> Result<Option<Self>, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(None)
    }
}

/// A field that knows what it is when nothing was said.
pub(crate) trait Field: Sized {
    type Inner: FromPerl;

    fn from_inner(inner: Option<Self::Inner>) -> Self;
}

/// Reads any field of an [`answer!`].
pub(crate) fn field<'de, D: Deserializer<'de>, F: Field>(from: D) -> Result<F, D::Error> {
    let Lenient(inner) = Lenient::deserialize(from)?;
    Ok(F::from_inner(inner))
}

/// The entries of a list or a map that could be read, and how many others there are.
///
/// A `null` in a map says nothing, and in a list it is an entry that cannot be read.
#[derive(Default)]
pub(crate) struct Entries<T> {
    pub(crate) read: T,
    pub(crate) n_unreadable: usize,
}

impl<T: FromPerl> FromPerl for Entries<Vec<T>> {
    fn from_text(_: &str) -> Option<Self> {
        None
    }

    fn from_seq<'de, A: SeqAccess<'de>>(mut seq: A) -> Result<Option<Self>, A::Error> {
        let (mut read, mut n_all) = (Vec::new(), 0);
        while let Some(Lenient(item)) = seq.next_element()? {
            n_all += 1;
            read.extend(item);
        }
        Ok(Some(Self { n_unreadable: n_all - read.len(), read }))
    }
}

impl<T: FromPerl> FromPerl for Entries<BTreeMap<String, T>> {
    fn from_text(_: &str) -> Option<Self> {
        None
    }

    fn from_map<'de, A: MapAccess<'de>>(mut map: A) -> Result<Option<Self>, A::Error> {
        let mut entries = Self { read: BTreeMap::new(), n_unreadable: 0 };
        while let Some((key, value)) = map.next_entry::<String, Option<Lenient<T>>>()? {
            match value {
                Some(Lenient(Some(item))) => drop(entries.read.insert(key, item)),
                Some(Lenient(None)) => entries.n_unreadable += 1,
                None => {}
            }
        }
        Ok(Some(entries))
    }
}

/// A value that has to be of its own kind: what is not a list is an error where a list is expected,
/// although a row that is none is left out of it.
pub(crate) struct Expected<T>(pub(crate) T);

/// One value of any JSON type.
pub(crate) struct Lenient<T>(pub(crate) Option<T>);

struct LenientVisitor<T>(PhantomData<T>);

impl<'de, T: FromPerl> Deserialize<'de> for Lenient<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(LenientVisitor(PhantomData)).map(Lenient)
    }
}

impl<'de, T: FromPerl> Deserialize<'de> for Expected<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let Lenient(value) = Lenient::deserialize(from)?;
        value.map(Expected).ok_or_else(|| de::Error::custom("a value of another kind"))
    }
}

impl<'de, T: FromPerl> Visitor<'de> for LenientVisitor<T> {
    type Value = Option<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_bool<E>(self, truth: bool) -> Result<Self::Value, E> {
        Ok(T::from_bool(truth))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(T::from_unsigned(number))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
        Ok(T::from_signed(number))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Self::Value, E> {
        Ok(T::from_float(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(T::from_text(text))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        T::from_map(map)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
        T::from_seq(seq)
    }
}

impl<T: FromPerl> Field for Option<T> {
    type Inner = T;

    fn from_inner(inner: Option<T>) -> Self {
        inner
    }
}

impl<T: FromPerl> Field for Vec<T> {
    type Inner = Self;

    fn from_inner(inner: Option<Self>) -> Self {
        inner.unwrap_or_default()
    }
}

impl<T: FromPerl> Field for BTreeMap<String, T> {
    type Inner = Self;

    fn from_inner(inner: Option<Self>) -> Self {
        inner.unwrap_or_default()
    }
}

impl<T: FromPerl> FromPerl for Vec<T> {
    fn from_text(_: &str) -> Option<Self> {
        None
    }

    fn from_seq<'de, A: SeqAccess<'de>>(mut seq: A) -> Result<Option<Self>, A::Error> {
        let mut items = Self::new();
        while let Some(Lenient(item)) = seq.next_element()? {
            items.extend(item);
        }
        Ok(Some(items))
    }
}

impl<T: FromPerl> FromPerl for BTreeMap<String, T> {
    fn from_text(_: &str) -> Option<Self> {
        None
    }

    fn from_map<'de, A: MapAccess<'de>>(mut map: A) -> Result<Option<Self>, A::Error> {
        let mut items = Self::new();
        while let Some((key, Lenient(item))) = map.next_entry()? {
            if let Some(item) = item {
                items.insert(key, item);
            }
        }
        Ok(Some(items))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::VmId;

    answer! {
        struct Sample {
            share: Option<f64>,
            bytes: Option<u64>,
            flag: Option<bool>,
            vmid: Option<VmId>,
            inner: Option<Inner>,
            list: Vec<f64>,
            map: BTreeMap<String, Inner>,
        }
    }

    answer! {
        struct Inner {
            bytes: Option<u64>,
        }
    }

    fn sample(json: &str) -> Sample {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn whatever_is_odd_says_nothing_and_loses_nothing_else() {
        for odd in [
            "null",
            "{}",
            "[]",
            r#"{"a":{"b":[1]}}"#,
            r#"[1,[2],{"a":3}]"#,
            r#""abc""#,
            r#""NaN""#,
            r#""inf""#,
            "-1",
            r#""1 GiB""#,
        ] {
            let json = format!(r#"{{"vmid":{odd},"bytes":{odd},"flag":1,"share":0.5}}"#);
            let sample = sample(&json);
            assert_eq!((sample.vmid, sample.bytes), (None, None), "{odd}");
            assert_eq!((sample.flag, sample.share), (Some(true), Some(0.5)), "{odd}");
        }
        for odd in ["null", "{}", "[[]]", r#""NaN""#, r#""x""#] {
            assert_eq!(sample(&format!(r#"{{"share":{odd}}}"#)).share, None, "{odd}");
        }
    }

    #[test]
    fn what_is_inside_is_lenient_too() {
        let read = sample(
            r#"{"inner":{"bytes":"x","more":[1]},"list":["0.08",0.34,null,{}],
                "map":{"a":{"bytes":2},"b":7,"c":{}}}"#,
        );
        assert_eq!(read.inner, Some(Inner { bytes: None }));
        assert_eq!(read.list, [0.08, 0.34]);
        assert_eq!(read.map.keys().collect::<Vec<_>>(), ["a", "c"]);
        let read = sample(r#"{"inner":"x","list":7,"map":[1]}"#);
        assert_eq!(read, Sample::default());
    }

    answer! {
        struct Row known by vmid {
            vmid: Option<VmId>,
            cpu: Option<f64> as "crate::perl::bounds::share",
        }
    }

    #[test]
    fn entries_that_cannot_be_read_or_lack_what_they_are_known_by_are_counted() {
        let Expected(rows) = serde_json::from_str::<Expected<Entries<Vec<Row>>>>(
            r#"[{"vmid":100,"cpu":0.5},null,"x",[],{},0,{"vmid":"y","cpu":1},{"vmid":101,"cpu":1e9}]"#,
        )
        .unwrap();
        let known: Vec<_> =
            rows.read.iter().map(|row| (row.vmid.unwrap().get(), row.cpu)).collect();
        assert_eq!((known, rows.n_unreadable), (vec![(100, Some(0.5)), (101, None)], 6));
        let Expected(map) = serde_json::from_str::<Expected<Entries<BTreeMap<String, Row>>>>(
            r#"{"a":{"vmid":100},"b":7,"c":null}"#,
        )
        .unwrap();
        assert_eq!((map.read.len(), map.n_unreadable), (1, 1));
    }

    #[test]
    fn a_list_keeps_its_good_rows() {
        let Expected(rows) = serde_json::from_str::<Expected<Vec<Inner>>>(
            r#"[{"bytes":1},null,"x",[],{"bytes":"y"}]"#,
        )
        .unwrap();
        assert_eq!(rows, [Inner { bytes: Some(1) }, Inner { bytes: None }]);
        assert!(serde_json::from_str::<Expected<Vec<Inner>>>("{}").is_err());
    }
}
