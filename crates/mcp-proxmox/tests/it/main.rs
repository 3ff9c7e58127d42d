//! All integration tests, in one binary: it links once.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    unreachable_pub,
    reason = "a failed step fails the test; the allowances of clippy.toml do not cover functions beside tests"
)]

mod bad_tools;
mod cases;
mod catalog;
mod command_line;
mod get_node_status;
mod get_vm_console;
mod get_vm_screenshot;
mod get_vm_status;
mod list_nodes;
mod list_vms;
mod many_guests;
mod process;
mod real_qemu;
mod recorded;
mod secrets;
mod support;
mod tidy;
mod tls;
mod tokens;
mod wire;
