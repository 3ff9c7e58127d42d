//! Finds what a caller named: the VM or container, the node. Never guesses between two.

pub mod guest;
pub mod node;
pub mod storage;
pub mod target;
