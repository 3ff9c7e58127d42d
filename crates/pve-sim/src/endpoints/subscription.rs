//! `/nodes/{node}/subscription`. Not recorded; as Proxmox documents it.

use crate::{
    answer::Answer,
    cluster::Subscription,
    endpoints::{Call, Needs, Route, Run},
    json::Json,
};

pub(super) const ROUTES: &[Route] = &[Route {
    method: "GET",
    path: "/nodes/{node}/subscription",
    needs: Needs::Nothing,
    parameters: &[],
    by_daemon: false,
    run: Run::Read(subscription),
}];

fn subscription(call: &Call<'_>) -> Answer {
    let Some(node) = call.node() else { return Answer::error(500, "no such node") };
    // Without this right on the node only the state is told.
    let audited = call.rights.has(&format!("/nodes/{}", node.name), "Sys.Audit");
    Answer::json(Json::data_object(|data| match &node.subscription {
        Subscription::None => {
            data.text("status", "notfound");
            data.text("message", "There is no subscription key");
            data.text("url", "https://www.proxmox.com/en/proxmox-virtual-environment/pricing");
            if audited {
                data.text("serverid", &server_id(&node.name));
            }
        }
        Subscription::Active { product, level, until } => {
            data.text("status", "active");
            data.text("level", level);
            data.number("sockets", node.sockets);
            data.text("url", "https://www.proxmox.com/en/proxmox-virtual-environment/pricing");
            if audited {
                data.text("productname", product);
                data.text("key", &format!("pve{}{level}-0123456789", node.sockets));
                data.text("serverid", &server_id(&node.name));
                data.text("nextduedate", until);
            }
        }
    }))
}

fn server_id(name: &str) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, name.as_bytes());
    let text = crate::tls::colons(digest.as_ref());
    text.split(':').take(16).collect()
}
