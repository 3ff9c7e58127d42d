//! Reads one setting after the other and gathers the mistakes.

use std::{
    path::{Path, PathBuf},
    str::FromStr,
};

use jiff::tz::TimeZone;
use pve_client::{CaBundle, Host, InvalidServerName, ServerName, Tls, Token, Trust};
use tracing::level_filters::LevelFilter;
use zeroize::Zeroizing;

use super::{
    Mistake, ToolChoice, file, identity,
    list::{each, parts},
    pins,
    placeholder::{is_placeholder, placeholder_in},
    secret,
    settings::{self, Setting},
};
use crate::{
    answer::clean,
    arguments::nearest,
    catalog::{ALL, Toolset},
};

/// A configuration that is being read, with the mistakes so far.
pub(super) struct Reading<'a> {
    pub(super) source: &'a dyn Fn(&Setting) -> Option<String>,
    pub(super) mistakes: Vec<Mistake>,
    pub(super) warnings: Vec<String>,
}

/// A secret is longer, and what is shorter would be found in words that mean nothing.
const LEAST: usize = 16;

/// Without the blanks, byte order marks and quotes that come with copying.
fn unquoted(text: &str) -> &str {
    let mut text = text;
    loop {
        text = text.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
        let within = |quote| text.strip_prefix(quote).and_then(|text| text.strip_suffix(quote));
        match ['"', '\'', '`'].into_iter().find_map(within) {
            Some(inner) => text = inner,
            None => return text,
        }
    }
}

/// Where a file is. The clients that start the server hand `~` on as it is: there is no shell between.
pub(crate) fn at_home(path: &str) -> PathBuf {
    let below = path.strip_prefix("~/").or_else(|| path.strip_prefix("~\\"));
    match (below, std::env::home_dir()) {
        (Some(below), Some(home)) => home.join(below),
        _ => PathBuf::from(path),
    }
}

