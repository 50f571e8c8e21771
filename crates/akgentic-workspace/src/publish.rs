//! Publication: staged files take their names, and nothing that came in between is lost.
//!
//! A file is swapped with the one it replaces, and the displaced one is then compared with what was
//! checked. When it is another one, it is swapped back. Displaced files are kept until the whole
//! batch is in place, so that a batch that fails half-way is undone.

use std::ffi::{OsStr, OsString};
use std::io::Read as _;

use rustix::io::Errno;

use crate::error::FileFault;
use crate::gate::Digest;
use crate::root::{Directory, Kind, OpenFault};
use crate::staging::{Staged, staging_name};

/// How often a swap that caught the wrong file is taken back.
const ATTEMPTS: u32 = 8;

/// What has to be at a name for a change to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Expected {
    /// Whatever may be replaced; it is not looked at.
    Anything,
    /// Nothing.
    Absent,
    /// A file with this content.
    Content(Digest),
    /// A link to this target.
    Link(OsString),
}

/// One change of a batch.
#[derive(Debug)]
pub(crate) enum Publication {
    /// A staged file takes its name.
    Place { staged: Staged, ours: Digest, expected: Expected },
    /// A name goes.
    Remove { parent: Directory, name: OsString, expected: Expected },
}

/// Why a batch was not published; `at` is the position of the change that failed.
#[derive(Debug)]
pub(crate) struct Unpublished {
    pub at: usize,
    pub fault: PublishFault,
}

#[derive(Debug)]
pub(crate) enum PublishFault {
    /// Something else is there than was expected.
    Conflict,
    /// The system says no.
    File(FileFault),
}

impl From<Errno> for PublishFault {
    fn from(errno: Errno) -> Self {
        Self::File(errno.into())
    }
}

impl Unpublished {
    /// Whether somebody else was faster.
    pub(crate) fn is_conflict(&self) -> bool {
        matches!(self.fault, PublishFault::Conflict)
    }
}

/// A batch that is in place; what it displaced is still there.
#[derive(Debug)]
#[must_use]
pub(crate) struct Published(Vec<Made>);

impl Published {
    /// What was displaced is not needed any more.
    pub(crate) fn keep(self) {
        self.0.into_iter().for_each(Made::keep);
    }
}

/// Makes all changes or none of them.
pub(crate) fn publish(batch: Vec<Publication>) -> Result<Published, Unpublished> {
    let mut made = Vec::with_capacity(batch.len());
    for (at, change) in batch.into_iter().enumerate() {
        match make(change) {
            Ok(done) => made.push(done),
            Err(fault) => {
                for done in made.into_iter().rev() {
                    done.undo();
                }
                return Err(Unpublished { at, fault });
            }
        }
    }
    Ok(Published(made))
}

/// A change that was made and can still be undone.
#[derive(Debug)]
struct Made {
    parent: Directory,
    name: OsString,
    /// Where the displaced file is, if there was one.
    displaced: Option<OsString>,
    /// The digest of what is there now; nothing after a removal.
    ours: Option<Digest>,
    /// Whether both names exist since the change.
    swapped: bool,
}

fn make(change: Publication) -> Result<Made, PublishFault> {
    match change {
        Publication::Place { mut staged, ours, expected } => {
            faults::check(faults::Step::Publish)?;
            let (parent, name, temporary) = staged.parts();
            let (parent, name, temporary) = (parent.clone(), name.to_owned(), temporary.to_owned());
            let displaced = match &expected {
                Expected::Absent => {
                    parent.rename_new(&temporary, &name).map_err(|errno| match errno {
                        Errno::EXIST => PublishFault::Conflict,
                        errno => errno.into(),
                    })?;
                    None
                }
                Expected::Anything => replace_any(&parent, &temporary, &name)?.then_some(temporary),
                Expected::Content(_) | Expected::Link(_) => {
                    swap(&parent, &temporary, &name, &expected, &ours)?;
                    Some(temporary)
                }
            };
            staged.disarm();
            let swapped = displaced.is_some();
            let made = Made { parent, name, displaced, ours: Some(ours), swapped };
            if let Err(fault) = staged.settle() {
                made.undo();
                return Err(PublishFault::File(fault));
            }
            Ok(made)
        }
        Publication::Remove { parent, name, expected } => {
            faults::check_removal(&parent, &name)?;
            let aside = staging_name(&name);
            parent.rename_new(&name, &aside)?;
            let made =
                Made { parent, name, displaced: Some(aside.clone()), ours: None, swapped: false };
            if is(&made.parent, &aside, &expected) {
                return Ok(made);
            }
            made.undo();
            Err(PublishFault::Conflict)
        }
    }
}

