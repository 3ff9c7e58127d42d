//! What of a guest's configuration is not in force yet: Proxmox VE applies it when the guest is started or rebooted.

use pve_client::guest::Pending;

use crate::answer::clean::{label, quoted};

/// How many changes are named in a sentence.
const NAMED: usize = 6;

/// What the next start changes: `memory: 256 -> 512`, `net1: removed`.
pub fn changes(rows: &[Pending]) -> Vec<String> {
    let mut changes: Vec<String> = rows
        .iter()
        .filter_map(|row| {
            let key = label(row.key.as_deref()?);
            let was = row.value.as_deref().map(label);
            // A password is never shown, not even PVE's stars for it.
            let secret = key == "cipassword";
            Some(match (row.delete.filter(|delete| *delete > 0), row.pending.as_deref()) {
                (Some(_), _) => format!("{key}: removed"),
                (None, Some(_)) if secret => format!("{key}: changed"),
                (None, Some(pending)) => {
                    format!("{key}: {} -> {}", was.as_deref().unwrap_or("none"), label(pending))
                }
                (None, None) => return None,
            })
        })
        .collect();
    changes.sort_unstable();
    changes
}

/// The changes as a part of a sentence, each in quotes, since others wrote the values. `None` where there are none.
pub fn told(changes: &[String]) -> Option<String> {
    let named =
        changes.iter().take(NAMED).map(|change| quoted(change)).collect::<Vec<_>>().join(", ");
    match changes.len().checked_sub(NAMED) {
        _ if changes.is_empty() => None,
        None | Some(0) => Some(named),
        Some(more) => Some(format!("{named} and {more} more")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(key: &str, value: &str, pending: Option<&str>, delete: Option<u8>) -> Pending {
        let text = |text: &str| Some(text.to_owned());
        Pending {
            key: text(key),
            value: text(value),
            pending: pending.and_then(text),
            delete: delete.map(Into::into),
        }
    }

    #[test]
    fn changes_are_told_with_what_was_and_passwords_are_not() {
        let rows = [
            row("memory", "256", Some("512"), None),
            row("net1", "virtio", None, Some(1)),
            row("cipassword", "**", Some("***"), None),
            row("cores", "2", None, None),
        ];
        let changes = changes(&rows);
        assert_eq!(changes, ["cipassword: changed", "memory: 256 -> 512", "net1: removed"]);
        assert_eq!(
            told(&changes).unwrap(),
            "`cipassword: changed`, `memory: 256 -> 512`, `net1: removed`"
        );
        assert_eq!(told(&[]), None);
        let many: Vec<String> = (0..9).map(|nth| format!("net{nth}: removed")).collect();
        assert!(told(&many).unwrap().ends_with("`net5: removed` and 3 more"));
    }
}
