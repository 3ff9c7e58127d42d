//! What the tests of the tools share that start and stop guests: a small cluster, and calls of the write
//! tier.

use std::sync::Arc;

use mcp_proxmox::{
    config::Confirm,
    policy::Policy,
    server::Server,
    tier::{Access, Level},
};
use pve_client::Reader;
use pve_sim::{Cluster, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET, Guest, Rule, Sim, State, Takes, Task};
use rmcp::model::CallToolResult;
use serde_json::Value;

use crate::support::{call_on, failed, server, settings, structured};

/// When the backup of VM 105 began.
const BACKUP: u64 = 1_796_020_000;

/// Two nodes and a guest in every state. What is asked takes three looks.
pub fn lab() -> Cluster {
    let mut lab = Cluster::of_nodes(Some("lab"), &["pve1", "pve2"]);
    let mut template = Guest::vm(102, "pve1", "template");
    template.template = true;
    let mut paused = Guest::vm(103, "pve1", "paused").running(3600);
    paused.state = State::Paused;
    let mut hibernated = Guest::vm(104, "pve1", "hibernated");
    hibernated.lock = Some("suspended".to_owned());
    let mut locked = Guest::vm(105, "pve1", "locked").running(3600);
    locked.lock = Some("backup".to_owned());
    let mut broken = Guest::vm(106, "pve1", "broken").running(3600);
    broken.state = State::IoError;
    let mut managed = Guest::vm(107, "pve2", "managed").running(3600);
    managed.ha = Some("started".to_owned());
    let mut failing = Guest::vm(108, "pve2", "failing");
    failing.start_fails = Some("storage 'nas' is not online".to_owned());
    lab.guests = vec![
        Guest::vm(100, "pve1", "app1").running(90_000),
        Guest::vm(101, "pve1", "db1"),
        template,
        paused,
        hibernated,
        locked,
        broken,
        managed,
        failing,
        Guest::ct(120, "pve1", "ct1").running(3600),
        Guest::ct(121, "pve2", "ct2"),
    ];
    for guest in &mut lab.guests {
        guest.takes = Takes::Polls(2);
    }
    let backup = Task::ended("pve1", "vzdump", "105", "root@pam", (BACKUP, BACKUP), "");
    lab.tasks.push(backup.still_running());
    lab.token(DEMO_TOKEN_ID, DEMO_TOKEN_SECRET);
    lab
}

/// The lab, running.
pub async fn start() -> Sim {
    Sim::start(lab()).await.unwrap()
}

/// The lab, running, with one of its guests changed.
pub async fn start_with(vmid: u32, change: impl FnOnce(&mut Guest)) -> Sim {
    let mut lab = lab();
    change(lab.guest_mut(vmid).unwrap());
    Sim::start(lab).await.unwrap()
}

/// A server of the write tier that asks nobody.
pub fn write_server(sim: &Sim) -> Server {
    write_server_with(sim, Policy::new(None, "".parse().unwrap(), Confirm::Never, None))
}

/// A server of the write tier with this policy.
pub fn write_server_with(sim: &Sim, policy: Policy) -> Server {
    let reader = Reader::new(settings(sim, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET));
    server(Access::new(Level::Write, reader)).under(Arc::new(policy))
}

/// Calls a tool that writes, without anybody being asked.
pub async fn call(sim: &Sim, tool: &'static str, arguments: Value) -> CallToolResult {
    call_on(write_server(sim), tool, arguments).await
}

/// The answer of a call that works.
pub async fn answer(sim: &Sim, tool: &'static str, arguments: Value) -> Value {
    structured(&call(sim, tool, arguments).await)
}

/// The text of a call that is refused or fails.
pub async fn failure(sim: &Sim, tool: &'static str, arguments: Value) -> String {
    failed(&call(sim, tool, arguments).await)
}

/// The text of a call that is refused before anything is sent.
pub async fn refusal(sim: &Sim, tool: &'static str, arguments: Value) -> String {
    let told = failure(sim, tool, arguments).await;
    assert_eq!(posts(sim), Vec::<String>::new(), "something was sent: {told}");
    assert!(told.contains("nothing was sent"), "{told}");
    told
}

/// The writes that were sent: path and form.
pub fn posts(sim: &Sim) -> Vec<String> {
    let posts = sim.requests().into_iter().filter(|seen| seen.method != "GET");
    posts.map(|seen| format!("{} {}", seen.path, seen.body).trim_end().to_owned()).collect()
}

/// What VM 100 answers when it is asked for an action.
pub fn on_100(action: &str) -> Rule {
    Rule::post(&format!("/nodes/pve1/qemu/100/status/{action}"))
}
