//! Documents that are made from the code, and the test that keeps them so.
//!
//! `INSTA_UPDATE=always cargo test -p mcp-proxmox` writes them anew.

use std::{fmt::Write as _, fs, path::PathBuf};

use mcp_proxmox::{catalog, prompts, resources, rights::need, server, tier::Level};
use serde_json::Value;

/// Compares a document with what it must be, or writes it where that is wanted. Figures may differ by a seventh,
/// since answers hold times and figures that move.
#[expect(
    clippy::disallowed_methods,
    reason = "the switch that rewrites snapshots rewrites these too"
)]
pub fn keep_current(name: &str, text: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    let is_wanted = std::env::var("INSTA_UPDATE").is_ok_and(|choice| choice == "always");
    if is_wanted {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    for (written, wanted) in written.lines().zip(text.lines()) {
        assert!(
            agree(written, wanted),
            "docs/{name} is not current: it has\n  {written}\nand should have\n  {wanted}\n\
             `INSTA_UPDATE=always cargo test -p mcp-proxmox` writes it anew"
        );
    }
    assert_eq!(written.lines().count(), text.lines().count(), "docs/{name} is not current");
}

/// Whether two lines say the same, with figures that are near each other.
fn agree(written: &str, wanted: &str) -> bool {
    let (written_words, written_figures) = apart(written);
    let (wanted_words, wanted_figures) = apart(wanted);
    let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 30.0_f64.max(a.max(*b) / 7.0);
    written_words == wanted_words
        && written_figures.len() == wanted_figures.len()
        && written_figures.iter().zip(&wanted_figures).all(near)
}

/// A line without its figures, and its figures. What has no thousands is a part of the text unless it stands alone.
fn apart(line: &str) -> (String, Vec<f64>) {
    let mut figures = Vec::new();
    let words = line.split_inclusive(' ').map(|word| {
        let digits = word.trim().replace(',', "");
        match digits.parse() {
            Ok(figure) => {
                figures.push(figure);
                "0 ".to_owned()
            }
            Err(_) => word.to_owned(),
        }
    });
    (words.collect(), figures)
}

/// What the definitions leave out of an argument, since each word of them is paid for in every conversation. A `*` is every
/// tool.
const MORE: [(&str, &str, &str); 8] = [
    ("list_tasks", "limit", "20 by default, at most 200; more is taken as 200."),
    ("get_task", "lines", "20 by default, at most 200; more is taken as 200."),
    ("get_system_log", "limit", "50 by default, at most 300; more is taken as 300."),
    ("search_logs", "limit", "40 by default, at most 200; more is taken as 200."),
    ("get_metrics", "timeframe", "`hour` by default."),
    ("get_metrics_chart", "timeframe", "`hour` by default."),
    ("*", "wait_seconds", "What is not over then goes on, and is answered as it is."),
    ("*", "confirm", "See [what is asked for](clients.md#who-can-be-asked)."),
];

/// Privileges that only one argument takes.
const BESIDE: [(&str, &str); 3] = [
    (
        "suspend_vm",
        "with `to_disk`: VM.Config.Disk on the guest and Datastore.AllocateSpace on the storage of its state",
    ),
    ("start_vm", "with `watch_console`: VM.Console on the guest"),
    ("reboot_vm", "with `watch_console`: VM.Console on the guest"),
];

/// What is said of limits is what the tools do.
#[tokio::test]
async fn limits_that_the_definitions_leave_out_are_those_that_are_told() {
    let sim = crate::support::demo().await;
    let upid = sim.change(|cluster| cluster.tasks[0].upid());
    for (tool, argument, more) in MORE {
        let Some(most) =
            more.split_once("is taken as ").map(|(_, most)| most.trim_end_matches('.'))
        else {
            continue;
        };
        let mut arguments = serde_json::json!({ argument: 100_000 });
        match tool {
            "get_task" => arguments["upid"] = upid.as_str().into(),
            "get_system_log" => arguments["node"] = "pve1".into(),
            "search_logs" => arguments["pattern"] = "error".into(),
            _ => {}
        }
        let answer = crate::support::answer(&sim, tool, arguments).await;
        let told = crate::support::notes(&answer);
        assert!(
            told.contains(&format!("was taken as {most}: 1 to {most} is possible")),
            "{tool}: {told}"
        );
    }
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

#[test]
fn the_reference_of_tools_is_current() {
    let mut text = String::from(
        "# Tools, prompts and resources\n\n\
         Made from the catalog by the test `the_reference_of_tools_is_current`; what the tools cost a model is in \
         [tokens.md](tokens.md).\n\n\
         A VM or container is given as `vm`: its vmid, or its name where that is unique. Times are ISO 8601, `2h` (ago), `today`, \
         `yesterday` or Unix seconds. Privileges are those of the API token on Proxmox VE; with less a tool shows less and says so.\n",
    );
    let definitions =
        server::definitions(&catalog::Catalog::new(catalog::ALL, Level::Write, |_| true));
    for level in [Level::Read, Level::Write] {
        let heading = match level {
            Level::Read => "Tools that only look",
            Level::Write => "Tools that change something (PVE_ACCESS_TIER=write)",
        };
        let _ = write!(text, "\n## {heading}\n");
        for (tool, entry) in definitions.as_array().unwrap().iter().zip(catalog::ALL) {
            if entry.level == level {
                describe(&mut text, tool, entry);
            }
        }
    }
    text.push_str("\n## Prompts\n\n| prompt | what comes of it | arguments |\n|---|---|---|\n");
    for prompt in prompts::ALL {
        let arguments = prompt.arguments.iter().map(|argument| {
            let required = if argument.is_required { " (required)" } else { "" };
            format!("`{}`{required}: {}", argument.name, argument.description)
        });
        let arguments = arguments.collect::<Vec<_>>().join("<br>");
        let _ = writeln!(
            text,
            "| `{}` | {} | {} |",
            prompt.name,
            cell(prompt.description),
            cell(&arguments)
        );
    }
    text.push_str("\n## Resources\n\n| address | what it shows |\n|---|---|\n");
    for resource in resources::ALL {
        let _ = writeln!(text, "| `{}` | {} |", resource.uri, cell(resource.description));
    }
    keep_current("tools.md", &text);
}

fn describe(text: &mut String, tool: &Value, entry: &catalog::Entry) {
    let _ = write!(text, "\n### `{}`: {}\n\n{}\n\n", entry.name, entry.title, entry.description);
    let _ = write!(text, "Toolset `{}`", entry.toolset.name());
    if entry.level == Level::Write {
        let loss = if entry.destructive {
            "can lose what was not saved"
        } else {
            "loses nothing that was saved"
        };
        let _ = write!(text, "; {loss}");
    }
    text.push_str(".\n");
    let needs: Vec<_> = need::needs_of(entry.name)
        .map(|need| format!("- {}: {}\n", need.what, need.privileges()))
        .collect();
    let beside = BESIDE.iter().filter(|(tool, _)| *tool == entry.name);
    let beside: Vec<_> = beside.map(|(_, what)| format!("- {what}\n")).collect();
    if needs.is_empty() {
        text.push_str("Needs no privilege.\n");
    } else {
        let _ = write!(text, "Privileges:\n\n{}{}", needs.concat(), beside.concat());
    }
    let arguments = tool["inputSchema"]["properties"].as_object().unwrap();
    if arguments.is_empty() {
        text.push_str("\nIt takes no arguments.\n");
        return;
    }
    let required = tool["inputSchema"]["required"].as_array().cloned().unwrap_or_default();
    text.push_str("\n| argument | kind | meaning |\n|---|---|---|\n");
    for (name, schema) in arguments {
        let required = if required.iter().any(|one| one == name) { ", required" } else { "" };
        let default = schema.get("default").map(|value| format!(", by default {value}"));
        let is_meant = |(tool, argument, _): &&(&str, &str, &str)| {
            *argument == name && (*tool == "*" || *tool == entry.name)
        };
        let more = MORE.iter().find(is_meant).map(|(.., more)| format!(" {more}"));
        let _ = writeln!(
            text,
            "| `{name}` | {}{}{required} | {}{} |",
            cell(&kind(schema)),
            default.unwrap_or_default(),
            cell(schema["description"].as_str().unwrap_or_default()),
            more.unwrap_or_default()
        );
    }
}

fn kind(schema: &Value) -> String {
    if let Some(words) = schema["enum"].as_array() {
        let words = words.iter().filter_map(Value::as_str).map(|word| format!("`{word}`"));
        return words.collect::<Vec<_>>().join(", ");
    }
    match (
        schema["type"].as_str().unwrap_or_default(),
        schema["minimum"].as_u64(),
        schema["maximum"].as_u64(),
    ) {
        ("array", ..) => format!("list of {}", kind(&schema["items"])),
        ("string", ..) => "text".to_owned(),
        ("boolean", ..) => "true or false".to_owned(),
        ("integer", min, Some(max)) => format!("number from {} to {max}", min.unwrap_or(0)),
        ("integer", ..) => "number".to_owned(),
        (other, ..) => other.to_owned(),
    }
}

#[test]
fn figures_may_move_and_words_may_not() {
    assert!(agree("| a | 1,000 | 20 |", "| a | 1,100 | 40 |"));
    assert!(!agree("| a | 1,000 |", "| a | 1,300 |"));
    assert!(!agree("| a | 1,000 |", "| b | 1,000 |"));
    assert!(!agree("| a | 1,000 | |", "| a | | |"));
}

#[test]
fn the_readme_names_everything_that_is_offered() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let readme = fs::read_to_string(root.join("README.md")).unwrap();
    let tools = catalog::ALL.iter().map(|entry| entry.name);
    let prompts = prompts::ALL.iter().map(|entry| entry.name);
    let resources = resources::ALL.iter().map(|entry| entry.uri);
    for name in tools.chain(prompts).chain(resources) {
        assert!(readme.contains(&format!("`{name}`")), "README.md does not name `{name}`");
    }
}