/// Puts the file `temporary` in the place of whatever is called `name`; tells whether there was
/// something, which is then called `temporary`.
fn replace_any(parent: &Directory, temporary: &OsStr, name: &OsStr) -> Result<bool, PublishFault> {
    for _ in 0..ATTEMPTS {
        match parent.try_exchange(temporary, name) {
            Ok(true) => {
                let displaced = parent.status(temporary).map(|status| status.kind);
                if displaced != Ok(Kind::Directory) {
                    return Ok(true);
                }
                parent.exchange(temporary, name)?;
                return Err(PublishFault::File(FileFault::IsDirectory));
            }
            Ok(false) => {
                replace(parent, temporary, name, &Expected::Anything)?;
                return Ok(true);
            }
            Err(Errno::NOENT) => match parent.rename_new(temporary, name) {
                Ok(()) => return Ok(false),
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno.into()),
            },
            Err(errno) => return Err(errno.into()),
        }
    }
    Err(PublishFault::Conflict)
}

/// Puts the file `temporary` in the place of `name`, which afterwards has the displaced file.
fn swap(
    parent: &Directory,
    temporary: &OsStr,
    name: &OsStr,
    expected: &Expected,
    ours: &Digest,
) -> Result<(), PublishFault> {
    let vanished = |errno| match errno {
        // It was there when it was checked.
        Errno::NOENT => PublishFault::Conflict,
        errno => errno.into(),
    };
    if !parent.try_exchange(temporary, name).map_err(vanished)? {
        return replace(parent, temporary, name, expected);
    }
    if is(parent, temporary, expected) {
        return Ok(());
    }
    // Another writer was here first: its file goes back, and so does whatever comes meanwhile.
    for _ in 0..ATTEMPTS {
        let outcome = match parent.try_exchange(temporary, name) {
            Err(Errno::NOENT) => parent.rename_new(temporary, name).map(|()| true),
            outcome => outcome,
        };
        match outcome {
            Ok(true) if !matches!(digest(parent, temporary), Ok(Some(held)) if held != *ours) => {
                return Err(PublishFault::Conflict);
            }
            Ok(true) | Err(Errno::EXIST | Errno::NOENT) => {}
            Ok(false) | Err(_) => break,
        }
    }
    rescue(parent, temporary, name);
    Err(PublishFault::Conflict)
}

/// Gives a file that found no way back a name that is seen.
fn rescue(parent: &Directory, temporary: &OsStr, name: &OsStr) {
    let token = uuid::Uuid::new_v4().simple().to_string();
    let mut kept = name.to_owned();
    kept.push(".displaced-");
    kept.push(token.get(..8).unwrap_or(&token));
    match parent.rename_new(temporary, &kept) {
        Ok(()) => {
            tracing::warn!(file = %kept.display(), "a file that others fight over was kept aside");
        }
        Err(error) => tracing::error!(file = %kept.display(), %error, "a file was not kept"),
    }
}

/// The swap for systems that have none: the file keeps a second name while it is replaced.
fn replace(
    parent: &Directory,
    temporary: &OsStr,
    name: &OsStr,
    expected: &Expected,
) -> Result<(), PublishFault> {
    let kept = staging_name(name);
    parent.link(name, &kept)?;
    if !is(parent, &kept, expected) {
        parent.unlink(&kept)?;
        return Err(PublishFault::Conflict);
    }
    if let Err(errno) = parent.rename(temporary, name) {
        _ = parent.unlink(&kept);
        return Err(errno.into());
    }
    parent.rename(&kept, temporary).map_err(Into::into)
}

impl Made {
    /// The displaced file is not needed any more.
    fn keep(self) {
        let Some(displaced) = &self.displaced else { return };
        if let Err(error) = self.parent.unlink(displaced) {
            tracing::warn!(name = %displaced.display(), %error, "a displaced file was left behind");
        }
    }

