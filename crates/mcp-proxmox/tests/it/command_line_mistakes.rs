//! Mistakes in settings, and settings without effect: told by every command, whether it needs them or not.

use crate::process::{program, run};

#[test]
fn tools_reports_every_mistake_in_a_setting_that_is_given() {
    let (code, stdout, stderr) = run(program().args([
        "tools",
        "--allow-vms",
        "abc",
        "--output",
        "foo",
        "--timezone",
        "Mars/X",
        "--timeout-seconds",
        "abc",
        "--port",
        "x",
    ]));
    assert_eq!((code, stdout.as_str()), (2, ""));
    for variable in
        ["PVE_ALLOW_VMS", "PVE_OUTPUT", "PVE_TIMEZONE", "PVE_TIMEOUT_SECONDS", "PVE_PORT"]
    {
        assert!(stderr.contains(&format!("{variable}: ")), "{variable}: {stderr}");
    }
    assert!(!stderr.contains("it is not set"), "what is missing is not needed here: {stderr}");
}

#[test]
fn parts_of_an_identity_are_no_mistake_where_none_is_needed() {
    for (name, value) in
        [("PVE_TOKEN_ID", "monitor"), ("PVE_USERNAME", "root@pam"), ("PVE_TOKEN_ID", "root@pam!x1")]
    {
        let (code, _, stderr) = run(program().env(name, value).arg("tools"));
        assert_eq!(code, 0, "{name}={value}: {stderr}");
    }
}

#[test]
fn a_choice_that_leaves_no_tool_is_refused_by_every_command() {
    for command in ["tools", "check"] {
        let (code, stdout, stderr) = run(program().args(["--demo", "--tools", "power", command]));
        assert_eq!((code, stdout.as_str()), (2, ""), "{command}");
        assert!(stderr.contains("no tool is left"), "{command}: {stderr}");
    }
}

#[test]
fn a_server_that_is_named_beside_the_demo_is_said_to_be_ignored() {
    for command in [vec!["check"], vec!["tools"], vec!["config", "cursor"]] {
        let flags = ["--demo", "--host", "pve.lan", "--port", "8007"];
        let (code, _, stderr) = run(program().args(flags).args(&command));
        assert_eq!(code, 0, "{stderr}");
        assert!(stderr.contains("--host, --port has no effect: --demo"), "{command:?}: {stderr}");
    }
    let (_, _, stderr) = run(program().args(["--demo", "check"]));
    assert!(!stderr.contains("no effect"), "{stderr}");
}

#[test]
fn a_picture_that_a_tool_does_not_make_is_not_saved_silently() {
    let (code, stdout, stderr) =
        run(program().args(["--demo", "call", "list_vms", "--save", "x.png"]));
    assert_eq!((code, stdout.as_str()), (2, ""));
    assert!(stderr.contains("no picture"), "{stderr}");
}
