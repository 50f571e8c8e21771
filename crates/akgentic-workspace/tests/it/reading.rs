//! Pages beyond what the golden vectors show.

use std::io::{self, Read};

use akgentic_workspace::read::{Page, PageLimits, Window, read_page};
use akgentic_workspace::{FileFault, refusal};

use crate::tree::Tree;

const ALL: Window = Window { offset: 1, limit: u64::MAX };

fn page(content: &[u8], window: Window, limits: PageLimits) -> Page {
    // Pieces of three bytes cut everything that can be cut.
    struct Slow<'a>(&'a [u8]);
    impl Read for Slow<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let most = into.len().min(3);
            self.0.read(&mut into[..most])
        }
    }
    let whole = read_page(&mut &*content, window, limits, &|| false).expect("a page");
    let pieced = read_page(&mut Slow(content), window, limits, &|| false).expect("a page");
    assert_eq!(whole, pieced, "however it comes in");
    whole
}

#[test]
fn crlf_is_one_line_end_and_a_lone_cr_is_none() {
    let page = page(b"a\r\nb\rc\r\r\nd\r", ALL, PageLimits::default());
    assert_eq!(page.text, "1     a\n2     b\rc\r\n3     d\r");
    assert_eq!((page.total, page.full), (3, true));
}

#[test]
fn a_long_line_is_cut_between_characters_with_a_marker() {
    let limits = PageLimits { line_chars: 3, ..PageLimits::default() };
    let page = page("a─👍é\r\nabc\r\n👍👍👍👍".as_bytes(), ALL, limits);
    assert_eq!(
        page.text,
        "1     a─👍 [... line cut: 4 characters, showing 3 ...]\n2     abc\n\
         3     👍👍👍 [... line cut: 4 characters, showing 3 ...]"
    );
    assert!(!page.full, "what was cut was not seen");
}

#[test]
fn field_d04_a_full_page_ends_at_a_line_and_says_where_to_go_on() {
    let limits = PageLimits { page_bytes: 24, ..PageLimits::default() };
    let page = page(b"one\ntwo\nthree\nfour\n", ALL, limits);
    assert_eq!(
        page.text,
        "1     one\n2     two\n[... truncated: 4 lines total, showing 1-2 ...]\n\
         [... page full at 24 bytes, go on with offset 3 ...]"
    );
    assert!(!page.full);
}

#[test]
fn past_the_end_is_said() {
    let window = Window { offset: 9, limit: 2 };
    let past = page(b"a\nb", window, PageLimits::default());
    assert_eq!(past.text, "[... 2 lines total, line 9 is past the end ...]");
    assert!(!past.full);
    let empty = page(b"", ALL, PageLimits::default());
    assert_eq!((empty.text.as_str(), empty.full, empty.total), ("", true, 0));
}

#[test]
fn a_large_file_is_held_piece_by_piece() {
    struct Endless {
        left: usize,
        largest: usize,
    }
    impl Read for Endless {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            self.largest = self.largest.max(into.len());
            let filled = into.len().min(self.left);
            for (index, byte) in into[..filled].iter_mut().enumerate() {
                *byte = if index % 100 == 99 { b'\n' } else { b'x' };
            }
            self.left -= filled;
            Ok(filled)
        }
    }
    let mut source = Endless { left: 50_000_000, largest: 0 };
    let window = Window { offset: 100_000, limit: 2000 };
    let page = read_page(&mut source, window, PageLimits::default(), &|| false).expect("a page");
    assert!(source.largest <= 64 * 1024, "{}", source.largest);
    assert!(page.text.len() < 256 * 1024 + 200);
    assert!(page.total > 400_000, "{}", page.total);
}

#[test]
fn one_endless_line_does_not_fill_memory() {
    let mut source = io::repeat(b'x').take(30_000_000);
    let page = read_page(&mut source, ALL, PageLimits::default(), &|| false).expect("a page");
    assert!(page.text.len() < 11_000);
    assert!(page.text.ends_with("[... line cut: 30000000 characters, showing 10000 ...]"));
}

#[test]
fn what_is_no_text_is_told_apart() {
    for (bytes, offset, guess) in [
        (&b"caf\xE9\n"[..], 3, "it looks like text in another encoding, such as Latin-1"),
        (b"\xFF\xFEa\0", 0, "it looks like text in UTF-16"),
        (b"\x89PNG\r\n\x1a\n", 0, "it is a PNG image"),
        (b"a\0\xFF", 2, "it is binary"),
        (b"good then cut \xE2\x94", 14, "it looks like text in another encoding, such as Latin-1"),
    ] {
        let error =
            read_page(&mut &*bytes, ALL, PageLimits::default(), &|| false).expect_err("no text");
        let FileFault::NotUtf8 { offset: at, size, guess: says } = error else {
            panic!("{error}");
        };
        assert_eq!((at, size, says), (offset, bytes.len() as u64, guess));
    }
}

#[test]
fn a_read_stops_when_cancelled() {
    let mut endless = io::repeat(b'\n');
    let calls = std::cell::Cell::new(0);
    let is_cancelled = || {
        calls.set(calls.get() + 1);
        calls.get() > 3
    };
    let error = read_page(&mut endless, ALL, PageLimits::default(), &is_cancelled);
    assert!(matches!(error, Err(FileFault::Cancelled)));
}

#[test]
fn a_directory_says_so() {
    let tree = Tree::new();
    let error = tree.files().open("").expect_err("a directory");
    assert!(refusal::describe(&error).starts_with("the workspace root is a directory"));
}

fn cut_notice(total: usize, first: usize, last: usize) -> String {
    format!("[... truncated: {total} lines total, showing {first}-{last} ...]")
}

/// The page, computed from the whole text at once.
fn simply(text: &str, window: Window) -> (String, bool) {
    let lines: Vec<&str> = text.lines().collect();
    let total = lines.len();
    let from = usize::try_from(window.offset - 1).expect("small");
    let end = total.min(from + usize::try_from(window.limit).expect("small"));
    if from >= total && from > 0 {
        return (
            format!("[... {total} lines total, line {} is past the end ...]", from + 1),
            false,
        );
    }
    let numbered = (from..end).map(|at| format!("{:<6}{}", at + 1, lines[at]));
    let mut page = numbered.collect::<Vec<_>>().join("\n");
    if end < total {
        page += "\n";
        page += &cut_notice(total, from + 1, end);
    }
    (page, from == 0 && end == total)
}

proptest::proptest! {
    #[test]
    fn a_page_is_what_the_whole_text_gives(
        text in "([a─👍\r\n]|\r\n){0,40}",
        offset in 1u64..12,
        limit in 1u64..12,
    ) {
        let window = Window { offset, limit };
        let page = page(text.as_bytes(), window, PageLimits::default());
        proptest::prop_assert_eq!((page.text, page.full), simply(&text, window));
    }

    #[test]
    fn bad_bytes_are_found_where_they_are(bytes in proptest::collection::vec(
        proptest::sample::select(b"a\n\xC3\xA9\xE2\x94\x80\xF0\xFF".to_vec()), 0..24,
    )) {
        let read = read_page(&mut bytes.as_slice(), ALL, PageLimits::default(), &|| false);
        match (read, std::str::from_utf8(&bytes)) {
            (Ok(_), Ok(_)) => {}
            (Err(FileFault::NotUtf8 { offset, size, .. }), Err(error)) => {
                proptest::prop_assert_eq!((offset, size), (error.valid_up_to() as u64, bytes.len() as u64));
            }
            (read, whole) => panic!("{read:?} and {whole:?}"),
        }
    }
}
