//! The interfaces of guests, the busiest first.

use std::collections::HashMap;

use futures_util::{StreamExt as _, stream};
use pve_client::{NodeName, Reader, VmId, guest::Listed, network};
use tokio::time::Instant;

use super::rate;
use crate::{
    answer::{Bytes, Cell, Table, clean::label},
    call::Call,
    failure::Failure,
    in_order::InOrder as _,
    lookup::guest::real_name,
};

/// How long one node may take, in seconds.
const NODE_SECONDS: u64 = 8;
/// How many nodes are asked at once.
const AT_ONCE: usize = 4;

/// One reading of all interfaces of running guests.
pub(super) struct Reading {
    /// When the first node had answered.
    pub(super) at: Instant,
    pub(super) nics: HashMap<Nic, Counted>,
    pub(super) not_available: Vec<String>,
}

/// An interface of a guest.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Nic {
    vmid: VmId,
    dev: String,
    node: String,
}

/// What it counted, and when that was read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counted {
    bytes_in: Option<u64>,
    out: Option<u64>,
    at: Instant,
}

/// The interfaces in the order in which they matter.
pub(super) struct Ranked {
    pub(super) table: Option<Table>,
    pub(super) total: Option<String>,
    pub(super) notes: Vec<String>,
}

/// Reads the traffic on these nodes, one request each.
pub(super) async fn read(pve: &Reader, call: &Call, nodes: &[NodeName]) -> Reading {
    let answers = stream::iter(nodes.to_vec())
        .map(|node| async move {
            let pve = pve.until(call.part(NODE_SECONDS));
            let answer = pve.get(network::traffic(&node)).await;
            (node, answer, Instant::now())
        })
        .buffer_unordered(AT_ONCE)
        .collect::<Vec<_>>()
        .await;
    let at = answers.iter().map(|(_, _, at)| *at).min().unwrap_or_else(Instant::now);
    let mut reading = Reading { at, nics: HashMap::new(), not_available: Vec::new() };
    for (node, answer, at) in answers {
        match answer {
            Ok(rows) => {
                for row in rows {
                    let Some((vmid, dev)) = row.vmid.zip(row.dev) else { continue };
                    let nic = Nic { vmid, dev, node: node.as_str().to_owned() };
                    let counted = Counted { bytes_in: row.bytes_in, out: row.out, at };
                    reading.nics.insert(nic, counted);
                }
            }
            Err(error) => {
                let asked = format!("read the traffic of the guests on {node}");
                let why = Failure::from_pve(&asked, &error);
                reading.not_available.push(why.what().to_owned());
            }
        }
    }
    reading.not_available.sort_unstable();
    reading
}

/// A row, with its rates where there are two readings.
struct Row<'a> {
    nic: &'a Nic,
    bytes_in: Option<u64>,
    out: Option<u64>,
    rate_in: Option<f64>,
    rate_out: Option<f64>,
}

