//! Codex, which its terminal program, its editor extension and its desktop program share: a TOML file.

use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike, Value, value};

use super::{
    client::{Client, Existing, Merged, Secret},
    server::Server,
};
use crate::config::settings;

pub(super) const CLIENT: Client = Client {
    name: "codex",
    title: "Codex",
    file: |places| match places.named("CODEX_HOME") {
        Some(folder) => Some(folder.join("config.toml")),
        None => places.below_home(".codex/config.toml"),
    },
    secret: Secret::Environment,
    merge,
    then: "start Codex anew; `/mcp` in it shows the server",
    project: None,
};

fn merge(text: &str, server: &Server, existing: Existing) -> Result<Merged, String> {
    let mut document: DocumentMut = text.parse().map_err(|error| {
        format!("it cannot be read as TOML: {}", first_line(&format!("{error}")))
    })?;
    let mut servers = Table::new();
    // Only its children need a line of their own.
    servers.set_implicit(true);
    let servers = document.entry("mcp_servers").or_insert(Item::Table(servers));
    let is_inline = servers.is_inline_table();
    let servers = servers
        .as_table_like_mut()
        .ok_or_else(|| "`mcp_servers` in it is not a table".to_owned())?;
    let name = &server.name;
    let mut entry = entry(server);
    if let Some(there) = servers.get_mut(name).and_then(Item::as_table_like_mut) {
        let before = of_table(there);
        if ["startup_timeout_sec", "startup_timeout_ms"].iter().any(|key| there.contains_key(key)) {
            entry.remove("startup_timeout_sec");
        }
        update(there, &entry, starts_otherwise);
        return Ok(if of_table(there) == before {
            Merged::Same
        } else if existing == Existing::Keep {
            Merged::Taken
        } else {
            Merged::Changed(written_as(text, &document))
        });
    }
    if servers.contains_key(name) && existing == Existing::Keep {
        return Ok(Merged::Taken);
    }
    let item = if is_inline {
        Item::Value(Value::InlineTable(entry.into_inline_table()))
    } else {
        Item::Table(entry)
    };
    servers.insert(name, item);
    Ok(Merged::Changed(written_as(text, &document)))
}

/// A document with the ends of lines and the mark of the text that it was read from: the library has its own.
fn written_as(text: &str, document: &DocumentMut) -> String {
    let mut after = document.to_string().replace("\r\n", "\n");
    if text.matches("\r\n").count() * 2 > text.matches('\n').count() {
        after = after.replace('\n', "\r\n");
    }
    let mark = if text.starts_with('\u{feff}') { "\u{feff}" } else { "" };
    format!("{mark}{after}")
}

/// Whether this would start or reach another server than the entry that is merged, which does not have it.
fn starts_otherwise(key: &str) -> bool {
    const KEYS: [&str; 6] =
        ["env", "env_vars", "url", "bearer_token_env_var", "http_headers", "env_http_headers"];
    KEYS.contains(&key)
}

/// Changes what differs, and takes out what is not to stay; the rest of the entry and its comments are the user's.
fn update(there: &mut dyn TableLike, entry: &dyn TableLike, goes: fn(&str) -> bool) {
    let gone = there.iter().map(|(key, _)| key.to_owned());
    let gone: Vec<_> = gone.filter(|key| goes(key) && !entry.contains_key(key)).collect();
    for key in gone {
        there.remove(&key);
    }
    for (key, new) in entry.iter() {
        if let (Some(old), Some(new)) =
            (there.get_mut(key).and_then(Item::as_table_like_mut), new.as_table_like())
        {
            // What is within, which is the environment, is the server's alone.
            update(old, new, |_| true);
            continue;
        }
        match (there.get_mut(key).and_then(Item::as_value_mut), new.as_value()) {
            (Some(old), Some(new)) if old.to_string().trim() != new.to_string().trim() => {
                let decor = old.decor().clone();
                *old = new.clone();
                *old.decor_mut() = decor;
            }
            (Some(_), Some(_)) => {}
            _ => drop(there.insert(key, new.clone())),
        }
    }
}

