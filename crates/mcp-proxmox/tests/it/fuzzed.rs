//! What is fuzzed holds for every seed of `fuzz/`, for these cut and changed a little, and for so many that chance makes
//! of them. The fuzzer itself, which is led by what an input reaches, is run by `ci/fuzz`.
//!
//! `MCP_PROXMOX_FUZZ_INPUTS` sets how many of each target chance makes, `MCP_PROXMOX_FUZZ_SEED` which they are.

use std::{fs, path::PathBuf, time::Instant};

use proptest::{collection::vec, prelude::*};
use serde_json::json;

use crate::{lifecycle_faults::Chance, process::number};

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

/// How many inputs of each target chance makes where nothing else is said.
const INPUTS: u64 = 200;
const SEED: u64 = 0x5EED_F022;
/// Longer ones say nothing new, and take their time.
const LONGEST: usize = 8 << 10;

/// What numbers and texts break at.
const TOKENS: &[&[u8]] = &[
    b"0",
    b"-1",
    b"1e999",
    b"18446744073709551616",
    b"null",
    b"{\"data\":",
    b"[",
    b"]",
    b"{",
    b"}",
    b"\"",
    b"\\u0000",
    b"\\ud800",
    b"\x1b[",
    b"\x1b]0;",
    b"\x00",
    b"\xff\xff\xff\xff",
    b"\xe2\x80\xae",
    b"\r\n",
    b"\n",
    b":",
    b"=",
    b"%2F",
    b"../",
    b"UPID:",
    b"`",
];

/// One to eight changes of a seed: bytes flipped, others put in, pieces taken out, doubled or taken from another seed.
fn mutated(chance: &mut Chance, seeds: &[Vec<u8>]) -> Vec<u8> {
    let mut input = seeds[chance.index(seeds.len())].clone();
    for _ in 0..=chance.index(8) {
        let at = chance.index(input.len() + 1);
        let length = chance.index((input.len() - at).min(64) + 1);
        match chance.below(7) {
            0 | 1 if at < input.len() => input[at] ^= 1 << chance.index(8),
            2 if at < input.len() => input[at] = u8::try_from(chance.below(256)).unwrap(),
            3 => drop(input.drain(at..at + length)),
            4 => drop(input.splice(at..at, TOKENS[chance.index(TOKENS.len())].iter().copied())),
            5 => {
                let piece = input[at..at + length].repeat(1 + chance.index(20));
                drop(input.splice(at..at, piece));
            }
            _ => {
                let other = &seeds[chance.index(seeds.len())];
                let from = chance.index(other.len() + 1);
                drop(input.splice(at..at + length, other[from..].iter().copied()));
            }
        }
    }
    input.truncate(LONGEST);
    input
}

#[test]
fn every_target_takes_whatever_chance_makes_of_its_seeds() {
    let n_inputs = number("MCP_PROXMOX_FUZZ_INPUTS").unwrap_or(INPUTS);
    let seed = number("MCP_PROXMOX_FUZZ_SEED").unwrap_or(SEED);
    let mut failed = Vec::new();
    for (nth, (name, target)) in (1_u64..).zip(TARGETS) {
        let (seeds, mut chance) = (seeds(name), Chance::of(seed ^ (nth << 40)));
        let began = Instant::now();
        let bad = (0..n_inputs)
            .map(|_| mutated(&mut chance, &seeds))
            .find(|input| std::panic::catch_unwind(|| target(input)).is_err());
        println!("{name:<10} {n_inputs:>8} inputs, {:?}", began.elapsed());
        failed.extend(bad.map(|input| (name, input.escape_ascii().to_string())));
    }
    assert!(failed.is_empty(), "of seed {seed}: {failed:?}");
}

/// A message of a screen's server: its kind, and what may stand behind it.
fn message() -> impl Strategy<Value = Vec<u8>> {
    let rectangle =
        (0_u16..20, 0_u16..20, 0_u16..20, 0_u16..20, prop::sample::select(&[0, 7, 16, -223, 5]));
    let update = (rectangle, vec(any::<u8>(), 0..200)).prop_map(|((x, y, w, h, kind), pixels)| {
        let mut message = [0_u16, 1, x, y, w, h].map(u16::to_be_bytes).concat();
        message.extend(i32::to_be_bytes(kind));
        message.extend(pixels);
        message
    });
    let kinds = prop::sample::select(&[1_u8, 2, 3, 9]);
    let other =
        (kinds, vec(any::<u8>(), 0..40)).prop_map(|(kind, rest)| [vec![kind], rest].concat());
    prop_oneof![update, other]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_screen_takes_any_messages_behind_a_greeting(
        messages in vec(message(), 0..8), depth in prop::sample::select(&[8_u8, 16, 24, 32]), true_colour in 0_u8..2,
    ) {
        let mut said = b"RFB 003.008\n\x01\x01\0\0\0\0\0\x10\0\x08".to_vec();
        said.extend([depth, depth.min(24), 0, true_colour, 0, 255, 0, 255, 0, 255, 16, 8, 0, 0, 0, 0, 0, 0, 0, 1, b'q']);
        said.extend(messages.concat());
        targets::rfb(&said);
    }

    #[test]
    fn a_journal_takes_any_entries(texts in vec("\\PC{0,30}", 0..6), numbers in vec(any::<i64>(), 0..6), bytes in vec(any::<u8>(), 0..60)) {
        let entries = texts.iter().zip(numbers.iter().chain([&0].into_iter().cycle())).flat_map(|(text, number)| {
            [json!(text), json!(number), json!({ "msg": text, "t": number, "p": text, "ty": text }), json!([text]), json!(null)]
        });
        let body = json!({ "data": entries.collect::<Vec<_>>() }).to_string();
        for body in [body.as_bytes(), &bytes, &[b"{\"data\":[".as_slice(), &bytes, b"]}"].concat()] {
            targets::journal(body);
        }
    }
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
