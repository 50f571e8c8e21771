//! Documents in `workspace_read`: conversion, what was converted before, and a model for images.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use akgentic_tool_core::{Media, Observer, OneShotLlm, OneShotRequest, Part, ToolError};

use super::failed;
use crate::cache::{ContentCache, stamp};
use crate::documents::{
    BuiltInConverters, ConvertFault, DocumentConverter, NO_TEXT, TEXT_BYTES_MAX, has_enough_text,
};
use crate::error::{FileError, FileFault, READ_MAX};
use crate::filesystem::{Filesystem, OpenFile};
use crate::heavy::Slots;
use crate::image::{self, ImageLimits};
use crate::kinds::{FileKind, suffix};
use crate::params::{DocumentReader, LlmClient};
use crate::read::{PageLimits, Window, read_page};
use crate::spelling;

/// Longest time for one document.
const LONGEST: Duration = Duration::from_mins(1);

/// Documents that are converted at one time.
const AT_ONCE: usize = 2;

/// Longest time for a model to describe an image.
const MODEL_LONGEST: Duration = Duration::from_mins(1);

/// Longest side of an image that a model describes.
const DESCRIBED_SIDE: i64 = 1568;

/// Seconds that a text beside a document may be older than it.
const SIDECAR_OLDER: i64 = 1;

const DESCRIBE: &str = "Describe this image in Markdown for somebody who cannot see it. Write out all text in \
                        it word for word, tables as tables. Give the description only.";

/// Reads documents of one workspace; cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Documents {
    files: Filesystem,
    cache: ContentCache,
    slots: Slots,
    converter: Arc<dyn DocumentConverter>,
    model: Option<Describer>,
}

/// The model that describes images.
#[derive(Clone, Debug)]
struct Describer {
    model: Arc<dyn OneShotLlm>,
    name: String,
}

/// A document on the way to its text.
enum Found {
    /// Its text is there.
    Text(Vec<u8>),
    /// It was converted, to perhaps too little.
    Converted { key: String, text: String, image: Option<Media> },
}

impl Documents {
    /// With the converter and the model that the observer offers, if any.
    pub(crate) fn new(
        files: &Filesystem,
        cache: &ContentCache,
        observer: &Observer,
        reader: &DocumentReader,
    ) -> Self {
        let converter =
            observer.get::<dyn DocumentConverter>().unwrap_or_else(|_| Arc::new(BuiltInConverters));
        let model = reader.llm_client.and_then(|LlmClient::OpenAi| {
            let name = format!("openai:{}", reader.llm_model);
            Some(Describer { model: observer.get::<dyn OneShotLlm>().ok()?, name })
        });
        let slots = Slots::new(AT_ONCE, LONGEST);
        Self { files: files.clone(), cache: cache.clone(), slots, converter, model }
    }

