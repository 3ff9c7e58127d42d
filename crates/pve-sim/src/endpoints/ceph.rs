//! `/cluster/ceph/status`: what Ceph says of itself. Recorded is only the refusal of a cluster without it;
//! the rest is Ceph's own format, as it documents it.

use crate::{
    answer::Answer,
    endpoints::{Call, Needs, Route, Run},
    json::Json,
};

pub(super) const ROUTES: &[Route] = &[Route {
    method: "GET",
    path: "/cluster/ceph/status",
    needs: Needs::AnyOf("/", &["Sys.Audit", "Datastore.Audit"]),
    parameters: &[],
    by_daemon: true,
    run: Run::Read(status),
}];

fn status(call: &Call<'_>) -> Answer {
    let Some(ceph) = &call.world.cluster.ceph else {
        return Answer::error(500, "binary not installed: /usr/bin/ceph-mon");
    };
    Answer::json(Json::data_object(|data| {
        data.text("fsid", "5d3c1a5e-6f0b-4f67-9f43-3e1f5b1a2c77");
        data.object("health", |health| {
            health.text("status", &ceph.health);
            health.object("checks", |checks| {
                for (name, severity, message) in &ceph.checks {
                    checks.object(name, |check| {
                        check.text("severity", severity);
                        check.object("summary", |summary| {
                            summary.text("message", message);
                            summary.number("count", 1);
                        });
                    });
                }
            });
        });
    }))
}
