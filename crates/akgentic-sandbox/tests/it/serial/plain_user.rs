//! The same tests once more as a user without privileges, when root runs them.

use std::process::Command;

/// Runs the tests of a module in a process of its own, as another user.
fn again_as_a_plain_user(module: &str) {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: these tests run as a plain user anyway");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    // The program has to lie where the other user may look.
    let program = folder.path().join("tests");
    std::fs::copy(std::env::current_exe().expect("a program"), &program).expect("a copy");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(folder.path(), mode).expect("a mode");
    let answer = Command::new("setpriv")
        .args(["--reuid=12345", "--regid=12345", "--clear-groups"])
        .arg(&program)
        .args([module, "--test-threads=1", "--nocapture"])
        .current_dir(folder.path())
        .env("HOME", folder.path())
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .output()
        .expect("setpriv");
    let out = String::from_utf8_lossy(&answer.stdout);
    let err = String::from_utf8_lossy(&answer.stderr);
    assert!(answer.status.success(), "{out}\n{err}");
    let skipped = out.lines().filter(|line| line.contains("skipped:"));
    skipped.for_each(|line| println!("{line}"));
    assert!(!out.contains("running 0 tests"), "{out}");
}

#[test]
fn bwrap_as_a_plain_user() {
    again_as_a_plain_user("serial::bwrap");
}

#[test]
fn local_as_a_plain_user() {
    again_as_a_plain_user("serial::local");
}

#[test]
fn output_as_a_plain_user() {
    again_as_a_plain_user("serial::output");
}
