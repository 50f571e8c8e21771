//! What of the host's system is visible inside.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Entries of `/etc` that programs need; none holds secrets.
const ETC: [&str; 16] = [
    "alternatives",
    "ssl/certs",
    "ssl/openssl.cnf",
    "ca-certificates",
    "ca-certificates.conf",
    "pki",
    "crypto-policies",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "nsswitch.conf",
    "localtime",
    "timezone",
    "mime.types",
    "protocols",
    "services",
];

/// Top-level directories that are links into `/usr` on most systems.
const TOP: [&str; 6] = ["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];

/// User and group that commands have inside.
pub(super) const USER_ID: &str = "1000";

/// One part of the view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Bind { from: PathBuf, to: PathBuf },
    Link { target: PathBuf, at: PathBuf },
}

/// The parts every run sees, in order.
pub(super) fn system(visible: &[PathBuf], private: &Path) -> io::Result<Vec<Part>> {
    let same = |path: &Path| Part::Bind { from: path.to_owned(), to: path.to_owned() };
    let mut parts = vec![same(Path::new("/usr"))];
    for top in TOP.map(Path::new) {
        match fs::symlink_metadata(top) {
            Ok(found) if found.file_type().is_symlink() => {
                parts.push(Part::Link { target: fs::read_link(top)?, at: top.to_owned() });
            }
            Ok(found) if found.is_dir() => parts.push(same(top)),
            _ => {}
        }
    }
    let etc = Path::new("/etc");
    parts.extend(
        ETC.iter().map(|name| etc.join(name)).filter(|path| path.exists()).map(|path| same(&path)),
    );
    for (name, content) in [
        (
            "passwd",
            format!(
                "root:x:0:0:root:/nonexistent:/usr/sbin/nologin\nagent:x:{USER_ID}:{USER_ID}:agent:/tmp:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"
            ),
        ),
        ("group", format!("root:x:0:\nagent:x:{USER_ID}:\nnogroup:x:65534:\n")),
        ("hosts", "127.0.0.1 localhost sandbox\n::1 localhost\n".to_owned()),
    ] {
        let from = private.join(name);
        fs::write(&from, content)?;
        parts.push(Part::Bind { from, to: etc.join(name) });
    }
    parts.extend(visible.iter().map(|path| same(path)));
    Ok(parts)
}

/// What has to be laid over `/proc` when the real user behind the commands is root.
///
/// The kernel lets that user read and write there by ownership alone, without any capability; bwrap
/// covers what looks writable to itself, and its own check does not see this.
pub(super) fn over_proc() -> io::Result<Vec<Part>> {
    use std::os::unix::fs::PermissionsExt as _;

    let mut parts = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let entry = entry?;
        let to = entry.path();
        let Ok(found) = fs::symlink_metadata(&to) else { continue };
        let is_process = entry.file_name().as_encoded_bytes().iter().all(u8::is_ascii_digit);
        let mode = found.permissions().mode();
        if found.is_dir() && !is_process {
            parts.push(Part::Bind { from: to.clone(), to });
        } else if found.is_file() && (mode & 0o222 != 0 || mode & 0o044 == 0) {
            parts.push(Part::Bind { from: "/dev/null".into(), to });
        }
    }
    Ok(parts)
}
