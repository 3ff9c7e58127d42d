//! What stands in one line of input: a message, or something to complain about.
//!
//! **Invariants:** a line has a bound, whatever comes. What is no JSON is answered with `-32700`, and what
//! is JSON but no message with `-32600`; the library would drop the first, and leave whoever sent it waiting.
//! What nobody may answer (notifications, answers) is passed over.

use super::traffic::LARGEST;
use rmcp::{RoleServer, service::RxJsonRpcMessage};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _};

/// How long a line may be, in bytes. The longest call that makes sense has a hundredth of it.
const LONGEST: usize = 4 << 20;

/// Lines as they come, in parts. Reading can be given up at any time, and goes on where it was.
#[derive(Debug, Default)]
pub(super) struct Reading {
    begun: Vec<u8>,
    is_too_long: bool,
}

/// A line that was read to its end.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    Whole(Vec<u8>),
    TooLong,
}

/// What a line is.
#[derive(Debug)]
pub(super) enum Found {
    Message(Box<RxJsonRpcMessage<RoleServer>>),
    /// Several at once, as some revisions have it.
    Batch(Vec<Value>),
    /// Nothing that has to be answered.
    Nothing,
    /// This is to be answered.
    Complaint(Value),
}

impl Reading {
    /// The next line; `None` at the end of input. What has no end of line by then is no message.
    pub(super) async fn next(&mut self, input: &mut (impl AsyncBufRead + Unpin)) -> Option<Line> {
        loop {
            let come = input.fill_buf().await.ok().filter(|come| !come.is_empty())?;
            let mut parts = come.splitn(2, |byte| *byte == b'\n');
            let part = parts.next().unwrap_or_default();
            let is_end = parts.next().is_some();
            if self.begun.len() + part.len() > LONGEST {
                self.is_too_long = true;
                self.begun = Vec::new();
            }
            if !self.is_too_long {
                self.begun.extend_from_slice(part);
            }
            let n_read = part.len() + usize::from(is_end);
            input.consume(n_read);
            if is_end {
                let whole = std::mem::take(&mut self.begun);
                let is_too_long = std::mem::take(&mut self.is_too_long);
                return Some(if is_too_long { Line::TooLong } else { Line::Whole(whole) });
            }
        }
    }
}

impl Line {
    /// How much of it is kept.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Whole(line) => line.len() + 1,
            Self::TooLong => 1,
        }
    }

    /// What it is.
    pub(super) fn read(&self) -> Found {
        let Self::Whole(line) = self else {
            let why = format!("Invalid Request: a message may have {} MiB at most", LONGEST >> 20);
            return complaint(-32600, &why, Value::Null);
        };
        let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
        if line.iter().all(u8::is_ascii_whitespace) {
            return Found::Nothing;
        }
        if let Ok(message) = serde_json::from_slice(line) {
            return Found::Message(Box::new(message));
        }
        match serde_json::from_slice::<Value>(line) {
            Err(error) => unreadable(line, &error),
            Ok(Value::Array(items)) if items.len() > LARGEST => {
                let why = format!("Invalid Request: a batch may have {LARGEST} messages at most");
                complaint(-32600, &why, Value::Null)
            }
            Ok(Value::Array(items)) if !items.is_empty() => Found::Batch(items),
            Ok(value) => no_message(&value),
        }
    }
}

/// What one part of a batch is.
pub(super) fn read_one(item: Value) -> Found {
    match serde_json::from_value(item.clone()) {
        Ok(message) => Found::Message(Box::new(message)),
        Err(_) => no_message(&item),
    }
}

/// What is said of a batch where the revision has none.
pub(super) fn no_batch() -> Value {
    let error = json!({ "code": -32600, "message": "Invalid Request: this revision of the protocol has no batches" });
    json!({ "jsonrpc": "2.0", "id": Value::Null, "error": error })
}

/// What is said of a line that cannot be read as JSON. Some of it may be well enough to say whom to answer: half a
/// character, as programs leave it that cut texts, or nesting without end.
fn unreadable(line: &[u8], error: &serde_json::Error) -> Found {
    #[derive(Deserialize)]
    struct Outermost {
        id: Option<Value>,
        method: Option<Value>,
    }
    let Ok(Outermost { id, method }) = serde_json::from_slice(line) else {
        return complaint(-32700, "Parse error: this line is not JSON", Value::Null);
    };
    if id.is_none() && method.is_some() {
        return Found::Nothing;
    }
    let id = id.filter(|id| id.is_string() || id.is_number()).unwrap_or_default();
    let why = if error.to_string().contains("recursion limit") {
        "Parse error: this message is nested deeper than anything that makes sense"
    } else {
        "Parse error: a text in this message holds half a character, a surrogate without its other half"
    };
    complaint(-32700, why, id)
}

/// What is said of JSON that is no message.
fn no_message(value: &Value) -> Found {
    let has = |name: &str| value.get(name).is_some();
    let is_notification = value.get("method").is_some_and(Value::is_string) && !has("id");
    let is_answer = !has("method") && (has("result") || has("error"));
    if is_notification || is_answer {
        return Found::Nothing;
    }
    let id = value.get("id").filter(|id| id.is_string() || id.is_number());
    let why = format!("Invalid Request: {}", misshapen(value));
    complaint(-32600, &why, id.cloned().unwrap_or_default())
}

