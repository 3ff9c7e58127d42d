//! What tokens may do and see: the table of permissions, and how lists shrink.

use serde_json::Value;

use crate::{
    Cluster, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET, Guest, LAB_SECRET, Role, Sim, permission::Rights,
    tests::client::get,
};

/// A cluster with one guest in a pool, one outside, and a token of everybody who is named in
/// `entries`.
fn cluster(entries: &[(&str, &str, Role)]) -> Cluster {
    let mut cluster = Cluster::of_nodes(Some("c"), &["pve1"]);
    cluster.pools = vec!["prod".to_owned()];
    cluster.guests = vec![Guest::vm(100, "pve1", "a"), Guest::vm(101, "pve1", "b")];
    cluster.guests[0].pool = Some("prod".to_owned());
    cluster
        .token("u@pve!t", "s")
        .separated_token("u@pve!sep", "s")
        .separated_token("root@pam!sep", "s");
    for (path, who, role) in entries {
        cluster.grant(path, who, role.clone());
    }
    cluster
}

#[test]
fn entries_propagate_and_deeper_ones_replace_them() {
    let mut cluster =
        cluster(&[("/", "u@pve", Role::auditor()), ("/vms/100", "u@pve", Role::vm_user())]);
    let rights = Rights::of(&cluster, "u@pve!t");
    assert!(rights.has("/nodes/pve1", "Sys.Audit") && rights.has("/vms/101", "VM.Audit"));
    assert!(!rights.has("/vms/101", "VM.PowerMgmt") && rights.has("/vms/100", "VM.PowerMgmt"));
    // The deeper entry is instead of the one above, not beside it.
    assert!(!rights.has("/vms/100", "Sys.Audit"));
    cluster.acl[0].propagate = false;
    let rights = Rights::of(&cluster, "u@pve!t");
    assert!(rights.has("/", "Sys.Audit") && !rights.has("/nodes/pve1", "Sys.Audit"));
}

#[test]
fn a_users_own_entry_wins_over_its_groups() {
    let mut cluster =
        cluster(&[("/", "@staff", Role::administrator()), ("/vms", "u@pve", Role::auditor())]);
    cluster.users.push(crate::User {
        id: "u@pve".to_owned(),
        groups: vec!["staff".to_owned()],
        enabled: true,
    });
    let rights = Rights::of(&cluster, "u@pve!t");
    assert!(rights.has("/storage/local", "Datastore.Allocate"));
    assert!(rights.has("/vms/100", "VM.Audit") && !rights.has("/vms/100", "VM.PowerMgmt"));
}

#[test]
fn no_access_takes_away_what_is_given_beside_it() {
    let cluster = cluster(&[
        ("/", "u@pve", Role::auditor()),
        ("/vms/100", "u@pve", Role::vm_user()),
        ("/vms/100", "u@pve", Role::no_access()),
    ]);
    let rights = Rights::of(&cluster, "u@pve!t");
    assert!(!rights.has("/vms/100", "VM.Audit") && rights.has("/vms/101", "VM.Audit"));
}

#[test]
fn a_separated_token_has_what_both_it_and_its_user_have() {
    let cluster = cluster(&[
        ("/", "u@pve", Role::auditor()),
        ("/vms/100", "u@pve!sep", Role::administrator()),
        ("/nodes", "root@pam!sep", Role::auditor()),
    ]);
    let rights = Rights::of(&cluster, "u@pve!sep");
    assert!(rights.has("/vms/100", "VM.Audit") && !rights.has("/vms/100", "VM.PowerMgmt"));
    assert!(!rights.has("/vms/101", "VM.Audit"));
    // The user's own right is untouched by what its token lacks.
    assert!(Rights::of(&cluster, "u@pve!t").has("/vms/101", "VM.Audit"));
    let of_root = Rights::of(&cluster, "root@pam!sep");
    assert!(of_root.has("/nodes/pve1", "Sys.Audit") && !of_root.has("/", "Sys.Audit"));
    assert!(Rights::of(&cluster, "u@pve!unknown").everything().is_empty());
}

