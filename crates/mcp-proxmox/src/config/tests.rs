//! The configuration as people write it, and what they are told.

use std::{collections::HashMap, io::Write as _};

use super::*;

mod slips;

const UUID: &str = "0f0e0d0c-1111-2222-3333-444455556666";

fn read(settings: &[(&str, &str)]) -> Result<Config, Mistakes> {
    let settings: HashMap<_, _> = settings.iter().copied().collect();
    Config::read(&|setting| settings.get(setting.variable).map(|value| (*value).to_owned()))
}

fn with<'a>(more: &[(&'a str, &'a str)]) -> Result<Config, Mistakes> {
    let mut settings =
        vec![("PVE_HOST", "pve.lan"), ("PVE_TOKEN_ID", "root@pam!mcp"), ("PVE_TOKEN_SECRET", UUID)];
    settings.retain(|(name, _)| !more.iter().any(|(other, _)| other == name));
    settings.extend_from_slice(more);
    read(&settings)
}

fn mistakes(more: &[(&str, &str)]) -> String {
    with(more).unwrap_err().to_string()
}

#[test]
fn the_least_that_is_needed_is_enough() {
    let config = with(&[]).unwrap();
    assert_eq!(config.summary(), "PVE at pve.lan:8006 as root@pam!mcp, access tier read");
    assert_eq!(config.confirm, Confirm::Destructive);
    assert!(config.warnings.is_empty());
}

#[test]
fn nothing_set_names_everything_that_is_needed() {
    let told = read(&[]).unwrap_err().to_string();
    for variable in ["PVE_HOST", "PVE_TOKEN_ID", "PVE_TOKEN_SECRET"] {
        assert!(told.contains(&format!("  {variable}: it is not set")), "{told}");
    }
    assert!(told.contains("such as mcp@pve!monitor"), "{told}");
}

#[test]
fn every_mistake_is_told_in_one_run() {
    let told = mistakes(&[
        ("PVE_HOST", "http://pve.lan"),
        ("PVE_PORT", "0"),
        ("PVE_TOKEN_ID", "a!b!c"),
        ("PVE_ACCESS_TIER", "admin"),
        ("PVE_TLS_REJECT_UNAUTHORIZED", "maybe"),
        ("PVE_TLS_FINGERPRINT", "AA:BB"),
        ("PVE_ALLOW_VMS", "99"),
        ("PVE_CONFIRM", "sometimes"),
        ("PVE_TOOLS", "list_vm"),
        ("PVE_OUTPUT", "xml"),
        ("PVE_TIMEOUT_SECONDS", "1"),
        ("PVE_TIMEZONE", "Berlin"),
        ("PVE_LOG", "loud=very"),
    ]);
    for variable in [
        "PVE_HOST",
        "PVE_PORT",
        "PVE_TOKEN_ID",
        "PVE_ACCESS_TIER",
        "PVE_TLS_REJECT_UNAUTHORIZED",
        "PVE_TLS_FINGERPRINT",
        "PVE_ALLOW_VMS",
        "PVE_CONFIRM",
        "PVE_TOOLS",
        "PVE_OUTPUT",
        "PVE_TIMEOUT_SECONDS",
        "PVE_TIMEZONE",
        "PVE_LOG",
    ] {
        assert!(told.contains(&format!("\n  {variable}: ")), "{variable} is missing in:\n{told}");
    }
    assert!(told.contains("did you mean `list_vms`?"), "{told}");
}

#[test]
fn a_secret_that_was_written_elsewhere_too_is_not_repeated() {
    let file = std::env::temp_dir().join(format!("mcp-proxmox-twice-{}", std::process::id()));
    std::fs::write(&file, format!("root@pam!mcp={UUID}\n")).unwrap();
    let in_file = [("PVE_TOKEN_SECRET", ""), ("PVE_TOKEN_SECRET_FILE", file.to_str().unwrap())];
    for (variable, value) in [
        ("PVE_ALLOW_VMS", format!("100-199,tag{UUID}T")),
        ("PVE_ALLOW_VMS", format!("tag:{UUID}")),
        ("PVE_TIMEZONE", UUID.to_owned()),
        ("PVE_HOST", format!("pve.lan,{UUID}")),
        ("PVE_LOG", format!("debug,{UUID}")),
        ("PVE_TOKEN_ID", format!("root{UUID}@pam!mcp")),
    ] {
        for secret in [&in_file[..0], &in_file] {
            let told = mistakes(&[secret, &[(variable, value.as_str())]].concat());
            assert!(told.contains(&format!("{variable}: it holds the token's secret")), "{told}");
            assert!(!told.contains(&UUID[..8]), "{told}");
        }
    }
    std::fs::remove_file(&file).unwrap();
}

