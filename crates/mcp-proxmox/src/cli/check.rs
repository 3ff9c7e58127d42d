//! `mcp-proxmox check`: looks at the way to PVE step by step and says what is wrong where.

mod guards;

use std::{collections::BTreeSet, io, process::ExitCode, time::SystemTime};

use futures_util::future::join_all;
use pve_client::{
    Error, Host, LostWhy, Reader, Settings, UnsentKind, access,
    cluster::{self, ClusterStatus},
    guest,
    version::{self, Version},
};
use tokio::{
    net::TcpStream,
    time::{Duration, timeout},
};

use super::{World, print};
use crate::{
    answer::{clean::label, measure},
    failure::Failure,
    rights::{
        Rights,
        mending::{Mending, mending},
        view::{self, Seen},
    },
    tier::Level,
};

pub(super) async fn run(world: &World) -> io::Result<ExitCode> {
    let reader = world.access();
    let reader = reader.reader();
    print(&format!("settings    {}{}", world.summary(), behind_a_path(&world.config.pve.hosts)))?;
    hosts(world).await?;
    let found = match reader.fetch(version::version()).await {
        Ok(answer) => answer,
        Err(error) => {
            let is_mute = accepts_and_says_nothing(world, &error).await;
            for (step, ok) in steps(&error, is_mute) {
                let is_safe = step == "TLS" && ok == "ok";
                let certificate = if is_safe { shown(reader) } else { String::new() };
                print(&format!("{step:<11} {ok}{certificate}"))?;
            }
            let complaint = if is_mute {
                MUTE.to_owned()
            } else {
                told("ask PVE for its version", &error, world)
            };
            print(&format!("\n{complaint}"))?;
            return Ok(ExitCode::FAILURE);
        }
    };
    let certificate = shown(reader);
    print(&format!("address     ok\nTLS         ok{certificate}\nAPI         ok\ntoken       ok"))?;
    if let Some(skew) = found.date.and_then(|date| skew(date, SystemTime::now())) {
        print(&format!("clock       {skew}"))?;
    }
    let found = found.data;
    if let Some(complaint) = another_product(&found) {
        print(&format!("version     FAILED\n\n{complaint}"))?;
        return Ok(ExitCode::FAILURE);
    }
    print(&format!(
        "version     Proxmox VE {}",
        found.version.as_deref().map_or_else(|| "of an unknown version".to_owned(), label)
    ))?;
    if is_untested(&found) {
        print(
            "            this server is tested with Proxmox VE 8 and 9; with older ones some tools may fail",
        )?;
    }
    match reader.get(access::permissions()).await {
        Ok(permissions) => {
            let rights = Rights(permissions);
            let code = privileges(&rights, world)?;
            if world.config.tier == Level::Write {
                for line in guards::told(&world.config, &rights, reader.get(guest::list()).await) {
                    print(&line)?;
                }
            }
            Ok(code)
        }
        Err(error) => {
            print(&format!("\n{}", told("ask PVE for the token's privileges", &error, world)))?;
            Ok(ExitCode::FAILURE)
        }
    }
}

/// Where the API is that a proxy serves under a path of its own, since a slip there is as likely as in the host.
fn behind_a_path(hosts: &[Host]) -> String {
    let hosts = hosts.iter().filter(|host| !host.prefix.is_empty());
    let places: Vec<_> = hosts.map(Host::base).collect();
    if places.is_empty() { String::new() } else { format!("; API at {}", places.join(", ")) }
}

/// What failed, for somebody at a shell: tools are no help where nothing answers, and the node's own services are.
fn told(asked: &str, error: &Error, world: &World) -> String {
    let failure = Failure::from_pve(asked, error);
    let failure = failure.for_token(world.config.pve.token.id()).within_check();
    let failed = error.refusal().is_some_and(|refusal| (500..=594).contains(&refusal.status));
    if matches!(error, Error::Lost { why, .. } if *why != LostWhy::NotHttp) {
        failure.hint(HANGS).to_string()
    } else if failed && failure.advice().is_none() {
        failure.hint(FAILS).to_string()
    } else {
        failure.to_string()
    }
}

