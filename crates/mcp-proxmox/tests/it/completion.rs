//! Suggestions while somebody types: useful first, never wrong, never slow, never a failure.

use pve_sim::{Cluster, GENERATED_TOKEN_ID, GENERATED_TOKEN_SECRET, Rule, Sim};
use rmcp::{
    RoleClient,
    model::{ArgumentInfo, CompleteRequestParams, CompletionContext, CompletionInfo, Reference},
    service::RunningService,
};

use crate::support::{access, connect, demo, server, settings};
use mcp_proxmox::{
    completion::Completes,
    prompts,
    tier::{Access, Level},
};
use pve_client::Reader;

type Client = RunningService<RoleClient, ()>;

async fn client(sim: &Sim) -> Client {
    connect(server(access(sim))).await
}

async fn complete(client: &Client, prompt: &str, argument: &str, typed: &str) -> CompletionInfo {
    let request = CompleteRequestParams::new(
        Reference::for_prompt(prompt),
        ArgumentInfo::new(argument, typed),
    );
    client.complete(request).await.unwrap().completion
}

/// Every argument of every prompt that can be completed is, and free text is left alone.
#[tokio::test]
async fn every_argument_of_every_prompt_is_completed_as_it_says() {
    let sim = demo().await;
    let client = client(&sim).await;
    let mut n_completed = 0;
    for prompt in prompts::ALL {
        for argument in prompt.arguments {
            let values = complete(&client, prompt.name, argument.name, "").await.values;
            let is_free = matches!(argument.completes, Completes::Nothing);
            let which = format!("{} of {}", argument.name, prompt.name);
            assert_eq!(values.is_empty(), is_free, "{which}: {values:?}");
            n_completed += usize::from(!is_free);
        }
    }
    assert!(n_completed >= 15, "{n_completed}");
}

#[tokio::test]
async fn guests_are_suggested_by_name_and_by_vmid_and_running_ones_come_first() {
    let sim = demo().await;
    let client = client(&sim).await;
    let all = complete(&client, "diagnose_vm", "vm", "").await;
    let at = |value: &str| all.values.iter().position(|each| each == value);
    assert!(at("postgres").unwrap() < at("100").unwrap(), "names come before numbers: {all:?}");
    let stopped = complete(&client, "diagnose_vm", "vm", "staging").await;
    assert_eq!(stopped.values, ["staging-webshop"]);
    assert!(at("postgres").unwrap() < at("staging-webshop").unwrap());
    let by_number = complete(&client, "diagnose_vm", "vm", "11").await;
    assert!(by_number.values.contains(&"111".to_owned()));
    assert!(by_number.values.iter().all(|value| value.contains("11")), "{by_number:?}");
}

#[tokio::test]
async fn a_name_that_would_not_be_understood_is_not_suggested() {
    let sim = demo().await;
    sim.change(|cluster| {
        let mut names = ["twin", "TWIN", "4711", "web\u{202e}01"].into_iter();
        for guest in cluster.guests.iter_mut().take(4) {
            guest.name = names.next().map(str::to_owned);
        }
    });
    let client = client(&sim).await;
    for typed in ["twin", "4711", "web\u{202e}"] {
        let found = complete(&client, "diagnose_vm", "vm", typed).await;
        assert!(found.values.is_empty(), "{typed}: {found:?}");
    }
}

