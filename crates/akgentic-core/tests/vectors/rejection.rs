//! What two rejections must have in common.

use std::collections::BTreeSet;

use akgentic_core::coerce::Loc;
use akgentic_core::wire::LoadError;
use akgentic_testkit::same;
use serde_json::Value;

/// Compares a rejection: its kind and the fields it names.
pub(crate) fn same_rejection(error: &LoadError, expect: &Value) -> Result<(), String> {
    let kind = match error {
        LoadError::UnresolvableClass(_) => "unresolvable_class",
        _ => "invalid",
    };
    same("kind", &kind, &expect["kind"].as_str().unwrap_or_default())?;
    let fields: BTreeSet<String> =
        error.errors().iter().filter_map(|error| error.loc.first()).map(Loc::to_string).collect();
    let wanted = expect["fields"].as_array().into_iter().flatten();
    let wanted = wanted.map(|field| field.as_str().unwrap().to_owned()).collect();
    same("fields", &fields, &wanted).map_err(|text| format!("{text}\n{error}"))
}
