//! `mcp-proxmox tools`: what is offered, as a table or as clients get it.

use std::{io, process::ExitCode};

use clap::{Arg, ArgAction, ArgMatches, Command};

use super::{complain, guarded, print, unless_of_the_demo, warn_of_names, warn_of_the_demo};
use crate::{
    catalog::{self, Catalog},
    config::Config,
    server,
};

pub(super) fn command() -> Command {
    Command::new("tools")
        .about("List the tools that these settings offer; needs no access to PVE")
        .arg(
            Arg::new("json")
                .long("json")
                .action(ArgAction::SetTrue)
                .help("As MCP clients get them"),
        )
}

pub(super) fn run(matches: Option<&ArgMatches>, options: &ArgMatches) -> io::Result<ExitCode> {
    warn_of_names();
    warn_of_the_demo(matches);
    let source = unless_of_the_demo(matches);
    let config = match guarded(Config::read_without_access(&source)) {
        Ok(config) => config,
        Err(mistakes) => return Ok(complain(&mistakes.to_string(), 2)),
    };
    let catalog = Catalog::new(catalog::ALL, config.tier, |entry| config.tools.picks(entry));
    if options.get_flag("json") {
        print(&server::definitions(&catalog).to_string())?;
        return Ok(ExitCode::SUCCESS);
    }
    for offered in catalog.tools() {
        let entry = offered.entry;
        let arguments: Vec<_> = argument_names(offered.input_schema());
        print(&format!(
            "{} ({}, {})\n  {}\n  arguments: {}",
            entry.name,
            entry.toolset.name(),
            entry.level,
            entry.description,
            arguments.join(", ")
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn argument_names(schema: &serde_json::Map<String, serde_json::Value>) -> Vec<String> {
    let required = schema.get("required").and_then(|names| names.as_array());
    let is_required =
        |name: &str| required.is_some_and(|names| names.iter().any(|other| other == name));
    let arguments = schema
        .get("properties")
        .and_then(|properties| properties.as_object())
        .into_iter()
        .flatten();
    let shown = arguments.map(|(name, argument)| {
        let choices = argument.get("enum").and_then(|choices| choices.as_array());
        let choices: Vec<_> =
            choices.into_iter().flatten().filter_map(|choice| choice.as_str()).collect();
        match (choices.is_empty(), is_required(name)) {
            (false, _) => format!("{name}={}", choices.join("|")),
            (true, true) => format!("{name} (required)"),
            (true, false) => name.clone(),
        }
    });
    let shown: Vec<_> = shown.collect();
    if shown.is_empty() { vec!["none".to_owned()] } else { shown }
}
