//! Asking the person at the client, in both eras of the protocol.
//!
//! Until 2025-11-25 the server sends the client a request of its own while the call waits. Since 2026-07-28
//! the call ends with a question and a sealed state, and the client makes it again with the answer.
//!
//! **Invariants:** a state is signed with a key that only this process has, holds for one tool with one set
//! of arguments and for one subject, ends after five minutes, and is taken once: what a person agreed to
//! cannot be played back. A client that did not say that it can ask is never asked.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use ring::{
    hmac,
    rand::{SecureRandom as _, SystemRandom},
};
use rmcp::{
    ErrorData, RoleServer,
    model::{
        CallToolRequestParams, CancelledNotificationParam, ClientResult, ElicitRequest,
        ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema, ErrorCode,
        InputRequest, InputRequests, InputRequiredResult, ProtocolVersion, ServerRequest,
    },
    service::{Peer, PeerRequestOptions, RequestContext, ServiceError},
};
use serde::{Deserialize, Serialize};
use tokio::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

use crate::{
    answer::clean::sentence,
    person::{Agreed, Person, Question, Reply},
};

/// How long a person may take to answer where the call is made again.
const LIFE: Duration = Duration::from_secs(300);
/// How long a person may take to answer while the call waits, so that time is left for the work.
const PATIENCE: Duration = Duration::from_secs(25);
/// The name of the question and of its answer.
const NAME: &str = "confirm";

/// What is needed to ask.
pub(super) struct Asking {
    key: hmac::Key,
    /// Sealed states that are out or were taken, until they end.
    issued: Mutex<HashMap<String, Ticket>>,
}

#[derive(Clone, Copy)]
struct Ticket {
    ends: Instant,
    is_taken: bool,
}

/// What a sealed state says. It is signed, not secret.
#[derive(Serialize, Deserialize)]
struct State {
    /// Unlike that of any other state.
    nonce: String,
    /// What was asked about.
    subject: String,
}

/// A person, and where a question is left that the call has to end with.
pub(super) struct Asked {
    pub(super) person: Person,
    pub(super) question: Arc<Mutex<Option<Question>>>,
}

/// Why a state is not taken.
#[derive(Debug, PartialEq, Eq)]
enum Refused {
    /// It is not ours, or belongs to another call.
    Foreign,
    /// It has ended, or is from before this process began.
    Ended,
    /// It was taken before.
    Taken,
}

impl Asking {
    pub(super) fn new() -> Self {
        let mut bytes = [0; 32];
        // Without a source of chance nothing that is signed could be believed, so then nobody is asked: see `seal`.
        let is_random = SystemRandom::new().fill(&mut bytes).is_ok();
        debug_assert!(is_random, "the system has a source of chance");
        Self { key: hmac::Key::new(hmac::HMAC_SHA256, &bytes), issued: Mutex::default() }
    }

