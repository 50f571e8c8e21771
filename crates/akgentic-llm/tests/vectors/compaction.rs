//! Splitting, summing up, estimating.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use akgentic_llm::compaction::*;
use akgentic_llm::*;
use serde_json::{Value, json};

use crate::compare::same;
use crate::notation::messages;

pub(crate) fn compaction_split(case: &Value) -> Result<(), String> {
    let history = messages(&case["input"]["messages"]);
    let keep = usize::try_from(case["input"]["keep_recent"].as_u64().unwrap()).unwrap();
    let parts = split(&history, keep);
    let window = SlidingWindow { keep, split_first: false }.decide(&history);
    let found = json!({
        "system": parts.system,
        "middle": parts.middle,
        "tail": parts.tail,
        "sliding_window": {
            "summary": window.summary,
            "replaced": window.replaced,
            "tokens_after": window.tokens_after,
        },
    });
    same(&case["expect"], &found)
}

pub(crate) fn token_estimate(case: &Value) -> Result<(), String> {
    let tokens = estimate_tokens(case["input"]["text"].as_str().unwrap());
    same(&case["expect"]["tokens"], &json!(tokens))
}

pub(crate) fn compaction_summarise(case: &Value) -> Result<(), String> {
    let input = &case["input"];
    let prompts: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = Arc::clone(&prompts);
    let summary = input["summary"].as_str().unwrap().to_owned();
    let works = input["summariser"] == "ok";
    let model = FunctionModel::new(move |input| {
        let request = input.messages[0].as_request().unwrap();
        let RequestPart::UserPrompt(prompt) = &request.parts[0] else { panic!("no prompt") };
        seen.lock().unwrap().push(prompt.content.text());
        if works {
            Ok(ModelResponse::new(vec![ResponsePart::Text(TextPart::new(summary.clone()))]))
        } else {
            Err(ModelError::Usage("fails".to_owned()))
        }
    });
    let config = CompactionConfig::default();
    let deadline = Duration::from_secs(1);
    let summarizer = Summarizer::ready(Arc::new(model), ModelConfig::default(), deadline);
    let strategy = Strategies::default().make(&config, &summarizer).unwrap();
    let history = messages(&input["messages"]);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let decided = runtime.block_on(strategy.compact(&history));
    let prompts = prompts.lock().unwrap();
    let transcript = prompts.first().map(|prompt| {
        let (head, rest) = prompt.split_once("\n\n---\n").unwrap();
        assert!(head.contains("2000 tokens"), "{head}");
        rest.strip_suffix("\n---").unwrap()
    });
    if decided.degraded.is_some() == works && decided.replaced > 0 {
        return Err(format!("degraded: {:?}", decided.degraded));
    }
    let found = json!({
        "transcript": transcript,
        "summary": decided.summary,
        "replaced": decided.replaced,
        "tokens_after": decided.tokens_after,
    });
    same(&case["expect"], &found)
}
