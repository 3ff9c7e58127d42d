//! Reads `PVE_HOST`: whatever people paste into it.

use std::net::{Ipv4Addr, Ipv6Addr};

use pve_client::Host;

use super::list::each;

/// The hosts of a comma-separated list. `port` is for those that name none.
pub(super) fn list(text: &str, port: u16) -> Result<Vec<Host>, String> {
    let hosts: Vec<_> = text.split(',').map(str::trim).filter(|part| !part.is_empty()).collect();
    if hosts.is_empty() {
        return Err("it names no host".to_owned());
    }
    let hosts: Vec<Host> = each(hosts, |part| host(part, port))?;
    for (nth, host) in hosts.iter().enumerate() {
        if hosts.iter().take(nth).any(|other| other == host) {
            return Err(format!("it names `{host}` twice"));
        }
    }
    Ok(hosts)
}

fn host(text: &str, port: u16) -> Result<Host, String> {
    let rest = match text.split_once("://") {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("https") => rest,
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => {
            return Err(format!(
                "PVE speaks HTTPS only: write `https://{rest}`, or the host alone"
            ));
        }
        Some((scheme, _)) => {
            return Err(format!(
                "`{scheme}` is not a scheme for PVE: write the host alone, or https://"
            ));
        }
        None => text,
    };
    // A slip of the pen, which would be a host of that name.
    if let Some((slip @ ("http" | "https"), host)) = rest.split_once("//") {
        return Err(format!("`{slip}//` lacks a colon: write `https://{host}`, or the host alone"));
    }
    // The address bar of the web interface holds `https://pve:8006/#v1:0:…`.
    let rest = rest.split(['#', '?']).next().unwrap_or_default();
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    if authority.contains('@') {
        return Err("it must not hold a user or a password: use PVE_USERNAME and PVE_TOKEN_SECRET"
            .to_owned());
    }
    let (name, port) = authority_parts(authority, port)?;
    Ok(Host { prefix: prefix(path)?, ..Host::new(name, port) })
}

fn authority_parts(authority: &str, port: u16) -> Result<(String, u16), String> {
    if let Some((_, zone)) = zoned(authority) {
        return Err(format!(
            "zones such as `%{zone}` are not supported: write a name, or an address without one"
        ));
    }
    // An address such as `fd00::1` has no port: brackets are for telling the two apart.
    if let Ok(address) = authority.parse::<Ipv6Addr>() {
        return Ok((address.to_string(), port));
    }
    if let Some(rest) = authority.strip_prefix('[') {
        let (address, rest) =
            rest.split_once(']').ok_or("the bracket of the IPv6 address is not closed")?;
        let address: Ipv6Addr =
            address.parse().map_err(|_| format!("`{address}` is not an IPv6 address"))?;
        return match rest.strip_prefix(':') {
            Some(digits) => Ok((address.to_string(), self::port(digits)?)),
            None if rest.is_empty() => Ok((address.to_string(), port)),
            None => Err(format!("`{rest}` behind the IPv6 address is not a port")),
        };
    }
    if let Some((address, digits)) = authority.rsplit_once(':')
        && let Ok(address) = address.parse::<Ipv6Addr>()
        && self::port(digits).is_ok()
    {
        return Err(format!(
            "the port of an IPv6 address stands behind brackets: write `[{address}]:{digits}`"
        ));
    }
    match authority.split_once(':') {
        Some((name, digits)) => Ok((self::name(name)?, self::port(digits)?)),
        None => Ok((name(authority)?, port)),
    }
}

/// An IPv6 address and its zone, which is the interface behind which it is.
fn zoned(authority: &str) -> Option<(&str, &str)> {
    let (address, zone) = authority.trim_start_matches('[').split_once('%')?;
    let zone = zone.split(']').next().unwrap_or(zone);
    address.parse::<Ipv6Addr>().ok().map(|_| (address, zone))
}

/// What may be meant otherwise: an address whose last part looks like the port of PVE is one without brackets.
pub(super) fn cautions(text: &str) -> Vec<String> {
    let caution = |part: &str| {
        let part = part.trim();
        let authority = part.split_once("://").map_or(part, |(_, rest)| rest);
        let authority = authority.split(['/', '#', '?']).next()?;
        let address: Ipv6Addr = authority.parse().ok()?;
        let before: Ipv6Addr = authority.strip_suffix(":8006")?.parse().ok()?;
        Some(format!(
            "PVE_HOST: `{address}` is taken as an address without a port; with a port, that is written `[{before}]:8006`"
        ))
    };
    text.split(',').filter_map(caution).collect()
}

