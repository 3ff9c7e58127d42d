//! The command line: `mcp-proxmox [serve]`, `check`, `tools`, `call`, `config`, `completions`, most with `--demo`.
//!
//! Flags are made from the table of settings, so that every variable has its flag and its help.
//! **In `serve`, standard output belongs to the protocol**: people are spoken to on standard error.
//! Exit codes: 0 done, 1 the work failed, 2 the call of the program or its configuration is wrong, 3 a write was sent
//! and is not known to be done, 129, 130 and 143 the program was told to end by SIGHUP, SIGINT or SIGTERM.

mod call;
mod check;
mod completions;
mod config;
#[cfg(feature = "demo")]
mod demo;
mod log;
mod tools;

pub use check::MUTE;

use std::{
    ffi::OsString,
    io::{self, IsTerminal as _, Write as _},
    process::ExitCode,
    sync::Arc,
};

use clap::{
    Arg, ArgAction, ArgMatches, Command,
    error::{ContextKind, ContextValue, ErrorKind},
};
use pve_client::Reader;

use crate::{
    call::Limits,
    catalog::{self, Catalog},
    config::{
        Config, Mistakes, misspelt,
        settings::{self, Setting},
    },
    policy::Policy,
    server::Server,
    signals::Told,
    tier::{Access, Level},
};

/// Runs the program.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let matches = match understood(&arguments) {
        Ok(matches) => matches,
        Err(error) => {
            // Help and version are asked for, and go to standard output; everything else is a mistake.
            let code = if error.use_stderr() { 2 } else { 0 };
            return match error.print().or_else(unless_closed) {
                Ok(()) => {
                    if let Some(hint) = flag_hint(&error, &arguments) {
                        tell(&format!("\nhint: {hint}"));
                    }
                    ExitCode::from(code)
                }
                Err(error) => unwritten(&error),
            };
        }
    };
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return complain(&format!("mcp-proxmox cannot start: {error}"), 1),
    };
    let code =
        runtime.block_on(dispatch(matches.as_ref())).unwrap_or_else(|error| unwritten(&error));
    // A read of standard input may still be blocked in a thread; it must not hold up the end.
    runtime.shutdown_background();
    code
}

/// What to write instead of a flag that there is not.
fn flag_hint(error: &clap::Error, arguments: &[OsString]) -> Option<String> {
    let Some(ContextValue::String(flag)) = error.get(ContextKind::InvalidArg) else { return None };
    let is_unknown = error.kind() == ErrorKind::UnknownArgument;
    let is_call = arguments.iter().any(|argument| argument == "call");
    let at = |word: &str| arguments.iter().position(|argument| argument == word);
    if !is_unknown || !is_call {
        return None;
    }
    if at(flag) < at("call")
        && call::command().get_arguments().any(|own| own.get_long() == flag.strip_prefix("--"))
    {
        return Some(format!("{flag} belongs behind the tool: `mcp-proxmox call TOOL … {flag}`"));
    }
    call::instead_of_flag(flag, arguments)
}

/// `None` where nothing was written, as clients start it: then the command line, whose description is a third of the
/// work until the first answer, is not even described.
fn understood(arguments: &[OsString]) -> Result<Option<ArgMatches>, clap::Error> {
    if arguments.len() <= 1 {
        return Ok(None);
    }
    helpful(command(), arguments).try_get_matches_from(arguments).map(Some)
}

/// # Errors
/// What standard output said.
async fn dispatch(matches: Option<&ArgMatches>) -> io::Result<ExitCode> {
    let command = matches.and_then(ArgMatches::subcommand);
    match command {
        Some(("tools", options)) => return tools::run(matches, options),
        Some(("config", options)) => return config::run(matches, options),
        Some(("completions", options)) => return completions::run(options),
        _ => {}
    }
    let is_check = matches!(command, Some(("check", _)));
    let world = match World::open(matches, !is_check).await {
        Ok(world) => world,
        Err(complaint) => return Ok(complain(&complaint, 2)),
    };
    match command {
        Some(("check", _)) => check::run(&world).await,
        Some(("call", options)) => call::run(&world, options).await,
        _ => Ok(serve(world).await),
    }
}

/// The configuration, and what keeps the demo cluster alive.
struct World {
    config: Config,
    #[cfg(feature = "demo")]
    /// It lives as long as this holds it.
    demo: Option<pve_sim::Sim>,
}

