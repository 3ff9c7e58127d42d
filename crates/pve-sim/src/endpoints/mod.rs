//! The endpoints: one list of tables of routes, and the checks that PVE makes before any of them
//! runs.
//!
//! The order of the checks is that of PVE (recorded): is there such a path, may the token do this,
//! can the node be reached, is its pvedaemon alive, are the parameters right; only then the
//! endpoint's own function runs. So a token without rights gets 403 for a node that is off and for
//! a guest that does not exist.
//!
//! **Invariant:** an endpoint is one row in its group's `ROUTES` and one function; a new group is
//! one file and one line in `GROUPS`.

mod access;
mod apt;
mod backup;
mod ceph;
mod certificates;
mod cluster_log;
mod cluster_status;
mod console;
mod guest;
mod guest_agent;
mod guest_config;
mod guest_current;
mod guest_lists;
mod ha;
mod journal;
mod netstat;
mod network;
mod node_status;
mod nodes;
mod parameters;
mod power;
mod replication;
mod report;
mod resources;
mod rrddata;
mod sdn;
mod services;
mod start;
mod storage;
mod subscription;
mod syslog;
mod task_log;
mod tasks;
mod time;
mod version;

use crate::{
    answer::{Answer, FROM_DAEMON, FROM_NODE, FROM_NODES_DAEMON, KEEP_ALIVE},
    cluster::Node,
    http::Request,
    permission::Rights,
    shared::World,
};
use parameters::{Parameter, Values};

/// All groups of endpoints. Their order does not matter, since no two rows fit the same request.
const GROUPS: &[&[Route]] = &[
    access::ROUTES,
    apt::ROUTES,
    backup::ROUTES,
    ceph::ROUTES,
    certificates::ROUTES,
    cluster_log::ROUTES,
    cluster_status::ROUTES,
    guest_agent::ROUTES,
    guest_config::ROUTES,
    console::ROUTES,
    guest_current::ROUTES,
    guest_lists::ROUTES,
    ha::ROUTES,
    netstat::ROUTES,
    network::ROUTES,
    journal::ROUTES,
    node_status::ROUTES,
    nodes::ROUTES,
    power::ROUTES,
    replication::ROUTES,
    report::ROUTES,
    resources::ROUTES,
    rrddata::ROUTES,
    sdn::ROUTES,
    services::ROUTES,
    start::ROUTES,
    storage::ROUTES,
    subscription::ROUTES,
    syslog::ROUTES,
    task_log::ROUTES,
    tasks::ROUTES,
    time::ROUTES,
    version::ROUTES,
];

/// An endpoint.
#[derive(Debug)]
pub(crate) struct Route {
    pub(crate) method: &'static str,
    /// The path, with variable parts in braces. Everything below `/nodes/{node}/` is answered by
    /// that node.
    pub(crate) path: &'static str,
    /// What the token needs.
    pub(crate) needs: Needs,
    /// The parameters that it knows, beside those in its path; any other is refused.
    pub(crate) parameters: &'static [Parameter],
    /// Whether pvedaemon answers it and not pveproxy.
    pub(crate) by_daemon: bool,
    pub(crate) run: Run,
}