/// The number of a port.
pub(super) fn port(digits: &str) -> Result<u16, String> {
    digits
        .parse()
        .ok()
        .filter(|port| *port > 0)
        .ok_or_else(|| format!("`{digits}` is not a port: it must be a number from 1 to 65535"))
}

fn name(name: &str) -> Result<String, String> {
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let bare = name.strip_suffix('.').unwrap_or(name);
    if bare.is_empty() || bare.len() > 253 || !bare.split('.').all(is_label) {
        return Err(format!("`{name}` is not a host name or an address"));
    }
    // No domain ends in a number, so that this can be an address alone.
    let ends_in_number = bare.rsplit('.').next().is_some_and(|last| last.parse::<u64>().is_ok());
    if ends_in_number && bare.contains('.') && bare.parse::<Ipv4Addr>().is_err() {
        return Err(format!("`{name}` is not an address: it has four numbers from 0 to 255"));
    }
    Ok(bare.to_owned())
}

fn prefix(path: &str) -> Result<String, String> {
    let path = path.trim_matches('/');
    let path = path
        .strip_suffix("api2/json")
        .or_else(|| path.strip_suffix("api2"))
        .unwrap_or(path)
        .trim_end_matches('/');
    if path.is_empty() {
        return Ok(String::new());
    }
    let fits = |part: &str| {
        !part.is_empty()
            && part != "."
            && part != ".."
            && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.~".contains(&b))
    };
    if !path.split('/').all(fits) {
        return Err(format!("`/{path}` is not a path that a proxy could serve PVE under"));
    }
    Ok(format!("/{path}"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Result<Vec<(String, u16, String)>, String> {
        Ok(list(text, 8006)?.into_iter().map(|host| (host.name, host.port, host.prefix)).collect())
    }

    fn one(name: &str, port: u16, prefix: &str) -> Vec<(String, u16, String)> {
        vec![(name.to_owned(), port, prefix.to_owned())]
    }

    #[test]
    fn whatever_people_paste_is_read() {
        assert_eq!(read("pve.lan").unwrap(), one("pve.lan", 8006, ""));
        assert_eq!(read("pve.lan:443").unwrap(), one("pve.lan", 443, ""));
        assert_eq!(read("https://pve.lan:8006/").unwrap(), one("pve.lan", 8006, ""));
        assert_eq!(
            read("https://pve.lan:8006/#v1:0:=node%2Fpve1:4:5").unwrap(),
            one("pve.lan", 8006, "")
        );
        assert_eq!(
            read("https://proxy.lan:443/pve/api2/json").unwrap(),
            one("proxy.lan", 443, "/pve")
        );
        assert_eq!(read("192.0.2.10").unwrap(), one("192.0.2.10", 8006, ""));
        assert_eq!(read("fd00::1").unwrap(), one("fd00::1", 8006, ""));
        assert_eq!(read("[fd00::1]").unwrap(), one("fd00::1", 8006, ""));
        assert_eq!(read("https://[fd00::1]:8443").unwrap(), one("fd00::1", 8443, ""));
    }

    #[test]
    fn several_nodes_are_kept_in_their_order() {
        let hosts = read("pve1, pve2:9000 ,pve3").unwrap();
        assert_eq!(hosts.iter().map(|host| host.1).collect::<Vec<_>>(), [8006, 9000, 8006]);
    }

    #[test]
    fn mistakes_say_what_to_write() {
        for (text, told) in [
            ("http://pve.lan", "HTTPS only: write `https://pve.lan`"),
            ("ssh://pve.lan", "not a scheme"),
            ("pve.lan:99999", "1 to 65535"),
            ("root@pve.lan", "user or a password"),
            ("pve lan", "not a host name"),
            ("[fd00::1", "not closed"),
            ("[nope]", "not an IPv6 address"),
            ("https://pve.lan/a b", "not a path"),
            (",", "names no host"),
        ] {
            let mistake = read(text).unwrap_err();
            assert!(mistake.contains(told), "{text}: {mistake}");
        }
    }

    proptest! {
        #[test]
        fn what_is_accepted_cannot_leave_its_place(text in "\\PC{0,60}") {
            for host in list(&text, 8006).unwrap_or_default() {
                prop_assert!(!host.name.contains(['/', '@', '?', '#', ' ', '%']));
                prop_assert!(!host.prefix.contains("..") || !host.prefix.split('/').any(|part| part == ".."));
            }
        }
    }
}
