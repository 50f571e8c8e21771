//! Topics `card` and `card_calls`.

use akgentic_core::prelude::*;
use akgentic_core::wire::{Record as _, load_record};
use akgentic_mailbox::{ACKNOWLEDGEMENT, HookOptions, MailboxHook, MailboxTool};
use akgentic_testkit::{Case, known_keys, same};
use akgentic_tool_core::{BoundTools, Observer, ObserverError, ToolCall, ToolFactory};
use serde_json::{Value, json};

/// A member that cards can be bound to.
struct Member;
agent_type!(Member = "mailbox.vectors.Member");

impl Actor for Member {
    type Config = BaseConfig;

    fn create(_: &BaseConfig) -> Result<Self, ActorError> {
        Ok(Self)
    }
}

struct Observe;

impl Handle<Observe> for Member {
    type Reply = Observer;

    async fn handle(&mut self, _: Observe, ctx: &mut Context) -> Result<Observer, ActorError> {
        Ok(Observer::of(ctx).build())
    }
}

/// A card bound to a member that runs, or has run.
async fn bound(card: MailboxTool, gone: bool) -> (BoundTools, ActorSystem) {
    let system = ActorSystem::new();
    let config = BaseConfig::new("@A", "Assistant");
    let member = system.create_actor::<Member>(config, Origin::default()).expect("a member");
    let observer = member.ask(Observe).await.expect("an observer");
    let tools = ToolFactory::new(vec![card.into()]).bind(&observer).await.expect("bound");
    if gone {
        let wait = std::time::Duration::from_secs(5);
        member.address().stop(wait).await.expect("stopped");
    }
    (tools, system)
}

pub(crate) fn card(case: &Case) -> Result<(), String> {
    let known = [
        "ok",
        "dump",
        "tools",
        "commands",
        "context_states",
        "system_prompts",
        "notice_enabled",
        "notice_enabled_in_reference",
        "instructions_appended",
        "errors",
    ];
    known_keys("expect", &case.expect, &known)?;
    let card = match load_record::<MailboxTool>(case.input.clone()) {
        Ok(card) if case.expect["ok"] == true => card,
        Ok(card) => return Err(format!("accepted as {card:?}")),
        Err(error) if case.expect["ok"] == true => return Err(format!("rejected: {error}")),
        Err(error) => {
            let wanted = case.expect["errors"].as_array().into_iter().flatten();
            let wanted = wanted.map(|text| text.as_str().expect("text"));
            let mut wanted: Vec<&str> =
                wanted.filter_map(|text| text.split(['.', ':']).next()).collect();
            wanted.dedup();
            let mut got: Vec<String> = error
                .errors()
                .iter()
                .map(|error| error.loc.first().map_or_else(String::new, ToString::to_string))
                .collect();
            got.dedup();
            return same("fields", &json!(got), &json!(wanted));
        }
    };
    same("dump", &sets_sorted(card.to_json()), &sets_sorted(case.expect["dump"].clone()))?;
    let again = load_record::<MailboxTool>(card.to_json()).map_err(|error| error.to_string())?;
    same("loaded again", &again, &card)?;
    let hook = MailboxHook::<u32>::new(&card, HookOptions::default());
    same("notice", &json!(hook.notice_enabled()), &case.expect["notice_enabled"])?;
    crate::block_on(async {
        let instructions = card.read_mailbox.resolve().and_then(|param| param.instructions.clone());
        let (tools, _system) = bound(card, false).await;
        let offers = tools.offers();
        same("tools", &json!(offers.tools), &case.expect["tools"])?;
        same("commands", &json!(offers.commands), &case.expect["commands"])?;
        same("states", &json!(offers.context_states.len()), &case.expect["context_states"])?;
        same("prompts", &json!(offers.system_prompts.len()), &case.expect["system_prompts"])?;
        if let (Some(tool), Some(wanted)) =
            (tools.tool("read_mailbox"), case.expect.get("instructions_appended"))
        {
            let description = &tool.definition().description;
            let appended = instructions.is_some_and(|text| description.ends_with(&text));
            same("instructions", &json!(appended), wanted)?;
        }
        Ok(())
    })
}

/// The lists under `expose` are sets.
fn sets_sorted(mut value: Value) -> Value {
    for (key, item) in value.as_object_mut().into_iter().flatten() {
        if let (true, Value::Array(items)) = (key == "expose", &mut *item) {
            items.sort_by_key(Value::to_string);
        }
        *item = sets_sorted(item.take());
    }
    value
}

pub(crate) fn calls(case: &Case) -> Result<(), String> {
    known_keys("input", &case.input, &["call", "message_id", "dispatch", "descriptor", "owner"])?;
    crate::block_on(async {
        let gone = case.input["owner"] == "gone";
        let (tools, _system) = bound(MailboxTool::default(), gone).await;
        if let Some(name) = case.input["call"].as_str() {
            let tool = tools.tool(name).ok_or("there is no such tool")?;
            let id = case.input["message_id"].as_str().unwrap_or("x");
            let args = tool.validate(json!({"message_id": id})).map_err(|e| format!("{e:?}"))?;
            return match tool.run(args, ToolCall::default()).await {
                Ok(content) => {
                    same("answer", &content.as_text(), &ACKNOWLEDGEMENT.into())?;
                    same("acknowledged", &json!(true), &case.expect["acknowledged"])
                }
                Err(error) => {
                    let is_gone = error.downcast_ref() == Some(&ObserverError::Gone);
                    let kind =
                        if is_gone { json!("observer_gone") } else { json!(error.to_string()) };
                    same("error", &kind, &case.expect["error"])
                }
            };
        }
        if let Some(line) = case.input["dispatch"].as_str() {
            let outcome = tools.commands().dispatch(line).await;
            let reply = outcome.reply();
            if case.expect["failed"] == true {
                let reply = reply.unwrap_or_default();
                let is_failure = reply.starts_with("Command 'stop' failed: ");
                return if is_failure { Ok(()) } else { Err(format!("answered: {reply}")) };
            }
            return same("reply", &json!(reply), &case.expect["text"]);
        }
        let name = case.input["descriptor"].as_str().ok_or("nothing to check")?;
        let descriptors = tools.commands().descriptors();
        let found = descriptors.iter().find(|one| one.name == name).ok_or("no descriptor")?;
        let args: Vec<&str> = found.args.iter().map(|arg| arg.name.as_str()).collect();
        let shown = json!({"name": found.name, "args": args, "tool_card": found.tool_card});
        same("descriptor", &shown, &case.expect)
    })
}
