//! The API token, and the secret in it.
//!
//! **Invariant:** neither `Debug` nor `Display` shows a secret, and its memory is wiped when it goes.

use std::{fmt, ops::Range};

use bytes::Bytes;
use memchr::memmem;
use zeroize::Zeroizing;

/// Text that is never shown.
#[derive(Clone)]
pub struct Secret(Zeroizing<String>);

/// An API token: `USER@REALM!NAME`, and its secret.
#[derive(Clone)]
pub struct Token {
    id: String,
    secret: Secret,
}

/// Why a token cannot be one. No message shows any part of the secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidToken {
    /// The user has no `@`, or nothing on one side of it.
    #[error("the user needs its realm, as in `root@pam` or `monitor@pve`")]
    NoRealm,
    /// The part before the `@` has a blank, a `:`, a `/` or a control character.
    #[error("the user's name must not have blanks, `:`, `/` or control characters")]
    User,
    /// The realm is not one that PVE can have.
    #[error("the realm starts with a letter and has letters, digits, `.`, `-` and `_` after it")]
    Realm,
    /// The token's name is not one that PVE can have.
    #[error(
        "the token's name starts with a letter and has one or more letters, digits, `.`, `-` and `_` after it; \
         it is the part after the `!`"
    )]
    Name,
    /// No secret.
    #[error("the token's secret is empty")]
    NoSecret,
    /// The secret cannot be sent.
    #[error(
        "the token's secret has characters that no secret has; it is the value that PVE showed \
         once when the token was made, such as `12345678-1234-1234-1234-123456789abc`"
    )]
    Secret,
}

impl Secret {
    /// Wraps the text, which is not copied.
    pub fn new(text: String) -> Self {
        Self(Zeroizing::new(text))
    }

    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

impl Token {
    /// Puts a token together from the user (`root@pam`; the realm is what follows the *last* `@`),
    /// the token's own name (`monitor`), and its secret.
    pub fn new(user: &str, name: &str, secret: Secret) -> Result<Self, InvalidToken> {
        let (account, realm) = user.rsplit_once('@').ok_or(InvalidToken::NoRealm)?;
        if account.is_empty() || realm.is_empty() {
            return Err(InvalidToken::NoRealm);
        }
        // What PVE allows, read in its access control. It is sent unencoded, so it must be no more.
        if account.chars().any(|c| c.is_whitespace() || c.is_control() || ":/".contains(c)) {
            return Err(InvalidToken::User);
        }
        if !is_name(realm) {
            return Err(InvalidToken::Realm);
        }
        if !is_name(name) {
            return Err(InvalidToken::Name);
        }
        if secret.expose().is_empty() {
            return Err(InvalidToken::NoSecret);
        }
        if !secret.expose().bytes().all(|b| b.is_ascii_graphic()) {
            return Err(InvalidToken::Secret);
        }
        Ok(Self { id: format!("{user}!{name}"), secret })
    }

    /// `root@pam!monitor`: what may be shown.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The bytes of an answer without the secret, which a proxy that echoes requests, or a log on the
    /// node, may hold. What takes its place is as long.
    pub(crate) fn hidden_in(&self, body: Bytes) -> Bytes {
        let secret = self.secret.expose().as_bytes();
        // JSON may write any character by its number, and some behind a `\`.
        let is_escaped = memchr::memchr(b'\\', &body).is_some();
        if secret.len() < LEAST || !is_escaped && memmem::find(&body, secret).is_none() {
            return body;
        }
        let mut places = if is_escaped { escaped(&body, secret) } else { Vec::new() };
        places.extend(memmem::find_iter(&body, secret).map(|at| at..at + secret.len()));
        if places.is_empty() {
            return body;
        }
        let mut hidden = Vec::from(body);
        for place in places {
            hidden.get_mut(place).into_iter().flatten().for_each(|byte| *byte = b'*');
        }
        hidden.into()
    }

    /// The same of a text.
    pub(crate) fn hidden_in_text(&self, text: String) -> String {
        let secret = self.secret.expose();
        if secret.len() < LEAST { text } else { text.replace(secret, "***") }
    }

