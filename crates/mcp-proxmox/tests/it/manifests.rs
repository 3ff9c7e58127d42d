//! The crates' manifests: lints are the workspace's everywhere, nothing allows `unsafe`, and the tables of
//! dependencies and features in ARCHITECTURE.md name what is there and nothing else.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use toml_edit::{DocumentMut, Item};

const CRATES: [&str; 3] = ["mcp-proxmox", "pve-client", "pve-sim"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_owned()
}

fn manifest(path: &Path) -> DocumentMut {
    fs::read_to_string(path.join("Cargo.toml")).unwrap().parse().unwrap()
}

/// The manifests of the crates that are there, by name.
fn crates() -> Vec<(String, DocumentMut)> {
    let folders = fs::read_dir(root().join("crates")).unwrap();
    let folders = folders.map(|entry| entry.unwrap().path());
    let mut crates: Vec<_> = folders
        .filter(|folder| folder.join("Cargo.toml").exists())
        .map(|folder| (folder.file_name().unwrap().to_string_lossy().into_owned(), folder))
        .map(|(name, folder)| (name, manifest(&folder)))
        .collect();
    crates.sort_by(|(a, _), (b, _)| a.cmp(b));
    crates
}

#[test]
fn every_crate_has_the_lints_of_the_workspace() {
    let workspace = manifest(&root());
    let unsafe_code = &workspace["workspace"]["lints"]["rust"]["unsafe_code"];
    assert_eq!(unsafe_code.as_str(), Some("forbid"), "what is forbidden cannot be allowed again");
    let crates = crates();
    assert_eq!(crates.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), CRATES);
    for (name, manifest) in &crates {
        let inherits = manifest.get("lints").and_then(|lints| lints.get("workspace"));
        assert_eq!(
            inherits.and_then(Item::as_bool),
            Some(true),
            "{name}: no `[lints] workspace = true`"
        );
    }
}

#[test]
fn no_source_allows_unsafe_code() {
    let allows = ["allow(unsafe_code", "expect(unsafe_code", "cap-lints", "unsafe {", "unsafe fn"];
    let own = Path::new(file!()).file_name().unwrap();
    let mut left = vec![root().join("crates"), root().join("fuzz")];
    let mut n_files = 0;
    while let Some(folder) = left.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && path.file_name() != Some("target".as_ref()) {
                left.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs")
                && path.file_name() != Some(own)
            {
                n_files += 1;
                let text = fs::read_to_string(&path).unwrap();
                for allow in allows {
                    assert!(!text.contains(allow), "{}: has `{allow}`", path.display());
                }
            }
        }
    }
    assert!(n_files > 300, "only {n_files} files were read");
}

/// The rows of a table whose head begins so: their cells.
fn table(text: &str, head: &str) -> Vec<Vec<String>> {
    let lines = text.lines().skip_while(|line| !line.starts_with(head)).skip(2);
    let rows = lines.take_while(|line| line.starts_with('|'));
    let cells = |line: &str| {
        let cells = line.trim_matches('|').split('|');
        cells.map(|cell| cell.trim().to_owned()).collect()
    };
    rows.map(cells).collect()
}

/// The names of crates in a cell: without what is said in brackets.
fn names(cell: &str) -> impl Iterator<Item = &str> {
    cell.split(',').filter_map(|name| name.split_whitespace().next())
}

/// What a crate depends on, from all its tables, with the features that it switches on.
fn dependencies(manifest: &DocumentMut) -> BTreeMap<String, BTreeSet<String>> {
    let mut all = BTreeMap::<String, BTreeSet<String>>::new();
    for table in ["dependencies", "dev-dependencies", "build-dependencies"] {
        let Some(table) = manifest.get(table).and_then(Item::as_table_like) else { continue };
        for (name, item) in table.iter() {
            let of = all.entry(name.to_owned()).or_default();
            of.extend(features(item));
        }
    }
    all
}