#[test]
fn quotes_and_blanks_that_came_with_copying_are_dropped() {
    let secret = format!(" \"{UUID}\" ");
    let settings = [
        ("PVE_HOST", "' pve.lan '"),
        ("PVE_TOKEN_ID", "`root@pam!mcp`"),
        ("PVE_TOKEN_SECRET", secret.as_str()),
    ];
    assert_eq!(read(&settings).unwrap().pve.hosts[0].name, "pve.lan");
}

#[test]
fn an_empty_value_and_an_unfilled_placeholder_count_as_not_set() {
    let config =
        with(&[("PVE_PORT", ""), ("PVE_TLS_CA_FILE", "${user_config.ca}"), ("PVE_USERNAME", " ")])
            .unwrap();
    assert_eq!(config.pve.hosts[0].port, 8006);
    for placeholder in
        ["${PVE_PORT}", "${env:PVE_PORT}", "{env:PVE_PORT}", "$PVE_PORT", "%PVE_PORT%"]
    {
        assert_eq!(with(&[("PVE_PORT", placeholder)]).unwrap().pve.hosts[0].port, 8006);
    }
    assert!(with(&[("PVE_PORT", "$OTHER")]).is_err(), "that is no setting of this program");
}

#[test]
fn a_placeholder_within_a_value_is_told_as_one_whatever_the_setting() {
    for setting in settings::ALL {
        for (value, shown) in [
            ("tag:${T}", "`${T}`"),
            ("x{env:HOME}/y", "`{env:HOME}`"),
            ("$HOME/ca.pem", "`$HOME`"),
            ("C:%APPDATA%/a", "`%APPDATA%`"),
            ("pve.${user_config.domain}", "`${user_config.domain}`"),
        ] {
            let told = mistakes(&[(setting.variable, value)]);
            let of_setting = told.matches(&format!("\n  {}: ", setting.variable)).count();
            assert_eq!(of_setting, 1, "{value}: {told}");
            assert!(told.contains("a placeholder that the client did not fill in"), "{told}");
            let is_secret = setting.variable == "PVE_TOKEN_SECRET";
            assert_eq!(told.contains(shown), !is_secret, "{value}: {told}");
        }
    }
    let told = mistakes(&[("PVE_HOST", "${PVE_HOST}")]);
    assert!(told.contains("PVE_HOST: it is not set: it holds a placeholder"), "{told}");
}

#[test]
fn a_guard_of_writes_that_was_not_filled_in_is_a_mistake() {
    let write = ("PVE_ACCESS_TIER", "write");
    for (guard, instead) in [
        ("PVE_ALLOW_VMS", "`all`"),
        ("PVE_PROTECT_VMS", "`none`"),
        ("PVE_CONFIRM", "`destructive`"),
        ("PVE_TOOLS", "`all`"),
        ("PVE_EXCLUDE_TOOLS", "`none`"),
        ("PVE_AUDIT_LOG", "leave the setting out"),
    ] {
        for placeholder in ["${PVE_X}", "\"{env:X}\"", "${user_config.x}"] {
            let told = with(&[(guard, placeholder), write]).unwrap_err().to_string();
            assert!(told.contains(&format!("{guard}: it holds a placeholder")), "{told}");
            assert!(told.contains(instead), "{told}");
            with(&[(guard, placeholder)]).expect("without writes there is nothing to guard");
        }
    }
}

