//! `/nodes/{node}/certificates/info`: every token may read it (recorded).

use crate::{
    answer::Answer,
    date,
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
    let now = i64::try_from(date::unix_now()).unwrap_or_default();
    Answer::json(Json::data_list(|list| {
        for certificate in &call.world.certificates {
            list.object(|row| {
                row.text("filename", certificate.filename);
                row.text("fingerprint", &certificate.fingerprint);
                row.text("subject", &certificate.subject);
                row.text("issuer", &certificate.issuer);
                row.text("pem", &certificate.pem);
                row.number("notbefore", certificate.not_before);
                let days = call.node().and_then(|node| node.certificate_days);
                let own = days.filter(|_| certificate.filename == "pve-ssl.pem");
                let end = own.map(|days| now + days * 86_400);
                row.number("notafter", end.unwrap_or(certificate.not_after));
                row.text("public-key-type", "id-ecPublicKey");
                row.number("public-key-bits", 256);
                row.list("san", |names| certificate.names.iter().for_each(|name| names.text(name)));
            });
        }
    }))
}
