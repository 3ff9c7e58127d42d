//! The list of all guests, shared by those who only read.
//!
//! It is the longest answer there is, most calls begin with it, and an agent makes several calls at once. Who asks
//! while it is under way waits for the same answer, and a copy serves for two seconds more: its figures are rebuilt
//! by Proxmox VE every ten. Its rows are not: a guest that was made, moved or stopped is in the next answer. So:
//!
//! **Invariant:** nobody who changes anything is handed a copy. Only an [`Observer`](crate::Observer) is, which
//! neither an [`Operator`](crate::Operator) nor a [`Reader`](crate::Reader) can become.
//!
//! **Invariant:** from the beginning of a write of ours until a minute after its end everyone reads alone, so that
//! what was done is seen. **A failure is told to all who waited for it, and never kept.** Whoever began a request
//! may leave: the others still get its answer, and when all have left it ends.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::{
    FutureExt as _,
    future::{BoxFuture, Shared, WeakShared},
};
use tokio::time::Instant;

use crate::Error;

/// How old a copy may be where nothing else is said.
const KEPT: Duration = Duration::from_secs(2);
/// For how long after a write everyone reads alone: a guest takes a while to do what it was told.
const AFTER_WRITE: Duration = Duration::from_secs(60);

type Outcome<T> = Result<Arc<T>, Error>;

/// Something that was read, and whether that was for somebody else.
#[derive(Clone, Debug)]
pub struct Recent<T> {
    data: Arc<T>,
    age: Option<Duration>,
}

impl<T> Recent<T> {
    /// What was read.
    pub fn data(&self) -> &T {
        &self.data
    }

    /// How old it is, where it is a copy. What was asked for during this very call has no age.
    pub fn age(&self) -> Option<Duration> {
        self.age
    }
}

/// Where the copy is, or the request for it.
pub(crate) struct Sharing<T>(Mutex<State<T>>);

struct State<T> {
    kept: Kept<T>,
    /// How many requests there were, so that each knows whether its answer is still wanted.
    n_requests: u64,
    n_writes: usize,
    alone_until: Option<Instant>,
    kept_for: Duration,
}

enum Kept<T> {
    Nothing,
    /// Kept by those who wait for it alone.
    Request(WeakShared<BoxFuture<'static, Outcome<T>>>),
    Copy {
        data: Arc<T>,
        asked: Instant,
    },
}

/// A write that is under way.
pub(crate) struct Writing<'a, T>(&'a Sharing<T>);

impl<T: Send + Sync + 'static> Sharing<T> {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(State {
            kept: Kept::Nothing,
            n_requests: 0,
            n_writes: 0,
            alone_until: None,
            kept_for: KEPT,
        }))
    }

    /// How old a copy may be.
    pub(crate) fn keep_for(&self, kept_for: Duration) {
        self.lock().kept_for = kept_for;
    }

    /// What there is, or what `ask` brings.
    pub(crate) async fn get(
        &self,
        ask: impl FnOnce() -> BoxFuture<'static, Outcome<T>>,
    ) -> Result<Recent<T>, Error> {
        let asked = Instant::now();
        let (number, request) = match self.join(ask) {
            Joined::Copy { data, asked } => {
                return Ok(Recent { data, age: Some(asked.elapsed()) });
            }
            Joined::Request(number, request) => (number, request),
        };
        let data = request.await?;
        let mut state = self.lock();
        // The first of those who waited keeps it, unless somebody has written since.
        if state.n_requests == number && matches!(state.kept, Kept::Request(_)) {
            state.kept = Kept::Copy { data: Arc::clone(&data), asked };
        }
        Ok(Recent { data, age: None })
    }

    fn join(&self, ask: impl FnOnce() -> BoxFuture<'static, Outcome<T>>) -> Joined<T> {
        let mut state = self.lock();
        match &state.kept {
            Kept::Copy { data, asked } if asked.elapsed() < state.kept_for => {
                return Joined::Copy { data: Arc::clone(data), asked: *asked };
            }
            Kept::Request(request) => {
                // One that has failed is not joined any more, though somebody may not have heard of it yet.
                let request = request.upgrade().filter(|request| request.peek().is_none());
                if let Some(request) = request {
                    return Joined::Request(state.n_requests, request);
                }
            }
            _ => {}
        }
        state.n_requests += 1;
        let request = ask().shared();
        // The old copy goes before the new one comes.
        state.kept = match request.downgrade() {
            Some(request) if state.may_share() => Kept::Request(request),
            _ => Kept::Nothing,
        };
        Joined::Request(state.n_requests, request)
    }

    /// Drops what there is. Nothing is shared before a minute after the end of what is returned.
    pub(crate) fn writing(&self) -> Writing<'_, T> {
        let mut state = self.lock();
        state.n_writes += 1;
        state.kept = Kept::Nothing;
        Writing(self)
    }
}

