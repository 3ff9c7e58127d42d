//! Pages that are made from the program itself, and what all pages have to keep to.
//!
//! `UPDATE_DOCS=1 cargo test --workspace --test it documentation` writes the pages anew; without it, a page that
//! is not as it would be written fails.

mod catalogue;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use mcp_proxmox::config::{
    Config,
    settings::{self, Setting},
};
use mcp_proxmox::failure::to_person;

use self::catalogue::{Entry, catalogue};
use crate::{
    process::{program, run},
    support,
};

const MADE: &str = "<!-- Made from the program by `UPDATE_DOCS=1 cargo test --workspace --test it documentation`; change it there. -->\n\n";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_owned()
}

/// A page is as it is made, or is made so.
fn current(page: &str, wanted: &str) {
    let path = root().join("docs").join(page);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, wanted).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default().replace("\r\n", "\n");
    assert!(
        found == wanted,
        "docs/{page} is not current: UPDATE_DOCS=1 cargo test --workspace --test it documentation"
    );
}

#[test]
fn the_page_on_configuration_is_current() {
    let mut page = format!(
        "{MADE}# Configuration\n\n\
         Each setting is an environment variable and, but for the secret, a flag of every command. A flag wins over the \
         variable. An empty value counts as not set, and so does a placeholder that a client did not fill in, such as \
         `${{PVE_TLS_CA_FILE}}`; only in the tier `write` a placeholder in what guards writes, an empty `PVE_ALLOW_VMS`, and an unknown `PVE_…` variable that reads like a guard (a misspelt `PVE_PROTECT_VMS`), are mistakes. All mistakes are reported at once, at start, with exit code 2.\n\n\
         | variable | flag | meaning |\n|---|---|---|\n"
    );
    for setting in settings::ALL {
        let flag = setting
            .flag
            .map_or_else(|| "none".to_owned(), |flag| format!("`--{flag} {}`", setting.value));
        let _ = writeln!(
            page,
            "| `{}` | {flag} | {} |",
            setting.variable,
            setting.help.replace('|', "\\|")
        );
    }
    page += "\nSee [clients](clients.md) for where they are written, [access](access.md) for the token, [TLS](tls.md) for trust.\n\n\
        ## How they are written\n\n\
        - Files (`PVE_TOKEN_SECRET_FILE`, `PVE_TLS_CA_FILE`, `PVE_AUDIT_LOG`) may begin with `~/`, also where a client starts the \
          program without a shell. Give the whole path: nobody knows in which folder a client starts it.\n\
        - Fingerprints are taken as PVE, `openssl` and others show them: `5C:5C:…`, `SHA256 Fingerprint=5C:5C:…`, `sha256:5c5c…`.\n\
        - A default may be written out: `PVE_ALLOW_VMS=all`, `PVE_PROTECT_VMS=none`, `PVE_TOOLS=all`, `PVE_EXCLUDE_TOOLS=none`.\n\
        - Tags are the same in capitals and small letters, pools are not, as in PVE.\n\
        - A tag or pool in `PVE_ALLOW_VMS` and `PVE_PROTECT_VMS` is no mistake where nothing in the cluster has it, but it guards \
          nothing. In the tier `write`, `mcp-proxmox check` counts where writes may act and how many VMs and containers each \
          member of the two lists matches.\n\n\
        ## The way to Proxmox VE\n\n\
        Requests go to `PVE_HOST` directly. **No proxy is used**: `HTTPS_PROXY`, `ALL_PROXY` and their like have no effect. Where a \
        node cannot be reached directly, run the server where it can be, or bring the port near with a VPN or a tunnel, and say \
        which name the certificate is for (`ssh -L 8006:pve1.lan:8006 admin@gateway`, then `PVE_HOST=127.0.0.1` and \
        `PVE_TLS_SERVER_NAME=pve1.lan`). A reverse proxy in front of PVE is fine: its address, and its path if it has one, is \
        `PVE_HOST`.\n\n\
        ## Exit codes\n\n";
    let (_, help, _) = run(program().args(["call", "--help"]));
    let codes = help.split("Exit codes: ").nth(1).and_then(|rest| rest.split("\n\n").next());
    let codes = codes.unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
    let _ = write!(page, "Of every command: {codes}.\n\n## What a mistake looks like\n\n");
    let wrong = BTreeMap::from([
        ("PVE_HOST", "http://pve1.lan"),
        ("PVE_PORT", "eight"),
        ("PVE_TOKEN_ID", "monitor"),
        ("PVE_ACCESS_TIER", "admin"),
        ("PVE_TOOLS", "list_vns"),
    ]);
    let mistakes = Config::read(&|setting: &Setting| {
        wrong.get(setting.variable).map(|text| (*text).to_owned())
    })
    .unwrap_err();
    let _ = writeln!(page, "```text\n{mistakes}\n```");
    current("configuration.md", &page);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_on_troubleshooting_is_current() {
    let mut page = format!(
        "{MADE}# Troubleshooting\n\n\
         `mcp-proxmox check` goes the way to Proxmox VE step by step (address, TLS, token, version, privileges) and stops where \
         it is broken. Run it with the same settings as your client. What follows is what it and the tools say: what you see, why, \
         what to do.\n\n\
         ## The client\n\n\
         | what you see | why | what to do |\n|---|---|---|\n\
         | the client says only that the server disconnected or failed | the settings have a mistake, and the program ended with exit code 2 | start the same command in a terminal with the same variables: every mistake is told on standard error. Most clients keep that output in a log |\n\
         | `mcp-proxmox`, `npx` or `docker` is not found | clients that are started from a desktop have a short `PATH` | `mcp-proxmox config CLIENT` writes the whole path of the program itself; with `--via npx` or `--via docker` it says which path you may have to write, and the `PATH` that npm's runner needs to find Node |\n\
         | it fails in the client only, with `PVE_TOKEN_SECRET is set too` in its log | the client hands its own environment on, and the entry names a file | [clients](clients.md): `\"PVE_TOKEN_SECRET\": \"\"` in the entry, or no such variable where the client is started |\n\
         | the first start takes too long, with `npx` | it downloads the package; Codex waits 10 s | install it globally, or start the program itself |\n\
         | the variable with the secret is empty | programs that are started from a desktop do not see what a shell's profile exports | name the secret's file with `PVE_TOKEN_SECRET_FILE` |\n\
         | tools that change something are missing | the access tier is `read` | set `PVE_ACCESS_TIER` to `write` in the client's entry (`config` wrote `read` there), start the client anew, and give the token the privileges: [access](access.md) |\n\
         | lists are empty or too short | the token sees less than there is: Proxmox VE leaves out what it may not see, without a word | `get_access`, or `mcp-proxmox check`, says which privilege is missing where |\n\
         | a VM is shown as running that is paused | one request for all guests cannot show it | `list_vms` with `exact: true`, or `get_vm_status` |\n"
    );
    for (section, entries) in catalogue().await {
        let _ = write!(page, "\n## {section}\n");
        for Entry { title, why, told, remedy, .. } in entries {
            let (what, hint) = told.split_once("\n\nhint: ").unwrap_or((&told, ""));
            let remedy = remedy.unwrap_or(hint);
            assert!(!remedy.is_empty(), "{title}: there is nothing to do about it");
            // The reader is the user.
            let remedy = &to_person(remedy);
            assert!(!remedy.contains("the user"), "{title}: {remedy}");
            let _ = write!(
                page,
                "\n### {title}\n\n> {what}\n\n**Why.** {why}\n\n**What to do.** {}\n",
                capital(remedy)
            );
        }
    }
    current("troubleshooting.md", &page);
}

/// What stands in the page is what the program says: what was asked is in its text, in a tool's or in `check`'s.
#[tokio::test(flavor = "multi_thread")]
async fn what_failed_in_the_page_on_troubleshooting_is_work_that_the_program_does() {
    let mut sources = String::new();
    read_all(&root().join("crates/mcp-proxmox/src"), &mut sources);
    let sources = sources.split("#[cfg(test)]").collect::<String>();
    for (section, entries) in catalogue().await {
        let asked: Vec<_> = entries.iter().filter_map(|entry| entry.asked).collect();
        for asked in asked {
            let (fixed, rest) = asked.split_once('{').unwrap_or((asked, ""));
            let end = if rest.is_empty() { "\"" } else { "{" };
            let is_there = [format!("\"{fixed}{end}"), format!("\"{}\"", fixed.trim_end())];
            assert!(
                is_there.iter().any(|text| sources.contains(text)),
                "{section}: nothing in the program says `could not {asked}`"
            );
        }
    }
}

/// The program's text below a folder.
fn read_all(folder: &Path, text: &mut String) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read_all(&path, text);
        } else {
            text.push_str(&fs::read_to_string(path).unwrap());
        }
    }
}

