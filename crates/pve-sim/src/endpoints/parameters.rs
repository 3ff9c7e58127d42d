//! Parameters of a request: read from the query and the body, and checked with PVE's own texts.
//!
//! **Invariant:** a parameter that an endpoint does not declare is refused, as PVE does even for
//! GET.

use percent_encoding::percent_decode_str;

use crate::{answer::Answer, http::Request};

/// A parameter that an endpoint knows.
#[derive(Debug)]
pub(crate) struct Parameter {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
}

/// What a parameter may be.
#[derive(Debug)]
pub(crate) enum Kind {
    Text,
    Boolean,
    /// A whole number, not below this one.
    Integer(i64),
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// The number of a guest.
    Vmid,
}

/// The values of a request, with the variable parts of its path.
#[derive(Debug, Default)]
pub(crate) struct Values(Vec<(String, String)>);

impl Parameter {
    pub(crate) const fn new(name: &'static str, kind: Kind) -> Self {
        Self { name, kind }
    }
}

impl Values {
    /// Reads the query, and the body of a write.
    pub(crate) fn read(query: &str, request: &Request) -> Result<Self, Answer> {
        let mut values = form(query);
        if !request.body.is_empty() {
            let content_type = request.header("content-type").unwrap_or_default();
            let body = String::from_utf8_lossy(&request.body);
            match content_type.split(';').next().unwrap_or_default().trim() {
                "" | "application/x-www-form-urlencoded" => values.extend(form(&body)),
                "application/json" => values.extend(json(&body)?),
                other => {
                    return Err(Answer::bare(
                        506,
                        format!("unable to parse request of type '{other}'"),
                    ));
                }
            }
        }
        Ok(Self(values))
    }

    /// Adds the variable parts of the path; a parameter of the same name does not hide them.
    pub(crate) fn with_variables(self, mut variables: Vec<(String, String)>) -> Self {
        variables.extend(self.0);
        Self(variables)
    }

    /// The value of this name.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The whole number of this name.
    pub(crate) fn number(&self, name: &str) -> Option<i64> {
        self.get(name).and_then(|value| value.parse().ok())
    }

    /// Whether the boolean of this name is set.
    pub(crate) fn is_set(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| boolean(value) == Some(true))
    }

    /// A path with its variable parts filled in.
    pub(crate) fn fill<'a>(&'a self, path: &str, real_node: impl Fn(&'a str) -> &'a str) -> String {
        let mut filled = path.to_owned();
        for (name, value) in &self.0 {
            let value = if name == "node" { real_node(value) } else { value };
            filled = filled.replace(&format!("{{{name}}}"), value);
        }
        filled
    }

    /// Checks everything at once, as PVE does.
    pub(crate) fn check(&self, known: &[Parameter]) -> Result<(), Answer> {
        let mut errors = Vec::new();
        for (name, value) in &self.0 {
            let text = match known.iter().find(|parameter| parameter.name == name) {
                Some(parameter) => parameter.kind.refuse(value),
                None if name == "vmid" => Kind::Vmid.refuse(value),
                None if ["node", "upid", "storage"].contains(&name.as_str()) => None,
                None => Some(
                    "property is not defined in schema and the schema does not allow additional properties"
                        .to_owned(),
                ),
            };
            errors.extend(text.map(|text| (name.clone(), text)));
        }
        if errors.is_empty() { Ok(()) } else { Err(Answer::bad_parameters(&errors)) }
    }
}

impl Kind {
    /// Why a value does not do; `None` if it does.
    fn refuse(&self, value: &str) -> Option<String> {
        let integer = value.parse::<i64>();
        match self {
            Self::Text => None,
            Self::Boolean if boolean(value).is_some() => None,
            Self::Boolean => Some(format!("type check ('boolean') failed - got '{value}'")),
            Self::Integer(_) | Self::Vmid if integer.is_err() => {
                Some(format!("type check ('integer') failed - got '{value}'"))
            }
            Self::Integer(least) => (integer.unwrap_or_default() < *least)
                .then(|| format!("value must have a minimum value of {least}")),
            Self::Vmid => (!(100..=999_999_999).contains(&integer.unwrap_or_default()))
                .then(|| "invalid format - value does not look like a valid VM ID\n".to_owned()),
            Self::OneOf(words) => (!words.contains(&value)).then(|| {
                let words = words.join(", ");
                format!("value '{value}' does not have a value in the enumeration '{words}'")
            }),
        }
    }
}

fn boolean(value: &str) -> Option<bool> {
    match value.to_ascii_lowercase().as_str() {
        "1" | "on" | "yes" | "true" => Some(true),
        "0" | "off" | "no" | "false" => Some(false),
        _ => None,
    }
}

/// Reads `a=1&b=2`; PVE takes `;` for `&` too.
pub(super) fn form(text: &str) -> Vec<(String, String)> {
    let decode =
        |part: &str| percent_decode_str(&part.replace('+', " ")).decode_utf8_lossy().into_owned();
    let pairs = text.split(['&', ';']).filter(|pair| !pair.is_empty());
    let pairs = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    pairs.map(|(name, value)| (decode(name), decode(value))).collect()
}

fn json(text: &str) -> Result<Vec<(String, String)>, Answer> {
    let broken = || {
        // The one error that PVE answers in plain text, with the place in its own source
        // (recorded).
        let reason = format!(
            "malformed JSON string, neither tag, array, object, number, string or atom, at character offset {} \
             (before \"(end of string)\") at /usr/share/perl5/PVE/APIServer/AnyEvent.pm line 934.",
            text.len()
        );
        let mut answer = Answer::bare(500, reason.clone());
        answer.body = format!("{reason}\n").into();
        answer.with_length = true;
        answer
    };
    let value: serde_json::Value = serde_json::from_str(text).map_err(|_| broken())?;
    let object = value.as_object().ok_or_else(broken)?;
    let plain = |value: &serde_json::Value| match value {
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Bool(set) => u8::from(*set).to_string(),
        other => other.to_string(),
    };
    Ok(object.iter().map(|(name, value)| (name.clone(), plain(value))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn errors(query: &str, known: &[Parameter]) -> Option<serde_json::Value> {
        let values = Values::read(query, &Request::default()).unwrap();
        let answer = values.check(known).err()?;
        let body: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
        Some(body["errors"].clone())
    }

    #[test]
    fn every_misfit_is_named_at_once_with_pves_own_text() {
        let known = [
            Parameter::new("timeout", Kind::Integer(0)),
            Parameter::new("forceStop", Kind::Boolean),
            Parameter::new("source", Kind::OneOf(&["archive", "active", "all"])),
        ];
        let found = errors("timeout=-5&forceStop=maybe;nosuch=1&source=bogus", &known).unwrap();
        assert_eq!(found["timeout"], "value must have a minimum value of 0");
        assert_eq!(found["forceStop"], "type check ('boolean') failed - got 'maybe'");
        assert_eq!(
            found["source"],
            "value 'bogus' does not have a value in the enumeration 'archive, active, all'"
        );
        assert!(found["nosuch"].as_str().unwrap().starts_with("property is not defined in schema"));
        assert_eq!(errors("timeout=5&forceStop=0", &known), None);
    }

    #[test]
    fn numbers_of_guests_are_checked_as_numbers_first() {
        assert_eq!(
            errors("vmid=abc", &[]).unwrap()["vmid"],
            "type check ('integer') failed - got 'abc'"
        );
        let small = errors("vmid=99", &[]).unwrap();
        assert_eq!(small["vmid"], "invalid format - value does not look like a valid VM ID\n");
    }
}
