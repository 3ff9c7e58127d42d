//! What the user should know where a client is to start the container: it is a machine of its own, which has neither
//! the files nor the network of the one around it.

use std::net::IpAddr;

use pve_client::Host;

use crate::config::Config;

/// The notes for these settings. Where the file of the client is written, so is what the container needs.
pub(super) fn notes(config: &Config, is_demo: bool, is_written: bool) -> Vec<String> {
    let mut notes = Vec::new();
    let here = config.pve.hosts.iter().find(|host| !is_demo && is_this_machine(host));
    if let Some(host) = here {
        notes.push(format!(
            "within the container, {} is the container itself: with Docker Desktop, PVE_HOST=host.docker.internal is this machine; \
             on Linux, put `--network host` before the image",
            host.name
        ));
    }
    if let Some(file) = &config.audit_log {
        notes.push(
            "the container sees the audit log's file and nothing beside it: where the log is rotated, let it be copied and cut \
             (copytruncate), or start the client anew afterwards"
                .to_owned(),
        );
        if !is_written && !file.exists() {
            notes.push(format!(
                "{} is not there, and only a file that is there can be handed in: make an empty one that is yours (--write does)",
                file.display()
            ));
        }
    }
    notes
}

fn is_this_machine(host: &Host) -> bool {
    let name = host.name.trim_end_matches('.').to_ascii_lowercase();
    let is_address = name.parse().is_ok_and(|address: IpAddr| address.to_canonical().is_loopback());
    is_address || name == "localhost" || name.ends_with(".localhost")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_and_addresses_of_the_machine_itself_are_such() {
        let is_it = |name: &str| is_this_machine(&Host::new(name, 8006));
        for name in ["127.0.0.1", "127.1.2.3", "::1", "::ffff:127.0.0.1", "LocalHost", "localhost."]
        {
            assert!(is_it(name), "{name}");
        }
        for name in ["192.0.2.7", "fd00::1", "pve.lan", "localhost.lan", "mylocalhost"] {
            assert!(!is_it(name), "{name}");
        }
    }
}
