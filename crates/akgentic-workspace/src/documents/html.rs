//! HTML as Markdown, well-formed or not.

use std::fmt::Write as _;

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

/// Most links, items and tables that are kept track of at one time.
const OPEN_MAX: usize = 256;

/// The Markdown of a page.
///
/// Markup that is not well-formed ends elements where it can; from where nothing can be made of it
/// any more, the rest is left out.
pub(super) fn markdown(html: &str) -> String {
    let mut reader = Reader::from_str(html);
    let config = reader.config_mut();
    config.check_end_names = false;
    config.allow_unmatched_ends = true;
    config.allow_dangling_amp = true;
    let mut writer = Writer::default();
    loop {
        match reader.read_event() {
            Ok(Event::Start(tag)) => writer.open(&tag),
            Ok(Event::Empty(tag)) => {
                writer.open(&tag);
                writer.close(tag.local_name().as_ref());
            }
            Ok(Event::End(tag)) => writer.close(tag.local_name().as_ref()),
            Ok(Event::Text(text)) => writer.text(&text),
            Ok(Event::CData(text)) => writer.text(&text),
            Ok(Event::GeneralRef(name)) => writer.text(&entity(&name)),
            Ok(Event::Eof) | Err(_) => return writer.finish(),
            Ok(_) => {}
        }
    }
}

/// The text of `&name;`.
pub(super) fn entity(name: &str) -> String {
    let numbered =
        name.strip_prefix('#').and_then(|number| match number.strip_prefix(['x', 'X']) {
            Some(hex) => u32::from_str_radix(hex, 16).ok(),
            None => number.parse().ok(),
        });
    if let Some(character) = numbered.and_then(char::from_u32) {
        return character.to_string();
    }
    match quick_xml::escape::resolve_html5_entity(name) {
        Some(text) => text.to_owned(),
        None => format!("&{name};"),
    }
}

/// A list that is open, and how far it has counted.
enum List {
    Bullets,
    Numbers(usize),
}

#[derive(Default)]
struct Writer {
    out: String,
    /// A blank stands between what was written and what comes.
    blank: bool,
    /// What is in here is not shown.
    hidden: usize,
    /// White space counts.
    verbatim: usize,
    lists: Vec<List>,
    /// Targets of links that are open.
    links: Vec<Option<String>>,
    quotes: usize,
    /// Cells of the row that is open, and whether a row of the table stands already.
    row: Option<Vec<String>>,
    cell_from: Option<usize>,
    has_head: bool,
}

