//! `/nodes/{node}/services` and the state of one of them.

use crate::{
    answer::Answer,
    cluster::Service,
    endpoints::{Call, Needs, Route, Run},
    json::{Json, Object},
};

pub(super) const ROUTES: &[Route] = &[Route {
    method: "GET",
    path: "/nodes/{node}/services",
    needs: Needs::Privilege("/nodes/{node}", "Sys.Audit"),
    parameters: &[],
    by_daemon: true,
    run: Run::Read(list),
}];

fn list(call: &Call<'_>) -> Answer {
    let services = call.node().map(|node| node.services.as_slice()).unwrap_or_default();
    Answer::json(Json::data_list(|list| {
        for service in services {
            list.object(|row| put(row, service));
        }
    }))
}

fn put(row: &mut Object<'_>, service: &Service) {
    row.text("service", &service.name);
    row.text("name", &service.name);
    row.text("desc", &service.description);
    row.text("state", &service.state);
    row.text("active-state", service.active_state());
    row.text("unit-state", &service.unit_state);
}
