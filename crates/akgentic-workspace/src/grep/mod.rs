//! Files by content: lines that a regular expression matches, searched in this process.

mod collect;
mod matcher;
mod scan;

use std::num::NonZero;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Duration, Instant};

pub use collect::Matches;
pub use matcher::BadRegex;

use crate::error::{FileError, FileFault};
use crate::filesystem::Filesystem;
use crate::glob::{FilesOf, Pattern, PatternError, Walk, Walked};
use crate::spelling;
use collect::Collector;
use matcher::LineMatcher;
use scan::{Scanner, Skip};

/// The directory that is not searched.
const SKIPPED: &str = ".git";

/// Longest time of one search.
const TIME_MAX: Duration = Duration::from_secs(20);

/// Most threads that search.
const THREADS_MAX: usize = 8;

/// Files that one thread takes at a time.
const CHUNK: usize = 32;

/// What to look for, and where.
#[derive(Clone, Copy, Debug)]
pub struct Query<'q> {
    /// The regular expression; it is matched line by line.
    pub pattern: &'q str,
    /// Directory or file to search; empty for all.
    pub path: &'q str,
    /// Pattern that a file's path has to end in; empty for every file.
    pub include: &'q str,
    /// Most lines of the answer.
    pub max_results: usize,
    /// Most characters of one line.
    pub max_line_length: usize,
}

