//! Mistakes in settings, and settings without effect: told by every command, whether it needs them or not.

use pve_sim::{Cluster, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET, Rule, Sim};

use crate::process::{program, program_for, run};

#[test]
fn tools_reports_every_mistake_in_a_setting_that_is_given() {
    let (code, stdout, stderr) = run(program().args([
        "tools",
        "--allow-vms",
        "abc",
        "--output",
        "foo",
        "--timezone",
        "Mars/X",
        "--timeout-seconds",
        "abc",
        "--port",
        "x",
    ]));
    assert_eq!((code, stdout.as_str()), (2, ""));
    for variable in
        ["PVE_ALLOW_VMS", "PVE_OUTPUT", "PVE_TIMEZONE", "PVE_TIMEOUT_SECONDS", "PVE_PORT"]
    {
        assert!(stderr.contains(&format!("{variable}: ")), "{variable}: {stderr}");
    }
    assert!(!stderr.contains("it is not set"), "what is missing is not needed here: {stderr}");
}

#[test]
fn parts_of_an_identity_are_no_mistake_where_none_is_needed() {
    for (name, value) in
        [("PVE_TOKEN_ID", "monitor"), ("PVE_USERNAME", "root@pam"), ("PVE_TOKEN_ID", "root@pam!x1")]
    {
        let (code, _, stderr) = run(program().env(name, value).arg("tools"));
        assert_eq!(code, 0, "{name}={value}: {stderr}");
    }
}

#[test]
fn a_choice_that_leaves_no_tool_is_refused_by_every_command() {
    for command in ["tools", "check"] {
        let (code, stdout, stderr) = run(program().args(["--demo", "--tools", "power", command]));
        assert_eq!((code, stdout.as_str()), (2, ""), "{command}");
        assert!(stderr.contains("no tool is left"), "{command}: {stderr}");
    }
}

#[test]
fn a_server_that_is_named_beside_the_demo_is_said_to_be_ignored() {
    for command in [vec!["check"], vec!["tools"], vec!["config", "cursor"]] {
        let flags = ["--demo", "--host", "pve.lan", "--port", "8007"];
        let (code, _, stderr) = run(program().args(flags).args(&command));
        assert_eq!(code, 0, "{stderr}");
        assert!(stderr.contains("--host, --port has no effect: --demo"), "{command:?}: {stderr}");
    }
    let (_, _, stderr) = run(program().args(["--demo", "check"]));
    assert!(!stderr.contains("no effect"), "{stderr}");
}

#[test]
fn a_picture_that_a_tool_does_not_make_is_not_saved_silently() {
    let (code, stdout, stderr) =
        run(program().args(["--demo", "call", "list_vms", "--save", "x.png"]));
    assert_eq!((code, stdout.as_str()), (2, ""));
    assert!(stderr.contains("no picture"), "{stderr}");
}

