//! `_expand_media_refs`: the images a prompt refers to, in the place of the references.

use std::time::{Duration, Instant};

use akgentic_tool_core::{Command, ExpandMediaRefs as Prompt, Part};

use super::Viewer;
use crate::filesystem::Filesystem;
use crate::glob::{Pattern, find_files};
use crate::image::ImageLimits;
use crate::kinds::FileKind;
use crate::media::{PromptPart, Reference, prompt_parts};
use crate::params::{ExpandMediaRefs, WorkspaceView};
use crate::spelling;

/// Most images of one prompt.
const IMAGES_MAX: usize = 20;

/// Most bytes of all images of one prompt.
const BYTES_MAX: usize = 16_000_000;

/// Most references of one prompt that are looked up; others stay as they are.
const REFERENCES_MAX: usize = 64;

/// Most files that one reference is compared with the others of.
const FILES_MAX: usize = 10_000;

/// Longest time for the files of one reference.
const LONGEST: Duration = Duration::from_secs(10);

/// The command `_expand_media_refs`.
pub(crate) fn expand_media_refs(
    viewer: &Viewer,
    view: &WorkspaceView,
    param: &ExpandMediaRefs,
) -> Command {
    let expander =
        Expander { viewer: viewer.clone(), limits: ImageLimits::of_side(view.max_dimension) };
    let description = "Puts the images of the workspace that a text refers to, as `!!name.png` or \
                       `!!\"pattern*.png\"`, in the place of the references.";
    let command = Command::of(description, move |prompt: Prompt| {
        let expander = expander.clone();
        async move { Ok(expander.expand(&prompt.prompt).await) }
    });
    command.with_instructions(param.instructions.as_deref())
}

#[derive(Clone, Debug)]
struct Expander {
    viewer: Viewer,
    limits: ImageLimits,
}

/// What one prompt has got so far.
#[derive(Debug, Default)]
struct Made {
    parts: Vec<Part>,
    images: usize,
    bytes: usize,
    /// Punctuation that belongs to the text behind a reference.
    carry: String,
}

impl Expander {
    async fn expand(&self, prompt: &str) -> Vec<Part> {
        let mut made = Made::default();
        let mut references = 0;
        for part in prompt_parts(prompt) {
            match part {
                PromptPart::Text(text) => {
                    let text = std::mem::take(&mut made.carry) + text;
                    made.parts.push(Part::Text(text));
                }
                PromptPart::Reference(reference) => {
                    if !made.carry.is_empty() {
                        let carry = std::mem::take(&mut made.carry);
                        made.parts.push(Part::Text(carry));
                    }
                    references += 1;
                    if references > REFERENCES_MAX {
                        made.parts.push(Part::Text(reference.to_string()));
                    } else {
                        self.put(&reference, &mut made).await;
                    }
                }
            }
        }
        made.parts
    }

    /// Puts what a reference stands for.
    async fn put(&self, reference: &Reference<'_>, made: &mut Made) {
        let mut found = self.files(reference.pattern).await;
        if found.is_empty()
            && let Some((pattern, punctuation)) = reference.without_punctuation()
        {
            found = self.files(pattern).await;
            if !found.is_empty() {
                punctuation.clone_into(&mut made.carry);
            }
        }
        let of_kind = |kind| found.iter().filter(move |path| FileKind::of(path) == kind);
        if of_kind(FileKind::Image).next().is_some() {
            for path in of_kind(FileKind::Image) {
                self.put_image(path, made).await;
            }
        } else if of_kind(FileKind::Document).next().is_some() {
            for path in of_kind(FileKind::Document) {
                let text = format!("!!{}[=> Use workspace_read tool]", name(path));
                made.parts.push(Part::Text(text));
            }
        } else {
            made.parts.push(Part::Text(format!(
                "!!{}[Error: no image found in the workspace]",
                reference.pattern
            )));
        }
    }

    async fn put_image(&self, path: &str, made: &mut Made) {
        if made.images >= IMAGES_MAX {
            let text = format!("!!{}[Error: more than {IMAGES_MAX} images]", name(path));
            made.parts.push(Part::Text(text));
            return;
        }
        let Ok(content) = self.viewer.view(path, self.limits).await else {
            made.parts.push(Part::Text(format!("!!{}[Error: file unreadable]", name(path))));
            return;
        };
        let size = |part: &Part| match part {
            Part::Media(media) => media.data.len(),
            Part::Text(_) => 0,
        };
        let bytes: usize = content.parts.iter().map(size).sum();
        if made.bytes + bytes > BYTES_MAX {
            let text =
                format!("!!{}[Error: the images have more than {BYTES_MAX} bytes]", name(path));
            made.parts.push(Part::Text(text));
            return;
        }
        made.images += 1;
        made.bytes += bytes;
        made.parts.extend(content.parts);
    }

    /// The files of a pattern, by path.
    async fn files(&self, pattern: &str) -> Vec<String> {
        let (files, pattern) = (self.viewer.files().clone(), pattern.to_owned());
        let looking = tokio::task::spawn_blocking(move || matching(&files, &pattern));
        looking.await.unwrap_or_default()
    }
}

fn matching(files: &Filesystem, pattern: &str) -> Vec<String> {
    // A path with `..` is no pattern; admission says whether it stays in the workspace.
    if pattern.split('/').any(|name| name == "..") {
        return files.open(pattern).map(|_| vec![pattern.to_owned()]).unwrap_or_default();
    }
    let Ok(pattern) = Pattern::new(pattern) else { return Vec::new() };
    let end = Instant::now() + LONGEST;
    let found = find_files(files, &pattern, "", FILES_MAX, &|| Instant::now() > end);
    let Ok(found) = found else { return Vec::new() };
    let mut paths = found.paths;
    paths.sort_by_cached_key(|path| spelling::read(path).into_owned());
    paths
}

fn name(path: &str) -> String {
    let path = spelling::read(path);
    path.file_name().map_or_else(String::new, |name| spelling::name(name).into_owned())
}
