//! What a call has sent that changes a guest, for whoever gives the call up before its outcome is known.
//!
//! **It is said before the request goes out**: from then on it may take effect, whatever becomes of the call.

use std::sync::{Arc, Mutex, PoisonError};

use crate::answer::clean::sentence;

/// What was sent, if anything was. All clones of one tell the same.
#[derive(Clone, Debug, Default)]
pub struct Sent(Arc<Mutex<Course>>);

#[derive(Debug, Default)]
struct Course {
    what: Option<String>,
    task: Option<String>,
    given_up: Option<&'static str>,
}

impl Sent {
    /// This is sent now: `start qemu/101`.
    pub fn begins(&self, what: impl Into<String>) {
        self.with(|course| course.what = Some(what.into()));
    }

    /// PVE said which task it began.
    pub fn has_task(&self, upid: &impl ToString) {
        self.with(|course| course.task = Some(sentence(&upid.to_string())));
    }

    /// Nobody waits for the outcome any more, for this reason.
    pub fn is_given_up(&self, why: &'static str) {
        self.with(|course| course.given_up = Some(why));
    }

    /// What was sent, in words; `None` where nothing was.
    pub fn told(&self) -> Option<String> {
        self.with(|course| {
            let what = course.what.as_ref()?;
            Some(match &course.task {
                Some(task) => format!("{what} (task {task})"),
                None => what.clone(),
            })
        })
    }

    /// The task that it began, as far as that is known.
    pub fn task(&self) -> Option<String> {
        self.with(|course| course.task.clone())
    }

    /// Why nobody waits for the outcome.
    pub fn why_given_up(&self) -> Option<&'static str> {
        self.with(|course| course.given_up)
    }

    fn with<T>(&self, look: impl FnOnce(&mut Course) -> T) -> T {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_told_before_something_was_sent_and_the_task_as_soon_as_it_is_known() {
        let sent = Sent::default();
        let told = sent.clone();
        assert_eq!(told.told(), None);
        sent.begins("start qemu/101");
        assert_eq!(told.told().unwrap(), "start qemu/101");
        sent.has_task(&"UPID:pve1:1");
        assert_eq!(told.told().unwrap(), "start qemu/101 (task UPID:pve1:1)");
        assert_eq!(told.task().unwrap(), "UPID:pve1:1");
    }
}
