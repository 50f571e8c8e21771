//! Pages of text files: numbered lines, a window, and bounds on what one answer holds.

use std::fmt::Write as _;
use std::io::{self, Read};
use std::ops::Range;

use crate::error::FileFault;
use crate::text::{BadByte, Utf8Check, clip, guess};

/// Bytes that are held of a file at one time.
const PIECE: usize = 64 * 1024;

/// Which lines to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// First line, counted from 1.
    pub offset: u64,
    /// Most lines, at least 1.
    pub limit: u64,
}

/// Bounds on one page, whatever the window asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageLimits {
    /// Characters of one line; the rest is cut with a marker.
    pub line_chars: usize,
    /// Bytes of all lines together; the page ends with the line before.
    pub page_bytes: usize,
}

impl Default for PageLimits {
    /// 10 000 characters per line, 256 KiB per page.
    fn default() -> Self {
        Self { line_chars: 10_000, page_bytes: 256 * 1024 }
    }
}

/// Lines of a file as the model sees them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// Numbered lines, and a notice when there are more.
    pub text: String,
    /// Whether the page shows the whole file.
    pub full: bool,
    /// Lines of the file.
    pub total: u64,
    /// The lines that are shown as they are, counted from 0; none where one was cut.
    pub shown: Range<u64>,
}

/// Reads a page.
///
/// The source is read to its end, so that the whole of it is known to be UTF-8 and its lines are
/// counted, but held piece by piece only. Lines end in `\n` or `\r\n`.
///
/// ```
/// use akgentic_workspace::read::{PageLimits, Window, read_page};
///
/// let window = Window { offset: 2, limit: 1 };
/// let page = read_page(&mut &b"a\nb\nc\n"[..], window, PageLimits::default(), &|| false)?;
/// assert_eq!(page.text, "2     b\n[... truncated: 3 lines total, showing 2-2 ...]");
/// # Ok::<_, akgentic_workspace::FileFault>(())
/// ```
pub fn read_page(
    source: &mut dyn Read,
    window: Window,
    limits: PageLimits,
    is_cancelled: &dyn Fn() -> bool,
) -> Result<Page, FileFault> {
    let mut pager = Pager::new(window, limits);
    let mut check = Utf8Check::default();
    let mut piece = vec![0; PIECE];
    let mut size = 0;
    let mut start = Vec::new();
    loop {
        if is_cancelled() {
            return Err(FileFault::Cancelled);
        }
        let filled = match source.read(&mut piece) {
            Ok(0) => break,
            Ok(filled) => filled,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error.into()),
        };
        let bytes = piece.get(..filled).unwrap_or(&[]);
        if size == 0 {
            start.extend(bytes.iter().take(4096));
        }
        if let Err(bad) = check.feed(bytes) {
            return Err(not_utf8(bad, size + count(filled), source, &start));
        }
        size += count(filled);
        pager.feed(bytes);
    }
    match check.finish() {
        Ok(()) => Ok(pager.finish()),
        Err(bad) => Err(not_utf8(bad, size, source, &start)),
    }
}

/// The refusal, with the size of the source, of which `read` bytes are read already.
fn not_utf8(bad: BadByte, read: u64, source: &mut dyn Read, start: &[u8]) -> FileFault {
    let rest = io::copy(source, &mut io::sink()).unwrap_or(0);
    FileFault::NotUtf8 { offset: bad.0, size: read + rest, guess: guess(start) }
}

