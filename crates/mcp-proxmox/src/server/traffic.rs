//! Which requests are open, and what the answers of a batch wait for.
//!
//! **Invariants:** an id belongs to one request at a time: the library would leave the second one without an
//! answer. What came as a batch is answered as one, when all of it is done; batches are taken only where the
//! revision that was agreed on has them.

use std::collections::HashMap;

use rmcp::{
    RoleServer,
    model::{
        ClientNotification, ClientRequest, JsonRpcMessage, ProtocolVersion, RequestId, ServerResult,
    },
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
};
use serde_json::{Value, json};

/// How many messages a batch may have.
pub(super) const LARGEST: usize = 64;

/// How many bytes a line has room for from the start. All but a few are shorter, the list of tools among them, and a line that
/// grows is copied and leaves as much behind. Only what is written takes memory.
const ROOM: usize = 60 << 10;

/// What is open.
#[derive(Debug, Default)]
pub(super) struct Traffic {
    /// The requests that were not answered yet, and the batch that they came with.
    open: HashMap<RequestId, Option<u64>>,
    batches: HashMap<u64, Batch>,
    n_batches: u64,
    /// Whether the revision that was agreed on has batches.
    pub(super) takes_batches: bool,
}

/// A batch that is not answered yet.
#[derive(Debug, Default)]
struct Batch {
    n_open: usize,
    answers: Vec<String>,
}

/// The request that this message gives up.
pub(super) fn given_up(message: &RxJsonRpcMessage<RoleServer>) -> Option<&RequestId> {
    let JsonRpcMessage::Notification(notification) = message else { return None };
    match &notification.notification {
        ClientNotification::CancelledNotification(cancelled) => {
            cancelled.params.request_id.as_ref()
        }
        _ => None,
    }
}

/// The request that this message answers.
pub(super) fn answered(message: &TxJsonRpcMessage<RoleServer>) -> Option<&RequestId> {
    match message {
        JsonRpcMessage::Response(response) => Some(&response.id),
        JsonRpcMessage::Error(error) => error.id.as_ref(),
        _ => None,
    }
}

impl Traffic {
    /// A batch begins. It is not answered before `end_of_batch`.
    pub(super) fn begin_batch(&mut self) -> u64 {
        self.n_batches += 1;
        // Its own line counts as one that is open, until it was read to its end.
        self.batches.insert(self.n_batches, Batch { n_open: 1, answers: Vec::new() });
        self.n_batches
    }

    /// All of a batch was read. What is to be written, if it needs no more.
    pub(super) fn end_of_batch(&mut self, batch: u64) -> Option<String> {
        self.one_less(batch, None)
    }

    /// An answer within a batch that needs no work.
    pub(super) fn answer_within(&mut self, batch: u64, answer: Value) {
        if let Some(batch) = self.batches.get_mut(&batch) {
            batch.answers.push(answer.to_string());
        }
    }

    /// A message came, perhaps within a batch.
    ///
    /// # Errors
    /// What is to be said instead of taking it up.
    pub(super) fn take(
        &mut self,
        message: &RxJsonRpcMessage<RoleServer>,
        batch: Option<u64>,
    ) -> Result<(), Value> {
        let JsonRpcMessage::Request(request) = message else { return Ok(()) };
        let error = |code: i32, message: &str| {
            let error = json!({ "code": code, "message": message });
            Err(json!({ "jsonrpc": "2.0", "id": request.id, "error": error }))
        };
        let refused = |why: &str| error(-32600, &format!("Invalid Request: {why}"));
        if let ClientRequest::CustomRequest(custom) = &request.request
            && custom.method == "initialize"
        {
            // The library would take it for a request of the era that has no handshake.
            let why = "the parameters of `initialize` have to be `protocolVersion`, `capabilities` and `clientInfo`, \
                       in the form that the protocol gives them";
            return error(-32602, why);
        }
        if batch.is_some() && matches!(request.request, ClientRequest::InitializeRequest(_)) {
            return refused("`initialize` may not be part of a batch");
        }
        if self.open.contains_key(&request.id) {
            return refused("a request with this id is not answered yet");
        }
        self.open.insert(request.id.clone(), batch);
        if let Some(batch) = batch.and_then(|batch| self.batches.get_mut(&batch)) {
            batch.n_open += 1;
        }
        Ok(())
    }

    /// A request that was cancelled is not answered. What is to be written, if a batch waited for it alone.
    pub(super) fn is_cancelled(
        &mut self,
        message: &RxJsonRpcMessage<RoleServer>,
    ) -> Option<String> {
        let batch = self.open.remove(given_up(message)?)??;
        self.one_less(batch, None)
    }

    /// The line to be written for a message that is sent; `None` where a batch still waits for others. It is written down
    /// at once: as a tree it would take ten times the room while it waits to be read.
    pub(super) fn send(&mut self, message: &TxJsonRpcMessage<RoleServer>) -> Option<String> {
        if let JsonRpcMessage::Response(response) = message
            && let ServerResult::InitializeResult(agreed) = &response.result
        {
            self.takes_batches = agreed.protocol_version <= ProtocolVersion::V_2025_03_26;
        }
        let batch = answered(message).and_then(|id| self.open.remove(id)).flatten();
        let line = if matches!(message, JsonRpcMessage::Error(_)) {
            let mut value = serde_json::to_value(message).unwrap_or_default();
            explain(&mut value);
            value.to_string()
        } else {
            let mut line = Vec::with_capacity(ROOM);
            let is_written = serde_json::to_writer(&mut line, message).is_ok();
            String::from_utf8(line).ok().filter(|_| is_written).unwrap_or_default()
        };
        match batch {
            Some(batch) => self.one_less(batch, Some(line)),
            None => Some(line),
        }
    }

    fn one_less(&mut self, number: u64, answer: Option<String>) -> Option<String> {
        let batch = self.batches.get_mut(&number)?;
        batch.answers.extend(answer);
        batch.n_open = batch.n_open.saturating_sub(1);
        if batch.n_open > 0 {
            return None;
        }
        let answers = self.batches.remove(&number)?.answers;
        // Notifications alone are not answered.
        (!answers.is_empty()).then(|| format!("[{}]", answers.join(",")))
    }
}

/// Without a handshake a request has to say what it speaks; whoever forgot the handshake is told so.
fn explain(error: &mut Value) {
    if let Some(message) = error.pointer_mut("/error/message")
        && let Some(text) =
            message.as_str().filter(|text| text.starts_with("request _meta is missing"))
    {
        *message = format!(
            "{text}. A client of a revision before 2026-07-28 has to send `initialize` first"
        )
        .into();
    }
}
