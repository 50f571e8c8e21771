//! Server-sent events, read as they come.

/// An event of a stream. Its name is not kept: what it is stands in its data as well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Event {
    /// Its lines of data.
    pub data: String,
}

/// How long one line or one event may be.
const LONGEST: usize = 32 * 1024 * 1024;

/// Takes bytes and gives events.
#[derive(Debug, Default)]
pub(super) struct EventReader {
    /// The line that has not ended.
    line: Vec<u8>,
    data: Option<String>,
    /// The last byte was a carriage return; a line feed after it ends nothing.
    after_return: bool,
    begun: bool,
}

/// A line or an event is longer than anything may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooLong;

impl EventReader {
    /// Takes bytes; whole events are added to `events`.
    pub(super) fn take(&mut self, bytes: &[u8], events: &mut Vec<Event>) -> Result<(), TooLong> {
        for piece in bytes.split_inclusive(|byte| matches!(byte, b'\n' | b'\r')) {
            let (text, end) = match piece.split_last() {
                Some((end @ (b'\n' | b'\r'), text)) => (text, Some(*end)),
                _ => (piece, None),
            };
            let pair = self.after_return && text.is_empty() && end == Some(b'\n');
            self.after_return = end == Some(b'\r');
            if pair {
                continue;
            }
            if self.line.len() + text.len() > LONGEST {
                return Err(TooLong);
            }
            self.line.extend_from_slice(text);
            if end.is_some() {
                self.end_line(events)?;
            }
        }
        Ok(())
    }

    /// Some servers forget the empty line behind their last event.
    pub(super) fn finish(mut self, events: &mut Vec<Event>) -> Result<(), TooLong> {
        if !self.line.is_empty() {
            self.end_line(events)?;
        }
        events.extend(self.data.map(|data| Event { data }));
        Ok(())
    }

    fn end_line(&mut self, events: &mut Vec<Event>) -> Result<(), TooLong> {
        let line = std::mem::take(&mut self.line);
        let mut line = String::from_utf8_lossy(&line);
        if !std::mem::replace(&mut self.begun, true)
            && let Some(rest) = line.strip_prefix('\u{feff}')
        {
            line = rest.to_owned().into();
        }
        if line.is_empty() {
            events.extend(self.data.take().map(|data| Event { data }));
            return Ok(());
        }
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        if field != "data" {
            return Ok(());
        }
        let value = value.strip_prefix(' ').unwrap_or(value);
        match &mut self.data {
            None => self.data = Some(value.to_owned()),
            Some(data) if data.len() + value.len() > LONGEST => return Err(TooLong),
            Some(data) => {
                data.push('\n');
                data.push_str(value);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(pieces: &[&[u8]]) -> Vec<String> {
        let (mut reader, mut events) = (EventReader::default(), Vec::new());
        for piece in pieces {
            reader.take(piece, &mut events).unwrap();
        }
        reader.finish(&mut events).unwrap();
        events.into_iter().map(|event| event.data).collect()
    }

    #[test]
    fn events_end_with_an_empty_line() {
        let text =
            "\u{feff}: hello\r\nevent: a\r\ndata: 1\r\ndata:2\r\n\r\n\n\ndata: 3\r\rid: 7\n\ndata";
        assert_eq!(read(&[text.as_bytes()]), ["1\n2", "3", ""]);
    }

    proptest! {
        #[test]
        fn pieces_do_not_matter(text in "[dat: \\r\\n1é]{0,60}", at in 0..60_usize) {
            let bytes = text.as_bytes();
            let (first, second) = bytes.split_at(at.min(bytes.len()));
            prop_assert_eq!(read(&[bytes]), read(&[first, second]));
        }
    }

    #[test]
    fn an_endless_line_is_refused() {
        let mut reader = EventReader::default();
        let piece = vec![b'x'; 1024 * 1024];
        let mut events = Vec::new();
        let refused = (0..40).any(|_| reader.take(&piece, &mut events).is_err());
        assert!(refused && events.is_empty());
    }
}
