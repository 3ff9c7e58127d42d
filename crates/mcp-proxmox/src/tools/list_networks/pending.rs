//! Changes of a node's network that are written but not applied.

use pve_client::NodeName;

use crate::answer::clean::label;

/// How many lines of a change are shown.
const CHANGE_LINES: usize = 30;

/// A diff, without the lines that change nothing, and of one interface only where one is wanted.
pub(super) fn change(node: &NodeName, diff: &str, wanted: Option<&str>) -> Option<String> {
    let is_head = |line: &str| line.starts_with("---") || line.starts_with("+++");
    let changed = |line: &str| line.starts_with(['+', '-']) && !is_head(line);
    let mut lines = Vec::new();
    let mut iface = None;
    let mut is_wanted = wanted.is_none();
    let mut is_told = false;
    for line in diff.lines() {
        let mut words = line.trim_start_matches(['+', '-', ' ']).split_whitespace();
        let (word, name) = (words.next(), words.next());
        if matches!(word, Some("auto" | "iface")) && !is_head(line) {
            is_wanted = wanted.is_none_or(|wanted| name == Some(wanted));
        }
        if word == Some("iface") && !is_head(line) {
            // What follows belongs to it, and is not understood without its name.
            iface = name;
        }
        is_told |= changed(line);
        if changed(line) && is_wanted {
            lines.push(match iface.take() {
                Some(iface) if !line.contains(iface) => format!("{iface}: {line}"),
                _ => line.to_owned(),
            });
        }
    }
    let mut shown: Vec<String> = lines.iter().take(CHANGE_LINES).map(|line| label(line)).collect();
    if lines.len() > CHANGE_LINES {
        shown.push(format!("… {} more lines", lines.len() - CHANGE_LINES));
    }
    if shown.is_empty() {
        if is_told {
            return None;
        }
        shown.push("PVE says that changes wait, without telling which".to_owned());
    }
    Some(format!("{node}: {}", shown.join(" | ")))
}
