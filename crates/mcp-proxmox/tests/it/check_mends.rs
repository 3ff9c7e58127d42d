//! The lines of `check`, typed on a node one after the other: they give all that is missing, and take nothing away.

use pve_sim::{Cluster, Guest, Role, Rule, Sim};
use serde_json::json;

use crate::{
    owner,
    process::{program_for, run},
};

const TOKEN: &str = "svc@pve!tool";

/// The roles of the page on tokens.
fn role(name: &str) -> Role {
    match name {
        "PVEAuditor" => Role::auditor(),
        "MCPSyslog" => Role::new(name, &["Sys.Syslog"]),
        "MCPConsole" => Role::new(name, &["VM.Console"]),
        "MCPBackup" => Role::new(name, &["Datastore.AllocateSpace", "VM.Backup"]),
        "MCPOperate" => Role::new(name, &["VM.PowerMgmt"]),
        "PVEVMUser" => Role::vm_user(),
        other => panic!("there is no {other}"),
    }
}

/// A cluster whose token has these roles on these paths: guests 130 and 131 in no pool, 112 in one.
async fn sim(given: &[(&str, &str)], is_separated: bool) -> Sim {
    let mut cluster = Cluster::of_nodes(Some("lab"), &["pve1"]);
    cluster.pools = vec!["ai".to_owned()];
    cluster.guests = [112, 130, 131].map(|vmid| Guest::vm(vmid, "pve1", "app").running(100)).into();
    cluster.guests[0].pool = Some("ai".to_owned());
    if is_separated {
        cluster.separated_token(TOKEN, "secret");
    } else {
        cluster.token(TOKEN, "secret");
    }
    for (path, roles) in given {
        for name in roles.split(',') {
            cluster.grant(path, "svc@pve", role(name));
            if is_separated {
                cluster.grant(path, TOKEN, role(name));
            }
        }
    }
    Sim::start(cluster).await.unwrap()
}

/// What `check` says in the tier `write`, and the lines to type of it.
fn checked(sim: &Sim) -> (String, String) {
    let mut command = program_for(sim, TOKEN, "secret");
    command.env("PVE_ACCESS_TIER", "write").arg("check");
    let (_, told, _) = tokio::task::block_in_place(|| run(&mut command));
    let lines = told.lines().filter_map(|line| line.strip_prefix("      pveum "));
    let lines: Vec<_> = lines.map(|line| format!("pveum {line}")).collect();
    let lines = lines.join("\n");
    (told, lines)
}

