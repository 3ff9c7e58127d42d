//! What goes wrong between people, their editors and the settings: told so that it can be mended, and nothing of a
//! secret is repeated.

use super::*;

/// What is read of a secret's file with these bytes, and the file's name.
fn from_file(bytes: &[u8], name: &str) -> (Result<Config, Mistakes>, String) {
    let file = std::env::temp_dir().join(format!("mcp-proxmox-{name}-{}", std::process::id()));
    std::fs::write(&file, bytes).unwrap();
    let path = file.to_str().unwrap();
    let config = with(&[("PVE_TOKEN_SECRET", ""), ("PVE_TOKEN_SECRET_FILE", path)]);
    std::fs::remove_file(&file).unwrap();
    (config, path.to_owned())
}

/// As PowerShell and Notepad write it, in both orders of bytes.
fn utf16(text: &str) -> [Vec<u8>; 2] {
    let units = || ['\u{feff}'].into_iter().chain(text.chars());
    let encoded = units().collect::<String>();
    [
        encoded.encode_utf16().flat_map(u16::to_le_bytes).collect(),
        encoded.encode_utf16().flat_map(u16::to_be_bytes).collect(),
    ]
}

#[test]
fn a_secret_file_may_begin_with_a_byte_order_mark_and_one_in_utf16_is_called_that() {
    let marked = format!("\u{feff}{UUID}\r\n");
    assert!(from_file(marked.as_bytes(), "marked").0.is_ok());
    assert!(with(&[("PVE_TOKEN_SECRET", &format!("\u{feff}{UUID}"))]).is_ok());
    let [little, big] = utf16(&format!("{UUID}\r\n"));
    for bytes in [&little, &big, &little[2..].to_vec(), &big[2..].to_vec()] {
        let (read, path) = from_file(bytes, "utf16");
        let told = read.unwrap_err().to_string();
        let expected = format!("PVE_TOKEN_SECRET_FILE: `{path}` is UTF-16");
        assert!(told.contains(&expected) && told.contains("save it as UTF-8"), "{told}");
        assert!(!told.contains(&UUID[..8]), "{told}");
    }
}

#[test]
fn a_secret_file_is_named_where_its_secret_is_wrong_and_may_have_quotes() {
    assert!(from_file(format!("\"{UUID}\"\n").as_bytes(), "quoted").0.is_ok());
    let (read, path) = from_file(b"two words", "words");
    let told = read.unwrap_err().to_string();
    let expected = format!("\n  PVE_TOKEN_SECRET_FILE: `{path}`: it holds blanks");
    assert!(told.contains(&expected), "{told}");
}

#[test]
fn a_file_of_authorities_may_begin_with_a_byte_order_mark_and_one_in_utf16_is_called_that() {
    let key = rcgen::KeyPair::generate().unwrap();
    let params = rcgen::CertificateParams::new(["pve1".to_owned()]).unwrap();
    let pem = params.self_signed(&key).unwrap().pem();
    let read = |bytes: &[u8]| {
        let file = std::env::temp_dir().join(format!("mcp-proxmox-ca-{}", std::process::id()));
        std::fs::write(&file, bytes).unwrap();
        let config = with(&[("PVE_TLS_CA_FILE", file.to_str().unwrap())]);
        std::fs::remove_file(&file).unwrap();
        config
    };
    assert!(read(pem.as_bytes()).is_ok());
    assert!(read(format!("\u{feff}{}", pem.replace('\n', "\r\n")).as_bytes()).is_ok());
    for bytes in utf16(&pem) {
        let told = read(&bytes).unwrap_err().to_string();
        assert!(told.contains("it is UTF-16") && told.contains("save it as UTF-8"), "{told}");
        assert!(!told.contains("BEGIN CERTIFICATE"), "{told}");
    }
}

