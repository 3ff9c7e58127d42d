//! Where the server is to take the token's secret from, and what the user has to do for it.
//!
//! **A secret is for one cluster**: a server of another name than the usual one may be of another cluster, so it has a file
//! and a question of its own; where a client can only hand on one variable to all of them, that is told.

use std::{fs, path::Path};

use super::{
    client::{Client, Secret},
    place::Places,
    server::{USUAL_NAME, of_server},
};
use crate::config::settings;

/// Where it comes from.
pub(super) enum Origin {
    /// From a file that the user named. It is not read here, so it cannot be written either.
    GivenFile { is_to_be_written: bool },
    /// It is written itself, if there is one.
    Written(Option<String>),
    /// From where the client can take it. One that is set here is not handed on.
    Client { set: Option<String> },
}

impl Origin {
    /// Puts it into the environment of the server of this name, and says whether the client fills it in instead.
    pub(super) fn put(
        self,
        client: &Client,
        name: &str,
        places: &Places<'_>,
        environment: &mut Vec<(&'static str, String)>,
        notes: &mut Vec<String>,
    ) -> bool {
        let secret = settings::TOKEN_SECRET.variable;
        match (self, client.secret) {
            (Self::GivenFile { is_to_be_written }, _) => {
                if is_to_be_written {
                    notes.push(format!(
                        "the secret stays in the file that {} names, and is not in it",
                        settings::TOKEN_SECRET_FILE.variable
                    ));
                }
                false
            }
            (Self::Written(text), _) => {
                environment.extend(text.map(|text| (secret, text)));
                notes.push("the token's secret is in it: let nobody else read the file".to_owned());
                false
            }
            (Self::Client { .. }, Secret::Environment) => {
                notes.push(format!("the secret is not in it: set {secret} where {} is started, or name its file with PVE_TOKEN_SECRET_FILE", client.title));
                if name != USUAL_NAME {
                    notes.push(format!(
                        "all servers that take {secret} from where {} is started get the same secret: if `{name}` is of another cluster \
                         than another of them, name a file of its own with PVE_TOKEN_SECRET_FILE",
                        client.title
                    ));
                }
                true
            }
            (Self::Client { .. }, Secret::Asked) => true,
            (Self::Client { set }, Secret::File) => {
                let file = of_server(name, ".config/pve-token");
                let file = places.below_home(&file).unwrap_or_else(|| file.into());
                let shown = file.display();
                notes.push(if set.is_some_and(|set| holds_another(&file, &set)) {
                    format!(
                        "the secret is not in it: it is read from {shown}, which holds another than {secret} here: put the right one into it, or name a file \
                         with {}",
                        settings::TOKEN_SECRET_FILE.variable
                    )
                } else if file.is_file() {
                    format!("the secret is not in it: it is read from {shown}, which is there")
                } else {
                    format!("the secret is not in it: put it into {shown}, which only you should be able to read")
                });
                let place =
                    environment.iter().position(|(name, _)| *name == settings::TOKEN_ID.variable);
                let after = place.map_or(environment.len(), |place| place + 1);
                let file = file.to_string_lossy().into_owned();
                environment.insert(after, (settings::TOKEN_SECRET_FILE.variable, file));
                false
            }
        }
    }
}

/// Whether there is a file and its secret is not this one.
fn holds_another(file: &Path, set: &str) -> bool {
    let is_small = file.metadata().is_ok_and(|data| data.is_file() && data.len() < 4096);
    let held = is_small.then(|| fs::read_to_string(file).ok()).flatten();
    // The whole header, or the token's name and the secret, count as the secret.
    let bare = |text: &str| text.trim().rsplit('=').next().unwrap_or_default().to_owned();
    held.is_some_and(|held| bare(held.trim_start_matches('\u{feff}')) != bare(set))
}
