//! Requests as values, so that a test can read one without a network.
//!
//! **Invariant:** only this crate makes requests, so that no path is built from unchecked text.

use std::fmt;

use serde::de::DeserializeOwned;

use crate::{
    UnreadableWhy,
    envelope::{self, Many, Parsed},
    form::Form,
};

/// The largest answer that is read where a request does not say otherwise: 64 MiB, which is the list
/// of some 100,000 guests.
pub(crate) const LIMIT: usize = 64 << 20;

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// Reads.
    Get,
    /// Changes.
    Post,
}

/// How the text of an answer becomes a `T`.
pub(crate) type Read<T> = fn(&[u8]) -> Result<Parsed<T>, UnreadableWhy>;

/// A request that changes nothing. Answers with a `T`.
pub struct Get<T> {
    path: String,
    limit: usize,
    read: Read<T>,
}

/// A request that changes something. Answers with a `T`.
pub struct Post<T> {
    path: String,
    form: Form,
    read: Read<T>,
}

impl<T> Get<T> {
    /// Reads an answer with the given function. Most requests are [`Get::one`] or [`Get::many`].
    pub(crate) fn new(path: String, read: Read<T>) -> Self {
        Self { path, limit: LIMIT, read }
    }

    /// An answer that is one thing. `null` is one only where `T` is an `Option`.
    pub(crate) fn one(path: String) -> Self
    where
        T: DeserializeOwned,
    {
        Self::new(path, envelope::read)
    }

    /// A list or a map that never fails for one of its entries. `null` means that it is empty.
    pub(crate) fn many(path: String) -> Self
    where
        T: Many,
    {
        Self::new(path, T::read)
    }

    /// The path below `/api2/json`, with the query.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Refuses an answer that is larger, in bytes after decompression.
    #[must_use]
    pub fn at_most(mut self, bytes: usize) -> Self {
        self.limit = bytes;
        self
    }

    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn read(&self, body: &[u8]) -> Result<Parsed<T>, UnreadableWhy> {
        (self.read)(body)
    }

    pub(crate) fn reading(&self) -> Read<T> {
        self.read
    }
}

impl<T: DeserializeOwned> Post<T> {
    pub(crate) fn new(path: String, form: Form) -> Self {
        Self { path, form, read: envelope::read }
    }
}

impl<T> Post<T> {
    /// The path below `/api2/json`.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The body, in form encoding. Empty when there are no parameters.
    pub fn form(&self) -> &str {
        self.form.body()
    }

    pub(crate) fn reading(&self) -> Read<T> {
        self.read
    }
}

impl Method {
    /// `GET` or `POST`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl<T> fmt::Debug for Get<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GET {}", self.path)
    }
}

impl<T> fmt::Debug for Post<T> {
    /// Without the form, which may hold text that somebody typed into a guest.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "POST {}", self.path)
    }
}

impl<T> Clone for Get<T> {
    fn clone(&self) -> Self {
        Self { path: self.path.clone(), limit: self.limit, read: self.read }
    }
}
