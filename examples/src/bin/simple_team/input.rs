//! Lines of standard input, none of them without end.

use std::io::{self, BufRead, Read as _};

/// Longest line in bytes.
const LONGEST: usize = 64 * 1024;

/// What was read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Input {
    Line(String),
    /// A line that is too long, or no text; nobody gets it.
    Unfit(&'static str),
    End,
}

/// Reads one line of standard input; whoever drops it leaves the line to the next call.
pub(crate) async fn next() -> anyhow::Result<Input> {
    Ok(tokio::task::spawn_blocking(|| read(&mut io::stdin().lock())).await??)
}

fn read(input: &mut impl BufRead) -> io::Result<Input> {
    let mut bytes = Vec::new();
    let most = u64::try_from(LONGEST).unwrap_or(u64::MAX);
    input.by_ref().take(most).read_until(b'\n', &mut bytes)?;
    if bytes.is_empty() {
        return Ok(Input::End);
    }
    if bytes.len() == LONGEST && !bytes.ends_with(b"\n") {
        input.skip_until(b'\n')?;
        return Ok(Input::Unfit("the line is longer than 64 KiB"));
    }
    Ok(String::from_utf8(bytes).map_or(Input::Unfit("the line is no text"), Input::Line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_text_and_end() {
        let long = "x".repeat(LONGEST);
        let parts: [&[u8]; 4] = [b"one\r\n\n\xff\n", long.as_bytes(), long.as_bytes(), b"\nlast"];
        let text = parts.concat();
        let mut input = text.as_slice();
        let mut next = || read(&mut input).expect("read");
        assert_eq!(next(), Input::Line("one\r\n".to_owned()));
        assert_eq!(next(), Input::Line("\n".to_owned()));
        assert_eq!(next(), Input::Unfit("the line is no text"));
        assert_eq!(next(), Input::Unfit("the line is longer than 64 KiB"));
        assert_eq!(next(), Input::Line("last".to_owned()));
        assert_eq!(next(), Input::End);
    }
}
