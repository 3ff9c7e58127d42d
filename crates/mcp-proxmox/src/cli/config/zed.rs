//! Zed: its settings, which people comment. It fills in no variables, so the secret stays in a file of its own.

use super::client::{Client, Secret, merge_json};

pub(super) const CLIENT: Client = Client {
    name: "zed",
    title: "Zed",
    file: |places| {
        if cfg!(windows) {
            places.of_desktop_program("Zed/settings.json")
        } else {
            places.below_config("zed/settings.json")
        }
    },
    secret: Secret::File,
    merge: |text, server, existing| {
        merge_json(text, &["context_servers", &server.name], &server.entry(""), existing)
    },
    then: "Zed sees it at once; the settings of its agent panel list the server",
    project: None,
};
