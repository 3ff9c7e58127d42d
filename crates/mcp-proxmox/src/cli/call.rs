//! `mcp-proxmox call TOOL …`: one call, for people and scripts, without an MCP client.

use std::{io, process::ExitCode};

use clap::{Arg, ArgAction, ArgMatches, Command};
use serde_json::{Map, Value};

use super::{World, complain, print, tell};
use crate::{answer::Answer, call::Call, catalog::NotOffered, person::Person};

pub(super) fn command() -> Command {
    Command::new("call")
        .about("Call one tool and print its answer")
        .arg(Arg::new("tool").required(true).value_name("TOOL").help("The tool's name; `mcp-proxmox tools` lists them"))
        .arg(
            Arg::new("arguments")
                .num_args(0..)
                .value_name("key=value|JSON")
                .help("Arguments: key=value as often as needed (a repeated key makes a list), or one JSON object"),
        )
        .arg(Arg::new("save").long("save").value_name("FILE").help("Where to write a picture"))
        .arg(Arg::new("yes").long("yes").action(ArgAction::SetTrue).help("Agree to what would be asked before a write"))
        .arg(Arg::new("json").long("json").action(ArgAction::SetTrue).help("Print the structured answer as JSON"))
}

pub(super) async fn run(world: &World, options: &ArgMatches) -> io::Result<ExitCode> {
    let Some(name) = options.get_one::<String>("tool") else {
        return Ok(ExitCode::from(2));
    };
    let words: Vec<&str> =
        options.get_many::<String>("arguments").into_iter().flatten().map(String::as_str).collect();
    let arguments = match arguments(&words) {
        Ok(arguments) => arguments,
        Err(complaint) => return Ok(complain(&complaint, 2)),
    };
    let catalog = world.catalog();
    let offered = match catalog.find(name) {
        Ok(offered) => offered,
        Err(NotOffered::Withheld(failure)) => return Ok(complain(&failure.to_string(), 1)),
        Err(NotOffered::Unknown(near)) => {
            let near = near.map(|near| format!(": did you mean `{near}`?")).unwrap_or_default();
            return Ok(complain(
                &format!("there is no tool `{name}`{near}\n\nhint: `mcp-proxmox tools` lists them"),
                2,
            ));
        }
    };
    let mut call = Call::begin(world.config.zone.clone())
        .within(&world.limits())
        .under(world.policy())
        .from_client(Some("command line".to_owned()));
    if options.get_flag("yes") {
        call = call.with_person(Person::who_agreed());
    }
    match offered.call(&world.access(), &call, arguments).await {
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
            tell(&failure.to_string());
            return Ok(ExitCode::FAILURE);
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn save(png: &[u8], options: &ArgMatches) -> ExitCode {
    let Some(file) = options.get_one::<String>("save") else {
        tell("hint: --save FILE writes the picture to a file");
        return ExitCode::SUCCESS;
    };
    match std::fs::write(file, png) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => complain(&format!("the picture cannot be written to `{file}`: {error}"), 1),
    }
}

fn arguments(words: &[&str]) -> Result<Map<String, Value>, String> {
    if let [only] = words
        && only.trim_start().starts_with('{')
    {
        let object = serde_json::from_str(only);
        return object.map_err(|error| format!("the arguments are not a JSON object: {error}"));
    }
    let mut arguments = Map::new();
    for word in words {
        let (key, value) = word
            .split_once('=')
            .ok_or_else(|| format!("`{word}` is not an argument: write key=value"))?;
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
    let line = |row: &Vec<&str>| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        format!("  {}", cells.collect::<Vec<_>>().join("  ")).trim_end().to_owned()
    };
    table.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn arguments_are_words_or_one_object() {
        let wanted = json!({ "vm": "101", "node": ["pve1", "pve2"], "columns": ["a"] });
        let words = ["vm=101", "node=pve1", "node=pve2", "columns=[\"a\"]"];
        assert_eq!(Value::Object(arguments(&words).unwrap()), wanted);
        assert_eq!(Value::Object(arguments(&[r#"{"vm": 101}"#]).unwrap()), json!({ "vm": 101 }));
        assert!(arguments(&["vm"]).unwrap_err().contains("key=value"));
    }

    #[test]
    fn tables_are_aligned_for_people() {
        assert_eq!(aligned("n: 1\na\tbb\n100\tc\nend"), "n: 1\n  a    bb\n  100  c\nend");
    }
}