    /// The value of the `Authorization` header.
    pub(crate) fn authorization(&self) -> Zeroizing<String> {
        Zeroizing::new(format!("PVEAPIToken={}={}", self.id, self.secret.expose()))
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Token({}=…)", self.id)
    }
}

/// Where this secret stands in a text that may be JSON, however its characters are written there.
fn escaped(body: &[u8], secret: &[u8]) -> Vec<Range<usize>> {
    let first = secret.first().copied().unwrap_or_default();
    let (mut places, mut at) = (Vec::new(), 0);
    while let Some(rest) = body.get(at..)
        && let Some(next) = memchr::memchr2(first, b'\\', rest)
    {
        at += next;
        let length = secret.iter().try_fold(0, |length, wanted| {
            let (byte, written) = character(body.get(at + length..)?)?;
            (byte == *wanted).then_some(length + written)
        });
        places.extend(length.map(|length| at..at + length));
        let one = || body.get(at..).and_then(character).map_or(1, |(_, written)| written);
        at += length.unwrap_or_else(one);
    }
    places
}

/// The ASCII character that a text of JSON goes on with, and in how many bytes it is written.
fn character(text: &[u8]) -> Option<(u8, usize)> {
    match text {
        [b'\\', b'u', b'0', b'0', digits @ ..] => {
            let digits = std::str::from_utf8(digits.get(..2)?).ok()?;
            u8::from_str_radix(digits, 16).ok().map(|byte| (byte, 6))
        }
        [b'\\', byte @ (b'"' | b'\\' | b'/'), ..] => Some((*byte, 2)),
        [byte, ..] => Some((*byte, 1)),
        [] => None,
    }
}

/// A secret has 36 characters. One that is this short is none, and would blank words that mean nothing.
const LEAST: usize = 16;

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.len() <= 128
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b".-_".contains(&b))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECRET: &str = "0b5c3a52-6d2b-4a7e-9d4e-5f0c6f1a2b3c";

    fn token(user: &str, name: &str, secret: &str) -> Result<Token, InvalidToken> {
        Token::new(user, name, Secret::new(secret.to_owned()))
    }

    #[test]
    fn the_realm_is_what_follows_the_last_at_sign() {
        let token = token("first.last@example.com@corp", "tool", SECRET).unwrap();
        assert_eq!(token.id(), "first.last@example.com@corp!tool");
        assert_eq!(
            token.authorization().as_str(),
            format!("PVEAPIToken=first.last@example.com@corp!tool={SECRET}")
        );
    }

    #[test]
    fn each_mistake_is_named() {
        assert_eq!(token("root", "m", SECRET).unwrap_err(), InvalidToken::NoRealm);
        assert_eq!(token("root@", "mon", SECRET).unwrap_err(), InvalidToken::NoRealm);
        assert_eq!(token("@pam", "mon", SECRET).unwrap_err(), InvalidToken::NoRealm);
        assert_eq!(token("ro ot@pam", "mon", SECRET).unwrap_err(), InvalidToken::User);
        assert_eq!(token("root\r\n@pam", "mon", SECRET).unwrap_err(), InvalidToken::User);
        assert_eq!(token("root@pam!x", "mon", SECRET).unwrap_err(), InvalidToken::Realm);
        assert_eq!(token("root@pam", "", SECRET).unwrap_err(), InvalidToken::Name);
        assert_eq!(token("root@pam", "a!b", SECRET).unwrap_err(), InvalidToken::Name);
        assert_eq!(token("root@pam", "mon", "").unwrap_err(), InvalidToken::NoSecret);
        assert_eq!(token("root@pam", "mon", "a b").unwrap_err(), InvalidToken::Secret);
        assert_eq!(token("root@pam", "mon", "a\nb").unwrap_err(), InvalidToken::Secret);
    }

    #[test]
    fn an_answer_that_repeats_the_secret_is_as_long_and_without_it() {
        let token = token("root@pam", "monitor", SECRET).unwrap();
        let echo = format!("{{\"a\":\"{SECRET}\",\"b\":\"x{SECRET}{SECRET}\"}}");
        let hidden = token.hidden_in(Bytes::from(echo.clone()));
        let hidden = String::from_utf8(hidden.to_vec()).unwrap();
        assert_eq!(hidden.len(), echo.len());
        assert!(!hidden.contains("0b5c") && hidden.starts_with("{\"a\":\"***"), "{hidden}");
        assert_eq!(token.hidden_in_text(format!("a {SECRET} b")), "a *** b");
        let same = Bytes::from_static(b"{\"a\":\"\\u0030b5c \\\\ 0b5c3a52\"}");
        assert_eq!(token.hidden_in(same.clone()), same);
    }

    proptest! {
        #[test]
        fn a_secret_is_hidden_however_json_writes_it(
            secret in "[!-~]{16,40}",
            numbered in proptest::collection::vec(any::<bool>(), 40),
            before in ".{0,20}",
        ) {
            let mut text = serde_json::to_string(&before).unwrap();
            text.pop();
            for (character, numbered) in secret.chars().zip(numbered) {
                let written = match character {
                    c if numbered => format!("\\u{:04x}", u32::from(c)),
                    c @ ('"' | '\\') => format!("\\{c}"),
                    c => c.to_string(),
                };
                text += &written;
            }
            text.push('"');
            let token = token("root@pam", "monitor", &secret).unwrap();
            let hidden = token.hidden_in(Bytes::from(text.clone()));
            prop_assert_eq!(hidden.len(), text.len());
            let read: String = serde_json::from_slice(&hidden).unwrap();
            prop_assert!(!read.contains(&secret), "{} in {}", secret, read);
        }
    }

    #[test]
    fn nothing_shows_the_secret() {
        let secret = Secret::new(SECRET.to_owned());
        let token = token("root@pam", "monitor", SECRET).unwrap();
        let shown = format!("{secret} {secret:?} {secret:#?} {token:?} {token:#?}");
        assert!(!shown.contains("0b5c") && shown.contains("root@pam!monitor"), "{shown}");
    }
}
