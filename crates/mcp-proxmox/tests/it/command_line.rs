//! The program as people and scripts use it.

use pve_sim::{Cluster, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET, Rule, Sim};
use serde_json::{Value, json};

use crate::process::{program, program_for, run};

#[test]
fn the_demo_answers_without_any_settings() {
    let (code, stdout, stderr) = run(program().args(["--demo", "call", "list_vms"]));
    assert_eq!(code, 0, "{stderr}");
    assert!(stdout.contains("vmid") && stdout.contains("running"), "{stdout}");
    let (code, stdout, _) = run(program().args(["--demo", "call", "list_vms", "--json"]));
    assert_eq!(code, 0);
    let answer: Value = serde_json::from_str(&stdout).unwrap();
    assert!(answer["total"].as_u64().unwrap() > 10);
}

#[test]
fn a_failed_call_is_told_on_standard_error_and_by_the_exit_code() {
    let (code, stdout, stderr) =
        run(program().args(["--demo", "call", "get_vm_status", "vm=99999"]));
    assert_eq!(code, 1);
    assert!(stdout.is_empty());
    assert!(
        stderr.contains("there is no VM or container 99999") && stderr.contains("hint:"),
        "{stderr}"
    );
}

#[test]
fn mistakes_in_the_call_of_the_program_are_two() {
    for arguments in [
        vec!["--demo", "call", "list_vm"],
        vec!["--demo", "call", "list_vms", "x"],
        vec!["nonsense"],
        vec!["--no-such-flag"],
    ] {
        let (code, stdout, stderr) = run(program().args(&arguments));
        assert_eq!(code, 2, "{arguments:?}: {stderr}");
        assert!(stdout.is_empty());
    }
}

#[test]
fn a_wrong_configuration_ends_with_everything_that_is_wrong() {
    let (code, stdout, stderr) =
        run(program().env("PVE_HOST", "http://pve").env("PVE_PORT", "x").arg("check"));
    assert_eq!(code, 2);
    assert!(stdout.is_empty());
    for variable in ["PVE_HOST: ", "PVE_PORT: ", "PVE_TOKEN_ID: ", "PVE_TOKEN_SECRET: "] {
        assert!(stderr.contains(variable), "{stderr}");
    }
}

#[test]
fn flags_win_over_the_environment() {
    let command = &mut program();
    command
        .env("PVE_HOST", "from-the-environment")
        .env("PVE_TOKEN_ID", "root@pam!x1")
        .env("PVE_TOKEN_SECRET", "s");
    let (_, stdout, _) = run(command.args(["--host", "127.0.0.1:9", "check"]));
    assert!(stdout.contains("127.0.0.1:9") && !stdout.contains("from-the-environment"), "{stdout}");
}

#[test]
fn help_names_every_setting_and_shows_how_to_begin() {
    let (code, help, _) = run(program().arg("--help"));
    assert_eq!(code, 0);
    for setting in mcp_proxmox::config::settings::ALL {
        assert!(help.contains(setting.variable), "{} is not in --help", setting.variable);
    }
    for word in ["check", "tools", "call", "--demo", "mcp-proxmox --demo call list_vms"] {
        assert!(help.contains(word), "{word}");
    }
    let (code, version, _) = run(program().arg("--version"));
    assert_eq!((code, version.trim()), (0, concat!("mcp-proxmox ", env!("CARGO_PKG_VERSION"))));
}

#[test]
fn the_help_of_a_command_is_about_that_command() {
    for command in ["call", "tools", "check", "serve"] {
        let (code, help, _) = run(program().args([command, "--help"]));
        assert_eq!(code, 0);
        assert!(!help.contains("PVE_TOKEN_ID"), "{help}");
        assert!(help.contains("`mcp-proxmox --help`"), "{help}");
    }
    // Hidden from its help is not hidden from use.
    let (_, stdout, _) = run(program().args(["tools", "--json", "--tools", "list_vms"]));
    assert!(stdout.contains("list_vms") && !stdout.contains("list_nodes"), "{stdout}");
}

#[test]
fn the_help_of_call_names_every_exit_code() {
    let (_, help, _) = run(program().args(["call", "--help"]));
    let codes = help.split("Exit codes: ").nth(1).unwrap();
    for code in ["0 done", "1 failed", "2 wrong", "3 a write", "129, 130 and 143"] {
        let said = codes.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains(code), "{code}: {help}");
    }
}

