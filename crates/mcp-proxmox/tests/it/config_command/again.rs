//! `config CLIENT --write` for a second time, and paths that containers are handed.

use std::fs;

use serde_json::Value;

use super::{CLIENTS, Home, SECRET, arguments_of, entry_of};
use crate::process::run;

/// The one file that a client has below its home.
fn file_of(home: &Home, client: &str) -> std::path::PathBuf {
    let (_, stdout, stderr) = run(&mut home.config(&[client, "--write"]));
    assert!(stdout.contains(" now has the server"), "{client}: {stdout}{stderr}");
    stdout.split(" now has").next().unwrap().into()
}

#[test]
fn a_second_write_says_what_it_changes_and_one_that_changes_nothing_says_that() {
    for client in CLIENTS {
        let home = Home::new(&format!("again-{client}"));
        let file = file_of(&home, client);
        let first = fs::read_to_string(&file).unwrap();
        let (code, stdout, _) = run(&mut home.config(&[client, "--write", "--replace"]));
        assert_eq!(code, 0);
        assert!(stdout.contains("has it already, exactly so; nothing was written"), "{stdout}");

        let other = |more: &[&str]| {
            let mut command = home.config(&[client, "--write", "--timezone", "Europe/Berlin"]);
            run(command.args(more).env("PVE_HOST", "pve2.lan"))
        };
        let (code, _, stderr) = other(&[]);
        assert_eq!(code, 1, "{client}: it stays");
        assert_eq!(fs::read_to_string(&file).unwrap(), first);
        let (code, stdout, _) = other(&["--replace"]);
        assert_eq!(code, 0, "{client}");
        for told in [&stderr, &stdout] {
            for part in
                ["PVE_HOST: pve1.lan becomes pve2.lan", "PVE_TIMEZONE: Europe/Berlin is new"]
            {
                assert!(told.contains(part), "{client}: {part} is not in {told}");
            }
            assert!(!told.contains("PVE_TOKEN_ID: "), "{client}: that is the same: {told}");
        }
    }
}

#[test]
fn what_differs_shows_nothing_that_may_be_a_secret() {
    for client in CLIENTS {
        let home = Home::new(&format!("again-secret-{client}"));
        let file = file_of(&home, client);
        let (code, ..) = run(&mut home.config(&[client, "--write", "--replace", "--with-secret"]));
        assert_eq!(code, 0);
        // Somebody's own, of which nothing is known.
        let text = fs::read_to_string(&file).unwrap();
        fs::write(&file, text.replace("PVE_TOKEN_ID", "OTHER_KEY")).unwrap();
        for more in [&["--replace", "--with-secret"][..], &["--replace"]] {
            let mut command = home.config(&[client, "--write"]);
            let mut second = home.config(&[client, "--write"]);
            let other = "99999999-abcd-4bcd-8bcd-123456789abc";
            let (_, stdout, stderr) = run(command.env("PVE_TOKEN_SECRET", other));
            assert!(stderr.contains("OTHER_KEY goes"), "{client}: {stderr}");
            let told = stderr.split("hint: ").next().unwrap().to_owned() + &stdout;
            let (code, stdout, _) = run(second.env("PVE_TOKEN_SECRET", other).args(more));
            assert_eq!(code, 0);
            for told in [told, stdout] {
                for hidden in [SECRET, other, "mcp@pve!monitor goes"] {
                    assert!(!told.contains(hidden), "{client}: {told}");
                }
            }
            fs::write(&file, text.replace("PVE_TOKEN_ID", "OTHER_KEY")).unwrap();
        }
    }
}

