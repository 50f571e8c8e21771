//! Context updates.

use std::sync::Arc;

use akgentic_testkit::{Case, known_keys, same};
use akgentic_tool_core::{
    AnyContextState, ContextProvider, ContextState, ContextUpdater, MarkerScan, ToolState,
};
use serde_json::{Value, json};

use super::wire::{StA, StB};
use crate::vectors::wire::with_agent;

type Checked = Result<(), String>;

fn state(value: &Value) -> Result<AnyContextState, String> {
    known_keys("state", value, &["type", "v", "mode"])?;
    let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (v, mode) = (text("v"), text("mode"));
    match value["type"].as_str() {
        Some("A") => Ok(StA { v, mode }.into()),
        Some("B") => Ok(StB { v, mode }.into()),
        other => Err(format!("nobody claims the state type {other:?}")),
    }
}

fn shown(state: &AnyContextState) -> Value {
    if let Some(StA { v, mode }) = state.downcast::<StA>() {
        json!({"type": "A", "v": v, "mode": mode})
    } else if let Some(StB { v, mode }) = state.downcast::<StB>() {
        json!({"type": "B", "v": v, "mode": mode})
    } else {
        json!(state.type_path())
    }
}

fn provider(description: &Value) -> Result<ContextProvider, String> {
    known_keys("provider", description, &["name", "state"])?;
    let name = description["name"].as_str().ok_or("a provider without a name")?;
    let given = match &description["state"] {
        Value::Null => None,
        Value::String(text) if text == "raise" => {
            return Ok(ContextProvider::shared(name, || {
                Box::pin(async { std::panic::resume_unwind(Box::new("unavailable")) })
            }));
        }
        described => Some(state(described)?.0),
    };
    Ok(ContextProvider::shared(name, move || {
        let given: Option<Arc<dyn ContextState>> = given.clone();
        Box::pin(async move { given })
    }))
}

/// The user-side texts of each message.
fn history(turn: &Value) -> Result<Vec<Vec<String>>, String> {
    fn part(entry: &Value, texts: &mut Vec<String>) -> Result<(), String> {
        known_keys("history entry", entry, &["k", "p", "text", "content", "parts"])?;
        match entry.get("k").or_else(|| entry.get("p")).and_then(Value::as_str) {
            Some("user") => texts.push(entry["text"].as_str().unwrap_or_default().to_owned()),
            Some("user_parts") => {
                let items = entry["content"].as_array().into_iter().flatten();
                texts.extend(items.filter_map(|item| item.as_str().map(str::to_owned)));
            }
            Some("request") => {
                for entry in entry["parts"].as_array().into_iter().flatten() {
                    part(entry, texts)?;
                }
            }
            Some("system" | "tool_return" | "retry" | "assistant") => {}
            other => return Err(format!("nobody claims the history entry {other:?}")),
        }
        Ok(())
    }
    let mut messages = Vec::new();
    for entry in turn["history"].as_array().into_iter().flatten() {
        let mut texts = Vec::new();
        part(entry, &mut texts)?;
        messages.push(texts);
    }
    Ok(messages)
}

fn load(state: &mut ToolState, saved: &Value) -> Result<(), String> {
    known_keys("saved state", saved, &["seq", "baselines"])?;
    let context_update_seq = saved.get("seq").and_then(Value::as_i64).unwrap_or(0);
    let mut loaded = ToolState { context_update_seq, ..ToolState::default() };
    for (name, baseline) in saved.get("baselines").and_then(Value::as_object).into_iter().flatten()
    {
        loaded.context_baselines.insert(name.clone(), self::state(baseline)?);
    }
    *state = loaded;
    Ok(())
}

pub(crate) fn update(case: &Case) -> Checked {
    known_keys("input", &case.input, &["initial", "turns"])?;
    with_agent(|observer| async move {
        let edit = |saved: &Value| {
            observer
                .with_tool_state(|state| load(state, saved))
                .map_err(|error| error.to_string())
                .flatten()
        };
        edit(&case.input["initial"])?;
        let mut turns = Vec::new();
        for turn in case.input["turns"].as_array().ok_or("no turns")? {
            known_keys("turn", turn, &["history", "providers", "load", "reset"])?;
            if let Some(saved) = turn.get("load") {
                edit(saved)?;
            }
            let providers = turn["providers"].as_array().into_iter().flatten();
            let providers: Result<Vec<_>, _> = providers.map(provider).collect();
            let updater = ContextUpdater::new(observer.clone(), providers?);
            let block = if turn["reset"] == true {
                updater.reset();
                None
            } else {
                let messages = history(turn)?;
                let texts = || messages.iter().map(|texts| texts.iter().map(String::as_str));
                let mut followed = MarkerScan::default();
                followed.follow(messages.iter().map(|texts| texts.iter().map(String::as_str)));
                same("scan", &MarkerScan::over(texts()), &followed)?;
                updater.compose_update(followed.highest()).await
            };
            let turn = observer.read_tool_state(|state| {
                let baselines = &state.context_baselines;
                let baselines: serde_json::Map<_, _> =
                    baselines.iter().map(|(name, state)| (name.clone(), shown(state))).collect();
                json!({"block": block, "seq": state.context_update_seq, "baselines": baselines})
            });
            turns.push(turn.map_err(|error| error.to_string())?);
        }
        let wanted = case.expect["turns"].as_array().ok_or("no turns")?;
        for (index, (got, wanted)) in turns.iter_mut().zip(wanted).enumerate() {
            leave_out_modes(got, wanted);
            same(&format!("turn {index}"), got, wanted)?;
        }
        same("number of turns", &turns.len(), &wanted.len())?;
        Ok(())
    })
}

/// The vectors leave out the mode of most baselines.
fn leave_out_modes(got: &mut Value, wanted: &Value) {
    for (name, baseline) in got["baselines"].as_object_mut().into_iter().flatten() {
        if wanted["baselines"][name].get("mode").is_none()
            && let Some(baseline) = baseline.as_object_mut()
        {
            baseline.remove("mode");
        }
    }
}