#[test]
fn where_a_picture_was_saved_is_told_beside_the_answer() {
    let file = std::env::temp_dir().join(format!("mcp-proxmox-save-{}.png", std::process::id()));
    let mut command = program();
    command.args(["--demo", "call", "get_vm_screenshot", "vm=101", "--save"]).arg(&file);
    let (code, stdout, stderr) = run(&mut command);
    assert_eq!(code, 0, "{stderr}");
    assert!(std::fs::read(&file).unwrap().starts_with(b"\x89PNG"));
    std::fs::remove_file(&file).unwrap();
    let told = format!("the picture was written to `{}`", file.display());
    assert!(stderr.contains(&told) && !stdout.contains(&told), "{stderr}");
}

#[test]
fn the_demo_cluster_is_not_taken_for_a_real_one() {
    let (code, stdout, _) = run(program().args(["--demo", "check"]));
    assert_eq!(code, 0);
    assert!(stdout.contains("simulated demo cluster"), "{stdout}");
}

#[test]
fn tools_are_listed_without_access_to_pve() {
    let (code, stdout, _) = run(program().arg("tools"));
    assert_eq!(code, 0);
    for entry in mcp_proxmox::catalog::ALL
        .iter()
        .filter(|entry| entry.level == mcp_proxmox::tier::Level::Read)
    {
        assert!(stdout.contains(entry.name));
    }
    assert!(stdout.contains("type=qemu|lxc"), "{stdout}");
    let (_, stdout, _) = run(program().args(["tools", "--json"]).env("PVE_TOOLS", "list_vms"));
    let tools: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(tools.as_array().unwrap().len(), 1);
    let (code, _, stderr) = run(program().args(["tools", "--tools", "list_vns"]));
    assert_eq!(code, 2);
    assert!(stderr.contains("did you mean `list_vms`?"), "{stderr}");
}

