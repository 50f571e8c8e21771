//! Templates of scenarios: the engine, its helpers and how tool results look to it.

use std::error::Error as _;
use std::fmt;
use std::sync::Arc;

use minijinja::value::{Enumerator, Object, ObjectRepr};
use minijinja::{Environment, Error, ErrorKind, UndefinedBehavior, Value};
use regex::Regex;
use serde_json::{Map, Value as Json};

/// Steps of the engine for one text or expression.
const FUEL: u64 = 500_000;

/// Bytes of one rendered text at most.
pub(super) const MAX_TEXT: usize = 4 * 1024 * 1024;

/// Calls that one `for` makes at most.
const MAX_ITEMS: usize = 10_000;

/// Bytes of one text of a scenario at most.
const MAX_TEMPLATE: usize = 256 * 1024;

/// Bytes inside the tags of one text at most: what is in them nests, and the engine recurses.
const MAX_TAGS: usize = 4000;

/// The template engine with the helpers of scenarios.
pub(super) struct Templates {
    environment: Environment<'static>,
}

impl Templates {
    pub(super) fn new() -> Self {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_recursion_limit(32);
        environment.set_fuel(Some(FUEL));
        environment.add_filter("lines", lines);
        environment.add_filter("first_lines", first_lines);
        environment.add_filter("count", count);
        environment.add_filter("int", int);
        environment.add_filter("captures", captures);
        environment.add_filter("capture", capture);
        Self { environment }
    }

    pub(super) fn check_template(&self, text: &str) -> Result<(), String> {
        if text.len() > MAX_TEMPLATE {
            return Err(format!("the text is longer than {MAX_TEMPLATE} bytes"));
        }
        check_tags(bytes_in_tags(text))?;
        let environment = &self.environment;
        environment.template_from_str(text).map(drop).map_err(|error| describe(&error))
    }

    pub(super) fn check_expression(&self, text: &str) -> Result<(), String> {
        check_tags(text.len())?;
        let environment = &self.environment;
        environment.compile_expression(text).map(drop).map_err(|error| describe(&error))
    }

    pub(super) fn text(&self, template: &str, scene: &Value) -> Result<String, String> {
        let rendered = self.environment.render_str(template, scene.clone());
        let text = rendered.map_err(|error| describe(&error))?;
        if text.len() > MAX_TEXT { Err(too_long()) } else { Ok(text) }
    }

    pub(super) fn holds(&self, expression: &str, scene: &Value) -> Result<bool, String> {
        self.evaluate(expression, scene).map(|value| value.is_true())
    }

    pub(super) fn list(&self, expression: &str, scene: &Value) -> Result<Vec<Value>, String> {
        let value = self.evaluate(expression, scene)?;
        let items = value.try_iter().map_err(|error| describe(&error))?;
        let items: Vec<Value> = items.take(MAX_ITEMS + 1).collect();
        if items.len() > MAX_ITEMS {
            return Err(format!("the list has more than {MAX_ITEMS} elements"));
        }
        Ok(items)
    }

    /// JSON with every text rendered; a text that is one expression and nothing else gives the
    /// value of the expression.
    pub(super) fn json(&self, template: &Json, scene: &Value) -> Result<Json, String> {
        match template {
            Json::String(text) => match sole_expression(text) {
                Some(expression) => Ok(to_json(&self.evaluate(expression, scene)?)),
                None => self.text(text, scene).map(Json::String),
            },
            Json::Array(items) => items.iter().map(|item| self.json(item, scene)).collect(),
            Json::Object(map) => map
                .iter()
                .map(|(key, item)| Ok((key.clone(), self.json(item, scene)?)))
                .collect::<Result<Map<String, Json>, String>>()
                .map(Json::Object),
            Json::Null | Json::Bool(_) | Json::Number(_) => Ok(template.clone()),
        }
    }

    fn evaluate(&self, expression: &str, scene: &Value) -> Result<Value, String> {
        let compiled =
            self.environment.compile_expression(expression).map_err(|error| describe(&error))?;
        let value = compiled.eval(scene.clone()).map_err(|error| describe(&error))?;
        if value.is_undefined() {
            return Err(format!("`{expression}` is undefined"));
        }
        Ok(value)
    }
}

/// What is said about more text than fits.
pub(super) fn too_long() -> String {
    format!("the result is longer than {MAX_TEXT} bytes")
}