impl<T> Sharing<T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> State<T> {
    fn may_share(&self) -> bool {
        self.n_writes == 0 && self.alone_until.is_none_or(|until| until <= Instant::now())
    }
}

impl<T> Drop for Writing<'_, T> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.n_writes = state.n_writes.saturating_sub(1);
        state.alone_until = Some(Instant::now() + AFTER_WRITE);
        state.kept = Kept::Nothing;
    }
}

enum Joined<T> {
    Copy { data: Arc<T>, asked: Instant },
    Request(u64, Shared<BoxFuture<'static, Outcome<T>>>),
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures_util::{future::join_all, poll};
    use tokio::{
        sync::oneshot,
        time::{advance, pause},
    };

    use super::*;
    use crate::{Unsent, UnsentKind};

    /// Requests that are answered by hand.
    #[derive(Default)]
    struct Server {
        n_asked: AtomicUsize,
        answers: Mutex<Vec<oneshot::Sender<Outcome<usize>>>>,
    }

    impl Server {
        fn ask(&self) -> BoxFuture<'static, Outcome<usize>> {
            self.n_asked.fetch_add(1, Ordering::Relaxed);
            let (sender, receiver) = oneshot::channel();
            self.answers.lock().unwrap().push(sender);
            async { receiver.await.expect("an answer") }.boxed()
        }

        fn answer(&self, outcome: Outcome<usize>) {
            assert!(self.answers.lock().unwrap().remove(0).send(outcome).is_ok());
        }

        fn n_asked(&self) -> usize {
            self.n_asked.load(Ordering::Relaxed)
        }
    }

    fn failure() -> Error {
        let (host, kind) = ("pve1:8006".to_owned(), UnsentKind::Refused);
        Unsent { host, kind, others: Vec::new() }.into()
    }

    /// Asks, and gets this answer.
    async fn read(sharing: &Sharing<usize>, server: &Server, answer: usize) -> Recent<usize> {
        let mut reading = Box::pin(sharing.get(|| server.ask()));
        assert!(poll!(&mut reading).is_pending());
        server.answer(Ok(answer.into()));
        reading.await.unwrap()
    }

    #[tokio::test]
    async fn those_who_ask_at_once_share_one_request() {
        let (sharing, server) = (Sharing::new(), Server::default());
        let mut all = Box::pin(join_all((0..8).map(|_| sharing.get(|| server.ask()))));
        assert!(poll!(&mut all).is_pending());
        server.answer(Ok(7.into()));
        for one in all.await {
            let one = one.unwrap();
            assert_eq!((*one.data(), one.age()), (7, None));
        }
        assert_eq!(server.n_asked(), 1);
    }

