//! Files inside messages.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};

use serde_json::{Value, json};

use super::pieces::Return;
use crate::content::{BinaryContent, ToolContent, ToolItem, UserContent, UserItem};
use crate::history::History;
use crate::message::ModelMessage;
use crate::part::RequestPart;

pub(in crate::provider) fn is_image(binary: &BinaryContent) -> bool {
    ["image/png", "image/jpeg", "image/gif", "image/webp"].contains(&bare_type(binary))
}

pub(in crate::provider) fn is_pdf(binary: &BinaryContent) -> bool {
    bare_type(binary) == "application/pdf"
}

/// Whether it is something models look at, rather than text.
pub(in crate::provider) fn is_shown(binary: &BinaryContent) -> bool {
    is_image(binary) || is_pdf(binary)
}

/// The media type without parameters.
pub(in crate::provider) fn bare_type(binary: &BinaryContent) -> &str {
    binary.media_type.split(';').next().unwrap_or_default().trim()
}

pub(in crate::provider) fn encoded(binary: &BinaryContent) -> String {
    STANDARD.encode(&binary.data)
}

/// As Gemini wants it.
pub(in crate::provider) fn url_safe(binary: &BinaryContent) -> String {
    URL_SAFE.encode(&binary.data)
}

pub(in crate::provider) fn data_uri(binary: &BinaryContent) -> String {
    format!("data:{};base64,{}", binary.media_type, encoded(binary))
}

/// The text of a file of text; a note in the place of any other file, which the API cannot take.
pub(in crate::provider) fn as_text(binary: &BinaryContent) -> String {
    binary.as_inlined_file().unwrap_or_else(|| {
        let id = binary.identifier();
        format!("[The file {id} ({}) cannot be shown to this model.]", binary.media_type)
    })
}

/// What stands in the place of a file that is shown elsewhere.
pub(in crate::provider) fn reference(binary: &BinaryContent) -> String {
    if is_shown(binary) { format!("See file {}.", binary.identifier()) } else { as_text(binary) }
}

/// The line before a file that a tool returned.
pub(in crate::provider) fn frame(tool: &str, call: &str, binary: &BinaryContent) -> String {
    let id = binary.identifier();
    format!("<tool_result tool_name=\"{tool}\" tool_call_id=\"{call}\" file_id=\"{id}\">")
}

/// The line after it.
pub(in crate::provider) const FRAME_END: &str = "</tool_result>";

/// The files of a result in a message of the user, for languages whose results hold text only.
pub(in crate::provider) fn shown(
    result: &Return<'_>,
    tool: &str,
    call: &str,
    text: fn(String) -> Value,
    file: fn(&BinaryContent) -> Value,
) -> Option<Value> {
    let files = result.files();
    if files.is_empty() {
        return None;
    }
    let framed = |shown| [text(frame(tool, call, shown)), file(shown), text(FRAME_END.to_owned())];
    let items: Vec<Value> = files.into_iter().flat_map(framed).collect();
    Some(json!({"role": "user", "content": items}))
}

/// The history with a note in the place of each file that is not text; `None` when it has none.
///
/// A provider that refuses a file refuses every later request too, as long as the file is in it.
pub(crate) fn without_files(messages: &History) -> Option<History> {
    let bears = |message: &ModelMessage| {
        let request = message.as_request();
        request.is_some_and(|request| request.parts.iter().any(bears_files))
    };
    if !messages.iter().any(|message| bears(message)) {
        return None;
    }
    let messages = messages.iter().map(|message| match &**message {
        ModelMessage::Request(request) if bears(message) => {
            let mut request = request.clone();
            request.parts.iter_mut().for_each(leave_out);
            request.into()
        }
        _ => Arc::clone(message),
    });
    Some(messages.collect())
}

fn bears_files(part: &RequestPart) -> bool {
    match part {
        RequestPart::UserPrompt(part) => match &part.content {
            UserContent::Text(_) => false,
            UserContent::Items(items) => items
                .iter()
                .any(|item| matches!(item, UserItem::Binary(file) if is_refusable(file))),
        },
        RequestPart::ToolReturn(part) => match &part.content {
            ToolContent::Json(_) => false,
            ToolContent::Binary(file) => is_refusable(file),
            ToolContent::Items(items) => items
                .iter()
                .any(|item| matches!(item, ToolItem::Binary(file) if is_refusable(file))),
        },
        _ => false,
    }
}

fn is_refusable(binary: &BinaryContent) -> bool {
    binary.as_inlined_file().is_none()
}

fn leave_out(part: &mut RequestPart) {
    match part {
        RequestPart::UserPrompt(part) => {
            if let UserContent::Items(items) = &mut part.content {
                for item in items {
                    if let UserItem::Binary(file) = item
                        && is_refusable(file)
                    {
                        *item = UserItem::Text(refused(file));
                    }
                }
            }
        }
        RequestPart::ToolReturn(part) => match &mut part.content {
            ToolContent::Binary(file) if is_refusable(file) => {
                part.content = ToolContent::from(refused(file));
            }
            ToolContent::Json(_) | ToolContent::Binary(_) => {}
            ToolContent::Items(items) => {
                for item in items {
                    if let ToolItem::Binary(file) = item
                        && is_refusable(file)
                    {
                        *item = ToolItem::Json(refused(file).into());
                    }
                }
            }
        },
        _ => {}
    }
}

fn refused(binary: &BinaryContent) -> String {
    let (id, kind, size) = (binary.identifier(), &binary.media_type, binary.data.len());
    format!("[The file {id} ({kind}, {size} bytes) was left out: the provider refused it.]")
}
