//! `POST /nodes/{node}/{qemu,lxc}/{vmid}/status/…`: stop, shutdown, reboot, reset, suspend, resume.
//!
//! **Invariants:** VMs and containers refuse differently, as recorded: a VM's stop and shutdown always
//! get a task, a container's are refused at once when it is stopped. A guest that the HA manager cares
//! for gets a task that ends at once, and follows later. While one task of a guest runs, the next one
//! does not get its lock.

use crate::{
    answer::Answer,
    cluster::{Change, Deed, Guest, Kind, State, Task},
    date,
    endpoints::{
        Needs, Route, Run, Wanted, guest_current,
        parameters::{Kind as Is, Parameter},
    },
    json::Json,
    shared::World,
};

const NEEDS: Needs = Needs::Privilege("/vms/{vmid}", "VM.PowerMgmt");

macro_rules! route {
    ($path:literal, $kind:ident, $run:ident, [$($name:literal: $is:expr),*]) => {
        Route {
            method: "POST",
            path: $path,
            needs: NEEDS,
            parameters: &[$(Parameter::new($name, $is)),*],
            by_daemon: true,
            run: Run::Write(|world, wanted| $run(world, wanted, Kind::$kind)),
        }
    };
}

pub(super) const ROUTES: &[Route] = &[
    route!("/nodes/{node}/qemu/{vmid}/status/stop", Qemu, stop, ["keepActive": Is::Boolean, "migratedfrom": Is::Text, "overrule-shutdown": Is::Boolean, "skiplock": Is::Boolean, "timeout": Is::Integer(0)]),
    route!("/nodes/{node}/lxc/{vmid}/status/stop", Lxc, stop, ["overrule-shutdown": Is::Boolean, "skiplock": Is::Boolean]),
    route!("/nodes/{node}/qemu/{vmid}/status/shutdown", Qemu, shutdown, ["forceStop": Is::Boolean, "keepActive": Is::Boolean, "skiplock": Is::Boolean, "timeout": Is::Integer(0)]),
    route!("/nodes/{node}/lxc/{vmid}/status/shutdown", Lxc, shutdown, ["forceStop": Is::Boolean, "timeout": Is::Integer(0)]),
    route!("/nodes/{node}/qemu/{vmid}/status/reboot", Qemu, reboot, ["timeout": Is::Integer(0)]),
    route!("/nodes/{node}/lxc/{vmid}/status/reboot", Lxc, reboot, ["timeout": Is::Integer(0)]),
    route!("/nodes/{node}/qemu/{vmid}/status/reset", Qemu, reset, ["skiplock": Is::Boolean]),
    route!("/nodes/{node}/qemu/{vmid}/status/suspend", Qemu, suspend, ["skiplock": Is::Boolean, "statestorage": Is::Text, "todisk": Is::Boolean]),
    route!("/nodes/{node}/lxc/{vmid}/status/suspend", Lxc, suspend, []),
    route!("/nodes/{node}/qemu/{vmid}/status/resume", Qemu, resume, ["nocheck": Is::Boolean, "skiplock": Is::Boolean]),
    route!("/nodes/{node}/lxc/{vmid}/status/resume", Lxc, resume, []),
];

/// What is asked, and of whom.
pub(super) struct Asked<'a> {
    wanted: &'a Wanted<'a>,
    node: String,
    /// The guest as it is before.
    pub(super) guest: Guest,
}

