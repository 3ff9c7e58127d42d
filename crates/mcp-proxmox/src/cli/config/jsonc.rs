//! Changes one place of a JSON file that people wrote, and leaves every other byte as it is.
//!
//! Clients read JSON with comments and trailing commas, and people format it as they like. So the text is
//! scanned, never printed anew: what is not the place to change cannot be lost. A text that cannot be read is
//! refused.

mod removal;

use std::ops::Range;

/// A value, and where it stands in the text.
#[derive(Debug)]
struct Value {
    span: Range<usize>,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Object(Vec<Member>),
    Array(Vec<Value>),
    Scalar,
}

#[derive(Debug)]
struct Member {
    /// Where its key begins.
    start: usize,
    key: String,
    value: Value,
}

/// A text that holds one JSON value.
#[derive(Debug)]
pub(super) struct Document {
    text: String,
}

/// Where a new value goes.
enum Hole<'a> {
    /// The path is there.
    At(&'a Value),
    /// This object lacks the rest of the path.
    In(&'a Value, &'a [&'a str]),
}

impl Document {
    /// Takes a text over. An empty one becomes an empty object.
    pub(super) fn new(text: &str) -> Result<Self, String> {
        let is_empty = text.trim_start_matches('\u{feff}').trim().is_empty();
        let text = if is_empty { "{}\n".to_owned() } else { text.to_owned() };
        let document = Self { text };
        match document.root()?.kind {
            Kind::Object(_) => Ok(document),
            _ => Err("it does not hold a JSON object".to_owned()),
        }
    }

    /// The text as it stands.
    pub(super) fn into_text(self) -> String {
        self.text
    }

    /// What stands at `path`, as JSON without comments.
    pub(super) fn get(&self, path: &[&str]) -> Result<Option<serde_json::Value>, String> {
        let root = self.root()?;
        Ok(match find(&root, path)? {
            Hole::At(value) => Some(self.plain(value)),
            Hole::In(..) => None,
        })
    }

    /// Puts `value` at `path`, in place of what is there; objects on the way are made where they are missing.
    pub(super) fn set(&mut self, path: &[&str], value: &serde_json::Value) -> Result<(), String> {
        let root = self.root()?;
        match find(&root, path)? {
            Hole::At(old) => {
                let depth = path.len();
                let new = self.shown(value, depth);
                let span = old.span.clone();
                self.text.replace_range(span, &new);
            }
            Hole::In(object, missing) => {
                let Some((first, rest)) = missing.split_first() else {
                    return Err("it has no place for the server".to_owned());
                };
                let wrapped = rest.iter().rev().fold(value.clone(), |inner, key| {
                    serde_json::Value::Object([((*key).to_owned(), inner)].into_iter().collect())
                });
                let depth = path.len() - missing.len() + 1;
                let member = format!("{}: {}", quoted(first), self.shown(&wrapped, depth));
                let Kind::Object(members) = &object.kind else {
                    return Err("it has no place for the server".to_owned());
                };
                let last = members.last().map(|member| member.value.span.end);
                self.add(&object.span.clone(), last, &member, depth);
            }
        }
        Ok(())
    }

    /// Adds `value` to the list at `path`, which is made where it is missing.
    pub(super) fn push(&mut self, path: &[&str], value: &serde_json::Value) -> Result<(), String> {
        let root = self.root()?;
        match find(&root, path)? {
            Hole::In(..) => self.set(path, &serde_json::Value::Array(vec![value.clone()])),
            Hole::At(Value { span, kind: Kind::Array(items) }) => {
                let last = items.last().map(|item| item.span.end);
                let depth = path.len() + 1;
                let item = self.shown(value, depth);
                self.add(&span.clone(), last, &item, depth);
                Ok(())
            }
            Hole::At(_) => Err(format!("`{}` in it is not a list", path.join("."))),
        }
    }

    fn root(&self) -> Result<Value, String> {
        let mut scan = Scan { text: &self.text, at: 0, depth: 0 };
        if self.text.starts_with('\u{feff}') {
            scan.at = '\u{feff}'.len_utf8();
        }
        let root = scan.value()?;
        scan.blank()?;
        if scan.at < self.text.len() {
            Err(scan.wrong("more text after the end"))
        } else {
            Ok(root)
        }
    }

    /// Writes `item` behind the last of a container's items, or as its first.
    fn add(&mut self, container: &Range<usize>, last: Option<usize>, item: &str, depth: usize) {
        let (line, outer) = (self.line(depth), self.line(depth - 1));
        let is_on_one_line = self
            .text
            .get(container.clone())
            .is_some_and(|text| last.is_some() && !text.contains('\n'));
        let Some(last) = last else {
            let inner = container.start + 1..container.end - 1;
            let is_blank = self.text.get(inner.clone()).is_some_and(|text| text.trim().is_empty());
            // Where there are only comments, they stay, in front.
            let place = if is_blank { inner } else { inner.end..inner.end };
            self.text.replace_range(place, &format!("{line}{item}{outer}"));
            return;
        };
        // A comma may be there already, behind comments: a trailing one.
        let mut scan = Scan { text: &self.text, at: last, depth: 0 };
        let _ = scan.blank();
        let has_comma = scan.peek() == Some(',');
        // What follows the last value on its line, such as a comment, belongs to it.
        let after = if has_comma { scan.at + 1 } else { last };
        let end = scan.end_of_item(after, container.end);
        let space = if is_on_one_line { " ".to_owned() } else { line };
        self.text.insert_str(end, &format!("{space}{item}"));
        if !has_comma {
            self.text.insert(last, ',');
        }
    }

    /// A value as text, indented as the file is.
    fn shown(&self, value: &serde_json::Value, depth: usize) -> String {
        let indent = self.indent();
        let formatter = serde_json::ser::PrettyFormatter::with_indent(indent.as_bytes());
        let mut out = Vec::new();
        let mut writer = serde_json::Serializer::with_formatter(&mut out, formatter);
        // Writing to memory cannot fail.
        let _ = serde::Serialize::serialize(value, &mut writer);
        String::from_utf8_lossy(&out).replace('\n', &self.line(depth))
    }

    /// A new line at a depth, ended as the file's lines are.
    fn line(&self, depth: usize) -> String {
        let end = if self.text.contains("\r\n") { "\r\n" } else { "\n" };
        format!("{end}{}", self.indent().repeat(depth))
    }

    /// What the first indented line is indented with.
    fn indent(&self) -> String {
        let first = self.text.lines().find_map(|line| {
            let rest = line.trim_start_matches([' ', '\t']);
            let blank = line.strip_suffix(rest).filter(|blank| !blank.is_empty())?;
            rest.starts_with('"').then(|| blank.to_owned())
        });
        first.unwrap_or_else(|| "  ".to_owned())
    }

    fn plain(&self, value: &Value) -> serde_json::Value {
        match &value.kind {
            Kind::Object(members) => members
                .iter()
                .map(|member| (member.key.clone(), self.plain(&member.value)))
                .collect::<serde_json::Map<_, _>>()
                .into(),
            Kind::Array(items) => items.iter().map(|item| self.plain(item)).collect(),
            Kind::Scalar => self
                .text
                .get(value.span.clone())
                .and_then(|text| serde_json::from_str(text).ok())
                .unwrap_or_default(),
        }
    }
}

/// Goes down a path as far as there is one.
fn find<'a>(mut at: &'a Value, path: &'a [&'a str]) -> Result<Hole<'a>, String> {
    for (depth, key) in path.iter().enumerate() {
        let Kind::Object(members) = &at.kind else {
            let gone = path.get(..depth).unwrap_or_default().join(".");
            return Err(format!("`{gone}` in it is not an object"));
        };
        let mut found = members.iter().filter(|member| member.key == *key);
        match (found.next(), found.next()) {
            (None, _) => return Ok(Hole::In(at, path.get(depth..).unwrap_or_default())),
            (Some(member), None) => at = &member.value,
            (Some(_), Some(_)) => return Err(format!("it holds `{key}` twice")),
        }
    }
    Ok(Hole::At(at))
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

