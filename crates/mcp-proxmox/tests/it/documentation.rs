//! Pages that are made from the program itself, and what all pages have to keep to.
//!
//! `UPDATE_DOCS=1 cargo test --workspace --test it documentation` writes the pages anew; without it, a page that
//! is not as it would be written fails.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use mcp_proxmox::{
    config::{
        Config,
        settings::{self, Setting},
    },
    failure::Failure,
};
use pve_client::{
    Error, Fingerprint, LostWhy, Method, Refusal, TlsProblem, UnreadableWhy, Unsent, UnsentKind,
};

use crate::process::{program, run};

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
         `${{PVE_TLS_CA_FILE}}`. All mistakes are reported at once, at start, with exit code 2.\n\n\
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
        ## What a mistake looks like\n\n";
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

/// What can be met: what it is called, why it happens, the failure itself.
struct Entry {
    title: &'static str,
    why: &'static str,
    error: Error,
}

fn entry(title: &'static str, why: &'static str, error: impl Into<Error>) -> Entry {
    Entry { title, why, error: error.into() }
}

fn unsent(kind: impl Into<UnsentKind>) -> Unsent {
    Unsent { host: "pve1.lan:8006".to_owned(), kind: kind.into(), others: Vec::new() }
}

fn refused(method: Method, path: &str, status: u16, message: &str) -> Refusal {
    Refusal {
        status,
        reason: message.to_owned(),
        message: message.to_owned(),
        errors: BTreeMap::new(),
        path: path.to_owned(),
        method,
    }
}

/// Every kind of failure that a user meets, by where it comes from.
fn catalogue() -> Vec<(&'static str, Vec<Entry>)> {
    let fingerprint: Fingerprint = "5c".repeat(32).parse().unwrap();
    let other: Fingerprint = "a7".repeat(32).parse().unwrap();
    let get = |status, message: &str| refused(Method::Get, "/nodes/pve1/status", status, message);
    let lost = |method, why| Error::Lost {
        host: "pve1.lan:8006".to_owned(),
        method,
        path: "/nodes/pve1/qemu/100/status/start".to_owned(),
        why,
        others: Vec::new(),
    };
    vec![
        (
            "The way there",
            vec![
                entry(
                    "The name is not known",
                    "`PVE_HOST` is misspelled, or this machine asks another name server than yours.",
                    unsent(UnsentKind::NotResolved),
                ),
                entry(
                    "The connection is refused",
                    "The host is up and nothing listens on the port: another port, or pveproxy is down.",
                    unsent(UnsentKind::Refused),
                ),
                entry(
                    "Nobody answers",
                    "The host is off, or a firewall drops the packets. In a container: its network does not reach the host.",
                    unsent(UnsentKind::ConnectTimedOut(Duration::from_secs(10))),
                ),
                entry(
                    "There is no route",
                    "This machine is in another network, or a VPN is down.",
                    unsent(UnsentKind::Unreachable),
                ),
                entry(
                    "Something else answers",
                    "A proxy, a login page or another program stands where the API should be.",
                    Error::Foreign {
                        host: "pve1.lan:443".to_owned(),
                        method: Method::Get,
                        path: "/version".to_owned(),
                        status: 302,
                        content_type: Some("text/html".to_owned()),
                        redirect_to: Some("login.lan".to_owned()),
                    },
                ),
            ],
        ),
        (
            "TLS",
            vec![
                entry(
                    "The certificate is signed by somebody unknown",
                    "Every fresh node is like that: its cluster signs its certificate.",
                    unsent(TlsProblem::UnknownIssuer {
                        issuer: "PVE Cluster Manager CA".to_owned(),
                        is_self_signed: false,
                        fingerprint,
                    }),
                ),
                entry(
                    "The certificate is for another name",
                    "`PVE_HOST` is an address or an alias that the certificate does not name.",
                    unsent(TlsProblem::WrongName {
                        asked: "192.0.2.7".to_owned(),
                        names: vec!["pve1".to_owned(), "pve1.lan".to_owned()],
                        fingerprint,
                    }),
                ),
                entry(
                    "Another certificate than the pinned one",
                    "The node's certificate was renewed, another node answered, or somebody is in between.",
                    unsent(TlsProblem::NotPinned { expected: vec![other], presented: fingerprint }),
                ),
                entry(
                    "The certificate has expired",
                    "It was not renewed, or a clock is wrong.",
                    unsent(TlsProblem::Expired { not_after: "2026-01-31".to_owned(), fingerprint }),
                ),
                entry(
                    "It does not speak TLS",
                    "Plain HTTP, or another service, listens on that port.",
                    unsent(TlsProblem::NotTls),
                ),
            ],
        ),
        (
            "The token",
            vec![
                entry(
                    "The token is not accepted",
                    "Proxmox VE says the same of a wrong secret and of a token that is unknown, disabled or expired.",
                    get(401, "no such user ('mcp@pve')"),
                ),
                entry(
                    "The token did not arrive",
                    "A proxy in front of Proxmox VE removes the `Authorization` header.",
                    get(401, "No ticket"),
                ),
                entry(
                    "A privilege is missing",
                    "The token's role does not hold it on that path. With privilege separation the token needs the role itself, and so does its user.",
                    get(403, "Permission check failed (/nodes/pve1, Sys.Syslog)"),
                ),
            ],
        ),
        (
            "The cluster",
            vec![
                entry(
                    "The node cannot be reached",
                    "The node that was asked cannot reach the other one, or its daemon.",
                    get(595, "No route to host"),
                ),
                entry(
                    "Proxmox VE waits for itself",
                    "A node or a storage hangs, such as an NFS server that is gone.",
                    get(596, "Connection timed out"),
                ),
                entry(
                    "There is no quorum",
                    "Fewer than half of the votes are there.",
                    refused(
                        Method::Post,
                        "/nodes/pve1/qemu/100/status/start",
                        500,
                        "cluster not ready - no quorum?",
                    ),
                ),
                entry(
                    "The cluster's file system does not answer",
                    "pmxcfs is down or restarting on that node.",
                    get(
                        500,
                        "RPCEnvironment init request failed: Unable to load access control list: Connection refused",
                    ),
                ),
                entry(
                    "The node is not known",
                    "Its name is misspelled, or it has left the cluster.",
                    get(
                        500,
                        "hostname lookup 'pve9' failed - failed to get address info for: pve9: Name or service not known",
                    ),
                ),
                entry(
                    "The guest is not there",
                    "It was migrated or removed a moment ago.",
                    get(500, "Configuration file 'nodes/pve1/qemu-server/100.conf' does not exist"),
                ),
                entry(
                    "This version does not have it",
                    "An older Proxmox VE.",
                    get(501, "Method 'GET /nodes/pve1/x' not implemented"),
                ),
            ],
        ),
        (
            "Answers that are lost or unreadable",
            vec![
                entry(
                    "A read is not answered in time",
                    "The node is overloaded or cut off.",
                    lost(Method::Get, LostWhy::TimedOut(Duration::from_secs(35))),
                ),
                entry(
                    "The answer to a write is lost",
                    "The connection broke after the request was sent. It is never sent a second time.",
                    lost(Method::Post, LostWhy::Cut),
                ),
                entry(
                    "The answer is too large",
                    "More was asked for than fits.",
                    Error::TooLarge { path: "/nodes/pve1/journal".to_owned(), limit: 33_554_432 },
                ),
                entry(
                    "The answer is empty",
                    "Some endpoints of older versions answer so to a parameter that they do not know.",
                    Error::Unreadable {
                        method: Method::Get,
                        path: "/nodes/pve1/journal".to_owned(),
                        why: UnreadableWhy::Empty,
                    },
                ),
            ],
        ),
    ]
}

