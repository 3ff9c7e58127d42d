//! Consoles: what a guest writes, as a person sees it, and the keys that somebody types.
//!
//! **What a guest asks the terminal is not answered**, and nothing here types: the tools that may do so
//! are handed what can.

mod display;
pub mod keys;
mod kind;
pub mod listen;
pub mod text;

use pve_client::{
    Error, Kind, Reader,
    access::Permissions,
    console::{ConsoleError, ConsoleProblem, Size},
    guest::{self, Current},
    task, version,
};

use crate::{
    answer::clean::{label, quoted, sentence},
    call::Call,
    failure::Failure,
    lookup::guest::{Found, real_name},
    rights::grant,
};

/// Whether the token certainly may not open the consoles of a guest. Where its privileges cannot be read,
/// PVE will say it.
pub fn lacks_right(permissions: &Result<Permissions, Error>) -> bool {
    let holds = |held: &Permissions| held.values().any(|held| held.contains_key("VM.Console"));
    permissions.as_ref().is_ok_and(|held| !holds(held))
}

/// Says in words what PVE would refuse, so that nothing is opened for it.
///
/// # Errors
/// When the token certainly may not.
pub fn refuse_without_right(
    found: &Found,
    permissions: &Result<Permissions, Error>,
) -> Result<(), Failure> {
    if !lacks_right(permissions) {
        return Ok(());
    }
    let vmid = found.guest.vmid;
    let what =
        format!("the API token lacks the privilege VM.Console on /vms/{vmid}; nothing was opened");
    Err(Failure::new(what).hint(grant::advice("VM.Console", &format!("/vms/{vmid}"))))
}

/// Why nothing moves on a VM, where QEMU does not run it. Its list and its status say `running` all the same.
pub fn standstill(current: &Current) -> Option<String> {
    let state = current.qmpstatus.as_deref().filter(|state| *state != "running")?;
    Some(match state {
        "paused" => "the VM is paused: nothing moves until it is resumed".to_owned(),
        "io-error" => "the VM is paused (io-error): nothing moves until it is resumed".to_owned(),
        other => format!("the VM is {}: nothing moves on it", label(other)),
    })
}

/// `web01` (100), as failures name it.
pub fn named(found: &Found) -> String {
    match real_name(&found.listed) {
        Some(name) => format!("{} ({})", quoted(name), found.guest.vmid),
        None => found.guest.vmid.to_string(),
    }
}

/// What can be done where a guest does not run.
pub fn how_to_start(found: &Found) -> &'static str {
    if found.listed.template == Some(true) {
        "it is a template, which never runs; a clone of it can"
    } else {
        "start_vm starts it; get_vm_status tells more"
    }
}

/// The size that a terminal is told, as a browser's window may have it.
pub const SIZE: Size = Size { columns: 100, rows: 30 };
/// How long the configuration may take, in seconds.
const CONFIG_SECONDS: u64 = 5;
/// How long the list of open consoles may take, in seconds.
pub const TASK_SECONDS: u64 = 4;

/// Which version of PVE answers. Without an answer nothing is known to be missing.
pub async fn version_of(pve: &Reader) -> (u32, u32) {
    pve.get(version::version()).await.map_or((u32::MAX, 0), |version| {
        let (major, minor, _) = version.numbers();
        (major, minor)
    })
}

/// Says in words what opening a text console would only fail at.
///
/// # Errors
/// What is in the way.
pub fn refuse_in_words(
    found: &Found,
    current: &Current,
    version: (u32, u32),
) -> Result<(), Failure> {
    let who = named(found);
    if current.status.as_deref() == Some("stopped") {
        return Err(Failure::new(format!(
            "{who} does not run, so there is nothing on its console"
        ))
        .hint(how_to_start(found)));
    }
    if version < (9, 0) {
        return Err(Failure::new(format!(
            "PVE {}.{} lets no API token into text consoles; that came with about 9.1",
            version.0, version.1
        ))
        .hint("get_vm_screenshot works with every version, and shows a container's terminal too"));
    }
    // Only newer versions say whether there is one, and those always do.
    if found.guest.kind == Kind::Qemu && current.serial != Some(true) {
        return Err(Failure::new(format!("{who} has no serial port, so it has no text console"))
            .hint(format!(
                "get_vm_screenshot shows its display. An administrator can add a port with `qm set {} --serial0 socket`: it is there \
                 after the VM was stopped and started, and its Linux writes to it with `console=ttyS0` on the kernel's command line",
                found.guest.vmid
            )));
    }
    Ok(())
}

