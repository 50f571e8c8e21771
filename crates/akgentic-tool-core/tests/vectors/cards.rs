//! Channels, params, card order, factory.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use akgentic_core::wire::load_record;
use akgentic_testkit::{Case, block_on, known_keys, same};
use akgentic_tool_core::{
    AnyCard, BindError, BoundCard, Capability, CardObject, Channel, ContextProvider, ContextState,
    Dependency, Exposure, Observer, ObserverError, OrderError, SystemPrompt, Tool, ToolCall,
    ToolCard, ToolError, ToolFactory, ToolParam, Toolset, ToolsetError, append_instructions,
    normalize_system_prompt_to_llm_context, order_cards, tool_card, tool_param,
};
use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

type Checked = Result<(), String>;

pub(super) fn texts(value: &Value) -> Vec<String> {
    let items = value.as_array().into_iter().flatten();
    items.map(|item| item.as_str().unwrap_or_default().to_owned()).collect()
}

fn exposure(value: &Value) -> Result<Exposure, String> {
    serde_json::from_value(value.clone()).map_err(|error| error.to_string())
}

pub(crate) fn expose_normalize(case: &Case) -> Checked {
    let got = normalize_system_prompt_to_llm_context(exposure(&case.input["expose"])?);
    same("exposure", &got, &exposure(&case.expect["expose"])?)?;
    Ok(())
}