impl Reading<'_> {
    /// What the user wrote, without the blanks and quotes that come with copying. An empty value counts as
    /// not set: clients fill optional settings with nothing.
    pub(super) fn value(&self, setting: &Setting) -> Option<String> {
        // It may be the secret.
        let text = Zeroizing::new((self.source)(setting)?);
        let text = unquoted(&text);
        let is_given = !text.is_empty() && !is_placeholder(text) && placeholder_in(text).is_none();
        is_given.then(|| text.to_owned())
    }

    /// Looks for placeholders that clients left within a value. It is told here alone, for every setting; as the
    /// value is not known, it counts as not set elsewhere.
    pub(super) fn placeholders(&mut self) {
        for setting in settings::ALL {
            let Some(text) = (self.source)(setting).map(Zeroizing::new) else { continue };
            let text = unquoted(&text);
            let Some(found) = placeholder_in(text).filter(|_| !is_placeholder(text)) else {
                continue;
            };
            // Of a secret nothing is repeated.
            let is_secret =
                setting.variable == settings::TOKEN_SECRET.variable || self.holds_secret(text);
            let named =
                if is_secret { String::new() } else { format!("`{}`, ", clean::label(found)) };
            let wrong = format!(
                "it holds {named}a placeholder that the client did not fill in: set the variable where the client is started, or write what it stands for"
            );
            self.wrong(setting, wrong);
        }
    }

    /// Why there is nothing of a setting that is needed, where that is not told yet.
    fn not_set(&mut self, setting: &Setting) {
        if self.mistakes.iter().any(|told| told.variable == setting.variable) {
            return;
        }
        let why = if self.is_unfilled(setting) {
            "it is not set: it holds a placeholder that the client did not fill in"
        } else {
            "it is not set"
        };
        self.wrong(setting, format!("{why}. {}", setting.help));
    }

    /// Looks at what guards writes. What the client did not fill in would guard nothing, and nobody would notice.
    pub(super) fn guards(&mut self) {
        for (setting, default) in [
            (&settings::ALLOW_VMS, "all"),
            (&settings::PROTECT_VMS, "none"),
            (&settings::CONFIRM, "destructive"),
            (&settings::TOOLS, "all"),
            (&settings::EXCLUDE_TOOLS, "none"),
        ] {
            if self.is_unfilled(setting) {
                self.wrong(setting, format!("it holds a placeholder that the client did not fill in, and guards writes: fill it in, or write `{default}`"));
            }
        }
        if self.is_unfilled(&settings::AUDIT_LOG) {
            self.wrong(&settings::AUDIT_LOG, "it holds a placeholder that the client did not fill in, so that writes would not be recorded: fill it in, or leave the setting out".to_owned());
        }
        if (self.source)(&settings::ALLOW_VMS).is_some_and(|text| unquoted(&text).is_empty()) {
            self.wrong(&settings::ALLOW_VMS, "it is set and empty, which may mean all or none: write `all`, `none`, or on which write tools may act".to_owned());
        }
    }

    fn is_unfilled(&self, setting: &Setting) -> bool {
        (self.source)(setting).is_some_and(|text| is_placeholder(unquoted(&text)))
    }

    pub(super) fn wrong(&mut self, setting: &Setting, wrong: String) {
        self.mistakes.push(Mistake { variable: setting.variable.into(), wrong });
    }

    pub(super) fn one<T>(
        &mut self,
        setting: &Setting,
        read: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<T> {
        let text = self.value(setting)?;
        if self.holds_secret(&text) {
            let wrong =
                "it holds the token's secret, which belongs in PVE_TOKEN_SECRET or its file alone";
            self.wrong(setting, wrong.to_owned());
            return None;
        }
        let seen: Zeroizing<String> =
            Zeroizing::new(text.chars().filter(char::is_ascii_graphic).collect());
        if secret::is_one(&seen) {
            self.wrong(setting, secret::LOOKS.to_owned());
            return None;
        }
        match read(&text) {
            Ok(value) => Some(value),
            // What is cut where it is shown may be cut within a secret.
            Err(_) if secret::is_in(&text) || secret::is_in(&seen) => {
                self.wrong(setting, secret::LOOKS.to_owned());
                None
            }
            Err(wrong) => {
                // What stands before an `@` may be a password.
                let shown = text.rsplit_once('@').map_or(text.as_str(), |(_, host)| host);
                self.wrong(setting, format!("`{}`: {wrong}", clean::label(shown)));
                None
            }
        }
    }

    /// Whether the secret was written here too. Whatever is said of a value may repeat it.
    fn holds_secret(&self, text: &str) -> bool {
        if text.len() < LEAST {
            return false;
        }
        let secret = self.value(&settings::TOKEN_SECRET).map(Zeroizing::new).or_else(|| {
            let path = at_home(&self.value(&settings::TOKEN_SECRET_FILE)?);
            file::read_text(&path, file::SECRET).ok()
        });
        let secret = secret.unwrap_or_default();
        // As it may be copied, it has the token's id before it.
        let bare = unquoted(&secret).rsplit('=').next().unwrap_or_default();
        // What cannot be seen is taken out of what is shown, and so it hides nothing here.
        let seen: Zeroizing<String> =
            Zeroizing::new(text.chars().filter(char::is_ascii_graphic).collect());
        bare.len() >= LEAST && (text.contains(bare) || seen.contains(bare))
    }

    pub(super) fn parsed<T: FromStr<Err = String>>(&mut self, setting: &Setting) -> Option<T> {
        self.one(setting, T::from_str)
    }

    pub(super) fn required<T>(
        &mut self,
        setting: &Setting,
        read: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<T> {
        if self.value(setting).is_none() {
            self.not_set(setting);
            return None;
        }
        self.one(setting, read)
    }

    pub(super) fn tool_choice(&mut self) -> ToolChoice {
        // The defaults may be written too.
        let names_but = |default: &'static str| {
            move |text: &str| {
                if text.eq_ignore_ascii_case(default) { Ok(Vec::new()) } else { tool_names(text) }
            }
        };
        let only = self.one(&settings::TOOLS, names_but("all")).unwrap_or_default();
        let without = self.one(&settings::EXCLUDE_TOOLS, names_but("none")).unwrap_or_default();
        ToolChoice { only, without }
    }

    pub(super) fn token(&mut self) -> Option<Token> {
        let (secret, secret_from) = match self.secret() {
            Some((secret, from)) => (Some(secret), from),
            None => (None, &settings::TOKEN_SECRET),
        };
        let n_mistakes = self.mistakes.len();
        let username = self.one(&settings::USERNAME, |text| {
            if secret::is_in(text) { Err(String::new()) } else { Ok(text.to_owned()) }
        });
        if self.mistakes.len() > n_mistakes {
            return None;
        }
        let realm = self.one(&settings::REALM, |text| {
            let fits = text.len() >= 2
                && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b));
            fits.then(|| text.to_owned()).ok_or_else(|| {
                "it is not a realm: write `pam`, `pve` or your realm's name".to_owned()
            })
        });
        let Some(token_id) = self.value(&settings::TOKEN_ID) else {
            self.not_set(&settings::TOKEN_ID);
            return None;
        };
        // With a `=` the secret was pasted with its id, of which more can be said below.
        if !token_id.contains('=') {
            self.one(&settings::TOKEN_ID, |_| Ok(()))?;
        }
        // The other parts are checked even where the secret is missing.
        let missing = secret.is_none();
        let parts = identity::Parts {
            token_id: &token_id,
            secret: secret.unwrap_or_else(|| Zeroizing::new("missing".to_owned())),
            secret_from: secret_from.variable,
            username: username.as_deref(),
            realm: realm.as_deref().unwrap_or("pam"),
        };
        match identity::token(parts) {
            Ok(token) => (!missing).then_some(token),
            Err(mistakes) => {
                for (variable, wrong) in mistakes {
                    let file = (variable == settings::TOKEN_SECRET_FILE.variable)
                        .then(|| self.value(&settings::TOKEN_SECRET_FILE))
                        .flatten();
                    // It is the content of the file that is wrong.
                    let file = file.map(|path| {
                        format!("`{}`: ", clean::label(&at_home(&path).to_string_lossy()))
                    });
                    // With a `=` it is known which part is shown.
                    let is_shown = identity::without_header(&token_id).contains('=')
                        || !secret::is_in(&token_id);
                    let wrong = if is_shown { wrong } else { secret::LOOKS.to_owned() };
                    let wrong = file.unwrap_or_default() + &wrong;
                    self.mistakes.push(Mistake { variable: variable.into(), wrong });
                }
                None
            }
        }
    }

    /// The secret, and the setting that it comes from.
    fn secret(&mut self) -> Option<(Zeroizing<String>, &'static Setting)> {
        let given = self.value(&settings::TOKEN_SECRET).map(Zeroizing::new);
        let file = self.value(&settings::TOKEN_SECRET_FILE);
        if file.as_deref().is_some_and(secret::is_in) {
            self.wrong(&settings::TOKEN_SECRET_FILE, secret::LOOKS.to_owned());
            return None;
        }
        match (given, file) {
            (Some(_), Some(_)) => {
                self.wrong(
                    &settings::TOKEN_SECRET_FILE,
                    "PVE_TOKEN_SECRET is set too: set one of them (where a client hands it on from its own environment, an empty PVE_TOKEN_SECRET in the server's entry leaves it out)".to_owned(),
                );
                None
            }
            (Some(secret), None) => Some((secret, &settings::TOKEN_SECRET)),
            (None, Some(path)) => {
                let secret = self.secret_file(&at_home(&path))?;
                Some((secret, &settings::TOKEN_SECRET_FILE))
            }
            (None, None) => {
                self.not_set(&settings::TOKEN_SECRET);
                None
            }
        }
    }

    fn secret_file(&mut self, path: &Path) -> Option<Zeroizing<String>> {
        let named = clean::label(&path.to_string_lossy());
        let text = match file::read_text(path, file::SECRET) {
            Ok(text) => text,
            Err(wrong) => {
                self.wrong(&settings::TOKEN_SECRET_FILE, format!("`{named}` {wrong}"));
                return None;
            }
        };
        if let Some(warning) = file::loose_permissions(path) {
            self.warnings.push(warning);
        }
        let text = unquoted(&text);
        if text.is_empty() {
            self.wrong(&settings::TOKEN_SECRET_FILE, format!("`{named}` is empty"));
            return None;
        }
        Some(Zeroizing::new(text.to_owned()))
    }

    /// Gives each host the name that its certificate is to be for: one for all, or one for each in order.
    pub(super) fn name_hosts(&mut self, hosts: &mut [Host]) {
        let Some(names) = self.one(&settings::TLS_SERVER_NAME, server_names) else { return };
        if names.len() > 1 && names.len() != hosts.len() {
            let (n_names, n_hosts) = (names.len(), hosts.len());
            let wrong = format!(
                "it has {n_names} names for the {n_hosts} hosts of PVE_HOST: write one for all, or one for each in their order"
            );
            return self.wrong(&settings::TLS_SERVER_NAME, wrong);
        }
        for (host, name) in hosts.iter_mut().zip(names.into_iter().cycle()) {
            host.server_name = Some(name);
        }
    }

    /// How times are shown.
    pub(super) fn zone(&mut self) -> TimeZone {
        let zone = self.one(&settings::TIMEZONE, time_zone).unwrap_or(TimeZone::UTC);
        if zone.is_unknown() {
            self.warnings.push("PVE_TIMEZONE=local: this machine's own time zone cannot be read (the variable TZ may be wrong), so times are shown in UTC".to_owned());
        }
        zone
    }

    /// How connections are secured. A host may have pins of its own.
    pub(super) fn tls(&mut self, hosts: &mut [Host]) -> Option<Tls> {
        let before = self.mistakes.len();
        let verify = self.one(&settings::TLS_REJECT_UNAUTHORIZED, boolean).unwrap_or(true);
        let pins = self.one(&settings::TLS_FINGERPRINT, |text| {
            let pins = pins::list(text)?;
            pins::give(&pins, hosts)?;
            Ok(pins.into_iter().map(|(_, pin)| pin).collect())
        });
        let bundle = self.one(&settings::TLS_CA_FILE, |path| {
            let path = at_home(path);
            let pem = file::read(&path, file::CERTIFICATES).map_err(|wrong| {
                let instead = ": copy /etc/pve/pve-root-ca.pem of a node there";
                format!("it {wrong}{}", if path.exists() { "" } else { instead })
            })?;
            CaBundle::from_pem(&pem).map_err(|error| error.to_string())
        });
        let trust = match (verify, pins, bundle) {
            (false, None, None) => {
                self.warnings.push(
                    "PVE_TLS_REJECT_UNAUTHORIZED=false: certificates are not verified, so anyone on the network path can read the \
                     token; PVE_TLS_FINGERPRINT or PVE_TLS_CA_FILE is safer"
                        .to_owned(),
                );
                Trust::Anything
            }
            (_, Some(pins), bundle) => {
                if bundle.is_some() {
                    self.wrong(&settings::TLS_CA_FILE, "PVE_TLS_FINGERPRINT is set too, and then exactly those certificates are trusted: set one of them".to_owned());
                }
                Trust::Pinned(pins)
            }
            (_, None, Some(bundle)) => Trust::Ca(bundle),
            (true, None, None) => Trust::PublicRoots,
        };
        if !verify && !matches!(trust, Trust::Anything) {
            self.warnings.push("PVE_TLS_REJECT_UNAUTHORIZED=false has no effect beside PVE_TLS_FINGERPRINT or PVE_TLS_CA_FILE: certificates are verified".to_owned());
        }
        (self.mistakes.len() == before).then_some(Tls { trust, server_name: None })
    }
}

