//! What is fuzzed holds for every seed of `fuzz/`, and for these cut and changed a little. The fuzzer itself is run by
//! `ci/fuzz`.

use std::{fs, path::PathBuf};

#[path = "../../../../fuzz/targets.rs"]
mod targets;

use targets::TARGETS;

/// The seeds of a target, the smallest first.
fn seeds(target: &str) -> Vec<Vec<u8>> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(target);
    let entries = fs::read_dir(&folder).unwrap_or_else(|_| panic!("write seeds for {target}"));
    let mut seeds: Vec<_> = entries.map(|entry| fs::read(entry.unwrap().path()).unwrap()).collect();
    seeds.sort_by_key(Vec::len);
    seeds
}

/// A seed, its beginnings, and the seed with single bytes changed.
fn neighbours(seed: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let step = seed.len() / 40 + 1;
    let cut = (0..=seed.len()).step_by(step).map(|end| seed[..end].to_vec());
    let changed = (0..seed.len()).step_by(step).flat_map(|at| {
        [0, 0x0a, 0x1b, 0x22, 0x7f, 0xff].map(|byte| {
            let mut changed = seed.to_vec();
            changed[at] = byte;
            changed
        })
    });
    cut.chain(changed)
}

#[test]
fn every_target_takes_its_seeds_and_what_is_near_them() {
    let mut failed = Vec::new();
    for (name, target) in TARGETS {
        let seeds = seeds(name);
        assert!(seeds.len() > 2, "write more seeds for {name}");
        for seed in seeds {
            let bad =
                neighbours(&seed).find(|input| std::panic::catch_unwind(|| target(input)).is_err());
            failed.extend(bad.map(|input| (name, String::from_utf8_lossy(&input).into_owned())));
        }
    }
    assert!(failed.is_empty(), "{failed:?}");
}

#[test]
fn every_target_is_one_of_the_fuzzer_too() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
    let mut files: Vec<String> = fs::read_dir(folder.join("fuzz_targets"))
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    files.sort();
    let names: Vec<&str> = TARGETS.iter().map(|(name, _)| *name).collect();
    assert_eq!(files, names);
    for name in names {
        assert!(manifest.contains(&format!("name = \"{name}\"")), "{name} is not in Cargo.toml");
    }
}
