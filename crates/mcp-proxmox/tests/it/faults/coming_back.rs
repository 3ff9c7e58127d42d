//! What was gone and comes back: a node of the cluster, and every host at once. Every tool says so while it is
//! gone, and afterwards answers as before, without a restart.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use pve_client::Host;
use pve_sim::{DEMO_TOKEN_ID, DEMO_TOKEN_SECRET, Sim};
use serde_json::Value;

use super::{
    GUEST, OF_THE_MOMENT, TOOLS, gives_nothing_away, ready,
    truth::{lie, places},
    way::{Bad, Way},
    world::{Servers, call, client_of, still},
};
use crate::support::{settings, text};

/// Tools that read, whose answers can be compared.
fn readers() -> impl Iterator<Item = (&'static str, &'static str)> {
    let reads =
        TOOLS.iter().filter(|(tool, _, action)| action.is_empty() && !OF_THE_MOMENT.contains(tool));
    reads.map(|(tool, arguments, _)| (*tool, *arguments))
}

fn with_upid(sim: &Sim, arguments: &str) -> Value {
    let upid = sim.change(|cluster| cluster.tasks[0].upid());
    serde_json::from_str(&arguments.replace("$UPID", &upid)).unwrap()
}

#[tokio::test]
async fn all_hosts_go_down_and_come_up_again_under_every_tool() {
    let (servers, sim) = (Servers::start(), Sim::start(still()).await.unwrap());
    let ways = [Way::to(&sim).await, Way::to(&sim).await];
    let mut settings = settings(&sim, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET);
    settings.hosts = ways.iter().map(|way| Host::new("127.0.0.1", way.port())).collect();
    let client = client_of(&servers, settings).await;
    for (tool, arguments) in readers() {
        let arguments = with_upid(&sim, arguments);
        let before = call(&client, tool, &arguments).await;
        let before = places(before.structured_content.as_ref().unwrap());
        for way in &ways {
            way.set(Bad::Resets);
        }
        let began = Instant::now();
        let down = call(&client, tool, &arguments).await;
        assert!(began.elapsed() < Duration::from_secs(10), "{tool}: {:?}", began.elapsed());
        let told = text(&down);
        gives_nothing_away(&told);
        assert_eq!(down.is_error, Some(true), "{tool}: {told}");
        assert!(told.contains("none of 2 hosts could be asked"), "{tool}: {told}");
        for way in &ways {
            way.set(Bad::Not);
        }
        let after = call(&client, tool, &arguments).await;
        assert_ne!(after.is_error, Some(true), "{tool}: {}", text(&after));
        let after = places(after.structured_content.as_ref().unwrap());
        // Figures of the moment apart.
        let lie = lie(&before, &BTreeSet::new(), &after);
        assert_eq!(lie, None, "{tool} after all hosts came back");
    }
}

#[tokio::test]
async fn a_node_is_lost_and_comes_back_under_every_tool() {
    let (servers, sim) = (Servers::start(), Sim::start(still()).await.unwrap());
    let settings = settings(&sim, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET);
    let client = client_of(&servers, settings).await;
    for (tool, arguments) in readers() {
        let arguments = with_upid(&sim, arguments);
        let before = call(&client, tool, &arguments).await;
        let before = places(before.structured_content.as_ref().unwrap());
        sim.change(|cluster| cluster.node_mut("pve2").unwrap().online = false);
        let lost = call(&client, tool, &arguments).await;
        let told = text(&lost);
        gives_nothing_away(&told);
        // What is asked of other nodes works on.
        assert_ne!(lost.is_error, Some(true), "{tool}: {told}");
        if let Some(lie) =
            lie(&before, &BTreeSet::new(), &places(lost.structured_content.as_ref().unwrap()))
        {
            // Lists of the cluster show by their states what is gone.
            assert!(
                !lie.contains("is said to be") || told.contains("offline"),
                "{tool}: {lie}\n{told}"
            );
        }
        sim.change(|cluster| cluster.node_mut("pve2").unwrap().online = true);
        let after = call(&client, tool, &arguments).await;
        let after = places(after.structured_content.as_ref().unwrap());
        let lie = lie(&before, &BTreeSet::new(), &after);
        assert_eq!(lie, None, "{tool} after the node came back");
    }
}