    /// Brings back what was there, unless somebody else has put something in its place by now.
    fn undo(self) {
        let outcome = match (&self.displaced, self.swapped) {
            (Some(displaced), true) => self.swap_back(displaced),
            (Some(displaced), false) => self.parent.rename_new(displaced, &self.name),
            (None, _) => self.take_away(),
        };
        if let Err(error) = outcome {
            tracing::warn!(name = %self.name.display(), %error, "a change was not undone");
        }
    }

    fn swap_back(&self, displaced: &OsStr) -> Result<(), Errno> {
        match self.parent.try_exchange(displaced, &self.name) {
            Ok(true) => {}
            Ok(false) => return self.parent.rename(displaced, &self.name),
            Err(Errno::NOENT) => return self.parent.rename_new(displaced, &self.name),
            Err(errno) => return Err(errno),
        }
        if digest(&self.parent, displaced).ok().flatten() != self.ours {
            self.parent.try_exchange(displaced, &self.name)?;
        }
        self.parent.unlink(displaced)
    }

    fn take_away(&self) -> Result<(), Errno> {
        let aside = staging_name(&self.name);
        self.parent.rename_new(&self.name, &aside)?;
        if digest(&self.parent, &aside).ok().flatten() == self.ours {
            self.parent.unlink(&aside)
        } else {
            self.parent.rename_new(&aside, &self.name)
        }
    }
}

fn is(parent: &Directory, name: &OsStr, expected: &Expected) -> bool {
    match expected {
        Expected::Anything => true,
        Expected::Absent => parent.status(name) == Err(Errno::NOENT),
        Expected::Content(wanted) => {
            digest(parent, name).is_ok_and(|found| found.as_ref() == Some(wanted))
        }
        Expected::Link(target) => parent.read_link(name).is_ok_and(|found| found == *target),
    }
}

/// The digest of a regular file; nothing for anything else.
fn digest(parent: &Directory, name: &OsStr) -> Result<Option<Digest>, PublishFault> {
    match parent.open_file(name) {
        Ok((file, status)) => {
            let mut bytes = Vec::with_capacity(usize::try_from(status.size).unwrap_or(0));
            let read = file.take(status.size.saturating_add(1)).read_to_end(&mut bytes);
            read.map_err(|error| PublishFault::File(error.into()))?;
            Ok(Some(Digest::of(&bytes)))
        }
        Err(OpenFault::Kind(_)) => Ok(None),
        Err(OpenFault::System(errno)) => Err(errno.into()),
    }
}

/// Faults that tests put in the way of a publication.
pub(crate) mod faults {
    use rustix::io::Errno;

    /// A step that can fail.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) enum Step {
        Publish,
        Unlink,
    }

    #[cfg(not(test))]
    #[expect(clippy::unnecessary_wraps, reason = "tests make it fail")]
    pub(super) fn check(_: Step) -> Result<(), Errno> {
        Ok(())
    }

    #[cfg(test)]
    pub(super) fn check(step: Step) -> Result<(), Errno> {
        ARMED.with_borrow_mut(|armed| match armed {
            Some((at, nth, errno)) if *at == step => {
                *nth -= 1;
                let errno = *errno;
                if *nth > 0 {
                    return Ok(());
                }
                *armed = None;
                Err(errno)
            }
            _ => Ok(()),
        })
    }

    #[cfg(not(test))]
    pub(super) fn check_removal(
        _: &crate::root::Directory,
        _: &std::ffi::OsStr,
    ) -> Result<(), Errno> {
        check(Step::Unlink)
    }

    /// A file that vanishes is gone.
    #[cfg(test)]
    pub(super) fn check_removal(
        parent: &crate::root::Directory,
        name: &std::ffi::OsStr,
    ) -> Result<(), Errno> {
        check(Step::Unlink).inspect_err(|errno| {
            if *errno == Errno::NOENT {
                parent.unlink(name).expect("a file");
            }
        })
    }

    #[cfg(test)]
    std::thread_local! {
        static ARMED: std::cell::RefCell<Option<(Step, usize, Errno)>> =
            const { std::cell::RefCell::new(None) };
    }

    /// Lets the nth such step of this thread fail.
    #[cfg(test)]
    pub(crate) fn arm(step: Step, nth: usize, errno: Errno) {
        ARMED.set(Some((step, nth, errno)));
    }
}