impl World {
    /// Where the work `may_write`, and so does the tier, the audit log is there from now on.
    async fn open(matches: Option<&ArgMatches>, may_write: bool) -> Result<Self, String> {
        warn_of_names();
        warn_of_the_demo(matches);
        #[cfg(feature = "demo")]
        let (config, demo) = if is_demo(matches) {
            let demo = demo::start().await?;
            (demo::config(&demo, &written(matches)), Some(demo))
        } else {
            (Config::read(&written(matches)), None)
        };
        #[cfg(not(feature = "demo"))]
        let config = Config::read(&written(matches));
        let config = guarded(config).map_err(|mistakes: Mistakes| mistakes.to_string())?;
        if may_write && config.tier == Level::Write {
            config.begin_audit_log().map_err(|mistakes| mistakes.to_string())?;
        }
        log::start(&config.log);
        for warning in &config.warnings {
            tell(&format!("mcp-proxmox: warning: {warning}"));
        }
        Ok(Self {
            config,
            #[cfg(feature = "demo")]
            demo,
        })
    }

    fn access(&self) -> Access {
        Access::new(self.config.tier, Reader::new(self.config.pve.clone()))
    }

    /// The settings in one line; a simulated cluster must not be taken for a real one.
    fn summary(&self) -> String {
        let summary = self.config.summary();
        if self.is_demo() { format!("the simulated demo cluster, {summary}") } else { summary }
    }

    fn is_demo(&self) -> bool {
        #[cfg(feature = "demo")]
        return self.demo.is_some();
        #[cfg(not(feature = "demo"))]
        false
    }

    fn policy(&self) -> Arc<Policy> {
        Arc::new(Policy::of(&self.config))
    }

    fn limits(&self) -> Arc<Limits> {
        Arc::new(Limits { tier: self.config.tier, offered: self.catalog().names() })
    }

    fn catalog(&self) -> Catalog {
        Catalog::new(catalog::ALL, self.config.tier, |entry| self.config.tools.picks(entry))
    }
}

async fn serve(world: World) -> ExitCode {
    tell(&format!("mcp-proxmox {}: {}", env!("CARGO_PKG_VERSION"), world.summary()));
    if let Some(hint) = for_people(io::stdin().is_terminal()) {
        tell(hint);
    }
    let server = Server::new(
        world.access(),
        world.catalog(),
        world.config.output,
        world.config.zone.clone(),
    )
    .under(world.policy());
    match server.serve_stdio().await {
        Ok(told) => told.map_or(ExitCode::SUCCESS, Told::exit_code),
        Err(error) => complain(&format!("mcp-proxmox: {error}"), 1),
    }
}

/// What somebody needs to know who starts the server by hand, and sees it wait.
fn for_people(is_terminal: bool) -> Option<&'static str> {
    is_terminal.then_some(
        "It waits for a program that speaks MCP on standard input. For people: `mcp-proxmox call TOOL`, `mcp-proxmox --help`; Ctrl-C ends it.",
    )
}

/// What the user wrote for a setting: a flag wins over the environment, also where that has another setting that
/// says the same otherwise.
fn written(matches: Option<&ArgMatches>) -> impl Fn(&Setting) -> Option<String> {
    move |setting| {
        let flag = |setting: &Setting| matches?.get_one::<String>(setting.flag?);
        if let Some(written) = flag(setting) {
            return Some(written.clone());
        }
        let is_overruled = settings::rivals(setting).any(|rival| flag(rival).is_some());
        if is_overruled { None } else { variable(setting.variable) }
    }
}

/// The same without what the simulated cluster does not need, where that is used.
fn unless_of_the_demo(matches: Option<&ArgMatches>) -> impl Fn(&Setting) -> Option<String> {
    let source = written(matches);
    move |setting| {
        let is_needless = is_demo(matches) && setting.is_of_the_connection();
        if is_needless { None } else { source(setting) }
    }
}

fn is_demo(matches: Option<&ArgMatches>) -> bool {
    cfg!(feature = "demo") && matches.is_some_and(|matches| matches.get_flag("demo"))
}

/// Warns of variables that are nearly settings.
fn warn_of_names() {
    for warning in misspelt(names().iter().map(String::as_str)) {
        tell(&format!("mcp-proxmox: warning: {warning}"));
    }
}

/// What was read, unless one of these variables was to guard its writes and does not.
fn guarded(read: Result<Config, Mistakes>) -> Result<Config, Mistakes> {
    Config::guarded(read, names)
}

/// The names of all variables.
fn names() -> Vec<String> {
    std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()).collect()
}

