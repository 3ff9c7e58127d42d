//! How each type is read from a number, a string or a truth value.

use super::{
    FromPerl,
    bounds::{LARGEST, WHOLE},
};
use crate::{IfaceName, NodeName, StorageId, Text, Upid, VmId};

impl FromPerl for String {
    /// Empty text says nothing: PVE 9.2.11 writes `"level":""` and `"id":""` for "none".
    fn from_text(text: &str) -> Option<Self> {
        (!text.is_empty()).then(|| text.to_owned())
    }
}

impl FromPerl for Text {
    fn from_text(text: &str) -> Option<Self> {
        (!text.is_empty()).then(|| text.into())
    }
}

impl FromPerl for bool {
    fn from_text(text: &str) -> Option<Self> {
        match text.trim().to_ascii_lowercase().as_str() {
            "1" | "true" | "yes" | "on" => Some(true),
            // The empty text is Perl's own way to write "no".
            "" | "0" | "false" | "no" | "off" => Some(false),
            _ => None,
        }
    }

    // Whatever else is no answer to a question with two.
    fn from_unsigned(number: u64) -> Option<Self> {
        (number <= 1).then_some(number == 1)
    }

    fn from_signed(number: i64) -> Option<Self> {
        u64::try_from(number).ok().and_then(Self::from_unsigned)
    }

    fn from_float(number: f64) -> Option<Self> {
        u64::from_float(number).filter(|_| number.fract() == 0.0).and_then(Self::from_unsigned)
    }

    fn from_bool(truth: bool) -> Option<Self> {
        Some(truth)
    }
}

impl FromPerl for f64 {
    fn from_text(text: &str) -> Option<Self> {
        text.trim().parse().ok().and_then(Self::from_float)
    }

    #[expect(clippy::cast_precision_loss, reason = "a share or a load has no 53 significant bits")]
    fn from_unsigned(number: u64) -> Option<Self> {
        Self::from_float(number as f64)
    }

    #[expect(clippy::cast_precision_loss, reason = "a share or a load has no 53 significant bits")]
    fn from_signed(number: i64) -> Option<Self> {
        Self::from_float(number as f64)
    }

    /// Nothing that Proxmox VE measures is below zero.
    fn from_float(number: f64) -> Option<Self> {
        (0.0..LARGEST).contains(&number).then_some(number)
    }
}

impl FromPerl for u64 {
    fn from_text(text: &str) -> Option<Self> {
        let text = text.trim();
        match text.parse() {
            Ok(number) => Self::from_unsigned(number),
            Err(_) => text.parse().ok().and_then(Self::from_float),
        }
    }

    fn from_unsigned(number: u64) -> Option<Self> {
        (number < WHOLE).then_some(number)
    }

    fn from_signed(number: i64) -> Option<Self> {
        number.try_into().ok().and_then(Self::from_unsigned)
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the range is checked, and a part of a byte is none"
    )]
    fn from_float(number: f64) -> Option<Self> {
        (0.0..LARGEST).contains(&number).then(|| number.round() as u64)
    }
}

impl FromPerl for i64 {
    fn from_text(text: &str) -> Option<Self> {
        let text = text.trim();
        text.parse().ok().or_else(|| text.parse().ok().and_then(Self::from_float))
    }

    fn from_unsigned(number: u64) -> Option<Self> {
        number.try_into().ok()
    }

    fn from_signed(number: i64) -> Option<Self> {
        Some(number)
    }

    #[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
    fn from_float(number: f64) -> Option<Self> {
        (-9.2e18..9.2e18).contains(&number).then(|| number.round() as i64)
    }
}

impl FromPerl for VmId {
    fn from_text(text: &str) -> Option<Self> {
        text.parse().ok()
    }

    fn from_unsigned(number: u64) -> Option<Self> {
        Self::try_from(number).ok()
    }
}

impl FromPerl for NodeName {
    fn from_text(text: &str) -> Option<Self> {
        text.parse().ok()
    }
}

impl FromPerl for StorageId {
    fn from_text(text: &str) -> Option<Self> {
        text.parse().ok()
    }
}

impl FromPerl for IfaceName {
    fn from_text(text: &str) -> Option<Self> {
        text.parse().ok()
    }
}