    /// The person at the client of this call.
    ///
    /// # Errors
    /// When the call carries a state that is not to be believed.
    pub(super) fn of(
        &self,
        request: &CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<Asked, ErrorData> {
        let question = Arc::new(Mutex::new(None));
        if let Some(why) = why_not_asked(context) {
            return Ok(Asked { person: Person::who_cannot_be_asked(why), question });
        }
        let is_modern = context
            .protocol_version()
            .is_some_and(|revision| revision >= ProtocolVersion::V_2026_07_28);
        let person = if is_modern {
            let answer = self.answer(request)?;
            let question = Arc::clone(&question);
            Person::new(move |asked| {
                let reply = match &answer {
                    Some((subject, reply)) if *subject == asked.subject => reply.clone(),
                    _ => {
                        *question.lock().unwrap_or_else(PoisonError::into_inner) = Some(asked);
                        Reply::Later
                    }
                };
                Box::pin(std::future::ready(reply))
            })
        } else {
            let peer = context.peer.clone();
            Person::new(move |asked| Box::pin(put(peer.clone(), asked.text)))
        };
        Ok(Asked { person, question })
    }

    /// The answer that a call brings along, and what it is about.
    fn answer(
        &self,
        request: &CallToolRequestParams,
    ) -> Result<Option<(String, Reply)>, ErrorData> {
        let Some(sealed) = &request.request_state else { return Ok(None) };
        let given = request.input_responses.as_ref().and_then(|responses| responses.get(NAME));
        let Some(result) = given.and_then(|given| serde_json::from_value(given.clone()).ok())
        else {
            // No answer, or none that can be read: asked again.
            return Ok(None);
        };
        match self.take(sealed, &call_of(request)) {
            Ok(subject) => Ok(Some((subject, reply(&result)))),
            // Whoever took too long is asked again.
            Err(Refused::Ended) => Ok(None),
            Err(Refused::Taken) => Err(ErrorData::invalid_params(
                "this answer was used already; nothing was done. Call the tool again without requestState",
                None,
            )),
            Err(Refused::Foreign) => Err(ErrorData::invalid_params(
                "requestState is not of this call, or was changed; nothing was done",
                None,
            )),
        }
    }

    /// The result that asks a question.
    pub(super) fn ask(
        &self,
        request: &CallToolRequestParams,
        question: Question,
    ) -> Result<InputRequiredResult, ErrorData> {
        let sealed = self
            .seal(question.subject, &call_of(request))
            .ok_or_else(|| ErrorData::internal_error("the question could not be signed", None))?;
        let asked = InputRequest::Elicitation(ElicitRequest::new(form(question.text)));
        let requests = InputRequests::from([(NAME.to_owned(), asked)]);
        Ok(InputRequiredResult::new(Some(requests), Some(sealed)))
    }

    fn seal(&self, subject: String, call: &str) -> Option<String> {
        let mut nonce = [0; 16];
        SystemRandom::new().fill(&mut nonce).ok()?;
        let nonce = BASE64_URL_SAFE_NO_PAD.encode(nonce);
        let state = serde_json::to_vec(&State { nonce: nonce.clone(), subject }).ok()?;
        let signature = hmac::sign(&self.key, &signed(&state, call));
        let now = Instant::now();
        let mut issued = self.issued.lock().unwrap_or_else(PoisonError::into_inner);
        issued.retain(|_, ticket| ticket.ends > now);
        issued.insert(nonce, Ticket { ends: now + LIFE, is_taken: false });
        let encode = |bytes: &[u8]| BASE64_URL_SAFE_NO_PAD.encode(bytes);
        Some(format!("{}.{}", encode(&state), encode(signature.as_ref())))
    }

    /// Takes a state, which works once, and says what it is about.
    fn take(&self, sealed: &str, call: &str) -> Result<String, Refused> {
        let (state, signature) = sealed.split_once('.').ok_or(Refused::Foreign)?;
        let decode = |text| BASE64_URL_SAFE_NO_PAD.decode(text).map_err(|_| Refused::Foreign);
        let (state, signature) = (decode(state)?, decode(signature)?);
        hmac::verify(&self.key, &signed(&state, call), &signature).map_err(|_| Refused::Foreign)?;
        let State { nonce, subject } =
            serde_json::from_slice(&state).map_err(|_| Refused::Foreign)?;
        let mut issued = self.issued.lock().unwrap_or_else(PoisonError::into_inner);
        match issued.get_mut(&nonce).filter(|ticket| ticket.ends > Instant::now()) {
            Some(ticket) if ticket.is_taken => Err(Refused::Taken),
            Some(ticket) => {
                ticket.is_taken = true;
                Ok(subject)
            }
            None => Err(Refused::Ended),
        }
    }
}

impl fmt::Debug for Asking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Asking(..)")
    }
}

/// What a state is bound to beside its content: the tool and its arguments.
fn call_of(request: &CallToolRequestParams) -> String {
    // A client may write the same arguments in another order the second time.
    let mut arguments: Vec<_> = request
        .arguments
        .iter()
        .flatten()
        .map(|(name, value)| format!("{name:?}:{value}"))
        .collect();
    arguments.sort_unstable();
    format!("{}\n{}", request.name, arguments.join("\n"))
}