/// Tools that change a guest, and those whose answers are of the moment.
fn others() -> impl Iterator<Item = (&'static str, Value, &'static str)> {
    let read: Vec<_> = readers().map(|(tool, _)| tool).collect();
    TOOLS
        .iter()
        .filter(move |(tool, ..)| !read.contains(tool))
        .map(|(tool, arguments, action)| (*tool, serde_json::from_str(arguments).unwrap(), *action))
}

#[tokio::test]
async fn a_node_is_lost_and_comes_back_under_every_console_chart_and_change() {
    let servers = Servers::start();
    for (tool, arguments, action) in others() {
        let sim = Sim::start(still()).await.unwrap();
        sim.change(|cluster| {
            for vmid in [100, 200] {
                cluster.guest_mut(vmid).unwrap().node = "pve2".to_owned();
            }
        });
        ready(&sim, action);
        let settings = settings(&sim, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET);
        let client = client_of(&servers, settings).await;
        let state = |sim: &Sim| sim.change(|cluster| cluster.guest(100).unwrap().state);
        let before = state(&sim);
        sim.change(|cluster| cluster.node_mut("pve2").unwrap().online = false);
        let began = Instant::now();
        let lost = call(&client, tool, &arguments).await;
        assert!(began.elapsed() < Duration::from_secs(10), "{tool}: {:?}", began.elapsed());
        let told = text(&lost);
        gives_nothing_away(&told);
        assert_eq!(lost.is_error, Some(true), "{tool}: {told}");
        assert!(told.contains("pve2") || told.contains("595"), "{tool}: {told}");
        assert_eq!((state(&sim), deeds(&sim)), (before, 0), "{tool}: {told}");
        sim.change(|cluster| cluster.node_mut("pve2").unwrap().online = true);
        let after = call(&client, tool, &arguments).await;
        assert_ne!(after.is_error, Some(true), "{tool}: {}", text(&after));
        assert_eq!(deeds(&sim), usize::from(!action.is_empty()), "{tool}: {}", text(&after));
    }
}

#[tokio::test]
async fn all_hosts_go_down_and_come_up_again_under_every_console_chart_and_change() {
    let servers = Servers::start();
    for (tool, arguments, action) in others() {
        let sim = Sim::start(still()).await.unwrap();
        ready(&sim, action);
        let ways = [Way::to(&sim).await, Way::to(&sim).await];
        let mut settings = settings(&sim, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET);
        settings.hosts = ways.iter().map(|way| Host::new("127.0.0.1", way.port())).collect();
        let client = client_of(&servers, settings).await;
        for way in &ways {
            way.set(Bad::Resets);
        }
        let down = call(&client, tool, &arguments).await;
        let told = text(&down);
        gives_nothing_away(&told);
        assert_eq!(down.is_error, Some(true), "{tool}: {told}");
        assert!(told.contains("none of 2 hosts could be asked"), "{tool}: {told}");
        assert_eq!(deeds(&sim), 0, "{tool}: {told}");
        for way in &ways {
            way.set(Bad::Not);
        }
        let after = call(&client, tool, &arguments).await;
        assert_ne!(after.is_error, Some(true), "{tool}: {}", text(&after));
        assert_eq!(deeds(&sim), usize::from(!action.is_empty()), "{tool}: {}", text(&after));
    }
}

/// How much was done to the guest so far.
fn deeds(sim: &Sim) -> usize {
    sim.change(|cluster| crate::lifecycle_faults::deeds(cluster, GUEST).count())
}
