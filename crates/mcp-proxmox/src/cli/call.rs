//! `mcp-proxmox call TOOL …`: one call, for people and scripts, without an MCP client.

use std::{ffi::OsString, io, process::ExitCode};

use clap::{Arg, ArgAction, ArgMatches, Command};
use serde_json::{Map, Value};

use super::{World, complain, print, tell};
use crate::{
    answer::Answer,
    call::Call,
    catalog::{self, Catalog, NotOffered},
    person::Person,
    signals::told_to_end,
    tier::Level,
};

/// The exit code of a write that was sent and is not known to be done.
const UNKNOWN: u8 = 3;

const EXIT_CODES: &str = "Exit codes: 0 done, 1 failed, 2 wrong arguments or settings, 3 a write was sent and is not known to be \
                          done (still running, unknown; with wait_seconds=0 `sent` is 0), 129, 130 and 143 told to end by SIGHUP, SIGINT or SIGTERM";

pub(super) fn command() -> Command {
    Command::new("call")
        .about("Call one tool and print its answer")
        .after_help(EXIT_CODES)
        .arg(Arg::new("tool").required(true).value_name("TOOL").help("The tool's name; `mcp-proxmox tools` lists them"))
        .arg(
            Arg::new("arguments")
                .num_args(0..)
                .value_name("key=value|JSON")
                .help("Arguments: key=value as often as needed (a list is key=a,b or a repeated key, the bare key of a switch is true), a JSON object, or both"),
        )
        .arg(Arg::new("save").long("save").value_name("FILE").help("Where to write a picture"))
        .arg(Arg::new("yes").long("yes").action(ArgAction::SetTrue).help("Agree to what would be asked before a write"))
        .arg(Arg::new("dry-run").long("dry-run").action(ArgAction::SetTrue).help("Only check what a write would do: the same as dry_run"))
        .arg(Arg::new("json").long("json").action(ArgAction::SetTrue).help("Print the structured answer as JSON"))
}

pub(super) async fn run(world: &World, options: &ArgMatches) -> io::Result<ExitCode> {
    let Some(name) = options.get_one::<String>("tool") else {
        return Ok(ExitCode::from(2));
    };
    let words: Vec<&str> =
        options.get_many::<String>("arguments").into_iter().flatten().map(String::as_str).collect();
    let catalog = world.catalog();
    let mut call = Call::begin(world.config.zone.clone())
        .within(&world.limits())
        .under(world.policy())
        .from_client(Some("command line".to_owned()));
    let access = world.access();
    let offered = match catalog.find(name) {
        Ok(offered) => offered,
        Err(NotOffered::Withheld(failure)) => {
            let given = given(name, &words, options);
            let failure = catalog::refused(&access, &call, name, &given, failure).await;
            return Ok(complain(&failure.for_person().to_string(), 1));
        }
        Err(NotOffered::Unknown(near)) => {
            let near = near.map(|near| format!(": did you mean `{near}`?")).unwrap_or_default();
            return Ok(complain(
                &format!("there is no tool `{name}`{near}\n\nhint: `mcp-proxmox tools` lists them"),
                2,
            ));
        }
    };
    let mut arguments = match arguments(&words, offered.input_schema()) {
        Ok(arguments) => arguments,
        Err(complaint) => return Ok(complain(&complaint, 2)),
    };
    if options.get_flag("dry-run") {
        if !takes(offered.input_schema(), DRY_RUN) {
            return Ok(complain(&format!("`{name}` changes nothing, so there is no --dry-run"), 2));
        }
        arguments.insert(DRY_RUN.to_owned(), true.into());
    }
    if let Err(failure) = offered.checked(arguments.clone()) {
        return Ok(complain(&failure.for_person().to_string(), 2));
    }
    if options.contains_id("save") && offered.output_schema().is_some() {
        let wrong = format!("`{name}` answers with no picture that --save could write");
        return Ok(complain(&wrong, 2));
    }
    let person = if options.get_flag("yes") {
        Person::who_agreed()
    } else {
        Person::who_cannot_be_asked("`--yes` was not given".to_owned())
    };
    call = call.with_person(person);
    let is_waited_for = arguments.get("wait_seconds").is_none_or(|seconds| !is_zero(seconds));
    let sent = call.sent.clone();
    let answer = tokio::select! {
        answer = offered.call(&access, &call, arguments) => answer,
        told = async {
            let told = told_to_end().await;
            sent.is_given_up("this program was told to end");
            told
        } => {
            tell(&match sent.told() {
                Some(what) => format!("interrupted: `{what}` was sent to PVE, may take effect, and was not waited for"),
                None => "interrupted; nothing was changed".to_owned(),
            });
            return Ok(told.exit_code());
        }
    };
    let code = match &answer {
        Ok(Answer::Structured(answer)) if offered.entry.level == Level::Write => {
            code_of(answer, is_waited_for)
        }
        _ => ExitCode::SUCCESS,
    };
    match answer {
        Ok(Answer::Structured(answer)) if options.get_flag("json") => {
            print(&Value::Object(answer).to_string())?;
        }
        Ok(answer) => {
            print(&aligned(&answer.text()))?;
            if let Answer::Picture(picture) = answer {
                return Ok(save(&picture.png, options));
            }
        }
        Err(failure) => {
            tell(&failure.for_person().to_string());
            return Ok(ExitCode::FAILURE);
        }
    }
    Ok(code)
}

