//! Reading logs: the journals of nodes, tasks with their logs, and what to look for in them.
//!
//! **Everything here is bounded**: by entries, by bytes, by requests. Whoever reads says how far it came.

pub mod backup;
pub mod journal;
pub mod limit;
pub mod nodes;
pub mod pattern;
pub mod place;
pub mod rights;
pub mod stamp;
pub mod task_log;
pub mod tasks;
