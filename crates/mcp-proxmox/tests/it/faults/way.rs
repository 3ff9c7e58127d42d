//! A way to a simulated host that can be bad: what is between two machines, below TLS.

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use pve_sim::Sim;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::watch,
    task::{JoinHandle, JoinSet},
    time::sleep,
};

/// How often a slow way goes on.
const BEAT: Duration = Duration::from_millis(50);

/// What is wrong with a way. Bytes are counted in each connection from its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bad {
    /// Nothing.
    Not,
    /// Connections are taken and ended at once.
    Resets,
    /// Connections are taken, and nothing ever comes.
    Swallows,
    /// It breaks after so many bytes of what comes back.
    Cuts(usize),
    /// It breaks after so many bytes of what is sent.
    CutsRequests(usize),
    /// Everything comes so much later.
    Waits(Duration),
    /// This byte of what comes back is another.
    Spoils(usize),
    /// The bytes from this one on come twice, as far as they come together.
    Repeats(usize),
    /// So many bytes come back in a second.
    Crawls(usize),
}

/// A way to a host. It is gone when this is dropped.
pub struct Way {
    port: u16,
    bad: watch::Sender<Bad>,
    open: watch::Receiver<usize>,
    strikes: Arc<AtomicUsize>,
    listening: JoinHandle<()>,
}

impl Way {
    pub async fn to(sim: &Sim) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (bad, state) = watch::channel(Bad::Not);
        let (count, open) = watch::channel(0);
        let strikes = Arc::new(AtomicUsize::new(0));
        let hits = Strikes(Arc::clone(&strikes));
        let listening = tokio::spawn(listen(listener, sim.address(), state, Arc::new(count), hits));
        Self { port, bad, open, strikes, listening }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Connections that were treated otherwise end, and new ones are treated so.
    pub fn set(&self, bad: Bad) {
        self.bad.send_if_modified(|now| std::mem::replace(now, bad) != bad);
    }

    /// How many connections so far were treated badly. What lies behind their last byte does not count.
    pub fn strikes(&self) -> usize {
        self.strikes.load(Ordering::SeqCst)
    }

    /// Waits until at most so many connections are open.
    pub async fn until_open(&self, most: usize) {
        let mut open = self.open.clone();
        let waited =
            tokio::time::timeout(Duration::from_secs(20), open.wait_for(|open| *open <= most));
        let now = *self.open.borrow();
        assert!(waited.await.is_ok(), "{now} connections stay open, more than {most}");
    }
}

impl Drop for Way {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

/// An open connection, counted until it is dropped.
struct Counted(Arc<watch::Sender<usize>>);

impl Counted {
    fn new(count: &Arc<watch::Sender<usize>>) -> Self {
        count.send_modify(|open| *open += 1);
        Self(Arc::clone(count))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.send_modify(|open| *open -= 1);
    }
}

/// Counts the connections that were treated badly.
#[derive(Clone)]
struct Strikes(Arc<AtomicUsize>);

impl Strikes {
    fn one_more(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

async fn listen(
    listener: TcpListener,
    inside: SocketAddr,
    bad: watch::Receiver<Bad>,
    count: Arc<watch::Sender<usize>>,
    strikes: Strikes,
) {
    let mut connections = JoinSet::new();
    while let Ok((outside, _)) = listener.accept().await {
        while connections.try_join_next().is_some() {}
        let counted = Counted::new(&count);
        let mut bad = bad.clone();
        let now = *bad.borrow_and_update();
        let strikes = strikes.clone();
        connections.spawn(async move {
            let _counted = counted;
            tokio::select! {
                () = lead(outside, inside, now, &strikes) => {}
                _ = bad.changed() => {}
            }
        });
    }
}

/// The connection broke, and both sides see it.
struct Broken;

async fn lead(mut outside: TcpStream, inside: SocketAddr, bad: Bad, strikes: &Strikes) {
    if matches!(bad, Bad::Resets | Bad::Swallows | Bad::Waits(_)) {
        strikes.one_more();
    }
    match bad {
        Bad::Resets => return,
        Bad::Swallows => {
            // Until the peer gives up.
            while matches!(outside.read(&mut [0; 4096]).await, Ok(read) if read > 0) {}
            return;
        }
        Bad::Waits(wait) => sleep(wait).await,
        _ => {}
    }
    // The simulator may have been dropped.
    let Ok(inside) = TcpStream::connect(inside).await else { return };
    let _ = (outside.set_nodelay(true), inside.set_nodelay(true));
    let (mut from_outside, mut to_outside) = outside.into_split();
    let (mut from_inside, mut to_inside) = inside.into_split();
    let there = match bad {
        Bad::CutsRequests(bytes) => Bad::Cuts(bytes),
        _ => Bad::Not,
    };
    let there = pump(&mut from_outside, &mut to_inside, there, strikes);
    let back = pump(&mut from_inside, &mut to_outside, bad, strikes);
    let _ = futures_util::future::try_join(there, back).await;
}

/// Carries bytes from the one to the other until there are no more.
async fn pump<R, W>(from: &mut R, to: &mut W, bad: Bad, strikes: &Strikes) -> Result<(), Broken>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let mut buffer = vec![0; 16 << 10];
    let mut done = 0_usize;
    loop {
        let Ok(read) = from.read(&mut buffer).await else { return Err(Broken) };
        if read == 0 {
            let _ = to.shutdown().await;
            return Ok(());
        }
        let bytes = &mut buffer[..read];
        let here = |at: usize| at.checked_sub(done).filter(|at| *at < read);
        let mut piece = read;
        let mut again = None;
        match bad {
            Bad::Cuts(after) if done + read >= after => {
                strikes.one_more();
                let _ = to.write_all(&bytes[..after.saturating_sub(done)]).await;
                return Err(Broken);
            }
            Bad::Spoils(at) => {
                if let Some(at) = here(at) {
                    strikes.one_more();
                    bytes[at] ^= 0x20;
                }
            }
            Bad::Repeats(from) => again = here(from),
            Bad::Crawls(rate) => piece = (rate * 50 / 1000).max(1),
            _ => {}
        }
        if again.is_some() || (piece < read && done == 0) {
            strikes.one_more();
        }
        for part in bytes.chunks(piece) {
            if piece < read {
                sleep(BEAT).await;
            }
            if to.write_all(part).await.is_err() {
                return Err(Broken);
            }
        }
        if let Some(from) = again
            && to.write_all(&buffer[from..read]).await.is_err()
        {
            return Err(Broken);
        }
        done += read;
    }
}
