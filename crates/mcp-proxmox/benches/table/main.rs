//! Where the time goes: `cargo bench --bench table` prints one table of figures, each beside its bound.
//!
//! The real program runs as a child process and is spoken to line by line, as clients do; the simulated
//! cluster runs in this process. **Every figure that depends on the machine stands beside one that was
//! taken in the same run**: the same requests sent by a bare HTTP client, the same bodies read by a JSON
//! parser that keeps nothing. What the program adds to those is its own.
//!
//! `MCP_PROXMOX_BINARY` names another program to measure, such as the static one that is published.
//! `cargo bench --bench table -- PART…` runs only the parts whose names begin so.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::panic,
    reason = "what is measured here is looked at by a person, who wants to see where it broke"
)]
#![allow(unreachable_pub, reason = "the parts of a program are open to each other")]
#![allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "figures are rounded for the table anyway"
)]

mod bare;
mod calls;
mod flood;
mod growth;
mod logs;
mod plot;
mod program;
mod start;
mod table;

use table::Table;

fn main() {
    // Cargo adds `--bench`, or `--test` where it only wants to know whether this runs.
    let wanted: Vec<String> =
        std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let picks =
        |part: &str| wanted.is_empty() || wanted.iter().any(|word| part.starts_with(word.as_str()));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let _inside = runtime.enter();
    let mut table = Table::default();
    if picks("start") {
        start::measure(&mut table, &runtime);
    }
    if picks("calls") {
        calls::measure(&mut table, &runtime);
    }
    if picks("flood") {
        flood::measure(&mut table, &runtime);
    }
    if picks("growth") {
        growth::measure(&mut table, &runtime);
    }
    if picks("logs") {
        logs::measure(&mut table, &runtime);
    }
    println!("{table}");
}
