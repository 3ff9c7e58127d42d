//! `/nodes/{node}/netstat`: the traffic of the interfaces of running guests, as text.

use crate::{
    answer::Answer,
    endpoints::{Call, Needs, Route, Run},
    figures,
    json::Json,
};

pub(super) const ROUTES: &[Route] = &[Route {
    method: "GET",
    path: "/nodes/{node}/netstat",
    needs: Needs::Privilege("/nodes/{node}", "Sys.Audit"),
    parameters: &[],
    by_daemon: false,
    run: Run::Read(traffic),
}];

fn traffic(call: &Call<'_>) -> Answer {
    let node = call.world.real_name(call.value("node"));
    let guests = call.world.cluster.guests.iter();
    let up = guests.filter(|guest| guest.node == node && guest.is_up());
    Answer::json(Json::data_list(|list| {
        for guest in up {
            let figures = figures::of_guest(guest, call.world.elapsed());
            for nth in 0..guest.nics.len() {
                // The first interface has all the traffic of the guest.
                let (received, sent) =
                    if nth == 0 { (figures.received, figures.sent) } else { (0, 0) };
                list.object(|row| {
                    row.text("vmid", &guest.vmid.to_string());
                    row.text("dev", &format!("net{nth}"));
                    row.text("in", &received.to_string());
                    row.text("out", &sent.to_string());
                });
            }
        }
    }))
}
