//! Atomic writes: a file is staged beside its target and takes the target's name when complete.

use std::ffi::{OsStr, OsString};
use std::io::Write as _;

use rustix::fs::RawMode;
use rustix::io::Errno;

use crate::error::FileFault;
use crate::root::{Directory, set_mode};

/// Bytes of the target's name that a staging name keeps.
pub const STEM_BYTES: usize = 217;

/// Bytes that are written between two looks at the cancellation.
const PIECE: usize = 1 << 20;

/// The name of a staging file for `target`.
pub(crate) fn staging_name(target: &OsStr) -> OsString {
    let token = uuid::Uuid::new_v4().simple().to_string();
    staging_name_with(&target.to_string_lossy(), &token).into()
}

/// The name of the staging file for `target` that this token makes unique.
pub fn staging_name_with(target: &str, token: &str) -> String {
    let mut end = target.len().min(STEM_BYTES);
    while !target.is_char_boundary(end) {
        end -= 1;
    }
    let stem = target.get(..end).unwrap_or_default();
    format!(".{stem}.{token}.tmp")
}

/// Whether a file name is one that a staging file gets.
///
/// ```
/// use akgentic_workspace::is_staging_name;
///
/// assert!(is_staging_name(".a.txt.0123456789abcdef0123456789abcdef.tmp"));
/// assert!(!is_staging_name(".a.txt.tmp"));
/// ```
pub fn is_staging_name(name: &str) -> bool {
    let Some(rest) = name.strip_prefix('.').and_then(|rest| rest.strip_suffix(".tmp")) else {
        return false;
    };
    let Some((stem, hex)) = rest.rsplit_once('.') else { return false };
    let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    !stem.is_empty() && !stem.contains('\n') && hex.len() == 32 && hex.bytes().all(is_hex)
}

/// A complete file that does not have its name yet; dropped, it is removed.
#[derive(Debug)]
pub(crate) struct Staged {
    parent: Directory,
    target: OsString,
    name: Option<OsString>,
    durable: bool,
}

impl Staged {
    /// Writes `data` beside `target`, with the permission bits of what it is to replace.
    pub(crate) fn write(
        parent: Directory,
        target: OsString,
        data: &[u8],
        replaces: Option<RawMode>,
        durable: bool,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<Self, FileFault> {
        let name = staging_name(&target);
        let mut file = parent.create_file(&name)?;
        let staged = Self { parent, target, name: Some(name), durable };
        for piece in data.chunks(PIECE) {
            if is_cancelled() {
                return Err(FileFault::Cancelled);
            }
            file.write_all(piece)?;
        }
        if let Some(mode) = replaces {
            set_mode(&file, mode)?;
        }
        if durable {
            file.sync_all()?;
        }
        if is_cancelled() {
            return Err(FileFault::Cancelled);
        }
        Ok(staged)
    }

    /// The directory, the name it is for, and the name it has.
    pub(crate) fn parts(&self) -> (&Directory, &OsStr, &OsStr) {
        (&self.parent, &self.target, self.name.as_deref().unwrap_or_default())
    }

    /// Leaves the file to whoever gave it another name.
    pub(crate) fn disarm(&mut self) {
        self.name = None;
    }

    /// Asks the system to keep the directory's names safe, where that was asked for.
    pub(crate) fn settle(&self) -> Result<(), FileFault> {
        if self.durable {
            self.parent.sync()?;
        }
        Ok(())
    }

    /// Gives the file its name, in place of what had it.
    pub(crate) fn publish(mut self) -> Result<(), FileFault> {
        let Some(name) = &self.name else { return Ok(()) };
        self.parent.rename(name, &self.target)?;
        self.name = None;
        if self.durable {
            self.parent.sync()?;
        }
        Ok(())
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        let Some(name) = &self.name else { return };
        match self.parent.unlink(name) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => {
                tracing::warn!(name = %name.display(), %error, "a staging file was left behind");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_staging_name_fits_and_is_known_as_one() {
        let long = format!("{}é{}", "n".repeat(216), "x".repeat(30));
        for target in ["a", ".x.md", "日本.txt", long.as_str()] {
            let name = staging_name(OsStr::new(target));
            let name = name.to_str().expect("text");
            assert!(name.len() <= 255, "{name}");
            assert!(is_staging_name(name), "{name}");
        }
        let cut = staging_name(OsStr::new(&long));
        assert!(cut.to_string_lossy().starts_with(&format!(".{}.", "n".repeat(216))));
    }
}
