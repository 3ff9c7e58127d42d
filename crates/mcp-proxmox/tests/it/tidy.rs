//! Rules about the source itself, each the guard of something that ARCHITECTURE.md promises.

use std::{
    fs,
    path::{Path, PathBuf},
};

#[test]
fn every_file_says_what_it_is_for() {
    for (path, text) in sources() {
        assert!(
            text.starts_with("//!"),
            "{}: begin with `//!` and say what the file is for",
            path.display()
        );
    }
}

#[test]
fn no_file_is_longer_than_can_be_read() {
    for (path, text) in sources() {
        let n_lines = text.lines().count();
        assert!(n_lines <= 450, "{}: {n_lines} lines; split it by purpose", path.display());
    }
}

#[test]
fn only_the_server_names_the_protocol_library() {
    for (path, text) in sources_of("mcp-proxmox") {
        let may = path.components().any(|part| part.as_os_str() == "server");
        let names = text.contains("rmcp::") || text.contains("use rmcp");
        assert!(may || !names, "{}: only `server` may use `rmcp`", path.display());
    }
}

#[test]
fn only_tools_that_read_are_handed_what_others_have_read() {
    for (path, text) in sources_of("mcp-proxmox") {
        let makes_one = text.contains("Observer::new") || text.contains(".observer(");
        let may = ["tier.rs", "completion/mod.rs"].iter().any(|may| path.ends_with(may));
        assert!(may || !makes_one, "{}: a tool gets its client from its effect", path.display());
        let is_of_a_write = path.components().any(|part| part.as_os_str() == "power");
        assert!(!(is_of_a_write && text.contains("Observer")), "{}", path.display());
    }
}

#[test]
fn the_server_knows_no_tool_by_name() {
    let names: Vec<_> = mcp_proxmox::catalog::ALL.iter().map(|entry| entry.name).collect();
    for (path, text) in sources_of("mcp-proxmox") {
        if path.components().any(|part| part.as_os_str() == "server") {
            for name in &names {
                assert!(!text.contains(name), "{}: names the tool `{name}`", path.display());
            }
        }
    }
}

#[test]
fn every_tool_has_a_file_and_a_test_file() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for entry in mcp_proxmox::catalog::ALL {
        for place in ["src/tools", "tests/it"] {
            let file = root.join(place).join(format!("{}.rs", entry.name));
            assert!(file.exists(), "the tool `{}` has no {}", entry.name, file.display());
        }
    }
}

#[test]
fn crates_keep_apart() {
    let manifest = |name: &str| {
        let text = fs::read_to_string(crates().join(name).join("Cargo.toml")).unwrap();
        text.split("[dev-dependencies]").next().unwrap().to_owned()
    };
    let client = manifest("pve-client");
    let sim = fs::read_to_string(crates().join("pve-sim/Cargo.toml")).unwrap();
    assert!(
        !client.contains("rmcp") && !client.contains("pve-sim"),
        "pve-client knows no MCP and no simulator"
    );
    assert!(!sim.contains("pve-client"), "pve-sim must not share the client's mistakes");
}

#[test]
fn the_environment_is_read_in_one_place() {
    for (path, text) in sources() {
        // The simulator's record of requests is in no release.
        let may =
            path.ends_with("mcp-proxmox/src/cli/mod.rs") || path.ends_with("pve-sim/src/record.rs");
        let reads = text
            .lines()
            .any(|line| line.contains("env::var") && !line.trim_start().starts_with("//"));
        assert!(may || !reads, "{}: reads the environment", path.display());
    }
}

#[test]
fn every_path_in_the_documentation_exists() {
    let root = crates().parent().unwrap().to_owned();
    for document in ["ARCHITECTURE.md", "CONTRIBUTING.md", "README.md"] {
        let text = fs::read_to_string(root.join(document)).unwrap();
        for word in text.split('`').skip(1).step_by(2) {
            let is_path = word.contains('/')
                && !word.contains([' ', '*', '<', '{', '$', ':', '@', '…'])
                && !word.starts_with('/')
                && !word.contains("//");
            let is_ours =
                ["crates/", "docs/", ".ci/", "ci/"].iter().any(|start| word.starts_with(start));
            assert!(
                !is_path || !is_ours || root.join(word).exists(),
                "{document} names `{word}`, which does not exist"
            );
        }
    }
}

#[test]
fn every_test_that_a_page_names_as_a_guard_exists() {
    let folders = ["mcp-proxmox", "pve-client", "pve-sim"].map(|name| crates().join(name));
    let parts = folders.iter().flat_map(|folder| ["src", "tests"].map(|part| folder.join(part)));
    let sources: Vec<String> = parts.flat_map(files_in).map(|(_, text)| text).collect();
    for document in ["ARCHITECTURE.md", "SECURITY.md"] {
        let text = fs::read_to_string(crates().parent().unwrap().join(document)).unwrap();
        for name in text.split('`').skip(1).step_by(2) {
            let is_sentence = name.split('_').count() > 4
                && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
            let function = format!("fn {name}(");
            let is_there = sources.iter().any(|text| text.contains(&function));
            assert!(!is_sentence || is_there, "{document} names `{name}`, which no test is called");
        }
    }
}

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn sources() -> Vec<(PathBuf, String)> {
    ["mcp-proxmox", "pve-client", "pve-sim"].into_iter().flat_map(sources_of).collect()
}

fn sources_of(name: &str) -> Vec<(PathBuf, String)> {
    files_in(crates().join(name).join("src"))
}

fn files_in(folder: PathBuf) -> Vec<(PathBuf, String)> {
    let mut left = vec![folder];
    let mut files = Vec::new();
    while let Some(folder) = left.pop() {
        // A crate may have no `tests`.
        for entry in fs::read_dir(folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                left.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                files.push((path, text));
            }
        }
    }
    files
}