fn entry(server: &Server) -> Table {
    let mut entry = Table::new();
    entry.insert("command", value(&server.command));
    entry.insert("args", value(server.arguments.iter().collect::<Array>()));
    if !server.environment.is_empty() {
        let environment: InlineTable =
            server.environment.iter().map(|(name, text)| (*name, Value::from(text))).collect();
        entry.insert("env", Item::Table(environment.into_table()));
    }
    if server.fills_in_secret {
        // Codex hands on a variable of its own environment only where it is told to.
        entry.insert("env_vars", value(Array::from_iter([settings::TOKEN_SECRET.variable])));
    }
    if server.starts_slowly {
        // It waits 10 s by itself, which the first download can exceed.
        entry.insert("startup_timeout_sec", value(60));
    }
    entry
}

/// What the file holds, for a comparison.
pub(super) fn values(text: &str) -> Option<serde_json::Value> {
    let document: DocumentMut = text.parse().ok()?;
    Some(of_table(document.as_table()))
}

fn of_table(table: &dyn TableLike) -> serde_json::Value {
    let members = table.iter().map(|(key, item)| {
        let value = match item.as_table_like() {
            Some(table) => of_table(table),
            None => item.as_value().map_or_else(|| item.to_string().trim().into(), of_value),
        };
        (key.to_owned(), value)
    });
    serde_json::Value::Object(members.collect())
}

