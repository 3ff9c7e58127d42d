//! The signals by which a process is told to end: SIGTERM and SIGINT, on Windows Ctrl-C.
//!
//! **What is under way gets its end**: whoever is told drops its work, so that the audit log gets an outcome.

use std::{future::pending, process::ExitCode};

/// How this process was told to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// By Ctrl-C, which is SIGINT.
    Interrupt,
    /// By SIGTERM.
    Terminate,
}

impl Told {
    /// The exit code that shells give such an end: 128 and the number of the signal.
    pub fn exit_code(self) -> ExitCode {
        ExitCode::from(match self {
            Self::Interrupt => 130,
            Self::Terminate => 143,
        })
    }
}

/// Waits until this process is told to end. From the first time that it is waited for, such a signal does
/// not end the process by itself any more.
#[cfg(unix)]
pub async fn told_to_end() -> Told {
    use tokio::signal::unix::{SignalKind, signal};
    let (terminate, interrupt) = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()));
    let (Ok(mut terminate), Ok(mut interrupt)) = (terminate, interrupt) else {
        return pending().await;
    };
    tokio::select! {
        _ = terminate.recv() => Told::Terminate,
        _ = interrupt.recv() => Told::Interrupt,
    }
}

/// Waits until this process is told to end. From the first time that it is waited for, Ctrl-C does not end
/// the process by itself any more.
#[cfg(not(unix))]
pub async fn told_to_end() -> Told {
    match tokio::signal::ctrl_c().await {
        Ok(()) => Told::Interrupt,
        Err(_) => pending().await,
    }
}
