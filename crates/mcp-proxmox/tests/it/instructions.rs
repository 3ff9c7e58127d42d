//! How many instructions three key paths take: the start, the list of tools, a list of 10,000 guests.
//!
//! Times depend on the machine and on what else it does; instructions hardly do, so that they can be held to a
//! bound. The program runs under valgrind's callgrind and is spoken to as a client does; the simulated cluster is
//! in this process, whose instructions are not counted.
//!
//! It needs valgrind and the program as it is released, so that it runs only where it is asked for:
//! `.ci/run release instructions`, which names that program in `PROGRAM`. What was counted before is in
//! `.ci/instructions.tsv`, one line for each [`environment`]: another compiler, another C library (whose loader
//! alone is a third of a start) or a processor without AVX2 counts otherwise, and that is nobody's regression. In
//! an environment without a line nothing is held, and the line to add is printed.

use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
    process::Command,
};

use pve_sim::{Cluster, GENERATED_TOKEN_ID, GENERATED_TOKEN_SECRET, Sim};
use serde_json::json;

use crate::process::{Program, program_for};

/// How much more than before is too much, in percent. The same program differs from run to run by one or two, and on a
/// busy machine, where it is woken more often, by up to five: of two runs the smaller counts.
const TOLERANCE: u64 = 10;

/// What is counted, as the columns of the file name it.
const PATHS: [&str; 3] = ["start", "tools_list", "list_vms"];

/// What a run counted, in the order of [`PATHS`]: the start whole, the others without it.
type Counts = [u64; 3];

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs valgrind and the program as it is released"]
async fn instructions_of_the_key_paths_stay_what_they_were() {
    let sim = Sim::start(Cluster::generated(64, 10_000, 7)).await.unwrap();
    let now: Counts = tokio::task::block_in_place(|| {
        let start = least(&sim, |_| {});
        let tools = least(&sim, |program| {
            program.request("tools/list", json!({}));
        });
        let list = least(&sim, |program| {
            let answer = program.call("list_vms", json!({}));
            assert_eq!(answer["result"]["structuredContent"]["total"], 10_000, "{answer}");
        });
        [start, tools - start, list - start]
    });
    let environment = environment();
    let text = std::fs::read_to_string(file()).unwrap();
    println!("instructions, in {environment}:");
    let Some(before) = find(&text, &environment) else {
        PATHS.iter().zip(now).for_each(|(path, now)| println!("  {path:12} {now:>12}"));
        println!(
            "left out: nothing was counted before in this environment; to hold it from now on,"
        );
        println!(
            "add to .ci/instructions.tsv (`UPDATE_DOCS=1 .ci/run release instructions` does it):"
        );
        println!("{}", line(&environment, now));
        update(&text, &environment, now);
        return;
    };
    let mut told = String::new();
    let mut is_over = false;
    for ((path, now), before) in PATHS.iter().zip(now).zip(before) {
        let verdict = match judge(before, now) {
            Verdict::More => "MORE than may be",
            Verdict::Less => "less: lower the bound, so that it is not lost again",
            Verdict::Same => "as before",
        };
        is_over |= judge(before, now) == Verdict::More;
        writeln!(told, "  {path:12} {now:>12}, before {before:>12}: {verdict}").unwrap();
    }
    println!("{told}");
    update(&text, &environment, now);
    assert!(
        !is_over || is_updating(),
        "more than {TOLERANCE} % more instructions than before, in {environment}:\n{told}\
         hint: profile it with `valgrind --tool=callgrind`; if it is worth its price, accept it with \
         `UPDATE_DOCS=1 .ci/run release instructions` and say in the commit what was bought"
    );
}

#[derive(Debug, PartialEq)]
enum Verdict {
    More,
    Same,
    Less,
}

fn judge(before: u64, now: u64) -> Verdict {
    match now * 100 {
        now if now > before * (100 + TOLERANCE) => Verdict::More,
        now if now < before * (100 - TOLERANCE) => Verdict::Less,
        _ => Verdict::Same,
    }
}

/// The smaller of two counts.
fn least(sim: &Sim, work: fn(&mut Program)) -> u64 {
    counted(sim, work).min(counted(sim, work))
}

