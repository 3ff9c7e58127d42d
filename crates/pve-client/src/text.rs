//! Text that is mostly short.
//!
//! A list of ten thousand guests has fifty thousand names, states, nodes, pools and tags. Each of them as a `String`
//! would be a piece of memory of its own, which takes longer to get and to give back than to fill.
//!
//! **Invariant:** two texts are equal, ordered and hashed as their `str` is, however they are kept.

use std::{
    borrow::Borrow,
    cmp::Ordering,
    fmt,
    hash::{Hash, Hasher},
    ops::Deref,
};

use crate::perl::FromPerl;

/// How long a text may be without memory of its own: then it is as large as a `String`.
const INLINE: usize = 22;

/// A text that cannot be changed. Up to 22 bytes take no memory but its own.
#[derive(Clone)]
pub struct Text(Kept);

#[derive(Clone)]
enum Kept {
    Inline { length: u8, bytes: [u8; INLINE] },
    Apart(Box<str>),
}

impl Text {
    /// The text.
    pub fn as_str(&self) -> &str {
        match &self.0 {
            Kept::Inline { length, bytes } => {
                let bytes = bytes.get(..usize::from(*length)).unwrap_or_default();
                // It came from a `str`, so that nothing is ever lost here.
                str::from_utf8(bytes).unwrap_or_default()
            }
            Kept::Apart(text) => text,
        }
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        let mut bytes = [0; INLINE];
        match (bytes.get_mut(..text.len()), u8::try_from(text.len())) {
            (Some(place), Ok(length)) => {
                place.copy_from_slice(text.as_bytes());
                Self(Kept::Inline { length, bytes })
            }
            _ => Self(Kept::Apart(text.into())),
        }
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        if text.len() > INLINE { Self(Kept::Apart(text.into())) } else { Self::from(text.as_str()) }
    }
}

impl FromPerl for Text {
    /// Empty text says nothing, as for a `String`.
    fn from_text(text: &str) -> Option<Self> {
        (!text.is_empty()).then(|| text.into())
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl AsRef<str> for Text {
    fn as_ref(&self) -> &str {
        self
    }
}

impl Borrow<str> for Text {
    fn borrow(&self) -> &str {
        self
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Text {}

impl PartialOrd for Text {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Text {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_str().cmp(other)
    }
}

impl Hash for Text {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self)
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

#[cfg(test)]
mod tests {
    use std::hash::DefaultHasher;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn it_is_as_large_as_a_string() {
        assert_eq!(size_of::<Option<Text>>(), size_of::<String>());
    }

    fn hash(value: &(impl Hash + ?Sized)) -> u64 {
        let mut hasher = DefaultHasher::new();
        value.hash(&mut hasher);
        hasher.finish()
    }

    proptest! {
        #[test]
        fn it_is_the_text_that_it_was_made_of(one in "\\PC{0,30}", other in "\\PC{0,30}") {
            let (a, b) = (Text::from(one.as_str()), Text::from(other.clone()));
            prop_assert_eq!(a.as_str(), one.as_str());
            prop_assert_eq!(b.as_str(), other.as_str());
            prop_assert_eq!(a.cmp(&b), one.cmp(&other));
            prop_assert_eq!(a == b, one == other);
            prop_assert_eq!(hash(&a), hash(one.as_str()));
            prop_assert_eq!(format!("{a:?} {a:>40}"), format!("{one:?} {one:>40}"));
            prop_assert_eq!(Text::from_text(&one).is_none(), one.is_empty());
        }
    }
}
