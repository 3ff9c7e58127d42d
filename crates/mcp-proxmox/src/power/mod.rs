//! Starting, stopping and what belongs to it: one way for all tools that do so.
//!
//! ```text
//! look      where the guest is and how it is now, what runs on it, what the token may
//! decide    already there: done. In the way: refused, with the reason and the next step
//! ask       a person, where the user wants it
//! alone     no other call of this server acts on this guest; after another's end all is looked at again. Only a
//!           hard stop passes one that waits until the guest has shut itself down
//! record    in the audit log
//! send      once
//! follow    the task, or what became of it when the answer was lost
//! look      at the guest again, and say what is so
//! ```
//!
//! **Invariants:** a request is sent at most once for each call, whatever happens. What is said about the
//! guest afterwards was read from the guest afterwards. Nothing is unlocked, and no soft action turns into
//! a hard one, but for the HA manager's: a shutdown that goes through it needs the consent of a hard stop.

mod action;
mod after;
mod decide;
mod follow;
mod held;
mod look;
mod order;
mod outcome;
mod state;
mod tool;
mod watch;
mod words;

use pve_client::{Operator, task::Listed};
use serde_json::{Map, Value};
use tokio::time::{Duration, Instant};

use self::{action::Plan, decide::Verdict, look::Scene};
use crate::{
    answer::clean::sentence,
    audit,
    call::Call,
    failure::Failure,
    person::{Agreed, Consent, Question},
    turns::Alone,
};

pub use self::{
    action::{Action, run_of, still_the_run},
    outcome::Outcome,
    tool::{Arguments, NoneOfItsOwn, Own, Patience, PlainOwn, PowerTool},
    watch::{Booted, Watching},
};

/// What is kept of a call's time for reading the guest and answering, when everything else was slow.
const KEPT: Duration = Duration::from_secs(8);

/// What a caller wants.
#[derive(Debug)]
pub struct Order {
    /// The tool that was called.
    pub tool: &'static str,
    /// What is to be done.
    pub action: Action,
    /// The guest, as the caller named it.
    pub vm: String,
    /// How long to wait for the end.
    pub wait_seconds: u32,
    /// Whether to check only.
    pub dry_run: bool,
    /// Whether the caller says that the user agreed.
    pub confirm: bool,
    /// The arguments, for the record.
    pub arguments: Value,
}

/// Does what is wanted, or says why not.
///
/// # Errors
/// What is in the way, and what to do about it.
pub async fn carry_out(pve: Operator, call: &Call, order: Order) -> Result<Outcome, Failure> {
    let Order { action, .. } = order;
    let mut scene = look::at(pve.reader(), call, &order.vm, action).await?;
    let mut verdict = decide::verdict(&scene, call, action)?;
    let sends = matches!(verdict, Verdict::Send(_));
    if let Some(audit) = call.policy.audit().filter(|_| sends) {
        // Nobody is asked for what could not be recorded.
        audit.ready().await?;
    }
    let must_ask = sends && call.policy.asks_before(action.is_destructive(&scene));
    if order.dry_run {
        let plan = match verdict {
            Verdict::Already(note) => return Ok(Outcome::already(&scene, note)),
            Verdict::Send(plan) => plan,
        };
        let dependants = if action.interrupts() {
            order::dependants(pve.reader(), call, &scene).await
        } else {
            None
        };
        return Ok(Outcome::dry_run(&scene, &plan, must_ask, dependants));
    }
    let agreed = if must_ask {
        match ask(call, &order, &scene).await? {
            Consent::Given(agreed) => agreed,
            Consent::Refused(refusal) => return Ok(Outcome::without_consent(&scene, &refusal)),
        }
    } else {
        Agreed::NotAsked
    };
    let vmid = scene.found.guest.vmid;
    let (turns, latest) = (&call.policy.turns, call.deadline - KEPT);
    let alone = if action == Action::Stop {
        turns.to_stop(vmid.get(), latest).await
    } else {
        turns.alone_with(vmid.get(), latest).await
    };
    let Some(alone) = alone else {
        let what = format!(
            "another call of this server acts on {vmid} and has not ended; nothing was sent"
        );
        return Err(Failure::new(what).hint("see its state with get_vm_status, then call again"));
    };
    if alone.is_after_another || must_ask {
        // The world may be another one by now.
        let before = scene;
        scene = look::at(pve.reader(), call, &vmid.to_string(), action).await?;
        verdict = decide::verdict(&scene, call, action)?;
        if alone.is_after_another {
            twice(&before, &scene, action)?;
        }
        if must_ask && matches!(verdict, Verdict::Send(_)) {
            still_the_run(&scene.who(), &before.current, &scene.current)?;
        }
    }
    let plan = match verdict {
        Verdict::Already(note) => return Ok(Outcome::already(&scene, note)),
        Verdict::Send(plan) => plan,
    };
    if !must_ask && call.policy.asks_before(action.is_destructive(&scene)) {
        let who = scene.who();
        let what = format!("{who} is not as it was when this was called; nothing was sent");
        return Err(Failure::new(what).hint("call again: the user has to agree to this"));
    }
    send(&pve, call, &order, (&scene, agreed), (plan, alone)).await
}