impl FromPerl for Upid {
    fn from_text(text: &str) -> Option<Self> {
        text.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::perl::answer;

    answer! {
        struct Sample {
            share: Option<f64>,
            bytes: Option<u64>,
            offset: Option<i64>,
            flag: Option<bool>,
            text: Option<String>,
            vmid: Option<VmId>,
        }
    }

    fn sample(json: &str) -> Sample {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn a_number_may_be_a_number_a_string_or_a_truth_value() {
        for json in
            [r#"{"bytes":1}"#, r#"{"bytes":"1"}"#, r#"{"bytes":true}"#, r#"{"bytes":" 1 "}"#]
        {
            assert_eq!(sample(json).bytes, Some(1), "{json}");
        }
        assert_eq!(sample(r#"{"bytes":1.5e3}"#).bytes, Some(1500));
        assert_eq!(sample(r#"{"bytes":"1.5e3"}"#).bytes, Some(1500));
        assert_eq!(sample(r#"{"bytes":"42268934144"}"#).bytes, Some(42_268_934_144));
        assert_eq!(sample(r#"{"bytes":18446744073709551615}"#).bytes, None);
        assert_eq!(sample(r#"{"offset":-3}"#).offset, Some(-3));
        assert_eq!(sample(r#"{"offset":"-3.0"}"#).offset, Some(-3));
        assert_eq!(sample(r#"{"share":"0.25"}"#).share, Some(0.25));
        assert_eq!(sample(r#"{"share":1}"#).share, Some(1.0));
    }

    #[test]
    fn truth_has_many_spellings() {
        for json in ["1", "\"1\"", "true", "\"true\"", "1.0", "\"yes\"", "\"on\""] {
            assert_eq!(sample(&format!(r#"{{"flag":{json}}}"#)).flag, Some(true), "{json}");
        }
        for json in ["0", "\"0\"", "false", "\"\"", "0.0", "\"no\"", "\"off\""] {
            assert_eq!(sample(&format!(r#"{{"flag":{json}}}"#)).flag, Some(false), "{json}");
        }
        for json in ["-1", "2", "0.5", "1e300", "\"perhaps\"", "[1]"] {
            assert_eq!(sample(&format!(r#"{{"flag":{json}}}"#)).flag, None, "{json}");
        }
    }

    #[test]
    fn text_may_be_a_number() {
        assert_eq!(sample(r#"{"text":9}"#).text.as_deref(), Some("9"));
        assert_eq!(sample(r#"{"text":0.5}"#).text.as_deref(), Some("0.5"));
        assert_eq!(sample(r#"{"text":"a\nb"}"#).text.as_deref(), Some("a\nb"));
        assert_eq!(sample(r#"{"text":""}"#).text, None);
    }

    #[test]
    fn a_guest_id_may_be_a_string() {
        assert_eq!(sample(r#"{"vmid":"101"}"#).vmid.unwrap().get(), 101);
        assert_eq!(sample(r#"{"vmid":101}"#).vmid.unwrap().get(), 101);
        assert_eq!(sample(r#"{"vmid":7}"#).vmid, None);
    }

    /// Any value of JSON, a little deep.
    fn json() -> impl Strategy<Value = serde_json::Value> {
        use serde_json::Value;
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
            "-?[0-9]{1,25}(\\.[0-9]{1,5})?(e[0-9]{1,3})?".prop_map(Value::from),
        ];
        leaf.prop_recursive(2, 8, 3, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::hash_map("[a-z]{1,4}", inner, 0..3)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn no_value_of_a_field_loses_the_others(value in json()) {
            for field in ["share", "bytes", "offset", "flag", "text", "vmid"] {
                let other = if field == "bytes" { "offset" } else { "bytes" };
                let read = sample(&serde_json::json!({ field: value, other: 7 }).to_string());
                prop_assert!(read.bytes == Some(7) || read.offset == Some(7));
                prop_assert!(read.share.is_none_or(f64::is_finite));
            }
        }

        #[test]
        fn a_number_is_the_same_as_its_text(bytes in 0..WHOLE, offset in any::<i64>(), truth in any::<bool>()) {
            let numbers = serde_json::json!({ "bytes": bytes, "offset": offset, "flag": truth });
            let texts = serde_json::json!({ "bytes": bytes.to_string(), "offset": offset.to_string(), "flag": u8::from(truth) });
            for json in [numbers, texts] {
                let read = sample(&json.to_string());
                prop_assert_eq!((read.bytes, read.offset, read.flag), (Some(bytes), Some(offset), Some(truth)));
            }
        }
    }
}
