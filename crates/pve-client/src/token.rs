//! The API token, and the secret in it.
//!
//! **Invariant:** neither `Debug` nor `Display` shows a secret, and its memory is wiped when it goes.

use std::fmt;

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
        if secret.len() < LEAST || memmem::find(&body, secret).is_none() {
            return body;
        }
        let mut hidden = Vec::from(body);
        while let Some(at) = memmem::find(&hidden, secret) {
            hidden.iter_mut().skip(at).take(secret.len()).for_each(|byte| *byte = b'*');
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

/// A secret has 36 characters. One that is this short is none, and would blank words that mean nothing.
const LEAST: usize = 16;

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.len() <= 128
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b".-_".contains(&b))
}

#[cfg(test)]
mod tests {
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
    }

    #[test]
    fn nothing_shows_the_secret() {
        let secret = Secret::new(SECRET.to_owned());
        let token = token("root@pam", "monitor", SECRET).unwrap();
        let shown = format!("{secret} {secret:?} {secret:#?} {token:?} {token:#?}");
        assert!(!shown.contains("0b5c") && shown.contains("root@pam!monitor"), "{shown}");
    }
}
