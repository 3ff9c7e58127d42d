//! Everything that may listen where PVE should, under every way to trust it: what comes of it, in one table,
//! and what is said of it, in one snapshot.

mod fronts;

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

use mcp_proxmox::{
    config::{Config, settings::Setting},
    tier::{Access, Level},
};
use pve_client::{CaBundle, Error, Reader, Settings, TlsProblem, Trust, UnsentKind, version};
use pve_sim::{DEMO_TOKEN_ID, DEMO_TOKEN_SECRET};
use serde_json::json;

use self::fronts::{Authority, Front, Identity, Kind, NAME};
use crate::support::{call_on, server, structured, text};

/// `ok` is a whole answer. Anything else is why nothing was sent: nobody who is trusted has signed (`issuer`),
/// the name, the date, the pin, an authority's certificate used as a server's (`authority`), old TLS, no TLS, or
/// the end of the connection (`closed`).
///
/// A date and the mark of an authority are looked at before the signature is.
///
/// `CA file` is that of the cluster's own authority, or a self-signed certificate itself. `name` is the same
/// with `PVE_TLS_SERVER_NAME=pve1.lan` (for the public chain, with the public root).
const OUTCOMES: &str = "
listens                  strict     CA file    pin        name       off
public chain             ok         issuer     ok         ok         ok
PVE's own CA             issuer     ok         ok         ok         ok
self-signed              issuer     ok         ok         ok         ok
CA-flagged self-signed   authority  authority  ok         authority  ok
expired                  date       date       ok         date       ok
not yet valid            date       date       ok         date       ok
wrong name               issuer     name       ok         ok         ok
IP certificate           issuer     ok         ok         name       ok
IPv6                     issuer     ok         ok         ok         ok
renewed                  issuer     ok         pin        ok         ok
TLS 1.2 only             issuer     ok         ok         ok         ok
TLS 1.0 only             old        old        old        old        old
plain HTTP               no-TLS     no-TLS     no-TLS     no-TLS     no-TLS
garbage                  no-TLS     no-TLS     no-TLS     no-TLS     no-TLS
hangs up                 closed     closed     closed     closed     closed
";

const COLUMNS: [&str; 5] = ["strict", "CA file", "pin", "name", "off"];

const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// One line of the table.
struct Row {
    listens: &'static str,
    front: Front,
    /// What `PVE_HOST` says, without the port.
    host: &'static str,
    /// The certificate that is shown at first.
    identity: Option<Identity>,
    /// The one that is shown after the first answer.
    renewed: Option<Identity>,
}

struct World {
    own: Authority,
    /// A root that stands for those that are bundled: what strict mode does with it is the same, and only the
    /// list is another (`pve-client` tests that).
    public: Authority,
}

impl World {
    fn new() -> Self {
        Self {
            own: Authority::root("PVE Cluster Manager CA"),
            public: Authority::root("Example Public Root X1"),
        }
    }

