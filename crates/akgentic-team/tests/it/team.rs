use std::sync::Arc;

use akgentic_core::prelude::*;
use akgentic_core::{ActorAddress, ActorRef};
use akgentic_team::{FireMember, HireMember, TeamTool};
use akgentic_tool_core::{BoundTools, CommandError, ToolCall, ToolError, ToolFactory};
use serde_json::json;

use crate::world::{Idle, WAIT, World};

async fn bound(world: &World) -> BoundTools {
    ToolFactory::new(vec![TeamTool::default().into()]).bind(&world.observer).await.expect("bound")
}

async fn world() -> (World, BoundTools) {
    let world = World::new(&json!({
        "catalog": [{"role": "Dev"}, {"role": "QA"}],
        "team": [
            {"name": "@Manager", "role": "Manager"},
            {"name": "@Human", "role": "Human", "user_proxy": true},
            {"name": "#Tool", "role": "ToolActor"},
        ],
    }))
    .await;
    let tools = bound(&world).await;
    (world, tools)
}

async fn hire(tools: &BoundTools, role: &str, name: Option<&str>) -> Result<ActorAddress, String> {
    let hire = HireMember { role: role.to_owned(), name: name.map(str::to_owned) };
    match tools.commands().call(hire).await {
        Ok(hired) => Ok(hired.0),
        Err(CommandError::Failed(ToolError::Retriable(text))) => Err(text),
        Err(error) => panic!("{error}"),
    }
}

