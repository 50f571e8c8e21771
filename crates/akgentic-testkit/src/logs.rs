//! What a test logged.

use std::fmt::{Debug, Write as _};
use std::sync::{Arc, Mutex, PoisonError};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::DefaultGuard;
use tracing::{Event, Metadata, Subscriber};

/// Collects what this thread logs until it is dropped.
pub struct Logs {
    lines: Lines,
    _guard: DefaultGuard,
}

type Lines = Arc<Mutex<Vec<String>>>;

impl Logs {
    /// Begins to collect.
    pub fn capture() -> Self {
        let lines = Lines::default();
        let collector = Collector(Arc::clone(&lines));
        Self { lines, _guard: tracing::subscriber::set_default(collector) }
    }

    /// What was logged so far, one line each: level, text, then `name=value` for every field.
    pub fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How many lines hold every one of these texts.
    pub fn count(&self, texts: &[&str]) -> usize {
        self.lines().iter().filter(|line| texts.iter().all(|text| line.contains(text))).count()
    }
}

struct Collector(Lines);

impl Subscriber for Collector {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line::default();
        event.record(&mut line);
        let line = format!("{} {}{}", event.metadata().level(), line.text, line.fields);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[derive(Default)]
struct Line {
    text: String,
    fields: String,
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let written = if field.name() == "message" {
            write!(self.text, "{value:?}")
        } else {
            write!(self.fields, " {}={value:?}", field.name())
        };
        debug_assert!(written.is_ok(), "texts take everything");
    }
}
