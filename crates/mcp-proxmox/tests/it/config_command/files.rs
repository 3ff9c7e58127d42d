//! What becomes of the client's file beside its text: whose it is, and who may read it.

use std::{fs, os::unix::fs::PermissionsExt as _};

use super::{Home, SECRET};
use crate::process::run;

#[test]
fn a_link_stays_a_link_and_a_file_keeps_its_mode() {
    let home = Home::new("link");
    let file = home.put("dotfiles/mcp.json", "{}");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    let link = home.0.join("mcp.json");
    std::os::unix::fs::symlink(&file, &link).unwrap();
    let (code, _, stderr) =
        run(&mut home.config(&["cursor", "--write", "--file", link.to_str().unwrap()]));
    assert_eq!(code, 0, "{stderr}");
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(fs::read_to_string(&file).unwrap().contains("pve1.lan"));
    // The copy is for nobody else: it keeps a secret that the file may lose.
    for (name, kept) in [("mcp.json", 0o640), ("mcp.json.backup-1", 0o600)] {
        let mode = fs::metadata(file.with_file_name(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, kept, "{name}");
    }
}

#[test]
fn a_file_that_is_to_hold_the_secret_is_closed_to_others_and_that_is_said() {
    let home = Home::new("tighten");
    let mode = |name: &str| fs::metadata(home.0.join(name)).unwrap().permissions().mode() & 0o777;
    let file = home.put("mcp.json", "{}");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let words = ["cursor", "--write", "--with-secret", "--file", file.to_str().unwrap()];
    let (code, stdout, stderr) = run(&mut home.config(&words));
    assert_eq!((code, mode("mcp.json")), (0, 0o600), "{stderr}");
    assert!(stdout.contains("only its owner can now, the copy too"), "{stdout}");
    assert_eq!(mode("mcp.json.backup-1"), 0o600, "a secret of before may be in the copy");
    // Somebody opens it again; nothing is written, so nothing is closed, but it is told.
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let (code, stdout, _) = run(&mut home.config(&words));
    assert_eq!((code, mode("mcp.json")), (0, 0o644));
    assert!(stdout.contains("nothing was written") && stdout.contains("chmod 600"), "{stdout}");
    // With another secret, the one of before is in the copy alone.
    let mut command = home.config(&words);
    command.arg("--replace").env("PVE_TOKEN_SECRET", "99999999-abcd-4bcd-8bcd-123456789abc");
    let (code, _, stderr) = run(&mut command);
    assert_eq!((code, mode("mcp.json")), (0, 0o600), "{stderr}");
    assert!(fs::read_to_string(home.0.join("mcp.json.backup-2")).unwrap().contains(SECRET));
    assert_eq!(mode("mcp.json.backup-2"), 0o600);
}

#[test]
fn a_read_only_file_stays_as_it_is_unless_nothing_would_change() {
    let home = Home::new("read-only");
    let file = home.put("mcp.json", "{}");
    let words = ["cursor", "--write", "--file", file.to_str().unwrap()];
    fs::set_permissions(&file, fs::Permissions::from_mode(0o444)).unwrap();
    let (code, stdout, stderr) = run(&mut home.config(&words));
    assert_eq!((code, stdout.as_str()), (1, ""), "{stderr}");
    assert!(stderr.contains("it is read-only; ") && stderr.contains("put this in"), "{stderr}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "{}");
    assert_eq!(home.beside("mcp.json"), ["mcp.json"]);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(run(&mut home.config(&words)).0, 0);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o444)).unwrap();
    let (code, stdout, _) = run(&mut home.config(&words));
    assert!(code == 0 && stdout.contains("nothing was written"), "{stdout}");
}

#[test]
fn a_file_that_no_client_has_is_not_read() {
    let home = Home::new("huge");
    let file = home.put("mcp.json", "");
    fs::File::options().write(true).open(&file).unwrap().set_len(3 << 30).unwrap();
    let words = ["cursor", "--write", "--file", file.to_str().unwrap()];
    let (code, _, stderr) = run(&mut home.config(&words));
    assert!(code == 1 && stderr.contains("it is larger than 64 MiB"), "{stderr}");
}

/// Only root can give files away, and only root would take them from somebody else without noticing.
#[cfg(target_os = "linux")]
#[test]
fn a_file_of_somebody_else_stays_theirs() {
    use std::os::unix::fs::{MetadataExt as _, chown};

    let home = Home::new("owner");
    let file = home.put("mcp.json", "{}");
    if chown(&file, Some(1234), Some(2345)).is_err() {
        return;
    }
    let words = ["cursor", "--write", "--file", file.to_str().unwrap()];
    let (code, _, stderr) = run(&mut home.config(&words));
    assert_eq!(code, 0, "{stderr}");
    for name in ["mcp.json", "mcp.json.backup-1"] {
        let data = fs::metadata(file.with_file_name(name)).unwrap();
        assert_eq!((data.uid(), data.gid()), (1234, 2345), "{name}");
    }
}

/// What a client is started with that a desktop starts is not what a shell has.
#[test]
fn a_program_that_a_desktop_may_not_find_is_named_with_its_place() {
    let home = Home::new("path");
    let told = |via: &str, path: &str| {
        let mut command = home.config(&["cursor", "--via", via]);
        let (code, stdout, stderr) = run(command.env("PATH", path));
        assert_eq!(code, 0, "{stderr}");
        assert!(stdout.contains("\"command\""), "{stdout}");
        stderr
    };
    let folder = home.0.join("node/bin");
    let path = format!("/nowhere::{}:/usr/bin", folder.display());
    for program in ["npx", "docker"] {
        // What cannot be started is not what a shell would find.
        let file = home.put(&format!("node/bin/{program}"), "#!/bin/sh\n");
        let missing = format!("`{program}` is not found here");
        let found = folder.join(program).display().to_string();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        let said = told(program, &format!("/nowhere::{}", folder.display()));
        assert!(said.contains(&missing) && !said.contains(&found), "{said}");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        let said = told(program, &path);
        assert!(!said.contains(&missing), "{said}");
        for part in [
            format!("here `{program}` is {found}; "),
            format!("PATH={}:/usr/bin:/bin", folder.display()),
        ] {
            assert!(said.contains(&part), "{part} is not in {said}");
        }
        let said = told("binary", &path);
        assert!(!said.contains("PATH"), "it is named with its whole path: {said}");
    }
}

#[test]
fn of_two_files_the_one_is_written_whose_word_counts() {
    let home = Home::new("two-files");
    let write = |words: &[&str]| {
        let (code, stdout, stderr) =
            run(&mut home.config(&[&["opencode", "--write", "--replace"], words].concat()));
        assert_eq!(code, 0, "{stderr}");
        stdout
    };
    let first = home.0.join(".config/opencode/opencode.json");
    let told = write(&[]);
    assert!(told.starts_with(first.to_str().unwrap()), "{told}");
    let before = fs::read_to_string(&first).unwrap();
    let second = home.put(".config/opencode/opencode.jsonc", "{ // mine\n}\n");
    write(&["--access-tier", "write"]);
    let after = fs::read_to_string(second).unwrap();
    assert!(after.contains("// mine") && after.contains("\"write\""), "{after}");
    assert_eq!(fs::read_to_string(first).unwrap(), before);
}
