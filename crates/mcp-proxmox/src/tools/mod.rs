//! The tools, one file each. To add one: its file, a line here, a line in [`catalog`](crate::catalog),
//! and its test file; the tests say what else is missing.

pub mod get_access;
pub mod get_cluster_health;
pub mod get_metrics;
pub mod get_metrics_chart;
pub mod get_network_stats;
pub mod get_node_status;
pub mod get_storage_status;
pub mod get_system_log;
pub mod get_task;
pub mod get_vm_console;
pub mod get_vm_details;
pub mod get_vm_screenshot;
pub mod get_vm_status;
pub mod list_networks;
pub mod list_nodes;
pub mod list_storage;
pub mod list_tasks;
pub mod list_vms;
pub mod reboot_vm;
pub mod reset_vm;
pub mod resume_vm;
pub mod search_logs;
pub mod send_vm_keys;
pub mod shutdown_vm;
pub mod start_vm;
pub mod stop_vm;
pub mod suspend_vm;