pub(crate) fn instructions(case: &Case) -> Checked {
    let text = |key: &str| case.input[key].as_str();
    let got = append_instructions(text("original"), text("instructions"));
    same("text", &json!(got), &case.expect["result"])?;
    Ok(())
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
struct CapParam {
    instructions: Option<String>,
    expose: Exposure,
    n: i64,
}
tool_param!(CapParam = "vectool.CapParam", served: [SystemPrompt, ToolCall, Command, LlmContext]);

impl Default for CapParam {
    fn default() -> Self {
        Self { instructions: None, expose: Exposure::default(), n: 3 }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
struct CapCard {
    cap: Capability<CapParam>,
    label: String,
}
tool_card!(CapCard = "vectool.CapCard", capabilities: [cap]);

impl Default for CapCard {
    fn default() -> Self {
        Self { cap: Capability::default(), label: "x".to_owned() }
    }
}

impl ToolCard for CapCard {
    fn bind<'a>(&'a self, _: &'a Observer) -> BoxFuture<'a, Result<BoundCard, BindError>> {
        Box::pin(async { Ok(BoundCard::new()) })
    }
}

/// Sorts the exposures of a dump, as the vectors show them.
fn sorted_exposures(value: &mut Value) {
    match value {
        Value::Object(map) => {
            for (key, value) in map.iter_mut() {
                match value {
                    Value::Array(items) if key == "expose" => {
                        items.sort_by_key(ToString::to_string);
                    }
                    other => sorted_exposures(other),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(sorted_exposures),
        _ => {}
    }
}

fn shown<T: Serialize>(value: &T) -> Value {
    let mut written = serde_json::to_value(value).unwrap();
    sorted_exposures(&mut written);
    written
}

pub(crate) fn param_resolve(case: &Case) -> Checked {
    known_keys("input", &case.input, &["cap", "cap_absent"])?;
    known_keys("expect", &case.expect, &["ok", "stored", "resolved", "served_on", "dump"])?;
    let given = match case.input.get("cap") {
        Some(cap) => json!({"cap": cap}),
        None => json!({}),
    };
    let mut marked = given.clone();
    marked["__model__"] = json!("vectool.CapCard");
    let by_marker = AnyCard::load(marked);
    let loaded = load_record::<CapCard>(given.clone());
    same("loading by marker", &by_marker.is_ok(), &loaded.is_ok())?;
    let plain: Result<CapCard, _> = serde_json::from_value(given);
    same("loading with plain serde", &plain.is_ok(), &loaded.is_ok())?;
    let card = match (loaded, case.expect["ok"].as_bool()) {
        (Err(_), Some(false)) => return Ok(()),
        (Ok(card), Some(true)) => card,
        (loaded, _) => return Err(format!("loaded {loaded:?}")),
    };
    let param = |param: &CapParam| {
        shown(&json!({"instructions": param.instructions, "expose": param.expose, "n": param.n}))
    };
    let stored = match &card.cap {
        Capability::Off => json!(false),
        Capability::On => json!(true),
        Capability::With(given) => param(given),
    };
    same("stored", &stored, &case.expect["stored"])?;
    let resolved = card.cap.resolve();
    let resolved_json = resolved.as_deref().map_or(Value::Null, param);
    same("resolved", &resolved_json, &case.expect["resolved"])?;
    let served: Vec<_> = Channel::ALL
        .into_iter()
        .filter(|channel| card.cap.on(*channel).is_some())
        .map(Channel::as_str)
        .collect();
    same("served on", &json!(served), &case.expect["served_on"])?;
    let mut dump = card.clone_card().to_json();
    sorted_exposures(&mut dump);
    same("dump", &dump.to_string(), &case.expect["dump"].to_string())?;
    let served_on = resolved.map_or(0, |param| param.expose().iter().count());
    same("exposure", &served.len(), &served_on)?;
    Ok(())
}

/// A failure of a tool that is no retriable one.
#[derive(Debug)]
struct Other(&'static str, String);

impl fmt::Display for Other {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.1)
    }
}

impl Error for Other {}

pub(crate) fn retry(case: &Case) -> Checked {
    let kind = case.input["tool_raises"].as_str().unwrap_or_default().to_owned();
    let message = case.input["message"].as_str().unwrap_or_default().to_owned();
    let known: &'static str = match kind.as_str() {
        "retriable" => "retriable",
        "retry" => "retry",
        "value_error" => "value_error",
        "runtime" => "runtime",
        "observer_gone" => "observer_gone",
        "not_recognized" => "not_recognized",
        other => return Err(format!("nobody claims the failure {other:?}")),
    };
    let text = message.clone();
    let tool = Tool::new("fails", "Fails.", move |(): (), _: ToolCall| {
        let error = match known {
            "retriable" => ToolError::retriable(text.clone()),
            "observer_gone" => ToolError::from(ObserverError::Gone),
            other => ToolError::fatal(Other(other, text.clone())),
        };
        async move { Err::<String, _>(error) }
    });
    let error = block_on(tool.call(json!({}), ToolCall::default())).err().ok_or("no failure")?;
    let configured = case.input["retry_configured"] == true;
    let raised = match &error {
        error if error.is_retriable() && configured => "retry",
        error if error.is_retriable() => "retriable",
        error if error.downcast_ref::<ObserverError>().is_some() => "observer_gone",
        error => error.downcast_ref::<Other>().map_or("something else", |other| other.0),
    };
    same("raised", &raised, &case.expect["raised"].as_str().unwrap_or_default())?;
    if raised != "observer_gone" {
        same("message", &error.to_string(), &message)?;
        same("expected message", &json!(message), &case.expect["message"])?;
    }
    Ok(())
}

pub(crate) fn topo_sort(case: &Case) -> Checked {
    known_keys(
        "expect",
        &case.expect,
        &["ok", "order", "kind", "card", "dependency", "unordered"],
    )?;
    let cards = case.input["cards"].as_array().ok_or("no cards")?;
    let nodes: Vec<_> = cards
        .iter()
        .map(|card| {
            let needs = texts(&card["deps"]).into_iter().map(Dependency::Required);
            (card["class"].as_str().unwrap_or_default(), needs.collect::<Vec<_>>())
        })
        .collect();
    let got = match order_cards(&nodes) {
        Ok(order) => {
            let ids: Vec<_> = order.into_iter().map(|position| &cards[position]["id"]).collect();
            json!({"ok": true, "order": ids})
        }
        Err(OrderError::Missing { card, dependency }) => {
            json!({"ok": false, "kind": "missing", "card": card, "dependency": dependency})
        }
        Err(OrderError::Cycle { unordered, cycle }) => {
            if cycle.is_empty() || !cycle.iter().all(|name| unordered.contains(name)) {
                return Err(format!("{cycle:?} is no cycle of {unordered:?}"));
            }
            json!({"ok": false, "kind": "cycle", "unordered": unordered})
        }
        Err(error) => return Err(error.to_string()),
    };
    same("order", &got, &case.expect)?;
    Ok(())
}

/// A card whose name and offers are data.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct DataCard {
    #[serde(skip)]
    pub(super) class: &'static str,
    #[serde(skip)]
    pub(super) deps: Vec<String>,
    #[serde(skip)]
    pub(super) tools: Vec<String>,
    #[serde(skip)]
    pub(super) prompts: Vec<String>,
    #[serde(skip)]
    pub(super) states: Vec<String>,
    #[serde(skip)]
    pub(super) toolsets: Vec<String>,
    #[serde(skip)]
    pub(super) commands: Vec<String>,
}
tool_card!(DataCard = "vectool.DataCard");

impl DataCard {
    pub(super) fn read(card: &Value, class: &str) -> Self {
        let class = match class {
            "A" => "A",
            "B" => "B",
            "C" => "C",
            "D" => "D",
            "E" => "E",
            "F" => "F",
            "VecCard" => "VecCard",
            other => Box::leak(other.to_owned().into_boxed_str()),
        };
        let needs = card.get("deps").or_else(|| card.get("depends_on"));
        Self {
            class,
            deps: needs.map(texts).unwrap_or_default(),
            tools: texts(&card["tools"]),
            prompts: texts(&card["prompts"]),
            states: texts(&card["states"]),
            toolsets: texts(&card["toolsets"]),
            commands: texts(&card["commands"]),
        }
    }
}

impl ToolCard for DataCard {
    fn name(&self) -> &'static str {
        self.class
    }

    fn depends_on(&self) -> Vec<Dependency> {
        self.deps.iter().map(Dependency::required).collect()
    }

    fn bind<'a>(&'a self, _: &'a Observer) -> BoxFuture<'a, Result<BoundCard, BindError>> {
        let mut bound = BoundCard::new();
        for name in &self.tools {
            let body = |(): (), _: ToolCall| async { Ok::<_, ToolError>("done") };
            bound.tools.push(Tool::new(name.as_str(), "", body));
        }
        for name in &self.prompts {
            bound.system_prompts.push(SystemPrompt::text(name.as_str(), ""));
        }
        for name in &self.states {
            let none =
                || Box::pin(async { None::<Arc<dyn ContextState>> }) as BoxFuture<'static, _>;
            bound.context_states.push(ContextProvider::shared(name.as_str(), none));
        }
        for name in &self.toolsets {
            bound.toolsets.push(Arc::new(NamedToolset(name.clone())));
        }
        for name in &self.commands {
            bound.commands.push(super::commands::without_parameters(name));
        }
        Box::pin(async { Ok(bound) })
    }
}

#[derive(Debug)]
struct NamedToolset(String);

impl Toolset for NamedToolset {
    fn name(&self) -> &str {
        &self.0
    }

    fn connect(&self) -> BoxFuture<'_, Result<Vec<Tool>, ToolsetError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}

pub(crate) fn factory(case: &Case) -> Checked {
    let mut cards = Vec::new();
    let mut tool_names = Vec::new();
    for card in case.input["cards"].as_array().ok_or("no cards")? {
        known_keys("card", card, &["class", "deps", "tools", "prompts", "states", "toolsets"])?;
        let card = DataCard::read(card, card["class"].as_str().unwrap_or_default());
        tool_names.extend(card.tools.clone());
        cards.push(AnyCard::from(card));
    }
    tool_names.sort();
    if tool_names.windows(2).any(|pair| pair[0] == pair[1]) {
        return case.not_applicable("duplicate tool names are refused");
    }
    let observer = Observer::unattached().build();
    let factory = ToolFactory::new(cards);
    let bound = match (block_on(factory.bind_cards(&observer)), case.expect["ok"].as_bool()) {
        (Ok(bound), Some(true)) => bound,
        (Err(BindError::Order(_)), Some(false)) => return Ok(()),
        (outcome, _) => return Err(format!("bound {outcome:?}")),
    };
    let offers: Vec<_> = bound.iter().map(|(_, bound)| bound.offers()).collect();
    let names: Vec<_> = bound.iter().map(|(name, _)| *name).collect();
    same("cards", &json!(names), &case.expect["cards"])?;
    let tools: Vec<_> = offers.iter().flat_map(|offers| &offers.tools).collect();
    same("tools", &json!(tools), &case.expect["tools"])?;
    let prompts: Vec<_> = offers.iter().flat_map(|offers| &offers.system_prompts).collect();
    same("prompts", &json!(prompts), &case.expect["system_prompts"])?;
    let toolsets: Vec<_> = offers.iter().flat_map(|offers| &offers.toolsets).collect();
    same("toolsets", &json!(toolsets), &case.expect["toolsets"])?;
    let states = match factory.collect(bound, &observer) {
        Ok(tools) => {
            let collected: Vec<_> = tools.tools().iter().map(Tool::name).collect();
            same("collected tools", &json!(collected), &case.expect["tools"])?;
            let providers = tools.updater().providers().iter().map(ContextProvider::name);
            json!(providers.collect::<Vec<_>>())
        }
        Err(BindError::DuplicateProvider { provider, first, second }) => {
            json!({"collision": provider, "owners": [first, second]})
        }
        Err(error) => return Err(error.to_string()),
    };
    same("context states", &states, &case.expect["context_states"])?;
    Ok(())
}