#[tokio::test]
async fn nodes_storages_tasks_and_units_are_suggested() {
    let sim = demo().await;
    let client = client(&sim).await;
    let nodes = complete(&client, "capacity_review", "node", "PVE").await;
    assert_eq!(nodes.values.first().map(String::as_str), Some("pve1"), "{nodes:?}");
    let storages = complete(&client, "failed_backups", "storage", "zfs").await;
    assert!(storages.values.contains(&"local-zfs".to_owned()), "{storages:?}");
    let tasks = complete(&client, "incident_timeline", "upid", "").await;
    assert!(tasks.values.iter().all(|upid| upid.starts_with("UPID:")), "{tasks:?}");
    assert!(!tasks.values.is_empty() && tasks.values.len() <= 100);
    let backups = complete(&client, "incident_timeline", "upid", "vzdump").await;
    assert!(!backups.values.is_empty() && backups.values.len() < tasks.values.len());
    let units = complete(&client, "incident_timeline", "unit", "pve").await;
    assert!(units.values.iter().any(|unit| unit.starts_with("pveproxy")), "{units:?}");
    let words = complete(&client, "capacity_review", "timeframe", "").await;
    assert_eq!(words.values, ["day", "week", "month", "year"]);
    let free = complete(&client, "diagnose_vm", "symptom", "sl").await;
    assert!(free.values.is_empty());
}

#[tokio::test]
async fn units_are_those_of_the_node_that_was_filled_in() {
    let sim = demo().await;
    let client = client(&sim).await;
    sim.forget_requests();
    let context = CompletionContext::with_arguments(
        [("node".to_owned(), "pve2".to_owned())].into_iter().collect(),
    );
    let request = CompleteRequestParams::new(
        Reference::for_prompt("incident_timeline"),
        ArgumentInfo::new("unit", ""),
    )
    .with_context(context);
    client.complete(request).await.unwrap();
    let seen: Vec<_> = sim.requests().into_iter().map(|seen| seen.path).collect();
    assert_eq!(seen, ["/nodes/pve2/services"]);
}

#[tokio::test]
async fn tasks_that_failed_are_suggested_before_those_that_did_not() {
    let sim = demo().await;
    let client = client(&sim).await;
    let found = complete(&client, "incident_timeline", "upid", "").await;
    let is_well: Vec<bool> = sim.change(|cluster| {
        let task = |upid: &String| cluster.tasks.iter().find(|task| task.upid() == **upid);
        found
            .values
            .iter()
            .filter_map(task)
            .map(|task| task.endtime.is_none() || task.status == "OK")
            .collect()
    });
    assert!(is_well.contains(&false) && is_well.is_sorted(), "{is_well:?}");
}

#[tokio::test]
async fn a_large_cluster_is_cut_at_a_hundred_and_counted() {
    let sim = Sim::start(Cluster::generated(4, 1000, 7)).await.unwrap();
    let reader = Reader::new(settings(&sim, GENERATED_TOKEN_ID, GENERATED_TOKEN_SECRET));
    let client = connect(server(Access::new(Level::Read, reader))).await;
    let found = complete(&client, "diagnose_vm", "vm", "").await;
    assert_eq!(found.values.len(), 100);
    assert!(found.total.unwrap() >= 1000 && found.has_more == Some(true), "{:?}", found.total);
}

#[tokio::test]
async fn where_pve_does_not_answer_there_is_nothing_to_suggest() {
    let sim = demo().await;
    sim.answer(Rule::everything().status(500, "no quorum?"));
    let client = client(&sim).await;
    for (prompt, argument) in [
        ("diagnose_vm", "vm"),
        ("capacity_review", "node"),
        ("capacity_review", "storage"),
        ("incident_timeline", "upid"),
        ("incident_timeline", "unit"),
    ] {
        let found = complete(&client, prompt, argument, "").await;
        assert!(found.values.is_empty() && found.has_more == Some(false), "{argument}: {found:?}");
    }
}

#[tokio::test]
async fn a_cluster_that_hangs_holds_nobody_up_while_typing() {
    let sim = demo().await;
    sim.answer(Rule::everything().hang());
    let client = client(&sim).await;
    let started = std::time::Instant::now();
    let found = complete(&client, "diagnose_vm", "vm", "web").await;
    assert!(found.values.is_empty());
    assert!(started.elapsed() < std::time::Duration::from_secs(10), "{:?}", started.elapsed());
}
