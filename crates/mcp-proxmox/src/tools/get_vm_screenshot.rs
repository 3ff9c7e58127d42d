//! `get_vm_screenshot`: the screen of a guest as a picture.
//!
//! The whole screen comes over VNC, shared with whoever looks already, and is scaled to a size that a
//! model can take.

mod picture;

use std::fmt::Write as _;

use jiff::Timestamp;
use pve_client::{
    Kind, Observer, Reader, access,
    console::{ConsoleError, ConsoleProblem, Screenshot},
    guest::{self, Current},
};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::time::{Duration, Instant};

use crate::{
    answer::{
        Bytes, Picture,
        clean::{label, quoted},
    },
    call::Call,
    catalog::{Tool, Toolset},
    console::{how_to_start, named, not_shown, refuse_without_right, standstill, task_end},
    failure::Failure,
    lookup::guest::{Found, find},
    tier::Reads,
};
use picture::Area;

/// How long a screen may take to come, in seconds.
const LOOK_SECONDS: u64 = 20;
/// How long the token's privileges may take, in seconds.
const RIGHTS_SECONDS: u64 = 8;

/// See the module's documentation.
#[derive(Debug)]
pub struct GetVmScreenshot;

/// Which screen, and how.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Vmid or unique name.
    vm: String,
    /// Widest picture in pixels (default 1024).
    #[schemars(range(min = 64, max = 2048))]
    max_width: Option<u32>,
    /// Part in screen pixels: `x,y,width,height`.
    crop: Option<String>,
    /// Wait until the screen changes.
    #[schemars(range(min = 1, max = 25))]
    wait_change_seconds: Option<u64>,
}

impl Tool for GetVmScreenshot {
    const NAME: &'static str = "get_vm_screenshot";
    const TITLE: &'static str = "Screenshot";
    const DESCRIPTION: &'static str = "Picture (PNG) of the screen of a VM (its display) or container (its terminal) as it is now. Types nothing \
        and throws nobody out. For text use get_vm_console.";
    const TOOLSET: Toolset = Toolset::Console;

    type Effect = Reads;
    type Input = Input;
    type Output = Picture;

    async fn run(pve: Observer, call: &Call, input: Input) -> Result<Picture, Failure> {
        let crop = input.crop.as_deref().map(Area::parse).transpose()?;
        let found = find(&pve, &input.vm).await?;
        let part = pve.until(call.part(RIGHTS_SECONDS));
        let (current, permissions) = tokio::join!(
            pve.get(guest::current(&found.guest)),
            part.get(access::permissions_on(found.guest.vmid)),
        );
        let current = current.map_err(|error| {
            Failure::from_pve(&format!("read the state of {}", found.guest.vmid), &error)
        })?;
        let who = named(&found);
        if current.status.as_deref() == Some("stopped") {
            return Err(Failure::new(format!(
                "{who} does not run, so there is nothing on its screen"
            ))
            .hint(how_to_start(&found)));
        }
        refuse_without_right(&found, &permissions)?;
        let wait = input.wait_change_seconds.map(Duration::from_secs);
        let seen = look(&pve, call, &found, wait, crop);
        let seen = match seen.await {
            Ok(seen) => seen,
            Err(error) => {
                let said = task_end(&pve, call, &found, &error).await;
                return Err(not_seen(&who, &error, said.as_deref()));
            }
        };
        let shot = &seen.shot;
        let area = match crop {
            Some(area) => area.within(shot.width, shot.height)?,
            None => Area { x: 0, y: 0, width: shot.width, height: shot.height },
        };
        let picture = picture::of(shot, area, input.max_width.unwrap_or(1024));
        let picture = picture.ok_or_else(|| Failure::bug(Self::NAME))?;
        let of = (&found, &current);
        let text = told(of, &seen, &area, &picture, call, input.wait_change_seconds);
        Ok(Picture { text, png: picture.png })
    }
}

/// What was seen.
struct Seen {
    shot: Screenshot,
    server: String,
    /// Whether it changed, where that was waited for.
    changed: Option<bool>,
}

