//! The signals by which a process is told to end: SIGTERM, SIGINT and SIGHUP, on Windows Ctrl-C.
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
    /// By the end of its terminal, which is SIGHUP.
    HangUp,
}

impl Told {
    /// The exit code that shells give such an end: 128 and the number of the signal.
    pub fn exit_code(self) -> ExitCode {
        ExitCode::from(match self {
            Self::Interrupt => 130,
            Self::Terminate => 143,
            Self::HangUp => 129,
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
    let mut hang_up =
        if outlives_its_terminal() { None } else { signal(SignalKind::hangup()).ok() };
    let hung_up = async {
        match &mut hang_up {
            Some(hang_up) => hang_up.recv().await,
            None => pending().await,
        }
    };
    tokio::select! {
        _ = terminate.recv() => Told::Terminate,
        _ = interrupt.recv() => Told::Interrupt,
        _ = hung_up => Told::HangUp,
    }
}

/// Whether it was begun by `nohup`, which has the end of the terminal ignored. Only Linux tells.
#[cfg(unix)]
fn outlives_its_terminal() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_some_and(|mask| mask & 1 == 1)
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
