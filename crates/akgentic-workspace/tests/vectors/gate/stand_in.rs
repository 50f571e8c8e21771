//! Anchors and hunks in their plainest form, for scripts that are about the gate.

use akgentic_workspace::gate::Intent;
use akgentic_workspace::text::LineEnding;
use akgentic_workspace::tree::{Change, Stop};

/// Replaces an anchor that stands there exactly.
pub(super) fn replace(text: &str, old: &str, new: &str, all: bool) -> Result<String, String> {
    let changed = match text.matches(old).count() {
        0 => return Err("anchor_not_found".to_owned()),
        _ if all => text.replace(old, new),
        _ => text.replacen(old, new, 1),
    };
    Ok(LineEnding::detect(text).apply(&changed).into_owned())
}

/// One file of a patch.
#[derive(Debug)]
struct Section {
    old: String,
    new: String,
    hunks: Vec<Hunk>,
}

#[derive(Debug)]
struct Hunk {
    header: String,
    start: usize,
    lines: Vec<String>,
}

/// Why a patch does not apply.
pub(super) struct Failure {
    pub path: String,
    pub cause: String,
    pub target: Option<String>,
}

fn name(header: &str) -> String {
    let name = header.split('\t').next().unwrap_or_default().trim();
    let stripped = name.strip_prefix("a/").or_else(|| name.strip_prefix("b/"));
    stripped.unwrap_or(name).to_owned()
}

fn parse(patch: &str) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    let mut lines = patch.lines().peekable();
    while let Some(line) = lines.next() {
        if let Some(old) = line.strip_prefix("--- ")
            && let Some(new) = lines.peek().and_then(|line| line.strip_prefix("+++ "))
        {
            sections.push(Section { old: name(old), new: name(new), hunks: Vec::new() });
            lines.next();
        } else if line.starts_with("@@")
            && let Some(section) = sections.last_mut()
        {
            let numbers = line.split(['-', ',', ' ', '+']).filter_map(|part| part.parse().ok());
            let start = numbers.take(1).last().unwrap_or(1);
            section.hunks.push(Hunk { header: line.to_owned(), start, lines: Vec::new() });
        } else if let Some(hunk) = sections.last_mut().and_then(|section| section.hunks.last_mut())
        {
            hunk.lines.push(line.to_owned());
        }
    }
    sections
}

impl Hunk {
    fn side(&self, other: char) -> Vec<&str> {
        let kept = self.lines.iter().filter(|line| !line.starts_with([other, '\\']));
        kept.map(|line| line.get(1..).unwrap_or_default()).collect()
    }

    fn apply(&self, file: &mut Vec<String>) -> Result<(), String> {
        let (old, new) = (self.side('+'), self.side('-'));
        let fits = |at: usize| {
            file.get(at..at + old.len()).is_some_and(|lines| lines.iter().eq(old.iter()))
        };
        let stated = self.start.saturating_sub(1);
        let places: Vec<usize> = (0..=file.len()).filter(|at| fits(*at)).collect();
        let at = match places.as_slice() {
            [] => return Err(format!("hunk_absent {}", self.header)),
            [at] => *at,
            _ if places.contains(&stated) => stated,
            _ => return Err(format!("hunk_ambiguous {}", self.header)),
        };
        file.splice(at..at + old.len(), new.into_iter().map(str::to_owned));
        Ok(())
    }
}

impl Section {
    fn is_pure_add(&self) -> bool {
        self.old == "/dev/null" || {
            let mut lines = self.hunks.iter().flat_map(|hunk| &hunk.lines).peekable();
            lines.peek().is_some() && lines.all(|line| line.starts_with('+'))
        }
    }

    fn added(&self) -> String {
        let lines = self.hunks.iter().flat_map(|hunk| hunk.side('-'));
        lines.flat_map(|line| [line, "\n"]).collect()
    }

    fn render(&self, text: &str) -> Result<String, String> {
        let ending = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        for hunk in &self.hunks {
            hunk.apply(&mut lines)?;
        }
        let end = if text.ends_with('\n') || text.is_empty() { ending } else { "" };
        Ok(lines.join(ending) + if lines.is_empty() { "" } else { end })
    }
}

/// Applies a patch; the message has one line per file.
pub(super) fn patch(change: &mut Change<'_>, patch: &str) -> Result<String, (Stop, Failure)> {
    let sections = parse(patch);
    let mut removals: Vec<&str> = sections
        .iter()
        .filter(|section| section.new == "/dev/null")
        .map(|section| section.old.as_str())
        .collect();
    removals.sort_unstable();
    let mut labels = Vec::new();
    for section in &sections {
        let name = section.new.as_str();
        let failed = |target: Option<&str>| {
            let (file, target) = (name.to_owned(), target.map(str::to_owned));
            move |stop: Stop| {
                let cause = match &stop {
                    Stop::Failed(cause) => cause.split(' ').next().unwrap_or_default().to_owned(),
                    Stop::TargetMissing(_) => "target_missing".to_owned(),
                    Stop::Refused(refusal) => refusal.code.as_str().to_owned(),
                    Stop::Cancelled => "cancelled".to_owned(),
                };
                (stop, Failure { path: file, cause, target })
            }
        };
        if name == "/dev/null" {
            for removal in std::mem::take(&mut removals) {
                change.patch_delete(removal).map_err(failed(Some(removal)))?;
                labels.push(format!("deleted: {removal}"));
            }
        } else if section.hunks.is_empty() {
            // Nothing is to be changed.
        } else if section.is_pure_add() {
            change.write(name, &section.added()).map_err(failed(None))?;
            labels.push(format!("created: {name}"));
        } else {
            let render = |text: &str, _| section.render(text);
            change.edit(name, Intent::PatchUpdate, render).map_err(failed(None))?;
            labels.push(format!("updated: {name}"));
        }
    }
    Ok(if labels.is_empty() { "(no patches applied)".to_owned() } else { labels.join("\n") })
}
