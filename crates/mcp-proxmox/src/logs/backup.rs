//! What a backup's log says of each guest.

use crate::answer::{
    Cell, Table,
    clean::label,
    cost::{self, Room},
    log_text::brief,
};

/// Collects the guests of a backup's log, line by line.
#[derive(Debug, Default)]
pub struct Backups {
    guests: Vec<Guest>,
}

/// A guest of a backup, in what its log says.
#[derive(Debug, Default)]
pub struct Guest {
    /// Its number.
    pub vmid: u64,
    /// Its name.
    pub name: Option<String>,
    /// `ok` or `error: …`. Absent where the log does not tell yet, or never will.
    pub result: Option<String>,
    /// How large the backup is, or how much was sent.
    pub size: Option<String>,
    /// How long it took.
    pub took: Option<String>,
}

impl Backups {
    /// Takes the next line.
    pub fn add(&mut self, line: &str) {
        let text = line.trim();
        if let Some(rest) = text.strip_prefix("INFO: Starting Backup of VM ") {
            let vmid = rest.split(' ').next().and_then(|vmid| vmid.parse().ok());
            self.guests.extend(vmid.map(|vmid| Guest { vmid, ..Guest::default() }));
        } else if let Some(rest) = text.strip_prefix("ERROR: Backup of VM ") {
            let Some((vmid, why)) = rest.split_once(" failed - ") else { return };
            let Ok(vmid) = vmid.parse() else { return };
            // A guest may fail before its backup has begun.
            let found = self.guests.iter().rposition(|guest| guest.vmid == vmid);
            if found.is_none() {
                self.guests.push(Guest { vmid, ..Guest::default() });
            }
            let last = self.guests.len().saturating_sub(1);
            if let Some(guest) = self.guests.get_mut(found.unwrap_or(last)) {
                guest.result = Some(format!("error: {}", brief(why)));
            }
        } else if let Some(guest) = self.guests.last_mut() {
            guest.add(text);
        }
    }

    /// What became of a guest, if it is one of them.
    pub fn into_guest(mut self, vmid: u32) -> Option<Guest> {
        let at = self.guests.iter().rposition(|guest| guest.vmid == u64::from(vmid))?;
        Some(self.guests.swap_remove(at))
    }

    /// The guests, as many as cost so many tokens, and a word on the others: those that went well are left out first,
    /// and the older ones. The last one without a result is at work where the task runs.
    pub fn table(&self, is_running: bool, tokens: usize) -> (Table, Option<String>) {
        let mut room = Room::of(tokens);
        let mut is_shown = vec![false; self.guests.len()];
        for wants_ok in [false, true] {
            for (guest, is_shown) in self.guests.iter().zip(&mut is_shown).rev() {
                if guest.is_ok() == wants_ok {
                    *is_shown = room.takes(guest.cost());
                }
            }
        }
        let mut table = Table::new(&["vmid", "name", "result", "size", "took"]);
        let shown = self.guests.iter().zip(&is_shown).filter(|(_, is_shown)| **is_shown);
        for (guest, _) in shown {
            let is_last = std::ptr::eq(guest, self.guests.last().unwrap_or(guest));
            let open = if is_running && is_last { "running" } else { "unknown" };
            table.push([
                guest.vmid.into(),
                guest.name.clone().into(),
                guest.result.clone().map_or(Cell::from(open), Cell::from),
                guest.size.clone().into(),
                guest.took.clone().into(),
            ]);
        }
        let hidden = self.guests.iter().zip(&is_shown).filter(|(_, is_shown)| !**is_shown);
        let (n_hidden, n_ok) =
            hidden.fold((0, 0), |(all, ok), (guest, _)| (all + 1, ok + usize::from(guest.is_ok())));
        let said = (n_hidden > 0).then(|| {
            format!(
                "{n_hidden} more guests of the backup are not in `backups`, {n_ok} of them ok: pattern `Finished Backup|ERROR: Backup` lists them"
            )
        });
        (table, said)
    }
}

impl Guest {
    fn is_ok(&self) -> bool {
        self.result.as_deref() == Some("ok")
    }

    /// What it costs as a row.
    fn cost(&self) -> usize {
        let texts = [&self.name, &self.result, &self.size, &self.took];
        texts.into_iter().flatten().map(|text| cost::of_text(text) + 2).sum::<usize>() + 14
    }

    fn add(&mut self, text: &str) {
        let Some(text) = text.strip_prefix("INFO: ") else { return };
        if let Some(name) =
            text.strip_prefix("VM Name: ").or_else(|| text.strip_prefix("CT Name: "))
        {
            self.name = Some(label(name));
        } else if let Some(size) = text.strip_prefix("archive file size: ") {
            self.size = Some(brief(size));
        } else if let Some(rest) = text.strip_prefix("transferred ") {
            // To a backup server: `transferred 1.88 GiB in 20 seconds (…)`.
            let size = rest.split(" in ").next().unwrap_or(rest);
            self.size = self.size.take().or_else(|| Some(format!("{} transferred", brief(size))));
        } else if let Some(rest) = text.strip_prefix("Finished Backup of VM ") {
            self.result = Some("ok".to_owned());
            self.took = rest.split_once('(').map(|(_, took)| brief(took.trim_end_matches(')')));
        }
    }
}
