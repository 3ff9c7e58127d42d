//! Looks for the task of a request whose answer was lost.
//!
//! **Ours is the one with our token, of the right type and on this guest, that was not there before.** What could
//! not be looked at is told apart from what was not found.

use pve_client::{Upid, task};
use tokio::time::{Duration as Time, Instant};

use super::{
    super::{KEPT, look::Scene},
    Course, Pause,
};

use crate::in_order::InOrder as _;

/// How long a task is looked for whose UPID was lost.
const SEARCH: Time = Time::from_secs(6);
/// How far the clocks of two nodes may be apart, in seconds.
const SKEW: u64 = 60;

/// What a search for the task of a lost answer came to.
pub(super) enum Search {
    Found(Upid),
    /// The tasks were read to the end of the search, and ours is not among them.
    NotThere,
    /// The tasks could not be read, or not be told apart.
    NotTold,
}

impl Course<'_> {
    /// The task that our request began, if it did.
    pub(super) async fn search(&self) -> Search {
        let end = (Instant::now() + SEARCH).min(self.call.deadline - KEPT / 2);
        let guest = &self.scene.found.guest;
        let filter = task::Filter { vmid: Some(guest.vmid), ..task::Filter::default() };
        let mut pause = Pause::new();
        loop {
            // The last look is one that has the time to be answered.
            let look = self.pve.until(end.max(Instant::now() + Time::from_secs(1)));
            let list = look.get(task::list(&guest.node, &filter)).await.ok();
            if let Some(ours) = list.as_ref().and_then(|tasks| self.ours(tasks)) {
                return Search::Found(ours);
            }
            if !pause.before(end).await {
                let is_told = list.is_some() && self.scene.clock.is_some();
                return if is_told { Search::NotThere } else { Search::NotTold };
            }
        }
    }

    fn ours(&self, tasks: &[task::Listed]) -> Option<Upid> {
        let Scene { found, tasks: before, clock, .. } = self.scene;
        let known = self.scene.known();
        // What was not there before is new, whatever the clocks say; otherwise they have to.
        let not_before =
            clock.map(|clock| if before.is_some() { clock.saturating_sub(SKEW) } else { clock });
        let kinds = self.action.tasks(found.guest.kind);
        let fits = |listed: &task::Listed| {
            let upid = listed.upid.as_ref()?;
            let is_ours = listed.who().as_deref() == Some(self.pve.token_id())
                && kinds.contains(&upid.kind.as_str())
                && upid.vmid() == Some(found.guest.vmid)
                && not_before.is_some_and(|start| upid.starttime >= start)
                && !known.contains(upid);
            is_ours.then(|| upid.clone())
        };
        let mut ours: Vec<Upid> = tasks.iter().filter_map(fits).collect();
        ours.order_by_key(|upid| std::cmp::Reverse((upid.starttime, upid.pstart)));
        ours.into_iter().next()
    }
}
