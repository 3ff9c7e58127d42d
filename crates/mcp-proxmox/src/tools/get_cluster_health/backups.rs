//! Guests without a recent backup, and backups that are broken.

use std::collections::HashMap;

use pve_client::{StorageId, VmId, guest, storage::Backup};

use super::{
    facts::Facts,
    guests::name,
    report::{Report, Severity, counted, listed},
};
use crate::{answer::Duration, in_order::InOrder as _, lookup::storage::Storages};

pub(super) fn check(facts: &Facts, report: &mut Report) {
    for reason in [facts.rights.as_ref().err(), facts.storages.as_ref().err()].into_iter().flatten()
    {
        report.missed("backups", reason);
    }
    let (Ok(storages), Ok(_)) = (&facts.storages, &facts.rights) else { return };
    if storages.all.is_empty() {
        return report.missed("backups", "no storage is seen");
    }
    let mut is_partial = false;
    let mut backups: Vec<(&StorageId, &Backup)> = Vec::new();
    let mut n_read = 0;
    for list in &facts.backups {
        match &list.backups {
            Ok(found) => {
                n_read += 1;
                backups.extend(found.iter().map(|backup| (&list.storage, backup)));
            }
            Err(reason) => {
                is_partial = true;
                let what = format!("backups on {}", list.storage.as_str());
                match list.node.as_ref() {
                    Some(node) => report.missed_on(node, &what, reason),
                    None => report.missed(what, reason),
                }
            }
        }
    }
    if n_read > 0 {
        report.checked(format!("backups on {}", counted(n_read, "storage")));
        broken(&backups, facts.now, report);
    }
    // Where nothing could be read, nothing can be missed.
    let may_be_none = facts.backups.is_empty() && !may_hold_backups(storages);
    if let (Ok(guests), true) = (&facts.guests, n_read > 0 || may_be_none) {
        stale(facts, guests, &backups, is_partial, report);
    }
}

fn may_hold_backups(storages: &Storages) -> bool {
    let mut used = storages.all.iter().filter(|storage| !storage.is_disabled);
    used.any(|storage| storage.content.iter().any(|kind| kind == "backup"))
}

/// Guests whose newest backup is too old, or that have none.
fn stale(
    facts: &Facts,
    guests: &[guest::Listed],
    backups: &[(&StorageId, &Backup)],
    is_partial: bool,
    report: &mut Report,
) {
    let mut newest: HashMap<VmId, i64> = HashMap::new();
    for (_, backup) in backups {
        if let (Some(vmid), Some(made)) = (backup.vmid, backup.ctime) {
            let known = newest.entry(vmid).or_insert(made);
            *known = made.max(*known);
        }
    }
    let limit = facts.now - facts.limits.backup_days * 86_400;
    let made = |guest: &guest::Listed| guest.vmid.and_then(|vmid| newest.get(&vmid).copied());
    let mut found: Vec<(Option<i64>, &guest::Listed)> = guests
        .iter()
        .filter(|guest| guest.template != Some(true))
        .map(|guest| (made(guest), guest))
        .filter(|(made, _)| made.is_none_or(|made| made < limit))
        .collect();
    // Those without any come first.
    found.order_by_key(|(made, guest)| (*made, guest.vmid));
    let Some((_, first)) = found.first() else { return };
    let n_none = found.iter().filter(|(made, _)| made.is_none()).count();
    let names = listed(found.iter().map(|(made, guest)| {
        let age = made.and_then(|made| u64::try_from(facts.now.saturating_sub(made)).ok());
        let age = age.map_or_else(|| "none".to_owned(), |age| Duration(age).to_string());
        format!("{} ({age})", name(guest))
    }));
    let days = counted(usize::try_from(facts.limits.backup_days).unwrap_or_default(), "day");
    let (severity, seen) = if is_partial {
        (Severity::Notice, " on the storages that could be read")
    } else {
        (Severity::Warning, "")
    };
    let have = if found.len() == 1 { "has" } else { "have" };
    let what = format!(
        "{} {have} no backup younger than {days}{seen}: {names}",
        counted(found.len(), "guest")
    );
    let evidence = format!("{n_none} of them have none at all; templates are left out");
    // What a job has is looked for in the logs; of the others there is nothing to find there.
    let outside = facts.not_backed_up.as_ref().ok();
    let is_in_job = |guest: &&guest::Listed| {
        let is_outside = |vmid| outside.is_some_and(|outside| outside.contains(&vmid));
        !guest.vmid.is_some_and(is_outside)
    };
    let vmid = |guest: &guest::Listed| guest.vmid.map(|it| it.to_string()).unwrap_or_default();
    let next = match found.iter().map(|(_, guest)| *guest).find(is_in_job) {
        Some(guest) => format!("search_logs vm={}", vmid(guest)),
        None => format!("get_vm_details vm={}", vmid(first)),
    };
    report.found(severity, what, evidence, next);
}

