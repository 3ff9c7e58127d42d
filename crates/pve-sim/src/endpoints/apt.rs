//! `/nodes/{node}/apt/update`: the updates that wait. It needs the right to change the system
//! (recorded).
//!
//! The recorded node had none waiting; the fields of a row are as Proxmox documents them.

use crate::{
    answer::Answer,
    endpoints::{Call, Needs, Route, Run},
    json::Json,
};

pub(super) const ROUTES: &[Route] = &[Route {
    method: "GET",
    path: "/nodes/{node}/apt/update",
    needs: Needs::Privilege("/nodes/{node}", "Sys.Modify"),
    parameters: &[],
    by_daemon: true,
    run: Run::Read(updates),
}];

fn updates(call: &Call<'_>) -> Answer {
    let updates = call.node().map(|node| node.updates.as_slice()).unwrap_or_default();
    Answer::json(Json::data_list(|list| {
        for update in updates {
            list.object(|row| {
                row.text("Package", &update.package);
                row.text("Title", &update.title);
                row.text("Description", &update.title);
                row.text("OldVersion", &update.installed);
                row.text("Version", &update.available);
                row.text("Origin", &update.origin);
                row.text("Arch", "amd64");
                row.text("Priority", "optional");
                row.text("Section", "admin");
            });
        }
    }))
}
