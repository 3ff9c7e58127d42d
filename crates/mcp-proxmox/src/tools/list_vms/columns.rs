//! The columns of the list, and how a guest fills them.

use pve_client::Kind;

use super::{Row, Sort};
use crate::{
    answer::{Bytes, Cell, Duration, Number, Share, Table, clean::label},
    lookup::guest::{real_name, tags},
};

/// The short columns, and what the rows are sorted by where that is not among them.
pub(super) fn short(sort: Sort) -> Table {
    Table::new(match sort {
        Sort::Memory => {
            &["vmid", "name", "type", "status", "node", "cpu%", "mem%", "disk%", "memory"]
        }
        // A percentage of two cores is not one of sixteen.
        Sort::Cpu => &["vmid", "name", "type", "status", "node", "cpu%", "mem%", "disk%", "cores"],
        Sort::Disk => &["vmid", "name", "type", "status", "node", "cpu%", "mem%", "disk%", "disk"],
        Sort::Uptime => {
            &["vmid", "name", "type", "status", "node", "cpu%", "mem%", "disk%", "uptime"]
        }
        _ => &["vmid", "name", "type", "status", "node", "cpu%", "mem%", "disk%"],
    })
}

pub(super) fn push_short(table: &mut Table, guest: &Row<'_>, sort: Sort) {
    let [vmid, name, kind, status, node] = identity(guest);
    let cpu = guest.cpu().into();
    let memory = guest.memory().and_then(Share::percent).into();
    let disk = guest.disk().and_then(Share::percent).into();
    let key: Cell = match sort {
        Sort::Memory => guest.memory().into(),
        Sort::Disk => guest.disk().into(),
        Sort::Uptime => guest.uptime().map(Duration).into(),
        Sort::Cpu => guest.listed.maxcpu.map(Number).into(),
        _ => return table.push([vmid, name, kind, status, node, cpu, memory, disk]),
    };
    table.push([vmid, name, kind, status, node, cpu, memory, disk, key]);
}

pub(super) fn detailed() -> Table {
    Table::new(&[
        "vmid",
        "name",
        "type",
        "status",
        "node",
        "cpu%",
        "cores",
        "memory",
        "disk",
        "net_in",
        "net_out",
        "disk_read",
        "disk_written",
        "uptime",
        "pool",
        "tags",
        "ha",
    ])
}

pub(super) fn push_detailed(table: &mut Table, guest: &Row<'_>) {
    let [vmid, name, kind, status, node] = identity(guest);
    let listed = guest.listed;
    let total = |bytes: Option<u64>| -> Cell { bytes.filter(|_| guest.is_up()).map(Bytes).into() };
    let size = |used: Option<Share>, size: Option<u64>| -> Cell {
        // Where the use is unknown, the size is still worth showing.
        used.map_or_else(
            || size.filter(|size| *size > 0).map(|size| format!("? of {}", Bytes(size))).into(),
            Into::into,
        )
    };
    table.push([
        vmid,
        name,
        kind,
        status,
        node,
        guest.cpu().into(),
        listed.maxcpu.map(Number).into(),
        size(guest.memory(), listed.maxmem),
        size(guest.disk(), listed.maxdisk),
        total(listed.netin),
        total(listed.netout),
        total(listed.diskread),
        total(listed.diskwrite),
        guest.uptime().map(Duration).into(),
        listed.pool.as_deref().map(label).into(),
        listed
            .tags
            .as_deref()
            .map(|_| tags(listed.tags.as_deref()).map(label).collect::<Vec<_>>().join(" "))
            .into(),
        listed.hastate.as_deref().map(label).into(),
    ]);
}

pub(super) fn identity(guest: &Row<'_>) -> [Cell; 5] {
    let listed = guest.listed;
    let lock = listed.lock.as_deref().filter(|lock| *lock != "suspended");
    let status = match lock {
        Some(lock) => format!("{} (lock: {})", guest.status, label(lock)).into(),
        None => guest.status.clone(),
    };
    [
        listed.vmid.map(|vmid| u64::from(vmid.get())).into(),
        real_name(listed).map(label).into(),
        listed.kind.map(Kind::as_str).into(),
        Cell::Text(status),
        listed.node.as_ref().map(|node| node.as_str().to_owned()).into(),
    ]
}
