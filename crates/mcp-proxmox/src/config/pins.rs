//! Reads `PVE_TLS_FINGERPRINT`: `AB:CD:…`, for every host, or `pve1=AB:CD:…`, for that host alone.
//!
//! **Invariant:** where pins are for hosts, every host has one: a host without any could never be asked.

use pve_client::{Fingerprint, Host};

use super::list::parts;
use crate::answer::clean::quoted;

/// A certificate that is trusted, and the host for which it is, if not for all.
pub(super) type Pin = (Option<String>, Fingerprint);

/// The pins of a list.
pub(super) fn list(text: &str) -> Result<Vec<Pin>, String> {
    let mut pins = Vec::new();
    for part in parts(text, &[',', ';'], "fingerprint")? {
        // `SHA256 Fingerprint=…` has a blank in it, and between two there may be nothing else.
        match pin(part) {
            Ok(pin) => pins.push(pin),
            Err(_) => {
                for part in part.split_whitespace() {
                    pins.push(pin(part)?);
                }
            }
        }
    }
    if pins.is_empty() { Err("it names no fingerprint".to_owned()) } else { Ok(pins) }
}

fn pin(part: &str) -> Result<Pin, String> {
    let error = match part.parse() {
        Ok(fingerprint) => return Ok((None, fingerprint)),
        Err(error) => error,
    };
    let (host, pin) = part.split_once('=').ok_or_else(|| format!("{error}"))?;
    let host = host.trim();
    // No host has a blank in its name: this is one pin and the next.
    if host.contains(char::is_whitespace) {
        return Err(format!("{error}"));
    }
    pin.parse().map(|pin| (Some(host.to_owned()), pin)).map_err(|error| format!("{error}"))
}

/// Gives each host the pins that are for it, where any is for one host alone.
pub(super) fn give(pins: &[Pin], hosts: &mut [Host]) -> Result<(), String> {
    // A mistake in the list of hosts is told already.
    if hosts.is_empty() || pins.iter().all(|(host, _)| host.is_none()) {
        return Ok(());
    }
    let is_for = |name: &str, host: &Host| {
        let name = name.trim_matches(['[', ']']);
        name.eq_ignore_ascii_case(&host.name) || name.eq_ignore_ascii_case(&host.to_string())
    };
    let mut named = pins.iter().filter_map(|(host, _)| host.as_deref());
    if let Some(unknown) = named.find(|name| !hosts.iter().any(|host| is_for(name, host))) {
        let known: Vec<_> = hosts.iter().map(|host| format!("`{}`", host.name)).collect();
        let (unknown, known) = (quoted(unknown), known.join(", "));
        return Err(format!(
            "it has a fingerprint for {unknown}, which PVE_HOST does not name: write {known}"
        ));
    }
    for host in hosts {
        let own = pins
            .iter()
            .filter(|(name, _)| name.as_deref().is_none_or(|name| is_for(name, host)))
            .map(|(_, pin)| *pin);
        host.pins = own.collect();
        if host.pins.is_empty() {
            return Err(format!(
                "it has no fingerprint for the host `{}` of PVE_HOST: add `{}=…`",
                host.name, host.name
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn hosts(names: &[&str]) -> Vec<Host> {
        names.iter().map(|name| Host::new(*name, 8006)).collect()
    }

    fn pin(byte: &str) -> String {
        byte.repeat(32)
    }

    fn given(text: &str, names: &[&str]) -> Result<Vec<usize>, String> {
        let mut hosts = hosts(names);
        give(&list(text)?, &mut hosts)?;
        Ok(hosts.iter().map(|host| host.pins.len()).collect())
    }

    #[test]
    fn a_pin_is_for_all_hosts_or_for_the_one_that_it_names() {
        let (a, b, c) = (pin("AA"), pin("BB"), pin("CC"));
        let names = ["pve1", "pve2"];
        assert_eq!(given(&format!("{a},{b}"), &names), Ok(vec![0, 0]), "all, as they stand");
        assert_eq!(given(&format!("pve1={a},PVE2={b}"), &names), Ok(vec![1, 1]));
        assert_eq!(given(&format!("pve1={a} pve2:8006={b} {c}"), &names), Ok(vec![2, 2]));
        assert_eq!(given(&format!("[fd00::1]={a}"), &["fd00::1"]), Ok(vec![1]));
        assert_eq!(given(&format!("{c} pve1={a} pve2={b}"), &names), Ok(vec![2, 2]));
        let pasted = format!("pve1=SHA256 Fingerprint={a}, pve2=sha256:{b}");
        assert_eq!(given(&pasted, &names), Ok(vec![1, 1]));
        assert_eq!(given(&format!("SHA256 Fingerprint={a}"), &names), Ok(vec![0, 0]));
    }

    #[test]
    fn a_pin_for_nobody_and_a_host_without_pin_are_told() {
        let a = pin("AA");
        let told = given(&format!("pve9={a}"), &["pve1", "pve2"]).unwrap_err();
        assert!(told.contains("for `pve9`, which PVE_HOST does not name: write `pve1`, `pve2`"));
        let told = given(&format!("pve1={a}"), &["pve1", "pve2"]).unwrap_err();
        assert!(told.contains("no fingerprint for the host `pve2`"), "{told}");
        assert!(given("pve1=AA", &["pve1"]).is_err());
        assert!(given("=", &["pve1"]).is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_answered_and_a_refusal_is_short(
            text in "(pve[0-9]|[=:,; ]|[0-9a-fA-F]{2}|SHA256|\\PC){0,60}",
            names in proptest::collection::vec("[a-z0-9.:]{1,12}", 0..4),
        ) {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            if let Err(told) = given(&text, &names) {
                prop_assert!(told.chars().count() < 400, "{told}");
            }
        }

        #[test]
        fn every_host_gets_the_pins_that_are_for_it_and_those_for_all(
            for_whom in proptest::collection::vec(proptest::option::of(0_usize..3), 1..8),
            separator in prop::sample::select(vec![",", ";", " ", ", ", "\n"]),
        ) {
            let names = ["pve1", "10.0.0.2", "fd00::3"];
            let pins: Vec<Pin> = for_whom
                .iter()
                .zip(1_u8..)
                .map(|(whom, nth)| {
                    let pin = pin(&format!("{nth:02X}")).parse().unwrap();
                    (whom.and_then(|whom| names.get(whom)).map(|name| (*name).to_owned()), pin)
                })
                .collect();
            let written = pins.iter().map(|(host, pin)| match host {
                Some(host) => format!("{host}={pin}"),
                None => pin.to_string(),
            });
            let text = written.collect::<Vec<_>>().join(separator);
            prop_assert_eq!(list(&text), Ok(pins.clone()), "what is written is read again");
            let mut hosts = hosts(&names);
            let given = give(&pins, &mut hosts);
            if for_whom.iter().all(Option::is_none) {
                prop_assert!(given.is_ok() && hosts.iter().all(|host| host.pins.is_empty()));
                return Ok(());
            }
            let own = |name: &str| -> Vec<Fingerprint> {
                let is_for = |host: &Option<String>| host.as_deref().is_none_or(|host| host == name);
                pins.iter().filter(|(host, _)| is_for(host)).map(|(_, pin)| *pin).collect()
            };
            let lacks = names.iter().any(|name| own(name).is_empty());
            prop_assert_eq!(given.is_err(), lacks, "{:?}", given);
            if !lacks {
                for host in &hosts {
                    prop_assert_eq!(&host.pins, &own(&host.name));
                }
            }
        }
    }
}
