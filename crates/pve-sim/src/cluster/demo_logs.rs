//! What the nodes of the demo cluster wrote down: a quiet day, and what went wrong in it.
//!
//! **Invariant:** it says nothing that the nodes' figures contradict.

use crate::cluster::{ClusterLogEntry, Journal, JournalEntry, Task};

const MINUTE: u64 = 60;

/// What a backup of a disk of 40 GiB has told that runs for so many seconds.
pub(super) fn running_backup(seconds: u64) -> Vec<String> {
    let mut log = [
        "INFO: starting new backup job: vzdump 123 --storage pbs --mode snapshot",
        "INFO: Starting Backup of VM 123 (qemu)",
        "INFO: VM Name: nextcloud",
    ]
    .map(str::to_owned)
    .to_vec();
    for (seconds, read, write) in [(seconds - 28, 21.3, 9.1), (seconds - 9, 21.6, 8.8)] {
        // A good 22 MiB each second.
        let hundredths = seconds * 22 * 100 / 1024;
        let (whole, tenth) = (hundredths / 100, hundredths % 100 / 10);
        let (percent, minutes, seconds) = (hundredths / 40, seconds / 60, seconds % 60);
        log.push(format!(
            "INFO:  {percent}% ({whole}.{tenth} GiB of 40.0 GiB) in {minutes}m {seconds}s, read: {read} MiB/s, write: {write} MiB/s"
        ));
    }
    log
}

/// The journal of one of the nodes, up to now: a day without events, the storage that went away on the
/// second, the disk and the time service that failed on the third, and what was said of these tasks. All are
/// up for longer than their journals reach, so that none tells of a start.
pub(super) fn journal(node: &str, now: u64, tasks: &[Task]) -> Journal {
    let mut entries = Vec::new();
    let mut add = |ago: u64, who: &str, priority: u8, text: &str| {
        entries.push(JournalEntry::new((now - ago) * 1_000_000 + 250_000, who, priority, text));
    };
    match node {
        "pve1" => {
            add(
                121 * MINUTE,
                "kernel",
                4,
                "perf: interrupt took too long (2513 > 2500), lowering kernel.perf_event_max_sample_rate to 79500",
            );
            add(
                90 * MINUTE,
                "sshd",
                6,
                "Accepted publickey for root from 192.168.10.5 port 51122 ssh2",
            );
        }
        "pve2" => {
            for nth in 0..30 {
                add(290 * MINUTE - nth * 10, "pvestatd", 3, "storage 'nas' is not online");
                add(
                    290 * MINUTE - nth * 10 - 1,
                    "pvestatd",
                    6,
                    &format!("status update time (5.{:03} seconds)", 100 + nth),
                );
            }
            add(280 * MINUTE, "pvedaemon", 3, "start failed: storage 'nas' is not online");
        }
        _ => {
            add(
                62 * MINUTE,
                "kernel",
                3,
                "nvme nvme1: I/O tag 214 (30d6) opcode 0x2 (I/O Cmd) QID 7 timeout, aborting",
            );
            add(
                61 * MINUTE,
                "kernel",
                2,
                "zfs: WARNING: Pool 'rpool' has encountered an uncorrectable I/O failure\nsuspended until the device is back",
            );
            add(
                60 * MINUTE,
                "zed",
                4,
                "eid=42 class=statechange pool='rpool' vdev=nvme1n1 vdev_state=DEGRADED",
            );
            for ago in [50, 35, 20] {
                add(
                    ago * MINUTE,
                    "pvescheduler",
                    3,
                    "111-0: got unexpected replication job error - command 'zfs send -Rpv -- rpool/data/vm-111-disk-0' failed: exit code 1",
                );
            }
        }
    }
    add(5 * MINUTE, "pveproxy", 6, "worker 48211 finished");
    add(4 * MINUTE, "pveproxy", 6, "worker 50012 started");
    add(MINUTE, "systemd", 6, "Finished man-db.service - Daily man-db regeneration.");
    // Last night's jobs are at an hour of the clock: with them the journal would be another one for some hours of a day.
    let is_of_the_night = |task: &Task| task.kind == "vzdump" && task.endtime.is_some();
    // Those of five hours ago begin at full ten minutes.
    let told = tasks.iter().filter(|task| task.starttime + 311 * MINUTE > now);
    for task in told.filter(|task| !is_of_the_night(task)) {
        let mut add = |time: u64, who: &str, priority: u8, text: String| {
            entries.push(JournalEntry::new(time * 1_000_000 + 250_000, who, priority, &text));
        };
        if task.node != node {
            add(task.starttime, "pmxcfs", 6, "[status] notice: received log".to_owned());
            continue;
        }
        let who = if task.kind == "vzdump" { "pvescheduler" } else { "pvedaemon" };
        add(task.starttime, who, 6, format!("<{}> starting task {}", task.user, task.upid()));
        if let Some(end) = task.endtime {
            let priority = if task.is_fine() { 6 } else { 3 };
            let text = format!("<{}> end task {}: {}", task.user, task.upid(), task.status);
            add(end, who, priority, text);
        }
    }
    if node == "pve3" {
        entries.extend(time_service(now));
    }
    entries.sort_by_key(|entry| entry.time);
    Journal { filler: 20_000, entries }
}

