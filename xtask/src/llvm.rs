//! The LLVM tools that read coverage data: rustup's, or the system's of the same major version.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

const TOOLS: [&str; 2] = ["llvm-cov", "llvm-profdata"];

/// The tools to hand to `cargo llvm-cov`: cov, then profdata; `None` when it finds them itself.
pub(crate) fn tools() -> Result<Option<[PathBuf; 2]>> {
    let set = ["LLVM_COV", "LLVM_PROFDATA"].map(|name| std::env::var_os(name).is_some());
    if set == [true, true] {
        return Ok(None);
    }
    let about = rustc(&["-vV"])?;
    let host = field(&about, "host").context("rustc names no host")?;
    let major = field(&about, "LLVM version").and_then(major).context("rustc names no LLVM")?;

    let sysroot = PathBuf::from(rustc(&["--print", "sysroot"])?.trim());
    let own = sysroot.join("lib/rustlib").join(host).join("bin");
    if TOOLS
        .iter()
        .all(|tool| own.join(tool).with_extension(std::env::consts::EXE_EXTENSION).is_file())
    {
        return Ok(None);
    }

    let mut found = Vec::new();
    for tool in TOOLS {
        found.extend(candidates(tool, major).into_iter().find(|path| version(path) == Some(major)));
    }
    match <[PathBuf; 2]>::try_from(found) {
        Ok(pair) => Ok(Some(pair)),
        Err(_) => bail!(
            "no LLVM {major} tools for coverage: `rustup component add llvm-tools`, or install \
             llvm-cov-{major} and llvm-profdata-{major} (Debian: `apt-get install llvm-{major}`)"
        ),
    }
}

/// Where a system may keep a tool, best guess first.
fn candidates(tool: &str, major: u32) -> Vec<PathBuf> {
    let mut paths = vec![
        PathBuf::from(format!("/usr/lib/llvm-{major}/bin/{tool}")),
        PathBuf::from(format!("/opt/homebrew/opt/llvm@{major}/bin/{tool}")),
        PathBuf::from(format!("/opt/homebrew/opt/llvm/bin/{tool}")),
    ];
    for folder in std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()) {
        paths.push(folder.join(format!("{tool}-{major}")));
        paths.push(folder.join(tool));
    }
    paths
}

fn version(tool: &Path) -> Option<u32> {
    let output = Command::new(tool).arg("--version").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let (_, number) = text.split_once("LLVM version ")?;
    major(number)
}

fn rustc(args: &[&str]) -> Result<String> {
    let program = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(program).args(args).output().context("cannot start rustc")?;
    Ok(String::from_utf8(output.stdout)?)
}

/// A line `name: value` of `rustc -vV`.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}

fn major(version: &str) -> Option<u32> {
    version.split('.').next()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rustc_tells_its_host_and_llvm() {
        let about =
            "rustc 1.95.0\nbinary: rustc\nhost: x86_64-unknown-linux-gnu\nLLVM version: 22.1.2\n";
        assert_eq!(field(about, "host"), Some("x86_64-unknown-linux-gnu"));
        assert_eq!(field(about, "LLVM version").and_then(major), Some(22));
        assert_eq!(field(about, "release"), None);
    }

    #[test]
    fn a_tool_that_is_not_there_has_no_version() {
        assert_eq!(version(Path::new("/nowhere/llvm-cov")), None);
    }

    #[test]
    fn the_debian_place_comes_first() {
        assert_eq!(candidates("llvm-cov", 22)[0], Path::new("/usr/lib/llvm-22/bin/llvm-cov"));
    }
}
