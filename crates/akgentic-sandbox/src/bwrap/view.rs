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
    "pki/ca-trust/extracted",
    "pki/tls/certs",
    "crypto-policies",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "nsswitch.conf",
    "localtime",
    "mime.types",
    "protocols",
    "services",
];

/// Files that are made up.
const MADE_UP: [(&str, &str); 3] = [
    (
        "passwd",
        "root:x:0:0:root:/nonexistent:/usr/sbin/nologin\n\
         agent:x:1000:1000:agent:/tmp:/bin/sh\n\
         nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
    ),
    ("group", "root:x:0:\nagent:x:1000:\nnogroup:x:65534:\n"),
    ("hosts", "127.0.0.1 localhost sandbox\n::1 localhost\n"),
];

/// Top-level directories that are links into `/usr` on most systems.
const TOP: [&str; 6] = ["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];

/// User and group that commands have inside.
pub(super) const USER_ID: &str = "1000";

/// Most of a file or folder of `/etc` that is taken over, in bytes and entries.
const FILE_MAX: u64 = 16 << 20;
const ENTRIES_MAX: usize = 10_000;

/// One part of the view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Bind { from: PathBuf, to: PathBuf },
    Link { target: PathBuf, at: PathBuf },
}

/// The parts every run sees, in order.
///
/// What is needed of `/etc` is copied once, into `private`: one mount for each entry would cost more,
/// at every run, than the command itself.
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
    let etc = private.join("etc");
    fs::create_dir(&etc)?;
    let mut room = ENTRIES_MAX;
    for name in ETC {
        let to = etc.join(name);
        if let Some(above) = to.parent() {
            fs::create_dir_all(above)?;
        }
        take_over(&Path::new("/etc").join(name), &to, &mut room);
    }
    for (name, content) in MADE_UP {
        fs::write(etc.join(name), content)?;
    }
    parts.push(Part::Bind { from: etc, to: "/etc".into() });
    parts.extend(visible.iter().map(|path| same(path)));
    Ok(parts)
}

/// Copies files, folders and links; what cannot be read or is too large is left out.
fn take_over(from: &Path, to: &Path, room: &mut usize) {
    let Some(left) = room.checked_sub(1) else { return };
    *room = left;
    let Ok(found) = fs::symlink_metadata(from) else { return };
    let done = if found.file_type().is_symlink() {
        // A link to a place that is not there inside would lead nowhere.
        let target = fs::read_link(from).unwrap_or_default();
        let leads_far =
            target.is_absolute() && !target.starts_with("/usr") || target.starts_with("..");
        if leads_far && fs::metadata(from).is_ok_and(|end| end.is_file() && end.len() <= FILE_MAX) {
            fs::copy(from, to).map(drop)
        } else {
            std::os::unix::fs::symlink(target, to)
        }
    } else if found.is_dir() {
        fs::create_dir(to).and_then(|()| {
            for entry in fs::read_dir(from)?.filter_map(Result::ok) {
                take_over(&entry.path(), &to.join(entry.file_name()), room);
            }
            Ok(())
        })
    } else if found.is_file() && found.len() <= FILE_MAX {
        fs::copy(from, to).map(drop)
    } else {
        Ok(())
    };
    if let Err(error) = done {
        tracing::debug!(%error, path = %from.display(), "not visible inside");
    }
}
