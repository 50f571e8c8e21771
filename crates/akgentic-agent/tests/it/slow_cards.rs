//! Cards that never get ready and commands that never end.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use akgentic_agent::{AgentConfig, BaseAgent};
use akgentic_core::message::ErrorMessage;
use akgentic_tool_core::{
    BindError, BoundCard, Command, Observer, SystemPrompt, ToolCard, ToolError, tool_card,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::world::{Answers, Records, World, silence};

/// Where a card is slow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
enum Slow {
    #[default]
    Binding,
    Prompt,
    Command,
}

/// Never gets ready, or offers a system prompt or a command that never ends.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
struct SlowTool {
    slow: Slow,
}
tool_card!(SlowTool = "agent.it.SlowTool");

impl ToolCard for SlowTool {
    fn bind<'a>(
        &'a self,
        _: &'a Observer,
    ) -> Pin<Box<dyn Future<Output = Result<BoundCard, BindError>> + Send + 'a>> {
        Box::pin(async move {
            if self.slow == Slow::Binding {
                std::future::pending::<()>().await;
            }
            let mut bound = BoundCard::new();
            if self.slow == Slow::Prompt {
                bound.system_prompts.push(SystemPrompt::new("slow", std::future::pending));
            }
            bound.commands.push(Command::new("hang", "Never ends.", |(): ()| async {
                std::future::pending::<()>().await;
                Ok::<Option<String>, ToolError>(None)
            }));
            Ok(bound)
        })
    }
}

/// Kinds and texts of all errors on record.
fn errors(records: &Records) -> Vec<(String, String)> {
    let all = records.all();
    let errors = all.iter().filter_map(|record| {
        let error = &record.body::<ErrorMessage>()?.notification;
        Some((error.content_type.clone().unwrap_or_default(), error.content.clone()))
    });
    errors.collect()
}

async fn world() -> World {
    World::new(Answers::default().role("Helper", |_, _| silence())).await
}

fn config(slow: Slow) -> AgentConfig {
    let mut config = AgentConfig::new("@Helper", "Helper", "You help.");
    config.tools = vec![SlowTool { slow }.into()];
    config
}

#[tokio::test(start_paused = true)]
async fn cards_that_are_not_ready_in_a_minute_fail_the_start() {
    for slow in [Slow::Binding, Slow::Prompt] {
        let world = world().await;
        world.team.create_actor::<BaseAgent>(config(slow)).await.expect("created");
        tokio::time::sleep(Duration::from_mins(1)).await;
        world.records.wait(|records| !errors(records).is_empty()).await;
        let told = errors(&world.records);
        assert!(told[0].1.contains("the cards were not ready in 60 s"), "{slow:?}: {told:?}");
    }
}

#[tokio::test]
async fn a_command_ends_with_its_agent() {
    let world = world().await;
    let helper = world.configured(config(Slow::Command)).await;
    world.human_says("@Helper", "/hang").await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    let gone = helper.address().dismiss(Duration::from_secs(5)).await.expect("gone in time");
    assert!(gone);
    world.records.wait(|records| !errors(records).is_empty()).await;
    assert_eq!(errors(&world.records)[0].0, "RunInterruptedError");
    assert!(world.records.sent_to("@Human").is_empty(), "nothing is answered");
}
