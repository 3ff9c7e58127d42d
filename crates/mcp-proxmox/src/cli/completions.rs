//! `mcp-proxmox completions SHELL`: what a shell needs to complete our commands, from the same definitions.

use std::{fmt::Write as _, io, process::ExitCode};

use clap::{Arg, ArgMatches, Command, ValueHint, builder::PossibleValuesParser, value_parser};
use clap_complete::Shell;

use super::print;
use crate::{
    catalog::ALL,
    config::settings::{self, Setting},
};

/// The settings of which only some values make sense. Our own reading of them stays: it takes more spellings, and
/// tells their mistakes with all others.
const CHOICES: &[(Setting, &[&str])] = &[
    (settings::TLS_REJECT_UNAUTHORIZED, &["true", "false"]),
    (settings::ACCESS_TIER, &["read", "write"]),
    (settings::CONFIRM, &["never", "destructive", "always"]),
    (settings::OUTPUT, &["both", "text", "structured"]),
];

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
    let mut script = Vec::new();
    clap_complete::generate(*shell, &mut completed(), NAME, &mut script);
    print(corrected(*shell, &String::from_utf8_lossy(&script)).trim_end())?;
    Ok(ExitCode::SUCCESS)
}

const NAME: &str = "mcp-proxmox";

/// The command line with what a shell can offer for a value.
fn completed() -> Command {
    let tool = |argument: Arg| {
        let names = || PossibleValuesParser::new(ALL.iter().map(|entry| entry.name));
        if argument.get_id() == "tool" { argument.value_parser(names()) } else { argument }
    };
    super::command().mut_args(hinted).mut_subcommand("call", |call| call.mut_args(tool))
}

fn hinted(argument: Arg) -> Arg {
    let is_for = |setting: &Setting| setting.flag == argument.get_long();
    if let Some((_, choices)) = CHOICES.iter().find(|(setting, _)| is_for(setting)) {
        return argument.value_parser(PossibleValuesParser::new(*choices));
    }
    let setting = settings::ALL.iter().find(|setting| is_for(setting));
    // Without a word on it, shells offer files for everything.
    match setting.map(|setting| setting.value) {
        Some("FILE") => argument.value_hint(ValueHint::FilePath),
        Some(_) => argument.value_hint(ValueHint::Other),
        None => argument,
    }
}

/// The script without what the library gets wrong.
fn corrected(shell: Shell, script: &str) -> String {
    match shell {
        // The hyphen in our name is taken for the step to a subcommand in one half of the text, and not in the other:
        // nothing behind a subcommand was ever completed.
        Shell::Bash => {
            let steps = |between: &str| NAME.replace('-', between);
            script.replace(&steps("__subcmd__"), &steps("__"))
        }
        // A flag of which the value is being typed lacks it, which is taken for a mistake; and what stands without a
        // flag is not known at all.
        Shell::Fish => {
            let parse = "argparse -s (__fish_mcp_proxmox_global_optspecs) -- $cmd 2>/dev/null";
            let again = parse.replace("$cmd", "$cmd ''");
            script.replace(parse, &format!("{parse}\n    or {again}")) + &words_for_fish()
        }
        _ => script.to_owned(),
    }
}

/// What fish can offer for words without a flag: a client, a tool, a shell.
fn words_for_fish() -> String {
    let mut lines = String::new();
    for subcommand in completed().get_subcommands() {
        let words = subcommand.get_positionals().flat_map(Arg::get_possible_values);
        let words = words.map(|word| word.get_name().to_owned()).collect::<Vec<_>>().join(" ");
        if !words.is_empty() {
            let name = subcommand.get_name();
            let _ = writeln!(
                lines,
                r#"complete -c {NAME} -n "__fish_mcp_proxmox_using_subcommand {name}; and not __fish_seen_subcommand_from {words}" -f -a "{words}""#
            );
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[test]
    fn every_value_that_is_offered_is_taken() {
        for (setting, choices) in CHOICES {
            for choice in *choices {
                let is_it = |other: &Setting| other.variable == setting.variable;
                let read = |other: &Setting| is_it(other).then(|| (*choice).to_owned());
                assert!(
                    Config::read_without_access(&read).is_ok(),
                    "{}={choice}",
                    setting.variable
                );
            }
        }
    }
}
