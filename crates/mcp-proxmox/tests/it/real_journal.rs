//! What a real journal of systemd held: messages of a kernel, services, entries of several lines and of no
//! UTF-8, two runs of the machine. Written by `journalctl -a -o short` and `-o json` of systemd 252, and
//! wrapped here as Proxmox VE wraps it. The short journal has kernel messages and several lines to an entry; the
//! long one is of a Debian 12 that booted twice: services that start and fail, strangers at the door of SSH, `sudo`,
//! bytes that are no UTF-8, a line that is cut.

use pve_sim::{Rule, Version};
use serde_json::{Value, json};

use crate::{
    get_system_log::{messages, with},
    support::{answer, rows},
};

const SHORT: &[u8] = include_bytes!("real_journal/short.txt");
const JSON: &str = include_str!("real_journal/json.txt");

const BOOTED_SHORT: &[u8] = include_bytes!("real_journal/booted-short.txt");
const BOOTED_JSON: &str = include_str!("real_journal/booted-json.txt");
const BOOTED_ISO: &[u8] = include_bytes!("real_journal/booted-short-iso.txt");

fn entries(json: &str) -> Vec<Value> {
    json.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A field that is a text, or bytes where it is none.
fn message(entry: &Value) -> String {
    match &entry["MESSAGE"] {
        Value::String(text) => text.clone(),
        bytes => {
            let bytes = bytes.as_array().unwrap().iter();
            let bytes: Vec<u8> =
                bytes.map(|b| u8::try_from(b.as_u64().unwrap()).unwrap()).collect();
            String::from_utf8_lossy(&bytes).into_owned()
        }
    }
}

/// Lines between the cursors of the first and the last entry. Bytes that are no UTF-8 stay as they are.
fn as_text(entries: &[Value], text: &[u8]) -> Vec<u8> {
    let cursor = |entry: Option<&Value>| entry.unwrap()["__CURSOR"].to_string().into_bytes();
    let mut lines: Vec<Vec<u8>> = Vec::new();
    for line in text.split(|b| *b == b'\n').filter(|line| !line.is_empty()) {
        match (line, lines.last_mut()) {
            // It goes on, behind blanks up to where its text begins.
            ([b' ', ..], Some(last)) => {
                last.extend(b"\\n  ");
                last.extend(line.trim_ascii());
            }
            ([b'-', b'-', ..], _) => lines.push(b"-- Reboot --".to_vec()),
            _ => {
                let escaped = line.iter().flat_map(|b| match b {
                    0x1b => b"\\u001B".to_vec(),
                    b'"' => b"\\\"".to_vec(),
                    b'\t' => b"\\t".to_vec(),
                    b'\\' => b"\\\\".to_vec(),
                    b => vec![*b],
                });
                lines.push(escaped.collect());
            }
        }
    }
    let quoted = lines.into_iter().map(|line| [b"\"".to_vec(), line, b"\"".to_vec()].concat());
    let rows = [cursor(entries.first())].into_iter().chain(quoted).chain([cursor(entries.last())]);
    let rows: Vec<Vec<u8>> = rows.collect();
    [b"{\"data\":[".to_vec(), rows.join(&b"\n,"[..]), b"\n],\"success\":1}".to_vec()].concat()
}

/// Objects, as newer versions write them.
fn as_objects(entries: &[Value]) -> Vec<u8> {
    let number = |value: &Value| value.as_str().and_then(|text| text.parse::<u64>().ok());
    let cursor = |entry: Option<&Value>| json!({ "ty": "cursor", "c": entry.unwrap()["__CURSOR"] });
    let mut rows = vec![cursor(entries.first()), json!({ "ty": "host", "h": "pve1" })];
    let mut boot = &entries[0]["_BOOT_ID"];
    for entry in entries {
        let time = number(&entry["__REALTIME_TIMESTAMP"]).unwrap();
        if entry["_BOOT_ID"] != *boot {
            boot = &entry["_BOOT_ID"];
            rows.push(json!({ "ty": "reboot", "t": time }));
        }
        let mut row = json!({ "t": time, "id": entry["SYSLOG_IDENTIFIER"], "msg": message(entry) });
        if let Some(pid) = number(&entry["_PID"]) {
            row["pid"] = json!(pid);
        }
        if let Some(priority) = number(&entry["PRIORITY"]).filter(|priority| *priority != 6) {
            row["p"] = json!(priority);
        }
        rows.push(row);
    }
    rows.push(cursor(entries.last()));
    json!({ "data": rows }).to_string().into_bytes()
}

#[tokio::test]
async fn what_a_real_journal_held_is_read_in_both_forms() {
    let entries = entries(JSON);
    assert_eq!(entries.len(), 13);
    let sim = with(&[]).await;
    let mut seen = Vec::new();
    for (version, query, body) in [
        (Version::v8_4(), "lastentries=51", as_text(&entries, SHORT)),
        (Version::v9_2(), "lastentries=51&structured=1", as_objects(&entries)),
    ] {
        sim.change(|cluster| cluster.version = version);
        sim.answer(Rule::get(&format!("/nodes/pve1/journal?{query}")).body(body));
        let log = answer(&sim, "get_system_log", json!({ "node": "pve1" })).await;
        assert_eq!(log["shown"], 14, "the entries and the restart");
        let shown = messages(&log);
        assert_eq!(shown[0], "[Firmware Bug]: TSC doesn't count with P0 frequency!");
        assert_eq!(shown[8], "-- the node started again --");
        assert_eq!(shown[11], "eid=42 class=statechange⏎ pool='rpool' vdev_state=DEGRADED");
        assert_eq!(shown[12], "red \u{fffd} bad");
        let lines = rows(&log["lines"]);
        assert_eq!(lines[0]["from"], "kernel");
        assert_eq!(lines[6]["from"], "pvestatd[224]");
        assert_eq!(lines[8]["time"], lines[9]["time"], "it started with its first entry");
        assert!(lines[6]["severity"].as_str().unwrap().ends_with("error"));
        let said = |row: &Value| ["time", "from", "message"].map(|name| row[name].clone());
        seen.push(lines.iter().map(said).collect::<Vec<_>>());
        // Every entry has the time that the journal gives it, to the second.
        let times =
            lines.iter().filter(|row| !row["from"].is_null()).map(|row| row["time"].clone());
        let wanted = entries.iter().map(|entry| {
            let micros: i64 = entry["__REALTIME_TIMESTAMP"].as_str().unwrap().parse().unwrap();
            let time = jiff::Timestamp::from_microsecond(micros).unwrap();
            json!(time.strftime("%Y-%m-%dT%H:%M:%S+00:00").to_string())
        });
        assert_eq!(times.collect::<Vec<_>>(), wanted.collect::<Vec<_>>());
    }
    assert_eq!(seen[0], seen[1], "both forms say the same");
}

/// So many entries of a journal, with the lines of its text form that belong to them.
fn chunks<'a>(entries: &'a [Value], text: &[u8]) -> Vec<(&'a [Value], Vec<u8>)> {
    let mut lines = text.split(|b| *b == b'\n').filter(|line| !line.is_empty()).peekable();
    let chunks = entries.chunks(150).map(|chunk| {
        let (mut n, mut of_chunk) = (0, Vec::new());
        while let Some(line) = lines.next_if(|line| n < chunk.len() || line.starts_with(b" ")) {
            n += usize::from(!line.starts_with(b"--") && !line.starts_with(b" "));
            of_chunk.push(line);
        }
        (chunk, of_chunk.join(&b'\n'))
    });
    chunks.collect()
}