#[test]
fn what_is_the_users_own_in_an_entry_stays_and_what_goes_is_told() {
    for (client, place, environment) in [
        ("cursor", "mcpServers", "env"),
        ("zed", "context_servers", "env"),
        ("opencode", "mcp", "environment"),
    ] {
        let home = Home::new(&format!("own-{client}"));
        let text = "{\n  \"PLACE\": {\n    \"proxmox\": {\n      // asked for once\n      \"alwaysAllow\": [\"list_vms\"],\n      \"disabled\": true, // for now\n      \"url\": \"https://old\",\n      \"command\": \"old\", // of the program\n      \"ENVIRONMENT\": { \"PVE_HOST\": \"old\", \"OLD\": \"1\" }\n    }\n  }\n}\n";
        let text = text.replace("PLACE", place).replace("ENVIRONMENT", environment);
        let file = home.put("own.json", &text);
        let words = [client, "--write", "--replace", "--file", file.to_str().unwrap()];
        let (code, stdout, stderr) = run(&mut home.config(&words));
        assert_eq!(code, 0, "{client}: {stderr}");
        let after = fs::read_to_string(&file).unwrap();
        for kept in [
            "// asked for once\n      \"alwaysAllow\": [\"list_vms\"],\n      \"disabled\": true, // for now\n",
            " // of the program\n",
            "\"pve1.lan\"",
        ] {
            assert!(after.contains(kept), "{client}: {kept} is not in {after}");
        }
        assert!(!after.contains("old") && !after.contains("OLD"), "{client}: {after}");
        for told in ["url goes", "command is another one", "OLD goes"] {
            assert!(stdout.contains(told), "{client}: {told} is not in {stdout}");
        }
        assert!(!stdout.contains("alwaysAllow") && !stdout.contains("disabled"), "{stdout}");
        // With what is the user's own, it is the same server.
        let (_, stdout, _) = run(&mut home.config(&words));
        assert!(stdout.contains("nothing was written"), "{client}: {stdout}");
    }
}

#[test]
fn whether_the_demo_comes_or_goes_is_told_and_no_other_argument_is() {
    for client in ["cursor", "opencode", "codex"] {
        let home = Home::new(&format!("demo-{client}"));
        let file = home.0.join("own.file");
        let own = ["--file", file.to_str().unwrap()];
        let config = |words: &[&str]| {
            let words = [&[client], words, &own].concat();
            run(&mut home.config(&words))
        };
        assert_eq!(config(&["--demo", "--write"]).0, 0);
        let (_, _, shown) = config(&["--demo"]);
        assert!(shown.contains("it has it already, exactly so"), "{client}: {shown}");
        let (_, _, shown) = config(&[]);
        assert!(shown.contains("which --write --replace replaces"), "{client}: {shown}");
        let (code, _, stderr) = config(&["--write"]);
        assert!(code == 1 && stderr.contains(": --demo goes\n"), "{client}: {stderr}");
        assert_eq!(config(&["--write", "--replace"]).0, 0);
        let (code, _, stderr) = config(&["--demo", "--write"]);
        assert!(code == 1 && stderr.contains(": --demo is new\n"), "{client}: {stderr}");
        // What the user wrote there is nobody else's business.
        assert_eq!(config(&["--demo", "--write", "--replace"]).0, 0);
        let text = fs::read_to_string(&file).unwrap();
        let mine = text.replace("\"--demo\"", "\"--demo\", \"--key=hunter2\"");
        fs::write(&file, mine).unwrap();
        let (_, _, stderr) = config(&["--write"]);
        assert!(stderr.contains(": --demo goes, the rest differs too\n"), "{client}: {stderr}");
        assert!(!stderr.contains("hunter2"), "{client}: {stderr}");
    }
}

#[test]
fn whether_opencode_has_it_switched_on_stays() {
    for (place, switch) in [
        ("\"mcp\": { \"proxmox\": ENTRY }", "\"enabled\": false"),
        ("\"mcp\": { \"proxmox\": ENTRY }", "\"timeout\": 9000"),
        ("\"mcp\": { \"servers\": { \"proxmox\": ENTRY } }", "\"disabled\": true"),
        ("\"mcp\": { \"servers\": { \"proxmox\": ENTRY } }", "\"enabled\": false"),
    ] {
        let home = Home::new("opencode-switch");
        let entry = format!("{{ \"type\": \"local\", \"command\": [\"old\"], {switch} }}");
        let file = home.put("own.json", &format!("{{ {} }}", place.replace("ENTRY", &entry)));
        let words = ["opencode", "--write", "--replace", "--file", file.to_str().unwrap()];
        let (code, stdout, stderr) = run(&mut home.config(&words));
        assert_eq!(code, 0, "{stderr}");
        let after = fs::read_to_string(&file).unwrap();
        assert!(after.contains(switch) && after.contains("pve1.lan"), "{after}");
        assert_eq!(
            after.matches("abled\"").count(),
            usize::from(switch.contains("abled")),
            "{after}"
        );
        assert!(stdout.contains("command is another one"), "{stdout}");
        assert!(!stdout.contains("abled"), "{stdout}");
    }
}