struct Scan<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl<'a> Scan<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn wrong(&self, what: &str) -> String {
        let before = self.text.get(..self.at).unwrap_or_default();
        format!("it cannot be read as JSON: line {}: {what}", before.matches('\n').count() + 1)
    }

    /// Blanks and comments.
    fn blank(&mut self) -> Result<(), String> {
        loop {
            let rest = self.rest();
            if let Some(comment) = rest.strip_prefix("//") {
                self.at += 2 + comment.find('\n').unwrap_or(comment.len());
            } else if let Some(comment) = rest.strip_prefix("/*") {
                let end = comment.find("*/").ok_or_else(|| self.wrong("a comment has no end"))?;
                self.at += 2 + end + 2;
            } else if let Some(blank) = rest.chars().next().filter(char::is_ascii_whitespace) {
                self.at += blank.len_utf8();
            } else {
                return Ok(());
            }
        }
    }

    /// Where the line of the last item ends with its comment, but not beyond its container.
    fn end_of_item(&self, last: usize, container_end: usize) -> usize {
        let mut scan = Scan { text: self.text, at: last, depth: 0 };
        let mut end = last;
        while scan.at < container_end - 1 {
            let rest = scan.rest();
            if rest.starts_with("//") {
                let line = rest.find(['\n', '\r']).unwrap_or(rest.len());
                return (scan.at + line).min(container_end - 1);
            }
            if let Some(comment) = rest.strip_prefix("/*") {
                scan.at += comment.find("*/").map_or(rest.len(), |end| end + 4);
                end = scan.at;
            } else if rest.starts_with([' ', '\t']) {
                scan.at += 1;
            } else {
                break;
            }
        }
        end
    }

    fn value(&mut self) -> Result<Value, String> {
        self.blank()?;
        // Deeper than any file that a person wrote, and no risk for the stack.
        if self.depth > 100 {
            return Err(self.wrong("it is nested too deeply"));
        }
        let start = self.at;
        let kind = match self.peek() {
            Some('{') => self.object()?,
            Some('[') => self.array()?,
            Some('"') => self.string().map(|_| Kind::Scalar)?,
            Some(_) => self.word()?,
            None => return Err(self.wrong("a value is missing at the end")),
        };
        Ok(Value { span: start..self.at, kind })
    }

    fn object(&mut self) -> Result<Kind, String> {
        let mut members = Vec::new();
        self.items('}', |scan| {
            if scan.peek() != Some('"') {
                return Err(scan.wrong("a name in quotes is missing"));
            }
            let start = scan.at;
            let key = scan.string()?;
            scan.blank()?;
            if scan.peek() != Some(':') {
                return Err(scan.wrong("a colon is missing"));
            }
            scan.at += 1;
            members.push(Member { start, key, value: scan.value()? });
            Ok(())
        })?;
        Ok(Kind::Object(members))
    }

    fn array(&mut self) -> Result<Kind, String> {
        let mut items = Vec::new();
        self.items(']', |scan| {
            items.push(scan.value()?);
            Ok(())
        })?;
        Ok(Kind::Array(items))
    }

    /// What stands between brackets, separated by commas; one more at the end is allowed.
    fn items(
        &mut self,
        end: char,
        mut item: impl FnMut(&mut Self) -> Result<(), String>,
    ) -> Result<(), String> {
        self.at += 1;
        self.depth += 1;
        loop {
            self.blank()?;
            if self.peek() == Some(end) {
                break;
            }
            item(self)?;
            self.blank()?;
            match self.peek() {
                Some(',') => self.at += 1,
                Some(letter) if letter == end => {}
                _ => return Err(self.wrong("a comma or the end is missing")),
            }
        }
        self.at += 1;
        self.depth -= 1;
        Ok(())
    }

    fn string(&mut self) -> Result<String, String> {
        let start = self.at;
        let mut is_escaped = false;
        for (at, letter) in self.rest().char_indices().skip(1) {
            match letter {
                _ if is_escaped => is_escaped = false,
                '\\' => is_escaped = true,
                '"' => {
                    self.at = start + at + 1;
                    let text = self.text.get(start..self.at).unwrap_or_default();
                    return serde_json::from_str(text)
                        .map_err(|_| self.wrong("a text is not JSON"));
                }
                _ => {}
            }
        }
        Err(self.wrong("a text has no end"))
    }

    fn word(&mut self) -> Result<Kind, String> {
        let rest = self.rest();
        let end =
            rest.find(|letter: char| !letter.is_ascii_alphanumeric() && !"+-.".contains(letter));
        let word = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
        serde_json::from_str::<serde_json::Value>(word)
            .map_err(|_| self.wrong("a value is missing"))?;
        self.at += word.len();
        Ok(Kind::Scalar)
    }
}

#[cfg(test)]
mod tests;
