//! PDF, page by page: a page that cannot be read does not take the others with it.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};

use pdf_extract::{
    Dictionary, Document, Object, ObjectId, OutputError, PlainTextOutput, output_doc_page,
};

use super::{ConvertFault, TEXT_BYTES_MAX, streams};

/// Most pages that are read.
const PAGES_MAX: usize = 5000;

/// How many parents a page may have, and how deep forms may lie in forms.
const DEPTH_MAX: usize = 32;

/// The text of a PDF.
pub(super) fn text(data: &[u8]) -> Result<String, ConvertFault> {
    streams::measure(data)?;
    let loaded = Document::load_mem(data);
    let mut document = loaded.map_err(|error| ConvertFault::unreadable("PDF", error))?;
    if document.is_encrypted() && document.decrypt("").is_err() {
        return Err(ConvertFault::Encrypted);
    }
    streams::empty_hostile(&mut document);
    break_cycles(&mut document);
    let pages: Vec<(u32, ObjectId)> = document.get_pages().into_iter().collect();
    if pages.is_empty() {
        return Err(ConvertFault::unreadable("PDF", "it has no pages"));
    }
    let mut whole = String::new();
    let mut failed = Vec::new();
    for (number, id) in pages.iter().take(PAGES_MAX) {
        match has_root(&document, *id).then(|| page(&document, *number)).flatten() {
            Some(text) => push(&mut whole, &text),
            None => failed.push(*number),
        }
        if whole.len() > TEXT_BYTES_MAX {
            break;
        }
    }
    if failed.len() == pages.len() {
        return Err(ConvertFault::unreadable("PDF", "none of its pages can be read"));
    }
    for (what, numbers) in [
        ("could not be read", failed.as_slice()),
        ("was read; there are more", if pages.len() > PAGES_MAX { &[5000][..] } else { &[] }),
    ] {
        if !numbers.is_empty() {
            let shown: Vec<_> = numbers.iter().take(20).map(ToString::to_string).collect();
            let more = if numbers.len() > 20 { ", …" } else { "" };
            _ = write!(whole, "\n\n<!-- page {}{more} {what} -->", shown.join(", "));
        }
    }
    Ok(whole)
}

fn push(whole: &mut String, page: &str) {
    let page = page.trim();
    if page.is_empty() {
        return;
    }
    if !whole.is_empty() {
        whole.push_str("\n\n");
    }
    whole.push_str(page);
}

/// The text of one page; the reader panics on odd ones.
fn page(document: &Document, number: u32) -> Option<String> {
    let read = || -> Result<String, OutputError> {
        let mut text = String::new();
        output_doc_page(document, &mut PlainTextOutput::new(&mut text), number)?;
        Ok(text)
    };
    catch_unwind(AssertUnwindSafe(read)).ok()?.ok()
}

/// Whether the parents of a page come to an end: the reader follows them by recursion.
fn has_root(document: &Document, page: ObjectId) -> bool {
    let mut id = page;
    for _ in 0..DEPTH_MAX {
        let Ok(node) = document.get_dictionary(id) else { return true };
        match node.get(b"Parent").and_then(Object::as_reference) {
            Ok(parent) => id = parent,
            Err(_) => return true,
        }
    }
    false
}

/// Sees to it that forms which draw forms come to an end: the reader follows them by recursion.
///
/// A form without resources of its own would use those of whoever draws it, itself included.
fn break_cycles(document: &mut Document) {
    let forms: Vec<ObjectId> =
        document.objects.iter().filter(|(_, object)| is_form(object)).map(|(id, _)| *id).collect();
    let mut heights = HashMap::new();
    let mut bare = Vec::new();
    for form in forms {
        if height(document, form, 0, &mut heights).is_none_or(|height| height > DEPTH_MAX) {
            bare.push(form);
        }
    }
    for form in bare {
        let mut resources = own_resources(document, form).cloned().unwrap_or_default();
        resources.remove(b"XObject");
        if let Some(Object::Stream(stream)) = document.objects.get_mut(&form) {
            stream.dict.set("Resources", Object::Dictionary(resources));
        }
    }
}

fn is_form(object: &Object) -> bool {
    let Object::Stream(stream) = object else { return false };
    stream.dict.get(b"Subtype").and_then(Object::as_name).is_ok_and(|name| name == b"Form")
}

fn own_resources(document: &Document, form: ObjectId) -> Option<&Dictionary> {
    let Object::Stream(stream) = document.objects.get(&form)? else { return None };
    let (_, resources) = document.dereference(stream.dict.get(b"Resources").ok()?).ok()?;
    resources.as_dict().ok()
}

/// How deep forms lie below this one; nothing when they do not come to an end.
fn height(
    document: &Document,
    form: ObjectId,
    level: usize,
    heights: &mut HashMap<ObjectId, Option<usize>>,
) -> Option<usize> {
    if let Some(known) = heights.get(&form) {
        return *known;
    }
    if level > DEPTH_MAX {
        return None;
    }
    // Whoever meets it again on the way down has found a circle.
    heights.insert(form, None);
    let resources = own_resources(document, form)?;
    let drawn = resources.get(b"XObject").and_then(|drawn| document.dereference(drawn));
    let drawn = drawn.ok().and_then(|(_, drawn)| drawn.as_dict().ok());
    let mut highest = 0;
    for (_, object) in drawn.into_iter().flat_map(Dictionary::iter) {
        let Ok(id) = object.as_reference() else { continue };
        if document.objects.get(&id).is_some_and(is_form) {
            highest = highest.max(1 + height(document, id, level + 1, heights)?);
        }
    }
    heights.insert(form, Some(highest));
    Some(highest)
}
