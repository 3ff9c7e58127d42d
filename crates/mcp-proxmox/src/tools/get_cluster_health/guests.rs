//! Guests that are down and should be up, and VMs that are up and do nothing.

use pve_client::{VmId, guest::Listed};

use super::{
    facts::Facts,
    report::{Report, Severity, are, counted, listed},
};
use crate::answer::clean::{label, quoted};

pub(super) fn check(facts: &Facts, report: &mut Report) {
    let guests = match &facts.guests {
        Ok(guests) => guests,
        Err(reason) => return report.missed("guests", reason),
    };
    if let Some(hidden) = facts.hidden_guests() {
        report.missed(format!("guests beyond the {} that are seen", guests.len()), &hidden);
    }
    if !guests.is_empty() {
        report.checked(counted(guests.len(), "guest"));
    }
    by_ha(guests, report);
    at_boot(facts, guests, report);
    stuck(facts, guests, report);
}

fn is_stopped(guest: &Listed) -> bool {
    guest.status.as_deref() == Some("stopped") && guest.template != Some(true)
}

/// Where HA wants a guest to run, and it does not.
fn by_ha(guests: &[Listed], report: &mut Report) {
    let down: Vec<&Listed> = guests
        .iter()
        .filter(|guest| is_stopped(guest) && guest.hastate.as_deref() == Some("started"))
        .collect();
    if let Some(first) = down.first() {
        let what = format!(
            "{} stopped that HA should keep running: {}",
            are(down.len(), "guest"),
            named(&down)
        );
        let evidence =
            "HA state started, status stopped; if no task starts it now, the HA manager does not";
        report.found(Severity::Critical, what, evidence, status_of(first));
    }
}

/// Guests that start with their node, and are down.
fn at_boot(facts: &Facts, guests: &[Listed], report: &mut Report) {
    let looked = facts.nodes.iter().filter_map(|node| Some((node, node.said.as_ref()?)));
    let mut down: Vec<&Listed> = Vec::new();
    for (node, said) in looked {
        for (vmid, starts) in &said.at_boot {
            match starts {
                Ok(true) => down.extend(guests.iter().find(|guest| guest.vmid == Some(*vmid))),
                Ok(false) => {}
                Err(reason) => {
                    // The path of each guest is another one.
                    let reason = reason.replace(&format!("/{vmid}"), "/VMID");
                    report.missed_on(&node.name, "start at boot of stopped guests", &reason);
                }
            }
        }
    }
    if let Some(first) = down.first() {
        let what = format!(
            "{} stopped although set to start at boot: {}",
            are(down.len(), "guest"),
            named(&down)
        );
        let evidence = "onboot is set, status is stopped; its tasks tell whether a start failed, or somebody stopped it on purpose";
        report.found(Severity::Warning, what, evidence, tasks_of(first));
    }
    if facts.n_configs_left > 0 {
        let reason = "each takes a request, and enough were made; get_vm_details tells of one";
        report.missed(
            format!("start at boot of {} more stopped guests", facts.n_configs_left),
            reason,
        );
    }
}

/// VMs that are up by the list, and in truth paused or stuck.
fn stuck(facts: &Facts, guests: &[Listed], report: &mut Report) {
    let mut n_asked = 0;
    let mut stuck: Vec<(String, String)> = Vec::new();
    for (node, said) in facts.nodes.iter().filter_map(|node| Some((node, node.said.as_ref()?))) {
        match &said.vms {
            Some(Ok(vms)) => {
                n_asked += 1;
                for vm in vms {
                    let Some(state) = vm.qmpstatus.as_deref() else { continue };
                    let is_odd = matches!(
                        state,
                        "paused" | "io-error" | "internal-error" | "guest-panicked"
                    );
                    // A VM that is being backed up or moved is paused for a while.
                    if is_odd && (state != "paused" || vm.lock.is_none()) {
                        stuck.push((label(state), called(vm.vmid, vm.name.as_deref())));
                    }
                }
            }
            Some(Err(reason)) => {
                report.missed_on(&node.name, "paused VMs and VMs with disk errors", reason);
            }
            None => {}
        }
    }
    let runs = guests.iter().any(|guest| guest.status.as_deref() == Some("running"));
    if n_asked == 0 && runs && facts.online().count() > 8 {
        let reason = "PVE's list calls them running; list_vms with exact=true asks every VM";
        report.missed("paused VMs and VMs with disk errors", reason);
    }
    for (state, severity, meaning) in [
        ("io-error", Severity::Critical, "stopped by a disk error: is its storage full or gone?"),
        ("internal-error", Severity::Critical, "stopped by an error of QEMU"),
        ("guest-panicked", Severity::Critical, "stopped: the guest's kernel panicked"),
        ("paused", Severity::Notice, "paused"),
    ] {
        let vms: Vec<&str> =
            stuck.iter().filter(|(of, _)| of == state).map(|(_, vm)| vm.as_str()).collect();
        if let Some(first) = vms.first() {
            let what = format!("{} {meaning}: {}", are(vms.len(), "VM"), listed(&vms));
            let vmid = first.split(' ').next().unwrap_or_default();
            let evidence = format!("QEMU says {state}, PVE's list says running");
            // Its details name the storage, which its state does not.
            let tool = if state == "io-error" { "get_vm_details" } else { "get_vm_status" };
            report.found(severity, what, evidence, format!("{tool} vm={vmid}"));
        }
    }
}

