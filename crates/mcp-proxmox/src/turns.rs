//! The locks that keep two calls from acting on one guest at once.
//!
//! A call that only waits any more until a guest has shut itself down lets a hard stop pass, which is there for
//! a guest that does not. **Whoever comes after has to look again**: the guest may be another one by then.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::{
    sync::OwnedMutexGuard,
    time::{Instant, timeout_at},
};

/// The turns of all guests on which calls act.
#[derive(Debug, Default)]
pub struct Turns(Mutex<HashMap<u32, Locks>>);

/// Who acts on a guest holds both. Who waits for it to shut itself down has given the second back, which alone is
/// what a hard stop takes.
#[derive(Clone, Debug, Default)]
struct Locks {
    turn: Arc<tokio::sync::Mutex<()>>,
    acting: Arc<tokio::sync::Mutex<()>>,
}

/// A call's turn, for as long as it lives.
#[derive(Debug)]
pub struct Alone {
    _turn: Option<OwnedMutexGuard<()>>,
    acting: Option<OwnedMutexGuard<()>>,
    /// Whether another call acted on the guest, so that what was seen of it before may be over.
    pub is_after_another: bool,
}

impl Alone {
    /// From now on this call only waits until the guest has shut itself down.
    pub fn lets_a_stop_pass(&mut self) {
        self.acting = None;
    }
}

impl Turns {
    /// Waits until no other call acts on this guest. `None` if that took too long.
    pub async fn alone_with(&self, vmid: u32, deadline: Instant) -> Option<Alone> {
        let Locks { turn, acting } = self.locks(vmid);
        let (turn, waited) = locked(turn, deadline).await?;
        let (acting, has_waited) = locked(acting, deadline).await?;
        let is_after_another = waited || has_waited;
        Some(Alone { _turn: Some(turn), acting: Some(acting), is_after_another })
    }

    /// The same for a hard stop, which passes calls that wait for the guest to shut itself down.
    pub async fn to_stop(&self, vmid: u32, deadline: Instant) -> Option<Alone> {
        let Locks { turn, acting } = self.locks(vmid);
        let (acting, has_waited) = locked(acting, deadline).await?;
        let is_after_another = has_waited || turn.try_lock().is_err();
        Some(Alone { _turn: None, acting: Some(acting), is_after_another })
    }

    fn locks(&self, vmid: u32) -> Locks {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // What nobody holds or waits for is forgotten, so that the map stays as small as what goes on.
        let is_used = |lock: &Arc<_>| Arc::strong_count(lock) > 1;
        all.retain(|_, locks| is_used(&locks.turn) || is_used(&locks.acting));
        all.entry(vmid).or_default().clone()
    }
}

/// Takes a lock, and says whether that had to be waited for.
async fn locked(
    lock: Arc<tokio::sync::Mutex<()>>,
    deadline: Instant,
) -> Option<(OwnedMutexGuard<()>, bool)> {
    if let Ok(guard) = Arc::clone(&lock).try_lock_owned() {
        return Some((guard, false));
    }
    timeout_at(deadline, lock.lock_owned()).await.ok().map(|guard| (guard, true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn two_calls_on_one_guest_take_turns_and_on_two_guests_do_not() {
        let turns = Turns::default();
        let now = Instant::now();
        let first = turns.alone_with(100, now).await.unwrap();
        assert!(!first.is_after_another);
        assert!(turns.alone_with(100, now).await.is_none());
        assert!(turns.to_stop(100, now).await.is_none());
        assert!(turns.alone_with(101, now).await.is_some());
        drop(first);
        assert!(turns.alone_with(100, now).await.is_some());
    }

    #[tokio::test]
    async fn a_stop_passes_who_waits_for_the_guest_and_nobody_else_does() {
        let turns = Turns::default();
        let now = Instant::now();
        let mut shutdown = turns.alone_with(100, now).await.unwrap();
        shutdown.lets_a_stop_pass();
        assert!(turns.alone_with(100, now).await.is_none());
        let stop = turns.to_stop(100, now).await.unwrap();
        assert!(stop.is_after_another, "what it saw may be from before the shutdown");
        assert!(turns.to_stop(100, now).await.is_none(), "one stop after the other");
        drop(shutdown);
        assert!(turns.alone_with(100, now).await.is_none(), "the stop is still under way");
        drop(stop);
        assert!(!turns.to_stop(100, now).await.unwrap().is_after_another);
    }

    #[tokio::test]
    async fn guests_on_which_nothing_goes_on_are_forgotten() {
        let turns = Turns::default();
        for vmid in 100..1_100 {
            drop(turns.alone_with(vmid, Instant::now()).await);
        }
        assert_eq!(turns.0.lock().unwrap().len(), 1);
    }
}
