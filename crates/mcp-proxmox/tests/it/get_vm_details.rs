//! Tests of `get_vm_details`.

use mcp_proxmox::tier::{Access, Level};
use pve_client::Reader;
use pve_sim::{DEMO_AUDITOR_ID, DEMO_TOKEN_SECRET, Recordings, Rule, Sim};
use serde_json::{Value, json};

use crate::support::{
    answer, call_on, demo, failure, notes, row, rows, server, settings, structured,
};

async fn details(sim: &Sim, vm: &str) -> Value {
    answer(sim, "get_vm_details", json!({ "vm": vm })).await
}

async fn recorded_as(token: &str, vm: &str) -> Value {
    let sim = Sim::replay(Recordings::load()).await.unwrap();
    let reader = Reader::new(settings(&sim, token, "any"));
    let access = Access::new(Level::Read, reader);
    structured(&call_on(server(access), "get_vm_details", json!({ "vm": vm })).await)
}

fn missing(answer: &Value) -> String {
    let lines = answer["not_available"].as_array().map(Vec::as_slice).unwrap_or_default();
    lines.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn a_vm_is_told_in_words() {
    let answer = details(&demo().await, "postgres").await;
    assert_eq!((&answer["vmid"], &answer["node"]), (&json!(111), &json!("pve3")));
    assert_eq!((&answer["type"], &answer["status"]), (&json!("qemu"), &json!("running")));
    assert_eq!(answer["cpu"], "8 cores, type host, flags=+aes, pinned to host CPUs 8-15, NUMA");
    assert_eq!(answer["memory"], "32.0 GiB, balloon may shrink it to 16.0 GiB");
    assert_eq!(answer["start_at_boot"], "yes, order 1, 30 s until the next one starts");
    assert_eq!(
        (&answer["boot_order"], &answer["ha"]),
        (&json!("scsi0, net0"), &json!("managed, started"))
    );
    let disk = row(&answer["disks"], "disk", &json!("scsi0"));
    assert_eq!((&disk["storage"], &disk["size"]), (&json!("local-zfs"), &json!("400.0 GiB")));
    assert_eq!(disk["options"], "cache=writeback discard=on iothread=1 ssd=1");
    let nic = row(&answer["nics"], "nic", &json!("net0"));
    assert_eq!((&nic["device"], &nic["bridge"]), (&json!("virtio"), &json!("vmbr0")));
    assert_eq!((&nic["firewall"], &nic["tag"]), (&json!("off"), &Value::Null));
    assert_eq!(nic["mac"], "BC:24:11:00:00:6F");
}

#[tokio::test]
async fn the_hardware_addresses_of_a_container_are_those_of_its_interfaces() {
    let proxy = details(&demo().await, "reverse-proxy").await;
    for (nic, mac) in [("net0", "BC:24:11:00:00:C9"), ("net1", "BC:24:11:00:C9:01")] {
        assert_eq!(row(&proxy["nics"], "nic", &json!(nic))["mac"], mac, "{proxy}");
    }
}

#[tokio::test]
async fn what_waits_for_the_next_start_is_apart_from_what_is_in_force() {
    let sim = demo().await;
    let answer = details(&sim, "111").await;
    assert_eq!(
        answer["pending"],
        json!([
            "memory: 32768 -> 49152",
            "net1: none -> virtio=BC:24:11:00:6F:01,bridge=vmbr1,tag=30"
        ])
    );
    assert!(answer["memory"].as_str().unwrap().starts_with("32.0 GiB"));
    assert_eq!(rows(&answer["nics"]).len(), 1, "{answer}");
    assert!(sim.requests().iter().any(|seen| seen.path.ends_with("/config?current=1")));
}

#[tokio::test]
async fn replication_is_told_with_how_it_went_last() {
    let sim = demo().await;
    let answer = details(&sim, "111").await;
    let told = answer["replication"].as_array().unwrap();
    assert_eq!(told.len(), 1, "{answer}");
    let told = told[0].as_str().unwrap();
    assert!(
        told.starts_with("to pve1, */15: last worked 2d ago, failed 187 times since: command"),
        "{told}"
    );
    assert!(details(&sim, "100").await.get("replication").is_none());
}

#[tokio::test]
async fn how_pending_changes_take_effect_is_said_where_there_are_any() {
    let sim = demo().await;
    let words = "not when it reboots from inside";
    assert!(details(&sim, "111").await["notes"].to_string().contains(words));
    assert!(!details(&sim, "100").await["notes"].to_string().contains(words));
}

#[tokio::test]
async fn the_agent_tells_what_is_inside() {
    let answer = details(&demo().await, "postgres").await;
    assert_eq!(answer["os"], "Debian GNU/Linux 13 (trixie), kernel 6.12.57+deb13-amd64");
    assert_eq!(
        (&answer["hostname"], &answer["agent_version"]),
        (&json!("postgres"), &json!("10.0.2"))
    );
    let address = row(&answer["addresses"], "interface", &json!("ens18"));
    assert_eq!(address["addresses"], "192.168.10.111/24");
    let mac = address["mac"].as_str().unwrap();
    assert!(mac.eq_ignore_ascii_case("BC:24:11:00:00:6F"), "{mac}");
    let root = row(&answer["filesystems"], "mountpoint", &json!("/"));
    assert!(root["used"].as_str().unwrap().contains("of 400.0 GiB (41.0%)"), "{root}");
    assert!(answer.get("not_available").is_none(), "{answer}");
}

#[tokio::test]
async fn why_nothing_is_known_from_inside_is_said() {
    let sim = demo().await;
    let silent = details(&sim, "erp").await;
    assert!(missing(&silent).contains("does not answer"), "{silent}");
    let agent = sim.requests().iter().filter(|seen| seen.path.contains("/agent/")).count();
    assert_eq!(agent, 1, "a silent agent costs three seconds each time it is asked");
    let without = details(&sim, "homeassistant").await;
    assert!(missing(&without).contains("not enabled"), "{without}");
    let stopped = details(&sim, "staging-webshop").await;
    assert!(missing(&stopped).contains("the VM is stopped"), "{stopped}");
    let paused = details(&sim, "win11-test").await;
    assert!(missing(&paused).contains("paused"), "{paused}");
    let reader = Reader::new(settings(&sim, DEMO_AUDITOR_ID, DEMO_TOKEN_SECRET));
    sim.answer(Rule::get("/nodes/pve3/qemu/111/agent/network-get-interfaces").status(
        403,
        "Permission check failed (/vms/111, VM.GuestAgent.Audit|VM.GuestAgent.Unrestricted)",
    ));
    let access = Access::new(Level::Read, reader);
    let result = call_on(server(access), "get_vm_details", json!({ "vm": "111" })).await;
    assert!(missing(&structured(&result)).contains("VM.GuestAgent.Audit"));
}

#[tokio::test]
async fn snapshots_are_a_tree_with_times() {
    let answer = details(&demo().await, "gitlab").await;
    let names: Vec<_> =
        rows(&answer["snapshots"]).iter().map(|row| row["snapshot"].clone()).collect();
    assert_eq!(names, ["before-17", "· test-runner", "· before-18"]);
    let first = row(&answer["snapshots"], "snapshot", &json!("before-17"));
    assert!(first["time"].as_str().unwrap().contains('T'), "{first}");
    assert_eq!(first["with_ram"], "no");
    assert!(notes(&answer).contains("after the snapshot `before-18`"), "{answer}");
    assert!(answer["protection"].as_str().unwrap().contains("cannot be removed"));
}

#[tokio::test]
async fn devices_of_the_host_and_cloud_init_are_told() {
    let sim = demo().await;
    let home = details(&sim, "130").await;
    let passed = home["passthrough"].to_string();
    assert!(passed.contains("0000:01:00.0") && passed.contains("10c4:ea60"), "{home}");
    let runner = details(&sim, "ci-runner-1").await;
    assert_eq!(runner["cloud_init"], json!(["user ci", "a password is set", "1 SSH keys"]));
    assert!(!runner.to_string().contains("***"), "{runner}");
    let drive = row(&runner["disks"], "disk", &json!("ide2"));
    assert!(drive["options"].as_str().unwrap().contains("cloud-init"));
    assert_eq!(
        row(&runner["nics"], "nic", &json!("net0"))["address"],
        "192.168.10.121/24 via 192.168.10.1"
    );
}

#[tokio::test]
async fn a_container_shows_mount_points_and_addresses() {
    let answer = details(&demo().await, "prometheus").await;
    let root = row(&answer["disks"], "disk", &json!("rootfs"));
    assert_eq!((&root["mount"], &root["size"]), (&json!("/"), &json!("64.0 GiB")));
    assert!(root["used"].as_str().unwrap().contains('%'), "{root}");
    let data = row(&answer["disks"], "disk", &json!("mp0"));
    assert_eq!((&data["mount"], &data["used"]), (&json!("/var/lib/prometheus"), &Value::Null));
    let bound = row(&answer["disks"], "disk", &json!("mp1"));
    assert!(bound["options"].as_str().unwrap().contains("bind mount"), "{bound}");
    assert_eq!(answer["isolation"], "unprivileged");
    let eth0 = row(&answer["addresses"], "interface", &json!("eth0"));
    assert_eq!(eth0["addresses"], "192.168.10.202/24");
    assert!(notes(&answer).contains("root file system only"), "{answer}");
    let stopped = details(&demo().await, "minecraft").await;
    assert!(missing(&stopped).contains("it is stopped"), "{stopped}");
}

#[tokio::test]
async fn templates_locks_and_volumes_that_are_not_attached_are_named() {
    let sim = demo().await;
    let template = details(&sim, "9000").await;
    assert!(notes(&template).contains("template"), "{template}");
    let locked = details(&sim, "nextcloud").await;
    assert!(notes(&locked).contains("locked (backup)"), "{locked}");
    let unused = row(&locked["disks"], "disk", &json!("unused0"));
    assert_eq!(unused["options"], "not attached");
    let empty = details(&sim, "126").await;
    assert_eq!(row(&empty["disks"], "disk", &json!("ide2"))["options"], "empty CD drive");
}

#[tokio::test]
async fn a_part_that_hangs_or_fails_costs_only_itself() {
    let sim = demo().await;
    sim.answer(Rule::get("/nodes/pve3/qemu/111/snapshot").status(596, "Connection timed out"));
    sim.answer(Rule::get("/nodes/pve3/qemu/111/agent/get-fsinfo").status(500, "got timeout"));
    let answer = details(&sim, "111").await;
    assert!(answer.get("snapshots").is_none());
    assert!(missing(&answer).contains("snapshots") && missing(&answer).contains("file systems"));
    assert_eq!(answer["hostname"], "postgres");
}

#[tokio::test]
async fn a_guest_whose_node_is_gone_says_so() {
    let sim = demo().await;
    sim.change(|cluster| cluster.node_mut("pve3").unwrap().online = false);
    let told = failure(&sim, "get_vm_details", json!({ "vm": "111" })).await;
    assert!(told.contains("cannot be reached"), "{told}");
}

#[tokio::test]
async fn recorded_guests_are_read() {
    let web = recorded_as("root@pam!lab", "web01").await;
    assert_eq!(
        (&web["cpu"], &web["guest_agent"]),
        (&json!("1 core, type kvm64 (PVE's default), KVM off: emulated, slow"), &json!("enabled"),)
    );
    assert_eq!(web["memory"], "256.0 MiB, fixed (the balloon only reports)");
    assert_eq!((&web["hostname"], &web["agent_version"]), (&json!("labvm"), &json!("10.0.13")));
    assert_eq!(web["os"], "kernel 6.12.117+deb13-cloud-amd64");
    assert_eq!(
        row(&web["addresses"], "interface", &json!("eth0"))["addresses"],
        "fe80::be24:11ff:fe07:e36b/64"
    );
    assert_eq!(web["owner_notes"], "web server second line");
    assert!(web["other"].to_string().contains("serial0: socket"), "{web}");
    assert!(rows(&web["snapshots"]).is_empty() && web.get("pending").is_none());
    let db = recorded_as("root@pam!lab", "db01").await;
    assert!(missing(&db).contains("not enabled"), "{db}");
    let ct = recorded_as("root@pam!lab", "200").await;
    assert_eq!(row(&ct["addresses"], "interface", &json!("eth0"))["addresses"], "192.168.77.50/24");
    let root = row(&ct["disks"], "disk", &json!("rootfs"));
    assert!(root["size"].is_null() && root["used"].as_str().unwrap().contains("of 252.0 GiB"));
    assert_eq!(
        row(&ct["nics"], "nic", &json!("net0"))["address"],
        "192.168.77.50/24 via 192.168.77.1"
    );
}

#[tokio::test]
async fn a_token_without_the_agents_privilege_is_told_which_one_it_lacks() {
    let web = recorded_as("ops@pve!rw", "100").await;
    assert!(missing(&web).contains("VM.GuestAgent.Audit"), "{web}");
    assert_eq!(web["memory"], "256.0 MiB, fixed (the balloon only reports)");
}

#[tokio::test]
async fn q082_both_forms_of_a_containers_addresses_are_read() {
    let sim = demo().await;
    sim.answer(Rule::get("/nodes/pve1/lxc/200/interfaces").data(&json!([
        { "name": "lo", "hwaddr": "00:00:00:00:00:00", "hardware-address": "00:00:00:00:00:00", "inet": "127.0.0.1/8",
          "ip-addresses": [{ "ip-address": "127.0.0.1", "prefix": 8, "ip-address-type": "inet" }] },
        { "name": "eth0", "hwaddr": "02:00:00:00:00:02", "inet": "192.0.2.21/24", "inet6": "fe80::2/64", "ip-addresses": [] },
    ])));
    let answer = details(&sim, "200").await;
    let addresses = rows(&answer["addresses"]);
    assert_eq!(addresses.len(), 1, "the loopback says nothing: {answer}");
    assert_eq!(
        (&addresses[0]["interface"], &addresses[0]["addresses"]),
        (&json!("eth0"), &json!("192.0.2.21/24"))
    );
    assert_eq!(addresses[0]["mac"], "02:00:00:00:00:02");
}

#[tokio::test]
async fn q083_an_error_of_the_agent_is_a_reason_wherever_it_comes() {
    let sim = demo().await;
    sim.answer(Rule::get("/nodes/pve3/qemu/111/agent/get-osinfo").data(&json!({
        "result": { "error": { "class": "CommandNotFound", "desc": "The command guest-get-osinfo has not been found" } }
    })));
    sim.answer(
        Rule::get("/nodes/pve3/qemu/111/agent/network-get-interfaces")
            .data(&json!({ "result": "unsupported" })),
    );
    let answer = details(&sim, "111").await;
    assert!(answer.get("os").is_none() && answer.get("addresses").is_none());
    assert!(missing(&answer).contains("guest-get-osinfo has not been found"), "{answer}");
    assert!(missing(&answer).contains("addresses from inside"), "{answer}");
    assert_eq!(answer["hostname"], "postgres");
    for (text, reason) in [
        ("No QEMU guest agent configured", "is not enabled in the configuration"),
        ("VM 111 is not running", "VM 111 is not running"),
        ("QEMU guest agent is not running", "is not installed or not running in the VM"),
    ] {
        sim.answer(
            Rule::get("/nodes/pve3/qemu/111/agent/network-get-interfaces").status(500, text),
        );
        let answer = details(&sim, "111").await;
        assert!(missing(&answer).contains(reason), "{text}: {answer}");
        assert_eq!(answer["memory"], "32.0 GiB, balloon may shrink it to 16.0 GiB");
    }
}

#[tokio::test]
async fn q155_notes_of_any_language_are_one_line_of_their_own() {
    let sim = demo().await;
    sim.answer(Rule::get("/nodes/pve3/qemu/111/config").data(&json!({
        "name": "app1", "memory": "2048", "digest": "aa",
        "description": "Felelős: Übung – 🖥 100 %\nline 2\u{1b}[31m",
    })));
    let answer = details(&sim, "111").await;
    assert_eq!(answer["owner_notes"], "Felelős: Übung – 🖥 100 % line 2[31m");
}
