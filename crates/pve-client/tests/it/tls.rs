//! Each kind of trust, and each way in which it can be missing.

use pve_client::{Tls, TlsProblem, Trust, version::version};
use rcgen::date_time_ymd;

use crate::{
    certificates::{Authority, Identity, params},
    server::{self, Reply, Server},
    settings::{ca, reader_with, tls_problem},
};

async fn serve(identity: &Identity) -> Server {
    Server::start_with(identity, |_| Reply::Send(server::version())).await
}

fn pinned(fingerprints: &[&str]) -> Tls {
    let fingerprints = fingerprints.iter().map(|text| text.parse().unwrap()).collect();
    Tls { trust: Trust::Pinned(fingerprints), server_name: None }
}

/// The problem that a server of this identity is, and the message about it.
async fn problem(identity: &Identity, host: &str, tls: Tls) -> (TlsProblem, String) {
    let server = serve(identity).await;
    let error = reader_with(&server, host, tls).get(version()).await.unwrap_err();
    assert!(!error.may_have_taken_effect());
    assert!(server.seen().is_empty(), "the token was sent to a server that is not trusted");
    let shown = error.to_string();
    (tls_problem(error), shown)
}

#[tokio::test]
async fn a_certificate_of_the_given_authority_is_trusted_by_name_and_by_address() {
    let authority = Authority::new("PVE Cluster Manager CA");
    let server = serve(&authority.identity(&["localhost", "127.0.0.1"])).await;
    for host in ["localhost", "127.0.0.1"] {
        reader_with(&server, host, ca(&authority.pem())).get(version()).await.unwrap();
    }
}

#[tokio::test]
async fn a_self_signed_certificate_is_trusted_when_it_is_given_itself() {
    let identity = Identity::self_signed(&["127.0.0.1"]);
    let server = serve(&identity).await;
    reader_with(&server, "127.0.0.1", ca(&identity.pem)).get(version()).await.unwrap();
}

#[tokio::test]
async fn another_name_can_be_verified_than_that_of_the_host() {
    let authority = Authority::new("PVE Cluster Manager CA");
    let server = serve(&authority.identity(&["pve1"])).await;
    let mut tls = ca(&authority.pem());
    tls.server_name = Some("pve1".parse().unwrap());
    reader_with(&server, "127.0.0.1", tls).get(version()).await.unwrap();
}

#[tokio::test]
async fn a_wrong_name_lists_the_right_ones() {
    let authority = Authority::new("PVE Cluster Manager CA");
    let identity = authority.identity(&["pve1", "pve1.lan", "192.0.2.7"]);
    let (problem, shown) = problem(&identity, "127.0.0.1", ca(&authority.pem())).await;
    let TlsProblem::WrongName { asked, names, fingerprint } = problem else { panic!("{shown}") };
    assert_eq!((asked.as_str(), names.len()), ("127.0.0.1", 3));
    assert_eq!(fingerprint.to_string(), identity.fingerprint());
    assert!(
        shown.contains("not for `127.0.0.1` but for `pve1`, `pve1.lan`, `192.0.2.7`"),
        "{shown}"
    );
}

#[tokio::test]
async fn an_unknown_issuer_is_named_with_the_fingerprint_to_compare() {
    let identity = Authority::new("PVE Cluster Manager CA").identity(&["127.0.0.1"]);
    let other = Authority::new("Somebody else");
    for tls in [Tls::default(), ca(&other.pem())] {
        let (problem, shown) = problem(&identity, "127.0.0.1", tls).await;
        assert!(matches!(problem, TlsProblem::UnknownIssuer { is_self_signed: false, .. }));
        assert_eq!(problem.presented().unwrap().to_string(), identity.fingerprint());
        assert!(shown.contains("PVE Cluster Manager CA"), "{shown}");
        assert!(shown.contains(&identity.fingerprint()), "{shown}");
    }
}

#[tokio::test]
async fn an_authority_of_the_same_name_is_another_authority() {
    let identity = Authority::new("PVE Cluster Manager CA").identity(&["127.0.0.1"]);
    let other = Authority::new("PVE Cluster Manager CA");
    let (problem, _) = problem(&identity, "127.0.0.1", ca(&other.pem())).await;
    assert!(matches!(problem, TlsProblem::UnknownIssuer { .. }), "{problem:?}");
}

#[tokio::test]
async fn a_self_signed_certificate_is_not_trusted_by_itself() {
    let identity = Identity::self_signed(&["127.0.0.1"]);
    let (problem, shown) = problem(&identity, "127.0.0.1", Tls::default()).await;
    assert!(matches!(problem, TlsProblem::UnknownIssuer { is_self_signed: true, .. }));
    assert!(shown.contains("but by itself"), "{shown}");
}

#[tokio::test]
async fn an_expired_and_a_future_certificate_tell_their_dates() {
    let authority = Authority::new("PVE Cluster Manager CA");
    let mut expired = params(&["127.0.0.1"]);
    expired.not_before = date_time_ymd(2020, 1, 1);
    expired.not_after = date_time_ymd(2022, 3, 4);
    let (problem_of_the_old, shown) =
        problem(&authority.sign(&expired), "127.0.0.1", ca(&authority.pem())).await;
    assert!(matches!(problem_of_the_old, TlsProblem::Expired { .. }));
    assert!(shown.contains("expired on 2022-03-04 00:00 UTC"), "{shown}");
    let mut future = params(&["127.0.0.1"]);
    future.not_before = date_time_ymd(2200, 1, 2);
    future.not_after = date_time_ymd(2201, 1, 1);
    let (problem, shown) =
        problem(&authority.sign(&future), "127.0.0.1", ca(&authority.pem())).await;
    assert!(matches!(problem, TlsProblem::NotYetValid { .. }));
    assert!(shown.contains("not valid before 2200-01-02 00:00 UTC"), "{shown}");
}

