//! Cards: loading, binding, what they say about themselves.

use akgentic_core::prelude::*;
use akgentic_tool_core::{
    AnyCard, BindError, BindWarning, BoundCard, BoxFuture, Channel, Content, Exposure,
    LoadCardError, Media, Observer, ObserverError, Offers, Part, SystemPrompt, Tool, ToolCall,
    ToolCard, ToolError, ToolFactory, load_card, load_cards, tool_card,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::parts::{Gate, ProbeParam, ProbeTool, WAIT, World, gate, probe};

#[test]
fn hostile_cards_are_refused() {
    let unknown =
        load_card(json!({"__model__": "subprocess.Popen", "args": ["true"]})).unwrap_err();
    let told = unknown.to_string();
    assert!(
        told.starts_with("no card is registered as \"subprocess.Popen\"; there are "),
        "{told}"
    );
    assert!(told.contains("it.ProbeTool"), "{told}");
    let elsewhere = load_card(json!({"__model__": "akgentic.tool.planning.planning.PlanningTool"}));
    assert_eq!(
        elsewhere.unwrap_err().to_string(),
        "no card is registered as \"akgentic.tool.planning.planning.PlanningTool\"; it comes with \
         the crate akgentic-planning, which is not linked"
    );
    let refused = |value: Value| load_card(value).map(|card| card.to_json()).unwrap_err();
    assert_eq!(refused(json!({"probe": true})), LoadCardError::Unmarked);
    assert_eq!(refused(json!([])), LoadCardError::Unmarked);
    // No card, although registered.
    for other in ["it.ProbeParam", "it.Seen", "akgentic.core.user_proxy.UserProxy"] {
        let error = refused(json!({"__model__": other, "count": 1}));
        assert!(matches!(error, LoadCardError::Invalid(_)), "{other}: {error}");
    }
    for marker in [json!(3), json!(null), json!(["it.ProbeTool"]), json!("")] {
        let error = refused(json!({"__model__": marker}));
        assert!(matches!(error, LoadCardError::UnknownCard { .. }), "{error}");
    }
    for probe in
        [json!(null), json!(2), json!({"__model__": "it.ProbeTool"}), json!({"expose": null})]
    {
        let error = refused(json!({"__model__": "it.ProbeTool", "probe": probe}));
        assert!(matches!(error, LoadCardError::Invalid(_)), "{probe}: {error}");
    }
    let mut deep = json!([]);
    for _ in 0..1_000 {
        deep = Value::Array(vec![deep]);
    }
    let error = refused(json!({"__model__": "it.ProbeTool", "needs": deep}));
    assert!(matches!(error, LoadCardError::Invalid(_)), "{error}");
    assert_eq!(load_cards(json!({})).unwrap_err(), LoadCardError::NotAList);
}

#[test]
fn a_card_is_found_under_its_aliases_and_written_under_its_path() {
    let card =
        load_card(json!({"__model__": "it.old.ProbeTool", "probe": {"instructions": "Ask."}}));
    let written = json!({
        "probe": {"instructions": "Ask.", "expose": ["tool_call"], "__model__": "it.ProbeParam"},
        "needs": [],
        "__model__": "it.ProbeTool",
    });
    let card = card.unwrap();
    assert_eq!(card.to_json().to_string(), written.to_string());
    let again: AnyCard = serde_json::from_value(written.clone()).unwrap();
    assert_eq!(serde_json::to_value(&again).unwrap(), written);
    assert_eq!(card.clone_card(), card);
    assert_eq!(card.name(), "ProbeTool");
}

#[tokio::test]
async fn a_bound_card_yields_what_its_params_ask_for() {
    let (gate, _) = gate();
    let observer = Observer::unattached().with(gate).build();
    let card = ProbeTool {
        probe: ProbeParam { instructions: Some("Ask first.".into()), ..ProbeParam::default() }
            .into(),
        ..ProbeTool::default()
    };
    let bound = ToolFactory::new(vec![card.into()]).bind_cards(&observer).await.unwrap();
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let expected = Offers {
        tools: names(&["wait", "panic", "prefer"]),
        context_states: names(&["seen"]),
        commands: names(&["prefer"]),
        toolsets: names(&["remote"]),
        ..Offers::default()
    };
    assert_eq!(bound[0].1.offers(), expected);
    let definition = bound[0].1.tools[0].definition();
    assert_eq!(
        definition.description,
        "Waits, then looks for its agent.\n\nAdditional Instructions:\nAsk first."
    );
    let off = ProbeTool { probe: false.into(), ..ProbeTool::default() };
    let bound = ToolFactory::new(vec![off.into()]).bind_cards(&observer).await.unwrap();
    assert_eq!(bound[0].1.offers(), Offers::default());
}

#[tokio::test]
async fn channels_that_cannot_be_served_are_reported() {
    let (gate, _) = gate();
    let observer = Observer::unattached().with(gate).build();
    let expose = Exposure::of(&[Channel::ToolCall, Channel::LlmContext]);
    let card = ProbeTool { probe: ProbeParam { expose, instructions: None }.into(), needs: vec![] };
    let tools = ToolFactory::new(vec![card.into()]).bind(&observer).await.unwrap();
    let warning =
        BindWarning { card: "ProbeTool", capability: "probe", channel: Channel::LlmContext };
    assert_eq!(tools.warnings(), std::slice::from_ref(&warning));
    assert_eq!(
        warning.to_string(),
        "ProbeTool cannot offer probe on llm_context; it is not offered there"
    );
}

#[tokio::test]
async fn two_tools_of_one_name_are_refused() {
    let (gate, _) = gate();
    let observer = Observer::unattached().with(gate).build();
    let error = ToolFactory::new(vec![probe(), probe()]).bind(&observer).await.unwrap_err();
    let BindError::DuplicateTool { tool, first, second } = &error else { panic!("{error}") };
    assert_eq!((tool.as_str(), *first, *second), ("wait", "ProbeTool", "ProbeTool"));
}

/// A tool actor that two agents want.
struct Shared;
agent_type!(Shared = "it.Shared");

impl Actor for Shared {
    type Config = BaseConfig;

    fn create(_: &BaseConfig) -> Result<Self, ActorError> {
        Ok(Self)
    }
}

/// An agent that gets hold of the tool actor.
struct Wired;
agent_type!(Wired = "it.Wired");

impl Actor for Wired {
    type Config = BaseConfig;

    fn create(_: &BaseConfig) -> Result<Self, ActorError> {
        Ok(Self)
    }
}

struct Wire;

impl Handle<Wire> for Wired {
    type Reply = ActorAddress;

    async fn handle(&mut self, _: Wire, ctx: &mut Context) -> Result<ActorAddress, ActorError> {
        let observer = Observer::of(ctx).build().for_card("SharedTool");
        let config = BaseConfig::new("#Shared", "ToolActor");
        Ok(observer.team_actor::<Shared>(config).await?.address().clone())
    }
}

struct GetObserver(std::sync::Arc<Gate>);

impl Handle<GetObserver> for Wired {
    type Reply = Observer;

    async fn handle(
        &mut self,
        get: GetObserver,
        ctx: &mut Context,
    ) -> Result<Observer, ActorError> {
        Ok(Observer::of(ctx).with(get.0).build())
    }
}

#[tokio::test]
async fn a_tool_whose_agent_stops_while_it_works() {
    let world = World::new();
    let config = BaseConfig::new("@Agent", "Agent");
    let agent = world.team.create_actor::<Wired>(config).await.unwrap();
    let (gate, _) = gate();
    let observer = agent.ask(GetObserver(gate.clone())).await.unwrap();
    let tools = ToolFactory::new(vec![probe()]).bind(&observer).await.unwrap();
    let waits = tools.tool("wait").unwrap().clone();
    let call = tokio::spawn(async move { waits.call(json!({}), ToolCall::default()).await });
    gate.entered.notified().await;
    assert!(observer.is_alive());
    agent.address().stop(WAIT).await.unwrap();
    gate.go_on.notify_one();
    let error = call.await.unwrap().unwrap_err();
    assert_eq!(error.downcast_ref::<ObserverError>(), Some(&ObserverError::Gone));
    assert!(!observer.is_alive());
    assert_eq!(observer.address().unwrap().name(), "@Agent", "what it was stays readable");
    assert_eq!(tools.updater().compose_update(0).await, None);
    tools.updater().reset();
    world.end().await;
}

#[tokio::test]
async fn wirings_that_race_get_one_tool_actor() {
    let world = World::new();
    let mut agents = Vec::new();
    for number in 0..16 {
        let config = BaseConfig::new(format!("@Agent{number}"), "Agent");
        agents.push(world.team.create_actor::<Wired>(config).await.unwrap());
    }
    let wired = futures_util::future::join_all(agents.iter().map(|agent| agent.ask(Wire))).await;
    let first = wired[0].as_ref().unwrap();
    assert!(wired.iter().all(|address| address.as_ref().unwrap() == first));
    world.end().await;
}

#[tokio::test]
async fn an_agent_without_a_team_cannot_have_tool_actors() {
    let world = World::new();
    let config = BaseConfig::new("@Alone", "Agent");
    let alone = world.system.create_actor::<Wired>(config, Origin::default()).unwrap();
    let error = alone.ask(Wire).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "SharedTool needs a team, and the agent it works for has no orchestrator"
    );
    world.end().await;
}

