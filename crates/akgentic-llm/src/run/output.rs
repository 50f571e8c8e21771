//! Reading structured output, with the hooks around it.

use serde_json::Value;

use super::Run;
use crate::error::BoxError;
use crate::feedback::{Feedback, RetryCause};
use crate::part::ToolArgs;

/// Where structured output comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// Text of the model.
    Text,
    /// A call of the output tool.
    Call,
}

/// What structured output turned out to be.
pub(super) enum Reading {
    /// A value of the schema.
    Value(Value),
    /// Not usable; what the model is told, and why.
    Wrong(Feedback, RetryCause),
}

impl Run {
    /// Reads structured output; an error is a hook's.
    pub(super) fn read_output(&self, raw: &ToolArgs, source: Source) -> Result<Reading, BoxError> {
        let Some(schema) = &self.output.schema else {
            return Ok(Reading::Value(Value::Null));
        };
        let merged;
        let mut raw = raw;
        if source == Source::Text
            && let ToolArgs::Text(text) = raw
            && let Some(text) = schema.merged(text)
        {
            merged = ToolArgs::Text(text);
            raw = &merged;
        }
        let context = (!self.hooks.is_empty()).then(|| self.context());
        let changed;
        if let Some(context) = &context {
            let mut text = raw.to_text();
            for hook in self.hooks.iter() {
                hook.before_output_validate(context, &mut text)?;
            }
            changed = ToolArgs::Text(text);
            raw = &changed;
        }
        let read = match (source, raw) {
            (Source::Text, ToolArgs::Text(text)) => schema.read_text(text),
            _ => schema.read_args(raw),
        };
        let hooks = context
            .iter()
            .flat_map(|context| self.hooks.iter().rev().map(move |hook| (context, hook)));
        match read {
            Ok(mut value) => {
                for (context, hook) in hooks {
                    hook.after_output_validate(context, &mut value)?;
                }
                Ok(Reading::Value(value))
            }
            Err(errors) => {
                let mut told = None;
                for (context, hook) in hooks {
                    told = hook.on_output_validate_error(context, &errors)?.or(told);
                }
                Ok(match told.or_else(|| schema.unreadable(&errors)) {
                    Some(text) => Reading::Wrong(Feedback::Text(text), RetryCause::ModelRetry),
                    None => Reading::Wrong(Feedback::Errors(errors), RetryCause::ValidationError),
                })
            }
        }
    }
}
