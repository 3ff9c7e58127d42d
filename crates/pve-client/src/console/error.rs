//! What can go wrong with a console.
//!
//! **Invariant:** no message holds a ticket, a password or what was on the console.

use std::{fmt, time::Duration};

use crate::{Error, Upid, error::seconds};

/// Why a console could not be watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsoleError {
    /// What went wrong.
    pub problem: ConsoleProblem,
    /// The task behind the console, where there is one. What it ended with often says more.
    pub task: Option<Upid>,
}

/// What can go wrong with a console.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConsoleProblem {
    /// Proxmox VE could not be asked, or refused.
    #[error(transparent)]
    NotOpened(Error),
    /// The answer had no ticket or no port.
    #[error("proxmox ve gave no ticket for the console")]
    NoTicket,
    /// The program behind the terminal did not take the ticket. Before about PVE 9.1 it takes none
    /// of a token's.
    #[error("the terminal did not accept the login with this token's ticket")]
    LoginFailed,
    /// The VNC server did not take the password, or refused for another reason.
    #[error("the screen refused the connection: {0}")]
    Refused(String),
    /// The connection ended before what was asked for had come.
    #[error("the console ended before anything of use came")]
    Ended,
    /// Nothing came in time.
    #[error("the console did not answer within {} s", seconds(*.0))]
    TimedOut(Duration),
    /// What came is not the protocol.
    #[error("what the console sent could not be understood: {0}")]
    Garbage(&'static str),
    /// The screen is larger than is read.
    #[error("the screen says that it has {width} x {height} pixels, which is more than is read")]
    TooLarge {
        /// In pixels.
        width: u32,
        /// In pixels.
        height: u32,
    },
}

impl fmt::Display for ConsoleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.problem.fmt(f)
    }
}

impl std::error::Error for ConsoleError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.problem)
    }
}