/// Texts and lists as they are, of everything else its notation.
fn of_value(value: &Value) -> serde_json::Value {
    match value {
        Value::Array(list) => list.iter().map(of_value).collect(),
        Value::String(text) => text.value().as_str().into(),
        other => other.to_string().trim().into(),
    }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::cli::config::server::Via;

    fn server() -> Server {
        Server::new("proxmox", Via::Npx, false, vec![("PVE_HOST", "pve".to_owned())], true)
    }

    fn merged(text: &str) -> String {
        match merge(text, &server(), Existing::Keep).unwrap() {
            Merged::Changed(after) => after,
            Merged::Same | Merged::Taken => panic!("it was not there"),
        }
    }

    #[test]
    fn the_file_keeps_its_comments_and_its_order() {
        let text = "# mine\nmodel = \"gpt\" # best\n\n[mcp_servers.other] # keep\ncommand = 'x'\n\n[tui]\ntheme = 'dark'\n";
        let after = merged(text);
        assert!(
            after.starts_with("# mine\nmodel = \"gpt\" # best\n\n[mcp_servers.other] # keep\n"),
            "{after}"
        );
        assert!(after.contains("[tui]\ntheme = 'dark'\n"), "{after}");
        assert!(after.contains("env_vars = [\"PVE_TOKEN_SECRET\"]"), "{after}");
        assert!(matches!(merge(&after, &server(), Existing::Keep), Ok(Merged::Same)));
    }

    #[test]
    fn servers_on_one_line_stay_on_one() {
        let after = merged("mcp_servers = { other = { command = 'x' } }\n");
        assert_eq!(after.lines().count(), 1, "{after}");
        let all: DocumentMut = after.parse().unwrap();
        assert_eq!(all["mcp_servers"]["proxmox"]["env"]["PVE_HOST"].as_str(), Some("pve"));
        assert_eq!(all["mcp_servers"]["other"]["command"].as_str(), Some("x"));
    }

    #[test]
    fn what_cannot_be_merged_is_refused() {
        for text in ["mcp_servers = 1", "a = \n"] {
            assert!(merge(text, &server(), Existing::Keep).is_err(), "{text}");
        }
        let kept = merge("[mcp_servers.proxmox]\ncommand = 'mine'", &server(), Existing::Keep);
        assert!(matches!(kept, Ok(Merged::Taken)));
        let replaced =
            merge("[mcp_servers.proxmox]\ncommand = 'mine'", &server(), Existing::Replace);
        assert!(matches!(replaced, Ok(Merged::Changed(text)) if !text.contains("mine")));
    }

    /// Whether two tables mean the same, however they are written.
    fn same(one: &dyn TableLike, other: &dyn TableLike) -> bool {
        one.len() == other.len()
            && one.iter().all(|(key, item)| {
                let Some(counterpart) = other.get(key) else { return false };
                match (item.as_table_like(), counterpart.as_table_like()) {
                    (Some(one), Some(other)) => same(one, other),
                    (None, None) => item.to_string().trim() == counterpart.to_string().trim(),
                    _ => false,
                }
            })
    }

    #[test]
    fn what_is_the_users_own_in_an_entry_stays() {
        let text = "[mcp_servers.proxmox]\n# of the program\ncommand = 'mine' # said of it\nurl = 'https://x'\nenabled = false\nstartup_timeout_sec = 90\n\n[mcp_servers.proxmox.env]\n# of the host\nPVE_HOST = 'other'\nOLD = '1'\n\n[mcp_servers.proxmox.tools.a]\napproval_mode = 'x'\n";
        let Ok(Merged::Changed(after)) = merge(text, &server(), Existing::Replace) else {
            panic!("it is another one")
        };
        for kept in [
            "# of the program\ncommand = \"npx\" # said of it\n",
            "enabled = false\nstartup_timeout_sec = 90\n",
            "# of the host\nPVE_HOST = \"pve\"\n",
            "[mcp_servers.proxmox.tools.a]\napproval_mode = 'x'\n",
        ] {
            assert!(after.contains(kept), "{kept} is not in {after}");
        }
        assert!(!after.contains("url") && !after.contains("OLD"), "{after}");
        assert!(matches!(merge(&after, &server(), Existing::Keep), Ok(Merged::Same)));
    }

    #[test]
    fn ends_of_lines_and_a_mark_stay_as_they_are() {
        let text = "\u{feff}# x\r\nmodel = \"x\"\r\n\r\n[a]\r\ns = \"\"\"\r\nmany\r\n\"\"\"\r\n";
        let after = merged(text);
        assert!(after.starts_with(text), "{after:?}");
        assert_eq!(after.matches('\n').count(), after.matches("\r\n").count(), "{after:?}");
        let after = merged("model = \"x\"\n");
        assert!(!after.contains('\r') && !after.contains('\u{feff}'), "{after:?}");
    }

    fn tables() -> impl Strategy<Value = String> {
        let value = prop_oneof![
            any::<i16>().prop_map(|number| number.to_string()),
            Just("\"text # no comment\"".to_owned()),
            Just("[1, 2,] # list".to_owned()),
            Just("{ a = 1, b = 'c' }".to_owned()),
            Just("\"\"\"\nmany\nlines\"\"\"".to_owned()),
        ];
        let pair = (0..9_u8, value, any::<bool>());
        let table = (0..6_u8, proptest::collection::btree_map(0..9_u8, pair, 0..4), any::<bool>());
        proptest::collection::btree_map(0..6_u8, table, 0..5).prop_map(|tables| {
            let mut text = String::from("# first\n");
            for (name, (_, pairs, is_server)) in tables {
                let place = if is_server { "mcp_servers." } else { "" };
                text +=
                    &["\n# about ", &name.to_string(), "\n[", place, "t", &name.to_string(), "]\n"]
                        .concat();
                for (key, (_, value, is_commented)) in pairs {
                    if is_commented {
                        text += "  # said of it\n";
                    }
                    text += &["k", &key.to_string(), " = ", &value, "\n"].concat();
                }
            }
            text
        })
    }

    proptest! {
        #[test]
        fn a_server_is_added_to_any_file_and_nothing_is_lost(text in tables()) {
            let after = merged(&text);
            let mut lines = after.lines();
            for line in text.lines().filter(|line| !line.trim().is_empty()) {
                prop_assert!(lines.any(|other| other == line), "{} is gone from {}", line, after);
            }
            let before: DocumentMut = text.parse().unwrap();
            let mut all: DocumentMut = after.parse().unwrap();
            let servers = all["mcp_servers"].as_table_like_mut().unwrap();
            prop_assert_eq!(servers.get("proxmox").unwrap()["env"]["PVE_HOST"].as_str(), Some("pve"));
            servers.remove("proxmox");
            let is_empty = servers.is_empty();
            if is_empty {
                all.remove("mcp_servers");
            }
            prop_assert!(same(before.as_table(), all.as_table()), "{} became {}", text, after);
        }
    }
}
