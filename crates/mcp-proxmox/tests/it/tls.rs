//! The four ways to trust a server, through the real program.

use pve_sim::{CertificateKind, Cluster, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET, Options, Sim};

use crate::process::{program_for, run};

async fn sim(certificate: CertificateKind) -> Sim {
    Sim::start_with(Cluster::demo(), Options { certificate, ..Options::default() }).await.unwrap()
}

/// Lists the nodes with these settings instead of the pinned fingerprint.
fn list(sim: &Sim, settings: &[(&str, &str)]) -> (i32, String, String) {
    let mut command = program_for(sim, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET);
    command.env_remove("PVE_TLS_FINGERPRINT").envs(settings.iter().copied());
    tokio::task::block_in_place(|| run(command.args(["call", "list_nodes"])))
}

#[tokio::test(flavor = "multi_thread")]
async fn q015_an_unknown_issuer_is_refused_with_the_three_ways_out() {
    let sim = sim(CertificateKind::ClusterCa).await;
    let (code, _, told) = list(&sim, &[]);
    assert_eq!(code, 1);
    let place =
        |word: &str| told.find(word).unwrap_or_else(|| panic!("`{word}` is missing in: {told}"));
    assert!(told.contains("127.0.0.1") && told.contains(sim.fingerprint()), "{told}");
    assert!(place("PVE_TLS_CA_FILE") < place("PVE_TLS_FINGERPRINT"), "{told}");
    assert!(place("PVE_TLS_FINGERPRINT") < place("PVE_TLS_REJECT_UNAUTHORIZED"), "{told}");
    assert!(sim.requests().is_empty(), "the token was sent to a server that is not trusted");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_clusters_own_authority_is_enough() {
    let sim = sim(CertificateKind::ClusterCa).await;
    let mut file = std::env::temp_dir();
    file.push(format!("mcp-proxmox-ca-{}.pem", sim.port()));
    std::fs::write(&file, sim.ca_pem()).unwrap();
    let (code, stdout, told) = list(&sim, &[("PVE_TLS_CA_FILE", file.to_str().unwrap())]);
    std::fs::remove_file(&file).unwrap();
    assert_eq!(code, 0, "{told}");
    assert!(stdout.contains("online"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pinned_fingerprint_is_enough_and_a_changed_one_is_refused() {
    let sim = sim(CertificateKind::SelfSigned).await;
    let (code, _, told) = list(&sim, &[("PVE_TLS_FINGERPRINT", sim.fingerprint())]);
    assert_eq!(code, 0, "{told}");
    let other = vec!["00"; 32].join(":");
    let (code, _, told) = list(&sim, &[("PVE_TLS_FINGERPRINT", &other)]);
    assert_eq!(code, 1);
    assert!(told.contains(sim.fingerprint()), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn q016_a_wrong_name_is_told_with_the_names_and_mended_by_the_right_one() {
    let sim = sim(CertificateKind::WrongName).await;
    let mut file = std::env::temp_dir();
    file.push(format!("mcp-proxmox-name-{}.pem", sim.port()));
    std::fs::write(&file, sim.ca_pem()).unwrap();
    let path = file.to_str().unwrap().to_owned();
    let (code, _, told) = list(&sim, &[("PVE_TLS_CA_FILE", &path)]);
    assert_eq!(code, 1);
    assert!(told.contains("PVE_TLS_SERVER_NAME"), "{told}");
    let name = told.split('`').find(|word| word.contains(".example"));
    let name = name.unwrap_or_else(|| panic!("the certificate's names are missing in: {told}"));
    let (code, _, told) = list(&sim, &[("PVE_TLS_CA_FILE", &path), ("PVE_TLS_SERVER_NAME", name)]);
    std::fs::remove_file(&file).unwrap();
    assert_eq!(code, 0, "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn expired_and_not_yet_valid_are_told_apart() {
    for (certificate, word) in
        [(CertificateKind::Expired, "expired"), (CertificateKind::NotYetValid, "not valid before")]
    {
        let sim = sim(certificate).await;
        let mut file = std::env::temp_dir();
        file.push(format!("mcp-proxmox-date-{}.pem", sim.port()));
        std::fs::write(&file, sim.ca_pem()).unwrap();
        let (code, _, told) = list(&sim, &[("PVE_TLS_CA_FILE", file.to_str().unwrap())]);
        std::fs::remove_file(&file).unwrap();
        assert_eq!(code, 1);
        assert!(told.contains(word), "{told}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn verification_can_be_turned_off_with_a_warning() {
    let sim = sim(CertificateKind::SelfSigned).await;
    let (code, _, told) = list(&sim, &[("PVE_TLS_REJECT_UNAUTHORIZED", "false")]);
    assert_eq!(code, 0, "{told}");
    assert_eq!(told.matches("warning").count(), 1, "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn q018_plain_http_never_gets_the_token() {
    let sim = Sim::start_with(Cluster::demo(), Options { plain_http: true, ..Options::default() })
        .await
        .unwrap();
    for settings in [&[][..], &[("PVE_TLS_REJECT_UNAUTHORIZED", "false")]] {
        let (code, _, told) = list(&sim, settings);
        assert_eq!(code, 1, "{told}");
        assert!(sim.requests().is_empty(), "a request went over plain HTTP");
    }
}
