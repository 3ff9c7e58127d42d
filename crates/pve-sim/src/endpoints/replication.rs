//! `/cluster/replication` and `/nodes/{node}/replication`: the jobs, and how they are.
//!
//! Recorded is only the list of a cluster that has none; the rows are as Proxmox's documentation and source
//! describe them.

use crate::{
    answer::Answer,
    cluster::Replication,
    endpoints::{
        Call, Needs, Route, Run,
        parameters::{Kind as Is, Parameter},
    },
    json::{Json, Object},
};

pub(super) const ROUTES: &[Route] = &[
    Route {
        method: "GET",
        path: "/cluster/replication",
        needs: Needs::Nothing,
        parameters: &[],
        by_daemon: false,
        run: Run::Read(jobs),
    },
    Route {
        method: "GET",
        path: "/nodes/{node}/replication",
        needs: Needs::Nothing,
        parameters: &[Parameter::new("guest", Is::Vmid)],
        by_daemon: true,
        run: Run::Read(on_node),
    },
];

/// The jobs of guests that the token may see, with the node that the guest is on.
fn seen<'a>(call: &Call<'a>) -> impl Iterator<Item = (&'a Replication, &'a str)> {
    let (cluster, rights) = (&call.world.cluster, call.rights);
    cluster.replication.iter().filter_map(move |job| {
        let guest = cluster.guest(job.vmid)?;
        let may = rights.has_on_guest(guest.vmid, guest.pool.as_deref(), "VM.Audit");
        may.then_some((job, guest.node.as_str()))
    })
}

fn put(row: &mut Object<'_>, job: &Replication) {
    row.text("id", &format!("{}-0", job.vmid));
    row.text("type", "local");
    row.number("guest", job.vmid);
    row.number("jobnum", 0);
    row.text("target", &job.target);
    row.text("schedule", "*/15");
    if job.disabled {
        row.number("disable", 1);
    }
}

fn jobs(call: &Call<'_>) -> Answer {
    Answer::json(Json::data_unordered_list(|list| {
        for (job, _) in seen(call) {
            list.object(|row| put(row, job));
        }
    }))
}

fn on_node(call: &Call<'_>) -> Answer {
    let (node, guest) = (call.world.real_name(call.value("node")), call.value("guest"));
    let here = seen(call)
        .filter(|(job, on)| *on == node && (guest.is_empty() || job.vmid.to_string() == guest));
    Answer::json(Json::data_unordered_list(|list| {
        for (job, source) in here {
            list.object(|row| {
                put(row, job);
                row.text("source", source);
                row.number("fail_count", job.fails);
                row.number("last_sync", job.last_sync);
                row.number("last_try", job.next_sync.saturating_sub(900));
                row.number("next_sync", job.next_sync);
                row.float("duration", 12.5);
                row.text_if("error", job.error.as_deref());
            });
        }
    }))
}
