//! How answers look: the vocabulary that every tool's output is made of.
//!
//! A tool fills an output type from these parts and serialises it once. The structured content that
//! clients get is that value; the text is drawn from the same value by [`text::draw`], so that **the
//! two always say the same**.
//!
//! **Unknown is absent or `null`, never zero**: a part that cannot be computed is an `Option`.

pub mod clean;
pub mod measure;
pub mod table;
pub mod text;

pub use measure::{Bytes, Duration, Number, Percent, Share};
pub use table::{Cell, Table};