fn features(item: &Item) -> BTreeSet<String> {
    let list = item.get("features").and_then(Item::as_array);
    let names = list.into_iter().flatten().filter_map(toml_edit::Value::as_str);
    names.map(str::to_owned).collect()
}

fn is_ours(name: &str) -> bool {
    CRATES.contains(&name)
}

#[test]
fn the_table_of_dependencies_is_what_the_crates_depend_on() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let rows = table(&text, "| crate | why |");
    let told: BTreeSet<String> =
        rows.iter().flat_map(|row| names(&row[0])).map(str::to_owned).collect();
    let used: BTreeSet<String> = crates()
        .iter()
        .flat_map(|(_, manifest)| dependencies(manifest).into_keys())
        .filter(|name| !is_ours(name))
        .collect();
    let of_workspace: BTreeSet<String> = manifest(&root())["workspace"]["dependencies"]
        .as_table_like()
        .unwrap()
        .iter()
        .map(|(name, _)| name.to_owned())
        .filter(|name| !is_ours(name))
        .collect();
    assert_eq!(
        of_workspace, used,
        "the workspace names what no crate uses, or a crate has its own"
    );
    let untold: Vec<_> = used.difference(&told).collect();
    let gone: Vec<_> = told.difference(&used).collect();
    assert!(untold.is_empty(), "ARCHITECTURE.md does not say why these are there: {untold:?}");
    assert!(gone.is_empty(), "ARCHITECTURE.md names what is not there: {gone:?}");
}

#[test]
fn the_table_of_features_is_what_is_switched_on() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let rows = table(&text, "| crate | features |");
    let mut on = BTreeMap::<String, BTreeSet<String>>::new();
    let manifest = manifest(&root());
    let workspace = manifest["workspace"]["dependencies"].as_table_like().unwrap();
    for (name, item) in workspace.iter().filter(|(name, _)| !is_ours(name)) {
        on.entry(name.to_owned()).or_default().extend(features(item));
    }
    for (_, manifest) in crates() {
        for (name, features) in dependencies(&manifest) {
            if !is_ours(&name) {
                on.entry(name).or_default().extend(features);
            }
        }
    }
    let literals = |cell: &str| {
        let literals = cell.split('`').skip(1).step_by(2);
        literals.map(str::to_owned).collect::<BTreeSet<_>>()
    };
    let mut told = BTreeMap::<&str, BTreeSet<String>>::new();
    for row in &rows {
        let named: BTreeSet<&String> =
            names(&row[0]).filter_map(|name| on.get(name)).flatten().collect();
        let switched_on = literals(&row[1]);
        let gone: Vec<_> = switched_on.iter().filter(|feature| !named.contains(feature)).collect();
        assert!(gone.is_empty(), "ARCHITECTURE.md: {} has not {gone:?}", row[0]);
        for name in names(&row[0]) {
            // Those of tests stand in the last column: `Tests add …`.
            told.entry(name)
                .or_default()
                .extend(switched_on.iter().cloned().chain(literals(&row[2])));
        }
    }
    for (name, features) in &on {
        let told = told.get(name.as_str()).cloned().unwrap_or_default();
        let untold: Vec<_> = features.difference(&told).collect();
        assert!(
            untold.is_empty(),
            "ARCHITECTURE.md does not name the features {untold:?} of {name}"
        );
    }
}

#[test]
fn our_own_features_are_all_told() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let told = text.split("Our own: ").nth(1).unwrap();
    for (name, manifest) in crates() {
        let features = manifest.get("features").and_then(Item::as_table_like);
        for (feature, _) in features.into_iter().flat_map(|table| table.iter()) {
            let is_told =
                feature == "default" || told.contains(&format!("`{feature}` of `{name}`"));
            assert!(is_told, "ARCHITECTURE.md does not name the feature `{feature}` of {name}");
        }
    }
}