/// Refuses what another call has just done while this one waited for its turn: clients send calls side by side, and
/// nobody means two reboots or resets by that. For every other action the guest's state tells.
fn twice(before: &Scene, now: &Scene, action: Action) -> Result<(), Failure> {
    if !matches!(action, Action::Reboot(_) | Action::Reset) {
        return Ok(());
    }
    let known = before.known();
    let kinds = action.tasks(now.found.guest.kind);
    let is_twin = |task: &&Listed| {
        task.upid.as_ref().is_some_and(|upid| !known.contains(upid))
            && task.kind.as_deref().is_some_and(|kind| kinds.contains(&kind))
    };
    let Some(twin) = now.tasks.iter().flatten().find(is_twin) else { return Ok(()) };
    let upid = twin.upid.as_ref().map(|upid| sentence(&upid.to_string())).unwrap_or_default();
    let (who, verb) = (now.who(), action.verb());
    let what = format!("another call has just done this to {who} (task {upid}); nothing was sent");
    Err(Failure::new(what).hint(format!("if it is to {verb} once more, call again")))
}

/// Asks the person, where there is one.
async fn ask(call: &Call, order: &Order, scene: &Scene) -> Result<Consent, Failure> {
    let run = run_of(&scene.current);
    let subject = format!("{} {}{run}", order.action.verb(), scene.found.guest);
    let question = Question { subject, text: order.action.question(scene) };
    let what = order.action.what(scene);
    call.person.consents(question, &what, order.confirm).await
}

/// Records, sends once, follows, and reads what is so.
async fn send(
    pve: &Operator,
    call: &Call,
    order: &Order,
    (scene, agreed): (&Scene, Agreed),
    (plan, alone): (Plan, Alone),
) -> Result<Outcome, Failure> {
    let open = match call.policy.audit() {
        Some(audit) => {
            let about = about(pve, call, order, scene, agreed);
            Some(audit.open(about, call.sent.clone()).await?)
        }
        None => None,
    };
    call.sent.begins(format!("{} {}", order.action.verb(), scene.found.guest));
    call.progress.report(1.0, None, format!("{}: sent to PVE", order.action.verb()));
    let began = Instant::now();
    let wait = Duration::from_secs(u64::from(order.wait_seconds));
    let until = (began + wait).min(call.deadline - KEPT / 2);
    let result = follow::carry_through(pve, call, scene, (plan, alone), until).await;
    let (outcome, details) = match &result {
        Ok(outcome) => (outcome.outcome, outcome.details()),
        Err(failure) => {
            ("failed", vec![("upid", call.sent.task()), ("why", Some(failure.what().to_owned()))])
        }
    };
    let unwritten = match open {
        Some(open) => open.close(outcome, &details).await,
        None => None,
    };
    match (result, unwritten) {
        (Ok(mut outcome), unwritten) => {
            outcome.notes.extend(unwritten);
            Ok(outcome)
        }
        (Err(failure), Some(unwritten)) => Err(failure.besides(&unwritten)),
        (Err(failure), None) => Err(failure),
    }
}

/// What the audit log says of a write.
fn about(
    pve: &Operator,
    call: &Call,
    order: &Order,
    scene: &Scene,
    agreed: Agreed,
) -> Map<String, Value> {
    let (tool, arguments) = (order.tool, &order.arguments);
    let mut about = audit::about(pve.reader(), call, tool, arguments, &scene.found, agreed);
    about.insert("before".to_owned(), scene.state.word().into());
    about
}
