//! Two servers in one client's file, of two clusters: what is for one of them does not reach the other.

use std::fs;

use serde_json::Value;

use super::{CLIENTS, Home, SECRET};
use crate::process::run;

/// What `config CLIENT` prints and says of a server of this name, without a file for the secret.
fn told(home: &Home, client: &str, name: &str) -> (String, String) {
    let (code, stdout, stderr) = run(&mut home.config(&[client, "--name", name]));
    assert_eq!(code, 0, "{client}: {stderr}");
    (stdout, stderr)
}

#[test]
fn a_second_cluster_is_not_given_the_secret_of_the_first() {
    let home = Home::new("clusters");
    for client in CLIENTS {
        let (first, said_of_first) = told(&home, client, "proxmox");
        let (second, said) = told(&home, client, "two");
        let warned = "all servers that take PVE_TOKEN_SECRET from where";
        match client {
            "vscode" => {
                assert!(first.contains("\"${input:pve-token-secret}\""), "{first}");
                assert!(second.contains("\"${input:pve-token-secret-two}\""), "{second}");
                assert!(second.contains("\"id\": \"pve-token-secret-two\""), "{second}");
                assert!(second.contains("the API token's secret of two\""), "{second}");
            }
            "claude-desktop" | "zed" => {
                assert!(first.contains("pve-token\""), "{first}");
                assert!(second.contains("pve-token-two\""), "{second}");
                assert!(said.contains("pve-token-two, which only you"), "{said}");
            }
            _ => {
                let own = "if `two` is of another cluster than another of them, name a file of its own with PVE_TOKEN_SECRET_FILE";
                assert!(said.contains(warned) && said.contains(own), "{client}: {said}");
            }
        }
        assert!(!said_of_first.contains(warned), "{client}: {said_of_first}");
        // Whatever it is called, it does not get what the first has.
        let (third, _) = told(&home, client, "pve");
        if matches!(client, "vscode" | "claude-desktop" | "zed") {
            for shared in ["pve-token-secret}", "pve-token\""] {
                assert!(!third.contains(shared) && !second.contains(shared), "{client}: {third}");
            }
        }
    }
    // With a file of its own there is nothing to warn of.
    let file = home.put("token", SECRET);
    let mut command = home.config(&["cursor", "--name", "two"]);
    command.env_remove("PVE_TOKEN_SECRET").env("PVE_TOKEN_SECRET_FILE", &file);
    let (code, _, stderr) = run(&mut command);
    assert!(code == 0 && !stderr.contains("all servers"), "{stderr}");
}

#[test]
fn a_secrets_file_that_another_server_has_is_told() {
    let home = Home::new("shared-file");
    let (one, two) = (home.put("token", SECRET), home.put("token-two", SECRET));
    let write = |client: &str, name: &str, file: &std::path::Path| {
        let mut command = home.config(&[client, "--write", "--name", name]);
        command.env_remove("PVE_TOKEN_SECRET").env("PVE_TOKEN_SECRET_FILE", file);
        let (code, stdout, stderr) = run(&mut command);
        assert_eq!(code, 0, "{client}: {stderr}");
        stdout.contains("another server in it reads its secret from the same file")
    };
    for client in ["zed", "codex"] {
        assert!(!write(client, "home", &one), "{client}: there is no other");
        assert!(write(client, "cabin", &one), "{client}");
        assert!(!write(client, "mill", &two), "{client}: it has its own");
    }
}

#[test]
fn a_secret_that_is_set_is_held_against_the_file_that_is_read_instead() {
    let home = Home::new("other-secret");
    for (held, is_another) in [(SECRET, false), ("99999999-abcd-4bcd-8bcd-123456789abc", true)] {
        home.put(".config/pve-token", held);
        let (_, said) = told(&home, "zed", "proxmox");
        assert_eq!(said.contains("holds another than PVE_TOKEN_SECRET here"), is_another, "{said}");
        assert!(!said.contains(held), "{said}");
    }
}

#[test]
fn a_secret_that_vs_code_keeps_for_another_token_is_told() {
    let home = Home::new("kept");
    let write = |host: &str, more: &[&str]| {
        let mut command = home.config(&["vscode", "--write"]);
        command.env_remove("PVE_TOKEN_SECRET").env("PVE_HOST", host);
        let (code, stdout, stderr) = run(command.args(more));
        assert_eq!(code, 0, "{stderr}");
        stdout.contains("the secret that it keeps for the token of before")
    };
    assert!(!write("home.lan", &[]));
    assert!(!write("home.lan", &["--replace", "--timeout-seconds", "40"]));
    assert!(write("cabin.lan", &["--replace"]));
    assert!(!write("mill.lan", &["--name", "mill"]));
}

#[test]
fn an_empty_secret_beside_a_file_is_written_and_stays() {
    let home = Home::new("empty");
    let file = home.put("token", SECRET);
    let write = |secret: Option<&str>| {
        let mut command = home.config(&["cursor", "--write"]);
        command.env_remove("PVE_TOKEN_SECRET").env("PVE_TOKEN_SECRET_FILE", &file);
        command.envs(secret.map(|text| ("PVE_TOKEN_SECRET", text)));
        run(&mut command)
    };
    assert_eq!(write(Some("")).0, 0);
    let entry = fs::read_to_string(home.0.join(".cursor/mcp.json")).unwrap();
    assert!(entry.contains("\"PVE_TOKEN_SECRET\": \"\""), "{entry}");
    assert!(write(Some("")).1.contains("nothing was written"));
    let (code, _, stderr) = write(None);
    assert!(code == 1 && stderr.contains("PVE_TOKEN_SECRET goes"), "{stderr}");
}

/// What an entry does not name comes from the environment of the client, which may be that of a server that writes.
#[test]
fn the_tier_is_always_written() {
    let home = Home::new("tier");
    for client in CLIENTS {
        let (entry, _) = told(&home, client, "proxmox");
        assert!(entry.contains("PVE_ACCESS_TIER") && entry.contains("\"read\""), "{entry}");
        let (_, entry, _) = run(home.config(&[client]).env("PVE_ACCESS_TIER", "write"));
        assert!(entry.contains("\"write\"") && !entry.contains("\"read\""), "{entry}");
    }
}

#[test]
fn vs_code_has_a_question_for_each_cluster() {
    let home = Home::new("questions");
    let file = home.put("mcp.json", "{}");
    for name in ["proxmox", "two", "three"] {
        let words = ["vscode", "--write", "--name", name, "--file", file.to_str().unwrap()];
        let (code, _, stderr) = run(&mut home.config(&words));
        assert_eq!(code, 0, "{stderr}");
    }
    let all: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    let ids: Vec<_> = all["inputs"].as_array().unwrap().iter().map(|input| &input["id"]).collect();
    assert_eq!(ids, ["pve-token-secret", "pve-token-secret-two", "pve-token-secret-three"]);
    for (name, id) in ["proxmox", "two", "three"].into_iter().zip(ids) {
        let asked = &all["servers"][name]["env"]["PVE_TOKEN_SECRET"];
        assert_eq!(*asked, format!("${{input:{}}}", id.as_str().unwrap()));
    }
}