fn count(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

/// Collects the lines of a window from pieces of a text.
struct Pager {
    limits: PageLimits,
    /// Lines of the window: from the first, counted from 0, to before the second.
    from: u64,
    to: u64,
    out: String,
    /// Lines that stand in `out`.
    shown: u64,
    /// The byte budget ended the page.
    spent: bool,
    clipped: bool,
    /// Lines that are complete.
    lines: u64,
    line: Line,
}

/// The line that is being collected.
#[derive(Default)]
struct Line {
    /// Its beginning.
    kept: Vec<u8>,
    chars: usize,
    bytes: u64,
    ends_in_cr: bool,
}

impl Pager {
    fn new(window: Window, limits: PageLimits) -> Self {
        let from = window.offset.saturating_sub(1);
        let to = from.saturating_add(window.limit);
        Self {
            limits,
            from,
            to,
            out: String::new(),
            shown: 0,
            spent: false,
            clipped: false,
            lines: 0,
            line: Line::default(),
        }
    }

    fn feed(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.lines >= self.to || self.spent {
                return self.only_count(bytes);
            }
            let Some(at) = memchr::memchr(b'\n', bytes) else { return self.extend(bytes) };
            self.extend(bytes.get(..at).unwrap_or(&[]));
            self.end_line(true);
            bytes = bytes.get(at + 1..).unwrap_or(&[]);
        }
    }

    /// Lines behind the window are counted, nothing more.
    fn only_count(&mut self, bytes: &[u8]) {
        self.lines += count(memchr::memchr_iter(b'\n', bytes).count());
        match memchr::memrchr(b'\n', bytes) {
            Some(last) => self.line.bytes = count(bytes.len() - last - 1),
            None => self.line.bytes += count(bytes.len()),
        }
    }

    fn extend(&mut self, bytes: &[u8]) {
        let line = &mut self.line;
        line.bytes += count(bytes.len());
        if self.lines < self.from {
            return;
        }
        if let Some(last) = bytes.last() {
            line.ends_in_cr = *last == b'\r';
        }
        line.chars += bytes.iter().filter(|byte| starts_char(**byte)).count();
        // A character has four bytes at most, and one `\r` may have to go.
        let room = (self.limits.line_chars + 1).saturating_mul(4).saturating_sub(line.kept.len());
        line.kept.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
    }

    fn end_line(&mut self, terminated: bool) {
        self.lines += 1;
        let mut line = std::mem::take(&mut self.line);
        if self.lines > self.from {
            self.show(&mut line, terminated);
        }
        // What it was collected in serves the next one.
        line.kept.clear();
        self.line.kept = line.kept;
    }

    fn show(&mut self, line: &mut Line, terminated: bool) {
        let number = self.lines;
        if terminated && line.ends_in_cr {
            line.chars -= 1;
            if count(line.kept.len()) == line.bytes {
                line.kept.pop();
            }
        }
        let cut = line.chars > self.limits.line_chars;
        let before = self.out.len();
        if self.shown > 0 {
            self.out.push('\n');
        }
        // Writing to a String cannot fail.
        _ = write!(self.out, "{number:<5} ");
        // The bytes were checked before; what was kept of a long line may end within a character.
        let kept = String::from_utf8_lossy(&line.kept);
        self.out.push_str(if cut { clip(&kept, self.limits.line_chars) } else { &kept });
        if cut {
            let (chars, most) = (line.chars, self.limits.line_chars);
            _ = write!(self.out, " [... line cut: {chars} characters, showing {most} ...]");
        }
        if self.shown > 0 && self.out.len() > self.limits.page_bytes {
            self.out.truncate(before);
            self.spent = true;
            return;
        }
        self.shown += 1;
        self.clipped |= cut;
    }

    fn finish(mut self) -> Page {
        if self.line.bytes > 0 {
            if self.lines < self.to && !self.spent {
                self.end_line(false);
            } else {
                self.lines += 1;
            }
        }
        let total = self.lines;
        let end = self.from + self.shown;
        let mut text = self.out;
        if self.from >= total && self.from > 0 {
            _ = write!(
                text,
                "[... {total} lines total, line {} is past the end ...]",
                self.from + 1
            );
        } else if end < total {
            let first = self.from + 1;
            _ = write!(text, "\n[... truncated: {total} lines total, showing {first}-{end} ...]");
        }
        if self.spent {
            let most = self.limits.page_bytes;
            let next = end + 1;
            _ = write!(text, "\n[... page full at {most} bytes, go on with offset {next} ...]");
        }
        let full = self.from == 0 && end == total && !self.clipped;
        let shown = if self.clipped { 0..0 } else { self.from..end };
        Page { text, full, total, shown }
    }
}

/// Whether a byte of UTF-8 begins a character.
fn starts_char(byte: u8) -> bool {
    byte & 0xC0 != 0x80
}