#[test]
fn what_is_to_be_done_next_is_true_of_what_was_written() {
    for (more, asks, names_a_file) in [
        (&[][..], true, true),
        (&["--with-secret"], false, true),
        (&["--demo"], false, true),
        (&["--file", "mine.json"], true, false),
        (&["--file", "mine.json", "--demo"], false, false),
    ] {
        let home = Home::new("next");
        let mut command = home.config(&["vscode", "--write"]);
        let (code, stdout, stderr) = run(command.args(more).current_dir(&home.0));
        assert_eq!(code, 0, "{stderr}");
        assert!(stdout.contains("VS Code offers to start the server above its entry"), "{stdout}");
        assert_eq!(stdout.contains("and asks for the secret"), asks, "{more:?}: {stdout}");
        assert_eq!(stdout.contains("--file .vscode/mcp.json"), names_a_file, "{more:?}: {stdout}");
    }
    let home = Home::new("next-file");
    let file = home.put("token", SECRET);
    let mut command = home.config(&["vscode", "--write"]);
    command.env_remove("PVE_TOKEN_SECRET").env("PVE_TOKEN_SECRET_FILE", &file);
    let (_, stdout, _) = run(&mut command);
    assert!(stdout.contains("next: ") && !stdout.contains("asks for the secret"), "{stdout}");
    for (client, own) in [
        ("claude-code", "--file .mcp.json"),
        ("cursor", "--file .cursor/mcp.json"),
        ("gemini", "--file .gemini/settings.json"),
    ] {
        let (_, stdout, _) = run(&mut home.config(&[client, "--write"]));
        assert!(stdout.contains(own), "{stdout}");
        let mut command = home.config(&[client, "--write", "--file", "own.json", "--name", client]);
        let (_, stdout, _) = run(command.current_dir(&home.0));
        assert!(stdout.contains("next: ") && !stdout.contains("--file"), "{stdout}");
    }
}

#[test]
fn a_question_for_the_secret_that_nothing_asks_for_any_more_goes() {
    let home = Home::new("question");
    let file = file_of(&home, "vscode");
    let inputs = || {
        let text = fs::read_to_string(&file).unwrap();
        let all: Value = serde_json::from_str(&text).unwrap();
        all["inputs"].as_array().unwrap().len()
    };
    let second = ["vscode", "--write", "--name", "second"];
    assert_eq!(run(&mut home.config(&second)).0, 0);
    assert_eq!(inputs(), 2, "each asks for its own");
    // As earlier versions wrote it: both ask the same question.
    let text = fs::read_to_string(&file).unwrap();
    let (servers, _) = text.split_once("\"inputs\"").unwrap();
    let (_, questions) = text.split_once("\"inputs\"").unwrap();
    let (first, _) = questions.split_once("},").unwrap();
    let servers = servers.replace("pve-token-secret-second", "pve-token-secret");
    fs::write(&file, format!("{servers}\"inputs\"{first}}}]}}")).unwrap();
    assert_eq!(inputs(), 1);
    let with_secret = |name: &str| {
        let words = ["vscode", "--write", "--replace", "--with-secret", "--name", name];
        let (code, stdout, stderr) = run(&mut home.config(&words));
        assert_eq!(code, 0, "{stderr}");
        stdout
    };
    let told = with_secret("proxmox");
    assert!(inputs() == 1 && !told.contains("inputs"), "the second still asks: {told}");
    let told = with_secret("second");
    assert!(inputs() == 0 && told.contains("inputs"), "{told}");
}

