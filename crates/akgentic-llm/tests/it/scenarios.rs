use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use akgentic_llm::*;
use akgentic_tool_core::{Tool, ToolCall, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

/// The example of `docs/scenarios.md`, so that it stays true.
fn documented() -> Scenario {
    let text = include_str!("../../docs/scenarios.md");
    let (_, after) = text.split_once("```yaml\n").unwrap();
    let (yaml, _) = after.split_once("```").unwrap();
    Scenario::parse(yaml).unwrap()
}

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Messages {
    messages: Vec<Message>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[expect(clippy::struct_field_names, reason = "wire names")]
struct Message {
    message_type: String,
    recipient: String,
    message: String,
}

#[derive(Deserialize, JsonSchema)]
struct List {
    #[serde(rename = "path")]
    _path: String,
}

#[derive(Deserialize, JsonSchema)]
struct Read {
    path: String,
}

#[derive(Deserialize, JsonSchema)]
struct Write {
    path: String,
    content: String,
}

type Files = Arc<Mutex<BTreeMap<String, String>>>;

fn workspace(files: &Files) -> [Tool; 3] {
    let (list, read, write) = (Arc::clone(files), Arc::clone(files), Arc::clone(files));
    [
        Tool::new("workspace_list", "", move |_: List, _: ToolCall| {
            let files = list.lock().unwrap();
            let lines: Vec<String> = std::iter::once("notes/".to_owned())
                .chain(files.iter().map(|(name, text)| format!("{name} ({} bytes)", text.len())))
                .collect();
            async move { Ok::<_, ToolError>(lines.join("\n")) }
        }),
        Tool::new("workspace_read", "", move |args: Read, _: ToolCall| {
            let text = read.lock().unwrap().get(&args.path).cloned();
            async move { text.ok_or_else(|| ToolError::retriable("File not found")) }
        }),
        Tool::new("workspace_write", "", move |args: Write, _: ToolCall| {
            write.lock().unwrap().insert(args.path, args.content);
            async move { Ok::<_, ToolError>("written") }
        }),
    ]
}

async fn ask(agent: &mut ReactAgent, prompt: &str) -> Messages {
    let output = OutputSpec::of::<Messages>();
    agent.run(prompt, &output, CancellationToken::new()).await.unwrap().output.parse().unwrap()
}

#[tokio::test]
async fn a_team_reports_on_a_folder_it_has_never_seen() {
    let scenario = documented();
    let files: Files = Arc::default();
    files.lock().unwrap().insert("a.txt".into(), "alpha\nbeta\ngamma\ndelta\n".into());
    files.lock().unwrap().insert("b (old).md".into(), "# Bee".into());

    let mut manager = ReactAgent::builder(scenario.model("Manager").unwrap()).build().unwrap();
    let order = ask(&mut manager, "You received a request from @Human.\n\nA report, please.").await;
    assert_eq!(order.messages[0].recipient, "Specialist");

    for native in [true, false] {
        let provider = if native { Provider::OpenAi } else { Provider::Mistral };
        let mut specialist = ReactAgent::builder(scenario.model("Specialist").unwrap())
            .model_config(ModelConfig { provider, ..ModelConfig::default() })
            .tools(workspace(&files))
            .build()
            .unwrap();
        files.lock().unwrap().remove("report.md");
        let answer =
            ask(&mut specialist, "You received a request from @Manager. List the folder.").await;
        assert_eq!(answer.messages[0].recipient, "@Manager");
        assert_eq!(answer.messages[0].message, "I read 2 files and wrote report.md.");
        assert_eq!(specialist.usage().tool_calls, 4);
        let report = files.lock().unwrap()["report.md"].clone();
        assert!(report.contains("2 files:"), "{report}");
        assert!(report.contains("## a.txt\nalpha\nbeta\ngamma\n"), "{report}");
        assert!(!report.contains("delta"), "{report}");
        assert!(report.contains("## b (old).md\n# Bee"), "{report}");
    }

    let done = "You received a response from @Specialist101.\n\nI read 2 files.";
    let answer = ask(&mut manager, done).await;
    assert_eq!(answer.messages[0].recipient, "@Human");
    assert_eq!(answer.messages[0].message.trim(), "The report is ready. I read 2 files.");
    assert!(manager.usage().total_tokens() > 0);
}

#[tokio::test]
async fn a_scenario_goes_on_after_a_restore() {
    let scenario = Scenario::parse(
        "roles: {A: [{when: {turn: 1}, steps: [{say: one}]}, {when: {turn: 2}, steps: [{say: two}]}]}",
    )
    .unwrap();
    let events: Arc<Mutex<Vec<LlmEvent>>> = Arc::default();
    let mut first = ReactAgent::builder(scenario.model("A").unwrap()).build().unwrap();
    let log = Arc::clone(&events);
    first.subscribe_context(Arc::new(move |event: &LlmEvent| {
        log.lock().unwrap().push(event.clone());
        Ok(())
    }));
    let text = OutputSpec::text();
    let said = first.run("x", &text, CancellationToken::new()).await.unwrap();
    assert_eq!(said.output.to_text(), "one");
    let mut second = ReactAgent::builder(scenario.model("A").unwrap()).build().unwrap();
    second.restore_context(&*events.lock().unwrap());
    let said = second.run("y", &text, CancellationToken::new()).await.unwrap();
    assert_eq!(said.output.to_text(), "two");
    assert_eq!(second.runs(), 2);
}

/// A tool that somebody else keeps busy never uses up the retries of the model; its own mistakes do.
#[tokio::test]
async fn what_is_busy_is_not_the_models_mistake() {
    let calls = "- call: { tool: write, args: { path: a, content: b } }\n    ".repeat(8);
    let yaml = format!("roles:\n  A:\n  - steps:\n    {calls}- say: done\n");
    for (busy, ends_well) in [(true, true), (false, false)] {
        let scenario = Scenario::parse(&yaml).unwrap();
        let tool = Tool::new("write", "", move |args: Write, _: ToolCall| async move {
            let text = format!("{}{} is held", args.path, args.content);
            Err::<String, _>(if busy { ToolError::busy(text) } else { ToolError::retriable(text) })
        });
        let mut agent =
            ReactAgent::builder(scenario.model("A").unwrap()).tools([tool]).build().unwrap();
        let outcome = agent.run("go", &OutputSpec::text(), CancellationToken::new()).await;
        assert_eq!(outcome.is_ok(), ends_well, "{outcome:?}");
    }
}

#[tokio::test]
async fn steps_can_be_skipped_and_requests_can_fail() {
    let scenario = Scenario::parse(
        r"
roles:
  '*':
    - when: { contains: [break, please] }
      steps: [{ fail: 'line of {{ role }} is dead' }]
    - steps:
        - { if: tool.echo is defined, say: not this }
        - { say: '{{ message | lines | first }} of {{ message | count }}', think: hm }
",
    )
    .unwrap();
    let mut agent = ReactAgent::builder(scenario.model("Anyone").unwrap()).build().unwrap();
    let text = OutputSpec::text();
    let said = agent.run("a\nb", &text, CancellationToken::new()).await.unwrap();
    assert_eq!(said.output.to_text(), "a of 2");
    let error = agent.run("Please break", &text, CancellationToken::new()).await.unwrap_err();
    assert!(error.to_string().contains("line of Anyone is dead"), "{error}");
}

fn refusal(yaml: &str) -> String {
    Scenario::parse(yaml).unwrap_err().to_string()
}

#[test]
fn mistakes_are_named_with_their_place() {
    let format = refusal("roles:\n  A:\n    - steps:\n        - sey: hi\n");
    assert!(format.contains("sey") && format.contains('4'), "{format}");
    let place = refusal("roles: {A: [{steps: [{say: hi}, {say: '{{ oops'}]}]}");
    assert!(place.starts_with("roles.A[0].steps[1].say: "), "{place}");
    let place = refusal("roles: {A: [{steps: [{call: {tool: t, args: {x: ['{% if %}']}}}]}]}");
    assert!(place.starts_with("roles.A[0].steps[0].call.args.x[0]: "), "{place}");
    let place = refusal("roles: {A: [{when: {matches: '('}, steps: [{say: x}]}]}");
    assert!(place.starts_with("roles.A[0].when.matches: "), "{place}");
    let place = refusal("roles: {A: [{steps: [{calls: [{for: files, tool: t}]}]}]}");
    assert!(place.starts_with("roles.A[0].steps[0].calls[0].for: "), "{place}");
    assert!(refusal("roles: {A: [{steps: [{think: hm}]}]}").starts_with("roles.A[0].steps[0]: "));
    let scenario = Scenario::parse("name: s\nroles: {A: [{steps: [{say: x}]}]}").unwrap();
    let unknown = scenario.model("B").unwrap_err().to_string();
    assert_eq!(unknown, "the scenario \"s\" has no role \"B\"; it has A");
}

#[tokio::test]
async fn what_does_not_exist_is_an_error_with_its_place() {
    let scenario =
        Scenario::parse("name: s\nroles: {A: [{steps: [{say: '{{ tool.x }}'}]}]}").unwrap();
    let mut agent = ReactAgent::builder(scenario.model("A").unwrap()).build().unwrap();
    let result = agent.run("x", &OutputSpec::text(), CancellationToken::new()).await;
    let error = result.unwrap_err().to_string();
    assert!(error.starts_with("scenario \"s\", roles.A[0].steps[0].say: undefined"), "{error}");
}

/// What a scenario with one step answers.
async fn answer(step: &str) -> Result<RunResult, String> {
    let scenario = Scenario::parse(&format!("roles: {{R: [{{steps: [{step}]}}]}}"));
    let model = scenario.map_err(|error| error.to_string())?.model("R").unwrap();
    let mut agent = ReactAgent::builder(model).build().unwrap();
    let output = OutputSpec::text();
    agent.run("go", &output, CancellationToken::new()).await.map_err(|error| error.to_string())
}

#[tokio::test]
async fn templates_have_a_budget() {
    let endless = r#"{say: "{% for a in range(10000) %}{% for b in range(10000) %}{% endfor %}{% endfor %}"}"#;
    assert!(answer(endless).await.unwrap_err().contains("fuel"));
    let many = r#"{call: {for: "i in range(10001)", tool: x}}"#;
    let error = answer(many).await.unwrap_err();
    assert!(error.contains("more than 10000 elements") || error.contains("fuel"), "{error}");
    let long = r#"{say: "{{ 'x' * 10000000 }}"}"#;
    answer(long).await.unwrap_err();
}

#[tokio::test]
async fn deep_expressions_are_refused_when_a_scenario_is_read() {
    for count in [1900, 200_000] {
        let chain = "1+".repeat(count);
        let elif = "{% elif x %}".repeat(count / 8);
        for (short, step) in [
            (true, format!("{{say: \"{{{{ {chain}1 }}}}\"}}")),
            (true, format!("{{say: \"x\", if: \"{chain}1\"}}")),
            (true, format!("{{say: \"{{% if x %}}{elif}{{% endif %}}\"}}")),
            (false, format!("{{say: \"{{{{ '}}}}' {chain}1 }}}}\"}}")),
            (false, format!("{{say: \"{{{{ {}1 }}}}\"}}", "not ".repeat(count))),
        ] {
            let result = answer(&step).await;
            assert!(short && count < 2000 || result.is_err(), "{count}");
        }
    }
}