/// The arguments of a tool that is not offered, for the record.
fn given(name: &str, words: &[&str], options: &ArgMatches) -> Map<String, Value> {
    let all = Catalog::new(catalog::ALL, Level::Write, |entry| entry.name == name);
    let read = all.tools().next().map(|tool| arguments(words, tool.input_schema()));
    let mut given = read.and_then(Result::ok).unwrap_or_default();
    if options.get_flag("dry-run") {
        given.insert(DRY_RUN.to_owned(), true.into());
    }
    given
}

/// The exit code of a write. Scripts must not take one for done that is not known to be.
fn code_of(answer: &Map<String, Value>, is_waited_for: bool) -> ExitCode {
    match answer.get("outcome").and_then(Value::as_str) {
        Some("done" | "already" | "sent" | "dry_run") => ExitCode::SUCCESS,
        // Nobody wanted to know.
        Some("requested") if !is_waited_for => ExitCode::SUCCESS,
        _ => ExitCode::from(UNKNOWN),
    }
}

/// As a word of the command line, or as a number.
fn is_zero(seconds: &Value) -> bool {
    seconds.as_u64() == Some(0) || seconds.as_str().and_then(|text| text.parse().ok()) == Some(0)
}

fn save(png: &[u8], options: &ArgMatches) -> ExitCode {
    let Some(file) = options.get_one::<String>("save") else {
        tell("hint: --save FILE writes the picture to a file");
        return ExitCode::SUCCESS;
    };
    match std::fs::write(file, png) {
        Ok(()) => {
            tell(&format!("the picture was written to `{file}`"));
            ExitCode::SUCCESS
        }
        Err(error) => complain(&format!("the picture cannot be written to `{file}`: {error}"), 1),
    }
}

/// The arguments of the tool with this schema.
fn arguments(words: &[&str], schema: &Map<String, Value>) -> Result<Map<String, Value>, String> {
    let is_switch = |name: &str| {
        let kind = schema.get("properties").and_then(|all| all.get(name)?.get("type"));
        kind.is_some_and(|kind| kind == "boolean")
    };
    let mut arguments = Map::new();
    for word in words {
        if word.trim_start().starts_with('{') {
            let object: Map<String, Value> = serde_json::from_str(word)
                .map_err(|error| format!("the arguments are not a JSON object: {error}"))?;
            for (key, value) in object {
                if arguments.insert(key.clone(), value).is_some() {
                    return Err(format!("`{key}` is given twice"));
                }
            }
            continue;
        }
        if is_switch(word) {
            arguments.insert((*word).to_owned(), true.into());
            continue;
        }
        let (key, value) = word
            .split_once('=')
            .ok_or_else(|| needs(word, schema).unwrap_or_else(|| instead_of(word, schema)))?;
        if is_switch(key) && value.is_empty() {
            return Err(format!("`{key}=` says neither yes nor no: write `{key}` or `{key}=no`"));
        }
        if is_switch(key) && matches!(value, "yes" | "no") {
            arguments.insert(key.to_owned(), (value == "yes").into());
            continue;
        }
        let value = if value.starts_with(['[', '{']) {
            serde_json::from_str(value)
                .map_err(|error| format!("the value of `{key}` is not JSON: {error}"))?
        } else {
            // The tool's schema says what the text is to be.
            Value::from(value)
        };
        match arguments.get_mut(key) {
            None => drop(arguments.insert(key.to_owned(), value)),
            Some(Value::Array(values)) => values.push(value),
            Some(first) => *first = vec![first.take(), value].into(),
        }
    }
    Ok(arguments)
}

