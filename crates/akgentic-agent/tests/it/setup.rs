//! What agent types add, and what agents offer to cards and hosts.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use akgentic_agent::{
    AgentConfig, AgentMessage, AgentSetup, BaseAgent, Calendar, CustomAgent, HumanProxy, Intent,
    LlmAgent, LlmRenderable, Severity, ToolFinished, TriageMessage, TriageOutput, watch_live,
};
use akgentic_core::message::{ErrorMessage, EventMessage, SentMessage};
use akgentic_core::prelude::*;
use akgentic_core::state::StateSlot;
use akgentic_core::{ActorRef, HumanInput};
use akgentic_llm::{Hook, HookFuture, LlmUsageEvent, ONE_SHOT_RUN, RunContext, RunUsageLimits};
use akgentic_team::{TeamManagement, TeamTool};
use akgentic_tool_core::{
    BindError, BoundCard, Observer, OneShotError, OneShotLlm, OneShotRequest, Tool, ToolCall,
    ToolCard, ToolError,
};
use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::world::{Answers, WAIT, World, calls, latest_prompt, prompts, says, silence, text};

/// What happened, in order.
#[derive(Clone, Debug, Default)]
struct Diary(Arc<Mutex<Vec<String>>>);

impl Diary {
    fn note(&self, text: impl Into<String>) {
        self.0.lock().expect("lock").push(text.into());
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().expect("lock"))
    }
}

impl TeamManagement for Diary {
    fn on_hire(&self, member: &ActorAddress) {
        self.note(format!("hired {}", member.role()));
    }

    fn on_fire(&self, member: &ActorAddress) {
        self.note(format!("fired {}", member.role()));
    }
}

impl Hook for Diary {
    fn before_run<'a>(&'a self, _: &'a RunContext) -> HookFuture<'a> {
        self.note("run");
        Box::pin(async { Ok(()) })
    }
}

/// An agent type with a diary.
struct Diarist(LlmAgent);
agent_type!(Diarist = "agent.it.Diarist");

impl Actor for Diarist {
    type Config = AgentConfig;

    fn create(_: &AgentConfig) -> Result<Self, ActorError> {
        Ok(Self(LlmAgent::default()))
    }

    fn handlers(handlers: &mut Handlers<Self>) {
        handlers
            .on::<AgentMessage>(|this, message, ctx| Box::pin(this.0.agent_message(message, ctx)));
    }

    async fn on_start(&mut self, ctx: &mut Context) -> Result<(), ActorError> {
        let diary = ctx.system().capability::<Diary>().expect("a diary");
        let every_other = Mutex::new(false);
        let extra = Diary::clone(&diary);
        let setup = AgentSetup::default()
            .management(Diary::clone(&diary))
            .hook_per_run(move || {
                let mut on = every_other.lock().expect("lock");
                *on = !*on;
                on.then(|| Arc::new(extra.clone()) as Arc<dyn Hook>)
            })
            .recovery(|_| None);
        self.0.start(setup, ctx).await
    }

    fn state(&mut self) -> Option<&mut dyn StateSlot> {
        self.0.state()
    }
}

#[tokio::test]
async fn an_agent_type_is_told_whom_it_hires_and_fires() {
    let diary = Diary::default();
    let answers = Answers::default()
        .role("Lead", |_, _| says("request", "Dev", "work"))
        .role("Dev", |_, _| silence());
    let world = World::new(answers).await;
    world.system.provide(diary.clone());
    let config = AgentConfig::new("@Lead", "Lead", "You lead.");
    world.team.create_and_wait::<Diarist>(config).await.expect("an agent");
    world.human_says("@Lead", "/hire_member Dev @Ann").await;
    world.human_says("@Lead", "/fire_member @Ann").await;
    world.human_says("@Lead", "go").await;
    world.records.wait_for_turns_of("@Lead", 3).await;
    assert_eq!(diary.take(), ["hired Dev", "fired Dev", "run", "hired Dev"]);
    world.human_says("@Lead", "go").await;
    world.records.wait_for_turns_of("@Lead", 4).await;
    assert_eq!(diary.take(), ["hired Dev"], "the hook is left out of every other run");
}

