//! A cluster behind a way that can be bad, and clients of servers that reach it.

use std::{net::Ipv4Addr, sync::Arc, time::Duration};

use mcp_proxmox::{
    config::Confirm,
    policy::Policy,
    tier::{Access, Level},
};
use pve_client::{Host, Reader, Settings};
use pve_sim::{Cluster, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET, Sim, Takes};
use rmcp::{
    RoleClient, ServiceExt as _,
    model::{CallToolRequestParams, CallToolResult},
    service::RunningService,
};
use serde_json::Value;
use tokio::net::TcpSocket;

use super::{TIMEOUT, way::Way};
use crate::support::{server, settings};

/// The thread on which the servers run: one for all, as the program has one.
pub struct Servers {
    runtime: tokio::runtime::Handle,
    stop: Option<tokio::sync::oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Servers {
    pub fn start() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let handle = runtime.handle().clone();
        let (stop, stopped) = tokio::sync::oneshot::channel();
        let thread = std::thread::spawn(move || drop(runtime.block_on(stopped)));
        Self { runtime: handle, stop: Some(stop), thread: Some(thread) }
    }

    /// How many tasks they have.
    pub fn n_tasks(&self) -> usize {
        self.runtime.metrics().num_alive_tasks()
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        drop(self.stop.take());
        let _ = self.thread.take().unwrap().join();
    }
}

/// A cluster whose figures stand still, behind a way that can be bad, and a client.
pub struct World {
    pub sim: Sim,
    pub way: Way,
    pub client: RunningService<RoleClient, ()>,
    /// A client of a port where nobody listens.
    pub of_nobody: RunningService<RoleClient, ()>,
    _nobody: TcpSocket,
}

impl World {
    pub async fn new(servers: &Servers) -> Self {
        let sim = Sim::start(still()).await.unwrap();
        let way = Way::to(&sim).await;
        let client = client(servers, &sim, way.port(), TIMEOUT).await;
        let nobody = TcpSocket::new_v4().unwrap();
        nobody.bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
        let port = nobody.local_addr().unwrap().port();
        let of_nobody = self::client(servers, &sim, port, TIMEOUT).await;
        Self { sim, way, client, of_nobody, _nobody: nobody }
    }
}

/// The demo, of which two true answers are the same.
pub fn still() -> Cluster {
    let mut cluster = Cluster::demo();
    cluster.moves = false;
    cluster.nodes.iter_mut().for_each(|node| node.clock_ahead = 0);
    cluster.guests.iter_mut().for_each(|guest| guest.takes = Takes::AtOnce);
    cluster
}

pub async fn client(
    servers: &Servers,
    sim: &Sim,
    port: u16,
    timeout: Duration,
) -> RunningService<RoleClient, ()> {
    let mut settings = settings(sim, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET);
    settings.hosts = vec![Host::new("127.0.0.1", port)];
    settings.request_timeout = timeout;
    client_of(servers, settings).await
}

pub async fn client_of(servers: &Servers, settings: Settings) -> RunningService<RoleClient, ()> {
    // What goes wrong is to be met by the call under which it does.
    let reader = Reader::new(settings).sharing_for(Duration::ZERO);
    let access = Access::new(Level::Write, reader);
    let policy = Policy::new(None, "".parse().unwrap(), Confirm::Never, None);
    let server = server(access).under(Arc::new(policy));
    let (near, far) = tokio::io::duplex(64 * 1024);
    let (input, output) = tokio::io::split(far);
    servers.runtime.spawn(server.serve(input, output));
    ().serve(near).await.unwrap()
}

pub async fn call(
    client: &RunningService<RoleClient, ()>,
    tool: &'static str,
    arguments: &Value,
) -> CallToolResult {
    let mut request = CallToolRequestParams::new(tool);
    request.arguments = arguments.as_object().cloned();
    client.call_tool(request).await.unwrap()
}
