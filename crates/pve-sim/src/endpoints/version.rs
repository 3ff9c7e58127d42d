//! `/`, `/version` and `/nodes/{node}/version`.

use crate::{
    answer::Answer,
    endpoints::{Call, Needs, Route, Run},
    json::Json,
};

pub(super) const ROUTES: &[Route] = &[
    Route {
        method: "GET",
        path: "/",
        needs: Needs::Nothing,
        parameters: &[],
        by_daemon: false,
        run: Run::Read(index),
    },
    Route {
        method: "GET",
        path: "/version",
        needs: Needs::Nothing,
        parameters: &[],
        by_daemon: false,
        run: Run::Read(version),
    },
    Route {
        method: "GET",
        path: "/nodes/{node}/version",
        needs: Needs::Nothing,
        parameters: &[],
        by_daemon: false,
        run: Run::Read(version),
    },
];

fn index(_: &Call<'_>) -> Answer {
    Answer::json(Json::data_list(|list| {
        for name in ["version", "cluster", "nodes", "storage", "access", "pools"] {
            list.object(|entry| entry.text("subdir", name));
        }
    }))
}

fn version(call: &Call<'_>) -> Answer {
    let version = &call.world.cluster.version;
    Answer::json(Json::data_object(|data| {
        data.text("version", &version.full());
        data.text("release", &version.release());
        data.text("repoid", &version.repoid);
    }))
}
