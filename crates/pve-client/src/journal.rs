//! A node's journal, always asked for from its end: so many entries before now, a time or a cursor.
//!
//! **Invariant:** every request has a limit. Without one Proxmox VE sends the whole journal, and with a
//! beginning instead of a limit it sends the oldest entries first (read in its sources).
//!
//! There are two forms. Text is known to every version: strings, the first and the last of which are
//! cursors (recorded from PVE 9.2.11). Objects with the priority, and filters by priority and unit, came
//! in June 2026 (read): an older version refuses the parameters with 400, and a new one whose reader of
//! the journal is older answers nothing at all.

use std::{fmt, str::FromStr};

use crate::{
    Get, NodeName, UnreadableWhy,
    envelope::{Many, Parsed},
    form::Form,
    ids::segment,
    log_text::LogText,
    perl::{self, FromPerl},
};

/// The largest answer that is read, in bytes after decompression.
const LIMIT: usize = 16 << 20;

/// A place in a journal: `s=…;i=1a0b;b=…;m=…;t=661787e2d47b7;x=…`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor(String);

/// Not a cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is no cursor of a journal")]
pub struct InvalidCursor;

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ask {
    /// At most so many entries: the last ones before the end. 0 is sent as 1.
    pub last: u32,
    /// Where they end.
    pub end: End,
    /// Which entries count. Only in the form of objects.
    pub filter: Filter,
}

/// Where the entries end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// At the newest.
    Now,
    /// Before this time, in seconds since 1970.
    Until(i64),
    /// Before this entry.
    Before(Cursor),
}

/// What Proxmox VE filters by itself from 9.2 on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Only entries at least this severe, from 0 (emergency) to 7 (debug).
    pub priority: Option<u8>,
    /// Only entries of this systemd unit.
    pub unit: Option<String>,
    /// Only entries of the kernel.
    pub kernel: bool,
}

/// Entries of a journal, the oldest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Journal {
    /// The place of the oldest of them.
    pub first: Option<Cursor>,
    /// The place where the reader stopped: the newest of them, or the entry after it where an end was
    /// given that lies before the newest of all.
    pub last: Option<Cursor>,
    /// The entries.
    pub entries: Vec<Entry>,
}

/// An entry, or what stands between entries.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    /// `Nov 30 06:26:41 pve1 pvestatd[224]: text`, in the node's own time zone and without a year.
    Line(LogText),
    /// An entry as an object.
    Record(Record),
    /// The machine started again here; when its first entry was written, in microseconds since 1970,
    /// where that is told.
    Reboot(Option<i64>),
}

/// An entry as an object.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    /// When, in microseconds since 1970.
    pub time: Option<i64>,
    /// Who, `pvestatd`.
    pub identifier: Option<String>,
    /// The process.
    pub pid: Option<u64>,
    /// How severe, from 0 (emergency) to 7 (debug).
    pub priority: u8,
    /// What.
    pub message: LogText,
}

/// Entries as text, whatever the filter says. Needs `Sys.Syslog` on the node.
pub fn text(node: &NodeName, ask: &Ask) -> Get<Journal> {
    get(node, ask.form())
}

/// Entries as objects that fit the filter; see the module for versions that cannot. Needs `Sys.Syslog`
/// on the node.
pub fn structured(node: &NodeName, ask: &Ask) -> Get<Journal> {
    let mut form = ask.form().flag("structured", true);
    if let Some(priority) = ask.filter.priority {
        form = form.number("priority", priority.min(7));
    }
    if let Some(unit) = &ask.filter.unit {
        form = form.text("unit", unit);
    }
    if ask.filter.kernel {
        form = form.flag("kernel", true);
    }
    get(node, form)
}

fn get(node: &NodeName, form: Form) -> Get<Journal> {
    let path = format!("/nodes/{}/journal", segment(node.as_str()));
    Get::new(form.after(&path), read).at_most(LIMIT)
}

