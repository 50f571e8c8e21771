//! Configuration records.

use akgentic_llm::*;
use serde::Serialize;
use serde_json::{Value, json};

use crate::compare::same;

pub(crate) fn config_validation(case: &Value) -> Result<(), String> {
    let data = case["input"]["data"].clone();
    match case["input"]["type"].as_str().unwrap() {
        "ModelConfig" => record::<ModelConfig>(case, data),
        "OpenRouterRouting" => record::<OpenRouterRouting>(case, data),
        "CompactionConfig" => record::<CompactionConfig>(case, data),
        "RunUsageLimits" => record::<RunUsageLimits>(case, data),
        "AgentUsageLimits" => record::<AgentUsageLimits>(case, data),
        "HttpClientConfig" => record::<HttpClientConfig>(case, data),
        "RuntimeConfig" => record::<RuntimeConfig>(case, data),
        "UsageLimits" => record::<UsageLimits>(case, data),
        "ReactAgentConfig" => record::<ReactAgentConfig>(case, data),
        other => panic!("unknown record {other}"),
    }
}

fn record<T: ConfigRecord + Serialize>(case: &Value, data: Value) -> Result<(), String> {
    match (T::from_json(data), &case["expect"]["accepted"], &case["expect"]["rejected"]) {
        (Ok(record), expected @ Value::Object(_), _) => {
            same(expected, &serde_json::to_value(&record).unwrap())
        }
        (Err(errors), _, Value::Array(rejected)) => {
            let mut places: Vec<String> = rejected
                .iter()
                .map(|error| first(error["loc"].as_str().unwrap()).to_owned())
                .collect();
            let mut found: Vec<String> = errors
                .iter()
                .map(|error| error.loc.first().map(ToString::to_string).unwrap_or_default())
                .collect();
            places.sort();
            places.dedup();
            found.sort();
            found.dedup();
            same(&json!(places), &json!(found))
        }
        (Ok(_), _, rejected) => Err(format!("accepted, expected {rejected}")),
        (Err(errors), accepted, _) => Err(format!("rejected {errors:?}, expected {accepted}")),
    }
}

fn first(loc: &str) -> &str {
    loc.split('.').next().unwrap()
}

pub(crate) fn roster(case: &Value) -> Result<(), String> {
    let config = ModelConfig::from_json(case["input"].clone()).map_err(|e| format!("{e:?}"))?;
    let mode = |output: OutputSpec| match output.resolve_mode(config.native_output()) {
        OutputMode::Native => "native",
        // structured output as the type itself means the output tool
        OutputMode::Tool | OutputMode::Text => "raw",
    };
    let expect = &case["expect"];
    same(&expect["key"], &json!(config.key()))?;
    same(&expect["native_output"], &json!(config.native_output()))?;
    same(&expect["structured_wrapper"], &json!(mode(OutputSpec::of::<Vec<i64>>())))?;
    same(&expect["text_wrapper"], &json!(mode(OutputSpec::text())))
}
