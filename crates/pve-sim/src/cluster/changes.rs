//! Changes of a VM's configuration that wait: its end and its start put them into force (read).
//!
//! **Invariant:** after that nothing waits, and what follows from the configuration elsewhere, such as a VM's
//! memory, is what the configuration says.

use super::{Guest, Kind, Nic};

/// Puts what waits into force. What is changed of a container is in force at once.
pub(super) fn apply(guest: &mut Guest) {
    if guest.kind != Kind::Qemu {
        return;
    }
    for (key, value) in std::mem::take(&mut guest.details.pending) {
        guest.details.config.retain(|(known, _)| *known != key);
        let value = value.unwrap_or_default();
        if !is_known_elsewhere(guest, &key, &value) {
            guest.details.set(&key, &value);
        }
    }
}

/// Writes a value where the rest of the simulator reads it; says whether there is such a place.
fn is_known_elsewhere(guest: &mut Guest, key: &str, value: &str) -> bool {
    let number = value.parse::<u32>().ok();
    let nth_nic = key.strip_prefix("net").and_then(|nth| nth.parse::<usize>().ok());
    match (key, number, nth_nic.zip(nic(value))) {
        ("memory", Some(mebibytes), _) => guest.memory = u64::from(mebibytes) << 20,
        ("cores", Some(cores), _) => guest.cores = cores,
        (_, _, Some((nth, nic))) if nth == guest.nics.len() => guest.nics.push(nic),
        (_, _, Some((nth, nic))) => match guest.nics.get_mut(nth) {
            Some(known) => *known = nic,
            None => return false,
        },
        _ => return false,
    }
    true
}

/// An interface as its line describes it, where nothing is in the line that a [`Nic`] has no place for.
fn nic(line: &str) -> Option<Nic> {
    let mut parts = line.split(',');
    let mac = parts.next()?.strip_prefix("virtio=")?.to_owned();
    let bridge = parts.next()?.strip_prefix("bridge=")?.to_owned();
    let tag = match parts.next() {
        Some(part) => Some(part.strip_prefix("tag=")?.parse().ok()?),
        None => None,
    };
    parts.next().is_none().then_some(Nic { bridge, tag, mac })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_is_in_force_after_it_and_waits_no_more() {
        let mut vm = Guest::vm(100, "pve1", "web");
        vm.details.set("cpu", "host").set("description", "old");
        vm.details.change("memory", Some("2048")).change("cores", Some("3"));
        vm.details.change("net1", Some("virtio=BC:24:11:00:00:02,bridge=vmbr1,tag=30"));
        vm.details.change("net0", Some("e1000=BC:24:11:00:00:01,bridge=vmbr0"));
        vm.details.change("cpu", None).change("description", Some("new"));
        apply(&mut vm);
        assert_eq!((vm.memory, vm.cores, vm.nics.len()), (2 << 30, 3, 2));
        assert_eq!((vm.nics[1].bridge.as_str(), vm.nics[1].tag), ("vmbr1", Some(30)));
        let config: Vec<(&str, &str)> =
            vm.details.config.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        let net0 = ("net0", "e1000=BC:24:11:00:00:01,bridge=vmbr0");
        assert_eq!(config, [net0, ("cpu", ""), ("description", "new")]);
        assert!(vm.details.pending.is_empty());
    }
}
