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
mod asking_ends;
mod audit;
mod audit_attempts;
mod bad_tools;
mod budgets;
mod cancelling;
mod cases;
mod catalog;
mod check_mends;
mod command_line;
mod command_line_mistakes;
mod completion;
mod config_command;
mod console_gone;
mod console_wire;
mod documentation;
mod documents;
mod door;
mod faults;
mod fuzzed;
mod get_access;
mod get_cluster_health;
mod get_metrics;
mod get_metrics_chart;
mod get_network_stats;
mod get_node_status;
mod get_storage_status;
mod get_system_log;
mod get_system_log_places;
mod get_task;
mod get_task_telling;
mod get_vm_console;
mod get_vm_details;
mod get_vm_screenshot;
mod get_vm_status;
mod given_up;
mod hanging_nodes;
mod hostile_arguments;
mod hostile_depth;
mod hostile_lines;
mod hostile_names;
mod hostile_numbers;
mod hostile_text;
mod hosts;
mod in_the_way;
mod instructions;
mod lifecycle_faults;
mod lifecycle_recorded;
mod list_networks;
mod list_nodes;
mod list_storage;
mod list_tasks;
mod list_vms;
mod load;
mod logs;
mod lost_answers;
mod manifests;
mod many_guests;
mod methods;
mod owner;
mod power;
mod process;
mod real_journal;
mod real_qemu;
mod reboot_vm;
mod recorded;
mod recorded_health;
mod recorded_storage;
mod requests;
mod reset_vm;
mod resources;
mod resume_vm;
mod search_logs;
mod search_logs_bounds;
mod secrets;
mod secrets_of_tools;
mod send_vm_keys;
mod setting_up;
mod sharing;
mod shells;
mod shutdown_vm;
mod slope;
mod soak;
mod start_vm;
mod states;
mod stop_vm;
mod support;
mod suspend_vm;
mod tidy;
mod tiers;
mod tls;
mod tls_matrix;
mod tokens;
mod unreadable;
mod vanishing;
mod watch_console;
mod whole_call;
mod wire;