/// How the time service ended: it lost its servers, and then its disk. What systemd says of a unit belongs to
/// that unit.
fn time_service(now: u64) -> impl Iterator<Item = JournalEntry> {
    let lines = [
        (286 * MINUTE, "chronyd", 6, "Can't synchronise: no selectable sources"),
        (75 * MINUTE, "chronyd", 6, "Selected source 162.159.200.123 (2.debian.pool.ntp.org)"),
        (75 * MINUTE - 1, "chronyd", 4, "System clock wrong by 40.862113 seconds"),
        (
            61 * MINUTE - 5,
            "systemd",
            5,
            "chrony.service: Main process exited, code=killed, status=7/BUS",
        ),
        (61 * MINUTE - 5, "systemd", 4, "chrony.service: Failed with result 'signal'."),
    ];
    lines.into_iter().map(move |(ago, who, priority, text)| {
        let time = (now - ago) * 1_000_000 + 250_000;
        let mut entry = JournalEntry::new(time, who, priority, text);
        entry.unit = Some("chrony.service".to_owned());
        if who == "systemd" {
            entry.pid = Some(1);
        }
        entry
    })
}

/// The cluster's log, from what the tasks did.
pub(super) fn cluster_log(tasks: &[Task]) -> Vec<ClusterLogEntry> {
    let mut log: Vec<ClusterLogEntry> = Vec::new();
    for task in tasks {
        let mut add = |time: u64, priority: u8, message: String| {
            log.push(ClusterLogEntry {
                time,
                node: task.node.clone(),
                user: task.user.clone(),
                tag: "pvedaemon".to_owned(),
                priority,
                message,
            });
        };
        add(task.starttime, 6, format!("starting task {}", task.upid()));
        if let Some(end) = task.endtime {
            let priority = if task.is_fine() { 6 } else { 3 };
            add(end, priority, format!("end task {}: {}", task.upid(), task.status));
        }
    }
    log.sort_by_key(|entry| entry.time);
    log
}

/// The log of a nightly backup of three guests, the last of which may fail.
pub(super) fn backup(node: &str, is_broken: bool) -> Vec<String> {
    let guests: &[(u32, &str, &str)] = match node {
        "pve1" => &[(100, "qemu", "dc01"), (102, "qemu", "fileserver"), (200, "lxc", "pihole")],
        "pve2" => &[(101, "qemu", "dc02"), (110, "qemu", "mail"), (125, "qemu", "legacy-crm")],
        _ => &[(111, "qemu", "postgres"), (113, "qemu", "erp"), (202, "lxc", "prometheus")],
    };
    let mut log = vec![
        "INFO: starting new backup job: vzdump --all 1 --storage pbs --mode snapshot".to_owned(),
    ];
    for (vmid, kind, name) in guests {
        let word = if *kind == "lxc" { "CT" } else { "VM" };
        log.push(format!("INFO: Starting Backup of VM {vmid} ({kind})"));
        log.push(format!("INFO: {word} Name: {name}"));
        if is_broken && *vmid == 125 {
            log.push(format!("ERROR: Backup of VM {vmid} failed - storage 'nas' is not online"));
            continue;
        }
        for percent in (0..=100).step_by(10) {
            log.push(format!("INFO: {percent:>3}% ({percent}.0 GiB of 100.0 GiB) in {percent}s, read: 1.1 GiB/s, write: 110.0 MiB/s"));
        }
        log.push("INFO: backup was done incrementally, reused 92.40 GiB (92%)".to_owned());
        log.push("INFO: transferred 100.00 GiB in 101 seconds (1013.9 MiB/s)".to_owned());
        log.push(format!("INFO: Finished Backup of VM {vmid} (00:01:42)"));
    }
    if is_broken {
        log.extend(
            ["INFO: Backup job finished with errors", "TASK ERROR: job errors"].map(str::to_owned),
        );
    } else {
        log.extend(["INFO: Backup job finished successfully", "TASK OK"].map(str::to_owned));
    }
    log
}
