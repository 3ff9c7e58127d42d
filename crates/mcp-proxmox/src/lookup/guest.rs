//! Finds the VM or container that a caller named by vmid or by name.
//!
//! **Digits are always a vmid**, even where a guest has that number for a name. **A name counts only
//! where it is unique**; otherwise the candidates are told. The node is looked up at every call, since
//! guests move.

use pve_client::{
    GuestRef, NodeName, Observer, Reader, VmId,
    guest::{self, Listed},
};

use crate::{answer::clean::quoted, arguments::nearest, failure::Failure};

/// How many candidates an ambiguous name lists.
const CANDIDATES: usize = 8;

/// A guest that was found.
#[derive(Debug)]
pub struct Found {
    /// Where to ask for it.
    pub guest: GuestRef,
    /// What the cluster's list says of it, up to 10 s old.
    pub listed: Listed,
    /// What the caller should know about how it was found.
    pub note: Option<String>,
}

/// The guest with this vmid or this unique name.
pub async fn find(pve: &Reader, vm: &str) -> Result<Found, Failure> {
    let asked = format!("find {}", quoted(vm));
    let guests = pve.get(guest::list()).await.map_err(|error| Failure::from_pve(&asked, &error))?;
    pick(&guests, vm.trim())
}

/// The same for a tool that only reads, from a list that may be two seconds older: the node that it names is asked
/// anew anyway. What is not in such a list is looked for in a new one.
pub async fn find_recent(pve: &Observer, vm: &str) -> Result<Found, Failure> {
    let asked = format!("find {}", quoted(vm));
    let guests = pve.guests().await.map_err(|error| Failure::from_pve(&asked, &error))?;
    match pick(&guests.data().data, vm.trim()) {
        Err(_) if guests.age().is_some() => find(pve, vm).await,
        found => found,
    }
}

fn pick(guests: &[Listed], vm: &str) -> Result<Found, Failure> {
    if guests.is_empty() {
        return Err(Failure::new("PVE shows no VM or container at all to this token").hint(
            "there may be none, or the token has VM.Audit on none of them: `mcp-proxmox check` tells, and only the token's owner can grant it",
        ));
    }
    let is_number = !vm.is_empty() && vm.bytes().all(|b| b.is_ascii_digit());
    let (index, note) = if is_number { by_vmid(guests, vm)? } else { (by_name(guests, vm)?, None) };
    let listed = guests.get(index).cloned().unwrap_or_default();
    match (listed.vmid, listed.kind, listed.node.clone()) {
        (Some(vmid), Some(kind), Some(node)) => {
            Ok(Found { guest: GuestRef { node, kind, vmid }, listed, note })
        }
        _ => Err(Failure::new("PVE listed this guest without its vmid, kind or node")),
    }
}

fn by_vmid(guests: &[Listed], vm: &str) -> Result<(usize, Option<String>), Failure> {
    let vmid: VmId = vm.parse().map_err(|error| Failure::new(format!("{error}")))?;
    let index = guests.iter().position(|guest| guest.vmid == Some(vmid)).ok_or_else(|| {
        Failure::new(format!("there is no VM or container {vmid} that this token can see"))
            .missing()
            .hint("list_vms shows all that it can see; a guest that is there but hidden needs VM.Audit for this token")
    })?;
    let namesake =
        guests.iter().find(|guest| guest.vmid != Some(vmid) && guest.name.as_deref() == Some(vm));
    let note = namesake.and_then(|guest| guest.vmid).map(|other| {
        format!("digits are taken as a vmid; the guest {other} has the name {}: use its vmid to mean it", quoted(vm))
    });
    Ok((index, note))
}

fn by_name(guests: &[Listed], vm: &str) -> Result<usize, Failure> {
    let matching = |same: &dyn Fn(&str) -> bool| -> Vec<usize> {
        let named =
            guests.iter().enumerate().filter(|(_, guest)| real_name(guest).is_some_and(same));
        named.map(|(index, _)| index).collect()
    };
    let mut found = matching(&|name| name == vm);
    if found.is_empty() {
        found = matching(&|name| name.eq_ignore_ascii_case(vm));
    }
    match found.as_slice() {
        [only] => Ok(*only),
        [] => Err(unknown_name(guests, vm)),
        several => {
            Err(ambiguous(several.iter().filter_map(|index| guests.get(*index)), several.len(), vm))
        }
    }
}

fn unknown_name(guests: &[Listed], vm: &str) -> Failure {
    let what = format!("there is no VM or container named {} that this token can see", quoted(vm));
    let names = guests.iter().filter_map(real_name);
    Failure::new(what).hint(match nearest(vm, names) {
        Some(near) => format!(
            "did you mean {}? list_vms with `name` searches for a part of a name",
            quoted(near)
        ),
        None => "list_vms shows names and vmids".to_owned(),
    })
}

fn ambiguous<'a>(guests: impl Iterator<Item = &'a Listed>, n_guests: usize, vm: &str) -> Failure {
    let shown = guests.take(CANDIDATES).map(|guest| {
        let vmid = guest.vmid.map(|vmid| vmid.to_string()).unwrap_or_default();
        let kind = guest.kind.map_or("guest", pve_client::Kind::as_str);
        format!("{vmid} ({kind} on {})", node_of(guest))
    });
    let shown = shown.collect::<Vec<_>>().join(", ");
    let more = if n_guests > CANDIDATES {
        format!(" and {} more", n_guests - CANDIDATES)
    } else {
        String::new()
    };
    Failure::new(format!("{} is the name of {n_guests} guests: {shown}{more}", quoted(vm)))
        .hint("call again with the vmid of the one that is meant")
}

/// The node that it is on, for showing.
pub fn node_of(guest: &Listed) -> &str {
    guest.node.as_ref().map_or("?", NodeName::as_str)
}

/// The tags in a text as PVE lists them: newer versions write `;` between them, older ones also others.
pub fn tags(text: Option<&str>) -> impl Iterator<Item = &str> + Clone {
    text.unwrap_or_default().split([';', ',', ' ']).filter(|tag| !tag.is_empty())
}

/// The name that somebody gave it. PVE makes up `VM 105` and `CT105` for guests without one.
pub fn real_name(guest: &Listed) -> Option<&str> {
    given_name(guest.name.as_deref()?, guest.vmid?)
}

/// The name, unless PVE made it up.
pub fn given_name(name: &str, vmid: VmId) -> Option<&str> {
    // A number is written out only for the few names that begin so.
    let number = name.strip_prefix("VM ").or_else(|| name.strip_prefix("CT"));
    let is_made_up = number.is_some_and(|number| number == vmid.to_string());
    (!is_made_up && !name.is_empty()).then_some(name)
}
