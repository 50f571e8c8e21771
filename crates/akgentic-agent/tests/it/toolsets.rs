//! Toolsets of an agent: connected when first needed, tried again, closed at its end.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use akgentic_agent::AgentConfig;
use akgentic_core::message::ErrorMessage;
use akgentic_tool_core::{
    BindError, BoundCard, Observer, Tool, ToolCall, ToolCard, ToolError, Toolset, ToolsetError,
    tool_card,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::world::{Answers, WAIT, World, says, silence};

type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// How often servers were connected and closed; the first connection fails.
#[derive(Debug, Default)]
struct Server {
    connected: AtomicUsize,
    closed: AtomicUsize,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
struct ServerTool {}
tool_card!(ServerTool = "agent.it.ServerTool");

impl ToolCard for ServerTool {
    fn bind<'a>(&'a self, observer: &'a Observer) -> BoxFuture<'a, Result<BoundCard, BindError>> {
        Box::pin(async move {
            let mut bound = BoundCard::new();
            bound.toolsets.push(Arc::new(Remote(observer.get::<Server>()?)));
            Ok(bound)
        })
    }
}

#[derive(Debug)]
struct Remote(Arc<Server>);

impl Toolset for Remote {
    fn name(&self) -> &'static str {
        "remote"
    }

    fn connect(&self) -> BoxFuture<'_, Result<Vec<Tool>, ToolsetError>> {
        let attempt = self.0.connected.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move {
            if attempt == 0 {
                return Err(ToolsetError {
                    toolset: "remote".to_owned(),
                    reason: "the server sleeps".to_owned(),
                });
            }
            let far = Tool::new("far", "Far away.", |(): (), _: ToolCall| async {
                Ok::<_, ToolError>("from afar")
            });
            Ok(vec![far])
        })
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        self.0.closed.fetch_add(1, Ordering::SeqCst);
        Box::pin(async {})
    }
}

#[tokio::test]
async fn toolsets_are_connected_before_the_first_turn_and_closed_at_the_end() {
    let answers = Answers::default().role("Helper", |_, input| {
        let names: Vec<&str> = input.tools.iter().map(|tool| tool.name.as_str()).collect();
        if names.contains(&"far") {
            says("notification", "@Human", "far is there")
        } else {
            silence()
        }
    });
    let world = World::new(answers).await;
    let server = Arc::new(Server::default());
    world.system.provide(Arc::clone(&server));
    let mut config = AgentConfig::new("@Helper", "Helper", "You help.");
    config.tools = vec![ServerTool {}.into()];
    let helper = world.configured(config).await;
    assert_eq!(server.connected.load(Ordering::SeqCst), 0, "not before it is needed");

    world.human_says("@Helper", "one").await;
    world.records.wait_for_turns_of("@Helper", 1).await;
    let failed = |records: &crate::world::Records| {
        let all = records.all();
        let errors = all.iter().filter_map(|record| record.body::<ErrorMessage>());
        errors.filter(|error| error.notification.content.contains("the server sleeps")).count() == 1
    };
    world.records.wait(failed).await;
    world.human_says("@Helper", "two").await;
    world.records.wait_for_words_to("@Human", 1).await;
    world.human_says("@Helper", "three").await;
    world.records.wait_for_words_to("@Human", 2).await;
    assert_eq!(server.connected.load(Ordering::SeqCst), 2, "once it is connected it stays so");
    helper.address().stop(WAIT).await.expect("stops");
    assert_eq!(server.closed.load(Ordering::SeqCst), 1);
    world.system.shutdown(WAIT).await;
}
