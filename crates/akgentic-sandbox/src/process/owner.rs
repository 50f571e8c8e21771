//! Whose a thing is that outlives its maker: the process that made it, told by the thing's name.

#[cfg(target_os = "linux")]
use std::path::Path;
#[cfg(target_os = "linux")]
use std::sync::LazyLock;

/// This process and the world its number means something in, as a part of a name.
#[cfg(target_os = "linux")]
pub(crate) fn own_stamp() -> Option<String> {
    stamp(std::process::id())
}

/// The stamp of the process of this number in our world.
#[cfg(target_os = "linux")]
pub(crate) fn stamp(pid: u32) -> Option<String> {
    Some(format!("{}-{pid}", WORLD.as_ref()?))
}

/// Our PID namespace and this boot of the machine: a folder may be shared with other machines.
#[cfg(target_os = "linux")]
static WORLD: LazyLock<Option<String>> = LazyLock::new(|| {
    let namespace = super::proc::pid_namespace(i32::try_from(std::process::id()).ok()?)?;
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    Some(format!("{namespace}.{}", boot.get(..8).unwrap_or_default()))
});

/// Whether a name begins with the stamp of a process that is gone.
///
/// A number means something in its world only: what another one made is not ours to judge.
#[cfg(target_os = "linux")]
pub(crate) fn is_orphan(stamped: &str) -> bool {
    let Some(pid) = stamped.split('-').nth(1).and_then(|pid| pid.parse().ok()) else {
        return false;
    };
    let is_ours = stamp(pid).is_some_and(|stamp| {
        stamped.strip_prefix(stamp.as_str()).is_some_and(|rest| rest.starts_with('-'))
    });
    is_ours && !Path::new("/proc").join(pid.to_string()).exists()
}

/// Elsewhere a number is all there is, and what others left is left to them.
#[cfg(not(target_os = "linux"))]
pub(crate) fn own_stamp() -> Option<String> {
    None
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn is_orphan(_: &str) -> bool {
    false
}