#[tokio::test]
async fn an_authority_is_not_a_server() {
    let mut authority_params = params(&["127.0.0.1"]);
    authority_params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let authority = Authority::new("PVE Cluster Manager CA");
    let signed = authority.sign(&authority_params);
    let (of_the_signed, _) = problem(&signed, "127.0.0.1", ca(&authority.pem())).await;
    assert!(matches!(of_the_signed, TlsProblem::AuthorityAsServer { .. }), "{of_the_signed:?}");
    let own = authority.as_identity();
    let (of_its_own, shown) = problem(&own, "127.0.0.1", ca(&authority.pem())).await;
    assert!(matches!(of_its_own, TlsProblem::AuthorityAsServer { .. }), "{of_its_own:?}");
    assert!(shown.contains(&own.fingerprint()), "{shown}");
}

#[tokio::test]
async fn a_pinned_certificate_needs_neither_issuer_nor_name_nor_date() {
    let mut expired = params(&["elsewhere"]);
    expired.not_before = date_time_ymd(2020, 1, 1);
    expired.not_after = date_time_ymd(2022, 1, 1);
    let identity = Authority::new("PVE Cluster Manager CA").sign(&expired);
    let server = serve(&identity).await;
    let other = Identity::self_signed(&["x"]).fingerprint();
    let tls = pinned(&[&other, &identity.fingerprint().to_lowercase().replace(':', "")]);
    reader_with(&server, "127.0.0.1", tls).get(version()).await.unwrap();
}

#[tokio::test]
async fn a_changed_certificate_shows_both_fingerprints() {
    let (old, new) = (Identity::self_signed(&["127.0.0.1"]), Identity::self_signed(&["127.0.0.1"]));
    let (problem, shown) = problem(&new, "127.0.0.1", pinned(&[&old.fingerprint()])).await;
    let TlsProblem::NotPinned { expected, presented } = problem else { panic!("{shown}") };
    assert_eq!(expected[0].to_string(), old.fingerprint());
    assert_eq!(presented.to_string(), new.fingerprint());
    assert!(shown.contains(&old.fingerprint()) && shown.contains(&new.fingerprint()), "{shown}");
}

#[tokio::test]
async fn whoever_presents_a_pinned_certificate_must_have_its_key() {
    let real = Identity::self_signed(&["127.0.0.1"]);
    let stolen = real.stolen();
    let (of_the_pinned, shown) =
        problem(&stolen, "127.0.0.1", pinned(&[&real.fingerprint()])).await;
    assert_eq!(of_the_pinned, TlsProblem::NotItsKey, "{shown}");
    let anything = Tls { trust: Trust::Anything, server_name: None };
    let (of_anything, _) = problem(&stolen, "127.0.0.1", anything).await;
    assert_eq!(of_anything, TlsProblem::NotItsKey);
}

#[tokio::test]
async fn the_same_holds_for_tls_1_2() {
    let real = Identity::self_signed(&["127.0.0.1"]);
    let stolen = real.stolen();
    for (identity, is_good) in [(&real, true), (&stolen, false)] {
        let config = identity.server_with(&[&rustls::version::TLS12]);
        let server = Server::start_tls(config, |_| Reply::Send(server::version())).await;
        let tls = pinned(&[&real.fingerprint()]);
        let result = reader_with(&server, "127.0.0.1", tls).get(version()).await;
        assert_eq!(result.is_ok(), is_good, "{result:?}");
        if let Err(error) = result {
            assert_eq!(tls_problem(error), TlsProblem::NotItsKey);
        }
    }
}

#[tokio::test]
async fn a_server_that_speaks_only_old_tls_is_told() {
    // The alert `protocol_version`, and a hello of TLS 1.0.
    const ALERT: &[u8] = &[0x15, 3, 1, 0, 2, 2, 70];
    const HELLO: &[u8] = &{
        let mut hello = [0; 47];
        hello[0] = 0x16;
        hello[1] = 3;
        hello[2] = 1;
        hello[4] = 42;
        hello[5] = 2;
        hello[8] = 38;
        hello[9] = 3;
        hello[10] = 1;
        hello[45] = 0x2f;
        hello
    };
    for bytes in [ALERT, HELLO] {
        let server = Server::start_raw(bytes).await;
        let reader = reader_with(&server, "127.0.0.1", Tls::default());
        let error = reader.get(version()).await.unwrap_err();
        assert_eq!(tls_problem(error), TlsProblem::TooOld);
    }
}

#[tokio::test]
async fn a_server_that_speaks_no_tls_is_told() {
    for bytes in [&b"HTTP/1.1 400 Bad Request\r\n\r\n"[..], b"SSH-2.0-OpenSSH_9.9\r\n"] {
        let server = Server::start_raw(bytes).await;
        let reader = reader_with(&server, "127.0.0.1", Tls::default());
        let error = reader.get(version()).await.unwrap_err();
        assert_eq!(tls_problem(error), TlsProblem::NotTls);
    }
}

#[tokio::test]
async fn a_server_that_hangs_up_or_refuses_is_told() {
    let server = Server::start_raw(b"").await;
    let reader = reader_with(&server, "127.0.0.1", Tls::default());
    assert_eq!(tls_problem(reader.get(version()).await.unwrap_err()), TlsProblem::Closed);
    // The alert `handshake_failure`.
    let server = Server::start_raw(&[0x15, 3, 3, 0, 2, 2, 40]).await;
    let reader = reader_with(&server, "127.0.0.1", Tls::default());
    let problem = tls_problem(reader.get(version()).await.unwrap_err());
    assert!(matches!(problem, TlsProblem::RefusedByPeer(_)), "{problem:?}");
}
