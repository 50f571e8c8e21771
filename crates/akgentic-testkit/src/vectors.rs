//! Finding golden vectors, replaying them, reporting what disagrees.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

/// One case of a vector file.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its name.
    pub name: String,
    /// What goes in.
    pub input: Value,
    /// What has to come out; of a case with a known fault, what the improved behaviour is.
    pub expect: Value,
    /// The whole case, with whatever else it carries.
    pub whole: Value,
    /// The file it stands in, for what its cases share; null for a case made in code.
    pub file: Arc<Value>,
    not_applicable: Cell<Option<&'static str>>,
}

impl Case {
    /// A case of these parts.
    pub fn new(name: &str, input: Value, expect: Value) -> Self {
        let whole = serde_json::json!({"name": name, "input": &input, "expect": &expect});
        Self {
            name: name.to_owned(),
            input,
            expect,
            whole,
            file: Arc::default(),
            not_applicable: Cell::new(None),
        }
    }

    /// Says that the case cannot be put to us, for a reason that the schema of its file allows.
    #[expect(clippy::unnecessary_wraps, reason = "it is the outcome of a check")]
    pub fn not_applicable(&self, reason: &'static str) -> Result<(), String> {
        self.not_applicable.set(Some(reason));
        Ok(())
    }

    fn of(whole: &Value, file: &Arc<Value>) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        Self {
            name: text(&whole["name"]),
            input: whole["input"].clone(),
            expect: whole["expect"].clone(),
            whole: whole.clone(),
            file: Arc::clone(file),
            not_applicable: Cell::new(None),
        }
    }
}

/// Checks one case; the error says how it disagrees.
pub type Replay = fn(&Case) -> Result<(), String>;

/// The vectors of one part as one crate replays them.
#[derive(Clone, Copy, Debug)]
pub struct Suite {
    /// Folder below the vector directory.
    pub part: &'static str,
    /// Topics with the code that checks them.
    pub claimed: &'static [(&'static str, Replay)],
    /// Topics that are not checked here, and why: informative ones, those of another crate, those
    /// whose part is not built yet.
    pub elsewhere: &'static [(&'static str, &'static str)],
    /// Cases that are left out: topic, name, and why. They are listed in `DEVIATIONS.md` when the
    /// vector is wrong.
    pub skipped: &'static [(&'static str, &'static str, &'static str)],
}

impl Suite {
    /// Replays everything and panics with all disagreements together.
    ///
    /// # Panics
    /// When a case disagrees, a topic is unknown, a file cannot be read, or nothing was replayed.
    pub fn replay(&self) {
        let folder = vectors().join(self.part);
        let topics = topics(&folder);
        let mut failures = Vec::new();
        let mut total = 0;
        for topic in &topics {
            if let Some((_, why)) = self.elsewhere.iter().find(|(name, _)| name == topic) {
                println!("{}/{topic}: not here: {why}", self.part);
                continue;
            }
            let Some((_, check)) = self.claimed.iter().find(|(name, _)| name == topic) else {
                failures.push(format!("{}/{topic}: nobody claims this topic", self.part));
                continue;
            };
            let cases = cases(&folder.join(topic).with_extension("json"));
            let mut skipped = 0;
            let mut reasons = BTreeSet::new();
            for case in &cases {
                let left_out =
                    |(at, name, _): &&(&str, &str, &str)| at == topic && *name == case.name;
                if self.skipped.iter().any(|entry| left_out(&entry)) {
                    skipped += 1;
                } else if let Err(failure) = check(case) {
                    let input: String = case.input.to_string().chars().take(600).collect();
                    let Case { name, .. } = case;
                    failures
                        .push(format!("{}/{topic}: {name}: {failure}\n input {input}", self.part));
                } else if let Some(reason) = case.not_applicable.get() {
                    reasons.insert(reason);
                    skipped += 1;
                }
            }
            println!("{}/{topic}: {} cases, {skipped} skipped", self.part, cases.len());
            for reason in reasons {
                println!("  skipped: {reason}");
            }
            total += cases.len() - skipped;
        }
        println!("{}: {total} cases", self.part);
        assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
        assert!(total > 0, "no case was replayed from {}", folder.display());
    }
}

/// The directory with the vectors.
pub fn vectors() -> PathBuf {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    match std::env::var_os("AKGENTIC_VECTORS").map(PathBuf::from) {
        // Tests run in the folder of their crate; people write paths from that of the workspace.
        Some(given) if given.is_relative() && !given.exists() => workspace.join(given),
        Some(given) => given,
        None => workspace.join("testdata/vectors"),
    }
}

/// The cases of one file.
///
/// # Panics
/// When the file cannot be read or has no cases.
pub fn cases(path: &Path) -> Vec<Case> {
    let read = fs::read_to_string(path).map_err(|error| error.to_string());
    let parsed = read
        .and_then(|text| serde_json::from_str::<Value>(&text).map_err(|error| error.to_string()));
    match parsed {
        Ok(document) => match document["cases"].as_array() {
            Some(cases) => {
                let file = Arc::new(without_cases(&document));
                cases.iter().map(|case| Case::of(case, &file)).collect()
            }
            None => panic!("{}: there is no list of cases", path.display()),
        },
        Err(error) => panic!("{}: {error}", path.display()),
    }
}

/// Compares two values and says how they differ.
pub fn same<T: PartialEq + Debug + ?Sized>(what: &str, got: &T, wanted: &T) -> Result<(), String> {
    if got == wanted { Ok(()) } else { Err(format!("{what}:\n   got {got:?}\nwanted {wanted:?}")) }
}

/// Fails on a key that is not among `known`: a kind of case that nobody claims.
pub fn known_keys(what: &str, map: &Value, known: &[&str]) -> Result<(), String> {
    let keys = map.as_object().into_iter().flatten().map(|(key, _)| key);
    let unknown: Vec<_> = keys.filter(|key| !known.contains(&key.as_str())).collect();
    if unknown.is_empty() {
        Ok(())
    } else {
        Err(format!("{what} has keys that nobody claims: {unknown:?}"))
    }
}

fn without_cases(document: &Value) -> Value {
    let shared = document.as_object().into_iter().flatten().filter(|(key, _)| *key != "cases");
    Value::Object(shared.map(|(key, value)| (key.clone(), value.clone())).collect())
}

fn topics(folder: &Path) -> BTreeSet<String> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) => panic!("{}: {error}", folder.display()),
    };
    entries
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let is_topic = path.extension().is_some_and(|extension| extension == "json");
            is_topic.then(|| path.file_stem()?.to_str().map(str::to_owned)).flatten()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_folder_of_vectors_has_an_owner() {
        for entry in fs::read_dir(vectors()).expect("vectors").filter_map(Result::ok) {
            if entry.path().is_dir() {
                let name = entry.file_name();
                let owners = crate::owner_of(name.to_str().expect("a readable name"));
                assert!(!owners.is_empty(), "nobody claims {}", entry.path().display());
            }
        }
    }
}