/// Backups that were looked at and found bad.
fn broken(backups: &[(&StorageId, &Backup)], now: i64, report: &mut Report) {
    let is_broken = |backup: &Backup| {
        let check = backup.verification.as_ref();
        check.and_then(|check| check.state.as_deref()) == Some("failed")
    };
    let broken: Vec<_> = backups.iter().filter(|(_, backup)| is_broken(backup)).collect();
    let Some((storage, _)) = broken.first() else { return };
    let names = listed(broken.iter().map(|(_, backup)| {
        let vmid = backup.vmid.map(|vmid| vmid.to_string()).unwrap_or_default();
        let age = backup.ctime.and_then(|made| u64::try_from(now.saturating_sub(made)).ok());
        let age = age.map(|age| format!(" ({} old)", Duration(age))).unwrap_or_default();
        format!("{vmid}{age}")
    }));
    let what = format!("{} failed verification: {names}", counted(broken.len(), "backup"));
    let evidence = "the backup server read them again and they are damaged: they may not restore";
    report.found(
        Severity::Warning,
        what,
        evidence,
        format!("get_storage_status storage={}", storage.as_str()),
    );
}

#[cfg(test)]
mod tests {
    use pve_client::storage::Verification;

    use super::*;
    use crate::{lookup::storage::Storage, tools::get_cluster_health::facts::volumes::BackupList};

    const DAY: i64 = 86_400;

    fn facts(lists: Vec<Result<Vec<Backup>, String>>) -> Facts {
        let mut facts = Facts::of_nodes(&["a"]);
        let storage = Storage {
            id: "pbs".parse().unwrap(),
            plugin: Some("pbs".to_owned()),
            content: vec!["backup".to_owned()],
            is_shared: true,
            is_sharing_known: true,
            is_disabled: false,
            source: None,
            places: Vec::new(),
        };
        facts.storages = Ok(Storages { all: vec![storage], ..Storages::default() });
        let guest = |vmid: u32, template| guest::Listed {
            vmid: vmid.try_into().ok(),
            template: Some(template),
            ..guest::Listed::default()
        };
        facts.guests =
            Ok(vec![guest(100, false), guest(101, false), guest(102, false), guest(900, true)]);
        let list = |backups| BackupList { storage: "pbs".parse().unwrap(), node: None, backups };
        facts.backups = lists.into_iter().map(list).collect();
        facts
    }

    fn backup(vmid: u32, days: i64, state: Option<&str>) -> Backup {
        Backup {
            vmid: vmid.try_into().ok(),
            ctime: Some(1_800_000_000 - days * DAY),
            verification: state.map(|state| Verification { state: Some(state.into()) }),
        }
    }

    fn report(facts: &Facts) -> Report {
        let mut report = Report::default();
        check(facts, &mut report);
        report
    }

    #[test]
    fn the_newest_backup_counts_and_templates_need_none() {
        let report = report(&facts(vec![Ok(vec![
            backup(100, 1, None),
            backup(100, 40, None),
            backup(101, 9, None),
        ])]));
        assert_eq!(
            report.findings(),
            [(
                Severity::Warning,
                "2 guests have no backup younger than 7 days: 102 (none), 101 (9d)",
                "1 of them have none at all; templates are left out"
            )]
        );
    }

    #[test]
    fn damaged_backups_are_told() {
        let all =
            vec![backup(100, 1, Some("ok")), backup(101, 1, None), backup(102, 3, Some("failed"))];
        let report = report(&facts(vec![Ok(all)]));
        assert_eq!(report.findings()[0].1, "1 backup failed verification: 102 (3d old)");
    }

    #[test]
    fn a_list_that_could_not_be_read_makes_what_is_missing_uncertain() {
        let partial = report(&facts(vec![
            Ok(vec![backup(100, 1, None)]),
            Err("no answer in time".to_owned()),
        ]));
        assert_eq!(partial.findings()[0].0, Severity::Notice);
        assert!(partial.findings()[0].1.contains("could be read"), "{partial:?}");
        let none = report(&facts(vec![Err("hidden".to_owned())]));
        assert!(none.findings().is_empty() && none.was_checked().is_empty());
        assert_eq!(none.not_checked(), ["backups on pbs: hidden"]);
    }

    #[test]
    fn where_no_storage_may_hold_backups_nobody_has_one() {
        let mut facts = facts(Vec::new());
        facts.storages.as_mut().unwrap().all[0].content = vec!["images".to_owned()];
        assert!(report(&facts).findings()[0].1.starts_with("3 guests have no backup"));
        facts.rights = Err("no answer".to_owned());
        assert!(report(&facts).findings().is_empty());
    }
}
