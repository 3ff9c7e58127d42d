//! What a backup's log says of each guest.

use crate::{
    answer::{Cell, Table, clean::label},
    logs::task_log::Line,
};

/// Collects the guests of a backup's log, line by line.
#[derive(Debug, Default)]
pub(super) struct Backups {
    guests: Vec<Guest>,
}

#[derive(Debug, Default)]
struct Guest {
    vmid: u64,
    name: Option<String>,
    result: Option<String>,
    size: Option<String>,
    took: Option<String>,
}

impl Backups {
    /// Takes the next line.
    pub(super) fn add(&mut self, line: &Line) {
        let text = line.text.trim();
        if let Some(rest) = text.strip_prefix("INFO: Starting Backup of VM ") {
            let vmid = rest.split(' ').next().and_then(|vmid| vmid.parse().ok());
            self.guests.extend(vmid.map(|vmid| Guest { vmid, ..Guest::default() }));
        } else if let Some(rest) = text.strip_prefix("ERROR: Backup of VM ") {
            let Some((vmid, why)) = rest.split_once(" failed - ") else { return };
            let Ok(vmid) = vmid.parse() else { return };
            // A guest may fail before its backup has begun.
            let guest = match self.guests.iter_mut().rev().find(|guest| guest.vmid == vmid) {
                Some(guest) => guest,
                None => {
                    self.guests.push(Guest { vmid, ..Guest::default() });
                    let Some(guest) = self.guests.last_mut() else { return };
                    guest
                }
            };
            guest.result = Some(format!("error: {}", label(why)));
        } else if let Some(guest) = self.guests.last_mut() {
            guest.add(text);
        }
    }

    /// The guests.
    pub(super) fn table(&self, is_running: bool) -> Table {
        let mut table = Table::new(&["vmid", "name", "result", "size", "took"]);
        for guest in &self.guests {
            let open = if is_running { "running" } else { "unknown" };
            table.push([
                guest.vmid.into(),
                guest.name.clone().into(),
                guest.result.clone().map_or(Cell::from(open), Cell::from),
                guest.size.clone().into(),
                guest.took.clone().into(),
            ]);
        }
        table
    }
}

impl Guest {
    fn add(&mut self, text: &str) {
        let Some(text) = text.strip_prefix("INFO: ") else { return };
        if let Some(name) =
            text.strip_prefix("VM Name: ").or_else(|| text.strip_prefix("CT Name: "))
        {
            self.name = Some(label(name));
        } else if let Some(size) = text.strip_prefix("archive file size: ") {
            self.size = Some(label(size));
        } else if let Some(rest) = text.strip_prefix("transferred ") {
            // To a backup server: `transferred 1.88 GiB in 20 seconds (…)`.
            let size = rest.split(" in ").next().unwrap_or(rest);
            self.size = self.size.take().or_else(|| Some(format!("{} transferred", label(size))));
        } else if let Some(rest) = text.strip_prefix("Finished Backup of VM ") {
            self.result = Some("ok".to_owned());
            self.took = rest.split_once('(').map(|(_, took)| label(took.trim_end_matches(')')));
        }
    }
}