#[tokio::test(flavor = "multi_thread")]
async fn check_says_ok_step_by_step() {
    let sim = Sim::start(Cluster::demo()).await.unwrap();
    let (code, stdout, stderr) = tokio::task::block_in_place(|| {
        run(program_for(&sim, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET).arg("check"))
    });
    assert_eq!(code, 0, "{stdout}{stderr}");
    for line in
        ["address     ok", "TLS         ok", "API         ok", "token       ok", "Proxmox VE 9."]
    {
        assert!(stdout.contains(line), "{stdout}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn check_counts_where_writes_may_act_so_that_a_misspelt_guard_is_seen() {
    let sim = Sim::start(Cluster::demo()).await.unwrap();
    let checked = |more: &[(&str, &str)]| {
        let mut command = program_for(&sim, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET);
        command.envs(more.iter().copied()).arg("check");
        tokio::task::block_in_place(|| run(&mut command)).1
    };
    assert!(!checked(&[("PVE_PROTECT_VMS", "100")]).contains("writes "), "there are none");
    let n = sim.change(|cluster| cluster.guests.len());
    let told = checked(&[
        ("PVE_ACCESS_TIER", "write"),
        ("PVE_ALLOW_VMS", "100,101,tag:staging"),
        ("PVE_PROTECT_VMS", "100,pool:prodcution"),
    ]);
    let wanted = format!(
        "writes      on 2 of {n} VMs and containers that the token sees (not: {} by the settings); a person is asked before what may lose something; not recorded\n\
         \x20           PVE_ALLOW_VMS: 100 matches 1\n\
         \x20           PVE_ALLOW_VMS: 101 matches 1\n\
         \x20           PVE_ALLOW_VMS: tag:staging matches 1\n\
         \x20           PVE_PROTECT_VMS: 100 matches 1\n\
         \x20           PVE_PROTECT_VMS: pool:prodcution matches nothing: is it spelled as in PVE?\n",
        n - 2
    );
    assert!(told.contains(&wanted), "{told}");
    let n_templates =
        sim.change(|cluster| cluster.guests.iter().filter(|guest| guest.template).count());
    let told = checked(&[("PVE_ACCESS_TIER", "write"), ("PVE_CONFIRM", "never")]);
    let counted = format!(
        "on {} of {n} VMs and containers that the token sees (not: {n_templates} as templates); nobody is asked",
        n - n_templates
    );
    assert!(n_templates > 0 && told.contains(&counted), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn check_does_not_count_where_the_token_may_not_act() {
    let sim = Sim::start(Cluster::demo()).await.unwrap();
    let n = sim.change(|cluster| cluster.guests.len());
    let see = json!({ "VM.Audit": 1, "Sys.Audit": 1, "Datastore.Audit": 1 });
    let act = json!({ "VM.Audit": 1, "VM.PowerMgmt": 1 });
    let typing = json!({ "VM.Audit": 1, "VM.Console": 1 });
    let rights = json!({ "/": see, "/vms": see, "/nodes": see, "/storage": see, "/vms/100": act, "/vms/101": typing });
    sim.answer(Rule::get("/access/permissions").data(&rights));
    let mut command = program_for(&sim, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET);
    command.envs([("PVE_ACCESS_TIER", "write"), ("PVE_ALLOW_VMS", "100,101")]).arg("check");
    let told = tokio::task::block_in_place(|| run(&mut command)).1;
    let counted = format!(
        "writes      on 1 of {n} VMs and containers that the token sees (not: {} by the settings, 1 for want of VM.PowerMgmt); on 1 more it may type (VM.Console); ",
        n - 2
    );
    assert!(told.contains(&counted), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_that_fails_for_want_of_rights_says_that_it_failed() {
    let sim = Sim::start(Cluster::demo()).await.unwrap();
    let check = || {
        let mut command = program_for(&sim, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET);
        tokio::task::block_in_place(|| run(command.arg("check")))
    };
    let (code, told, _) = check();
    assert!(code == 0 && !told.contains("FAILED"), "{told}");
    sim.answer(Rule::get("/access/permissions").data(&json!({ "/vms": { "VM.Audit": 1 } })));
    let (code, told, _) = check();
    let last = told.lines().last().unwrap_or_default();
    assert!(
        code == 1 && last.starts_with("rights      FAILED: the token sees nothing of "),
        "{told}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flag_wins_over_a_variable_that_says_the_same_otherwise() {
    let sim = Sim::start(Cluster::demo()).await.unwrap();
    let secret = std::env::temp_dir().join(format!("mcp-proxmox-flag-{}", std::process::id()));
    std::fs::write(&secret, DEMO_TOKEN_SECRET).unwrap();
    let mut command = program_for(&sim, DEMO_TOKEN_ID, "of another token");
    command.env_remove("PVE_TLS_FINGERPRINT").env("PVE_TLS_CA_FILE", "/nowhere/ca.pem");
    command.arg("--token-secret-file").arg(&secret);
    command.args(["--tls-fingerprint", sim.fingerprint(), "check"]);
    let (code, stdout, stderr) = tokio::task::block_in_place(|| run(&mut command));
    std::fs::remove_file(&secret).unwrap();
    assert_eq!(code, 0, "{stdout}{stderr}");
}

#[tokio::test(flavor = "multi_thread")]
async fn check_says_where_it_fails() {
    let sim = Sim::start(Cluster::demo()).await.unwrap();
    let (code, stdout, _) = tokio::task::block_in_place(|| {
        run(program_for(&sim, DEMO_TOKEN_ID, "wrong-secret").arg("check"))
    });
    assert_eq!(code, 1);
    assert!(stdout.contains("TLS         ok") && stdout.contains("token       FAILED"), "{stdout}");

    let mut command = program_for(&sim, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET);
    let (code, stdout, _) =
        tokio::task::block_in_place(|| run(command.env_remove("PVE_TLS_FINGERPRINT").arg("check")));
    assert_eq!(code, 1);
    assert!(stdout.contains("address     ok") && stdout.contains("TLS         FAILED"), "{stdout}");
    assert!(
        stdout.contains(sim.fingerprint()),
        "the fingerprint to compare and pin is shown: {stdout}"
    );

    assert!(!stdout.contains("API at"), "there is no path to show: {stdout}");
    let port = sim.port();
    drop(sim);
    let mut command = program();
    command
        .env("PVE_HOST", format!("127.0.0.1:{port}"))
        .env("PVE_TOKEN_ID", DEMO_TOKEN_ID)
        .env("PVE_TOKEN_SECRET", "s");
    let (code, stdout, _) = tokio::task::block_in_place(|| run(command.arg("check")));
    assert_eq!(code, 1);
    assert!(
        stdout.contains("address     FAILED") && stdout.contains("TLS         not reached"),
        "{stdout}"
    );
    assert!(stdout.contains("hint: ") && !stdout.contains("mcp-proxmox check"), "{stdout}");
    assert!(stdout.contains("a tunnel may be down"), "{stdout}");
    let hosts = format!("127.0.0.1:{port}, https://127.0.0.1:{port}/pve");
    let (_, stdout, _) = tokio::task::block_in_place(|| run(command.env("PVE_HOST", hosts)));
    let shown = format!("access tier read; API at https://127.0.0.1:{port}/pve/api2/json\n");
    assert!(stdout.contains(&shown), "{stdout}");
}

#[test]
fn a_host_that_accepts_and_says_nothing_is_not_called_off() {
    // The system accepts for it; nobody ever reads.
    let mute = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut command = program();
    command
        .env("PVE_HOST", mute.local_addr().unwrap().to_string())
        .env("PVE_TOKEN_ID", DEMO_TOKEN_ID)
        .env("PVE_TOKEN_SECRET", "s")
        .env("PVE_TIMEOUT_SECONDS", "5");
    let (code, stdout, _) = run(command.arg("check"));
    assert_eq!(code, 1);
    assert!(stdout.contains("address     ok") && stdout.contains("TLS         FAILED"), "{stdout}");
    assert!(stdout.contains(mcp_proxmox::cli::MUTE), "{stdout}");
    assert!(!stdout.contains("mcp-proxmox check"), "{stdout}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_api_is_not_blamed_on_the_token() {
    let sim = Sim::start(Cluster::demo()).await.unwrap();
    sim.answer(Rule::get("/version").status(502, "Bad Gateway").body("<html>nginx</html>"));
    let (code, stdout, _) = tokio::task::block_in_place(|| {
        run(program_for(&sim, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET).arg("check"))
    });
    assert_eq!(code, 1);
    assert!(stdout.contains("API         FAILED"), "{stdout}");
    assert!(stdout.contains("token       not reached"), "{stdout}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_told_and_ends_with_a_code() {
    for arguments in [
        vec!["--demo", "call", "list_vms"],
        vec!["--demo", "call", "list_vms", "--json"],
        vec!["--demo", "check"],
        vec!["tools"],
        vec!["tools", "--json"],
        vec!["--help"],
        vec!["--version"],
    ] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = program().args(&arguments).stdout(full).output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {told}");
        assert!(told.contains("cannot be written to standard output"), "{arguments:?}: {told}");
    }
}

#[test]
fn a_reader_that_has_seen_enough_is_no_mistake() {
    let mut child = program()
        .args(["tools", "--json"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stderr.is_empty());
}

#[test]
fn a_misspelt_variable_is_told_before_the_mistakes_that_come_of_it() {
    let mut command = program();
    command
        .env("PVE_HOST", "pve.lan")
        .env("PVE_TOKEN_ID", "root@pam!x1")
        .env("PVE_TOKEN_SECERT", "5ec2e7aa-0b5c")
        .env("PVE_SOMETHING_ELSE", "x");
    let (code, _, told) = run(command.arg("check"));
    assert_eq!(code, 2);
    assert!(told.contains("`PVE_TOKEN_SECERT`: did you mean `PVE_TOKEN_SECRET`?"), "{told}");
    assert!(told.contains("PVE_TOKEN_SECRET: it is not set"), "{told}");
    assert!(!told.contains("5ec2e7aa") && !told.contains("SOMETHING_ELSE"), "{told}");
}

#[test]
fn a_server_that_may_write_does_not_start_with_a_misspelt_guard() {
    for command in
        [&[][..], &["serve"], &["check"], &["tools"], &["call", "list_vms"], &["config", "cursor"]]
    {
        let told = |tier: &str| {
            let mut command_line = program();
            command_line.env("PVE_PROTECTED_VMS", "100").env("PVE_ACCESS_TIER", tier);
            run(command_line.arg("--demo").args(command))
        };
        let (code, stdout, stderr) = told("write");
        assert_eq!((code, stdout.as_str()), (2, ""), "{command:?}: {stderr}");
        assert!(stderr.contains("  PVE_PROTECTED_VMS: there is no such setting"), "{stderr}");
        assert!(stderr.contains("did you mean `PVE_PROTECT_VMS`?"), "{stderr}");
        let (code, _, stderr) = told("read");
        assert_eq!(code, 0, "{command:?}: {stderr}");
        assert!(stderr.contains("warning: there is no setting `PVE_PROTECTED_VMS`"), "{stderr}");
    }
}

#[test]
fn a_list_is_written_with_commas_or_by_repeating_its_name() {
    let told = |words: &[&str]| {
        let mut command = program();
        command.args(["--demo", "call", "list_tasks", "since=30d"]).args(words);
        let (code, stdout, stderr) = run(&mut command);
        assert_eq!(code, 0, "{words:?}: {stderr}");
        ["UPID:pve1:", "UPID:pve2:", "UPID:pve3:"].map(|begin| stdout.matches(begin).count())
    };
    let both = told(&["nodes=pve1,pve2"]);
    assert_eq!(both, told(&["nodes=pve1", "nodes=pve2"]));
    assert_eq!(both, told(&[r#"nodes=["pve1","pve2"]"#]));
    assert!(both[0] > 0 && both[1] > 0 && both[2] == 0, "{both:?}");
}
