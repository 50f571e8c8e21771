//! `workspace_view`

use std::sync::Arc;
use std::time::Duration;

use akgentic_tool_core::{Content, Media, Part, Tool, ToolCall, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;

use super::failed;
use crate::cache::{ContentCache, stamp};
use crate::error::{FileError, FileFault, READ_MAX};
use crate::filesystem::Filesystem;
use crate::heavy::Slots;
use crate::image::{self, IMAGE_FORMATS, ImageFault, ImageFormat, ImageLimits};
use crate::kinds::suffix;
use crate::params::WorkspaceView;

/// Longest time for one image.
const LONGEST: Duration = Duration::from_secs(30);

/// Images that are decoded at one time.
const AT_ONCE: usize = 2;

#[derive(Deserialize, JsonSchema)]
struct ViewArgs {
    /// Path of the image, relative to the workspace.
    #[serde(deserialize_with = "crate::spelling::given")]
    path: String,
}

/// Makes images of files ready for a model, and remembers what it made; cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Viewer {
    files: Filesystem,
    cache: ContentCache,
    slots: Slots,
}

impl Viewer {
    pub(crate) fn new(files: &Filesystem, cache: &ContentCache) -> Self {
        let slots = Slots::new(AT_ONCE, LONGEST);
        Self { files: files.clone(), cache: cache.clone(), slots }
    }

    /// The files it looks at.
    pub(crate) fn files(&self) -> &Filesystem {
        &self.files
    }

    /// The image at `path`, with what has to be said about it.
    pub(crate) async fn view(&self, path: &str, limits: ImageLimits) -> Result<Content, ToolError> {
        let (own, name) = (self.clone(), path.to_owned());
        let work = move || own.look(&name, limits);
        self.slots.run(work).await.map_err(|fault| fault.about(path))?
    }

    fn look(&self, path: &str, limits: ImageLimits) -> Result<Content, ToolError> {
        let open = self.files.open(path).map_err(|error| failed(&error))?;
        if open.size > READ_MAX {
            let fault = FileFault::TooLarge { size: open.size, most: READ_MAX };
            return Err(failed(&FileError::new(path, fault)));
        }
        let (rel, stamp) = (open.rel.clone(), stamp(&open));
        let data = open.read().map_err(|fault| failed(&FileError::new(path, fault)))?;
        let named = ImageFormat::of_suffix(&suffix(path));
        if limits.side == 0 {
            let made = image::prepare(&data, named, limits);
            let made = made.map_err(|fault| refuse(path, data.len(), &fault))?;
            return Ok(content(data, made.media_type, made.note));
        }
        let digest = self.cache.digest(&rel, stamp, &data);
        let key = format!("{digest}.{}.image", limits.side);
        if let Some(made) = self.cache.get(&key)
            && let Some((note, made)) = unpack(&made)
            && let Some(format) = ImageFormat::sniff(if made.is_empty() { &data } else { made })
        {
            let shown = if made.is_empty() { data } else { made.to_vec() };
            return Ok(content(shown, format.media_type(), note));
        }
        let made = image::prepare(&data, named, limits);
        let made = made.map_err(|fault| refuse(path, data.len(), &fault))?;
        self.cache.put(&key, &pack(made.note.as_deref(), made.data.as_deref()));
        Ok(content(made.data.unwrap_or(data), made.media_type, made.note))
    }
}

/// A note and the bytes of an image, no bytes for those of the file itself.
fn pack(note: Option<&str>, data: Option<&[u8]>) -> Vec<u8> {
    let mut packed = note.unwrap_or_default().as_bytes().to_vec();
    packed.push(b'\n');
    packed.extend(data.unwrap_or_default());
    packed
}

fn unpack(packed: &[u8]) -> Option<(Option<String>, &[u8])> {
    let end = memchr::memchr(b'\n', packed)?;
    let note = std::str::from_utf8(packed.get(..end)?).ok()?;
    Some(((!note.is_empty()).then(|| note.to_owned()), packed.get(end + 1..)?))
}

fn content(data: Vec<u8>, media_type: &str, note: Option<String>) -> Content {
    let mut parts: Vec<Part> = note.map(Part::Text).into_iter().collect();
    parts.push(Part::Media(Media::new(Arc::<[u8]>::from(data), media_type)));
    parts.into()
}

fn refuse(path: &str, size: usize, fault: &ImageFault) -> ToolError {
    let suffix = suffix(path);
    if *fault == ImageFault::NotAnImage && ImageFormat::of_suffix(&suffix).is_none() {
        let known: Vec<_> = IMAGE_FORMATS.iter().map(|(suffix, _)| *suffix).collect();
        return ToolError::retriable(format!(
            "Unsupported image format '{suffix}': {path} is none of {}. Read text and documents with \
             workspace_read.",
            known.join(", ")
        ));
    }
    ToolError::retriable(format!(
        "{path} ({size} bytes) cannot be looked at: {fault}. The file was left as it is; go on without it, \
         or make another image of it."
    ))
}

/// `workspace_view`
pub(crate) fn view(viewer: &Viewer, param: &WorkspaceView) -> Tool {
    let limits = ImageLimits::of_side(param.max_dimension);
    let size = match limits.side {
        0 => "It is shown as it is.".to_owned(),
        side if cfg!(feature = "vision") => {
            format!(
                "One with a side of more than {side} pixels is made smaller, and one that a camera \
                     took sideways is turned upright; of an animation the first picture is shown."
            )
        }
        _ => "It is shown as it is, or not at all when it is too large for a model.".to_owned(),
    };
    let description = format!(
        "Looks at an image of the workspace: PNG, JPEG, GIF, WebP or BMP, told by its data. {size} Fails for \
         anything else: read text and documents with workspace_read. Fails for a missing file, a \
         directory, a damaged image, and a path outside the workspace."
    );
    let viewer = viewer.clone();
    let tool = Tool::new("workspace_view", description, move |args: ViewArgs, call: ToolCall| {
        let viewer = viewer.clone();
        async move { call.bound(viewer.view(&args.path, limits)).await }
    });
    tool.with_instructions(param.instructions.as_deref())
}
