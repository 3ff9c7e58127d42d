//! `POST /nodes/{node}/{qemu,lxc}/{vmid}/status/start`.
//!
//! **Invariant:** what PVE finds out only inside the task is answered with 200 and a task that
//! failed, not refused: a guest that does not exist, runs already, is locked or a template
//! (recorded).

use crate::{
    answer::Answer,
    cluster::{Change, Guest, Kind, Task},
    date,
    endpoints::{
        Needs, Route, Run, Wanted,
        parameters::{Kind as Is, Parameter},
        power,
    },
    shared::World,
};

pub(super) const ROUTES: &[Route] = &[
    Route {
        method: "POST",
        path: "/nodes/{node}/qemu/{vmid}/status/start",
        needs: Needs::Privilege("/vms/{vmid}", "VM.PowerMgmt"),
        parameters: &[
            Parameter::new("force-cpu", Is::Text),
            Parameter::new("machine", Is::Text),
            Parameter::new("migratedfrom", Is::Text),
            Parameter::new("migration_network", Is::Text),
            Parameter::new("migration_type", Is::OneOf(&["secure", "insecure"])),
            Parameter::new("nets-host-mtu", Is::Text),
            Parameter::new("skiplock", Is::Boolean),
            Parameter::new("stateuri", Is::Text),
            Parameter::new("targetstorage", Is::Text),
            Parameter::new("timeout", Is::Integer(0)),
            Parameter::new("with-conntrack-state", Is::Boolean),
        ],
        by_daemon: true,
        run: Run::Write(|world, wanted| start(world, wanted, Kind::Qemu)),
    },
    Route {
        method: "POST",
        path: "/nodes/{node}/lxc/{vmid}/status/start",
        needs: Needs::Privilege("/vms/{vmid}", "VM.PowerMgmt"),
        parameters: &[
            Parameter::new("debug", Is::Boolean),
            Parameter::new("skiplock", Is::Boolean),
        ],
        by_daemon: true,
        run: Run::Write(|world, wanted| start(world, wanted, Kind::Lxc)),
    },
];

fn start(world: &mut World, wanted: &Wanted<'_>, kind: Kind) -> Answer {
    if let Err(refusal) = power::only_root(wanted) {
        return refusal;
    }
    if !world.cluster.quorate {
        return Answer::error(500, "cluster not ready - no quorum?");
    }
    let asked = match power::Asked::read(world, wanted, kind) {
        Ok(asked) => asked,
        // Only the task finds out that a VM does not exist (recorded).
        Err(_) if kind == Kind::Qemu => return power::missing(world, wanted, "qmstart"),
        Err(missing) => return missing,
    };
    if kind == Kind::Lxc && asked.guest.is_up() {
        return Answer::error(500, &format!("CT {} already running", asked.guest.vmid));
    }
    let task = if kind == Kind::Qemu { "qmstart" } else { "vzstart" };
    let outcome = what_happens(&asked.guest);
    asked.carry_out(world, "start", false, Some("started"), (task, Change::Run, outcome))
}

fn what_happens(guest: &Guest) -> Result<(), String> {
    let word = if guest.kind == Kind::Qemu { "VM" } else { "CT" };
    // A hibernated VM is locked too, and a start wakes it.
    let lock = guest.lock.as_deref().filter(|lock| *lock != "suspended");
    if let Some(lock) = lock {
        return Err(format!("{word} is locked ({lock})"));
    }
    if guest.template {
        let word = word.replace("VM", "vm");
        return Err(format!("you can't start a {word} if it's a template"));
    }
    if guest.is_up() {
        return Err(format!("VM {} already running", guest.vmid));
    }
    guest.start_fails.clone().map_or(Ok(()), Err)
}

impl World {
    /// Notes a task that ended at once, and says its identifier.
    pub(crate) fn end_task(
        &mut self,
        node: &str,
        kind: &str,
        id: &str,
        token: &str,
        outcome: Result<(), String>,
    ) -> String {
        let now = date::unix_now();
        let (status, line) = match outcome {
            Ok(()) => ("OK".to_owned(), "TASK OK".to_owned()),
            Err(text) => (text.clone(), format!("TASK ERROR: {text}")),
        };
        self.last_pid += 1;
        let mut task = Task::ended(node, kind, id, token, (now, now), &status);
        task.pid = self.last_pid;
        task.log.push(line);
        let upid = task.upid();
        self.cluster.tasks.push(task);
        upid
    }
}
