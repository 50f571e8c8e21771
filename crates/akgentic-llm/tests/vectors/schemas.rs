//! Schemas and names per provider.

use akgentic_llm::schema::*;
use akgentic_llm::*;
use serde_json::{Value, json};

use crate::compare::same;

pub(crate) fn mistral_ids(case: &Value) -> Result<(), String> {
    let mut ids = CallIds::default();
    let wires: Vec<String> = case["input"]["ids"]
        .as_array()
        .unwrap()
        .iter()
        .map(|id| ids.wire(id.as_str().unwrap()))
        .collect();
    same(&case["expect"]["ids"], &json!(wires))
}

/// Only what is rewritten is compared: schemas and strictness, not the envelope around them.
pub(crate) fn schema_transform(case: &Value) -> Result<(), String> {
    let input = &case["input"];
    let config = json!({"provider": input["provider"], "model": input["model"]});
    let config = ModelConfig::from_json(config).map_err(|error| format!("{error:?}"))?;
    let style = SchemaStyle::of(&config);
    let tool = style.tool(&input["tool_parameters"]);
    if !tool.repairs.is_empty() {
        return Err(format!("unexpected repairs: {:?}", tool.repairs));
    }
    let output = style.output(&input["output_schema"]);
    let expect = &case["expect"];
    if expect.get("error").is_some() {
        return output.map_or(Ok(()), |found| Err(format!("expected an error, found {found}")));
    }
    let function = expect["tool"].get("function").unwrap_or(&expect["tool"]);
    let schema_keys = ["parameters", "input_schema", "parameters_json_schema"];
    let expected = schema_keys.iter().find_map(|key| function.get(*key)).unwrap();
    same(expected, &tool.schema).map_err(|message| format!("tool{message}"))?;
    let strict = match function.get("strict") {
        None => config.provider != Provider::OpenAi && tool.strict == Some(true),
        Some(strict) => tool.strict != strict.as_bool(),
    };
    if strict {
        return Err(format!("strict: {:?}", tool.strict));
    }
    let format = &expect["output_format"];
    let format = format.get("json_schema").or_else(|| format.get("format")).unwrap_or(format);
    if let Some(expected) = format.get("schema") {
        let output = output.map_err(|error| error.to_string())?;
        same(expected, &output).map_err(|message| format!("output_format{message}"))?;
    }
    if let Some(expected) = expect.get("output_tool") {
        let found = style.tool(&input["output_schema"]).schema;
        same(&expected["parameters_json_schema"], &found)
            .map_err(|message| format!("output_tool{message}"))?;
    }
    Ok(())
}
