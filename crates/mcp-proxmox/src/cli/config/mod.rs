//! `mcp-proxmox config CLIENT`: what a client has to be told to start this server, printed or merged into its file.
//!
//! **Nothing of the file is lost**: it is changed in one place, copied before, and replaced at once; where that
//! cannot be done, nothing is written and the user gets the text to put in. **A secret is not written** unless
//! `--with-secret` asks for it: the client is told where to find it.

mod claude_code;
mod claude_desktop;
mod client;
mod codex;
mod container;
mod cursor;
mod difference;
mod found;
mod gemini;
mod jsonc;
mod opencode;
mod place;
mod secret;
mod server;
mod vscode;
mod windsurf;
mod writing;
mod zed;

use std::{
    fmt::Write as _,
    io,
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::{Arg, ArgAction, ArgMatches, Command, builder::PossibleValuesParser};

use self::{
    client::{Client, Existing, Merged, Secret},
    place::Places,
    secret::Origin,
    server::{Server, USUAL_NAME, Via},
    writing::{Original, Unreplaced},
};
use super::{
    complain, guarded, is_demo, print, tell, unless_of_the_demo, variable, warn_of_names,
    warn_of_the_demo, written,
};
use crate::config::{
    Config,
    settings::{self, Setting},
};

/// Every client, in the order of the help.
const CLIENTS: &[Client] = &[
    claude_code::CLIENT,
    claude_desktop::CLIENT,
    cursor::CLIENT,
    vscode::CLIENT,
    opencode::CLIENT,
    codex::CLIENT,
    gemini::CLIENT,
    zed::CLIENT,
    windsurf::CLIENT,
];

pub(super) fn command() -> Command {
    let flag = |name: &'static str, help: &'static str| {
        Arg::new(name).long(name).action(ArgAction::SetTrue).help(help)
    };
    let clients = PossibleValuesParser::new(CLIENTS.iter().map(|client| client.name));
    Command::new("config")
        .about("Print what a client has to be told, or merge it into the client's file")
        .arg(Arg::new("client").required(true).value_name("CLIENT").value_parser(clients).help("The client"))
        .arg(
            Arg::new("via")
                .long("via")
                .value_name("WAY")
                .value_parser(PossibleValuesParser::new(["binary", "npx", "docker"]))
                .help("What the client is to start: this program, npm's runner or the container image [default: as this was started]"),
        )
        .arg(
            Arg::new("name")
                .long("name")
                .value_name("NAME")
                .default_value(USUAL_NAME)
                .value_parser(server_name)
                .help("What the client is to call the server"),
        )
        .arg(flag("write", "Merge it into the client's file; a copy of the old file is kept"))
        .arg(Arg::new("file").long("file").value_name("FILE").help("Another file than the client's usual one"))
        .arg(flag("replace", "Replace another server of the same name"))
        .arg(flag("with-secret", "Write the token's secret itself, readable for whoever reads the file; one that PVE_TOKEN_SECRET_FILE names stays there"))
        .after_help("Settings are taken from the environment and from flags, as for every other command.")
}

fn server_name(text: &str) -> Result<String, String> {
    let fits = |letter: u8| letter.is_ascii_alphanumeric() || b"-_".contains(&letter);
    let is_name = (1..=32).contains(&text.len()) && text.bytes().all(fits);
    is_name
        .then(|| text.to_owned())
        .ok_or_else(|| "write up to 32 letters, digits, - or _".to_owned())
}

pub(super) fn run(matches: Option<&ArgMatches>, options: &ArgMatches) -> io::Result<ExitCode> {
    let text = |name: &str| options.get_one::<String>(name).cloned().unwrap_or_default();
    let Some(client) = CLIENTS.iter().find(|client| client.name == text("client")) else {
        return Ok(ExitCode::from(2));
    };
    let places = Places { variable: &variable };
    let is_written = options.get_flag("write");
    warn_of_names();
    warn_of_the_demo(matches);
    let mut notes = Vec::new();
    let server = match server(client, matches, options, &places, &mut notes) {
        Ok(server) => server,
        Err(complaint) => return Ok(complain(&complaint, 2)),
    };
    let named = options.get_one::<String>("file").map(PathBuf::from);
    let usual = (client.file)(&places);
    let next = client.next(&server, named.as_deref(), usual.as_deref());
    let file = named.or(usual);
    let snippet = match (client.merge)("", &server, Existing::Keep) {
        Ok(Merged::Changed(snippet)) => snippet,
        Ok(Merged::Same | Merged::Taken) => String::new(),
        Err(wrong) => return Ok(complain(&wrong, 1)),
    };
    if !is_written {
        print(snippet.trim_end())?;
        let place = file.map_or_else(
            || {
                "into its file, whose place is not known here: --file names it for --write"
                    .to_owned()
            },
            |file| {
                format!("into {}; {}", file.display(), what_writing_does(client, &file, &server))
            },
        );
        tell(&format!("\n{}: this goes {place}", client.title));
        tell_all(&notes);
        return Ok(ExitCode::SUCCESS);
    }
    let Some(file) = file else {
        let wrong = format!(
            "nobody knows where {} has its file here\n\nhint: --file names it",
            client.title
        );
        return Ok(complain(&wrong, 1));
    };
    let existing = if options.get_flag("replace") { Existing::Replace } else { Existing::Keep };
    match merge_into(client, &file, &server, existing) {
        Ok(Done { told, is_changed }) => {
            print(&if is_changed { format!("{told}\nnext: {next}") } else { told })?;
            tell_all(&notes);
            Ok(ExitCode::SUCCESS)
        }
        Err(unmerged) => Ok(complain(&unmerged.told(&file, snippet.trim_end()), 1)),
    }
}

/// What `--write` would do with this file, as it is now.
fn what_writing_does(client: &Client, file: &Path, server: &Server) -> String {
    let merged = Original::open(file).ok().map(|original| {
        let before = original.text.as_deref().unwrap_or_default();
        (client.merge)(before, server, Existing::Keep)
    });
    let name = &server.name;
    match merged {
        Some(Ok(Merged::Taken)) => format!(
            "it has another `{name}` already, which --write --replace replaces; --name NAME puts this beside it"
        ),
        Some(Ok(Merged::Same)) => "it has it already, exactly so".to_owned(),
        _ => "--write merges it there, and keeps what is in it".to_owned(),
    }
}

/// Above what is wrong with the settings that a client would be given.
const FIRST: &str = "a client could not start mcp-proxmox with this configuration:";

/// What became of a file.
struct Done {
    told: String,
    is_changed: bool,
}

/// Why a file was not changed.
struct Unmerged {
    why: String,
    /// What to do, with the text that follows where there is one.
    hint: &'static str,
    /// Whether the text to put in is of use.
    has_text: bool,
}

impl Unmerged {
    fn told(&self, file: &Path, snippet: &str) -> String {
        let Self { why, hint, has_text } = self;
        let text = if *has_text { format!(":\n\n{snippet}") } else { String::new() };
        format!("{} was not changed: {why}\n\nhint: {hint}{text}", file.display())
    }
}

impl From<String> for Unmerged {
    fn from(why: String) -> Self {
        Self { why, hint: "put this in yourself", has_text: true }
    }
}

impl From<Unreplaced> for Unmerged {
    fn from(unreplaced: Unreplaced) -> Self {
        match unreplaced {
            Unreplaced::Failed(error) => format!("it cannot be written: {error}").into(),
            Unreplaced::Meanwhile => Self {
                why: "it changed meanwhile; nothing was written".to_owned(),
                hint: "run it again",
                has_text: false,
            },
        }
    }
}

/// What the user should know.
fn tell_all(notes: &[String]) {
    for note in notes {
        tell(&format!("note: {note}"));
    }
}

fn merge_into(
    client: &Client,
    file: &Path,
    server: &Server,
    existing: Existing,
) -> Result<Done, Unmerged> {
    let shown = file.display();
    let original = Original::open(file)?;
    let before = original.text.as_deref().unwrap_or_default();
    let after = match (client.merge)(before, server, existing)? {
        Merged::Changed(after) => after,
        Merged::Same => {
            let mut done = format!("{shown} has it already, exactly so; nothing was written");
            if server.holds_secret() && original.is_open_to_others() {
                done += "\nit holds the token's secret, and others can read it: chmod 600 it";
            }
            return Ok(Done { told: done, is_changed: false });
        }
        Merged::Taken => {
            let differs = match (client.merge)(before, server, Existing::Replace) {
                Ok(Merged::Changed(after)) => difference::told(before, &after, &server.name),
                _ => Vec::new(),
            };
            let differs = differs.join("\n  ");
            return Err(Unmerged {
                why: format!(
                    "it has `{}` already, with another command or other settings. This would change:\n  {differs}",
                    server.name
                ),
                hint: "--replace writes this instead and keeps a copy, --name NAME puts it beside under another name",
                has_text: true,
            });
        }
    };
    if original.is_read_only() {
        return Err("it is read-only; where it may change, make it writable (`chmod u+w`)"
            .to_owned()
            .into());
    }
    let is_there = existing == Existing::Replace
        && matches!((client.merge)(before, server, Existing::Keep), Ok(Merged::Taken));
    let differs =
        if is_there { difference::told(before, &after, &server.name) } else { Vec::new() };
    let shared = server.secret_file().filter(|file| !is_there && names(before, file));
    let news = news(&original, file);
    let lost = difference::lost_guards(before, &after, server);
    let replaced = original.replace(&after, server.holds_secret())?;
    let mut done = format!("{shown} now has the server `{}`{news}", server.name);
    if let Some(copy) = replaced.copy {
        let _ = write!(done, "; the file as it was: {}", copy.display());
    }
    for line in &differs {
        let _ = write!(done, "\nchanged: {line}");
    }
    if !lost.is_empty() {
        let lost = lost.join(", ");
        let _ = write!(
            done,
            "\nwarning: it may write, and what guarded it is gone: {lost}. Set that and write the entry again, where it is to stay"
        );
    }
    let is_of_another = |line: &String| line.contains("PVE_HOST") || line.contains("PVE_TOKEN_ID");
    if client.secret == Secret::Asked && server.fills_in_secret && differs.iter().any(is_of_another)
    {
        let _ = write!(
            done,
            "\n{} gives it the secret that it keeps for the token of before, and does not ask again: clear that there first, or take another --name",
            client.title
        );
    }
    if let Some(file) = shared {
        let _ = write!(
            done,
            "\nanother server in it reads its secret from the same file, {file}: if it is of another cluster, name a file of its own with PVE_TOKEN_SECRET_FILE"
        );
    }
    if replaced.is_tightened {
        done += "\nothers could read it; since it holds the token's secret, only its owner can now, the copy too";
    }
    Ok(Done { told: done, is_changed: true })
}

/// What will be new about a file. A path that was mistyped is noticed by that.
fn news(original: &Original, file: &Path) -> &'static str {
    let is_missing = |folder: &Path| !folder.as_os_str().is_empty() && !folder.exists();
    match (&original.text, file.parent()) {
        (Some(_), _) => "",
        (None, Some(folder)) if is_missing(folder) => "; the file and its folder are new",
        (None, _) => "; the file is new",
    }
}