async fn fire(tools: &BoundTools, name: &str) -> Result<String, String> {
    let fire = FireMember { name: name.to_owned() };
    match tools.commands().call(fire).await {
        Ok(reply) => Ok(reply),
        Err(CommandError::Failed(ToolError::Retriable(text))) => Err(text),
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test]
async fn nobody_fires_itself_a_superior_a_person_or_a_tool_actor() {
    let (world, tools) = world().await;
    assert!(fire(&tools, "@Manager").await.expect_err("refused").contains("@Manager"));
    assert!(fire(&tools, "@Human").await.expect_err("refused").contains("person"));
    let unknown = fire(&tools, "#Tool").await.expect_err("refused");
    assert!(unknown.contains("no member") && !unknown.contains("['#Tool"), "{unknown}");
    assert!(!unknown.contains(", '#Tool'"), "{unknown}");
    assert_eq!(world.members().await.len(), 3);
}

#[tokio::test]
async fn explicit_names_are_checked() {
    let (world, tools) = world().await;
    let invisible =
        ["De\u{200b}v", "\u{202e}veD", "a\u{2028}b", "a\u{feff}", "\u{e0041}b", "\u{3164}"];
    for bad in ["", "  ", "#x", "a\nb", &"x".repeat(101)].into_iter().chain(invisible) {
        let text = hire(&tools, "Dev", Some(bad)).await.expect_err("refused");
        assert!(text.contains("name"), "{text}");
    }
    let own = world.team.address().name().to_owned();
    assert!(hire(&tools, "Dev", Some(&own)).await.is_err());
    let hired = hire(&tools, "Dev", Some("  Plain name ")).await.expect("hired");
    assert_eq!(hired.name(), "Plain name");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_hirers_that_want_one_name_one_gets_it() {
    let (_world, tools) = world().await;
    for round in 0..10 {
        let name = format!("@Star{round}");
        let both = [0, 1].map(|_| {
            let (tools, name) = (tools.clone(), name.clone());
            tokio::spawn(async move { hire(&tools, "Dev", Some(&name)).await })
        });
        let mut hired = 0;
        for attempt in both {
            hired += usize::from(attempt.await.expect("no panic").is_ok());
        }
        assert_eq!(hired, 1);
    }
}

#[tokio::test]
async fn routes_to_limits_hiring_and_what_is_told() {
    let (world, tools) = world().await;
    let mut own =
        AgentCard::new("team.it.Idle", "leads", BaseConfig::new("", "Manager")).expect("card");
    own.routes_to = Some(vec!["QA".to_owned(), "Ghost".to_owned()]);
    world.team.register_agent_profile(own).await.expect("registered");
    let refused = hire(&tools, "Dev", None).await.expect_err("refused");
    assert!(refused.contains("Dev") && refused.contains("QA"), "{refused}");
    let unknown = hire(&tools, "Ghost", None).await.expect_err("unknown");
    assert!(unknown.contains("no role"), "{unknown}");
    hire(&tools, "QA", None).await.expect("allowed");
    let roles = tools.commands().dispatch("/team_roles").await.reply().expect("roles");
    assert!(roles.contains("QA:") && !roles.contains("Dev:"), "{roles}");
    let some = tools.tool("hire_members").expect("a tool");
    let error = some
        .call(json!({"roles": ["QA", "Dev"]}), ToolCall::default())
        .await
        .expect_err("partial")
        .to_string();
    assert!(error.starts_with("Partial success - Members hired: ['@QA"), "{error}");
    assert!(error.contains("role 'Dev'"), "{error}");
}

#[tokio::test]
async fn an_empty_list_of_routes_hires_nobody() {
    let (world, tools) = world().await;
    let mut own =
        AgentCard::new("team.it.Idle", "leads", BaseConfig::new("", "Manager")).expect("card");
    own.routes_to = Some(Vec::new());
    world.team.register_agent_profile(own).await.expect("registered");
    assert!(hire(&tools, "Dev", None).await.is_err());
}

#[tokio::test]
async fn a_fired_member_takes_its_own_hires_along() {
    let (world, tools) = world().await;
    let lead = hire(&tools, "Dev", Some("@Lead")).await.expect("hired");
    let helper = world
        .team
        .create_actor::<Idle>(BaseConfig::new("@Other", "Other"))
        .await
        .expect("a member");
    assert_eq!(fire(&tools, "@Lead").await.as_deref(), Ok("Member @Lead has been fired."));
    assert!(!lead.is_alive());
    assert!(helper.address().is_alive());
    assert!(fire(&tools, "@Lead").await.is_err(), "it is gone");
    assert_eq!(world.hooks(), [json!(["hire", "@Lead"]), json!(["fire", "@Lead"])]);
}

#[tokio::test]
async fn a_class_that_cannot_be_created_is_one_failure_of_many() {
    let (world, tools) = world().await;
    let broken =
        AgentCard::new("team.it.Missing", "cannot be built", BaseConfig::new("", "Broken"));
    world.team.register_agent_profile(broken.expect("a card")).await.expect("registered");
    let error = tools
        .tool("hire_members")
        .expect("a tool")
        .call(json!({"roles": ["Dev", "Broken", "QA"]}), ToolCall::default())
        .await
        .expect_err("partial");
    assert!(error.is_retriable());
    let text = error.to_string();
    assert!(
        text.contains("role 'Broken'") && text.contains("@Dev") && text.contains("@QA"),
        "{text}"
    );
    assert_eq!(world.members().await.len(), 5);
    assert!(world.team.reserve_name("@Broken100").await.expect("asked"), "its name is free again");
}

#[tokio::test]
async fn an_agent_that_is_gone_hires_nobody() {
    let (world, tools) = world().await;
    world.hirer.stop(WAIT).await.expect("stops");
    let tool = tools.tool("hire_members").expect("a tool");
    let error = tool.call(json!({"roles": ["Dev"]}), ToolCall::default()).await.expect_err("gone");
    assert!(error.is_retriable());
}

#[tokio::test]
async fn one_call_hires_fifty_members_at_most() {
    let (world, tools) = world().await;
    let hire = tools.tools().iter().find(|tool| tool.name() == "hire_members").expect("there");
    let error = hire.call(json!({"roles": vec!["Dev"; 51]}), ToolCall::default()).await;
    let Err(ToolError::Retriable(text)) = error else { panic!("{error:?}") };
    assert!(text.contains("at most 50"), "{text}");
    assert_eq!(world.members().await.len(), 3);
}

#[tokio::test]
async fn a_full_team_hires_nobody() {
    let (world, tools) = world().await;
    for number in world.members().await.len()..akgentic_team::MAX_MEMBERS {
        let config = BaseConfig::new(format!("@Idle{number}"), "Dev");
        world.team.create_actor::<Idle>(config).await.expect("created");
    }
    let text = hire(&tools, "Dev", None).await.expect_err("refused");
    assert!(text.contains("1000 members"), "{text}");
    assert_eq!(world.members().await.len(), akgentic_team::MAX_MEMBERS);
}

#[tokio::test]
async fn a_card_needs_an_orchestrator_when_it_is_bound() {
    let observer = akgentic_tool_core::Observer::unattached().build();
    let bound = ToolFactory::new(vec![TeamTool::default().into()]).bind(&observer).await;
    let error = bound.expect_err("no team").to_string();
    assert!(error.contains("stopped"), "{error}");
    let system = ActorSystem::new();
    let alone = system.create_actor::<Idle>(BaseConfig::new("@Alone", "Alone"), Origin::default());
    let alone = alone.expect("created");
    let observer = alone.ask(crate::world::Observe(Arc::default())).await.expect("an observer");
    let bound = ToolFactory::new(vec![TeamTool::default().into()]).bind(&observer).await;
    let error = bound.expect_err("no team").to_string();
    assert!(error.contains("TeamTool needs a team"), "{error}");
}

/// A lead that has hired somebody, both of a class that can hire.
async fn lead_with_a_hire(world: &World, tools: &BoundTools) -> (ActorAddress, ActorAddress) {
    let card = AgentCard::new("team.it.Idle", "leads", BaseConfig::new("", "Lead")).expect("card");
    world.team.register_agent_profile(card).await.expect("registered");
    let lead = hire(tools, "Lead", Some("@Lead")).await.expect("hired");
    let own = ActorRef::<Idle>::new(&lead).expect("typed");
    let observer = own.ask(crate::world::Observe(Arc::default())).await.expect("an observer");
    let context = observer.context().expect("alive");
    let child = context.create_actor::<Idle>(BaseConfig::new("@Child", "Child")).expect("created");
    (lead, child.address().clone())
}

#[tokio::test]
async fn whom_a_fired_member_hired_goes_with_it() {
    let (world, tools) = world().await;
    let (lead, child) = lead_with_a_hire(&world, &tools).await;
    fire(&tools, "@Lead").await.expect("fired");
    assert!(!lead.is_alive() && !child.is_alive());
    assert_eq!(world.members().await, ["@Manager", "@Human", "#Tool"]);
}

#[tokio::test]
async fn a_lead_and_its_hire_are_fired_in_one_call_in_either_order() {
    for names in [["@Lead", "@Child"], ["@Child", "@Lead"]] {
        let (world, tools) = world().await;
        lead_with_a_hire(&world, &tools).await;
        let fire = tools.tool("fire_members").expect("a tool");
        let text = fire.call(json!({"names": names}), ToolCall::default()).await.expect("fired");
        assert_eq!(text.as_text(), Some(&*format!("Members fired: {}, {}", names[0], names[1])));
        assert_eq!(world.members().await.len(), 3);
        let again = fire.call(json!({"names": ["@Child", "@Child"]}), ToolCall::default()).await;
        assert!(again.is_err(), "it is gone");
    }
}

/// Never ends its turn, whoever asks it to.
struct Stubborn;
agent_type!(Stubborn = "team.it.Stubborn");

impl Actor for Stubborn {
    type Config = BaseConfig;

    fn create(_: &BaseConfig) -> Result<Self, ActorError> {
        Ok(Self)
    }

    fn handlers(handlers: &mut Handlers<Self>) {
        handlers.on::<UserMessage>(|_, _, _| Box::pin(std::future::pending()));
    }
}

#[tokio::test(start_paused = true)]
async fn firing_does_not_wait_for_ever() {
    let (world, tools) = world().await;
    let card = AgentCard::new("team.it.Stubborn", "stays", BaseConfig::new("", "Mule"));
    world.team.register_agent_profile(card.expect("card")).await.expect("registered");
    let mule = hire(&tools, "Mule", Some("@Mule")).await.expect("hired");
    mule.tell(UserMessage { content: "go".to_owned() }).expect("told");
    tokio::task::yield_now().await;
    assert_eq!(fire(&tools, "@Mule").await.as_deref(), Ok("Member @Mule is stopping."));
}

#[tokio::test]
async fn only_roles_that_may_be_hired_are_told_and_hired_when_the_card_says_so() {
    let (world, _) = world().await;
    let mut card =
        AgentCard::new("team.it.Idle", "helps", BaseConfig::new("", "Helper")).expect("card");
    card.can_be_hired = true;
    world.team.register_agent_profile(card).await.expect("registered");
    for only_hireable in [false, true] {
        let card = TeamTool { only_hireable, ..TeamTool::default() };
        let tools = ToolFactory::new(vec![card.into()]).bind(&world.observer).await.expect("bound");
        let roles = tools.commands().dispatch("/team_roles").await.reply().expect("roles");
        assert!(roles.contains("Helper:"), "{roles}");
        assert_eq!(roles.contains("Dev:"), !only_hireable, "{roles}");
        hire(&tools, "Helper", None).await.expect("hired");
        let dev = hire(&tools, "Dev", None).await;
        assert_eq!(dev.is_ok(), !only_hireable, "{dev:?}");
        if let Err(text) = dev {
            assert!(text.ends_with("available roles: ['Helper']"), "{text}");
        }
    }
}

#[tokio::test]
async fn parameters_stay_described_when_there_are_instructions() {
    let (world, _) = world().await;
    let card: TeamTool = serde_json::from_value(json!({
        "hire_team_members": {"instructions": "Ask first."},
        "fire_team_members": {"instructions": "Be kind."},
    }))
    .expect("a card");
    let tools = ToolFactory::new(vec![card.into()]).bind(&world.observer).await.expect("bound");
    for (tool, parameter, words) in
        [("hire_members", "roles", "Ask first."), ("fire_members", "names", "Be kind.")]
    {
        let definition = tools.tool(tool).expect("a tool").definition();
        assert!(definition.description.ends_with(words), "{}", definition.description);
        let described = definition.parameters["properties"][parameter]["description"].as_str();
        assert!(described.is_some_and(|text| text.len() > 10), "{described:?}");
    }
    let plain = bound(&world).await;
    let description = &plain.tool("hire_members").expect("a tool").definition().description;
    assert!(!description.contains("Ask first."), "shapes are not changed: {description}");
}