#[test]
fn an_empty_list_of_where_writes_may_act_is_a_mistake_since_it_may_mean_both() {
    let write = ("PVE_ACCESS_TIER", "write");
    let told = with(&[("PVE_ALLOW_VMS", " "), write]).unwrap_err().to_string();
    assert!(told.contains("PVE_ALLOW_VMS: it is set and empty"), "{told}");
    assert!(with(&[("PVE_ALLOW_VMS", "")]).is_ok());
    assert!(with(&[("PVE_ALLOW_VMS", "all"), write]).unwrap().allow.is_some());
}

#[test]
fn the_line_at_the_start_says_where_writes_may_act() {
    let lists = [("PVE_ALLOW_VMS", "100-199,tag:ai"), ("PVE_PROTECT_VMS", "tag:prod")];
    let write = [("PVE_ACCESS_TIER", "write")];
    let told = with(&[&lists[..], &write].concat()).unwrap().summary();
    assert!(told.ends_with("access tier write on 100-199,tag:ai but not on tag:prod"), "{told}");
    assert!(with(&write).unwrap().summary().ends_with("access tier write"));
    assert!(with(&lists).unwrap().summary().ends_with("access tier read"));
}

#[test]
fn the_port_in_the_host_wins() {
    let config = with(&[("PVE_HOST", "a:443,b"), ("PVE_PORT", "9000")]).unwrap();
    let ports: Vec<_> = config.pve.hosts.iter().map(|host| host.port).collect();
    assert_eq!(ports, [443, 9000]);
}

#[test]
fn each_host_may_have_its_own_name_to_verify() {
    let names = |text: &'static str| {
        let config = with(&[("PVE_HOST", "a,b"), ("PVE_TLS_SERVER_NAME", text)]).unwrap();
        let name = |host: &Host| host.server_name.as_ref().map(ToString::to_string).unwrap();
        config.pve.hosts.iter().map(name).collect::<Vec<_>>()
    };
    assert_eq!(names("pve1, pve2"), ["pve1", "pve2"]);
    assert_eq!(names("pve1"), ["pve1", "pve1"]);
    let told = mistakes(&[("PVE_HOST", "a,b"), ("PVE_TLS_SERVER_NAME", "x,y,z")]);
    assert!(told.contains("3 names for the 2 hosts"), "{told}");
    assert!(mistakes(&[("PVE_HOST", "a,b,a")]).contains("it names `a:8006` twice"));
}

#[test]
fn a_list_of_nothing_is_a_mistake_and_not_everything() {
    for variable in [
        "PVE_HOST",
        "PVE_ALLOW_VMS",
        "PVE_PROTECT_VMS",
        "PVE_TOOLS",
        "PVE_EXCLUDE_TOOLS",
        "PVE_TLS_FINGERPRINT",
        "PVE_TLS_SERVER_NAME",
    ] {
        for text in [",", " , ,"] {
            let told = mistakes(&[(variable, text)]);
            assert!(told.contains(&format!("\n  {variable}: ")), "{variable} {text:?}: {told}");
            assert!(told.contains("it names no "), "{told}");
        }
    }
}

#[test]
fn an_audit_log_that_cannot_be_written_is_told_with_the_other_mistakes() {
    let told = mistakes(&[("PVE_AUDIT_LOG", "/nowhere/at/all/audit.log"), ("PVE_PORT", "x")]);
    assert!(told.contains("PVE_AUDIT_LOG: ") && told.contains("it cannot be written"), "{told}");
    assert!(told.contains("PVE_PORT: "), "{told}");
    assert!(mistakes(&[("PVE_AUDIT_LOG", "/")]).contains("not a regular file"));
}

#[test]
fn a_bare_word_that_is_no_level_is_no_filter() {
    for text in ["verbose", "info,loud", "hyper"] {
        let told = mistakes(&[("PVE_LOG", text)]);
        assert!(told.contains("is no level") && told.contains("`module=level`"), "{told}");
    }
    for text in ["debug", "INFO", "off", "warn,pve_client=trace", "pve_client=debug"] {
        assert_eq!(with(&[("PVE_LOG", text)]).unwrap().log, text);
    }
}

