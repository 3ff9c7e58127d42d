//! What is fuzzed: for each target a function that takes any bytes, and checks what must hold for all of them.
//!
//! The same functions are in the fuzzing targets of this folder and in a test of `mcp-proxmox`, which tries the seeds.
//! **Invariant:** a target goes in where bytes of others go in, and looks only at what comes out.

use std::collections::HashMap;

use mcp_proxmox::{
    answer::{clean, log_text},
    call::Call,
    catalog::{self, Catalog},
    config::{Config, GuestSet, Output},
    console::{
        listen::Heard,
        text::{Text, Wanted},
    },
    failure::Failure,
    lookup::guest::Found,
    server::Server,
    tier::{Access, Level},
    when,
};
use pve_client::{
    Error, GuestRef, Host, Kind, Reader, Secret, Settings, Token, Upid, fuzzing, guest,
    ip_statistics, task_log,
};
use serde_json::Value;

/// What takes any bytes.
pub type Target = fn(&[u8]);

/// The targets, by name.
pub const TARGETS: &[(&str, Target)] = &[
    ("answers", answers),
    ("config", config),
    ("frames", frames),
    ("guest_set", guest_set),
    ("http", http),
    ("journal", journal),
    ("log_line", log_line),
    ("refusal", refusal),
    ("report", report),
    ("rfb", rfb),
    ("rpc", rpc),
    ("task_log", task_logs),
    ("terminal", terminal),
    ("times", times),
    ("upid", upid),
];

/// The body of an answer, read by every endpoint.
pub fn answers(body: &[u8]) {
    assert!(fuzzing::answers(body).is_some());
}

/// A whole answer, status line and headers included, and what is told of it.
pub fn http(answer: &[u8]) {
    if let Some(Err(error)) = fuzzing::http(answer) {
        for told in told(&error) {
            assert!(!told.contains(fuzzing::SECRET), "{told}");
        }
    }
}

/// A refusal: two bytes of its status, its reason, a zero, its body.
pub fn refusal(input: &[u8]) {
    let [high, low, rest @ ..] = input else { return };
    let status = 400 + u16::from_be_bytes([*high, *low]) % 200;
    let mut parts = rest.splitn(2, |byte| *byte == 0);
    let reason = String::from_utf8_lossy(parts.next().unwrap_or_default()).into_owned();
    let refusal = fuzzing::refusal(status, &reason, parts.next().unwrap_or_default());
    told(&Error::from(refusal));
}

/// All that anybody is told of an error: a person or a model first, then the log.
fn told(error: &Error) -> [String; 5] {
    let shown = [
        Failure::from_pve("look", error).to_string(),
        Failure::of_part("look", error).to_string(),
        Failure::reason(error),
    ];
    for told in &shown {
        assert!(told.chars().count() < 2000, "{} characters", told.chars().count());
        visible(&told.replace('\n', " "));
    }
    let [whole, part, reason] = shown;
    [whole, part, reason, error.to_string(), format!("{error:?}")]
}

/// Nothing that a terminal or a reader takes for something else than text.
fn visible(text: &str) {
    let is_harmful = |c: char| {
        c.is_control()
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
    };
    assert!(!text.contains(is_harmful), "{text:?}");
}

/// The identifier of a task, and the paths that are made of it.
pub fn upid(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let Ok(upid) = text.parse::<Upid>() else { return };
    let written = upid.to_string();
    assert_eq!(written.parse::<Upid>().as_ref(), Ok(&upid), "{written}");
    let status = task_log::status(&upid);
    let path = status.path();
    assert_eq!(path.matches('/').count(), 5, "{path}");
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"/%-._~!:@+".contains(&b);
    assert!(path.bytes().all(is_plain) && !path.contains("%2F"), "{path}");
}

/// A node's report, in which the counters of its interfaces are.
pub fn report(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let section = ip_statistics::section(&text);
    assert!(section.is_none_or(|section| section.len() <= text.len()));
    for text in [section.unwrap_or_default(), &text] {
        let links = ip_statistics::links(text);
        assert!(links.len() <= text.lines().count(), "{links:?}");
    }
}

/// A journal's answer, and its lines as they are shown.
pub fn journal(body: &[u8]) {
    for line in fuzzing::journal(body) {
        shown(&line);
    }
}

/// The answer with a task's log, and its lines as they are shown.
pub fn task_logs(body: &[u8]) {
    for line in fuzzing::task_log(body) {
        shown(&line);
    }
}

/// A line of a log.
pub fn log_line(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    shown(&text);
    for (cleaned, most) in [
        (clean::label(&text), 80),
        (clean::sentence(&text), 400),
        (clean::paragraph(&text), 900),
        (clean::screen_line(&text), 400),
    ] {
        visible(&cleaned);
        assert!(cleaned.chars().count() <= most + 1, "{} characters", cleaned.chars().count());
    }
}

