//! Rules about files that a linter cannot see.

mod docs;
mod manifest;
mod source;

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::shell::{Done, Shell};
use crate::workspace::{Workspace, library};

/// Folders whose content is not ours to judge.
const SKIPPED: &[&str] = &[".git", "target", "testdata", "node_modules"];

/// A broken rule.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Fault {
    path: String,
    /// Counted from one; zero is the whole file.
    line: usize,
    text: String,
}

impl Fault {
    fn new(path: &str, line: usize, text: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, text: text.into() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(out, "{}: {}", self.path, self.text),
            line => write!(out, "{}:{line}: {}", self.path, self.text),
        }
    }
}

/// A text file of the repository.
struct Page {
    /// As seen from the root.
    path: String,
    text: String,
}

impl Page {
    fn is(&self, extension: &str) -> bool {
        Path::new(&self.path).extension().is_some_and(|found| found == extension)
    }
}

/// Checks every rule.
pub(crate) fn run(workspace: &Workspace, _: &Shell) -> Result<Done> {
    let pages = pages(workspace)?;
    let mut faults = Vec::new();
    for page in &pages {
        if page.is("rs") {
            faults.extend(source::check(page));
        }
        if page.is("md") {
            faults.extend(docs::check(page));
        }
        faults.extend(source::check_any(page));
    }
    faults.extend(source::check_exceptions(&pages));
    faults.extend(manifests(workspace, &pages));
    faults.extend(crates(workspace, &pages));
    faults.extend(books(workspace, &pages));
    faults.sort();

    if !faults.is_empty() {
        let lines: Vec<String> = faults.iter().map(ToString::to_string).collect();
        bail!("{} faults\n  {}", lines.len(), lines.join("\n  "));
    }
    Ok(Done::line(format!("{} files", pages.len())))
}

/// Every text file that may carry a rule.
fn pages(workspace: &Workspace) -> Result<Vec<Page>> {
    let mut pages = Vec::new();
    let mut open = vec![workspace.root.clone()];
    while let Some(folder) = open.pop() {
        let entries = std::fs::read_dir(&folder)
            .with_context(|| format!("cannot read {}", folder.display()))?;
        for entry in entries {
            let entry = entry?;
            let path = entry.path();
            let kind = entry.file_type()?;
            if kind.is_dir() && !skipped(&path, &workspace.target) {
                open.push(path);
            } else if kind.is_file() && ours(&path) {
                let text = std::fs::read_to_string(&path)
                    .with_context(|| format!("cannot read {}", path.display()))?;
                pages.push(Page { path: workspace.relative(&path), text });
            }
        }
    }
    pages.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(pages)
}

fn skipped(folder: &Path, target: &Path) -> bool {
    folder == target || folder.file_name().is_some_and(|n| SKIPPED.iter().any(|skip| n == *skip))
}

fn ours(file: &Path) -> bool {
    let extension = file.extension().and_then(|extension| extension.to_str());
    matches!(extension, Some("rs" | "md" | "toml" | "yml" | "yaml" | "sh"))
        || file.ends_with(".ci/run")
}

fn find<'a>(pages: &'a [Page], path: &str) -> Option<&'a Page> {
    pages.iter().find(|page| page.path == path)
}

fn manifests(workspace: &Workspace, pages: &[Page]) -> Vec<Fault> {
    let mut faults = Vec::new();
    if let Some(page) = find(pages, "Cargo.toml") {
        faults.extend(manifest::check_root(page));
    }
    for package in &workspace.members {
        let path = format!("{}/Cargo.toml", workspace.folder(package));
        let Some(page) = find(pages, &path) else { continue };
        faults.extend(manifest::check_member(page));
        if package.license.as_deref() != Some("AGPL-3.0-only") {
            faults.push(Fault::new(&path, 0, "add `license.workspace = true`"));
        }
        let anyhow = package.dependencies.iter().any(|dependency| {
            dependency.name == "anyhow"
                && dependency.kind != cargo_metadata::DependencyKind::Development
        });
        if anyhow && library(package).is_some() {
            faults.push(Fault::new(&path, 0, "a library has its own error type, not anyhow"));
        }
    }
    faults
}

/// Each crate has a README which is also its documentation's first page.
fn crates(workspace: &Workspace, pages: &[Page]) -> Vec<Fault> {
    let mut faults = Vec::new();
    for package in &workspace.members {
        let folder = workspace.folder(package);
        let path = format!("{folder}/README.md");
        let readme = find(pages, &path);
        if readme.is_none() {
            faults.push(Fault::new(&path, 0, "each crate has a README"));
        }
        if source::bad_name(&folder).is_some() || source::bad_name(&package.name).is_some() {
            faults.push(Fault::new(&folder, 0, "name the crate after what it holds"));
        }
        let Some(root) = library(package).map(|root| workspace.relative(root)) else { continue };
        if readme.is_some_and(|page| !page.text.contains("\n```rust\n")) {
            faults.push(Fault::new(&path, 0, "show the crate's use in a compiled ```rust block"));
        }
        let line = r#"#![doc = include_str!("../README.md")]"#;
        if find(pages, &root).is_some_and(|page| !page.text.lines().any(|found| found == line)) {
            faults.push(Fault::new(&root, 1, format!("begin with `{line}`")));
        }
    }
    faults
}

/// The pages under `docs/` agree with what is there.
fn books(workspace: &Workspace, pages: &[Page]) -> Vec<Fault> {
    let members: Vec<&str> = workspace.members.iter().map(|p| p.name.as_str()).collect();
    let tests: BTreeSet<&str> =
        pages.iter().filter(|page| page.is("rs")).flat_map(source::functions).collect();
    let homes: Vec<PathBuf> = workspace
        .members
        .iter()
        .map(|package| workspace.root.join(workspace.folder(package)))
        .chain([workspace.root.clone()])
        .collect();
    let exists = |name: &str| {
        let function = name.rsplit("::").next().unwrap_or(name);
        tests.contains(function)
            || name.contains('/')
                && (homes.iter().any(|home| home.join(name).exists())
                    || workspace.root.join(format!("testdata/vectors/{name}.json")).exists())
    };

    let mut faults = Vec::new();
    match find(pages, docs::ARCHITECTURE) {
        Some(page) => faults.extend(docs::check_architecture(page, &members)),
        None => faults.push(Fault::new(docs::ARCHITECTURE, 0, "is missing")),
    }
    match find(pages, docs::PARITY) {
        Some(page) => faults.extend(docs::check_parity(page, &members, exists)),
        None => faults.push(Fault::new(docs::PARITY, 0, "is missing")),
    }
    faults
}
