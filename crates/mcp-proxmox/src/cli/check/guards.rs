//! Where writes may act, as the settings say it: counted, since a misspelt tag or pool guards nothing and makes
//! no mistake that could be told.

use std::fmt::Write as _;

use pve_client::{Error, VmId, guest::Listed};

use crate::{
    answer::clean::label,
    config::{Config, Confirm, GuestSet},
    failure::Failure,
    lookup::guest::tags,
    policy::{Marks, Policy},
    rights::Rights,
};

/// The lines that tell it.
pub(super) fn told(
    config: &Config,
    rights: &Rights,
    guests: Result<Vec<Listed>, Error>,
) -> Vec<String> {
    let Config { allow, protect, confirm, audit_log, .. } = config;
    let asks = match confirm {
        Confirm::Never => "nobody is asked",
        Confirm::Destructive => "a person is asked before what may lose something",
        Confirm::Always => "a person is asked before each",
    };
    let kept = match audit_log {
        Some(file) => format!("recorded in {}", label(&file.to_string_lossy())),
        None => "not recorded".to_owned(),
    };
    let guests = match guests {
        Ok(guests) => guests,
        Err(error) => {
            let failure = Failure::from_pve("list the VMs and containers", &error);
            return vec![format!("writes      {asks}; {kept}; {}", failure.what())];
        }
    };
    let policy = Policy::of(config);
    let may = |guest: &&Listed| {
        let (tags, pool) = (guest.tags.as_deref(), guest.pool.as_deref());
        let vmid = guest.vmid.map(VmId::get);
        vmid.is_some_and(|vmid| policy.may_touch(Marks { vmid, tags, pool }).is_ok())
    };
    let (n, mut within) = (guests.len(), guests.iter().filter(may).collect::<Vec<_>>());
    // What never runs, and what PVE would refuse, is not acted on whatever the lists say.
    let n_within = within.len();
    within.retain(|guest| guest.template != Some(true));
    let n_templates = n_within - within.len();
    let n_possible = within.len();
    let n_typing = within.iter().filter(|guest| can(rights, guest, "VM.Console")).count();
    within.retain(|guest| can(rights, guest, "VM.PowerMgmt"));
    let n_also = within.iter().filter(|guest| can(rights, guest, "VM.Console")).count();
    let (n_may, n_lacking, n_typing) = (within.len(), n_possible - within.len(), n_typing - n_also);
    let left_out = [
        (n - n_within, "by the settings"),
        (n_templates, "as templates"),
        (n_lacking, "for want of VM.PowerMgmt"),
    ];
    let left_out = left_out.into_iter().filter(|(n, _)| *n > 0);
    let left_out: Vec<_> = left_out.map(|(n, why)| format!("{n} {why}")).collect();
    let mut on = format!("writes      on {n_may} of {n} VMs and containers that the token sees");
    if !left_out.is_empty() {
        let _ = write!(on, " (not: {})", left_out.join(", "));
    }
    if n_typing > 0 {
        let _ = write!(on, "; on {n_typing} more it may type (VM.Console)");
    }
    let lists = [("PVE_ALLOW_VMS", allow.as_ref()), ("PVE_PROTECT_VMS", Some(protect))];
    let parts = lists.into_iter().flat_map(|(variable, set)| {
        set.into_iter().flat_map(GuestSet::parts).map(move |part| (variable, part))
    });
    let parts = parts.map(|(variable, part)| {
        let n = guests.iter().filter(|guest| belongs(&part, guest)).count();
        let of = label(&part.to_string());
        match n {
            0 => format!("            {variable}: {of} matches nothing: is it spelled as in PVE?"),
            n => format!("            {variable}: {of} matches {n}"),
        }
    });
    let on = format!("{on}; {asks}; {kept}");
    [on].into_iter().chain(parts).collect()
}

/// Whether PVE lets the token do this to it. Pools' members are in the list of rights.
fn can(rights: &Rights, guest: &Listed, privilege: &str) -> bool {
    let path = guest.vmid.map(|vmid| format!("/vms/{vmid}"));
    path.is_some_and(|path| rights.has(&path, &[privilege]))
}

fn belongs(set: &GuestSet, guest: &Listed) -> bool {
    let Some(vmid) = guest.vmid else { return false };
    set.contains(vmid.get(), tags(guest.tags.as_deref()), guest.pool.as_deref())
}
