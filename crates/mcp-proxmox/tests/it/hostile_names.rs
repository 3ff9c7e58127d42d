//! Path tricks where people and programs name things outside tools: what is typed and completed, what was filled in
//! beside it, the arguments of prompts, and addresses of resources. PVE sees no path that they changed.

use std::collections::BTreeSet;

use mcp_proxmox::{prompts, resources};
use pve_sim::Sim;
use rmcp::{
    RoleClient,
    model::{
        ArgumentInfo, CompleteRequestParams, CompletionContext, GetPromptRequestParams,
        ReadResourceRequestParams, Reference,
    },
    service::RunningService,
};
use serde_json::json;

use crate::{
    faults::world::still,
    hostile_arguments::{TRICKS, shape},
    power::write_server,
    support::connect,
};

type Client = RunningService<RoleClient, ()>;

async fn world() -> (Sim, Client) {
    let sim = Sim::start(still()).await.unwrap();
    let client = connect(write_server(&sim)).await;
    (sim, client)
}

/// What was asked since the last look, as methods, paths and names of parameters.
fn asked(sim: &Sim) -> BTreeSet<String> {
    let shapes = sim.requests().iter().flat_map(shape).collect();
    sim.forget_requests();
    shapes
}

/// Everything that can be completed: what it belongs to, and the name of the argument.
fn completed() -> Vec<(Reference, String)> {
    let of_prompts = prompts::ALL.iter().flat_map(|prompt| {
        let arguments = prompt.arguments.iter();
        arguments.map(|it| (Reference::for_prompt(prompt.name), it.name.to_owned()))
    });
    let of_resources = resources::ALL.iter().filter_map(|resource| {
        let variable = resource.uri.split_once('{')?.1.split_once('}')?.0;
        Some((Reference::for_resource(resource.uri), variable.to_owned()))
    });
    of_prompts.chain(of_resources).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_that_is_typed_or_was_filled_in_changes_a_path() {
    let (sim, client) = world().await;
    let all = completed();
    assert!(all.len() > 15, "{all:?}");
    let beside: BTreeSet<&str> = all.iter().map(|(_, name)| name.as_str()).collect();
    let (mut n_asked, mut wrong) = (0, Vec::new());
    for (of, argument) in &all {
        let request = |typed: &str| {
            CompleteRequestParams::new(of.clone(), ArgumentInfo::new(argument.as_str(), typed))
        };
        client.complete(request("")).await.unwrap();
        let mut usual = asked(&sim);
        // The list of guests is shared for two seconds, so that now and then it is asked for anew.
        usual.extend(["GET /cluster/resources", "GET /cluster/resources type"].map(str::to_owned));
        let filled = |value: &str| {
            let values = beside.iter().map(|name| ((*name).to_owned(), value.to_owned()));
            CompletionContext::with_arguments(values.collect())
        };
        client.complete(request("").with_context(filled("pve2"))).await.unwrap();
        usual.extend(asked(&sim));
        for trick in TRICKS {
            let requests =
                [request(trick), request("").with_context(filled(trick)), request("pve1/..")];
            for request in requests {
                client.complete(request).await.unwrap();
                n_asked += sim.requests().len();
                let strange: Vec<_> = asked(&sim).difference(&usual).cloned().collect();
                if !strange.is_empty() {
                    wrong.push(format!("{argument} of {of:?} with {trick:?}: {strange:?}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(n_asked > 100, "only {n_asked} requests could have been led astray");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_argument_of_a_prompt_is_asked_of_pve() {
    let (sim, client) = world().await;
    let (mut n_told, mut n_refused) = (0, 0);
    for prompt in prompts::ALL {
        for hostile in prompt.arguments {
            for trick in TRICKS {
                let value = |name: &str| if name == hostile.name { trick } else { "100" };
                let arguments = prompt.arguments.iter();
                let arguments = arguments.map(|it| (it.name.to_owned(), json!(value(it.name))));
                let mut request = GetPromptRequestParams::new(prompt.name);
                request.arguments = Some(arguments.collect());
                let which = format!("{} of {} with {trick:?}", hostile.name, prompt.name);
                match client.get_prompt(request).await {
                    Ok(told) => {
                        n_told += 1;
                        let told = serde_json::to_string(&told).unwrap();
                        assert!(!told.contains(['\u{202e}', '\0']), "{which}: {told}");
                        assert!(told.len() < 20_000, "{which}: {}", told.len());
                    }
                    Err(error) => {
                        n_refused += 1;
                        let told = error.to_string();
                        assert!(told.chars().count() < 2000, "{which}: {told}");
                    }
                }
                assert!(sim.requests().is_empty(), "{which}: {:?}", sim.requests());
            }
        }
    }
    println!("{n_told} told, {n_refused} refused");
    assert!(n_told + n_refused > 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_address_with_a_path_trick_is_asked_of_pve() {
    let (sim, client) = world().await;
    let upid = sim.change(|cluster| cluster.tasks[0].upid());
    let mut n_refused = 0;
    for resource in resources::ALL {
        let Some((before, rest)) = resource.uri.split_once('{') else { continue };
        let after = rest.split_once('}').unwrap().1;
        let good = match before {
            "pve://nodes/" => "pve1",
            "pve://tasks/" => upid.as_str(),
            _ => "100",
        };
        for trick in TRICKS {
            for value in [(*trick).to_owned(), format!("{good}{trick}"), format!("{trick}{good}")] {
                let uri = format!("{before}{value}{after}");
                // A task's identifier may hold what looks like a trick in the name of a user.
                let read = client.read_resource(ReadResourceRequestParams::new(uri.clone())).await;
                n_refused += usize::from(read.is_err());
                let is_good = value == good || value.trim() == good;
                let seen = sim.requests();
                sim.forget_requests();
                assert!(is_good || seen.is_empty(), "{uri:?} is asked of PVE: {seen:?}");
                assert!(is_good || read.is_err(), "{uri:?} is read");
            }
        }
    }
    assert!(n_refused > 200, "{n_refused}");
}