#[test]
fn a_path_with_a_comma_or_a_colon_reaches_the_container_whole() {
    let home = Home::new("comma");
    let token = home.put("a:b,c/token", SECRET);
    fs::create_dir_all(home.0.join("log,s")).unwrap();
    let log = home.0.join("log,s/a\"b.jsonl");
    let mut command = home.config(&["cursor", "--via", "docker"]);
    command
        .env_remove("PVE_TOKEN_SECRET")
        .env("PVE_TOKEN_SECRET_FILE", &token)
        .env("PVE_AUDIT_LOG", &log);
    let (entry, _) = entry_of(&mut command);
    let arguments = arguments_of(&entry);
    let folder = home.0.display();
    for wanted in [
        format!("type=bind,\"source={folder}/a:b,c/token\",target=/run/mcp-proxmox/token,readonly"),
        format!("type=bind,\"source={folder}/log,s/a\"\"b.jsonl\",\"target=/audit/a\"\"b.jsonl\""),
    ] {
        assert!(arguments.contains(&wanted.as_str()), "{wanted}\n{arguments:?}");
    }
    assert_eq!(entry["env"]["PVE_AUDIT_LOG"], "/audit/a\"b.jsonl");
}

#[test]
fn a_file_that_was_mistyped_is_seen_to_be_new() {
    let home = Home::new("mistyped");
    let write = |file: &str| {
        let mut command = home.config(&["gemini", "--write", "--file", file]);
        let (code, stdout, stderr) = run(command.current_dir(&home.0));
        assert_eq!(code, 0, "{stderr}");
        stdout
    };
    let told = write("nosuch/dir/settings.json");
    assert!(told.contains("server `proxmox`; the file and its folder are new"), "{told}");
    assert!(told.contains("next: where Gemini CLI reads this file: start"), "{told}");
    let told = write("other.json");
    assert!(told.contains("; the file is new"), "{told}");
    home.put("there.json", "{}");
    let told = write("there.json");
    assert!(!told.contains("is new"), "{told}");
    let told = write(".gemini/settings.json");
    assert!(told.contains("next: start Gemini CLI"), "it reads that: {told}");
}

#[test]
fn guards_that_go_from_an_entry_that_may_write_are_warned_of() {
    for client in CLIENTS {
        let home = Home::new(&format!("guards-{client}"));
        let write = |tier: &str, guards: &[&str]| {
            let mut command = home.config(&[client, "--write", "--replace", "--tier", tier]);
            command.args(guards);
            let (code, stdout, stderr) = run(&mut command);
            assert_eq!(code, 0, "{client}: {stderr}");
            stdout
        };
        let guards = ["--allow-vms", "tag:ai", "--protect-vms", "100"];
        write("write", &guards);
        let told = write("write", &guards[..2]);
        let warning = "warning: it may write, and what guarded it is gone: PVE_PROTECT_VMS. Set";
        assert!(told.contains(warning), "{client}: {told}");
        let told = write("write", &["--timezone", "UTC"]);
        assert!(told.contains("is gone: PVE_ALLOW_VMS. Set"), "{client}: {told}");
        write("write", &guards);
        let told = write("read", &[]);
        assert!(!told.contains("warning"), "{client}: it may not write: {told}");
    }
}

#[test]
fn settings_with_a_mistake_are_not_written() {
    let home = Home::new("mistake");
    for words in [&["cursor"][..], &["cursor", "--write"], &["cursor", "--write", "--demo"]] {
        let (code, _, stderr) = run(home.config(words).env("PVE_TIMEZONE", "Nowhere"));
        let first =
            "a client could not start mcp-proxmox with this configuration:\n  PVE_TIMEZONE: ";
        assert!(code == 2 && stderr.starts_with(first), "{words:?}: {stderr}");
    }
    assert!(!home.0.join(".cursor").exists());
}
