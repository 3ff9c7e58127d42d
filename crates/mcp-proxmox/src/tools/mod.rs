//! The tools, one file each. To add one: its file, a line here, a line in [`catalog`](crate::catalog),
//! and its test file; the tests say what else is missing.

pub mod get_node_status;
pub mod get_system_log;
pub mod get_task;
pub mod get_vm_status;
pub mod list_nodes;
pub mod list_tasks;
pub mod list_vms;
pub mod search_logs;