#[tokio::test]
async fn an_agent_type_decides_whether_a_breached_run_is_concluded() {
    let answers = Answers::default().response("Lead", |_| calls("team", "c"));
    let world = World::new(answers).await;
    world.system.provide(Diary::default());
    let mut config = AgentConfig::new("@Lead", "Lead", "You lead.");
    config.run_usage_limits =
        RunUsageLimits { run_request_limit: Some(1), ..RunUsageLimits::default() };
    world.team.create_and_wait::<Diarist>(config).await.expect("an agent");
    world.human_says("@Lead", "go").await;
    world.records.wait_for_words_to("@Human", 1).await;
    let (_, intent, told) = world.records.sent_to("@Human").pop().expect("a notice");
    assert_eq!(intent, Intent::Notification);
    assert!(told.contains("@Lead") && told.contains("request_limit of 1"), "{told}");
}

/// A message that derives from what members say.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
struct Urgent {
    #[serde(flatten)]
    said: AgentMessage,
    level: u8,
}
message!(Urgent = "agent.it.Urgent", content: said.content, parent: said,
    facets: [dyn LlmRenderable]);

impl LlmRenderable for Urgent {
    fn rendering(&self, message: &Message) -> String {
        format!("Level {}. {}", self.level, self.said.rendering(message))
    }
}

#[tokio::test]
async fn derived_messages_go_where_their_base_goes() {
    let seen = Diary::default();
    let log = seen.clone();
    let answers = Answers::default().role("Helper", move |prompt, _| {
        log.note(prompt);
        says("response", "@Human", "ok")
    });
    let world = World::new(answers).await;
    let helper = world.agent("@Helper", "Helper").await;
    let human = world.team.get_team_member("@Human").await.expect("asked").expect("a human");
    let urgent = Urgent { said: AgentMessage::new(Intent::Request, "now"), level: 3 };
    human.send(helper.address(), urgent).expect("sent");
    world.records.wait_for_words_to("@Human", 1).await;
    let seen = seen.take().pop().expect("a prompt");
    assert!(seen.ends_with("now") && seen.contains("Level 3. You received a request"), "{seen}");
}

#[tokio::test]
async fn a_custom_agent_triages_beside_what_every_agent_does() {
    let answers = Answers::default()
        .role("Triage", |prompt, _| {
            if prompt.contains("Incident reported by") {
                let output = TriageOutput {
                    severity: Severity::High,
                    summary: "the disk is full".to_owned(),
                    handoffs: vec![
                        akgentic_agent::Handoff {
                            recipient: "Dev".into(),
                            task: "clean up".into(),
                        },
                        akgentic_agent::Handoff { recipient: "Nobody".into(), task: "x".into() },
                        akgentic_agent::Handoff { recipient: "@Human".into(), task: "look".into() },
                    ],
                };
                return serde_json::to_string(&output).expect("written");
            }
            says("response", "@Human", "hello")
        })
        .role("Dev", |_, _| silence());
    let world = World::new(answers).await;
    let config = AgentConfig::new("@Triage", "Triage", "You triage.");
    let agent = world.team.create_and_wait::<CustomAgent>(config).await.expect("an agent");
    let human = world.team.get_team_member("@Human").await.expect("asked").expect("a human");
    let incident = TriageMessage { incident: "no space left".into(), reported_by: "bob".into() };
    human.send(agent.address(), incident).expect("sent");
    world.human_says("@Triage", "hi").await;
    world.records.wait_for_words_to("@Human", 2).await;
    let told: Vec<(Intent, String)> =
        world.records.sent_to("@Human").into_iter().map(|(_, kind, text)| (kind, text)).collect();
    assert_eq!(told, [(Intent::Request, "look".into()), (Intent::Response, "hello".into())]);
    let all = world.records.all();
    let tasks = all.iter().filter_map(|record| record.body::<SentMessage>());
    assert_eq!(tasks.filter(|sent| sent.recipient.role() == "Dev").count(), 1);
}

/// Asks the agent's model once, or looks.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
struct AskTool {}
akgentic_tool_core::tool_card!(AskTool = "agent.it.AskTool");

