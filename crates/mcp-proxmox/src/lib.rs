//! A Model Context Protocol server for Proxmox VE.
//!
//! A call goes down this list and its answer comes back up:
//!
//! * [`server`] speaks MCP. Only it and the modules below it name `rmcp`.
//! * [`catalog`] holds every tool, checks a call's arguments and catches what goes wrong.
//! * [`tier`] hands the tool a client that can do what the tool's effect allows, and no more.
//! * [`tools`] has one file for each tool. To add a tool, copy one.
//! * `pve_client` speaks to Proxmox VE. It does not know about MCP.
//!
//! Tools that change something go through [`power`], by the [`policy`] that the user set, ask the
//! [`person`] at the client where that is wanted, and are recorded in the [`audit`] log.
//!
//! Beside the tools, clients get [`prompts`] that name them in a good order and [`resources`] that they answer, and
//! [`completion`] while a person types. None of these knows MCP.
//!
//! Around it: [`config`] reads what the user decided, [`answer`] is the vocabulary of answers,
//! [`failure`] that of failures, [`cli`] is the command line.

pub mod answer;
pub mod arguments;
pub mod audit;
pub mod call;
pub mod catalog;
pub mod chart;
pub mod cli;
pub mod completion;
pub mod config;
pub mod console;
pub mod failure;
pub mod history;
pub mod in_order;
pub mod instructions;
pub mod logs;
pub mod lookup;
pub mod pending;
pub mod person;
pub mod policy;
pub mod power;
pub mod prompts;
pub mod resources;
pub mod rights;
pub mod schema;
pub mod sent;
pub mod server;
pub mod signals;
pub mod tier;
pub mod tools;
pub mod turns;
pub mod when;