#[test]
fn a_guard_with_another_name_is_a_mistake_where_writes_are_possible_and_those_of_others_are_not() {
    let config = |tier: &str, names: &[&str]| {
        let read = with(&[("PVE_ACCESS_TIER", tier)]);
        Config::guarded(read, || names.iter().map(|name| (*name).to_owned()).collect())
    };
    for (name, meant) in [
        ("PVE_PROTECTED_VMS", "PVE_PROTECT_VMS"),
        ("PVE_PROTECTVMS", "PVE_PROTECT_VMS"),
        ("PVE_ALLOWED_VMS", "PVE_ALLOW_VMS"),
        ("PVE_ALOW_VMS", "PVE_ALLOW_VMS"),
        ("PVE_ALLOWED_VMID_MIN", "PVE_ALLOW_VMS"),
        ("pve_allow_vms", "PVE_ALLOW_VMS"),
        ("Pve_Confirm", "PVE_CONFIRM"),
        ("PVE_AUDITLOG", "PVE_AUDIT_LOG"),
        ("PVE_AUDIT_FILE", "PVE_AUDIT_LOG"),
        ("PVE_CONFIRMATION", "PVE_CONFIRM"),
        ("PVE_CONFRIM", "PVE_CONFIRM"),
        ("PVE_DENY_VMS", "PVE_PROTECT_VMS"),
        ("PVE_BLACKLIST", "PVE_PROTECT_VMS"),
        ("PVE_EXCLUDE_VMS", "PVE_PROTECT_VMS"),
        ("PVE_EXCLUDED_TOOLS", "PVE_EXCLUDE_TOOLS"),
        ("PVE_DENIED_TOOLS", "PVE_EXCLUDE_TOOLS"),
        ("PVE_ALLOWED_TOOLS", "PVE_TOOLS"),
        ("PVE_TOOLSETS", "PVE_TOOLS"),
        ("PVE_READONLY", "PVE_ACCESS_TIER"),
        ("PVE_READ_ONLY_MODE", "PVE_ACCESS_TIER"),
        ("PVE_TIER", "PVE_ACCESS_TIER"),
    ] {
        let told = config("write", &[name]).expect_err(name).to_string();
        let expected = format!("\n  {name}: there is no such setting");
        assert!(told.contains(&expected), "{told}");
        assert!(told.contains(&format!("did you mean `{meant}`?")), "{told}");
        assert!(config("read", &[name]).is_ok(), "{name}");
        let told = misspelt([name].into_iter()).concat();
        assert!(told.contains(&format!("`{name}`: did you mean `{meant}`?")), "{told}");
    }
    let of_others = [
        "PVE_USER",
        "PVE_PASSWORD",
        "PVE_NODE",
        "PVE_TOKEN_NAME",
        "PVE_TOKEN_VALUE",
        "PVE_VERIFY_SSL",
        "PVE_ALLOW_INSECURE",
        "PVE_ALLOW_SELF_SIGNED_CERTS",
        "PVE_ALLOWED_HOSTS",
        "PVE_AUDITOR_TOKEN_ID",
        "PVE_CONFIG",
        "PVE_POOLS",
        "PVE_STORAGE_TIER",
        "PVE_TOOLS_DIR",
        "PVE_MODULE",
        "PVE_URL",
        "PVE_API_URL",
        "PVE_SSH_KEY",
        "PVE_VMID",
        "PVE_TEMPLATE",
        "PVE_STATE",
        "PVE_IP",
        "PVE_VERSION",
        "PROXMOX_VE_ALLOW_VMS",
        "MY_PVE_DENY_VMS",
        "pve",
        "é_e_protect",
    ];
    config("write", &of_others).expect("these are no guards");
    let ours: Vec<_> = settings::ALL.iter().map(|setting| setting.variable).collect();
    config("write", &ours).expect("these are settings");
}

#[test]
fn a_misspelt_guard_is_told_with_the_other_mistakes() {
    let read = with(&[("PVE_ACCESS_TIER", "write"), ("PVE_PORT", "x")]);
    let told = Config::guarded(read, || vec!["PVE_DENY_VMS".to_owned()]).unwrap_err().to_string();
    assert!(told.contains("\n  PVE_PORT: ") && told.contains("\n  PVE_DENY_VMS: "), "{told}");
}

