//! The environment that commands on the host get.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// Where programs are looked for when the host says nothing.
pub const DEFAULT_PATH: &str = "/usr/bin:/bin:/usr/local/bin";

/// What is taken over from the host.
const KEPT: [&str; 18] = [
    "PATH",
    "HOME",
    "USER",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TERM",
    "DEVELOPER_DIR",
    "TMPDIR",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "GIT_EXEC_PATH",
    "GIT_TEMPLATE_DIR",
];

/// Where the developer tools of macOS may be.
const DEVELOPER_DIRS: [&str; 2] =
    ["/Library/Developer/CommandLineTools", "/Applications/Xcode.app/Contents/Developer"];

/// The variables of `host` that commands may see, and what they need beside them.
pub fn filtered_env(
    host: impl Fn(&str) -> Option<OsString>,
    macos: bool,
    exists: impl Fn(&Path) -> bool,
) -> BTreeMap<String, OsString> {
    let kept = KEPT.iter().filter_map(|name| Some(((*name).to_owned(), host(name)?)));
    let mut env: BTreeMap<String, OsString> = kept.collect();
    env.entry("PATH".to_owned()).or_insert_with(|| DEFAULT_PATH.into());
    if macos && !env.contains_key("DEVELOPER_DIR") {
        let found = DEVELOPER_DIRS.iter().find(|path| exists(Path::new(path)));
        env.extend(found.map(|path| ("DEVELOPER_DIR".to_owned(), OsStr::new(path).to_owned())));
    }
    env
}

/// The same for this process.
pub(crate) fn own_env() -> BTreeMap<String, OsString> {
    filtered_env(|name| std::env::var_os(name), cfg!(target_os = "macos"), Path::exists)
}
