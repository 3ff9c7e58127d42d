//! What goes wrong, in the protocol's terms: a tool's failure is a result that the model reads, everything else an
//! error with a code.

use rmcp::{
    ErrorData,
    model::{CallToolResult, ConstString, ContentBlock, ErrorCode, PaginatedRequestParams},
};
use serde_json::json;

use crate::{
    answer::clean::{label, quoted},
    call::Limits,
    catalog::ALL,
    failure::Failure,
    sent::Sent,
};

/// A failure whose hint sends nobody to a tool that is not offered without saying so.
pub(super) fn within(failure: Failure, limits: &Limits) -> Failure {
    let Some(hint) = failure.advice() else { return failure };
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words: Vec<&str> = hint.split(|c| !is_word(c)).collect();
    let missing = ALL.iter().map(|entry| entry.name);
    let missing = missing.filter(|name| words.contains(name) && !limits.may_use(name));
    let missing = missing.collect::<Vec<_>>().join(", ");
    if missing.is_empty() {
        return failure;
    }
    let hint = format!("{hint} (not offered by this server: {missing})");
    failure.hint(hint)
}

pub(super) fn failed(failure: &Failure) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(failure.to_string())])
}

pub(super) fn no_tool(name: &str, near: Option<&'static str>) -> ErrorData {
    let name = quoted(name);
    let near = near.map(|near| format!(": did you mean `{near}`?")).unwrap_or_default();
    ErrorData::invalid_params(format!("there is no tool {name}{near}"), None)
}

/// A method of which this configuration has nothing is not there, as the capabilities say.
pub(super) fn there<M: ConstString>(is_there: bool) -> Result<(), ErrorData> {
    if is_there { Ok(()) } else { Err(ErrorData::method_not_found::<M>()) }
}

/// Everything comes on one page, so that no cursor was ever given out.
pub(super) fn first_page(request: Option<PaginatedRequestParams>) -> Result<(), ErrorData> {
    match request.and_then(|request| request.cursor) {
        None => Ok(()),
        Some(_) => Err(ErrorData::invalid_params("this cursor is not from this server", None)),
    }
}

pub(super) fn invalid(failure: &Failure) -> ErrorData {
    ErrorData::invalid_params(failure.to_string(), None)
}

/// The library gives this error the code that the revision has for it.
pub(super) fn no_resource(uri: &str, failure: Option<&Failure>) -> ErrorData {
    let message = match failure {
        Some(failure) => failure.to_string(),
        None => format!("there is no resource {}", quoted(uri)),
    };
    ErrorData::resource_not_found(message, Some(json!({ "uri": label(uri) })))
}

pub(super) fn cancelled() -> ErrorData {
    ErrorData::internal_error("the call was cancelled", None)
}

/// Says on stderr what goes on of a call that was cancelled, which by the protocol gets no answer.
pub(super) fn tell_what_goes_on(sent: &Sent) {
    if let Some(what) = sent.told() {
        tracing::warn!(
            "the client cancelled a call: `{what}` was sent to PVE, goes on there, and is not waited for"
        );
    }
}

/// The answer of a call that ends since the server does. What it has sent may take effect all the same.
pub(super) fn ending(sent: &Sent) -> Failure {
    match sent.told() {
        Some(what) => Failure::new(format!(
            "the server ends, and the outcome is unknown: `{what}` was sent to PVE, may take effect, and was not waited for"
        ))
        .hint("look at the guest's state and its tasks before it is asked for again"),
        None => Failure::new("the server ends; nothing was changed"),
    }
}

/// The library says of a method that is not there its name and nothing else.
pub(super) fn worded(mut error: ErrorData, methods: &[&str]) -> ErrorData {
    if error.code == ErrorCode::METHOD_NOT_FOUND && !error.message.contains(' ') {
        let name = label(&error.message);
        // A revision may lack one that others have.
        let others = methods.iter().filter(|method| **method != name).copied();
        let methods = others.collect::<Vec<_>>().join(", ");
        error.message =
            format!("there is no method `{name}` here; those that are there: {methods}").into();
    }
    error
}