#[cfg(unix)]
#[test]
fn a_file_of_authorities_that_never_ends_or_is_huge_is_a_mistake_for_every_command() {
    let folder = std::env::temp_dir().join(format!("mcp-proxmox-bound-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (large, pipe) = (folder.join("large"), folder.join("pipe"));
    std::fs::File::create(&large).unwrap().set_len((1 << 20) + 1).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for file in
        [large.to_str().unwrap(), folder.to_str().unwrap(), pipe.to_str().unwrap(), "/dev/zero"]
    {
        for words in [&["check"][..], &["config", "cursor"], &["tools"], &["serve"], &[]] {
            let mut command = program();
            command
                .env("PVE_HOST", "pve.lan")
                .env("PVE_TOKEN_ID", "root@pam!x1")
                .env("PVE_TOKEN_SECRET", "s")
                .env("PVE_TLS_CA_FILE", file);
            let (code, stdout, stderr) = run(command.args(words));
            assert_eq!((code, stdout.as_str()), (2, ""), "{file} {words:?}: {stderr}");
            let told = stderr.contains("PVE_TLS_CA_FILE: `")
                && stderr.contains("it is not a small regular file");
            assert!(told, "{file} {words:?}: {stderr}");
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn everything_that_is_wrong_in_a_list_is_told_at_once() {
    for (variable, value, parts) in [
        (
            "PVE_ALLOW_VMS",
            "200-100,105,tag:,foo",
            &["`200-100` is the wrong way round", "`tag:` names no", "`foo` is not a vmid"][..],
        ),
        ("PVE_PROTECT_VMS", "foo,bar", &["`foo` is not", "`bar` is not"]),
        ("PVE_HOST", "a b,ok,http://c", &["`a b` is not a host name", "write `https://c`"]),
        ("PVE_TLS_SERVER_NAME", "a/b,ok,c/d", &["`a/b`: this is not", "`c/d`: this is not"]),
        ("PVE_TOOLS", "list_vns,list_vms,x", &["did you mean `list_vms`?", "`x`"]),
    ] {
        let (code, _, stderr) = run(program().env(variable, value).arg("tools"));
        assert_eq!(code, 2, "{stderr}");
        for part in parts {
            assert!(stderr.contains(part), "{variable}: {part} is not in {stderr}");
        }
    }
    let many = vec!["foo"; 400].join(",");
    let (_, _, stderr) = run(program().env("PVE_ALLOW_VMS", many).arg("tools"));
    assert!(stderr.contains("; and 395 more") && stderr.len() < 1500, "{stderr}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_zone_of_this_machine_that_cannot_be_read_is_told() {
    let told = |zone: &str| {
        let mut command = program();
        run(command.args(["--demo", "check"]).env("PVE_TIMEZONE", "local").env("TZ", zone)).2
    };
    assert!(told("Nowhere/At_All").contains("warning: PVE_TIMEZONE=local"));
    let fine = told("Europe/Berlin");
    assert!(!fine.contains("warning"), "{fine}");
}

/// What `check` says of a server that answers so, with one setting more.
fn checked(sim: &Sim, more: &[(&str, &str)]) -> String {
    let mut command = program_for(sim, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET);
    let command = command.envs(more.iter().copied()).arg("check");
    let (code, stdout, _) = tokio::task::block_in_place(|| run(command));
    assert_eq!(code, 1, "{stdout}");
    stdout
}

#[tokio::test(flavor = "multi_thread")]
async fn hints_of_check_lead_somewhere_whatever_pve_answers() {
    for (path, rule, expected) in [
        ("/version", Rule::get("/version").lost(), "another node in PVE_HOST may answer"),
        (
            "/version",
            Rule::get("/version").status(500, "internal error").body("{\"data\":null}"),
            "hint: PVE itself failed: `journalctl -u pveproxy",
        ),
        (
            "/version",
            Rule::get("/version").status(403, "Permission check failed").body("{\"data\":null}"),
            "something in front of it refused",
        ),
        (
            "/access/permissions",
            Rule::get("/access/permissions").lost(),
            "`systemctl restart pveproxy pvedaemon` does no harm",
        ),
    ] {
        let sim = Sim::start(Cluster::demo()).await.unwrap();
        sim.answer(rule);
        let told = checked(&sim, &[]);
        assert!(told.contains(expected), "{path}: {told}");
        assert!(!told.contains("list_nodes"), "a tool is no help at a shell: {told}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_trusts_an_authority_is_told_that_a_fingerprint_takes_its_place() {
    let sim = Sim::start(Cluster::demo()).await.unwrap();
    let file = std::env::temp_dir().join(format!("mcp-proxmox-instead-{}", std::process::id()));
    std::fs::write(&file, sim.ca_pem()).unwrap();
    let told = checked(
        &sim,
        &[
            ("PVE_TLS_FINGERPRINT", ""),
            ("PVE_TLS_CA_FILE", file.to_str().unwrap()),
            ("PVE_TLS_SERVER_NAME", "other.lan"),
        ],
    );
    std::fs::remove_file(&file).unwrap();
    let hint = told.split("hint: ").nth(1).unwrap();
    assert!(hint.contains("PVE_TLS_FINGERPRINT (instead of PVE_TLS_CA_FILE, where"), "{told}");
}
