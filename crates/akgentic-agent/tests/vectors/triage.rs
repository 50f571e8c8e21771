//! Topic `triage`: message and output of the worked example.

use akgentic_agent::TriageOutput;
use akgentic_core::coerce::from_value_coerced;
use akgentic_core::message::load_message;
use akgentic_core::wire::dump;
use akgentic_testkit::Case;
use serde_json::json;

use crate::plain::{Errors, judge};

pub(crate) fn triage(case: &Case) -> Result<(), String> {
    if case.name.starts_with("o_") {
        let output = from_value_coerced::<TriageOutput>(case.input.clone());
        return judge(output.map(|output| json!(output)).map_err(Errors::from), case);
    }
    let mut input = case.input.clone();
    if let Some(map) = input.as_object_mut() {
        let marker = json!("akgentic.agent.custom_agent.TriageMessage");
        map.entry("__model__").or_insert(marker);
    }
    let loaded = load_message(input).map(|message| dump(&message).expect("written"));
    judge(loaded.map_err(Errors::from), case)
}
