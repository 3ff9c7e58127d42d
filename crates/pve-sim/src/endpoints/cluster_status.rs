//! `/cluster/status` and `/cluster/config/nodes`: who is in the cluster, and whether it has quorum.

use crate::{
    answer::Answer,
    endpoints::{Call, Needs, Route, Run},
    json::Json,
};

pub(super) const ROUTES: &[Route] = &[
    Route {
        method: "GET",
        path: "/cluster/status",
        needs: Needs::Privilege("/", "Sys.Audit"),
        parameters: &[],
        by_daemon: true,
        run: Run::Read(status),
    },
    Route {
        method: "GET",
        path: "/cluster/config/nodes",
        needs: Needs::Privilege("/", "Sys.Audit"),
        parameters: &[],
        by_daemon: false,
        run: Run::Read(members),
    },
];

fn status(call: &Call<'_>) -> Answer {
    let cluster = &call.world.cluster;
    Answer::json(Json::data_unordered_list(|list| {
        if let Some(name) = &cluster.name {
            list.object(|row| {
                row.text("type", "cluster");
                row.text("id", "cluster");
                row.text("name", name);
                row.number("version", u32::try_from(cluster.nodes.len()).unwrap_or_default());
                row.number("nodes", u32::try_from(cluster.nodes.len()).unwrap_or_default());
                row.flag("quorate", cluster.quorate);
            });
        }
        for node in &cluster.nodes {
            list.object(|row| {
                row.text("type", "node");
                row.text("id", &format!("node/{}", node.name));
                row.text("name", &node.name);
                row.text("level", node.level());
                row.flag("local", node.name == call.world.local);
                row.flag("online", node.online);
                // A host that stands alone has no number in any cluster (read).
                row.number("nodeid", if cluster.name.is_some() { node.id } else { 0 });
                row.text_if("ip", node.address.as_deref());
            });
        }
    }))
}

/// Everything is a string here (recorded). A host that stands alone has no members (read).
fn members(call: &Call<'_>) -> Answer {
    let cluster = &call.world.cluster;
    Answer::json(Json::data_unordered_list(|list| {
        for node in cluster.nodes.iter().filter(|_| cluster.name.is_some()) {
            list.object(|row| {
                row.text("name", &node.name);
                row.text("node", &node.name);
                row.text("nodeid", &node.id.to_string());
                row.text("quorum_votes", &node.votes.to_string());
                row.text_if("ring0_addr", node.address.as_deref());
            });
        }
    }))
}