fn boolean(text: &str) -> Result<bool, String> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" | "on" => Ok(true),
        "false" | "0" | "no" | "off" => Ok(false),
        _ => Err("it must be true or false".to_owned()),
    }
}

fn server_names(text: &str) -> Result<Vec<ServerName>, String> {
    each(parts(text, &[',', ' '], "name")?, |part| {
        part.parse()
            .map_err(|error: InvalidServerName| format!("`{}`: {error}", clean::label(part)))
    })
}

fn tool_names(text: &str) -> Result<Vec<String>, String> {
    let known =
        || ALL.iter().map(|entry| entry.name).chain(Toolset::ALL.iter().map(|set| set.name()));
    let name = |name: &str| {
        if known().any(|known| known == name) {
            return Ok(name.to_owned());
        }
        let near = nearest(name, known())
            .map(|near| format!(", did you mean `{near}`?"))
            .unwrap_or_default();
        Err(format!("there is no tool or toolset `{}`{near}", clean::label(name)))
    };
    each(parts(text, &[',', ' '], "tool")?, name).map_err(|unknown| {
        format!(
            "{unknown}; without this setting, `mcp-proxmox --access-tier write tools` lists all"
        )
    })
}

fn time_zone(text: &str) -> Result<TimeZone, String> {
    if text.eq_ignore_ascii_case("local") {
        return Ok(TimeZone::system());
    }
    TimeZone::get(text).map_err(|_| {
        "it is not a time zone: write an IANA name such as `Europe/Berlin`, or `local`".to_owned()
    })
}

pub(super) fn log_filter(text: &str) -> Result<String, String> {
    let wrong = |_| {
        "it is not a filter: write error, warn, info, debug, trace or off, or `module=level` parts separated by commas".to_owned()
    };
    text.parse::<tracing_subscriber::filter::Targets>().map_err(wrong)?;
    // The library takes any bare word for the name of a module that is to say everything.
    let mut words = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    if let Some(word) =
        words.find(|part| !part.contains('=') && part.parse::<LevelFilter>().is_err())
    {
        return Err(format!(
            "`{}` is no level: write error, warn, info, debug, trace or off; a module is written `module=level`",
            clean::label(word)
        ));
    }
    Ok(text.to_owned())
}
