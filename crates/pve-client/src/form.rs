//! Parameters: the query of a GET and the body of a POST are written the same way.
//!
//! **Invariant:** values are percent-encoded, so that none can add a parameter. Proxmox VE takes `;`
//! for `&` (recorded from PVE 9.2.11), and refuses parameters that it does not know.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// What stays as it is in a value. A blank becomes `%20`, which means the same in both places.
const VALUE: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Parameters in the order in which they were given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Form(String);

impl Form {
    /// Adds text.
    pub(crate) fn text(mut self, name: &'static str, value: &str) -> Self {
        if !self.0.is_empty() {
            self.0.push('&');
        }
        self.0.push_str(name);
        self.0.push('=');
        self.0.extend(utf8_percent_encode(value, VALUE));
        self
    }

    /// Adds a whole number.
    pub(crate) fn number(self, name: &'static str, value: impl Into<i64>) -> Self {
        self.text(name, &value.into().to_string())
    }

    /// Adds a truth value, which Proxmox VE writes as 1 or 0.
    pub(crate) fn flag(self, name: &'static str, value: bool) -> Self {
        self.text(name, if value { "1" } else { "0" })
    }

    /// The parameters as a body.
    pub(crate) fn body(&self) -> &str {
        &self.0
    }

    /// A path with the parameters as its query, or without one where there are none.
    pub(crate) fn after(&self, path: &str) -> String {
        if self.0.is_empty() { path.to_owned() } else { format!("{path}?{}", self.0) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn truth_is_one_and_blanks_are_encoded() {
        let form = Form::default().flag("full", true).text("x", "a b+c").number("limit", 5u32);
        assert_eq!(form.after("/p"), "/p?full=1&x=a%20b%2Bc&limit=5");
        assert_eq!(Form::default().flag("full", false).body(), "full=0");
        assert_eq!(Form::default().after("/p"), "/p");
    }

    proptest! {
        #[test]
        fn no_value_can_add_a_parameter(value in ".{0,20}") {
            let form = Form::default().text("a", &value);
            let encoded = form.body().strip_prefix("a=").unwrap();
            prop_assert!(encoded.bytes().all(|b| b.is_ascii_alphanumeric() || b"%-._~".contains(&b)));
        }
    }
}