fn signed(state: &[u8], call: &str) -> Vec<u8> {
    let mut bytes = (state.len() as u64).to_be_bytes().to_vec();
    bytes.extend_from_slice(state);
    bytes.extend_from_slice(call.as_bytes());
    bytes
}

/// Why the client cannot put a form to its user, unless it said that it can, in a revision that knows such a question.
/// An empty capability means that.
fn why_not_asked(context: &RequestContext<RoleServer>) -> Option<String> {
    let revision = context.protocol_version();
    if let Some(old) = revision.filter(|revision| *revision < ProtocolVersion::V_2025_06_18) {
        return Some(format!("this client speaks MCP {old}, in which nobody can be asked"));
    }
    let capability = context.client_capabilities().and_then(|client| client.elicitation);
    let can =
        capability.is_some_and(|capability| capability.form.is_some() || capability.url.is_none());
    (!can).then(|| "this client cannot ask".to_owned())
}

fn form(message: String) -> ElicitRequestParams {
    let schema = ElicitationSchema::builder()
        .required_bool_property(NAME, |property| property.title("Go on?"))
        .build()
        .unwrap_or_else(|_| ElicitationSchema::new(std::collections::BTreeMap::new()));
    ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema: schema }
}

/// Puts a question to the client while the call waits. **It is withdrawn when nobody waits for its answer any more**:
/// the library does so when the time is over, and this does when the call was cancelled. Else the form would stay open
/// in front of a person whose answer counts for nothing.
async fn put(peer: Peer<RoleServer>, text: String) -> Reply {
    let withdrawn = CancellationToken::new();
    let _waits = withdrawn.clone().drop_guard();
    // In a task of its own, since the call may be dropped at any time.
    let asking = tokio::spawn(async move {
        let request = ServerRequest::ElicitRequest(ElicitRequest::new(form(text)));
        let options = PeerRequestOptions::with_timeout(PATIENCE);
        let handle = peer.send_request_with_option(request, options).await?;
        let id = handle.id.clone();
        tokio::select! {
            response = handle.await_response() => response,
            () = withdrawn.cancelled() => {
                let why = "the call that asked this was cancelled".to_owned();
                let gone = CancelledNotificationParam::new(Some(id), Some(why));
                let _ = peer.notify_cancelled(gone).await;
                Err(ServiceError::Cancelled { reason: None })
            }
        }
    });
    let response = asking.await.unwrap_or(Err(ServiceError::TransportClosed));
    answered(response)
}

/// What came of a question that was sent to the client.
fn answered(response: Result<ClientResult, ServiceError>) -> Reply {
    match response {
        Ok(ClientResult::ElicitResult(result)) => reply(&result),
        Err(ServiceError::Timeout { .. }) => {
            let why = format!("the user did not answer within {} s", PATIENCE.as_secs());
            Reply::Unanswered(why)
        }
        // It said that it can ask, and does not know how to.
        Err(ServiceError::McpError(error)) if error.code == ErrorCode::METHOD_NOT_FOUND => {
            Reply::CannotAsk("this client cannot ask".to_owned())
        }
        // Whether the user saw the question nobody knows, so that `confirm` does not count.
        Err(ServiceError::McpError(error)) => Reply::Unanswered(format!(
            "the client did not get an answer of the user: {}",
            sentence(&error.message)
        )),
        _ => Reply::Unanswered("the client did not get an answer of the user".to_owned()),
    }
}