/// A task: what it is, what it changes, how it ends.
type Work = (&'static str, Change, Result<(), String>);

impl<'a> Asked<'a> {
    /// Finds the guest, or answers that there is none.
    pub(super) fn read(world: &World, wanted: &'a Wanted<'a>, kind: Kind) -> Result<Self, Answer> {
        let node = world.real_name(wanted.values.get("node").unwrap_or_default()).to_owned();
        let vmid = wanted.values.get("vmid").unwrap_or_default();
        let guest = guest_current::find(world, &node, kind, vmid)?.clone();
        Ok(Self { wanted, node, guest })
    }

    /// Notes what was asked, begins the task, and answers with its identifier. `wish` is the state that
    /// the HA manager is asked for, where the action goes through it.
    pub(super) fn carry_out(
        self,
        world: &mut World,
        action: &'static str,
        hard: bool,
        wish: Option<&str>,
        (kind, change, outcome): Work,
    ) -> Answer {
        let Self { wanted, node, guest } = self;
        let vmid = guest.vmid;
        let token = wanted.token.to_owned();
        let managed = wish.filter(|_| guest.ha.as_deref().is_some_and(|state| state != "ignored"));
        // The HA manager forces down what does not react.
        let hard = hard || (managed == Some("stopped") && guest.deaf && guest.is_up());
        world.cluster.deeds.push(Deed { vmid, action, hard, token });
        let upid = if let Some(wish) = managed {
            if let Some(guest) = world.cluster.guest_mut(vmid) {
                guest.ha = Some(wish.to_owned());
            }
            let task = if wish == "started" { "hastart" } else { "hastop" };
            world.cluster.wish(vmid, change);
            world.end_task(&node, task, &vmid.to_string(), wanted.token, Ok(()))
        } else {
            let outcome = if world.cluster.is_busy(vmid) {
                let folder = if guest.kind == Kind::Qemu { "qemu-server" } else { "lxc" };
                Err(format!("can't lock file '/var/lock/{folder}/lock-{vmid}.conf' - got timeout"))
            } else {
                outcome
            };
            let now = date::unix_now();
            world.last_pid += 1;
            let id = vmid.to_string();
            let mut task = Task::ended(&node, kind, &id, wanted.token, (now, now), "");
            task.pid = world.last_pid;
            world.cluster.begin(task, vmid, change, outcome)
        };
        Answer::json(Json::object(|body| body.text("data", &upid)))
    }

    fn number(&self) -> u32 {
        self.guest.vmid
    }

    /// A lock lets a task begin and fail.
    fn unlocked(&self) -> Result<(), String> {
        let word = if self.guest.kind == Kind::Qemu { "VM" } else { "CT" };
        let lock = self.guest.lock.as_deref();
        lock.map_or(Ok(()), |lock| Err(format!("{word} is locked ({lock})")))
    }

    fn task(&self, qemu: &'static str, lxc: &'static str) -> &'static str {
        if self.guest.kind == Kind::Qemu { qemu } else { lxc }
    }
}

/// Lets time pass for what is under way: somebody looks at a task or at a guest.
pub(super) fn time_passes(world: &mut World, route: &Route, wanted: &Wanted<'_>) {
    let upid = wanted.values.get("upid").filter(|_| route.path.ends_with("/status"));
    let vmid = wanted.values.get("vmid").filter(|_| route.path.ends_with("/status/current"));
    world.cluster.looked_at(upid, vmid.and_then(|vmid| vmid.parse().ok()));
}

/// A token is never root, not even root's own (recorded).
pub(super) fn only_root(wanted: &Wanted<'_>) -> Result<(), Answer> {
    if !wanted.values.is_set("skiplock") {
        return Ok(());
    }
    let text = "Only root may use this option.".to_owned();
    Err(Answer::bad_parameters(&[("skiplock".to_owned(), text)]))
}

/// A task that finds that there is no such VM.
pub(super) fn missing(world: &mut World, wanted: &Wanted<'_>, kind: &str) -> Answer {
    let node = world.real_name(wanted.values.get("node").unwrap_or_default()).to_owned();
    let vmid = wanted.values.get("vmid").unwrap_or_default();
    let text = format!("Configuration file 'nodes/{node}/qemu-server/{vmid}.conf' does not exist");
    let upid = world.end_task(&node, kind, vmid, wanted.token, Err(text));
    Answer::json(Json::object(|body| body.text("data", &upid)))
}

fn stop(world: &mut World, wanted: &Wanted<'_>, kind: Kind) -> Answer {
    if let Err(refusal) = only_root(wanted) {
        return refusal;
    }
    let asked = match Asked::read(world, wanted, kind) {
        Ok(asked) => asked,
        Err(_) if kind == Kind::Qemu => return missing(world, wanted, "qmstop"),
        Err(missing) => return missing,
    };
    if kind == Kind::Lxc && !asked.guest.is_up() {
        return Answer::error(500, &format!("CT {} not running", asked.number()));
    }
    if wanted.values.is_set("overrule-shutdown") {
        world.cluster.interrupt(asked.number());
    }
    let hibernated = asked.guest.lock.as_deref() == Some("suspended");
    let outcome = if hibernated { Ok(()) } else { asked.unlocked() };
    let change = if asked.guest.is_up() { Change::Stop } else { Change::Nothing };
    let work = (asked.task("qmstop", "vzstop"), change, outcome);
    asked.carry_out(world, "stop", true, Some("stopped"), work)
}

