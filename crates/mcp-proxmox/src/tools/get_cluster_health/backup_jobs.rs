//! Backup jobs: guests that no job has, jobs that are switched off, jobs whose storage is not there.

use pve_client::{backup::Job, guest::Listed};

use super::{
    facts::Facts,
    guests::name,
    report::{Report, Severity, are, counted, listed},
};
use crate::{
    answer::clean::{label, quoted},
    lookup::storage::State,
};

pub(super) fn check(facts: &Facts, report: &mut Report) {
    let jobs = match &facts.jobs {
        Ok(jobs) => jobs,
        Err(reason) => return report.missed("backup jobs", reason),
    };
    report.checked("backup jobs");
    let guests = facts.guests.as_deref().unwrap_or_default();
    let guests: Vec<&Listed> = guests.iter().filter(|guest| guest.template != Some(true)).collect();
    if jobs.is_empty() {
        if !guests.is_empty() {
            let what =
                format!("there is no backup job at all, for {}", counted(guests.len(), "guest"));
            let evidence = "none is configured in the cluster; something else may make backups";
            report.found(Severity::Warning, what, evidence, "list_tasks type=backup");
        }
        return;
    }
    uncovered(facts, jobs, &guests, report);
    switched_off(jobs, &guests, report);
    targets(facts, jobs, report);
}

fn is_on(job: &Job) -> bool {
    job.enabled != Some(false)
}

fn uncovered(facts: &Facts, jobs: &[Job], guests: &[&Listed], report: &mut Report) {
    let outside = match &facts.not_backed_up {
        Ok(outside) => outside,
        Err(reason) => return report.missed("guests that no backup job has", reason),
    };
    // The list has templates too, which need none.
    let missed: Vec<&&Listed> = guests
        .iter()
        .filter(|guest| guest.vmid.is_some_and(|vmid| outside.contains(&vmid)))
        .collect();
    if let Some(first) = missed.first() {
        let what = format!(
            "{} in no backup job: {}",
            are(missed.len(), "guest"),
            listed(missed.iter().map(|guest| name(guest)))
        );
        let evidence = format!("{} configured; templates are left out", counted(jobs.len(), "job"));
        let vmid = first.vmid.map(|vmid| vmid.to_string()).unwrap_or_default();
        report.found(Severity::Warning, what, evidence, format!("get_vm_details vm={vmid}"));
    }
}

/// PVE counts a job that is switched off as one that has its guests.
fn switched_off(jobs: &[Job], guests: &[&Listed], report: &mut Report) {
    let on: Vec<&Job> = jobs.iter().filter(|job| is_on(job)).collect();
    for job in jobs.iter().filter(|job| !is_on(job)) {
        // Which pool a guest is in may be hidden: then an enabled job by pool may have it.
        let by_pool =
            |guest: &Listed| guest.pool.is_none() && on.iter().any(|job| job.pool.is_some());
        let only_here = |guest: &&&Listed| {
            picks(job, guest) && !by_pool(guest) && !on.iter().any(|other| picks(other, guest))
        };
        let lost: Vec<&&Listed> = guests.iter().filter(only_here).collect();
        if !lost.is_empty() {
            let what = format!(
                "backup job {} is switched off, and {} in no other: {}",
                id(job),
                are(lost.len(), "guest"),
                listed(lost.iter().map(|guest| name(guest)))
            );
            let evidence = job.comment.as_deref().map(label).unwrap_or_default();
            let evidence = format!("enabled is 0 {evidence}").trim().to_owned();
            report.found(Severity::Warning, what, evidence, "list_tasks type=backup");
        }
    }
}

fn picks(job: &Job, guest: &Listed) -> bool {
    let Some(vmid) = guest.vmid else { return false };
    let has = |list: &Option<String>| {
        let vmids = list.as_deref().unwrap_or_default().split([',', ';', ' ']);
        vmids.filter_map(|text| text.trim().parse::<u32>().ok()).any(|other| other == vmid.get())
    };
    let is_here = job
        .node
        .as_deref()
        .is_none_or(|node| guest.node.as_ref().is_some_and(|of| of.as_str() == node));
    let is_picked = if job.all == Some(true) {
        !has(&job.exclude)
    } else if job.pool.is_some() {
        job.pool.as_deref() == guest.pool.as_deref()
    } else {
        has(&job.vmid)
    };
    is_here && is_picked
}