#[tokio::test]
async fn a_system_provides_capabilities_to_everybody() {
    let world = World::new();
    let (gate, _) = gate();
    world.system.provide::<std::sync::Arc<Gate>>(gate);
    let host = world.host(vec![probe()], akgentic_tool_core::Capabilities::default()).await;
    assert!(host.call("prefer", json!({})).await.is_ok());
    world.end().await;
}

/// Offers two system prompts.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
struct Prompted {}
tool_card!(Prompted = "it.Prompted");

impl ToolCard for Prompted {
    fn bind<'a>(&'a self, _: &'a Observer) -> BoxFuture<'a, Result<BoundCard, BindError>> {
        Box::pin(async {
            let mut bound = BoundCard::new();
            bound.system_prompts.push(SystemPrompt::text("rules", "Be brief."));
            bound.system_prompts.push(SystemPrompt::new("place", || async { "Here.".to_owned() }));
            Ok(bound)
        })
    }
}

#[tokio::test]
async fn system_prompts_have_names_and_are_rendered_in_order() {
    let observer = Observer::unattached().build();
    let tools = ToolFactory::new(vec![Prompted {}.into()]).bind(&observer).await.unwrap();
    assert_eq!(tools.offers().system_prompts, ["rules", "place"]);
    assert_eq!(tools.render_system_prompts().await, ["Be brief.", "Here."]);
}

