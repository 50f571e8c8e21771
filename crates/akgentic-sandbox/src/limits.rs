//! What a run may use.

use std::fmt::Write as _;
use std::time::Duration;

const MIB: u64 = 1024 * 1024;

/// Bounds on one run; nothing means no bound of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Processor time of one process, in whole seconds.
    pub cpu: Option<u64>,
    /// Size of a file that is written, in bytes.
    pub file_size: Option<u64>,
    /// Memory in bytes: of the whole run where a control group is there, else of one process.
    pub memory: Option<u64>,
    /// Processes and threads at once.
    pub processes: Option<u64>,
    /// Open files of one process.
    pub open_files: Option<u64>,
    /// Size of the private temporary directory in bytes, where it is held in memory.
    pub temporary: u64,
    /// How long a run has between the request to end and the end.
    pub grace: Duration,
}

impl Default for Limits {
    /// 30 s of processor time, files of 100 MiB, 1 GiB of memory, 256 processes, 1 024 open files,
    /// 256 MiB of temporary files, half a second of grace.
    fn default() -> Self {
        Self {
            cpu: Some(30),
            file_size: Some(100 * MIB),
            memory: Some(1024 * MIB),
            processes: Some(256),
            open_files: Some(1024),
            temporary: 256 * MIB,
            grace: Duration::from_millis(500),
        }
    }
}

/// One bound as it is set in the child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Processor time in seconds.
    Cpu(u64),
    /// File size in bytes.
    FileSize(u64),
    /// No core files.
    NoCore,
    /// Data of one process in bytes.
    Data(u64),
    /// Open files.
    OpenFiles(u64),
    /// Processes of the user.
    Processes(u64),
}

impl Limits {
    /// The bounds every process of a run inherits, in the order they are set; soft and hard alike.
    ///
    /// There is none on address space: programs that reserve much and use little could not start.
    pub fn inherited(&self, with_processes: bool) -> Vec<Limit> {
        let mut limits = Vec::new();
        limits.extend(self.cpu.map(Limit::Cpu));
        limits.extend(self.file_size.map(Limit::FileSize));
        limits.push(Limit::NoCore);
        limits.extend(self.memory.map(Limit::Data));
        limits.extend(self.open_files.map(Limit::OpenFiles));
        limits.extend(self.processes.filter(|_| with_processes).map(Limit::Processes));
        limits
    }
}

/// The lines of a POSIX shell that set these bounds for itself and what it starts.
///
/// A bound that the shell cannot set is skipped when the present one is as strict already.
pub(crate) fn shell_lines(limits: &[Limit]) -> String {
    let mut script = String::new();
    for limit in limits {
        // The unit of -f is 512 bytes, that of -d is 1 KiB. Processes are -p in some shells and -u
        // in others, where -p can never be set.
        let line = match limit {
            Limit::Cpu(seconds) => format!("ulimit -t {seconds}"),
            Limit::FileSize(bytes) => format!("ulimit -f {}", bytes.div_ceil(512)),
            Limit::NoCore => "ulimit -c 0".to_owned(),
            Limit::Data(bytes) => format!("ulimit -d {}", bytes.div_ceil(1024)),
            Limit::OpenFiles(count) => format!("ulimit -n {count}"),
            Limit::Processes(count) => {
                format!("{{ ulimit -p {count} || ulimit -u {count}; }}")
            }
        };
        let _infallible = writeln!(script, "{line} 2>/dev/null");
    }
    script
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_usual_limits() {
        let lines = shell_lines(&Limits::default().inherited(true));
        assert!(lines.starts_with("ulimit -t 30 2>/dev/null\nulimit -f 204800 2>/dev/null\n"));
        assert!(lines.contains("ulimit -d 1048576 "));
    }
}
