//! What a run was held by, told with its result.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

/// How far a measure reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Nothing holds.
    None,
    /// Something holds, and something does not.
    Partial,
    /// It holds as described.
    Full,
}

impl Level {
    /// Its wire spelling.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Partial => "partial",
            Self::Full => "full",
        }
    }
}

/// One measure: how far it reaches, and by what means or why not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measure {
    /// How far it reaches.
    pub level: Level,
    /// By what, or why not.
    pub by: Cow<'static, str>,
}

impl Measure {
    /// Holds as described.
    pub fn full(by: impl Into<Cow<'static, str>>) -> Self {
        Self { level: Level::Full, by: by.into() }
    }

    /// Holds in part.
    pub fn partial(by: impl Into<Cow<'static, str>>) -> Self {
        Self { level: Level::Partial, by: by.into() }
    }

    /// Does not hold.
    pub fn none(why: impl Into<Cow<'static, str>>) -> Self {
        Self { level: Level::None, by: why.into() }
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.level.as_str(), self.by)
    }
}

/// What was enforced on a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Enforcement {
    /// The backend.
    pub backend: String,
    /// Which files can be seen and written.
    pub files: Measure,
    /// What network can be reached.
    pub network: Measure,
    /// How many processes there can be.
    pub processes: Measure,
    /// How much memory can be used.
    pub memory: Measure,
    /// Whether everything that was started is gone when the run is reported over.
    pub lifetime: Measure,
    /// Privileges and calls of the system.
    pub kernel: Measure,
    /// Whether repositories in the workspace are safe from what would run on the host.
    pub repositories: Measure,
}

impl Enforcement {
    /// A report on `backend` in which nothing is enforced yet.
    pub fn nothing(backend: &str) -> Self {
        let none = || Measure::none("nothing is done about it");
        Self {
            backend: backend.to_owned(),
            files: none(),
            network: none(),
            processes: none(),
            memory: none(),
            lifetime: none(),
            kernel: none(),
            repositories: none(),
        }
    }

    /// Each aspect with its measure.
    pub fn measures(&self) -> [(&'static str, &Measure); 7] {
        [
            ("files", &self.files),
            ("network", &self.network),
            ("processes", &self.processes),
            ("memory", &self.memory),
            ("lifetime", &self.lifetime),
            ("kernel", &self.kernel),
            ("repositories", &self.repositories),
        ]
    }
}

impl fmt::Display for Enforcement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sandbox {}", self.backend)?;
        for (aspect, measure) in self.measures() {
            write!(f, "\n  {aspect}: {measure}")?;
        }
        Ok(())
    }
}