    async fn rows(&self) -> Vec<Row> {
        let usual = Kind::USUAL;
        let between = self.public.below("Example Public CA R3");
        let of_names = |names| self.own.sign(Kind { names, ..usual });
        let of_years = |years| self.own.sign(Kind { years, ..usual });
        let mut rows = Vec::new();
        for (listens, identity) in [
            ("public chain", between.sign_and_show(Kind { names: &["localhost", NAME], ..usual })),
            ("PVE's own CA", self.own.sign(usual)),
            ("self-signed", usual.self_signed()),
            ("CA-flagged self-signed", Kind { is_ca: true, ..usual }.self_signed()),
            ("expired", of_years((2020, 2022))),
            ("not yet valid", of_years((2200, 2202))),
            ("wrong name", of_names(&["pve1", NAME, "192.0.2.7"])),
            ("IP certificate", of_names(&["127.0.0.1"])),
        ] {
            let front = Front::tls(LOOPBACK, &identity).await;
            let host = if listens == "public chain" { "localhost" } else { "127.0.0.1" };
            rows.push(Row { listens, front, host, identity: Some(identity), renewed: None });
        }
        let identity = self.own.sign(usual);
        if std::net::TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).is_ok() {
            let front = Front::tls(IpAddr::V6(Ipv6Addr::LOCALHOST), &identity).await;
            let identity = Some(identity);
            rows.push(Row { listens: "IPv6", front, host: "[::1]", identity, renewed: None });
        }
        let host = "127.0.0.1";
        let (identity, renewed) = (self.own.sign(usual), Some(self.own.sign(usual)));
        let front = Front::tls(LOOPBACK, &identity).await;
        rows.push(Row { listens: "renewed", front, host, identity: Some(identity), renewed });
        let identity = self.own.sign(usual);
        let front = Front::tls_1_2(LOOPBACK, &identity).await;
        let identity = Some(identity);
        rows.push(Row { listens: "TLS 1.2 only", front, host, identity, renewed: None });
        for (listens, front) in [
            ("TLS 1.0 only", Front::tls_1_0(LOOPBACK).await),
            ("plain HTTP", Front::plain(LOOPBACK).await),
            ("garbage", Front::garbage(LOOPBACK).await),
            ("hangs up", Front::hanging_up(LOOPBACK).await),
        ] {
            rows.push(Row { listens, front, host, identity: None, renewed: None });
        }
        rows
    }

    /// The settings as a user writes them, read as the program reads them.
    fn settings(&self, row: &Row, column: &str) -> Settings {
        let is_public = row.listens == "public chain";
        let is_self_signed = row.listens.contains("self-signed");
        let authority = match &row.identity {
            Some(identity) if is_self_signed => &identity.pem,
            _ if is_public && column == "name" => &self.public.pem,
            _ => &self.own.pem,
        };
        let file = std::env::temp_dir().join(format!(
            "mcp-proxmox-matrix-{}-{}.pem",
            row.front.address.port(),
            COLUMNS.iter().position(|other| *other == column).unwrap()
        ));
        std::fs::write(&file, authority).unwrap();
        let nobodys = vec!["00"; 32].join(":");
        let pin = row.identity.as_ref().map_or(nobodys, Identity::fingerprint);
        let host = format!("{}:{}", row.host, row.front.address.port());
        let mut written = vec![
            ("PVE_HOST", host.as_str()),
            ("PVE_TOKEN_ID", DEMO_TOKEN_ID),
            ("PVE_TOKEN_SECRET", DEMO_TOKEN_SECRET),
        ];
        match column {
            "CA file" => written.push(("PVE_TLS_CA_FILE", file.to_str().unwrap())),
            "pin" => written.push(("PVE_TLS_FINGERPRINT", &pin)),
            "name" => written.extend([
                ("PVE_TLS_CA_FILE", file.to_str().unwrap()),
                ("PVE_TLS_SERVER_NAME", NAME),
            ]),
            "off" => written.push(("PVE_TLS_REJECT_UNAUTHORIZED", "false")),
            _ => {}
        }
        let written: BTreeMap<_, _> = written.into_iter().collect();
        let source = |setting: &Setting| written.get(setting.variable).map(ToString::to_string);
        let mut settings = Config::read(&source).unwrap().pve;
        std::fs::remove_file(&file).unwrap();
        if is_public && column == "strict" {
            let bundle = CaBundle::from_pem(self.public.pem.as_bytes()).unwrap();
            settings.tls.trust = Trust::Ca(bundle);
        }
        settings
    }
}

/// What came of it, in a word.
fn outcome(result: Result<version::Version, Error>) -> &'static str {
    let Err(error) = result else { return "ok" };
    assert!(!error.may_have_taken_effect(), "{error}");
    let Error::Unsent(unsent) = error else { panic!("it was sent: {error}") };
    let UnsentKind::Tls(problem) = unsent.kind else { panic!("{unsent}") };
    match *problem {
        TlsProblem::UnknownIssuer { .. } => "issuer",
        TlsProblem::WrongName { .. } => "name",
        TlsProblem::Expired { .. } | TlsProblem::NotYetValid { .. } => "date",
        TlsProblem::NotPinned { .. } => "pin",
        TlsProblem::AuthorityAsServer { .. } => "authority",
        TlsProblem::TooOld => "old",
        TlsProblem::NotTls => "no-TLS",
        TlsProblem::Closed => "closed",
        other => panic!("no word for {other:?}"),
    }
}

/// One cell: what came of it, and what was said where nothing was sent.
async fn cell(world: &World, row: &Row, column: &str) -> (&'static str, Option<String>) {
    let reader = Reader::new(world.settings(row, column));
    if let (Some(first), Some(second)) = (&row.identity, &row.renewed) {
        row.front.renew(first);
        if column != "strict" {
            reader.get(version::version()).await.unwrap();
        }
        row.front.renew(second);
        row.front.sim.forget_requests();
    }
    let came = outcome(reader.get(version::version()).await);
    let answer = call_on(server(Access::new(Level::Read, reader)), "list_nodes", json!({})).await;
    let seen = row.front.sim.requests();
    if came == "ok" {
        assert!(structured(&answer)["nodes"].is_object());
        assert!(seen.len() >= 2);
        row.front.sim.forget_requests();
        return (came, None);
    }
    let place = (row.listens, column);
    assert!(seen.is_empty(), "{place:?}: the token went to somebody who is not trusted: {seen:?}");
    assert_eq!(answer.is_error, Some(true), "{place:?}");
    (came, Some(text(&answer)))
}

