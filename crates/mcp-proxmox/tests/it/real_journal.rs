//! What a real journal of systemd held: messages of a kernel, services, entries of several lines and of no
//! UTF-8, two runs of the machine. Written by `journalctl -a -o short` and `-o json` of systemd 252, and
//! wrapped here as Proxmox VE wraps it.

use pve_sim::{Rule, Version};
use serde_json::{Value, json};

use crate::{
    get_system_log::{messages, with},
    support::{answer, rows},
};

const SHORT: &[u8] = include_bytes!("real_journal/short.txt");
const JSON: &str = include_str!("real_journal/json.txt");

fn entries() -> Vec<Value> {
    JSON.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
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
fn as_text(entries: &[Value]) -> Vec<u8> {
    let cursor = |entry: Option<&Value>| entry.unwrap()["__CURSOR"].to_string().into_bytes();
    let mut lines: Vec<Vec<u8>> = Vec::new();
    for line in SHORT.split(|b| *b == b'\n').filter(|line| !line.is_empty()) {
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
    let entries = entries();
    assert_eq!(entries.len(), 13);
    let sim = with(&[]).await;
    let mut seen = Vec::new();
    for (version, query, body) in [
        (Version::v8_4(), "lastentries=51", as_text(&entries)),
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
