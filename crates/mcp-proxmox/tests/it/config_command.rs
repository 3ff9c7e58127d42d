//! `mcp-proxmox config` as users run it: in a home of its own, for every client, and with what it prints started.

mod again;
mod clusters;
#[cfg(unix)]
mod files;

use std::{fs, path::PathBuf, process::Command};

use pve_sim::{Cluster, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET, Sim};
use serde_json::{Value, json};

use crate::process::{Program, program, program_for, run};

const CLIENTS: [&str; 9] = [
    "claude-code",
    "claude-desktop",
    "cursor",
    "vscode",
    "opencode",
    "codex",
    "gemini",
    "zed",
    "windsurf",
];
const SECRET: &str = "12345678-abcd-4bcd-8bcd-123456789abc";

/// A folder that is gone at the end of the test.
struct Home(PathBuf);

impl Home {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("mcp-proxmox-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// `config` with these words, as somebody whose home this is.
    fn config(&self, words: &[&str]) -> Command {
        let mut command = program();
        for name in ["XDG_CONFIG_HOME", "CODEX_HOME", "CLAUDE_CONFIG_DIR"] {
            command.env_remove(name);
        }
        for name in ["HOME", "USERPROFILE", "APPDATA"] {
            command.env(name, &self.0);
        }
        command
            .env("PVE_HOST", "pve1.lan")
            .env("PVE_TOKEN_ID", "mcp@pve!monitor")
            .env("PVE_TOKEN_SECRET", SECRET);
        command.arg("config").args(words);
        command
    }

    /// Writes a file below it.
    fn put(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// The names in the folder of a file.
    fn beside(&self, name: &str) -> Vec<String> {
        let folder = self.0.join(name).parent().unwrap().to_owned();
        let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<_> = names.map(|name| name.to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn every_client_is_told_how_to_start_the_server_in_each_way_and_no_secret() {
    let home = Home::new("print");
    let own = format!("mcp-proxmox{}\"", std::env::consts::EXE_SUFFIX);
    for client in CLIENTS {
        for (way, sign) in [
            ("binary", own.as_str()),
            ("npx", "@drmfar/mcp-proxmox@"),
            ("docker", "ghcr.io/drmfar/mcp-proxmox:"),
        ] {
            let (code, stdout, stderr) = run(&mut home.config(&[client, "--via", way]));
            assert_eq!(code, 0, "{client} {way}: {stderr}");
            for part in [sign, "pve1.lan", "mcp@pve!monitor"] {
                assert!(stdout.contains(part), "{client} {way}: no {part} in {stdout}");
            }
            assert!(
                !stdout.contains(SECRET) && !stderr.contains(SECRET),
                "{client} {way}: {stdout}"
            );
            assert!(
                stdout.contains("PVE_TOKEN_SECRET"),
                "{client} {way}: where is the secret? {stdout}"
            );
            if client != "codex" {
                let _: Value = serde_json::from_str(&stdout).unwrap();
            }
        }
        let (_, stdout, stderr) = run(&mut home.config(&[client, "--with-secret"]));
        assert!(stdout.contains(SECRET), "{client}: it was asked for");
        assert!(stderr.contains("the token's secret is in it"), "{stderr}");
    }
    assert!(fs::read_dir(&home.0).unwrap().next().is_none(), "nothing is written unless asked");
}

#[test]
fn the_secrets_file_is_named_where_there_is_one() {
    let home = Home::new("secret-file");
    let file = home.put("token", SECRET);
    for client in CLIENTS {
        let mut command = home.config(&[client]);
        command.env_remove("PVE_TOKEN_SECRET").env("PVE_TOKEN_SECRET_FILE", &file);
        let (code, stdout, stderr) = run(&mut command);
        assert_eq!(code, 0, "{stderr}");
        assert!(stdout.contains("PVE_TOKEN_SECRET_FILE") && !stdout.contains("input"), "{stdout}");
        assert_eq!(stdout.matches("PVE_TOKEN_SECRET").count(), 1, "{stdout}");
        let (_, stdout, stderr) = run(command.arg("--with-secret"));
        assert!(!stdout.contains(SECRET), "it is not read: {stdout}");
        assert!(stderr.contains("the secret stays in the file"), "{stderr}");
    }
    let (_, help, _) = run(&mut home.config(&["--help"]));
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(help.contains("; one that PVE_TOKEN_SECRET_FILE names stays there"), "{help}");
}

#[test]
fn a_client_that_fills_nothing_in_is_told_of_a_file_which_is_asked_for_only_where_it_is_not_there()
{
    let home = Home::new("usual-file");
    let (_, stdout, stderr) = run(&mut home.config(&["zed"]));
    assert!(stdout.contains("pve-token") && stderr.contains("put it into"), "{stderr}");
    home.put(".config/pve-token", SECRET);
    let (_, stdout, stderr) = run(&mut home.config(&["zed"]));
    assert!(stdout.contains("pve-token") && !stderr.contains("put it into"), "{stderr}");
    assert!(stderr.contains("it is read from"), "{stderr}");
}

#[cfg(target_os = "linux")]
#[test]
fn each_client_has_its_file_where_it_looks_for_it() {
    for (client, file) in [
        ("claude-code", ".claude.json"),
        ("claude-desktop", ".config/Claude/claude_desktop_config.json"),
        ("cursor", ".cursor/mcp.json"),
        ("vscode", ".config/Code/User/mcp.json"),
        ("opencode", ".config/opencode/opencode.json"),
        ("codex", ".codex/config.toml"),
        ("gemini", ".gemini/settings.json"),
        ("zed", ".config/zed/settings.json"),
        ("windsurf", ".codeium/windsurf/mcp_config.json"),
    ] {
        let home = Home::new(client);
        let (code, stdout, stderr) = run(&mut home.config(&[client, "--write"]));
        assert_eq!(code, 0, "{stderr}");
        let path = home.0.join(file);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains("pve1.lan") && !text.contains(SECRET), "{text}");
        assert!(stdout.contains(path.to_str().unwrap()) && stdout.contains("next: "), "{stdout}");
        let mode =
            std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&path).unwrap().permissions());
        assert_eq!(mode & 0o777, 0o600);
        let (_, stdout, _) = run(&mut home.config(&[client, "--write"]));
        assert!(stdout.contains("nothing was written"), "{stdout}");
        assert_eq!(home.beside(file).len(), 1, "no copy of nothing");
    }
}

#[test]
fn a_file_with_comments_gets_the_server_and_keeps_everything() {
    let home = Home::new("merge");
    let text = "// mine\n{\n    \"vim_mode\": true, // always\n    \"context_servers\": {\n        \"other\": { \"command\": \"x\", }, /* keep */\n    },\n}\n";
    let file = home.put("settings.json", text);
    let words = ["zed", "--write", "--file", file.to_str().unwrap()];
    let (code, stdout, stderr) = run(&mut home.config(&words));
    assert_eq!(code, 0, "{stderr}");
    let after = fs::read_to_string(&file).unwrap();
    let (before_it, after_it) =
        text.split_at(text.find(" /* keep */").unwrap() + " /* keep */".len());
    assert!(after.starts_with(before_it) && after.ends_with(after_it), "{after}");
    assert!(after.contains("\n        \"proxmox\": {\n            \"command\": "), "{after}");
    let copy = home.0.join("settings.json.backup-1");
    assert_eq!(fs::read_to_string(&copy).unwrap(), text);
    assert!(stdout.contains("settings.json.backup-1"), "{stdout}");
    // Every change has a copy of its own.
    let (code, ..) = run(home.config(&words).args(["--name", "second"]));
    assert_eq!(code, 0);
    assert_eq!(fs::read_to_string(copy).unwrap(), text);
    assert_eq!(fs::read_to_string(home.0.join("settings.json.backup-2")).unwrap(), after);
    assert_eq!(home.beside("settings.json").len(), 3, "nothing else is left behind");
}

#[test]
fn another_server_of_that_name_stays_unless_it_is_to_be_replaced() {
    let home = Home::new("taken");
    let text = json!({ "mcpServers": { "proxmox": { "command": "mine" } }, "more": 1 }).to_string();
    let file = home.put(".cursor/mcp.json", &text);
    let (code, stdout, stderr) = run(&mut home.config(&["cursor", "--write"]));
    assert_eq!(code, 1);
    assert!(
        stdout.is_empty() && stderr.contains("--replace") && stderr.contains("\"pve1.lan\""),
        "{stderr}"
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
    assert_eq!(home.beside(".cursor/mcp.json"), ["mcp.json"]);
    assert!(
        !stderr.contains("put this in yourself") && stderr.contains("--name"),
        "it is there already, so that is no advice: {stderr}"
    );
    let (code, ..) = run(&mut home.config(&["cursor", "--write", "--replace"]));
    assert_eq!(code, 0);
    let after: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(after["more"], 1);
    assert_eq!(after["mcpServers"]["proxmox"]["env"]["PVE_HOST"], "pve1.lan");
    assert_eq!(home.beside(".cursor/mcp.json"), ["mcp.json", "mcp.json.backup-1"]);
}

#[test]
fn a_file_that_cannot_be_read_is_left_alone_and_the_text_to_put_in_is_shown() {
    let home = Home::new("broken");
    for (client, file, text, told) in [
        (
            "gemini",
            ".gemini/settings.json",
            "{ \"a\": 1, oops }",
            "line 1: a name in quotes is missing",
        ),
        (
            "windsurf",
            ".codeium/windsurf/mcp_config.json",
            "{ \"mcpServers\": [] }",
            "is not an object",
        ),
        ("codex", ".codex/config.toml", "a = = 1\n", "cannot be read as TOML"),
    ] {
        let path = home.put(file, text);
        let (code, stdout, stderr) = run(&mut home.config(&[client, "--write"]));
        assert_eq!((code, stdout.as_str()), (1, ""), "{stderr}");
        for part in [told, "was not changed", "put this in yourself", "pve1.lan"] {
            assert!(stderr.contains(part), "{part} is not in {stderr}");
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        assert_eq!(home.beside(file).len(), 1);
    }
}

#[test]
fn mistakes_in_the_settings_are_told_before_anything_is_written() {
    let home = Home::new("mistakes");
    let (code, _, stderr) = run(home.config(&["cursor", "--write"]).env("PVE_PORT", "x"));
    assert_eq!(code, 2);
    assert!(stderr.contains("PVE_PORT: "), "{stderr}");
    let (code, _, stderr) = run(home.config(&["cursor", "--write"]).env_remove("PVE_HOST"));
    assert_eq!(code, 2);
    assert!(stderr.contains("PVE_HOST: "), "no example is written: {stderr}");
    for words in [vec!["cursor", "--name", "a b"], vec!["emacs"], vec!["cursor", "--via", "pigeon"]]
    {
        assert_eq!(run(&mut home.config(&words)).0, 2, "{words:?}");
    }
    assert!(fs::read_dir(&home.0).unwrap().next().is_none());
    let (code, stdout, stderr) = run(home.config(&["cursor"]).env_remove("PVE_HOST"));
    assert_eq!(code, 0);
    assert!(stdout.contains("pve.lan") && stderr.contains("PVE_HOST is not set"), "{stderr}");
}

#[test]
fn a_tilde_in_a_setting_is_the_home_folder_in_what_a_client_is_told() {
    let home = Home::new("tilde");
    let file = home.put("token", SECRET);
    let mut command = home.config(&["cursor"]);
    command.env_remove("PVE_TOKEN_SECRET").env("PVE_TOKEN_SECRET_FILE", "~/token");
    let (code, stdout, stderr) = run(&mut command);
    assert_eq!(code, 0, "{stderr}");
    let written: Value = serde_json::from_str(&stdout).unwrap();
    let told = &written["mcpServers"]["proxmox"]["env"]["PVE_TOKEN_SECRET_FILE"];
    assert_eq!(told.as_str(), file.to_str());
}

/// What is printed for a server, and what is said beside it.
fn entry_of(command: &mut Command) -> (Value, String) {
    let (code, stdout, stderr) = run(command);
    assert_eq!(code, 0, "{stderr}");
    let printed: Value = serde_json::from_str(&stdout).unwrap();
    (printed["mcpServers"]["proxmox"].clone(), stderr)
}

/// What its program is started with.
fn arguments_of(entry: &Value) -> Vec<&str> {
    entry["args"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect()
}

#[test]
fn a_container_is_handed_the_files_that_the_settings_name() {
    let home = Home::new("docker");
    let file = home.put("token", SECRET);
    // The settings are checked as for a start: the audit log has to be writable.
    fs::create_dir_all(home.0.join("log")).unwrap();
    let mut command = home.config(&["cursor", "--via", "docker"]);
    command
        .env_remove("PVE_TOKEN_SECRET")
        .env("PVE_TOKEN_SECRET_FILE", &file)
        .env("PVE_AUDIT_LOG", home.0.join("log/audit.jsonl"));
    let (entry, stderr) = entry_of(&mut command);
    let arguments = arguments_of(&entry);
    assert!(
        arguments.contains(&&*format!(
            "type=bind,source={},target=/run/mcp-proxmox/token,readonly",
            file.display()
        )),
        "{arguments:?}"
    );
    let log = home.0.join("log/audit.jsonl");
    let mount = format!("type=bind,source={},target=/audit/audit.jsonl", log.display());
    assert!(arguments.contains(&&*mount), "{arguments:?}");
    assert!(!arguments.contains(&"--volume"), "that makes a folder where there is no file");
    assert!(stderr.contains("audit.jsonl is not there"), "{stderr}");
    assert!(!log.exists(), "what is only printed makes no file");
    let folder = home.0.join("log").display().to_string();
    let whole =
        arguments.iter().filter(|word| word.contains(&folder) && !word.contains("audit.jsonl"));
    assert_eq!(whole.count(), 0, "its folder may hold anything: {arguments:?}");
    assert!(stderr.contains("nothing beside it") && stderr.contains("copytruncate"), "{stderr}");
    assert_eq!(entry["env"]["PVE_TOKEN_SECRET_FILE"], "/run/mcp-proxmox/token");
    assert_eq!(entry["env"]["PVE_AUDIT_LOG"], "/audit/audit.jsonl");
    assert!(arguments.last().unwrap().starts_with("ghcr.io/"), "{arguments:?}");
    let (code, _, stderr) = run(command.arg("--write"));
    assert_eq!(code, 0, "{stderr}");
    assert!(log.is_file(), "it is there, or the engine would refuse to start");
    assert!(!stderr.contains("is not there"), "{stderr}");
}

#[test]
fn an_address_of_this_machine_is_told_to_be_the_containers_own_there() {
    let home = Home::new("loopback");
    let told = |host: &str, via: &str, more: &[&str]| {
        let mut command = home.config(&["cursor", "--via", via]);
        let (code, _, stderr) = run(command.args(more).env("PVE_HOST", host));
        assert_eq!(code, 0, "{host}: {stderr}");
        stderr.contains("is the container itself")
            && stderr.contains("host.docker.internal")
            && stderr.contains("--network host")
    };
    for host in ["127.0.0.1", "https://[::1]:8006", "localhost:8007", "pve1.lan,localhost"] {
        assert!(told(host, "docker", &[]), "{host}");
        assert!(!told(host, "npx", &[]), "{host}: that sees what this machine sees");
    }
    assert!(!told("pve1.lan", "docker", &[]));
    assert!(!told("localhost", "docker", &["--demo"]), "the demo asks no host");
    assert!(told("localhost", "docker", &["--write"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_client_is_told_starts_the_server_with_the_users_settings() {
    let sim = Sim::start(Cluster::demo()).await.unwrap();
    tokio::task::block_in_place(|| {
        let mut command = program_for(&sim, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET);
        let (code, stdout, stderr) =
            run(command.args(["config", "cursor", "--with-secret", "--access-tier", "write"]));
        assert_eq!(code, 0, "{stderr}");
        let written: Value = serde_json::from_str(&stdout).unwrap();
        let entry = &written["mcpServers"]["proxmox"];
        let mut command = program();
        assert_eq!(entry["command"].as_str(), command.get_program().to_str());
        for (name, value) in entry["env"].as_object().unwrap() {
            command.env(name, value.as_str().unwrap());
        }
        command.args(entry["args"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()));
        let mut server = Program::start(&mut command);
        server.initialize("2025-11-25");
        let tools = server.request("tools/list", json!({}));
        assert!(tools.to_string().contains("start_vm"), "the flag came through");
        let answer = server.call("list_nodes", json!({}));
        assert_ne!(answer["result"]["isError"], true, "{answer}");
    });
}

#[test]
fn the_demo_is_told_without_any_setting() {
    let home = Home::new("demo");
    let (code, stdout, _) = run(home.config(&["claude-desktop", "--demo"]).env_remove("PVE_HOST"));
    assert_eq!(code, 0);
    let written: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(written["mcpServers"]["proxmox"]["args"], json!(["--demo"]));
    assert_eq!(written["mcpServers"]["proxmox"]["env"], json!({}));
}

#[test]
fn the_demo_keeps_the_settings_that_are_not_of_the_connection() {
    let home = Home::new("demo-settings");
    let flags =
        ["claude-desktop", "--demo", "--access-tier", "write", "--timezone", "Europe/Berlin"];
    let (code, stdout, stderr) = run(&mut home.config(&flags));
    assert_eq!(code, 0, "{stderr}");
    let written: Value = serde_json::from_str(&stdout).unwrap();
    let wanted = json!({ "PVE_ACCESS_TIER": "write", "PVE_TIMEZONE": "Europe/Berlin" });
    assert_eq!(written["mcpServers"]["proxmox"]["env"], wanted);
    let (code, _, stderr) = run(&mut home.config(&["cursor", "--demo", "--output", "foo"]));
    assert_eq!(code, 2);
    assert!(stderr.contains("PVE_OUTPUT: "), "{stderr}");
}

#[test]
fn a_home_that_is_not_known_is_not_told_as_a_place() {
    let home = Home::new("nowhere");
    let mut command = home.config(&["cursor", "--demo"]);
    for name in ["HOME", "USERPROFILE", "APPDATA"] {
        command.env(name, "");
    }
    let (code, _, stderr) = run(&mut command);
    assert_eq!(code, 0);
    assert!(stderr.contains("--file names it"), "{stderr}");
}

#[test]
fn shells_are_told_how_to_complete_the_commands() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let (code, stdout, stderr) = run(program().args(["completions", shell]));
        assert_eq!(code, 0, "{stderr}");
        for word in ["config", "completions", "token-secret-file"] {
            assert!(stdout.contains(word), "{shell}: {word}");
        }
    }
    assert_eq!(run(program().args(["completions", "cmd"])).0, 2);
}

#[test]
fn what_the_server_would_refuse_is_not_written_for_a_client() {
    let home = Home::new("refused");
    let mut command = home.config(&["codex", "--access-tier", "write"]);
    command.env("PVE_ALLOW_VMS", "");
    let (code, stdout, stderr) = run(&mut command);
    assert_ne!(code, 0, "{stdout}");
    assert!(stderr.contains("PVE_ALLOW_VMS: it is set and empty"), "{stderr}");
}