#[test]
fn what_looks_like_a_secret_is_shown_in_no_complaint() {
    const OTHER: &str = "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee";
    let capitals = OTHER.to_uppercase();
    for setting in settings::ALL {
        if setting.variable == "PVE_TOKEN_SECRET" {
            continue;
        }
        for value in [
            OTHER.to_owned(),
            capitals.clone(),
            format!("mcp@pve!mon={OTHER}"),
            format!("PVEAPIToken=mcp@pve!mon={OTHER}"),
            format!("!{OTHER}"),
            format!("{OTHER} x"),
            format!("a,{OTHER}:"),
            format!("https://{OTHER}/#"),
            format!("{}{OTHER}", "a ".repeat(35)),
        ] {
            for secret in ["", UUID] {
                let settings = [("PVE_TOKEN_SECRET", secret), (setting.variable, value.as_str())];
                let told = match with(&settings) {
                    Ok(config) => config.warnings.concat(),
                    Err(mistakes) => mistakes.to_string(),
                };
                let (told, variable) = (told.to_lowercase(), setting.variable);
                assert!(!told.contains(&OTHER[..6]), "{variable}={value}: {told}");
            }
        }
        let told = mistakes(&[("PVE_TOKEN_SECRET", ""), (setting.variable, OTHER)]);
        let expected = format!("{}: this looks like a token's secret", setting.variable);
        assert!(told.contains(&expected), "{told}");
    }
    let told = mistakes(&[("PVE_TLS_CA_FILE", &format!("/media/{OTHER}/none.pem"))]);
    assert!(told.contains(OTHER), "a disk is named by its identifier: {told}");
    assert!(told.contains("copy /etc/pve/pve-root-ca.pem of a node there"), "{told}");
}

#[test]
fn what_can_be_no_secret_is_not_sent_as_one() {
    for (value, expected) in [
        ("~/.config/pve-token", "that is a path: use PVE_TOKEN_SECRET_FILE"),
        ("/home/x", "that is a path"),
        ("./token", "that is a path"),
        ("..\\token", "that is a path"),
        ("C:\\Users\\x\\token", "that is a path"),
        ("d:/token", "that is a path"),
        ("\\\\server\\token", "that is a path"),
        ("{\"value\":\"SECRETSECRET\"}", "that is JSON"),
        ("[\"SECRETSECRET\"]", "that is JSON"),
        ("\"SECRETSECRET", "it holds a quote"),
        ("SECRET'SECRET", "it holds a quote"),
        ("xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx", "that is a placeholder"),
        ("XXXXXXXX", "that is a placeholder"),
        ("<SECRETSECRET>", "that is a placeholder"),
        ("root@pam!mcp", "that is the token's id"),
        ("root@pam!mcp:SECRETSECRET", "that is the token's id"),
    ] {
        let told = mistakes(&[("PVE_TOKEN_SECRET", value)]);
        assert!(told.contains(&format!("PVE_TOKEN_SECRET: {expected}")), "{value}: {told}");
        assert!(!told.contains("SECRETSECRET"), "{told}");
    }
    let (read, path) = from_file(b"/run/secrets/token\n", "path");
    let told = read.unwrap_err().to_string();
    assert!(told.contains(&format!("`{path}`: that is a path")), "{told}");
    assert!(!told.contains("use PVE_TOKEN_SECRET_FILE"), "{told}");
    let header = format!("PVEAPIToken=root@pam!mcp={UUID}");
    for value in [
        format!("'\"{UUID}\"'"),
        format!("\"'`{UUID}`'\""),
        format!("root@pam!mcp={UUID}"),
        format!("Authorization: {header}"),
        format!("authorization:{header}"),
        header,
        "plain-word".to_owned(),
        "a/b+c=d==".replace('=', ""),
    ] {
        let config = with(&[("PVE_TOKEN_SECRET", &value)]);
        assert!(config.is_ok(), "{value}: {:?}", config.err());
    }
}

#[test]
fn a_whole_header_as_the_tokens_id_is_told_how_it_is_divided() {
    let secret = "SECRET-SECRET";
    for header in ["PVEAPIToken=", "Authorization: PVEAPIToken=", "authorization:pveapitoken="] {
        for secret in [secret, UUID] {
            let value = format!("{header}mcp@pve!mon={secret}");
            let told = mistakes(&[("PVE_TOKEN_ID", &value), ("PVE_TOKEN_SECRET", "other")]);
            let expected = "PVE_TOKEN_ID: that is the whole header: here belongs `mcp@pve!mon`; what is behind the last `=` is the secret";
            assert!(told.contains(expected), "{told}");
            assert!(!told.contains(secret), "{told}");
        }
        let config = with(&[("PVE_TOKEN_ID", &format!("{header}mcp@pve!mon"))]).unwrap();
        assert_eq!(config.pve.token.id(), "mcp@pve!mon");
    }
    let told = mistakes(&[("PVE_TOKEN_ID", "mcp@pve!mon=SECRET-SECRET")]);
    assert!(told.contains("it holds a `=`: here belongs `mcp@pve!mon`"), "{told}");
    let told = mistakes(&[("PVE_TOKEN_ID", "SECRET-SECRET=mcp@pve!mon")]);
    assert!(!told.contains(secret), "{told}");
}