async fn look(
    pve: &Reader,
    call: &Call,
    found: &Found,
    wait: Option<Duration>,
    crop: Option<Area>,
) -> Result<Seen, ConsoleError> {
    let mut screen = pve.watch_screen(&found.guest).await?;
    let failed = |problem| ConsoleError { problem, task: None };
    let mut shot = screen.look(call.part(LOOK_SECONDS)).await.map_err(failed)?;
    let mut changed = None;
    if let Some(wait) = wait {
        // What is left has to be enough to make the picture.
        let latest = call.deadline.checked_sub(Duration::from_secs(5));
        let until = latest.map_or_else(Instant::now, |latest| latest.min(Instant::now() + wait));
        changed = Some(false);
        // A screen that breaks off while it is waited for was seen all the same.
        while let Ok(Some(newer)) = screen.change(&shot, until).await {
            // Only the part that is shown counts: a clock elsewhere is no change.
            let is_other = crop.is_none_or(|area| picture::differs(&shot, &newer, area));
            shot = newer;
            if is_other {
                changed = Some(true);
                break;
            }
        }
    }
    let server = label(screen.name());
    screen.close().await;
    Ok(Seen { shot, server, changed })
}

/// Why there is no picture, with what the task behind the screen `said`.
fn not_seen(who: &str, error: &ConsoleError, said: Option<&str>) -> Failure {
    let failure = not_shown(&format!("see the screen of {who}"), error, said);
    match &error.problem {
        _ if said.is_some() => failure.hint("get_vm_status tells how the guest is"),
        ConsoleProblem::NotOpened(_) => failure,
        ConsoleProblem::TooLarge { .. } => {
            failure.hint("up to 16.7 million pixels are read, such as 4096 x 4096")
        }
        _ => failure.hint(
            "try again; a VM without a display (`vga: none`) has no screen, but may have a serial port: get_vm_console",
        ),
    }
}

/// What the picture shows, in words.
fn told(
    (found, current): (&Found, &Current),
    seen: &Seen,
    area: &Area,
    picture: &picture::Made,
    call: &Call,
    waited: Option<u64>,
) -> String {
    let Screenshot { width, height, .. } = seen.shot;
    let what = match found.guest.kind {
        Kind::Qemu => "VM",
        Kind::Lxc => "container",
    };
    let time = call.time(Timestamp::now().as_second()).unwrap_or_default();
    let state = current.qmpstatus.as_deref().or(current.status.as_deref());
    let mut text = format!(
        "screen of {what} {}, {} on {} at {time}: {width} x {height} pixels",
        named(found),
        state.map_or_else(|| "in an unknown state".to_owned(), label),
        label(found.guest.node.as_str())
    );
    let (x, y, wide, high) = (area.x, area.y, area.width, area.height);
    if (wide, high) != (width, height) {
        let _ = write!(text, ", of which {wide} x {high} from {x},{y}");
    }
    if (picture.width, picture.height) != (wide, high) {
        let (wide, high) = (picture.width, picture.height);
        let _ = write!(text, ", shown at {wide} x {high} (a part in full size: `crop`)");
    }
    let size = Bytes(picture.png.len() as u64);
    let _ = write!(text, "; PNG of {size}; drawn by {}", quoted(&seen.server));
    let still = standstill(current);
    if let Some([red, green, blue]) = picture.only_colour {
        let colour = match (red, green, blue) {
            (0, 0, 0) => "black".to_owned(),
            _ => format!("#{red:02x}{green:02x}{blue:02x}"),
        };
        let _ = write!(text, "\nit is one colour ({colour})");
        // Of a guest that stands still the state says enough.
        if still.is_none() {
            text += ": a blank screen, a display in standby, or a guest that shows nothing yet";
        }
    }
    if let Some(why) = &still {
        let _ = write!(text, "\n{why}");
    }
    match (seen.changed, waited) {
        (Some(false), Some(seconds)) => {
            let whole = (wide, high) == (width, height);
            let place = if whole { "on it" } else { "in this part" };
            let _ = write!(text, "\nnothing {place} changed within {seconds} s");
        }
        (Some(true), _) => text += "\nit is shown as it was after the next change",
        _ => {}
    }
    if let Some(note) = &found.note {
        let _ = write!(text, "\n{note}");
    }
    text
}