impl Ask {
    fn form(&self) -> Form {
        let form = Form::default().number("lastentries", self.last.max(1));
        match &self.end {
            End::Now => form,
            // 0 is no end to the reader.
            End::Until(time) => form.number("until", (*time).max(1)),
            End::Before(cursor) => form.text("endcursor", &cursor.0),
        }
    }
}

impl Cursor {
    /// When the entry was written, in microseconds since 1970.
    pub fn time(&self) -> Option<i64> {
        let part = self.0.split(';').find_map(|part| part.strip_prefix("t="))?;
        i64::from_str_radix(part, 16).ok()
    }
}

impl FromStr for Cursor {
    type Err = InvalidCursor;

    fn from_str(text: &str) -> Result<Self, InvalidCursor> {
        let is_part = |part: &str| {
            let (name, value) = part.split_once('=').unwrap_or_default();
            matches!(name, "s" | "i" | "b" | "m" | "t" | "x")
                && !value.is_empty()
                && value.bytes().all(|b| b.is_ascii_hexdigit())
        };
        let is_cursor = text.len() <= 300 && text.starts_with("s=") && text.split(';').all(is_part);
        if is_cursor { Ok(Self(text.to_owned())) } else { Err(InvalidCursor) }
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

perl::answer! {
    /// An object of the answer, of any kind.
    struct Object {
        ty: Option<String>,
        c: Option<String>,
        t: Option<i64>,
        id: Option<String>,
        pid: Option<u64>,
        p: Option<u64>,
        msg: Option<LogText>,
    }
}

/// An element of the answer.
enum Row {
    Text(LogText),
    Object(Box<Object>),
}

impl FromPerl for Row {
    fn from_text(text: &str) -> Option<Self> {
        LogText::from_text(text).map(Self::Text)
    }

    fn from_map<'de, A: serde::de::MapAccess<'de>>(map: A) -> Result<Option<Self>, A::Error> {
        Ok(Object::from_map(map)?.map(|object| Self::Object(Box::new(object))))
    }
}

impl Row {
    fn cursor(&self) -> Option<Cursor> {
        match self {
            Self::Text(text) => text.text.parse().ok(),
            Self::Object(object) => object.c.as_deref()?.parse().ok(),
        }
    }

    fn entry(self) -> Option<Entry> {
        match self {
            Self::Text(text) if text.text == "-- Reboot --" => Some(Entry::Reboot(None)),
            Self::Text(text) => Some(Entry::Line(text)),
            Self::Object(object) => match object.ty.as_deref() {
                Some("reboot") => Some(Entry::Reboot(object.t)),
                Some(_) => None,
                None => Some(Entry::Record(Record {
                    time: object.t,
                    identifier: object.id,
                    pid: object.pid,
                    // Absent means the usual one.
                    priority: object.p.and_then(|p| u8::try_from(p).ok()).map_or(6, |p| p.min(7)),
                    message: object.msg.unwrap_or_default(),
                })),
            },
        }
    }
}

fn read(body: &[u8]) -> Result<Parsed<Journal>, UnreadableWhy> {
    <Vec<Row> as Many>::read(body)?.try_map(|mut rows| {
        // Cursors stand at the ends alone: a line that looks like one in between is a line.
        let last = rows.last().and_then(Row::cursor);
        if last.is_some() {
            rows.pop();
        }
        let first = rows.first().and_then(Row::cursor);
        let entries = rows.into_iter().skip(usize::from(first.is_some()));
        let entries = entries.filter_map(Row::entry).collect();
        Ok(Journal { first: first.or_else(|| last.clone()), last, entries })
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CURSOR: &str =
        "s=6b6bb7f2ef4443379420ec4a9e148ff9;i=1a0b;b=4bc8;m=1cf256823;t=661787e2d47b7;x=7742";

    fn ask(end: End) -> Ask {
        let filter = Filter { priority: Some(3), unit: Some("pveproxy".to_owned()), kernel: false };
        Ask { last: 0, end, filter }
    }

    fn parse(body: &str) -> Journal {
        text(&"pve1".parse().unwrap(), &ask(End::Now)).read(body.as_bytes()).ok().unwrap().data
    }

    #[test]
    fn every_request_has_a_limit_and_an_end() {
        let node = "pve1".parse().unwrap();
        assert_eq!(text(&node, &ask(End::Now)).path(), "/nodes/pve1/journal?lastentries=1");
        assert_eq!(
            structured(&node, &ask(End::Until(1_796_000_000))).path(),
            "/nodes/pve1/journal?lastentries=1&until=1796000000&structured=1&priority=3&unit=pveproxy"
        );
        let before = ask(End::Before("s=ab;i=1".parse().unwrap()));
        let path = "/nodes/pve1/journal?lastentries=1&endcursor=s%3Dab%3Bi%3D1";
        assert_eq!(text(&node, &before).path(), path);
    }

    #[test]
    fn a_cursor_tells_the_time_and_is_nothing_else() {
        let cursor: Cursor = CURSOR.parse().unwrap();
        assert_eq!(cursor.time(), Some(0x0006_6178_7e2d_47b7));
        for bad in ["", "s", "s=", "i=1", "s=1;i=2;q=3", "s=1 ;i=2", "s=1;i=2&since=0", "Jan 09"] {
            assert!(bad.parse::<Cursor>().is_err(), "{bad}");
        }
    }

    #[test]
    fn the_recorded_text_is_read_and_its_cursors_are_no_lines() {
        let read = parse(&format!(
            r#"{{"data":["{CURSOR}"
,"Nov 30 06:26:41 pve1 pvestatd[224]: status update time (5.169 seconds)"
,"-- Reboot --"
,"s=1;i=2"
,"{CURSOR}"
],"success":1}}"#
        ));
        assert_eq!(read.first, Some(CURSOR.parse().unwrap()));
        assert!(read.last.is_some());
        assert_eq!(read.entries.len(), 3, "only the ends are cursors");
        assert_eq!(read.entries[1], Entry::Reboot(None));
    }

    #[test]
    fn nothing_logged_is_nothing() {
        for body in
            [r#"{"data":[]}"#, r#"{"data":["s=1;i=1"]}"#, r#"{"data":["s=1;i=1","s=1;i=1"]}"#]
        {
            assert!(parse(body).entries.is_empty(), "{body}");
        }
        assert_eq!(
            text(&"a".parse().unwrap(), &ask(End::Now)).read(b"").err(),
            Some(UnreadableWhy::Empty)
        );
    }

    #[test]
    fn objects_are_read_with_their_usual_priority() {
        let read = parse(
            r#"{"data":[{"ty":"cursor","c":"s=1;i=1"},{"ty":"host","h":"pve1"},
                {"t":1796019977000001,"id":"kernel","p":"3","msg":"a\nb"},{"ty":"reboot","t":1},
                {"t":1796019978000001,"id":"cron","pid":7,"msg":"x"},{"ty":"cursor","c":"s=1;i=9"}]}"#,
        );
        let [Entry::Record(kernel), Entry::Reboot(Some(1)), Entry::Record(cron)] =
            read.entries.as_slice()
        else {
            panic!("{read:?}")
        };
        assert_eq!((kernel.priority, cron.priority), (3, 6));
        assert_eq!((kernel.message.text.as_str(), cron.pid), ("a\nb", Some(7)));
        assert_eq!(kernel.time, Some(1_796_019_977_000_001));
    }

    proptest! {
        #[test]
        fn what_is_taken_for_a_cursor_can_go_into_a_request(text in "s=[0-9a-f]{1,4}[a-f&%/;=.#]{0,2}[0-9a-f]{1,4}(;[ibmtxq]=[0-9a-f]{1,4}){0,3}", any in ".{0,40}") {
            for text in [text.as_str(), any.as_str(), CURSOR] {
                let Ok(cursor) = text.parse::<Cursor>() else { continue };
                let _ = cursor.time();
                let written = cursor.to_string();
                prop_assert!(written.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'=' || b == b';'));
                prop_assert_eq!(written.parse::<Cursor>(), Ok(cursor));
            }
        }
    }
}
