//! A place in a journal, to go on from: what callers get and give as `cursor`.

use std::{fmt, str::FromStr};

use pve_client::journal::Cursor;

/// Where an answer ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// What is older.
    Before(Before),
    /// What is newer than this time, in microseconds since 1970.
    After(i64),
}

/// What is older than an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Before {
    /// The entry.
    pub cursor: Cursor,
    /// How many of those before it were shown already.
    pub skip: u32,
    /// Newer than this time, in microseconds since 1970: what is older was seen before.
    pub after: Option<i64>,
}

impl Before {
    /// Everything before this entry.
    pub fn entry(cursor: Cursor) -> Self {
        Self { cursor, skip: 0, after: None }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Before(Before { cursor, skip, after: Some(after) }) => {
                write!(f, "{skip}~{cursor}~{after}")
            }
            Self::Before(Before { cursor, skip: 0, after: None }) => cursor.fmt(f),
            Self::Before(Before { cursor, skip, after: None }) => write!(f, "{skip}~{cursor}"),
            Self::After(time) => write!(f, "after~{time}"),
        }
    }
}

impl FromStr for Place {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let parts: Vec<&str> = text.trim().split('~').collect();
        if let ["after", time] = parts.as_slice() {
            return time.parse().map(Self::After).map_err(drop);
        }
        let (skip, cursor, after) = match parts.as_slice() {
            [cursor] => ("0", *cursor, None),
            [skip, cursor] => (*skip, *cursor, None),
            [skip, cursor, after] => (*skip, *cursor, Some(after.parse().map_err(drop)?)),
            _ => return Err(()),
        };
        let skip = skip.parse().ok().filter(|skip| *skip <= 100_000).ok_or(())?;
        Ok(Self::Before(Before { cursor: cursor.parse().map_err(drop)?, skip, after }))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_place_is_written_and_read_again() {
        for text in [
            "s=ab;i=1;t=6",
            "17~s=ab;i=1;t=6",
            "0~s=ab;i=1;t=6~1796019977000001",
            "after~1796019977000001",
        ] {
            assert_eq!(text.parse::<Place>().unwrap().to_string(), text);
        }
        for text in [
            "",
            "x",
            "1~",
            "~s=ab;i=1",
            "-1~s=ab;i=1",
            "after~",
            "s=ab;i=1&since=0",
            "1~s=ab;i=1~",
            "1~s=ab;i=1~2~3",
        ] {
            assert!(text.parse::<Place>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_place_is_written_and_read_again(text in "[a-z0-9~=;]{0,40}", skip in 0..100_001_u32, time: i64) {
            for text in [text, format!("{skip}~s=ab;i=1;t=6~{time}"), format!("after~{time}")] {
                if let Ok(place) = text.parse::<Place>() {
                    prop_assert_eq!(place.to_string().parse::<Place>(), Ok(place));
                }
            }
        }
    }
}