/// The interfaces of the newest reading, of one guest or all, the busiest first.
pub(super) fn rank(
    first: &Reading,
    second: Option<&Reading>,
    only: Option<VmId>,
    names: &[Listed],
    limit: usize,
) -> Ranked {
    let newest = second.unwrap_or(first);
    let is_wanted = |nic: &&Nic| only.is_none_or(|vmid| nic.vmid == vmid);
    let mut rows: Vec<Row<'_>> = newest
        .nics
        .iter()
        .filter(|(nic, _)| is_wanted(nic))
        .map(|(nic, now)| {
            let before = second.and_then(|_| first.nics.get(nic));
            Row {
                nic,
                bytes_in: now.bytes_in,
                out: now.out,
                rate_in: before
                    .and_then(|before| pace((before.bytes_in, before.at), (now.bytes_in, now.at))),
                rate_out: before
                    .and_then(|before| pace((before.out, before.at), (now.out, now.at))),
            }
        })
        .collect();
    let is_paced = second.is_some();
    rows.order_by(|a, b| {
        let paces = b.pace().partial_cmp(&a.pace()).filter(|_| is_paced);
        let by_pace = paces.unwrap_or(std::cmp::Ordering::Equal);
        by_pace.then(b.bytes().cmp(&a.bytes())).then(a.nic.cmp(b.nic))
    });
    let names: HashMap<VmId, &str> =
        names.iter().filter_map(|guest| Some((guest.vmid?, real_name(guest)?))).collect();
    let mut notes = Vec::new();
    if rows.is_empty() && first.not_available.is_empty() {
        notes.push(match only {
            Some(vmid) => {
                format!("{vmid} has no interface that is plugged in: it does not run, or has none")
            }
            None => "no running guest has a network interface".to_owned(),
        });
    }
    if rows.len() > limit {
        notes.push(format!(
            "{} more guest NICs, less busy, are not shown: raise `limit`",
            rows.len() - limit
        ));
    }
    let unpaced = rows.iter().filter(|row| row.rate_in.is_none() || row.rate_out.is_none()).count();
    if is_paced && unpaced > 0 {
        notes.push(format!(
            "{unpaced} guest NICs have no rate: they came, or their guest started anew, between the readings"
        ));
    }
    if !rows.is_empty() {
        let sums = if is_paced { "" } else { "; `sample_seconds` gives rates" };
        notes.push(format!("`in` is to the guest, `out` from it, in bytes since it started{sums}"));
    }
    Ranked { total: total(&rows, is_paced), table: table(&rows, is_paced, &names, limit), notes }
}

/// Bytes a second. A counter that went back belongs to another run of the guest.
#[expect(clippy::cast_precision_loss, reason = "one decimal is shown")]
fn pace(before: (Option<u64>, Instant), now: (Option<u64>, Instant)) -> Option<f64> {
    let grown = now.0?.checked_sub(before.0?)?;
    let seconds = now.1.checked_duration_since(before.1)?.as_secs_f64();
    (seconds > 0.0).then(|| grown as f64 / seconds)
}

fn table(
    rows: &[Row<'_>],
    is_paced: bool,
    names: &HashMap<VmId, &str>,
    limit: usize,
) -> Option<Table> {
    let mut table = if is_paced {
        Table::new(&["vmid", "name", "nic", "node", "in/s", "out/s", "in", "out"])
    } else {
        Table::new(&["vmid", "name", "nic", "node", "in", "out"])
    };
    for row in rows.iter().take(limit) {
        let vmid: Cell = u64::from(row.nic.vmid.get()).into();
        let name: Cell = names.get(&row.nic.vmid).map(|name| label(name)).into();
        let (nic, node): (Cell, Cell) = (label(&row.nic.dev).into(), label(&row.nic.node).into());
        let (bytes_in, out) = (row.bytes_in.map(Bytes).into(), row.out.map(Bytes).into());
        if is_paced {
            let (rate_in, rate_out) = (row.rate_in.map(rate).into(), row.rate_out.map(rate).into());
            table.push([vmid, name, nic, node, rate_in, rate_out, bytes_in, out]);
        } else {
            table.push([vmid, name, nic, node, bytes_in, out]);
        }
    }
    (!table.is_empty()).then_some(table)
}

fn total(rows: &[Row<'_>], is_paced: bool) -> Option<String> {
    if rows.len() < 2 {
        return None;
    }
    let sum = |of: fn(&Row<'_>) -> Option<u64>| {
        Bytes(rows.iter().filter_map(of).fold(0, u64::saturating_add))
    };
    let sums = format!("in {}, out {}", sum(|row| row.bytes_in), sum(|row| row.out));
    let paces = |of: fn(&Row<'_>) -> Option<f64>| rate(rows.iter().filter_map(of).sum());
    Some(if is_paced {
        format!("in {}/s, out {}/s; {sums}", paces(|row| row.rate_in), paces(|row| row.rate_out))
    } else {
        sums
    })
}

impl Row<'_> {
    fn pace(&self) -> f64 {
        self.rate_in.unwrap_or(0.0) + self.rate_out.unwrap_or(0.0)
    }

    fn bytes(&self) -> u64 {
        self.bytes_in.unwrap_or(0).saturating_add(self.out.unwrap_or(0))
    }
}
