//! All integration tests, in one binary: it links once.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    unreachable_pub,
    reason = "a failed step fails the test; the allowances of clippy.toml do not cover functions beside tests"
)]

mod asking;
mod audit;
mod bad_tools;
mod cases;
mod catalog;
mod command_line;
mod get_node_status;
mod get_vm_status;
mod lifecycle_faults;
mod lifecycle_recorded;
mod list_nodes;
mod list_vms;
mod many_guests;
mod power;
mod process;
mod reboot_vm;
mod recorded;
mod reset_vm;
mod resume_vm;
mod secrets;
mod shutdown_vm;
mod start_vm;
mod stop_vm;
mod support;
mod suspend_vm;
mod tidy;
mod tiers;
mod tls;
mod tokens;
mod wire;