fn check_tags(bytes: usize) -> Result<(), String> {
    if bytes > MAX_TAGS {
        return Err(format!("the expressions of one text are longer than {MAX_TAGS} bytes"));
    }
    Ok(())
}

/// Bytes between the beginnings and ends of tags; rather too many than too few.
fn bytes_in_tags(text: &str) -> usize {
    let mut starts: Vec<usize> =
        ["{{", "{%"].iter().flat_map(|tag| text.match_indices(tag)).map(|(at, _)| at).collect();
    starts.sort_unstable();
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    let pieces = starts.iter().zip(ends).filter_map(|(start, end)| text.get(*start..end));
    let inside = |piece: &str| {
        let end = ["}}", "%}"].iter().filter_map(|tag| piece.rfind(tag)).max();
        end.unwrap_or(piece.len())
    };
    pieces.map(inside).sum()
}

/// The expression when the text is `{{ expression }}` and nothing else.
fn sole_expression(text: &str) -> Option<&str> {
    let inner = text.trim().strip_prefix("{{")?.strip_suffix("}}")?;
    let single = !inner.contains("{{") && !inner.contains("}}") && !inner.contains("{%");
    single.then(|| inner.trim_matches('-').trim())
}

fn describe(error: &Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

fn to_json(value: &Value) -> Json {
    match result_text(value) {
        Some(text) => Json::String(text),
        None => serde_json::to_value(value).unwrap_or_default(),
    }
}

/// Results of one tool in a turn; as text the latest, as a list all of them.
#[derive(Debug)]
pub(super) struct ToolResults(pub Vec<Arc<ToolResult>>);

/// One result of a tool.
#[derive(Debug)]
pub(super) struct ToolResult {
    pub text: String,
    pub args: Value,
    pub ok: bool,
}

impl Object for ToolResults {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Seq
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        if let Some(index) = key.as_usize() {
            return self.0.get(index).map(|result| Value::from_dyn_object(Arc::clone(result)));
        }
        self.0.last()?.get_value(key)
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Seq(self.0.len())
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.last().map_or("", |result| &result.text))
    }
}

impl Object for ToolResult {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Map
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        match key.as_str()? {
            "text" => Some(Value::from(self.text.as_str())),
            "args" => Some(self.args.clone()),
            "ok" => Some(Value::from(self.ok)),
            _ => None,
        }
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Str(&["text", "args", "ok"])
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn result_text(value: &Value) -> Option<String> {
    if let Some(results) = value.downcast_object_ref::<ToolResults>() {
        return Some(results.0.last().map(|result| result.text.clone()).unwrap_or_default());
    }
    value.downcast_object_ref::<ToolResult>().map(|result| result.text.clone())
}

fn text_of(value: &Value) -> String {
    result_text(value).unwrap_or_else(|| value.to_string())
}

/// The lines of a text.
fn lines(value: &Value) -> Vec<String> {
    text_of(value).lines().map(str::to_owned).collect()
}

/// The first `n` lines of a text.
fn first_lines(value: &Value, n: usize) -> String {
    text_of(value).lines().take(n).collect::<Vec<_>>().join("\n")
}

/// How many elements a list has, or lines a text.
fn count(value: &Value) -> usize {
    match value.len() {
        Some(length) if value.as_str().is_none() => length,
        _ => text_of(value).lines().count(),
    }
}

/// The whole number a text is.
fn int(value: &Value) -> Result<i64, Error> {
    let text = text_of(value);
    text.trim()
        .parse()
        .map_err(|_| Error::new(ErrorKind::InvalidOperation, format!("{text:?} is no number")))
}

/// For every line that matches: its first group, or the match when there is no group.
fn captures(value: &Value, pattern: &str) -> Result<Vec<String>, Error> {
    let pattern = compile(pattern)?;
    Ok(text_of(value).lines().filter_map(|line| first_group(&pattern, line)).collect())
}

/// The first group of the first match in a text; nothing when there is none.
fn capture(value: &Value, pattern: &str) -> Result<String, Error> {
    let pattern = compile(pattern)?;
    Ok(first_group(&pattern, &text_of(value)).unwrap_or_default())
}

fn compile(pattern: &str) -> Result<Regex, Error> {
    Regex::new(pattern).map_err(|error| Error::new(ErrorKind::InvalidOperation, error.to_string()))
}

fn first_group(pattern: &Regex, text: &str) -> Option<String> {
    let found = pattern.captures(text)?;
    let group = found.get(1).or_else(|| found.get(0))?;
    Some(group.as_str().to_owned())
}