/// What somebody may have meant by a word without `=`: the argument that the tool needs most.
fn instead_of(word: &str, schema: &Map<String, Value>) -> String {
    let of = |key: &str| schema.get(key).and_then(Value::as_array).into_iter().flatten();
    let required = of("required").find_map(Value::as_str);
    let known = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    let names: Vec<_> = known.map(|(name, _)| format!("`{name}`")).collect();
    let instead = match required {
        Some(name) => format!("write `{name}={word}`"),
        None if names.is_empty() => "this tool takes none".to_owned(),
        None => format!("write key=value; this tool takes {}", names.join(", ")),
    };
    format!("`{word}` is not an argument: {instead}")
}

/// What an argument needs that was written without a value, which says enough for switches alone.
fn needs(word: &str, schema: &Map<String, Value>) -> Option<String> {
    let wanted = schema.get("properties")?.get(word)?;
    let bound = |name: &str| wanted.get(name).and_then(Value::as_i64);
    let (kind, example) = match wanted.get("type").and_then(Value::as_str) {
        Some("integer" | "number") => {
            let example = 10.min(bound("maximum").unwrap_or(10)).max(bound("minimum").unwrap_or(0));
            ("number", example.to_string())
        }
        Some("array") => ("list", "…,…".to_owned()),
        _ => {
            let first = wanted.get("enum").and_then(|words| words.get(0)?.as_str());
            ("value", first.unwrap_or("…").to_owned())
        }
    };
    Some(format!("`{word}` needs a {kind}: write `{word}={example}`"))
}

/// Whether a tool has this argument.
fn takes(schema: &Map<String, Value>, name: &str) -> bool {
    schema.get("properties").is_some_and(|all| all.get(name).is_some())
}

/// How to write what somebody wrote as a flag of `call`, where its tool has an argument of that name.
pub(super) fn instead_of_flag(flag: &str, words: &[OsString]) -> Option<String> {
    let flag = flag.trim_start_matches('-');
    let (name, value) = flag.split_once('=').unwrap_or((flag, "…"));
    let name = name.replace('-', "_");
    let tool = catalog::ALL.iter().find(|entry| words.iter().any(|word| word == entry.name))?;
    let everything = Catalog::new(catalog::ALL, tool.level, |entry| entry.name == tool.name);
    let is_there = takes(everything.tools().next()?.input_schema(), &name);
    is_there.then(|| format!("arguments of tools are written without hyphens: `{name}={value}`"))
}

/// The argument of every write that is only to be checked.
const DRY_RUN: &str = "dry_run";

/// Tab-separated rows as columns.
fn aligned(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut table: Vec<Vec<&str>> = Vec::new();
    for line in text.lines() {
        if line.contains('\t') {
            table.push(line.split('\t').collect());
            continue;
        }
        lines.extend(columns(&std::mem::take(&mut table)));
        lines.push(line.to_owned());
    }
    lines.extend(columns(&table));
    lines.join("\n")
}

fn columns(table: &[Vec<&str>]) -> Vec<String> {
    let n_columns = table.iter().map(Vec::len).max().unwrap_or_default();
    let width = |column: usize| {
        table.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max()
    };
    let widths: Vec<usize> =
        (0..n_columns).map(|column| width(column).unwrap_or_default()).collect();
    // What would not fit into a line follows below it, under its name.
    let mut wide = 0;
    let is_beside = |width: &&usize| {
        wide += **width + 2;
        wide <= WIDEST
    };
    let n_beside = widths.iter().take_while(is_beside).count().max(1);
    let beside = |row: &[&str]| {
        let cells = row.iter().zip(&widths).take(n_beside);
        let cells = cells.map(|(cell, width)| format!("{cell:<width$}"));
        format!("  {}", cells.collect::<Vec<_>>().join("  ")).trim_end().to_owned()
    };
    let Some((header, rows)) = table.split_first() else { return Vec::new() };
    let names = header.get(n_beside..).unwrap_or_default();
    let named = names.iter().map(|name| name.chars().count()).max().unwrap_or_default();
    let mut lines = vec![beside(header)];
    for row in rows {
        lines.push(beside(row));
        let below = row.iter().skip(n_beside).zip(names).filter(|(cell, _)| !cell.is_empty());
        lines.extend(below.map(|(cell, name)| format!("      {name:<named$}  {cell}")));
    }
    lines
}

