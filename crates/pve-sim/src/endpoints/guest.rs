//! What the lists of a node and a guest's own state both say of a guest.

use crate::{
    cluster::{Guest, Kind, Version},
    figures::GuestFigures,
    json::Object,
};

/// How much is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Depth {
    /// The list of a node.
    List,
    /// The list of a node with `full=1`: QEMU is asked too.
    Full,
    /// The guest's own present state.
    Current,
}

/// The name PVE shows: a guest without one gets a word and its number.
pub(super) fn name(guest: &Guest) -> String {
    match (&guest.name, guest.kind) {
        (Some(name), _) => name.clone(),
        (None, Kind::Qemu) => format!("VM {}", guest.vmid),
        (None, Kind::Lxc) => format!("CT{}", guest.vmid),
    }
}

/// Writes a guest.
pub(super) fn put(
    row: &mut Object<'_>,
    guest: &Guest,
    figures: &GuestFigures,
    version: &Version,
    depth: Depth,
) {
    row.number("vmid", guest.vmid);
    row.text("name", &name(guest));
    row.text("status", guest.state.status());
    row.number("cpus", guest.cores);
    row.float("cpu", figures.cpu);
    row.number("mem", figures.memory);
    row.number("maxmem", guest.memory);
    row.number("disk", figures.disk);
    row.number("maxdisk", guest.disk);
    row.number("uptime", figures.uptime);
    row.number("netin", figures.received);
    row.number("netout", figures.sent);
    if !guest.tags.is_empty() {
        row.text("tags", &guest.tags.join(";"));
    }
    if guest.template {
        row.number("template", 1);
    }
    row.text_if("lock", guest.lock.as_deref());
    if guest.is_up() {
        row.number("pid", guest.pid);
    }
    if guest.is_up() && version.at_least(9, 0) {
        put_pressure(row, guest.kind, figures.cpu_pressure);
    }
    if depth == Depth::Current {
        row.object("ha", |ha| {
            ha.flag("managed", guest.ha.is_some());
            ha.text_if("state", guest.ha.as_deref());
        });
    }
    match guest.kind {
        Kind::Qemu => put_vm(row, guest, figures, version, depth),
        Kind::Lxc => put_ct(row, guest, figures),
    }
}

fn put_ct(row: &mut Object<'_>, guest: &Guest, figures: &GuestFigures) {
    row.text("type", "lxc");
    row.number("swap", figures.swap);
    row.number("maxswap", guest.swap);
    row.number("diskread", figures.read);
    row.number("diskwrite", figures.written);
}

fn put_vm(
    row: &mut Object<'_>,
    guest: &Guest,
    figures: &GuestFigures,
    version: &Version,
    depth: Depth,
) {
    if version.at_least(9, 0) {
        row.number("memhost", figures.host_memory);
    }
    if guest.serial {
        row.number("serial", 1);
    }
    if depth == Depth::Current {
        if guest.agent {
            row.number("agent", 1);
        }
        if guest.display {
            row.null("clipboard");
        }
    }
    if depth == Depth::List {
        return;
    }
    row.text("qmpstatus", guest.state.qmp());
    if guest.is_up() {
        put_from_qemu(row, guest, figures, version);
    }
}

/// What only a running QEMU can tell.
fn put_from_qemu(row: &mut Object<'_>, guest: &Guest, figures: &GuestFigures, version: &Version) {
    let nine = version.at_least(9, 0);
    row.text("running-qemu", if nine { "10.0.13" } else { "9.2.0" });
    row.text("running-machine", if nine { "pc-i440fx-10.0" } else { "pc-i440fx-9.2" });
    row.number("diskread", figures.read);
    row.number("diskwrite", figures.written);
    row.object("proxmox-support", |support| {
        let features = [
            "backup-max-workers",
            "pbs-dirty-bitmap",
            "pbs-dirty-bitmap-migration",
            "pbs-dirty-bitmap-savevm",
            "pbs-masterkey",
            "query-bitmap-info",
        ];
        for feature in features {
            support.boolean(feature, true);
        }
        support.text("pbs-library-version", "1.5.2");
    });
    if guest.balloon {
        row.number("balloon", guest.memory);
        row.object("ballooninfo", |info| {
            info.number("actual", guest.memory);
            info.number("max_mem", guest.memory);
        });
    }
    if !guest.disks.is_empty() {
        row.object("blockstat", |disks| {
            // The first disk carries it all; the rest are idle.
            let figures =
                [(figures.read, figures.written)].into_iter().chain(std::iter::repeat((0, 0)));
            for (disk, (read, written)) in guest.disks.iter().zip(figures) {
                disks.object(disk, |disk| put_disk(disk, read, written));
            }
        });
    }
    if !guest.nics.is_empty() {
        row.object("nics", |nics| {
            let figures =
                [(figures.received, figures.sent)].into_iter().chain(std::iter::repeat((0, 0)));
            for (nth, (_, (received, sent))) in guest.nics.iter().zip(figures).enumerate() {
                nics.object(&format!("tap{}i{nth}", guest.vmid), |nic| {
                    nic.number("netin", received);
                    nic.number("netout", sent);
                });
            }
        });
    }
}

fn put_disk(disk: &mut Object<'_>, read: u64, written: u64) {
    const ZERO: [&str; 24] = [
        "failed_flush_operations",
        "failed_rd_operations",
        "failed_unmap_operations",
        "failed_wr_operations",
        "failed_zone_append_operations",
        "flush_operations",
        "flush_total_time_ns",
        "invalid_flush_operations",
        "invalid_rd_operations",
        "invalid_unmap_operations",
        "invalid_wr_operations",
        "invalid_zone_append_operations",
        "rd_merged",
        "unmap_bytes",
        "unmap_merged",
        "unmap_operations",
        "unmap_total_time_ns",
        "wr_highest_offset",
        "wr_merged",
        "zone_append_bytes",
        "zone_append_merged",
        "zone_append_operations",
        "zone_append_total_time_ns",
        "idle_time_ns",
    ];
    for key in ZERO {
        disk.number(key, 0);
    }
    disk.number("rd_bytes", read);
    disk.number("rd_operations", read.div_ceil(16 << 10));
    disk.number("rd_total_time_ns", read / 10);
    disk.number("wr_bytes", written);
    disk.number("wr_operations", written.div_ceil(16 << 10));
    disk.number("wr_total_time_ns", written / 5);
    disk.boolean("account_failed", true);
    disk.boolean("account_invalid", true);
    disk.list("timed_stats", |_| {});
}

/// Pressure stall information: numbers for a VM, strings for a container (recorded).
fn put_pressure(row: &mut Object<'_>, kind: Kind, cpu: f64) {
    let figures = [
        ("pressurecpufull", 0.0),
        ("pressurecpusome", cpu),
        ("pressureiofull", 0.0),
        ("pressureiosome", 0.0),
        ("pressurememoryfull", 0.0),
        ("pressurememorysome", 0.0),
    ];
    for (key, value) in figures {
        match kind {
            Kind::Qemu => row.float(key, value),
            Kind::Lxc => row.text(key, &format!("{value:.2}")),
        }
    }
}