/// What is said where PVE took the request and no answer came.
const HANGS: &str = "the node may be overloaded, or its pveproxy or pvedaemon hangs: `uptime` and `journalctl -u pveproxy -u \
    pvedaemon` on it tell, `systemctl restart pveproxy pvedaemon` does no harm to guests; another node in PVE_HOST may answer";

/// What is said where PVE itself failed.
const FAILS: &str = "PVE itself failed: `journalctl -u pveproxy -u pvedaemon -u pve-cluster` on the node tells why; another node \
    in PVE_HOST may answer";

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
        Ok::<_, Error>((version, cluster, shown(&reader)))
    });
    let mut clusters = BTreeSet::new();
    for (host, look) in all.iter().zip(join_all(looks).await) {
        match look {
            Ok((found, cluster, certificate)) => {
                let version = found.version.as_deref().map_or_else(|| "unknown".to_owned(), label);
                let of = cluster.as_ref().map(|name| format!(", {name}")).unwrap_or_default();
                print(&format!("host        {host}: ok, version {version}{of}{certificate}"))?;
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

/// The certificate that was shown, to be compared with the node's own word, or pinned.
fn shown(reader: &Reader) -> String {
    let fingerprint = reader.certificate();
    fingerprint
        .map(|shown| format!(", certificate's SHA-256 fingerprint {shown}"))
        .unwrap_or_default()
}

/// What a node belongs to.
fn name(status: &ClusterStatus) -> Option<String> {
    let own = || status.nodes.iter().find(|member| member.local == Some(true))?.name.as_ref();
    match &status.cluster {
        Some(cluster) => Some(format!("cluster {}", label(cluster.name.as_deref()?))),
        None => Some(format!("alone as {}", label(own()?.as_str()))),
    }
}

/// Proxmox VE's version begins with its release (`9.2.11` and `9.2`); that of Proxmox Backup Server, which answers on
/// the same path (`3.4` and `2`), does not. Mail Gateway's does too, and it lets nobody in who sends Proxmox VE's header.
fn another_product(found: &Version) -> Option<String> {
    let (version, release) = (found.version.as_deref()?, found.release.as_deref()?);
    (!version.starts_with(release)).then(|| {
        format!(
            "this is not a Proxmox VE: it calls itself version {}, release {}\n\n\
             hint: Proxmox Backup Server answers like this; PVE_HOST must lead to a Proxmox VE node",
            label(version),
            label(release)
        )
    })
}

/// Whether it is older than what the server is tested with.
fn is_untested(found: &Version) -> bool {
    (1..8).contains(&found.numbers().0)
}

/// Says what the token may do path by path, what it sees of what there is, and what would let it see more.
fn privileges(rights: &Rights, world: &World) -> io::Result<ExitCode> {
    let token = world.config.pve.token.id();
    let seen = view::seen(rights, world.config.tier, &world.catalog().names());
    print(&format!("privileges  on {} paths", rights.0.len()))?;
    for (path, held) in view::by_path(rights) {
        print(&format!("            {path}: {held}"))?;
    }
    if rights.may_everything() {
        print(&almighty(world.config.tier, world.is_demo()))?;
    }
    for Seen { need, seen, missing, is_nothing } in &seen {
        let Some(missing) = missing else {
            print(&format!("sees        {seen} of {}", need.what))?;
            continue;
        };
        let tools = world.catalog().names().into_iter().filter(|name| need.is_of(name));
        let tools = tools.collect::<Vec<_>>().join(", ");
        let less = if *is_nothing { "nothing of it" } else { "less than everything" };
        let so = match need.level {
            Level::Read => format!("{tools} will show {less}"),
            Level::Write if *is_nothing => format!("{tools} will be refused"),
            Level::Write => format!("{tools} will be refused on the rest"),
        };
        print(&format!("sees        {seen} of {}: {so}; needs {missing}", need.what))?;
    }
    let Mending { lines, cautions } = mending(rights, &seen, token);
    if !lines.is_empty() {
        print("\nhint: on a node, what you want of this lets it see more:")?;
        for line in lines {
            print(&format!("      {line}"))?;
        }
        for caution in cautions {
            print(&format!("      {caution}"))?;
        }
    }
    let unseen = seen.iter().filter(|seen| seen.is_nothing && seen.need.is_basic);
    let unseen: Vec<_> = unseen.map(|seen| seen.need.what).collect();
    if unseen.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    print(&format!(
        "\nrights      FAILED: the token sees nothing of {}",
        unseen.join(", nor of ")
    ))?;
    Ok(ExitCode::FAILURE)
}

/// How to make a token that may only what is needed.
const ACCESS: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/docs/access.md");

/// What is said of a token that may do everything, and of what this server does of it.
fn almighty(tier: Level, is_demo: bool) -> String {
    if is_demo {
        return "note        the demo's token may do everything: of yours, this would be a warning"
            .to_owned();
    }
    let does = match tier {
        Level::Read => "only looks, in the tier read",
        Level::Write => "starts, stops and types, in the tier write, and does nothing else",
    };
    format!(
        "warning     this token may do everything in the cluster. This server {does}, but whoever gets the secret has it all: \
         use a token of a user who may only what is needed ({ACCESS})"
    )
}

/// What is said where a connection is accepted and then nothing comes.
pub const MUTE: &str = "the host accepts connections, but nothing there answers the TLS handshake\n\n\
    hint: is it pveproxy that listens on this port, and does it hang? \
    `systemctl restart pveproxy` on the node does no harm to guests";

/// Whether the address is right all the same, where no connection came about in time.
async fn accepts_and_says_nothing(world: &World, error: &Error) -> bool {
    let Error::Unsent(unsent) = error else { return false };
    let [host] = world.config.pve.hosts.as_slice() else { return false };
    let connecting = TcpStream::connect((host.name.as_str(), host.port));
    matches!(unsent.kind, UnsentKind::ConnectTimedOut(_))
        && matches!(timeout(PROBE, connecting).await, Ok(Ok(_)))
}

/// How long that may take.
const PROBE: Duration = Duration::from_secs(3);

/// What is to be said of two clocks, where it matters to those who ask for the last two hours.
fn skew(theirs: SystemTime, ours: SystemTime) -> Option<String> {
    let (apart, which) = match ours.duration_since(theirs) {
        Ok(apart) => (apart, "ahead of"),
        Err(error) => (error.duration(), "behind"),
    };
    (apart > Duration::from_secs(60)).then(|| {
        let apart = measure::Duration(apart.as_secs());
        format!("this machine's clock is {apart} {which} PVE's; times such as `2h` count from this machine's")
    })
}

/// How far it came.
fn steps(error: &Error, is_mute: bool) -> Vec<(&'static str, &'static str)> {
    let failed_at = match error {
        Error::Unsent(_) if is_mute => 1,
        Error::Unsent(unsent) if matches!(unsent.kind, UnsentKind::Tls(_)) => 1,
        Error::Unsent(_) => 0,
        Error::Refused(refusal) if matches!(refusal.status, 401 | 403) => 3,
        // Something answered, but not as the API does: it never came to the token.
        _ => 2,
    };
    let verdict = |step: usize| match step.cmp(&failed_at) {
        std::cmp::Ordering::Less => "ok",
        std::cmp::Ordering::Equal => "FAILED",
        std::cmp::Ordering::Greater => "not reached",
    };
    ["address", "TLS", "API", "token"]
        .into_iter()
        .enumerate()
        .map(|(step, name)| (name, verdict(step)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_versions_before_the_tested_ones_are_remarked() {
        let version = |text: &str| Version { version: Some(text.to_owned()), ..Version::default() };
        for (text, wanted) in
            [("7.4-3", true), ("6.0-7", true), ("8.0.2", false), ("9.2.11", false), ("?", false)]
        {
            assert_eq!(is_untested(&version(text)), wanted, "{text}");
        }
    }

    #[test]
    fn clocks_are_told_from_a_minute_on_and_which_is_ahead() {
        let theirs = SystemTime::UNIX_EPOCH + Duration::from_secs(1_796_000_000);
        assert_eq!(skew(theirs, theirs + Duration::from_secs(60)), None);
        assert_eq!(skew(theirs, theirs - Duration::from_secs(60)), None);
        let ahead = skew(theirs, theirs + Duration::from_secs(7200)).unwrap();
        assert!(ahead.contains("is 2h ahead of PVE's"), "{ahead}");
        let behind = skew(theirs, theirs - Duration::from_secs(61)).unwrap();
        assert!(behind.contains("behind PVE's"), "{behind}");
    }
}
