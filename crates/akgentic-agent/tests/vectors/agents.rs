//! Agent types and the test card of the traces.

use std::sync::{Arc, Mutex};

use akgentic_agent::{AgentConfig, AgentMessage, AgentOutput, AgentSetup, LlmAgent};
use akgentic_core::prelude::*;
use akgentic_core::state::StateSlot;
use akgentic_llm::run::ModelStep;
use akgentic_llm::{Hook, HookFuture, RunContext};
use akgentic_tool_core::{
    BindError, BoundCard, Command, ExpandMediaRefs, Media, Observer, Part, Tool, ToolCall,
    ToolCard, ToolError, tool_card,
};
use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Tools and commands by name.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct TestTool {
    pub(crate) offers: Vec<String>,
}
tool_card!(TestTool = "agent.vectors.TestTool");

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Text {
    text: String,
}

#[derive(Deserialize, JsonSchema)]
struct Greet {
    name: String,
    #[serde(default = "once")]
    times: usize,
}

fn once() -> usize {
    1
}

impl ToolCard for TestTool {
    fn bind<'a>(&'a self, _: &'a Observer) -> BoxFuture<'a, Result<BoundCard, BindError>> {
        Box::pin(async move {
            let mut bound = BoundCard::new();
            for offer in &self.offers {
                add(offer, &mut bound);
            }
            Ok(bound)
        })
    }
}

fn add(offer: &str, bound: &mut BoundCard) {
    match offer {
        "echo" => bound.tools.push(Tool::new("echo", "", |args: Text, _: ToolCall| async move {
            Ok::<_, ToolError>(args.text)
        })),
        "fail_retriable" => {
            let fail = Tool::new("fail_retriable", "", |args: Text, _: ToolCall| async move {
                Err::<String, _>(ToolError::retriable(format!("bad input: {}", args.text)))
            });
            bound.tools.push(fail);
        }
        "crash" => bound.tools.push(Tool::new("crash", "", |_: Text, _: ToolCall| async move {
            Err::<String, _>(ToolError::fatal("crashed"))
        })),
        "greet" => bound.commands.push(Command::new("greet", "", |args: Greet| async move {
            let hello = vec![format!("hello {}", args.name); args.times];
            Ok::<_, ToolError>(hello.join(" "))
        })),
        "quiet" => bound
            .commands
            .push(Command::new("quiet", "", |(): ()| async { Ok::<_, ToolError>(()) })),
        "explode" => bound.commands.push(Command::new("explode", "", |(): ()| async {
            Err::<String, _>(ToolError::fatal("it exploded"))
        })),
        "media" => bound.commands.push(Command::of("", |args: ExpandMediaRefs| async move {
            Ok(match args.prompt.split_once("!!png") {
                None => vec![Part::Text(args.prompt)],
                Some((before, after)) => vec![
                    Part::Text(before.to_owned()),
                    Part::Media(Media::new(*b"\x89PNG", "image/png")),
                    Part::Text(after.to_owned()),
                ],
            })
        })),
        other => panic!("unknown test tool {other}"),
    }
}

macro_rules! agent {
    ($ty:ident, $setup:expr) => {
        impl Actor for $ty {
            type Config = AgentConfig;

            fn create(_: &AgentConfig) -> Result<Self, ActorError> {
                Ok(Self(LlmAgent::default()))
            }

            fn handlers(handlers: &mut Handlers<Self>) {
                handlers.on::<AgentMessage>(|this, message, ctx| Box::pin(this.say(message, ctx)));
            }

            async fn on_start(&mut self, ctx: &mut Context) -> Result<(), ActorError> {
                let setup: fn(&mut Context) -> AgentSetup = $setup;
                self.0.start(setup(ctx), ctx).await
            }

            fn state(&mut self) -> Option<&mut dyn StateSlot> {
                self.0.state()
            }

            async fn on_stop(&mut self, _: &mut Context) -> Result<(), ActorError> {
                self.0.stop().await;
                Ok(())
            }
        }
    };
}

/// An agent whose output has no default, and which routes nothing.
pub(crate) struct StrictAgent(LlmAgent);
agent_type!(StrictAgent = "agent.vectors.StrictAgent");
agent!(StrictAgent, |_| AgentSetup::default());

#[derive(Deserialize, JsonSchema)]
struct Verdict {
    #[allow(dead_code, reason = "only that it is there is looked at")]
    verdict: String,
}

impl AgentOutput for Verdict {}

impl StrictAgent {
    async fn say(
        &mut self,
        message: Typed<AgentMessage>,
        ctx: &mut Context,
    ) -> Result<Outcome, ActorError> {
        let engine = self.0.engine(ctx).await?;
        engine.act::<Verdict>(message.message(), ctx).await.map(drop)?;
        Ok(Outcome::done())
    }
}

/// An agent with one hook of its own.
pub(crate) struct AuditAgent(LlmAgent);
agent_type!(AuditAgent = "agent.vectors.AuditAgent");
agent!(AuditAgent, |ctx| {
    let audit = ctx.system().capability::<Audit>().expect("an audit");
    AgentSetup::default().hook(Audit::clone(&audit))
});

impl AuditAgent {
    async fn say(
        &mut self,
        message: Typed<AgentMessage>,
        ctx: &mut Context,
    ) -> Result<Outcome, ActorError> {
        self.0.agent_message(message, ctx).await
    }
}

/// The hooks that were called.
#[derive(Clone, Default)]
pub(crate) struct Audit(pub(crate) Arc<Mutex<Vec<&'static str>>>);

impl Hook for Audit {
    fn before_run<'a>(&'a self, _: &'a RunContext) -> HookFuture<'a> {
        self.0.lock().expect("lock").push("before_run");
        Box::pin(async { Ok(()) })
    }

    fn before_model_request<'a>(
        &'a self,
        _: &'a RunContext,
        _: &'a mut ModelStep,
    ) -> HookFuture<'a> {
        self.0.lock().expect("lock").push("before_model_request");
        Box::pin(async { Ok(()) })
    }
}
