//! Commands: typed words, native calls, what people are told.

use akgentic_tool_core::{
    BoundValue, Command, CommandArgs, CommandError, CommandRegistry, DispatchOutcome,
    ExpandMediaRefs, Part, QuotingError, ToolError,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
struct Search {
    /// What to look for.
    query: Query,
    #[serde(default)]
    top_k: Option<u32>,
    #[serde(default)]
    threshold: f64,
    #[serde(default)]
    tags: Vec<String>,
}

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
struct Query {
    text: String,
    #[serde(default)]
    deep: bool,
}

impl CommandArgs for Search {
    const NAME: &'static str = "search";
    type Output = String;
}

fn registry() -> CommandRegistry {
    let search = Command::of::<Search, _, _>("Searches.", |args| async move {
        Ok(format!("{} {:?} {} {:?}", args.query.text, args.top_k, args.threshold, args.tags))
    });
    let note = Command::new("note", "Notes.", |args: Note| async move { Ok(args.text) });
    let broken = Command::new("broken", "Panics.", |(): ()| async {
        if true {
            std::panic::resume_unwind(Box::new("oh no"));
        }
        Ok(())
    });
    let expand = Command::of::<ExpandMediaRefs, _, _>("Expands.", |args| async move {
        Ok(vec![Part::Text(args.prompt)])
    });
    let commands = [("A", search), ("A", note), ("B", broken), ("B", expand)];
    CommandRegistry::new(commands).unwrap()
}

#[derive(Deserialize, JsonSchema)]
struct Note {
    text: String,
    #[serde(default)]
    priority: Option<i64>,
}

#[tokio::test]
async fn a_quoting_error_is_answered_when_it_is_a_command() {
    let registry = registry();
    let outcome = registry.dispatch("/note don't").await;
    let DispatchOutcome::Syntax(error) = &outcome else { panic!("{outcome:?}") };
    assert_eq!(error.error, QuotingError::NoClosingQuotation);
    assert_eq!(error.command.as_deref(), Some("note"));
    assert!(outcome.is_command());
    assert_eq!(
        outcome.reply().unwrap(),
        "Command 'note' failed: no closing quotation; close the quote, or put a backslash before it"
    );
    for text in ["/I don't know", "don't", "/note\\", "'"] {
        let outcome = registry.dispatch(text).await;
        assert!(matches!(outcome, DispatchOutcome::Syntax(_)), "{text}: {outcome:?}");
        assert!(!outcome.is_command(), "{text}");
        assert_eq!(outcome.reply(), None, "{text}");
    }
}

#[tokio::test]
async fn records_and_lists_are_typed_as_json() {
    let line = r#"/search '{"text": "ships", "deep": "yes"}' 3 threshold=inf tags='["a"]'"#;
    let outcome = registry().dispatch(line).await;
    assert_eq!(outcome, DispatchOutcome::Reply("ships Some(3) inf [\"a\"]".to_owned()));
    for (line, told) in [
        ("/search hello", "'query' takes an object, written as JSON text, not 'hello'"),
        ("/search '[1]'", "'query' takes an object, written as JSON text, not '[1]'"),
        (r#"/search '{"text": "x"}' -1"#, "'top_k' takes an integer, not '-1'"),
        (r#"/search '{"text": "x"}' 1 0x"#, "'threshold' takes a number, not '0x'"),
    ] {
        let reply = registry().dispatch(line).await.reply().unwrap();
        let expected = format!(
            "Command 'search' failed: {told}\nUsage: /search query=<JSON object> [top_k=<integer>] \
             [threshold=<number>] [tags=<JSON list>]"
        );
        assert_eq!(reply, expected);
    }
}

#[tokio::test]
async fn a_mistyped_name_is_pointed_out() {
    let reply = registry().dispatch("/note hello priorty=3 urgent").await.reply().unwrap();
    assert_eq!(
        reply,
        "Command 'note' failed: it takes at most 2 arguments and got 3 ('priorty=3' was read as a \
         value; was 'priority=' meant?)\nUsage: /note text=<text> [priority=<integer>]"
    );
}

#[tokio::test]
async fn a_panicking_command_is_a_failure() {
    let reply = registry().dispatch("/broken").await.reply().unwrap();
    assert_eq!(reply, "Command 'broken' failed: panicked: oh no");
}

#[tokio::test]
async fn hidden_commands_are_for_code() {
    let registry = registry();
    let outcome = registry.dispatch("/_expand_media_refs x").await;
    assert_eq!(outcome, DispatchOutcome::NotRecognized("_expand_media_refs".to_owned()));
    assert!(registry.descriptors().iter().all(|shown| !shown.name.starts_with('_')));
    let parts = registry.call(ExpandMediaRefs { prompt: "see !!a.png".to_owned() }).await.unwrap();
    assert_eq!(parts, [Part::Text("see !!a.png".to_owned())]);
}

#[tokio::test]
async fn code_calls_with_types() {
    let registry = registry();
    let note = Note { text: "hi".to_owned(), priority: Some(1) };
    assert_eq!(note.priority, Some(1));
    let answer: String = registry.call_named("note", note).await.unwrap();
    assert_eq!(answer, "hi");
    let wrong = registry.call_named::<(), String>("note", ()).await.unwrap_err();
    assert!(matches!(wrong, CommandError::WrongSignature(_)));
    let nothing = CommandRegistry::default();
    let query = Query { text: "x".to_owned(), deep: false };
    let search = Search { query, top_k: None, threshold: 0.0, tags: vec![] };
    let unknown = nothing.call(search).await.unwrap_err();
    assert!(matches!(unknown, CommandError::NotRecognized(name) if name == "search"));
}

#[tokio::test]
async fn failures_of_the_body_keep_their_kind_for_code() {
    let fails = Command::new("fails", "", |(): ()| async {
        Err::<(), _>(ToolError::retriable("try another"))
    });
    let registry = CommandRegistry::new([("A", fails)]).unwrap();
    let error = registry.call_named::<(), ()>("fails", ()).await.unwrap_err();
    let CommandError::Failed(error) = error else { panic!("{error}") };
    assert!(error.is_retriable());
    let reply = registry.dispatch("/fails").await.reply().unwrap();
    assert_eq!(reply, "Command 'fails' failed: try another");
}

#[test]
fn descriptors_say_more_than_the_announced_type() {
    let registry = registry();
    let search = &registry.descriptors()[0];
    let top_k = &search.args[1];
    assert_eq!((top_k.kind.as_str(), top_k.required), ("string", false));
    assert_eq!((top_k.value_type.as_deref(), top_k.nullable), (Some("integer"), Some(true)));
    assert_eq!(search.args[0].description.as_deref(), Some("What to look for."));
    assert_eq!(search.args[0].kind, "object");
}

#[tokio::test]
async fn commands_made_of_data_take_what_was_bound() {
    let schema = json!({"properties": {"x": {"type": "number"}}, "required": ["x"]});
    let command = Command::from_schema("scale", "", &schema, |args| {
        let infinite = args.get("x") == Some(&BoundValue::Float(f64::INFINITY));
        Box::pin(async move { Ok(Some(infinite.to_string())) })
    });
    let registry = CommandRegistry::new([("A", command)]).unwrap();
    assert_eq!(registry.dispatch("/scale 1e999").await, DispatchOutcome::Reply("true".to_owned()));
}