#[test]
fn a_variable_that_is_nearly_one_of_ours_is_told_and_others_are_left_alone() {
    let names = [
        "PVE_TOKEN_SECERT",
        "PVE_HOSTS",
        "PVE_HOTS",
        "PVE_HOST",
        "PVE_ROOT",
        "PVE_NODE",
        "PATH",
        "pve_hots",
    ];
    let told = misspelt(names.into_iter());
    assert_eq!(
        told,
        [
            "there is no setting `PVE_TOKEN_SECERT`: did you mean `PVE_TOKEN_SECRET`?",
            "there is no setting `PVE_HOSTS`: did you mean `PVE_HOST`?",
            "there is no setting `PVE_HOTS`: did you mean `PVE_HOST`?",
        ]
    );
}

#[test]
fn a_secret_and_a_secret_file_are_one_too_many() {
    assert!(
        mistakes(&[("PVE_TOKEN_SECRET_FILE", "/nowhere")])
            .contains("set one of them (where a client")
    );
}

#[test]
fn a_secret_file_is_read_and_an_unreadable_one_is_told() {
    let mut file = std::env::temp_dir();
    file.push(format!("mcp-proxmox-secret-{}", std::process::id()));
    std::fs::File::create(&file).unwrap().write_all(format!("{UUID}\n").as_bytes()).unwrap();
    let path = file.to_str().unwrap().to_owned();
    let settings = [
        ("PVE_HOST", "pve.lan"),
        ("PVE_TOKEN_ID", "root@pam!mcp"),
        ("PVE_TOKEN_SECRET_FILE", path.as_str()),
    ];
    let config = read(&settings);
    std::fs::remove_file(&file).unwrap();
    assert_eq!(config.unwrap().pve.token.id(), "root@pam!mcp");

    let told = mistakes(&[("PVE_TOKEN_SECRET", ""), ("PVE_TOKEN_SECRET_FILE", "/nowhere/secret")]);
    assert!(told.contains("`/nowhere/secret` cannot be read"), "{told}");
}