/// The most characters of a row that stand in one line.
const WIDEST: usize = 160;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn arguments_are_words_or_one_object() {
        let wanted = json!({ "vm": "101", "node": ["pve1", "pve2"], "columns": ["a"] });
        let words = ["vm=101", "node=pve1", "node=pve2", "columns=[\"a\"]"];
        let none = Map::new();
        assert_eq!(Value::Object(arguments(&words, &none).unwrap()), wanted);
        let schema = json!({ "properties": { "vm": {} } });
        for (word, expected) in
            [("vm", "`vm` needs a value: write `vm=…`"), ("x", "key=value; this tool takes `vm`")]
        {
            let told = arguments(&[word], schema.as_object().unwrap()).unwrap_err();
            assert!(told.contains(expected), "{told}");
        }
        assert!(arguments(&["vm"], &none).unwrap_err().contains("takes none"));
    }

    #[test]
    fn an_argument_without_a_value_is_told_which_kind_it_needs() {
        let schema = json!({ "properties": {
            "watch_console": { "type": "integer", "maximum": 40 },
            "serial": { "type": "integer", "maximum": 3 },
            "max_width": { "type": "integer", "minimum": 64 },
            "sort": { "type": "string", "enum": ["cpu", "name"] },
            "node": { "type": "string" },
            "nodes": { "type": "array" },
        } });
        for (word, expected) in [
            ("watch_console", "`watch_console` needs a number: write `watch_console=10`"),
            ("serial", "`serial` needs a number: write `serial=3`"),
            ("max_width", "`max_width` needs a number: write `max_width=64`"),
            ("sort", "`sort` needs a value: write `sort=cpu`"),
            ("node", "`node` needs a value: write `node=…`"),
            ("nodes", "`nodes` needs a list: write `nodes=…,…`"),
        ] {
            assert_eq!(arguments(&[word], schema.as_object().unwrap()).unwrap_err(), expected);
        }
    }

    #[test]
    fn an_object_and_single_arguments_are_taken_together() {
        let none = Map::new();
        let both = arguments(&[r#"{"vm": 101}"#, "sort=cpu"], &none).unwrap();
        assert_eq!(Value::Object(both), json!({ "vm": 101, "sort": "cpu" }));
        let twice = arguments(&["vm=1", r#"{"vm": 101}"#], &none).unwrap_err();
        assert!(twice.contains("given twice"), "{twice}");
    }

    #[test]
    fn a_switch_is_turned_by_yes_and_no_and_by_its_name() {
        let schema = json!({ "properties": { "exact": { "type": "boolean" }, "name": { "type": "string" } } });
        let schema = schema.as_object().unwrap();
        for (word, wanted) in [
            ("exact", json!({ "exact": true })),
            ("exact=yes", json!({ "exact": true })),
            ("exact=no", json!({ "exact": false })),
            ("name=no", json!({ "name": "no" })),
        ] {
            assert_eq!(Value::Object(arguments(&[word], schema).unwrap()), wanted, "{word}");
        }
        assert!(arguments(&["name"], schema).is_err());
        let neither = arguments(&["exact="], schema).unwrap_err();
        assert!(neither.contains("neither yes nor no"), "{neither}");
    }

    #[test]
    fn what_would_make_a_line_too_long_stands_below_it_under_its_name() {
        let long = "x".repeat(WIDEST - 20);
        let text =
            format!("severity\tfinding\tevidence\tnext\nnotice\t{long}\te\tn\nwarning\tb\t\tn");
        let expected = format!(
            "  severity  finding\n  notice    {long}\n      evidence  e\n      next      n\n  warning   b\n      next      n"
        );
        assert_eq!(aligned(&text), expected);
        // One column alone has no other place.
        let all = "y".repeat(WIDEST + 1);
        assert_eq!(aligned(&format!("a\tb\n{all}\tc")), format!("  a\n  {all}\n      b  c"));
    }

    #[test]
    fn tables_are_aligned_for_people() {
        assert_eq!(aligned("n: 1\na\tbb\n100\tc\nend"), "n: 1\n  a    bb\n  100  c\nend");
    }
}
