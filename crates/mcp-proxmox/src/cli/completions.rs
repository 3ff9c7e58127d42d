//! `mcp-proxmox completions SHELL`: what a shell needs to complete our commands, from the same definitions.

use std::{io, process::ExitCode};

use clap::{Arg, ArgMatches, Command, value_parser};
use clap_complete::Shell;

use super::print;

pub(super) fn command() -> Command {
    Command::new("completions").about("Print what a shell needs to complete these commands").arg(
        Arg::new("shell")
            .required(true)
            .value_name("SHELL")
            .value_parser(value_parser!(Shell))
            .help("The shell"),
    )
}

pub(super) fn run(options: &ArgMatches) -> io::Result<ExitCode> {
    let Some(shell) = options.get_one::<Shell>("shell") else { return Ok(ExitCode::from(2)) };
    let mut command = super::command();
    let mut script = Vec::new();
    clap_complete::generate(*shell, &mut command, "mcp-proxmox", &mut script);
    print(String::from_utf8_lossy(&script).trim_end())?;
    Ok(ExitCode::SUCCESS)
}
