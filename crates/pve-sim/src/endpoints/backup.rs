//! `/cluster/backup` and `/cluster/backup-info/not-backed-up`: the backup jobs, and the guests that none
//! has.
//!
//! Recorded is only a cluster without jobs, in which every guest is in the second list, templates too; the
//! rows of jobs are as Proxmox's documentation and source describe them.

use crate::{
    answer::Answer,
    cluster::Guest,
    endpoints::{Call, Needs, Route, Run},
    json::Json,
};

pub(super) const ROUTES: &[Route] = &[
    Route {
        method: "GET",
        path: "/cluster/backup",
        needs: Needs::Privilege("/", "Sys.Audit"),
        parameters: &[],
        by_daemon: false,
        run: Run::Read(jobs),
    },
    Route {
        method: "GET",
        path: "/cluster/backup-info/not-backed-up",
        needs: Needs::Privilege("/", "Sys.Audit"),
        parameters: &[],
        by_daemon: true,
        run: Run::Read(not_backed_up),
    },
];

fn jobs(call: &Call<'_>) -> Answer {
    let list_of =
        |vmids: &[u32]| vmids.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    Answer::json(Json::data_list(|list| {
        for job in &call.world.cluster.backup_jobs {
            list.object(|row| {
                row.text("id", &job.id);
                row.text("type", "vzdump");
                row.text("storage", &job.storage);
                row.text("schedule", &job.schedule);
                row.text("mode", "snapshot");
                row.flag("enabled", !job.disabled);
                match (&job.vmids, &job.pool) {
                    (Some(vmids), _) => row.text("vmid", &list_of(vmids)),
                    (None, Some(pool)) => row.text("pool", pool),
                    (None, None) => row.number("all", 1),
                }
                if !job.exclude.is_empty() {
                    row.text("exclude", &list_of(&job.exclude));
                }
                row.text_if("node", job.node.as_deref());
            });
        }
    }))
}

/// A job that is switched off counts (read).
fn not_backed_up(call: &Call<'_>) -> Answer {
    let cluster = &call.world.cluster;
    let outside = |guest: &&Guest| !cluster.backup_jobs.iter().any(|job| job.takes(guest));
    let seen =
        |guest: &&Guest| call.rights.has_on_guest(guest.vmid, guest.pool.as_deref(), "VM.Audit");
    Answer::json(Json::data_unordered_list(|list| {
        for guest in cluster.guests.iter().filter(outside).filter(seen) {
            list.object(|row| {
                row.number("vmid", guest.vmid);
                row.text("type", guest.kind.name());
                row.text_if("name", guest.name.as_deref());
            });
        }
    }))
}
