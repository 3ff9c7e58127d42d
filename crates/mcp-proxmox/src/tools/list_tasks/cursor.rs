//! Where a page of tasks begins.

use pve_client::task::Listed;

use crate::failure::Failure;

/// The order of tasks.
pub(super) fn key(task: &Listed) -> (i64, String) {
    let upid = task.upid.as_ref().map(ToString::to_string);
    (task.starttime.unwrap_or_default(), upid.unwrap_or_default())
}

/// The task after which a page begins, so that it stays right when new tasks come; or the time at which
/// it begins, where no task stands there.
pub(super) struct Cursor {
    pub(super) start: i64,
    upid: Option<String>,
}

impl Cursor {
    pub(super) fn read(text: &str) -> Result<Self, Failure> {
        let parts = text.trim().split_once('/');
        let read = parts.and_then(|(start, upid)| {
            let start = start.parse().ok()?;
            if upid.is_empty() {
                return Some(Self { start, upid: None });
            }
            let upid: pve_client::Upid = upid.parse().ok()?;
            Some(Self { start, upid: Some(upid.to_string()) })
        });
        read.ok_or_else(|| {
            Failure::new("the `cursor` is not one of this tool's")
                .hint("give back `next_cursor` as it was, or leave it out")
        })
    }

    /// Whether a task comes after this place, and so started before it.
    pub(super) fn is_before(&self, task: &Listed) -> bool {
        let (start, upid) = key(task);
        start < self.start
            || (start == self.start && self.upid.as_ref().is_none_or(|at| upid < *at))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A task with a start out of few, so that many share one.
    fn task(start: i64, pid: u32) -> Listed {
        let upid = format!("UPID:pve1:{pid:08X}:00000001:{start:08X}:qmstart:100:root@pam:");
        let task = serde_json::json!({ "upid": upid, "starttime": start });
        serde_json::from_value(task).unwrap()
    }

    fn after(task: &Listed) -> String {
        format!("{}/{}", task.starttime.unwrap(), task.upid.as_ref().unwrap())
    }

    proptest! {
        #[test]
        fn any_cursor_is_answered_and_never_repeated(text in "([0-9]{0,20}|/|-|UPID:|[a-z:]|\\PC){0,12}") {
            if let Err(failure) = Cursor::read(&text) {
                let told = failure.to_string();
                let same = Cursor::read("x").err().unwrap().to_string();
                prop_assert_eq!(told, same);
            }
        }

        #[test]
        fn pages_one_after_the_other_have_every_task_once(
            tasks in proptest::collection::btree_set((1_000_i64..1_006, 1_u32..6), 0..20),
            size in 1_usize..6,
        ) {
            let mut all: Vec<_> = tasks.iter().map(|(start, pid)| task(*start, *pid)).collect();
            all.sort_by_key(|task| std::cmp::Reverse(key(task)));
            let (mut seen, mut cursor): (Vec<_>, Option<Cursor>) = (Vec::new(), None);
            loop {
                let is_next = |task: &&Listed| cursor.as_ref().is_none_or(|at| at.is_before(task));
                let page: Vec<_> = all.iter().filter(is_next).take(size).collect();
                let Some(last) = page.last() else { break };
                seen.extend(page.iter().map(|task| key(task)));
                prop_assert!(seen.len() <= all.len());
                cursor = Some(Cursor::read(&after(last)).unwrap());
            }
            prop_assert_eq!(seen, all.iter().map(key).collect::<Vec<_>>());
        }

        #[test]
        fn a_time_alone_goes_on_with_every_task_that_started_then_or_before(start in 1_000_i64..1_006) {
            let cursor = Cursor::read(&format!("{start}/")).unwrap();
            for at in 1_000..1_006 {
                prop_assert_eq!(cursor.is_before(&task(at, 1)), at <= start);
            }
        }
    }
}