/// A hint as a sentence of its own.
fn capital(text: &str) -> String {
    // The names of tools and services are what they are.
    let word = text.split(' ').next().unwrap_or_default();
    if word.contains('_') || word.starts_with("pmx") || word.starts_with("pve") {
        let end = if text.ends_with(['.', '?', '`']) { "" } else { "." };
        return format!("{text}{end}");
    }
    let mut letters = text.chars();
    let first =
        letters.next().map(|letter| letter.to_uppercase().collect::<String>()).unwrap_or_default();
    let end = if text.ends_with(['.', '?', '`']) { "" } else { "." };
    format!("{first}{}{end}", letters.as_str())
}

/// Every page, by its path from the root.
fn pages() -> Vec<(String, String)> {
    let mut names =
        vec!["README.md".to_owned(), "SECURITY.md".to_owned(), "npm/README.md".to_owned()];
    let entries =
        fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().file_name());
    names.extend(
        entries
            .map(|name| format!("docs/{}", name.to_string_lossy()))
            .filter(|name| Path::new(name).extension().is_some_and(|end| end == "md")),
    );
    names.sort();
    names
        .into_iter()
        .map(|name| (fs::read_to_string(root().join(&name)).unwrap(), name))
        .map(|(text, name)| (name, text))
        .collect()
}