/// Its vmid, and its name in backticks: somebody else chose it.
pub(super) fn name(guest: &Listed) -> String {
    called(guest.vmid, guest.name.as_deref())
}

fn called(vmid: Option<VmId>, name: Option<&str>) -> String {
    let vmid = vmid.map(|vmid| vmid.to_string()).unwrap_or_default();
    match name {
        Some(name) => format!("{vmid} {}", quoted(name)),
        None => vmid,
    }
}

fn named(guests: &[&Listed]) -> String {
    listed(guests.iter().map(|guest| name(guest)))
}

fn status_of(guest: &Listed) -> String {
    format!("get_vm_status vm={}", vmid_of(guest))
}

fn tasks_of(guest: &Listed) -> String {
    format!("list_tasks vm={} since=30d", vmid_of(guest))
}

fn vmid_of(guest: &Listed) -> String {
    guest.vmid.map(|vmid| vmid.to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use pve_client::guest::Full;

    use super::*;

    fn guest(vmid: u32, status: &str, ha: Option<&str>) -> Listed {
        Listed {
            vmid: vmid.try_into().ok(),
            name: Some(format!("g{vmid}").into()),
            node: "a".parse().ok(),
            status: Some(status.into()),
            hastate: ha.map(Into::into),
            ..Listed::default()
        }
    }

    fn report(facts: &Facts) -> Report {
        let mut report = Report::default();
        check(facts, &mut report);
        report
    }

    #[test]
    fn guests_of_ha_and_of_boot_that_are_down_are_told() {
        let mut facts = Facts::of_nodes(&["a"]);
        facts.guests = Ok(vec![
            guest(100, "stopped", Some("started")),
            guest(101, "stopped", None),
            guest(102, "stopped", None),
            guest(103, "running", Some("started")),
            guest(104, "stopped", Some("stopped")),
        ]);
        let vmid = |vmid: u32| vmid.try_into().unwrap();
        facts.nodes[0].said().at_boot = vec![(vmid(101), Ok(true)), (vmid(102), Ok(false))];
        let report = report(&facts);
        let found: Vec<_> =
            report.findings().iter().map(|(severity, what, _)| (*severity, *what)).collect();
        assert_eq!(
            found,
            [
                (Severity::Critical, "1 guest is stopped that HA should keep running: 100 `g100`"),
                (Severity::Warning, "1 guest is stopped although set to start at boot: 101 `g101`")
            ]
        );
    }

    #[test]
    fn what_was_not_looked_into_is_counted() {
        let mut facts = Facts::of_nodes(&["a"]);
        facts.guests = Ok(vec![guest(101, "stopped", None)]);
        facts.n_configs_left = 12;
        facts.nodes[0].said().at_boot = vec![(101u32.try_into().unwrap(), Err("no".to_owned()))];
        let missed = report(&facts).not_checked();
        assert_eq!(missed[0], "start at boot of stopped guests of a: no");
        assert!(missed[1].starts_with("start at boot of 12 more stopped guests: "), "{missed:?}");
    }

    #[test]
    fn paused_vms_and_disk_errors_are_found_behind_the_list() {
        let mut facts = Facts::of_nodes(&["a"]);
        let full = |vmid: u32, state: &str, lock: Option<&str>| Full {
            vmid: vmid.try_into().ok(),
            name: Some("x".to_owned()),
            qmpstatus: Some(state.to_owned()),
            lock: lock.map(str::to_owned),
            ..Full::default()
        };
        facts.nodes[0].said().vms = Some(Ok(vec![
            full(100, "running", None),
            full(101, "io-error", None),
            full(102, "paused", None),
            full(103, "paused", Some("backup")),
        ]));
        let report = report(&facts);
        let found: Vec<_> =
            report.findings().iter().map(|(severity, what, _)| (*severity, *what)).collect();
        assert_eq!(found[0].0, Severity::Critical);
        assert!(found[0].1.contains("disk error") && found[0].1.contains("101 `x`"), "{found:?}");
        assert_eq!(found[1], (Severity::Notice, "1 VM is paused: 102 `x`"));
    }

    #[test]
    fn hidden_guests_are_not_called_none() {
        let mut facts = Facts::of_nodes(&["a"]);
        facts.rights = Ok(crate::rights::Rights::default());
        let report = report(&facts);
        assert_eq!(report.was_checked(), "");
        assert!(report.not_checked()[0].contains("VM.Audit on /vms"), "{report:?}");
    }
}