#[cfg(unix)]
#[test]
fn a_secret_file_that_others_can_read_is_warned_about_and_one_that_they_cannot_is_not() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    let folder = std::env::temp_dir().join(format!("mcp-proxmox-loose-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (file, link) = (folder.join("secret"), folder.join("link"));
    std::fs::write(&file, UUID).unwrap();
    symlink(&file, &link).unwrap();
    symlink(folder.join("gone"), folder.join("dangling")).unwrap();
    symlink(&folder, folder.join("folder")).unwrap();
    let read_from = |path: &std::path::Path| {
        read(&[
            ("PVE_HOST", "pve.lan"),
            ("PVE_TOKEN_ID", "root@pam!mcp"),
            ("PVE_TOKEN_SECRET_FILE", path.to_str().unwrap()),
        ])
    };
    for (mode, is_loose) in [
        (0o600, false),
        (0o400, false),
        (0o640, true),
        (0o644, true),
        (0o604, true),
        (0o660, true),
        (0o620, true),
    ] {
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        // A link counts as what it leads to, as where a container's secrets are mounted.
        for path in [&file, &link] {
            let warnings = read_from(path).unwrap().warnings;
            let of_file = warnings.iter().filter(|warning| warning.contains("chmod 600")).count();
            assert_eq!(of_file, usize::from(is_loose), "{mode:o} at {path:?}: {warnings:?}");
            assert_eq!(warnings.len(), of_file, "{warnings:?}");
        }
    }
    for (name, expected) in [("dangling", "cannot be read"), ("folder", "not a small regular file")]
    {
        let told = read_from(&folder.join(name)).unwrap_err().to_string();
        assert!(told.contains(expected), "{told}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn turning_verification_off_is_warned_about_once() {
    let config = with(&[("PVE_TLS_REJECT_UNAUTHORIZED", "No")]).unwrap();
    assert!(matches!(config.pve.tls.trust, pve_client::Trust::Anything));
    assert_eq!(config.warnings.len(), 1);
}

#[test]
fn pins_win_over_turning_verification_off() {
    let pin = "AA".repeat(32);
    let settings = [
        ("PVE_HOST", "pve.lan"),
        ("PVE_TOKEN_ID", "root@pam!mcp"),
        ("PVE_TOKEN_SECRET", UUID),
        ("PVE_TLS_REJECT_UNAUTHORIZED", "0"),
        ("PVE_TLS_FINGERPRINT", pin.as_str()),
    ];
    let config = read(&settings).unwrap();
    assert!(matches!(config.pve.tls.trust, pve_client::Trust::Pinned(_)));
    assert!(config.warnings[0].contains("no effect"));
}

#[test]
fn the_secret_is_in_no_message() {
    for (variable, value) in [
        ("PVE_TOKEN_ID", "a!b!c"),
        ("PVE_USERNAME", "svc@pve"),
        ("PVE_TOKEN_SECRET", "other!id=SECRETSECRET"),
    ] {
        let told = mistakes(&[(variable, value)]);
        assert!(!told.contains(UUID) && !told.contains("SECRETSECRET"), "{told}");
    }
    assert!(!format!("{:?}", with(&[]).unwrap()).contains(UUID));
}

#[test]
fn tools_are_chosen_by_name_or_by_toolset() {
    let offered = |settings: &[(&'static str, &'static str)]| {
        let config = with(settings).unwrap();
        let names: Vec<_> =
            ALL.iter().filter(|entry| config.tools.picks(entry)).map(|entry| entry.name).collect();
        names
    };
    assert_eq!(offered(&[]).len(), ALL.len());
    assert_eq!(offered(&[("PVE_TOOLS", "list_vms, list_nodes")]), ["list_vms", "list_nodes"]);
    assert!(offered(&[("PVE_EXCLUDE_TOOLS", "nodes")]).iter().all(|name| !name.contains("node")));
    assert!(
        mistakes(&[("PVE_TOOLS", "list_vms"), ("PVE_EXCLUDE_TOOLS", "guests")])
            .contains("no tool is left")
    );
}

#[test]
fn the_defaults_may_be_written_too() {
    let config = with(&[
        ("PVE_ALLOW_VMS", "all"),
        ("PVE_PROTECT_VMS", "none"),
        ("PVE_TOOLS", "all"),
        ("PVE_EXCLUDE_TOOLS", "none"),
    ])
    .unwrap();
    assert!(config.allow.unwrap().contains(100, [].into_iter(), None));
    assert!(config.protect.is_empty());
    assert!(ALL.iter().all(|entry| config.tools.picks(entry)));
}

#[test]
fn a_tilde_is_the_home_folder() {
    let home = std::env::home_dir().unwrap();
    assert_eq!(at_home("~/.config/token"), home.join(".config/token"));
    for other in ["~nobody/token", "/etc/~/token", "~", "token"] {
        assert_eq!(at_home(other), PathBuf::from(other));
    }
    let told = mistakes(&[("PVE_TOKEN_SECRET", ""), ("PVE_TOKEN_SECRET_FILE", "~/no/such/file")]);
    assert!(told.contains(&home.join("no/such/file").display().to_string()), "{told}");
}

#[test]
fn fingerprints_are_taken_as_other_programs_show_them() {
    let shown = vec!["5C"; 32].join(":");
    let other = vec!["a7"; 32].join("");
    for (text, n_wanted) in [
        (format!("SHA256 Fingerprint={shown}"), 1),
        (format!("sha256 Fingerprint={shown}, sha256:{other}"), 2),
        (format!("{shown} {other}"), 2),
        (format!("{shown};{other},"), 2),
        (shown.replace(':', " "), 1),
    ] {
        let config = with(&[("PVE_TLS_FINGERPRINT", &text)]).unwrap();
        let pve_client::Trust::Pinned(pins) = &config.pve.tls.trust else {
            panic!("{text} is no pin")
        };
        assert_eq!(pins.len(), n_wanted, "{text}");
    }
    for text in [" , ", "SHA256 Fingerprint=5C:5C", &format!("{shown} {shown}5C")] {
        let told = mistakes(&[("PVE_TLS_FINGERPRINT", text)]);
        assert!(told.contains("PVE_TLS_FINGERPRINT: "), "{told}");
    }
}
