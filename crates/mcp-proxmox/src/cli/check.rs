//! `mcp-proxmox check`: looks at the way to PVE step by step and says what is wrong where.

use std::{collections::BTreeSet, io, process::ExitCode};

use futures_util::future::join_all;
use pve_client::{
    Error, Reader, Settings, UnsentKind,
    access::{self, Permissions},
    cluster::{self, ClusterStatus},
    version::{self, Version},
};

use super::{World, print};
use crate::{
    answer::clean::label,
    failure::Failure,
    rights::{
        Rights,
        view::{self, Seen},
    },
};

pub(super) async fn run(world: &World) -> io::Result<ExitCode> {
    let reader = world.access();
    let reader = reader.reader();
    print(&format!("settings    {}", world.summary()))?;
    hosts(world).await?;
    let found = match reader.get(version::version()).await {
        Ok(version) => version,
        Err(error) => {
            for (step, ok) in steps(&error) {
                print(&format!("{step:<11} {ok}"))?;
            }
            print(&format!("\n{}", Failure::from_pve("ask PVE for its version", &error)))?;
            return Ok(ExitCode::FAILURE);
        }
    };
    print("address     ok\nTLS         ok\ntoken       ok")?;
    if let Some(complaint) = another_product(&found) {
        print(&format!("version     FAILED\n\n{complaint}"))?;
        return Ok(ExitCode::FAILURE);
    }
    print(&format!(
        "version     Proxmox VE {}",
        found.version.as_deref().map_or_else(|| "of an unknown version".to_owned(), label)
    ))?;
    match reader.get(access::permissions()).await {
        Ok(permissions) => privileges(permissions, world),
        Err(error) => {
            let failure = Failure::from_pve("ask PVE for the token's privileges", &error);
            print(&format!("\n{failure}"))?;
            Ok(ExitCode::FAILURE)
        }
    }
}

/// Of several hosts, how each of them is by itself. That one is down is told, and no failure: the others are
/// there for that.
async fn hosts(world: &World) -> io::Result<()> {
    let all = &world.config.pve.hosts;
    if all.len() < 2 {
        return Ok(());
    }
    let looks = all.iter().map(|host| async move {
        let settings = Settings { hosts: vec![host.clone()], ..world.config.pve.clone() };
        let reader = Reader::new(settings);
        let version = reader.get(version::version()).await?;
        let cluster = reader.get(cluster::status()).await.ok().and_then(|status| name(&status));
        Ok::<_, Error>((version, cluster))
    });
    let mut clusters = BTreeSet::new();
    for (host, look) in all.iter().zip(join_all(looks).await) {
        match look {
            Ok((found, cluster)) => {
                let version = found.version.as_deref().map_or_else(|| "unknown".to_owned(), label);
                let of = cluster.as_ref().map(|name| format!(", {name}")).unwrap_or_default();
                print(&format!("host        {host}: ok, version {version}{of}"))?;
                clusters.extend(cluster);
            }
            Err(error) => {
                let failure = Failure::from_pve("ask it", &error);
                print(&format!("host        {host}: FAILED, {}", failure.what()))?;
            }
        }
    }
    if clusters.len() > 1 {
        print(
            "hint: these are not nodes of one cluster, so what is done may reach another one than is meant: PVE_HOST must name nodes of one cluster",
        )?;
    }
    Ok(())
}

/// What a node belongs to.
fn name(status: &ClusterStatus) -> Option<String> {
    let own = || status.nodes.iter().find(|member| member.local == Some(true))?.name.as_ref();
    match &status.cluster {
        Some(cluster) => Some(format!("cluster {}", label(cluster.name.as_deref()?))),
        None => Some(format!("alone as {}", label(own()?.as_str()))),
    }
}

/// Proxmox VE's version begins with its release (`9.2.11` and `9.2`); that of Proxmox Backup Server and of
/// Mail Gateway, which answer on the same path, does not.
fn another_product(found: &Version) -> Option<String> {
    let (version, release) = (found.version.as_deref()?, found.release.as_deref()?);
    (!version.starts_with(release)).then(|| {
        format!(
            "this is not a Proxmox VE: it calls itself version {}, release {}\n\n\
             hint: Proxmox Backup Server and Mail Gateway answer like this; PVE_HOST must lead to a Proxmox VE node",
            label(version),
            label(release)
        )
    })
}

/// Says what the token may do path by path, what it sees of what there is, and what would let it see more.
fn privileges(permissions: Permissions, world: &World) -> io::Result<ExitCode> {
    let (rights, token) = (Rights(permissions), world.config.pve.token.id());
    let seen = view::seen(&rights, world.config.tier, &world.catalog().names());
    print(&format!("privileges  on {} paths", rights.0.len()))?;
    for (path, held) in view::by_path(&rights) {
        print(&format!("            {path}: {held}"))?;
    }
    for Seen { need, seen, missing, is_nothing } in &seen {
        let Some(missing) = missing else {
            print(&format!("sees        {seen} of {}", need.what))?;
            continue;
        };
        let tools = world.catalog().names().into_iter().filter(|name| need.tools.contains(name));
        let tools = tools.collect::<Vec<_>>().join(", ");
        let less = if *is_nothing { "nothing of it" } else { "less than everything" };
        print(&format!(
            "sees        {seen} of {}: {tools} will show {less}; needs {missing}",
            need.what
        ))?;
    }
    let lines = view::mending(&seen, token);
    if !lines.is_empty() {
        print("\nhint: on a node, what you want of this lets it see more:")?;
        for line in lines {
            print(&format!("      {line}"))?;
        }
    }
    let is_blind = seen.iter().any(|seen| seen.is_nothing && seen.need.is_basic);
    Ok(if is_blind { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// How far it came.
fn steps(error: &Error) -> Vec<(&'static str, &'static str)> {
    let failed_at = match error {
        Error::Unsent(unsent) if matches!(unsent.kind, UnsentKind::Tls(_)) => 1,
        Error::Unsent(_) => 0,
        _ => 2,
    };
    let verdict = |step: usize| match step.cmp(&failed_at) {
        std::cmp::Ordering::Less => "ok",
        std::cmp::Ordering::Equal => "FAILED",
        std::cmp::Ordering::Greater => "not reached",
    };
    ["address", "TLS", "token"]
        .into_iter()
        .enumerate()
        .map(|(step, name)| (name, verdict(step)))
        .collect()
}