impl Writer {
    fn open(&mut self, tag: &BytesStart<'_>) {
        let name = tag.local_name();
        match name.as_ref().to_ascii_lowercase().as_str() {
            "script" | "style" | "head" | "template" => self.hidden += 1,
            "p" | "div" | "section" | "article" | "header" | "footer" | "figure" => {
                self.paragraph();
            }
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                self.paragraph();
                let level = name.as_ref().bytes().last().map_or(1, |digit| digit - b'0');
                let marks = "#".repeat(usize::from(level));
                self.mark(&format!("{marks} "));
            }
            "br" => self.line(),
            "hr" => {
                self.paragraph();
                self.mark("---");
                self.paragraph();
            }
            "b" | "strong" => self.mark("**"),
            "i" | "em" => self.mark("*"),
            "code" if self.verbatim == 0 => self.mark("`"),
            "pre" => {
                self.paragraph();
                self.mark("```\n");
                self.verbatim += 1;
            }
            "blockquote" => {
                self.paragraph();
                self.quotes += 1;
                self.mark("> ");
            }
            "ul" | "ol" if self.lists.len() < OPEN_MAX => {
                self.line();
                let is_bullets = name.as_ref().eq_ignore_ascii_case("ul");
                self.lists.push(if is_bullets { List::Bullets } else { List::Numbers(0) });
            }
            "li" => self.item(),
            "a" if self.links.len() < OPEN_MAX => self.link(tag),
            "img" => {
                if let Some(text) = attribute(tag, "alt").filter(|text| !text.trim().is_empty()) {
                    self.text(&format!("[image: {}]", text.trim()));
                }
            }
            "table" => {
                self.paragraph();
                self.has_head = false;
            }
            "tr" => self.row = Some(Vec::new()),
            "td" | "th" => {
                self.end_cell();
                self.cell_from = Some(self.out.len());
                self.blank = false;
            }
            _ => {}
        }
    }

    fn close(&mut self, name: &str) {
        match name.to_ascii_lowercase().as_str() {
            "script" | "style" | "head" | "template" => {
                self.hidden = self.hidden.saturating_sub(1);
            }
            "p" | "div" | "section" | "article" | "header" | "footer" | "figure" | "table"
            | "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => self.paragraph(),
            "b" | "strong" => self.mark_end("**"),
            "i" | "em" => self.mark_end("*"),
            "code" if self.verbatim == 0 => self.mark_end("`"),
            "pre" => {
                self.verbatim = self.verbatim.saturating_sub(1);
                self.mark(if self.out.ends_with('\n') { "```" } else { "\n```" });
                self.paragraph();
            }
            "blockquote" => {
                self.quotes = self.quotes.saturating_sub(1);
                self.paragraph();
            }
            "ul" | "ol" => {
                self.lists.pop();
                if self.lists.is_empty() { self.paragraph() } else { self.line() }
            }
            "li" => self.line(),
            "a" => {
                if let Some(Some(target)) = self.links.pop() {
                    self.mark_end(&format!("]({target})"));
                }
            }
            "td" | "th" => self.end_cell(),
            "tr" => self.end_row(),
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        if self.hidden > 0 {
            return;
        }
        if self.verbatim > 0 {
            self.out.push_str(text);
            return;
        }
        for character in text.chars() {
            if character.is_whitespace() && character != '\u{a0}' {
                self.blank = true;
                continue;
            }
            self.put_blank();
            self.out.push(character);
        }
    }

    /// Writes the blank that is due, unless a line or a cell begins here.
    fn put_blank(&mut self) {
        let begins = self.out.is_empty()
            || self.out.ends_with(['\n', ' '])
            || self.cell_from == Some(self.out.len());
        if std::mem::take(&mut self.blank) && !begins {
            self.out.push(' ');
        }
    }

    /// Writes markup that stands before a text.
    fn mark(&mut self, markup: &str) {
        if self.hidden == 0 {
            self.put_blank();
            self.out.push_str(markup);
        }
    }

    /// Writes markup that stands right behind a text.
    fn mark_end(&mut self, markup: &str) {
        if self.hidden == 0 {
            self.out.push_str(markup);
        }
    }

    fn item(&mut self) {
        self.line();
        let depth = self.lists.len().saturating_sub(1);
        let marker = match self.lists.last_mut() {
            Some(List::Numbers(number)) => {
                *number += 1;
                format!("{number}. ")
            }
            Some(List::Bullets) | None => "- ".to_owned(),
        };
        self.mark(&format!("{}{marker}", "  ".repeat(depth)));
    }

    fn link(&mut self, tag: &BytesStart<'_>) {
        let target = attribute(tag, "href").filter(|target| !target.starts_with('#'));
        if target.is_some() {
            self.mark("[");
        }
        self.links.push(target);
    }

    fn line(&mut self) {
        self.blank = false;
        if self.cell_from.is_some() {
            self.blank = true;
        } else if !self.out.is_empty() && !self.out.ends_with('\n') {
            self.out.push('\n');
            self.out.push_str(&"> ".repeat(self.quotes));
        }
    }

    fn paragraph(&mut self) {
        self.blank = false;
        if self.cell_from.is_some() {
            self.blank = true;
            return;
        }
        // Within a quote or behind the marker of an item nothing is to be ended yet.
        let begun = self.out.trim_end_matches(['>', ' ']);
        if begun.is_empty() || begun.ends_with("\n\n") || self.out.ends_with("- ") {
            return;
        }
        let length = begun.len();
        if length < self.out.len() && begun.ends_with('\n') {
            return;
        }
        self.out.push_str(if self.out.ends_with('\n') { "\n" } else { "\n\n" });
        self.out.push_str(&"> ".repeat(self.quotes));
    }

    fn end_cell(&mut self) {
        let Some(from) = self.cell_from.take() else { return };
        let cell = self.out.split_off(from.min(self.out.len()));
        self.blank = false;
        let cell = cell.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|");
        self.row.get_or_insert_with(Vec::new).push(cell);
    }

    fn end_row(&mut self) {
        self.end_cell();
        let Some(row) = self.row.take().filter(|row| !row.is_empty()) else { return };
        self.line();
        _ = writeln!(self.out, "| {} |", row.join(" | "));
        if !std::mem::replace(&mut self.has_head, true) {
            _ = writeln!(self.out, "|{}", " --- |".repeat(row.len()));
        }
    }

    fn finish(mut self) -> String {
        self.end_row();
        let mut text = String::with_capacity(self.out.len());
        let mut empty = 0;
        for line in self.out.lines().map(str::trim_end) {
            empty = if line.is_empty() { empty + 1 } else { 0 };
            if empty < 2 {
                text.push_str(line);
                text.push('\n');
            }
        }
        text.trim().to_owned()
    }
}

fn attribute(tag: &BytesStart<'_>, name: &str) -> Option<String> {
    let mut attributes = tag.html_attributes();
    let found = attributes
        .with_checks(false)
        .flatten()
        .find(|attribute| attribute.key.local_name().as_ref().eq_ignore_ascii_case(name))?;
    Some(found.value.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_become_markdown() {
        for (html, expected) in [
            (
                "<h1>A  title</h1><p>One <b>bold</b>\n word &amp; &eacute;&#x2014;</p><p>Two</p>",
                "# A title\n\nOne **bold** word & é—\n\nTwo",
            ),
            (
                "<ul><li>a</li><li>b<ol><li>c</li><li>d</li></ol></li></ul>x",
                "- a\n- b\n  1. c\n  2. d\n\nx",
            ),
            (
                "<table><tr><th>A</th><th>B|C</th></tr><tr><td>1</td><td><p>2</p></td></tr></table>",
                "| A | B\\|C |\n| --- | --- |\n| 1 | 2 |",
            ),
            (
                "<a href='u'>link</a> <a href='#x'>here</a><img alt='A cat' src='c.png'/>",
                "[link](u) here[image: A cat]",
            ),
            (
                "<head><title>no</title></head><body>yes<br>two<script>no()</script></body>",
                "yes\ntwo",
            ),
            ("<pre>a\n  b</pre>", "```\na\n  b\n```"),
            ("<p>open <i>never closed", "open *never closed"),
            ("<p>a</div></p></span>b & c < d", "a\n\nb & c"),
            ("", ""),
        ] {
            assert_eq!(markdown(html), expected, "{html}");
        }
    }
}