#[test]
fn a_pools_rights_hold_for_its_guests() {
    let cluster = cluster(&[("/pool/prod", "u@pve", Role::vm_user())]);
    let rights = Rights::of(&cluster, "u@pve!t");
    assert!(rights.has_on_guest(100, Some("prod"), "VM.PowerMgmt"));
    assert!(!rights.has_on_guest(101, None, "VM.PowerMgmt"));
    assert!(rights.everything().contains_key("/vms/100"));
}

#[test]
fn what_does_not_propagate_is_told_apart() {
    let mut cluster = cluster(&[("/vms", "u@pve", Role::auditor())]);
    cluster.acl[0].propagate = false;
    let everything = Rights::of(&cluster, "u@pve!t").everything();
    assert!(everything["/vms"].privileges.contains("VM.Audit"));
    assert!(!everything["/vms"].propagating.contains("VM.Audit"));
    assert!(!everything.contains_key("/vms/100"));
}

#[tokio::test]
async fn lists_shrink_without_a_word_and_single_reads_are_refused() {
    let sim = Sim::start(cluster(&[("/vms/101", "u@pve", Role::auditor())])).await.unwrap();
    let token = ("u@pve!t", "s");
    let list = get(&sim, "/nodes/pve1/qemu", token).await.data();
    let numbers: Vec<&Value> = list.as_array().unwrap().iter().map(|row| &row["vmid"]).collect();
    assert_eq!(numbers, [101]);
    let refused = get(&sim, "/nodes/pve1/qemu/100/status/current", token).await;
    assert_eq!(refused.status, 403);
    assert_eq!(refused.reason, "Permission check failed (/vms/100, VM.Audit)");
    assert_eq!(refused.json()["message"], "Permission check failed (/vms/100, VM.Audit)\n");
    // Whether a guest exists is nobody's business without rights.
    let absent = get(&sim, "/nodes/pve1/qemu/999/status/current", token).await;
    assert_eq!(
        (absent.status, absent.reason.as_str()),
        (403, "Permission check failed (/vms/999, VM.Audit)")
    );
}

#[tokio::test]
async fn a_change_of_rights_counts_at_once() {
    let sim = Sim::start(cluster(&[])).await.unwrap();
    let token = ("u@pve!t", "s");
    let count = |list: Value| list.as_array().unwrap().len();
    assert_eq!(count(get(&sim, "/cluster/resources?type=vm", token).await.data()), 0);
    sim.change(|cluster| {
        cluster.grant("/", "u@pve", Role::auditor());
    });
    assert_eq!(count(get(&sim, "/cluster/resources?type=vm", token).await.data()), 2);
}

#[tokio::test]
async fn wrong_expired_and_disabled_tokens_look_the_same() {
    let sim = Sim::start(Cluster::lab()).await.unwrap();
    let tokens = [
        ("root@pam!lab", "wrong"),
        ("root@pam!nobody", LAB_SECRET),
        ("monitor@pve!expired", LAB_SECRET),
        ("disabled@pve!tok", LAB_SECRET),
    ];
    for token in tokens {
        let got = get(&sim, "/version", token).await;
        assert_eq!((got.status, got.reason.as_str()), (401, "Authentication failed!"), "{token:?}");
        assert!(got.body.is_empty() && got.header("content-type").is_empty(), "{token:?}");
    }
}

#[tokio::test]
async fn the_demo_token_sees_everything() {
    let sim = Sim::start(Cluster::demo()).await.unwrap();
    let list = get(&sim, "/cluster/resources", (DEMO_TOKEN_ID, DEMO_TOKEN_SECRET)).await.data();
    let of_type =
        |kind: &str| list.as_array().unwrap().iter().filter(|row| row["type"] == kind).count();
    assert_eq!((of_type("node"), of_type("qemu") + of_type("lxc"), of_type("pool")), (3, 25, 3));
    assert_eq!(of_type("storage"), 12);
}
