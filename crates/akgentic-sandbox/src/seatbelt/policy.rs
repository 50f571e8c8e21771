//! The policy that `sandbox-exec` reads.

use std::path::Path;

/// Rules for a workspace and a temporary directory.
///
/// `network` lets commands reach the network; below `hidden` nothing can be read.
pub fn seatbelt_policy(
    workspace: &Path,
    temporary: &Path,
    network: bool,
    hidden: &[impl AsRef<Path>],
) -> String {
    let mut rules = vec![
        "(version 1)".to_owned(),
        "(deny default)".to_owned(),
        "(allow process-exec)".to_owned(),
        "(allow process-fork)".to_owned(),
        "(allow sysctl-read)".to_owned(),
        "(allow file-read*)".to_owned(),
        "(allow file-write* (literal \"/dev/null\"))".to_owned(),
        format!("(allow file-write* (subpath {}))", quoted(workspace)),
        format!("(allow file-write* (subpath {}))", quoted(temporary)),
    ];
    if network {
        rules.push("(allow network*)".to_owned());
    }
    rules.push("(allow ipc-posix-shm)".to_owned());
    rules.push("(allow mach-lookup)".to_owned());
    for path in hidden {
        rules.push(format!("(deny file-read* (subpath {}))", quoted(path.as_ref())));
    }
    let mut policy = rules.join("\n");
    policy.push('\n');
    policy
}

/// A path as a string of the policy's language.
fn quoted(path: &Path) -> String {
    let mut quoted = String::from("\"");
    for c in path.to_string_lossy().chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_stays_a_path() {
        let hidden = ["/Users/a/.ssh"];
        let path = Path::new("/w/q\"uote)(allow default)\\{tmpdir}");
        let policy = seatbelt_policy(path, Path::new("/t"), false, &hidden);
        let line = r#"(allow file-write* (subpath "/w/q\"uote)(allow default)\\{tmpdir}"))"#;
        assert!(policy.lines().any(|rule| rule == line), "{policy}");
        assert!(!policy.contains("network") && policy.ends_with(".ssh\"))\n"));
    }
}