fn shutdown(world: &mut World, wanted: &Wanted<'_>, kind: Kind) -> Answer {
    let asked = match only_root(wanted).and_then(|()| Asked::read(world, wanted, kind)) {
        Ok(asked) => asked,
        Err(refusal) => return refusal,
    };
    if kind == Kind::Lxc && !asked.guest.is_up() {
        return Answer::error(500, &format!("CT {} not running", asked.number()));
    }
    if matches!(asked.guest.state, State::Paused | State::Prelaunch) {
        return Answer::error(500, "VM is paused - cannot shutdown");
    }
    let force = wanted.values.is_set("forceStop");
    let change = if asked.guest.is_up() { Change::Stop } else { Change::Nothing };
    let outcome = asked.unlocked().and_then(|()| helped(&asked.guest, force));
    let work = (asked.task("qmshutdown", "vzshutdown"), change, outcome);
    asked.carry_out(world, "shutdown", force, Some("stopped"), work)
}

/// How a guest goes down that was asked to.
fn helped(guest: &Guest, force: bool) -> Result<(), String> {
    let text = match guest.kind {
        Kind::Qemu => "VM quit/powerdown failed - got timeout",
        Kind::Lxc => "command 'lxc-stop -n 200 --timeout 60 --nokill' failed: exit code 1",
    };
    if guest.deaf && guest.is_up() && !force { Err(text.to_owned()) } else { Ok(()) }
}

fn reboot(world: &mut World, wanted: &Wanted<'_>, kind: Kind) -> Answer {
    let asked = match Asked::read(world, wanted, kind) {
        Ok(asked) => asked,
        Err(refusal) => return refusal,
    };
    if !asked.guest.is_up() {
        // It says VM of containers too (read).
        return Answer::error(500, &format!("VM {} not running", asked.number()));
    }
    let outcome = asked.unlocked().and_then(|()| helped(&asked.guest, false));
    let work = (asked.task("qmreboot", "vzreboot"), Change::Reboot, outcome);
    asked.carry_out(world, "reboot", false, None, work)
}

fn reset(world: &mut World, wanted: &Wanted<'_>, kind: Kind) -> Answer {
    let asked = match only_root(wanted).and_then(|()| Asked::read(world, wanted, kind)) {
        Ok(asked) => asked,
        Err(refusal) => return refusal,
    };
    if !asked.guest.is_up() {
        return Answer::error(500, &format!("VM {} not running", asked.number()));
    }
    // The process and its uptime stay the same.
    let work = ("qmreset", Change::Reset, asked.unlocked());
    asked.carry_out(world, "reset", true, None, work)
}

fn suspend(world: &mut World, wanted: &Wanted<'_>, kind: Kind) -> Answer {
    let asked = match only_root(wanted).and_then(|()| Asked::read(world, wanted, kind)) {
        Ok(asked) => asked,
        Err(refusal) => return refusal,
    };
    if !asked.guest.is_up() {
        let named = asked.task("VM", "CT");
        return Answer::error(500, &format!("{named} {} not running", asked.number()));
    }
    let outcome = asked.unlocked();
    let work = match (kind, wanted.values.is_set("todisk")) {
        (Kind::Lxc, _) => {
            let vmid = asked.number();
            let text = format!(
                "command 'lxc-checkpoint -n {vmid} -s -D /var/lib/vz/dump' failed: exit code 1"
            );
            ("vzsuspend", Change::Nothing, outcome.and(Err(text)))
        }
        (Kind::Qemu, true) => ("qmsuspend", Change::Hibernate, outcome),
        (Kind::Qemu, false) => ("qmpause", Change::Pause, outcome),
    };
    asked.carry_out(world, "suspend", false, None, work)
}

fn resume(world: &mut World, wanted: &Wanted<'_>, kind: Kind) -> Answer {
    let asked = match only_root(wanted).and_then(|()| Asked::read(world, wanted, kind)) {
        Ok(asked) => asked,
        Err(refusal) => return refusal,
    };
    let hibernated = asked.guest.lock.as_deref() == Some("suspended");
    if !asked.guest.is_up() && !hibernated {
        let named = asked.task("VM", "CT");
        return Answer::error(500, &format!("{named} {} not running", asked.number()));
    }
    let outcome = if hibernated { Ok(()) } else { asked.unlocked() };
    let work = (asked.task("qmresume", "vzresume"), Change::Resume, outcome);
    asked.carry_out(world, "resume", false, None, work)
}