/// What must be in every such text, whatever it is about.
fn judge(row: &Row, column: &str, came: &str, told: &str) {
    let place = (row.listens, column);
    let shown = row.renewed.as_ref().or(row.identity.as_ref()).map(Identity::fingerprint);
    assert!(told.contains(&format!("`{}:{}`", row.host, row.front.address.port())), "{place:?}");
    assert!(told.contains("\n\nhint: only "), "{place:?}: {told}");
    if let Some(fingerprint) = shown {
        assert!(told.contains(&fingerprint), "{place:?}: nothing to compare: {told}");
        assert!(told.contains("PVE_TLS_FINGERPRINT"), "{place:?}: {told}");
    }
    if let Some(off) = told.find("PVE_TLS_REJECT_UNAUTHORIZED") {
        let safe = told.find("PVE_TLS_CA_FILE").or(told.find("PVE_TLS_FINGERPRINT"));
        assert!(safe.is_some_and(|safe| safe < off), "{place:?}: `off` comes first: {told}");
        assert_eq!(came, "issuer", "{place:?}: `off` is no way out: {told}");
    }
    if let Some(facts) = match (came, row.listens) {
        ("issuer", "public chain") => Some("Example Public CA R3"),
        ("issuer", listens) if listens.contains("self-signed") => Some("itself"),
        ("issuer", _) => Some("PVE Cluster Manager CA"),
        ("name", "wrong name") => {
            Some("not for `127.0.0.1` but for `pve1`, `pve1.lan`, `192.0.2.7`")
        }
        ("name", _) => Some("not for `pve1.lan` but for `127.0.0.1`"),
        ("date", "expired") => Some("PVE Cluster Manager CA`, expired on 2022-01-01"),
        ("date", _) => Some("PVE Cluster Manager CA`, is not valid before 2200-01-01"),
        ("old", _) => Some("TLS 1.2"),
        ("no-TLS", _) => Some("8006"),
        _ => None,
    } {
        assert!(told.contains(facts), "{place:?}: `{facts}` is missing: {told}");
    }
    assert!(told.split_whitespace().count() <= 120, "{place:?}: {told}");
}

/// The text without what differs from run to run.
fn steady(row: &Row, told: &str) -> String {
    let mut told = told.replace(&row.front.address.port().to_string(), "8006");
    let names = [(&row.identity, "[the certificate's]"), (&row.renewed, "[the renewed one's]")];
    for (identity, name) in names {
        if let Some(identity) = identity {
            told = told.replace(&identity.fingerprint(), name);
        }
    }
    told
}

#[tokio::test]
async fn every_certificate_under_every_kind_of_trust_has_its_outcome_and_is_told_with_a_way_out() {
    let world = World::new();
    let mut table = format!("\n{:<25}", "listens");
    for column in COLUMNS {
        write!(table, "{column:<11}").unwrap();
    }
    let mut texts: Vec<(String, Vec<String>)> = Vec::new();
    let rows = world.rows().await;
    for row in &rows {
        write!(table, "\n{:<25}", row.listens).unwrap();
        for column in COLUMNS {
            let (came, told) = cell(&world, row, column).await;
            write!(table, "{came:<11}").unwrap();
            let Some(told) = told else { continue };
            judge(row, column, came, &told);
            let (place, told) = (format!("{}, {column}", row.listens), steady(row, &told));
            match texts.iter_mut().find(|(known, _)| *known == told) {
                Some((_, places)) => places.push(place),
                None => texts.push((told, vec![place])),
            }
        }
    }
    let has_ipv6 = rows.iter().any(|row| row.listens == "IPv6");
    if !has_ipv6 {
        let why = std::net::TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).unwrap_err();
        println!("left out: the row of IPv6, since nothing can listen on ::1 here: {why}");
    }
    let is_left_out = |line: &&str| line.starts_with("IPv6") && !has_ipv6;
    let expected: Vec<_> = OUTCOMES.lines().filter(|line| !is_left_out(line)).collect();
    let table: Vec<_> = table.lines().map(str::trim_end).collect();
    assert_eq!(table.join("\n"), expected.join("\n"), "\n{}", table.join("\n"));
    let told = texts.iter().map(|(told, places)| format!("## {}\n\n{told}\n", places.join("; ")));
    // The row of IPv6 says what others say, but for its address.
    let told: Vec<_> = told.filter(|text| !text.starts_with("## IPv6")).collect();
    insta::assert_snapshot!(told.join("\n"));
}

#[tokio::test]
async fn strict_mode_knows_no_root_but_the_public_ones() {
    let world = World::new();
    let rows = world.rows().await;
    let row = &rows[0];
    let mut settings = world.settings(row, "strict");
    settings.tls.trust = Trust::PublicRoots;
    assert_eq!(outcome(Reader::new(settings).get(version::version()).await), "issuer");
    assert!(row.front.sim.requests().is_empty());
}