/// Who names a server and asks for the simulated one gets the simulated one, and is told so.
fn warn_of_the_demo(matches: Option<&ArgMatches>) {
    let Some(matches) = matches.filter(|_| is_demo(matches)) else { return };
    let flags = settings::ALL.iter().filter(|setting| setting.is_of_the_connection());
    let flags = flags.filter_map(|setting| setting.flag);
    let needless: Vec<_> =
        flags.filter(|flag| matches.contains_id(flag)).map(|flag| format!("--{flag}")).collect();
    if !needless.is_empty() {
        tell(&format!(
            "mcp-proxmox: warning: {} has no effect: --demo uses the simulated cluster",
            needless.join(", ")
        ));
    }
}

/// A variable of the environment, which is read in this one place.
fn variable(name: &str) -> Option<String> {
    // What is no UTF-8 is told as a mistake where it is read, instead of counting as not set.
    std::env::var_os(name).map(|value| value.to_string_lossy().into_owned())
}

fn command() -> Command {
    let flags = settings::ALL.iter().filter_map(|setting| {
        let flag = setting.flag?;
        let help = format!("{} [env: {}]", setting.help, setting.variable);
        Some(
            Arg::new(flag)
                .long(flag)
                .value_name(setting.value)
                .aliases((flag == "access-tier").then_some("tier"))
                .help(help)
                .global(true)
                .help_heading(SETTINGS),
        )
    });
    let command = Command::new("mcp-proxmox")
        .version(env!("CARGO_PKG_VERSION"))
        .about("An MCP server for Proxmox VE: lets AI agents see and operate VMs, containers and nodes")
        .after_help(AFTER_HELP)
        .subcommand(Command::new("serve").about("Serve MCP on standard input and output (what is done without a command)"))
        .subcommand(Command::new("check").about("Look whether PVE can be reached, and whether it knows the token"))
        .subcommand(tools::command())
        .subcommand(call::command())
        .subcommand(config::command())
        .subcommand(completions::command())
        .args(flags);
    if cfg!(feature = "demo") {
        let demo = Arg::new("demo").long("demo").action(ArgAction::SetTrue).global(true);
        return command.arg(demo.help(
            "Use a simulated cluster inside the program; needs no Proxmox VE and no settings",
        ));
    }
    command
}

/// The settings are the same for all commands; their help would bury what is a command's own.
fn helpful(command: Command, arguments: &[OsString]) -> Command {
    let is_named = |name: &str| arguments.iter().skip(1).any(|argument| argument == name);
    if !command.get_subcommands().any(|command| is_named(command.get_name())) {
        return command;
    }
    command
        .mut_args(|argument| {
            let is_setting = argument.get_help_heading() == Some(SETTINGS);
            argument.hide(is_setting)
        })
        .mut_subcommands(|command| {
            let own = command.get_after_help().map(|own| format!("{own}\n\n")).unwrap_or_default();
            command.after_help(format!("{own}Settings: `mcp-proxmox --help` lists them."))
        })
}

/// The heading of the settings in the help.
const SETTINGS: &str = "Settings";

const AFTER_HELP: &str = "\
Examples:
  mcp-proxmox --demo call list_vms            see an answer without any Proxmox VE (each starts afresh)
  mcp-proxmox --demo call get_vm_status vm=101
  mcp-proxmox --host pve1.lan --token-id 'mcp@pve!monitor' --token-secret-file ~/.config/pve-token check

The secret is read from PVE_TOKEN_SECRET or from the file that --token-secret-file names; it has no flag.";

/// Speaks to people.
fn tell(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// Writes a result.
fn print(text: &str) -> io::Result<()> {
    let mut output = io::stdout();
    writeln!(output, "{text}").and_then(|()| output.flush()).or_else(unless_closed)
}

/// A reader that has seen enough, such as `head`, is no mistake.
fn unless_closed(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::BrokenPipe { Ok(()) } else { Err(error) }
}

fn unwritten(error: &io::Error) -> ExitCode {
    complain(&format!("mcp-proxmox: the result cannot be written to standard output: {error}"), 1)
}

fn complain(text: &str, code: u8) -> ExitCode {
    tell(text);
    ExitCode::from(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        command().debug_assert();
    }

    #[test]
    fn who_starts_the_server_in_a_terminal_is_told_what_it_waits_for() {
        assert!(for_people(true).is_some_and(|hint| hint.contains("mcp-proxmox call")));
        assert_eq!(for_people(false), None);
    }

    #[test]
    fn every_setting_but_the_secret_has_a_flag() {
        let without: Vec<_> = settings::ALL
            .iter()
            .filter(|setting| setting.flag.is_none())
            .map(|setting| setting.variable)
            .collect();
        assert_eq!(without, ["PVE_TOKEN_SECRET"]);
    }
}
