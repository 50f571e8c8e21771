//! Teams whose models are functions.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use akgentic_agent::{
    AgentConfig, AgentMessage, BaseAgent, HumanProxy, Intent, ModelSource, StructuredOutput,
    provide_models,
};
use akgentic_core::log::{EventLog, Fsync, LogContents, restore_team};
use akgentic_core::message::{ProcessedMessage, SentMessage};
use akgentic_core::orchestrator::Watched;
use akgentic_core::prelude::*;
use akgentic_core::{ActorAddress, ActorRef};
use akgentic_llm::{
    FunctionModel, Model, ModelConfig, ModelInput, ModelMessage, ModelResponse, RequestPart,
    ResponsePart, TextPart,
};
use serde_json::json;
use tokio::sync::watch;

pub(crate) const WAIT: Duration = Duration::from_secs(20);

type Answer = Arc<dyn Fn(&ModelInput) -> ModelResponse + Send + Sync>;

/// What agents answer, by role.
#[derive(Clone, Default)]
pub(crate) struct Answers(HashMap<&'static str, Answer>);

impl Answers {
    /// The role answers with what `answer` makes of the latest prompt and the whole request.
    pub(crate) fn role(
        self,
        role: &'static str,
        answer: impl Fn(&str, &ModelInput) -> String + Send + Sync + 'static,
    ) -> Self {
        self.response(role, move |input| {
            let text = answer(&latest_prompt(input), input);
            ModelResponse::new(vec![ResponsePart::Text(TextPart::new(text))])
        })
    }

    /// The role answers each request with what `answer` makes of it.
    pub(crate) fn response(
        mut self,
        role: &'static str,
        answer: impl Fn(&ModelInput) -> ModelResponse + Send + Sync + 'static,
    ) -> Self {
        self.0.insert(role, Arc::new(answer));
        self
    }
}

impl ModelSource for Answers {
    fn model(&self, _: &ModelConfig, agent: &ActorAddress) -> Result<Arc<dyn Model>, String> {
        let Some(answer) = self.0.get(agent.role()).cloned() else {
            return Err(format!("nobody speaks for {}", agent.role()));
        };
        Ok(Arc::new(FunctionModel::new(move |input| Ok(answer(&input)))))
    }
}

pub(crate) fn latest_prompt(input: &ModelInput) -> String {
    prompts(input).pop().unwrap_or_default()
}

/// The texts on the user's side, oldest first.
pub(crate) fn prompts(input: &ModelInput) -> Vec<String> {
    let requests = input.messages.iter().filter_map(|message| match &**message {
        ModelMessage::Request(request) => Some(request),
        ModelMessage::Response(_) => None,
    });
    let parts = requests.flat_map(|request| &request.parts);
    let texts = parts.filter_map(|part| match part {
        RequestPart::UserPrompt(prompt) => Some(prompt.content.text()),
        _ => None,
    });
    texts.collect()
}

/// An output with one message.
pub(crate) fn says(intent: &str, recipient: &str, message: &str) -> String {
    let message = json!({"message_type": intent, "recipient": recipient, "message": message});
    json!({"messages": [message]}).to_string()
}

/// A reply that calls a tool.
pub(crate) fn calls(tool: &str, id: &str) -> ModelResponse {
    let call = akgentic_llm::ToolCallPart::new(tool, "{}", id);
    ModelResponse::new(vec![ResponsePart::ToolCall(call)])
}

/// A reply of one text.
pub(crate) fn text(text: impl Into<String>) -> ModelResponse {
    ModelResponse::new(vec![ResponsePart::Text(TextPart::new(text))])
}

/// An output without messages.
pub(crate) fn silence() -> String {
    let output = StructuredOutput::default();
    serde_json::to_string(&output).expect("written")
}

/// Everything a team recorded.
#[derive(Clone)]
pub(crate) struct Records {
    all: Arc<Mutex<Vec<Arc<Message>>>>,
    changed: watch::Sender<usize>,
}

impl Records {
    pub(crate) fn new() -> Self {
        Self { all: Arc::default(), changed: watch::Sender::new(0) }
    }

    pub(crate) fn all(&self) -> Vec<Arc<Message>> {
        self.all.lock().expect("lock").clone()
    }

    /// What was sent to the member of this name: sender, intent, text.
    pub(crate) fn sent_to(&self, name: &str) -> Vec<(String, Intent, String)> {
        let all = self.all();
        let sent = all.iter().filter_map(|record| {
            let sent = record.body::<SentMessage>()?;
            let said = sent.message.body::<AgentMessage>()?;
            let sender = record.sender.as_ref()?.name().to_owned();
            (sent.recipient.name() == name).then(|| (sender, said.intent, said.content.clone()))
        });
        sent.collect()
    }

    /// Waits until the records fulfil `done`.
    pub(crate) async fn wait(&self, done: impl Fn(&Self) -> bool) {
        let mut changed = self.changed.subscribe();
        let waited = tokio::time::timeout(WAIT, async {
            while !done(self) {
                changed.changed().await.expect("the sender lives");
            }
        });
        assert!(waited.await.is_ok(), "it did not come to that: {:#?}", self.all());
    }

    pub(crate) async fn wait_for_words_to(&self, name: &str, count: usize) {
        self.wait(|records| records.sent_to(name).len() >= count).await;
    }

    pub(crate) async fn wait_for_turns_of(&self, name: &str, count: usize) {
        let of = |record: &&Arc<Message>| {
            record.body::<ProcessedMessage>().is_some()
                && record.sender.as_ref().is_some_and(|sender| sender.name() == name)
        };
        self.wait(|records| records.all().iter().filter(of).count() >= count).await;
    }
}

impl Subscriber for Records {
    fn on_message(&self, message: &Arc<Message>) -> Watched {
        let mut all = self.all.lock().expect("lock");
        all.push(Arc::clone(message));
        let count = all.len();
        drop(all);
        self.changed.send_replace(count);
        Ok(())
    }
}

pub(crate) struct World {
    pub(crate) system: ActorSystem,
    pub(crate) team: ActorRef<Orchestrator>,
    pub(crate) records: Records,
}

impl World {
    /// A team with a person and the roles that have answers as cards.
    pub(crate) async fn new(answers: Answers) -> Self {
        Self::logged(answers, None).await
    }

    /// The same, its records kept in a file.
    pub(crate) async fn logged(answers: Answers, log: Option<&Path>) -> Self {
        let system = ActorSystem::new();
        let roles: Vec<&str> = answers.0.keys().copied().collect();
        provide_models(&system, answers);
        let team = system.create_team(BaseConfig::default(), Origin::default()).expect("a team");
        if let Some(path) = log {
            let log = EventLog::for_team(path, &team, Fsync::Never).expect("a log");
            team.subscribe(Arc::new(log)).await.expect("subscribed");
        }
        let records = Records::new();
        team.subscribe(Arc::new(records.clone())).await.expect("subscribed");
        for role in roles {
            let config = AgentConfig::new("", role, format!("You are a {role}."));
            let card = AgentCard::new("akgentic.agent.BaseAgent", "works", config).expect("a card");
            team.register_agent_profile(card).await.expect("registered");
        }
        team.create_actor::<HumanProxy>(BaseConfig::new("@Human", "Human")).await.expect("human");
        Self { system, team, records }
    }

    /// The same team from the records so far, in a system of its own.
    pub(crate) async fn reborn(&self, log: &Path, answers: Answers) -> Self {
        self.reborn_with(log, |system| provide_models(system, answers)).await
    }

    /// The same in a system that `equip` makes ready.
    pub(crate) async fn reborn_with(&self, log: &Path, equip: impl FnOnce(&ActorSystem)) -> Self {
        self.team.get_team().await.expect("drained");
        let contents = LogContents::read(log).expect("a log");
        self.system.shutdown(WAIT).await;
        let system = ActorSystem::new();
        equip(&system);
        let records = Records::new();
        let back = restore_team(&system, &contents, vec![Arc::new(records.clone())]).await;
        let back = back.expect("restored");
        assert_eq!(back.report.failed, []);
        Self { system, team: back.team, records }
    }

    /// The agent of this name.
    pub(crate) async fn known(&self, name: &str) -> ActorRef<BaseAgent> {
        let member = self.team.get_team_member(name).await.expect("asked").expect("a member");
        ActorRef::new(&member).expect("an agent")
    }

    pub(crate) async fn agent(&self, name: &str, role: &str) -> ActorRef<BaseAgent> {
        self.configured(AgentConfig::new(name, role, format!("You are {name}."))).await
    }

    pub(crate) async fn configured(&self, config: AgentConfig) -> ActorRef<BaseAgent> {
        self.team.create_and_wait::<BaseAgent>(config).await.expect("an agent")
    }

    pub(crate) async fn human_says(&self, to: &str, content: &str) {
        let human = self.team.get_team_member("@Human").await.expect("asked").expect("a human");
        let human = ActorRef::<HumanProxy>::new(&human).expect("typed");
        let says = akgentic_agent::HumanSays { to: to.to_owned(), content: content.to_owned() };
        assert!(human.ask(says).await.expect("said"), "there is no {to}");
    }
}