impl ToolCard for AskTool {
    fn bind<'a>(&'a self, observer: &'a Observer) -> BoxFuture<'a, Result<BoundCard, BindError>> {
        Box::pin(async move {
            let model = observer.get::<dyn OneShotLlm>()?;
            let mut bound = BoundCard::new();
            bound.tools.push(Tool::new("ask", "Asks.", move |(): (), _: ToolCall| {
                let model = Arc::clone(&model);
                async move {
                    let question = OneShotRequest {
                        instructions: Some("Be short.".to_owned()),
                        ..OneShotRequest::text("what is it?")
                    };
                    let answer = model.ask(question).await.map_err(ToolError::fatal)?;
                    let stranger = OneShotRequest {
                        model: Some("openai:other".to_owned()),
                        ..OneShotRequest::text("and you?")
                    };
                    let refused = model.ask(stranger).await;
                    assert!(matches!(refused, Err(OneShotError::Unavailable(_))), "{refused:?}");
                    let late = OneShotRequest {
                        deadline: Some(Instant::now()),
                        ..OneShotRequest::text("hang")
                    };
                    let late = model.ask(late).await;
                    assert_eq!(late, Err(OneShotError::Timeout));
                    Ok::<_, ToolError>(answer)
                }
            }));
            Ok(bound)
        })
    }
}

/// A model that hangs when it is told to.
struct Patient(Answers);

impl akgentic_agent::ModelSource for Patient {
    fn model(
        &self,
        config: &akgentic_llm::ModelConfig,
        agent: &ActorAddress,
    ) -> Result<Arc<dyn akgentic_llm::Model>, String> {
        let model = self.0.model(config, agent)?;
        Ok(Arc::new(akgentic_llm::FunctionModel::from_async(move |input| {
            let model = Arc::clone(&model);
            Box::pin(async move {
                if latest_prompt(&input) == "hang" {
                    std::future::pending::<()>().await;
                }
                model.request(input).await
            })
        })))
    }
}

#[tokio::test]
async fn cards_may_ask_the_agents_model_once() {
    let answers = Answers::default().response("Helper", |input| {
        if latest_prompt(input) == "what is it?" {
            assert_eq!(input.messages.len(), 1, "no history");
            assert!(input.tools.is_empty());
            let first = format!("{:?}", input.messages[0]);
            assert!(first.contains("Be short."), "{first}");
            return text("a rose");
        }
        let last = input.messages.last().and_then(|last| last.as_request());
        let seen = format!("{:?}", last.expect("a request"));
        if seen.contains("ToolReturn") {
            assert!(seen.contains("a rose"), "{seen}");
            return text(says("response", "@Human", "done"));
        }
        calls("ask", "c1")
    });
    let world = World::new(Answers::default()).await;
    akgentic_agent::provide_models(&world.system, Patient(answers));
    let config = AgentConfig::new("@Helper", "Helper", "You help.").with_tool(AskTool {});
    world.configured(config).await;
    world.human_says("@Helper", "ask").await;
    world.records.wait_for_words_to("@Human", 1).await;
    assert_eq!(world.records.sent_to("@Human")[0].2, "done");
    let all = world.records.all();
    let usage = all
        .iter()
        .filter_map(|record| record.body::<EventMessage>()?.event.downcast::<LlmUsageEvent>());
    let questions = usage.filter(|event| event.run_id == ONE_SHOT_RUN).count();
    assert_eq!(questions, 1, "what it cost is on record");
}

