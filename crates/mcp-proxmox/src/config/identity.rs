//! Who we are for PVE: user, realm, token name and secret, from the many ways in which people write them.

use pve_client::{Secret, Token};
use zeroize::Zeroizing;

use super::{secret, settings};

/// The parts as they were read.
pub(super) struct Parts<'a> {
    pub(super) token_id: &'a str,
    pub(super) secret: Zeroizing<String>,
    /// The variable that it comes from.
    pub(super) secret_from: &'static str,
    pub(super) username: Option<&'a str>,
    pub(super) realm: &'a str,
}

/// The variable that is wrong, and what is wrong with it.
pub(super) type Mistake = (&'static str, String);

/// The token. Reports the first mistake in each variable.
pub(super) fn token(parts: Parts<'_>) -> Result<Token, Vec<Mistake>> {
    let (user, name) = user_and_name(parts.token_id, parts.username, parts.realm)?;
    let is_of_file = parts.secret_from == settings::TOKEN_SECRET_FILE.variable;
    let secret = bare_secret(&parts.secret, &format!("{user}!{name}"), is_of_file)
        .map_err(|mistake| vec![(parts.secret_from, mistake)])?;
    Token::new(&user, &name, Secret::new(secret))
        .map_err(|error| vec![("PVE_TOKEN_ID", error.to_string())])
}

fn user_and_name(
    token_id: &str,
    username: Option<&str>,
    realm: &str,
) -> Result<(String, String), Vec<Mistake>> {
    let in_id = |mistake: String| vec![("PVE_TOKEN_ID", mistake)];
    let bare = without_header(token_id);
    if let Some((id, _)) = bare.split_once('=') {
        // Before the first `=` stands no secret where that is a whole id.
        let id = if is_whole_id(id) {
            format!("`{}`", shown(id))
        } else {
            "only what is before the first `=`".to_owned()
        };
        let what = if bare == token_id { "it holds a `=`" } else { "that is the whole header" };
        return Err(in_id(format!(
            "{what}: here belongs {id}; what is behind the last `=` is the secret, which belongs in PVE_TOKEN_SECRET or a file"
        )));
    }
    let token_id = bare;
    if let Some(plain) = decoded(token_id) {
        return Err(in_id(plain));
    }
    if let Some(plain) = username.and_then(decoded) {
        return Err(vec![("PVE_USERNAME", plain)]);
    }
    let username = match username.and_then(|user| user.rsplit_once('!')) {
        // The whole id in the place of the user: both agree, and what is meant is clear.
        Some((user, name)) if token_id == name || token_id.ends_with(&format!("!{name}")) => {
            Some(user)
        }
        Some((user, _)) => {
            return Err(vec![(
                "PVE_USERNAME",
                format!(
                    "that is a token and not its user: write `{}`, and the token's name in PVE_TOKEN_ID",
                    shown(user)
                ),
            )]);
        }
        None => username,
    };
    if let Some(name) = token_id.strip_prefix('!') {
        let user = username.map_or_else(|| "user@realm".to_owned(), |user| with_realm(user, realm));
        let (user, name) = (shown(&user), shown(name));
        return Err(in_id(format!("it has no user before its `!`: write `{user}!{name}`")));
    }
    let (user, name) = match token_id.rsplit_once('!') {
        Some((user, name)) => (Some(user), name),
        None => (None, token_id),
    };
    if user.is_some_and(|user| user.contains('!')) {
        return Err(in_id(
            "it holds two `!`: write `user@realm!name`, or the name alone".to_owned(),
        ));
    }
    if user.is_none() && name.contains('@') {
        return Err(in_id(
            "that is a user: add the token's name to it, as in `user@realm!name`".to_owned(),
        ));
    }
    if !is_token_name(name) {
        return Err(in_id(format!(
            "`{}` is not a token name: two or more letters, digits, `.`, `-` and `_`, beginning with a letter",
            shown(name)
        )));
    }
    let user = match (user, username) {
        (Some(user), Some(other)) if with_realm(other, realm) != user => {
            return Err(vec![(
                "PVE_USERNAME",
                format!(
                    "it says `{}`, but PVE_TOKEN_ID names the user `{}`: leave one of them out",
                    shown(other),
                    shown(user)
                ),
            )]);
        }
        // A full id is taken as it stands: there, a user without a realm is a slip.
        (Some(user), _) if !user.contains('@') => {
            return Err(in_id(format!(
                "the user `{}` has no realm: write `{}@pam!{name}` or `{0}@pve!{name}`",
                shown(user),
                shown(user)
            )));
        }
        (Some(user), _) => user.to_owned(),
        (None, Some(user)) => with_realm(user, realm),
        (None, None) => {
            return Err(vec![(
                "PVE_USERNAME",
                "it is not set, and PVE_TOKEN_ID names only the token: set it to the token's user, such as `mcp@pve`".to_owned(),
            )]);
        }
    };
    Ok((user, name.to_owned()))
}

/// Whether this is a token's whole id, and holds nothing else.
fn is_whole_id(text: &str) -> bool {
    let parts = text.rsplit_once('!').and_then(|(user, name)| Some((user.split_once('@')?, name)));
    let is_plain =
        |text: &str| !text.is_empty() && text.len() <= 64 && !text.contains(char::is_whitespace);
    parts.is_some_and(|((account, realm), name)| {
        is_plain(account) && is_plain(realm) && is_token_name(name)
    }) && !secret::is_in(text)
}

/// What to write instead of a text in the form that addresses have.
fn decoded(text: &str) -> Option<String> {
    let is_encoded = text.contains("%40") || text.contains("%21");
    is_encoded.then(|| {
        // Behind a `=` there may be the secret.
        let before = text.split("%3D").next().and_then(|text| text.split("%3d").next());
        let plain = before.unwrap_or_default().replace("%40", "@").replace("%21", "!");
        format!("it is percent-encoded: write `{}`", shown(&plain))
    })
}

fn with_realm(user: &str, realm: &str) -> String {
    if user.contains('@') { user.to_owned() } else { format!("{user}@{realm}") }
}

fn is_token_name(name: &str) -> bool {
    name.len() >= 2
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
}

/// What stands in a header before the token: how `curl` and scripts have it.
pub(super) fn without_header(text: &str) -> &str {
    let mut text = text;
    for beginning in ["Authorization:", "PVEAPIToken="] {
        if let Some((head, rest)) = text.split_at_checked(beginning.len()) {
            text = if head.eq_ignore_ascii_case(beginning) { rest.trim_start() } else { text };
        }
    }
    text
}

/// People paste the header or `id=secret` whole; where the id is ours, what is meant is clear.
fn bare_secret(text: &str, id: &str, is_of_file: bool) -> Result<String, String> {
    let bare = without_header(text);
    if let Some(other) = something_else(bare, id, is_of_file) {
        return Err(other);
    }
    let bare = match bare.rsplit_once('=') {
        Some((pasted, secret)) if pasted == id || id.ends_with(&format!("!{pasted}")) => secret,
        Some(_) => return Err("it holds a `=` and an id that is not the one of PVE_TOKEN_ID: only the secret belongs here".to_owned()),
        None => bare,
    };
    if bare.is_empty() {
        return Err("it is empty".to_owned());
    }
    if bare.contains(['"', '\'', '`']) {
        return Err("it holds a quote, which no secret has: copy it again".to_owned());
    }
    if !bare.bytes().all(|b| b.is_ascii_graphic()) {
        return Err(
            "it holds blanks or other characters that no secret has: copy it again".to_owned()
        );
    }
    let is_example = bare.len() > 3 && bare.bytes().all(|b| b"xX-".contains(&b));
    if is_example || bare.starts_with('<') && bare.ends_with('>') {
        return Err("that is a placeholder: put the secret in its place that PVE showed once, when the token was made".to_owned());
    }
    Ok(bare.to_owned())
}

/// What a text plainly is that is no secret.
fn something_else(text: &str, id: &str, is_of_file: bool) -> Option<String> {
    let is_drive =
        matches!(text.as_bytes(), [drive, b':', b'\\' | b'/', ..] if drive.is_ascii_alphabetic());
    let beginnings = ["/", "~/", "~\\", "./", ".\\", "../", "..\\", "\\\\"];
    if is_drive || beginnings.iter().any(|beginning| text.starts_with(beginning)) {
        let instead = if is_of_file {
            "PVE_TOKEN_SECRET_FILE must name the file with the secret itself"
        } else {
            "use PVE_TOKEN_SECRET_FILE"
        };
        return Some(format!("that is a path: {instead}"));
    }
    if text.starts_with(['{', '[']) {
        return Some("that is JSON: only the secret belongs here".to_owned());
    }
    let is_id = text == id || !text.contains('=') && text.starts_with(id);
    is_id.then(|| {
        "that is the token's id: the secret is what PVE showed once, when the token was made"
            .to_owned()
    })
}

fn shown(text: &str) -> String {
    crate::answer::clean::label(text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const UUID: &str = "0f0e0d0c-1111-2222-3333-444455556666";

    fn id(
        token_id: &str,
        secret: &str,
        username: Option<&str>,
        realm: &str,
    ) -> Result<String, Vec<Mistake>> {
        let secret = Zeroizing::new(secret.to_owned());
        let secret_from = "PVE_TOKEN_SECRET";
        token(Parts { token_id, secret, secret_from, username, realm })
            .map(|token| token.id().to_owned())
    }

    #[test]
    fn q001_full_and_short_ids_are_one() {
        let full = Ok("svc@pve!tool".to_owned());
        assert_eq!(id("svc@pve!tool", UUID, Some("svc@pve"), "pam"), full);
        assert_eq!(id("svc@pve!tool", UUID, None, "pam"), full);
        assert_eq!(id("tool", UUID, Some("svc@pve"), "pam"), full);
        assert_eq!(id("tool", UUID, Some("svc"), "pve"), full);
        let mistakes = id("svc@pve!svc@pve!tool", UUID, None, "pam").unwrap_err();
        assert!(mistakes[0].1.contains("two `!`"), "{mistakes:?}");
    }

    #[test]
    fn q008_the_realm_is_behind_the_last_at_sign() {
        let wanted = Ok("first.last@example.com@corp!tool".to_owned());
        assert_eq!(id("first.last@example.com@corp!tool", UUID, None, "pam"), wanted);
    }

    #[test]
    fn q009_a_user_without_realm_is_mended_or_refused() {
        assert_eq!(id("tool", UUID, Some("root"), "pam"), Ok("root@pam!tool".to_owned()));
        let mistakes = id("svc!tool", UUID, None, "pam").unwrap_err();
        assert!(mistakes[0].1.contains("`svc@pam!tool` or `svc@pve!tool`"), "{mistakes:?}");
    }

    #[test]
    fn a_user_in_place_of_a_token_is_told_what_is_missing() {
        let mistakes = id("monitor@pve", UUID, None, "pam").unwrap_err();
        assert!(mistakes[0].1.contains("add the token's name"), "{mistakes:?}");
    }

    #[test]
    fn a_whole_token_pasted_as_the_secret_is_understood() {
        let wanted = Ok("root@pam!mon".to_owned());
        assert_eq!(id("root@pam!mon", &format!("root@pam!mon={UUID}"), None, "pam"), wanted);
        assert_eq!(
            id("mon", &format!("PVEAPIToken=root@pam!mon={UUID}"), Some("root"), "pam"),
            wanted
        );
        assert_eq!(id("mon", &format!("mon={UUID}"), Some("root"), "pam"), wanted);
        let mistakes =
            id("root@pam!mon", &format!("root@pam!other={UUID}"), None, "pam").unwrap_err();
        assert_eq!(mistakes[0].0, "PVE_TOKEN_SECRET");
    }

    #[test]
    fn mistakes_never_repeat_the_secret() {
        let mistakes = id("root@pam!mon", &format!("x y={UUID}"), None, "pam").unwrap_err();
        assert!(!format!("{mistakes:?}").contains(UUID));
    }

    #[test]
    fn two_users_that_differ_are_a_mistake() {
        let mistakes = id("root@pam!mon", UUID, Some("svc@pve"), "pam").unwrap_err();
        assert_eq!(mistakes[0].0, "PVE_USERNAME");
    }

    proptest! {
        #[test]
        fn no_mistake_repeats_the_secret(token_id in "[a-z@!=. ]{0,30}", username in proptest::option::of("[a-z@!]{0,9}"), around in "[a-z@!= ]{0,9}") {
            let secret = format!("{around}{UUID}{around}");
            if let Err(mistakes) = id(&token_id, &secret, username.as_deref(), "pam") {
                prop_assert!(!mistakes.iter().any(|(_, text)| text.contains(UUID)), "{mistakes:?}");
            }
        }
    }
}