fn reply(result: &ElicitResult) -> Reply {
    let agreed = result.content.as_ref().and_then(|content| content.get(NAME)?.as_bool());
    match (&result.action, agreed) {
        (ElicitationAction::Accept, Some(true)) => Reply::Yes(Agreed::Person),
        // Of a form with a box nobody knows whether the tick was forgotten, of one with two choices it is a no.
        (ElicitationAction::Accept, Some(false)) => Reply::No(
            "the user sent the form without saying yes (a tick that is left out is a no)"
                .to_owned(),
        ),
        (ElicitationAction::Accept, None) => {
            Reply::Unanswered("the client sent the form without an answer".to_owned())
        }
        (ElicitationAction::Decline, _) => Reply::No("the user declined".to_owned()),
        _ => Reply::Unanswered("the user closed the question without an answer".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;

    #[test]
    fn a_state_is_taken_once_and_only_by_its_own_call() {
        let asking = Asking::new();
        let sealed = asking.seal("stop qemu/104".to_owned(), "hard\nvm:104").unwrap();
        assert_eq!(asking.take(&sealed, "hard\nvm:105"), Err(Refused::Foreign));
        assert_eq!(asking.take(&sealed, "hard\nvm:104").unwrap(), "stop qemu/104");
        assert_eq!(asking.take(&sealed, "hard\nvm:104"), Err(Refused::Taken));
    }

    #[test]
    fn a_state_of_another_process_or_one_that_was_changed_is_not_believed() {
        let sealed = Asking::new().seal("stop qemu/104".to_owned(), "a").unwrap();
        let asking = Asking::new();
        assert_eq!(asking.take(&sealed, "a"), Err(Refused::Foreign));
        let own = asking.seal("stop qemu/104".to_owned(), "a").unwrap();
        for nth in (0..own.len()).step_by(7) {
            let mut bytes = own.clone().into_bytes();
            bytes[nth] ^= 1;
            let changed = String::from_utf8_lossy(&bytes).into_owned();
            assert_eq!(asking.take(&changed, "a"), Err(Refused::Foreign), "{nth}");
        }
        for text in ["", ".", "a.b", "no dot"] {
            assert_eq!(asking.take(text, "a"), Err(Refused::Foreign), "{text:?}");
        }
    }

    #[test]
    fn who_says_nothing_in_time_did_not_say_no() {
        let told = answered(Err(ServiceError::Timeout { timeout: PATIENCE }));
        assert_eq!(told, Reply::Unanswered("the user did not answer within 25 s".to_owned()));
    }

    proptest! {
        #[test]
        fn no_state_but_one_that_was_sealed_is_believed(text in "\\PC{0,80}", bytes in vec(any::<u8>(), 0..80)) {
            let asking = Asking::new();
            let own = asking.seal("stop qemu/104".to_owned(), "a").unwrap();
            let (state, signature) = own.split_once('.').unwrap();
            let made_up = BASE64_URL_SAFE_NO_PAD.encode(&bytes);
            let forged = [
                text.clone(),
                format!("{made_up}.{text}"),
                format!("{made_up}.{signature}"),
                format!("{state}.{made_up}"),
                format!("{own}{text}."),
            ];
            for forged in forged {
                prop_assert_eq!(asking.take(&forged, "a"), Err(Refused::Foreign));
            }
            if text != "a" {
                prop_assert_eq!(asking.take(&own, &text), Err(Refused::Foreign));
            }
            prop_assert_eq!(asking.take(&own, "a"), Ok("stop qemu/104".to_owned()));
        }
    }

    #[test]
    fn a_state_ends() {
        let asking = Asking::new();
        let sealed = asking.seal("x".to_owned(), "a").unwrap();
        for ticket in asking.issued.lock().unwrap().values_mut() {
            ticket.ends = Instant::now();
        }
        assert_eq!(asking.take(&sealed, "a"), Err(Refused::Ended));
    }

    #[test]
    fn the_order_of_arguments_does_not_matter_and_their_values_do() {
        let call = |text: &str| {
            let mut request = CallToolRequestParams::new("a");
            request.arguments = serde_json::from_str(text).unwrap();
            call_of(&request)
        };
        assert_eq!(call(r#"{"a":1,"b":"2"}"#), call(r#"{"b":"2","a":1}"#));
        assert_ne!(call(r#"{"a":1,"b":"2"}"#), call(r#"{"a":1,"b":2}"#));
    }
}