#[tokio::test]
async fn a_finished_tool_is_seen_before_the_model_answers_again() {
    let diary = Diary::default();
    let log = diary.clone();
    let answers = Answers::default().response("Helper", move |input| {
        let last = format!("{:?}", input.messages.last());
        if last.contains("ToolReturn") {
            log.note("asked again");
            return text(says("response", "@Human", "done"));
        }
        calls("look", "c1")
    });
    let world = World::new(answers).await;
    let live = diary.clone();
    watch_live(&world.system, move |finished: &ToolFinished| {
        let ToolFinished { agent, tool_name, tool_call_id, success, .. } = finished;
        live.note(format!("{} {tool_name} {tool_call_id} {success}", agent.name()));
    });
    let config = AgentConfig::new("@Helper", "Helper", "You help.").with_tool(LookTool {});
    world.configured(config).await;
    world.human_says("@Helper", "go").await;
    world.records.wait_for_words_to("@Human", 1).await;
    assert_eq!(diary.take(), ["@Helper look c1 true", "asked again"]);
    let all = world.records.all();
    assert!(
        all.iter().all(|record| !format!("{record:?}").contains("ToolFinished")),
        "not recorded"
    );
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
struct LookTool {}
akgentic_tool_core::tool_card!(LookTool = "agent.it.setup.LookTool");

impl ToolCard for LookTool {
    fn bind<'a>(&'a self, _: &'a Observer) -> BoxFuture<'a, Result<BoundCard, BindError>> {
        Box::pin(async {
            let mut bound = BoundCard::new();
            bound.tools.push(Tool::new("look", "Looks.", |(): (), _: ToolCall| async {
                Ok::<_, ToolError>("seen")
            }));
            bound.commands.push(akgentic_tool_core::Command::new(
                "hush",
                "Says nothing.",
                |(): ()| async { Ok::<_, ToolError>(()) },
            ));
            Ok(bound)
        })
    }
}

#[tokio::test]
async fn the_start_of_the_prompt_is_backstory_and_date_and_stays_the_same() {
    let seen = Diary::default();
    let log = seen.clone();
    let answers = Answers::default()
        .role("Helper", move |_, input| {
            let first = input.messages[0].as_request().expect("a request");
            let tools: Vec<&str> = input.tools.iter().map(|tool| tool.name.as_str()).collect();
            log.note(format!("{:?} {tools:?}", &first.parts[..2]));
            says("response", "@Human", "ok")
        })
        .role("Dev", |_, _| silence());
    let world = World::new(answers).await;
    world.system.provide(Calendar::new(|| "2026-01-31".to_owned()));
    world.agent("@Helper", "Helper").await;
    for (count, what) in ["one", "two", "three"].into_iter().enumerate() {
        world.human_says("@Helper", what).await;
        world.records.wait_for_words_to("@Human", count + 1).await;
        world.agent(&format!("@Dev{count}"), "Dev").await;
    }
    let seen = seen.take();
    assert_eq!(seen.len(), 3);
    assert!(seen.iter().all(|prefix| *prefix == seen[0]), "{seen:#?}");
    assert!(seen[0].contains("You are @Helper.") && seen[0].contains("Today is 2026-01-31."));
}

#[tokio::test]
async fn an_agent_needs_an_orchestrator() {
    let world = World::new(Answers::default().role("Helper", |_, _| silence())).await;
    let config = AgentConfig::new("@Alone", "Helper", "You help.");
    let alone = world.system.create_actor::<BaseAgent>(config, Origin::default()).expect("created");
    let error = alone.address().wait_started(WAIT).await.expect_err("cannot start");
    assert!(error.to_string().contains("an agent needs an orchestrator"), "{error}");
}

#[tokio::test]
async fn a_configured_team_card_wins() {
    let answers = Answers::default().role("Helper", |_, input| {
        let names: Vec<&str> = input.tools.iter().map(|tool| tool.name.as_str()).collect();
        says("response", "@Human", &names.join(" "))
    });
    let world = World::new(answers).await;
    let card = TeamTool { hire_team_members: false.into(), ..TeamTool::default() };
    let config =
        AgentConfig::new("@Helper", "Helper", "You help.").with_tool(LookTool {}).with_tool(card);
    world.configured(config).await;
    world.human_says("@Helper", "go").await;
    world.records.wait_for_words_to("@Human", 1).await;
    assert_eq!(world.records.sent_to("@Human")[0].2, "read_mailbox look fire_members");
}

#[tokio::test]
async fn a_command_with_nothing_to_say_leaves_no_trace() {
    let seen = Diary::default();
    let log = seen.clone();
    let answers = Answers::default().role("Helper", move |_, input| {
        log.note(prompts(input).join("\n"));
        silence()
    });
    let world = World::new(answers).await;
    let config = AgentConfig::new("@Helper", "Helper", "You help.").with_tool(LookTool {});
    world.configured(config).await;
    world.human_says("@Helper", "/hush").await;
    world.human_says("@Helper", "hello").await;
    world.records.wait_for_turns_of("@Helper", 2).await;
    assert!(world.records.sent_to("@Human").is_empty());
    let seen = seen.take().pop().expect("a prompt");
    assert!(!seen.contains("hush"), "{seen}");
}

#[tokio::test]
async fn a_human_answers_the_asker_as_a_response() {
    let answers = Answers::default().role("Helper", |prompt, _| {
        if prompt.contains("a response from @Human") {
            silence()
        } else {
            says("request", "@Human", "which one?")
        }
    });
    let world = World::new(answers).await;
    world.agent("@Helper", "Helper").await;
    world.human_says("@Helper", "go").await;
    world.records.wait_for_words_to("@Human", 1).await;
    let all = world.records.all();
    let asked = all.iter().filter_map(|record| record.body::<SentMessage>());
    let question = asked.map(|sent| Arc::clone(&sent.message)).next_back().expect("a question");
    let human = world.team.get_team_member("@Human").await.expect("asked").expect("a human");
    let human = ActorRef::<HumanProxy>::new(&human).expect("typed");
    let input = HumanInput { content: "the red one".to_owned(), message: Arc::clone(&question) };
    human.ask(input).await.expect("answered");
    world.records.wait_for_words_to("@Helper", 2).await;
    let (_, intent, answer) = world.records.sent_to("@Helper").pop().expect("an answer");
    assert_eq!((intent, answer.as_str()), (Intent::Response, "the red one"));
    let all = world.records.all();
    let mut sent = all.iter().filter_map(|record| record.body::<SentMessage>());
    let answer = sent.next_back().expect("sent");
    assert_eq!(answer.message.parent_id, Some(question.id));
    let mut nobody = (*question).clone();
    nobody.sender = None;
    let input = HumanInput { content: "x".to_owned(), message: Arc::new(nobody) };
    let error = human.ask(input).await.expect_err("nobody asked").to_string();
    assert!(error.contains("has no sender"), "{error}");
}

#[tokio::test]
async fn a_dead_human_is_no_human() {
    let answers = Answers::default().role("Helper", |_, _| says("response", "@Human", "fine"));
    let world = World::new(answers).await;
    let mut config = AgentConfig::new("@Helper", "Helper", "You help.");
    config.agent_usage_limits.agent_request_limit = Some(1);
    let helper = world.configured(config).await;
    let human = world.team.get_team_member("@Human").await.expect("asked").expect("a human");
    for _ in 0..2 {
        human.send(helper.address(), AgentMessage::new(Intent::Request, "go")).expect("sent");
    }
    human.stop(WAIT).await.expect("stops");
    world.records.wait_for_turns_of("@Helper", 2).await;
    world.team.get_team().await.expect("drained");
    let all = world.records.all();
    let errors: Vec<_> = all.iter().filter_map(|record| record.body::<ErrorMessage>()).collect();
    assert!(errors.is_empty(), "{errors:?}");
}

#[tokio::test]
async fn failures_are_recorded_under_stable_names() {
    for (kind, tool) in [("ToolCrashed", "crash"), ("ToolRetriesExhausted", "refuse")] {
        let answers = Answers::default()
            .response("Helper", move |input| calls(tool, &format!("c{}", input.messages.len())));
        let world = World::new(answers).await;
        let config = AgentConfig::new("@Helper", "Helper", "You help.").with_tool(BadTool {});
        world.configured(config).await;
        world.human_says("@Helper", "go").await;
        world.records.wait_for_turns_of("@Helper", 1).await;
        world.team.get_team().await.expect("drained");
        let all = world.records.all();
        let error = all.iter().find_map(|record| record.body::<ErrorMessage>()).expect("an error");
        assert_eq!(error.notification.content_type.as_deref(), Some(kind));
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
struct BadTool {}
akgentic_tool_core::tool_card!(BadTool = "agent.it.BadTool");

impl ToolCard for BadTool {
    fn bind<'a>(&'a self, _: &'a Observer) -> BoxFuture<'a, Result<BoundCard, BindError>> {
        Box::pin(async {
            let mut bound = BoundCard::new();
            bound.tools.push(Tool::new("crash", "", |(): (), _: ToolCall| async {
                Err::<String, _>(ToolError::fatal("the disk is gone"))
            }));
            bound.tools.push(Tool::new("refuse", "", |(): (), _: ToolCall| async {
                Err::<String, _>(ToolError::retriable("not like this"))
            }));
            Ok(bound)
        })
    }
}

#[tokio::test]
async fn a_thousand_agents_need_no_threads_of_their_own() {
    let world = World::new(Answers::default().role("Helper", |_, _| silence())).await;
    let threads = || std::fs::read_dir("/proc/self/task").map_or(0, Iterator::count);
    let before = threads();
    let begun = Instant::now();
    let mut agents = Vec::new();
    for number in 0..1000 {
        let config = AgentConfig::new(format!("@A{number}"), "Helper", "You help.");
        agents.push(world.team.create_actor::<BaseAgent>(config).await.expect("created"));
    }
    for agent in &agents {
        agent.address().wait_started(WAIT).await.expect("started");
    }
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    assert_eq!(threads(), before);
}