/// Why a search is refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GrepError {
    /// The regular expression.
    #[error(transparent)]
    Regex(#[from] BadRegex),
    /// The pattern for files.
    #[error(transparent)]
    Include(#[from] PatternError),
    /// Where to search.
    #[error(transparent)]
    File(#[from] FileError),
}

/// Searches files, all of them hidden or not, but for what lies in `.git`; the newest file's lines
/// come first.
///
/// Ignore files are not honoured. Links to files beneath the root are followed, links to
/// directories are not. Files with a NUL byte are skipped as binary, bytes that are no UTF-8 are
/// taken as U+FFFD.
pub fn search(
    files: &Filesystem,
    query: &Query<'_>,
    is_cancelled: &(dyn Fn() -> bool + Sync),
) -> Result<Matches, GrepError> {
    let matcher = LineMatcher::new(query.pattern)?;
    let include = Pattern::anywhere(query.include)?;
    let hunt = Hunt {
        files,
        matcher: &matcher,
        query,
        is_cancelled,
        until: Instant::now() + TIME_MAX,
        is_over: AtomicBool::new(false),
    };
    let opened = match files.open_directory(query.path) {
        Ok(directory) => directory,
        Err(FileError { fault: FileFault::NotFound, .. }) => return Ok(Matches::default()),
        Err(FileError { fault: FileFault::NotADirectory, .. }) => return hunt.one_file(),
        Err(error) => return Err(error.into()),
    };
    let mut walk = Walk::new(files, &include, opened.0, opened.1, is_cancelled);
    walk.skipped_name = Some(SKIPPED);
    let mut found = hunt.run(&mut walk)?;
    found.skipped_git = walk.skipped;
    found.too_deep = walk.too_deep;
    if is_cancelled() {
        return Err(FileError::new(query.path, FileFault::Cancelled).into());
    }
    if matcher.gave_up() {
        return Err(BadRegex::TooCostly.into());
    }
    found.out_of_time = hunt.is_over.load(Ordering::Relaxed);
    Ok(found)
}

/// One search under way.
struct Hunt<'a> {
    files: &'a Filesystem,
    matcher: &'a LineMatcher,
    query: &'a Query<'a>,
    is_cancelled: &'a (dyn Fn() -> bool + Sync),
    until: Instant,
    is_over: AtomicBool,
}

impl Hunt<'_> {
    fn must_stop(&self) -> bool {
        if self.is_over.load(Ordering::Relaxed) || self.matcher.gave_up() {
            return true;
        }
        if Instant::now() > self.until {
            self.is_over.store(true, Ordering::Relaxed);
            return true;
        }
        (self.is_cancelled)()
    }

    fn collector(&self) -> Collector {
        Collector::new(self.query.max_results)
    }

    fn one_file(&self) -> Result<Matches, GrepError> {
        let path = self.query.path;
        let open = match self.files.open(path) {
            Ok(open) => open,
            Err(FileError { fault: FileFault::NotADirectory, .. }) => return Ok(Matches::default()),
            Err(error) => return Err(error.into()),
        };
        let stop = || self.must_stop();
        let mut scanner = Scanner::new(self.matcher, self.query, &stop);
        let mut collector = self.collector();
        let modified = open.modified;
        let outcome = scanner.scan(open.file, open.size);
        collector.add(modified, open.rel.as_path().to_owned(), outcome);
        if (self.is_cancelled)() {
            return Err(FileError::new(path, FileFault::Cancelled).into());
        }
        if self.matcher.gave_up() {
            return Err(BadRegex::TooCostly.into());
        }
        Ok(collector.finish())
    }

    /// Walks on this thread and searches on others.
    fn run(&self, walk: &mut Walk<'_>) -> Result<Matches, GrepError> {
        let threads = std::thread::available_parallelism().map_or(1, NonZero::get).min(THREADS_MAX);
        let (sender, receiver) = sync_channel::<FilesOf>(4 * threads);
        let receiver = Mutex::new(receiver);
        std::thread::scope(|scope| {
            let workers: Vec<_> =
                (0..threads).map(|_| scope.spawn(|| self.work(&receiver))).collect();
            let mut walked = Ok(());
            'walk: loop {
                let FilesOf { rel, directory, mut names } = match walk.next() {
                    Ok(Some(found)) => found,
                    Ok(None) => break,
                    Err(fault) => {
                        walked = Err(FileError::new(self.query.path, fault).into());
                        break;
                    }
                };
                while !names.is_empty() {
                    let rest = names.split_off(names.len().min(CHUNK));
                    let (rel, directory) = (rel.clone(), directory.clone());
                    if self.must_stop() || sender.send(FilesOf { rel, directory, names }).is_err() {
                        break 'walk;
                    }
                    names = rest;
                }
            }
            drop(sender);
            let mut all = self.collector();
            for worker in workers {
                match worker.join() {
                    Ok(collector) => all.merge(collector),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            walked.map(|()| all.finish())
        })
    }

    fn work(&self, receiver: &Mutex<Receiver<FilesOf>>) -> Collector {
        let stop = || self.must_stop();
        let mut scanner = Scanner::new(self.matcher, self.query, &stop);
        let mut collector = self.collector();
        loop {
            let next = match receiver.lock() {
                Ok(receiver) => receiver.recv(),
                Err(_) => break,
            };
            let Ok(found) = next else { break };
            for walked in &found.names {
                if self.must_stop() {
                    // What is still queued is taken, so that the walk is not held up.
                    break;
                }
                self.scan(&found, walked, &mut scanner, &mut collector);
            }
        }
        collector
    }

    fn scan(
        &self,
        found: &FilesOf,
        walked: &Walked,
        scanner: &mut Scanner<'_>,
        collector: &mut Collector,
    ) {
        let path: PathBuf = found.rel.as_path().join(&walked.name);
        if let Some(status) = walked.linked {
            let outcome = match self.files.open(&spelling::shown(&path)) {
                Ok(open) => scanner.scan(open.file, open.size),
                Err(_) => Err(Skip::Unreadable),
            };
            return collector.add(status.modified, path, outcome);
        }
        match found.directory.open_listed(&walked.name) {
            Ok((file, status)) => {
                let outcome = scanner.scan(file, status.size);
                collector.add(status.modified, path, outcome);
            }
            Err(_) => collector.add((0, 0), path, Err(Skip::Unreadable)),
        }
    }
}