/// Words alone: how blanks are shown is looked at elsewhere.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[tokio::test]
async fn what_a_machine_wrote_that_booted_twice_is_read_entry_by_entry_in_both_forms() {
    let entries = entries(BOOTED_JSON);
    assert_eq!(entries.len(), 429);
    let sim = with(&[]).await;
    let mut n_restarts = 0;
    for (chunk, text) in chunks(&entries, BOOTED_SHORT) {
        let n = chunk.len();
        // A restart is a line of the answer too.
        let limit =
            n + chunk.windows(2).filter(|two| two[0]["_BOOT_ID"] != two[1]["_BOOT_ID"]).count();
        for (version, query, body) in [
            (Version::v8_4(), format!("lastentries={}", limit + 1), as_text(chunk, &text)),
            (Version::v9_2(), format!("lastentries={}&structured=1", limit + 1), as_objects(chunk)),
        ] {
            let is_structured = query.ends_with("structured=1");
            sim.change(|cluster| cluster.version = version);
            sim.forget_rules();
            sim.answer(Rule::get(&format!("/nodes/pve1/journal?{query}")).body(body));
            let asked = json!({ "node": "pve1", "limit": limit });
            let log = answer(&sim, "get_system_log", asked).await;
            let rows = rows(&log["lines"]);
            let is_restart = |row: &&Value| row["message"] == "-- the node started again --";
            n_restarts += rows.iter().filter(is_restart).count();
            let told: Vec<&Value> = rows.iter().filter(|row| !is_restart(row)).collect();
            assert_eq!(told.len(), n);
            for (row, entry) in told.into_iter().zip(chunk) {
                let micros: i64 = entry["__REALTIME_TIMESTAMP"].as_str().unwrap().parse().unwrap();
                let time = jiff::Timestamp::from_microsecond(micros).unwrap();
                let time = time.strftime("%Y-%m-%dT%H:%M:%S+00:00").to_string();
                assert_eq!(row["time"], time, "{row} {entry}");
                let name = entry["SYSLOG_IDENTIFIER"].as_str().unwrap();
                let pid = entry["_PID"].as_str().unwrap();
                assert_eq!(row["from"], format!("{name}[{pid}]"), "{entry}");
                let (shown, written) = (words(row["message"].as_str().unwrap()), message(entry));
                if written.len() > 600 {
                    assert!(shown.ends_with(&format!("({} bytes)", written.len())), "{shown}");
                    assert!(written.starts_with(shown.split('…').next().unwrap()), "{shown}");
                } else {
                    assert_eq!(shown, words(&written), "{entry}");
                }
                if is_structured {
                    let number = entry["PRIORITY"].as_str().unwrap().parse::<usize>().unwrap();
                    let names =
                        ["emergency", "alert", "critical", "error", "warning", "notice", "info"];
                    assert_eq!(row["severity"], names[number], "{entry}");
                }
            }
        }
    }
    assert_eq!(n_restarts, 2, "one in each form");
}

#[tokio::test]
async fn lines_in_a_form_that_pve_does_not_write_are_shown_and_not_lost() {
    let entries = entries(BOOTED_JSON);
    let sim = with(&[]).await;
    sim.change(|cluster| cluster.version = Version::v8_4());
    let (chunk, text) = chunks(&entries, BOOTED_ISO).remove(0);
    let rule = Rule::get("/nodes/pve1/journal?lastentries=151");
    sim.answer(rule.body(as_text(chunk, &text)));
    let log = answer(&sim, "get_system_log", json!({ "node": "pve1", "limit": 150 })).await;
    let shown = messages(&log);
    assert_eq!(shown.len(), 150);
    for (shown, entry) in shown.iter().zip(chunk) {
        let written = words(&message(entry));
        let start: String = written.chars().take(60).collect();
        assert!(words(shown).contains(&start), "{shown}\n{entry}");
    }
}
