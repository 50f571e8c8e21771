//! Finding vectors and reporting what does not agree with them.

use std::collections::BTreeSet;
use std::path::PathBuf;

use akgentic_core::coerce::Loc;
use akgentic_core::wire::LoadError;
use serde_json::Value;

/// One case of a vector file.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) input: Value,
    pub(crate) expect: Value,
}

/// Runs `check` on every case of `testdata/vectors/core/<topic>.json` and reports all failures
/// together. `AKGENTIC_VECTORS` names another directory of the same layout.
pub(crate) fn replay(topic: &str, check: impl Fn(&Case) -> Result<(), String>) {
    let root = std::env::var_os("AKGENTIC_VECTORS").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata/vectors"),
        PathBuf::from,
    );
    let path = root.join("core").join(topic).with_extension("json");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let document: Value = serde_json::from_str(&text).unwrap();
    let cases = document["cases"].as_array().unwrap();
    let mut failures = Vec::new();
    for case in cases {
        let case = Case {
            name: case["name"].as_str().unwrap().to_owned(),
            input: case["input"].clone(),
            expect: case["expect"].clone(),
        };
        if let Err(failure) = check(&case) {
            failures.push(format!("{}: {}: {failure}", path.display(), case.name));
        }
    }
    println!("{}: {} cases", path.display(), cases.len());
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
}

/// Compares two values and says how they differ.
pub(crate) fn same<T: PartialEq + std::fmt::Debug>(
    what: &str,
    got: &T,
    wanted: &T,
) -> Result<(), String> {
    if got == wanted { Ok(()) } else { Err(format!("{what}:\n   got {got:?}\nwanted {wanted:?}")) }
}

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