/// Whether a client's file names this path, as JSON and TOML write it.
fn names(text: &str, path: &str) -> bool {
    text.contains(serde_json::Value::from(path).to_string().trim_matches('"'))
}

/// The server with the user's settings, which are checked first: a mistake is told here and not by a client
/// that only says that the server went away.
fn server(
    client: &Client,
    matches: Option<&ArgMatches>,
    options: &ArgMatches,
    places: &Places<'_>,
    notes: &mut Vec<String>,
) -> Result<Server, String> {
    let text = |name: &str| options.get_one::<String>(name).cloned().unwrap_or_default();
    let via = match options.get_one::<String>("via") {
        Some(way) => way.parse()?,
        None => Via::of_this_run(),
    };
    let name = text("name");
    let is_written = options.get_flag("write");
    notes.extend(found::note(via, (places.variable)("PATH").as_deref()));
    if is_demo(matches) {
        let source = unless_of_the_demo(matches);
        let config = guarded(Config::read_without_access(&source))
            .map_err(|mistakes| mistakes.told(FIRST))?;
        for_container(via, &config, true, is_written, notes)?;
        let environment = settings::ALL
            .iter()
            .filter_map(|setting| Some((setting.variable, source(setting)?)))
            .filter(|(_, text)| !text.trim().is_empty());
        return Ok(Server::new(&name, via, true, environment.collect(), false));
    }
    let source = written(matches);
    let value = |setting: &Setting| {
        let text = source(setting).filter(|text| !text.trim().is_empty());
        // Shown but never written: what the user has to put in.
        text.or_else(|| example(setting).filter(|_| !is_written).map(ToOwned::to_owned))
    };
    for missing in [settings::HOST, settings::TOKEN_ID] {
        if source(&missing).is_none_or(|text| text.trim().is_empty()) && value(&missing).is_some() {
            notes.push(format!(
                "{} is not set: put in yours, or set it and ask again",
                missing.variable
            ));
        }
    }
    let is_secret_given = value(&settings::TOKEN_SECRET_FILE).is_some();
    let is_secret_written = options.get_flag("with-secret");
    let config = guarded(Config::read(&|setting| match setting.variable {
        name if name == settings::TOKEN_SECRET.variable
            && !is_secret_given
            && !is_secret_written =>
        {
            // It need not be known here.
            value(setting).or_else(|| Some("00000000-0000-0000-0000-000000000000".to_owned()))
        }
        // Empty is not the same as left out.
        name if name == settings::ALLOW_VMS.variable => source(setting),
        _ => value(setting),
    }))
    .map_err(|mistakes| mistakes.told(FIRST))?;
    for_container(via, &config, false, is_written, notes)?;
    let mut environment: Vec<(&'static str, String)> = settings::ALL
        .iter()
        .filter(|setting| setting.flag.is_some())
        .filter_map(|setting| Some((setting.variable, value(setting).or_else(|| always(setting))?)))
        .collect();
    let origin = match (is_secret_given, is_secret_written) {
        (true, _) => Origin::GivenFile { is_to_be_written: is_secret_written },
        (false, true) => Origin::Written(value(&settings::TOKEN_SECRET)),
        (false, false) => Origin::Client {
            set: source(&settings::TOKEN_SECRET).filter(|text| !text.trim().is_empty()),
        },
    };
    // Set and empty, it is meant to leave out what the client would hand on from its own environment.
    if is_secret_given && source(&settings::TOKEN_SECRET).is_some_and(|text| text.trim().is_empty())
    {
        environment.push((settings::TOKEN_SECRET.variable, String::new()));
    }
    let fills_in_secret = origin.put(client, &name, places, &mut environment, notes);
    Ok(Server::new(&name, via, false, environment, fills_in_secret))
}

/// Notes what matters in the container, where it is one, and makes what can only be handed in if it is there.
fn for_container(
    via: Via,
    config: &Config,
    is_demo: bool,
    is_written: bool,
    notes: &mut Vec<String>,
) -> Result<(), String> {
    if via != Via::Docker {
        return Ok(());
    }
    if is_written {
        config.begin_audit_log().map_err(|mistakes| mistakes.to_string())?;
    }
    notes.extend(container::notes(config, is_demo, is_written));
    Ok(())
}

/// What is written although it is the default: what an entry does not name, a client hands on from its own environment, and
/// that must not make a server write that was set up to read.
fn always(setting: &Setting) -> Option<String> {
    (setting.variable == settings::ACCESS_TIER.variable).then(|| "read".to_owned())
}

/// What stands for a setting that every configuration needs, where the user only wants to see one.
fn example(setting: &Setting) -> Option<&'static str> {
    match setting.variable {
        name if name == settings::HOST.variable => Some("pve.lan"),
        name if name == settings::TOKEN_ID.variable => Some("mcp@pve!monitor"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_was_overtaken_is_told_to_run_it_again_and_not_to_write_by_hand() {
        let told = Unmerged::from(Unreplaced::Meanwhile).told(Path::new("f"), "{ text }");
        assert_eq!(
            told,
            "f was not changed: it changed meanwhile; nothing was written\n\nhint: run it again"
        );
        let failed = Unreplaced::Failed(io::Error::other("no space"));
        let told = Unmerged::from(failed).told(Path::new("f"), "{ text }");
        assert!(told.ends_with("no space\n\nhint: put this in yourself:\n\n{ text }"), "{told}");
    }
}