#[test]
fn media_are_written_as_base64_and_shown_by_size() {
    let parts = vec![Part::Text("see".into()), Part::Media(Media::new(*b"\x89PNG", "image/png"))];
    let content = Content::from(parts);
    let written = json!(["see", {"data": "iVBORw==", "media_type": "image/png"}]);
    assert_eq!(serde_json::to_value(&content).unwrap(), written);
    assert_eq!(serde_json::from_value::<Content>(written).unwrap(), content);
    assert_eq!(content.to_string(), "see\n[image/png, 4 bytes]");
    assert_eq!(content.as_text(), None);
    assert_eq!(format!("{:?}", content.parts[1]), "Media(Media(image/png, 4 bytes))");
    let broken = json!([{"data": "?", "media_type": "image/png"}]);
    assert!(serde_json::from_value::<Content>(broken).is_err());
}

/// What somebody looks for.
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Search {
    /// Words that have to occur.
    words: String,
    /// How many results at most.
    limit: Option<u32>,
}

#[test]
fn instructions_leave_the_descriptions_of_parameters_alone() {
    let tool = || {
        Tool::new("find", "Finds pages.\n\nGives their titles.", |search: Search, _: ToolCall| {
            let limit = search.limit.unwrap_or(1).to_string();
            async move { Ok::<_, ToolError>(search.words + &limit) }
        })
    };
    let plain = tool().definition().clone();
    let told = tool().with_instructions(Some("Ask first.\n  Then look.")).definition().clone();
    assert_eq!(told.parameters, plain.parameters);
    let described = |name: &str| told.parameters["properties"][name]["description"].clone();
    assert_eq!(described("words"), "Words that have to occur.");
    assert_eq!(described("limit"), "How many results at most.");
    let instructions = "\n\nAdditional Instructions:\nAsk first.\n  Then look.";
    assert_eq!(told.description, format!("{}{instructions}", plain.description));
}