#[test]
fn the_page_on_troubleshooting_is_current() {
    let mut page = format!(
        "{MADE}# Troubleshooting\n\n\
         `mcp-proxmox check` goes the way to Proxmox VE step by step (address, TLS, token, version, privileges) and stops where \
         it is broken. Run it with the same settings as your client. What follows is what it and the tools say: what you see, why, \
         what to do.\n\n\
         ## The client\n\n\
         | what you see | why | what to do |\n|---|---|---|\n\
         | the client says only that the server disconnected or failed | the settings have a mistake, and the program ended with exit code 2 | start the same command in a terminal with the same variables: every mistake is told on standard error. Most clients keep that output in a log |\n\
         | `mcp-proxmox` is not found | clients that are started from a desktop have a short `PATH` | write the whole path of the program; `mcp-proxmox config CLIENT` does |\n\
         | the first start takes too long, with `npx` | it downloads the package; Codex waits 10 s | install it globally, or start the program itself |\n\
         | the variable with the secret is empty | programs that are started from a desktop do not see what a shell's profile exports | name the secret's file with `PVE_TOKEN_SECRET_FILE` |\n\
         | tools that change something are missing | the access tier is `read` | set `PVE_ACCESS_TIER=write`, and give the token the privileges: [access](access.md) |\n\
         | lists are empty or too short | the token sees less than there is: Proxmox VE leaves out what it may not see, without a word | `get_access`, or `mcp-proxmox check`, says which privilege is missing where |\n\
         | a VM is shown as running that is paused | one request for all guests cannot show it | `list_vms` with `exact: true`, or `get_vm_status` |\n"
    );
    for (section, entries) in catalogue() {
        let _ = write!(page, "\n## {section}\n");
        for Entry { title, why, error } in entries {
            let told = Failure::from_pve("read the state of node pve1", &error).to_string();
            let (what, hint) = told.split_once("\n\nhint: ").unwrap_or((&told, ""));
            assert!(!hint.is_empty(), "{title}: there is nothing to do about it");
            // The reader is the user.
            let hint = hint.strip_prefix("only the user can mend this: ").unwrap_or(hint);
            let _ = write!(
                page,
                "\n### {title}\n\n> {what}\n\n**Why.** {why}\n\n**What to do.** {}\n",
                capital(hint)
            );
        }
    }
    current("troubleshooting.md", &page);
}

/// A hint as a sentence of its own.
fn capital(text: &str) -> String {
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
            .filter(|name| name.ends_with(".md")),
    );
    names.sort();
    names
        .into_iter()
        .map(|name| (fs::read_to_string(root().join(&name)).unwrap(), name))
        .map(|(text, name)| (name, text))
        .collect()
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