fn shown(line: &str) {
    let told = log_text::line(line, line.len());
    visible(&told);
    // The mark of a cut line names its length.
    assert!(told.chars().count() < log_text::WIDTH + 40, "{told:?}");
    visible(&log_text::searchable(line));
    visible(&log_text::brief(line));
}

/// What a guest writes to its terminal, in two parts of any cut.
pub fn terminal(input: &[u8]) {
    let Some((cut, bytes)) = input.split_first() else { return };
    let (first, second) = bytes.split_at(bytes.len() * usize::from(*cut) / 256);
    let mut heard = Heard::begin();
    for part in [first, second] {
        heard.take(Ok(Some(part)));
    }
    heard.take(Ok(None::<&[u8]>));
    let (Ok(node), Ok(vmid)) = ("pve1".parse(), "100".parse()) else { return };
    let guest = GuestRef { node, kind: Kind::Qemu, vmid };
    let found = Found { guest, listed: guest::Listed::default(), note: None };
    let wanted = Wanted { serial: None, pattern: None, lines: 100, more: "" };
    let (text, notes) = Text::of(&found, &guest::Current::default(), &heard, wanted);
    assert!(text.screen.len() + text.earlier.len() <= 100);
    for line in text.screen.iter().chain(&text.earlier).chain(&notes) {
        visible(line);
        assert!(line.chars().count() <= 500, "{line:?}");
    }
    visible(&text.console);
}

/// The frames of a WebSocket.
pub fn frames(input: &[u8]) {
    let within = fuzzing::frames(input).unwrap_or_default();
    assert!(within <= input.len(), "{within} bytes of {}", input.len());
}

/// What the server of a screen says.
pub fn rfb(input: &[u8]) {
    if let Some((width, height, bytes)) = fuzzing::screen(input) {
        assert_eq!(width as usize * height as usize * 3, bytes);
    }
}

/// Lines on standard input. No tool is offered, so that nothing is asked of anybody.
pub fn rpc(input: &[u8]) {
    let Ok(token) = Token::new("a@pve", "t", Secret::new(fuzzing::SECRET.to_owned())) else {
        return;
    };
    let reader = Reader::new(Settings::new(Host::new("127.0.0.1", 1), token));
    let catalog = Catalog::new(catalog::ALL, Level::Read, |_| false);
    let server = Server::new(
        Access::new(Level::Read, reader),
        catalog,
        Output::Both,
        jiff::tz::TimeZone::UTC,
    );
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let Ok(runtime) = runtime else { return };
    let input = input.to_vec();
    let written = runtime.block_on(async {
        let (output, mut written) = tokio::io::duplex(1 << 16);
        let reading = async {
            let mut all = Vec::new();
            // It ends with the server, or with what cannot be read, which shows in the lines.
            let _ = tokio::io::AsyncReadExt::read_to_end(&mut written, &mut all).await;
            all
        };
        let (_, all) = tokio::join!(server.serve(std::io::Cursor::new(input), output), reading);
        all
    });
    for line in written.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let message: Value = serde_json::from_slice(line).unwrap_or_default();
        assert_eq!(message["jsonrpc"], "2.0", "{}", String::from_utf8_lossy(line));
    }
    assert!(!String::from_utf8_lossy(&written).contains(fuzzing::SECRET));
}

/// Settings, a line each, as `NAME=value`. Those that name files are left out: they would be read and made.
pub fn config(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let settings: HashMap<&str, &str> =
        text.lines().filter_map(|line| line.split_once('=')).collect();
    let source = |setting: &mcp_proxmox::config::settings::Setting| match setting.variable {
        "PVE_TOKEN_SECRET" => Some(fuzzing::SECRET.to_owned()),
        "PVE_TOKEN_SECRET_FILE" | "PVE_TLS_CA_FILE" | "PVE_AUDIT_LOG" => None,
        name => settings.get(name).map(|value| (*value).to_owned()),
    };
    for read in [Config::read(&source), Config::read_without_access(&source)] {
        let told = match read {
            Ok(config) => config.summary(),
            Err(mistakes) => mistakes.to_string(),
        };
        assert!(!told.contains(fuzzing::SECRET), "{told}");
    }
}

/// The guests that an administrator allows.
pub fn guest_set(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let Ok(set) = text.parse::<GuestSet>() else { return };
    let written = set.to_string();
    let again = written.parse::<GuestSet>().map(|again| again.to_string());
    assert_eq!(again.as_ref(), Ok(&written), "{text:?}");
}

/// Two times as callers write them, with a line break between.
pub fn times(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let (since, until) = text.split_once('\n').unwrap_or((text, text));
    let call = Call::begin(jiff::tz::TimeZone::UTC);
    match when::range(&call, Some(since), Some(until)) {
        Ok((since, until)) => assert!(since < until && since >= Some(0), "{since:?} {until:?}"),
        Err(failure) => visible(&failure.to_string().replace('\n', " ")),
    }
}
