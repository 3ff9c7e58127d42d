//! A door to a simulated host: a port of its own that leads there, and that can be shut like a node that
//! goes down, and opened again.

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use pve_sim::Sim;
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    sync::watch,
    task::{JoinHandle, JoinSet},
};

/// How it treats those who come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    /// They are let through.
    Open,
    /// They are sent away, and so are those who are inside.
    Shut,
    /// They wait, and nobody comes.
    Hangs,
}

/// A host that is reached through a door. It is gone when this is dropped.
pub struct Host {
    port: u16,
    door: watch::Sender<Door>,
    n_through: Arc<AtomicUsize>,
    listening: JoinHandle<()>,
}

impl Host {
    /// A host in front of `sim`.
    pub async fn of(sim: &Sim) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (door, state) = watch::channel(Door::Open);
        let n_through = Arc::new(AtomicUsize::new(0));
        let listening = tokio::spawn(listen(listener, sim.address(), state, n_through.clone()));
        Self { port, door, n_through, listening }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn set(&self, door: Door) {
        self.door.send_replace(door);
    }

    /// How many connections were let through.
    pub fn n_through(&self) -> usize {
        self.n_through.load(Ordering::SeqCst)
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

async fn listen(
    listener: TcpListener,
    inside: SocketAddr,
    door: watch::Receiver<Door>,
    n_through: Arc<AtomicUsize>,
) {
    let mut connections = JoinSet::new();
    while let Ok((outside, _)) = listener.accept().await {
        while connections.try_join_next().is_some() {}
        let (mut door, n_through) = (door.clone(), n_through.clone());
        let now = *door.borrow();
        connections.spawn(async move {
            let mut outside = outside;
            let leads = async {
                match now {
                    Door::Open => {
                        let mut inside = TcpStream::connect(inside).await.unwrap();
                        n_through.fetch_add(1, Ordering::SeqCst);
                        drop(copy_bidirectional(&mut outside, &mut inside).await);
                    }
                    Door::Hangs => std::future::pending().await,
                    Door::Shut => {}
                }
            };
            tokio::select! {
                () = leads => {}
                _ = door.wait_for(|door| *door == Door::Shut) => {}
            }
        });
    }
}