/// Says in words that a VM has no such port, and which it has. Where that cannot be read, PVE will say it.
///
/// # Errors
/// When it certainly has none.
pub async fn refuse_missing_port(
    pve: &Reader,
    call: &Call,
    found: &Found,
    serial: Option<u8>,
) -> Result<(), Failure> {
    let Some(number) = serial.filter(|_| found.guest.kind == Kind::Qemu) else { return Ok(()) };
    let config = pve.until(call.part(CONFIG_SECONDS)).get(guest::config(&found.guest)).await;
    let Ok(config) = config else { return Ok(()) };
    let is_port =
        |key: &&str| key.strip_prefix("serial").is_some_and(|number| number.parse::<u8>().is_ok());
    let ports: Vec<&str> = config.keys().filter(is_port).collect();
    let wanted = format!("serial{number}");
    if ports.is_empty() || ports.contains(&wanted.as_str()) {
        return Ok(());
    }
    let what = format!("{} has no {wanted}, only {}", named(found), ports.join(", "));
    Err(Failure::new(what).hint("leave `serial` out, or name a port that it has"))
}

/// Why a console did not open. The task behind it often says more than the connection.
pub async fn not_opened(
    pve: &Reader,
    call: &Call,
    found: &Found,
    error: &ConsoleError,
    version: (u32, u32),
) -> Failure {
    let asked = format!("open the console of {}", named(found));
    let said = task_end(pve, call, found, error).await;
    let why = match (&error.problem, said) {
        (ConsoleProblem::NotOpened(why), None)
            if error.task.is_none() || why.refusal().is_some() =>
        {
            return Failure::from_pve(&asked, why);
        }
        (_, Some(said)) => said,
        (problem, None) => sentence(&problem.to_string()),
    };
    let failure = Failure::new(format!("could not {asked}: {why}"));
    match &error.problem {
        ConsoleProblem::LoginFailed if version < (9, 2) => failure.hint(
            "before about PVE 9.1 (its access control 9.0.5) an API token cannot log in to a text console; get_vm_screenshot works with every version",
        ),
        ConsoleProblem::NotOpened(Error::Unsent(_)) => {
            failure.hint("nothing was opened; try again")
        }
        _ => failure.hint("get_vm_screenshot may work; get_vm_status tells how the guest is"),
    }
}

/// Why a screen was of no use, with what its task `said`.
pub fn not_shown(asked: &str, error: &ConsoleError, said: Option<&str>) -> Failure {
    match (&error.problem, said) {
        (_, Some(said)) => Failure::new(format!("could not {asked}: {said}")),
        (ConsoleProblem::NotOpened(error), None) => Failure::from_pve(asked, error),
        (problem, None) => {
            Failure::new(format!("could not {asked}: {}", sentence(&problem.to_string())))
        }
    }
}

/// That the task behind a console ended badly, and with what, if there is one that did.
pub async fn task_end(
    pve: &Reader,
    call: &Call,
    found: &Found,
    error: &ConsoleError,
) -> Option<String> {
    let upid = error.task.as_ref()?;
    let filter =
        task::Filter { vmid: Some(found.guest.vmid), limit: Some(10), ..task::Filter::default() };
    let tasks = pve
        .until(call.part(TASK_SECONDS))
        .get(task::list(&found.guest.node, &filter))
        .await
        .ok()?;
    let ours = tasks.iter().find(|task| task.upid.as_ref() == Some(upid))?;
    let exit = ours.exit().filter(|exit| *exit != "OK")?;
    Some(format!("its task ended with: {}", sentence(exit)))
}
