//! Reads what has to be known before anything is done to a guest.
//!
//! What PVE does not tell (a list that needs a right, a node that is slow) stays unknown and holds nothing
//! up: PVE itself has the last word when the request comes.

use std::{collections::HashSet, time::UNIX_EPOCH};

use pve_client::{
    Error, Kind, Reader, RefusalKind, Upid, access, cluster,
    guest::{self, Current},
    task::{self, Listed},
};

use super::{action::Action, state::State};
use crate::{
    answer::clean::{label, quoted},
    call::Call,
    failure::Failure,
    lookup::guest::{Found, find, real_name},
    pending,
};

/// How long what is not the guest's own state may take, in seconds.
const PART_SECONDS: u64 = 8;

/// A guest and what matters around it, at one moment.
#[derive(Debug)]
pub(super) struct Scene {
    pub(super) found: Found,
    pub(super) current: Current,
    pub(super) state: State,
    /// The newest tasks of the guest, running ones first. `None` where PVE did not say.
    pub(super) tasks: Option<Vec<Listed>>,
    /// Whether the token lacks `VM.PowerMgmt` for certain.
    pub(super) lacks_right: bool,
    /// Whether the cluster has a quorum. `None` where PVE did not say.
    pub(super) is_quorate: Option<bool>,
    /// What a reboot applies of its configuration. Empty for other actions, and where PVE did not say.
    pub(super) pending: Vec<String>,
    /// PVE's own clock, in seconds since 1970.
    pub(super) clock: Option<u64>,
}

/// Looks at the guest that a caller named.
pub(super) async fn at(
    pve: &Reader,
    call: &Call,
    vm: &str,
    action: Action,
) -> Result<Scene, Failure> {
    let mut found = find(pve, vm).await?;
    call.aim.is(&found);
    let listed = &found.listed;
    if listed.status.as_deref() == Some("unknown") && listed.maxmem.is_none() {
        let what = format!(
            "the node {} of {} is offline or sends no figures, so nothing was sent",
            label(found.guest.node.as_str()),
            found.guest.vmid
        );
        return Err(Failure::new(what).hint("list_nodes tells how the nodes are; if the guest is HA-managed, another node may take it over"));
    }
    let mut around = around(pve, call, &found, action).await;
    if matches!(&around.0, Err(Error::Refused(refusal)) if refusal.kind() == RefusalKind::NoSuchGuest)
    {
        // It was migrated between the two questions.
        found = find(pve, vm).await?;
        around = self::around(pve, call, &found, action).await;
    }
    let (current, tasks, permissions, quorum, pending) = around;
    let current = current.map_err(|error| {
        Failure::from_pve(
            &format!("read the state of {} before changing it", found.guest.vmid),
            &error,
        )
    })?;
    let (tasks, clock) = match tasks {
        Ok(answer) => {
            let clock = answer.date.and_then(|date| date.duration_since(UNIX_EPOCH).ok());
            (Some(answer.data), clock.map(|clock| clock.as_secs()))
        }
        Err(_) => (None, None),
    };
    // What a pool gives to its members is in it: PVE asks the same when the request comes.
    let lacks_right =
        permissions.is_ok_and(|held| !held.values().any(|held| held.contains_key("VM.PowerMgmt")));
    let is_quorate = quorum.and_then(|status| status.cluster?.quorate);
    let state = State::of(&current);
    Ok(Scene { found, current, state, tasks, lacks_right, is_quorate, pending, clock })
}

type Around = (
    Result<Current, Error>,
    Result<pve_client::Answer<Vec<Listed>>, Error>,
    Result<access::Permissions, Error>,
    Option<cluster::ClusterStatus>,
    Vec<String>,
);

async fn around(pve: &Reader, call: &Call, found: &Found, action: Action) -> Around {
    let part = pve.until(call.part(PART_SECONDS));
    let filter = task::Filter { vmid: Some(found.guest.vmid), ..task::Filter::default() };
    let quorum = async {
        if action.may_need_quorum(found.listed.hastate.is_some()) {
            part.get(cluster::status()).await.ok()
        } else {
            None
        }
    };
    let pending = async {
        if !matches!(action, Action::Reboot(_)) {
            return Vec::new();
        }
        part.get(guest::pending(&found.guest))
            .await
            .map_or_else(|_| Vec::new(), |rows| pending::changes(&rows))
    };
    tokio::join!(
        pve.get(guest::current(&found.guest)),
        part.fetch(task::list(&found.guest.node, &filter)),
        part.get(access::permissions_on(found.guest.vmid)),
        quorum,
        pending,
    )
}

/// What the HA manager is to do with a guest, where it cares for it.
pub(super) fn managed(current: &Current) -> Option<String> {
    let ha = current.ha.as_ref().filter(|ha| ha.managed == Some(true))?;
    let state = ha.state.as_deref().map_or_else(|| "unknown".to_owned(), label);
    (state != "ignored").then_some(state)
}

impl Scene {
    /// `web01` (VM 104 on pve1).
    pub(super) fn who(&self) -> String {
        let guest = &self.found.guest;
        let kind = match guest.kind {
            Kind::Qemu => "VM",
            Kind::Lxc => "container",
        };
        let node = label(guest.node.as_str());
        match real_name(&self.found.listed).map(quoted) {
            Some(name) => format!("{name} ({kind} {} on {node})", guest.vmid),
            None => format!("{kind} {} on {node}", guest.vmid),
        }
    }

    pub(super) fn name(&self) -> Option<String> {
        real_name(&self.found.listed).map(label)
    }

    /// For how long it has been up, in seconds.
    pub(super) fn uptime(&self) -> Option<u64> {
        self.current.uptime.filter(|uptime| *uptime > 0)
    }

    /// What the HA manager does with it, where it cares for it.
    pub(super) fn managed(&self) -> Option<String> {
        managed(&self.current)
    }

    /// The tasks that were known before anything was sent.
    pub(super) fn known(&self) -> HashSet<&Upid> {
        self.tasks.iter().flatten().filter_map(|task| task.upid.as_ref()).collect()
    }

    /// Tasks that are at work on it. Somebody's open console is none.
    pub(super) fn at_work(&self) -> impl Iterator<Item = &Listed> {
        let is_console = |task: &&Listed| {
            matches!(
                task.kind.as_deref(),
                Some("vncproxy" | "termproxy" | "spiceproxy" | "vncshell" | "spiceshell")
            )
        };
        self.tasks
            .iter()
            .flatten()
            .filter(|task| task.is_running())
            .filter(move |task| !is_console(task))
    }
}
