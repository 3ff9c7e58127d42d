//! Reads what has to be known before anything is typed, and says what is in the way.

use pve_client::{
    Kind, Reader, access,
    console::SerialPort,
    guest::{self, Current},
};

use crate::{
    answer::clean::label,
    call::Call,
    console::{
        self, how_to_start,
        keys::{Into, Typing},
        named,
    },
    failure::Failure,
    lookup::guest::{Found, find},
    rights::grant,
};

/// How long what is not the guest's own state may take, in seconds.
const PART_SECONDS: u64 = 8;

/// A guest, and the console of it that is meant.
pub(super) struct Scene {
    pub(super) found: Found,
    pub(super) current: Current,
    pub(super) version: (u32, u32),
    /// `display`, `tty`, `serial0`.
    pub(super) to: &'static str,
    pub(super) into: Into,
    pub(super) serial: Option<u8>,
}

pub(super) async fn at(
    pve: &Reader,
    call: &Call,
    vm: &str,
    serial: Option<u8>,
) -> Result<Scene, Failure> {
    let found = find(pve, vm).await?;
    call.aim.is(&found);
    let part = pve.until(call.part(PART_SECONDS));
    let (current, permissions, version) = tokio::join!(
        pve.get(guest::current(&found.guest)),
        part.get(access::permissions_on(found.guest.vmid)),
        console::version_of(&part),
    );
    let current = current.map_err(|error| {
        let asked = format!("read the state of {} before typing into it", found.guest.vmid);
        Failure::from_pve(&asked, &error)
    })?;
    call.policy.lets(&found, &current)?;
    let (to, into) = place(&found, serial, version)?;
    is_awake(&found, &current)?;
    if console::lacks_right(&permissions) {
        let vmid = found.guest.vmid;
        return Err(Failure::new(format!(
            "the API token lacks the privilege VM.Console on /vms/{vmid}; nothing was typed"
        ))
        .hint(grant::advice("VM.Console", &format!("/vms/{vmid}")))
        .refused());
    }
    if into == Into::Terminal {
        console::refuse_in_words(&found, &current, version)?;
        console::refuse_missing_port(pve, call, &found, serial).await?;
    }
    Ok(Scene { found, current, version, to, into, serial })
}

/// Which console is meant.
fn place(
    found: &Found,
    serial: Option<u8>,
    version: (u32, u32),
) -> Result<(&'static str, Into), Failure> {
    match (found.guest.kind, serial) {
        (Kind::Qemu, None) => Ok(("display", Into::Keyboard)),
        (Kind::Qemu, Some(0)) => Ok(("serial0", Into::Terminal)),
        (Kind::Qemu, Some(1)) => Ok(("serial1", Into::Terminal)),
        (Kind::Qemu, Some(2)) => Ok(("serial2", Into::Terminal)),
        (Kind::Qemu, Some(_)) => Ok(("serial3", Into::Terminal)),
        // Before, no token comes to a tty, but every one to the display that is drawn of it.
        (Kind::Lxc, None) if version < (9, 1) => Ok(("display", Into::Keyboard)),
        (Kind::Lxc, None) => Ok(("tty", Into::Terminal)),
        (Kind::Lxc, Some(_)) => Err(Failure::new(format!(
            "{} is a container, which has no serial ports; nothing was typed",
            named(found)
        ))
        .hint("leave `serial` out: its console is a tty")),
    }
}

/// Keys for a guest that does not take them now would be taken later, by whatever is there then.
fn is_awake(found: &Found, current: &Current) -> Result<(), Failure> {
    let who = named(found);
    let (state, hint) = match (current.status.as_deref(), current.qmpstatus.as_deref()) {
        (Some("stopped"), _) => ("is stopped".to_owned(), how_to_start(found)),
        // start_vm refuses a VM that is only paused.
        (_, Some(state)) if state != "running" => {
            (format!("is {}", label(state)), "resume_vm first; get_vm_status tells more")
        }
        _ => return Ok(()),
    };
    Err(Failure::new(format!("{who} {state}, so nothing on it takes keys; nothing was typed"))
        .hint(hint))
}

impl Scene {
    /// What is to be typed, as this console takes it.
    pub(super) fn typing(
        &self,
        text: Option<&str>,
        keys: Option<&[String]>,
    ) -> Result<Typing, Failure> {
        let typing = Typing::read(text.unwrap_or_default(), keys.unwrap_or_default(), self.into);
        let typing = typing.map_err(|misfits| {
            let failure = Failure::new(format!("nothing was typed:\n- {}", misfits.join("\n- ")));
            match self.into {
                Into::Terminal => failure.hint(
                    "only a display has a whole keyboard; reboot_vm restarts a guest cleanly",
                ),
                Into::Keyboard => failure.hint("a serial terminal or tty takes any text"),
            }
        })?;
        if typing.strokes.is_empty() {
            return Err(
                Failure::new("there is nothing to type").hint("give `text`, `keys` or both")
            );
        }
        Ok(typing)
    }

    /// `the display of VM web01 (104)`.
    pub(super) fn place(&self) -> String {
        let kind = match self.found.guest.kind {
            Kind::Qemu => "VM",
            Kind::Lxc => "container",
        };
        format!("the {} of {kind} {}", self.to, named(&self.found))
    }

    pub(super) fn port(&self) -> Option<SerialPort> {
        self.serial.and_then(SerialPort::new)
    }
}
