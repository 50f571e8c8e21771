//! Binding the card.

use akgentic_mailbox::{MailboxTool, ReadMailbox, Stop};
use akgentic_tool_core::{
    BoundCard, Channel, Exposure, Observer, ToolCall, ToolCard as _, ToolFactory,
};

async fn bound(card: &MailboxTool) -> BoundCard {
    card.bind(&Observer::unattached().build()).await.expect("binding needs nothing")
}

#[tokio::test]
async fn the_tool_is_taught_with_its_description() {
    let bound = bound(&MailboxTool::default()).await;
    let definition = bound.tools[0].definition();
    for word in
        ["exactly", "in this run", "does not come again", "stay in the queue", "confirmation"]
    {
        assert!(definition.description.contains(word), "{word}: {}", definition.description);
    }
    assert_eq!(definition.parameters["required"], serde_json::json!(["message_id"]));
}

#[tokio::test]
async fn instructions_go_after_the_descriptions() {
    let read = ReadMailbox { instructions: Some("Rarely.".into()), ..ReadMailbox::default() };
    let stop = Stop { instructions: Some("Politely.".into()), ..Stop::default() };
    let card = MailboxTool { read_mailbox: read.into(), stop: stop.into() };
    let bound = bound(&card).await;
    assert!(bound.tools[0].definition().description.ends_with("Rarely."));
    assert!(bound.commands[0].description().ends_with("Politely."));
}

#[tokio::test]
async fn without_an_owner_reading_fails_for_good_and_stopping_answers() {
    let observer = Observer::unattached().build();
    let factory = ToolFactory::new(vec![MailboxTool::default().into()]);
    let tools = factory.bind(&observer).await.expect("bound");
    let tool = tools.tool("read_mailbox").expect("a tool");
    let args = tool.validate(serde_json::json!({"message_id": "x"})).expect("fits");
    let error = tool.run(args, ToolCall::default()).await.expect_err("nobody is there");
    assert!(!error.is_retriable(), "{error}");
    let reply = tools.commands().dispatch("/stop").await.reply();
    assert_eq!(reply.as_deref(), Some("There is no run to cancel."));
}

#[tokio::test]
async fn two_mailbox_cards_collide() {
    let factory =
        ToolFactory::new(vec![MailboxTool::default().into(), MailboxTool::default().into()]);
    let error = factory.bind(&Observer::unattached().build()).await.expect_err("two of one name");
    assert!(error.to_string().contains("read_mailbox"), "{error}");
    let silent = MailboxTool { read_mailbox: false.into(), ..MailboxTool::default() };
    let factory = ToolFactory::new(vec![silent.clone().into(), silent.into()]);
    let error = factory.bind(&Observer::unattached().build()).await.expect_err("two of one name");
    assert!(error.to_string().contains("stop"), "{error}");
}

#[tokio::test]
async fn a_channel_the_card_cannot_serve_is_reported() {
    let read = ReadMailbox { expose: Exposure::of(&[Channel::Command]), ..ReadMailbox::default() };
    let card = MailboxTool { read_mailbox: read.into(), ..MailboxTool::default() };
    assert!(!card.serves_reading());
    let factory = ToolFactory::new(vec![card.into()]);
    let tools = factory.bind(&Observer::unattached().build()).await.expect("bound");
    let warning = tools.warnings()[0].to_string();
    assert!(warning.contains("read_mailbox") && warning.contains("command"), "{warning}");
}