/// What a token needs before anything else is looked at.
#[derive(Debug)]
pub(crate) enum Needs {
    /// Nothing; the function itself leaves out what the token may not see.
    Nothing,
    /// This privilege on this path, which may have variable parts.
    Privilege(&'static str, &'static str),
    /// Any one of these privileges on this path.
    AnyOf(&'static str, &'static [&'static str]),
}

/// The function of an endpoint.
#[derive(Debug)]
pub(crate) enum Run {
    Read(fn(&Call<'_>) -> Answer),
    /// The same, for a list that is big and the same for a while: its body is kept for each token.
    List(fn(&Call<'_>) -> Answer),
    Write(fn(&mut World, &Wanted<'_>) -> Answer),
}

/// What is asked for: the variable parts of the path, and the parameters.
#[derive(Debug)]
pub(crate) struct Wanted<'a> {
    pub(crate) token: &'a str,
    pub(crate) values: Values,
}

/// A request to an endpoint that only reads.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    pub(crate) world: &'a World,
    pub(crate) rights: &'a Rights<'a>,
    pub(crate) wanted: &'a Wanted<'a>,
}

impl<'a> Call<'a> {
    /// The value of a variable part or of a parameter; empty if it was not given.
    pub(crate) fn value(&self, name: &str) -> &'a str {
        self.wanted.values.get(name).unwrap_or_default()
    }

    /// The node in the path. It exists and can be reached, or the function would not run.
    pub(crate) fn node(&self) -> Option<&'a Node> {
        self.world.cluster.node(self.world.real_name(self.value("node")))
    }
}

impl World {
    /// `localhost` in a path is the node that answers.
    pub(crate) fn real_name<'a>(&'a self, node: &'a str) -> &'a str {
        if node == "localhost" { &self.local } else { node }
    }
}

/// How long a kept list stays the same in a world that moves, in seconds: pvestatd's period.
const LIST_PERIOD: u64 = 10;

/// Answers a request of a token that was let in; `target` is the path with its query, without
/// `/api2/json`.
pub(crate) fn answer(world: &mut World, token: &str, request: &Request, target: &str) -> Answer {
    let old = !world.cluster.version.at_least(8, 4);
    let answer = checked(world, token, request, target);
    if old { answer.without_message() } else { answer }
}

fn checked(world: &mut World, token: &str, request: &Request, target: &str) -> Answer {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    // PVE decodes before it routes, so `%2F` separates parts, and skips empty parts.
    let path = percent_encoding::percent_decode_str(path).decode_utf8_lossy().into_owned();
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let Some((route, variables)) = find(&request.method, &parts) else {
        return Answer::not_implemented(&request.method, &path);
    };
    let values = match Values::read(query, request) {
        Ok(values) => values.with_variables(variables),
        Err(answer) => return answer,
    };
    let wanted = Wanted { token, values };
    power::time_passes(world, route, &wanted);
    world.expire_tickets();
    let rights = Rights::of(&world.cluster, token);
    let (path, any_of) = match route.needs {
        Needs::Nothing => ("", &[][..]),
        Needs::Privilege(path, privilege) => (path, &[privilege][..]),
        Needs::AnyOf(path, privileges) => (path, privileges),
    };
    let path = wanted.values.fill(path, |node| world.real_name(node));
    if !any_of.is_empty() && !any_of.iter().any(|name| holds(world, &rights, &path, name)) {
        return Answer::forbidden(&path, &any_of.join("|"));
    }
    let remote = match reach(world, route, &wanted) {
        Ok(remote) => remote,
        Err(answer) => return answer,
    };
    if let Err(answer) = wanted.values.check(route.parameters) {
        return answer;
    }
    let mut answer = match route.run {
        Run::Read(run) => run(&Call { world, rights: &rights, wanted: &wanted }),
        Run::List(run) => {
            let key = (token.to_owned(), target.to_owned());
            let age = world.elapsed().as_secs() / LIST_PERIOD;
            match world.lists.get(&key) {
                Some((written, body)) if *written == age => Answer::json(body.clone()),
                _ => {
                    let answer = run(&Call { world, rights: &rights, wanted: &wanted });
                    world.lists.insert(key, (age, answer.body.clone()));
                    answer
                }
            }
        }
        Run::Write(run) => {
            world.lists.clear();
            run(world, &wanted)
        }
    };
    if answer.status == 200 {
        answer.connection = match (remote, route.by_daemon, &*request.method) {
            (false, false, _) => KEEP_ALIVE,
            (true, false, _) => FROM_NODE,
            (true, true, "GET") => FROM_NODES_DAEMON,
            (_, true, _) => FROM_DAEMON,
        };
    }
    answer
}

/// The decoded parameters in a path's query.
pub(crate) fn query(target: &str) -> Vec<(String, String)> {
    parameters::form(target.split_once('?').map_or("", |(_, query)| query))
}

/// Whether there is an endpoint for this method and path.
#[cfg(test)]
pub(crate) fn is_known(method: &str, path: &str) -> bool {
    let path = percent_encoding::percent_decode_str(path).decode_utf8_lossy();
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    find(method, &parts).is_some()
}

/// The route for this method and path, and the values of its variable parts.
fn find(method: &str, parts: &[&str]) -> Option<(&'static Route, Vec<(String, String)>)> {
    let routes = GROUPS.iter().flat_map(|group| group.iter());
    let mut found = routes.filter(|route| route.method == method);
    found.find_map(|route| fit(route.path, parts).map(|variables| (route, variables)))
}

fn fit(pattern: &str, parts: &[&str]) -> Option<Vec<(String, String)>> {
    let pattern: Vec<&str> = pattern.split('/').filter(|part| !part.is_empty()).collect();
    if pattern.len() != parts.len() {
        return None;
    }
    let mut variables = Vec::new();
    for (wanted, part) in pattern.iter().zip(parts) {
        let name = wanted.strip_prefix('{').and_then(|wanted| wanted.strip_suffix('}'));
        match name {
            // A node's name is checked while routing: an impossible one is an unknown path
            // (recorded).
            Some("node") if !is_node_name(part) => return None,
            Some(name) => variables.push((name.to_owned(), (*part).to_owned())),
            None if wanted == part => {}
            None => return None,
        }
    }
    Some(variables)
}

fn is_node_name(name: &str) -> bool {
    let inner = |c: char| c.is_ascii_alphanumeric() || c == '-';
    name.chars().all(inner) && !name.starts_with('-') && !name.ends_with('-')
}

/// Whether the token holds one of these privileges (`|` between them); a guest's pool counts as well.
fn holds(world: &World, rights: &Rights<'_>, path: &str, privileges: &str) -> bool {
    privileges.split('|').any(|privilege| holds_one(world, rights, path, privilege))
}

fn holds_one(world: &World, rights: &Rights<'_>, path: &str, privilege: &str) -> bool {
    let guest = path.strip_prefix("/vms/").and_then(|vmid| vmid.parse().ok());
    match guest.and_then(|vmid| world.cluster.guest(vmid)) {
        Some(guest) => rights.has_on_guest(guest.vmid, guest.pool.as_deref(), privilege),
        None => rights.has(path, privilege),
    }
}

/// Whether whoever answers this route can be reached, and whether that is another node.
fn reach(world: &World, route: &Route, wanted: &Wanted<'_>) -> Result<bool, Answer> {
    // Histories are answered by whoever is asked (recorded).
    let is_proxied = route.path.starts_with("/nodes/{node}/") && !route.path.ends_with("/rrddata");
    let name = wanted.values.get("node").filter(|_| is_proxied);
    let name = name.map_or(world.local.as_str(), |name| world.real_name(name));
    let remote = name != world.local;
    let Some(node) = world.cluster.node(name) else {
        let reason =
            format!("failed to get address info for: {name}: Temporary failure in name resolution");
        return Err(Answer::error(500, &format!("hostname lookup '{name}' failed - {reason}")));
    };
    if remote && !node.online {
        return Err(Answer::unreachable("No route to host"));
    }
    if !remote && route.by_daemon && world.cluster.pvedaemon_down {
        return Err(Answer::unreachable("Connection refused"));
    }
    Ok(remote)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_fits_its_own_path_and_names_the_variable_parts() {
        let parts = ["nodes", "pve1", "qemu", "100", "status", "current"];
        let (route, variables) = find("GET", &parts).unwrap();
        assert!(route.path.ends_with("/status/current") && route.by_daemon);
        assert!(variables.contains(&("vmid".to_owned(), "100".to_owned())));
        assert!(find("POST", &parts).is_none());
    }

    #[test]
    fn no_two_routes_fit_the_same_request() {
        let routes: Vec<&Route> = GROUPS.iter().flat_map(|group| group.iter()).collect();
        for (nth, route) in routes.iter().enumerate() {
            let parts: Vec<&str> = route.path.split('/').filter(|part| !part.is_empty()).collect();
            let fits = |other: &&&Route| {
                let sample: Vec<&str> =
                    parts.iter().map(|part| part.trim_matches(['{', '}'])).collect();
                other.method == route.method && fit(other.path, &sample).is_some()
            };
            assert_eq!(
                routes.iter().filter(fits).count(),
                1,
                "{} {} ({nth})",
                route.method,
                route.path
            );
        }
    }

    #[test]
    fn node_names_are_those_of_hosts() {
        assert!(is_node_name("pve-1") && !is_node_name("in valid") && !is_node_name("-pve"));
    }
}
