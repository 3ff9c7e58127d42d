//! `/nodes/{node}/certificates/info`: every token may read it (recorded).

use crate::{
    answer::Answer,
    endpoints::{Call, Needs, Route, Run},
    json::Json,
};

pub(super) const ROUTES: &[Route] = &[Route {
    method: "GET",
    path: "/nodes/{node}/certificates/info",
    needs: Needs::Nothing,
    parameters: &[],
    by_daemon: false,
    run: Run::Read(info),
}];

/// Only the node that answers has real certificates; the others are described with the same ones.
fn info(call: &Call<'_>) -> Answer {
    Answer::json(Json::data_list(|list| {
        for certificate in &call.world.certificates {
            list.object(|row| {
                row.text("filename", certificate.filename);
                row.text("fingerprint", &certificate.fingerprint);
                row.text("subject", &certificate.subject);
                row.text("issuer", &certificate.issuer);
                row.text("pem", &certificate.pem);
                row.number("notbefore", certificate.not_before);
                row.number("notafter", certificate.not_after);
                row.text("public-key-type", "id-ecPublicKey");
                row.number("public-key-bits", 256);
                row.list("san", |names| certificate.names.iter().for_each(|name| names.text(name)));
            });
        }
    }))
}
