//! The deprecated card for commands says what replaces it.

use std::fmt::{Debug, Write as _};
use std::sync::{Arc, Mutex};

use akgentic_tool_core::{Observer, ToolCard as _};
use akgentic_workspace::ExecTool;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// Keeps what warnings say.
struct Warnings(Arc<Mutex<String>>);

impl Subscriber for Warnings {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() == Level::WARN
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        event.record(&mut Line(&mut self.0.lock().expect("the warnings")));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

struct Line<'l>(&'l mut String);

impl Visit for Line<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        writeln!(self.0, "{field}: {value:?}").expect("text");
    }
}

#[test]
fn the_card_warns_when_it_is_bound_and_not_before() {
    let warnings = Arc::new(Mutex::new(String::new()));
    tracing::subscriber::with_default(Warnings(Arc::clone(&warnings)), || {
        let card = ExecTool::default();
        assert_eq!(*warnings.lock().expect("the warnings"), "");
        let observer = Observer::unattached().build();
        let bound = akgentic_testkit::block_on(card.bind(&observer)).expect("bound");
        assert_eq!(bound.tools.len(), 1);
    });
    let told = warnings.lock().expect("the warnings").clone();
    assert!(told.contains("deprecated: use WorkspaceTool with workspace_exec"), "{told}");
}