    /// What the model has to know of it.
    pub(crate) fn description(&self) -> &'static str {
        if self.converter.is_there() {
            "PDF, Word, Excel, PowerPoint, EPUB and Outlook `.msg` files are read as Markdown, once for each \
             content unless `force_document_regeneration` is set; images are for workspace_view."
        } else {
            "PDF, office, EPUB and mail files cannot be read: this program is built without the feature \
             `docs`. Images are for workspace_view."
        }
    }

    /// A page of the document at `path`, which is converted when `anew` says so or when it was not
    /// converted as it is.
    pub(crate) async fn read(
        &self,
        path: &str,
        window: Window,
        anew: bool,
    ) -> Result<String, ToolError> {
        let (own, name) = (self.clone(), path.to_owned());
        let found = self.slots.run(move || own.find(&name, anew)).await;
        let (key, mut text, image) = match found.map_err(|fault| fault.about(path))?? {
            Found::Text(text) => return page(path, &text, window),
            Found::Converted { key, text, image } => (key, text, image),
        };
        let is_image = FileKind::of(path) == FileKind::Image;
        if !has_enough_text(&text)
            && let (Some(model), Some(image)) = (&self.model, image)
            && let Some(described) = model.describe(image).await
        {
            text = described;
        }
        if !has_enough_text(&text) {
            let page = page(path, NO_TEXT.as_bytes(), window)?;
            if !is_image {
                return Ok(page);
            }
            return Ok(format!(
                "{page}\n[... {path} is an image: look at it with workspace_view ...]"
            ));
        }
        let cut = cut(&mut text);
        let (own, kept) = (self.clone(), text.clone());
        // What was made is worth keeping, but not worth waiting for.
        drop(self.slots.run(move || own.cache.put(&key, kept.as_bytes())).await);
        let mut page = page(path, text.as_bytes(), window)?;
        if cut {
            page.push_str("\n[... the document has more text than is taken ...]");
        }
        Ok(page)
    }

    fn find(&self, path: &str, anew: bool) -> Result<Found, ToolError> {
        let open = self.files.open(path).map_err(|error| failed(&error))?;
        if !anew && let Some(text) = self.sidecar(&open) {
            return Ok(Found::Text(text));
        }
        let suffix = suffix(path);
        let key = |digest| format!("{digest}{suffix}.{}.md", self.converter.name());
        let (rel, stamp, size) = (open.rel.clone(), stamp(&open), open.size);
        if !anew
            && let Some(digest) = stamp.and_then(|stamp| self.cache.known_digest(&rel, stamp))
            && let Some(text) = self.cache.get(&key(digest))
        {
            return Ok(Found::Text(text.to_vec()));
        }
        if size > READ_MAX {
            let fault = FileFault::TooLarge { size, most: READ_MAX };
            return Err(failed(&FileError::new(path, fault)));
        }
        let data = open.read().map_err(|fault| failed(&FileError::new(path, fault)))?;
        let key = key(self.cache.digest(&rel, stamp, &data));
        if !anew && let Some(text) = self.cache.get(&key) {
            return Ok(Found::Text(text.to_vec()));
        }
        let converted = self.converter.convert(&data, &suffix);
        let text = converted.map_err(|fault| refuse(path, data.len(), &fault))?;
        let image = if FileKind::of(path) == FileKind::Image { for_model(data) } else { None };
        Ok(Found::Converted { key, text, image })
    }

    /// The text that somebody put beside a document as `.NAME.md`, unless it is older.
    fn sidecar(&self, source: &OpenFile) -> Option<Vec<u8>> {
        let path = source.rel.as_path();
        let name = format!(".{}.md", path.file_name()?.to_str()?);
        let beside = path.parent().unwrap_or(Path::new("")).join(name);
        let open = self.files.open(&spelling::shown(&beside)).ok()?;
        let limit = u64::try_from(TEXT_BYTES_MAX).unwrap_or(u64::MAX);
        let is_fresh = open.modified.0 + SIDECAR_OLDER >= source.modified.0;
        if !is_fresh || open.size > limit {
            return None;
        }
        let text = open.read().ok()?;
        std::str::from_utf8(&text).is_ok().then_some(text)
    }
}

impl Describer {
    async fn describe(&self, image: Media) -> Option<String> {
        let request = OneShotRequest {
            model: Some(self.name.clone()),
            parts: vec![Part::Text(DESCRIBE.to_owned()), Part::Media(image)],
            deadline: Some(Instant::now() + MODEL_LONGEST),
            ..OneShotRequest::default()
        };
        match tokio::time::timeout(MODEL_LONGEST, self.model.ask(request)).await {
            Ok(Ok(text)) => Some(text),
            Ok(Err(error)) => {
                tracing::debug!(model = self.name, %error, "an image is not described");
                None
            }
            Err(_) => {
                tracing::debug!(model = self.name, "an image is not described in time");
                None
            }
        }
    }
}

/// An image as a model takes it.
fn for_model(data: Vec<u8>) -> Option<Media> {
    let made = image::prepare(&data, None, ImageLimits::of_side(DESCRIBED_SIDE)).ok()?;
    Some(Media::new(made.data.unwrap_or(data), made.media_type))
}

fn page(path: &str, text: &[u8], window: Window) -> Result<String, ToolError> {
    let read = read_page(&mut &*text, window, PageLimits::default(), &|| false);
    read.map(|page| page.text).map_err(|fault| failed(&FileError::new(path, fault)))
}

/// Cuts a text that is too long, at a character.
fn cut(text: &mut String) -> bool {
    if text.len() <= TEXT_BYTES_MAX {
        return false;
    }
    let mut end = TEXT_BYTES_MAX;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.truncate(end);
    true
}

fn refuse(path: &str, size: usize, fault: &ConvertFault) -> ToolError {
    let next = match fault {
        ConvertFault::NotBuilt(_) => "Look for the same content as text, or go on without it",
        ConvertFault::Encrypted => "Ask for a copy without one",
        _ => "The file was left as it is; look for the same content in another file",
    };
    ToolError::retriable(format!("{path} ({size} bytes) cannot be read: {fault}. {next}."))
}