    #[tokio::test]
    async fn a_copy_serves_for_two_seconds_and_tells_its_age() {
        pause();
        let (sharing, server) = (Sharing::new(), Server::default());
        assert_eq!(read(&sharing, &server, 1).await.age(), None);
        let young = KEPT.checked_sub(Duration::from_millis(1)).unwrap();
        advance(young).await;
        let copy = sharing.get(|| server.ask()).await.unwrap();
        assert_eq!((*copy.data(), copy.age()), (1, Some(young)));
        advance(Duration::from_millis(1)).await;
        assert_eq!(*read(&sharing, &server, 2).await.data(), 2);
        assert_eq!(server.n_asked(), 2);
        sharing.keep_for(Duration::ZERO);
        assert_eq!(*read(&sharing, &server, 3).await.data(), 3);
    }

    #[tokio::test]
    async fn a_failure_is_told_to_all_and_not_kept() {
        let (sharing, server) = (Sharing::new(), Server::default());
        let mut all = Box::pin(join_all((0..3).map(|_| sharing.get(|| server.ask()))));
        assert!(poll!(&mut all).is_pending());
        server.answer(Err(failure()));
        for one in all.await {
            assert_eq!(one.err(), Some(failure()));
        }
        assert_eq!(*read(&sharing, &server, 1).await.data(), 1);
        assert_eq!(server.n_asked(), 2);
    }

    #[tokio::test]
    async fn who_comes_after_a_failure_that_somebody_still_waits_for_asks_again() {
        let (sharing, server) = (Sharing::new(), Server::default());
        let mut first = Box::pin(sharing.get(|| server.ask()));
        let mut slow = Box::pin(sharing.get(|| server.ask()));
        assert!(poll!(&mut first).is_pending() && poll!(&mut slow).is_pending());
        server.answer(Err(failure()));
        assert_eq!(first.await.err(), Some(failure()));
        assert_eq!(*read(&sharing, &server, 1).await.data(), 1);
        assert_eq!(slow.await.err(), Some(failure()));
    }

    #[tokio::test]
    async fn who_began_a_request_may_leave() {
        let (sharing, server) = (Sharing::new(), Server::default());
        let mut first = Box::pin(sharing.get(|| server.ask()));
        let mut second = Box::pin(sharing.get(|| server.ask()));
        assert!(poll!(&mut first).is_pending() && poll!(&mut second).is_pending());
        drop(first);
        server.answer(Ok(1.into()));
        assert_eq!(*second.await.unwrap().data(), 1);
        assert_eq!(server.n_asked(), 1);
    }

    #[tokio::test]
    async fn a_request_that_all_have_left_ends_and_is_not_joined() {
        let (sharing, server) = (Sharing::new(), Server::default());
        let mut first = Box::pin(sharing.get(|| server.ask()));
        assert!(poll!(&mut first).is_pending());
        drop(first);
        assert!(server.answers.lock().unwrap().remove(0).is_closed());
        assert_eq!(*read(&sharing, &server, 1).await.data(), 1);
    }

    #[tokio::test]
    async fn nothing_is_shared_from_a_write_until_a_minute_after_it() {
        pause();
        let (sharing, server) = (Sharing::new(), Server::default());
        read(&sharing, &server, 1).await;
        // What was asked before the write is not handed out after it.
        let mut before = Box::pin(sharing.get(|| server.ask()));
        advance(KEPT * 2).await;
        assert!(poll!(&mut before).is_pending());
        let writing = sharing.writing();
        let mut during = Box::pin(sharing.get(|| server.ask()));
        assert!(poll!(&mut during).is_pending());
        server.answer(Ok(2.into()));
        server.answer(Ok(3.into()));
        assert_eq!((*before.await.unwrap().data(), *during.await.unwrap().data()), (2, 3));
        drop(writing);
        for answer in 4..6 {
            assert_eq!(*read(&sharing, &server, answer).await.data(), answer);
        }
        advance(AFTER_WRITE).await;
        assert_eq!(*read(&sharing, &server, 6).await.data(), 6);
        assert_eq!(*sharing.get(|| server.ask()).await.unwrap().data(), 6);
        assert_eq!(server.n_asked(), 6);
    }
}