/// What keeps JSON from being a request.
fn misshapen(value: &Value) -> &'static str {
    let is = |name: &str, fits: fn(&Value) -> bool| value.get(name).is_none_or(fits);
    if !value.is_object() || value.get("method").is_none() {
        "this is not a JSON-RPC 2.0 message"
    } else if !is("params", Value::is_object) {
        "`params` has to be an object"
    } else if !is("method", Value::is_string) {
        "`method` has to be a string"
    } else if !is("id", |id| id.is_string() || id.is_i64() || id.is_u64()) {
        "`id` has to be a string or a whole number"
    } else if value.get("jsonrpc").is_none_or(|version| version != "2.0") {
        "`jsonrpc` has to be \"2.0\""
    } else if value.pointer("/params/_meta").is_some_and(|meta| !meta.is_object()) {
        "`params._meta` has to be an object"
    } else {
        "`params` has to be what this method takes, and no key may stand twice"
    }
}

fn complaint(code: i32, why: &str, id: Value) -> Found {
    let error = json!({ "code": code, "message": why });
    Found::Complaint(json!({ "jsonrpc": "2.0", "id": id, "error": error }))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tokio::io::BufReader;

    use super::*;

    async fn lines(text: &[u8], at_once: usize) -> Vec<Line> {
        let mut input = BufReader::with_capacity(at_once, text);
        let (mut reading, mut lines) = (Reading::default(), Vec::new());
        while let Some(line) = reading.next(&mut input).await {
            lines.push(line);
        }
        lines
    }

    fn read(text: &str) -> Found {
        Line::Whole(text.as_bytes().to_vec()).read()
    }

    #[tokio::test]
    async fn lines_are_read_in_whatever_parts_they_come() {
        for at_once in [1, 2, 3, 100] {
            let whole = |text: &str| Line::Whole(text.as_bytes().to_vec());
            let expected = [whole("a"), whole(""), whole("bcd\r")];
            assert_eq!(lines(b"a\n\nbcd\r\nno end", at_once).await, expected);
        }
    }

    #[tokio::test]
    async fn a_line_without_bound_is_passed_over_and_the_next_is_read() {
        let mut text = vec![b'x'; LONGEST + 1];
        text.extend_from_slice(b"\nnext\n");
        let lines = lines(&text, 8192).await;
        assert_eq!(lines, [Line::TooLong, Line::Whole(b"next".to_vec())]);
        let Found::Complaint(told) = lines[0].read() else { panic!() };
        assert_eq!((&told["error"]["code"], &told["id"]), (&json!(-32600), &Value::Null));
    }

    #[test]
    fn whoever_asked_hears_of_what_cannot_be_read() {
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        for (text, code, why) in [
            (
                r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":"\ud83d"}}"#,
                -32700,
                "half a character",
            ),
            (
                r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":"\ud83dx"}}"#,
                -32700,
                "half a character",
            ),
            (
                &format!(r#"{{"jsonrpc":"2.0","id":7,"method":"ping","params":{{"a":{deep}}}}}"#),
                -32700,
                "nested deeper",
            ),
            (
                r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":{"_meta":5}}"#,
                -32600,
                "`params._meta`",
            ),
            (r#"{"jsonrpc":"1.0","id":7,"method":"ping"}"#, -32600, "`jsonrpc`"),
        ] {
            let Found::Complaint(told) = read(text) else { panic!("{text}") };
            assert_eq!((&told["id"], &told["error"]["code"]), (&json!(7), &json!(code)), "{text}");
            assert!(told["error"]["message"].as_str().unwrap().contains(why), "{told}");
        }
        let cut = r#"{"jsonrpc":"2.0","id":7,"method":"ping","#;
        let Found::Complaint(told) = read(cut) else { panic!() };
        assert_eq!(told["id"], Value::Null, "it may have gone on to another");
        let notification =
            r#"{"jsonrpc":"2.0","method":"notifications/x","params":{"a":"\ud83d"}}"#;
        assert!(matches!(read(notification), Found::Nothing));
    }

    #[test]
    fn what_may_not_be_answered_is_passed_over() {
        for text in [
            "",
            " \r",
            r#"{"jsonrpc":"2.0","method":5}"#.replace('5', r#""x","params":7"#).as_str(),
            r#"{"jsonrpc":"1.0","id":4,"result":{}}"#,
            r#"{"id":null,"error":{"code":-32700,"message":"Parse error"}}"#,
        ] {
            assert!(!matches!(read(text), Found::Complaint(_)), "{text}");
        }
    }

    proptest! {
        #[test]
        fn whatever_comes_is_a_message_or_told(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            if let Found::Complaint(told) = Line::Whole(bytes).read() {
                prop_assert!(told["error"]["code"] == -32700 || told["error"]["code"] == -32600);
            }
        }
    }
}
