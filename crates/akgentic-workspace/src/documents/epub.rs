//! EPUB: the chapters of a book in reading order.

use std::collections::HashMap;

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::archive::{self, Archive};
use super::{ConvertFault, TEXT_BYTES_MAX, html};

const KIND: &str = "EPUB";

/// The Markdown of a book: title and authors, then its chapters.
pub(super) fn markdown(data: &[u8]) -> Result<String, ConvertFault> {
    let mut archive = archive::open(data, KIND)?;
    let container = archive::text(&mut archive, "META-INF/container.xml", KIND)?;
    let missing = || ConvertFault::unreadable(KIND, "it names no package");
    let package = package_path(&container).ok_or_else(missing)?;
    let book = Book::read(&archive::text(&mut archive, &package, KIND)?);
    let folder = package.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut text = book.front();
    for id in &book.spine {
        let Some(path) = book.files.get(id).map(|href| joined(folder, href)) else { continue };
        if let Some(chapter) = chapter(&mut archive, &path) {
            if !text.is_empty() {
                text.push_str("\n\n");
            }
            text.push_str(&chapter);
        }
        if text.len() > TEXT_BYTES_MAX {
            break;
        }
    }
    Ok(text)
}

/// One chapter; a book whose chapter is missing is read without it.
fn chapter(archive: &mut Archive<'_>, path: &str) -> Option<String> {
    let page = archive::text(archive, path, KIND).ok()?;
    Some(html::markdown(&page)).filter(|chapter| !chapter.is_empty())
}

fn package_path(container: &str) -> Option<String> {
    let mut reader = Reader::from_str(container);
    loop {
        match reader.read_event() {
            Ok(Event::Start(tag) | Event::Empty(tag))
                if tag.local_name().as_ref() == "rootfile" =>
            {
                return attribute(&tag, "full-path");
            }
            Ok(Event::Eof) | Err(_) => return None,
            Ok(_) => {}
        }
    }
}

/// What the package says of a book.
#[derive(Debug, Default)]
struct Book {
    title: Option<String>,
    authors: Vec<String>,
    /// Paths by id.
    files: HashMap<String, String>,
    /// Ids in reading order.
    spine: Vec<String>,
}

impl Book {
    fn read(package: &str) -> Self {
        let mut reader = Reader::from_str(package);
        let mut book = Self::default();
        let mut field: Option<(String, String)> = None;
        loop {
            match reader.read_event() {
                Ok(Event::Start(tag)) => {
                    book.meet(&tag);
                    field = Some((tag.local_name().as_ref().to_owned(), String::new()));
                }
                Ok(Event::Empty(tag)) => book.meet(&tag),
                Ok(Event::Text(text)) => {
                    if let Some((_, value)) = &mut field {
                        value.push_str(&text);
                    }
                }
                Ok(Event::GeneralRef(name)) => {
                    if let Some((_, value)) = &mut field {
                        value.push_str(&html::entity(&name));
                    }
                }
                Ok(Event::End(_)) => {
                    if let Some((name, value)) = field.take() {
                        book.tell(&name, value.trim());
                    }
                }
                Ok(Event::Eof) | Err(_) => return book,
                Ok(_) => {}
            }
        }
    }

    fn meet(&mut self, tag: &BytesStart<'_>) {
        match tag.local_name().as_ref() {
            "item" => {
                if let (Some(id), Some(href)) = (attribute(tag, "id"), attribute(tag, "href")) {
                    self.files.insert(id, unescaped(&href));
                }
            }
            "itemref" => self.spine.extend(attribute(tag, "idref")),
            _ => {}
        }
    }

    fn tell(&mut self, name: &str, value: &str) {
        match name {
            "title" if self.title.is_none() && !value.is_empty() => {
                self.title = Some(value.to_owned());
            }
            "creator" if !value.is_empty() => self.authors.push(value.to_owned()),
            _ => {}
        }
    }

    fn front(&self) -> String {
        let title = self.title.iter().map(|title| format!("**Title:** {title}"));
        let authors =
            (!self.authors.is_empty()).then(|| format!("**Authors:** {}", self.authors.join(", ")));
        title.chain(authors).collect::<Vec<_>>().join("\n")
    }
}

fn attribute(tag: &BytesStart<'_>, name: &str) -> Option<String> {
    let found = tag.attributes().flatten().find(|found| found.key.local_name().as_ref() == name)?;
    Some(found.value.into_owned())
}

/// A path in the archive, relative to the folder of the package.
fn joined(folder: &str, href: &str) -> String {
    let mut names: Vec<&str> = folder.split('/').filter(|name| !name.is_empty()).collect();
    let path = href.split_once('#').map_or(href, |(path, _)| path);
    for name in path.split('/') {
        match name {
            "" | "." => {}
            ".." => {
                names.pop();
            }
            name => names.push(name),
        }
    }
    names.join("/")
}

/// A path without `%20` and the like.
fn unescaped(href: &str) -> String {
    let mut bytes = Vec::with_capacity(href.len());
    let mut rest = href.as_bytes();
    while let [first, behind @ ..] = rest {
        let digit = |at: usize| char::from(*behind.get(at)?).to_digit(16);
        let coded = match (first, digit(0), digit(1)) {
            (b'%', Some(high), Some(low)) => u8::try_from(high * 16 + low).ok(),
            _ => None,
        };
        bytes.push(coded.unwrap_or(*first));
        rest = if coded.is_some() { behind.get(2..).unwrap_or_default() } else { behind };
    }
    String::from_utf8(bytes).unwrap_or_else(|_| href.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_in_a_book() {
        for (folder, href, expected) in [
            ("OEBPS", "text/a%20b.xhtml#top", "OEBPS/text/a b.xhtml"),
            ("", "a.xhtml", "a.xhtml"),
            ("a/b", "../c.xhtml", "a/c.xhtml"),
            ("a", "../../../x%", "x%"),
        ] {
            assert_eq!(joined(folder, &unescaped(href)), expected);
        }
    }
}