/// What is not seen as a whole.
fn missing(told: &str) -> Vec<&str> {
    let sees = told.lines().filter(|line| line.starts_with("sees  "));
    sees.filter(|line| !line.contains(" all of ") && !line.contains("pending updates")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_check_prints_gives_everything_when_it_is_typed_whatever_is_there() {
    let all = "PVEAuditor,MCPSyslog,MCPConsole,MCPBackup,MCPOperate";
    let looks = "PVEAuditor,MCPSyslog,MCPConsole,MCPBackup";
    let operates = "PVEAuditor,MCPOperate";
    let beginnings: [(&str, &[(&str, &str)]); 14] = [
        ("nothing", &[]),
        ("/ for auditing", &[("/", "PVEAuditor")]),
        ("/ for all that looks", &[("/", looks)]),
        ("/ and /vms", &[("/", looks), ("/vms", operates)]),
        ("everything on /, and /vms hides it", &[("/", all), ("/vms", operates)]),
        ("/ and /vms/130", &[("/", looks), ("/vms/130", operates)]),
        ("everything on /, and /vms/130 hides it", &[("/", all), ("/vms/130", "PVEAuditor")]),
        ("all three", &[("/", looks), ("/vms", operates), ("/vms/130", "PVEAuditor,MCPConsole")]),
        ("the pool", &[("/pool/ai", operates)]),
        ("/ and the pool", &[("/", looks), ("/pool/ai", "MCPOperate")]),
        (
            "/, the pool and a guest",
            &[("/", looks), ("/pool/ai", operates), ("/vms/131", operates)],
        ),
        (
            "a guest of the pool",
            &[("/", looks), ("/pool/ai", operates), ("/vms/112", "PVEAuditor")],
        ),
        ("PVE's own role on a guest", &[("/", "PVEAuditor"), ("/vms/130", "PVEVMUser")]),
        ("a storage", &[("/", all), ("/storage/nas", "PVEAuditor")]),
    ];
    for (beginning, given) in beginnings {
        for is_separated in [false, true] {
            let sim = sim(given, is_separated).await;
            let (before, lines) = checked(&sim);
            assert!(!missing(&before).is_empty() && !lines.is_empty(), "{beginning}: {before}");
            owner::types(&sim, &lines);
            let (after, more) = checked(&sim);
            assert_eq!(
                missing(&after),
                Vec::<&str>::new(),
                "{beginning}, {is_separated}: {before}\n{after}"
            );
            assert_eq!(more, "", "{beginning}: {after}");
            assert!(after.contains("writes      on 3 of 3 VMs"), "{beginning}: {after}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_line_of_check_takes_away_what_one_before_it_gave() {
    let sim = sim(&[], true).await;
    let (told, lines) = checked(&sim);
    let acl = |path: &str, roles: &str| {
        format!("pveum acl modify {path} --users 'svc@pve' --tokens '{TOKEN}' --roles {roles}")
    };
    let given: Vec<_> = lines
        .lines()
        .filter(|line| line.contains(" acl "))
        .map(|line| line.split("   #").next().unwrap())
        .collect();
    let everything = "PVEAuditor,MCPConsole,MCPBackup,MCPOperate";
    assert_eq!(
        given,
        [
            acl("/", "PVEAuditor"),
            acl("/", "MCPSyslog"),
            acl("/", "MCPConsole"),
            acl("/", "MCPBackup"),
            acl("/vms", everything)
        ],
        "{told}"
    );
    assert!(told.contains("leave out what you leave out above"), "{told}");
    // Line by line, nothing is seen less than before.
    let mut n_missing = missing(&told).len();
    for line in lines.lines().filter(|line| line.contains(" acl ")) {
        let roles = lines.lines().filter(|line| line.contains(" role add "));
        let roles: Vec<_> = roles.map(|line| format!("{line}, may be there already")).collect();
        owner::types(&sim, &format!("{}\n{line}", roles.join("\n")));
        let (told, _) = checked(&sim);
        assert!(missing(&told).len() <= n_missing, "{line}: {told}");
        n_missing = missing(&told).len();
    }
    assert_eq!(n_missing, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_entry_hides_is_given_where_it_is_hidden_and_not_where_it_is_there() {
    let all = "PVEAuditor,MCPSyslog,MCPConsole,MCPBackup,MCPOperate";
    for path in ["/vms", "/vms/130"] {
        let sim = sim(&[("/", all), (path, "PVEAuditor,MCPOperate")], false).await;
        let (told, lines) = checked(&sim);
        let wanted = format!(
            "pveum acl modify {path} --users 'svc@pve' --tokens '{TOKEN}' --roles PVEAuditor,MCPConsole,MCPBackup,MCPOperate"
        );
        let given: Vec<_> = lines.lines().filter(|line| line.contains(" acl ")).collect();
        assert_eq!(given.len(), 1, "{told}");
        assert!(given[0].starts_with(&wanted), "{told}");
        for line in lines.lines().filter(|line| line.contains(" role add ")) {
            assert!(line.ends_with("; may be there already"), "{line}");
        }
        assert!(told.contains(&format!("needs VM.Console on {path}\n")), "{told}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_shell_would_read_otherwise_is_in_no_line_and_many_paths_are_not_all_named() {
    let sim = sim(&[("/", "PVEAuditor")], false).await;
    let held = json!({ "VM.Audit": 1 });
    let mut rights = json!({ "/vms/$(reboot)": { "VM.Backup": 1 } });
    for root in ["/", "/nodes", "/pool", "/sdn", "/storage", "/vms"] {
        rights[root] = held.clone();
    }
    for vmid in 100..110 {
        rights[format!("/vms/{vmid}")] = json!({ "VM.Backup": 1 });
    }
    sim.answer(Rule::get("/access/permissions").data(&rights));
    let (told, lines) = checked(&sim);
    assert!(!lines.contains('$'), "{lines}");
    assert_eq!(
        lines.lines().filter(|line| line.contains(" acl modify /vms/")).count(),
        5,
        "{told}"
    );
    assert!(
        told.contains("6 more paths have entries of their own: ask again afterwards"),
        "{told}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pool_adds_to_what_its_guests_have_and_a_guests_own_entry_takes_its_place() {
    let looks = "PVEAuditor,MCPSyslog,MCPConsole,MCPBackup";
    for (path, acts_on, sees) in
        [("/pool/ai", "only /vms/112", "all"), ("/vms/130", "only /vms/130", "all but /vms/130")]
    {
        let sim = sim(&[("/", looks), (path, "PVEAuditor,MCPOperate")], false).await;
        let (told, lines) = checked(&sim);
        for (seen, what) in
            [(acts_on, "starting, stopping"), (sees, "consoles and screens"), (sees, "backups")]
        {
            assert!(told.contains(&format!("sees        {seen} of {what}")), "{path}: {told}");
        }
        assert!(!lines.contains("/vms/112"), "nothing of its own is there: {lines}");
        assert_eq!(lines.contains("/vms/130"), path == "/vms/130", "{lines}");
    }
}