/// All instructions of one run of the program, from its start to its end.
fn counted(sim: &Sim, work: fn(&mut Program)) -> u64 {
    let plain = program_for(sim, GENERATED_TOKEN_ID, GENERATED_TOKEN_SECRET);
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    command.arg(std::env::var_os("PROGRAM").expect("PROGRAM names the program as it is released"));
    for (name, value) in plain.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let mut program = Program::start(&mut command);
    program.initialize("2025-11-25");
    work(&mut program);
    let ended = program.end();
    assert!(ended.status.success(), "{:?}: {}", ended.status, ended.stderr);
    let total = ended.stderr.lines().find_map(|line| line.split_once("Collected :"));
    let total = total.unwrap_or_else(|| panic!("callgrind tells no total: {}", ended.stderr)).1;
    total.trim().parse().unwrap()
}

/// What decides how many instructions the same source takes.
fn environment() -> String {
    let first_line = |program: &str, argument: &str| {
        let output = Command::new(program).arg(argument).output().unwrap();
        String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().to_owned()
    };
    let rustc = first_line("rustc", "--version");
    let rustc = rustc.split_whitespace().nth(1).unwrap_or("?").to_owned();
    let libc = first_line("getconf", "GNU_LIBC_VERSION").replace(' ', "-");
    let has_avx2 = std::fs::read_to_string("/proc/cpuinfo").unwrap().contains(" avx2");
    let processor = std::env::consts::ARCH;
    format!("rustc-{rustc} {libc} {processor}{}", if has_avx2 { "+avx2" } else { "" })
}

fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.ci/instructions.tsv")
}

fn line(environment: &str, counts: Counts) -> String {
    let [start, tools, list] = counts;
    format!("{environment}\t{start}\t{tools}\t{list}")
}

/// The counts of this environment, in the text of the file.
fn find(text: &str, environment: &str) -> Option<Counts> {
    let line = text.lines().find_map(|line| line.strip_prefix(environment)?.strip_prefix('\t'))?;
    let counts: Vec<u64> = line.split('\t').map(|count| count.parse().unwrap()).collect();
    Some(counts.try_into().expect("a count for each path"))
}

/// The text of the file with these counts for this environment, in the place of those before.
fn with(text: &str, environment: &str, counts: Counts) -> String {
    let others = text.lines().filter(|other| !other.starts_with(&format!("{environment}\t")));
    others
        .map(str::to_owned)
        .chain([line(environment, counts), String::new()])
        .collect::<Vec<_>>()
        .join("\n")
}

fn is_updating() -> bool {
    std::env::var_os("UPDATE_DOCS").is_some()
}

fn update(text: &str, environment: &str, counts: Counts) {
    if is_updating() {
        std::fs::write(file(), with(text, environment, counts)).unwrap();
    }
}

#[test]
fn a_tenth_more_is_as_before_and_anything_above_is_not() {
    assert_eq!(judge(1000, 1100), Verdict::Same);
    assert_eq!(judge(1000, 1101), Verdict::More);
    assert_eq!(judge(1000, 900), Verdict::Same);
    assert_eq!(judge(1000, 899), Verdict::Less);
}

#[test]
fn each_environment_has_its_own_counts_and_an_update_keeps_the_others() {
    let text = with(&with("# header\n", "rustc-1 a", [1, 2, 3]), "rustc-1 ab", [4, 5, 6]);
    assert_eq!(find(&text, "rustc-1 a"), Some([1, 2, 3]));
    let text = with(&text, "rustc-1 a", [7, 8, 9]);
    assert_eq!(find(&text, "rustc-1 a"), Some([7, 8, 9]));
    assert_eq!(find(&text, "rustc-1 ab"), Some([4, 5, 6]));
    assert_eq!(find(&text, "rustc-2 a"), None);
    assert!(text.starts_with("# header\n") && text.ends_with('\n') && !text.contains("\n\n"));
}

#[test]
fn the_counts_that_are_kept_can_be_read() {
    let text = std::fs::read_to_string(file()).unwrap();
    let lines: Vec<_> = text.lines().filter(|line| !line.starts_with('#')).collect();
    assert!(!lines.is_empty());
    for line in lines {
        let (environment, _) = line.split_once('\t').unwrap();
        assert!(find(&text, environment).unwrap().iter().all(|count| *count > 0), "{line}");
    }
}