/// Storages that jobs write to and cannot.
fn targets(facts: &Facts, jobs: &[Job], report: &mut Report) {
    let Ok(storages) = &facts.storages else { return };
    for job in jobs.iter().filter(|job| is_on(job)) {
        let Some(target) = job.storage.as_deref() else { continue };
        let Some(storage) = storages.all.iter().find(|storage| storage.id.as_str() == target)
        else {
            continue;
        };
        let is_there = storage.places.iter().any(|place| place.state == State::Available);
        let why = match (storage.is_disabled, is_there) {
            (true, _) => "is switched off",
            (false, false) => "is not available on any node",
            (false, true) => continue,
        };
        let what =
            format!("backup job {} writes to storage {}, which {why}", id(job), quoted(target));
        let evidence = job.schedule.as_deref().map(|when| format!("it runs at {}", label(when)));
        let next = format!("get_storage_status storage={}", storage.id.as_str());
        report.found(Severity::Warning, what, evidence.unwrap_or_default(), next);
    }
}

fn id(job: &Job) -> String {
    job.id.as_deref().map_or_else(|| "without a name".to_owned(), quoted)
}

#[cfg(test)]
mod tests {
    use pve_client::VmId;

    use super::*;
    use crate::lookup::storage::{Storage, Storages};

    fn guest(vmid: u32, pool: Option<&str>) -> Listed {
        Listed {
            vmid: vmid.try_into().ok(),
            node: "a".parse().ok(),
            pool: pool.map(Into::into),
            ..Listed::default()
        }
    }

    fn job(id: &str, edit: impl FnOnce(&mut Job)) -> Job {
        let mut job = Job { id: Some(id.to_owned()), ..Job::default() };
        edit(&mut job);
        job
    }

    fn facts(jobs: Vec<Job>, outside: &[u32]) -> Facts {
        let mut facts = Facts::of_nodes(&["a"]);
        let template = Listed { template: Some(true), ..guest(900, None) };
        facts.guests =
            Ok(vec![guest(100, None), guest(101, Some("prod")), guest(102, None), template]);
        facts.jobs = Ok(jobs);
        let outside = outside.iter().map(|vmid| VmId::try_from(*vmid).unwrap());
        facts.not_backed_up = Ok(outside.collect());
        facts
    }

    fn found(facts: &Facts) -> Vec<String> {
        let mut report = Report::default();
        check(facts, &mut report);
        report.findings().iter().map(|(_, what, _)| (*what).to_owned()).collect()
    }

    #[test]
    fn guests_outside_of_all_jobs_are_told_without_templates() {
        let all =
            job("nightly", |job| (job.all, job.exclude) = (Some(true), Some("102".to_owned())));
        assert_eq!(found(&facts(vec![all], &[102, 900])), ["1 guest is in no backup job: 102"]);
    }

    #[test]
    fn a_job_that_is_switched_off_protects_nobody() {
        let off = |job: &mut Job| {
            (job.enabled, job.vmid) = (Some(false), Some("100,101".to_owned()));
        };
        let by_list = job("on", |job| job.vmid = Some("101".to_owned()));
        assert_eq!(
            found(&facts(vec![job("off", off), by_list], &[])),
            ["backup job `off` is switched off, and 1 guest is in no other: 100"]
        );
        let by_pool = job("on", |job| job.pool = Some("prod".to_owned()));
        assert!(
            found(&facts(vec![job("off", off), by_pool], &[])).is_empty(),
            "the pool of 100 may be hidden, and 101 is in it"
        );
    }

    #[test]
    fn no_job_at_all_is_a_finding_where_there_are_guests() {
        assert_eq!(found(&facts(Vec::new(), &[])), ["there is no backup job at all, for 3 guests"]);
        assert!(found(&Facts::of_nodes(&["a"])).is_empty());
    }

    #[test]
    fn a_job_whose_storage_is_gone_is_told() {
        let mut facts = facts(
            vec![job("nightly", |job| {
                (job.all, job.storage) = (Some(true), Some("nas".to_owned()));
            })],
            &[],
        );
        let storage = |is_disabled| Storage {
            id: "nas".parse().unwrap(),
            plugin: None,
            content: Vec::new(),
            is_shared: true,
            is_sharing_known: true,
            is_disabled,
            source: None,
            places: Vec::new(),
        };
        facts.storages = Ok(Storages { all: vec![storage(true)], ..Storages::default() });
        assert_eq!(
            found(&facts),
            ["backup job `nightly` writes to storage `nas`, which is switched off"]
        );
    }

    #[test]
    fn a_job_of_one_node_has_only_the_guests_there() {
        let of_node = job("x", |job| (job.all, job.node) = (Some(true), Some("b".to_owned())));
        assert!(!picks(&of_node, &guest(100, None)));
    }

    #[test]
    fn hidden_jobs_are_not_called_well() {
        let mut report = Report::default();
        check(&Facts { jobs: Err("no right".to_owned()), ..Facts::nothing() }, &mut report);
        assert_eq!((report.not_checked().len(), report.was_checked()), (1, String::new()));
    }
}
