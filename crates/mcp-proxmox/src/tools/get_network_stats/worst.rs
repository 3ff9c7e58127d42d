//! The interfaces of all nodes on which something went wrong.

use futures_util::{StreamExt as _, stream};
use pve_client::{
    NodeName, Reader,
    ip_statistics::{self, Link},
    network,
};

use super::{
    REPORT_SECONDS,
    interfaces::{kind, state, trouble},
};
use crate::{
    answer::{Table, clean::label},
    call::Call,
    failure::Failure,
    in_order::InOrder as _,
};

/// How long all reports may take, in seconds.
const ALL_SECONDS: u64 = 40;
/// How many are made at once: each keeps a worker of its node busy for some ten seconds.
const AT_ONCE: usize = 2;
/// How many interfaces are shown.
const SHOWN: usize = 30;

/// What was found.
#[derive(Default)]
pub(super) struct Worst {
    /// `None` where no node could be read.
    pub(super) table: Option<Table>,
    pub(super) not_available: Vec<String>,
    pub(super) notes: Vec<String>,
}

/// Reads the reports of these nodes, as many as there is time for.
pub(super) async fn read(pve: &Reader, call: &Call, nodes: &[NodeName]) -> Worst {
    let end = call.part(ALL_SECONDS);
    let mut reports = stream::iter(nodes.to_vec())
        .map(|node| async move {
            let pve = pve.until(call.part(REPORT_SECONDS).min(end));
            let report = pve.get(network::report(&node)).await;
            (node, report)
        })
        .buffered(AT_ONCE);
    let mut worst = Worst::default();
    let (mut links, mut n_links, mut n_read) = (Vec::new(), 0, 0_usize);
    while let Some((node, report)) = reports.next().await {
        match report.map(|report| ip_statistics::section(&report).map(ip_statistics::links)) {
            Ok(Some(found)) => {
                n_read += 1;
                n_links += found.len();
                let troubled = found.into_iter().filter(|link| trouble(link) > 0);
                links.extend(troubled.map(|link| (node.clone(), link)));
            }
            Ok(None) => worst.not_available.push(format!(
                "counters of the interfaces of {node}: its report does not hold them"
            )),
            Err(error) => {
                let asked = format!("read the counters of the interfaces of {node}");
                worst.not_available.push(Failure::from_pve(&asked, &error).what().to_owned());
            }
        }
    }
    if n_read == 0 {
        return worst;
    }
    // Drops are common, errors are not.
    links.order_by_key(|(_, link)| std::cmp::Reverse((errors(link), trouble(link))));
    worst.notes.push(format!(
        "{} of {n_links} interfaces on {n_read} nodes have errors or drops, counted since each was made; `node` shows all of one",
        links.len()
    ));
    if links.len() > SHOWN {
        worst.notes.push(format!("the worst {SHOWN} are shown"));
    }
    worst.table = Some(table(&links));
    worst
}

fn table(links: &[(NodeName, Link)]) -> Table {
    let mut table = Table::new(&[
        "node",
        "iface",
        "type",
        "state",
        "rx_errors",
        "rx_dropped",
        "rx_overruns",
        "tx_errors",
        "tx_dropped",
        "tx_carrier",
        "collisions",
    ]);
    for (node, link) in links.iter().take(SHOWN) {
        table.push([
            node.to_string().into(),
            label(&link.name).into(),
            kind(link).into(),
            state(link).into(),
            link.received.errors.into(),
            link.received.dropped.into(),
            link.received.overruns.into(),
            link.sent.errors.into(),
            link.sent.dropped.into(),
            link.sent.carrier.into(),
            link.sent.collisions.into(),
        ]);
    }
    table
}

/// What went wrong without what was only dropped.
fn errors(link: &Link) -> u64 {
    let dropped = [link.received.dropped, link.sent.dropped];
    let dropped = dropped.into_iter().flatten().fold(0, u64::saturating_add);
    trouble(link).saturating_sub(dropped)
}