#[test]
fn hosts_are_read_as_they_are_meant_or_it_is_said_how_to_write_them() {
    let config = with(&[("PVE_HOST", "HTTPS://127.0.0.1:9")]).unwrap();
    assert_eq!(config.pve.hosts[0].to_string(), "127.0.0.1:9");
    assert!(mistakes(&[("PVE_HOST", "Http://a")]).contains("write `https://a`"));
    let told = mistakes(&[("PVE_HOST", "https//pve1")]);
    assert!(told.contains("`https//` lacks a colon: write `https://pve1`"), "{told}");
    for address in ["10.0.0.300", "10.0.0", "pve.1", "1.2.3.4.5:8006"] {
        assert!(
            mistakes(&[("PVE_HOST", address)]).contains("four numbers from 0 to 255"),
            "{address}"
        );
    }
    for host in ["10.0.0.30", "pve1", "10.0.0.1.lan", "1.2.3.4:443"] {
        assert!(with(&[("PVE_HOST", host)]).is_ok(), "{host}");
    }
    for zoned in ["fe80::1%eth0", "[fe80::1%eth0]", "[fe80::1%25eth0]:8006", "https://fe80::1%2/"] {
        let told = mistakes(&[("PVE_HOST", zoned)]);
        assert!(told.contains("zones") && told.contains("not supported"), "{told}");
        assert!(!told.contains("is not a port"), "{told}");
    }
    let read = |host: &'static str| with(&[("PVE_HOST", host)]).unwrap();
    for host in ["2001:db8::1:8006", "a, https://2001:db8::1:8006/"] {
        let warnings = read(host).warnings;
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        let expected = "with a port, that is written `[2001:db8::1]:8006`";
        assert!(warnings[0].contains(expected), "{warnings:?}");
    }
    for host in ["2001:db8::1", "[2001:db8::1:8006]", "[2001:db8::1]:8006", "fd00::8006:1"] {
        assert!(read(host).warnings.is_empty(), "{host}");
    }
    let told = mistakes(&[("PVE_HOST", "2001:db8:0:0:0:0:0:1:8443")]);
    assert!(told.contains("write `[2001:db8::1]:8443`"), "{told}");
}

#[test]
fn a_token_in_the_place_of_its_user_is_blamed_there_or_taken() {
    for (user, id, wanted) in [
        ("mcp@pve!mon", "mon", "mcp@pve!mon"),
        ("mcp@pve!mon", "mcp@pve!mon", "mcp@pve!mon"),
        ("mcp!mon", "mon", "mcp@pam!mon"),
    ] {
        let config = with(&[("PVE_USERNAME", user), ("PVE_TOKEN_ID", id)]);
        assert_eq!(config.unwrap().pve.token.id(), wanted);
    }
    let told = mistakes(&[("PVE_USERNAME", "mcp@pve!other"), ("PVE_TOKEN_ID", "mon")]);
    assert!(
        told.contains("PVE_USERNAME: that is a token and not its user: write `mcp@pve`"),
        "{told}"
    );
    assert!(!told.contains("PVE_TOKEN_ID:"), "{told}");
}

#[test]
fn advice_on_a_tokens_id_can_be_followed() {
    let told = mistakes(&[("PVE_TOKEN_ID", "!tok")]);
    assert!(told.contains("no user before its `!`: write `user@realm!tok`"), "{told}");
    let told = mistakes(&[("PVE_TOKEN_ID", "!tok"), ("PVE_USERNAME", "mcp@pve")]);
    assert!(
        told.contains("PVE_TOKEN_ID: it has no user before its `!`: write `mcp@pve!tok`"),
        "{told}"
    );
    for encoded in ["mcp%40pve!mon", "mcp%40pve%21mon", "mcp@pve%21mon"] {
        let told = mistakes(&[("PVE_TOKEN_ID", encoded)]);
        assert!(told.contains("percent-encoded: write `mcp@pve!mon`"), "{told}");
    }
    let told = mistakes(&[("PVE_TOKEN_ID", "mcp%40pve%21mon%3DSECRET-SECRET")]);
    assert!(told.contains("percent-encoded: write `mcp@pve!mon`"), "{told}");
    assert!(!told.contains("SECRET-"), "{told}");
    let told = mistakes(&[("PVE_USERNAME", "mcp%40pve"), ("PVE_TOKEN_ID", "mon")]);
    assert!(told.contains("PVE_USERNAME: it is percent-encoded: write `mcp@pve`"), "{told}");
}
