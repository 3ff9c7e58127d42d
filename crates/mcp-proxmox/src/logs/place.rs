//! A place in a journal, to go on from: what callers get and give as `cursor`.

use std::{fmt, str::FromStr};

use pve_client::journal::Cursor;

/// Where an answer ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// What is older: all before an entry, but for so many that were shown already.
    Before(Cursor, u32),
    /// What is newer than this time, in microseconds since 1970.
    After(i64),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Before(cursor, 0) => cursor.fmt(f),
            Self::Before(cursor, skip) => write!(f, "{skip}~{cursor}"),
            Self::After(time) => write!(f, "after~{time}"),
        }
    }
}

impl FromStr for Place {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text.trim().split_once('~') {
            Some(("after", time)) => time.parse().map(Self::After).map_err(drop),
            Some((skip, cursor)) => {
                let skip = skip.parse().ok().filter(|skip| *skip <= 100_000).ok_or(())?;
                Ok(Self::Before(cursor.parse().map_err(drop)?, skip))
            }
            None => Ok(Self::Before(text.trim().parse().map_err(drop)?, 0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_written_and_read_again() {
        for text in ["s=ab;i=1;t=6", "17~s=ab;i=1;t=6", "after~1796019977000001"] {
            assert_eq!(text.parse::<Place>().unwrap().to_string(), text);
        }
        for text in ["", "x", "1~", "~s=ab;i=1", "-1~s=ab;i=1", "after~", "s=ab;i=1&since=0"] {
            assert!(text.parse::<Place>().is_err(), "{text}");
        }
    }
}