/// What `config` prints for each client stands in the page on clients. Places are those of Linux.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn the_snippets_on_the_page_on_clients_are_current() {
    const BEGIN: &str = "<!-- made: config ";
    // The settings are checked, so that the file has to be there.
    let sim = support::demo().await;
    let authority = std::env::temp_dir().join(format!("pve-root-ca-{}.pem", std::process::id()));
    fs::write(&authority, sim.ca_pem()).unwrap();
    let page = fs::read_to_string(root().join("docs/clients.md")).unwrap();
    let mut parts = page.split(BEGIN);
    let mut wanted = parts.next().unwrap().to_owned();
    let mut clients = Vec::new();
    for part in parts {
        let (client, rest) = part.split_once(" -->").unwrap();
        let (_, after) = rest.split_once("<!-- end -->").unwrap();
        let mut command = program();
        for name in ["XDG_CONFIG_HOME", "CODEX_HOME", "CLAUDE_CONFIG_DIR"] {
            command.env_remove(name);
        }
        command
            .env("HOME", "/home/me")
            .env("PVE_HOST", "pve1.lan")
            .env("PVE_TOKEN_ID", "mcp@pve!monitor")
            .env("PVE_TLS_CA_FILE", &authority);
        let (code, printed, errors) = run(command.args(["config", client]));
        assert_eq!(code, 0, "{errors}");
        let printed = printed
            .replace(env!("CARGO_BIN_EXE_mcp-proxmox"), "/path/to/mcp-proxmox")
            .replace(authority.to_str().unwrap(), "/home/me/.config/pve-root-ca.pem");
        let place = errors.split("this goes into ").nth(1).unwrap().split(';').next().unwrap();
        let place = place.replace("/home/me", "~");
        let form = if client == "codex" { "toml" } else { "json" };
        let _ = write!(
            wanted,
            "{BEGIN}{client} -->\n`{place}`:\n\n```{form}\n{printed}```\n<!-- end -->{after}"
        );
        clients.push(client.to_owned());
    }
    fs::remove_file(&authority).unwrap();
    clients.sort();
    let (_, help, _) = run(program().args(["config", "--help"]));
    let all = help.split("[possible values: ").nth(1).unwrap().split(']').next().unwrap();
    let mut all: Vec<_> = all.split(',').map(|name| name.trim().to_owned()).collect();
    all.sort();
    assert_eq!(clients, all, "every client has a snippet");
    current("clients.md", &wanted);
}

#[test]
fn pages_name_only_settings_and_flags_that_there_are() {
    let known: BTreeSet<_> = settings::ALL.iter().map(|setting| setting.variable).collect();
    let (_, mut help, _) = run(program().arg("--help"));
    for command in ["check", "tools", "call", "config", "completions"] {
        help += &run(program().args([command, "--help"])).1;
    }
    for (name, text) in pages() {
        for word in text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_') {
            let is_setting = word.starts_with("PVE_") && word.len() > 4;
            assert!(
                !is_setting || known.contains(word) || word == "PVE_MATERIAL",
                "{name} names {word}"
            );
        }
        for line in text.lines().filter(|line| line.trim_start().starts_with("$ mcp-proxmox")) {
            let own = line.split('#').next().unwrap_or_default();
            for flag in
                own.split_whitespace().filter(|word| word.starts_with("--") && word.len() > 2)
            {
                let flag = flag.split('=').next().unwrap_or_default();
                assert!(help.contains(flag), "{name}: there is no {flag} in `{line}`");
            }
        }
    }
}

#[test]
fn links_between_pages_lead_somewhere() {
    for (name, text) in pages() {
        let folder = root().join(&name).parent().unwrap().to_owned();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if link.starts_with("http") || link.starts_with('#') {
                continue;
            }
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = folder.join(file);
            assert!(target.exists(), "{name} links to {link}, which does not exist");
            if !anchor.is_empty() {
                let there = fs::read_to_string(&target).unwrap();
                let anchors: Vec<_> =
                    there.lines().filter(|line| line.starts_with('#')).map(slug).collect();
                assert!(
                    anchors.iter().any(|other| other == anchor),
                    "{name} links to {link}: {anchors:?}"
                );
            }
        }
    }
}

/// A heading as the address of its section.
fn slug(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = text.chars().filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter));
    kept.map(|letter| if letter == ' ' { '-' } else { letter }).collect()
}
